/*
 * address.c - see address.h.
 */
#include "server/http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static void read_v4(const struct in_addr *address, struct weir_http_peer *peer)
{
    inet_ntop(AF_INET, address, peer->address, sizeof peer->address);
    peer->loopback = ntohl(address->s_addr) >> 24 == 127;
}

static void read_v6(const struct in6_addr *address, struct weir_http_peer *peer)
{
    struct in_addr v4;

    if (IN6_IS_ADDR_V4MAPPED(address)) {
        memcpy(&v4, address->s6_addr + 12, sizeof v4);
        read_v4(&v4, peer);
        return;
    }
    inet_ntop(AF_INET6, address, peer->address, sizeof peer->address);
    peer->loopback = IN6_IS_ADDR_LOOPBACK(address);
}

void weir_http_address_read(const struct sockaddr_storage *address,
                            struct weir_http_peer *peer)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (address->ss_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        read_v4(&v4.sin_addr, peer);
        peer->port = ntohs(v4.sin_port);
    } else if (address->ss_family == AF_INET6) {
        memcpy(&v6, address, sizeof v6);
        read_v6(&v6.sin6_addr, peer);
        peer->port = ntohs(v6.sin6_port);
    } else {
        snprintf(peer->address, sizeof peer->address, "unix");
        peer->unix_socket = true;
    }
}
