/*
 * flows_crash.h - processes that build flows, work, suspend, signal, spend and
 * reconcile, and are killed, stopped and ended at random; and whether everything has
 * come to the end that was promised.
 *
 *   composers    two processes: flows of one to seven members with joins of all
 *                policies, in one or two calls, one with a fan of more than a
 *                transaction resolves; some are cancelled
 *   workers      three processes: claim, report usage, make waitpoints and suspend,
 *                release, and complete, fail, delay, abandon, or vanish
 *   signallers   two processes: signals to the same waitpoints, with keys, some of them
 *                twice; for whom no token is known they are operators. They reset
 *                budgets and rotate the key, too
 *   supervisors  two processes, with all reconcilers
 *   faults       SIGKILL; SIGSTOP for longer than a lease, then SIGCONT, of supervisors
 *                all together; the server is stopped at once and restarted. At any
 *                moment, or in front of a statement. And commits whose reply is lost. A
 *                call without reply is repeated, by the next process if need be.
 *
 * What each process was about to do and what it was told is in memory that they share.
 * And triggers note every change of states, signals and sums, in the transaction that
 * makes it. At the end:
 *
 *   signals  Each whose call was answered came once; one that was late never; none that
 *            nobody sent.
 *   winner   What resumed a suspension was one signal, its timeout, or an operator, and
 *            not two of them; signals only when the condition held; a timeout not
 *            before its time, as was said.
 *   joins    A group is decided once, as its edges are, and these are as what they come
 *            from has ended. What is behind it can be claimed once, and only if it is
 *            satisfied. Attempts have numbers without gap, one after the other; each
 *            ends once, and stays so.
 *   stuck    What has not ended waits for something that is really missing. Nothing is
 *            left to be cancelled; no condition holds that nobody has noticed; no
 *            budget holds back anybody without being exceeded.
 *   flows    They ended as their members did, and count them rightly.
 *   data     A member is given its own input; or the result that is passed to it; or,
 *            of several, all that were in time, each under the name of the member that
 *            it comes from, and of all of its edges all of them. Each attempt is given
 *            the same. Nothing is passed that is no result.
 *   ledger   Sums are those of the ledger; each report is counted once, or not at all
 *            if so told; what was released is gone.
 *   limits   No hard limit was ever exceeded; who was admitted beyond one ran at the
 *            same time.
 *   told     What was told to be done is there: members, edges, results, cancels; and
 *            each end and each signal is told in one event.
 *
 * All choices come from the seed. What happens at the same time does not: a seed makes
 * a violation likely to come again, not sure.
 *
 * Threads  The test's main thread, without any other: it forks.
 */
#ifndef WEIR_TEST_FLOWS_CRASH_H
#define WEIR_TEST_FLOWS_CRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "crash/rig/rig.h"

enum { FLOWS_CRASH_TEXT_SIZE = 256 };

enum flows_crash_rule {
    FLOWS_CRASH_SIGNALS,
    FLOWS_CRASH_WINNER,
    FLOWS_CRASH_JOINS,
    FLOWS_CRASH_STUCK,
    FLOWS_CRASH_FLOWS,
    FLOWS_CRASH_DATA,
    FLOWS_CRASH_LEDGER,
    FLOWS_CRASH_LIMITS,
    FLOWS_CRASH_TOLD,
    FLOWS_CRASH_RULES
};

struct flows_crash_options {
    struct rig_options rig; /* work: flows that are built */
    bool plants;            /* break each rule afterwards, in each way that is known */
};

struct flows_crash_result {
    struct rig_counts rig;
    int64_t members;
    int64_t states[16];   /* of members, by enum weir_exec_state */
    int64_t left_waiting; /* for what never comes */
    int64_t decided[3];   /* groups, by enum weir_flow_join_state */
    int64_t siblings;     /* cancelled because of a join */
    int64_t lost_leases;
    int64_t suspensions;
    int64_t signals;     /* that came */
    int64_t effects[8];  /* told, by enum weir_signal_effect */
    int64_t timeouts;    /* suspensions that ended by them */
    int64_t asked_again; /* calls of all kinds whose reply was lost */
    int64_t reports;     /* that were counted */
    int64_t refused;     /* reports beyond a hard limit */
    int64_t held_back;   /* executions, by a budget */
    int64_t resets;
    int64_t broken[FLOWS_CRASH_RULES];                    /* how often, each rule */
    int64_t violations;                                   /* the sum */
    char first[FLOWS_CRASH_RULES][FLOWS_CRASH_TEXT_SIZE]; /* of each */
    uint32_t planted;
    uint64_t found; /* of these: a bit for each, by its number */
};

/* So many faults; where there is a server, up to six of them are on it. */
void flows_crash_options_init(struct flows_crash_options *self, uint64_t seed,
                              enum weir_engine engine, uint32_t flows, uint32_t faults);

/* The fixture's database has the tables of the outbox. Fails the test only when
 * something else goes wrong than what was promised: a process that does not start or
 * end. */
void flows_crash_run(struct fixture *fixture, const struct flows_crash_options *options,
                     struct flows_crash_result *out);

/* Figures, and the first violation if there is one, as comments of the test. */
/* Of those that `plants` plants. */
const char *flows_crash_plant_name(size_t number);

void flows_crash_print(const struct fixture *fixture,
                       const struct flows_crash_options *options,
                       const struct flows_crash_result *result);

#endif
