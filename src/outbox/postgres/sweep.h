/*
 * sweep.h - removing from PostgreSQL's log what every subscription has passed.
 *
 * The log, the acks and the cuts are kept in leaves that are filled one after the other
 * and emptied as a whole. One round of the sweep looks at each of them once, in this
 * order:
 *
 *   state->leaf    0 ... 7      a leaf of the log
 *                  8            rows set aside that all have passed by now
 *                  9 ... 12     a leaf of acks
 *                  13 ... 16    a leaf of cuts
 *
 * A leaf is emptied in two steps, since TRUNCATE is not MVCC-safe: done together, they
 * would make a hole in every dump whose snapshot is older and whose locks are younger
 * (postgres/copy.h).
 *
 *   copy    a transaction of its own, under the lock of subscribing, without the leaf's
 *           lock: what is still needed goes where it stays, and the copy gets its
 *           number.
 *             log    every row that a cut sees and that is not passed goes aside with
 *                    its cut, and the queue's removed place is raised: a subscription
 *                    that begins between the steps begins behind what is about to go
 *             acks   the newest of each position is appended again
 *             cuts   nothing needs them: they are older than every row in the log
 *   empty   under the leaf's lock: the leaf has nothing that the copy has not seen, and
 *           no session has a snapshot that is older than the copy
 *           (postgres/older_snapshots.h). The number of the copy is announced, the leaf
 *           is truncated. Otherwise it stays, and is copied again or waited with in the
 *           next round.
 *
 * Until a leaf is emptied a row may stand in the log and aside, under the same (cut,
 * id). Readers make it one (postgres/page.h); so does the sweep: what has been copied is
 * recognised by that key, never by "up to id x", since ids are taken before commit and a
 * row below x may come late.
 *
 * How much is copied. Where no more than one row in WEIR_SWEEP_KEPT_PART is needed, it
 * is copied at once. More is copied only from a leaf that stood for limits->stood_ns,
 * or that ids are about to come round to, and never from one without a row to remove: a
 * subscription that lags for a moment costs no second write, and one that stands still
 * does not keep the log. More than WEIR_SWEEP_COPY_ROWS rows or WEIR_SWEEP_COPY_BYTES are
 * copied in parts, a transaction each; the last one, which judges the whole leaf, is
 * the copy that gets a number.
 *
 * What queues retain although all have passed it (retain_ns) keeps its leaf as it is:
 * none of it is set aside, for it may be everything. When ids are about to come round
 * to a leaf, what it retains is given up; that is the oldest. The removed place of such
 * a queue is raised only to behind what goes.
 *
 * A leaf of the log that is being filled is looked at when it is larger than
 * WEIR_SWEEP_SIZE_MIN: a small system is left alone.
 *
 * Points   sweep.judged, sweep.part, sweep.copied, sweep.refused, sweep.locked,
 *          sweep.truncated: for tests, between the steps and the statements of a step.
 * Threads  Any; two processes never sweep at once: the second finds nothing to do.
 * Failure  As the database does. Every step is one transaction and may be repeated
 *          after any failure; nothing that a subscription has not passed is ever lost. A
 *          step that fails is left for the next round: the others of this round do not
 *          wait for it.
 */
#ifndef WEIR_OUTBOX_POSTGRES_SWEEP_H
#define WEIR_OUTBOX_POSTGRES_SWEEP_H

#include "outbox/log/log.h"
#include "weir/time.h"

enum {
    WEIR_SWEEP_SIZE_MIN = 8 * 1024 * 1024, /* bytes of a leaf that is being filled */
    WEIR_SWEEP_KEPT_PART = 8,              /* one row in so many may be set aside */
    WEIR_SWEEP_KEPT_BUSY = 2000, /* and this many of a leaf that is being filled */
    WEIR_SWEEP_TRIES = 100,      /* for the lock on a leaf */
    WEIR_SWEEP_COPY_ROWS = 16384,
    WEIR_SWEEP_COPY_BYTES = 32 * 1024 * 1024,
    WEIR_SWEEP_ASIDE_MAX = 10000 /* rows set aside that one step removes */
};

#define WEIR_SWEEP_WAIT_NS WEIR_MINUTES(5)   /* for one older snapshot */
#define WEIR_SWEEP_STOOD_NS WEIR_MINUTES(10) /* until more than an eighth is copied */
#define WEIR_SWEEP_REST_NS WEIR_SECONDS(30)  /* of a leaf without a row to remove */

/* Smaller ones, for tests. */
struct weir_sweep_limits {
    int64_t wait_ns;
    int64_t stood_ns;
    int64_t copy_rows;
};

/*
 * The slot `sweep` of weir_log_ops: one step, on a connection of its own. report->more
 * until the round is complete; also false when another process is sweeping.
 */
WEIR_CHECKED enum weir_status weir_pg_sweep(const struct weir_outbox_log *self,
                                            struct weir_db *db,
                                            struct weir_sweep_state *state,
                                            struct weir_sweep_report *report,
                                            struct weir_error *error);

#endif
