/*
 * log.h - the log on MariaDB.
 *
 * Ids are not commit order and no function returns what a snapshot sees, so there are two
 * tables: producers append to `incoming`, and a dispatcher *moves* what is
 * committed into the log, where each row gets the next place. From there on it is as on
 * SQLite: a place is {0, id}, every committed row of the log is readable.
 *
 *   append     take a number from a sequence, insert the rows under it
 *   move       BEGIN; lock the counter `head`; pick; insert what was picked into the
 *              log; delete exactly that from incoming; set the counter; COMMIT
 *
 *   M1  Moves are serialised by the counter's row, which is locked before the pick and
 *       until the commit. So places are given in the order of commits, without gaps.
 *   M2  The pick is one consistent read, with a read view of its own (READ COMMITTED),
 *       and takes all that it sees up to an id, which was taken from the sequence in a
 *       statement before. A locking read, or one that skips what is locked, may see the
 *       second half of a transaction without the first. And a read view is not made at
 *       one moment: the server walks through the transactions that are active, and of
 *       those that end meanwhile it may see a later one as committed and an earlier one
 *       not. Which of these it sees does not matter, since what they have enqueued
 *       after another's commit has a larger id.
 *   M3  Ids are taken from the sequence when a message is enqueued, after everything
 *       that was committed by then. So rows that are picked together are in the right
 *       order by id; and a row that was committed before another was enqueued is picked
 *       with it, or before. Likewise a reader of the log reads up to a head that
 *       it knew before: moves up to there had all ended.
 *   M4  What is deleted is what was picked, never a range that others may be inserting
 *       into.
 *
 * Eras. A deleted row stays in the index until no read view can see it any more, and one
 * forgotten read view keeps all of them: a pick that begins at the beginning would step
 * over more and more. But it cannot begin behind the last id either, since a
 * transaction that still runs may have a smaller one. So rows of incoming belong to
 * *eras* (the first column of the key), which are rows of their own and the target of a
 * foreign key: a transaction that inserts holds a shared lock on its era until it ends.
 * After so many rows a new era begins (the sequence era_now tells producers, outside of
 * any snapshot of theirs); one that is over is removed when no transaction has a lock on
 * it and nothing is left in it, and never looked at again. So a pick steps over the dead
 * rows of a few eras at most, however long a read view or a transaction is open.
 *
 *   M5  An era is removed only under its exclusive lock (NOWAIT), with no row in
 *       incoming. A late producer with its number gets an error of the foreign key,
 *       and asks again.
 *
 * On disk. A commit of InnoDB is seen by others before it is flushed. A server that
 * dies in between has not moved what a reader has read already, and would give the same
 * places to others.
 *
 *   M6  The log is read up to the counter `published`, which is written when the commit
 *       of the move has returned. A process that finds it behind the head writes
 *       something, commits, and then publishes: that flush has all that was seen before.
 */
#ifndef WEIR_OUTBOX_MARIADB_LOG_H
#define WEIR_OUTBOX_MARIADB_LOG_H

#include "outbox/log/log.h"

enum {
    /* Rows of one move: some tens of milliseconds, and not a second on a machine that
     * has too much to do. Other movers wait for it. */
    WEIR_MOVE_ROWS_MAX = 1000,
    /* Ids that belong to a number of the sequence. */
    WEIR_IDS_PER_NUMBER = 1 << 16,
};

/* The place of the last row, an integer. Primary key. */
extern const struct weir_sql weir_maria_sql_head;

/* Each is a slot of struct weir_log_ops. */

/* mariadb/append.c */
WEIR_CHECKED enum weir_status weir_log_maria_append(const struct weir_outbox_log *self,
                                                    struct weir_connection *connection,
                                                    struct weir_log_entry *entries,
                                                    size_t count, const char *channel,
                                                    struct weir_error *error);

/* mariadb/move.c */
WEIR_CHECKED enum weir_status
weir_log_maria_advance(const struct weir_outbox_log *self,
                       struct weir_connection *connection, struct weir_log_position known,
                       bool may_cut, const char *channel, struct weir_log_position *head,
                       bool *moved, struct weir_error *error);

/* mariadb/read.c */
WEIR_CHECKED enum weir_status weir_log_maria_read(const struct weir_outbox_log *self,
                                                  struct weir_connection *connection,
                                                  struct weir_page *page,
                                                  struct weir_error *error);

/* mariadb/lag.c */
WEIR_CHECKED enum weir_status weir_log_maria_lag(const struct weir_outbox_log *self,
                                                 struct weir_connection *connection,
                                                 const struct weir_lag_question *question,
                                                 weir_lag_fn visit, void *state,
                                                 struct weir_error *error);

/* mariadb/sweep.c */
WEIR_CHECKED enum weir_status weir_log_maria_sweep(const struct weir_outbox_log *self,
                                                   struct weir_db *db,
                                                   struct weir_sweep_state *state,
                                                   struct weir_sweep_report *report,
                                                   struct weir_error *error);

#endif
