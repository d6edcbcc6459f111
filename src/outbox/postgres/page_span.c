/*
 * page_span.c - see postgres/page_span.h.
 *
 * The rows of a span are found by two ways: those with an id behind `hi` of the first
 * cut's predecessor by index (id), and the late ones below it by index (xid, id), one
 * scan for each transaction that ran at that cut and that the last cut of the span sees.
 *
 * The cut of a row is computed from its transaction. Snapshots grow, so a transaction is
 * seen by the first cut whose xmax is above it, unless it was running then; and a
 * running one by the cut behind the last in whose list it is:
 *
 *   xmax of the cuts    700   703   703   709        transaction 701:  cut 1
 *   running             699    -    702   702                    699:  cut 1
 *                        |     |     |     |                     702:  cut 4 at the
 *   cut                base    1     2     3                           earliest
 *
 * So two sorted arrays are made once per statement (the xmax of each cut; of each
 * transaction that ran, the last cut with it), and a row costs a binary search in each.
 * Asking snapshot by snapshot takes time in proportion to the cuts for every row.
 *
 * What a statement reads of the cuts is bounded by their number and by the size of their
 * snapshots. It is not looked at at all when already the first cut is too large: a large
 * cut among small ones costs its predecessor and its successor one look-up each.
 */
#include "outbox/postgres/page_span.h"

#include "base/no_memory.h"
#include "outbox/postgres/statements.h"

/* ---- the statement ----------------------------------------------------------------- */

#define MESSAGE "id, pid, uid, created_us, message_key, type, headers, payload"
#define WANTED "({3} IS NULL OR pid IN (SELECT unnest({3})::integer))"

/* The cut of the position, and the one after it. What is used more than once is made
 * once. A limit of 1 keeps to the index. */
#define CUT_OF(number)                                                                   \
    "(SELECT k.* FROM (SELECT no, hi, top, own, snap FROM {p}_cut WHERE no >= " number   \
    " ORDER BY no LIMIT 1) k WHERE k.no = " number ")"
#define BASE " base AS " CUT_OF("{1}") ", behind AS " CUT_OF("{1} + 1")

/*
 * The cuts of the span, and the last of them. The range of numbers is empty when the
 * first alone has an eighth of the ids: rows of one cut are cheaper to read without
 * finding out which it is. Its end is not known to the planner, which takes it for near.
 * A `top` may be above the next one's (I5 of cut.c): without the maximum, the limit of
 * ids could leave out a cut and keep the one behind it.
 */
#define NEAR                                                                             \
    " near AS (SELECT m.no, m.top, m.snap FROM (SELECT no, snap,"                        \
    " max(top) OVER w AS top, row_number() OVER w AS n,"                                 \
    " sum(pg_column_size(snap)) OVER w AS size"                                          \
    " FROM (SELECT no, top, snap FROM {p}_cut WHERE no > {1} AND no <= {1} +"            \
    " (SELECT CASE WHEN f.top - b.hi <= {2} / 8 THEN {2} / 2 ELSE 0 END"                 \
    " FROM base b, behind f) ORDER BY no LIMIT (SELECT {2})) k"                          \
    " WINDOW w AS (ORDER BY no)) m WHERE m.no = {1} + m.n"                               \
    " AND m.top <= {2} + (SELECT hi FROM base) AND (m.size <= 262144 OR m.n = 1)),"      \
    " last AS (SELECT no, top, snap FROM near ORDER BY no DESC LIMIT 1)"

/* See above: ends[1] is of `base`. A snapshot whose xmin is its xmax has no list: to call
 * the function that unfolds it takes longer than all else that is done for a cut. */
#define ENDS                                                                             \
    " span AS (SELECT no, snap FROM base UNION ALL"                                      \
    " SELECT no, snap FROM near),"                                                       \
    " ends AS (SELECT array("                                                            \
    "SELECT pg_snapshot_xmax(snap) FROM span ORDER BY no) AS xmax),"                     \
    " ran AS (SELECT array_agg(r.xid ORDER BY r.xid) AS xid,"                            \
    " array_agg(r.no ORDER BY r.xid) AS no FROM (SELECT x.xid, max(s.no) AS no"          \
    " FROM span s, pg_snapshot_xip(s.snap) AS x(xid)"                                    \
    " WHERE pg_snapshot_xmin(s.snap) < pg_snapshot_xmax(s.snap) GROUP BY x.xid) r)"
#define CUT_OF_ROW                                                                       \
    "greatest({1} + width_bucket(o.xid, (SELECT xmax FROM ends)),"                       \
    " CASE WHEN (SELECT xid FROM ran) IS NOT NULL THEN"                                  \
    " (SELECT r.no[i.at] + 1 FROM ran r,"                                                \
    " LATERAL (SELECT width_bucket(o.xid, r.xid) AS at) i"                               \
    " WHERE r.xid[i.at] = o.xid) END)"

/* Transactions that ran at `base` and that the last cut sees. Without a span nothing is
 * looked up: a bound is null. */
#define STRETCH                                                                          \
    WEIR_PG_STRETCH("(SELECT pg_snapshot_xmax(b.snap) FROM base b, last)",               \
                    "(SELECT own FROM base)")
#define LATE                                                                             \
    " late AS (SELECT xid FROM (SELECT x.xid FROM base b, last"                          \
    ", pg_snapshot_xip(b.snap) AS x(xid) WHERE x.xid < b.own"                            \
    " UNION ALL SELECT xid FROM stretch WHERE xid IS NOT NULL) r"                        \
    " WHERE pg_visible_in_snapshot(xid, (SELECT snap FROM last)))"

/* The limit of the first changes nothing, there are no more ids: without it a plan with
 * a sort may be chosen. */
#define FROM_LOG                                                                         \
    "SELECT * FROM (SELECT o.id, o.pid, o.uid, o.created_us, o.message_key, o.type,"     \
    " o.headers, o.payload, " CUT_OF_ROW " AS cut FROM"                                  \
    " ((SELECT xid, " MESSAGE " FROM {p}_log"                                            \
    " WHERE id > (SELECT b.hi FROM base b, last)"                                        \
    " AND id <= (SELECT top FROM last) ORDER BY id LIMIT (SELECT {2}))"                  \
    " UNION ALL SELECT t.* FROM late, LATERAL"                                           \
    " (SELECT l.xid, " MESSAGE " FROM {p}_log l WHERE l.xid = late.xid"                  \
    " AND l.id <= (SELECT hi FROM base) AND " WANTED                                     \
    " ORDER BY l.id LIMIT (SELECT {4})) t) o WHERE " WANTED " OFFSET 0) c"               \
    " WHERE c.cut > {1} AND c.cut <= (SELECT no FROM last)"
#define FROM_ASIDE                                                                       \
    "(SELECT " MESSAGE ", cut FROM {p}_aside"                                            \
    " WHERE cut > {1} AND cut <= (SELECT no FROM last) AND " WANTED                      \
    " ORDER BY cut, id LIMIT (SELECT {4}))"

/*
 * The first row, with id 0: the removals of page.h as its type; numbers as its key, null
 * when there is no `base`; and the two snapshots as its headers, when no span was read.
 */
#define LATE_ROWS                                                                        \
    "pg_snapshot_xmax(b.snap) < b.own OR EXISTS (SELECT"                                 \
    " FROM pg_snapshot_xip(b.snap) AS x(xid) WHERE x.xid < b.own"                        \
    " AND pg_visible_in_snapshot(x.xid, f.snap))"                                        \
    " OR EXISTS (SELECT FROM {p}_aside a WHERE a.cut = f.no AND a.id <= b.hi)"
#define HEAD                                                                             \
    "(SELECT 0::bigint, 0, NULL::bytea, 0::bigint,"                                      \
    " (SELECT concat_ws(' ', coalesce((SELECT no FROM last), 0),"                        \
    " (SELECT no FROM {p}_cut ORDER BY no DESC LIMIT 1),"                                \
    " b.no, b.hi, b.own, f.no, f.hi, f.top, f.own, (" LATE_ROWS ")::integer)"            \
    " FROM base b, behind f),"                                                           \
    " (SELECT string_agg(concat_ws(' ', q.id, q.removed_cut, q.removed_id, q.removals)," \
    " ' ') FROM {p}_queue q WHERE q.id BETWEEN {6} AND {7}),"                            \
    " (SELECT concat_ws(' ', b.snap, f.snap) FROM base b, behind f"                      \
    " WHERE NOT EXISTS (SELECT FROM last)), ''::bytea, 0::bigint)"

const struct weir_sql weir_pg_sql_span = {
    .name = "read span",
    .text =
        "WITH RECURSIVE" BASE "," NEAR "," ENDS "," STRETCH "," LATE
        " SELECT " WEIR_PG_PAGE_SIZED(
            "{5}") ", cut FROM (SELECT p.*,"
                   " sum(octet_length(payload)) OVER (ORDER BY cut, id ROWS UNBOUNDED "
                   "PRECEDING)"
                   " AS size FROM (SELECT DISTINCT ON (u.cut, u.id) u.* FROM (" FROM_LOG
                   " UNION ALL " FROM_ASIDE " UNION ALL " HEAD
                   ") u ORDER BY u.cut, u.id LIMIT (SELECT {4} + 1)) p) s ORDER BY cut, "
                   "id",
    .parameters = "iiIiiii",
};

/* ---- reading the head -------------------------------------------------------------- */

enum {
    LAST_NO,
    NEWEST,
    BASE_NO,
    BASE_HI,
    BASE_OWN,
    NEXT_NO,
    NEXT_HI,
    NEXT_TOP,
    NEXT_OWN,
    NEXT_LATE,
    NUMBER_COUNT
};

/* The text up to the next blank; it is taken off *text. */
static struct weir_str take_word(struct weir_str *text)
{
    struct weir_str word = {text->data, 0};

    while (word.size < text->size && text->data[word.size] != ' ')
        word.size++;
    text->data += word.size;
    text->size -= word.size;
    if (text->size > 0) {
        text->data++;
        text->size--;
    }
    return word;
}

static int64_t take_number(struct weir_str *text)
{
    struct weir_str word = take_word(text);
    int64_t number = 0;

    for (size_t i = 0; i < word.size; i++)
        number = number * 10 + (word.data[i] - '0');
    return number;
}

static enum weir_status fill_large(struct weir_pg_span *out, struct weir_arena *arena,
                                   const int64_t *numbers, struct weir_str snapshots,
                                   struct weir_error *error)
{
    struct weir_str base = take_word(&snapshots);
    struct weir_str next = take_word(&snapshots);

    if (!weir_arena_keep(arena, &base) || !weir_arena_keep(arena, &next))
        return weir_no_memory(error, "read span");
    out->kind = WEIR_PG_SPAN_LARGE;
    out->base = (struct weir_pg_cut){.no = numbers[BASE_NO],
                                     .hi = numbers[BASE_HI],
                                     .own = numbers[BASE_OWN],
                                     .snap = base};
    out->next = (struct weir_pg_cut){.no = numbers[NEXT_NO],
                                     .hi = numbers[NEXT_HI],
                                     .top = numbers[NEXT_TOP],
                                     .own = numbers[NEXT_OWN],
                                     .snap = next,
                                     .late = numbers[NEXT_LATE] != 0};
    return WEIR_OK;
}

/* The first row. */
static enum weir_status load_head(struct weir_pg_reading *self, struct weir_rows *rows,
                                  struct weir_arena *arena, struct weir_pg_span *out,
                                  struct weir_error *error)
{
    enum { KEY = 4, TYPE, HEADERS };
    int64_t numbers[NUMBER_COUNT];
    struct weir_str text;

    weir_pg_page_note_removals(self, weir_rows_text_or_none(rows, TYPE));
    *out = (struct weir_pg_span){.kind = WEIR_PG_SPAN_UNKNOWN};
    text = weir_rows_text_or_none(rows, KEY);
    if (text.size == 0)
        return WEIR_OK;
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        numbers[i] = take_number(&text);
    out->newest = numbers[NEWEST];
    if (numbers[LAST_NO] == 0)
        return fill_large(out, arena, numbers, weir_rows_text_or_none(rows, HEADERS),
                          error);
    out->kind = WEIR_PG_SPAN_READ;
    out->next.no = numbers[LAST_NO];
    return WEIR_OK;
}

enum weir_status weir_pg_page_span(struct weir_pg_reading *self, struct weir_arena *arena,
                                   int64_t ids, struct weir_pg_span *out,
                                   struct weir_error *error)
{
    struct weir_page *page = self->page;
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        self->connection, &weir_pg_sql_span,
        VALUES(weir_integer(page->end.cut), weir_integer(ids), self->pids,
               weir_pg_page_rows_left(self), weir_pg_page_payload_left(self),
               weir_integer(weir_page_first_queue(page)),
               weir_integer(weir_page_last_queue(page))),
        &rows, error);

    *out = (struct weir_pg_span){.kind = WEIR_PG_SPAN_UNKNOWN};
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = load_head(self, &rows, arena, out, error);
    if (status == WEIR_OK)
        status = weir_pg_page_give_rows(self, &rows, NULL, error);
    weir_rows_close(&rows);
    if (status == WEIR_OK && out->kind == WEIR_PG_SPAN_READ && !self->full)
        page->end = (struct weir_log_position){.cut = out->next.no};
    return status;
}
