/*
 * policies.h - the policies of a queue, as sets of enum weir_queue_policy.
 *
 * Options are given anew at each start of a process. What they do not name must stay as
 * an operator has set it, so a value of 0, which is every policy's default, names
 * nothing by itself (weir/outbox.h).
 *
 * Threads  Any.
 */
#ifndef WEIR_OUTBOX_QUEUE_POLICIES_H
#define WEIR_OUTBOX_QUEUE_POLICIES_H

#include "weir/outbox.h"

/* Those that the options name. */
uint32_t weir_policies_named(const struct weir_queue_options *options);

/* Those that have another value in one than in the other. */
uint32_t weir_policies_differing(const struct weir_queue_options *one,
                                 const struct weir_queue_options *other);

#endif
