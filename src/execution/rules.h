/*
 * rules.h - what may become of an execution, and what follows from it.
 *
 * Every change of an execution, whatever its origin, is one of these functions: pure,
 * on a row in memory, with the time given. The caller has locked the row, and
 * stores it with all that follows in the same transaction (change_set.h). So the two
 * engines, the workers' calls and the reconcilers cannot differ in what they do.
 *
 *   load and lock rows  ->  a rule for each  ->  store rows, attempts, results, events
 *
 * A rule answers with a ruling. Only on WEIR_RULING_DONE has it changed anything.
 *
 *   from \ rule    claim  settle*  promote  time_out   expire  revoke  prioritise  replay
 *                                           lose_lease cancel
 *   READY            x                                   x                x
 *   DELAYED                           x                  x
 *   BLOCKED                                              x
 *   ACTIVE                   x                  x        x       x
 *   SUSPENDED                                            x
 *   over                                                                            x
 *
 *   * renew, complete, fail, delay, abandon
 *
 * Fence    A worker's call shows an epoch. It must be the row's, the state
 *          ACTIVE, and the lease not over, asked in this order; the ruling says which
 *          of these it was not. The epoch grows when ownership begins or ends, never
 *          goes back, and is one per execution: an attempt that was timed out cannot
 *          speak for the one after it.
 * Replies  A call that is repeated after its reply was lost finds the row as its own
 *          first call left it: complete, fail, delay, suspend and abandon leave
 *          `settled_epoch` and `settled_as` behind, and answer WEIR_RULING_REPEATED
 *          when both are the caller's. The same epoch with another verb is
 *          WEIR_RULING_OTHERWISE. That holds until another claim is settled.
 * Times    Something is due, and a lease over, from its very microsecond on. Sums stop
 *          at the end of the range. A clock that goes back breaks nothing.
 * Memory   Rows keep the texts they are given (struct weir_str), as borrowed.
 */
#ifndef WEIR_EXECUTION_RULES_H
#define WEIR_EXECUTION_RULES_H

#include "base/str.h"
#include "execution/state.h"
#include "weir/suspension.h"

/* How the claim `settled_epoch` was settled. The numbers are stored. */
enum weir_settled_as {
    WEIR_SETTLED_UNKNOWN, /* by a library that did not store it: any repetition is
                             accepted */
    WEIR_SETTLED_COMPLETE,
    WEIR_SETTLED_FAIL,
    WEIR_SETTLED_FAIL_FOR_GOOD,
    WEIR_SETTLED_DELAY,
    WEIR_SETTLED_ABANDON,
    WEIR_SETTLED_SUSPEND,
    WEIR_SETTLED_COUNT
};

/*
 * The place in line of what is READY: by priority, then by this. A new execution has
 * the time at which it was created. What becomes ready again, or gets another priority,
 * has the time of that minus 2^63: so it comes before all that is new, and every place
 * is behind those of the same kind that were given out before. Claims need not look
 * again at places that all are used up (floors.h).
 */
#define WEIR_TURN_AGAIN(now_us) (INT64_MIN + (now_us))

/* One row of {p}_execution, as far as rules need it. Texts are the caller's. */
struct weir_execution_row {
    int64_t no;
    struct weir_execution_id id;
    int64_t flow_no; /* 0: of no flow */
    struct weir_execution_policy policy;

    enum weir_exec_state state;
    enum weir_hold hold;
    enum weir_pending pending; /* INITIAL when it is ACTIVE or over: no claim will come */
    int32_t priority;
    int64_t turn; /* in line, within its priority */
    int64_t epoch;
    int64_t settled_epoch; /* of the claim that was last settled by its worker; 0: none */
    enum weir_settled_as settled_as;
    int32_t attempts; /* begun so far; the current one has the number attempts - 1 */
    uint32_t retries; /* these two since the last replay */
    uint32_t reclaims;
    uint32_t replays;

    int64_t due_us;   /* DELAYED; BLOCKED, if it is not to begin before; SUSPENDED, if not
                       for ever; else 0 */
    int64_t lease_us; /* ACTIVE; else 0 */
    int64_t attempt_deadline_us; /* ACTIVE, and the policy has one; else 0 */
    int64_t deadline_us;         /* of the whole; 0: none */
    int64_t claimed_us;          /* when the current or last attempt began */
    int64_t started_us;          /* the first claim ever; set once */
    int64_t ended_us;            /* over; else 0 */

    enum weir_attempt_type attempt_type; /* of the current or last attempt */
    enum weir_on_timeout on_timeout;     /* of the current or last suspension */
    struct weir_str worker;
    struct weir_str instance;
    struct weir_str
        failure; /* why it failed last, or was cancelled; "" after a success */
};

enum weir_ruling {
    WEIR_RULING_DONE,
    WEIR_RULING_REPEATED,  /* the caller has done this before: fine */
    WEIR_RULING_OTHERWISE, /* the caller has settled this claim before, with another verb
                            */
    WEIR_RULING_NOTHING, /* not due, or as it should be already: fine, nothing to store */
    WEIR_RULING_STALE,   /* another epoch */
    WEIR_RULING_LEASE_OVER, /* the right epoch, too late */
    WEIR_RULING_NOT_ACTIVE,
    WEIR_RULING_OTHER_INSTANCE, /* revoke: another worker holds it */
    WEIR_RULING_OVER,           /* it has ended, and this cannot be done to what has */
    WEIR_RULING_NOT_OVER,       /* the opposite */
    WEIR_RULING_WRONG_STATE,
    WEIR_RULING_LIMIT, /* of replays; of attempts that can be numbered */
    WEIR_RULING_COUNT
};

/* What is to be announced, in the same transaction. */
enum weir_news {
    WEIR_NEWS_COMPLETION = 1 << 0, /* it is over; the row says how */
    WEIR_NEWS_ACQUIRED = 1 << 1,
    WEIR_NEWS_RECLAIMED = 1 << 2, /* instead of ACQUIRED, after a worker had lost it */
    WEIR_NEWS_EXPIRED = 1 << 3,   /* the lease has ended because a time was over */
    WEIR_NEWS_REVOKED = 1 << 4,   /* the lease has ended in any other way */
    WEIR_NEWS_PRIORITY = 1 << 5,
    WEIR_NEWS_REPLAYED = 1 << 6,
    WEIR_NEWS_RESUMED = 1 << 7 /* by an operator's call, which adds it itself */
};

/* What follows from a change. All zero but on WEIR_RULING_DONE. */
struct weir_consequence {
    unsigned news;        /* of enum weir_news */
    bool wait_ended;      /* its suspension and waitpoints are to be closed */
    bool was_unlucky;     /* WEIR_NEWS_REPLAYED: see weir_row_is_unlucky() */
    bool waited_too_long; /* and a signal is to inform the worker that resumes it */
    bool attempt_ended; /* then those below; its number is attempts - 1, its type and its
                           worker are in the row, it began at claimed_us */
    enum weir_attempt_outcome outcome;
    int64_t attempt_epoch;   /* of its last claim */
    struct weir_str failure; /* of this attempt; "" */
    int32_t priority_before; /* WEIR_NEWS_PRIORITY */
};

struct weir_claimant {
    struct weir_str worker;
    struct weir_str instance;
    int64_t ttl_us;
};

struct weir_suspending {
    enum weir_hold hold; /* what for */
    int64_t timeout_us;  /* when it takes too long; 0: never */
    enum weir_on_timeout on_timeout;
};

struct weir_failing {
    struct weir_str reason;
    bool permanent; /* no retry, whatever the policy allows */
};

/* The row of a draft that was checked (draft.h): READY, or DELAYED. The caller gives
 * `no`, `id` and `flow_no` afterwards. */
void weir_rule_submit(struct weir_execution_row *row,
                      const struct weir_execution_draft *draft, int64_t now_us);

/* Of workers. `epoch` is what the caller shows. */

/* Begins a new attempt, or goes on with the one that was delayed or suspended.
 * WRONG_STATE, OVER: it is not READY. NOTHING: its deadline has passed, so it is
 * expire()'s. */
enum weir_ruling weir_rule_claim(struct weir_execution_row *row,
                                 const struct weir_claimant *claimant, int64_t now_us,
                                 struct weir_consequence *out);

/* May the holder of `epoch` write? DONE, STALE, NOT_ACTIVE, LEASE_OVER. Changes
 * nothing. */
enum weir_ruling weir_rule_fence(const struct weir_execution_row *row, int64_t epoch,
                                 int64_t now_us);
enum weir_ruling weir_rule_renew(struct weir_execution_row *row, int64_t epoch,
                                 int64_t ttl_us, int64_t now_us);
enum weir_ruling weir_rule_complete(struct weir_execution_row *row, int64_t epoch,
                                    int64_t now_us, struct weir_consequence *out);
enum weir_ruling weir_rule_fail(struct weir_execution_row *row, int64_t epoch,
                                const struct weir_failing *failing, int64_t now_us,
                                struct weir_consequence *out);

/* Not before `due_us`; then the same attempt goes on. */
enum weir_ruling weir_rule_delay(struct weir_execution_row *row, int64_t epoch,
                                 int64_t due_us, int64_t now_us,
                                 struct weir_consequence *out);

/* Until something happens; then the same attempt goes on. */
enum weir_ruling weir_rule_suspend(struct weir_execution_row *row, int64_t epoch,
                                   const struct weir_suspending *suspending,
                                   int64_t now_us, struct weir_consequence *out);

/* Cancelled by its worker. A rule of its own, so that no epoch means "any". */
enum weir_ruling weir_rule_abandon(struct weir_execution_row *row, int64_t epoch,
                                   struct weir_str reason, int64_t now_us,
                                   struct weir_consequence *out);

/* Of operators. */

/* Any holder. NOTHING: it is cancelled already; OVER: it has ended in another
 * way. */
enum weir_ruling weir_rule_cancel(struct weir_execution_row *row, struct weir_str reason,
                                  int64_t now_us, struct weir_consequence *out);

/* Take it from its worker; the next attempt is a reclaim that does not count.
 * `instance` "" and `epoch` 0: any holder. NOT_ACTIVE, OTHER_INSTANCE, STALE:
 * there is nothing to revoke. */
enum weir_ruling weir_rule_revoke(struct weir_execution_row *row,
                                  struct weir_str instance, int64_t epoch, int64_t now_us,
                                  struct weir_consequence *out);

/* Of what is READY; clamped. NOTHING: it is that already. */
enum weir_ruling weir_rule_prioritise(struct weir_execution_row *row, int32_t priority,
                                      int64_t now_us, struct weir_consequence *out);

/* Once more, with retries and reclaims as if it were new. A deadline that has passed is
 * dropped: it would end at once. A skipped member of a flow waits for its dependencies
 * again. NOT_OVER, LIMIT. */
enum weir_ruling weir_rule_replay(struct weir_execution_row *row, int64_t now_us,
                                  struct weir_consequence *out);

/* Of signals and operators: the wait is over, not before `due_us`. WRONG_STATE, OVER:
 * it does not wait. */
enum weir_ruling weir_rule_resume(struct weir_execution_row *row, int64_t due_us,
                                  int64_t now_us, struct weir_consequence *out);

/* Of flows and budgets. block(): not to be claimed while `hold` is; a time that it
 * waits for stays. NOTHING: it is so already; WRONG_STATE, OVER: it does not wait for a
 * worker or a time. unblock(): NOTHING when something else, or nothing, holds it.
 * skip(): what it depends on cannot be any more; NOTHING: it has ended. */
enum weir_ruling weir_rule_block(struct weir_execution_row *row, enum weir_hold hold,
                                 struct weir_consequence *out);
enum weir_ruling weir_rule_unblock(struct weir_execution_row *row, enum weir_hold hold,
                                   int64_t now_us, struct weir_consequence *out);
enum weir_ruling weir_rule_skip(struct weir_execution_row *row, int64_t now_us,
                                struct weir_consequence *out);

/* Of reconcilers: each looks again whether it is still due, else NOTHING. An attempt
 * whose own deadline has passed belongs to time_out(), also when its lease is over
 * too. */
enum weir_ruling weir_rule_promote(struct weir_execution_row *row, int64_t now_us);
enum weir_ruling weir_rule_time_out(struct weir_execution_row *row, int64_t now_us,
                                    struct weir_consequence *out);
enum weir_ruling weir_rule_lose_lease(struct weir_execution_row *row, int64_t now_us,
                                      struct weir_consequence *out);
enum weir_ruling weir_rule_expire(struct weir_execution_row *row, int64_t now_us,
                                  struct weir_consequence *out);
/* No worker can be given what was passed to it. */
enum weir_ruling weir_rule_refuse_input(struct weir_execution_row *row, int64_t now_us,
                                        struct weir_consequence *out);
enum weir_ruling weir_rule_wait_too_long(struct weir_execution_row *row, int64_t now_us,
                                         struct weir_consequence *out);

/* Has it ended in a way that makes its flow fail? Not what the engine has cancelled
 * because others were enough. */
bool weir_row_is_unlucky(const struct weir_execution_row *row);
#define WEIR_SIBLINGS_ENOUGH "sibling_quorum_satisfied"
#define WEIR_SIBLINGS_IN_VAIN "sibling_quorum_impossible"

/* How long the retry waits that comes after `retries` others. Saturates; never
 * negative. */
int64_t weir_retry_delay_us(const struct weir_execution_policy *policy, uint32_t retries);

/* Why revoke() had nothing to do, in the specification's words: "no_active_lease", ...;
 * "" for a ruling that is no such reason. Lives for ever. */
const char *weir_revoke_reason(enum weir_ruling ruling);

/* What is wrong with a row that says this: NULL when nothing is. For tests, `doctor`
 * and the simulation: the invariants of the specification, 2.2. */
const char *weir_row_complaint(const struct weir_execution_row *row);

#endif
