/*
 * statement.c - see mariadb/statement.h.
 *
 * The client library offers to copy columns into buffers of the caller's, whose sizes
 * are not known beforehand. It also offers a callback that is shown each column where it
 * lies (STMT_ATTR_CB_RESULT, what MariaDB's Python connector is built on); so nothing
 * is copied and nothing has to be measured.
 *
 * Results are stored at once and not fetched row by row from the socket: the connection
 * is free for the next statement (the application's, on an adopted connection), and an
 * error in the middle of the rows is an error of run().
 *
 * A trap of the library, found by reading it: mysql_stmt_free_result() keeps the rows
 * when all of them were read, until the next run. One row may be 16 MiB; so finish()
 * steps back to the first row before it.
 */
#include "db/mariadb/statement.h"

#include <string.h>
#include <strings.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/mariadb/column.h"
#include "db/mariadb/error.h"
#include "db/mariadb/link.h"

enum {
    /* Up to here no server in use refuses a packet. */
    PACKET_SIZE_UNASKED = 64 * 1024,

    /* A value of this size may travel ahead of its statement, in pieces of that. */
    LONG_SIZE_MIN = 4 * 1024,
    PIECE_SIZE_MAX = 1024 * 1024,

    /* In front of the values: command, statement, flags; per parameter a type and a
     * bit. */
    PACKET_HEADER_SIZE = 64,
    PARAMETER_HEADER_SIZE = 3,
};

/* In front of a statement on the application's connection, whose settings stay as they
 * are. */
static const char ADOPTED_PREFIX[] =
    WEIR_MARIA_SNAPSHOT_ISOLATION_OFF("SET STATEMENT ", " FOR") " ";

static const char SQL_PACKET_SIZE_MAX[] = "SELECT @@max_allowed_packet";

static void take_column(void *data, unsigned column, unsigned char **row);

/* ---- life -------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

static void release(const struct weir_heap *heap, struct weir_maria_statement *self)
{
    if (self->stmt != NULL)
        (void)mysql_stmt_close(self->stmt);
    weir_heap_free(heap, self->binds);
    weir_heap_free(heap, self->parameters);
    weir_heap_free(heap, self->order);
    weir_heap_free(heap, self->arranged);
    weir_heap_free(heap, self->columns);
    weir_heap_free(heap, self);
}

static size_t count_places(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '?';
    return count;
}

/* Where nothing is written behind a ?, it is the next value's. */
static size_t read_number(const char **text, size_t next)
{
    size_t number = 0;

    if (**text < '0' || **text > '9')
        return next;
    for (; **text >= '0' && **text <= '9' && number <= UINT8_MAX; ++*text)
        number = number * 10 + (size_t)(**text - '0');
    return number;
}

/*
 * Fill in `order` and write the text as the server wants it into `out`, which is as
 * large as the text. None of our texts has a question mark in a literal. False: a
 * number beyond the values.
 */
static bool read_places(struct weir_maria_statement *self, const char *text, char *out)
{
    bool used[UINT8_MAX + 1] = {false};
    size_t place = 0;

    self->in_order = true;
    while (*text != '\0') {
        size_t number;

        *out++ = *text;
        if (*text++ != '?')
            continue;
        number = read_number(&text, place + 1);
        if (number == 0 || number > self->value_count)
            return false;
        self->in_order = self->in_order && number == place + 1;
        used[number] = true;
        self->order[place++] = (uint8_t)(number - 1);
    }
    *out = '\0';
    for (size_t i = 1; i <= self->value_count; i++) {
        if (!used[i])
            return false;
    }
    return true;
}

static bool allocate(const struct weir_heap *heap, struct weir_maria_statement *self)
{
    size_t count = self->parameter_count + 1; /* one more, since none is no size */

    self->binds = weir_heap_zalloc_array(heap, count, sizeof *self->binds);
    self->parameters = weir_heap_zalloc_array(heap, count, sizeof *self->parameters);
    self->order = weir_heap_zalloc_array(heap, count, sizeof *self->order);
    self->arranged = weir_heap_zalloc_array(heap, count, sizeof *self->arranged);
    return self->binds != NULL && self->parameters != NULL && self->order != NULL &&
           self->arranged != NULL;
}

static struct weir_maria_statement *create(const struct weir_heap *heap, const char *text,
                                           size_t value_count)
{
    struct weir_maria_statement *self = weir_heap_zalloc(heap, sizeof *self);

    if (self == NULL)
        return NULL;
    self->parameter_count = count_places(text);
    self->value_count = value_count;
    if (!allocate(heap, self)) {
        release(heap, self);
        return NULL;
    }
    text += strspn(text, " \t\n");
    self->inserts = begins_with(text, "INSERT") || begins_with(text, "REPLACE");
    self->writes =
        self->inserts || begins_with(text, "UPDATE") || begins_with(text, "DELETE");
    return self;
}

const struct weir_value *weir_maria_arrange(struct weir_maria_statement *self,
                                            const struct weir_value *values)
{
    if (self->in_order)
        return values;
    for (size_t i = 0; i < self->parameter_count; i++)
        self->arranged[i] = values[self->order[i]];
    return self->arranged;
}

/* A function is no object to C, but the library takes all attributes as one. */
static void watch_columns(struct weir_maria_statement *self)
{
    const union {
        ps_result_callback function;
        const void *object;
    } callback = {.function = take_column};

    (void)mysql_stmt_attr_set(self->stmt, STMT_ATTR_CB_USER_DATA, self);
    (void)mysql_stmt_attr_set(self->stmt, STMT_ATTR_CB_RESULT, callback.object);
}

/* Prepare the text in the server's form. */
static enum weir_status prepare(struct weir_maria_link *self,
                                struct weir_maria_statement *statement, const char *text,
                                const char *letters, struct weir_error *error)
{
    const struct weir_heap *heap = self->link.config->heap;
    size_t prefix = self->link.adopted ? sizeof ADOPTED_PREFIX - 1 : 0;
    char *plain = weir_heap_alloc(heap, prefix + strlen(text) + 1);
    enum weir_status status = WEIR_OK;

    if (plain == NULL)
        return weir_no_memory(error, "prepare");
    memcpy(plain, ADOPTED_PREFIX, prefix);
    if (!read_places(statement, text, plain + prefix))
        status = weir_error_set(
            error, WEIR_INVALID, "prepare: the placeholders are not those of %zu %s",
            statement->value_count, WEIR_NOUN(statement->value_count, "value", "values"));
    else if (mysql_stmt_prepare(statement->stmt, plain, strlen(plain)) != 0)
        status = weir_maria_fail_statement(self, "prepare", statement->stmt, error);
    weir_heap_free(heap, plain);
    if (status != WEIR_OK)
        return status;
    if (mysql_stmt_param_count(statement->stmt) != statement->parameter_count)
        return weir_error_set(
            error, WEIR_INVALID, "prepare: %lu placeholders for %zu %s",
            mysql_stmt_param_count(statement->stmt), statement->parameter_count,
            WEIR_NOUN(statement->parameter_count, "parameter", "parameters"));
    for (size_t i = 0; i < statement->parameter_count; i++)
        statement->binds[i].buffer_type =
            weir_maria_parameter_type(letters[statement->order[i]]);
    return WEIR_OK;
}

enum weir_status weir_maria_prepare(struct weir_link *link, const char *text,
                                    const char *parameters, void **out,
                                    struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    struct weir_maria_statement *statement = NULL;
    enum weir_status status = weir_maria_enter(self, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = weir_maria_fault(self, "prepare", error);
    if (status != WEIR_OK)
        return status;

    statement = create(link->config->heap, text, strlen(parameters));
    if (statement != NULL)
        statement->stmt = mysql_stmt_init(self->mysql);
    if (statement == NULL || statement->stmt == NULL) {
        status = weir_no_memory(error, "prepare");
        goto out;
    }
    watch_columns(statement);
    status = prepare(self, statement, text, parameters, error);
    if (status != WEIR_OK)
        goto out;
    *out = statement;
    statement = NULL; /* the caller's from here on */

out:
    if (statement != NULL)
        release(link->config->heap, statement);
    return status;
}

void weir_maria_unprepare(struct weir_link *link, void *prepared)
{
    release(link->config->heap, prepared);
}

/* ---- running ----------------------------------------------------------------------- */

enum weir_status weir_maria_find_room(struct weir_maria_link *self,
                                      const struct weir_maria_statement *statement,
                                      size_t size, size_t *out, struct weir_error *error)
{
    size_t header =
        PACKET_HEADER_SIZE + PARAMETER_HEADER_SIZE * statement->parameter_count;
    int64_t packet_size_max;
    enum weir_status status;

    *out = PACKET_SIZE_UNASKED;
    if (size <= PACKET_SIZE_UNASKED - header)
        return WEIR_OK;
    if (self->packet_size_max == 0) {
        status = weir_maria_ask(self, SQL_PACKET_SIZE_MAX, &packet_size_max, error);
        if (status != WEIR_OK)
            return status;
        self->packet_size_max = (size_t)packet_size_max;
    }
    *out = self->packet_size_max > header ? self->packet_size_max - header : 0;
    return WEIR_OK;
}

static bool is_long(const struct weir_value *value)
{
    return weir_maria_is_string(value) && value->as.text.size >= LONG_SIZE_MIN;
}

/* What is left of a packet when the long values travel ahead; each of these has a limit
 * too. */
static enum weir_status check_pieces(const struct weir_maria_link *self,
                                     const struct weir_maria_statement *statement,
                                     const struct weir_value *values, size_t size,
                                     size_t room, struct weir_error *error)
{
    for (size_t i = 0; i < statement->parameter_count; i++) {
        if (!is_long(&values[i]))
            continue;
        if (values[i].as.text.size > self->packet_size_max)
            return weir_error_set(
                error, WEIR_INVALID,
                "parameter %zu has %zu %s, the server takes %zu (max_allowed_packet)",
                (size_t)statement->order[i] + 1, values[i].as.text.size,
                WEIR_NOUN(values[i].as.text.size, "byte", "bytes"),
                self->packet_size_max);
        size -= values[i].as.text.size;
    }
    if (size > room)
        return weir_error_set(
            error, WEIR_INVALID,
            "the parameters have %zu %s, the server takes %zu (max_allowed_packet)", size,
            WEIR_NOUN(size, "byte", "bytes"), room);
    return WEIR_OK;
}

static enum weir_status send_pieces(struct weir_maria_link *self,
                                    struct weir_maria_statement *statement,
                                    const struct weir_value *values,
                                    struct weir_error *error)
{
    size_t piece_max = self->packet_size_max / 2 < PIECE_SIZE_MAX
                           ? self->packet_size_max / 2
                           : PIECE_SIZE_MAX;
    enum weir_status status = WEIR_OK;

    for (unsigned i = 0; i < statement->parameter_count; i++) {
        struct weir_str rest = values[i].as.text;

        while (is_long(&values[i]) && rest.size > 0 && status == WEIR_OK) {
            size_t size = rest.size < piece_max ? rest.size : piece_max;

            status = weir_maria_fault(self, "execute", error);
            if (status == WEIR_OK &&
                mysql_stmt_send_long_data(statement->stmt, i, rest.data, size) != 0)
                status =
                    weir_maria_fail_statement(self, "execute", statement->stmt, error);
            rest = (struct weir_str){rest.data + size, rest.size - size};
        }
    }
    return status;
}

static enum weir_status bind_values(struct weir_maria_link *self,
                                    struct weir_maria_statement *statement,
                                    const struct weir_value *values, bool in_pieces,
                                    struct weir_error *error)
{
    for (size_t i = 0; i < statement->parameter_count; i++) {
        weir_maria_place(&statement->binds[i], &statement->parameters[i], &values[i]);
        if (in_pieces && is_long(&values[i])) {
            statement->binds[i].buffer = &statement->parameters[i];
            statement->binds[i].buffer_length = 0;
        }
    }
    if (statement->parameter_count > 0 &&
        mysql_stmt_bind_param(statement->stmt, statement->binds) != 0)
        return weir_maria_fail_statement(self, "bind", statement->stmt, error);
    return WEIR_OK;
}

/* Did the server itself say no? */
static bool is_from_server(const struct weir_error *error)
{
    return error->native_code != 0 &&
           !weir_maria_code_is_clients((unsigned)error->native_code);
}

/*
 * Make a statement usable again that stopped half way: rows on their way are dropped,
 * and the server forgets its parameters. mysql_stmt_free_result() is not enough: after
 * rows that ended in an error it leaves the statement waiting for more of them, for
 * ever. On a lost link too, whose socket is shut and answers at once: from 3.4 on the
 * library closes no statement, and frees none, beside one that waits for its rows. (The
 * socket of an adopted link is open, and might block.)
 */
static void recover(struct weir_maria_link *self, struct weir_maria_statement *statement)
{
    if (self->link.lost && self->link.adopted)
        return;
    if (mysql_stmt_reset(statement->stmt) != 0)
        weir_maria_lose(self);
}

static enum weir_status send_statement(struct weir_maria_link *self,
                                       struct weir_maria_statement *statement,
                                       const struct weir_value *values, bool in_pieces,
                                       struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (in_pieces)
        status = send_pieces(self, statement, values, error);
    if (status == WEIR_OK)
        status = weir_maria_fault(self, "execute", error);
    if (status == WEIR_OK && mysql_stmt_execute(statement->stmt) != 0)
        status = weir_maria_fail_statement(self, "execute", statement->stmt, error);
    /* A server that refused has forgotten the pieces and sends no rows. If it never
     * came to that, it would take the next run for the rest of this one. */
    if (status != WEIR_OK && !is_from_server(error))
        recover(self, statement);
    return status;
}

enum weir_status weir_maria_execute(struct weir_maria_link *self,
                                    struct weir_maria_statement *statement,
                                    const struct weir_value *values,
                                    struct weir_cursor *cursor, struct weir_error *error)
{
    size_t size = 0;
    size_t room = 0;
    enum weir_status status;

    values = weir_maria_arrange(statement, values);
    status = weir_maria_measure(values, statement->parameter_count, &size, error);
    if (status == WEIR_OK)
        status = weir_maria_find_room(self, statement, size, &room, error);
    if (status == WEIR_OK && size > room)
        status = check_pieces(self, statement, values, size, room, error);
    if (status == WEIR_OK)
        status = bind_values(self, statement, values, size > room, error);
    if (status == WEIR_OK)
        status = send_statement(self, statement, values, size > room, error);
    if (status == WEIR_OK)
        status = weir_maria_collect(self, statement, cursor, error);
    return status;
}

/* ---- rows -------------------------------------------------------------------------- */

static bool make_room(const struct weir_heap *heap, struct weir_maria_statement *self,
                      size_t column_count)
{
    struct weir_str *columns;

    if (column_count <= self->columns_max)
        return true;
    columns = weir_heap_zalloc_array(heap, column_count, sizeof *columns);
    if (columns == NULL)
        return false;
    weir_heap_free(heap, self->columns);
    self->columns = columns;
    self->columns_max = column_count;
    return true;
}

enum weir_status weir_maria_collect(struct weir_maria_link *self,
                                    struct weir_maria_statement *statement,
                                    struct weir_cursor *cursor, struct weir_error *error)
{
    MYSQL_STMT *stmt = statement->stmt;
    enum weir_status status;

    *cursor = (struct weir_cursor){.prepared = statement,
                                   .column_count = mysql_stmt_field_count(stmt)};
    if (cursor->column_count == 0) {
        cursor->changed = (int64_t)mysql_stmt_affected_rows(stmt);
        if (cursor->changed < 0) /* the library's word for "not that kind of statement" */
            cursor->changed = 0;
        return WEIR_OK;
    }

    status = weir_maria_fault(self, "read rows", error);
    if (status == WEIR_OK &&
        !make_room(self->link.config->heap, statement, cursor->column_count))
        status = weir_no_memory(error, "read rows");
    if (status == WEIR_OK && mysql_stmt_store_result(stmt) != 0)
        status = weir_maria_fail_statement(self, "read rows", stmt, error);
    if (status != WEIR_OK) {
        recover(self, statement);
        return status;
    }
    statement->fields = mariadb_stmt_fetch_fields(stmt);
    cursor->row_count = (size_t)mysql_stmt_num_rows(stmt);
    if (statement->writes) /* RETURNING: one row for each that was changed */
        cursor->changed = (int64_t)cursor->row_count;
    return WEIR_OK;
}

enum weir_status weir_maria_run(struct weir_link *link, void *prepared,
                                const struct weir_value *values,
                                struct weir_cursor *cursor, struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    enum weir_status status = weir_maria_enter(self, error);

    if (status == WEIR_OK)
        status = weir_maria_execute(self, prepared, values, cursor, error);
    return status;
}

enum weir_status weir_maria_next(struct weir_link *link, struct weir_cursor *cursor,
                                 struct weir_error *error)
{
    struct weir_maria_statement *statement = cursor->prepared;

    switch (mysql_stmt_fetch(statement->stmt)) {
    case 0:
        cursor->row++;
        return WEIR_OK;
    case MYSQL_NO_DATA:
        return WEIR_NO_ROW;
    default:
        return weir_maria_fail_statement(weir_maria_link(link), "read rows",
                                         statement->stmt, error);
    }
}

/* The library's callback: a column of the row that is being fetched; a null has no
 * `row`. */
static void take_column(void *data, unsigned column, unsigned char **row)
{
    struct weir_maria_statement *self = data;

    if (row == NULL)
        self->columns[column] = (struct weir_str){NULL, 0};
    else
        self->columns[column] = weir_maria_column_take(self->fields[column].type, row);
}

void weir_maria_read(struct weir_cursor *cursor, size_t column, enum weir_type wanted,
                     struct weir_value *out, bool *fits)
{
    const struct weir_maria_statement *statement = cursor->prepared;
    struct weir_str bytes = statement->columns[column];

    *fits = bytes.data == NULL ||
            weir_maria_column_read(&statement->fields[column], bytes, wanted, out);
    if (bytes.data == NULL || !*fits)
        *out = weir_null();
}

void weir_maria_finish(struct weir_link *link, struct weir_cursor *cursor)
{
    struct weir_maria_statement *statement = cursor->prepared;

    if (cursor->row_count > 0)
        mysql_stmt_data_seek(statement->stmt, 0);
    if (cursor->column_count > 0)
        (void)mysql_stmt_free_result(statement->stmt);
    /* CALL gives one more result than it has. */
    while (!link->lost && mysql_stmt_more_results(statement->stmt) &&
           mysql_stmt_next_result(statement->stmt) == 0)
        (void)mysql_stmt_free_result(statement->stmt);
}

/* ---- several statements ------------------------------------------------------------ */

enum weir_status weir_maria_check_cancelled(struct weir_maria_link *self,
                                            struct weir_error *error)
{
    if (!weir_maria_was_cancelled(self))
        return WEIR_OK;
    return weir_error_set(error, WEIR_CANCELLED, "cancelled between two statements");
}

enum weir_status weir_maria_run_steps(struct weir_link *link,
                                      struct weir_driver_step *steps, size_t step_count,
                                      size_t *failed, struct weir_error *error)
{
    struct weir_maria_link *self = weir_maria_link(link);
    enum weir_status status = weir_maria_enter(self, error);

    *failed = 0;
    for (size_t i = 0; i < step_count && status == WEIR_OK; i++) {
        struct weir_cursor cursor;

        *failed = i;
        status = weir_maria_check_cancelled(self, error);
        if (status == WEIR_OK)
            status = weir_maria_execute(self, steps[i].prepared, steps[i].values, &cursor,
                                        error);
        if (status == WEIR_OK) {
            steps[i].changed = cursor.changed;
            weir_maria_finish(link, &cursor);
        }
    }
    return status;
}
