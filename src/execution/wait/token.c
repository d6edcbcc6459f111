/*
 * token.c - see token.h.
 */
#include "execution/wait/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "base/assert.h"
#include "base/codec/hex.h"

enum { HASH_SIZE = 32, HEX_SIZE = 2 * HASH_SIZE };

static enum weir_status refused(struct weir_error *error)
{
    return weir_error_set(error, WEIR_SYSTEM, "no SHA-256 to be had");
}

/* All parts but the last have a fixed length, so no two subjects are the same bytes. */
static size_t write_subject(const struct weir_token_subject *subject, uint8_t *out)
{
    size_t size = 0;

    memcpy(out, subject->id->uuid, WEIR_UUID_SIZE);
    size += WEIR_UUID_SIZE;
    memcpy(out + size, subject->waitpoint, WEIR_UUID_SIZE);
    size += WEIR_UUID_SIZE;
    memcpy(out + size, subject->key.data, subject->key.size);
    return size + subject->key.size;
}

enum weir_status weir_token_make(const struct weir_secret *secret,
                                 const struct weir_token_subject *subject,
                                 char out[WEIR_TOKEN_TEXT_SIZE], struct weir_error *error)
{
    uint8_t bytes[2 * WEIR_UUID_SIZE + WEIR_WAITPOINT_KEY_SIZE_MAX];
    uint8_t hash[HASH_SIZE];
    unsigned hash_size = 0;
    size_t key_id_size = strlen(secret->key_id);

    WEIR_ASSERT(subject->key.size <= WEIR_WAITPOINT_KEY_SIZE_MAX);
    if (HMAC(EVP_sha256(), secret->bytes, sizeof secret->bytes, bytes,
             write_subject(subject, bytes), hash, &hash_size) == NULL ||
        hash_size != HASH_SIZE)
        return refused(error);
    memcpy(out, secret->key_id, key_id_size);
    out[key_id_size] = ':';
    *weir_hex_write(hash, sizeof hash, out + key_id_size + 1) = '\0';
    OPENSSL_cleanse(hash, sizeof hash);
    return WEIR_OK;
}

struct weir_str weir_token_key_id(const char *token)
{
    const char *colon = strrchr(token, ':');
    size_t size = colon != NULL ? (size_t)(colon - token) : 0;

    if (size == 0 || size > WEIR_KEY_ID_SIZE_MAX || strlen(colon + 1) != HEX_SIZE)
        return (struct weir_str){"", 0};
    return (struct weir_str){token, size};
}

/* The lengths are no secret. */
bool weir_token_equal(const char *a, const char *b)
{
    size_t size = strlen(a);

    return strlen(b) == size && CRYPTO_memcmp(a, b, size) == 0;
}

enum weir_status weir_token_fingerprint(const char *token,
                                        char out[WEIR_FINGERPRINT_TEXT_SIZE],
                                        struct weir_error *error)
{
    uint8_t hash[HASH_SIZE];

    if (EVP_Digest(token, strlen(token), hash, NULL, EVP_sha256(), NULL) != 1)
        return refused(error);
    *weir_hex_write(hash, (WEIR_FINGERPRINT_TEXT_SIZE - 1) / 2, out) = '\0';
    return WEIR_OK;
}
