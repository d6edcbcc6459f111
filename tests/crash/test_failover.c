/*
 * A PostgreSQL primary dies and its synchronous standby takes over, under load: nothing
 * that was acknowledged is lost, order is kept, what was delivered and acknowledged
 * stays so, and everybody finds the new primary by the URL that names both.
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/outbox/lease/lease_fixture.h"
#include "crash/order/order_run.h"
#include "db/clock.h"
#include "kit/choice.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/server/standby.h"

enum { LOST = 200 }; /* at least, and some more */
enum { FAILOVERS = 2, FAILOVERS_LONG = 10, BETWEEN = 4000, SEGMENT_BITS = 12 };

/* ---- a database on both servers ---------------------------------------------------- */

static struct pair *pair;

/* A host that refuses a user or a database is not passed over, so both must have it. */
static bool standby_has(const char *database)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM pg_database WHERE datname = '%s'", database);
    return server_query(pair_standby(pair), NULL, sql) == 1;
}

/* One pair for all tests: each begins with a database of its own, wherever the primary
 * is. */
static struct fixture *open_fixture(void)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct weir_db_options options;

    check(fixture != NULL);
    if (pair == NULL)
        pair = pair_create();
    fixture->engine = WEIR_POSTGRESQL;
    fixture->server = pair_primary(pair);
    weir_faulty_heap_init(&fixture->heap);
    server_name_database(fixture->database, sizeof fixture->database);
    server_create_database(fixture->server, fixture->database);
    wait_until(standby_has(fixture->database));
    pair_url(pair, fixture->database, fixture->url, sizeof fixture->url);
    options = fixture_options(fixture);
    fixture->db = fixture_open(fixture, &options);
    check_db(weir_outbox_migrate(fixture->db, &fixture->error), WEIR_OK);
    return fixture;
}

static void close_fixture(struct fixture *fixture)
{
    weir_db_destroy(fixture->db);
    check_int(fixture->heap.outstanding, 0);
    server_drop_database(pair_primary(pair), fixture->database);
    free(fixture);
}

static void fail_over(struct fixture *fixture)
{
    pair_fail_over(pair);
    fixture->server = pair_primary(pair);
}

/* ---- under load -------------------------------------------------------------------- */

enum { POSITIONS_MAX = 64 };

struct positions {
    int64_t subscription[POSITIONS_MAX];
    int64_t pid[POSITIONS_MAX];
    int64_t seq[POSITIONS_MAX];
    int count;
};

/* As anybody sees them. */
static void read_positions(const struct fixture *fixture, struct positions *out)
{
    char url[SERVER_URL_SIZE];
    PGconn *session;
    PGresult *result;

    server_url(pair_primary(pair), fixture->database, url, sizeof url);
    session = PQconnectdb(url);
    result =
        PQexec(session, "SELECT DISTINCT ON (subscription, pid) subscription, pid,"
                        " seq FROM weir_ack ORDER BY subscription, pid, version DESC");
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(session));
    out->count = PQntuples(result);
    check(out->count > 0 && out->count <= POSITIONS_MAX);
    for (int i = 0; i < out->count; i++) {
        out->subscription[i] = strtoll(PQgetvalue(result, i, 0), NULL, 10);
        out->pid[i] = strtoll(PQgetvalue(result, i, 1), NULL, 10);
        out->seq[i] = strtoll(PQgetvalue(result, i, 2), NULL, 10);
    }
    PQclear(result);
    PQfinish(session);
}

/* None is where it was acknowledged to be behind: only what was not is delivered
 * again. */
static void check_no_step_back(const struct positions *before,
                               const struct positions *after)
{
    check_int(after->count, before->count);
    for (int i = 0; i < before->count; i++) {
        check_int(after->subscription[i], before->subscription[i]);
        check_int(after->pid[i], before->pid[i]);
        if (after->seq[i] < before->seq[i])
            weir_test_fail(__FILE__, __LINE__,
                           "partition %lld went back from %lld to %lld",
                           (long long)before->pid[i], (long long)before->seq[i],
                           (long long)after->seq[i]);
    }
}

static void make_outage(void *argument)
{
    struct fixture *fixture = argument;
    struct positions before, after;

    read_positions(fixture, &before);
    pair_promote(pair);
    fixture->server = pair_primary(pair);
    read_positions(fixture, &after);
    check_no_step_back(&before, &after);
    pair_rebuild(pair);
}

/* The standby gets nothing any more, nobody waits for it, and writing goes on for a
 * while. */
static void make_loss(void *argument)
{
    struct fixture *fixture = argument;
    struct server *primary = pair_primary(pair);
    int64_t last;

    server_execute(primary, NULL, "ALTER SYSTEM SET synchronous_standby_names = ''");
    server_execute(primary, NULL, "SELECT pg_reload_conf()");
    server_execute(pair_standby(pair), NULL, "ALTER SYSTEM SET primary_conninfo = ''");
    server_execute(pair_standby(pair), NULL, "SELECT pg_reload_conf()");
    wait_until(server_query(primary, NULL, "SELECT count(*) FROM pg_stat_replication") ==
               0);
    last = server_query(primary, fixture->database, "SELECT last_value FROM weir_log_id");
    wait_until(server_query(primary, fixture->database,
                            "SELECT last_value FROM weir_log_id") > last + LOST);
    pair_promote(pair);
    fixture->server = pair_primary(pair);
    pair_rebuild(pair);
}

static uint32_t choose_failovers(void)
{
    return choice_is_long() ? FAILOVERS_LONG : FAILOVERS;
}

WEIR_TEST(failover, loses_nothing_and_keeps_the_order_under_load)
{
    struct fixture *fixture = open_fixture();
    struct order_options options;
    struct order_result result;
    uint32_t failovers = choose_failovers();

    outbox_small_segments(fixture, SEGMENT_BITS);
    order_options_init(&options, choice_seed(), BETWEEN * (failovers + 1));
    options.outages = failovers;
    options.outage = make_outage;
    options.outage_argument = fixture;
    options.large = 500;
    options.calm = true;
    options.lulls = false;
    options.writers = 6;
    printf("# WEIR_SEED=%" PRIu64 "\n", options.seed);

    order_run(fixture, &options, &result);
    order_print(fixture, &options, &result);

    check_int(result.outages, failovers);
    check_int(result.verdict.violations, 0);
    check(result.verdict.messages >= options.messages);
    close_fixture(fixture);
}

/* What the check is worth: with a standby that is behind, it sees the loss. */
WEIR_TEST(failover, to_a_standby_that_is_behind_is_seen_to_lose_messages)
{
    struct fixture *fixture = open_fixture();
    struct order_options options;
    struct order_result result;
    struct weir_outbox *auditor;

    order_options_init(&options, choice_seed(), BETWEEN);
    options.outages = 1;
    options.outage = make_loss;
    options.outage_argument = fixture;
    options.large = 500;
    options.calm = true;
    options.lulls = false;
    options.writers = 6;
    options.wait_limit_ns = WEIR_SECONDS(10); /* what is slow is not lost */

    order_run(fixture, &options, &result);
    order_print(fixture, &options, &result);

    check(result.verdict.violations > 0);
    check(result.verdict.lost > 0);
    auditor = outbox_fixture_outbox(fixture,
                                    "auditor"); /* and whatever is there was delivered */
    check_int(outbox_fixture_queue_view(fixture, auditor, "orders").waiting, 0);
    weir_outbox_destroy(auditor);
    close_fixture(fixture);
}

/* ---- those who were there before --------------------------------------------------- */

static enum weir_status move(struct fixture *fixture, const struct weir_lease *lease,
                             int64_t owner, int64_t seq, bool *accepted)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_stored_position position;
    struct weir_ack ack = {.key = lease->key, .epoch = lease->epoch};
    enum weir_status status;

    check_db(weir_ack_read(connection, lease->key, &position, &fixture->error), WEIR_OK);
    ack.next = position;
    ack.next.version++;
    ack.next.seq = seq;
    ack.error = weir_str("");
    status = weir_ack_move(connection, owner, &ack, 1, &fixture->error);
    *accepted = ack.accepted;
    fixture_give(fixture, connection);
    return status;
}

/* Its lease has a minute to go, its epoch is the newest, and nobody else has moved the
 * position. */
WEIR_TEST(failover, refuses_the_ack_of_an_owner_from_before)
{
    struct fixture *fixture = open_fixture();
    struct weir_db_options options;
    struct weir_lease stale, fresh;
    bool accepted = false;

    lease_fixture_open(fixture, 1);
    check_int(lease_fixture_take(fixture, ANNA, &stale, 1), 1);
    check_db(move(fixture, &stale, ANNA, 1, &accepted), WEIR_OK);
    check(accepted);
    fail_over(fixture);
    weir_db_destroy(fixture->db); /* the pool of another process, if you like */
    options = fixture_options(fixture);
    fixture->db = fixture_open(fixture, &options);

    check_db(move(fixture, &stale, ANNA, 2, &accepted), WEIR_OK);
    check(!accepted);
    check_int(lease_fixture_take(fixture, BERT, &fresh, 1), 1); /* at once */
    check_db(move(fixture, &stale, ANNA, 2, &accepted), WEIR_OK);
    check(!accepted);
    check_db(move(fixture, &fresh, BERT, 2, &accepted), WEIR_OK);
    check(accepted);
    close_fixture(fixture);
}

/* ---- where connections lead -------------------------------------------------------- */

static int64_t count_sessions(struct server *server, const char *database)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = '%s'"
                   " AND application_name = 'weir'",
                   database);
    return server_query(server, NULL, sql);
}

static int64_t count_listeners(struct server *server, const char *database)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = '%s'"
                   " AND query LIKE 'LISTEN%%'",
                   database);
    return server_query(server, NULL, sql);
}

/* Enqueue one, whatever it takes: a primary may be on its way. Class stop would be the
 * end. */
static void send_patiently(struct fixture *fixture, struct weir_outbox *outbox)
{
    struct weir_draft draft = outbox_fixture_draft(0, "x");
    enum weir_status status;

    wait_until((status = weir_enqueue(outbox, NULL, "orders", &draft, NULL,
                                      &fixture->error)) == WEIR_OK ||
               weir_status_class(status) != WEIR_CLASS_RETRY);
    check_db(status, WEIR_OK);
}

/* It runs all the time; the server that was its primary is a standby then, in the first
 * place of the URL or in the second. */
WEIR_TEST(failover, leads_every_connection_to_the_new_primary)
{
    struct fixture *fixture = open_fixture();
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);

    for (int64_t i = 1; i <= 2; i++) {
        fail_over(fixture);
        send_patiently(fixture, outbox);
        wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) >= i);
        wait_until(count_listeners(pair_primary(pair), fixture->database) == 1);
        wait_until(count_sessions(pair_standby(pair), fixture->database) == 0);
        check(count_sessions(pair_primary(pair), fixture->database) > 1);
    }
    check(
        recorder_in_order(recorder, 0, outbox_fixture_seq(fixture, outbox, "orders", 0)));
    outbox_fixture_close(outbox);
    close_fixture(fixture);
}

static void set_read_only(struct server *server, const char *value)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql, "ALTER SYSTEM SET default_transaction_read_only = %s",
                   value);
    server_execute(server, NULL, sql);
    server_execute(server, NULL, "SELECT pg_reload_conf()");
}

/* One that is fenced without being stopped: connections that are there learn it by an
 * error. */
WEIR_TEST(failover, leaves_a_server_that_takes_no_writes_and_comes_back)
{
    struct fixture *fixture = open_fixture();
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    struct weir_draft draft = outbox_fixture_draft(0, "x");
    enum weir_status status;

    send_patiently(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);
    set_read_only(fixture->server, "on");
    wait_until((status = weir_enqueue(outbox, NULL, "orders", &draft, NULL,
                                      &fixture->error)) != WEIR_OK);
    check_status(status, WEIR_LOST); /* and not in doubt: it was refused */
    wait_until(count_sessions(pair_primary(pair), fixture->database) == 0);

    set_read_only(fixture->server, "off");
    send_patiently(fixture, outbox);
    wait_until(outbox_fixture_queue_view(fixture, outbox, "orders").waiting == 0);
    check(
        recorder_in_order(recorder, 0, outbox_fixture_seq(fixture, outbox, "orders", 0)));
    outbox_fixture_close(outbox);
    close_fixture(fixture);
}
