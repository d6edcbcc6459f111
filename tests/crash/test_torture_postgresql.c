/*
 * Producers and consumers on PostgreSQL that are killed, stopped and ended at random,
 * their server too: torture.h says what must hold. And the audit itself is checked:
 * with a bug planted, and with those of tests/mutants, it must see
 * something.
 */
#include "crash/torture_claims.h"

WEIR_TEST(torture, loses_and_repeats_nothing_beyond_what_is_promised_on_postgresql)
{
    on_own_server(WEIR_POSTGRESQL, hold_through_everything);
}

WEIR_TEST(rolling_restart, repeats_nothing_on_postgresql)
{
    outbox_fixture_run(WEIR_POSTGRESQL, restart_in_turn);
}

WEIR_TEST(torture, goes_on_beside_a_process_that_stands_still_on_postgresql)
{
    outbox_fixture_run(WEIR_POSTGRESQL, go_on_beside_one);
}

/* ---- one place --------------------------------------------------------------------- */

WEIR_TEST(torture, repeats_no_effect_of_a_process_killed_before_its_commit_on_postgresql)
{
    check_sound(WEIR_POSTGRESQL, &KILLED_BEFORE_COMMIT);
}

WEIR_TEST(torture, rejects_no_message_by_deaths_of_its_owners_on_postgresql)
{
    check_sound(WEIR_POSTGRESQL, &KILLED_IN_CALLS);
}

/* ---- planted bugs ------------------------------------------------------------------ */

WEIR_TEST(torture, audit_sees_an_enqueue_outside_of_its_transaction_on_postgresql)
{
    check_found(WEIR_POSTGRESQL, &(struct torture_case){.plant = TORTURE_ENQUEUE_OUTSIDE,
                                                        .rule = TORTURE_T1});
}

WEIR_TEST(torture, audit_sees_messages_in_the_wrong_order_on_postgresql)
{
    check_found(WEIR_POSTGRESQL, &(struct torture_case){.plant = TORTURE_ENQUEUE_INVERTED,
                                                        .rule = TORTURE_T1});
}
