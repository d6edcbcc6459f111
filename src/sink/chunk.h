/*
 * chunk.h - the next messages of a batch as lines, as many as go well into one write.
 *
 * A batch can be large. Line by line would be a system call each, all at once a buffer
 * of any size; so sinks write chunk after chunk.
 */
#ifndef WEIR_SINK_CHUNK_H
#define WEIR_SINK_CHUNK_H

#include <stddef.h>

#include "weir/status.h"

struct weir_batch;
struct weir_buf;

/*
 * Take messages until `buf`, which is reset first, has `size_enough` bytes or none is
 * left; at least one if there is one. *count gets how many lines there are.
 * WEIR_NO_MEMORY: the message that did not fit was taken, and is not to be acked; the
 * lines before it are whole.
 */
WEIR_CHECKED enum weir_status weir_chunk_fill(struct weir_batch *batch,
                                              struct weir_buf *buf, size_t size_enough,
                                              size_t *count);

#endif
