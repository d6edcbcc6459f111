/*
 * option.h - an option of a command, and the member of a struct that gets its value.
 *
 * One row says everything about an option. Parsing, errors, help, manual page,
 * completion and fields of JSON are made from it:
 *
 *   struct add_call {
 *       int32_t partitions;
 *       const char *tags[8];
 *       size_t tag_count;
 *   };
 *
 *   static const struct weir_command_option OPTIONS[] = {
 *       WEIR_OPTION('p', "partitions", "N", "1 to 64",
 *                   WEIR_AS_NUMBER(struct add_call, partitions, 1, 64)),
 *       WEIR_OPTION(0, "tag", "TAG", "may be given 8 times",
 *                   WEIR_AS_TEXT(struct add_call, tags[0]),
 *                   WEIR_IN_LIST(struct add_call, tags, tag_count, "tags")),
 *   };
 *
 * An operand (`weir queue remove QUEUE`) is a row as well, see WEIR_OPERAND. A member
 * of another type, or one that cannot hold the largest value, does not compile.
 *
 * Memory   Texts are borrowed from the command line, pairs are cut in two there.
 * Failure  A value that is refused is reported, and changes nothing.
 */
#ifndef WEIR_CLI_OPTION_H
#define WEIR_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/count.h"
#include "base/literal/member.h"
#include "weir/api.h"

struct weir_command;
struct weir_command_option;

enum weir_value_type {
    WEIR_VALUE_NONE, /* the option is bound to nothing */
    WEIR_VALUE_FLAG,
    WEIR_VALUE_TEXT,
    WEIR_VALUE_PAIR,
    WEIR_VALUE_NUMBER,
    WEIR_VALUE_NS,
    WEIR_VALUE_MS,
    WEIR_VALUE_AGO,
    WEIR_VALUE_CHOICE,
    WEIR_VALUE_CHOICES,
    WEIR_VALUE_PARSED,
};

/* Words of a choice: at(0) to at(count - 1). An option whose argument lists them
 * ("keep|drop") names all of them in its error, others name the nearest. */
struct weir_option_words {
    const char *(*at)(size_t index);
    size_t count;
    const char *noun; /* "state": the error says "which is no state"; may be NULL */
};

/* Converts `word` to *out, or reports why not. The exit code. */
typedef int (*weir_option_parse_fn)(const struct weir_command *command,
                                    const struct weir_command_option *option, char *word,
                                    void *out);

struct weir_option_value {
    enum weir_value_type type;
    size_t owner_size; /* of the struct */
    size_t offset;
    size_t size;                           /* of the member */
    int64_t min, max;                      /* of a number or duration */
    bool or_zero;                          /* "0" is fine below `min`, too */
    const struct weir_option_words *words; /* of a choice */
    weir_option_parse_fn parse;
    size_t second;       /* of a pair: offset of what comes behind the '=' */
    const char *example; /* of a pair; may be NULL */
};

/* Values one behind the other in an array; `max` is 0 where there is one. */
struct weir_option_list {
    size_t stride;
    size_t count_offset;
    size_t max;
    const char *noun; /* "tags"; also the field of JSON */
    bool unique;
};

/* What is noted beside the value: a bool that becomes true, or bits of a uint32_t. */
struct weir_option_mark {
    bool used;
    size_t offset;
    uint32_t bits; /* 0: a bool */
};

struct weir_command_option {
    int id;               /* a letter is its short form too; 0 or from 256 on: none */
    const char *name;     /* without the dashes */
    const char *argument; /* what its value is called; NULL: it takes none. FILE, QUEUE
                             and "keep|drop" also say how a shell completes it */
    const char *summary;
    struct weir_option_value value;
    struct weir_option_list list;
    struct weir_option_mark mark;
    bool ends;           /* what follows on the line is not looked at */
    bool optional;       /* an operand that may be left out */
    const char *missing; /* error for an operand that is not there; NULL: the usual */
};

/* ---- rows -------------------------------------------------------------------------- */

#define WEIR_OPTION(id_, name_, argument_, summary_, ...)                                \
    {                                                                                    \
        .id = id_, .name = name_, .argument = argument_, .summary = summary_,            \
        __VA_ARGS__                                                                      \
    }

/* WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(...)); .optional and .missing may follow. One in a
 * list takes all words that are left. */
#define WEIR_OPERAND(name_, ...)                                                         \
    {                                                                                    \
        .name = name_, __VA_ARGS__                                                       \
    }

/* For the initialiser of a command. */
#define WEIR_OPTIONS(rows) .options = rows, .option_count = COUNT_OF(rows)
#define WEIR_OPERANDS(rows) .operands = rows, .operand_count = COUNT_OF(rows)

/* ---- values ------------------------------------------------------------------------ */

#define WEIR_AS_FLAG(T, m) WEIR_VALUE_(T, m, FLAG, WEIR_MEMBER_IS(T, m, bool))

#define WEIR_AS_TEXT(T, m) WEIR_VALUE_(T, m, TEXT, WEIR_MEMBER_IS(T, m, const char *))

/* NAME=VALUE in two texts. */
#define WEIR_AS_PAIR(T, m, second_, example_)                                            \
    WEIR_VALUE_(T, m, PAIR,                                                              \
                WEIR_MEMBER_IS(T, m, const char *) &&                                    \
                    WEIR_MEMBER_IS(T, second_, const char *)),                           \
        .value.second = offsetof(T, second_), .value.example = example_

/* A whole number, in an integer of 32 or 64 bits. */
#define WEIR_AS_NUMBER(T, m, min_, max_)                                                 \
    WEIR_VALUE_(T, m, NUMBER, (int64_t)(max_) <= WEIR_MEMBER_MAX(T, m)),                 \
        .value.min = (min_), .value.max = (max_)

/* A duration with its unit, in nanoseconds or milliseconds, as the limits are. */
#define WEIR_AS_NS(T, m, min_, max_)                                                     \
    WEIR_VALUE_(T, m, NS, WEIR_MEMBER_IS(T, m, int64_t)), .value.min = (min_),           \
                                                          .value.max = (max_)
#define WEIR_AS_MS(T, m, min_, max_)                                                     \
    WEIR_VALUE_(T, m, MS, WEIR_MEMBER_IS(T, m, int64_t)), .value.min = (min_),           \
                                                          .value.max = (max_)

/* Likewise, or "0" for none. */
#define WEIR_AS_MS_OR_ZERO(T, m, min_, max_)                                             \
    WEIR_AS_MS(T, m, min_, max_), .value.or_zero = true

/* A duration before now, as microseconds since 1970 by the clock of this machine. */
#define WEIR_AS_AGO(T, m) WEIR_VALUE_(T, m, AGO, WEIR_MEMBER_IS(T, m, int64_t))

/* One of some words, as the enum that their place is; and any of them, as bits. */
#define WEIR_AS_CHOICE(T, m, words_)                                                     \
    WEIR_VALUE_(T, m, CHOICE,                                                            \
                WEIR_MEMBER_IS(T, m, unsigned) || WEIR_MEMBER_IS(T, m, int)),            \
        .value.words = &(words_)
#define WEIR_AS_CHOICES(T, m, words_)                                                    \
    WEIR_VALUE_(T, m, CHOICES, WEIR_MEMBER_IS(T, m, uint32_t)), .value.words = &(words_)

/* What `parse_` makes of it, which expects a `type_`. */
#define WEIR_AS_PARSED(T, m, type_, parse_)                                              \
    WEIR_VALUE_(T, m, PARSED, WEIR_MEMBER_IS(T, m, type_)), .value.parse = (parse_)

/* Likewise, for more than one member: it expects the struct. */
#define WEIR_AS_PARSED_INTO(T, parse_)                                                   \
    .value.type = WEIR_VALUE_PARSED, .value.owner_size = sizeof(T),                      \
    .value.parse = (parse_)

/* The option may be repeated: `array_` has room, `count_` is a size_t. */
#define WEIR_IN_LIST(T, array_, count_, noun_)                                           \
    .list.stride = sizeof(((T *)0)->array_[0]),                                          \
    .list.count_offset =                                                                 \
        WEIR_MEMBER_OFFSET(T, count_, WEIR_MEMBER_IS(T, count_, size_t)),                \
    .list.max = COUNT_OF(((T *)0)->array_), .list.noun = noun_

/* Likewise, of texts, and none of them twice. */
#define WEIR_IN_SET(T, array_, count_, noun_)                                            \
    WEIR_IN_LIST(T, array_, count_, noun_), .list.unique = true

#define WEIR_ALSO_SET(T, m)                                                              \
    .mark = {                                                                            \
        .used = true,                                                                    \
        .offset = WEIR_MEMBER_OFFSET(T, m, WEIR_MEMBER_IS(T, m, bool)),                  \
    }
#define WEIR_ALSO_BITS(T, m, bits_)                                                      \
    .mark = {                                                                            \
        .used = true,                                                                    \
        .offset = WEIR_MEMBER_OFFSET(T, m, WEIR_MEMBER_IS(T, m, uint32_t)),              \
        .bits = (bits_),                                                                 \
    }

/* For the macros above. */
#define WEIR_VALUE_(T, m, type_, ok)                                                     \
    .value.type = WEIR_VALUE_##type_, .value.owner_size = sizeof(T),                     \
    .value.offset = WEIR_MEMBER_OFFSET(T, m, ok), .value.size = sizeof(((T *)0)->m)

/* ---- operations -------------------------------------------------------------------- */

/* Convert `word` as the row says and store it in `state`, the struct that the row is
 * bound to. `word` is NULL for a flag. The exit code. */
WEIR_CHECKED int weir_option_take(const struct weir_command_option *self,
                                  const struct weir_command *command, char *word,
                                  void *state);

/* The same for a pair that is in two texts already. */
WEIR_CHECKED int weir_option_take_pair(const struct weir_command_option *self,
                                       const struct weir_command *command,
                                       const char *first, const char *second,
                                       void *state);

/* The same for a field of JSON with this text: a flag is "true" or "false". */
WEIR_CHECKED int weir_option_take_field(const struct weir_command_option *self,
                                        const struct weir_command *command, char *text,
                                        void *state);

/* The name of that field: "attempt_timeout", and "tags" of a list. Returns `out`. */
enum { WEIR_OPTION_FIELD_SIZE = 32 };
const char *weir_option_field(const struct weir_command_option *self, char *out);

static inline bool weir_option_is_list(const struct weir_command_option *self)
{
    return self->list.max > 0;
}

#endif
