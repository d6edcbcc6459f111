/*
 * token_text.c - see token_text.h.
 */
#include "outbox/token/token_text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

#include "base/codec/base64url.h"
#include "base/codec/crc32.h"
#include "base/codec/hex.h"

#define PREFIX "weir_"

enum {
    PREFIX_SIZE = sizeof PREFIX - 1,
    RANDOM_SIZE = 32,
    LETTERS_SIZE = 43,
    CHECKSUM_SIZE = 6,
    CHECKSUM_BYTES = 4,
    GUESSABLE_SIZE = PREFIX_SIZE + 32 /* about 64 bits and the checksum are missing */
};
_Static_assert(PREFIX_SIZE + LETTERS_SIZE + CHECKSUM_SIZE == WEIR_API_TOKEN_SIZE,
               "the parts of a token make the whole");

static void write_checksum(const char *letters, char out[CHECKSUM_SIZE])
{
    uint32_t crc = weir_crc32(letters, LETTERS_SIZE);
    const uint8_t bytes[CHECKSUM_BYTES] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16),
                                           (uint8_t)(crc >> 8), (uint8_t)crc};

    (void)weir_base64url_write(bytes, sizeof bytes, out);
}

enum weir_status weir_token_draw(char text[WEIR_API_TOKEN_SIZE + 1],
                                 char id[WEIR_TOKEN_ID_SIZE + 1],
                                 struct weir_error *error)
{
    uint8_t random[RANDOM_SIZE], id_bytes[WEIR_TOKEN_ID_SIZE / 2];
    char *letters = text + PREFIX_SIZE;

    if (RAND_bytes(random, sizeof random) != 1 ||
        RAND_bytes(id_bytes, sizeof id_bytes) != 1)
        return weir_error_set(error, WEIR_SYSTEM, "no randomness for a token");
    memcpy(text, PREFIX, PREFIX_SIZE);
    (void)weir_base64url_write(random, sizeof random, letters);
    write_checksum(letters, letters + LETTERS_SIZE);
    text[WEIR_API_TOKEN_SIZE] = '\0';
    *weir_hex_write(id_bytes, sizeof id_bytes, id) = '\0';
    OPENSSL_cleanse(random, sizeof random);
    return WEIR_OK;
}

static bool has_form(const char *text, size_t size)
{
    char checksum[CHECKSUM_SIZE];

    if (size != WEIR_API_TOKEN_SIZE || memcmp(text, PREFIX, PREFIX_SIZE) != 0)
        return false;
    for (size_t i = PREFIX_SIZE; i < size; i++) {
        if (!weir_base64url_is_letter(text[i]))
            return false;
    }
    write_checksum(text + PREFIX_SIZE, checksum);
    return memcmp(text + PREFIX_SIZE + LETTERS_SIZE, checksum, CHECKSUM_SIZE) == 0;
}

enum weir_status weir_token_hash(const char *text, size_t size,
                                 uint8_t out[WEIR_TOKEN_HASH_SIZE],
                                 struct weir_error *error)
{
    if (!has_form(text, size))
        return weir_error_set(error, WEIR_INVALID, "it is not a token");
    if (EVP_Digest(text, size, out, NULL, EVP_sha256(), NULL) != 1)
        return weir_error_set(error, WEIR_SYSTEM, "SHA-256 is not available");
    return WEIR_OK;
}

/* A text that was cut is a secret as well, as long as what is missing can be guessed. */
bool weir_token_is_in(const char *name)
{
    const char *at = name != NULL ? strstr(name, PREFIX) : NULL;

    for (; at != NULL; at = strstr(at + 1, PREFIX)) {
        size_t size = PREFIX_SIZE;

        while (weir_base64url_is_letter(at[size]))
            size++;
        if (size >= GUESSABLE_SIZE)
            return true;
    }
    return false;
}

void weir_token_wipe(void *memory, size_t size)
{
    OPENSSL_cleanse(memory, size);
}
