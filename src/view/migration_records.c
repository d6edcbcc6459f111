/*
 * migration_records.c - see migration_records.h.
 */
#include "view/migration_records.h"

#define ROLES(...) WEIR_FIELD(struct weir_roles_tally, __VA_ARGS__)
static const struct weir_record_field ROLES_FIELDS[] = {
    ROLES("made", made, SIZE, "Roles that were made."),
    ROLES("granted", granted, SIZE, "Rights that were granted."),
    ROLES("revoked", revoked, SIZE, "Rights that were revoked."),
    ROLES("blind", blind, FLAG, "What the roles had before could not be seen."),
};

const struct weir_record weir_roles_record =
    WEIR_RECORD("roles", ROLES_FIELDS, "What `--roles` has done.");

static bool has_roles(const void *row)
{
    const struct weir_migrated *migrated = row;

    return migrated->with_roles;
}

#define MIGRATED(...) WEIR_FIELD(struct weir_migrated, __VA_ARGS__)
static const struct weir_record_field MIGRATED_FIELDS[] = {
    MIGRATED("database", database, TEXT, "The database, without its password."),
    MIGRATED("from", from, I64, "Schema before; 0: none."),
    MIGRATED("to", to, I64, "Schema now."),
    MIGRATED("executions_from", executions_from, I64, "Schema of executions before."),
    MIGRATED("executions_to", executions_to, I64, "Schema of executions now."),
    MIGRATED("no_functions", no_functions, TEXT,
             "Why there are no functions for producers in SQL.", .optional = true),
    MIGRATED("creators", creators, TEXT, "Roles that may make objects in the schema.",
             .optional = true),
    WEIR_FIELD_IN(struct weir_migrated, "roles", roles, OBJECT, &weir_roles_record,
                  "What `--roles` has done.", .shown = has_roles),
    MIGRATED("sql", sql, TEXT, "With `--dry-run`: the statements.", .optional = true),
};

const struct weir_record weir_migrated_record =
    WEIR_RECORD("migrated", MIGRATED_FIELDS, "The answer of `weir migrate`.");

static bool is_surveyed(const void *row)
{
    const struct weir_restored *restored = row;

    return restored->surveyed;
}

#define RESTORED(...) WEIR_FIELD(struct weir_restored, __VA_ARGS__)
static const struct weir_record_field RESTORED_FIELDS[] = {
    RESTORED("database", database, TEXT, "The database, without its password."),
    RESTORED("needed", needed, FLAG, "There was something to do."),
    RESTORED("restored", restored, FLAG, "It was done."),
    RESTORED("made_in", made_in, TEXT, "Database that the log was made in.",
             .shown = is_surveyed),
    RESTORED("found_in", found_in, TEXT, "Database that it is in now.",
             .shown = is_surveyed),
    RESTORED("messages", messages, I64, "Messages in it.", .shown = is_surveyed),
    RESTORED("cuts", cuts, I64, "Cuts of the log.", .shown = is_surveyed),
    RESTORED("queues", queues, I64, "Queues.", .shown = is_surveyed),
    RESTORED("subscriptions", subscriptions, I64, "Subscriptions.", .shown = is_surveyed),
    RESTORED("hole", hole, FLAG, "Messages may be missing.", .shown = is_surveyed),
    RESTORED("positions_missing", positions_missing, I64,
             "Positions of subscriptions that are missing.", .shown = is_surveyed),
};

const struct weir_record weir_restored_record =
    WEIR_RECORD("restored", RESTORED_FIELDS, "The answer of `weir migrate --restored`.");
