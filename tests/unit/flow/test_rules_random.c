/*
 * Random rules at random times, and what holds whatever came before.
 *
 * One row after the other lives through rules with right, old and invented epochs, at a
 * time that now and then jumps, also back. A second bookkeeping beside the row knows
 * nothing but the answers: which attempts have begun and ended, and which epochs were
 * ever given out.
 *
 * WEIR_SEED=n repeats a run; without it the seed is a constant. A failure prints seed
 * and step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "execution/rules.h"
#include "rules_fixture.h"

enum { STEPS = 200000, STEPS_PER_LIFE_MAX = 120 };

enum rule {
    CLAIM,
    RENEW,
    COMPLETE,
    FAIL,
    DELAY,
    SUSPEND,
    ABANDON,
    CANCEL,
    REVOKE,
    PRIORITISE,
    REPLAY,
    RESUME,
    BLOCK,
    UNBLOCK,
    SKIP,
    PROMOTE,
    TIME_OUT,
    LOSE_LEASE,
    EXPIRE,
    WAIT_TOO_LONG,
    RULE_COUNT
};

/* How often each comes: what ends everything is rare, so that lives are long. */
static const uint32_t WEIGHTS[RULE_COUNT] = {30, 10, 4, 12, 12, 12, 2, 2, 4, 3,
                                             8,  6,  6, 12, 2,  20, 8, 8, 8, 60};

struct world {
    uint64_t seed;
    struct weir_random random;
    int64_t now_us;
    struct weir_execution_row row;

    int32_t begun; /* attempts, by the answers of claims */
    int32_t ended; /* by what rules said */
    int64_t held;  /* the epoch of who may write now; 0: nobody */
    int step;
    int done[RULE_COUNT];
};

/* One try: what was asked, and what it did. */
struct
try {
    enum rule rule;
    bool permanent; /* FAIL */
    int64_t epoch;  /* that was shown */
    enum weir_ruling ruling;
    struct weir_execution_row before;
    struct weir_consequence out;
};

#define holds(self, condition)                                                           \
    ((condition) ? (void)0 : fail_at(self, __LINE__, #condition))

__attribute__((noreturn)) static void fail_at(const struct world *self, int line,
                                              const char *condition)
{
    weir_test_fail(__FILE__, line, "%s; WEIR_SEED=%" PRIu64 ", step %d", condition,
                   self->seed, self->step);
}

static uint64_t seed_of_run(void)
{
    const char *text = getenv("WEIR_SEED");

    return text != NULL ? strtoull(text, NULL, 10) : 20261116;
}

static uint32_t draw(struct world *self, uint32_t below)
{
    return weir_random_below(&self->random, below);
}

static bool chance(struct world *self, uint32_t percent)
{
    return draw(self, 100) < percent;
}

/* ---- a life ------------------------------------------------------------------------ */

static struct weir_execution_policy random_policy(struct world *self)
{
    struct weir_execution_policy policy = {
        .retries_max = draw(self, 5),
        .backoff = draw(self, 2) == 0 ? WEIR_RETRY_EXPONENTIAL : WEIR_RETRY_FIXED,
        .backoff_initial_ms = draw(self, 4) * 700,
        .backoff_multiplier = 1 + draw(self, 4) * 0.7,
        .backoff_max_ms = 2100 + draw(self, 10000),
        .attempt_timeout_ms = chance(self, 50) ? 1 + draw(self, 60000) : 0,
        .reclaims_max = draw(self, 4),
        .replays_max = draw(self, 6),
    };

    if (weir_execution_policy_check(&policy, NULL) != WEIR_OK)
        fail_at(self, __LINE__, "the policy is good");
    return policy;
}

static void begin_life(struct world *self)
{
    struct weir_execution_policy policy = random_policy(self);
    struct weir_execution_draft draft = {
        .lane = "l",
        .kind = "k",
        .priority = (int32_t)draw(self, 20000) - 5000,
        .policy = &policy,
        .delay_ms = chance(self, 30) ? draw(self, 5000) : 0,
        .deadline_ms = chance(self, 30) ? 1 + draw(self, 600000) : 0,
    };

    weir_rule_submit(&self->row, &draft, self->now_us);
    self->row.flow_no = chance(self, 20) ? 3 : 0;
    self->begun = self->ended = 0;
    self->held = 0;
    holds(self, weir_row_complaint(&self->row) == NULL);
}

/* Mostly a little later; now and then much later, or earlier: the clock was set. */
static void move_clock(struct world *self)
{
    uint32_t kind = draw(self, 100);

    if (kind < 80)
        self->now_us += draw(self, 2000) * MS;
    else if (kind < 95)
        self->now_us += draw(self, 60000) * MS;
    else if (kind < 98)
        self->now_us += draw(self, 3600) * SECOND;
    else
        self->now_us -= draw(self, 90) * SECOND;
}

/* What brings it on, so that lives are not only spent waiting. */
static enum rule next_rule(const struct weir_execution_row *row)
{
    if (weir_state_is_over(row->state))
        return REPLAY;
    return row->state == WEIR_EXEC_READY       ? CLAIM
           : row->state == WEIR_EXEC_DELAYED   ? PROMOTE
           : row->state == WEIR_EXEC_BLOCKED   ? UNBLOCK
           : row->state == WEIR_EXEC_SUSPENDED ? RESUME
                                               : RENEW;
}

static enum rule random_rule(struct world *self)
{
    uint32_t total = 0;
    uint32_t place;

    if (chance(self, 30))
        return next_rule(&self->row);
    for (int rule = 0; rule < RULE_COUNT; rule++)
        total += WEIGHTS[rule];
    place = draw(self, total);
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        if (place < WEIGHTS[rule])
            return (enum rule)rule;
        place -= WEIGHTS[rule];
    }
    return EXPIRE;
}

/* Mostly the right one; else an old one, one that will come, or none. */
static int64_t random_epoch(struct world *self)
{
    uint32_t kind = draw(self, 100);

    if (kind < 60)
        return self->row.epoch;
    if (kind < 70)
        return self->row.settled_epoch;
    if (kind < 95)
        return draw(self, (uint32_t)self->row.epoch + 3);
    return (int64_t)draw(self, 5) - 2;
}

static struct weir_str random_reason(struct world *self)
{
    return weir_str(chance(self, 50) ? "because" : "");
}

static enum weir_hold random_hold(struct world *self)
{
    return chance(self, 50) ? WEIR_HOLD_DEPENDENCIES : WEIR_HOLD_BUDGET;
}

static void apply(struct world *self, struct try *try)
{
    struct weir_execution_row *row = &self->row;
    struct weir_claimant claimant = {weir_str("w"), weir_str("i"),
                                     (1 + draw(self, 30000)) * MS};
    struct weir_failing failing = {random_reason(self), try->permanent};
    int64_t now_us = self->now_us;
    struct weir_suspending suspending = {
        (enum weir_hold)(WEIR_HOLD_SIGNAL + draw(self, 8)),
        chance(self, 70) ? now_us + draw(self, 4000) * MS : 0,
        (enum weir_on_timeout)draw(self, WEIR_ON_TIMEOUT_COUNT)};

    switch (try->rule) {
    case CLAIM:
        try->ruling = weir_rule_claim(row, &claimant, now_us, &try->out);
        break;
    case RENEW:
        try->ruling = weir_rule_renew(row, try->epoch, claimant.ttl_us, now_us);
        break;
    case COMPLETE:
        try->ruling = weir_rule_complete(row, try->epoch, now_us, &try->out);
        break;
    case FAIL:
        try->ruling = weir_rule_fail(row, try->epoch, &failing, now_us, &try->out);
        break;
    case DELAY:
        try->ruling = weir_rule_delay(row, try->epoch,
                                      now_us + ((int64_t)draw(self, 4000) - 400) * MS,
                                      now_us, &try->out);
        break;
    case SUSPEND:
        try->ruling = weir_rule_suspend(row, try->epoch, &suspending, now_us, &try->out);
        break;
    case ABANDON:
        try->ruling =
            weir_rule_abandon(row, try->epoch, random_reason(self), now_us, &try->out);
        break;
    case CANCEL:
        try->ruling = weir_rule_cancel(row, random_reason(self), now_us, &try->out);
        break;
    case REVOKE:
        try->ruling = weir_rule_revoke(row, weir_str(chance(self, 70) ? "" : "other"), 0,
                                       now_us, &try->out);
        break;
    case PRIORITISE:
        try->ruling = weir_rule_prioritise(row, (int32_t)draw(self, 20000) - 5000, now_us,
                                           &try->out);
        break;
    case REPLAY:
        try->ruling = weir_rule_replay(row, now_us, &try->out);
        break;
    case RESUME:
        try->ruling =
            weir_rule_resume(row, now_us + draw(self, 3) * SECOND, now_us, &try->out);
        break;
    case BLOCK:
        try->ruling = weir_rule_block(row, random_hold(self), &try->out);
        break;
    case UNBLOCK:
        try->ruling = weir_rule_unblock(row, random_hold(self), now_us, &try->out);
        break;
    case SKIP:
        try->ruling = weir_rule_skip(row, now_us, &try->out);
        break;
    case PROMOTE:
        try->ruling = weir_rule_promote(row, now_us);
        break;
    case TIME_OUT:
        try->ruling = weir_rule_time_out(row, now_us, &try->out);
        break;
    case LOSE_LEASE:
        try->ruling = weir_rule_lose_lease(row, now_us, &try->out);
        break;
    case EXPIRE:
        try->ruling = weir_rule_expire(row, now_us, &try->out);
        break;
    default:
        try->ruling = weir_rule_wait_too_long(row, now_us, &try->out);
        break;
    }
}

/* ---- what holds -------------------------------------------------------------------- */

static bool is_workers(enum rule rule)
{
    return rule >= RENEW && rule <= ABANDON;
}

/* A ruling other than DONE changes nothing and has no consequence. */
static void check_refused(struct world *self, const struct try *try)
{
    holds(self, memcmp(&self->row, &try->before, sizeof self->row) == 0);
    holds(self, try->out.news == 0);
    holds(self, !try->out.attempt_ended && !try->out.wait_ended);
}

/* Whoever does not hold it changes nothing, and is told so. */
static void check_fence(struct world *self, const struct try *try)
{
    bool holder = self->held != 0 && try->epoch == self->held;

    if (!is_workers(try->rule))
        return;
    if (!holder)
        holds(self, try->ruling != WEIR_RULING_DONE);
    if (!holder && try->epoch != try->before.epoch &&
        (try->rule == RENEW || try->epoch != try->before.settled_epoch ||
         try->epoch == 0))
        holds(self, try->ruling == WEIR_RULING_STALE);
    if (holder && try->before.lease_us > self->now_us)
        holds(self, try->ruling == WEIR_RULING_DONE);
    if (holder && try->before.lease_us <= self->now_us)
        holds(self, try->ruling == WEIR_RULING_LEASE_OVER);
    if (try->ruling == WEIR_RULING_REPEATED || try->ruling == WEIR_RULING_OTHERWISE)
        holds(self, try->epoch > 0 && try->epoch == try->before.settled_epoch);
}

/* Attempts begin and end one after the other, each once. */
static void count_attempts(struct world *self, const struct try *try)
{
    bool was_open = self->begun > self->ended;
    bool resumed = try->before.pending == WEIR_PENDING_RESUME;

    if (try->rule == CLAIM && try->ruling == WEIR_RULING_DONE) {
        holds(self, was_open == resumed);
        self->begun += resumed ? 0 : 1;
        self->held = self->row.epoch;
        holds(self, self->row.state == WEIR_EXEC_ACTIVE);
    }
    if (try->out.attempt_ended) {
        holds(self, was_open);
        holds(self, try->out.outcome != WEIR_OUTCOME_RUNNING);
        holds(self, try->out.attempt_epoch > 0);
        holds(self, try->out.attempt_epoch < self->row.epoch);
        self->ended++;
    }
    if (self->row.state != WEIR_EXEC_ACTIVE)
        self->held = 0;
    holds(self, self->row.attempts == self->begun);
    holds(self, (self->begun > self->ended) ==
                    weir_state_has_attempt(self->row.state, self->row.pending));
    holds(self, self->begun - self->ended <= 1);
}

static void check_epoch(struct world *self, const struct try *try)
{
    bool was_active = try->before.state == WEIR_EXEC_ACTIVE;
    bool is_active = self->row.state == WEIR_EXEC_ACTIVE;

    holds(self, self->row.epoch >= try->before.epoch);
    holds(self, self->row.epoch <= try->before.epoch + 1);
    if (was_active != is_active)
        holds(self, self->row.epoch == try->before.epoch + 1);
    if (is_active)
        holds(self, self->held == self->row.epoch);
    if (try->before.started_us != 0)
        holds(self, self->row.started_us == try->before.started_us);
}

/* What it waits for stays what it is, but that others may take the place of a budget. */
static void check_hold(struct world *self, const struct try *try)
{
    if (try->before.state == WEIR_EXEC_BLOCKED && self->row.state == WEIR_EXEC_BLOCKED &&
        try->before.hold != self->row.hold)
        holds(self, try->rule == BLOCK && try->before.hold == WEIR_HOLD_BUDGET &&
                        self->row.hold == WEIR_HOLD_DEPENDENCIES);
}

/* How an attempt has ended fits what asked for it and what became of the row. */
static void check_consequence(struct world *self, const struct try *try)
{
    static const unsigned LEASE_ENDED = WEIR_NEWS_EXPIRED | WEIR_NEWS_REVOKED;
    bool was_active = try->before.state == WEIR_EXEC_ACTIVE;
    bool was_over = weir_state_is_over(try->before.state);
    bool is_over = weir_state_is_over(self->row.state);
    unsigned news = try->out.news;

    if (was_over && !is_over)
        holds(self, try->rule == REPLAY && (news & WEIR_NEWS_REPLAYED) != 0);
    if (was_over && is_over)
        holds(self, self->row.state == try->before.state);
    holds(self, (!was_over && is_over) == ((news & WEIR_NEWS_COMPLETION) != 0));
    holds(self, (was_active && self->row.state != WEIR_EXEC_ACTIVE) ==
                    ((news & LEASE_ENDED) != 0));
    holds(self, (news & LEASE_ENDED) != LEASE_ENDED);
    holds(self, (try->before.state == WEIR_EXEC_SUSPENDED &&
                 self->row.state != WEIR_EXEC_SUSPENDED) == try->out.wait_ended);
    if (was_active && self->row.state != WEIR_EXEC_ACTIVE)
        holds(self,
              try->out.attempt_ended == (try->rule != DELAY && try->rule != SUSPEND));
    if (!try->out.attempt_ended)
        return;

    switch (try->out.outcome) {
    case WEIR_OUTCOME_SUCCESS:
        holds(self, self->row.state == WEIR_EXEC_SUCCEEDED && try->rule == COMPLETE);
        break;
    case WEIR_OUTCOME_RETRY:
        holds(self, self->row.pending == WEIR_PENDING_RETRY && try->rule == FAIL);
        break;
    case WEIR_OUTCOME_FAILED:
        holds(self, self->row.state == WEIR_EXEC_FAILED &&
                        (try->rule == FAIL || try->rule == WAIT_TOO_LONG));
        break;
    case WEIR_OUTCOME_INTERRUPTED:
        holds(self, self->row.pending == WEIR_PENDING_RETRY ||
                        self->row.state == WEIR_EXEC_EXPIRED);
        break;
    case WEIR_OUTCOME_LEASE_LOST:
        holds(self, self->row.pending == WEIR_PENDING_RECLAIM ||
                        self->row.state == WEIR_EXEC_FAILED);
        break;
    case WEIR_OUTCOME_CANCELLED:
        holds(self, self->row.state == WEIR_EXEC_CANCELLED ||
                        (self->row.state == WEIR_EXEC_SKIPPED && try->rule == SKIP));
        break;
    default:
        holds(self, self->row.state == WEIR_EXEC_EXPIRED &&
                        (try->rule == EXPIRE || try->rule == WAIT_TOO_LONG));
        break;
    }
}

/* One who repeats a call that was done is told so, and changes nothing. */
static void check_repeated(struct world *self, const struct try *try)
{
    struct try again = *try;

    if (try->ruling != WEIR_RULING_DONE || try->rule < COMPLETE || try->rule > ABANDON)
        return;
    again.before = self->row;
    apply(self, &again);
    holds(self, again.ruling == WEIR_RULING_REPEATED);
    check_refused(self, &again);
}

static void step(struct world *self)
{
    struct try try = {.rule = random_rule(self),
                      .epoch = random_epoch(self),
                      .permanent = chance(self, 5),
                      .before = self->row};

    apply(self, &try);
    if (try.ruling == WEIR_RULING_DONE)
        self->done[try.rule]++;
    else
        check_refused(self, &try);
    check_fence(self, &try);
    count_attempts(self, &try);
    check_epoch(self, &try);
    check_hold(self, &try);
    check_consequence(self, &try);
    check_repeated(self, &try);
    holds(self, weir_row_complaint(&self->row) == NULL);
}

static bool is_finished(const struct world *self)
{
    return weir_state_is_over(self->row.state) &&
           self->row.replays == self->row.policy.replays_max;
}

WEIR_TEST(rules, keep_their_promises_in_any_order_and_at_any_time)
{
    static struct world world;

    world = (struct world){.seed = seed_of_run(), .now_us = NOW};
    weir_random_init(&world.random, world.seed);
    printf("# WEIR_SEED=%" PRIu64 "\n", world.seed);
    for (int left = 0; world.step < STEPS; world.step++, left--) {
        if (left == 0) {
            begin_life(&world);
            left = 1 + (int)draw(&world, STEPS_PER_LIFE_MAX);
        }
        move_clock(&world);
        step(&world);
        if (is_finished(&world) && left > 3)
            left = 3; /* a few more, which must all be refused */
    }

    /* Nothing was shown about a rule that never applied. */
    for (int rule = 0; rule < RULE_COUNT; rule++)
        if (world.done[rule] <= 100)
            weir_test_fail(__FILE__, __LINE__, "rule %d applied %d times", rule,
                           world.done[rule]);
}
