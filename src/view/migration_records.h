/*
 * migration_records.h - what `weir migrate` answers.
 */
#ifndef WEIR_VIEW_MIGRATION_RECORDS_H
#define WEIR_VIEW_MIGRATION_RECORDS_H

#include "view/record.h"

struct weir_roles_tally {
    size_t made;
    size_t granted;
    size_t revoked;
    bool blind; /* what the roles had before could not be seen */
};
extern const struct weir_record weir_roles_record;

struct weir_migrated {
    const char *database;
    int64_t from, to;
    int64_t executions_from, executions_to;
    const char *no_functions; /* why; NULL: they are there */
    const char *creators;     /* NULL: none */
    bool with_roles;
    struct weir_roles_tally roles;
    const char *sql; /* NULL: it was done */
};
extern const struct weir_record weir_migrated_record;

struct weir_restored {
    const char *database;
    bool needed;
    bool restored;
    bool surveyed; /* all that follows */
    const char *made_in;
    const char *found_in;
    int64_t messages, cuts, queues, subscriptions;
    bool hole;
    int64_t positions_missing;
};
extern const struct weir_record weir_restored_record;

#endif
