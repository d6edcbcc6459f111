/*
 * Marks of calls (mark.h): when they are stored, what they tell the owner that finds
 * them, and when they end. An owner that has died is one of another number whose lease
 * has run out.
 */
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "kit/outbox/effects.h"
#include "outbox/delivery/mark.h"
#include "outbox/outbox.h"

/* "mark position" on SQLite and MariaDB, "append mark" on PostgreSQL. */
static const char *mark_statement(const struct fixture *fixture)
{
    return fixture->engine == WEIR_POSTGRESQL ? "append mark" : "mark position";
}

/* The newest position of a partition. */
static int64_t stored(struct fixture *fixture, const char *column, int32_t partition)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "SELECT %s FROM weir_ack WHERE pid %% 64 = %d"
                   " ORDER BY version DESC LIMIT 1",
                   column, (int)partition);
    return fixture_ask(fixture, sql);
}

static int64_t leased(struct fixture *fixture, const char *column)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql, "SELECT %s FROM weir_lease", column);
    return fixture_ask(fixture, sql);
}

/* An outbox that is not started: its queue, its handler, and a message in each
 * partition. */
static struct weir_outbox *prepare(struct fixture *fixture, int32_t partitions,
                                   struct recorder *recorder)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", partitions);
    outbox_fixture_serve_one_by_one(fixture, outbox, "orders", recorder);
    for (int32_t p = 0; p < partitions; p++)
        outbox_fixture_send(fixture, outbox, "orders", p, 1);
    return outbox;
}

/* The owner of epoch 1 of each partition has died, and left this mark. */
static void evict_owner(struct fixture *fixture, int64_t trying)
{
    char sql[128];

    fixture_prepare(fixture, "UPDATE {p}_lease SET owner = 7, epoch = 1, marks_from = 1,"
                             " until_us = 1, incarnation = ''");
    if (fixture->engine == WEIR_POSTGRESQL)
        fixture_prepare(fixture,
                        "UPDATE {p}_lease SET incarnation = " WEIR_INCARNATION_PG);
    else
        fixture_prepare(fixture,
                        "UPDATE {p}_lease SET incarnation = " WEIR_INCARNATION_PLAIN);
    (void)snprintf(sql, sizeof sql, "UPDATE {p}_ack SET epoch = 1, trying = %lld",
                   (long long)trying);
    fixture_prepare(fixture, sql);
}

static void set_trying(struct fixture *fixture, int32_t partition, int64_t trying,
                       uint32_t alone)
{
    char sql[160];

    (void)snprintf(sql, sizeof sql,
                   "UPDATE {p}_ack SET trying = %lld, alone = %u WHERE pid %% 64 = %d",
                   (long long)trying, alone, (int)partition);
    fixture_prepare(fixture, sql);
}

static struct weir_partition_table_info leased_partitions(struct weir_outbox *outbox)
{
    struct weir_partition_table_info info;

    weir_partition_table_read(outbox->partition_table, &info);
    return info;
}

/* Started with a mark of an owner before; its handler has the message. */
static struct weir_outbox *call_behind(struct fixture *fixture, int64_t trying,
                                       struct recorder *recorder)
{
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);

    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    evict_owner(fixture, trying);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);
    return outbox;
}

/* ---- storing ----------------------------------------------------------------------- */

OUTBOX_TEST(mark, is_stored_before_the_call_behind_a_dead_owner)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = call_behind(fixture, 0, recorder);

    check_int(stored(fixture, "trying", 0), 1);
    check_int(stored(fixture, "epoch", 0), 2);
    check_int(recorder_delivery(recorder, 0).attempts, 0);
    recorder_release(recorder);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    check_int(stored(fixture, "trying", 0), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(mark, of_a_suspect_says_that_it_is_alone)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = call_behind(fixture, 1, recorder);

    check_int(stored(fixture, "trying", 0), -1);
    check_int(recorder_delivery(recorder, 0).attempts, 0);
    recorder_release(recorder);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    check_int(stored(fixture, "trying", 0), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(mark, alone_that_is_found_is_a_failed_attempt)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = call_behind(fixture, -1, recorder);
    struct partition_view view =
        outbox_fixture_partition(fixture, outbox, "orders", "default", 0);

    check_int(recorder_delivery(recorder, 0).attempts, 1);
    check_int(view.attempts, 1);
    check_str(view.last_error, WEIR_MARK_DEATH);
    check_int(stored(fixture, "alone", 0), 1);
    check_int(stored(fixture, "trying", 0), -1);
    recorder_release(recorder);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    outbox_fixture_close(outbox);
}

/* Transactions of its own: what the handler's has written is not seen, the mark is. */
static enum weir_outcome write_and_wait(struct weir_context *context, void *state,
                                        struct weir_connection *connection,
                                        const struct weir_message *message,
                                        struct weir_reason *reason)
{
    if (!effects_write(connection, message))
        return weir_retry(reason, "no effect");
    return recorder_on_message(context, state, message, reason);
}

OUTBOX_TEST(mark, of_a_transactional_call_is_committed_before_it)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);

    effects_prepare(fixture);
    handler.on_message = NULL;
    handler.on_message_tx = write_and_wait;
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    evict_owner(fixture, 1);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);

    check_int(stored(fixture, "trying", 0), -1);
    check_int(effects_count(fixture), 0);
    recorder_release(recorder);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    check_int(stored(fixture, "trying", 0), 0);
    check_int(effects_count(fixture), 1);
    outbox_fixture_close(outbox);
}

/* Calls of one message, failures and all: the statements are those of delivery without
 * a death. */
OUTBOX_TEST(mark, is_stored_by_no_ordinary_call)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, mark_statement(fixture), UINT64_MAX);
    weir_db_set_fault_points(fixture->db, &points);
    recorder_answer(recorder, 2, 2, ANSWER_RETRY);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 4);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 5);

    check_int(stored(fixture, "version", 0), 7); /* one for each call */
    check_int(atomic_load(&points.armed[0].passed), 0);
    outbox_fixture_close(outbox);
    weir_db_set_fault_points(fixture->db, NULL);
}

/* Up to the first ack: the messages behind the one that was marked have none. */
OUTBOX_TEST(mark, is_stored_up_to_the_first_ack)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, mark_statement(fixture), UINT64_MAX);
    outbox_fixture_send(fixture, outbox, "orders", 0, 4);
    evict_owner(fixture, 0);
    weir_db_set_fault_points(fixture->db, &points);
    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 5);

    check_int(atomic_load(&points.armed[0].passed), 1);
    outbox_fixture_close(outbox);
    weir_db_set_fault_points(fixture->db, NULL);
}

/* ---- finding ----------------------------------------------------------------------- */

/* The death, and the answer: two, not three. */
OUTBOX_TEST(mark, and_the_answer_of_its_call_count_once)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);

    evict_owner(fixture, -1);
    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);

    check_int(recorder_delivery(recorder, 0).attempts, 1);
    check_int(recorder_delivery(recorder, 1).attempts, 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(mark, counts_nothing_in_its_own_epoch)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "acker.unanswered", 1);
    weir_outbox_set_fault_points(outbox, &points);
    evict_owner(fixture, 1);
    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);

    check_int(recorder_delivery(recorder, 0).attempts, 0);
    check_int(recorder_delivery(recorder, 1).attempts, 1);
    check_int(recorder_count(recorder), 2);
    outbox_fixture_close(outbox);
}

/* Whoever came between has ended before it could call. */
OUTBOX_TEST(mark, is_found_behind_owners_that_did_not_call)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);

    evict_owner(fixture, -1);
    fixture_prepare(fixture, "UPDATE {p}_lease SET epoch = 4, crashes = 4");
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);

    check_int(recorder_delivery(recorder, 0).attempts, 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(mark, of_another_incarnation_counts_nothing)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);

    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    evict_owner(fixture, -1);
    fixture_prepare(fixture, "UPDATE {p}_lease SET incarnation = 'before'");
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);

    check_int(recorder_delivery(recorder, 0).attempts, 0);
    check_int(stored(fixture, "trying", 0), 1);
    recorder_release(recorder);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    outbox_fixture_close(outbox);
}

/* Five times its leases run out while a healthy process waits for the queue to be
 * resumed. */
OUTBOX_TEST(attempts_max, counts_no_lease_that_a_healthy_process_has_lost)
{
    enum { LOSSES = 5 };
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_queue_options queue;

    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.attempts_max = 1;
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
    outbox_fixture_short_lease(&handler);
    outbox_fixture_add(fixture, outbox, &handler);
    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    outbox_fixture_start(fixture, outbox);
    for (int i = 1; i <= LOSSES; i++) {
        wait_until(leased(fixture, "epoch") == i);
        wait_until(leased_partitions(outbox).ready == 1);
        fixture_prepare(fixture, "UPDATE {p}_lease SET until_us = 1");
    }
    wait_until(leased(fixture, "crashes") == LOSSES);
    check_db(weir_outbox_resume_queue(outbox, "orders", &fixture->error), WEIR_OK);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 2);

    check_int(letters_count(fixture, outbox, WEIR_DEAD_LETTER_ANY), 0);
    check_int(recorder_delivery(recorder, 0).attempts, 0);
    outbox_fixture_close(outbox);
}

/* ---- suspects ---------------------------------------------------------------------- */

OUTBOX_TEST(suspects, are_called_one_at_a_time_while_others_go_on)
{
    enum { SUSPECTS = 3, OTHER = SUSPECTS };
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, SUSPECTS + 1, recorder);

    for (int32_t i = 0; i < 9; i++)
        outbox_fixture_send(fixture, outbox, "orders", OTHER, 1);
    evict_owner(fixture, 1);
    set_trying(fixture, OTHER, 0, 0);
    recorder_answer(recorder, 1, SUSPECTS + 1, ANSWER_BLOCK);
    outbox_fixture_start(fixture, outbox);

    wait_until(recorder_count(recorder) == 2);
    wait_until(leased_partitions(outbox).ready == SUSPECTS - 1);
    check_int(recorder_count_of(recorder, OTHER), 1);
    check_int(recorder_count(recorder), 2);
    recorder_release(recorder);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", OTHER) == 10);
    for (int32_t p = 0; p < SUSPECTS; p++)
        wait_until(outbox_fixture_seq(fixture, outbox, "orders", p) == 1);
    outbox_fixture_close(outbox);
}

/* A killer that comes first each time would keep the innocent waiting for ever. */
OUTBOX_TEST(suspects, whose_calls_alone_have_failed_least_come_first)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 4, recorder);

    evict_owner(fixture, -1);
    for (int32_t p = 0; p < 3; p++)
        set_trying(fixture, p, -1, 3 - (uint32_t)p);
    set_trying(fixture, 3, 1, 0);
    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_start(fixture, outbox);
    wait_until(leased_partitions(outbox).ready == 4);
    check_db(weir_outbox_resume_queue(outbox, "orders", &fixture->error), WEIR_OK);
    wait_until(recorder_count(recorder) == 4);

    for (size_t i = 0; i < 4; i++)
        check_int(recorder_delivery(recorder, i).partition, 3 - i);
    outbox_fixture_close(outbox);
}

struct gate {
    _Atomic bool reached;
    _Atomic bool open;
};

static void wait_at_gate(void *argument)
{
    struct gate *gate = argument;
    int64_t deadline_ms = fixture_deadline();

    atomic_store(&gate->reached, true);
    while (!atomic_load(&gate->open))
        fixture_wait(__FILE__, __LINE__, "the gate", deadline_ms);
}

/* Until then the process may end, and its mark would still say that it was alone. */
OUTBOX_TEST(suspect, keeps_the_others_waiting_until_its_ack_is_stored)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 2, recorder);
    struct gate gate = {0};
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "acker.collected", 1, wait_at_gate, &gate);
    weir_outbox_set_fault_points(outbox, &points);
    evict_owner(fixture, 1);
    outbox_fixture_start(fixture, outbox);
    wait_until(atomic_load(&gate.reached));
    wait_until(leased_partitions(outbox).ready == 1);

    check_int(recorder_count(recorder), 1);
    check_int(leased_partitions(outbox).running, 0);
    atomic_store(&gate.open, true);
    wait_until(recorder_count(recorder) == 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(suspect, that_has_failed_too_often_gets_no_call)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_queue_options queue;
    struct letter_views *views;
    struct weir_dead_letter_scope scope = letters_everything();

    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.attempts_max = 3;
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
    outbox_fixture_serve(fixture, outbox, "orders", recorder);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    evict_owner(fixture, -1);
    fixture_prepare(fixture, "UPDATE {p}_ack SET alone = 2, attempts = 4");
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);

    views = letters_list(fixture, outbox, &scope, WEIR_DEAD_LETTER_ANY);
    check_int(recorder_count(recorder), 0);
    check_int(views->count, 1);
    check_int(views->items[0].attempts, 5);
    check_str(views->items[0].reason, "gave up after 5 attempts: " WEIR_MARK_DEATH);
    check_int(stored(fixture, "trying", 0), 0);
    outbox_fixture_close(outbox);
}

/* ---- the end of a mark ------------------------------------------------------------- */

/* The failure that it told of is kept, and told to the next owner; nobody suspects it
 * then. */
OUTBOX_TEST(mark, ends_with_the_release_of_the_lease)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);

    evict_owner(fixture, -1);
    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_start(fixture, outbox);
    wait_until(leased_partitions(outbox).ready == 1);
    check_int(stored(fixture, "trying", 0), -1);
    outbox_fixture_stop(outbox);

    check_int(recorder_count(recorder), 0);
    check_int(stored(fixture, "trying", 0), 0);
    check_int(stored(fixture, "attempts", 0), 1);
    check_int(stored(fixture, "alone", 0), 1);
    check_db(weir_outbox_resume_queue(outbox, "orders", &fixture->error), WEIR_OK);
    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);
    check_int(recorder_delivery(recorder, 0).attempts, 1);
    check_int(stored(fixture, "trying", 0), 1); /* of before, a crash is left */
    recorder_release(recorder);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);
    outbox_fixture_close(outbox);
}

/* Also when it could not be stored that it has ended. */
OUTBOX_TEST(mark, of_before_a_release_is_not_found)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);

    evict_owner(fixture, -1);
    fixture_prepare(fixture, "UPDATE {p}_lease SET owner = NULL, until_us = 0");
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);

    check_int(recorder_delivery(recorder, 0).attempts, 0);
    check_int(stored(fixture, "version", 0), 1); /* and none was stored */
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(mark, ends_with_a_call_that_is_stopped_with_time_left)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);

    recorder_answer(recorder, 1, 1, ANSWER_HEED);
    evict_owner(fixture, 1);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);
    check_int(stored(fixture, "trying", 0), -1);
    outbox_fixture_stop(outbox);

    check_int(stored(fixture, "trying", 0), 0);
    check_int(stored(fixture, "alone", 0), 0);
    outbox_fixture_close(outbox);
}

/* On the connection that has stored the mark the transaction cannot be begun. */
OUTBOX_TEST(mark, ends_with_a_call_that_did_not_begin)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_fault_points points;
    struct weir_fault_points marks;

    effects_prepare(fixture);
    handler.on_message = NULL;
    handler.on_message_tx = write_and_wait;
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    evict_owner(fixture, 1);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "tx.cannot_begin", 1);
    weir_outbox_set_fault_points(outbox, &points);
    weir_fault_points_init(&marks);
    weir_fault_points_arm(&marks, mark_statement(fixture), UINT64_MAX);
    weir_db_set_fault_points(fixture->db, &marks);
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);

    check_int(atomic_load(&marks.armed[0].passed), 3); /* mark, its end, mark */
    check_int(recorder_count(recorder), 1);
    check_int(recorder_delivery(recorder, 0).attempts, 0);
    check_int(stored(fixture, "version", 0), 4);
    outbox_fixture_close(outbox);
    weir_db_set_fault_points(fixture->db, NULL);
}

/* Nobody knows whether it is stored: the lease is given up, and taken again. */
OUTBOX_TEST(mark, in_doubt_counts_nothing)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);
    struct weir_fault_points points;

    evict_owner(fixture, 1);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "mark.unanswered", 1);
    weir_db_set_fault_points(fixture->db, &points);
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);

    check_int(recorder_count(recorder), 1);
    check_int(recorder_delivery(recorder, 0).attempts, 0);
    check(recorder_delivery(recorder, 0).epoch > 2);
    outbox_fixture_close(outbox);
    weir_db_set_fault_points(fixture->db, NULL);
}

OUTBOX_TEST(mark, ends_when_a_database_is_said_to_be_restored)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = prepare(fixture, 1, recorder);
    struct weir_connection *connection;

    evict_owner(fixture, -1);
    connection = fixture_take(fixture);
    check_db(weir_mark_forget_all(connection, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 1);

    check_int(recorder_delivery(recorder, 0).attempts, 0);
    outbox_fixture_close(outbox);
}
