/*
 * doctor_flow.c - see doctor.h.
 */
#include <inttypes.h>

#include "cli/doctor.h"
#include "cli/executions.h"
#include "flow/figures.h"
#include "flow/schema.h"

/* False: there are no tables to ask, or they cannot be. */
static bool check_tables(struct weir_doctor *self, uint32_t *number)
{
    uint32_t known = weir_flow_schema.base + (uint32_t)weir_flow_schema.count;
    struct weir_schema_version version = {0};
    struct weir_error error = {0};

    if (weir_schema_read(&weir_flow_schema, self->connection, &version, &error) !=
        WEIR_OK) {
        weir_doctor_note_failure(self, "executions", &error);
        return false;
    }
    *number = version.number;
    if (version.number == 0)
        return false;
    if (weir_schema_check(&weir_flow_schema, self->connection, &error) != WEIR_OK) {
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

    if (late_us <= WEIR_FIGURES_LATE_US)
        return 0;
    weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "supervisor",
                      "run one where the engine is used (weir/flow_supervisor.h)",
                      "%s for %s, and nobody has looked after it", what,
                      weir_output_age(late_us, age));
    return 1;
}

static void judge(struct weir_doctor *self, uint32_t number,
                  const struct weir_flow_figures *figures)
{
    char ready[WEIR_COUNT_SIZE];
    char delayed[WEIR_COUNT_SIZE];
    char active[WEIR_COUNT_SIZE];
    size_t late = name_late(self, "a lease is over", figures->late_lease_us);

    late += name_late(self, "a delay is over", figures->late_delay_us);
    late += name_late(self, "an attempt is over its limit", figures->late_attempt_us);
    late += name_late(self, "a deadline has passed", figures->late_deadline_us);
    if (late == 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "supervisor", "",
                          "nothing is overdue");
    weir_findings_add(&self->findings, WEIR_VERDICT_OK, "executions", "",
                      "schema %" PRIu32 "; %s ready, %s delayed, %s active", number,
                      weir_executions_count(figures->ready, WEIR_FIGURES_MAX, ready),
                      weir_executions_count(figures->delayed, WEIR_FIGURES_MAX, delayed),
                      weir_executions_count(figures->active, WEIR_FIGURES_MAX, active));
}

void weir_doctor_check_flow(struct weir_doctor *self)
{
    struct weir_flow_figures figures;
    struct weir_error error = {0};
    uint32_t number = 0;

    if (!check_tables(self, &number))
        return;
    if (weir_flow_read_figures(self->connection, &figures, &error) == WEIR_OK)
        judge(self, number, &figures);
    else if (error.status == WEIR_DENIED)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "executions",
                          "see docs/roles.md", "this user may not see them");
    else
        weir_doctor_note_failure(self, "executions", &error);
}
