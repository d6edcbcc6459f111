/*
 * store_columns.h - the inside of store.h: rows as lists of values, in one order for
 * both engines.
 *
 * Value `i` of a row is at `out[i * stride]`: stride 1 for a statement about one row,
 * the number of rows for arrays by column (outbox/columns.h).
 *
 * Statements about one row are the same for both, too: SQLite has no others, and on
 * PostgreSQL an array costs the server more than a row.
 */
#ifndef WEIR_EXECUTION_STORE_STORE_COLUMNS_H
#define WEIR_EXECUTION_STORE_STORE_COLUMNS_H

#include "execution/store/store.h"

/* Of a new execution. Its turn is the time at which it is created. */
#define WEIR_NEW_COLUMNS                                                                 \
    "uuid, digest, part, state, hold, pending, lane, capset, policy, priority, flow,"    \
    " created_us, due_us, deadline_us, budgeted, data_edges, namespace, kind, name"
enum { WEIR_NEW_WIDTH = 19 };
extern const enum weir_type weir_new_types[WEIR_NEW_WIDTH];
void weir_new_lay_out(const struct weir_new_execution *item, int64_t now_us,
                      struct weir_value *out, size_t stride);

/* Of its key. */
#define WEIR_KEY_COLUMNS "scope, key, uuid, part, digest, until_us"
enum { WEIR_KEY_WIDTH = 6 };
extern const enum weir_type weir_key_types[WEIR_KEY_WIDTH];
void weir_key_lay_out(const struct weir_new_execution *item, struct weir_value *out,
                      size_t stride);

/* Of what rules change, behind the row's number. */
enum { WEIR_WRITE_WIDTH = 25 };
extern const enum weir_type weir_write_types[WEIR_WRITE_WIDTH];
void weir_write_lay_out(const struct weir_execution_row *row, struct weir_value *out,
                        size_t stride);

/* Of an attempt that has ended. */
#define WEIR_ATTEMPT_COLUMNS                                                             \
    "no, number, type, outcome, epoch, started_us, ended_us, worker, instance, failure"
enum { WEIR_ATTEMPT_WIDTH = 10 };
extern const enum weir_type weir_attempt_types[WEIR_ATTEMPT_WIDTH];
void weir_attempt_lay_out(const struct weir_ended_attempt *attempt,
                          struct weir_value *out, size_t stride);

extern const struct weir_sql
    weir_store_sql_insert_one; /* gives `no` and uuid, if it is new */
extern const struct weir_sql weir_store_sql_input_one;
extern const struct weir_sql weir_store_sql_write_one; /* by the primary key */
extern const struct weir_sql weir_store_sql_attempt_one;
extern const struct weir_sql weir_store_sql_result_one;

/* What belongs to an execution, by its table and the column of the number. The execution
 * comes last: until then a process that is killed leaves behind what can be found
 * again. */
#define WEIR_REMOVES(REMOVE)                                                             \
    REMOVE("input", "no"), REMOVE("result", "no"), REMOVE("attempt", "no"),              \
        REMOVE("tag", "no"), REMOVE("suspension", "no"), REMOVE("waitpoint", "no"),      \
        REMOVE("signal", "no"), REMOVE("spent", "no"), REMOVE("edge", "upstream"),       \
        REMOVE("edge", "downstream"), REMOVE("edge_group", "downstream"),                \
        REMOVE("passed", "downstream"), REMOVE("execution", "no")

/* What no execution has used in particular, or one that is gone, is under number 0; what
 * it says of an era that is over does not count. */
#define WEIR_FOLD_INTO_NOBODYS                                                           \
    " ON CONFLICT (no, budget, dimension) DO UPDATE SET era = excluded.era,"             \
    " amount = excluded.amount + CASE WHEN {p}_spent.era = excluded.era"                 \
    " THEN {p}_spent.amount ELSE 0 END"

/* The item is found, and is this one: from two columns (part, digest) behind the uuid. */
WEIR_CHECKED enum weir_status weir_new_found(struct weir_new_execution *item,
                                             struct weir_rows *rows, size_t column,
                                             struct weir_error *error);

#endif
