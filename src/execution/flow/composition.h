/*
 * composition.h - the input of a member that several edges pass data to.
 *
 *   {"input": OWN, "results": {"pack": RESULT, "bill": RESULT}}
 *
 * OWN is its own input, null when it has none. Each result stands under the name of the
 * member that it comes from, null when that member has completed without one. What is
 * JSON stands as it is. What is not is a string: its text if it is UTF-8, else its
 * bytes in base64; which of the two is said behind the results, where there is such a
 * thing:
 *
 *   "encodings": {"input": "text", "results": {"bill": "base64"}}
 *
 *   init -> add, add, ... -> finish -> fini
 *
 * Order    Results stand in the order in which they were added; the same ones in the
 *          same order give the same bytes.
 * Memory   Owned; up to the limit of init(), twice for a moment.
 * Failure  WEIR_TOO_LARGE: it has more bytes than the limit.
 */
#ifndef WEIR_EXECUTION_FLOW_COMPOSITION_H
#define WEIR_EXECUTION_FLOW_COMPOSITION_H

#include "base/buf.h"
#include "weir/error.h"

struct weir_composition {
    struct weir_buf results;   /* members of the object, with commas between */
    struct weir_buf encodings; /* likewise */
};

/* Borrows `heap` until fini(). Allocates nothing yet. */
void weir_composition_init(struct weir_composition *self, const struct weir_heap *heap,
                           size_t size_max);
void weir_composition_fini(struct weir_composition *self);

/* Names are different from each other. `result` of size 0: there is none. */
void weir_composition_add(struct weir_composition *self, struct weir_str name,
                          struct weir_str result);

/* Appends all of it to `out`, which has the same limit. `input` of size 0: there is
 * none. */
WEIR_CHECKED enum weir_status weir_composition_finish(const struct weir_composition *self,
                                                      struct weir_str input,
                                                      struct weir_buf *out);

#endif
