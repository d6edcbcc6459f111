/*
 * execution_records.c - see execution_records.h.
 */
#include "execution/store/execution_records.h"

#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "execution/store/dictionary.h"

enum {
    ROWS_FIRST = 16,
    /* Worker, instance, namespace, kind, name, budget, failure, the text of the progress,
     * and capabilities. */
    TEXTS_SIZE_MAX = 6 * WEIR_INSTANCE_SIZE_MAX + 2 * WEIR_FAILURE_SIZE_MAX +
                     WEIR_LANE_SIZE_MAX + WEIR_TERM_SIZE_MAX + 256
};

/* The order of WEIR_EXECUTION_COLUMNS. */
enum column {
    NO,
    UUID,
    PART,
    STATE,
    HOLD,
    PENDING,
    ATTEMPT_TYPE,
    PERCENT,
    LANE,
    CAPABILITY_SET,
    POLICY,
    PRIORITY,
    ATTEMPTS,
    RETRIES,
    RECLAIMS,
    REPLAYS,
    EPOCH,
    SETTLED_EPOCH,
    FLOW,
    CREATED,
    DUE,
    LEASE,
    ATTEMPT_DEADLINE,
    DEADLINE,
    CLAIMED,
    STARTED,
    ENDED,
    NAMESPACE,
    KIND,
    WORKER,
    INSTANCE,
    FAILURE,
    TOLD,
    ON_TIMEOUT,
    BUDGETED,
    SETTLED_AS,
    TURN,
    DATA_EDGES,
    NAME,
    CLOCK, /* from here on: if it is there */
    INPUT,
    TAGGED,
    FLOW_UUID = CLOCK, /* or these two */
    BUDGET = INPUT
};

void weir_execution_records_init(struct weir_execution_records *self,
                                 const struct weir_heap *heap, size_t count_max)
{
    *self = (struct weir_execution_records){.heap = heap, .count_max = count_max};
    weir_arena_init(&self->texts, heap, count_max * (size_t)TEXTS_SIZE_MAX);
}

void weir_execution_records_fini(struct weir_execution_records *self)
{
    weir_arena_fini(&self->texts);
    weir_heap_free(self->heap, self->rows);
    self->rows = NULL;
    self->count = 0;
}

void weir_execution_records_reset(struct weir_execution_records *self)
{
    weir_arena_reset(&self->texts);
    self->count = 0;
    self->clock_us = 0;
    self->inputs = false;
}

void weir_execution_records_allow_inputs(struct weir_execution_records *self,
                                         size_t count)
{
    self->texts.size_max += count * (WEIR_INPUT_SIZE_MAX + (size_t)TEXTS_SIZE_MAX);
}

/* Room for one more. The array doubles. */
static enum weir_status make_room(struct weir_execution_records *self,
                                  struct weir_error *error)
{
    struct weir_execution_record *rows = self->rows;
    size_t count = self->count;

    if (count == self->count_max)
        return weir_error_set(error, WEIR_TOO_LARGE, "more than %zu executions", count);
    if (rows == NULL || (count >= ROWS_FIRST && (count & (count - 1)) == 0)) {
        size_t room = count >= ROWS_FIRST ? count * 2 : ROWS_FIRST;

        rows = weir_heap_resize(self->heap, rows, room * sizeof *rows);
        if (rows == NULL)
            return weir_no_memory_for(error, "%zu %s", room,
                                      WEIR_NOUN(room, "execution", "executions"));
        self->rows = rows;
    }
    return WEIR_OK;
}

enum weir_status weir_execution_records_copy(struct weir_execution_records *self,
                                             struct weir_str *text,
                                             struct weir_error *error)
{
    char *copy;

    if (text->size == 0) {
        *text = weir_str("");
        return WEIR_OK;
    }
    copy = weir_arena_alloc(&self->texts, text->size);
    if (copy == NULL)
        return weir_no_memory_for(error, "texts of executions");
    memcpy(copy, text->data, text->size);
    text->data = copy;
    return WEIR_OK;
}

/* The columns have the names that people see in the table. */
static enum weir_status check_number(const struct weir_execution_record *stored,
                                     const char *what, int64_t number, bool known,
                                     struct weir_error *error)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (known)
        return WEIR_OK;
    return weir_error_set(error, WEIR_SCHEMA,
                          "execution %s has %s %lld, which this library does not know: "
                          "install a newer weir",
                          weir_execution_id_format(&stored->row.id, id), what,
                          (long long)number);
}

static bool within(int64_t number, int64_t last)
{
    return number >= 0 && number <= last;
}

static enum weir_status read_standing(struct weir_execution_record *out,
                                      struct weir_rows *rows, struct weir_error *error)
{
    int64_t state = weir_rows_integer(rows, STATE);
    int64_t hold = weir_rows_integer(rows, HOLD);
    int64_t pending = weir_rows_integer(rows, PENDING);
    int64_t type = weir_rows_integer(rows, ATTEMPT_TYPE);
    int64_t on_timeout = weir_rows_integer(rows, ON_TIMEOUT);
    int64_t settled_as = weir_rows_integer(rows, SETTLED_AS);
    enum weir_status status =
        check_number(out, "state", state, weir_state_is_known(state), error);

    if (status == WEIR_OK)
        status = check_number(out, "hold", hold, weir_hold_is_known(hold), error);
    if (status == WEIR_OK)
        status =
            check_number(out, "pending", pending, weir_pending_is_known(pending), error);
    if (status == WEIR_OK)
        status = check_number(out, "attempt_type", type,
                              within(type, WEIR_ATTEMPT_REPLAY), error);
    if (status == WEIR_OK)
        status = check_number(out, "on_timeout", on_timeout,
                              weir_on_timeout_is_known(on_timeout), error);
    if (status == WEIR_OK)
        status = check_number(out, "settled_as", settled_as,
                              within(settled_as, WEIR_SETTLED_COUNT - 1), error);
    if (status != WEIR_OK)
        return status;
    out->row.settled_as = (enum weir_settled_as)settled_as;
    out->row.on_timeout = (enum weir_on_timeout)on_timeout;
    out->row.state = (enum weir_exec_state)state;
    out->row.hold = (enum weir_hold)hold;
    out->row.pending = (enum weir_pending)pending;
    out->row.attempt_type = (enum weir_attempt_type)type;
    return WEIR_OK;
}

/* What counts is never negative, and small. A number that is would be taken for a very
 * large one. */
static enum weir_status check_counts(const struct weir_execution_record *stored,
                                     struct weir_rows *rows, struct weir_error *error)
{
    static const struct {
        enum column column;
        const char *name;
        int64_t max;
    } COUNTS[] = {
        {ATTEMPTS, "attempts", INT32_MAX},  {RETRIES, "retries", UINT32_MAX},
        {RECLAIMS, "reclaims", UINT32_MAX}, {REPLAYS, "replays", UINT32_MAX},
        {EPOCH, "epoch", INT64_MAX},        {SETTLED_EPOCH, "settled_epoch", INT64_MAX},
    };
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    for (size_t i = 0; i < COUNT_OF(COUNTS); i++) {
        int64_t count = weir_rows_integer(rows, COUNTS[i].column);

        if (!within(count, COUNTS[i].max))
            return weir_error_set(
                error, WEIR_SCHEMA,
                "execution %s has %s %lld, which cannot be: its row is damaged",
                weir_execution_id_format(&stored->row.id, id), COUNTS[i].name,
                (long long)count);
    }
    return WEIR_OK;
}

static enum weir_status read_identity(struct weir_execution_record *out,
                                      struct weir_rows *rows, struct weir_error *error)
{
    struct weir_str uuid = weir_rows_bytes(rows, UUID);

    out->row.no = weir_rows_integer(rows, NO);
    if (uuid.size != WEIR_UUID_SIZE)
        return weir_error_set(error, WEIR_SCHEMA, "execution number %lld has no uuid",
                              (long long)out->row.no);
    memcpy(out->row.id.uuid, uuid.data, WEIR_UUID_SIZE);
    out->row.id.partition = (uint16_t)weir_rows_integer(rows, PART);
    return WEIR_OK;
}

static void read_stats(struct weir_execution_record *out, struct weir_rows *rows)
{
    struct weir_execution_row *row = &out->row;

    out->percent = (int32_t)weir_rows_integer(rows, PERCENT);
    out->budgeted = weir_rows_integer(rows, BUDGETED) != 0;
    out->data_edges = weir_rows_integer(rows, DATA_EDGES);
    out->lane = weir_rows_integer(rows, LANE);
    out->capability_set = weir_rows_integer(rows, CAPABILITY_SET);
    out->policy = weir_rows_integer(rows, POLICY);
    out->created_us = weir_rows_integer(rows, CREATED);
    row->priority = (int32_t)weir_rows_integer(rows, PRIORITY);
    row->attempts = (int32_t)weir_rows_integer(rows, ATTEMPTS);
    row->retries = (uint32_t)weir_rows_integer(rows, RETRIES);
    row->reclaims = (uint32_t)weir_rows_integer(rows, RECLAIMS);
    row->replays = (uint32_t)weir_rows_integer(rows, REPLAYS);
    row->epoch = weir_rows_integer(rows, EPOCH);
    row->settled_epoch = weir_rows_integer(rows, SETTLED_EPOCH);
    row->turn = weir_rows_integer(rows, TURN);
    row->flow_no = weir_rows_integer(rows, FLOW);
    row->due_us = weir_rows_integer(rows, DUE);
    row->lease_us = weir_rows_integer(rows, LEASE);
    row->attempt_deadline_us = weir_rows_integer(rows, ATTEMPT_DEADLINE);
    row->deadline_us = weir_rows_integer(rows, DEADLINE);
    row->claimed_us = weir_rows_integer(rows, CLAIMED);
    row->started_us = weir_rows_integer(rows, STARTED);
    row->ended_us = weir_rows_integer(rows, ENDED);
}

static enum weir_status read_texts(struct weir_execution_records *self,
                                   struct weir_execution_record *out,
                                   struct weir_rows *rows, struct weir_error *error)
{
    struct weir_str *const texts[] = {&out->name_space,  &out->kind,
                                      &out->row.worker,  &out->row.instance,
                                      &out->row.failure, &out->told};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < COUNT_OF(texts) && status == WEIR_OK; i++) {
        *texts[i] = weir_rows_text(rows, NAMESPACE + i);
        status = weir_execution_records_copy(self, texts[i], error);
    }
    out->name = weir_rows_text(rows, NAME);
    return status == WEIR_OK ? weir_execution_records_copy(self, &out->name, error)
                             : status;
}

static enum weir_status read_belongings(struct weir_execution_records *self,
                                        struct weir_execution_record *out,
                                        struct weir_rows *rows, struct weir_error *error)
{
    struct weir_str uuid = weir_rows_bytes(rows, FLOW_UUID);

    out->has_flow = uuid.size == WEIR_UUID_SIZE;
    if (out->has_flow)
        memcpy(out->flow.uuid, uuid.data, WEIR_UUID_SIZE);
    out->budget = weir_rows_text(rows, BUDGET);
    return weir_execution_records_copy(self, &out->budget, error);
}

/* The clock of the last row counts: by then all are locked. */
static enum weir_status read_company(struct weir_execution_records *self,
                                     struct weir_execution_record *out,
                                     struct weir_rows *rows, struct weir_error *error)
{
    size_t count = rows->cursor.column_count;

    if (count == BUDGET + 1)
        return read_belongings(self, out, rows, error);
    if (count > CLOCK)
        self->clock_us = weir_rows_integer(rows, CLOCK);
    if (count <= TAGGED)
        return WEIR_OK;
    self->inputs = true;
    out->tags_known = true;
    out->tagged = weir_rows_boolean(rows, TAGGED);
    if (weir_rows_is_null(rows, INPUT))
        return WEIR_OK;
    out->input = weir_rows_bytes(rows, INPUT);
    return weir_execution_records_copy(self, &out->input, error);
}

enum weir_status weir_execution_records_add(struct weir_execution_records *self,
                                            struct weir_rows *rows,
                                            struct weir_error *error)
{
    struct weir_execution_record *out;
    enum weir_status status = make_room(self, error);

    if (status != WEIR_OK)
        return status;
    out = &self->rows[self->count];
    *out = (struct weir_execution_record){
        .lane_name = weir_str(""), .budget = weir_str(""), .needs = weir_str("")};
    status = read_identity(out, rows, error);
    if (status == WEIR_OK)
        status = read_standing(out, rows, error);
    if (status == WEIR_OK)
        status = check_counts(out, rows, error);
    if (status == WEIR_OK) {
        read_stats(out, rows);
        status = read_texts(self, out, rows, error);
    }
    if (status == WEIR_OK)
        status = read_company(self, out, rows, error);
    if (status == WEIR_OK)
        self->count++;
    return status;
}

enum weir_status weir_execution_records_add_all(struct weir_execution_records *self,
                                                enum weir_status status,
                                                struct weir_rows *rows,
                                                struct weir_error *error)
{
    while (status == WEIR_OK && (status = weir_rows_next(rows, error)) == WEIR_OK)
        status = weir_execution_records_add(self, rows, error);
    weir_rows_close(rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
