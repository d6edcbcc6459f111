/*
 * append.c - appending on MariaDB: one number from a sequence, then the rows under it.
 *
 * What the first statement reads is outside of all transactions and snapshots, so it
 * opens no read view in a transaction of the application's, and is never old. It also
 * tells whether the session is one in which a row arrives as it was sent.
 */
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/query.h"
#include "outbox/mariadb/log.h"

#include <mysqld_error.h>

#include "base/assert.h"
#include "base/fault_point.h"
#include "base/heap.h"

enum {
    FEW_ROWS = 64,        /* whose parameters fit on the stack */
    ERA_ATTEMPTS_MAX = 5, /* each time an era must have begun and another ended */
};

/* Sequences. */
static const struct weir_sql SQL_NUMBER = {
    .name = "take a number",
    .text = "SELECT NEXT VALUE FOR {p}_incoming_id,"
            " (SELECT next_not_cached_value FROM {p}_era_now), {now},"
            " @@foreign_key_checks, @@sql_mode LIKE '%STRICT%', @@max_allowed_packet",
};

/* One row at the end of its era. */
static const struct weir_sql SQL_APPEND = {
    .name = "append",
    .text = "INSERT INTO {p}_incoming"
            " (era, id, pid, created_us, uid, message_key, type, headers, payload)"
            " VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9})",
    .parameters = "iiiibtttb",
};
enum { APPEND_COLUMNS = 9 };

struct ticket {
    int64_t number;
    int64_t era;
    int64_t now_us;
    bool keys_are_checked;
    bool is_strict;
    int64_t packet_size_max;
};

static const struct weir_column TICKET[] = {
    COLUMN(struct ticket, number, INTEGER),
    COLUMN(struct ticket, era, INTEGER),
    COLUMN(struct ticket, now_us, INTEGER),
    COLUMN(struct ticket, keys_are_checked, FLAG),
    COLUMN(struct ticket, is_strict, FLAG),
    COLUMN(struct ticket, packet_size_max, INTEGER),
};

static enum weir_status query_ticket(struct weir_connection *connection,
                                     struct ticket *out, struct weir_error *error)
{
    return weir_query_one(connection, &SQL_NUMBER, NO_VALUES, INTO(TICKET, out), error);
}

static enum weir_status take_ticket(struct weir_connection *connection,
                                    struct ticket *out, struct weir_error *error)
{
    enum weir_status status = query_ticket(connection, out, error);

    if (status != WEIR_OK)
        return status;
    if (!out->keys_are_checked)
        return weir_error_set(
            error, WEIR_INVALID,
            "foreign_key_checks is off on this connection: a message might be lost; "
            "switch it on before enqueueing");
    if (!out->is_strict)
        return weir_error_set(
            error, WEIR_INVALID,
            "sql_mode of this connection is not strict: the server might change what is "
            "enqueued; add STRICT_TRANS_TABLES");
    return WEIR_OK;
}

/* The database layer would refuse it as a parameter, which tells a producer little. */
static enum weir_status check_size(const struct weir_log_entry *entry,
                                   const struct ticket *ticket, struct weir_error *error)
{
    if ((int64_t)entry->payload.size <= ticket->packet_size_max)
        return WEIR_OK;
    return weir_error_set(
        error, WEIR_TOO_LARGE,
        "the payload has %zu %s, the server takes %lld (max_allowed_packet)",
        entry->payload.size, WEIR_NOUN(entry->payload.size, "byte", "bytes"),
        (long long)ticket->packet_size_max);
}

static void fill_in(const struct weir_log_entry *entry, const struct ticket *ticket,
                    struct weir_value *values)
{
    values[0] = weir_integer(ticket->era);
    values[1] = weir_integer(entry->id);
    values[2] = weir_integer(entry->pid);
    values[3] = weir_integer(ticket->now_us);
    values[4] = weir_bytes(entry->uid, sizeof entry->uid);
    values[5] = weir_text_or_null(entry->key);
    values[6] = weir_text(entry->type);
    values[7] = weir_text_or_null(entry->headers);
    values[8] = weir_bytes(entry->payload.data, entry->payload.size);
}

/* All of them belong to the era of the first number. */
static enum weir_status give_numbers(struct weir_connection *connection,
                                     struct weir_value *values,
                                     struct weir_log_entry *entries, size_t count,
                                     struct weir_error *error)
{
    struct ticket first = {0};
    struct ticket ticket = {0};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count; i++) {
        if (i % WEIR_IDS_PER_NUMBER == 0) {
            status = take_ticket(connection, &ticket, error);
            first = i == 0 ? ticket : first;
        }
        if (status == WEIR_OK)
            status = check_size(&entries[i], &ticket, error);
        if (status != WEIR_OK)
            return status;
        entries[i].id =
            ticket.number * WEIR_IDS_PER_NUMBER + (int64_t)(i % WEIR_IDS_PER_NUMBER);
        fill_in(&entries[i], &first, &values[i * APPEND_COLUMNS]);
    }
    return WEIR_OK;
}

static bool is_over(enum weir_status status, const struct weir_error *error)
{
    return status == WEIR_CONSTRAINT && (error->native_code == ER_NO_REFERENCED_ROW_2 ||
                                         error->native_code == ER_NO_REFERENCED_ROW);
}

/* All rows or none, in whatever transaction it is: execute_many() sees to that. */
static enum weir_status append_with(struct weir_connection *connection,
                                    struct weir_value *values,
                                    struct weir_log_entry *entries, size_t count,
                                    struct weir_error *error)
{
    struct weir_error own;
    enum weir_status status = WEIR_OK;

    error = error != NULL ? error : &own;
    for (int n = 0; n < ERA_ATTEMPTS_MAX; n++) {
        status = give_numbers(connection, values, entries, count, error);
        (void)WEIR_POINT(weir_connection_config(connection)->points, "append.numbered");
        if (status == WEIR_OK)
            status = weir_connection_execute_many(connection, &SQL_APPEND, values, count,
                                                  APPEND_COLUMNS, NULL, error);
        if (!is_over(status, error))
            break;
        status = weir_error_set(error, WEIR_CONFLICT,
                                "append: eras end faster than we can append");
    }
    return status;
}

static enum weir_status in_doubt(struct weir_error *error)
{
    if (error != NULL)
        error->status = WEIR_IN_DOUBT;
    return WEIR_IN_DOUBT;
}

enum weir_status weir_log_maria_append(const struct weir_outbox_log *self,
                                       struct weir_connection *connection,
                                       struct weir_log_entry *entries, size_t count,
                                       const char *channel, struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    bool alone = weir_connection_transaction(connection) == WEIR_TRANSACTION_NONE &&
                 !weir_connection_link(connection)->lost;
    struct weir_value few[FEW_ROWS * APPEND_COLUMNS];
    struct weir_value *many = NULL;
    enum weir_status status;

    (void)self;
    (void)channel;
    WEIR_ASSERT(count >= 1);
    if (count > FEW_ROWS) {
        many = weir_heap_zalloc_array(heap, count, APPEND_COLUMNS * sizeof many[0]);
        if (many == NULL)
            return weir_no_memory(error, "append");
    }
    status = append_with(connection, many != NULL ? many : few, entries, count, error);
    weir_heap_free(heap, many);
    if (status == WEIR_LOST && alone)
        return in_doubt(error); /* it may have arrived */
    return status;
}
