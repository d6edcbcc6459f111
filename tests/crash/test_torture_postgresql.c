/*
 * Producers and consumers on PostgreSQL that are killed, stopped and ended at random,
 * their server too: torture.h says what must hold. And the audit itself is checked:
 * with a bug planted it must see something.
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

/* ---- planted bugs ------------------------------------------------------------------ */

WEIR_TEST(torture, audit_sees_acks_of_what_no_handler_had_on_postgresql)
{
    check_found(WEIR_POSTGRESQL,
                &(struct torture_bug){.plant = TORTURE_ACK_UNASKED, .rule = TORTURE_T2});
}

WEIR_TEST(torture, audit_sees_a_message_that_was_passed_over_on_postgresql)
{
    check_found(WEIR_POSTGRESQL,
                &(struct torture_bug){.plant = TORTURE_SKIP_READ, .rule = TORTURE_T1});
}

WEIR_TEST(torture, audit_sees_an_enqueue_outside_of_its_transaction_on_postgresql)
{
    check_found(WEIR_POSTGRESQL, &(struct torture_bug){.plant = TORTURE_ENQUEUE_OUTSIDE,
                                                       .rule = TORTURE_T1});
}

WEIR_TEST(torture, audit_sees_messages_in_the_wrong_order_on_postgresql)
{
    check_found(WEIR_POSTGRESQL, &(struct torture_bug){.plant = TORTURE_ENQUEUE_INVERTED,
                                                       .rule = TORTURE_T1});
}

/* Killed between the two transactions that should be one. */
WEIR_TEST(torture, audit_sees_an_ack_outside_of_the_handler_s_transaction_on_postgresql)
{
    check_found(WEIR_POSTGRESQL, &(struct torture_bug){.plant = TORTURE_ACK_OUTSIDE,
                                                       .rule = TORTURE_T6,
                                                       .place = "tx.commit",
                                                       .signal = SIGKILL});
}

/* Killed in any call: what waited in its other partitions was in nobody's hands. */
WEIR_TEST(torture, audit_sees_a_dead_letter_by_deaths_of_its_owners_on_postgresql)
{
    check_found(WEIR_POSTGRESQL, &(struct torture_bug){.plant = TORTURE_COUNT_DEATHS,
                                                       .rule = TORTURE_T9,
                                                       .place = "caller.begun",
                                                       .signal = SIGKILL});
}
