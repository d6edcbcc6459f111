/*
 * driver.c - the driver for MariaDB, by its client library Connector/C.
 *
 *   maria_link        the connection: how it is made, its errors, its transaction
 *   maria_session     what others have made of it
 *   maria_statement   a prepared statement, its packets and rows
 *   maria_parameter   a value of ours for the library
 *   maria_bulk        one statement for many rows
 *   maria_column      the binary form of a column
 *   maria_time        DATETIME and microseconds
 *   maria_error       what codes mean
 *
 * Here are the table of operations and what remains: cancel, clock and durability.
 *
 * The library needs no word at the start of a thread and none at its end (these
 * functions of it are empty), and initialises itself once. It is never shut down here:
 * the application may use it too.
 */
#include <mysql.h>
#include <string.h>
#include <strings.h>

#include "base/count.h"
#include "base/text.h"
#include "db/driver.h"
#include "db/mariadb/bulk.h"
#include "db/mariadb/link.h"
#include "db/mariadb/session.h"
#include "db/mariadb/statement.h"

enum { CANCEL_TIMEOUT_S = 5 };

/*
 * The time at the beginning of this very statement, in UTC whatever the session's time
 * zone is. SYSDATE(6) would have to be converted from that zone, and one hour a year
 * twice.
 */
static const char SQL_CLOCK[] =
    "SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))";

/* A variable that this server does not have is left out of the answer. */
static const char SQL_DURABILITY[] =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', "
    "'log_bin', 'sync_binlog', 'innodb_doublewrite', 'innodb_flush_method', "
    "'debug_no_sync')";

static void *native(struct weir_link *link)
{
    return weir_maria_link(link)->mysql;
}

static enum weir_status exec(struct weir_link *link, const char *text,
                             struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    enum weir_status status = weir_maria_enter(self, error);

    if (status == WEIR_OK)
        status = weir_maria_run_text(self, text, error);
    return status;
}

/* ---- cancel ------------------------------------------------------------------------ */

/*
 * From any thread: only counters are touched, and what never changes, the number of the
 * connection and where the server is. A KILL that comes when nothing runs any more does
 * nothing. We do not know how to log on as the application, so an adopted connection is
 * not cancelled.
 */
static void cancel(struct weir_link *link)
{
    struct weir_maria_link *self = weir_maria_link(link);
    struct weir_error ignored;
    MYSQL *mysql = NULL;
    char text[64];

    if (link->adopted)
        return;
    atomic_fetch_add(&self->cancels_begun, 1);
    atomic_store(&link->cancelled, true);
    if (weir_maria_connect(link->config, CANCEL_TIMEOUT_S, &mysql, &ignored) == WEIR_OK) {
        (void)weir_text_format(text, sizeof text, "KILL QUERY %lu", self->id);
        (void)mysql_real_query(mysql, text, strlen(text));
        mysql_close(mysql);
    }
    atomic_fetch_add(&self->cancels_ended, 1);
}

/* ---- clock ------------------------------------------------------------------------- */

static enum weir_status clock_us(struct weir_link *link, int64_t *out_us,
                                 struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    enum weir_status status = weir_maria_enter(self, error);

    if (status == WEIR_OK)
        status = weir_maria_ask(self, SQL_CLOCK, out_us, error);
    return status;
}

static enum weir_status ask(struct weir_link *link, const char *text,
                            int64_t wait_limit_ns, int64_t *out, struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    enum weir_status status = weir_maria_enter(self, error);

    if (status == WEIR_OK)
        status = weir_maria_ask_within(self, text, wait_limit_ns, out, error);
    return status;
}

/* ---- durability -------------------------------------------------------------------- */

/* The value of a variable in an answer of SHOW VARIABLES; "" when it is not there. */
static const char *find_variable(MYSQL_RES *variables, const char *name)
{
    MYSQL_ROW row;

    mysql_data_seek(variables, 0);
    while ((row = mysql_fetch_row(variables)) != NULL) {
        if (row[0] != NULL && row[1] != NULL && strcmp(row[0], name) == 0)
            return row[1];
    }
    return "";
}

static bool is_one_of(const char *value, const char *first, const char *second)
{
    return strcasecmp(value, first) == 0 || strcasecmp(value, second) == 0;
}

/* A setting that lacks from the answer is one that this server cannot have wrong. */
static bool suffices(MYSQL_RES *variables, const char *name, const char *found)
{
    if (*found == '\0')
        return true;
    if (strcmp(name, "innodb_flush_log_at_trx_commit") == 0)
        return strcmp(found, "1") == 0;
    if (strcmp(name, "sync_binlog") == 0)
        return strcmp(found, "1") == 0 ||
               !is_one_of(find_variable(variables, "log_bin"), "ON", "1");
    if (strcmp(name, "innodb_doublewrite") == 0)
        return !is_one_of(found, "OFF", "0");
    if (strcmp(name, "innodb_flush_method") == 0)
        return strcasecmp(found, "nosync") != 0;
    return is_one_of(found, "OFF", "0"); /* debug_no_sync */
}

static enum weir_status durability(struct weir_link *link, weir_finding_fn report_finding,
                                   void *state, struct weir_error *error)
{
    static const struct {
        const char *setting;
        const char *needed;
    } NEEDS[] = {
        {"innodb_flush_log_at_trx_commit", "1"},
        {"sync_binlog", "1"},
        {"innodb_doublewrite", "ON"},
        {"innodb_flush_method", "O_DIRECT"},
        {"debug_no_sync", "OFF"},
    };
    struct weir_maria_link *self = weir_maria_link(link);
    MYSQL_RES *variables = NULL;
    enum weir_status status = weir_maria_enter(self, error);

    if (status == WEIR_OK)
        status = weir_maria_query(self, SQL_DURABILITY, &variables, error);
    for (size_t i = 0; i < COUNT_OF(NEEDS) && status == WEIR_OK; i++) {
        const char *found = find_variable(variables, NEEDS[i].setting);

        if (!suffices(variables, NEEDS[i].setting, found))
            report_finding(state, &(struct weir_finding){.setting = NEEDS[i].setting,
                                                         .found = found,
                                                         .needed = NEEDS[i].needed});
    }
    mysql_free_result(variables);
    return status;
}

const struct weir_driver weir_driver_mariadb = {
    .engine = WEIR_MARIADB,
    .traits = {.title = "MariaDB",
               .now = "UTC_TIMESTAMP(6)",
               .quote = '`',
               .numbers_are_final = true,
               .ddl_commits = true,
               .hides_tables = true,
               .one_statement_per_text = true},
    .open = weir_maria_open,
    .adopt = weir_maria_adopt,
    .close = weir_maria_close,
    .native = native,
    .alive = weir_maria_is_alive,
    .exec = exec,
    .prepare = weir_maria_prepare,
    .unprepare = weir_maria_unprepare,
    .run = weir_maria_run,
    .next = weir_maria_next,
    .read = weir_maria_read,
    .finish = weir_maria_finish,
    .run_many = weir_maria_run_many,
    .run_steps = weir_maria_run_steps,
    .begin = weir_maria_begin,
    .commit = weir_maria_commit,
    .rollback = weir_maria_rollback,
    .transaction = weir_maria_transaction,
    .renew = weir_maria_session_renew,
    .regain = weir_maria_session_regain,
    .reset = weir_maria_session_reset,
    .reset_forgets = true,
    .examine = weir_maria_examine,
    .cancel = cancel,
    .clock = clock_us,
    .ask = ask,
    .durability = durability,
};
