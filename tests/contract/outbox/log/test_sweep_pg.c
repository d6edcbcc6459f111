/*
 * The sweep on PostgreSQL: what all have passed goes, and nothing else.
 *
 * Segments hold 64 ids here: leaf 0 the ids 1 to 63, leaf 1 those from 64 to 127, and
 * so on. What a reader would get is found from the definition of the order
 * (pg_outbox.h), before and after.
 */
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/random.h"
#include "db/db.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/postgres/engine.h"
#include "outbox/postgres/sweep.h"

enum { BITS = 6, LEAF_0 = 63, STEPS_MAX = 64 };

struct setup {
    struct fixture *fixture;
    struct weir_outbox_log log;
    PGconn *db;
    int64_t queue;
    int64_t pid;   /* its partition 0 */
    int64_t first; /* its subscription */
};

static void setup_open(struct setup *self, struct fixture *fixture)
{
    *self = (struct setup){.fixture = fixture,
                           .log = {.ops = &weir_log_postgresql, .segment_bits = BITS}};
    outbox_small_segments(fixture, BITS);
    self->db = pg_outbox_connect(fixture);
    self->queue = pg_outbox_queue(self->db, "orders", 2);
    self->pid = weir_pid(self->queue, 0);
    self->first = pg_outbox_subscribe(self->db, self->queue, "first");
}

static void setup_close(struct setup *self)
{
    PQfinish(self->db);
}

/* One round, with what all of its steps report together. */
static struct weir_sweep_report sweep(struct setup *self)
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

static int64_t write_and_cut(struct setup *self, int count)
{
    pg_outbox_write(self->db, self->pid, count);
    return pg_outbox_cut(self->db);
}

static void ack(struct setup *self, int64_t subscription, int64_t cut, int64_t id)
{
    pg_outbox_ack(self->db, subscription, self->pid, (struct weir_log_position){cut, id});
}

static void check_list(struct setup *self, struct weir_log_position after,
                       const char *want)
{
    char list[PG_OUTBOX_LIST_SIZE];

    pg_outbox_list(self->db, self->pid, after, list);
    check_str(list, want);
}

static int64_t rows_in(struct setup *self, const char *table)
{
    return pg_ask(self->db, "SELECT count(*) FROM weir_%s", table);
}

static void check_removed_place(struct setup *self, int64_t cut, int64_t id)
{
    check_int(pg_ask(self->db, "SELECT removed_cut FROM weir_queue WHERE id = %lld",
                     (long long)self->queue),
              cut);
    check_int(pg_ask(self->db, "SELECT removed_id FROM weir_queue WHERE id = %lld",
                     (long long)self->queue),
              id);
}

/* ---- what goes --------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, removes_a_leaf_that_all_have_passed)
{
    struct weir_sweep_report report;
    struct setup setup;

    setup_open(&setup, fixture);
    ack(&setup, setup.first, write_and_cut(&setup, 80), 0);

    report = sweep(&setup);

    check_int(report.removed, LEAF_0);
    check_int(report.aside, 0);
    check_int(report.truncated, 1);
    check_int(rows_in(&setup, "log"), 80 - LEAF_0);
    check_int(pg_ask(setup.db, "SELECT pg_relation_size('weir_log_0')"), 0);
    check_int(pg_ask(setup.db, "SELECT emptied_cut FROM weir_leaf WHERE leaf = 0"), 1);
    check_removed_place(&setup, 1, 0);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, notes_the_newest_cut_for_empty_leaves)
{
    struct setup setup;

    setup_open(&setup, fixture);
    ack(&setup, setup.first, write_and_cut(&setup, 10), 0);
    pg_outbox_cut(setup.db);

    (void)sweep(&setup);

    check_int(pg_ask(setup.db, "SELECT emptied_cut FROM weir_leaf WHERE leaf = 0"), 0);
    check_int(pg_ask(setup.db, "SELECT count(*) FROM weir_leaf WHERE emptied_cut = 2"),
              7);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, empties_a_large_leaf_that_is_being_filled)
{
    struct setup setup;

    setup_open(&setup, fixture);
    pg_run(setup.db, "ALTER TABLE weir_log_0 ALTER payload SET STORAGE EXTERNAL");
    pg_run(setup.db,
           "INSERT INTO weir_log (pid, uid, type, payload)"
           " SELECT %lld, 'u', 't', convert_to(repeat('x', 300000), 'UTF8')"
           " FROM generate_series(1, 40)",
           (long long)setup.pid);
    ack(&setup, setup.first, pg_outbox_cut(setup.db), 0);

    check_int(sweep(&setup).removed, 40);

    check_int(pg_ask(setup.db, "SELECT pg_relation_size('weir_log_0')"), 0);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_rows_of_queues_that_are_gone)
{
    struct setup setup;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);
    pg_run(setup.db, "DELETE FROM weir_subscription");
    pg_run(setup.db, "DELETE FROM weir_queue");

    check_int(sweep(&setup).removed, LEAF_0);

    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_what_nobody_reads_if_the_queue_says_so)
{
    struct setup setup;

    setup_open(&setup, fixture);
    pg_run(setup.db, "DELETE FROM weir_subscription");
    (void)write_and_cut(&setup, 80);

    check_int(sweep(&setup).removed, 0);
    pg_run(setup.db, "UPDATE weir_queue SET unread = 1");
    check_int(sweep(&setup).removed, LEAF_0);

    check_removed_place(&setup, 1, 0);
    setup_close(&setup);
}

/* ---- what stays -------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, leaves_a_small_leaf_that_is_being_filled)
{
    struct setup setup;

    setup_open(&setup, fixture);
    ack(&setup, setup.first, write_and_cut(&setup, LEAF_0), 0);

    check_int(sweep(&setup).truncated, 0);

    check_int(rows_in(&setup, "log"), LEAF_0);
    setup_close(&setup);
}

/* Running, then committed, then in a cut: only then may its leaf go, and it is set
 * aside. */
OUTBOX_POSTGRESQL_TEST(sweep, waits_for_the_cut_of_every_row)
{
    struct setup setup;
    PGconn *other;

    setup_open(&setup, fixture);
    other = pg_outbox_connect(fixture);
    pg_run(other, "BEGIN");
    pg_outbox_write(other, setup.pid, 1);
    ack(&setup, setup.first, write_and_cut(&setup, 79), 0);

    check_int(sweep(&setup).truncated, 0);
    pg_run(other, "COMMIT");
    check_int(sweep(&setup).truncated, 0);
    check_int(rows_in(&setup, "log"), 80);
    check_int(pg_outbox_cut(setup.db), 2);
    check_int(sweep(&setup).aside, 1);

    check_list(&setup, (struct weir_log_position){1, 0}, "2:1");
    check_int(pg_ask(setup.db, "SELECT emptied_cut FROM weir_leaf WHERE leaf = 0"), 2);
    PQfinish(other);
    setup_close(&setup);
}

/* The row was not there in pass 1; only the look under the lock can notice. */
static void commit_a_late_row(void *argument)
{
    struct setup *setup = argument;

    pg_run(setup->db,
           "INSERT INTO weir_log (id, pid, uid, type, payload)"
           " VALUES (63, %lld, 'u', 't', 'p')",
           (long long)setup->pid);
}

OUTBOX_POSTGRESQL_TEST(sweep, notices_under_the_lock_what_came_since)
{
    struct weir_fault_points points;
    struct setup setup;

    setup_open(&setup, fixture);
    ack(&setup, setup.first, write_and_cut(&setup, 80), 0);
    pg_run(setup.db, "DELETE FROM weir_log WHERE id = 63");
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.judged", 1, commit_a_late_row, &setup);
    setup.log.points = &points;

    check_int(sweep(&setup).truncated, 0);
    pg_outbox_cut(setup.db);

    check_list(&setup, (struct weir_log_position){1, 0}, "2:63");
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, leaves_a_leaf_of_which_more_than_an_eighth_is_needed)
{
    struct setup setup;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);

    ack(&setup, setup.first, 0, LEAF_0 - 8);
    check_int(sweep(&setup).truncated, 0);
    ack(&setup, setup.first, 0, LEAF_0 - 7);
    check_int(sweep(&setup).aside, 7);

    check_removed_place(&setup, 0, LEAF_0 - 7);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, waits_for_the_slowest_subscription)
{
    struct setup setup;
    int64_t second;
    int64_t cut;

    setup_open(&setup, fixture);
    second = pg_outbox_subscribe(setup.db, setup.queue, "second");
    cut = write_and_cut(&setup, 80);

    ack(&setup, setup.first, cut, 0);
    check_int(sweep(&setup).truncated, 0);
    ack(&setup, second, cut, 0);
    check_int(sweep(&setup).truncated, 1);

    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, keeps_everything_when_an_ack_is_missing)
{
    struct setup setup;

    setup_open(&setup, fixture);
    ack(&setup, setup.first, write_and_cut(&setup, 80), 0);
    pg_run(setup.db, "DELETE FROM weir_ack WHERE pid = %lld", (long long)setup.pid);

    check_int(sweep(&setup).truncated, 0);

    setup_close(&setup);
}

/* ---- set aside --------------------------------------------------------------------- */

/* Id 1 is the oldest by id and the newest by cut: it has not been passed. */
OUTBOX_POSTGRESQL_TEST(sweep, judges_late_rows_by_their_cut)
{
    struct setup setup;
    PGconn *late;

    setup_open(&setup, fixture);
    late = pg_outbox_connect(fixture);
    pg_run(late, "BEGIN");
    pg_outbox_write(late, setup.pid, 1);
    (void)write_and_cut(&setup, 79);
    pg_run(late, "COMMIT");
    (void)pg_outbox_cut(setup.db);
    ack(&setup, setup.first, 0, 80); /* all of cut 1 */

    check_int(sweep(&setup).aside, 1);

    check_list(&setup, (struct weir_log_position){0, 80}, "2:1");
    PQfinish(late);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, sets_rows_aside_with_their_cut)
{
    struct setup setup;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 57);
    for (int i = 0; i < 6; i++)
        (void)write_and_cut(&setup, 1);
    (void)write_and_cut(&setup, 20);
    ack(&setup, setup.first, 2, 59);

    check_int(sweep(&setup).aside, 4);

    check_int(pg_ask(setup.db, "SELECT count(*) FROM weir_aside WHERE cut = id - 56"), 4);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_rows_set_aside_once_all_have_passed_them)
{
    struct setup setup;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);
    ack(&setup, setup.first, 0, 60);
    check_int(sweep(&setup).aside, 3);

    ack(&setup, setup.first, 0, 62);
    check_int(sweep(&setup).removed, 2);
    check_removed_place(&setup, 0, 62);
    ack(&setup, setup.first, 0, 80);
    check_int(sweep(&setup).removed, 1);

    check_int(rows_in(&setup, "aside"), 0);
    check_removed_place(&setup, 0, 80);
    setup_close(&setup);
}

/* ---- a subscription that stands still ---------------------------------------------- */

/* As if everything in the log had been written that long ago. */
static void make_older(struct setup *self, int minutes)
{
    pg_run(self->db,
           "UPDATE weir_log SET created_us = created_us - %d * 60000000::bigint",
           minutes);
}

/* Two thirds of leaf 0 are another queue's, and delivered; one third waits. */
static void write_for_two_queues(struct setup *self)
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
    struct setup setup;

    setup_open(&setup, fixture);
    write_for_two_queues(&setup);
    pg_outbox_list(setup.db, setup.pid, (struct weir_log_position){0, 0}, before);
    make_older(&setup, 11);

    check_int(sweep(&setup).aside, 20);

    check_int(rows_in(&setup, "log_0"), 0);
    check_list(&setup, (struct weir_log_position){0, 0}, before);
    setup_close(&setup);
}

/* A few rows in a part. */
static const struct weir_sweep_limits IN_PARTS = {.wait_ns = WEIR_SWEEP_WAIT_NS,
                                                  .stood_ns = WEIR_SWEEP_STOOD_NS,
                                                  .copy_rows = 5};

/* A subscription that lags for a moment costs no second write. */
OUTBOX_POSTGRESQL_TEST(sweep, copies_little_from_a_leaf_that_was_filled_just_now)
{
    struct setup setup;

    setup_open(&setup, fixture);
    write_for_two_queues(&setup);

    check_int(sweep(&setup).truncated, 0);

    check_int(rows_in(&setup, "aside"), 0);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, copies_from_the_leaf_that_ids_are_about_to_come_round_to)
{
    struct setup setup;

    setup_open(&setup, fixture);
    write_for_two_queues(&setup);
    pg_run(setup.db, "SELECT setval('weir_log_id', 7 * 64)");

    check_int(sweep(&setup).aside, 20);

    check_int(rows_in(&setup, "log_0"), 0);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, copies_nothing_from_a_leaf_without_a_row_to_remove)
{
    struct setup setup;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);
    make_older(&setup, 11);

    check_int(sweep(&setup).truncated, 0);

    check_int(rows_in(&setup, "aside"), 0);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, copies_many_rows_in_parts)
{
    char before[PG_OUTBOX_LIST_SIZE];
    struct weir_fault_points points;
    struct setup setup;

    setup_open(&setup, fixture);
    write_for_two_queues(&setup);
    make_older(&setup, 11);
    pg_outbox_list(setup.db, setup.pid, (struct weir_log_position){0, 0}, before);
    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "sweep.part", UINT64_MAX); /* counts */
    setup.log.points = &points;
    setup.log.limits = &IN_PARTS;

    check_int(sweep(&setup).aside, 20);

    check_in_range(points.armed[0].passed, 10, 20);
    check_int(rows_in(&setup, "log_0"), 0);
    check_list(&setup, (struct weir_log_position){0, 0}, before);
    setup_close(&setup);
}

struct latecomer {
    struct setup *setup;
    PGconn *writer;
};

static void commit_and_cut(void *argument)
{
    struct latecomer *self = argument;

    pg_run(self->writer, "COMMIT");
    (void)pg_outbox_cut(self->setup->db);
}

/* Its id is below everything that was copied, and it is in none of the parts. */
OUTBOX_POSTGRESQL_TEST(sweep, copies_a_row_that_comes_late_below_what_was_copied)
{
    char after[PG_OUTBOX_LIST_SIZE];
    struct weir_fault_points points;
    struct latecomer late;
    struct setup setup;

    setup_open(&setup, fixture);
    late = (struct latecomer){&setup, pg_outbox_connect(fixture)};
    pg_run(late.writer, "BEGIN");
    pg_outbox_write(late.writer, setup.pid, 1);
    write_for_two_queues(&setup);
    make_older(&setup, 11);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.part", 3, commit_and_cut, &late);
    setup.log.points = &points;
    setup.log.limits = &IN_PARTS;

    check_int(sweep(&setup).aside, 21);

    check_int(rows_in(&setup, "log_0"), 0);
    pg_outbox_list(setup.db, setup.pid, (struct weir_log_position){0, 0}, after);
    check(strstr(after, " 2:1") != NULL);
    PQfinish(late.writer);
    setup_close(&setup);
}

/* ---- between a copy and the emptying ----------------------------------------------- */

static void subscribe_late(void *argument)
{
    struct setup *setup = argument;

    check_removed_place(setup, 0, 60);
    (void)pg_outbox_subscribe(setup->db, setup->queue, "late");
}

OUTBOX_POSTGRESQL_TEST(sweep, lets_a_new_subscription_begin_behind_what_was_copied)
{
    struct weir_fault_points points;
    struct setup setup;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);
    ack(&setup, setup.first, 0, 60);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.copied", 1, subscribe_late, &setup);
    setup.log.points = &points;

    check_int(sweep(&setup).truncated, 1);

    check_int(pg_ask(setup.db, "SELECT count(*) FROM weir_ack WHERE last_id = 60"), 3);
    setup_close(&setup);
}

/* A row that the copy has not seen, and that was passed since: a dump may see the copy
 * and not yet the ack, so the leaf stays until it is copied again. */
static void write_and_pass(void *argument)
{
    struct setup *setup = argument;

    commit_a_late_row(setup);
    (void)pg_outbox_cut(setup->db);
    pg_outbox_ack(setup->db, setup->first, setup->pid, (struct weir_log_position){2, 0});
}

OUTBOX_POSTGRESQL_TEST(sweep, empties_no_leaf_with_a_row_that_came_after_its_copy)
{
    struct weir_fault_points points;
    struct setup setup;

    setup_open(&setup, fixture);
    ack(&setup, setup.first, write_and_cut(&setup, 80), 0);
    pg_run(setup.db, "DELETE FROM weir_log WHERE id = 63");
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.copied", 1, write_and_pass, &setup);
    setup.log.points = &points;

    check_int(sweep(&setup).truncated, 0);
    check_int(pg_ask(setup.db, "SELECT last_value FROM weir_emptied"), 0);
    check_int(sweep(&setup).truncated, 1);

    check_int(pg_ask(setup.db, "SELECT last_value FROM weir_emptied"), 2);
    setup_close(&setup);
}

/* Each row is one, for whoever reads it, while it stands in both places. */
OUTBOX_POSTGRESQL_TEST(sweep, empties_a_leaf_that_was_copied_once_its_snapshot_is_gone)
{
    struct setup setup;
    PGconn *older_snapshot;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);
    ack(&setup, setup.first, 0, 60);
    older_snapshot = pg_outbox_connect(fixture);
    pg_run(older_snapshot, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");

    check_int(sweep(&setup).aside, 3);
    check_int(rows_in(&setup, "log_0"), LEAF_0);
    PQfinish(older_snapshot);
    check_int(sweep(&setup).truncated, 1);

    check_int(rows_in(&setup, "aside"), 3);
    setup_close(&setup);
}

/* The xmin of every snapshot is that of the long transaction, and older than the copy. */
OUTBOX_POSTGRESQL_TEST(sweep, does_not_wait_for_a_long_transaction)
{
    struct setup setup;
    PGconn *writer;

    setup_open(&setup, fixture);
    writer = pg_outbox_connect(fixture);
    pg_run(writer, "BEGIN");
    pg_outbox_write(writer, setup.pid + 1, 1);
    pg_run(setup.db, "SELECT setval('weir_log_id', 64)");
    (void)write_and_cut(&setup, 80);
    pg_run(setup.db, "SELECT setval('weir_log_id', 192)");
    ack(&setup, setup.first, 1, 0);

    check_int(sweep(&setup).truncated, 2);

    PQfinish(writer);
    setup_close(&setup);
}

/* ---- a step that fails ------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, goes_on_behind_a_step_that_fails)
{
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;
    int64_t truncated = 0;
    struct setup setup;
    int failed = 0;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);
    ack(&setup, setup.first, 0, 60);
    pg_run(setup.db, "ALTER TABLE weir_aside ADD CHECK (false)");
    pg_run(setup.db, "SELECT setval('weir_ack_id', 65536)");

    do {
        failed += weir_pg_sweep(&setup.log, fixture->db, &state, &report,
                                &fixture->error) != WEIR_OK;
        truncated += report.truncated;
    } while (state.leaf != 0);

    check_int(failed, 1);
    check_int(truncated, 1);
    check_int(rows_in(&setup, "ack_0"), 0);
    check_int(rows_in(&setup, "log_0"), LEAF_0);
    setup_close(&setup);
}

/* ---- readers ----------------------------------------------------------------------- */

/* Writers that overlap, some rolled back, and cuts between them; the same for the same
 * seed. */
static void write_at_random(struct setup *self, struct weir_random *random, int rounds)
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
    struct setup setup;
    int64_t aside = 0;
    int64_t truncated = 0;

    setup_open(&setup, fixture);
    weir_random_init(&random, 7);
    for (int round = 0; round < 12; round++) {
        int64_t cuts;

        write_at_random(&setup, &random, 60);
        cuts = pg_ask(setup.db, "SELECT max(no) FROM weir_cut");
        for (int p = 0; p < 2; p++) {
            struct weir_log_position to = {
                cuts - (int64_t)weir_random_below(&random, 4),
                (int64_t)weir_random_below(&random, 3) *
                    pg_ask(setup.db, "SELECT max(id) - 9 FROM weir_log")};
            struct weir_log_position from =
                pg_outbox_place(setup.db, setup.first, setup.pid + p);

            pg_outbox_ack(setup.db, setup.first, setup.pid + p,
                          weir_log_position_later(from, to));
        }
        for (int p = 0; p < 2; p++) {
            struct weir_log_position log_position =
                pg_outbox_place(setup.db, setup.first, setup.pid + p);
            struct weir_sweep_report report;
            char after[PG_OUTBOX_LIST_SIZE];

            pg_outbox_list(setup.db, setup.pid + p, log_position, before);
            report = sweep(&setup);
            aside += report.aside;
            truncated += report.truncated;
            pg_outbox_list(setup.db, setup.pid + p, log_position, after);
            check_str(after, before);
        }
    }
    check(aside > 0);
    check(truncated > 5);
    setup_close(&setup);
}

/* ---- others at work ---------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, yields_to_another_sweep)
{
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;
    struct setup setup;
    PGconn *other;

    setup_open(&setup, fixture);
    other = pg_outbox_connect(fixture);
    ack(&setup, setup.first, write_and_cut(&setup, 80), 0);
    pg_run(other, "SELECT pg_advisory_lock(hashtext('weir'), 3)");

    check_db(weir_pg_sweep(&setup.log, fixture->db, &state, &report, &fixture->error),
             WEIR_OK);

    check(!report.more);
    check_int(report.truncated, 0);
    PQfinish(other);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_nothing_while_somebody_subscribes)
{
    struct setup setup;
    PGconn *other;

    setup_open(&setup, fixture);
    other = pg_outbox_connect(fixture);
    ack(&setup, setup.first, write_and_cut(&setup, 80), 0);
    pg_run(other, "SELECT pg_advisory_lock_shared(hashtext('weir'), 2)");

    check_int(sweep(&setup).truncated, 0);

    PQfinish(other);
    setup_close(&setup);
}

static void stop_reading(void *argument)
{
    pg_run(argument, "COMMIT");
}

/* Refused while a reader has the leaf, had when it is done: tried again, never waited
 * for. */
OUTBOX_POSTGRESQL_TEST(sweep, tries_again_when_a_reader_has_the_leaf)
{
    struct weir_fault_points points;
    struct setup setup;
    PGconn *reader;

    setup_open(&setup, fixture);
    reader = pg_outbox_connect(fixture);
    ack(&setup, setup.first, write_and_cut(&setup, 80), 0);
    pg_run(reader, "BEGIN");
    check_int(pg_ask(reader, "SELECT count(*) FROM weir_log"), 80);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.refused", 3, stop_reading, reader);
    setup.log.points = &points;

    check_int(sweep(&setup).truncated, 1);

    PQfinish(reader);
    setup_close(&setup);
}

static void pass_one_more(void *argument)
{
    struct setup *setup = argument;

    pg_outbox_ack(setup->db, setup->first, setup->pid, (struct weir_log_position){0, 61});
}

/* The position moves between two statements of the sweep: the removed place covers it. */
OUTBOX_POSTGRESQL_TEST(sweep, covers_what_was_passed_while_it_worked)
{
    struct weir_fault_points points;
    struct setup setup;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);
    ack(&setup, setup.first, 0, 60);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "sweep.locked", 1, pass_one_more, &setup);
    setup.log.points = &points;

    (void)sweep(&setup);

    check_removed_place(&setup, 0, 61);
    check_int(rows_in(&setup, "aside"), 2);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, is_not_disturbed_by_a_leaf_that_is_filled_again)
{
    struct setup setup;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 60);
    pg_run(setup.db, "SELECT setval('weir_log_id', 8 * 64 + 3)"); /* leaf 0 again */
    (void)write_and_cut(&setup, 30);
    pg_run(setup.db, "SELECT setval('weir_log_id', 9 * 64)");
    ack(&setup, setup.first, 1, 8 * 64 + 29);

    check_int(sweep(&setup).aside, 4);

    check_list(&setup, (struct weir_log_position){1, 8 * 64 + 29},
               "2:542 2:543 2:544 2:545");
    setup_close(&setup);
}

/* ---- acks -------------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(sweep, carries_the_newest_acks_to_another_leaf)
{
    struct setup setup;
    int64_t gone;

    setup_open(&setup, fixture);
    gone = pg_outbox_subscribe(setup.db, setup.queue, "gone");
    ack(&setup, setup.first, 5, 6);
    pg_run(setup.db, "DELETE FROM weir_subscription WHERE id = %lld", (long long)gone);
    pg_run(setup.db, "SELECT setval('weir_ack_id', 65536)");

    check_int(sweep(&setup).truncated, 1);

    check_int(pg_ask(setup.db, "SELECT pg_relation_size('weir_ack_0')"), 0);
    check_int(rows_in(&setup, "ack_1"), 2);
    check_int(pg_ask(setup.db,
                     "SELECT version FROM weir_ack WHERE pid = %lld AND cut = 5"
                     " AND last_id = 6",
                     (long long)setup.pid),
              1);
    check_int(pg_ask(setup.db, "SELECT version FROM weir_ack WHERE pid = %lld",
                     (long long)setup.pid + 1),
              0);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, carries_the_mark_of_an_ack)
{
    struct setup setup;

    setup_open(&setup, fixture);
    pg_run(setup.db, "UPDATE weir_ack SET trying = -7 WHERE pid = %lld",
           (long long)setup.pid);
    pg_run(setup.db, "SELECT setval('weir_ack_id', 65536)");

    check_int(sweep(&setup).truncated, 1);

    check_int(pg_ask(setup.db, "SELECT trying FROM weir_ack_1 WHERE pid = %lld",
                     (long long)setup.pid),
              -7);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, does_not_carry_acks_that_have_a_newer_one)
{
    struct setup setup;

    setup_open(&setup, fixture);
    pg_run(setup.db, "SELECT setval('weir_ack_id', 65536)");
    ack(&setup, setup.first, 5, 6);
    pg_outbox_ack(setup.db, setup.first, setup.pid + 1, (struct weir_log_position){5, 7});

    check_int(sweep(&setup).truncated, 1);

    check_int(rows_in(&setup, "ack"), 2);
    check_int(pg_outbox_place(setup.db, setup.first, setup.pid).id, 6);
    setup_close(&setup);
}

/* The ids that are carried to would lie in the leaf that is to be truncated. */
OUTBOX_POSTGRESQL_TEST(sweep, loses_no_ack_when_the_sequence_comes_round)
{
    struct setup setup;

    setup_open(&setup, fixture);
    pg_run(setup.db, "UPDATE weir_ack SET id = id + 65536"); /* leaf 1 */
    ack(&setup, setup.first, 5, 6);
    pg_run(setup.db, "UPDATE weir_ack SET id = id + 65536 WHERE cut = 5");
    pg_run(setup.db, "SELECT setval('weir_ack_id', 65534)");

    (void)sweep(&setup);

    check_int(pg_outbox_place(setup.db, setup.first, setup.pid).id, 6);
    check_int(pg_outbox_place(setup.db, setup.first, setup.pid + 1).id, 0);
    pg_run(setup.db, "SELECT setval('weir_ack_id', 131072)");
    check_int(sweep(&setup).truncated, 1);
    check_int(pg_outbox_place(setup.db, setup.first, setup.pid).id, 6);
    check_int(rows_in(&setup, "ack"), 2);
    setup_close(&setup);
}

/* ---- cuts -------------------------------------------------------------------------- */

/* Cuts up to `last`, which see nothing. */
static void make_cuts(struct setup *self, int64_t last)
{
    pg_run(self->db,
           "INSERT INTO weir_cut SELECT n, 0, '1', '1:1:', 0, 0"
           " FROM generate_series(1, %lld) n",
           (long long)last);
}

OUTBOX_POSTGRESQL_TEST(sweep, removes_cuts_that_nobody_needs)
{
    struct setup setup;

    setup_open(&setup, fixture);
    make_cuts(&setup, 9000);

    check_int(sweep(&setup).truncated, 2);

    check_int(pg_ask(setup.db, "SELECT min(no) FROM weir_cut"), 8192);
    check_int(pg_ask(setup.db, "SELECT max(no) FROM weir_cut"), 9000);
    check_int(pg_ask(setup.db, "SELECT pg_relation_size('weir_cut_0')"), 0);
    setup_close(&setup);
}

OUTBOX_POSTGRESQL_TEST(sweep, keeps_the_cut_before_the_oldest_row)
{
    struct setup setup;

    setup_open(&setup, fixture);
    make_cuts(&setup, 9000);
    pg_outbox_write(setup.db, setup.pid, 1);
    pg_run(setup.db, "UPDATE weir_leaf SET emptied_cut = 4095 WHERE leaf = 0");

    check_int(sweep(&setup).truncated, 0);
    pg_run(setup.db, "UPDATE weir_leaf SET emptied_cut = 4096 WHERE leaf = 0");
    check_int(sweep(&setup).truncated, 1);

    check_int(pg_ask(setup.db, "SELECT min(no) FROM weir_cut"), 4096);
    setup_close(&setup);
}

/* The position is older than every cut row that is left: nothing of the leaf is
 * passed. */
OUTBOX_POSTGRESQL_TEST(sweep, takes_rows_as_not_passed_when_the_cut_of_the_place_is_gone)
{
    struct setup setup;

    setup_open(&setup, fixture);
    make_cuts(&setup, 9000);
    (void)sweep(&setup);
    (void)write_and_cut(&setup, 80);
    ack(&setup, setup.first, 17, 1000);

    check_int(sweep(&setup).truncated, 0);
    ack(&setup, setup.first, 9000, 60);
    check_int(sweep(&setup).aside, 3);

    check_list(&setup, (struct weir_log_position){9000, 60},
               "9001:61 9001:62 9001:63 9001:64 9001:65 9001:66 9001:67 9001:68 9001:69 "
               "9001:70 9001:71 9001:72 9001:73 9001:74 9001:75 9001:76 9001:77 9001:78 "
               "9001:79 9001:80");
    setup_close(&setup);
}

/* ---- crashes ----------------------------------------------------------------------- */

/* The steps that have something to do, and the nth statement of them loses its
 * connection; false: they have fewer. */
static bool sweep_with_loss(struct setup *self, uint64_t at)
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
    struct setup setup;
    uint64_t at = 1;
    bool met = true;

    setup_open(&setup, fixture);
    (void)write_and_cut(&setup, 80);
    pg_outbox_list(setup.db, setup.pid, log_position, want);

    for (; met; at++) {
        pg_run(setup.db, "TRUNCATE weir_log, weir_aside, weir_ack, weir_cut");
        pg_run(setup.db, "UPDATE weir_leaf SET emptied_cut = 0");
        pg_run(setup.db, "UPDATE weir_copy SET mark = -1");
        pg_run(setup.db, "SELECT setval('weir_log_id', 1, false)");
        pg_run(setup.db, "SELECT setval('weir_ack_id', 1, false)");
        pg_run(setup.db, "INSERT INTO weir_cut VALUES (0, 0, '1', '1:1:', 0, 0)");
        pg_run(setup.db,
               "INSERT INTO weir_ack (subscription, pid, version, epoch,"
               " incarnation, cut, last_id, seq) SELECT subscription, pid, 3, 0, '',"
               " 0, 60, 60 FROM weir_lease");
        pg_run(setup.db, "SELECT setval('weir_ack_id', 65536)");
        (void)write_and_cut(&setup, 80);

        met = sweep_with_loss(&setup, at);

        /* A session that was cut off is noticed by the server a moment later. Until
         * then it counts as somebody else who sweeps. */
        wait_until(fixture_is_unlocked(fixture, "weir_log_0"));
        wait_until(fixture_ask(fixture,
                               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                               " AND database = (SELECT oid FROM pg_database"
                               " WHERE datname = current_database())") == 0);
        check_list(&setup, log_position, want);
        check_int(pg_outbox_place(setup.db, setup.first, setup.pid).id, 60);
        check_int(pg_outbox_place(setup.db, setup.first, setup.pid + 1).id, 60);
        (void)sweep(&setup);
        check_list(&setup, log_position, want);
        check_int(rows_in(&setup, "log_0"), 0);
        check_int(rows_in(&setup, "ack_0"), 0);
        check_int(rows_in(&setup, "ack"), 2);
        check_int(rows_in(&setup, "aside"), 3);
    }
    check_in_range(at, 35, 400);
    setup_close(&setup);
}
