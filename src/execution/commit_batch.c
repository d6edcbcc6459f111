/*
 * commit_batch.c - see commit_batch.h.
 */
#include "execution/commit_batch.h"

#include <string.h>

#include "base/assert.h"
#include "base/heap.h"
#include "base/no_memory.h"

enum weir_status weir_commit_batch_create(const struct weir_heap *heap,
                                          struct weir_commit_batch **out,
                                          struct weir_error *error)
{
    struct weir_commit_batch *self = weir_heap_zalloc(heap, sizeof *self);

    *out = self;
    if (self == NULL)
        return weir_no_memory_for(error, "statements");
    self->heap = heap;
    return WEIR_OK;
}

static void empty(struct weir_commit_batch *self)
{
    for (size_t i = 0; i < self->step_count; i++) {
        if (self->tables[i].cells != NULL)
            weir_columns_fini(&self->tables[i]);
    }
    self->step_count = 0;
    self->value_count = 0;
}

void weir_commit_batch_destroy(struct weir_commit_batch *self)
{
    if (self == NULL)
        return;
    empty(self);
    if (self->kept != NULL)
        self->release(self->kept);
    weir_heap_free(self->heap, self);
}

/* Where its values go. */
static struct weir_value *add_step(struct weir_commit_batch *self,
                                   const struct weir_sql *sql, size_t value_count)
{
    struct weir_value *values = &self->values[self->value_count];

    WEIR_ASSERT(self->step_count < WEIR_COMMIT_BATCH_STEPS_MAX &&
                value_count <= WEIR_COMMIT_BATCH_VALUES_MAX - self->value_count);
    self->steps[self->step_count] = (struct weir_step){sql, values, value_count, 0};
    self->tables[self->step_count++] = (struct weir_columns){.cells = NULL};
    self->value_count += value_count;
    return values;
}

void weir_commit_batch_add_table(struct weir_commit_batch *self,
                                 const struct weir_sql *sql, struct weir_columns *table,
                                 const enum weir_type *types, size_t width)
{
    struct weir_value *values = add_step(self, sql, width);

    for (size_t i = 0; i < width; i++)
        values[i] = weir_columns_array(table, i, types[i], 0, table->row_count);
    self->tables[self->step_count - 1] = *table;
    table->cells = NULL;
}

void weir_commit_batch_add(struct weir_commit_batch *self, const struct weir_sql *sql,
                           const struct weir_value *values, size_t value_count)
{
    memcpy(add_step(self, sql, value_count), values, value_count * sizeof *values);
}

enum weir_status weir_commit_batch_make_room(struct weir_commit_batch *self,
                                             struct weir_connection *connection,
                                             size_t step_count, size_t value_count,
                                             struct weir_error *error)
{
    if (step_count <= WEIR_COMMIT_BATCH_STEPS_MAX - self->step_count &&
        value_count <= WEIR_COMMIT_BATCH_VALUES_MAX - self->value_count)
        return WEIR_OK;
    return weir_commit_batch_send(self, connection, error);
}

enum weir_status weir_commit_batch_put(struct weir_commit_batch *self,
                                       struct weir_connection *connection,
                                       const struct weir_sql *sql,
                                       const struct weir_value *values,
                                       size_t value_count, struct weir_error *error)
{
    enum weir_status status;

    if (self == NULL || weir_connection_traits(connection)->in_process)
        return weir_connection_execute(connection, sql, values, value_count, NULL, error);
    status = weir_commit_batch_make_room(self, connection, 1, value_count, error);
    if (status == WEIR_OK)
        weir_commit_batch_add(self, sql, values, value_count);
    return status;
}

void weir_commit_batch_keep(struct weir_commit_batch *self, void *thing,
                            void (*release)(void *thing))
{
    WEIR_ASSERT(self->kept == NULL);
    self->kept = thing;
    self->release = release;
}

enum weir_status weir_commit_batch_send(struct weir_commit_batch *self,
                                        struct weir_connection *connection,
                                        struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (self->step_count > 0)
        status = weir_connection_execute_steps(connection, self->steps, self->step_count,
                                               error);
    empty(self);
    return status;
}

static void release(void *state)
{
    weir_commit_batch_destroy(state);
}

void weir_commit_batch_attach(struct weir_commit_batch *self,
                              struct weir_connection *connection)
{
    if (self->step_count > 0)
        weir_connection_end_with(connection, self->steps, self->step_count, release,
                                 self);
    else
        weir_commit_batch_destroy(self);
}
