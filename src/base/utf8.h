/*
 * utf8.h - which bytes are text.
 *
 * As Unicode has it: nothing longer than need be, no halves of UTF-16 pairs, nothing
 * above U+10FFFF. Databases refuse the rest, some of them late.
 */
#ifndef WEIR_BASE_UTF8_H
#define WEIR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* The length of the sequence at `text`, which has `left` bytes, at least 1; 0 when it
 * is none. A zero is a sequence of 1. */
size_t weir_utf8_sequence(const char *text, size_t left);

/* All of it is UTF-8; zeros may be in it. */
bool weir_utf8_valid(struct weir_str text);

#endif
