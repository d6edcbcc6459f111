/*
 * gather.c - see gather.h.
 *
 *   rows with one data edge     results -> own inputs of those without one
 *   rows with several           own inputs, results -> composed
 *
 * Either way it is at most two statements for all of them on PostgreSQL, but for very
 * many.
 */
#include "execution/flow/gather.h"

#include "base/fault_point.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "db/db.h"
#include "execution/executions.h"
#include "execution/flow/composition.h"
#include "execution/flow/passed.h"

enum {
    SINGLE_ROWS =
        250,         /* of members with one result, whose results are in memory at once */
    CHUNK_ROWS = 16, /* of members with several, likewise */
    TOGETHER_SIZE_MAX = 64 * 1024 * 1024 /* for more than that, claim again */
};

/* Rows with one data edge, or those with several. */
struct gather_call {
    struct weir_executions *executions;
    struct weir_connection *connection;
    struct weir_execution_records *records;
    struct weir_execution_record **rows; /* owned */
    int64_t *nos;                        /* owned: theirs */
    size_t count;
    size_t size; /* of what was composed */
};

/* Of some rows. */
struct chunk {
    struct weir_composition compositions[CHUNK_ROWS];
};

static bool is_wanted(const struct weir_execution_record *stored, bool several)
{
    return several ? stored->data_edges > 1 : stored->data_edges == 1;
}

static size_t count_wanted(const struct weir_execution_records *records, bool several)
{
    size_t count = 0;

    for (size_t i = 0; i < records->count; i++)
        count += is_wanted(&records->rows[i], several);
    return count;
}

static enum weir_status list_rows(struct gather_call *self, bool several, size_t count,
                                  struct weir_error *error)
{
    const struct weir_heap *heap = self->executions->heap;

    self->rows = weir_heap_zalloc_array(heap, count, sizeof *self->rows);
    self->nos = weir_heap_zalloc_array(heap, count, sizeof *self->nos);
    if (self->rows == NULL || self->nos == NULL)
        return weir_no_memory_for(error, "results");
    for (size_t i = 0; i < self->records->count; i++) {
        struct weir_execution_record *stored = &self->records->rows[i];

        if (!is_wanted(stored, several))
            continue;
        self->nos[self->count] = stored->row.no;
        self->rows[self->count++] = stored;
    }
    return WEIR_OK;
}

/* A copy that lives as long as the rows, which had no room for it yet. */
static enum weir_status keep(struct gather_call *self,
                             struct weir_execution_record *stored, struct weir_str bytes,
                             struct weir_error *error)
{
    self->records->texts.size_max += bytes.size;
    stored->input = bytes;
    return weir_execution_records_copy(self->records, &stored->input, error);
}

/* ---- own inputs -------------------------------------------------------------------- */

static enum weir_status keep_own(void *state, const struct weir_work_input *input,
                                 struct weir_error *error)
{
    struct gather_call *self = state;

    return keep(self, self->rows[input->index], input->input, error);
}

/* Of those that are not gathered yet, which come first afterwards. */
static enum weir_status read_own(struct gather_call *self, struct weir_error *error)
{
    size_t count = 0;

    if (self->records->inputs)
        return WEIR_OK;
    for (size_t i = 0; i < self->count; i++) {
        if (self->rows[i]->gathered)
            continue;
        self->nos[count] = self->nos[i];
        self->rows[count++] = self->rows[i];
    }
    return weir_store_visit_inputs(&self->executions->store, self->connection, self->nos,
                                   count, keep_own, self, error);
}

/* ---- one --------------------------------------------------------------------------- */

static enum weir_status keep_result(void *state, const struct weir_passed *passed,
                                    struct weir_error *error)
{
    struct gather_call *self = state;
    struct weir_execution_record *stored = self->rows[passed->index];

    if (passed->result.size == 0)
        return WEIR_OK;
    stored->gathered = true;
    return keep(self, stored, passed->result, error);
}

static enum weir_status gather_one(struct gather_call *self, struct weir_error *error)
{
    const struct weir_passed_limits limits = {WEIR_RESULT_SIZE_MAX, SINGLE_ROWS};
    enum weir_status status =
        weir_passed_visit(&self->executions->store, self->connection, self->nos,
                          self->count, &limits, keep_result, self, error);

    if (status == WEIR_OK)
        status = read_own(self, error);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        self->rows[i]->gathered = true;
    return status;
}

/* ---- several ----------------------------------------------------------------------- */

static enum weir_status add_result(void *state, const struct weir_passed *passed,
                                   struct weir_error *error)
{
    struct chunk *chunk = state;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_str name = passed->name.size > 0
                               ? passed->name
                               : weir_str(weir_execution_id_format(&passed->from, id));

    (void)error; /* what fails is reported when it is finished */
    weir_composition_add(&chunk->compositions[passed->index], name, passed->result);
    return WEIR_OK;
}

static enum weir_status finish_one(struct gather_call *self,
                                   const struct weir_composition *composition,
                                   struct weir_execution_record *stored,
                                   struct weir_error *error)
{
    struct weir_buf text;
    enum weir_status status;

    weir_buf_init(&text, self->executions->heap, WEIR_JOINED_SIZE_MAX);
    status = weir_composition_finish(composition, stored->input, &text);
    stored->too_large = status == WEIR_TOO_LARGE;
    stored->gathered = status == WEIR_OK;
    self->size += text.size;
    if (status == WEIR_OK)
        status = keep(self, stored, weir_buf_get(&text), error);
    else if (status == WEIR_TOO_LARGE)
        status = WEIR_OK;
    else
        status = weir_no_memory_for(error, "results");
    weir_buf_fini(&text);
    return status;
}

static enum weir_status gather_chunk(struct gather_call *self, size_t begin, size_t count,
                                     struct weir_error *error)
{
    const struct weir_passed_limits limits = {WEIR_JOINED_SIZE_MAX, CHUNK_ROWS};
    struct chunk chunk;
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        weir_composition_init(&chunk.compositions[i], self->executions->heap,
                              WEIR_JOINED_SIZE_MAX);
    status =
        weir_passed_visit(&self->executions->store, self->connection, self->nos + begin,
                          count, &limits, add_result, &chunk, error);
    for (size_t i = 0; i < count; i++) {
        if (status == WEIR_OK)
            status =
                finish_one(self, &chunk.compositions[i], self->rows[begin + i], error);
        weir_composition_fini(&chunk.compositions[i]);
    }
    return status;
}

/* Of what is in memory already. */
static bool is_enough(const struct gather_call *self)
{
    struct weir_fault_points *points = weir_db_config(self->executions->db)->points;
    size_t size_max = WEIR_POINT(points, "gather.little") ? 1 : TOGETHER_SIZE_MAX;

    return self->size >= size_max;
}

static enum weir_status gather_several(struct gather_call *self, struct weir_error *error)
{
    enum weir_status status = read_own(self, error);

    for (size_t begin = 0; begin < self->count && status == WEIR_OK && !is_enough(self);
         begin += CHUNK_ROWS) {
        size_t rest = self->count - begin;

        status = gather_chunk(self, begin, rest < CHUNK_ROWS ? rest : CHUNK_ROWS, error);
    }
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static enum weir_status gather(struct gather_call *self, bool several,
                               struct weir_error *error)
{
    const struct weir_heap *heap = self->executions->heap;
    size_t count = count_wanted(self->records, several);
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    status = list_rows(self, several, count, error);
    if (status == WEIR_OK)
        status = several ? gather_several(self, error) : gather_one(self, error);
    weir_heap_free(heap, self->rows);
    weir_heap_free(heap, self->nos);
    return status;
}

enum weir_status weir_gather(struct weir_executions *executions,
                             struct weir_connection *connection,
                             struct weir_execution_records *records,
                             struct weir_error *error)
{
    struct gather_call one = {executions, connection, records, .count = 0};
    struct gather_call several = {executions, connection, records, .count = 0};
    enum weir_status status = gather(&one, false, error);

    return status == WEIR_OK ? gather(&several, true, error) : status;
}
