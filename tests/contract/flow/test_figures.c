/*
 * Figures for operators: counted as far as it is cheap, by lane and by state, and how late it is for
 * what nobody has looked after.
 */
#include "flow/figures.h"

#include "contract/flow/works.h"

struct lanes {
    char text[512]; /* "letters 1/0/0 orders 2/0/1" */
    int64_t oldest_us;
};

static void note_lane(void *state, const struct weir_lane_figures *lane)
{
    struct lanes *self = state;
    size_t used = strlen(self->text);

    (void)snprintf(self->text + used, sizeof self->text - used, "%s%s %lld/%lld/%lld",
                   used > 0 ? " " : "", lane->lane, (long long)lane->ready,
                   (long long)lane->delayed, (long long)lane->active);
    self->oldest_us = lane->oldest_us;
}

static struct weir_flow_figures read_figures(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_flow_figures figures;

    check_db(weir_flow_read_figures(connection, &figures, &fixture->error), WEIR_OK);
    fixture_give(fixture, connection);
    return figures;
}

static struct lanes read_lanes(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct lanes lanes = {.text = ""};

    check_db(weir_flow_read_lanes(connection, note_lane, &lanes, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    return lanes;
}

FLOW_TEST(figures, count_by_state_and_by_lane)
{
    struct weir_flow *flow = works_open(fixture);
    struct weir_execution_draft draft = works_draft("letters");
    struct weir_flow_figures figures;
    struct weir_claim claim;
    struct lanes lanes;

    check_str(read_lanes(fixture).text, "");
    for (int i = 0; i < 4; i++)
        (void)works_submit(fixture, flow, "orders");
    claim = works_claim(fixture, flow, "orders", "anna");
    works_settle(fixture, flow, &claim, WEIR_SETTLE_COMPLETE);
    (void)works_claim(fixture, flow, "orders", "anna");
    draft.delay_ms = 3600000;
    (void)works_submit_draft(fixture, flow, &draft);
    draft = works_draft("empty");
    (void)works_submit_draft(fixture, flow, &draft);
    claim = works_claim(fixture, flow, "empty", "anna");
    works_settle(fixture, flow, &claim, WEIR_SETTLE_COMPLETE);

    figures = read_figures(fixture);
    check_int(figures.ready, 2);
    check_int(figures.delayed, 1);
    check_int(figures.active, 1);
    check_int(figures.ended, 2);
    check_int(figures.late_delay_us, 0);
    check_int(figures.late_lease_us, 0);
    lanes = read_lanes(fixture);
    check_str(lanes.text, "letters 0/1/0 orders 2/0/1");
    check(lanes.oldest_us > 0);
    weir_flow_destroy(flow);
}

FLOW_TEST(figures, end_where_counting_would_be_dear)
{
    enum { MANY = WEIR_FIGURES_LANE_MAX + 1 };
    static struct weir_execution_draft drafts[MANY];
    struct weir_flow *flow = works_open(fixture);
    char want[64];

    for (size_t i = 0; i < MANY; i++)
        drafts[i] = works_draft("orders");
    check_db(weir_flow_submit(flow, NULL, drafts, MANY, NULL, &fixture->error), WEIR_OK);

    check_int(read_figures(fixture).ready, MANY);
    (void)snprintf(want, sizeof want, "orders %d/0/0", WEIR_FIGURES_LANE_MAX);
    check_str(read_lanes(fixture).text, want);
    weir_flow_destroy(flow);
}

FLOW_TEST(figures, say_how_late_it_is_for_each_kind_of_time)
{
    struct weir_flow *flow = works_open(fixture);
    struct weir_flow_figures figures;

    for (int i = 0; i < 4; i++)
        (void)works_submit(fixture, flow, "orders");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 2, due_us = 1"
                             " WHERE no = (SELECT min(no) FROM {p}_execution)");
    fixture_prepare(fixture, "UPDATE {p}_execution SET state = 4, lease_us = 2"
                             " WHERE no = (SELECT min(no) + 1 FROM {p}_execution)");
    fixture_prepare(fixture,
                    "UPDATE {p}_execution SET state = 4, attempt_deadline_us = 3,"
                    " lease_us = 9000000000000000"
                    " WHERE no = (SELECT min(no) + 2 FROM {p}_execution)");
    fixture_prepare(fixture, "UPDATE {p}_execution SET deadline_us = 4"
                             " WHERE no = (SELECT min(no) + 3 FROM {p}_execution)");

    figures = read_figures(fixture);
    check_int(figures.late_delay_us - figures.late_lease_us, 1);
    check_int(figures.late_delay_us - figures.late_attempt_us, 2);
    check_int(figures.late_delay_us - figures.late_deadline_us, 3);
    check(figures.late_deadline_us > WEIR_FIGURES_LATE_US);
    weir_flow_destroy(flow);
}

SQLITE_TEST(figures, are_none_without_tables_of_executions)
{
    struct weir_connection *connection = fixture_take(fixture);
    bool there = true;

    check_db(weir_flow_are_there(connection, &there, &fixture->error), WEIR_OK);

    check(!there);
    fixture_give(fixture, connection);
}
