/*
 * Which rule is allowed in which state: all pairs, each tried with the epoch of the row
 * and at a time at which everything that it has is due, or nothing is.
 *
 * The table is the claim. A rule that is refused must leave every byte of the row as it
 * was.
 */
#include <string.h>

#include "execution/rules.h"
#include "rules_fixture.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum rule {
    CLAIM,
    RENEW,
    COMPLETE,
    FAIL,
    DELAY,
    SUSPEND,
    ABANDON,
    CANCEL,
    REVOKE,
    PRIORITISE,
    REPLAY,
    RESUME,
    BLOCK,
    UNBLOCK,
    SKIP,
    PROMOTE,
    TIME_OUT,
    LOSE_LEASE,
    EXPIRE,
    WAIT_TOO_LONG,
    REFUSE_INPUT,
    RULE_COUNT
};

static const enum weir_exec_state STATES[] = {
    WEIR_EXEC_READY,     WEIR_EXEC_DELAYED,   WEIR_EXEC_BLOCKED, WEIR_EXEC_ACTIVE,
    WEIR_EXEC_SUSPENDED, WEIR_EXEC_SUCCEEDED, WEIR_EXEC_FAILED,  WEIR_EXEC_CANCELLED,
    WEIR_EXEC_EXPIRED,   WEIR_EXEC_SKIPPED,
};

static const struct weir_suspending SUSPENDING = {.hold = WEIR_HOLD_APPROVAL};

static enum weir_ruling apply(enum rule rule, struct weir_execution_row *row,
                              int64_t now_us)
{
    struct weir_consequence out;

    switch (rule) {
    case CLAIM:
        return claim(row, now_us, &out);
    case RENEW:
        return weir_rule_renew(row, row->epoch, TTL, now_us);
    case COMPLETE:
        return weir_rule_complete(row, row->epoch, now_us, &out);
    case FAIL:
        return weir_rule_fail(row, row->epoch, &PASSING, now_us, &out);
    case DELAY:
        return weir_rule_delay(row, row->epoch, now_us + SECOND, now_us, &out);
    case SUSPEND:
        return weir_rule_suspend(row, row->epoch, &SUSPENDING, now_us, &out);
    case ABANDON:
        return weir_rule_abandon(row, row->epoch, weir_str("x"), now_us, &out);
    case CANCEL:
        return weir_rule_cancel(row, weir_str("x"), now_us, &out);
    case REVOKE:
        return weir_rule_revoke(row, weir_str(""), 0, now_us, &out);
    case PRIORITISE:
        return weir_rule_prioritise(row, 77, now_us, &out);
    case REPLAY:
        return weir_rule_replay(row, now_us, &out);
    case RESUME:
        return weir_rule_resume(row, now_us, now_us, &out);
    case BLOCK:
        return weir_rule_block(row, WEIR_HOLD_BUDGET, &out);
    case UNBLOCK:
        return weir_rule_unblock(row, WEIR_HOLD_DEPENDENCIES, now_us, &out);
    case SKIP:
        return weir_rule_skip(row, now_us, &out);
    case PROMOTE:
        return weir_rule_promote(row, now_us);
    case TIME_OUT:
        return weir_rule_time_out(row, now_us, &out);
    case LOSE_LEASE:
        return weir_rule_lose_lease(row, now_us, &out);
    case EXPIRE:
        return weir_rule_expire(row, now_us, &out);
    case REFUSE_INPUT:
        return weir_rule_refuse_input(row, now_us, &out);
    default:
        return weir_rule_wait_too_long(row, now_us, &out);
    }
}

/* x done  . nothing  S stale  A not active  L lease over  O over  N not over  W wrong
 * state */
static char letter(enum weir_ruling ruling)
{
    static const char LETTERS[WEIR_RULING_COUNT] = {
        [WEIR_RULING_DONE] = 'x',       [WEIR_RULING_REPEATED] = 'R',
        [WEIR_RULING_NOTHING] = '.',    [WEIR_RULING_STALE] = 'S',
        [WEIR_RULING_LEASE_OVER] = 'L', [WEIR_RULING_NOT_ACTIVE] = 'A',
        [WEIR_RULING_OVER] = 'O',       [WEIR_RULING_OTHER_INSTANCE] = 'I',
        [WEIR_RULING_NOT_OVER] = 'N',   [WEIR_RULING_WRONG_STATE] = 'W',
        [WEIR_RULING_LIMIT] = '#',      [WEIR_RULING_OTHERWISE] = 'D',
    };

    return LETTERS[ruling];
}

/* What the rules say in this state, in their order: those of workers, of operators, of
 * what it waits for, of reconcilers. */
static void try_all(enum weir_exec_state state, int64_t now_us, char *out)
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct weir_execution_row row = in_state(state), before;
        enum weir_ruling ruling;

        row.settled_epoch = 0; /* not asked for here */
        row.settled_as = WEIR_SETTLED_UNKNOWN;
        before = row;
        ruling = apply((enum rule)rule, &row, now_us);
        if (rule == CANCEL || rule == RESUME || rule == PROMOTE)
            *out++ = ' ';
        *out++ = letter(ruling);
        check_int(memcmp(&row, &before, sizeof row) == 0, ruling != WEIR_RULING_DONE);
        check_whole(&row);
    }
    *out = '\0';
}

static void check_table(int64_t now_us, const char *const *table)
{
    for (size_t i = 0; i < COUNT_OF(STATES); i++) {
        char line[RULE_COUNT + sizeof "   "];

        try_all(STATES[i], now_us, line);
        check_str(line, table[i]);
    }
}

/* Nothing is due. A row that was never claimed has no epoch that anybody could show. */
WEIR_TEST(rules, are_allowed_in_these_states_and_no_others)
{
    static const char *const TABLE[] = {
        "xSSSSSS xAxN Wx.x .....x", /* READY */
        "WAAAAAA xAWN Wx.x ......", /* DELAYED */
        "WSSSSSS xAWN WWxx ......", /* BLOCKED */
        "Wxxxxxx xxWN WW.x ......", /* ACTIVE */
        "WAAAAAA xAWN xW.x ......", /* SUSPENDED */
        "OAAAAAA OAOx OO.. ......", /* SUCCEEDED */
        "OAAAAAA OAOx OO.. ......", /* FAILED */
        "OAAAAAA .AOx OO.. ......", /* CANCELLED */
        "OAAAAAA OAOx OO.. ......", /* EXPIRED */
        "OAAAAAA OAOx OO.. ......", /* SKIPPED */
    };

    check_table(NOW + 1, TABLE);
}

/* Everything is due: delays, leases, both deadlines. */
WEIR_TEST(rules, of_reconcilers_do_what_is_due_in_these_states_and_no_others)
{
    static const char *const TABLE[] = {
        ".SSSSSS xAxN Wx.x ...x.x", /* READY */
        "WAAAAAA xAWN Wx.x x..x..", /* DELAYED */
        "WSSSSSS xAWN WWxx ...x..", /* BLOCKED */
        "WLLLLLL xAWN WW.x .x.x..", /* ACTIVE: time_out has it, and so lose_lease has not
                                     */
        "WAAAAAA xAWN xW.x ...xx.", /* SUSPENDED */
        "OAAAAAA OAOx OO.. ......", /* SUCCEEDED */
        "OAAAAAA OAOx OO.. ......", /* FAILED */
        "OAAAAAA .AOx OO.. ......", /* CANCELLED */
        "OAAAAAA OAOx OO.. ......", /* EXPIRED */
        "OAAAAAA OAOx OO.. ......", /* SKIPPED */
    };

    check_table(NOW + 3600 * SECOND, TABLE);
}
