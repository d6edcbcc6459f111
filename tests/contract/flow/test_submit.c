/*
 * Submitting: what is there afterwards, what is refused, and in whose transaction it
 * happens.
 */
#include <sys/stat.h>

#include "contract/flow/flow_fixture.h"
#include "contract/flow/peer.h"
#include "kit/outbox/outbox_application.h"

static int64_t stored(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_execution");
}

FLOW_TEST(submit, makes_it_wait_for_a_worker)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct flow_fixture_view view = flow_fixture_see(fixture, executions, &id);

    check_int(view.info.state, WEIR_STATE_WAITING);
    check_str(view.name_space, "default");
    check_str(view.lane, "orders");
    check_str(view.kind, "mail");
    check_int(view.info.attempts, 0);
    check_int(view.info.started_us, 0);
    check(view.info.created_us > 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, with_a_delay_makes_it_wait_for_its_time)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct flow_fixture_view view;
    struct weir_execution_id id;

    draft.delay_ms = 60000;
    draft.deadline_ms = 90000;
    id = flow_fixture_submit_draft(fixture, executions, &draft);

    view = flow_fixture_see(fixture, executions, &id);
    check_int(view.info.state, WEIR_STATE_DELAYED);
    check_str(view.info.blocked_by, "waiting_for_delay");
    check_int(view.info.due_us - view.info.created_us, 60000000);
    check_int(view.info.deadline_us - view.info.created_us, 90000000);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, mints_an_id_in_the_partition_of_the_lane)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id first = flow_fixture_submit(fixture, executions, "orders");
    struct weir_execution_id second = flow_fixture_submit(fixture, executions, "orders");

    check_int(first.partition, weir_execution_partition("orders", 6, 256));
    check_int(first.uuid[6] >> 4, 7);
    check(memcmp(first.uuid, second.uuid, WEIR_UUID_SIZE) != 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, gives_the_worker_input_and_tags)
{
    static const struct weir_tag TAGS[] = {{"tenant.plan", "gold"}, {"a.b", "c"}};
    const char *lane = "orders";
    const struct weir_claim_options options = flow_fixture_claimant(&lane, "anna");
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_claimed *claimed = NULL;
    size_t count = 0;

    draft.input = "a\0b";
    draft.input_size = 3;
    draft.tags = TAGS;
    draft.tag_count = 2;
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    check_db(
        weir_execution_claim(executions, &options, 1, &claimed, &count, &fixture->error),
        WEIR_OK);

    check_int(count, 1);
    check_int(claimed->input_size, 3);
    check(memcmp(claimed->input, "a\0b", 3) == 0);
    check_int(claimed->tag_count, 2);
    check_str(claimed->tags[0].key, "a.b");
    check_str(claimed->tags[1].value, "gold");
    check_str(claimed->lane, "orders");
    check_str(claimed->kind, "mail");
    check_str(claimed->name_space, "default");
    weir_claimed_free(executions, claimed);
    weir_executions_destroy(executions);
}

/* ---- refusals ---------------------------------------------------------------------- */

/* A good one, with one thing wrong. */
struct wrong {
    struct weir_execution_draft draft;
    enum weir_status status;
    const char *field;
};

static const struct weir_execution_policy TOO_PATIENT = {.retries_max =
                                                             WEIR_RETRIES_MAX_MAX + 1,
                                                         .backoff_multiplier = 2};
static const struct weir_execution_id FOREIGN = {.partition = 256};
static const struct weir_tag BAD_TAG = {"Tenant", "x"};
static const char *const BAD_CAPABILITY = "a,b";

static const struct wrong WRONG[] = {
    {{.lane = NULL, .kind = "k"}, WEIR_INVALID, "lane"},
    {{.lane = "", .kind = "k"}, WEIR_INVALID, "lane"},
    {{.lane = "a\x01", .kind = "k"}, WEIR_INVALID, "lane"},
    {{.lane = "l", .kind = NULL}, WEIR_INVALID, "kind"},
    {{.lane = "l", .kind = "k", .name_space = ""}, WEIR_INVALID, "namespace"},
    {{.lane = "l", .kind = "k", .id = &FOREIGN}, WEIR_INVALID, "partition"},
    {{.lane = "l", .kind = "k", .input = "", .input_size = WEIR_INPUT_SIZE_MAX + 1},
     WEIR_TOO_LARGE,
     "input"},
    {{.lane = "l", .kind = "k", .input_size = 1}, WEIR_INVALID, "input"},
    {{.lane = "l", .kind = "k", .policy = &TOO_PATIENT}, WEIR_INVALID, "retries_max"},
    {{.lane = "l", .kind = "k", .delay_ms = -1}, WEIR_INVALID, "delay_ms"},
    {{.lane = "l", .kind = "k", .deadline_ms = INT64_MAX}, WEIR_INVALID, "deadline_ms"},
    {{.lane = "l", .kind = "k", .capabilities = &BAD_CAPABILITY, .capability_count = 1},
     WEIR_INVALID,
     "capability"},
    {{.lane = "l", .kind = "k", .tags = &BAD_TAG, .tag_count = 1}, WEIR_INVALID, "tag"},
    {{.lane = "l", .kind = "k", .idempotency_key = ""}, WEIR_INVALID, "idempotency key"},
};

FLOW_TEST(submit, of_bad_input_names_draft_and_field_and_creates_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        struct weir_execution_draft drafts[2] = {flow_fixture_draft("good"),
                                                 WRONG[i].draft};

        check_db(
            weir_execution_submit(executions, NULL, drafts, 2, NULL, &fixture->error),
            WRONG[i].status);
        check(strstr(fixture->error.text, "draft 2 of 2") != NULL);
        check(strstr(fixture->error.text, WRONG[i].field) != NULL);
    }

    check_int(stored(fixture), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_term"), 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, of_more_than_a_batch_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    check_db(weir_execution_submit(executions, NULL, &draft, WEIR_BATCH_MAX + 1, NULL,
                                   &fixture->error),
             WEIR_INVALID);

    check_str(fixture->error.text, "drafts are 10001, must be at most 10000");
    weir_executions_destroy(executions);
}

/* ---- duplicates -------------------------------------------------------------------- */

FLOW_TEST(submit, twice_with_a_key_is_one_execution)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_submission first, second[2];

    draft.idempotency_key = "invoice-7";
    check_db(weir_execution_submit(executions, NULL, &draft, 1, &first, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_submit(
                 executions, NULL,
                 (struct weir_execution_draft[]){draft, flow_fixture_draft("orders")}, 2,
                 second, &fixture->error),
             WEIR_OK);

    check(!first.duplicate);
    check(second[0].duplicate);
    check(!second[1].duplicate);
    check(memcmp(&first.id, &second[0].id, sizeof first.id) == 0);
    check_int(stored(fixture), 2);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, twice_with_an_id_is_one_execution)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    const struct weir_execution_id id = {{1, 2, 3}, 7};
    struct weir_submission first, second;

    draft.id = &id;
    check_db(weir_execution_submit(executions, NULL, &draft, 1, &first, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_submit(executions, NULL, &draft, 1, &second, &fixture->error),
             WEIR_OK);

    check(!first.duplicate);
    check(second.duplicate);
    check(memcmp(second.id.uuid, id.uuid, WEIR_UUID_SIZE) == 0);
    check_int(second.id.partition, 7);
    check_int(stored(fixture), 1);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, with_a_used_key_for_something_else_creates_nothing_of_the_call)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_draft drafts[2] = {flow_fixture_draft("orders"), draft};

    draft.idempotency_key = drafts[1].idempotency_key = "invoice-7";
    drafts[1].kind = "letter";
    (void)flow_fixture_submit_draft(fixture, executions, &draft);

    check_db(weir_execution_submit(executions, NULL, drafts, 2, NULL, &fixture->error),
             WEIR_MISMATCH);

    check(strstr(fixture->error.text, "draft 2 of 2: its idempotency key") != NULL);
    check_int(stored(fixture), 1);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, with_a_used_id_for_something_else_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    const struct weir_execution_id id = {{1, 2, 3}, 7};

    draft.id = &id;
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    draft.priority = 5;

    check_db(weir_execution_submit(executions, NULL, &draft, 1, NULL, &fixture->error),
             WEIR_MISMATCH);

    weir_executions_destroy(executions);
}

/* Also when what it names is somebody's and the same. */
FLOW_TEST(submit, with_an_id_of_another_namespace_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    const struct weir_execution_id id = {{1, 2, 3}, 7};

    draft.id = &id;
    draft.name_space = "anna";
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    draft.name_space = "bert";

    check_db(weir_execution_submit(executions, NULL, &draft, 1, NULL, &fixture->error),
             WEIR_MISMATCH);
    check(strstr(fixture->error.text, "its id was used before") != NULL);
    draft.idempotency_key = "invoice-7"; /* which is Bert's own */
    check_db(weir_execution_submit(executions, NULL, &draft, 1, NULL, &fixture->error),
             WEIR_MISMATCH);

    check_int(stored(fixture), 1);
    weir_executions_destroy(executions);
}

/* An execution is kept for as long as somebody says, its key for 24 hours. */
FLOW_TEST(submit, with_id_and_key_is_a_duplicate_when_the_execution_is_gone)
{
    const struct weir_execution_id gone = {{1, 2, 3}, 7};
    const struct weir_execution_id fresh = {{4, 5, 6}, 7};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_draft drafts[4];
    struct weir_submission out[4];

    draft.id = &gone;
    draft.idempotency_key = "invoice-7";
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    fixture_prepare(fixture, "DELETE FROM {p}_execution");

    check_db(weir_execution_submit(executions, NULL, &draft, 1, out, &fixture->error),
             WEIR_OK);
    check(out[0].duplicate);
    check(memcmp(out[0].id.uuid, gone.uuid, WEIR_UUID_SIZE) == 0);
    check_int(stored(fixture), 0);

    for (int i = 0; i < 4; i++)
        drafts[i] = draft;
    drafts[1].id = drafts[2].id = &fresh;
    drafts[1].idempotency_key = drafts[2].idempotency_key = "invoice-8";
    drafts[3].id = NULL;
    drafts[3].idempotency_key = "invoice-6";
    check_db(weir_execution_submit(executions, NULL, drafts, 4, out, &fixture->error),
             WEIR_OK);
    check(out[0].duplicate);
    check(!out[1].duplicate);
    check(out[2].duplicate);
    check(!out[3].duplicate);
    check_int(stored(fixture), 2);

    draft.kind = "letter";
    check_db(weir_execution_submit(executions, NULL, &draft, 1, NULL, &fixture->error),
             WEIR_MISMATCH);
    fixture_prepare(fixture, "UPDATE {p}_idempotency SET until_us = 1");
    check_db(weir_execution_submit(executions, NULL, &draft, 1, out, &fixture->error),
             WEIR_OK);
    check(!out[0].duplicate);
    check_int(stored(fixture), 3);
    weir_executions_destroy(executions);
}

static void remove_all(void *argument)
{
    fixture_prepare(argument, "DELETE FROM {p}_execution");
}

/* It was there when it was to be inserted, and is not when it is looked at. */
FLOW_POSTGRESQL_TEST(submit, of_an_id_that_is_removed_meanwhile_is_new)
{
    const struct weir_execution_id id = {{1, 2, 3}, 7};
    struct peer anna;
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_submission out;

    peer_open(&anna, fixture);
    draft.id = &id;
    (void)flow_fixture_submit_draft(fixture, anna.executions, &draft);
    weir_fault_points_arm_call(&anna.points, "read ids", 1, remove_all, fixture);

    check_db(
        weir_execution_submit(anna.executions, NULL, &draft, 1, &out, &fixture->error),
        WEIR_OK);

    check(!out.duplicate);
    check_int(stored(fixture), 1);
    check_str(flow_fixture_state(fixture, anna.executions, &id), "waiting");
    peer_close(&anna);
}

/* ---- in whose transaction ---------------------------------------------------------- */

FLOW_TEST(submit, on_an_adopted_connection_happens_when_the_application_commits)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct application application = application_start(fixture);
    struct weir_connection *connection = application_adopt(fixture, &application);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    application_run(&application, "BEGIN");
    check_db(
        weir_execution_submit(executions, connection, &draft, 1, NULL, &fixture->error),
        WEIR_OK);
    check_int(stored(fixture), 0);
    application_run(&application, "COMMIT");

    check_int(stored(fixture), 1);
    weir_connection_disown(connection);
    application_stop(&application);
    (void)flow_fixture_claim(fixture, executions, "orders", "anna");
    weir_executions_destroy(executions);
}

/* A delay that ends soon is announced to supervisors at once, which forbids to
 * prepare. */
FLOW_POSTGRESQL_TEST(submit, that_keeps_quiet_can_be_prepared)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct application application = application_start(fixture);
    struct weir_connection *connection = application_adopt(fixture, &application);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    draft.delay_ms = 1;
    application_run(&application, "BEGIN");
    application_run(&application, "SET LOCAL weir.notify = off");
    check_db(
        weir_execution_submit(executions, connection, &draft, 1, NULL, &fixture->error),
        WEIR_OK);
    application_run(&application, "PREPARE TRANSACTION 'phases'");
    check_int(stored(fixture), 0);
    application_run(&application, "COMMIT PREPARED 'phases'");

    check_int(stored(fixture), 1);
    weir_connection_disown(connection);
    application_stop(&application);
    weir_executions_destroy(executions);
}

/* Its terms are gone too, and the next one makes them anew. */
FLOW_TEST(submit, on_an_adopted_connection_is_gone_when_the_application_rolls_back)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct application application = application_start(fixture);
    struct weir_connection *connection = application_adopt(fixture, &application);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    application_run(&application, "BEGIN");
    check_db(
        weir_execution_submit(executions, connection, &draft, 1, NULL, &fixture->error),
        WEIR_OK);
    application_run(&application, "ROLLBACK");

    check_int(stored(fixture), 0);
    weir_connection_disown(connection);
    application_stop(&application);
    (void)flow_fixture_submit(fixture, executions, "letters");
    (void)flow_fixture_submit(fixture, executions, "orders");
    (void)flow_fixture_claim(fixture, executions, "orders", "anna");
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, that_is_refused_leaves_the_callers_transaction_as_it_was)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_connection *connection;
    struct weir_execution_draft draft = flow_fixture_draft("orders");
    struct weir_execution_draft drafts[2] = {flow_fixture_draft("orders"), draft};

    draft.idempotency_key = drafts[1].idempotency_key = "invoice-7";
    drafts[1].kind = "letter";
    (void)flow_fixture_submit_draft(fixture, executions, &draft);
    connection = fixture_take(fixture);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(
        weir_execution_submit(executions, connection, drafts, 1, NULL, &fixture->error),
        WEIR_OK);

    check_db(
        weir_execution_submit(executions, connection, drafts, 2, NULL, &fixture->error),
        WEIR_MISMATCH);

    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    check_int(stored(fixture), 2);
    fixture_give(fixture, connection);
    weir_executions_destroy(executions);
}

FLOW_TEST(submit, on_a_connection_without_a_transaction_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_execution_draft draft = flow_fixture_draft("orders");

    check_db(
        weir_execution_submit(executions, connection, &draft, 1, NULL, &fixture->error),
        WEIR_INVALID);

    check(strstr(fixture->error.text, "no open transaction") != NULL);
    fixture_give(fixture, connection);
    weir_executions_destroy(executions);
}

/* ---- making an engine -------------------------------------------------------------- */

FLOW_TEST(executions, of_no_or_too_many_partitions_is_refused)
{
    struct weir_executions_options options;
    struct weir_executions *executions = NULL;

    weir_executions_options_init(&options);
    options.db = fixture->db;
    options.partitions = 0;
    check_db(weir_executions_create(&options, &executions, &fixture->error),
             WEIR_INVALID);
    options.partitions = 65536;
    check_db(weir_executions_create(&options, &executions, &fixture->error),
             WEIR_INVALID);

    check_str(fixture->error.text, "partitions is 65536, must be from 1 to 65535");
    check(executions == NULL);
}

SQLITE_TEST(executions, without_its_tables_says_what_to_do)
{
    struct weir_executions_options options;
    struct weir_executions *executions = NULL;

    weir_executions_options_init(&options);
    options.db = fixture->db;
    check_db(weir_executions_create(&options, &executions, &fixture->error), WEIR_SCHEMA);

    check(strstr(fixture->error.text, "run 'weir migrate'") != NULL);
}

/* ---- the log of SQLite ---- */

FLOW_SQLITE_TEST(submit, moves_a_log_that_is_over_the_limit)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct stat about;

    (void)fixture_ask(fixture, "CREATE TABLE filler AS SELECT zeroblob(70000000) AS a");
    check_int(stat(fixture->database, &about), 0);
    check(about.st_size < 1000000);

    (void)flow_fixture_submit(fixture, executions, "orders");

    check_int(stat(fixture->database, &about), 0);
    check(about.st_size > 70000000);
    weir_executions_destroy(executions);
}
