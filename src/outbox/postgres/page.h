/*
 * page.h - the statements that read PostgreSQL's log.
 *
 * Each reads one range of ids of one cut, at most WEIR_PG_RANGE ids or rows of it, so
 * that the work is bounded also when nothing matches. What one statement gives is
 * complete, or the page is full.
 *
 * Every statement looks at the log and at the rows set aside together, in one snapshot
 * that is taken after its locks are had. A message is in one of the two places or,
 * between a copy and the emptying of its leaf (postgres/sweep.h), in both, and is given
 * once.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_POSTGRES_PAGE_H
#define WEIR_OUTBOX_POSTGRES_PAGE_H

#include "outbox/log/log.h"
#include "outbox/log/page.h"
#include "outbox/postgres/cut.h"

enum { WEIR_PG_RANGE = 65536 };

/*
 * The columns of a page's rows, of a sub-select with `size`, the sum of the payloads so
 * far: no payload from where they are larger than `limit` together; the first has its
 * own in any case.
 */
#define WEIR_PG_PAGE_SIZED(limit)                                                        \
    "id, pid, uid, created_us, message_key, type, headers,"                              \
    " CASE WHEN size <= " limit                                                          \
    " OR size = octet_length(payload) THEN payload END AS payload"

/* One call of read(). */
struct weir_pg_reading {
    struct weir_connection *connection;
    struct weir_page *page;
    struct weir_value pids; /* an array, or null */
    int64_t payload_left;
    bool full; /* no more rows fit into the page */
};

/*
 * Give the late rows of `cut` (up to `hi` of `base`) behind id *from; *from moves to
 * the end of what was looked at, unless the page is full.
 */
WEIR_CHECKED enum weir_status weir_pg_page_late(struct weir_pg_reading *self,
                                                const struct weir_pg_cut *base,
                                                const struct weir_pg_cut *cut,
                                                int64_t *from, struct weir_error *error);

/* The same for its new rows behind *from, which is at least `hi` of `base`. A range
 * without a row of the page is left at the next row there is, so that ids that were
 * never used cost nothing. */
WEIR_CHECKED enum weir_status weir_pg_page_new(struct weir_pg_reading *self,
                                               uint32_t segment_bits,
                                               const struct weir_pg_cut *base,
                                               const struct weir_pg_cut *cut,
                                               int64_t *from, struct weir_error *error);

/* Give rows that were set aside, of cuts up to `last` that have no other rows any more,
 * behind the end of the page; it moves. */
WEIR_CHECKED enum weir_status weir_pg_page_aside(struct weir_pg_reading *self,
                                                 int64_t last, struct weir_error *error);

/* For page_span.c: what the page has room for, and the columns and rows that each
 * statement gives, the first of which are the removals. */
struct weir_value weir_pg_page_rows_left(const struct weir_pg_reading *self);
struct weir_value weir_pg_page_payload_left(const struct weir_pg_reading *self);
void weir_pg_page_note_removals(struct weir_pg_reading *self, struct weir_str text);

/* *first, which may be NULL, gets the last column: where the late rows begin, or 0. */
WEIR_CHECKED enum weir_status weir_pg_page_give_rows(struct weir_pg_reading *self,
                                                     struct weir_rows *rows,
                                                     int64_t *first,
                                                     struct weir_error *error);

#endif
