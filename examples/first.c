/*
 * first.c - a worker that sends letters, tries again when it fails, and stops when asked.
 */
#include <semaphore.h>
#include <stdio.h>

#include <weir/runtime.h>

struct mailbox {
    int letters; /* touched by the worker only, once it runs */
    int attempts;
    sem_t emptied; /* how the worker tells main() */
};

/* One execution: send one letter. Weir decides when the next one comes. */
static enum weir_status send_letter(struct weir_context *context, void *state,
                                    struct weir_directive *out, struct weir_error *error)
{
    struct mailbox *box = state;

    (void)context;
    if (++box->attempts == 2) /* an error: weir waits a little and calls again */
        return weir_error_set(error, WEIR_FAILED, "the line is busy");

    printf("attempt %d: sent, %d to go\n", box->attempts, --box->letters);
    if (box->letters > 0) {
        *out = weir_proceed(); /* there is more: again, after the worker's pace */
    } else {
        *out = weir_idle(); /* nothing to do: wait for a signal */
        sem_post(&box->emptied);
    }
    return WEIR_OK;
}

int main(void)
{
    struct mailbox box = {.letters = 3};
    struct weir_executor_options pool;
    struct weir_ward_options office = {.name = "post-office"};
    struct weir_worker_options mailer;
    struct weir_executor *executor = NULL;
    struct weir_ward *ward = NULL;
    struct weir_notifier *mail = NULL;
    struct weir_error error = {0};
    size_t unfinished = 1;

    sem_init(&box.emptied, 0, 0);
    weir_executor_options_init(&pool);
    if (weir_executor_create(&pool, &executor, &error) != WEIR_OK ||
        weir_ward_create(executor, &office, &ward, &error) != WEIR_OK ||
        weir_notifier_create(executor, &mail) != WEIR_OK)
        goto out;

    weir_worker_options_init(&mailer);
    mailer.name = "mailer";
    mailer.action = send_letter;
    mailer.state = &box;
    mailer.notifiers = &mail;
    mailer.notifier_count = 1;
    if (weir_ward_spawn(ward, &mailer, NULL, &error) != WEIR_OK)
        goto out;

    weir_notifier_notify_one(mail); /* a worker idles until its first signal */
    sem_wait(&box.emptied);
    unfinished = weir_ward_stop(ward, WEIR_SECONDS(5));
    printf("%zu workers unfinished\n", unfinished);

out:
    if (error.status != WEIR_OK)
        fprintf(stderr, "first: %s\n", error.text);
    weir_ward_destroy(ward);
    weir_notifier_destroy(mail);
    weir_executor_destroy(executor);
    return unfinished == 0 ? 0 : 1;
}
