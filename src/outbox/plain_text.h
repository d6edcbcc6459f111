/*
 * plain_text.h - what a handler wrote, as a text that every database takes.
 *
 * A reason for a failure may hold anything: half a character, a zero, a megabyte. It
 * must not keep the ack that carries it, and all others of its group, from being
 * stored.
 */
#ifndef WEIR_OUTBOX_PLAIN_TEXT_H
#define WEIR_OUTBOX_PLAIN_TEXT_H

#include "base/arena.h"
#include "base/str.h"
#include "weir/status.h"

enum { WEIR_PLAIN_TEXT_SIZE_MAX = 4096 };

/*
 * `text` itself when it is UTF-8 without zeros of at most WEIR_PLAIN_TEXT_SIZE_MAX
 * bytes; else a copy in `arena` that is: cut between two characters, with a '?' for
 * each byte that is part of none. WEIR_NO_MEMORY: the arena has no room.
 */
WEIR_CHECKED enum weir_status weir_plain_text(struct weir_arena *arena,
                                              struct weir_str text, struct weir_str *out);

#endif
