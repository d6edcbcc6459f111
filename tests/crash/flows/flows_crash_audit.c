/*
 * flows_crash_audit.c - what was told, against what is there: the rules of flows_crash.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/flows/flows_crash_checks.h"
#include "crash/flows/flows_crash_truth.h"
#include "execution/state.h"

struct audit {
    struct flows_crash *run;
    struct flows_crash_result *result;
    struct flows_crash_truth current;
};

/* One member of it. */
struct inquiry {
    struct audit *audit;
    uint32_t number;
    const struct flows_crash_member *member; /* what was told */
    const struct flows_crash_life *life;     /* what is there */
    struct flows_crash_plan plan;            /* what was to be */
};

__attribute__((format(printf, 4, 5))) static void tell(struct audit *self,
                                                       enum flows_crash_rule rule,
                                                       uint32_t number,
                                                       const char *format, ...)
{
    char *text = self->result->first[rule];
    va_list args;
    int size = 0;

    self->result->violations++;
    if (self->result->broken[rule]++ > 0)
        return;
    if (number != UINT32_MAX)
        size = snprintf(text, FLOWS_CRASH_TEXT_SIZE,
                        "member %" PRIu32 " of flow %" PRIu32 ", execution %" PRId64 ": ",
                        number, self->run->shared->members[number].executions,
                        self->current.lives[number].no);
    va_start(args, format);
    (void)vsnprintf(text + size, (size_t)(FLOWS_CRASH_TEXT_SIZE - size), format, args);
    va_end(args);
}

/* ---- signals ----------------------------------------------------------------------- */

/* The answer plus 1 is stored: 0 is none. */
static bool is_effect(uint8_t answer, enum weir_signal_effect effect)
{
    return answer == (uint8_t)effect + 1;
}

static bool is_counted(uint8_t answer)
{
    return answer != 0 && !is_effect(answer, WEIR_SIGNAL_LATE) &&
           !is_effect(answer, WEIR_SIGNAL_DUPLICATE);
}

/* How often it must have come; below 0: nobody knows. */
static int expected(const struct flows_crash_signal *note)
{
    uint8_t effect = atomic_load(&note->effect);

    if (!atomic_load(&note->call.begun))
        return 0;
    if (effect != 0)
        return is_effect(effect, WEIR_SIGNAL_LATE) ? 0 : 1;
    return atomic_load(&note->nowhere) && atomic_load(&note->call.doubts) == 0 ? 0 : -1;
}

static void audit_signal(struct inquiry *self, uint32_t index)
{
    struct audit *audit = self->audit;
    const struct flows_crash_signal *note = &self->member->signals[index];
    uint8_t effect = atomic_load(&note->effect);
    uint8_t again = atomic_load(&note->again);
    uint32_t came = self->life->came[index];
    int should = expected(note);

    if (came > 1 || (should >= 0 && came != (uint32_t)should))
        tell(audit, FLOWS_CRASH_SIGNALS, self->number,
             "signal %" PRIu32 " came %" PRIu32 " times, was told effect %d", index, came,
             effect - 1);
    if (is_effect(effect, WEIR_SIGNAL_DUPLICATE) && atomic_load(&note->call.doubts) == 0)
        tell(audit, FLOWS_CRASH_SIGNALS, self->number,
             "signal %" PRIu32 " was a repeat when it was sent first", index);
    if (again != 0 &&
        !is_effect(again, is_effect(effect, WEIR_SIGNAL_LATE) ? WEIR_SIGNAL_LATE
                                                              : WEIR_SIGNAL_DUPLICATE))
        tell(audit, FLOWS_CRASH_SIGNALS, self->number,
             "signal %" PRIu32 " was told %d first, then %d", index, effect - 1,
             again - 1);
    if (effect != 0)
        audit->result->effects[effect - 1]++;
    audit->result->signals += came;
}

static void audit_signals(struct inquiry *self)
{
    for (uint32_t i = 0; i < FLOWS_CRASH_SIGNALS_EACH; i++)
        audit_signal(self, i);
}

/* ---- winner ------------------------------------------------------------------------ */

static struct flows_crash_word word_of(const struct inquiry *self, uint32_t index)
{
    return flows_crash_plan_word(self->plan.condition, index);
}

static bool is_go(const struct inquiry *self, uint32_t index)
{
    return self->life->came[index] > 0 && strcmp(word_of(self, index).name, "go") == 0;
}

static uint32_t count_go_at(const struct inquiry *self, uint32_t waitpoint)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < FLOWS_CRASH_SIGNALS_EACH; i++)
        count += is_go(self, i) && word_of(self, i).waitpoint == waitpoint;
    return count;
}

static uint32_t count_sources(const struct inquiry *self)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < FLOWS_CRASH_SIGNALS_EACH; i++) {
        bool is_new = is_go(self, i);

        for (uint32_t j = 0; j < i; j++)
            is_new &= !(is_go(self, j) &&
                        strcmp(word_of(self, i).source, word_of(self, j).source) == 0);
        count += is_new;
    }
    return count;
}

/* By all that came. */
static bool holds(const struct inquiry *self)
{
    uint32_t a = count_go_at(self, 0);
    uint32_t b = count_go_at(self, 1);
    uint32_t c = count_go_at(self, 2);

    switch (self->plan.condition) {
    case FLOWS_CRASH_ONE:
        return a > 0;
    case FLOWS_CRASH_BOTH:
        return a > 0 && b > 0;
    case FLOWS_CRASH_BY_SOURCES:
        return count_sources(self) >= 2;
    case FLOWS_CRASH_BY_WAITPOINTS:
        return (a > 0) + (b > 0) + (c > 0) >= 2;
    case FLOWS_CRASH_BY_SIGNALS:
        return a >= 2;
    default:
        return false;
    }
}

/* Told to have resumed it; and those of which nobody knows. */
static void count_winners(const struct inquiry *self, uint32_t *told, uint32_t *unknown)
{
    const struct flows_crash_member *member = self->member;

    *told = atomic_load(&member->resumes_done) + self->life->timeouts;
    *unknown =
        atomic_load(&member->resumes_asked) - atomic_load(&member->resumes_answered);
    for (uint32_t i = 0; i < FLOWS_CRASH_SIGNALS_EACH; i++) {
        uint8_t effect = atomic_load(&member->signals[i].effect);

        *told += is_effect(effect, WEIR_SIGNAL_RESUMED);
        *unknown += self->life->came[i] > 0 && !is_counted(effect);
    }
}

static void audit_timeout(struct inquiry *self)
{
    static const char *const FAILURES[WEIR_ON_TIMEOUT_COUNT] = {
        [WEIR_TIMEOUT_FAIL] = "suspension_timeout:fail",
        [WEIR_TIMEOUT_CANCEL] = "suspension_timeout:cancel",
        [WEIR_TIMEOUT_EXPIRE] = "suspension_timeout:expire",
        [WEIR_TIMEOUT_RESUME] = "",
        [WEIR_TIMEOUT_ESCALATE] = "",
    };
    const struct flows_crash_life *life = self->life;
    bool said = self->plan.role == FLOWS_CRASH_WAITING && self->plan.timeout_ms > 0;

    self->audit->result->timeouts += life->timed_out + life->timeouts;
    if (life->timed_out > 0 &&
        (!said || life->too_early ||
         strcmp(life->failure, FAILURES[self->plan.on_timeout]) != 0))
        tell(self->audit, FLOWS_CRASH_WINNER, self->number,
             "\"%s\" was not what was said for its timeout, or before its time",
             life->failure);
    if (life->timeouts > 0 && (!said || self->plan.on_timeout != WEIR_TIMEOUT_RESUME))
        tell(self->audit, FLOWS_CRASH_WINNER, self->number,
             "it went on after its timeout, and should not have");
}

static void audit_winner(struct inquiry *self)
{
    const struct flows_crash_life *life = self->life;
    uint32_t told;
    uint32_t unknown;

    count_winners(self, &told, &unknown);
    if (life->resumed < told || life->resumed > told + unknown ||
        life->resumed + life->timed_out > 1)
        tell(self->audit, FLOWS_CRASH_WINNER, self->number,
             "it was resumed %" PRIu32 " times and timed out %" PRIu32 " times;"
             " %" PRIu32 " were told to have resumed it, of %" PRIu32 " nobody knows",
             life->resumed, life->timed_out, told, unknown);
    if (life->resumed > 0 && life->timeouts == 0 &&
        atomic_load(&self->member->resumes_asked) == 0 && !holds(self))
        tell(self->audit, FLOWS_CRASH_WINNER, self->number,
             "it was resumed by signals that do not suffice for \"%s\"",
             FLOWS_CRASH_CONDITION_TEXTS[self->plan.condition]);
    if (life->state == WEIR_EXEC_SUSPENDED && holds(self))
        tell(self->audit, FLOWS_CRASH_STUCK, self->number,
             "it is suspended although \"%s\" holds",
             FLOWS_CRASH_CONDITION_TEXTS[self->plan.condition]);
    audit_timeout(self);
    self->audit->result->suspensions += life->resumed + life->timed_out;
}

/* ---- told -------------------------------------------------------------------------- */

static void audit_events(struct inquiry *self)
{
    const struct flows_crash_life *life = self->life;
    uint32_t ends = life->state >= WEIR_EXEC_SUCCEEDED;
    uint32_t signals = 0;

    for (uint32_t i = 0; i < FLOWS_CRASH_SIGNALS_EACH; i++)
        signals += life->came[i];
    if (atomic_load(&self->member->completions) != ends ||
        atomic_load(&self->member->signal_events) != signals)
        tell(self->audit, FLOWS_CRASH_TOLD, self->number,
             "%" PRIu32 " completions and %" PRIu32 " signals were told, %" PRIu32
             " and %" PRIu32 " there were",
             atomic_load(&self->member->completions),
             atomic_load(&self->member->signal_events), ends, signals);
}

static void audit_member(struct audit *self, uint32_t number)
{
    struct inquiry inquiry = {.audit = self,
                              .number = number,
                              .member = &self->run->shared->members[number],
                              .life = &self->current.lives[number]};

    if (inquiry.life->found != 1 ||
        memcmp(inquiry.life->uuid, inquiry.member->id.uuid, WEIR_UUID_SIZE) != 0) {
        tell(self, FLOWS_CRASH_TOLD, number,
             "it was built, and is there %" PRIu32 " times or under another id",
             inquiry.life->found);
        return;
    }
    inquiry.plan = flows_crash_plan_of(self->run, number);
    self->result->members++;
    self->result->states[inquiry.life->state]++;
    self->result->left_waiting += inquiry.life->state < WEIR_EXEC_SUCCEEDED;
    audit_signals(&inquiry);
    audit_winner(&inquiry);
    audit_events(&inquiry);
}

static int64_t count_edges(const struct audit *self, uint32_t executions,
                           uint32_t members)
{
    int64_t count = 0;
    bool passes_data;

    for (uint32_t to = 1; to < members; to++) {
        for (uint32_t from = 0; from < to; from++)
            count += flows_crash_plan_edge(self->run->options->rig.seed, executions, from,
                                           to, &passes_data);
    }
    return count;
}

static void audit_flow(struct audit *self, uint32_t number)
{
    const struct flows_crash_flow *executions = &self->run->shared->flows[number];
    const struct flows_crash_life *life = &self->current.lives[executions->first];

    if (!atomic_load(&executions->build.answered))
        return; /* nothing of it was sent: whoever sends goes on until it is answered */
    for (uint32_t i = 0; i < executions->count; i++)
        audit_member(self, executions->first + i);
    if (life->flow_members != executions->count ||
        life->flow_edges != count_edges(self, number, executions->count))
        tell(self, FLOWS_CRASH_TOLD, executions->first,
             "its flow has %" PRId64 " members and %" PRId64 " edges, not as was built",
             life->flow_members, life->flow_edges);
    if (atomic_load(&executions->cancel.answered) && life->flow_state == 0)
        tell(self, FLOWS_CRASH_TOLD, executions->first,
             "its flow was told to be cancelled, and goes on");
}

static void audit_claim(struct audit *self, const struct flows_crash_claim *claim)
{
    const struct flows_crash_life *life = &self->current.lives[claim->member];
    char note[FLOWS_CRASH_NOTE_SIZE];
    bool ok = atomic_load(&claim->ok);
    bool its;

    flows_crash_write_note(claim, note);
    its = strcmp(life->result, note) == 0;
    if (strcmp(claim->input, life->given) != 0)
        tell(self, FLOWS_CRASH_DATA, claim->member,
             "epoch %" PRId64 " was given \"%s\", not \"%s\"", claim->epoch, claim->input,
             life->given);
    if (!atomic_load(&claim->call.answered))
        return;
    if (claim->verb == WEIR_SETTLE_COMPLETE && ok &&
        !(its && life->state == WEIR_EXEC_SUCCEEDED))
        tell(self, FLOWS_CRASH_TOLD, claim->member,
             "epoch %" PRId64 " was told that it is completed; state %" PRId64
             ", result \"%s\"",
             claim->epoch, life->state, life->result);
    if (claim->verb == WEIR_SETTLE_ABANDON && ok && life->state != WEIR_EXEC_CANCELLED)
        tell(self, FLOWS_CRASH_TOLD, claim->member,
             "epoch %" PRId64 " was told that it is cancelled; state %" PRId64,
             claim->epoch, life->state);
    if (!ok && its && atomic_load(&claim->call.doubts) == 0)
        tell(self, FLOWS_CRASH_TOLD, claim->member,
             "epoch %" PRId64 " was refused, and has left its result", claim->epoch);
}

static int by_epoch(const void *left, const void *right)
{
    const struct flows_crash_claim *a = *(const struct flows_crash_claim *const *)left;
    const struct flows_crash_claim *b = *(const struct flows_crash_claim *const *)right;

    if (a->no != b->no)
        return a->no < b->no ? -1 : 1;
    return a->epoch < b->epoch ? -1 : a->epoch > b->epoch;
}

/* An epoch is one worker's. */
static void audit_claims(struct audit *self)
{
    struct flows_crash_shared *shared = self->run->shared;
    size_t room = atomic_load(&shared->claim_count);
    const struct flows_crash_claim **claims = calloc(room + 1, sizeof(void *));
    size_t count = 0;

    check(claims != NULL);
    for (size_t i = 0; i < room; i++) {
        if (atomic_load(&shared->claims[i].written))
            claims[count++] = &shared->claims[i];
    }
    qsort(claims, count, sizeof(void *), by_epoch);
    for (size_t i = 0; i < count; i++) {
        audit_claim(self, claims[i]);
        if (i > 0 && by_epoch(&claims[i - 1], &claims[i]) == 0)
            tell(self, FLOWS_CRASH_JOINS, claims[i]->member,
                 "epoch %" PRId64 " was claimed twice", claims[i]->epoch);
    }
    free(claims);
}

/* ---- ledger ------------------------------------------------------------------------ */

static bool is_spending(uint8_t answer, enum weir_spending spending)
{
    return answer == (uint8_t)spending + 1;
}

static void audit_report(struct audit *self, size_t slot)
{
    const struct flows_crash_report *report = &self->run->shared->reports[slot];
    uint8_t spending = atomic_load(&report->spending);
    uint8_t again = atomic_load(&report->again);
    bool counted = self->current.counted[slot];
    uint32_t doubts = atomic_load(&report->call.doubts);

    self->result->reports += counted;
    self->result->refused += is_spending(spending, WEIR_NOT_SPENT);
    if (spending != 0 && counted == is_spending(spending, WEIR_NOT_SPENT))
        tell(self, FLOWS_CRASH_LEDGER, UINT32_MAX,
             "report %zu was told %d, and was%s counted", slot, spending - 1,
             counted ? "" : " not");
    if (is_spending(spending, WEIR_SPENT_BEFORE) && doubts == 0)
        tell(self, FLOWS_CRASH_LEDGER, UINT32_MAX,
             "report %zu was a repeat when it was made first", slot);
    if (again != 0 && !is_spending(again, WEIR_SPENT_BEFORE))
        tell(self, FLOWS_CRASH_LEDGER, UINT32_MAX,
             "report %zu was told %d when it was repeated", slot, again - 1);
}

/* What was added to each sum is what was reported to be. */
static void audit_sums(struct audit *self)
{
    const struct flows_crash_report *reports = self->run->shared->reports;
    int64_t sums[FLOWS_CRASH_BUDGETS][FLOWS_CRASH_DIMENSIONS] = {{0}};

    for (size_t i = 0; i < self->current.report_count; i++) {
        for (int d = 0; d < FLOWS_CRASH_DIMENSIONS && self->current.counted[i]; d++)
            sums[reports[i].budget][d] += reports[i].amounts[d];
    }
    for (int b = 0; b < FLOWS_CRASH_BUDGETS; b++) {
        for (int d = 0; d < FLOWS_CRASH_DIMENSIONS; d++) {
            if (sums[b][d] != self->current.added[b][d])
                tell(self, FLOWS_CRASH_LEDGER, UINT32_MAX,
                     "%s of budget %s: %" PRId64 " were reported and counted, %" PRId64
                     " added",
                     FLOWS_CRASH_DIMENSION_NAMES[d], FLOWS_CRASH_BUDGET_NAMES[b],
                     sums[b][d], self->current.added[b][d]);
        }
    }
}

/* Everything was reported before it was released. A stale worker may report later: it
 * is not fenced. */
static bool is_released(const struct audit *self, uint32_t number)
{
    const struct flows_crash_shared *shared = self->run->shared;
    int64_t released_us = atomic_load(&shared->members[number].released_us);

    if (released_us == 0)
        return false;
    for (size_t i = 0; i < self->current.report_count; i++) {
        int64_t answered_us = atomic_load(&shared->reports[i].answered_us);

        if (shared->reports[i].member == number &&
            (answered_us == 0 || answered_us >= released_us))
            return false;
    }
    return true;
}

static void audit_ledger(struct audit *self)
{
    for (size_t i = 0; i < self->current.report_count; i++)
        audit_report(self, i);
    audit_sums(self);
    for (uint32_t i = 0; i < self->current.count; i++) {
        if (self->current.lives[i].has_spent && is_released(self, i))
            tell(self, FLOWS_CRASH_LEDGER, i, "what it spent was released, and is there");
    }
}

/* ---- all of it --------------------------------------------------------------------- */

static void tell_check(void *state, const struct flows_crash_check *check, int64_t count)
{
    struct audit *self = state;

    tell(self, check->rule, UINT32_MAX, "%" PRId64 " %s", count, check->text);
    self->result->broken[check->rule] += count - 1;
    self->result->violations += count - 1;
}

/* A file that processes were killed on in the middle of writing. */
static void audit_file(struct audit *self)
{
    struct fixture *fixture = self->run->rig.fixture;

    if (fixture->engine == WEIR_SQLITE &&
        fixture_ask(fixture, "SELECT count(*) FROM pragma_integrity_check"
                             " WHERE integrity_check <> 'ok'") != 0)
        tell(self, FLOWS_CRASH_TOLD, UINT32_MAX, "the file is damaged");
}

void flows_crash_audit(struct flows_crash *run)
{
    struct audit self = {.run = run, .result = run->result};

    flows_crash_truth_read(run, &self.current);
    for (uint32_t i = 0; i < atomic_load(&run->shared->flow_count); i++)
        audit_flow(&self, i);
    audit_claims(&self);
    audit_ledger(&self);
    flows_crash_check_all(run->rig.fixture, tell_check, &self);
    audit_file(&self);
    if (self.current.strays > 0)
        tell(&self, FLOWS_CRASH_SIGNALS, UINT32_MAX,
             "%" PRIu32 " members, signals and reports are nobody's",
             self.current.strays);
    self.result->resets = self.current.resets;
    if (self.result->resets < atomic_load(&run->shared->resets))
        tell(&self, FLOWS_CRASH_LEDGER, UINT32_MAX,
             "%" PRId64 " resets there were, more were told", self.result->resets);
    flows_crash_truth_free(&self.current);
}

void flows_crash_count(struct flows_crash *run)
{
    struct fixture *fixture = run->rig.fixture;
    struct flows_crash_result *result = run->result;

    for (int i = 0; i < 3; i++) {
        char sql[96];

        (void)snprintf(sql, sizeof sql,
                       "SELECT count(*) FROM weir_edge_group WHERE state = %d", i);
        result->decided[i] = fixture_ask(fixture, sql);
    }
    result->siblings =
        fixture_ask(fixture, "SELECT count(*) FROM weir_execution WHERE state = 12"
                             " AND failure LIKE 'sibling_quorum_%'");
    result->lost_leases =
        fixture_ask(fixture, "SELECT count(*) FROM weir_attempt WHERE outcome = 5");
    result->held_back = fixture_ask(fixture, "SELECT count(*) FROM story_member"
                                             " WHERE has = 3 AND was <> 3");
    result->asked_again = atomic_load(&run->shared->rig.doubts);
}
