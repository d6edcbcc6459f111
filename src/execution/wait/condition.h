/*
 * condition.h - what a suspended execution waits for, as text and as a question about
 * signals.
 *
 *   approved@review                       a signal of that name at that waitpoint
 *   *@review                              any signal there
 *   all(approved@legal, approved@board)   both
 *   2 of sources vote@(ann, bob, cid)     votes from two different sources, wherever
 *                                         they came in
 *   operator                              no signal suffices: an operator resumes it
 *   timeout                               nothing but its timeout
 *
 * One text everywhere: it is what a worker passes, what is stored, and what users
 * see. Names and keys have letters, digits and any of "_-.:/". `N of` counts
 * different waitpoints, signals or sources; a source is a type and a name.
 *
 * Memory   A parsed condition refers to its text, which is borrowed for as long.
 * Failure  WEIR_INVALID names what was expected and where; WEIR_TOO_DEEP; WEIR_TOO_LARGE.
 */
#ifndef WEIR_EXECUTION_WAIT_CONDITION_H
#define WEIR_EXECUTION_WAIT_CONDITION_H

#include "base/buf.h"
#include "weir/suspension.h"

enum { WEIR_CONDITION_PARTS_MAX = 64, WEIR_CONDITION_KEYS_MAX = 256 };

enum weir_condition_type {
    WEIR_CONDITION_SINGLE,
    WEIR_CONDITION_WAITPOINTS, /* these three count */
    WEIR_CONDITION_SIGNALS,
    WEIR_CONDITION_SOURCES,
    WEIR_CONDITION_OPERATOR,
    WEIR_CONDITION_TIMEOUT
};

struct weir_condition_part {
    enum weir_condition_type type;
    uint32_t wanted;      /* of those that count */
    struct weir_str name; /* of the signal; size 0: any */
    uint32_t first_key;   /* of those below */
    uint32_t key_count;
};

/* All parts must hold: "all" of all is all. */
struct weir_condition {
    struct weir_condition_part parts[WEIR_CONDITION_PARTS_MAX];
    uint32_t part_count;
    struct weir_str keys[WEIR_CONDITION_KEYS_MAX];
    uint32_t key_count;
};

/* One that has come, as far as conditions ask. */
struct weir_signal_seen {
    struct weir_str key; /* of the waitpoint */
    struct weir_str name;
    struct weir_str source_type;
    struct weir_str source;
};

WEIR_CHECKED enum weir_status weir_condition_parse(struct weir_condition *self,
                                                   struct weir_str text,
                                                   struct weir_error *error);

/* Each key must be one of these, and a condition that is nothing but "timeout" needs a
 * timeout: WEIR_INVALID. */
WEIR_CHECKED enum weir_status
weir_condition_check(const struct weir_condition *self,
                     const struct weir_waitpoint *waitpoints, size_t count,
                     bool has_timeout, struct weir_error *error);

/* Do these signals suffice? Each of `signals` is another one. */
bool weir_condition_holds(const struct weir_condition *self,
                          const struct weir_signal_seen *signals, size_t count);

/* How far one part is: up to `wanted`. */
uint32_t weir_condition_found(const struct weir_condition *self,
                              const struct weir_condition_part *part,
                              const struct weir_signal_seen *signals, size_t count);

/* Does any part ask for such a signal? */
bool weir_condition_wants(const struct weir_condition *self,
                          const struct weir_signal_seen *signal);

/* A part as text that parse() reads; and what is missing of it, in words for people. */
void weir_condition_write(const struct weir_condition *self,
                          const struct weir_condition_part *part, struct weir_buf *out);
void weir_condition_write_missing(const struct weir_condition *self,
                                  const struct weir_condition_part *part, uint32_t found,
                                  struct weir_buf *out);

/* 1 to `size_max` letters, digits and "_-.:/"? */
bool weir_condition_is_word(struct weir_str text, size_t size_max);

#endif
