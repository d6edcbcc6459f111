/*
 * token_cache.c - see token_cache.h.
 */
#include "server/api/token_cache.h"

#include <string.h>

#include "base/heap.h"

enum { KEY_SIZE = WEIR_TOKEN_HASH_SIZE + sizeof(uint32_t) };

struct entry {
    const struct weir_heap *heap;
    int64_t found_ns;
    struct weir_grant grant;
};

/* Without the padding of the struct. */
static struct weir_str bytes_of(const struct weir_token_key *key, char out[KEY_SIZE])
{
    memcpy(out, key->hash, sizeof key->hash);
    memcpy(out + sizeof key->hash, &key->place, sizeof key->place);
    return (struct weir_str){out, KEY_SIZE};
}

static bool drop(void *arg, struct weir_str key, void *value)
{
    struct entry *entry = value;

    (void)arg;
    (void)key;
    weir_heap_free(entry->heap, entry);
    return true;
}

enum weir_status weir_token_cache_init(struct weir_token_cache *self,
                                       const struct weir_heap *heap, int64_t keep_ns)
{
    self->heap = heap;
    self->keep_ns = keep_ns;
    weir_map_init(&self->entries, heap, WEIR_TOKENS_MAX);
    return weir_lock_init(&self->lock);
}

void weir_token_cache_fini(struct weir_token_cache *self)
{
    weir_map_remove_if(&self->entries, drop, NULL);
    weir_map_fini(&self->entries);
    weir_lock_fini(&self->lock);
}

void weir_token_cache_set_keep(struct weir_token_cache *self, int64_t keep_ns)
{
    weir_lock_acquire(&self->lock);
    self->keep_ns = keep_ns;
    weir_lock_release(&self->lock);
}

bool weir_token_cache_find(struct weir_token_cache *self,
                           const struct weir_token_key *key, int64_t now_ns,
                           struct weir_grant *out)
{
    char bytes[KEY_SIZE];
    const struct entry *entry;
    bool found;

    weir_lock_acquire(&self->lock);
    entry = weir_map_find(&self->entries, bytes_of(key, bytes));
    found = entry != NULL && now_ns - entry->found_ns < self->keep_ns;
    if (found)
        *out = entry->grant;
    weir_lock_release(&self->lock);
    return found;
}

void weir_token_cache_put(struct weir_token_cache *self, const struct weir_token_key *key,
                          int64_t now_ns, const struct weir_grant *grant)
{
    struct entry *entry = weir_heap_zalloc(self->heap, sizeof *entry);
    char bytes[KEY_SIZE];
    struct weir_str name = bytes_of(key, bytes);

    if (entry == NULL)
        return;
    *entry = (struct entry){.heap = self->heap, .found_ns = now_ns, .grant = *grant};
    weir_lock_acquire(&self->lock);
    if (weir_map_count(&self->entries) == WEIR_TOKENS_MAX)
        weir_map_remove_if(&self->entries, drop, NULL);
    weir_heap_free(self->heap, weir_map_remove(&self->entries, name));
    if (weir_map_put(&self->entries, name, entry) == WEIR_OK)
        entry = NULL;
    weir_lock_release(&self->lock);
    weir_heap_free(self->heap, entry);
}
