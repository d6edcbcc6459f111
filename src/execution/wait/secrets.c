/*
 * secrets.c - see secrets.h.
 *
 * Two processes that need the first one at once both try to make "k1": one of them does,
 * and both read it. Two rotations at once come one after the other. Were there no secret
 * before, both of theirs are active: tokens of both are good, and the one with the
 * greater name makes new ones.
 */
#include "execution/wait/secrets.h"

#include "db/query.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>

/* By the primary key, or all of the few that there are. */
static const struct weir_sql SQL_ACTIVE = {
    .name = "read active secret",
    .text = "SELECT key_id, secret FROM {p}_secret WHERE active = 1"
            " ORDER BY key_id DESC LIMIT 1",
};
static const struct weir_sql SQL_FIND = {
    .name = "find secret",
    .text = "SELECT key_id, secret FROM {p}_secret WHERE key_id = {1}"
            " AND (active = 1 OR until_us > {2})",
    .parameters = "ti",
};
static const struct weir_sql SQL_READ = {
    .name = "read secret",
    .text = "SELECT key_id, secret FROM {p}_secret WHERE key_id = {1}",
    .parameters = "t",
};
static const struct weir_sql SQL_ADD = {
    .name = "add secret",
    .text = "INSERT INTO {p}_secret (key_id, secret, active) VALUES ({1}, {2}, 1)"
            " ON CONFLICT DO NOTHING",
    .parameters = "tb",
};
static const struct weir_sql SQL_LOCK = {
    .name = "lock secrets",
    .text = "UPDATE {p}_secret SET active = active",
};
/* None is valid for longer than the last one was given, whatever was granted before. */
static const struct weir_sql SQL_RETIRE = {
    .name = "retire secrets",
    .text = "UPDATE {p}_secret SET active = 0, until_us = {1} WHERE active = 1"
            " OR until_us > {1}",
    .parameters = "i",
};
static const struct weir_sql SQL_ACTIVATE = {
    .name = "activate secret",
    .text = "UPDATE {p}_secret SET active = 1, until_us = 0 WHERE key_id = {1}",
    .parameters = "t",
};
static const struct weir_sql SQL_FORGET = {
    .name = "forget secrets",
    .text = "DELETE FROM {p}_secret WHERE active = 0 AND until_us <= {1}",
    .parameters = "i",
};

static const struct weir_column SECRET[] = {
    COLUMN(struct weir_secret, key_id, CHARS),
    COLUMN(struct weir_secret, bytes, FIXED),
};

static enum weir_status read_active(struct weir_connection *connection,
                                    struct weir_secret *out, struct weir_error *error)
{
    return weir_query_one(connection, &SQL_ACTIVE, NO_VALUES, INTO(SECRET, out), error);
}

static enum weir_status add(struct weir_connection *connection,
                            const struct weir_secret *secret, int64_t *added,
                            struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_ADD,
                                   VALUES(weir_text(weir_str(secret->key_id)),
                                          weir_bytes(secret->bytes, WEIR_SECRET_SIZE)),
                                   added, error);
}

enum weir_status weir_secret_draw(struct weir_secret *self, struct weir_error *error)
{
    if (RAND_bytes(self->bytes, sizeof self->bytes) != 1)
        return weir_error_set(error, WEIR_SYSTEM, "no randomness for a secret");
    return WEIR_OK;
}

enum weir_status weir_secrets_active(struct weir_connection *connection,
                                     struct weir_secret *out, struct weir_error *error)
{
    struct weir_secret first = {.key_id = "k1"};
    enum weir_status status = read_active(connection, out, error);

    if (status != WEIR_NO_ROW)
        return status;
    status = weir_secret_draw(&first, error);
    if (status == WEIR_OK)
        status = add(connection, &first, NULL, error);
    OPENSSL_cleanse(&first, sizeof first);
    if (status == WEIR_OK)
        status = read_active(connection, out, error);
    return status == WEIR_NO_ROW
               ? weir_error_set(error, WEIR_SCHEMA,
                                "no key for tokens is active: rotate it")
               : status;
}

enum weir_status weir_secrets_find(struct weir_connection *connection,
                                   struct weir_str key_id, int64_t now_us,
                                   struct weir_secret *out, struct weir_error *error)
{
    return weir_query_one(connection, &SQL_FIND,
                          VALUES(weir_text(key_id), weir_integer(now_us)),
                          INTO(SECRET, out), error);
}

/* The same name must be the same secret. */
static enum weir_status compare(struct weir_connection *connection,
                                const struct weir_secret *secret, bool *same,
                                struct weir_error *error)
{
    struct weir_secret stored;
    enum weir_status status = weir_query_find(connection, &SQL_READ,
                                              VALUES(weir_text(weir_str(secret->key_id))),
                                              INTO(SECRET, &stored), same, error);

    if (status == WEIR_OK && *same &&
        CRYPTO_memcmp(stored.bytes, secret->bytes, WEIR_SECRET_SIZE) != 0)
        status = weir_error_set(error, WEIR_MISMATCH, "key \"%s\" has another secret",
                                secret->key_id);
    OPENSSL_cleanse(&stored, sizeof stored);
    return status;
}

/* Does it make new tokens? */
static enum weir_status ask(struct weir_connection *connection,
                            const struct weir_secret *secret, bool *current,
                            struct weir_error *error)
{
    struct weir_secret active;
    enum weir_status status = read_active(connection, &active, error);

    *current = status == WEIR_OK && strcmp(active.key_id, secret->key_id) == 0;
    OPENSSL_cleanse(&active, sizeof active);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

static enum weir_status add_new(struct weir_connection *connection,
                                const struct weir_secret *secret,
                                struct weir_error *error)
{
    int64_t added = 0;
    enum weir_status status = add(connection, secret, &added, error);

    if (status == WEIR_OK && added == 0)
        status = weir_error_set(error, WEIR_CONFLICT,
                                "another process has made key \"%s\" meanwhile",
                                secret->key_id);
    return status;
}

enum weir_status weir_secrets_rotate(struct weir_connection *connection,
                                     const struct weir_secret *secret, int64_t until_us,
                                     struct weir_error *error)
{
    bool there = false, current = false;
    enum weir_status status =
        weir_connection_execute(connection, &SQL_LOCK, NO_VALUES, NULL, error);

    if (status == WEIR_OK)
        status = compare(connection, secret, &there, error);
    if (status == WEIR_OK && there)
        status = ask(connection, secret, &current, error);
    if (status != WEIR_OK || current)
        return status; /* or the call is repeated */
    status = weir_connection_execute(connection, &SQL_RETIRE,
                                     VALUES(weir_integer(until_us)), NULL, error);
    if (status != WEIR_OK || !there)
        return status == WEIR_OK ? add_new(connection, secret, error) : status;
    return weir_connection_execute(connection, &SQL_ACTIVATE,
                                   VALUES(weir_text(weir_str(secret->key_id))), NULL,
                                   error);
}

enum weir_status weir_secrets_forget(struct weir_connection *connection, int64_t now_us,
                                     struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_FORGET, VALUES(weir_integer(now_us)),
                                   NULL, error);
}
