/*
 * Tests of db/wake.c across processes, on each engine. Those about the files of SQLite
 * are in test_wake_sqlite.c.
 *
 * A poll interval of an hour is none: what is seen then was seen because of a hint.
 */
#include "db/wake.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "contract/db/wake_fixture.h"

static void make_table(struct fixture *fixture);
static struct weir_db *open_other(struct fixture *fixture, struct server *server);
static int listen_and_never_answer(char *url, size_t size);

/* ---- hearing ----------------------------------------------------------------------- */

ENGINE_TEST(wake, tells_of_commits_of_another_process)
{
    struct other_process other_process;
    struct wake_fixture wake_fixture;

    make_table(fixture);
    other_process_move_in(&other_process, fixture);
    wake_fixture_hang(&wake_fixture, fixture->db,
                      fixture->engine == WEIR_MARIADB ? WEIR_SECONDS(1) : WEIR_HOURS(1));

    for (int i = 1; i <= 20; i++) {
        other_process_do(&other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&wake_fixture.seen) == i);
    }

    wake_fixture_take_down(&wake_fixture);
    other_process_move_out(&other_process);
}

/* Nobody waits for the other one: many commits, of which the last must not be missed. */
ENGINE_TEST(wake, misses_no_last_commit_of_many)
{
    enum { ROUNDS = 10, COMMITS = 20 };
    struct other_process other_process;
    struct wake_fixture wake_fixture;

    make_table(fixture);
    other_process_move_in(&other_process, fixture);
    wake_fixture_hang(&wake_fixture, fixture->db,
                      fixture->engine == WEIR_MARIADB ? WEIR_SECONDS(1) : WEIR_HOURS(1));

    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < COMMITS; i++)
            other_process_tell(&other_process, COMMIT_AND_TELL);
        for (int i = 0; i < COMMITS; i++)
            other_process_await(&other_process);
        wait_until(atomic_load(&wake_fixture.seen) == (int64_t)round * COMMITS);
    }

    wake_fixture_take_down(&wake_fixture);
    other_process_move_out(&other_process);
}

ENGINE_TEST(wake, tells_at_once_of_what_was_there_before_it_started)
{
    struct other_process other_process;
    struct wake_fixture wake_fixture;

    make_table(fixture);
    other_process_move_in(&other_process, fixture);
    other_process_do(&other_process, COMMIT);

    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    wait_until(atomic_load(&wake_fixture.seen) == 1);
    wake_fixture_take_down(&wake_fixture);
    other_process_move_out(&other_process);
}

/* The hints are thrown away just where they arrive. */
ENGINE_TEST(wake, loses_one_poll_interval_with_a_hint)
{
    struct weir_fault_points points;
    struct other_process other_process;
    struct wake_fixture wake_fixture;

    make_table(fixture);
    other_process_move_in(&other_process, fixture);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "watch.deaf", 1);
    weir_db_set_fault_points(fixture->db, &points);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_MILLISECONDS(100));

    for (int i = 1; i <= 5; i++) {
        other_process_do(&other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&wake_fixture.seen) == i);
    }

    check_int(wake_fixture_info(&wake_fixture).hints, 0);
    wake_fixture_take_down(&wake_fixture);
    weir_db_set_fault_points(fixture->db, NULL);
    other_process_move_out(&other_process);
}

/* An application that knows nothing of us sends no hint, and is heard all the same. */
POSTGRESQL_TEST(wake, polls_for_whom_sends_no_hint)
{
    struct other_process other_process;
    struct wake_fixture wake_fixture;

    make_table(fixture);
    other_process_move_in(&other_process, fixture);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_MILLISECONDS(50));

    for (int i = 1; i <= 5; i++) {
        other_process_do(&other_process, COMMIT);
        wait_until(atomic_load(&wake_fixture.seen) == i);
    }

    check_int(wake_fixture_info(&wake_fixture).hints, 0);
    wake_fixture_take_down(&wake_fixture);
    other_process_move_out(&other_process);
}

/* A notification belongs to its transaction, and to its channel. */
POSTGRESQL_TEST(wake, hears_neither_what_was_rolled_back_nor_other_channels)
{
    struct other_process other_process;
    struct wake_fixture wake_fixture;

    make_table(fixture);
    other_process_move_in(&other_process, fixture);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    other_process_do(&other_process, ROLL_BACK);
    other_process_do(&other_process, TELL_ANOTHER);
    other_process_do(&other_process, COMMIT_AND_TELL);

    wait_until(atomic_load(&wake_fixture.seen) == 1);
    check_int(wake_fixture_info(&wake_fixture).hints, 1);
    wake_fixture_take_down(&wake_fixture);
    other_process_move_out(&other_process);
}

ENGINE_TEST(wake, passes_a_hint_of_the_same_process_on)
{
    struct other_process other_process;
    struct weir_fault_points points;
    struct wake_fixture wake_fixture;

    make_table(fixture);
    other_process_move_in(&other_process, fixture);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "watch.deaf", 1);
    weir_db_set_fault_points(fixture->db, &points);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));
    other_process_do(&other_process, COMMIT);

    weir_wake_hint(wake_fixture.wake);

    wait_until(atomic_load(&wake_fixture.seen) == 1);
    check_int(wake_fixture_info(&wake_fixture).hints, 1);
    wake_fixture_take_down(&wake_fixture);
    weir_db_set_fault_points(fixture->db, NULL);
    other_process_move_out(&other_process);
}

/* ---- adaptive polling -------------------------------------------------------------- */

/*
 * From 1 ms doubling: what fits into a given time is bounded by arithmetic, however
 * slow the machine is.
 */
static void slows_down_and_is_made_fast_again(struct fixture *fixture, struct weir_db *db)
{
    struct weir_wake_options options;
    struct wake_fixture wake_fixture;
    int64_t begun_ms;
    uint64_t polls;

    make_table(fixture);
    wake_fixture_make(&wake_fixture, db);
    options = wake_fixture_options(&wake_fixture);
    options.poll_ns = WEIR_HOURS(1);
    options.poll_min_ns = WEIR_MILLISECONDS(1);
    begun_ms = now_ms();
    wake_fixture_start(&wake_fixture, &options);

    wait_until(wake_fixture_info(&wake_fixture).polls >= 11); /* 2 + 4 + ... + 1024 ms */
    check_in_range(now_ms() - begun_ms, 1000, INT64_MAX);
    check(!wake_fixture_info(&wake_fixture).listening);

    /* Left alone, four more would take half a minute. */
    polls = wake_fixture_info(&wake_fixture).polls;
    weir_wake_reward(wake_fixture.wake);
    begun_ms = now_ms();
    wait_until(wake_fixture_info(&wake_fixture).polls >= polls + 4);
    check_in_range(now_ms() - begun_ms, 0, 20000);

    wake_fixture_take_down(&wake_fixture);
}

MARIADB_TEST(wake, polls_faster_when_that_was_worth_it)
{
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE + 16];
    struct weir_db *db;

    snprintf(url, sizeof url, "%s?signal=off", fixture->url);
    options.url = url;
    db = fixture_open(fixture, &options);

    slows_down_and_is_made_fast_again(fixture, db);

    weir_db_destroy(db);
}

POSTGRESQL_TEST(wake, polls_behind_a_transaction_pooler)
{
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE + 32];
    struct weir_db *db;

    snprintf(url, sizeof url, "%s?pooler=transaction", fixture->url);
    options.url = url;
    db = fixture_open(fixture, &options);

    slows_down_and_is_made_fast_again(fixture, db);

    weir_db_destroy(db);
}

/* ---- losing the connection --------------------------------------------------------- */

/* And prints nothing, which libpq would do with a server's last words. */
POSTGRESQL_TEST(wake, listens_again_when_its_connection_is_killed)
{
    FILE *printed = tmpfile();
    int stderr_before = dup(STDERR_FILENO);
    struct other_process other_process;
    struct wake_fixture wake_fixture;

    check(printed != NULL && dup2(fileno(printed), STDERR_FILENO) == STDERR_FILENO);
    make_table(fixture);
    other_process_move_in(&other_process, fixture);
    wake_fixture_hang(&wake_fixture, fixture->db, WEIR_HOURS(1));

    for (unsigned i = 1; i <= 5; i++) {
        /* The one before has said its last words, but may not have gone. */
        wait_until(fixture_ask(fixture, "SELECT count(*) FROM pg_stat_activity WHERE "
                                        "datname = current_database() AND "
                                        "query LIKE 'LISTEN %'") == 1);
        check_int(fixture_ask(fixture,
                              "SELECT count(pg_terminate_backend(pid)) FROM "
                              "pg_stat_activity WHERE datname = current_database() AND "
                              "query LIKE 'LISTEN %'"),
                  1);
        wait_until(wake_fixture_info(&wake_fixture).reconnects == i &&
                   wake_fixture_info(&wake_fixture).listening);
        wait_until(wake_fixture_is_quiet(&wake_fixture));
        other_process_do(&other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&wake_fixture.seen) == i);
    }

    wake_fixture_take_down(&wake_fixture);
    other_process_move_out(&other_process);
    check_int(dup2(stderr_before, STDERR_FILENO), STDERR_FILENO);
    (void)close(stderr_before);
    check_int(fseek(printed, 0, SEEK_END), 0);
    check_int(ftell(printed), 0);
    (void)fclose(printed);
}

/* Polling goes on meanwhile, as far as there is somebody to ask. */
static void lives_through(struct fixture *fixture, void (*end)(struct server *))
{
    struct server *server = server_create(fixture->engine, NULL);
    struct fixture there = *fixture;
    struct other_process other_process;
    struct weir_db *db = open_other(&there, server);
    struct wake_fixture wake_fixture;

    server_execute(server, "store",
                   fixture_choose(fixture, "",
                                  "CREATE TABLE weir_item (id bigserial, name text)",
                                  "CREATE TABLE weir_item (id BIGINT PRIMARY KEY "
                                  "AUTO_INCREMENT, name VARCHAR(100))"));
    other_process_move_in(&other_process, &there);
    wake_fixture_hang(&wake_fixture, db,
                      fixture->engine == WEIR_MARIADB ? WEIR_SECONDS(1) : WEIR_HOURS(1));
    other_process_do(&other_process, COMMIT_AND_TELL);
    wait_until(atomic_load(&wake_fixture.seen) == 1);

    for (int i = 1; i <= 2; i++) {
        uint64_t polls = wake_fixture_info(&wake_fixture).polls;

        end(server);
        if (fixture->engine == WEIR_POSTGRESQL) /* a file hears no server end */
            wait_until(!wake_fixture_info(&wake_fixture).listening);
        wait_until(wake_fixture_info(&wake_fixture).polls >= polls + 5);
        server_restart(server);
        if (fixture->engine == WEIR_POSTGRESQL)
            wait_until(wake_fixture_info(&wake_fixture).listening);
        other_process_do(&other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&wake_fixture.seen) == 1 + i);
    }

    wake_fixture_take_down(&wake_fixture);
    weir_db_destroy(db);
    other_process_move_out(&other_process);
    server_destroy(server);
}

SERVER_TEST(wake, hears_again_after_a_restart_of_the_server)
{
    lives_through(fixture, server_stop);
}

SERVER_TEST(wake, hears_again_after_a_crash_of_the_server)
{
    lives_through(fixture, server_kill);
}

/* ---- starting and stopping --------------------------------------------------------- */

ENGINE_TEST(wake, starts_and_stops_a_hundred_times)
{
    struct weir_wake_options options;
    struct wake_fixture wake_fixture;
    int files;

    make_table(fixture);
    wake_fixture_make(&wake_fixture, fixture->db);
    options = wake_fixture_options(&wake_fixture);
    files = count_files();

    for (int i = 0; i < 100; i++) {
        check_status(weir_wake_start(&options, &wake_fixture.wake, NULL), WEIR_OK);
        if (i % 10 == 0 && fixture->engine != WEIR_MARIADB)
            wait_until(wake_fixture_info(&wake_fixture).listening);
        weir_wake_stop(wake_fixture.wake);
    }

    check_int(count_files(), files);
    wake_fixture.wake = NULL;
    wake_fixture_take_down(&wake_fixture);
}

WEIR_TEST(wake, is_not_there_and_may_be_stopped)
{
    weir_wake_stop(NULL);
}

SERVER_TEST(wake, stops_at_once_while_the_server_is_down)
{
    struct server *server = server_create(fixture->engine, NULL);
    struct weir_db *db = open_other(fixture, server);
    struct weir_wake_options options;
    struct wake_fixture wake_fixture;

    server_kill(server);
    wake_fixture_make(&wake_fixture, db);
    options = wake_fixture_options(&wake_fixture);
    wake_fixture_start(&wake_fixture, &options);
    wait_until(wake_fixture_info(&wake_fixture).polls >= 5);
    check(!wake_fixture_info(&wake_fixture).listening);

    wake_fixture_take_down(&wake_fixture);

    weir_db_destroy(db);
    server_destroy(server);
}

/* The connection is accepted by the kernel, and then there is silence: for a minute, by
 * our patience. Neither polls nor stop() may wait for it. */
POSTGRESQL_TEST(wake, polls_and_stops_while_a_server_is_silent)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_wake_options wake_options;
    char url[SERVER_URL_SIZE];
    int silent = listen_and_never_answer(url, sizeof url);
    int64_t begun_ms = now_ms();
    struct weir_wake *wake;
    struct weir_wake_info info;
    struct weir_db *db;
    struct wake_fixture wake_fixture;

    options.url = url;
    options.connect_timeout_ns = WEIR_MINUTES(10);
    db = fixture_open(fixture, &options);
    wake_fixture_make(&wake_fixture, db);
    wake_options = wake_fixture_options(&wake_fixture);
    wake_options.poll_ns = WEIR_MILLISECONDS(20);

    check_status(weir_wake_start(&wake_options, &wake, NULL), WEIR_OK);
    do {
        fixture_wait(__FILE__, __LINE__, "polls", begun_ms + 60000);
        weir_wake_read(wake, &info);
    } while (info.polls < 10);
    check(!info.listening);
    weir_wake_stop(wake);

    check_in_range(now_ms() - begun_ms, 0, 60000);
    wake_fixture_take_down(&wake_fixture);
    weir_db_destroy(db);
    (void)close(silent);
}

/* It gives up in time, and tries again. */
POSTGRESQL_TEST(wake, does_not_wait_for_a_silent_server_for_ever)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_wake_options wake_options;
    char url[SERVER_URL_SIZE];
    int silent = listen_and_never_answer(url, sizeof url);
    struct weir_db *db;
    struct wake_fixture wake_fixture;

    options.url = url;
    options.connect_timeout_ns = WEIR_SECONDS(1);
    db = fixture_open(fixture, &options);
    wake_fixture_make(&wake_fixture, db);
    wake_options = wake_fixture_options(&wake_fixture);
    check_status(weir_wake_start(&wake_options, &wake_fixture.wake, NULL), WEIR_OK);

    for (int i = 0; i < 2; i++) {
        int caller;

        wait_until((caller = accept4(silent, NULL, NULL, SOCK_CLOEXEC)) >= 0);
        (void)close(caller);
    }

    wake_fixture_take_down(&wake_fixture);
    weir_db_destroy(db);
    (void)close(silent);
}

/* ---- bad options ------------------------------------------------------------------- */

static void refuses(struct fixture *fixture, struct weir_wake_options options,
                    const char *text)
{
    struct weir_wake *wake = (struct weir_wake *)fixture; /* anything */

    check_db(weir_wake_start(&options, &wake, &fixture->error), WEIR_INVALID);
    check(wake == NULL);
    if (strstr(fixture->error.text, text) == NULL)
        weir_test_fail(__FILE__, __LINE__, "refused without \"%s\": %s", text,
                       fixture->error.text);
}

SQLITE_TEST(wake, names_the_option_that_is_bad)
{
    static const char *const CHANNELS[] = {
        NULL,  "",         "a b",
        "A",   "a-b",      "a'b",
        "a;b", "\xc3\xa4", "a123456789_123456789_123456789_123456789_12345678"};
    struct wake_fixture wake_fixture;
    struct weir_wake_options options;

    wake_fixture_make(&wake_fixture, fixture->db);
    for (size_t i = 0; i < sizeof CHANNELS / sizeof CHANNELS[0]; i++) {
        options = wake_fixture_options(&wake_fixture);
        options.channel = CHANNELS[i];
        refuses(fixture, options, "channel");
    }
    options = wake_fixture_options(&wake_fixture);
    options.poll_ns = 0;
    refuses(fixture, options, "poll_ns");
    options.poll_ns = WEIR_MILLISECONDS(1) - 1;
    refuses(fixture, options, "poll_ns");
    options.poll_ns = WEIR_HOURS(1) + 1;
    refuses(fixture, options, "poll_ns");
    options = wake_fixture_options(&wake_fixture);
    options.poll_min_ns = WEIR_MICROSECONDS(100) - 1;
    refuses(fixture, options, "poll_min_ns");
    options.poll_min_ns = options.poll_ns + 1;
    refuses(fixture, options, "poll_min_ns");
    wake_fixture_take_down(&wake_fixture);
}

ENGINE_TEST(wake, takes_the_longest_channel)
{
    static const char LONGEST[] = "a123456789_123456789_123456789_123456789_1234567";
    struct weir_connection *connection;
    struct weir_wake_options options;
    struct wake_fixture wake_fixture;

    check_int(strlen(LONGEST), 48);
    make_table(fixture);
    wake_fixture_make(&wake_fixture, fixture->db);
    options = wake_fixture_options(&wake_fixture);
    options.channel = LONGEST;
    options.poll_ns = WEIR_HOURS(1);
    wake_fixture_start(&wake_fixture, &options);
    if (fixture->engine != WEIR_MARIADB)
        wait_until(wake_fixture_info(&wake_fixture).listening);
    connection = fixture_take(fixture);

    check_db(weir_wake_send(connection, LONGEST, &fixture->error), WEIR_OK);

    if (fixture->engine == WEIR_POSTGRESQL)
        wait_until(wake_fixture_info(&wake_fixture).hints == 1);
    fixture_give(fixture, connection);
    wake_fixture_take_down(&wake_fixture);
}

ENGINE_TEST(wake, sends_nothing_to_a_bad_channel)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_wake_send(connection, "x'); DROP TABLE y; --", &fixture->error),
             WEIR_INVALID);

    fixture_give(fixture, connection);
}

/* ---- helpers ----------------------------------------------------------------------- */

/* By hand, not through fixture->db: a child must not inherit an open connection. */
static void make_table(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture->db;

    fixture->db = fixture_open(fixture, &options);
    fixture_prepare(fixture,
                    fixture_choose(fixture,
                                   "CREATE TABLE {p}_item (id INTEGER PRIMARY KEY "
                                   "AUTOINCREMENT, name TEXT)",
                                   "CREATE TABLE {p}_item (id bigserial, name text)",
                                   "CREATE TABLE {p}_item (id BIGINT PRIMARY KEY "
                                   "AUTO_INCREMENT, name VARCHAR(100))"));
    weir_db_destroy(fixture->db);
    fixture->db = db;
}

/* A database "store" on a server of the test's own; fixture->url is its address. */
static struct weir_db *open_other(struct fixture *fixture, struct server *server)
{
    struct weir_db_options options;

    server_create_database(server, "store");
    server_url(server, "store", fixture->url, sizeof fixture->url);
    options = fixture_options(fixture);
    return fixture_open(fixture, &options);
}

static int listen_and_never_answer(char *url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    check(silent >= 0);
    check_int(bind(silent, (struct sockaddr *)&address, sizeof address), 0);
    check_int(listen(silent, 16), 0);
    check_int(getsockname(silent, (struct sockaddr *)&address, &length), 0);
    snprintf(url, size, "postgresql://u:p@127.0.0.1:%d/app", ntohs(address.sin_port));
    return silent;
}
