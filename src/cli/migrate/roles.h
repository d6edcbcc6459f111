/*
 * roles.h - `weir migrate --roles`: the four roles of a prefix, made and kept in order.
 *
 * What they may do is outbox/roles.h's; here it is run, shown and reported.
 */
#ifndef WEIR_CLI_MIGRATE_ROLES_H
#define WEIR_CLI_MIGRATE_ROLES_H

#include "base/buf.h"
#include "cli/session.h"
#include "view/migration_records.h"

struct weir_role_plan;

/* A plan for all tables that this program knows. Owes weir_role_plan_fini(). */
void weir_roles_plan_init(struct weir_role_plan *self);

/* Tell of a database that has no roles. WEIR_EXIT_DONE: this one has. */
WEIR_CHECKED int weir_roles_check_engine(const struct weir_session *session);

/* Make and mend them. WEIR_EXIT_DONE, or the exit code after telling. */
WEIR_CHECKED int weir_roles_apply(const struct weir_session *session,
                                  struct weir_roles_tally *out);

/* Append what apply() would run, as SQL for the engine's own client. */
WEIR_CHECKED enum weir_status weir_roles_append_sql(const struct weir_session *session,
                                                    struct weir_buf *sql,
                                                    struct weir_error *error);

/* Print it for people, one line. */
void weir_roles_tell(const struct weir_roles_tally *self);

#endif
