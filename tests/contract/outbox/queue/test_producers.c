/*
 * Producers in SQL beside those of the library: the same order, the same wake-up. What
 * a single call does is shown from the clients of the engines
 * (tests/cli/test_producers.sh).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "crash/order/order_run.h"
#include "db/clock.h"
#include "kit/choice.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/pg_outbox.h"
#include "kit/outbox/sql_producer.h"

enum { MESSAGES = 20000, SEGMENT_BITS = 12 };

/* Half of the writers are of one kind, half of the other. */
OUTBOX_TEST(producers, keep_the_order_beside_those_of_the_library)
{
    struct order_options options;
    struct order_result result;

    outbox_small_segments(fixture, SEGMENT_BITS);
    order_options_init(&options, choice_seed(), MESSAGES);
    options.large = 500;
    options.in_sql = true;

    order_run(fixture, &options, &result);
    order_print(fixture, &options, &result);

    check_int(result.verdict.violations, 0);
}

static void send(struct fixture *fixture, struct weir_connection *connection,
                 const char *payload)
{
    struct weir_draft draft = outbox_fixture_draft(0, payload);

    check_db(sql_producer_enqueue(connection, "orders", 1, &draft, &fixture->error),
             WEIR_OK);
}

DELIVERY_TEST(producers, are_followed_by_a_process_that_runs, 1)
{
    struct weir_connection *connection = fixture_take(fixture);

    check(sql_producer_prepare(connection));
    for (size_t i = 1; i <= 20; i++) {
        send(fixture, connection, "hello");
        wait_until(recorder_count(recorder) == i);
    }

    check(recorder_in_order(recorder, 0, 20));
    fixture_give(fixture, connection);
}

/* ---- who is told, on PostgreSQL ---------------------------------------------------- */

static size_t count_notifications(PGconn *listener)
{
    size_t count = 0;
    PGnotify *notification;

    PQclear(PQexec(listener, "SELECT 1")); /* what was sent before has come with it */
    while ((notification = PQnotifies(listener)) != NULL) {
        PQfreemem(notification);
        count++;
    }
    return count;
}

OUTBOX_POSTGRESQL_TEST(producers, notify_only_while_nobody_watches)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_connection *connection = fixture_take(fixture);
    PGconn *listener = pg_outbox_connect(fixture);

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    PQclear(PQexec(listener, "LISTEN weir_wake"));
    check_int(PQstatus(listener), CONNECTION_OK);

    fixture_execute(fixture, connection,
                    "SELECT setval('{p}_asleep', (extract(epoch FROM clock_timestamp())"
                    " * 1000000)::bigint)"); /* notify_mode.h */
    send(fixture, connection, "nobody is told");
    check_int(count_notifications(listener), 0);

    fixture_execute(fixture, connection, "SELECT setval('{p}_asleep', 2)");
    send(fixture, connection, "somebody is told");
    check_int(count_notifications(listener), 1);

    PQfinish(listener);
    fixture_give(fixture, connection);
    weir_outbox_destroy(outbox);
}
