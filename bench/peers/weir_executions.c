/*
 * weir_executions.c - weir's execution engine on PostgreSQL and SQLite.
 *
 * One execution per message: submitted by a producer, claimed and completed by one of
 * `conns` workers, one at a time. It counts when it is completed; in the task `latency`,
 * when it is claimed. No outbox, so no events.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>

#include "load.h"

enum { WORKERS_MAX = 64, WAIT_MS = 200 };

static struct weir_db *db;
static struct weir_executions *executions;
static bool counts_claims;

static void must(enum weir_status status, const struct weir_error *error,
                 const char *what)
{
    peer_must(status == WEIR_OK, what, error->text);
}

static void complete(const struct weir_claimed *claimed)
{
    struct weir_settlement settlement = {.claim = claimed->claim,
                                         .verb = WEIR_SETTLE_COMPLETE,
                                         .result = "0123456789abcdef",
                                         .result_size = 16};
    struct weir_error error = {0};

    must(weir_execution_settle(executions, &settlement, 1, &error), &error, "complete");
    must(settlement.status, &error, "complete");
}

static void *work(void *unused)
{
    static const char *const LANES[] = {"bench"};
    struct weir_claim_options options;
    struct weir_error error = {0};

    (void)unused;
    weir_claim_options_init(&options);
    options.lanes = LANES;
    options.lane_count = 1;
    options.worker = "bench";
    options.instance = "bench-1";
    options.wait_ms = WAIT_MS;
    while (peer_is_running()) {
        struct weir_claimed *claimed = NULL;
        size_t count = 0;

        must(weir_execution_claim(executions, &options, 1, &claimed, &count, &error),
             &error, "claim");
        if (count == 0)
            continue;
        if (counts_claims)
            peer_handled(claimed->input);
        complete(claimed);
        if (!counts_claims)
            peer_handled(claimed->input);
        weir_claimed_free(executions, claimed);
    }
    return NULL;
}

static void *open_session(const struct peer_options *options)
{
    (void)options;
    return NULL;
}

static void close_session(void *session)
{
    (void)session;
}

static void send(void *session, int64_t first, int count)
{
    (void)session;
    for (int i = 0; i < count; i++) {
        char input[PEER_PAYLOAD_SIZE + 1];
        struct weir_execution_draft draft = {.lane = "bench",
                                             .kind = "bench",
                                             .input = input,
                                             .input_size = PEER_PAYLOAD_SIZE};
        struct weir_submission submission;
        struct weir_error error = {0};

        peer_payload(input, first + i);
        must(weir_execution_submit(executions, NULL, &draft, 1, &submission, &error),
             &error, "submit");
    }
}

int main(int count, char **arguments)
{
    struct weir_db_options of_db;
    struct weir_executions_options of_executions;
    struct weir_error error = {0};
    struct peer_options options;
    pthread_t workers[WORKERS_MAX];
    int result;

    peer_options_read(&options, count, arguments);
    counts_claims = options.latency;
    weir_db_options_init(&of_db);
    of_db.url = options.url;
    must(weir_db_create(&of_db, &db, &error), &error, "open");
    must(weir_executions_migrate(db, &error), &error, "migrate");
    weir_executions_options_init(&of_executions);
    of_executions.db = db;
    must(weir_executions_create(&of_executions, &executions, &error), &error, "create");
    for (int i = 0; i < options.connections; i++)
        peer_must(pthread_create(&workers[i], NULL, work, NULL) == 0, "thread",
                  "could not be created");
    result = peer_measure(
        &(struct peer){
            .delivers = true, .open = open_session, .send = send, .close = close_session},
        &options);
    for (int i = 0; i < options.connections; i++)
        (void)pthread_join(workers[i], NULL);
    weir_executions_destroy(executions);
    weir_db_destroy(db);
    return result;
}
