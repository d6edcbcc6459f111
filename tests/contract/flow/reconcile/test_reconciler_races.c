/*
 * Reconcilers against workers, operators and each other: whoever is first has it, and
 * nothing is done twice.
 */
#include <stdlib.h>

#include "contract/flow/reconcile/supervisor_fixture.h"

enum { SHORT_US = 20000, LONG_US = 60000000 };

/* ---- between the look and the lock ------------------------------------------------- */

/* What happens when a reconciler has seen something that is due, and has not locked it
 * yet. */
struct meantime {
    struct supervisor_fixture *supervisor_fixture;
    struct weir_claim claim;
    bool cancels; /* else completes */
    enum weir_status status;
    _Atomic bool happened;
};

static void happen(void *argument)
{
    struct meantime *self = argument;
    struct fixture *fixture = self->supervisor_fixture->fixture;

    if (self->cancels)
        self->status = weir_execution_cancel(self->supervisor_fixture->executions,
                                             &self->claim.id, "enough", &fixture->error);
    else
        self->status = supervisor_fixture_settle(self->supervisor_fixture, &self->claim,
                                                 WEIR_SETTLE_COMPLETE);
    atomic_store(&self->happened, true);
}

/* A supervisor that lets it happen when it has first seen something due. */
static void open_patrol_with(struct patrol *patrol, struct meantime *meantime)
{
    patrol_init(patrol, meantime->supervisor_fixture->fixture);
    weir_fault_points_arm_call(&patrol->points, "reconciler.due", 1, happen, meantime);
    patrol_start(patrol);
    wait_until(atomic_load(&meantime->happened));
    check_status(meantime->status, WEIR_OK);
}

FLOW_TEST(attempt_timeout, loses_against_a_worker_who_completes_first)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct meantime meantime = {.cancels = false};
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    policy.attempt_timeout_ms = 1;
    policy.retries_max = 3;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    meantime.supervisor_fixture = &supervisor_fixture;
    meantime.claim = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    open_patrol_with(&patrol, &meantime);

    patrol_wait(&patrol, WEIR_RECONCILER_ATTEMPT_TIMEOUT);

    check_int(supervisor_fixture_state(&supervisor_fixture, &meantime.claim.id),
              WEIR_STATE_COMPLETED);
    check_int(supervisor_fixture_attempts(&supervisor_fixture, &meantime.claim.id).ended,
              1);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_ATTEMPT_TIMEOUT).processed, 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(execution_deadline, loses_against_a_worker_who_completes_first)
{
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    struct meantime meantime = {.cancels = false};
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    draft.deadline_ms = 1000;
    supervisor_fixture_open(&supervisor_fixture, fixture);
    meantime.supervisor_fixture = &supervisor_fixture;
    meantime.claim = supervisor_fixture_employ(&supervisor_fixture, &draft, LONG_US);
    open_patrol_with(&patrol, &meantime);

    patrol_wait(&patrol, WEIR_RECONCILER_EXECUTION_DEADLINE);

    check_int(supervisor_fixture_state(&supervisor_fixture, &meantime.claim.id),
              WEIR_STATE_COMPLETED);
    check_int(patrol_scan(&patrol, WEIR_RECONCILER_EXECUTION_DEADLINE).processed, 0);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

/* Something that becomes due soon, of each kind. */
static struct weir_claim put_due(struct supervisor_fixture *supervisor_fixture,
                                 enum weir_reconciler which)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim claim = {.epoch = 0};

    policy.attempt_timeout_ms = which == WEIR_RECONCILER_ATTEMPT_TIMEOUT ? 1 : 0;
    draft.deadline_ms = which == WEIR_RECONCILER_EXECUTION_DEADLINE ? 1000 : 0;
    draft.delay_ms = which == WEIR_RECONCILER_DELAYED_PROMOTER ? 20 : 0;
    if (which != WEIR_RECONCILER_DELAYED_PROMOTER)
        return supervisor_fixture_employ(supervisor_fixture, &draft,
                                         which == WEIR_RECONCILER_LEASE_EXPIRY ? SHORT_US
                                                                               : LONG_US);
    claim.id = supervisor_fixture_submit(supervisor_fixture, &draft);
    return claim;
}

static const enum weir_reconciler TIMERS[] = {
    WEIR_RECONCILER_ATTEMPT_TIMEOUT, WEIR_RECONCILER_LEASE_EXPIRY,
    WEIR_RECONCILER_DELAYED_PROMOTER, WEIR_RECONCILER_EXECUTION_DEADLINE};

FLOW_TEST(reconcilers, leave_alone_what_was_cancelled_meanwhile)
{
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    for (size_t i = 0; i < sizeof TIMERS / sizeof TIMERS[0]; i++) {
        struct meantime meantime = {.supervisor_fixture = &supervisor_fixture,
                                    .cancels = true};
        struct patrol patrol;
        bool held = TIMERS[i] != WEIR_RECONCILER_DELAYED_PROMOTER;

        meantime.claim = put_due(&supervisor_fixture, TIMERS[i]);
        open_patrol_with(&patrol, &meantime);
        patrol_wait(&patrol, TIMERS[i]);

        check_int(supervisor_fixture_state(&supervisor_fixture, &meantime.claim.id),
                  WEIR_STATE_CANCELLED);
        check_int(
            supervisor_fixture_attempts(&supervisor_fixture, &meantime.claim.id).ended,
            held);
        check_int(patrol_scan(&patrol, TIMERS[i]).processed, 0);
        check_int(patrol_scan(&patrol, TIMERS[i]).errors, 0);
        patrol_close(&patrol);
    }
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- each other -------------------------------------------------------------------- */

/* So many that are held for so long. */
static void employ_many(struct supervisor_fixture *supervisor_fixture,
                        const struct weir_execution_draft *draft, size_t count,
                        int64_t ttl_us)
{
    struct fixture *fixture = supervisor_fixture->fixture;
    struct weir_execution_draft *drafts = calloc(count, sizeof *drafts);
    struct weir_submission *submissions = calloc(count, sizeof *submissions);
    struct weir_claim *claims = calloc(count, sizeof *claims);

    check(drafts != NULL && submissions != NULL && claims != NULL);
    for (size_t i = 0; i < count; i++)
        drafts[i] = *draft;
    check_db(weir_execution_submit(supervisor_fixture->executions, NULL, drafts, count,
                                   submissions, &fixture->error),
             WEIR_OK);
    if (ttl_us > 0)
        check_int(supervisor_fixture_claim(supervisor_fixture, ttl_us, claims, count),
                  count);
    free(claims);
    free(submissions);
    free(drafts);
}

static uint64_t both(struct patrol patrols[2], enum weir_reconciler which)
{
    return patrol_scan(&patrols[0], which).processed +
           patrol_scan(&patrols[1], which).processed;
}

/* Each row is counted by one of them, has one attempt more, and is told once. */
FLOW_TEST(two_supervisors, handle_every_row_once)
{
    enum { COUNT = 1500 };
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct patrol patrols[2];
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open_with_news(&supervisor_fixture, fixture);
    patrol_open_with_news(&patrols[0], fixture);
    patrol_open_with_news(&patrols[1], fixture);
    policy.attempt_timeout_ms = 50;
    employ_many(&supervisor_fixture, &draft, COUNT, LONG_US); /* expires */
    wait_until(both(patrols, WEIR_RECONCILER_ATTEMPT_TIMEOUT) == COUNT);
    policy.attempt_timeout_ms = 0;
    employ_many(&supervisor_fixture, &draft, COUNT, 50000); /* is lost, and ready again */
    draft.delay_ms = 50;
    employ_many(&supervisor_fixture, &draft, COUNT, 0);

    wait_until(both(patrols, WEIR_RECONCILER_LEASE_EXPIRY) == COUNT &&
               both(patrols, WEIR_RECONCILER_DELAYED_PROMOTER) == COUNT);
    wait_until(atomic_load(&supervisor_fixture.news.expired) == 2 * COUNT &&
               atomic_load(&supervisor_fixture.news.ended) == COUNT);
    for (size_t i = 0; i < sizeof TIMERS / sizeof TIMERS[0]; i++) {
        patrol_wait(&patrols[0], TIMERS[i]);
        patrol_wait(&patrols[1], TIMERS[i]);
    }

    check_int(both(patrols, WEIR_RECONCILER_ATTEMPT_TIMEOUT), COUNT);
    check_int(both(patrols, WEIR_RECONCILER_LEASE_EXPIRY), COUNT);
    check_int(both(patrols, WEIR_RECONCILER_DELAYED_PROMOTER), COUNT);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_attempt"), 2 * COUNT);
    check_int(fixture_ask(fixture, "SELECT sum(reclaims) FROM weir_execution"), COUNT);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 1"),
              2 * COUNT);
    check_int(
        fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 13"),
        COUNT);
    check_int(atomic_load(&supervisor_fixture.news.expired), 2 * COUNT);
    check_int(atomic_load(&supervisor_fixture.news.ended), COUNT);
    patrol_close(&patrols[1]);
    patrol_close(&patrols[0]);
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- many -------------------------------------------------------------------------- */

/* Statements that write one row, of which SQLite has many, and looks, which come with
 * time. */
static bool is_passed_over(const char *name)
{
    static const char *const BEGINNINGS[] = {
        "insert attempt", "write execution", "next ",       "find ",
        "read groups",    "pick groups",     "pick budgets"};
    static const char *const SETS[] = {"insert attempts", "write executions"};

    for (size_t i = 0; i < sizeof SETS / sizeof SETS[0]; i++) {
        if (strcmp(name, SETS[i]) == 0)
            return false;
    }
    for (size_t i = 0; i < sizeof BEGINNINGS / sizeof BEGINNINGS[0]; i++) {
        if (strncmp(name, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return true;
    }
    return false;
}

/* Counts the others. Other points have a dot in their names. */
static bool count_statement(void *argument, const char *name)
{
    _Atomic int64_t *count = argument;

    if (strchr(name, '.') == NULL && !is_passed_over(name))
        atomic_fetch_add(count, 1);
    return false;
}

FLOW_TEST(lease_expiry, recovers_ten_thousand_with_few_statements)
{
    enum { COUNT = 10000, STATEMENTS_MAX = 100 };
    struct weir_execution_draft draft = supervisor_fixture_draft(NULL);
    _Atomic int64_t statements = 0;
    struct patrol patrol;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    employ_many(&supervisor_fixture, &draft, COUNT, 1000);
    patrol_init(&patrol, fixture);
    weir_fault_points_set_oracle(&patrol.points, count_statement, &statements);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        patrol.options.interval_ms[i] = 3600 * 1000;
    patrol_start(&patrol);

    wait_until(patrol_scan(&patrol, WEIR_RECONCILER_LEASE_EXPIRY).processed == COUNT);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"
                                   " WHERE state = 1 AND reclaims = 1"),
              COUNT);
    check_in_range(atomic_load(&statements), 1, STATEMENTS_MAX);
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}
