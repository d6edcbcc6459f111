/*
 * Tests of db/wake.c across processes, on each engine. Those about the files of SQLite are in
 * test_wake_sqlite.c.
 *
 * A poll interval of an hour is none: what is seen then was seen because of a hint.
 */
#include "db/wake.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "contract/db/bell.h"

static void make_table(struct fixture *fixture);
static struct weir_db *open_other(struct fixture *fixture, struct server *server);
static int64_t now_ms(void);
static int count_files(void);
static int listen_and_never_answer(char *url, size_t size);

/* ---- hearing ------------------------------------------------------------------------------ */

ENGINE_TEST(wake, tells_of_commits_of_another_process)
{
    struct neighbour neighbour;
    struct bell bell;

    make_table(fixture);
    neighbour_move_in(&neighbour, fixture);
    bell_hang(&bell, fixture->db,
              fixture->engine == WEIR_MARIADB ? WEIR_SECONDS(1) : WEIR_HOURS(1));

    for (int i = 1; i <= 20; i++) {
        neighbour_do(&neighbour, COMMIT_AND_TELL);
        wait_until(atomic_load(&bell.seen) == i);
    }

    bell_take_down(&bell);
    neighbour_move_out(&neighbour);
}

/* Nobody waits for the other one: many commits, of which the last must not be missed. */
ENGINE_TEST(wake, misses_no_last_commit_of_many)
{
    enum { ROUNDS = 10, COMMITS = 20 };
    struct neighbour neighbour;
    struct bell bell;

    make_table(fixture);
    neighbour_move_in(&neighbour, fixture);
    bell_hang(&bell, fixture->db,
              fixture->engine == WEIR_MARIADB ? WEIR_SECONDS(1) : WEIR_HOURS(1));

    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < COMMITS; i++)
            neighbour_tell(&neighbour, COMMIT_AND_TELL);
        for (int i = 0; i < COMMITS; i++)
            neighbour_await(&neighbour);
        wait_until(atomic_load(&bell.seen) == (int64_t)round * COMMITS);
    }

    bell_take_down(&bell);
    neighbour_move_out(&neighbour);
}

ENGINE_TEST(wake, tells_at_once_of_what_was_there_before_it_started)
{
    struct neighbour neighbour;
    struct bell bell;

    make_table(fixture);
    neighbour_move_in(&neighbour, fixture);
    neighbour_do(&neighbour, COMMIT);

    bell_hang(&bell, fixture->db, WEIR_HOURS(1));

    wait_until(atomic_load(&bell.seen) == 1);
    bell_take_down(&bell);
    neighbour_move_out(&neighbour);
}

/* The hints are thrown away just where they arrive. */
ENGINE_TEST(wake, loses_one_poll_interval_with_a_hint)
{
    struct weir_fault_points points;
    struct neighbour neighbour;
    struct bell bell;

    make_table(fixture);
    neighbour_move_in(&neighbour, fixture);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "watch.deaf", 1);
    weir_db_set_fault_points(fixture->db, &points);
    bell_hang(&bell, fixture->db, WEIR_MILLISECONDS(100));

    for (int i = 1; i <= 5; i++) {
        neighbour_do(&neighbour, COMMIT_AND_TELL);
        wait_until(atomic_load(&bell.seen) == i);
    }

    check_int(bell_info(&bell).hints, 0);
    bell_take_down(&bell);
    weir_db_set_fault_points(fixture->db, NULL);
    neighbour_move_out(&neighbour);
}

/* An application that knows nothing of us sends no hint, and is heard all the same. */
POSTGRESQL_TEST(wake, polls_for_whom_sends_no_hint)
{
    struct neighbour neighbour;
    struct bell bell;

    make_table(fixture);
    neighbour_move_in(&neighbour, fixture);
    bell_hang(&bell, fixture->db, WEIR_MILLISECONDS(50));

    for (int i = 1; i <= 5; i++) {
        neighbour_do(&neighbour, COMMIT);
        wait_until(atomic_load(&bell.seen) == i);
    }

    check_int(bell_info(&bell).hints, 0);
    bell_take_down(&bell);
    neighbour_move_out(&neighbour);
}

/* A notification belongs to its transaction, and to its channel. */
POSTGRESQL_TEST(wake, hears_neither_what_was_rolled_back_nor_other_channels)
{
    struct neighbour neighbour;
    struct bell bell;

    make_table(fixture);
    neighbour_move_in(&neighbour, fixture);
    bell_hang(&bell, fixture->db, WEIR_HOURS(1));

    neighbour_do(&neighbour, ROLL_BACK);
    neighbour_do(&neighbour, TELL_ANOTHER);
    neighbour_do(&neighbour, COMMIT_AND_TELL);

    wait_until(atomic_load(&bell.seen) == 1);
    check_int(bell_info(&bell).hints, 1);
    bell_take_down(&bell);
    neighbour_move_out(&neighbour);
}

ENGINE_TEST(wake, passes_a_hint_of_the_same_process_on)
{
    struct neighbour neighbour;
    struct weir_fault_points points;
    struct bell bell;

    make_table(fixture);
    neighbour_move_in(&neighbour, fixture);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "watch.deaf", 1);
    weir_db_set_fault_points(fixture->db, &points);
    bell_hang(&bell, fixture->db, WEIR_HOURS(1));
    neighbour_do(&neighbour, COMMIT);

    weir_wake_hint(bell.wake);

    wait_until(atomic_load(&bell.seen) == 1);
    check_int(bell_info(&bell).hints, 1);
    bell_take_down(&bell);
    weir_db_set_fault_points(fixture->db, NULL);
    neighbour_move_out(&neighbour);
}

/* ---- adaptive polling --------------------------------------------------------------------- */

/*
 * From 1 ms doubling: what fits into a given time is bounded by arithmetic, however slow the
 * machine is.
 */
static void slows_down_and_is_made_fast_again(struct fixture *fixture, struct weir_db *db)
{
    struct weir_wake_options options;
    struct bell bell;
    int64_t begun_ms;
    uint64_t polls;

    make_table(fixture);
    bell_make(&bell, db);
    options = bell_options(&bell);
    options.poll_ns = WEIR_HOURS(1);
    options.poll_min_ns = WEIR_MILLISECONDS(1);
    begun_ms = now_ms();
    bell_start(&bell, &options);

    wait_until(bell_info(&bell).polls >= 11); /* 2 + 4 + ... + 1024 ms */
    check_in_range(now_ms() - begun_ms, 1000, INT64_MAX);
    check(!bell_info(&bell).listening);

    /* Left alone, four more would take half a minute. */
    polls = bell_info(&bell).polls;
    weir_wake_reward(bell.wake);
    begun_ms = now_ms();
    wait_until(bell_info(&bell).polls >= polls + 4);
    check_in_range(now_ms() - begun_ms, 0, 20000);

    bell_take_down(&bell);
}

MARIADB_TEST(wake, polls_faster_when_that_was_worth_it)
{
    slows_down_and_is_made_fast_again(fixture, fixture->db);
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

/* ---- losing the connection ---------------------------------------------------------------- */

/* And prints nothing, which libpq would do with a server's last words. */
POSTGRESQL_TEST(wake, listens_again_when_its_connection_is_killed)
{
    FILE *printed = tmpfile();
    int stderr_before = dup(STDERR_FILENO);
    struct neighbour neighbour;
    struct bell bell;

    check(printed != NULL && dup2(fileno(printed), STDERR_FILENO) == STDERR_FILENO);
    make_table(fixture);
    neighbour_move_in(&neighbour, fixture);
    bell_hang(&bell, fixture->db, WEIR_HOURS(1));

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
        wait_until(bell_info(&bell).reconnects == i && bell_info(&bell).listening);
        wait_until(bell_is_quiet(&bell));
        neighbour_do(&neighbour, COMMIT_AND_TELL);
        wait_until(atomic_load(&bell.seen) == i);
    }

    bell_take_down(&bell);
    neighbour_move_out(&neighbour);
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
    struct neighbour neighbour;
    struct weir_db *db = open_other(&there, server);
    struct bell bell;

    server_execute(server, "store",
                   fixture_choose(fixture, "",
                                  "CREATE TABLE weir_item (id bigserial, name text)",
                                  "CREATE TABLE weir_item (id BIGINT PRIMARY KEY "
                                  "AUTO_INCREMENT, name VARCHAR(100))"));
    neighbour_move_in(&neighbour, &there);
    bell_hang(&bell, db,
              fixture->engine == WEIR_MARIADB ? WEIR_SECONDS(1) : WEIR_HOURS(1));
    neighbour_do(&neighbour, COMMIT_AND_TELL);
    wait_until(atomic_load(&bell.seen) == 1);

    for (int i = 1; i <= 2; i++) {
        uint64_t polls = bell_info(&bell).polls;

        end(server);
        wait_until(!bell_info(&bell).listening);
        wait_until(bell_info(&bell).polls >= polls + 5);
        server_restart(server);
        if (fixture->engine == WEIR_POSTGRESQL)
            wait_until(bell_info(&bell).listening);
        neighbour_do(&neighbour, COMMIT_AND_TELL);
        wait_until(atomic_load(&bell.seen) == 1 + i);
    }

    bell_take_down(&bell);
    weir_db_destroy(db);
    neighbour_move_out(&neighbour);
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

/* ---- starting and stopping ---------------------------------------------------------------- */

ENGINE_TEST(wake, starts_and_stops_a_hundred_times)
{
    struct weir_wake_options options;
    struct bell bell;
    int files;

    make_table(fixture);
    bell_make(&bell, fixture->db);
    options = bell_options(&bell);
    files = count_files();

    for (int i = 0; i < 100; i++) {
        check_status(weir_wake_start(&options, &bell.wake, NULL), WEIR_OK);
        if (i % 10 == 0 && fixture->engine != WEIR_MARIADB)
            wait_until(bell_info(&bell).listening);
        weir_wake_stop(bell.wake);
    }

    check_int(count_files(), files);
    bell.wake = NULL;
    bell_take_down(&bell);
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
    struct bell bell;

    server_kill(server);
    bell_make(&bell, db);
    options = bell_options(&bell);
    bell_start(&bell, &options);
    wait_until(bell_info(&bell).polls >= 5);
    check(!bell_info(&bell).listening);

    bell_take_down(&bell);

    weir_db_destroy(db);
    server_destroy(server);
}

/* The connection is accepted by the kernel, and then there is silence: for a minute, by our
 * patience. Neither polls nor stop() may wait for it. */
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
    struct bell bell;

    options.url = url;
    options.connect_timeout_ns = WEIR_MINUTES(10);
    db = fixture_open(fixture, &options);
    bell_make(&bell, db);
    wake_options = bell_options(&bell);
    wake_options.poll_ns = WEIR_MILLISECONDS(20);

    check_status(weir_wake_start(&wake_options, &wake, NULL), WEIR_OK);
    do {
        fixture_wait(__FILE__, __LINE__, "polls", begun_ms + 60000);
        weir_wake_read(wake, &info);
    } while (info.polls < 10);
    check(!info.listening);
    weir_wake_stop(wake);

    check_in_range(now_ms() - begun_ms, 0, 60000);
    bell_take_down(&bell);
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
    struct bell bell;

    options.url = url;
    options.connect_timeout_ns = WEIR_SECONDS(1);
    db = fixture_open(fixture, &options);
    bell_make(&bell, db);
    wake_options = bell_options(&bell);
    check_status(weir_wake_start(&wake_options, &bell.wake, NULL), WEIR_OK);

    for (int i = 0; i < 2; i++) {
        int caller;

        wait_until((caller = accept4(silent, NULL, NULL, SOCK_CLOEXEC)) >= 0);
        (void)close(caller);
    }

    bell_take_down(&bell);
    weir_db_destroy(db);
    (void)close(silent);
}

/* ---- bad options -------------------------------------------------------------------------- */

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
    struct bell bell;
    struct weir_wake_options options;

    bell_make(&bell, fixture->db);
    for (size_t i = 0; i < sizeof CHANNELS / sizeof CHANNELS[0]; i++) {
        options = bell_options(&bell);
        options.channel = CHANNELS[i];
        refuses(fixture, options, "channel");
    }
    options = bell_options(&bell);
    options.poll_ns = 0;
    refuses(fixture, options, "poll_ns");
    options.poll_ns = WEIR_MILLISECONDS(1) - 1;
    refuses(fixture, options, "poll_ns");
    options.poll_ns = WEIR_HOURS(1) + 1;
    refuses(fixture, options, "poll_ns");
    options = bell_options(&bell);
    options.poll_min_ns = WEIR_MICROSECONDS(100) - 1;
    refuses(fixture, options, "poll_min_ns");
    options.poll_min_ns = options.poll_ns + 1;
    refuses(fixture, options, "poll_min_ns");
    bell_take_down(&bell);
}

ENGINE_TEST(wake, takes_the_longest_channel)
{
    static const char LONGEST[] = "a123456789_123456789_123456789_123456789_1234567";
    struct weir_connection *connection;
    struct weir_wake_options options;
    struct bell bell;

    check_int(strlen(LONGEST), 48);
    make_table(fixture);
    bell_make(&bell, fixture->db);
    options = bell_options(&bell);
    options.channel = LONGEST;
    options.poll_ns = WEIR_HOURS(1);
    bell_start(&bell, &options);
    if (fixture->engine != WEIR_MARIADB)
        wait_until(bell_info(&bell).listening);
    connection = fixture_take(fixture);

    check_db(weir_wake_send(connection, LONGEST, &fixture->error), WEIR_OK);

    if (fixture->engine == WEIR_POSTGRESQL)
        wait_until(bell_info(&bell).hints == 1);
    fixture_give(fixture, connection);
    bell_take_down(&bell);
}

ENGINE_TEST(wake, sends_nothing_to_a_bad_channel)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_wake_send(connection, "x'); DROP TABLE y; --", &fixture->error),
             WEIR_INVALID);

    fixture_give(fixture, connection);
}

/* ---- helpers ------------------------------------------------------------------------------ */

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

static int64_t now_ms(void)
{
    return fixture_deadline() - 60000;
}

static int count_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    check(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count;
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
