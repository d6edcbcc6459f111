/*
 * bench_db.c - what the database layer costs, against the bare driver of each engine.
 *
 *   bench_db [--quick] [ENGINE...]
 *
 * In each round both sides do the same work in turns, in small portions; the ratio of a
 * round is that of the medians of its portions, and the median of the rounds is judged.
 * docs/internals/bench.md explains how to read it; a target that is missed is printed
 * and does not change the exit code.
 */
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/connection.h"
#include "kit/server/server.h"
#include "lib/bare.h"
#include "lib/clock.h"
#include "lib/must.h"
#include "lib/proc.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { ROWS_TO_FIND = 1000, BATCH = 1000, BODIES = 64 };

/*
 * A portion takes a millisecond or two: when other programs want the cores as well,
 * most portions are not interrupted, and the median of a round's portions is that of an
 * undisturbed one.
 */
struct plan {
    size_t rounds;
    size_t find_batches;  /* per round and side */
    size_t batch_batches; /* likewise; each is one batch */
    size_t finds[3];      /* per portion, by engine */
};

static const struct plan FULL = {
    .rounds = 11,
    .find_batches = 150,
    .batch_batches = 40,
    .finds = {[WEIR_SQLITE] = 250, [WEIR_POSTGRESQL] = 15, [WEIR_MARIADB] = 15},
};

static const struct plan QUICK = {
    .rounds = 5,
    .find_batches = 30,
    .batch_batches = 8,
    .finds = {[WEIR_SQLITE] = 250, [WEIR_POSTGRESQL] = 15, [WEIR_MARIADB] = 15},
};

enum { BATCHES_MAX = 150 };

static const struct weir_sql SQL_FIND = {
    .name = "find",
    .text = "SELECT part, body FROM {p}_row WHERE id = {1}",
    .parameters = "i",
};

static const struct weir_sql SQL_INSERT[] = {
    [WEIR_SQLITE] = {.name = "insert",
                     .text = "INSERT INTO {p}_row (part, body) VALUES ({1}, {2})",
                     .parameters = "ib"},
    [WEIR_POSTGRESQL] = {.name = "insert",
                         .text = "INSERT INTO {p}_row (part, body) "
                                 "SELECT * FROM unnest({1}, {2})",
                         .parameters = "IB"},
    [WEIR_MARIADB] = {.name = "insert",
                      .text = "INSERT INTO {p}_row (part, body) VALUES ({1}, {2})",
                      .parameters = "ib"},
};

/* One engine with both sides connected to it. */
struct arena {
    int64_t ours_ns[BATCHES_MAX]; /* of one round */
    int64_t bare_ns[BATCHES_MAX];
    const struct bench_bare *bare;
    void *handle; /* of the bare driver */
    struct weir_db *db;
    struct weir_connection *connection;
    struct bench_row rows[BATCH];
    struct weir_value values[BATCH * 2]; /* the same rows */
    char bodies[BODIES][BENCH_BODY_SIZE];
    int64_t checksum; /* so that nothing is left out */
};

/* ---- setting up -------------------------------------------------------------------- */

static void make_rows(struct arena *self)
{
    for (size_t i = 0; i < BODIES; i++)
        memset(self->bodies[i], (int)('!' + i), BENCH_BODY_SIZE);
    for (size_t i = 0; i < BATCH; i++) {
        self->rows[i] =
            (struct bench_row){.part = (int64_t)i % 16, .body = self->bodies[i % BODIES]};
        self->values[2 * i] = weir_integer(self->rows[i].part);
        self->values[2 * i + 1] = weir_bytes(self->rows[i].body, BENCH_BODY_SIZE);
    }
}

/*
 * Client and server share one core. Else the way between two cores decides: it costs
 * half as much or twice as much as the statement, by where the scheduler happened to
 * put each connection, and that stays so for a whole run.
 */
static void share_one_core(pid_t server)
{
    char path[64];
    DIR *threads;
    struct dirent *entry;
    cpu_set_t here;

    bench_pin(0);
    bench_must(sched_getaffinity(0, sizeof here, &here) == 0, "cannot read the affinity");
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)server);
    threads = opendir(path);
    bench_must(threads != NULL, "cannot see the server's threads");
    while ((entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] != '.')
            (void)sched_setaffinity((pid_t)atol(entry->d_name), sizeof here, &here);
    }
    (void)closedir(threads);
}

static void open_arena(struct arena *self, const struct bench_bare *bare)
{
    struct bench_place place = {.user = SERVER_USER, .password = SERVER_PASSWORD};
    struct weir_db_options options;
    struct weir_error error;
    char path[SERVER_PATH_SIZE];
    char url[SERVER_URL_SIZE];

    memset(self, 0, sizeof *self);
    self->bare = bare;
    make_rows(self);
    if (bare->engine == WEIR_SQLITE) {
        (void)snprintf(path, sizeof path, "%.200s/bench.db", server_folder());
        (void)snprintf(url, sizeof url, "sqlite:%s", path);
        place.path = path;
    } else {
        struct server *server = server_shared(bare->engine);

        share_one_core(server_pid(server)); /* its connections inherit it */
        server_create_database(server, "bench");
        server_url(server, "bench", url, sizeof url);
        place.url = url;
        place.database = "bench";
        place.port = server_port(server);
    }
    self->handle = bare->open(&place);
    weir_db_options_init(&options);
    options.url = url;
    bench_must_ok(weir_db_create(&options, &self->db, &error), &error, "create");
    bench_must_ok(weir_db_acquire(self->db, &self->connection, &error), &error,
                  "connect");
}

static void close_arena(struct arena *self)
{
    weir_db_release(self->db, self->connection);
    weir_db_destroy(self->db);
    self->bare->close(self->handle);
    bench_unpin();
}

static double median(int64_t *times_ns, size_t count)
{
    bench_sort_ns(times_ns, count);
    return (double)bench_percentile_ns(times_ns, count, 50);
}

/* ---- one row by its key ------------------------------------------------------------ */

static int64_t find_ours(struct arena *self, int64_t id)
{
    struct weir_rows rows;
    struct weir_error error;
    int64_t sum;

    bench_must_ok(weir_connection_query(self->connection, &SQL_FIND,
                                        VALUES(weir_integer(id)), &rows, &error),
                  &error, "find");
    bench_must_ok(weir_rows_next(&rows, &error), &error, "find");
    sum = weir_rows_integer(&rows, 0) + weir_rows_bytes(&rows, 1).data[0];
    weir_rows_close(&rows);
    return sum;
}

static int64_t time_finds(struct arena *self, size_t count, bool ours)
{
    int64_t begun_ns = bench_now_ns();

    for (size_t i = 0; i < count; i++) {
        int64_t id = (int64_t)(i * 7 % ROWS_TO_FIND) + 1;

        self->checksum +=
            ours ? find_ours(self, id) : -self->bare->find(self->handle, id);
    }
    return bench_now_ns() - begun_ns;
}

static void bench_finds(struct arena *self, const struct plan *plan,
                        struct bench_pair *pair)
{
    size_t count = plan->finds[self->bare->engine];

    self->bare->insert(self->handle, self->rows, ROWS_TO_FIND);
    (void)time_finds(self, 10 * count, true);
    (void)time_finds(self, 10 * count, false);
    for (size_t round = 0; round < plan->rounds; round++) {
        for (size_t i = 0; i < plan->find_batches; i++) {
            self->ours_ns[i] = time_finds(self, count, true);
            self->bare_ns[i] = time_finds(self, count, false);
        }
        bench_pair_add(pair, median(self->ours_ns, plan->find_batches) / (double)count,
                       median(self->bare_ns, plan->find_batches) / (double)count);
    }
    bench_must(self->checksum == 0, "the two sides have found different rows");
}

/* ---- many rows at once ------------------------------------------------------------- */

static void insert_ours(struct arena *self)
{
    struct weir_error error;
    int64_t changed = 0;

    bench_must_ok(weir_connection_begin(self->connection, &error), &error, "begin");
    bench_must_ok(weir_connection_execute_many(self->connection,
                                               &SQL_INSERT[self->bare->engine],
                                               self->values, BATCH, 2, &changed, &error),
                  &error, "insert");
    bench_must_ok(weir_connection_commit(self->connection, &error), &error, "commit");
    bench_must(changed == BATCH, "rows are missing");
}

static int64_t time_batch(struct arena *self, bool ours)
{
    int64_t begun_ns = bench_now_ns();

    if (ours)
        insert_ours(self);
    else
        self->bare->insert(self->handle, self->rows, BATCH);
    return bench_now_ns() - begun_ns;
}

static void bench_batches(struct arena *self, const struct plan *plan,
                          struct bench_pair *pair)
{
    (void)time_batch(self, true);
    (void)time_batch(self, false);
    for (size_t round = 0; round < plan->rounds; round++) {
        self->bare->clear(self->handle);
        for (size_t i = 0; i < plan->batch_batches; i++) {
            self->ours_ns[i] = time_batch(self, true);
            self->bare_ns[i] = time_batch(self, false);
        }
        bench_pair_add(pair, BATCH * 1e9 / median(self->ours_ns, plan->batch_batches),
                       BATCH * 1e9 / median(self->bare_ns, plan->batch_batches));
    }
}

/* ---- the report -------------------------------------------------------------------- */

static void bench_engine(const struct bench_bare *bare, const struct plan *plan)
{
    static struct arena arena;
    struct bench_pair finds = {0};
    struct bench_pair batches = {0};
    char title[64];

    open_arena(&arena, bare);
    bench_finds(&arena, plan, &finds);
    bench_batches(&arena, plan, &batches);
    close_arena(&arena);
    (void)snprintf(title, sizeof title, "%s", weir_engine_name(bare->engine));
    bench_section(title, "weir", bare->name);
    bench_row_pair("one row by its key, prepared: each takes", BENCH_NANOSECONDS, &finds,
                   BENCH_AT_MOST(1.15));
    bench_row_pair("1,000 rows of 200 bytes, 1 commit: rows", BENCH_PER_SECOND, &batches,
                   BENCH_AT_LEAST(0.9));
}

int main(int argc, char **argv)
{
    static const struct bench_bare *const BARE[] = {
        &bench_bare_sqlite, &bench_bare_postgresql, &bench_bare_mariadb};
    const struct plan *plan = &FULL;
    bool chosen[3] = {false};
    bool all = true;
    int64_t begun_ns = bench_now_ns();

    for (int i = 1; i < argc; i++) {
        bool known = strcmp(argv[i], "--quick") == 0;

        plan = known ? &QUICK : plan;
        for (size_t engine = 0; engine < 3; engine++) {
            if (strcmp(argv[i], weir_engine_name(BARE[engine]->engine)) == 0) {
                known = chosen[engine] = true;
                all = false;
            }
        }
        if (!known) {
            (void)fprintf(stderr,
                          "usage: bench_db [--quick] [sqlite] [postgresql] [mariadb]\n");
            return 2;
        }
    }
    (void)printf("%zu cores, load %.2f, medians of %zu rounds%s\n", bench_core_count(),
                 bench_load(), plan->rounds,
                 plan == &QUICK ? " (quick: too few to mean much)" : "");
    (void)fflush(stdout);
    for (size_t engine = 0; engine < 3; engine++) {
        if (all || chosen[engine])
            bench_engine(BARE[engine], plan);
    }
    bench_summary();
    (void)printf("took %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - begun_ns) / 1e9, bench_load());
    return 0;
}
