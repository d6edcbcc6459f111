/*
 * sweep_log.c - see postgres/sweep.h: a leaf of the log, and rows set aside.
 *
 *   judge    is there something to remove, and how much would have to be copied?    one
 *            scan
 *   part     up to so many rows by id, those of them that are needed go aside
 *            index by id
 *   rest     the whole leaf: what is needed and does not stand aside goes there;
 *            nothing is left out, so this is the copy that counts
 *            one scan
 *   empty    under the leaf's lock: does the cut of the copy see every row?         one
 *            scan
 *
 * Passed, per row. Places are ordered, and what a place has passed a later one has
 * passed too. So for a partition only the earliest of its subscriptions' places counts:
 * its *line*. A row is passed when it is visible in the line's cut, or in the cut after
 * it with an id up to the line's. Never by id alone: the rows of a long transaction
 * have small ids and a late cut. A cut row that is missing (I2) is older than
 * everything in the leaves (I1): nothing is visible in it.
 *
 * Why the last scan is enough. The copy has judged what it saw, with cut c as the
 * newest. Whatever cut c sees was committed before c was, so the copy has seen it; it
 * has found no row that c does not see. A row of the leaf that c sees is therefore
 * passed or aside, and one that c does not see came later. (The invariants are those of
 * postgres/sweep.c.)
 *
 * Retained rows are passed ones that their queue keeps for a while
 * (weir_queue_options.retain_ns). The leaf they are in stays.
 */
#include "base/fault_point.h"
#include "db/clock.h"
#include "outbox/postgres/sweep_step.h"
#include "outbox/schema.h"
#include "weir/outbox.h"

_Static_assert(WEIR_UNREAD_DROP == 1, "as the statements say");

/* ---- statements -------------------------------------------------------------------- */

#define LOG_LEAF                                                                         \
    "WITH RECURSIVE leaf AS NOT MATERIALIZED (SELECT tableoid, * FROM {p}_log_"

/*
 * CTE `line`: for each partition of each queue the earliest place of its subscriptions,
 * {1} being the newest cut. -1: nothing is passed; that is also what a missing ack
 * comes to. The newest ack is the first of an index scan backwards. Partitions of
 * removed queues have no line.
 */
#define LINES                                                                            \
    " place AS (SELECT q.id * 64 + p.n AS pid,"                                          \
    " CASE WHEN s.id IS NULL AND q.unread = 1 THEN {1}"                                  \
    " ELSE coalesce(a.cut, -1) END AS cut,"                                              \
    " coalesce(a.last_id, 0) AS last_id"                                                 \
    " FROM {p}_queue q CROSS JOIN LATERAL generate_series(0, q.partitions - 1) p (n)"    \
    " LEFT JOIN {p}_subscription s ON s.queue = q.id"                                    \
    " LEFT JOIN LATERAL (SELECT cut, last_id FROM {p}_ack"                               \
    " WHERE subscription = s.id AND pid = q.id * 64 + p.n"                               \
    " ORDER BY version DESC LIMIT 1) a ON true),"                                        \
    " line AS MATERIALIZED (SELECT DISTINCT ON (pid) pid, cut, last_id"                  \
    " FROM place ORDER BY pid, cut, last_id)"

/*
 * The same with the snapshots to judge rows by, and that of the newest cut. As
 * sub-selects: the planner takes a join with the cuts for a table larger than the leaf,
 * and would then put the leaf into the hash table.
 */
#define SNAPSHOTS                                                                        \
    LINES ", bar AS MATERIALIZED (SELECT pid, last_id,"                                  \
          " (SELECT c.snap FROM {p}_cut c WHERE c.no = line.cut) AS base,"               \
          " (SELECT c.snap FROM {p}_cut c WHERE c.no = line.cut + 1) AS next FROM line)"
#define IN_A_CUT                                                                         \
    "pg_visible_in_snapshot(l.xid, (SELECT c.snap FROM {p}_cut c WHERE c.no = {1}))"
#define PASSED                                                                           \
    "coalesce(pg_visible_in_snapshot(l.xid, bar.base)"                                   \
    " OR (l.id <= bar.last_id AND pg_visible_in_snapshot(l.xid, bar.next)),"             \
    " bar.pid IS NULL)"
#define ROWS " FROM leaf l LEFT JOIN bar ON bar.pid = l.pid"

/*
 * Raise the removed place of the queues that have partitions in `gone`, and count the
 * removal (I6). Row locks on them. The place is that of the furthest line: what is
 * removed is before it, and so is everything that will be. A queue that retains what is
 * passed has more before its lines: `cap` has its place behind what is removed.
 * `newest`: when the last of that was created.
 */
#define CAPPED(column)                                                                   \
    "CASE WHEN (c.cut, c.last_id) < (l.cut, l.last_id) THEN c." column " ELSE l." column \
    " END AS " column
#define RAISE(newest)                                                                    \
    " UPDATE {p}_queue q SET removals = q.removals + 1,"                                 \
    " removed_cut = greatest(q.removed_cut, r.cut),"                                     \
    " removed_id = CASE WHEN (q.removed_cut, q.removed_id) < (r.cut, r.last_id)"         \
    " THEN r.last_id ELSE q.removed_id END,"                                             \
    " whole_us = greatest(q.whole_us, CASE WHEN q.retain_us = 0 THEN {now}"              \
    " ELSE " newest " + 1 END)"                                                          \
    " FROM (SELECT DISTINCT ON (queue) * FROM (SELECT l.pid / 64 AS queue, " CAPPED(     \
        "cut") ", " CAPPED("last_id") " FROM line l LEFT JOIN cap c"                     \
                                      " ON c.queue = l.pid / 64"                         \
                                      " WHERE l.pid IN (SELECT pid FROM gone)) x"        \
                                      " ORDER BY queue, cut DESC, last_id DESC) r"       \
                                      " WHERE r.queue = q.id"

/*
 * What there is to know of a leaf at little cost: the newest cut; empty?; which leaf is
 * being filled; how large it is with what is stored out of line; is the row with the
 * highest id (by the index) in no cut yet, for then there is no need to look at the
 * others; how old is that row; at which cut was the leaf emptied; and does any queue
 * retain what is passed? {1}: bits, {2}: the leaf.
 */
static const struct weir_sql SQL_LOOK[] = WEIR_PG_EIGHT(
    "look at leaf", "ii", LOG_LEAF,
    "), newest AS (SELECT no, snap FROM {p}_cut ORDER BY no DESC LIMIT 1),"
    " last AS MATERIALIZED (SELECT xid, created_us FROM leaf ORDER BY id DESC LIMIT 1)"
    " SELECT newest.no, NOT EXISTS (SELECT FROM last),"
    " ((s.last_value >> {1}::integer) & 7),"
    " pg_table_size((SELECT tableoid FROM leaf LIMIT 1)::regclass),"
    " coalesce((SELECT NOT pg_visible_in_snapshot(xid, newest.snap) FROM last), false),"
    " {now} - (SELECT created_us FROM last),"
    " (SELECT e.emptied_cut FROM {p}_leaf e WHERE e.leaf = {2}),"
    " EXISTS (SELECT FROM {p}_queue q WHERE q.retain_us > 0)"
    " FROM {p}_log_id s CROSS JOIN newest");

/* A small table. */
static const struct weir_sql SQL_RETAINS = {
    .name = "look for queues that retain",
    .text = "SELECT EXISTS (SELECT FROM {p}_queue q WHERE q.retain_us > 0)",
    .parameters = "",
};

/* Is there a row that its queue retains? Only where some queue does: a scan, up to the
 * first. */
static const struct weir_sql SQL_IS_RETAINED[] = WEIR_PG_EIGHT(
    "look for retained rows", "", LOG_LEAF,
    ") SELECT EXISTS (SELECT FROM leaf l JOIN {p}_queue q ON q.id = l.pid / 64"
    " WHERE q.retain_us > 0 AND l.created_us > (SELECT {now}) - q.retain_us)");

/*
 * The first cut that sees every row of queues that retain, found by halving as below:
 * of a later one nothing is in this leaf. Should a cut row be missing, it is a later
 * one.
 */
static const struct weir_sql SQL_LAST_CUT[] =
    WEIR_PG_EIGHT("find last cut of leaf", "ii", LOG_LEAF,
                  "), mine AS MATERIALIZED (SELECT DISTINCT l.xid FROM leaf l"
                  " JOIN {p}_queue q ON q.id = l.pid / 64 WHERE q.retain_us > 0),"
                  " halved (below, cut) AS (SELECT e.emptied_cut, {1} FROM {p}_leaf e "
                  "WHERE e.leaf = {2}"
                  " UNION ALL SELECT CASE WHEN x.seen THEN h.below ELSE c.no END,"
                  " CASE WHEN x.seen THEN c.no ELSE h.cut END"
                  " FROM halved h JOIN {p}_cut c ON c.no = (h.below + h.cut) / 2"
                  " CROSS JOIN LATERAL (SELECT NOT EXISTS (SELECT FROM mine m"
                  " WHERE NOT pg_visible_in_snapshot(m.xid, c.snap)) AS seen) x"
                  " WHERE h.cut - h.below > 1) SELECT min(cut) FROM halved");

/*
 * An empty leaf needs no lock: all in one snapshot, which is later than that of the
 * newest cut it sees. What is not visible now is not visible in that cut either (I1).
 */
static const struct weir_sql SQL_NOTE_EMPTY[] = WEIR_PG_EIGHT(
    "note empty leaf", "i", LOG_LEAF,
    "), newest AS MATERIALIZED (SELECT max(no) AS no FROM {p}_cut)"
    " UPDATE {p}_leaf SET emptied_cut = newest.no FROM newest"
    " WHERE leaf = {1} AND emptied_cut < newest.no AND NOT EXISTS (SELECT FROM leaf)");

/* Rows in no cut, and rows that are not to be removed; stops at {2} of them. One scan
 * of the leaf, no lock that blocks another session. */
static const struct weir_sql SQL_JUDGE[] = WEIR_PG_EIGHT(
    "judge leaf", "ii", LOG_LEAF,
    ")," SNAPSHOTS " SELECT count(*) FILTER (WHERE NOT in_a_cut), count(*) FROM"
    " (SELECT " IN_A_CUT " AS in_a_cut" ROWS " WHERE NOT (" IN_A_CUT " AND " PASSED
    ") LIMIT {2}) kept");

static const struct weir_sql SQL_COUNT[] =
    WEIR_PG_EIGHT("count leaf", "i", LOG_LEAF,
                  ") SELECT count(*) FROM (SELECT FROM leaf LIMIT {1}) few");

/*
 * The cut of each transaction in `kept`: the first in which it is visible, found by
 * halving: not visible in the cut at which the leaf {2} was emptied (I1), visible in
 * the newest, {1}, and once visible, visible for good. Should a cut row be missing,
 * there is no cut and the table refuses the row: better stuck than lost.
 */
#define HALVED                                                                           \
    " halved (xid, below, cut) AS ("                                                     \
    " SELECT DISTINCT kept.xid, e.emptied_cut, {1} FROM kept, {p}_leaf e"                \
    " WHERE e.leaf = {2}"                                                                \
    " UNION ALL"                                                                         \
    " SELECT h.xid,"                                                                     \
    " CASE WHEN pg_visible_in_snapshot(h.xid, c.snap) THEN h.below ELSE c.no END,"       \
    " CASE WHEN pg_visible_in_snapshot(h.xid, c.snap) THEN c.no ELSE h.cut END"          \
    " FROM halved h JOIN {p}_cut c ON c.no = (h.below + h.cut) / 2"                      \
    " WHERE h.cut - h.below > 1)"
#define HAS_CUT " LEFT JOIN halved h ON h.xid = k.xid AND h.cut - h.below = 1"
#define SET_ASIDE                                                                        \
    "INSERT INTO {p}_aside"                                                              \
    " (pid, cut, id, created_us, uid, message_key, type, headers, payload)"
#define MESSAGE "l.id, l.created_us, l.uid, l.message_key, l.type, l.headers, l.payload"

/*
 * Of the rows behind id {3}, up to {4} of them or {5} bytes: those that a cut sees and
 * that are not passed go aside. It returns the last id, 0 if there was none, and how many
 * were copied. Repeated, it copies nothing twice: the key is (cut, id).
 */
#define RANGE                                                                            \
    " range AS MATERIALIZED (SELECT max(y.id) AS last FROM (SELECT x.id,"                \
    " row_number() OVER (ORDER BY x.id) AS n, sum(octet_length(x.payload))"              \
    " OVER (ORDER BY x.id ROWS UNBOUNDED PRECEDING) AS size"                             \
    " FROM (SELECT id, payload FROM leaf WHERE id > {3} ORDER BY id"                     \
    " LIMIT (SELECT {4})) x) y WHERE y.n = 1 OR y.size <= {5})"
static const struct weir_sql SQL_COPY_PART[] = WEIR_PG_EIGHT(
    "copy part of leaf", "iiiii", LOG_LEAF,
    ")," SNAPSHOTS "," RANGE ", kept AS MATERIALIZED (SELECT l.*" ROWS
    " WHERE l.id > {3} AND l.id <= (SELECT last FROM range)"
    " AND " IN_A_CUT " AND NOT " PASSED ")," HALVED ", copied AS (" SET_ASIDE
    " SELECT l.pid, h.cut, " MESSAGE " FROM kept l LEFT JOIN halved h"
    " ON h.xid = l.xid AND h.cut - h.below = 1"
    " ON CONFLICT (cut, id) DO NOTHING RETURNING id)"
    " SELECT coalesce((SELECT last FROM range), 0), (SELECT count(*) FROM copied)");

/*
 * The whole leaf: rows in no cut, rows that are not passed, those of them that do not
 * stand aside, and how many were copied: these, if they are no more than {3} and every
 * row is in a cut.
 */
static const struct weir_sql SQL_COPY_REST[] = WEIR_PG_EIGHT(
    "copy rest of leaf", "iii", LOG_LEAF,
    ")," SNAPSHOTS ", seen AS MATERIALIZED (SELECT l.xid, l.id, " IN_A_CUT
    " AS in_a_cut" ROWS " WHERE NOT (" IN_A_CUT " AND " PASSED ")),"
    " kept AS MATERIALIZED (SELECT xid, id FROM seen WHERE in_a_cut)," HALVED
    ", missing AS MATERIALIZED (SELECT k.id, h.cut FROM kept k" HAS_CUT
    " LEFT JOIN {p}_aside a ON a.cut = h.cut AND a.id = k.id WHERE a.id IS NULL),"
    " tally AS MATERIALIZED (SELECT"
    " (SELECT count(*) FROM seen WHERE NOT in_a_cut) AS uncut,"
    " (SELECT count(*) FROM kept) AS kept, (SELECT count(*) FROM missing) AS missing),"
    " copied AS (" SET_ASIDE " SELECT l.pid, m.cut, " MESSAGE
    " FROM leaf l JOIN missing m ON m.id = l.id"
    " WHERE (SELECT uncut = 0 AND missing <= {3} FROM tally) RETURNING id)"
    " SELECT t.uncut, t.kept, t.missing, (SELECT count(*) FROM copied) FROM tally t");

/* After setting aside: positions have only moved on since, so what was left out above
 * is behind the place that is written here (I4). {2}: no row of a queue that retains
 * has a later cut. */
static const struct weir_sql SQL_RAISE_REMOVED[] =
    WEIR_PG_EIGHT("raise removed", "ii", LOG_LEAF,
                  ")," LINES ", gone AS MATERIALIZED (SELECT DISTINCT pid FROM leaf),"
                  " cap AS (SELECT id AS queue, {2} AS cut, 0::bigint AS last_id"
                  " FROM {p}_queue WHERE retain_us > 0)" RAISE(
                      "(SELECT max(l.created_us) FROM leaf l WHERE l.pid / 64 = q.id)"));

/* All rows, and those that cut {1} does not see. */
static const struct weir_sql SQL_JUDGE_LOCKED[] = WEIR_PG_EIGHT(
    "judge locked leaf", "i", LOG_LEAF,
    ") SELECT count(*), count(*) FILTER (WHERE " IN_A_CUT " IS NOT TRUE) FROM leaf l");

/* The same, of which one is enough. */
static const struct weir_sql SQL_IS_COVERED[] = WEIR_PG_EIGHT(
    "look for later rows", "i", LOG_LEAF,
    ") SELECT NOT EXISTS (SELECT FROM leaf l WHERE " IN_A_CUT " IS NOT TRUE)");

static const struct weir_sql SQL_NOTE_EMPTIED = {
    .name = "note emptied leaf",
    .text =
        "UPDATE {p}_leaf SET emptied_cut = greatest(emptied_cut, {1}) WHERE leaf = {2}",
    .parameters = "ii",
};

/*
 * Up to {2} rows set aside that all have passed and nothing retains (only a restore
 * sets such aside), or whose queue is gone. In one snapshot, so that the removed place
 * covers what is deleted. A row of cut c and id i is behind {c - 1, i}.
 */
static const struct weir_sql SQL_DELETE_ASIDE = {
    .name = "delete aside",
    .text = "WITH" LINES ", gone AS (DELETE FROM {p}_aside WHERE (cut, id) IN"
            " (SELECT a.cut, a.id FROM {p}_aside a"
            " LEFT JOIN line ON line.pid = a.pid"
            " WHERE line.pid IS NULL"
            " OR ((a.cut - 1, a.id) <= (line.cut, line.last_id)"
            " AND a.created_us <= {now} - coalesce((SELECT k.retain_us FROM {p}_queue k"
            "  WHERE k.id = a.pid / 64), 0))"
            " LIMIT {2}) RETURNING pid, cut, id, created_us),"
            " cap AS (SELECT DISTINCT ON (n.id) n.id AS queue, g.cut - 1 AS cut,"
            " g.id AS last_id FROM gone g JOIN {p}_queue n ON n.id = g.pid / 64"
            " WHERE n.retain_us > 0 ORDER BY n.id, g.cut DESC, g.id DESC),"
            " raised AS (" RAISE("(SELECT max(g.created_us) FROM gone g WHERE g.pid / 64 "
                                 "= q.id)") ")"
                                            " SELECT count(*) FROM gone",
    .parameters = "ii",
};

/* ---- judging ----------------------------------------------------------------------- */

enum verdict { LEAVE, COPY_IN_PARTS, COPY, EMPTY };

struct look {
    int64_t newest_cut;
    int64_t emptied_cut;
    bool empty;
    bool filling;       /* it is the leaf that ids are taken of */
    bool next;          /* it is the next to be filled */
    bool stood;         /* a long time, or it is the next to be filled */
    bool retains;       /* some queue does; this leaf may have nothing of it */
    bool worth_judging; /* there may be something to remove */
};

static enum weir_status look_at_leaf(struct weir_pg_step *self, struct look *out)
{
    enum { NEWEST, IS_EMPTY, CURRENT, SIZE, UNCUT, AGE_US, EMPTIED, RETAINS, COLUMNS };
    int64_t seen[COLUMNS];
    enum weir_status status = weir_pg_step_ask(
        self, &SQL_LOOK[self->leaf],
        VALUES(weir_integer(self->log->segment_bits), weir_integer(self->leaf)),
        "ifiifiif", seen);

    *out = (struct look){.newest_cut = seen[NEWEST],
                         .emptied_cut = seen[EMPTIED],
                         .empty = seen[IS_EMPTY] != 0,
                         .filling = seen[CURRENT] == self->leaf,
                         .next = (seen[CURRENT] + 1) % WEIR_LOG_LEAVES == self->leaf,
                         .retains = seen[RETAINS] != 0};
    out->stood =
        !out->filling && (seen[AGE_US] >= self->limits.stood_ns / 1000 || out->next);
    out->worth_judging = !out->empty && !seen[UNCUT] &&
                         (!out->filling || seen[SIZE] > WEIR_SWEEP_SIZE_MIN);
    return status;
}

/* How much of the leaf may be copied: nothing needs to be found out beyond that. */
static int64_t kept_max(const struct weir_pg_step *self, const struct look *look)
{
    int64_t most = ((int64_t)1 << self->log->segment_bits) / WEIR_SWEEP_KEPT_PART;

    if (look->stood)
        return INT64_MAX - 1;
    return look->filling && most > WEIR_SWEEP_KEPT_BUSY ? WEIR_SWEEP_KEPT_BUSY : most;
}

/* Is it worth while to copy? A leaf of which all is needed is not looked at again
 * at once. */
static enum weir_status judge(struct weir_pg_step *self, const struct look *look,
                              enum verdict *verdict)
{
    enum { UNCUT, KEPT, COLUMNS };
    int64_t most = kept_max(self, look);
    int64_t seen[COLUMNS];
    int64_t enough;
    int64_t rows = 0;
    enum weir_status status = weir_pg_step_ask(
        self, &SQL_JUDGE[self->leaf],
        VALUES(weir_integer(look->newest_cut), weir_integer(most + 1)), "ii", seen);

    if (status != WEIR_OK || seen[UNCUT] > 0 || seen[KEPT] > most)
        return status;
    enough = look->stood ? seen[KEPT] + 1 : seen[KEPT] * WEIR_SWEEP_KEPT_PART;
    if (seen[KEPT] > 0)
        status = weir_pg_step_ask(self, &SQL_COUNT[self->leaf],
                                  VALUES(weir_integer(enough)), "i", &rows);
    if (status == WEIR_OK && (seen[KEPT] == 0 || rows == enough))
        *verdict = seen[KEPT] > self->limits.copy_rows ? COPY_IN_PARTS : COPY;
    else if (status == WEIR_OK && look->stood)
        self->state->pg.rest_ns[self->leaf] = weir_clock_now_ns() + WEIR_SWEEP_REST_NS;
    return status;
}

struct judging {
    struct weir_pg_copy copy;
    enum verdict verdict;
};

/* A copy covers the leaf when its cut sees every row that is there. */
static enum weir_status judge_copy(struct weir_pg_step *self, const struct look *look,
                                   struct judging *out)
{
    int64_t covered = 0;
    enum weir_status status =
        weir_pg_copy_load(self->connection, self->name, &out->copy, self->error);

    if (status == WEIR_OK && out->copy.mark > look->emptied_cut)
        status = weir_pg_step_ask(self, &SQL_IS_COVERED[self->leaf],
                                  VALUES(weir_integer(out->copy.mark)), "f", &covered);
    if (status == WEIR_OK && covered != 0)
        out->verdict = EMPTY;
    return status;
}

/*
 * A leaf with something that is retained stays as it is, with everything else in it:
 * nothing of it goes aside. When ids are about to come round to it, it is given up; it
 * is the oldest.
 */
static enum weir_status judge_retained(struct weir_pg_step *self, const struct look *look,
                                       bool *retained)
{
    int64_t seen = 0;
    enum weir_status status = WEIR_OK;

    if (look->retains && !look->next)
        status =
            weir_pg_step_ask(self, &SQL_IS_RETAINED[self->leaf], NO_VALUES, "f", &seen);
    *retained = status == WEIR_OK && seen != 0;
    if (*retained)
        self->state->pg.rest_ns[self->leaf] = weir_clock_now_ns() + WEIR_SWEEP_REST_NS;
    return status;
}

/* A transaction that locks nothing but other sweeps. */
static enum weir_status look_and_judge(struct weir_pg_step *self, void *argument,
                                       bool *done)
{
    struct judging *out = argument;
    struct look look = {0};
    bool retained = false;
    enum weir_status status = look_at_leaf(self, &look);

    *done = true;
    if (status == WEIR_OK && look.empty)
        status =
            weir_connection_execute(self->connection, &SQL_NOTE_EMPTY[self->leaf],
                                    VALUES(weir_integer(self->leaf)), NULL, self->error);
    if (status != WEIR_OK || !look.worth_judging)
        return status;
    status = judge_copy(self, &look, out);
    if (status == WEIR_OK && out->verdict == LEAVE)
        status = judge_retained(self, &look, &retained);
    if (status == WEIR_OK && out->verdict == LEAVE && !retained)
        status = judge(self, &look, &out->verdict);
    return status;
}

/* ---- copying ----------------------------------------------------------------------- */

/* *argument: whether there may be more. */
static enum weir_status copy_part(struct weir_pg_step *self, void *argument, bool *done)
{
    enum { LAST, COPIED, COLUMNS };
    bool *more = argument;
    int64_t seen[COLUMNS] = {0};
    int64_t newest_cut = 0;
    enum weir_status status = weir_pg_step_newest_cut(self, &newest_cut);

    if (status == WEIR_OK)
        status =
            weir_pg_step_ask(self, &SQL_COPY_PART[self->leaf],
                             VALUES(weir_integer(newest_cut), weir_integer(self->leaf),
                                    weir_integer(self->state->cursor),
                                    weir_integer(self->limits.copy_rows),
                                    weir_integer(WEIR_SWEEP_COPY_BYTES)),
                             "ii", seen);
    if (status != WEIR_OK)
        return status;
    *more = seen[LAST] > 0;
    if (*more)
        self->state->cursor = seen[LAST];
    self->report->aside += seen[COPIED];
    *done = true;
    return WEIR_OK;
}

static enum weir_status raise_removed(struct weir_pg_step *self, int64_t newest_cut)
{
    int64_t last_cut = newest_cut;
    int64_t retains = 0;
    enum weir_status status =
        weir_pg_step_ask(self, &SQL_RETAINS, NO_VALUES, "f", &retains);

    if (status == WEIR_OK && retains != 0)
        status = weir_pg_step_ask(
            self, &SQL_LAST_CUT[self->leaf],
            VALUES(weir_integer(newest_cut), weir_integer(self->leaf)), "i", &last_cut);
    if (status != WEIR_OK)
        return status;
    return weir_connection_execute(
        self->connection, &SQL_RAISE_REMOVED[self->leaf],
        VALUES(weir_integer(newest_cut), weir_integer(last_cut)), NULL, self->error);
}

/* *argument: the verdict; more than a part missing is left for another round. */
static enum weir_status copy_rest(struct weir_pg_step *self, void *argument, bool *done)
{
    enum { UNCUT, KEPT, MISSING, COPIED, COLUMNS };
    enum verdict *verdict = argument;
    int64_t seen[COLUMNS] = {0};
    int64_t newest_cut = 0;
    enum weir_status status = weir_pg_step_newest_cut(self, &newest_cut);

    if (status == WEIR_OK)
        status =
            weir_pg_step_ask(self, &SQL_COPY_REST[self->leaf],
                             VALUES(weir_integer(newest_cut), weir_integer(self->leaf),
                                    weir_integer(self->limits.copy_rows)),
                             "iiii", seen);
    if (status != WEIR_OK || seen[UNCUT] > 0 || seen[MISSING] > seen[COPIED])
        return status;
    status = raise_removed(self, newest_cut);
    if (status == WEIR_OK)
        status = weir_pg_copy_store(self->connection, self->name, newest_cut, seen[KEPT],
                                    self->error);
    if (status != WEIR_OK)
        return status;
    self->report->aside += seen[COPIED];
    *verdict = EMPTY;
    *done = true;
    return WEIR_OK;
}

/* One part, and then the step comes again; behind the last one, the rest. */
static enum weir_status copy_in_parts(struct weir_pg_step *self, enum verdict *verdict)
{
    bool more = false;
    enum weir_status status = weir_pg_step_copy(self, copy_part, &more);

    (void)WEIR_POINT(self->log->points, "sweep.part");
    self->again = status == WEIR_OK && more;
    *verdict = status == WEIR_OK && !more && self->state->cursor > 0 ? COPY : LEAVE;
    return status;
}

static enum weir_status copy(struct weir_pg_step *self, struct judging *judging)
{
    enum weir_status status;

    judging->verdict = LEAVE;
    status = weir_pg_step_copy(self, copy_rest, &judging->verdict);
    if (status != WEIR_OK || judging->verdict != EMPTY)
        return status;
    (void)WEIR_POINT(self->log->points, "sweep.copied");
    return weir_pg_copy_load(self->connection, self->name, &judging->copy, self->error);
}

/* ---- emptying ---------------------------------------------------------------------- */

/* Nothing in the leaf can change any more. Cuts and positions may, and only forward. */
static enum weir_status judge_locked(struct weir_pg_step *self, void *argument,
                                     bool *done)
{
    enum { ROWS_SEEN, LATER, COLUMNS };
    const struct weir_pg_copy *newest = argument;
    int64_t seen[COLUMNS];
    int64_t newest_cut = 0;
    enum weir_status status =
        weir_pg_step_ask(self, &SQL_JUDGE_LOCKED[self->leaf],
                         VALUES(weir_integer(newest->mark)), "ii", seen);

    if (status != WEIR_OK || seen[LATER] > 0)
        return status;
    status = weir_pg_step_newest_cut(self, &newest_cut);
    if (status == WEIR_OK)
        status = weir_connection_execute(
            self->connection, &SQL_NOTE_EMPTIED,
            VALUES(weir_integer(newest_cut), weir_integer(self->leaf)), NULL,
            self->error);
    self->report->removed = seen[ROWS_SEEN] - newest->kept;
    *done = status == WEIR_OK;
    return status;
}

static enum weir_status empty(struct weir_pg_step *self, const struct weir_pg_copy *copy)
{
    bool clear = false;
    enum weir_status status = weir_pg_step_wait(self, copy, &clear);

    if (status != WEIR_OK || !clear)
        return status;
    return weir_pg_step_empty(self, copy, judge_locked);
}

/* Nothing to look for yet: it waits for a snapshot, or all of it was needed just now. */
static enum weir_status is_resting(struct weir_pg_step *self, bool *out)
{
    struct weir_pg_copy copy;
    bool clear = false;
    enum weir_status status;

    *out = self->state->pg.rest_ns[self->leaf] > weir_clock_now_ns();
    if (*out || self->wait->no == 0)
        return WEIR_OK;
    status = weir_pg_copy_load(self->connection, self->name, &copy, self->error);
    if (status == WEIR_OK && copy.no == self->wait->no) {
        status = weir_pg_step_wait(self, &copy, &clear);
        *out = !clear;
    }
    return status;
}

enum weir_status weir_pg_sweep_log(struct weir_pg_step *self)
{
    struct judging judging = {.verdict = LEAVE};
    bool resting = false;
    enum weir_status status = WEIR_OK;

    if (self->state->cursor > 0) {
        judging.verdict = COPY_IN_PARTS;
    } else {
        status = is_resting(self, &resting);
        if (status == WEIR_OK && !resting)
            status = weir_pg_step_alone(self, look_and_judge, &judging);
        if (status == WEIR_OK && judging.verdict != LEAVE)
            (void)WEIR_POINT(self->log->points, "sweep.judged");
    }
    if (status == WEIR_OK && judging.verdict == COPY_IN_PARTS)
        status = copy_in_parts(self, &judging.verdict);
    if (status == WEIR_OK && judging.verdict == COPY)
        status = copy(self, &judging);
    if (status == WEIR_OK && judging.verdict == EMPTY)
        status = empty(self, &judging.copy);
    return status;
}

/* ---- rows set aside ---------------------------------------------------------------- */

static enum weir_status delete_aside(struct weir_pg_step *self, void *argument,
                                     bool *done)
{
    int64_t newest_cut = 0;
    enum weir_status status = weir_pg_step_newest_cut(self, &newest_cut);

    (void)argument;
    if (status == WEIR_OK)
        status = weir_pg_step_ask(
            self, &SQL_DELETE_ASIDE,
            VALUES(weir_integer(newest_cut), weir_integer(WEIR_SWEEP_ASIDE_MAX)), "i",
            &self->report->removed);
    *done = status == WEIR_OK;
    return status;
}

enum weir_status weir_pg_sweep_aside(struct weir_pg_step *self)
{
    enum weir_status status = weir_pg_step_copy(self, delete_aside, NULL);

    self->again = status == WEIR_OK && self->report->removed == WEIR_SWEEP_ASIDE_MAX;
    return status;
}
