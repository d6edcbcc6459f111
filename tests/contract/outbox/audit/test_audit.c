/*
 * Audit rows: what they say, pages, filters, export, retention, and transactions of the
 * caller's.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/count.h"
#include "base/fault_point.h"
#include "contract/outbox/audit/audit_fixture.h"
#include "db/db.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "outbox/audit/audit_retention.h"
#include "outbox/outbox.h"
#include "weir/context.h"
#include "weir/subscription.h"

static const struct weir_audit_actor SERVER = {.name = "ci",
                                               .origin = WEIR_FROM_API,
                                               .address = "10.0.0.7",
                                               .request = "req-1",
                                               .reason = "as planned"};

static void write_rows(struct fixture *fixture, const char *action, const char *target,
                       size_t count)
{
    const struct weir_audit_entry entry = {
        .action = action, .target = target, .count = 1};

    for (size_t i = 0; i < count; i++)
        check_db(weir_audit_write(fixture->db, NULL, &entry, &fixture->error), WEIR_OK);
}

OUTBOX_TEST(audit, has_everything_that_the_actor_says)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct audit_view row;

    (void)weir_audit_act_as(&SERVER);
    check_db(weir_outbox_pause_queue(client, "orders", &fixture->error), WEIR_OK);

    row = audit_last(fixture);
    check_str(row.who, "ci");
    check_int(row.origin, WEIR_FROM_API);
    check_str(row.address, "10.0.0.7");
    check_str(row.request, "req-1");
    check_str(row.reason, "as planned");
    check_str(row.before, "delivered");
    check_str(row.after, "paused");
    (void)weir_audit_act_as(NULL);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(audit, says_the_old_and_new_value_of_what_was_changed)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 4);
    struct weir_queue_options options;
    struct audit_view row;

    (void)weir_audit_act_as(&ANNA);
    weir_queue_options_init(&options);
    options.name = "orders";
    options.partitions = 0;
    options.attempts_max = 5;
    options.retain_ns = WEIR_HOURS(1);
    check_db(weir_outbox_set_queue(client, &options, NULL, &fixture->error), WEIR_OK);

    row = audit_last(fixture);
    check_str(row.before, "attempts_max 0, retain 0");
    check_str(row.after, "attempts_max 5, retain 1 h");
    check_db(weir_outbox_set_queue(client, &options, NULL, &fixture->error), WEIR_OK);
    row = audit_last(fixture);
    check_int(row.count, 0); /* nothing is another value than before */
    check_str(row.outcome, "ok");
    (void)weir_audit_act_as(NULL);
    weir_outbox_destroy(client);
}

/* Bytes that are no text, and texts without end. */
OUTBOX_TEST(audit, takes_texts_that_no_database_would)
{
    static char long_text[5000];
    struct weir_audit_actor actor = {.name = "\xff\xfe", .request = long_text};
    struct weir_audit_entry entry = {
        .action = "test.it", .target = long_text, .reason = "a\xc3"};
    struct audit_view row;

    for (size_t i = 0; i + 2 < sizeof long_text; i += 2)
        memcpy(long_text + i, "\xc3\xa4", 2);
    (void)weir_audit_act_as(&actor);
    check_db(weir_audit_write(fixture->db, NULL, &entry, &fixture->error), WEIR_OK);

    row = audit_last(fixture);
    check_str(row.who, "??");
    check_int(strlen(row.request), WEIR_AUDIT_NAME_SIZE_MAX);
    check_int(strlen(row.target), WEIR_AUDIT_TEXT_SIZE_MAX);
    check_str(row.reason, "a?");
    (void)weir_audit_act_as(NULL);
}

OUTBOX_TEST(audit, write_needs_an_actor_and_an_action)
{
    struct weir_audit_entry entry = {.action = "test.it"};

    check_db(weir_audit_write(fixture->db, NULL, &entry, &fixture->error), WEIR_INVALID);
    entry.action = "";
    (void)weir_audit_act_as(&ANNA);
    check_db(weir_audit_write(fixture->db, NULL, &entry, &fixture->error), WEIR_INVALID);
    (void)weir_audit_act_as(NULL);
    check_int(audit_count(fixture), 0);
}

WEIR_TEST(audit, act_as_returns_the_actor_before)
{
    check(weir_audit_act_as(&ANNA) == NULL);
    check(weir_audit_act_as(&SERVER) == &ANNA);
    check(weir_audit_actor() == &SERVER);
    check(weir_audit_act_as(NULL) == &SERVER);
    check(weir_audit_actor() == NULL);
}

static void *look(void *seen)
{
    *(const struct weir_audit_actor **)seen = weir_audit_actor();
    return NULL;
}

WEIR_TEST(audit, actor_is_of_the_calling_thread_alone)
{
    const struct weir_audit_actor *seen = &SERVER;
    pthread_t thread;

    (void)weir_audit_act_as(&ANNA);
    check_int(pthread_create(&thread, NULL, look, &seen), 0);
    check_int(pthread_join(thread, NULL), 0);
    check(seen == NULL);
    check(weir_audit_actor() == &ANNA);
    (void)weir_audit_act_as(NULL);
}

struct left_actors {
    _Atomic int calls;
    _Atomic int found; /* actors of an earlier call */
};

static enum weir_outcome leave_an_actor(struct weir_context *context, void *state,
                                        const struct weir_message *message,
                                        struct weir_reason *reason)
{
    struct left_actors *self = state;

    (void)message;
    (void)reason;
    if (weir_audit_act_as(&ANNA) != NULL)
        atomic_fetch_add(&self->found, 1);
    if (atomic_fetch_add(&self->calls, 1) == 0)
        weir_panic(context, "out of ink");
    return WEIR_DONE;
}

/* There are fewer threads than messages. */
OUTBOX_TEST(audit, actor_that_a_handler_leaves_ends_with_its_call)
{
    enum { MESSAGES = 200 };
    const struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_outbox *outbox = outbox_fixture_create(fixture, &options);
    struct left_actors left = {0};
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    handler.on_message = leave_an_actor;
    handler.state = &left;
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, MESSAGES);
    wait_until(atomic_load(&left.calls) > MESSAGES);

    outbox_fixture_close(outbox);
    check_int(atomic_load(&left.found), 0);
}

/* ---- pages and filters ------------------------------------------------------------- */

OUTBOX_TEST(audit_list, has_each_row_on_one_page_while_others_come)
{
    const struct weir_audit_filter filter = {.limit = 4};
    int64_t after = 0, last = INT64_MAX;
    size_t seen = 0;

    (void)weir_audit_act_as(&ANNA);
    write_rows(fixture, "test.old", "a", 10);
    do {
        struct audit_views *views = audit_page(fixture, &filter, &after);

        check(views->count > 0);
        for (size_t i = 0; i < views->count; i++) {
            check(views->rows[i].id < last);
            last = views->rows[i].id;
            check_str(views->rows[i].action, "test.old");
        }
        seen += views->count;
        write_rows(fixture, "test.new", "a", 3);
    } while (after != 0);
    check_int(seen, 10);
    (void)weir_audit_act_as(NULL);
}

OUTBOX_TEST(audit_list, filters_by_each_field)
{
    struct weir_audit_filter filter = {.limit = 50};

    (void)weir_audit_act_as(&ANNA);
    write_rows(fixture, "queue.pause", "orders", 3);
    write_rows(fixture, "queue.resume", "orders", 2);
    write_rows(fixture, "queueing.pause", "orders", 1);
    write_rows(fixture, "dead_letter.claim", "mail", 4);
    write_rows(fixture, "deadxletter.claim", "mail", 1);
    (void)weir_audit_act_as(&SERVER);
    write_rows(fixture, "queue.pause", "mail", 1);
    (void)weir_audit_act_as(NULL);

    check_int(audit_filtered(fixture, &filter)->count, 12);
    filter.action = "queue.pause";
    check_int(audit_filtered(fixture, &filter)->count, 4);
    filter.actor = "anna";
    check_int(audit_filtered(fixture, &filter)->count, 3);
    filter.actor = NULL;
    filter.action = "queue.*";
    check_int(audit_filtered(fixture, &filter)->count, 6);
    filter.action = "dead_letter.*";
    check_int(audit_filtered(fixture, &filter)->count, 4);
    filter.action = NULL;
    filter.target = "mail";
    check_int(audit_filtered(fixture, &filter)->count, 6);
    filter.target = NULL;
    filter.since_us = audit_last(fixture).at_us + 1;
    check_int(audit_filtered(fixture, &filter)->count, 0);
    filter.since_us--;
    check(audit_filtered(fixture, &filter)->count > 0);
}

OUTBOX_TEST(audit_list, refuses_a_limit_out_of_range)
{
    struct weir_audit_filter filter = {.limit = WEIR_AUDIT_LIMIT_MAX + 1};
    struct audit_views views;
    int64_t after = 0;

    check_db(weir_audit_list(fixture->db, &filter, &after, audit_keep, &views,
                             &fixture->error),
             WEIR_OUT_OF_RANGE);
    filter.limit = -1;
    check_db(weir_audit_list(fixture->db, &filter, &after, audit_keep, &views,
                             &fixture->error),
             WEIR_OUT_OF_RANGE);
}

/* ---- several transactions, and a part of them -------------------------------------- */

OUTBOX_TEST(audit_bulk, has_one_row_with_the_sum_of_its_steps)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;
    struct audit_view row;
    enum { MANY = WEIR_DEAD_LETTER_STEP + 30 };

    letters_make(fixture, "orders", "default", 0, MANY);
    (void)weir_audit_act_as(&ANNA);
    check_db(weir_dead_letter_requeue_all(client, &scope, NULL, NULL, &progress,
                                          &fixture->error),
             WEIR_OK);

    check_int(audit_count(fixture), 1);
    row = audit_last(fixture);
    check_int(row.count, MANY);
    check_str(row.outcome, "ok");
    check_db(weir_dead_letter_requeue_all(client, &scope, NULL, NULL, &progress,
                                          &fixture->error),
             WEIR_OK);
    check_int(audit_count(fixture), 2); /* of a call that had nothing to do */
    check_int(audit_last(fixture).count, 0);
    (void)weir_audit_act_as(NULL);
    weir_outbox_destroy(client);
}

static bool stop(void *state, const struct weir_dead_letter_progress *progress)
{
    (void)state;
    (void)progress;
    return false;
}

OUTBOX_TEST(audit_bulk, that_is_ended_says_how_far_it_came)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;

    letters_make(fixture, "orders", "default", 0, 3);
    (void)weir_audit_act_as(&ANNA);
    check_db(weir_dead_letter_requeue_all(client, &scope, stop, NULL, &progress,
                                          &fixture->error),
             WEIR_CANCELLED);

    check_int(audit_count(fixture), 1);
    check_int(audit_last(fixture).count, 3);
    check_str(audit_last(fixture).outcome, "cancelled");
    (void)weir_audit_act_as(NULL);
    weir_outbox_destroy(client);
}

/* ---- calls of callbacks ------------------------------------------------------------ */

static struct weir_outbox *acting;

static void pause_in(const char *queue)
{
    struct weir_error error;

    check_int(weir_outbox_pause_queue(acting, queue, &error), WEIR_OK);
}

static void pause_at_letter(void *queue, const struct weir_dead_letter *letter)
{
    (void)letter;
    pause_in(queue);
}

static bool pause_at_progress(void *queue, const struct weir_dead_letter_progress *far)
{
    (void)far;
    pause_in(queue);
    return true;
}

static void pause_at_seek(void *queue, const struct weir_seek_info *info)
{
    (void)info;
    pause_in(queue);
}

static int64_t rows_of(struct fixture *fixture, const char *action)
{
    const struct weir_audit_filter filter = {.action = action};

    return (int64_t)audit_filtered(fixture, &filter)->count;
}

OUTBOX_TEST(audit_callback, that_acts_has_a_row_of_its_own)
{
    static char queue[] = "orders";
    const struct weir_seek seek = {.to = WEIR_SEEK_BEGINNING};
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;
    struct weir_dead_letter_claim claim;

    acting = letters_client(fixture, queue, 1);
    letters_make(fixture, queue, "default", 0, 2);
    (void)weir_audit_act_as(&ANNA);
    scope.limit = 1;
    check_db(weir_dead_letter_claim(acting, NULL, &scope, WEIR_MINUTES(1),
                                    pause_at_letter, queue, &claim, &fixture->error),
             WEIR_OK);
    check_int(rows_of(fixture, "dead_letter.claim"), 1);
    check_int(rows_of(fixture, "queue.pause"), 1);

    check_db(weir_dead_letter_requeue_all(acting, &scope, pause_at_progress, queue,
                                          &progress, &fixture->error),
             WEIR_OK);
    check_int(rows_of(fixture, "dead_letter.requeue"), 1);
    check_int(rows_of(fixture, "queue.pause"), 2);

    check_db(weir_outbox_seek_subscription(acting, queue, "default", &seek, pause_at_seek,
                                           queue, &fixture->error),
             WEIR_OK);
    check_int(rows_of(fixture, "subscription.seek"), 1);
    check_int(rows_of(fixture, "queue.pause"), 3);
    (void)weir_audit_act_as(NULL);
    weir_outbox_destroy(acting);
}

OUTBOX_TEST(audit_choice, that_is_refused_in_part_has_one_row_with_both)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_choice choice;
    struct letter_views *views;
    struct audit_view row;
    int64_t ids[3] = {0, 999999, 0};

    letters_make(fixture, "orders", "default", 0, 2);
    views = letters_list(fixture, client, &scope, WEIR_DEAD_LETTER_PENDING);
    ids[0] = views->items[0].id;
    ids[2] = views->items[1].id;
    choice = (struct weir_dead_letter_choice){.ids = ids, .count = 3};
    (void)weir_audit_act_as(&ANNA);
    check_db(weir_dead_letter_discard(client, NULL, &choice, NULL, &fixture->error),
             WEIR_NOT_FOUND);

    check_int(audit_count(fixture), 1);
    row = audit_last(fixture);
    check_int(row.count, 2);
    check_str(row.outcome, "not_found");
    check(strstr(row.target, ",999999,") != NULL);
    (void)weir_audit_act_as(NULL);
    weir_outbox_destroy(client);
}

/* ---- the caller's transaction ------------------------------------------------------ */

OUTBOX_TEST(audit_caller, row_is_a_part_of_the_callers_transaction)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_connection *connection = fixture_take(fixture);
    int64_t count = 0;

    letters_make(fixture, "orders", "default", 0, 2);
    (void)weir_audit_act_as(&ANNA);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(
        weir_dead_letter_discard_all(client, connection, &scope, &count, &fixture->error),
        WEIR_OK);
    weir_connection_rollback(connection);
    check_int(audit_count(fixture), 0);

    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(
        weir_dead_letter_discard_all(client, connection, &scope, &count, &fixture->error),
        WEIR_OK);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    check_int(audit_count(fixture), 1);
    check_int(audit_last(fixture).count, 2);
    (void)weir_audit_act_as(NULL);
    fixture_give(fixture, connection);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(audit_caller, refusal_leaves_no_row_and_a_usable_transaction)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_dead_letter_scope scope = {.queue = "none", .partition = -1};
    const struct weir_audit_entry entry = {.action = "test.refused",
                                           .outcome = WEIR_NOT_FOUND};
    struct weir_connection *connection = fixture_take(fixture);
    int64_t count = 0;

    (void)weir_audit_act_as(&ANNA);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(
        weir_dead_letter_discard_all(client, connection, &scope, &count, &fixture->error),
        WEIR_NOT_FOUND);
    check_db(weir_audit_write(fixture->db, connection, &entry, &fixture->error), WEIR_OK);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    check_int(audit_count(fixture), 1);
    check_str(audit_last(fixture).action, "test.refused");
    check_str(audit_last(fixture).outcome, "not_found");
    (void)weir_audit_act_as(NULL);
    fixture_give(fixture, connection);
    weir_outbox_destroy(client);
}

/* ---- failures ---------------------------------------------------------------------- */

/* Another transaction was in the way, and the body ran again. */
OUTBOX_TEST(audit_retry, leaves_one_row_when_the_transaction_was_repeated)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_fault_points points;

    for (uint64_t at = 1; at < 10; at++) {
        int64_t rows = audit_count(fixture);
        enum weir_status status;

        weir_fault_points_init(&points);
        weir_fault_points_arm(&points, "db.lose", at);
        points.armed[0].once = true;
        weir_db_set_fault_points(fixture->db, &points);
        (void)weir_audit_act_as(&ANNA);
        status = weir_outbox_pause_queue(client, "orders", &fixture->error);
        (void)weir_audit_act_as(NULL);
        weir_db_set_fault_points(fixture->db, NULL);
        if (status == WEIR_OK)
            check_int(audit_count(fixture), rows + 1);
        else if (status != WEIR_IN_DOUBT)
            check_int(audit_count(fixture), rows);
    }
    weir_outbox_destroy(client);
}

OUTBOX_TEST(audit_failure, that_decides_nothing_has_no_row)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "db.lose", 1);
    weir_db_set_fault_points(fixture->db, &points);
    (void)weir_audit_act_as(&ANNA);
    check(weir_outbox_pause_queue(client, "orders", &fixture->error) != WEIR_OK);
    (void)weir_audit_act_as(NULL);
    weir_db_set_fault_points(fixture->db, NULL);
    check_int(audit_count(fixture), 0);
    weir_outbox_destroy(client);
}

/* ---- export ------------------------------------------------------------------------ */

static char exported[4][1024];
static size_t exported_count;

static enum weir_outcome keep_export(struct weir_context *context, void *state,
                                     const struct weir_message *message,
                                     struct weir_reason *reason)
{
    (void)context;
    (void)state;
    (void)reason;
    if (exported_count < 4 && strcmp(message->type, "weir.audit") == 0)
        (void)snprintf(exported[exported_count], sizeof exported[0], "%s",
                       (const char *)message->payload);
    exported_count++;
    return WEIR_DONE;
}

OUTBOX_TEST(audit_export, is_a_message_for_each_row_and_for_no_other)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_audit_actor actor = ANNA;
    struct weir_handler_options handler;

    exported_count = 0;
    outbox_fixture_queue(fixture, client, WEIR_AUDIT_QUEUE, 1);
    weir_handler_options_init(&handler);
    handler.queue = WEIR_AUDIT_QUEUE;
    handler.on_message = keep_export;
    check_db(weir_outbox_add_handler(client, &handler, &fixture->error), WEIR_OK);
    actor.export_to = client;
    (void)weir_audit_act_as(&actor);
    check_db(weir_outbox_pause_queue(client, "orders", &fixture->error), WEIR_OK);
    check_db(weir_outbox_pause_queue(client, "none", &fixture->error), WEIR_NOT_FOUND);
    (void)weir_audit_act_as(NULL);
    check_db(weir_outbox_resume_queue(client, "orders", &fixture->error), WEIR_OK);

    outbox_fixture_start(fixture, client);
    wait_until(outbox_fixture_queue_view(fixture, client, WEIR_AUDIT_QUEUE).waiting == 0);
    outbox_fixture_close(client);
    check_int(audit_count(fixture), 2);
    check_int(exported_count, 2);
    for (size_t i = 0; i < 2; i++)
        check(strstr(exported[i], "\"who\":\"anna\",\"from\":\"cli\"") != NULL);
    check(strstr(exported[0], "\"outcome\":\"ok\"") != NULL ||
          strstr(exported[1], "\"outcome\":\"ok\"") != NULL);
}

OUTBOX_TEST(audit_export, fails_the_action_where_the_queue_is_missing)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct weir_audit_actor actor = ANNA;

    actor.export_to = client;
    (void)weir_audit_act_as(&actor);
    check_db(weir_outbox_pause_queue(client, "orders", &fixture->error), WEIR_NOT_FOUND);
    (void)weir_audit_act_as(NULL);
    check_int(audit_count(fixture), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_queue WHERE paused"), 0);
    weir_outbox_destroy(client);
}

/* ---- retention --------------------------------------------------------------------- */

#define MAKE_OLD "UPDATE {p}_audit SET at_us = 1000000 + id WHERE action = 'test.old'"

OUTBOX_TEST(audit_retention, removes_old_rows_in_steps_and_no_others)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t removed = 0, sum = 0;
    size_t steps = 0;

    (void)weir_audit_act_as(&ANNA);
    write_rows(fixture, "test.old", "a", 1);
    write_rows(fixture, "test.new", "a", 2);
    (void)weir_audit_act_as(NULL);
    fixture_prepare(fixture, MAKE_OLD);
    for (int i = 0; i < 10; i++) /* 1 becomes 1024 */
        fixture_prepare(
            fixture, "INSERT INTO {p}_audit (at_us, nonce, actor, origin, action, "
                     "changed, outcome)"
                     " SELECT at_us + 1, nonce, actor, origin, action, changed, outcome"
                     " FROM {p}_audit WHERE action = 'test.old'");
    do {
        check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
        check_db(weir_audit_expire(connection, &removed, &fixture->error), WEIR_OK);
        check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
        sum += removed;
        steps++;
    } while (removed >= WEIR_AUDIT_EXPIRE_STEP);
    check_int(sum, 1024);
    check(steps > 1);
    check_int(audit_count(fixture), 2);
    fixture_give(fixture, connection);
}

OUTBOX_TEST(audit_retention, is_kept_by_a_process_that_delivers)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox;

    (void)weir_audit_act_as(&ANNA);
    write_rows(fixture, "test.old", "a", 3);
    write_rows(fixture, "test.new", "a", 1);
    (void)weir_audit_act_as(NULL);
    fixture_prepare(fixture, MAKE_OLD);
    outbox = outbox_fixture_open(fixture, "anna", "orders", 1, recorder);
    wait_until(audit_count(fixture) == 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(audit_retention, is_one_number_for_all_processes)
{
    int64_t retention_ns = 0;

    check_db(weir_audit_get_retention(fixture->db, &retention_ns, &fixture->error),
             WEIR_OK);
    check(retention_ns == WEIR_AUDIT_RETENTION_DEFAULT);
    check_db(weir_audit_set_retention(fixture->db, WEIR_HOURS(48), &fixture->error),
             WEIR_OK);
    check_db(weir_audit_get_retention(fixture->db, &retention_ns, &fixture->error),
             WEIR_OK);
    check(retention_ns == WEIR_HOURS(48));
    check_db(weir_audit_set_retention(fixture->db, WEIR_AUDIT_RETENTION_MIN - 1,
                                      &fixture->error),
             WEIR_OUT_OF_RANGE);
}

OUTBOX_TEST(audit_retention, of_zero_keeps_rows_for_ever)
{
    struct weir_connection *connection = fixture_take(fixture);
    int64_t removed = 1;

    (void)weir_audit_act_as(&ANNA);
    write_rows(fixture, "test.old", "a", 1);
    (void)weir_audit_act_as(NULL);
    fixture_prepare(fixture, MAKE_OLD);
    check_db(weir_audit_set_retention(fixture->db, 0, &fixture->error), WEIR_OK);
    check_db(weir_audit_expire(connection, &removed, &fixture->error), WEIR_OK);
    check_int(removed, 0);
    check_int(audit_count(fixture), 1);
    fixture_give(fixture, connection);
}
