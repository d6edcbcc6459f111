/*
 * liveness.c - see liveness.h.
 */
#include "outbox/lease/liveness.h"

#include "base/heap.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "db/db.h"
#include "outbox/engine.h"
#include "outbox/lease/liveness_ops.h"

/* A few rows per process. */
static const struct weir_sql SQL_PEERS = {
    .name = "look at members",
    .text = WEIR_PEERS("1"),
    .parameters = "i",
};

/* Positive, and one byte of a file can be at it. */
int64_t weir_liveness_number(void)
{
    return (int64_t)(weir_clock_random() >> 2) + 1;
}

bool weir_liveness_is_possible(const struct weir_db *db)
{
    const struct weir_url *url = &weir_db_config(db)->url;

    return !url->transaction_pooler && !weir_url_is_memory(url);
}

/* ---- life -------------------------------------------------------------------------- */

enum weir_status weir_liveness_open(struct weir_db *db, int64_t number,
                                    struct weir_liveness **out, struct weir_error *error)
{
    struct weir_liveness *self = weir_heap_zalloc(weir_db_heap(db), sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, "liveness lock");
    self->ops = weir_outbox_engine_for(db)->liveness;
    self->heap = weir_db_heap(db);
    self->number = number;
    self->file = -1;
    status = self->ops->open(self, db, error);
    if (status == WEIR_OK) {
        *out = self;
        self = NULL;
    } else {
        weir_error_prefix(error, "liveness lock");
    }
    weir_liveness_close(self);
    return status;
}

void weir_liveness_close(struct weir_liveness *self)
{
    if (self == NULL)
        return;
    self->ops->close(self);
    weir_heap_free(self->heap, self);
}

bool weir_liveness_is_held(struct weir_liveness *self)
{
    return !self->astray && self->ops->is_held(self);
}

/* ---- where it is ------------------------------------------------------------------- */

enum weir_status weir_liveness_confirm(struct weir_liveness *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    int64_t seen = 0;
    enum weir_status status;

    if (self->ops->seen == NULL ||
        weir_connection_is_verified_for(connection, self->number))
        return WEIR_OK;
    status = weir_connection_query_integer(
        connection, self->ops->seen, VALUES(weir_integer(self->number)), &seen, error);
    if (status != WEIR_OK)
        return status;
    if (seen != 0)
        weir_connection_set_verified_for(connection, self->number);
    else
        self->astray = true;
    return WEIR_OK;
}

void weir_liveness_probe(struct weir_liveness *self, int64_t wait_limit_ns)
{
    int64_t writable = 0;

    if (self->ops->writable == NULL)
        return;
    if (weir_connection_ask(self->session, self->ops->writable, wait_limit_ns, &writable,
                            NULL) != WEIR_OK ||
        writable == 0)
        self->astray = true;
}

/* ---- a session of a server --------------------------------------------------------- */

enum weir_status weir_liveness_open_session(struct weir_liveness *self,
                                            struct weir_db *db, struct weir_error *error)
{
    return weir_db_open_apart(db, &self->session, error);
}

bool weir_liveness_has_session(struct weir_liveness *self)
{
    struct weir_link *link = weir_connection_link(self->session);

    return !link->lost && link->driver->alive(link);
}

bool weir_liveness_row_says(struct weir_liveness *self, struct weir_rows *rows,
                            int64_t number)
{
    (void)self;
    (void)number;
    return weir_rows_integer(rows, WEIR_PEER_HELD) != 0;
}

void weir_liveness_close_session(struct weir_liveness *self)
{
    if (self->session != NULL)
        weir_connection_destroy(self->session);
}

/* ---- looking ----------------------------------------------------------------------- */

static struct weir_peer read_peer(struct weir_liveness *self, struct weir_rows *rows)
{
    struct weir_peer peer = {
        .number = weir_rows_integer(rows, WEIR_PEER_NUMBER),
        .name = weir_rows_text(rows, WEIR_PEER_NAME),
        .library = weir_rows_text(rows, WEIR_PEER_LIBRARY),
        .alive_by = (enum weir_alive_by)weir_rows_integer(rows, WEIR_PEER_ALIVE_BY),
        .clock_off_us = weir_rows_integer(rows, WEIR_PEER_CLOCK_OFF),
        .ahead_us = weir_rows_integer(rows, WEIR_PEER_AHEAD),
    };

    /* a process that is alive by a means unknown to us is left to its lease */
    peer.dead = self != NULL && peer.alive_by == WEIR_ALIVE_BY_LOCK &&
                !self->ops->holds(self, rows, peer.number);
    return peer;
}

enum weir_status weir_liveness_poll(struct weir_liveness *self,
                                    struct weir_connection *connection, int64_t number,
                                    weir_peer_fn visit, void *state,
                                    struct weir_error *error)
{
    bool on_session = self != NULL && self->ops->peers != NULL;
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(on_session ? self->session : connection,
                              on_session ? self->ops->peers : &SQL_PEERS,
                              VALUES(weir_integer(number)), &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        struct weir_peer peer = read_peer(self, &rows);

        visit(state, &peer);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
