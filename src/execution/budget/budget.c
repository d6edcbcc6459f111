/*
 * budget.c - budgets: limits, reports, resets.
 *
 * Every call locks the budget's row, so there is one at a time, and what it decides
 * holds until it commits. Sums and ledger are written together: they agree whatever
 * dies.
 */
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/heap.h"
#include "base/md5.h"
#include "base/no_memory.h"
#include "base/utf8.h"
#include "db/db.h"
#include "execution/budget/budget_store.h"
#include "execution/executions.h"
#include "outbox/audit/audit.h"

enum { ARENA_SIZE_MAX = 4 * 1024 * 1024, WAITING_SHOWN = 1000 };

#define KEY_KEPT_US ((int64_t)24 * 60 * 60 * 1000000)

/* ---- checking ---------------------------------------------------------------------- */

static bool is_printable(struct weir_str text, size_t size_max)
{
    if (text.size == 0 || text.size > size_max)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < 0x20 || text.data[i] > 0x7e)
            return false;
    }
    return true;
}

static struct weir_str or_nothing(const char *text)
{
    return weir_str(text != NULL ? text : "");
}

static enum weir_status check_printable(const char *what, const char *text,
                                        size_t size_max, struct weir_error *error)
{
    if (is_printable(or_nothing(text), size_max))
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "%s must have 1 to %zu printable characters", what, size_max);
}

static enum weir_status check_name(const char *name, struct weir_error *error)
{
    return check_printable("the name of a budget", name, WEIR_BUDGET_NAME_SIZE_MAX,
                           error);
}

static enum weir_status check_dimension(const char *dimension, struct weir_error *error)
{
    return check_printable("dimension", dimension, WEIR_DIMENSION_SIZE_MAX, error);
}

static enum weir_status check_amount(const char *what, int64_t amount,
                                     struct weir_error *error)
{
    if (amount >= 0)
        return WEIR_OK;
    return weir_error_set(error, WEIR_OUT_OF_RANGE,
                          "%s is %" PRId64 ", must be at least 0", what, amount);
}

static enum weir_status check_limit(const struct weir_budget_draft *draft, size_t index,
                                    struct weir_error *error)
{
    const struct weir_budget_limit *limit = &draft->limits[index];
    enum weir_status status = check_dimension(limit->dimension, error);

    if (status == WEIR_OK)
        status = check_amount("hard", limit->hard, error);
    if (status == WEIR_OK)
        status = check_amount("soft", limit->soft, error);
    for (size_t i = 0; i < index && status == WEIR_OK; i++) {
        if (strcmp(draft->limits[i].dimension, limit->dimension) == 0)
            status = weir_error_set(error, WEIR_INVALID,
                                    "dimension \"%s\" is named twice", limit->dimension);
    }
    return status;
}

static enum weir_status check_scope(const char *what, const char *text,
                                    struct weir_error *error)
{
    struct weir_str scope = or_nothing(text);

    if (scope.size <= WEIR_BUDGET_NAME_SIZE_MAX && weir_utf8_valid(scope))
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID, "%s must have at most %d bytes of UTF-8",
                          what, WEIR_BUDGET_NAME_SIZE_MAX);
}

static enum weir_status check_draft(const struct weir_budget_draft *draft,
                                    struct weir_error *error)
{
    enum weir_status status = check_name(draft->name, error);

    if (status == WEIR_OK)
        status = check_scope("scope_type", draft->scope_type, error);
    if (status == WEIR_OK)
        status = check_scope("scope", draft->scope, error);
    if (status == WEIR_OK && draft->period_ms != 0 &&
        (draft->period_ms < 1000 || draft->period_ms > WEIR_EXECUTION_DURATION_MS_MAX))
        return weir_error_set(error, WEIR_INVALID,
                              "period_ms is %" PRId64 ", must be 0, or from 1000 to "
                              "%" PRId64 ", a hundred years",
                              draft->period_ms, WEIR_EXECUTION_DURATION_MS_MAX);
    if (status == WEIR_OK &&
        (draft->limit_count < 1 || draft->limit_count > WEIR_BUDGET_DIMENSIONS_MAX))
        return weir_error_set(error, WEIR_INVALID, "limits are %zu, must be from 1 to %d",
                              draft->limit_count, WEIR_BUDGET_DIMENSIONS_MAX);
    for (size_t i = 0; i < draft->limit_count && status == WEIR_OK; i++) {
        status = check_limit(draft, i, error);
        if (status != WEIR_OK)
            weir_error_prefix(error, "limit %zu of %zu", i + 1, draft->limit_count);
    }
    return status;
}

/* ---- one call ---------------------------------------------------------------------- */

struct budget_call {
    struct weir_executions *executions;
    weir_transact_fn body;
    struct weir_str name;
    const struct weir_budget_draft *draft;
    const struct weir_execution_id *id;
    const struct weir_amount *amounts;
    size_t amount_count;
    struct weir_str key;
    struct weir_budget_answer *answer;
    bool existed;
    bool audited; /* an operator's, with a row */

    /* of one transaction */
    struct weir_arena arena;
    struct weir_budget_row row;
    struct weir_usage_rows usage;
    int64_t no; /* of the execution; 0: none */
    int64_t now_us;
    struct weir_pending_wakeups pending_wakeups;
};

/* The word to other processes, with our commit. */
static enum weir_status announce(struct budget_call *self,
                                 struct weir_connection *connection,
                                 struct weir_error *error)
{
    struct weir_commit_batch *commit_batch = NULL;
    enum weir_status status =
        weir_commit_batch_create(self->executions->heap, &commit_batch, error);

    if (status != WEIR_OK)
        return status;
    weir_pending_wakeups_announce(
        &(struct weir_unit){self->executions, connection, self->now_us,
                            &self->pending_wakeups, commit_batch});
    weir_commit_batch_attach(commit_batch, connection);
    return WEIR_OK;
}

static enum weir_status act(struct weir_connection *connection, void *argument,
                            struct weir_error *error)
{
    struct budget_call *self = argument;
    enum weir_status status = self->body(connection, self, error);

    if (status == WEIR_OK && self->audited)
        status = weir_audit_record(connection, !self->existed, error);
    return status == WEIR_OK ? announce(self, connection, error) : status;
}

static enum weir_status run(struct budget_call *self, weir_transact_fn body,
                            struct weir_error *error)
{
    enum weir_status status;

    self->body = body;
    weir_arena_init(&self->arena, self->executions->heap, ARENA_SIZE_MAX);
    status = weir_transact(self->executions->db, act, self, error);
    if (status == WEIR_OK)
        weir_pending_wakeups_send(self->executions, &self->pending_wakeups);
    else
        weir_error_prefix(error, "budget \"%.*s\"", (int)self->name.size,
                          self->name.data);
    weir_arena_fini(&self->arena);
    return status;
}

/* The same for an operator; `status`: of the checks before it. */
static enum weir_status run_audited(struct budget_call *self, const char *action,
                                    const char *name, weir_transact_fn body,
                                    enum weir_status status, struct weir_error *error)
{
    struct weir_audit_call audit;

    self->audited = true;
    weir_audit_begin(&audit, self->executions->db, NULL, action, name);
    if (status == WEIR_OK)
        status = run(self, body, error);
    return weir_audit_end(&audit, status, error);
}

/* Locked, with what is used. */
static enum weir_status begin(struct budget_call *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status;

    weir_arena_reset(&self->arena);
    self->pending_wakeups = (struct weir_pending_wakeups){.ready = false};
    status = weir_budget_find(connection, self->name, WEIR_BUDGET_LOCKED, &self->arena,
                              &self->row, error);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no such budget");
    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &self->now_us, error);
    if (status == WEIR_OK)
        status =
            weir_usage_read(connection, self->row.no, &self->arena, &self->usage, error);
    return status;
}

/* Executions that wait for it may run now: the reconciler looks. */
static void let_waiters_come(struct budget_call *self)
{
    weir_pending_wakeups_note_due(&self->pending_wakeups, WEIR_DUE_BUDGET, self->now_us);
}

/* ---- create and change ------------------------------------------------------------- */

static const struct weir_usage_row *find_usage(const struct weir_usage_rows *usage,
                                               struct weir_str dimension)
{
    for (size_t i = 0; i < usage->count; i++) {
        if (weir_str_equal(usage->rows[i].dimension, dimension))
            return &usage->rows[i];
    }
    return NULL;
}

/* A budget has so many dimensions and no more, whether they are limited or only
 * reported. */
static enum weir_status check_room(const struct budget_call *self, size_t more,
                                   struct weir_error *error)
{
    if (self->usage.count + more <= WEIR_BUDGET_DIMENSIONS_MAX)
        return WEIR_OK;
    return weir_error_set(error, WEIR_FULL,
                          "it would have %zu dimensions, must have at most %d",
                          self->usage.count + more, WEIR_BUDGET_DIMENSIONS_MAX);
}

static bool is_same(const struct budget_call *self)
{
    const struct weir_budget_draft *draft = self->draft;
    size_t limited = 0;

    for (size_t i = 0; i < self->usage.count; i++)
        limited += self->usage.rows[i].hard > 0 || self->usage.rows[i].soft > 0;
    for (size_t i = 0; i < draft->limit_count; i++) {
        const struct weir_budget_limit *limit = &draft->limits[i];
        const struct weir_usage_row *row =
            find_usage(&self->usage, weir_str(limit->dimension));

        if (row == NULL || row->hard != limit->hard || row->soft != limit->soft)
            return false;
        limited -= limit->hard > 0 || limit->soft > 0;
    }
    return limited == 0 && self->row.period_us == draft->period_ms * 1000 &&
           weir_str_equal(self->row.scope_type, or_nothing(draft->scope_type)) &&
           weir_str_equal(self->row.scope, or_nothing(draft->scope));
}

static enum weir_status set_limits(struct budget_call *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    size_t more = 0;
    enum weir_status status;

    for (size_t i = 0; i < self->draft->limit_count; i++)
        more +=
            find_usage(&self->usage, weir_str(self->draft->limits[i].dimension)) == NULL;
    status = check_room(self, more, error);
    for (size_t i = 0; i < self->draft->limit_count && status == WEIR_OK; i++) {
        const struct weir_budget_limit *limit = &self->draft->limits[i];

        status = weir_usage_limit(connection, self->row.no, weir_str(limit->dimension),
                                  limit->hard, limit->soft, error);
    }
    return status;
}

static enum weir_status create(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct budget_call *self = argument;
    const struct weir_budget_draft *draft = self->draft;
    struct weir_budget_row row = {
        .name = self->name,
        .scope_type = or_nothing(draft->scope_type),
        .scope = or_nothing(draft->scope),
        .period_us = draft->period_ms * 1000,
        .hash = weir_execution_partition(self->name.data, self->name.size, UINT16_MAX),
    };
    bool added = false;
    enum weir_status status = weir_connection_clock(connection, &row.created_us, error);

    row.next_reset_us =
        row.period_us > 0 ? weir_sat_add_i64(row.created_us, row.period_us) : 0;
    if (status == WEIR_OK)
        status = weir_budget_insert(connection, &row, &added, error);
    if (status == WEIR_OK)
        status = begin(self, connection, error);
    self->existed = !added;
    if (status != WEIR_OK)
        return status;
    weir_pending_wakeups_note_due(&self->pending_wakeups, WEIR_DUE_BUDGET,
                                  row.next_reset_us);
    if (added)
        return set_limits(self, connection, error);
    return is_same(self) ? WEIR_OK
                         : weir_error_set(error, WEIR_MISMATCH,
                                          "it is there, and "
                                          "different");
}

enum weir_status weir_budget_create(struct weir_executions *self,
                                    const struct weir_budget_draft *draft, bool *existed,
                                    struct weir_error *error)
{
    struct budget_call budget_call = {
        .executions = self, .name = or_nothing(draft->name), .draft = draft};
    enum weir_status status = check_draft(draft, error);

    status =
        run_audited(&budget_call, "budget.create", draft->name, create, status, error);
    if (status == WEIR_OK && existed != NULL)
        *existed = budget_call.existed;
    return status;
}

/* Another period begins now. */
static enum weir_status change(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct budget_call *self = argument;
    int64_t period_us = self->draft->period_ms * 1000;
    enum weir_status status = begin(self, connection, error);

    if (status == WEIR_OK)
        status = set_limits(self, connection, error);
    if (status == WEIR_OK && period_us != self->row.period_us) {
        self->row.period_us = period_us;
        self->row.next_reset_us =
            period_us > 0 ? weir_sat_add_i64(self->now_us, period_us) : 0;
        status = weir_budget_write(connection, &self->row, error);
    }
    let_waiters_come(self);
    return status;
}

enum weir_status weir_budget_change(struct weir_executions *self,
                                    const struct weir_budget_draft *draft,
                                    struct weir_error *error)
{
    struct budget_call budget_call = {
        .executions = self, .name = or_nothing(draft->name), .draft = draft};
    enum weir_status status = check_draft(draft, error);

    return run_audited(&budget_call, "budget.change", draft->name, change, status, error);
}

/* ---- report ------------------------------------------------------------------------ */

/* As much of each as is asked for, the same one named twice together. */
static int64_t asked(const struct budget_call *self, struct weir_str dimension)
{
    int64_t sum = 0;

    for (size_t i = 0; i < self->amount_count; i++) {
        if (weir_str_equal(weir_str(self->amounts[i].dimension), dimension))
            sum = weir_sat_add_i64(sum, self->amounts[i].amount);
    }
    return sum;
}

static void answer(struct budget_call *self, enum weir_spending spending,
                   struct weir_str dimension, int64_t used, int64_t limit)
{
    *self->answer =
        (struct weir_budget_answer){.spending = spending, .used = used, .limit = limit};
    memcpy(self->answer->dimension, dimension.data, dimension.size);
}

/* The first dimension, by name, that would be beyond its hard limit. */
static const struct weir_usage_row *find_breach(const struct budget_call *self)
{
    for (size_t i = 0; i < self->usage.count; i++) {
        const struct weir_usage_row *row = &self->usage.rows[i];
        int64_t amount = asked(self, row->dimension);

        if (row->hard > 0 && amount > 0 &&
            weir_sat_add_i64(row->used, amount) > row->hard)
            return row;
    }
    return NULL;
}

/* No counter, and so no entry of the ledger, is greater than can be stored. */
static enum weir_status check_sums(const struct budget_call *self,
                                   struct weir_error *error)
{
    for (size_t i = 0; i < self->amount_count; i++) {
        struct weir_str dimension = weir_str(self->amounts[i].dimension);
        const struct weir_usage_row *row = find_usage(&self->usage, dimension);
        int64_t used = row != NULL ? row->used : 0;
        int64_t amount = asked(self, dimension);

        if (amount == INT64_MAX || used > INT64_MAX - amount)
            return weir_error_set(error, WEIR_OUT_OF_RANGE,
                                  "what is used of \"%s\" would be more than %" PRId64,
                                  self->amounts[i].dimension, INT64_MAX - 1);
    }
    return WEIR_OK;
}

static enum weir_status note_breach(struct budget_call *self,
                                    struct weir_connection *connection,
                                    const struct weir_usage_row *row,
                                    struct weir_error *error)
{
    answer(self, WEIR_NOT_SPENT, row->dimension, row->used, row->hard);
    self->row.hard_breaches++;
    self->row.breached_us = self->now_us;
    self->row.breached = row->dimension;
    return weir_budget_write(connection, &self->row, error);
}

static bool is_first(const struct budget_call *self, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(self->amounts[i].dimension, self->amounts[index].dimension) == 0)
            return false;
    }
    return true;
}

static size_t count_new(const struct budget_call *self)
{
    size_t count = 0;

    for (size_t i = 0; i < self->amount_count; i++)
        count += is_first(self, i) &&
                 find_usage(&self->usage, weir_str(self->amounts[i].dimension)) == NULL;
    return count;
}

static enum weir_status spend_one(struct budget_call *self,
                                  struct weir_connection *connection,
                                  struct weir_str dimension, struct weir_error *error)
{
    const struct weir_usage_row *row = find_usage(&self->usage, dimension);
    int64_t amount = asked(self, dimension);
    int64_t used = weir_sat_add_i64(row != NULL ? row->used : 0, amount);
    enum weir_status status =
        weir_usage_set(connection, self->row.no, dimension, used, error);

    if (status == WEIR_OK)
        status = weir_spent_add(connection, self->no, self->row.no, dimension, amount,
                                self->row.era, error);
    if (row != NULL && row->soft > 0 && used > row->soft &&
        (self->answer->spending != WEIR_SPENT_OVER_SOFT ||
         strcmp(row->dimension.data, self->answer->dimension) < 0))
        answer(self, WEIR_SPENT_OVER_SOFT, dimension, used, row->soft);
    return status;
}

static enum weir_status spend(struct budget_call *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    answer(self, WEIR_SPENT, weir_str(""), 0, 0);
    for (size_t i = 0; i < self->amount_count && status == WEIR_OK; i++) {
        if (is_first(self, i))
            status =
                spend_one(self, connection, weir_str(self->amounts[i].dimension), error);
    }
    if (status != WEIR_OK || self->answer->spending != WEIR_SPENT_OVER_SOFT)
        return status;
    self->row.soft_breaches++;
    self->row.breached_us = self->now_us;
    self->row.breached = weir_str(self->answer->dimension);
    return weir_budget_write(connection, &self->row, error);
}

/* What its key stands for: the same amounts, for the same execution. */
static void digest(const struct budget_call *self, uint8_t out[WEIR_MD5_SIZE])
{
    enum { AMOUNT_SIZE = WEIR_DIMENSION_SIZE_MAX + 1 + sizeof(int64_t) };
    char bytes[WEIR_UUID_SIZE + WEIR_BUDGET_DIMENSIONS_MAX * AMOUNT_SIZE] = {0};
    size_t size = WEIR_UUID_SIZE;

    if (self->id != NULL)
        memcpy(bytes, self->id->uuid, WEIR_UUID_SIZE);
    for (size_t i = 0; i < self->amount_count; i++) {
        const struct weir_amount *amount = &self->amounts[i];
        size_t name_size = strlen(amount->dimension) + 1;

        memcpy(bytes + size, amount->dimension, name_size);
        size += name_size;
        memcpy(bytes + size, &amount->amount, sizeof amount->amount);
        size += sizeof amount->amount;
    }
    weir_md5(bytes, size, out);
}

static enum weir_status find_execution(struct budget_call *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    struct weir_execution_records records;
    enum weir_status status;

    self->no = 0;
    if (self->id == NULL)
        return WEIR_OK;
    weir_execution_records_init(&records, self->executions->heap, 1);
    status =
        weir_store_get(&self->executions->store, connection, self->id, &records, error);
    if (status == WEIR_OK)
        self->no = records.rows[0].row.no;
    weir_execution_records_fini(&records);
    return status;
}

static enum weir_status report(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct budget_call *self = argument;
    const struct weir_usage_row *breach;
    uint8_t sum[WEIR_MD5_SIZE];
    bool before = false;
    enum weir_status status = find_execution(self, connection, error);

    if (status == WEIR_OK)
        status = begin(self, connection, error);
    if (status == WEIR_OK && self->key.size > 0) {
        digest(self, sum);
        status = weir_budget_find_key(connection, self->row.no, self->key, self->now_us,
                                      sum, &before, error);
    }
    if (status != WEIR_OK)
        return status;
    if (before) {
        answer(self, WEIR_SPENT_BEFORE, weir_str(""), 0, 0);
        return WEIR_OK;
    }
    breach = find_breach(self);
    if (breach != NULL) /* and the key may be used again */
        return note_breach(self, connection, breach, error);
    status = check_sums(self, error);
    if (status == WEIR_OK)
        status = check_room(self, count_new(self), error);
    if (status == WEIR_OK)
        status = spend(self, connection, error);
    if (status == WEIR_OK && self->key.size > 0)
        status =
            weir_budget_keep_key(connection, self->row.no, self->key,
                                 weir_sat_add_i64(self->now_us, KEY_KEPT_US), sum, error);
    return status;
}

static enum weir_status check_amounts(const struct weir_amount *amounts, size_t count,
                                      struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (count < 1 || count > WEIR_BUDGET_DIMENSIONS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "amounts are %zu, must be from 1 to %d", count,
                              WEIR_BUDGET_DIMENSIONS_MAX);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = check_dimension(amounts[i].dimension, error);
        if (status == WEIR_OK)
            status = check_amount("amount", amounts[i].amount, error);
        if (status != WEIR_OK)
            weir_error_prefix(error, "amount %zu of %zu", i + 1, count);
    }
    return status;
}

enum weir_status weir_budget_report(struct weir_executions *self, const char *name,
                                    const struct weir_execution_id *id,
                                    const struct weir_amount *amounts, size_t count,
                                    const char *key, struct weir_budget_answer *out,
                                    struct weir_error *error)
{
    struct budget_call budget_call = {.executions = self,
                                      .name = or_nothing(name),
                                      .id = id,
                                      .amounts = amounts,
                                      .amount_count = count,
                                      .key = or_nothing(key),
                                      .answer = out};
    enum weir_status status = check_name(name, error);

    if (status == WEIR_OK)
        status = check_amounts(amounts, count, error);
    if (status == WEIR_OK && budget_call.key.size > WEIR_IDEMPOTENCY_KEY_SIZE_MAX)
        status = weir_error_set(error, WEIR_TOO_LARGE,
                                "key has %zu bytes, must have at most %d",
                                budget_call.key.size, WEIR_IDEMPOTENCY_KEY_SIZE_MAX);
    if (status == WEIR_OK && !weir_utf8_valid(budget_call.key))
        status = weir_error_set(error, WEIR_INVALID, "key must be UTF-8");
    return status == WEIR_OK ? run(&budget_call, report, error) : status;
}

/* ---- release and reset ------------------------------------------------------------- */

static enum weir_status release(struct weir_connection *connection, void *argument,
                                struct weir_error *error)
{
    struct budget_call *self = argument;
    struct weir_usage_rows spent = {.count = 0};
    enum weir_status status = find_execution(self, connection, error);

    if (status == WEIR_OK)
        status = begin(self, connection, error);
    if (status == WEIR_OK)
        status = weir_spent_read(connection, self->no, self->row.no, self->row.era,
                                 &self->arena, &spent, error);
    for (size_t i = 0; i < spent.count && status == WEIR_OK; i++) {
        const struct weir_usage_row *row =
            find_usage(&self->usage, spent.rows[i].dimension);
        int64_t left = row != NULL ? row->used - spent.rows[i].used : 0;

        status = weir_usage_set(connection, self->row.no, spent.rows[i].dimension,
                                left > 0 ? left : 0, error);
    }
    if (status == WEIR_OK)
        status = weir_spent_remove(connection, self->no, self->row.no, error);
    let_waiters_come(self);
    return status;
}

enum weir_status weir_budget_release(struct weir_executions *self, const char *name,
                                     const struct weir_execution_id *id,
                                     struct weir_error *error)
{
    struct budget_call budget_call = {
        .executions = self, .name = or_nothing(name), .id = id};
    enum weir_status status = check_name(name, error);

    if (status == WEIR_OK)
        status = weir_execution_check_given("id", id != NULL, error);
    return run_audited(&budget_call, "budget.release", name, release, status, error);
}

static enum weir_status reset(struct weir_connection *connection, void *argument,
                              struct weir_error *error)
{
    struct budget_call *self = argument;
    enum weir_status status = begin(self, connection, error);

    if (status == WEIR_OK)
        status = weir_budget_clear(connection, &self->row, error);
    let_waiters_come(self);
    return status;
}

enum weir_status weir_budget_reset(struct weir_executions *self, const char *name,
                                   struct weir_error *error)
{
    struct budget_call budget_call = {.executions = self, .name = or_nothing(name)};
    enum weir_status status = check_name(name, error);

    return run_audited(&budget_call, "budget.reset", name, reset, status, error);
}

/* ---- reading ----------------------------------------------------------------------- */

/* One call that reads. */
struct reading {
    struct weir_executions *executions;
    struct weir_connection *connection;
    struct weir_arena arena;
    weir_budget_visit_fn visit;
    void *state;
};

static enum weir_status show(struct reading *self, const struct weir_budget_row *row,
                             struct weir_error *error)
{
    struct weir_usage_rows usage;
    struct weir_usage_info *infos;
    struct weir_budget_info info = {
        .name = row->name.data, /* copies end in a zero */
        .scope_type = row->scope_type.data,
        .scope = row->scope.data,
        .period_ms = row->period_us / 1000,
        .next_reset_us = row->next_reset_us,
        .created_us = row->created_us,
        .hard_breaches = row->hard_breaches,
        .soft_breaches = row->soft_breaches,
        .breached_us = row->breached_us,
        .breached = row->breached.data,
        .resets = row->era,
    };
    enum weir_status status =
        weir_usage_read(self->connection, row->no, &self->arena, &usage, error);

    if (status == WEIR_OK)
        status = weir_budget_count_waiters(self->connection, row->no, WAITING_SHOWN,
                                           &info.waiting, error);
    if (status != WEIR_OK)
        return status;
    infos = weir_arena_alloc(&self->arena, (usage.count + 1) * sizeof *infos);
    if (infos == NULL)
        return weir_no_memory_for(error, "a budget");
    for (size_t i = 0; i < usage.count; i++)
        infos[i] =
            (struct weir_usage_info){usage.rows[i].dimension.data, usage.rows[i].used,
                                     usage.rows[i].hard, usage.rows[i].soft};
    info.usage = infos;
    info.usage_count = usage.count;
    self->visit(self->state, &info);
    return WEIR_OK;
}

enum weir_status weir_budget_get(struct weir_executions *self, const char *name,
                                 weir_budget_visit_fn visit, void *state,
                                 struct weir_error *error)
{
    struct reading reading = {.executions = self, .visit = visit, .state = state};
    struct weir_budget_row row;
    enum weir_status status = check_name(name, error);

    if (status != WEIR_OK)
        return status;
    weir_arena_init(&reading.arena, self->heap, ARENA_SIZE_MAX);
    status = weir_db_acquire(self->db, &reading.connection, error);
    if (status == WEIR_OK)
        status = weir_budget_find(reading.connection, weir_str(name),
                                  WEIR_BUDGET_UNLOCKED, &reading.arena, &row, error);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no budget \"%s\"", name);
    if (status == WEIR_OK)
        status = show(&reading, &row, error);
    weir_db_release(self->db, reading.connection);
    weir_arena_fini(&reading.arena);
    return status;
}

enum weir_status weir_budget_list(struct weir_executions *self, const char *after,
                                  size_t count, weir_budget_visit_fn visit, void *state,
                                  struct weir_error *error)
{
    struct reading reading = {.executions = self, .visit = visit, .state = state};
    struct weir_budget_rows budgets = {.count = 0};
    enum weir_status status;

    if (count < 1 || count > 1000)
        return weir_error_set(error, WEIR_INVALID, "count is %zu, must be from 1 to 1000",
                              count);
    weir_arena_init(&reading.arena, self->heap, ARENA_SIZE_MAX);
    status = weir_db_acquire(self->db, &reading.connection, error);
    if (status == WEIR_OK)
        status = weir_budget_page(reading.connection, or_nothing(after), count,
                                  &reading.arena, &budgets, error);
    for (size_t i = 0; i < budgets.count && status == WEIR_OK; i++)
        status = show(&reading, &budgets.rows[i], error);
    weir_db_release(self->db, reading.connection);
    weir_arena_fini(&reading.arena);
    return status;
}

enum weir_status weir_budget_of(struct weir_executions *self,
                                const struct weir_execution_id *id,
                                weir_budget_visit_fn visit, void *state,
                                struct weir_error *error)
{
    struct reading reading = {.executions = self, .visit = visit, .state = state};
    struct budget_call budget_call = {.executions = self, .id = id};
    struct weir_budget_rows budgets = {.count = 0};
    enum weir_status status = weir_execution_check_given("id", id != NULL, error);

    if (status != WEIR_OK)
        return status;
    weir_arena_init(&reading.arena, self->heap, ARENA_SIZE_MAX);
    status = weir_db_acquire(self->db, &reading.connection, error);
    if (status == WEIR_OK)
        status = find_execution(&budget_call, reading.connection, error);
    if (status == WEIR_OK)
        status = weir_budget_read_charged(reading.connection, budget_call.no,
                                          &reading.arena, &budgets, error);
    for (size_t i = 0; i < budgets.count && status == WEIR_OK; i++)
        status = show(&reading, &budgets.rows[i], error);
    weir_db_release(self->db, reading.connection);
    weir_arena_fini(&reading.arena);
    return status;
}
