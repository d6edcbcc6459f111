/*
 * close_last.h - the end of a process leaves a database file that holds everything.
 *
 * While connections are open the newest pages are in the log, FILE-wal. The last
 * connection of all moves them into the file and removes the log. Which one is the last
 * is SQLite's to say: it checkpoints at a close only with the exclusive lock of the
 * file, which cannot be had beside any other connection, the application's included.
 * No connection can restart the log meanwhile, so this is safe in every version
 * (sqlite/checkpoint.h describes the others).
 *
 *   process A   turn: exclusive? no, B is there. close
 *   process B                                     turn: exclusive? yes. checkpoint,
 *                                                 remove, close
 *
 * Two that asked at the same time would both be refused, since each still has its own
 * share of the lock, and no connection would be left to move the log. So the processes
 * take turns: a flock() on the log, on which SQLite has no lock of its own. Only the
 * short time of a question is waited for; no connection is open while the last one
 * checkpoints.
 *
 * Threads  The owner of the handle.
 * Failure  None is reported: what stays in the log is there for the next process that
 *          opens the file.
 */
#ifndef WEIR_DB_SQLITE_CLOSE_LAST_H
#define WEIR_DB_SQLITE_CLOSE_LAST_H

struct sqlite3;

/* Close a handle of ours, with which this process is done for good. Without a turn
 * within a second, as beside a process that was stopped in the middle of its own, all
 * the same. */
void weir_sqlite_close_last(struct sqlite3 *db);

#endif
