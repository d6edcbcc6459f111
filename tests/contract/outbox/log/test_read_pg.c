/*
 * Pages of PostgreSQL's log: in the order (cut, id), from any place, whatever the sweep
 * has moved.
 */
#include <libpq-fe.h>
#include <stdlib.h>

#include "kit/outbox/pg_outbox.h"
#include "pg_log.h"

/*
 * Four cuts with late rows, new rows, both, and of three partitions:
 *
 *   cut 1   b d            while a, c and e are running
 *   cut 2   a (late)  f
 *   cut 3   c1 c2 (late)
 *   cut 4   e (late)  g h
 */
#define ALL_TEXTS "b d a f c1 c2 e g h"

static struct weir_connection *begin(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    return connection;
}

static void commit(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

static void append(struct fixture *fixture, int64_t pid, const char *payload)
{
    struct weir_connection *connection = fixture_take(fixture);

    pg_log_append(fixture, connection, pid, payload);
    fixture_give(fixture, connection);
}

static void set_setup(struct fixture *fixture)
{
    struct weir_connection *a = begin(fixture);
    struct weir_connection *c = begin(fixture);
    struct weir_connection *e = begin(fixture);

    pg_log_append(fixture, a, 64, "a");
    append(fixture, 65, "b");
    pg_log_append(fixture, c, 66, "c1");
    pg_log_append(fixture, c, 64, "c2");
    append(fixture, 64, "d");
    pg_log_append(fixture, e, 65, "e");
    check_int(pg_log_cut(fixture), 1);
    commit(fixture, a);
    append(fixture, 66, "f");
    check_int(pg_log_cut(fixture), 2);
    commit(fixture, c);
    check_int(pg_log_cut(fixture), 3);
    append(fixture, 64, "g");
    commit(fixture, e);
    append(fixture, 65, "h");
    check_int(pg_log_cut(fixture), 4);
}

/* From every place on, by pages of every size, the rest comes. */
static void check_everywhere(struct fixture *fixture, const char *all)
{
    struct reading *whole = malloc(sizeof *whole);
    struct reading *rest = malloc(sizeof *rest);
    const char *expected = all;

    check(whole != NULL && rest != NULL);
    pg_log_read(fixture, BEGINNING, 1000, whole);
    check_str(whole->text, all);
    for (uint32_t size = 1; size <= 4; size++) {
        pg_log_read(fixture, BEGINNING, size, rest);
        check_str(rest->text, all);
        check_int(rest->count, whole->count);
        for (size_t i = 0; i < whole->count; i++)
            check(
                weir_log_position_equal(rest->log_positions[i], whole->log_positions[i]));
    }
    for (size_t i = 0; i < whole->count; i++) {
        expected += strcspn(expected, " ");
        expected += strspn(expected, " ");
        pg_log_read(fixture, whole->log_positions[i], 2, rest);
        check_str(rest->text, expected);
    }
    free(whole);
    free(rest);
}

OUTBOX_POSTGRESQL_TEST(read_pg, goes_on_from_every_place_in_pages_of_any_size)
{
    set_setup(fixture);

    check_everywhere(fixture, ALL_TEXTS);
    check_reads(BEHIND_CUT(1), "a f c1 c2 e g h");
    check_reads(BEHIND_CUT(2), "c1 c2 e g h");
    check_reads(BEHIND_CUT(3), "e g h");
    check_reads(BEHIND_CUT(4), "");
}

OUTBOX_POSTGRESQL_TEST(read_pg, gives_the_same_when_segments_are_tiny)
{
    outbox_small_segments(fixture, 1);
    set_setup(fixture);

    check_everywhere(fixture, ALL_TEXTS);
}

/* As the sweep sets aside: with the cut number, and gone from the log. */
static void set_aside(struct fixture *fixture, int cut, const char *texts)
{
    char sql[512];

    (void)snprintf(sql, sizeof sql,
                   "WITH gone AS (DELETE FROM {p}_log WHERE convert_from(payload, 'UTF8')"
                   " IN (%s) RETURNING *) INSERT INTO {p}_aside"
                   " (pid, cut, id, created_us, uid, message_key, type, headers, payload)"
                   " SELECT pid, %d, id, created_us, uid, message_key, type, headers,"
                   " payload FROM gone",
                   texts, cut);
    fixture_prepare(fixture, sql);
}

OUTBOX_POSTGRESQL_TEST(read_pg, merges_what_was_set_aside)
{
    set_setup(fixture);
    set_aside(fixture, 1, "'b'");
    set_aside(fixture, 2, "'a'");
    set_aside(fixture, 3, "'c2'");
    set_aside(fixture, 4, "'e', 'h'");

    check_everywhere(fixture, ALL_TEXTS);
}

/* As the sweep copies: the row stays in the log. */
static void copy_aside(struct fixture *fixture)
{
    fixture_prepare(
        fixture, "INSERT INTO {p}_aside"
                 " (pid, cut, id, created_us, uid, message_key, type, headers, payload)"
                 " SELECT pid, (SELECT min(no) FROM {p}_cut"
                 " WHERE pg_visible_in_snapshot(xid, snap)), id, created_us, uid,"
                 " message_key, type, headers, payload FROM {p}_log");
}

OUTBOX_POSTGRESQL_TEST(read_pg, gives_a_row_once_that_stands_in_the_log_and_aside)
{
    set_setup(fixture);
    copy_aside(fixture);

    check_everywhere(fixture, ALL_TEXTS);
    fixture_prepare(fixture, "DELETE FROM {p}_log WHERE convert_from(payload, 'UTF8')"
                             " IN ('b', 'a', 'c1', 'g')");
    check_everywhere(fixture, ALL_TEXTS);
}

OUTBOX_POSTGRESQL_TEST(read_pg, begins_with_what_was_set_aside_when_old_cuts_are_gone)
{
    set_setup(fixture);
    set_aside(fixture, 1, "'b', 'd'");
    set_aside(fixture, 2, "'a', 'f'");
    set_aside(fixture, 3, "'c1', 'c2'");
    fixture_prepare(fixture, "DELETE FROM {p}_cut WHERE no < 3");

    check_everywhere(fixture, ALL_TEXTS);
}

/* The sweep rotates leaves of cuts in the order of the leaves. */
OUTBOX_POSTGRESQL_TEST(read_pg, reads_what_was_set_aside_of_cuts_that_are_gone_in_between)
{
    set_setup(fixture);
    set_aside(fixture, 1, "'b', 'd'");
    set_aside(fixture, 2, "'a', 'f'");
    set_aside(fixture, 3, "'c1', 'c2'");
    fixture_prepare(fixture, "DELETE FROM {p}_cut WHERE no IN (1, 2)");

    check_everywhere(fixture, ALL_TEXTS);
}

OUTBOX_POSTGRESQL_TEST(read_pg, reads_behind_an_old_cut_when_those_after_it_are_gone)
{
    set_setup(fixture);
    set_aside(fixture, 1, "'b', 'd'");
    set_aside(fixture, 2, "'a', 'f'");
    set_aside(fixture, 3, "'c1', 'c2'");
    fixture_prepare(fixture, "DELETE FROM {p}_cut WHERE no IN (0, 2)");

    check_everywhere(fixture, ALL_TEXTS);
    check_reads(BEHIND_CUT(1), "a f c1 c2 e g h");
}

OUTBOX_POSTGRESQL_TEST(read_pg, goes_to_the_oldest_cut_that_is_kept_when_nothing_is_left)
{
    static struct reading reading;

    set_setup(fixture);
    fixture_prepare(fixture, "DELETE FROM {p}_log WHERE convert_from(payload, 'UTF8')"
                             " NOT IN ('e', 'g', 'h')");
    fixture_prepare(fixture, "DELETE FROM {p}_cut WHERE no < 3");

    pg_log_read(fixture, BEGINNING, 10, &reading);
    check_str(reading.text, "e g h");
    check(weir_log_position_equal(reading.end, BEHIND_CUT(4)));
}

static void read_page(struct fixture *fixture, struct weir_page *page,
                      struct reading *out)
{
    struct weir_outbox_log log = pg_log_open(fixture);
    struct weir_connection *connection = fixture_take(fixture);

    *out = (struct reading){.size = 0};
    page->visit = pg_log_note;
    page->state = out;
    check_db(log.ops->read(&log, connection, page, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

OUTBOX_POSTGRESQL_TEST(read_pg, gives_only_the_partitions_that_are_asked_for)
{
    static const int64_t PIDS[] = {64, 66};
    static struct reading reading;
    struct weir_page page = {
        .pids = PIDS, .pid_count = 2, .row_max = 100, .payload_max = 1000};

    set_setup(fixture);
    read_page(fixture, &page, &reading);

    check_str(reading.text, "d a f c1 c2 g");
    check(page.at_head);
    check(weir_log_position_equal(page.end, BEHIND_CUT(4)));
    page.pid_count = 0;
    read_page(fixture, &page, &reading);
    check_str(reading.text, "");
    check(page.at_head);
}

/* Ids that were taken and never used, by rollbacks or by a sequence that was moved. */
static void leave_gap(struct fixture *fixture)
{
    fixture_prepare(fixture, "SELECT setval('{p}_log_id', last_value + 1000000000)"
                             " FROM {p}_log_id");
}

OUTBOX_POSTGRESQL_TEST(read_pg, ends_after_bounded_work_when_nothing_matches)
{
    static const int64_t PIDS[] = {99};
    static struct reading reading;
    struct weir_page page = {
        .pids = PIDS, .pid_count = 1, .row_max = 100, .payload_max = 1000};
    int calls = 0;

    outbox_small_segments(fixture, 1);
    for (int i = 0; i < 300; i++)
        append(fixture, 64, "a");
    leave_gap(fixture); /* so that it is a large cut */
    (void)pg_log_cut(fixture);

    do {
        read_page(fixture, &page, &reading);
        check_int(page.rows, 0);
        check(page.at_head || weir_log_position_before(page.after, page.end));
        page.after = page.end;
        calls++;
    } while (!page.at_head);
    check_in_range(calls, 3, 4);
    check(weir_log_position_equal(page.end, BEHIND_CUT(1)));
}

OUTBOX_POSTGRESQL_TEST(read_pg, gives_what_is_behind_a_gap_of_a_billion_ids_in_one_page)
{
    static struct reading reading;
    struct weir_page page = {.row_max = 100, .payload_max = 1000};

    append(fixture, 64, "a");
    leave_gap(fixture);
    append(fixture, 64, "b");
    (void)pg_log_cut(fixture);
    read_page(fixture, &page, &reading);

    check_str(reading.text, "a b");
    check(page.at_head);
    check_everywhere(fixture, "a b");
}

OUTBOX_POSTGRESQL_TEST(read_pg, passes_a_gap_of_a_billion_ids_at_the_end_in_one_page)
{
    static struct reading reading;
    struct weir_page page = {.row_max = 100, .payload_max = 1000};

    append(fixture, 64, "a");
    leave_gap(fixture);
    (void)pg_log_cut(fixture);
    read_page(fixture, &page, &reading);

    check_str(reading.text, "a");
    check(page.at_head);
    check(weir_log_position_equal(page.end, BEHIND_CUT(1)));
}

OUTBOX_POSTGRESQL_TEST(read_pg, stops_in_a_gap_at_what_was_set_aside)
{
    append(fixture, 64, "a");
    leave_gap(fixture);
    append(fixture, 64, "b");
    append(fixture, 64, "c");
    leave_gap(fixture);
    append(fixture, 64, "d");
    (void)pg_log_cut(fixture);
    set_aside(fixture, 1, "'b'");

    check_everywhere(fixture, "a b c d");
}

OUTBOX_POSTGRESQL_TEST(read_pg, keeps_to_the_limit_of_payloads_but_for_a_first_row)
{
    static struct reading reading;
    struct weir_page page = {.row_max = 100, .payload_max = 5};

    append(fixture, 64, "aaaaaaaa");
    append(fixture, 64, "bb");
    append(fixture, 64, "cc");
    append(fixture, 64, "dd");
    (void)pg_log_cut(fixture);
    append(fixture, 64, "e");
    append(fixture, 64, "ffffff");
    (void)pg_log_cut(fixture);

    read_page(fixture, &page, &reading);
    check_str(reading.text, "aaaaaaaa");
    page.after = page.end;
    read_page(fixture, &page, &reading);
    check_str(reading.text, "bb cc");
    page.after = page.end;
    read_page(fixture, &page, &reading);
    check_str(reading.text, "dd e");
    page.after = page.end;
    read_page(fixture, &page, &reading);
    check_str(reading.text, "ffffff");
}

OUTBOX_POSTGRESQL_TEST(read_pg, goes_through_many_small_cuts_in_one_call)
{
    static struct reading reading;
    struct weir_page page = {.row_max = 100, .payload_max = 1000};

    for (int i = 0; i < 40; i++) {
        append(fixture, 64, "a");
        check_int(pg_log_cut(fixture), i + 1);
    }
    read_page(fixture, &page, &reading);

    check_int(page.rows, 40);
    check(page.at_head);
}

static enum weir_status refuse_second(void *state, const struct weir_log_row *row,
                                      struct weir_error *error)
{
    int *count = state;

    (void)row;
    return ++*count < 2 ? WEIR_OK : weir_error_set(error, WEIR_FULL, "enough");
}

/* The cut of a row, by its definition: the first that sees it. */
#define FIRST_CUT                                                                        \
    "(SELECT min(c.no) FROM {p}_cut c WHERE pg_visible_in_snapshot(l.xid, c.snap))"

/* Texts of the log's rows in cuts behind `behind`, in the order of their definition. */
static void define_order(struct fixture *fixture, struct reading *out)
{
    PGconn *native = pg_outbox_connect(fixture);
    PGresult *result = PQexec(
        native,
        "SELECT convert_from(l.payload, 'UTF8'), "
        "(SELECT min(c.no) FROM weir_cut c WHERE pg_visible_in_snapshot(l.xid, c.snap))"
        " AS cut, l.id FROM weir_log l ORDER BY cut, l.id");

    check_int(PQresultStatus(result), PGRES_TUPLES_OK);
    *out = (struct reading){.size = 0};
    for (int i = 0; i < PQntuples(result); i++) {
        struct weir_log_row row = {
            .payload = weir_str(PQgetvalue(result, i, 0)),
            .log_position = {.cut = atoll(PQgetvalue(result, i, 1)) - 1,
                             .id = atoll(PQgetvalue(result, i, 2))},
        };

        check_int(pg_log_note(out, &row, &fixture->error), WEIR_OK);
    }
    PQclear(result);
    PQfinish(native);
}

/* Transactions of many sizes that end in any order, and a cut after every few steps. */
enum { SESSIONS = 6, STEPS = 500, BULK = 1100 };

static void append_bulk(struct fixture *fixture, struct weir_connection *connection)
{
    static const struct weir_sql BULK_ROWS = {
        .name = "bulk",
        .text = "INSERT INTO {p}_log (pid, uid, type, payload)"
                " SELECT 64 + n % 3, '', 't', 'B' FROM generate_series(1, 1100) n",
    };

    check_db(
        weir_connection_execute(connection, &BULK_ROWS, NO_VALUES, NULL, &fixture->error),
        WEIR_OK);
}

static void take_step(struct fixture *fixture, struct weir_connection **sessions,
                      unsigned *seed, int step)
{
    struct weir_connection **session = &sessions[rand_r(seed) % SESSIONS];
    char text[16];

    (void)snprintf(text, sizeof text, "%d", step);
    if (*session == NULL)
        *session = begin(fixture);
    if (step == STEPS / 3 || step == STEPS * 2 / 3)
        append_bulk(fixture, *session);
    pg_log_append(fixture, *session, 64 + rand_r(seed) % 3, text);
    if (rand_r(seed) % 3 == 0)
        return;
    if (rand_r(seed) % 8 == 0) {
        weir_connection_rollback(*session);
        fixture_give(fixture, *session);
    } else {
        commit(fixture, *session);
    }
    *session = NULL;
}

static void run_transactions(struct fixture *fixture, unsigned seed)
{
    struct weir_connection *sessions[SESSIONS] = {NULL};

    for (int step = 0; step < STEPS; step++) {
        take_step(fixture, sessions, &seed, step);
        if (rand_r(&seed) % 2 == 0)
            (void)pg_log_cut(fixture);
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        if (sessions[i] != NULL)
            commit(fixture, sessions[i]);
    }
    (void)pg_log_cut(fixture);
}

static void check_same(struct fixture *fixture, const struct reading *whole)
{
    static const uint32_t SIZES[] = {3, 50, 1000};
    struct reading *got = malloc(sizeof *got);

    check(got != NULL);
    for (size_t n = 0; n < 3; n++) {
        pg_log_read(fixture, BEGINNING, SIZES[n], got);
        check_str(got->text, whole->text);
        check_int(got->count, whole->count);
        for (size_t i = 0; i < whole->count; i++)
            check(
                weir_log_position_equal(got->log_positions[i], whole->log_positions[i]));
    }
    free(got);
}

OUTBOX_POSTGRESQL_TEST(read_pg, gives_small_cuts_together_in_the_order_of_each)
{
    struct reading *whole = malloc(sizeof *whole);

    check(whole != NULL);
    outbox_small_segments(fixture, 6);
    run_transactions(fixture, 7);
    define_order(fixture, whole);
    check(whole->count > 2 * BULK);

    check_same(fixture, whole);
    fixture_prepare(
        fixture, "INSERT INTO {p}_aside"
                 " (pid, cut, id, created_us, uid, message_key, type, headers, payload)"
                 " SELECT pid, " FIRST_CUT ", id, created_us, uid, message_key, type,"
                 " headers, payload FROM {p}_log l WHERE id % 5 = 0");
    fixture_prepare(fixture, "DELETE FROM {p}_log WHERE id % 10 = 0");
    check_same(fixture, whole);
    free(whole);
}

/* The sequence may be seen ahead of what was taken, and as it is a moment later. */
OUTBOX_POSTGRESQL_TEST(read_pg, leaves_out_no_cut_whose_top_is_above_the_next_ones)
{
    set_setup(fixture);
    fixture_prepare(fixture, "UPDATE {p}_cut SET top = 1056 WHERE no = 2");

    check_everywhere(fixture, ALL_TEXTS);
}

OUTBOX_POSTGRESQL_TEST(read_pg, gives_small_cuts_of_a_few_partitions_together)
{
    static const int64_t PIDS[] = {64, 66};
    static struct reading reading;
    struct weir_page page = {
        .pids = PIDS, .pid_count = 2, .row_max = 100, .payload_max = 1000};

    set_setup(fixture);
    read_page(fixture, &page, &reading);

    check_str(reading.text, "d a f c1 c2 g");
    check(page.at_head);
    check(weir_log_position_equal(page.end, BEHIND_CUT(4)));
}

OUTBOX_POSTGRESQL_TEST(read_pg, ends_where_the_visitor_wants_no_more)
{
    struct weir_outbox_log log = pg_log_open(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    int count = 0;
    struct weir_page page = {
        .row_max = 10, .payload_max = 100, .visit = refuse_second, .state = &count};

    set_setup(fixture);
    check_db(log.ops->read(&log, connection, &page, &fixture->error), WEIR_FULL);
    fixture_give(fixture, connection);

    check_int(page.rows, 1);
    check_reads(page.end, "d a f c1 c2 e g h");
}

/* ---- lag --------------------------------------------------------------------------- */

struct lags {
    struct weir_lag lags[8];
    size_t count;
};

static void note_lag(void *state, const struct weir_lag *lag)
{
    struct lags *self = state;

    check(self->count < 8);
    self->lags[self->count++] = *lag;
}

static struct lags read_lags(struct fixture *fixture)
{
    struct weir_outbox_log log = pg_log_open(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    struct lags lags = {.count = 0};

    check_db(log.ops->lag(&log, connection,
                          &(struct weir_lag_question){.queue_id = 1,
                                                      .look_max = WEIR_LAG_LOOK_MAX},
                          note_lag, &lags, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    return lags;
}

/* Queue 1 with partitions 64 to 67 and a subscription whose positions are all the
 * same. */
static void subscribe(struct fixture *fixture, struct weir_log_position log_position)
{
    char sql[512];

    fixture_prepare(fixture, "INSERT INTO {p}_queue (id, name, partitions, created_us)"
                             " VALUES (1, 'q', 4, 0)");
    fixture_prepare(fixture, "INSERT INTO {p}_subscription (id, queue, name, serving,"
                             " created_us) VALUES (5, 1, 's', 0, 0)");
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO {p}_ack (subscription, pid, version, epoch,"
                   " incarnation, cut, last_id, seq)"
                   " SELECT 5, 64 + p, v, 1, '', CASE v WHEN 2 THEN %d ELSE 0 END,"
                   " CASE v WHEN 2 THEN %d ELSE 0 END, 0"
                   " FROM generate_series(0, 3) p, generate_series(0, 2) v",
                   (int)log_position.cut, (int)log_position.id);
    fixture_prepare(fixture, sql);
}

static int64_t waiting(const struct lags *lags, int64_t pid)
{
    for (size_t i = 0; i < lags->count; i++) {
        check_int(lags->lags[i].subscription, 5);
        check(lags->lags[i].oldest_us > 0 && lags->lags[i].waiting > 0);
        if (lags->lags[i].pid == pid)
            return lags->lags[i].waiting;
    }
    return 0;
}

/* From each place of the scene on, what waits is what reading would give. */
OUTBOX_POSTGRESQL_TEST(lag_pg, counts_what_reading_would_give)
{
    static const int64_t PIDS[] = {64, 65, 66, 67};
    static struct reading whole;
    static struct reading rest;
    struct lags lags;

    set_setup(fixture);
    set_aside(fixture, 3, "'c2'");
    pg_log_read(fixture, BEGINNING, 100, &whole);
    subscribe(fixture, BEGINNING);
    for (size_t i = 0; i < whole.count; i++) {
        char sql[256];

        (void)snprintf(sql, sizeof sql,
                       "UPDATE {p}_ack SET cut = %d, last_id = %d WHERE version = 2",
                       (int)whole.log_positions[i].cut, (int)whole.log_positions[i].id);
        fixture_prepare(fixture, sql);
        lags = read_lags(fixture);
        for (size_t k = 0; k < 4; k++) {
            struct weir_page page = {.after = whole.log_positions[i],
                                     .pids = &PIDS[k],
                                     .pid_count = 1,
                                     .row_max = 100,
                                     .payload_max = 1000};

            read_page(fixture, &page, &rest);
            check_int(waiting(&lags, PIDS[k]), rest.count);
        }
    }
}

/* Rows of which some stand in both places, some in one. */
OUTBOX_POSTGRESQL_TEST(lag_pg, counts_a_row_once_that_stands_in_the_log_and_aside)
{
    struct lags lags;

    set_setup(fixture);
    copy_aside(fixture);
    subscribe(fixture, BEGINNING);

    lags = read_lags(fixture);
    check_int(waiting(&lags, 64), 4); /* a d c2 g */
    check_int(waiting(&lags, 65), 3); /* b e h */
    check_int(waiting(&lags, 66), 2); /* f c1 */
    fixture_prepare(fixture, "DELETE FROM {p}_log WHERE convert_from(payload, 'UTF8')"
                             " IN ('d', 'a', 'c1')");
    lags = read_lags(fixture);
    check_int(waiting(&lags, 64), 4);
    check_int(waiting(&lags, 66), 2);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, counts_what_no_cut_has_yet_and_nothing_uncommitted)
{
    struct weir_connection *slow = begin(fixture);
    struct lags lags;

    set_setup(fixture);
    subscribe(fixture, BEHIND_CUT(4));
    check_int(read_lags(fixture).count, 0);
    pg_log_append(fixture, slow, 64, "slow");
    append(fixture, 65, "quick");

    lags = read_lags(fixture);
    check_int(waiting(&lags, 64), 0);
    check_int(waiting(&lags, 65), 1);
    (void)pg_log_cut(fixture);
    commit(fixture, slow);
    lags = read_lags(fixture);
    check_int(waiting(&lags, 64), 1);
    check_int(waiting(&lags, 65), 1);
    check(!lags.lags[0].estimate);
}

OUTBOX_POSTGRESQL_TEST(lag_pg, estimates_a_long_backlog)
{
    struct lags lags;

    subscribe(fixture, BEGINNING);
    fixture_prepare(fixture, "INSERT INTO {p}_log (pid, uid, type, payload)"
                             " SELECT 64 + n % 4, '', 't', '' FROM"
                             " generate_series(1, 150000) n");
    (void)pg_log_cut(fixture);
    lags = read_lags(fixture);

    check_int(lags.count, 4);
    check(lags.lags[0].estimate);
    check_in_range(waiting(&lags, 64), 37000, 38000);
}

OUTBOX_POSTGRESQL_TEST(start_pg, is_behind_what_was_removed_or_behind_the_newest_cut)
{
    struct weir_outbox_log log = pg_log_open(fixture);
    struct weir_connection *connection = begin(fixture);
    struct weir_log_position log_position = {0};

    set_setup(fixture);
    subscribe(fixture, BEGINNING);
    fixture_prepare(fixture, "UPDATE {p}_queue SET removed_cut = 2, removed_id = 7");
    check_db(log.ops->start(&log, connection, 1, false, &log_position, &fixture->error),
             WEIR_OK);
    check(log_position.cut == 2 && log_position.id == 7);
    check_db(log.ops->start(&log, connection, 1, true, &log_position, &fixture->error),
             WEIR_OK);
    check(weir_log_position_equal(log_position, BEHIND_CUT(4)));
    check_db(log.ops->start(&log, connection, 9, true, &log_position, &fixture->error),
             WEIR_NOT_FOUND);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
}
