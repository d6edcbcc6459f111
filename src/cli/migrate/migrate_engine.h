/*
 * migrate_engine.h - what `weir migrate` does in another way on each database engine.
 */
#ifndef WEIR_CLI_MIGRATE_MIGRATE_ENGINE_H
#define WEIR_CLI_MIGRATE_MIGRATE_ENGINE_H

#include "cli/migrate/restored.h"
#include "db/connection.h"

struct weir_migrate_engine {
    /* Functions for producers in SQL that belong to no migration (producer.h), up to
     * NULL. NULL: none. */
    const char *const *functions;

    /* The rights that roles need, to be made and to get theirs. NULL: there are no
     * roles. */
    const char *right_to_make;
    const char *right_to_grant;

    int (*restore)(const struct weir_session *session, struct weir_connection *connection,
                   const struct weir_restored_wishes *wishes);
};

const struct weir_migrate_engine *weir_migrate_engine(const struct weir_session *session);

#endif
