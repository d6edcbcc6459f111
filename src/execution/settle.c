/*
 * settle.c - what workers say of what they hold: renew, settle, progress.
 *
 * One transaction for all that a call names: rows are loaded and locked in the order of
 * their numbers, and each claim is judged by itself. A call whose transaction is tried
 * again judges anew, on the rows as they are then.
 */
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "base/utf8.h"
#include "db/db.h"
#include "execution/executions.h"

/* One call. The claims are those of settlements or of renewals. */
struct settle_call {
    struct weir_executions *executions;
    struct weir_settlement *settlements; /* or */
    struct weir_renewal *renewals;
    int64_t lease_us;
    size_t count;
    struct weir_str *reasons; /* owned; of settlements */
    int64_t *nos;             /* owned */
    struct weir_execution_records records;
    struct weir_change *changes; /* owned; of rows that have changed, each once */
    size_t change_count;
    struct weir_pending_wakeups pending_wakeups;
};

static enum weir_status session_init(struct settle_call *self,
                                     struct weir_executions *executions, size_t count,
                                     struct weir_error *error)
{
    const struct weir_heap *heap = executions->heap;

    *self = (struct settle_call){
        .executions = executions,
        .count = count,
        .reasons = weir_heap_zalloc_array(heap, count, sizeof *self->reasons),
        .nos = weir_heap_zalloc_array(heap, count, sizeof *self->nos),
        .changes = weir_heap_zalloc_array(heap, count, sizeof *self->changes),
    };
    weir_execution_records_init(&self->records, heap, count);
    if (self->reasons != NULL && self->nos != NULL && self->changes != NULL)
        return WEIR_OK;
    return weir_no_memory_for(error, "%zu %s", count,
                              WEIR_NOUN(count, "claim", "claims"));
}

static void session_fini(struct settle_call *self)
{
    weir_heap_free(self->executions->heap, self->reasons);
    weir_heap_free(self->executions->heap, self->nos);
    weir_heap_free(self->executions->heap, self->changes);
    weir_execution_records_fini(&self->records);
}

/* ---- rows of claims ---------------------------------------------------------------- */

/* The row that a claim is about; NULL: there is none (any more). Rows are in the order
 * of `no`. */
static struct weir_execution_record *find(struct weir_execution_records *records,
                                          const struct weir_claim *claim)
{
    size_t low = 0;
    size_t high = records->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (records->rows[middle].row.no < claim->no)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == records->count || records->rows[low].row.no != claim->no ||
        memcmp(records->rows[low].row.id.uuid, claim->id.uuid, WEIR_UUID_SIZE) != 0)
        return NULL;
    return &records->rows[low];
}

static enum weir_status status_of(enum weir_ruling ruling)
{
    switch (ruling) {
    case WEIR_RULING_DONE:
    case WEIR_RULING_REPEATED:
        return WEIR_OK;
    case WEIR_RULING_OTHERWISE:
        return WEIR_MISMATCH;
    default:
        return WEIR_FENCED;
    }
}

static enum weir_status load(struct settle_call *self, struct weir_connection *connection,
                             int64_t *now_us, struct weir_error *error)
{
    enum weir_status status =
        weir_store_load(&self->executions->store, connection, self->nos, self->count,
                        &self->records, error);

    self->change_count = 0;
    self->pending_wakeups = (struct weir_pending_wakeups){.ready = false};
    /*
     * The clock is read under the locks: a transaction that waited for them sees the time
     * after the wait.
     */
    return status == WEIR_OK ? weir_store_clock(connection, &self->records, now_us, error)
                             : status;
}

/* Of a call that is ready, or has failed with `status`. Ends it. */
static enum weir_status run(struct settle_call *self, enum weir_status status,
                            weir_transact_fn body, struct weir_error *error)
{
    if (status == WEIR_OK)
        status = weir_transact_soon(self->executions->db, body, self, error);
    if (status == WEIR_OK)
        weir_pending_wakeups_send(self->executions, &self->pending_wakeups);
    session_fini(self);
    return status;
}

/* ---- settling ---------------------------------------------------------------------- */

static enum weir_status check_settlement(const struct weir_settlement *item,
                                         struct weir_str *reason,
                                         struct weir_error *error)
{
    if (item->verb < WEIR_SETTLE_COMPLETE || item->verb > WEIR_SETTLE_ABANDON)
        return weir_error_set(error, WEIR_INVALID, "verb is %d, must be from %d to %d",
                              (int)item->verb, (int)WEIR_SETTLE_COMPLETE,
                              (int)WEIR_SETTLE_ABANDON);
    if (item->result_size > WEIR_RESULT_SIZE_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "result has %zu bytes, must have at most %d",
                              item->result_size, WEIR_RESULT_SIZE_MAX);
    if (item->result == NULL && item->result_size > 0)
        return weir_error_set(error, WEIR_INVALID, "result is NULL, must be %zu %s",
                              item->result_size,
                              WEIR_NOUN(item->result_size, "byte", "bytes"));
    if (item->delay_ms < 0 || item->delay_ms > WEIR_EXECUTION_DURATION_MS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "delay_ms is %" PRId64 ", must be from 0 to %" PRId64
                              ", a hundred years",
                              item->delay_ms, WEIR_EXECUTION_DURATION_MS_MAX);
    return weir_execution_reason(item->reason, reason, error);
}

static enum weir_status check_settlements(struct settle_call *self,
                                          struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        status = check_settlement(&self->settlements[i], &self->reasons[i], error);
        if (status != WEIR_OK)
            weir_error_prefix(error, "settlement %zu of %zu", i + 1, self->count);
        self->nos[i] = self->settlements[i].claim.no;
    }
    return status;
}

/* A completed execution without bytes has none in the table, unless others may be there
 * from before it was replayed. */
static struct weir_str result_of(const struct weir_settlement *item,
                                 const struct weir_execution_row *row)
{
    if (item->verb != WEIR_SETTLE_COMPLETE ||
        (item->result_size == 0 && row->replays == 0))
        return (struct weir_str){NULL, 0};
    return (struct weir_str){item->result_size > 0 ? item->result : "",
                             item->result_size};
}

static enum weir_ruling apply(const struct weir_settlement *item, struct weir_str reason,
                              struct weir_execution_row *row, int64_t now_us,
                              struct weir_consequence *out)
{
    const struct weir_failing failing = {reason, item->permanent};
    int64_t epoch = item->claim.epoch;

    switch (item->verb) {
    case WEIR_SETTLE_COMPLETE:
        return weir_rule_complete(row, epoch, now_us, out);
    case WEIR_SETTLE_FAIL:
        return weir_rule_fail(row, epoch, &failing, now_us, out);
    case WEIR_SETTLE_DELAY:
        return weir_rule_delay(
            row, epoch, weir_sat_add_i64(now_us, item->delay_ms * 1000), now_us, out);
    case WEIR_SETTLE_ABANDON:
        break;
    }
    return weir_rule_abandon(row, epoch, reason, now_us, out);
}

/* A row changes once at most: a second claim with another epoch cannot be current as
 * well. */
static enum weir_ruling settle(struct settle_call *self, size_t index, int64_t now_us)
{
    struct weir_settlement *item = &self->settlements[index];
    struct weir_change change = {.stored = find(&self->records, &item->claim)};
    enum weir_ruling ruling;

    if (change.stored == NULL) {
        item->status = WEIR_NOT_FOUND;
        item->current = (struct weir_execution_status){.epoch = 0};
        return WEIR_RULING_STALE;
    }
    ruling = apply(item, self->reasons[index], &change.stored->row, now_us,
                   &change.consequence);
    if (ruling == WEIR_RULING_DONE) {
        change.result = result_of(item, &change.stored->row);
        self->changes[self->change_count++] = change;
    }
    item->status = status_of(ruling);
    item->current = weir_execution_status_of(&change.stored->row);
    return ruling;
}

/* The change that this call has made to a row; NULL: none. */
static const struct weir_change *find_change(const struct settle_call *self,
                                             const struct weir_execution_record *stored)
{
    for (size_t i = self->change_count; i > 0; i--) {
        if (self->changes[i - 1].stored == stored)
            return &self->changes[i - 1];
    }
    return NULL;
}

static enum weir_status compare_stored(struct settle_call *self,
                                       struct weir_connection *connection,
                                       const struct weir_execution_id *id,
                                       struct weir_str result, bool *same,
                                       struct weir_error *error)
{
    struct weir_execution_records records;
    enum weir_status status;

    weir_execution_records_init(&records, self->executions->heap, 1);
    weir_execution_records_allow_inputs(&records, 1);
    status = weir_store_get_result(connection, id, &records, error);
    *same = status == WEIR_OK && weir_str_equal(records.rows[0].input, result);
    weir_execution_records_fini(&records);
    return status;
}

/* A completion that was there before has a result: with another one it is not the same
 * call. */
static enum weir_status compare_result(struct settle_call *self,
                                       struct weir_connection *connection, size_t index,
                                       struct weir_error *error)
{
    struct weir_settlement *item = &self->settlements[index];
    const struct weir_execution_record *stored = find(&self->records, &item->claim);
    const struct weir_change *change = find_change(self, stored);
    struct weir_str result = {item->result_size > 0 ? item->result : "",
                              item->result_size};
    enum weir_status status = WEIR_OK;
    bool same = true;

    if (stored->row.settled_as != WEIR_SETTLED_COMPLETE)
        return WEIR_OK;
    if (change != NULL)
        same = weir_str_equal(change->result, result);
    else
        status = compare_stored(self, connection, &item->claim.id, result, &same, error);
    if (!same)
        item->status = WEIR_MISMATCH;
    return status;
}

static enum weir_status settle_all(struct weir_connection *connection, void *argument,
                                   struct weir_error *error)
{
    struct settle_call *self = argument;
    int64_t now_us = 0;
    enum weir_status status = load(self, connection, &now_us, error);

    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        if (settle(self, i, now_us) == WEIR_RULING_REPEATED)
            status = compare_result(self, connection, i, error);
    }
    if (status != WEIR_OK)
        return status;
    return weir_change_set_store_at_commit(self->executions, connection, self->changes,
                                           self->change_count, now_us,
                                           &self->pending_wakeups, error);
}

enum weir_status weir_execution_settle(struct weir_executions *self,
                                       struct weir_settlement *settlements, size_t count,
                                       struct weir_error *error)
{
    struct settle_call settle_call;
    enum weir_status status =
        weir_execution_check_list("settlements", settlements, count, error);

    if (status != WEIR_OK || count == 0)
        return status;
    status = session_init(&settle_call, self, count, error);
    settle_call.settlements = settlements;
    if (status == WEIR_OK)
        status = check_settlements(&settle_call, error);
    return run(&settle_call, status, settle_all, error);
}

/* ---- renewing ---------------------------------------------------------------------- */

static void renew(struct settle_call *self, struct weir_renewal *item, int64_t now_us)
{
    struct weir_execution_record *stored = find(&self->records, &item->claim);
    enum weir_ruling ruling;
    int64_t before_us;

    if (stored == NULL) {
        item->status = WEIR_NOT_FOUND;
        item->current = (struct weir_execution_status){.epoch = 0};
        return;
    }
    before_us = stored->row.lease_us;
    ruling = weir_rule_renew(&stored->row, item->claim.epoch, self->lease_us, now_us);
    /* Named twice it is the same the second time, and need not be stored again. */
    if (ruling == WEIR_RULING_DONE &&
        (stored->row.lease_us != before_us || find_change(self, stored) == NULL))
        self->changes[self->change_count++] = (struct weir_change){.stored = stored};
    item->status = status_of(ruling);
    item->current = weir_execution_status_of(&stored->row);
}

static enum weir_status renew_all(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    struct settle_call *self = argument;
    int64_t now_us = 0;
    enum weir_status status = load(self, connection, &now_us, error);

    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < self->count; i++)
        renew(self, &self->renewals[i], now_us);
    return weir_change_set_store_at_commit(self->executions, connection, self->changes,
                                           self->change_count, now_us,
                                           &self->pending_wakeups, error);
}

enum weir_status weir_execution_renew(struct weir_executions *self, int64_t lease_ms,
                                      struct weir_renewal *renewals, size_t count,
                                      struct weir_error *error)
{
    struct settle_call settle_call;
    enum weir_status status =
        weir_execution_check_list("renewals", renewals, count, error);

    if (status == WEIR_OK)
        status = weir_execution_check_lease(lease_ms, error);
    if (status != WEIR_OK || count == 0)
        return status;
    status = session_init(&settle_call, self, count, error);
    settle_call.renewals = renewals;
    settle_call.lease_us = lease_ms * 1000;
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        settle_call.nos[i] = renewals[i].claim.no;
    return run(&settle_call, status, renew_all, error);
}

/* ---- progress ---------------------------------------------------------------------- */

static enum weir_status check_report(int32_t percent, struct weir_str text,
                                     struct weir_error *error)
{
    if (percent < 0 || percent > 100)
        return weir_error_set(error, WEIR_INVALID,
                              "percent is %" PRId32 ", must be from 0 to 100", percent);
    if (text.size > WEIR_FAILURE_SIZE_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "text has %zu bytes, must have at most %d", text.size,
                              WEIR_FAILURE_SIZE_MAX);
    if (!weir_utf8_valid(text))
        return weir_error_set(error, WEIR_INVALID, "text must be UTF-8");
    return WEIR_OK;
}

/* Why it was refused, as it is now. */
static enum weir_status tell_status(struct weir_executions *self,
                                    struct weir_connection *connection,
                                    const struct weir_claim *claim,
                                    struct weir_execution_status *current,
                                    struct weir_error *error)
{
    struct weir_execution_records records;
    enum weir_status status;

    weir_execution_records_init(&records, self->heap, 1);
    status = weir_store_get(&self->store, connection, &claim->id, &records, error);
    if (status == WEIR_OK && records.rows[0].row.no != claim->no) {
        /* It was removed, and its id is used again. */
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no such execution");
    } else if (status == WEIR_OK) {
        *current = weir_execution_status_of(&records.rows[0].row);
        status = weir_error_set(error, WEIR_FENCED,
                                "epoch %" PRId64 " does not hold it: it is %s, epoch "
                                "%" PRId64,
                                claim->epoch, weir_public_state_name(current->state),
                                current->epoch);
    }
    weir_execution_records_fini(&records);
    return status;
}

enum weir_status weir_execution_progress(struct weir_executions *self,
                                         const struct weir_claim *claim, int32_t percent,
                                         const char *text,
                                         struct weir_execution_status *current,
                                         struct weir_error *error)
{
    struct weir_str told = weir_str(text != NULL ? text : "");
    struct weir_connection *connection = NULL;
    struct weir_execution_status scratch;
    bool ours = false;
    enum weir_status status = weir_execution_check_given("claim", claim != NULL, error);

    current = current != NULL ? current : &scratch;
    *current = (struct weir_execution_status){.epoch = 0};
    if (status == WEIR_OK)
        status = check_report(percent, told, error);
    if (status == WEIR_OK)
        status = weir_db_acquire(self->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_store_set_progress(connection, claim, percent, told, &ours, error);
    if (status == WEIR_OK && !ours)
        status = tell_status(self, connection, claim, current, error);
    weir_db_release(self->db, connection);
    return status;
}
