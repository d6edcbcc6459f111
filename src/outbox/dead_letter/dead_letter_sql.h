/*
 * dead_letter_sql.h - statements on dead letters that each engine has in its own form.
 *
 * Dead letters are few where all is well, and a million where something was wrong all
 * night. Then a page of them, or a claim, must not read all of them: tests look at the
 * plans of these statements.
 */
#ifndef WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_SQL_H
#define WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_SQL_H

#include "db/sql.h"
#include "outbox/dead_letter/dead_letter_scope.h"

/*
 * All but store() and lock() give id, size of the payload and time of failure, and lock
 * the rows. By the index of what they look for, without sorting.
 */
struct weir_letter_sql {
    struct weir_sql list;        /* WEIR_LETTER_LIST_BY: a page, newest first */
    struct weir_sql list_sealed; /* nothing of a payload is read, not even its size */

    /* Rows that another claim has locked are skipped: two claims at once get different
     * rows. */
    struct weir_sql claim;   /* WEIR_LETTER_PICK_CLAIMABLE */
    struct weir_sql requeue; /* WEIR_LETTER_STEP_OPEN; waits for locked rows */
    struct weir_sql step_open;
    struct weir_sql step_closed; /* WEIR_LETTER_STEP_CLOSED */
    struct weir_sql expire;      /* WEIR_LETTER_EXPIRED_PICKS */

    /* One letter for a message; by the unique index. Repeating changes nothing. */
    struct weir_sql store;

    /* {1}: an id, or all of them where arrays are taken. By the primary key. Sorted below
     * the lock, or locked one by one in this order, so two decisions never wait for each
     * other in a circle. */
    struct weir_sql lock; /* WEIR_LETTER_LOCK */
};

/* As in the indexes (schema.c): {now} is no part of them, since adopted connections of
 * SQLite do not have our clock. Statements are given the time. */
#define WEIR_LETTER_OPEN "d.status IN ('pending', 'reprocessing')"
#define WEIR_LETTER_CLOSED "d.status IN ('resolved', 'discarded')"

/* ---- a page, newest first ---------------------------------------------------------- */

/* {8}: now; {9} to {12}: is this one wanted? Of the resolved ones, 2 asks for requeued
 * ones. */
#define WEIR_LETTER_IS_PENDING "d.status = 'pending' AND {9} = 1"
#define WEIR_LETTER_IS_CLAIMED                                                           \
    "d.status = 'reprocessing' AND (({9} = 1 AND d.deadline_us <= {8})"                  \
    " OR ({10} = 1 AND d.deadline_us > {8}))"
#define WEIR_LETTER_IS_RESOLVED                                                          \
    "d.status = 'resolved'"                                                              \
    " AND ({11} = 1 OR ({11} = 2 AND d.requeued_uid IS NOT NULL))"
#define WEIR_LETTER_IS_DISCARDED "d.status = 'discarded' AND {12} = 1"
#define WEIR_LETTER_STATUS_LETTERS "iiiii"

/* {13}, {14}: begin behind it; {15}: how many. */
#define WEIR_LETTER_NEWEST(size, how, which, behind, limit)                              \
    "SELECT * FROM (SELECT d.id, " size " AS size, d.failed_us"                          \
    " FROM {p}_dead_letter d" how " WHERE " which " AND " WEIR_LETTER_FILTER             \
    " AND d.failed_us >= {3} AND d.failed_us < {4} AND " behind                          \
    " ORDER BY d.failed_us DESC, d.id DESC LIMIT " limit ") x"

/* The limit is a sub-select, so that the planner takes it for small and follows the
 * index. */
#define WEIR_LETTER_OF_STATUS(size, which)                                               \
    WEIR_LETTER_NEWEST(size, "", which, "(d.failed_us, d.id) < ({13}, {14})",            \
                       "(SELECT {15})")

#define WEIR_LETTER_LIST(pending, claimed, resolved, discarded)                          \
    {                                                                                    \
        .name = "list dead letters",                                                     \
        .text = "SELECT id, size, failed_us FROM (" pending " UNION ALL " claimed        \
                " UNION ALL " resolved " UNION ALL " discarded ") newest"                \
                " ORDER BY failed_us DESC, id DESC LIMIT {15}",                          \
        .parameters = WEIR_LETTER_FILTER_LETTERS WEIR_LETTER_STATUS_LETTERS "iii",       \
    }
#define WEIR_LETTER_LIST_BY(of, size)                                                    \
    WEIR_LETTER_LIST(of(size, WEIR_LETTER_IS_PENDING), of(size, WEIR_LETTER_IS_CLAIMED), \
                     of(size, WEIR_LETTER_IS_RESOLVED),                                  \
                     of(size, WEIR_LETTER_IS_DISCARDED))

/* ---- picks ------------------------------------------------------------------------- */

/* By the index of open ones, in its order, for which SQLite needs a hint (`how`). {8}:
 * now; {9}: how many. */
#define WEIR_LETTER_CLAIMABLE WEIR_LETTER_OPEN " AND d.deadline_us <= {8}"
#define WEIR_LETTER_PICK_CLAIMABLE(how)                                                  \
    "SELECT d.id, length(d.payload), d.failed_us FROM {p}_dead_letter d" how             \
    " WHERE " WEIR_LETTER_CLAIMABLE " AND " WEIR_LETTER_FILTER                           \
    " ORDER BY d.deadline_us, d.id LIMIT (SELECT {9})"

/*
 * {8}: above this id; {9}: up to that one; {10}: how many; {11}: now. By the primary
 * key, a pass over the table in all steps together; SQLite needs a hint for that (`how`),
 * or it goes by the status and sorts all that are left in each step.
 */
#define WEIR_LETTER_STEP(how, which)                                                     \
    "SELECT d.id, length(d.payload), d.failed_us FROM {p}_dead_letter d" how             \
    " WHERE " which " <= {11} AND d.id > {8} AND d.id <= {9} AND " WEIR_LETTER_FILTER    \
    " ORDER BY d.id LIMIT (SELECT {10})"
#define WEIR_LETTER_STEP_LETTERS WEIR_LETTER_FILTER_LETTERS "iiii"
#define WEIR_LETTER_STEP_OPEN(how)                                                       \
    WEIR_LETTER_STEP(how, WEIR_LETTER_OPEN " AND d.deadline_us")
#define WEIR_LETTER_STEP_CLOSED(how)                                                     \
    WEIR_LETTER_STEP(how, WEIR_LETTER_CLOSED " AND d.completed_us")

/*
 * By the index of closed ones, for which SQLite and MariaDB need a hint (`how`): none
 * younger than {3} is looked at, which no queue lets go. {2} is now: a clock in the
 * statement would be asked for each row. 64: temp_dir.h.
 */
#define WEIR_LETTER_EXPIRED(columns, how, join, queue)                                   \
    "SELECT " columns " FROM {p}_dead_letter d" how join " {p}_queue q ON q.id = " queue \
    " WHERE " WEIR_LETTER_CLOSED " AND d.completed_us < {3}"                             \
    " AND q.retention_us > 0 AND d.completed_us < {2} - q.retention_us"
#define WEIR_LETTER_EXPIRED_PICKS(how)                                                   \
    WEIR_LETTER_EXPIRED("d.id, length(d.payload), d.failed_us", how, " JOIN",            \
                        "d.pid / 64")                                                    \
    " ORDER BY d.completed_us LIMIT (SELECT {1})"

#define WEIR_LETTER_LOCK                                                                 \
    "SELECT d.id, d.status, d.token, d.deadline_us, length(d.payload), d.failed_us"      \
    " FROM {p}_dead_letter d WHERE d.id"

#define WEIR_LETTER_INSERT                                                               \
    "INSERT INTO {p}_dead_letter (subscription, pid, seq, log_id, created_us, "          \
    "uid,"                                                                               \
    " message_key, type, headers, payload, attempts, error, failed_us) "

/*
 * One letter for a message. One that is open stays as it is. One that was decided about
 * is opened again: its message was delivered again (seek.h) and rejected again.
 */
#define WEIR_LETTER_ONCE                                                                 \
    " ON CONFLICT (subscription, pid, seq) DO UPDATE SET status = 'pending',"            \
    " attempts = excluded.attempts, error = excluded.error,"                             \
    " failed_us = excluded.failed_us, token = 0, deadline_us = 0, completed_us = 0,"     \
    " requeued_uid = NULL"                                                               \
    " WHERE {p}_dead_letter.status NOT IN ('pending', 'reprocessing')"

#endif
