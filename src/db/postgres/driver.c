/*
 * driver.c - the driver for PostgreSQL, by libpq.
 *
 *   postgres/driver.c            the operation table: rows, transactions, clock,
 *                                durability
 *   postgres/open.c       connecting, adopting, closing
 *   postgres/session.c    its settings, and what others have made of them
 *   postgres/link.c       one exchange with the server, and what comes of it
 *   postgres/statement.c  prepared statements
 *   postgres/pipeline.c   several statements in one round trip
 *   postgres/saved.c      one in a savepoint of its own
 *   postgres/encode.c     values to bytes        postgres/decode.c    bytes to values
 *   postgres/error.c      codes to statuses      postgres/conninfo.c  connection strings
 *
 * A result is taken over from libpq as a whole and its rows are read where they lie.
 * Memory of libpq's own (buffers, results) comes from the C library; everything else
 * from the heap.
 */
#include <libpq-fe.h>
#include <string.h>

#include "base/count.h"
#include "base/fault_point.h"
#include "base/text.h"
#include "db/postgres/decode.h"
#include "db/postgres/link.h"
#include "db/postgres/pipeline.h"
#include "db/postgres/saved.h"
#include "db/postgres/session.h"
#include "db/postgres/statement.h"

enum { BEGIN_TEXT_SIZE = 320 };

static struct weir_pg_link *own(struct weir_link *link)
{
    return (struct weir_pg_link *)link;
}

static void *pg_native(struct weir_link *link)
{
    return own(link)->connection;
}

static enum weir_status pg_exec(struct weir_link *link, const char *text,
                                struct weir_error *error)
{
    return weir_pg_execute_text(own(link), text, error);
}

/* ---- statements -------------------------------------------------------------------- */

static enum weir_status pg_prepare(struct weir_link *link, const char *text,
                                   const char *parameters, void **out,
                                   struct weir_error *error)
{
    struct weir_pg_statement *statement;
    enum weir_status status =
        weir_pg_statement_create(own(link), text, parameters, &statement, error);

    *out = statement;
    return status;
}

static void pg_unprepare(struct weir_link *link, void *prepared)
{
    weir_pg_statement_destroy(own(link), prepared);
}

/* Run with what has been encoded. */
static enum weir_status run_encoded(struct weir_pg_link *self,
                                    struct weir_pg_statement *statement, PGresult **out,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *out = NULL;
    if (self->base.adopted)
        status = weir_pg_check_free(self->connection, error);
    if (status == WEIR_OK)
        status = weir_pg_statement_run(statement, self, out, error);
    weir_pg_encoder_relax(&self->encoder);
    return status;
}

static struct weir_cursor cursor_of(void *prepared, PGresult *result)
{
    return (struct weir_cursor){
        .prepared = prepared,
        .result = result,
        .row_count = (size_t)PQntuples(result),
        .column_count = (size_t)PQnfields(result),
        .changed = weir_pg_changed(result),
    };
}

static enum weir_status pg_run(struct weir_link *link, void *prepared,
                               const struct weir_value *values,
                               struct weir_cursor *cursor, struct weir_error *error)
{
    struct weir_pg_statement *statement = prepared;
    PGresult *result = NULL;
    enum weir_status status =
        weir_pg_encode(&own(link)->encoder, statement->letters, values, error);

    if (status == WEIR_OK)
        status = run_encoded(own(link), statement, &result, error);
    if (status != WEIR_OK)
        return status;
    *cursor = cursor_of(prepared, result);
    return WEIR_OK;
}

static enum weir_status pg_next(struct weir_link *link, struct weir_cursor *cursor,
                                struct weir_error *error)
{
    (void)link;
    (void)error;
    if (cursor->row >= cursor->row_count)
        return WEIR_NO_ROW;
    cursor->row++;
    return WEIR_OK;
}

static void pg_read(struct weir_cursor *cursor, size_t column, enum weir_type wanted,
                    struct weir_value *out, bool *fits)
{
    const PGresult *result = cursor->result;
    int row = (int)cursor->row - 1;
    int field = (int)column;
    struct weir_str bytes;

    *out = weir_null();
    *fits = column < cursor->column_count && cursor->row > 0;
    if (!*fits || PQgetisnull(result, row, field))
        return;
    bytes.data = PQgetvalue(result, row, field);
    bytes.size = (size_t)PQgetlength(result, row, field);
    *fits = weir_pg_decode(PQftype(result, field), bytes, wanted, out);
}

static void pg_finish(struct weir_link *link, struct weir_cursor *cursor)
{
    (void)link;
    PQclear(cursor->result);
    *cursor = (struct weir_cursor){0};
}

static enum weir_status pg_run_many(struct weir_link *link, void *prepared,
                                    const struct weir_value *values, size_t row_count,
                                    size_t column_count, int64_t *changed,
                                    struct weir_error *error)
{
    struct weir_pg_statement *statement = prepared;
    PGresult *result = NULL;
    enum weir_status status = weir_pg_encode_many(&own(link)->encoder, statement->letters,
                                                  values, row_count, column_count, error);

    *changed = 0;
    if (status == WEIR_OK)
        status = run_encoded(own(link), statement, &result, error);
    if (status == WEIR_OK)
        *changed = weir_pg_changed(result);
    PQclear(result);
    return status;
}

/* ---- transactions ------------------------------------------------------------------ */

/* A rollback that fails leaves a connection in an unknown state. */
static void pg_rollback(struct weir_link *link)
{
    struct weir_error error;

    own(link)->read_only = false;
    if (PQtransactionStatus(own(link)->connection) == PQTRANS_IDLE)
        return;
    if (weir_pg_execute_text(own(link), "ROLLBACK", &error) != WEIR_OK)
        weir_pg_sever(own(link));
}

/*
 * The limit on idleness that differs from the session's; 0: there is none. The
 * session's own is ours (postgres/open.c) and an application gets back what it would
 * have had, in the same round trip. Behind a transaction pooler it is the other way
 * round.
 */
static size_t print_idle(const struct weir_pg_link *self, char *out, size_t size)
{
    bool theirs = self->base.holder == WEIR_HELD_BY_APPLICATION;

    if (theirs && self->named)
        return weir_text_format(
            out, size, ";SET LOCAL idle_in_transaction_session_timeout TO DEFAULT");
    if (!theirs && !self->named)
        return weir_text_format(out, size,
                                ";SET LOCAL idle_in_transaction_session_timeout = %d",
                                WEIR_IDLE_MS_MAX);
    return 0;
}

/*
 * Behind a transaction pooler the session belongs to the pooler, and only now is
 * there a piece of it to be had: the settings go with the transaction, in the same
 * round trip.
 */
static void print_begin(const struct weir_pg_link *self, enum weir_access access,
                        char out[BEGIN_TEXT_SIZE])
{
    const struct weir_link_config *config = self->base.config;
    const char *mode = access == WEIR_READ_ONLY ? " READ ONLY" : "";
    size_t used;

    if (self->named)
        used = weir_text_format(out, BEGIN_TEXT_SIZE,
                                "BEGIN ISOLATION LEVEL READ COMMITTED%s", mode);
    else
        used = weir_text_format(
            out, BEGIN_TEXT_SIZE,
            "BEGIN ISOLATION LEVEL READ COMMITTED%s;"
            "SET LOCAL statement_timeout = %lld;"
            "SET LOCAL lock_timeout = %lld;"
            "SET LOCAL TimeZone = 'UTC';"
            "SET LOCAL jit = off",
            mode, (long long)weir_pg_milliseconds(config->statement_timeout_ns),
            (long long)weir_pg_milliseconds(config->lock_timeout_ns));
    (void)print_idle(self, out + used, BEGIN_TEXT_SIZE - used);
}

static enum weir_status pg_begin(struct weir_link *link, enum weir_access access,
                                 struct weir_error *error)
{
    char text[BEGIN_TEXT_SIZE];
    enum weir_status status;

    print_begin(own(link), access, text);
    status = weir_pg_execute_text(own(link), text, error);
    own(link)->read_only = status == WEIR_OK && access == WEIR_READ_ONLY;
    if (status != WEIR_OK && !link->lost)
        pg_rollback(link);
    return status;
}

/* Behind a transaction pooler several texts begin it, which cannot travel with a
 * statement. */
static enum weir_status pg_run_first(struct weir_link *link, void *prepared,
                                     const struct weir_value *values,
                                     struct weir_cursor *cursor, struct weir_error *error)
{
    struct weir_driver_step step = {.prepared = prepared, .values = values};
    char text[BEGIN_TEXT_SIZE];
    PGresult *result = NULL;
    struct weir_pg_train train = {
        .before = text, .steps = &step, .step_count = 1, .result = &result};
    enum weir_status status;

    if (!own(link)->named) {
        status = pg_begin(link, WEIR_READ_WRITE, error);
        return status == WEIR_OK ? pg_run(link, prepared, values, cursor, error) : status;
    }
    print_begin(own(link), WEIR_READ_WRITE, text);
    own(link)->read_only = false;
    status = weir_pg_run_train(own(link), &train, error);
    if (status == WEIR_OK)
        *cursor = cursor_of(prepared, result);
    return status;
}

static enum weir_status pg_run_saved(struct weir_link *link,
                                     struct weir_driver_step steps[WEIR_SAVED_STEP_COUNT],
                                     struct weir_cursor *cursor, struct weir_error *error)
{
    PGresult *result = NULL;
    enum weir_status status = weir_pg_run_saved(link, steps, &result, error);

    if (status == WEIR_OK)
        *cursor = cursor_of(steps[WEIR_SAVED_RUN].prepared, result);
    return status;
}

/* COMMIT of a failed transaction is answered with ROLLBACK, and that is no error to the
 * server. */
static enum weir_status judge_commit(PGresult *result, struct weir_error *error)
{
    if (strcmp(PQcmdStatus(result), "ROLLBACK") != 0)
        return WEIR_OK;
    return weir_error_set(error, WEIR_FAILED,
                          "the transaction had failed and was rolled back");
}

/* There is no transaction any more, and what is not known to have failed is in doubt. */
static enum weir_status end_commit(struct weir_link *link, enum weir_status status,
                                   struct weir_error *error)
{
    if (status == WEIR_OK && WEIR_POINT(link->config->points, "db.lose_after_commit")) {
        weir_pg_sever(own(link));
        status = weir_error_set(error, WEIR_LOST, "run: lost by order of a test");
    }
    if (status == WEIR_LOST)
        status = error->status = WEIR_IN_DOUBT; /* it may have arrived */
    else if (status != WEIR_OK)
        pg_rollback(link);
    own(link)->read_only = false;
    return status;
}

/* A farewell that is here before anything of the commit was sent: it cannot have
 * happened. */
static enum weir_status refuse_ended(struct weir_link *link, struct weir_error *error)
{
    if (weir_pg_is_alive(link))
        return WEIR_OK;
    return weir_error_set(error, WEIR_LOST, "the server has ended the session");
}

static enum weir_status pg_commit(struct weir_link *link, struct weir_error *error)
{
    struct weir_pg_link *self = own(link);
    PGresult *result = NULL;
    enum weir_status status = refuse_ended(link, error);

    if (status != WEIR_OK)
        return status;
    status = weir_pg_ready(self, error);
    if (status == WEIR_OK)
        status = weir_pg_collect(self, PQsendQuery(self->connection, "COMMIT"), &result,
                                 error);
    if (status == WEIR_OK)
        status = judge_commit(result, error);
    PQclear(result);
    return end_commit(link, status, error);
}

/*
 * Answers come in the order of the steps. So a server that answers one of them with its
 * farewell, or refuses it because it takes no writes, has not come to the commit behind
 * it. Class 08 is left out: it may be a pooler's word for a connection that it has
 * lost. So is everything behind a pooler that we know of.
 */
static bool came_before_commit(const struct weir_pg_link *self,
                               const struct weir_pg_train *train,
                               const struct weir_error *error)
{
    static const char *const CODES[] = {"57P01", "57P02", "57P03",
                                        "25P03", "25P04", "25006"};

    if (!self->named || train->failed >= train->step_count)
        return false;
    for (size_t i = 0; i < COUNT_OF(CODES); i++) {
        if (strcmp(error->sqlstate, CODES[i]) == 0)
            return true;
    }
    return false;
}

/* A step that fails keeps the server from the commit behind it, and so does one that
 * has failed before. What never left is not in doubt. */
static enum weir_status pg_commit_steps(struct weir_link *link,
                                        struct weir_driver_step *steps, size_t step_count,
                                        size_t *failed, struct weir_error *error)
{
    struct weir_pg_train train = {
        .steps = steps, .step_count = step_count, .after = "COMMIT"};
    enum weir_status status = WEIR_OK;

    *failed = step_count;
    if (!own(link)->named) /* else the answer to the first step tells, and why */
        status = refuse_ended(link, error);
    if (status != WEIR_OK)
        return status;
    status = weir_pg_run_train(own(link), &train, error);
    *failed = train.failed;
    if (status == WEIR_LOST &&
        (!train.sent || came_before_commit(own(link), &train, error)))
        return status;
    return end_commit(link, status, error);
}

static enum weir_transaction_state pg_transaction(struct weir_link *link)
{
    switch (PQtransactionStatus(own(link)->connection)) {
    case PQTRANS_INTRANS:
    case PQTRANS_ACTIVE: /* left by a handler: to be rolled back, which will fail */
        return WEIR_TRANSACTION_OPEN;
    case PQTRANS_INERROR:
        return WEIR_TRANSACTION_FAILED;
    case PQTRANS_IDLE:
    case PQTRANS_UNKNOWN:
        break;
    }
    return WEIR_TRANSACTION_NONE;
}

/* ---- in other hands ---------------------------------------------------------------- */

/* What libpq said last, without severity and detail. */
static enum weir_status repeat_failure(const PGconn *connection, struct weir_error *error)
{
    const char *text = PQerrorMessage(connection);
    const char *message = strstr(text, ":  ");

    message = message != NULL ? message + 3 : text;
    return weir_error_set(error, WEIR_FAILED, "a statement has failed: %.*s",
                          (int)strcspn(message, "\n"), message);
}

static enum weir_status pg_examine(struct weir_link *link, struct weir_error *error)
{
    struct weir_pg_link *self = own(link);
    enum weir_status status = weir_pg_check_free(self->connection, error);

    if (status == WEIR_OK)
        return WEIR_OK;
    if (PQtransactionStatus(self->connection) == PQTRANS_INERROR &&
        PQpipelineStatus(self->connection) == PQ_PIPELINE_OFF &&
        !PQisnonblocking(self->connection))
        return repeat_failure(self->connection, error);
    weir_pg_sever(self); /* nothing can be sent, not even a rollback */
    error->status = WEIR_LOST;
    return WEIR_LOST;
}

/* ---- from outside ------------------------------------------------------------------ */

/* Whether it arrives in time, or at all, shows in how the statement ends. */
static void pg_cancel(struct weir_link *link)
{
    struct weir_pg_link *self = own(link);
    char text[256];

    weir_lock_acquire(&self->lock);
    if (self->cancel != NULL) {
        atomic_store(&link->cancelled, true);
        (void)PQcancel(self->cancel, text, sizeof text);
    }
    weir_lock_release(&self->lock);
}

/* The one value of an answer; false: it is not one, or not of this type. */
static bool read_one(PGresult *result, enum weir_type wanted, struct weir_value *out)
{
    struct weir_cursor cursor = {.row = 1, .column_count = 1, .result = result};
    bool fits = false;

    if (PQntuples(result) == 1)
        pg_read(&cursor, 0, wanted, out, &fits);
    return fits;
}

static enum weir_status pg_clock(struct weir_link *link, int64_t *out_us,
                                 struct weir_error *error)
{
    PGresult *result = NULL;
    struct weir_value value;
    bool fits;
    enum weir_status status =
        weir_pg_query_text(own(link), "SELECT clock_timestamp()", &result, error);

    if (status != WEIR_OK)
        return status;
    fits = read_one(result, WEIR_TYPE_TIME, &value);
    PQclear(result);
    if (!fits)
        return weir_error_set(error, WEIR_FAILED, "the server returned no valid time");
    *out_us = value.as.time_us;
    return WEIR_OK;
}

static enum weir_status pg_ask(struct weir_link *link, const char *text,
                               int64_t wait_limit_ns, int64_t *out,
                               struct weir_error *error)
{
    struct weir_pg_link *self = own(link);
    int64_t silence_ns = self->silence_ns;
    PGresult *result = NULL;
    struct weir_value value;
    bool fits;
    enum weir_status status;

    self->silence_ns = wait_limit_ns;
    status = weir_pg_query_text(self, text, &result, error);
    self->silence_ns = silence_ns;
    if (status != WEIR_OK)
        return status;
    fits = read_one(result, WEIR_TYPE_INTEGER, &value);
    PQclear(result);
    if (!fits)
        return weir_error_set(error, WEIR_SCHEMA, "no answer to \"%s\"", text);
    *out = value.as.integer;
    return WEIR_OK;
}

/* ---- durability -------------------------------------------------------------------- */

static const char SQL_DURABILITY[] =
    "SELECT current_setting('fsync'), current_setting('full_page_writes'),"
    " current_setting('synchronous_commit'), "
    "current_setting('synchronous_standby_names')";
enum { FSYNC, FULL_PAGE_WRITES, SYNCHRONOUS_COMMIT, STANDBY_NAMES, SETTING_COUNT };

/* With synchronous standbys, a commit that waits for less than their flush may be lost
 * by a failover; without, `local` and `on` are the same. */
static bool is_synchronous(const char *value, bool standbys)
{
    if (strcmp(value, "off") == 0)
        return false;
    return !standbys ||
           (strcmp(value, "local") != 0 && strcmp(value, "remote_write") != 0);
}

static void report_unless(bool fine, const char *setting, const char *found,
                          weir_finding_fn report, void *state)
{
    struct weir_finding finding = {.setting = setting, .found = found, .needed = "on"};

    if (!fine)
        report(state, &finding);
}

static enum weir_status pg_durability(struct weir_link *link, weir_finding_fn report,
                                      void *state, struct weir_error *error)
{
    PGresult *result = NULL;
    const char *found[SETTING_COUNT];
    enum weir_status status =
        weir_pg_query_text(own(link), SQL_DURABILITY, &result, error);

    if (status != WEIR_OK)
        return status;
    /* Text is the same in binary format, and libpq puts a zero behind it. */
    for (int i = 0; i < SETTING_COUNT; i++)
        found[i] = PQntuples(result) == 1 && PQnfields(result) == SETTING_COUNT
                       ? PQgetvalue(result, 0, i)
                       : "";
    report_unless(strcmp(found[FSYNC], "on") == 0, "fsync", found[FSYNC], report, state);
    report_unless(strcmp(found[FULL_PAGE_WRITES], "on") == 0, "full_page_writes",
                  found[FULL_PAGE_WRITES], report, state);
    report_unless(
        is_synchronous(found[SYNCHRONOUS_COMMIT], found[STANDBY_NAMES][0] != '\0'),
        "synchronous_commit", found[SYNCHRONOUS_COMMIT], report, state);
    PQclear(result);
    return WEIR_OK;
}

const struct weir_driver weir_driver_postgresql = {
    .engine = WEIR_POSTGRESQL,
    .traits = {.title = "PostgreSQL",
               .now = "clock_timestamp()",
               .quote = '"',
               .takes_arrays = true,
               .has_notify = true,
               .has_search_path = true,
               .numbers_are_final = true,
               .keeps_old_rows = true},
    .open = weir_pg_open,
    .adopt = weir_pg_adopt,
    .close = weir_pg_close,
    .native = pg_native,
    .alive = weir_pg_is_alive,
    .exec = pg_exec,
    .prepare = pg_prepare,
    .unprepare = pg_unprepare,
    .run = pg_run,
    .next = pg_next,
    .read = pg_read,
    .finish = pg_finish,
    .run_many = pg_run_many,
    .run_steps = weir_pg_run_steps,
    .begin = pg_begin,
    .run_first = pg_run_first,
    .run_saved = pg_run_saved,
    .spoil = weir_pg_spoil,
    .commit_steps = pg_commit_steps,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .transaction = pg_transaction,
    .renew = weir_pg_session_renew,
    .reset = weir_pg_session_reset,
    .examine = pg_examine,
    .cancel = pg_cancel,
    .clock = pg_clock,
    .ask = pg_ask,
    .durability = pg_durability,
};
