/*
 * Tests of docs/roles.md: the statements of that page, run as they stand there, give
 * each role what it says and no more.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "execution/grants.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/server/process.h"
#include "outbox/roles.h"
#include "outbox/schema.h"
#include "weir/budget.h"
#include "weir/execution_supervisor.h"
#include "weir/flow.h"
#include "weir/inspect.h"
#include "weir/outbox.h"
#include "weir/scanner.h"
#include "weir/suspension.h"

#define PASSWORD "change-me" /* the page's */

enum { PAGE_SIZE_MAX = 65536, BLOCKS_MAX = 4 };

/* Who has which role, on the page. */
#define OWNER "app_migrator"
#define RUNTIME "app_worker"
#define PRODUCER "app_shop"
#define VIEWER "app_board"

/* A version to come. It makes nothing, so that only the version row is in its way. */
static const char *const LATER[] = {"UPDATE {p}_lease SET epoch = 2", NULL};

/* A server of the test's own, whose users are nobody else's. */
struct env {
    struct fixture *fixture;
    struct server *server;
    char blocks[BLOCKS_MAX][8192]; /* of the engine's section, in order */
};

static void env_open(struct env *self, struct fixture *fixture);
static void env_close(struct env *self);
static struct weir_db *open_as(struct env *self, const char *user);
static enum weir_status migrate_later_as(struct env *self, const char *user);
static enum weir_status check_as(struct env *self, const char *user);
static enum weir_status run_as(struct env *self, const char *user, const char *text);
static void run_block(struct env *self, int block, const char *user,
                      const char *password);

/* ---- what each may do -------------------------------------------------------------- */

SERVER_TEST(roles, let_the_owner_migrate)
{
    struct env env;

    env_open(&env, fixture);

    check_db(check_as(&env, OWNER), WEIR_OK);
    check_db(migrate_later_as(&env, OWNER), WEIR_OK);

    env_close(&env);
}

SERVER_TEST(roles, do_not_let_the_runtime_migrate)
{
    struct env env;

    env_open(&env, fixture);
    server_execute(env.server, "app",
                   "INSERT INTO weir_lease (subscription, pid, epoch) VALUES (1, 64, 1)");

    check_db(migrate_later_as(&env, RUNTIME), WEIR_DENIED);
    check_db(run_as(&env, RUNTIME, "CREATE TABLE {p}_new (id INTEGER)"), WEIR_DENIED);
    check_db(run_as(&env, RUNTIME, "UPDATE {p}_schema SET readable_by = 1"), WEIR_DENIED);
    check_db(run_as(&env, RUNTIME, "DROP TABLE {p}_lease"), WEIR_DENIED);

    /* It failed at its last statement, and the ones before are undone. */
    check_int(server_query(env.server, "app", "SELECT max(epoch) FROM weir_lease"), 1);
    check_db(check_as(&env, OWNER), WEIR_OK);
    env_close(&env);
}

SERVER_TEST(roles, do_not_let_the_runtime_begin)
{
    struct env env;
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE];
    struct weir_db *db;

    env_open(&env, fixture);
    server_url_as(env.server, RUNTIME, PASSWORD, "app", url, sizeof url);
    options.url = url;
    options.prefix = "another";
    db = fixture_open(fixture, &options);

    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_DENIED);

    weir_db_destroy(db);
    env_close(&env);
}

SERVER_TEST(roles, let_the_viewer_read_only)
{
    struct env env;

    env_open(&env, fixture);

    check_db(check_as(&env, VIEWER), WEIR_OK);
    check_db(run_as(&env, VIEWER, "SELECT count(*) FROM {p}_log"), WEIR_OK);
    check_db(run_as(&env, VIEWER, "SELECT error FROM {p}_dead_letter"), WEIR_OK);
    check_db(run_as(&env, VIEWER, "SELECT payload FROM {p}_log"), WEIR_DENIED);
    check_db(run_as(&env, VIEWER, "SELECT headers FROM {p}_dead_letter"), WEIR_DENIED);
    check_db(run_as(&env, VIEWER, "UPDATE {p}_lease SET epoch = 9"), WEIR_DENIED);
    check_db(migrate_later_as(&env, VIEWER), WEIR_DENIED);

    env_close(&env);
}

SERVER_TEST(roles, let_the_producer_add_only)
{
    struct env env;
    const char *log = fixture_choose(fixture, "", "SELECT payload FROM {p}_log",
                                     "SELECT payload FROM {p}_incoming");

    env_open(&env, fixture);

    check_db(check_as(&env, PRODUCER), WEIR_OK);
    check_db(run_as(&env, PRODUCER, log), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "DELETE FROM {p}_log"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "SELECT count(*) FROM {p}_lease"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "DELETE FROM {p}_schema"), WEIR_DENIED);
    check_db(migrate_later_as(&env, PRODUCER), WEIR_DENIED);

    env_close(&env);
}

/* What the database hides from a user is not taken for missing: "run weir migrate"
 * would be of no help. */
SERVER_TEST(roles, name_the_table_that_a_stranger_may_not_read)
{
    struct env env;

    env_open(&env, fixture);
    server_execute(env.server, "app",
                   fixture_choose(fixture, "",
                                  "CREATE ROLE stranger LOGIN PASSWORD '" PASSWORD "'",
                                  "CREATE USER stranger IDENTIFIED BY '" PASSWORD "'"));
    server_execute(env.server, "app", "GRANT SELECT ON weir_lease TO stranger");

    check_db(check_as(&env, "stranger"), WEIR_DENIED);
    check(strstr(fixture->error.text, "weir_schema") != NULL);

    env_close(&env);
}

/* How many statements `weir migrate --roles` would run. */
static size_t count_changes(struct env *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *connection;
    struct weir_role_plan plan;
    char url[SERVER_URL_SIZE];
    struct weir_db *db;
    size_t count;

    server_url(self->server, "app", url, sizeof url);
    options.url = url;
    db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    weir_role_plan_init(&plan, &fixture->heap.heap, weir_executions_grants,
                        weir_executions_right_count);
    check_db(weir_role_plan_read(&plan, connection, &fixture->error), WEIR_OK);
    check(!plan.blind);
    count = plan.count;
    weir_role_plan_fini(&plan);
    weir_db_release(db, connection);
    weir_db_destroy(db);
    return count;
}

/* Also when granted again, as after each migration. */
SERVER_TEST(roles, of_the_page_are_those_of_the_option)
{
    struct env env;

    env_open(&env, fixture);

    check_int(count_changes(&env), 0);
    run_block(&env, 1, OWNER, PASSWORD);
    check_int(count_changes(&env), 0);

    server_execute(env.server, "app", "GRANT SELECT ON weir_log TO weir_viewer");
    check(count_changes(&env) > 0);
    env_close(&env);
}

/* ---- the outbox -------------------------------------------------------------------- */

static enum weir_outcome count_one(struct weir_context *context, void *state,
                                   const struct weir_message *message,
                                   struct weir_reason *reason)
{
    (void)context;
    (void)message;
    (void)reason;
    atomic_fetch_add((_Atomic int *)state, 1);
    return WEIR_DONE;
}

/* But for those of the execution engine. */
static void count_queue(void *state, const struct weir_queue_info *info)
{
    *(int *)state += strncmp(info->name, "execution.", strlen("execution.")) != 0;
}

static struct weir_outbox *outbox_as(struct env *self, const char *user,
                                     struct weir_db **db)
{
    struct fixture *fixture = self->fixture;
    struct weir_outbox_options options;
    struct weir_outbox *outbox = NULL;

    *db = open_as(self, user);
    weir_outbox_options_init(&options);
    options.db = *db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    return outbox;
}

SERVER_TEST(roles, let_each_do_its_part_of_the_outbox)
{
    struct env env;
    struct weir_db *runtime_db;
    struct weir_db *producer_db;
    struct weir_db *viewer_db;
    struct weir_outbox *runtime;
    struct weir_outbox *producer;
    struct weir_outbox *viewer;
    struct weir_queue_options queue;
    struct weir_handler_options handler;
    struct weir_draft draft = {.type = "t"};
    _Atomic int delivered = 0;
    int queues = 0;

    env_open(&env, fixture);
    runtime = outbox_as(&env, RUNTIME, &runtime_db);
    producer = outbox_as(&env, PRODUCER, &producer_db);
    viewer = outbox_as(&env, VIEWER, &viewer_db);
    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.partitions = 4;
    check_db(weir_outbox_add_queue(runtime, &queue, &fixture->error), WEIR_OK);
    weir_handler_options_init(&handler);
    handler.queue = "orders";
    handler.on_message = count_one;
    handler.state = &delivered;
    check_db(weir_outbox_add_handler(runtime, &handler, &fixture->error), WEIR_OK);
    check_db(weir_outbox_start(runtime, &fixture->error), WEIR_OK);

    check_db(weir_enqueue(producer, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_OK);
    check_db(weir_outbox_read_queues(viewer, count_queue, &queues, &fixture->error),
             WEIR_OK);
    wait_until(atomic_load(&delivered) == 1);

    check_int(queues, 1);
    check_int(weir_outbox_stop(runtime, WEIR_SECONDS(30)), 0);
    queue.name = "invoices";
    check_db(weir_outbox_add_queue(producer, &queue, &fixture->error), WEIR_DENIED);
    check_db(weir_enqueue(viewer, NULL, "orders", &draft, NULL, &fixture->error),
             WEIR_DENIED);
    weir_outbox_destroy(runtime);
    weir_outbox_destroy(producer);
    weir_outbox_destroy(viewer);
    weir_db_destroy(runtime_db);
    weir_db_destroy(producer_db);
    weir_db_destroy(viewer_db);
    env_close(&env);
}

/* ---- executions -------------------------------------------------------------------- */

/* An engine of one who has this role. */
struct setup {
    struct env *env;
    struct weir_db *db;
    struct weir_outbox *outbox; /* NULL: tells nothing */
    struct weir_executions *executions;
};

static void setup_open(struct setup *self, struct env *env, const char *user, bool tells)
{
    struct fixture *fixture = env->fixture;
    struct weir_executions_options options;

    *self = (struct setup){.env = env};
    if (tells)
        self->outbox = outbox_as(env, user, &self->db);
    else
        self->db = open_as(env, user);
    weir_executions_options_init(&options);
    options.db = self->db;
    options.outbox = self->outbox;
    check_db(weir_executions_create(&options, &self->executions, &fixture->error),
             WEIR_OK);
}

static void setup_close(struct setup *self)
{
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
}

static const char *const LANE = "orders";

static enum weir_status submit_as(struct setup *self, const char *key,
                                  struct weir_submission *out)
{
    static const struct weir_tag TAG = {"app.zone", "west"};
    const char *capability = "gpu";
    const struct weir_execution_draft draft = {.lane = LANE,
                                               .kind = "mail",
                                               .input = "in",
                                               .input_size = 2,
                                               .tags = &TAG,
                                               .tag_count = 1,
                                               .capabilities = &capability,
                                               .capability_count = 1,
                                               .idempotency_key = key};

    return weir_execution_submit(self->executions, NULL, &draft, 1, out,
                                 &self->env->fixture->error);
}

static enum weir_status claim_as(struct setup *self, int64_t wait_ms,
                                 struct weir_claim *out, size_t *count)
{
    const char *capability = "gpu";
    struct weir_claim_options options;
    struct weir_claimed *claimed = NULL;
    enum weir_status status;

    weir_claim_options_init(&options);
    options.lanes = &LANE;
    options.lane_count = 1;
    options.capabilities = &capability;
    options.capability_count = 1;
    options.worker = options.instance = "worker";
    options.wait_ms = wait_ms;
    status = weir_execution_claim(self->executions, &options, 1, &claimed, count,
                                  &self->env->fixture->error);
    if (*count > 0)
        *out = claimed->claim;
    weir_claimed_free(self->executions, claimed);
    return status;
}

static void ignore(void *state, const struct weir_execution_info *info)
{
    (void)state;
    (void)info;
}

static void ignore_attempt(void *state, const struct weir_attempt_info *info)
{
    (void)state;
    (void)info;
}

POSTGRESQL_TEST(roles, let_the_producer_submit_executions_and_no_more)
{
    const struct weir_execution_filter filter = {.count = 10};
    const struct weir_execution_draft other = {
        .lane = LANE, .kind = "letter", .idempotency_key = "a"};
    struct env env;
    struct setup producer;
    struct weir_submission first, second;
    struct weir_claim claim;
    size_t count = 0;
    int64_t next;

    env_open(&env, fixture);
    setup_open(&producer, &env, PRODUCER, false);
    check_db(submit_as(&producer, "a", &first), WEIR_OK);
    check_db(submit_as(&producer, "a", &second), WEIR_OK);
    check(second.duplicate);
    check_db(weir_execution_submit(producer.executions, NULL, &other, 1, NULL,
                                   &fixture->error),
             WEIR_MISMATCH);
    check_db(submit_as(&producer, NULL, &second), WEIR_OK);

    check_db(
        weir_execution_get(producer.executions, &first.id, ignore, NULL, &fixture->error),
        WEIR_DENIED);
    check_db(weir_execution_list(producer.executions, &filter, ignore, NULL, &next,
                                 &fixture->error),
             WEIR_DENIED);
    check_db(claim_as(&producer, 0, &claim, &count), WEIR_DENIED);
    check_db(weir_execution_cancel(producer.executions, &first.id, NULL, &fixture->error),
             WEIR_DENIED);
    check_db(weir_execution_replay(producer.executions, &first.id, &fixture->error),
             WEIR_DENIED);
    setup_close(&producer);

    check_db(run_as(&env, PRODUCER, "SELECT namespace FROM {p}_execution"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "SELECT bytes FROM {p}_input"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "SELECT value FROM {p}_tag"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "SELECT no FROM {p}_result"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "SELECT key_id FROM {p}_secret"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "UPDATE {p}_execution SET state = 12"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "DELETE FROM {p}_execution"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "DELETE FROM {p}_idempotency"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "UPDATE {p}_term SET text = 'x'"), WEIR_DENIED);
    check_db(run_as(&env, PRODUCER,
                    "INSERT INTO {p}_term (id, kind, digest, text)"
                    " VALUES (9, 1, 'x', 'x')"),
             WEIR_DENIED);
    check_db(run_as(&env, PRODUCER, "SELECT setval('{p}_awaited', 9)"), WEIR_DENIED);
    env_close(&env);
}

/* A flow of two, the second of which is charged to a budget. */
static enum weir_status flow_as(struct setup *self, struct weir_flow_id *flow)
{
    static const char *const BUDGET = "llm";
    struct weir_error *error = &self->env->fixture->error;
    const struct weir_flow_draft draft = {.kind = "order"};
    struct weir_execution_id ids[2];
    struct weir_execution_draft members[] = {
        {.id = &ids[0], .lane = LANE, .kind = "step"},
        {.id = &ids[1],
         .lane = LANE,
         .kind = "step",
         .budgets = &BUDGET,
         .budget_count = 1}};
    struct weir_flow_edge edge;
    struct weir_flow_join join = {.policy = WEIR_JOIN_ANY};
    const struct weir_flow_extension extension = {.members = members,
                                                  .member_count = 2,
                                                  .edges = &edge,
                                                  .edge_count = 1,
                                                  .joins = &join,
                                                  .join_count = 1,
                                                  .revision = -1};
    enum weir_status status = weir_flow_create(self->executions, &draft, flow, error);

    if (status != WEIR_OK)
        return status;
    weir_flow_mint(self->executions, flow, ids, 2);
    edge = (struct weir_flow_edge){ids[0], ids[1], false};
    join.to = ids[1];
    return weir_flow_extend(self->executions, NULL, flow, &extension, NULL, error);
}

/* Three more, with names and two edges, in one call. */
static enum weir_status grow_as(struct setup *self, const struct weir_flow_id *flow)
{
    static int number;
    char names[3][32];
    struct weir_execution_id ids[3];
    struct weir_execution_draft members[3];
    struct weir_flow_edge edges[2];
    const struct weir_flow_extension extension = {.members = members,
                                                  .member_count = 3,
                                                  .edges = edges,
                                                  .edge_count = 2,
                                                  .revision = -1};

    weir_flow_mint(self->executions, flow, ids, 3);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(names[i], sizeof names[i], "step %d", ++number);
        members[i] = (struct weir_execution_draft){
            .id = &ids[i], .lane = LANE, .kind = "step", .name = names[i]};
    }
    edges[0] = (struct weir_flow_edge){ids[0], ids[1], true};
    edges[1] = (struct weir_flow_edge){ids[1], ids[2], false};
    return weir_flow_extend(self->executions, NULL, flow, &extension, NULL,
                            &self->env->fixture->error);
}

static void ignore_graph(void *state, const struct weir_flow_info *info)
{
    (void)state;
    (void)info;
}

static enum weir_status budget_as(struct setup *self)
{
    static const struct weir_budget_limit LIMIT = {"tokens", 10, 0};
    const struct weir_budget_draft draft = {
        .name = "llm", .limits = &LIMIT, .limit_count = 1};

    return weir_budget_create(self->executions, &draft, NULL, &self->env->fixture->error);
}

static void note_graph(void *state, const struct weir_flow_info *info)
{
    *(struct weir_flow_info *)state = *info;
}

static struct weir_flow_info graph_as(struct setup *self, const struct weir_flow_id *flow)
{
    struct fixture *fixture = self->env->fixture;
    struct weir_flow_info info = {.members = 0};

    check_db(weir_flow_get(self->executions, flow, note_graph, &info, &fixture->error),
             WEIR_OK);
    return info;
}

/* Each waits for the one before it. */
static void work_off(struct setup *self)
{
    struct fixture *fixture = self->env->fixture;
    struct weir_claim claim;
    size_t count = 0;

    check_db(claim_as(self, 0, &claim, &count), WEIR_OK);
    while (count > 0) {
        struct weir_settlement settlement = {.claim = claim,
                                             .verb = WEIR_SETTLE_COMPLETE};

        check_db(weir_execution_settle(self->executions, &settlement, 1, &fixture->error),
                 WEIR_OK);
        check_status(settlement.status, WEIR_OK);
        check_db(claim_as(self, 0, &claim, &count), WEIR_OK);
    }
}

POSTGRESQL_TEST(roles, let_the_producer_add_to_a_flow_that_has_ended)
{
    struct env env;
    struct setup producer, runtime;
    struct weir_flow_id flow;

    env_open(&env, fixture);
    setup_open(&runtime, &env, RUNTIME, false);
    check_db(budget_as(&runtime), WEIR_OK);
    setup_open(&producer, &env, PRODUCER, false);
    check_db(flow_as(&producer, &flow), WEIR_OK);
    work_off(&runtime);
    check_int(graph_as(&runtime, &flow).state, WEIR_FLOW_COMPLETED);

    check_db(grow_as(&producer, &flow), WEIR_OK);
    check(graph_as(&runtime, &flow).state != WEIR_FLOW_COMPLETED);
    check_int(graph_as(&runtime, &flow).ended_us, 0);
    check_int(graph_as(&runtime, &flow).members, 5);
    check_db(grow_as(&producer, &flow), WEIR_OK); /* still ended as it is stored */
    work_off(&runtime);
    check_int(graph_as(&runtime, &flow).state, WEIR_FLOW_COMPLETED);
    check(graph_as(&runtime, &flow).ended_us > 0);

    check_db(grow_as(&producer, &flow), WEIR_OK);
    check_db(weir_flow_cancel(runtime.executions, &flow, WEIR_CANCEL_ALL, "no", NULL,
                              &fixture->error),
             WEIR_OK);
    check_int(graph_as(&runtime, &flow).state, WEIR_FLOW_CANCELLED);
    check_db(grow_as(&producer, &flow), WEIR_CLOSED);
    setup_close(&producer);
    setup_close(&runtime);
    env_close(&env);
}

POSTGRESQL_TEST(roles, let_the_producer_make_flows_and_no_more)
{
    static const char *const DENIED[] = {
        "UPDATE {p}_flow SET state = 0",
        "UPDATE {p}_flow SET state = 4",
        "UPDATE {p}_flow SET ended_us = 1",
        "DELETE FROM {p}_flow",
        "SELECT state FROM {p}_edge",
        "SELECT passes_data FROM {p}_edge",
        "SELECT bytes FROM {p}_passed",
        "UPDATE {p}_edge SET state = 1",
        "DELETE FROM {p}_edge",
        "UPDATE {p}_edge_group SET state = 1",
        "SELECT amount FROM {p}_spent",
        "UPDATE {p}_spent SET amount = 0",
        "DELETE FROM {p}_spent",
        "SELECT used FROM {p}_usage",
        "UPDATE {p}_usage SET used = 0",
        "UPDATE {p}_budget SET era = 9",
        "INSERT INTO {p}_budget (name) VALUES ('mine')",
        "SELECT no FROM {p}_suspension",
        "SELECT no FROM {p}_waitpoint",
        "SELECT payload FROM {p}_signal",
        "INSERT INTO {p}_signal VALUES (1, '', 'k', '', 'ok', '', '', '', 1)",
        "SELECT secret FROM {p}_secret",
    };
    struct weir_amount amount = {"tokens", 1};
    struct weir_budget_answer answer;
    struct env env;
    struct setup producer, runtime;
    struct weir_flow_id flow;

    env_open(&env, fixture);
    setup_open(&runtime, &env, RUNTIME, false);
    check_db(budget_as(&runtime), WEIR_OK);
    setup_open(&producer, &env, PRODUCER, false);
    check_db(flow_as(&producer, &flow), WEIR_OK);
    check_db(grow_as(&producer, &flow), WEIR_OK);
    check_db(weir_flow_cancel(producer.executions, &flow, WEIR_CANCEL_ALL, "no", NULL,
                              &fixture->error),
             WEIR_DENIED);
    check_db(
        weir_flow_get(producer.executions, &flow, ignore_graph, NULL, &fixture->error),
        WEIR_DENIED);
    check_db(budget_as(&producer), WEIR_DENIED);
    check_db(weir_budget_report(producer.executions, "llm", NULL, &amount, 1, NULL,
                                &answer, &fixture->error),
             WEIR_DENIED);
    check_db(weir_budget_reset(producer.executions, "llm", &fixture->error), WEIR_DENIED);
    for (size_t i = 0; i < sizeof DENIED / sizeof DENIED[0]; i++)
        check_db(run_as(&env, PRODUCER, DENIED[i]), WEIR_DENIED);
    check_db(weir_flow_cancel(runtime.executions, &flow, WEIR_CANCEL_ALL, "no", NULL,
                              &fixture->error),
             WEIR_OK);
    setup_close(&producer);
    setup_close(&runtime);
    env_close(&env);
}

/* Everything but what passes between workers and the world. */
POSTGRESQL_TEST(roles, let_the_viewer_see_flows_and_no_payload)
{
    static const char *const DENIED[] = {
        "SELECT payload FROM {p}_signal", "SELECT * FROM {p}_signal",
        "SELECT bytes FROM {p}_input",    "SELECT bytes FROM {p}_result",
        "SELECT secret FROM {p}_secret",  "SELECT * FROM {p}_secret",
        "UPDATE {p}_flow SET state = 3",  "INSERT INTO {p}_suspension (no) VALUES (1)",
        "DELETE FROM {p}_waitpoint",      "UPDATE {p}_budget SET era = 1",
    };
    static const char *const ALLOWED[] = {
        "SELECT no, waitpoint, name, source, came_us FROM {p}_signal",
        "SELECT * FROM {p}_suspension",
        "SELECT * FROM {p}_waitpoint",
        "SELECT * FROM {p}_edge",
        "SELECT * FROM {p}_edge_group",
        "SELECT * FROM {p}_usage",
        "SELECT * FROM {p}_spent",
    };
    struct env env;
    struct setup viewer, runtime;
    struct weir_flow_id flow;

    env_open(&env, fixture);
    setup_open(&runtime, &env, RUNTIME, false);
    check_db(budget_as(&runtime), WEIR_OK);
    check_db(flow_as(&runtime, &flow), WEIR_OK);
    setup_open(&viewer, &env, VIEWER, false);
    check_db(weir_flow_get(viewer.executions, &flow, ignore_graph, NULL, &fixture->error),
             WEIR_OK);
    check_db(flow_as(&viewer, &flow), WEIR_DENIED);
    for (size_t i = 0; i < sizeof ALLOWED / sizeof ALLOWED[0]; i++)
        check_db(run_as(&env, VIEWER, ALLOWED[i]), WEIR_OK);
    for (size_t i = 0; i < sizeof DENIED / sizeof DENIED[0]; i++)
        check_db(run_as(&env, VIEWER, DENIED[i]), WEIR_DENIED);
    setup_close(&viewer);
    setup_close(&runtime);
    env_close(&env);
}

/* What a suspended worker, its approver and its accountant call. */
POSTGRESQL_TEST(roles, let_the_runtime_suspend_signal_and_report)
{
    struct env env;
    struct setup runtime;
    struct weir_submission submission;
    struct weir_waitpoint waitpoint = {.key = "a"};
    struct weir_suspend_options options;
    struct weir_signal signal = {.name = "ok", .source_type = "user", .source = "bob"};
    struct weir_amount amount = {"tokens", 1};
    enum weir_signal_effect effect;
    struct weir_budget_answer answer;
    struct weir_claim claim;
    bool satisfied = false;
    size_t count = 0;

    env_open(&env, fixture);
    setup_open(&runtime, &env, RUNTIME, true);
    check_db(budget_as(&runtime), WEIR_OK);
    check_db(submit_as(&runtime, NULL, &submission), WEIR_OK);
    check_db(claim_as(&runtime, 0, &claim, &count), WEIR_OK);
    weir_suspend_options_init(&options);
    options.waitpoints = &waitpoint;
    options.waitpoint_count = 1;
    options.until = "ok@a";
    check_db(weir_execution_suspend(runtime.executions, &claim, &options, &satisfied,
                                    NULL, &fixture->error),
             WEIR_OK);
    signal.id = submission.id;
    signal.token = waitpoint.token;
    memcpy(signal.waitpoint, waitpoint.uuid, WEIR_UUID_SIZE);
    check_db(weir_execution_signal(runtime.executions, &signal, &effect, &fixture->error),
             WEIR_OK);
    check_int(effect, WEIR_SIGNAL_RESUMED);
    check_db(weir_budget_report(runtime.executions, "llm", &submission.id, &amount, 1,
                                "k", &answer, &fixture->error),
             WEIR_OK);
    check_db(
        weir_budget_release(runtime.executions, "llm", &submission.id, &fixture->error),
        WEIR_OK);
    check_db(weir_budget_reset(runtime.executions, "llm", &fixture->error), WEIR_OK);
    setup_close(&runtime);
    env_close(&env);
}

/* Every call, as one who has nothing but the role. */
POSTGRESQL_TEST(roles, let_the_runtime_execute)
{
    struct env env;
    struct setup runtime;
    struct weir_submission submission;
    struct weir_revocation revocation = {.instance = NULL};
    struct weir_renewal renewal;
    struct weir_settlement settlement = {.verb = WEIR_SETTLE_FAIL, .reason = "broken"};
    void *result = NULL;
    size_t count = 0;
    size_t size = 0;

    env_open(&env, fixture);
    setup_open(&runtime, &env, RUNTIME, true);
    check_db(claim_as(&runtime, 10, &settlement.claim, &count), WEIR_OK);
    check_int(count, 0);
    check_db(submit_as(&runtime, "a", &submission), WEIR_OK);
    check_db(
        weir_execution_prioritise(runtime.executions, &submission.id, 5, &fixture->error),
        WEIR_OK);
    check_db(claim_as(&runtime, 0, &settlement.claim, &count), WEIR_OK);
    check_db(weir_execution_revoke(runtime.executions, &submission.id, &revocation,
                                   &fixture->error),
             WEIR_OK);
    check(revocation.revoked);
    check_db(claim_as(&runtime, 0, &settlement.claim, &count), WEIR_OK);
    renewal.claim = settlement.claim;
    check_db(
        weir_execution_renew(runtime.executions, 30000, &renewal, 1, &fixture->error),
        WEIR_OK);
    check_db(weir_execution_progress(runtime.executions, &settlement.claim, 50, "half",
                                     NULL, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_settle(runtime.executions, &settlement, 1, &fixture->error),
             WEIR_OK);
    check_status(settlement.status, WEIR_OK);
    check_db(weir_execution_replay(runtime.executions, &submission.id, &fixture->error),
             WEIR_OK);
    check_db(claim_as(&runtime, 0, &settlement.claim, &count), WEIR_OK);
    settlement.verb = WEIR_SETTLE_COMPLETE;
    settlement.result = "out";
    settlement.result_size = 3;
    check_db(weir_execution_settle(runtime.executions, &settlement, 1, &fixture->error),
             WEIR_OK);
    check_status(settlement.status, WEIR_OK);
    check_db(weir_execution_result(runtime.executions, &submission.id, &result, &size,
                                   &fixture->error),
             WEIR_OK);
    check_int(size, 3);
    weir_executions_free(runtime.executions, result);
    check_db(submit_as(&runtime, NULL, &submission), WEIR_OK);
    check_db(
        weir_execution_cancel(runtime.executions, &submission.id, NULL, &fixture->error),
        WEIR_OK);
    setup_close(&runtime);

    check_db(run_as(&env, RUNTIME, "UPDATE {p}_term SET text = 'x'"), WEIR_DENIED);
    check_db(run_as(&env, RUNTIME, "DELETE FROM {p}_term"), WEIR_DENIED);
    check_db(run_as(&env, RUNTIME, "TRUNCATE {p}_execution"), WEIR_DENIED);
    check_db(run_as(&env, RUNTIME, "SELECT setval('{p}_execution_no_seq', 1)"),
             WEIR_DENIED);
    check_db(run_as(&env, RUNTIME, "DROP TABLE {p}_execution"), WEIR_DENIED);
    env_close(&env);
}

/* One that is due for each reconciler; what has ended is removed in the end. */
static void make_due(struct env *env)
{
    static const char *const DUE[] = {
        "state = 2, due_us = 1", "state = 4, epoch = 1, attempts = 1, lease_us = 1",
        "state = 4, epoch = 1, attempts = 1, lease_us = 9E15, attempt_deadline_us = 1",
        "deadline_us = 1", "state = 12, ended_us = 1"};
    char sql[256];

    for (int i = 0; i < 5; i++) {
        (void)snprintf(sql, sizeof sql,
                       "UPDATE weir_execution SET %s WHERE no ="
                       " (SELECT min(no) + %d FROM weir_execution)",
                       DUE[i], i);
        server_execute(env->server, "app", sql);
    }
}

POSTGRESQL_TEST(roles, let_the_runtime_reconcile)
{
    struct weir_execution_supervisor_options options;
    struct weir_execution_supervisor *supervisor = NULL;
    struct weir_scan_info infos[WEIR_RECONCILER_COUNT];
    struct env env;
    struct setup runtime;
    struct weir_submission submission;
    size_t count;

    env_open(&env, fixture);
    setup_open(&runtime, &env, RUNTIME, true);
    for (int i = 0; i < 5; i++)
        check_db(submit_as(&runtime, NULL, &submission), WEIR_OK);
    make_due(&env);
    weir_execution_supervisor_options_init(&options);
    options.executions = runtime.executions;
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        options.interval_ms[i] = 100;
    check_db(weir_execution_supervisor_create(&options, &supervisor, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_supervisor_start(supervisor, &fixture->error), WEIR_OK);

    wait_until(server_query(env.server, "app",
                            "SELECT count(*) FROM weir_execution"
                            " WHERE state = 1") == 2);
    wait_until(server_query(env.server, "app", "SELECT count(*) FROM weir_execution") ==
               4);

    wait_until(server_query(env.server, "app",
                            "SELECT count(*) FROM weir_execution"
                            " WHERE state = 13") == 2);
    count = weir_execution_supervisor_read(supervisor, infos, WEIR_RECONCILER_COUNT);
    for (size_t i = 0; i < count; i++)
        check_int(infos[i].ticks_failed, 0);
    check_int(weir_execution_supervisor_stop(supervisor, WEIR_SECONDS(60)), 0);
    weir_execution_supervisor_destroy(supervisor);
    setup_close(&runtime);
    env_close(&env);
}

POSTGRESQL_TEST(roles, let_the_viewer_see_executions_without_their_contents)
{
    const struct weir_execution_filter filter = {.count = 10};
    struct env env;
    struct setup runtime, viewer;
    struct weir_submission submission;
    struct weir_settlement settlement = {
        .verb = WEIR_SETTLE_COMPLETE, .result = "x", .result_size = 1};
    void *result = NULL;
    size_t count = 0;
    size_t size = 0;
    int64_t next;

    env_open(&env, fixture);
    setup_open(&runtime, &env, RUNTIME, false);
    check_db(submit_as(&runtime, "a", &submission), WEIR_OK);
    check_db(claim_as(&runtime, 0, &settlement.claim, &count), WEIR_OK);
    check_db(weir_execution_settle(runtime.executions, &settlement, 1, &fixture->error),
             WEIR_OK);
    setup_close(&runtime);
    setup_open(&viewer, &env, VIEWER, false);

    check_db(weir_execution_get(viewer.executions, &submission.id, ignore, NULL,
                                &fixture->error),
             WEIR_OK);
    check_db(weir_execution_list(viewer.executions, &filter, ignore, NULL, &next,
                                 &fixture->error),
             WEIR_OK);
    check_db(weir_execution_attempts(viewer.executions, &submission.id, ignore_attempt,
                                     NULL, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_result(viewer.executions, &submission.id, &result, &size,
                                   &fixture->error),
             WEIR_DENIED);
    check_db(submit_as(&viewer, "b", &submission), WEIR_DENIED);
    check_db(claim_as(&viewer, 0, &settlement.claim, &count), WEIR_DENIED);
    check_db(
        weir_execution_cancel(viewer.executions, &submission.id, NULL, &fixture->error),
        WEIR_DENIED);
    setup_close(&viewer);

    check_db(run_as(&env, VIEWER, "SELECT no FROM {p}_input"), WEIR_OK);
    check_db(run_as(&env, VIEWER, "SELECT key_id FROM {p}_secret"), WEIR_OK);
    check_db(run_as(&env, VIEWER, "SELECT value FROM {p}_tag"), WEIR_OK);
    check_db(run_as(&env, VIEWER, "SELECT bytes FROM {p}_input"), WEIR_DENIED);
    check_db(run_as(&env, VIEWER, "SELECT * FROM {p}_result"), WEIR_DENIED);
    check_db(run_as(&env, VIEWER, "SELECT secret FROM {p}_secret"), WEIR_DENIED);
    check_db(run_as(&env, VIEWER, "SELECT payload FROM {p}_signal"), WEIR_DENIED);
    check_db(run_as(&env, VIEWER, "UPDATE {p}_execution SET priority = 1"), WEIR_DENIED);
    check_db(run_as(&env, VIEWER, "SELECT setval('{p}_awaited', 9)"), WEIR_DENIED);
    env_close(&env);
}

/* ---- the page ---------------------------------------------------------------------- */

/* It is in the repository, above the program, wherever that was started. */
static FILE *open_page(void)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 32);
    FILE *page = NULL;

    check(size > 0);
    for (char *slash;
         page == NULL && (path[size] = '\0', (slash = strrchr(path, '/')) != NULL);) {
        size = slash - path;
        snprintf(slash, 32, "/docs/roles.md");
        page = fopen(path, "re");
    }
    if (page == NULL)
        weir_test_fail(__FILE__, __LINE__, "there is no docs/roles.md");
    return page;
}

/* The SQL between fences in the section of this heading. */
static void read_blocks(struct env *self, const char *heading)
{
    char line[512];
    bool in_section = false;
    bool in_block = false;
    int block = 0;
    FILE *page = open_page();

    while (fgets(line, sizeof line, page) != NULL) {
        if (strncmp(line, "## ", 3) == 0)
            in_section = strncmp(line + 3, heading, strlen(heading)) == 0;
        if (!in_section)
            continue;
        if (strncmp(line, "```", 3) == 0) {
            block += in_block;
            in_block = !in_block;
        } else if (in_block) {
            check(block < BLOCKS_MAX);
            check(strlen(self->blocks[block]) + strlen(line) < sizeof self->blocks[0]);
            strcat(self->blocks[block], line);
        }
    }
    (void)fclose(page);
    check_int(block, 2);
}

static void run_on_postgresql(struct env *self, const char *user, const char *password,
                              const char *text)
{
    char url[SERVER_URL_SIZE];
    PGconn *handle;
    PGresult *result;

    server_url_as(self->server, user, password, "app", url, sizeof url);
    handle = PQconnectdb(url);
    result = PQexec(handle, text);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        weir_test_fail(__FILE__, __LINE__, "as %s: %s", user, PQerrorMessage(handle));
    PQclear(result);
    PQfinish(handle);
}

/* By MariaDB's own client, which knows DELIMITER. */
static void run_on_mariadb(struct env *self, const char *user, const char *password,
                           const char *text)
{
    char path[SERVER_PATH_SIZE];
    char words[4][SERVER_PATH_SIZE + 32];
    struct process_options options = {.folder = server_folder(), .death_signal = SIGKILL};
    FILE *file;

    check(snprintf(path, sizeof path, "%s/block.sql", server_folder()) <
          (int)sizeof path);
    file = fopen(path, "we");
    check(file != NULL && fputs(text, file) >= 0);
    check_int(fclose(file), 0);
    snprintf(words[0], sizeof words[0], "--port=%d", server_port(self->server));
    snprintf(words[1], sizeof words[1], "--user=%s", user);
    snprintf(words[2], sizeof words[2], "--password=%s", password);
    snprintf(words[3], sizeof words[3], "--execute=source %s", path);
    process_run(&options,
                (const char *[]){"/usr/bin/mariadb", "--no-defaults", "--skip-ssl",
                                 "--host=127.0.0.1", words[0], words[1], words[2],
                                 "--abort-source-on-error", words[3], "app", NULL});
}

static void run_block(struct env *self, int block, const char *user, const char *password)
{
    if (self->fixture->engine == WEIR_POSTGRESQL)
        run_on_postgresql(self, user, password, self->blocks[block]);
    else
        run_on_mariadb(self, user, password, self->blocks[block]);
}

/* ---- the house --------------------------------------------------------------------- */

static void env_open(struct env *self, struct fixture *fixture)
{
    struct weir_db *db;

    memset(self, 0, sizeof *self);
    self->fixture = fixture;
    read_blocks(self, fixture_choose(fixture, "", "PostgreSQL", "MariaDB"));
    self->server = server_create(fixture->engine, NULL);
    server_create_database(self->server, "app");
    run_block(self, 0, SERVER_USER, SERVER_PASSWORD);
    db = open_as(self, OWNER);
    check_db(weir_outbox_migrate(db, &fixture->error), WEIR_OK);
    if (fixture->engine == WEIR_POSTGRESQL)
        check_db(weir_executions_migrate(db, &fixture->error), WEIR_OK);
    weir_db_destroy(db);
    run_block(self, 1, OWNER, PASSWORD);
}

static void env_close(struct env *self)
{
    server_destroy(self->server);
}

static struct weir_db *open_as(struct env *self, const char *user)
{
    struct weir_db_options options = fixture_options(self->fixture);
    char url[SERVER_URL_SIZE];

    server_url_as(self->server, user, PASSWORD, "app", url, sizeof url);
    options.url = url;
    return fixture_open(self->fixture, &options);
}

/* From the newest version that we know to one more. */
static enum weir_status migrate_later_as(struct env *self, const char *user)
{
    uint32_t known = (uint32_t)weir_outbox_schema.count;
    struct weir_migration migrations[32];
    struct weir_schema schema = {.migrations = migrations, .count = known + 1};
    struct weir_db *db = open_as(self, user);
    uint32_t from;
    uint32_t to;
    enum weir_status status;

    check(known < sizeof migrations / sizeof migrations[0]);
    memcpy(migrations, weir_outbox_schema.migrations, known * sizeof migrations[0]);
    migrations[known] = (struct weir_migration){
        .number = known + 1,
        .readable_by = 1,
        .name = "later",
        .statements = {[WEIR_POSTGRESQL] = LATER, [WEIR_MARIADB] = LATER},
    };
    status = weir_schema_migrate(&schema, db, &from, &to, &self->fixture->error);
    weir_db_destroy(db);
    return status;
}

static enum weir_status check_as(struct env *self, const char *user)
{
    struct fixture *fixture = self->fixture;
    struct weir_db *db = open_as(self, user);
    struct weir_connection *connection;
    enum weir_status status;

    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    status = weir_schema_check(&weir_outbox_schema, connection, &fixture->error);
    weir_db_release(db, connection);
    weir_db_destroy(db);
    return status;
}

static enum weir_status run_as(struct env *self, const char *user, const char *text)
{
    struct fixture *fixture = self->fixture;
    struct weir_db *db = open_as(self, user);
    struct weir_connection *connection;
    enum weir_status status;

    check_db(weir_db_acquire(db, &connection, &fixture->error), WEIR_OK);
    status = weir_connection_execute_ddl(connection, text, &fixture->error);
    weir_db_release(db, connection);
    weir_db_destroy(db);
    return status;
}
