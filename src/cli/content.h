/*
 * content.h - bytes that a command is given: as a word, from a file, or from standard
 * input.
 *
 *   weir_content_take(&content, command, "input", "@order.json", WEIR_INPUT_SIZE_MAX)
 *
 *   TEXT     these characters
 *   @FILE    the content of a file
 *   -        all of standard input
 *
 * Memory   Owned; fini() gives it back, and is harmless when nothing was read.
 */
#ifndef WEIR_CLI_CONTENT_H
#define WEIR_CLI_CONTENT_H

#include <stddef.h>

#include "cli/command.h"

/* All zero: nothing. */
struct weir_content {
    const char *data;
    size_t size;
    char *memory; /* owned; NULL: `data` is a word of the command line */
};

/*
 * All of a file, or of standard input when it is "-". The exit code, after telling what
 * is wrong; more than `size_max` bytes are refused, with `remedy` behind it: "" or ";
 * do this instead".
 */
WEIR_CHECKED int weir_content_read(struct weir_content *self,
                                   const struct weir_command *command, const char *what,
                                   const char *file, size_t size_max, const char *remedy);

/* The value of option `what`, in one of the three forms. The exit code. */
WEIR_CHECKED int weir_content_take(struct weir_content *self,
                                   const struct weir_command *command, const char *what,
                                   const char *value, size_t size_max);

void weir_content_fini(struct weir_content *self);

#endif
