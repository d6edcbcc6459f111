/*
 * engine.c - see engine.h.
 */
#include "outbox/engine.h"

static const struct weir_outbox_engine *const ENGINES[] = {
    [WEIR_SQLITE] = &weir_outbox_sqlite,
    [WEIR_POSTGRESQL] = &weir_outbox_postgresql,
    [WEIR_MARIADB] = &weir_outbox_mariadb,
};

const struct weir_outbox_engine *
weir_outbox_engine_of(const struct weir_connection *connection)
{
    return ENGINES[weir_connection_engine(connection)];
}

const struct weir_outbox_engine *weir_outbox_engine_for(const struct weir_db *db)
{
    return ENGINES[weir_db_engine(db)];
}
