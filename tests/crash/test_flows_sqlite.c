/*
 * Flows, suspensions and budgets on SQLite whose composers, workers, signallers and
 * supervisors are killed and stopped at random: flows_crash.h says what must hold. And
 * the audit itself is checked: whatever was tampered with it must see.
 */
#include "crash/flows_claims.h"

WEIR_TEST(flows, come_to_their_end_whoever_is_killed_on_sqlite)
{
    flow_fixture_run(WEIR_SQLITE, come_to_their_end);
}

WEIR_TEST(flows, audit_sees_each_rule_broken_in_each_way_on_sqlite)
{
    check_planted(WEIR_SQLITE);
}
