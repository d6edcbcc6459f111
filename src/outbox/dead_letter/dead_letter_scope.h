/*
 * dead_letter_scope.h - which dead letters an operator means, as statements ask for it.
 *
 *   struct weir_dead_letter_scope    names, as given
 *     --check-->                     within the limits
 *     --resolve-->                   struct weir_letter_filter: numbers
 *     --bind-->                      parameters {1} to {7}
 *
 * Threads  The holder of the connection.
 * Memory   A filter borrows the texts of its scope.
 */
#ifndef WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_SCOPE_H
#define WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_SCOPE_H

#include "db/connection.h"
#include "weir/dead_letter.h"

/*
 * The first parameters of every statement on a scope: of dead letters `d`. The sums
 * keep PostgreSQL from choosing the index of failures for statements that go by another
 * one: it takes an unknown span of time for a short one.
 */
#define WEIR_LETTER_FILTER                                                               \
    "d.pid >= {1} AND d.pid < {2} AND d.failed_us + 0 >= {3}"                            \
    " AND d.failed_us + 0 < {4} AND ({5} IS NULL OR d.subscription IN"                   \
    " (SELECT s.id FROM {p}_subscription s WHERE s.name = {5}))"                         \
    " AND ({6} IS NULL OR d.message_key = {6}) AND ({7} IS NULL OR d.type = {7})"
#define WEIR_LETTER_FILTER_LETTERS "iiiittt"
enum { WEIR_LETTER_FILTER_SIZE = 7 };

struct weir_letter_filter {
    int64_t pid_from;
    int64_t pid_until; /* not among them */
    int64_t failed_from_us;
    int64_t failed_until_us;
    const char *subscription; /* NULL: all */
    const char *key;
    const char *type;
};

/* What can be said without a database: names, numbers, and a limit up to `limit_max`. */
WEIR_CHECKED enum weir_status
weir_letter_scope_check(const struct weir_dead_letter_scope *scope, int64_t limit_max,
                        struct weir_error *error);

/* WEIR_NOT_FOUND: no such queue or subscription; WEIR_OUT_OF_RANGE: no such partition. */
WEIR_CHECKED enum weir_status
weir_letter_scope_resolve(const struct weir_dead_letter_scope *scope,
                          struct weir_connection *connection,
                          struct weir_letter_filter *out, struct weir_error *error);

/* For people, with what the scope says: "orders/mail/3 key=c42 limit=10"; names that are
 * not said are "*". Returns `out`, which is cut where it is full; NULL: all letters. */
const char *weir_letter_scope_describe(const struct weir_dead_letter_scope *scope,
                                       char *out, size_t size);

/* Into the first WEIR_LETTER_FILTER_SIZE of `values`. */
void weir_letter_filter_bind(const struct weir_letter_filter *self,
                             struct weir_value *values);

#endif
