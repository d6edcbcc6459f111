/*
 * flows_crash_checks.c - what must be true of the tables alone: questions to the
 * database whose answer is how many rows break a rule of flows_crash.h. They share
 * nothing with the engine but the tables.
 */
#include "crash/flows/flows_crash_checks.h"

#include <stdio.h>
#include <string.h>

#define INPUT "{input}"

/* What really lacks: who was forgotten; and those behind somebody who has not ended
 * either. */
#define OPEN                                                                             \
    "SELECT count(*) FROM weir_execution e WHERE e.state < 10"                           \
    " AND NOT (e.state = 5 AND e.kind LIKE 'x%')"                                        \
    " AND NOT (e.state = 3 AND e.hold = 4 AND EXISTS (SELECT 1 FROM weir_edge d"         \
    " JOIN weir_execution u ON u.no = d.upstream"                                        \
    " WHERE d.downstream = e.no AND d.state = 0 AND u.state < 10))"
#define TO_BE_CANCELLED "SELECT count(*) FROM weir_edge_group WHERE cancel_us > 0"

#define EDGES_IN(state)                                                                  \
    "(SELECT count(*) FROM weir_edge d WHERE d.downstream = g.downstream AND d.state "   \
    "= " state ")"
#define NEEDED "CASE g.policy WHEN 0 THEN g.total WHEN 1 THEN 1 ELSE g.quorum END"
#define MEMBERS(condition)                                                               \
    "(SELECT count(*) FROM weir_execution e WHERE e.flow = f.no AND e.flow > 0 "         \
    "AND " condition ")"

/* Bad luck is to have failed or expired, and to be cancelled unless nobody needed it. */
#define UNLUCKY                                                                          \
    "(e.state IN (11, 13)"                                                               \
    " OR (e.state = 12 AND e.failure <> 'sibling_quorum_satisfied'))"

/* clang-format off */
#define WRONG_COUNTS                                                                     \
    "SELECT count(*) FROM weir_flow f"                                                   \
    " WHERE f.members <> " MEMBERS("f.no > 0")                                           \
    " OR f.unfinished <> " MEMBERS("e.state < 10")                                       \
    " OR f.unlucky <> " MEMBERS(UNLUCKY)                                                 \
    " OR f.edges <> (SELECT count(*) FROM weir_edge d WHERE d.flow = f.no)"
/* clang-format on */

/* {input}: the bytes of an input, as text. */
static const struct flows_crash_check CHECKS[] = {
    {FLOWS_CRASH_JOINS, "groups were decided twice, or not decided any more",
     "SELECT count(*) FROM (SELECT 1 FROM story_group GROUP BY downstream"
     " HAVING count(*) > 1 OR max(was) > 0) x"},
    {FLOWS_CRASH_JOINS, "groups do not count their edges",
     "SELECT count(*) FROM weir_edge_group g WHERE g.total <>"
     " (SELECT count(*) FROM weir_edge d WHERE d.downstream = g.downstream)"
     " OR g.succeeded <> " EDGES_IN("1") " OR g.failed <> " EDGES_IN(
         "2") " OR g.skipped <>"
              " " EDGES_IN("3")},
    {FLOWS_CRASH_JOINS, "edges are not what they come from",
     "SELECT count(*) FROM weir_edge d JOIN weir_execution u ON u.no = d.upstream"
     " WHERE d.state <> CASE WHEN u.state < 10 THEN 0 WHEN u.state = 10 THEN 1"
     " WHEN u.state = 14 THEN 3 ELSE 2 END"},
    {FLOWS_CRASH_JOINS, "groups are not what follows from their edges",
     "SELECT count(*) FROM weir_edge_group g WHERE g.state <> CASE"
     " WHEN g.total = 0 THEN 0 WHEN g.succeeded >= " NEEDED " THEN 1"
     " WHEN g.failed + g.skipped + " NEEDED " > g.total THEN 2 ELSE 0 END"},
    {FLOWS_CRASH_JOINS, "members began although their join was not satisfied",
     "SELECT count(*) FROM weir_edge_group g JOIN weir_execution e ON e.no = g.downstream"
     " WHERE e.attempts > 0 AND g.state <> 1"},
    {FLOWS_CRASH_JOINS, "members could be claimed twice because of their join",
     "SELECT count(*) FROM (SELECT 1 FROM story_member WHERE was = 3 AND hold = 4"
     " AND has < 10 GROUP BY no HAVING count(*) > 1) x"},
    {FLOWS_CRASH_JOINS, "members were skipped whose join was not impossible",
     "SELECT count(*) FROM weir_execution e WHERE e.state = 14 AND NOT EXISTS"
     " (SELECT 1 FROM weir_edge_group g WHERE g.downstream = e.no AND g.state = 2)"},
    {FLOWS_CRASH_JOINS, "members were not skipped whose join was impossible",
     "SELECT count(*) FROM weir_edge_group g JOIN weir_execution e ON e.no = g.downstream"
     " WHERE g.state = 2 AND e.state <> 14 AND e.state <> 12"},
    {FLOWS_CRASH_JOINS, "members were cancelled because of a join that is none",
     "SELECT count(*) FROM weir_execution e WHERE e.failure LIKE 'sibling_quorum_%'"
     " AND e.state = 12 AND NOT EXISTS (SELECT 1 FROM weir_edge d JOIN weir_edge_group g"
     " ON g.downstream = d.downstream WHERE d.upstream = e.no AND g.cancel_remaining = 1"
     " AND g.state = CASE e.failure WHEN 'sibling_quorum_satisfied' THEN 1 ELSE 2 END)"},
    {FLOWS_CRASH_JOINS, "members have more or fewer attempts than were counted",
     "SELECT count(*) FROM weir_execution e WHERE e.attempts <>"
     " (SELECT count(*) FROM weir_attempt a WHERE a.no = e.no)"
     " + CASE WHEN e.state < 10 AND e.attempts > 0 THEN 1 ELSE 0 END"},
    {FLOWS_CRASH_JOINS, "members have attempts with a gap",
     "SELECT count(*) FROM (SELECT 1 FROM weir_attempt GROUP BY no"
     " HAVING max(number) <> count(*) - 1 OR min(number) <> 0) x"},
    {FLOWS_CRASH_JOINS, "attempts began before the one before had ended",
     "SELECT count(*) FROM weir_attempt a JOIN weir_attempt b ON b.no = a.no"
     " AND b.number = a.number + 1 WHERE b.started_us < a.ended_us OR b.epoch <= "
     "a.epoch"},
    {FLOWS_CRASH_JOINS, "attempts have ended a member that went on",
     "SELECT count(*) FROM weir_attempt a JOIN weir_execution e ON e.no = a.no"
     " WHERE a.outcome IN (1, 3, 6, 7) AND a.number < e.attempts - 1"},
    {FLOWS_CRASH_JOINS, "members ended otherwise than their last attempt",
     "SELECT count(*) FROM weir_execution e WHERE e.state IN (10, 11) AND NOT EXISTS"
     " (SELECT 1 FROM weir_attempt a WHERE a.no = e.no AND a.number = e.attempts - 1"
     " AND a.outcome = CASE e.state WHEN 10 THEN 1 ELSE 3 END)"},
    {FLOWS_CRASH_JOINS, "members ended twice, or went on",
     "SELECT count(*) FROM (SELECT 1 FROM story_member WHERE has >= 10 GROUP BY no"
     " HAVING count(*) > 1 OR max(was) >= 10) x"},
    {FLOWS_CRASH_JOINS, "members are over, and never ended",
     "SELECT count(*) FROM weir_execution e WHERE e.state >= 10 AND NOT EXISTS"
     " (SELECT 1 FROM story_member s WHERE s.no = e.no AND s.has = e.state)"},

    {FLOWS_CRASH_STUCK, "members have not ended, and nothing lacks", OPEN},
    {FLOWS_CRASH_STUCK, "groups have members that are still to be cancelled",
     TO_BE_CANCELLED},
    {FLOWS_CRASH_STUCK, "members go on although a join wanted them to be cancelled",
     "SELECT count(*) FROM weir_edge_group g JOIN weir_edge d"
     " ON d.downstream = g.downstream JOIN weir_execution u ON u.no = d.upstream"
     " WHERE g.cancel_remaining = 1 AND g.state <> 0 AND u.state < 10"},
    {FLOWS_CRASH_STUCK, "groups are pending without an open edge",
     "SELECT count(*) FROM weir_edge_group g WHERE g.state = 0 AND g.total > 0 AND NOT"
     " EXISTS (SELECT 1 FROM weir_edge d WHERE d.downstream = g.downstream"
     " AND d.state = 0)"},
    {FLOWS_CRASH_STUCK, "members are suspended, and nothing says until when",
     "SELECT count(*) FROM weir_execution e WHERE e.state = 5 AND NOT EXISTS"
     " (SELECT 1 FROM weir_suspension s WHERE s.no = e.no AND s.ended_us = 0)"},
    {FLOWS_CRASH_STUCK, "suspensions are open, or waitpoints, of what is not suspended",
     "SELECT (SELECT count(*) FROM weir_suspension s JOIN weir_execution e"
     " ON e.no = s.no WHERE s.ended_us = 0 AND e.state <> 5)"
     " + (SELECT count(*) FROM weir_waitpoint w JOIN weir_execution e ON e.no = w.no"
     " WHERE w.state = 1 AND e.state <> 5)"},
    {FLOWS_CRASH_STUCK, "members are noted as held back by a budget, and are not",
     "SELECT count(*) FROM weir_spent s JOIN weir_execution e ON e.no = s.no"
     " WHERE s.dimension = '' AND s.amount = 1 AND e.state < 10"
     " AND NOT (e.state = 3 AND e.hold = 5)"},

    {FLOWS_CRASH_FLOWS, "flows do not count their members or edges", WRONG_COUNTS},
    {FLOWS_CRASH_FLOWS, "flows did not end as their members did",
     "SELECT count(*) FROM weir_flow f WHERE f.state <> 3 AND f.state <> CASE"
     " WHEN f.unfinished > 0 OR f.members = 0 THEN 0 WHEN f.unlucky > 0 THEN 2 ELSE 1"
     " END"},
    {FLOWS_CRASH_FLOWS, "flows did not end together with a member",
     "SELECT count(*) FROM weir_flow f WHERE (f.state = 0) <> (f.ended_us = 0)"
     " OR (f.state IN (1, 2) AND f.ended_us NOT IN (SELECT e.ended_us"
     " FROM weir_execution e WHERE e.flow = f.no AND e.flow > 0))"},
    {FLOWS_CRASH_FLOWS, "flows were cancelled, and members were not",
     "SELECT count(*) FROM weir_flow f JOIN weir_execution e ON e.flow = f.no"
     " AND e.flow > 0 WHERE f.state = 3 AND e.state < 10 AND (f.cancel_policy = 1"
     " OR (f.cancel_policy = 2 AND e.attempts = 0))"},

    {FLOWS_CRASH_DATA, "members have an input that is not their own",
     "SELECT count(*) FROM weir_execution e JOIN weir_input i ON i.no = e.no"
     " WHERE {input} <> e.kind"},
    {FLOWS_CRASH_DATA, "results were passed on that are none",
     "SELECT count(*) FROM weir_passed p WHERE NOT EXISTS (SELECT 1 FROM weir_edge d"
     " JOIN weir_result r ON r.no = d.upstream WHERE d.downstream = p.downstream"
     " AND d.upstream = p.upstream AND d.passes_data = 1 AND d.state = 1"
     " AND r.bytes = p.bytes)"},
    {FLOWS_CRASH_DATA, "edges of members that began did not pass on what all of them do",
     "SELECT count(*) FROM weir_execution e JOIN weir_edge_group g ON g.downstream = e.no"
     " JOIN weir_edge d ON d.downstream = e.no WHERE e.attempts > 0 AND g.policy = 0"
     " AND d.passes_data = 1 AND NOT EXISTS (SELECT 1 FROM weir_passed p"
     " WHERE p.downstream = d.downstream AND p.upstream = d.upstream)"},
    {FLOWS_CRASH_DATA, "members do not count the edges that pass data to them",
     "SELECT count(*) FROM weir_execution e WHERE e.data_edges <> (SELECT count(*)"
     " FROM weir_edge d WHERE d.downstream = e.no AND d.passes_data = 1)"},

    {FLOWS_CRASH_LEDGER, "sums are not those of the ledger",
     "SELECT count(*) FROM weir_usage u JOIN weir_budget b ON b.no = u.budget"
     " WHERE u.used <> coalesce((SELECT sum(s.amount) FROM weir_spent s"
     " WHERE s.budget = u.budget AND s.dimension = u.dimension AND s.era = b.era), 0)"},
    {FLOWS_CRASH_LEDGER, "sums are not what was added and taken away",
     "SELECT count(*) FROM weir_usage u WHERE u.used <> coalesce((SELECT sum(s.delta)"
     " FROM story_usage s WHERE s.budget = u.budget AND s.dimension = u.dimension), 0)"},

    {FLOWS_CRASH_LIMITS, "times a hard limit was exceeded",
     "SELECT count(*) FROM story_usage WHERE hard > 0 AND used > hard"},
    {FLOWS_CRASH_LIMITS, "times more were admitted beyond a limit than ran together",
     "SELECT count(*) FROM (SELECT 1 FROM story_member WHERE over_budget > 0"
     " GROUP BY over_budget, over_era HAVING count(*) > " FLOWS_CRASH_TOGETHER ") x"},

    {FLOWS_CRASH_SIGNALS, "signals came, and are not there any more",
     "SELECT count(*) FROM story_signal s WHERE NOT EXISTS"
     " (SELECT 1 FROM weir_signal w WHERE w.no = s.no AND w.key = s.key)"},
};

enum { COUNT = sizeof CHECKS / sizeof CHECKS[0] };

static const char *const INDEXES[] = {
    "CREATE INDEX IF NOT EXISTS story_member_no ON story_member (no, has)",
    "CREATE INDEX IF NOT EXISTS story_signal_no ON story_signal (no, key)",
    "CREATE INDEX IF NOT EXISTS story_edge_flow ON weir_edge (flow)",
    "ANALYZE",
};

void flows_crash_index_history(struct fixture *fixture)
{
    for (size_t i = 0; i < sizeof INDEXES / sizeof INDEXES[0]; i++)
        fixture_prepare(fixture, INDEXES[i]);
}

/* With {input} as this engine says it. */
static size_t expand(struct fixture *fixture, const char *text, char *out, size_t room)
{
    const char *mark = strstr(text, INPUT);
    int size = mark == NULL
                   ? snprintf(out, room, "%s", text)
                   : snprintf(out, room, "%.*s%s%s", (int)(mark - text), text,
                              fixture_choose(fixture, "CAST(i.bytes AS TEXT)",
                                             "convert_from(i.bytes, 'UTF8')", NULL),
                              mark + strlen(INPUT));

    check_in_range(size, 1, (int64_t)room - 1);
    return (size_t)size;
}

/* One question of many rows: it is asked again and again, and a connection costs more. */
static void write_question(struct fixture *fixture, char *out, size_t room)
{
    size_t used = 0;

    for (size_t i = 0; i < COUNT; i++) {
        used += (size_t)snprintf(out + used, room - used, "%sSELECT %zu, (",
                                 i > 0 ? " UNION ALL " : "", i);
        used += expand(fixture, CHECKS[i].sql, out + used, room - used);
        used += (size_t)snprintf(out + used, room - used, ")");
    }
}

void flows_crash_check_all(struct fixture *fixture, flows_crash_check_fn tell,
                           void *state)
{
    static char text[32768];
    static const struct weir_sql QUESTION = {
        .name = "check all", .text = text, .parameters = ""};
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_rows rows;
    enum weir_status status;

    if (text[0] == '\0') /* a program has one engine */
        write_question(fixture, text, sizeof text);
    status =
        weir_connection_query(connection, &QUESTION, NULL, 0, &rows, &fixture->error);
    while (status == WEIR_OK &&
           (status = weir_rows_next(&rows, &fixture->error)) == WEIR_OK) {
        int64_t count = weir_rows_integer(&rows, 1);

        if (count > 0)
            tell(state, &CHECKS[weir_rows_integer(&rows, 0)], count);
    }
    weir_rows_close(&rows);
    check_db(status, WEIR_NO_ROW);
    fixture_give(fixture, connection);
}

int64_t flows_crash_count_open(struct flows_crash *run)
{
    return fixture_ask(run->rig.fixture, OPEN) +
           fixture_ask(run->rig.fixture, TO_BE_CANCELLED);
}
