/*
 * engine_sql.h - phrases that the statements of execution/engine.h have in common on all
 * engines.
 */
#ifndef WEIR_EXECUTION_STORE_ENGINE_SQL_H
#define WEIR_EXECUTION_STORE_ENGINE_SQL_H

#include "execution/engine.h"

/* Parameters `key` and `value` of a filter by tag. The tag is looked up for each row;
 * EXISTS would let PostgreSQL read all that have it. */
#define WEIR_TAGGED(key, value)                                                          \
    " AND (" key " = '' OR (SELECT 1 FROM {p}_tag t WHERE t.no = e.no AND t.key = " key  \
    " AND t.value = " value " LIMIT 1) IS NOT NULL)"

/* ---- reconcilers ------------------------------------------------------------------- */

/* Whose: parameters 3 to 6, of `e`, behind the time {1} and the limit {2}. */
#define WEIR_PICK_FILTER                                                                 \
    " AND ({3} < 0 OR e.part = {3}) AND ({4} = '' OR e.namespace = {4})" WEIR_TAGGED(    \
        "{5}", "{6}")

#define WEIR_DUE_SQL(kind, name_, parameters_, ...)                                      \
    [WEIR_DUE_##                                                                         \
        kind] = {.name = (name_), .text = __VA_ARGS__, .parameters = (parameters_)},
#define WEIR_NEXT_SIBLINGS(kind, id, name, interval_ms, first)                           \
    WEIR_DUE_SQL(kind, "next due", "ii", "SELECT " first ", {now}")
#define WEIR_FIRST_SIBLINGS_OF_ALL(kind, id, name, interval_ms, first) first ", "

/* From the engine's text for each row (reconciler_list.h). With the clock, also when
 * there is no time. */
#define WEIR_DUE_STATEMENTS(due)                                                         \
    {                                                                                    \
        WEIR_RECONCILERS(due, due, WEIR_NO_ROW_OF_LIST, WEIR_NO_ROW_OF_LIST,             \
                         WEIR_NO_ROW_OF_LIST)                                            \
    }
#define WEIR_NEXT_STATEMENTS(next)                                                       \
    {                                                                                    \
        WEIR_RECONCILERS(next, next, WEIR_NEXT_SIBLINGS, WEIR_NO_ROW_OF_LIST,            \
                         WEIR_NO_ROW_OF_LIST)                                            \
    }
#define WEIR_NEXT_OF_ALL(first)                                                          \
    {                                                                                    \
        .name = "next due",                                                              \
        .text = "SELECT " WEIR_RECONCILERS(                                              \
            first, WEIR_NO_ROW_OF_LIST, WEIR_FIRST_SIBLINGS_OF_ALL, WEIR_NO_ROW_OF_LIST, \
            WEIR_NO_ROW_OF_LIST) "{now}",                                                \
        .parameters = "iiittt",                                                          \
    }

/* ---- lists ------------------------------------------------------------------------- */

/* enum weir_public_state of a row: as weir_state_public() derives it. 63: a number in
 * it is not known. */
#define WEIR_PUBLIC_STATE                                                                \
    "CASE WHEN NOT (" WEIR_IS_KNOWN ") THEN 63 ELSE"                                     \
    " CASE e.state WHEN 1 THEN CASE e.pending WHEN 4 THEN 6 ELSE 0 END WHEN 2 THEN 1"    \
    " WHEN 3 THEN CASE e.hold WHEN 4 THEN 3 WHEN 5 THEN 2 ELSE 0 END WHEN 4 THEN 4"      \
    " WHEN 5 THEN 5 WHEN 10 THEN 7 WHEN 11 THEN 8 WHEN 12 THEN 9 WHEN 13 THEN 10"        \
    " WHEN 14 THEN 11 ELSE 63 END END"

/* In parameters 4 to 7, behind the numbers {1} and {2} and the limit {3}. */
#define WEIR_WANTED                                                                      \
    " WHERE ({4} = '' OR e.namespace = {4}) AND ({5} = 0 OR e.lane = {5})"               \
    " AND ({6} = '' OR e.kind = {6})"                                                    \
    " AND ({7} = 0 OR ({7} & (CAST(1 AS bigint) << " WEIR_PUBLIC_STATE ")) <> 0)"
#define WEIR_LIST_COLUMNS "SELECT " WEIR_EXECUTION_COLUMNS WEIR_BELONGING_COLUMNS

/* ---- edges and flows --------------------------------------------------------------- */

#define WEIR_LEFT_OPEN_FILTER                                                            \
    " AND e.ended_us <= {1} AND ({3} = '' OR e.namespace = {3})" WEIR_TAGGED(            \
        "{4}", "{5}") " LIMIT {2}"

/* By the index of flows that are marked, and that of members. */
#define WEIR_EMPTY_FLOWS                                                                 \
    "SELECT no FROM {p}_flow f WHERE " WEIR_FLOW_IS_GONE                                 \
    " AND (SELECT 1 FROM {p}_execution e WHERE e.flow = f.no AND e.flow > 0 LIMIT 1)"    \
    " IS NULL ORDER BY no LIMIT "

/* ---- budgets ----------------------------------------------------------------------- */

/* By the partial index of waiting executions. */
#define WEIR_WAITS "s.dimension = '' AND s.amount > 0" /* WEIR_WAITS_FOR_BUDGET */
/*
 * From budget to budget in that index, each by one look at its next entry, and of those
 * that have room the executions that wait. Executions that wait for a budget that is used
 * up are not read, however many they are. The rows come in the order of the index: to
 * sort them would mean to read all of them.
 */
#define WEIR_WAITED_BUDGETS                                                              \
    "WITH RECURSIVE waited (budget) AS (SELECT (SELECT s.budget FROM {p}_spent s"        \
    " WHERE " WEIR_WAITS " ORDER BY s.budget, s.no LIMIT 1) UNION ALL"                   \
    " SELECT (SELECT s.budget FROM {p}_spent s WHERE " WEIR_WAITS                        \
    " AND s.budget > w.budget"                                                           \
    " ORDER BY s.budget, s.no LIMIT 1) FROM waited w WHERE w.budget IS NOT NULL)"        \
    " SELECT s.no, s.budget, e.uuid, e.part FROM waited w"
#define WEIR_HAS_ROOM                                                                    \
    " WHERE w.budget IS NOT NULL AND (SELECT 1 FROM {p}_usage u"                         \
    " WHERE u.budget = w.budget AND u.hard > 0 AND u.used >= u.hard LIMIT 1) IS NULL"

#endif
