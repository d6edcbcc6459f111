/*
 * What a process notices of the others and of itself, and who hears of it: the log, and
 * whoever inspects.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/process_pool.h"
#include "outbox/outbox.h"
#include "weir/inspect.h"
#include "weir/version.h"

#define FOR_EVER_NS WEIR_SECONDS(300)

/* ---- a member that is overheard ---------------------------------------------------- */

enum { LINES_MAX = 64, LINE_SIZE = 256 };

struct log_capture {
    char lines[LINES_MAX][LINE_SIZE];
    _Atomic size_t count;
};

static void hear(void *state, enum weir_log_level level, const char *line)
{
    struct log_capture *self = state;
    size_t slot = atomic_load(&self->count);

    (void)level;
    if (slot >= LINES_MAX)
        return;
    (void)snprintf(self->lines[slot], LINE_SIZE, "%s", line);
    atomic_store(&self->count, slot + 1);
}

/* How many lines have both of these texts in them. */
static int heard(const struct log_capture *self, const char *text, const char *too)
{
    int count = 0;

    for (size_t i = 0; i < atomic_load(&self->count); i++)
        count +=
            strstr(self->lines[i], text) != NULL && strstr(self->lines[i], too) != NULL;
    return count;
}

struct setup {
    struct process_pool process_pool;
    struct log_capture log_capture;
    struct weir_fault_points points;
};

/* A member whose warnings are captured. It looks at the others at once and in short
 * intervals; point 0 counts that. */
static struct pool_process *join(struct fixture *fixture, struct setup *self)
{
    struct weir_db_options options = fixture_options(fixture);

    options.log = (struct weir_log){hear, &self->log_capture, WEIR_LOG_WARNING};
    return process_pool_join_with(
        &self->process_pool,
        &(struct process_pool_joining){.db = fixture_open(fixture, &options),
                                       .points = &self->points});
}

static struct setup *open_setup(struct fixture *fixture)
{
    static struct setup setup;

    memset(&setup, 0, sizeof setup);
    process_pool_open(&setup.process_pool, fixture,
                      &(struct process_pool_options){.lease_ns = FOR_EVER_NS});
    process_pool_leave(
        process_pool_join(&setup.process_pool)); /* crew-0 has made the subscription */
    weir_fault_points_init(&setup.points);
    weir_fault_points_arm(&setup.points, "failure_detector.looked", UINT64_MAX);
    weir_fault_points_arm(&setup.points, "failure_detector.eager", 1);
    return &setup;
}

static void wait_for_looks(const struct setup *self, uint64_t count)
{
    uint64_t before = atomic_load(&self->points.armed[0].passed);

    wait_until(atomic_load(&self->points.armed[0].passed) >= before + count);
}

/* A row of a process that is known by its lease, and whose last heartbeat was in
 * `heartbeat_in_s`. */
static void write_peer(struct fixture *fixture, const char *name, const char *library,
                       int heartbeat_in_s)
{
    struct weir_connection *connection = fixture_take(fixture);
    char sql[512];
    int64_t now_us;

    check_db(weir_connection_clock(connection, &now_us, &fixture->error), WEIR_OK);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO weir_member (process, subscription, name, until_us,"
                   " started_us, library, beat_us) SELECT 77, id, '%s',"
                   " 9000000000000000, 1, '%s', %lld FROM weir_subscription",
                   name, library,
                   (long long)(now_us + heartbeat_in_s * INT64_C(1000000)));
    fixture_execute(fixture, connection, sql);
    fixture_give(fixture, connection);
}

struct found {
    const char *name;
    struct weir_process_info info; /* its texts are gone */
    char library[64];
    int count;
};

static void find_process(void *state, const struct weir_process_info *info)
{
    struct found *self = state;

    if (strcmp(info->name, self->name) != 0)
        return;
    self->count++;
    self->info = *info;
    (void)snprintf(self->library, sizeof self->library, "%s", info->library);
}

static struct found inspect(struct fixture *fixture, struct process_pool *process_pool,
                            const char *name)
{
    struct found found = {.name = name};

    check_db(weir_outbox_read_processes(process_pool->outbox, NULL, find_process, &found,
                                        &fixture->error),
             WEIR_OK);
    return found;
}

/* ---- names ------------------------------------------------------------------------- */

OUTBOX_TEST(name, that_two_processes_have_is_told_once)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one;

    write_peer(fixture, "crew-1", weir_version_string(), 60);
    one = join(fixture, setup);
    wait_for_looks(setup, 3);

    check_int(heard(&setup->log_capture, "outbox.name_used_twice", "\"crew-1\""), 1);
    check_int(inspect(fixture, &setup->process_pool, "crew-1").count, 2);
    check(inspect(fixture, &setup->process_pool, "crew-1").info.name_used_twice);
    process_pool_leave(one);
    process_pool_close(&setup->process_pool);
}

/* It died, and was started again under its name. */
OUTBOX_TEST(name, of_who_was_here_before_is_not_used_twice)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one;

    write_peer(fixture, "crew-1", weir_version_string(), -3600);
    one = join(fixture, setup);
    wait_for_looks(setup, 2);

    check_int(heard(&setup->log_capture, "outbox.name_used_twice", ""), 0);
    process_pool_leave(one);
    process_pool_close(&setup->process_pool);
}

OUTBOX_TEST(name, of_one_process_is_not_used_twice)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one, *two;

    one = join(fixture, setup);
    two = process_pool_join(&setup->process_pool);
    wait_for_looks(setup, 2);

    check_int(atomic_load(&setup->log_capture.count), 0);
    check(!inspect(fixture, &setup->process_pool, "crew-1").info.name_used_twice);
    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_close(&setup->process_pool);
}

/* ---- libraries --------------------------------------------------------------------- */

static void meet_library(struct fixture *fixture, const char *library, int told)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one;

    write_peer(fixture, "peer", library, -1);
    one = join(fixture, setup);
    wait_for_looks(setup, 3);

    check_int(heard(&setup->log_capture, "outbox.older_library", "\"peer\""), told);
    check(inspect(fixture, &setup->process_pool, "peer").info.library_is_older ==
          (told > 0));
    check_str(inspect(fixture, &setup->process_pool, "peer").library, library);
    process_pool_leave(one);
    process_pool_close(&setup->process_pool);
}

OUTBOX_TEST(library, that_is_older_is_told_once)
{
    meet_library(fixture, "0.0.0", 1);
}

OUTBOX_TEST(library, that_says_nothing_is_older)
{
    meet_library(fixture, "", 1);
}

OUTBOX_TEST(library, of_the_same_version_is_not_told)
{
    meet_library(fixture, weir_version_string(), 0);
}

OUTBOX_TEST(library, that_is_newer_is_not_told)
{
    meet_library(fixture, "1000.0.0", 0);
}

/* ---- clocks ------------------------------------------------------------------------ */

/* Where the clock is each process's own: whoever is behind sees the other's future. */
OUTBOX_SQLITE_TEST(clock, of_another_that_is_ahead_is_told_once)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one;

    write_peer(fixture, "peer", weir_version_string(), 3600);
    one = join(fixture, setup);
    wait_for_looks(setup, 3);

    check_int(
        heard(&setup->log_capture, "outbox.wrong_clock", "name=\"peer\" ahead_ms=3"), 1);
    check_in_range(inspect(fixture, &setup->process_pool, "peer").info.clock_off_us,
                   INT64_C(3500000000), INT64_C(3600000000));
    process_pool_leave(one);
    process_pool_close(&setup->process_pool);
}

OUTBOX_TEST(clock, that_is_right_is_not_told)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one = join(fixture, setup);

    weir_outbox_notify(one->outbox, WEIR_NOTIFY_LEASE_KEEPER);

    check_int(heard(&setup->log_capture, "outbox.wrong_clock", ""), 0);
    check_in_range(inspect(fixture, &setup->process_pool, "crew-1").info.clock_off_us,
                   -5000000, 5000000);
    process_pool_leave(one);
    process_pool_close(&setup->process_pool);
}

/* An hour off, by order of the test. */
OUTBOX_TEST(clock, of_its_own_that_is_wrong_is_told_once)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one;

    weir_fault_points_arm(&setup->points, "failure_detector.wrong_clock", 1);
    weir_fault_points_arm(&setup->points, "lease_keeper.eager", 1);
    one = join(fixture, setup);
    wait_until(process_pool_quota_of(&setup->process_pool, one) ==
                   1 && /* which wakes it to beat */
               inspect(fixture, &setup->process_pool, "crew-1").info.clock_off_us >
                   INT64_C(3000000000));

    check_int(
        heard(&setup->log_capture, "outbox.wrong_clock", "name=\"crew-1\" off_ms=3"), 1);
    process_pool_leave(one);
    process_pool_close(&setup->process_pool);
}

/* ---- by what it is known ----------------------------------------------------------- */

OUTBOX_TEST(process, is_seen_to_be_known_by_its_lock)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one = join(fixture, setup);
    struct found found = inspect(fixture, &setup->process_pool, "crew-1");

    check_int(found.info.alive_by, WEIR_ALIVE_BY_LOCK);
    check_str(found.library, weir_version_string());
    check(!found.info.library_is_older);
    check_int(atomic_load(&setup->log_capture.count), 0);
    process_pool_leave(one);
    process_pool_close(&setup->process_pool);
}

/* The file cannot be made: a folder is in its place. It is tried again, and told once. */
OUTBOX_SQLITE_TEST(process, without_a_lock_goes_on_by_its_lease_and_says_so_once)
{
    struct setup *setup = open_setup(fixture);
    struct pool_process *one, *two;
    char path[SERVER_PATH_SIZE + 8];

    (void)snprintf(path, sizeof path, "%s-weir", fixture->database);
    check_int(unlink(path), 0);
    check_int(mkdir(path, 0700), 0);
    one = join(fixture, setup);
    check_int(inspect(fixture, &setup->process_pool, "crew-1").info.alive_by,
              WEIR_ALIVE_BY_LEASE);
    two = process_pool_join(&setup->process_pool);
    wait_for_looks(setup, 2);
    process_pool_enqueue(&setup->process_pool, 0, 3);
    wait_until(process_pool_stored(&setup->process_pool) == 3);
    check_int(heard(&setup->log_capture, "outbox.known_by_lease", "-weir"), 1);

    check_int(rmdir(path), 0); /* and now it can */
    wait_until(inspect(fixture, &setup->process_pool, "crew-1").info.alive_by ==
               WEIR_ALIVE_BY_LOCK);
    process_pool_leave(one);
    process_pool_leave(two);
    process_pool_close(&setup->process_pool);
}

OUTBOX_POSTGRESQL_TEST(process, behind_a_transaction_pooler_is_known_by_its_lease)
{
    struct setup *setup = open_setup(fixture);
    struct weir_db_options options = fixture_options(fixture);
    struct pool_process *one;
    char url[SERVER_URL_SIZE + 32];

    (void)snprintf(url, sizeof url, "%s%cpooler=transaction", fixture->url,
                   strchr(fixture->url, '?') != NULL ? '&' : '?');
    options.url = url;
    one = process_pool_join_with(
        &setup->process_pool,
        &(struct process_pool_joining){.db = fixture_open(fixture, &options)});

    check_int(inspect(fixture, &setup->process_pool, "crew-1").info.alive_by,
              WEIR_ALIVE_BY_LEASE);
    process_pool_leave(one);
    process_pool_close(&setup->process_pool);
}
