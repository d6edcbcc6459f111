/*
 * policies.c - see policies.h.
 */
#include "outbox/queue/policies.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"

static uint32_t unless_equal(enum weir_queue_policy which, int64_t one, int64_t other)
{
    return one != other ? (uint32_t)which : 0;
}

uint32_t weir_policies_differing(const struct weir_queue_options *one,
                                 const struct weir_queue_options *other)
{
    return unless_equal(WEIR_POLICY_UNREAD, one->unread, other->unread) |
           unless_equal(WEIR_POLICY_BACKLOG_MAX, one->backlog_max, other->backlog_max) |
           unless_equal(WEIR_POLICY_ATTEMPTS_MAX, one->attempts_max,
                        other->attempts_max) |
           unless_equal(WEIR_POLICY_DEAD_LETTER_RETENTION, one->dead_letter_retention_ns,
                        other->dead_letter_retention_ns) |
           unless_equal(WEIR_POLICY_RETAIN, one->retain_ns, other->retain_ns);
}

uint32_t weir_policies_named(const struct weir_queue_options *options)
{
    static const struct weir_queue_options DEFAULTS = {.unread = WEIR_UNREAD_KEEP};

    return options->named | weir_policies_differing(options, &DEFAULTS);
}

/* ---- for people -------------------------------------------------------------------- */

static WEIR_PRINTF(2, 3) void add(char *out, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;

    if (used + 4 > WEIR_POLICIES_TEXT_SIZE)
        return;
    va_start(arguments, format);
    (void)weir_text_format_list(out + used, WEIR_POLICIES_TEXT_SIZE - used, format,
                                arguments);
    va_end(arguments);
}

static const char *separator(const char *out)
{
    return out[0] == '\0' ? "" : ", ";
}

static void add_duration(char *out, const char *name, int64_t duration_ns)
{
    char text[WEIR_DURATION_TEXT_SIZE];

    add(out, "%s%s %s", separator(out), name,
        weir_duration_spell(duration_ns, text, sizeof text));
}

const char *weir_policies_describe(const struct weir_queue_options *options, bool all,
                                   uint32_t set, char out[WEIR_POLICIES_TEXT_SIZE])
{
    out[0] = '\0';
    if (all)
        add(out, "partitions %" PRId32, options->partitions);
    if ((set & WEIR_POLICY_UNREAD) != 0)
        add(out, "%sunread %s", separator(out),
            options->unread == WEIR_UNREAD_DROP ? "drop" : "keep");
    if ((set & WEIR_POLICY_BACKLOG_MAX) != 0)
        add(out, "%sbacklog_max %" PRId64, separator(out), options->backlog_max);
    if ((set & WEIR_POLICY_ATTEMPTS_MAX) != 0)
        add(out, "%sattempts_max %" PRIu32, separator(out), options->attempts_max);
    if ((set & WEIR_POLICY_DEAD_LETTER_RETENTION) != 0)
        add_duration(out, "dead_letter_retention", options->dead_letter_retention_ns);
    if ((set & WEIR_POLICY_RETAIN) != 0)
        add_duration(out, "retain", options->retain_ns);
    return out;
}
