/*
 * dead_letter.c - see dead_letter.h.
 */
#include "outbox/dead_letter/dead_letter.h"

#include "base/heap.h"
#include "base/no_memory.h"
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/engine.h"
#include "weir/message.h"

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
    const struct weir_sql *sql = &weir_outbox_engine_of(connection)->letters->store;
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
        status =
            weir_connection_execute_many(connection, sql, rows, n, COLUMNS, NULL, error);
        done += n;
    }
    weir_heap_free(heap, rows);
    return status;
}
