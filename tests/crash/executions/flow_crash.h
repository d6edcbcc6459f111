/*
 * flow_crash.h - processes that submit, work and reconcile, and are killed, stopped and
 * ended at random; and whether every execution has had the one life that was promised.
 *
 *   submitters   two processes: one to many executions in a call, alone or in a
 *                transaction, some on connections of the application's own, some of
 *                which are rolled back; calls whose reply was lost are repeated, by the
 *                next process if need be, and so are some whose reply was not
 *   workers      three processes: claim many with leases of a second, renew some, and
 *                complete, fail, delay or abandon each, or vanish; calls whose reply
 *                was lost are repeated
 *   supervisors  two processes, with all reconcilers
 *   faults       SIGKILL; SIGSTOP for longer than a lease, then SIGCONT, of supervisors
 *                all together; the server is stopped at once and restarted. Of a
 *                process at any moment, or in front of one of its statements. And
 *                commits whose reply is lost. And processes are ended in good order.
 *
 * What submitters and workers were told is noted in memory that the processes share,
 * outside of the database. When all executions have ended it is compared with the
 * tables:
 *
 *   E1  Submissions: what was committed is there once, under the id that was told, also
 *       when it was told twice; what was rolled back is not; of a transaction in doubt
 *       there is all or nothing. SQLite's file is whole.
 *   E2  Ends: each has ended, by its last attempt and no other, in the state that
 *       follows from it.
 *   E3  Attempts: 0, 1, 2, ... without gap, as many as were counted; each began after
 *       the one before had ended, under a later epoch, and is of the type that follows
 *       from that end.
 *   E4  Events: one completion for each, which says how it has ended.
 *   E5  What was told to be done is done: who claimed had that attempt; what was
 *       completed has that result; the attempt has ended as was said; and it is told so
 *       again.
 *   E6  What was refused has left no trace, an epoch is one worker's, and who was
 *       refused once was not served later.
 *   E7  Policy: retries and reclaims are those of the attempts, and within their
 *       limits; whoever ran out of them had used them up.
 *   E8  Times, all by the database's clock: nothing began before its delay or its
 *       backoff was over, no lease was lost before the time that its owner was told,
 *       nothing was settled after it, and nothing expired before its deadline.
 *
 * All choices come from the seed. What happens at the same time does not: a seed makes
 * a violation likely to come again, not sure.
 *
 * Threads  The test's main thread, without any other: it forks.
 */
#ifndef WEIR_TEST_FLOW_CRASH_H
#define WEIR_TEST_FLOW_CRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "crash/rig/rig.h"

enum { FLOW_CRASH_TEXT_SIZE = 256 };

/* What is done to tables or notes before the audit, which must find it. */
enum flow_crash_plant {
    FLOW_CRASH_SOUND,
    FLOW_CRASH_LOST,        /* one that was committed is gone */
    FLOW_CRASH_TWICE,       /* one is there again under another id */
    FLOW_CRASH_ROLLED_BACK, /* one is there that was rolled back */
    FLOW_CRASH_HALF,        /* half of a transaction in doubt */
    FLOW_CRASH_OTHER_ID,    /* another id was told */
    FLOW_CRASH_NEVER_ENDED,
    FLOW_CRASH_ENDED_TWICE, /* an attempt before the last one has ended it, too */
    FLOW_CRASH_OTHER_END,   /* failed after a successful attempt */
    FLOW_CRASH_GAP,         /* an attempt is missing */
    FLOW_CRASH_OVERLAP,     /* one began before the one before had ended */
    FLOW_CRASH_WRONG_TYPE,  /* a retry after a lost lease */
    FLOW_CRASH_NO_EVENT,    /* one ends without being told of */
    FLOW_CRASH_TWO_EVENTS,
    FLOW_CRASH_OTHER_RESULT,  /* than whoever completed it had given */
    FLOW_CRASH_OTHER_OUTCOME, /* than whoever was told OK had given */
    FLOW_CRASH_REPEAT_REFUSED,
    FLOW_CRASH_STALE_HEEDED, /* who was refused had an effect */
    FLOW_CRASH_TWO_OWNERS,   /* of an epoch */
    FLOW_CRASH_SERVED_LATER, /* than refused */
    FLOW_CRASH_MORE_RETRIES, /* than attempts that failed */
    FLOW_CRASH_GIVEN_UP,     /* with retries left */
    FLOW_CRASH_LEASE_EARLY,  /* lost before its time */
    FLOW_CRASH_LEASE_OVER,   /* before it was settled */
    FLOW_CRASH_BEGAN_EARLY   /* before it was submitted */
};

/* What the audit looks for. */
enum flow_crash_rule {
    FLOW_CRASH_E1,
    FLOW_CRASH_E2,
    FLOW_CRASH_E3,
    FLOW_CRASH_E4,
    FLOW_CRASH_E5,
    FLOW_CRASH_E6,
    FLOW_CRASH_E7,
    FLOW_CRASH_E8,
    FLOW_CRASH_RULES
};

struct flow_crash_options {
    struct rig_options rig;              /* work: executions that are committed */
    const enum flow_crash_plant *plants; /* one after the other, each with an audit; SOUND
                                            at the end; NULL: none */
    enum flow_crash_rule rule;           /* that each of them breaks */
};

struct flow_crash_result {
    struct rig_counts rig;
    int64_t executions;
    int64_t rolled_back;  /* drafts that were to be none */
    int64_t doubted;      /* drafts of which it was never found out */
    int64_t resubmitted;  /* drafts that were submitted again */
    int64_t attempts;     /* in the tables */
    int64_t outcomes[16]; /* of them, by enum weir_attempt_outcome */
    int64_t states[16];   /* of executions, by enum weir_exec_state */
    int64_t claims;       /* that workers were told of */
    int64_t told_ok;      /* settlements */
    int64_t told_fenced;
    int64_t asked_again; /* settlements whose reply was lost */
    int64_t events;
    int64_t broken[FLOW_CRASH_RULES]; /* how often, each rule */
    int64_t violations;               /* the sum */
    char first[FLOW_CRASH_TEXT_SIZE];
    enum flow_crash_plant missed; /* planted and not found; SOUND: all were */
};

/* So many faults; where there is a server, each tenth is on it. */
void flow_crash_options_init(struct flow_crash_options *self, uint64_t seed,
                             enum weir_engine engine, uint32_t executions,
                             uint32_t faults);

/* The fixture's database has the tables of the outbox. Fails the test only when
 * something else goes wrong than what was promised: a process that does not start or
 * end. */
void flow_crash_run(struct fixture *fixture, const struct flow_crash_options *options,
                    struct flow_crash_result *out);

/* Figures, and the first violation if there is one, as comments of the test. */
void flow_crash_print(const struct fixture *fixture,
                      const struct flow_crash_options *options,
                      const struct flow_crash_result *result);

#endif
