/*
 * Metrics: what a metrics endpoint of this process would print.
 */
#include <ctype.h>
#include <string.h>

#include "base/fault_point.h"
#include "kit/outbox/outbox_fixture.h"
#include "outbox/outbox.h"
#include "weir/metrics.h"

enum { NAMES_MAX = 64, MESSAGES = 6 };

/* One figure that is looked for, and what was found. */
struct wanted {
    const char *name;
    const char *label; /* the value of one of its labels; NULL: any */
    size_t found;
    double value; /* the sum */
    enum weir_metric_kind kind;
};

static bool has_label(const struct weir_metric *metric, const char *value)
{
    for (size_t i = 0; i < metric->label_count; i++) {
        if (strcmp(metric->labels[i].value, value) == 0)
            return true;
    }
    return false;
}

static void look_for(void *state, const struct weir_metric *metric)
{
    struct wanted *wanted = state;

    if (strcmp(metric->name, wanted->name) != 0 ||
        (wanted->label != NULL && !has_label(metric, wanted->label)))
        return;
    wanted->found++;
    wanted->value += metric->value;
    wanted->kind = metric->kind;
}

static struct wanted find(struct fixture *fixture, struct weir_outbox *outbox,
                          const char *name, const char *label)
{
    struct wanted wanted = {.name = name, .label = label};

    check_db(weir_outbox_read_metrics(outbox, look_for, &wanted, &fixture->error),
             WEIR_OK);
    return wanted;
}

static int64_t value_of(struct fixture *fixture, struct weir_outbox *outbox,
                        const char *name, const char *label)
{
    struct wanted wanted = find(fixture, outbox, name, label);

    check(wanted.found > 0);
    return (int64_t)wanted.value;
}

static int64_t value(struct fixture *fixture, struct weir_outbox *outbox,
                     const char *name)
{
    return value_of(fixture, outbox, name, NULL);
}

static struct weir_outbox *one_by_one(struct fixture *fixture, struct recorder *recorder)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 2);
    outbox_fixture_serve_one_by_one(fixture, outbox, "orders", recorder);
    return outbox;
}

OUTBOX_TEST(metrics, count_what_became_of_the_messages)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = one_by_one(fixture, recorder);

    recorder_answer(recorder, 2, 2, ANSWER_RETRY);
    recorder_answer(recorder, 4, ALWAYS, ANSWER_REJECT);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, MESSAGES);
    wait_until(value(fixture, outbox, "weir_outbox_acked_messages_total") == MESSAGES);

    check_int(value(fixture, outbox, "weir_outbox_calls_total"), MESSAGES + 2);
    check_int(value(fixture, outbox, "weir_outbox_delivered_messages_total"),
              MESSAGES + 2);
    check_int(value(fixture, outbox, "weir_outbox_rejected_messages_total"), 1);
    check_int(value(fixture, outbox, "weir_outbox_retries_total"), 2);
    check_int(value(fixture, outbox, "weir_outbox_refused_acks_total"), 0);
    check_int(value(fixture, outbox, "weir_outbox_lost_leases_total"), 0);
    check_int(value(fixture, outbox, "weir_outbox_taken_leases_total"), 2);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(metrics, count_what_was_enqueued_by_queue)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_draft bad = outbox_fixture_draft(5, "");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_queue(fixture, outbox, "mails", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    outbox_fixture_send(fixture, outbox, "mails", 0, 2);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    check_db(weir_enqueue(outbox, NULL, "orders", &bad, NULL, &fixture->error),
             WEIR_OUT_OF_RANGE);

    check_int(value_of(fixture, outbox, "weir_outbox_enqueued_messages_total", "orders"),
              4);
    check_int(value_of(fixture, outbox, "weir_outbox_enqueued_messages_total", "mails"),
              2);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(metrics, count_on_when_a_queue_was_removed_and_made_again)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    check_db(weir_outbox_remove_queue(outbox, "orders", true, &fixture->error), WEIR_OK);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);

    check_int(value(fixture, outbox, "weir_outbox_enqueued_messages_total"), 5);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(metrics, tell_subscriptions_apart)
{
    struct recorder *recorders[2] = {recorder_new(), recorder_new()};
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options audit = outbox_fixture_handler("orders", recorders[1]);

    audit.subscription = "audit";
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorders[0]);
    outbox_fixture_add(fixture, outbox, &audit);
    recorder_answer(recorders[1], 1, ALWAYS, ANSWER_REJECT);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 2);
    wait_until(value(fixture, outbox, "weir_outbox_acked_messages_total") == 4);

    check_int(value_of(fixture, outbox, "weir_outbox_rejected_messages_total", "default"),
              0);
    check_int(value_of(fixture, outbox, "weir_outbox_rejected_messages_total", "audit"),
              1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(metrics, go_on_over_a_stop_and_a_start)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = one_by_one(fixture, recorder);

    for (int i = 1; i <= 2; i++) {
        outbox_fixture_start(fixture, outbox);
        outbox_fixture_send(fixture, outbox, "orders", 0, 3);
        wait_until(value(fixture, outbox, "weir_outbox_acked_messages_total") == 3 * i);
        outbox_fixture_stop(outbox);
        check_int(value(fixture, outbox, "weir_outbox_acked_messages_total"), 3 * i);
    }
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(metrics, show_what_runs_and_what_is_in_memory)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = one_by_one(fixture, recorder);

    recorder_answer(recorder, 1, ALWAYS, ANSWER_BLOCK);
    check_int(value(fixture, outbox, "weir_outbox_partitions"), 0);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);

    wait_until(value(fixture, outbox, "weir_outbox_running_partitions") == 1);
    check_int(value(fixture, outbox, "weir_outbox_partitions"), 2);
    wait_until(value(fixture, outbox, "weir_outbox_memory_messages") == 3);
    check(value(fixture, outbox, "weir_outbox_memory_bytes") > 0);
    check_int(find(fixture, outbox, "weir_outbox_partitions", NULL).kind,
              WEIR_METRIC_GAUGE);

    recorder_release(recorder);
    wait_until(value(fixture, outbox, "weir_outbox_memory_messages") == 0);
    check_int(value(fixture, outbox, "weir_outbox_running_partitions"), 0);
    outbox_fixture_stop(outbox);
    check_int(value(fixture, outbox, "weir_outbox_partitions"), 0);
    weir_outbox_destroy(outbox);
}

OUTBOX_TEST(metrics, show_who_waits_for_a_retry)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct weir_handler_options handler = outbox_fixture_handler("orders", recorder);
    struct weir_tuning tuning = outbox_fixture_tuning();

    tuning.retry_base_ns = tuning.retry_max_ns = WEIR_SECONDS(600);
    handler.tuning = &tuning;
    recorder_answer(recorder, 1, 1, ANSWER_RETRY);
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);

    wait_until(value(fixture, outbox, "weir_outbox_retrying_partitions") == 1);
    check_int(value(fixture, outbox, "weir_outbox_retries_total"), 1);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(metrics, count_leases_that_were_lost)
{
    struct recorder *recorders[2] = {recorder_new(), recorder_new()};
    struct weir_outbox *outboxes[2];

    recorder_answer(recorders[0], 1, ALWAYS, ANSWER_BLOCK);
    for (int i = 0; i < 2; i++) {
        struct weir_handler_options handler =
            outbox_fixture_handler("orders", recorders[i]);

        outbox_fixture_short_lease(&handler);
        outboxes[i] = outbox_fixture_outbox(fixture, i == 0 ? "anna" : "bert");
        outbox_fixture_queue(fixture, outboxes[i], "orders", 1);
        outbox_fixture_add(fixture, outboxes[i], &handler);
    }
    outbox_fixture_start(fixture, outboxes[0]);
    outbox_fixture_send(fixture, outboxes[0], "orders", 0, 1);
    wait_until(recorder_calls(recorders[0]) == 1);
    outbox_fixture_start(fixture, outboxes[1]);
    wait_until(outbox_fixture_seq(fixture, outboxes[1], "orders", 0) == 1);
    recorder_release(recorders[0]);

    wait_until(value(fixture, outboxes[0], "weir_outbox_lost_leases_total") == 1);
    check_int(value(fixture, outboxes[0], "weir_outbox_acked_messages_total"), 0);
    check_int(value(fixture, outboxes[1], "weir_outbox_acked_messages_total"), 1);
    outbox_fixture_close(outboxes[0]);
    outbox_fixture_close(outboxes[1]);
}

/* The one process does not know that its lease has run out, and stores what it did. */
OUTBOX_TEST(metrics, count_acks_that_were_refused)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = one_by_one(fixture, recorder);

    recorder_answer(recorder, 1, 1, ANSWER_BLOCK);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 1);
    wait_until(recorder_calls(recorder) == 1);
    fixture_prepare(fixture, "UPDATE {p}_lease SET epoch = epoch + 1");
    recorder_release(recorder);

    wait_until(value(fixture, outbox, "weir_outbox_refused_acks_total") == 1);
    check_int(value(fixture, outbox, "weir_outbox_acked_messages_total"), 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(metrics, count_an_ack_whose_answer_was_lost_once)
{
    struct recorder *recorder = recorder_new();
    struct weir_outbox *outbox = one_by_one(fixture, recorder);
    struct weir_fault_points points;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "acker.unanswered", 2);
    weir_outbox_set_fault_points(outbox, &points);
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 3);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 3);

    wait_until(value(fixture, outbox, "weir_outbox_acked_messages_total") == 3);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(metrics, count_pages_rows_and_what_was_swept)
{
    struct weir_outbox *outbox;

    outbox_small_segments(fixture, 4);
    outbox = outbox_fixture_sweeping(fixture, "anna");
    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_start(fixture, outbox);
    outbox_fixture_send(fixture, outbox, "orders", 0, 200);
    wait_until(outbox_fixture_seq(fixture, outbox, "orders", 0) == 200);

    wait_until(value(fixture, outbox, "weir_outbox_read_rows_total") == 200);
    check(value_of(fixture, outbox, "weir_outbox_read_pages_total", "main") > 0);
    wait_until(value(fixture, outbox, "weir_outbox_swept_rows_total") > 0);
    outbox_fixture_close(outbox);
}

OUTBOX_TEST(metrics, have_workers_only_with_statistics)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_outbox *outbox = outbox_fixture_create(fixture, &options);

    outbox_fixture_start(fixture, outbox);
    check_int(value_of(fixture, outbox, "weir_worker_count", "lane"), 4);
    wait_until(value_of(fixture, outbox, "weir_worker_runs_total", "dispatcher") > 0);
    outbox_fixture_close(outbox);

    options.stats_interval_ns = 0;
    outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_start(fixture, outbox);
    check_int(find(fixture, outbox, "weir_worker_count", NULL).found, 0);
    outbox_fixture_close(outbox);
}

/* ---- form -------------------------------------------------------------------------- */

struct list {
    const char *names[NAMES_MAX];
    size_t count;
    size_t visits;
};

static void check_form(void *state, const struct weir_metric *metric)
{
    struct list *list = state;
    bool known = false;
    bool total = strlen(metric->name) > 6 &&
                 strcmp(metric->name + strlen(metric->name) - 6, "_total") == 0;

    for (size_t i = 0; i < list->count; i++)
        known = known || strcmp(list->names[i], metric->name) == 0;
    check(metric->begins == !known);
    if (known)
        check_str(list->names[list->count - 1], metric->name); /* side by side */
    else
        list->names[list->count++] = metric->name;
    check(list->count < NAMES_MAX);
    check(strncmp(metric->name, "weir_", 5) == 0);
    for (const char *c = metric->name; *c != '\0'; c++)
        check(islower((unsigned char)*c) || *c == '_');
    check_str(metric->help + strlen(metric->help) - 1, ".");
    check(total == (metric->kind == WEIR_METRIC_COUNTER));
    check_str(weir_metric_kind_text(metric->kind), total ? "counter" : "gauge");
    list->visits++;
}

OUTBOX_SQLITE_TEST(metrics, of_one_name_come_side_by_side)
{
    struct weir_outbox *outbox = outbox_fixture_outbox(fixture, "anna");
    struct list list = {.count = 0};

    outbox_fixture_queue(fixture, outbox, "orders", 1);
    outbox_fixture_queue(fixture, outbox, "mails", 1);
    outbox_fixture_serve(fixture, outbox, "orders", recorder_new());
    outbox_fixture_serve(fixture, outbox, "mails", recorder_new());
    outbox_fixture_start(fixture, outbox);

    check_db(weir_outbox_read_metrics(outbox, check_form, &list, &fixture->error),
             WEIR_OK);

    check(list.visits > list.count);
    outbox_fixture_close(outbox);
}

OUTBOX_SQLITE_TEST(metrics, are_none_without_memory)
{
    struct weir_outbox *outbox = one_by_one(fixture, recorder_new());
    struct list list = {.count = 0};

    weir_faulty_heap_fail_at(&fixture->heap, 1);
    check_db(weir_outbox_read_metrics(outbox, check_form, &list, &fixture->error),
             WEIR_NO_MEMORY);
    weir_faulty_heap_fail_at(&fixture->heap, 0);

    check_int(list.visits, 0);
    weir_outbox_destroy(outbox);
}
