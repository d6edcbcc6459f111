/*
 * key.h - a key of the configuration, and the member of a struct that gets its value.
 *
 * One row says everything about a key. Reading, errors, `weir serve --print-config`,
 * reloads and docs/configuration.md are made from it:
 *
 *   WEIR_KEY("idle_timeout", "75s", "for a connection without a request",
 *            WEIR_KEY_NS(struct weir_config_http, idle_timeout_ns, WEIR_SECONDS(1),
 *                        WEIR_HOURS(1))),
 *
 * A key is in the table if something of the server does what it says, and not before. A
 * member of another type, or one that cannot hold the largest value, does not compile.
 */
#ifndef WEIR_SERVER_CONFIG_KEY_H
#define WEIR_SERVER_CONFIG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/literal/member.h"

enum weir_key_type {
    WEIR_KEY_IS_TEXT,
    WEIR_KEY_IS_NAME, /* of a database, queue, subscription: their rule */
    WEIR_KEY_IS_URL,  /* of a database: hidden if it has a password */
    WEIR_KEY_IS_SINK, /* URL of a sink */
    WEIR_KEY_IS_FLAG,
    WEIR_KEY_IS_NUMBER,
    WEIR_KEY_IS_NS,
    WEIR_KEY_IS_MS,
    WEIR_KEY_IS_SIZE,
    WEIR_KEY_IS_CHOICE,
    WEIR_KEY_IS_CHOICES,
    WEIR_KEY_IS_TEXTS,
    WEIR_KEY_IS_LISTENERS,
    WEIR_KEY_IS_FILE,
    WEIR_KEY_IS_PERMISSIONS,
    WEIR_KEY_IS_SHA256,
    WEIR_KEY_IS_MOMENT,
    WEIR_KEY_IS_TAG,
};

/* What it takes for a new value to count. */
enum weir_key_reload {
    WEIR_KEY_RELOADS,  /* SIGHUP */
    WEIR_KEY_RESTARTS, /* a restart: SIGHUP refuses the whole file */
};

struct weir_config_key {
    const char *name;
    const char *fallback; /* the default, as it would be written; NULL: none */
    const char *help;     /* for the reference: what it does, without a full stop */
    enum weir_key_type type;
    size_t owner_size; /* of the struct of the section */
    size_t offset;
    size_t size; /* of the member */
    int64_t min, max;
    bool or_zero;             /* "0" is fine below `min`, too */
    const char *const *words; /* of choices; ends with NULL */
    size_t second;            /* of a tag: offset of its value */
    enum weir_key_reload reload;
    bool required;
    bool secret;               /* shown as ***; of a file: others must not read it */
    const char *fallback_note; /* the default in words, where it is no value */
    uint32_t mark_bits;        /* set in the uint32_t at `mark` when the key is given */
    size_t mark;
};

/* ---- rows -------------------------------------------------------------------------- */

/* A value, and then .reload, .required, .secret, .fallback_note as needed. */
#define WEIR_KEY(name_, fallback_, help_, ...)                                           \
    {                                                                                    \
        .name = name_, .fallback = fallback_, .help = help_, __VA_ARGS__                 \
    }

#define WEIR_KEY_TEXT(T, m, type_)                                                       \
    WEIR_KEY_BOUND_(T, m, type_, WEIR_MEMBER_IS(T, m, const char *))
#define WEIR_KEY_FLAG(T, m) WEIR_KEY_BOUND_(T, m, FLAG, WEIR_MEMBER_IS(T, m, bool))
#define WEIR_KEY_NUMBER(T, m, min_, max_)                                                \
    WEIR_KEY_BOUND_(T, m, NUMBER, (int64_t)(max_) <= WEIR_MEMBER_MAX(T, m)),             \
        .min = (min_), .max = (max_)
#define WEIR_KEY_NS(T, m, min_, max_)                                                    \
    WEIR_KEY_BOUND_(T, m, NS, WEIR_MEMBER_IS(T, m, int64_t)), .min = (min_), .max = (max_)
#define WEIR_KEY_MS(T, m, min_, max_)                                                    \
    WEIR_KEY_BOUND_(T, m, MS, WEIR_MEMBER_IS(T, m, int64_t)), .min = (min_), .max = (max_)
#define WEIR_KEY_SIZE(T, m, min_, max_)                                                  \
    WEIR_KEY_BOUND_(T, m, SIZE, WEIR_MEMBER_IS(T, m, int64_t)), .min = (min_),           \
                                                                .max = (max_)

/* One of some words, as their place and `first_`; and several, as bits. */
#define WEIR_KEY_CHOICE(T, m, words_, first_)                                            \
    WEIR_KEY_BOUND_(T, m, CHOICE, WEIR_MEMBER_IS(T, m, int)), .words = (words_),         \
                                                              .min = (first_)
#define WEIR_KEY_CHOICES(T, m, words_)                                                   \
    WEIR_KEY_BOUND_(T, m, CHOICES, WEIR_MEMBER_IS(T, m, uint32_t)), .words = (words_)

#define WEIR_KEY_TEXTS(T, m, type_)                                                      \
    WEIR_KEY_BOUND_(T, m, type_, WEIR_MEMBER_IS(T, m, struct weir_config_texts))
#define WEIR_KEY_LISTENERS(T, m)                                                         \
    WEIR_KEY_BOUND_(T, m, LISTENERS, WEIR_MEMBER_IS(T, m, struct weir_config_listeners))
#define WEIR_KEY_FILE(T, m)                                                              \
    WEIR_KEY_BOUND_(T, m, FILE, WEIR_MEMBER_IS(T, m, struct weir_config_file))
#define WEIR_KEY_PERMISSIONS(T, m)                                                       \
    WEIR_KEY_BOUND_(T, m, PERMISSIONS, WEIR_MEMBER_IS(T, m, uint32_t))
#define WEIR_KEY_SHA256(T, m) WEIR_KEY_BOUND_(T, m, SHA256, sizeof(((T *)0)->m) == 32)
#define WEIR_KEY_MOMENT(T, m) WEIR_KEY_BOUND_(T, m, MOMENT, WEIR_MEMBER_IS(T, m, int64_t))

/* KEY=VALUE in two texts. */
#define WEIR_KEY_TAG(T, m, second_)                                                      \
    WEIR_KEY_BOUND_(T, m, TAG,                                                           \
                    WEIR_MEMBER_IS(T, m, const char *) &&                                \
                        WEIR_MEMBER_IS(T, second_, const char *)),                       \
        .second = offsetof(T, second_)

/* These bits are set in member `m` if the key was given. */
#define WEIR_KEY_MARKS(T, m, bits_)                                                      \
    .mark = WEIR_MEMBER_OFFSET(T, m, WEIR_MEMBER_IS(T, m, uint32_t)), .mark_bits = (bits_)

#define WEIR_KEY_BOUND_(T, m, type_, ok)                                                 \
    .type = WEIR_KEY_IS_##type_, .owner_size = sizeof(T),                                \
    .offset = WEIR_MEMBER_OFFSET(T, m, ok), .size = sizeof(((T *)0)->m)

struct weir_config_section {
    const char *name;
    bool has_name; /* [relay NAME]; may be there several times */
    size_t name_size_max;
    size_t struct_size;
    size_t offset;       /* in struct weir_config: the struct, or the pointer to many */
    size_t count_offset; /* of those many */
    enum weir_key_reload reload; /* of a section that is added or removed */
    const struct weir_config_key *keys;
    size_t key_count;
    const char *help;
};

/* All sections, in the order of the reference. */
extern const struct weir_config_section weir_config_sections[];
extern const size_t weir_config_section_count;

/* NULL: there is none. */
const struct weir_config_section *weir_config_section_find(const char *name);
const struct weir_config_key *
weir_config_section_find_key(const struct weir_config_section *self, const char *name);

/* Another section that has a key of this name; NULL: none has. */
const struct weir_config_section *
weir_config_section_owning(const struct weir_config_section *self, const char *name);

/* The name of the key that was meant; NULL: none is near. */
const char *weir_config_section_nearest(const struct weir_config_section *self,
                                        const char *name);

#endif
