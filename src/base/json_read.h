/*
 * json_read.h - strict parser (reader) of JSON texts (RFC 8259).
 *
 * Reading has two steps. check() proves that a text is JSON, or says what is wrong and
 * where. A walk then gives the values of a list or an object, as they are written, and
 * cannot fail:
 *
 *   {"name": "J\u00f6rg", "total": 12345678901234567890, "tags": ["a", "b"]}
 *
 *   "name"    "J\u00f6rg"              copy_text() makes Jörg of it
 *   "total"   12345678901234567890     a number keeps all its digits
 *   "tags"    ["a", "b"]               for a walk of its own
 *
 * Refused are, beside broken syntax: bytes that are no UTF-8, a byte order mark, anything
 * behind the value, too many levels, and, unless the rules allow them, a name that comes
 * twice in an object and half of a UTF-16 pair.
 *
 * C texts end in a zero, so copy_text() makes U+FFFD of \u0000, and of half of a pair.
 *
 * Memory   Values are views of the text. check() takes memory only to compare names, and
 *          gives it back. The depth of a text costs no stack.
 */
#ifndef WEIR_BASE_JSON_READ_H
#define WEIR_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "weir/status.h"

struct weir_arena;
struct weir_heap;

/* Lists and objects within each other, at most. */
enum { WEIR_JSON_DEPTH_MAX = 512 };

enum {
    WEIR_JSON_REPEATED_NAMES = 1,
    WEIR_JSON_LONE_SURROGATES = 2,
};

struct weir_json_rules {
    size_t depth_max;             /* 0: WEIR_JSON_DEPTH_MAX, which is also the largest */
    bool object;                  /* the text must be an object */
    unsigned allowed;             /* WEIR_JSON_REPEATED_NAMES | ... */
    const struct weir_heap *heap; /* borrowed; not needed if names may be repeated */
};

/* Why a text was refused. */
struct weir_json_fault {
    const char *why; /* "no colon"; constant */
    size_t at;       /* byte of the text */
    bool not_utf8;
};

/* ---- checking ---------------------------------------------------------------------- */

/* Fails with WEIR_INVALID, and *fault says why (NULL is fine), or WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_json_check(struct weir_str text,
                                              const struct weir_json_rules *rules,
                                              struct weir_json_fault *fault);

/* One value of any kind; names may be repeated, and halves of pairs are allowed. For
 * texts that are put into a larger JSON text as they are. */
bool weir_json_is_value(struct weir_str text);

/* ---- walking: texts that check() has accepted -------------------------------------- */

struct weir_json_walk {
    const char *at, *end;
    bool named; /* an object */
};

/* As they are written. */
struct weir_json_item {
    struct weir_str name; /* with its quotes; empty in a list */
    struct weir_str value;
};

/* What is neither list nor object has no items. */
void weir_json_walk_begin(struct weir_json_walk *self, struct weir_str json);

/* False: there are no more. `at` is otherwise behind the item and the blanks that
 * follow it. */
bool weir_json_walk_next(struct weir_json_walk *self, struct weir_json_item *out);

/* ---- values ------------------------------------------------------------------------ */

enum weir_json_kind {
    WEIR_JSON_NULL,
    WEIR_JSON_BOOL,
    WEIR_JSON_NUMBER,
    WEIR_JSON_TEXT,
    WEIR_JSON_LIST,
    WEIR_JSON_OBJECT,
};

enum weir_json_kind weir_json_kind(struct weir_str value);

/* The characters of a text; of any other value its JSON. Bytes without a zero. */
size_t weir_json_text_size(struct weir_str value);

/* Write them and a zero to `out`, which has room; returns the size without the zero. */
size_t weir_json_copy_text(struct weir_str value, char *out);

/* The same in an arena. NULL without memory. */
WEIR_CHECKED char *weir_json_keep_text(struct weir_str value, struct weir_arena *arena);

/* A number without fraction and exponent that fits 64 bits; false: it is none. */
bool weir_json_i64(struct weir_str value, int64_t *out);

/* ---- objects ----------------------------------------------------------------------- */

struct weir_json_member {
    char *name, *text;     /* as copy_text() makes them */
    struct weir_str value; /* as it is written, in the text that was read */
};

struct weir_json_object {
    const struct weir_json_member *members; /* in their order */
    size_t count;
};

/* Check a text that must be an object, and read its members into the arena. Fails as
 * check(); *out is then empty. */
WEIR_CHECKED enum weir_status weir_json_read_object(struct weir_str text,
                                                    const struct weir_json_rules *rules,
                                                    struct weir_arena *arena,
                                                    struct weir_json_object *out,
                                                    struct weir_json_fault *fault);

/* The last member of this name, or NULL. */
const struct weir_json_member *weir_json_find(const struct weir_json_object *self,
                                              const char *name);

#endif
