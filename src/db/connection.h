/*
 * connection.h - the inside of weir/db.h: statements on a connection.
 *
 * Statements are prepared once per connection, when first used. Parameters are checked
 * here: number, types, sizes, UTF-8; what does not fit is refused before anything is
 * sent.
 *
 *   struct weir_rows rows;
 *
 *   status = weir_connection_query(connection, &SQL_FIND, VALUES(weir_integer(7)),
 *   &rows, error); while (status == WEIR_OK && (status = weir_rows_next(&rows, error))
 *   == WEIR_OK)
 *       use(weir_rows_integer(&rows, 0), weir_rows_text(&rows, 1));
 *   weir_rows_close(&rows);                     always, also after an error
 *
 * Threads  The holder of the connection.
 * Failure  A status from the driver's table; `error` may be NULL. After WEIR_LOST every
 *          call fails with WEIR_LOST until the connection is released.
 */
#ifndef WEIR_DB_CONNECTION_H
#define WEIR_DB_CONNECTION_H

#include "base/list.h"
#include "db/driver.h"
#include "db/sql.h"
#include "db/value.h"
#include "weir/db.h"

/* A list of values for a parameter list, with its length. */
#define VALUES(...)                                                                      \
    (const struct weir_value[]){__VA_ARGS__},                                            \
        sizeof((const struct weir_value[]){__VA_ARGS__}) / sizeof(struct weir_value)
#define NO_VALUES NULL, 0

/* Of the place where tables are, quoted: qualifier.h. */
enum { WEIR_QUALIFIER_SIZE = 400 };

struct weir_rows {
    struct weir_connection *connection; /* NULL: closed */
    const struct weir_sql *sql;
    struct weir_cursor cursor;
    bool misread; /* a column was asked for as a type that it is not */
};

struct weir_step {
    const struct weir_sql *sql;
    const struct weir_value *values;
    size_t value_count;
    int64_t changed; /* out */
};

struct weir_link *weir_connection_link(struct weir_connection *self);
enum weir_engine weir_connection_engine(const struct weir_connection *self);
const struct weir_engine_traits *
weir_connection_traits(const struct weir_connection *self);

/* Of a statement in two forms, that which the engine takes. */
static inline const struct weir_sql *
weir_connection_form(const struct weir_connection *self, const struct weir_sql_pair *pair)
{
    return weir_connection_traits(self)->takes_arrays ? &pair->many : &pair->one;
}

const struct weir_link_config *weir_connection_config(const struct weir_connection *self);
const char *weir_connection_prefix(const struct weir_connection *self);

/* Where its tables are (qualifier.h), from now on. Statements that were prepared before
 * are forgotten. */
void weir_connection_qualify(struct weir_connection *self, const char *qualifier);

/* Used by weir_db. Takes the link. */
WEIR_CHECKED enum weir_status weir_connection_create(struct weir_db *db,
                                                     struct weir_link *link,
                                                     uint64_t generation,
                                                     struct weir_connection **out);
void weir_connection_destroy(struct weir_connection *self);
uint64_t weir_connection_generation(const struct weir_connection *self);
void weir_connection_abandon(struct weir_connection *self);

/*
 * Before it goes back to the pool, outside of a transaction. If the native handle was
 * asked for since the connection was taken, code outside of the library may have
 * changed any setting of the session: it is made as it was, or the connection is lost.
 * Otherwise nothing is sent.
 */
void weir_connection_reset(struct weir_connection *self);
bool weir_connection_is_abandoned(const struct weir_connection *self);

/* Its link in the list of all connections of its database, and back. */
struct weir_list *weir_connection_siblings(struct weir_connection *self);
struct weir_connection *weir_connection_of_sibling(struct weir_list *link);

/* Run one statement and drop its rows, if any. `changed` may be NULL. */
WEIR_CHECKED enum weir_status
weir_connection_execute(struct weir_connection *self, const struct weir_sql *sql,
                        const struct weir_value *values, size_t value_count,
                        int64_t *changed, struct weir_error *error);

/* Run one statement and read its rows. *out is closed on failure. */
WEIR_CHECKED enum weir_status
weir_connection_query(struct weir_connection *self, const struct weir_sql *sql,
                      const struct weir_value *values, size_t value_count,
                      struct weir_rows *out, struct weir_error *error);

/*
 * The same in a savepoint of its own, inside an open transaction, in one round trip: the
 * savepoint is released when this returns. After a failure nothing of the statement is
 * in the transaction, or the transaction can only be rolled back, and the error says so.
 * If the rows are not what they must be, spoil() makes sure of the latter. Only where
 * can_save() is true: the engine has it, and a transaction is open.
 */
bool weir_connection_can_save(struct weir_connection *self);
WEIR_CHECKED enum weir_status
weir_connection_query_saved(struct weir_connection *self, const struct weir_sql *sql,
                            const struct weir_value *values, size_t value_count,
                            struct weir_rows *out, struct weir_error *error);
void weir_connection_spoil(struct weir_connection *self);

/* WEIR_OK: there is a row. WEIR_NO_ROW: there was none any more. WEIR_SCHEMA: a column of
 * the row before was misread. */
WEIR_CHECKED enum weir_status weir_rows_next(struct weir_rows *self,
                                             struct weir_error *error);
void weir_rows_close(struct weir_rows *self);

/* Columns of the current row, from 0. Views live until next() or close(). A null reads
 * as 0, false, or an empty view. */
bool weir_rows_is_null(struct weir_rows *self, size_t column);
int64_t weir_rows_integer(struct weir_rows *self, size_t column);
double weir_rows_real(struct weir_rows *self, size_t column);
bool weir_rows_boolean(struct weir_rows *self, size_t column);
struct weir_str weir_rows_text(struct weir_rows *self, size_t column);
struct weir_str weir_rows_bytes(struct weir_rows *self, size_t column);

/* A null is a text without data. */
static inline struct weir_str weir_rows_text_or_none(struct weir_rows *self,
                                                     size_t column)
{
    return weir_rows_is_null(self, column) ? (struct weir_str){NULL, 0}
                                           : weir_rows_text(self, column);
}

/* A query for one integer. WEIR_NO_ROW when there is no row; a null gives 0. */
WEIR_CHECKED enum weir_status
weir_connection_query_integer(struct weir_connection *self, const struct weir_sql *sql,
                              const struct weir_value *values, size_t value_count,
                              int64_t *out, struct weir_error *error);

/* One statement for many rows; see struct weir_driver. On PostgreSQL its letters are
 * capitals. */
WEIR_CHECKED enum weir_status
weir_connection_execute_many(struct weir_connection *self, const struct weir_sql *sql,
                             const struct weir_value *values, size_t row_count,
                             size_t column_count, int64_t *changed,
                             struct weir_error *error);

/* Several statements, one round trip where the engine can. Stops at the first that
 * fails, whose name is in the error. */
WEIR_CHECKED enum weir_status weir_connection_execute_steps(struct weir_connection *self,
                                                            struct weir_step *steps,
                                                            size_t step_count,
                                                            struct weir_error *error);

/* A text that is not worth preparing. It is expanded as that of a statement, and has no
 * parameters. */
WEIR_CHECKED enum weir_status weir_connection_execute_text(struct weir_connection *self,
                                                           const char *text,
                                                           struct weir_error *error);

/* The same with bare names, for what makes tables and functions: where bare names lead
 * is the caller's affair (qualifier.h). */
WEIR_CHECKED enum weir_status weir_connection_execute_ddl(struct weir_connection *self,
                                                          const char *text,
                                                          struct weir_error *error);

/*
 * As weir_connection_begin(), for a transaction of the library's own, in which nothing
 * is waited for but the database: no callback of the application, no output. A server
 * ends the session when it is idle in it for WEIR_IDLE_MS_MAX, so that a process that
 * stands still keeps others from nothing for longer; whatever comes next fails with
 * WEIR_LOST. What weir_connection_begin() begins is the application's, and has no such
 * limit.
 */
WEIR_CHECKED enum weir_status weir_connection_begin_own(struct weir_connection *self,
                                                        struct weir_error *error);

/* The same for reading only. All of it sees one state, except on PostgreSQL: there each
 * statement has its own. */
WEIR_CHECKED enum weir_status weir_connection_begin_read(struct weir_connection *self,
                                                         struct weir_error *error);

/*
 * As weir_connection_begin_own(), but nothing is sent yet: BEGIN travels with the first
 * statement where the engine can, and that is where a failure shows. A commit without a
 * statement sends nothing.
 */
WEIR_CHECKED enum weir_status weir_connection_begin_later(struct weir_connection *self,
                                                          struct weir_error *error);

/*
 * Run these steps with the commit, behind all else, in the same round trip where the
 * engine can. So commit() fails with what they fail with. Borrows the steps until the
 * transaction has ended, in whatever way; then `release` is called, once. A transaction
 * has one such ending.
 */
void weir_connection_end_with(struct weir_connection *self, struct weir_step *steps,
                              size_t step_count, void (*release)(void *state),
                              void *state);
enum weir_transaction_state weir_connection_transaction(struct weir_connection *self);

/*
 * Savepoints nest; each call to savepoint() owes one keep or undo, newest first. After
 * undo() everything since is as if it had not happened and the transaction is usable,
 * unless the engine has given it up (WEIR_CONFLICT, WEIR_LOST).
 */
WEIR_CHECKED enum weir_status weir_connection_savepoint(struct weir_connection *self,
                                                        struct weir_error *error);
WEIR_CHECKED enum weir_status weir_connection_savepoint_keep(struct weir_connection *self,
                                                             struct weir_error *error);
WEIR_CHECKED enum weir_status weir_connection_savepoint_undo(struct weir_connection *self,
                                                             struct weir_error *error);

/*
 * The newest savepoint, set anew behind what was done since, which is kept; or returned
 * to, and still there. One round trip each (two on MariaDB), so cheaper than keep or
 * undo and another savepoint. In a session whose native handle was asked for, its role
 * and settings are ours again behind either, in the same round trip where the engine
 * can.
 */
WEIR_CHECKED enum weir_status
weir_connection_savepoint_renew(struct weir_connection *self, struct weir_error *error);
WEIR_CHECKED enum weir_status
weir_connection_savepoint_return(struct weir_connection *self, struct weir_error *error);

/*
 * As weir_connection_begin(), when other code is given the connection (see
 * below). On MariaDB nothing of theirs is committed one by one when the server has
 * given the transaction up, and the server ends the session when it does nothing for
 * `idle_us` inside the transaction. (On PostgreSQL the former is so anyway, and the
 * latter is set in a statement that is sent anyway; until then the limit is the
 * library's own.)
 */
WEIR_CHECKED enum weir_status weir_connection_begin_to_lend(struct weir_connection *self,
                                                            int64_t idle_us,
                                                            struct weir_error *error);

/*
 * Other code (a handler) is given the connection, inside our transaction: begin and
 * commit are refused, as far as the engine can also those on the native handle.
 * examine() returns what became of it, without a round trip: WEIR_FAILED, with the
 * engine's text, when a statement of theirs has failed the transaction (returning to a
 * savepoint mends it); WEIR_INVALID when there is no transaction any more; WEIR_LOST.
 * reclaim() puts in order what they left behind, once they have returned.
 */
void weir_connection_lend(struct weir_connection *self);
WEIR_CHECKED enum weir_status weir_connection_examine(struct weir_connection *self,
                                                      struct weir_error *error);
void weir_connection_reclaim(struct weir_connection *self);

/* A note for the code that commits the transaction; begin() clears it. */
void weir_connection_mark(struct weir_connection *self);
bool weir_connection_is_marked(const struct weir_connection *self);

/* The database behind it was checked, and is the expected one. Of a
 * connection that was lost nothing is left: the next one leads elsewhere, perhaps. So
 * may the next transaction behind a pooler: of such a connection nothing is kept. */
void weir_connection_set_verified(struct weir_connection *self);
bool weir_connection_is_verified(const struct weir_connection *self);

/* The same for one thing of a number, the last that it was said of; 0: none. */
void weir_connection_set_verified_for(struct weir_connection *self, int64_t number);
bool weir_connection_is_verified_for(const struct weir_connection *self, int64_t number);

/*
 * A text whose answer is one integer, for callers that cannot wait: a server that says
 * nothing for `wait_limit_ns` is given up, and the connection with it (WEIR_LOST). Not
 * on SQLite, nor on an adopted connection.
 */
WEIR_CHECKED enum weir_status weir_connection_ask(struct weir_connection *self,
                                                  const char *text, int64_t wait_limit_ns,
                                                  int64_t *out, struct weir_error *error);

/* The database's clock, microseconds since 1970. */
WEIR_CHECKED enum weir_status weir_connection_clock(struct weir_connection *self,
                                                    int64_t *out_us,
                                                    struct weir_error *error);

/* Looks at the settings that decide whether a commit survives a crash; reports each that
 * does not suffice: the value found and the value needed. */
WEIR_CHECKED enum weir_status
weir_connection_check_durability(struct weir_connection *self, weir_finding_fn report,
                                 void *state, struct weir_error *error);

#endif
