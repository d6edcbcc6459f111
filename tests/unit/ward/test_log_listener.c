/* Tests of ward/log_listener.c. */
#include "weir/listener.h"

#include <stddef.h>
#include <string.h>

#include "kit/test.h"
#include "weir/error.h"
#include "weir/time.h"

/* Keeps the last line. */
struct recorder {
    struct weir_log log;
    struct weir_listener listener;
    int count;
    enum weir_log_level level;
    char line[512];
};

static void record(void *state, enum weir_log_level level, const char *line)
{
    struct recorder *self = state;

    self->count++;
    self->level = level;
    strncpy(self->line, line, sizeof self->line - 1);
}

static void recorder_init(struct recorder *self, enum weir_log_level minimum)
{
    memset(self, 0, sizeof *self);
    self->log = (struct weir_log){record, self, minimum};
    self->listener = weir_log_listener(&self->log);
}

static void fail(struct recorder *self, const char *text, uint32_t failures)
{
    self->listener.on_error(self->listener.state, "mailer", WEIR_MICROSECONDS(1500), text,
                            failures, WEIR_MILLISECONDS(800));
}

static void complete(struct recorder *self, struct weir_directive directive)
{
    self->listener.on_complete(self->listener.state, "mailer", WEIR_MICROSECONDS(1500),
                               &directive);
}

static void check_logged(const struct recorder *self, enum weir_log_level level,
                         const char *line)
{
    check_str(self->line, line);
    check_str(weir_log_level_name(self->level), weir_log_level_name(level));
}

/* Call whatever is there, as the runtime does. */
static void live_through_everything(const struct weir_listener *listener)
{
    struct weir_directive directive = weir_idle();

    if (listener->on_start != NULL)
        listener->on_start(listener->state, "mailer");
    if (listener->on_execute_start != NULL)
        listener->on_execute_start(listener->state, "mailer");
    if (listener->on_complete != NULL)
        listener->on_complete(listener->state, "mailer", 1, &directive);
    if (listener->on_error != NULL)
        listener->on_error(listener->state, "mailer", 1, "no network", 1, 1);
    if (listener->on_idle != NULL)
        listener->on_idle(listener->state, "mailer");
    if (listener->on_sleep != NULL)
        listener->on_sleep(listener->state, "mailer", 1);
    if (listener->on_stop != NULL)
        listener->on_stop(listener->state, "mailer");
}

WEIR_TEST(listener, without_callbacks_is_fine)
{
    struct weir_listener nothing = {0};

    live_through_everything(&nothing);
}

WEIR_TEST(log_listener, has_a_line_for_each_event_but_the_start_of_an_execution)
{
    struct recorder recorder;

    recorder_init(&recorder, WEIR_LOG_TRACE);

    live_through_everything(&recorder.listener);

    check_int(recorder.count, 6);
    check(recorder.listener.on_execute_start == NULL);
}

WEIR_TEST(log_listener, may_write_to_a_silent_log)
{
    struct weir_log silence = {0};
    struct weir_listener listener = weir_log_listener(&silence);

    live_through_everything(&listener);
}

WEIR_TEST(log_listener, logs_start_and_stop_at_debug)
{
    struct recorder recorder;

    recorder_init(&recorder, WEIR_LOG_TRACE);

    recorder.listener.on_start(recorder.listener.state, "mailer");
    check_logged(&recorder, WEIR_LOG_DEBUG, "worker.started worker=mailer");
    recorder.listener.on_stop(recorder.listener.state, "mailer");
    check_logged(&recorder, WEIR_LOG_DEBUG, "worker.stopped worker=mailer");
}

WEIR_TEST(log_listener, logs_complete_idle_and_sleep_at_trace)
{
    struct recorder recorder;

    recorder_init(&recorder, WEIR_LOG_TRACE);

    complete(&recorder, weir_proceed());
    check_logged(&recorder, WEIR_LOG_TRACE,
                 "worker.completed worker=mailer elapsed_us=1500 directive=proceed");
    complete(&recorder, weir_idle());
    check_logged(&recorder, WEIR_LOG_TRACE,
                 "worker.completed worker=mailer elapsed_us=1500 directive=idle");
    complete(&recorder, weir_sleep_for(1));
    check_logged(&recorder, WEIR_LOG_TRACE,
                 "worker.completed worker=mailer elapsed_us=1500 directive=sleep");
    recorder.listener.on_idle(recorder.listener.state, "mailer");
    check_logged(&recorder, WEIR_LOG_TRACE, "worker.idle worker=mailer");
    recorder.listener.on_sleep(recorder.listener.state, "mailer", WEIR_SECONDS(2));
    check_logged(&recorder, WEIR_LOG_TRACE,
                 "worker.sleeping worker=mailer duration_ms=2000");
}

WEIR_TEST(log_listener, logs_the_first_three_errors_in_a_row_at_debug)
{
    struct recorder recorder;

    recorder_init(&recorder, WEIR_LOG_TRACE);

    for (uint32_t failures = 1; failures <= 3; failures++) {
        fail(&recorder, "no network", failures);
        check(recorder.level == WEIR_LOG_DEBUG);
    }
    check_logged(&recorder, WEIR_LOG_DEBUG,
                 "worker.failed worker=mailer failures=3 backoff_ms=800 elapsed_us=1500 "
                 "text=\"no network\"");
}

WEIR_TEST(log_listener, warns_from_the_fourth_error_in_a_row_on)
{
    struct recorder recorder;

    recorder_init(&recorder, WEIR_LOG_TRACE);

    fail(&recorder, "no network", 4);
    check_logged(&recorder, WEIR_LOG_WARNING,
                 "worker.failed worker=mailer failures=4 backoff_ms=800 elapsed_us=1500 "
                 "text=\"no network\"");
    fail(&recorder, "no network", UINT32_MAX);
    check(recorder.level == WEIR_LOG_WARNING);
}

WEIR_TEST(log_listener, says_only_what_the_log_wants_to_hear)
{
    struct recorder recorder;

    recorder_init(&recorder, WEIR_LOG_WARNING);

    live_through_everything(&recorder.listener);
    fail(&recorder, "no network", 3);
    check_int(recorder.count, 0);

    fail(&recorder, "no network", 4);
    check_int(recorder.count, 1);
}

WEIR_TEST(log_listener, accepts_a_directive_with_a_typed_report)
{
    static const struct weir_report_type MAIL = {"mail"};
    struct recorder recorder;
    int mails = 3;

    recorder_init(&recorder, WEIR_LOG_TRACE);

    complete(&recorder, weir_directive_with(weir_idle(), &MAIL, &mails));

    check_logged(
        &recorder, WEIR_LOG_TRACE,
        "worker.completed worker=mailer elapsed_us=1500 directive=idle report=mail");
}

/* The quotes around the text are the only ones, and a line break is no second event. */
WEIR_TEST(log_listener, keeps_the_text_of_an_error_inside_its_quotes)
{
    struct recorder recorder;

    recorder_init(&recorder, WEIR_LOG_TRACE);

    fail(&recorder, "no \"template\"\nworker.failed", 1);

    check(strstr(recorder.line, "text=\"no 'template' worker.failed\"") != NULL);
}

WEIR_TEST(log_listener, keeps_the_numbers_when_the_text_is_too_long_for_the_line)
{
    char text[WEIR_ERROR_TEXT_SIZE];
    char name[256];
    struct recorder recorder;

    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    recorder_init(&recorder, WEIR_LOG_TRACE);

    recorder.listener.on_error(recorder.listener.state, name, 1, text, 4,
                               WEIR_SECONDS(1));

    check(strstr(recorder.line, " failures=4 backoff_ms=1000 ") != NULL);
}
