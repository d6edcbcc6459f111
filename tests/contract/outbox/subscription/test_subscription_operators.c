/*
 * Operators and subscriptions: list, pause, resume, remove.
 */
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/outbox.h"
#include "weir/subscription.h"

/* Looks for its share whenever it is woken, and not every few seconds. */
static struct weir_fault_points eager = {
    .armed = {{.name = "lease_keeper.eager", .every = 1}},
    .armed_count = 1};

static struct weir_handler_options subscriber(const char *name, struct recorder *recorder)
{
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);

    handler.subscription = name;
    return handler;
}

/* An outbox that serves two subscriptions of "orders", not started. */
static struct weir_outbox *two_readers(struct fixture *fixture, struct recorder *mail,
                                       struct recorder *audit)
{
    struct weir_handler_options handlers[2] = {subscriber("mail", mail),
                                               subscriber("audit", audit)};
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    weir_outbox_set_fault_points(outbox, &eager);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handlers[0]);
    outbox_fixture_add(fixture, outbox, &handlers[1]);
    return outbox;
}

static struct partition_view look(struct fixture *fixture, struct weir_outbox *outbox,
                                  const char *subscription)
{
    return outbox_fixture_partition(fixture, outbox, "orders", subscription, 0);
}

static void pause_mail(struct fixture *fixture, struct weir_outbox *outbox)
{
    check_db(weir_outbox_pause_subscription(outbox, "orders", "mail", &fixture->error),
             WEIR_OK);
}

static void resume_mail(struct fixture *fixture, struct weir_outbox *outbox)
{
    check_db(weir_outbox_resume_subscription(outbox, "orders", "mail", &fixture->error),
             WEIR_OK);
}

static enum weir_status remove_mail(struct fixture *fixture, struct weir_outbox *outbox,
                                    bool force)
{
    return weir_outbox_remove_subscription(outbox, "orders", "mail", force,
                                           &fixture->error);
}

/* ---- listing ----------------------------------------------------------------------- */

struct listed {
    size_t count;
    struct weir_subscription_info infos[4];
    char names[4][2][16];
};

static void keep(void *state, const struct weir_subscription_info *info)
{
    struct listed *self = state;

    check(self->count < 4);
    self->infos[self->count] = *info;
    (void)snprintf(self->names[self->count][0], 16, "%s", info->queue);
    (void)snprintf(self->names[self->count][1], 16, "%s", info->name);
    self->count++;
}

static struct listed list(struct fixture *fixture, struct weir_outbox *outbox,
                          const char *queue)
{
    struct listed listed = {.count = 0};

    check_db(
        weir_outbox_read_subscriptions(outbox, queue, keep, &listed, &fixture->error),
        WEIR_OK);
    return listed;
}

OUTBOX_TEST(subscription_list, tells_what_waits_and_who_serves)
{
    struct recorder *mail = recorder_new();
    struct recorder *audit = recorder_new();
    struct weir_outbox *outbox = two_readers(fixture, mail, audit);
    struct listed listed;

    recorder_answer(mail, 2, 1, ANSWER_REJECT);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(look(fixture, outbox, "mail").seq == 3 &&
               look(fixture, outbox, "audit").seq == 3);
    pause_mail(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 5);
    wait_until(look(fixture, outbox, "audit").seq == 8);

    listed = list(fixture, outbox, NULL);

    check_int(listed.count, 2);
    check_str(listed.names[0][0], "orders");
    check_str(listed.names[0][1], "audit");
    check_str(listed.names[1][1], "mail");
    check(listed.infos[0].serving == WEIR_SERVED_BY_HANDLER);
    check_int(listed.infos[0].processes, 1);
    check_int(listed.infos[0].waiting, 0);
    check(!listed.infos[0].paused);
    check_int(listed.infos[0].dead_letters, 0);
    check_int(listed.infos[1].waiting, 5);
    check(listed.infos[1].oldest_age_us > 0);
    check(listed.infos[1].paused && !listed.infos[1].queue_paused);
    check_int(listed.infos[1].dead_letters, 1);
    check(listed.infos[1].created_us > INT64_C(1000000000000000));
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(subscription_list, is_of_one_queue_or_of_all)
{
    struct weir_outbox *outbox = two_readers(fixture, recorder_new(), recorder_new());
    struct listed listed = {.count = 0};

    outbox_fixture_queue(fixture, outbox, "other", 2);
    outbox_fixture_serve(fixture, outbox, "other", recorder_new());

    check_int(list(fixture, outbox, NULL).count, 3);
    check_int(list(fixture, outbox, "orders").count, 2);
    check_int(list(fixture, outbox, "other").count, 1);
    check_db(
        weir_outbox_read_subscriptions(outbox, "nobody", keep, &listed, &fixture->error),
        WEIR_NOT_FOUND);
    outbox_fixture_close(outbox);
}

/* ---- pausing ----------------------------------------------------------------------- */

OUTBOX_TEST(subscription_pause, holds_one_and_not_the_others)
{
    struct recorder *mail = recorder_new();
    struct recorder *audit = recorder_new();
    struct weir_outbox *outbox = two_readers(fixture, mail, audit);

    outbox_fixture_start(fixture, outbox);
    pause_mail(fixture, outbox);

    outbox_fixture_send(fixture, outbox, "orders", 0, 50);
    wait_until(look(fixture, outbox, "audit").seq == 50);

    check_int(recorder_count(mail), 0);
    check_int(look(fixture, outbox, "mail").waiting, 50);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(subscription_pause, ends_when_it_is_resumed)
{
    struct recorder *mail = recorder_new();
    struct weir_outbox *outbox = two_readers(fixture, mail, recorder_new());

    outbox_fixture_start(fixture, outbox);
    pause_mail(fixture, outbox);
    pause_mail(fixture, outbox); /* twice is as once */
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);

    resume_mail(fixture, outbox);

    wait_until(look(fixture, outbox, "mail").seq == 10);
    check(recorder_in_order(mail, 0, 10));
    outbox_fixture_close(outbox);
}

/* Two switches: delivered is when neither is off. */
OUTBOX_TEST(subscription_pause, is_not_ended_by_resuming_the_queue)
{
    struct recorder *mail = recorder_new();
    struct weir_outbox *outbox = two_readers(fixture, mail, recorder_new());

    weir_outbox_set_fault_points(outbox, NULL); /* or it would look at once */
    outbox_fixture_start(fixture, outbox);
    pause_mail(fixture, outbox);
    check_db(weir_outbox_pause_queue(outbox, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_send(fixture, outbox, "orders", 0, 10);
    check_db(weir_outbox_resume_queue(outbox, "orders", &fixture->error), WEIR_OK);

    wait_until(look(fixture, outbox, "audit").seq == 10);
    check_int(recorder_count(mail), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(subscription_pause, reaches_other_processes_and_is_kept_over_a_restart)
{
    struct recorder *mail = recorder_new();
    struct recorder *audit = recorder_new();
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");
    struct weir_outbox *outbox = two_readers(fixture, mail, audit);

    pause_mail(fixture, client);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, client, "orders", 0, 20);
    wait_until(look(fixture, client, "audit").seq == 20);
    check_int(recorder_count(mail), 0);

    resume_mail(fixture, client);
    wait_until(
        (weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER), /* which looks now */
         look(fixture, client, "mail").seq == 20));
    weir_outbox_destroy(client);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(subscription_pause, of_what_is_not_there_is_refused)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);

    check_db(weir_outbox_pause_subscription(outbox, "nobody", "mail", &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_outbox_pause_subscription(outbox, "orders", "mail", &fixture->error),
             WEIR_NOT_FOUND);
    check(strstr(fixture->error.text, "no subscription \"mail\"") != NULL);
    check_db(
        weir_outbox_pause_subscription(outbox, "orders", "bad name", &fixture->error),
        WEIR_INVALID);
    weir_outbox_destroy(outbox);
}

/* ---- removing ---------------------------------------------------------------------- */

OUTBOX_TEST(subscription_remove, is_refused_while_a_live_process_serves_it)
{
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");
    struct weir_outbox *outbox = two_readers(fixture, recorder_new(), recorder_new());

    outbox_fixture_start(fixture, outbox);

    check_db(remove_mail(fixture, client, false), WEIR_BUSY);
    check(strstr(fixture->error.text, "served by anna") != NULL);
    check_int(list(fixture, client, "orders").count, 2);

    outbox_fixture_close(outbox);
    check_db(remove_mail(fixture, client, false), WEIR_OK);
    check_int(list(fixture, client, "orders").count, 1);
    check_db(remove_mail(fixture, client, false), WEIR_NOT_FOUND);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(subscription_remove, is_refused_while_dead_letters_wait)
{
    struct recorder *mail = recorder_new();
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");
    struct weir_outbox *outbox = two_readers(fixture, mail, recorder_new());

    recorder_answer(mail, 1, 1, ANSWER_REJECT);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    wait_until(look(fixture, outbox, "mail").seq == 2);
    outbox_fixture_close(outbox);

    check_db(remove_mail(fixture, client, false), WEIR_BUSY);
    check(strstr(fixture->error.text, "has 1 dead letter to decide on") != NULL);

    check_db(remove_mail(fixture, client, true), WEIR_OK);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease"), 1);
    weir_outbox_destroy(client);
}

/* Also when it looks again and again. */
OUTBOX_TEST(subscription_remove, stops_who_serves_it_and_is_not_made_again)
{
    struct recorder *mail = recorder_new();
    struct recorder *audit = recorder_new();
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");
    struct weir_outbox *outbox = two_readers(fixture, mail, audit);

    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, client, "orders", 0, 3);
    wait_until(look(fixture, outbox, "mail").seq == 3 &&
               look(fixture, outbox, "audit").seq == 3);
    check_db(weir_outbox_check_subscriptions(outbox, &fixture->error), WEIR_OK);

    check_db(remove_mail(fixture, client, true), WEIR_OK);
    wait_until((weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER),
                weir_outbox_find_subscriber(outbox, "orders", "mail")->decided.removed));
    outbox_fixture_send(fixture, client, "orders", 0, 20);
    wait_until(look(fixture, outbox, "audit").seq == 23);

    check_int(recorder_count(mail), 3);
    check_int(list(fixture, client, "orders").count, 1);
    check_db(weir_outbox_check_subscriptions(outbox, &fixture->error), WEIR_NOT_FOUND);
    check(strstr(fixture->error.text,
                 "subscription \"mail\" of queue \"orders\" was removed") != NULL);
    outbox_fixture_close(outbox);
    weir_outbox_destroy(client);
}

/* One of the same name that was made since then is another one. */
OUTBOX_TEST(subscription_remove, refuses_the_ack_of_who_served_it)
{
    struct recorder *old = recorder_new();
    struct recorder *new = recorder_new();
    struct weir_handler_options handler = subscriber("mail", old);
    struct weir_tuning one_by_one = outbox_fixture_tuning();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *other = outbox_fixture_outbox(fixture, "bert");

    one_by_one.batch = 1;
    handler.tuning = &one_by_one;
    recorder_answer(old, 1, 1, ANSWER_BLOCK);
    weir_outbox_set_fault_points(outbox, &eager);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(old) == 1);
    check_db(remove_mail(fixture, other, true), WEIR_OK);
    check_db(weir_outbox_pause_queue(other, "orders", &fixture->error), WEIR_OK);
    handler.state = new;
    outbox_fixture_add(fixture, other, &handler);

    recorder_release(old);
    wait_until(recorder_ended(old) == 1);
    wait_until((weir_outbox_notify(outbox, WEIR_NOTIFY_LEASE_KEEPER),
                weir_outbox_find_subscriber(outbox, "orders", "mail")->decided.removed));

    check_int(look(fixture, other, "mail").seq, 0);
    check_db(weir_outbox_resume_queue(other, "orders", &fixture->error), WEIR_OK);
    outbox_fixture_start(fixture, other);
    wait_until(look(fixture, other, "mail").seq == 2);
    check(recorder_in_order(new, 0, 2));
    check_int(recorder_count(old), 1);
    outbox_fixture_close(outbox);
    outbox_fixture_close(other);
}

static enum weir_outcome write_and_wait(struct weir_context *context, void *state,
                                        struct weir_connection *connection,
                                        const struct weir_message *message,
                                        struct weir_reason *reason)
{
    (void)effects_write(connection, message);
    return recorder_on_message(context, state, message, reason);
}

/* On SQLite nobody could remove it meanwhile: the transaction is the lock. */
OUTBOX_SERVER_TEST(subscription_remove, undoes_a_transactional_call)
{
    struct recorder *recorder = recorder_new();
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_outbox *client = outbox_fixture_outbox(fixture, "clerk");

    effects_prepare(fixture);
    handler.on_message = NULL;
    handler.on_message_tx = write_and_wait;
    handler.state = recorder;
    handler.subscription = "mail";
    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    weir_outbox_set_fault_points(outbox, &eager);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    outbox_fixture_start(fixture, outbox);
    wait_until(recorder_count(recorder) == 1);

    check_db(remove_mail(fixture, client, true), WEIR_OK);
    recorder_release(recorder);
    wait_until(recorder_ended(recorder) == 1);
    outbox_fixture_close(outbox);

    check_int(effects_count(fixture), 0);
    weir_outbox_destroy(client);
}

OUTBOX_TEST(subscription_remove, before_the_start_is_told_by_it)
{
    struct weir_outbox *outbox = two_readers(fixture, recorder_new(), recorder_new());

    check_db(remove_mail(fixture, outbox, false), WEIR_OK);

    check_db(weir_outbox_start(outbox, &fixture->error), WEIR_NOT_FOUND);
    check(strstr(fixture->error.text, "\"mail\" of queue \"orders\" was removed") !=
          NULL);
    check_int(list(fixture, outbox, "orders").count, 1);
    weir_outbox_destroy(outbox);
}

static int64_t kept(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_log") +
           fixture_ask(fixture, "SELECT count(*) FROM weir_aside");
}

/* Nobody serves it: until then every message stays. */
OUTBOX_TEST(subscription_remove, lets_the_sweep_go_on)
{
    struct recorder *audit = recorder_new();
    struct weir_handler_options handlers[2] = {subscriber("mail", recorder_new()),
                                               subscriber("audit", audit)};
    struct weir_outbox *idle = outbox_fixture_outbox(fixture, "idle");
    struct weir_outbox *outbox;

    outbox_small_segments(fixture, 5);
    weir_outbox_destroy(idle);
    idle = outbox_fixture_outbox(fixture, "idle");
    outbox_fixture_queue(fixture, idle, "orders", 1);
    outbox_fixture_add(fixture, idle, &handlers[0]);
    outbox = outbox_fixture_sweeping(fixture, "anna");
    outbox_fixture_add(fixture, outbox, &handlers[1]);
    for (int i = 0; i < 20; i++)
        outbox_fixture_send(fixture, outbox, "orders", 0, 10);
    outbox_fixture_start(fixture, outbox);
    wait_until(look(fixture, outbox, "audit").seq == 200);
    check(kept(fixture) >= 200);

    check_db(remove_mail(fixture, outbox, false), WEIR_OK);

    wait_until(kept(fixture) <= 32);
    outbox_fixture_close(outbox);
    weir_outbox_destroy(idle);
}

OUTBOX_TEST(subscription_remove, by_two_operators_is_done_by_one)
{
    struct weir_outbox *anna = two_readers(fixture, recorder_new(), recorder_new());
    struct weir_outbox *bert = outbox_fixture_outbox(fixture, "bert");

    check_db(remove_mail(fixture, anna, false), WEIR_OK);
    check_db(remove_mail(fixture, bert, false), WEIR_NOT_FOUND);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_subscription"), 1);
    weir_outbox_destroy(anna);
    weir_outbox_destroy(bert);
}
