/*
 * statement.h - a statement prepared on MariaDB: its parameters and its rows.
 *
 * Parameters are bound where the caller has them. Those that would not fit the server's
 * largest packet travel in pieces ahead of the statement. A text names its values ?1,
 * ?2, ... in any order and as often as it likes; the server knows only ?, one for each
 * *place*, so the statement remembers which value belongs where.
 *
 * Rows are all fetched by run() into the client library's memory. A column is a view into
 * that, decoded when it is read.
 *
 * Threads  The holder of the link.
 */
#ifndef WEIR_DB_MARIADB_STATEMENT_H
#define WEIR_DB_MARIADB_STATEMENT_H

#include <mysql.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "db/driver.h"
#include "db/mariadb/parameter.h"

struct weir_maria_link;

struct weir_maria_statement {
    MYSQL_STMT *stmt;
    MYSQL_BIND *binds;                       /* one per place; the types never change */
    struct weir_maria_parameter *parameters; /* likewise */
    size_t parameter_count;                  /* places */
    size_t value_count;                      /* what the caller gives */
    uint8_t *order;                /* for each place the value that belongs there */
    bool in_order;                 /* each value once, as they come: no need to arrange */
    struct weir_value *arranged;   /* room for one row of values, by place */
    struct weir_str *columns;      /* of the current row; a null has no data */
    size_t columns_max;            /* room in `columns` */
    const MYSQL_FIELD *fields;     /* of the last run; the library's */
    bool writes;                   /* INSERT, REPLACE, UPDATE or DELETE */
    bool inserts;                  /* INSERT or REPLACE */
    bool bulk_refused;             /* the server does not take it in bulk */
    const struct weir_value *rows; /* being sent in bulk; borrowed */
};

/* ---- slots of struct weir_driver ---- */

WEIR_CHECKED enum weir_status weir_maria_prepare(struct weir_link *link, const char *text,
                                                 const char *parameters, void **out,
                                                 struct weir_error *error);
void weir_maria_unprepare(struct weir_link *link, void *prepared);

WEIR_CHECKED enum weir_status weir_maria_run(struct weir_link *link, void *prepared,
                                             const struct weir_value *values,
                                             struct weir_cursor *cursor,
                                             struct weir_error *error);
WEIR_CHECKED enum weir_status weir_maria_next(struct weir_link *link,
                                              struct weir_cursor *cursor,
                                              struct weir_error *error);
void weir_maria_read(struct weir_cursor *cursor, size_t column, enum weir_type wanted,
                     struct weir_value *out, bool *fits);
void weir_maria_finish(struct weir_link *link, struct weir_cursor *cursor);

WEIR_CHECKED enum weir_status weir_maria_run_steps(struct weir_link *link,
                                                   struct weir_driver_step *steps,
                                                   size_t step_count, size_t *failed,
                                                   struct weir_error *error);

/* ---- for mariadb/bulk.c ---- */

/* The values of one row by place. Valid until the next call. */
const struct weir_value *weir_maria_arrange(struct weir_maria_statement *self,
                                            const struct weir_value *values);

/* run() without its beginning: an earlier cancel() still counts. */
WEIR_CHECKED enum weir_status weir_maria_execute(struct weir_maria_link *self,
                                                 struct weir_maria_statement *statement,
                                                 const struct weir_value *values,
                                                 struct weir_cursor *cursor,
                                                 struct weir_error *error);

/* Fetch what the statement gives after it was executed. */
WEIR_CHECKED enum weir_status weir_maria_collect(struct weir_maria_link *self,
                                                 struct weir_maria_statement *statement,
                                                 struct weir_cursor *cursor,
                                                 struct weir_error *error);

/* What a packet may have for `size` bytes of values: the server's limit, less the rest
 * of the packet. For small packets the server is not asked. */
WEIR_CHECKED enum weir_status
weir_maria_find_room(struct weir_maria_link *self,
                     const struct weir_maria_statement *statement, size_t size,
                     size_t *out, struct weir_error *error);

/* WEIR_CANCELLED when cancel() came between two statements of one operation. */
WEIR_CHECKED enum weir_status weir_maria_check_cancelled(struct weir_maria_link *self,
                                                         struct weir_error *error);

#endif
