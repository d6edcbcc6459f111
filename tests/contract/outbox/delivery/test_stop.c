/*
 * Stopping: clean, late, and not at all.
 */
#include <dirent.h>
#include <string.h>

#include "db/clock.h"
#include "kit/kept_heap.h"
#include "kit/outbox/outbox_fixture.h"

static int64_t seq(struct fixture *fixture, struct weir_outbox *outbox)
{
    return outbox_fixture_seq(fixture, outbox, "orders", 0);
}

OUTBOX_TEST(stop, right_after_the_start_is_clean)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 4, recorder_new());

    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(10)), 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(stop, without_a_start_and_twice_is_nothing)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(10)), 0);
    outbox_fixture_start(fixture, outbox);
    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(10)), 0);
    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(10)), 0);
    weir_outbox_destroy(outbox);
}

/* In the middle of 600 messages: what was done before the stop stays done, and the next
 * process does the rest. */
OUTBOX_TEST(stop, ends_in_time_and_delivers_nothing_afterwards)
{
    struct recorder *first = recorder_new();
    struct recorder *second = recorder_new();
    struct weir_outbox *anna = outbox_fixture_open(fixture, "anna", "orders", 1, first);
    struct weir_outbox *bert;
    size_t delivered;
    int64_t begun_ns;

    outbox_fixture_send(fixture, anna, "orders", 0, 300);
    wait_until(recorder_count(first) > 3);
    outbox_fixture_send(fixture, anna, "orders", 0, 300);
    begun_ns = weir_clock_now_ns();
    check_int(weir_outbox_stop(anna, WEIR_SECONDS(20)), 0);
    check(weir_clock_now_ns() - begun_ns < WEIR_SECONDS(10));
    delivered = recorder_count(first);

    bert = outbox_fixture_open(fixture, "bert", "orders", 1, second);
    wait_until(seq(fixture, bert) == 600);

    check_int(recorder_count(first), delivered);
    check_int(delivered + recorder_count(second), 600); /* and nothing twice */
    weir_outbox_destroy(anna);
    outbox_fixture_close(bert);
}

OUTBOX_TEST(stop, gives_running_calls_their_grace)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);

    recorder_answer(recorder, 1, 1, ANSWER_HEED);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(recorder_count(recorder) == 1);

    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(20)), 0);

    check_int(recorder_ended(recorder), 1);
    check_str(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).owner,
              "");
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(stop, lets_enqueueing_go_on)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());

    outbox_fixture_stop(outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);

    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).waiting,
              3);
    weir_outbox_destroy(outbox);
}

DELIVERY_TEST(stop, may_be_followed_by_another_start, 2)
{
    for (int64_t round = 1; round <= 3; round++) {
        outbox_fixture_send(fixture, outbox, "orders", 0, 5);
        wait_until(seq(fixture, outbox) == 5 * round);
        outbox_fixture_stop(outbox);
        outbox_fixture_start(fixture, outbox);
    }

    check(recorder_in_order(recorder, 0, 15));
    check_int(recorder_count(recorder), 15);
}

/* destroy() alone is a stop without grace. */
OUTBOX_TEST(stop, is_part_of_destroy)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    size_t delivered;

    outbox_fixture_send(fixture, outbox, "orders", 0, 5);
    wait_until(seq(fixture, outbox) == 5);
    weir_outbox_destroy(outbox);
    delivered = recorder_count(recorder);

    outbox = outbox_fixture_outbox(fixture, "clerk");
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);
    check_int(outbox_fixture_partition(fixture, outbox, "orders", "default", 0).waiting,
              5);
    check_int(recorder_count(recorder), delivered);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(start, twice_is_refused)
{
    struct weir_outbox *outbox =
        outbox_fixture_open(fixture, "anna", "orders", 1, recorder_new());

    check_db(weir_outbox_start(outbox, &fixture->error), WEIR_EXISTS);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(start, without_queues_works_and_enqueueing_does_not)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_draft draft = outbox_fixture_draft(0, "hello");

    outbox_fixture_start(fixture, outbox);

    check_db(weir_enqueue(outbox, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_NOT_FOUND);
    outbox_fixture_close(outbox);
}

/* ---- a handler that hangs ---------------------------------------------------------- */

static size_t threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0;

    check(tasks != NULL);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

struct hanging {
    size_t threads_before;
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct recorder *stuck;
    struct recorder *others;
};

/* Partition 0 hangs, another queue is served. */
static struct hanging hanging_open(struct fixture *fixture)
{
    struct hanging self = {.stuck = recorder_new(), .others = recorder_new()};
    struct weir_db_options db = fixture_options(fixture);
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_handler_options handler = outbox_fixture_handler("orders", self.stuck);

    self.threads_before = threads();
    db.heap = kept_heap();
    self.db = fixture_open(fixture, &db);
    options.db = self.db;
    self.outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_short_lease(&handler);
    recorder_answer(self.stuck, 1, 1, ANSWER_BLOCK);
    outbox_fixture_queue(fixture, self.outbox, "orders", 1);
    outbox_fixture_queue(fixture, self.outbox, "other", 1);
    outbox_fixture_add(fixture, self.outbox, &handler);
    outbox_fixture_serve(fixture, self.outbox, "other", self.others);
    outbox_fixture_start(fixture, self.outbox);
    outbox_fixture_send(fixture, self.outbox, "orders", 0, 2);
    outbox_fixture_send(fixture, self.outbox, "other", 0, 5);
    wait_until(recorder_count(self.stuck) == 1);
    wait_until(outbox_fixture_seq(fixture, self.outbox, "other", 0) == 5);
    return self;
}

/* The handler returns, and its thread ends. */
static void hanging_return(struct hanging *self)
{
    recorder_release(self->stuck);
    wait_until(recorder_ended(self->stuck) == 1);
    wait_until(threads() == self->threads_before);
}

static void hanging_close(struct hanging *self)
{
    hanging_return(self);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
}

OUTBOX_TEST(stop, with_a_handler_that_hangs_returns_their_number_in_time)
{
    struct hanging hanging = hanging_open(fixture);
    int64_t begun_ns = weir_clock_now_ns();

    check_int(weir_outbox_stop(hanging.outbox, WEIR_MILLISECONDS(200)), 1);

    check(weir_clock_now_ns() - begun_ns < WEIR_SECONDS(15));
    hanging_close(&hanging);
}

/* The other queue's lease is given up at once, that of the one that hangs runs out. */
OUTBOX_TEST(stop, with_a_handler_that_hangs_releases_all_others)
{
    struct hanging hanging = hanging_open(fixture);
    struct recorder *recorder = recorder_new();
    struct weir_outbox *bert;

    check_int(weir_outbox_stop(hanging.outbox, WEIR_MILLISECONDS(50)), 1);
    bert = outbox_fixture_outbox(fixture, "bert");
    check_str(outbox_fixture_partition(fixture, bert, "other", "default", 0).owner, "");

    outbox_fixture_serve(fixture, bert, "orders", recorder);
    outbox_fixture_start(fixture, bert);
    wait_until(outbox_fixture_seq(fixture, bert, "orders", 0) == 2);
    check_int(recorder_delivery(recorder, 0).batch, 1); /* a lease that ran out */
    check_int(recorder_count(hanging.stuck), 1);
    outbox_fixture_close(bert);
    hanging_close(&hanging);
}

OUTBOX_TEST(stop, with_a_handler_that_hangs_delivers_nothing_when_it_returns)
{
    struct hanging hanging = hanging_open(fixture);
    struct weir_outbox *client;

    check_int(weir_outbox_stop(hanging.outbox, WEIR_MILLISECONDS(50)), 1);
    hanging_close(&hanging);

    client = outbox_fixture_outbox(fixture, "clerk");
    check_int(recorder_count(hanging.stuck), 1);
    check_int(outbox_fixture_seq(fixture, client, "orders", 0), 0);
    check_int(outbox_fixture_partition(fixture, client, "orders", "default", 0).waiting,
              2);
    weir_outbox_destroy(client);
}

/* Nobody waits for it: outbox and database are gone when it comes back. */
OUTBOX_TEST(stop, with_a_handler_that_hangs_may_be_followed_by_the_end_of_everything)
{
    struct hanging hanging = hanging_open(fixture);

    check_int(weir_outbox_stop(hanging.outbox, WEIR_MILLISECONDS(50)), 1);
    weir_outbox_destroy(hanging.outbox);
    weir_db_destroy(hanging.db);

    hanging_return(&hanging);

    check_int(recorder_count(hanging.stuck), 1);
}
