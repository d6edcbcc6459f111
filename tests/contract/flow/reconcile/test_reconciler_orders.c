/*
 * Reconcilers of waits, flows and budgets against somebody else, in every order of
 * steps; against each other; with a fault at each call of the database; and with what
 * cannot be put right.
 *
 *   find ---------------------- lock -- change -- commit
 *        ^ he comes and goes         ^ he comes, and may have to wait
 *   ^ he has done it, and commits when the reconciler waits for him
 */
#include <pthread.h>

#include "contract/flow/flow/graphs.h"
#include "contract/flow/reconcile/reconciler_fixture.h"
#include "contract/flow/wait/suspended.h"
#include "weir/budget.h"

enum act {
    NOTHING,
    SIGNALS,
    RESUMES,
    CANCELS,
    REPLAYS,
    COMPLETES,
    FAILS,
    RENEWS,
    RESETS,
    RAISES,
    REPORTS
};

/* What is due, who comes, and what comes of it. */
struct plot {
    enum weir_reconciler which;
    enum act act;
    int at; /* at which pass of the point; 0: the first */
    const char *end;
    int processed;
};

#define WAITS WEIR_RECONCILER_SUSPENSION_TIMEOUT
#define EDGES WEIR_RECONCILER_DEPENDENCY
#define SIBLINGS WEIR_RECONCILER_EDGE_CANCEL_DISPATCHER
#define BACKLOG WEIR_RECONCILER_EDGE_CANCEL_RECONCILER
#define BUDGETS WEIR_RECONCILER_BUDGET_RESET

enum { HOUR_MS = 3600 * 1000 }; /* longer than any scene */

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

/* Something due, and somebody who does one thing to it, from another process. */
struct setup {
    struct fixture *fixture;
    struct weir_executions *executions;
    struct plot plot;
    struct wait wait;
    struct flow flow;
    struct weir_claim claim;          /* of `b` */
    struct weir_execution_id charged; /* waits for the budget */
    char text[256];

    struct weir_db *db;
    struct weir_fault_points points;
    struct weir_executions *visitor;
    pthread_t thread;
    enum weir_status status; /* of what he did */
    _Atomic int came;
    _Atomic bool stands; /* before his commit */
    _Atomic bool go;
};

/* ---- what is due ------------------------------------------------------------------- */

static int64_t now_us(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t time_us = 0;

    check_db(weir_connection_clock(connection, &time_us, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return time_us;
}

static void put_wait(struct setup *self)
{
    int64_t begun_us;

    wait_claim(&self->wait, self->fixture, self->executions);
    self->wait.options.timeout_ms = 1;
    self->wait.options.on_timeout = WEIR_TIMEOUT_EXPIRE;
    check(!wait_suspend(&self->wait, self->fixture, "ok@a"));
    begun_us = now_us(self->fixture);
    wait_until(now_us(self->fixture) > begun_us + 1000);
}

/* The end of `a` does not see its edge. */
static void put_edge(struct setup *self)
{
    graph_open(&self->flow, self->fixture, self->executions);
    graph_add(&self->flow, "ab", "a>b");
    fixture_prepare(self->fixture, "UPDATE {p}_edge SET state = 1 WHERE state = 0");
    graph_end(&self->flow, 'a', WEIR_SETTLE_COMPLETE);
    fixture_prepare(self->fixture, "UPDATE {p}_edge SET state = 0");
}

/* `b` is held, and not needed any more. */
static void put_sibling(struct setup *self)
{
    struct weir_flow_join join = {.policy = WEIR_JOIN_ANY, .cancel_remaining = true};

    graph_open(&self->flow, self->fixture, self->executions);
    join.to = *graph_member(&self->flow, 'c');
    graph_join(&self->flow, "abc", "a>c b>c", &join, 1);
    self->claim = graph_claim(&self->flow, 'b');
    graph_end(&self->flow, 'a', WEIR_SETTLE_COMPLETE);
}

static void put_backlog(struct setup *self)
{
    put_sibling(self);
    flow_fixture_settle(self->fixture, self->executions, &self->claim,
                        WEIR_SETTLE_COMPLETE);
    fixture_prepare(self->fixture, "UPDATE {p}_edge_group SET cancel_us = 1");
}

static struct weir_budget_draft budget_of(int64_t hard)
{
    static struct weir_budget_limit limit;

    limit = (struct weir_budget_limit){"tokens", hard, 0};
    return (struct weir_budget_draft){
        .name = "llm", .period_ms = HOUR_MS, .limits = &limit, .limit_count = 1};
}

static enum weir_status spend(struct weir_executions *executions, int64_t amount,
                              struct weir_error *error)
{
    struct weir_amount tokens = {"tokens", amount};
    struct weir_budget_answer answer;

    return weir_budget_report(executions, "llm", NULL, &tokens, 1, NULL, &answer, error);
}

/* The budget is used up and its period is over, some times over; somebody waits for
 * it. */
static void put_budget(struct setup *self)
{
    static const char *const BUDGETS_OF_IT[] = {"llm"};
    static const char *const LANES[] = {"orders"};
    struct fixture *fixture = self->fixture;
    struct weir_claim_options options = flow_fixture_claimant(LANES, "anna");
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_budget_draft budget = budget_of(100);
    struct weir_claim claim;

    draft.budgets = BUDGETS_OF_IT;
    draft.budget_count = 1;
    check_db(weir_budget_create(self->executions, &budget, NULL, &fixture->error),
             WEIR_OK);
    check_db(spend(self->executions, 100, &fixture->error), WEIR_OK);
    self->charged = flow_fixture_submit_draft(fixture, self->executions, &draft);
    check_int(flow_fixture_claim_many(fixture, self->executions, &options, &claim, 1), 0);
    fixture_prepare(fixture,
                    "UPDATE {p}_budget SET next_reset_us = next_reset_us - 25200000000,"
                    " created_us = created_us - 25200000000");
}

static void put(struct setup *self)
{
    switch (self->plot.which) {
    case WAITS:
        put_wait(self);
        return;
    case EDGES:
        put_edge(self);
        return;
    case SIBLINGS:
        put_sibling(self);
        return;
    case BACKLOG:
        put_backlog(self);
        return;
    default:
        put_budget(self);
    }
}

/* ---- what has become of it --------------------------------------------------------- */

static void see_budget(void *state, const struct weir_budget_info *info)
{
    struct setup *self = state;

    check_int((info->next_reset_us - info->created_us) % (HOUR_MS * INT64_C(1000)), 0);
    (void)snprintf(self->text, sizeof self->text, "used %lld, %lld resets, %s",
                   (long long)info->usage[0].used, (long long)info->resets,
                   flow_fixture_state(self->fixture, self->executions, &self->charged));
}

static const char *see(struct setup *self)
{
    struct fixture *fixture = self->fixture;

    if (self->plot.which == WAITS)
        return flow_fixture_state(fixture, self->executions, &self->wait.id);
    if (self->plot.which == BUDGETS) {
        check_db(
            weir_budget_get(self->executions, "llm", see_budget, self, &fixture->error),
            WEIR_OK);
        return self->text;
    }
    (void)snprintf(self->text, sizeof self->text, "%s%s", graph_states(&self->flow),
                   fixture_ask(fixture, "SELECT count(*) FROM weir_edge_group"
                                        " WHERE cancel_us > 0") > 0
                       ? ", to cancel"
                       : "");
    return self->text;
}

/* ---- who comes --------------------------------------------------------------------- */

static enum weir_status settle(struct setup *self, enum weir_settle verb,
                               struct weir_error *error)
{
    struct weir_settlement settlement = {
        .claim = self->claim, .verb = verb, .reason = "it broke"};
    enum weir_status status = weir_execution_settle(self->visitor, &settlement, 1, error);

    return status == WEIR_OK ? settlement.status : status;
}

static enum weir_status signal_it(struct setup *self, struct weir_error *error)
{
    struct weir_signal signal = wait_signal(&self->wait, 0, "ok");
    enum weir_signal_effect effect = WEIR_SIGNAL_LATE;
    enum weir_status status =
        weir_execution_signal(self->visitor, &signal, &effect, error);

    return status == WEIR_OK && effect == WEIR_SIGNAL_LATE ? WEIR_STALE : status;
}

static const struct weir_execution_id *victim(struct setup *self)
{
    if (self->plot.which == WAITS)
        return &self->wait.id;
    if (self->plot.which == BUDGETS)
        return &self->charged;
    return graph_member(&self->flow, 'b');
}

static enum weir_status act(struct setup *self)
{
    struct weir_renewal renewal = {.claim = self->claim};
    struct weir_budget_draft raised = budget_of(1000);
    struct weir_error error;

    weir_error_clear(&error);
    switch (self->plot.act) {
    case NOTHING:
        return WEIR_OK;
    case SIGNALS:
        return signal_it(self, &error);
    case RESUMES:
        return weir_execution_resume(self->visitor, &self->wait.id, 0, &error);
    case CANCELS:
        return weir_execution_cancel(self->visitor, victim(self), "enough", &error);
    case REPLAYS:
        return weir_execution_replay(
            self->visitor,
            graph_member(&self->flow, self->plot.which == EDGES ? 'a' : 'b'), &error);
    case COMPLETES:
        return settle(self, WEIR_SETTLE_COMPLETE, &error);
    case FAILS:
        return settle(self, WEIR_SETTLE_FAIL, &error);
    case RENEWS:
        check_status(weir_execution_renew(self->visitor, 60000, &renewal, 1, &error),
                     WEIR_OK);
        return renewal.status;
    case RESETS:
        return weir_budget_reset(self->visitor, "llm", &error);
    case RAISES:
        return weir_budget_change(self->visitor, &raised, &error);
    case REPORTS:
        return spend(self->visitor, 100, &error);
    }
    return WEIR_OK;
}

static void come_and_go(void *argument)
{
    struct setup *self = argument;

    self->status = act(self);
    atomic_fetch_add(&self->came, 1);
}

static void *come_on_thread(void *argument)
{
    come_and_go(argument);
    return NULL;
}

static bool waits(struct fixture *fixture, struct weir_fault_points *points)
{
    if (fixture->engine == WEIR_SQLITE)
        return atomic_load(&points->armed[ROUND_BUSY].passed) > 0;
    return fixture_ask(fixture, "SELECT count(*) FROM pg_locks l WHERE NOT l.granted") >
           0;
}

/* The reconciler goes on when he waits for it, or has found nothing to wait for. */
static void come_and_wait(void *argument)
{
    struct setup *self = argument;

    check_int(pthread_create(&self->thread, NULL, come_on_thread, self), 0);
    wait_until(atomic_load(&self->came) > 0 || waits(self->fixture, &self->points));
}

/* ---- scenes ------------------------------------------------------------------------ */

/* Without a visitor when nobody is to come. */
static void setup_open(struct setup *self, struct fixture *fixture,
                       struct weir_executions *executions, const struct plot *plot)
{
    struct weir_db_options options = fixture_options(fixture);

    *self = (struct setup){.fixture = fixture, .executions = executions, .plot = *plot};
    if (plot->act != NOTHING) {
        self->db = fixture_open(fixture, &options);
        weir_fault_points_init(&self->points);
        weir_fault_points_arm(&self->points, "db.busy", UINT64_MAX);
        weir_db_set_fault_points(self->db, &self->points);
        self->visitor = flow_fixture_open_with(fixture, self->db, NULL);
    }
    put(self);
}

/* The next one begins with nothing. On PostgreSQL in one statement, since there are
 * many scenes. */
static void sweep(struct fixture *fixture)
{
    static const char *const TABLES[] = {"attempt",   "edge",   "edge_group", "flow",
                                         "execution", "result", "suspension", "waitpoint",
                                         "signal",    "spent",  "usage",      "budget"};
    bool at_once = fixture->engine == WEIR_POSTGRESQL;
    char sql[1024] = "";

    for (size_t i = 0; i < COUNT_OF(TABLES); i++) {
        size_t used = at_once ? strlen(sql) : 0;

        (void)snprintf(sql + used, sizeof sql - used,
                       at_once ? "%s_%s AS (DELETE FROM weir_%s)"
                               : "%.0s%.0sDELETE FROM weir_%s",
                       i == 0 ? "WITH " : ", ", TABLES[i], TABLES[i]);
        if (!at_once)
            fixture_prepare(fixture, sql);
    }
    if (at_once) {
        (void)snprintf(sql + strlen(sql), sizeof sql - strlen(sql), " SELECT 1");
        fixture_prepare(fixture, sql);
    }
}

static void setup_close(struct setup *self)
{
    weir_executions_destroy(self->visitor);
    weir_db_destroy(self->db);
    sweep(self->fixture);
}

static uint64_t pass_of(const struct plot *plot)
{
    return plot->at > 0 ? (uint64_t)plot->at : 1;
}

static void check_end(struct setup *self,
                      const struct reconciler_fixture *reconciler_fixture)
{
    struct fixture *fixture = self->fixture;

    fixture->error = reconciler_fixture->error;
    check_db(reconciler_fixture->status, WEIR_OK);
    check_str(see(self), self->plot.end);
    check_int(reconciler_fixture->report.processed, self->plot.processed);
    check_int(reconciler_fixture->report.errors, 0);
}

/* ---- he is first and quick --------------------------------------------------------- */

static const struct plot BETWEEN_FIND_AND_LOCK[] = {
    {WAITS, NOTHING, 0, "expired", 1},
    {WAITS, SIGNALS, 0, "resumable", 0},
    {WAITS, RESUMES, 0, "resumable", 0},
    {WAITS, CANCELS, 0, "cancelled", 0},
    {EDGES, NOTHING, 0, "a:completed b:waiting", 1},
    {EDGES, CANCELS, 0, "a:completed b:cancelled", 1},
    {EDGES, REPLAYS, 0, "a:waiting b:waiting_children", 0},
    {SIBLINGS, NOTHING, 0, "a:completed b:cancelled c:waiting", 1},
    {SIBLINGS, COMPLETES, 0, "a:completed b:completed c:waiting", 0},
    {SIBLINGS, FAILS, 0, "a:completed b:failed c:waiting", 0},
    {SIBLINGS, RENEWS, 0, "a:completed b:cancelled c:waiting", 1},
    {SIBLINGS, CANCELS, 0, "a:completed b:cancelled c:waiting", 0},
    {BACKLOG, NOTHING, 0, "a:completed b:completed c:waiting", 1},
    {BACKLOG, REPLAYS, 0, "a:completed b:waiting c:waiting", 1},
    {BUDGETS, NOTHING, 0, "used 0, 1 resets, waiting", 2},
    {BUDGETS, RESETS, 0, "used 0, 2 resets, waiting", 2},
    {BUDGETS, RAISES, 0, "used 0, 1 resets, waiting", 2},
    {BUDGETS, CANCELS, 0, "used 0, 1 resets, cancelled", 1},
    {BUDGETS, CANCELS, 2, "used 0, 1 resets, cancelled", 1},
    {BUDGETS, REPORTS, 2, "used 100, 1 resets, waiting", 2},
};

FLOW_TEST(reconcilers, go_by_what_was_done_since_they_found_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < COUNT_OF(BETWEEN_FIND_AND_LOCK); i++) {
        const struct plot *plot = &BETWEEN_FIND_AND_LOCK[i];
        struct setup setup;
        struct reconciler_fixture reconciler_fixture;

        setup_open(&setup, fixture, executions, plot);
        reconciler_fixture_open(&reconciler_fixture, fixture, plot->which);
        weir_fault_points_arm_call(&reconciler_fixture.points, "reconciler.due",
                                   pass_of(plot), come_and_go, &setup);
        (void)reconciler_fixture_tick(&reconciler_fixture);
        check_int(setup.came, 1);
        check_status(setup.status, WEIR_OK);
        check_end(&setup, &reconciler_fixture);
        reconciler_fixture_close(&reconciler_fixture);
        setup_close(&setup);
    }
    weir_executions_destroy(executions);
}

/* ---- he is second ------------------------------------------------------------------ */

struct late_plot {
    struct plot plot;
    enum weir_status status; /* of what he does */
};

static const struct late_plot WHILE_LOCKED[] = {
    {{WAITS, SIGNALS, 0, "expired", 1}, WEIR_STALE},
    {{WAITS, RESUMES, 0, "expired", 1}, WEIR_MISMATCH},
    {{WAITS, CANCELS, 0, "expired", 1}, WEIR_MISMATCH},
    {{EDGES, CANCELS, 0, "a:completed b:cancelled", 1}, WEIR_OK},
    {{EDGES, REPLAYS, 0, "a:waiting b:waiting", 1}, WEIR_OK},
    {{SIBLINGS, COMPLETES, 0, "a:completed b:cancelled c:waiting", 1}, WEIR_FENCED},
    {{SIBLINGS, RENEWS, 0, "a:completed b:cancelled c:waiting", 1}, WEIR_FENCED},
    {{SIBLINGS, CANCELS, 0, "a:completed b:cancelled c:waiting", 1}, WEIR_OK},
    {{BACKLOG, REPLAYS, 0, "a:completed b:waiting c:waiting", 1}, WEIR_OK},
    {{BUDGETS, RESETS, 0, "used 0, 2 resets, waiting", 2}, WEIR_OK},
    {{BUDGETS, REPORTS, 2, "used 100, 1 resets, waiting", 2}, WEIR_OK},
    {{BUDGETS, CANCELS, 2, "used 0, 1 resets, cancelled", 2}, WEIR_OK},
};

FLOW_TEST(reconcilers, that_have_locked_it_are_seen_by_whoever_comes_then)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < COUNT_OF(WHILE_LOCKED); i++) {
        const struct plot *plot = &WHILE_LOCKED[i].plot;
        struct setup setup;
        struct reconciler_fixture reconciler_fixture;

        setup_open(&setup, fixture, executions, plot);
        reconciler_fixture_open(&reconciler_fixture, fixture, plot->which);
        weir_fault_points_arm_call(&reconciler_fixture.points, "reconciler.locked",
                                   pass_of(plot), come_and_wait, &setup);
        (void)reconciler_fixture_tick(&reconciler_fixture);
        check_int(pthread_join(setup.thread, NULL), 0);
        check_status(setup.status, WHILE_LOCKED[i].status);
        check_end(&setup, &reconciler_fixture);
        reconciler_fixture_close(&reconciler_fixture);
        setup_close(&setup);
    }
    weir_executions_destroy(executions);
}

/* ---- he is first and slow ---------------------------------------------------------- */

static void stand(void *argument)
{
    struct setup *self = argument;

    atomic_store(&self->stands, true);
    wait_until(atomic_load(&self->go));
}

struct ticking {
    struct reconciler_fixture *reconciler_fixture;
    _Atomic bool done;
};

static void *tick_on_thread(void *argument)
{
    struct ticking *self = argument;

    (void)reconciler_fixture_tick(self->reconciler_fixture);
    atomic_store(&self->done, true);
    return NULL;
}

/* On PostgreSQL a row of a due kind that he has is passed over, and found later. */
FLOW_TEST(reconcilers, wait_for_whoever_has_begun_before_them_and_go_by_what_he_did)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < COUNT_OF(BETWEEN_FIND_AND_LOCK); i++) {
        const struct plot *plot = &BETWEEN_FIND_AND_LOCK[i];
        struct setup setup;
        struct reconciler_fixture reconciler_fixture;
        struct ticking ticking = {.reconciler_fixture = &reconciler_fixture};
        pthread_t ticker;

        if (plot->act == NOTHING || plot->at > 0)
            continue;
        setup_open(&setup, fixture, executions, plot);
        reconciler_fixture_open(&reconciler_fixture, fixture, plot->which);
        weir_fault_points_arm_call(&setup.points, "db.commit", 1, stand, &setup);
        check_int(pthread_create(&setup.thread, NULL, come_on_thread, &setup), 0);
        wait_until(atomic_load(&setup.stands));
        check_int(pthread_create(&ticker, NULL, tick_on_thread, &ticking), 0);
        wait_until(atomic_load(&ticking.done) ||
                   waits(fixture, &reconciler_fixture.points));
        atomic_store(&setup.go, true);
        check_int(pthread_join(ticker, NULL), 0);
        check_int(pthread_join(setup.thread, NULL), 0);
        check_status(setup.status, WEIR_OK);
        check_status(reconciler_fixture.status, WEIR_OK);
        (void)reconciler_fixture_tick(&reconciler_fixture);
        check_end(&setup, &reconciler_fixture);
        reconciler_fixture_close(&reconciler_fixture);
        setup_close(&setup);
    }
    weir_executions_destroy(executions);
}

/* ---- two of them ------------------------------------------------------------------- */

static const struct plot ALONE[] = {
    {WAITS, NOTHING, 0, "expired", 1},
    {EDGES, NOTHING, 0, "a:completed b:waiting", 1},
    {SIBLINGS, NOTHING, 0, "a:completed b:cancelled c:waiting", 1},
    {BACKLOG, NOTHING, 0, "a:completed b:completed c:waiting", 1},
    {BUDGETS, NOTHING, 0, "used 0, 1 resets, waiting", 2},
};

struct rival {
    struct reconciler_fixture reconciler_fixture;
    pthread_t thread;
    _Atomic bool done;
};

static void rival_ticks(void *argument)
{
    struct rival *self = argument;

    (void)reconciler_fixture_tick(&self->reconciler_fixture);
    atomic_store(&self->done, true);
}

static void *rival_on_thread(void *argument)
{
    rival_ticks(argument);
    return NULL;
}

static void rival_tries(void *argument)
{
    struct rival *self = argument;

    check_int(pthread_create(&self->thread, NULL, rival_on_thread, self), 0);
    wait_until(atomic_load(&self->done) ||
               waits(self->reconciler_fixture.fixture, &self->reconciler_fixture.points));
}

static void meet(struct fixture *fixture, struct weir_executions *executions,
                 const struct plot *plot, const char *point,
                 weir_fault_point_fn rival_acts)
{
    struct rival rival = {.done = false};
    struct setup setup;
    struct reconciler_fixture reconciler_fixture;

    setup_open(&setup, fixture, executions, plot);
    reconciler_fixture_open(&reconciler_fixture, fixture, plot->which);
    reconciler_fixture_open(&rival.reconciler_fixture, fixture, plot->which);
    weir_fault_points_arm_call(&reconciler_fixture.points, point, 1, rival_acts, &rival);
    (void)reconciler_fixture_tick(&reconciler_fixture);
    if (rival_acts == rival_tries)
        check_int(pthread_join(rival.thread, NULL), 0);
    check(atomic_load(&rival.done));
    check_status(rival.reconciler_fixture.status, WEIR_OK);
    reconciler_fixture.report.processed += rival.reconciler_fixture.report.processed;
    check_end(&setup, &reconciler_fixture);
    reconciler_fixture_close(&rival.reconciler_fixture);
    reconciler_fixture_close(&reconciler_fixture);
    setup_close(&setup);
}

FLOW_TEST(two_reconcilers, that_have_found_the_same_handle_it_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < COUNT_OF(ALONE); i++)
        meet(fixture, executions, &ALONE[i], "reconciler.due", rival_ticks);
    weir_executions_destroy(executions);
}

FLOW_TEST(two_reconcilers, of_which_one_has_it_handle_it_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < COUNT_OF(ALONE); i++)
        meet(fixture, executions, &ALONE[i], "reconciler.locked", rival_tries);
    weir_executions_destroy(executions);
}

/* ---- faults ------------------------------------------------------------------------ */

/* The fault came; what was not done is done by the next tick, and nothing twice.
 * Returns false when the tick had fewer calls. */
static bool survive(struct reconciler_fixture *reconciler_fixture,
                    struct weir_executions *executions, const struct plot *plot,
                    const char *fault, uint64_t at)
{
    enum { FAULT = 1 };
    struct fixture *fixture = reconciler_fixture->fixture;
    struct setup setup;
    bool came;

    setup_open(&setup, fixture, executions, plot);
    reconciler_fixture->report = (struct weir_scan_report){.processed = 0};
    weir_fault_points_arm_once(&reconciler_fixture->points, fault, at);
    (void)reconciler_fixture_tick(reconciler_fixture);
    came = atomic_load(&reconciler_fixture->points.armed[FAULT].passed) >= at;
    weir_fault_points_arm(&reconciler_fixture->points, fault, UINT64_MAX);
    check_int(reconciler_fixture->report.errors, 0);
    fixture->error = reconciler_fixture->error;
    check_db(reconciler_fixture_tick(reconciler_fixture), WEIR_OK);
    check_str(see(&setup), plot->end);
    check(reconciler_fixture->report.processed <= (uint64_t)plot->processed);
    setup_close(&setup);
    return came;
}

static void survive_all(struct fixture *fixture, const char *fault, uint64_t least)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < COUNT_OF(ALONE); i++) {
        struct reconciler_fixture reconciler_fixture;
        uint64_t at = 1;

        reconciler_fixture_open(&reconciler_fixture, fixture, ALONE[i].which);
        while (survive(&reconciler_fixture, executions, &ALONE[i], fault, at))
            at++;
        check(at > least);
        reconciler_fixture_close(&reconciler_fixture);
    }
    weir_executions_destroy(executions);
}

FLOW_TEST(reconcilers, do_later_what_a_lost_connection_has_kept_them_from)
{
    survive_all(fixture, "db.lose", 3);
}

FLOW_TEST(reconcilers, that_do_not_know_whether_they_committed_do_nothing_twice)
{
    survive_all(fixture, "db.lose_after_commit", 1);
}

/* ---- poison ------------------------------------------------------------------------ */

/* A row that cannot be changed. */
static void poison(struct fixture *fixture, const char *table, const char *key,
                   int64_t number)
{
    char sql[256];

    if (fixture->engine == WEIR_POSTGRESQL)
        fixture_prepare(fixture, "CREATE FUNCTION refuse() RETURNS trigger AS"
                                 " 'BEGIN RAISE EXCEPTION ''poison''; END'"
                                 " LANGUAGE plpgsql");
    (void)snprintf(sql, sizeof sql,
                   fixture->engine == WEIR_POSTGRESQL
                       ? "CREATE TRIGGER poison BEFORE UPDATE ON weir_%s FOR EACH ROW"
                         " WHEN (OLD.%s = %lld) EXECUTE FUNCTION refuse()"
                       : "CREATE TRIGGER poison BEFORE UPDATE ON weir_%s"
                         " WHEN OLD.%s = %lld BEGIN SELECT RAISE(ABORT, 'poison'); END",
                   table, key, (long long)number);
    fixture_prepare(fixture, sql);
}

static void cure(struct fixture *fixture)
{
    fixture_prepare(fixture, fixture->engine == WEIR_POSTGRESQL
                                 ? "DROP FUNCTION refuse CASCADE"
                                 : "DROP TRIGGER poison");
}

/* What the reconciler would have to change. */
static void poison_setup(struct setup *self)
{
    struct fixture *fixture = self->fixture;

    if (self->plot.which == WAITS)
        poison(fixture, "execution", "no", self->wait.claim.no);
    else if (self->plot.which == SIBLINGS)
        poison(fixture, "execution", "no", self->claim.no);
    else if (self->plot.which == EDGES)
        poison(fixture, "execution", "no",
               fixture_ask(fixture, "SELECT max(no) FROM weir_execution"));
    else
        poison(fixture, "edge_group", "downstream",
               fixture_ask(fixture, "SELECT max(downstream) FROM weir_edge_group"));
}

/* Tried some times, and then left alone. */
static void tick_until_set_aside(struct reconciler_fixture *reconciler_fixture)
{
    for (int i = 1; i <= WEIR_FAILURES_IN_ROW_MAX; i++) {
        check_status(reconciler_fixture_tick(reconciler_fixture), WEIR_OK);
        check_int(reconciler_fixture->report.errors, i);
    }
    check_int(weir_failures_count(&reconciler_fixture->failures), 1);
    check_status(reconciler_fixture_tick(reconciler_fixture), WEIR_OK);
    check_int(reconciler_fixture->report.errors, WEIR_FAILURES_IN_ROW_MAX);
    check(reconciler_fixture->report.skipped > 0);
}

static void tick_until_tried_again(struct reconciler_fixture *reconciler_fixture)
{
    for (int i = 0; i <= WEIR_FAILURES_SKIP_CYCLES; i++)
        check_status(reconciler_fixture_tick(reconciler_fixture), WEIR_OK);
    check_int(weir_failures_count(&reconciler_fixture->failures), 0);
    check_int(reconciler_fixture->report.errors, WEIR_FAILURES_IN_ROW_MAX);
}

static const char *state_of(struct setup *self)
{
    if (self->plot.which == BACKLOG)
        return self->plot.end; /* what is left of it is seen below */
    return self->plot.which == WAITS
               ? flow_fixture_state(self->fixture, self->executions, &self->wait.id)
               : graph_states(&self->flow);
}

/* How many joins have siblings to cancel, of those that will come right. */
static int64_t joins_left(struct fixture *fixture)
{
    return fixture_ask(fixture,
                       "SELECT count(*) FROM weir_edge_group WHERE cancel_us > 0");
}

/* The batch has both of them. */
FLOW_TEST(poison, is_set_aside_and_shown_and_comes_right_when_it_can)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < COUNT_OF(ALONE) - 1; i++) {
        const struct plot *plot = &ALONE[i];
        struct setup bad, good;
        struct reconciler_fixture reconciler_fixture;

        setup_open(&good, fixture, executions, plot);
        setup_open(&bad, fixture, executions, plot);
        poison_setup(&bad);
        reconciler_fixture_open(&reconciler_fixture, fixture, plot->which);
        tick_until_set_aside(&reconciler_fixture);
        check_str(state_of(&good), plot->end);
        check(plot->which == BACKLOG || strcmp(state_of(&bad), plot->end) != 0);
        check_int(joins_left(fixture), plot->which == BACKLOG || plot->which == SIBLINGS);

        cure(fixture);
        tick_until_tried_again(&reconciler_fixture);
        check_str(state_of(&bad), plot->end);
        check_int(joins_left(fixture), 0);
        check_int(reconciler_fixture.report.processed, 2 * plot->processed);
        reconciler_fixture_close(&reconciler_fixture);
        setup_close(&good); /* and the other */
    }
    weir_executions_destroy(executions);
}

/* Of two budgets and two who wait for one of them. */
FLOW_TEST(budget_reset, sets_aside_what_cannot_be_changed_and_does_the_rest)
{
    static const struct {
        const char *table;
        bool of_budget;
        const char *end; /* while it cannot be changed */
    } CASES[] = {{"budget", true, "used 100, 0 resets, rate_limited"},
                 {"execution", false, "used 0, 1 resets, rate_limited"}};
    const struct plot plot = {BUDGETS, NOTHING, 0, "used 0, 1 resets, waiting", 2};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_budget_draft other = budget_of(100);

    other.name = "other";
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct setup setup;
        struct reconciler_fixture reconciler_fixture;

        check_db(weir_budget_create(executions, &other, NULL, &fixture->error), WEIR_OK);
        setup_open(&setup, fixture, executions, &plot);
        poison(fixture, CASES[i].table, "no",
               CASES[i].of_budget
                   ? fixture_ask(fixture, "SELECT no FROM weir_budget WHERE name = 'llm'")
                   : fixture_ask(fixture, "SELECT max(no) FROM weir_execution"));
        reconciler_fixture_open(&reconciler_fixture, fixture, BUDGETS);
        tick_until_set_aside(&reconciler_fixture);
        check_str(see(&setup), CASES[i].end);
        check_int(fixture_ask(fixture, "SELECT era FROM weir_budget"
                                       " WHERE name = 'other'"),
                  1);
        cure(fixture);
        tick_until_tried_again(&reconciler_fixture);
        check_str(see(&setup), plot.end);
        reconciler_fixture_close(&reconciler_fixture);
        setup_close(&setup);
    }
    weir_executions_destroy(executions);
}

/* ---- the filter -------------------------------------------------------------------- */

FLOW_TEST(filter, is_respected_by_all_but_budget_reset)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < COUNT_OF(ALONE); i++) {
        const struct plot *plot = &ALONE[i];
        int hidden = plot->which == BUDGETS ? plot->processed : 0;
        struct setup setup;
        struct reconciler_fixture reconciler_fixture;

        setup_open(&setup, fixture, executions, plot);
        reconciler_fixture_open(&reconciler_fixture, fixture, plot->which);
        reconciler_fixture.filter.name_space = weir_str("elsewhere");
        check_status(reconciler_fixture_tick(&reconciler_fixture), WEIR_OK);
        check_int(reconciler_fixture.report.processed, hidden);
        reconciler_fixture.filter.name_space = weir_str("default");
        reconciler_fixture.filter.tag_key = weir_str("app.zone");
        reconciler_fixture.filter.tag_value = weir_str("west");
        check_status(reconciler_fixture_tick(&reconciler_fixture), WEIR_OK);
        check_int(reconciler_fixture.report.processed, hidden);

        fixture_prepare(fixture, "INSERT INTO {p}_tag (no, key, value)"
                                 " SELECT no, 'app.zone', 'west' FROM {p}_execution");
        (void)reconciler_fixture_tick(&reconciler_fixture);
        check_end(&setup, &reconciler_fixture);
        reconciler_fixture_close(&reconciler_fixture);
        fixture_prepare(fixture, "DELETE FROM {p}_tag");
        setup_close(&setup);
    }
    weir_executions_destroy(executions);
}

/* ---- for real ---------------------------------------------------------------------- */

enum { FAN = 1100 };

/* One leads to so many: more than a transaction resolves. */
static void fan_out(struct flow *flow, struct weir_execution_id *ids)
{
    static struct weir_execution_draft drafts[FAN + 1];
    static struct weir_flow_edge edges[FAN];
    struct fixture *fixture = flow->fixture;
    struct weir_flow_extension extension = {.members = drafts, .revision = -1};

    weir_flow_mint(flow->executions, &flow->id, ids, FAN + 1);
    for (size_t i = 0; i <= FAN; i++)
        drafts[i] = (struct weir_execution_draft){
            .id = &ids[i], .lane = i == 0 ? "first" : "rest", .kind = "step"};
    for (size_t i = 0; i < FAN; i++)
        edges[i] = (struct weir_flow_edge){.from = ids[0], .to = ids[i + 1]};
    for (size_t i = 0; i <= FAN; i += 1000) { /* so many members at once */
        extension.members = drafts + i;
        extension.member_count = FAN + 1 - i < 1000 ? FAN + 1 - i : 1000;
        extension.edges = i == 0 ? edges : edges + i - 1;
        extension.edge_count =
            i == 0 ? extension.member_count - 1 : extension.member_count;
        check_db(weir_flow_extend(flow->executions, NULL, &flow->id, &extension, NULL,
                                  &fixture->error),
                 WEIR_OK);
    }
}

static int64_t blocked(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_edge WHERE state = 0");
}

/* Nobody told it, as after a crash: it is found by its age. */
FLOW_TEST(dependency, finds_what_a_large_fan_out_has_left_by_itself)
{
    static struct weir_execution_id ids[FAN + 1];
    struct weir_claim claim;
    struct patrol patrol;
    struct flow flow;
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    graph_open(&flow, fixture, supervisor_fixture.executions);
    fan_out(&flow, ids);
    claim = flow_fixture_claim(fixture, supervisor_fixture.executions, "first", "anna");
    flow_fixture_settle(fixture, supervisor_fixture.executions, &claim,
                        WEIR_SETTLE_COMPLETE);
    check_int(blocked(fixture), FAN - 1000);
    patrol_init(&patrol, fixture);
    patrol.options.dependency_stale_ms = 1;
    patrol_start(&patrol);
    wait_until(blocked(fixture) == 0);
    wait_until(patrol_scan(&patrol, EDGES).processed == FAN - 1000);
    check_str(flow_fixture_state(fixture, supervisor_fixture.executions, &ids[FAN]),
              "waiting");
    patrol_close(&patrol);
    supervisor_fixture_close(&supervisor_fixture);
}

FLOW_TEST(dependency, leaves_alone_what_ended_a_moment_ago_and_nobody_told)
{
    const struct plot plot = {EDGES, NOTHING, 0, "a:completed b:waiting_children", 0};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct setup setup;
    struct reconciler_fixture reconciler_fixture;

    setup_open(&setup, fixture, executions, &plot);
    reconciler_fixture_open(&reconciler_fixture, fixture, EDGES);
    reconciler_fixture.task.age_us = 3600LL * 1000000;
    (void)reconciler_fixture_tick(&reconciler_fixture);
    check_end(&setup, &reconciler_fixture);
    atomic_store(&reconciler_fixture.task.told, true);
    (void)reconciler_fixture_tick(&reconciler_fixture);
    setup.plot.end = "a:completed b:waiting";
    setup.plot.processed = 1;
    check_end(&setup, &reconciler_fixture);
    reconciler_fixture_close(&reconciler_fixture);
    setup_close(&setup);
    weir_executions_destroy(executions);
}

/* It was told, and the database was away: it does not wait for the age of what it was
 * told of. */
FLOW_TEST(dependency, that_has_failed_does_what_it_was_told_in_the_next_tick)
{
    const struct plot plot = {EDGES, NOTHING, 0, "a:completed b:waiting", 1};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct setup setup;
    struct reconciler_fixture reconciler_fixture;

    setup_open(&setup, fixture, executions, &plot);
    reconciler_fixture_open(&reconciler_fixture, fixture, EDGES);
    reconciler_fixture.task.age_us = 3600LL * 1000000;
    atomic_store(&reconciler_fixture.task.told, true);
    weir_fault_points_arm(&reconciler_fixture.points, "db.fail", 1);
    check(reconciler_fixture_tick(&reconciler_fixture) != WEIR_OK);
    weir_fault_points_arm(&reconciler_fixture.points, "db.fail", UINT64_MAX);
    (void)reconciler_fixture_tick(&reconciler_fixture);
    check_end(&setup, &reconciler_fixture);
    reconciler_fixture_close(&reconciler_fixture);
    setup_close(&setup);
    weir_executions_destroy(executions);
}

static void open_join_again(void *argument)
{
    struct setup *self = argument;
    struct fixture *fixture = self->fixture;

    check_db(weir_execution_replay(self->executions, graph_member(&self->flow, 'c'),
                                   &fixture->error),
             WEIR_OK);
}

/* `c` is impossible, so `b` runs in vain. */
static void put_in_vain(struct setup *self)
{
    struct weir_flow_join join = {.policy = WEIR_JOIN_ALL, .cancel_remaining = true};

    graph_open(&self->flow, self->fixture, self->executions);
    join.to = *graph_member(&self->flow, 'c');
    graph_join(&self->flow, "abc", "a>c b>c", &join, 1);
    self->claim = graph_claim(&self->flow, 'b');
    graph_end(&self->flow, 'a', WEIR_SETTLE_FAIL);
}

/* `c` begins anew before `b` is locked, and needs it. */
FLOW_TEST(edge_cancel_dispatcher, leaves_members_alone_whose_join_was_opened_again)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct setup setup = {
        .fixture = fixture,
        .executions = executions,
        .plot = {SIBLINGS, NOTHING, 0, "a:failed b:active c:waiting_children", 0}};
    struct reconciler_fixture reconciler_fixture;

    put_in_vain(&setup);
    reconciler_fixture_open(&reconciler_fixture, fixture, SIBLINGS);
    weir_fault_points_arm_call(&reconciler_fixture.points, "reconciler.due", 1,
                               open_join_again, &setup);
    (void)reconciler_fixture_tick(&reconciler_fixture);
    check_end(&setup, &reconciler_fixture);
    reconciler_fixture_close(&reconciler_fixture);
    setup_close(&setup);
    weir_executions_destroy(executions);
}

/* Likewise, when `b` is locked. On SQLite nobody can come between. */
FLOW_POSTGRESQL_TEST(edge_cancel_dispatcher,
                     leaves_members_alone_whose_join_is_opened_again_at_the_last_moment)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct setup setup = {
        .fixture = fixture,
        .executions = executions,
        .plot = {SIBLINGS, NOTHING, 0, "a:failed b:active c:waiting_children", 0}};
    struct reconciler_fixture reconciler_fixture;

    put_in_vain(&setup);
    reconciler_fixture_open(&reconciler_fixture, fixture, SIBLINGS);
    weir_fault_points_arm_call(&reconciler_fixture.points, "reconciler.locked", 1,
                               open_join_again, &setup);
    (void)reconciler_fixture_tick(&reconciler_fixture);
    check_end(&setup, &reconciler_fixture);
    reconciler_fixture_close(&reconciler_fixture);
    setup_close(&setup);
    weir_executions_destroy(executions);
}

FLOW_TEST(edge_cancel_reconciler, leaves_members_that_run_to_the_dispatcher)
{
    const struct plot plot = {SIBLINGS, NOTHING, 0,
                              "a:completed b:active c:waiting, to cancel", 0};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct setup setup;
    struct reconciler_fixture reconciler_fixture;

    setup_open(&setup, fixture, executions, &plot);
    reconciler_fixture_open(&reconciler_fixture, fixture, BACKLOG);
    (void)reconciler_fixture_tick(&reconciler_fixture);
    check_end(&setup, &reconciler_fixture);
    reconciler_fixture_close(&reconciler_fixture);
    setup_close(&setup);
    weir_executions_destroy(executions);
}

/* The database is gone from this call on. */
struct blackout {
    uint64_t at;
    uint64_t calls;
};

static bool is_dark(void *argument, const char *name)
{
    struct blackout *self = argument;

    return strcmp(name, "db.lose") == 0 && ++self->calls >= self->at;
}

/* Let a dispatcher work until a call. Returns whether it has cancelled all, and not
 * come to say so. */
static bool dispatch_until(struct setup *setup, struct blackout *blackout)
{
    struct fixture *fixture = setup->fixture;
    struct reconciler_fixture reconciler_fixture;

    reconciler_fixture_open(&reconciler_fixture, fixture, SIBLINGS);
    weir_fault_points_set_oracle(&reconciler_fixture.points, is_dark, blackout);
    (void)reconciler_fixture_tick(&reconciler_fixture);
    reconciler_fixture_close(&reconciler_fixture);
    return strcmp(flow_fixture_state(fixture, setup->executions, &setup->claim.id),
                  "cancelled") == 0 &&
           joins_left(fixture) == 1;
}

/* The last of its calls are those with which it forgets the join. */
FLOW_TEST(edge_cancel_reconciler, forgets_what_a_dispatcher_that_died_has_left)
{
    const struct plot plot = {SIBLINGS, NOTHING, 0, "a:completed b:cancelled c:waiting",
                              1};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct blackout blackout = {.at = UINT64_MAX};
    struct setup setup;
    struct reconciler_fixture reconciler_fixture;
    uint64_t at;

    setup_open(&setup, fixture, executions, &plot);
    check(!dispatch_until(&setup, &blackout));
    at = blackout.calls;
    do {
        check(at > 1);
        setup_close(&setup);
        setup_open(&setup, fixture, executions, &plot);
        blackout = (struct blackout){.at = at--};
    } while (!dispatch_until(&setup, &blackout));

    reconciler_fixture_open(&reconciler_fixture, fixture, BACKLOG);
    (void)reconciler_fixture_tick(&reconciler_fixture);
    check_end(&setup, &reconciler_fixture);
    reconciler_fixture_close(&reconciler_fixture);
    setup_close(&setup);
    weir_executions_destroy(executions);
}

/* Whoever ends a member has it locked and then wants its joins: who waits for members
 * with a join in the hand would be waited for. */
FLOW_POSTGRESQL_TEST(edge_cancel_dispatcher, holds_no_join_while_it_waits_for_a_member)
{
    const struct plot plot = {SIBLINGS, NOTHING, 0, "a:completed b:cancelled c:waiting",
                              1};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_connection *ender;
    struct setup setup;
    struct reconciler_fixture reconciler_fixture;
    struct ticking ticking = {.reconciler_fixture = &reconciler_fixture};
    pthread_t ticker;

    setup_open(&setup, fixture, executions, &plot);
    reconciler_fixture_open(&reconciler_fixture, fixture, SIBLINGS);
    ender = fixture_take(fixture);
    fixture_execute(fixture, ender, "BEGIN");
    fixture_execute(fixture, ender, "SELECT FROM weir_execution FOR UPDATE");
    check_int(pthread_create(&ticker, NULL, tick_on_thread, &ticking), 0);
    wait_until(atomic_load(&ticking.done) || waits(fixture, &reconciler_fixture.points));

    fixture_execute(fixture, ender, "SELECT FROM weir_edge_group FOR UPDATE NOWAIT");
    fixture_execute(fixture, ender, "COMMIT");

    check_int(pthread_join(ticker, NULL), 0);
    check_end(&setup, &reconciler_fixture);
    fixture_give(fixture, ender);
    reconciler_fixture_close(&reconciler_fixture);
    setup_close(&setup);
    weir_executions_destroy(executions);
}
