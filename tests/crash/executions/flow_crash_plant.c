/*
 * flow_crash_plant.c - what would be there if a promise had been broken: tables and
 * notes are changed before the audit, which must find it. Several may be planted one
 * after the other; they choose their victims so that none hides another.
 */
#include <stdio.h>
#include <string.h>

#include "crash/executions/flow_crash_shared.h"
#include "execution/state.h"
#include "weir/outbox.h"

#define FIRST "(SELECT min(no) FROM {p}_execution)"
#define FIRST_WITH_TWO "(SELECT min(no) FROM {p}_attempt WHERE number = 1)"

/* ---- tables ------------------------------------------------------------------------ */

static const char *statement_of(enum flow_crash_plant plant)
{
    switch (plant) {
    case FLOW_CRASH_LOST:
        return "DELETE FROM {p}_execution WHERE no = " FIRST;
    case FLOW_CRASH_TWICE:
        return "UPDATE {p}_input SET bytes = (SELECT bytes FROM {p}_input WHERE no ="
               " " FIRST ") WHERE no = (SELECT max(no) FROM {p}_execution)";
    case FLOW_CRASH_NEVER_ENDED:
        return "UPDATE {p}_execution SET state = 1, ended_us = 0 WHERE no ="
               " (SELECT max(no) FROM {p}_execution)";
    case FLOW_CRASH_ENDED_TWICE:
        return "UPDATE {p}_attempt SET outcome = 1 WHERE number = 0 AND no ="
               " " FIRST_WITH_TWO;
    case FLOW_CRASH_OTHER_END:
        return "UPDATE {p}_execution SET state = 11 WHERE no ="
               " (SELECT min(no) FROM {p}_execution WHERE state = 10)";
    case FLOW_CRASH_GAP:
        return "DELETE FROM {p}_attempt WHERE number = 0 AND no = " FIRST_WITH_TWO;
    case FLOW_CRASH_OVERLAP:
        return "UPDATE {p}_attempt SET started_us = 1 WHERE number = 1 AND no ="
               " (SELECT max(no) FROM {p}_attempt WHERE number = 1)";
    case FLOW_CRASH_WRONG_TYPE:
        return "UPDATE {p}_attempt SET type = 3 - type WHERE number = 1 AND no ="
               " " FIRST_WITH_TWO;
    case FLOW_CRASH_OTHER_RESULT:
        return "UPDATE {p}_result SET bytes = (SELECT i.bytes FROM {p}_input i WHERE "
               "i.no ="
               " {p}_result.no) WHERE no = (SELECT min(no) FROM {p}_result)";
    case FLOW_CRASH_OTHER_OUTCOME:
        return "UPDATE {p}_attempt SET failure = 'something else' WHERE outcome = 2";
    case FLOW_CRASH_MORE_RETRIES:
        return "UPDATE {p}_execution SET retries = retries + 1 WHERE no = " FIRST;
    case FLOW_CRASH_BEGAN_EARLY:
        return "UPDATE {p}_execution SET created_us = created_us + 3600000000"
               " WHERE attempts > 0";
    default:
        return NULL;
    }
}

/* ---- notes ------------------------------------------------------------------------- */

/* The first claim that was settled in this way; whatever the answer was, when it
 * vanished. */
static struct flow_crash_claim *find_claim(struct flow_crash_shared *shared, uint8_t verb,
                                           bool repeated)
{
    size_t count = atomic_load(&shared->claim_count);

    for (size_t i = 0; i < count; i++) {
        struct flow_crash_claim *claim = &shared->claims[i];

        if (claim->verb == verb &&
            (verb == FLOW_CRASH_VANISH || atomic_load(&claim->answer) == FLOW_CRASH_OK) &&
            (!repeated || atomic_load(&claim->again) == FLOW_CRASH_OK))
            return claim;
    }
    return NULL;
}

static void tamper_with_claim(struct flow_crash *self, enum flow_crash_plant plant)
{
    struct flow_crash_shared *shared = self->shared;
    bool repeated = plant == FLOW_CRASH_REPEAT_REFUSED;
    uint8_t verb =
        plant == FLOW_CRASH_LEASE_EARLY ? FLOW_CRASH_VANISH : WEIR_SETTLE_COMPLETE;
    struct flow_crash_claim *claim = find_claim(shared, verb, repeated);

    if (claim == NULL)
        return; /* not in this run */
    if (plant == FLOW_CRASH_REPEAT_REFUSED)
        atomic_store(&claim->again, FLOW_CRASH_FENCED);
    else if (plant == FLOW_CRASH_STALE_HEEDED)
        atomic_store(&claim->answer, FLOW_CRASH_FENCED);
    else if (plant == FLOW_CRASH_SERVED_LATER)
        atomic_store(&claim->refused_renewal, true);
    else if (plant == FLOW_CRASH_LEASE_EARLY)
        atomic_fetch_add(&claim->lease_us, (int64_t)3600 * 1000000);
    else if (plant == FLOW_CRASH_LEASE_OVER)
        atomic_store(&claim->lease_us, 1);
    else
        memcpy(&shared->claims[atomic_fetch_add(&shared->claim_count, 1)], claim,
               sizeof *claim);
}

/* Whoever said that there should be no retry did not say it. */
static void forget_permanent(struct flow_crash_shared *shared)
{
    size_t count = atomic_load(&shared->claim_count);

    for (size_t i = 0; i < count; i++)
        shared->claims[i].permanent = false;
}

/* A parcel of several drafts that was committed, not one of the first. */
static uint32_t find_submission(struct flow_crash_shared *shared)
{
    uint32_t count = atomic_load(&shared->draft_count);
    uint32_t i = count / 2;

    while (i + 1 < count &&
           (atomic_load(&shared->drafts[i].fate) != FLOW_CRASH_COMMITTED ||
            shared->drafts[i + 1].submission != shared->drafts[i].submission))
        i++;
    return shared->drafts[i].submission;
}

static void halve_submission(struct flow_crash *self)
{
    struct flow_crash_shared *shared = self->shared;
    uint32_t first = find_submission(shared);
    char sql[256];

    for (uint32_t i = first; shared->drafts[i].submission == first && i < first + 1000;
         i++)
        atomic_store(&shared->drafts[i].fate, FLOW_CRASH_DOUBT);
    (void)snprintf(sql, sizeof sql,
                   "DELETE FROM {p}_execution WHERE no IN (SELECT no FROM {p}_input"
                   " WHERE %s LIKE 'number %u;%%')",
                   fixture_choose(self->rig.fixture, "CAST(bytes AS TEXT)",
                                  "convert_from(bytes, 'UTF8')", NULL),
                   first);
    fixture_prepare(self->rig.fixture, sql);
}

/* One that was committed and whose id was told, not one of the first. */
static struct flow_crash_draft *find_draft(struct flow_crash_shared *shared)
{
    uint32_t i = atomic_load(&shared->draft_count) / 2;

    while (i > 0 && (atomic_load(&shared->drafts[i].fate) != FLOW_CRASH_COMMITTED ||
                     !atomic_load(&shared->drafts[i].told)))
        i--;
    return &shared->drafts[i];
}

/* ---- events ------------------------------------------------------------------------ */

/* Ended by an engine that tells nobody. */
static void end_in_silence(struct flow_crash *self)
{
    struct fixture *fixture = self->rig.fixture;
    struct flow_crash_shared *shared = self->shared;
    uint32_t number = atomic_fetch_add(&shared->draft_count, 1);
    struct flow_crash_work work;
    struct weir_submission answer;
    struct weir_executions_options options;
    struct weir_executions *executions;

    shared->drafts[number].submission = number;
    atomic_store(&shared->drafts[number].fate, FLOW_CRASH_COMMITTED);
    weir_executions_options_init(&options);
    options.db = fixture->db;
    options.partitions = RIG_CLIENT_PARTITIONS;
    check_db(weir_executions_create(&options, &executions, &fixture->error), WEIR_OK);
    flow_crash_write_draft(self->options->rig.seed, number, &work);
    check_db(
        weir_execution_submit(executions, NULL, &work.draft, 1, &answer, &fixture->error),
        WEIR_OK);
    check_db(weir_execution_cancel(executions, &answer.id, "hush", &fixture->error),
             WEIR_OK);
    weir_executions_destroy(executions);
}

static void tell_again(struct flow_crash *self)
{
    struct fixture *fixture = self->rig.fixture;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_draft draft = {
        .key = weir_execution_id_format(&find_draft(self->shared)->id, id),
        .type = "success"};
    struct weir_outbox_options options;
    struct weir_outbox *outbox;

    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    check_db(
        weir_enqueue(outbox, NULL, "execution.completion", &draft, NULL, &fixture->error),
        WEIR_OK);
    weir_outbox_destroy(outbox);
}

/* ---- all of it --------------------------------------------------------------------- */

void flow_crash_tamper(struct flow_crash *self, enum flow_crash_plant plant)
{
    struct flow_crash_shared *shared = self->shared;

    switch (plant) {
    case FLOW_CRASH_SOUND:
        break;
    case FLOW_CRASH_ROLLED_BACK:
        atomic_store(&find_draft(shared)->fate, FLOW_CRASH_NOTHING);
        break;
    case FLOW_CRASH_HALF:
        halve_submission(self);
        break;
    case FLOW_CRASH_OTHER_ID:
        find_draft(shared)->id.uuid[0] ^= 1;
        break;
    case FLOW_CRASH_NO_EVENT:
        end_in_silence(self);
        break;
    case FLOW_CRASH_TWO_EVENTS:
        tell_again(self);
        break;
    case FLOW_CRASH_GIVEN_UP:
        forget_permanent(shared);
        break;
    case FLOW_CRASH_REPEAT_REFUSED:
    case FLOW_CRASH_STALE_HEEDED:
    case FLOW_CRASH_TWO_OWNERS:
    case FLOW_CRASH_SERVED_LATER:
    case FLOW_CRASH_LEASE_EARLY:
    case FLOW_CRASH_LEASE_OVER:
        tamper_with_claim(self, plant);
        break;
    default:
        fixture_prepare(self->rig.fixture, statement_of(plant));
        break;
    }
}
