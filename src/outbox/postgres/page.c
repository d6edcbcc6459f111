/*
 * page.c - see postgres/page.h.
 *
 * The shape is the same everywhere: an ordered scan of each of the two tables with a
 * LIMIT, merged and limited again; around it a running sum of the payloads, so that
 * large messages do not come by the thousand. Nothing is sorted but what a page may
 * hold.
 *
 * A row that stands in both tables, since its leaf was copied and not emptied yet, has
 * the same (cut, id) in both and comes once: DISTINCT ON stands between the two limits.
 * Of n rows that are the first of both together each is among the first n of one, so
 * fewer than n are left only when there are no more. Left out later, a page that was
 * cut short would count as the end of its range.
 *
 * Limits stand in sub-selects, so that the planner does not know them and takes them
 * for small: expecting a thousand rows of a table without statistics, it would
 * rather read and sort a whole range than follow the index.
 *
 * Snapshots are parameters, as text, turned into values once per statement. They do not
 * come from the table of cuts at that moment: a row that was rotated away between two
 * statements would be a null there, and a null sees nothing and says nothing.
 */
#include "outbox/postgres/page.h"

#include "outbox/postgres/statements.h"

enum { ID, PID, UID, CREATED, KEY, TYPE, HEADERS, PAYLOAD, CUT, FIRST_ID };

/* ---- statements -------------------------------------------------------------------- */

#define COLUMNS "id, pid, uid, created_us, message_key, type, headers, payload"

/* The sub-select is a hash table that is filled once. As a condition of its own it
 * could become a join, which keeps no order; behind an OR it cannot. */
#define WANTED " AND ({5} IS NULL OR pid IN (SELECT unnest({5})::integer))"

/*
 * The first row of every page, with id 0: what was removed of the queues {first} to
 * {last}, in the snapshot of the other rows, as text in the place of the type. Limits
 * count it.
 */
#define REMOVALS(first, last)                                                            \
    "(SELECT 0::bigint AS id, 0 AS pid, NULL::bytea, 0::bigint, NULL::text,"             \
    " (SELECT string_agg(concat_ws(' ', q.id, q.removed_cut, q.removed_id, q.removals)," \
    " ' ') FROM {p}_queue q WHERE q.id BETWEEN " first " AND " last                      \
    "), NULL::text, ''::bytea"

#define SEEN "pg_visible_in_snapshot(xid, (SELECT {4}::pg_snapshot))"
#define SEEN_BEFORE "pg_visible_in_snapshot(xid, (SELECT {3}::pg_snapshot))"
#define BY_ID " ORDER BY id LIMIT (SELECT {6})"
#define BY_ID_FROM_0 " ORDER BY id LIMIT (SELECT {6} + 1)"

#define FROM_ASIDE                                                                       \
    "SELECT " COLUMNS " FROM {p}_aside WHERE cut = {8} AND id > {1} AND id <= {2}"

/*
 * SELECT_SIZED order SIZED_PAGE page SIZED_END: the rows of a page, without their
 * payloads from where these would be too large together; the first has it in any case.
 */
#define SELECT_SIZED                                                                     \
    "SELECT " WEIR_PG_PAGE_SIZED(                                                        \
        "{7}") ", cut FROM (SELECT p.*, sum(octet_length(payload)) OVER (ORDER BY "
#define SIZED_PAGE " ROWS UNBOUNDED PRECEDING) AS size FROM ("
#define SIZED_END ") p) s"
#define SELECT_SIZED_BY_ID                                                               \
    SELECT_SIZED "id" SIZED_PAGE "SELECT DISTINCT ON (id) u.*, {8} AS cut FROM ("
#define SIZED_BY_ID_END ") u" BY_ID_FROM_0 SIZED_END

/* Transactions that ran at the cut before and that this one sees. */
#define STRETCH                                                                          \
    WEIR_PG_STRETCH("(SELECT pg_snapshot_xmax({3}::pg_snapshot))", "{9}::text::xid8")
#define LATE                                                                             \
    " late AS MATERIALIZED (SELECT xid FROM"                                             \
    " (SELECT xid FROM pg_snapshot_xip({3}::pg_snapshot) AS x(xid)"                      \
    " UNION ALL SELECT xid FROM stretch WHERE xid IS NOT NULL) r WHERE " SEEN ")"

/* The smallest id there is. A range begins with it, since the ids of a long transaction
 * may lie far apart. */
#define FIRST                                                                            \
    " first AS MATERIALIZED (SELECT min(f.id) AS id FROM"                                \
    " (SELECT i.id FROM late r CROSS JOIN LATERAL (SELECT id FROM {p}_log l"             \
    " WHERE l.xid = r.xid AND l.id > {1} AND l.id <= {2} ORDER BY l.id LIMIT 1) i"       \
    " UNION ALL (SELECT id FROM {p}_aside"                                               \
    " WHERE cut = {8} AND id > {1} AND id <= {2} ORDER BY id LIMIT 1)) f)"

/* By index (xid, id), one scan for each transaction. There is always a row, to tell the
 * first id; all its other columns may be null. */
const struct weir_sql weir_pg_sql_late = {
    .name = "read late",
    .text = "WITH RECURSIVE" STRETCH "," LATE "," FIRST
            " SELECT page.*, f.id FROM first f LEFT JOIN LATERAL (" SELECT_SIZED_BY_ID
            "SELECT o.* FROM late r CROSS JOIN LATERAL"
            " (SELECT " COLUMNS " FROM {p}_log l WHERE l.xid = r.xid AND id <= {2}"
            " AND id >= f.id AND id < f.id + 65536" WANTED BY_ID ") o"
            " UNION ALL (" FROM_ASIDE " AND id < f.id + 65536" WANTED BY_ID
            ") UNION ALL " REMOVALS("{10}", "{11}") ")" SIZED_BY_ID_END
                                                    ") page ON true ORDER BY page.id",
    .parameters = "iittIiiiiii",
};
_Static_assert(WEIR_PG_RANGE == 65536, "as in weir_pg_sql_late");

/*
 * The ids of one segment lie in one leaf, and that is read under its own name: an index
 * scan by (id) that needs no merge with seven empty ones, and locks no other leaf
 * against the sweep.
 */
#define NEW(leaf)                                                                        \
    {                                                                                    \
        .name = "read new",                                                              \
        .text = SELECT_SIZED_BY_ID                                                       \
            "(SELECT " COLUMNS " FROM {p}_log_" leaf                                     \
            " WHERE id > {1} AND id <= {2} AND " SEEN                                    \
            " AND NOT " SEEN_BEFORE WANTED BY_ID ") UNION ALL (" FROM_ASIDE WANTED BY_ID \
            ") UNION ALL " REMOVALS("{9}", "{10}") ")" SIZED_BY_ID_END " ORDER BY id",   \
        .parameters = "iittIiiiii",                                                      \
    }

const struct weir_sql weir_pg_sql_new[WEIR_LOG_LEAVES] = {
    NEW("0"), NEW("1"), NEW("2"), NEW("3"), NEW("4"), NEW("5"), NEW("6"), NEW("7"),
};

/*
 * The first id behind {1}, up to {2}, of any row of the log or of a row of cut {3} set
 * aside; null: there is none. One look-up in each leaf, by index (id).
 */
const struct weir_sql weir_pg_sql_next = {
    .name = "read next id",
    .text = "SELECT min(f.id) FROM ((SELECT id FROM {p}_log WHERE id > {1} AND id <= {2}"
            " ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM {p}_aside"
            " WHERE cut = {3} AND id > {1} AND id <= {2} ORDER BY id LIMIT 1)) f",
    .parameters = "iii",
};

/* By primary key (cut, id): behind ({1}, {2}) up to ({3}, {4}). */
const struct weir_sql weir_pg_sql_aside = {
    .name = "read aside",
    .text = SELECT_SIZED
    "cut, id" SIZED_PAGE "(SELECT " COLUMNS ", cut FROM {p}_aside"
    " WHERE (cut, id) > ({1}, {2}) AND (cut, id) <= ({3}, {4})" WANTED
    " ORDER BY cut, id LIMIT (SELECT {6})) UNION ALL " REMOVALS(
        "{8}", "{9}") ", 0::bigint) ORDER BY cut, id" SIZED_END " ORDER BY cut, id",
    .parameters = "iiiiIiiii",
};

/* Where a range of WEIR_PG_RANGE rows ends; no row when there are less. */
const struct weir_sql weir_pg_sql_aside_bound = {
    .name = "bound aside",
    .text = "SELECT a.cut, a.id FROM {p}_aside a WHERE (a.cut, a.id) > ({1}, {2})"
            " AND a.cut <= {3} ORDER BY a.cut, a.id OFFSET (SELECT 65535) LIMIT 1",
    .parameters = "iii",
};

/* ---- giving rows ------------------------------------------------------------------- */

static void load_row(struct weir_rows *rows, struct weir_log_row *out)
{
    *out = (struct weir_log_row){
        .log_position = {.cut = weir_rows_integer(rows, CUT) - 1,
                         .id = weir_rows_integer(rows, ID)},
        .id = weir_rows_integer(rows, ID),
        .pid = weir_rows_integer(rows, PID),
        .uid = weir_rows_bytes(rows, UID),
        .created_us = weir_rows_integer(rows, CREATED),
        .key = weir_rows_text_or_none(rows, KEY),
        .type = weir_rows_text(rows, TYPE),
        .headers = weir_rows_text_or_none(rows, HEADERS),
        .payload = weir_rows_bytes(rows, PAYLOAD),
    };
}

/* Give one row, if it fits; otherwise it stays for the next page. */
static enum weir_status give(struct weir_pg_reading *self, const struct weir_log_row *row,
                             struct weir_error *error)
{
    struct weir_page *page = self->page;
    int64_t size = (int64_t)row->payload.size;
    enum weir_status status;

    if (page->rows > 0 && size > self->payload_left) {
        self->full = true;
        return WEIR_OK;
    }
    status = page->visit(page->state, row, error);
    if (status != WEIR_OK)
        return status;
    page->end = row->log_position;
    page->rows++;
    self->payload_left -= size;
    self->full = page->rows >= page->row_max;
    return WEIR_OK;
}

/* Numbers with blanks between them: queue, cut, id, count, and so on. */
void weir_pg_page_note_removals(struct weir_pg_reading *self, struct weir_str text)
{
    struct weir_page *page = self->page;
    int64_t numbers[4];
    size_t count = 0;
    const char *end = text.data + text.size;

    for (const char *at = text.data; at < end; at++) {
        numbers[count] = 0;
        for (; at < end && *at != ' '; at++)
            numbers[count] = numbers[count] * 10 + (*at - '0');
        if (++count == 4) {
            weir_page_note_removal(
                page, &(struct weir_removal){.queue_id = numbers[0],
                                             .log_position = {numbers[1], numbers[2]},
                                             .count = numbers[3]});
            count = 0;
        }
    }
}

enum weir_status weir_pg_page_give_rows(struct weir_pg_reading *self,
                                        struct weir_rows *rows, int64_t *first,
                                        struct weir_error *error)
{
    struct weir_log_row row;
    enum weir_status status = WEIR_OK;

    while (!self->full && status == WEIR_OK &&
           (status = weir_rows_next(rows, error)) == WEIR_OK) {
        if (first != NULL)
            *first = weir_rows_integer(rows, FIRST_ID);
        if (weir_rows_is_null(rows, ID))
            continue;
        if (weir_rows_integer(rows, ID) == 0) {
            weir_pg_page_note_removals(self, weir_rows_text_or_none(rows, TYPE));
            continue;
        }
        if (weir_rows_is_null(rows, PAYLOAD)) {
            self->full = true;
            continue;
        }
        load_row(rows, &row);
        status = give(self, &row, error);
    }
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status run(struct weir_pg_reading *self, const struct weir_sql *sql,
                            const struct weir_value *values, size_t value_count,
                            int64_t *first, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(self->connection, sql, values, value_count, &rows, error);

    if (status == WEIR_OK)
        status = weir_pg_page_give_rows(self, &rows, first, error);
    weir_rows_close(&rows);
    return status;
}

struct weir_value weir_pg_page_rows_left(const struct weir_pg_reading *self)
{
    return weir_integer(self->page->row_max - self->page->rows);
}

static struct weir_value first_queue(const struct weir_pg_reading *self)
{
    return weir_integer(weir_page_first_queue(self->page));
}

static struct weir_value last_queue(const struct weir_pg_reading *self)
{
    return weir_integer(weir_page_last_queue(self->page));
}

struct weir_value weir_pg_page_payload_left(const struct weir_pg_reading *self)
{
    return weir_integer(self->payload_left > 0 ? self->payload_left : 0);
}

/* ---- ranges ------------------------------------------------------------------------ */

/* Nothing of this range is left: the place behind it. */
static void move_to(struct weir_pg_reading *self, int64_t base, int64_t id, int64_t *from)
{
    *from = id;
    self->page->end = (struct weir_log_position){.cut = base, .id = id};
}

enum weir_status weir_pg_page_late(struct weir_pg_reading *self,
                                   const struct weir_pg_cut *base,
                                   const struct weir_pg_cut *cut, int64_t *from,
                                   struct weir_error *error)
{
    int64_t first = 0;
    enum weir_status status =
        run(self, &weir_pg_sql_late,
            VALUES(weir_integer(*from), weir_integer(base->hi), weir_text(base->snap),
                   weir_text(cut->snap), self->pids, weir_pg_page_rows_left(self),
                   weir_pg_page_payload_left(self), weir_integer(cut->no),
                   weir_integer(base->own), first_queue(self), last_queue(self)),
            &first, error);
    int64_t end = first + WEIR_PG_RANGE - 1;

    if (status == WEIR_OK && !self->full)
        move_to(self, base->no, first == 0 || end > base->hi ? base->hi : end, from);
    return status;
}

/*
 * The range up to *to gave nothing: is the next one empty too? A rollback of a million
 * rows, or a sequence that was moved, leaves ids that no row will ever have, and
 * reading them range by range takes seconds. What this cut sees was committed before
 * this statement began, so a row of it that is still needed is among those looked at,
 * in one of the two tables.
 */
static enum weir_status skip_gap(struct weir_pg_reading *self,
                                 const struct weir_pg_cut *cut, int64_t *to,
                                 struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        self->connection, &weir_pg_sql_next,
        VALUES(weir_integer(*to), weir_integer(cut->top), weir_integer(cut->no)), &rows,
        error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        *to = weir_rows_is_null(&rows, 0) ? cut->top : weir_rows_integer(&rows, 0) - 1;
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_pg_page_new(struct weir_pg_reading *self, uint32_t segment_bits,
                                  const struct weir_pg_cut *base,
                                  const struct weir_pg_cut *cut, int64_t *from,
                                  struct weir_error *error)
{
    int64_t segment = (*from + 1) >> segment_bits;
    int64_t to = ((segment + 1) << segment_bits) - 1;
    uint32_t before = self->page->rows;
    enum weir_status status;

    if (to > *from + WEIR_PG_RANGE)
        to = *from + WEIR_PG_RANGE;
    if (to > cut->top)
        to = cut->top;
    status = run(self, &weir_pg_sql_new[segment % WEIR_LOG_LEAVES],
                 VALUES(weir_integer(*from), weir_integer(to), weir_text(base->snap),
                        weir_text(cut->snap), self->pids, weir_pg_page_rows_left(self),
                        weir_pg_page_payload_left(self), weir_integer(cut->no),
                        first_queue(self), last_queue(self)),
                 NULL, error);
    if (status == WEIR_OK && self->page->rows == before && !self->full && to < cut->top)
        status = skip_gap(self, cut, &to, error);
    if (status == WEIR_OK && !self->full)
        move_to(self, base->no, to, from);
    return status;
}

/* The place behind the last row of a range, in the terms of the table: (cut, id) of
 * that row. */
static enum weir_status bound_aside(struct weir_pg_reading *self,
                                    struct weir_log_position after, int64_t last,
                                    struct weir_log_position *row, bool *whole,
                                    struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        self->connection, &weir_pg_sql_aside_bound,
        VALUES(weir_integer(after.cut + 1), weir_integer(after.id), weir_integer(last)),
        &rows, error);

    *row = (struct weir_log_position){.cut = last, .id = INT64_MAX};
    *whole = true;
    if (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        row->cut = weir_rows_integer(&rows, 0);
        row->id = weir_rows_integer(&rows, 1);
        *whole = false;
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_pg_page_aside(struct weir_pg_reading *self, int64_t last,
                                    struct weir_error *error)
{
    struct weir_log_position after = self->page->end;
    struct weir_log_position row;
    bool whole = false;
    enum weir_status status = bound_aside(self, after, last, &row, &whole, error);

    if (status == WEIR_OK)
        status = run(self, &weir_pg_sql_aside,
                     VALUES(weir_integer(after.cut + 1), weir_integer(after.id),
                            weir_integer(row.cut), weir_integer(row.id), self->pids,
                            weir_pg_page_rows_left(self), weir_pg_page_payload_left(self),
                            first_queue(self), last_queue(self)),
                     NULL, error);
    if (status == WEIR_OK && !self->full)
        self->page->end =
            whole ? (struct weir_log_position){.cut = last}
                  : (struct weir_log_position){.cut = row.cut - 1, .id = row.id};
    return status;
}
