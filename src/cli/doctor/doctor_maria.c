/*
 * doctor_maria.c - see doctor.h.
 *
 * Our own sessions set what matters to them. What is judged here is what they cannot
 * set, and what an application's connections get by default, on which messages are
 * enqueued too.
 */
#include <inttypes.h>
#include <mysql.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/count.h"
#include "base/noun.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "db/db.h"
#include "weir/message.h"

enum { OLD_TRANSACTION_S = 600, HISTORY_MANY = 1000000, PASSED_MANY = 1000000 };

/* Beside a payload of the default size travel its key, type and headers. */
enum { PACKET_SIZE_NEEDED = 2 * WEIR_PAYLOAD_SIZE_DEFAULT, LOCK_WAIT_S_MIN = 1 };

enum { NAME_SIZE = 128, TABLE_NAME_SIZE = 2 * NAME_SIZE, VALUE_SIZE = 512 };

/* ---- the server's settings --------------------------------------------------------- */

/* A variable that this server does not have is left out of the answer. */
static const struct weir_sql SQL_VARIABLES = {
    .name = "read variables",
    .text =
        "SELECT variable_name, variable_value FROM information_schema.global_variables"
        " WHERE variable_name IN ('version', 'read_only', 'innodb_read_only',"
        " 'default_storage_engine', 'wsrep_on', 'log_bin', 'binlog_format',"
        " 'log_bin_trust_function_creators',"
        " 'foreign_key_checks', 'sql_mode', 'max_allowed_packet',"
        " 'innodb_lock_wait_timeout', 'innodb_deadlock_detect')",
    .parameters = "",
};

static const struct weir_sql SQL_INNODB = {
    .name = "find InnoDB",
    .text = "SELECT count(*) FROM information_schema.engines"
            " WHERE engine = 'InnoDB' AND support IN ('YES', 'DEFAULT')",
    .parameters = "",
};

enum variable {
    VERSION,
    READ_ONLY,
    INNODB_READ_ONLY,
    DEFAULT_STORAGE_ENGINE,
    WSREP_ON,
    LOG_BIN,
    BINLOG_FORMAT,
    TRUST_FUNCTION_CREATORS,
    FOREIGN_KEY_CHECKS,
    SQL_MODE,
    MAX_ALLOWED_PACKET,
    INNODB_LOCK_WAIT_TIMEOUT,
    INNODB_DEADLOCK_DETECT,
    VARIABLE_COUNT
};

static const char *const VARIABLES[VARIABLE_COUNT] = {
    [VERSION] = "version",
    [READ_ONLY] = "read_only",
    [INNODB_READ_ONLY] = "innodb_read_only",
    [DEFAULT_STORAGE_ENGINE] = "default_storage_engine",
    [WSREP_ON] = "wsrep_on",
    [LOG_BIN] = "log_bin",
    [BINLOG_FORMAT] = "binlog_format",
    [TRUST_FUNCTION_CREATORS] = "log_bin_trust_function_creators",
    [FOREIGN_KEY_CHECKS] = "foreign_key_checks",
    [SQL_MODE] = "sql_mode",
    [MAX_ALLOWED_PACKET] = "max_allowed_packet",
    [INNODB_LOCK_WAIT_TIMEOUT] = "innodb_lock_wait_timeout",
    [INNODB_DEADLOCK_DETECT] = "innodb_deadlock_detect",
};

struct settings {
    char values[VARIABLE_COUNT][VALUE_SIZE]; /* "" where there is none */
};

static void keep(char *out, size_t size, struct weir_str text)
{
    weir_text_format(out, size, "%.*s", (int)text.size, text.data);
}

struct variable_row {
    struct weir_str name;
    struct weir_str value;
};
static const struct weir_column VARIABLE[] = {
    COLUMN(struct variable_row, name, TEXT),
    COLUMN(struct variable_row, value, TEXT),
};

static enum weir_status keep_variable(void *state, struct weir_rows *rows,
                                      struct weir_error *error)
{
    struct settings *self = state;
    struct variable_row row;
    char name[NAME_SIZE];
    enum weir_status status = weir_row_read(rows, COLUMNS(VARIABLE), &row, error);

    if (status != WEIR_OK)
        return status;
    keep(name, sizeof name, row.name);
    for (size_t i = 0; i < VARIABLE_COUNT; i++)
        if (strcasecmp(name, VARIABLES[i]) == 0)
            keep(self->values[i], sizeof self->values[i], row.value);
    return WEIR_OK;
}

static bool read_settings(struct weir_doctor *doctor, struct settings *self)
{
    struct weir_error error = {0};

    if (weir_query_each(doctor->connection, &SQL_VARIABLES, NO_VALUES, keep_variable,
                        self, &error) == WEIR_OK)
        return true;
    weir_doctor_note_failure(doctor, "settings", &error);
    return false;
}

static bool is_on(const struct settings *self, enum variable variable)
{
    const char *value = self->values[variable];

    return strcasecmp(value, "ON") == 0 || strcmp(value, "1") == 0;
}

static bool is_off(const struct settings *self, enum variable variable)
{
    return self->values[variable][0] != '\0' && !is_on(self, variable);
}

static void judge_version(struct weir_doctor *self, const struct settings *settings)
{
    weir_findings_add(&self->findings, WEIR_VERDICT_OK, "version", "",
                      "server %s, client library %s", settings->values[VERSION],
                      mysql_get_client_info());
    if (is_on(settings, READ_ONLY) || is_on(settings, INNODB_READ_ONLY))
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "role",
                          "name the primary in --db", "this server is read only");
    if (is_on(settings, WSREP_ON))
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "galera",
                          "let all processes use one and the same node",
                          "wsrep_on is ON: order and exactly once hold while a single "
                          "node is written to");
}

static void check_innodb(struct weir_doctor *self, const struct settings *settings)
{
    const char *engine = settings->values[DEFAULT_STORAGE_ENGINE];
    int64_t found = 0;

    if (!weir_doctor_read_integer(self, "innodb", &SQL_INNODB, &found))
        return;
    if (found == 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "innodb",
                          "start the server with InnoDB",
                          "this server has no InnoDB, and no transactions without it");
    else if (engine[0] != '\0' && strcasecmp(engine, "InnoDB") != 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "innodb",
                          "see that your own tables are InnoDB",
                          "default_storage_engine is %s: only tables of weir say InnoDB",
                          engine);
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "innodb", "", "is there");
}

/* A message whose transaction is not counted under its era is lost when the era ends. */
static void judge_foreign_keys(struct weir_doctor *self, const struct settings *settings)
{
    if (is_off(settings, FOREIGN_KEY_CHECKS))
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "foreign keys",
                          "SET GLOBAL foreign_key_checks = ON, and connect again",
                          "foreign_key_checks is OFF: nothing can be enqueued on an "
                          "application's connections");
}

static void judge_sql_mode(struct weir_doctor *self, const struct settings *settings)
{
    const char *mode = settings->values[SQL_MODE];

    if (strstr(mode, "STRICT_ALL_TABLES") == NULL &&
        strstr(mode, "STRICT_TRANS_TABLES") == NULL)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "sql_mode",
                          "add STRICT_TRANS_TABLES, or set it in these sessions",
                          "'%s' is not strict: nothing can be enqueued on an "
                          "application's connections",
                          mode);
}

/* At READ COMMITTED, where we are, InnoDB cannot be written to then. */
static void judge_binlog(struct weir_doctor *self, const struct settings *settings)
{
    if (is_on(settings, LOG_BIN) &&
        strcasecmp(settings->values[BINLOG_FORMAT], "STATEMENT") == 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "binlog_format",
                          "set it to ROW or MIXED",
                          "binlog_format is STATEMENT: every write of weir is refused");
}

/* Only 'weir migrate' needs it: the functions that are there work without. */
static void judge_functions(struct weir_doctor *self, const struct settings *settings)
{
    if (is_on(settings, LOG_BIN) && is_off(settings, TRUST_FUNCTION_CREATORS))
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "binary log",
                          "before 'weir migrate': SET GLOBAL "
                          "log_bin_trust_function_creators = 1",
                          "log_bin_trust_function_creators is off: functions for "
                          "producers cannot be made");
}

static void judge_packet(struct weir_doctor *self, const struct settings *settings)
{
    int64_t size = atoll(settings->values[MAX_ALLOWED_PACKET]);
    bool small = size < PACKET_SIZE_NEEDED;

    if (size < WEIR_PAYLOAD_SIZE_MAX)
        weir_findings_add(&self->findings,
                          small ? WEIR_VERDICT_WARNING : WEIR_VERDICT_NOTE,
                          "max_allowed_packet",
                          small ? "set it to 16M" : "only if payloads are to be as large",
                          "max_allowed_packet is %" PRId64 " %s; a payload may have %d "
                          "by default, and up to %d",
                          size, WEIR_NOUN(size, "byte", "bytes"),
                          WEIR_PAYLOAD_SIZE_DEFAULT, WEIR_PAYLOAD_SIZE_MAX);
}

static void judge_locks(struct weir_doctor *self, const struct settings *settings)
{
    int64_t wait_s = atoll(settings->values[INNODB_LOCK_WAIT_TIMEOUT]);

    if (wait_s < LOCK_WAIT_S_MIN)
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "locks",
                          "set it to some seconds",
                          "innodb_lock_wait_timeout is %" PRId64
                          ": applications do not wait for a row that is locked",
                          wait_s);
    if (is_off(settings, INNODB_DEADLOCK_DETECT))
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "locks", "set it to ON",
                          "innodb_deadlock_detect is OFF: a deadlock ends when the lock "
                          "timeout is over");
}

static size_t count_findings(const struct weir_doctor *self)
{
    const size_t *counts = self->findings.counts;

    return counts[WEIR_VERDICT_NOTE] + counts[WEIR_VERDICT_WARNING] +
           counts[WEIR_VERDICT_BROKEN];
}

void weir_doctor_check_maria_server(struct weir_doctor *self)
{
    struct settings settings = {.values = {""}};
    size_t before;

    if (!read_settings(self, &settings))
        return;
    judge_version(self, &settings);
    check_innodb(self, &settings);
    before = count_findings(self);
    judge_foreign_keys(self, &settings);
    judge_sql_mode(self, &settings);
    judge_binlog(self, &settings);
    judge_functions(self, &settings);
    judge_packet(self, &settings);
    judge_locks(self, &settings);
    if (count_findings(self) == before)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "settings", "",
                          "strict, foreign keys are checked, packets of %s bytes, row "
                          "locks are waited for for %s s",
                          settings.values[MAX_ALLOWED_PACKET],
                          settings.values[INNODB_LOCK_WAIT_TIMEOUT]);
}

/* ---- rights ------------------------------------------------------------------------ */

enum right { MAY_SELECT = 1, MAY_INSERT = 2, MAY_UPDATE = 4, MAY_DELETE = 8 };
enum { MAY_ALL = MAY_SELECT | MAY_INSERT | MAY_UPDATE | MAY_DELETE };

static const char *const RIGHT_NAMES[] = {"SELECT", "INSERT", "UPDATE", "DELETE"};
enum { RIGHT_COUNT = COUNT_OF(RIGHT_NAMES) };

/* What docs/roles.md grants; `name` is without the prefix. The schema table was read by
 * now. */
struct table {
    const char *name;
    unsigned runtime;
    unsigned producer;
};

static const struct table TABLES[] = {
    {"meta", MAY_SELECT, MAY_SELECT},
    {"queue", MAY_ALL, MAY_SELECT},
    {"subscription", MAY_ALL, 0},
    {"incoming_id", MAY_SELECT | MAY_INSERT, MAY_SELECT | MAY_INSERT},
    {"era_now", MAY_SELECT | MAY_INSERT, MAY_SELECT},
    {"era", MAY_ALL, 0},
    {"incoming", MAY_ALL, MAY_INSERT},
    {"counter", MAY_ALL, 0},
    {"log", MAY_ALL, 0},
    {"aside", MAY_ALL, 0},
    {"ack", MAY_ALL, 0},
    {"lease", MAY_ALL, 0},
    {"member", MAY_ALL, 0},
    {"dead_letter", MAY_ALL, 0},
};
enum { TABLE_COUNT = COUNT_OF(TABLES) };

struct rights {
    struct weir_doctor *doctor;
    unsigned of[TABLE_COUNT]; /* enum right */
};

/* What this user may do with each column, by itself, its roles, and the database's and
 * global grants; a table that it may nothing with is left out. Of deleting it says
 * nothing. A role that may read some columns may read: not every role sees all of a
 * message. */
static const struct weir_sql SQL_RIGHTS = {
    .name = "read rights",
    .text = "SELECT table_name, CAST(max(find_in_set('select', privileges) > 0)"
            " + 2 * min(find_in_set('insert', privileges) > 0)"
            " + 4 * min(find_in_set('update', privileges) > 0) AS SIGNED)"
            " FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name LIKE '{n}\\_%'"
            " GROUP BY table_name",
    .parameters = "",
};

/* Table `name` of ours, with the prefix. */
static const char *full_name(const struct weir_doctor *self, const char *name, char *out)
{
    weir_text_format(out, TABLE_NAME_SIZE, "%s_%s", weir_db_prefix(self->session.db),
                     name);
    return out;
}

/* The number of the table with this full name; -1: not one of ours. */
static int find_table(const struct weir_doctor *self, struct weir_str name)
{
    char full[TABLE_NAME_SIZE];

    for (int i = 0; i < TABLE_COUNT; i++) {
        full_name(self, TABLES[i].name, full);
        if (strlen(full) == name.size && strncasecmp(full, name.data, name.size) == 0)
            return i;
    }
    return -1;
}

/* Nothing is deleted. What another error says is not about rights. */
static bool may_delete(struct weir_doctor *self, const struct table *table)
{
    char text[TABLE_NAME_SIZE + 64];
    struct weir_error error = {0};

    weir_text_format(text, sizeof text, "DELETE FROM {p}_%s WHERE FALSE", table->name);
    return weir_connection_execute_text(self->connection, text, &error) != WEIR_DENIED;
}

struct right_row {
    struct weir_str table;
    uint32_t rights;
};
static const struct weir_column RIGHT[] = {
    COLUMN(struct right_row, table, TEXT),
    COLUMN(struct right_row, rights, INTEGER),
};

static enum weir_status keep_rights(void *state, struct weir_rows *rows,
                                    struct weir_error *error)
{
    struct rights *self = state;
    struct right_row row;
    enum weir_status status = weir_row_read(rows, COLUMNS(RIGHT), &row, error);
    int table = status == WEIR_OK ? find_table(self->doctor, row.table) : -1;

    if (table >= 0)
        self->of[table] = row.rights;
    return status;
}

static bool read_rights(struct weir_doctor *self, struct rights *out)
{
    struct weir_error error = {0};

    if (weir_query_each(self->connection, &SQL_RIGHTS, NO_VALUES, keep_rights, out,
                        &error) != WEIR_OK) {
        weir_doctor_note_failure(self, "rights", &error);
        return false;
    }
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if ((TABLES[i].runtime & MAY_DELETE) != 0 && may_delete(self, &TABLES[i]))
            out->of[i] |= MAY_DELETE;
    return true;
}

/* "UPDATE, DELETE" */
static const char *name_rights(unsigned rights, char *out, size_t size)
{
    size_t length = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < RIGHT_COUNT; i++)
        if ((rights & 1U << i) != 0)
            length += weir_text_format(out + length, size - length, "%s%s",
                                       length > 0 ? ", " : "", RIGHT_NAMES[i]);
    return out;
}

/* Name everything that is missing, table by table. False: nothing is. */
static bool tell_missing(struct weir_doctor *self, const struct rights *rights,
                         bool delivers)
{
    bool told = false;

    for (size_t i = 0; i < TABLE_COUNT; i++) {
        unsigned needed = delivers ? TABLES[i].runtime : TABLES[i].producer;
        unsigned missing = needed & ~rights->of[i];
        char names[64], full[TABLE_NAME_SIZE], remedy[TABLE_NAME_SIZE + 128];

        if (missing == 0)
            continue;
        name_rights(missing, names, sizeof names);
        full_name(self, TABLES[i].name, full);
        weir_text_format(remedy, sizeof remedy, "GRANT %s ON %s (docs/roles.md)", names,
                         full);
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "rights", remedy,
                          "this user lacks %s on %s, to %s", names, full,
                          delivers ? "deliver" : "enqueue");
        told = true;
    }
    return told;
}

/*
 * A role that may change or delete something is meant to deliver, one that may insert to
 * enqueue.
 */
static void judge_rights(struct weir_doctor *self, const struct rights *rights)
{
    unsigned any = 0, all = MAY_ALL;

    for (size_t i = 0; i < TABLE_COUNT; i++) {
        any |= rights->of[i];
        all &= rights->of[i];
    }
    if ((any & (MAY_UPDATE | MAY_DELETE)) != 0) {
        if (!tell_missing(self, rights, true))
            weir_findings_add(&self->findings, WEIR_VERDICT_OK, "rights", "",
                              "this user may enqueue and deliver");
    } else if ((any & MAY_INSERT) != 0) {
        if (!tell_missing(self, rights, false))
            weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "rights",
                              "use another user to deliver (docs/roles.md)",
                              "this user may only enqueue");
    } else if ((all & MAY_SELECT) != 0) {
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "rights",
                          "use another user to deliver (docs/roles.md)",
                          "this user may only read");
    } else {
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "rights",
                          "see docs/roles.md", "this user may not use the tables");
    }
}

/* ---- the tables -------------------------------------------------------------------- */

static const struct weir_sql SQL_FOREIGN_TABLES = {
    .name = "find tables of another engine",
    .text = "SELECT table_name, engine FROM information_schema.tables"
            " WHERE table_schema = DATABASE() AND table_name LIKE '{n}\\_%'"
            " AND engine <> 'InnoDB' AND table_name <> '{n}_backlog'", /* schema.c */
    .parameters = "",
};

struct engine_row {
    struct weir_str table;
    struct weir_str engine;
};
static const struct weir_column ENGINE[] = {
    COLUMN(struct engine_row, table, TEXT),
    COLUMN(struct engine_row, engine, TEXT),
};

static enum weir_status judge_engine(void *state, struct weir_rows *rows,
                                     struct weir_error *error)
{
    struct weir_doctor *self = state;
    struct engine_row row;
    char remedy[TABLE_NAME_SIZE + 64];
    enum weir_status status = weir_row_read(rows, COLUMNS(ENGINE), &row, error);

    if (status != WEIR_OK || find_table(self, row.table) < 0)
        return status;
    weir_text_format(remedy, sizeof remedy, "ALTER TABLE %.*s ENGINE = InnoDB",
                     (int)row.table.size, row.table.data);
    weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "tables", remedy,
                      "%.*s is %.*s: it has no transactions, messages can be lost",
                      (int)row.table.size, row.table.data, (int)row.engine.size,
                      row.engine.data);
    return WEIR_OK;
}

static void check_engines(struct weir_doctor *self)
{
    size_t before = self->findings.counts[WEIR_VERDICT_BROKEN];
    struct weir_error error = {0};

    if (weir_query_each(self->connection, &SQL_FOREIGN_TABLES, NO_VALUES, judge_engine,
                        self, &error) != WEIR_OK)
        weir_doctor_note_failure(self, "tables", &error);
    else if (self->findings.counts[WEIR_VERDICT_BROKEN] == before)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "tables", "",
                          "all are InnoDB");
}

/* trx_started is in the server's own zone. Prepared transactions that outlived their
 * connection have no thread. */
static const struct weir_sql SQL_TRANSACTIONS = {
    .name = "read transactions",
    .text = "SELECT coalesce(timestampdiff(SECOND, convert_tz(min(trx_started), 'SYSTEM',"
            " '+00:00'), utc_timestamp()), 0),"
            " CAST(coalesce(sum(trx_mysql_thread_id = 0), 0) AS SIGNED)"
            " FROM information_schema.innodb_trx"
            " WHERE trx_mysql_thread_id <> connection_id()",
    .parameters = "",
};

static const struct weir_sql SQL_HISTORY = {
    .name = "read history",
    .text = "SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status"
            " WHERE variable_name = 'innodb_history_list_length'",
    .parameters = "",
};

/* By primary key, each end on its own: asked together they read the whole table. */
static const struct weir_sql SQL_SPAN = {
    .name = "read span",
    .text = "SELECT coalesce((SELECT max(id) FROM {p}_log)"
            " - (SELECT min(id) FROM {p}_log) + 1, 0)",
    .parameters = "",
};

struct transactions {
    int64_t oldest_s;
    int64_t prepared;
};
static const struct weir_column TRANSACTIONS[] = {
    COLUMN(struct transactions, oldest_s, INTEGER),
    COLUMN(struct transactions, prepared, INTEGER),
};

static void judge_transactions(struct weir_doctor *self, const struct transactions *found)
{
    char age[WEIR_AGE_SIZE];

    weir_output_age(found->oldest_s * 1000000, age);
    if (found->oldest_s < 1)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "transactions", "",
                          "none is open for long");
    else if (found->oldest_s < OLD_TRANSACTION_S)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "transactions", "",
                          "the oldest is open for %s", age);
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "transactions",
                          "find it in information_schema.innodb_trx and end it",
                          "one is open for %s: what is deleted meanwhile stays", age);
    if (found->prepared > 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "transactions",
                          "see XA RECOVER",
                          "%" PRId64 " prepared: messages in them wait for the commit",
                          found->prepared);
}

/* Others' transactions are shown to users with the right PROCESS. */
static void check_transactions(struct weir_doctor *self)
{
    struct weir_error error = {0};
    struct transactions found;
    enum weir_status status =
        weir_query_one(self->connection, &SQL_TRANSACTIONS, NO_VALUES,
                       INTO(TRANSACTIONS, &found), &error);

    if (status == WEIR_OK)
        judge_transactions(self, &found);
    else if (status == WEIR_DENIED)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "transactions",
                          "GRANT PROCESS ON *.*, to have them looked at",
                          "this user cannot see how long transactions are open");
    else
        weir_doctor_note_failure(self, "transactions", &error);
}

static void check_history(struct weir_doctor *self)
{
    int64_t length = 0;

    if (!weir_doctor_read_integer(self, "history", &SQL_HISTORY, &length))
        return;
    if (length < HISTORY_MANY)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "history", "",
                          "%" PRId64 " %s not purged yet", length,
                          WEIR_NOUN(length, "transaction", "transactions"));
    else
        weir_findings_add(
            &self->findings, WEIR_VERDICT_WARNING, "history",
            "end transactions that are open for long: nothing can be purged",
            "%" PRId64 " %s not purged yet", length,
            WEIR_NOUN(length, "transaction", "transactions"));
}

void weir_doctor_check_maria_tables(struct weir_doctor *self)
{
    struct rights rights = {.doctor = self};

    if (read_rights(self, &rights))
        judge_rights(self, &rights);
    check_engines(self);
    check_transactions(self);
    check_history(self);
    weir_doctor_check_sweep(self, &SQL_SPAN, PASSED_MANY);
    weir_doctor_check_roles(self);
}
