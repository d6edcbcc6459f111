/*
 * retrying_job.c - a job that fails, waits longer each time, and gets through at last;
 * and one that knows at once that it never will.
 *
 *   attempt 0 ---20 ms---> attempt 1 ---40 ms---> attempt 2
 *
 * Given a URL, it does the same there.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

static const char *const LANES[] = {"letters"};
static struct weir_error error;

static void must(enum weir_status status)
{
    if (status == WEIR_OK)
        return;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

/* A letter to Alice, whose letter box is full at first; and one to somebody who is not
 * there. */
static enum weir_answer deliver(struct weir_context *context, void *done,
                                struct weir_task *task)
{
    const struct weir_claimed *letter = weir_task_claimed(task);
    bool to_alice = letter->input_size == 5 && memcmp(letter->input, "Alice", 5) == 0;

    (void)context;
    if (to_alice && letter->attempt < 2)
        return weir_task_fail(task, "the letter box is full");
    sem_post(done);
    if (to_alice)
        return weir_task_complete(task, NULL, 0);
    return weir_task_fail_for_good(task, "nobody of that name lives here");
}

static void print_attempt(void *name, const struct weir_attempt_info *attempt)
{
    printf("%s, attempt %d: %s\n", (const char *)name, attempt->number,
           attempt->failure[0] != '\0' ? attempt->failure : "delivered");
}

/* Submit two letters, and see what becomes of them. */
static void send_letters(struct weir_executions *executions,
                         struct weir_execution_worker *worker, sem_t *done)
{
    char names[2][8] = {"Alice", "Nobody"};
    struct weir_execution_draft letters[2];
    struct weir_submission sent[2];
    struct weir_execution_policy patient;

    weir_execution_policy_init(&patient);
    patient.retries_max = 5;
    patient.backoff_initial_ms = 20; /* then 40, 80, ... */
    for (int i = 0; i < 2; i++)
        letters[i] = (struct weir_execution_draft){.lane = LANES[0],
                                                   .kind = "letter",
                                                   .policy = &patient,
                                                   .input = names[i],
                                                   .input_size = strlen(names[i])};
    must(weir_execution_submit(executions, NULL, letters, 2, sent, &error));
    for (int i = 0; i < 2; i++)
        sem_wait(done);
    (void)weir_execution_worker_stop(worker, WEIR_SECONDS(5)); /* stores all answers */
    for (int i = 0; i < 2; i++)
        must(weir_execution_attempts(executions, &sent[i].id, print_attempt, names[i],
                                     &error));
}

int main(int count, char **arguments)
{
    struct weir_db_options where;
    struct weir_executions_options engine;
    struct weir_execution_supervisor_options supervising;
    struct weir_execution_worker_options working;
    struct weir_db *db;
    struct weir_executions *executions;
    struct weir_execution_supervisor *supervisor; /* wakes what waits for a retry */
    struct weir_execution_worker *worker;
    sem_t done;

    weir_db_options_init(&where);
    where.url = count > 1 ? arguments[1] : "sqlite::memory:";
    must(weir_db_create(&where, &db, &error));
    must(weir_executions_migrate(db, &error));
    weir_executions_options_init(&engine);
    engine.db = db;
    must(weir_executions_create(&engine, &executions, &error));

    weir_execution_supervisor_options_init(&supervising);
    supervising.executions = executions;
    must(weir_execution_supervisor_create(&supervising, &supervisor, &error));
    must(weir_execution_supervisor_start(supervisor, &error));
    weir_execution_worker_options_init(&working);
    working.executions = executions;
    working.claim.lanes = LANES;
    working.claim.lane_count = 1;
    working.claim.worker = "post";
    working.claim.instance = "post-1";
    must(weir_execution_worker_create(&working, &worker, &error));
    sem_init(&done, 0, 0);
    must(weir_execution_worker_add(worker, "letter", deliver, &done, &error));
    must(weir_execution_worker_start(worker, &error));

    send_letters(executions, worker, &done);

    weir_execution_worker_destroy(worker);
    weir_execution_supervisor_destroy(supervisor);
    weir_executions_destroy(executions);
    weir_db_destroy(db);
    return 0;
}
