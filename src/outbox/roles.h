/*
 * roles.h - the four roles of a prefix, and what each may do with its tables.
 *
 *   {p}_owner      makes and changes the tables; on PostgreSQL they are its own
 *   {p}_runtime    delivers and executes: reads and writes rows
 *   {p}_producer   enqueues and submits, and nothing else
 *   {p}_viewer     reads, but neither payloads nor headers
 *
 * What each is to have is said once for each engine, in a query (postgres/roles.c,
 * mariadb/roles.c) that compares it with the catalogue. Its answer is a plan: the
 * statements that make roles which are missing, grant what is missing and take back
 * what is too much. So applying it twice changes nothing, and applying it after a
 * migration mends what that has left. A role that is there already keeps its
 * attributes: no role gets the right to log in, and no password is changed.
 *
 * What PUBLIC may do, each of the roles may do; so this is revoked, too.
 *
 * A plan can be applied while applications work. On PostgreSQL a change of owner locks
 * its table exclusively, and in one transaction with others it would be half of a
 * deadlock with any transaction of an application that uses two tables. So each table
 * is changed in a transaction of its own, which waits for its lock for a fraction of a
 * second and then lets others go first, for up to a minute:
 *
 *   roles, members, the schema -> one table after the other -> all routines
 *
 * When it fails or is killed, what was done stays; applying a plan again goes on.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_ROLES_H
#define WEIR_OUTBOX_ROLES_H

#include "base/buf.h"
#include "db/connection.h"

/*
 * What a role is to have on an object of another family of tables (db/migrate.h), whose
 * affair it is: in place of what the rule of postgres/roles.c gives it on every table
 * of the prefix, which is to write for a runtime, to read for a viewer, and nothing for
 * a producer. Several for one role and object add up. PostgreSQL only.
 */
struct weir_role_right {
    const char *object;     /* without the prefix: "execution" */
    const char *role;       /* "runtime", "producer" or "viewer" */
    const char *privileges; /* "SELECT, INSERT" */
    const char *columns;    /* "no, uuid": on these alone; "": on the whole */
};

/* What a statement of a plan is for. A right is revoked before others on the same table
 * are granted. */
enum weir_role_step {
    WEIR_ROLE_MAKE = 1, /* a role that is missing */
    /* PostgreSQL: the user that applies it becomes a member of the owner */
    WEIR_ROLE_JOIN,
    WEIR_ROLE_OWN,    /* rights on schema or database, and whose the tables are */
    WEIR_ROLE_REVOKE, /* what is too much */
    WEIR_ROLE_GRANT   /* what is missing */
};

struct weir_role_change {
    enum weir_role_step step;
    const char *role; /* or PUBLIC */
    const char *text; /* the statement, without semicolon */
    const char
        *unit; /* statements of one unit belong into one transaction: "TABLE weir_log" */
};

/* The statements; empty when all is as it should be. */
struct weir_role_plan {
    struct weir_buf entries;              /* private */
    const struct weir_role_right *rights; /* borrowed */
    size_t right_count;
    size_t count;
    bool blind; /* MariaDB hides from this user what roles have: all is granted, nothing
                   revoked */
};

/* With the rights that other families want. */
void weir_role_plan_init(struct weir_role_plan *self, const struct weir_heap *heap,
                         const struct weir_role_right *rights, size_t right_count);
void weir_role_plan_fini(struct weir_role_plan *self);

/* Compare. The tables are there. WEIR_INVALID: SQLite has no roles. */
WEIR_CHECKED enum weir_status weir_role_plan_read(struct weir_role_plan *self,
                                                  struct weir_connection *connection,
                                                  struct weir_error *error);

/* Compare and run the statements; *self is then what was run. Calling it again goes on
 * where it has failed. WEIR_DENIED: *failed is what was not allowed, WEIR_LOCKED: what
 * others' transactions did not let happen; its texts live as long as the plan. */
WEIR_CHECKED enum weir_status weir_role_plan_apply(struct weir_role_plan *self,
                                                   struct weir_db *db,
                                                   struct weir_role_change *failed,
                                                   struct weir_error *error);

/* One after the other: *at begins with 0. False: there are no more. Borrows from the
 * plan. */
bool weir_role_plan_next(const struct weir_role_plan *self, size_t *at,
                         struct weir_role_change *out);

/* Is it the first of its unit? Else it was run with that one. */
bool weir_role_plan_leads(const struct weir_role_plan *self,
                          const struct weir_role_change *change);

/* Rows of (step, role, statement, unit): owners, tables, columns, routines; in the
 * order of the plan. With parameters, these are the rights of others: objects, roles,
 * privileges, columns. */
enum { WEIR_ROLES_COMPARE_COUNT = 4 };

/* The roles of an engine. */
struct weir_role_ops {
    const struct weir_sql *compare; /* WEIR_ROLES_COMPARE_COUNT */

    /* The same without a look at what roles have, where compare is not allowed. NULL:
     * it always is. */
    const struct weir_sql *compare_blind;

    /* The lock of migrations: no tables are made meanwhile, and no two compare at once.
     * Then what has no unit is one transaction, and each unit is one of its own. NULL:
     * a statement that changes roles is a transaction by itself. */
    const struct weir_sql *lock;
};

#endif
