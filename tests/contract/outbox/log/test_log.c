/*
 * The contract of log.h: what was appended is read, in order, from every place, as long
 * as anybody needs it.
 */
#include <sys/stat.h>

#include "contract/outbox/log/log_fixture.h"
#include "kit/outbox/outbox_application.h"
#include "outbox/engine.h"
#include "weir/inspect.h"

static const struct weir_log_position BEGINNING = {0, 0};

enum { QUEUE = 1, OTHER_QUEUE = 2, SUBSCRIPTION = 1, OTHER_SUBSCRIPTION = 2 };

/* ---- opening ----------------------------------------------------------------------- */

LOG_TEST(log, opens_with_the_table_of_its_engine)
{
    check(log_fixture->log.ops == weir_outbox_engine_for(fixture->db)->log);
}

LOG_POSTGRESQL_TEST(log, knows_the_size_of_its_segments)
{
    check_int(log_fixture->log.segment_bits, LOG_FIXTURE_SEGMENT_BITS);
}

LOG_POSTGRESQL_TEST(log, refuses_a_database_from_another_cluster_and_names_the_remedy)
{
    log_fixture_execute(log_fixture,
                        "UPDATE {p}_meta SET value = '1/2' WHERE name = 'identity'");
    check_db(
        weir_outbox_log_open(&log_fixture->log, log_fixture->connection, &fixture->error),
        WEIR_SCHEMA);

    check(strstr(fixture->error.text, "restored from another cluster") != NULL);
    check(strstr(fixture->error.text, "weir migrate --restored --yes") != NULL);
}

/* ---- appending --------------------------------------------------------------------- */

LOG_TEST(append, gives_ascending_ids_and_is_read_in_order)
{
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, 10, QUEUE, 4);
    struct seen *seen;

    check_db(log_fixture_try_append(log_fixture, log_fixture->connection, entries, 3),
             WEIR_OK);
    check_db(log_fixture_try_append(log_fixture, log_fixture->connection, entries + 3, 1),
             WEIR_OK);
    check_db(log_fixture_try_append(log_fixture, log_fixture->connection, entries + 4, 6),
             WEIR_OK);
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->count, 10);
    for (size_t i = 0; i < 10; i++) {
        check(i == 0 || entries[i].id > entries[i - 1].id);
        check_int(seen->rows[i].id, entries[i].id);
        check_int(seen->rows[i].pid, entries[i].pid);
        check_int(seen->rows[i].number, (int64_t)i + 1);
    }
    free(seen);
    log_fixture_forget(entries);
}

/* SQLite has no clock of its own. */
LOG_SQLITE_TEST(append, keeps_the_time_it_was_given)
{
    struct seen *seen;

    log_fixture_append(log_fixture, 2, QUEUE, 1);
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->rows[0].created_us, LOG_FIXTURE_CREATED_US);
    check_int(seen->rows[1].created_us, LOG_FIXTURE_CREATED_US + 1);
    free(seen);
}

LOG_TEST(append, of_many_rows_gives_each_its_own_id)
{
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, 1000, QUEUE, 4);
    struct seen *seen;

    check_db(log_fixture_try_append(log_fixture, log_fixture->connection, entries, 1000),
             WEIR_OK);
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->count, 1000);
    for (size_t i = 0; i < 1000; i++) {
        check_int(seen->rows[i].id, entries[i].id);
        check_int(seen->rows[i].number, (int64_t)i + 1);
    }
    free(seen);
    log_fixture_forget(entries);
}

/* A row that is refused is found only when those before it are there. */
static void check_atomic(struct fixture *fixture, size_t count)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct weir_log_entry *entries = log_fixture_draft(&log_fixture, count, QUEUE, 4);

    entries[count - 1].type = (struct weir_str){"\xff", 1};
    check_db(log_fixture_try_append(&log_fixture, log_fixture.connection, entries, count),
             WEIR_INVALID);

    check_int(log_fixture_stored(&log_fixture), 0);
    check_int(weir_connection_transaction(log_fixture.connection), WEIR_TRANSACTION_NONE);
    log_fixture_forget(entries);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(append, without_a_transaction_is_atomic)
{
    check_atomic(fixture, 10);
}

OUTBOX_TEST(append, of_many_rows_without_a_transaction_is_atomic)
{
    check_atomic(fixture, 1000);
}

LOG_TEST(append, that_fails_leaves_the_transaction_as_it_was)
{
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, 1000, QUEUE, 4);

    check_db(weir_connection_begin(log_fixture->connection, &fixture->error), WEIR_OK);
    check_db(log_fixture_try_append(log_fixture, log_fixture->connection, entries, 2),
             WEIR_OK);
    entries[999].type = (struct weir_str){"\xff", 1};
    check_db(
        log_fixture_try_append(log_fixture, log_fixture->connection, entries + 2, 998),
        WEIR_INVALID);
    check_db(weir_connection_commit(log_fixture->connection, &fixture->error), WEIR_OK);

    check_int(log_fixture_stored(log_fixture), 2);
    log_fixture_forget(entries);
}

LOG_TEST(append, that_is_rolled_back_leaves_nothing)
{
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, 200, QUEUE, 4);
    struct seen *seen;

    check_db(weir_connection_begin(log_fixture->connection, &fixture->error), WEIR_OK);
    check_db(log_fixture_try_append(log_fixture, log_fixture->connection, entries, 1),
             WEIR_OK);
    check_db(
        log_fixture_try_append(log_fixture, log_fixture->connection, entries + 1, 199),
        WEIR_OK);
    weir_connection_rollback(log_fixture->connection);
    log_fixture_append(log_fixture, 1, QUEUE, 1);
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->count, 1);
    check_int(seen->rows[0].number, 201);
    free(seen);
    log_fixture_forget(entries);
}

LOG_TEST(append, is_seen_by_nobody_before_the_commit)
{
    struct weir_connection *producer = fixture_take(fixture);
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, 3, QUEUE, 1);
    struct seen *before;
    struct seen *after;

    check_db(weir_connection_begin(producer, &fixture->error), WEIR_OK);
    check_db(log_fixture_try_append(log_fixture, producer, entries, 3), WEIR_OK);
    log_fixture_advance(log_fixture);
    before = log_fixture_read(log_fixture, BEGINNING, NULL);
    check_db(weir_connection_commit(producer, &fixture->error), WEIR_OK);
    log_fixture_advance(log_fixture);
    after = log_fixture_read(log_fixture, before->end, NULL);

    check_int(before->count, 0);
    check_int(after->count, 3);
    free(before);
    free(after);
    log_fixture_forget(entries);
    fixture_give(fixture, producer);
}

/* One row with everything in it, and one with as little as can be. */
static enum weir_status check_full_and_bare(void *state, const struct weir_log_row *row,
                                            struct weir_error *error)
{
    int *count = state;

    (void)error;
    if ((*count)++ == 0) {
        check(weir_str_equal(row->key, weir_str("k\xc3\xa4y")));
        check(weir_str_equal(row->type, weir_str("order.paid")));
        check(weir_str_equal(row->headers, weir_str("{\"a\":\"b\"}")));
        check(weir_str_equal(row->payload, (struct weir_str){"\0a\0\xff\0", 5}));
        check(weir_str_equal(row->uid, weir_str("0123456789abcdef")));
        return WEIR_OK;
    }
    check(row->key.data == NULL);
    check(row->headers.data == NULL);
    check_int(row->payload.size, 0);
    return WEIR_OK;
}

LOG_TEST(append, keeps_every_byte_and_every_null)
{
    struct weir_log_entry entries[2] = {
        {.pid = 64,
         .created_us = 1234567890123456,
         .key = weir_str("k\xc3\xa4y"),
         .type = weir_str("order.paid"),
         .headers = weir_str("{\"a\":\"b\"}"),
         .payload = {"\0a\0\xff\0", 5}},
        {.pid = 64, .created_us = 1, .type = weir_str("t")},
    };
    int count = 0;
    struct weir_page page = {
        .row_max = 10, .payload_max = 100, .visit = check_full_and_bare, .state = &count};

    memcpy(entries[0].uid, "0123456789abcdef", 16);
    check_db(log_fixture_try_append(log_fixture, log_fixture->connection, entries, 2),
             WEIR_OK);
    log_fixture_advance(log_fixture);
    check_db(log_fixture->log.ops->read(&log_fixture->log, log_fixture->connection, &page,
                                        &fixture->error),
             WEIR_OK);

    check_int(count, 2);
}

/* ---- the application's connection -------------------------------------------------- */

static void check_adopted(struct fixture *fixture, const char *end, int64_t want)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct application application = application_start(fixture);
    struct weir_log_entry *entries = log_fixture_draft(&log_fixture, 200, QUEUE, 4);
    struct weir_connection *connection;

    application_run(&application, "BEGIN");
    connection = application_adopt(fixture, &application);
    check_db(log_fixture_try_append(&log_fixture, connection, entries, 1), WEIR_OK);
    check_db(log_fixture_try_append(&log_fixture, connection, entries + 1, 199), WEIR_OK);
    weir_connection_disown(connection);
    check_int(log_fixture_stored(&log_fixture), 0);
    application_run(&application, end);

    check_int(log_fixture_stored(&log_fixture), want);
    application_stop(&application);
    log_fixture_forget(entries);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(append, in_the_applications_transaction_commits_with_it)
{
    check_adopted(fixture, "COMMIT", 200);
}

OUTBOX_TEST(append, in_the_applications_transaction_rolls_back_with_it)
{
    check_adopted(fixture, "ROLLBACK", 0);
}

LOG_TEST(append, on_the_applications_connection_without_a_transaction_is_atomic)
{
    struct application application = application_start(fixture);
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, 1000, QUEUE, 4);
    struct weir_connection *connection = application_adopt(fixture, &application);

    entries[199].type = (struct weir_str){"\xff", 1};
    check_db(log_fixture_try_append(log_fixture, connection, entries, 200), WEIR_INVALID);
    check_int(log_fixture_stored(log_fixture), 0);
    check_db(log_fixture_try_append(log_fixture, connection, entries + 200, 800),
             WEIR_OK);

    check_int(log_fixture_stored(log_fixture), 800);
    weir_connection_disown(connection);
    application_stop(&application);
    log_fixture_forget(entries);
}

LOG_SQLITE_TEST(append, does_not_change_what_the_application_inserted_last)
{
    struct application application = application_start(fixture);
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, 5, QUEUE, 4);
    struct weir_connection *connection;

    application_run(&application, "CREATE TABLE thing (id INTEGER PRIMARY KEY)");
    application_run(&application, "INSERT INTO thing VALUES (4711)");
    connection = application_adopt(fixture, &application);
    check_db(log_fixture_try_append(log_fixture, connection, entries, 5), WEIR_OK);

    check_int(sqlite3_last_insert_rowid(application.sqlite), 4711);
    weir_connection_disown(connection);
    application_stop(&application);
    log_fixture_forget(entries);
}

/* ---- advancing --------------------------------------------------------------------- */

LOG_TEST(advance, moves_the_head_only_when_something_was_committed)
{
    struct weir_log_position first = log_fixture_advance(log_fixture);
    struct weir_log_position second;
    struct weir_log_position third = {0, 0};
    bool moved = true;

    log_fixture_append(log_fixture, 3, QUEUE, 1);
    second = log_fixture_advance(log_fixture);
    check_db(log_fixture->log.ops->advance(&log_fixture->log, log_fixture->connection,
                                           second, true, NULL, &third, &moved,
                                           &fixture->error),
             WEIR_OK);

    check(weir_log_position_before(first, second));
    check(weir_log_position_equal(second, third));
    check(!moved);
}

/* ---- reading ----------------------------------------------------------------------- */

/* Several transactions, so that there are several cuts where there are any. */
static void append_in_groups(struct log_fixture *log_fixture, int groups, size_t size)
{
    for (int i = 0; i < groups; i++) {
        log_fixture_append(log_fixture, size, QUEUE, 4);
        log_fixture_advance(log_fixture);
    }
}

LOG_TEST(read, gives_the_same_rows_with_every_page_size)
{
    struct seen *all;

    append_in_groups(log_fixture, 5, 7);
    all = log_fixture_read(log_fixture, BEGINNING, NULL);
    check_int(all->count, 35);

    for (uint32_t size = 1; size <= 36; size++) {
        struct seen *seen = log_fixture_read(
            log_fixture, BEGINNING, &(struct log_fixture_limits){.row_max = size});

        check_same_rows(seen, 0, all, 0);
        free(seen);
    }
    free(all);
}

LOG_TEST(read, from_any_place_gives_exactly_the_rest)
{
    struct seen *all;

    append_in_groups(log_fixture, 5, 7);
    all = log_fixture_read(log_fixture, BEGINNING, NULL);

    for (size_t i = 0; i < all->count; i++) {
        struct seen *rest = log_fixture_read(log_fixture, all->rows[i].log_position,
                                             &(struct log_fixture_limits){.row_max = 3});

        check_same_rows(rest, 0, all, i + 1);
        free(rest);
    }
    free(all);
}

LOG_TEST(read, gives_places_in_ascending_order)
{
    struct seen *all;

    append_in_groups(log_fixture, 5, 7);
    all = log_fixture_read(log_fixture, BEGINNING, NULL);

    for (size_t i = 1; i < all->count; i++)
        check(weir_log_position_before(all->rows[i - 1].log_position,
                                       all->rows[i].log_position));
    check(!weir_log_position_before(all->end, all->rows[all->count - 1].log_position));
    free(all);
}

LOG_TEST(read, gives_only_the_partitions_asked_for)
{
    const int64_t pids[] = {weir_pid(QUEUE, 1), weir_pid(QUEUE, 3), weir_pid(7, 0)};

    append_in_groups(log_fixture, 5, 8);
    for (uint32_t size = 1; size <= 21; size++) {
        struct seen *some = log_fixture_read(
            log_fixture, BEGINNING,
            &(struct log_fixture_limits){.row_max = size, .pids = pids, .pid_count = 3});

        check_int(some->count, 20);
        for (size_t i = 0; i < 20; i++)
            check_int(some->rows[i].number, 2 + 2 * (int64_t)i);
        free(some);
    }
}

/* Partitions whose numbers look alike to a table of remainders. */
LOG_TEST(read, tells_partitions_of_distant_queues_apart)
{
    const int64_t pids[] = {weir_pid(17, 0)};
    struct seen *some;

    log_fixture_append(log_fixture, 3, 1, 1);
    log_fixture_append(log_fixture, 3, 17, 1);
    log_fixture_append(log_fixture, 3, 33, 1);
    log_fixture_advance(log_fixture);
    some = log_fixture_read(log_fixture, BEGINNING,
                            &(struct log_fixture_limits){.pids = pids, .pid_count = 1});

    check_int(some->count, 3);
    check_int(some->rows[0].number, 4);
    free(some);
}

LOG_TEST(read, ends_a_page_before_its_bytes_are_exceeded)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct weir_page page;

    log_fixture_append(log_fixture, 9, QUEUE, 1); /* of one byte each */
    log_fixture_advance(log_fixture);
    page =
        log_fixture_page(seen, BEGINNING, &(struct log_fixture_limits){.payload_max = 4});
    check_db(log_fixture->log.ops->read(&log_fixture->log, log_fixture->connection, &page,
                                        &fixture->error),
             WEIR_OK);

    check_int(page.rows, 4);
    check(!page.at_head);
    check(weir_log_position_equal(page.end, seen->rows[3].log_position));
    free(seen);
}

LOG_TEST(read, gives_a_first_row_that_is_larger_than_the_limit)
{
    struct seen *seen;

    log_fixture->numbers = 1000000;
    log_fixture_append(log_fixture, 5, QUEUE, 1); /* of seven bytes each */
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING,
                            &(struct log_fixture_limits){.payload_max = 3});

    check_int(seen->count, 5);
    check(seen->pages >= 5);
    free(seen);
}

LOG_TEST(read, of_an_empty_log_is_at_the_head)
{
    struct seen *seen;

    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->count, 0);
    check_int(seen->pages, 1);
    free(seen);
}

LOG_TEST(read, at_the_head_goes_on_with_what_comes_later)
{
    struct seen *first;
    struct seen *second;

    append_in_groups(log_fixture, 2, 5);
    first = log_fixture_read(log_fixture, BEGINNING, NULL);
    append_in_groups(log_fixture, 2, 5);
    second = log_fixture_read(log_fixture, first->end, NULL);

    check_int(first->count, 10);
    check_int(second->count, 10);
    check_int(second->rows[0].number, 11);
    free(first);
    free(second);
}

/* More rows of others than one page may look at. */
LOG_TEST(read, moves_its_end_when_nothing_matches)
{
    const int64_t pids[] = {weir_pid(OTHER_QUEUE, 0)};
    const struct log_fixture_limits limits = {.pids = pids, .pid_count = 1};
    struct seen *seen;

    for (int i = 0; i < 25; i++)
        log_fixture_append(log_fixture, 1000, QUEUE, 4);
    log_fixture_append(log_fixture, 1, OTHER_QUEUE, 1);
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING, &limits);

    check_int(seen->count, 1);
    check_int(seen->rows[0].number, 25001);
    check(fixture->engine != WEIR_SQLITE || seen->pages == 2);
    free(seen);
}

/* As after many rollbacks, or a sequence that was moved. */
static void leave_gap(struct log_fixture *log_fixture)
{
    static const char *const SQL[] = {
        [WEIR_SQLITE] = "UPDATE sqlite_sequence SET seq = seq + 1000000000"
                        " WHERE name = '{p}_log'",
        [WEIR_POSTGRESQL] = "SELECT setval('{p}_log_id', last_value + 1000000000)"
                            " FROM {p}_log_id",
        [WEIR_MARIADB] = "SELECT setval({p}_incoming_id, 1000000000)",
    };

    log_fixture_execute(log_fixture, "%s", SQL[log_fixture->fixture->engine]);
}

LOG_TEST(read, behind_a_gap_of_a_billion_ids_takes_one_page)
{
    struct seen *seen;

    log_fixture_append(log_fixture, 1, QUEUE, 1);
    leave_gap(log_fixture);
    log_fixture_append(log_fixture, 1, QUEUE, 1);
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, BEGINNING, NULL);

    check_int(seen->count, 2);
    check(seen->rows[1].id > seen->rows[0].id + 1000000000);
    check_int(seen->pages, 1);
    free(seen);
}

static enum weir_status refuse_third(void *state, const struct weir_log_row *row,
                                     struct weir_error *error)
{
    struct seen *seen = state;

    if (seen->count == 2)
        return weir_error_set(error, WEIR_TOO_LARGE, "the third");
    return log_fixture_note(state, row, error);
}

LOG_TEST(read, ends_with_the_visitors_status_behind_the_last_row_it_took)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct weir_page page;

    log_fixture_append(log_fixture, 5, QUEUE, 1);
    log_fixture_advance(log_fixture);
    page = log_fixture_page(seen, BEGINNING, &(struct log_fixture_limits){0});
    page.visit = refuse_third;
    check_db(log_fixture->log.ops->read(&log_fixture->log, log_fixture->connection, &page,
                                        &fixture->error),
             WEIR_TOO_LARGE);

    check_str(fixture->error.text, "the third");
    check_int(page.rows, 2);
    check(weir_log_position_equal(page.end, seen->rows[1].log_position));
    check_int(weir_connection_transaction(log_fixture->connection),
              WEIR_TRANSACTION_NONE);
    free(seen);
}

/* ---- lag --------------------------------------------------------------------------- */

LOG_TEST(lag, is_exact_for_each_subscription_and_partition)
{
    struct seen_lags lags;
    struct seen *all;

    log_fixture_add_queue(log_fixture, QUEUE, 0);
    log_fixture_add_subscription(log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_add_subscription(log_fixture, OTHER_SUBSCRIPTION, QUEUE);
    append_in_groups(log_fixture, 3, 8); /* six in each of four partitions */
    log_fixture_append(log_fixture, 100, OTHER_QUEUE, 4);
    log_fixture_advance(log_fixture);
    all = log_fixture_read(log_fixture, BEGINNING, NULL);
    log_fixture_set_positions(log_fixture, SUBSCRIPTION, QUEUE, 4, BEGINNING);
    log_fixture_set_positions(log_fixture, OTHER_SUBSCRIPTION, QUEUE, 4,
                              all->rows[23].log_position);
    log_fixture_set_position(log_fixture, OTHER_SUBSCRIPTION, weir_pid(QUEUE, 2),
                             all->rows[10].log_position);
    lags = log_fixture_lag(log_fixture, QUEUE);

    check_int(lags.count, 5);
    for (int32_t i = 0; i < 4; i++) {
        struct weir_lag lag = log_fixture_lag_of(&lags, SUBSCRIPTION, weir_pid(QUEUE, i));

        check_int(lag.waiting, 6);
        check_int(lag.oldest_us, all->rows[i].created_us);
        check(!lag.estimate);
    }
    check_int(log_fixture_lag_of(&lags, OTHER_SUBSCRIPTION, weir_pid(QUEUE, 2)).waiting,
              3);
    check_int(log_fixture_lag_of(&lags, OTHER_SUBSCRIPTION, weir_pid(QUEUE, 2)).oldest_us,
              all->rows[14].created_us);
    free(all);
}

LOG_TEST(lag, counts_what_is_committed_before_anybody_advances)
{
    struct weir_connection *producer = fixture_take(fixture);
    struct weir_log_entry *entries = log_fixture_draft(log_fixture, 3, QUEUE, 1);
    struct seen_lags lags;

    log_fixture_add_queue(log_fixture, QUEUE, 0);
    log_fixture_add_subscription(log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_set_position(log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), BEGINNING);
    log_fixture_append(log_fixture, 2, QUEUE, 1);
    check_db(weir_connection_begin(producer, &fixture->error), WEIR_OK);
    check_db(log_fixture_try_append(log_fixture, producer, entries, 3), WEIR_OK);
    lags = log_fixture_lag(log_fixture, QUEUE);

    check_int(lags.count, 1);
    check_int(lags.lags[0].waiting, 2);
    weir_connection_rollback(producer);
    log_fixture_forget(entries);
    fixture_give(fixture, producer);
}

LOG_TEST(lag, of_a_queue_that_nobody_waits_for_is_nothing)
{
    log_fixture_add_queue(log_fixture, QUEUE, 0);
    log_fixture_append(log_fixture, 5, QUEUE, 1);
    log_fixture_add_queue(log_fixture, OTHER_QUEUE, 0);
    log_fixture_add_subscription(log_fixture, SUBSCRIPTION, OTHER_QUEUE);
    log_fixture_set_position(log_fixture, SUBSCRIPTION, weir_pid(OTHER_QUEUE, 0),
                             BEGINNING);

    check_int(log_fixture_lag(log_fixture, QUEUE).count, 0);
    check_int(log_fixture_lag(log_fixture, OTHER_QUEUE).count, 0);
}

LOG_TEST(lag, works_inside_a_transaction)
{
    log_fixture_add_queue(log_fixture, QUEUE, 0);
    log_fixture_add_subscription(log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_set_position(log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), BEGINNING);
    log_fixture_append(log_fixture, 5, QUEUE, 1);
    check_db(weir_connection_begin(log_fixture->connection, &fixture->error), WEIR_OK);

    check_int(log_fixture_lag(log_fixture, QUEUE).lags[0].waiting, 5);
    check_int(weir_connection_transaction(log_fixture->connection),
              WEIR_TRANSACTION_OPEN);
    weir_connection_rollback(log_fixture->connection);
}

OUTBOX_TEST(lag, of_many_messages_is_an_estimate)
{
    enum { COUNT = 400000 };
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct seen_lags lags;

    log_fixture_add_queue(&log_fixture, QUEUE, 0);
    log_fixture_add_subscription(&log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 5, BEGINNING);
    log_fixture_append_many(&log_fixture, log_fixture.connection, QUEUE, 4, COUNT);
    lags = log_fixture_lag(&log_fixture, QUEUE);

    check(lags.count >= 4);
    for (int32_t i = 0; i < 4; i++) {
        struct weir_lag lag = log_fixture_lag_of(&lags, SUBSCRIPTION, weir_pid(QUEUE, i));

        check(lag.estimate);
        check_in_range(lag.waiting, COUNT / 4 * 9 / 10, COUNT / 4 * 11 / 10);
        check_int(lag.oldest_us, 1000000 + i);
    }
    check_int(log_fixture_lag_of(&lags, SUBSCRIPTION, weir_pid(QUEUE, 4)).waiting, 0);
    log_fixture_close(&log_fixture);
}

/* ---- sweep ------------------------------------------------------------------------- */

/* A queue of 16 partitions and two subscriptions that start at the beginning. */
static struct log_fixture open_swept(struct fixture *fixture)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    log_fixture_add_queue(&log_fixture, QUEUE, 0);
    log_fixture_add_subscription(&log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_add_subscription(&log_fixture, OTHER_SUBSCRIPTION, QUEUE);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, BEGINNING);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 16, BEGINNING);
    return log_fixture;
}

OUTBOX_TEST(sweep, removes_what_all_have_passed)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head;

    log_fixture_append(&log_fixture, 3000, QUEUE, 16);
    head = log_fixture_advance(&log_fixture);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_sweep(&log_fixture);

    check_int(log_fixture_stored(&log_fixture), 0);
    log_fixture_close(&log_fixture);
}

/* Otherwise who begins in front of it would look there for ever, and never for what is
 * new. */
OUTBOX_TEST(sweep, leaves_nothing_that_keeps_a_reader_from_the_head)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head;
    struct seen *seen;

    log_fixture_append(&log_fixture, 3000, QUEUE, 16);
    head = log_fixture_advance(&log_fixture);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_sweep(&log_fixture);
    seen = log_fixture_read(&log_fixture, BEGINNING, NULL);

    check_int(seen->count, 0);
    check(!weir_log_position_before(seen->end, head));
    free(seen);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(sweep, keeps_what_one_of_two_has_not_passed)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct seen *before;
    struct seen *after;

    log_fixture_append(&log_fixture, 3000, QUEUE, 16);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16,
                              log_fixture_advance(&log_fixture));
    before = log_fixture_read(&log_fixture, BEGINNING, NULL);
    log_fixture_sweep(&log_fixture);
    after = log_fixture_read(&log_fixture, BEGINNING, NULL);

    check_same_rows(after, 0, before, 0);
    free(before);
    free(after);
    log_fixture_close(&log_fixture);
}

/* Rows of `all` behind `first` that belong to the partition. */
static struct seen *of_partition(const struct seen *all, size_t first, int64_t pid)
{
    struct seen *some = calloc(1, sizeof *some);

    check(some != NULL);
    for (size_t i = first; i < all->count; i++) {
        if (all->rows[i].pid == pid)
            some->rows[some->count++] = all->rows[i];
    }
    return some;
}

static void check_rest_of_partition(struct log_fixture *log_fixture,
                                    const struct seen *all, int64_t pid, size_t step)
{
    for (size_t i = 0; i < all->count; i += step) {
        const struct log_fixture_limits limits = {
            .row_max = 70, .pids = &pid, .pid_count = 1};
        struct seen *want = of_partition(all, i + 1, pid);
        struct seen *got =
            log_fixture_read(log_fixture, all->rows[i].log_position, &limits);

        check_same_rows(got, 0, want, 0);
        free(want);
        free(got);
    }
}

/* One partition in sixteen is stuck: its rows are set aside, and its reader sees no
 * difference. */
OUTBOX_TEST(sweep, sets_aside_what_few_need_and_reading_is_unchanged_from_every_place)
{
    struct log_fixture log_fixture = open_swept(fixture);
    const int64_t stuck = weir_pid(QUEUE, 3);
    struct weir_sweep_report report;
    struct seen *all;

    for (int i = 0; i < 10; i++) {
        log_fixture_append(&log_fixture, 500, QUEUE, 16);
        log_fixture_advance(&log_fixture);
    }
    all = log_fixture_read(&log_fixture, BEGINNING, NULL);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, all->end);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 16, all->end);
    log_fixture_set_position(&log_fixture, OTHER_SUBSCRIPTION, stuck, BEGINNING);
    report = log_fixture_sweep(&log_fixture);

    check(report.aside > 0);
    check(report.removed > 0);
    check(fixture_ask(fixture, "SELECT count(*) FROM weir_aside") > 0);
    check(log_fixture_stored(&log_fixture) < 2000);
    check_rest_of_partition(&log_fixture, all, stuck, 97);
    free(all);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(sweep, counts_what_is_set_aside_as_waiting)
{
    struct log_fixture log_fixture = open_swept(fixture);
    const int64_t stuck = weir_pid(QUEUE, 3);
    struct weir_lag lag;
    struct seen_lags lags;
    struct seen *all;

    log_fixture_append(&log_fixture, 4800, QUEUE, 16);
    log_fixture_advance(&log_fixture);
    all = log_fixture_read(&log_fixture, BEGINNING, NULL);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, all->end);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 16, all->end);
    log_fixture_set_position(&log_fixture, OTHER_SUBSCRIPTION, stuck, BEGINNING);
    check(log_fixture_sweep(&log_fixture).aside > 0);
    lags = log_fixture_lag(&log_fixture, QUEUE);
    lag = log_fixture_lag_of(&lags, OTHER_SUBSCRIPTION, stuck);

    check_int(lags.count, 1);
    check_int(lag.waiting, 300);
    check_int(lag.oldest_us, all->rows[3].created_us);
    check(!lag.estimate);
    free(all);
    log_fixture_close(&log_fixture);
}

OUTBOX_TEST(sweep, removes_what_was_set_aside_when_it_is_passed)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head;

    log_fixture_append(&log_fixture, 4800, QUEUE, 16);
    head = log_fixture_advance(&log_fixture);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 15, head);
    check(log_fixture_sweep(&log_fixture).aside > 0);
    log_fixture_set_position(&log_fixture, OTHER_SUBSCRIPTION, weir_pid(QUEUE, 15), head);
    log_fixture_sweep(&log_fixture);

    check_int(log_fixture_stored(&log_fixture), 0);
    log_fixture_close(&log_fixture);
}

OUTBOX_PLAIN_TEST(sweep, removes_every_passed_row_between_many_that_are_not)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head;
    struct seen *left;

    log_fixture_append(&log_fixture, 4800, QUEUE, 16);
    head = log_fixture_advance(&log_fixture);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 8, head);
    log_fixture_sweep(&log_fixture);
    left = log_fixture_read(&log_fixture, BEGINNING, NULL);

    check_int(left->count, 2400);
    for (size_t i = 0; i < left->count; i++)
        check(weir_pid_partition(left->rows[i].pid) >= 8);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_aside"), 0);
    free(left);
    log_fixture_close(&log_fixture);
}

/* What is not delivered yet at the head is young, not slow. */
OUTBOX_PLAIN_TEST(sweep, sets_nothing_aside_near_the_head)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head;

    log_fixture_append(&log_fixture, 1600, QUEUE, 16);
    head = log_fixture_advance(&log_fixture);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 15, head);

    check_int(log_fixture_sweep(&log_fixture).aside, 0);
    check_int(log_fixture_stored(&log_fixture), 100);
    log_fixture_close(&log_fixture);
}

OUTBOX_PLAIN_TEST(sweep, leaves_alone_what_is_behind_all_positions)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct seen *all;

    log_fixture_append(&log_fixture, 2500, QUEUE, 1);
    log_fixture_advance(&log_fixture);
    all = log_fixture_read(&log_fixture, BEGINNING, NULL);
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), all->end);
    log_fixture_set_position(&log_fixture, OTHER_SUBSCRIPTION, weir_pid(QUEUE, 0),
                             all->rows[1899].log_position);

    check_int(log_fixture_sweep(&log_fixture).aside, 0);
    check_int(log_fixture_stored(&log_fixture), 600);
    free(all);
    log_fixture_close(&log_fixture);
}

LOG_TEST(sweep, keeps_everything_of_a_queue_without_subscriptions)
{
    log_fixture_add_queue(log_fixture, QUEUE, 0);
    log_fixture_append(log_fixture, 3000, QUEUE, 16);
    log_fixture_advance(log_fixture);
    log_fixture_sweep(log_fixture);

    check_int(log_fixture_stored(log_fixture), 3000);
}

LOG_TEST(sweep, drops_what_is_unread_if_the_queue_says_so)
{
    log_fixture_add_queue(log_fixture, QUEUE, 1);
    log_fixture_append(log_fixture, 3000, QUEUE, 16);
    log_fixture_advance(log_fixture);
    log_fixture_sweep(log_fixture);

    check_int(log_fixture_stored(log_fixture), 0);
}

LOG_TEST(sweep, keeps_for_a_subscription_of_a_queue_that_drops)
{
    log_fixture_add_queue(log_fixture, QUEUE, 1);
    log_fixture_add_subscription(log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_set_positions(log_fixture, SUBSCRIPTION, QUEUE, 16, BEGINNING);
    log_fixture_append(log_fixture, 3000, QUEUE, 16);
    log_fixture_advance(log_fixture);
    log_fixture_sweep(log_fixture);

    check_int(log_fixture_stored(log_fixture), 3000);
}

LOG_TEST(sweep, removes_what_is_left_of_a_removed_queue)
{
    log_fixture_append(log_fixture, 3000, QUEUE, 16);
    log_fixture_advance(log_fixture);
    log_fixture_sweep(log_fixture);

    check_int(log_fixture_stored(log_fixture), 0);
}

/* Never a start at 0, and so never a loss. */
LOG_TEST(sweep, keeps_everything_when_a_position_is_missing)
{
    log_fixture_add_queue(log_fixture, QUEUE, 0);
    log_fixture_add_subscription(log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_add_subscription(log_fixture, OTHER_SUBSCRIPTION, QUEUE);
    log_fixture_append(log_fixture, 3000, QUEUE, 1);
    log_fixture_set_position(log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0),
                             log_fixture_advance(log_fixture));
    log_fixture_sweep(log_fixture);

    check_int(log_fixture_stored(log_fixture), 3000);
}

OUTBOX_SQLITE_TEST(sweep, never_gives_an_id_again_after_it_emptied_the_log)
{
    struct log_fixture log_fixture = open_swept(fixture);
    int64_t last = log_fixture_append(&log_fixture, 100, QUEUE, 16);
    struct weir_log_position head = log_fixture_advance(&log_fixture);
    struct seen *seen;

    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_sweep(&log_fixture);
    check_int(log_fixture_stored(&log_fixture), 0);
    check(weir_log_position_equal(log_fixture_advance(&log_fixture), head));

    check_int(log_fixture_append(&log_fixture, 1, QUEUE, 16), last + 1);
    seen = log_fixture_read(&log_fixture, head, NULL);
    check_int(seen->count, 1);
    free(seen);
    log_fixture_close(&log_fixture);
}

/* The write lock is what keeps it from removing what a new subscription starts with. */
OUTBOX_SQLITE_TEST(sweep, waits_for_a_subscription_that_is_being_made)
{
    struct weir_db_options options = fixture_options(fixture);
    struct log_fixture log_fixture = log_fixture_open(fixture);
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report;
    struct weir_db *hasty;

    options.lock_timeout_ns = WEIR_MILLISECONDS(20);
    hasty = fixture_open(fixture, &options);
    log_fixture_add_queue(&log_fixture, QUEUE, 1);
    log_fixture_append(&log_fixture, 100, QUEUE, 1);
    check_db(weir_connection_begin(log_fixture.connection, &fixture->error), WEIR_OK);
    log_fixture_add_subscription(&log_fixture, SUBSCRIPTION, QUEUE);
    log_fixture_set_position(&log_fixture, SUBSCRIPTION, weir_pid(QUEUE, 0), BEGINNING);
    check_db(log_fixture.log.ops->sweep(&log_fixture.log, hasty, &state, &report,
                                        &fixture->error),
             WEIR_LOCKED);
    check_db(weir_connection_commit(log_fixture.connection, &fixture->error), WEIR_OK);
    log_fixture_sweep(&log_fixture);

    check_int(log_fixture_stored(&log_fixture), 100);
    weir_db_destroy(hasty);
    log_fixture_close(&log_fixture);
}

static int64_t file_size(const char *path)
{
    struct stat about;

    check_int(stat(path, &about), 0);
    return (int64_t)about.st_size;
}

OUTBOX_SQLITE_TEST(sweep, moves_the_write_ahead_log_into_the_file)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head;
    int64_t before;

    /* More than small commits move themselves: 8 MiB. */
    for (int i = 0; i < 80; i++)
        log_fixture_append(&log_fixture, 5000, QUEUE, 16);
    head = log_fixture_advance(&log_fixture);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 16, head);
    before = file_size(fixture->database);
    log_fixture_sweep(&log_fixture);

    check_in_range(before, 0, 1000000); /* all that was appended is in the log only */
    check_in_range(file_size(fixture->database), 5000000, 100000000);
    log_fixture_close(&log_fixture);
}

/* ---- start ------------------------------------------------------------------------- */

static struct weir_log_position start_of(struct log_fixture *log_fixture, bool now)
{
    struct fixture *fixture = log_fixture->fixture;
    struct weir_log_position log_position = {-1, -1};

    check_db(weir_connection_begin(log_fixture->connection, &fixture->error), WEIR_OK);
    check_db(log_fixture->log.ops->start(&log_fixture->log, log_fixture->connection,
                                         QUEUE, now, &log_position, &fixture->error),
             WEIR_OK);
    check_db(weir_connection_commit(log_fixture->connection, &fixture->error), WEIR_OK);
    return log_position;
}

LOG_TEST(start, at_the_beginning_gives_everything_of_a_whole_queue)
{
    struct seen *seen;

    log_fixture_add_queue(log_fixture, QUEUE, 0);
    log_fixture_append(log_fixture, 30, QUEUE, 4);
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, start_of(log_fixture, false), NULL);

    check_int(seen->count, 30);
    free(seen);
}

/* Of what is set aside for a slow one a new subscription gets nothing, rather than
 * pieces. */
OUTBOX_TEST(start, at_the_beginning_is_behind_everything_that_was_removed)
{
    struct log_fixture log_fixture = open_swept(fixture);
    struct weir_log_position head;
    struct seen *seen;

    log_fixture_append(&log_fixture, 4800, QUEUE, 16);
    head = log_fixture_advance(&log_fixture);
    log_fixture_set_positions(&log_fixture, SUBSCRIPTION, QUEUE, 16, head);
    log_fixture_set_positions(&log_fixture, OTHER_SUBSCRIPTION, QUEUE, 15, head);
    check(log_fixture_sweep(&log_fixture).removed > 0);
    log_fixture_append(&log_fixture, 32, QUEUE, 16);
    log_fixture_advance(&log_fixture);
    seen = log_fixture_read(&log_fixture, start_of(&log_fixture, false), NULL);

    check(seen->count >= 32 && seen->count < 4832);
    for (size_t i = 0; i < seen->count; i++)
        check_int(seen->rows[i].number, 4832 - (int64_t)(seen->count - 1 - i));
    free(seen);
    log_fixture_close(&log_fixture);
}

LOG_TEST(start, at_now_gives_only_what_comes_later)
{
    struct weir_log_position start;
    struct seen *seen;

    log_fixture_add_queue(log_fixture, QUEUE, 0);
    log_fixture_append(log_fixture, 30, QUEUE, 4);
    log_fixture_advance(log_fixture);
    start = start_of(log_fixture, true);
    log_fixture_append(log_fixture, 5, QUEUE, 4);
    log_fixture_advance(log_fixture);
    seen = log_fixture_read(log_fixture, start, NULL);

    check_int(seen->count, 5);
    check_int(seen->rows[0].number, 31);
    free(seen);
}

/* ---- free pages of SQLite ---- */

enum { MEBIBYTES_FREED = 24 };

/* Leave so much free in the file. */
static void free_pages(struct log_fixture *log_fixture)
{
    log_fixture_execute(log_fixture, "CREATE TABLE filler (a)");
    for (int i = 0; i < MEBIBYTES_FREED; i++)
        log_fixture_execute(log_fixture, "INSERT INTO filler VALUES (zeroblob(1048576))");
    log_fixture_execute(log_fixture, "DROP TABLE filler");
}

static int64_t ask_pages(struct log_fixture *log_fixture, const char *pragma)
{
    char text[64];

    (void)snprintf(text, sizeof text, "SELECT * FROM pragma_%s", pragma);
    return fixture_ask(log_fixture->fixture, text);
}

LOG_SQLITE_TEST(sweep, gives_free_pages_back_where_the_file_can)
{
    struct weir_sweep_report sum = {0};
    int64_t before;

    log_fixture_execute(log_fixture, "PRAGMA auto_vacuum = INCREMENTAL");
    log_fixture_execute(log_fixture, "VACUUM");
    free_pages(log_fixture);
    before = ask_pages(log_fixture, "page_count");
    check_in_range(ask_pages(log_fixture, "freelist_count"), 6000, 6500);
    log_fixture_sweep_once(log_fixture, &sum);

    check_in_range(ask_pages(log_fixture, "freelist_count"), 3000, 4096);
    check(ask_pages(log_fixture, "page_count") <= before - 1900);
}

LOG_SQLITE_TEST(sweep, leaves_free_pages_where_the_file_cannot)
{
    struct weir_sweep_report sum = {0};
    int64_t before;

    free_pages(log_fixture);
    before = ask_pages(log_fixture, "freelist_count");
    log_fixture_sweep_once(log_fixture, &sum);

    check_int(ask_pages(log_fixture, "freelist_count"), before);
}
