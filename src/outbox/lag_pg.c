/*
 * lag_pg.c - counting what no position has passed.
 *
 * A position {c, id} has not passed a row that cut c does not see, unless cut c + 1 sees it and
 * its id is at most `id` (place.h). Where such rows can be follows from what a cut is (cut_pg.h):
 * behind hi(c), or up to it in a transaction that was running at c. So the log is read from the
 * smallest hi among the positions on, and the late rows by their transactions; never as a whole.
 *
 * Of a long backlog only the beginning is read. What is behind it is taken to be like it; also
 * when there was nothing of a partition in it, which is then an estimate of none: there may be
 * some behind the messages of other queues.
 */
#include "outbox/lag_pg.h"

#include "outbox/statements_pg.h"
#include "weir/inspect.h"

/*
 *   pos      newest ack of each partition, by index (subscription, partition, version) from its
 *            end; its cut, or the oldest kept if that was rotated away; the snapshot after it
 *   recent   by index (id). {2} is one more than may be looked at: getting that many means that
 *            there are more
 *   late     by index (xid, id); a transaction that still runs is not looked up
 *   aside    by index (partition, cut, id)
 *
 * The limit stands in a sub-select, so that the planner does not know it and takes it for small:
 * otherwise it would rather read and sort all of the log than follow the index. And a
 * statement that is taken for large is compiled first, which takes longer than it does: so `pos`
 * counts to a constant, and the upper end of `recent`, which excludes nothing, is there because
 * a range with two ends is taken for small.
 */
#define POS_OF(which)                                                                    \
    " pos AS MATERIALIZED ("                                                             \
    "SELECT s.id AS subscription, q.id * 64 + g.n AS partition, a.cut, a.last_id,"       \
    " b.no = a.cut AS kept, b.no, b.hi, b.own, b.snap, c.snap AS next_snap"              \
    " FROM {p}_queue q JOIN {p}_subscription s ON s.queue = q.id"                        \
    " JOIN generate_series(0, 63) AS g(n) ON g.n < q.partitions"                         \
    " CROSS JOIN LATERAL (SELECT k.cut, k.last_id FROM {p}_ack k"                        \
    " WHERE k.subscription = s.id AND k.partition = q.id * 64 + g.n"                     \
    " ORDER BY k.version DESC LIMIT 1) a"                                                \
    " CROSS JOIN LATERAL (SELECT k.no, k.hi, k.own, k.snap FROM {p}_cut k"               \
    " WHERE k.no >= a.cut ORDER BY k.no LIMIT 1) b"                                      \
    " LEFT JOIN LATERAL (SELECT k.snap FROM {p}_cut k"                                   \
    " WHERE k.no > b.no ORDER BY k.no LIMIT 1) c ON true"                                \
    " WHERE q.id = {1}" which ")"
#define POS POS_OF("")

#define RECENT                                                                           \
    " recent AS MATERIALIZED (SELECT l.id, l.xid, l.partition, l.created_us"             \
    " FROM {p}_log l WHERE l.id > (SELECT min(hi) FROM pos)"                             \
    " AND l.id <= (SELECT last_value FROM {p}_log_id)"                                   \
    " ORDER BY l.id LIMIT (SELECT {2}))"

#define STRETCH WEIR_PG_STRETCH("pg_snapshot_xmax(b.snap)", "b.own")
#define RUNNING                                                                          \
    " running AS MATERIALIZED (SELECT DISTINCT r.xid"                                    \
    " FROM (SELECT DISTINCT ON (p.no) p.own, p.snap FROM pos p ORDER BY p.no) b"         \
    " CROSS JOIN LATERAL (SELECT x.xid FROM pg_snapshot_xip(b.snap) AS x(xid)"           \
    " UNION ALL (WITH RECURSIVE" STRETCH                                                 \
    " SELECT t.xid FROM stretch t WHERE t.xid IS NOT NULL)) r)"

#define LATE                                                                             \
    " late AS MATERIALIZED (SELECT l.* FROM running r CROSS JOIN LATERAL"                \
    " (SELECT l.id, l.xid, l.partition, l.created_us FROM {p}_log l"                     \
    " WHERE l.xid = r.xid AND l.id <= (SELECT min(hi) FROM pos)"                         \
    " ORDER BY l.id LIMIT (SELECT {2})) l"                                               \
    " WHERE pg_visible_in_snapshot(r.xid, (SELECT pg_current_snapshot()))"               \
    " LIMIT (SELECT {2}))"

#define WAITS                                                                            \
    " waits AS (SELECT p.subscription, p.partition,"                                     \
    " count(*) FILTER (WHERE r.is_recent) AS recent,"                                    \
    " count(*) FILTER (WHERE NOT r.is_recent) AS late,"                                  \
    " min(r.created_us) AS oldest_us"                                                    \
    " FROM (SELECT *, true AS is_recent FROM recent"                                     \
    " UNION ALL SELECT *, false FROM late) r"                                            \
    " JOIN pos p ON p.partition = r.partition"                                           \
    " WHERE NOT pg_visible_in_snapshot(r.xid, p.snap)"                                   \
    " AND NOT (p.kept AND r.id <= p.last_id AND p.next_snap IS NOT NULL"                 \
    " AND pg_visible_in_snapshot(r.xid, p.next_snap))"                                   \
    " GROUP BY p.subscription, p.partition)"

#define ASIDE                                                                            \
    " (SELECT count(*) AS rows, min(k.created_us) AS oldest_us"                          \
    " FROM (SELECT a.created_us FROM {p}_aside a WHERE a.partition = p.partition"        \
    " AND (a.cut, a.id) > (p.cut + 1, p.last_id)"                                        \
    " ORDER BY a.cut, a.id LIMIT (SELECT {2})) k) a"

const struct weir_sql weir_pg_sql_lag = {
    .name = "lag",
    .text = "WITH" POS "," RECENT "," RUNNING "," LATE "," WAITS
            " SELECT p.subscription, p.partition, coalesce(w.recent, 0),"
            " coalesce(w.late, 0) + a.rows, least(w.oldest_us, a.oldest_us),"
            " (SELECT count(*) FROM recent) = {2},"
            " (SELECT count(*) FROM late) = {2} OR a.rows = {2},"
            " (SELECT max(id) FROM recent) - (SELECT min(hi) FROM pos),"
            " (SELECT last_value FROM {p}_log_id) - (SELECT min(hi) FROM pos)"
            " FROM pos p LEFT JOIN waits w"
            " ON w.subscription = p.subscription AND w.partition = p.partition"
            " CROSS JOIN LATERAL" ASIDE " WHERE w.recent > 0 OR w.late > 0 OR a.rows > 0"
            /* An estimate of none is told too: there may be some. */
            " OR (SELECT count(*) FROM recent) = {2}"
            " ORDER BY p.subscription, p.partition",
    .parameters = "ii",
};

/*
 * Does anything wait for one subscription? No row too many is looked at when something does: the
 * first that is found ends it. When nothing does, all rows of the log behind its positions have
 * been looked at, whosever they are. Indexes and the limit as above.
 */
#define NOT_PASSED                                                                       \
    " NOT pg_visible_in_snapshot(l.xid, p.snap)"                                         \
    " AND NOT (p.kept AND l.id <= p.last_id AND p.next_snap IS NOT NULL"                 \
    " AND pg_visible_in_snapshot(l.xid, p.next_snap))"
#define OWN_ROW " l.partition >= {1} * 64 AND l.partition < {1} * 64 + 64"

#define LOG_WAITS                                                                        \
    " EXISTS (SELECT 1 FROM (SELECT l.id, l.xid, l.partition FROM {p}_log l"             \
    " WHERE l.id > (SELECT min(hi) FROM pos) AND" OWN_ROW                                \
    " ORDER BY l.id LIMIT (SELECT {3})) l"                                               \
    " JOIN pos p ON p.partition = l.partition WHERE" NOT_PASSED ")"
#define LATE_WAITS                                                                       \
    " EXISTS (SELECT 1 FROM running r CROSS JOIN LATERAL"                                \
    " (SELECT l.id, l.xid, l.partition FROM {p}_log l WHERE l.xid = r.xid"               \
    " AND l.id <= (SELECT min(hi) FROM pos) AND" OWN_ROW                                 \
    " ORDER BY l.id LIMIT (SELECT {3})) l JOIN pos p ON p.partition = l.partition"       \
    " WHERE pg_visible_in_snapshot(r.xid, (SELECT pg_current_snapshot()))"               \
    " AND" NOT_PASSED ")"
#define ASIDE_WAITS                                                                      \
    " EXISTS (SELECT 1 FROM pos p CROSS JOIN LATERAL"                                    \
    " (SELECT a.id FROM {p}_aside a WHERE a.partition = p.partition"                     \
    " AND (a.cut, a.id) > (p.cut + 1, p.last_id) ORDER BY a.cut, a.id LIMIT 1) a)"

const struct weir_sql weir_pg_sql_waits = {
    .name = "waits",
    .text = "WITH" POS_OF(" AND s.name = {2}") "," RUNNING " SELECT CASE WHEN" LOG_WAITS
                                               " OR" LATE_WAITS " OR" ASIDE_WAITS
                                               " THEN 1 ELSE 0 END",
    .parameters = "iti",
};

/* `part` is what `of_ids` ids had; how much all `ids` have if they are like these. */
static int64_t extrapolate(int64_t part, int64_t of_ids, int64_t ids)
{
    if (of_ids <= 0 || ids <= of_ids)
        return part;
    return (int64_t)((double)part * ((double)ids / (double)of_ids));
}

static void load_lag(struct weir_rows *rows, struct weir_lag *out)
{
    int64_t recent = weir_rows_integer(rows, 2);
    bool cut_short = weir_rows_boolean(rows, 5);

    if (cut_short)
        recent =
            extrapolate(recent, weir_rows_integer(rows, 7), weir_rows_integer(rows, 8));
    *out = (struct weir_lag){
        .subscription = weir_rows_integer(rows, 0),
        .pid = weir_rows_integer(rows, 1),
        .waiting = recent + weir_rows_integer(rows, 3),
        .oldest_us = weir_rows_integer(rows, 4),
        .estimate = cut_short || weir_rows_boolean(rows, 6),
    };
}

enum weir_status weir_pg_lag(const struct weir_outbox_log *self,
                             struct weir_connection *connection, int64_t queue_id,
                             weir_lag_fn visit, void *state, struct weir_error *error)
{
    struct weir_rows rows;
    struct weir_lag lag;
    enum weir_status status = weir_connection_query(
        connection, &weir_pg_sql_lag,
        VALUES(weir_integer(queue_id), weir_integer(WEIR_LAG_EXACT_MAX + 1)), &rows,
        error);

    (void)self;
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        load_lag(&rows, &lag);
        visit(state, &lag);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
