/*
 * torture.h - processes that produce and deliver, and are killed, stopped and ended at
 * random; and whether everything that was promised has held.
 *
 *   producers   three processes: transactions of one to many messages for two queues,
 *               some of them rolled back, some on connections of the application's own,
 *               some still open when their process is killed
 *   consumers   three processes; each serves both queues, one with leased handlers, one
 *               with transactional ones, per message ("single") and per batch ("batch")
 *   faults      SIGKILL; SIGSTOP for longer than a lease, then SIGCONT; the server is
 *               killed and restarted. Of a process at any moment, or at a named point.
 *               And processes are ended in good order, which is no fault and must
 *               repeat nothing.
 *
 * All that handlers are given and all faults are noted in memory that the processes
 * share, outside of the database; each move of a position by a trigger, so in the
 * transaction that moves it. When everything is delivered the two are compared:
 *
 *   T1  Nothing that was committed is lost, nothing comes that was not, order and
 *       numbers are as delivery_audit.h has them. Each number has the same uid whenever
 *       it comes. SQLite's file is whole.
 *   T2  Positions: version, epoch and number never go back, and what a position was
 *       moved over was given to a handler by the owner of that very epoch.
 *   T3  An epoch is one process's.
 *   T4  Nothing comes that was acknowledged: not under a later epoch what an earlier
 *       one has acknowledged, and not under the same epoch.
 *   T5  Leased: what comes again comes after a fault of the process that had it, of the
 *       one that gets it, or of the server, or while any process may stand inside a
 *       transaction of the library (WEIR_IDLE_MS_MAX, longer than the leases here); at
 *       most a batch for each fault and partition.
 *   T6  Transactional: each message has its effect once.
 *   T7  Nothing that a handler has answered makes a dead letter.
 *   T8  While a process stands still, at whatever place, the others deliver in every
 *       partition within a lease and 3 s, and on a busy machine four times what they
 *       need for all partitions while no process stands still. Not on SQLite, where it
 *       may have the only write lock there is.
 *   T9  No dead letter by deaths without attempts_max marks of a call alone (mark.h),
 *       each of another epoch. attempts_max is so large that chance does not make one.
 *
 * All choices come from the seed. What happens at the same time does not: a seed makes
 * a violation likely to come again, not sure.
 *
 * Threads  The test's main thread, without any other: it forks.
 */
#ifndef WEIR_TEST_TORTURE_H
#define WEIR_TEST_TORTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "crash/rig/delivery_audit.h"
#include "crash/rig/rig.h"

/* Bugs that the audit must find. */
enum torture_plant {
    TORTURE_SOUND,
    TORTURE_ENQUEUE_OUTSIDE,  /* of the producer's transaction */
    TORTURE_ENQUEUE_INVERTED, /* the messages of a transaction, last first */
    TORTURE_RETRY_DONE,    /* now and then a handler has done it and asks for it again */
    TORTURE_REJECT,        /* now and then a handler rejects a message */
    TORTURE_WRONG_PROCESS, /* now and then a record is of another process */
    TORTURE_WORK_LATE,     /* now and then a handler works when it has answered */
};

/* What the audit looks for. */
enum torture_rule {
    TORTURE_T1,
    TORTURE_T2,
    TORTURE_T3,
    TORTURE_T4,
    TORTURE_T5,
    TORTURE_T6,
    TORTURE_T7,
    TORTURE_T8,
    TORTURE_T9,
    TORTURE_RULES
};

struct torture_options {
    struct rig_options rig; /* work: messages that are committed meanwhile, at least */
    uint32_t
        stands; /* times that a consumer stands still at a named point, and nothing else
                         happens until the others have gone on; not on SQLite */
    uint32_t attempts_max; /* of both queues */
    enum torture_plant plant;
    const char *place; /* faults happen at this point only; NULL: anywhere */
};

struct torture_result {
    struct delivery_audit_verdict verdict; /* T1 */
    struct rig_counts rig;
    uint32_t processes;   /* that have consumed */
    int64_t records;      /* messages given to handlers */
    int64_t repeats;      /* of leased handlers */
    int64_t repeats_most; /* for one fault, in one partition */
    int64_t calls_again;  /* of transactional handlers: rolled back and repeated */
    int64_t effects;
    int64_t moves;     /* of positions */
    int64_t takeovers; /* epochs, but for the first of each partition */
    int64_t held_up;   /* times that machine or server made a process wait for long */
    int64_t broken[TORTURE_RULES]; /* how often, each rule */
    int64_t violations;            /* the sum */
    char first[DELIVERY_AUDIT_TEXT_SIZE];
};

/* So many faults; where there is a server, each tenth is on it. */
void torture_options_init(struct torture_options *self, uint64_t seed,
                          enum weir_engine engine, uint32_t faults);

/* The fixture's database is migrated and has no queues yet. Fails the test only when
 * something else goes wrong than what was promised: a process that does not start or
 * end. */
void torture_run(struct fixture *fixture, const struct torture_options *options,
                 struct torture_result *out);

/* Figures, and the first violation if there is one, as comments of the test. */
void torture_print(const struct fixture *fixture, const struct torture_options *options,
                   const struct torture_result *result);

#endif
