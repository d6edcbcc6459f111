/*
 * dead_letters.c - letters that cannot be sent, and what an operator does about them.
 *
 * `weir dlq` does the same from a shell; weir_dead_letter_requeue() enqueues them again.
 */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

/* A letter without an address can never be delivered: reject it, go on with the next. */
static enum weir_outcome send_letter(struct weir_context *context, void *rejected,
                                     const struct weir_message *message,
                                     struct weir_reason *reason)
{
    (void)context;
    sem_post(rejected);
    return weir_reject(reason, "%s has no address", (const char *)message->payload);
}

static void show(void *state, const struct weir_dead_letter *letter)
{
    (void)state;
    printf("number %lld: %s\n", (long long)letter->seq, letter->reason);
}

static void deliver_by_hand(void *id, const struct weir_dead_letter *letter)
{
    printf("%s gets the letter by hand\n", (const char *)letter->payload);
    *(int64_t *)id = letter->id;
}

/* A claim is for a time, so that no other process does the same; its token ends it. */
static enum weir_status repair_one(struct weir_outbox *outbox,
                                   struct weir_dead_letter_scope first,
                                   struct weir_error *error)
{
    struct weir_dead_letter_claim claim;
    struct weir_dead_letter_choice choice;
    int64_t id = 0;

    first.limit = 1;
    if (weir_dead_letter_claim(outbox, NULL, &first, WEIR_MINUTES(5), deliver_by_hand,
                               &id, &claim, error) != WEIR_OK)
        return error->status;
    choice = (struct weir_dead_letter_choice){&id, 1, claim.token};
    return weir_dead_letter_resolve(outbox, NULL, &choice, NULL, error);
}

static enum weir_status tidy_up(struct weir_outbox *outbox, struct weir_error *error)
{
    struct weir_dead_letter_mark newest = {0};
    struct weir_dead_letter_scope all;
    int64_t discarded = 0, removed = 0, remaining = 0;

    weir_dead_letter_scope_init(&all);
    all.queue = "letters";
    if (weir_dead_letter_list(outbox, NULL, &all, WEIR_DEAD_LETTER_PENDING, &newest, show,
                              NULL, error) != WEIR_OK ||
        repair_one(outbox, all, error) != WEIR_OK ||
        weir_dead_letter_discard_all(outbox, NULL, &all, &discarded, error) != WEIR_OK ||
        weir_dead_letter_cleanup(outbox, NULL, &all, &removed, error) != WEIR_OK ||
        weir_dead_letter_count(outbox, NULL, &all, WEIR_DEAD_LETTER_ANY, &remaining,
                               error) != WEIR_OK)
        return error->status;
    printf("discarded %lld, removed %lld, remaining %lld\n", (long long)discarded,
           (long long)removed, (long long)remaining);
    return WEIR_OK;
}

int main(int argc, char **argv)
{
    static const char *const NAMES[] = {"Alice", "Bob", "Carol"};
    struct weir_draft drafts[3];
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_queue_options letters;
    struct weir_handler_options mailer;
    struct weir_db *db = NULL;
    struct weir_outbox *outbox = NULL;
    struct weir_error error = {0};
    bool clean = false;
    sem_t rejected;

    sem_init(&rejected, 0, 0);
    for (int i = 0; i < 3; i++)
        drafts[i] = (struct weir_draft){
            .type = "letter", .payload = NAMES[i], .payload_size = strlen(NAMES[i])};
    weir_db_options_init(&where);
    where.url = argc > 1 ? argv[1] : "sqlite::memory:";
    weir_outbox_options_init(&options);
    weir_queue_options_init(&letters);
    letters.name = "letters";
    weir_handler_options_init(&mailer);
    mailer.queue = "letters";
    mailer.on_message = send_letter;
    mailer.state = &rejected;
    if (weir_db_create(&where, &db, &error) != WEIR_OK ||
        weir_outbox_migrate(db, &error) != WEIR_OK)
        goto out;
    options.db = db;
    if (weir_outbox_create(&options, &outbox, &error) != WEIR_OK ||
        weir_outbox_add_queue(outbox, &letters, &error) != WEIR_OK ||
        weir_outbox_add_handler(outbox, &mailer, &error) != WEIR_OK ||
        weir_outbox_start(outbox, &error) != WEIR_OK ||
        weir_enqueue_batch(outbox, NULL, "letters", drafts, 3, NULL, &error) != WEIR_OK)
        goto out;
    for (int i = 0; i < 3; i++)
        sem_wait(&rejected);
    clean = weir_outbox_stop(outbox, WEIR_SECONDS(5)) == 0 &&
            tidy_up(outbox, &error) == WEIR_OK;
out:
    if (!clean)
        fprintf(stderr, "%s\n", error.text);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    return clean ? 0 : 1;
}
