/*
 * dead_letter.c - see dead_letter.h.
 */
#include "outbox/dead_letter/dead_letter.h"

#include "base/heap.h"
#include "base/no_memory.h"
#include "weir/message.h"

#define INSERT_LETTERS                                                                   \
    "INSERT INTO {p}_dead_letter (subscription, pid, seq, log_id, created_us, "          \
    "uid,"                                                                               \
    " message_key, type, headers, payload, attempts, error, failed_us) "

/*
 * One letter for a message. One that is open stays as it is. One that was decided about
 * is opened again: its message was delivered again (seek.h) and rejected again.
 */
#define ONCE                                                                             \
    " ON CONFLICT (subscription, pid, seq) DO UPDATE SET status = 'pending',"            \
    " attempts = excluded.attempts, error = excluded.error,"                             \
    " failed_us = excluded.failed_us, token = 0, deadline_us = 0, completed_us = 0,"     \
    " requeued_uid = NULL"                                                               \
    " WHERE {p}_dead_letter.status NOT IN ('pending', 'reprocessing')"

/* MariaDB goes from left to right: the status comes last. */
#define DECIDED "status NOT IN ('pending', 'reprocessing')"
#define ONCE_MARIA                                                                       \
    " ON DUPLICATE KEY UPDATE attempts = IF(" DECIDED ", VALUES(attempts), attempts),"   \
    " error = IF(" DECIDED ", VALUES(error), error),"                                    \
    " failed_us = IF(" DECIDED ", VALUES(failed_us), failed_us),"                        \
    " token = IF(" DECIDED ", 0, token), deadline_us = IF(" DECIDED ", 0, deadline_us)," \
    " completed_us = IF(" DECIDED ", 0, completed_us),"                                  \
    " requeued_uid = IF(" DECIDED ", NULL, requeued_uid),"                               \
    " status = IF(" DECIDED ", 'pending', status)"

/* By the unique index. Repeating changes nothing. PostgreSQL updates no row twice in
 * one statement: of a message that is there twice the first counts. */
static const struct weir_sql SQL_STORE_PG = {
    .name = "store dead letters",
    .text = INSERT_LETTERS
    "SELECT DISTINCT ON (subscription, pid, seq) subscription, pid, seq, log_id,"
    " created_us, uid, message_key, type, headers, payload, attempts, error, {now}"
    " FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12})"
    " WITH ORDINALITY AS a (subscription, pid, seq, log_id, created_us, uid, message_key,"
    " type, headers, payload, attempts, error, n) ORDER BY subscription, pid, seq, "
    "n" ONCE,
    .parameters = "IIIIIBTTTBIT",
};
static const struct weir_sql SQL_STORE_SQLITE = {
    .name = "store dead letter",
    .text = INSERT_LETTERS "VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10},"
                           " {11}, {12}, {now})" ONCE,
    .parameters = "iiiiibtttbit",
};
/* Not INSERT IGNORE, which would also keep silent about values that do not fit. */
static const struct weir_sql SQL_STORE_MARIA = {
    .name = "store dead letter",
    .text = INSERT_LETTERS "VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10},"
                           " {11}, {12}, {now})" ONCE_MARIA,
    .parameters = "iiiiibtttbit",
};
static const struct weir_sql *const STORE[] = {
    [WEIR_SQLITE] = &SQL_STORE_SQLITE,
    [WEIR_POSTGRESQL] = &SQL_STORE_PG,
    [WEIR_MARIADB] = &SQL_STORE_MARIA,
};

enum {
    COLUMNS = 12,
    ROWS_MAX = 256,               /* of one statement, */
    BYTES_MAX = 16 * 1024 * 1024, /* a payload that is larger goes alone */
};

static struct weir_value optional(struct weir_str text)
{
    return text.data != NULL ? weir_text(text) : weir_null();
}

static void fill(struct weir_value *row, const struct weir_dead_letter_entry *entry)
{
    const struct weir_rejection *letter = entry->rejection;
    int64_t attempts = letter->attempts < INT32_MAX ? letter->attempts : INT32_MAX;

    *row++ = weir_integer(entry->key.subscription);
    *row++ = weir_integer(entry->key.pid);
    *row++ = weir_integer(letter->seq);
    *row++ = weir_integer(letter->id);
    *row++ = weir_integer(letter->created_us);
    *row++ = weir_bytes(letter->uid, WEIR_UID_SIZE);
    *row++ = optional(letter->key);
    *row++ = weir_text(letter->type);
    *row++ = optional(letter->headers);
    *row++ = weir_bytes(letter->payload.size > 0 ? letter->payload.data : "",
                        letter->payload.size);
    *row++ = weir_integer(attempts);
    *row = weir_text(entry->reason);
}

/* How many of them travel together, at least 1. */
static size_t fitting(const struct weir_dead_letter_entry *entries, size_t count)
{
    size_t bytes = entries[0].rejection->payload.size;
    size_t n = 1;

    while (n < count && n < ROWS_MAX &&
           (bytes += entries[n].rejection->payload.size) <= BYTES_MAX)
        n++;
    return n;
}

enum weir_status weir_dead_letter_store(struct weir_connection *connection,
                                        const struct weir_dead_letter_entry *entries,
                                        size_t count, struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    enum weir_engine engine = weir_connection_engine(connection);
    struct weir_value *rows;
    enum weir_status status = WEIR_OK;

    if (count == 0)
        return WEIR_OK;
    rows = weir_heap_zalloc_array(heap, count < ROWS_MAX ? count : ROWS_MAX,
                                  COLUMNS * sizeof *rows);
    if (rows == NULL)
        return weir_no_memory(error, "store dead letters");
    for (size_t done = 0; done < count && status == WEIR_OK;) {
        size_t n = fitting(entries + done, count - done);

        for (size_t i = 0; i < n; i++)
            fill(rows + i * COLUMNS, &entries[done + i]);
        status = weir_connection_execute_many(connection, STORE[engine], rows, n, COLUMNS,
                                              NULL, error);
        done += n;
    }
    weir_heap_free(heap, rows);
    return status;
}
