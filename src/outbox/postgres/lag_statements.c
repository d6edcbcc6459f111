/*
 * lag_statements.c - the statements that find what a position has not passed.
 *
 * A position {c, id} has not passed a row that cut c does not see, unless cut c + 1
 * sees it and its id is at most `id` (temp_dir.h). Where such rows can be follows from
 * what a cut is (postgres/cut.h). Each position has a mark `lo`:
 *
 *   hi(c)                      when nothing of cut c + 1 is passed, or c + 1 is not
 *                              made yet
 *   min(id, hi(c + 1))         when that is more: so a large cut is entered where the
 *                              reader is
 *
 * A row that is not passed lies behind `lo`, or belongs to a transaction that was
 * running at cut c or, if `lo` is in cut c + 1, at that one. The first are found by
 * index (id), the others, the *late* ones, by index (xid, id). Both hold for every mark
 * before `lo` too, so one mark serves many positions.
 *
 * How the planner is kept on the indexes, though the leaves have no statistics: limits
 * stand in sub-selects, so that it does not know them and takes them for small;
 * otherwise it would rather read and sort all of the log. A statement that is taken for
 * large is compiled first, which takes longer than it does: so `pos` counts to a
 * constant, and ranges have two ends, which are taken for small.
 *
 * Between a copy and the emptying of its leaf (postgres/sweep.h) a message stands in
 * the log and aside, and counts once.
 */
#include "outbox/postgres/statements.h"

/*
 * Newest ack of each partition, by index (subscription, partition, version) from its
 * end; its cut, or the oldest kept if that was rotated away; the cut after it, if the
 * position may have passed some of it.
 */
#define POS_OF(which, such)                                                              \
    " pos AS MATERIALIZED (SELECT * FROM ("                                              \
    "SELECT s.id AS subscription, q.id * 64 + g.n AS pid, a.cut, a.last_id,"             \
    " b.no, b.hi, b.own, b.snap, pg_snapshot_xmin(b.snap) AS oldest,"                    \
    " c.no AS next_no, c.own AS next_own, c.snap AS next_snap,"                          \
    " CASE WHEN c.no IS NULL THEN b.hi"                                                  \
    " ELSE greatest(b.hi, least(a.last_id, c.hi)) END AS lo"                             \
    " FROM {p}_queue q JOIN {p}_subscription s ON s.queue = q.id"                        \
    " JOIN generate_series(0, 63) AS g(n) ON g.n < q.partitions"                         \
    " CROSS JOIN LATERAL (SELECT k.cut, k.last_id FROM {p}_ack k"                        \
    " WHERE k.subscription = s.id AND k.pid = q.id * 64 + g.n"                           \
    " ORDER BY k.version DESC LIMIT 1) a"                                                \
    " CROSS JOIN LATERAL (SELECT k.no, k.hi, k.own, k.snap FROM {p}_cut k"               \
    " WHERE k.no >= a.cut ORDER BY k.no LIMIT 1) b"                                      \
    " LEFT JOIN LATERAL (SELECT k.no, k.hi, k.own, k.snap FROM {p}_cut k"                \
    " WHERE k.no > b.no AND b.no = a.cut ORDER BY k.no LIMIT 1) c ON true"               \
    " WHERE q.id = {1}" which ") x" such ")"
#define POS POS_OF("", "")

/* The row l for the position p. The first test is implied by the second, and cheaper. */
#define NOT_PASSED                                                                       \
    " l.xid >= p.oldest AND NOT pg_visible_in_snapshot(l.xid, p.snap)"                   \
    " AND (l.id <= p.last_id AND pg_visible_in_snapshot(l.xid, p.next_snap)) IS NOT "    \
    "TRUE"
/*
 * Where the rows of a position begin: its mark, or a late row before that, which it has
 * passed up to its id or not at all. Comparing with that settles most rows.
 */
#define BEGIN                                                                            \
    " least(p.lo, (SELECT min(CASE WHEN pg_visible_in_snapshot(r.xid, p.next_snap)"      \
    " THEN p.last_id ELSE 0 END) FROM ended r"                                           \
    " WHERE NOT pg_visible_in_snapshot(r.xid, p.snap)))"
#define ROW "l.id, l.xid, l.pid, l.created_us FROM {p}_log l"
#define LAST_ID "(SELECT last_value FROM {p}_log_id)"

/*
 * `ended`: the transactions that late rows can have and that are committed now; rows up
 * to `after` are passed by all, and so is everything when it is null. One that still
 * runs is not looked up, however much it has written.
 */
#define STRETCH WEIR_PG_STRETCH("pg_snapshot_xmax(b.snap)", "b.own")
#define ENDED                                                                            \
    " running AS MATERIALIZED (SELECT DISTINCT r.xid"                                    \
    " FROM (SELECT DISTINCT ON (u.no) u.own, u.snap FROM"                                \
    " (SELECT no, own, snap FROM pos"                                                    \
    " UNION ALL SELECT next_no, next_own, next_snap FROM pos WHERE lo > hi) u"           \
    " ORDER BY u.no) b"                                                                  \
    " CROSS JOIN LATERAL (SELECT x.xid FROM pg_snapshot_xip(b.snap) AS x(xid)"           \
    " UNION ALL (WITH RECURSIVE" STRETCH                                                 \
    " SELECT t.xid FROM stretch t WHERE t.xid IS NOT NULL)) r),"                         \
    " ended AS MATERIALIZED (SELECT r.xid,"                                              \
    " (SELECT min(CASE WHEN pg_visible_in_snapshot(r.xid, p.next_snap)"                  \
    " THEN p.last_id ELSE 0 END) FROM pos p"                                             \
    " WHERE NOT pg_visible_in_snapshot(r.xid, p.snap)) AS after FROM running r"          \
    " WHERE pg_visible_in_snapshot(r.xid, (SELECT pg_current_snapshot())))"
#define LATE_ROWS(mark, max)                                                             \
    " ended r CROSS JOIN LATERAL (SELECT " ROW " WHERE l.xid = r.xid"                    \
    " AND l.id > r.after AND l.id <= " mark " ORDER BY l.id LIMIT (SELECT " max ")) l"
#define LATE(mark, max)                                                                  \
    " late AS MATERIALIZED (SELECT l.* FROM" LATE_ROWS(mark, max) " LIMIT (SELECT " max  \
                                                                  "))"

#define ASIDE_ROWS(max)                                                                  \
    " (SELECT a.id, a.created_us FROM {p}_aside a WHERE a.pid = p.pid"                   \
    " AND (a.cut, a.id) > (p.cut + 1, p.last_id) ORDER BY a.cut, a.id"                   \
    " LIMIT (SELECT " max ")) a"

/* ---- where to begin ---------------------------------------------------------------- */

#define LOWEST "(SELECT min(lo) FROM pos)"
#define LATE_COUNT                                                                       \
    " (SELECT count(*) FROM (SELECT FROM" LATE_ROWS(LOWEST,                              \
                                                    "{2}") " LIMIT (SELECT {2})) k)"
#define FIRST_LATE " (SELECT min(l.id) FROM" LATE_ROWS(LOWEST, "1") ")"

/* The marks; the last id given out; how many late rows there are before the lowest
 * mark, up to {2}; the id of the first of them, or null; how many rows this gives;
 * where each begins. */
const struct weir_sql weir_pg_sql_lag_marks = {
    .name = "lag marks",
    .text = "WITH" POS "," ENDED " SELECT p.subscription, p.pid, p.lo, " LAST_ID
            "," LATE_COUNT "," FIRST_LATE ", count(*) OVER ()," BEGIN
            " FROM pos p ORDER BY p.pid, p.subscription",
    .parameters = "ii",
};

#define NEXT_PIECE(after)                                                                \
    " (SELECT l.id, least((((l.id >> {2}::integer) + 1) << {2}::integer) - 1, " LAST_ID  \
    ") FROM {p}_log l WHERE l.id > " after " ORDER BY l.id LIMIT 1)"
#define PIECES                                                                           \
    " piece(first, last) AS (" NEXT_PIECE(                                               \
        "{1}") " UNION ALL SELECT n.first, n.last FROM piece CROSS JOIN "                \
               "LATERAL" NEXT_PIECE("piece.last") " n(first, last))"

/*
 * Where rows are behind an id: the segments (of 2^{2} ids) that have any, each from its
 * first row to its end. By index (id), one look-up for each; those that were emptied
 * cost nothing.
 */
const struct weir_sql weir_pg_sql_lag_pieces = {
    .name = "lag pieces",
    .text = "WITH RECURSIVE" PIECES " SELECT first, last FROM piece LIMIT (SELECT {3})",
    .parameters = "iii",
};

/* ---- estimating -------------------------------------------------------------------- */

#define SAMPLE_LATE LATE("{4}", "{5}")

/*
 * What waits among the {3} ids behind each of {2}, and, exactly, among the late rows up
 * to {4}, of which {5} are looked at. By index (id) and (xid, id).
 */
const struct weir_sql weir_pg_sql_lag_sample = {
    .name = "lag sample",
    .text =
        "WITH" POS "," ENDED "," SAMPLE_LATE
        " SELECT p.subscription, p.pid, count(*) FILTER (WHERE l.sampled),"
        " count(*) FILTER (WHERE NOT l.sampled), min(l.created_us)"
        " FROM (SELECT l.*, true AS sampled FROM unnest({2}) AS w(start)"
        " CROSS JOIN LATERAL (SELECT " ROW " WHERE l.id > w.start"
        " AND l.id <= w.start + {3} ORDER BY l.id LIMIT (SELECT {3})) l"
        " UNION ALL SELECT l.*, false FROM late l) l"
        " JOIN pos p ON p.pid = l.pid WHERE" NOT_PASSED " GROUP BY p.subscription, p.pid",
    .parameters = "iIiii",
};

#define SOME_ASIDE ASIDE_ROWS("{2}")

/* Of a row in 64, whichever: does it stand in the log as well? Null for the others. By
 * index (id), one look-up in each leaf. */
#define DOUBLED                                                                          \
    "CASE WHEN hashint8(a.id) & 63 = 0 THEN"                                             \
    " (SELECT l.id FROM {p}_log l WHERE l.id BETWEEN a.id AND a.id"                      \
    " ORDER BY l.id LIMIT 1) IS NOT NULL END"

/* Up to {2} rows set aside for each position, by index (partition, cut, id): how many,
 * the first id, the last of them, the last there is, the time of the oldest, how many
 * were looked for in the log, and how many of these are there and counted with it. */
#define LAG_ASIDE(doubled)                                                               \
    "WITH" POS " SELECT p.subscription, p.pid, k.rows, k.first, k.counted,"              \
    " (SELECT a.id FROM {p}_aside a WHERE a.pid = p.pid"                                 \
    " ORDER BY a.cut DESC, a.id DESC LIMIT 1), k.oldest_us, k.probed, k.doubled"         \
    " FROM pos p CROSS JOIN LATERAL (SELECT count(*) AS rows, min(d.id) AS first,"       \
    " max(d.id) AS counted, min(d.created_us) AS oldest_us,"                             \
    " count(d.doubled) AS probed, count(*) FILTER (WHERE d.doubled) AS doubled"          \
    " FROM (SELECT a.id, a.created_us, " doubled " AS doubled FROM" SOME_ASIDE           \
    ") d) k WHERE k.rows > 0"
const struct weir_sql weir_pg_sql_lag_aside = {
    .name = "lag aside",
    .text = LAG_ASIDE(DOUBLED),
    .parameters = "ii",
};

/* The same without a look at the log, which may be locked. */
const struct weir_sql weir_pg_sql_lag_aside_alone = {
    .name = "lag aside alone",
    .text = LAG_ASIDE("NULL::boolean"),
    .parameters = "ii",
};

/* ---- counting ---------------------------------------------------------------------- */

#define POS_BEHIND POS_OF("", " WHERE x.lo >= {2}")
#define BEGUN                                                                            \
    " begun AS MATERIALIZED (SELECT * FROM (SELECT p.*," BEGIN " AS begin FROM pos p) x" \
    " WHERE x.begin >= {3})"
#define COUNT_LATE LATE("{2}", "{6}")
#define COUNT_ASIDE                                                                      \
    "SELECT p.subscription, p.pid, a.id, a.created_us FROM begun p CROSS JOIN "          \
    "LATERAL" ASIDE_ROWS("{5}") " LIMIT (SELECT {5})"
#define WAITING "SELECT p.subscription, p.pid, l.id, l.created_us FROM "
#define FOR_POS " JOIN pos p ON p.pid = l.pid WHERE" NOT_PASSED
#define FOR_BEGUN " JOIN begun p ON p.pid = l.pid AND l.id > p.begin WHERE" NOT_PASSED
#define TIME_IS_UP                                                                       \
    " clock_timestamp() >= statement_timestamp() + {9} * interval '1 microsecond'"

/* Rows of partitions that have all passed the strip end at the scan. OFFSET keeps what
 * is known of a strip from being worked out for each of its rows. */
#define NEXT_STRIP "({4})[t.n + 1]"
#define STRIP                                                                            \
    "unnest({4}) WITH ORDINALITY AS t(after, n) CROSS JOIN LATERAL (SELECT"              \
    " coalesce(" NEXT_STRIP ", " LAST_ID ") AS last, (SELECT array_agg(b.pid)"           \
    " FROM begun b WHERE (b.begin < " NEXT_STRIP ") IS NOT FALSE) AS behind OFFSET 0) u" \
    " CROSS JOIN LATERAL (SELECT " ROW                                                   \
    " WHERE l.id > t.after AND l.id <= u.last AND l.pid = ANY (u.behind)"                \
    " ORDER BY l.id LIMIT (SELECT {7})) l"

/*
 * What waits for the positions whose mark is {2} or later and whose rows begin behind
 * {3}, counted up to {5}. By index (id) behind {2}, in strips that begin behind each of
 * {4} and go on to the next of them; late rows before, of which {6} are looked at, by
 * index (xid, id). All kinds in one statement, and the same id counts once. Log and
 * aside are limited by themselves: {5} rows of one are {5} messages, and with less than
 * that there is no more. After {8} strips no further one is begun when {9} microseconds
 * are over. {7} is more than a strip can have.
 *
 * Each such position is returned once more, with none: that is how the caller knows that
 * it was counted. The last column says whether there is more; one row without a position,
 * which comes last, says so of what was not looked at.
 */
const struct weir_sql weir_pg_sql_lag_count = {
    .name = "lag count",
    .text = "WITH" POS_BEHIND "," ENDED "," BEGUN "," COUNT_LATE
            " SELECT w.subscription, w.pid, count(*), min(w.created_us),"
            " sum(count(*)) OVER () >= {5}"
            " FROM ((" COUNT_ASIDE ") UNION (" WAITING "late l" FOR_BEGUN
            " UNION ALL " WAITING STRIP FOR_BEGUN " AND (t.n <= {8} OR NOT" TIME_IS_UP ")"
            " LIMIT (SELECT {5}))) w GROUP BY w.subscription, w.pid"
            " UNION ALL SELECT p.subscription, p.pid, 0, NULL, false FROM begun p"
            " UNION ALL SELECT 0, 0, 0, NULL,"
            " ({6} > 0 AND (SELECT count(*) FROM late) = {6})"
            " OR (cardinality({4}) > {8} AND" TIME_IS_UP ")",
    .parameters = "iiiIiiiii",
};

/* ---- guessing ---------------------------------------------------------------------- */

/*
 * What is known without the log: how many ids lie behind each position and what is
 * set aside of its partition, shared evenly among the partitions of its queue. Too many
 * if other queues have some.
 */
const struct weir_sql weir_pg_sql_lag_guess = {
    .name = "lag guess",
    .text = "WITH" POS " SELECT p.subscription, p.pid, p.lo, " LAST_ID ", 0, 0,"
            " count(*) OVER (), p.lo, greatest(0, " LAST_ID " - greatest("
            " CASE WHEN p.next_no IS NOT NULL AND p.last_id > 0"
            " THEN least(p.lo, p.last_id) ELSE p.lo END,"
            " (SELECT a.id FROM {p}_aside a WHERE a.pid = p.pid"
            " ORDER BY a.cut DESC, a.id DESC LIMIT 1)))"
            " / count(*) OVER (PARTITION BY p.subscription)"
            " FROM pos p ORDER BY p.pid, p.subscription",
    .parameters = "i",
};

/* ---- is there anything? ------------------------------------------------------------ */

#define POS_NAMED POS_OF(" AND s.name = {2}", "")
#define OWN_ROW " l.pid >= {1} * 64 AND l.pid < {1} * 64 + 64"
#define ALL_LATE LATE_ROWS(LOWEST, "{3}")
#define ANY_ASIDE ASIDE_ROWS("1")

/*
 * Does anything wait for one subscription? No row too many is looked at when something
 * does: the first that is found ends it. When nothing does, all rows of the log behind
 * its positions have been looked at, whosever they are.
 */
const struct weir_sql weir_pg_sql_waits = {
    .name = "waits",
    .text = "WITH" POS_NAMED "," ENDED
            " SELECT CASE WHEN EXISTS (SELECT 1 FROM (SELECT " ROW " WHERE l.id > " LOWEST
            " AND" OWN_ROW " ORDER BY l.id LIMIT (SELECT {3})) l" FOR_POS ")"
            " OR EXISTS (SELECT 1 FROM" ALL_LATE FOR_POS ")"
            " OR EXISTS (SELECT 1 FROM pos p CROSS JOIN LATERAL" ANY_ASIDE ")"
            " THEN 1 ELSE 0 END",
    .parameters = "iti",
};
