/*
 * Tests of execution/flow/join.c: the table of the specification, 3.6.
 */
#include "execution/flow/join.h"

#include "kit/test.h"

static enum weir_flow_join_state judge(enum weir_join policy, uint32_t quorum,
                                       uint32_t total, uint32_t succeeded, uint32_t lost)
{
    struct weir_join_progress join_row = {.policy = policy,
                                          .quorum = quorum,
                                          .total = total,
                                          .succeeded = succeeded,
                                          .failed = lost / 2,
                                          .skipped = lost - lost / 2};

    check(weir_join_is_whole(&join_row));
    return weir_join_judge(&join_row);
}

WEIR_TEST(all, needs_every_one_and_is_impossible_with_the_first_that_is_lost)
{
    check_int(judge(WEIR_JOIN_ALL, 0, 3, 2, 0), WEIR_FLOW_JOIN_PENDING);
    check_int(judge(WEIR_JOIN_ALL, 0, 3, 3, 0), WEIR_FLOW_JOIN_SATISFIED);
    check_int(judge(WEIR_JOIN_ALL, 0, 3, 0, 1), WEIR_FLOW_JOIN_IMPOSSIBLE);
    check_int(judge(WEIR_JOIN_ALL, 0, 0, 0, 0), WEIR_FLOW_JOIN_PENDING);
}

WEIR_TEST(any, needs_one_and_is_impossible_when_all_are_lost)
{
    check_int(judge(WEIR_JOIN_ANY, 0, 3, 0, 2), WEIR_FLOW_JOIN_PENDING);
    check_int(judge(WEIR_JOIN_ANY, 0, 3, 1, 2), WEIR_FLOW_JOIN_SATISFIED);
    check_int(judge(WEIR_JOIN_ANY, 0, 3, 0, 3), WEIR_FLOW_JOIN_IMPOSSIBLE);
}

WEIR_TEST(quorum, needs_k_and_is_impossible_when_fewer_are_left)
{
    check_int(judge(WEIR_JOIN_QUORUM, 3, 5, 2, 2), WEIR_FLOW_JOIN_PENDING);
    check_int(judge(WEIR_JOIN_QUORUM, 3, 5, 3, 0), WEIR_FLOW_JOIN_SATISFIED);
    check_int(judge(WEIR_JOIN_QUORUM, 3, 5, 2, 3), WEIR_FLOW_JOIN_IMPOSSIBLE);
    check_int(judge(WEIR_JOIN_QUORUM, 3, 2, 0, 0), WEIR_FLOW_JOIN_IMPOSSIBLE);
}

WEIR_TEST(edge, succeeds_is_skipped_or_else_fails_with_its_upstream)
{
    struct weir_join_progress join_row = {.total = 5};
    static const enum weir_exec_state ENDS[] = {WEIR_EXEC_SUCCEEDED, WEIR_EXEC_FAILED,
                                                WEIR_EXEC_CANCELLED, WEIR_EXEC_EXPIRED,
                                                WEIR_EXEC_SKIPPED};

    for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++)
        weir_join_count(&join_row, weir_edge_state_of(ENDS[i]));
    check_int(join_row.succeeded, 1);
    check_int(join_row.failed, 3);
    check_int(join_row.skipped, 1);
    check(weir_join_is_whole(&join_row));
    weir_join_count(&join_row, WEIR_EDGE_FAILED);
    check(!weir_join_is_whole(&join_row));
}

WEIR_TEST(edge, is_open_while_its_upstream_has_not_ended)
{
    check_int(weir_edge_state_of(WEIR_EXEC_READY), WEIR_EDGE_OPEN);
    check_int(weir_edge_state_of(WEIR_EXEC_SUSPENDED), WEIR_EDGE_OPEN);
}
