/*
 * execution_worker.c - a worker with two handlers; one of them fails at first and is
 * tried again.
 *
 * Given a URL, it does the same there.
 */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

/* The input and the result are bytes; what they mean is the application's. */
static enum weir_answer greet(struct weir_context *context, void *done,
                              struct weir_task *task)
{
    const struct weir_claimed *claimed = weir_task_claimed(task);
    char text[64];
    int size = snprintf(text, sizeof text, "Hello, %.*s!", (int)claimed->input_size,
                        (const char *)claimed->input);

    (void)context;
    sem_post(done);
    return weir_task_complete(task, text, (size_t)size);
}

/* Long work asks now and then whether it is still wanted, and waits with weir_sleep(). */
static enum weir_answer brew(struct weir_context *context, void *done,
                             struct weir_task *task)
{
    if (weir_task_claimed(task)->attempt == 0)
        return weir_task_fail(task, "the kettle is cold");
    if (weir_sleep(context, WEIR_MILLISECONDS(20)) != WEIR_OK)
        return WEIR_NOT_ANSWERED; /* the lease is lost, or we are being stopped */
    sem_post(done);
    return weir_task_complete(task, "tea", 3);
}

static void print_attempt(void *state, const struct weir_attempt_info *attempt)
{
    (void)state;
    printf("  attempt %d: %s\n", attempt->number,
           attempt->failure[0] != '\0' ? attempt->failure : "done");
}

static enum weir_status print_result(struct weir_executions *executions,
                                     const struct weir_execution_id *id,
                                     struct weir_error *error)
{
    void *result = NULL;
    size_t size = 0;

    if (weir_execution_result(executions, id, &result, &size, error) != WEIR_OK)
        return error->status;
    printf("%.*s\n", (int)size, (const char *)result);
    weir_executions_free(executions, result);
    return weir_execution_attempts(executions, id, print_attempt, NULL, error);
}

int main(int count, char **arguments)
{
    static const char *const LANES[] = {"kitchen"};
    struct weir_execution_policy twice;
    const struct weir_execution_draft drafts[] = {
        {.lane = "kitchen", .kind = "greet", .input = "Alice", .input_size = 5},
        {.lane = "kitchen", .kind = "brew", .policy = &twice},
    };
    struct weir_submission sent[2];
    struct weir_db_options where;
    struct weir_executions_options engine;
    struct weir_execution_worker_options options;
    struct weir_db *db = NULL;
    struct weir_executions *executions = NULL;
    struct weir_execution_worker *worker = NULL;
    struct weir_error error = {0};
    size_t unfinished = 1;
    sem_t done;

    sem_init(&done, 0, 0);
    weir_execution_policy_init(&twice);
    twice.retries_max = 1;
    twice.backoff_initial_ms = 0;
    weir_db_options_init(&where);
    where.url = count > 1 ? arguments[1] : "sqlite::memory:";
    weir_executions_options_init(&engine);
    weir_execution_worker_options_init(&options);
    options.claim.lanes = LANES;
    options.claim.lane_count = 1;
    options.claim.worker = "cooks";
    options.claim.instance = "cook-1";
    if (weir_db_create(&where, &db, &error) != WEIR_OK ||
        weir_executions_migrate(db, &error) != WEIR_OK)
        goto out;
    engine.db = db;
    if (weir_executions_create(&engine, &executions, &error) != WEIR_OK)
        goto out;
    options.executions = executions;
    if (weir_execution_worker_create(&options, &worker, &error) != WEIR_OK ||
        weir_execution_worker_add(worker, "greet", greet, &done, &error) != WEIR_OK ||
        weir_execution_worker_add(worker, "brew", brew, &done, &error) != WEIR_OK ||
        weir_execution_worker_start(worker, &error) != WEIR_OK ||
        weir_execution_submit(executions, NULL, drafts, 2, sent, &error) != WEIR_OK)
        goto out;
    for (int i = 0; i < 2; i++)
        sem_wait(&done);
    unfinished = weir_execution_worker_stop(worker, WEIR_SECONDS(5));
    for (int i = 0; i < 2; i++) {
        if (print_result(executions, &sent[i].id, &error) != WEIR_OK)
            unfinished = 1;
    }
out:
    if (unfinished != 0)
        fprintf(stderr, "%s\n", error.text);
    weir_execution_worker_destroy(worker);
    weir_executions_destroy(executions);
    weir_db_destroy(db);
    sem_destroy(&done);
    return unfinished == 0 ? 0 : 1;
}
