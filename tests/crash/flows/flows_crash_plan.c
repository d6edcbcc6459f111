/*
 * flows_crash_plan.c - what is to be done, by the numbers of flows and members; see
 * flows_crash_shared.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "crash/flows/flows_crash_shared.h"

const char *const FLOWS_CRASH_KEYS[FLOWS_CRASH_WAITPOINTS] = {"a", "b", "c"};
const char *const FLOWS_CRASH_CONDITION_TEXTS[FLOWS_CRASH_CONDITIONS] = {
    [FLOWS_CRASH_ONE] = "go@a",
    [FLOWS_CRASH_BOTH] = "all(go@a, go@b)",
    [FLOWS_CRASH_BY_SOURCES] = "2 of sources go@(a, b, c)",
    [FLOWS_CRASH_BY_WAITPOINTS] = "2 of waitpoints go@(a, b, c)",
    [FLOWS_CRASH_BY_SIGNALS] = "2 of signals go@a",
    [FLOWS_CRASH_BY_OPERATOR] = "operator",
    [FLOWS_CRASH_BY_TIMEOUT] = "timeout",
};
const char *const FLOWS_CRASH_BUDGET_NAMES[FLOWS_CRASH_BUDGETS] = {"hourly", "monthly",
                                                                   "given-back"};
const char *const FLOWS_CRASH_DIMENSION_NAMES[FLOWS_CRASH_DIMENSIONS] = {"cents",
                                                                         "tokens"};

/* Each question has a number, so that no answer follows from another. */
enum question { COUNT, ROLE, WAIT, TIME, BUDGET, EDGE, JOIN, CANCEL };

static uint64_t ask(uint64_t seed, enum question question, uint32_t executions,
                    uint64_t more)
{
    return rig_mix(rig_mix(rig_mix(seed ^ executions) + more) * 16 + question);
}

/* One of many: short runs have none. */
static bool is_fan(uint32_t executions)
{
    return executions == 70;
}

uint32_t flows_crash_plan_count(uint64_t seed, uint32_t executions)
{
    if (is_fan(executions))
        return FLOWS_CRASH_FAN + 2;
    return 1 + (uint32_t)(ask(seed, COUNT, executions, 0) % FLOWS_CRASH_SMALL);
}

/* ---- members ----------------------------------------------------------------------- */

static enum flows_crash_role role_of(uint64_t seed, uint32_t executions, uint32_t member)
{
    uint64_t luck = ask(seed, ROLE, executions, member) % 100;

    if (is_fan(executions))
        return FLOWS_CRASH_PLAIN;
    return luck < 3    ? FLOWS_CRASH_FORGOTTEN
           : luck < 45 ? FLOWS_CRASH_WAITING
                       : FLOWS_CRASH_PLAIN;
}

/* About when signals come, too. What waits for a time only must have one. */
static void plan_timeout(uint64_t luck, struct flows_crash_plan *out)
{
    bool must = out->condition == FLOWS_CRASH_BY_TIMEOUT;

    if (out->role == FLOWS_CRASH_FORGOTTEN || (!must && luck % 5 < 2))
        return;
    out->timeout_ms = 100 + (int64_t)(luck / 10 % 900);
    out->on_timeout = (enum weir_on_timeout)(luck / 10000 % WEIR_ON_TIMEOUT_COUNT);
}

struct flows_crash_plan flows_crash_plan(uint64_t seed, uint32_t executions,
                                         uint32_t member)
{
    uint64_t wait = ask(seed, WAIT, executions, member);
    uint64_t spend = ask(seed, BUDGET, executions, member);
    struct flows_crash_plan plan = {
        .role = role_of(seed, executions, member),
        .condition = (enum flows_crash_condition)(wait % FLOWS_CRASH_CONDITIONS),
        .resume_delay_ms = wait / 100 % 4 == 0 ? 30 : 0,
        .early = wait / 1000 % 3 == 0,
        .tell_ms = (uint32_t)(wait / 10000 % 700),
        .budget = spend % 5 < 2 && !is_fan(executions)
                      ? (int)(spend / 10 % FLOWS_CRASH_BUDGETS)
                      : -1,
    };

    if (plan.role == FLOWS_CRASH_FORGOTTEN)
        plan.condition = FLOWS_CRASH_ONE;
    plan_timeout(ask(seed, TIME, executions, member), &plan);
    return plan;
}

/* ---- flows ------------------------------------------------------------------------- */

static bool is_fan_edge(uint32_t from, uint32_t to)
{
    uint32_t last = FLOWS_CRASH_FAN + 1;

    return from == 0 ? to > 0 && to < last : to == last && from < last;
}

bool flows_crash_plan_edge(uint64_t seed, uint32_t executions, uint32_t from, uint32_t to,
                           bool *passes_data)
{
    uint64_t luck = ask(seed, EDGE, executions, (uint64_t)from << 32 | to);

    *passes_data = luck / 100 % 2 == 0;
    if (is_fan(executions))
        return is_fan_edge(from, to);
    return from < to && luck % 100 < 45;
}

static uint32_t count_edges(uint64_t seed, uint32_t executions, uint32_t to)
{
    uint32_t count = 0;
    bool passes_data;

    for (uint32_t from = 0; from < to; from++)
        count += flows_crash_plan_edge(seed, executions, from, to, &passes_data);
    return count;
}

bool flows_crash_plan_join(uint64_t seed, uint32_t executions, uint32_t to,
                           struct weir_flow_join *out)
{
    uint64_t luck = ask(seed, JOIN, executions, to);
    uint32_t edges = count_edges(seed, executions, to);

    *out = (struct weir_flow_join){
        .policy = (enum weir_join)(luck % WEIR_JOIN_COUNT),
        .cancel_remaining = luck / 100 % 2 == 0,
    };
    if (is_fan(executions) && to == FLOWS_CRASH_FAN + 1)
        *out = (struct weir_flow_join){
            .policy = WEIR_JOIN_QUORUM, .quorum = 100, .cancel_remaining = true};
    else if (out->policy == WEIR_JOIN_QUORUM && edges > 0)
        out->quorum = 1 + (uint32_t)(luck / 10 % edges);
    return edges > 0 && (is_fan(executions) || luck / 1000 % 4 > 0);
}

bool flows_crash_plan_cancel(uint64_t seed, uint32_t executions,
                             enum weir_flow_cancel_policy *policy)
{
    uint64_t luck = ask(seed, CANCEL, executions, 0);

    *policy = (enum weir_flow_cancel_policy)(luck / 100 % (WEIR_CANCEL_PENDING + 1));
    return !is_fan(executions) && luck % 100 < 8;
}

/* ---- signals ----------------------------------------------------------------------- */

struct flows_crash_word flows_crash_plan_word(enum flows_crash_condition condition,
                                              uint32_t index)
{
    /* some too many, some for nothing, one source more than once */
    static const struct flows_crash_word
        WORDS[FLOWS_CRASH_CONDITIONS][FLOWS_CRASH_SIGNALS_SENT] = {
            [FLOWS_CRASH_ONE] = {{1, "go", "ann"},
                                 {0, "stay", "ann"},
                                 {0, "go", "bob"},
                                 {0, "go", "cid"}},
            [FLOWS_CRASH_BOTH] = {{0, "go", "ann"},
                                  {0, "go", "bob"},
                                  {1, "go", "ann"},
                                  {2, "go", "ann"}},
            [FLOWS_CRASH_BY_SOURCES] = {{0, "go", "ann"},
                                        {1, "go", "ann"},
                                        {2, "go", "bob"},
                                        {0, "go", "cid"}},
            [FLOWS_CRASH_BY_WAITPOINTS] = {{0, "go", "ann"},
                                           {0, "go", "bob"},
                                           {2, "stay", "ann"},
                                           {1, "go", "ann"}},
            [FLOWS_CRASH_BY_SIGNALS] = {{0, "go", "ann"},
                                        {1, "go", "ann"},
                                        {0, "go", "ann"},
                                        {0, "go", "ann"}},
            [FLOWS_CRASH_BY_OPERATOR] = {{0, "go", "ann"},
                                         {1, "go", "bob"},
                                         {2, "go", "cid"},
                                         {0, "stay", "ann"}},
            [FLOWS_CRASH_BY_TIMEOUT] = {{0, "go", "ann"},
                                        {1, "go", "bob"},
                                        {2, "go", "cid"},
                                        {0, "stay", "ann"}},
        };
    static const struct flows_crash_word OPERATORS[FLOWS_CRASH_SIGNALS_SENT] = {
        {0, "go", "dora"}, {0, "go", "eve"}, {1, "go", "fay"}, {2, "go", "gus"}};

    return index < FLOWS_CRASH_SIGNALS_SENT ? WORDS[condition][index]
                                            : OPERATORS[index - FLOWS_CRASH_SIGNALS_SENT];
}

/* ---- names ------------------------------------------------------------------------- */

void flows_crash_write_kind(uint64_t seed, uint32_t executions, uint32_t member,
                            char *out)
{
    static const char LETTERS[] = {[FLOWS_CRASH_PLAIN] = 'p',
                                   [FLOWS_CRASH_WAITING] = 'w',
                                   [FLOWS_CRASH_FORGOTTEN] = 'x'};

    (void)snprintf(out, FLOWS_CRASH_NAME_SIZE, "%c%" PRIu32 ".%" PRIu32,
                   LETTERS[role_of(seed, executions, member)], executions, member);
}

bool flows_crash_read_kind(const char *kind, uint32_t *executions, uint32_t *member)
{
    char letter;

    return sscanf(kind, "%c%" SCNu32 ".%" SCNu32, &letter, executions, member) == 3;
}
