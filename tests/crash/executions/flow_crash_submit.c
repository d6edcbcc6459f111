/*
 * flow_crash_submit.c - a process that submits executions, one transaction after the
 * other, until it is told to leave, or until it is killed in the middle of one.
 *
 * A transaction is a parcel: drafts with numbers in a row. Whether it has committed is
 * noted before and after; where that is in doubt it is submitted again, by the next
 * process if this one is killed, and the answer tells: when one of it was there before,
 * all are.
 */
#include <string.h>

#include "crash/executions/flow_crash_shared.h"
#include "kit/db/adopted.h"
#include "kit/outbox/effects.h"

enum { SUBMISSION_MAX = 120, SMALL_MAX = 15, CALLS_MAX = 3 };

struct submitter {
    struct flow_crash *run;
    struct rig_client client;
    struct flow_crash_submission *submission; /* of this seat */
    struct flow_crash_work flow_fixture[SUBMISSION_MAX];
    struct weir_execution_draft drafts[SUBMISSION_MAX];
    struct weir_submission answers[SUBMISSION_MAX];
    uint32_t numbers[SUBMISSION_MAX]; /* of the last call */
    uint32_t count;
    struct weir_error error;
};

static struct flow_crash_draft *draft_of(struct submitter *self, uint32_t number)
{
    return &self->run->shared->drafts[number];
}

/* ---- a call ------------------------------------------------------------------------ */

static void name_draft(struct submitter *self, uint32_t number)
{
    self->numbers[self->count++] = number;
}

static void name_drafts(struct submitter *self, uint32_t first, uint32_t count)
{
    self->count = 0;
    for (uint32_t i = 0; i < count; i++)
        name_draft(self, first + i);
}

/* Those that were named. */
static enum weir_status call(struct submitter *self, struct weir_connection *connection)
{
    for (uint32_t i = 0; i < self->count; i++) {
        flow_crash_write_draft(self->run->options->rig.seed, self->numbers[i],
                               &self->flow_fixture[i]);
        self->drafts[i] = self->flow_fixture[i].draft;
    }
    return weir_execution_submit(self->client.executions, connection, self->drafts,
                                 self->count, self->answers, &self->error);
}

/* The ids of those that were named, which must be the same whenever they are told. */
static void note_ids(struct submitter *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        struct flow_crash_draft *draft = draft_of(self, self->numbers[i]);
        const struct weir_execution_id *id = &self->answers[i].id;

        if (!atomic_load(&draft->told))
            draft->id = *id;
        else if (memcmp(draft->id.uuid, id->uuid, WEIR_UUID_SIZE) != 0)
            atomic_fetch_add(&self->run->shared->other_ids, 1);
        atomic_store(&draft->told, true);
    }
}

/* ---- fates ------------------------------------------------------------------------- */

static void set_fate(struct submitter *self, uint32_t number, enum flow_crash_fate fate)
{
    uint8_t before = atomic_exchange(&draft_of(self, number)->fate, (uint8_t)fate);

    if (fate == FLOW_CRASH_COMMITTED && before != FLOW_CRASH_COMMITTED)
        atomic_fetch_add(&self->run->shared->committed, 1);
}

/* Of the whole parcel. */
static void set_fates(struct submitter *self, enum flow_crash_fate fate)
{
    for (uint32_t i = 0; i < self->submission->count; i++)
        set_fate(self, self->submission->first + i, fate);
}

/* Some of it was there when it was submitted again, so all is, or none was; those
 * without key and id were not submitted again. */
static void conclude(struct submitter *self)
{
    bool was_there = self->answers[0].duplicate;

    for (uint32_t i = 1; i < self->count; i++) {
        if (self->answers[i].duplicate != was_there)
            rig_give_up(&self->run->rig, "half of a transaction was committed");
    }
    set_fates(self, was_there ? FLOW_CRASH_COMMITTED : FLOW_CRASH_NOTHING);
}

/* Until there is an answer. After a second doubt nothing can be said of those without
 * key and id. */
static void find_out(struct submitter *self)
{
    struct flow_crash_submission *submission = self->submission;
    enum weir_status status;

    self->count = 0;
    for (uint32_t i = 0; i < submission->count; i++) {
        if (flow_crash_has_identity(submission->first + i))
            name_draft(self, submission->first + i);
    }
    if (self->count == 0)
        return;
    do {
        submission->repeats++;
        status = call(self, NULL);
        if (!rig_went_well(&self->run->rig, "submit again", status, &self->error)) {
            submission->repeats -= status != WEIR_IN_DOUBT;
            rig_rest_us(5000);
        }
    } while (status != WEIR_OK);
    note_ids(self);
    if (submission->repeats == 1)
        conclude(self);
    for (uint32_t i = 0; i < self->count; i++)
        set_fate(self, self->numbers[i], FLOW_CRASH_COMMITTED);
    atomic_fetch_add(&self->run->shared->resubmitted, self->count);
}

static void end_commit(struct submitter *self, const char *what, enum weir_status status)
{
    if (rig_went_well(&self->run->rig, what, status, &self->error))
        set_fates(self, FLOW_CRASH_COMMITTED);
    else if (status == WEIR_IN_DOUBT)
        find_out(self);
    else
        set_fates(self, FLOW_CRASH_NOTHING);
}

/* ---- parcels ----------------------------------------------------------------------- */

static void make_submission(struct submitter *self)
{
    struct flow_crash *run = self->run;
    uint32_t most = rig_roll(&run->rig, 8) == 0 ? SUBMISSION_MAX : SMALL_MAX;
    uint32_t count = 1 + rig_roll(&run->rig, most);
    uint32_t first = atomic_fetch_add(&run->shared->draft_count, count);

    if (first + count > FLOW_CRASH_DRAFTS_MAX)
        rig_give_up(&run->rig, "there is no room for more drafts");
    for (uint32_t i = 0; i < count; i++)
        draft_of(self, first + i)->submission = first;
    self->submission->first = first;
    self->submission->repeats = 0;
    atomic_store(&self->submission->count, count);
}

/* A call that is a transaction by itself. */
static void submit_alone(struct submitter *self)
{
    enum weir_status status;

    name_drafts(self, self->submission->first, self->submission->count);
    set_fates(self, FLOW_CRASH_DOUBT);
    status = call(self, NULL);
    if (status == WEIR_OK)
        note_ids(self);
    end_commit(self, "submit", status);
}

/* In several calls. What they tell is true only if it is committed; it is learnt when
 * it is told again. */
static enum weir_status submit_inside(struct submitter *self,
                                      struct weir_connection *connection)
{
    uint32_t left = self->submission->count;
    uint32_t next = self->submission->first;
    enum weir_status status = WEIR_OK;

    for (int i = 0; i < CALLS_MAX && left > 0 && status == WEIR_OK; i++) {
        uint32_t count = i == CALLS_MAX - 1 ? left : 1 + rig_roll(&self->run->rig, left);

        name_drafts(self, next, count);
        status = call(self, connection);
        next += count;
        left -= count;
    }
    return status;
}

static void submit_on(struct submitter *self, struct weir_connection *connection)
{
    bool keep = rig_roll(&self->run->rig, 5) > 0;
    enum weir_status status = weir_connection_begin(connection, &self->error);

    if (status == WEIR_OK)
        status = submit_inside(self, connection);
    if (!rig_went_well(&self->run->rig, "submit inside", status, &self->error) || !keep) {
        weir_connection_rollback(connection);
        return;
    }
    set_fates(self, FLOW_CRASH_DOUBT);
    status = weir_connection_commit(connection, &self->error);
    end_commit(self, "commit", status);
    weir_executions_flush(self->client.executions);
}

static void submit_in_transaction(struct submitter *self)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->client.db, &connection, &self->error);

    if (rig_went_well(&self->run->rig, "connect", status, &self->error))
        submit_on(self, connection);
    weir_db_release(self->client.db, connection);
}

/* Whatever goes wrong in a COMMIT, it may have been done. */
static void submit_on_adopted(struct submitter *self, struct weir_connection *connection)
{
    bool keep = rig_roll(&self->run->rig, 5) > 0;
    enum weir_status status;

    if (!effects_run(connection, "BEGIN"))
        return;
    status = submit_inside(self, connection);
    if (!rig_went_well(&self->run->rig, "submit on an adopted connection", status,
                       &self->error) ||
        !keep) {
        (void)effects_run(connection, "ROLLBACK");
        return;
    }
    set_fates(self, FLOW_CRASH_DOUBT);
    end_commit(self, "commit",
               effects_run(connection, "COMMIT") ? WEIR_OK : WEIR_IN_DOUBT);
}

static void submit_adopted(struct submitter *self)
{
    struct adopted adopted;
    enum weir_status status =
        adopted_open(&adopted, self->run->rig.fixture, self->client.db, &self->error);

    if (rig_went_well(&self->run->rig, "adopt", status, &self->error))
        submit_on_adopted(self, adopted.connection);
    adopted_close(&adopted);
}

/* One that was committed by anybody, although nothing was lost. */
static void submit_again(struct submitter *self)
{
    struct flow_crash *run = self->run;
    uint32_t count = atomic_load(&run->shared->draft_count);
    uint32_t number = count > 0 ? rig_roll(&run->rig, count) : 0;

    if (!flow_crash_has_identity(number) ||
        atomic_load(&draft_of(self, number)->fate) != FLOW_CRASH_COMMITTED)
        return;
    name_drafts(self, number, 1);
    if (!rig_went_well(&run->rig, "submit again", call(self, NULL), &self->error))
        return;
    note_ids(self);
    atomic_fetch_add(&run->shared->resubmitted, 1);
}

/* ---- all of it --------------------------------------------------------------------- */

static bool is_in_doubt(struct submitter *self)
{
    for (uint32_t i = 0; i < self->submission->count; i++) {
        if (atomic_load(&draft_of(self, self->submission->first + i)->fate) ==
            FLOW_CRASH_DOUBT)
            return true;
    }
    return false;
}

/* What the process before had in its hands. */
static void take_over(struct submitter *self)
{
    if (is_in_doubt(self))
        find_out(self);
    atomic_store(&self->submission->count, 0);
}

static void submit_submission(struct submitter *self)
{
    uint32_t luck = rig_roll(&self->run->rig, 10);

    if (luck < 5)
        submit_alone(self);
    else if (luck < 8)
        submit_in_transaction(self);
    else
        submit_adopted(self);
}

static void submit_all(struct submitter *self)
{
    struct flow_crash *run = self->run;

    while (!rig_must_leave(&run->rig)) {
        if (atomic_load(&run->shared->committed) >=
            atomic_load(&run->shared->rig.allowed)) {
            rig_rest_us(5000);
            continue;
        }
        make_submission(self);
        submit_submission(self);
        atomic_store(&self->submission->count, 0);
        if (rig_roll(&run->rig, 4) == 0)
            submit_again(self);
    }
}

void flow_crash_submit(struct flow_crash *run)
{
    static struct submitter self; /* large */

    self.run = run;
    self.submission = &run->shared->submissions[run->rig.slot];
    weir_error_clear(&self.error);
    rig_client_open(&run->rig, &self.client);
    rig_be_ready(&run->rig);
    take_over(&self);
    submit_all(&self);
    rig_client_close(&self.client);
}
