/*
 * error.h - what went wrong, in words, without allocating anything.
 *
 * The caller owns a struct weir_error, usually on its stack, and passes it last; NULL
 * means that only the status is wanted. Each layer may put one phrase in front:
 *
 *   spawn worker "mailer": backoff.multiplier is 0.5, must be at least 1
 *
 * Memory   None. A text that does not fit is cut and ends in "...".
 */
#ifndef WEIR_ERROR_H
#define WEIR_ERROR_H

#include <stdint.h>

#include <weir/status.h>

enum { WEIR_ERROR_TEXT_SIZE = 256 };

struct weir_error {
    enum weir_status status;
    int32_t native_code; /* the database driver's; 0: none */
    char sqlstate[6];    /* of the database; "": none */
    char text[WEIR_ERROR_TEXT_SIZE];
};

WEIR_BEGIN_DECLS

/* Back to WEIR_OK and an empty text. NULL is fine. */
WEIR_API void weir_error_clear(struct weir_error *self);

/* Store status and text; returns `status`, so that it can be the last line of a function.
 * `self` may be NULL. */
WEIR_API enum weir_status weir_error_set(struct weir_error *self, enum weir_status status,
                                         const char *format, ...) WEIR_PRINTF(3, 4);

/* Put "phrase: " in front of the text and keep the status. `self` may be NULL. */
WEIR_API void weir_error_prefix(struct weir_error *self, const char *format, ...)
    WEIR_PRINTF(2, 3);

WEIR_END_DECLS

#endif
