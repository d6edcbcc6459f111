/*
 * schema.c - the tables of the execution engine.
 *
 *   execution    one row per execution: its state, its holder, all its times
 *   input        what it was given
 *   result       what came of it; both are rows of their own, written once: a row that
 *                changes at every step of its life should be small
 *   passed       results of others that a member of a flow is given, copied
 *   attempt      attempts that have ended (the running one is in the execution's row)
 *   tag          key and value, for filters
 *   term         names of lanes, sets of capabilities, policies, each under a small
 *                number (dictionary.h). Rows are added, never changed, so processes
 *                remember them
 *   idempotency  keys that were used, what for, and until when that counts
 *
 *   flow, edge, edge_group                 dependencies
 *   suspension, waitpoint, signal, secret  waiting for the world
 *   budget, usage, spent                   limits
 *
 * A row of `execution` is found by `no` (its place in time) or by its uuid. Everything
 * that waits for a time has a partial index by that time, so a reconciler reads what is
 * due and nothing else, and the next due time is the first entry. A ready execution is
 * in exactly one of them, in the order in which it is to be claimed. What is over is in
 * none but that of retention. Statements must repeat the conditions of these indexes
 * word by word, or SQLite does not use them; store.h has them.
 *
 * Times are microseconds since 1970 in an integer, by the database's clock; 0 is none.
 * State, hold and pending are the numbers of state.h.
 */
#include "execution/schema.h"

#include "base/count.h"
#include "execution/events.h"
#include "execution/store/store.h"

/*
 * Written once for both engines: their types differ in name only.
 *
 * ID     the row's own number, never used twice
 * HOT    of a table whose rows change all the time
 * KEYED  of a table whose rows are small and are found by the primary key
 */
#define TABLES(ID, INT, BIG, SMALL, BYTES, HOT, KEYED)                                   \
    /* A text of 4 KiB is too long for an index: the digest stands for it. */            \
    "CREATE TABLE {p}_term ("                                                            \
    " id " ID ","                                                                        \
    " kind " SMALL " NOT NULL,"                                                          \
    " digest " BYTES " NOT NULL,"                                                        \
    " text TEXT NOT NULL,"                                                               \
    " UNIQUE (kind, digest))",                                                           \
        "CREATE TABLE {p}_execution ("                                                   \
        " no " ID ","                                                                    \
        " uuid " BYTES " NOT NULL UNIQUE,"                                               \
        " digest " BYTES " NOT NULL," /* of what was submitted */                        \
        " part " INT " NOT NULL,"                                                        \
        " state " SMALL " NOT NULL,"                                                     \
        " hold " SMALL " NOT NULL,"                                                      \
        " pending " SMALL " NOT NULL,"                                                   \
        " attempt_type " SMALL " NOT NULL DEFAULT 0,"                                    \
        " percent " SMALL " NOT NULL DEFAULT -1," /* the newest report of a worker */    \
        " budgeted " SMALL " NOT NULL DEFAULT 0," /* has rows in `spent` */              \
        " lane " INT " NOT NULL,"                                                        \
        " capset " INT " NOT NULL,"                                                      \
        " policy " INT " NOT NULL,"                                                      \
        " priority " INT " NOT NULL,"                                                    \
        " attempts " INT " NOT NULL DEFAULT 0,"                                          \
        " retries " BIG " NOT NULL DEFAULT 0,"                                           \
        " reclaims " BIG " NOT NULL DEFAULT 0,"                                          \
        " replays " BIG " NOT NULL DEFAULT 0,"                                           \
        " epoch " BIG " NOT NULL DEFAULT 0,"                                             \
        " settled_epoch " BIG " NOT NULL DEFAULT 0,"                                     \
        " flow " BIG " NOT NULL," /* flow.no; 0: none */                                 \
        " created_us " BIG " NOT NULL,"                                                  \
        " due_us " BIG " NOT NULL,"                                                      \
        " lease_us " BIG " NOT NULL DEFAULT 0,"                                          \
        " attempt_deadline_us " BIG " NOT NULL DEFAULT 0,"                               \
        " deadline_us " BIG " NOT NULL,"                                                 \
        " claimed_us " BIG " NOT NULL DEFAULT 0,"                                        \
        " started_us " BIG " NOT NULL DEFAULT 0,"                                        \
        " ended_us " BIG " NOT NULL DEFAULT 0,"                                          \
        " namespace TEXT NOT NULL,"                                                      \
        " kind TEXT NOT NULL,"                                                           \
        " worker TEXT NOT NULL DEFAULT '',"                                              \
        " instance TEXT NOT NULL DEFAULT '',"                                            \
        " failure TEXT NOT NULL DEFAULT '',"                                             \
        " progress_text TEXT NOT NULL DEFAULT '')" HOT,                                  \
        "CREATE INDEX {p}_execution_ready ON {p}_execution"                              \
        " (lane, capset, priority DESC, no) WHERE " WEIR_IS_READY,                       \
        "CREATE INDEX {p}_execution_due ON {p}_execution (due_us, no)"                   \
        " WHERE " WEIR_IS_DELAYED,                                                       \
        "CREATE INDEX {p}_execution_lease ON {p}_execution (lease_us, no)"               \
        " WHERE " WEIR_IS_ACTIVE,                                                        \
        "CREATE INDEX {p}_execution_attempt ON {p}_execution"                            \
        " (attempt_deadline_us, no) WHERE " WEIR_HAS_ATTEMPT_DEADLINE,                   \
        "CREATE INDEX {p}_execution_deadline ON {p}_execution (deadline_us, no)"         \
        " WHERE " WEIR_HAS_DEADLINE,                                                     \
        "CREATE INDEX {p}_execution_ended ON {p}_execution (ended_us, no)"               \
        " WHERE " WEIR_IS_OVER,                                                          \
        "CREATE INDEX {p}_execution_flow ON {p}_execution (flow, no) WHERE flow > 0",    \
        "CREATE TABLE {p}_input (no " BIG " PRIMARY KEY, bytes " BYTES " NOT NULL)",     \
        "CREATE TABLE {p}_result (no " BIG " PRIMARY KEY, bytes " BYTES " NOT NULL)",    \
        "CREATE TABLE {p}_attempt ("                                                     \
        " no " BIG " NOT NULL,"                                                          \
        " number " INT " NOT NULL,"                                                      \
        " type " SMALL " NOT NULL,"                                                      \
        " outcome " SMALL " NOT NULL,"                                                   \
        " epoch " BIG " NOT NULL,"                                                       \
        " started_us " BIG " NOT NULL,"                                                  \
        " ended_us " BIG " NOT NULL,"                                                    \
        " worker TEXT NOT NULL,"                                                         \
        " instance TEXT NOT NULL,"                                                       \
        " failure TEXT NOT NULL,"                                                        \
        " PRIMARY KEY (no, number))" KEYED,                                              \
        "CREATE TABLE {p}_tag ("                                                         \
        " no " BIG " NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"                  \
        " PRIMARY KEY (no, key))" KEYED,                                                 \
        "CREATE INDEX {p}_tag_by_value ON {p}_tag (key, value, no)",                     \
        "CREATE TABLE {p}_idempotency ("                                                 \
        " scope TEXT NOT NULL, key TEXT NOT NULL,"                                       \
        " uuid " BYTES " NOT NULL, part " INT " NOT NULL,"                               \
        " digest " BYTES " NOT NULL, until_us " BIG " NOT NULL,"                         \
        " PRIMARY KEY (scope, key))" KEYED,                                              \
        "CREATE INDEX {p}_idempotency_until ON {p}_idempotency (until_us)",              \
        "CREATE TABLE {p}_flow ("                                                        \
        " no " ID ","                                                                    \
        " uuid " BYTES " NOT NULL UNIQUE,"                                               \
        " part " INT " NOT NULL,"                                                        \
        " state " SMALL " NOT NULL DEFAULT 1," /* open, done, failed, ... */             \
        " cancel_policy " SMALL " NOT NULL DEFAULT 0,"                                   \
        " members " INT " NOT NULL DEFAULT 0,"                                           \
        " edges " INT " NOT NULL DEFAULT 0,"                                             \
        " revision " BIG " NOT NULL DEFAULT 0,"                                          \
        " created_us " BIG " NOT NULL,"                                                  \
        " ended_us " BIG " NOT NULL DEFAULT 0,"                                          \
        " namespace TEXT NOT NULL,"                                                      \
        " kind TEXT NOT NULL,"                                                           \
        " cancel_reason TEXT NOT NULL DEFAULT '')",                                      \
        "CREATE TABLE {p}_edge ("                                                        \
        " upstream " BIG " NOT NULL,"   /* execution.no */                               \
        " downstream " BIG " NOT NULL," /* execution.no */                               \
        " flow " BIG " NOT NULL,"                                                        \
        " state " SMALL " NOT NULL DEFAULT 0," /* open, success, ... */                  \
        " passes_data " SMALL " NOT NULL DEFAULT 0,"                                     \
        " uuid " BYTES " NOT NULL,"                                                      \
        " PRIMARY KEY (upstream, downstream))" KEYED,                                    \
        "CREATE INDEX {p}_edge_down ON {p}_edge (downstream, upstream)",                 \
        "CREATE TABLE {p}_edge_group ("                                                  \
        " downstream " BIG " PRIMARY KEY,"                                               \
        " flow " BIG " NOT NULL,"                                                        \
        " policy " SMALL " NOT NULL DEFAULT 0," /* all, any, quorum */                   \
        " state " SMALL " NOT NULL DEFAULT 0,"  /* pending, satisfied, ... */            \
        " cancel_remaining " SMALL " NOT NULL DEFAULT 0,"                                \
        " cancel_why " SMALL " NOT NULL DEFAULT 0,"                                      \
        " quorum " INT " NOT NULL DEFAULT 0,"                                            \
        " total " INT " NOT NULL DEFAULT 0,"                                             \
        " succeeded " INT " NOT NULL DEFAULT 0,"                                         \
        " failed " INT " NOT NULL DEFAULT 0,"                                            \
        " skipped " INT " NOT NULL DEFAULT 0,"                                           \
        " cancel_us " BIG " NOT NULL DEFAULT 0)", /* siblings are to be cancelled */     \
        "CREATE INDEX {p}_edge_group_cancel ON {p}_edge_group (cancel_us)"               \
        " WHERE cancel_us > 0",                                                          \
        "CREATE TABLE {p}_suspension ("                                                  \
        " no " BIG " PRIMARY KEY," /* execution.no: at most one is open */               \
        " uuid " BYTES " NOT NULL,"                                                      \
        " since_us " BIG " NOT NULL,"                                                    \
        " timeout_us " BIG " NOT NULL DEFAULT 0,"                                        \
        " on_timeout " SMALL " NOT NULL DEFAULT 0,"                                      \
        " resume_delay_us " BIG " NOT NULL DEFAULT 0,"                                   \
        " condition TEXT NOT NULL,"                                                      \
        " idempotency_key TEXT NOT NULL DEFAULT '')",                                    \
        "CREATE INDEX {p}_suspension_timeout ON {p}_suspension (timeout_us)"             \
        " WHERE timeout_us > 0",                                                         \
        "CREATE TABLE {p}_waitpoint ("                                                   \
        " no " BIG " NOT NULL,"                                                          \
        " uuid " BYTES " NOT NULL,"                                                      \
        " state " SMALL " NOT NULL,"                                                     \
        " name TEXT NOT NULL,"                                                           \
        " key_id TEXT NOT NULL,"                                                         \
        " created_us " BIG " NOT NULL,"                                                  \
        " until_us " BIG " NOT NULL DEFAULT 0,"                                          \
        " PRIMARY KEY (no, uuid))" KEYED,                                                \
        "CREATE INDEX {p}_waitpoint_until ON {p}_waitpoint (until_us)"                   \
        " WHERE until_us > 0",                                                           \
        "CREATE TABLE {p}_signal ("                                                      \
        " no " BIG " NOT NULL,"                                                          \
        " waitpoint " BYTES " NOT NULL,"                                                 \
        " key TEXT NOT NULL," /* of idempotency, or its own uuid */                      \
        " uuid " BYTES " NOT NULL,"                                                      \
        " name TEXT NOT NULL,"                                                           \
        " source_type TEXT NOT NULL,"                                                    \
        " source TEXT NOT NULL,"                                                         \
        " payload " BYTES " NOT NULL,"                                                   \
        " came_us " BIG " NOT NULL,"                                                     \
        " PRIMARY KEY (no, waitpoint, key))",                                            \
        "CREATE TABLE {p}_secret ("                                                      \
        " key_id TEXT PRIMARY KEY, secret " BYTES " NOT NULL,"                           \
        " active " SMALL " NOT NULL, until_us " BIG " NOT NULL DEFAULT 0)" KEYED,        \
        "CREATE TABLE {p}_budget ("                                                      \
        " no " ID ","                                                                    \
        " name TEXT NOT NULL UNIQUE,"                                                    \
        " part " INT " NOT NULL,"                                                        \
        " scope_type TEXT NOT NULL,"                                                     \
        " scope TEXT NOT NULL,"                                                          \
        " period_us " BIG " NOT NULL DEFAULT 0,"                                         \
        " next_reset_us " BIG " NOT NULL DEFAULT 0,"                                     \
        " era " BIG " NOT NULL DEFAULT 0," /* grows with each reset */                   \
        " hard_breaches " BIG " NOT NULL DEFAULT 0,"                                     \
        " soft_breaches " BIG " NOT NULL DEFAULT 0,"                                     \
        " breached_us " BIG " NOT NULL DEFAULT 0,"                                       \
        " created_us " BIG " NOT NULL,"                                                  \
        " breached TEXT NOT NULL DEFAULT '')",                                           \
        "CREATE INDEX {p}_budget_reset ON {p}_budget (next_reset_us)"                    \
        " WHERE next_reset_us > 0",                                                      \
        "CREATE TABLE {p}_usage ("                                                       \
        " budget " BIG " NOT NULL, dimension TEXT NOT NULL,"                             \
        " used " BIG " NOT NULL DEFAULT 0,"                                              \
        " hard " BIG " NOT NULL DEFAULT 0, soft " BIG " NOT NULL DEFAULT 0,"             \
        " PRIMARY KEY (budget, dimension))" KEYED,                                       \
        "CREATE TABLE {p}_spent ("                                                       \
        " no " BIG " NOT NULL, budget " BIG " NOT NULL,"                                 \
        " dimension TEXT NOT NULL," /* empty: it is charged to the budget */             \
        " amount " BIG " NOT NULL, era " BIG " NOT NULL,"                                \
        " PRIMARY KEY (no, budget, dimension))" KEYED,                                   \
        "CREATE INDEX {p}_spent_of ON {p}_spent (budget, no)"

static const char *const SQLITE_1[] = {
    TABLES("INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER", "INTEGER", "INTEGER", "BLOB",
           "", " WITHOUT ROWID"),
    NULL,
};

/*
 * A row of `execution` changes five times in its life, mostly where indexes see it:
 * vacuum is to come by the number of changes and not by the share of a table that is
 * mostly history. Room is left on each page, so that a report of progress stays on it.
 */
#define PG_HOT                                                                           \
    " WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0,"                        \
    " autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0)"

static const char *const PG_1[] = {
    TABLES("bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "integer", "bigint",
           "smallint", "bytea", PG_HOT, ""),
    NULL,
};

/* When a claim last said that it waits: outside of all transactions
 * (notify_throttle.h). */
static const char *const PG_2[] = {
    "CREATE SEQUENCE {p}_awaited",
    NULL,
};

/* Flows and suspensions, whose tables were not used before. Of these, the old ones
 * are gone. A flow is in one of its three indexes, none of which knows its counters:
 * these change all the time. */
#define TABLES_3(ID, INT, BIG, SMALL, BYTES, KEYED)                                      \
    "ALTER TABLE {p}_execution ADD COLUMN on_timeout " SMALL " NOT NULL DEFAULT 0",      \
        "CREATE INDEX {p}_execution_wait ON {p}_execution (due_us, no)"                  \
        " WHERE " WEIR_HAS_WAIT_LIMIT,                                                   \
        "DROP INDEX {p}_execution_ended",                                                \
        "CREATE INDEX {p}_execution_ended ON {p}_execution (ended_us, no)"               \
        " WHERE " WEIR_IS_OVER_ALONE,                                                    \
        "DROP INDEX {p}_spent_of",                                                       \
        "CREATE INDEX {p}_spent_waiting ON {p}_spent (budget, no)"                       \
        " WHERE " WEIR_WAITS_FOR_BUDGET,                                                 \
        "DROP TABLE {p}_suspension", "DROP TABLE {p}_edge_group", "DROP TABLE {p}_edge", \
        "DROP TABLE {p}_flow",                                                           \
        "CREATE TABLE {p}_flow ("                                                        \
        " no " ID ","                                                                    \
        " uuid " BYTES " NOT NULL UNIQUE,"                                               \
        " part " INT " NOT NULL,"                                                        \
        " state " SMALL " NOT NULL DEFAULT 0," /* open, completed, ..., gone */          \
        " cancel_policy " SMALL " NOT NULL DEFAULT 0,"                                   \
        " members " INT " NOT NULL DEFAULT 0,"                                           \
        " edges " INT " NOT NULL DEFAULT 0,"                                             \
        " unfinished " INT " NOT NULL DEFAULT 0," /* members that have not ended */      \
        " unlucky " INT " NOT NULL DEFAULT 0,"    /* those that ended badly */           \
        " revision " BIG " NOT NULL DEFAULT 0,"                                          \
        " created_us " BIG " NOT NULL,"                                                  \
        " ended_us " BIG " NOT NULL DEFAULT 0,"                                          \
        " namespace TEXT NOT NULL,"                                                      \
        " kind TEXT NOT NULL,"                                                           \
        " cancel_reason TEXT NOT NULL DEFAULT '')",                                      \
        "CREATE INDEX {p}_flow_open ON {p}_flow (no) WHERE " WEIR_FLOW_IS_OPEN,          \
        "CREATE INDEX {p}_flow_ended ON {p}_flow (ended_us, no)"                         \
        " WHERE " WEIR_FLOW_HAS_ENDED,                                                   \
        "CREATE INDEX {p}_flow_gone ON {p}_flow (no) WHERE " WEIR_FLOW_IS_GONE,          \
        "CREATE TABLE {p}_edge ("                                                        \
        " upstream " BIG " NOT NULL," /* execution.no, as the next */                    \
        " downstream " BIG " NOT NULL,"                                                  \
        " flow " BIG " NOT NULL,"                                                        \
        " state " SMALL " NOT NULL DEFAULT 0," /* open, succeeded, failed, skipped */    \
        " passes_data " SMALL " NOT NULL,"                                               \
        " opened_epoch " BIG " NOT NULL," /* only an end with a later one counts */      \
        " PRIMARY KEY (upstream, downstream))" KEYED,                                    \
        "CREATE INDEX {p}_edge_down ON {p}_edge (downstream, upstream)",                 \
        "CREATE INDEX {p}_edge_open ON {p}_edge (upstream, downstream)"                  \
        " WHERE " WEIR_EDGE_IS_OPEN,                                                     \
        "CREATE TABLE {p}_edge_group ("                                                  \
        " downstream " BIG " PRIMARY KEY,"                                               \
        " flow " BIG " NOT NULL,"                                                        \
        " policy " SMALL " NOT NULL DEFAULT 0," /* all, any, quorum */                   \
        " state " SMALL " NOT NULL DEFAULT 0,"  /* pending, satisfied, impossible */     \
        " cancel_remaining " SMALL " NOT NULL DEFAULT 0,"                                \
        " quorum " INT " NOT NULL DEFAULT 0,"                                            \
        " total " INT " NOT NULL DEFAULT 0,"                                             \
        " succeeded " INT " NOT NULL DEFAULT 0,"                                         \
        " failed " INT " NOT NULL DEFAULT 0,"                                            \
        " skipped " INT " NOT NULL DEFAULT 0,"                                           \
        " cancel_us " BIG " NOT NULL DEFAULT 0)", /* siblings are to be cancelled */     \
        "CREATE INDEX {p}_edge_group_cancel ON {p}_edge_group (cancel_us)"               \
        " WHERE cancel_us > 0",                                                          \
        "CREATE TABLE {p}_suspension ("                                                  \
        " no " BIG " PRIMARY KEY," /* execution.no: the open one, or the last */         \
        " reason " SMALL " NOT NULL,"                                                    \
        " since_us " BIG " NOT NULL,"                                                    \
        " ended_us " BIG " NOT NULL DEFAULT 0,"                                          \
        " timeout_us " BIG " NOT NULL,"                                                  \
        " resume_delay_us " BIG " NOT NULL,"                                             \
        " condition TEXT NOT NULL)",                                                     \
        "CREATE INDEX {p}_suspension_open ON {p}_suspension (no)"                        \
        " WHERE " WEIR_SUSPENSION_IS_OPEN

static const char *const SQLITE_3[] = {
    TABLES_3("INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER", "INTEGER", "INTEGER", "BLOB",
             " WITHOUT ROWID"),
    NULL,
};
static const char *const PG_3[] = {
    TABLES_3("bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "integer", "bigint",
             "smallint", "bytea", ""),
    NULL,
};

/* How a claim was settled, behind `settled_epoch`. */
#define SETTLED_AS(SMALL)                                                                \
    "ALTER TABLE {p}_execution ADD COLUMN settled_as " SMALL " NOT NULL DEFAULT 0"

/* Places in line that grow with time: see rules.h. */
#define TURNS(BIG)                                                                       \
    "ALTER TABLE {p}_execution ADD COLUMN turn " BIG " NOT NULL DEFAULT 0",              \
        "DROP INDEX {p}_execution_ready",                                                \
        "CREATE INDEX {p}_execution_ready ON {p}_execution"                              \
        " (lane, capset, priority DESC, turn, no) WHERE " WEIR_IS_READY

static const char *const SQLITE_5[] = {TURNS("INTEGER"), NULL};
static const char *const PG_5[] = {TURNS("bigint"), NULL};

static const char *const SQLITE_4[] = {SETTLED_AS("INTEGER"), NULL};
static const char *const PG_4[] = {SETTLED_AS("smallint"), NULL};

/*
 * Names of members, and what was passed to them. Until now a result was written over
 * the input of the member that it was passed to, so of several only the last is left
 * there. Members that have not begun are given all of them from now on; an input that
 * one of these has replaced is lost, and is not returned as their own. Those that have
 * begun keep what they were given: they count no data edges.
 */
#define PASSED(BIG, INT, BYTES)                                                          \
    "ALTER TABLE {p}_execution ADD COLUMN name TEXT NOT NULL DEFAULT ''",                \
        "ALTER TABLE {p}_execution ADD COLUMN data_edges " INT " NOT NULL DEFAULT 0",    \
        "CREATE UNIQUE INDEX {p}_execution_name ON {p}_execution (flow, name)"           \
        " WHERE " WEIR_HAS_NAME,                                                         \
        "CREATE TABLE {p}_passed ("                                                      \
        " downstream " BIG " NOT NULL," /* execution.no, as the next */                  \
        " upstream " BIG " NOT NULL,"                                                    \
        " uuid " BYTES " NOT NULL," /* of the upstream, as the next two */               \
        " part " INT " NOT NULL,"                                                        \
        " name TEXT NOT NULL,"                                                           \
        " bytes " BYTES "," /* its result; NULL: it had none */                          \
        " PRIMARY KEY (downstream, upstream))",                                          \
        "INSERT INTO {p}_passed (downstream, upstream, uuid, part, name, bytes)"         \
        " SELECT d.downstream, d.upstream, u.uuid, u.part, '', r.bytes"                  \
        " FROM {p}_edge d JOIN {p}_execution e ON e.no = d.downstream"                   \
        " JOIN {p}_execution u ON u.no = d.upstream"                                     \
        " LEFT JOIN {p}_result r ON r.no = d.upstream"                                   \
        " WHERE d.passes_data = 1 AND d.state = 1 AND e.attempts = 0",                   \
        "UPDATE {p}_execution SET data_edges = (SELECT count(*) FROM {p}_edge d"         \
        " WHERE d.downstream = {p}_execution.no AND d.passes_data = 1)"                  \
        " WHERE attempts = 0 AND no IN"                                                  \
        " (SELECT downstream FROM {p}_edge WHERE passes_data = 1)",                      \
        "DELETE FROM {p}_input WHERE no IN (SELECT p.downstream FROM {p}_passed p"       \
        " JOIN {p}_input i ON i.no = p.downstream WHERE p.bytes = i.bytes)"

static const char *const SQLITE_6[] = {PASSED("INTEGER", "INTEGER", "BLOB"), NULL};
static const char *const PG_6[] = {PASSED("bigint", "integer", "bytea"), NULL};

static const struct weir_migration MIGRATIONS[] = {
    {
        .number = 1001,
        .readable_by = 1001,
        .name = "executions",
        .statements = {[WEIR_SQLITE] = SQLITE_1, [WEIR_POSTGRESQL] = PG_1},
    },
    {
        .number = 1002,
        .readable_by = 1001,
        .name = "waiting claims",
        .statements = {[WEIR_POSTGRESQL] = PG_2}, /* SQLite's file tells of commits */
    },
    {
        .number = 1003,
        .readable_by = 1003, /* an older library would not know of dependencies */
        .name = "flows, suspensions",
        .statements = {[WEIR_SQLITE] = SQLITE_3, [WEIR_POSTGRESQL] = PG_3},
    },
    {
        .number = 1004,
        .readable_by = 1004, /* an older library would leave the verb of another claim */
        .name = "verbs of settled claims",
        .statements = {[WEIR_SQLITE] = SQLITE_4, [WEIR_POSTGRESQL] = PG_4},
    },
    {
        .number = 1005,
        .readable_by = 1005, /* an older library would leave turns as they are */
        .name = "turns",
        .statements = {[WEIR_SQLITE] = SQLITE_5, [WEIR_POSTGRESQL] = PG_5},
    },
    {
        .number = 1006,
        .readable_by = 1006, /* an older library would overwrite inputs by results */
        .name = "passed results, names of members",
        .statements = {[WEIR_SQLITE] = SQLITE_6, [WEIR_POSTGRESQL] = PG_6},
    },
};

const struct weir_schema weir_executions_schema = {
    .base = 1000,
    .name = "the execution engine",
    .without = 1U << WEIR_MARIADB,
    .migrations = MIGRATIONS,
    .count = COUNT_OF(MIGRATIONS),
};

enum weir_status weir_executions_migrate(struct weir_db *db, struct weir_error *error)
{
    uint32_t from = 0;
    uint32_t to = 0;
    enum weir_status status =
        weir_schema_migrate(&weir_executions_schema, db, &from, &to, error);

    return status == WEIR_OK ? weir_events_make_queues(db, error) : status;
}
