/*
 * signal_keys.c - see signal_keys.h.
 *
 * A row of {p}_idempotency has the name of the waitpoint behind the digest: when the
 * waitpoint is gone there is no other place that knows over which name its token was
 * made.
 */
#include "execution/wait/signal_keys.h"

#include <string.h>

#include "base/arith.h"
#include "base/heap.h"
#include "base/noun.h"
#include "base/text.h"
#include "db/query.h"
#include "execution/id.h"

#define KEY_KEPT_US ((int64_t)24 * 60 * 60 * 1000000)

enum {
    SCOPE_SIZE = WEIR_WAITPOINT_KEY_SIZE_MAX + 64,
    USE_SIZE_MAX = WEIR_MD5_SIZE + WEIR_WAITPOINT_KEY_SIZE_MAX
};

/* By the primary key, as the next. Repeating it changes nothing. */
static const struct weir_sql SQL_FIND = {
    .name = "find key of a signal",
    .text = "SELECT digest, part FROM {p}_idempotency WHERE scope = {1} AND key = {2}"
            " AND until_us > {3}",
    .parameters = "tti",
};
static const struct weir_sql SQL_KEEP = {
    .name = "keep key of a signal",
    .text = "INSERT INTO {p}_idempotency (scope, key, uuid, part, digest, until_us)"
            " VALUES ({1}, {2}, {3}, {4}, {5}, {6}) ON CONFLICT (scope, key)"
            " DO UPDATE SET uuid = excluded.uuid, part = excluded.part,"
            " digest = excluded.digest, until_us = excluded.until_us",
    .parameters = "ttbibi",
};

static const uint8_t NO_UUID[WEIR_UUID_SIZE];

/* "\1signal:7:0190...", "\1approve:7:review": a namespace is printable. */
static struct weir_str scope_of(const struct weir_signal_key *key, char text[SCOPE_SIZE])
{
    char uuid[WEIR_UUID_TEXT_SIZE];
    size_t size;

    if (key->waitpoint != NULL)
        size =
            weir_text_format(text, SCOPE_SIZE, "\001signal:%lld:%s", (long long)key->no,
                             weir_uuid_format(key->waitpoint, uuid));
    else
        size = weir_text_format(text, SCOPE_SIZE, "\001approve:%lld:%.*s",
                                (long long)key->no, (int)key->waitpoint_key.size,
                                key->waitpoint_key.data);
    return (struct weir_str){text, size};
}

static size_t write_text(struct weir_str text, char *out)
{
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return text.size + 1;
}

/* Texts have no zero in them, and what is behind them has a fixed length. */
void weir_signal_digest(const struct weir_signal_row *row, uint8_t out[WEIR_MD5_SIZE])
{
    char bytes[WEIR_SIGNAL_NAME_SIZE_MAX + 2 * WEIR_SIGNAL_SOURCE_SIZE_MAX + 3 +
               WEIR_MD5_SIZE];
    size_t size = write_text(row->name, bytes);

    size += write_text(row->source_type, bytes + size);
    size += write_text(row->source, bytes + size);
    weir_md5(row->payload.data, row->payload.size, (uint8_t *)bytes + size);
    weir_md5(bytes, size + WEIR_MD5_SIZE, out);
}

struct use_columns {
    struct weir_str stored; /* the digest, then the key of the waitpoint */
    bool late;
};
static const struct weir_column USE[] = {
    COLUMN(struct use_columns, stored, BYTES),
    COLUMN(struct use_columns, late, FLAG),
};

enum weir_status weir_signal_key_find(struct weir_connection *connection,
                                      const struct weir_signal_key *key, int64_t now_us,
                                      struct weir_arena *arena,
                                      struct weir_signal_use *out,
                                      struct weir_error *error)
{
    struct use_columns row = {{NULL, 0}, false};
    char text[SCOPE_SIZE];
    enum weir_status status = weir_query_one(
        connection, &SQL_FIND,
        VALUES(weir_text(scope_of(key, text)), weir_text(key->key), weir_integer(now_us)),
        KEPT_INTO(USE, &row, arena), error);
    struct weir_str stored = row.stored;

    if (status != WEIR_OK)
        return status;
    if (stored.size < WEIR_MD5_SIZE || stored.size > USE_SIZE_MAX)
        return weir_error_set(error, WEIR_SCHEMA, "the key of a signal has %zu %s",
                              stored.size, WEIR_NOUN(stored.size, "byte", "bytes"));
    memcpy(out->digest, stored.data, WEIR_MD5_SIZE);
    out->waitpoint_key =
        (struct weir_str){stored.data + WEIR_MD5_SIZE, stored.size - WEIR_MD5_SIZE};
    out->late = row.late;
    return WEIR_OK;
}

enum weir_status weir_signal_key_keep(struct weir_connection *connection,
                                      const struct weir_signal_key *key,
                                      const struct weir_signal_use *use, int64_t now_us,
                                      struct weir_error *error)
{
    const uint8_t *uuid = key->waitpoint != NULL ? key->waitpoint : NO_UUID;
    char text[SCOPE_SIZE], bytes[USE_SIZE_MAX];

    memcpy(bytes, use->digest, WEIR_MD5_SIZE);
    memcpy(bytes + WEIR_MD5_SIZE, use->waitpoint_key.data, use->waitpoint_key.size);
    return weir_connection_execute(
        connection, &SQL_KEEP,
        VALUES(weir_text(scope_of(key, text)), weir_text(key->key),
               weir_bytes(uuid, WEIR_UUID_SIZE), weir_integer(use->late),
               weir_bytes(bytes, WEIR_MD5_SIZE + use->waitpoint_key.size),
               weir_integer(weir_sat_add_i64(now_us, KEY_KEPT_US))),
        NULL, error);
}
