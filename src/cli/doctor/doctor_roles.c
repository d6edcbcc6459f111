/*
 * doctor_roles.c - see doctor.h.
 */
#include "cli/doctor/doctor.h"
#include "cli/migrate/roles.h"
#include "outbox/roles.h"

enum { NAMED_MAX = 8 };

/* They were made for this database, and not only for another one of the same
 * server. */
static bool are_in_use(const struct weir_role_plan *plan)
{
    struct weir_role_change change;
    size_t at = 0;

    while (weir_role_plan_next(plan, &at, &change))
        if (change.step == WEIR_ROLE_MAKE || change.step == WEIR_ROLE_OWN)
            return false;
    return true;
}

/* How many rights are too many; the first few are named. */
static size_t name_excess(struct weir_doctor *self, const struct weir_role_plan *plan)
{
    struct weir_role_change change;
    size_t count = 0;
    size_t at = 0;

    while (weir_role_plan_next(plan, &at, &change)) {
        if (change.step != WEIR_ROLE_REVOKE)
            continue;
        if (count++ < NAMED_MAX)
            weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "roles",
                              "run 'weir migrate --roles'", "%s has too much: %s",
                              change.role, change.text);
    }
    if (count > NAMED_MAX)
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "roles",
                          "run 'weir migrate --roles'", "%zu more have too much",
                          count - NAMED_MAX);
    return count;
}

void weir_doctor_check_roles(struct weir_doctor *self)
{
    struct weir_role_plan plan;
    struct weir_error error = {0};

    weir_roles_plan_init(&plan);
    if (weir_role_plan_read(&plan, self->connection, &error) != WEIR_OK)
        weir_doctor_note_failure(self, "roles", &error);
    else if (plan.blind)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "roles",
                          "GRANT SELECT ON mysql.*, to have them looked at",
                          "this user cannot see what roles may do");
    else if (!are_in_use(&plan))
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "roles", "",
                          "none for this database");
    else if (name_excess(self, &plan) == 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "roles", "",
                          "none may do more than it needs");
    weir_role_plan_fini(&plan);
}
