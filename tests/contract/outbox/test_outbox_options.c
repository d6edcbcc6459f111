/*
 * What is refused, in which order, with which words, and that nothing is left of it.
 */
#include <string.h>

#include "kit/outbox/outbox_application.h"
#include "kit/outbox/outbox_fixture.h"
#include "weir/stats.h"

static struct weir_outbox *orders(struct fixture *fixture)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 4);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    return outbox;
}

static bool says(const struct fixture *fixture, const char *words)
{
    return strstr(fixture->error.text, words) != NULL;
}

static enum weir_status try_send(struct fixture *fixture, struct weir_outbox *outbox,
                                 const char *queue, const struct weir_draft *draft)
{
    return weir_enqueue(outbox, NULL, queue, draft, NULL, &fixture->error);
}

/* ---- rules ------------------------------------------------------------------------- */

OUTBOX_TEST(refusal, of_a_queue_name_shows_name_and_rule)
{
    static const char *const bad[] = {"",      ".orders",    "orders-", "or ders",
                                      "or/de", "b\xc3\xa4r", "_a",      "a\n"};
    struct weir_outbox *outbox = orders(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct weir_queue_options options;

        weir_queue_options_init(&options);
        options.name = bad[i];
        check_db(weir_outbox_add_queue(outbox, &options, &fixture->error), WEIR_INVALID);
        check(says(fixture, "queue name"));
        check_db(try_send(fixture, outbox, bad[i], &draft), WEIR_INVALID);
    }
    check_db(try_send(fixture, outbox, "or ders", &draft), WEIR_INVALID);
    check(says(fixture, "\"or ders\" has byte 0x20 at 2"));
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_a_queue_name_of_1025_bytes)
{
    static char name[1026];
    struct weir_outbox *outbox = orders(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    memset(name, 0, sizeof name);
    memset(name, 'a', 1024);
    outbox_fixture_queue(fixture, outbox, name, 1);
    outbox_fixture_send(fixture, outbox, name, 0, 1);

    name[1024] = 'a';
    check_db(try_send(fixture, outbox, name, &draft), WEIR_INVALID);
    check(says(fixture, "at most 1024"));
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_a_type_shows_it)
{
    static const char *const bad[] = {"", "a\nb", "\x01", "\xc3\xa4", "\x7f"};
    struct weir_outbox *outbox = orders(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        draft.type = bad[i];
        check_db(try_send(fixture, outbox, "orders", &draft), WEIR_INVALID);
        check(says(fixture, "type"));
    }
    draft.type = NULL;
    check_db(try_send(fixture, outbox, "orders", &draft), WEIR_INVALID);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_a_payload_shows_size_and_limit)
{
    static char large[WEIR_PAYLOAD_SIZE_DEFAULT + 1];
    struct weir_outbox *outbox = orders(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "");

    draft.payload = large;
    draft.payload_size = sizeof large;
    check_db(try_send(fixture, outbox, "orders", &draft), WEIR_TOO_LARGE);

    check(says(fixture, "payload has 65537 bytes, must have at most 65536"));
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_a_payload_goes_by_the_limit_of_the_outbox)
{
    static char large[WEIR_PAYLOAD_SIZE_DEFAULT + 1];
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "");
    struct weir_outbox *outbox;

    options.payload_size_max = 1024 * 1024;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    draft.payload = large;
    draft.payload_size = sizeof large;

    check_db(try_send(fixture, outbox, "orders", &draft), WEIR_OK);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_a_queue_that_is_not_there_shows_it)
{
    struct weir_outbox *outbox = orders(fixture);
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    check_db(try_send(fixture, outbox, "nobody", &draft), WEIR_NOT_FOUND);

    check(says(fixture, "\"nobody\""));
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_a_partition_shows_queue_number_and_limit)
{
    static const int32_t bad[] = {4, 5, -2, INT32_MAX, INT32_MIN};
    struct weir_outbox *outbox = orders(fixture);
    struct weir_draft draft;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        draft = outbox_fixture_draft(bad[i], "hello");
        check_db(try_send(fixture, outbox, "orders", &draft), WEIR_OUT_OF_RANGE);
    }
    draft = outbox_fixture_draft(5, "hello");
    check_db(try_send(fixture, outbox, "orders", &draft), WEIR_OUT_OF_RANGE);
    check(says(fixture, "\"orders\": partition is 5, must be from 0 to 3"));
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_a_lease_whose_headroom_is_its_duration)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler =
        outbox_fixture_handler("orders", recorder_new());

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    handler.lease.duration_ns = handler.lease.headroom_ns = WEIR_SECONDS(2);
    check_db(weir_outbox_add_handler(outbox, &handler, &fixture->error), WEIR_INVALID);
    check(says(fixture, "lease.headroom_ns is 2 s"));

    handler.lease.headroom_ns = 0;
    handler.lease.duration_ns = WEIR_MILLISECONDS(99);
    check_db(weir_outbox_add_handler(outbox, &handler, &fixture->error), WEIR_INVALID);
    check(says(fixture, "lease.duration_ns"));
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").subscriptions, 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_a_tuning_shows_whose_it_is)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_outbox *outbox = NULL;

    tuning.retry_base_ns = 0;
    options.tuning[WEIR_KIND_LANE] = &tuning;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_INVALID);
    check(outbox == NULL);
    check(says(fixture, "lane: retry_base_ns"));

    tuning = outbox_fixture_tuning();
    tuning.batch = 0;
    options.tuning[WEIR_KIND_LANE] = NULL;
    options.tuning[WEIR_KIND_SWEEP] = &tuning;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_INVALID);
    check(says(fixture, "sweep: batch is 0, must be from 1 to 10000"));
}

/* ---- order ------------------------------------------------------------------------- */

/* Everything is wrong; mended one by one, the next one is named. */
OUTBOX_TEST(refusal, comes_in_the_stated_order)
{
    static char large[WEIR_PAYLOAD_SIZE_DEFAULT + 1];
    static const struct weir_header headers[] = {{"", "nameless"}};
    struct weir_outbox *outbox = orders(fixture);
    struct weir_draft draft = {.route = weir_route_to_partition(9),
                               .key = "\xff",
                               .type = "",
                               .payload = large,
                               .payload_size = sizeof large,
                               .headers = headers,
                               .header_count = 1};

    check_db(try_send(fixture, outbox, "no body", &draft), WEIR_INVALID);
    check(says(fixture, "queue name"));
    check_db(try_send(fixture, outbox, "nobody", &draft), WEIR_INVALID);
    check(says(fixture, "type"));
    draft.type = "text";
    check_db(try_send(fixture, outbox, "nobody", &draft), WEIR_TOO_LARGE);
    check(says(fixture, "payload"));
    draft.payload_size = 1;
    check_db(try_send(fixture, outbox, "nobody", &draft), WEIR_INVALID);
    check(says(fixture, "key"));
    draft.key = "c1";
    check_db(try_send(fixture, outbox, "nobody", &draft), WEIR_INVALID);
    check(says(fixture, "header"));
    draft.header_count = 0;
    check_db(try_send(fixture, outbox, "nobody", &draft), WEIR_INVALID);
    check(says(fixture, "partition"));
    draft.key = NULL;
    check_db(try_send(fixture, outbox, "nobody", &draft), WEIR_NOT_FOUND);
    check_db(try_send(fixture, outbox, "orders", &draft), WEIR_OUT_OF_RANGE);
    draft.route = weir_route_to_partition(3);
    check_db(try_send(fixture, outbox, "orders", &draft), WEIR_OK);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, of_an_empty_batch_looks_at_the_name_only)
{
    struct weir_outbox *outbox = orders(fixture);

    check_db(weir_enqueue_batch(outbox, NULL, "no body", NULL, 0, NULL, &fixture->error),
             WEIR_INVALID);
    check_db(weir_enqueue_batch(outbox, NULL, "nobody", NULL, 0, NULL, &fixture->error),
             WEIR_OK);
    weir_outbox_destroy(outbox);
}

/* ---- nothing is left --------------------------------------------------------------- */

/* Refused before and after the database was asked, between two that are fine. */
static void try_bad_ones(struct fixture *fixture, struct weir_outbox *outbox,
                         struct weir_connection *connection)
{
    struct weir_draft good = outbox_fixture_draft(0, "good");
    struct weir_draft bad[3] = {outbox_fixture_draft(0, "x"),
                                outbox_fixture_draft(1, "y"),
                                outbox_fixture_draft(7, "z")};

    check_db(weir_enqueue(outbox, connection, "orders", &good, NULL, &fixture->error),
             WEIR_OK);
    check_db(
        weir_enqueue_batch(outbox, connection, "orders", bad, 3, NULL, &fixture->error),
        WEIR_OUT_OF_RANGE);
    check_db(weir_enqueue(outbox, connection, "nobody", &good, NULL, &fixture->error),
             WEIR_NOT_FOUND);
    bad[1].type = "";
    check_db(
        weir_enqueue_batch(outbox, connection, "orders", bad, 2, NULL, &fixture->error),
        WEIR_INVALID);
    check_db(weir_enqueue(outbox, connection, "orders", &good, NULL, &fixture->error),
             WEIR_OK);
}

static void check_two_good_ones(struct fixture *fixture, struct weir_outbox *outbox)
{
    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).waiting,
              2);
    check_int(outbox_fixture_queue_view(fixture, outbox, "orders").waiting, 2);
}

OUTBOX_TEST(refusal, leaves_a_transaction_of_ours_usable)
{
    struct weir_outbox *outbox = orders(fixture);
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    try_bad_ones(fixture, outbox, connection);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);

    check_two_good_ones(fixture, outbox);
    fixture_give(fixture, connection);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(refusal, leaves_the_application_s_transaction_usable)
{
    struct weir_outbox *outbox = orders(fixture);
    struct application application = application_start(fixture);
    struct weir_connection *connection;

    application_run(&application, "CREATE TABLE business (id integer)");
    application_run(&application, "BEGIN");
    application_run(&application, "INSERT INTO business VALUES (1)");
    connection = application_adopt(fixture, &application);
    try_bad_ones(fixture, outbox, connection);
    weir_connection_disown(connection);
    application_run(&application, "INSERT INTO business VALUES (2)");
    application_run(&application, "COMMIT");

    check_two_good_ones(fixture, outbox);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM business"), 2);
    application_stop(&application);
    weir_outbox_destroy(outbox);
}

/* The database itself says no: the table refuses one of the rows. */
OUTBOX_TEST(refusal, by_the_database_leaves_the_application_s_transaction_usable)
{
    struct weir_outbox *outbox = orders(fixture);
    struct application application = application_start(fixture);
    struct weir_draft drafts[2] = {outbox_fixture_draft(0, "fine"),
                                   outbox_fixture_draft(0, "poison")};
    struct weir_connection *connection;

    if (fixture->engine == WEIR_SQLITE)
        fixture_prepare(
            fixture, "CREATE TRIGGER refuse BEFORE INSERT ON {p}_log WHEN NEW.payload ="
                     " CAST('poison' AS BLOB) BEGIN SELECT RAISE(ABORT, 'no'); END");
    else if (fixture->engine == WEIR_POSTGRESQL)
        fixture_prepare(fixture, "ALTER TABLE {p}_log ADD CHECK (payload <> 'poison')");
    else
        fixture_prepare(fixture,
                        "ALTER TABLE {p}_incoming ADD CHECK (payload <> 'poison')");
    application_run(&application, "CREATE TABLE business (id integer)");
    application_run(&application, "BEGIN");
    application_run(&application, "INSERT INTO business VALUES (1)");
    connection = application_adopt(fixture, &application);
    check_db(
        weir_enqueue(outbox, connection, "orders", &drafts[0], NULL, &fixture->error),
        WEIR_OK);
    check_db(weir_enqueue_batch(outbox, connection, "orders", drafts, 2, NULL,
                                &fixture->error),
             WEIR_CONSTRAINT);
    check_db(
        weir_enqueue(outbox, connection, "orders", &drafts[0], NULL, &fixture->error),
        WEIR_OK);
    weir_connection_disown(connection);
    application_run(&application, "INSERT INTO business VALUES (2)");
    application_run(&application, "COMMIT");

    check_two_good_ones(fixture, outbox);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM business"), 2);
    application_stop(&application);
    weir_outbox_destroy(outbox);
}

/* ---- schema and prefix ------------------------------------------------------------- */

static struct weir_db *other_prefix(struct fixture *fixture, const char *prefix)
{
    struct weir_db_options options = fixture_options(fixture);

    options.prefix = prefix;
    return fixture_open(fixture, &options);
}

static struct weir_outbox *outbox_on(struct fixture *fixture, struct weir_db *db,
                                     struct recorder *recorder)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_outbox *outbox;

    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);
    options.db = db;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

OUTBOX_TEST(prefix, that_was_not_migrated_is_refused)
{
    struct weir_db *db = other_prefix(fixture, "elsewhere");
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_outbox *outbox = NULL;

    options.db = db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_SCHEMA);

    check(outbox == NULL);
    weir_db_destroy(db);
}

OUTBOX_TEST(prefix, keeps_two_outboxes_of_one_database_apart)
{
    struct recorder *recorders[2] = {recorder_new(), recorder_new()};
    struct weir_db *db = other_prefix(fixture, "elsewhere");
    struct weir_outbox *here = outbox_on(fixture, fixture->db, recorders[0]);
    struct weir_outbox *there = outbox_on(fixture, db, recorders[1]);

    outbox_fixture_send_text(fixture, here, "orders", 0, "here");
    outbox_fixture_send_text(fixture, there, "orders", 0, "there");

    wait_until(outbox_fixture_seq(fixture, here, "orders", 0) == 1);
    wait_until(outbox_fixture_seq(fixture, there, "orders", 0) == 1);
    check_str(recorder_delivery(recorders[0], 0).payload, "here");
    check_str(recorder_delivery(recorders[1], 0).payload, "there");
    check_int(recorder_count(recorders[0]) + recorder_count(recorders[1]), 2);
    outbox_fixture_close(here);
    outbox_fixture_close(there);
    weir_db_destroy(db);
}

/* Also one that looks like the name of a table. */
OUTBOX_TEST(prefix, of_its_own_delivers_and_keeps_dead_letters)
{
    static const char *const prefixes[] = {"mini_chat", "weir_log"};

    for (size_t i = 0; i < 2; i++) {
        struct recorder *recorder = recorder_new();
        struct weir_db *db = other_prefix(fixture, prefixes[i]);
        struct weir_outbox *outbox = outbox_on(fixture, db, recorder);
        struct weir_outbox *here = outbox_fixture_outbox(fixture, "bert");

        recorder_answer(recorder, 2, ALWAYS, ANSWER_REJECT);
        outbox_fixture_send(fixture, outbox, "orders", 0, 2);

        wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 2);
        check_int(outbox_fixture_queue_view(fixture, outbox, "orders").dead_letters, 1);
        check(!outbox_fixture_queue_view(fixture, here, "orders").found);
        weir_outbox_destroy(here);
        outbox_fixture_close(outbox);
        weir_db_destroy(db);
    }
}

/* The sweep has been there, without complaint; on SQLite it has removed the messages. (On
 * PostgreSQL the segment that is being filled stays.) */
static bool swept(const struct fixture *fixture, struct weir_outbox *outbox)
{
    struct weir_stats_row rows[16];
    size_t count = weir_stats_read(weir_outbox_stats(outbox), rows, 16);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].category, "sweep") != 0)
            continue;
        check_int(rows[i].failures, 0);
        return fixture->engine == WEIR_SQLITE ? rows[i].messages == 3
                                              : rows[i].executions >= 2;
    }
    return false;
}

OUTBOX_TEST(prefix, of_its_own_is_swept)
{
    struct weir_db *db = other_prefix(fixture, "mini_chat");
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_tuning sweep = weir_tuning_of(WEIR_PROFILE_DEFAULT, WEIR_KIND_SWEEP);
    struct weir_outbox *outbox;

    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);
    sweep.idle_ns = WEIR_MILLISECONDS(20);
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    options.db = db;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);

    wait_until(swept(fixture, outbox));

    check_int(outbox_fixture_seq(fixture, outbox, "orders", 0), 3);
    outbox_fixture_close(outbox);
    weir_db_destroy(db);
}

OUTBOX_TEST(prefix, is_migrated_as_often_as_one_likes)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_on(fixture, fixture->db, recorder);

    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    check_db(weir_outbox_migrate(fixture->db, &fixture->error), WEIR_OK);

    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 2);
    outbox_fixture_close(outbox);
}
