/*
 * read.c - one page: from cut to cut, and in each the late rows before the new ones.
 *
 *   position {c, id}
 *      |
 *      |   cut c is kept                     cut c was rotated away, k is the oldest kept
 *      v                                       v
 *   cut c + 1: late rows, id up to hi(c)     what was set aside of the cuts up to k;
 *                                            none of
 *              new rows, up to top(c + 1)    them has a row in the log any more
 *   cut c + 2: ...                           cut k + 1: ...
 *
 * Cuts that are older than all rows of the log are rotated away leaf by leaf, not in
 * their order, so there may be others before and behind those that are gone. Between
 * two that are not neighbours the log has nothing, and what was set aside is read by
 * its cut as above.
 *
 *   I1  page->end is behind everything that was given or looked at, whenever a
 *       statement is done
 *
 * A backlog may be a million messages in one cut or thousands of cuts with one each. At a
 * boundary of two cuts one statement reads as many small ones as a page may hold
 * (page_span.h), or finds that the next is large; that is read range by range. A call
 * goes on until the page is full, and ends after a number of statements.
 */
#include "outbox/postgres/read.h"

#include "base/heap.h"
#include "base/no_memory.h"
#include "outbox/postgres/page_span.h"

enum {
    STATEMENTS_MAX = 64,
    ARENA_SIZE_MAX = 64 * 1024 * 1024, /* lists of running transactions may be long */
};

/* One call. */
struct walk {
    struct weir_pg_reading reading;
    struct weir_arena arena;
    uint32_t segment_bits;
    unsigned statements_left;
    int64_t span_ids; /* that the next span has at most */
};

static bool may_go_on(const struct walk *self)
{
    return !self->reading.full && self->statements_left > 0;
}

static enum weir_status walk_range(struct walk *self, const struct weir_pg_cut *base,
                                   const struct weir_pg_cut *cut, int64_t *from,
                                   struct weir_error *error)
{
    self->statements_left--;
    if (*from < base->hi)
        return weir_pg_page_late(&self->reading, base, cut, from, error);
    return weir_pg_page_new(&self->reading, self->segment_bits, base, cut, from, error);
}

/* The messages of `cut` behind the page's end, which is in it or before it. */
static enum weir_status walk_cut(struct walk *self, const struct weir_pg_cut *base,
                                 const struct weir_pg_cut *cut, struct weir_error *error)
{
    struct weir_page *page = self->reading.page;
    int64_t from = page->end.id;
    enum weir_status status = WEIR_OK;

    if (!cut->late && from < base->hi)
        from = base->hi;
    while (status == WEIR_OK && from < cut->top && may_go_on(self))
        status = walk_range(self, base, cut, &from, error);
    if (status == WEIR_OK && !self->reading.full && from >= cut->top)
        page->end = (struct weir_log_position){.cut = cut->no};
    return status;
}

/* The log has nothing of the cuts up to `last`. */
static enum weir_status walk_aside(struct walk *self, int64_t last,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && self->reading.page->end.cut < last && may_go_on(self)) {
        self->statements_left--;
        status = weir_pg_page_aside(&self->reading, last, error);
    }
    return status;
}

/* Read on by up to `max` - 1 cuts. *more: there may be others behind them. */
static enum weir_status walk_cuts(struct walk *self, size_t max, bool *more,
                                  struct weir_error *error)
{
    struct weir_page *page = self->reading.page;
    struct weir_pg_cut cuts[WEIR_PG_CUTS_MAX];
    size_t count = 0;
    enum weir_status status;

    weir_arena_reset(&self->arena);
    status = weir_pg_cut_load(self->reading.connection, &self->arena, page->end.cut, cuts,
                              max, &count, error);
    if (status == WEIR_OK && count > 0 && page->end.cut < cuts[0].no)
        status = walk_aside(self, cuts[0].no, error);
    for (size_t i = 1; i < count && status == WEIR_OK; i++) {
        if (cuts[i].no > cuts[i - 1].no + 1)
            status = walk_aside(self, cuts[i].no, error);
        else if (page->end.cut == cuts[i - 1].no && may_go_on(self))
            status = walk_cut(self, &cuts[i - 1], &cuts[i], error);
    }
    *more = count == max || (count > 0 && page->end.cut < cuts[count - 1].no);
    return status;
}

/* A page of few partitions skips most of what it looks at: the next look is further. */
static void widen(struct walk *self, uint32_t rows)
{
    if (rows < self->span_ids / 8 && self->span_ids < WEIR_PG_SPAN_IDS_MAX)
        self->span_ids *= 2;
}

/* Small cuts together, or one large cut. */
static enum weir_status walk_span(struct walk *self, bool *more, struct weir_error *error)
{
    struct weir_page *page = self->reading.page;
    uint32_t rows = page->rows;
    struct weir_pg_span span;
    enum weir_status status;

    weir_arena_reset(&self->arena);
    self->statements_left--;
    status =
        weir_pg_page_span(&self->reading, &self->arena, self->span_ids, &span, error);
    if (status == WEIR_OK && span.kind == WEIR_PG_SPAN_UNKNOWN)
        return walk_cuts(self, WEIR_PG_CUTS_MAX, more, error);
    if (status == WEIR_OK && span.kind == WEIR_PG_SPAN_LARGE)
        status = walk_cut(self, &span.base, &span.next, error);
    else if (status == WEIR_OK)
        widen(self, page->rows - rows);
    *more = page->end.cut < span.newest;
    return status;
}

static enum weir_status walk(struct walk *self, struct weir_error *error)
{
    bool more = true;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && more && may_go_on(self))
        status = self->reading.page->end.id == 0
                     ? walk_span(self, &more, error)
                     : walk_cuts(self, WEIR_PG_CUTS_FEW, &more, error);
    self->reading.page->at_head = status == WEIR_OK && !more;
    return status;
}

/* The pids as values, to be freed; NULL when there are none to choose from. */
static enum weir_status make_pids(const struct weir_heap *heap,
                                  const struct weir_page *page, struct weir_value **out,
                                  struct weir_error *error)
{
    *out = NULL;
    if (page->pids == NULL)
        return WEIR_OK;
    *out = weir_heap_zalloc_array(heap, page->pid_count + 1, sizeof **out);
    if (*out == NULL)
        return weir_no_memory(error, "read");
    for (size_t i = 0; i < page->pid_count; i++)
        (*out)[i] = weir_integer(page->pids[i]);
    return WEIR_OK;
}

/*
 * A statement outside of a transaction is at READ COMMITTED on our sessions. Behind
 * a pooler the session is shared, and at another level its snapshot could be older
 * than its locks; there the level goes with a transaction: its own, or the one that is
 * open (seek.c).
 */
static enum weir_status walk_bracketed(struct walk *self, struct weir_error *error)
{
    struct weir_connection *connection = self->reading.connection;
    bool pooled = weir_connection_config(connection)->url.transaction_pooler;
    enum weir_status status = WEIR_OK;

    if (!pooled || weir_connection_transaction(connection) != WEIR_TRANSACTION_NONE)
        return walk(self, error);
    status = weir_connection_begin_read(connection, error);
    if (status != WEIR_OK)
        return status;
    status = walk(self, error);
    weir_connection_rollback(connection);
    return status;
}

enum weir_status weir_pg_read(const struct weir_outbox_log *self,
                              struct weir_connection *connection, struct weir_page *page,
                              struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct walk walk = {
        .reading = {.connection = connection,
                    .page = page,
                    .pids = weir_null(),
                    .payload_left = page->payload_max},
        .segment_bits = self->segment_bits,
        .statements_left = STATEMENTS_MAX,
        .span_ids = WEIR_PG_SPAN_IDS,
    };
    struct weir_value *pids;
    enum weir_status status = make_pids(heap, page, &pids, error);

    page->end = page->after;
    page->at_head = false;
    page->rows = 0;
    if (status != WEIR_OK)
        return status;
    if (pids != NULL)
        walk.reading.pids = weir_array(WEIR_TYPE_INTEGER, pids, page->pid_count);
    weir_arena_init(&walk.arena, heap, ARENA_SIZE_MAX);
    status = walk_bracketed(&walk, error);
    weir_arena_fini(&walk.arena);
    weir_heap_free(heap, pids);
    return status;
}
