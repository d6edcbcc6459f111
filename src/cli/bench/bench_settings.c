/*
 * bench_settings.c - what a commit costs is decided by the database's settings; see
 * bench.h.
 */
#include <string.h>

#include "base/text.h"
#include "cli/bench/bench.h"
#include "db/query.h"

/* As our connections have them. */
static const struct weir_sql SQL_SETTINGS[] = {
    [WEIR_POSTGRESQL] =
        {
            .name = "read settings",
            .text =
                "SELECT 'fsync ' || current_setting('fsync') || ', synchronous_commit '"
                " || current_setting('synchronous_commit') || ', full_page_writes '"
                " || current_setting('full_page_writes') || ', wal_sync_method '"
                " || current_setting('wal_sync_method')",
            .parameters = "",
        },
    /* What syncs the binary log counts only where there is one. */
    [WEIR_MARIADB] =
        {
            .name = "read settings",
            .text = "SELECT group_concat(lower(variable_name), ' ',"
                    " lower(variable_value) ORDER BY variable_name SEPARATOR ', ')"
                    " FROM information_schema.global_variables WHERE variable_name IN"
                    " ('innodb_flush_log_at_trx_commit', 'innodb_doublewrite',"
                    " 'innodb_flush_method', 'log_bin', 'sync_binlog')"
                    " AND (variable_name <> 'sync_binlog' OR @@log_bin)",
            .parameters = "",
        },
    [WEIR_SQLITE] =
        {
            .name = "read settings",
            .text = "SELECT 'journal_mode ' || j.journal_mode || ', synchronous '"
                    " || CASE s.synchronous WHEN 0 THEN 'off' WHEN 1 THEN 'normal'"
                    " WHEN 2 THEN 'full' ELSE 'extra' END"
                    " FROM pragma_journal_mode j, pragma_synchronous s",
            .parameters = "",
        },
};

static void note_finding(void *state, const struct weir_finding *finding)
{
    (void)finding;
    *(bool *)state = false;
}

struct settings_row {
    struct weir_str text;
};
static const struct weir_column SETTINGS[] = {COLUMN(struct settings_row, text, TEXT)};

static enum weir_status keep_text(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct weir_bench_settings *self = state;
    struct settings_row row;
    enum weir_status status = weir_row_read(rows, COLUMNS(SETTINGS), &row, error);

    if (status == WEIR_OK)
        weir_text_format(self->text, sizeof self->text, "%.*s", (int)row.text.size,
                         row.text.data);
    return status;
}

enum weir_status weir_bench_settings_read(struct weir_bench_settings *self,
                                          struct weir_db *db, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    self->durable = true;
    if (status == WEIR_OK)
        status = weir_query_one(connection, &SQL_SETTINGS[weir_db_engine(db)], NO_VALUES,
                                keep_text, self, error);
    if (status == WEIR_OK) {
        struct weir_link *link = weir_connection_link(connection);

        status = link->driver->durability(link, note_finding, &self->durable, error);
    }
    weir_db_release(db, connection);
    return status;
}
