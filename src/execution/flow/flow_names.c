/*
 * flow_names.c - names of members of an extension, see flow_extending.h.
 *
 * A unique index has the last word. It is asked first all the same, since what it says
 * when it is violated names no member, and ends the caller's transaction.
 */
#include <string.h>

#include "base/map.h"
#include "base/no_memory.h"
#include "base/quote.h"
#include "db/query.h"
#include "execution/executions.h"
#include "execution/flow/flow_extending.h"
#include "execution/store/store_statements.h"
#include "outbox/columns.h"

/* By the index of names. */
const struct weir_sql_pair weir_flow_sql_named = {
    .one = {.name = "find member by name",
            .text = "SELECT 1, uuid FROM {p}_execution WHERE flow = {1}"
                    " AND name = {2} AND " WEIR_HAS_NAME,
            .parameters = "it"},
    .many = {.name = "find members by name",
             .text = "SELECT u.n, e.uuid FROM unnest({2}) WITH ORDINALITY AS u (name, n)"
                     " CROSS JOIN LATERAL (SELECT uuid FROM {p}_execution k"
                     " WHERE k.flow = {1} AND k.name = u.name AND k." WEIR_HAS_NAME
                     " LIMIT 1) e",
             .parameters = "iT"},
};

enum weir_status weir_extending_check_names(const struct weir_extending *self,
                                            struct weir_error *error)
{
    const struct weir_flow_extension *extension = self->extension;
    enum weir_status status = WEIR_OK;
    struct weir_quote shown;
    struct weir_map names;

    weir_map_init(&names, self->executions->heap, extension->member_count + 1);
    for (size_t i = 0; i < extension->member_count && status == WEIR_OK; i++) {
        const struct weir_execution_draft *draft = &extension->members[i];
        const struct weir_execution_draft *other = NULL;

        if (draft->name == NULL)
            continue;
        other = weir_map_find(&names, weir_str(draft->name));
        if (other == NULL)
            status =
                weir_map_put(&names, weir_str(draft->name), (void *)(uintptr_t)draft);
        else if (memcmp(other->id->uuid, draft->id->uuid, WEIR_UUID_SIZE) != 0)
            status = weir_error_set(error, WEIR_INVALID,
                                    "member %zu of %zu: another one of this call has the "
                                    "name \"%s\", too",
                                    i + 1, extension->member_count,
                                    weir_quote(&shown, draft->name));
        if (status == WEIR_NO_MEMORY)
            (void)weir_no_memory_for(error, "a flow");
    }
    weir_map_fini(&names);
    return status;
}

/*
 * The rows say which of `indexes` they are about (from 1), and which member has its name.
 */
struct owner {
    int64_t nth;
    uint8_t uuid[WEIR_UUID_SIZE];
};
static const struct weir_column OWNER[] = {
    COLUMN(struct owner, nth, INTEGER),
    COLUMN(struct owner, uuid, FIXED),
};
struct name_query {
    const struct weir_extending *extending;
    const size_t *indexes;
};

static enum weir_status refuse_others(void *state, struct weir_rows *rows,
                                      struct weir_error *error)
{
    const struct name_query *self = state;
    const struct weir_flow_extension *extension = self->extending->extension;
    const struct weir_execution_draft *draft;
    struct weir_quote shown;
    struct owner owner;
    enum weir_status status = weir_row_read(rows, COLUMNS(OWNER), &owner, error);
    size_t index;

    if (status != WEIR_OK)
        return status;
    index = self->indexes[owner.nth - 1];
    draft = &extension->members[index];
    if (memcmp(owner.uuid, draft->id->uuid, WEIR_UUID_SIZE) == 0)
        return WEIR_OK;
    return weir_error_set(error, WEIR_MISMATCH,
                          "member %zu of %zu: another member of the flow has the "
                          "name \"%s\"",
                          index + 1, extension->member_count,
                          weir_quote(&shown, draft->name));
}

static enum weir_status ask_each(const struct weir_extending *self,
                                 struct weir_connection *connection,
                                 const size_t *indexes, size_t count,
                                 struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        struct name_query query = {self, &indexes[i]};

        status = weir_query_each(
            connection, &weir_flow_sql_named.one,
            VALUES(weir_integer(self->row.no),
                   weir_text(weir_str(self->extension->members[indexes[i]].name))),
            refuse_others, &query, error);
    }
    return status;
}

static enum weir_status ask_all(const struct weir_extending *self,
                                struct weir_connection *connection, const size_t *indexes,
                                size_t count, struct weir_error *error)
{
    struct name_query query = {self, indexes};
    struct weir_columns table;
    enum weir_status status =
        weir_columns_init(&table, self->executions->heap, 1, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        weir_columns_set(&table, 0, i,
                         weir_text(weir_str(self->extension->members[indexes[i]].name)));
    if (status == WEIR_OK)
        status = weir_query_each(
            connection, &weir_flow_sql_named.many,
            VALUES(weir_integer(self->row.no),
                   weir_columns_array(&table, 0, WEIR_TYPE_TEXT, 0, count)),
            refuse_others, &query, error);
    weir_columns_fini(&table);
    return status;
}

enum weir_status weir_extending_check_new_names(struct weir_extending *self,
                                                struct weir_connection *connection,
                                                struct weir_error *error)
{
    const struct weir_flow_extension *extension = self->extension;
    size_t *indexes =
        weir_arena_alloc(&self->arena, (extension->member_count + 1) * sizeof *indexes);
    size_t count = 0;

    if (indexes == NULL)
        return weir_no_memory_for(error, "a flow");
    for (size_t i = 0; i < extension->member_count; i++) {
        if (extension->members[i].name != NULL)
            indexes[count++] = i;
    }
    if (count == 0 || self->row.members == 0) /* no member can have it */
        return WEIR_OK;
    return !weir_connection_traits(connection)->takes_arrays
               ? ask_each(self, connection, indexes, count, error)
               : ask_all(self, connection, indexes, count, error);
}
