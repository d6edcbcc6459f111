/*
 * functions.c - makes the functions of producer.c where they are missing.
 */
#include <mysqld_error.h>

#include "base/text.h"
#include "db/db.h"
#include "outbox/mariadb/engine.h"
#include "outbox/producer.h"

/* Those of an older library do not look whether a queue is being removed. */
static const struct weir_sql SQL_COUNT_FUNCTIONS = {
    .name = "find weir_enqueue()",
    .text = "SELECT count(*) FROM information_schema.routines"
            " WHERE routine_schema = DATABASE() AND routine_name = '{n}_enqueue'"
            " AND (routine_definition IS NULL"
            "  OR routine_definition LIKE '%_enqueue_check_room(%')",
};

static bool is_because_of_the_log(const struct weir_error *error)
{
    return error->native_code == ER_BINLOG_UNSAFE_ROUTINE ||
           error->native_code == ER_BINLOG_CREATE_ROUTINE_NEED_SUPER;
}

/* MariaDB's own text says that the setting might be wanted, not what to do. */
static void explain(const struct weir_error *error, char why[WEIR_PRODUCER_WHY_SIZE])
{
    (void)weir_text_format(why, WEIR_PRODUCER_WHY_SIZE, "%.200s",
                           is_because_of_the_log(error)
                               ? "the server keeps a binary log and makes no functions:"
                                 " SET GLOBAL log_bin_trust_function_creators = 1 there,"
                                 " and migrate again"
                               : error->text);
}

/* Each commits by itself, and may be repeated. That which callers know comes last. */
static enum weir_status make_all(struct weir_connection *connection,
                                 struct weir_error *error)
{
    const char *const *statement = weir_producer_maria_functions;
    enum weir_status status = WEIR_OK;

    for (; *statement != NULL && status == WEIR_OK; statement++)
        status = weir_connection_execute_ddl(connection, *statement, error);
    return status;
}

/* On a connection of its own, since the mode of the session is changed. */
enum weir_status weir_maria_make_functions(struct weir_db *db, char *why,
                                           struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    int64_t count = 0;
    enum weir_status status;

    status = weir_db_open_apart(db, &connection, error);
    if (status != WEIR_OK)
        return status;
    status = weir_connection_query_integer(connection, &SQL_COUNT_FUNCTIONS, NO_VALUES,
                                           &count, error);
    if (status == WEIR_OK && count == 0)
        status = make_all(connection, error);
    if (status == WEIR_DENIED || (status != WEIR_OK && is_because_of_the_log(error))) {
        explain(error, why);
        status = WEIR_OK;
    }
    weir_connection_destroy(connection);
    return status;
}
