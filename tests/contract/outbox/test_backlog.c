/*
 * The limit of a queue: how much waits is counted by one process for all, and told to
 * producers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/clock.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/queue/backlog.h"

enum { LIMIT = 50, BEFORE = 110000, BEHIND = 40000, BATCH = 1000 };

static void limit(struct fixture *fixture, struct weir_outbox *outbox,
                  enum weir_unread unread)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = "orders";
    options.backlog_max = LIMIT;
    options.unread = unread;
    check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_OK);
}

static enum weir_status offer(struct fixture *fixture, struct weir_outbox *outbox,
                              struct weir_connection *connection)
{
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    return weir_enqueue(outbox, connection, "orders", &draft, NULL, &fixture->error);
}

/* By a process that remembers nothing of what others have enqueued. */
static enum weir_status offer_anew(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anew");
    enum weir_status status = offer(fixture, outbox, NULL);

    weir_outbox_destroy(outbox);
    return status;
}

/* Of a queue that is there. */
static void limit_later(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "later");

    limit(fixture, outbox, WEIR_UNREAD_KEEP);
    weir_outbox_destroy(outbox);
}

/* Messages of a queue that nobody has subscribed to. */
static void fill_other(struct fixture *fixture, struct weir_outbox *outbox, int count)
{
    struct weir_draft *drafts = calloc(BATCH, sizeof *drafts);

    check(drafts != NULL);
    for (int i = 0; i < BATCH; i++)
        drafts[i] = outbox_fixture_draft(0, "x");
    for (int i = 0; i < count / BATCH; i++)
        check_db(weir_enqueue_batch(outbox, NULL, "other", drafts, BATCH, NULL,
                                    &fixture->error),
                 WEIR_OK);
    free(drafts);
}

/* ---- how much waits ---------------------------------------------------------------- */

OUTBOX_TEST(backlog, is_limited_without_subscriptions)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    limit(fixture, outbox, WEIR_UNREAD_KEEP);
    outbox_fixture_send(fixture, outbox, "orders", 0, LIMIT);
    weir_outbox_destroy(outbox);

    wait_until(offer_anew(fixture) == WEIR_FULL);

    check(strstr(fixture->error.text, "its limit is 50") != NULL);
}

/* What nobody has subscribed to is removed. */
OUTBOX_TEST(backlog, of_a_queue_that_drops_what_is_unread_has_no_limit)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    limit(fixture, outbox, WEIR_UNREAD_DROP);
    outbox_fixture_send(fixture, outbox, "orders", 0, LIMIT);
    weir_outbox_destroy(outbox);

    check_db(offer_anew(fixture), WEIR_OK);
}

/* ---- the number that was published ------------------------------------------------- */

/* As if it had been counted `age` seconds ago; below 0: that is in the future. */
static void publish(struct fixture *fixture, int age, int waiting)
{
    const char *since =
        fixture_choose(fixture, "CAST(strftime('%s', 'now') AS INTEGER)",
                       "floor(extract(epoch FROM clock_timestamp()))::bigint",
                       "FLOOR(UNIX_TIMESTAMP(SYSDATE()))");
    char text[512];

    if (fixture->engine == WEIR_POSTGRESQL)
        (void)snprintf(text, sizeof text,
                       "SELECT setval((f).number, ((%s - (%d)) << 31) | %d) FROM (SELECT"
                       " {p}_backlog_find(id) AS f FROM {p}_queue"
                       " WHERE name = 'orders') x",
                       since, age, waiting);
    else
        (void)snprintf(text, sizeof text,
                       "REPLACE INTO {p}_backlog (queue, counted_us, waiting)"
                       " SELECT id, (%s - (%d)) * 1000000, %d FROM {p}_queue"
                       " WHERE name = 'orders'",
                       since, age, waiting);
    fixture_prepare(fixture, text);
}

/* When it was counted, by the engine's measure; 0: never. */
static int64_t counted(struct fixture *fixture)
{
    return fixture_ask(fixture,
                       fixture_choose(fixture,
                                      "SELECT coalesce(max(counted_us), 0)"
                                      " FROM weir_backlog",
                                      "SELECT coalesce(max(pg_sequence_last_value("
                                      "(f).number) >> 31), 0) FROM (SELECT"
                                      " weir_backlog_find(id) AS f FROM weir_queue) x",
                                      "SELECT COALESCE(MAX(counted_us), 0)"
                                      " FROM weir_backlog"));
}

static int64_t published(struct fixture *fixture)
{
    const char *in_table = "SELECT coalesce(max(waiting), 0) FROM weir_backlog";

    return fixture_ask(fixture,
                       fixture_choose(fixture, in_table,
                                      "SELECT coalesce(max(pg_sequence_last_value("
                                      "(f).number) & 536870911), 0) FROM (SELECT"
                                      " weir_backlog_find(id) AS f FROM weir_queue) x",
                                      in_table));
}

/* By a process that serves a third queue: no producer has asked for it. */
OUTBOX_TEST(backlog, is_counted_behind_the_messages_of_another_queue)
{
    struct weir_outbox *anna = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *bert = outbox_fixture_outbox(fixture, "bert");

    outbox_fixture_queue(fixture, anna, "orders", 1);
    outbox_fixture_serve(fixture, anna, "orders", recorder_new());
    outbox_fixture_queue(fixture, anna, "other", 1);
    fill_other(fixture, anna, BEFORE);
    outbox_fixture_send(fixture, anna, "orders", 0, LIMIT);
    fill_other(fixture, anna, BEHIND);
    outbox_fixture_queue(fixture, bert, "third", 1);
    outbox_fixture_serve(fixture, bert, "third", recorder_new());
    outbox_fixture_start(fixture, bert);

    limit(fixture, bert, WEIR_UNREAD_KEEP);
    wait_until(published(fixture) == LIMIT);
    check_db(offer_anew(fixture), WEIR_FULL);

    weir_outbox_destroy(anna);
    outbox_fixture_close(bert);
}

static struct weir_outbox *limited(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    limit(fixture, outbox, WEIR_UNREAD_KEEP);
    return outbox;
}

/* It is another one than a count would tell, so none was made. */
OUTBOX_TEST(backlog, that_is_published_is_not_counted)
{
    struct weir_outbox *outbox = limited(fixture);

    publish(fixture, 0, 77);
    check_db(offer(fixture, outbox, NULL), WEIR_FULL);

    check(strstr(fixture->error.text, "has 77 messages waiting, its limit is 50") !=
          NULL);
    weir_outbox_destroy(outbox);
}

/* As after a restore: however much it says. */
OUTBOX_TEST(backlog, that_is_old_refuses_nothing)
{
    struct weir_outbox *outbox = limited(fixture);

    publish(fixture, 1000, 77);
    check_db(offer(fixture, outbox, NULL), WEIR_OK);

    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(backlog, of_the_future_refuses_nothing)
{
    struct weir_outbox *outbox = limited(fixture);

    publish(fixture, -1000, 77);
    check_db(offer(fixture, outbox, NULL), WEIR_OK);

    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(backlog, that_is_old_allows_nothing)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, LIMIT);
    limit_later(fixture);
    publish(fixture, 1000, 0);
    check_db(offer_anew(fixture), WEIR_FULL);

    weir_outbox_destroy(outbox);
}

/* While the number is that of the count before. */
OUTBOX_TEST(backlog, of_a_process_s_own_is_not_forgotten)
{
    struct weir_outbox *outbox = limited(fixture);
    int64_t until_ns = weir_clock_now_ns() + WEIR_MILLISECONDS(1500);

    outbox_fixture_send(fixture, outbox, "orders", 0, LIMIT);
    while (weir_clock_now_ns() < until_ns) {
        check_db(offer(fixture, outbox, NULL), WEIR_FULL);
        (void)weir_clock_sleep(WEIR_MILLISECONDS(50));
    }
    weir_outbox_destroy(outbox);
}

/* One producer of all counts, and the next one finds what it has counted. */
OUTBOX_TEST(backlog, is_counted_by_one_producer_for_all)
{
    struct weir_outbox *outbox = limited(fixture);
    int64_t before;

    check_db(offer(fixture, outbox, NULL), WEIR_OK);
    before = counted(fixture);
    check(before > 0);
    for (int i = 0; i < 3; i++)
        check_db(offer_anew(fixture), WEIR_OK);

    check(counted(fixture) - before < (fixture->engine == WEIR_POSTGRESQL ? 3 : 3000000));
    weir_outbox_destroy(outbox);
}

OUTBOX_SERVER_TEST(backlog, stays_published_when_its_producer_rolls_back)
{
    struct weir_outbox *outbox = limited(fixture);
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(offer(fixture, outbox, connection), WEIR_OK);
    weir_connection_rollback(connection);

    check(counted(fixture) > 0);
    fixture_give(fixture, connection);
    weir_outbox_destroy(outbox);
}

/* A process that has died after its claim. */
OUTBOX_SERVER_TEST(backlog, of_a_publisher_that_died_is_counted_by_others)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, LIMIT);
    limit_later(fixture);
    fixture_prepare(
        fixture,
        fixture_choose(fixture, "",
                       "SELECT {p}_backlog_claim(id, 1) FROM {p}_queue"
                       " WHERE name = 'orders'",
                       "INSERT INTO {p}_backlog (queue, claimed_us) SELECT id,"
                       " FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000) FROM {p}_queue"
                       " WHERE name = 'orders'"));

    wait_until(offer_anew(fixture) == WEIR_FULL);
    weir_outbox_destroy(outbox);
}

/* As if another session counted; `waiting` is the number of before. */
static void claim_in_sql(struct fixture *fixture, int waiting)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "SELECT setval((f).number, (floor(extract(epoch FROM"
                   " clock_timestamp()))::bigint << 31) | 1073741824 | %d) FROM (SELECT"
                   " {p}_backlog_find(id) AS f FROM {p}_queue"
                   " WHERE name = 'orders') x",
                   waiting);
    fixture_prepare(fixture, text);
}

static bool is_refused_by_the_number_of_before(struct fixture *fixture,
                                               struct weir_outbox *outbox)
{
    claim_in_sql(fixture, 77);
    return offer(fixture, outbox, NULL) == WEIR_FULL &&
           strstr(fixture->error.text, "has 77 messages") != NULL;
}

/* What the process knows by itself becomes old while others count, each time that it
 * asks. */
OUTBOX_POSTGRESQL_TEST(backlog, of_a_process_s_own_is_not_kept_for_ever)
{
    struct weir_outbox *outbox = limited(fixture);

    check_db(offer(fixture, outbox, NULL), WEIR_OK);

    wait_until(is_refused_by_the_number_of_before(fixture, outbox));
    weir_outbox_destroy(outbox);
}

/* As a process that delivers does. */
static enum weir_status publish_now(struct fixture *fixture, struct weir_outbox *outbox,
                                    bool *mine)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t queue_id =
        fixture_ask(fixture, "SELECT id FROM weir_queue WHERE name = 'orders'");
    enum weir_status status =
        weir_backlog_publish(outbox, connection, "orders", queue_id,
                             WEIR_BACKLOG_PERIOD_US, mine, &fixture->error);

    fixture_give(fixture, connection);
    return status;
}

/* ---- producers in SQL -------------------------------------------------------------- */

static void enqueue_in_sql(struct fixture *fixture, struct weir_connection *connection)
{
    fixture_execute(
        fixture, connection,
        fixture_choose(fixture, "", "SELECT {p}_enqueue('orders', 'k', 'x')",
                       "SELECT {p}_enqueue('orders', 'k', 'x', 'message', NULL)"));
}

/* Both have to count: nobody has published a number. */
OUTBOX_SERVER_TEST(backlog, makes_no_transaction_wait_for_another)
{
    struct weir_outbox *outbox = limited(fixture);
    struct weir_connection *first = fixture_take(fixture);
    struct weir_connection *second = fixture_take(fixture);
    const char *wait_limit = fixture_choose(fixture, "", "SET lock_timeout = '2s'",
                                            "SET innodb_lock_wait_timeout = 2");

    fixture_execute(fixture, first, wait_limit);
    fixture_execute(fixture, second, wait_limit);
    check_db(weir_connection_begin(first, &fixture->error), WEIR_OK);
    check_db(weir_connection_begin(second, &fixture->error), WEIR_OK);
    enqueue_in_sql(fixture, first);
    enqueue_in_sql(fixture, second);
    check_db(offer(fixture, outbox, second), WEIR_OK);
    enqueue_in_sql(fixture, first);

    weir_connection_rollback(first);
    weir_connection_rollback(second);
    fixture_give(fixture, first);
    fixture_give(fixture, second);
    weir_outbox_destroy(outbox);
}

static bool is_refused_in_sql(PGconn *connection, const char *reason)
{
    PGresult *result = PQexec(connection, "SELECT weir_enqueue('orders', 'k', 'x')");
    bool refused = strstr(PQresultErrorMessage(result), reason) != NULL;

    PQclear(result);
    return refused;
}

static void run(PGconn *connection, const char *text)
{
    PGresult *result = PQexec(connection, text);

    check(PQresultStatus(result) == PGRES_COMMAND_OK ||
          PQresultStatus(result) == PGRES_TUPLES_OK);
    PQclear(result);
}

/* A queue that is full, with a number of long ago that says that it is empty. */
static struct weir_outbox *full(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, LIMIT);
    limit_later(fixture);
    publish(fixture, 1000, 0);
    return outbox;
}

/* The session stays. */
OUTBOX_POSTGRESQL_TEST(backlog, is_counted_after_a_call_in_a_transaction_that_only_reads)
{
    struct weir_outbox *outbox = full(fixture);
    PGconn *connection = pg_outbox_connect(fixture);

    run(connection, "BEGIN READ ONLY");
    check(is_refused_in_sql(connection, "read-only transaction"));
    run(connection, "ROLLBACK");
    check_db(offer_anew(fixture), WEIR_FULL);

    PQfinish(connection);
    weir_outbox_destroy(outbox);
}

/* Of ten seconds ago, as an error leaves it. */
OUTBOX_POSTGRESQL_TEST(backlog, of_a_session_s_own_is_not_kept_for_ever)
{
    struct weir_outbox *outbox = limited(fixture);
    PGconn *connection = pg_outbox_connect(fixture);

    claim_in_sql(fixture, 77);
    run(connection, "SELECT set_config('weir.backlog_' || id, floor(extract(epoch FROM"
                    " clock_timestamp()) - 10) * 1000000 || '/1/0', false)"
                    " FROM weir_queue WHERE name = 'orders'");
    check(is_refused_in_sql(connection, "has 77 messages waiting, its limit is 50"));

    PQfinish(connection);
    weir_outbox_destroy(outbox);
}

/* The locks of one that reads in SERIALIZABLE last until its end. */
OUTBOX_MARIADB_TEST(backlog, waits_for_no_transaction_that_has_read_it)
{
    struct weir_outbox *outbox = full(fixture);
    struct weir_outbox *other = outbox_fixture_outbox(fixture, "berta");
    struct weir_connection *connection = fixture_take(fixture);
    int64_t begun_ns = weir_clock_now_ns();

    fixture_execute(fixture, connection,
                    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection, "SELECT COUNT(*) FROM {p}_backlog");
    check_db(offer_anew(fixture), WEIR_FULL);
    check_db(offer(fixture, other, connection), WEIR_FULL);
    check(weir_clock_now_ns() - begun_ns < WEIR_SECONDS(8));

    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
    weir_outbox_destroy(other);
    weir_outbox_destroy(outbox);
}

/* A process that delivers goes on with the other queues. */
OUTBOX_MARIADB_TEST(backlog, that_is_locked_is_left_to_the_next_time)
{
    struct weir_outbox *outbox = limited(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    bool mine = true;

    publish(fixture, 1000, 0);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    fixture_execute(fixture, connection, "SELECT * FROM {p}_backlog LOCK IN SHARE MODE");
    check_db(publish_now(fixture, outbox, &mine), WEIR_OK);
    check(!mine);

    weir_connection_rollback(connection);
    check_db(publish_now(fixture, outbox, &mine), WEIR_OK);
    check(mine);
    fixture_give(fixture, connection);
    weir_outbox_destroy(outbox);
}

/* As if the last count had begun `age` seconds ago, and its number were five seconds
 * old. */
static void make_old(struct fixture *fixture, int age)
{
    char text[768];

    (void)snprintf(text, sizeof text,
                   "SELECT setval((f).number, (floor(extract(epoch FROM"
                   " clock_timestamp()))::bigint - 5 << 31)"
                   " | (pg_sequence_last_value((f).number) & 1073741823)),"
                   " setval(sum, pg_sequence_last_value(sum) - (%d::bigint << 31))"
                   " FROM (SELECT {p}_backlog_find(id) AS f,"
                   " to_regclass('{p}_backlog_' || id || '_sum') AS sum"
                   " FROM {p}_queue WHERE name = 'orders') x",
                   age);
    fixture_prepare(fixture, text);
}

/* Their ids are before that of a message that was counted. */
OUTBOX_POSTGRESQL_TEST(backlog, of_transactions_that_commit_late_is_counted)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    PGconn *late = pg_outbox_connect(fixture);

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    run(late, "BEGIN");
    run(late, "SELECT weir_enqueue('orders', 'k', 'x') FROM generate_series(1, 50)");
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    limit_later(fixture);
    check_db(offer_anew(fixture), WEIR_OK);
    run(late, "COMMIT");

    make_old(fixture, 40);
    check_db(offer_anew(fixture), WEIR_FULL);
    PQfinish(late);
    weir_outbox_destroy(outbox);
}

/* Until the steps of producers have found out that it is too high. */
OUTBOX_POSTGRESQL_TEST(backlog, that_is_exact_holds_until_the_next_count_is_whole)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "other", 1);
    fill_other(fixture, outbox, BEHIND);
    limit(fixture, outbox, WEIR_UNREAD_KEEP);
    publish(fixture, 5, 77);
    check_db(offer_anew(fixture), WEIR_FULL);
    check(strstr(fixture->error.text, "has 77 messages waiting") != NULL);

    wait_until(offer_anew(fixture) == WEIR_OK);
    weir_outbox_destroy(outbox);
}

OUTBOX_POSTGRESQL_TEST(backlog, that_is_partial_is_counted_by_a_process_that_delivers)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    bool mine = false;

    outbox_fixture_queue(fixture, outbox, "other", 1);
    fill_other(fixture, outbox, BEHIND);
    limit(fixture, outbox, WEIR_UNREAD_KEEP);
    publish(fixture, 0, 536870912 + 7);
    check_db(publish_now(fixture, outbox, &mine), WEIR_OK);

    check(mine);
    check_int(published(fixture), 0);
    weir_outbox_destroy(outbox);
}

/* Up to which id a queue was counted. */
static int64_t log_position(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT pg_sequence_last_value((f).place) >> 19 FROM"
                                " (SELECT weir_backlog_find(id) AS f FROM weir_queue"
                                " WHERE name = 'orders') x");
}

/* While no process delivers, beside many messages of another queue: 20 rows a
 * millisecond, and each call goes on where the one before has ended. */
OUTBOX_POSTGRESQL_TEST(backlog, is_counted_within_the_patience_of_a_producer)
{
    enum { WAIT_LIMIT_MS = 200, CALLS = 5 };
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_connection *connection = fixture_take(fixture);

    outbox_fixture_queue(fixture, outbox, "other", 1);
    fill_other(fixture, outbox, BEFORE + BEHIND);
    limit(fixture, outbox, WEIR_UNREAD_KEEP);
    fixture_execute(fixture, connection, "SET statement_timeout = 200");
    for (int i = 0; i < CALLS; i++)
        check_db(offer(fixture, outbox, connection), WEIR_OK);

    check_int(log_position(fixture), CALLS * WAIT_LIMIT_MS * 20);
    fixture_execute(fixture, connection, "RESET statement_timeout");
    fixture_give(fixture, connection);
    weir_outbox_destroy(outbox);
}

/* What this process has enqueued is behind many of another queue, and is found by
 * steps. */
OUTBOX_POSTGRESQL_TEST(backlog, is_found_by_the_steps_of_producers)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "other", 1);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    fill_other(fixture, outbox, BEFORE);
    outbox_fixture_send(fixture, outbox, "orders", 0, LIMIT);
    fill_other(fixture, outbox, BEHIND);
    limit_later(fixture);
    weir_outbox_destroy(outbox);

    for (int i = 0; i < 12; i++)
        (void)!offer_anew(fixture);
    check_db(offer_anew(fixture), WEIR_FULL);
}
