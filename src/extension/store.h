/*
 * store.h - the outbox's tables as the extension uses them: on the application's
 * connection, in its transaction, by SQLite's own functions.
 *
 * Tables are those of the main database: a temporary one of the same name is not taken
 * for it, and another file would be another transaction. Statements are prepared for
 * each call, since one that is kept would keep the application from closing its
 * connection.
 *
 * Failure  As SQLite does: its code and text. WEIR_NOT_FOUND and WEIR_FULL are ours.
 */
#ifndef WEIR_EXTENSION_STORE_H
#define WEIR_EXTENSION_STORE_H

#include <stdint.h>

#include "base/str.h"
#include "extension/sqlite.h"
#include "weir/message.h"

enum { WEIR_STORE_PREFIX_SIZE = 64 };

/* Of one connection. */
struct weir_store {
    char prefix[WEIR_STORE_PREFIX_SIZE];
    /* What waited in one queue, by the number that was read last
     * (outbox/queue/backlog.h), and what this connection has added since. */
    int64_t counted_queue_id;
    int64_t read_us;
    int64_t stamp; /* when the number was counted */
    int64_t backlog;
};

struct weir_store_queue {
    int64_t id;
    int32_t partitions;
    int64_t backlog_max; /* 0: no limit */
};

struct weir_store_row {
    int64_t pid;
    uint8_t uid[WEIR_UID_SIZE];
    int64_t created_us;
    struct weir_str key; /* data NULL: none */
    struct weir_str type;
    struct weir_str headers; /* data NULL: none */
    struct weir_str payload;
};

/* How large a payload may be that is enqueued in SQL. */
WEIR_CHECKED enum weir_status weir_store_payload_max(struct weir_store *self,
                                                     sqlite3 *handle, size_t *out,
                                                     struct weir_error *error);

WEIR_CHECKED enum weir_status weir_store_find_queue(struct weir_store *self,
                                                    sqlite3 *handle, const char *name,
                                                    int64_t now_us,
                                                    struct weir_store_queue *out,
                                                    struct weir_error *error);

/* Is there room for one more? `now_us` is the wall clock. */
WEIR_CHECKED enum weir_status weir_store_check_room(struct weir_store *self,
                                                    sqlite3 *handle, const char *name,
                                                    const struct weir_store_queue *queue,
                                                    int64_t now_us,
                                                    struct weir_error *error);

/* One row at the end of the log. The application's last_insert_rowid() stays. */
WEIR_CHECKED enum weir_status weir_store_append(struct weir_store *self, sqlite3 *handle,
                                                const struct weir_store_row *row,
                                                struct weir_error *error);

#endif
