/*
 * driver.c - the driver for SQLite: opening, adopting, settings, and the table.
 *
 * Every connection of ours writes ahead (WAL) and flushes at each commit, and none
 * checkpoints as SQLite does when left alone: before version 3.51.3 a checkpoint can
 * corrupt a log that another connection starts anew in the same moment.
 * sqlite/checkpoint.h does it while it holds the write lock, after commits that find
 * the log long, and sqlite/close_last.h at the end of a process, beside no other
 * connection.
 *
 * A database in memory has no log; there a reader and a committing writer wait for each
 * other. All connections of one weir_db name the same one, which lives as long as one
 * of them does.
 */
#include "db/driver.h"
#include "base/count.h"
#include "base/no_memory.h"
#include "base/noun.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/text.h"
#include "db/clock.h"
#include "db/sqlite/close_last.h"
#include "db/sqlite/create.h"
#include "db/sqlite/link.h"
#include "db/sqlite/statement.h"

/* The first release in which a checkpoint is safe beside a writer. */
enum { VERSION_CHECKPOINT_SAFE = 3051003 };

enum { NAME_SIZE_MAX = 4096, SETTING_SIZE = 32 };

/* For every connection of ours. */
static const char *const SETTINGS[] = {
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
    /* A log that has grown is cut back to this when it starts anew; else its size would
     * ask for a checkpoint for ever. */
    "PRAGMA journal_size_limit=33554432",
};

struct option {
    int name;
    int value;
};
static const struct option OPTIONS[] = {
    {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
    {SQLITE_DBCONFIG_DEFENSIVE, 1}, /* no statement can damage the file */
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
};

/* ---- one setting ------------------------------------------------------------------- */

/* Run a PRAGMA and keep the text of its one value, "" when it gives none. */
static enum weir_status ask(struct weir_sqlite_link *self, const char *pragma,
                            char out[SETTING_SIZE], struct weir_error *error)
{
    sqlite3_stmt *stmt = NULL;
    const char *rest;
    enum weir_status status = weir_sqlite_prepare(self, pragma, 0, &stmt, &rest, error);

    out[0] = '\0';
    if (status == WEIR_OK)
        status = weir_sqlite_step(self, stmt, error);
    if (status == WEIR_OK) {
        const unsigned char *text = sqlite3_column_text(stmt, 0);

        (void)weir_text_format(out, SETTING_SIZE, "%s",
                               text != NULL ? (const char *)text : "");
    }
    (void)sqlite3_finalize(stmt);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- opening ----------------------------------------------------------------------- */

static enum weir_status create_link(const struct weir_link_config *config,
                                    struct weir_sqlite_link **out,
                                    struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_heap_zalloc(config->heap, sizeof *self);

    *out = self;
    if (self == NULL)
        return weir_no_memory(error, "open");
    self->link.driver = &weir_driver_sqlite;
    self->link.config = config;
    atomic_init(&self->link.cancelled, false);
    weir_sqlite_busy_handler_init(&self->busy_handler, &self->link);
    return WEIR_OK;
}

/*
 * What to open. Debian's SQLite takes a name that begins with "file:" for a URI, with
 * options that we do not mean; a path is a path.
 */
static enum weir_status name_database(const struct weir_link_config *config,
                                      char name[NAME_SIZE_MAX], int *flags,
                                      struct weir_error *error)
{
    const char *path = config->url.path;
    bool like_uri = strncmp(path, "file:", 5) == 0;

    *flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (weir_sqlite_in_memory(config)) {
        *flags |= SQLITE_OPEN_URI;
        (void)weir_text_format(name, NAME_SIZE_MAX, "file:/%s?vfs=memdb",
                               config->memory_name);
        return WEIR_OK;
    }
    if (strlen(path) + sizeof "./" > NAME_SIZE_MAX)
        return weir_error_set(error, WEIR_INVALID, "open: the path has %zu %s",
                              strlen(path), WEIR_NOUN(strlen(path), "byte", "bytes"));
    (void)weir_text_format(name, NAME_SIZE_MAX, "%s%s", like_uri ? "./" : "", path);
    return WEIR_OK;
}

static enum weir_status open_handle(struct weir_sqlite_link *self,
                                    struct weir_error *error)
{
    char name[NAME_SIZE_MAX];
    int flags;
    enum weir_status status = name_database(self->link.config, name, &flags, error);

    if (status == WEIR_OK)
        status = weir_sqlite_fault(self, "open", error);
    if (status != WEIR_OK)
        return status;
    if (!weir_sqlite_in_memory(self->link.config) &&
        weir_sqlite_create(name, self->link.config->url.permissions))
        weir_log_event(self->link.config->log, WEIR_LOG_DEBUG, "sqlite.created",
                       "permissions=%#o", (unsigned)self->link.config->url.permissions);
    if (sqlite3_open_v2(name, &self->db, flags, NULL) == SQLITE_OK)
        return WEIR_OK;
    if (self->db == NULL)
        return weir_no_memory(error, "open");
    return weir_sqlite_fail(self, "open", error);
}

static enum weir_status apply_settings(struct weir_sqlite_link *self,
                                       struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    char ignored[SETTING_SIZE];

    (void)sqlite3_extended_result_codes(self->db, 1);
    (void)sqlite3_wal_autocheckpoint(self->db, 0);
    weir_sqlite_busy_handler_install(&self->busy_handler, self->db);
    weir_sqlite_guard_commit(self);
    for (size_t i = 0; i < COUNT_OF(OPTIONS); i++)
        (void)sqlite3_db_config(self->db, OPTIONS[i].name, OPTIONS[i].value, NULL);
    for (size_t i = 0; i < COUNT_OF(SETTINGS) && status == WEIR_OK; i++)
        status = ask(self, SETTINGS[i], ignored, error);
    return status;
}

/*
 * Switch the file to WAL, or find that it is. Two processes that switch a new file at
 * once stand in each other's way, and SQLite then refuses without asking the busy
 * handler, since waiting could last for ever; one of them gets through when both try
 * again.
 */
static enum weir_status choose_wal(struct weir_sqlite_link *self,
                                   struct weir_error *error)
{
    int64_t limit_ns =
        weir_sat_add_i64(weir_clock_now_ns(), self->link.config->connect_timeout_ns);
    char mode[SETTING_SIZE];
    enum weir_status status;

    for (int attempt = 0;; attempt++) {
        int64_t now_ns = weir_clock_now_ns();

        status = ask(self, "PRAGMA journal_mode=WAL", mode, error);
        if (status != WEIR_LOCKED || now_ns >= limit_ns)
            break;
        if (!weir_clock_sleep(weir_sqlite_wait_ns(attempt, now_ns)))
            return weir_error_set(error, WEIR_CANCELLED, "open: cancelled");
    }
    if (status == WEIR_OK && strcmp(mode, "wal") != 0)
        status =
            weir_error_set(error, WEIR_SCHEMA,
                           "open: journal_mode is \"%s\" and cannot be wal here", mode);
    return status;
}

static enum weir_status watch_log(struct weir_sqlite_link *self, struct weir_error *error)
{
    char size[SETTING_SIZE];
    enum weir_status status = ask(self, "PRAGMA page_size", size, error);

    if (status == WEIR_OK)
        weir_sqlite_log_watch(self, strtol(size, NULL, 10));
    return status;
}

/* `{now}` of sql.h: the clock is the environment's, so that a simulation decides it. */
static void tell_time(struct sqlite3_context *context, int count,
                      struct sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_int64(context, weir_clock_wall_us());
}

static enum weir_status set_up(struct weir_sqlite_link *self, struct weir_error *error)
{
    const struct weir_link_config *config = self->link.config;
    enum weir_status status;

    if (sqlite3_threadsafe() == 0)
        return weir_error_set(error, WEIR_SYSTEM, "open: this SQLite has no threads");
    status = open_handle(self, error);
    if (status == WEIR_OK && sqlite3_db_readonly(self->db, "main") == 1)
        status = weir_error_set(error, WEIR_DENIED, "open: the file is read-only");
    self->busy_handler.lock_timeout_ns = config->connect_timeout_ns;
    if (status == WEIR_OK)
        status = apply_settings(self, error);
    if (status == WEIR_OK &&
        sqlite3_create_function_v2(self->db, "weir_now", 0, SQLITE_UTF8, NULL, tell_time,
                                   NULL, NULL, NULL) != SQLITE_OK)
        status = weir_sqlite_fail(self, "open", error);
    if (status == WEIR_OK && !weir_sqlite_in_memory(config))
        status = choose_wal(self, error);
    if (status == WEIR_OK && !weir_sqlite_in_memory(config))
        status = watch_log(self, error);
    if (status == WEIR_OK)
        status = weir_sqlite_prepare_verbs(self, error);
    self->busy_handler.lock_timeout_ns = config->lock_timeout_ns;
    return status;
}

/* Waits for statements of a handler, if any. */
static void close_handle(struct weir_sqlite_link *self)
{
    if (self->retired && !weir_sqlite_in_memory(self->link.config))
        weir_sqlite_close_last(self->db);
    else
        (void)sqlite3_close_v2(self->db);
}

static void sqlite_close(struct weir_link *link)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);

    weir_sqlite_log_fini(self);
    for (size_t i = 0; i < WEIR_SQLITE_VERB_COUNT; i++)
        (void)sqlite3_finalize(self->verbs[i]);
    if (!link->adopted && self->db != NULL) {
        weir_sqlite_abandon(self);
        close_handle(self);
    }
    weir_heap_free(link->config->heap, self);
}

/* One that was lost is closed as it is: its descriptors may belong to a volume that is
 * gone. */
static void sqlite_retire(struct weir_link *link)
{
    weir_sqlite_link(link)->retired = !link->adopted && !link->lost;
}

static enum weir_status sqlite_open(const struct weir_link_config *config,
                                    struct weir_link **out, struct weir_error *error)
{
    struct weir_sqlite_link *self = NULL;
    enum weir_status status = create_link(config, &self, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = set_up(self, error);
    if (status == WEIR_OK) {
        weir_log_event(config->log, WEIR_LOG_DEBUG, "sqlite.opened", "version=%s",
                       sqlite3_libversion());
        *out = &self->link;
        self = NULL;
    }
    if (self != NULL)
        sqlite_close(&self->link);
    return status;
}

/* ---- adopting ---------------------------------------------------------------------- */

/* How many pages of log make the application's connection checkpoint; 0: it never does.
 * There is no function that tells, but a PRAGMA without a value only reads. No fault of
 * a test here: what fails is only that we do not warn. */
static int autocheckpoint_pages(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    int pages = 0;

    if (sqlite3_prepare_v2(db, "PRAGMA wal_autocheckpoint", -1, &stmt, NULL) ==
            SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        pages = sqlite3_column_int(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return pages;
}

/* Once in a process, since applications adopt for every transaction; a log without a
 * reader does not count. */
static void warn_of_checkpoints(const struct weir_log *log, sqlite3 *db)
{
    static _Atomic bool warned;
    int pages;

    if (atomic_load(&warned) || sqlite3_libversion_number() >= VERSION_CHECKPOINT_SAFE ||
        !weir_log_wants(log, WEIR_LOG_WARNING))
        return;
    pages = autocheckpoint_pages(db);
    if (pages == 0 || atomic_exchange(&warned, true))
        return;
    weir_log_event(
        log, WEIR_LOG_WARNING, "sqlite.adopted_checkpoints",
        "version=%s wal_autocheckpoint=%d advice=\"a checkpoint beside a writer "
        "can corrupt the database before 3.51.3: set wal_autocheckpoint=0\"",
        sqlite3_libversion(), pages);
}

static enum weir_status sqlite_adopt(const struct weir_link_config *config, void *native,
                                     struct weir_link **out, struct weir_error *error)
{
    struct weir_sqlite_link *self = NULL;
    enum weir_status status;

    *out = NULL;
    if (native == NULL)
        return weir_error_set(error, WEIR_INVALID, "the handle is NULL");
    status = create_link(config, &self, error);
    if (status != WEIR_OK)
        return status;
    self->db = native;
    self->link.adopted = true;
    warn_of_checkpoints(config->log, self->db);
    *out = &self->link;
    return WEIR_OK;
}

/* ---- the rest ---------------------------------------------------------------------- */

static void *sqlite_native(struct weir_link *link)
{
    return weir_sqlite_link(link)->db;
}

static void sqlite_cancel(struct weir_link *link)
{
    atomic_store(&link->cancelled, true);
    sqlite3_interrupt(weir_sqlite_link(link)->db);
}

static enum weir_status sqlite_clock(struct weir_link *link, int64_t *out_us,
                                     struct weir_error *error)
{
    (void)link;
    (void)error;
    *out_us = weir_clock_wall_us();
    return WEIR_OK;
}

/* By the numbers that PRAGMA synchronous gives. */
static const char *const SYNCHRONOUS[] = {"off", "normal", "full", "extra"};

static void report_synchronous(const char *mode, const char *level,
                               weir_finding_fn report, void *state)
{
    /* The removal of a journal is the commit, and only EXTRA flushes the folder. */
    unsigned needed = strcmp(mode, "delete") == 0 ? 3 : 2;
    unsigned found = (unsigned)(level[0] - '0');

    if (found > 3 || found >= needed)
        return;
    report(state, &(struct weir_finding){.setting = "synchronous",
                                         .found = SYNCHRONOUS[found],
                                         .needed = SYNCHRONOUS[needed]});
}

static enum weir_status sqlite_durability(struct weir_link *link, weir_finding_fn report,
                                          void *state, struct weir_error *error)
{
    struct weir_sqlite_link *self = weir_sqlite_link(link);
    const char *file = sqlite3_db_filename(self->db, "main");
    bool adopted_memory = link->adopted && (file == NULL || *file == '\0');
    enum weir_status status = weir_sqlite_enter(self, error);
    char mode[SETTING_SIZE];
    char level[SETTING_SIZE];

    if (status != WEIR_OK)
        return status;
    if (adopted_memory || (!link->adopted && weir_sqlite_in_memory(link->config))) {
        report(state, &(struct weir_finding){.setting = "memory database",
                                             .found = "yes",
                                             .needed = "a file"});
        return WEIR_OK;
    }
    status = ask(self, "PRAGMA main.journal_mode", mode, error);
    if (status == WEIR_OK)
        status = ask(self, "PRAGMA main.synchronous", level, error);
    if (status != WEIR_OK)
        return status;
    if (strcmp(mode, "off") == 0 || strcmp(mode, "memory") == 0)
        report(state, &(struct weir_finding){
                          .setting = "journal_mode", .found = mode, .needed = "wal"});
    report_synchronous(mode, level, report, state);
    return WEIR_OK;
}

const struct weir_driver weir_driver_sqlite = {
    .engine = WEIR_SQLITE,
    .traits = {.title = "SQLite",
               .now = "CAST(strftime('%s','now') AS INTEGER) * 1000000",
               .in_process = true,
               .one_writer = true},
    .open = sqlite_open,
    .adopt = sqlite_adopt,
    .close = sqlite_close,
    .retire = sqlite_retire,
    .native = sqlite_native,
    .exec = weir_sqlite_exec,
    .prepare = weir_sqlite_statement_prepare,
    .unprepare = weir_sqlite_statement_unprepare,
    .run = weir_sqlite_statement_run,
    .next = weir_sqlite_statement_next,
    .read = weir_sqlite_statement_read,
    .finish = weir_sqlite_statement_finish,
    .run_many = weir_sqlite_statement_run_many,
    .run_steps = weir_sqlite_statement_run_steps,
    .begin = weir_sqlite_begin,
    .commit = weir_sqlite_commit,
    .rollback = weir_sqlite_rollback,
    .transaction = weir_sqlite_transaction,
    .lend = weir_sqlite_lend,
    .reclaim = weir_sqlite_reclaim,
    .cancel = sqlite_cancel,
    .clock = sqlite_clock,
    .durability = sqlite_durability,
};
