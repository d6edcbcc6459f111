/*
 * quorum.c - ask five, go on with the first three that answer, and stop the others.
 *
 *   replica 1 --+
 *   replica 2 --+
 *   replica 3 --+--> commit     3 of 5; those that have not answered then are cancelled
 *   replica 4 --+
 *   replica 5 --+
 *
 * Given a URL, it does the same there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weir/weir.h>

enum { REPLICAS = 5, COMMIT = REPLICAS, MEMBERS };

static const char *const LANES[] = {"store"};
static struct weir_error error;

static void must(enum weir_status status)
{
    if (status == WEIR_OK)
        return;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

/* Two of them have a disk that hangs: they wait until they are told that nobody needs
 * them. */
static enum weir_answer work(struct weir_context *context, void *state,
                             struct weir_task *task)
{
    const char *number = weir_task_claimed(task)->input;

    (void)state;
    while (number != NULL && (*number == '2' || *number == '4')) {
        if (weir_sleep(context, WEIR_SECONDS(1)) != WEIR_OK)
            return WEIR_NOT_ANSWERED;
    }
    return weir_task_complete(task, NULL, 0);
}

/* The whole flow in one call: nothing runs before what it waits for is known. */
static struct weir_flow_id submit(struct weir_executions *executions,
                                  struct weir_execution_id *ids)
{
    static const char NUMBERS[] = "12345";
    const struct weir_flow_draft draft = {.kind = "write"};
    struct weir_execution_draft members[MEMBERS];
    struct weir_flow_edge edges[REPLICAS];
    struct weir_flow_join join = {
        .policy = WEIR_JOIN_QUORUM, .quorum = 3, .cancel_remaining = true};
    const struct weir_flow_extension all = {members, MEMBERS, edges, REPLICAS,
                                            &join,   1,       -1};
    struct weir_flow_id flow;

    must(weir_flow_create(executions, &draft, &flow, &error));
    weir_flow_mint(executions, &flow, ids, MEMBERS);
    for (int i = 0; i < MEMBERS; i++)
        members[i] =
            (struct weir_execution_draft){.id = &ids[i],
                                          .lane = LANES[0],
                                          .kind = i < COMMIT ? "write" : "commit",
                                          .input = &NUMBERS[i],
                                          .input_size = i < COMMIT ? 1 : 0};
    for (int i = 0; i < REPLICAS; i++)
        edges[i] = (struct weir_flow_edge){.from = ids[i], .to = ids[COMMIT]};
    join.to = ids[COMMIT];
    must(weir_flow_extend(executions, NULL, &flow, &all, NULL, &error));
    return flow;
}

static void note_end(void *ended, const struct weir_flow_info *info)
{
    *(bool *)ended = info->ended_us != 0;
}

static void print_state(void *state, const struct weir_execution_info *info)
{
    (void)state;
    printf("%s: %s\n", info->kind, weir_public_state_name(info->state));
}

int main(int count, char **arguments)
{
    struct weir_db_options where;
    struct weir_executions_options engine;
    struct weir_execution_supervisor_options supervising;
    struct weir_execution_worker_options working;
    struct weir_db *db;
    struct weir_executions *executions;
    struct weir_execution_supervisor *supervisor; /* cancels what is left over */
    struct weir_execution_worker *worker;
    struct weir_execution_id ids[MEMBERS];
    struct weir_flow_id flow;
    bool ended = false;

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
    working.permits = MEMBERS;
    working.claim.lanes = LANES;
    working.claim.lane_count = 1;
    working.claim.worker = working.claim.instance = "disks";
    must(weir_execution_worker_create(&working, &worker, &error));
    must(weir_execution_worker_add(worker, NULL, work, NULL, &error));
    must(weir_execution_worker_start(worker, &error));

    flow = submit(executions, ids);
    while (!ended) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        must(weir_flow_get(executions, &flow, note_end, &ended, &error));
    }
    for (int i = 0; i < MEMBERS; i++)
        must(weir_execution_get(executions, &ids[i], print_state, NULL, &error));

    weir_execution_worker_destroy(worker);
    weir_execution_supervisor_destroy(supervisor);
    weir_executions_destroy(executions);
    weir_db_destroy(db);
    return 0;
}
