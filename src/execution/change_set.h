/*
 * change_set.h - storing what rules have changed, with all that follows from it.
 *
 * Every change of executions ends here: a worker's call, an operator's, a
 * reconciler's.
 *
 *   transaction:  load or pick (store.h)  ->  a rule for each (rules.h)  ->
 *                 weir_change_set_store()
 *   afterwards:   weir_pending_wakeups_send(): waiters for work or for a
 *                 time are woken
 *
 * In one transaction go the rows, the attempts that ended, results, and the events for
 * the outbox's queues. Nothing is announced before the commit, and nothing is lost
 * when that fails: waiting claims and reconcilers look by themselves, at their intervals.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_EXECUTION_CHANGE_SET_H
#define WEIR_EXECUTION_CHANGE_SET_H

#include "execution/commit_batch.h"
#include "execution/store/store.h"

struct weir_executions;

/* One row after its rule. */
struct weir_change {
    struct weir_execution_record *stored; /* as the rule left it */
    struct weir_consequence consequence;
    struct weir_str result; /* to be kept; data NULL: none */
};

/*
 * What a transaction leaves to be announced. All zeros to begin with; collects over
 * several stores. Times are those that a reconciler has to keep. What was committed
 * elsewhere has no names: which times it has set is not known, only of which kinds some
 * of them may be.
 */
struct weir_pending_wakeups {
    bool ready;                     /* something can be claimed */
    bool over;                      /* something has ended */
    bool events;                    /* something was enqueued to the outbox */
    int64_t due_us[WEIR_DUE_KINDS]; /* the earliest time of each kind; 0: none */

    uint32_t announced; /* 1 << kind: other processes are notified of such times */
    bool adopted; /* in a transaction of the caller's, so this process is not notified */

    uint32_t nameless;  /* 1 << kind: there may be such times */
    int64_t silence_ns; /* for so long more of them may come, without a word; 0: not so */
};

/* What the functions that write down changes have in common. All borrowed. */
struct weir_unit {
    struct weir_executions *executions;
    struct weir_connection *connection; /* in a transaction */
    int64_t now_us;
    struct weir_pending_wakeups *wakeups;
    struct weir_commit_batch *commit_batch; /* what needs no answer */
};

/* Inside the transaction in which the rows were loaded. WEIR_RULING_DONE only: rows
 * that no rule has changed do not come here. */
WEIR_CHECKED enum weir_status weir_change_set_store(
    struct weir_executions *executions, struct weir_connection *connection,
    struct weir_change *changes, size_t count, int64_t now_us,
    struct weir_pending_wakeups *pending_wakeups, struct weir_error *error);

/* The same for callers that do nothing more: what can be goes with the commit, so that
 * it is the commit that fails. Texts and results of the changes are borrowed until
 * then. */
WEIR_CHECKED enum weir_status weir_change_set_store_at_commit(
    struct weir_executions *executions, struct weir_connection *connection,
    struct weir_change *changes, size_t count, int64_t now_us,
    struct weir_pending_wakeups *pending_wakeups, struct weir_error *error);

/* Executions that had ended before, and have left something undone: what follows from
 * it, stored. Inside the transaction in which the rows were loaded. *edges: so many
 * were open. */
WEIR_CHECKED enum weir_status
weir_change_set_resolve(struct weir_executions *executions,
                        struct weir_connection *connection, struct weir_change *changes,
                        size_t count, int64_t now_us,
                        struct weir_pending_wakeups *pending_wakeups, size_t *edges,
                        struct weir_error *error);

/* What becomes of a row: added to the pending wakeups. For rows that do not come
 * through store(): new ones. */
void weir_pending_wakeups_note(struct weir_pending_wakeups *pending_wakeups,
                               const struct weir_execution_row *row);

void weir_pending_wakeups_note_due(struct weir_pending_wakeups *pending_wakeups,
                                   enum weir_due_kind kind, int64_t due_us);

/* Inside the transaction: waiters in other processes are notified when it commits.
 * store() does this by itself. */
void weir_pending_wakeups_announce(const struct weir_unit *unit);

/* After the commit, from any thread; never fails and never waits. */
void weir_pending_wakeups_send(struct weir_executions *executions,
                               const struct weir_pending_wakeups *pending_wakeups);

#endif
