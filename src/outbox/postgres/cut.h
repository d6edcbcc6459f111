/*
 * cut.h - the ticks of the log's order on PostgreSQL.
 *
 * Ids are taken before commit, so the order of ids is not the order of commits, and
 * it is not known of an id that everything before it is there. A *cut* records what is
 * committed at one moment: a snapshot and two readings of the sequence of ids. Cuts are
 * numbered 1, 2, 3, ...; cut 0 sees nothing. The messages of cut n are those that cut n
 * sees and cut n - 1 does not.
 *
 *   hi     every id up to it was taken by a transaction with a number below `own`
 *   own    a transaction id taken after `hi` was read
 *   snap   what is committed; taken after `own`
 *   top    every id that `snap` sees is at most this
 *
 * Pace     The newest cut has an age before the next one is made, over all processes:
 *          log/cut_pace.h.
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_POSTGRES_CUT_H
#define WEIR_OUTBOX_POSTGRES_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "db/connection.h"
#include "outbox/log/cut_pace.h"

/* A cut as stored. */
struct weir_pg_cut {
    int64_t no;
    int64_t hi;
    int64_t top;
    int64_t own;
    struct weir_str snap;
    bool late; /* it may have messages with ids up to `hi` of the cut before it */
};

/* What one look at the log tells. */
struct weir_pg_probe {
    int64_t newest;   /* number of the newest cut */
    bool needed;      /* something is committed that it does not see */
    int64_t early_us; /* how long until it has the age that was asked for */
    int64_t hi;       /* of the newest cut */
    int64_t made_us;  /* likewise */
};

/* One cheap statement. Also inside a transaction. */
WEIR_CHECKED enum weir_status weir_pg_cut_probe(struct weir_connection *connection,
                                                int64_t age_us, struct weir_pg_probe *out,
                                                struct weir_error *error);

/*
 * Make a cut if it is still needed once all other cuts are done, and if the newest is
 * `age_us` old by then; *made says whether. One round trip. It is durable before this
 * returns.
 * Notifies `channel`, unless that is NULL. WEIR_INVALID: the connection is in a
 * transaction. Any failure leaves either no cut or a good one, so it may be repeated.
 */
WEIR_CHECKED enum weir_status weir_pg_cut_make(struct weir_connection *connection,
                                               int64_t age_us, const char *channel,
                                               bool *made, struct weir_error *error);

/*
 * Everything committed before the call is in a cut afterwards: ours, or one that
 * another process has made meanwhile. *newest gets the number of the newest. Waits where
 * `pace` says that a cut would come too early, so the caller needs no timer to come back;
 * when the
 * worker is cancelled meanwhile, or others are faster again and again, it ends with
 * what there is.
 */
WEIR_CHECKED enum weir_status weir_pg_cut_catch_up(struct weir_connection *connection,
                                                   struct weir_cut_pace *pace,
                                                   const char *channel, int64_t *newest,
                                                   struct weir_error *error);

enum { WEIR_PG_CUTS_FEW = 3, WEIR_PG_CUTS_MAX = 33 };

/* Up to `max` cuts, one of the two above, from number `from` on, or from the oldest that
 * is kept. Texts live in `arena`. Of the first one `late` is false: the cut before it is
 * not looked at. */
WEIR_CHECKED enum weir_status weir_pg_cut_load(struct weir_connection *connection,
                                               struct weir_arena *arena, int64_t from,
                                               struct weir_pg_cut *out, size_t max,
                                               size_t *count, struct weir_error *error);

#endif
