/*
 * dead_letters.c - a letter that cannot be sent, and what becomes of it.
 */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

struct mailer {
    sem_t done;
    _Atomic bool knows_bob;
};

/* A letter to somebody without an address never works: reject it, and go on with the next. */
static enum weir_outcome send_letter(struct weir_context *context, void *state,
                                     const struct weir_message *message,
                                     struct weir_reason *reason)
{
    struct mailer *mailer = state;
    const char *name = message->payload;
    const char *from = weir_message_header(message, WEIR_HEADER_REQUEUED_FROM);

    (void)context;
    sem_post(&mailer->done);
    if (strcmp(name, "Bob") == 0 && !mailer->knows_bob)
        return weir_reject(reason, "%s has no address", name);
    printf("letter %lld: to %s%s\n", (long long)message->seq, name,
           from != NULL ? ", at last" : "");
    return WEIR_DONE;
}

static void show(void *state, const struct weir_dead_letter *letter)
{
    *(int64_t *)state = letter->id;
    printf("dead letter: %s/%s, number %lld: %s\n", letter->queue, letter->subscription,
           (long long)letter->seq, letter->reason);
}

static enum weir_status post(struct weir_outbox *outbox, const char *name,
                             struct weir_error *error)
{
    struct weir_draft draft = {
        .type = "letter", .payload = name, .payload_size = strlen(name)};

    return weir_enqueue(outbox, NULL, "letters", &draft, NULL, error);
}

/* What an operator does, here or with `weir dlq`: look, and enqueue again. */
static enum weir_status repair(struct weir_outbox *outbox, struct weir_error *error)
{
    struct weir_dead_letter_mark mark = {0};
    struct weir_dead_letter_scope scope;
    int64_t id = 0;
    enum weir_status status;

    weir_dead_letter_scope_init(&scope);
    scope.queue = "letters";
    status = weir_dead_letter_list(outbox, NULL, &scope, WEIR_DEAD_LETTER_PENDING, &mark,
                                   show, &id, error);
    if (status != WEIR_OK)
        return status;
    return weir_dead_letter_requeue(
        outbox, NULL, &(struct weir_dead_letter_choice){.ids = &id, .count = 1}, NULL,
        error);
}

int main(int argc, char **argv)
{
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_queue_options letters;
    struct weir_handler_options handler;
    struct mailer mailer = {.knows_bob = false};
    struct weir_db *db = NULL;
    struct weir_outbox *outbox = NULL;
    struct weir_error error = {0};
    size_t unfinished = 1;

    sem_init(&mailer.done, 0, 0);
    weir_db_options_init(&where);
    where.url = argc > 1 ? argv[1] : "sqlite::memory:";
    if (weir_db_create(&where, &db, &error) != WEIR_OK ||
        weir_outbox_migrate(db, &error) != WEIR_OK)
        goto out;
    weir_outbox_options_init(&options);
    options.db = db;
    weir_queue_options_init(&letters);
    letters.name = "letters";
    letters.attempts_max = 10; /* tried so often in vain is a dead letter, too */
    weir_handler_options_init(&handler);
    handler.queue = "letters";
    handler.on_message = send_letter;
    handler.state = &mailer;
    if (weir_outbox_create(&options, &outbox, &error) != WEIR_OK ||
        weir_outbox_add_queue(outbox, &letters, &error) != WEIR_OK ||
        weir_outbox_add_handler(outbox, &handler, &error) != WEIR_OK ||
        weir_outbox_start(outbox, &error) != WEIR_OK ||
        post(outbox, "Alice", &error) != WEIR_OK ||
        post(outbox, "Bob", &error) != WEIR_OK ||
        post(outbox, "Carol", &error) != WEIR_OK)
        goto out;
    for (int i = 0; i < 3; i++)
        sem_wait(&mailer.done);
    if (weir_outbox_stop(outbox, WEIR_SECONDS(5)) != 0)
        goto out;

    mailer.knows_bob = true;
    if (repair(outbox, &error) != WEIR_OK || weir_outbox_start(outbox, &error) != WEIR_OK)
        goto out;
    sem_wait(&mailer.done);
    unfinished = weir_outbox_stop(outbox, WEIR_SECONDS(5));
out:
    if (unfinished != 0)
        fprintf(stderr, "%s\n", error.text);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    return unfinished == 0 ? 0 : 1;
}
