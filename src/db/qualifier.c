/*
 * qualifier.c - see qualifier.h.
 */
#include "db/qualifier.h"

#include "db/query.h"

#include <string.h>

/* By the index of the catalogue on names. Temporary tables are the session's, whatever
 * their name. */
#define PLACE_IN_PATH                                                                    \
    "pg_catalog.array_position(pg_catalog.current_schemas(false), n.nspname)"
static const struct weir_sql SQL_FIND = {
    .name = "find schema",
    .text =
        "SELECT n.nspname::text, " PLACE_IN_PATH " IS NOT NULL"
        " FROM pg_catalog.pg_class c"
        " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relname = pg_catalog.lower('{n}_schema' COLLATE pg_catalog.\"C\")::name"
        " AND c.relkind = 'r' AND c.relpersistence <> 't'"
        " ORDER BY " PLACE_IN_PATH " NULLS LAST, 1 LIMIT 2",
    .parameters = "",
};

static const struct weir_sql SQL_HERE = {
    .name = "find schema of new tables",
    .text = "SELECT pg_catalog.current_schema()::text",
    .parameters = "",
};

static const struct weir_sql SQL_LOOK_HERE = {
    .name = "look in schema",
    .text = "SELECT pg_catalog.set_config('search_path', {1} || ', pg_temp', true)",
    .parameters = "t",
};

bool weir_qualifier_quote(char quote, struct weir_str name, char out[WEIR_QUALIFIER_SIZE])
{
    size_t size = 0;

    out[0] = '\0';
    if (quote == '\0')
        return true;
    if (name.size > (WEIR_QUALIFIER_SIZE - 4) / 2) /* all of it may be quotes */
        return false;
    out[size++] = quote;
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == quote)
            out[size++] = quote;
        out[size++] = name.data[i];
    }
    out[size++] = quote;
    out[size++] = '.';
    out[size] = '\0';
    return true;
}

/* ---- finding ----------------------------------------------------------------------- */

/* What the catalogue has, at most two. */
struct finds {
    char qualifier[WEIR_QUALIFIER_SIZE]; /* of the first */
    bool visible;                        /* so is the first */
    size_t count;
};

struct schema_row {
    struct weir_str name;
    bool visible;
};

static const struct weir_column SCHEMA[] = {
    COLUMN(struct schema_row, name, TEXT_OR_NONE),
    COLUMN(struct schema_row, visible, BOOLEAN),
};

static enum weir_status take_find(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct finds *out = state;
    struct schema_row row;
    enum weir_status status = weir_row_read(rows, COLUMNS(SCHEMA), &row, error);

    if (status == WEIR_OK && out->count++ == 0)
        out->visible = weir_qualifier_quote('"', row.name, out->qualifier) && row.visible;
    return status;
}

enum weir_status weir_qualifier_find(struct weir_connection *connection,
                                     char out[WEIR_QUALIFIER_SIZE], bool *found,
                                     struct weir_error *error)
{
    struct finds finds = {.count = 0};
    bool adopted = weir_connection_link(connection)->adopted;
    enum weir_status status =
        weir_query_each(connection, &SQL_FIND, NO_VALUES, take_find, &finds, error);

    *found = false;
    if (status != WEIR_OK)
        return status;
    if (adopted && !finds.visible && finds.count > 1)
        return weir_error_set(
            error, WEIR_SCHEMA,
            "tables of the prefix \"%s\" are in several schemas, and none of these is in "
            "the search_path of the adopted connection: create the outbox before, or add "
            "the schema to the search_path",
            weir_connection_prefix(connection));
    *found = finds.visible || (adopted && finds.count == 1);
    if (*found)
        memcpy(out, finds.qualifier, WEIR_QUALIFIER_SIZE);
    return WEIR_OK;
}

/* ---- settling ---------------------------------------------------------------------- */

static enum weir_status quote_here(void *qualifier, struct weir_rows *rows,
                                   struct weir_error *error)
{
    struct schema_row row;
    enum weir_status status = weir_row_read(rows, SCHEMA, 1, &row, error);

    if (status == WEIR_OK &&
        (row.name.data == NULL || !weir_qualifier_quote('"', row.name, qualifier)))
        status = weir_error_set(error, WEIR_SCHEMA,
                                "no schema of the search_path exists: create one, or set "
                                "the search_path of this role or database");
    return status;
}

/* The name without its dot is one that search_path takes. */
static enum weir_status look_here(struct weir_connection *connection,
                                  const char *qualifier, struct weir_error *error)
{
    struct weir_str name = {qualifier, strlen(qualifier) - 1};

    return weir_connection_execute(connection, &SQL_LOOK_HERE, VALUES(weir_text(name)),
                                   NULL, error);
}

enum weir_status weir_qualifier_apply(struct weir_connection *connection,
                                      struct weir_error *error)
{
    char qualifier[WEIR_QUALIFIER_SIZE];
    bool found = false;
    enum weir_status status = weir_qualifier_find(connection, qualifier, &found, error);

    if (status == WEIR_OK && !found)
        status = weir_query_one(connection, &SQL_HERE, NO_VALUES, quote_here, qualifier,
                                error);
    if (status == WEIR_OK)
        status = look_here(connection, qualifier, error);
    if (status == WEIR_OK)
        weir_connection_qualify(connection, qualifier);
    return status;
}
