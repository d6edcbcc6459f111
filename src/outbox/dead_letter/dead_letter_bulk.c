/*
 * dead_letter_bulk.c - see dead_letter_bulk.h.
 */
#include "outbox/dead_letter/dead_letter_bulk.h"

#include "base/noun.h"
#include "outbox/audit/audit.h"
#include "outbox/transact_nested.h"

/* The last entry of the primary key. */
static const struct weir_sql SQL_HIGHEST = {
    .name = "find newest dead letter",
    .text = "SELECT coalesce(max(id), 0) FROM {p}_dead_letter",
    .parameters = "",
};

enum { STEP_SIZE = WEIR_LETTER_FILTER_SIZE + 4 };

struct bulk {
    const struct weir_letter_bulk *rule;
    struct weir_letter_filter filter;
    int64_t after;
    int64_t until;
    int64_t left; /* of the limit */
    struct weir_letter_picks picks;
    size_t taken; /* by the step; 0: there is nothing more */
};

static enum weir_status begin(struct weir_connection *connection, void *argument,
                              struct weir_error *error)
{
    struct bulk *self = argument;
    enum weir_status status =
        weir_letter_scope_resolve(self->rule->scope, connection, &self->filter, error);

    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_HIGHEST, NO_VALUES,
                                               &self->until, error);
    return status;
}

static enum weir_status pick(struct bulk *self, struct weir_connection *connection,
                             int64_t now_us, struct weir_error *error)
{
    int64_t most =
        self->left < WEIR_DEAD_LETTER_STEP ? self->left : WEIR_DEAD_LETTER_STEP;
    struct weir_value values[STEP_SIZE];

    weir_letter_filter_bind(&self->filter, values);
    values[WEIR_LETTER_FILTER_SIZE] = weir_integer(self->after);
    values[WEIR_LETTER_FILTER_SIZE + 1] = weir_integer(self->until);
    values[WEIR_LETTER_FILTER_SIZE + 2] = weir_integer(most);
    values[WEIR_LETTER_FILTER_SIZE + 3] = weir_integer(now_us);
    return weir_letter_picks_read(&self->picks, connection, self->rule->pick, values,
                                  STEP_SIZE, error);
}

static enum weir_status step(struct weir_connection *connection, void *argument,
                             struct weir_error *error)
{
    struct bulk *self = argument;
    const struct weir_letter_bulk *rule = self->rule;
    int64_t now_us;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    self->taken = 0;
    if (status == WEIR_OK)
        status = pick(self, connection, now_us, error);
    if (status != WEIR_OK || self->picks.count == 0)
        return status;
    self->taken = weir_letter_picks_fitting(&self->picks, 0, self->picks.count);
    status =
        rule->step(rule->outbox, connection, &self->picks, self->taken, now_us, error);
    return status == WEIR_OK ? weir_audit_step(connection, (int64_t)self->taken, error)
                             : status;
}

static bool goes_on(const struct weir_letter_bulk *rule,
                    const struct weir_dead_letter_progress *so_far)
{
    struct weir_audit_call *audit = weir_audit_leave();
    bool further = rule->progress == NULL || rule->progress(rule->state, so_far);

    weir_audit_return(audit);
    return further;
}

static enum weir_status run(struct bulk *self, struct weir_connection *connection,
                            struct weir_dead_letter_progress *out,
                            struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && self->left > 0 && self->after < self->until) {
        status = weir_transact_nested(self->rule->outbox, connection, step, self, error);
        if (status != WEIR_OK || self->taken == 0)
            break;
        weir_audit_stepped();
        self->after = self->picks.items[self->taken - 1].id;
        self->left -= (int64_t)self->taken;
        out->done += (int64_t)self->taken;
        if (!goes_on(self->rule, out))
            status = weir_error_set(error, WEIR_CANCELLED,
                                    "ended after %lld %s, as asked", (long long)out->done,
                                    WEIR_NOUN(out->done, "dead letter", "dead letters"));
    }
    return status;
}

static enum weir_status run_all(const struct weir_letter_bulk *self,
                                struct weir_connection *connection,
                                struct weir_dead_letter_progress *out,
                                struct weir_error *error)
{
    int64_t limit = self->scope->limit;
    struct bulk bulk = {.rule = self, .left = limit != 0 ? limit : INT64_MAX};
    enum weir_status status = weir_letter_scope_check(self->scope, INT64_MAX, error);

    if (status == WEIR_OK)
        status =
            weir_transact_nested_reading(self->outbox, connection, begin, &bulk, error);
    if (status != WEIR_OK)
        return status;
    weir_letter_picks_init(&bulk.picks, self->outbox->heap);
    status = run(&bulk, connection, out, error);
    weir_letter_picks_fini(&bulk.picks);
    return status;
}

enum weir_status weir_letter_bulk_run(const struct weir_letter_bulk *self,
                                      struct weir_connection *connection,
                                      struct weir_dead_letter_progress *out,
                                      struct weir_error *error)
{
    char target[WEIR_AUDIT_TARGET_SIZE];
    struct weir_audit_call audit;

    weir_audit_begin(&audit, self->outbox->db, connection, self->action,
                     weir_letter_scope_describe(self->scope, target, sizeof target));
    return weir_audit_end(&audit, run_all(self, connection, out, error), error);
}
