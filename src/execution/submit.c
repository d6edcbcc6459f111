/*
 * submit.c - new executions.
 *
 * Everything that can be refused is refused before the first statement. What then goes
 * wrong is undone by a savepoint in a transaction of the caller's; one of our own needs
 * none. Ids are minted once for a call: when its transaction is tried again they are
 * the same.
 */
#include <string.h>

#include "base/arith.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/clock.h"
#include "db/db.h"
#include "execution/budget/budget_store.h"
#include "execution/capabilities.h"
#include "execution/draft.h"
#include "execution/executions.h"
#include "execution/submit.h"

enum { BUDGET_SIZE_MAX = 4096 };

#define KEY_KEPT_US ((int64_t)24 * 60 * 60 * 1000000)

/* ---- packing ----------------------------------------------------------------------- */

static struct weir_execution_id id_of(const struct weir_submit_call *self,
                                      const struct weir_execution_draft *draft,
                                      struct weir_mint *mint)
{
    struct weir_execution_id id;

    if (draft->id != NULL)
        return *draft->id;
    weir_mint_uuid(mint, id.uuid);
    id.partition = weir_execution_partition(draft->lane, strlen(draft->lane),
                                            self->executions->partitions);
    return id;
}

/* All that does not need the database. */
static void pack(struct weir_submit_call *self)
{
    struct weir_mint mint;

    weir_mint_init(&mint, weir_clock_wall_us(), weir_clock_random());
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_execution_draft *draft = &self->drafts[i];
        struct weir_new_execution *item = &self->items[i];

        item->id = id_of(self, draft, &mint);
        weir_execution_draft_digest(draft, item->digest);
        item->name_space = weir_str(weir_execution_draft_namespace(draft));
        item->kind = weir_str(draft->kind);
        item->name = weir_str(draft->name != NULL ? draft->name : "");
        item->input = (struct weir_str){draft->input, draft->input_size};
        item->tags = draft->tags;
        item->tag_count = draft->tag_count;
        item->budgeted = draft->budget_count > 0;
        item->key =
            weir_str(draft->idempotency_key != NULL ? draft->idempotency_key : "");
    }
}

enum weir_status weir_submit_call_init(struct weir_submit_call *self,
                                       struct weir_executions *executions,
                                       const struct weir_execution_draft *drafts,
                                       size_t count, struct weir_error *error)
{
    *self = (struct weir_submit_call){
        .executions = executions,
        .drafts = drafts,
        .count = count,
        .items = weir_heap_zalloc_array(executions->heap, count + 1, sizeof *self->items),
    };
    if (self->items == NULL)
        return weir_no_memory_for(error, "%zu %s", count,
                                  WEIR_NOUN(count, "draft", "drafts"));
    pack(self);
    return WEIR_OK;
}

void weir_submit_call_fini(struct weir_submit_call *self)
{
    weir_heap_free(self->executions->heap, self->items);
}

/* Numbers for lane, capabilities and policy. */
static enum weir_status number(struct weir_submit_call *self,
                               struct weir_connection *connection, size_t index,
                               struct weir_error *error)
{
    struct weir_dictionary *dictionary = self->executions->dictionary;
    const struct weir_execution_draft *draft = &self->drafts[index];
    struct weir_new_execution *item = &self->items[index];
    struct weir_execution_policy policy = weir_execution_draft_policy(draft);
    char text[WEIR_CAPABILITY_SET_TEXT_SIZE];
    struct weir_str set =
        weir_capabilities_write(draft->capabilities, draft->capability_count, text);
    enum weir_status status =
        weir_dictionary_number(dictionary, connection, WEIR_TERM_LANE,
                               weir_str(draft->lane), &item->lane, error);

    if (status == WEIR_OK)
        status = weir_dictionary_number(dictionary, connection, WEIR_TERM_CAPABILITY_SET,
                                        set, &item->capability_set, error);
    if (status == WEIR_OK)
        status = weir_dictionary_policy_number(dictionary, connection, &policy,
                                               &item->policy, error);
    return status;
}

static enum weir_status number_all(struct weir_submit_call *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = number(self, connection, i, error);
    return status;
}

/* ---- writing ----------------------------------------------------------------------- */

static void begin(struct weir_submit_call *self, int64_t now_us)
{
    self->pending_wakeups = (struct weir_pending_wakeups){.adopted = self->adopted};
    for (size_t i = 0; i < self->count; i++) {
        struct weir_new_execution *item = &self->items[i];
        struct weir_execution_row row;

        weir_rule_submit(&row, &self->drafts[i], now_us);
        if (self->blocked != NULL && self->blocked[i])
            (void)weir_rule_block(&row, WEIR_HOLD_DEPENDENCIES,
                                  &(struct weir_consequence){.news = 0});
        item->flow_no = self->flow_no;
        item->data_edges = self->data_edges != NULL ? self->data_edges[i] : 0;
        item->state = row.state;
        item->hold = row.hold;
        item->pending = row.pending;
        item->priority = row.priority;
        item->due_us = row.due_us;
        item->deadline_us = row.deadline_us;
        item->key_until_us = weir_sat_add_i64(now_us, KEY_KEPT_US);
        weir_pending_wakeups_note(&self->pending_wakeups, &row);
    }
}

/* The same key, or the same id, must mean the same thing. */
static enum weir_status check_duplicates(const struct weir_submit_call *self,
                                         struct weir_error *error)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_new_execution *item = &self->items[i];
        char text[WEIR_EXECUTION_ID_TEXT_SIZE];

        if (!item->duplicate ||
            memcmp(item->digest, item->stored_digest, WEIR_DIGEST_SIZE) == 0)
            continue;
        (void)weir_error_set(error, WEIR_MISMATCH,
                             "its %s was used before for something else, execution %s",
                             item->key.size > 0 ? "idempotency key" : "id",
                             weir_execution_id_format(&item->stored_id, text));
        weir_error_prefix(error, "draft %zu of %zu", i + 1, self->count);
        return WEIR_MISMATCH;
    }
    return WEIR_OK;
}

/* With our commit; or now, since it is unknown when the caller will. */
static enum weir_status dispatch(const struct weir_submit_call *self,
                                 struct weir_connection *connection,
                                 struct weir_commit_batch *commit_batch,
                                 struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (!self->adopted) {
        weir_commit_batch_attach(commit_batch, connection);
        return WEIR_OK;
    }
    status = weir_commit_batch_send(commit_batch, connection, error);
    weir_commit_batch_destroy(commit_batch);
    return status;
}

/* Which budgets each is charged to: they must be there. */
static enum weir_status charge(const struct weir_submit_call *self,
                               struct weir_connection *connection, size_t index,
                               struct weir_arena *arena, struct weir_error *error)
{
    const struct weir_execution_draft *draft = &self->drafts[index];
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < draft->budget_count && status == WEIR_OK; i++) {
        struct weir_budget_row row;

        weir_arena_reset(arena);
        status = weir_budget_find(connection, weir_str(draft->budgets[i]),
                                  WEIR_BUDGET_UNLOCKED, arena, &row, error);
        if (status == WEIR_NO_ROW)
            status = weir_error_set(error, WEIR_NOT_FOUND, "there is no budget \"%s\"",
                                    draft->budgets[i]);
        if (status == WEIR_OK)
            status = weir_budget_charge(connection, self->items[index].no, row.no, error);
    }
    if (status != WEIR_OK)
        weir_error_prefix(error, "draft %zu of %zu", index + 1, self->count);
    return status;
}

static enum weir_status charge_all(const struct weir_submit_call *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    struct weir_arena arena;
    enum weir_status status = WEIR_OK;

    weir_arena_init(&arena, self->executions->heap, BUDGET_SIZE_MAX);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        if (self->items[i].budgeted && !self->items[i].duplicate)
            status = charge(self, connection, i, &arena, error);
    }
    weir_arena_fini(&arena);
    return status;
}

enum weir_status weir_submit_call_write(struct weir_submit_call *self,
                                        struct weir_connection *connection,
                                        int64_t now_us,
                                        struct weir_commit_batch *commit_batch,
                                        struct weir_error *error)
{
    enum weir_status status = number_all(self, connection, error);

    if (status != WEIR_OK)
        return status;
    begin(self, now_us);
    status = weir_store_insert(&self->executions->store, connection, self->items,
                               self->count, now_us, commit_batch, error);
    if (status == WEIR_OK)
        status = check_duplicates(self, error);
    return status == WEIR_OK ? charge_all(self, connection, error) : status;
}

static enum weir_status write_out(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    struct weir_submit_call *self = argument;
    struct weir_commit_batch *commit_batch = NULL;
    int64_t now_us = 0;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    if (status == WEIR_OK)
        status = weir_commit_batch_create(self->executions->heap, &commit_batch, error);
    if (status != WEIR_OK)
        return status;
    status = weir_submit_call_write(self, connection, now_us, commit_batch, error);
    if (status == WEIR_OK) {
        weir_pending_wakeups_announce(&(struct weir_unit){
            self->executions, connection, now_us, &self->pending_wakeups, commit_batch});
        return dispatch(self, connection, commit_batch, error);
    }
    weir_commit_batch_destroy(commit_batch);
    return status;
}

/* Of an adopted connection we cannot begin one, and of ours the caller would not know. */
static enum weir_status refuse_idle(struct weir_connection *connection,
                                    struct weir_error *error)
{
    int64_t now_us;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    return status != WEIR_OK ? status
                             : weir_error_set(error, WEIR_INVALID,
                                              "the connection has no open transaction: "
                                              "begin one, or give none");
}

enum weir_status weir_executions_inside(struct weir_executions *executions,
                                        struct weir_connection *connection,
                                        weir_transact_fn body, void *argument,
                                        struct weir_error *error)
{
    if (weir_connection_transaction(connection) == WEIR_TRANSACTION_NONE)
        return refuse_idle(connection, error);
    if (executions->no_savepoint)
        return body(connection, argument, error);
    return weir_transact_in_savepoint(connection, body, argument, error);
}

/* What is new is added outside of the transaction, so that it is remembered, and two
 * that add the same do not wait for each other. When that fails it is tried inside, and
 * reported. */
void weir_submit_call_learn(struct weir_submit_call *self)
{
    struct weir_connection *connection = NULL;

    if (weir_db_acquire(self->executions->db, &connection, NULL) == WEIR_OK)
        (void)!number_all(self, connection, NULL);
    weir_db_release(self->executions->db, connection);
}

static enum weir_status write_alone(struct weir_submit_call *self,
                                    struct weir_error *error)
{
    enum weir_status status;

    weir_submit_call_learn(self);
    status = weir_transact_soon(self->executions->db, write_out, self, error);
    if (status == WEIR_OK)
        weir_pending_wakeups_send(self->executions, &self->pending_wakeups);
    return status;
}

/* It would never be found. */
static enum weir_status refuse_names(const struct weir_execution_draft *drafts,
                                     size_t count, struct weir_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (drafts[i].name != NULL)
            return weir_error_set(error, WEIR_INVALID,
                                  "draft %zu of %zu: name is \"%s\", must be NULL: only "
                                  "members of flows have one",
                                  i + 1, count, drafts[i].name);
    }
    return WEIR_OK;
}

enum weir_status weir_execution_submit(struct weir_executions *self,
                                       struct weir_connection *connection,
                                       const struct weir_execution_draft *drafts,
                                       size_t count, struct weir_submission *out,
                                       struct weir_error *error)
{
    struct weir_submit_call submit_call;
    enum weir_status status = weir_execution_check_list("drafts", drafts, count, error);

    if (status == WEIR_OK)
        status = weir_execution_drafts_check(drafts, count, self->partitions, error);
    if (status == WEIR_OK)
        status = refuse_names(drafts, count, error);
    if (status != WEIR_OK || count == 0)
        return status;
    status = weir_submit_call_init(&submit_call, self, drafts, count, error);
    submit_call.adopted = connection != NULL;
    if (status == WEIR_OK)
        status = connection != NULL ? weir_executions_inside(self, connection, write_out,
                                                             &submit_call, error)
                                    : write_alone(&submit_call, error);
    for (size_t i = 0; i < count && status == WEIR_OK && out != NULL; i++)
        out[i] = (struct weir_submission){submit_call.items[i].stored_id,
                                          submit_call.items[i].duplicate};
    weir_submit_call_fini(&submit_call);
    return status;
}
