/*
 * read.c - a page of the log on MariaDB.
 *
 * The client library fetches all rows of a statement before the first is seen, and a
 * payload may have sixteen megabytes. So a page is laid out first, from sizes alone,
 * and then fetched:
 *
 *   bounds     the head, up to which all moves had ended and are on disk (M6), and how
 *              far the log was swept (M3). What was swept may be in the index for a
 *              long time.
 *   lay out    id, partition and size of the next rows, of the log and aside merged;
 *              and what was removed of the queues of the page, in the same read view
 *   fetch      what the page has room for, from each of the two tables
 *
 * Between the two a row may be swept or set aside. Then the page ends in front of it,
 * and the next one finds it where it is.
 */
#include "base/no_memory.h"
#include "db/query.h"
#include "outbox/mariadb/log.h"

#include "base/assert.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "outbox/log/page.h"

enum {
    LOOKED_AT_MAX = 20000, /* rows of one page, wanted or not */
    LOOKED_AT_FACTOR = 4,  /* for each row that is asked for, when some partitions are */
    TRIES_MAX = 3,
};

/* Primary keys. */
static const struct weir_sql SQL_BOUNDS = {
    .name = "read bounds",
    .text = "SELECT (SELECT value FROM {p}_counter WHERE name = 'published'),"
            " (SELECT value FROM {p}_counter WHERE name = 'swept')",
};

/* Both tables by primary key. What is merged are numbers: nothing large is sorted. */
#define NEXT_OF(table, after, aside)                                                     \
    "(SELECT id, pid, payload_size, " aside " FROM {p}_" table " WHERE id > " after      \
    " ORDER BY id LIMIT {3})"
static const struct weir_sql SQL_LAY_OUT = {
    .name = "lay out",
    .text = NEXT_OF("log", "{1}", "0") " UNION ALL " NEXT_OF("aside", "{2}", "1")
    /* first, under ids below 0: */
    " UNION ALL (SELECT -id, removals, removed_id, 2 FROM {p}_queue"
    " WHERE id BETWEEN {4} AND {5}) ORDER BY id LIMIT {6}",
    .parameters = "iiiiii",
};

/*
 * A range of the primary key. What is large stays on the server for rows that are
 * surely not wanted, by a table with a byte for each remainder; the rest is decided
 * here.
 */
#define IF_MAYBE_WANTED(column)                                                          \
    "IF(SUBSTR({3}, pid % 1024 + 1, 1) = x'01', " column ", NULL)"
#define FETCH(table)                                                                     \
    "SELECT id, pid, source_id, created_us, uid, message_key, type,"                     \
    " " IF_MAYBE_WANTED("headers") ", " IF_MAYBE_WANTED(                                 \
        "payload") " FROM {p}_" table " WHERE id > {1} AND id <= {2} ORDER BY id"
static const struct weir_sql SQL_FETCH[] = {
    {.name = "fetch", .text = FETCH("log"), .parameters = "iib"},
    {.name = "fetch aside", .text = FETCH("aside"), .parameters = "iib"},
};

struct slot {
    int64_t id;
    int64_t size;
    bool aside;
    bool wanted;
};

struct layout {
    struct slot *slots; /* owned; by id */
    size_t count;       /* of the page */
    size_t wanted[2];   /* of the log, aside */
    int64_t head;       /* up to here everything is seen */
    int64_t after[2];   /* nothing that is looked for is before it: of the log, aside */
    bool at_head;       /* there is nothing between them and it */
};

/* ---- laying out -------------------------------------------------------------------- */

static size_t look_max(const struct weir_page *page)
{
    uint64_t factor = page->pids != NULL ? LOOKED_AT_FACTOR : 1;
    uint64_t rows = page->row_max * factor;

    return rows < LOOKED_AT_MAX ? (size_t)rows : LOOKED_AT_MAX;
}

/* Cut the layout off where the page is full. */
static void trim(struct layout *self, const struct weir_page *page)
{
    int64_t bytes = 0;
    size_t rows = 0;
    size_t i;

    for (i = 0; i < self->count; i++) {
        const struct slot *slot = &self->slots[i];

        if (!slot->wanted)
            continue;
        if (rows == page->row_max || (rows > 0 && slot->size > page->payload_max - bytes))
            break;
        if (self->wanted[!slot->aside] > 0)
            break; /* one statement at a time; the two seldom change */
        bytes += slot->size;
        self->wanted[slot->aside]++;
        rows++;
    }
    self->at_head = self->at_head && i == self->count;
    self->count = i;
}

static enum weir_status read_bounds(struct layout *self,
                                    struct weir_connection *connection,
                                    const struct weir_page *page,
                                    struct weir_error *error)
{
    struct bounds {
        int64_t head;
        int64_t swept;
    } bounds;
    static const struct weir_column BOUNDS[] = {
        COLUMN(struct bounds, head, INTEGER),
        COLUMN(struct bounds, swept, INTEGER),
    };
    enum weir_status status =
        weir_query_one(connection, &SQL_BOUNDS, NO_VALUES, INTO(BOUNDS, &bounds), error);

    if (status != WEIR_OK)
        return status;
    self->head = bounds.head;
    self->after[1] = page->after.id;
    self->after[0] = bounds.swept > page->after.id ? bounds.swept : page->after.id;
    return WEIR_OK;
}

static enum weir_status query_layout(const struct layout *self,
                                     struct weir_connection *connection,
                                     const struct weir_page *page, size_t slot_max,
                                     struct weir_rows *rows, struct weir_error *error)
{
    int64_t row_max = (int64_t)slot_max + 1;
    int64_t first = weir_page_first_queue(page);
    int64_t last = weir_page_last_queue(page);

    return weir_connection_query(
        connection, &SQL_LAY_OUT,
        VALUES(weir_integer(self->after[0]), weir_integer(self->after[1]),
               weir_integer(row_max), weir_integer(first), weir_integer(last),
               weir_integer(row_max + last - first + 1)),
        rows, error);
}

enum { LAYOUT_ID, LAYOUT_PID, LAYOUT_SIZE, LAYOUT_ASIDE };

/* Rows of the layout's statement, up to the head: what is behind it comes another
 * time. */
static enum weir_status lay_out(struct layout *self, struct weir_connection *connection,
                                struct weir_page *page, size_t slot_max,
                                struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        query_layout(self, connection, page, slot_max, &rows, error);

    if (status == WEIR_OK)
        status = weir_page_read_removals(page, &rows, error);
    for (; status == WEIR_OK && self->count < slot_max &&
           weir_rows_integer(&rows, LAYOUT_ID) <= self->head;
         status = weir_rows_next(&rows, error))
        self->slots[self->count++] = (struct slot){
            .id = weir_rows_integer(&rows, LAYOUT_ID),
            .wanted = weir_page_wants(page, weir_rows_integer(&rows, LAYOUT_PID)),
            .size = weir_rows_integer(&rows, LAYOUT_SIZE),
            .aside = weir_rows_integer(&rows, LAYOUT_ASIDE) != 0,
        };
    self->at_head =
        status == WEIR_NO_ROW ||
        (status == WEIR_OK && weir_rows_integer(&rows, LAYOUT_ID) > self->head);
    weir_rows_close(&rows);
    if (status != WEIR_OK && status != WEIR_NO_ROW)
        return status;
    trim(self, page);
    return WEIR_OK;
}

/* ---- fetching ---------------------------------------------------------------------- */

enum { ROW_ID }; /* of ROW */

static const struct weir_column ROW[] = {
    COLUMN(struct weir_log_row, log_position.id, INTEGER),
    COLUMN(struct weir_log_row, pid, INTEGER),
    COLUMN(struct weir_log_row, id, INTEGER),
    COLUMN(struct weir_log_row, created_us, INTEGER),
    COLUMN(struct weir_log_row, uid, BYTES),
    COLUMN(struct weir_log_row, key, TEXT_OR_NONE),
    COLUMN(struct weir_log_row, type, TEXT),
    COLUMN(struct weir_log_row, headers, TEXT_OR_NONE),
    COLUMN(struct weir_log_row, payload, BYTES),
};

/* Step to the row of this id; false: it is not there any more, or the rows have ended. */
static enum weir_status step_to(struct weir_rows *rows, int64_t id, bool *found,
                                struct weir_error *error)
{
    enum weir_status status;

    while ((status = weir_rows_next(rows, error)) == WEIR_OK &&
           weir_rows_integer(rows, ROW_ID) < id)
        continue;
    *found = status == WEIR_OK && weir_rows_integer(rows, ROW_ID) == id;
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* Give what the layout has, up to the first row that is gone. */
static enum weir_status give(const struct layout *self, struct weir_page *page,
                             struct weir_rows *rows, struct weir_error *error)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct slot *slot = &self->slots[i];

        if (slot->wanted) {
            struct weir_log_row row = {.log_position = {0, 0}};
            bool found = false;
            enum weir_status status =
                step_to(&rows[slot->aside], slot->id, &found, error);

            if (status != WEIR_OK || !found)
                return status;
            status = weir_row_read(&rows[slot->aside], COLUMNS(ROW), &row, error);
            if (status == WEIR_OK)
                status = page->visit(page->state, &row, error);
            if (status != WEIR_OK)
                return status;
            page->rows++;
        }
        page->end = (struct weir_log_position){0, slot->id};
    }
    page->at_head = self->at_head;
    if (self->at_head) /* what is missing in front of it is swept: no need to look there
                          again */
        page->end =
            weir_log_position_later(page->end, (struct weir_log_position){0, self->head});
    return WEIR_OK;
}

static enum weir_status fetch(const struct layout *self,
                              struct weir_connection *connection, struct weir_page *page,
                              struct weir_error *error)
{
    struct weir_rows rows[2] = {{.connection = NULL}, {.connection = NULL}};
    unsigned char table[WEIR_PAGE_REMAINDERS];
    int64_t last = self->count > 0 ? self->slots[self->count - 1].id : page->after.id;
    enum weir_status status = WEIR_OK;

    weir_page_mark(page, table);
    for (size_t i = 0; i < 2 && status == WEIR_OK; i++) {
        if (self->wanted[i] > 0)
            status = weir_connection_query(connection, &SQL_FETCH[i],
                                           VALUES(weir_integer(self->after[i]),
                                                  weir_integer(last),
                                                  weir_bytes(table, sizeof table)),
                                           &rows[i], error);
    }
    if (status == WEIR_OK)
        status = give(self, page, rows, error);
    weir_rows_close(&rows[0]);
    weir_rows_close(&rows[1]);
    return status;
}

static enum weir_status read_page(const struct weir_outbox_log *log,
                                  struct weir_connection *connection,
                                  struct weir_page *page, struct slot *slots,
                                  size_t slot_max, struct weir_error *error)
{
    struct layout layout = {.slots = slots};
    enum weir_status status = read_bounds(&layout, connection, page, error);

    (void)WEIR_POINT(log->points, "read.lay_out");
    if (status == WEIR_OK)
        status = lay_out(&layout, connection, page, slot_max, error);
    return status == WEIR_OK ? fetch(&layout, connection, page, error) : status;
}

enum weir_status weir_log_maria_read(const struct weir_outbox_log *self,
                                     struct weir_connection *connection,
                                     struct weir_page *page, struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    size_t slot_max = look_max(page);
    struct slot *slots = weir_heap_zalloc_array(heap, slot_max, sizeof *slots);
    enum weir_status status = WEIR_OK;

    WEIR_ASSERT(page->row_max >= 1);
    page->end = page->after;
    page->at_head = false;
    page->rows = 0;
    if (slots == NULL)
        return weir_no_memory(error, "read");
    for (int n = 0; n < TRIES_MAX && status == WEIR_OK && !page->at_head &&
                    weir_log_position_equal(page->end, page->after);
         n++)
        status = read_page(self, connection, page, slots, slot_max, error);
    weir_heap_free(heap, slots);
    return status;
}
