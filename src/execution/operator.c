/*
 * operator.c - what operators do to executions: one at a time, by id.
 */
#include <inttypes.h>

#include "base/arith.h"
#include "base/noun.h"
#include "base/text.h"
#include "execution/draft.h"
#include "execution/executions.h"
#include "outbox/audit/audit.h"
#include "weir/suspension.h"

enum { PRIORITY_SIZE = 32 };

struct operate_call;
typedef enum weir_ruling (*rule_fn)(struct operate_call *self,
                                    struct weir_execution_row *row, int64_t now_us,
                                    struct weir_consequence *out);

/* One call. */
struct operate_call {
    struct weir_executions *executions;
    const struct weir_execution_id *id;
    rule_fn rule;
    const char *action; /* for the audit: "execution.cancel" */
    const char *verb;   /* for the text of a refusal: "cancelled" */
    struct weir_str reason;
    int32_t priority;
    int64_t delay_us;
    struct weir_revocation *revocation;
    enum weir_ruling ruling; /* out */
    struct weir_execution_records records;
    struct weir_pending_wakeups pending_wakeups;
};

/* What the rule said of a row that stays as it is. */
static enum weir_status refuse(const struct operate_call *self, struct weir_error *error)
{
    const struct weir_execution_row *row = &self->records.rows[0].row;

    switch (self->ruling) {
    case WEIR_RULING_OVER:
    case WEIR_RULING_NOT_OVER:
    case WEIR_RULING_WRONG_STATE:
        return weir_error_set(error, WEIR_MISMATCH, "it is %s and cannot be %s",
                              weir_public_state_name(weir_execution_status_of(row).state),
                              self->verb);
    case WEIR_RULING_LIMIT:
        return weir_error_set(error, WEIR_MISMATCH,
                              "it was replayed %" PRIu32 " %s, its limit is %" PRIu32,
                              row->replays, WEIR_NOUN(row->replays, "time", "times"),
                              row->policy.replays_max);
    default:
        return WEIR_OK; /* it was so already */
    }
}

/* What it was and is now: its state, or its priority where that is what changes. */
static enum weir_status record(const struct operate_call *self,
                               struct weir_connection *connection,
                               const struct weir_execution_row *was,
                               struct weir_error *error)
{
    const struct weir_execution_row *row = &self->records.rows[0].row;
    char before[PRIORITY_SIZE], after[PRIORITY_SIZE];

    if (was->priority == row->priority) {
        weir_audit_note(weir_public_state_name(weir_execution_status_of(was).state),
                        weir_public_state_name(weir_execution_status_of(row).state));
    } else {
        (void)weir_text_format(before, sizeof before, "priority %" PRId32, was->priority);
        (void)weir_text_format(after, sizeof after, "priority %" PRId32, row->priority);
        weir_audit_note(before, after);
    }
    return weir_audit_record(connection, 1, error);
}

static enum weir_status intervene_once(struct weir_connection *connection, void *argument,
                                       struct weir_error *error)
{
    struct operate_call *self = argument;
    struct weir_change change = {.stored = NULL};
    struct weir_execution_row was;
    int64_t now_us = 0;
    enum weir_status status = weir_store_load_by_id(&self->executions->store, connection,
                                                    self->id, 1, &self->records, error);

    self->pending_wakeups = (struct weir_pending_wakeups){.ready = false};
    if (status == WEIR_OK && self->records.count == 0)
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no such execution");
    if (status == WEIR_OK)
        status = weir_store_clock(connection, &self->records, &now_us, error);
    if (status != WEIR_OK)
        return status;
    change.stored = &self->records.rows[0];
    was = change.stored->row;
    self->ruling = self->rule(self, &change.stored->row, now_us, &change.consequence);
    if (self->ruling != WEIR_RULING_DONE)
        return refuse(self, error);
    status = record(self, connection, &was, error);
    if (status != WEIR_OK)
        return status;
    return weir_change_set_store_at_commit(self->executions, connection, &change, 1,
                                           now_us, &self->pending_wakeups, error);
}

static enum weir_status intervene_checked(struct operate_call *self,
                                          struct weir_error *error)
{
    enum weir_status status = weir_execution_check_given("id", self->id != NULL, error);

    if (status != WEIR_OK)
        return status;
    weir_execution_records_init(&self->records, self->executions->heap, 1);
    status = weir_transact_soon(self->executions->db, intervene_once, self, error);
    if (status == WEIR_OK)
        weir_pending_wakeups_send(self->executions, &self->pending_wakeups);
    else if (status != WEIR_SCHEMA) /* whose text has it */
        weir_execution_prefix_id(error, self->id);
    if (status == WEIR_OK && self->revocation != NULL)
        self->revocation->current = weir_execution_status_of(&self->records.rows[0].row);
    weir_execution_records_fini(&self->records);
    return status;
}

/* `status`: of the checks before it; the call is audited also when they refuse it. */
static enum weir_status intervene(struct operate_call *self, enum weir_status status,
                                  struct weir_error *error)
{
    char target[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_audit_call audit;

    weir_audit_begin(&audit, self->executions->db, NULL, self->action,
                     self->id != NULL ? weir_execution_id_format(self->id, target)
                                      : NULL);
    if (self->reason.size > 0)
        weir_audit_because(self->reason.data);
    if (status == WEIR_OK)
        status = intervene_checked(self, error);
    return weir_audit_end(&audit, status, error);
}

/* ---- the verbs --------------------------------------------------------------------- */

static enum weir_ruling cancel(struct operate_call *self, struct weir_execution_row *row,
                               int64_t now_us, struct weir_consequence *out)
{
    return weir_rule_cancel(row, self->reason, now_us, out);
}

enum weir_status weir_execution_cancel(struct weir_executions *self,
                                       const struct weir_execution_id *id,
                                       const char *reason, struct weir_error *error)
{
    struct operate_call operate_call = {.executions = self,
                                        .id = id,
                                        .rule = cancel,
                                        .action = "execution.cancel",
                                        .verb = "cancelled"};
    enum weir_status status = weir_execution_reason(reason, &operate_call.reason, error);

    return intervene(&operate_call, status, error);
}

static enum weir_ruling revoke(struct operate_call *self, struct weir_execution_row *row,
                               int64_t now_us, struct weir_consequence *out)
{
    const char *instance = self->revocation->instance;

    return weir_rule_revoke(row, weir_str(instance != NULL ? instance : ""),
                            self->revocation->epoch, now_us, out);
}

static enum weir_status check_revocation(const struct weir_revocation *revocation,
                                         struct weir_error *error)
{
    const char *instance = revocation->instance;

    if (revocation->epoch < 0)
        return weir_error_set(error, WEIR_INVALID,
                              "epoch is %" PRId64 ", must be at least 0",
                              revocation->epoch);
    return instance == NULL || instance[0] == '\0' ? WEIR_OK
                                                   : weir_instance_check(instance, error);
}

enum weir_status weir_execution_revoke(struct weir_executions *self,
                                       const struct weir_execution_id *id,
                                       struct weir_revocation *revocation,
                                       struct weir_error *error)
{
    struct operate_call operate_call = {.executions = self,
                                        .id = id,
                                        .rule = revoke,
                                        .action = "execution.revoke",
                                        .verb = "revoked",
                                        .revocation = revocation};
    enum weir_status status =
        weir_execution_check_given("revocation", revocation != NULL, error);

    if (status != WEIR_OK)
        return status;
    revocation->revoked = false;
    revocation->reason = "";
    revocation->current = (struct weir_execution_status){.epoch = 0};
    status = check_revocation(revocation, error);
    status = intervene(&operate_call, status, error);
    if (status == WEIR_OK) {
        revocation->revoked = operate_call.ruling == WEIR_RULING_DONE;
        revocation->reason = weir_revoke_reason(operate_call.ruling);
    }
    return status;
}

static enum weir_ruling prioritise(struct operate_call *self,
                                   struct weir_execution_row *row, int64_t now_us,
                                   struct weir_consequence *out)
{
    return weir_rule_prioritise(row, self->priority, now_us, out);
}

enum weir_status weir_execution_prioritise(struct weir_executions *self,
                                           const struct weir_execution_id *id,
                                           int32_t priority, struct weir_error *error)
{
    struct operate_call operate_call = {.executions = self,
                                        .id = id,
                                        .rule = prioritise,
                                        .action = "execution.prioritise",
                                        .verb = "given another priority",
                                        .priority = priority};

    return intervene(&operate_call, WEIR_OK, error);
}

static enum weir_ruling replay(struct operate_call *self, struct weir_execution_row *row,
                               int64_t now_us, struct weir_consequence *out)
{
    (void)self;
    return weir_rule_replay(row, now_us, out);
}

enum weir_status weir_execution_replay(struct weir_executions *self,
                                       const struct weir_execution_id *id,
                                       struct weir_error *error)
{
    struct operate_call operate_call = {.executions = self,
                                        .id = id,
                                        .rule = replay,
                                        .action = "execution.replay",
                                        .verb = "replayed"};

    return intervene(&operate_call, WEIR_OK, error);
}

static enum weir_ruling resume(struct operate_call *self, struct weir_execution_row *row,
                               int64_t now_us, struct weir_consequence *out)
{
    enum weir_ruling ruling =
        weir_rule_resume(row, weir_sat_add_i64(now_us, self->delay_us), now_us, out);

    if (ruling == WEIR_RULING_DONE)
        out->news |= WEIR_NEWS_RESUMED;
    return ruling;
}

enum weir_status weir_execution_resume(struct weir_executions *self,
                                       const struct weir_execution_id *id,
                                       int64_t delay_ms, struct weir_error *error)
{
    struct operate_call operate_call = {.executions = self,
                                        .id = id,
                                        .rule = resume,
                                        .action = "execution.resume",
                                        .verb = "resumed"};
    enum weir_status status = WEIR_OK;

    if (delay_ms < 0 || delay_ms > WEIR_EXECUTION_DURATION_MS_MAX)
        status = weir_error_set(error, WEIR_INVALID,
                                "delay_ms is %" PRId64 ", must be from 0 to %" PRId64
                                ", a hundred years",
                                delay_ms, WEIR_EXECUTION_DURATION_MS_MAX);
    else
        operate_call.delay_us = delay_ms * 1000;
    return intervene(&operate_call, status, error);
}
