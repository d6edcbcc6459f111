/*
 * approval.c - a payment that waits for somebody's word. While it waits it holds
 * nothing: no thread, no lease, no memory; and whoever has the token may say it, today
 * or in a week.
 *
 *   pay: no word yet -> letter with a token -> suspended ... signal ... pay: "yes" ->
 *   done
 *
 * Given a URL, it does the same there.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

enum { A_WEEK_MS = 7 * 24 * 60 * 60 * 1000 };

static const char *const LANES[] = {"money"};
static struct weir_error error;

static void must(enum weir_status status)
{
    if (status == WEIR_OK)
        return;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

/* What the handler leaves for the other side: in real life a letter with a link. */
struct letter {
    struct weir_execution_id payment;
    struct weir_waitpoint boss;
    sem_t sent, paid;
};

static void note_word(void *state, const struct weir_signal_info *signal)
{
    snprintf(state, 8, "%.*s", (int)signal->payload_size, (const char *)signal->payload);
}

/* Called twice: to ask, and when the word has come. */
static enum weir_answer pay(struct weir_context *context, void *state,
                            struct weir_task *task)
{
    struct letter *letter = state;
    struct weir_waitpoint boss = {.key = "boss"};
    struct weir_suspend_options options;
    struct weir_error why;
    bool satisfied;
    char word[8] = "";

    (void)context;
    if (weir_task_signals(task, note_word, word, &why) != WEIR_OK)
        return weir_task_fail(task, "%s", why.text);
    if (word[0] != '\0') {
        printf("the boss said %s\n", word);
        sem_post(&letter->paid);
        return weir_task_complete(task, NULL, 0);
    }
    /* The letter before the suspension: if we die in between, the next one sends the
     * same token. */
    if (weir_task_waitpoint(task, &boss, A_WEEK_MS, &why) != WEIR_OK)
        return weir_task_fail(task, "%s", why.text);
    letter->payment = weir_task_claimed(task)->claim.id;
    letter->boss = boss;
    sem_post(&letter->sent);

    weir_suspend_options_init(&options);
    options.waitpoints = &boss;
    options.waitpoint_count = 1;
    options.until = "word@boss";
    options.reason = WEIR_SUSPEND_APPROVAL;
    if (weir_task_suspend(task, &options, &satisfied, &why) != WEIR_OK)
        return weir_task_fail(task, "%s", why.text);
    if (satisfied) /* the boss was faster */
        return weir_task_delay(task, 0);
    return WEIR_ANSWERED;
}

/* The other side, anywhere: all it needs is what the letter says. */
static enum weir_status say(struct weir_executions *executions,
                            const struct letter *letter, const char *token,
                            const char *word)
{
    struct weir_signal signal = {.id = letter->payment,
                                 .token = token,
                                 .name = "word",
                                 .payload = word,
                                 .payload_size = strlen(word),
                                 .key = "the-only-word"}; /* said twice it counts once */
    enum weir_signal_effect effect;

    memcpy(signal.waitpoint, letter->boss.uuid, WEIR_UUID_SIZE);
    return weir_execution_signal(executions, &signal, &effect, &error);
}

int main(int count, char **arguments)
{
    const struct weir_execution_draft payment = {.lane = LANES[0], .kind = "pay"};
    struct letter letter = {.boss = {.key = "boss"}};
    struct weir_db_options where;
    struct weir_executions_options engine;
    struct weir_execution_worker_options working;
    struct weir_db *db;
    struct weir_executions *executions;
    struct weir_execution_worker *worker;

    weir_db_options_init(&where);
    where.url = count > 1 ? arguments[1] : "sqlite::memory:";
    must(weir_db_create(&where, &db, &error));
    must(weir_executions_migrate(db, &error));
    weir_executions_options_init(&engine);
    engine.db = db;
    must(weir_executions_create(&engine, &executions, &error));
    weir_execution_worker_options_init(&working);
    working.executions = executions;
    working.claim.lanes = LANES;
    working.claim.lane_count = 1;
    working.claim.worker = working.claim.instance = "cashier";
    must(weir_execution_worker_create(&working, &worker, &error));
    sem_init(&letter.sent, 0, 0);
    sem_init(&letter.paid, 0, 0);
    must(weir_execution_worker_add(worker, "pay", pay, &letter, &error));
    must(weir_execution_worker_start(worker, &error));

    must(weir_execution_submit(executions, NULL, &payment, 1, NULL, &error));
    sem_wait(&letter.sent);
    printf("a forged token: %s\n",
           weir_status_text(say(executions, &letter, "forged:00", "yes")));
    must(say(executions, &letter, letter.boss.token, "yes"));
    sem_wait(&letter.paid);

    weir_execution_worker_destroy(worker);
    weir_executions_destroy(executions);
    weir_db_destroy(db);
    return 0;
}
