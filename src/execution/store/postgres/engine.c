/*
 * engine.c - the operation table of execution/engine.h on PostgreSQL.
 *
 * As in store.c, statistics are not counted on: first come numbers, by an index, then
 * rows, by the primary key. How many are wanted is hidden from the planner in a
 * sub-select where it would choose another plan.
 */
#include "execution/store/engine_sql.h"

/*
 * First their numbers, by the index: how many are wanted, and of which filter, is hidden
 * from the planner, which would otherwise sort all that are due whenever it expects fewer
 * than are wanted. Then the rows, by the primary key, as far as they are wanted and not
 * locked. Whether they are still due is asked in words that do not fit the partial
 * indexes: a planner that believes the table to be empty would walk one of them for each
 * row.
 */
#define DUE(kind, id, name, interval_ms, condition, again, time, still, first)           \
    WEIR_DUE_SQL(kind, "pick due", "iiittt",                                             \
                 "SELECT " WEIR_EXECUTION_COLUMNS                                        \
                 " FROM (SELECT no FROM {p}_execution WHERE " condition " AND " time     \
                 " <= {1} ORDER BY " time ", no LIMIT (SELECT 9223372036854775807)) d"   \
                 " CROSS JOIN LATERAL (SELECT * FROM {p}_execution e WHERE e.no = d.no"  \
                 " AND " again still " AND e." time " + 0 <= {1}" WEIR_PICK_FILTER       \
                 " FOR NO KEY UPDATE SKIP LOCKED) e LIMIT {2}")

/* The first entry of the index behind {1} that the filter lets pass; likewise. */
#define FIRST(kind, id, name, interval_ms, condition, again, time, still, first)         \
    "(SELECT " time " FROM (SELECT * FROM {p}_execution WHERE " condition " AND " time   \
    " > {1} ORDER BY " time                                                              \
    ", no LIMIT (SELECT 9223372036854775807)) e WHERE true" first WEIR_PICK_FILTER       \
    " LIMIT {2})"
#define FIRST_OF_ALL(...) FIRST(__VA_ARGS__) ", "
#define NEXT(kind, ...)                                                                  \
    WEIR_DUE_SQL(kind, "next due", "iiittt", "SELECT " FIRST(kind, __VA_ARGS__) ", {now}")

static const struct weir_sql SQL_MAY_REOPEN = {
    .name = "ask for the right to reopen flows",
    .text = "SELECT CASE WHEN has_column_privilege('{q}_flow', 'state', 'UPDATE')"
            " THEN 1 ELSE 0 END",
    .parameters = "",
};

const struct weir_execution_engine weir_execution_postgresql = {
    .store = &weir_store_pg,
    .due = WEIR_DUE_STATEMENTS(DUE),
    .next = WEIR_NEXT_STATEMENTS(NEXT),
    .next_times = WEIR_NEXT_OF_ALL(FIRST_OF_ALL),

    /* By the index on until_us; keys that a transaction is taking anew are left alone. */
    .forget_keys =
        {
            .name = "forget keys",
            .text = "DELETE FROM {p}_idempotency i USING"
                    " (SELECT scope, key FROM {p}_idempotency"
                    " WHERE until_us >= 0 AND until_us <= {1}"
                    " ORDER BY until_us LIMIT (SELECT {2})"
                    " FOR UPDATE SKIP LOCKED) d"
                    " WHERE i.scope = d.scope AND i.key = d.key",
            .parameters = "ii",
        },

    /* By the index on key and value, backwards, and the primary key. */
    .list_tagged =
        {
            .name = "list tagged executions",
            .text = WEIR_LIST_COLUMNS " FROM (SELECT no FROM {p}_tag WHERE key = {8}"
                                      " AND value = {9} AND no < {1} AND no >= {2}"
                                      " ORDER BY no DESC) t"
                                      " CROSS JOIN LATERAL (SELECT * FROM {p}_execution k"
                                      " WHERE k.no = t.no LIMIT 1) e" WEIR_WANTED
                                      " ORDER BY t.no DESC LIMIT {3}",
            .parameters = "iiitititt",
        },

    /* By the index on flow, backwards; a tag by its primary key. */
    .list_members =
        {
            .name = "list members",
            .text =
                WEIR_LIST_COLUMNS " FROM (SELECT no FROM {p}_execution WHERE"
                                  " flow = {8} AND flow > 0 AND no < {1}"
                                  " AND no >= {2} ORDER BY no DESC) n"
                                  " CROSS JOIN LATERAL (SELECT * FROM {p}_execution k"
                                  " WHERE k.no = n.no LIMIT 1) e" WEIR_WANTED WEIR_TAGGED(
                                      "{9}", "{10}") " ORDER BY n.no DESC LIMIT {3}",
            .parameters = "iiititiitt",
        },

    /* By the index of open edges, and by the primary key. */
    .left_open =
        {
            .name = "find edges that were left open",
            .text = "SELECT e.no, e.uuid, e.part FROM (SELECT upstream,"
                    " min(opened_epoch) AS epoch FROM {p}_edge"
                    " WHERE " WEIR_EDGE_IS_OPEN " GROUP BY upstream) d"
                    " CROSS JOIN LATERAL (SELECT * FROM {p}_execution k"
                    " WHERE k.no = d.upstream LIMIT 1) e"
                    " WHERE e.state + 0 >= 10"
                    " AND e.epoch > d.epoch" WEIR_LEFT_OPEN_FILTER,
            .parameters = "iittt",
        },

    /* One that had ended when it was decided, and was replayed, is none. By the index of
     * edges to one, and then by the primary key: a planner that believes the table to be
     * small would read all of it. */
    .siblings =
        {
            .name = "read siblings",
            .text = "SELECT e.no, e.uuid, e.part FROM (SELECT upstream"
                    " FROM {p}_edge WHERE downstream = {1}"
                    " AND state + 0 = 0 ORDER BY upstream LIMIT"
                    " (SELECT 9223372036854775807)) d"
                    " CROSS JOIN LATERAL (SELECT no, uuid, part, state"
                    " FROM {p}_execution k WHERE k.no = d.upstream LIMIT 1)"
                    " e WHERE e.state + 0 < 10 LIMIT {2}",
            .parameters = "ii",
        },

    /* By the partial index of those that have ended. First their numbers, then the rows,
     * in words that do not fit it. */
    .mark_flows =
        {
            .name = "mark flows",
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
            .parameters = "iit",
        },

    /* By the index of the marked ones, and that of members. */
    .gone_members =
        {
            .name = "find members of removed flows",
            .text = "SELECT e.no FROM (SELECT no FROM {p}_flow"
                    " WHERE " WEIR_FLOW_IS_GONE " ORDER BY no) f"
                    " CROSS JOIN LATERAL (SELECT no FROM {p}_execution m"
                    " WHERE m.flow = f.no AND m.flow > 0 ORDER BY m.no"
                    " LIMIT (SELECT {1})) e LIMIT {1}",
            .parameters = "i",
        },
    .forget_flows =
        {
            .name = "remove flows",
            .text = "DELETE FROM {p}_flow k USING (" WEIR_EMPTY_FLOWS
                    "(SELECT {1}) FOR UPDATE SKIP LOCKED) d WHERE k.no = d.no",
            .parameters = "i",
        },

    /* Producers may no more than add to flows. */
    .may_reopen = &SQL_MAY_REOPEN,

    /* By the index on until_us. */
    .forget_waitpoints =
        {
            .name = "forget waitpoints",
            .text = "DELETE FROM {p}_waitpoint w USING"
                    " (SELECT no, uuid FROM {p}_waitpoint"
                    " WHERE until_us > 0 AND until_us <= {1}"
                    " ORDER BY until_us LIMIT (SELECT {2})"
                    " FOR UPDATE SKIP LOCKED) d"
                    " WHERE w.no = d.no AND w.uuid = d.uuid",
            .parameters = "ii",
        },
    .budget_waiters =
        {
            .name = "find waiters of budgets",
            .text = WEIR_WAITED_BUDGETS
            " CROSS JOIN LATERAL (SELECT s.no, s.budget FROM {p}_spent s"
            " WHERE " WEIR_WAITS " AND s.budget = w.budget ORDER BY s.budget, s.no"
            " LIMIT {1}) s LEFT JOIN LATERAL (SELECT x.uuid, x.part"
            " FROM {p}_execution x WHERE x.no = s.no LIMIT 1) e ON true" WEIR_HAS_ROOM
            " LIMIT {1}",
            .parameters = "i",
        },
};
