/*
 * tuning.h - checking the numbers of weir/outbox.h.
 */
#ifndef WEIR_OUTBOX_TUNING_H
#define WEIR_OUTBOX_TUNING_H

#include "weir/outbox.h"

/* batch, min <= active, idle, retry base and max, threshold. `whose`: "leased
 * partition", ... WEIR_INVALID names whose, field, value and limit. */
WEIR_CHECKED enum weir_status weir_tuning_check(const struct weir_tuning *self,
                                                const char *whose,
                                                struct weir_error *error);

/* duration, and headroom below it. */
WEIR_CHECKED enum weir_status
weir_lease_options_check(const struct weir_lease_options *self, struct weir_error *error);

/* All of them but the database's part. */
WEIR_CHECKED enum weir_status
weir_outbox_options_check(const struct weir_outbox_options *self,
                          struct weir_error *error);
WEIR_CHECKED enum weir_status
weir_queue_options_check(const struct weir_queue_options *self, struct weir_error *error);
WEIR_CHECKED enum weir_status
weir_handler_options_check(const struct weir_handler_options *self,
                           struct weir_error *error);

#endif
