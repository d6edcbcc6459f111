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

#include "weir/outbox.h"

const char *const FLOW_CRASH_LANE_NAMES[FLOW_CRASH_LANES] = {"north", "south", "east"};

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
    uint64_t half = rig_mix(seed ^ number);

    if (identity_of(number) == KEY) {
        (void)snprintf(out->key, sizeof out->key, "key-%" PRIu32, number);
        out->draft.idempotency_key = out->key;
    } else if (identity_of(number) == OWN_ID) {
        memcpy(out->id.uuid, &half, sizeof half);
        memcpy(out->id.uuid + sizeof half, &number, sizeof number);
        memset(out->id.uuid + sizeof half + sizeof number, 0x5a, sizeof number);
        out->id.partition = (uint16_t)(number % RIG_CLIENT_PARTITIONS);
        out->draft.id = &out->id;
    }
}

void flow_crash_write_draft(uint64_t seed, uint32_t number, struct flow_crash_work *out)
{
    uint64_t luck = rig_mix(rig_mix(seed) + number);
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
