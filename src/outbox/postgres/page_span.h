/*
 * page_span.h - several small cuts, read by one statement.
 *
 * Cuts follow each other within a millisecond when messages come one by one, so a
 * backlog may be a hundred thousand cuts of a message or two. A *span* is a run of cuts
 * behind a position, without a gap, whose ids lie close together. Its rows come in the
 * order of the log, (cut, id), late ones included: cuts are read together and stay
 * what they are.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_POSTGRES_PAGE_SPAN_H
#define WEIR_OUTBOX_POSTGRES_PAGE_SPAN_H

#include "outbox/postgres/page.h"

enum {
    WEIR_PG_SPAN_IDS = 1024, /* about a page */
    WEIR_PG_SPAN_IDS_MAX = 16384,
};

enum weir_pg_span_kind {
    WEIR_PG_SPAN_READ,  /* all rows up to `next` were given, or the page is full */
    WEIR_PG_SPAN_LARGE, /* nothing was read: the next cut has an eighth of `ids` alone */
    WEIR_PG_SPAN_UNKNOWN, /* nothing was read: that cut is not kept, or the one before */
};

struct weir_pg_span {
    enum weir_pg_span_kind kind;
    int64_t newest;          /* cut there is */
    struct weir_pg_cut base; /* LARGE: the cut of the position */
    struct weir_pg_cut next; /* READ: the last one of the span, of which only `no` is
                                filled in; LARGE: the cut after `base` */
};

/*
 * Give the rows of cuts behind the end of the page, which is a boundary of two cuts:
 * as many cuts as lie within `ids` ids. The end moves. Texts live in `arena`.
 */
WEIR_CHECKED enum weir_status weir_pg_page_span(struct weir_pg_reading *self,
                                                struct weir_arena *arena, int64_t ids,
                                                struct weir_pg_span *out,
                                                struct weir_error *error);

#endif
