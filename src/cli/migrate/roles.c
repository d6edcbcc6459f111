/*
 * roles.c - see roles.h.
 */
#include "cli/migrate/roles.h"

#include <stdio.h>
#include <string.h>

#include "base/noun.h"
#include "cli/migrate/migrate_engine.h"
#include "cli/output.h"
#include "db/db.h"
#include "db/traits.h"
#include "execution/grants.h"
#include "outbox/roles.h"
#include "weir/heap.h"

int weir_roles_check_engine(const struct weir_session *session)
{
    if (weir_migrate_engine(session)->right_to_make != NULL)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(session->command,
                               "--roles: %s has no roles; rights are set by "
                               "the modes of the file and its folder (docs/roles.md)",
                               weir_db_traits(session->db)->title);
}

void weir_roles_plan_init(struct weir_role_plan *self)
{
    weir_role_plan_init(self, weir_heap_system(), weir_executions_grants,
                        weir_executions_right_count);
}

static struct weir_roles_tally tally(const struct weir_role_plan *plan)
{
    struct weir_roles_tally counts = {.blind = plan->blind};
    struct weir_role_change change;
    size_t at = 0;

    while (weir_role_plan_next(plan, &at, &change)) {
        counts.made += change.step == WEIR_ROLE_MAKE;
        counts.revoked += change.step == WEIR_ROLE_REVOKE;
        counts.granted +=
            change.step != WEIR_ROLE_MAKE && change.step != WEIR_ROLE_REVOKE;
    }
    return counts;
}

static int tell_denied(const struct weir_session *session,
                       const struct weir_role_change *failed,
                       const struct weir_error *error)
{
    const struct weir_migrate_engine *engine = weir_migrate_engine(session);

    return weir_command_fail(session->command,
                             "%s: %s; this takes %s: have an administrator run what "
                             "'weir migrate --roles --dry-run' prints",
                             failed->text, error->text,
                             failed->step == WEIR_ROLE_MAKE ? engine->right_to_make
                                                            : engine->right_to_grant);
}

int weir_roles_apply(const struct weir_session *session, struct weir_roles_tally *out)
{
    struct weir_role_change failed;
    struct weir_role_plan plan;
    struct weir_error error = {0};
    enum weir_status status;
    int code = WEIR_EXIT_DONE;

    weir_roles_plan_init(&plan);
    status = weir_role_plan_apply(&plan, session->db, &failed, &error);
    if (status == WEIR_OK)
        *out = tally(&plan);
    else if (status == WEIR_DENIED && failed.text[0] != '\0')
        code = tell_denied(session, &failed, &error);
    else
        code = weir_session_fail(session, &error, NULL);
    weir_role_plan_fini(&plan);
    return code;
}

/* What belongs into one transaction, beginning with its first statement. */
static void append_unit(const struct weir_role_plan *plan,
                        const struct weir_role_change *first, struct weir_buf *sql)
{
    bool is_transaction = first->unit[0] != '\0';
    struct weir_role_change change;
    size_t at = 0;

    if (is_transaction)
        weir_buf_append_text(sql, "BEGIN;\nSET LOCAL lock_timeout = '1s';\n");
    while (weir_role_plan_next(plan, &at, &change))
        if (strcmp(change.unit, first->unit) == 0)
            weir_buf_append_format(sql, "%s;\n", change.text);
    if (is_transaction)
        weir_buf_append_text(sql, "COMMIT;\n");
}

enum weir_status weir_roles_append_sql(const struct weir_session *session,
                                       struct weir_buf *sql, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_role_change change;
    struct weir_role_plan plan;
    enum weir_status status;
    size_t at = 0;

    weir_roles_plan_init(&plan);
    status = weir_db_acquire(session->db, &connection, error);
    if (status == WEIR_OK)
        status = weir_role_plan_read(&plan, connection, error);
    weir_db_release(session->db, connection);
    while (status == WEIR_OK && weir_role_plan_next(&plan, &at, &change))
        if (weir_role_plan_leads(&plan, &change))
            append_unit(&plan, &change, sql);
    if (status == WEIR_OK && plan.count == 0)
        weir_buf_append_text(sql, "-- roles: nothing to do\n");
    weir_role_plan_fini(&plan);
    return status;
}

void weir_roles_tell(const struct weir_roles_tally *self)
{
    if (self->blind)
        printf("roles: %zu %s run; what they had before cannot be seen without "
               "SELECT ON mysql.*, and nothing was revoked\n",
               self->made + self->granted,
               WEIR_NOUN(self->made + self->granted, "statement", "statements"));
    else if (self->made + self->granted + self->revoked == 0)
        puts("roles: nothing to do");
    else
        printf("roles: %zu made, %zu %s, %zu %s\n", self->made, self->granted,
               WEIR_NOUN(self->granted, "grant", "grants"), self->revoked,
               WEIR_NOUN(self->revoked, "revoke", "revokes"));
}
