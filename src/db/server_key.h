/*
 * server_key.h - which server a database is on, as the server itself says.
 *
 * One server has many names: a host, an address, a socket, a name inside of a container.
 * So processes of one host that have to meet by the server (touch_file.h) do not take
 * the name from the URL: each session, when it is opened, asks the server for its host,
 * port, folder and number, and the sum of that is the key. The newest session counts:
 * behind a proxy or after a failover the server may be another one.
 *
 * Two servers of the same key cost each other some looks. Processes that see two servers
 * for the same data (a cluster) do not meet, and poll.
 *
 * Threads  Any.
 */
#ifndef WEIR_DB_SERVER_KEY_H
#define WEIR_DB_SERVER_KEY_H

#include <stdbool.h>

#include "base/str.h"
#include "ward/lock.h"

enum { WEIR_SERVER_KEY_SIZE = 33 }; /* of a text, with its end */

struct weir_server_key {
    struct weir_lock lock; /* guards what follows */
    char text[WEIR_SERVER_KEY_SIZE];
};

/* Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_server_key_init(struct weir_server_key *self);
void weir_server_key_fini(struct weir_server_key *self);

/* Keep what a server says of itself. */
void weir_server_key_keep(struct weir_server_key *self, struct weir_str identity);

/* False: no session has been opened yet; *out is "". */
bool weir_server_key_get(struct weir_server_key *self, char out[WEIR_SERVER_KEY_SIZE]);

#endif
