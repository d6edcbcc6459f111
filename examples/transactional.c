/*
 * transactional.c - five payments on two partitions, each booked exactly once, although
 * booking fails now and then.
 */
#include <semaphore.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

/*
 * Runs inside the transaction that marks the payment as delivered. What it writes there
 * is committed with that mark, or not at all; a retry and a reject take it back.
 */
static enum weir_outcome book_payment(struct weir_context *context, void *answered,
                                      struct weir_connection *connection,
                                      const struct weir_message *message,
                                      struct weir_reason *reason)
{
    sqlite3 *db = weir_connection_native(connection);
    const char *amount = message->payload;
    char sql[128];

    (void)context;
    snprintf(sql, sizeof sql, "UPDATE account SET balance = balance + %d", atoi(amount));
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return weir_retry(reason, "%s", sqlite3_errmsg(db));
    if (message->seq == 2 && message->attempts == 0)
        return weir_retry(reason, "the bank is closed"); /* the update is undone */
    sem_post(answered);
    return WEIR_DONE;
}

static int print_row(void *state, int count, char **values, char **names)
{
    (void)state;
    (void)count;
    return printf("%s: %s\n", names[0], values[0]) < 0;
}

/* Statements of the application's, in a transaction of their own. */
static enum weir_status run_sql(struct weir_outbox *outbox,
                                struct weir_connection *connection, void *sql,
                                struct weir_error *error)
{
    sqlite3 *db = weir_connection_native(connection);

    (void)outbox;
    if (sqlite3_exec(db, sql, print_row, NULL, NULL) == SQLITE_OK)
        return WEIR_OK;
    return weir_error_set(error, WEIR_FAILED, "%s", sqlite3_errmsg(db));
}

int main(void)
{
    static const char *const AMOUNTS[] = {"10000", "2000", "300", "40", "5"};
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_queue_options payments;
    struct weir_handler_options booking;
    struct weir_db *db = NULL;
    struct weir_outbox *outbox = NULL;
    struct weir_error error = {0};
    size_t unfinished = 1;
    sem_t answered;

    sem_init(&answered, 0, 0);
    weir_db_options_init(&where);
    where.url = "sqlite::memory:";
    weir_outbox_options_init(&options);
    weir_queue_options_init(&payments);
    payments.name = "payments";
    payments.partitions = 2;
    weir_handler_options_init(&booking);
    booking.queue = "payments";
    booking.on_message_tx = book_payment;
    booking.state = &answered;
    if (weir_db_create(&where, &db, &error) != WEIR_OK ||
        weir_outbox_migrate(db, &error) != WEIR_OK)
        goto out;
    options.db = db;
    if (weir_outbox_create(&options, &outbox, &error) != WEIR_OK ||
        weir_outbox_transact(outbox, run_sql,
                             "CREATE TABLE account (balance INTEGER);"
                             "INSERT INTO account VALUES (0)",
                             &error) != WEIR_OK ||
        weir_outbox_add_queue(outbox, &payments, &error) != WEIR_OK ||
        weir_outbox_add_handler(outbox, &booking, &error) != WEIR_OK ||
        weir_outbox_start(outbox, &error) != WEIR_OK)
        goto out;
    for (int i = 0; i < 5; i++) {
        struct weir_draft payment = {.route = weir_route_to_partition(i % 2),
                                     .type = "payment",
                                     .payload = AMOUNTS[i],
                                     .payload_size = strlen(AMOUNTS[i])};

        if (weir_enqueue(outbox, NULL, "payments", &payment, NULL, &error) != WEIR_OK)
            goto out;
    }
    for (int i = 0; i < 5; i++)
        sem_wait(&answered);
    unfinished = weir_outbox_stop(outbox, WEIR_SECONDS(5)); /* after the last commit */
    if (weir_outbox_transact(outbox, run_sql, "SELECT balance FROM account", &error) !=
        WEIR_OK)
        unfinished = 1;
out:
    if (unfinished != 0)
        fprintf(stderr, "%s\n", error.text);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    sem_destroy(&answered);
    return unfinished == 0 ? 0 : 1;
}
