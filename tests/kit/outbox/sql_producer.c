/*
 * sql_producer.c - see sql_producer.h.
 */
#include "kit/outbox/sql_producer.h"

#include <stdio.h>

#include <sqlite3.h>

static const struct weir_sql SQL_ENQUEUE = {
    .name = "enqueue in SQL",
    .text = "SELECT {p}_enqueue({1}, {2}, {3}, {4}, NULL)",
    .parameters = "ttbt",
};

bool sql_producer_prepare(struct weir_connection *connection)
{
    sqlite3 *handle = weir_connection_native(connection);

    if (weir_connection_engine(connection) != WEIR_SQLITE)
        return true;
    return sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) ==
               SQLITE_OK &&
           sqlite3_load_extension(handle, WEIR_TEST_EXTENSION, NULL, NULL) == SQLITE_OK;
}

/* The first number that is a key of this partition. */
static struct weir_value key_of(struct weir_route route, int32_t partitions, char *out,
                                size_t size)
{
    int number = 0;

    if (!route.pinned)
        return weir_null();
    do
        (void)snprintf(out, size, "%d", number++);
    while (weir_partition_of_key(out, weir_str(out).size, partitions) != route.partition);
    return weir_text(weir_str(out));
}

enum weir_status sql_producer_enqueue(struct weir_connection *connection,
                                      const char *queue, int32_t partitions,
                                      const struct weir_draft *draft,
                                      struct weir_error *error)
{
    char key[16];
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_ENQUEUE,
                              VALUES(weir_text(weir_str(queue)),
                                     key_of(draft->route, partitions, key, sizeof key),
                                     weir_bytes(draft->payload, draft->payload_size),
                                     weir_text(weir_str(draft->type))),
                              &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error); /* tells what comes behind the row */
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
