/*
 * flow_remove.c - see flow_remove.h.
 *
 * I1  A member of a marked flow has ended, and stays so: the counter of those that have
 *     not is 0 when it is marked, and to begin anew is to count that (SQL_COUNT_ENDS),
 *     which finds no row.
 */
#include "execution/flow/flow_remove.h"

#include "db/query.h"
#include "execution/engine.h"

enum weir_status weir_flows_mark(struct weir_connection *connection,
                                 struct weir_str name_space, int64_t until_us,
                                 size_t limit, size_t *marked, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &weir_execution_engine_of(connection)->mark_flows,
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
        connection, &weir_execution_engine_of(connection)->gone_members,
        VALUES(weir_integer((int64_t)limit)), out, limit, count, error);
}

enum weir_status weir_flows_forget(struct weir_connection *connection, size_t limit,
                                   size_t *removed, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &weir_execution_engine_of(connection)->forget_flows,
        VALUES(weir_integer((int64_t)limit)), &changed, error);

    *removed = status == WEIR_OK ? (size_t)changed : 0;
    return status;
}
