/*
 * restore.c - see mariadb/restore.h.
 */
#include "outbox/mariadb/restore.h"

#include "base/text.h"
#include "outbox/mariadb/log.h"

/* As the migration does it. */
static const struct weir_sql SQL_ADD_ERA = {
    .name = "add era",
    .text = "INSERT IGNORE INTO {p}_era SELECT next_not_cached_value FROM {p}_era_now",
};

/* Of those that are still to be moved: of the others it does not matter. By the primary
 * key. */
static const struct weir_sql SQL_LAST_ID = {
    .name = "last id",
    .text = "SELECT coalesce(max(id), 0) FROM {p}_incoming",
};

/* Behind the numbers that messages have. It never goes back; neither is it part of a
 * transaction. */
static enum weir_status raise_numbers(struct weir_connection *connection,
                                      struct weir_error *error)
{
    int64_t last = 0;
    char text[96];
    enum weir_status status =
        weir_connection_query_integer(connection, &SQL_LAST_ID, NO_VALUES, &last, error);

    if (status != WEIR_OK || last == 0)
        return status;
    (void)weir_text_format(text, sizeof text, "SELECT SETVAL({p}_incoming_id, %lld)",
                           (long long)(last / WEIR_IDS_PER_NUMBER));
    return weir_connection_execute_text(connection, text, error);
}

enum weir_status weir_maria_restore(struct weir_connection *connection, bool *mended,
                                    struct weir_error *error)
{
    int64_t added = 0;
    enum weir_status status =
        weir_connection_execute(connection, &SQL_ADD_ERA, NO_VALUES, &added, error);

    *mended = added > 0;
    if (status == WEIR_OK)
        status = raise_numbers(connection, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "restore");
    return status;
}
