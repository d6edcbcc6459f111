/*
 * flows_crash_plant.c - what would be there if a promise had been broken: tables and
 * notes are changed, one after the other, and each time the audit must find more than
 * before that breaks the rule. What was planted stays.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "crash/flows/flows_crash_truth.h"
#include "execution/state.h"

/* ---- notes ------------------------------------------------------------------------- */

/* The first member for which it is so, of which *no is the number; NULL: none. */
typedef bool (*member_fn)(const struct flows_crash_member *member,
                          const struct flows_crash_life *life);

static struct flows_crash_member *find_member(struct flows_crash *run, member_fn is_it,
                                              int64_t *no)
{
    struct flows_crash_member *found = NULL;
    struct flows_crash_truth current;

    flows_crash_truth_read(run, &current);
    for (uint32_t i = 0; i < current.count && found == NULL; i++) {
        if (current.lives[i].found == 1 &&
            is_it(&run->shared->members[i], &current.lives[i])) {
            found = &run->shared->members[i];
            *no = current.lives[i].no;
        }
    }
    flows_crash_truth_free(&current);
    return found;
}

static uint32_t count_resumed(const struct flows_crash_member *member)
{
    uint32_t count = 0;

    for (int i = 0; i < FLOWS_CRASH_SIGNALS_EACH; i++)
        count += atomic_load(&member->signals[i].effect) == WEIR_SIGNAL_RESUMED + 1;
    return count;
}

/* By a signal, and by that alone. */
static bool was_resumed(const struct flows_crash_member *member,
                        const struct flows_crash_life *life)
{
    return life->resumed == 1 && life->timeouts == 0 && count_resumed(member) == 1;
}

static bool was_kept(const struct flows_crash_member *member,
                     const struct flows_crash_life *life)
{
    return life->came[0] == 1 &&
           atomic_load(&member->signals[0].effect) == WEIR_SIGNAL_KEPT + 1;
}

static bool was_repeated(const struct flows_crash_member *member,
                         const struct flows_crash_life *life)
{
    return life->came[1] == 1 && atomic_load(&member->signals[1].again) != 0;
}

static bool is_forgotten(const struct flows_crash_member *member,
                         const struct flows_crash_life *life)
{
    (void)member;
    return life->state == WEIR_EXEC_SUSPENDED;
}

static bool is_over(const struct flows_crash_member *member,
                    const struct flows_crash_life *life)
{
    return life->state >= WEIR_EXEC_SUCCEEDED && atomic_load(&member->completions) == 1;
}

static bool was_heard(const struct flows_crash_member *member,
                      const struct flows_crash_life *life)
{
    uint32_t came = 0;

    for (int i = 0; i < FLOWS_CRASH_SIGNALS_EACH; i++)
        came += life->came[i];
    return is_over(member, life) && came > 0 &&
           atomic_load(&member->signal_events) == came;
}

/* The statement, with the number of somebody who was resumed. */
__attribute__((format(printf, 2, 0))) static void resume_again(struct flows_crash *run,
                                                               const char *format)
{
    int64_t no = 0;
    char sql[256];

    if (find_member(run, was_resumed, &no) == NULL)
        return;
    (void)snprintf(sql, sizeof sql, "%s%" PRId64, format, no);
    fixture_prepare(run->rig.fixture, sql);
}

static void resume_twice(struct flows_crash *run)
{
    resume_again(run,
                 "INSERT INTO story_member (no, was, hold, due_us, has, ended_us,"
                 " failure, over_budget, over_era) SELECT no, was, hold, due_us, has,"
                 " ended_us, failure, 0, 0 FROM story_member WHERE was = 5"
                 " AND has < 10 AND no = ");
}

static void time_out_too(struct flows_crash *run)
{
    resume_again(run, "INSERT INTO story_signal (no, key, name, source) SELECT no,"
                      " 'timeout', 'timeout', 'suspension_timeout' FROM {p}_execution"
                      " WHERE no = ");
}

static void name_two_winners(struct flows_crash *run)
{
    int64_t no = 0;
    struct flows_crash_member *member = find_member(run, was_resumed, &no);

    for (int i = 0; member != NULL && i < FLOWS_CRASH_SIGNALS_SENT; i++)
        atomic_store(&member->signals[i].effect, WEIR_SIGNAL_RESUMED + 1);
}

static void call_it_late(struct flows_crash *run)
{
    int64_t no = 0;
    struct flows_crash_member *member = find_member(run, was_kept, &no);

    if (member != NULL)
        atomic_store(&member->signals[0].effect, WEIR_SIGNAL_LATE + 1);
}

/* It was sent first, and nothing was lost. */
static void call_it_a_repeat(struct flows_crash *run)
{
    int64_t no = 0;
    struct flows_crash_member *member = find_member(run, was_kept, &no);

    if (member != NULL)
        atomic_store(&member->signals[0].effect, WEIR_SIGNAL_DUPLICATE + 1);
}

static void count_a_repeat(struct flows_crash *run)
{
    int64_t no = 0;
    struct flows_crash_member *member = find_member(run, was_repeated, &no);

    if (member != NULL)
        atomic_store(&member->signals[1].again, WEIR_SIGNAL_KEPT + 1);
}

/* Whoever was forgotten got all that it waits for, and stays suspended. */
static void ignore_signals(struct flows_crash *run)
{
    int64_t no = 0;
    struct flows_crash_member *member = find_member(run, is_forgotten, &no);
    char sql[256];

    if (member == NULL)
        return;
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO story_signal (no, key, name, source) SELECT no,"
                   " '%" PRIu32 ".2', 'go', 'bob' FROM {p}_execution WHERE no = %" PRId64,
                   (uint32_t)(member - run->shared->members), no);
    fixture_prepare(run->rig.fixture, sql);
}

static void tell_an_end_twice(struct flows_crash *run)
{
    int64_t no = 0;

    atomic_fetch_add(&find_member(run, was_heard, &no)->completions, 1);
}

static void tell_no_signal(struct flows_crash *run)
{
    int64_t no = 0;
    struct flows_crash_member *member = find_member(run, was_heard, &no);

    if (member != NULL)
        atomic_fetch_sub(&member->signal_events, 1);
}

/* One that was told that it has completed, and has. */
static struct flows_crash_claim *find_claim(struct flows_crash *run)
{
    size_t count = atomic_load(&run->shared->claim_count);
    struct flows_crash_claim *found = NULL;
    struct flows_crash_truth current;

    flows_crash_truth_read(run, &current);
    for (size_t i = 0; i < count && found == NULL; i++) {
        struct flows_crash_claim *claim = &run->shared->claims[i];
        const struct flows_crash_life *life = &current.lives[claim->member];
        char note[FLOWS_CRASH_NOTE_SIZE];

        flows_crash_write_note(claim, note);
        if (claim->verb == WEIR_SETTLE_COMPLETE && atomic_load(&claim->ok) &&
            strcmp(life->result, note) == 0 && strcmp(life->given, claim->input) == 0)
            found = claim;
    }
    flows_crash_truth_free(&current);
    check(found != NULL);
    return found;
}

static void refuse_a_claim(struct flows_crash *run)
{
    atomic_store(&find_claim(run)->ok, false);
}

static void abandon_a_claim(struct flows_crash *run)
{
    find_claim(run)->verb = WEIR_SETTLE_ABANDON;
}

static void claim_twice(struct flows_crash *run)
{
    size_t slot = atomic_fetch_add(&run->shared->claim_count, 1);

    memcpy(&run->shared->claims[slot], find_claim(run), sizeof run->shared->claims[slot]);
}

static void give_another_input(struct flows_crash *run)
{
    find_claim(run)->input[0] ^= 1;
}

/* The flow of somebody who was forgotten is open. */
static void cancel_in_vain(struct flows_crash *run)
{
    int64_t no = 0;
    struct flows_crash_member *member = find_member(run, is_forgotten, &no);

    if (member != NULL)
        atomic_store(&run->shared->flows[member->executions].cancel.answered, true);
}

static struct flows_crash_report *find_report(struct flows_crash *run)
{
    size_t count = atomic_load(&run->shared->report_count);

    for (size_t i = 0; i < count; i++) {
        struct flows_crash_report *report = &run->shared->reports[i];

        if (atomic_load(&report->spending) == WEIR_SPENT + 1 &&
            report->member != UINT32_MAX)
            return report;
    }
    weir_test_fail(__FILE__, __LINE__, "nothing was spent");
}

static void refuse_a_report(struct flows_crash *run)
{
    atomic_store(&find_report(run)->spending, WEIR_NOT_SPENT + 1);
}

static void call_a_report_a_repeat(struct flows_crash *run)
{
    atomic_store(&find_report(run)->spending, WEIR_SPENT_BEFORE + 1);
}

static void count_a_report_twice(struct flows_crash *run)
{
    atomic_store(&find_report(run)->again, WEIR_SPENT + 1);
}

static bool has_spent(const struct flows_crash_member *member,
                      const struct flows_crash_life *life)
{
    return life->has_spent && atomic_load(&member->released_us) == 0;
}

static void forget_a_release(struct flows_crash *run)
{
    int64_t no = 0;
    struct flows_crash_member *member = find_member(run, has_spent, &no);

    if (member != NULL)
        atomic_store(&member->released_us, process_set_now_us());
}

static void forget_resets(struct flows_crash *run)
{
    atomic_fetch_add(&run->shared->resets, 1000000);
}

/* ---- all of them ------------------------------------------------------------------- */

struct plant {
    enum flows_crash_rule rule;
    const char *name;
    const char *sql;
    void (*tamper)(struct flows_crash *run);
};

#define MIN_OF(column, table, condition)                                                 \
    "(SELECT min(" column ") FROM " table " WHERE " condition ")"
#define AGAIN_MEMBER(condition)                                                          \
    "INSERT INTO story_member (no, was, hold, due_us, has, ended_us, failure,"           \
    " over_budget, over_era) SELECT no, was, hold, due_us, has, ended_us, failure, 0, 0" \
    " FROM story_member WHERE seq = " MIN_OF("seq", "story_member", condition)

static const struct plant PLANTS[] = {
    {FLOWS_CRASH_SIGNALS, "a signal is lost",
     "DELETE FROM story_signal WHERE seq ="
     " (SELECT max(seq) FROM story_signal WHERE key <> 'timeout')",
     NULL},
    {FLOWS_CRASH_SIGNALS, "a signal was removed",
     "DELETE FROM {p}_signal WHERE key ="
     " (SELECT min(key) FROM story_signal WHERE key <> 'timeout')",
     NULL},
    {FLOWS_CRASH_SIGNALS, "a signal counts twice",
     "INSERT INTO story_signal (no, key, name, source) SELECT no, key, name, source"
     " FROM story_signal WHERE seq = (SELECT max(seq) FROM story_signal"
     " WHERE key <> 'timeout')",
     NULL},
    {FLOWS_CRASH_SIGNALS, "a signal that nobody sent",
     "INSERT INTO story_signal (no, key, name, source) SELECT min(no), 'unheard', 'go',"
     " 'zoe' FROM {p}_execution",
     NULL},
    {FLOWS_CRASH_SIGNALS, "a repeat that was the first", NULL, call_it_a_repeat},
    {FLOWS_CRASH_SIGNALS, "a late signal that counts", NULL, call_it_late},
    {FLOWS_CRASH_SIGNALS, "a repeat that counts", NULL, count_a_repeat},

    {FLOWS_CRASH_WINNER, "two signals resumed it", NULL, name_two_winners},
    {FLOWS_CRASH_WINNER, "it was resumed twice", NULL, resume_twice},
    {FLOWS_CRASH_WINNER, "signal and timeout have both won", NULL, time_out_too},
    {FLOWS_CRASH_WINNER, "it timed out before its time",
     "UPDATE story_member SET due_us = ended_us + 1 WHERE seq = " MIN_OF(
         "seq", "story_member", "was = 5 AND failure LIKE 'suspension_timeout%'"),
     NULL},
    {FLOWS_CRASH_WINNER, "it timed out otherwise than was said",
     "UPDATE {p}_execution SET failure = 'suspension_timeout:nap' WHERE no = (SELECT"
     " max(no) FROM {p}_execution WHERE failure LIKE 'suspension_timeout%')",
     NULL},
    {FLOWS_CRASH_WINNER, "it went on with too little",
     "UPDATE story_signal SET key = 'timeout' WHERE key LIKE '%.%' AND no IN"
     " (SELECT no FROM story_member WHERE was = 5 AND failure LIKE"
     " 'suspension_timeout%')",
     NULL},

    {FLOWS_CRASH_FLOWS, "a flow counts a member twice",
     "UPDATE {p}_flow SET unlucky = unlucky + 1 WHERE no = (SELECT max(no) FROM "
     "{p}_flow)",
     NULL},
    {FLOWS_CRASH_FLOWS, "a flow ended otherwise than its members",
     "UPDATE {p}_flow SET state = 3 - state WHERE no = " MIN_OF("no", "{p}_flow",
                                                                "state IN (1, 2)"),
     NULL},
    {FLOWS_CRASH_FLOWS, "a flow ended at another time",
     "UPDATE {p}_flow SET ended_us = 1 WHERE no = " MIN_OF("no", "{p}_flow",
                                                           "state IN (1, 2)"),
     NULL},
    {FLOWS_CRASH_FLOWS, "a flow was cancelled without its members",
     "UPDATE {p}_flow SET state = 3, cancel_policy = 1, ended_us = 1 WHERE no ="
     " (SELECT max(no) FROM {p}_flow WHERE state = 0)",
     NULL},

    {FLOWS_CRASH_DATA, "an input is nobody's",
     "UPDATE {p}_input SET bytes = (SELECT r.bytes FROM {p}_result r WHERE r.no ="
     " (SELECT max(no) FROM {p}_result)) WHERE no ="
     " (SELECT min(e.no) FROM {p}_execution e WHERE e.attempts > 0 AND e.no NOT IN"
     " (SELECT downstream FROM {p}_edge))",
     NULL},
    {FLOWS_CRASH_DATA, "a result was not passed on",
     "DELETE FROM {p}_passed WHERE downstream = (SELECT max(e.no) FROM"
     " {p}_execution e JOIN {p}_edge_group g ON g.downstream = e.no JOIN {p}_edge d"
     " ON d.downstream = e.no WHERE e.attempts > 0 AND g.policy = 0 AND d.passes_data = "
     "1)",
     NULL},
    {FLOWS_CRASH_DATA, "a result was passed on that is no result",
     "UPDATE {p}_passed SET bytes = (SELECT i.bytes FROM {p}_input i"
     " WHERE i.no = upstream) WHERE upstream = (SELECT max(upstream) FROM {p}_passed)",
     NULL},
    {FLOWS_CRASH_DATA, "a worker was given something else", NULL, give_another_input},

    {FLOWS_CRASH_LEDGER, "a report is told to be refused that counts", NULL,
     refuse_a_report},
    {FLOWS_CRASH_LEDGER, "a report is a repeat that was the first", NULL,
     call_a_report_a_repeat},
    {FLOWS_CRASH_LEDGER, "a report counts twice", NULL, count_a_report_twice},
    {FLOWS_CRASH_LEDGER, "a release was forgotten", NULL, forget_a_release},
    {FLOWS_CRASH_LEDGER, "a reset was forgotten", NULL, forget_resets},
    {FLOWS_CRASH_LEDGER, "a report is lost",
     "DELETE FROM {p}_idempotency WHERE key = " MIN_OF("key", "{p}_idempotency",
                                                       "key LIKE 'report%'"),
     NULL},
    {FLOWS_CRASH_LEDGER, "a sum has lost something",
     "UPDATE story_usage SET delta = delta + 1 WHERE seq = " MIN_OF("seq", "story_usage",
                                                                    "delta > 0"),
     NULL},
    {FLOWS_CRASH_LEDGER, "the ledger has lost something",
     "UPDATE {p}_budget SET era = era + 1", NULL},

    {FLOWS_CRASH_LIMITS, "a limit was exceeded",
     "UPDATE story_usage SET used = hard + 1 WHERE seq = " MIN_OF("seq", "story_usage",
                                                                  "hard > 0"),
     NULL},
    {FLOWS_CRASH_LIMITS, "everybody was admitted",
     "UPDATE story_member SET over_budget = 1, over_era = 0 WHERE has = 4", NULL},

    {FLOWS_CRASH_TOLD, "a member is lost",
     "DELETE FROM {p}_execution WHERE no = (SELECT max(no) FROM {p}_execution"
     " WHERE kind LIKE 'p%')",
     NULL},
    {FLOWS_CRASH_TOLD, "an edge is lost",
     "UPDATE {p}_flow SET edges = edges - 1 WHERE no = " MIN_OF("no", "{p}_flow",
                                                                "edges > 0"),
     NULL},
    {FLOWS_CRASH_TOLD, "a result is another one",
     "UPDATE {p}_result SET bytes = (SELECT i.bytes FROM {p}_input i WHERE i.no ="
     " {p}_result.no) WHERE no = (SELECT max(e.no) FROM {p}_execution e WHERE e.state = "
     "10)",
     NULL},
    {FLOWS_CRASH_TOLD, "who was refused has left a result", NULL, refuse_a_claim},
    {FLOWS_CRASH_TOLD, "who was told that it is cancelled has not", NULL,
     abandon_a_claim},
    {FLOWS_CRASH_TOLD, "a flow was not cancelled", NULL, cancel_in_vain},
    {FLOWS_CRASH_TOLD, "an end is told twice", NULL, tell_an_end_twice},
    {FLOWS_CRASH_TOLD, "a signal is told to nobody", NULL, tell_no_signal},

    {FLOWS_CRASH_JOINS, "a group was decided twice",
     "INSERT INTO story_group (downstream, was, has) SELECT downstream, was, has"
     " FROM story_group WHERE seq = " MIN_OF("seq", "story_group", "has > 0"),
     NULL},
    {FLOWS_CRASH_JOINS, "a group counts an edge twice",
     "UPDATE {p}_edge_group SET succeeded = succeeded + 1 WHERE downstream = " MIN_OF(
         "downstream", "{p}_edge_group", "policy > 0 AND state = 1"),
     NULL},
    {FLOWS_CRASH_JOINS, "an edge is not what it comes from",
     "UPDATE {p}_edge SET state = 3 WHERE state = 1 AND downstream = (SELECT"
     " max(downstream) FROM {p}_edge WHERE state = 1)",
     NULL},
    {FLOWS_CRASH_JOINS, "a group was decided otherwise",
     "UPDATE {p}_edge_group SET state = 2 WHERE downstream = (SELECT max(downstream)"
     " FROM {p}_edge_group WHERE state = 1)",
     NULL},
    {FLOWS_CRASH_JOINS, "it could be claimed twice",
     AGAIN_MEMBER("was = 3 AND hold = 4 AND has < 10"), NULL},
    {FLOWS_CRASH_JOINS, "it was skipped without reason",
     "UPDATE {p}_execution SET state = 14 WHERE no = (SELECT min(e.no) FROM"
     " {p}_execution e WHERE e.state = 12 AND e.no NOT IN (SELECT downstream FROM"
     " {p}_edge_group))",
     NULL},
    {FLOWS_CRASH_JOINS, "it was cancelled without reason",
     "UPDATE {p}_execution SET failure = 'sibling_quorum_satisfied', state = 12"
     " WHERE no = (SELECT min(e.no) FROM {p}_execution e WHERE e.state >= 10"
     " AND e.no NOT IN (SELECT upstream FROM {p}_edge))",
     NULL},
    {FLOWS_CRASH_JOINS, "an attempt is missing",
     "DELETE FROM {p}_attempt WHERE number = 0 AND no = " MIN_OF("no", "{p}_attempt",
                                                                 "number = 1"),
     NULL},
    {FLOWS_CRASH_JOINS, "two attempts at a time",
     "UPDATE {p}_attempt SET started_us = 1 WHERE number = 1 AND no = (SELECT max(no)"
     " FROM {p}_attempt WHERE number = 1)",
     NULL},
    {FLOWS_CRASH_JOINS, "an attempt has ended it that was not the last",
     "UPDATE {p}_attempt SET outcome = 1 WHERE number = 0 AND no = (SELECT max(no)"
     " FROM {p}_attempt WHERE number = 1)",
     NULL},
    {FLOWS_CRASH_JOINS, "it ended otherwise than its attempt",
     "UPDATE {p}_execution SET state = 11 WHERE no = (SELECT max(no) FROM {p}_execution"
     " WHERE state = 10)",
     NULL},
    {FLOWS_CRASH_JOINS, "it ended twice", AGAIN_MEMBER("has = 10"), NULL},
    {FLOWS_CRASH_JOINS, "it is over, and never ended",
     "DELETE FROM story_member WHERE no = (SELECT max(no) FROM {p}_execution"
     " WHERE state = 10)",
     NULL},
    {FLOWS_CRASH_JOINS, "two workers have claimed it", NULL, claim_twice},

    {FLOWS_CRASH_STUCK, "it never ended",
     "UPDATE {p}_execution SET state = 1 WHERE no = " MIN_OF("no", "{p}_execution",
                                                             "state = 10"),
     NULL},
    {FLOWS_CRASH_STUCK, "it waits behind somebody who has ended",
     "UPDATE {p}_execution SET state = 3, hold = 4 WHERE no = (SELECT max(e.no) FROM"
     " {p}_execution e JOIN {p}_edge d ON d.downstream = e.no WHERE e.state = 10)",
     NULL},
    {FLOWS_CRASH_STUCK, "members are still to be cancelled",
     "UPDATE {p}_edge_group SET cancel_us = 1 WHERE downstream = " MIN_OF(
         "downstream", "{p}_edge_group", "state > 0"),
     NULL},
    {FLOWS_CRASH_STUCK, "a group is pending without an open edge",
     "UPDATE {p}_edge_group SET state = 0 WHERE downstream = (SELECT max(g.downstream)"
     " FROM {p}_edge_group g WHERE g.state > 0 AND g.downstream NOT IN"
     " (SELECT d.downstream FROM {p}_edge d WHERE d.state = 0))",
     NULL},
    {FLOWS_CRASH_STUCK, "it goes on although it is not needed",
     "UPDATE {p}_execution SET state = 4 WHERE no = (SELECT min(d.upstream)"
     " FROM {p}_edge d JOIN {p}_edge_group g ON g.downstream = d.downstream"
     " JOIN {p}_execution u ON u.no = d.upstream"
     " WHERE g.cancel_remaining = 1 AND g.state <> 0 AND u.state >= 10)",
     NULL},
    {FLOWS_CRASH_STUCK, "a waitpoint is still open",
     "UPDATE {p}_waitpoint SET state = 1 WHERE state = 2 AND no = " MIN_OF(
         "no", "{p}_waitpoint", "state = 2"),
     NULL},
    {FLOWS_CRASH_STUCK, "a condition holds, and nobody has noticed", NULL,
     ignore_signals},
    {FLOWS_CRASH_STUCK, "nothing says until when it is suspended",
     "DELETE FROM {p}_suspension", NULL},
    {FLOWS_CRASH_STUCK, "a budget holds it back that is not exceeded",
     "UPDATE {p}_spent SET amount = 1 WHERE dimension = '' AND no IN"
     " (SELECT no FROM {p}_execution WHERE state < 10)",
     NULL},
};

_Static_assert(sizeof PLANTS / sizeof PLANTS[0] <= 64, "each has a bit");

const char *flows_crash_plant_name(size_t number)
{
    return PLANTS[number].name;
}

/* The figures of the sound run stay. */
void flows_crash_audit_plants(struct flows_crash *run)
{
    struct flows_crash_result *out = run->result;
    struct flows_crash_result before = *out;

    for (size_t i = 0; i < sizeof PLANTS / sizeof PLANTS[0]; i++) {
        const struct plant *plant = &PLANTS[i];
        struct flows_crash_result after = {0};

        if (plant->sql != NULL)
            fixture_prepare(run->rig.fixture, plant->sql);
        else
            plant->tamper(run);
        run->result = &after;
        flows_crash_audit(run);
        out->planted++;
        if (after.broken[plant->rule] > before.broken[plant->rule])
            out->found |= UINT64_C(1) << i;
        else
            printf("# not found: %s\n", plant->name);
        before = after;
    }
    run->result = out;
}
