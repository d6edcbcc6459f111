/*
 * address_counts.c - see address_counts.h.
 *
 * The map holds pointers; the count is kept as one.
 */
#include "server/http/address_counts.h"

#include "base/assert.h"

enum { ADDRESSES_MAX = 1 << 20 };

void weir_http_address_counts_init(struct weir_http_address_counts *self,
                                   const struct weir_heap *heap)
{
    weir_map_init(&self->map, heap, ADDRESSES_MAX);
}

void weir_http_address_counts_fini(struct weir_http_address_counts *self)
{
    weir_map_fini(&self->map);
}

bool weir_http_address_counts_add(struct weir_http_address_counts *self,
                                  const char *address, uint32_t max)
{
    struct weir_str key = weir_str(address);
    uintptr_t count = (uintptr_t)weir_map_find(&self->map, key);

    if (max > 0 && count >= max)
        return false;
    return weir_map_put(&self->map, key, (void *)(count + 1)) == WEIR_OK;
}

void weir_http_address_counts_remove(struct weir_http_address_counts *self,
                                     const char *address)
{
    struct weir_str key = weir_str(address);
    uintptr_t count = (uintptr_t)weir_map_find(&self->map, key);
    enum weir_status status = WEIR_OK;

    WEIR_ASSERT(count > 0);
    if (count == 1)
        (void)weir_map_remove(&self->map, key);
    else
        status = weir_map_put(&self->map, key, (void *)(count - 1));
    WEIR_ASSERT(status == WEIR_OK); /* a key that is there needs no memory */
}
