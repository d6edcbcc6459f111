/*
 * chunk.c - see chunk.h.
 */
#include "sink/chunk.h"

#include "base/buf.h"
#include "sink/line.h"
#include "weir/batch.h"

enum weir_status weir_chunk_fill(struct weir_batch *batch, struct weir_buf *buf,
                                 size_t size_enough, size_t *count)
{
    const struct weir_message *message;

    weir_buf_reset(buf);
    *count = 0;
    while (buf->size < size_enough && (message = weir_batch_next(batch)) != NULL) {
        size_t whole = buf->size;

        weir_line_append(buf, message);
        if (weir_buf_status(buf) != WEIR_OK) {
            buf->size = whole; /* an append is done or not: a line may be half there */
            return WEIR_NO_MEMORY;
        }
        (*count)++;
    }
    return WEIR_OK;
}
