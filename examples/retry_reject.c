/*
 * retry_reject.c - a letter to a server that does not answer: tried three times, then
 * given up.
 *
 * This handler decides by itself when to give up. The same for every message of a
 * queue, and without a line of code, is `attempts_max` of struct weir_queue_options.
 */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

/* `attempts` is stored with the partition: a restart does not begin with 0 again. */
static enum weir_outcome send_letter(struct weir_context *context, void *given_up,
                                     const struct weir_message *message,
                                     struct weir_reason *reason)
{
    (void)context;
    printf("attempt %u: no answer\n", message->attempts + 1);
    if (message->attempts < 2)
        return weir_retry(reason, "no answer"); /* it stays at the head, and waits */
    sem_post(given_up);
    return weir_reject(reason, "no answer in %u attempts", message->attempts + 1);
}

static void show(void *state, const struct weir_dead_letter *letter)
{
    (void)state;
    printf("dead letter: %s: %s\n", (const char *)letter->payload, letter->reason);
}

static enum weir_status list_letters(struct weir_outbox *outbox, struct weir_error *error)
{
    struct weir_dead_letter_mark newest = {0};
    struct weir_dead_letter_scope all;

    weir_dead_letter_scope_init(&all);
    return weir_dead_letter_list(outbox, NULL, &all, WEIR_DEAD_LETTER_PENDING, &newest,
                                 show, NULL, error);
}

int main(int argc, char **argv)
{
    struct weir_draft letter = {
        .type = "letter", .payload = "Alice", .payload_size = strlen("Alice")};
    struct weir_tuning patience = weir_tuning_of(WEIR_PROFILE_DEFAULT, WEIR_KIND_LANE);
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_queue_options letters;
    struct weir_handler_options mailer;
    struct weir_db *db = NULL;
    struct weir_outbox *outbox = NULL;
    struct weir_error error = {0};
    size_t unfinished = 1;
    sem_t given_up;

    sem_init(&given_up, 0, 0);
    weir_db_options_init(&where);
    where.url = argc > 1 ? argv[1] : "sqlite::memory:";
    if (weir_db_create(&where, &db, &error) != WEIR_OK ||
        weir_outbox_migrate(db, &error) != WEIR_OK)
        goto out;
    weir_outbox_options_init(&options);
    options.db = db;
    weir_queue_options_init(&letters);
    letters.name = "letters";
    patience.retry_base_ns = WEIR_MILLISECONDS(50); /* then 100 ms, 200 ms, ... */
    weir_handler_options_init(&mailer);
    mailer.queue = "letters";
    mailer.on_message = send_letter;
    mailer.state = &given_up;
    mailer.tuning = &patience;
    if (weir_outbox_create(&options, &outbox, &error) != WEIR_OK ||
        weir_outbox_add_queue(outbox, &letters, &error) != WEIR_OK ||
        weir_outbox_add_handler(outbox, &mailer, &error) != WEIR_OK ||
        weir_outbox_start(outbox, &error) != WEIR_OK ||
        weir_enqueue(outbox, NULL, "letters", &letter, NULL, &error) != WEIR_OK)
        goto out;

    sem_wait(&given_up);
    unfinished =
        weir_outbox_stop(outbox, WEIR_SECONDS(5)); /* the reject is stored then */
    if (list_letters(outbox, &error) != WEIR_OK)
        unfinished = 1;
out:
    if (unfinished != 0)
        fprintf(stderr, "%s\n", error.text);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    sem_destroy(&given_up);
    return unfinished == 0 ? 0 : 1;
}
