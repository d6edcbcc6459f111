/*
 * doctor_executions.c - see doctor.h.
 */
#include <inttypes.h>

#include "base/noun.h"
#include "cli/doctor/doctor.h"
#include "execution/schema.h"
#include "execution/stats.h"

/* False: there are no tables to ask, or they cannot be. */
static bool check_tables(struct weir_doctor *self, uint32_t *number)
{
    uint32_t known = weir_executions_schema.base + (uint32_t)weir_executions_schema.count;
    struct weir_schema_version version = {0};
    struct weir_error error = {0};

    if (weir_schema_read(&weir_executions_schema, self->connection, &version, &error) !=
        WEIR_OK) {
        weir_doctor_note_failure(self, "executions", &error);
        return false;
    }
    *number = version.number;
    if (version.number == 0)
        return false;
    if (weir_schema_check(&weir_executions_schema, self->connection, &error) != WEIR_OK) {
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "executions",
                          version.number < known ? "run 'weir migrate'"
                                                 : "install a newer weir",
                          "%s", error.text);
        return false;
    }
    return true;
}

/* What a reconciler would have had by now. */
static size_t name_late(struct weir_doctor *self, const char *what, int64_t late_us)
{
    char age[WEIR_AGE_SIZE];

    if (late_us <= WEIR_STATS_LATE_US)
        return 0;
    weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "supervisor",
                      "run 'weir supervise', or a supervisor of the library",
                      "%s for %s, and no supervisor has handled it", what,
                      weir_output_age(late_us, age));
    return 1;
}

static void judge_supervisor(struct weir_doctor *self,
                             const struct weir_execution_stats *stats)
{
    size_t late = name_late(self, "a lease is over", stats->late_lease_us);

    late += name_late(self, "a delay is over", stats->late_delay_us);
    late += name_late(self, "an attempt is over its limit", stats->late_attempt_us);
    late += name_late(self, "a deadline has passed", stats->late_deadline_us);
    late += name_late(self, "a suspension is over its limit", stats->late_wait_us);
    late +=
        name_late(self, "members of a flow are to be cancelled", stats->late_cancel_us);
    late += name_late(self, "the period of a budget is over", stats->late_reset_us);
    if (late == 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "supervisor", "",
                          "nothing is overdue");
}

static void judge_suspensions(struct weir_doctor *self,
                              const struct weir_execution_stats *stats)
{
    char count[WEIR_COUNT_SIZE];

    if (stats->escalated > 0)
        weir_findings_add(
            &self->findings, WEIR_VERDICT_WARNING, "suspensions",
            "resume or cancel them: 'weir execution list --state suspended'",
            "%s waited too long and %s for an operator",
            weir_output_bounded(stats->escalated, WEIR_STATS_MAX, count),
            WEIR_NOUN(stats->escalated, "was escalated: it waits",
                      "were escalated: they wait"));
}

/*
 * Executions that wait for a budget that is not exceeded are admitted by a supervisor,
 * within seconds.
 */
static void judge_budget(void *state, const struct weir_held_stats *held)
{
    struct weir_doctor *self = state;
    char count[WEIR_COUNT_SIZE];
    char age[WEIR_AGE_SIZE];

    (void)weir_output_bounded(held->waiting, WEIR_STATS_MAX, count);
    if (!held->exceeded)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "budgets",
                          "if it stays so, no supervisor runs",
                          "%s %s for budget \"%s\", which is not used up", count,
                          WEIR_NOUN(held->waiting, "waits", "wait"), held->budget);
    else if (!held->is_reset)
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "budgets",
                          "raise its limit or reset it",
                          "budget \"%s\" is used up, %s %s for it, and it has no period",
                          held->budget, count, WEIR_NOUN(held->waiting, "waits", "wait"));
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "budgets",
                          "raise its limit or reset it, if they should not wait",
                          "budget \"%s\" is used up, and %s %s until it is reset in %s",
                          held->budget, count, WEIR_NOUN(held->waiting, "waits", "wait"),
                          weir_output_age(held->reset_us, age));
}

static void judge(struct weir_doctor *self, uint32_t number,
                  const struct weir_execution_stats *stats)
{
    char ready[WEIR_COUNT_SIZE];
    char delayed[WEIR_COUNT_SIZE];
    char active[WEIR_COUNT_SIZE];
    char suspended[WEIR_COUNT_SIZE];
    char held[WEIR_COUNT_SIZE];
    char flows[WEIR_COUNT_SIZE];

    judge_supervisor(self, stats);
    judge_suspensions(self, stats);
    weir_findings_add(&self->findings, WEIR_VERDICT_OK, "executions", "",
                      "schema %" PRIu32
                      "; %s ready, %s delayed, %s active, %s suspended, %s held by a "
                      "budget; %s open %s",
                      number, weir_output_bounded(stats->ready, WEIR_STATS_MAX, ready),
                      weir_output_bounded(stats->delayed, WEIR_STATS_MAX, delayed),
                      weir_output_bounded(stats->active, WEIR_STATS_MAX, active),
                      weir_output_bounded(stats->suspended, WEIR_STATS_MAX, suspended),
                      weir_output_bounded(stats->held, WEIR_STATS_MAX, held),
                      weir_output_bounded(stats->flows, WEIR_STATS_MAX, flows),
                      WEIR_NOUN(stats->flows, "flow", "flows"));
}

static enum weir_status look(struct weir_doctor *self, uint32_t number,
                             struct weir_error *error)
{
    struct weir_execution_stats stats;
    enum weir_status status = weir_executions_read_stats(self->connection, &stats, error);

    if (status == WEIR_OK)
        judge(self, number, &stats);
    if (status == WEIR_OK && stats.held > 0)
        status = weir_executions_read_held(self->connection, judge_budget, self, error);
    return status;
}

void weir_doctor_check_executions(struct weir_doctor *self)
{
    struct weir_error error = {0};
    uint32_t number = 0;

    if (!check_tables(self, &number) || look(self, number, &error) == WEIR_OK)
        return;
    if (error.status == WEIR_DENIED)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "executions",
                          "see docs/roles.md", "this user may not see them");
    else
        weir_doctor_note_failure(self, "executions", &error);
}
