/*
 * token_store.c - see token_store.h.
 */
#include "outbox/token/token_store.h"

#include "db/query.h"

#define ALL_COLUMNS                                                                      \
    "id, name, scopes, of_databases, of_queues, of_lanes, of_namespaces, created_us,"    \
    " lifetime_us, expires_us, used_us, revoked_us"

static const struct weir_sql SQL_INSERT = {
    .name = "add token",
    .text =
        "INSERT INTO {p}_token (" ALL_COLUMNS ", secret)"
        " VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13})"
        "{or_ignore:id}",
    .parameters = "ttittttiiiiib",
};

static const struct weir_sql SQL_COUNT = {
    .name = "count tokens",
    .text = "SELECT count(*) FROM {p}_token",
    .parameters = "",
};

/* A small table. */
static const struct weir_sql SQL_REMOVE_ENDED = {
    .name = "remove tokens that ended",
    .text = "DELETE FROM {p}_token"
            " WHERE revoked_us <> 0 OR (expires_us <> 0 AND expires_us <= {1})",
    .parameters = "i",
};

/* A small table. */
static const struct weir_sql SQL_LIST = {
    .name = "list tokens",
    .text = "SELECT " ALL_COLUMNS " FROM {p}_token ORDER BY name, no DESC",
    .parameters = "",
};
static const struct weir_sql SQL_NAMED = {
    .name = "find tokens by id or name",
    .text = "SELECT " ALL_COLUMNS " FROM {p}_token WHERE id = {1} OR name = {1}"
            " ORDER BY no DESC",
    .parameters = "t",
};

/* By the unique index of hashes. */
static const struct weir_sql SQL_LOOK_UP = {
    .name = "find token",
    .text = "SELECT " ALL_COLUMNS " FROM {p}_token WHERE secret = {1}",
    .parameters = "b",
};

/* By the unique index of ids; not again on the same day. */
static const struct weir_sql SQL_USED = {
    .name = "note use of token",
    .text = "UPDATE {p}_token SET used_us = {2} WHERE id = {1} AND used_us < {2}",
    .parameters = "ti",
};

/* A small table. */
static const struct weir_sql SQL_REVOKE = {
    .name = "revoke tokens",
    .text = "UPDATE {p}_token SET revoked_us = {2} WHERE (id = {1} OR name = {1})"
            " AND revoked_us = 0 AND (expires_us = 0 OR expires_us > {2})",
    .parameters = "ti",
};
static const struct weir_sql SQL_EXPIRE = {
    .name = "limit tokens",
    .text = "UPDATE {p}_token SET expires_us = {3} WHERE name = {1} AND revoked_us = 0"
            " AND (expires_us = 0 OR (expires_us > {2} AND expires_us > {3}))",
    .parameters = "tii",
};

static const struct weir_column ROW[] = {
    COLUMN(struct weir_token_row, grant.id, CHARS),
    COLUMN(struct weir_token_row, grant.name, CHARS),
    COLUMN(struct weir_token_row, grant.scopes, INTEGER),
    COLUMN(struct weir_token_row, grant.globs[WEIR_RESTRICT_DATABASES], CHARS),
    COLUMN(struct weir_token_row, grant.globs[WEIR_RESTRICT_QUEUES], CHARS),
    COLUMN(struct weir_token_row, grant.globs[WEIR_RESTRICT_LANES], CHARS),
    COLUMN(struct weir_token_row, grant.globs[WEIR_RESTRICT_NAMESPACES], CHARS),
    COLUMN(struct weir_token_row, grant.created_us, INTEGER),
    COLUMN(struct weir_token_row, lifetime_us, INTEGER),
    COLUMN(struct weir_token_row, grant.expires_us, INTEGER),
    COLUMN(struct weir_token_row, grant.used_us, INTEGER),
    COLUMN(struct weir_token_row, grant.revoked_us, INTEGER),
};

static struct weir_value text_value(const char *text)
{
    return weir_text(weir_str(text));
}

enum weir_status weir_token_insert(struct weir_connection *connection,
                                   const struct weir_token_row *row,
                                   const uint8_t hash[WEIR_TOKEN_HASH_SIZE], bool *added,
                                   struct weir_error *error)
{
    const struct weir_grant *grant = &row->grant;
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_INSERT,
        VALUES(text_value(grant->id), text_value(grant->name),
               weir_integer(grant->scopes),
               text_value(grant->globs[WEIR_RESTRICT_DATABASES]),
               text_value(grant->globs[WEIR_RESTRICT_QUEUES]),
               text_value(grant->globs[WEIR_RESTRICT_LANES]),
               text_value(grant->globs[WEIR_RESTRICT_NAMESPACES]),
               weir_integer(grant->created_us), weir_integer(row->lifetime_us),
               weir_integer(grant->expires_us), weir_integer(grant->used_us),
               weir_integer(grant->revoked_us), weir_bytes(hash, WEIR_TOKEN_HASH_SIZE)),
        &changed, error);

    *added = changed > 0;
    return status;
}

enum weir_status weir_token_count(struct weir_connection *connection, int64_t *out,
                                  struct weir_error *error)
{
    return weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, out, error);
}

enum weir_status weir_token_remove_ended(struct weir_connection *connection,
                                         int64_t now_us, struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_REMOVE_ENDED,
                                   VALUES(weir_integer(now_us)), NULL, error);
}

struct visit_call {
    weir_token_row_fn visit;
    void *state;
};

static enum weir_status visit_row(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    const struct visit_call *self = state;
    struct weir_token_row row;
    enum weir_status status = weir_row_read(rows, COLUMNS(ROW), &row, error);

    if (status == WEIR_OK)
        self->visit(self->state, &row);
    return status;
}

enum weir_status weir_token_visit(struct weir_connection *connection, const char *token,
                                  weir_token_row_fn visit, void *state,
                                  struct weir_error *error)
{
    struct visit_call call = {visit, state};

    if (token == NULL)
        return weir_query_each(connection, &SQL_LIST, NO_VALUES, visit_row, &call, error);
    return weir_query_each(connection, &SQL_NAMED, VALUES(text_value(token)), visit_row,
                           &call, error);
}

enum weir_status weir_token_look_up(struct weir_connection *connection,
                                    const uint8_t hash[WEIR_TOKEN_HASH_SIZE],
                                    struct weir_token_row *out, struct weir_error *error)
{
    return weir_query_one(connection, &SQL_LOOK_UP,
                          VALUES(weir_bytes(hash, WEIR_TOKEN_HASH_SIZE)), INTO(ROW, out),
                          error);
}

enum weir_status weir_token_set_used(struct weir_connection *connection, const char *id,
                                     int64_t day_us, struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_USED, VALUES(text_value(id), weir_integer(day_us)), NULL, error);
}

enum weir_status weir_token_set_revoked(struct weir_connection *connection,
                                        const char *token, int64_t now_us, int64_t *count,
                                        struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_REVOKE,
                                   VALUES(text_value(token), weir_integer(now_us)), count,
                                   error);
}

enum weir_status weir_token_set_expiry(struct weir_connection *connection,
                                       const char *name, int64_t now_us, int64_t until_us,
                                       struct weir_error *error)
{
    return weir_connection_execute(
        connection, &SQL_EXPIRE,
        VALUES(text_value(name), weir_integer(now_us), weir_integer(until_us)), NULL,
        error);
}
