/*
 * address.h - addresses of the configuration: where to listen.
 */
#ifndef WEIR_SERVER_CONFIG_ADDRESS_H
#define WEIR_SERVER_CONFIG_ADDRESS_H

#include "base/arena.h"
#include "server/config/config.h"
#include "weir/error.h"

/*
 * HOST:PORT, [V6]:PORT, unix:PATH, systemd:NAME. A host is an address or a name; nothing
 * is resolved here. `text` is borrowed by *out. WEIR_INVALID, with a text, or
 * WEIR_NO_MEMORY.
 */
WEIR_CHECKED enum weir_status weir_address_read_listener(struct weir_arena *arena,
                                                         const char *text,
                                                         struct weir_config_listener *out,
                                                         struct weir_error *error);

#endif
