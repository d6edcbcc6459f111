/*
 * address_counts.h - how many connections each address has.
 *
 * Threads  Guarded by the server's lock.
 * Memory   One entry for each address that has a connection.
 */
#ifndef WEIR_SERVER_HTTP_ADDRESS_COUNTS_H
#define WEIR_SERVER_HTTP_ADDRESS_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct weir_http_address_counts {
    struct weir_map map; /* from address to its count */
};

void weir_http_address_counts_init(struct weir_http_address_counts *self,
                                   const struct weir_heap *heap);
void weir_http_address_counts_fini(struct weir_http_address_counts *self);

/* Count one more. False, and nothing is counted, if `address` has `max` (0: no limit) or
 * there is no memory. */
bool weir_http_address_counts_add(struct weir_http_address_counts *self,
                                  const char *address, uint32_t max);
void weir_http_address_counts_remove(struct weir_http_address_counts *self,
                                     const char *address);

#endif
