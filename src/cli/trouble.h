/*
 * trouble.h - something that fails for a while, reported when it changes and not again
 * and again.
 *
 * What fails is looked at many times a second, and several partitions may fail for
 * different reasons while others work. So a new reason is reported at once, but not more
 * often than every few seconds, and the end of it when it has not been seen for as
 * long.
 *
 * Threads  The caller's.
 */
#ifndef WEIR_CLI_TROUBLE_H
#define WEIR_CLI_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/error.h"

/* All zero: there is none. */
struct weir_trouble {
    bool told;
    char text[WEIR_ERROR_TEXT_SIZE]; /* as it was reported */
    int64_t told_ns;
    int64_t seen_ns; /* last */
};

enum weir_trouble_news { WEIR_TROUBLE_NO_NEWS, WEIR_TROUBLE_BEGINS, WEIR_TROUBLE_ENDS };

/* What was seen now; NULL: all is well. Returns what to tell. */
enum weir_trouble_news weir_trouble_note(struct weir_trouble *self, const char *text,
                                         int64_t now_ns);

#endif
