/*
 * claim.h - what others than its callers need of weir_execution_claim().
 */
#ifndef WEIR_EXECUTION_CLAIM_H
#define WEIR_EXECUTION_CLAIM_H

#include "weir/executions.h"

struct weir_heap;

/* As weir_execution_claim() checks them. */
WEIR_CHECKED enum weir_status
weir_claim_options_check(const struct weir_claim_options *options, size_t count,
                         struct weir_error *error);

/* weir_claimed_free() for callers that may outlive the engine, but not its heap. */
void weir_claimed_free_to(const struct weir_heap *heap, struct weir_claimed *claimed);

#endif
