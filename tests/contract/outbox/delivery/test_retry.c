/*
 * A message that fails stays at the head of its partition and is tried again, later
 * each time, and nothing forgets how often.
 */
#include "db/clock.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/process_pool.h"

static struct partition_view look(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_partition(fixture, outbox, "orders", "default", 0);
}

/* With waits of this length. */
static struct weir_outbox *retrying(struct fixture *fixture, const char *name,
                                    int32_t partitions, struct recorder *recorder,
                                    int64_t base_ns, int64_t max_ns)
{
    struct weir_tuning tuning = outbox_fixture_tuning();
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, name);

    tuning.retry_base_ns = base_ns;
    tuning.retry_max_ns = max_ns;
    handler.tuning = &tuning;
    outbox_fixture_queue(fixture, outbox, "orders", partitions);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

DELIVERY_TEST(retry, counts_attempts_until_it_is_done, 1)
{
    recorder_answer(recorder, 1, 2, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    wait_until(look(fixture, outbox).seq == 1);
    check_int(recorder_count(recorder), 3);
    for (size_t i = 0; i < 3; i++)
        check_int(recorder_delivery(recorder, i).attempts, i);
    check_int(look(fixture, outbox).attempts, 0);
    check_str(look(fixture, outbox).last_error, "");
}

DELIVERY_TEST(retry, has_the_same_number_and_uid_each_time, 1)
{
    char first[WEIR_UID_TEXT_SIZE];
    char second[WEIR_UID_TEXT_SIZE];

    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    wait_until(look(fixture, outbox).seq == 1);
    check_int(recorder_delivery(recorder, 1).seq, 1);
    check_str(weir_uid_format(recorder_delivery(recorder, 0).uid, first),
              weir_uid_format(recorder_delivery(recorder, 1).uid, second));
}

OUTBOX_TEST(retry, keeps_its_state_over_a_restart)
{
    struct recorder *first = recorder_new();
    struct recorder *second = recorder_new();
    struct weir_outbox *outbox =
        retrying(fixture, "anna", 2, first, WEIR_MINUTES(10), WEIR_MINUTES(10));

    recorder_answer(first, 1, ALWAYS, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(look(fixture, outbox).attempts == 1);
    outbox_fixture_close(outbox);

    outbox = retrying(fixture, "anna", 2, second, WEIR_MINUTES(10), WEIR_MINUTES(10));
    outbox_fixture_send(fixture, outbox, "orders", 1, 30);
    wait_until(recorder_count_of(second, 1) == 30);

    check_int(recorder_count_of(second, 0), 0);
    check_int(look(fixture, outbox).attempts, 1);
    check(look(fixture, outbox).retry_in_us > INT64_C(8) * 60 * 1000000);
    check_str(look(fixture, outbox).last_error, "message 1 must wait");
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(retry, is_made_by_the_next_owner_when_it_is_due)
{
    struct recorder *first = recorder_new();
    struct recorder *second = recorder_new();
    struct weir_outbox *anna =
        retrying(fixture, "anna", 1, first, WEIR_SECONDS(1), WEIR_SECONDS(1));
    struct weir_outbox *bert;
    int64_t failed_ns;

    recorder_answer(first, 1, ALWAYS, ANSWER_RETRY);
    outbox_fixture_send(fixture, anna, "orders", 0, 1);
    wait_until(look(fixture, anna).attempts == 1);
    failed_ns = recorder_delivery(first, 0).at_ns;
    outbox_fixture_close(anna);

    bert = retrying(fixture, "bert", 1, second, WEIR_SECONDS(1), WEIR_SECONDS(1));

    wait_until(look(fixture, bert).seq == 1);
    check_int(recorder_delivery(second, 0).attempts, 1);
    check(recorder_delivery(second, 0).at_ns - failed_ns >= WEIR_MILLISECONDS(900));
    outbox_fixture_close(bert);
}

OUTBOX_TEST(retry, is_not_cut_short_by_new_messages)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        retrying(fixture, "anna", 2, recorder, WEIR_MINUTES(10), WEIR_MINUTES(10));

    recorder_answer(recorder, 1, 1, ANSWER_RETRY); /* of partition 0, which comes first */
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(look(fixture, outbox).attempts == 1);

    for (size_t i = 1; i <= 20; i++) {
        outbox_fixture_send(fixture, outbox, "orders", 0, 1);
        outbox_fixture_send(fixture, outbox, "orders", 1, 1);
        wait_until(recorder_count_of(recorder, 1) == i);
    }

    check_int(recorder_count_of(recorder, 0), 1);
    check_int(look(fixture, outbox).attempts, 1);
    check_int(look(fixture, outbox).waiting, 21);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(retry, waits_twice_as_long_each_time)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        retrying(fixture, "anna", 1, recorder, WEIR_MILLISECONDS(60), WEIR_SECONDS(10));
    int64_t least_ns = WEIR_MILLISECONDS(60);

    recorder_answer(recorder, 1, 4, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(look(fixture, outbox).seq == 1);

    for (size_t i = 1; i <= 4; i++) {
        check(recorder_delivery(recorder, i).at_ns -
                  recorder_delivery(recorder, i - 1).at_ns >=
              least_ns - WEIR_MILLISECONDS(1));
        least_ns *= 2;
    }
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(retry, waits_no_longer_than_its_limit)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = retrying(fixture, "anna", 1, recorder,
                                          WEIR_MILLISECONDS(1), WEIR_MILLISECONDS(4));

    /* unlimited, the wait after the thirtieth would be twelve days */
    recorder_answer(recorder, 1, 30, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    wait_until(look(fixture, outbox).seq == 1);
    check_int(recorder_count(recorder), 31);
    outbox_fixture_close(outbox);
}

/* The reference's worker was dead after 69. */
OUTBOX_TEST(retry, goes_on_after_100_failures_in_a_row)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = retrying(fixture, "anna", 1, recorder,
                                          WEIR_MILLISECONDS(1), WEIR_MILLISECONDS(1));

    recorder_answer(recorder, 1, 100, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);

    wait_until(look(fixture, outbox).seq == 2);
    check_int(recorder_delivery(recorder, 100).attempts, 100);
    outbox_fixture_close(outbox);
}

/* So many cannot be waited for: the count is put there. */
OUTBOX_TEST(retry, counts_beyond_16_bits)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = retrying(fixture, "anna", 1, recorder,
                                          WEIR_MILLISECONDS(1), WEIR_MILLISECONDS(1));

    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(look(fixture, outbox).seq == 1);
    outbox_fixture_close(outbox);
    fixture_prepare(fixture, "UPDATE {p}_ack SET attempts = 32767");

    recorder = recorder_new();
    outbox = retrying(fixture, "bert", 1, recorder, WEIR_MILLISECONDS(1),
                      WEIR_MILLISECONDS(1));
    recorder_answer(recorder, 2, 2, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    wait_until(look(fixture, outbox).seq == 2);
    check_int(recorder_delivery(recorder, 2).attempts, 32769);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(retry, of_one_partition_delays_no_other)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        retrying(fixture, "anna", 2, recorder, WEIR_MINUTES(10), WEIR_MINUTES(10));

    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 50);
    wait_until(look(fixture, outbox).attempts == 1);

    outbox_fixture_send(fixture, outbox, "orders", 1, 50);

    wait_until(recorder_count_of(recorder, 1) == 50);
    check_int(recorder_count_of(recorder, 0), 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(retry, is_made_though_nobody_sends_anything)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = retrying(fixture, "anna", 1, recorder,
                                          WEIR_MILLISECONDS(50), WEIR_MILLISECONDS(50));

    recorder_answer(recorder, 1, 3, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    wait_until(recorder_count(recorder) == 4);
    wait_until(look(fixture, outbox).seq == 1);
    outbox_fixture_close(outbox);
}

/* Progress is progress: what failed after it has failed once. */
OUTBOX_TEST(retry, of_the_next_message_begins_with_one)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = retrying(fixture, "anna", 1, recorder,
                                          WEIR_MILLISECONDS(1), WEIR_MILLISECONDS(1));

    recorder_answer(recorder, 1, 3, ANSWER_RETRY);
    recorder_answer(recorder, 2, 1, ANSWER_RETRY);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);

    wait_until(look(fixture, outbox).seq == 2);
    for (size_t i = 0; i < recorder_count(recorder); i++) {
        struct delivery delivery = recorder_delivery(recorder, i);

        if (delivery.seq == 2)
            check(delivery.attempts <= 3);
    }
    check_int(recorder_delivery(recorder, recorder_count(recorder) - 1).attempts, 1);
    check_int(recorder_times(recorder, 0, 1), 4);
    check_int(recorder_times(recorder, 0, 2), 2);
    outbox_fixture_close(outbox);
}

/* ---- processes that end ------------------------------------------------------------ */

enum { FAILING, FINE };

static struct partition_view look_at_process_pool(struct process_pool *process_pool)
{
    return outbox_fixture_partition(process_pool->fixture, process_pool->outbox, "crew",
                                    "default", FAILING);
}

/* Processes that wait for `retry_ns` after a failure. The first one has failed, and was
 * killed. Returns when the next try is due, by the database's clock; or a little
 * earlier. */
static int64_t fail_and_die(struct process_pool *process_pool, struct fixture *fixture,
                            int64_t retry_ns)
{
    struct process_pool_options options = {.partitions = 2, .retry_ns = retry_ns};
    struct partition_view view = {0};
    int64_t now_us = 0;
    pid_t pid;

    process_pool_open(process_pool, fixture, &options);
    pid = process_pool_start(process_pool);
    atomic_store(&process_pool->ledger->fail[FAILING], true);
    process_pool_enqueue(process_pool, FAILING, 3);
    while (view.retry_in_us == 0) {
        now_us = process_pool_now_us();
        view = look_at_process_pool(process_pool);
    }
    process_pool_kill(process_pool, pid);
    return now_us + view.retry_in_us;
}

/* A new process has both partitions, and delivers `count` messages of the other one. */
static pid_t take_over(struct process_pool *process_pool, int count)
{
    pid_t pid = process_pool_start(process_pool);
    char name[32];

    process_pool_name(atomic_load(&process_pool->ledger->processes) - 1, name,
                      sizeof name);
    wait_until(process_pool_quota(process_pool, name) == 2);
    process_pool_enqueue(process_pool, FINE, count);
    wait_until(process_pool_read(process_pool, FINE).seq == process_pool->enqueued[FINE]);
    return pid;
}

OUTBOX_TEST(retry, waits_through_takeovers_and_restarts_while_others_are_delivered)
{
    struct process_pool process_pool;
    size_t from = 0;

    (void)fail_and_die(&process_pool, fixture, WEIR_MINUTES(10));
    process_pool_kill(&process_pool, take_over(&process_pool, 30));
    process_pool_end(&process_pool, take_over(&process_pool, 30));
    process_pool_end(&process_pool, take_over(&process_pool, 30));

    check(process_pool_next(&process_pool, FAILING, &from) != NULL);
    check(process_pool_next(&process_pool, FAILING, &from) == NULL);
    check_int(look_at_process_pool(&process_pool).attempts, 1);
    check_str(look_at_process_pool(&process_pool).last_error, "told to fail");
    check(look_at_process_pool(&process_pool).retry_in_us > INT64_C(6) * 60 * 1000000);
    process_pool_close(&process_pool);
}

OUTBOX_TEST(retry, is_made_after_a_takeover_when_it_is_due_and_not_earlier)
{
    struct process_pool process_pool;
    int64_t due_us = fail_and_die(&process_pool, fixture, WEIR_SECONDS(2));
    const struct process_pool_record *again;
    size_t from = 0;
    pid_t pid;

    atomic_store(&process_pool.ledger->fail[FAILING], false);
    pid = take_over(&process_pool, 30);
    wait_until(process_pool_read(&process_pool, FAILING).seq == 3);

    do {
        again = process_pool_next(&process_pool, FAILING, &from);
    } while (again != NULL && again->process == 0); /* which is dead by now */
    check(again != NULL);
    check_int(again->seq, 1);
    check(again->at_us >= due_us);
    process_pool_audit(&process_pool);
    process_pool_end(&process_pool, pid);
    process_pool_close(&process_pool);
}
