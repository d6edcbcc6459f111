/*
 * read.c - what there is to know about executions. Nothing is locked, and no transaction
 * waits.
 */
#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/db.h"
#include "execution/draft.h"
#include "execution/executions.h"
#include "outbox/names.h"

enum { PAGE_MAX = 1000, INFO_TEXTS_MAX = 16384 };

/* ---- executions -------------------------------------------------------------------- */

/* With a zero behind it. Without memory it is "", and *failed. */
static const char *text_of(struct weir_arena *arena, struct weir_str text, bool *failed)
{
    char *copy;

    if (text.size == 0)
        return "";
    copy = weir_arena_copy(arena, text);
    *failed = *failed || copy == NULL;
    return copy != NULL ? copy : "";
}

/* Of a set of capabilities, ",gpu,linux,", without the commas around it. */
static struct weir_str without_ends(struct weir_str set)
{
    return set.size > 2 ? (struct weir_str){set.data + 1, set.size - 2} : weir_str("");
}

static enum weir_status show(struct weir_arena *arena,
                             const struct weir_execution_record *stored,
                             weir_execution_visit_fn visit, void *state,
                             struct weir_error *error)
{
    const struct weir_execution_row *row = &stored->row;
    bool failed = false;
    const struct weir_execution_info info = {
        .id = row->id,
        .name_space = text_of(arena, stored->name_space, &failed),
        .lane = text_of(arena, stored->lane_name, &failed),
        .kind = text_of(arena, stored->kind, &failed),
        .priority = row->priority,
        .state = weir_state_public(row->state, row->hold, row->pending),
        .blocked_by = weir_state_blocked_by(row->state, row->hold),
        .budget = text_of(arena, stored->budget, &failed),
        .capabilities = text_of(arena, without_ends(stored->needs), &failed),
        .has_flow = stored->has_flow,
        .flow = stored->flow,
        .name = text_of(arena, stored->name, &failed),
        .epoch = row->epoch,
        .attempts = row->attempts,
        .retries = row->retries,
        .reclaims = row->reclaims,
        .replays = row->replays,
        .worker = text_of(arena, row->worker, &failed),
        .instance = text_of(arena, row->instance, &failed),
        .failure = text_of(arena, row->failure, &failed),
        .progress_percent = stored->percent,
        .progress_text = text_of(arena, stored->told, &failed),
        .created_us = stored->created_us,
        .started_us = row->started_us,
        .ended_us = row->ended_us,
        .due_us = row->due_us,
        .lease_us = row->lease_us,
        .attempt_deadline_us = row->attempt_deadline_us,
        .deadline_us = row->deadline_us,
    };

    if (failed)
        return weir_no_memory_for(error, "an execution");
    visit(state, &info);
    return WEIR_OK;
}

static enum weir_status show_all(struct weir_executions *self,
                                 const struct weir_execution_records *records,
                                 weir_execution_visit_fn visit, void *state,
                                 struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    struct weir_arena arena;

    weir_arena_init(&arena, self->heap, INFO_TEXTS_MAX);
    for (size_t i = 0; i < records->count && status == WEIR_OK; i++) {
        weir_arena_reset(&arena);
        status = show(&arena, &records->rows[i], visit, state, error);
    }
    weir_arena_fini(&arena);
    return status;
}

/* The connection is given back before any callback: a visit may use the engine. */
static enum weir_status get(struct weir_executions *self,
                            const struct weir_execution_id *id,
                            struct weir_execution_records *out, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_execution_check_given("id", id != NULL, error);

    if (status == WEIR_OK)
        status = weir_db_acquire(self->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_store_get(&self->store, connection, id, out, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_NOT_FOUND)
        weir_execution_prefix_id(error, id);
    return status;
}

enum weir_status weir_execution_get(struct weir_executions *self,
                                    const struct weir_execution_id *id,
                                    weir_execution_visit_fn visit, void *state,
                                    struct weir_error *error)
{
    struct weir_execution_records records;
    enum weir_status status = weir_execution_check_given("visit", visit != NULL, error);

    weir_execution_records_init(&records, self->heap, 1);
    if (status == WEIR_OK)
        status = get(self, id, &records, error);
    if (status == WEIR_OK)
        status = show_all(self, &records, visit, state, error);
    weir_execution_records_fini(&records);
    return status;
}

/* Empty is any. */
static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static enum weir_status check_filter_tag(const struct weir_execution_filter *filter,
                                         struct weir_error *error)
{
    if (!is_given(filter->tag_key))
        return is_given(filter->tag_value)
                   ? weir_error_set(error, WEIR_INVALID,
                                    "tag_value is given, must come with tag_key")
                   : WEIR_OK;
    if (filter->tag_value == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "tag_value is NULL, must come with tag_key");
    return weir_tag_check(filter->tag_key, filter->tag_value, error);
}

static enum weir_status check_filter_texts(const struct weir_execution_filter *filter,
                                           struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (is_given(filter->name_space))
        status = weir_printable_check("namespace", filter->name_space,
                                      WEIR_NAMESPACE_SIZE_MAX, error);
    if (status == WEIR_OK && is_given(filter->lane))
        status = weir_printable_check("lane", filter->lane, WEIR_LANE_SIZE_MAX, error);
    if (status == WEIR_OK && is_given(filter->kind))
        status = weir_printable_check("kind", filter->kind, WEIR_KIND_SIZE_MAX, error);
    return status == WEIR_OK ? check_filter_tag(filter, error) : status;
}

static enum weir_status check_filter(const struct weir_execution_filter *filter,
                                     struct weir_error *error)
{
    if (filter->count < 1 || filter->count > PAGE_MAX)
        return weir_error_set(error, WEIR_INVALID, "count is %zu, must be from 1 to %d",
                              filter->count, PAGE_MAX);
    if (filter->states >= 1U << WEIR_STATE_COUNT)
        return weir_error_set(error, WEIR_INVALID,
                              "states is %#" PRIx32 ", must be below %#x", filter->states,
                              1U << WEIR_STATE_COUNT);
    if (filter->before < 0)
        return weir_error_set(error, WEIR_INVALID,
                              "before is %" PRId64 ", must be 0 or the next of a page",
                              filter->before);
    return check_filter_texts(filter, error);
}

enum weir_status weir_execution_list(struct weir_executions *self,
                                     const struct weir_execution_filter *filter,
                                     weir_execution_visit_fn visit, void *state,
                                     int64_t *next, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_execution_records records;
    enum weir_status status = weir_execution_check_given("filter", filter != NULL, error);

    *next = 0;
    if (status == WEIR_OK)
        status = weir_execution_check_given("visit", visit != NULL, error);
    if (status == WEIR_OK)
        status = check_filter(filter, error);
    if (status != WEIR_OK)
        return status;
    weir_execution_records_init(&records, self->heap, filter->count);
    status = weir_db_acquire(self->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_store_list(&self->store, connection, filter, &records, next, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_OK)
        status = show_all(self, &records, visit, state, error);
    weir_execution_records_fini(&records);
    return status;
}

/* ---- attempts ---------------------------------------------------------------------- */

struct attempt_visit {
    weir_attempt_visit_fn visit;
    void *state;
    int32_t next; /* number of the next one to be returned */
};

static const char *copy_text(struct weir_str text, char *out, size_t size)
{
    if (text.size >= size)
        text.size = size - 1;
    if (text.size > 0)
        memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return out;
}

static void tell(void *state, const struct weir_ended_attempt *attempt)
{
    struct attempt_visit *self = state;
    char worker[WEIR_INSTANCE_SIZE_MAX + 1];
    char instance[WEIR_INSTANCE_SIZE_MAX + 1];
    char failure[WEIR_FAILURE_SIZE_MAX + 1];
    const struct weir_attempt_info info = {
        .number = attempt->number,
        .type = attempt->type,
        .outcome = attempt->outcome,
        .worker = copy_text(attempt->worker, worker, sizeof worker),
        .instance = copy_text(attempt->instance, instance, sizeof instance),
        .failure = copy_text(attempt->failure, failure, sizeof failure),
        .epoch = attempt->epoch,
        .started_us = attempt->started_us,
        .ended_us = attempt->ended_us,
    };

    self->next = attempt->number + 1;
    self->visit(self->state, &info);
}

/* The one that runs, or waits to go on, is in the row. It may have ended since the row
 * was read, and was returned then. */
static void tell_running(struct attempt_visit *self, const struct weir_execution_row *row)
{
    const struct weir_ended_attempt running = {
        .number = row->attempts - 1,
        .type = row->attempt_type,
        .outcome = WEIR_OUTCOME_RUNNING,
        .epoch = row->state == WEIR_EXEC_ACTIVE ? row->epoch : row->settled_epoch,
        .started_us = row->claimed_us,
        .worker = row->worker,
        .instance = row->instance,
    };

    if (weir_state_has_attempt(row->state, row->pending) && running.number >= self->next)
        tell(self, &running);
}

enum weir_status weir_execution_attempts(struct weir_executions *self,
                                         const struct weir_execution_id *id,
                                         weir_attempt_visit_fn visit, void *state,
                                         struct weir_error *error)
{
    struct attempt_visit attempt_visit = {.visit = visit, .state = state};
    struct weir_connection *connection = NULL;
    struct weir_execution_records records;
    enum weir_status status = weir_execution_check_given("visit", visit != NULL, error);

    weir_execution_records_init(&records, self->heap, 1);
    if (status == WEIR_OK)
        status = get(self, id, &records, error);
    if (status == WEIR_OK)
        status = weir_db_acquire(self->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_store_visit_attempts(connection, records.rows[0].row.no, tell,
                                           &attempt_visit, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_SCHEMA && records.count > 0)
        weir_execution_prefix_id(error, id);
    if (status == WEIR_OK)
        tell_running(&attempt_visit, &records.rows[0].row);
    weir_execution_records_fini(&records);
    return status;
}

/* ---- results ----------------------------------------------------------------------- */

/* Whatever becomes of the execution meanwhile: both are of the same moment. */
static enum weir_status load_result(struct weir_executions *self,
                                    const struct weir_execution_id *id,
                                    struct weir_execution_records *out,
                                    struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_execution_check_given("id", id != NULL, error);

    if (status == WEIR_OK)
        status = weir_db_acquire(self->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_store_get_result(connection, id, out, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_NOT_FOUND)
        weir_execution_prefix_id(error, id);
    return status;
}

static enum weir_status copy_result(struct weir_executions *self, struct weir_str result,
                                    void **out, size_t *size, struct weir_error *error)
{
    if (result.size == 0)
        return WEIR_OK;
    *out = weir_heap_alloc(self->heap, result.size);
    if (*out == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "a result of %zu %s", result.size,
                              WEIR_NOUN(result.size, "byte", "bytes"));
    memcpy(*out, result.data, result.size);
    *size = result.size;
    return WEIR_OK;
}

enum weir_status weir_execution_result(struct weir_executions *self,
                                       const struct weir_execution_id *id, void **out,
                                       size_t *size, struct weir_error *error)
{
    struct weir_execution_records records;
    enum weir_status status;

    *out = NULL;
    *size = 0;
    weir_execution_records_init(&records, self->heap, 1);
    weir_execution_records_allow_inputs(&records, 1);
    status = load_result(self, id, &records, error);
    if (status == WEIR_OK && records.rows[0].row.state != WEIR_EXEC_SUCCEEDED)
        status = WEIR_NO_ROW;
    if (status == WEIR_OK)
        status = copy_result(self, records.rows[0].input, out, size, error);
    weir_execution_records_fini(&records);
    return status;
}
