/*
 * doctor.h - the checks of `weir doctor`, and what they share.
 *
 *   doctor.c          what is asked of any database
 *   doctor_pg.c       PostgreSQL: version, pooler, rights, old transactions
 *   doctor_maria.c    MariaDB: version, settings, engines of tables, rights, old
 *                     transactions
 *   doctor_roles.c    the roles of `weir migrate --roles`: what they have too much
 *   doctor_heads.c    messages that fail for ever, subscriptions that no process serves
 *   doctor_executions.c     the execution engine: tables, work without a supervisor
 *   doctor_sqlite.c   SQLite: version of the library, file, write-ahead log
 */
#ifndef WEIR_CLI_DOCTOR_DOCTOR_H
#define WEIR_CLI_DOCTOR_DOCTOR_H

#include "cli/doctor/findings.h"
#include "cli/session.h"
#include "db/query.h"
#include "weir/inspect.h"

struct weir_doctor {
    struct weir_session session;
    struct weir_findings findings;
    struct weir_connection *connection; /* NULL: the database cannot be reached */
    bool schema_known;                  /* our tables are there and up to date */
    bool schema_fits;                   /* and can be asked: they were made here */
    int64_t waiting;                    /* in all queues */
    bool retains;                       /* one of them keeps what was delivered */
};

/* Before the tables are known to be there, and after. */
void weir_doctor_check_pg_server(struct weir_doctor *self);
void weir_doctor_check_pg_tables(struct weir_doctor *self);
void weir_doctor_check_pg_hole(struct weir_doctor *self); /* wherever they were made */
void weir_doctor_check_maria_server(struct weir_doctor *self);
void weir_doctor_check_maria_tables(struct weir_doctor *self);
void weir_doctor_check_roles(struct weir_doctor *self);
void weir_doctor_check_executions(struct weir_doctor *self); /* not of MariaDB */
void weir_doctor_check_sqlite_library(struct weir_doctor *self);
void weir_doctor_check_sqlite_file(struct weir_doctor *self);

/* Which subscription the log is kept for, where much waits or is set aside. */
void weir_doctor_judge_holder(struct weir_doctor *self,
                              const struct weir_queue_info *info);

/* Which messages fail for ever, and which subscriptions no process serves, where
 * something waits. */
void weir_doctor_judge_heads(struct weir_doctor *self,
                             const struct weir_queue_info *info);

/* A check that could not be made. */
void weir_doctor_note_failure(struct weir_doctor *self, const char *check,
                              const struct weir_error *error);

/* Read the only row of a query into a struct by its map (db/row_map.h), or an integer.
 * False: it could not be read, and that is a finding of `check`. */
bool weir_doctor_read(struct weir_doctor *self, const char *check,
                      const struct weir_sql *sql, const struct weir_column *columns,
                      size_t column_count, void *row);
bool weir_doctor_read_integer(struct weir_doctor *self, const char *check,
                              const struct weir_sql *sql, int64_t *out);

/* How many messages every subscription has passed and the log still holds. It has room
 * for as many as `span` reads: ids that were never used are no messages. Beyond `most`
 * the sweep is behind. */
void weir_doctor_check_sweep(struct weir_doctor *self, const struct weir_sql *span,
                             int64_t most);

#endif
