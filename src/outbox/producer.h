/*
 * producer.h - the function {p}_enqueue() of the servers, for producers that are not in
 * C.
 *
 *   SELECT weir_enqueue('orders', 'customer-42', 'the payload', 'order.placed',
 *   '{"trace": "4bf9"}')
 *
 * It appends one message in the caller's transaction, as weir_enqueue() does: the same
 * rules in the same words (names.h), the same partition for the same key, the same row
 * in the log. It gives the message's uid as sinks print it. Its owner is that of the
 * tables and it runs with the owner's rights, so a producer needs the right to execute
 * it and no other.
 *
 * SQLite has no functions of its own: there it is a loadable extension (src/extension).
 *
 * The texts of PostgreSQL are statements of migrations (schema.c), ended by NULL.
 * Repeating them replaces the functions and keeps the rights to execute them: when they
 * change, a new migration repeats them.
 *
 * MariaDB makes no function while it keeps a binary log, unless it is configured to trust
 * their creator. The tables must not wait for that, so its functions belong to no
 * migration: they are made behind each (weir_producer_make()), and later if need be.
 */
#ifndef WEIR_OUTBOX_PRODUCER_H
#define WEIR_OUTBOX_PRODUCER_H

#include "db/connection.h"

extern const char *const weir_producer_pg[];

/* MariaDB: what the tables need. */
extern const char *const weir_producer_maria[];

/* MariaDB: the functions as SQL, to be run by hand. */
extern const char *const weir_producer_maria_functions[];

enum { WEIR_PRODUCER_WHY_SIZE = 256 };

/*
 * Make the functions where they are missing or of an older library; nothing to do on
 * the other engines. When the server makes none, because of its binary log or for want
 * of rights, `why` says so; else it is "".
 */
WEIR_CHECKED enum weir_status weir_producer_make(struct weir_db *db,
                                                 char why[WEIR_PRODUCER_WHY_SIZE],
                                                 struct weir_error *error);

/* How large a payload may be that is enqueued in SQL, from 1 to WEIR_PAYLOAD_SIZE_MAX;
 * 65536 at first. The rights of the owner are needed. */
WEIR_CHECKED enum weir_status
weir_producer_set_payload_max(struct weir_connection *connection, int64_t size_max,
                              struct weir_error *error);

#endif
