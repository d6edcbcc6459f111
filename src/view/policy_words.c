/*
 * policy_words.c - see policy_words.h.
 */
#include "view/policy_words.h"

#include <inttypes.h>

#include "base/count.h"
#include "base/duration.h"
#include "base/text.h"
#include "outbox/queue/policies.h"

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

const char *weir_policy_words_unread(enum weir_unread unread)
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
    return weir_policy_words_unread(options->unread);
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

void weir_policy_words_append(struct weir_buf *text,
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

void weir_policy_words_append_set(struct weir_buf *text,
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

void weir_policy_words_each(uint32_t policies, void (*emit)(void *state, const void *key),
                            void *state)
{
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        if ((policies & POLICIES[i].which) != 0)
            emit(state, POLICIES[i].member);
    }
}
