/*
 * A dump beside the sweep on PostgreSQL: what is restored from it has every message
 * that waited and every position, or it is known to have a hole.
 *
 * TRUNCATE is not MVCC-safe. A leaf that is emptied between the snapshot of a dump and
 * its locks is empty in the dump, while what was set aside meanwhile is not in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "kit/db/dump.h"
#include "kit/outbox/held_dump.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/pg_outbox.h"
#include "kit/server/standby.h"
#include "outbox/postgres/engine.h"
#include "outbox/postgres/restore.h"
#include "outbox/postgres/sweep.h"
#include "outbox/schema.h"

enum {
    BITS = 6,        /* of a segment: leaf 0 has the ids 1 to 63 */
    PASSED = 60,     /* of them */
    WRITTEN = 80,    /* of partition 0 */
    CUTS = 4200,     /* one leaf of cuts that is not needed */
    ROUNDS = 2,      /* of the sweep: enough for everything that can be emptied */
    STEPS_MAX = 400, /* of a round */
    EMPTIED = 3,     /* a leaf of each kind */
};

/* Nothing is waited for. */
static const struct weir_sweep_limits AT_ONCE = {.wait_ns = 0,
                                                 .stood_ns = WEIR_SWEEP_STOOD_NS,
                                                 .copy_rows = WEIR_SWEEP_COPY_ROWS};

struct setup {
    struct fixture *fixture;
    struct weir_outbox_log log;
    struct weir_fault_points points;
    PGconn *db;
    int64_t pid;
    int64_t subscription;
    char waiting[PG_OUTBOX_LIST_SIZE]; /* what the subscription has not had */
    const struct server *dumped;       /* where dumps are taken */
    struct held_dump *dump;
};

/* A leaf of the log of which 60 messages are passed and 3 are not, positions in a leaf
 * of acks that is not filled any more, and a leaf of cuts that is not needed. */
static void fill(struct setup *self)
{
    PGconn *db = self->db;

    pg_run(db, "TRUNCATE weir_log, weir_aside, weir_ack, weir_cut");
    pg_run(db, "UPDATE weir_leaf SET emptied_cut = %d", CUTS);
    pg_run(db, "UPDATE weir_copy SET mark = -1");
    pg_run(db, "SELECT setval('weir_log_id', 1, false), setval('weir_ack_id', 1, false)");
    pg_run(db,
           "INSERT INTO weir_cut SELECT n, 0, '1', '1:1:', 0, 0"
           " FROM generate_series(0, %d) n",
           CUTS);
    pg_run(db,
           "INSERT INTO weir_ack (subscription, pid, version, epoch, incarnation,"
           " cut, last_id, seq) SELECT subscription, pid, 3, 0, '', %d, %d, %d"
           " FROM weir_lease",
           CUTS, PASSED, PASSED);
    pg_run(db, "SELECT setval('weir_ack_id', 65536)");
    (void)pg_outbox_write(db, self->pid, WRITTEN);
    (void)pg_outbox_cut(db);
    pg_outbox_list(db, self->pid, (struct weir_log_position){CUTS, PASSED},
                   self->waiting);
}

static void setup_open(struct setup *self, struct fixture *fixture)
{
    int64_t queue;

    *self = (struct setup){.fixture = fixture,
                           .log = {.ops = &weir_log_postgresql, .segment_bits = BITS},
                           .dumped = fixture->server};
    self->db = pg_outbox_connect(fixture);
    queue = pg_outbox_queue(self->db, "orders", 2);
    self->pid = weir_pid(queue, 0);
    self->subscription = pg_outbox_subscribe(self->db, queue, "first");
    weir_fault_points_init(&self->points);
    self->log.points = &self->points;
    fill(self);
}

static void setup_close(struct setup *self)
{
    PQfinish(self->db);
}

/* Some rounds of one process; how many leaves were emptied. */
static int64_t sweep(struct setup *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_sweep_state state = {0};
    int64_t truncated = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct weir_sweep_report report = {.more = true};

        for (int i = 0; report.more; i++) {
            check(i < STEPS_MAX);
            check_db(
                weir_pg_sweep(&self->log, fixture->db, &state, &report, &fixture->error),
                WEIR_OK);
            truncated += report.truncated;
        }
    }
    return truncated;
}

/* ---- the copy ---------------------------------------------------------------------- */

static struct fixture *open_database(struct server *server, const char *name)
{
    struct fixture *self = calloc(1, sizeof *self);
    struct weir_db_options options;

    check(self != NULL);
    self->engine = WEIR_POSTGRESQL;
    self->server = server;
    weir_faulty_heap_init(&self->heap);
    (void)snprintf(self->database, sizeof self->database, "%s", name);
    server_url(self->server, self->database, self->url, sizeof self->url);
    options = fixture_options(self);
    self->db = fixture_open(self, &options);
    return self;
}

/* An empty outbox in a database of its own, with the same segments. */
static struct fixture *make_outbox(struct server *server)
{
    char name[SERVER_PATH_SIZE];
    struct fixture *fixture;
    uint32_t from = 0, to = 0;

    server_name_database(name, sizeof name);
    server_create_database(server, name);
    fixture = open_database(server, name);
    check_db(weir_schema_migrate(&weir_outbox_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);
    outbox_small_segments(fixture, BITS);
    return fixture;
}

static void close_outbox(struct fixture *self)
{
    weir_db_destroy(self->db);
    check_int(self->heap.outstanding, 0);
    server_drop_database(self->server, self->database);
    free(self);
}

static enum weir_status restore(struct fixture *fixture, enum weir_pg_holes holes,
                                struct weir_pg_survey *survey)
{
    struct weir_connection *connection = fixture_take(fixture);
    enum weir_status status = weir_pg_restore(connection, holes, survey, &fixture->error);

    fixture_give(fixture, connection);
    return status;
}

/* What waited waits in the copy, in the same order, and the positions are the same. */
static void check_complete(struct setup *self, struct fixture *fixture)
{
    PGconn *db = pg_outbox_connect(fixture);
    char waiting[PG_OUTBOX_LIST_SIZE];

    pg_outbox_list(db, self->pid, (struct weir_log_position){CUTS, PASSED}, waiting);
    check_str(waiting, self->waiting);
    for (int p = 0; p < 2; p++) {
        struct weir_log_position log_position =
            pg_outbox_place(db, self->subscription, self->pid + p);

        check_int(log_position.cut, CUTS);
        check_int(log_position.id, PASSED);
    }
    PQfinish(db);
}

static void check_restores(struct setup *self, struct fixture *fixture)
{
    struct weir_pg_survey survey;

    check_db(restore(fixture, WEIR_PG_HOLES_REFUSED, &survey), WEIR_OK);
    check(survey.needed);
    check_complete(self, fixture);
}

static void begin_dump(void *argument)
{
    struct setup *self = argument;

    self->dump = held_dump_begin(self->dumped, self->fixture->database);
}

/* ---- at every point ---------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(dump, that_began_before_the_sweep_has_everything)
{
    struct setup setup;
    struct fixture *copy;

    outbox_small_segments(fixture, BITS);
    setup_open(&setup, fixture);
    copy = make_outbox(fixture->server);
    begin_dump(&setup);

    check_int(sweep(&setup), 0);
    held_dump_restore(setup.dump, copy);

    check_restores(&setup, copy);
    check_int(sweep(&setup), EMPTIED);
    close_outbox(copy);
    setup_close(&setup);
}

/* Passes of a point: of a leaf of the log, one of acks, one of cuts. */
static const struct {
    const char *name;
    uint64_t passes;
} POINTS[] = {{"sweep.judged", 3},
              {"sweep.copied", 3},
              {"sweep.locked", 3},
              {"sweep.truncated", 3}};
enum { POINT_COUNT = sizeof POINTS / sizeof POINTS[0] };

/* The scene anew, and a sweep in which a dump begins at this pass of this point. */
static int64_t sweep_with_dump_at(struct setup *self, const char *point, uint64_t pass)
{
    int64_t truncated;

    fill(self);
    self->dump = NULL;
    weir_fault_points_init(&self->points);
    weir_fault_points_arm_call(&self->points, point, pass, begin_dump, self);
    truncated = sweep(self);
    weir_fault_points_init(&self->points);
    check(self->dump != NULL);
    return truncated;
}

OUTBOX_POSTGRESQL_TEST(dump, that_began_at_any_point_of_the_sweep_has_everything)
{
    struct fixture *copy;
    struct setup setup;

    outbox_small_segments(fixture, BITS);
    setup_open(&setup, fixture);
    copy = make_outbox(fixture->server);
    for (size_t i = 0; i < POINT_COUNT; i++) {
        for (uint64_t pass = 1; pass <= POINTS[i].passes; pass++) {
            int64_t truncated = sweep_with_dump_at(&setup, POINTS[i].name, pass);

            held_dump_restore(setup.dump, copy);
            check_restores(&setup, copy);
            check_int(truncated + sweep(&setup), EMPTIED);
        }
    }
    close_outbox(copy);
    setup_close(&setup);
}

/* ---- holes ------------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(dump, that_the_sweep_waits_for_no_longer_is_known_to_have_a_hole)
{
    struct weir_pg_survey survey;
    struct fixture *copy;
    struct setup setup;

    outbox_small_segments(fixture, BITS);
    setup_open(&setup, fixture);
    setup.log.limits = &AT_ONCE;
    copy = make_outbox(fixture->server);
    begin_dump(&setup);

    check_int(sweep(&setup), EMPTIED);
    held_dump_restore(setup.dump, copy);

    {
        struct fixture *original = fixture;

        fixture = copy;
        check_db(restore(copy, WEIR_PG_HOLES_REFUSED, &survey), WEIR_SCHEMA);
        check(strstr(copy->error.text, "the dump has a hole") != NULL);
        check(strstr(copy->error.text, "--with-holes") != NULL);
        fixture = original;
    }
    check_int(fixture_ask(copy, "SELECT count(*) FROM weir_log"), WRITTEN - 63);
    close_outbox(copy);
    setup_close(&setup);
}

/* One leaf of the log only, of which nothing had to be set aside: the positions of the
 * dump are older than the acks by which its messages were passed. */
OUTBOX_POSTGRESQL_TEST(dump, misses_messages_that_were_passed_after_it_and_says_so)
{
    struct weir_pg_survey survey;
    struct fixture *copy;
    struct setup setup;

    outbox_small_segments(fixture, BITS);
    setup_open(&setup, fixture);
    setup.log.limits = &AT_ONCE;
    copy = make_outbox(fixture->server);
    begin_dump(&setup);
    pg_outbox_ack(setup.db, setup.subscription, setup.pid,
                  (struct weir_log_position){CUTS, 70});

    (void)sweep(&setup);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_aside"), 0);
    held_dump_restore(setup.dump, copy);

    check(restore(copy, WEIR_PG_HOLES_REFUSED, &survey) == WEIR_SCHEMA);
    check(weir_pg_hole_is_there(&survey.hole));
    close_outbox(copy);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(dump, with_a_hole_delivers_what_is_there_when_it_is_told_to)
{
    struct weir_pg_survey survey;
    char waiting[PG_OUTBOX_LIST_SIZE];
    struct fixture *copy;
    struct setup setup;
    PGconn *db;

    outbox_small_segments(fixture, BITS);
    setup_open(&setup, fixture);
    setup.log.limits = &AT_ONCE;
    copy = make_outbox(fixture->server);
    pg_run(setup.db, "UPDATE weir_queue SET removed_cut = %d, removed_id = 7", CUTS);
    begin_dump(&setup);
    (void)sweep(&setup);
    held_dump_restore(setup.dump, copy);

    check(restore(copy, WEIR_PG_HOLES_ACCEPTED, &survey) == WEIR_OK);
    check_int(survey.unplaced, 2);
    check_int(survey.messages, WRITTEN - 63);

    db = pg_outbox_connect(copy);
    check_int(pg_outbox_place(db, setup.subscription, setup.pid).cut, CUTS);
    check_int(pg_outbox_place(db, setup.subscription, setup.pid).id, 7);
    pg_outbox_list(db, setup.pid, (struct weir_log_position){CUTS, 7}, waiting);
    check_str(waiting, strstr(setup.waiting, "4201:64"));
    check(restore(copy, WEIR_PG_HOLES_REFUSED, &survey) == WEIR_OK);
    check(!weir_pg_hole_is_there(&survey.hole));
    PQfinish(db);
    close_outbox(copy);
    setup_close(&setup);
}

/* Restoring truncates, too. */
OUTBOX_POSTGRESQL_TEST(dump, of_a_copy_that_began_before_it_was_restored_has_a_hole)
{
    struct weir_pg_survey survey;
    struct fixture *copy, *second;
    struct setup setup;
    struct held_dump *dump;

    outbox_small_segments(fixture, BITS);
    setup_open(&setup, fixture);
    copy = make_outbox(fixture->server);
    second = make_outbox(fixture->server);
    begin_dump(&setup);
    held_dump_restore(setup.dump, copy);
    dump = held_dump_begin(copy->server, copy->database);

    check_restores(&setup, copy);
    held_dump_restore(dump, second);

    check(restore(second, WEIR_PG_HOLES_REFUSED, &survey) == WEIR_SCHEMA);
    close_outbox(second);
    close_outbox(copy);
    setup_close(&setup);
}

/* ---- the engine's own program ------------------------------------------------------ */

static struct fixture *copy_by_pg_dump(struct setup *self)
{
    char name[SERVER_PATH_SIZE];

    server_name_database(name, sizeof name);
    dump_copy_at(self->dumped, self->fixture->database, held_dump_snapshot(self->dump),
                 self->fixture->server, name);
    held_dump_end(self->dump);
    return open_database(self->fixture->server, name);
}

OUTBOX_POSTGRESQL_TEST(dump, by_pg_dump_beside_the_sweep_has_everything)
{
    struct fixture *copy;
    struct setup setup;

    outbox_small_segments(fixture, BITS);
    setup_open(&setup, fixture);
    (void)sweep_with_dump_at(&setup, "sweep.judged", 1);

    copy = copy_by_pg_dump(&setup);

    check_restores(&setup, copy);
    close_outbox(copy);
    setup_close(&setup);
}

/* ---- on a standby ------------------------------------------------------------------ */

/* What was committed on the primary is there. */
static void wait_for_standby(struct pair *pair)
{
    int64_t written = server_query(pair_primary(pair), NULL,
                                   "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn");

    wait_until(server_query(pair_standby(pair), NULL,
                            "SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn") >=
               written);
}

/* So that the primary keeps what a snapshot there needs, and replay does not end the
 * dump. */
static void give_feedback(struct pair *pair)
{
    server_execute(pair_standby(pair), NULL,
                   "ALTER SYSTEM SET hot_standby_feedback = on");
    server_execute(pair_standby(pair), NULL, "SELECT pg_reload_conf()");
    wait_until(server_query(pair_primary(pair), NULL,
                            "SELECT count(*) FROM pg_stat_replication"
                            " WHERE backend_xmin IS NOT NULL") == 1);
}

struct standby_setup {
    struct setup setup;
    struct pair *pair;
};

static void begin_standby_dump(void *argument)
{
    struct standby_setup *self = argument;

    wait_for_standby(self->pair);
    begin_dump(&self->setup);
}

/* A dump on the standby that begins at a pass of a point, restored: complete, or
 * refused. */
static bool is_complete_from(struct standby_setup *self, const char *point, uint64_t pass,
                             struct fixture *copy)
{
    struct setup *setup = &self->setup;
    struct weir_pg_survey survey;
    enum weir_status status;

    fill(setup);
    weir_fault_points_init(&setup->points);
    weir_fault_points_arm_call(&setup->points, point, pass, begin_standby_dump, self);
    check_int(sweep(setup), EMPTIED);
    wait_for_standby(self->pair);
    held_dump_restore(setup->dump, copy);
    status = restore(copy, WEIR_PG_HOLES_REFUSED, &survey);
    if (status == WEIR_OK)
        check_complete(setup, copy);
    else
        check(status == WEIR_SCHEMA && weir_pg_hole_is_there(&survey.hole));
    return status == WEIR_OK;
}

/* No wait helps there, since the primary does not see its snapshot: but the hole is
 * seen. */
WEIR_TEST(dump, on_a_standby_has_everything_or_is_known_to_have_a_hole)
{
    struct standby_setup self = {.pair = pair_create()};
    struct fixture *fixture = make_outbox(pair_primary(self.pair));
    struct fixture *copy = make_outbox(pair_primary(self.pair));

    give_feedback(self.pair);
    setup_open(&self.setup, fixture);
    self.setup.dumped = pair_standby(self.pair);

    check(!is_complete_from(&self, "sweep.judged", 1, copy));
    check(!is_complete_from(&self, "sweep.copied", 1, copy)); /* acks follow */
    check(!is_complete_from(&self, "sweep.copied", 2, copy)); /* and cuts */
    check(is_complete_from(&self, "sweep.copied", 3, copy));
    check(is_complete_from(&self, "sweep.locked", 3, copy));
    check(is_complete_from(&self, "sweep.truncated", 3, copy));

    setup_close(&self.setup);
    close_outbox(copy);
    close_outbox(fixture);
    pair_destroy(self.pair);
}
