/*
 * connection.c - statement cache, parameter checks and transactions above a driver.
 *
 * A statement is found by the address of its struct weir_sql. Prepared statements
 * belong to the link; when it is lost they are given up with it.
 *
 *   I1  savepoint_count is the number of savepoints that are neither kept nor undone
 *   I2  at most one struct weir_rows of a connection is open
 *   I3  begin_later: for all code above there is a transaction, and the engine
 *       does not know of it
 *   I4  while `qualified`, every statement of the cache names its tables with `qualifier`
 */
#include "db/connection.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/fault_point.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/noun.h"
#include "base/utf8.h"
#include "db/db.h"
#include "db/qualifier.h"

enum {
    STATEMENTS_MAX = 4096, /* there are as many as we wrote; this is a net, not a limit */
    STATEMENT_SIZE_MAX = 64 * 1024,
    SAVEPOINTS_MAX = 1000,
};

/* What a transaction ends with; see weir_connection_end_with(). */
struct ending {
    struct weir_step *steps;
    size_t count;
    void (*release)(void *state); /* NULL: there is no ending */
    void *state;
};

struct weir_connection {
    struct weir_db *db;           /* borrowed */
    const struct weir_heap *heap; /* borrowed from the database, as is the prefix */
    const char *prefix;
    char qualifier[WEIR_QUALIFIER_SIZE]; /* "": names are bare */
    bool qualified; /* `qualifier` is where the tables are; else they are looked for */
    struct weir_link *link;
    uint64_t generation;       /* see db.c */
    struct weir_list siblings; /* among all of the database; its owner's */
    struct weir_map
        statements; /* address of the struct weir_sql -> what the driver prepared */
    unsigned savepoint_count;
    struct ending ending;
    bool begin_later;
    bool rows_open;
    bool touched;         /* the native handle was asked for */
    bool lent;            /* its transaction is not the holder's to begin or end */
    bool marked;          /* see weir_connection_mark() */
    bool verified;        /* see weir_connection_set_verified() */
    bool abandoned;       /* see weir_db_abandon() */
    int64_t verified_for; /* see weir_connection_set_verified_for() */
};

static enum weir_status find_prepared(struct weir_connection *self,
                                      const struct weir_sql *sql, void **out,
                                      struct weir_error *error);
static enum weir_status check_values(const struct weir_connection *self,
                                     const struct weir_sql *sql,
                                     const struct weir_value *values, size_t value_count,
                                     struct weir_error *error);
static void drop_ending(struct weir_connection *self);

/* ---- life -------------------------------------------------------------------------- */

/* Unless it has to be asked for. A name that does not fit stays bare. */
static bool know_qualifier(const struct weir_link *link, char out[WEIR_QUALIFIER_SIZE])
{
    const char *database = link->config->url.database;

    if (link->driver->traits.has_search_path)
        return false;
    (void)weir_qualifier_quote(link->driver->traits.quote,
                               weir_str(database != NULL ? database : ""), out);
    return true;
}

enum weir_status weir_connection_create(struct weir_db *db, struct weir_link *link,
                                        uint64_t generation, struct weir_connection **out)
{
    const struct weir_heap *heap = weir_db_heap(db);
    struct weir_connection *self = weir_heap_zalloc(heap, sizeof *self);

    *out = self;
    if (self == NULL)
        return WEIR_NO_MEMORY;
    self->db = db;
    self->heap = heap;
    self->prefix = weir_db_prefix(db);
    self->link = link;
    self->qualified = know_qualifier(link, self->qualifier);
    self->generation = generation;
    weir_list_init(&self->siblings);
    weir_map_init(&self->statements, heap, STATEMENTS_MAX);
    return WEIR_OK;
}

struct weir_list *weir_connection_siblings(struct weir_connection *self)
{
    return &self->siblings;
}

struct weir_connection *weir_connection_of_sibling(struct weir_list *link)
{
    return WEIR_CONTAINER_OF(link, struct weir_connection, siblings);
}

static bool unprepare(void *argument, struct weir_str key, void *prepared)
{
    struct weir_connection *self = argument;

    (void)key;
    self->link->driver->unprepare(self->link, prepared);
    return true;
}

void weir_connection_destroy(struct weir_connection *self)
{
    if (self == NULL)
        return;
    drop_ending(self);
    weir_map_remove_if(&self->statements, unprepare, self);
    weir_map_fini(&self->statements);
    self->link->driver->close(self->link);
    weir_heap_free(self->heap, self);
}

uint64_t weir_connection_generation(const struct weir_connection *self)
{
    return self->generation;
}

struct weir_link *weir_connection_link(struct weir_connection *self)
{
    return self->link;
}

enum weir_engine weir_connection_engine(const struct weir_connection *self)
{
    return self->link->driver->engine;
}

const struct weir_engine_traits *
weir_connection_traits(const struct weir_connection *self)
{
    return &self->link->driver->traits;
}

const struct weir_link_config *weir_connection_config(const struct weir_connection *self)
{
    return self->link->config;
}

const char *weir_connection_prefix(const struct weir_connection *self)
{
    return self->prefix;
}

void *weir_connection_native(struct weir_connection *self)
{
    self->touched = !self->link->adopted; /* whose session is the application's */
    return self->link->driver->native(self->link);
}

void weir_connection_abandon(struct weir_connection *self)
{
    self->abandoned = true;
}

bool weir_connection_is_abandoned(const struct weir_connection *self)
{
    return self->abandoned;
}

void weir_connection_cancel(struct weir_connection *self)
{
    self->link->driver->cancel(self->link);
}

enum weir_driver_fault weir_driver_fault(const struct weir_link *link)
{
    if (WEIR_POINT(link->config->points, "db.lose"))
        return WEIR_FAULT_LOSE;
    if (WEIR_POINT(link->config->points, "db.fail"))
        return WEIR_FAULT_FAIL;
    return WEIR_NO_FAULT;
}

/* Drivers fill in an error in any case; callers need not want one. */
static struct weir_error *or_scratch(struct weir_error *error, struct weir_error *scratch)
{
    if (error == NULL)
        error = scratch;
    weir_error_clear(error);
    return error;
}

/* The name of a statement is a point in front of it, where a test may stop. */
static void pass(const struct weir_connection *self, const char *name)
{
    (void)WEIR_POINT(self->link->config->points, name);
    (void)name;
}

static enum weir_status refuse_lost(const struct weir_connection *self,
                                    struct weir_error *error)
{
    if (!self->link->lost)
        return WEIR_OK;
    return weir_error_set(error, WEIR_LOST, "the connection was lost");
}

/* Before anything that cannot travel with a BEGIN. */
static enum weir_status begin_now(struct weir_connection *self, struct weir_error *error)
{
    enum weir_status status = refuse_lost(self, error);

    if (status == WEIR_OK && self->begin_later) {
        self->begin_later = false;
        status = self->link->driver->begin(self->link, WEIR_READ_WRITE, error);
    }
    return status;
}

static enum weir_status in_statement(enum weir_status status, const struct weir_sql *sql,
                                     struct weir_error *error)
{
    if (status != WEIR_OK && status != WEIR_NO_ROW)
        weir_error_prefix(error, "%s", sql->name);
    return status;
}

/* ---- where the tables are ---------------------------------------------------------- */

void weir_connection_qualify(struct weir_connection *self, const char *qualifier)
{
    weir_map_remove_if(&self->statements, unprepare, self);
    memcpy(self->qualifier, qualifier, strlen(qualifier) + 1);
    self->qualified = true;
}

/*
 * Before the first statement that names a table. As long as nothing is found, which is
 * before migrate(), names stay bare, and each statement looks again. What a session of
 * our own has found holds for all.
 */
static enum weir_status settle(struct weir_connection *self, const struct weir_sql *sql,
                               struct weir_error *error)
{
    char qualifier[WEIR_QUALIFIER_SIZE];
    bool found;
    enum weir_status status;

    if (self->qualified || !weir_sql_names_tables(sql))
        return WEIR_OK;
    found = weir_db_get_qualifier(self->db, qualifier);
    if (!found) {
        status = weir_qualifier_find(self, qualifier, &found, error);
        if (status != WEIR_OK)
            return status;
        if (found && !self->link->adopted)
            weir_db_keep_qualifier(self->db, qualifier);
    }
    if (found)
        weir_connection_qualify(self, qualifier);
    return WEIR_OK;
}

/* ---- statements -------------------------------------------------------------------- */

/* Everything that must be right before a statement is sent. */
static enum weir_status ready(struct weir_connection *self, const struct weir_sql *sql,
                              const struct weir_value *values, size_t value_count,
                              void **prepared, struct weir_error *error)
{
    enum weir_status status = refuse_lost(self, error);

    WEIR_ASSERT(!self->rows_open);
    pass(self, sql->name);
    if (status == WEIR_OK)
        status = check_values(self, sql, values, value_count, error);
    if (status == WEIR_OK)
        status = settle(self, sql, error);
    if (status == WEIR_OK)
        status = find_prepared(self, sql, prepared, error);
    return status;
}

static enum weir_status run(struct weir_connection *self, void *prepared,
                            const struct weir_value *values, struct weir_cursor *cursor,
                            struct weir_error *error)
{
    const struct weir_driver *driver = self->link->driver;

    if (!self->begin_later)
        return driver->run(self->link, prepared, values, cursor, error);
    self->begin_later = false;
    return driver->run_first(self->link, prepared, values, cursor, error);
}

enum weir_status weir_connection_execute(struct weir_connection *self,
                                         const struct weir_sql *sql,
                                         const struct weir_value *values,
                                         size_t value_count, int64_t *changed,
                                         struct weir_error *error)
{
    struct weir_error scratch;
    struct weir_cursor cursor = {0};
    void *prepared = NULL;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    status = ready(self, sql, values, value_count, &prepared, error);
    if (status == WEIR_OK)
        status = run(self, prepared, values, &cursor, error);
    if (status == WEIR_OK) {
        /* A statement with rows is done only when its last row has been fetched. */
        while (cursor.column_count > 0 && status == WEIR_OK)
            status = self->link->driver->next(self->link, &cursor, error);
        if (status == WEIR_NO_ROW)
            status = WEIR_OK;
        if (changed != NULL)
            *changed = cursor.changed;
        self->link->driver->finish(self->link, &cursor);
    }
    return in_statement(status, sql, error);
}

enum weir_status weir_connection_query(struct weir_connection *self,
                                       const struct weir_sql *sql,
                                       const struct weir_value *values,
                                       size_t value_count, struct weir_rows *out,
                                       struct weir_error *error)
{
    struct weir_error scratch;
    void *prepared = NULL;
    enum weir_status status;

    *out = (struct weir_rows){.sql = sql};
    error = or_scratch(error, &scratch);
    status = ready(self, sql, values, value_count, &prepared, error);
    if (status == WEIR_OK)
        status = run(self, prepared, values, &out->cursor, error);
    if (status == WEIR_OK) {
        out->connection = self;
        self->rows_open = true;
    }
    return in_statement(status, sql, error);
}

bool weir_connection_can_save(struct weir_connection *self)
{
    /* A test wants to stop in front of each statement. */
    bool one_by_one = WEIR_POINT(self->link->config->points, "db.one_by_one");

    return self->link->driver->run_saved != NULL && !one_by_one && !self->begin_later &&
           !self->link->lost &&
           self->link->driver->transaction(self->link) == WEIR_TRANSACTION_OPEN;
}

/* The steps of a saved call, prepared. */
static enum weir_status ready_saved(struct weir_connection *self,
                                    const struct weir_sql *sql,
                                    const struct weir_value *values, size_t value_count,
                                    struct weir_driver_step steps[WEIR_SAVED_STEP_COUNT],
                                    struct weir_error *error)
{
    static const struct weir_sql SQL_BEGIN = {.name = "begin call",
                                              .text = "SAVEPOINT " WEIR_SAVED_NAME};
    static const struct weir_sql SQL_END = {.name = "end call",
                                            .text = "RELEASE SAVEPOINT " WEIR_SAVED_NAME};
    enum weir_status status =
        ready(self, sql, values, value_count, &steps[WEIR_SAVED_RUN].prepared, error);

    steps[WEIR_SAVED_RUN].values = values;
    if (status == WEIR_OK)
        status =
            find_prepared(self, &SQL_BEGIN, &steps[WEIR_SAVED_BEGIN].prepared, error);
    if (status == WEIR_OK)
        status = find_prepared(self, &SQL_END, &steps[WEIR_SAVED_END].prepared, error);
    return status;
}

enum weir_status weir_connection_query_saved(struct weir_connection *self,
                                             const struct weir_sql *sql,
                                             const struct weir_value *values,
                                             size_t value_count, struct weir_rows *out,
                                             struct weir_error *error)
{
    struct weir_driver_step steps[WEIR_SAVED_STEP_COUNT];
    struct weir_error scratch;
    enum weir_status status;

    memset(steps, 0, sizeof steps);
    *out = (struct weir_rows){.sql = sql};
    error = or_scratch(error, &scratch);
    WEIR_ASSERT(self->link->driver->run_saved != NULL && !self->begin_later);
    status = ready_saved(self, sql, values, value_count, steps, error);
    if (status == WEIR_OK)
        status = self->link->driver->run_saved(self->link, steps, &out->cursor, error);
    if (status == WEIR_OK) {
        out->connection = self;
        self->rows_open = true;
    }
    return in_statement(status, sql, error);
}

void weir_connection_spoil(struct weir_connection *self)
{
    WEIR_ASSERT(!self->rows_open);
    self->link->driver->spoil(self->link);
}

enum weir_status weir_rows_next(struct weir_rows *self, struct weir_error *error)
{
    struct weir_connection *connection = self->connection;
    struct weir_error scratch;

    WEIR_ASSERT(connection != NULL);
    error = or_scratch(error, &scratch);
    if (self->misread)
        return in_statement(weir_error_set(error, WEIR_SCHEMA,
                                           "a column is not of the type it was read as"),
                            self->sql, error);
    return in_statement(
        connection->link->driver->next(connection->link, &self->cursor, error), self->sql,
        error);
}

void weir_rows_close(struct weir_rows *self)
{
    struct weir_connection *connection = self->connection;

    if (connection == NULL)
        return;
    connection->link->driver->finish(connection->link, &self->cursor);
    connection->rows_open = false;
    self->connection = NULL;
}

static struct weir_value read_column(struct weir_rows *self, size_t column,
                                     enum weir_type wanted)
{
    struct weir_value value = weir_null();
    bool fits = true;

    WEIR_ASSERT(self->connection != NULL);
    if (column < self->cursor.column_count)
        self->connection->link->driver->read(&self->cursor, column, wanted, &value,
                                             &fits);
    else
        fits = false;
    self->misread = self->misread || !fits;
    return value;
}

bool weir_rows_is_null(struct weir_rows *self, size_t column)
{
    /* Anything can be had as bytes or does not fit; only a null is a null that fits. */
    struct weir_value value = weir_null();
    bool fits = false;

    if (column < self->cursor.column_count)
        self->connection->link->driver->read(&self->cursor, column, WEIR_TYPE_NULL,
                                             &value, &fits);
    return fits && value.type == WEIR_TYPE_NULL;
}

int64_t weir_rows_integer(struct weir_rows *self, size_t column)
{
    struct weir_value value = read_column(self, column, WEIR_TYPE_INTEGER);

    return value.type == WEIR_TYPE_INTEGER ? value.as.integer : 0;
}

double weir_rows_real(struct weir_rows *self, size_t column)
{
    struct weir_value value = read_column(self, column, WEIR_TYPE_REAL);

    return value.type == WEIR_TYPE_REAL ? value.as.real : 0;
}

bool weir_rows_boolean(struct weir_rows *self, size_t column)
{
    struct weir_value value = read_column(self, column, WEIR_TYPE_BOOLEAN);

    return value.type == WEIR_TYPE_BOOLEAN && value.as.boolean;
}

struct weir_str weir_rows_text(struct weir_rows *self, size_t column)
{
    struct weir_value value = read_column(self, column, WEIR_TYPE_TEXT);

    return value.type == WEIR_TYPE_TEXT ? value.as.text : (struct weir_str){"", 0};
}

struct weir_str weir_rows_bytes(struct weir_rows *self, size_t column)
{
    struct weir_value value = read_column(self, column, WEIR_TYPE_BYTES);

    return value.type == WEIR_TYPE_BYTES ? value.as.text : (struct weir_str){"", 0};
}

enum weir_status weir_connection_query_integer(struct weir_connection *self,
                                               const struct weir_sql *sql,
                                               const struct weir_value *values,
                                               size_t value_count, int64_t *out,
                                               struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(self, sql, values, value_count, &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        *out = weir_rows_integer(&rows, 0);
        if (rows.misread)
            status = weir_error_set(error, WEIR_SCHEMA, "%s: not an integer", sql->name);
    }
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_connection_execute_many(struct weir_connection *self,
                                              const struct weir_sql *sql,
                                              const struct weir_value *values,
                                              size_t row_count, size_t column_count,
                                              int64_t *changed, struct weir_error *error)
{
    struct weir_error scratch;
    void *prepared = NULL;
    int64_t sum = 0;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    status = begin_now(self, error);
    WEIR_ASSERT(!self->rows_open);
    for (size_t i = 0; i < row_count && status == WEIR_OK; i++)
        status = check_values(self, sql, values + i * column_count, column_count, error);
    if (status == WEIR_OK && row_count > 0) {
        pass(self, sql->name);
        status = settle(self, sql, error);
        if (status == WEIR_OK)
            status = find_prepared(self, sql, &prepared, error);
    }
    if (status == WEIR_OK && row_count > 0)
        status = self->link->driver->run_many(self->link, prepared, values, row_count,
                                              column_count, &sum, error);
    if (changed != NULL)
        *changed = status == WEIR_OK ? sum : 0;
    return in_statement(status, sql, error);
}

/* Steps that need no allocation: more travel in several groups. */
enum { STEPS_TOGETHER = 64 };

/* Settling forgets what was prepared, so it comes before all of them. */
static enum weir_status prepare_group(struct weir_connection *self,
                                      const struct weir_step *steps, size_t count,
                                      struct weir_driver_step *group,
                                      struct weir_error *error)
{
    enum weir_status status = refuse_lost(self, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = in_statement(settle(self, steps[i].sql, error), steps[i].sql, error);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        group[i] = (struct weir_driver_step){.values = steps[i].values};
        status = begin_now(self, error);
        if (status == WEIR_OK)
            status = find_prepared(self, steps[i].sql, &group[i].prepared, error);
        status = in_statement(status, steps[i].sql, error);
    }
    return status;
}

static enum weir_status execute_group(struct weir_connection *self,
                                      struct weir_step *steps, size_t count,
                                      struct weir_error *error)
{
    struct weir_driver_step group[STEPS_TOGETHER];
    size_t failed = 0;
    enum weir_status status = prepare_group(self, steps, count, group, error);

    if (status != WEIR_OK)
        return status;
    status = self->link->driver->run_steps(self->link, group, count, &failed, error);
    if (status != WEIR_OK)
        return in_statement(status, steps[failed].sql, error);
    for (size_t i = 0; i < count; i++)
        steps[i].changed = group[i].changed;
    return WEIR_OK;
}

static enum weir_status check_steps(const struct weir_connection *self,
                                    const struct weir_step *steps, size_t count,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = in_statement(check_values(self, steps[i].sql, steps[i].values,
                                           steps[i].value_count, error),
                              steps[i].sql, error);
    return status;
}

enum weir_status weir_connection_execute_steps(struct weir_connection *self,
                                               struct weir_step *steps, size_t step_count,
                                               struct weir_error *error)
{
    struct weir_error scratch;
    enum weir_status status;
    /* A test cannot stop between two that travel together. */
    bool one_by_one = WEIR_POINT(self->link->config->points, "db.one_by_one");
    size_t together = one_by_one ? 1 : STEPS_TOGETHER;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(!self->rows_open);
    status = check_steps(self, steps, step_count, error);
    for (size_t done = 0; done < step_count && status == WEIR_OK; done += together) {
        size_t left = step_count - done;

        left = left < together ? left : together;
        for (size_t i = 0; i < left; i++)
            pass(self, steps[done + i].sql->name);
        status = execute_group(self, steps + done, left, error);
    }
    return status;
}

/* With the qualifier of the tables; NULL: with bare names. */
static enum weir_status execute_at(struct weir_connection *self,
                                   const struct weir_sql *sql, const char *qualifier,
                                   struct weir_error *error)
{
    struct weir_buf expanded;
    enum weir_status status;

    weir_buf_init(&expanded, self->heap, STATEMENT_SIZE_MAX);
    status = begin_now(self, error);
    if (status == WEIR_OK)
        status = weir_sql_expand_at(sql, self->link->driver->engine, qualifier,
                                    self->prefix, &expanded, error);
    if (status == WEIR_OK)
        status = self->link->driver->exec(self->link, weir_buf_text(&expanded), error);
    weir_buf_fini(&expanded);
    return status;
}

enum weir_status weir_connection_execute_text(struct weir_connection *self,
                                              const char *text, struct weir_error *error)
{
    const struct weir_sql sql = {.name = "text", .text = text, .parameters = ""};
    struct weir_error scratch;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    status = refuse_lost(self, error);
    if (status == WEIR_OK)
        status = settle(self, &sql, error);
    return status == WEIR_OK ? execute_at(self, &sql, self->qualifier, error) : status;
}

enum weir_status weir_connection_execute_ddl(struct weir_connection *self,
                                             const char *text, struct weir_error *error)
{
    const struct weir_sql sql = {.name = "text", .text = text, .parameters = ""};
    struct weir_error scratch;

    return execute_at(self, &sql, NULL, or_scratch(error, &scratch));
}

/* ---- transactions ------------------------------------------------------------------ */

/* In a transactional handler. */
static enum weir_status refuse_lent(const struct weir_connection *self,
                                    struct weir_error *error)
{
    if (!self->lent)
        return WEIR_OK;
    return weir_error_set(
        error, WEIR_INVALID,
        "the transaction of a handler is committed when it has answered");
}

static enum weir_status begin(struct weir_connection *self, enum weir_access access,
                              enum weir_holder holder, struct weir_error *error)
{
    struct weir_error scratch;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(!self->link->adopted); /* the application's transactions are its own */
    status = refuse_lent(self, error);
    if (status != WEIR_OK)
        return status;
    status = refuse_lost(self, error);
    self->link->holder = holder;
    if (status == WEIR_OK)
        status = self->link->driver->begin(self->link, access, error);
    self->link->holder = WEIR_HELD_BY_LIBRARY;
    self->marked = false;
    if (status == WEIR_OK)
        self->savepoint_count = 0;
    else
        weir_error_prefix(error, "begin");
    return status;
}

enum weir_status weir_connection_begin(struct weir_connection *self,
                                       struct weir_error *error)
{
    return begin(self, WEIR_READ_WRITE, WEIR_HELD_BY_APPLICATION, error);
}

enum weir_status weir_connection_begin_own(struct weir_connection *self,
                                           struct weir_error *error)
{
    return begin(self, WEIR_READ_WRITE, WEIR_HELD_BY_LIBRARY, error);
}

enum weir_status weir_connection_begin_later(struct weir_connection *self,
                                             struct weir_error *error)
{
    /* A test wants to stop in front of each statement, as they are. */
    bool one_by_one = WEIR_POINT(self->link->config->points, "db.one_by_one");

    if (self->link->driver->run_first == NULL || one_by_one || self->link->lost ||
        self->lent)
        return weir_connection_begin_own(self, error);
    WEIR_ASSERT(!self->link->adopted);
    self->marked = false;
    self->savepoint_count = 0;
    self->begin_later = true;
    return WEIR_OK;
}

enum weir_status weir_connection_begin_to_lend(struct weir_connection *self,
                                               int64_t idle_us, struct weir_error *error)
{
    self->link->lent_idle_us = idle_us;
    return begin(self, WEIR_READ_WRITE, WEIR_HELD_BY_HANDLER, error);
}

enum weir_status weir_connection_begin_read(struct weir_connection *self,
                                            struct weir_error *error)
{
    return begin(self, WEIR_READ_ONLY, WEIR_HELD_BY_LIBRARY, error);
}

void weir_connection_end_with(struct weir_connection *self, struct weir_step *steps,
                              size_t step_count, void (*release)(void *state),
                              void *state)
{
    WEIR_ASSERT(self->ending.release == NULL && !self->link->adopted);
    self->ending = (struct ending){steps, step_count, release, state};
}

/* The transaction has ended. */
static void drop_ending(struct weir_connection *self)
{
    struct ending ending = self->ending;

    self->ending = (struct ending){.steps = NULL};
    if (ending.release != NULL)
        ending.release(ending.state);
}

static enum weir_status commit(struct weir_connection *self, struct weir_error *error)
{
    enum weir_status status;

    pass(self, "db.commit");
    status = refuse_lost(self, error);
    if (status == WEIR_OK && self->begin_later) {
        self->begin_later = false; /* and nothing has happened */
        return WEIR_OK;
    }
    if (status == WEIR_OK)
        status = self->link->driver->commit(self->link, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "commit");
    return status;
}

/* Each by itself. */
static enum weir_status end_apart(struct weir_connection *self, struct weir_error *error)
{
    enum weir_status status = weir_connection_execute_steps(self, self->ending.steps,
                                                            self->ending.count, error);

    if (status == WEIR_OK)
        return commit(self, error);
    weir_connection_rollback(self);
    return status;
}

static enum weir_status end_together(struct weir_connection *self,
                                     struct weir_error *error)
{
    const struct ending *ending = &self->ending;
    struct weir_driver_step group[STEPS_TOGETHER];
    size_t failed = 0;
    enum weir_status status = check_steps(self, ending->steps, ending->count, error);

    if (status == WEIR_OK)
        status = prepare_group(self, ending->steps, ending->count, group, error);
    if (status != WEIR_OK) {
        weir_connection_rollback(self);
        return status;
    }
    for (size_t i = 0; i < ending->count; i++)
        pass(self, ending->steps[i].sql->name);
    pass(self, "db.commit");
    status = self->link->driver->commit_steps(self->link, group, ending->count, &failed,
                                              error);
    if (status != WEIR_OK && failed < ending->count)
        return in_statement(status, ending->steps[failed].sql, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "commit");
    return status;
}

static enum weir_status commit_with_ending(struct weir_connection *self,
                                           struct weir_error *error)
{
    bool one_by_one = WEIR_POINT(self->link->config->points, "db.one_by_one");

    if (self->ending.count == 0)
        return commit(self, error);
    return one_by_one || self->link->driver->commit_steps == NULL ||
                   self->ending.count > STEPS_TOGETHER
               ? end_apart(self, error)
               : end_together(self, error);
}

enum weir_status weir_connection_commit(struct weir_connection *self,
                                        struct weir_error *error)
{
    struct weir_error scratch;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(!self->link->adopted && !self->rows_open);
    status = refuse_lent(self, error);
    if (status != WEIR_OK)
        return status;
    status = commit_with_ending(self, error);
    self->savepoint_count = 0;
    drop_ending(self);
    return status;
}

void weir_connection_rollback(struct weir_connection *self)
{
    WEIR_ASSERT(!self->link->adopted && !self->rows_open);
    self->savepoint_count = 0;
    if (self->begin_later)
        self->begin_later = false;
    else if (!self->link->lost &&
             weir_connection_transaction(self) != WEIR_TRANSACTION_NONE)
        self->link->driver->rollback(self->link);
    drop_ending(self);
}

enum weir_transaction_state weir_connection_transaction(struct weir_connection *self)
{
    if (self->link->lost)
        return WEIR_TRANSACTION_NONE;
    if (self->begin_later)
        return WEIR_TRANSACTION_OPEN;
    return self->link->driver->transaction(self->link);
}

static enum weir_status exec_savepoint(struct weir_connection *self, const char *verb,
                                       struct weir_error *error)
{
    char text[64];
    enum weir_status status = begin_now(self, error);

    (void)snprintf(text, sizeof text, "%s weir_%u", verb, self->savepoint_count);
    if (status == WEIR_OK)
        status = self->link->driver->exec(self->link, text, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "savepoint");
    return status;
}

enum weir_status weir_connection_savepoint(struct weir_connection *self,
                                           struct weir_error *error)
{
    struct weir_error scratch;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(self->savepoint_count < SAVEPOINTS_MAX);
    self->savepoint_count++;
    status = exec_savepoint(self, "SAVEPOINT", error);
    if (status != WEIR_OK)
        self->savepoint_count--;
    return status;
}

/* Back to the newest savepoint, and forget it. */
static enum weir_status return_to_savepoint(struct weir_connection *self,
                                            struct weir_error *error)
{
    enum weir_status status;

    if (!self->link->lost &&
        self->link->driver->transaction(self->link) == WEIR_TRANSACTION_NONE)
        return weir_error_set(error, WEIR_CONFLICT,
                              "savepoint: the database has rolled the transaction back");
    status = exec_savepoint(self, "ROLLBACK TO SAVEPOINT", error);
    if (status == WEIR_OK)
        status = exec_savepoint(self, "RELEASE SAVEPOINT", error);
    return status;
}

/*
 * What could not be kept must not stay behind: the transaction may go on and commit.
 * Outside of a transaction, on an adopted connection, releasing the last savepoint of
 * SQLite is a commit, and may fail like one.
 */
enum weir_status weir_connection_savepoint_keep(struct weir_connection *self,
                                                struct weir_error *error)
{
    struct weir_error scratch;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(self->savepoint_count > 0);
    status = exec_savepoint(self, "RELEASE SAVEPOINT", error);
    if (status != WEIR_OK)
        (void)!return_to_savepoint(self, &(struct weir_error){.status = WEIR_OK});
    self->savepoint_count--;
    return status;
}

enum weir_status weir_connection_savepoint_undo(struct weir_connection *self,
                                                struct weir_error *error)
{
    struct weir_error scratch;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(self->savepoint_count > 0);
    status = return_to_savepoint(self, error);
    self->savepoint_count--;
    return status;
}

/* The outermost savepoint is the one that is renewed for each message of a handler. On
 * SQLite, where there is no round trip, parsing is most of what that costs. */
static enum weir_status renew_prepared(struct weir_connection *self,
                                       struct weir_error *error)
{
    static const struct weir_sql SQL_RELEASE = {.name = "release savepoint",
                                                .text = "RELEASE SAVEPOINT weir_1"};
    static const struct weir_sql SQL_SAVE = {.name = "savepoint",
                                             .text = "SAVEPOINT weir_1"};
    enum weir_status status =
        weir_connection_execute(self, &SQL_RELEASE, NO_VALUES, NULL, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(self, &SQL_SAVE, NO_VALUES, NULL, error);
    return status;
}

/* The handle was in other hands: the session is put in order, too. */
static enum weir_status renew_touched(struct weir_connection *self,
                                      struct weir_error *error)
{
    char name[32];
    enum weir_status status;

    (void)snprintf(name, sizeof name, "weir_%u", self->savepoint_count);
    status = self->link->driver->renew(self->link, name, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "savepoint");
    return status;
}

enum weir_status weir_connection_savepoint_renew(struct weir_connection *self,
                                                 struct weir_error *error)
{
    struct weir_error scratch;
    char verbs[64];
    enum weir_status status;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(self->savepoint_count > 0);
    if (self->touched && self->link->driver->renew != NULL && !self->link->lost)
        return renew_touched(self, error);
    if (self->link->driver->traits.in_process && self->savepoint_count == 1)
        return renew_prepared(self, error);
    if (self->link->driver->traits.one_statement_per_text) {
        status = exec_savepoint(self, "RELEASE SAVEPOINT", error);
        return status == WEIR_OK ? exec_savepoint(self, "SAVEPOINT", error) : status;
    }
    (void)snprintf(verbs, sizeof verbs, "RELEASE SAVEPOINT weir_%u;SAVEPOINT",
                   self->savepoint_count);
    return exec_savepoint(self, verbs, error);
}

/* Where a rollback does not undo settings. */
static enum weir_status regain(struct weir_connection *self, struct weir_error *error)
{
    enum weir_status status;

    if (!self->touched || self->link->driver->regain == NULL)
        return WEIR_OK;
    status = self->link->driver->regain(self->link, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "savepoint");
    return status;
}

enum weir_status weir_connection_savepoint_return(struct weir_connection *self,
                                                  struct weir_error *error)
{
    struct weir_error scratch;

    enum weir_status status;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(self->savepoint_count > 0);
    status = exec_savepoint(self, "ROLLBACK TO SAVEPOINT", error);
    return status == WEIR_OK ? regain(self, error) : status;
}

/* ---- in other hands ---------------------------------------------------------------- */

void weir_connection_lend(struct weir_connection *self)
{
    self->lent = true;
    if (!self->link->lost && self->link->driver->lend != NULL)
        self->link->driver->lend(self->link);
}

void weir_connection_reclaim(struct weir_connection *self)
{
    self->lent = false;
    if (!self->link->lost && self->link->driver->reclaim != NULL)
        self->link->driver->reclaim(self->link);
}

/* An engine that resets a session may forget what was prepared in it. */
void weir_connection_reset(struct weir_connection *self)
{
    const struct weir_driver *driver = self->link->driver;
    struct weir_error ignored;
    bool needed = self->touched && !self->link->lost && driver->reset != NULL;

    WEIR_ASSERT(!self->rows_open);
    self->touched = false;
    if (!needed)
        return;
    if (driver->reset_forgets)
        weir_map_remove_if(&self->statements, unprepare, self);
    if (driver->reset(self->link, &ignored) != WEIR_OK)
        self->link->lost = true; /* in whatever state it is, it is closed */
}

enum weir_status weir_connection_examine(struct weir_connection *self,
                                         struct weir_error *error)
{
    struct weir_error scratch;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    status = refuse_lost(self, error);
    if (status == WEIR_OK && self->link->driver->examine != NULL)
        status = self->link->driver->examine(self->link, error);
    if (status == WEIR_OK &&
        self->link->driver->transaction(self->link) != WEIR_TRANSACTION_OPEN)
        status = weir_error_set(error, WEIR_INVALID, "there is no transaction any more");
    return status;
}

void weir_connection_mark(struct weir_connection *self)
{
    self->marked = true;
}

bool weir_connection_is_marked(const struct weir_connection *self)
{
    return self->marked;
}

void weir_connection_set_verified(struct weir_connection *self)
{
    self->verified = !self->link->config->url.transaction_pooler;
}

bool weir_connection_is_verified(const struct weir_connection *self)
{
    return self->verified;
}

void weir_connection_set_verified_for(struct weir_connection *self, int64_t number)
{
    self->verified_for = self->link->config->url.transaction_pooler ? 0 : number;
}

bool weir_connection_is_verified_for(const struct weir_connection *self, int64_t number)
{
    return self->verified_for == number;
}

enum weir_status weir_connection_ask(struct weir_connection *self, const char *text,
                                     int64_t wait_limit_ns, int64_t *out,
                                     struct weir_error *error)
{
    struct weir_error scratch;
    enum weir_status status;

    error = or_scratch(error, &scratch);
    WEIR_ASSERT(self->link->driver->ask != NULL && !self->link->adopted);
    status = refuse_lost(self, error);
    if (status == WEIR_OK)
        status = self->link->driver->ask(self->link, text, wait_limit_ns, out, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "ask");
    return status;
}

enum weir_status weir_connection_clock(struct weir_connection *self, int64_t *out_us,
                                       struct weir_error *error)
{
    static const struct weir_sql SQL_CLOCK = {.name = "clock", .text = "SELECT {now}"};
    struct weir_error scratch;
    enum weir_status status;

    if (self->begin_later)
        return weir_connection_query_integer(self, &SQL_CLOCK, NO_VALUES, out_us, error);

    error = or_scratch(error, &scratch);
    status = refuse_lost(self, error);
    if (status == WEIR_OK)
        status = self->link->driver->clock(self->link, out_us, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "clock");
    return status;
}

/* ---- the cache --------------------------------------------------------------------- */

static enum weir_status prepare(struct weir_connection *self, const struct weir_sql *sql,
                                void **out, struct weir_error *error)
{
    struct weir_str key = {(const char *)&sql, sizeof sql};
    const char *parameters = sql->parameters != NULL ? sql->parameters : "";
    struct weir_buf text;
    enum weir_status status;

    *out = NULL;
    weir_buf_init(&text, self->heap, STATEMENT_SIZE_MAX);
    status = weir_sql_expand_at(sql, self->link->driver->engine, self->qualifier,
                                self->prefix, &text, error);
    if (status == WEIR_OK)
        status = self->link->driver->prepare(self->link, weir_buf_text(&text), parameters,
                                             out, error);
    weir_buf_fini(&text);
    if (status != WEIR_OK)
        return status;
    status = weir_map_put(&self->statements, key, *out);
    if (status != WEIR_OK) {
        self->link->driver->unprepare(self->link, *out);
        *out = NULL;
        return weir_error_set(error, status, "statement cache: %s",
                              weir_status_text(status));
    }
    return WEIR_OK;
}

static enum weir_status find_prepared(struct weir_connection *self,
                                      const struct weir_sql *sql, void **out,
                                      struct weir_error *error)
{
    *out = weir_map_find(&self->statements,
                         (struct weir_str){(const char *)&sql, sizeof sql});
    return *out != NULL ? WEIR_OK : prepare(self, sql, out, error);
}

/* ---- what may be sent -------------------------------------------------------------- */

/* How many bytes from `at` on are plain ASCII without a zero, eight at a time. */
static size_t plain_run(struct weir_str text, size_t at)
{
    const uint64_t lows = UINT64_C(0x0101010101010101);
    const uint64_t highs = UINT64_C(0x8080808080808080);
    size_t begin = at;

    for (; at + sizeof(uint64_t) <= text.size; at += sizeof(uint64_t)) {
        uint64_t eight;

        memcpy(&eight, text.data + at, sizeof eight);
        /* A byte of 0 borrows from its high bit, one above 0x7f has it already. */
        if (((eight | (eight - lows)) & highs) != 0)
            break;
    }
    return at - begin;
}

static enum weir_status check_text(struct weir_str text, unsigned number,
                                   struct weir_error *error)
{
    for (size_t i = plain_run(text, 0); i < text.size; i += plain_run(text, i)) {
        size_t size = weir_utf8_sequence(text.data + i, text.size - i);

        if (size == 0)
            return weir_error_set(error, WEIR_INVALID,
                                  "parameter %u is not valid UTF-8 at byte %zu", number,
                                  i);
        if (text.data[i] == '\0')
            return weir_error_set(
                error, WEIR_INVALID,
                "parameter %u has a zero byte at %zu, which text cannot have", number, i);
        i += size;
    }
    return WEIR_OK;
}

static enum weir_status check_scalar(const struct weir_value *value,
                                     enum weir_type wanted, unsigned number,
                                     struct weir_error *error)
{
    if (value->type == WEIR_TYPE_NULL)
        return WEIR_OK;
    if (value->type != wanted)
        return weir_error_set(error, WEIR_INVALID, "parameter %u is of another type",
                              number);
    if (wanted != WEIR_TYPE_TEXT && wanted != WEIR_TYPE_BYTES)
        return WEIR_OK;
    if (value->as.text.size > WEIR_VALUE_SIZE_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "parameter %u has %zu bytes, must have at most %d", number,
                              value->as.text.size, WEIR_VALUE_SIZE_MAX);
    return wanted == WEIR_TYPE_TEXT ? check_text(value->as.text, number, error) : WEIR_OK;
}

static bool is_array(char letter)
{
    return letter >= 'A' && letter <= 'Z';
}

static enum weir_status check_array(const struct weir_value *value, enum weir_type wanted,
                                    unsigned number, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (value->type != WEIR_TYPE_ARRAY || value->element_type != wanted)
        return weir_error_set(error, WEIR_INVALID, "parameter %u is of another type",
                              number);
    for (size_t i = 0; i < value->as.array.count && status == WEIR_OK; i++)
        status = check_scalar(&value->as.array.elements[i], wanted, number, error);
    return status;
}

/*
 * In execute_many() each row is a row of scalars, also where the statement takes
 * arrays: so a capital letter accepts both an array and an element.
 */
static enum weir_status check_values(const struct weir_connection *self,
                                     const struct weir_sql *sql,
                                     const struct weir_value *values, size_t value_count,
                                     struct weir_error *error)
{
    const char *letters = sql->parameters != NULL ? sql->parameters : "";
    enum weir_status status = WEIR_OK;

    (void)self;
    if (strlen(letters) != value_count)
        return weir_error_set(
            error, WEIR_INVALID, "%zu %s given, must be %zu", value_count,
            WEIR_NOUN(value_count, "parameter", "parameters"), strlen(letters));
    for (size_t i = 0; i < value_count && status == WEIR_OK; i++) {
        enum weir_type wanted = (enum weir_type)weir_sql_type(letters[i]);

        if (is_array(letters[i]) && values[i].type == WEIR_TYPE_ARRAY)
            status = check_array(&values[i], wanted, (unsigned)i + 1, error);
        else
            status = check_scalar(&values[i], wanted, (unsigned)i + 1, error);
    }
    return status;
}

enum weir_status weir_connection_check_durability(struct weir_connection *self,
                                                  weir_finding_fn report, void *state,
                                                  struct weir_error *error)
{
    struct weir_error scratch;

    return self->link->driver->durability(self->link, report, state,
                                          error != NULL ? error : &scratch);
}
