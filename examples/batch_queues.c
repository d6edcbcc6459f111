/*
 * batch_queues.c - two queues in one outbox: orders by the batch, notifications singly.
 */
#include <semaphore.h>
#include <stdio.h>

#include <weir/weir.h>

enum { ORDERS = 8, NOTIFICATIONS = 3, CHUNK = 3 };

struct counter {
    _Atomic int count; /* partitions are served side by side, from several threads */
    sem_t *arrived;
};

static void count_up(struct counter *counter)
{
    counter->count++;
    sem_post(counter->arrived);
}

/* The messages of a call are of one partition, in order. What was acked stays done. */
static enum weir_outcome store_orders(struct weir_context *context, void *counter,
                                      struct weir_batch *batch,
                                      struct weir_reason *reason)
{
    const struct weir_message *orders;
    struct weir_error error;
    size_t count;

    (void)context;
    while ((count = weir_batch_next_chunk(batch, CHUNK, &orders)) > 0) {
        /* store them here, in one statement; if that fails: weir_retry() */
        if (weir_batch_ack_chunk(batch, count, &error) != WEIR_OK)
            return weir_retry(reason, "%s", error.text);
        for (size_t i = 0; i < count; i++)
            count_up(counter);
    }
    return WEIR_DONE;
}

static enum weir_outcome notify(struct weir_context *context, void *counter,
                                const struct weir_message *message,
                                struct weir_reason *reason)
{
    (void)context;
    (void)message;
    (void)reason;
    count_up(counter);
    return WEIR_DONE;
}

/* A queue, and who serves it. */
static enum weir_status add(struct weir_outbox *outbox, const char *name,
                            int32_t partitions, struct weir_handler_options *handler,
                            struct weir_error *error)
{
    struct weir_queue_options queue;

    weir_queue_options_init(&queue);
    queue.name = name;
    queue.partitions = partitions;
    handler->queue = name;
    if (weir_outbox_add_queue(outbox, &queue, error) != WEIR_OK)
        return error->status;
    return weir_outbox_add_handler(outbox, handler, error);
}

int main(int argc, char **argv)
{
    struct weir_draft orders[ORDERS], notifications[NOTIFICATIONS];
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_handler_options storing, notifying;
    struct weir_db *db = NULL;
    struct weir_outbox *outbox = NULL;
    struct weir_error error = {0};
    size_t unfinished = 1;
    sem_t arrived;
    struct counter stored = {0, &arrived}, notified = {0, &arrived};

    sem_init(&arrived, 0, 0);
    for (int i = 0; i < ORDERS; i++)
        orders[i] = (struct weir_draft){.key = i % 2 ? "Ann" : "Bob", .type = "order"};
    for (int i = 0; i < NOTIFICATIONS; i++)
        notifications[i] = (struct weir_draft){.type = "notification"};
    weir_db_options_init(&where);
    where.url = argc > 1 ? argv[1] : "sqlite::memory:";
    weir_outbox_options_init(&options);
    weir_handler_options_init(&storing);
    storing.on_batch = store_orders;
    storing.state = &stored;
    weir_handler_options_init(&notifying);
    notifying.on_message = notify;
    notifying.state = &notified;
    if (weir_db_create(&where, &db, &error) != WEIR_OK ||
        weir_outbox_migrate(db, &error) != WEIR_OK)
        goto out;
    options.db = db;
    if (weir_outbox_create(&options, &outbox, &error) != WEIR_OK ||
        add(outbox, "orders", 2, &storing, &error) != WEIR_OK ||
        add(outbox, "notifications", 1, &notifying, &error) != WEIR_OK ||
        weir_outbox_start(outbox, &error) != WEIR_OK ||
        weir_enqueue_batch(outbox, NULL, "orders", orders, ORDERS, NULL, &error) !=
            WEIR_OK ||
        weir_enqueue_batch(outbox, NULL, "notifications", notifications, NOTIFICATIONS,
                           NULL, &error) != WEIR_OK)
        goto out;
    for (int i = 0; i < ORDERS + NOTIFICATIONS; i++)
        sem_wait(&arrived);
    unfinished = weir_outbox_stop(outbox, WEIR_SECONDS(5));
    printf("%d orders, %d notifications\n", stored.count, notified.count);
out:
    if (unfinished != 0)
        fprintf(stderr, "%s\n", error.text);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    return unfinished == 0 ? 0 : 1;
}
