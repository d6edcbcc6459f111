/*
 * output.h - what a command prints once and at the end: tables for people, JSON for
 * programs. How single values are written is in view/value.h.
 *
 * Colours and a width only on a terminal; NO_COLOR is heeded. For what is drawn again
 * and again there is console.h.
 *
 * Memory   The caller's.
 */
#ifndef WEIR_CLI_OUTPUT_H
#define WEIR_CLI_OUTPUT_H

#include <stddef.h>

#include "base/str.h"
#include "cli/command.h"
#include "view/table.h"
#include "view/value.h"

/* Of standard output: a width of 0 is no limit, and colours are only for a terminal. */
size_t weir_output_width(void);
enum weir_tone_use weir_output_tones(void);

/* Titles and rows to the end of a text, for the width and the colours of standard
 * output. */
WEIR_CHECKED enum weir_status weir_output_append_table(const struct weir_table *table,
                                                       struct weir_buf *text);

/* The same to standard output. WEIR_EXIT_DONE, or WEIR_EXIT_FAILED after telling. */
WEIR_CHECKED int weir_output_table(const struct weir_command *command,
                                   const struct weir_table *table);

/* Whole lines to standard output, likewise. */
WEIR_CHECKED int weir_output_lines(const struct weir_command *command,
                                   const struct weir_buf *text);

/* The text and a newline to standard output, likewise. */
WEIR_CHECKED int weir_output_text(const struct weir_command *command,
                                  const struct weir_buf *text);

/* Bytes as they are, likewise. */
WEIR_CHECKED int weir_output_bytes(const struct weir_command *command,
                                   struct weir_str bytes);

#endif
