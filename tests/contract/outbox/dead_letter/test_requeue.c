/*
 * Dead letters that are enqueued again: order, origin, and bulk that may be ended
 * anywhere.
 */
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "outbox/outbox.h"

static struct letter_views views;

static struct weir_dead_letter_choice choose(const int64_t *ids, size_t count)
{
    return (struct weir_dead_letter_choice){.ids = ids, .count = count};
}

/* The newest letter. */
static struct letter_view newest(struct fixture *fixture, struct weir_outbox *client)
{
    struct weir_dead_letter_scope scope = letters_everything();

    return letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_ANY)->items[0];
}

static void requeue(struct fixture *fixture, struct weir_outbox *client, int64_t id)
{
    const struct weir_dead_letter_choice choice = choose(&id, 1);

    check_db(weir_dead_letter_requeue(client, NULL, &choice, NULL, &fixture->error),
             WEIR_OK);
}

/* ---- what arrives ------------------------------------------------------------------ */

/* A handler that keeps the headers, key and type of the last message. */
struct arrival {
    struct recorder *recorder;
    char from[LETTER_TEXT_SIZE];
    char original[LETTER_TEXT_SIZE];
    char requeues[LETTER_TEXT_SIZE];
    char trace[LETTER_TEXT_SIZE];
    char key[LETTER_TEXT_SIZE];
    char type[LETTER_TEXT_SIZE];
    size_t header_count;
};

static void keep_header(char *out, const struct weir_message *message, const char *name)
{
    const char *value = weir_message_header(message, name);

    (void)snprintf(out, LETTER_TEXT_SIZE, "%s", value != NULL ? value : "");
}

static enum weir_outcome receive(struct weir_context *context, void *state,
                                 const struct weir_message *message,
                                 struct weir_reason *reason)
{
    struct arrival *self = state;

    (void)context;
    (void)reason;
    keep_header(self->from, message, WEIR_HEADER_REQUEUED_FROM);
    keep_header(self->original, message, WEIR_HEADER_ORIGINAL_UID);
    keep_header(self->requeues, message, WEIR_HEADER_REQUEUES);
    keep_header(self->trace, message, "trace");
    (void)snprintf(self->key, sizeof self->key, "%s", message->key);
    (void)snprintf(self->type, sizeof self->type, "%s", message->type);
    self->header_count = message->header_count;
    recorder_note(self->recorder, message);
    return WEIR_DONE;
}

/* Deliver everything to `self`, up to this number. */
static void deliver(struct fixture *fixture, const char *subscription,
                    struct arrival *self, int64_t seq)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "reader");
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);

    handler.subscription = subscription;
    handler.on_message = receive;
    handler.state = self;
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    wait_until(outbox_fixture_partition(fixture, outbox, "orders", subscription, 0).seq ==
               seq);
    outbox_fixture_close(outbox);
}

static struct weir_draft keyed_draft(const struct weir_header *headers)
{
    return (struct weir_draft){
        .key = "c42",
        .type = "placed",
        .payload = "five",
        .payload_size = 4,
        .headers = headers,
        .header_count = 1,
    };
}

OUTBOX_TEST(requeue, brings_the_message_again_and_says_where_from)
{
    static const struct weir_header TRACE[] = {{"trace", "4bf9"}};
    const struct weir_draft draft = keyed_draft(TRACE);
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct arrival arrival = {.recorder = recorder_new()};
    char uid[WEIR_UID_TEXT_SIZE];
    char from[LETTER_TEXT_SIZE];
    struct letter_view letter;

    letters_make_of(fixture, "orders", "default", &draft, 1);
    letter = newest(fixture, client);
    requeue(fixture, client, letter.id);
    deliver(fixture, "default", &arrival, 2);

    check_str(recorder_delivery(arrival.recorder, 0).payload, "five");
    check_int(recorder_delivery(arrival.recorder, 0).attempts, 0);
    check_str(arrival.key, "c42");
    check_str(arrival.type, "placed");
    check_str(arrival.trace, "4bf9");
    weir_uid_format(letter.uid, uid);
    (void)snprintf(from, sizeof from, "orders/default/0/1/%s", uid);
    check_str(arrival.from, from);
    check_str(arrival.original, uid);
    check_str(arrival.requeues, "1");
    weir_outbox_destroy(client);
}

OUTBOX_TEST(requeue, gives_a_new_uid_and_notes_it_in_the_letter)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct arrival arrival = {.recorder = recorder_new()};
    struct letter_view letter;

    letters_make(fixture, "orders", "default", 0, 1);
    requeue(fixture, client, newest(fixture, client).id);
    letter = newest(fixture, client);
    deliver(fixture, "default", &arrival, 2);

    check_int(letter.status, WEIR_DEAD_LETTER_RESOLVED);
    check(letter.requeued);
    check(letter.completed_us > 0);
    check(memcmp(letter.requeued_uid, letter.uid, WEIR_UID_SIZE) != 0);
    check(memcmp(letter.requeued_uid, recorder_delivery(arrival.recorder, 0).uid,
                 WEIR_UID_SIZE) == 0);
    weir_outbox_destroy(client);
}

/* One that was resolved by hand is not among them. */
OUTBOX_TEST(letters, that_were_requeued_can_be_asked_for)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    const int64_t hour_ns = INT64_C(3600000000000);
    struct weir_dead_letter_claim claim;
    int64_t requeued;

    letters_make(fixture, "orders", "default", 0, 3);
    requeued = newest(fixture, client).id;
    requeue(fixture, client, requeued);
    claim = letters_claim(fixture, client, 1, hour_ns, &views);
    check_db(weir_dead_letter_resolve(
                 client, NULL,
                 &(struct weir_dead_letter_choice){&views.items[0].id, 1, claim.token},
                 NULL, &fixture->error),
             WEIR_OK);

    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_RESOLVED), 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_REQUEUED), 1);
    check_int(letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_REQUEUED)->count, 1);
    check_int(
        letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_REQUEUED)->items[0].id,
        requeued);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(requeue, of_what_was_requeued_keeps_the_first_uid_and_counts)
{
    static const struct weir_header TRACE[] = {{"trace", "4bf9"}};
    const struct weir_draft draft = keyed_draft(TRACE);
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct arrival arrival = {.recorder = recorder_new()};
    char first[WEIR_UID_TEXT_SIZE];
    char second[WEIR_UID_TEXT_SIZE];

    letters_make_of(fixture, "orders", "default", &draft, 1);
    weir_uid_format(newest(fixture, client).uid, first);
    requeue(fixture, client, newest(fixture, client).id);
    letters_reject(fixture, "orders", "default", 1);
    weir_uid_format(newest(fixture, client).uid, second);
    requeue(fixture, client, newest(fixture, client).id);
    deliver(fixture, "default", &arrival, 3);

    check_str(arrival.original, first);
    check_str(arrival.requeues, "2");
    check(strstr(arrival.from, second) != NULL);
    check_int(arrival.header_count, 4); /* each once */
    weir_outbox_destroy(client);
}

OUTBOX_TEST(requeue, comes_behind_what_is_there_in_the_order_of_rejection)
{
    static const char *const WANTED[] = {"behind", "1", "2", "3"};
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct arrival arrival = {.recorder = recorder_new()};
    struct weir_dead_letter_scope scope = letters_everything();
    struct letter_views *listed;
    struct weir_dead_letter_choice choice;
    int64_t ids[3];

    letters_make(fixture, "orders", "default", 0, 3);
    outbox_fixture_send_text(fixture, client, "orders", 0, "behind");
    listed = letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_PENDING);
    for (int i = 0; i < 3; i++)
        ids[i] = listed->items[i].id; /* newest first */
    choice = choose(ids, 3);
    check_db(weir_dead_letter_requeue(client, NULL, &choice, NULL, &fixture->error),
             WEIR_OK);
    deliver(fixture, "default", &arrival, 7);

    for (size_t i = 0; i < 4; i++)
        check_str(recorder_delivery(arrival.recorder, i).payload, WANTED[i]);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(requeue, goes_to_every_subscription_of_the_queue)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct arrival mail = {.recorder = recorder_new()};
    struct arrival audit = {.recorder = recorder_new()};

    letters_subscribe(fixture, "orders", "audit");
    letters_make(fixture, "orders", "mail", 0, 1);
    deliver(fixture, "audit", &audit, 1);
    requeue(fixture, client, newest(fixture, client).id);
    deliver(fixture, "mail", &mail, 2);
    deliver(fixture, "audit", &audit, 2);

    check_int(recorder_count(mail.recorder), 1);
    check_int(recorder_count(audit.recorder), 2);
    check(strstr(audit.from, "orders/mail/0/1/") != NULL);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(requeue, keeps_the_partition)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 4);

    letters_make(fixture, "orders", "default", 3, 1);
    requeue(fixture, client, newest(fixture, client).id);
    letters_reject(fixture, "orders", "default", 1);

    check_int(newest(fixture, client).partition, 3);
    check_int(newest(fixture, client).seq, 2);
    weir_outbox_destroy(client);
}

/* ---- what may be requeued ---------------------------------------------------------- */

OUTBOX_TEST(requeue, is_done_once)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_choice choice;
    int64_t id;

    letters_make(fixture, "orders", "default", 0, 1);
    id = newest(fixture, client).id;
    requeue(fixture, client, id);
    choice = choose(&id, 1);

    check_db(weir_dead_letter_requeue(client, NULL, &choice, NULL, &fixture->error),
             WEIR_FENCED);
    check(strstr(fixture->error.text, "is resolved and was not requeued") != NULL);
    check_int(outbox_fixture_queue_view(fixture, client, "orders").waiting, 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(requeue, of_a_claimed_letter_needs_its_token)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_claim claim;
    struct weir_dead_letter_choice choice;

    letters_make(fixture, "orders", "default", 0, 1);
    claim = letters_claim(fixture, client, 1, WEIR_HOURS(1), &views);
    choice = choose(&views.items[0].id, 1);
    check_db(weir_dead_letter_requeue(client, NULL, &choice, NULL, &fixture->error),
             WEIR_FENCED);
    choice.token = claim.token;
    for (int i = 0; i < 2; i++) /* the answer may be lost */
        check_db(weir_dead_letter_requeue(client, NULL, &choice, NULL, &fixture->error),
                 WEIR_OK);

    check_int(outbox_fixture_queue_view(fixture, client, "orders").waiting, 1);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(requeue, heeds_the_limit_of_what_may_wait)
{
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;
    struct weir_queue_options queue;

    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.backlog_max = 3;
    check_db(weir_outbox_add_queue(client, &queue, &fixture->error), WEIR_OK);
    letters_make(fixture, "orders", "default", 0, 3);
    outbox_fixture_send(fixture, client, "orders", 0, 2);

    check_db(weir_dead_letter_requeue_all(client, &scope, NULL, NULL, &progress,
                                          &fixture->error),
             WEIR_FULL);
    check_int(progress.done, 0);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING), 3);
    weir_outbox_destroy(client);
}

/* ---- bulk -------------------------------------------------------------------------- */

enum { MANY = 2 * WEIR_DEAD_LETTER_STEP + 37 };

static enum weir_status requeue_all(struct fixture *fixture, struct weir_outbox *client,
                                    struct weir_dead_letter_progress *progress)
{
    struct weir_dead_letter_scope scope = letters_everything();

    return weir_dead_letter_requeue_all(client, &scope, NULL, NULL, progress,
                                        &fixture->error);
}

OUTBOX_TEST(requeue_all, takes_the_scope_and_leaves_the_rest)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 2);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;

    letters_make(fixture, "orders", "default", 0, 3);
    letters_make(fixture, "orders", "default", 1, 3);
    scope.queue = "orders";
    scope.partition = 0;
    scope.limit = 2;
    check_db(weir_dead_letter_requeue_all(client, &scope, NULL, NULL, &progress,
                                          &fixture->error),
             WEIR_OK);

    check_int(progress.done, 2);
    check_int(progress.total, 2);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING), 4);
    check_int(outbox_fixture_queue_view(fixture, client, "orders").waiting, 2);
    weir_outbox_destroy(client);
}

/* To look at a letter is not to lock it. */
OUTBOX_SERVER_TEST(requeue_all, waits_for_no_letter_outside_its_scope)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 2);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;
    struct weir_dead_letter_choice choice;
    int64_t id;

    letters_make(fixture, "orders", "default", 0, 1);
    id = newest(fixture, client).id;
    choice = choose(&id, 1);
    letters_make(fixture, "orders", "default", 1, 1);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_dead_letter_discard(client, connection, &choice, NULL, &fixture->error),
             WEIR_OK);

    scope.queue = "orders";
    scope.partition = 1;
    check_db(weir_dead_letter_requeue_all(client, &scope, NULL, NULL, &progress,
                                          &fixture->error),
             WEIR_OK);

    check_int(progress.done, 1);
    weir_connection_rollback(connection);
    fixture_give(fixture, connection);
    weir_outbox_destroy(client);
}

struct watcher {
    int64_t done;
    int64_t total;
    size_t calls;
    int64_t stop_at; /* 0: never */
};

static bool watch(void *state, const struct weir_dead_letter_progress *progress)
{
    struct watcher *self = state;

    check(progress->done > self->done);
    check(progress->done - self->done <= WEIR_DEAD_LETTER_STEP);
    self->done = progress->done;
    self->total = progress->total;
    self->calls++;
    return self->stop_at == 0 || progress->done < self->stop_at;
}

OUTBOX_TEST(requeue_all, of_ten_thousand_tells_how_far_it_is)
{
    enum { COUNT = 10000, PART = 2500 };
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;
    struct watcher watcher = {0};

    for (int i = 0; i < COUNT / PART; i++)
        letters_make(fixture, "orders", "default", 0, PART);
    check_db(weir_dead_letter_requeue_all(client, &scope, watch, &watcher, &progress,
                                          &fixture->error),
             WEIR_OK);

    check_int(progress.done, COUNT);
    check_int(watcher.done, COUNT);
    check_int(watcher.total, COUNT);
    check_int(watcher.calls, COUNT / WEIR_DEAD_LETTER_STEP);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING), 0);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_RESOLVED), COUNT);
    check_int(outbox_fixture_queue_view(fixture, client, "orders").waiting, COUNT);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(requeue_all, ends_where_it_is_told_to_and_goes_on_later)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;
    struct watcher watcher = {.stop_at = 1};

    letters_make(fixture, "orders", "default", 0, MANY);
    check_db(weir_dead_letter_requeue_all(client, &scope, watch, &watcher, &progress,
                                          &fixture->error),
             WEIR_CANCELLED);
    check_int(progress.done, WEIR_DEAD_LETTER_STEP);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING),
              MANY - WEIR_DEAD_LETTER_STEP);

    check_db(requeue_all(fixture, client, &progress), WEIR_OK);
    check_int(progress.done, MANY - WEIR_DEAD_LETTER_STEP);
    check_int(outbox_fixture_queue_view(fixture, client, "orders").waiting, MANY);
    weir_outbox_destroy(client);
}

/* The message is there and its letter not resolved yet when the second step breaks. */
OUTBOX_TEST(requeue_all, that_fails_in_the_middle_of_a_step_may_be_repeated)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_progress progress;
    struct weir_fault_points points;

    letters_make(fixture, "orders", "default", 0, MANY);
    weir_fault_points_init(&points);
    weir_fault_points_arm_once(&points, "requeue.appended", 2);
    weir_outbox_set_fault_points(client, &points);

    check_db(requeue_all(fixture, client, &progress), WEIR_FAILED);
    check_int(progress.done, WEIR_DEAD_LETTER_STEP);
    check_int(outbox_fixture_queue_view(fixture, client, "orders").waiting,
              WEIR_DEAD_LETTER_STEP);
    check_int(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING),
              MANY - WEIR_DEAD_LETTER_STEP);

    check_db(requeue_all(fixture, client, &progress), WEIR_OK);
    check_int(progress.done, MANY - WEIR_DEAD_LETTER_STEP);
    check_int(outbox_fixture_queue_view(fixture, client, "orders").waiting, MANY);
    weir_outbox_destroy(client);
}

static enum weir_outcome reject_again(struct weir_context *context, void *state,
                                      const struct weir_message *message,
                                      struct weir_reason *reason)
{
    (void)context;
    (void)state;
    (void)message;
    return weir_reject(reason, "again");
}

/* What comes back while it runs is not taken twice, and so it ends. */
OUTBOX_TEST(requeue_all, ends_though_everything_is_rejected_again)
{
    struct weir_outbox *outbox = letters_client(fixture, "orders", 1);
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_dead_letter_progress progress;

    letters_make(fixture, "orders", "default", 0, MANY);
    handler.on_message = reject_again;
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    check_db(requeue_all(fixture, outbox, &progress), WEIR_OK);

    check_int(progress.done, MANY);
    wait_until(letters_count(fixture, outbox, WEIR_DEAD_LETTER_PENDING) == MANY);
    check_int(letters_count(fixture, outbox, WEIR_DEAD_LETTER_ANY), 2 * MANY);
    outbox_fixture_close(outbox);
}
