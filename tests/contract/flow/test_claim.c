/*
 * Claiming: which one comes first, who gets it, and waiting for one to come.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "contract/flow/flow_fixture.h"
#include "kit/sim/script.h"

static const char *const ORDERS = "orders";

static struct weir_execution_id submit_with(struct fixture *fixture,
                                            struct weir_executions *executions,
                                            const char *lane, int32_t priority,
                                            const char *capability)
{
    struct weir_execution_draft draft = flow_fixture_draft(lane);

    draft.priority = priority;
    draft.capabilities = &capability;
    draft.capability_count = capability != NULL ? 1 : 0;
    return flow_fixture_submit_draft(fixture, executions, &draft);
}

static bool same(const struct weir_execution_id *a, const struct weir_execution_id *b)
{
    return memcmp(a->uuid, b->uuid, WEIR_UUID_SIZE) == 0 && a->partition == b->partition;
}

FLOW_TEST(claim, gives_the_best_first_and_the_oldest_of_these)
{
    const struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id low = submit_with(fixture, executions, "orders", 1, NULL);
    struct weir_execution_id high = submit_with(fixture, executions, "orders", 9, NULL);
    struct weir_execution_id late = submit_with(fixture, executions, "orders", 9, NULL);
    struct weir_claim claims[3];

    check_int(flow_fixture_claim_many(fixture, executions, &options, claims, 3), 3);

    check(same(&claims[0].id, &high));
    check(same(&claims[1].id, &late));
    check(same(&claims[2].id, &low));
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, serves_its_lanes_by_age_and_no_others)
{
    const char *const lanes[] = {"a", "b", "nobody's", "a"};
    struct weir_claim_options options = flow_fixture_claimant(lanes, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id ids[4];
    struct weir_claim claims[8];

    options.lane_count = 4;
    ids[0] = flow_fixture_submit(fixture, executions, "b");
    ids[1] = flow_fixture_submit(fixture, executions, "a");
    ids[2] = flow_fixture_submit(fixture, executions, "b");
    ids[3] = flow_fixture_submit(fixture, executions, "c");

    check_int(flow_fixture_claim_many(fixture, executions, &options, claims, 8), 3);

    for (size_t i = 0; i < 3; i++)
        check(same(&claims[i].id, &ids[i]));
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, needs_the_capabilities_that_are_asked_for)
{
    const char *const offered[] = {"linux", "gpu"};
    struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id gpu = submit_with(fixture, executions, "orders", 0, "gpu");
    struct weir_execution_id mac = submit_with(fixture, executions, "orders", 0, "mac");
    struct weir_claim claims[2];

    check_int(flow_fixture_claim_many(fixture, executions, &options, claims, 2), 0);
    options.capabilities = offered;
    options.capability_count = 2;

    check_int(flow_fixture_claim_many(fixture, executions, &options, claims, 2), 1);

    check(same(&claims[0].id, &gpu));
    check_str(flow_fixture_state(fixture, executions, &mac), "waiting");
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, shows_who_has_it_since_when_and_until_when)
{
    struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claimed *claimed = NULL;
    struct flow_fixture_view view;
    size_t count = 0;

    options.lease_ms = 5000;
    check_db(
        weir_execution_claim(executions, &options, 1, &claimed, &count, &fixture->error),
        WEIR_OK);

    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.state, WEIR_STATE_ACTIVE);
    check_str(view.worker, "pool");
    check_str(view.instance, "anna");
    check_int(view.info.attempts, 1);
    check_int(view.info.epoch, claimed->claim.epoch);
    check_int(view.info.lease_us, claimed->lease_us);
    check_int(view.info.lease_us - view.info.started_us, 5000000);
    check_int(claimed->attempt, 0);
    check_int(claimed->type, WEIR_ATTEMPT_INITIAL);
    weir_claimed_free(executions, claimed);
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, tells_the_sooner_of_both_deadlines)
{
    const struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_policy policy;
    struct weir_claimed *claimed = NULL;
    size_t count = 0;

    weir_execution_policy_init(&policy);
    policy.attempt_timeout_ms = 60000;
    draft.policy = &policy;
    draft.deadline_ms = 3600000;
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    check_db(
        weir_execution_claim(executions, &options, 1, &claimed, &count, &fixture->error),
        WEIR_OK);

    check_int(claimed->deadline_us - claimed->lease_us, 30000000);
    weir_claimed_free(executions, claimed);
    weir_executions_destroy(executions);
}

/* More than are picked at once, so that a pick of expired ones only is not the end. */
FLOW_TEST(claim, ends_what_is_past_its_deadline_and_takes_what_is_behind)
{
    enum { LATE = 300 };
    static struct weir_execution_draft drafts[LATE];
    static struct weir_submission late[LATE];
    const struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id good;
    struct weir_claim claim;

    for (size_t i = 0; i < LATE; i++) {
        drafts[i] = flow_fixture_draft("orders");
        drafts[i].deadline_ms = 3600000;
    }
    check_db(weir_execution_submit(executions, NULL, drafts, LATE, late, &fixture->error),
             WEIR_OK);
    fixture_prepare(fixture, "UPDATE {p}_execution SET deadline_us = 1");
    good = flow_fixture_submit(fixture, executions, "orders");

    check_int(flow_fixture_claim_many(fixture, executions, &options, &claim, 1), 1);

    check(same(&claim.id, &good));
    check_str(flow_fixture_state(fixture, executions, &late[0].id), "expired");
    check_int(
        fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 13"),
        LATE);
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, of_bad_options_names_the_field)
{
    const char *const bad_lane = "a\x01";
    const char *const comma = "a,b";
    struct weir_claim_options good = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct {
        struct weir_claim_options options;
        size_t count;
        const char *field;
    } wrong[11];
    size_t n = 0;

    for (size_t i = 0; i < 11; i++) {
        wrong[i].options = good;
        wrong[i].count = 1;
    }
    wrong[n].options.lane_count = 0, wrong[n++].field = "lane_count";
    wrong[n].options.lane_count = 65, wrong[n++].field = "lane_count";
    wrong[n].options.lanes = &bad_lane, wrong[n++].field = "lane";
    wrong[n].options.worker = "", wrong[n++].field = "worker";
    wrong[n].options.instance = "a b", wrong[n++].field = "instance";
    wrong[n].options.lease_ms = 999, wrong[n++].field = "lease_ms";
    wrong[n].options.lease_ms = 3600001, wrong[n++].field = "lease_ms";
    wrong[n].options.wait_ms = -1, wrong[n++].field = "wait_ms";
    wrong[n].options.capabilities = &comma, wrong[n].options.capability_count = 1,
    wrong[n++].field = "capability";
    wrong[n].count = 0, wrong[n++].field = "count";
    wrong[n].count = WEIR_BATCH_MAX + 1, wrong[n++].field = "count";

    for (size_t i = 0; i < n; i++) {
        struct weir_claimed *claimed = NULL;
        size_t got = 1;

        check_db(weir_execution_claim(executions, &wrong[i].options, wrong[i].count,
                                      &claimed, &got, &fixture->error),
                 WEIR_INVALID);
        check(strstr(fixture->error.text, wrong[i].field) != NULL);
        check_int(got, 0);
        check(claimed == NULL);
    }
    weir_executions_destroy(executions);
}

/* ---- several at once --------------------------------------------------------------- */

enum { PEERS = 4, PEERS_WORK = 200 };

struct claimer {
    struct weir_executions *executions;
    pthread_t thread;
    size_t got;
    enum weir_status status;
    int64_t nos[PEERS_WORK];
};

static void *claim_all(void *argument)
{
    struct claimer *self = argument;
    const struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "one");
    struct weir_claimed *claimed = NULL;
    size_t count = 0;

    do {
        self->status =
            weir_execution_claim(self->executions, &options, 7, &claimed, &count, NULL);
        for (size_t i = 0; i < count; i++)
            self->nos[self->got++] = claimed[i].claim.no;
        weir_claimed_free(self->executions, claimed);
    } while (self->status == WEIR_OK && count > 0);
    return NULL;
}

FLOW_TEST(claim, by_several_at_once_gives_each_one_to_one_of_them)
{
    static struct weir_execution_draft drafts[PEERS_WORK];
    static struct claimer claimers[PEERS];
    struct weir_executions *executions = flow_fixture_open(fixture);
    size_t total = 0;

    for (size_t i = 0; i < PEERS_WORK; i++)
        drafts[i] = flow_fixture_draft("orders");
    check_db(weir_execution_submit(executions, NULL, drafts, PEERS_WORK, NULL,
                                   &fixture->error),
             WEIR_OK);
    for (size_t i = 0; i < PEERS; i++) {
        claimers[i] = (struct claimer){.executions = executions};
        check_int(pthread_create(&claimers[i].thread, NULL, claim_all, &claimers[i]), 0);
    }
    for (size_t i = 0; i < PEERS; i++) {
        check_int(pthread_join(claimers[i].thread, NULL), 0);
        check_status(claimers[i].status, WEIR_OK);
        total += claimers[i].got;
    }

    check_int(total, PEERS_WORK);
    for (size_t i = 0; i < PEERS; i++) {
        for (size_t j = i + 1; j < PEERS; j++) {
            for (size_t k = 0; k < claimers[i].got; k++) {
                for (size_t l = 0; l < claimers[j].got; l++)
                    check(claimers[i].nos[k] != claimers[j].nos[l]);
            }
        }
    }
    check_int(fixture_ask(fixture, "SELECT sum(epoch) FROM weir_execution"), PEERS_WORK);
    weir_executions_destroy(executions);
}

/* ---- waiting ----------------------------------------------------------------------- */

struct waiter {
    struct weir_executions *executions;
    const char *lane;
    int64_t wait_ms;
    pthread_t thread;
    struct weir_claim claim;
    size_t count;
    enum weir_status status;
    _Atomic bool done;
};

static void *wait_for_one(void *argument)
{
    struct waiter *self = argument;
    struct weir_claim_options options = flow_fixture_claimant(&self->lane, "anna");
    struct weir_claimed *claimed = NULL;

    options.wait_ms = self->wait_ms;
    self->status =
        weir_execution_claim(self->executions, &options, 1, &claimed, &self->count, NULL);
    if (self->count > 0)
        self->claim = claimed->claim;
    weir_claimed_free(self->executions, claimed);
    atomic_store(&self->done, true);
    return NULL;
}

static void waiter_start(struct waiter *self, struct weir_executions *executions,
                         const char *lane)
{
    *self = (struct waiter){.executions = executions, .lane = lane, .wait_ms = 600000};
    check_int(pthread_create(&self->thread, NULL, wait_for_one, self), 0);
}

/* With something. */
static void waiter_join(struct waiter *self)
{
    check_int(pthread_join(self->thread, NULL), 0);
    check_status(self->status, WEIR_OK);
    check_int(self->count, 1);
}

static struct weir_wake_info hints(struct weir_executions *executions)
{
    struct weir_wake_info info = {.hints = 0};
    struct weir_wake *wake;

    weir_lock_acquire(&executions->lock);
    wake = executions->wake;
    weir_lock_release(&executions->lock);
    if (wake != NULL)
        weir_wake_read(wake, &info);
    return info;
}

FLOW_TEST(claim, that_waits_is_woken_by_a_submit_of_its_own_process)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id;
    struct waiter waiter;

    waiter_start(&waiter, executions, "orders");
    wait_until(weir_claim_waiters_waiting(&executions->claim_waiters) == 1);
    id = flow_fixture_submit(fixture, executions, "orders");
    waiter_join(&waiter);

    check(same(&waiter.claim.id, &id));
    weir_executions_destroy(executions);
}

/* Another database handle and another engine: nothing but the database between the
 * two. */
FLOW_TEST(claim, that_waits_is_woken_by_a_commit_of_another_process)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_db *elsewhere = fixture_open(fixture, &options);
    struct weir_executions *other = flow_fixture_open_with(fixture, elsewhere, NULL);
    struct waiter waiter;
    uint64_t before;

    waiter_start(&waiter, executions, "orders");
    wait_until(hints(executions).listening);
    wait_until(weir_claim_waiters_waiting(&executions->claim_waiters) == 1);
    before = hints(executions).hints;
    (void)flow_fixture_submit(fixture, other, "orders");
    waiter_join(&waiter);

    wait_until(hints(executions).hints > before);
    weir_executions_destroy(other);
    weir_db_destroy(elsewhere);
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, that_waits_beside_another_gets_one_too)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    const struct weir_execution_draft drafts[] = {flow_fixture_draft("orders"),
                                                  flow_fixture_draft("orders")};
    struct waiter waiters[2];

    waiter_start(&waiters[0], executions, "orders");
    waiter_start(&waiters[1], executions, "orders");
    wait_until(weir_claim_waiters_waiting(&executions->claim_waiters) == 2);
    check_db(weir_execution_submit(executions, NULL, drafts, 2, NULL, &fixture->error),
             WEIR_OK);
    waiter_join(&waiters[0]);
    waiter_join(&waiters[1]);

    check(!same(&waiters[0].claim.id, &waiters[1].claim.id));
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, that_waits_for_another_lane_is_not_kept_from_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct waiter orders, letters;

    waiter_start(&orders, executions, "orders");
    wait_until(weir_claim_waiters_waiting(&executions->claim_waiters) == 1);
    waiter_start(&letters, executions, "letters");
    wait_until(weir_claim_waiters_waiting(&executions->claim_waiters) == 2);
    (void)flow_fixture_submit(fixture, executions, "letters");
    waiter_join(&letters);

    check(!atomic_load(&orders.done));
    (void)flow_fixture_submit(fixture, executions, "orders");
    waiter_join(&orders);
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, that_waits_comes_back_with_nothing_when_its_time_is_over)
{
    struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;

    options.wait_ms = 20;

    check_int(flow_fixture_claim_many(fixture, executions, &options, &claim, 1), 0);

    weir_executions_destroy(executions);
}

/* Nobody waits, so nobody is told; then somebody does. */
FLOW_POSTGRESQL_TEST(claim, that_waits_says_so_to_those_who_commit)
{
    struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;

    check_int(flow_fixture_claim_many(fixture, executions, &options, &claim, 1), 0);
    check_int(fixture_ask(fixture, "SELECT last_value FROM weir_awaited"), 1);
    options.wait_ms = 20;
    check_int(flow_fixture_claim_many(fixture, executions, &options, &claim, 1), 0);

    check(fixture_ask(fixture, "SELECT last_value FROM weir_awaited") > 1);
    weir_executions_destroy(executions);
}

/* ---- in a simulation --------------------------------------------------------------- */

/* One that waits for up to ten seconds, and one that submits after three, if it is
 * there. */
struct play {
    struct script script;
    struct weir_executions *executions;
    size_t count;
    enum weir_status status;
    int64_t ended_ns;
};

static enum weir_status play_waiter(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct play *self = state;
    struct weir_claim_options options = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_claimed *claimed = NULL;

    options.wait_ms = 10000;
    self->status = weir_execution_claim(self->executions, &options, 1, &claimed,
                                        &self->count, error);
    self->ended_ns = weir_context_now(context);
    weir_claimed_free(self->executions, claimed);
    *out = weir_sleep_for(WEIR_HOURS(1));
    return WEIR_OK;
}

static enum weir_status play_submitter(struct weir_context *context, void *state,
                                       struct weir_directive *out,
                                       struct weir_error *error)
{
    struct play *self = state;
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    weir_sleep_through(context, WEIR_SECONDS(3));
    *out = weir_sleep_for(WEIR_HOURS(1));
    return weir_execution_submit(self->executions, NULL, &draft, 1, NULL, error);
}

static void play_cast(struct play *self, weir_action_fn action)
{
    struct weir_notifier *claim_waiters = script_bell(&self->script);
    struct weir_worker_options options;

    weir_worker_options_init(&options);
    options.name = "player";
    options.action = action;
    options.state = self;
    options.notifiers = &claim_waiters;
    options.notifier_count = 1;
    check_status(weir_ward_spawn(self->script.ward, &options, NULL, NULL), WEIR_OK);
}

static void play_open(struct play *self, struct fixture *fixture)
{
    *self = (struct play){.executions = flow_fixture_open(fixture)};
    script_open(&self->script, IN_SIMULATION);
    play_cast(self, play_waiter);
}

static void play_close(struct play *self)
{
    weir_ward_cancel(self->script.ward);
    weir_sim_run_until(self->script.sim, WEIR_SECONDS(60));
    script_close(&self->script);
    weir_executions_destroy(self->executions);
}

FLOW_SQLITE_TEST(claim, that_waits_in_a_simulation_waits_in_virtual_time)
{
    struct play play;

    play_open(&play, fixture);
    weir_sim_run_until(play.script.sim, WEIR_SECONDS(30));

    check_status(play.status, WEIR_OK);
    check_int(play.count, 0);
    check_int(play.ended_ns, WEIR_SECONDS(10));
    play_close(&play);
}

FLOW_SQLITE_TEST(claim, that_waits_in_a_simulation_is_woken_by_a_submit)
{
    struct play play;

    play_open(&play, fixture);
    play_cast(&play, play_submitter);
    weir_sim_run_until(play.script.sim, WEIR_SECONDS(30));

    check_status(play.status, WEIR_OK);
    check_int(play.count, 1);
    check(play.ended_ns < WEIR_SECONDS(4));
    play_close(&play);
}

FLOW_SQLITE_TEST(claim, that_waits_ends_when_its_worker_is_cancelled)
{
    struct play play;

    play_open(&play, fixture);
    weir_sim_run_until(play.script.sim, WEIR_SECONDS(2));
    weir_ward_cancel(play.script.ward);
    weir_sim_run_until(play.script.sim, WEIR_SECONDS(5));

    check_status(play.status, WEIR_CANCELLED);
    check_int(play.count, 0);
    check_int(play.ended_ns, WEIR_SECONDS(2));
    play_close(&play);
}
