/*
 * doctor.c - `weir doctor`: is this database fit for use, and what to do if not.
 *
 * A check that fails ends only those that build on it. Nothing is changed.
 */
#include "cli/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

#include "base/noun.h"
#include "base/text.h"
#include "db/clock.h"
#include "db/db.h"
#include "outbox/log/log.h"
#include "outbox/queue/catalog.h"
#include "outbox/schema.h"
#include "weir/inspect.h"
#include "weir/time.h"
#include "weir/version.h"

#define CLOCK_WARNING_US INT64_C(2000000)
#define PROCESS_CLOCK_US_MAX INT64_C(5000000) /* as processes warn of it themselves */

static int run(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_doctor = {
    .name = "doctor",
    .summary = "check a database, and say what to do",
    .usage = "[OPTION...]",
    .details =
        "Looks at everything that decides whether messages are safe and get\n"
        "through: can the database be reached, versions, tables, rights, settings\n"
        "that decide whether a commit survives a crash, clocks, old transactions,\n"
        "the write-ahead log, queues without delivery. Changes nothing.\n"
        "\n"
        "Ends with 1 when something is broken; warnings and notes end with 0.\n",
    .uses_db = true,
    .run = run,
};

void weir_doctor_note_failure(struct weir_doctor *self, const char *check,
                              const struct weir_error *error)
{
    weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, check, "", "%s",
                      error->text);
}

bool weir_doctor_read(struct weir_doctor *self, const char *check,
                      const struct weir_sql *sql, const struct weir_column *columns,
                      size_t column_count, void *row)
{
    struct weir_row_into into = {columns, column_count, row, NULL, 0};
    struct weir_error error = {0};

    if (weir_query_one(self->connection, sql, NO_VALUES, weir_row_read_into, &into,
                       &error) == WEIR_OK)
        return true;
    weir_doctor_note_failure(self, check, &error);
    return false;
}

bool weir_doctor_read_integer(struct weir_doctor *self, const char *check,
                              const struct weir_sql *sql, int64_t *out)
{
    struct weir_error error = {0};

    if (weir_connection_query_integer(self->connection, sql, NO_VALUES, out, &error) ==
        WEIR_OK)
        return true;
    weir_doctor_note_failure(self, check, &error);
    return false;
}

/* ---- reaching it ------------------------------------------------------------------- */

static const char *remedy_of(const struct weir_error *error)
{
    switch (error->status) {
    case WEIR_LOST:
        return "start the server, or correct --db";
    case WEIR_DENIED:
        return "check user, password and rights (docs/roles.md)";
    case WEIR_SCHEMA: /* without a code: it was not the server that refused */
        return error->native_code == 0 && error->sqlstate[0] == '\0'
                   ? "use another server"
                   : "make the database, or correct its name in --db";
    default:
        return "correct --db";
    }
}

static void check_reachable(struct weir_doctor *self)
{
    struct weir_findings *findings = &self->findings;
    struct weir_error error = {0};
    int64_t begin_ns = weir_clock_now_ns();
    enum weir_status status;

    if (weir_session_file_missing(&self->session)) {
        weir_findings_add(findings, WEIR_VERDICT_BROKEN, "database", "run 'weir migrate'",
                          "%s does not exist", self->session.name);
        return;
    }
    status = weir_db_acquire(self->session.db, &self->connection, &error);
    if (status != WEIR_OK)
        weir_findings_add(findings, WEIR_VERDICT_BROKEN, "database", remedy_of(&error),
                          "%s", error.text);
    else
        weir_findings_add(findings, WEIR_VERDICT_OK, "database", "",
                          "%s, reached in %.1f ms", self->session.name,
                          (double)(weir_clock_now_ns() - begin_ns) / 1e6);
}

/* ---- the schema -------------------------------------------------------------------- */

static void check_schema(struct weir_doctor *self)
{
    struct weir_findings *findings = &self->findings;
    uint32_t known = (uint32_t)weir_outbox_schema.count;
    struct weir_schema_version version = {0};
    struct weir_outbox_log log;
    struct weir_error error = {0};
    enum weir_status status =
        weir_schema_read(&weir_outbox_schema, self->connection, &version, &error);

    if (status != WEIR_OK) {
        weir_findings_add(findings, WEIR_VERDICT_BROKEN, "schema",
                          status == WEIR_DENIED ? "see docs/roles.md" : "", "%s",
                          error.text);
        return;
    }
    self->schema_known = version.number >= known;
    if (version.number < known)
        weir_findings_add(findings, WEIR_VERDICT_BROKEN, "schema", "run 'weir migrate'",
                          version.number == 0 ? "no tables with prefix '%s'"
                                              : "prefix '%s': older than this program",
                          weir_db_prefix(self->session.db));
    else if (weir_schema_check(&weir_outbox_schema, self->connection, &error) != WEIR_OK)
        weir_findings_add(findings, WEIR_VERDICT_BROKEN, "schema", "install a newer weir",
                          "%s", error.text);
    else if (weir_outbox_log_open(&log, self->connection, &error) != WEIR_OK)
        weir_findings_add(findings, WEIR_VERDICT_BROKEN, "schema",
                          "restored, renamed or moved by pg_upgrade: docs/operations.md",
                          "%s", error.text);
    else
        self->schema_fits = true;
    if (self->schema_fits)
        weir_findings_add(
            findings, version.number == known ? WEIR_VERDICT_OK : WEIR_VERDICT_NOTE,
            "schema", version.number == known ? "" : "a newer weir has migrated it",
            "%" PRIu32 "; this program knows %" PRIu32, version.number, known);
}

/* ---- settings and clock ------------------------------------------------------------ */

static void note_setting(void *state, const struct weir_finding *finding)
{
    struct weir_doctor *self = state;
    char remedy[128];

    weir_text_format(remedy, sizeof remedy, "set it to %s", finding->needed);
    weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "durability", remedy,
                      "%s is %s: a crash can lose commits", finding->setting,
                      finding->found);
}

static void check_durability(struct weir_doctor *self)
{
    size_t before = self->findings.counts[WEIR_VERDICT_WARNING];
    struct weir_error error = {0};

    if (weir_connection_check_durability(self->connection, note_setting, self, &error) !=
        WEIR_OK)
        weir_doctor_note_failure(self, "durability", &error);
    else if (self->findings.counts[WEIR_VERDICT_WARNING] == before)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "durability", "",
                          "commits survive a crash");
}

/* Half of the round trip is the way there. */
static void check_clock(struct weir_doctor *self)
{
    int64_t begin_us = weir_clock_wall_us();
    int64_t theirs_us = 0, apart_us;
    struct weir_error error = {0};
    enum weir_status status = weir_connection_clock(self->connection, &theirs_us, &error);
    int64_t end_us = weir_clock_wall_us();

    if (status != WEIR_OK) {
        weir_doctor_note_failure(self, "clock", &error);
        return;
    }
    apart_us = theirs_us - (begin_us + (end_us - begin_us) / 2);
    if (apart_us > -CLOCK_WARNING_US && apart_us < CLOCK_WARNING_US)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "clock", "",
                          "the database's differs by %.3f s", (double)apart_us / 1e6);
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "clock",
                          "let both machines follow a time server",
                          "the database is %.1f s %s this machine",
                          (double)(apart_us < 0 ? -apart_us : apart_us) / 1e6,
                          apart_us < 0 ? "behind" : "ahead of");
}

/* ---- what the tables say ----------------------------------------------------------- */

struct served {
    const char *queue;
    bool alive;
};

static void note_process(void *state, const struct weir_process_info *info)
{
    struct served *served = state;

    (void)info;
    served->alive = true;
}

static void judge_queue(void *state, const struct weir_queue_info *info)
{
    struct weir_doctor *self = state;
    struct weir_findings *findings = &self->findings;
    struct served served = {.queue = info->name};
    char age[WEIR_AGE_SIZE];
    char remedy[160];

    self->waiting += info->waiting;
    self->retains = self->retains || info->retain_us > 0;
    if (info->dead_letters > 0)
        weir_findings_add(findings, WEIR_VERDICT_NOTE, "dead letters",
                          "see them: weir dlq list --queue QUEUE",
                          "%" PRId64 " of queue '%s' %s for a decision",
                          info->dead_letters, info->name,
                          WEIR_NOUN(info->dead_letters, "waits", "wait"));
    if (info->aside > 0)
        weir_findings_add(findings, WEIR_VERDICT_NOTE, "set aside",
                          "see which partition fails: weir status QUEUE",
                          "%" PRId64 " %s of queue '%s', for a slow partition",
                          info->aside, WEIR_NOUN(info->aside, "message", "messages"),
                          info->name);
    weir_doctor_judge_holder(self, info);
    if (info->waiting == 0)
        return;
    if (info->paused) {
        weir_text_format(remedy, sizeof remedy, "weir queue resume %s", info->name);
        weir_findings_add(findings, WEIR_VERDICT_NOTE, "delivery", remedy,
                          "queue '%s' is paused; %" PRId64 " %s", info->name,
                          info->waiting, WEIR_NOUN(info->waiting, "waits", "wait"));
        return;
    }
    if (weir_outbox_read_processes(self->session.outbox, info->name, note_process,
                                   &served, NULL) != WEIR_OK)
        return;
    if (served.alive)
        weir_doctor_judge_heads(self, info);
    else
        weir_findings_add(findings, WEIR_VERDICT_WARNING, "delivery",
                          "start a process that delivers it",
                          "queue '%s': %" PRId64 " %s, the oldest for %s, no process "
                          "delivers",
                          info->name, info->waiting,
                          WEIR_NOUN(info->waiting, "waits", "wait"),
                          weir_output_age(info->oldest_age_us, age));
}

/* ---- processes --------------------------------------------------------------------- */

enum { PROCESSES_MAX = 64, PROCESS_NAME_SIZE = 128 };

struct process_list {
    struct weir_doctor *doctor;
    size_t count;
    size_t by_lock;
    char names[PROCESSES_MAX][PROCESS_NAME_SIZE]; /* each is judged once */
};

static bool is_known(struct process_list *self, const char *name)
{
    size_t known = self->count < PROCESSES_MAX ? self->count : PROCESSES_MAX;

    for (size_t i = 0; i < known; i++) {
        if (strncmp(self->names[i], name, PROCESS_NAME_SIZE - 1) == 0)
            return true;
    }
    if (known < PROCESSES_MAX)
        weir_text_format(self->names[known], PROCESS_NAME_SIZE, "%s", name);
    return false;
}

static void judge_clock(struct weir_findings *findings,
                        const struct weir_process_info *info)
{
    int64_t off_us = info->clock_off_us;

    if (off_us < -PROCESS_CLOCK_US_MAX || off_us > PROCESS_CLOCK_US_MAX)
        weir_findings_add(findings, WEIR_VERDICT_WARNING, "processes",
                          "let its machine follow a time server",
                          "the clock of process '%s' is %.1f s %s the database's",
                          info->name, (double)(off_us < 0 ? -off_us : off_us) / 1e6,
                          off_us < 0 ? "behind" : "ahead of");
}

static void judge_process(void *state, const struct weir_process_info *info)
{
    struct process_list *self = state;
    struct weir_findings *findings = &self->doctor->findings;

    if (is_known(self, info->name))
        return;
    self->count++;
    self->by_lock += info->alive_by == WEIR_ALIVE_BY_LOCK;
    judge_clock(findings, info);
    if (info->name_used_twice)
        weir_findings_add(findings, WEIR_VERDICT_WARNING, "processes",
                          "give each process a name of its own",
                          "two live processes have the name '%s'", info->name);
    if (info->library_is_older)
        weir_findings_add(findings, WEIR_VERDICT_NOTE, "processes",
                          "upgrade it when all others are",
                          "process '%s' has weir %s, this is %s", info->name,
                          info->library[0] != '\0' ? info->library
                                                   : "of a version that it does not say",
                          weir_version_string());
}

static void check_processes(struct weir_doctor *self)
{
    struct process_list process_list = {.doctor = self};
    struct weir_error error = {0};
    size_t warnings = self->findings.counts[WEIR_VERDICT_WARNING];

    if (weir_outbox_read_processes(self->session.outbox, NULL, judge_process,
                                   &process_list, &error) != WEIR_OK)
        weir_doctor_note_failure(self, "processes", &error);
    else if (self->findings.counts[WEIR_VERDICT_WARNING] == warnings)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "processes", "",
                          "%zu alive, %zu of them known by a lock", process_list.count,
                          process_list.by_lock);
}

static void note_flaw(void *state, const char *text)
{
    struct weir_doctor *self = state;

    weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "queues",
                      "another program has changed it: correct the row", "%s", text);
}

/* What is out of range is refused by producers and processes alike. */
static void check_rows_of_queues(struct weir_doctor *self)
{
    size_t before = self->findings.counts[WEIR_VERDICT_BROKEN];
    struct weir_error error = {0};

    if (weir_catalog_find_flaws(self->connection, note_flaw, self, &error) != WEIR_OK)
        weir_doctor_note_failure(self, "queues", &error);
    else if (self->findings.counts[WEIR_VERDICT_BROKEN] == before)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "queues", "",
                          "all values of their rows are in range");
}

static void check_queues(struct weir_doctor *self)
{
    struct weir_outbox_options options;
    struct weir_error error = {0};
    size_t warnings = self->findings.counts[WEIR_VERDICT_WARNING];

    weir_outbox_options_init(&options);
    options.db = self->session.db;
    if (weir_outbox_create(&options, &self->session.outbox, &error) != WEIR_OK ||
        weir_outbox_read_queues(self->session.outbox, judge_queue, self, &error) !=
            WEIR_OK)
        weir_doctor_note_failure(self, "delivery", &error);
    else if (self->findings.counts[WEIR_VERDICT_WARNING] == warnings)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "delivery", "",
                          "every backlog has a process that delivers it");
    if (self->session.outbox != NULL)
        check_processes(self);
}

/* By some index, or row by row, and no more than it takes to judge. */
static const struct weir_sql SQL_ROWS = {
    .name = "count rows",
    .text = "SELECT count(*) FROM (SELECT 1 FROM {p}_log LIMIT {1}) counted",
    .parameters = "i",
};

void weir_doctor_check_sweep(struct weir_doctor *self, const struct weir_sql *span,
                             int64_t most)
{
    struct weir_error error = {0};
    int64_t rows = 0;
    int64_t passed;

    if (!weir_doctor_read_integer(self, "sweep", span, &rows))
        return;
    if (rows > self->waiting &&
        weir_connection_query_integer(self->connection, &SQL_ROWS,
                                      VALUES(weir_integer(self->waiting + most + 1)),
                                      &rows, &error) != WEIR_OK) {
        weir_doctor_note_failure(self, "sweep", &error);
        return;
    }
    passed = rows > self->waiting ? rows - self->waiting : 0;
    if (self->retains)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "sweep", "",
                          "about %" PRId64 " delivered messages, some kept by --retain",
                          passed);
    else if (passed <= most)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "sweep", "",
                          "about %" PRId64 " delivered messages not removed yet", passed);
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "sweep",
                          "it runs in processes that deliver: is one alive?",
                          "more than %" PRId64 " delivered messages not removed yet",
                          most);
}

/* ---- all of it --------------------------------------------------------------------- */

/* What is the engine's own. NULL: nothing. */
struct checks {
    void (*library)(struct weir_doctor *self); /* before it is connected */
    void (*server)(struct weir_doctor *self);
    void (*hole)(struct weir_doctor *self);       /* when they are there */
    void (*tables)(struct weir_doctor *self);     /* only when they fit */
    void (*executions)(struct weir_doctor *self); /* likewise */
    void (*file)(struct weir_doctor *self);
};

static const struct checks CHECKS[] = {
    [WEIR_SQLITE] = {.library = weir_doctor_check_sqlite_library,
                     .executions = weir_doctor_check_executions,
                     .file = weir_doctor_check_sqlite_file},
    [WEIR_POSTGRESQL] = {.server = weir_doctor_check_pg_server,
                         .hole = weir_doctor_check_pg_hole,
                         .tables = weir_doctor_check_pg_tables,
                         .executions = weir_doctor_check_executions},
    [WEIR_MARIADB] = {.server = weir_doctor_check_maria_server,
                      .tables = weir_doctor_check_maria_tables},
};

static void check_all(struct weir_doctor *self)
{
    const struct checks *checks = &CHECKS[weir_db_engine(self->session.db)];

    if (checks->library != NULL)
        checks->library(self);
    check_reachable(self);
    if (self->connection == NULL)
        return;
    if (checks->server != NULL)
        checks->server(self);
    check_schema(self);
    if (self->schema_known && checks->hole != NULL)
        checks->hole(self);
    check_durability(self);
    check_clock(self);
    if (self->schema_fits)
        check_rows_of_queues(self);
    if (self->schema_fits)
        check_queues(self);
    if (self->schema_fits && checks->tables != NULL)
        checks->tables(self);
    if (self->schema_fits && checks->executions != NULL)
        checks->executions(self);
    if (checks->file != NULL)
        checks->file(self);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_doctor doctor = {.connection = NULL};
    int code = weir_command_parse(self, argc, argv, NULL, 0);

    if (code >= 0)
        return code;
    weir_findings_init(&doctor.findings);
    code = weir_session_open(&doctor.session, self, WEIR_SESSION_DATABASE, NULL);
    if (code == WEIR_EXIT_DONE) {
        check_all(&doctor);
        weir_db_release(doctor.session.db, doctor.connection);
        code = weir_findings_print(&doctor.findings, self);
    }
    weir_session_close(&doctor.session);
    weir_findings_fini(&doctor.findings);
    return code;
}
