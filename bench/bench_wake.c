/*
 * bench_wake.c - how soon another process hears of a commit, and what it costs to listen.
 *
 *   bench_wake [--quick] [ENGINE...]
 *
 *   process A   commit ---> stamp .................... wait until seen, pause, again
 *   process B            hint or poll ---> worker: stamp, read, "seen"
 *
 * The figure is the time from just after the commit in A to the first line of the
 * execution in B that has seen it, by the clock that both share; 0 when B was there
 * first. Both processes sleep in between. Servers and files are in memory if the
 * machine lets it; "on disk" is the same SQLite on the file system of the temporary
 * folder, where a commit is flushed.
 *
 * MariaDB is measured twice: as it is, where B polls, and with a folder for signals
 * (touch_file.h).
 *
 * The idle cost is what process B uses while nothing is committed.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "db/wake.h"
#include "kit/server/server.h"
#include "lib/clock.h"
#include "lib/must.h"
#include "lib/pool.h"
#include "lib/proc.h"
#include "lib/sample.h"
#include "lib/table.h"

struct plan {
    size_t rounds;
    size_t commits; /* per round */
    int64_t idle_ns;
};

static const struct plan FULL = {.rounds = 5,
                                 .commits = 400,
                                 .idle_ns = WEIR_SECONDS(10)};
static const struct plan QUICK = {.rounds = 5, .commits = 50, .idle_ns = WEIR_SECONDS(2)};

enum { COMMITS_MAX = 400 };

/* In memory that both processes share. */
struct board {
    _Atomic size_t wanted;        /* commits that A is to have made; SIZE_MAX: the end */
    _Atomic int64_t seen;         /* the highest id that B has read */
    _Atomic int64_t seen_ns;      /* when the execution began that read it */
    int64_t late_ns[COMMITS_MAX]; /* by A, of each commit */
    _Atomic size_t noted;         /* commits whose time is there */
};

struct setup {
    const char *name;
    enum weir_engine engine;
    bool hinted; /* B is told of commits */
    char url[SERVER_URL_SIZE + 80];
    struct board *board;
};

static const struct weir_sql SQL_INSERT = {
    .name = "insert",
    .text = "INSERT INTO {p}_tick (id) VALUES ({1})",
    .parameters = "i",
};

static const struct weir_sql SQL_NEWEST = {
    .name = "newest",
    .text = "SELECT max(id) FROM {p}_tick",
    .parameters = "",
};

static struct weir_db *open_db(const struct setup *setup)
{
    struct weir_db_options options;
    struct weir_error error;
    struct weir_db *db;

    weir_db_options_init(&options);
    options.url = setup->url;
    bench_must_ok(weir_db_create(&options, &db, &error), &error, "create");
    return db;
}

/* ---- process A --------------------------------------------------------------------- */

static void commit_tick(struct weir_connection *connection, int64_t id)
{
    struct weir_error error;

    bench_must_ok(weir_connection_begin(connection, &error), &error, "begin");
    bench_must_ok(weir_connection_execute(connection, &SQL_INSERT,
                                          VALUES(weir_integer(id)), NULL, &error),
                  &error, "insert");
    bench_must_ok(weir_wake_send(connection, "weir", &error), &error, "notify");
    bench_must_ok(weir_connection_commit(connection, &error), &error, "commit");
}

/* Pauses of 1 to 5 ms: long enough for B to be asleep again, and never the same. */
static void commit_ticks(const struct setup *setup)
{
    struct board *board = setup->board;
    struct weir_db *db = open_db(setup);
    struct weir_connection *connection;
    struct weir_error error;
    unsigned short random[3] = {1, 2, 3};
    size_t made = 0;

    bench_must_ok(weir_db_acquire(db, &connection, &error), &error, "connect");
    while (atomic_load(&board->wanted) != SIZE_MAX) {
        int64_t committed_ns;
        int64_t late_ns;

        if (made == atomic_load(&board->wanted)) {
            bench_sleep_ns(WEIR_MILLISECONDS(5));
            continue;
        }
        commit_tick(connection, (int64_t)++made);
        committed_ns = bench_now_ns();
        weir_wake_signal(db, "weir");
        while (atomic_load(&board->seen) < (int64_t)made)
            bench_sleep_ns(WEIR_MICROSECONDS(200));
        late_ns = atomic_load(&board->seen_ns) - committed_ns;
        board->late_ns[(made - 1) % COMMITS_MAX] = late_ns > 0 ? late_ns : 0;
        atomic_store(&board->noted, made);
        bench_sleep_ns(WEIR_MILLISECONDS(1) + (int64_t)(erand48(random) * 4e6));
    }
    weir_db_release(db, connection);
    weir_db_destroy(db);
}

static pid_t start_committer(const struct setup *setup)
{
    pid_t pid;

    (void)fflush(stdout);
    pid = fork();
    bench_must(pid >= 0, "no process");
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        commit_ticks(setup);
        _exit(0);
    }
    return pid;
}

/* ---- process B --------------------------------------------------------------------- */

struct listener {
    struct bench_pool pool;
    struct weir_notifier *notifier;
    struct weir_wake *wake;
    struct weir_db *db;
    struct board *board;
    _Atomic uint64_t executions;
};

static enum weir_status step_listener(struct weir_context *context, void *state,
                                      struct weir_directive *out,
                                      struct weir_error *error)
{
    struct listener *self = state;
    struct weir_connection *connection;
    int64_t begun_ns = bench_now_ns();
    int64_t newest = 0;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    (void)context;
    (void)out; /* preset to idle */
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_NEWEST, NO_VALUES,
                                               &newest, error);
    weir_db_release(self->db, connection);
    atomic_fetch_add(&self->executions, 1);
    if (status == WEIR_OK && newest > atomic_load(&self->board->seen)) {
        atomic_store(&self->board->seen_ns, begun_ns);
        atomic_store(&self->board->seen, newest);
        weir_wake_reward(self->wake);
    }
    return status;
}

static void start_listener(struct listener *self, const struct setup *setup)
{
    struct weir_wake_options wake;
    struct weir_worker_options worker;
    struct weir_wake_info info;
    struct weir_error error;

    *self = (struct listener){.db = open_db(setup), .board = setup->board};
    bench_pool_open(&self->pool, 1, NULL);
    self->notifier = bench_pool_notifier(&self->pool);
    weir_wake_options_init(&wake);
    wake.db = self->db;
    wake.notifier = self->notifier;
    bench_must_ok(weir_wake_start(&wake, &self->wake, &error), &error, "start the wake");
    worker = bench_pool_options(step_listener, self, &self->notifier);
    weir_worker_release(bench_pool_spawn(&self->pool, &worker));
    do {
        bench_sleep_ns(WEIR_MILLISECONDS(1));
        weir_wake_read(self->wake, &info);
    } while (!info.listening && setup->hinted);
    bench_pool_await(self->notifier, 1);
}

static void stop_listener(struct listener *self)
{
    bench_pool_close(&self->pool);
    weir_wake_stop(self->wake);
    weir_notifier_destroy(self->notifier);
    weir_db_destroy(self->db);
}

/* ---- what is measured -------------------------------------------------------------- */

static void measure_latency(const struct setup *setup, const struct plan *plan,
                            struct bench_sample *p50, struct bench_sample *p99)
{
    struct board *board = setup->board;
    size_t wanted = 0;

    for (size_t round = 0; round < plan->rounds; round++) {
        int64_t late_ns[COMMITS_MAX];

        wanted += plan->commits;
        atomic_store(&board->wanted, wanted);
        while (atomic_load(&board->noted) < wanted)
            bench_sleep_ns(WEIR_MILLISECONDS(5));
        for (size_t i = 0; i < plan->commits; i++)
            late_ns[i] = board->late_ns[(wanted - 1 - i) % COMMITS_MAX];
        bench_sort_ns(late_ns, plan->commits);
        bench_sample_add(p50, (double)bench_percentile_ns(late_ns, plan->commits, 50));
        bench_sample_add(p99, (double)bench_percentile_ns(late_ns, plan->commits, 99));
    }
}

static int64_t cpu_time_ns(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           (int64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* Statements of SQLite on any connection of this process. */
static _Atomic uint64_t sqlite_statements;

static int count_statement(unsigned what, void *unused, void *statement, void *text)
{
    (void)what;
    (void)unused;
    (void)statement;
    (void)text;
    atomic_fetch_add(&sqlite_statements, 1);
    return 0;
}

static int trace_new_connection(sqlite3 *db, const char **error,
                                const struct sqlite3_api_routines *api)
{
    (void)error;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

static void count_statements_of_sqlite(void)
{
    const union {
        int (*entry)(sqlite3 *, const char **, const struct sqlite3_api_routines *);
        void (*any)(void);
    } hook = {.entry = trace_new_connection};

    bench_must(sqlite3_auto_extension(hook.any) == SQLITE_OK, "no hook for SQLite");
}

struct idle {
    double cpu_per_second_ns;
    double statements;
};

/* The worker runs one statement each time it is executed. */
static struct idle measure_idle(const struct setup *setup, const struct plan *plan,
                                struct listener *listener)
{
    bool sqlite = setup->engine == WEIR_SQLITE;
    _Atomic uint64_t *counter = sqlite ? &sqlite_statements : &listener->executions;
    uint64_t statements;
    int64_t cpu_ns;

    bench_sleep_ns(WEIR_SECONDS(3)); /* until the last commit is forgotten */
    statements = atomic_load(counter);
    cpu_ns = cpu_time_ns();
    bench_sleep_ns(plan->idle_ns);
    return (struct idle){
        .cpu_per_second_ns =
            (double)(cpu_time_ns() - cpu_ns) * 1e9 / (double)plan->idle_ns,
        .statements = (double)(atomic_load(counter) - statements),
    };
}

/* ---- scenes ------------------------------------------------------------------------ */

static void make_table(const struct setup *setup)
{
    struct weir_db *db = open_db(setup);
    struct weir_connection *connection;
    struct weir_error error;

    bench_must_ok(weir_db_acquire(db, &connection, &error), &error, "connect");
    bench_must_ok(
        weir_connection_execute_text(
            connection, "CREATE TABLE {p}_tick (id BIGINT PRIMARY KEY)", &error),
        &error, "create table");
    weir_db_release(db, connection);
    weir_db_destroy(db);
}

static struct board *make_board(void)
{
    struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    bench_must(board != MAP_FAILED, "no shared memory");
    return board;
}

static void play(struct setup *setup, const struct plan *plan)
{
    struct bench_target soon =
        setup->hinted ? BENCH_BELOW((double)WEIR_MILLISECONDS(3)) : BENCH_UNJUDGED;
    struct bench_sample p50 = {0};
    struct bench_sample p99 = {0};
    struct listener listener;
    struct idle idle;
    pid_t committer;

    setup->board = make_board();
    make_table(setup);
    committer = start_committer(setup); /* before there are threads */
    start_listener(&listener, setup);
    measure_latency(setup, plan, &p50, &p99);
    idle = measure_idle(setup, plan, &listener);
    atomic_store(&setup->board->wanted, SIZE_MAX);
    stop_listener(&listener);
    (void)waitpid(committer, NULL, 0);
    (void)munmap(setup->board, sizeof *setup->board);

    bench_section(setup->name, "weir", "");
    bench_row_sample("from commit to execution, p50", BENCH_NANOSECONDS, &p50, soon);
    bench_row_sample("from commit to execution, p99", BENCH_NANOSECONDS, &p99, soon);
    bench_row_value("idle: time of a core, per second", BENCH_NANOSECONDS,
                    idle.cpu_per_second_ns, BENCH_BELOW((double)WEIR_SECONDS(1) * 0.003));
    bench_row_value("idle: statements", BENCH_COUNT, idle.statements,
                    setup->engine == WEIR_SQLITE ? BENCH_AT_MOST(0) : BENCH_UNJUDGED);
}

static void play_sqlite(const struct plan *plan)
{
    struct setup memory = {
        .name = "sqlite, in memory", .engine = WEIR_SQLITE, .hinted = true};
    struct setup disk = {
        .name = "sqlite, on disk", .engine = WEIR_SQLITE, .hinted = true};
    const char *temporary = getenv("TMPDIR");
    char folder[128];
    char path[160];

    (void)snprintf(memory.url, sizeof memory.url, "sqlite:%.200s/wake.db",
                   server_folder());
    play(&memory, plan);

    (void)snprintf(folder, sizeof folder, "%.100s/weir-bench-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    bench_must(mkdtemp(folder) != NULL, "no temporary folder");
    (void)snprintf(disk.url, sizeof disk.url, "sqlite:%s/wake.db", folder);
    play(&disk, plan);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/wake.db%s", folder,
                       (const char *const[]){"", "-wal", "-shm"}[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void play_server(enum weir_engine engine, const struct plan *plan)
{
    struct setup setup = {.name = weir_engine_name(engine),
                          .engine = engine,
                          .hinted = engine != WEIR_MARIADB};
    struct server *server = server_shared(engine);

    server_create_database(server, "bench");
    server_url(server, "bench", setup.url, sizeof setup.url);
    play(&setup, plan);
}

/* The folder goes with the server's. */
static void play_signals(const struct plan *plan)
{
    struct setup setup = {
        .name = "mariadb, with signals", .engine = WEIR_MARIADB, .hinted = true};
    struct server *server = server_shared(WEIR_MARIADB);
    char url[SERVER_URL_SIZE];

    server_create_database(server, "signals");
    server_url(server, "signals", url, sizeof url);
    (void)snprintf(setup.url, sizeof setup.url, "%s?signal=%.64s", url, server_folder());
    play(&setup, plan);
}

int main(int argc, char **argv)
{
    const struct plan *plan = &FULL;
    bool chosen[3] = {false};
    bool all = true;
    int64_t begun_ns = bench_now_ns();

    for (int i = 1; i < argc; i++) {
        bool known = strcmp(argv[i], "--quick") == 0;

        plan = known ? &QUICK : plan;
        for (size_t engine = 0; engine < 3; engine++) {
            if (strcmp(argv[i], weir_engine_name((enum weir_engine)engine)) == 0) {
                known = chosen[engine] = true;
                all = false;
            }
        }
        if (!known) {
            (void)fprintf(
                stderr, "usage: bench_wake [--quick] [sqlite] [postgresql] [mariadb]\n");
            return 2;
        }
    }
    (void)printf("%zu cores, load %.2f, medians of %zu rounds%s\n", bench_core_count(),
                 bench_load(), plan->rounds,
                 plan == &QUICK ? " (quick: too few to mean much)" : "");
    (void)fflush(stdout);
    count_statements_of_sqlite();
    if (all || chosen[WEIR_SQLITE])
        play_sqlite(plan);
    if (all || chosen[WEIR_POSTGRESQL])
        play_server(WEIR_POSTGRESQL, plan);
    if (all || chosen[WEIR_MARIADB])
        play_server(WEIR_MARIADB, plan);
    if (all || chosen[WEIR_MARIADB])
        play_signals(plan);
    if (all || chosen[WEIR_POSTGRESQL] || chosen[WEIR_MARIADB])
        bench_note("statements of a server's client are the worker's: one per poll");
    bench_summary();
    (void)printf("took %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - begun_ns) / 1e9, bench_load());
    return 0;
}
