/*
 * transact_nested.c - see transact_nested.h.
 */
#include "outbox/transact_nested.h"

enum weir_status weir_transact_nested(struct weir_outbox *outbox,
                                      struct weir_connection *connection,
                                      weir_transact_fn body, void *argument,
                                      struct weir_error *error)
{
    if (connection == NULL)
        return weir_transact(outbox->db, body, argument, error);
    if (weir_connection_transaction(connection) != WEIR_TRANSACTION_OPEN)
        return weir_error_set(error, WEIR_INVALID,
                              "the connection must have an open transaction");
    return weir_transact_in_savepoint(connection, body, argument, error);
}

enum weir_status weir_transact_nested_reading(struct weir_outbox *outbox,
                                              struct weir_connection *connection,
                                              weir_transact_fn body, void *argument,
                                              struct weir_error *error)
{
    struct weir_connection *own = NULL;
    enum weir_status status;

    if (connection != NULL)
        return body(connection, argument, error);
    status = weir_outbox_connect(outbox, &own, error);
    if (status == WEIR_OK)
        status = body(own, argument, error);
    weir_db_release(outbox->db, own);
    return status;
}
