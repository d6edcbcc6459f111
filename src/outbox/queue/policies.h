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

#include <stdbool.h>

#include "weir/outbox.h"

/* Those that the options name. */
uint32_t weir_policies_named(const struct weir_queue_options *options);

/* Those that have another value in one than in the other. */
uint32_t weir_policies_differing(const struct weir_queue_options *one,
                                 const struct weir_queue_options *other);

/* The partitions, if `all`, and the policies of the set, for people: "attempts_max 5,
 * retain 1 h". Returns `out`, which is cut where it is full. */
enum { WEIR_POLICIES_TEXT_SIZE = 256 };
const char *weir_policies_describe(const struct weir_queue_options *options, bool all,
                                   uint32_t set, char out[WEIR_POLICIES_TEXT_SIZE]);

#endif
