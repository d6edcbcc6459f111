/*
 * The sweep on PostgreSQL: what all have passed goes, and nothing else.
 *
 * Segments hold 64 ids here: leaf 0 the ids 1 to 63, leaf 1 those from 64 to 127, and so on. What a
 * reader would get is found from the definition of the order (pg_outbox.h), before and after.
 */
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/random.h"
#include "db/db.h"
#include "lib/outbox_engines.h"
#include "lib/pg_outbox.h"
#include "outbox/postgres/sweep.h"

enum { BITS = 6, LEAF_0 = 63, STEPS_MAX = 64 };

struct scene {
    struct fixture *fixture;
    struct weir_outbox_log log;
    PGconn *db;
    int64_t queue;
    int64_t pid;   /* its partition 0 */
    int64_t first; /* its subscription */
};

static void scene_open(struct scene *self, struct fixture *fixture)
{
    *self = (struct scene){.fixture = fixture, .log = {.segment_bits = BITS}};
    outbox_small_segments(fixture, BITS);
    self->db = pg_outbox_connect(fixture);
    self->queue = pg_outbox_queue(self->db, "orders", 2);
    self->pid = weir_pid(self->queue, 0);
    self->first = pg_outbox_subscribe(self->db, self->queue, "first");
}

static void scene_close(struct scene *self)
{
    PQfinish(self->db);
}

/* One round, with what all of its steps report together. */
static struct weir_sweep_report sweep(struct scene *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report = {.more = true};
    struct weir_sweep_report sum = {0};

    for (int i = 0; report.more; i++) {
        check(i < STEPS_MAX);
        check_db(weir_pg_sweep(&self->log, fixture->db, &state, &report, &fixture->error),
                 WEIR_OK);
        sum.removed += report.removed;
        sum.aside += report.aside;
        sum.truncated += report.truncated;
    }
    return sum;
}

static int64_t write_and_cut(struct scene *self, int count)
{
    pg_outbox_write(self->db, self->pid, count);
    return pg_outbox_cut(self->db);
}

static void ack(struct scene *self, int64_t subscription, int64_t cut, int64_t id)
{
    pg_outbox_ack(self->db, subscription, self->pid, (struct weir_log_position){cut, id});
}

static void check_list(struct scene *self, struct weir_log_position after,
                       const char *want)
{
    char list[PG_OUTBOX_LIST_SIZE];

    pg_outbox_list(self->db, self->pid, after, list);
    check_str(list, want);
}

static int64_t rows_in(struct scene *self, const char *table)
{
    return pg_ask(self->db, "SELECT count(*) FROM weir_%s", table);
}

static void check_removed_place(struct scene *self, int64_t cut, int64_t id)
{
    check_int(pg_ask(self->db, "SELECT removed_cut FROM weir_queue WHERE id = %lld",
                     (long long)self->queue),
              cut);
    check_int(pg_ask(self->db, "SELECT removed_id FROM weir_queue WHERE id = %lld",
                     (long long)self->queue),
              id);
}

/* ---- what goes ----------------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, removes_a_leaf_that_all_have_passed)
{
    struct weir_sweep_report report;
    struct scene scene;

    scene_open(&scene, fixture);
    ack(&scene, scene.first, write_and_cut(&scene, 80), 0);

    report = sweep(&scene);

    check_int(report.removed, LEAF_0);
    check_int(report.aside, 0);
    check_int(report.truncated, 1);
    check_int(rows_in(&scene, "log"), 80 - LEAF_0);
    check_int(pg_ask(scene.db, "SELECT pg_relation_size('weir_log_0')"), 0);
    check_int(pg_ask(scene.db, "SELECT emptied_cut FROM weir_leaf WHERE leaf = 0"), 1);
    check_removed_place(&scene, 1, 0);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, notes_the_newest_cut_for_empty_leaves)
{
    struct scene scene;

    scene_open(&scene, fixture);
    ack(&scene, scene.first, write_and_cut(&scene, 10), 0);
    pg_outbox_cut(scene.db);

    (void)sweep(&scene);

    check_int(pg_ask(scene.db, "SELECT emptied_cut FROM weir_leaf WHERE leaf = 0"), 0);
    check_int(pg_ask(scene.db, "SELECT count(*) FROM weir_leaf WHERE emptied_cut = 2"),
              7);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, empties_a_large_leaf_that_is_being_filled)
{
    struct scene scene;

    scene_open(&scene, fixture);
    pg_run(scene.db, "ALTER TABLE weir_log_0 ALTER payload SET STORAGE EXTERNAL");
    pg_run(scene.db,
           "INSERT INTO weir_log (pid, uid, type, payload)"
           " SELECT %lld, 'u', 't', convert_to(repeat('x', 300000), 'UTF8')"
           " FROM generate_series(1, 40)",
           (long long)scene.pid);
    ack(&scene, scene.first, pg_outbox_cut(scene.db), 0);

    check_int(sweep(&scene).removed, 40);

    check_int(pg_ask(scene.db, "SELECT pg_relation_size('weir_log_0')"), 0);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_rows_of_queues_that_are_gone)
{
    struct scene scene;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);
    pg_run(scene.db, "DELETE FROM weir_subscription");
    pg_run(scene.db, "DELETE FROM weir_queue");

    check_int(sweep(&scene).removed, LEAF_0);

    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_what_nobody_reads_if_the_queue_says_so)
{
    struct scene scene;

    scene_open(&scene, fixture);
    pg_run(scene.db, "DELETE FROM weir_subscription");
    (void)write_and_cut(&scene, 80);

    check_int(sweep(&scene).removed, 0);
    pg_run(scene.db, "UPDATE weir_queue SET unread = 1");
    check_int(sweep(&scene).removed, LEAF_0);

    check_removed_place(&scene, 1, 0);
    scene_close(&scene);
}

/* ---- what stays ---------------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, leaves_a_small_leaf_that_is_being_filled)
{
    struct scene scene;

    scene_open(&scene, fixture);
    ack(&scene, scene.first, write_and_cut(&scene, LEAF_0), 0);

    check_int(sweep(&scene).truncated, 0);

    check_int(rows_in(&scene, "log"), LEAF_0);
    scene_close(&scene);
}

/* Running, then committed, then in a cut: only then may its leaf go, and it is set aside. */
OUTBOX_POSTGRESQL_TEST(sweep, waits_for_the_cut_of_every_row)
{
    struct scene scene;
    PGconn *other;

    scene_open(&scene, fixture);
    other = pg_outbox_connect(fixture);
    pg_run(other, "BEGIN");
    pg_outbox_write(other, scene.pid, 1);
    ack(&scene, scene.first, write_and_cut(&scene, 79), 0);

    check_int(sweep(&scene).truncated, 0);
    pg_run(other, "COMMIT");
    check_int(sweep(&scene).truncated, 0);
    check_int(rows_in(&scene, "log"), 80);
    check_int(pg_outbox_cut(scene.db), 2);
    check_int(sweep(&scene).aside, 1);

    check_list(&scene, (struct weir_log_position){1, 0}, "2:1");
    check_int(pg_ask(scene.db, "SELECT emptied_cut FROM weir_leaf WHERE leaf = 0"), 2);
    PQfinish(other);
    scene_close(&scene);
}

/* The row was not there in pass 1; only the look under the lock can notice. */
static void commit_a_late_row(void *argument)
{
    struct scene *scene = argument;

    pg_run(scene->db,
           "INSERT INTO weir_log (id, pid, uid, type, payload)"
           " VALUES (63, %lld, 'u', 't', 'p')",
           (long long)scene->pid);
}

OUTBOX_POSTGRESQL_TEST(sweep, notices_under_the_lock_what_came_since)
{
    struct weir_fault_points points;
    struct scene scene;

    scene_open(&scene, fixture);
    ack(&scene, scene.first, write_and_cut(&scene, 80), 0);
    pg_run(scene.db, "DELETE FROM weir_log WHERE id = 63");
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.judged", 1, commit_a_late_row, &scene);
    scene.log.points = &points;

    check_int(sweep(&scene).truncated, 0);
    pg_outbox_cut(scene.db);

    check_list(&scene, (struct weir_log_position){1, 0}, "2:63");
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, leaves_a_leaf_of_which_more_than_an_eighth_is_needed)
{
    struct scene scene;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);

    ack(&scene, scene.first, 0, LEAF_0 - 8);
    check_int(sweep(&scene).truncated, 0);
    ack(&scene, scene.first, 0, LEAF_0 - 7);
    check_int(sweep(&scene).aside, 7);

    check_removed_place(&scene, 0, LEAF_0 - 7);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, waits_for_the_slowest_subscription)
{
    struct scene scene;
    int64_t second;
    int64_t cut;

    scene_open(&scene, fixture);
    second = pg_outbox_subscribe(scene.db, scene.queue, "second");
    cut = write_and_cut(&scene, 80);

    ack(&scene, scene.first, cut, 0);
    check_int(sweep(&scene).truncated, 0);
    ack(&scene, second, cut, 0);
    check_int(sweep(&scene).truncated, 1);

    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, keeps_everything_when_an_ack_is_missing)
{
    struct scene scene;

    scene_open(&scene, fixture);
    ack(&scene, scene.first, write_and_cut(&scene, 80), 0);
    pg_run(scene.db, "DELETE FROM weir_ack WHERE pid = %lld", (long long)scene.pid);

    check_int(sweep(&scene).truncated, 0);

    scene_close(&scene);
}

/* ---- set aside ----------------------------------------------------------------------------- */

/* Id 1 is the oldest by id and the newest by cut: it has not been passed. */
OUTBOX_POSTGRESQL_TEST(sweep, judges_late_rows_by_their_cut)
{
    struct scene scene;
    PGconn *late;

    scene_open(&scene, fixture);
    late = pg_outbox_connect(fixture);
    pg_run(late, "BEGIN");
    pg_outbox_write(late, scene.pid, 1);
    (void)write_and_cut(&scene, 79);
    pg_run(late, "COMMIT");
    (void)pg_outbox_cut(scene.db);
    ack(&scene, scene.first, 0, 80); /* all of cut 1 */

    check_int(sweep(&scene).aside, 1);

    check_list(&scene, (struct weir_log_position){0, 80}, "2:1");
    PQfinish(late);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, sets_rows_aside_with_their_cut)
{
    struct scene scene;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 57);
    for (int i = 0; i < 6; i++)
        (void)write_and_cut(&scene, 1);
    (void)write_and_cut(&scene, 20);
    ack(&scene, scene.first, 2, 59);

    check_int(sweep(&scene).aside, 4);

    check_int(pg_ask(scene.db, "SELECT count(*) FROM weir_aside WHERE cut = id - 56"), 4);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_rows_set_aside_once_all_have_passed_them)
{
    struct scene scene;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);
    ack(&scene, scene.first, 0, 60);
    check_int(sweep(&scene).aside, 3);

    ack(&scene, scene.first, 0, 62);
    check_int(sweep(&scene).removed, 2);
    check_removed_place(&scene, 0, 62);
    ack(&scene, scene.first, 0, 80);
    check_int(sweep(&scene).removed, 1);

    check_int(rows_in(&scene, "aside"), 0);
    check_removed_place(&scene, 0, 80);
    scene_close(&scene);
}

/* ---- a subscription that stands still -------------------------------------------------------- */

/* As if everything in the log had been written that long ago. */
static void make_older(struct scene *self, int minutes)
{
    pg_run(self->db,
           "UPDATE weir_log SET created_us = created_us - %d * 60000000::bigint",
           minutes);
}

/* Two thirds of leaf 0 are another queue's, and delivered; one third waits. */
static void write_for_two_queues(struct scene *self)
{
    int64_t other = pg_outbox_queue(self->db, "other", 1);
    int64_t subscription = pg_outbox_subscribe(self->db, other, "first");

    for (int i = 0; i < 20; i++) {
        pg_outbox_write(self->db, weir_pid(other, 0), 2);
        pg_outbox_write(self->db, self->pid, 1);
    }
    pg_outbox_write(self->db, weir_pid(other, 0), 20);
    pg_outbox_ack(self->db, subscription, weir_pid(other, 0),
                  (struct weir_log_position){pg_outbox_cut(self->db), 0});
}

OUTBOX_POSTGRESQL_TEST(sweep, empties_a_leaf_beside_a_subscription_that_stands_still)
{
    char before[PG_OUTBOX_LIST_SIZE];
    struct scene scene;

    scene_open(&scene, fixture);
    write_for_two_queues(&scene);
    pg_outbox_list(scene.db, scene.pid, (struct weir_log_position){0, 0}, before);
    make_older(&scene, 11);

    check_int(sweep(&scene).aside, 20);

    check_int(rows_in(&scene, "log_0"), 0);
    check_list(&scene, (struct weir_log_position){0, 0}, before);
    scene_close(&scene);
}

/* A few rows in a part. */
static const struct weir_sweep_limits IN_PARTS = {.wait_ns = WEIR_SWEEP_WAIT_NS,
                                                  .stood_ns = WEIR_SWEEP_STOOD_NS,
                                                  .copy_rows = 5};

/* A subscription that lags for a moment costs no second write. */
OUTBOX_POSTGRESQL_TEST(sweep, copies_little_from_a_leaf_that_was_filled_just_now)
{
    struct scene scene;

    scene_open(&scene, fixture);
    write_for_two_queues(&scene);

    check_int(sweep(&scene).truncated, 0);

    check_int(rows_in(&scene, "aside"), 0);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, copies_from_the_leaf_that_ids_are_about_to_come_round_to)
{
    struct scene scene;

    scene_open(&scene, fixture);
    write_for_two_queues(&scene);
    pg_run(scene.db, "SELECT setval('weir_log_id', 7 * 64)");

    check_int(sweep(&scene).aside, 20);

    check_int(rows_in(&scene, "log_0"), 0);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, copies_nothing_from_a_leaf_without_a_row_to_remove)
{
    struct scene scene;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);
    make_older(&scene, 11);

    check_int(sweep(&scene).truncated, 0);

    check_int(rows_in(&scene, "aside"), 0);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, copies_many_rows_in_parts)
{
    char before[PG_OUTBOX_LIST_SIZE];
    struct weir_fault_points points;
    struct scene scene;

    scene_open(&scene, fixture);
    write_for_two_queues(&scene);
    make_older(&scene, 11);
    pg_outbox_list(scene.db, scene.pid, (struct weir_log_position){0, 0}, before);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "sweep.part", UINT64_MAX); /* counts */
    scene.log.points = &points;
    scene.log.limits = &IN_PARTS;

    check_int(sweep(&scene).aside, 20);

    check_in_range(points.armed[0].passed, 10, 20);
    check_int(rows_in(&scene, "log_0"), 0);
    check_list(&scene, (struct weir_log_position){0, 0}, before);
    scene_close(&scene);
}

struct latecomer {
    struct scene *scene;
    PGconn *writer;
};

static void commit_and_cut(void *argument)
{
    struct latecomer *self = argument;

    pg_run(self->writer, "COMMIT");
    (void)pg_outbox_cut(self->scene->db);
}

/* Its id is below everything that was copied, and it is in none of the parts. */
OUTBOX_POSTGRESQL_TEST(sweep, copies_a_row_that_comes_late_below_what_was_copied)
{
    char after[PG_OUTBOX_LIST_SIZE];
    struct weir_fault_points points;
    struct latecomer late;
    struct scene scene;

    scene_open(&scene, fixture);
    late = (struct latecomer){&scene, pg_outbox_connect(fixture)};
    pg_run(late.writer, "BEGIN");
    pg_outbox_write(late.writer, scene.pid, 1);
    write_for_two_queues(&scene);
    make_older(&scene, 11);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.part", 3, commit_and_cut, &late);
    scene.log.points = &points;
    scene.log.limits = &IN_PARTS;

    check_int(sweep(&scene).aside, 21);

    check_int(rows_in(&scene, "log_0"), 0);
    pg_outbox_list(scene.db, scene.pid, (struct weir_log_position){0, 0}, after);
    check(strstr(after, " 2:1") != NULL);
    PQfinish(late.writer);
    scene_close(&scene);
}

/* ---- between a copy and the emptying ------------------------------------------------------- */

static void subscribe_late(void *argument)
{
    struct scene *scene = argument;

    check_removed_place(scene, 0, 60);
    (void)pg_outbox_subscribe(scene->db, scene->queue, "late");
}

OUTBOX_POSTGRESQL_TEST(sweep, lets_a_new_subscription_begin_behind_what_was_copied)
{
    struct weir_fault_points points;
    struct scene scene;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);
    ack(&scene, scene.first, 0, 60);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.copied", 1, subscribe_late, &scene);
    scene.log.points = &points;

    check_int(sweep(&scene).truncated, 1);

    check_int(pg_ask(scene.db, "SELECT count(*) FROM weir_ack WHERE last_id = 60"), 3);
    scene_close(&scene);
}

/* A row that the copy has not seen, and that was passed since: a dump may see the copy and not yet
 * the ack, so the leaf stays until it is copied again. */
static void write_and_pass(void *argument)
{
    struct scene *scene = argument;

    commit_a_late_row(scene);
    (void)pg_outbox_cut(scene->db);
    pg_outbox_ack(scene->db, scene->first, scene->pid, (struct weir_log_position){2, 0});
}

OUTBOX_POSTGRESQL_TEST(sweep, empties_no_leaf_with_a_row_that_came_after_its_copy)
{
    struct weir_fault_points points;
    struct scene scene;

    scene_open(&scene, fixture);
    ack(&scene, scene.first, write_and_cut(&scene, 80), 0);
    pg_run(scene.db, "DELETE FROM weir_log WHERE id = 63");
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.copied", 1, write_and_pass, &scene);
    scene.log.points = &points;

    check_int(sweep(&scene).truncated, 0);
    check_int(pg_ask(scene.db, "SELECT last_value FROM weir_emptied"), 0);
    check_int(sweep(&scene).truncated, 1);

    check_int(pg_ask(scene.db, "SELECT last_value FROM weir_emptied"), 2);
    scene_close(&scene);
}

/* Each row is one, for whoever reads it, while it stands in both places. */
OUTBOX_POSTGRESQL_TEST(sweep, empties_a_leaf_that_was_copied_once_its_snapshot_is_gone)
{
    struct scene scene;
    PGconn *older_snapshot;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);
    ack(&scene, scene.first, 0, 60);
    older_snapshot = pg_outbox_connect(fixture);
    pg_run(older_snapshot, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");

    check_int(sweep(&scene).aside, 3);
    check_int(rows_in(&scene, "log_0"), LEAF_0);
    PQfinish(older_snapshot);
    check_int(sweep(&scene).truncated, 1);

    check_int(rows_in(&scene, "aside"), 3);
    scene_close(&scene);
}

/* The xmin of every snapshot is that of the long transaction, and older than the copy. */
OUTBOX_POSTGRESQL_TEST(sweep, does_not_wait_for_a_long_transaction)
{
    struct scene scene;
    PGconn *writer;

    scene_open(&scene, fixture);
    writer = pg_outbox_connect(fixture);
    pg_run(writer, "BEGIN");
    pg_outbox_write(writer, scene.pid + 1, 1);
    pg_run(scene.db, "SELECT setval('weir_log_id', 64)");
    (void)write_and_cut(&scene, 80);
    pg_run(scene.db, "SELECT setval('weir_log_id', 192)");
    ack(&scene, scene.first, 1, 0);

    check_int(sweep(&scene).truncated, 2);

    PQfinish(writer);
    scene_close(&scene);
}

/* ---- a step that fails ---------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, goes_on_behind_a_step_that_fails)
{
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;
    int64_t truncated = 0;
    struct scene scene;
    int failed = 0;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);
    ack(&scene, scene.first, 0, 60);
    pg_run(scene.db, "ALTER TABLE weir_aside ADD CHECK (false)");
    pg_run(scene.db, "SELECT setval('weir_ack_id', 65536)");

    do {
        failed += weir_pg_sweep(&scene.log, fixture->db, &state, &report,
                                &fixture->error) != WEIR_OK;
        truncated += report.truncated;
    } while (state.leaf != 0);

    check_int(failed, 1);
    check_int(truncated, 1);
    check_int(rows_in(&scene, "ack_0"), 0);
    check_int(rows_in(&scene, "log_0"), LEAF_0);
    scene_close(&scene);
}

/* ---- readers ------------------------------------------------------------------------------- */

/* Writers that overlap, some rolled back, and cuts between them; the same for the same seed. */
static void write_at_random(struct scene *self, struct weir_random *random, int rounds)
{
    PGconn *writers[3];
    bool open[3] = {false};

    for (int i = 0; i < 3; i++)
        writers[i] = pg_outbox_connect(self->fixture);
    for (int i = 0; i < rounds; i++) {
        uint32_t who = weir_random_below(random, 4);

        if (who == 3) {
            (void)pg_outbox_cut(self->db);
            continue;
        }
        if (!open[who])
            pg_run(writers[who], "BEGIN");
        open[who] = true;
        pg_outbox_write(writers[who], self->pid + (int64_t)weir_random_below(random, 2),
                        1 + (int)weir_random_below(random, 3));
        if (weir_random_below(random, 3) == 0) {
            pg_run(writers[who],
                   weir_random_below(random, 5) == 0 ? "ROLLBACK" : "COMMIT");
            open[who] = false;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (open[i])
            pg_run(writers[i], "COMMIT");
        PQfinish(writers[i]);
    }
    (void)pg_outbox_cut(self->db);
}

OUTBOX_POSTGRESQL_TEST(sweep, changes_nothing_for_readers_that_have_not_passed)
{
    char before[PG_OUTBOX_LIST_SIZE];
    struct weir_random random;
    struct scene scene;
    int64_t aside = 0;
    int64_t truncated = 0;

    scene_open(&scene, fixture);
    weir_random_init(&random, 7);
    for (int round = 0; round < 12; round++) {
        int64_t cuts;

        write_at_random(&scene, &random, 60);
        cuts = pg_ask(scene.db, "SELECT max(no) FROM weir_cut");
        for (int p = 0; p < 2; p++) {
            struct weir_log_position to = {
                cuts - (int64_t)weir_random_below(&random, 4),
                (int64_t)weir_random_below(&random, 3) *
                    pg_ask(scene.db, "SELECT max(id) - 9 FROM weir_log")};
            struct weir_log_position from =
                pg_outbox_place(scene.db, scene.first, scene.pid + p);

            pg_outbox_ack(scene.db, scene.first, scene.pid + p,
                          weir_log_position_later(from, to));
        }
        for (int p = 0; p < 2; p++) {
            struct weir_log_position log_position =
                pg_outbox_place(scene.db, scene.first, scene.pid + p);
            struct weir_sweep_report report;
            char after[PG_OUTBOX_LIST_SIZE];

            pg_outbox_list(scene.db, scene.pid + p, log_position, before);
            report = sweep(&scene);
            aside += report.aside;
            truncated += report.truncated;
            pg_outbox_list(scene.db, scene.pid + p, log_position, after);
            check_str(after, before);
        }
    }
    check(aside > 0);
    check(truncated > 5);
    scene_close(&scene);
}

/* ---- others at work ------------------------------------------------------------------------ */

OUTBOX_POSTGRESQL_TEST(sweep, yields_to_another_sweep)
{
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;
    struct scene scene;
    PGconn *other;

    scene_open(&scene, fixture);
    other = pg_outbox_connect(fixture);
    ack(&scene, scene.first, write_and_cut(&scene, 80), 0);
    pg_run(other, "SELECT pg_advisory_lock(hashtext('weir'), 3)");

    check_db(weir_pg_sweep(&scene.log, fixture->db, &state, &report, &fixture->error),
             WEIR_OK);

    check(!report.more);
    check_int(report.truncated, 0);
    PQfinish(other);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_nothing_while_somebody_subscribes)
{
    struct scene scene;
    PGconn *other;

    scene_open(&scene, fixture);
    other = pg_outbox_connect(fixture);
    ack(&scene, scene.first, write_and_cut(&scene, 80), 0);
    pg_run(other, "SELECT pg_advisory_lock_shared(hashtext('weir'), 2)");

    check_int(sweep(&scene).truncated, 0);

    PQfinish(other);
    scene_close(&scene);
}

static void stop_reading(void *argument)
{
    pg_run(argument, "COMMIT");
}

/* Refused while a reader has the leaf, had when it is done: tried again, never waited for. */
OUTBOX_POSTGRESQL_TEST(sweep, tries_again_when_a_reader_has_the_leaf)
{
    struct weir_fault_points points;
    struct scene scene;
    PGconn *reader;

    scene_open(&scene, fixture);
    reader = pg_outbox_connect(fixture);
    ack(&scene, scene.first, write_and_cut(&scene, 80), 0);
    pg_run(reader, "BEGIN");
    check_int(pg_ask(reader, "SELECT count(*) FROM weir_log"), 80);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.refused", 3, stop_reading, reader);
    scene.log.points = &points;

    check_int(sweep(&scene).truncated, 1);

    PQfinish(reader);
    scene_close(&scene);
}

static void pass_one_more(void *argument)
{
    struct scene *scene = argument;

    pg_outbox_ack(scene->db, scene->first, scene->pid, (struct weir_log_position){0, 61});
}

/* The position moves between two statements of the sweep: the removed place covers it. */
OUTBOX_POSTGRESQL_TEST(sweep, covers_what_was_passed_while_it_worked)
{
    struct weir_fault_points points;
    struct scene scene;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);
    ack(&scene, scene.first, 0, 60);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.locked", 1, pass_one_more, &scene);
    scene.log.points = &points;

    (void)sweep(&scene);

    check_removed_place(&scene, 0, 61);
    check_int(rows_in(&scene, "aside"), 2);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, is_not_disturbed_by_a_leaf_that_is_filled_again)
{
    struct scene scene;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 60);
    pg_run(scene.db, "SELECT setval('weir_log_id', 8 * 64 + 3)"); /* leaf 0 again */
    (void)write_and_cut(&scene, 30);
    pg_run(scene.db, "SELECT setval('weir_log_id', 9 * 64)");
    ack(&scene, scene.first, 1, 8 * 64 + 29);

    check_int(sweep(&scene).aside, 4);

    check_list(&scene, (struct weir_log_position){1, 8 * 64 + 29},
               "2:542 2:543 2:544 2:545");
    scene_close(&scene);
}

/* ---- acks ---------------------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, carries_the_newest_acks_to_another_leaf)
{
    struct scene scene;
    int64_t gone;

    scene_open(&scene, fixture);
    gone = pg_outbox_subscribe(scene.db, scene.queue, "gone");
    ack(&scene, scene.first, 5, 6);
    pg_run(scene.db, "DELETE FROM weir_subscription WHERE id = %lld", (long long)gone);
    pg_run(scene.db, "SELECT setval('weir_ack_id', 65536)");

    check_int(sweep(&scene).truncated, 1);

    check_int(pg_ask(scene.db, "SELECT pg_relation_size('weir_ack_0')"), 0);
    check_int(rows_in(&scene, "ack_1"), 2);
    check_int(pg_ask(scene.db,
                     "SELECT version FROM weir_ack WHERE pid = %lld AND cut = 5"
                     " AND last_id = 6",
                     (long long)scene.pid),
              1);
    check_int(pg_ask(scene.db, "SELECT version FROM weir_ack WHERE pid = %lld",
                     (long long)scene.pid + 1),
              0);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, carries_the_mark_of_an_ack)
{
    struct scene scene;

    scene_open(&scene, fixture);
    pg_run(scene.db, "UPDATE weir_ack SET trying = -7 WHERE pid = %lld",
           (long long)scene.pid);
    pg_run(scene.db, "SELECT setval('weir_ack_id', 65536)");

    check_int(sweep(&scene).truncated, 1);

    check_int(pg_ask(scene.db, "SELECT trying FROM weir_ack_1 WHERE pid = %lld",
                     (long long)scene.pid),
              -7);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, does_not_carry_acks_that_have_a_newer_one)
{
    struct scene scene;

    scene_open(&scene, fixture);
    pg_run(scene.db, "SELECT setval('weir_ack_id', 65536)");
    ack(&scene, scene.first, 5, 6);
    pg_outbox_ack(scene.db, scene.first, scene.pid + 1, (struct weir_log_position){5, 7});

    check_int(sweep(&scene).truncated, 1);

    check_int(rows_in(&scene, "ack"), 2);
    check_int(pg_outbox_place(scene.db, scene.first, scene.pid).id, 6);
    scene_close(&scene);
}

/* The ids that are carried to would lie in the leaf that is to be truncated. */
OUTBOX_POSTGRESQL_TEST(sweep, loses_no_ack_when_the_sequence_comes_round)
{
    struct scene scene;

    scene_open(&scene, fixture);
    pg_run(scene.db, "UPDATE weir_ack SET id = id + 65536"); /* leaf 1 */
    ack(&scene, scene.first, 5, 6);
    pg_run(scene.db, "UPDATE weir_ack SET id = id + 65536 WHERE cut = 5");
    pg_run(scene.db, "SELECT setval('weir_ack_id', 65534)");

    (void)sweep(&scene);

    check_int(pg_outbox_place(scene.db, scene.first, scene.pid).id, 6);
    check_int(pg_outbox_place(scene.db, scene.first, scene.pid + 1).id, 0);
    pg_run(scene.db, "SELECT setval('weir_ack_id', 131072)");
    check_int(sweep(&scene).truncated, 1);
    check_int(pg_outbox_place(scene.db, scene.first, scene.pid).id, 6);
    check_int(rows_in(&scene, "ack"), 2);
    scene_close(&scene);
}

/* ---- cuts ---------------------------------------------------------------------------------- */

/* Cuts up to `last`, which see nothing. */
static void make_cuts(struct scene *self, int64_t last)
{
    pg_run(self->db,
           "INSERT INTO weir_cut SELECT n, 0, '1', '1:1:', 0, 0"
           " FROM generate_series(1, %lld) n",
           (long long)last);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_cuts_that_nobody_needs)
{
    struct scene scene;

    scene_open(&scene, fixture);
    make_cuts(&scene, 9000);

    check_int(sweep(&scene).truncated, 2);

    check_int(pg_ask(scene.db, "SELECT min(no) FROM weir_cut"), 8192);
    check_int(pg_ask(scene.db, "SELECT max(no) FROM weir_cut"), 9000);
    check_int(pg_ask(scene.db, "SELECT pg_relation_size('weir_cut_0')"), 0);
    scene_close(&scene);
}

OUTBOX_POSTGRESQL_TEST(sweep, keeps_the_cut_before_the_oldest_row)
{
    struct scene scene;

    scene_open(&scene, fixture);
    make_cuts(&scene, 9000);
    pg_outbox_write(scene.db, scene.pid, 1);
    pg_run(scene.db, "UPDATE weir_leaf SET emptied_cut = 4095 WHERE leaf = 0");

    check_int(sweep(&scene).truncated, 0);
    pg_run(scene.db, "UPDATE weir_leaf SET emptied_cut = 4096 WHERE leaf = 0");
    check_int(sweep(&scene).truncated, 1);

    check_int(pg_ask(scene.db, "SELECT min(no) FROM weir_cut"), 4096);
    scene_close(&scene);
}

/* The position is older than every cut row that is left: nothing of the leaf is passed. */
OUTBOX_POSTGRESQL_TEST(sweep, takes_rows_as_not_passed_when_the_cut_of_the_place_is_gone)
{
    struct scene scene;

    scene_open(&scene, fixture);
    make_cuts(&scene, 9000);
    (void)sweep(&scene);
    (void)write_and_cut(&scene, 80);
    ack(&scene, scene.first, 17, 1000);

    check_int(sweep(&scene).truncated, 0);
    ack(&scene, scene.first, 9000, 60);
    check_int(sweep(&scene).aside, 3);

    check_list(&scene, (struct weir_log_position){9000, 60},
               "9001:61 9001:62 9001:63 9001:64 9001:65 9001:66 9001:67 9001:68 9001:69 "
               "9001:70 9001:71 9001:72 9001:73 9001:74 9001:75 9001:76 9001:77 9001:78 "
               "9001:79 9001:80");
    scene_close(&scene);
}

/* ---- crashes ------------------------------------------------------------------------------- */

/* The steps that have something to do, and the nth statement of them loses its connection; false:
 * they have fewer. */
static bool sweep_with_loss(struct scene *self, uint64_t at)
{
    struct weir_db_options options = fixture_options(self->fixture);
    struct weir_db *db = fixture_open(self->fixture, &options);
    static const uint32_t steps[] = {0, 1, 8, 9};
    struct weir_sweep_report report;
    enum weir_status status = WEIR_OK;
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "db.lose", at);
    weir_db_set_fault_points(db, &points);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == WEIR_OK; i++)
        status =
            weir_pg_sweep(&self->log, db, &(struct weir_sweep_state){.leaf = steps[i]},
                          &report, &self->fixture->error);
    weir_db_destroy(db);
    check(status == WEIR_OK || status == WEIR_LOST || status == WEIR_IN_DOUBT);
    return points.armed[0].passed >= at;
}

OUTBOX_POSTGRESQL_TEST(sweep, survives_a_crash_at_every_statement)
{
    struct weir_log_position log_position = {0, 60};
    char want[PG_OUTBOX_LIST_SIZE];
    struct scene scene;
    uint64_t at = 1;
    bool met = true;

    scene_open(&scene, fixture);
    (void)write_and_cut(&scene, 80);
    pg_outbox_list(scene.db, scene.pid, log_position, want);

    for (; met; at++) {
        pg_run(scene.db, "TRUNCATE weir_log, weir_aside, weir_ack, weir_cut");
        pg_run(scene.db, "UPDATE weir_leaf SET emptied_cut = 0");
        pg_run(scene.db, "UPDATE weir_copy SET mark = -1");
        pg_run(scene.db, "SELECT setval('weir_log_id', 1, false)");
        pg_run(scene.db, "SELECT setval('weir_ack_id', 1, false)");
        pg_run(scene.db, "INSERT INTO weir_cut VALUES (0, 0, '1', '1:1:', 0, 0)");
        pg_run(scene.db,
               "INSERT INTO weir_ack (subscription, pid, version, epoch,"
               " incarnation, cut, last_id, seq) SELECT subscription, pid, 3, 0, '',"
               " 0, 60, 60 FROM weir_lease");
        pg_run(scene.db, "SELECT setval('weir_ack_id', 65536)");
        (void)write_and_cut(&scene, 80);

        met = sweep_with_loss(&scene, at);

        /* A session that was cut off is noticed by the server a moment later. Until then it
         * counts as somebody else who sweeps. */
        wait_until(fixture_is_unlocked(fixture, "weir_log_0"));
        wait_until(fixture_ask(fixture,
                               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                               " AND database = (SELECT oid FROM pg_database"
                               " WHERE datname = current_database())") == 0);
        check_list(&scene, log_position, want);
        check_int(pg_outbox_place(scene.db, scene.first, scene.pid).id, 60);
        check_int(pg_outbox_place(scene.db, scene.first, scene.pid + 1).id, 60);
        (void)sweep(&scene);
        check_list(&scene, log_position, want);
        check_int(rows_in(&scene, "log_0"), 0);
        check_int(rows_in(&scene, "ack_0"), 0);
        check_int(rows_in(&scene, "ack"), 2);
        check_int(rows_in(&scene, "aside"), 3);
    }
    check_in_range(at, 35, 400);
    scene_close(&scene);
}
