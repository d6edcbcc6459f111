/*
 * Reading: executions one by one and in pages, attempts, results.
 */
#include "base/fault_point.h"
#include "contract/flow/flow_fixture.h"
#include "db/db.h"

static const struct weir_execution_id NOBODY = {{9, 9, 9}, 3};

/* Priorities of a page, which tests use as names. */
struct page {
    int32_t names[16];
    size_t count;
};

static void note(void *state, const struct weir_execution_info *info)
{
    struct page *self = state;

    self->names[self->count++] = info->priority;
}

static struct weir_execution_id submit_as(struct fixture *fixture,
                                          struct weir_executions *executions,
                                          int32_t name, const char *lane,
                                          const struct weir_tag *tag)
{
    struct weir_execution_draft draft = flow_fixture_draft(lane);

    draft.priority = name;
    draft.tags = tag;
    draft.tag_count = tag != NULL ? 1 : 0;
    return flow_fixture_submit_draft(fixture, executions, &draft);
}

static struct page list(struct fixture *fixture, struct weir_executions *executions,
                        const struct weir_execution_filter *filter, int64_t *next)
{
    struct page page = {.count = 0};

    check_db(weir_execution_list(executions, filter, note, &page, next, &fixture->error),
             WEIR_OK);
    return page;
}

FLOW_TEST(list, gives_pages_from_the_newest_on)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_filter filter = {.count = 2};
    struct page page;
    int64_t next = 0;

    for (int32_t i = 1; i <= 3; i++)
        (void)submit_as(fixture, executions, i, "orders", NULL);

    page = list(fixture, executions, &filter, &next);
    check_int(page.count, 2);
    check_int(page.names[0], 3);
    check_int(page.names[1], 2);
    check(next > 0);
    filter.before = next;
    page = list(fixture, executions, &filter, &next);
    check_int(page.count, 1);
    check_int(page.names[0], 1);
    check_int(next, 0);
    weir_executions_destroy(executions);
}

FLOW_TEST(list, shows_what_lane_state_and_tag_allow)
{
    static const struct weir_tag GOLD = {"tenant.plan", "gold"};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_filter by_lane = {.lane = "letters", .count = 10};
    struct weir_execution_filter by_state = {.states = 1U << WEIR_STATE_ACTIVE,
                                             .count = 10};
    struct weir_execution_filter by_tag = {
        .tag_key = "tenant.plan", .tag_value = "gold", .count = 10};
    struct page page;
    int64_t next;

    (void)submit_as(fixture, executions, 1, "letters", NULL);
    (void)submit_as(fixture, executions, 2, "orders", &GOLD);
    (void)submit_as(fixture, executions, 3, "orders", NULL);
    (void)flow_fixture_claim(fixture, executions, "orders", "anna");

    page = list(fixture, executions, &by_lane, &next);
    check(page.count == 1 && page.names[0] == 1);
    page = list(fixture, executions, &by_state, &next);
    check(page.count == 1 && page.names[0] == 3);
    page = list(fixture, executions, &by_tag, &next);
    check(page.count == 1 && page.names[0] == 2);
    weir_executions_destroy(executions);
}

FLOW_TEST(list, of_a_bad_filter_is_refused)
{
    static const struct weir_execution_filter WRONG[] = {
        {.count = 0},
        {.count = 1001},
        {.count = 1, .states = 1U << WEIR_STATE_COUNT},
        {.count = 1, .before = -1},
        {.count = 1, .tag_key = "a.b"},
    };
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct page page = {.count = 0};
    int64_t next;

    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++)
        check_db(weir_execution_list(executions, &WRONG[i], note, &page, &next,
                                     &fixture->error),
                 WEIR_INVALID);

    weir_executions_destroy(executions);
}

FLOW_TEST(attempts, show_the_running_one_last)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit_retrying(fixture, executions, 3);
    struct weir_claim claim;

    check_int(flow_fixture_attempts(fixture, executions, &id).count, 0);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    check_str(flow_fixture_attempts(fixture, executions, &id).text, "0 initial running");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_FAIL);
    check_str(flow_fixture_attempts(fixture, executions, &id).text, "0 initial retry");
    (void)flow_fixture_claim(fixture, executions, "orders", "bert");

    check_str(flow_fixture_attempts(fixture, executions, &id).text,
              "0 initial retry, 1 retry running");
    weir_executions_destroy(executions);
}

FLOW_TEST(result, is_there_only_of_what_was_completed)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct weir_claim claim;
    void *result = NULL;
    size_t size = 0;

    check_db(weir_execution_result(executions, &id, &result, &size, &fixture->error),
             WEIR_NO_ROW);
    claim = flow_fixture_claim(fixture, executions, "orders", "anna");
    check_db(weir_execution_result(executions, &id, &result, &size, &fixture->error),
             WEIR_NO_ROW);
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_ABANDON);

    check_db(weir_execution_result(executions, &id, &result, &size, &fixture->error),
             WEIR_NO_ROW);
    weir_executions_destroy(executions);
}

/* Before its nth statement, whatever that is, all of it is removed. */
struct removal {
    struct fixture *fixture;
    int statements;
    int at;
};

static bool remove_at(void *argument, const char *name)
{
    struct removal *self = argument;

    if (strchr(name, '.') == NULL && ++self->statements == self->at) {
        fixture_prepare(self->fixture, "DELETE FROM {p}_result");
        fixture_prepare(self->fixture, "DELETE FROM {p}_execution");
    }
    return false;
}

FLOW_TEST(result, that_is_removed_meanwhile_is_there_as_a_whole_or_not_at_all)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_db *db = fixture_open(fixture, &options);
    struct removal removal = {.fixture = fixture};
    struct weir_fault_points points;
    struct weir_executions *executions;

    weir_fault_points_init(&points);
    weir_db_set_fault_points(db, &points);
    executions = flow_fixture_open_with(fixture, db, NULL);
    do {
        struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
        struct weir_claim claim =
            flow_fixture_claim(fixture, executions, "orders", "anna");
        enum weir_status status;
        void *result = NULL;
        size_t size = 0;

        flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
        removal.statements = 0;
        removal.at++;
        weir_fault_points_set_oracle(&points, remove_at, &removal);
        status = weir_execution_result(executions, &id, &result, &size, &fixture->error);
        weir_fault_points_set_oracle(&points, NULL, NULL);
        check(status == WEIR_OK || status == WEIR_NOT_FOUND);
        check_int(size, status == WEIR_OK ? 2 : 0);
        weir_executions_free(executions, result);
    } while (removal.statements >= removal.at);

    check(removal.at > 1);
    weir_executions_destroy(executions);
    weir_db_destroy(db);
}

FLOW_TEST(read, of_what_is_not_there_names_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow_fixture_view view;
    struct flow_fixture_log log;
    void *result;
    size_t size;

    check_db(weir_execution_get(executions, &NOBODY, flow_fixture_note, &view,
                                &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_execution_attempts(executions, &NOBODY, flow_fixture_write_attempt,
                                     &log, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_execution_result(executions, &NOBODY, &result, &size, &fixture->error),
             WEIR_NOT_FOUND);

    check(strstr(fixture->error.text, "3-09090900-") != NULL);
    weir_executions_destroy(executions);
}

/* A number of a later version: nothing is guessed. */
FLOW_TEST(read, of_an_unknown_state_stops_with_a_clear_text)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_id id = flow_fixture_submit(fixture, executions, "orders");
    struct flow_fixture_view view;

    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 9");

    check_db(
        weir_execution_get(executions, &id, flow_fixture_note, &view, &fixture->error),
        WEIR_SCHEMA);
    check_db(weir_execution_cancel(executions, &id, NULL, &fixture->error), WEIR_SCHEMA);
    check(strstr(fixture->error.text, "9") != NULL);
    weir_executions_destroy(executions);
}
