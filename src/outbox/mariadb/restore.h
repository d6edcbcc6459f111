/*
 * restore.h - what a dump of MariaDB can get wrong, put right.
 *
 * Nothing of the outbox is bound to the server there, and a restored database simply
 * goes on. But sequences are outside of all transactions: a dump that is made while
 * messages are moved may have read the number of an era that began after its snapshot,
 * and no row for it. Then no process can append (mariadb/log.h), and nothing would ever
 * change that.
 *
 * Threads  The holder of the connection.
 * Failure  As the database does. May be repeated, and does no harm while others work.
 */
#ifndef WEIR_OUTBOX_MARIADB_RESTORE_H
#define WEIR_OUTBOX_MARIADB_RESTORE_H

#include <stdbool.h>

#include "db/connection.h"

/* *mended tells whether an era was missing. */
WEIR_CHECKED enum weir_status weir_maria_restore(struct weir_connection *connection,
                                                 bool *mended, struct weir_error *error);

#endif
