/*
 * Producers and consumers on SQLite that are killed, stopped and ended at random:
 * torture.h says what must hold. And the audit itself is checked: with a bug planted, and
 * with those of tests/mutants, it must see something.
 */
#include "crash/torture_claims.h"

WEIR_TEST(torture, loses_and_repeats_nothing_beyond_what_is_promised_on_sqlite)
{
    on_own_server(WEIR_SQLITE, hold_through_everything);
}

WEIR_TEST(rolling_restart, repeats_nothing_on_sqlite)
{
    outbox_fixture_run(WEIR_SQLITE, restart_in_turn);
}

/* ---- one place --------------------------------------------------------------------- */

WEIR_TEST(torture, repeats_no_effect_of_a_process_killed_before_its_commit_on_sqlite)
{
    check_sound(WEIR_SQLITE, &KILLED_BEFORE_COMMIT);
}

WEIR_TEST(torture, accepts_no_ack_of_a_process_that_was_overtaken_on_sqlite)
{
    check_sound(WEIR_SQLITE, &STOPPED_BEFORE_ACK);
}

WEIR_TEST(torture, rejects_no_message_by_deaths_of_its_owners_on_sqlite)
{
    check_sound(WEIR_SQLITE, &KILLED_IN_CALLS);
}

/* ---- planted bugs ------------------------------------------------------------------ */

WEIR_TEST(torture, audit_sees_an_enqueue_outside_of_its_transaction_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_case){.plant = TORTURE_ENQUEUE_OUTSIDE,
                                                    .rule = TORTURE_T1});
}

WEIR_TEST(torture, audit_sees_messages_in_the_wrong_order_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_case){.plant = TORTURE_ENQUEUE_INVERTED,
                                                    .rule = TORTURE_T1});
}

WEIR_TEST(torture, audit_sees_what_comes_again_without_a_fault_on_sqlite)
{
    check_found(WEIR_SQLITE,
                &(struct torture_case){.plant = TORTURE_RETRY_DONE, .rule = TORTURE_T5});
}

WEIR_TEST(torture, audit_sees_an_epoch_of_two_processes_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_case){.plant = TORTURE_WRONG_PROCESS,
                                                    .rule = TORTURE_T3});
}

WEIR_TEST(torture, audit_sees_a_dead_letter_on_sqlite)
{
    check_found(WEIR_SQLITE,
                &(struct torture_case){.plant = TORTURE_REJECT, .rule = TORTURE_T7});
}

WEIR_TEST(torture, audit_sees_an_ack_before_the_handler_has_it_on_sqlite)
{
    check_found(WEIR_SQLITE,
                &(struct torture_case){.plant = TORTURE_WORK_LATE, .rule = TORTURE_T4});
}
