/*
 * read_lock_timeout.c - see read_lock_timeout.h.
 */
#include "outbox/read_lock_timeout.h"

#include "db/driver.h"
#include "outbox/engine.h"

/* The session is shared: settings go with a transaction. */
static bool is_pooled(struct weir_connection *connection)
{
    return weir_connection_config(connection)->url.transaction_pooler;
}

static enum weir_status set(struct weir_connection *connection, int64_t duration_ns,
                            struct weir_error *error)
{
    const struct weir_sql *sql = weir_outbox_engine_of(connection)->set_lock_timeout;
    int64_t milliseconds =
        (duration_ns + WEIR_MILLISECONDS(1) - 1) / WEIR_MILLISECONDS(1);

    if (sql == NULL)
        return WEIR_OK;
    if (milliseconds > INT32_MAX)
        milliseconds = INT32_MAX;
    return weir_connection_execute(
        connection, sql,
        VALUES(weir_integer(milliseconds), weir_boolean(is_pooled(connection))), NULL,
        error);
}

enum weir_status weir_read_lock_timeout_set(struct weir_connection *connection,
                                            struct weir_error *error)
{
    int64_t usual_ns = weir_connection_config(connection)->lock_timeout_ns;
    enum weir_status status = WEIR_OK;

    if (is_pooled(connection))
        status = weir_connection_begin_read(connection, error);
    if (status != WEIR_OK || (usual_ns > 0 && usual_ns < WEIR_READ_LOCK_TIMEOUT_NS))
        return status;
    status = set(connection, WEIR_READ_LOCK_TIMEOUT_NS, error);
    if (status != WEIR_OK && is_pooled(connection))
        weir_connection_rollback(connection);
    return status;
}

enum weir_status weir_read_lock_timeout_reset(struct weir_connection *connection,
                                              enum weir_status status, bool *locked,
                                              struct weir_error *error)
{
    int64_t usual_ns = weir_connection_config(connection)->lock_timeout_ns;
    enum weir_status set_status;

    *locked = status == WEIR_LOCKED;
    if (*locked)
        status = WEIR_OK;
    if (is_pooled(connection)) {
        weir_connection_rollback(connection);
        return status;
    }
    set_status = set(connection, usual_ns, status == WEIR_OK ? error : NULL);
    return status == WEIR_OK ? set_status : status;
}
