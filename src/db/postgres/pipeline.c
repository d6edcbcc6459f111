/*
 * pipeline.c - queue, sync, gather.
 *
 *   I1  nothing that can fail for reasons of ours happens once the first step is
 *       queued: the parameters of all steps are measured and the room is made before
 *   I2  of each command exactly one result is taken, and the empty one behind it
 *   I3  an adopted connection that is given up behind the first queued command is cut:
 *       a sync would commit what was queued, where there is no transaction
 *   I4  behind a failure of libpq's own nothing is read: without memory it may drop what
 *       the server has sent, and then wait for it
 *
 * Much that is sent makes much that comes back: on our own links answers are read while
 * steps are still being sent (weir_pg_flush). On adopted ones libpq does that when it
 * has to wait.
 */
#include "db/postgres/pipeline.h"

/* As much as is worth a system call: libpq's own threshold in pipeline mode. */
enum { FLUSH_SIZE = 64 * 1024 };

static struct weir_pg_statement *statement_of(const struct weir_driver_step *step)
{
    return step->prepared;
}

/* ---- sending ----------------------------------------------------------------------- */

static enum weir_status make_room(struct weir_pg_link *self, struct weir_pg_train *train,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    size_t size_max = 0;

    for (size_t i = 0; i < train->step_count && status == WEIR_OK; i++) {
        const struct weir_driver_step *step = &train->steps[i];
        size_t size;

        train->failed = i;
        status = weir_pg_encoder_measure(statement_of(step)->letters, step->values, &size,
                                         error);
        if (status == WEIR_OK && size > size_max)
            size_max = size;
    }
    if (status == WEIR_OK)
        status = weir_pg_encoder_reserve(&self->encoder, size_max, error);
    return status;
}

/* Queue one step, its preparation in front if need be. Adds what it weighs to *size. */
static bool queue_step(struct weir_pg_link *self, const struct weir_driver_step *step,
                       size_t index, size_t *size)
{
    struct weir_pg_statement *statement = statement_of(step);

    if (weir_pg_statement_is_new(statement, self)) {
        if (!weir_pg_statement_send_prepare(statement, self))
            return false;
        statement->on_its_way = true;
        statement->way_step = index;
    }
    *size += weir_pg_encoder_fill(&self->encoder, statement->letters, step->values) + 64;
    return weir_pg_statement_send(statement, self) != 0;
}

/* Nothing, or a text that is not worth a name. */
static bool queue_text(struct weir_pg_link *self, const char *text)
{
    return text == NULL ||
           PQsendQueryParams(self->connection, text, 0, NULL, NULL, NULL, NULL, 1) != 0;
}

static enum weir_status send_train(struct weir_pg_link *self, struct weir_pg_train *train,
                                   struct weir_error *error)
{
    size_t size = 0;

    train->failed = train->step_count;
    if (!queue_text(self, train->before))
        return weir_pg_fail_send(self, error);
    train->queued = train->before != NULL;
    for (size_t i = 0; i < train->step_count; i++) {
        train->failed = i;
        if (!queue_step(self, &train->steps[i], i, &size)) {
            train->queued = train->queued || statement_of(&train->steps[i])->on_its_way;
            return weir_pg_fail_send(self, error);
        }
        train->queued = true;
        if (size < FLUSH_SIZE || self->base.adopted)
            continue;
        size = 0;
        if (!weir_pg_flush(self))
            return weir_pg_fail_silence(self, error);
    }
    train->sent = true; /* libpq sends by itself when it has much */
    if (!queue_text(self, train->after) || !PQpipelineSync(self->connection))
        return weir_pg_fail_send(self, error);
    if (!self->base.adopted && !weir_pg_flush(self))
        return weir_pg_fail_silence(self, error);
    return WEIR_OK;
}

/* ---- gathering --------------------------------------------------------------------- */

/* An error that does not come from the server, as for want of memory. */
static bool is_of_libpq(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_FATAL_ERROR &&
           PQresultErrorField(result, PG_DIAG_SQLSTATE) == NULL;
}

/* The one result of the next command, the caller's also on failure; it may be NULL
 * then. */
static enum weir_status take_result(struct weir_pg_link *self, PGresult **out,
                                    struct weir_error *error)
{
    PGresult *end;
    enum weir_status status;

    *out = NULL;
    if (!weir_pg_wait(self))
        return weir_pg_fail_silence(self, error);
    *out = PQgetResult(self->connection);
    status = weir_pg_judge(self, *out, error);
    if (self->base.lost)
        return status;
    if (is_of_libpq(*out)) { /* I4 */
        weir_pg_sever(self);
        return error->status = WEIR_LOST;
    }

    if (!weir_pg_wait(self)) {
        status = weir_pg_fail_silence(self, error);
    } else if ((end = PQgetResult(self->connection)) != NULL) { /* I2 */
        PQclear(end);
        status = weir_pg_fail_send(self, error);
    }
    return status;
}

static enum weir_status gather_step(struct weir_pg_link *self,
                                    struct weir_driver_step *step, size_t index,
                                    PGresult **kept, struct weir_error *error)
{
    struct weir_pg_statement *statement = statement_of(step);
    PGresult *result = NULL;
    enum weir_status status = WEIR_OK;

    if (statement->on_its_way && statement->way_step == index) {
        status = take_result(self, &result, error);
        PQclear(result);
        result = NULL;
        statement->on_its_way = false;
        if (status != WEIR_OK)
            weir_pg_statement_forget(statement);
    }
    if (status == WEIR_OK)
        status = take_result(self, &result, error);
    if (status == WEIR_OK) {
        step->changed = weir_pg_changed(result);
        statement->proven = true;
        if (kept != NULL) {
            *kept = result;
            result = NULL;
        }
    }
    PQclear(result);
    return status;
}

static enum weir_status gather_text(struct weir_pg_link *self, const char *text,
                                    struct weir_error *error)
{
    PGresult *result = NULL;
    enum weir_status status = WEIR_OK;

    if (text != NULL)
        status = take_result(self, &result, error);
    PQclear(result);
    return status;
}

/* The steps behind the one that failed were skipped; what they would have prepared was
 * not. */
static void forget_skipped(const struct weir_driver_step *steps, size_t step_count,
                           size_t failed)
{
    for (size_t i = failed; i < step_count; i++) {
        if (statement_of(&steps[i])->on_its_way)
            weir_pg_statement_forget(statement_of(&steps[i]));
    }
}

/*
 * Read up to the sync. Errors on the way are of interest only when nothing has failed
 * before: the transaction of the steps ends at the sync, and a deferred constraint
 * speaks up there.
 */
static enum weir_status gather_sync(struct weir_pg_link *self, enum weir_status status,
                                    struct weir_error *error)
{
    unsigned empty_count = 0;

    while (empty_count < 2 && !self->base.lost) {
        PGresult *result;
        ExecStatusType kind;

        if (weir_pg_wait_for_sync(self, error) != WEIR_OK)
            return WEIR_LOST;
        result = PQgetResult(self->connection);
        kind = PQresultStatus(result);
        if (result != NULL && is_of_libpq(result)) { /* I4 */
            PQclear(result);
            break;
        }
        empty_count = result == NULL ? empty_count + 1 : 0;
        if (result != NULL && kind != PGRES_PIPELINE_SYNC &&
            kind != PGRES_PIPELINE_ABORTED && status == WEIR_OK)
            status = weir_pg_judge(self, result, error);
        PQclear(result);
        if (kind == PGRES_PIPELINE_SYNC)
            return status;
    }
    return self->base.lost ? status : weir_pg_fail_send(self, error);
}

static enum weir_status gather(struct weir_pg_link *self, struct weir_pg_train *train,
                               struct weir_error *error)
{
    size_t count = train->step_count;
    enum weir_status status = gather_text(self, train->before, error);
    size_t done = 0;

    while (done < count && status == WEIR_OK) {
        status = gather_step(self, &train->steps[done], done,
                             done == train->result_step ? train->result : NULL, error);
        if (status == WEIR_OK)
            train->done = ++done;
    }
    train->failed = status != WEIR_OK && done < count ? done : count;
    if (status == WEIR_OK)
        status = gather_text(self, train->after, error);
    if (self->base.lost)
        return status;
    if (status != WEIR_OK)
        forget_skipped(train->steps, count, done);
    return gather_sync(self, status, error);
}

/* ---- all of it --------------------------------------------------------------------- */

static void drop_result(struct weir_pg_train *train)
{
    if (train->result == NULL)
        return;
    PQclear(*train->result);
    *train->result = NULL;
}

static enum weir_status run_once(struct weir_pg_link *self, struct weir_pg_train *train,
                                 struct weir_error *error)
{
    enum weir_status status = weir_pg_ready(self, error);

    train->failed = 0;
    train->done = 0;
    train->queued = false;
    train->sent = false;
    if (status != WEIR_OK)
        return status;
    if (!PQenterPipelineMode(self->connection))
        return weir_pg_fail_send(self, error);
    status = send_train(self, train, error);
    if (status == WEIR_OK)
        status = gather(self, train, error);
    if (self->base.adopted && self->base.lost && train->queued)
        weir_pg_cut(self); /* I3 */
    if (!PQexitPipelineMode(self->connection) && !self->base.lost) {
        status = weir_pg_fail_send(self, error);
        weir_pg_cut(self);
    }
    weir_pg_rest(self);
    return status;
}

/* What was it that failed, if it was a step? A transaction that was begun on the way is
 * open, and so is mended by being tried again as a whole. */
static bool mends(struct weir_pg_link *self, const struct weir_pg_train *train,
                  struct weir_error *error)
{
    return train->failed < train->step_count &&
           weir_pg_statement_mends(statement_of(&train->steps[train->failed]), self,
                                   error);
}

enum weir_status weir_pg_run_train(struct weir_pg_link *self, struct weir_pg_train *train,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    train->queued = train->sent = false;
    train->failed = train->done = 0;
    if (self->base.adopted)
        status = weir_pg_check_free(self->connection, error);
    if (status == WEIR_OK)
        status = make_room(self, train, error);
    if (status == WEIR_OK) {
        status = run_once(self, train, error);
        if (status != WEIR_OK && mends(self, train, error)) {
            drop_result(train);
            status = run_once(self, train, error);
        } else if (status != WEIR_OK) {
            status = error->status;
        }
    }
    if (status != WEIR_OK)
        drop_result(train);
    weir_pg_encoder_relax(&self->encoder);
    return status;
}

enum weir_status weir_pg_run_steps(struct weir_link *link, struct weir_driver_step *steps,
                                   size_t step_count, size_t *failed,
                                   struct weir_error *error)
{
    struct weir_pg_train train = {.steps = steps, .step_count = step_count};
    enum weir_status status = WEIR_OK;

    if (step_count > 0)
        status = weir_pg_run_train((struct weir_pg_link *)link, &train, error);
    *failed = train.failed;
    if (step_count > 0 && train.failed == step_count)
        *failed = step_count - 1; /* their transaction ends with the last */
    return status;
}
