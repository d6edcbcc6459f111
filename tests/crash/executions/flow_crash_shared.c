/*
 * flow_crash_shared.c - see flow_crash_shared.h.
 */
#include "crash/executions/flow_crash_shared.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/order/order_shared.h"
#include "weir/outbox.h"

const char *const FLOW_CRASH_LANE_NAMES[FLOW_CRASH_LANES] = {"north", "south", "east"};

uint32_t flow_crash_roll(struct flow_crash *self, uint32_t n)
{
    self->chance = order_mix(self->chance);
    return (uint32_t)(self->chance % n);
}

bool flow_crash_is_told_to_leave(struct flow_crash *self)
{
    return atomic_load(&self->shared->leave[self->process_slot]);
}

/* ---- trouble ----------------------------------------------------------------------- */

void flow_crash_give_up(struct flow_crash *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    process_set_give_up(&self->shared->board, format, args);
}

bool flow_crash_went_well(struct flow_crash *self, const char *what,
                          enum weir_status status, const struct weir_error *error)
{
    if (status == WEIR_OK)
        return true;
    if (weir_status_class(status) != WEIR_CLASS_RETRY)
        flow_crash_give_up(self, "%s: %s: %s", what, weir_status_name(status),
                           error->text);
    return false;
}

/* ---- orders ------------------------------------------------------------------------ */

enum { ORDER_SIGNALS = 256 };

uint32_t flow_crash_order(int signal_number, uint32_t statements)
{
    return statements * ORDER_SIGNALS + (uint32_t)signal_number;
}

void flow_crash_pass(struct flow_crash *self)
{
    _Atomic uint32_t *mine = &self->shared->board.order[self->process_slot];
    uint32_t order = atomic_load(mine);

    while (order != 0) {
        bool now = order < 2 * ORDER_SIGNALS;

        if (!atomic_compare_exchange_weak(mine, &order, now ? 0 : order - ORDER_SIGNALS))
            continue;
        if (now)
            (void)raise((int)(order % ORDER_SIGNALS));
        return;
    }
}

/* ---- an engine --------------------------------------------------------------------- */

void flow_crash_open(struct flow_crash *self, struct flow_crash_client *out)
{
    struct weir_outbox_options outbox;
    struct weir_executions_options executions;
    struct weir_error error;

    (void)signal(SIGPIPE, SIG_IGN); /* drivers write to servers that are gone */
    out->db =
        process_set_open_db(self->fixture, &self->shared->points, &self->process, &error);
    if (out->db == NULL)
        flow_crash_give_up(self, "open: %s", error.text);
    weir_outbox_options_init(&outbox);
    outbox.db = out->db;
    outbox.stats_interval_ns = 0;
    while (!flow_crash_went_well(
        self, "create outbox", weir_outbox_create(&outbox, &out->outbox, &error), &error))
        order_rest_us(5000);
    weir_executions_options_init(&executions);
    executions.db = out->db;
    executions.outbox = out->outbox;
    executions.partitions = FLOW_CRASH_PARTITIONS;
    while (!flow_crash_went_well(
        self, "create flow",
        weir_executions_create(&executions, &out->executions, &error), &error))
        order_rest_us(5000);
}

void flow_crash_close(struct flow_crash_client *client)
{
    weir_executions_destroy(client->executions);
    weir_outbox_destroy(client->outbox);
    weir_db_destroy(client->db);
}

/* ---- drafts ------------------------------------------------------------------------ */

enum { POLICIES = 6 };

/* With short limits, so that some are reached; few, so that few terms are needed. */
static struct weir_execution_policy policy_of(uint32_t choice)
{
    static const struct {
        uint32_t retries_max;
        enum weir_retry_backoff backoff;
        int64_t backoff_initial_ms;
        int64_t attempt_timeout_ms;
        uint32_t reclaims_max;
    } CHOICES[POLICIES] = {
        {0, WEIR_RETRY_FIXED, 0, 0, 100},        {1, WEIR_RETRY_FIXED, 0, 0, 1},
        {2, WEIR_RETRY_FIXED, 40, 0, 100},       {3, WEIR_RETRY_EXPONENTIAL, 30, 0, 0},
        {2, WEIR_RETRY_EXPONENTIAL, 50, 900, 2}, {5, WEIR_RETRY_EXPONENTIAL, 20, 0, 100},
    };
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    policy.retries_max = CHOICES[choice].retries_max;
    policy.backoff = CHOICES[choice].backoff;
    policy.backoff_initial_ms = CHOICES[choice].backoff_initial_ms;
    policy.backoff_max_ms = 300;
    policy.attempt_timeout_ms = CHOICES[choice].attempt_timeout_ms;
    policy.reclaims_max = CHOICES[choice].reclaims_max;
    return policy;
}

enum identity { NO_IDENTITY, OWN_ID, KEY };

static enum identity identity_of(uint32_t number)
{
    return number % 4 < KEY ? (enum identity)(number % 4) : KEY;
}

bool flow_crash_has_identity(uint32_t number)
{
    return identity_of(number) != NO_IDENTITY;
}

static void write_identity(uint64_t seed, uint32_t number, struct flow_crash_work *out)
{
    uint64_t half = order_mix(seed ^ number);

    if (identity_of(number) == KEY) {
        (void)snprintf(out->key, sizeof out->key, "key-%" PRIu32, number);
        out->draft.idempotency_key = out->key;
    } else if (identity_of(number) == OWN_ID) {
        memcpy(out->id.uuid, &half, sizeof half);
        memcpy(out->id.uuid + sizeof half, &number, sizeof number);
        memset(out->id.uuid + sizeof half + sizeof number, 0x5a, sizeof number);
        out->id.partition = (uint16_t)(number % FLOW_CRASH_PARTITIONS);
        out->draft.id = &out->id;
    }
}

void flow_crash_write_draft(uint64_t seed, uint32_t number, struct flow_crash_work *out)
{
    uint64_t luck = order_mix(order_mix(seed) + number);
    int size = snprintf(out->input, sizeof out->input, "number %" PRIu32 ";", number);

    memset(out->input + size, 'x', sizeof out->input - (size_t)size);
    out->policy = policy_of((uint32_t)(luck % POLICIES));
    out->draft = (struct weir_execution_draft){
        .lane = FLOW_CRASH_LANE_NAMES[luck / 10 % FLOW_CRASH_LANES],
        .kind = "labour",
        .priority = (int32_t)(luck / 100 % 5),
        .input = out->input,
        .input_size = (size_t)size + luck / 1000 % (sizeof out->input - (size_t)size),
        .policy = &out->policy,
        .delay_ms = luck / 1000000 % 10 == 0 ? (int64_t)(luck / 10000000 % 400) : 0,
        .deadline_ms = luck / 1000000000 % 20 == 0 ? 2500 : 0,
    };
    write_identity(seed, number, out);
}

uint32_t flow_crash_read_number(const void *input, size_t size)
{
    char text[24] = "";
    uint32_t number;

    if (input == NULL)
        return UINT32_MAX;
    memcpy(text, input, size < sizeof text ? size : sizeof text - 1);
    if (sscanf(text, "number %" SCNu32 ";", &number) != 1)
        return UINT32_MAX;
    return number < FLOW_CRASH_DRAFTS_MAX ? number : UINT32_MAX;
}

void flow_crash_write_note(const struct flow_crash_claim *claim, char *out)
{
    (void)snprintf(out, FLOW_CRASH_NOTE_SIZE,
                   "number %" PRIu32 " epoch %" PRId64 " process %" PRIu32, claim->number,
                   claim->epoch, claim->process);
}
