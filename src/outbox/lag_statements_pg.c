/*
 * lag_statements_pg.c - the statements that find what a position has not passed.
 *
 * A position {c, id} has not passed a row that cut c does not see, unless cut c + 1 sees it and
 * its id is at most `id` (place.h). Where such rows can be follows from what a cut is (cut_pg.h).
 * Each position has a mark `lo`:
 *
 *   hi(c)                      when nothing of cut c + 1 is passed, or c + 1 is not made yet
 *   min(id, hi(c + 1))         when that is more: so a large cut is entered where the reader is
 *
 * A row that is not passed lies behind `lo`, or belongs to a transaction that was running at cut c
 * or, if `lo` is in cut c + 1, at that one. The first are found by index (id), the others, the
 * *late* ones, by index (xid, id). Both hold for every mark before `lo` too, so one mark serves
 * many positions.
 *
 * How the planner is kept on the indexes, though nobody analyzes the leaves: limits stand in
 * sub-selects, so that it does not know them and takes them for small; otherwise it would rather
 * read and sort all of the log. A statement that is taken for large is compiled first, which takes
 * longer than it does: so `pos` counts to a constant, and ranges have two ends, which are taken for
 * small.
 */
#include "outbox/statements_pg.h"

/*
 * Newest ack of each partition, by index (subscription, partition, version) from its end; its
 * cut, or the oldest kept if that was rotated away; the cut after it, if the position may have
 * passed some of it.
 */
#define POS_OF(which, such)                                                              \
    " pos AS MATERIALIZED (SELECT * FROM ("                                              \
    "SELECT s.id AS subscription, q.id * 64 + g.n AS partition, a.cut, a.last_id,"       \
    " b.no, b.hi, b.own, b.snap, pg_snapshot_xmin(b.snap) AS oldest,"                    \
    " c.no AS next_no, c.own AS next_own, c.snap AS next_snap,"                          \
    " CASE WHEN c.no IS NULL THEN b.hi"                                                  \
    " ELSE greatest(b.hi, least(a.last_id, c.hi)) END AS lo"                             \
    " FROM {p}_queue q JOIN {p}_subscription s ON s.queue = q.id"                        \
    " JOIN generate_series(0, 63) AS g(n) ON g.n < q.partitions"                         \
    " CROSS JOIN LATERAL (SELECT k.cut, k.last_id FROM {p}_ack k"                        \
    " WHERE k.subscription = s.id AND k.partition = q.id * 64 + g.n"                     \
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
#define ROW "l.id, l.xid, l.partition, l.created_us FROM {p}_log l"
#define LAST_ID "(SELECT last_value FROM {p}_log_id)"

/*
 * `ended`: the transactions that late rows can have and that are committed now; rows up to
 * `after` are passed by all, and so is everything when it is null. One that still runs is not
 * looked up, however much it has written.
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
    " (SELECT a.id, a.created_us FROM {p}_aside a WHERE a.partition = p.partition"       \
    " AND (a.cut, a.id) > (p.cut + 1, p.last_id) ORDER BY a.cut, a.id"                   \
    " LIMIT (SELECT " max ")) a"

/* ---- where to begin ----------------------------------------------------------------------- */

#define LOWEST "(SELECT min(lo) FROM pos)"
#define LATE_COUNT                                                                       \
    " (SELECT count(*) FROM (SELECT FROM" LATE_ROWS(LOWEST,                              \
                                                    "{2}") " LIMIT (SELECT {2})) k)"
#define FIRST_LATE " (SELECT min(l.id) FROM" LATE_ROWS(LOWEST, "1") ")"

/* The marks; the last id given out; how many late rows there are before the lowest mark, up to
 * {2}; the id of the first of them, or null; and how many rows this gives. */
const struct weir_sql weir_pg_sql_lag_marks = {
    .name = "lag marks",
    .text = "WITH" POS "," ENDED " SELECT p.subscription, p.partition, p.lo, " LAST_ID
            "," LATE_COUNT "," FIRST_LATE
            ", count(*) OVER () FROM pos p ORDER BY p.partition, p.subscription",
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
 * Where rows are behind an id: the segments (of 2^{2} ids) that have any, each from its first row
 * to its end. By index (id), one look-up for each; those that were emptied cost nothing.
 */
const struct weir_sql weir_pg_sql_lag_pieces = {
    .name = "lag pieces",
    .text = "WITH RECURSIVE" PIECES " SELECT first, last FROM piece LIMIT (SELECT {3})",
    .parameters = "iii",
};

/* ---- estimating --------------------------------------------------------------------------- */

#define SAMPLE_LATE LATE("{4}", "{5}")

/*
 * What waits among the {3} ids behind each of {2}, and, exactly, among the late rows up to {4},
 * of which {5} are looked at. By index (id) and (xid, id).
 */
const struct weir_sql weir_pg_sql_lag_sample = {
    .name = "lag sample",
    .text = "WITH" POS "," ENDED "," SAMPLE_LATE
            " SELECT p.subscription, p.partition, count(*) FILTER (WHERE l.sampled),"
            " count(*) FILTER (WHERE NOT l.sampled), min(l.created_us)"
            " FROM (SELECT l.*, true AS sampled FROM unnest({2}) AS w(start)"
            " CROSS JOIN LATERAL (SELECT " ROW " WHERE l.id > w.start"
            " AND l.id <= w.start + {3} ORDER BY l.id LIMIT (SELECT {3})) l"
            " UNION ALL SELECT l.*, false FROM late l) l"
            " JOIN pos p ON p.partition = l.partition WHERE" NOT_PASSED
            " GROUP BY p.subscription, p.partition",
    .parameters = "iIiii",
};

#define SOME_ASIDE ASIDE_ROWS("{2}")

/* Up to {2} rows set aside for each position, by index (partition, cut, id): how many, the first
 * id, the last of them, the last there is, and the time of the oldest. */
const struct weir_sql weir_pg_sql_lag_aside = {
    .name = "lag aside",
    .text = "WITH" POS " SELECT p.subscription, p.partition, k.rows, k.first, k.counted,"
            " (SELECT a.id FROM {p}_aside a WHERE a.partition = p.partition"
            " ORDER BY a.cut DESC, a.id DESC LIMIT 1), k.oldest_us"
            " FROM pos p CROSS JOIN LATERAL (SELECT count(*) AS rows, min(a.id) AS first,"
            " max(a.id) AS counted, min(a.created_us) AS oldest_us"
            " FROM" SOME_ASIDE ") k WHERE k.rows > 0",
    .parameters = "ii",
};

/* ---- counting ----------------------------------------------------------------------------- */

#define POS_BEHIND POS_OF("", " WHERE x.lo >= {2}")
#define COUNT_LATE LATE("{3}", "{6}")
#define COUNT_ASIDE                                                                      \
    "SELECT p.subscription, p.partition, a.created_us FROM pos p CROSS JOIN "            \
    "LATERAL" ASIDE_ROWS("{5}")
#define WAITING "SELECT p.subscription, p.partition, l.created_us FROM "
#define FOR_POS " JOIN pos p ON p.partition = l.partition WHERE" NOT_PASSED
#define OF_THESE " l.partition IN (SELECT unnest({4})::integer)"

/*
 * What waits for the positions whose mark is {2} or later, counted up to {5}, looking at {6} rows
 * of each kind. By index (id) behind {3}, and between {2} and {3} for the partitions {4}; others
 * have no mark there, and only late rows, which are found by their transactions. All kinds in one
 * statement, so that a row that is set aside meanwhile counts once. The last column says whether there
 * is more; one row of nobody says so of late rows that were not looked at.
 *
 * The sub-select of partitions is a hash table that is filled once; behind an OR it cannot become
 * a join, which keeps no order.
 */
const struct weir_sql weir_pg_sql_lag_count = {
    .name = "lag count",
    .text =
        "WITH" POS_BEHIND "," ENDED "," COUNT_LATE
        " SELECT w.subscription, w.partition, count(*), min(w.created_us),"
        " sum(count(*)) OVER () >= {5}"
        " FROM (" COUNT_ASIDE " UNION ALL " WAITING "late l" FOR_POS
        " AND (l.id <= {2} OR NOT" OF_THESE ")"
        " UNION ALL " WAITING "(SELECT " ROW " WHERE l.id > {2} AND l.id <= {3}"
        " AND ({4} IS NULL OR" OF_THESE ") ORDER BY l.id LIMIT (SELECT {6})) l" FOR_POS
        " UNION ALL " WAITING "(SELECT " ROW " WHERE l.id > {3} AND l.id <= " LAST_ID
        " ORDER BY l.id LIMIT (SELECT {6})) l" FOR_POS
        " LIMIT (SELECT {5})) w GROUP BY w.subscription, w.partition"
        " UNION ALL SELECT 0, 0, 0, NULL, (SELECT count(*) FROM late) = {6}",
    .parameters = "iiiIii",
};

/* ---- is there anything? ------------------------------------------------------------------- */

#define POS_NAMED POS_OF(" AND s.name = {2}", "")
#define OWN_ROW " l.partition >= {1} * 64 AND l.partition < {1} * 64 + 64"
#define ALL_LATE LATE_ROWS(LOWEST, "{3}")
#define ANY_ASIDE ASIDE_ROWS("1")

/*
 * Does anything wait for one subscription? No row too many is looked at when something does: the
 * first that is found ends it. When nothing does, all rows of the log behind its positions have
 * been looked at, whosever they are.
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
