/*
 * Reconcilers against somebody else, step by step: he is first and quick, first and
 * slow, or second.
 *
 *   look -------------------- lock -- rule -- commit
 *        ^ he comes and goes        ^ he comes, and has to wait
 *   ^ he has it locked since it was not due, and commits
 */
#include <pthread.h>

#include "contract/flow/reconcile/reconciler_fixture.h"

enum { LONG_US = 60000000 };

enum act { COMPLETES, FAILS, RENEWS, CANCELS, REPLAYS };

/* What happens to one that is due, and what comes of it. */
struct encounter {
    enum weir_reconciler which;
    enum act act;
    bool flow_fixture; /* the act */
    int state;         /* of enum weir_public_state, in the end; GONE */
    int processed;
    int attempts; /* that have ended */
};

enum { GONE = -1 };

/* ---- what is due ------------------------------------------------------------------- */

/* So soon that nobody waits for long, and so late that whoever is to be in time is so. */
static int due_ms(const struct encounter *plot)
{
    return plot->which == WEIR_RECONCILER_EXECUTION_DEADLINE ? 200 : 2;
}

/* One of the kind; it is due after `ms`. Housekeeping's has ended, and is due when
 * nothing is kept. */
static struct weir_claim put(struct supervisor_fixture *supervisor_fixture,
                             const struct encounter *plot, int ms)
{
    struct weir_execution_policy policy = supervisor_fixture_policy();
    struct weir_execution_draft draft = supervisor_fixture_draft(&policy);
    struct weir_claim claim = {.epoch = 0};

    policy.retries_max = plot->act == FAILS ? 1 : 0;
    policy.backoff_initial_ms = 3600 * 1000;
    policy.attempt_timeout_ms = plot->which == WEIR_RECONCILER_ATTEMPT_TIMEOUT ? ms : 0;
    draft.deadline_ms = plot->which == WEIR_RECONCILER_EXECUTION_DEADLINE ? ms : 0;
    if (plot->which == WEIR_RECONCILER_DELAYED_PROMOTER) {
        draft.delay_ms = ms;
        claim.id = supervisor_fixture_submit(supervisor_fixture, &draft);
        claim.no = fixture_ask(supervisor_fixture->fixture,
                               "SELECT max(no) FROM weir_execution");
        return claim;
    }
    claim = supervisor_fixture_employ(
        supervisor_fixture, &draft,
        plot->which == WEIR_RECONCILER_LEASE_EXPIRY ? ms * 1000 : LONG_US);
    if (plot->which == WEIR_RECONCILER_HOUSEKEEPING)
        check_status(
            supervisor_fixture_settle(supervisor_fixture, &claim, WEIR_SETTLE_COMPLETE),
            WEIR_OK);
    return claim;
}

static int64_t now_us(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t time_us = 0;

    check_db(weir_connection_clock(connection, &time_us, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return time_us;
}

static void wait_for(struct fixture *fixture, int64_t time_us)
{
    wait_until(now_us(fixture) > time_us);
}

/* It is there, and due. */
static struct weir_claim put_due(struct supervisor_fixture *supervisor_fixture,
                                 const struct encounter *plot)
{
    struct weir_claim claim = put(supervisor_fixture, plot, due_ms(plot));

    wait_for(supervisor_fixture->fixture,
             now_us(supervisor_fixture->fixture) + due_ms(plot) * 1000);
    return claim;
}

static void open_round(struct reconciler_fixture *self, struct fixture *fixture,
                       enum weir_reconciler which)
{
    reconciler_fixture_open(self, fixture, which);
    self->task.partitions = 16; /* the yard's */
    if (which == WEIR_RECONCILER_HOUSEKEEPING)
        self->task.age_us = 1000;
}

static void check_end(struct supervisor_fixture *supervisor_fixture,
                      const struct reconciler_fixture *reconciler_fixture,
                      const struct encounter *plot, const struct weir_claim *claim)
{
    struct fixture *fixture = supervisor_fixture->fixture;

    fixture->error = reconciler_fixture->error;
    check_db(reconciler_fixture->status, WEIR_OK);
    check_int(reconciler_fixture->report.processed, plot->processed);
    check_int(reconciler_fixture->report.errors, 0);
    if (plot->state == GONE) {
        check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 0);
        return;
    }
    check_int(supervisor_fixture_state(supervisor_fixture, &claim->id), plot->state);
    check_int(supervisor_fixture_attempts(supervisor_fixture, &claim->id).ended,
              plot->attempts);
}

/* Of the last one: the next begins with none. */
static void forget(struct fixture *fixture)
{
    fixture_prepare(fixture, "DELETE FROM {p}_attempt");
    fixture_prepare(fixture, "DELETE FROM {p}_execution");
}

#define COUNT_OF(plots) (sizeof(plots) / sizeof(plots)[0])

/* ---- quick acts -------------------------------------------------------------------- */

/* Somebody who does one thing, from another process. */
struct visitor {
    struct supervisor_fixture supervisor_fixture;
    struct weir_db *db;
    struct weir_fault_points points;
    const struct encounter *plot;
    struct weir_claim claim;
    enum weir_status status;
    pthread_t thread;
    _Atomic int came;
};

enum { BUSY };

static void visitor_open(struct visitor *self, struct fixture *fixture,
                         const struct encounter *plot)
{
    struct weir_db_options options = fixture_options(fixture);

    *self = (struct visitor){.plot = plot, .db = fixture_open(fixture, &options)};
    weir_fault_points_init(&self->points);
    weir_fault_points_arm(&self->points, "db.busy", UINT64_MAX);
    weir_db_set_fault_points(self->db, &self->points);
    self->supervisor_fixture = (struct supervisor_fixture){
        .fixture = fixture,
        .executions = supervisor_fixture_make_flow(fixture, self->db, NULL)};
}

static void visitor_close(struct visitor *self)
{
    weir_executions_destroy(self->supervisor_fixture.executions);
    weir_db_destroy(self->db);
}

static enum weir_status act(struct visitor *self)
{
    struct weir_renewal renewal = {.claim = self->claim};
    struct weir_error error;

    weir_error_clear(&error);
    switch (self->plot->act) {
    case COMPLETES:
        return supervisor_fixture_settle(&self->supervisor_fixture, &self->claim,
                                         WEIR_SETTLE_COMPLETE);
    case FAILS:
        return supervisor_fixture_settle(&self->supervisor_fixture, &self->claim,
                                         WEIR_SETTLE_FAIL);
    case RENEWS:
        check_status(weir_execution_renew(self->supervisor_fixture.executions, 60000,
                                          &renewal, 1, &error),
                     WEIR_OK);
        return renewal.status;
    case CANCELS:
        return weir_execution_cancel(self->supervisor_fixture.executions, &self->claim.id,
                                     "enough", &error);
    case REPLAYS:
        return weir_execution_replay(self->supervisor_fixture.executions, &self->claim.id,
                                     &error);
    }
    return WEIR_OK;
}

static void come_and_go(void *argument)
{
    struct visitor *self = argument;

    self->status = act(self);
    atomic_fetch_add(&self->came, 1);
}

static const struct encounter BETWEEN_LOOK_AND_LOCK[] = {
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, COMPLETES, true, WEIR_STATE_COMPLETED, 0, 1},
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, FAILS, true, WEIR_STATE_DELAYED, 0, 1},
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, RENEWS, true, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, CANCELS, true, WEIR_STATE_CANCELLED, 0, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, COMPLETES, false, WEIR_STATE_WAITING, 1, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, RENEWS, false, WEIR_STATE_WAITING, 1, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, CANCELS, true, WEIR_STATE_CANCELLED, 0, 1},
    {WEIR_RECONCILER_DELAYED_PROMOTER, CANCELS, true, WEIR_STATE_CANCELLED, 0, 0},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, COMPLETES, true, WEIR_STATE_COMPLETED, 0, 1},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, FAILS, true, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, RENEWS, true, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, CANCELS, true, WEIR_STATE_CANCELLED, 0, 1},
    {WEIR_RECONCILER_HOUSEKEEPING, REPLAYS, true, WEIR_STATE_WAITING, 0, 1},
};

FLOW_TEST(reconcilers, go_by_what_was_done_since_they_looked)
{
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    for (size_t i = 0; i < COUNT_OF(BETWEEN_LOOK_AND_LOCK); i++) {
        const struct encounter *plot = &BETWEEN_LOOK_AND_LOCK[i];
        struct visitor visitor;
        struct reconciler_fixture reconciler_fixture;

        visitor_open(&visitor, fixture, plot);
        visitor.claim = put_due(&supervisor_fixture, plot);
        open_round(&reconciler_fixture, fixture, plot->which);
        weir_fault_points_arm_call(&reconciler_fixture.points, "reconciler.due", 1,
                                   come_and_go, &visitor);
        (void)reconciler_fixture_tick(&reconciler_fixture);
        check_int(atomic_load(&visitor.came), 1);
        check_int(visitor.status == WEIR_OK, plot->flow_fixture);
        check_end(&supervisor_fixture, &reconciler_fixture, plot, &visitor.claim);
        reconciler_fixture_close(&reconciler_fixture);
        visitor_close(&visitor);
        forget(fixture);
    }
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- row by row -------------------------------------------------------------------- */

/* It cannot be changed, so a batch with it fails. */
static void poison(struct fixture *fixture, const struct weir_claim *claim)
{
    char sql[256];

    if (fixture->engine == WEIR_POSTGRESQL)
        fixture_prepare(fixture, "CREATE FUNCTION refuse() RETURNS trigger AS"
                                 " 'BEGIN RAISE EXCEPTION ''poison''; END'"
                                 " LANGUAGE plpgsql");
    (void)snprintf(sql, sizeof sql,
                   fixture->engine == WEIR_POSTGRESQL
                       ? "CREATE TRIGGER poison BEFORE UPDATE OR DELETE ON weir_execution"
                         " FOR EACH ROW WHEN (OLD.no = %lld) EXECUTE FUNCTION refuse()"
                       : "CREATE TRIGGER poison BEFORE UPDATE ON weir_execution"
                         " WHEN OLD.no = %lld BEGIN SELECT RAISE(ABORT, 'poison'); END",
                   (long long)claim->no);
    fixture_prepare(fixture, sql);
    if (fixture->engine == WEIR_SQLITE) {
        (void)snprintf(sql, sizeof sql,
                       "CREATE TRIGGER poison_too BEFORE DELETE ON weir_execution"
                       " WHEN OLD.no = %lld BEGIN SELECT RAISE(ABORT, 'poison'); END",
                       (long long)claim->no);
        fixture_prepare(fixture, sql);
    }
}

static void cure(struct fixture *fixture)
{
    if (fixture->engine == WEIR_POSTGRESQL) {
        fixture_prepare(fixture, "DROP FUNCTION refuse CASCADE");
    } else {
        fixture_prepare(fixture, "DROP TRIGGER poison");
        fixture_prepare(fixture, "DROP TRIGGER poison_too");
    }
}

/* The batch has failed and both are listed. The first of them cannot be put right.
 * Somebody comes when the second one is about to be locked. */
FLOW_TEST(reconcilers, row_by_row_go_by_what_was_done_since_they_listed)
{
    enum { SECOND = 2 };
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    for (size_t i = 0; i < COUNT_OF(BETWEEN_LOOK_AND_LOCK); i++) {
        const struct encounter *plot = &BETWEEN_LOOK_AND_LOCK[i];
        struct visitor visitor;
        struct weir_claim bad;
        struct reconciler_fixture reconciler_fixture;

        visitor_open(&visitor, fixture, plot);
        bad = put(&supervisor_fixture, plot, due_ms(plot));
        poison(fixture, &bad);
        visitor.claim = put_due(&supervisor_fixture, plot);
        open_round(&reconciler_fixture, fixture, plot->which);
        weir_fault_points_arm_call(&reconciler_fixture.points, "reconciler.row", SECOND,
                                   come_and_go, &visitor);
        (void)reconciler_fixture_tick(&reconciler_fixture);
        check_int(atomic_load(&visitor.came), 1);
        check_int(visitor.status == WEIR_OK, plot->flow_fixture);
        check_status(reconciler_fixture.status, WEIR_OK);
        check_int(reconciler_fixture.report.processed, plot->processed);
        check_int(reconciler_fixture.report.errors, 1);
        check_int(supervisor_fixture_state(&supervisor_fixture, &visitor.claim.id),
                  plot->state);
        check_int(
            supervisor_fixture_attempts(&supervisor_fixture, &visitor.claim.id).ended,
            plot->attempts);
        reconciler_fixture_close(&reconciler_fixture);
        visitor_close(&visitor);
        cure(fixture);
        forget(fixture);
    }
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- acts that come too late ------------------------------------------------------- */

static void *act_on_thread(void *argument)
{
    come_and_go(argument);
    return NULL;
}

static int64_t waiting_for_locks(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM pg_locks l WHERE NOT l.granted");
}

static bool has_to_wait(struct visitor *self)
{
    struct fixture *fixture = self->supervisor_fixture.fixture;

    if (fixture->engine == WEIR_SQLITE)
        return atomic_load(&self->points.armed[BUSY].passed) > 0;
    return waiting_for_locks(fixture) > 0;
}

/* The reconciler has its rows locked. He comes, and it goes on when he waits for them. */
static void come_and_wait(void *argument)
{
    struct visitor *self = argument;

    check_int(pthread_create(&self->thread, NULL, act_on_thread, self), 0);
    wait_until(has_to_wait(self));
    check_int(atomic_load(&self->came), 0);
}

static const struct encounter WHILE_LOCKED[] = {
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, COMPLETES, false, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, RENEWS, false, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, CANCELS, false, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, COMPLETES, false, WEIR_STATE_WAITING, 1, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, RENEWS, false, WEIR_STATE_WAITING, 1, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, CANCELS, true, WEIR_STATE_CANCELLED, 1, 1},
    {WEIR_RECONCILER_DELAYED_PROMOTER, CANCELS, true, WEIR_STATE_CANCELLED, 1, 0},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, COMPLETES, false, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, RENEWS, false, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, CANCELS, false, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_HOUSEKEEPING, REPLAYS, false, GONE, 1, 0},
};

FLOW_TEST(reconcilers, that_are_first_are_seen_by_whoever_has_to_wait)
{
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    for (size_t i = 0; i < COUNT_OF(WHILE_LOCKED); i++) {
        const struct encounter *plot = &WHILE_LOCKED[i];
        struct visitor visitor;
        struct reconciler_fixture reconciler_fixture;

        visitor_open(&visitor, fixture, plot);
        visitor.claim = put_due(&supervisor_fixture, plot);
        open_round(&reconciler_fixture, fixture, plot->which);
        weir_fault_points_arm_call(&reconciler_fixture.points, "reconciler.locked", 1,
                                   come_and_wait, &visitor);
        (void)reconciler_fixture_tick(&reconciler_fixture);
        check_int(pthread_join(visitor.thread, NULL), 0);
        check_int(visitor.status == WEIR_OK, plot->flow_fixture);
        check_end(&supervisor_fixture, &reconciler_fixture, plot, &visitor.claim);
        reconciler_fixture_close(&reconciler_fixture);
        visitor_close(&visitor);
        forget(fixture);
    }
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- slow acts --------------------------------------------------------------------- */

/* An act in a transaction that begins while there is time, and ends afterwards. */
struct slow_act {
    struct supervisor_fixture *supervisor_fixture;
    struct weir_connection *connection;
    struct weir_execution_records records;
};

static enum weir_ruling rule(enum act act, struct weir_execution_row *row, int64_t epoch,
                             int64_t time_us, struct weir_consequence *out)
{
    const struct weir_failing failing = {.reason = weir_str("it broke")};

    switch (act) {
    case COMPLETES:
        return weir_rule_complete(row, epoch, time_us, out);
    case FAILS:
        return weir_rule_fail(row, epoch, &failing, time_us, out);
    case RENEWS:
        return weir_rule_renew(row, epoch, LONG_US, time_us);
    case CANCELS:
        return weir_rule_cancel(row, weir_str("enough"), time_us, out);
    case REPLAYS:
        return weir_rule_replay(row, time_us, out);
    }
    return WEIR_RULING_NOTHING;
}

static void begin_slowly(struct slow_act *self,
                         struct supervisor_fixture *supervisor_fixture, enum act act,
                         const struct weir_claim *claim)
{
    struct fixture *fixture = supervisor_fixture->fixture;
    struct weir_executions *executions = supervisor_fixture->executions;
    struct weir_pending_wakeups pending_wakeups = {.ready = false};
    struct weir_change change = {.consequence.failure = weir_str("")};
    int64_t time_us;

    *self = (struct slow_act){.supervisor_fixture = supervisor_fixture,
                              .connection = fixture_take(fixture)};
    weir_execution_records_init(&self->records, executions->heap, 1);
    check_db(weir_connection_begin(self->connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_clock(self->connection, &time_us, &fixture->error), WEIR_OK);
    check_db(weir_store_load(&executions->store, self->connection, &claim->no, 1,
                             &self->records, &fixture->error),
             WEIR_OK);
    change.stored = &self->records.rows[0];
    check_int(rule(act, &change.stored->row, claim->epoch, time_us, &change.consequence),
              WEIR_RULING_DONE);
    check_db(weir_change_set_store(executions, self->connection, &change, 1, time_us,
                                   &pending_wakeups, &fixture->error),
             WEIR_OK);
}

static void end_slowly(struct slow_act *self)
{
    struct fixture *fixture = self->supervisor_fixture->fixture;

    check_db(weir_connection_commit(self->connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, self->connection);
    weir_execution_records_fini(&self->records);
}

static const struct encounter BEGUN_IN_TIME[] = {
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, COMPLETES, true, WEIR_STATE_COMPLETED, 0, 1},
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, FAILS, true, WEIR_STATE_DELAYED, 0, 1},
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, RENEWS, true, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, COMPLETES, true, WEIR_STATE_COMPLETED, 0, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, FAILS, true, WEIR_STATE_DELAYED, 0, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, RENEWS, true, WEIR_STATE_ACTIVE, 0, 0},
    {WEIR_RECONCILER_LEASE_EXPIRY, CANCELS, true, WEIR_STATE_CANCELLED, 0, 1},
    {WEIR_RECONCILER_DELAYED_PROMOTER, CANCELS, true, WEIR_STATE_CANCELLED, 0, 0},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, COMPLETES, true, WEIR_STATE_COMPLETED, 0, 1},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, RENEWS, true, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_HOUSEKEEPING, REPLAYS, true, WEIR_STATE_WAITING, 0, 1},
};

/* It waits, or has come to its end. */
static bool is_at_a_loss(const struct reconciler_fixture *reconciler_fixture,
                         const _Atomic bool *done)
{
    return atomic_load(done) ||
           (reconciler_fixture->fixture->engine == WEIR_SQLITE &&
            atomic_load(&reconciler_fixture->points.armed[ROUND_BUSY].passed) > 0);
}

/* A tick on a thread of its own, since it may have to wait. */
struct ticking {
    struct reconciler_fixture *reconciler_fixture;
    _Atomic bool done;
};

static void *tick_and_say(void *argument)
{
    struct ticking *self = argument;

    (void)reconciler_fixture_tick(self->reconciler_fixture);
    atomic_store(&self->done, true);
    return NULL;
}

enum { IN_TIME_MS = 500 };

/* A lease has to be good when the worker begins; of the others it does not matter. On
 * SQLite the reconciler waits for the transaction, on PostgreSQL it passes the row
 * over. */
FLOW_TEST(reconcilers, leave_alone_what_somebody_has_begun_in_time)
{
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    for (size_t i = 0; i < COUNT_OF(BEGUN_IN_TIME); i++) {
        const struct encounter *plot = &BEGUN_IN_TIME[i];
        int ms = plot->which == WEIR_RECONCILER_LEASE_EXPIRY ? IN_TIME_MS : due_ms(plot);
        struct weir_claim claim = put(&supervisor_fixture, plot, ms);
        int64_t put_us = now_us(fixture);
        struct slow_act slow;
        struct reconciler_fixture reconciler_fixture;
        struct ticking ticking = {.reconciler_fixture = &reconciler_fixture};
        pthread_t thread;

        begin_slowly(&slow, &supervisor_fixture, plot->act, &claim);
        wait_for(fixture, put_us + ms * 1000);
        open_round(&reconciler_fixture, fixture, plot->which);
        check_int(pthread_create(&thread, NULL, tick_and_say, &ticking), 0);
        wait_until(is_at_a_loss(&reconciler_fixture, &ticking.done));
        if (atomic_load(&ticking.done))
            check_int(reconciler_fixture.report.processed, 0);
        end_slowly(&slow);
        check_int(pthread_join(thread, NULL), 0);
        (void)reconciler_fixture_tick(&reconciler_fixture);
        check_end(&supervisor_fixture, &reconciler_fixture, plot, &claim);
        reconciler_fixture_close(&reconciler_fixture);
        forget(fixture);
    }
    supervisor_fixture_close(&supervisor_fixture);
}

/* ---- two supervisors --------------------------------------------------------------- */

static const struct encounter ALONE[] = {
    {WEIR_RECONCILER_ATTEMPT_TIMEOUT, COMPLETES, true, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_LEASE_EXPIRY, COMPLETES, true, WEIR_STATE_WAITING, 1, 1},
    {WEIR_RECONCILER_DELAYED_PROMOTER, COMPLETES, true, WEIR_STATE_WAITING, 1, 0},
    {WEIR_RECONCILER_EXECUTION_DEADLINE, COMPLETES, true, WEIR_STATE_EXPIRED, 1, 1},
    {WEIR_RECONCILER_HOUSEKEEPING, COMPLETES, true, GONE, 1, 0},
};

/* The other one, while the first is at some point. */
struct rival {
    struct reconciler_fixture reconciler_fixture;
    pthread_t thread;
    _Atomic bool done;
};

static void handle_it_all(void *argument)
{
    struct rival *self = argument;

    (void)reconciler_fixture_tick(&self->reconciler_fixture);
    atomic_store(&self->done, true);
}

static void *handle_on_thread(void *argument)
{
    handle_it_all(argument);
    return NULL;
}

/* On PostgreSQL the other one passes it over, and comes to the end of its tick. On
 * SQLite it waits. */
static void try_it(void *argument)
{
    struct rival *self = argument;

    check_int(pthread_create(&self->thread, NULL, handle_on_thread, self), 0);
    wait_until(is_at_a_loss(&self->reconciler_fixture, &self->done));
    check_int(atomic_load(&self->done),
              self->reconciler_fixture.fixture->engine == WEIR_POSTGRESQL);
    check_int(self->reconciler_fixture.report.processed, 0);
}

/* Of two who meet, one has handled it and the other one has not. */
struct meeting {
    const char *point; /* at which the first one stops, for the other to act */
    void (*act)(void *rival);
    bool first_wins;
};

static void meet(struct fixture *fixture, struct supervisor_fixture *supervisor_fixture,
                 const struct encounter *plot, const struct meeting *meeting)
{
    struct weir_claim claim = put_due(supervisor_fixture, plot);
    struct rival rival = {.done = false};
    struct encounter nothing = *plot;
    struct reconciler_fixture first;

    nothing.processed = 0;
    open_round(&rival.reconciler_fixture, fixture, plot->which);
    open_round(&first, fixture, plot->which);
    weir_fault_points_arm_call(&first.points, meeting->point, 1, meeting->act, &rival);
    (void)reconciler_fixture_tick(&first);
    if (meeting->act == try_it)
        check_int(pthread_join(rival.thread, NULL), 0);
    check(atomic_load(&rival.done));
    check_end(supervisor_fixture, &first, meeting->first_wins ? plot : &nothing, &claim);
    check_end(supervisor_fixture, &rival.reconciler_fixture,
              meeting->first_wins ? &nothing : plot, &claim);
    reconciler_fixture_close(&rival.reconciler_fixture);
    reconciler_fixture_close(&first);
    forget(fixture);
}

static void meet_over_all(struct fixture *fixture, const struct meeting *meeting)
{
    struct supervisor_fixture supervisor_fixture;

    supervisor_fixture_open(&supervisor_fixture, fixture);
    for (size_t i = 0; i < COUNT_OF(ALONE); i++)
        meet(fixture, &supervisor_fixture, &ALONE[i], meeting);
    supervisor_fixture_close(&supervisor_fixture);
}

/* The first has seen it and is about to lock it, when the other one has done it. */
FLOW_TEST(two_supervisors, that_have_seen_the_same_handle_it_once)
{
    meet_over_all(fixture, &(struct meeting){"reconciler.due", handle_it_all, false});
}

FLOW_TEST(two_supervisors, pass_over_what_the_other_one_has)
{
    meet_over_all(fixture, &(struct meeting){"reconciler.locked", try_it, true});
}
