/*
 * engine.c - the operation table of execution/engine.h on SQLite. A transaction that
 * writes has the database to itself, so nothing is locked or passed over.
 */
#include "execution/store/engine_sql.h"

/* Each by the partial index of its kind, in its order. Repeating finds what is still
 * due. */
#define DUE(kind, id, name, interval_ms, condition, again, time, still, first)           \
    WEIR_DUE_SQL(kind, "pick due", "iiittt",                                             \
                 "SELECT " WEIR_EXECUTION_COLUMNS                                        \
                 " FROM {p}_execution e WHERE " condition " AND " time                   \
                 " <= {1}" still WEIR_PICK_FILTER " ORDER BY " time ", no LIMIT {2}")

/* The first entry of the index behind {1} that the filter lets pass; likewise. */
#define FIRST(kind, id, name, interval_ms, condition, again, time, still, first)         \
    "(SELECT " time " FROM {p}_execution e WHERE " condition " AND " time                \
    " > {1}" first WEIR_PICK_FILTER " ORDER BY " time ", no LIMIT {2})"
#define FIRST_OF_ALL(...) FIRST(__VA_ARGS__) ", "
#define NEXT(kind, ...)                                                                  \
    WEIR_DUE_SQL(kind, "next due", "iiittt", "SELECT " FIRST(kind, __VA_ARGS__) ", {now}")

const struct weir_execution_engine weir_execution_sqlite = {
    .store = &weir_store_sqlite,
    .due = WEIR_DUE_STATEMENTS(DUE),
    .next = WEIR_NEXT_STATEMENTS(NEXT),
    .next_times = WEIR_NEXT_OF_ALL(FIRST_OF_ALL),

    /* By the index on until_us. */
    .forget_keys =
        {
            .name = "forget keys",
            .text = "DELETE FROM {p}_idempotency WHERE (scope, key) IN"
                    " (SELECT scope, key FROM {p}_idempotency"
                    " WHERE until_us <= {1} ORDER BY until_us LIMIT {2})",
            .parameters = "ii",
        },

    /* By the index on key and value, backwards, and the primary key. */
    .list_tagged =
        {
            .name = "list tagged executions",
            .text = WEIR_LIST_COLUMNS
            " FROM {p}_tag t CROSS JOIN {p}_execution e ON e.no = t.no" WEIR_WANTED
            " AND t.key = {8} AND t.value = {9} AND t.no < {1}"
            " AND t.no >= {2} ORDER BY t.no DESC LIMIT {3}",
            .parameters = "iiitititt",
        },

    /* By the index on flow, backwards; a tag by its primary key. The numbers come first,
     * so that no other index seems shorter. */
    .list_members =
        {
            .name = "list members",
            .text = WEIR_LIST_COLUMNS
            " FROM {p}_execution e" WEIR_WANTED
            " AND e.flow = {8} AND e.flow > 0 AND e.no < {1}"
            " AND e.no >= {2}" WEIR_TAGGED("{9}", "{10}") " ORDER BY e.no DESC LIMIT {3}",
            .parameters = "iiititiitt",
        },

    /* By the index of open edges, and by the primary key. */
    .left_open =
        {
            .name = "find edges that were left open",
            .text = "SELECT DISTINCT e.no, e.uuid, e.part FROM {p}_edge d"
                    " JOIN {p}_execution e ON e.no = d.upstream"
                    " WHERE d." WEIR_EDGE_IS_OPEN " AND e.state + 0 >= 10"
                    " AND e.epoch > d.opened_epoch" WEIR_LEFT_OPEN_FILTER,
            .parameters = "iittt",
        },

    /* One that had ended when it was decided, and was replayed, is none. */
    .siblings =
        {
            .name = "read siblings",
            .text = "SELECT e.no, e.uuid, e.part FROM {p}_edge d JOIN {p}_execution"
                    " e ON e.no = d.upstream WHERE d.downstream = {1}"
                    " AND d.state + 0 = 0 AND e.state + 0 < 10"
                    " ORDER BY d.upstream LIMIT {2}",
            .parameters = "ii",
        },

    /* By the partial index of those that have ended. */
    .mark_flows =
        {
            .name = "mark flows",
            .text = "UPDATE {p}_flow SET state = 4 WHERE no IN"
                    " (SELECT no FROM {p}_flow WHERE " WEIR_FLOW_HAS_ENDED
                    " AND ended_us <= {1} AND unfinished = 0"
                    " AND ({3} = '' OR namespace = {3})"
                    " ORDER BY ended_us, no LIMIT {2})",
            .parameters = "iit",
        },

    /* By the index of the marked ones, and that of members. */
    .gone_members =
        {
            .name = "find members of removed flows",
            .text = "SELECT e.no FROM {p}_flow f CROSS JOIN {p}_execution e"
                    " WHERE f." WEIR_FLOW_IS_GONE " AND e.flow = f.no"
                    " AND e.flow > 0 LIMIT {1}",
            .parameters = "i",
        },
    .forget_flows =
        {
            .name = "remove flows",
            .text = "DELETE FROM {p}_flow WHERE no IN (" WEIR_EMPTY_FLOWS "{1})",
            .parameters = "i",
        },

    /* By the index on until_us. */
    .forget_waitpoints =
        {
            .name = "forget waitpoints",
            .text = "DELETE FROM {p}_waitpoint WHERE (no, uuid) IN"
                    " (SELECT no, uuid FROM {p}_waitpoint WHERE until_us > 0"
                    " AND until_us <= {1} ORDER BY until_us LIMIT {2})",
            .parameters = "ii",
        },
    .budget_waiters =
        {
            .name = "find waiters of budgets",
            .text = WEIR_WAITED_BUDGETS
            " CROSS JOIN {p}_spent s LEFT JOIN {p}_execution e"
            " ON e.no = s.no" WEIR_HAS_ROOM " AND s.budget = w.budget AND " WEIR_WAITS
            " LIMIT {1}",
            .parameters = "i",
        },
};
