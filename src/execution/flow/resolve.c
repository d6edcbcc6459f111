/*
 * resolve.c - see resolve.h.
 *
 * I1  An edge is counted by the transaction that moves it from OPEN, so once.
 * I2  A group is decided once: what ends later is counted, and changes nothing else.
 * I3  Nothing is read that is still in the commit batch. Those that have just ended may
 *     be, so what leads to one of them does not load it: it has ended. What is passed
 *     on, and what is reopened, comes after it was sent; so does the next level, whose
 *     groups may be the same.
 */
#include "execution/flow/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "execution/executions.h"
#include "execution/flow/numbers.h"

enum { ARENA_SIZE_MAX = 64 * 1024 * 1024 };

struct weir_resolution *weir_resolution_create(const struct weir_unit *unit)
{
    const struct weir_heap *heap = unit->executions->heap;
    struct weir_resolution *self = weir_heap_zalloc(heap, sizeof *self);

    if (self == NULL)
        return NULL;
    self->unit = *unit;
    self->edges_max = WEIR_RESOLVE_EDGES;
    weir_arena_init(&self->arena, heap, ARENA_SIZE_MAX);
    weir_execution_records_init(&self->records, heap,
                                WEIR_RESOLVE_EDGES_LEFT + WEIR_BATCH_MAX);
    return self;
}

void weir_resolution_destroy(struct weir_resolution *self)
{
    const struct weir_heap *heap;

    if (self == NULL)
        return;
    heap = self->unit.executions->heap;
    weir_heap_free(heap, self->changes);
    weir_heap_free(heap, self->ends);
    weir_execution_records_fini(&self->records);
    weir_arena_fini(&self->arena);
    weir_heap_free(heap, self);
}

static bool has_ended(const struct weir_change *change)
{
    return (change->consequence.news & WEIR_NEWS_COMPLETION) != 0;
}

static bool begins_anew(const struct weir_change *change)
{
    return (change->consequence.news & WEIR_NEWS_REPLAYED) != 0;
}

bool weir_resolution_is_needed(const struct weir_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (changes[i].stored->row.flow_no != 0 &&
            (has_ended(&changes[i]) || begins_anew(&changes[i])))
            return true;
    }
    return false;
}

bool weir_resolution_goes_on(const struct weir_resolution *self)
{
    return weir_resolution_is_needed(self->changes, self->count);
}

/* ---- flows ------------------------------------------------------------------------- */

static enum weir_status note_end(struct weir_resolution *self,
                                 const struct weir_change *change,
                                 struct weir_error *error)
{
    int32_t sign = begins_anew(change) ? -1 : 1;
    bool unlucky = begins_anew(change) ? change->consequence.was_unlucky
                                       : weir_row_is_unlucky(&change->stored->row);

    if (self->end_count == self->end_room) {
        size_t room = self->end_room == 0 ? 16 : 2 * self->end_room;
        struct weir_flow_ends *more = weir_heap_resize(self->unit.executions->heap,
                                                       self->ends, room * sizeof *more);

        if (more == NULL)
            return weir_no_memory_for(error, "what follows in a flow");
        self->ends = more;
        self->end_room = room;
    }
    self->ends[self->end_count++] =
        (struct weir_flow_ends){change->stored->row.flow_no, sign, unlucky ? sign : 0};
    return WEIR_OK;
}

enum weir_status weir_resolution_count(struct weir_resolution *self,
                                       const struct weir_change *changes, size_t count,
                                       struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (changes[i].stored->row.flow_no != 0 &&
            (has_ended(&changes[i]) || begins_anew(&changes[i])))
            status = note_end(self, &changes[i], error);
    }
    return status;
}

static int compare_flows(const void *a, const void *b)
{
    int64_t left = ((const struct weir_flow_ends *)a)->flow_no;
    int64_t right = ((const struct weir_flow_ends *)b)->flow_no;

    return left < right ? -1 : left > right;
}

/* In the order of their numbers, as every transaction locks them. */
enum weir_status weir_resolution_finish(struct weir_resolution *self,
                                        struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    size_t i = 0;

    if (self->end_count == 0)
        return WEIR_OK;
    qsort(self->ends, self->end_count, sizeof *self->ends, compare_flows);
    while (i < self->end_count && status == WEIR_OK) {
        struct weir_flow_ends sum = self->ends[i++];

        for (; i < self->end_count && self->ends[i].flow_no == sum.flow_no; i++) {
            sum.ended += self->ends[i].ended;
            sum.unlucky += self->ends[i].unlucky;
        }
        status = weir_flow_count_ends(self->unit.connection, &sum, self->unit.now_us,
                                      self->unit.commit_batch, error);
    }
    return status;
}

/* ---- groups ------------------------------------------------------------------------ */

static enum weir_status lock_joins(struct weir_resolution *self,
                                   const struct weir_edge_rows *edges,
                                   struct weir_join_rows *out, struct weir_error *error)
{
    int64_t *numbers =
        weir_arena_alloc(&self->arena, (edges->count + 1) * sizeof *numbers);

    if (numbers == NULL)
        return weir_no_memory_for(error, "what follows in a flow");
    for (size_t i = 0; i < edges->count; i++)
        numbers[i] = edges->rows[i].downstream;
    return weir_joins_lock(self->unit.connection, numbers, edges->count, &self->arena,
                           out, error);
}

/* It is read where it is stored (I3). */
static enum weir_status pass_data(struct weir_resolution *self,
                                  const struct weir_edge_row *edge,
                                  struct weir_error *error)
{
    enum weir_status status =
        weir_commit_batch_send(self->unit.commit_batch, self->unit.connection, error);

    return status == WEIR_OK ? weir_edge_pass_data(self->unit.connection, edge, error)
                             : status;
}

static enum weir_status count_edge(struct weir_resolution *self,
                                   const struct weir_join_rows *join_rows,
                                   const struct weir_edge_row *edge,
                                   struct weir_error *error)
{
    struct weir_join_row *join_row = weir_joins_find(join_rows, edge->downstream);

    if (join_row == NULL || edge->state == WEIR_EDGE_OPEN)
        return WEIR_OK;
    weir_join_count(&join_row->join_row, edge->state);
    if (!weir_join_is_whole(&join_row->join_row))
        return weir_error_set(error, WEIR_SCHEMA,
                              "the join of execution number %lld has more results than "
                              "edges",
                              (long long)edge->downstream);
    if (edge->passes_data && edge->state == WEIR_EDGE_SUCCEEDED &&
        join_row->state == WEIR_FLOW_JOIN_PENDING)
        return pass_data(self, edge, error);
    return WEIR_OK;
}

static bool has_open_edges(const struct weir_join_progress *join_row)
{
    return join_row->succeeded + join_row->failed + join_row->skipped < join_row->total;
}

/* Returns whether it is decided, and was not before. */
static bool decide(struct weir_join_row *row, int64_t now_us,
                   struct weir_pending_wakeups *pending_wakeups)
{
    if (row->state != WEIR_FLOW_JOIN_PENDING)
        return false;
    row->state = weir_join_judge(&row->join_row);
    if (row->state == WEIR_FLOW_JOIN_PENDING)
        return false;
    if (row->cancel_remaining && has_open_edges(&row->join_row)) {
        row->cancel_us = now_us;
        weir_pending_wakeups_note_due(pending_wakeups, WEIR_DUE_SIBLINGS, now_us);
    }
    return true;
}

static bool is_over(const struct weir_resolution *self, int64_t no)
{
    size_t at = weir_numbers_find(self->over, self->over_count, no);

    return at < self->over_count && self->over[at] == no;
}

/* What a decided group makes of the execution that it leads to. */
static bool follow(const struct weir_join_row *join_row, struct weir_change *change,
                   int64_t now_us)
{
    struct weir_execution_row *row = &change->stored->row;
    enum weir_ruling ruling =
        join_row->state == WEIR_FLOW_JOIN_SATISFIED
            ? weir_rule_unblock(row, WEIR_HOLD_DEPENDENCIES, now_us, &change->consequence)
            : weir_rule_skip(row, now_us, &change->consequence);
    return ruling == WEIR_RULING_DONE;
}

static enum weir_status apply(struct weir_resolution *self,
                              const struct weir_join_rows *join_rows,
                              const int64_t *decided, size_t count,
                              struct weir_error *error)
{
    const struct weir_heap *heap = self->unit.executions->heap;
    struct weir_change *changes;
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    status = weir_store_load(&self->unit.executions->store, self->unit.connection,
                             decided, count, &self->records, error);
    if (status != WEIR_OK)
        return status;
    changes = weir_heap_resize(heap, self->changes,
                               (self->records.count + 1) * sizeof *changes);
    if (changes == NULL)
        return weir_no_memory_for(error, "what follows in a flow");
    self->changes = changes;
    for (size_t i = 0; i < self->records.count; i++) {
        struct weir_change change = {.stored = &self->records.rows[i]};

        if (follow(weir_joins_find(join_rows, change.stored->row.no), &change,
                   self->unit.now_us))
            self->changes[self->count++] = change;
    }
    return WEIR_OK;
}

enum weir_status weir_resolution_decide(struct weir_resolution *self,
                                        const struct weir_edge_rows *edges,
                                        struct weir_error *error)
{
    struct weir_join_rows join_rows;
    int64_t *decided;
    size_t count = 0;
    enum weir_status status = lock_joins(self, edges, &join_rows, error);

    for (size_t i = 0; i < edges->count && status == WEIR_OK; i++)
        status = count_edge(self, &join_rows, &edges->rows[i], error);
    if (status != WEIR_OK)
        return status;
    decided = weir_arena_alloc(&self->arena, (join_rows.count + 1) * sizeof *decided);
    if (decided == NULL)
        return weir_no_memory_for(error, "what follows in a flow");
    for (size_t i = 0; i < join_rows.count; i++) {
        if (decide(&join_rows.rows[i], self->unit.now_us, self->unit.wakeups) &&
            !is_over(self, join_rows.rows[i].downstream)) /* I3 */
            decided[count++] = join_rows.rows[i].downstream;
    }
    status = weir_joins_write(self->unit.connection, join_rows.rows, join_rows.count,
                              self->unit.commit_batch, error);
    return status == WEIR_OK ? apply(self, &join_rows, decided, count, error) : status;
}

/* ---- one level --------------------------------------------------------------------- */

/* What was not passed on is passed on now: what has succeeded since, when its edge was
 * over; and what had succeeded when nothing could come of it any more. Of the latter
 * it is unknown when it was, so with it comes what was passed on in time. */
static enum weir_status pass_later(struct weir_connection *connection,
                                   const struct weir_join_row *join_row,
                                   const struct weir_edge_rows *before,
                                   const struct weir_edge_rows *after,
                                   struct weir_error *error)
{
    bool decided = join_row->state != WEIR_FLOW_JOIN_PENDING;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < after->count && i < before->count && status == WEIR_OK; i++) {
        const struct weir_edge_row *edge = &after->rows[i];

        if (edge->passes_data && edge->state == WEIR_EDGE_SUCCEEDED &&
            (decided || before->rows[i].state != WEIR_EDGE_SUCCEEDED))
            status = weir_edge_pass_data(connection, edge, error);
    }
    return status;
}

/* Its edges that had not succeeded wait again; those whose upstream was replayed before
 * it, and has succeeded now, do not. */
static enum weir_status reopen_edges(struct weir_resolution *self,
                                     struct weir_join_row *join_row,
                                     struct weir_error *error)
{
    struct weir_edge_rows before = {.count = 0};
    struct weir_edge_rows edges = {.count = 0};
    enum weir_status status = weir_edges_to(self->unit.connection, join_row->downstream,
                                            &self->arena, &before, error);

    if (status == WEIR_OK)
        status = weir_edges_reopen(self->unit.connection, join_row->downstream, error);
    if (status == WEIR_OK)
        status = weir_edges_to(self->unit.connection, join_row->downstream, &self->arena,
                               &edges, error);
    if (status == WEIR_OK)
        status = pass_later(self->unit.connection, join_row, &before, &edges, error);
    if (status != WEIR_OK)
        return status;
    join_row->state = WEIR_FLOW_JOIN_PENDING;
    join_row->cancel_us = 0;
    join_row->join_row.succeeded = join_row->join_row.failed =
        join_row->join_row.skipped = 0;
    for (size_t i = 0; i < edges.count; i++) {
        if (edges.rows[i].state != WEIR_EDGE_OPEN)
            weir_join_count(&join_row->join_row, edges.rows[i].state);
    }
    status = weir_joins_write(self->unit.connection, join_row, 1, self->unit.commit_batch,
                              error);
    return status == WEIR_OK ? weir_commit_batch_send(self->unit.commit_batch,
                                                      self->unit.connection, error)
                             : status;
}

/* It waits for nothing. */
static enum weir_status let_go(struct weir_resolution *self, int64_t no,
                               struct weir_error *error)
{
    struct weir_join_row satisfied = {.downstream = no,
                                      .state = WEIR_FLOW_JOIN_SATISFIED};
    const struct weir_join_rows join_rows = {.rows = &satisfied, .count = 1};

    return apply(self, &join_rows, &no, 1, error);
}

/* One that had never begun begins anew: it waits as before, if what it waited for was
 * not enough. */
static enum weir_status wait_again(struct weir_resolution *self,
                                   const struct weir_change *change,
                                   struct weir_error *error)
{
    int64_t no = change->stored->row.no;
    struct weir_edge_row none = {.downstream = no, .state = WEIR_EDGE_OPEN};
    struct weir_edge_rows edges = {&none, 1, 1};
    struct weir_join_rows join_rows;
    enum weir_status status =
        weir_joins_lock(self->unit.connection, &no, 1, &self->arena, &join_rows, error);

    if (status != WEIR_OK)
        return status;
    if (join_rows.count == 0 || join_rows.rows[0].join_row.total == 0 ||
        join_rows.rows[0].state == WEIR_FLOW_JOIN_SATISFIED)
        return let_go(self, no, error);
    status = reopen_edges(self, &join_rows.rows[0], error);
    return status == WEIR_OK ? weir_resolution_decide(self, &edges, error) : status;
}

static enum weir_status list_ends(struct weir_resolution *self,
                                  const struct weir_change *changes, size_t count,
                                  struct weir_upstream_end **out, size_t *out_count,
                                  struct weir_error *error)
{
    struct weir_upstream_end *ends =
        weir_arena_alloc(&self->arena, (count + 1) * sizeof *ends);

    *out = ends;
    *out_count = 0;
    self->over = weir_arena_alloc(&self->arena, (count + 1) * sizeof *self->over);
    self->over_count = 0;
    if (ends == NULL || self->over == NULL)
        return weir_no_memory_for(error, "what follows in a flow");
    for (size_t i = 0; i < count; i++) {
        const struct weir_execution_row *row = &changes[i].stored->row;

        if (row->flow_no == 0 || !has_ended(&changes[i]))
            continue;
        ends[(*out_count)++] = (struct weir_upstream_end){
            row->no, weir_edge_state_of(row->state), row->epoch};
        self->over[self->over_count++] = row->no;
    }
    self->over_count = weir_numbers_unique(self->over, self->over_count);
    return WEIR_OK;
}

static bool any_begins_anew(const struct weir_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (begins_anew(&changes[i]))
            return true;
    }
    return false;
}

/* Those that were blocked again. */
static enum weir_status reopen_all(struct weir_resolution *self,
                                   const struct weir_change *changes, size_t count,
                                   struct weir_error *error)
{
    enum weir_status status =
        weir_commit_batch_send(self->unit.commit_batch, self->unit.connection, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (begins_anew(&changes[i]) && changes[i].stored->row.state == WEIR_EXEC_BLOCKED)
            status = wait_again(self, &changes[i], error);
    }
    return status;
}

enum weir_status weir_resolution_step(struct weir_resolution *self,
                                      const struct weir_change *changes, size_t count,
                                      struct weir_error *error)
{
    /* Never of a level of our own, whose changes go when the next come. */
    bool anew = any_begins_anew(changes, count);
    struct weir_upstream_end *ends;
    struct weir_edge_rows edges = {.count = 0};
    size_t end_count = 0;
    enum weir_status status = list_ends(self, changes, count, &ends, &end_count, error);

    self->count = 0;
    if (status == WEIR_OK)
        status = weir_edges_resolve(self->unit.connection, ends, end_count,
                                    self->edges_max, &self->arena, &edges, error);
    self->edges += edges.count;
    if (status == WEIR_OK && edges.count == self->edges_max)
        weir_pending_wakeups_note_due(self->unit.wakeups, WEIR_DUE_EDGES,
                                      self->unit.now_us);
    if (status == WEIR_OK && edges.count > 0)
        status = weir_resolution_decide(self, &edges, error);
    return status == WEIR_OK && anew ? reopen_all(self, changes, count, error) : status;
}
