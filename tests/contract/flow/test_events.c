/*
 * Events: each happens once, with what it tells of, or not at all.
 */
#include "contract/flow/flow/graphs.h"
#include "contract/flow/flow_fixture.h"
#include "kit/outbox/outbox_fixture.h"

struct setup {
    struct weir_outbox *outbox;
    struct weir_executions *executions;
};

static struct setup setup_open(struct fixture *fixture)
{
    struct setup self = {.outbox = outbox_fixture_outbox(fixture, "anna")};

    self.executions = flow_fixture_open_with(fixture, fixture->db, self.outbox);
    return self;
}

static void setup_close(struct setup *self)
{
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
}

/* Messages of this queue and type. */
static int64_t told(struct fixture *fixture, const char *queue, const char *type)
{
    char sql[256];

    (void)snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM weir_log l JOIN weir_queue q"
        " ON l.pid / 64 = q.id WHERE q.name = 'execution.%s' AND l.type = '%s'",
        queue, type);
    return fixture_ask(fixture, sql);
}

static int64_t told_at_all(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_log");
}

FLOW_TEST(events, of_a_life_are_told_once_each)
{
    struct setup setup = setup_open(fixture);
    struct weir_claim claim;

    (void)flow_fixture_submit(fixture, setup.executions, "orders");
    check_int(told_at_all(fixture), 0);
    claim = flow_fixture_claim(fixture, setup.executions, "orders", "anna");
    flow_fixture_settle(fixture, setup.executions, &claim, WEIR_SETTLE_COMPLETE);
    flow_fixture_settle(fixture, setup.executions, &claim,
                        WEIR_SETTLE_COMPLETE); /* a lost reply */

    check_int(told(fixture, "lease", "acquired"), 1);
    check_int(told(fixture, "lease", "revoked"), 1);
    check_int(told(fixture, "completion", "success"), 1);
    check_int(told_at_all(fixture), 3);
    setup_close(&setup);
}

FLOW_TEST(events, of_operators_are_told)
{
    struct setup setup = setup_open(fixture);
    struct weir_execution_id id =
        flow_fixture_submit(fixture, setup.executions, "orders");
    struct weir_revocation revocation = {.instance = NULL};

    check_db(weir_execution_prioritise(setup.executions, &id, 7, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_prioritise(setup.executions, &id, 7, &fixture->error),
             WEIR_OK);
    (void)flow_fixture_claim(fixture, setup.executions, "orders", "anna");
    check_db(weir_execution_revoke(setup.executions, &id, &revocation, &fixture->error),
             WEIR_OK);
    (void)flow_fixture_claim(fixture, setup.executions, "orders", "anna");
    check_db(weir_execution_cancel(setup.executions, &id, "no", &fixture->error),
             WEIR_OK);
    check_db(weir_execution_replay(setup.executions, &id, &fixture->error), WEIR_OK);

    check_int(told(fixture, "operator", "priority_changed"), 1);
    check_int(told(fixture, "operator", "replayed"), 1);
    check_int(told(fixture, "lease", "acquired"), 1);
    check_int(told(fixture, "lease", "reclaimed"), 1);
    check_int(told(fixture, "lease", "revoked"), 2);
    check_int(told(fixture, "completion", "cancelled"), 1);
    setup_close(&setup);
}

FLOW_TEST(events, of_a_cancel_without_lease_are_no_lease_events)
{
    struct setup setup = setup_open(fixture);
    struct weir_execution_id id =
        flow_fixture_submit(fixture, setup.executions, "orders");

    check_db(weir_execution_cancel(setup.executions, &id, "no", &fixture->error),
             WEIR_OK);

    check_int(told(fixture, "completion", "cancelled"), 1);
    check_int(told_at_all(fixture), 1);
    setup_close(&setup);
}

/* All of a change, then a rollback: neither the row nor the event is there. */
FLOW_TEST(events, of_a_transaction_that_rolls_back_are_told_to_nobody)
{
    struct setup setup = setup_open(fixture);
    struct weir_execution_id id =
        flow_fixture_submit(fixture, setup.executions, "orders");
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_pending_wakeups pending_wakeups = {.ready = false};
    struct weir_change change = {.stored = NULL};
    struct weir_execution_records records;

    weir_execution_records_init(&records, &fixture->heap.heap, 1);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_store_load_by_id(&setup.executions->store, connection, &id, 1, &records,
                                   &fixture->error),
             WEIR_OK);
    change.stored = &records.rows[0];
    check_int(
        weir_rule_cancel(&change.stored->row, weir_str("x"), 5, &change.consequence),
        WEIR_RULING_DONE);
    check_db(weir_change_set_store(setup.executions, connection, &change, 1, 5,
                                   &pending_wakeups, &fixture->error),
             WEIR_OK);
    check(pending_wakeups.over && pending_wakeups.events);
    weir_connection_rollback(connection);

    check_int(told_at_all(fixture), 0);
    check_str(flow_fixture_state(fixture, setup.executions, &id), "waiting");
    weir_execution_records_fini(&records);
    fixture_give(fixture, connection);
    setup_close(&setup);
}

/* What the handler of the next test saw. */
struct heard {
    char key[64];
    char payload[1024];
    _Atomic int count;
};

static enum weir_outcome hear(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    struct heard *self = state;

    (void)context;
    (void)reason;
    (void)snprintf(self->key, sizeof self->key, "%s", message->key);
    (void)snprintf(self->payload, sizeof self->payload, "%.*s",
                   (int)message->payload_size, (const char *)message->payload);
    self->count++;
    return WEIR_DONE;
}

FLOW_TEST(events, come_to_a_subscriber_with_id_names_and_tags)
{
    static const struct weir_tag TAG = {"tenant.plan", "go\"ld"};
    struct setup setup = setup_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_handler_options options;
    struct heard heard = {.count = 0};
    char id_text[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_execution_id id;
    struct weir_claim claim;

    weir_handler_options_init(&options);
    options.queue = "execution.completion";
    options.on_message = hear;
    options.state = &heard;
    outbox_fixture_add(fixture, setup.outbox, &options);
    outbox_fixture_start(fixture, setup.outbox);
    draft.name_space = "acme";
    draft.tags = &TAG;
    draft.tag_count = 1;
    id = flow_fixture_submit_draft(fixture, setup.executions, &draft);
    claim = flow_fixture_claim(fixture, setup.executions, "orders", "anna");
    flow_fixture_settle(fixture, setup.executions, &claim, WEIR_SETTLE_FAIL);
    wait_until(heard.count == 1);

    check_str(heard.key, weir_execution_id_format(&id, id_text));
    check(strstr(heard.payload, "{\"event\":\"failed\",\"execution\":\"") ==
          heard.payload);
    check(strstr(heard.payload, id_text) ==
          heard.payload + strlen("{\"event\":\"failed\",\"execution\":\""));
    check(strstr(heard.payload, "\"namespace\":\"acme\",\"lane\":\"orders\","
                                "\"kind\":\"mail\"") != NULL);
    check(strstr(heard.payload, "\"reason\":\"because\"") != NULL);
    check(strstr(heard.payload, "\"tags\":{\"tenant.plan\":\"go\\\"ld\"}}") != NULL);
    outbox_fixture_stop(setup.outbox);
    setup_close(&setup);
}

/* One of two members, of which one has begun. It is cancelled twice. */
static void cancel_flow(struct fixture *fixture, struct weir_executions *executions,
                        enum weir_flow_cancel_policy policy, struct weir_flow_id *out)
{
    struct weir_flow_draft draft = {.name_space = "acme", .kind = "order"};
    struct flow flow = {.fixture = fixture, .executions = executions};

    check_db(weir_flow_create(executions, &draft, &flow.id, &fixture->error), WEIR_OK);
    weir_flow_mint(executions, &flow.id, flow.members, GRAPH_LETTERS);
    graph_add(&flow, "ab", "");
    (void)graph_claim(&flow, 'a');
    for (int times = 0; times < 2; times++)
        check_db(weir_flow_cancel(executions, &flow.id, policy, "en\"ough", NULL,
                                  &fixture->error),
                 WEIR_OK);
    *out = flow.id;
}

FLOW_TEST(events, of_a_flow_that_is_cancelled_say_how_and_why)
{
    static const char *const POLICIES[] = {
        [WEIR_CANCEL_FLOW_ONLY] = "\"policy\":\"cancel_flow_only\",\"members\":0",
        [WEIR_CANCEL_ALL] = "\"policy\":\"cancel_all\",\"members\":2",
        [WEIR_CANCEL_PENDING] = "\"policy\":\"cancel_pending\",\"members\":1",
    };
    struct setup setup = setup_open(fixture);
    struct weir_handler_options options;
    struct heard heard = {.count = 0};

    weir_handler_options_init(&options);
    options.queue = "execution.operator";
    options.on_message = hear;
    options.state = &heard;
    outbox_fixture_add(fixture, setup.outbox, &options);
    outbox_fixture_start(fixture, setup.outbox);
    for (int policy = 0; policy <= WEIR_CANCEL_PENDING; policy++) {
        char id[WEIR_FLOW_ID_TEXT_SIZE];
        struct weir_flow_id flow;

        cancel_flow(fixture, setup.executions, (enum weir_flow_cancel_policy)policy,
                    &flow);
        wait_until(heard.count == policy + 1);
        check_str(heard.key, weir_flow_id_format(&flow, id));
        check(strstr(heard.payload, "{\"event\":\"flow_cancel_requested\",\"flow\":\"") ==
              heard.payload);
        check(strstr(heard.payload, id) != NULL);
        check(strstr(heard.payload, "\"namespace\":\"acme\",\"kind\":\"order\"") != NULL);
        check(strstr(heard.payload, POLICIES[policy]) != NULL);
        check(strstr(heard.payload, "\"reason\":\"en\\\"ough\"}") != NULL);
    }
    outbox_fixture_stop(setup.outbox);
    setup_close(&setup);
}

FLOW_TEST(events, of_a_flow_come_with_its_first_cancel_and_not_when_it_has_ended)
{
    struct setup setup = setup_open(fixture);
    struct weir_flow_id cancelled;
    struct flow flow;

    graph_open(&flow, fixture, setup.executions);
    graph_add(&flow, "a", "");
    graph_end(&flow, 'a', WEIR_SETTLE_COMPLETE);
    check_db(weir_flow_cancel(setup.executions, &flow.id, WEIR_CANCEL_ALL, "late", NULL,
                              &fixture->error),
             WEIR_OK);
    check_int(told(fixture, "operator", "flow_cancel_requested"), 0);
    cancel_flow(fixture, setup.executions, WEIR_CANCEL_ALL, &cancelled);

    check_int(told(fixture, "operator", "flow_cancel_requested"), 1);
    setup_close(&setup);
}

/* Types of what came, in the order in which it came. */
struct order {
    char types[1024];
    _Atomic int count;
};

static enum weir_outcome note_order(struct weir_context *context, void *state,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    struct order *self = state;
    size_t used = strlen(self->types);

    (void)context;
    (void)reason;
    (void)snprintf(self->types + used, sizeof self->types - used, "%s ", message->type);
    self->count++;
    return WEIR_DONE;
}

static struct setup setup_open_for(struct fixture *fixture, const char *queue,
                                   struct order *order)
{
    struct setup self = setup_open(fixture);
    struct weir_handler_options options;

    weir_handler_options_init(&options);
    options.queue = queue;
    options.on_message = note_order;
    options.state = order;
    outbox_fixture_add(fixture, self.outbox, &options);
    return self;
}

/* Claimed and given back, so often. */
static void claim_and_fail(struct fixture *fixture, struct weir_executions *executions,
                           int times)
{
    for (int i = 0; i < times; i++) {
        struct weir_claim claim =
            flow_fixture_claim(fixture, executions, "orders", "anna");

        flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_FAIL);
    }
}

FLOW_TEST(events, of_a_burst_come_in_their_order)
{
    enum { TIMES = 20 };
    static const char ONCE[] = "acquired revoked ";
    struct order order = {.types = ""};
    struct setup setup = setup_open_for(fixture, "execution.lease", &order);

    (void)flow_fixture_submit_retrying(fixture, setup.executions, TIMES);
    claim_and_fail(fixture, setup.executions, TIMES);
    outbox_fixture_start(fixture, setup.outbox);
    wait_until(order.count == 2 * TIMES);

    for (size_t i = 0; i < TIMES; i++)
        check(memcmp(order.types + i * strlen(ONCE), ONCE, strlen(ONCE)) == 0);
    outbox_fixture_stop(setup.outbox);
    setup_close(&setup);
}

FLOW_TEST(events, go_on_behind_what_was_heard_when_the_subscriber_comes_back)
{
    struct order first = {.types = ""};
    struct order second = {.types = ""};
    struct setup setup = setup_open_for(fixture, "execution.lease", &first);

    outbox_fixture_start(fixture, setup.outbox);
    (void)flow_fixture_submit_retrying(fixture, setup.executions, 1);
    claim_and_fail(fixture, setup.executions, 1);
    wait_until(first.count == 2);
    outbox_fixture_stop(setup.outbox);
    (void)flow_fixture_claim(fixture, setup.executions, "orders",
                             "anna"); /* nobody listens */
    setup_close(&setup);

    setup = setup_open_for(fixture, "execution.lease", &second);
    outbox_fixture_start(fixture, setup.outbox);
    wait_until(second.count == 1);

    check_str(first.types, "acquired revoked ");
    check_str(second.types, "acquired ");
    outbox_fixture_stop(setup.outbox);
    setup_close(&setup);
}

FLOW_TEST(events, of_a_failure_for_good_are_told_once)
{
    struct setup setup = setup_open(fixture);
    struct weir_settlement settlement = {.verb = WEIR_SETTLE_FAIL, .permanent = true};

    (void)flow_fixture_submit_retrying(fixture, setup.executions, 5);
    settlement.claim = flow_fixture_claim(fixture, setup.executions, "orders", "anna");
    check_db(weir_execution_settle(setup.executions, &settlement, 1, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_settle(setup.executions, &settlement, 1, &fixture->error),
             WEIR_OK);

    check_int(told(fixture, "completion", "failed"), 1);
    setup_close(&setup);
}

FLOW_TEST(events, of_renewals_are_none)
{
    struct setup setup = setup_open(fixture);
    struct weir_renewal renewal;

    (void)flow_fixture_submit(fixture, setup.executions, "orders");
    renewal.claim = flow_fixture_claim(fixture, setup.executions, "orders", "anna");
    for (int i = 0; i < 3; i++) {
        check_db(
            weir_execution_renew(setup.executions, 60000, &renewal, 1, &fixture->error),
            WEIR_OK);
        check_status(renewal.status, WEIR_OK);
    }

    check_int(told_at_all(fixture), 1); /* that it was acquired */
    setup_close(&setup);
}

/* 64 tags of the largest size are more than a payload may have. */
FLOW_TEST(events, leave_out_tags_that_would_not_fit)
{
    static char keys[WEIR_TAGS_MAX][16];
    static char value[WEIR_TAG_SIZE_MAX + 1];
    static struct weir_tag tags[WEIR_TAGS_MAX];
    struct weir_outbox_options small = outbox_fixture_options(fixture, "anna");
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct setup setup;
    struct weir_execution_id id;

    small.payload_size_max = 8192;
    setup.outbox = outbox_fixture_create(fixture, &small);
    setup.executions = flow_fixture_open_with(fixture, fixture->db, setup.outbox);
    memset(value, 'v', WEIR_TAG_SIZE_MAX);
    for (size_t i = 0; i < WEIR_TAGS_MAX; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k.%zu", i);
        tags[i] = (struct weir_tag){keys[i], value};
    }
    draft.tags = tags;
    draft.tag_count = WEIR_TAGS_MAX;
    id = flow_fixture_submit_draft(fixture, setup.executions, &draft);
    check_db(weir_execution_cancel(setup.executions, &id, "no", &fixture->error),
             WEIR_OK);

    check_int(told(fixture, "completion", "cancelled"), 1);
    check(fixture_ask(fixture, "SELECT length(payload) FROM weir_log") < 1000);
    setup_close(&setup);
}

FLOW_TEST(events, need_an_outbox_that_takes_their_size)
{
    struct weir_outbox_options small = outbox_fixture_options(fixture, "anna");
    struct weir_executions_options options;
    struct weir_executions *executions = NULL;

    small.payload_size_max = 8191;
    weir_executions_options_init(&options);
    options.db = fixture->db;
    options.outbox = outbox_fixture_create(fixture, &small);

    check_db(weir_executions_create(&options, &executions, &fixture->error),
             WEIR_INVALID);

    check_str(fixture->error.text,
              "create executions: the outbox's payload_size_max is 8191, "
              "must be at least 8192 for events");
    weir_outbox_destroy(options.outbox);
}
