/*
 * restored.h - `weir migrate --restored`: what was restored in another cluster is to
 * deliver.
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_MIGRATE_RESTORED_H
#define WEIR_CLI_MIGRATE_RESTORED_H

#include "cli/session.h"

struct weir_connection;

struct weir_restored_wishes {
    bool dry_run;    /* only say what would be done */
    bool yes;        /* do not ask */
    bool with_holes; /* go on with what is there, also if the dump has a hole */
};

/* On a database whose tables are up to date. Returns an enum weir_exit, after telling. */
int weir_restored_run(const struct weir_session *session,
                      const struct weir_restored_wishes *wishes);

/* Likewise on a connection, for each engine (migrate_engine.h). */
int weir_restored_postgres(const struct weir_session *session,
                           struct weir_connection *connection,
                           const struct weir_restored_wishes *wishes);
int weir_restored_maria(const struct weir_session *session,
                        struct weir_connection *connection,
                        const struct weir_restored_wishes *wishes);
int weir_restored_nothing(const struct weir_session *session,
                          struct weir_connection *connection,
                          const struct weir_restored_wishes *wishes);

#endif
