/*
 * lag.h - what waits in PostgreSQL's log; the slot of log.h says what it promises.
 */
#ifndef WEIR_OUTBOX_POSTGRES_LAG_H
#define WEIR_OUTBOX_POSTGRES_LAG_H

#include "outbox/log/log.h"

WEIR_CHECKED enum weir_status weir_pg_lag(const struct weir_outbox_log *self,
                                          struct weir_connection *connection,
                                          const struct weir_lag_question *question,
                                          weir_lag_fn visit, void *state,
                                          struct weir_error *error);

#endif
