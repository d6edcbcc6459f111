/*
 * rejecter.c - rejects what waits for a subscription, and ends: for tests of `weir dlq`.
 *
 *   rejecter URL QUEUE SUBSCRIPTION COUNT
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

static enum weir_outcome reject(struct weir_context *context, void *done,
                                const struct weir_message *message,
                                struct weir_reason *reason)
{
    (void)context;
    sem_post(done);
    return weir_reject(reason, "no good: %s", (const char *)message->payload);
}

int main(int argc, char **argv)
{
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_handler_options handler;
    struct weir_outbox *outbox = NULL;
    struct weir_error error = {0};
    sem_t done;

    if (argc != 5)
        return EXIT_FAILURE;
    sem_init(&done, 0, 0);
    weir_db_options_init(&where);
    where.url = argv[1];
    weir_outbox_options_init(&options);
    weir_handler_options_init(&handler);
    handler.queue = argv[2];
    handler.subscription = argv[3];
    handler.on_message = reject;
    handler.state = &done;
    if (weir_db_create(&where, &options.db, &error) != WEIR_OK ||
        weir_outbox_create(&options, &outbox, &error) != WEIR_OK ||
        weir_outbox_add_handler(outbox, &handler, &error) != WEIR_OK ||
        weir_outbox_start(outbox, &error) != WEIR_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    for (int i = atoi(argv[4]); i > 0; i--)
        sem_wait(&done);
    if (weir_outbox_stop(outbox, WEIR_SECONDS(30)) != 0) /* stores what was answered */
        return EXIT_FAILURE;
    weir_outbox_destroy(outbox);
    weir_db_destroy(options.db);
    sem_destroy(&done);
    return EXIT_SUCCESS;
}
