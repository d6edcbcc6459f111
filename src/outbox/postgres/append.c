/*
 * append.c - see postgres/append.h.
 *
 * A statement is atomic by itself, so BEGIN and COMMIT are sent only when a call needs
 * several. Where the caller has a transaction, several are held together by a
 * savepoint: a chunk that is refused before it is sent would otherwise leave the ones
 * before it. One that is a single chunk travels together with its savepoint.
 */
#include "outbox/postgres/append.h"

#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "db/wake.h"

/* Enough for the round trip not to matter, and no more than a few megabytes of arrays. */
enum { CHUNK_ROWS_MAX = 1000, CHUNK_SIZE_MAX = 8 * 1024 * 1024 };

enum { PARTITION, UID, KEY, TYPE, HEADERS, PAYLOAD, CHANNEL, VALUE_COUNT };

/*
 * xid and id are not named, so their defaults are taken, in that order (schema.c). The
 * sequence `asleep` says outside of all transactions since when a reader watches
 * (notify_mode.h): then no notification is sent, since they make all commits of the
 * server wait for each other. What it says wears off, and a time that lies ahead (the
 * server's clock was set back) says nothing. Its sub-select does not depend on the row
 * and runs once per statement.
 */
#define INSERT "INSERT INTO {p}_log (pid, uid, message_key, type, headers, payload)"
#define RETURNING                                                                        \
    " RETURNING id, (SELECT pg_notify({7}, '') IS NULL FROM {p}_asleep"                  \
    " WHERE " WEIR_PG_NOBODY_WATCHES " AND " WEIR_PG_MAY_NOTIFY ")"

#define ONE INSERT " VALUES ({1}, {2}, {3}, {4}, {5}, {6})"

/* Each in two forms: without a channel, which most are (notify_limit.h), there is less to
 * plan and to run. */
static const struct weir_sql SQL_APPEND[] = {
    {.name = "append", .text = ONE " RETURNING id", .parameters = "ibtttb"},
    {.name = "append", .text = ONE RETURNING, .parameters = "ibtttbt"},
};

/* Defaults are evaluated above the sort, one row after the other: ids grow in the order
 * of the entries. */
#define MANY                                                                             \
    INSERT " SELECT m.pid, m.uid, m.message_key, m.type, m.headers, m.payload"           \
           " FROM unnest({1}, {2}, {3}, {4}, {5}, {6}) WITH ORDINALITY"                  \
           " AS m(pid, uid, message_key, type, headers, payload, place)"                 \
           " ORDER BY m.place"
static const struct weir_sql SQL_APPEND_MANY[] = {
    {.name = "append many", .text = MANY " RETURNING id", .parameters = "IBTTTB"},
    {.name = "append many", .text = MANY RETURNING, .parameters = "IBTTTBt"},
};

/* Where the statements of one call go. */
struct append_call {
    struct weir_connection *connection;
    struct weir_value channel; /* null: nothing is notified */
    bool saved;                /* each in a savepoint of its own */
};

/* What holds the chunks of one call together. */
enum bracket { BARE, TRANSACTION, THEIR_TRANSACTION, SAVEPOINT };

static size_t entry_size(const struct weir_log_entry *entry)
{
    return sizeof entry->uid + entry->key.size + entry->type.size + entry->headers.size +
           entry->payload.size;
}

/* How many entries from the first on go into one statement: at least one. */
static size_t chunk_of(const struct weir_log_entry *entries, size_t count)
{
    size_t size = 0;
    size_t rows = 0;

    while (rows < count && rows < CHUNK_ROWS_MAX && size < CHUNK_SIZE_MAX)
        size += entry_size(&entries[rows++]);
    return rows;
}

/* The values of one entry, each `stride` behind the one before. */
static void lay_out(const struct weir_log_entry *entry, struct weir_value *out,
                    size_t stride)
{
    out[PARTITION * stride] = weir_integer(entry->pid);
    out[UID * stride] = weir_bytes(entry->uid, sizeof entry->uid);
    out[KEY * stride] = weir_text_or_null(entry->key);
    out[TYPE * stride] = weir_text(entry->type);
    out[HEADERS * stride] = weir_text_or_null(entry->headers);
    out[PAYLOAD * stride] = weir_bytes(entry->payload.data, entry->payload.size);
}

/*
 * Rows come back in any order as far as the server promises; ids grow with the entries.
 */
static void put_in_order(struct weir_log_entry *entries, size_t at, int64_t id)
{
    for (; at > 0 && entries[at - 1].id > id; at--)
        entries[at].id = entries[at - 1].id;
    entries[at].id = id;
}

/* Each entry gets its id. */
static enum weir_status take_ids(struct weir_rows *rows, struct weir_log_entry *entries,
                                 size_t count, struct weir_error *error)
{
    size_t got = 0;
    enum weir_status status;

    while ((status = weir_rows_next(rows, error)) == WEIR_OK) {
        if (got < count)
            put_in_order(entries, got, weir_rows_integer(rows, 0));
        got++;
    }
    if (status == WEIR_NO_ROW)
        status = got == count
                     ? WEIR_OK
                     : weir_error_set(error, WEIR_SCHEMA, "%s: returned %zu, must be %zu",
                                      rows->sql->name, got, count);
    return status;
}

/* In which of its two forms. A trigger that skips a row is seen only when the savepoint
 * is released. */
static enum weir_status run(const struct append_call *self,
                            const struct weir_sql forms[2],
                            const struct weir_value *values,
                            struct weir_log_entry *entries, size_t count,
                            struct weir_error *error)
{
    bool notifies = self->channel.type != WEIR_TYPE_NULL;
    const struct weir_sql *sql = &forms[notifies];
    size_t value_count = notifies ? VALUE_COUNT : CHANNEL;
    struct weir_rows rows;
    enum weir_status status =
        self->saved ? weir_connection_query_saved(self->connection, sql, values,
                                                  value_count, &rows, error)
                    : weir_connection_query(self->connection, sql, values, value_count,
                                            &rows, error);

    if (status != WEIR_OK)
        return status;
    status = take_ids(&rows, entries, count, error);
    weir_rows_close(&rows);
    if (status != WEIR_OK && self->saved) {
        weir_connection_spoil(self->connection);
        weir_error_prefix(error, "the transaction cannot be used any more");
    }
    return status;
}

static enum weir_status append_one(const struct append_call *self,
                                   struct weir_log_entry *entry, struct weir_error *error)
{
    struct weir_value values[VALUE_COUNT];

    lay_out(entry, values, 1);
    values[CHANNEL] = self->channel;
    return run(self, SQL_APPEND, values, entry, 1, error);
}

static enum weir_status append_chunk(const struct append_call *self,
                                     struct weir_log_entry *entries, size_t count,
                                     struct weir_error *error)
{
    static const enum weir_type TYPES[] = {
        [PARTITION] = WEIR_TYPE_INTEGER, [UID] = WEIR_TYPE_BYTES,
        [KEY] = WEIR_TYPE_TEXT,          [TYPE] = WEIR_TYPE_TEXT,
        [HEADERS] = WEIR_TYPE_TEXT,      [PAYLOAD] = WEIR_TYPE_BYTES,
    };
    const struct weir_heap *heap = weir_connection_config(self->connection)->heap;
    struct weir_value values[VALUE_COUNT];
    struct weir_value *elements;
    enum weir_status status;

    if (count == 1)
        return append_one(self, entries, error);
    elements = weir_heap_zalloc_array(heap, CHANNEL * count, sizeof *elements);
    if (elements == NULL)
        return weir_no_memory(error, "append");
    for (size_t i = 0; i < count; i++)
        lay_out(&entries[i], elements + i, count);
    for (size_t i = 0; i < CHANNEL; i++)
        values[i] = weir_array(TYPES[i], elements + i * count, count);
    values[CHANNEL] = self->channel;
    status = run(self, SQL_APPEND_MANY, values, entries, count, error);
    weir_heap_free(heap, elements);
    return status;
}

/* ---- several statements ------------------------------------------------------------ */

static enum bracket choose_bracket(struct weir_connection *connection, bool several)
{
    if (!several)
        return BARE;
    if (weir_connection_transaction(connection) != WEIR_TRANSACTION_NONE)
        return SAVEPOINT;
    return weir_connection_link(connection)->adopted ? THEIR_TRANSACTION : TRANSACTION;
}

static enum weir_status open_bracket(struct weir_connection *connection,
                                     enum bracket bracket, struct weir_error *error)
{
    switch (bracket) {
    case BARE:
        return WEIR_OK;
    case TRANSACTION:
        return weir_connection_begin_own(connection, error);
    case THEIR_TRANSACTION: /* the connection is theirs and idle, the transaction is ours
                             */
        return weir_connection_execute_text(connection, "BEGIN", error);
    case SAVEPOINT:
        break;
    }
    return weir_connection_savepoint(connection, error);
}

static enum weir_status in_doubt(struct weir_error *error)
{
    if (error != NULL)
        error->status = WEIR_IN_DOUBT;
    return WEIR_IN_DOUBT;
}

static enum weir_status keep(struct weir_connection *connection, enum bracket bracket,
                             struct weir_error *error)
{
    enum weir_status status;

    switch (bracket) {
    case BARE:
        return WEIR_OK;
    case TRANSACTION:
        return weir_connection_commit(connection, error);
    case THEIR_TRANSACTION:
        status = weir_connection_execute_text(connection, "COMMIT", error);
        return status == WEIR_LOST ? in_doubt(error) : status;
    case SAVEPOINT:
        break;
    }
    return weir_connection_savepoint_keep(connection, error);
}

static void undo(struct weir_connection *connection, enum bracket bracket,
                 struct weir_error *error)
{
    switch (bracket) {
    case BARE:
        break;
    case TRANSACTION:
        weir_connection_rollback(connection);
        break;
    case THEIR_TRANSACTION:
        (void)!weir_connection_execute_text(connection, "ROLLBACK", NULL);
        break;
    case SAVEPOINT:
        if (weir_connection_savepoint_undo(connection, NULL) != WEIR_OK)
            weir_error_prefix(error, "the transaction cannot be used any more");
        break;
    }
}

/* Of a statement that is a transaction by itself: it may have arrived. Not where a
 * server that takes no writes has answered, as one does that was a primary once. */
static bool may_have_arrived(const struct weir_error *error)
{
    return strcmp(error->sqlstate, "25006") != 0;
}

static struct weir_value name_of(const char *channel)
{
    return channel != NULL ? weir_text(weir_str(channel)) : weir_null();
}

enum weir_status weir_pg_append(const struct weir_outbox_log *self,
                                struct weir_connection *connection,
                                struct weir_log_entry *entries, size_t count,
                                const char *channel, struct weir_error *error)
{
    struct weir_error scratch;
    struct append_call append_call = {connection, name_of(channel), false};
    bool alone = weir_connection_transaction(connection) == WEIR_TRANSACTION_NONE &&
                 !weir_connection_link(connection)->lost;
    size_t chunk = chunk_of(entries, count);
    enum bracket bracket = choose_bracket(connection, chunk < count);
    enum weir_status status;

    if (error == NULL)
        error = &scratch;
    status = weir_outbox_log_check(self, connection, error);
    if (status == WEIR_OK)
        status = open_bracket(connection, bracket, error);
    if (status != WEIR_OK)
        return status;
    for (size_t done = 0; done < count && status == WEIR_OK; done += chunk) {
        chunk = chunk_of(entries + done, count - done);
        status = append_chunk(&append_call, entries + done, chunk, error);
    }
    if (status == WEIR_OK)
        return keep(connection, bracket, error);
    undo(connection, bracket, error);
    if (status == WEIR_LOST && bracket == BARE && alone && may_have_arrived(error))
        return in_doubt(error);
    return status;
}

/* What else would have to be asked could fail, too, outside of the savepoint. */
bool weir_pg_can_append_saved(struct weir_connection *connection)
{
    return weir_connection_is_verified(connection) &&
           weir_connection_can_save(connection);
}

enum weir_status weir_pg_append_saved(const struct weir_outbox_log *self,
                                      struct weir_connection *connection,
                                      struct weir_log_entry *entries, size_t count,
                                      const char *channel, struct weir_error *error)
{
    struct append_call append_call = {connection, name_of(channel), true};

    if (chunk_of(entries, count) < count) /* in a savepoint around them all */
        return weir_pg_append(self, connection, entries, count, channel, error);
    return append_chunk(&append_call, entries, count, error);
}
