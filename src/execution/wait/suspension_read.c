/*
 * suspension_read.c - what an execution waits for, and how far it is.
 *
 * Nothing is locked: what has come is counted a moment after the suspension was looked
 * at. The connection is given back before any callback: a visit may use the
 * engine.
 */
#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "db/db.h"
#include "execution/executions.h"
#include "execution/wait/wait_store.h"

enum { ARENA_SIZE_MAX = 32 * 1024 * 1024, TEXT_SIZE_MAX = 64 * 1024 };

/* One call. */
struct look {
    struct weir_executions *executions;
    const struct weir_execution_id *id;
    struct weir_arena arena;
    struct weir_suspension_row row;
    struct weir_suspension_standing standing;
    struct weir_waitpoint_rows waitpoints;
    struct weir_condition *condition;
    struct weir_signal_seen *seen;
    size_t seen_count;
    size_t seen_room;
    struct weir_condition_info *parts;
};

/* ---- what has come ----------------------------------------------------------------- */

/* Of this suspension: one that was made after it began is for the next. */
static bool is_its_waitpoint(const struct look *self, const uint8_t *uuid)
{
    enum weir_waitpoint_state state =
        self->row.ended_us == 0 ? WEIR_WAITPOINT_ACTIVE : WEIR_WAITPOINT_CLOSED;

    for (size_t i = 0; i < self->waitpoints.count; i++) {
        const struct weir_waitpoint_row *row = &self->waitpoints.rows[i];

        if (memcmp(row->uuid, uuid, WEIR_UUID_SIZE) == 0)
            return row->state == state && row->created_us <= self->row.since_us;
    }
    return false;
}

static enum weir_status gather(void *state, const struct weir_signal_row *row,
                               struct weir_error *error)
{
    struct look *self = state;

    if (self->seen_count == self->seen_room || !is_its_waitpoint(self, row->waitpoint))
        return WEIR_OK;
    return weir_signal_see(&self->arena, row, &self->seen[self->seen_count++], error);
}

static enum weir_status gather_all(struct look *self, struct weir_connection *connection,
                                   struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status = weir_waitpoints_read(connection, self->row.no, &self->arena,
                                                   &self->waitpoints, error);

    if (status == WEIR_OK)
        status = weir_signals_count(connection, self->row.no, &count, error);
    if (status != WEIR_OK)
        return status;
    self->seen_room = (size_t)count;
    self->seen =
        weir_arena_alloc(&self->arena, (self->seen_room + 1) * sizeof *self->seen);
    if (self->seen == NULL)
        return weir_no_memory_for(error, "a suspension");
    return weir_signals_visit(connection, self->row.no, WEIR_SIGNALS_BARE, gather, self,
                              error);
}

static enum weir_status read_all(struct look *self, struct weir_connection *connection,
                                 struct weir_error *error)
{
    struct weir_execution_records records;
    int64_t no = 0;
    enum weir_status status;

    weir_execution_records_init(&records, self->executions->heap, 1);
    status =
        weir_store_get(&self->executions->store, connection, self->id, &records, error);
    if (status == WEIR_OK)
        no = records.rows[0].row.no;
    weir_execution_records_fini(&records);
    if (status == WEIR_OK)
        status = weir_wait_store_look(connection, no, &self->arena, &self->row,
                                      &self->standing, error);
    if (status == WEIR_NO_ROW)
        return weir_error_set(error, WEIR_NO_ROW, "it has never been suspended");
    return status == WEIR_OK ? gather_all(self, connection, error) : status;
}

/* ---- how far it is ----------------------------------------------------------------- */

static enum weir_status describe_part(struct look *self, uint32_t index,
                                      struct weir_buf *text, struct weir_buf *missing,
                                      struct weir_error *error)
{
    const struct weir_condition_part *part = &self->condition->parts[index];
    struct weir_condition_info *out = &self->parts[index];

    weir_buf_reset(text);
    weir_condition_write(self->condition, part, text);
    *out = (struct weir_condition_info){
        .text = weir_arena_copy_text(&self->arena, weir_buf_text(text)),
        .wanted = part->wanted,
        .found =
            weir_condition_found(self->condition, part, self->seen, self->seen_count),
    };
    if (out->text == NULL || weir_buf_status(text) != WEIR_OK)
        return weir_no_memory_for(error, "a suspension");
    if (out->found == out->wanted)
        return WEIR_OK;
    weir_buf_append_text(missing, missing->size > 0 ? "; " : "");
    weir_condition_write_missing(self->condition, part, out->found, missing);
    return WEIR_OK;
}

static enum weir_status describe(struct look *self, struct weir_buf *missing,
                                 struct weir_error *error)
{
    struct weir_buf text;
    enum weir_status status;

    self->condition = weir_arena_alloc(&self->arena, sizeof *self->condition);
    if (self->condition == NULL)
        return weir_no_memory_for(error, "a suspension");
    status = weir_condition_parse(self->condition, self->row.condition, error);
    if (status != WEIR_OK)
        return status;
    self->parts =
        weir_arena_alloc(&self->arena, self->condition->part_count * sizeof *self->parts);
    if (self->parts == NULL)
        return weir_no_memory_for(error, "a suspension");
    weir_buf_init(&text, self->executions->heap, TEXT_SIZE_MAX);
    for (uint32_t i = 0; i < self->condition->part_count && status == WEIR_OK; i++)
        status = describe_part(self, i, &text, missing, error);
    weir_buf_fini(&text);
    if (status == WEIR_OK && weir_buf_status(missing) != WEIR_OK)
        status = weir_no_memory_for(error, "a suspension");
    return status;
}

static bool is_escalated(const struct look *self)
{
    return self->row.ended_us == 0 && self->standing.suspended &&
           self->standing.on_timeout == WEIR_TIMEOUT_ESCALATE &&
           self->row.timeout_us > 0 && self->standing.due_us == 0;
}

static enum weir_status show(struct look *self, weir_suspension_visit_fn visit,
                             void *state, struct weir_error *error)
{
    struct weir_suspension_info info;
    struct weir_buf missing, until;
    enum weir_status status;

    weir_buf_init(&missing, self->executions->heap, TEXT_SIZE_MAX);
    weir_buf_init(&until, self->executions->heap, TEXT_SIZE_MAX);
    status = describe(self, &missing, error);
    weir_buf_append(&until, self->row.condition.data, self->row.condition.size);
    if (status == WEIR_OK && weir_buf_status(&until) != WEIR_OK)
        status = weir_no_memory_for(error, "a suspension");
    if (status == WEIR_OK) {
        info = (struct weir_suspension_info){
            .until = weir_buf_text(&until),
            .reason = self->row.reason,
            .since_us = self->row.since_us,
            .ended_us = self->row.ended_us,
            .timeout_us = self->row.timeout_us,
            .on_timeout = self->standing.on_timeout,
            .escalated = is_escalated(self),
            .resume_delay_ms = self->row.resume_delay_us / 1000,
            .missing = weir_buf_text(&missing),
            .parts = self->parts,
            .part_count = self->condition->part_count,
        };
        visit(state, &info);
    }
    weir_buf_fini(&until);
    weir_buf_fini(&missing);
    return status;
}

enum weir_status weir_execution_suspension(struct weir_executions *self,
                                           const struct weir_execution_id *id,
                                           weir_suspension_visit_fn visit, void *state,
                                           struct weir_error *error)
{
    struct look look = {.executions = self, .id = id};
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_execution_check_given("id", id != NULL, error);

    if (status == WEIR_OK)
        status = weir_execution_check_given("visit", visit != NULL, error);
    if (status != WEIR_OK)
        return status;
    weir_arena_init(&look.arena, self->heap, ARENA_SIZE_MAX);
    status = weir_db_acquire(self->db, &connection, error);
    if (status == WEIR_OK)
        status = read_all(&look, connection, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_NOT_FOUND || status == WEIR_NO_ROW)
        weir_execution_prefix_id(error, id);
    if (status == WEIR_OK)
        status = show(&look, visit, state, error);
    weir_arena_fini(&look.arena);
    return status;
}
