/* Tests of base/log.c. */
#include "base/log.h"

#include <stddef.h>
#include <string.h>

#include "kit/test.h"

/* Remembers the last line and counts them. */
struct listener {
    struct weir_log log;
    int line_count;
    enum weir_log_level level;
    char line[1024];
};

static void listener_init(struct listener *self, enum weir_log_level minimum);
static void hear(void *state, enum weir_log_level level, const char *line);

WEIR_TEST(log, writes_event_and_facts_as_one_line)
{
    struct listener listener;

    listener_init(&listener, WEIR_LOG_TRACE);

    weir_log_event(&listener.log, WEIR_LOG_INFO, "ward.stopped", "ward=%s unfinished=%d",
                   "orders", 3);

    check_int(listener.line_count, 1);
    check_int(listener.level, WEIR_LOG_INFO);
    check_str(listener.line, "ward.stopped ward=orders unfinished=3");
}

WEIR_TEST(log, writes_an_event_without_facts)
{
    struct listener listener;

    listener_init(&listener, WEIR_LOG_TRACE);

    weir_log_event(&listener.log, WEIR_LOG_INFO, "ward.stopped", NULL);
    check_str(listener.line, "ward.stopped");

    weir_log_event(&listener.log, WEIR_LOG_INFO, "ward.started", "%s", "");
    check_str(listener.line, "ward.started");
}

WEIR_TEST(log, leaves_out_what_is_below_its_minimum)
{
    struct listener listener;

    listener_init(&listener, WEIR_LOG_WARNING);

    weir_log_event(&listener.log, WEIR_LOG_TRACE, "a", NULL);
    weir_log_event(&listener.log, WEIR_LOG_DEBUG, "a", NULL);
    weir_log_event(&listener.log, WEIR_LOG_INFO, "a", NULL);
    check_int(listener.line_count, 0);

    weir_log_event(&listener.log, WEIR_LOG_WARNING, "a", NULL);
    weir_log_event(&listener.log, WEIR_LOG_ERROR, "a", NULL);
    check_int(listener.line_count, 2);
}

WEIR_TEST(log, says_nothing_at_all_if_told_so)
{
    struct listener listener;

    listener_init(&listener, WEIR_LOG_NOTHING);

    weir_log_event(&listener.log, WEIR_LOG_ERROR, "a", NULL);
    weir_log_event(&listener.log, WEIR_LOG_NOTHING, "a", NULL);

    check_int(listener.line_count, 0);
}

WEIR_TEST(log, wants_exactly_what_it_writes)
{
    struct listener listener;
    int wanted_count = 0;

    listener_init(&listener, WEIR_LOG_INFO);

    for (int i = WEIR_LOG_TRACE; i <= WEIR_LOG_NOTHING; i++) {
        enum weir_log_level level = (enum weir_log_level)i;

        wanted_count += weir_log_wants(&listener.log, level);
        weir_log_event(&listener.log, level, "a", NULL);
        check_int(listener.line_count, wanted_count);
    }
    check_int(wanted_count, 3);
}

WEIR_TEST(log, is_silent_without_a_callback)
{
    struct weir_log silent = {.write = NULL, .minimum = WEIR_LOG_TRACE};

    check(!weir_log_wants(&silent, WEIR_LOG_ERROR));
    check(!weir_log_wants(NULL, WEIR_LOG_ERROR));
    weir_log_event(&silent, WEIR_LOG_ERROR, "a", NULL);
    weir_log_event(NULL, WEIR_LOG_ERROR, "a", NULL);
}

WEIR_TEST(log, cuts_a_line_at_511_bytes)
{
    struct listener listener;
    char text[600];

    listener_init(&listener, WEIR_LOG_TRACE);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';

    weir_log_event(&listener.log, WEIR_LOG_INFO, "a", "text=%s", text);

    check_int(strlen(listener.line), 511);
    check(strncmp(listener.line, "a text=xxx", 10) == 0);
    check_str(listener.line + 507, "x...");
}

WEIR_TEST(log, keeps_a_line_of_511_bytes_whole)
{
    struct listener listener;
    char text[505];

    listener_init(&listener, WEIR_LOG_TRACE);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';

    weir_log_event(&listener.log, WEIR_LOG_INFO, "a", "text=%s", text);

    check_int(strlen(listener.line), 511);
    check_str(listener.line + 507, "xxxx");
}

/* Otherwise a text from outside could pretend to be an event. */
WEIR_TEST(log, keeps_line_breaks_out_of_the_line)
{
    struct listener listener;

    listener_init(&listener, WEIR_LOG_TRACE);

    weir_log_event(&listener.log, WEIR_LOG_INFO, "a", "text=\"%s\"",
                   "x\r\ny\tz\x1b\x7f\xc3\xa4");

    check_str(listener.line, "a text=\"x  y z  \xc3\xa4\"");
}

WEIR_TEST(log, has_a_name_for_each_level)
{
    check_str(weir_log_level_name(WEIR_LOG_TRACE), "trace");
    check_str(weir_log_level_name(WEIR_LOG_DEBUG), "debug");
    check_str(weir_log_level_name(WEIR_LOG_INFO), "info");
    check_str(weir_log_level_name(WEIR_LOG_WARNING), "warning");
    check_str(weir_log_level_name(WEIR_LOG_ERROR), "error");
    check_str(weir_log_level_name(WEIR_LOG_NOTHING), "nothing");
}

static void listener_init(struct listener *self, enum weir_log_level minimum)
{
    memset(self, 0, sizeof *self);
    self->log = (struct weir_log){.write = hear, .state = self, .minimum = minimum};
}

static void hear(void *state, enum weir_log_level level, const char *line)
{
    struct listener *self = state;

    check(strlen(line) < sizeof self->line);
    strcpy(self->line, line);
    self->level = level;
    self->line_count++;
}
