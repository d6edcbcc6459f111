/*
 * Workers that go on working while their database is killed and comes back.
 *
 * On PostgreSQL and MariaDB the server is killed ten times under a ward of workers. On
 * SQLite, which has no server, other processes are killed in the middle of their
 * transactions on the same file. Afterwards everything that was reported as committed
 * is there, and nothing else but what was in doubt.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/executor.h>
#include <weir/notifier.h>
#include <weir/ward.h>

#include "db/transact.h"
#include "kit/choice.h"
#include "kit/db/engines.h"

enum { WORKERS = 8, THREADS = 4, CHILDREN = 3, ENTRIES = 5 };

static const struct weir_sql SQL_RAISE = {
    .name = "raise",
    .text = "UPDATE {p}_total SET n = n + 1 WHERE id = {1}",
    .parameters = "i",
};

static const struct weir_sql SQL_NOTE = {
    .name = "note",
    .text = "INSERT INTO {p}_entry (owner, place) VALUES ({1}, {2})",
    .parameters = "ii",
};

/* One worker, or one other process. */
struct toiler {
    int64_t id;
    struct weir_db *db;
    _Atomic int64_t committed;
    _Atomic int64_t in_doubt;
    _Atomic int64_t failed;  /* and was certainly not committed */
    struct weir_error error; /* of the last failure */
};

struct pool {
    struct weir_faulty_heap heap;
    struct weir_executor *executor;
    struct weir_db *db;
    struct weir_ward *ward;
    struct toiler toilers[WORKERS];
};

static int rounds(void);
static void make_tables(struct fixture *fixture, struct weir_db *db, int64_t first,
                        int64_t last);
static void start_pool(struct fixture *fixture, struct pool *pool, const char *url);
static void stop_pool(struct pool *pool);
static void check_toiler(struct toiler *toiler, int64_t total, int64_t entries);

/* ---- the work ---------------------------------------------------------------------- */

/* A total and the entries behind it, which must always fit each other. */
static enum weir_status raise_total(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    const struct toiler *self = argument;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_RAISE, VALUES(weir_integer(self->id)), NULL, error);

    for (int64_t place = 0; place < ENTRIES && status == WEIR_OK; place++)
        status = weir_connection_execute(
            connection, &SQL_NOTE, VALUES(weir_integer(self->id), weir_integer(place)),
            NULL, error);
    return status;
}

static enum weir_status toil_once(struct toiler *self, struct weir_error *error)
{
    enum weir_status status = weir_transact(self->db, raise_total, self, error);

    if (status == WEIR_OK)
        self->committed++;
    else if (status == WEIR_IN_DOUBT)
        self->in_doubt++;
    else if (status != WEIR_CANCELLED) /* by the end of the test */
        self->failed++;
    if (status != WEIR_OK)
        self->error = *error;
    return status;
}

static enum weir_status toil(struct weir_context *context, void *state,
                             struct weir_directive *out, struct weir_error *error)
{
    (void)context;
    *out = weir_proceed();
    return toil_once(state, error);
}

/* ---- servers ----------------------------------------------------------------------- */

/* Every worker has committed something since. */
static bool all_went_on(struct pool *pool, const int64_t *since)
{
    for (int i = 0; i < WORKERS; i++)
        if (pool->toilers[i].committed <= since[i])
            return false;
    return true;
}

static void read_progress(struct pool *pool, int64_t *out)
{
    for (int i = 0; i < WORKERS; i++)
        out[i] = pool->toilers[i].committed;
}

SERVER_TEST(restart, is_a_pause_for_the_workers)
{
    struct server *server = server_create(fixture->engine, NULL);
    int64_t since[WORKERS] = {0};
    char url[SERVER_URL_SIZE];
    struct pool pool;

    server_create_database(server, "store");
    server_url(server, "store", url, sizeof url);
    start_pool(fixture, &pool, url);

    for (int round = 0; round < rounds(); round++) {
        wait_until(all_went_on(&pool, since));
        server_kill(server);
        read_progress(&pool, since); /* nobody can have gone on since */
        if (round % 3 == 2) /* sometimes it takes a while: until it was noticed */
            wait_until(pool.toilers[round % WORKERS].failed > 0);
        server_restart(server);
    }
    wait_until(all_went_on(&pool, since));

    stop_pool(&pool);
    for (int i = 0; i < WORKERS; i++) {
        char sql[128];
        int64_t total;

        snprintf(sql, sizeof sql, "SELECT n FROM weir_total WHERE id = %d", i + 1);
        total = server_query(server, "store", sql);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM weir_entry WHERE owner = %d",
                 i + 1);
        check_toiler(&pool.toilers[i], total, server_query(server, "store", sql));
    }
    server_destroy(server);
}

/* A clean stop and start is no different. */
SERVER_TEST(restart, in_good_order_is_a_pause_too)
{
    struct server *server = server_create(fixture->engine, NULL);
    int64_t since[WORKERS] = {0};
    char url[SERVER_URL_SIZE];
    struct pool pool;

    server_create_database(server, "store");
    server_url(server, "store", url, sizeof url);
    start_pool(fixture, &pool, url);

    for (int round = 0; round < 2; round++) {
        wait_until(all_went_on(&pool, since));
        server_stop(server);
        read_progress(&pool, since);
        server_restart(server);
    }
    wait_until(all_went_on(&pool, since));

    stop_pool(&pool);
    server_destroy(server);
}

/* Stopping does not wait for a server that does not come back. */
SERVER_TEST(restart, that_never_comes_does_not_keep_the_workers)
{
    struct server *server = server_create(fixture->engine, NULL);
    int64_t since[WORKERS] = {0};
    char url[SERVER_URL_SIZE];
    struct pool pool;

    server_create_database(server, "store");
    server_url(server, "store", url, sizeof url);
    start_pool(fixture, &pool, url);
    wait_until(all_went_on(&pool, since));

    server_kill(server);
    for (int i = 0; i < WORKERS; i++)
        wait_until(pool.toilers[i].failed > 0);

    stop_pool(&pool);
    server_destroy(server);
}

/* ---- processes --------------------------------------------------------------------- */

struct child {
    pid_t pid;
    struct toiler *toiler; /* in memory that we share with it */
};

/* This program again, as `child__toils_until_it_is_killed`. */
static void start_child(struct child *child, const char *url, const char *memory,
                        int place)
{
    pid_t parent = getpid();

    child->pid = fork();
    check(child->pid >= 0);
    if (child->pid == 0) {
        char number[16];

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(126);
        snprintf(number, sizeof number, "%d", place);
        setenv("WEIR_TEST_URL", url, 1);
        setenv("WEIR_TEST_MEMORY", memory, 1);
        setenv("WEIR_TEST_PLACE", number, 1);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execl("/proc/self/exe", "test_restart", "child__toils", (char *)NULL);
        _exit(127);
    }
}

static void kill_child(struct child *child)
{
    int result;

    check_int(kill(child->pid, SIGKILL), 0);
    check_int(waitpid(child->pid, &result, 0), child->pid);
    check(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL);
}

static struct toiler *map_toilers(const char *path, int flags)
{
    size_t size = sizeof(struct toiler) * CHILDREN;
    int file = open(path, flags | O_CLOEXEC, 0600);
    void *memory;

    check(file >= 0);
    check_int(ftruncate(file, (off_t)size), 0);
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(memory != MAP_FAILED);
    close(file);
    return memory;
}

SQLITE_TEST(restart, of_other_processes_is_not_noticed_by_the_workers)
{
    struct child children[CHILDREN];
    int64_t since[WORKERS] = {0};
    char memory[SERVER_PATH_SIZE + 16];
    struct toiler *toilers;
    struct pool pool;

    snprintf(memory, sizeof memory, "%s.memory", fixture->database);
    toilers = map_toilers(memory, O_RDWR | O_CREAT);
    start_pool(fixture, &pool, fixture->url);
    make_tables(fixture, NULL, WORKERS + 1, WORKERS + CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        children[i].toiler = &toilers[i];
        toilers[i].id = WORKERS + 1 + i;
        start_child(&children[i], fixture->url, memory, i);
    }

    for (int round = 0; round < rounds(); round++) {
        for (int i = 0; i < CHILDREN; i++) {
            int64_t before = toilers[i].committed;

            wait_until(toilers[i].committed > before);
            kill_child(&children[i]);
            /* What it did not come to report is in doubt. */
            toilers[i].in_doubt++;
            start_child(&children[i], fixture->url, memory, i);
        }
        wait_until(all_went_on(&pool, since));
        read_progress(&pool, since);
    }
    for (int i = 0; i < CHILDREN; i++) {
        kill_child(&children[i]);
        toilers[i].in_doubt++;
    }
    stop_pool(&pool);

    for (int i = 0; i < WORKERS + CHILDREN; i++) {
        struct toiler *toiler = i < WORKERS ? &pool.toilers[i] : &toilers[i - WORKERS];
        char sql[128];
        int64_t total;

        snprintf(sql, sizeof sql, "SELECT n FROM weir_total WHERE id = %d", i + 1);
        total = fixture_ask(fixture, sql);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM weir_entry WHERE owner = %d",
                 i + 1);
        check_toiler(toiler, total, fixture_ask(fixture, sql));
        if (toiler->failed != 0)
            weir_test_fail(__FILE__, __LINE__, "failed %d times: %s", (int)toiler->failed,
                           toiler->error.text);
    }
    check_int(fixture_ask(fixture, "SELECT count(*) FROM pragma_integrity_check "
                                   "WHERE integrity_check = 'ok'"),
              1);
    munmap(toilers, sizeof(struct toiler) * CHILDREN);
    unlink(memory);
}

/* Only in that other process; elsewhere it has nothing to do. */
WEIR_TEST(child, toils_until_it_is_killed)
{
    const char *url = getenv("WEIR_TEST_URL");
    const char *memory = getenv("WEIR_TEST_MEMORY");
    const char *place = getenv("WEIR_TEST_PLACE");
    struct weir_db_options options;
    struct weir_error error;
    struct toiler *self;

    if (url == NULL || memory == NULL || place == NULL)
        return;
    self = map_toilers(memory, O_RDWR) + atoi(place);
    weir_db_options_init(&options);
    options.url = url;
    check_status(weir_db_create(&options, &self->db, &error), WEIR_OK);
    for (;;)
        (void)toil_once(self, &error);
}

/* ---- the crew ---------------------------------------------------------------------- */

/* Ten, or a hundred if asked for; under a sanitizer, which is about something else,
 * fewer. */
static int rounds(void)
{
    if (choice_is_long())
        return 100;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 3;
#else
    return 10;
#endif
}

static void make_tables(struct fixture *fixture, struct weir_db *db, int64_t first,
                        int64_t last)
{
    static const struct weir_sql SQL_ADD = {.name = "add",
                                            .text =
                                                "INSERT INTO {p}_total VALUES ({1}, 0)",
                                            .parameters = "i"};
    struct weir_connection *connection;

    if (db == NULL)
        db = fixture->db;
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection,
                    "CREATE TABLE IF NOT EXISTS {p}_total (id $integer PRIMARY KEY, "
                    "n $integer NOT NULL)");
    fixture_execute(fixture, connection,
                    "CREATE TABLE IF NOT EXISTS {p}_entry (owner $integer NOT NULL, "
                    "place $integer NOT NULL)");
    for (int64_t id = first; id <= last; id++)
        check_db(weir_connection_execute(connection, &SQL_ADD, VALUES(weir_integer(id)),
                                         NULL, &fixture->error),
                 WEIR_OK);
    weir_db_release(db, connection);
}

static void start_pool(struct fixture *fixture, struct pool *pool, const char *url)
{
    struct weir_executor_options executor_options;
    struct weir_db_options options;
    struct weir_ward_options ward_options = {.name = "crew"};

    memset(pool, 0, sizeof *pool);
    weir_faulty_heap_init(&pool->heap);
    weir_executor_options_init(&executor_options);
    executor_options.heap = &pool->heap.heap;
    executor_options.threads = THREADS;
    check_db(weir_executor_create(&executor_options, &pool->executor, &fixture->error),
             WEIR_OK);
    weir_db_options_init(&options);
    options.url = url;
    options.executor = pool->executor;
    check_db(weir_db_create(&options, &pool->db, &fixture->error), WEIR_OK);
    make_tables(fixture, pool->db, 1, WORKERS);
    check_db(
        weir_ward_create(pool->executor, &ward_options, &pool->ward, &fixture->error),
        WEIR_OK);
    for (int i = 0; i < WORKERS; i++) {
        struct weir_worker_options worker;
        struct weir_notifier *bell;

        pool->toilers[i].id = i + 1;
        pool->toilers[i].db = pool->db;
        check_status(weir_notifier_create(pool->executor, &bell), WEIR_OK);
        weir_notifier_notify_one(bell); /* to begin with */
        weir_worker_options_init(&worker);
        worker.name = "toiler";
        worker.action = toil;
        worker.state = &pool->toilers[i];
        worker.notifiers = &bell;
        worker.notifier_count = 1;
        worker.pace = weir_pace_none();
        worker.backoff.initial_ns = WEIR_MILLISECONDS(10);
        worker.backoff.max_ns = WEIR_MILLISECONDS(500);
        check_db(weir_ward_spawn(pool->ward, &worker, NULL, &fixture->error), WEIR_OK);
        weir_notifier_destroy(bell);
    }
}

/* Nobody is stuck and nothing is left. */
static void stop_pool(struct pool *pool)
{
    int64_t left_over;

    check_int(weir_ward_stop(pool->ward, WEIR_SECONDS(60)), 0);
    weir_ward_destroy(pool->ward);
    weir_db_destroy(pool->db);
    weir_executor_destroy(pool->executor);
    left_over = pool->heap.outstanding;
    check_int(left_over, 0);
}

static void check_toiler(struct toiler *toiler, int64_t total, int64_t entries)
{
    check_in_range(total, toiler->committed, toiler->committed + toiler->in_doubt);
    check_int(entries, total * ENTRIES);
}
