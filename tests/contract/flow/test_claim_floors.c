/*
 * Claims on PostgreSQL while an old snapshot keeps everything that was ready in the
 * index: they begin behind it, and what comes before that place is found all the same.
 * The point claim.slow makes each claim one that took long, so that floors are in use
 * from the first one on.
 */
#include <stdlib.h>

#include "contract/flow/peer.h"
#include "execution/store/postgres/floors.h"
#include "execution/store/store_statements.h"
#include "kit/db/explain.h"

enum { HISTORY = 5000 };

struct setup {
    struct peer peer; /* whose claims are slow */
    PGconn *old;      /* has a snapshot; NULL: not needed */
};

static void setup_open(struct setup *self, struct fixture *fixture)
{
    *self = (struct setup){.old = NULL};
    peer_open(&self->peer, fixture);
    weir_fault_points_arm(&self->peer.points, "claim.slow", 1);
}

static void setup_close(struct setup *self)
{
    peer_close(&self->peer);
    PQfinish(self->old);
}

static struct weir_floors *floors_of(struct setup *self)
{
    return &self->peer.executions->floors;
}

/* A claim and its end. */
static void work_off_one(struct setup *self, struct fixture *fixture)
{
    struct weir_executions *executions = self->peer.executions;
    struct weir_claim claim;

    (void)flow_fixture_submit(fixture, executions, "orders");
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
}

static int64_t turn_of(struct fixture *fixture, int64_t no)
{
    char text[96];

    (void)snprintf(text, sizeof text, "SELECT turn FROM weir_execution WHERE no = %lld",
                   (long long)no);
    return fixture_ask(fixture, text);
}

static bool has_passed(struct setup *self, int64_t turn)
{
    struct weir_floors *floors = floors_of(self);
    bool passed;

    weir_lock_acquire(&floors->lock);
    passed = floors->count > 0 && floors->floors[0].fresh > turn;
    weir_lock_release(&floors->lock);
    return passed;
}

/* Until claims begin behind this place among the new ones. */
static void pass(struct setup *self, struct fixture *fixture, int64_t turn)
{
    for (int64_t end_ms = fixture_deadline(); !has_passed(self, turn);
         fixture_wait(__FILE__, __LINE__, "claims pass that place", end_ms))
        work_off_one(self, fixture);
}

static int64_t last_no(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT max(no) FROM weir_execution");
}

/* ---- how much is walked ------------------------------------------------------------ */

static void open_snapshot(struct setup *self, struct fixture *fixture)
{
    self->old = PQconnectdb(fixture->url);
    check(PQstatus(self->old) == CONNECTION_OK);
    explain_execute(self->old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    explain_execute(self->old, "SELECT count(*) FROM pg_class");
}

/* As many as were ready once, in the lane that is there, have ended. */
static void end_many(struct fixture *fixture)
{
    fixture_prepare(fixture,
                    "INSERT INTO {p}_execution (uuid, digest, part, state, hold, pending,"
                    " lane, capset, policy, priority, flow, created_us, turn, due_us,"
                    " deadline_us, namespace, kind) SELECT int8send(n), '', 0, 1, 0, 0,"
                    " e.lane, e.capset, e.policy, 0, 0, n, n, 0, 0, 'default', 'mail'"
                    " FROM {p}_execution e, generate_series(1, 5000) n");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 10, attempts = 1,"
                             " epoch = 2, ended_us = 1 WHERE length(uuid) = 8");
}

/* Entries of the index that this session has read; those of others do not count. */
static int64_t entries_read(PGconn *native)
{
    PGresult *result =
        PQexec(native, "SELECT pg_stat_get_xact_tuples_returned(oid) FROM pg_class"
                       " WHERE relname = 'weir_execution_ready'");
    int64_t entries;

    check_int(PQntuples(result), 1);
    entries = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return entries;
}

static enum weir_status look(const struct weir_ready_query *query, struct setup *self,
                             struct fixture *fixture, int64_t *entries)
{
    struct weir_connection *connection = NULL;
    struct weir_execution_records records;
    struct weir_db *db = self->peer.db;
    enum weir_status status;
    int64_t before;

    weir_execution_records_init(&records, weir_heap_system(), 10);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    before = entries_read(weir_connection_native(connection));
    status = weir_store_pick_ready(&self->peer.executions->store, connection, query,
                                   &records, &fixture->error);
    *entries = entries_read(weir_connection_native(connection)) - before;
    weir_connection_rollback(connection);
    weir_db_release(db, connection);
    weir_execution_records_fini(&records);
    return status;
}

FLOW_POSTGRESQL_TEST(claims, under_an_old_snapshot_do_not_walk_what_has_ended)
{
    const int64_t capability_set = 0;
    struct weir_ready_query query = {.lane_count = 1,
                                     .capability_sets = &capability_set,
                                     .capability_set_count = 1,
                                     .limit = 1};
    struct setup setup;
    int64_t lane, walked, read;

    setup_open(&setup, fixture);
    work_off_one(&setup, fixture);
    lane = fixture_ask(fixture, "SELECT lane FROM weir_execution");
    query.lanes = &lane;
    open_snapshot(&setup, fixture);
    end_many(fixture);
    (void)flow_fixture_submit(fixture, setup.peer.executions, "orders");

    check_db(look(&query, &setup, fixture, &walked), WEIR_OK);
    check(walked >= HISTORY); /* or there is nothing to be seen here */
    pass(&setup, fixture, HISTORY);
    query.floors = floors_of(&setup);
    check_db(look(&query, &setup, fixture, &read), WEIR_OK);
    check(read < HISTORY / 10);
    setup_close(&setup);
}

/* As after a claim that took long, without the point: the entries that are walked
 * decide. */
static bool walk(struct setup *self, struct fixture *fixture)
{
    int64_t lane = fixture_ask(fixture, "SELECT min(lane) FROM weir_execution");
    struct weir_connection *connection = NULL;

    weir_floors_note(floors_of(self), WEIR_FLOORS_SLOW_NS, 0);
    weir_floors_meet(floors_of(self), lane, 0, 0);
    check_db(weir_db_acquire(self->peer.db, &connection, &fixture->error), WEIR_OK);
    check_db(weir_floors_learn(floors_of(self), &self->peer.executions->store, connection,
                               false, &fixture->error),
             WEIR_OK);
    weir_db_release(self->peer.db, connection);
    return weir_floors_are_used(floors_of(self));
}

FLOW_POSTGRESQL_TEST(floors, are_used_when_many_have_ended_under_an_old_snapshot)
{
    struct setup setup = {.old = NULL};

    peer_open(&setup.peer, fixture);
    work_off_one(&setup, fixture);
    open_snapshot(&setup, fixture);
    end_many(fixture);

    check(walk(&setup, fixture));
    setup_close(&setup);
}

FLOW_POSTGRESQL_TEST(floors, are_not_used_when_few_have_ended)
{
    struct setup setup = {.old = NULL};

    peer_open(&setup.peer, fixture);
    work_off_one(&setup, fixture);

    check(!walk(&setup, fixture));
    setup_close(&setup);
}

/* ---- what is behind the place where claims begin ----------------------------------- */

/* It has an old number, and claims have passed its place. */
FLOW_POSTGRESQL_TEST(claims, from_floors_find_at_once_what_is_ready_again)
{
    struct setup setup;
    struct weir_claim first, again;

    setup_open(&setup, fixture);
    (void)flow_fixture_submit_retrying(fixture, setup.peer.executions, 3);
    first = flow_fixture_claim(fixture, setup.peer.executions, "orders", "anna");
    pass(&setup, fixture, turn_of(fixture, first.no));

    flow_fixture_settle(fixture, setup.peer.executions, &first, WEIR_SETTLE_FAIL);
    (void)flow_fixture_submit(fixture, setup.peer.executions, "orders");
    again = flow_fixture_claim(fixture, setup.peer.executions, "orders", "anna");

    check_int(again.no, first.no);
    setup_close(&setup);
}

FLOW_POSTGRESQL_TEST(claims, from_floors_find_at_once_what_has_another_priority)
{
    struct setup setup;
    struct weir_execution_id id;
    struct weir_claim claim;
    int64_t no;

    setup_open(&setup, fixture);
    id = flow_fixture_submit(fixture, setup.peer.executions, "others");
    no = last_no(fixture);
    work_off_one(&setup, fixture);
    pass(&setup, fixture, turn_of(fixture, no));
    fixture_prepare(fixture, "UPDATE {p}_execution SET lane = (SELECT lane FROM"
                             " {p}_execution WHERE state = 10 LIMIT 1) WHERE state = 1");

    check_db(weir_execution_prioritise(setup.peer.executions, &id, 5, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_prioritise(setup.peer.executions, &id, 0, &fixture->error),
             WEIR_OK);
    claim = flow_fixture_claim(fixture, setup.peer.executions, "orders", "anna");

    check_int(claim.no, no);
    setup_close(&setup);
}

FLOW_POSTGRESQL_TEST(claims, from_floors_find_at_once_a_priority_that_is_new)
{
    static const int32_t PRIORITIES[] = {7, 1, 9000, 3};
    struct setup setup;

    setup_open(&setup, fixture);
    pass(&setup, fixture, 0);
    for (size_t i = 0; i < 4; i++) {
        struct weir_execution_draft draft = flow_fixture_draft("orders");

        draft.priority = PRIORITIES[i];
        (void)flow_fixture_submit(fixture, setup.peer.executions, "orders");
        (void)flow_fixture_submit_draft(fixture, setup.peer.executions, &draft);
        check_int(flow_fixture_claim(fixture, setup.peer.executions, "orders", "anna").no,
                  last_no(fixture));
    }
    setup_close(&setup);
}

/* A transaction that was open while claims passed its place: the next walk of
 * everything finds it. */
FLOW_POSTGRESQL_TEST(claims, from_floors_find_what_was_committed_late)
{
    const char *lane = "orders";
    const struct weir_claim_options options = flow_fixture_claimant(&lane, "anna");
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_connection *connection;
    struct weir_submission late;
    struct weir_claim claim;
    struct setup setup;
    int64_t now_us = 0;

    setup_open(&setup, fixture);
    work_off_one(&setup, fixture);
    connection = fixture_take(fixture);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_execution_submit(setup.peer.executions, connection, &draft, 1, &late,
                                   &fixture->error),
             WEIR_OK);
    check_db(weir_connection_clock(connection, &now_us, &fixture->error), WEIR_OK);
    pass(&setup, fixture, now_us);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);

    wait_until(flow_fixture_claim_many(fixture, setup.peer.executions, &options, &claim,
                                       1) == 1);
    check(memcmp(claim.id.uuid, late.id.uuid, WEIR_UUID_SIZE) == 0);
    setup_close(&setup);
}

/* Floors are of no use when nothing is slow. */
FLOW_POSTGRESQL_TEST(floors, are_dropped_when_everything_is_walked_fast)
{
    struct setup setup;

    setup_open(&setup, fixture);
    pass(&setup, fixture, 0);
    weir_fault_points_arm(&setup.peer.points, "claim.slow", UINT64_MAX);

    for (int64_t end_ms = fixture_deadline(); weir_floors_are_active(floors_of(&setup));
         fixture_wait(__FILE__, __LINE__, "floors are dropped", end_ms))
        work_off_one(&setup, fixture);
    setup_close(&setup);
}
