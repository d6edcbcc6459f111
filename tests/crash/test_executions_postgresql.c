/*
 * Executions on PostgreSQL whose submitters, workers and supervisors are killed,
 * stopped and ended at random, and their server too: flow_crash.h says what must hold.
 * And the audit itself is checked: whatever was tampered with it must see.
 */
#include "crash/executions_claims.h"

WEIR_TEST(executions, end_exactly_once_whoever_is_killed_on_postgresql)
{
    outbox_fixture_run_own(WEIR_POSTGRESQL, NULL, end_exactly_once);
}

/* ---- planted bugs ------------------------------------------------------------------ */

WEIR_TEST(executions, audit_sees_what_was_lost_doubled_or_never_committed_on_postgresql)
{
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E1, FLOW_CRASH_LOST, FLOW_CRASH_TWICE,
                  FLOW_CRASH_ROLLED_BACK, FLOW_CRASH_OTHER_ID);
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E1, FLOW_CRASH_HALF);
}

WEIR_TEST(executions, audit_sees_what_never_ended_ended_twice_or_otherwise_on_postgresql)
{
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E2, FLOW_CRASH_NEVER_ENDED,
                  FLOW_CRASH_ENDED_TWICE, FLOW_CRASH_OTHER_END);
}

WEIR_TEST(executions, audit_sees_a_gap_or_an_overlap_of_attempts_on_postgresql)
{
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E3, FLOW_CRASH_WRONG_TYPE,
                  FLOW_CRASH_OVERLAP, FLOW_CRASH_GAP);
}

WEIR_TEST(executions, audit_sees_an_end_that_is_told_twice_or_to_nobody_on_postgresql)
{
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E4, FLOW_CRASH_NO_EVENT,
                  FLOW_CRASH_TWO_EVENTS);
}

WEIR_TEST(executions, audit_sees_what_was_told_to_be_done_and_is_not_on_postgresql)
{
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E5, FLOW_CRASH_OTHER_RESULT,
                  FLOW_CRASH_OTHER_OUTCOME, FLOW_CRASH_REPEAT_REFUSED);
}

WEIR_TEST(executions, audit_sees_a_stale_worker_that_is_heeded_on_postgresql)
{
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E6, FLOW_CRASH_STALE_HEEDED,
                  FLOW_CRASH_TWO_OWNERS, FLOW_CRASH_SERVED_LATER);
}

WEIR_TEST(executions, audit_sees_retries_beside_the_policy_on_postgresql)
{
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E7, FLOW_CRASH_MORE_RETRIES,
                  FLOW_CRASH_GIVEN_UP);
}

WEIR_TEST(executions, audit_sees_what_happened_before_or_after_its_time_on_postgresql)
{
    CHECK_PLANTED(WEIR_POSTGRESQL, FLOW_CRASH_E8, FLOW_CRASH_LEASE_EARLY,
                  FLOW_CRASH_BEGAN_EARLY);
}
