/*
 * tuning.c - defaults, profiles, and the limits of what may be asked for.
 *
 * A profile is a row of numbers for each kind of worker; docs/internals/outbox.md has
 * them as a table.
 */
#include "outbox/tuning.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/utf8.h"
#include "outbox/names.h"
#include "weir/worker.h"

enum {
    BATCH_MAX = 10000,
    HANDLERS_MAX = 512,
    /* With 512 handlers the threads of an executor of our own still suffice. */
    MAINTENANCE_MAX = 64,
    PAGES_MAX = 1000,
    PROCESS_NAME_SIZE_MAX = 255,
    MEMORY_MIN = 1024 * 1024,
    PROFILE_COUNT = WEIR_PROFILE_RELAXED + 1
};

#define MS(n) WEIR_MILLISECONDS(n)
#define S(n) WEIR_SECONDS(n)
#define MIN(n) WEIR_MINUTES(n)
#define H(n) WEIR_HOURS(n)

/* batch, min, active, ramp, idle, retry base, retry max, threshold */
#define SWEEP                                                                            \
    {                                                                                    \
        10000, S(1), S(1), 0, H(1), S(1), S(60), 1                                       \
    }
#define CHECK(idle)                                                                      \
    {                                                                                    \
        1, S(1), S(1), 0, idle, S(1), S(60), 1                                           \
    }

/* clang-format off */
static const struct weir_tuning PROFILES[PROFILE_COUNT][WEIR_KIND_COUNT] = {
    [WEIR_PROFILE_DEFAULT] = {
        [WEIR_KIND_LANE]       = {10, MS(100), MS(500), MS(50), MIN(10), S(1), S(60), 2},
        [WEIR_KIND_DISPATCHER] = {1000, MS(100), MS(500), MS(50), MIN(10), MS(100),
                                  S(30), 1},
        [WEIR_KIND_SWEEP]      = SWEEP,
        [WEIR_KIND_CHECK]      = CHECK(MIN(1)),
    },
    [WEIR_PROFILE_LOW_LATENCY] = {
        [WEIR_KIND_LANE]       = {10, MS(1), MS(2), MS(1), MIN(1), MS(100), S(10), 3},
        [WEIR_KIND_DISPATCHER] = {500, 0, MS(1), 0, MIN(1), MS(100), S(30), 1},
        [WEIR_KIND_SWEEP]      = SWEEP,
        [WEIR_KIND_CHECK]      = CHECK(S(30)),
    },
    [WEIR_PROFILE_HIGH_THROUGHPUT] = {
        [WEIR_KIND_LANE]       = {100, MS(1), MS(20), MS(2), MIN(10), S(1), S(60), 2},
        [WEIR_KIND_DISPATCHER] = {2000, MS(10), MS(100), MS(10), MIN(10), MS(100),
                                  S(30), 1},
        [WEIR_KIND_SWEEP]      = SWEEP,
        [WEIR_KIND_CHECK]      = CHECK(MIN(1)),
    },
    [WEIR_PROFILE_RELAXED] = {
        [WEIR_KIND_LANE]       = {10, MS(100), MS(500), MS(50), MIN(10), S(5), MIN(5), 1},
        [WEIR_KIND_DISPATCHER] = {1000, MS(100), MS(500), MS(100), MIN(10), MS(100),
                                  S(30), 1},
        [WEIR_KIND_SWEEP]      = SWEEP,
        [WEIR_KIND_CHECK]      = CHECK(MIN(2)),
    },
};
/* clang-format on */

static const char *const KIND_NAMES[WEIR_KIND_COUNT] = {
    [WEIR_KIND_LANE] = "lane",
    [WEIR_KIND_DISPATCHER] = "dispatcher",
    [WEIR_KIND_SWEEP] = "sweep",
    [WEIR_KIND_CHECK] = "check",
};

static enum weir_status check_number(const char *field, uint64_t value, uint64_t min,
                                     uint64_t max, struct weir_error *error);
static enum weir_status check_order(const char *field, int64_t value_ns,
                                    const char *limit, int64_t limit_ns,
                                    struct weir_error *error);

/* ---- defaults ---------------------------------------------------------------------- */

void weir_outbox_options_init(struct weir_outbox_options *self)
{
    *self = (struct weir_outbox_options){
        .profile = WEIR_PROFILE_DEFAULT,
        .handlers = 4,
        .maintenance_guaranteed = 2,
        .maintenance_shared = 1,
        .pages_per_run = 8,
        .stats_interval_ns = S(60),
        .payload_size_max = WEIR_PAYLOAD_SIZE_DEFAULT,
        .memory_max = 8 * 1024 * 1024,
    };
}

void weir_queue_options_init(struct weir_queue_options *self)
{
    *self = (struct weir_queue_options){.partitions = 1, .unread = WEIR_UNREAD_KEEP};
}

void weir_handler_options_init(struct weir_handler_options *self)
{
    *self = (struct weir_handler_options){
        .start = WEIR_START_BEGINNING,
        .lease = {.duration_ns = S(30), .headroom_ns = S(2)},
    };
}

struct weir_tuning weir_tuning_of(enum weir_profile profile, enum weir_worker_kind kind)
{
    WEIR_ASSERT((unsigned)profile < PROFILE_COUNT);
    WEIR_ASSERT((unsigned)kind < WEIR_KIND_COUNT);
    return PROFILES[profile][kind];
}

/* ---- tunings and leases ------------------------------------------------------------ */

/* One duration of a tuning, with the limits it has by itself. */
struct duration_rule {
    const char *field;
    int64_t value_ns;
    int64_t min_ns;
};

enum weir_status weir_tuning_check(const struct weir_tuning *self, const char *whose,
                                   struct weir_error *error)
{
    const struct duration_rule rules[] = {
        {"min_ns", self->min_ns, 0},
        {"active_ns", self->active_ns, 0},
        {"ramp_ns", self->ramp_ns, 0},
        {"idle_ns", self->idle_ns, MS(1)},
        {"retry_base_ns", self->retry_base_ns, 1},
        {"retry_max_ns", self->retry_max_ns, 1},
    };
    enum weir_status status = check_number("batch", self->batch, 1, BATCH_MAX, error);

    for (size_t i = 0; status == WEIR_OK && i < COUNT_OF(rules); i++)
        status = weir_duration_check(rules[i].field, rules[i].value_ns, rules[i].min_ns,
                                     WEIR_DURATION_MAX, error);
    if (status == WEIR_OK)
        status = check_order("min_ns", self->min_ns, "active_ns", self->active_ns, error);
    if (status == WEIR_OK)
        status = check_order("retry_base_ns", self->retry_base_ns, "retry_max_ns",
                             self->retry_max_ns, error);
    if (status == WEIR_OK)
        status = check_number("degradation_threshold", self->degradation_threshold, 1,
                              UINT32_MAX, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "%s", whose);
    return status;
}

/* The lease length of a subscription, and the headroom before its end. */
enum weir_status weir_lease_options_check(const struct weir_lease_options *self,
                                          struct weir_error *error)
{
    char headroom[WEIR_DURATION_TEXT_SIZE];
    char duration[WEIR_DURATION_TEXT_SIZE];
    enum weir_status status =
        weir_duration_check("lease.duration_ns", self->duration_ns,
                            WEIR_LEASE_DURATION_MIN, WEIR_LEASE_DURATION_MAX, error);

    if (status != WEIR_OK)
        return status;
    if (self->headroom_ns >= 0 && self->headroom_ns < self->duration_ns)
        return WEIR_OK;
    return weir_error_set(
        error, WEIR_INVALID,
        "lease.headroom_ns is %s, must be from 0 to below lease.duration_ns, which is %s",
        weir_duration_spell(self->headroom_ns, headroom, sizeof headroom),
        weir_duration_spell(self->duration_ns, duration, sizeof duration));
}

/* ---- options ----------------------------------------------------------------------- */

static enum weir_status check_process_name(const char *name, struct weir_error *error)
{
    size_t size;

    if (name == NULL)
        return WEIR_OK;
    size = strnlen(name, PROCESS_NAME_SIZE_MAX + 1);
    if (size == 0 || size > PROCESS_NAME_SIZE_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "process_name is %s, must have 1 to %d bytes",
                              size == 0 ? "empty" : "too long", PROCESS_NAME_SIZE_MAX);
    if (!weir_utf8_valid((struct weir_str){name, size}))
        return weir_error_set(error, WEIR_INVALID, "process_name must be UTF-8");
    return WEIR_OK;
}

static enum weir_status check_counts(const struct weir_outbox_options *self,
                                     struct weir_error *error)
{
    const struct {
        const char *field;
        uint64_t value, min, max;
    } rules[] = {
        {"profile", self->profile, 0, PROFILE_COUNT - 1},
        {"handlers", self->handlers, 1, HANDLERS_MAX},
        {"maintenance_guaranteed", self->maintenance_guaranteed, 1, MAINTENANCE_MAX},
        {"maintenance_shared", self->maintenance_shared, 1, MAINTENANCE_MAX},
        {"pages_per_run", self->pages_per_run, 1, PAGES_MAX},
        {"payload_size_max", self->payload_size_max, 1, WEIR_PAYLOAD_SIZE_MAX},
        {"memory_max", self->memory_max, MEMORY_MIN, SIZE_MAX},
    };
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < COUNT_OF(rules); i++)
        status = check_number(rules[i].field, rules[i].value, rules[i].min, rules[i].max,
                              error);
    return status;
}

enum weir_status weir_outbox_options_check(const struct weir_outbox_options *self,
                                           struct weir_error *error)
{
    enum weir_status status;

    if (self->db == NULL)
        return weir_error_set(error, WEIR_INVALID, "db is NULL, must be a database");
    status = check_process_name(self->process_name, error);
    if (status == WEIR_OK)
        status = check_counts(self, error);
    if (status == WEIR_OK && self->stats_interval_ns != 0)
        status = weir_duration_check("stats_interval_ns", self->stats_interval_ns, MS(1),
                                     WEIR_DURATION_MAX, error);
    for (size_t kind = 0; status == WEIR_OK && kind < WEIR_KIND_COUNT; kind++) {
        if (self->tuning[kind] != NULL)
            status = weir_tuning_check(self->tuning[kind], KIND_NAMES[kind], error);
    }
    return status;
}

enum weir_status weir_queue_options_check(const struct weir_queue_options *self,
                                          struct weir_error *error)
{
    enum weir_status status = weir_queue_name_check("queue name", self->name, error);

    if (status == WEIR_OK)
        status = weir_partitions_check(self->partitions, error);
    if (status == WEIR_OK)
        status = check_number("unread", self->unread, 0, WEIR_UNREAD_DROP, error);
    if (status == WEIR_OK && self->backlog_max < 0)
        status =
            weir_error_set(error, WEIR_INVALID, "backlog_max is %lld, must be at least 0",
                           (long long)self->backlog_max);
    if (status == WEIR_OK)
        status = check_number("attempts_max", self->attempts_max, 0,
                              WEIR_ATTEMPTS_MAX_MAX, error);
    if (status == WEIR_OK && self->dead_letter_retention_ns != 0)
        status = weir_duration_check("dead_letter_retention_ns",
                                     self->dead_letter_retention_ns, S(1),
                                     WEIR_DURATION_MAX, error);
    if (status == WEIR_OK && self->retain_ns != 0)
        status = weir_duration_check("retain_ns", self->retain_ns, S(1),
                                     WEIR_DURATION_MAX, error);
    if (status == WEIR_OK)
        status = check_number("named", self->named, 0, WEIR_POLICY_ALL, error);
    return status;
}

static enum weir_status check_handlers(const struct weir_handler_options *self,
                                       struct weir_error *error)
{
    int transactional = (self->on_message_tx != NULL) + (self->on_batch_tx != NULL);
    int given = (self->on_message != NULL) + (self->on_batch != NULL) + transactional;

    if (given != 1)
        return weir_error_set(error, WEIR_INVALID,
                              "%d of on_message, on_batch, on_message_tx and on_batch_tx "
                              "are given, must be 1",
                              given);
    if (transactional != 0 && self->serving == WEIR_SERVED_BY_SINK)
        return weir_error_set(error, WEIR_INVALID,
                              "a sink cannot have a transactional handler: what it "
                              "delivers is not in this database");
    return WEIR_OK;
}

enum weir_status weir_handler_options_check(const struct weir_handler_options *self,
                                            struct weir_error *error)
{
    enum weir_status status = weir_queue_name_check("queue name", self->queue, error);

    if (status == WEIR_OK && self->subscription != NULL)
        status = weir_queue_name_check("subscription name", self->subscription, error);
    if (status == WEIR_OK)
        status = check_number("start", self->start, 0, WEIR_START_NOW, error);
    if (status == WEIR_OK)
        status = check_handlers(self, error);
    if (status == WEIR_OK)
        status = check_number("permits", self->permits, 0, HANDLERS_MAX, error);
    if (status == WEIR_OK)
        status = weir_lease_options_check(&self->lease, error);
    if (status == WEIR_OK && self->budget_ns != 0)
        status = weir_duration_check("budget_ns", self->budget_ns, MS(1),
                                     WEIR_DURATION_MAX, error);
    if (status == WEIR_OK && self->tuning != NULL)
        status = weir_tuning_check(self->tuning, KIND_NAMES[WEIR_KIND_LANE], error);
    return status;
}

/* ---- texts ------------------------------------------------------------------------- */

/* A limit that no value can pass is not worth a word. */
static enum weir_status check_number(const char *field, uint64_t value, uint64_t min,
                                     uint64_t max, struct weir_error *error)
{
    if (value >= min && value <= max)
        return WEIR_OK;
    if (max >= UINT32_MAX)
        return weir_error_set(error, WEIR_INVALID, "%s is %llu, must be at least %llu",
                              field, (unsigned long long)value, (unsigned long long)min);
    return weir_error_set(error, WEIR_INVALID, "%s is %llu, must be from %llu to %llu",
                          field, (unsigned long long)value, (unsigned long long)min,
                          (unsigned long long)max);
}

static enum weir_status check_order(const char *field, int64_t value_ns,
                                    const char *limit, int64_t limit_ns,
                                    struct weir_error *error)
{
    char value_text[WEIR_DURATION_TEXT_SIZE];
    char limit_text[WEIR_DURATION_TEXT_SIZE];

    if (value_ns <= limit_ns)
        return WEIR_OK;
    return weir_error_set(
        error, WEIR_INVALID, "%s is %s, must be at most %s, which is %s", field,
        weir_duration_spell(value_ns, value_text, sizeof value_text), limit,
        weir_duration_spell(limit_ns, limit_text, sizeof limit_text));
}
