/*
 * What an outbox logs of its handlers: panics, retries and rejections.
 */
#include "kit/log_capture.h"
#include "kit/outbox/outbox_fixture.h"
#include "weir/context.h"

static struct log_capture log_capture;

struct setup_of_one {
    struct weir_db *db;
    struct weir_outbox *outbox;
};

static enum weir_outcome answer(struct weir_context *context, void *state,
                                const struct weir_message *message,
                                struct weir_reason *reason)
{
    const char *how = state;

    if (message->attempts > 0)
        return WEIR_DONE;
    if (strcmp(how, "panic") == 0)
        weir_panic(context, "out of %s", "ink");
    return strcmp(how, "retry") == 0 ? weir_retry(reason, "the printer is away")
                                     : weir_reject(reason, "no such page");
}

static void open_loud(struct fixture *fixture, struct setup_of_one *self, const char *how)
{
    struct weir_db_options database = fixture_options(fixture);
    struct weir_outbox_options options = outbox_fixture_options(fixture, "anna");
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);

    database.log = log_capture_log(&log_capture, WEIR_LOG_WARNING);
    self->db = fixture_open(fixture, &database);
    options.db = self->db;
    self->outbox = outbox_fixture_create(fixture, &options);
    outbox_fixture_queue(fixture, self->outbox, "orders", 1);
    handler.on_message = answer;
    handler.state = (void *)(uintptr_t)how;
    outbox_fixture_add(fixture, self->outbox, &handler);
    outbox_fixture_start(fixture, self->outbox);
    outbox_fixture_send(fixture, self->outbox, "orders", 0, 1);
    wait_until(
        outbox_fixture_partition(fixture, self->outbox, "orders", "default", 0).seq == 1);
}

static void close_loud(struct setup_of_one *self)
{
    outbox_fixture_close(self->outbox);
    weir_db_destroy(self->db);
}

OUTBOX_TEST(handler, that_panics_is_logged)
{
    struct setup_of_one setup;

    open_loud(fixture, &setup, "panic");
    check_int(log_capture_heard(&log_capture, "outbox.handler_panicked", "out of ink"),
              1);
    check_int(log_capture_heard(&log_capture,
                                "queue=orders subscription=default partition=0 seq=1",
                                ""),
              1);
    close_loud(&setup);
}

OUTBOX_TEST(handler, that_retries_is_logged)
{
    struct setup_of_one setup;

    open_loud(fixture, &setup, "retry");
    check_int(log_capture_heard(&log_capture, "outbox.retried",
                                "reason=\"the printer is away\""),
              1);
    close_loud(&setup);
}

OUTBOX_TEST(handler, that_rejects_is_logged)
{
    struct setup_of_one setup;

    open_loud(fixture, &setup, "reject");
    check_int(
        log_capture_heard(&log_capture, "outbox.rejected", "reason=\"no such page\""), 1);
    check_int(log_capture_heard(&log_capture, "outbox.retried", ""), 0);
    close_loud(&setup);
}
