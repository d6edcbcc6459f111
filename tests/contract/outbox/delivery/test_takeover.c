/*
 * Processes that die, stop, or lose the session of their liveness lock, and how soon
 * the others know. Leases outlast the test's patience unless a test is about them: what
 * is served before they end was taken over by the lock.
 */
#include <libpq-fe.h>
#include <mysql.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "db/clock.h"
#include "db/db.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/process_pool.h"
#include "kit/server/process.h"
#include "kit/server/tcp_proxy.h"
#include "outbox/lease/process.h"
#include "outbox/outbox.h"

enum { PARTITIONS = 8 };

#define FOR_EVER_NS WEIR_SECONDS(300)
#define GHOST "4242"

static const struct process_pool_options OPTIONS = {.partitions = PARTITIONS,
                                                    .batch = 5,
                                                    .lease_ns = FOR_EVER_NS};

static void enqueue_everywhere(struct process_pool *process_pool, int count)
{
    for (int32_t p = 0; p < process_pool->ledger->options.partitions; p++)
        process_pool_enqueue_together(process_pool, p, count);
}

static int64_t enqueued(const struct process_pool *process_pool)
{
    int64_t sum = 0;

    for (int32_t p = 0; p < process_pool->ledger->options.partitions; p++)
        sum += process_pool->enqueued[p];
    return sum;
}

static uint64_t passes(const struct weir_fault_points *points, int index)
{
    return atomic_load(&points->armed[index].passed);
}

/* Point 0 counts how often a member has looked at the others: in short intervals. */
static void count_looks(struct weir_fault_points *points)
{
    weir_fault_points_init(points);
    weir_fault_points_arm(points, "failure_detector.looked", UINT64_MAX);
    weir_fault_points_arm(points, "failure_detector.eager", 1);
}

static void wait_for_looks(const struct weir_fault_points *points, uint64_t count)
{
    uint64_t before = passes(points, 0);

    wait_until(passes(points, 0) >= before + count);
}

static int64_t ask(struct fixture *fixture, const char *sql)
{
    return fixture_ask(fixture, sql);
}

static int64_t find_session_on_mariadb(struct fixture *fixture)
{
    return ask(fixture, "SELECT max(IS_USED_LOCK(CONCAT('weir_alive_',"
                        " LOWER(HEX(process))))) FROM weir_member");
}

/* Who holds the lock may just have come, or be gone already from the last time. */
static void end_session_on_mariadb(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t session = 0;
    char sql[64];

    wait_until((session = find_session_on_mariadb(fixture)) != 0);
    (void)snprintf(sql, sizeof sql, "KILL %lld", (long long)session);
    (void)!weir_connection_execute_text(connection, sql, NULL);
    fixture_give(fixture, connection);
}

/* The server ends a session that holds a liveness lock in this database, or all of
 * them; on SQLite the file is removed. */
static void end_liveness_sessions(struct process_pool *process_pool)
{
    struct fixture *fixture = process_pool->fixture;
    char file[SERVER_PATH_SIZE + 8];

    switch (fixture->engine) {
    case WEIR_POSTGRESQL:
        (void)ask(fixture,
                  "SELECT count(pg_terminate_backend(pid)) FROM pg_locks"
                  " WHERE locktype = 'advisory' AND objsubid = 1 AND database ="
                  " (SELECT oid FROM pg_database WHERE datname = current_database())");
        return;
    case WEIR_MARIADB:
        end_session_on_mariadb(fixture);
        return;
    case WEIR_SQLITE:
        (void)snprintf(file, sizeof file, "%s-weir", fixture->database);
        wait_until(unlink(file) == 0); /* once they are back from the last time */
        return;
    }
}

/* ---- death ------------------------------------------------------------------------- */

OUTBOX_TEST(takeover, of_a_killed_process_does_not_wait_for_its_lease)
{
    struct process_pool process_pool;
    struct pool_process *one;
    pid_t two;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    one = process_pool_join(&process_pool);
    two = process_pool_start(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, one) == 4 &&
               process_pool_quota(&process_pool, "crew-1") == 4);
    enqueue_everywhere(&process_pool, 5);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));

    process_pool_kill(&process_pool, two);
    enqueue_everywhere(&process_pool, 5);

    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    check_int(process_pool_quota_of(&process_pool, one), PARTITIONS);
    process_pool_leave(one);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* It is a death as any other: who takes over is careful. */
OUTBOX_TEST(takeover, of_a_killed_process_counts_a_crash)
{
    struct process_pool process_pool;
    struct pool_process *two;
    pid_t one;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = FOR_EVER_NS});
    atomic_store(&process_pool.ledger->poison, 1);
    process_pool_enqueue(&process_pool, 0, 1);
    one = process_pool_spawn(&process_pool);
    wait_until(process_has_ended(one));
    atomic_store(&process_pool.ledger->owner[0], 0);
    atomic_store(&process_pool.ledger->poison, 0);
    atomic_store(&process_pool.ledger->hold[0], true);

    two = process_pool_join(&process_pool);
    wait_until(atomic_load(&process_pool.ledger->holding) == 1);

    check_int(process_pool_read(&process_pool, 0).crashes, 1);
    check_int(process_pool.ledger->records[1].attempts, 0);
    atomic_store(&process_pool.ledger->hold[0], false);
    wait_until(process_pool_stored(&process_pool) == 1);
    process_pool_leave(two);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(takeover, of_a_killed_process_is_shared_by_those_left)
{
    struct process_pool process_pool;
    pid_t processes[3];

    process_pool_open(&process_pool, fixture, &OPTIONS);
    for (int i = 0; i < 3; i++)
        processes[i] = process_pool_start(&process_pool);
    enqueue_everywhere(&process_pool, 5);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));

    process_pool_kill(&process_pool, processes[1]);
    wait_until(process_pool_quota(&process_pool, "crew-0") == 4 &&
               process_pool_quota(&process_pool, "crew-2") == 4);
    process_pool_kill(&process_pool, processes[2]);
    wait_until(process_pool_quota(&process_pool, "crew-0") == PARTITIONS);

    enqueue_everywhere(&process_pool, 5);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_end(&process_pool, processes[0]);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* A stopped process holds its lock, and is believed. */
OUTBOX_TEST(takeover, spares_a_stopped_process_while_its_lease_lasts)
{
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one;
    pid_t two;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    count_looks(&points);
    one = process_pool_join_with(&process_pool,
                                 &(struct process_pool_joining){.points = &points});
    two = process_pool_start(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, one) == 4 &&
               process_pool_quota(&process_pool, "crew-1") == 4);

    check_int(kill(two, SIGSTOP), 0);
    wait_for_looks(&points, 4);

    check_int(process_pool_quota(&process_pool, "crew-1"), 4);
    check_int(kill(two, SIGCONT), 0);
    enqueue_everywhere(&process_pool, 5);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    process_pool_end(&process_pool, two);
    process_pool_leave(one);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(takeover, of_a_stopped_process_comes_with_the_end_of_its_lease)
{
    struct process_pool process_pool;
    struct pool_process *one;
    pid_t two;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = PARTITIONS,
                                                     .batch = 5,
                                                     .lease_ns = WEIR_MILLISECONDS(900)});
    one = process_pool_join(&process_pool);
    two = process_pool_start(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, one) == 4 &&
               process_pool_quota(&process_pool, "crew-1") == 4);

    check_int(kill(two, SIGSTOP), 0);
    wait_until(process_pool_quota_of(&process_pool, one) == PARTITIONS);
    enqueue_everywhere(&process_pool, 5);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));

    process_pool_kill(&process_pool, two);
    process_pool_leave(one);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* ---- ghosts: members that are rows and nothing else -------------------------------- */

/* It holds all partitions for long, and nobody its lock. Before anybody else serves the
 * queue. */
static void write_ghost(struct process_pool *process_pool, int alive_by)
{
    char sql[400];

    process_pool_leave(process_pool_join(process_pool)); /* there is a subscription */
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO weir_member (process, subscription, name, until_us,"
                   " started_us, alive_by, library) SELECT " GHOST
                   ", id, 'ghost', 9000000000000000, 1, %d, '999.0.0'"
                   " FROM weir_subscription",
                   alive_by);
    fixture_prepare(process_pool->fixture, sql);
    fixture_prepare(process_pool->fixture,
                    "UPDATE weir_lease SET owner = " GHOST
                    ", epoch = epoch + 1, until_us = 9000000000000000,"
                    " incarnation = (SELECT max(incarnation) FROM (SELECT incarnation"
                    " FROM weir_lease) x)");
}

static int64_t ghosts(struct process_pool *process_pool)
{
    return ask(process_pool->fixture,
               "SELECT count(*) FROM weir_member WHERE process = " GHOST);
}

OUTBOX_TEST(takeover, is_of_everything_that_the_dead_has_held)
{
    struct process_pool process_pool;
    struct pool_process *one;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    write_ghost(&process_pool, WEIR_ALIVE_BY_LOCK);
    one = process_pool_join(&process_pool);

    wait_until(process_pool_quota_of(&process_pool, one) == PARTITIONS);
    enqueue_everywhere(&process_pool, 1);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    check_int(ghosts(&process_pool), 0);
    process_pool_leave(one);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(takeover, is_not_from_who_is_known_by_its_lease)
{
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    count_looks(&points);
    write_ghost(&process_pool, WEIR_ALIVE_BY_LEASE);
    one = process_pool_join_with(&process_pool,
                                 &(struct process_pool_joining){.points = &points});
    wait_for_looks(&points, 4);

    check_int(ghosts(&process_pool), 1);
    check_int(process_pool_quota(&process_pool, "ghost"), PARTITIONS);
    process_pool_leave(one);
    process_pool_close(&process_pool);
}

struct wait {
    const struct weir_fault_points *points;
    int index;
};

static void wait_for_pass(void *argument)
{
    const struct wait *self = argument;

    while (passes(self->points, self->index) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* One has found the dead, and waits at the grave until the other has evicted it and
 * taken a share. */
OUTBOX_TEST(takeover, by_two_at_once_is_as_by_one)
{
    enum { BURYING, EVICTED, TAKEN };
    struct weir_fault_points points[2];
    struct wait wait = {&points[1], TAKEN};
    struct process_pool process_pool;
    struct pool_process *members[2];

    process_pool_open(&process_pool, fixture, &OPTIONS);
    for (int i = 0; i < 2; i++) {
        weir_fault_points_init(&points[i]);
        if (i == 0)
            weir_fault_points_arm_call(&points[i], "lease_keeper.evicting", 1,
                                       wait_for_pass, &wait);
        else
            weir_fault_points_arm(&points[i], "lease_keeper.evicting", UINT64_MAX);
        weir_fault_points_arm(&points[i], "lease_keeper.evicted", UINT64_MAX);
        weir_fault_points_arm(&points[i], "lease_keeper.taken", UINT64_MAX);
    }
    write_ghost(&process_pool, WEIR_ALIVE_BY_LOCK);
    for (int i = 0; i < 2; i++) {
        members[i] = process_pool_join_with(
            &process_pool, &(struct process_pool_joining){.points = &points[i]});
        wait_until(passes(&points[i], BURYING) == 1);
    }
    wait_until(passes(&points[0], EVICTED) == 1 && passes(&points[1], EVICTED) == 1);
    wait_until(process_pool_quota_of(&process_pool, members[0]) == 4 &&
               process_pool_quota_of(&process_pool, members[1]) == 4);

    check_int(ask(fixture, "SELECT count(*) FROM weir_lease WHERE until_us = 0"), 0);
    enqueue_everywhere(&process_pool, 1);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    for (int i = 0; i < 2; i++)
        process_pool_leave(members[i]);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

/* ---- the own session --------------------------------------------------------------- */

struct obedient {
    _Atomic int calls;
    _Atomic bool stopped;
    _Atomic bool go_on;
    int64_t epoch[2];
    uint32_t attempts[2];
};

/* In the first call wait to be told to stop, and then answer that all is done. */
static enum weir_outcome obey(struct weir_context *context, void *state,
                              struct weir_batch *batch, struct weir_reason *reason)
{
    struct obedient *self = state;
    int call = atomic_load(&self->calls);
    const struct weir_message *message = weir_batch_next(batch);

    (void)context;
    (void)reason;
    if (call < 2) {
        self->epoch[call] = message->epoch;
        self->attempts[call] = message->attempts;
    }
    atomic_fetch_add(&self->calls, 1);
    while (call == 0 && !weir_batch_stopped(batch))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (call == 0) {
        atomic_store(&self->stopped, true);
        while (!atomic_load(&self->go_on))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    while (weir_batch_next(batch) != NULL)
        ;
    return WEIR_DONE;
}

OUTBOX_TEST(lost_session, stops_all_lanes_and_takes_them_again_with_new_epochs)
{
    struct obedient handler = {.calls = 0};
    struct process_pool process_pool;
    struct pool_process *one;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 2,
                                                     .lease_ns = FOR_EVER_NS,
                                                     .budget_ns = FOR_EVER_NS});
    one = process_pool_join_with(&process_pool, &(struct process_pool_joining){
                                                    .on_batch = obey, .state = &handler});
    process_pool_enqueue(&process_pool, 0, 1);
    wait_until(atomic_load(&handler.calls) == 1);

    end_liveness_sessions(&process_pool);
    wait_until(atomic_load(&handler.stopped));

    /* the other partition is back; this one is left alone while a handler is at it */
    wait_until(process_pool_quota_of(&process_pool, one) == 1 &&
               process_pool_read(&process_pool, 1).epoch == 2);
    check_int(process_pool_read(&process_pool, 0).lease_left_us, 0);
    atomic_store(&handler.go_on, true);
    wait_until(process_pool_quota_of(&process_pool, one) == 2 &&
               process_pool_stored(&process_pool) == 1);

    check_int(atomic_load(&handler.calls), 2); /* its answer did not count */
    check(handler.epoch[1] > handler.epoch[0]);
    check_int(handler.attempts[1], 0); /* nobody has died */
    check_int(ask(fixture, "SELECT count(*) FROM weir_member"), 1);
    process_pool_leave(one);
    process_pool_close(&process_pool);
}

/* Others may be at its partitions already, and it must not be in their way. */
OUTBOX_TEST(lost_session, under_load_loses_nothing_and_keeps_the_order)
{
    struct process_pool process_pool;
    struct pool_process *one, *two;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    atomic_store(&process_pool.ledger->slow_ns, WEIR_MILLISECONDS(1));
    one = process_pool_join(&process_pool);
    two = process_pool_join(&process_pool);
    for (int i = 0; i < 4; i++) {
        int64_t before = process_pool_done(&process_pool);

        enqueue_everywhere(&process_pool, 20);
        wait_until(process_pool_done(&process_pool) > before + 40);
        end_liveness_sessions(&process_pool);
        process_pool_note_stored(&process_pool);
    }
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    wait_until(process_pool_quota_of(&process_pool, one) == 4 &&
               process_pool_quota_of(&process_pool, two) == 4);

    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_audit(&process_pool);
    check_int(ask(fixture, "SELECT count(*) FROM weir_member"), 0);
    process_pool_close(&process_pool);
}

/* Everybody's session is lost at once. Each comes back by itself, and no lease is
 * waited for. */
static void outlive_restart(struct fixture *fixture)
{
    struct process_pool process_pool;
    struct pool_process *members[2];

    process_pool_open(&process_pool, fixture, &OPTIONS);
    for (int i = 0; i < 2; i++)
        members[i] = process_pool_join(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, members[0]) == 4 &&
               process_pool_quota_of(&process_pool, members[1]) == 4);
    enqueue_everywhere(&process_pool, 20);

    server_stop(fixture->server);
    server_restart(fixture->server);
    wait_until(weir_outbox_migrate(fixture->db, &fixture->error) == WEIR_OK);
    process_pool_note_stored(&process_pool);
    enqueue_everywhere(&process_pool, 5);

    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    wait_until(process_pool_quota_of(&process_pool, members[0]) == 4 &&
               process_pool_quota_of(&process_pool, members[1]) == 4 &&
               ask(fixture, "SELECT count(*) FROM weir_member") == 2);
    for (int i = 0; i < 2; i++)
        process_pool_leave(members[i]);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
}

WEIR_TEST(lost_session, by_a_restart_of_the_server_is_a_pause_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, outlive_restart);
}

WEIR_TEST(lost_session, by_a_restart_of_the_server_is_a_pause_on_mariadb)
{
    outbox_fixture_run_own(WEIR_MARIADB, NULL, outlive_restart);
}

/* ---- connections that are not that session ----------------------------------------- */

/* The one connection that the test has of its own. */
static int64_t session_of_test(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    void *native = weir_connection_native(connection);
    int64_t session = fixture->engine == WEIR_POSTGRESQL
                          ? PQbackendPID(native)
                          : (int64_t)mysql_thread_id(native);

    fixture_give(fixture, connection);
    return session;
}

/* All of the database's sessions but the test's, and those with a liveness lock. */
static void end_other_sessions(struct fixture *fixture)
{
    long long ours = session_of_test(fixture);
    char sql[SERVER_PATH_SIZE + 512];

    if (fixture->engine == WEIR_POSTGRESQL)
        (void)snprintf(sql, sizeof sql,
                       "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                       " WHERE datname = current_database()"
                       " AND pid NOT IN (%lld, pg_backend_pid()) AND pid NOT IN"
                       " (SELECT pid FROM pg_locks"
                       " WHERE locktype = 'advisory' AND objsubid = 1)",
                       ours);
    else
        (void)snprintf(sql, sizeof sql,
                       "BEGIN NOT ATOMIC FOR c IN (SELECT id FROM"
                       " information_schema.processlist WHERE db = '%s'"
                       " AND id NOT IN (%lld, CONNECTION_ID()) AND id NOT IN"
                       " (SELECT IS_USED_LOCK(CONCAT('weir_alive_',"
                       " LOWER(HEX(process)))) FROM weir_member)) DO"
                       " BEGIN DECLARE CONTINUE HANDLER FOR 1094 BEGIN END;"
                       " KILL c.id; END; END FOR; END",
                       fixture->database, ours);
    (void)ask(fixture, sql);
}

/* On PostgreSQL one of several hosts, which is named twice. */
static void print_url(const struct fixture *fixture, char *out, size_t size)
{
    int port = server_port(fixture->server);

    if (fixture->engine == WEIR_POSTGRESQL)
        (void)snprintf(out, size,
                       "postgresql://" SERVER_USER ":" SERVER_PASSWORD
                       "@127.0.0.1:%d,127.0.0.1:%d/%s?target_session_attrs=read-write",
                       port, port, fixture->database);
    else
        (void)snprintf(out, size, "%s", fixture->url);
}

/* They end for reasons of their own: an idle timeout, a handler that leaves one in
 * disorder. */
OUTBOX_SERVER_TEST(lost_connections, cost_no_partition_while_the_session_is_there)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one;
    char url[SERVER_URL_SIZE];
    uint64_t generation, heartbeats;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    print_url(fixture, url, sizeof url);
    options.url = url;
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "lease_keeper.heartbeat_sent", UINT64_MAX);
    weir_fault_points_arm(&points, "lease_keeper.eager", 1);
    one = process_pool_join_with(
        &process_pool, &(struct process_pool_joining){
                           .db = fixture_open(fixture, &options), .points = &points});
    wait_until(process_pool_quota_of(&process_pool, one) == PARTITIONS);
    generation = weir_db_generation(one->db);

    end_other_sessions(fixture);
    wait_until(process_pool_quota_of(&process_pool, one) >= 0 &&
               weir_db_generation(one->db) != generation);
    heartbeats = passes(&points, 0);
    wait_until(process_pool_quota_of(&process_pool, one) >= 0 &&
               passes(&points, 0) >= heartbeats + 3);

    for (int32_t p = 0; p < PARTITIONS; p++)
        check_int(process_pool_read(&process_pool, p).epoch, 1);
    check_int(process_pool_quota_of(&process_pool, one), PARTITIONS);
    check_int(ask(fixture, "SELECT count(*) FROM weir_member WHERE alive_by = 1"), 1);
    process_pool_leave(one);
    process_pool_close(&process_pool);
}

/* ---- a switchover ------------------------------------------------------------------ */

/* What the other server has, while that is stopped. */
static void copy_data(const struct process_options *log_position, void *argument)
{
    const char *socket = server_socket(argument);
    int length = (int)(strrchr(socket, '/') - socket);
    char data[SERVER_PATH_SIZE + 16], users[SERVER_PATH_SIZE + 16];

    (void)snprintf(data, sizeof data, "%.*s/data", length, socket);
    (void)snprintf(users, sizeof users, "%.*s/users.sql", length, socket);
    process_run(log_position, (const char *[]){"/bin/cp", "-a", data, users,
                                               log_position->folder, NULL});
}

/* Who may do everything may write on a server that is read only. */
static struct weir_db *open_as_application(struct fixture *fixture,
                                           const struct tcp_proxy *tcp_proxy)
{
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE];

    (void)snprintf(url, sizeof url, "mariadb://shop:eel-and-otter@127.0.0.1:%d/%s",
                   tcp_proxy_port(tcp_proxy), fixture->database);
    options.url = url;
    return fixture_open(fixture, &options);
}

static struct server *make_old_primary(struct fixture *fixture)
{
    struct server_options options = {.fill = copy_data, .fill_argument = fixture->server};
    struct server *old;
    char sql[SERVER_PATH_SIZE + 128];

    (void)snprintf(sql, sizeof sql,
                   "CREATE USER shop IDENTIFIED BY 'eel-and-otter';"
                   "GRANT ALL ON `%s`.* TO shop",
                   fixture->database);
    server_execute(fixture->server, NULL, sql);
    server_stop(fixture->server);
    old = server_create(WEIR_MARIADB, &options);
    server_restart(fixture->server);
    wait_until(weir_outbox_migrate(fixture->db, &fixture->error) == WEIR_OK);
    return old;
}

/* Processes that are known by a lock which others see; or, 0, by one that they do not. */
static int64_t known_by_lock(struct fixture *fixture, int seen)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM weir_member WHERE alive_by = 1 AND"
                   " (IS_USED_LOCK(CONCAT('weir_alive_', LOWER(HEX(process))))"
                   " IS NOT NULL) = %d",
                   seen);
    return ask(fixture, sql);
}

/*
 * One name for two servers. The old primary takes no writes any more, the name leads to
 * the new one, and who is connected to the old one stays there until it writes: the
 * session never does.
 */
static void switch_over(struct fixture *fixture)
{
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one, *two;
    struct server *old;
    struct tcp_proxy *tcp_proxy;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    process_pool_leave(process_pool_join(&process_pool)); /* there is a subscription */
    old = make_old_primary(fixture);
    tcp_proxy = tcp_proxy_open(server_port(old));
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "lease_keeper.eager", 1);
    one = process_pool_join_with(
        &process_pool,
        &(struct process_pool_joining){.db = open_as_application(fixture, tcp_proxy),
                                       .points = &points});
    wait_until(server_query(old, fixture->database,
                            "SELECT count(*) FROM weir_lease WHERE owner IS NOT NULL") ==
               PARTITIONS);

    server_execute(old, NULL, "SET GLOBAL read_only = 1");
    tcp_proxy_lead_to(tcp_proxy, server_port(fixture->server));
    two = process_pool_join(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, one) == 4 &&
               process_pool_quota_of(&process_pool, two) == 4 &&
               known_by_lock(fixture, 1) == 2 && known_by_lock(fixture, 0) == 0);

    enqueue_everywhere(&process_pool, 5);
    wait_until(process_pool_stored(&process_pool) == enqueued(&process_pool));
    check_int(process_pool_quota_of(&process_pool, one), 4);
    check_int(process_pool_quota_of(&process_pool, two), 4);
    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_audit(&process_pool);
    process_pool_close(&process_pool);
    tcp_proxy_close(tcp_proxy);
    server_destroy(old);
}

WEIR_TEST(lost_session, on_the_server_of_before_a_switchover_is_left_on_mariadb)
{
    outbox_fixture_run_own(WEIR_MARIADB, NULL, switch_over);
}

/* ---- after it ---------------------------------------------------------------------- */

struct moments {
    _Atomic int64_t entered_ns;
    _Atomic int64_t burying_ns;
};

static void note_entered(void *argument)
{
    atomic_store(&((struct moments *)argument)->entered_ns, weir_clock_now_ns());
}

static void note_burying(void *argument)
{
    atomic_store(&((struct moments *)argument)->burying_ns, weir_clock_now_ns());
}

/* After a restart of the database the others may still be on their way back. */
OUTBOX_TEST(lost_session, is_followed_by_two_seconds_in_which_nobody_is_judged)
{
    struct moments moments = {.entered_ns = 0};
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one;

    process_pool_open(&process_pool, fixture, &OPTIONS);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "failure_detector.entered", 2, note_entered,
                               &moments);
    weir_fault_points_arm_call(&points, "lease_keeper.evicting", 1, note_burying,
                               &moments);
    weir_fault_points_arm(&points, "lease_keeper.eager", 1);
    one = process_pool_join_with(&process_pool,
                                 &(struct process_pool_joining){.points = &points});
    end_liveness_sessions(&process_pool);
    wait_until(process_pool_quota_of(&process_pool, one) == PARTITIONS &&
               atomic_load(&moments.entered_ns) != 0);

    fixture_prepare(fixture, "INSERT INTO {p}_member (process, subscription, name,"
                             " until_us, started_us, alive_by) SELECT " GHOST
                             ", id, 'ghost', 9000000000000000, 1, 1"
                             " FROM {p}_subscription");
    wait_until(process_pool_quota_of(&process_pool, one) >= 0 &&
               ghosts(&process_pool) == 0); /* it is awake */

    check(atomic_load(&moments.burying_ns) - atomic_load(&moments.entered_ns) >=
          WEIR_SECONDS(2));
    process_pool_leave(one);
    process_pool_close(&process_pool);
}

/* ---- silence ----------------------------------------------------------------------- */

OUTBOX_TEST(presence, of_a_process_alone_costs_no_statement)
{
    enum { LOOKS, RENEWALS };
    struct weir_db_options options = fixture_options(fixture);
    struct weir_fault_points statements;
    struct weir_fault_points points;
    struct process_pool process_pool;
    struct pool_process *one, *two;
    struct weir_db *db;

    process_pool_open(&process_pool, fixture,
                      &(struct process_pool_options){.partitions = 2,
                                                     .lease_ns = WEIR_MILLISECONDS(900)});
    weir_fault_points_init(&statements);
    weir_fault_points_arm(&statements, "look at members", UINT64_MAX);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "failure_detector.looked", UINT64_MAX);
    weir_fault_points_arm(&points, "lease_keeper.renewed", UINT64_MAX);
    db = fixture_open(fixture, &options);
    weir_db_set_fault_points(db, &statements);
    one = process_pool_join_with(
        &process_pool, &(struct process_pool_joining){.db = db, .points = &points});
    wait_until(passes(&points, RENEWALS) >= 4);

    check_int(passes(&points, LOOKS), 0);
    check_int(passes(&statements, 0), 0);
    check_int(ask(fixture, "SELECT count(*) FROM weir_member WHERE alive_by = 1"), 1);

    two = process_pool_join(&process_pool); /* and now there is somebody to look at */
    wait_until(passes(&points, LOOKS) > 0 && passes(&statements, 0) > 0);
    process_pool_leave(two);
    process_pool_leave(one);
    process_pool_close(&process_pool);
}
