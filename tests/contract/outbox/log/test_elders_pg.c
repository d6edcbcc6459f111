/*
 * Which snapshots an emptying waits for on PostgreSQL, and for how long. Time is a
 * number here.
 */
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/postgres/copy.h"
#include "outbox/postgres/older_snapshots.h"

enum { START_NS = 1000, LIMIT_NS = 300 };

struct setup {
    struct fixture *fixture;
    struct weir_connection *connection;
    struct weir_pg_older_snapshots older_snapshots;
    struct weir_pg_copy copy;
};

/* As the sweep does: a number, in a transaction of its own. */
static void copy(struct setup *self)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_connection_begin(self->connection, &fixture->error), WEIR_OK);
    check_db(weir_pg_copy_store(self->connection, "log_0", 1, 0, &fixture->error),
             WEIR_OK);
    check_db(weir_connection_commit(self->connection, &fixture->error), WEIR_OK);
    check_db(weir_pg_copy_load(self->connection, "log_0", &self->copy, &fixture->error),
             WEIR_OK);
}

static void setup_open(struct setup *self, struct fixture *fixture)
{
    *self = (struct setup){.fixture = fixture, .connection = fixture_take(fixture)};
}

static PGconn *hold_snapshot(struct setup *self)
{
    PGconn *session = pg_outbox_connect(self->fixture);

    pg_run(session, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    return session;
}

/* Look, and say since when something holds up the copy. */
static int64_t look(struct setup *self, struct weir_pg_wait *wait, int64_t now_ns)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_pg_older_snapshots_look(&self->older_snapshots, self->connection,
                                          now_ns, &fixture->error),
             WEIR_OK);
    weir_pg_older_snapshots_expect(&self->older_snapshots, wait, self->copy.no, now_ns);
    return weir_pg_older_snapshots_since(&self->older_snapshots, wait, self->copy.xid,
                                         now_ns, LIMIT_NS);
}

OUTBOX_POSTGRESQL_TEST(elders, are_gone_with_their_snapshots)
{
    struct weir_pg_wait wait = {0};
    struct setup setup;
    PGconn *session;

    setup_open(&setup, fixture);
    session = hold_snapshot(&setup);
    copy(&setup);

    check_int(look(&setup, &wait, START_NS), START_NS);
    check_int(look(&setup, &wait, START_NS + 1), START_NS);
    PQfinish(session);
    wait_until(look(&setup, &wait, START_NS + 2) == 0);
    fixture_give(fixture, setup.connection);
}

/* Also for the next copy: it held up one for as long as it may. */
OUTBOX_POSTGRESQL_TEST(elders, are_waited_for_once)
{
    struct weir_pg_wait wait = {0};
    struct weir_pg_wait next = {0};
    struct setup setup;
    PGconn *session;

    setup_open(&setup, fixture);
    session = hold_snapshot(&setup);
    copy(&setup);

    check_int(look(&setup, &wait, START_NS), START_NS);
    check_int(look(&setup, &wait, START_NS + LIMIT_NS - 1), START_NS);
    check_int(look(&setup, &wait, START_NS + LIMIT_NS), 0);
    copy(&setup);
    check_int(look(&setup, &next, START_NS + LIMIT_NS + 1), 0);
    PQfinish(session);
    fixture_give(fixture, setup.connection);
}

/* A transaction that runs for long lends its number to every snapshot. */
OUTBOX_POSTGRESQL_TEST(elders, are_those_of_the_first_look_after_the_copy)
{
    struct weir_pg_wait wait = {0};
    struct setup setup;
    PGconn *writer;
    PGconn *session;

    setup_open(&setup, fixture);
    writer = pg_outbox_connect(fixture);
    pg_run(writer, "BEGIN; SELECT pg_current_xact_id()");
    copy(&setup);

    check_int(look(&setup, &wait, START_NS), 0);
    session = hold_snapshot(&setup);
    check_int(look(&setup, &wait, START_NS + 1), 0);
    check_int(setup.older_snapshots.count, 1);
    PQfinish(session);
    PQfinish(writer);
    fixture_give(fixture, setup.connection);
}

OUTBOX_POSTGRESQL_TEST(elders, are_none_of_another_database)
{
    struct weir_pg_wait wait = {0};
    char url[SERVER_URL_SIZE];
    struct setup setup;
    PGconn *session;

    setup_open(&setup, fixture);
    server_direct_url(fixture->server, "postgres", url, sizeof url);
    session = PQconnectdb(url);
    check(PQstatus(session) == CONNECTION_OK);
    pg_run(session, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    copy(&setup);

    check_int(look(&setup, &wait, START_NS), 0);
    PQfinish(session);
    fixture_give(fixture, setup.connection);
}
