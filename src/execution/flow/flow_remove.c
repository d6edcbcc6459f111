/*
 * flow_remove.c - see flow_remove.h.
 *
 * I1  A member of a marked flow has ended, and stays so: the counter of those that have
 *     not is 0 when it is marked, and to begin anew is to count that (SQL_COUNT_ENDS),
 *     which finds no row.
 */
#include "execution/flow/flow_remove.h"

#include "db/query.h"
#include "execution/store/store_statements.h"

/* By the partial index of those that have ended. On PostgreSQL first their numbers, as
 * in store.c; then the rows, in words that do not fit it. */
const struct weir_sql weir_flow_sql_mark[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "mark flows",
                     .text = "UPDATE {p}_flow SET state = 4 WHERE no IN"
                             " (SELECT no FROM {p}_flow WHERE " WEIR_FLOW_HAS_ENDED
                             " AND ended_us <= {1} AND unfinished = 0"
                             " AND ({3} = '' OR namespace = {3})"
                             " ORDER BY ended_us, no LIMIT {2})",
                     .parameters = "iit"},
    [WEIR_POSTGRESQL] = {.name = "mark flows",
                         .text = "UPDATE {p}_flow f SET state = 4 FROM (SELECT k.no FROM"
                                 " (SELECT no FROM {p}_flow WHERE " WEIR_FLOW_HAS_ENDED
                                 " AND ended_us <= {1} ORDER BY ended_us, no"
                                 " LIMIT (SELECT 9223372036854775807)) d"
                                 " CROSS JOIN LATERAL (SELECT no FROM {p}_flow e"
                                 " WHERE e.no = d.no AND e.ended_us + 0 <= {1}"
                                 " AND e.ended_us + 0 > 0 AND e.state + 0 <> 4"
                                 " AND e.unfinished = 0"
                                 " AND ({3} = '' OR e.namespace = {3})"
                                 " FOR NO KEY UPDATE SKIP LOCKED) k LIMIT {2}) g"
                                 " WHERE f.no = g.no",
                         .parameters = "iit"},
};

/* By the index of the marked ones, and that of members. */
const struct weir_sql weir_flow_sql_gone_members[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "find members of removed flows",
                     .text = "SELECT e.no FROM {p}_flow f CROSS JOIN {p}_execution e"
                             " WHERE f." WEIR_FLOW_IS_GONE " AND e.flow = f.no"
                             " AND e.flow > 0 LIMIT {1}",
                     .parameters = "i"},
    [WEIR_POSTGRESQL] = {.name = "find members of removed flows",
                         .text = "SELECT e.no FROM (SELECT no FROM {p}_flow"
                                 " WHERE " WEIR_FLOW_IS_GONE " ORDER BY no) f"
                                 " CROSS JOIN LATERAL (SELECT no FROM {p}_execution m"
                                 " WHERE m.flow = f.no AND m.flow > 0 ORDER BY m.no"
                                 " LIMIT (SELECT {1})) e LIMIT {1}",
                         .parameters = "i"},
};

/* Likewise. */
#define EMPTY                                                                            \
    "SELECT no FROM {p}_flow f WHERE " WEIR_FLOW_IS_GONE                                 \
    " AND (SELECT 1 FROM {p}_execution e WHERE e.flow = f.no AND e.flow > 0 LIMIT 1)"    \
    " IS NULL ORDER BY no LIMIT "
const struct weir_sql weir_flow_sql_forget[WEIR_ENGINE_COUNT] = {
    [WEIR_SQLITE] = {.name = "remove flows",
                     .text = "DELETE FROM {p}_flow WHERE no IN (" EMPTY "{1})",
                     .parameters = "i"},
    [WEIR_POSTGRESQL] = {.name = "remove flows",
                         .text = "DELETE FROM {p}_flow k USING (" EMPTY
                                 "(SELECT {1}) FOR UPDATE SKIP LOCKED) d"
                                 " WHERE k.no = d.no",
                         .parameters = "i"},
};

enum weir_status weir_flows_mark(struct weir_connection *connection,
                                 struct weir_str name_space, int64_t until_us,
                                 size_t limit, size_t *marked, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &weir_flow_sql_mark[weir_connection_engine(connection)],
        VALUES(weir_integer(until_us), weir_integer((int64_t)limit),
               weir_text(name_space)),
        &changed, error);

    *marked = status == WEIR_OK ? (size_t)changed : 0;
    return status;
}

enum weir_status weir_flows_gone_members(struct weir_connection *connection, int64_t *out,
                                         size_t limit, size_t *count,
                                         struct weir_error *error)
{
    return weir_query_integers(
        connection, &weir_flow_sql_gone_members[weir_connection_engine(connection)],
        VALUES(weir_integer((int64_t)limit)), out, limit, count, error);
}

enum weir_status weir_flows_forget(struct weir_connection *connection, size_t limit,
                                   size_t *removed, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &weir_flow_sql_forget[weir_connection_engine(connection)],
        VALUES(weir_integer((int64_t)limit)), &changed, error);

    *removed = status == WEIR_OK ? (size_t)changed : 0;
    return status;
}
