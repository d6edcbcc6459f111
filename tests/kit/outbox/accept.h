/*
 * accept.h - a handler that is done with every message.
 */
#ifndef WEIR_TESTS_KIT_OUTBOX_ACCEPT_H
#define WEIR_TESTS_KIT_OUTBOX_ACCEPT_H

#include "weir/outbox.h"

/* For `on_message`; needs no state. */
enum weir_outcome accept_message(struct weir_context *context, void *state,
                                 const struct weir_message *message,
                                 struct weir_reason *reason);

#endif
