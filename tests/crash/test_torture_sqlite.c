/*
 * Producers and consumers on SQLite that are killed, stopped and ended at random:
 * torture.h says what must hold. And the audit itself is checked: with a bug planted it
 * must see something.
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

/* ---- planted bugs ------------------------------------------------------------------ */

WEIR_TEST(torture, audit_sees_acks_of_what_no_handler_had_on_sqlite)
{
    check_found(WEIR_SQLITE,
                &(struct torture_bug){.plant = TORTURE_ACK_UNASKED, .rule = TORTURE_T2});
}

WEIR_TEST(torture, audit_sees_a_message_that_was_passed_over_on_sqlite)
{
    check_found(WEIR_SQLITE,
                &(struct torture_bug){.plant = TORTURE_SKIP_READ, .rule = TORTURE_T1});
}

WEIR_TEST(torture, audit_sees_an_enqueue_outside_of_its_transaction_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_bug){.plant = TORTURE_ENQUEUE_OUTSIDE,
                                                   .rule = TORTURE_T1});
}

WEIR_TEST(torture, audit_sees_messages_in_the_wrong_order_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_bug){.plant = TORTURE_ENQUEUE_INVERTED,
                                                   .rule = TORTURE_T1});
}

/* Killed between the two transactions that should be one. */
WEIR_TEST(torture, audit_sees_an_ack_outside_of_the_handler_s_transaction_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_bug){.plant = TORTURE_ACK_OUTSIDE,
                                                   .rule = TORTURE_T6,
                                                   .place = "tx.commit",
                                                   .signal = SIGKILL});
}

/* Stopped just before it acknowledges; when it goes on somebody else has the lease. */
WEIR_TEST(torture, audit_sees_a_stale_ack_that_is_accepted_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_bug){.plant = TORTURE_ACK_ANYHOW,
                                                   .rule = TORTURE_T2,
                                                   .place = "acker.collected",
                                                   .signal = SIGSTOP});
}

WEIR_TEST(torture, audit_sees_what_comes_again_without_a_fault_on_sqlite)
{
    check_found(WEIR_SQLITE,
                &(struct torture_bug){.plant = TORTURE_RETRY_DONE, .rule = TORTURE_T5});
}

WEIR_TEST(torture, audit_sees_an_epoch_of_two_processes_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_bug){.plant = TORTURE_WRONG_PROCESS,
                                                   .rule = TORTURE_T3});
}

WEIR_TEST(torture, audit_sees_a_dead_letter_on_sqlite)
{
    check_found(WEIR_SQLITE,
                &(struct torture_bug){.plant = TORTURE_REJECT, .rule = TORTURE_T7});
}

WEIR_TEST(torture, audit_sees_an_ack_before_the_handler_has_it_on_sqlite)
{
    check_found(WEIR_SQLITE,
                &(struct torture_bug){.plant = TORTURE_WORK_LATE, .rule = TORTURE_T4});
}

/* Killed in any call: what waited in its other partitions was in nobody's hands. */
WEIR_TEST(torture, audit_sees_a_dead_letter_by_deaths_of_its_owners_on_sqlite)
{
    check_found(WEIR_SQLITE, &(struct torture_bug){.plant = TORTURE_COUNT_DEATHS,
                                                   .rule = TORTURE_T9,
                                                   .place = "caller.begun",
                                                   .signal = SIGKILL});
}
