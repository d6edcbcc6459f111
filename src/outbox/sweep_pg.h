/*
 * sweep_pg.h - removing from PostgreSQL's log what every subscription has passed.
 *
 * The log, the acks and the cuts are kept in leaves that are filled one after the other and
 * emptied as a whole. One round of the sweep looks at each of them once, in this order:
 *
 *   state->leaf    0 ... 7      a leaf of the log: set aside what a few still need, truncate
 *                  8            rows set aside that all have passed by now
 *                  9 ... 12     a leaf of acks: carry the newest forward, truncate
 *                  13 ... 16    a leaf of cuts that nobody can need any more: truncate
 *
 * A leaf of the log is looked at when it is not the one being filled, or is larger than
 * WEIR_SWEEP_SIZE_MIN: a small system is left alone.
 *
 * Points   sweep.judged, sweep.refused, sweep.locked, sweep.aside, sweep.truncated: for tests,
 *          between the statements of a step (sweep_pg.c).
 * Threads  Any; two processes never sweep at once: the second finds nothing to do.
 * Failure  As the database does. Every step is one transaction and may be repeated after any
 *          failure; nothing that somebody has not passed is ever lost.
 */
#ifndef WEIR_OUTBOX_SWEEP_PG_H
#define WEIR_OUTBOX_SWEEP_PG_H

#include "outbox/log.h"

enum {
    WEIR_SWEEP_SIZE_MIN = 8 * 1024 * 1024, /* bytes of a leaf that is being filled */
    WEIR_SWEEP_KEPT_PART = 8,              /* one row in so many may be set aside */
    WEIR_SWEEP_KEPT_BUSY = 2000, /* and this many of a leaf that is being filled */
    WEIR_SWEEP_TRIES = 100,      /* for the lock on a leaf */
    WEIR_SWEEP_ASIDE_MAX = 10000 /* rows set aside that one step removes */
};

/*
 * The slot `sweep` of weir_log_ops: one step, on a connection of its own. report->more until
 * the round is complete; also false when somebody else is sweeping.
 */
WEIR_CHECKED enum weir_status weir_pg_sweep(const struct weir_outbox_log *self,
                                            struct weir_db *db,
                                            struct weir_sweep_state *state,
                                            struct weir_sweep_report *report,
                                            struct weir_error *error);

#endif
