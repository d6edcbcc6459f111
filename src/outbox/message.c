/*
 * message.c - a message's uid as text, its headers, and the partition of a key.
 *
 * The partition of a key is a rule that producers in other languages follow as well, so
 * it must never come out differently. The digest is our own (base/md5.h) because a
 * policy of the machine may take MD5 away from the libraries that have it, and another
 * hash, or partition 0, would break the order of every key.
 */
#include "weir/message.h"

#include <string.h>

#include "base/assert.h"
#include "base/codec/hex.h"
#include "base/md5.h"

const char *weir_uid_format(const uint8_t *uid, char *out)
{
    *weir_hex_write(uid, WEIR_UID_SIZE, out) = '\0';
    return out;
}

/* From the end: where another producer wrote a name twice, the last one counts, as in
 * JSON. */
const char *weir_message_header(const struct weir_message *self, const char *name)
{
    for (size_t i = self->header_count; i > 0; i--) {
        if (strcmp(self->headers[i - 1].name, name) == 0)
            return self->headers[i - 1].value;
    }
    return NULL;
}

struct weir_route weir_route_to_partition(int32_t partition)
{
    return (struct weir_route){.partition = partition, .pinned = true};
}

int32_t weir_partition_of_key(const char *key, size_t key_size, int32_t partitions)
{
    uint8_t digest[WEIR_MD5_SIZE];
    uint32_t number;

    WEIR_ASSERT(partitions >= 1);
    weir_md5(key, key_size, digest);
    number = (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 |
             (uint32_t)digest[2] << 8 | (uint32_t)digest[3];
    return (int32_t)(number % (uint32_t)partitions);
}
