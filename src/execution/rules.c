/*
 * rules.c - every transition of an execution.
 *
 * A rule asks first and changes afterwards, so a ruling other than DONE has changed
 * nothing. What several rules do in common is written once:
 *
 *   release     the claim ends: lease and attempt's deadline are gone, the epoch grows
 *   end_attempt the attempt ends too: what is to be written about it
 *   terminate   the execution ends, whatever the reason; the only way to be over
 *   requeue     it waits for a worker again, now or later
 *
 * Invariants, which weir_row_complaint() looks for:
 *
 *   I1  the state tells which times are set: due_us, lease_us, attempt_deadline_us,
 *       ended_us
 *   I2  an attempt is begun and not ended exactly when it is ACTIVE or waits to be
 *       resumed
 *   I3  no attempt without an epoch of its own: attempts <= epoch; settled_epoch < epoch
 *   I4  retries, reclaims and replays stay within the policy
 */
#include "execution/rules.h"

#include <math.h>

#include "base/arith.h"
#include "execution/draft.h"

enum { US_PER_MS = 1000 };

static const struct weir_str NO_TEXT = {"", 0};
static const struct weir_str INPUT_REFUSED = {"joined_input_too_large",
                                              sizeof "joined_input_too_large" - 1};

/* ---- times ------------------------------------------------------------------------- */

static int64_t us_from_ms(int64_t ms)
{
    return ms > INT64_MAX / US_PER_MS ? INT64_MAX : ms * US_PER_MS;
}

/* A time that is set, and has come. */
static bool is_due(int64_t time_us, int64_t now_us)
{
    return time_us > 0 && time_us <= now_us;
}

/* The backoff before a retry: fixed, or exponential up to a maximum. */
int64_t weir_retry_delay_us(const struct weir_execution_policy *policy, uint32_t retries)
{
    double initial_us = (double)policy->backoff_initial_ms * (double)US_PER_MS;
    int64_t max_us = us_from_ms(policy->backoff_max_ms);
    int64_t delay_us;

    if (policy->backoff_initial_ms <= 0)
        return 0;
    if (policy->backoff == WEIR_RETRY_FIXED)
        return us_from_ms(policy->backoff_initial_ms);
    delay_us = weir_sat_from_double(initial_us *
                                    pow(policy->backoff_multiplier, (double)retries));
    if (delay_us > max_us)
        delay_us = max_us;
    return delay_us > 0 ? delay_us : 0;
}

/* ---- what rules have in common ----------------------------------------------------- */

/* Why something cannot be done to a row in this state. */
static enum weir_ruling refuse(const struct weir_execution_row *row)
{
    return weir_state_is_over(row->state) ? WEIR_RULING_OVER : WEIR_RULING_WRONG_STATE;
}

static void grow_epoch(struct weir_execution_row *row)
{
    row->epoch = weir_sat_add_i64(row->epoch, 1);
}

/* Its holder holds it no more. Announces it as `news`, if there was a holder. */
static void release(struct weir_execution_row *row, enum weir_news news,
                    struct weir_consequence *out)
{
    if (row->state == WEIR_EXEC_ACTIVE)
        out->news |= news;
    if (row->state == WEIR_EXEC_SUSPENDED)
        out->wait_ended = true;
    row->lease_us = 0;
    row->attempt_deadline_us = 0;
    grow_epoch(row);
}

/* Before release(): the epoch is still that of the claim. One that waits to be resumed
 * was parked by its worker, and the last to settle anything was that one. */
static void end_attempt(struct weir_execution_row *row, enum weir_attempt_outcome outcome,
                        struct weir_str failure, struct weir_consequence *out)
{
    if (!weir_state_has_attempt(row->state, row->pending))
        return;
    out->attempt_ended = true;
    out->outcome = outcome;
    out->attempt_epoch = row->state == WEIR_EXEC_ACTIVE ? row->epoch : row->settled_epoch;
    out->failure = failure;
}

/* After end_attempt(). */
static void terminate(struct weir_execution_row *row, enum weir_exec_state state,
                      enum weir_news news, int64_t now_us, struct weir_consequence *out)
{
    release(row, news, out);
    row->state = state;
    row->hold = WEIR_HOLD_NONE;
    row->pending = WEIR_PENDING_INITIAL;
    row->due_us = 0;
    row->ended_us = now_us;
    out->news |= WEIR_NEWS_COMPLETION;
}

/* READY when that time has come, else DELAYED for the reason `hold`. */
static void requeue(struct weir_execution_row *row, enum weir_pending pending,
                    enum weir_hold hold, int64_t due_us, int64_t now_us)
{
    bool later = due_us > now_us;

    row->state = later ? WEIR_EXEC_DELAYED : WEIR_EXEC_READY;
    row->hold = later ? hold : WEIR_HOLD_NONE;
    row->due_us = later ? due_us : 0;
    row->pending = pending;
    if (!later)
        row->turn = WEIR_TURN_AGAIN(now_us);
}

static void retry(struct weir_execution_row *row, int64_t now_us)
{
    int64_t delay_us = weir_retry_delay_us(&row->policy, row->retries);

    row->retries++;
    requeue(row, WEIR_PENDING_RETRY, WEIR_HOLD_RETRY, weir_sat_add_i64(now_us, delay_us),
            now_us);
}

static bool has_retry(const struct weir_execution_row *row)
{
    return row->retries < row->policy.retries_max;
}

/* ---- submitters -------------------------------------------------------------------- */

void weir_rule_submit(struct weir_execution_row *row,
                      const struct weir_execution_draft *draft, int64_t now_us)
{
    int64_t delay_us = us_from_ms(draft->delay_ms);
    int64_t deadline_us = us_from_ms(draft->deadline_ms);

    *row = (struct weir_execution_row){
        .policy = weir_execution_draft_policy(draft),
        .priority = weir_priority_clamp(draft->priority),
        .deadline_us = deadline_us > 0 ? weir_sat_add_i64(now_us, deadline_us) : 0,
        .worker = NO_TEXT,
        .instance = NO_TEXT,
        .failure = NO_TEXT,
    };
    requeue(row, WEIR_PENDING_INITIAL, WEIR_HOLD_DELAY,
            weir_sat_add_i64(now_us, delay_us), now_us);
    row->turn = now_us;
}

/* ---- workers ----------------------------------------------------------------------- */

static enum weir_attempt_type type_of(enum weir_pending pending)
{
    switch (pending) {
    case WEIR_PENDING_RETRY:
        return WEIR_ATTEMPT_RETRY;
    case WEIR_PENDING_RECLAIM:
        return WEIR_ATTEMPT_RECLAIM;
    case WEIR_PENDING_REPLAY:
        return WEIR_ATTEMPT_REPLAY;
    default:
        return WEIR_ATTEMPT_INITIAL;
    }
}

static void begin_attempt(struct weir_execution_row *row, int64_t now_us)
{
    row->attempt_type = type_of(row->pending);
    row->attempts++;
    row->claimed_us = now_us;
    if (row->started_us == 0)
        row->started_us = now_us;
}

enum weir_ruling weir_rule_claim(struct weir_execution_row *row,
                                 const struct weir_claimant *claimant, int64_t now_us,
                                 struct weir_consequence *out)
{
    int64_t timeout_us = us_from_ms(row->policy.attempt_timeout_ms);

    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_READY)
        return refuse(row);
    if (is_due(row->deadline_us, now_us))
        return WEIR_RULING_NOTHING;
    if (row->pending != WEIR_PENDING_RESUME && row->attempts == INT32_MAX)
        return WEIR_RULING_LIMIT;

    out->news =
        row->pending == WEIR_PENDING_RECLAIM ? WEIR_NEWS_RECLAIMED : WEIR_NEWS_ACQUIRED;
    if (row->pending != WEIR_PENDING_RESUME)
        begin_attempt(row, now_us);
    grow_epoch(row);
    row->state = WEIR_EXEC_ACTIVE;
    row->pending = WEIR_PENDING_INITIAL;
    row->worker = claimant->worker;
    row->instance = claimant->instance;
    row->lease_us = weir_sat_add_i64(now_us, claimant->ttl_us);
    row->attempt_deadline_us = timeout_us > 0 ? weir_sat_add_i64(now_us, timeout_us) : 0;
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_fence(const struct weir_execution_row *row, int64_t epoch,
                                 int64_t now_us)
{
    if (epoch <= 0 || epoch != row->epoch)
        return WEIR_RULING_STALE;
    if (row->state != WEIR_EXEC_ACTIVE)
        return WEIR_RULING_NOT_ACTIVE;
    return is_due(row->lease_us, now_us) ? WEIR_RULING_LEASE_OVER : WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_renew(struct weir_execution_row *row, int64_t epoch,
                                 int64_t ttl_us, int64_t now_us)
{
    enum weir_ruling ruling = weir_rule_fence(row, epoch, now_us);

    if (ruling == WEIR_RULING_DONE)
        row->lease_us = weir_sat_add_i64(now_us, ttl_us);
    return ruling;
}

/* The claim was settled before: is this the same call again? */
static enum weir_ruling repeat(const struct weir_execution_row *row,
                               enum weir_settled_as as)
{
    bool same = row->settled_as == as || row->settled_as == WEIR_SETTLED_UNKNOWN;

    return same ? WEIR_RULING_REPEATED : WEIR_RULING_OTHERWISE;
}

/* May the claim `epoch` be settled? If so it is the last one that was: the caller does
 * it. */
static enum weir_ruling settle(struct weir_execution_row *row, int64_t epoch,
                               enum weir_settled_as as, int64_t now_us,
                               struct weir_consequence *out)
{
    enum weir_ruling ruling;

    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (epoch > 0 && epoch == row->settled_epoch)
        return repeat(row, as);
    ruling = weir_rule_fence(row, epoch, now_us);
    if (ruling == WEIR_RULING_DONE) {
        row->settled_epoch = epoch;
        row->settled_as = as;
    }
    return ruling;
}

enum weir_ruling weir_rule_complete(struct weir_execution_row *row, int64_t epoch,
                                    int64_t now_us, struct weir_consequence *out)
{
    enum weir_ruling ruling = settle(row, epoch, WEIR_SETTLED_COMPLETE, now_us, out);

    if (ruling != WEIR_RULING_DONE)
        return ruling;
    row->failure = NO_TEXT;
    end_attempt(row, WEIR_OUTCOME_SUCCESS, NO_TEXT, out);
    terminate(row, WEIR_EXEC_SUCCEEDED, WEIR_NEWS_REVOKED, now_us, out);
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_fail(struct weir_execution_row *row, int64_t epoch,
                                const struct weir_failing *failing, int64_t now_us,
                                struct weir_consequence *out)
{
    enum weir_settled_as as =
        failing->permanent ? WEIR_SETTLED_FAIL_FOR_GOOD : WEIR_SETTLED_FAIL;
    enum weir_ruling ruling = settle(row, epoch, as, now_us, out);

    if (ruling != WEIR_RULING_DONE)
        return ruling;
    row->failure = failing->reason;
    if (failing->permanent || !has_retry(row)) {
        end_attempt(row, WEIR_OUTCOME_FAILED, failing->reason, out);
        terminate(row, WEIR_EXEC_FAILED, WEIR_NEWS_REVOKED, now_us, out);
    } else {
        end_attempt(row, WEIR_OUTCOME_RETRY, failing->reason, out);
        release(row, WEIR_NEWS_REVOKED, out);
        retry(row, now_us);
    }
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_delay(struct weir_execution_row *row, int64_t epoch,
                                 int64_t due_us, int64_t now_us,
                                 struct weir_consequence *out)
{
    enum weir_ruling ruling = settle(row, epoch, WEIR_SETTLED_DELAY, now_us, out);

    if (ruling != WEIR_RULING_DONE)
        return ruling;
    release(row, WEIR_NEWS_REVOKED, out);
    requeue(row, WEIR_PENDING_RESUME, WEIR_HOLD_DELAY, due_us, now_us);
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_suspend(struct weir_execution_row *row, int64_t epoch,
                                   const struct weir_suspending *suspending,
                                   int64_t now_us, struct weir_consequence *out)
{
    enum weir_ruling ruling = settle(row, epoch, WEIR_SETTLED_SUSPEND, now_us, out);

    if (ruling != WEIR_RULING_DONE)
        return ruling;
    release(row, WEIR_NEWS_REVOKED, out);
    row->state = WEIR_EXEC_SUSPENDED;
    row->hold = suspending->hold;
    row->pending = WEIR_PENDING_RESUME;
    row->due_us = suspending->timeout_us;
    row->on_timeout = suspending->on_timeout;
    return WEIR_RULING_DONE;
}

static void cancel(struct weir_execution_row *row, struct weir_str reason, int64_t now_us,
                   struct weir_consequence *out)
{
    row->failure = reason;
    end_attempt(row, WEIR_OUTCOME_CANCELLED, reason, out);
    terminate(row, WEIR_EXEC_CANCELLED, WEIR_NEWS_REVOKED, now_us, out);
}

enum weir_ruling weir_rule_abandon(struct weir_execution_row *row, int64_t epoch,
                                   struct weir_str reason, int64_t now_us,
                                   struct weir_consequence *out)
{
    enum weir_ruling ruling = settle(row, epoch, WEIR_SETTLED_ABANDON, now_us, out);

    if (ruling == WEIR_RULING_DONE)
        cancel(row, reason, now_us, out);
    return ruling;
}

/* ---- operators --------------------------------------------------------------------- */

enum weir_ruling weir_rule_cancel(struct weir_execution_row *row, struct weir_str reason,
                                  int64_t now_us, struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state == WEIR_EXEC_CANCELLED)
        return WEIR_RULING_NOTHING;
    if (weir_state_is_over(row->state))
        return WEIR_RULING_OVER;
    cancel(row, reason, now_us, out);
    return WEIR_RULING_DONE;
}

/* A lease that is over is lose_lease()'s, since that one counts. */
enum weir_ruling weir_rule_revoke(struct weir_execution_row *row,
                                  struct weir_str instance, int64_t epoch, int64_t now_us,
                                  struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_ACTIVE || is_due(row->lease_us, now_us))
        return WEIR_RULING_NOT_ACTIVE;
    if (instance.size > 0 && !weir_str_equal(instance, row->instance))
        return WEIR_RULING_OTHER_INSTANCE;
    if (epoch != 0 && epoch != row->epoch)
        return WEIR_RULING_STALE;

    row->failure = weir_str("lease_revoked");
    end_attempt(row, WEIR_OUTCOME_LEASE_LOST, row->failure, out);
    release(row, WEIR_NEWS_REVOKED, out);
    requeue(row, WEIR_PENDING_RECLAIM, WEIR_HOLD_NONE, now_us, now_us);
    return WEIR_RULING_DONE;
}

const char *weir_revoke_reason(enum weir_ruling ruling)
{
    switch (ruling) {
    case WEIR_RULING_NOT_ACTIVE:
        return "no_active_lease";
    case WEIR_RULING_OTHER_INSTANCE:
        return "different_worker_instance_id";
    case WEIR_RULING_STALE:
        return "epoch_moved";
    default:
        return "";
    }
}

enum weir_ruling weir_rule_prioritise(struct weir_execution_row *row, int32_t priority,
                                      int64_t now_us, struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_READY)
        return refuse(row);
    if (weir_priority_clamp(priority) == row->priority)
        return WEIR_RULING_NOTHING;
    out->news = WEIR_NEWS_PRIORITY;
    out->priority_before = row->priority;
    row->priority = weir_priority_clamp(priority);
    row->turn = WEIR_TURN_AGAIN(now_us);
    return WEIR_RULING_DONE;
}

bool weir_row_is_unlucky(const struct weir_execution_row *row)
{
    if (row->state == WEIR_EXEC_CANCELLED)
        return !weir_str_equal(row->failure, weir_str(WEIR_SIBLINGS_ENOUGH));
    return row->state == WEIR_EXEC_FAILED || row->state == WEIR_EXEC_EXPIRED;
}

enum weir_ruling weir_rule_replay(struct weir_execution_row *row, int64_t now_us,
                                  struct weir_consequence *out)
{
    /* What has begun once had been let go by its join. */
    bool blocked =
        row->flow_no != 0 && (row->state == WEIR_EXEC_SKIPPED || row->attempts == 0);

    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (!weir_state_is_over(row->state))
        return WEIR_RULING_NOT_OVER;
    if (row->replays >= row->policy.replays_max)
        return WEIR_RULING_LIMIT;

    out->was_unlucky = weir_row_is_unlucky(row);
    row->state = blocked ? WEIR_EXEC_BLOCKED : WEIR_EXEC_READY;
    row->hold = blocked ? WEIR_HOLD_DEPENDENCIES : WEIR_HOLD_NONE;
    row->pending = WEIR_PENDING_REPLAY;
    if (!blocked)
        row->turn = WEIR_TURN_AGAIN(now_us);
    row->replays++;
    row->retries = 0;
    row->reclaims = 0;
    row->ended_us = 0;
    if (is_due(row->deadline_us, now_us))
        row->deadline_us = 0;
    grow_epoch(row);
    out->news = WEIR_NEWS_REPLAYED;
    return WEIR_RULING_DONE;
}

/* ---- what it waited for ------------------------------------------------------------ */

enum weir_ruling weir_rule_resume(struct weir_execution_row *row, int64_t due_us,
                                  int64_t now_us, struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_SUSPENDED)
        return refuse(row);
    out->wait_ended = true;
    requeue(row, WEIR_PENDING_RESUME, WEIR_HOLD_RESUME_DELAY, due_us, now_us);
    return WEIR_RULING_DONE;
}

/* What waits for a budget was to be claimed: it may wait for others first, and the claim
 * then asks for the budget again. */
enum weir_ruling weir_rule_block(struct weir_execution_row *row, enum weir_hold hold,
                                 struct weir_consequence *out)
{
    bool waits = row->state == WEIR_EXEC_READY || row->state == WEIR_EXEC_DELAYED ||
                 (row->state == WEIR_EXEC_BLOCKED && row->hold == WEIR_HOLD_BUDGET &&
                  hold == WEIR_HOLD_DEPENDENCIES);

    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state == WEIR_EXEC_BLOCKED && row->hold == hold)
        return WEIR_RULING_NOTHING;
    if (!waits)
        return refuse(row);
    row->state = WEIR_EXEC_BLOCKED;
    row->hold = hold;
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_unblock(struct weir_execution_row *row, enum weir_hold hold,
                                   int64_t now_us, struct weir_consequence *out)
{
    enum weir_hold later =
        row->pending == WEIR_PENDING_RETRY ? WEIR_HOLD_RETRY : WEIR_HOLD_DELAY;

    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_BLOCKED || row->hold != hold)
        return WEIR_RULING_NOTHING;
    requeue(row, row->pending, later, row->due_us, now_us);
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_skip(struct weir_execution_row *row, int64_t now_us,
                                struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (weir_state_is_over(row->state))
        return WEIR_RULING_NOTHING;
    row->failure = weir_str("dependency_impossible");
    end_attempt(row, WEIR_OUTCOME_CANCELLED, row->failure, out);
    terminate(row, WEIR_EXEC_SKIPPED, WEIR_NEWS_REVOKED, now_us, out);
    return WEIR_RULING_DONE;
}

/* ---- reconcilers ------------------------------------------------------------------- */

enum weir_ruling weir_rule_promote(struct weir_execution_row *row, int64_t now_us)
{
    if (row->state != WEIR_EXEC_DELAYED || !is_due(row->due_us, now_us))
        return WEIR_RULING_NOTHING;
    requeue(row, row->pending, WEIR_HOLD_NONE, row->due_us, now_us);
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_time_out(struct weir_execution_row *row, int64_t now_us,
                                    struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_ACTIVE || !is_due(row->attempt_deadline_us, now_us))
        return WEIR_RULING_NOTHING;

    row->failure = weir_str("attempt_timeout");
    end_attempt(row, WEIR_OUTCOME_INTERRUPTED, row->failure, out);
    if (has_retry(row)) {
        release(row, WEIR_NEWS_EXPIRED, out);
        retry(row, now_us);
    } else {
        terminate(row, WEIR_EXEC_EXPIRED, WEIR_NEWS_EXPIRED, now_us, out);
    }
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_lose_lease(struct weir_execution_row *row, int64_t now_us,
                                      struct weir_consequence *out)
{
    bool capped = row->reclaims >= row->policy.reclaims_max;

    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_ACTIVE || !is_due(row->lease_us, now_us) ||
        is_due(row->attempt_deadline_us, now_us))
        return WEIR_RULING_NOTHING;

    row->failure = weir_str(capped ? "max_reclaims_exceeded" : "lease_expired");
    end_attempt(row, WEIR_OUTCOME_LEASE_LOST, row->failure, out);
    if (capped) {
        terminate(row, WEIR_EXEC_FAILED, WEIR_NEWS_EXPIRED, now_us, out);
    } else {
        release(row, WEIR_NEWS_EXPIRED, out);
        row->reclaims++;
        requeue(row, WEIR_PENDING_RECLAIM, WEIR_HOLD_NONE, now_us, now_us);
    }
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_expire(struct weir_execution_row *row, int64_t now_us,
                                  struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (weir_state_is_over(row->state) || !is_due(row->deadline_us, now_us))
        return WEIR_RULING_NOTHING;

    row->failure = weir_str("execution_deadline");
    end_attempt(row, WEIR_OUTCOME_EXPIRED, row->failure, out);
    terminate(row, WEIR_EXEC_EXPIRED, WEIR_NEWS_EXPIRED, now_us, out);
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_refuse_input(struct weir_execution_row *row, int64_t now_us,
                                        struct weir_consequence *out)
{
    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_READY)
        return WEIR_RULING_NOTHING;

    row->failure = INPUT_REFUSED;
    end_attempt(row, WEIR_OUTCOME_FAILED, row->failure, out);
    terminate(row, WEIR_EXEC_FAILED, WEIR_NEWS_REVOKED, now_us, out);
    return WEIR_RULING_DONE;
}

/* How each behaviour ends it; RESUME and ESCALATE do not. */
static const struct {
    const char *failure;
    enum weir_attempt_outcome outcome;
    enum weir_exec_state state;
} WAITED_TOO_LONG[] = {
    [WEIR_TIMEOUT_FAIL] = {"suspension_timeout:fail", WEIR_OUTCOME_FAILED,
                           WEIR_EXEC_FAILED},
    [WEIR_TIMEOUT_CANCEL] = {"suspension_timeout:cancel", WEIR_OUTCOME_CANCELLED,
                             WEIR_EXEC_CANCELLED},
    [WEIR_TIMEOUT_EXPIRE] = {"suspension_timeout:expire", WEIR_OUTCOME_EXPIRED,
                             WEIR_EXEC_EXPIRED},
};

/* After an escalation an operator looks at it once. */
static enum weir_ruling escalate(struct weir_execution_row *row)
{
    row->hold = WEIR_HOLD_OPERATOR_REVIEW;
    row->due_us = 0;
    return WEIR_RULING_DONE;
}

enum weir_ruling weir_rule_wait_too_long(struct weir_execution_row *row, int64_t now_us,
                                         struct weir_consequence *out)
{
    enum weir_on_timeout what = row->on_timeout;

    *out = (struct weir_consequence){.failure = NO_TEXT};
    if (row->state != WEIR_EXEC_SUSPENDED || !is_due(row->due_us, now_us))
        return WEIR_RULING_NOTHING;
    if (what == WEIR_TIMEOUT_ESCALATE)
        return escalate(row);
    if (what == WEIR_TIMEOUT_RESUME) {
        enum weir_ruling ruling = weir_rule_resume(row, now_us, now_us, out);

        out->waited_too_long = true;
        return ruling;
    }
    row->failure = weir_str(WAITED_TOO_LONG[what].failure);
    end_attempt(row, WAITED_TOO_LONG[what].outcome, row->failure, out);
    terminate(row, WAITED_TOO_LONG[what].state, WEIR_NEWS_REVOKED, now_us, out);
    return WEIR_RULING_DONE;
}

/* ---- invariants -------------------------------------------------------------------- */

static bool hold_fits(enum weir_exec_state state, enum weir_hold hold)
{
    switch (state) {
    case WEIR_EXEC_DELAYED:
        return hold >= WEIR_HOLD_DELAY && hold <= WEIR_HOLD_RESUME_DELAY;
    case WEIR_EXEC_BLOCKED:
        return hold >= WEIR_HOLD_DEPENDENCIES && hold <= WEIR_HOLD_OPERATOR;
    case WEIR_EXEC_SUSPENDED:
        return hold == WEIR_HOLD_BUDGET || hold >= WEIR_HOLD_SIGNAL;
    default:
        return hold == WEIR_HOLD_NONE;
    }
}

static const char *state_complaint(const struct weir_execution_row *row)
{
    if (!weir_state_is_known(row->state))
        return "its state is unknown";
    if (!weir_hold_is_known(row->hold) || !hold_fits(row->state, row->hold))
        return "its hold does not fit its state";
    if (!weir_pending_is_known(row->pending))
        return "what is pending is unknown";
    if ((row->state == WEIR_EXEC_ACTIVE || weir_state_is_over(row->state)) &&
        row->pending != WEIR_PENDING_INITIAL)
        return "something is pending, and it is active or over";
    if (row->state == WEIR_EXEC_SUSPENDED && row->pending != WEIR_PENDING_RESUME)
        return "it is suspended, and no resume is pending";
    if (row->hold == WEIR_HOLD_RETRY && row->pending != WEIR_PENDING_RETRY)
        return "it waits for a retry that is not pending";
    if (row->hold == WEIR_HOLD_RESUME_DELAY && row->pending != WEIR_PENDING_RESUME)
        return "it waits for a resume that is not pending";
    return NULL;
}

static const char *times_complaint(const struct weir_execution_row *row)
{
    bool active = row->state == WEIR_EXEC_ACTIVE;
    bool limited = row->policy.attempt_timeout_ms > 0;

    if (row->state == WEIR_EXEC_DELAYED && row->due_us == 0)
        return "it is delayed without a time";
    if (row->due_us > 0 && row->state != WEIR_EXEC_DELAYED &&
        row->state != WEIR_EXEC_BLOCKED && row->state != WEIR_EXEC_SUSPENDED)
        return "it has a time to begin, and is not delayed";
    if (active != (row->lease_us > 0))
        return "it is active without a lease, or has one and is not";
    if ((active && limited) != (row->attempt_deadline_us > 0))
        return "its attempt's deadline does not fit state and policy";
    if (weir_state_is_over(row->state) != (row->ended_us > 0))
        return "it is over without a time, or has one and is not";
    if ((row->attempts > 0) != (row->started_us > 0) ||
        (row->attempts > 0) != (row->claimed_us > 0))
        return "it has attempts without the time of a claim, or that without attempts";
    if (row->due_us < 0 || row->lease_us < 0 || row->attempt_deadline_us < 0 ||
        row->deadline_us < 0 || row->ended_us < 0 || row->claimed_us < 0 ||
        row->started_us < 0)
        return "a time is negative";
    return NULL;
}

/* Was there a claim, when state or pending says so? */
static bool attempts_fit(const struct weir_execution_row *row)
{
    switch (row->state) {
    case WEIR_EXEC_ACTIVE:
    case WEIR_EXEC_SUCCEEDED:
        return row->attempts > 0;
    case WEIR_EXEC_FAILED:
        return row->attempts > 0 || weir_str_equal(row->failure, INPUT_REFUSED);
    case WEIR_EXEC_CANCELLED:
    case WEIR_EXEC_EXPIRED:
    case WEIR_EXEC_SKIPPED:
        return row->attempts >= 0;
    default:
        if (row->pending == WEIR_PENDING_REPLAY)
            return row->attempts >= 0; /* it may have ended before its first claim */
        return row->pending == WEIR_PENDING_INITIAL ? row->attempts == 0
                                                    : row->attempts > 0;
    }
}

static const char *counts_complaint(const struct weir_execution_row *row)
{
    if (!attempts_fit(row))
        return "its attempts do not fit what was and what is pending";
    if (row->epoch < row->attempts)
        return "its epoch is smaller than its attempts";
    if (row->settled_epoch < 0 ||
        (row->settled_epoch > 0 && row->settled_epoch >= row->epoch))
        return "its settled epoch is not before its epoch";
    if (row->settled_as >= WEIR_SETTLED_COUNT ||
        (row->settled_as != WEIR_SETTLED_UNKNOWN && row->settled_epoch == 0))
        return "how it was settled is unknown, or it was never settled";
    if (row->retries > row->policy.retries_max)
        return "it has more retries than its policy";
    if (row->reclaims > row->policy.reclaims_max)
        return "it has more reclaims than its policy";
    if (row->replays > row->policy.replays_max)
        return "it has more replays than its policy";
    if (row->priority != weir_priority_clamp(row->priority))
        return "its priority is out of range";
    if (row->attempt_type < WEIR_ATTEMPT_INITIAL ||
        row->attempt_type > WEIR_ATTEMPT_REPLAY)
        return "the type of its attempt is unknown";
    if (!weir_on_timeout_is_known(row->on_timeout))
        return "what is to be done after its timeout is unknown";
    return NULL;
}

const char *weir_row_complaint(const struct weir_execution_row *row)
{
    const char *complaint = state_complaint(row);

    if (complaint == NULL)
        complaint = times_complaint(row);
    if (complaint == NULL)
        complaint = counts_complaint(row);
    return complaint;
}
