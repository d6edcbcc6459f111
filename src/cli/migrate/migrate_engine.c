/*
 * migrate_engine.c - see migrate_engine.h.
 */
#include "cli/migrate/migrate_engine.h"

#include "db/db.h"
#include "outbox/producer.h"

static const struct weir_migrate_engine ENGINES[] = {
    [WEIR_SQLITE] = {.restore = weir_restored_nothing},
    [WEIR_POSTGRESQL] =
        {
            .right_to_make = "CREATEROLE",
            .right_to_grant = "to own the tables and the schema, or to be a superuser",
            .restore = weir_restored_postgres,
        },
    [WEIR_MARIADB] =
        {
            .functions = weir_producer_maria_functions,
            .right_to_make = "CREATE USER",
            .right_to_grant = "ALL PRIVILEGES on the database WITH GRANT OPTION",
            .restore = weir_restored_maria,
        },
};

const struct weir_migrate_engine *weir_migrate_engine(const struct weir_session *session)
{
    return &ENGINES[weir_db_engine(session->db)];
}
