/*
 * A dump of a database with a backlog, restored elsewhere: nobody enqueues or delivers
 * until somebody says that it may; then it delivers what the original would have, in
 * the same order, under the same numbers, and new messages follow.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault_point.h"
#include "crash/order/order_run.h"
#include "db/clock.h"
#include "db/db.h"
#include "kit/db/dump.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/mariadb/restore.h"
#include "outbox/postgres/restore.h"
#include "weir/stats.h"

enum { PARTITIONS = 4, ROUNDS = 6, FIRST_BATCH = 6, STUCK_AT = 5, REJECTED = 2 };
enum { SEGMENT_BITS = 6, BULK = 60, SUBSCRIPTIONS = 2 };

static const char *const SUBSCRIPTION[SUBSCRIPTIONS] = {"default", "audit"};

/* ---- the original ------------------------------------------------------------------ */

/* What serves all there is, and what it was given. */
struct service {
    struct weir_outbox *outbox;
    struct recorder *orders[SUBSCRIPTIONS];
    struct recorder *bulk;
};

static void serve(struct fixture *fixture, struct service *self, const char *name)
{
    self->outbox = outbox_fixture_sweeping(fixture, name);
    outbox_fixture_queue(fixture, self->outbox, "orders", PARTITIONS);
    outbox_fixture_queue(fixture, self->outbox, "bulk", 1);
    for (int i = 0; i < SUBSCRIPTIONS; i++) {
        struct weir_handler_options handler;
        struct weir_tuning tuning = outbox_fixture_tuning();

        self->orders[i] = recorder_new();
        handler = outbox_fixture_handler("orders", self->orders[i]);
        handler.subscription = SUBSCRIPTION[i];
        tuning.batch = 1;
        handler.tuning = &tuning;
        outbox_fixture_add(fixture, self->outbox, &handler);
    }
    self->bulk = recorder_new();
    outbox_fixture_serve(fixture, self->outbox, "bulk", self->bulk);
}

static struct weir_connection *write_late(struct fixture *fixture,
                                          struct weir_outbox *outbox, int32_t partition,
                                          const char *payload)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_draft draft = outbox_fixture_draft(partition, payload);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_enqueue(outbox, connection, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);
    return connection;
}

static void commit(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
}

static int64_t seen_by_audit(struct fixture *fixture, struct service *self)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < PARTITIONS; i++)
        sum += outbox_fixture_partition(fixture, self->outbox, "orders", "audit", i).seq;
    return sum;
}

/* A transaction that is late for two cuts, among others that are not. */
static void write_round(struct fixture *fixture, struct service *self, int round)
{
    int64_t written = seen_by_audit(fixture, self);
    char text[32];
    struct weir_connection *late;

    (void)snprintf(text, sizeof text, "late %d", round);
    late = write_late(fixture, self->outbox, round % PARTITIONS, text);
    for (int half = 0; half < 2; half++) {
        for (int32_t i = 0; i < PARTITIONS; i++) {
            (void)snprintf(text, sizeof text, "%d.%d", round, half);
            outbox_fixture_send_text(fixture, self->outbox, "orders", i, text);
        }
        outbox_fixture_send(fixture, self->outbox, "bulk", 0, BULK);
        written += PARTITIONS;
        wait_until(seen_by_audit(fixture, self) == written);
    }
    commit(fixture, late);
    wait_until(seen_by_audit(fixture, self) == written + 1);
}

/* So that the numbers of the original's transactions are far above those of a new
 * cluster. */
static void burn_transaction_ids(struct fixture *fixture)
{
    if (fixture->engine == WEIR_POSTGRESQL)
        server_execute(
            fixture->server, fixture->database,
            "CREATE TEMP TABLE t (n integer); DO $$ BEGIN FOR i IN 1..5000 LOOP"
            " BEGIN INSERT INTO t VALUES (1); EXCEPTION WHEN others THEN NULL; END;"
            " END LOOP; END $$");
}

/*
 * `default` is in the middle of a cut, at a message that is tried again and again, and
 * has rejected one in each partition; `audit` has had everything that is in a cut. Some
 * of the rows are set aside. What came after the last cut is in none.
 */
static void fill(struct fixture *fixture)
{
    struct service service;

    burn_transaction_ids(fixture);
    outbox_small_segments(fixture, SEGMENT_BITS);
    serve(fixture, &service, "original");
    recorder_answer(service.orders[0], REJECTED, ALWAYS, ANSWER_REJECT);
    recorder_answer(service.orders[0], STUCK_AT, ALWAYS, ANSWER_RETRY);
    for (int32_t i = 0; i < PARTITIONS; i++)
        outbox_fixture_send(fixture, service.outbox, "orders", i, FIRST_BATCH);
    outbox_fixture_start(fixture, service.outbox);
    wait_until(seen_by_audit(fixture, &service) == PARTITIONS * FIRST_BATCH);
    for (int i = 0; i < ROUNDS; i++)
        write_round(fixture, &service, i);
    for (int32_t i = 0; i < PARTITIONS; i++)
        wait_until(
            outbox_fixture_partition(fixture, service.outbox, "orders", "default", i)
                .attempts > 1);
    wait_until(fixture->engine != WEIR_POSTGRESQL ||
               outbox_fixture_queue_view(fixture, service.outbox, "orders").aside > 0);
    outbox_fixture_stop(service.outbox);
    {
        struct weir_connection *late = write_late(fixture, service.outbox, 0, "rest");

        outbox_fixture_send_text(fixture, service.outbox, "orders", 0, "rest, before");
        outbox_fixture_send_text(fixture, service.outbox, "orders", 1, "rest, elsewhere");
        commit(fixture, late);
    }
    weir_outbox_destroy(service.outbox);
}

/* ---- the copy ---------------------------------------------------------------------- */

/* Where a dump of the fixture's database was restored. */
static struct fixture *copy(struct fixture *fixture, enum dump_form form,
                            struct server *server)
{
    struct fixture *self = calloc(1, sizeof *self);
    struct weir_db_options options;

    check(self != NULL);
    self->engine = fixture->engine;
    self->server = server;
    weir_faulty_heap_init(&self->heap);
    server_name_database(self->database, sizeof self->database);
    dump_copy(fixture->server, fixture->database, form, server, self->database);
    server_url(server, self->database, self->url, sizeof self->url);
    options = fixture_options(self);
    self->db = fixture_open(self, &options);
    return self;
}

static void forget(struct fixture *fixture)
{
    weir_db_destroy(fixture->db);
    check_int(fixture->heap.outstanding, 0);
    server_drop_database(fixture->server, fixture->database);
    free(fixture);
}

/* A cluster that has nothing in common with the shared one but the program. */
static struct server *fresh_cluster(void)
{
    static struct server *server;

    if (server == NULL)
        server = server_create(WEIR_POSTGRESQL,
                               &(struct server_options){.fill = server_fill_anew});
    return server;
}

static struct weir_pg_survey restore(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_pg_survey survey;

    check_db(weir_pg_restore(connection, WEIR_PG_HOLES_REFUSED, &survey, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    return survey;
}

static void check_refused(struct fixture *fixture)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "refused");
    struct weir_outbox *outbox = NULL;

    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_SCHEMA);
    check(strstr(fixture->error.text, "weir migrate --restored --yes") != NULL);
}

/* ---- comparing --------------------------------------------------------------------- */

/* What an operator sees of both before anything is delivered. */
static void check_same_state(struct fixture *original, struct fixture *copied)
{
    struct weir_outbox *ours = outbox_fixture_outbox(original, "ours");
    struct weir_outbox *theirs = outbox_fixture_outbox(copied, "theirs");
    struct queue_view one = outbox_fixture_queue_view(original, ours, "orders");
    struct queue_view two = outbox_fixture_queue_view(copied, theirs, "orders");

    check_int(two.waiting, one.waiting);
    check_int(two.dead_letters, one.dead_letters);
    check_int(two.dead_letters, PARTITIONS);
    for (int s = 0; s < SUBSCRIPTIONS; s++) {
        for (int32_t i = 0; i < PARTITIONS; i++) {
            struct partition_view a =
                outbox_fixture_partition(original, ours, "orders", SUBSCRIPTION[s], i);
            struct partition_view b =
                outbox_fixture_partition(copied, theirs, "orders", SUBSCRIPTION[s], i);

            check_int(b.seq, a.seq);
            check_int(b.waiting, a.waiting);
            check_int(b.attempts, a.attempts);
            check_str(b.last_error, a.last_error);
            check_int(b.crashes, a.crashes);
        }
    }
    weir_outbox_destroy(ours);
    weir_outbox_destroy(theirs);
}

static void drain(struct fixture *fixture, struct service *self, const char *name)
{
    serve(fixture, self, name);
    outbox_fixture_start(fixture, self->outbox);
    wait_until(outbox_fixture_queue_view(fixture, self->outbox, "orders").waiting == 0);
    wait_until(outbox_fixture_queue_view(fixture, self->outbox, "bulk").waiting == 0);
}

/* The n-th delivery of a partition. */
static struct delivery nth(struct recorder *recorder, int32_t partition, size_t n)
{
    struct delivery delivery = {.partition = -1};

    for (size_t i = 0; i < recorder_count(recorder); i++) {
        delivery = recorder_delivery(recorder, i);
        if (delivery.partition == partition && n-- == 0)
            return delivery;
    }
    weir_test_fail(__FILE__, __LINE__, "partition %d had no such delivery",
                   (int)partition);
}

static void check_same_deliveries(struct recorder *original, struct recorder *copied,
                                  int32_t partitions)
{
    check_int(recorder_count(copied), recorder_count(original));
    for (int32_t i = 0; i < partitions; i++) {
        check_int(recorder_count_of(copied, i), recorder_count_of(original, i));
        for (size_t n = 0; n < recorder_count_of(original, i); n++) {
            struct delivery a = nth(original, i, n);
            struct delivery b = nth(copied, i, n);

            check_int(b.seq, a.seq);
            check_str(b.payload, a.payload);
            check(memcmp(b.uid, a.uid, WEIR_UID_SIZE) == 0);
        }
    }
}

/* What is sent now comes next. */
static void check_goes_on(struct fixture *fixture, struct service *self)
{
    for (int32_t i = 0; i < PARTITIONS; i++) {
        for (int s = 0; s < SUBSCRIPTIONS; s++) {
            size_t count = recorder_count_of(self->orders[s], i);
            int64_t seq = outbox_fixture_partition(fixture, self->outbox, "orders",
                                                   SUBSCRIPTION[s], i)
                              .seq;
            struct delivery delivery;

            outbox_fixture_send_text(fixture, self->outbox, "orders", i, "new");
            wait_until(recorder_count_of(self->orders[s], i) == count + 1);
            delivery = nth(self->orders[s], i, count);
            check_str(delivery.payload, "new");
            check_int(delivery.seq, seq + 1);
            wait_until(
                outbox_fixture_queue_view(fixture, self->outbox, "orders").waiting == 0);
        }
    }
}

/* Both deliver what is left: the same. */
static void check_delivers_alike(struct fixture *original, struct fixture *copied)
{
    struct service ours, theirs;

    drain(original, &ours, "ours");
    outbox_fixture_close(ours.outbox);
    drain(copied, &theirs, "theirs");
    for (int s = 0; s < SUBSCRIPTIONS; s++)
        check_same_deliveries(ours.orders[s], theirs.orders[s], PARTITIONS);
    check_same_deliveries(ours.bulk, theirs.bulk, 1);
    check(recorder_count(ours.orders[0]) > PARTITIONS * ROUNDS);
    check_int(recorder_count(ours.orders[1]), 3); /* what no cut had */
    check_goes_on(copied, &theirs);
    outbox_fixture_close(theirs.outbox);
}

/* Every row there is has the cut and id that it has where it comes from. */
static void check_same_order(struct fixture *original, struct fixture *copied)
{
    PGconn *ours = pg_outbox_connect(original);
    PGconn *theirs = pg_outbox_connect(copied);
    char(*lists)[PG_OUTBOX_LIST_SIZE] = calloc(2, sizeof *lists);

    check(lists != NULL);
    (void)pg_outbox_cut(ours); /* as restoring does */
    for (int64_t pid = 64; pid < 64 + PARTITIONS; pid++) {
        pg_outbox_list(ours, pid, (struct weir_log_position){0, 0}, lists[0]);
        pg_outbox_list(theirs, pid, (struct weir_log_position){0, 0}, lists[1]);
        check_str(lists[1], lists[0]);
    }
    check_int(pg_ask(theirs, "SELECT count(*) FROM weir_log"), 0);
    free(lists);
    PQfinish(ours);
    PQfinish(theirs);
}

static void check_restores(struct fixture *fixture, enum dump_form form,
                           struct server *server)
{
    struct fixture *copied;
    struct weir_connection *open;
    struct weir_outbox *outbox;

    fill(fixture);
    outbox = outbox_fixture_outbox(fixture, "writer");
    open = write_late(fixture, outbox, 2, "never committed");
    copied = copy(fixture, form, server);
    fixture_give(fixture, open);
    weir_outbox_destroy(outbox);

    check_refused(copied);
    check(restore(copied).needed);
    check_same_order(fixture, copied);
    check_same_state(fixture, copied);
    check_delivers_alike(fixture, copied);
    forget(copied);
}

/* ---- PostgreSQL -------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(restore, delivers_what_the_original_would_from_a_custom_dump)
{
    check_restores(fixture, DUMP_CUSTOM, fresh_cluster());
}

OUTBOX_POSTGRESQL_TEST(restore, delivers_what_the_original_would_from_a_plain_dump)
{
    check_restores(fixture, DUMP_PLAIN, fresh_cluster());
}

OUTBOX_POSTGRESQL_TEST(restore, delivers_what_the_original_would_under_another_name)
{
    check_restores(fixture, DUMP_CUSTOM, fixture->server);
}

/* ---- a dump while everybody is at work --------------------------------------------- */

struct dumping {
    struct fixture *original;
    struct fixture *copied;
};

/* A dump of a few cuts would not show the order between cuts. */
enum { CUTS_MIN = 10 };

static int64_t newest_cut(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT max(no) FROM weir_cut");
}

static void dump_now(void *argument)
{
    struct dumping *self = argument;
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(30);

    while (newest_cut(self->original) <= CUTS_MIN && weir_clock_now_ns() < end_ns)
        (void)weir_clock_sleep(WEIR_MILLISECONDS(5));
    self->copied = copy(self->original, DUMP_CUSTOM, fresh_cluster());
}

/* Everything up to a cut, in its order, as one number. */
static int64_t digest(struct fixture *fixture, int64_t cut)
{
    char sql[640];

    (void)snprintf(
        sql, sizeof sql,
        "SELECT hashtextextended(coalesce(string_agg(pid || ':' || cut || ':' || id, ' '"
        " ORDER BY pid, cut, id), ''), 0) FROM (SELECT pid, (SELECT no FROM weir_cut"
        " WHERE pg_visible_in_snapshot(xid, snap) ORDER BY no LIMIT 1) AS cut, id"
        " FROM weir_log UNION ALL SELECT pid, cut, id FROM weir_aside) m WHERE cut <= "
        "%lld",
        (long long)cut);
    return fixture_ask(fixture, sql);
}

OUTBOX_POSTGRESQL_TEST(restore, knows_the_order_from_a_dump_under_load)
{
    struct dumping dumping = {.original = fixture};
    struct order_options options;
    struct order_result result;
    struct weir_pg_survey survey;
    int64_t newest;

    order_options_init(&options, 7, 10000);
    options.outages = 1;
    options.outage = dump_now;
    options.outage_argument = &dumping;
    options.large = 500;
    options.calm = true;
    options.lulls = false;
    options.sweepers = 0;
    order_run(fixture, &options, &result);
    check_int(result.verdict.violations, 0);

    newest = newest_cut(dumping.copied);
    survey = restore(dumping.copied);
    check(survey.needed && newest > CUTS_MIN && survey.messages > 1000);
    check_int(fixture_ask(dumping.copied, "SELECT count(*) FROM weir_aside"),
              survey.messages + survey.aside);
    check_int(digest(dumping.copied, newest), digest(fixture, newest));
    check(digest(fixture, newest) != digest(fixture, newest - 1));
    forget(dumping.copied);
}

/* ---- what it does ------------------------------------------------------------------ */

/* As if the tables had been made elsewhere. */
static void estrange(struct fixture *fixture)
{
    fixture_prepare(fixture, "UPDATE {p}_meta SET value = '1/2' WHERE name = 'identity'");
}

static int64_t is_strange(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_meta WHERE name = 'identity'"
                                " AND value = '1/2'");
}

OUTBOX_POSTGRESQL_TEST(restore, changes_nothing_where_the_tables_were_made)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_pg_survey survey;

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    survey = restore(fixture);

    check(!survey.needed);
    check_int(survey.messages, 3);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 3);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_aside"), 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_POSTGRESQL_TEST(restore, tells_what_there_is)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 2, recorder_new());
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_pg_survey survey;

    outbox_fixture_send(fixture, outbox, "orders", 1, 7);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 1) == 7);
    outbox_fixture_close(outbox);
    estrange(fixture);
    check_db(weir_pg_restore_survey(connection, &survey, &fixture->error), WEIR_OK);

    check(survey.needed);
    check_str(survey.made_in, "1/2");
    check(strcmp(survey.found_in, survey.made_in) != 0);
    check_int(survey.messages, 7);
    check_int(survey.aside, 0);
    check_int(survey.cuts, fixture_ask(fixture, "SELECT count(*) FROM weir_cut"));
    check_int(survey.queues, 1);
    check_int(survey.subscriptions, 1);
    check_int(is_strange(fixture), 1);
    fixture_give(fixture, connection);
}

OUTBOX_POSTGRESQL_TEST(restore, of_an_empty_database_is_the_beginning_of_one)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox;

    estrange(fixture);
    check(restore(fixture).needed);
    outbox = outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 5);
    check(recorder_in_order(recorder, 0, 5));
    check_int(recorder_count(recorder), 5);
    outbox_fixture_close(outbox);
}

/* Whoever takes over from an owner that did not let go counts a crash, and goes
 * slowly. */
OUTBOX_POSTGRESQL_TEST(restore, takes_nobody_for_dead)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    fixture_prepare(fixture, "UPDATE {p}_lease SET owner = 7, until_us = 1");
    estrange(fixture);
    check(restore(fixture).needed);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease WHERE owner IS NULL"),
              2);
    weir_outbox_destroy(outbox);
}

/* More than one statement copies. */
OUTBOX_POSTGRESQL_TEST(restore, sets_a_long_log_aside_piece_by_piece)
{
    enum { COUNT = 2 * WEIR_RESTORE_ROWS + 7 };
    PGconn *session = pg_outbox_connect(fixture);
    int64_t queue = pg_outbox_queue(session, "orders", 1);

    (void)pg_outbox_subscribe(session, queue, "default");
    (void)pg_outbox_write(session, queue * 64, WEIR_RESTORE_ROWS + 1);
    (void)pg_outbox_cut(session);
    (void)pg_outbox_write(session, queue * 64, WEIR_RESTORE_ROWS + 6);
    estrange(fixture);
    check_int(restore(fixture).messages, COUNT);

    check_int(pg_ask(session, "SELECT count(*) FROM weir_aside"), COUNT);
    check_int(pg_ask(session, "SELECT count(*) FROM weir_aside WHERE cut = 1"),
              WEIR_RESTORE_ROWS + 1);
    check_int(pg_ask(session, "SELECT count(*) FROM weir_aside WHERE cut = 2"),
              WEIR_RESTORE_ROWS + 6);
    check_int(pg_ask(session, "SELECT no FROM weir_cut"), 2);
    PQfinish(session);
}

/* Data without sequences: ids that were given are not given again. */
OUTBOX_POSTGRESQL_TEST(restore, goes_on_behind_ids_that_the_sequence_forgot)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "new");
    struct weir_receipt receipt;

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);
    fixture_prepare(fixture, "ALTER SEQUENCE {p}_log_id RESTART");
    estrange(fixture);
    check(restore(fixture).needed);

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, &receipt, &fixture->error),
             WEIR_OK);
    check_int(receipt.id, 6);
    weir_outbox_destroy(outbox);
}

/* Lost at its first statement, at its second, ...: each time nothing has happened, or
 * all. */
OUTBOX_POSTGRESQL_TEST(restore, is_all_or_nothing)
{
    PGconn *session = pg_outbox_connect(fixture);
    int64_t queue = pg_outbox_queue(session, "orders", 1);
    struct weir_db_options options = fixture_options(fixture);
    enum weir_status status = WEIR_LOST;
    int failed = 0;

    (void)pg_outbox_write(session, queue * 64, 5);
    estrange(fixture);
    for (uint64_t at = 2; status != WEIR_OK; at++) { /* the first is connecting */
        struct weir_db *db = fixture_open(fixture, &options);
        struct weir_connection *connection = NULL;
        struct weir_pg_survey survey;
        struct weir_fault_points points;

        weir_fault_points_init(&points);
        weir_fault_points_arm_once(&points, "db.lose", at);
        weir_db_set_fault_points(db, &points);
        status = weir_db_acquire(db, &connection, &fixture->error);
        if (status == WEIR_OK)
            status = weir_pg_restore(connection, WEIR_PG_HOLES_REFUSED, &survey,
                                     &fixture->error);
        weir_db_release(db, connection);
        weir_db_destroy(db);
        wait_until(fixture_is_unlocked(fixture, "weir_log"));
        if (status != WEIR_OK && status != WEIR_IN_DOUBT) {
            check_int(is_strange(fixture), 1);
            check_int(pg_ask(session, "SELECT count(*) FROM weir_log"), 5);
            check_int(pg_ask(session, "SELECT count(*) FROM weir_aside"), 0);
            failed++;
        }
    }
    check(failed > 10);
    check_int(is_strange(fixture), 0);
    check_int(pg_ask(session, "SELECT count(*) FROM weir_log"), 0);
    check_int(pg_ask(session, "SELECT count(*) FROM weir_aside"), 5);
    PQfinish(session);
}

/* ---- who is refused ---------------------------------------------------------------- */

/* Workers of a category that were refused; they are told that there is something to
 * do. */
static uint64_t count_failures(struct fixture *fixture, struct weir_outbox *outbox,
                               const char *category)
{
    struct weir_stats_row rows[WEIR_STATS_CATEGORIES_MAX];
    size_t count =
        weir_stats_read(weir_outbox_stats(outbox), rows, WEIR_STATS_CATEGORIES_MAX);

    server_execute(fixture->server, fixture->database, "NOTIFY weir_wake");
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].category, category) == 0)
            return rows[i].failures;
    }
    return 0;
}

/* It runs, and behind its address there is a restored database from one moment to the
 * next. */
OUTBOX_POSTGRESQL_TEST(restore, stops_a_process_whose_connections_lead_there)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    struct weir_draft draft = outbox_fixture_draft(0, "refused");
    uint64_t readers, keepers;

    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);
    estrange(fixture);
    server_end_sessions(fixture->server, fixture->database);

    wait_until(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error) ==
               WEIR_SCHEMA);
    check(strstr(fixture->error.text, "weir migrate --restored --yes") != NULL);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 3);

    /* A message that somebody has put there all the same is not delivered... */
    fixture_prepare(fixture, "INSERT INTO {p}_log (pid, uid, type, payload)"
                             " VALUES (64, decode(repeat('07', 16), 'hex'), 't', 'x')");
    readers = count_failures(fixture, outbox, "dispatcher");
    keepers = count_failures(fixture, outbox, "lease_keeper");
    wait_until(count_failures(fixture, outbox, "dispatcher") > readers + 1);
    wait_until(count_failures(fixture, outbox, "lease_keeper") > keepers + 1);
    check_int(recorder_count(recorder), 3);

    /* ...until it may be. Nobody has to be restarted for that. */
    check(restore(fixture).needed);
    wait_until(recorder_count(recorder) == 4);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 5);
    check(recorder_in_order(recorder, 0, 5));
    outbox_fixture_close(outbox);
}

OUTBOX_POSTGRESQL_TEST(restore, refuses_an_enqueue_on_an_adopted_connection)
{
    PGconn *session = pg_outbox_connect(fixture);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_connection *adopted = NULL;
    struct weir_draft draft = outbox_fixture_draft(0, "refused");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    pg_run(session, "BEGIN");
    check_db(
        weir_connection_adopt_postgresql(fixture->db, session, &adopted, &fixture->error),
        WEIR_OK);
    estrange(fixture);
    check_db(weir_enqueue(outbox, adopted, "orders", &draft, NULL, &fixture->error),
             WEIR_SCHEMA);

    weir_connection_disown(adopted);
    pg_run(session, "COMMIT"); /* which is as it was */
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 0);
    weir_outbox_destroy(outbox);
    PQfinish(session);
}

/* ---- MariaDB ----------------------------------------------------------------------- */

OUTBOX_MARIADB_TEST(restore, needs_nothing)
{
    struct fixture *copied;

    fill(fixture);
    copied = copy(fixture, DUMP_PLAIN, fixture->server);
    check_same_state(fixture, copied);
    check_delivers_alike(fixture, copied);
    forget(copied);
}

static bool mend(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    bool mended = false;

    check_db(weir_maria_restore(connection, &mended, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return mended;
}

/* As when the dump had read the sequence after the era of its snapshot was over. */
OUTBOX_MARIADB_TEST(restore, mends_a_dump_whose_sequence_is_ahead_of_its_eras)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct recorder *recorder = recorder_new();
    struct weir_draft draft = outbox_fixture_draft(0, "4");
    struct fixture *copied;

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    weir_outbox_destroy(outbox);
    fixture_prepare(fixture, "DO SETVAL({p}_era_now, 7)");
    copied = copy(fixture, DUMP_PLAIN, fixture->server);

    outbox = outbox_fixture_outbox(copied, "bert");
    check(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &copied->error) != WEIR_OK);
    check(mend(copied));
    outbox_fixture_send_text(copied, outbox, "orders", 0, "4");
    outbox_fixture_serve(copied, outbox, "orders", recorder);
    outbox_fixture_start(copied, outbox);
    wait_until(outbox_fixture_seq(copied, outbox, "orders", 0) == 4);
    check(recorder_in_order(recorder, 0, 4));
    check_int(recorder_count(recorder), 4);
    check(!mend(copied));
    outbox_fixture_close(outbox);
    forget(copied);
}
