/*
 * `weir migrate --roles` on PostgreSQL beside an application that goes on: none of its
 * transactions is aborted or refused. On a server of its own, whose roles are nobody
 * else's.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "execution/grants.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/roles.h"

/* Tables of `former`, who is no superuser, and a function that the guest may call. */
#define GIVE_TO_FORMER                                                                   \
    "DO $$ DECLARE x text; BEGIN"                                                        \
    " FOR x IN SELECT format('ALTER %s %s OWNER TO former', CASE relkind WHEN 'S'"       \
    "   THEN 'SEQUENCE' ELSE 'TABLE' END, oid::regclass) FROM pg_class c"                \
    "  WHERE relname LIKE 'weir\\_%' AND (relkind IN ('r', 'p') OR relkind = 'S'"        \
    "   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid"                   \
    "    AND classid = 'pg_class'::regclass AND deptype = 'i'))"                         \
    "  UNION ALL SELECT format('ALTER ROUTINE %s OWNER TO former', oid::regprocedure)"   \
    "  FROM pg_proc WHERE proname LIKE 'weir\\_%'"                                       \
    " LOOP EXECUTE x; END LOOP; END $$"

/* ---- the command ------------------------------------------------------------------- */

struct command {
    struct fixture *fixture;
    struct weir_db *db;
    pthread_t thread;
    enum weir_status status;
    struct weir_error error;
    char failed[256]; /* statement */
    atomic_bool ended;
};

static void *run_command(void *argument)
{
    struct command *self = argument;
    struct weir_role_plan plan;
    struct weir_role_change failed;

    weir_role_plan_init(&plan, &self->fixture->heap.heap, weir_executions_grants,
                        weir_executions_right_count);
    self->status = weir_role_plan_apply(&plan, self->db, &failed, &self->error);
    (void)snprintf(self->failed, sizeof self->failed, "%s", failed.text);
    weir_role_plan_fini(&plan);
    atomic_store(&self->ended, true);
    return NULL;
}

static void command_start(struct command *self, struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    memset(self, 0, sizeof *self);
    self->fixture = fixture;
    self->db = fixture_open(fixture, &options);
    check_int(pthread_create(&self->thread, NULL, run_command, self), 0);
}

static void command_check(struct command *self)
{
    check_int(pthread_join(self->thread, NULL), 0);
    if (self->status != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "the command: %s", self->error.text);
    weir_db_destroy(self->db);
}

/* A member of the owner that does not inherit its rights may not lock a table, so it
 * does not even try the statement. */
static void may_not_lock_the_table(struct fixture *fixture)
{
    PGconn *admin = pg_outbox_connect(fixture);
    static struct command command;

    command_start(&command, fixture);
    command_check(&command);
    pg_run(admin, "CREATE ROLE operator NOINHERIT; GRANT weir_owner TO operator;"
                  " GRANT USAGE ON SCHEMA public TO operator;"
                  " GRANT SELECT ON weir_schema, weir_meta TO operator;"
                  " REVOKE INSERT ON weir_subscription FROM weir_runtime;"
                  " ALTER ROLE CURRENT_USER SET role = 'operator'");

    command_start(&command, fixture);
    check_int(pthread_join(command.thread, NULL), 0);
    pg_run(admin, "ALTER ROLE CURRENT_USER RESET role");
    check_status(command.status, WEIR_DENIED);
    check(strstr(command.failed, "GRANT INSERT ON TABLE ") != NULL);
    check(strstr(command.failed, "weir_subscription") != NULL);
    weir_db_destroy(command.db);
    PQfinish(admin);
}

WEIR_TEST(roles, name_the_statement_whose_table_may_not_be_locked_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, may_not_lock_the_table);
}

/* ---- an application ---------------------------------------------------------------- */

static bool waits_for(PGconn *observer, const char *table)
{
    return pg_ask(observer,
                  "SELECT count(*) FROM pg_locks WHERE relation = '%s'::regclass"
                  " AND NOT granted",
                  table) > 0;
}

/* It reads a table that the command comes to late, and then one that it comes to
 * early. */
static void meets_a_transaction_in_the_other_order(struct fixture *fixture)
{
    PGconn *application = pg_outbox_connect(fixture);
    PGconn *observer = pg_outbox_connect(fixture);
    static struct command command; /* its thread may outlive a test that fails */

    pg_run(application, "BEGIN");
    pg_run(application, "SELECT count(*) FROM weir_subscription");
    command_start(&command, fixture);
    wait_until(waits_for(observer, "weir_subscription"));
    pg_run(application, "SELECT count(*) FROM weir_ack");
    pg_run(application, "COMMIT");

    command_check(&command);
    PQfinish(application);
    PQfinish(observer);
}

WEIR_TEST(roles, abort_no_transaction_that_locks_in_another_order_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, meets_a_transaction_in_the_other_order);
}

struct producer {
    struct fixture *fixture;
    pthread_t thread;
    atomic_bool *stop;
    _Atomic int enqueued;
    char failure[256]; /* the first */
};

/* As the guest, who may call the function and nothing else. */
static void *enqueue_on_and_on(void *argument)
{
    struct producer *self = argument;
    PGconn *connection = pg_outbox_connect(self->fixture);

    PQclear(PQexec(connection, "SET SESSION AUTHORIZATION " SERVER_GUEST));
    while (!atomic_load(self->stop) && self->failure[0] == '\0') {
        PGresult *result = PQexec(
            connection, "BEGIN; SELECT weir_enqueue('orders', 'k', 'x', 't', NULL);"
                        " SELECT weir_enqueue('limited', NULL, 'x'::bytea); COMMIT");

        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            (void)snprintf(self->failure, sizeof self->failure, "%.255s",
                           PQerrorMessage(connection));
        else
            atomic_fetch_add(&self->enqueued, 1);
        PQclear(result);
    }
    PQfinish(connection);
    return NULL;
}

/* A queue with a limit, whose sequences are not made yet. The owner of everything is no
 * superuser; the guest may enqueue. */
static void prepare_application(PGconn *admin)
{
    pg_run(admin, "INSERT INTO weir_queue (name, partitions, backlog_max, created_us)"
                  " VALUES ('limited', 1, 1000000, 0)");
    pg_run(admin, "CREATE ROLE former; GRANT USAGE, CREATE ON SCHEMA public TO former");
    pg_run(admin, "%s", GIVE_TO_FORMER);
    pg_run(admin, "GRANT EXECUTE ON FUNCTION weir_enqueue(text, text, text, text, jsonb),"
                  " weir_enqueue(text, text, bytea, text, jsonb) TO " SERVER_GUEST);
}

static void goes_on_beside_the_command(struct fixture *fixture)
{
    enum { PRODUCERS = 4 };
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox;
    PGconn *admin = pg_outbox_connect(fixture);
    static struct producer producers[PRODUCERS];
    static struct command command; /* its thread may outlive a test that fails */
    static atomic_bool stop = false;

    prepare_application(admin);
    check_int(pg_ask(admin, "SELECT count(*) FROM pg_class WHERE relname LIKE 'weir\\_%%'"
                            " AND relkind IN ('r', 'p')"
                            " AND relowner <> 'former'::regrole"),
              0);
    outbox = outbox_fixture_open(fixture, "anna", "orders", 2, recorder);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.fixture = fixture, .stop = &stop};
        check_int(
            pthread_create(&producers[i].thread, NULL, enqueue_on_and_on, &producers[i]),
            0);
    }
    for (int i = 0; i < PRODUCERS; i++)
        wait_until(atomic_load(&producers[i].enqueued) > 0);

    command_start(&command, fixture);
    command_check(&command);
    for (int i = 0; i < PRODUCERS; i++) {
        int before = atomic_load(&producers[i].enqueued);

        wait_until(atomic_load(&producers[i].enqueued) > before + 1 ||
                   producers[i].failure[0] != '\0');
    }

    atomic_store(&stop, true);
    for (int i = 0; i < PRODUCERS; i++) {
        check_int(pthread_join(producers[i].thread, NULL), 0);
        check_str(producers[i].failure, "");
    }
    check_int(pg_ask(admin, "SELECT count(*) FROM pg_class WHERE relname LIKE 'weir\\_%%'"
                            " AND relkind IN ('r', 'p')"
                            " AND relowner <> 'weir_owner'::regrole"),
              0);
    check_int(pg_ask(admin, "SELECT pg_has_role('former', 'weir_owner', 'MEMBER')::int"),
              1);
    PQfinish(admin);
    outbox_fixture_close(outbox);
}

static void check_backlogs_are_given(PGconn *admin)
{
    check_int(pg_ask(admin,
                     "SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relname"
                     " LIKE 'weir\\_backlog\\_%%'"
                     " AND relowner = 'weir_owner'::regrole"),
              3);
}

/* The sequences of a queue are made while the command waits for this table. */
static void makes_a_backlog_before(struct fixture *fixture, const char *table,
                                   const char *first_owner)
{
    PGconn *admin = pg_outbox_connect(fixture);
    PGconn *application = pg_outbox_connect(fixture);
    PGconn *producer = pg_outbox_connect(fixture);
    static struct command command; /* its thread may outlive a test that fails */

    prepare_application(admin);
    pg_run(application, "BEGIN");
    pg_run(application, "SELECT count(*) FROM %s", table);
    command_start(&command, fixture);
    wait_until(waits_for(admin, table));
    pg_run(admin, "SELECT weir_backlog_make(id) FROM weir_queue WHERE name = 'limited'");
    check_int(pg_ask(admin,
                     "SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relname"
                     " LIKE 'weir\\_backlog\\_%%' AND relowner = '%s'::regrole",
                     first_owner),
              3);
    pg_run(application, "COMMIT");
    command_check(&command);

    check_backlogs_are_given(admin);
    pg_run(producer, "SET SESSION AUTHORIZATION " SERVER_GUEST);
    pg_run(producer, "SELECT weir_enqueue('limited', NULL, 'x'::bytea)");
    PQfinish(producer);
    PQfinish(application);
    PQfinish(admin);
}

/* The snapshot of a transaction is older than the change of the table of queues, so the
 * sequences that it makes belong to the former owner; and they are not committed when
 * the command comes to the functions. */
static void makes_a_backlog_in_an_old_snapshot(struct fixture *fixture)
{
    PGconn *admin = pg_outbox_connect(fixture);
    PGconn *application = pg_outbox_connect(fixture);
    PGconn *late = pg_outbox_connect(fixture);
    static struct command command; /* its thread may outlive a test that fails */

    prepare_application(admin);
    pg_run(late, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    pg_run(late, "SELECT count(*) FROM pg_class");
    pg_run(application, "BEGIN");
    pg_run(application, "SELECT count(*) FROM weir_subscription");
    command_start(&command, fixture);
    wait_until(waits_for(admin, "weir_subscription"));
    pg_run(late, "SELECT weir_backlog_make(id) FROM weir_queue WHERE name = 'limited'");
    pg_run(application, "COMMIT");
    wait_until(waits_for(admin, "weir_queue"));
    pg_run(late, "COMMIT");
    command_check(&command);

    check_backlogs_are_given(admin);
    PQfinish(late);
    PQfinish(application);
    PQfinish(admin);
}

static void makes_a_backlog_of_the_former_owner(struct fixture *fixture)
{
    makes_a_backlog_before(fixture, "weir_ack", "former");
}

static void makes_a_backlog_of_the_new_owner(struct fixture *fixture)
{
    makes_a_backlog_before(fixture, "weir_subscription", "weir_owner");
}

WEIR_TEST(roles, own_backlogs_that_are_made_before_the_queues_are_theirs_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, makes_a_backlog_of_the_former_owner);
}

WEIR_TEST(roles, own_backlogs_that_are_made_before_the_functions_are_theirs_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, makes_a_backlog_of_the_new_owner);
}

WEIR_TEST(roles, own_backlogs_that_are_made_in_an_old_snapshot_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, makes_a_backlog_in_an_old_snapshot);
}

WEIR_TEST(roles, are_made_while_producers_and_a_relay_go_on_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, goes_on_beside_the_command);
}
