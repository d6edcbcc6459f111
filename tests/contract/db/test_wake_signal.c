/*
 * Tests of db/wake.c and mariadb/watch.c: processes of one host that tell each other of
 * commits, for MariaDB, which does not.
 *
 * Where both polling intervals are an hour there is no poll: what is seen was seen
 * because of a signal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "contract/db/wake_fixture.h"
#include "db/server_key.h"
#include "db/touch_file.h"

/* A folder, a database whose URL names it, and a bell there; or without a folder. */
struct consumer {
    struct fixture there;
    char folder[64]; /* "": the URL names none */
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
    struct weir_db *db;
    struct other_process other_process;
    struct wake_fixture wake_fixture;
    _Atomic int complaints; /* in the log, that a signal could not be sent */
};

static void consumer_open(struct consumer *self, struct fixture *fixture);
static void consumer_open_without_folder(struct consumer *self, struct fixture *fixture,
                                         const char *options);
static void consumer_listen(struct consumer *self, int64_t poll_ns, int64_t poll_min_ns);
static void consumer_close(struct consumer *self);

/* ---- hearing ----------------------------------------------------------------------- */

MARIADB_TEST(wake, hears_the_signals_of_another_process)
{
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));

    for (int i = 1; i <= 20; i++) {
        other_process_do(&consumer.other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&consumer.wake_fixture.seen) == i);
    }

    consumer_close(&consumer);
}

/* Nobody waits for the other one. Some signals come while nobody listens, after the one
 * before. */
MARIADB_TEST(wake, misses_no_last_signal_of_many)
{
    enum { ROUNDS = 10, COMMITS = 20 };
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));

    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < COMMITS; i++)
            other_process_tell(&consumer.other_process, COMMIT_AND_TELL);
        for (int i = 0; i < COMMITS; i++)
            other_process_await(&consumer.other_process);
        wait_until(atomic_load(&consumer.wake_fixture.seen) == (int64_t)round * COMMITS);
    }

    consumer_close(&consumer);
}

/* One every two milliseconds, however many come. */
MARIADB_TEST(wake, makes_a_few_looks_of_many_signals)
{
    int64_t begun_ms;
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));
    begun_ms = now_ms();

    for (int i = 0; i < 10000; i++)
        weir_wake_signal(consumer.db, "weir");

    check_in_range(wake_fixture_info(&consumer.wake_fixture).hints, 0,
                   (now_ms() - begun_ms) / 2 + 2);
    wait_until(wake_fixture_info(&consumer.wake_fixture).hints > 0);
    consumer_close(&consumer);
}

MARIADB_TEST(wake, hears_no_signals_of_other_channels)
{
    char other[WEIR_TOUCH_FILE_PATH_SIZE];
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));

    weir_wake_signal(consumer.db, "another");
    other_process_do(&consumer.other_process, COMMIT_AND_TELL);

    wait_until(atomic_load(&consumer.wake_fixture.seen) == 1);
    check_int(wake_fixture_info(&consumer.wake_fixture).hints, 1);
    weir_touch_file_path(consumer.folder, weir_db_config(consumer.db)->url.database,
                         "another", NULL, other);
    check_int(unlink(other), 0);
    consumer_close(&consumer);
}

/* The signals are thrown away just where they arrive. */
MARIADB_TEST(wake, loses_one_poll_interval_with_a_signal)
{
    struct weir_fault_points points;
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "watch.deaf", 1);
    weir_db_set_fault_points(consumer.db, &points);
    consumer_listen(&consumer, WEIR_MILLISECONDS(100), WEIR_MILLISECONDS(100));

    for (int i = 1; i <= 5; i++) {
        other_process_do(&consumer.other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&consumer.wake_fixture.seen) == i);
    }

    check_int(wake_fixture_info(&consumer.wake_fixture).hints, 0);
    consumer_close(&consumer);
}

/* Who commits on another host is not heard. So it polls as if nobody was: 1 ms and
 * doubling, and from the beginning when that was worth it. */
MARIADB_TEST(wake, polls_adaptively_beside_the_signals)
{
    int64_t begun_ms = now_ms();
    uint64_t polls;
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_MILLISECONDS(1));

    wait_until(wake_fixture_info(&consumer.wake_fixture).polls >=
               11); /* 2 + 4 + ... + 1024 ms */
    check_in_range(now_ms() - begun_ms, 500, INT64_MAX);
    check(wake_fixture_info(&consumer.wake_fixture).listening);

    /* Left alone, four more would take half a minute. */
    polls = wake_fixture_info(&consumer.wake_fixture).polls;
    weir_wake_reward(consumer.wake_fixture.wake);
    begun_ms = now_ms();
    wait_until(wake_fixture_info(&consumer.wake_fixture).polls >= polls + 4);
    check_in_range(now_ms() - begun_ms, 0, 20000);

    consumer_close(&consumer);
}

/* ---- the folder -------------------------------------------------------------------- */

MARIADB_TEST(wake, names_a_signal_folder_that_is_missing)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db;
    char url[SERVER_URL_SIZE + 64];

    snprintf(url, sizeof url, "%s?signal=/nowhere/to/be/found", fixture->url);
    options.url = url;

    check_db(weir_db_create(&options, &db, &fixture->error), WEIR_INVALID);

    check(db == NULL);
    check(strstr(fixture->error.text, "option signal") != NULL);
    check(strstr(fixture->error.text, "/nowhere/to/be/found") != NULL);
    check(strstr(fixture->error.text, SERVER_PASSWORD) == NULL);
}

MARIADB_TEST(wake, hears_signals_again_when_the_file_was_removed)
{
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));

    for (unsigned i = 1; i <= 3; i++) {
        check_int(unlink(consumer.path), 0);
        wait_until(wake_fixture_info(&consumer.wake_fixture).reconnects == i &&
                   wake_fixture_info(&consumer.wake_fixture).listening);
        other_process_do(&consumer.other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&consumer.wake_fixture.seen) == i);
    }

    consumer_close(&consumer);
}

/* Nobody fails, it is polled, and it is all well again when there is a folder again. */
MARIADB_TEST(wake, lives_without_its_signal_folder)
{
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_MILLISECONDS(50), WEIR_MILLISECONDS(2));
    check_int(unlink(consumer.path), 0);
    (void)rmdir(consumer.folder); /* it may have made another file already: */
    while (access(consumer.folder, F_OK) == 0) {
        (void)unlink(consumer.path);
        (void)rmdir(consumer.folder);
    }
    wait_until(!wake_fixture_info(&consumer.wake_fixture).listening);

    for (int i = 1; i <= 5; i++) {
        other_process_do(&consumer.other_process, COMMIT_AND_TELL);
        weir_wake_signal(consumer.db, "weir");
        wait_until(atomic_load(&consumer.wake_fixture.seen) == i);
    }
    check_int(atomic_load(&consumer.complaints), 1);

    check_int(mkdir(consumer.folder, 0700), 0);
    wait_until(wake_fixture_info(&consumer.wake_fixture).listening);
    weir_wake_signal(consumer.db, "weir");
    wait_until(wake_fixture_info(&consumer.wake_fixture).hints > 0);
    consumer_close(&consumer);
}

/* The file that was watched is still there, under another name. */
MARIADB_TEST(wake, hears_signals_in_a_folder_that_took_the_place)
{
    char aside[80];
    struct consumer consumer;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));
    snprintf(aside, sizeof aside, "%s.aside", consumer.folder);

    check_int(rename(consumer.folder, aside), 0);
    check_int(mkdir(consumer.folder, 0700), 0);

    wait_until(wake_fixture_info(&consumer.wake_fixture).reconnects == 1);
    other_process_do(&consumer.other_process, COMMIT_AND_TELL);
    wait_until(atomic_load(&consumer.wake_fixture.seen) == 1);
    consumer_close(&consumer);
    check_int(rename(aside, consumer.folder), 0);
    (void)unlink(consumer.path);
    check_int(rmdir(consumer.folder), 0);
}

/* ---- without a folder -------------------------------------------------------------- */

MARIADB_TEST(wake, hears_signals_without_a_folder_in_the_url)
{
    struct consumer consumer;

    consumer_open_without_folder(&consumer, fixture, "");
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));

    for (int i = 1; i <= 20; i++) {
        other_process_do(&consumer.other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&consumer.wake_fixture.seen) == i);
    }

    consumer_close(&consumer);
}

MARIADB_TEST(wake, leaves_no_file_behind_without_a_folder)
{
    struct consumer consumer;

    consumer_open_without_folder(&consumer, fixture, "");
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));
    check_int(access(consumer.path, F_OK), 0);

    consumer_close(&consumer);

    wait_until(access(consumer.path, F_OK) != 0); /* another process may tidy up */
}

/* Another process has removed it; or other servers have the name now. */
MARIADB_TEST(wake, hears_signals_again_when_the_held_file_was_removed)
{
    struct consumer consumer;

    consumer_open_without_folder(&consumer, fixture, "");
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));

    for (unsigned i = 1; i <= 3; i++) {
        check_int(unlink(consumer.path), 0);
        wait_until(wake_fixture_info(&consumer.wake_fixture).reconnects == i &&
                   wake_fixture_info(&consumer.wake_fixture).listening);
        other_process_do(&consumer.other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&consumer.wake_fixture.seen) == i);
    }

    consumer_close(&consumer);
}

/* The producer is on another host, or its /dev/shm is: no signal arrives, and no process
 * complains. */
MARIADB_TEST(wake, polls_where_producers_share_no_folder)
{
    struct consumer consumer;

    consumer_open_without_folder(&consumer, fixture, "");
    consumer_listen(&consumer, WEIR_MILLISECONDS(20), WEIR_MILLISECONDS(2));

    for (int i = 1; i <= 5; i++) {
        other_process_do(&consumer.other_process, COMMIT);
        wait_until(atomic_load(&consumer.wake_fixture.seen) == i);
    }

    check_int(wake_fixture_info(&consumer.wake_fixture).hints, 0);
    check_int(atomic_load(&consumer.complaints), 0);
    consumer_close(&consumer);
}

MARIADB_TEST(wake, signals_to_no_process_without_a_complaint)
{
    struct consumer consumer;

    consumer_open_without_folder(&consumer, fixture, "");

    weir_wake_signal(consumer.db, "weir");

    check_int(atomic_load(&consumer.complaints), 0);
    check_int(access(consumer.path, F_OK), -1);
    wake_fixture_hang(&consumer.wake_fixture, consumer.db, WEIR_HOURS(1));
    consumer_close(&consumer);
}

MARIADB_TEST(wake, makes_no_file_when_signals_are_off)
{
    struct consumer consumer;

    consumer_open_without_folder(&consumer, fixture, "?signal=off");
    wake_fixture_hang(&consumer.wake_fixture, consumer.db, WEIR_MILLISECONDS(50));

    for (int i = 1; i <= 3; i++) {
        other_process_do(&consumer.other_process, COMMIT_AND_TELL);
        wait_until(atomic_load(&consumer.wake_fixture.seen) == i);
    }

    check(!wake_fixture_info(&consumer.wake_fixture).listening);
    check_int(access(consumer.path, F_OK), -1);
    consumer_close(&consumer);
}

/* The first session comes long after the wake. */
MARIADB_TEST(wake, hears_signals_once_a_session_has_named_the_server)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture_open(fixture, &options);
    struct weir_connection *connection;
    struct weir_wake_options wake;
    struct weir_wake_info info;
    struct wake_fixture wake_fixture;

    wake_fixture_make(&wake_fixture, db);
    wake = wake_fixture_options(&wake_fixture);
    wake.poll_ns = WEIR_MILLISECONDS(20);
    check_status(weir_wake_start(&wake, &wake_fixture.wake, NULL), WEIR_OK);
    wait_until(wake_fixture_info(&wake_fixture).polls >= 10);
    check(!wake_fixture_info(&wake_fixture).listening);

    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    weir_db_release(db, connection);
    wait_until((weir_wake_read(wake_fixture.wake, &info), info.listening));
    weir_wake_signal(db, "weir");

    wait_until(wake_fixture_info(&wake_fixture).hints > 0);
    wake_fixture_take_down(&wake_fixture);
    weir_db_destroy(db);
}

/* ---- starting and stopping --------------------------------------------------------- */

MARIADB_TEST(wake, keeps_no_file_open_that_it_watched)
{
    struct weir_wake_options options;
    struct weir_wake_info info;
    struct weir_wake *wake;
    struct consumer consumer;
    int files;

    consumer_open(&consumer, fixture);
    consumer_listen(&consumer, WEIR_HOURS(1), WEIR_HOURS(1));
    options = wake_fixture_options(&consumer.wake_fixture);
    files = count_files();

    for (int i = 0; i < 20; i++) {
        check_status(weir_wake_start(&options, &wake, NULL), WEIR_OK);
        wait_until((weir_wake_read(wake, &info), info.listening));
        weir_wake_stop(wake);
    }

    wait_until(wake_fixture_is_quiet(&consumer.wake_fixture));
    check_int(count_files(), files);
    consumer_close(&consumer);
}

/* ---- helpers ----------------------------------------------------------------------- */

static void count_complaint(void *state, enum weir_log_level level, const char *line)
{
    struct consumer *self = state;

    if (level == WEIR_LOG_WARNING && strncmp(line, "wake.not_signalled ", 19) == 0)
        atomic_fetch_add(&self->complaints, 1);
}

/* The neighbour is forked: before there are threads or connections. */
static void consumer_enter(struct consumer *self, struct fixture *fixture)
{
    struct weir_db_options options;
    struct weir_connection *connection;

    other_process_move_in(&self->other_process, &self->there);
    options = fixture_options(&self->there);
    options.log = (struct weir_log){.write = count_complaint, .state = self};
    self->db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(self->db, &connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection,
                    "CREATE TABLE {p}_item (id BIGINT PRIMARY KEY AUTO_INCREMENT, "
                    "name VARCHAR(100))");
    weir_db_release(self->db, connection);
}

static void consumer_open(struct consumer *self, struct fixture *fixture)
{
    *self = (struct consumer){.there = *fixture};
    snprintf(self->folder, sizeof self->folder, "%.40s/signal-XXXXXX", server_folder());
    check(mkdtemp(self->folder) != NULL);
    snprintf(self->there.url, sizeof self->there.url, "%.400s?signal=%s", fixture->url,
             self->folder);
    consumer_enter(self, fixture);
    weir_touch_file_path(self->folder, weir_db_config(self->db)->url.database, "weir",
                         NULL, self->path);
}

static void consumer_open_without_folder(struct consumer *self, struct fixture *fixture,
                                         const char *options)
{
    char server[WEIR_SERVER_KEY_SIZE];

    *self = (struct consumer){.there = *fixture};
    snprintf(self->there.url, sizeof self->there.url, "%.400s%s", fixture->url, options);
    consumer_enter(self, fixture);
    check(weir_server_key_get(weir_db_config(self->db)->server, server));
    weir_touch_file_path("/dev/shm", weir_db_config(self->db)->url.database, "weir",
                         server, self->path);
}

/* Until it hears. */
static void consumer_listen(struct consumer *self, int64_t poll_ns, int64_t poll_min_ns)
{
    struct weir_wake_options options;

    wake_fixture_make(&self->wake_fixture, self->db);
    options = wake_fixture_options(&self->wake_fixture);
    options.poll_ns = poll_ns;
    options.poll_min_ns = poll_min_ns;
    wake_fixture_start(&self->wake_fixture, &options);
    wait_until(wake_fixture_info(&self->wake_fixture).listening);
    wait_until(wake_fixture_is_quiet(&self->wake_fixture));
}

static void consumer_close(struct consumer *self)
{
    wake_fixture_take_down(&self->wake_fixture);
    weir_db_set_fault_points(self->db, NULL);
    weir_db_destroy(self->db);
    other_process_move_out(&self->other_process);
    if (self->folder[0] == '\0')
        return;
    (void)unlink(self->path);
    check(rmdir(self->folder) == 0);
}
