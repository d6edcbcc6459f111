/*
 * address.h - the address of a socket as text.
 */
#ifndef WEIR_SERVER_HTTP_ADDRESS_H
#define WEIR_SERVER_HTTP_ADDRESS_H

#include <sys/socket.h>

#include "server/http/request.h"

/* Fill address, port, unix_socket and loopback of `peer`. An address of IPv4 that is
 * mapped into IPv6 is one of IPv4. */
void weir_http_address_read(const struct sockaddr_storage *address,
                            struct weir_http_peer *peer);

#endif
