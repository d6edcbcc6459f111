/*
 * Moving a subscription to another place of the log.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/outbox.h"
#include "weir/subscription.h"

/* Looks for its share whenever it is woken, and not every few seconds. */
static struct weir_fault_points eager = {
    .armed = {{.name = "lease_keeper.eager", .every = 1}},
    .armed_count = 1};

/* ---- a reader that looks for the header -------------------------------------------- */

struct reader {
    struct recorder *recorder;
    _Atomic size_t replays; /* messages with the header */
    _Atomic size_t wrong;   /* with another value, or twice */
};

static struct reader *reader_new(void)
{
    static struct reader readers[8];
    static size_t used;
    struct reader *self = &readers[used++ % 8];

    *self = (struct reader){.recorder = recorder_new()};
    return self;
}

static enum weir_outcome on_message(struct weir_context *context, void *state,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    struct reader *self = state;
    const char *replay = weir_message_header(message, WEIR_HEADER_REPLAY);

    if (replay != NULL)
        atomic_fetch_add(&self->replays, 1);
    if (replay != NULL && strcmp(replay, "true") != 0)
        atomic_fetch_add(&self->wrong, 1);
    return recorder_on_message(context, self->recorder, message, reason);
}

static struct weir_handler_options mail_of(struct reader *reader,
                                           const struct weir_tuning *tuning)
{
    struct weir_handler_options handler =
        outbox_fixture_handler("orders", reader->recorder);

    handler.subscription = "mail";
    handler.on_message = on_message;
    handler.state = reader;
    handler.tuning = tuning;
    return handler;
}

static struct weir_tuning one_by_one(void)
{
    struct weir_tuning tuning = outbox_fixture_tuning();

    tuning.batch = 1;
    return tuning;
}

/* ---- a queue whose messages are all kept ------------------------------------------- */

/* Somebody who has subscribed and does not deliver, so that nothing is removed. */
static struct weir_outbox *hold(struct fixture *fixture, int32_t partitions)
{
    struct weir_handler_options handler =
        outbox_fixture_handler("orders", recorder_new());
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");

    handler.subscription = "holder";
    outbox_fixture_queue(fixture, client, "orders", partitions);
    outbox_fixture_add(fixture, client, &handler);
    return client;
}

/* A process that serves "mail", and runs. Its leases are renewed every twenty minutes. */
static struct weir_outbox *serve(struct fixture *fixture, struct reader *reader)
{
    struct weir_tuning tuning = one_by_one();
    struct weir_handler_options handler = mail_of(reader, &tuning);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    handler.lease.duration_ns = WEIR_HOURS(1);
    weir_outbox_set_fault_points(outbox, &eager);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

static struct partition_view look(struct fixture *fixture, struct weir_outbox *outbox,
                                  int32_t partition)
{
    return outbox_fixture_partition(fixture, outbox, "orders", "mail", partition);
}

/* Deliver what there is, up to `seq` of each partition, and stop. */
static void deliver(struct fixture *fixture, struct weir_outbox *client,
                    struct reader *reader, int32_t partitions, int64_t seq)
{
    struct weir_outbox *outbox = serve(fixture, reader);

    for (int32_t i = 0; i < partitions; i++)
        wait_until(look(fixture, client, i).seq == seq);
    outbox_fixture_close(outbox);
}

/* ---- seeking ----------------------------------------------------------------------- */

struct told {
    size_t count;
    struct weir_seek_info infos[WEIR_PARTITIONS_MAX];
};

static void note(void *state, const struct weir_seek_info *info)
{
    struct told *self = state;

    self->infos[self->count++] = *info;
}

static enum weir_status try_seek(struct fixture *fixture, struct weir_outbox *client,
                                 struct weir_seek seek, struct told *told)
{
    *told = (struct told){.count = 0};
    return weir_outbox_seek_subscription(client, "orders", "mail", &seek, note, told,
                                         &fixture->error);
}

static struct told seek_to(struct fixture *fixture, struct weir_outbox *client,
                           struct weir_seek seek)
{
    struct told told;

    check_db(try_seek(fixture, client, seek, &told), WEIR_OK);
    return told;
}

static struct weir_seek to_seq(int64_t seq)
{
    return (struct weir_seek){.to = WEIR_SEEK_SEQ, .seq = seq};
}

static int64_t clock_of(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t now_us = 0;

    check_db(weir_connection_clock(connection, &now_us, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return now_us;
}

/* The payloads that a reader got, side by side. */
static const char *got(struct recorder *recorder)
{
    static char text[512];
    size_t size = 0;

    text[0] = '\0';
    for (size_t i = 0; i < recorder_count(recorder); i++) {
        struct delivery delivery = recorder_delivery(recorder, i);

        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%s%lld:%s",
                             i > 0 ? " " : "", (long long)delivery.seq, delivery.payload);
    }
    return text;
}

OUTBOX_TEST(seek, to_the_beginning_delivers_again_under_the_same_numbers)
{
    struct reader *first = reader_new();
    struct reader *second = reader_new();
    struct weir_outbox *client = hold(fixture, 2);
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 3);
    outbox_fixture_send(fixture, client, "orders", 1, 3);
    deliver(fixture, client, first, 2, 3);

    told = seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_BEGINNING});

    check_int(told.count, 2);
    check_int(told.infos[1].partition, 1);
    check_int(told.infos[1].seq_before, 3);
    check_int(told.infos[1].seq_after, 0);
    check_int(look(fixture, client, 0).waiting, 3);
    outbox_fixture_send(fixture, client, "orders", 0, 1);
    outbox_fixture_send(fixture, client, "orders", 1, 1);
    deliver(fixture, client, second, 2, 4);
    check_int(recorder_count(second->recorder), 8);
    for (int32_t i = 0; i < 2; i++)
        check(recorder_in_order(second->recorder, i, 4));
    weir_outbox_destroy(client);
}

/* Those that had been delivered, and no others; also when it is moved back twice. */
OUTBOX_TEST(seek, backwards_marks_what_comes_again)
{
    struct reader *readers[3] = {reader_new(), reader_new(), reader_new()};
    struct weir_outbox *client = hold(fixture, 1);

    outbox_fixture_send(fixture, client, "orders", 0, 5);
    deliver(fixture, client, readers[0], 1, 5);
    check_int(readers[0]->replays, 0);

    (void)seek_to(fixture, client, to_seq(4));
    outbox_fixture_send(fixture, client, "orders", 0, 3);
    deliver(fixture, client, readers[1], 1, 8);
    check_int(recorder_count(readers[1]->recorder), 5);
    check_int(readers[1]->replays, 2);

    (void)seek_to(fixture, client, to_seq(2));
    outbox_fixture_send(fixture, client, "orders", 0, 1);
    deliver(fixture, client, readers[2], 1, 9);
    check_int(recorder_count(readers[2]->recorder), 8);
    check_int(readers[2]->replays, 7);
    check_int(readers[1]->wrong + readers[2]->wrong, 0);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(seek, to_now_leaves_out_what_waits_and_counts_it)
{
    struct reader *reader = reader_new();
    struct reader *later = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 2);
    deliver(fixture, client, reader, 1, 2);
    outbox_fixture_send(fixture, client, "orders", 0, 7);

    told = seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_NOW});

    check_int(told.infos[0].seq_before, 2);
    check_int(told.infos[0].seq_after, 9);
    check_int(look(fixture, client, 0).waiting, 0);
    outbox_fixture_send_text(fixture, client, "orders", 0, "new");
    deliver(fixture, client, later, 1, 10);
    check_str(got(later->recorder), "10:new");
    check_int(later->replays, 0);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(seek, to_a_number_goes_on_with_it)
{
    struct reader *reader = reader_new();
    struct reader *later = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 9);
    deliver(fixture, client, reader, 1, 9);
    outbox_fixture_send(fixture, client, "orders", 0, 9);

    check_int(seek_to(fixture, client, to_seq(3)).infos[0].seq_after, 2);
    check_int(seek_to(fixture, client, to_seq(17)).infos[0].seq_after, 16);
    check_int(seek_to(fixture, client, to_seq(19)).infos[0].seq_after, 18);
    check_db(try_seek(fixture, client, to_seq(20), &told), WEIR_OUT_OF_RANGE);
    check(strstr(fixture->error.text, "no message 20 of partition 0 yet, the newest is "
                                      "18") != NULL);
    check_int(seek_to(fixture, client, to_seq(17)).infos[0].seq_after, 16);
    deliver(fixture, client, later, 1, 18);
    check_str(got(later->recorder), "17:8 18:9");
    weir_outbox_destroy(client);
}

OUTBOX_TEST(seek, of_one_partition_leaves_the_others)
{
    struct reader *reader = reader_new();
    struct weir_outbox *client = hold(fixture, 2);
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 3);
    outbox_fixture_send(fixture, client, "orders", 1, 3);
    deliver(fixture, client, reader, 2, 3);

    check_db(try_seek(fixture, client, to_seq(2), &told), WEIR_INVALID);
    check(strstr(fixture->error.text, "has 2 partitions") != NULL);
    told = seek_to(
        fixture, client,
        (struct weir_seek){.to = WEIR_SEEK_SEQ, .seq = 2, .only = true, .partition = 1});
    check_int(told.count, 1);

    check_int(look(fixture, client, 0).seq, 3);
    check_int(look(fixture, client, 1).seq, 1);
    check_db(try_seek(fixture, client, (struct weir_seek){.only = true, .partition = 2},
                      &told),
             WEIR_OUT_OF_RANGE);
    weir_outbox_destroy(client);
}

/* One partition has passed everything, the other stands at its seventh message. */
OUTBOX_TEST(seek, beside_a_partition_that_is_behind_keeps_both_counts)
{
    struct reader *first = reader_new();
    struct reader *again = reader_new();
    struct weir_outbox *client = hold(fixture, 2);
    struct weir_outbox *outbox;
    struct told told;

    recorder_answer(first->recorder, 7, 1, ANSWER_BLOCK);
    outbox_fixture_send(fixture, client, "orders", 0, 9);
    outbox_fixture_send(fixture, client, "orders", 1, 6);
    outbox = serve(fixture, first);
    wait_until(look(fixture, client, 1).seq == 6);
    wait_until(look(fixture, client, 0).seq == 6);

    told = seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_NOW});
    check_int(told.infos[0].seq_before, 6);
    check_int(told.infos[0].seq_after, 9);
    check_int(told.infos[1].seq_after, 6);
    recorder_release(first->recorder);
    outbox_fixture_close(outbox);

    told = seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_BEGINNING});
    check_int(told.infos[0].seq_after, 0);
    check_int(told.infos[1].seq_after, 0);
    outbox = serve(fixture, again);
    wait_until(look(fixture, client, 0).seq == 9);
    wait_until(look(fixture, client, 1).seq == 6);
    outbox_fixture_close(outbox);
    check(recorder_in_order(again->recorder, 0, 9));
    check(recorder_in_order(again->recorder, 1, 6));
    weir_outbox_destroy(client);
}

OUTBOX_TEST(seek, to_a_time_goes_before_the_first_message_since_then)
{
    struct reader *reader = reader_new();
    struct reader *later = reader_new();
    struct weir_outbox *client = hold(fixture, 2);
    int64_t times[2];

    outbox_fixture_send(fixture, client, "orders", 0, 2);
    outbox_fixture_send(fixture, client, "orders", 1, 2);
    times[0] = clock_of(fixture);
    wait_until(clock_of(fixture) > times[0]);
    outbox_fixture_send(fixture, client, "orders", 0, 1);
    outbox_fixture_send(fixture, client, "orders", 1, 1);
    times[1] = clock_of(fixture);
    deliver(fixture, client, reader, 2, 3);

    (void)seek_to(fixture, client,
                  (struct weir_seek){.to = WEIR_SEEK_TIME, .time_us = times[0] + 1});

    check_int(look(fixture, client, 0).seq, 2);
    check_int(look(fixture, client, 1).seq, 2);
    deliver(fixture, client, later, 2, 3);
    check_int(recorder_count(later->recorder), 2);

    (void)seek_to(fixture, client,
                  (struct weir_seek){.to = WEIR_SEEK_TIME, .time_us = 1});
    check_int(look(fixture, client, 0).seq, 0);
    (void)seek_to(fixture, client,
                  (struct weir_seek){.to = WEIR_SEEK_TIME, .time_us = times[1] + 1});
    check_int(look(fixture, client, 0).seq, 3);
    check_int(look(fixture, client, 1).seq, 3);
    weir_outbox_destroy(client);
}

static int64_t kept(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_log") +
           fixture_ask(fixture, "SELECT count(*) FROM weir_aside");
}

/* Everything is delivered, and the sweep has removed all but a little. */
static void deliver_and_sweep(struct fixture *fixture)
{
    struct weir_handler_options handler =
        outbox_fixture_handler("orders", recorder_new());
    struct weir_outbox *outbox = outbox_fixture_sweeping(fixture, "anna");

    handler.subscription = "mail";
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    for (int i = 0; i < 20; i++)
        outbox_fixture_send(fixture, outbox, "orders", 0, 10);
    outbox_fixture_start(fixture, outbox);
    wait_until(look(fixture, outbox, 0).seq == 200 && kept(fixture) <= 32);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(seek, before_what_is_removed_is_refused_and_names_the_oldest)
{
    struct reader *later = reader_new();
    struct weir_outbox *client;
    struct told told;
    int64_t oldest;
    char text[64];

    outbox_small_segments(fixture, 5);
    deliver_and_sweep(fixture);
    client = outbox_fixture_outbox(fixture, "clerk");
    oldest =
        seek_to(fixture, client, (struct weir_seek){.dry_run = true}).infos[0].seq_after +
        1;
    check(oldest > 100 && oldest <= 201);

    check_db(try_seek(fixture, client, to_seq(oldest - 1), &told), WEIR_OUT_OF_RANGE);
    (void)snprintf(text, sizeof text, "the oldest there is is %lld", (long long)oldest);
    check(strstr(fixture->error.text, text) != NULL);
    check_db(try_seek(fixture, client,
                      (struct weir_seek){.to = WEIR_SEEK_TIME, .time_us = 1}, &told),
             WEIR_OUT_OF_RANGE);
    check_int(look(fixture, client, 0).seq, 200);

    check_int(
        seek_to(fixture, client, (struct weir_seek){.dry_run = false}).infos[0].seq_after,
        oldest - 1);
    outbox_fixture_send(fixture, client, "orders", 0, 1);
    deliver(fixture, client, later, 1, 201);
    check_int(recorder_count(later->recorder), 202 - oldest);
    check_int(recorder_delivery(later->recorder, 0).seq, oldest);
    weir_outbox_destroy(client);
}

/* Everybody has passed it, the sweep has been there, and it is delivered once more. */
OUTBOX_TEST(seek, goes_back_into_what_is_retained)
{
    struct reader *reader = reader_new();
    struct weir_outbox *outbox = outbox_fixture_sweeping(fixture, "anna");
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");
    struct weir_handler_options handler = mail_of(reader, NULL);
    int64_t since_us;

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    (void)fixture_ask(fixture, "UPDATE weir_queue SET retain_us = 3600000000");
    outbox_fixture_add(fixture, outbox, &handler);
    since_us = clock_of(fixture);
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);
    outbox_fixture_start(fixture, outbox);
    wait_until(look(fixture, outbox, 0).seq == 5);
    outbox_fixture_close(outbox);

    (void)seek_to(fixture, client,
                  (struct weir_seek){.to = WEIR_SEEK_TIME, .time_us = since_us});

    check_int(look(fixture, client, 0).seq, 0);
    check_int(look(fixture, client, 0).waiting, 5);
    weir_outbox_destroy(client);
}

/* Nothing that is left is older, but it is known since when there is everything. */
OUTBOX_TEST(seek, to_a_time_since_which_all_is_there_is_allowed)
{
    struct reader *reader = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 3);
    deliver(fixture, client, reader, 1, 3);
    (void)fixture_ask(fixture, "UPDATE weir_queue SET removed_id = 1, whole_us = 1000");

    check_db(try_seek(fixture, client,
                      (struct weir_seek){.to = WEIR_SEEK_TIME, .time_us = 999}, &told),
             WEIR_OUT_OF_RANGE);
    (void)seek_to(fixture, client,
                  (struct weir_seek){.to = WEIR_SEEK_TIME, .time_us = 1000});

    check_int(look(fixture, client, 0).seq, 1);
    weir_outbox_destroy(client);
}

/* What it has not passed is kept for it, however much was removed beside it: its own
 * place is the oldest there is, and "beginning" leaves nothing out. */
OUTBOX_TEST(seek, of_the_slowest_begins_where_it_stands)
{
    struct weir_handler_options slow = outbox_fixture_handler("orders", recorder_new());
    struct weir_outbox *idle;
    struct told told;

    outbox_small_segments(fixture, 5);
    idle = outbox_fixture_outbox(fixture, "idle");
    slow.subscription = "slow";
    outbox_fixture_queue(fixture, idle, "orders", 2);
    outbox_fixture_add(fixture, idle, &slow);
    outbox_fixture_send(fixture, idle, "orders", 1, 6);
    (void)fixture_ask(fixture,
                      fixture_choose(fixture, "UPDATE weir_queue SET removed_id = 9999",
                                     "UPDATE weir_queue SET removed_cut = 9999",
                                     "UPDATE weir_queue SET removed_id = 9999"));

    check_db(weir_outbox_seek_subscription(idle, "orders", "slow", &(struct weir_seek){0},
                                           note, memset(&told, 0, sizeof told),
                                           &fixture->error),
             WEIR_OK);
    check_int(told.infos[1].seq_before, 0);
    check_int(told.infos[1].seq_after, 0);
    weir_outbox_destroy(idle);
}

/* A relay that runs meanwhile: what it has in hand counts no more, and no crash is
 * counted. */
OUTBOX_TEST(seek, takes_partitions_from_who_serves_them)
{
    struct reader *reader = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct weir_outbox *outbox;
    int64_t epoch;

    recorder_answer(reader->recorder, 5, 1, ANSWER_BLOCK);
    outbox_fixture_send(fixture, client, "orders", 0, 6);
    outbox = serve(fixture, reader);
    wait_until(recorder_count(reader->recorder) == 5);
    wait_until(look(fixture, client, 0).seq == 4);
    epoch = look(fixture, client, 0).epoch;

    (void)seek_to(fixture, client, to_seq(3));
    check_int(look(fixture, client, 0).epoch, epoch + 1);
    check_str(look(fixture, client, 0).owner, "");
    recorder_release(reader->recorder);
    wait_until((weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER),
                look(fixture, client, 0).seq == 6));

    check_str(got(reader->recorder), "1:1 2:2 3:3 4:4 5:5 3:3 4:4 5:5 6:6");
    check_int(look(fixture, client, 0).crashes, 0);
    check_int(look(fixture, client, 0).attempts, 0);
    check_int(reader->replays, 2);
    outbox_fixture_close(outbox);
    weir_outbox_destroy(client);
}

/* Nothing is under way, so nobody is refused: the process finds out when it looks for
 * its share. */
OUTBOX_TEST(seek, is_noticed_by_a_process_that_has_nothing_to_do)
{
    struct reader *reader = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct weir_outbox *outbox;

    outbox_fixture_send(fixture, client, "orders", 0, 3);
    outbox = serve(fixture, reader);
    wait_until(look(fixture, client, 0).seq == 3);

    (void)seek_to(fixture, client, to_seq(2));

    wait_until((weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER),
                recorder_count(reader->recorder) == 5));
    check_str(got(reader->recorder), "1:1 2:2 3:3 2:2 3:3");
    outbox_fixture_close(outbox);
    weir_outbox_destroy(client);
}

static enum weir_outcome write_and_wait(struct weir_context *context, void *state,
                                        struct weir_connection *connection,
                                        const struct weir_message *message,
                                        struct weir_reason *reason)
{
    (void)effects_write(connection, message);
    return recorder_on_message(context, state, message, reason);
}

/* On SQLite nobody could move it meanwhile: the transaction is the lock. */
OUTBOX_SERVER_TEST(seek, undoes_a_transactional_call)
{
    struct recorder *recorder = recorder_new();
    struct weir_tuning tuning = one_by_one();
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_outbox *client = hold(fixture, 1);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    effects_prepare(fixture);
    handler.on_message = NULL;
    handler.on_message_tx = write_and_wait;
    handler.state = recorder;
    handler.subscription = "mail";
    handler.tuning = &tuning;
    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    weir_outbox_set_fault_points(outbox, &eager);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, client, "orders", 0, 3);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);

    (void)seek_to(fixture, client, to_seq(3));
    recorder_release(recorder);
    wait_until((weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER),
                look(fixture, client, 0).seq == 3));
    outbox_fixture_close(outbox);

    check_int(effects_of(fixture, 0, 1), 0);
    check_int(effects_of(fixture, 0, 3), 1);
    weir_outbox_destroy(client);
}

/* Attempts, the wait for the next one and its reason belong to the message at the
 * head. */
OUTBOX_TEST(seek, over_a_failing_head_forgets_how_it_failed)
{
    struct reader *reader = reader_new();
    struct reader *later = reader_new();
    struct weir_tuning tuning = one_by_one();
    struct weir_handler_options handler = mail_of(reader, &tuning);
    struct weir_outbox *client = hold(fixture, 1);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "bert");

    tuning.retry_base_ns = tuning.retry_max_ns = WEIR_MINUTES(10);
    recorder_answer(reader->recorder, 1, ALWAYS, ANSWER_RETRY);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, client, "orders", 0, 3);
    outbox_fixture_start(fixture, outbox);
    wait_until(look(fixture, client, 0).attempts == 1);
    outbox_fixture_close(outbox);

    (void)seek_to(fixture, client, to_seq(2));

    check_int(look(fixture, client, 0).attempts, 0);
    check_int(look(fixture, client, 0).retry_in_us, 0);
    check_str(look(fixture, client, 0).last_error, "");
    deliver(fixture, client, later, 1, 3);
    check_str(got(later->recorder), "2:2 3:3");
    weir_outbox_destroy(client);
}

/* Otherwise a message would be passed and be nowhere. */
OUTBOX_TEST(seek, opens_the_dead_letter_of_what_is_rejected_again)
{
    struct reader *readers[2] = {reader_new(), reader_new()};
    struct weir_outbox *client = hold(fixture, 1);
    struct weir_dead_letter_scope all;
    int64_t discarded = 0;

    for (int i = 0; i < 2; i++)
        recorder_answer(readers[i]->recorder, 1, ALWAYS, ANSWER_REJECT);
    outbox_fixture_send(fixture, client, "orders", 0, 2);
    deliver(fixture, client, readers[0], 1, 2);
    weir_dead_letter_scope_init(&all);
    check_db(
        weir_dead_letter_discard_all(client, NULL, &all, &discarded, &fixture->error),
        WEIR_OK);
    check_int(discarded, 1);

    (void)seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_BEGINNING});
    deliver(fixture, client, readers[1], 1, 2);

    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING), 1);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_ANY), 1);
    weir_outbox_destroy(client);
}

/* Between the two steps of the sweep a message stands in the log and aside. */
OUTBOX_POSTGRESQL_TEST(seek, counts_rows_in_two_places_once)
{
    struct reader *reader = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 4);
    deliver(fixture, client, reader, 1, 4);
    (void)fixture_ask(
        fixture,
        "INSERT INTO weir_aside (pid, cut, id, created_us, uid, message_key, type,"
        " headers, payload) SELECT l.pid, (SELECT min(c.no) FROM weir_cut c"
        " WHERE pg_visible_in_snapshot(l.xid, c.snap)), l.id, l.created_us, l.uid,"
        " l.message_key, l.type, l.headers, l.payload FROM weir_log l");
    check_int(kept(fixture), 8);

    told = seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_BEGINNING});
    check_int(told.infos[0].seq_after, 0);
    check_int(seek_to(fixture, client, to_seq(3)).infos[0].seq_after, 2);
    check_int(seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_NOW})
                  .infos[0]
                  .seq_after,
              4);
    weir_outbox_destroy(client);
}

/* ---- beside others ----------------------------------------------------------------- */

struct intruder {
    struct fixture *fixture;
    const char *sql;
};

static void intrude(void *argument)
{
    struct intruder *self = argument;

    (void)fixture_ask(self->fixture, self->sql);
}

/* As if the sweep had removed something after it was counted. */
OUTBOX_TEST(seek, whose_messages_are_removed_meanwhile_is_found_anew)
{
    struct reader *reader = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct intruder intruder = {fixture,
                                "UPDATE weir_queue SET removed_id = removed_id + 1"};
    struct weir_fault_points points;
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 5);
    deliver(fixture, client, reader, 1, 5);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "seek.planned", 1, intrude, &intruder);
    weir_outbox_set_fault_points(client, &points);

    told = seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_BEGINNING});

    check_int(told.infos[0].seq_after, 1);
    weir_outbox_destroy(client);
}

/* Whenever it has counted: the last time nothing can be removed, since it has the
 * lock. */
OUTBOX_TEST(seek, whose_messages_are_removed_all_the_time_is_done_under_the_lock)
{
    struct reader *reader = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct intruder intruder = {fixture,
                                "UPDATE weir_queue SET removed_id = removed_id + 1"};
    struct weir_fault_points points = {.armed = {{.name = "seek.planned",
                                                  .every = 1,
                                                  .call = intrude,
                                                  .argument = &intruder}},
                                       .armed_count = 1};
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 5);
    deliver(fixture, client, reader, 1, 5);
    weir_outbox_set_fault_points(client, &points);

    told = seek_to(fixture, client, (struct weir_seek){.to = WEIR_SEEK_BEGINNING});

    check_int(points.armed[0].passed, 3);
    check_int(told.infos[0].seq_after, 3);
    weir_outbox_destroy(client);
}

static void seek_back(void *argument)
{
    struct intruder *self = argument;
    struct weir_outbox *other = outbox_fixture_outbox(self->fixture, "other");

    (void)seek_to(self->fixture, other, to_seq(2));
    weir_outbox_destroy(other);
}

/* The second finds the position where the first has put it; numbers are those of the
 * log. */
OUTBOX_TEST(seek, beside_another_seek_keeps_the_numbers)
{
    struct reader *reader = reader_new();
    struct reader *later = reader_new();
    struct weir_outbox *client = hold(fixture, 1);
    struct intruder intruder = {fixture, NULL};
    struct weir_fault_points points;
    struct told told;

    outbox_fixture_send(fixture, client, "orders", 0, 6);
    deliver(fixture, client, reader, 1, 6);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "seek.planned", 1, seek_back, &intruder);
    weir_outbox_set_fault_points(client, &points);

    told = seek_to(fixture, client, to_seq(5));

    check_int(told.infos[0].seq_before, 1);
    check_int(told.infos[0].seq_after, 4);
    deliver(fixture, client, later, 1, 6);
    check_str(got(later->recorder), "5:5 6:6");
    check_int(later->replays, 2);
    weir_outbox_destroy(client);
}

/* A process that dies in the middle of it has moved nothing: no partition, and no
 * lease. */
OUTBOX_POSTGRESQL_TEST(seek, that_ends_in_the_middle_has_moved_nothing)
{
    struct reader *reader = reader_new();
    struct weir_outbox *client = hold(fixture, 2);
    struct intruder intruder = {
        fixture, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                 " WHERE state = 'idle in transaction' AND datname = current_database()"};
    struct weir_fault_points points;
    struct told told;
    int64_t epoch;

    outbox_fixture_send(fixture, client, "orders", 0, 3);
    outbox_fixture_send(fixture, client, "orders", 1, 3);
    deliver(fixture, client, reader, 2, 3);
    epoch = look(fixture, client, 0).epoch;
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "seek.moving", 1, intrude, &intruder);
    weir_outbox_set_fault_points(client, &points);

    (void)!try_seek(fixture, client, (struct weir_seek){.to = WEIR_SEEK_BEGINNING},
                    &told);

    check(look(fixture, client, 0).seq == look(fixture, client, 1).seq);
    check(look(fixture, client, 0).seq == 3
              ? look(fixture, client, 0).epoch == epoch
              : look(fixture, client, 0).epoch == epoch + 1);
    weir_outbox_destroy(client);
}
