/*
 * Somebody holds an old snapshot of the database, as a report or a dump does: delivery
 * goes on, what is delivered is removed, and on PostgreSQL no dead row piles up that
 * only a vacuum could remove, which must not while that snapshot lasts.
 */
#include "kit/outbox/outbox_application.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/outbox.h"
#include "outbox/postgres/sweep.h"

enum { ROUNDS = 60, EACH = 20, SEGMENT_BITS = 4 };

/* ---- the one with the snapshot ----------------------------------------------------- */

static struct application hold_snapshot(struct fixture *fixture)
{
    struct application application = application_start(fixture);

    switch (fixture->engine) {
    case WEIR_SQLITE:
        application_run(&application, "BEGIN");
        application_run(&application, "SELECT count(*) FROM weir_queue");
        break;
    case WEIR_POSTGRESQL:
        application_run(&application, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        application_run(&application, "SELECT pg_current_snapshot()");
        break;
    case WEIR_MARIADB:
        application_run(&application,
                        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        application_run(&application, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        break;
    }
    return application;
}

static void drop_snapshot(struct application *application)
{
    application_run(application, "COMMIT");
    application_stop(application);
}

/* ---- the outbox -------------------------------------------------------------------- */

/* On PostgreSQL the sweep waits for a snapshot, once, and then goes on: here not for
 * minutes. */
static const struct weir_sweep_limits LIMITS = {.wait_ns = WEIR_MILLISECONDS(200),
                                                .stood_ns = WEIR_SWEEP_STOOD_NS,
                                                .copy_rows = WEIR_SWEEP_COPY_ROWS};

static struct weir_outbox *open_sweeping(struct fixture *fixture,
                                         struct recorder *recorder)
{
    struct weir_outbox *outbox;

    outbox_small_segments(fixture, SEGMENT_BITS);
    outbox = outbox_fixture_sweeping(fixture, "anna");
    outbox->log.limits = &LIMITS;
    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

/* So many acks that these come round their leaves, too. */
static void deliver_rounds(struct fixture *fixture, struct weir_outbox *outbox,
                           struct recorder *recorder)
{
    for (int i = 0; i < ROUNDS; i++) {
        size_t before = recorder_count(recorder);

        outbox_fixture_send(fixture, outbox, "orders", i % 2, EACH);
        wait_until(recorder_count(recorder) == before + EACH);
    }
}

/* A small part of the last segment may stay. */
static void await_sweep(struct fixture *fixture)
{
    wait_until(fixture_ask(fixture, "SELECT count(*) FROM weir_log") < ROUNDS * EACH / 4);
}

OUTBOX_TEST(old_snapshot, holds_up_neither_delivery_nor_the_sweep)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = open_sweeping(fixture, recorder);
    struct application application = hold_snapshot(fixture);

    deliver_rounds(fixture, outbox, recorder);
    await_sweep(fixture);

    check(recorder_in_order(recorder, 0, ROUNDS / 2 * EACH));
    check(recorder_in_order(recorder, 1, ROUNDS / 2 * EACH));
    drop_snapshot(&application);
    outbox_fixture_close(outbox);
}

/* ---- what PostgreSQL is left with -------------------------------------------------- */

#define ROTATED "relname ~ '^weir_(log|ack|cut)_[0-9]$'"

OUTBOX_POSTGRESQL_TEST(old_snapshot, leaves_no_dead_row_in_log_acks_and_cuts)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = open_sweeping(fixture, recorder);
    struct application application;

    server_execute(fixture->server, fixture->database, "CREATE EXTENSION pgstattuple");
    application = hold_snapshot(fixture);
    deliver_rounds(fixture, outbox, recorder);
    await_sweep(fixture);
    outbox_fixture_stop(outbox);

    check(fixture_ask(fixture, "SELECT count(*) FROM weir_ack") > 0);
    check(fixture_ask(fixture, "SELECT count(*) FROM weir_cut") > 0);
    check(fixture_ask(fixture, "SELECT count(*) FROM pg_class WHERE " ROTATED) >= 16);
    check_int(
        fixture_ask(fixture,
                    "SELECT coalesce(sum((pgstattuple(oid)).dead_tuple_count), 0)::bigint"
                    " FROM pg_class WHERE " ROTATED),
        0);
    drop_snapshot(&application);
    outbox_fixture_close(outbox);
}
