/*
 * engine.c - see engine.h.
 */
#include "execution/engine.h"

#include <stddef.h>

static const struct weir_execution_engine *const ENGINES[] = {
    [WEIR_SQLITE] = &weir_execution_sqlite,
    [WEIR_POSTGRESQL] = &weir_execution_postgresql,
    [WEIR_MARIADB] = NULL,
};

const struct weir_execution_engine *weir_execution_engine_for(enum weir_engine engine)
{
    return ENGINES[engine];
}

const struct weir_execution_engine *
weir_execution_engine_of(const struct weir_connection *connection)
{
    return ENGINES[weir_connection_engine(connection)];
}
