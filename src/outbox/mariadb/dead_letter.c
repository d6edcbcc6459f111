/*
 * dead_letter.c - the statements of dead_letter_sql.h on MariaDB.
 */
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/mariadb/engine.h"

/*
 * A locking read locks every row that it looks at, and the entry of the index before the
 * row: a transaction that walks an index and one that changes a row in it would lock in
 * opposite order. So rows are found by `look`, which locks nothing, and locked one after
 * the other by their primary key, until there are enough; `still` is what may have
 * changed in between. Only the removal of a whole queue locks letters in another way, and
 * is repeated. `look` is merged into the join, so that it reads no more than is taken.
 */
#define LOOK_AND_LOCK(look, still, order, limit, lock)                                   \
    "SELECT d.id, length(d.payload), d.failed_us FROM (" look ") x"                      \
    " STRAIGHT_JOIN {p}_dead_letter d FORCE INDEX (PRIMARY) ON d.id = x.id"              \
    " WHERE " still " ORDER BY " order " LIMIT " limit lock
#define SKIP_LOCKED " FOR UPDATE SKIP LOCKED"

/* In the same order: what is pending has no deadline, and comes first in the index as
 * well. */
#define PICK_CLAIMABLE                                                                   \
    LOOK_AND_LOCK("SELECT d.id, d.status, d.deadline_us"                                 \
                  " FROM {p}_dead_letter d"                                              \
                  " FORCE INDEX ({n}_dead_letter_open) WHERE " WEIR_LETTER_CLAIMABLE     \
                  " AND " WEIR_LETTER_FILTER,                                            \
                  WEIR_LETTER_CLAIMABLE, "x.status, x.deadline_us, x.id", "{9}",         \
                  SKIP_LOCKED)

/* `lock`: how. */
#define STEP(which, lock)                                                                \
    LOOK_AND_LOCK("SELECT d.id FROM {p}_dead_letter d FORCE INDEX (PRIMARY)"             \
                  " WHERE " which " <= {11} AND d.id > {8} AND d.id <= {9}"              \
                  " AND " WEIR_LETTER_FILTER,                                            \
                  which " <= {11}", "x.id", "{10}", lock)
#define STEP_OPEN(lock) STEP(WEIR_LETTER_OPEN " AND d.deadline_us", lock)
#define STEP_CLOSED(lock) STEP(WEIR_LETTER_CLOSED " AND d.completed_us", lock)

/* Those without a time are open. */
#define EXPIRED_LOOK                                                                     \
    WEIR_LETTER_EXPIRED("d.id, d.completed_us", " FORCE INDEX ({n}_dead_letter_closed)", \
                        " STRAIGHT_JOIN", "d.pid DIV 64")                                \
    " AND d.completed_us > 0"

/* MariaDB needs a hint for the index, and does not see where to begin in it from a
 * comparison of pairs. */
#define OF_STATUS(size, which)                                                           \
    WEIR_LETTER_NEWEST(size, " FORCE INDEX ({n}_dead_letter_by_failure)", which,         \
                       "d.failed_us <= {13} AND (d.failed_us < {13} OR d.id < {14})",    \
                       "{15}")

/* MariaDB goes from left to right: the status comes last. */
#define DECIDED "status NOT IN ('pending', 'reprocessing')"
#define ONCE                                                                             \
    " ON DUPLICATE KEY UPDATE attempts = IF(" DECIDED ", VALUES(attempts), attempts),"   \
    " error = IF(" DECIDED ", VALUES(error), error),"                                    \
    " failed_us = IF(" DECIDED ", VALUES(failed_us), failed_us),"                        \
    " token = IF(" DECIDED ", 0, token), deadline_us = IF(" DECIDED ", 0, deadline_us)," \
    " completed_us = IF(" DECIDED ", 0, completed_us),"                                  \
    " requeued_uid = IF(" DECIDED ", NULL, requeued_uid),"                               \
    " status = IF(" DECIDED ", 'pending', status)"

const struct weir_letter_sql weir_letters_maria = {
    .list = WEIR_LETTER_LIST_BY(OF_STATUS, "length(d.payload)"),
    .list_sealed = WEIR_LETTER_LIST_BY(OF_STATUS, "0"),
    .claim = {.name = "pick dead letters",
              .text = PICK_CLAIMABLE,
              .parameters = WEIR_LETTER_FILTER_LETTERS "ii"},
    .requeue = {.name = "pick dead letters to requeue",
                .text = STEP_OPEN(" FOR UPDATE"),
                .parameters = WEIR_LETTER_STEP_LETTERS},
    .step_open = {.name = "pick pending dead letters",
                  .text = STEP_OPEN(SKIP_LOCKED),
                  .parameters = WEIR_LETTER_STEP_LETTERS},
    .step_closed = {.name = "pick closed dead letters",
                    .text = STEP_CLOSED(SKIP_LOCKED),
                    .parameters = WEIR_LETTER_STEP_LETTERS},
    .expire = {.name = "pick old dead letters",
               .text = LOOK_AND_LOCK(EXPIRED_LOOK, WEIR_LETTER_CLOSED, "x.completed_us",
                                     "{1}", SKIP_LOCKED),
               .parameters = "iii"},

    /* Not INSERT IGNORE, which would also keep silent about values that do not fit. */
    .store = {.name = "store dead letter",
              .text = WEIR_LETTER_INSERT
              "VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10},"
              " {11}, {12}, {now})" ONCE,
              .parameters = "iiiiibtttbit"},
    .lock = {.name = "lock dead letter",
             .text = WEIR_LETTER_LOCK " = {1} FOR UPDATE",
             .parameters = "i"},
};
