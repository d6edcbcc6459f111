/*
 * What is special about the log on PostgreSQL: transactions that commit in another
 * order than they took their numbers in, and cuts.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/buf.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/postgres/cut.h"
#include "outbox/postgres/statements.h"
#include "outbox/schema.h"
#include "pg_log.h"

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

static void append_committed(struct fixture *fixture, const char *payload)
{
    struct weir_connection *connection = begin(fixture);

    pg_log_append(fixture, connection, 64, payload);
    commit(fixture, connection);
}

/* ---- order ------------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(log_pg, gives_a_message_that_commits_late_in_a_later_cut)
{
    struct weir_connection *slow = begin(fixture);
    int64_t first = pg_log_append(fixture, slow, 64, "slow");
    int64_t head;

    append_committed(fixture, "quick");
    head = pg_log_cut(fixture);
    check_reads(BEGINNING, "quick");

    commit(fixture, slow);
    check_int(pg_log_cut(fixture), head + 1);
    check_int(first, 1);
    check_reads(BEHIND_CUT(head), "slow");
    check_reads(BEGINNING, "quick slow");
}

OUTBOX_POSTGRESQL_TEST(log_pg, gives_late_messages_of_a_cut_before_its_new_ones)
{
    struct weir_connection *slow = begin(fixture);

    pg_log_append(fixture, slow, 64, "slow");
    append_committed(fixture, "quick");
    (void)pg_log_cut(fixture);
    append_committed(fixture, "next");
    commit(fixture, slow);
    (void)pg_log_cut(fixture);

    check_reads(BEGINNING, "quick slow next");
}

/* A snapshot's list of running transactions ends at the last one that has ended.
 * Whether ours is above it is chance on a busy server, so it is tried until it was. */
OUTBOX_POSTGRESQL_TEST(log_pg, finds_a_late_transaction_above_the_end_of_the_snapshot)
{
    static const char SQL_ABOVE[] =
        "SELECT count(*) FROM weir_cut c, weir_log l"
        " WHERE c.no = (SELECT max(no) FROM weir_cut)"
        " AND l.id = (SELECT max(id) FROM weir_log)"
        " AND l.xid >= pg_snapshot_xmax(c.snap) AND l.xid < c.own";
    struct reading *reading = malloc(sizeof *reading);
    int hits = 0;

    check(reading != NULL);
    for (int i = 1; i <= 50 && hits == 0; i++) {
        struct weir_connection *slow = begin(fixture);
        int64_t before;

        pg_log_append(fixture, slow, 64, "slow");
        before = pg_log_cut(fixture);
        commit(fixture, slow);
        hits += fixture_ask(fixture, SQL_ABOVE) > 0;

        check_int(pg_log_cut(fixture), before + 1);
        pg_log_read(fixture, BEHIND_CUT(before), 10, reading);
        check_str(reading->text, "slow");
        pg_log_read(fixture, BEGINNING, 10, reading);
        check_int(reading->count, i);
    }
    free(reading);
    check(hits > 0);
}

/* Each savepoint that writes takes a number, and nobody's rows have it. */
OUTBOX_POSTGRESQL_TEST(log_pg, finds_a_late_transaction_among_numbers_of_savepoints)
{
    struct weir_connection *slow = begin(fixture);

    fixture_prepare(fixture, "CREATE TABLE {p}_scratch (n integer)");
    pg_log_append(fixture, slow, 64, "slow");
    for (int i = 0; i < 100; i++) {
        check_db(weir_connection_savepoint(slow, &fixture->error), WEIR_OK);
        fixture_execute(fixture, slow, "INSERT INTO {p}_scratch VALUES (1)");
        check_db(weir_connection_savepoint_keep(slow, &fixture->error), WEIR_OK);
    }
    (void)pg_log_cut(fixture);
    commit(fixture, slow);

    check_int(pg_log_cut(fixture), 2);
    check_reads(BEGINNING, "slow");
}

/* The cut is made to look as if the second message had come after `hi` was read. */
OUTBOX_POSTGRESQL_TEST(log_pg, gives_once_what_came_between_hi_and_the_snapshot)
{
    append_committed(fixture, "a");
    append_committed(fixture, "b");
    check_int(pg_log_cut(fixture), 1);
    fixture_prepare(fixture, "UPDATE {p}_cut SET hi = 1 WHERE no = 1");
    append_committed(fixture, "c");
    check_int(pg_log_cut(fixture), 2);

    check_reads(BEGINNING, "a b c");
    check_reads(BEHIND_CUT(1), "c");
}

/* Takes ids as producers do, until it is cancelled. */
static void *take_ids(void *argument)
{
    PGconn *native = argument;

    PQclear(PQexec(native, "SELECT count(nextval('weir_log_id'))"
                           " FROM (SELECT generate_series(1, 1000000000)) s"));
    return NULL;
}

/* A value that was read, and the id that is taken next: larger, if the first was taken
 * already. */
static const char SQL_COMPARE[] =
    "DO $do$ DECLARE hi bigint; id bigint; BEGIN FOR i IN 1..60000 LOOP"
    " EXECUTE $hi$ %s $hi$ INTO hi; id := nextval('weir_log_id');"
    " IF id <= hi THEN RAISE 'read %% before id %% was taken', hi, id; END IF;"
    " END LOOP; END $do$";

/* nextval() writes a value that is 32 ahead for an instant, see outbox/postgres/cut.c,
 * I5. */
OUTBOX_POSTGRESQL_TEST(cut, does_not_read_an_id_that_was_not_taken)
{
    PGconn *producer = pg_outbox_connect(fixture);
    PGconn *reader = pg_outbox_connect(fixture);
    PGcancel *cancel = PQgetCancel(producer);
    char why[256], hi[1024], text[2048];
    struct weir_buf sql;
    pthread_t thread;
    PGresult *result;

    weir_buf_init(&sql, weir_heap_system(), sizeof hi);
    check_db(
        weir_sql_expand(&weir_pg_sql_hi, WEIR_POSTGRESQL, "weir", &sql, &fixture->error),
        WEIR_OK);
    (void)snprintf(hi, sizeof hi, "%s", weir_buf_text(&sql));
    weir_buf_fini(&sql);
    (void)snprintf(text, sizeof text, SQL_COMPARE, hi);
    check(pthread_create(&thread, NULL, take_ids, producer) == 0);

    result = PQexec(reader, text);

    check_str(PQresultErrorMessage(result), "");
    PQclear(result);
    check(PQcancel(cancel, why, sizeof why) == 1);
    check(pthread_join(thread, NULL) == 0);
    PQfreeCancel(cancel);
    PQfinish(producer);
    PQfinish(reader);
}

OUTBOX_POSTGRESQL_TEST(log_pg, needs_no_cut_before_the_first_message)
{
    check_int(pg_log_cut(fixture), 0);

    append_committed(fixture, "first");
    check_int(pg_log_cut(fixture), 1);
    check_reads(BEGINNING, "first");
    check_int(pg_log_cut(fixture), 1);
}

OUTBOX_POSTGRESQL_TEST(log_pg, never_gives_what_was_rolled_back)
{
    struct weir_connection *undone = begin(fixture);
    static struct reading reading;

    pg_log_append(fixture, undone, 64, "undone");
    check_int(pg_log_cut(fixture), 1);
    weir_connection_rollback(undone);
    fixture_give(fixture, undone);
    append_committed(fixture, "done");

    check_int(pg_log_cut(fixture), 2);
    pg_log_read(fixture, BEGINNING, 10, &reading);
    check_str(reading.text, "done");
    check(weir_log_position_equal(reading.end, BEHIND_CUT(2)));
}

OUTBOX_POSTGRESQL_TEST(log_pg, keeps_a_transaction_with_savepoints_together)
{
    struct weir_connection *slow = begin(fixture);

    pg_log_append(fixture, slow, 64, "a");
    check_db(weir_connection_savepoint(slow, &fixture->error), WEIR_OK);
    pg_log_append(fixture, slow, 64, "b");
    check_db(weir_connection_savepoint_keep(slow, &fixture->error), WEIR_OK);
    check_db(weir_connection_savepoint(slow, &fixture->error), WEIR_OK);
    pg_log_append(fixture, slow, 64, "undone");
    check_db(weir_connection_savepoint_undo(slow, &fixture->error), WEIR_OK);
    append_committed(fixture, "quick");
    (void)pg_log_cut(fixture);
    pg_log_append(fixture, slow, 64, "c");
    commit(fixture, slow);
    (void)pg_log_cut(fixture);

    check_reads(BEGINNING, "quick a b c");
    check_int(fixture_ask(fixture, "SELECT count(DISTINCT xid) FROM weir_log"), 2);
}

static void prepared_body(struct fixture *fixture)
{
    struct weir_connection *prepared = begin(fixture);

    pg_log_append(fixture, prepared, 64, "prepared");
    fixture_execute(fixture, prepared, "PREPARE TRANSACTION 'both'");
    append_committed(fixture, "quick");
    (void)pg_log_cut(fixture);
    check_reads(BEGINNING, "quick");

    fixture_execute(fixture, prepared, "COMMIT PREPARED 'both'");
    fixture_give(fixture, prepared);
    (void)pg_log_cut(fixture);
    check_reads(BEGINNING, "quick prepared");
}

POSTGRESQL_TEST(log_pg, waits_for_a_prepared_transaction)
{
    static const char *const SETTINGS[] = {"max_prepared_transactions=4", NULL};
    struct server_options options = {.settings = SETTINGS};
    struct fixture other = *fixture;
    struct weir_db_options db_options = fixture_options(fixture);
    uint32_t from;
    uint32_t to;

    other.server = server_create(WEIR_POSTGRESQL, &options);
    (void)snprintf(other.database, sizeof other.database, "store");
    server_create_database(other.server, other.database);
    server_url(other.server, other.database, other.url, sizeof other.url);
    db_options.url = other.url;
    other.db = fixture_open(fixture, &db_options);
    check_db(
        weir_schema_migrate(&weir_outbox_schema, other.db, &from, &to, &fixture->error),
        WEIR_OK);

    prepared_body(&other);
    weir_db_destroy(other.db);
    server_destroy(other.server);
}

/* ---- cutting ----------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(cut, is_refused_in_a_transaction)
{
    struct weir_connection *connection = begin(fixture);
    bool made = true;

    pg_log_append(fixture, connection, 64, "a");
    check_db(weir_pg_cut_make(connection, 0, NULL, &made, &fixture->error), WEIR_INVALID);
    check(!made);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_OPEN);

    commit(fixture, connection);
    (void)pg_log_cut(fixture);
    check_reads(BEGINNING, "a");
}

OUTBOX_POSTGRESQL_TEST(cut, of_somebody_else_makes_ours_unnecessary)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_pg_probe probe;
    bool made = true;

    append_committed(fixture, "a");
    check_db(weir_pg_cut_probe(connection, 0, &probe, &fixture->error), WEIR_OK);
    check(probe.needed);
    check_int(pg_log_cut(fixture), 1);

    check_db(weir_pg_cut_make(connection, 0, NULL, &made, &fixture->error), WEIR_OK);
    check(!made);
    check_int(fixture_ask(fixture, "SELECT max(no) FROM weir_cut"), 1);
    fixture_give(fixture, connection);
}

/* Cuts, but for the first one, that came sooner after the one before. */
static int64_t count_sooner(struct fixture *fixture, int64_t than_us)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM (SELECT no, made_us"
                   " - lag(made_us) OVER (ORDER BY no) AS pause"
                   " FROM weir_cut) c WHERE no > 1 AND pause < %lld",
                   (long long)than_us);
    return fixture_ask(fixture, sql);
}

OUTBOX_POSTGRESQL_TEST(cut, is_not_made_before_the_newest_has_the_age_asked_for)
{
    enum { AGE_US = 10000, CUTS = 10 };
    struct weir_connection *connection = fixture_take(fixture);

    for (int made_count = 0; made_count < CUTS;) {
        bool made = false;

        append_committed(fixture, "a");
        check_db(weir_pg_cut_make(connection, AGE_US, NULL, &made, &fixture->error),
                 WEIR_OK);
        made_count += made;
    }
    fixture_give(fixture, connection);
    check_int(fixture_ask(fixture, "SELECT max(no) FROM weir_cut"), CUTS);
    check_int(count_sooner(fixture, AGE_US), 0);
}

OUTBOX_POSTGRESQL_TEST(cut, waits_half_a_millisecond_for_the_one_before)
{
    for (int i = 0; i < 20; i++) {
        append_committed(fixture, "a");
        check_int(pg_log_cut(fixture), i + 1);
    }

    check_int(count_sooner(fixture, WEIR_CUT_REST_MIN_US), 0);
}

OUTBOX_POSTGRESQL_TEST(cut, waits_for_no_other_without_a_pace)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_cut_pace pace = {.off = true};
    struct weir_pg_probe probe;
    int64_t newest = 0;

    for (int i = 0; i < 3; i++) {
        append_committed(fixture, "a");
        fixture_prepare(fixture, "UPDATE {p}_cut SET made_us = {now}");
        check_db(weir_pg_cut_probe(connection, weir_cut_pace_age_us(&pace), &probe,
                                   &fixture->error),
                 WEIR_OK);
        check(probe.needed);
        check_int(probe.early_us, 0);
        check_db(weir_pg_cut_catch_up(connection, &pace, NULL, &newest, &fixture->error),
                 WEIR_OK);
        check_int(newest, i + 1);
    }
    fixture_give(fixture, connection);
}

OUTBOX_POSTGRESQL_TEST(cut, is_not_put_off_by_a_clock_that_went_back)
{
    append_committed(fixture, "a");
    check_int(pg_log_cut(fixture), 1);
    fixture_prepare(fixture,
                    "UPDATE {p}_cut SET made_us = {now} + 3600000000 WHERE no = 1");
    append_committed(fixture, "b");

    check_int(pg_log_cut(fixture), 2);
    check_reads(BEGINNING, "a b");
}

/* Threads that cut as fast as they may, while another appends. */
struct cutters {
    struct fixture *fixture;
    _Atomic bool done;
    _Atomic int failures;
};

static void *cut_and_cut(void *argument)
{
    struct cutters *self = argument;
    struct weir_connection *connection;
    struct weir_error error;
    int64_t newest;
    int64_t before = 0;

    if (weir_db_acquire(self->fixture->db, &connection, &error) != WEIR_OK) {
        self->failures++;
        return NULL;
    }
    while (!self->done) {
        if (weir_pg_cut_catch_up(connection, NULL, NULL, &newest, &error) != WEIR_OK ||
            newest < before)
            self->failures++;
        before = newest;
    }
    weir_db_release(self->fixture->db, connection);
    return NULL;
}

OUTBOX_POSTGRESQL_TEST(cuts, of_several_at_once_are_dense_and_never_go_back)
{
    struct cutters cutters = {.fixture = fixture};
    struct reading *reading = malloc(sizeof *reading);
    pthread_t threads[4];

    check(reading != NULL);
    for (size_t i = 0; i < 4; i++)
        check_int(pthread_create(&threads[i], NULL, cut_and_cut, &cutters), 0);
    for (int i = 0; i < 300; i++)
        append_committed(fixture, "a");
    cutters.done = true;
    for (size_t i = 0; i < 4; i++)
        check_int(pthread_join(threads[i], NULL), 0);
    (void)pg_log_cut(fixture);

    check_int(cutters.failures, 0);
    check_int(fixture_ask(fixture, "SELECT count(*) - max(no) FROM weir_cut"), 1);
    check_int(count_sooner(fixture, WEIR_CUT_REST_MIN_US), 0);
    check_int(fixture_ask(fixture,
                          "SELECT count(*) FROM weir_cut a JOIN weir_cut b"
                          " ON b.no = a.no + 1"
                          " WHERE pg_snapshot_xmax(b.snap) < pg_snapshot_xmax(a.snap)"
                          " OR b.hi < a.hi OR b.own <= a.own OR b.top < b.hi"),
              0);
    pg_log_read(fixture, BEGINNING, 7, reading);
    check_int(reading->count, 300);
    free(reading);
}

/* ---- appending --------------------------------------------------------------------- */

OUTBOX_POSTGRESQL_TEST(append_pg, of_many_is_in_order_and_has_growing_ids)
{
    enum { COUNT = 2500 };
    struct weir_outbox_log log = pg_log_open(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_log_entry *entries = calloc(COUNT, sizeof *entries);
    struct reading *reading = malloc(sizeof *reading);
    char(*texts)[8] = calloc(COUNT, sizeof *texts);
    const char *at;

    check(entries != NULL && texts != NULL && reading != NULL);
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%zu", i);
        entries[i] = pg_log_entry(64, texts[i]);
    }
    check_db(log.ops->append(&log, connection, entries, COUNT, "bell", &fixture->error),
             WEIR_OK);
    check_int(weir_connection_transaction(connection), WEIR_TRANSACTION_NONE);

    check_int(fixture_ask(fixture, "SELECT count(DISTINCT xid) FROM weir_log"), 1);
    (void)pg_log_cut(fixture);
    pg_log_read(fixture, BEGINNING, 1000, reading);
    check_int(reading->count, COUNT);
    at = reading->text;
    for (size_t i = 0; i < COUNT; i++) {
        check_int(strtol(at, (char **)(uintptr_t)&at, 10), i);
        check_int(reading->log_positions[i].id, entries[i].id);
    }
    free(reading);
    free(texts);
    free(entries);
    fixture_give(fixture, connection);
}

OUTBOX_POSTGRESQL_TEST(append_pg,
                       that_fails_in_the_middle_leaves_nothing_in_a_transaction)
{
    enum { COUNT = 1500 };
    struct weir_outbox_log log = pg_log_open(fixture);
    struct weir_connection *connection = begin(fixture);
    struct weir_log_entry *entries = calloc(COUNT, sizeof *entries);

    check(entries != NULL);
    for (size_t i = 0; i < COUNT; i++)
        entries[i] = pg_log_entry(64, "a");
    entries[COUNT - 1].key = weir_str("\xff");
    pg_log_append(fixture, connection, 64, "before");
    check_db(log.ops->append(&log, connection, entries, COUNT, NULL, &fixture->error),
             WEIR_INVALID);
    commit(fixture, connection);

    (void)pg_log_cut(fixture);
    check_reads(BEGINNING, "before");
    free(entries);
}

/* As an application: through the pooler, if there is one. */
static PGconn *connect_natively(struct fixture *fixture)
{
    char url[SERVER_URL_SIZE];
    PGconn *native;

    server_application_url(fixture->server, fixture->database, url, sizeof url);
    native = PQconnectdb(url);
    check_int(PQstatus(native), CONNECTION_OK);
    return native;
}

static void run_natively(PGconn *native, const char *text)
{
    PGresult *result = PQexec(native, text);

    check(PQresultStatus(result) == PGRES_COMMAND_OK ||
          PQresultStatus(result) == PGRES_TUPLES_OK);
    PQclear(result);
}

OUTBOX_POSTGRESQL_TEST(append_pg, works_inside_the_transaction_of_the_application)
{
    PGconn *native = connect_natively(fixture);
    struct weir_connection *adopted = NULL;

    check_db(
        weir_connection_adopt_postgresql(fixture->db, native, &adopted, &fixture->error),
        WEIR_OK);
    run_natively(native, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    pg_log_append(fixture, adopted, 64, "undone");
    run_natively(native, "ROLLBACK");
    run_natively(native, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    pg_log_append(fixture, adopted, 64, "done");
    run_natively(native, "COMMIT");
    weir_connection_disown(adopted);
    PQfinish(native);

    (void)pg_log_cut(fixture);
    check_reads(BEGINNING, "done");
}

OUTBOX_POSTGRESQL_TEST(append_pg,
                       of_many_on_an_adopted_idle_connection_is_one_transaction)
{
    enum { COUNT = 1500 };
    PGconn *native = connect_natively(fixture);
    struct weir_outbox_log log = pg_log_open(fixture);
    struct weir_log_entry *entries = calloc(COUNT, sizeof *entries);
    struct weir_connection *adopted = NULL;

    check(entries != NULL);
    for (size_t i = 0; i < COUNT; i++)
        entries[i] = pg_log_entry(64, "a");
    check_db(
        weir_connection_adopt_postgresql(fixture->db, native, &adopted, &fixture->error),
        WEIR_OK);
    check_db(log.ops->append(&log, adopted, entries, COUNT, NULL, &fixture->error),
             WEIR_OK);
    check_int(PQtransactionStatus(native), PQTRANS_IDLE);
    entries[COUNT - 1].key = weir_str("\xff");
    check_db(log.ops->append(&log, adopted, entries, COUNT, NULL, &fixture->error),
             WEIR_INVALID);
    check_int(PQtransactionStatus(native), PQTRANS_IDLE);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), COUNT);
    check_int(fixture_ask(fixture, "SELECT count(DISTINCT xid) FROM weir_log"), 1);
    weir_connection_disown(adopted);
    PQfinish(native);
    free(entries);
}

/* Notifications of "bell" up to a last one of our own, which comes after all that were
 * sent. */
static int count_rings(PGconn *listener, PGconn *other)
{
    int count = 0;

    run_natively(other, "NOTIFY bell, 'last'");
    for (;;) {
        PGnotify *notify;

        run_natively(listener, "SELECT 1");
        while ((notify = PQnotifies(listener)) != NULL) {
            bool last = strcmp(notify->extra, "last") == 0;

            PQfreemem(notify);
            if (last)
                return count;
            count++;
        }
    }
}

/* Somebody who listens, and how often "bell" rings for an append of one and an append
 * of two. */
struct notifiers {
    struct weir_outbox_log log;
    struct weir_connection *connection;
    PGconn *listener;
    PGconn *other;
};

static struct notifiers notifiers_open(struct fixture *fixture)
{
    struct notifiers self = {.log = pg_log_open(fixture),
                             .connection = fixture_take(fixture),
                             .listener = pg_outbox_connect(fixture),
                             .other = pg_outbox_connect(fixture)};

    run_natively(self.listener, "LISTEN bell");
    return self;
}

static int notifiers_append(struct fixture *fixture, struct notifiers *self)
{
    struct weir_log_entry entries[2] = {pg_log_entry(64, "a"), pg_log_entry(64, "b")};

    for (size_t count = 1; count <= 2; count++)
        check_db(self->log.ops->append(&self->log, self->connection, entries, count,
                                       "bell", &fixture->error),
                 WEIR_OK);
    return count_rings(self->listener, self->other);
}

static void notifiers_say(struct fixture *fixture, struct notifiers *self, bool watching)
{
    check_db(self->log.ops->say_watching(&self->log, self->connection, watching,
                                         &fixture->error),
             WEIR_OK);
}

static void notifiers_close(struct fixture *fixture, struct notifiers *self)
{
    PQfinish(self->listener);
    PQfinish(self->other);
    fixture_give(fixture, self->connection);
}

/* The sequence holds microseconds. */
static void say_watching_at(struct fixture *fixture, int seconds)
{
    char sql[160];

    (void)snprintf(sql, sizeof sql,
                   "SELECT setval('weir_asleep', (extract(epoch FROM clock_timestamp())"
                   " * 1000000)::bigint + %d * 1000000::bigint)",
                   seconds);
    (void)fixture_ask(fixture, sql);
}

OUTBOX_POSTGRESQL_TEST(append_pg, notifies_only_while_nobody_watches)
{
    struct notifiers notifiers = notifiers_open(fixture);

    check_int(notifiers_append(fixture, &notifiers), 2);
    notifiers_say(fixture, &notifiers, true);
    check_int(notifiers_append(fixture, &notifiers), 0);
    notifiers_say(fixture, &notifiers, false);
    check_int(notifiers_append(fixture, &notifiers), 2);
    notifiers_close(fixture, &notifiers);
}

OUTBOX_POSTGRESQL_TEST(append_pg, notifies_when_whoever_watched_has_not_said_so_for_long)
{
    struct notifiers notifiers = notifiers_open(fixture);

    say_watching_at(fixture, -60);
    check_int(notifiers_append(fixture, &notifiers), 2);
    notifiers_close(fixture, &notifiers);
}

OUTBOX_POSTGRESQL_TEST(append_pg, notifies_when_the_clock_was_set_back)
{
    struct notifiers notifiers = notifiers_open(fixture);

    say_watching_at(fixture, 3600);
    check_int(notifiers_append(fixture, &notifiers), 2);
    notifiers_close(fixture, &notifiers);
}

OUTBOX_POSTGRESQL_TEST(cut, notifies_whoever_listens)
{
    struct weir_connection *connection = fixture_take(fixture);
    PGconn *listener = pg_outbox_connect(fixture);
    PGconn *other = pg_outbox_connect(fixture);
    int64_t newest;

    run_natively(listener, "LISTEN bell");
    append_committed(fixture, "a");
    check_db(weir_pg_cut_catch_up(connection, NULL, "bell", &newest, &fixture->error),
             WEIR_OK);
    check_int(count_rings(listener, other), 1);
    check_db(weir_pg_cut_catch_up(connection, NULL, "bell", &newest, &fixture->error),
             WEIR_OK);
    check_int(count_rings(listener, other), 0);

    PQfinish(listener);
    PQfinish(other);
    fixture_give(fixture, connection);
}

OUTBOX_POSTGRESQL_TEST(log_pg, works_behind_a_transaction_pooler)
{
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE + 32];
    struct fixture other = *fixture;

    (void)snprintf(url, sizeof url, "%s%spooler=transaction", fixture->url,
                   strchr(fixture->url, '?') != NULL ? "&" : "?");
    options.url = url;
    other.db = fixture_open(fixture, &options);
    append_committed(&other, "a");
    append_committed(&other, "b");
    (void)pg_log_cut(&other);
    {
        struct fixture *keep = fixture;

        fixture = &other;
        check_reads(BEGINNING, "a b");
        fixture = keep;
    }
    weir_db_destroy(other.db);
}
