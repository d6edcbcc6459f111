/*
 * buf.h - bytes that grow at the end.
 *
 * A text made of twenty pieces wants one question at the end and not twenty on the way.
 * So appending returns nothing: the first append that fails leaves its mark, later ones
 * do nothing, and status() tells.
 *
 *   weir_buf_append_text(&buf, "{");
 *   weir_buf_append_format(&buf, "\"lag_ms\": %" PRId64, lag_ms);
 *   weir_buf_append_text(&buf, "}");
 *   status = weir_buf_status(&buf);
 *
 * Threads  The owner's.
 * Memory   One block from `heap`, made by the first append, of at most `size_max` bytes
 *          and a zero.
 * Failure  An append is done as a whole or not at all. What was there before stays.
 */
#ifndef WEIR_BASE_BUF_H
#define WEIR_BASE_BUF_H

#include <stddef.h>

#include "base/str.h"
#include "weir/status.h"

struct weir_heap;

struct weir_buf {
    const struct weir_heap *heap; /* borrowed */
    char *data;                   /* owned; NULL before the first append */
    size_t size;                  /* bytes in use, without the zero behind them */
    size_t capacity;              /* bytes in `data` */
    size_t size_max;              /* limit of `size` */
    enum weir_status failure;     /* of the first append that failed, or WEIR_OK */
};

/* Borrows `heap` until fini(). Allocates nothing yet. */
void weir_buf_init(struct weir_buf *self, const struct weir_heap *heap, size_t size_max);

/* Gives the memory back. The buffer is empty afterwards, not gone: fini() again is
 * fine. */
void weir_buf_fini(struct weir_buf *self);

/* Empty and not failed; the memory is kept. */
void weir_buf_reset(struct weir_buf *self);

/* Add a copy of the bytes, or of the text without its zero. They must not be the buffer's
 * own, which may move. */
void weir_buf_append(struct weir_buf *self, const void *bytes, size_t size);
void weir_buf_append_text(struct weir_buf *self, const char *text);

/* Add a text made as by printf. The buffer's own text must not be an argument. */
void weir_buf_append_format(struct weir_buf *self, const char *format, ...)
    WEIR_PRINTF(2, 3);

/* Something that belongs into it could not be made: as an append that failed with
 * `status`. */
void weir_buf_fail(struct weir_buf *self, enum weir_status status);

/* How appending went since init() or reset(): WEIR_OK, WEIR_NO_MEMORY, or WEIR_INVALID
 * when size_max was not enough or a format could not be printed. */
WEIR_CHECKED enum weir_status weir_buf_status(const struct weir_buf *self);

/* The bytes, with a zero behind them: "" when there are none, never NULL. Both are
 * borrowed until the next change. */
const char *weir_buf_text(const struct weir_buf *self);
struct weir_str weir_buf_get(const struct weir_buf *self);

#endif
