/*
 * doctor_sqlite.c - see doctor.h.
 *
 * The file is only looked at by its name: opening and closing it beside SQLite would
 * drop the locks of this process.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quote.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "db/db.h"
#include "db/sqlite/space.h"

/* The first release in which a checkpoint is safe beside a writer. */
enum { VERSION_CHECKPOINT_SAFE = 3051003 };

enum { PATH_SIZE = 4096, MEBIBYTE = 1 << 20, WAL_MANY_MIB = 256, CHECKED_MIB_MAX = 512 };
enum { PASSED_MANY = 1000000 };

/* By primary key, each end on its own: asked together they read the whole table. */
static const struct weir_sql SQL_SPAN = {
    .name = "read span",
    .text = "SELECT (SELECT max(id) FROM {p}_log) - (SELECT min(id) FROM {p}_log) + 1",
    .parameters = "",
};

void weir_doctor_check_sqlite_library(struct weir_doctor *self)
{
    if (sqlite3_libversion_number() >= VERSION_CHECKPOINT_SAFE)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "sqlite", "", "library %s",
                          sqlite3_libversion());
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "sqlite",
                          "let other programs not checkpoint this file",
                          "library %s; before 3.51.3 weir checkpoints with care",
                          sqlite3_libversion());
}

static void check_rights(struct weir_doctor *self, const char *path)
{
    char folder[PATH_SIZE];
    char *slash;

    weir_text_format(folder, sizeof folder, "%s", path);
    slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    if (access(path, R_OK | W_OK) != 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "rights",
                          "change owner or mode of the file", "%s cannot be written",
                          path);
    else if (access(slash != NULL ? folder : ".", W_OK | X_OK) != 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "rights",
                          "change owner or mode of the folder",
                          "the folder of %s cannot be written", path);
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "rights", "",
                          "file and folder can be written");
}

static void check_wal(struct weir_doctor *self, const char *path)
{
    char name[PATH_SIZE];
    struct stat found;
    int64_t mib;

    weir_text_format(name, sizeof name, "%s-wal", path);
    mib = stat(name, &found) == 0 ? (int64_t)found.st_size / MEBIBYTE : 0;
    if (mib < WAL_MANY_MIB)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "write-ahead log", "",
                          "%" PRId64 " MiB", mib);
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "write-ahead log",
                          "end readers that stay open: nothing can be checkpointed",
                          "%" PRId64 " MiB", mib);
}

static void check_space(struct weir_doctor *self)
{
    struct weir_sqlite_space space;
    struct weir_error error = {0};
    int64_t all;
    int64_t unused;

    if (weir_sqlite_space_read(self->connection, &space, &error) != WEIR_OK) {
        weir_doctor_note_failure(self, "space", &error);
        return;
    }
    all = space.pages * space.page_size / MEBIBYTE;
    unused = space.free_pages * space.page_size / MEBIBYTE;
    if (!weir_sqlite_space_is_wasted(&space) || space.incremental)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "space", "",
                          "%" PRId64 " of %" PRId64 " MiB are free%s", unused, all,
                          space.incremental ? " and are given back" : "");
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "space",
                          "new messages use it; VACUUM gives it back (operations.md)",
                          "%" PRId64 " of %" PRId64 " MiB are free", unused, all);
}

/* Names the first damage that it finds. */
static const struct weir_sql SQL_CHECK = {
    .name = "check file",
    .text = "SELECT quick_check FROM pragma_quick_check LIMIT 1",
    .parameters = "",
};

static void note_damage(struct weir_doctor *self, const char *text)
{
    weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "file",
                      "restore it from a backup, or recover it: sqlite3 FILE .recover",
                      "the file is damaged: %s", text);
}

struct damage {
    struct weir_str text; /* "ok": none */
};
static const struct weir_column DAMAGE[] = {COLUMN(struct damage, text, TEXT)};

static enum weir_status judge_pages(void *state, struct weir_rows *rows,
                                    struct weir_error *error)
{
    struct damage found;
    struct weir_doctor *self = state;
    struct weir_quote shown;
    enum weir_status status = weir_row_read(rows, COLUMNS(DAMAGE), &found, error);

    if (status == WEIR_OK && !weir_str_equal(found.text, weir_str("ok")))
        note_damage(self, weir_quote_str(&shown, found.text));
    else if (status == WEIR_OK)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "file", "",
                          "no page is damaged");
    return status;
}

/* Every page is read, so a large file is left to an operator. */
static void check_pages(struct weir_doctor *self)
{
    struct weir_error error = {0};

    if (weir_query_one(self->connection, &SQL_CHECK, NO_VALUES, judge_pages, self,
                       &error) != WEIR_OK)
        note_damage(self, error.text);
}

static void check_damage(struct weir_doctor *self, const char *path)
{
    struct stat found;

    if (stat(path, &found) == 0 && found.st_size / MEBIBYTE > CHECKED_MIB_MAX)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "file",
                          "sqlite3 FILE 'PRAGMA quick_check'",
                          "not checked for damage: larger than %d MiB", CHECKED_MIB_MAX);
    else
        check_pages(self);
}

void weir_doctor_check_sqlite_file(struct weir_doctor *self)
{
    const char *path = weir_db_config(self->session.db)->url.path;

    if (self->schema_fits)
        weir_doctor_check_sweep(self, &SQL_SPAN, PASSED_MANY);
    if (strcmp(path, ":memory:") == 0)
        return;
    check_damage(self, path);
    check_rights(self, path);
    check_wal(self, path);
    check_space(self);
}
