/*
 * claim.c - giving executions to workers.
 *
 *   lanes and capabilities -> numbers       outside of a transaction: they are remembered
 *   pick, gather, claim, store              one transaction
 *   nothing there: stand in line, look again when it rings
 *
 * An execution past its deadline would stay at the head of its lane until the
 * reconciler comes, so it is ended on the spot; so is a member of a flow whose results
 * are too large to be given to a worker. When all that was picked had to be ended, the
 * next pick takes more.
 */
#include "execution/claim.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "execution/budget/budget_store.h"

#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/random.h"
#include "db/clock.h"
#include "db/db.h"
#include "execution/capabilities.h"
#include "execution/draft.h"
#include "execution/executions.h"
#include "execution/flow/gather.h"
#include "execution/store/postgres/floors.h"
#include "outbox/names.h"

enum {
    LANES_MAX = 64,
    WAIT_MS_MAX = 3600 * 1000,
    DEADLINE_PICK = 256, /* picked at once, when those before had passed their deadline */
    TEXTS_SIZE_MAX = 64 * 1024 /* of one, tags included */
};

/* What weir_claimed_free() gets back: the items are in its arena. */
struct claim_result {
    struct weir_arena arena;
    struct weir_claimed items[];
};

/* One call. */
struct claim_call {
    struct weir_executions *executions;
    const struct weir_claim_options *options;
    size_t wanted;
    size_t limit; /* of the next pick, at least `wanted` */
    uint64_t question;
    int64_t lanes[LANES_MAX]; /* those that exist */
    size_t lane_count;
    int64_t *capability_sets; /* owned */
    size_t capability_set_count;
    struct weir_execution_records records;
    struct weir_change *changes; /* owned; the claimed ones first */
    size_t change_count;
    struct claim_result *claim_result; /* owned */
    int64_t looked_ns;                 /* when the last try began */
    size_t claimed;
    size_t expired;
    struct weir_pending_wakeups pending_wakeups;
};

void weir_claim_options_init(struct weir_claim_options *self)
{
    *self = (struct weir_claim_options){.lease_ms = 30000};
}

/* ---- checking ---------------------------------------------------------------------- */

static enum weir_status check_lanes(const struct weir_claim_options *options,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (options->lane_count < 1 || options->lane_count > LANES_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "lane_count is %zu, must be from 1 to %d",
                              options->lane_count, LANES_MAX);
    if (options->lanes == NULL)
        return weir_error_set(error, WEIR_INVALID, "lanes is NULL, must be %zu %s",
                              options->lane_count,
                              WEIR_NOUN(options->lane_count, "lane", "lanes"));
    for (size_t i = 0; i < options->lane_count && status == WEIR_OK; i++)
        status =
            weir_printable_check("lane", options->lanes[i], WEIR_LANE_SIZE_MAX, error);
    return status;
}

enum weir_status weir_claim_options_check(const struct weir_claim_options *options,
                                          size_t count, struct weir_error *error)
{
    enum weir_status status =
        weir_execution_check_given("options", options != NULL, error);

    if (status == WEIR_OK)
        status = check_lanes(options, error);
    if (status == WEIR_OK && (count < 1 || count > WEIR_BATCH_MAX))
        status = weir_error_set(error, WEIR_INVALID, "count is %zu, must be from 1 to %d",
                                count, WEIR_BATCH_MAX);
    if (status == WEIR_OK)
        status = weir_capabilities_check(options->capabilities, options->capability_count,
                                         error);
    if (status == WEIR_OK)
        status = weir_printable_check("worker", options->worker, WEIR_INSTANCE_SIZE_MAX,
                                      error);
    if (status == WEIR_OK)
        status = weir_instance_check(options->instance, error);
    if (status == WEIR_OK)
        status = weir_execution_check_lease(options->lease_ms, error);
    if (status == WEIR_OK && (options->wait_ms < 0 || options->wait_ms > WAIT_MS_MAX))
        status = weir_error_set(error, WEIR_INVALID,
                                "wait_ms is %" PRId64 ", must be from 0 to %d",
                                options->wait_ms, WAIT_MS_MAX);
    return status;
}

/* ---- preparing --------------------------------------------------------------------- */

static enum weir_status find_lanes(struct claim_call *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    self->lane_count = 0;
    for (size_t i = 0; i < self->options->lane_count && status == WEIR_OK; i++) {
        int64_t lane = -1;

        status =
            weir_dictionary_find(self->executions->dictionary, connection, WEIR_TERM_LANE,
                                 weir_str(self->options->lanes[i]), &lane, error);
        for (size_t j = 0; j < self->lane_count; j++) {
            if (self->lanes[j] == lane)
                lane = -1; /* named twice */
        }
        if (status == WEIR_OK && lane >= 0)
            self->lanes[self->lane_count++] = lane;
    }
    return status;
}

static enum weir_status prepare(struct claim_call *self,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    char text[WEIR_CAPABILITY_SET_TEXT_SIZE];
    struct weir_str offered = weir_capabilities_write(
        self->options->capabilities, self->options->capability_count, text);
    enum weir_status status = find_lanes(self, connection, error);

    if (status != WEIR_OK)
        return status;
    weir_heap_free(self->executions->heap, self->capability_sets);
    self->capability_sets = NULL;
    return weir_dictionary_fulfilled(self->executions->dictionary, connection, offered,
                                     &self->capability_sets, &self->capability_set_count,
                                     error);
}

/* ---- claiming ---------------------------------------------------------------------- */

static struct weir_claimant claimant_of(const struct weir_claim_options *options)
{
    return (struct weir_claimant){
        .worker = weir_str(options->worker),
        .instance = weir_str(options->instance),
        .ttl_us = options->lease_ms * 1000,
    };
}

/* Claimed ones come first, and those that had to end behind them: what is stored is one
 * list. */
static void put_first(struct claim_call *self, const struct weir_change *change)
{
    self->changes[self->change_count++] = self->changes[self->claimed];
    self->changes[self->claimed++] = *change;
}

/* The budget that holds it back; 0: none. It is asked again under its lock: a reset
 * then sees the waiting execution. One that was reset meanwhile holds nothing back, but
 * another one may. */
static enum weir_status find_exceeded(struct weir_connection *connection, int64_t no,
                                      int64_t *budget, struct weir_error *error)
{
    bool exceeded = false;
    enum weir_status status;

    do {
        status = weir_budget_exceeded(connection, no, budget, error);
        if (status == WEIR_OK && *budget != 0)
            status = weir_budget_lock_exceeded(connection, *budget, &exceeded, error);
    } while (status == WEIR_OK && *budget != 0 && !exceeded);
    return status;
}

/* Until the reconciler finds that nothing holds it back any more. */
static enum weir_status admit(struct claim_call *self, struct weir_connection *connection,
                              struct weir_change *change, bool *admitted,
                              struct weir_error *error)
{
    struct weir_execution_row *row = &change->stored->row;
    int64_t budget = 0;
    enum weir_status status = find_exceeded(connection, row->no, &budget, error);

    *admitted = budget == 0;
    if (status != WEIR_OK || budget == 0)
        return status;
    if (weir_rule_block(row, WEIR_HOLD_BUDGET, &change->consequence) ==
        WEIR_RULING_DONE) {
        self->changes[self->change_count++] = *change;
        self->expired++;
    }
    return weir_budget_wait(connection, row->no, budget, true, error);
}

/* A claim of several at once locks their budgets at once. */
static enum weir_status lock_budgets(struct claim_call *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    const struct weir_heap *heap = self->executions->heap;
    int64_t *nos = NULL;
    size_t count = 0;
    enum weir_status status;

    for (size_t i = 0; i < self->records.count; i++)
        count += self->records.rows[i].budgeted;
    if (count < 2)
        return WEIR_OK;
    nos = weir_heap_zalloc_array(heap, count, sizeof *nos);
    if (nos == NULL)
        return weir_no_memory_for(error, "%zu %s", count,
                                  WEIR_NOUN(count, "budget", "budgets"));
    count = 0;
    for (size_t i = 0; i < self->records.count; i++) {
        if (self->records.rows[i].budgeted)
            nos[count++] = self->records.rows[i].row.no;
    }
    status = weir_budgets_lock_exceeded(connection, heap, nos, count, error);
    weir_heap_free(heap, nos);
    return status;
}

/* It is not claimed, and ends: past its deadline, or with more than can be given to
 * a worker. */
static void end_unclaimed(struct claim_call *self, struct weir_change *change,
                          int64_t now_us)
{
    struct weir_execution_row *row = &change->stored->row;
    enum weir_ruling ruling = weir_rule_expire(row, now_us, &change->consequence);

    if (ruling != WEIR_RULING_DONE && change->stored->too_large)
        ruling = weir_rule_refuse_input(row, now_us, &change->consequence);
    if (ruling != WEIR_RULING_DONE)
        return;
    self->changes[self->change_count++] = *change;
    self->expired++;
}

static void judge_one(struct claim_call *self, struct weir_change *change, int64_t now_us)
{
    struct weir_claimant claimant = claimant_of(self->options);
    enum weir_ruling ruling = WEIR_RULING_NOTHING;

    if (!change->stored->too_large)
        ruling = weir_rule_claim(&change->stored->row, &claimant, now_us,
                                 &change->consequence);
    if (ruling == WEIR_RULING_NOTHING) {
        end_unclaimed(self, change, now_us);
    } else if (ruling == WEIR_RULING_DONE) {
        put_first(self, change);
    }
}

/* A few large ones are enough for one call. */
static bool is_for_later(const struct weir_execution_record *stored)
{
    return stored->data_edges > 0 && !stored->gathered && !stored->too_large;
}

static enum weir_status judge(struct claim_call *self, struct weir_connection *connection,
                              int64_t now_us, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->records.count && self->claimed < self->wanted; i++) {
        struct weir_change change = {.stored = &self->records.rows[i]};
        bool admitted = !is_for_later(change.stored);

        if (admitted && change.stored->budgeted)
            status = admit(self, connection, &change, &admitted, error);
        if (status != WEIR_OK)
            return status;
        if (admitted)
            judge_one(self, &change, now_us);
    }
    return WEIR_OK;
}

/* ---- what the worker gets ---------------------------------------------------------- */

static void free_claim_result(const struct weir_heap *heap,
                              struct claim_result *claim_result)
{
    if (claim_result == NULL)
        return;
    weir_arena_fini(&claim_result->arena);
    weir_heap_free(heap, claim_result);
}

static enum weir_status make_claim_result(struct claim_call *self,
                                          struct weir_error *error)
{
    const struct weir_heap *heap = self->executions->heap;
    size_t count = self->claimed;
    size_t size_max = count * (WEIR_INPUT_SIZE_MAX + TEXTS_SIZE_MAX);

    for (size_t i = 0; i < count; i++)
        size_max += self->changes[i].stored->input.size; /* composed ones are larger */
    free_claim_result(self->executions->heap, self->claim_result);
    self->claim_result = weir_heap_zalloc(heap, sizeof *self->claim_result +
                                                    count * sizeof(struct weir_claimed));
    if (self->claim_result == NULL)
        return weir_no_memory_for(error, "what was claimed");
    weir_arena_init(&self->claim_result->arena, heap, size_max);
    return WEIR_OK;
}

static enum weir_status keep_input(void *state, const struct weir_work_input *input,
                                   struct weir_error *error)
{
    struct claim_result *claim_result = state;
    struct weir_claimed *item = &claim_result->items[input->index];

    item->input = weir_arena_copy(&claim_result->arena, input->input);
    item->input_size = input->input.size;
    return item->input != NULL ? WEIR_OK : weir_no_memory_for(error, "what was claimed");
}

static int64_t sooner(int64_t a_us, int64_t b_us)
{
    if (a_us == 0 || b_us == 0)
        return a_us + b_us;
    return a_us < b_us ? a_us : b_us;
}

/* With its input, if that came along. */
static enum weir_status describe(struct claim_call *self,
                                 const struct weir_execution_record *stored, size_t index,
                                 struct weir_error *error)
{
    const struct weir_execution_row *row = &stored->row;
    const struct weir_work_input input = {index, stored->input};
    struct claim_result *claim_result = self->claim_result;
    struct weir_claimed *out = &claim_result->items[index];

    *out = (struct weir_claimed){
        .claim = {.id = row->id, .no = row->no, .epoch = row->epoch},
        .name_space = weir_arena_copy(&claim_result->arena, stored->name_space),
        .lane = weir_arena_copy(&claim_result->arena, stored->lane_name),
        .kind = weir_arena_copy(&claim_result->arena, stored->kind),
        .name = weir_arena_copy(&claim_result->arena, stored->name),
        .attempt = row->attempts - 1,
        .type = row->attempt_type,
        .lease_us = row->lease_us,
        .claimed_ns = self->looked_ns,
        .deadline_us = sooner(row->attempt_deadline_us, row->deadline_us),
    };
    if (out->name_space == NULL || out->lane == NULL || out->kind == NULL ||
        out->name == NULL)
        return weir_no_memory_for(error, "what was claimed");
    return stored->input.data != NULL ? keep_input(claim_result, &input, error) : WEIR_OK;
}

/* Tags of one come one behind the other; room for all is made with the first. */
static enum weir_status keep_tag(void *state, const struct weir_work_tag *tag,
                                 struct weir_error *error)
{
    struct claim_result *claim_result = state;
    struct weir_claimed *item = &claim_result->items[tag->index];
    struct weir_tag *tags = (struct weir_tag *)(uintptr_t)item->tags;

    if (item->tag_count == WEIR_TAGS_MAX)
        return weir_error_set(error, WEIR_SCHEMA, "an execution has more than %d tags",
                              WEIR_TAGS_MAX);
    if (tags == NULL)
        tags = weir_arena_alloc(&claim_result->arena, WEIR_TAGS_MAX * sizeof *tags);
    if (tags == NULL)
        return weir_no_memory_for(error, "what was claimed");
    item->tags = tags;
    tags += item->tag_count;
    *tags = (struct weir_tag){weir_arena_copy(&claim_result->arena, tag->key),
                              weir_arena_copy(&claim_result->arena, tag->value)};
    if (tags->key == NULL || tags->value == NULL)
        return weir_no_memory_for(error, "what was claimed");
    item->tag_count++;
    return WEIR_OK;
}

/* Those whose inputs did not come with their rows. */
struct input_query {
    struct claim_result *claim_result;
    int64_t *nos;
    size_t *owners; /* in the hoard */
    size_t count;
};

static enum weir_status keep_asked(void *state, const struct weir_work_input *input,
                                   struct weir_error *error)
{
    const struct input_query *self = state;
    const struct weir_work_input owned = {self->owners[input->index], input->input};

    return keep_input(self->claim_result, &owned, error);
}

/* All rows are locked by now, so what is read is theirs. */
static enum weir_status ask_for_inputs(struct claim_call *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    const struct weir_heap *heap = self->executions->heap;
    struct input_query input_query = {
        .claim_result = self->claim_result,
        .nos = weir_heap_zalloc_array(heap, self->claimed, sizeof *input_query.nos),
        .owners = weir_heap_zalloc_array(heap, self->claimed, sizeof *input_query.owners),
    };
    enum weir_status status = input_query.nos != NULL && input_query.owners != NULL
                                  ? WEIR_OK
                                  : weir_no_memory_for(error, "what was claimed");

    for (size_t i = 0; i < self->claimed && status == WEIR_OK; i++) {
        const struct weir_execution_record *stored = self->changes[i].stored;

        if (self->records.inputs || stored->gathered)
            continue;
        input_query.nos[input_query.count] = stored->row.no;
        input_query.owners[input_query.count++] = i;
    }
    if (status == WEIR_OK)
        status =
            weir_store_visit_inputs(&self->executions->store, connection, input_query.nos,
                                    input_query.count, keep_asked, &input_query, error);
    weir_heap_free(heap, input_query.nos);
    weir_heap_free(heap, input_query.owners);
    return status;
}

static enum weir_status fill_claim_result(struct claim_call *self,
                                          struct weir_connection *connection,
                                          struct weir_error *error)
{
    const struct weir_store *store = &self->executions->store;
    size_t count = self->claimed;
    bool tagged = false;
    int64_t *nos = weir_heap_zalloc_array(self->executions->heap, count, sizeof *nos);
    enum weir_status status = nos != NULL ? make_claim_result(self, error)
                                          : weir_no_memory_for(error, "what was claimed");

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        nos[i] = self->changes[i].stored->row.no;
        tagged |= self->changes[i].stored->tagged;
        status = describe(self, self->changes[i].stored, i, error);
    }
    if (status == WEIR_OK)
        status = ask_for_inputs(self, connection, error);
    if (status == WEIR_OK && (tagged || !self->records.inputs))
        status = weir_store_visit_tags(store, connection, nos, count, keep_tag,
                                       self->claim_result, error);
    weir_heap_free(self->executions->heap, nos);
    return status;
}

/* ---- looking ----------------------------------------------------------------------- */

static enum weir_status make_changes(struct claim_call *self, struct weir_error *error)
{
    weir_heap_free(self->executions->heap, self->changes);
    self->changes = weir_heap_zalloc_array(self->executions->heap, self->records.count,
                                           sizeof *self->changes);
    return self->changes != NULL ? WEIR_OK
                                 : weir_no_memory_for(error, "what was claimed");
}

static struct weir_ready_query query_of(const struct claim_call *self)
{
    struct weir_floors *floors = &self->executions->floors;

    return (struct weir_ready_query){
        .floors = weir_floors_are_used(floors) ? floors : NULL,
        .lanes = self->lanes,
        .lane_count = self->lane_count,
        .capability_sets = self->capability_sets,
        .capability_set_count = self->capability_set_count,
        .limit = self->limit,
        .inputs = true,
    };
}

static bool is_slow_on_purpose(const struct claim_call *self)
{
    return WEIR_POINT(weir_db_config(self->executions->db)->points, "claim.slow");
}

/* A long search lets the next ones begin where it found something. */
static void note_look(struct claim_call *self, int64_t begun_ns)
{
    struct weir_floors *floors = &self->executions->floors;
    int64_t now_ns = weir_clock_now_ns();
    bool slowly = is_slow_on_purpose(self);

    weir_floors_note(floors, slowly ? WEIR_FLOORS_SLOW_NS : now_ns - begun_ns, now_ns);
    if (!weir_floors_are_active(floors))
        return;
    for (size_t i = 0; i < self->lane_count; i++) {
        for (size_t j = 0; j < self->capability_set_count; j++)
            weir_floors_meet(floors, self->lanes[i], self->capability_sets[j], 0);
    }
    for (size_t i = 0; i < self->records.count; i++)
        weir_floors_meet(floors, self->records.rows[i].lane,
                         self->records.rows[i].capability_set,
                         self->records.rows[i].row.priority);
}

/* Only where what was leaves traces among what is. */
static enum weir_status pick(struct claim_call *self, struct weir_connection *connection,
                             struct weir_error *error)
{
    const struct weir_ready_query query = query_of(self);
    enum weir_status status = weir_store_pick_ready(&self->executions->store, connection,
                                                    &query, &self->records, error);

    if (status == WEIR_OK && weir_connection_traits(connection)->keeps_old_rows)
        note_look(self, self->looked_ns);
    return status;
}

static enum weir_status claim_once(struct weir_connection *connection, void *argument,
                                   struct weir_error *error)
{
    struct claim_call *self = argument;
    int64_t now_us = 0;
    enum weir_status status;

    self->claimed = self->expired = self->change_count = 0;
    self->looked_ns = weir_clock_now_ns();
    self->pending_wakeups = (struct weir_pending_wakeups){.ready = false};
    status = pick(self, connection, error);
    if (status != WEIR_OK || self->records.count == 0)
        return status;
    status = weir_store_clock(connection, &self->records, &now_us, error);
    if (status == WEIR_OK)
        status = make_changes(self, error);
    if (status != WEIR_OK)
        return status;
    status = lock_budgets(self, connection, error);
    if (status == WEIR_OK)
        status = weir_gather(self->executions, connection, &self->records, error);
    if (status == WEIR_OK)
        status = judge(self, connection, now_us, error);
    if (status == WEIR_OK)
        status = weir_change_set_store_at_commit(self->executions, connection,
                                                 self->changes, self->change_count,
                                                 now_us, &self->pending_wakeups, error);
    if (status == WEIR_OK && self->claimed > 0)
        status = fill_claim_result(self, connection, error);
    return status;
}

/* Until something is claimed, or there is nothing. */
static enum weir_status claim_ready(struct claim_call *self, struct weir_error *error)
{
    enum weir_status status;

    self->limit = self->wanted;
    do {
        status = weir_transact_soon(self->executions->db, claim_once, self, error);
        if (status == WEIR_OK)
            weir_pending_wakeups_send(self->executions, &self->pending_wakeups);
        if (self->limit < DEADLINE_PICK)
            self->limit = DEADLINE_PICK;
    } while (status == WEIR_OK && self->claimed == 0 && self->expired > 0);
    return status;
}

/*
 * *there: it is worth a transaction. A claim that looked in vain before and was woken,
 * perhaps by a poll, asks first: that locks nothing and is one statement.
 */
static enum weir_status peek(struct claim_call *self, struct weir_connection *connection,
                             bool again, bool *there, struct weir_error *error)
{
    const struct weir_ready_query query = query_of(self);

    *there = self->lane_count > 0;
    if (!*there || !again)
        return WEIR_OK;
    return weir_store_is_ready(&self->executions->store, connection, &query, there,
                               error);
}

static enum weir_status look(struct claim_call *self, bool again,
                             struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    bool there = false;
    enum weir_status status = weir_db_acquire(self->executions->db, &connection, error);

    if (status == WEIR_OK)
        status = prepare(self, connection, error);
    if (status == WEIR_OK)
        status = weir_floors_learn(&self->executions->floors, &self->executions->store,
                                   connection, is_slow_on_purpose(self), error);
    if (status == WEIR_OK)
        status = peek(self, connection, again, &there, error);
    weir_db_release(self->executions->db, connection);
    return status == WEIR_OK && there ? claim_ready(self, error) : status;
}

/* ---- waiting ----------------------------------------------------------------------- */

/* Equal for claims that would find the same. */
static uint64_t question_of(const struct weir_claim_options *options)
{
    char text[WEIR_CAPABILITY_SET_TEXT_SIZE];
    struct weir_str set =
        weir_capabilities_write(options->capabilities, options->capability_count, text);
    uint64_t hash = weir_hash_bytes(set.data, set.size);

    for (size_t i = 0; i < options->lane_count; i++)
        hash = weir_mix_u64(hash + 1) ^ weir_hash_text(options->lanes[i]);
    return hash;
}

/* Say that a claim waits; *again: for the first time in a while, so look once more. */
static enum weir_status say(struct claim_call *self, bool *again,
                            struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status;

    *again = false;
    if (weir_executions_is_simulated())
        return WEIR_OK;
    weir_executions_watch(self->executions);
    status = weir_db_acquire(self->executions->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_executions_await(self->executions, connection, again, error);
    weir_db_release(self->executions->db, connection);
    return status;
}

/* Until it rings, or it is time to look anyway: WEIR_OK. WEIR_TIMEOUT: the time is
 * over. */
static enum weir_status stand_in_line(struct claim_call *self, uint64_t wakes,
                                      int64_t deadline_ns, struct weir_error *error)
{
    bool polls =
        !atomic_load(&self->executions->watching) || weir_executions_is_simulated();
    int64_t until_ns = weir_sat_add_i64(weir_clock_now_ns(), WEIR_EXECUTION_POLL_NS);
    enum weir_status status;

    if (!polls || until_ns > deadline_ns)
        until_ns = deadline_ns;
    status = weir_claim_waiters_wait(&self->executions->claim_waiters, self->question,
                                     wakes, until_ns);
    if (status == WEIR_TIMEOUT && until_ns < deadline_ns)
        return WEIR_OK;
    if (status != WEIR_OK && status != WEIR_TIMEOUT)
        return weir_error_set(error, status, "waiting for something to claim");
    return status;
}

static enum weir_status wait_and_look(struct claim_call *self, struct weir_error *error)
{
    int64_t deadline_ns =
        weir_sat_add_i64(weir_clock_now_ns(), WEIR_MILLISECONDS(self->options->wait_ms));
    enum weir_status status;

    for (bool woken = false;; woken = true) {
        uint64_t wakes = weir_claim_waiters_count_wakes(&self->executions->claim_waiters);
        bool again = false;

        status = look(self, woken, error);
        if (status != WEIR_OK || self->claimed > 0)
            return status;
        if (weir_clock_now_ns() >= deadline_ns)
            return WEIR_OK;
        status = say(self, &again, error);
        if (status == WEIR_OK && !again)
            status = stand_in_line(self, wakes, deadline_ns, error);
        if (status == WEIR_TIMEOUT)
            return WEIR_OK;
        if (status != WEIR_OK)
            return status;
    }
}

static void claim_call_fini(struct claim_call *self)
{
    weir_heap_free(self->executions->heap, self->capability_sets);
    weir_heap_free(self->executions->heap, self->changes);
    free_claim_result(self->executions->heap, self->claim_result);
    weir_execution_records_fini(&self->records);
}

enum weir_status weir_execution_claim(struct weir_executions *self,
                                      const struct weir_claim_options *options,
                                      size_t count, struct weir_claimed **out,
                                      size_t *claimed, struct weir_error *error)
{
    struct claim_call claim_call = {
        .executions = self, .options = options, .wanted = count};
    enum weir_status status = weir_claim_options_check(options, count, error);

    *out = NULL;
    *claimed = 0;
    if (status != WEIR_OK)
        return status;
    claim_call.question = question_of(options);
    weir_execution_records_init(&claim_call.records, self->heap,
                                count > DEADLINE_PICK ? count : DEADLINE_PICK);
    weir_execution_records_allow_inputs(&claim_call.records, count);
    status = wait_and_look(&claim_call, error);
    if (status == WEIR_OK && claim_call.claimed > 0) {
        *out = claim_call.claim_result->items;
        *claimed = claim_call.claimed;
        claim_call.claim_result = NULL;
    }
    claim_call_fini(&claim_call);
    /* There may be more; and one that failed had perhaps been woken. */
    if (status != WEIR_OK || *claimed > 0)
        weir_claim_waiters_wake_next(&self->claim_waiters, claim_call.question);
    return status;
}

void weir_claimed_free(struct weir_executions *self, struct weir_claimed *claimed)
{
    weir_claimed_free_to(self->heap, claimed);
}

void weir_claimed_free_to(const struct weir_heap *heap, struct weir_claimed *claimed)
{
    if (claimed != NULL)
        free_claim_result(heap, WEIR_CONTAINER_OF(claimed, struct claim_result, items));
}
