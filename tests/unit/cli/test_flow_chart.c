/*
 * Tests of cli/flow/flow_chart.c and cli/flow/flow_chart_text.c: why members wait, and
 * a flow for people.
 *
 * Charts are made by hand here; that they are read from a database is in
 * tests/cli/test_flow_graph.sh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/flow/flow_chart_text.h"
#include "kit/test.h"
#include "weir/heap.h"

enum { MEMBERS_MAX = 64, EDGES_MAX = 1024, OUT_SIZE_MAX = 1 << 20 };

#define NOW INT64_C(1800000000000000)

struct setup {
    struct weir_flow_chart chart;
    struct weir_chart_member members[MEMBERS_MAX];
    struct weir_flow_join_info groups[MEMBERS_MAX];
    struct weir_draw_edge edges[EDGES_MAX];
    struct weir_edge_info edge_infos[EDGES_MAX];
    uint32_t leading[EDGES_MAX];
    uint32_t leading_begin[MEMBERS_MAX + 1];
    struct weir_buf out;
};

static struct setup setup; /* too large for a stack */

/* So many members that can be claimed, each a "step". */
static void open_setup(size_t member_count)
{
    setup = (struct setup){.chart = {.members = setup.members,
                                     .member_count = member_count,
                                     .edges = setup.edges,
                                     .edge_infos = setup.edge_infos,
                                     .leading = setup.leading,
                                     .leading_begin = setup.leading_begin,
                                     .now_us = NOW}};
    setup.chart.info = (struct weir_flow_info){.name_space = "default",
                                               .kind = "order",
                                               .cancel_reason = "",
                                               .members = (uint32_t)member_count};
    weir_buf_init(&setup.out, weir_heap_system(), OUT_SIZE_MAX);
    for (size_t i = 0; i < member_count; i++)
        setup.members[i].info = (struct weir_execution_info){
            .kind = "step",
            .name = "",
            .state = WEIR_STATE_WAITING,
            .blocked_by = "waiting_for_worker",
            .budget = "",
            .capabilities = "",
            .instance = "",
            .failure = "",
            .created_us = NOW,
        };
}

static void close_setup(void)
{
    weir_buf_fini(&setup.out);
}

/* Edges are given by where they lead to, as the chart has them. */
static void add_edge(uint32_t from, uint32_t to)
{
    struct weir_flow_join_info *group = &setup.groups[to];
    struct weir_flow_chart *chart = &setup.chart;

    setup.edges[chart->edge_count] = (struct weir_draw_edge){from, to};
    setup.leading[chart->edge_count] = (uint32_t)chart->edge_count;
    chart->edge_count++;
    for (size_t i = to + 1; i <= chart->member_count; i++)
        setup.leading_begin[i] = (uint32_t)chart->edge_count;
    group->total++;
    setup.members[to].group = group;
    setup.members[to].info.state = WEIR_STATE_WAITING_CHILDREN;
    setup.members[to].info.blocked_by = "waiting_for_children";
}

static void set_state(size_t member, enum weir_public_state state)
{
    setup.members[member].info.state = state;
    setup.members[member].info.blocked_by = "none";
}

static void says(size_t member, const char *want)
{
    char why[WEIR_EXECUTION_WHY_SIZE];

    check_str(weir_flow_chart_why(&setup.chart, member, why), want);
}

/* ---- why --------------------------------------------------------------------------- */

WEIR_TEST(why, is_what_is_missing_and_how_many_are_needed)
{
    open_setup(4);
    for (uint32_t i = 0; i < 3; i++)
        add_edge(i, 3);
    set_state(0, WEIR_STATE_COMPLETED);
    set_state(1, WEIR_STATE_ACTIVE);
    setup.edge_infos[0].state = WEIR_EDGE_SUCCEEDED;
    setup.groups[3].succeeded = 1;

    says(3, "1 of 3, needs 3; missing: step (active), step (waiting)");
    setup.groups[3].join.policy = WEIR_JOIN_ANY;
    setup.groups[3].succeeded = 0;
    says(3, "0 of 3, needs 1; missing: step (active), step (waiting)");
    setup.groups[3].join =
        (struct weir_flow_join){.policy = WEIR_JOIN_QUORUM, .quorum = 2};
    says(3, "0 of 3, needs 2; missing: step (active), step (waiting)");
    close_setup();
}

WEIR_TEST(why, counts_those_that_did_not_end_well)
{
    open_setup(4);
    for (uint32_t i = 0; i < 3; i++)
        add_edge(i, 3);
    setup.groups[3].join = (struct weir_flow_join){.policy = WEIR_JOIN_ANY};
    setup.groups[3].failed = 1;
    setup.groups[3].skipped = 1;
    setup.edge_infos[0].state = WEIR_EDGE_FAILED;
    setup.edge_infos[1].state = WEIR_EDGE_SKIPPED;

    says(3, "0 of 3, needs 1; failed: 1; skipped: 1; missing: step (waiting)");
    close_setup();
}

WEIR_TEST(why, names_a_few_and_counts_the_others)
{
    open_setup(6);
    for (uint32_t i = 0; i < 5; i++)
        add_edge(i, 5);
    set_state(1, WEIR_STATE_WAITING_CHILDREN);
    for (uint32_t i = 0; i < 6; i++)
        setup.members[i].number = i + 1;

    says(5, "0 of 5, needs 5; missing: 1 step (waiting), 2 step, 3 step (waiting) and 2 "
            "more");
    close_setup();
}

WEIR_TEST(why, asks_for_a_supervisor_when_it_is_decided)
{
    open_setup(2);
    add_edge(0, 1);
    setup.groups[1].succeeded = 1;
    setup.groups[1].state = WEIR_FLOW_JOIN_SATISFIED;

    says(1, "1 of 1, needs 1, which is decided; does 'weir supervise' run?");
    close_setup();
}

WEIR_TEST(why, is_the_note_where_there_is_one)
{
    open_setup(2);
    set_state(0, WEIR_STATE_SUSPENDED);
    setup.members[0].note = "approval, until approved@review";

    says(0, "approval, until approved@review");
    says(1, "no worker has claimed it yet");
    close_setup();
}

/* ---- for people -------------------------------------------------------------------- */

static const char *show(size_t width, size_t fold)
{
    struct weir_chart_text_options options = {.width = width, .fold = fold};
    const char *flow;

    weir_buf_reset(&setup.out);
    check_status(weir_flow_chart_append_text(&setup.chart, &options, &setup.out),
                 WEIR_OK);
    flow = strstr(weir_buf_text(&setup.out), "\n\n");
    check(flow != NULL);
    return flow + 2;
}

WEIR_TEST(text, has_the_graph_with_states_and_reasons)
{
    open_setup(3);
    add_edge(0, 2);
    add_edge(1, 2);
    set_state(0, WEIR_STATE_COMPLETED);
    setup.edge_infos[0].state = WEIR_EDGE_SUCCEEDED;
    setup.groups[2].succeeded = 1;

    check_str(
        show(0, 12),
        "*    1 step  completed\n"
        "| o  2 step  waiting: no worker has claimed it yet\n"
        "+-+\n"
        "o    3 step  waiting_children: 1 of 2, needs 2; missing: 2 step (waiting)\n");
    close_setup();
}

WEIR_TEST(text, goes_on_in_the_next_line_with_the_lines_of_the_graph)
{
    open_setup(2);
    add_edge(0, 1);

    check_str(show(40, 12), "o  1 step  waiting: no worker has\n"
                            "|    claimed it yet\n"
                            "o  2 step  waiting_children: 0 of 1,\n"
                            "     needs 1; missing: 1 step (waiting)\n");
    close_setup();
}

WEIR_TEST(text, sums_up_what_is_folded)
{
    open_setup(8);
    for (uint32_t i = 1; i < 7; i++)
        add_edge(0, i);
    for (uint32_t i = 1; i < 7; i++) {
        add_edge(i, 7);
        setup.members[i].group = NULL;
        set_state(i, i < 3 ? WEIR_STATE_COMPLETED : WEIR_STATE_WAITING);
        setup.members[i].info.ended_us = i < 3 ? NOW : 0;
        setup.members[i].info.blocked_by = "waiting_for_worker";
    }

    check(strstr(show(0, 5), "#  2 6 x step  4 waiting, 2 completed: 4 is waiting: no "
                             "worker has claimed it yet\n") != NULL);
    check(strstr(weir_buf_text(&setup.out), "--fold 0 shows all members") != NULL);
    setup.members[3].info.kind = "other";
    check(strstr(show(0, 5), "#  2 6 members") != NULL);
    check(strstr(show(0, 6), "--fold 0") == NULL);
    close_setup();
}

WEIR_TEST(text, calls_members_by_their_names)
{
    open_setup(2);
    add_edge(0, 1);
    setup.members[0].info.name = "left";
    setup.members[1].info.name = "step";

    check(strstr(show(0, 5), "1 left (step)  waiting") != NULL);
    check(strstr(weir_buf_text(&setup.out), "2 step         waiting_children") != NULL);
    check(strstr(weir_buf_text(&setup.out), "missing: 1 left (waiting)") != NULL);
    close_setup();
}

WEIR_TEST(text, says_when_there_is_nobody)
{
    open_setup(0);
    check_str(show(80, 12), "no members; add them with 'weir flow add'\n");
    close_setup();
}

/* Forty lines beside each other have no place in forty columns, folded or not. */
WEIR_TEST(text, leaves_lines_out_where_there_is_no_room)
{
    open_setup(30);
    for (uint32_t i = 1; i < 30; i++) {
        add_edge(i - 1, i);
        for (uint32_t from = 0; from + 1 < i; from++)
            add_edge(from, i);
    }

    check(strstr(show(40, 12), "there is no room for lines") != NULL);
    check(strstr(weir_buf_text(&setup.out), "30 step") != NULL);
    check(strstr(show(0, 12), "there is no room") == NULL);
    close_setup();
}

/* Characters are counted, not bytes. */
static size_t widest_line(const char *text)
{
    size_t widest = 0, width = 0;

    for (; *text != '\0'; text++) {
        width += *text != '\n' && ((unsigned char)*text & 0xc0) != 0x80;
        widest = width > widest ? width : widest;
        width = *text == '\n' ? 0 : width;
    }
    return widest;
}

static void check_random(unsigned seed)
{
    static const char *const KINDS[] = {"a", "resize",
                                        "a_kind_whose_name_is_longer_than_it_should_be"};
    static const char *const NOTES[] = {
        NULL, "word",
        "a_word_of_a_condition_that_has_no_blank_to_break_"
        "the_line_at@somewhere/far/away and then some"};
    size_t count;

    srand(seed);
    count = 1 + (size_t)rand() % 40;
    open_setup(count);
    for (uint32_t to = 1; to < count; to++) {
        for (uint32_t from = 0; from < to; from++) {
            if (rand() % 6 == 0)
                add_edge(from, to);
        }
    }
    for (size_t i = 0; i < count; i++) {
        setup.members[i].info.kind = KINDS[rand() % 3];
        setup.members[i].note = NOTES[rand() % 3];
    }
    for (size_t width = 40; width <= 120; width += 20) {
        struct weir_chart_text_options options = {.width = width,
                                                  .style = WEIR_DRAW_BOXES,
                                                  .fold = (size_t)rand() % 13,
                                                  .ids = rand() % 2 == 0};

        weir_buf_reset(&setup.out);
        check_status(weir_flow_chart_append_text(&setup.chart, &options, &setup.out),
                     WEIR_OK);
        check(widest_line(weir_buf_text(&setup.out)) <= width);
    }
    close_setup();
}

WEIR_TEST(text, is_never_wider_than_it_may_be)
{
    for (unsigned seed = 1; seed <= 200; seed++)
        check_random(seed);
}

WEIR_TEST(text, shows_no_control_characters)
{
    open_setup(1);
    set_state(0, WEIR_STATE_FAILED);
    setup.members[0].info.failure = "\033[31mred\nline";

    check_str(show(0, 12), "x  1 step  failed: ?[31mred?line\n");
    close_setup();
}
