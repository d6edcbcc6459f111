/*
 * copy.c - see postgres/copy.h.
 */
#include "outbox/postgres/copy.h"

#include "base/str.h"
#include "db/query.h"

/* All by the primary key of a table of sixteen rows, or over all of them. */
static const struct weir_sql SQL_LOAD = {
    .name = "read copy",
    .text = "SELECT no, mark, kept, xid::text::bigint FROM {p}_copy WHERE leaf = {1}",
    .parameters = "t",
};

/* The sequence is ahead of the rows only where a dump with a hole was restored. */
#define NEXT_NO                                                                          \
    "greatest((SELECT max(no) FROM {p}_copy), (SELECT last_value FROM {p}_emptied)) + 1"

static const struct weir_sql SQL_STORE = {
    .name = "store copy",
    .text = "UPDATE {p}_copy SET no = " NEXT_NO ", mark = {2}, kept = {3},"
            " xid = pg_current_xact_id() WHERE leaf = {1}",
    .parameters = "tii",
};

/* setval() alone writes the sequence, so its value in the write-ahead log is exact:
 * nextval() would log numbers ahead of those that it has given. */
static const struct weir_sql SQL_ANNOUNCE = {
    .name = "announce emptying",
    .text = "SELECT setval('{q}_emptied', greatest(last_value, {1})) FROM {p}_emptied",
    .parameters = "i",
};

static const struct weir_sql SQL_RESET = {
    .name = "reset copies",
    .text = "WITH next AS (SELECT " NEXT_NO " AS no),"
            " done AS (UPDATE {p}_copy c SET no = next.no, mark = -1, kept = 0, xid = '0'"
            " FROM next) SELECT no FROM next",
    .parameters = "",
};

static const struct weir_sql SQL_EMPTIED = {
    .name = "read emptied",
    .text = "SELECT last_value FROM {p}_emptied",
    .parameters = "",
};
static const struct weir_sql SQL_COPIED = {
    .name = "read copied",
    .text = "SELECT coalesce(max(no), 0) FROM {p}_copy",
    .parameters = "",
};

static const struct weir_column COPY[] = {
    COLUMN(struct weir_pg_copy, no, INTEGER),
    COLUMN(struct weir_pg_copy, mark, INTEGER),
    COLUMN(struct weir_pg_copy, kept, INTEGER),
    COLUMN(struct weir_pg_copy, xid, INTEGER),
};

enum weir_status weir_pg_copy_load(struct weir_connection *connection, const char *leaf,
                                   struct weir_pg_copy *out, struct weir_error *error)
{
    enum weir_status status;

    *out = (struct weir_pg_copy){.mark = -1};
    status = weir_query_one(connection, &SQL_LOAD, VALUES(weir_text(weir_str(leaf))),
                            INTO(COPY, out), error);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_SCHEMA, "copy: leaf %s is missing", leaf);
    return status;
}

enum weir_status weir_pg_copy_store(struct weir_connection *connection, const char *leaf,
                                    int64_t mark, int64_t kept, struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_STORE,
        VALUES(weir_text(weir_str(leaf)), weir_integer(mark), weir_integer(kept)), NULL,
        error);
}

enum weir_status weir_pg_copy_announce(struct weir_connection *connection, int64_t no,
                                       struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_ANNOUNCE, VALUES(weir_integer(no)),
                                   NULL, error);
}

enum weir_status weir_pg_copy_reset(struct weir_connection *connection, int64_t *no,
                                    struct weir_error *error)
{
    return weir_connection_query_integer(connection, &SQL_RESET, NO_VALUES, no, error);
}

/* The sequence first: a copy is committed before its number comes there, so the
 * statement that begins later sees the row of every number that was read. */
enum weir_status weir_pg_hole_read(struct weir_connection *connection,
                                   struct weir_pg_hole *out, struct weir_error *error)
{
    enum weir_status status;

    *out = (struct weir_pg_hole){0};
    status = weir_connection_query_integer(connection, &SQL_EMPTIED, NO_VALUES,
                                           &out->emptied, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_COPIED, NO_VALUES,
                                               &out->copied, error);
    return status;
}
