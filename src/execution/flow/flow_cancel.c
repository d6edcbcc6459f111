/*
 * flow_cancel.c - the end of a flow by hand.
 *
 * One transaction, however many members: those that there are, all locked first, then
 * the flow, which no transaction can add to any more, then those that were added
 * meanwhile. Members are cancelled like any execution, with all that follows: so part by
 * part from the newest to the oldest, since edges mostly lead to newer ones, and what has
 * been cancelled is not skipped.
 */
#include "base/heap.h"
#include "db/query.h"
#include "execution/events.h"
#include "execution/executions.h"
#include "execution/flow/flow_store.h"
#include "outbox/audit/audit.h"
#include "weir/flow.h"

enum { ARENA_SIZE_MAX = 4 * 1024 * 1024, MEMBERS_TOGETHER = 1000 };

/* By the index of members. */
static const struct weir_sql SQL_MEMBERS[] = {
    [WEIR_CANCEL_ALL] = {.name = "pick members",
                         .text = "SELECT no FROM {p}_execution WHERE flow = {1}"
                                 " AND flow > 0 AND no < {2} AND state + 0 < 10"
                                 " ORDER BY no DESC LIMIT {3}",
                         .parameters = "iii"},
    [WEIR_CANCEL_PENDING] = {.name = "pick members not begun",
                             .text = "SELECT no FROM {p}_execution WHERE flow = {1}"
                                     " AND flow > 0 AND no < {2} AND state + 0 < 10"
                                     " AND attempts = 0 ORDER BY no DESC LIMIT {3}",
                             .parameters = "iii"},
};

/* All of them, before the first part is cancelled: that needs the flow, which the end
 * of a member takes behind the member. By the index of members; on SQLite there is
 * no other writer. */
static const struct weir_sql SQL_LOCK_MEMBERS = {
    .name = "lock members",
    .text = "SELECT count(*) FROM (SELECT no FROM {p}_execution WHERE flow = {1}"
            " AND flow > 0 AND state + 0 < 10 ORDER BY no FOR NO KEY UPDATE) m",
    .parameters = "i",
};

/* One call. */
struct cancel_call {
    struct weir_executions *executions;
    const struct weir_flow_id *flow;
    enum weir_flow_cancel_policy policy;
    struct weir_str reason;

    /* of one transaction */
    struct weir_arena arena;
    struct weir_execution_records records;
    struct weir_change changes[MEMBERS_TOGETHER];
    struct weir_flow_row row;
    int64_t now_us;
    size_t cancelled;
    struct weir_pending_wakeups pending_wakeups;
};

static enum weir_status pick(struct cancel_call *self, struct weir_connection *connection,
                             int64_t before, int64_t *out, size_t *count,
                             struct weir_error *error)
{
    return weir_query_integers(connection, &SQL_MEMBERS[self->policy],
                               VALUES(weir_integer(self->row.no), weir_integer(before),
                                      weir_integer(MEMBERS_TOGETHER)),
                               out, MEMBERS_TOGETHER, count, error);
}

static bool is_meant(const struct cancel_call *self, const struct weir_execution_row *row)
{
    return self->policy == WEIR_CANCEL_ALL || row->attempts == 0;
}

static enum weir_status cancel_some(struct cancel_call *self,
                                    struct weir_connection *connection,
                                    const int64_t *nos, size_t count,
                                    struct weir_error *error)
{
    size_t changed = 0;
    enum weir_status status = weir_store_load(&self->executions->store, connection, nos,
                                              count, &self->records, error);

    for (size_t i = 0; i < self->records.count && status == WEIR_OK; i++) {
        struct weir_change change = {.stored = &self->records.rows[i]};

        if (is_meant(self, &change.stored->row) &&
            weir_rule_cancel(&change.stored->row, self->reason, self->now_us,
                             &change.consequence) == WEIR_RULING_DONE)
            self->changes[changed++] = change;
    }
    if (status == WEIR_OK)
        status =
            weir_change_set_store(self->executions, connection, self->changes, changed,
                                  self->now_us, &self->pending_wakeups, error);
    self->cancelled += changed;
    return status;
}

static enum weir_status lock_many(struct cancel_call *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    bool alone = weir_connection_traits(connection)->one_writer;
    int64_t count = 0;

    if (alone || self->policy == WEIR_CANCEL_FLOW_ONLY ||
        self->row.members <= MEMBERS_TOGETHER)
        return WEIR_OK; /* one part locks them all */
    return weir_connection_query_integer(
        connection, &SQL_LOCK_MEMBERS, VALUES(weir_integer(self->row.no)), &count, error);
}

static enum weir_status cancel_members(struct cancel_call *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    int64_t nos[MEMBERS_TOGETHER];
    int64_t before = INT64_MAX;
    size_t count = MEMBERS_TOGETHER;
    enum weir_status status = WEIR_OK;

    if (self->policy == WEIR_CANCEL_FLOW_ONLY)
        return WEIR_OK;
    while (status == WEIR_OK && count == MEMBERS_TOGETHER) {
        status = pick(self, connection, before, nos, &count, error);
        if (status != WEIR_OK || count == 0)
            break;
        before = nos[count - 1];
        status = cancel_some(self, connection, nos, count, error);
    }
    return status;
}

static enum weir_status find(struct cancel_call *self, struct weir_connection *connection,
                             enum weir_flow_lock lock, struct weir_error *error)
{
    enum weir_status status =
        weir_flow_find(connection, self->flow, lock, &self->arena, &self->row, error);

    return status == WEIR_NO_ROW
               ? weir_error_set(error, WEIR_NOT_FOUND, "there is no such flow")
               : status;
}

/* A flow that had ended has a row without states (weir_audit_end()). */
static enum weir_status record(const struct cancel_call *self,
                               struct weir_connection *connection,
                               struct weir_error *error)
{
    weir_audit_note("open", "cancelled");
    return weir_audit_record(connection, (int64_t)self->cancelled, error);
}

static enum weir_status end(struct weir_connection *connection, void *argument,
                            struct weir_error *error)
{
    struct cancel_call *self = argument;
    enum weir_status status;

    self->pending_wakeups = (struct weir_pending_wakeups){.ready = false};
    self->cancelled = 0;
    weir_arena_reset(&self->arena);
    status = find(self, connection, WEIR_FLOW_UNLOCKED, error);
    if (status == WEIR_OK && self->row.state != WEIR_FLOW_ROW_OPEN)
        return WEIR_OK; /* it has ended, in whatever way */
    if (status == WEIR_OK)
        status = lock_many(self, connection, error);
    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &self->now_us, error);
    if (status == WEIR_OK)
        status = cancel_members(self, connection, error);
    if (status == WEIR_OK)
        status = find(self, connection, WEIR_FLOW_LOCKED, error);
    if (status == WEIR_OK && self->row.state != WEIR_FLOW_ROW_OPEN &&
        self->cancelled == 0)
        return WEIR_OK; /* it has ended meanwhile, and not by us */
    if (status == WEIR_OK)
        status = cancel_members(self, connection, error);
    if (status == WEIR_OK) /* with what its members have counted */
        status = find(self, connection, WEIR_FLOW_LOCKED, error);
    if (status != WEIR_OK)
        return status;
    self->row.state = WEIR_FLOW_ROW_CANCELLED;
    self->row.cancel_policy = self->policy;
    self->row.cancel_reason = self->reason;
    self->row.ended_us = self->now_us;
    status = weir_flow_write(connection, &self->row, NULL, error);
    if (status == WEIR_OK)
        status = weir_events_flow_cancelled(self->executions, connection, &self->row,
                                            self->cancelled,
                                            &self->pending_wakeups.events, error);
    return status == WEIR_OK ? record(self, connection, error) : status;
}

static enum weir_status cancel(struct weir_executions *self,
                               const struct weir_flow_id *flow,
                               enum weir_flow_cancel_policy policy, const char *reason,
                               size_t *members, struct weir_error *error)
{
    struct cancel_call *cancel_call;
    struct weir_str text;
    enum weir_status status = weir_execution_reason(reason, &text, error);

    if (status != WEIR_OK)
        return status;
    if (policy < WEIR_CANCEL_FLOW_ONLY || policy > WEIR_CANCEL_PENDING)
        return weir_error_set(error, WEIR_INVALID, "policy is %d, must be from 0 to %d",
                              (int)policy, WEIR_CANCEL_PENDING);
    cancel_call = weir_heap_zalloc_array(self->heap, 1, sizeof *cancel_call);
    if (cancel_call == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "no memory to cancel a flow");
    cancel_call->executions = self;
    cancel_call->flow = flow;
    cancel_call->policy = policy;
    cancel_call->reason = text;
    weir_arena_init(&cancel_call->arena, self->heap, ARENA_SIZE_MAX);
    weir_execution_records_init(&cancel_call->records, self->heap, MEMBERS_TOGETHER);
    status = weir_transact(self->db, end, cancel_call, error);
    if (status == WEIR_OK) {
        weir_pending_wakeups_send(self, &cancel_call->pending_wakeups);
        if (members != NULL)
            *members = cancel_call->cancelled;
    } else {
        weir_flow_prefix(error, flow);
    }
    weir_execution_records_fini(&cancel_call->records);
    weir_arena_fini(&cancel_call->arena);
    weir_heap_free(self->heap, cancel_call);
    return status;
}

enum weir_status weir_flow_cancel(struct weir_executions *self,
                                  const struct weir_flow_id *flow,
                                  enum weir_flow_cancel_policy policy, const char *reason,
                                  size_t *members, struct weir_error *error)
{
    char target[WEIR_FLOW_ID_TEXT_SIZE];
    struct weir_audit_call audit;

    weir_audit_begin(&audit, self->db, NULL, "flow.cancel",
                     flow != NULL ? weir_flow_id_format(flow, target) : NULL);
    weir_audit_because(reason);
    return weir_audit_end(&audit, cancel(self, flow, policy, reason, members, error),
                          error);
}
