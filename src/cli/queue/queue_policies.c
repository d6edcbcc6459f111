/*
 * queue_policies.c - see queue_policies.h.
 */
#include "cli/queue/queue_policies.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "base/count.h"
#include "base/duration.h"
#include "base/text.h"
#include "cli/output.h"
#include "outbox/queue/policies.h"
#include "weir/worker.h"

enum { VALUE_SIZE = 64 };

static const char *show_unread(const struct weir_queue_options *options, char *out);
static const char *show_backlog_max(const struct weir_queue_options *options, char *out);
static const char *show_attempts_max(const struct weir_queue_options *options, char *out);
static const char *show_retention(const struct weir_queue_options *options, char *out);
static const char *show_retain(const struct weir_queue_options *options, char *out);

struct policy {
    enum weir_queue_policy which;
    const char *name;   /* of the option */
    const char *member; /* of JSON objects */
    const char *(*show)(const struct weir_queue_options *options, char *out);
};

static const struct policy POLICIES[] = {
    {WEIR_POLICY_UNREAD, "unread", "unread", show_unread},
    {WEIR_POLICY_BACKLOG_MAX, "backlog-max", "backlog_max", show_backlog_max},
    {WEIR_POLICY_ATTEMPTS_MAX, "attempts-max", "attempts_max", show_attempts_max},
    {WEIR_POLICY_DEAD_LETTER_RETENTION, "dead-letter-retention",
     "dead_letter_retention_seconds", show_retention},
    {WEIR_POLICY_RETAIN, "retain", "retain_seconds", show_retain},
};

enum { POLICY_COUNT = COUNT_OF(POLICIES) };

static int take_unread(const struct weir_command *command, enum weir_unread *out)
{
    *out = strcmp(optarg, "drop") == 0 ? WEIR_UNREAD_DROP : WEIR_UNREAD_KEEP;
    if (*out == WEIR_UNREAD_DROP || strcmp(optarg, "keep") == 0)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(command, "--unread is '%s', must be keep or drop", optarg);
}

static int take_attempts_max(const struct weir_command *command, uint32_t *out)
{
    int64_t number = 0;
    int code = weir_command_number(command, "attempts-max", optarg, 0,
                                   WEIR_ATTEMPTS_MAX_MAX, &number);

    *out = (uint32_t)number;
    return code;
}

int weir_queue_policies_take(const struct weir_command *command, int id,
                             struct weir_queue_options *out)
{
    switch (id) {
    case WEIR_OPTION_UNREAD:
        out->named |= WEIR_POLICY_UNREAD;
        return take_unread(command, &out->unread);
    case WEIR_OPTION_BACKLOG_MAX:
        out->named |= WEIR_POLICY_BACKLOG_MAX;
        return weir_command_number(command, "backlog-max", optarg, 0, INT64_MAX,
                                   &out->backlog_max);
    case WEIR_OPTION_ATTEMPTS_MAX:
        out->named |= WEIR_POLICY_ATTEMPTS_MAX;
        return take_attempts_max(command, &out->attempts_max);
    case WEIR_OPTION_RETAIN:
        out->named |= WEIR_POLICY_RETAIN;
        return weir_command_duration(command, "retain", optarg, 0, WEIR_DURATION_MAX,
                                     &out->retain_ns);
    default:
        out->named |= WEIR_POLICY_DEAD_LETTER_RETENTION;
        return weir_command_duration(command, "dead-letter-retention", optarg, 0,
                                     WEIR_DURATION_MAX, &out->dead_letter_retention_ns);
    }
}

/* ---- words ------------------------------------------------------------------------- */

const char *weir_queue_policies_unread(enum weir_unread unread)
{
    return unread == WEIR_UNREAD_DROP ? "drop" : "keep";
}

static const char *show_limit(int64_t limit, char *out)
{
    if (limit == 0)
        return "none";
    weir_text_format(out, VALUE_SIZE, "%" PRId64, limit);
    return out;
}

static const char *show_unread(const struct weir_queue_options *options, char *out)
{
    (void)out;
    return weir_queue_policies_unread(options->unread);
}

static const char *show_backlog_max(const struct weir_queue_options *options, char *out)
{
    return show_limit(options->backlog_max, out);
}

static const char *show_attempts_max(const struct weir_queue_options *options, char *out)
{
    return show_limit(options->attempts_max, out);
}

static const char *show_duration(int64_t duration_ns, char *out)
{
    if (duration_ns == 0)
        return "none";
    return weir_duration_spell(duration_ns, out, VALUE_SIZE);
}

static const char *show_retention(const struct weir_queue_options *options, char *out)
{
    return show_duration(options->dead_letter_retention_ns, out);
}

static const char *show_retain(const struct weir_queue_options *options, char *out)
{
    return show_duration(options->retain_ns, out);
}

static void append_one(struct weir_buf *text, const struct policy *policy,
                       const struct weir_queue_options *options, bool first)
{
    char value[VALUE_SIZE];

    weir_buf_append_format(text, "%s%s %s", first ? "" : ", ", policy->name,
                           policy->show(options, value));
}

void weir_queue_policies_append(struct weir_buf *text,
                                const struct weir_queue_change *change)
{
    char before[VALUE_SIZE];

    for (size_t i = 0; i < POLICY_COUNT; i++) {
        append_one(text, &POLICIES[i], &change->now, i == 0);
        if ((change->changed & POLICIES[i].which) != 0)
            weir_buf_append_format(text, " (was %s)",
                                   POLICIES[i].show(&change->before, before));
    }
}

void weir_queue_policies_append_set(struct weir_buf *text,
                                    const struct weir_queue_options *options)
{
    uint32_t named = weir_policies_named(options);
    bool first = true;

    for (size_t i = 0; i < POLICY_COUNT; i++) {
        if ((named & POLICIES[i].which) != 0) {
            append_one(text, &POLICIES[i], options, first);
            first = false;
        }
    }
    if (first)
        weir_buf_append_text(text, "-");
}

/* ---- JSON -------------------------------------------------------------------------- */

void weir_queue_policies_append_json(struct weir_buf *json,
                                     const struct weir_queue_options *options)
{
    weir_output_add_text(json, "unread", weir_queue_policies_unread(options->unread));
    weir_output_add_number(json, "backlog_max", options->backlog_max);
    weir_output_add_number(json, "attempts_max", options->attempts_max);
    weir_output_add_seconds(json, "dead_letter_retention_seconds",
                            options->dead_letter_retention_ns / 1000);
    weir_output_add_seconds(json, "retain_seconds", options->retain_ns / 1000);
}

void weir_queue_policies_append_changed(struct weir_buf *json, uint32_t changed)
{
    const char *comma = "";

    weir_output_open(json, "changed", "[");
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        if ((changed & POLICIES[i].which) != 0) {
            weir_buf_append_format(json, "%s\"%s\"", comma, POLICIES[i].member);
            comma = ",";
        }
    }
    weir_buf_append_text(json, "]");
}
