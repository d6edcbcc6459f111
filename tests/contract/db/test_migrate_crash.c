/*
 * Tests of db/migrate.c on each engine: many processes at once, and processes that die.
 *
 * A child is killed for real, by SIGKILL, at a statement of the migration or at a call
 * into the driver. Each time another prefix is used, so one database serves all of
 * them.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "contract/db/child.h"
#include "contract/db/migration_fixture.h"
#include "db/db.h"

enum { PEERS = 20, STATEMENTS_MIN = 10, CALLS_MIN = 15, CALLS_MAX = 300 };

/* What one child does. */
struct plan {
    struct fixture *fixture;
    const char *prefix;
    const struct child_gate *gate; /* NULL: begin at once */
    const char *point;             /* where it is killed; NULL: nowhere */
    uint64_t at;                   /* at which pass */
};

enum { FAILED_CODE = 100 }; /* plus the status */

static void kill_myself(void *unused)
{
    (void)unused;
    (void)raise(SIGKILL);
}

/* How many migrations it applied, or FAILED_CODE and a status. */
static int migrate_here(void *argument)
{
    struct plan *plan = argument;
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_db_options options = fixture_options(plan->fixture);
    struct weir_fault_points points;
    struct weir_error error;
    struct weir_db *db;
    uint32_t from;
    uint32_t to;
    enum weir_status status;

    options.prefix = plan->prefix;
    status = weir_db_create(&options, &db, &error);
    if (status != WEIR_OK)
        return FAILED_CODE + (int)status;
    weir_fault_points_init(&points);
    if (plan->point != NULL)
        weir_fault_points_arm_call(&points, plan->point, plan->at, kill_myself, NULL);
    weir_db_set_fault_points(db, &points);
    if (plan->gate != NULL)
        child_gate_wait(plan->gate);
    status = weir_schema_migrate(&schema, db, &from, &to, &error);
    if (status != WEIR_OK)
        printf("# in a child: %s\n", error.text);
    (void)fflush(stdout);
    weir_db_destroy(db);
    return status == WEIR_OK ? (int)(to - from) : FAILED_CODE + (int)status;
}

/* ---- many at once ------------------------------------------------------------------ */

/* Let a crowd go at once; returns how many migrations they applied together. */
static int migrate_in_a_peers(struct fixture *fixture, const char *const *prefixes,
                              size_t prefix_count)
{
    struct plan plans[PEERS];
    pid_t pids[PEERS];
    struct child_gate gate;
    int applied = 0;

    child_gate_open(&gate);
    for (size_t i = 0; i < PEERS; i++) {
        plans[i] = (struct plan){
            .fixture = fixture, .prefix = prefixes[i % prefix_count], .gate = &gate};
        pids[i] = child_start(migrate_here, &plans[i]);
    }
    child_gate_release(&gate);
    for (size_t i = 0; i < PEERS; i++) {
        int code = child_wait(pids[i]);

        check_in_range(code, 0, MIGRATION_FIXTURE_NEWEST);
        applied += code;
    }
    return applied;
}

ENGINE_TEST(migrate, is_done_once_by_twenty_processes_at_once)
{
    static const char *const PREFIX[] = {"weir"};

    check_int(migrate_in_a_peers(fixture, PREFIX, 1), MIGRATION_FIXTURE_NEWEST);

    migration_fixture_is_whole(fixture, "weir");
    check_int(migrate_in_a_peers(fixture, PREFIX, 1), 0);
}

ENGINE_TEST(migrate, is_done_once_for_each_of_several_prefixes_at_once)
{
    static const char *const PREFIXES[] = {"red", "green", "blue"};

    check_int(migrate_in_a_peers(fixture, PREFIXES, 3), 3 * MIGRATION_FIXTURE_NEWEST);

    for (size_t i = 0; i < 3; i++)
        migration_fixture_is_whole(fixture, PREFIXES[i]);
}

/* ---- killed ------------------------------------------------------------------------ */

/* Kill a child at every pass of the point, and heal. Returns how many were killed. */
static uint64_t kill_at_every_pass(struct fixture *fixture, const char *point)
{
    for (uint64_t at = 1; at <= CALLS_MAX; at++) {
        char prefix[16];
        struct plan plan = {
            .fixture = fixture, .prefix = prefix, .point = point, .at = at};
        uint32_t from;
        int code;

        snprintf(prefix, sizeof prefix, "k%d", (int)at);
        code = child_wait(child_start(migrate_here, &plan));
        from = migration_fixture_migrate(fixture, prefix, MIGRATION_FIXTURE_NEWEST);
        migration_fixture_is_whole(fixture, prefix);
        if (code >= 0) { /* there was no such pass */
            check_int(code, MIGRATION_FIXTURE_NEWEST);
            check_int(from, MIGRATION_FIXTURE_NEWEST);
            return at - 1;
        }
        check_int(code, -SIGKILL);
        /* In one transaction: all, or nothing. */
        if (fixture->engine != WEIR_MARIADB)
            check(from == 0 || from == MIGRATION_FIXTURE_NEWEST);
    }
    weir_test_fail(__FILE__, __LINE__, "there is no end to the passes of %s", point);
}

ENGINE_TEST(migrate, killed_at_any_statement_is_healed_by_running_again)
{
    uint64_t killed = kill_at_every_pass(fixture, "migrate.statement");

    check_in_range(killed, STATEMENTS_MIN, CALLS_MAX);
}

ENGINE_TEST(migrate, killed_at_any_call_into_the_driver_is_healed_by_running_again)
{
    uint64_t killed = kill_at_every_pass(fixture, "db.lose");

    check_in_range(killed, CALLS_MIN, CALLS_MAX);
}

/* ---- disturbed --------------------------------------------------------------------- */

/* Migrate with a fault at one call; true when there was such a call. */
static bool migrate_with_fault(struct fixture *fixture, const char *prefix,
                               const char *point, uint64_t at, enum weir_status *status)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_db *db = migration_fixture_open(fixture, prefix);
    struct weir_fault_points points;
    uint32_t from = 99;
    uint32_t to = 99;

    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, point, at);
    weir_db_set_fault_points(db, &points);
    *status = weir_schema_migrate(&schema, db, &from, &to, &fixture->error);
    if (*status == WEIR_OK) {
        check_int(from, 0);
        check_int(to, MIGRATION_FIXTURE_NEWEST);
    }
    weir_db_destroy(db);
    return atomic_load(&points.armed[0].passed) >= at;
}

/* It does not matter that a commit may have been lost on the way: what is done is found
 * done. */
ENGINE_TEST(migrate, survives_the_loss_of_its_connection_at_any_call)
{
    uint64_t at = 0;
    bool hit;

    do {
        char prefix[16];
        enum weir_status status;

        snprintf(prefix, sizeof prefix, "l%d", (int)++at);
        hit = migrate_with_fault(fixture, prefix, "db.lose", at, &status);
        check_db(status, WEIR_OK);
        migration_fixture_is_whole(fixture, prefix);
    } while (hit);
    check_in_range(at, CALLS_MIN, CALLS_MAX);
}

ENGINE_TEST(migrate, that_fails_at_any_call_is_healed_by_running_again)
{
    uint64_t at = 0;
    bool hit;

    do {
        char prefix[16];
        enum weir_status status;

        snprintf(prefix, sizeof prefix, "f%d", (int)++at);
        hit = migrate_with_fault(fixture, prefix, "db.fail", at, &status);
        (void)migration_fixture_migrate(fixture, prefix, MIGRATION_FIXTURE_NEWEST);
        migration_fixture_is_whole(fixture, prefix);
    } while (hit);
    check_in_range(at, CALLS_MIN, CALLS_MAX);
}

/* The server goes while somebody migrates: an error with a class that says when to try
 * again. */
static void migrate_against(struct fixture *fixture, struct server *server)
{
    struct weir_schema schema = migration_fixture_up_to(MIGRATION_FIXTURE_NEWEST);
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE];
    struct weir_db *db;
    uint32_t from;
    uint32_t to;

    server_create_database(server, "store");
    server_url(server, "store", url, sizeof url);
    options.url = url;
    db = fixture_open(fixture, &options);
    server_kill(server);

    check_db(weir_schema_migrate(&schema, db, &from, &to, &fixture->error), WEIR_LOST);
    server_restart(server);
    wait_until(weir_schema_migrate(&schema, db, &from, &to, &fixture->error) == WEIR_OK);

    check_int(to, MIGRATION_FIXTURE_NEWEST);
    weir_db_destroy(db);
}

SERVER_TEST(migrate, works_again_when_the_server_is_back)
{
    struct server *server = server_create(fixture->engine, NULL);

    migrate_against(fixture, server);

    server_destroy(server);
}
