/*
 * server_key.c - see server_key.h.
 */
#include "db/server_key.h"

#include <string.h>

#include "base/codec/hex.h"
#include "base/md5.h"

enum weir_status weir_server_key_init(struct weir_server_key *self)
{
    self->text[0] = '\0';
    return weir_lock_init(&self->lock);
}

void weir_server_key_fini(struct weir_server_key *self)
{
    weir_lock_fini(&self->lock);
}

void weir_server_key_keep(struct weir_server_key *self, struct weir_str identity)
{
    uint8_t digest[WEIR_MD5_SIZE];

    weir_md5(identity.data, identity.size, digest);
    weir_lock_acquire(&self->lock);
    *weir_hex_write(digest, sizeof digest, self->text) = '\0';
    weir_lock_release(&self->lock);
}

bool weir_server_key_get(struct weir_server_key *self, char out[WEIR_SERVER_KEY_SIZE])
{
    weir_lock_acquire(&self->lock);
    memcpy(out, self->text, WEIR_SERVER_KEY_SIZE);
    weir_lock_release(&self->lock);
    return out[0] != '\0';
}
