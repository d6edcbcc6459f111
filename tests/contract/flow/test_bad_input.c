/*
 * What is refused: every argument of every call, with a status and a text that names
 * field and limit, and nothing of the call done. And what is just within the limits,
 * which works.
 */
#include <stdlib.h>

#include "contract/flow/flow_fixture.h"
#include "kit/outbox/outbox_application.h"

enum { LONG = 2048 };

static const char *const ORDERS = "orders";

/* So many x. Lives for ever. */
static const char *xs(size_t count)
{
    static char texts[8][LONG + 1];
    static size_t used;
    char *text = texts[used++ % 8];

    check(count <= LONG);
    memset(text, 'x', count);
    text[count] = '\0';
    return text;
}

static void check_text(struct fixture *fixture, const char *field, const char *limit)
{
    if (strstr(fixture->error.text, field) == NULL ||
        strstr(fixture->error.text, limit) == NULL)
        weir_test_fail(__FILE__, __LINE__, "no \"%s\" and \"%s\" in \"%s\"", field, limit,
                       fixture->error.text);
}

/* Anything that a submit makes. */
static int64_t stored(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT (SELECT count(*) FROM weir_execution)"
                                " + (SELECT count(*) FROM weir_input)"
                                " + (SELECT count(*) FROM weir_tag)"
                                " + (SELECT count(*) FROM weir_idempotency)"
                                " + (SELECT count(*) FROM weir_term)");
}

/* ---- submit ------------------------------------------------------------------------ */

/* As the last of three. */
static void refuse_in(struct fixture *fixture, struct weir_executions *executions,
                      struct weir_connection *connection,
                      const struct weir_execution_draft *bad, enum weir_status status,
                      const char *field, const char *limit)
{
    const struct weir_execution_draft drafts[3] = {flow_fixture_draft("good"),
                                                   flow_fixture_draft("better"), *bad};
    struct weir_submission out[3];

    check_db(
        weir_execution_submit(executions, connection, drafts, 3, out, &fixture->error),
        status);
    check_text(fixture, "draft 3 of 3", field);
    check_text(fixture, field, limit);
}

static void refuse(struct fixture *fixture, struct weir_executions *executions,
                   const struct weir_execution_draft *bad, enum weir_status status,
                   const char *field, const char *limit)
{
    refuse_in(fixture, executions, NULL, bad, status, field, limit);
}

FLOW_TEST(submit, of_names_against_the_rules_creates_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    draft.lane = xs(65);
    refuse(fixture, executions, &draft, WEIR_INVALID, "lane", "at most 64");
    draft.lane = "a\x7f";
    refuse(fixture, executions, &draft, WEIR_INVALID, "lane", "0x7f at 1");
    draft.lane = "b\xc3\xa4r";
    refuse(fixture, executions, &draft, WEIR_INVALID, "lane", "0xc3 at 1");
    draft = flow_fixture_draft("orders");
    draft.kind = xs(257);
    refuse(fixture, executions, &draft, WEIR_INVALID, "kind", "at most 256");
    draft.kind = "";
    refuse(fixture, executions, &draft, WEIR_INVALID, "kind", "1 to 256");
    draft.kind = "a\nb";
    refuse(fixture, executions, &draft, WEIR_INVALID, "kind", "0x0a at 1");
    draft = flow_fixture_draft("orders");
    draft.name_space = xs(257);
    refuse(fixture, executions, &draft, WEIR_INVALID, "namespace", "at most 256");
    draft.name_space = "\x01";
    refuse(fixture, executions, &draft, WEIR_INVALID, "namespace", "0x01 at 0");

    check_int(stored(fixture), 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, of_tags_against_the_rules_creates_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_tag tags[WEIR_TAGS_MAX + 1];

    for (size_t i = 0; i <= WEIR_TAGS_MAX; i++)
        tags[i] = (struct weir_tag){"app.zone", "west"};
    draft.tags = tags;
    draft.tag_count = WEIR_TAGS_MAX + 1;
    refuse(fixture, executions, &draft, WEIR_TOO_LARGE, "65 tags", "at most 64");
    draft.tag_count = 2;
    refuse(fixture, executions, &draft, WEIR_INVALID, "app.zone", "there twice");
    draft.tag_count = 1;
    tags[0].value = NULL;
    refuse(fixture, executions, &draft, WEIR_INVALID, "app.zone", "must have a value");
    tags[0].value = xs(257);
    refuse(fixture, executions, &draft, WEIR_TOO_LARGE, "app.zone", "at most 256");
    tags[0].value = "\xed\xa0\x80"; /* half of a pair of UTF-16 */
    refuse(fixture, executions, &draft, WEIR_INVALID, "app.zone", "UTF-8");
    tags[0] = (struct weir_tag){"x.", "v"};
    refuse(fixture, executions, &draft, WEIR_INVALID, "tag key", "tenant.plan");
    tags[0].key = NULL;
    refuse(fixture, executions, &draft, WEIR_INVALID, "tag key", "NULL");
    tags[0].key = xs(257);
    refuse(fixture, executions, &draft, WEIR_INVALID, "tag key", "at most 256");
    draft.tags = NULL;
    refuse(fixture, executions, &draft, WEIR_INVALID, "tags", "NULL");

    check_int(stored(fixture), 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, of_capabilities_against_the_rules_creates_nothing)
{
    static const char *const WRONG[] = {"a,b", "a b", "a\tb", "a\x01"};
    const char *many[WEIR_CAPABILITIES_MAX + 1];
    const char *large[3] = {xs(2000), xs(2001), xs(2002)};
    const char *none = NULL;
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    draft.capability_count = 1;
    for (size_t i = 0; i < 4; i++) {
        draft.capabilities = &WRONG[i];
        refuse(fixture, executions, &draft, WEIR_INVALID, "capability", "must");
    }
    draft.capabilities = &none;
    refuse(fixture, executions, &draft, WEIR_INVALID, "capabilit", "NULL");
    draft.capabilities = NULL;
    refuse(fixture, executions, &draft, WEIR_INVALID, "capabilities", "NULL");
    for (size_t i = 0; i <= WEIR_CAPABILITIES_MAX; i++)
        many[i] = "gpu";
    draft.capabilities = many;
    draft.capability_count = WEIR_CAPABILITIES_MAX + 1;
    refuse(fixture, executions, &draft, WEIR_TOO_LARGE, "257", "at most 256");
    draft.capabilities = large;
    draft.capability_count = 3;
    refuse(fixture, executions, &draft, WEIR_TOO_LARGE, "capabilities", "4096");

    check_int(stored(fixture), 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, of_policies_and_times_against_the_rules_creates_nothing)
{
    const int64_t too_long = WEIR_EXECUTION_DURATION_MS_MAX + 1;
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_policy good, policy;

    weir_execution_policy_init(&good);
    draft.policy = &policy;
    policy = good, policy.retries_max = WEIR_RETRIES_MAX_MAX + 1;
    refuse(fixture, executions, &draft, WEIR_INVALID, "retries_max", "1000000");
    policy = good, policy.backoff = (enum weir_retry_backoff)2;
    refuse(fixture, executions, &draft, WEIR_INVALID, "policy.backoff is 2", "must be");
    policy = good, policy.backoff_initial_ms = -1;
    refuse(fixture, executions, &draft, WEIR_INVALID, "backoff_initial_ms", "from 0 to");
    policy = good, policy.backoff_max_ms = too_long;
    refuse(fixture, executions, &draft, WEIR_INVALID, "backoff_max_ms",
           "a hundred years");
    policy = good, policy.backoff_max_ms = good.backoff_initial_ms - 1;
    refuse(fixture, executions, &draft, WEIR_INVALID, "backoff_max_ms",
           "backoff_initial_ms");
    policy = good, policy.backoff_multiplier = 0.5;
    refuse(fixture, executions, &draft, WEIR_INVALID, "backoff_multiplier",
           "from 1 to 1000");
    policy = good, policy.attempt_timeout_ms = -1;
    refuse(fixture, executions, &draft, WEIR_INVALID, "attempt_timeout_ms", "from 0 to");
    policy = good, policy.reclaims_max = WEIR_RECLAIMS_MAX_MAX + 1;
    refuse(fixture, executions, &draft, WEIR_INVALID, "reclaims_max", "1000000");
    policy = good, policy.replays_max = WEIR_REPLAYS_MAX_MAX + 1;
    refuse(fixture, executions, &draft, WEIR_INVALID, "replays_max", "1000");
    draft.policy = NULL;
    draft.delay_ms = too_long;
    refuse(fixture, executions, &draft, WEIR_INVALID, "delay_ms", "a hundred years");
    draft.delay_ms = 0;
    draft.deadline_ms = -1;
    refuse(fixture, executions, &draft, WEIR_INVALID, "deadline_ms", "from 0 to");
    draft.deadline_ms = too_long;
    refuse(fixture, executions, &draft, WEIR_INVALID, "deadline_ms", "a hundred years");

    check_int(stored(fixture), 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, of_input_key_or_id_against_the_rules_creates_nothing)
{
    static const struct weir_execution_id FOREIGN = {.partition = 256};
    static char large[WEIR_INPUT_SIZE_MAX + 1];
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    draft.input = large;
    draft.input_size = sizeof large;
    refuse(fixture, executions, &draft, WEIR_TOO_LARGE, "input has 1048577",
           "at most 1048576");
    draft.input = NULL;
    draft.input_size = 1;
    refuse(fixture, executions, &draft, WEIR_INVALID, "input", "NULL");
    draft = flow_fixture_draft("orders");
    draft.idempotency_key = xs(257);
    refuse(fixture, executions, &draft, WEIR_TOO_LARGE, "idempotency key", "at most 256");
    draft.idempotency_key = "a\xff";
    refuse(fixture, executions, &draft, WEIR_INVALID, "idempotency key", "UTF-8");
    draft.idempotency_key = NULL;
    draft.id = &FOREIGN;
    refuse(fixture, executions, &draft, WEIR_INVALID, "partition 256", "from 0 to 255");
    check_db(weir_execution_submit(executions, NULL, NULL, 2, NULL, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "drafts is NULL", "list of 2");

    check_int(stored(fixture), 0);
    check_db(weir_execution_submit(executions, NULL, NULL, 0, NULL, &fixture->error),
             WEIR_OK);
    weir_executions_destroy(executions);
}

/* All at once. */
FLOW_TEST(submit, at_the_limits_works)
{
    static char input[WEIR_INPUT_SIZE_MAX];
    static char keys[WEIR_TAGS_MAX][WEIR_TAG_SIZE_MAX + 1];
    static char tokens[WEIR_CAPABILITIES_MAX][16];
    const char *capabilities[WEIR_CAPABILITIES_MAX];
    struct weir_tag tags[WEIR_TAGS_MAX];
    const char *value = xs(256);
    const char *lane = xs(64);
    struct weir_claim_options options = flow_fixture_claimant(&lane, xs(256));
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft(lane);
    struct weir_claimed *claimed = NULL;
    struct flow_fixture_view view;
    struct weir_execution_id id;
    size_t count = 0;

    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (char)(i * 7);
    for (size_t i = 0; i < WEIR_TAGS_MAX; i++) {
        memset(keys[i], 'k', WEIR_TAG_SIZE_MAX);
        (void)snprintf(keys[i], 8, "a%zu", i);
        keys[i][strlen(keys[i])] = '.';
        tags[i] = (struct weir_tag){keys[i], value};
    }
    for (size_t i = 0; i < WEIR_CAPABILITIES_MAX; i++) {
        (void)snprintf(tokens[i], sizeof tokens[i], "c%zu", i / 2); /* all twice */
        capabilities[i] = tokens[i];
    }
    draft.kind = xs(256);
    draft.name_space = xs(256);
    draft.idempotency_key = xs(256);
    draft.input = input;
    draft.input_size = sizeof input;
    draft.tags = tags;
    draft.tag_count = WEIR_TAGS_MAX;
    draft.capabilities = options.capabilities = capabilities;
    draft.capability_count = options.capability_count = WEIR_CAPABILITIES_MAX;
    draft.priority = INT32_MAX;
    draft.deadline_ms = WEIR_EXECUTION_DURATION_MS_MAX;
    id = flow_fixture_submit_draft(fixture, executions, &draft);

    check_db(weir_execution_claim(executions, &options, WEIR_BATCH_MAX, &claimed, &count,
                                  &fixture->error),
             WEIR_OK);
    check_int(count, 1);
    check_int(claimed->input_size, sizeof input);
    check(memcmp(claimed->input, input, sizeof input) == 0);
    check_int(claimed->tag_count, WEIR_TAGS_MAX);
    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.priority, WEIR_PRIORITY_MAX);
    weir_claimed_free(executions, claimed);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, clamps_the_priority_and_takes_the_longest_delay)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct flow_fixture_view view;
    struct weir_execution_id id;

    draft.priority = INT32_MIN;
    draft.delay_ms = WEIR_EXECUTION_DURATION_MS_MAX;
    id = flow_fixture_submit_draft(fixture, executions, &draft);

    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.priority, 0);
    check_int(view.info.due_us - view.info.created_us,
              WEIR_EXECUTION_DURATION_MS_MAX * 1000);
    weir_executions_destroy(executions);
}

/* It is taken, and will be over before it has begun: that is what was asked for. */
FLOW_TEST(submit, with_a_deadline_before_its_delay_waits_for_its_end)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct flow_fixture_view view;
    struct weir_execution_id id;

    draft.delay_ms = 3600000;
    draft.deadline_ms = 1000;
    id = flow_fixture_submit_draft(fixture, executions, &draft);

    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.state, WEIR_STATE_DELAYED);
    check(view.info.deadline_us < view.info.due_us);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, on_an_adopted_connection_without_a_transaction_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct application application = application_start(fixture);
    struct weir_connection *connection = application_adopt(fixture, &application);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    check_db(
        weir_execution_submit(executions, connection, &draft, 1, NULL, &fixture->error),
        WEIR_INVALID);

    check_text(fixture, "no open transaction", "begin one");
    check_int(stored(fixture), 0);
    weir_connection_disown(connection);
    application_stop(&application);
    weir_executions_destroy(executions);
}

/* What the application did before and does afterwards is kept. */
FLOW_TEST(submit, whose_last_draft_is_bad_leaves_the_applications_transaction_as_it_was)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct application application = application_start(fixture);
    struct weir_connection *connection = application_adopt(fixture, &application);
    struct weir_execution_draft good = flow_fixture_draft("orders");
    struct weir_execution_draft bad = flow_fixture_draft("orders");

    bad.idempotency_key = "a\xff";
    application_run(&application, "BEGIN");
    check_db(
        weir_execution_submit(executions, connection, &good, 1, NULL, &fixture->error),
        WEIR_OK);
    refuse_in(fixture, executions, connection, &bad, WEIR_INVALID, "idempotency key",
              "UTF-8");
    check_db(
        weir_execution_submit(executions, connection, &good, 1, NULL, &fixture->error),
        WEIR_OK);
    application_run(&application, "COMMIT");

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 2);
    weir_connection_disown(connection);
    application_stop(&application);
    weir_executions_destroy(executions);
}

/* ---- claim ------------------------------------------------------------------------- */

static void refuse_claim(struct fixture *fixture, struct weir_executions *executions,
                         const struct weir_claim_options *options,
                         enum weir_status status, const char *field, const char *limit)
{
    struct weir_claimed *claimed = NULL;
    size_t count = 7;

    check_db(
        weir_execution_claim(executions, options, 1, &claimed, &count, &fixture->error),
        status);
    check_text(fixture, field, limit);
    check_int(count, 0);
    check(claimed == NULL);
}

FLOW_TEST(claim, without_what_it_needs_or_beyond_a_limit_is_refused)
{
    const char *none = NULL;
    const char *many[WEIR_CAPABILITIES_MAX + 1];
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim_options good = flow_fixture_claimant(&ORDERS, "anna");
    struct weir_claim_options bad;

    refuse_claim(fixture, executions, NULL, WEIR_INVALID, "options is NULL",
                 "must be given");
    bad = good, bad.lanes = NULL;
    refuse_claim(fixture, executions, &bad, WEIR_INVALID, "lanes is NULL", "1 lane");
    bad = good, bad.lanes = &none;
    refuse_claim(fixture, executions, &bad, WEIR_INVALID, "lane is NULL", "1 to 64");
    bad = good, bad.worker = NULL;
    refuse_claim(fixture, executions, &bad, WEIR_INVALID, "worker is NULL", "1 to 256");
    bad = good, bad.worker = xs(257);
    refuse_claim(fixture, executions, &bad, WEIR_INVALID, "worker", "at most 256");
    bad = good, bad.instance = NULL;
    refuse_claim(fixture, executions, &bad, WEIR_INVALID, "instance is NULL", "1 to 256");
    bad = good, bad.instance = "a\xc3\xa4";
    refuse_claim(fixture, executions, &bad, WEIR_INVALID, "instance", "0xc3 at 1");
    bad = good, bad.capability_count = 1;
    refuse_claim(fixture, executions, &bad, WEIR_INVALID, "capabilities", "NULL");
    for (size_t i = 0; i <= WEIR_CAPABILITIES_MAX; i++)
        many[i] = "gpu";
    bad.capabilities = many;
    bad.capability_count = WEIR_CAPABILITIES_MAX + 1;
    refuse_claim(fixture, executions, &bad, WEIR_TOO_LARGE, "257", "at most 256");
    bad = good, bad.wait_ms = 3600001;
    refuse_claim(fixture, executions, &bad, WEIR_INVALID, "wait_ms is 3600001",
                 "3600000");

    check_str(flow_fixture_state(fixture, executions, &id), "waiting");
    weir_executions_destroy(executions);
}

FLOW_TEST(claim, at_the_limits_works)
{
    const char *lanes[64] = {NULL};
    struct weir_claim_options options = flow_fixture_claimant(lanes, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;

    for (size_t i = 0; i < 64; i++)
        lanes[i] = i == 63 ? "orders" : "letters";
    options.lane_count = 64;
    options.worker = xs(256);
    options.wait_ms = 3600000;
    for (int i = 0; i < 2; i++) {
        (void)flow_fixture_submit(fixture, executions, "orders");
        options.lease_ms = i == 0 ? 1000 : 3600000;
        check_int(flow_fixture_claim_many(fixture, executions, &options, &claim, 1), 1);
    }
    weir_executions_destroy(executions);
}

/* ---- workers ----------------------------------------------------------------------- */

FLOW_TEST(workers, that_give_no_list_or_too_long_a_list_are_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_settlement *settlements = calloc(WEIR_BATCH_MAX + 1, sizeof *settlements);
    struct weir_renewal *renewals = calloc(WEIR_BATCH_MAX + 1, sizeof *renewals);

    check(settlements != NULL && renewals != NULL);
    check_db(weir_execution_settle(executions, NULL, 1, &fixture->error), WEIR_INVALID);
    check_text(fixture, "settlements is NULL", "list of 1");
    check_db(weir_execution_settle(executions, settlements, WEIR_BATCH_MAX + 1,
                                   &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "settlements are 10001", "at most 10000");
    check_db(weir_execution_renew(executions, 30000, NULL, 1, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "renewals is NULL", "list of 1");
    check_db(weir_execution_renew(executions, 30000, renewals, WEIR_BATCH_MAX + 1,
                                  &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "renewals are 10001", "at most 10000");
    check_db(weir_execution_settle(executions, NULL, 0, &fixture->error), WEIR_OK);
    check_db(weir_execution_renew(executions, 30000, NULL, 0, &fixture->error), WEIR_OK);

    check_db(
        weir_execution_settle(executions, settlements, WEIR_BATCH_MAX, &fixture->error),
        WEIR_OK);
    check_status(settlements[WEIR_BATCH_MAX - 1].status, WEIR_NOT_FOUND);
    check_db(weir_execution_renew(executions, 30000, renewals, WEIR_BATCH_MAX,
                                  &fixture->error),
             WEIR_OK);
    check_status(renewals[WEIR_BATCH_MAX - 1].status, WEIR_NOT_FOUND);
    free(settlements);
    free(renewals);
    weir_executions_destroy(executions);
}

FLOW_TEST(settle, at_the_limits_works)
{
    static char result[WEIR_RESULT_SIZE_MAX];
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_settlement settlement = {
        .verb = WEIR_SETTLE_COMPLETE, .result = result, .result_size = sizeof result};
    void *bytes = NULL;
    size_t size = 0;

    for (size_t i = 0; i < sizeof result; i++)
        result[i] = (char)(i * 13);
    settlement.claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error), WEIR_OK);
    check_db(weir_execution_result(executions, &id, &bytes, &size, &fixture->error),
             WEIR_OK);
    check_int(size, sizeof result);
    check(memcmp(bytes, result, size) == 0);
    weir_executions_free(executions, bytes);

    id = flow_fixture_submit(fixture, executions, "orders");
    settlement = (struct weir_settlement){.verb = WEIR_SETTLE_DELAY,
                                          .delay_ms = WEIR_EXECUTION_DURATION_MS_MAX};
    settlement.claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error), WEIR_OK);
    check_str(flow_fixture_state(fixture, executions, &id), "delayed");
    settlement.delay_ms++;
    check_db(weir_execution_settle(executions, &settlement, 1, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "settlement 1 of 1: delay_ms", "a hundred years");
    weir_executions_destroy(executions);
}

FLOW_TEST(progress, against_the_rules_changes_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");

    check_db(weir_execution_progress(executions, NULL, 1, "", NULL, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "claim is NULL", "must be given");
    check_db(weir_execution_progress(executions, &claim, -1, "", NULL, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "percent is -1", "from 0 to 100");
    check_db(weir_execution_progress(executions, &claim, 101, "", NULL, &fixture->error),
             WEIR_INVALID);
    check_db(
        weir_execution_progress(executions, &claim, 1, "\xff", NULL, &fixture->error),
        WEIR_INVALID);
    check_text(fixture, "text", "UTF-8");
    check_db(
        weir_execution_progress(executions, &claim, 1, xs(1025), NULL, &fixture->error),
        WEIR_TOO_LARGE);
    check_text(fixture, "text has 1025 bytes", "at most 1024");
    check_int(flow_fixture_see(fixture, executions, &id).info.progress_percent, -1);

    check_db(
        weir_execution_progress(executions, &claim, 100, xs(1024), NULL, &fixture->error),
        WEIR_OK);
    check_db(weir_execution_progress(executions, &claim, 0, NULL, NULL, &fixture->error),
             WEIR_OK);
    weir_executions_destroy(executions);
}

/* ---- operators and readers --------------------------------------------------------- */

FLOW_TEST(operator, against_the_rules_changes_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    struct weir_revocation revocation = {.epoch = -1};

    check_db(weir_execution_cancel(executions, NULL, NULL, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "id is NULL", "must be given");
    check_db(weir_execution_cancel(executions, &id, "\xff", &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "reason", "UTF-8");
    check_db(weir_execution_revoke(executions, &id, NULL, &fixture->error), WEIR_INVALID);
    check_text(fixture, "revocation is NULL", "must be given");
    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "epoch is -1", "at least 0");
    revocation = (struct weir_revocation){.instance = "a b"};
    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "instance", "blank at 1");
    revocation.instance = NULL;
    check_db(weir_execution_revoke(executions, NULL, &revocation, &fixture->error),
             WEIR_INVALID);
    check_db(weir_execution_prioritise(executions, NULL, 1, &fixture->error),
             WEIR_INVALID);
    check_db(weir_execution_replay(executions, NULL, &fixture->error), WEIR_INVALID);
    check_text(fixture, "id is NULL", "must be given");
    check_str(flow_fixture_state(fixture, executions, &id), "active");
    check_int(flow_fixture_see(fixture, executions, &id).info.epoch, claim.epoch);

    revocation.instance = ""; /* whoever holds it */
    check_db(weir_execution_revoke(executions, &id, &revocation, &fixture->error),
             WEIR_OK);
    check(revocation.revoked);
    weir_executions_destroy(executions);
}

static void refuse_list(struct fixture *fixture, struct weir_executions *executions,
                        const struct weir_execution_filter *filter,
                        enum weir_status status, const char *field, const char *limit)
{
    struct flow_fixture_view view;
    int64_t next = 7;

    check_db(weir_execution_list(executions, filter, flow_fixture_note, &view, &next,
                                 &fixture->error),
             status);
    check_text(fixture, field, limit);
    check_int(next, 0);
}

FLOW_TEST(list, of_texts_against_the_rules_is_refused_by_name)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_filter good = {.count = 1};
    struct weir_execution_filter bad;
    struct flow_fixture_view view;
    int64_t next = 7;

    refuse_list(fixture, executions, NULL, WEIR_INVALID, "filter is NULL",
                "must be given");
    check_db(weir_execution_list(executions, &good, NULL, NULL, &next, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "visit is NULL", "must be given");
    bad = good, bad.count = 1001;
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "count is 1001", "1 to 1000");
    bad = good, bad.states = 1U << WEIR_STATE_COUNT;
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "states is 0x1000", "below");
    bad = good, bad.before = -1;
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "before is -1", "must be 0");
    bad = good, bad.name_space = "\xff";
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "namespace", "0xff at 0");
    bad = good, bad.lane = xs(65);
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "lane", "at most 64");
    bad = good, bad.kind = "a\x01";
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "kind", "0x01 at 1");
    bad = good, bad.tag_key = "Zone", bad.tag_value = "west";
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "tag key", "tenant.plan");
    bad = good, bad.tag_key = "app.zone", bad.tag_value = "\xff";
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "app.zone", "UTF-8");
    bad = good, bad.tag_key = "app.zone", bad.tag_value = xs(257);
    refuse_list(fixture, executions, &bad, WEIR_TOO_LARGE, "app.zone", "at most 256");
    bad = good, bad.tag_key = "app.zone";
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "tag_value is NULL", "tag_key");
    bad = good, bad.tag_value = "west";
    refuse_list(fixture, executions, &bad, WEIR_INVALID, "tag_value is given", "tag_key");

    (void)flow_fixture_submit(fixture, executions, "orders");
    good = (struct weir_execution_filter){.count = 1,
                                          .name_space = "",
                                          .lane = "",
                                          .kind = "",
                                          .tag_key = "",
                                          .tag_value = ""}; /* any */
    check_db(weir_execution_list(executions, &good, flow_fixture_note, &view, &next,
                                 &fixture->error),
             WEIR_OK);
    check_str(view.lane, "orders");
    weir_executions_destroy(executions);
}

FLOW_TEST(read, without_what_it_needs_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct flow_fixture_view view;
    struct flow_fixture_log log;
    void *result = NULL;
    size_t size = 0;

    check_db(
        weir_execution_get(executions, NULL, flow_fixture_note, &view, &fixture->error),
        WEIR_INVALID);
    check_text(fixture, "id is NULL", "must be given");
    check_db(weir_execution_get(executions, &id, NULL, NULL, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "visit is NULL", "must be given");
    check_db(weir_execution_attempts(executions, NULL, flow_fixture_write_attempt, &log,
                                     &fixture->error),
             WEIR_INVALID);
    check_db(weir_execution_attempts(executions, &id, NULL, NULL, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "visit is NULL", "must be given");
    check_db(weir_execution_result(executions, NULL, &result, &size, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "id is NULL", "must be given");
    weir_executions_destroy(executions);
}

FLOW_TEST(executions, without_options_or_database_is_refused)
{
    struct weir_executions_options options;
    struct weir_executions *executions = (void *)fixture;

    check_db(weir_executions_create(NULL, &executions, &fixture->error), WEIR_INVALID);
    check_text(fixture, "options is NULL", "must be given");
    weir_executions_options_init(&options);
    check_db(weir_executions_create(&options, &executions, &fixture->error),
             WEIR_INVALID);
    check_text(fixture, "db is NULL", "must be a database");
    check(executions == NULL);
}
