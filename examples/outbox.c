/*
 * outbox.c - an order, and the letter about it, in one transaction.
 */
#include <semaphore.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

/* Called for each letter whose order was committed, in the order of these. */
static enum weir_outcome send_letter(struct weir_context *context, void *sent,
                                     const struct weir_message *message,
                                     struct weir_reason *reason)
{
    (void)context;
    (void)reason; /* weir_retry(reason, "no stamps left") would deliver it again later */
    printf("letter %lld: thank you, %s\n", (long long)message->seq,
           (const char *)message->payload);
    sem_post(sent);
    return WEIR_DONE;
}

/* One transaction: the application's own row, and the message. Both, or neither. */
static enum weir_status place_order(struct weir_outbox *outbox,
                                    struct weir_connection *connection, void *customer,
                                    struct weir_error *error)
{
    struct weir_draft letter = {.key = customer, /* letters of one key stay in order */
                                .type = "letter",
                                .payload = customer,
                                .payload_size = strlen(customer)};

    if (sqlite3_exec(weir_connection_native(connection),
                     "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY);"
                     "INSERT INTO orders DEFAULT VALUES",
                     NULL, NULL, NULL) != SQLITE_OK)
        return weir_error_set(error, WEIR_FAILED, "no order");
    if (weir_enqueue(outbox, connection, "letters", &letter, NULL, error) != WEIR_OK)
        return error->status;
    if (strcmp(customer, "Mallory") == 0) /* rolled back: no order, and no letter */
        return weir_error_set(error, WEIR_FAILED, "we do not sell to Mallory");
    return WEIR_OK;
}

int main(int argc, char **argv)
{
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_queue_options letters;
    struct weir_handler_options mailer;
    struct weir_db *db = NULL;
    struct weir_outbox *outbox = NULL;
    struct weir_error error = {0};
    size_t unfinished = 1;
    sem_t sent;

    sem_init(&sent, 0, 0);
    weir_db_options_init(&where);
    where.url = argc > 1 ? argv[1] : "sqlite::memory:";
    if (weir_db_create(&where, &db, &error) != WEIR_OK ||
        weir_outbox_migrate(db, &error) != WEIR_OK)
        goto out;
    weir_outbox_options_init(&options);
    options.db = db;
    weir_queue_options_init(&letters);
    letters.name = "letters";
    weir_handler_options_init(&mailer);
    mailer.queue = "letters";
    mailer.on_message = send_letter;
    mailer.state = &sent;
    if (weir_outbox_create(&options, &outbox, &error) != WEIR_OK ||
        weir_outbox_add_queue(outbox, &letters, &error) != WEIR_OK ||
        weir_outbox_add_handler(outbox, &mailer, &error) != WEIR_OK ||
        weir_outbox_start(outbox, &error) != WEIR_OK)
        goto out;

    if (weir_outbox_transact(outbox, place_order, "Alice", &error) != WEIR_OK ||
        weir_outbox_transact(outbox, place_order, "Mallory", &error) == WEIR_OK ||
        weir_outbox_transact(outbox, place_order, "Bob", &error) != WEIR_OK)
        goto out;
    sem_wait(&sent);
    sem_wait(&sent);
    unfinished = weir_outbox_stop(outbox, WEIR_SECONDS(5));
out:
    if (unfinished != 0)
        fprintf(stderr, "%s\n", error.text);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    sem_destroy(&sent);
    return unfinished == 0 ? 0 : 1;
}
