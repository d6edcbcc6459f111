/*
 * read.h - reading PostgreSQL's log in its order; the slot of log.h says what it
 * promises.
 */
#ifndef WEIR_OUTBOX_POSTGRES_READ_H
#define WEIR_OUTBOX_POSTGRES_READ_H

#include "outbox/log/log.h"

WEIR_CHECKED enum weir_status weir_pg_read(const struct weir_outbox_log *self,
                                           struct weir_connection *connection,
                                           struct weir_page *page,
                                           struct weir_error *error);

#endif
