/*
 * headers.h - reads the headers of a message as they are stored.
 *
 * Stored is a JSON object (weir_headers_write() in names.h). Producers in other
 * languages write it too, so it may hold more than texts:
 *
 *   {"trace": "4bf9", "retries": 3, "urgent": true, "tags": ["a", "b"]}
 *
 *   trace    4bf9          a text is its characters
 *   retries  3             anything else is its JSON, as it was written
 *   urgent   true
 *   tags     ["a", "b"]
 *
 * C texts end in a zero, so \u0000 becomes U+FFFD, and so does half of a UTF-16 pair.
 * Names come in the order in which they were written; one that was written twice comes
 * twice (weir_message_header() gives the last).
 *
 * Memory   One block, from a heap or of the caller's own.
 * Failure  WEIR_INVALID for what is no JSON object: all of it or nothing. There is no
 *          limit but the size of the text, and 32 levels of lists and objects in each
 *          other; what a handler may be given has one (weir_headers_check()).
 */
#ifndef WEIR_OUTBOX_HEADERS_H
#define WEIR_OUTBOX_HEADERS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "weir/heap.h"
#include "weir/message.h"

struct weir_headers {
    const struct weir_header *list; /* NULL when there are none */
    size_t count;
};

/* How much memory the headers need, 0 when there are none, and how many there are. A
 * `json` without data is no headers. */
WEIR_CHECKED enum weir_status weir_headers_measure(struct weir_str json, size_t *size,
                                                   size_t *count,
                                                   struct weir_error *error);

/*
 * May a handler be given a message with these headers? WEIR_TOO_LARGE names number or
 * size, and the limit of producers. What weir itself adds to a message
 * (weir/dead_letter.h) has room beside it. Headers that are no JSON are none, and may
 * be given. Costs next to nothing for few headers.
 */
enum {
    WEIR_HEADERS_STORED_MAX = WEIR_HEADERS_MAX + 8,
    WEIR_HEADERS_STORED_SIZE_MAX = WEIR_HEADERS_SIZE_MAX + 4096,
};
WEIR_CHECKED enum weir_status weir_headers_check(struct weir_str json,
                                                 struct weir_error *error);

/* Read what measure() said WEIR_OK to into `memory`, which has that size and is aligned
 * for a struct weir_header. `json` is not needed any more afterwards. */
struct weir_headers weir_headers_place(struct weir_str json, void *memory, size_t count);

/* Both, with memory from `heap`. Fails with WEIR_INVALID or WEIR_NO_MEMORY; *out is
 * then empty. */
WEIR_CHECKED enum weir_status weir_headers_read(struct weir_str json,
                                                const struct weir_heap *heap,
                                                struct weir_headers *out,
                                                struct weir_error *error);

/*
 * Append the object `json` to `out` with these headers at its end, in place of those of
 * the same names; all others stay as they are written. A `json` that is no object is
 * taken for an empty one. Names need no escapes.
 */
void weir_headers_replace(struct weir_str json, const struct weir_header *headers,
                          size_t count, struct weir_buf *out);

/* Is the word null the value of a header? *index gets the first of them, as in the
 * list. A `json` that measure() said WEIR_OK to. */
bool weir_headers_find_null(struct weir_str json, size_t *index);

/* Give back what read() made. Also empty ones, also twice. */
void weir_headers_free(struct weir_headers *self, const struct weir_heap *heap);

#endif
