/*
 * state.h - values as they were written, with their origins: what a configuration is
 * made of before its values have types.
 *
 *   state ── groups of each section ── a setting for each of its keys
 *
 * A section without name has one group from the beginning; the groups of [relay NAME]
 * come as they are met. A layer (layer.h) overwrites the settings of the one before.
 *
 * Memory   The arena of the state.
 */
#ifndef WEIR_SERVER_CONFIG_STATE_H
#define WEIR_SERVER_CONFIG_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "server/config/key.h"
#include "server/config/load.h"
#include "server/config/mistake.h"

enum {
    WEIR_CONFIG_GROUPS_MAX = 1024, /* of one section */
    WEIR_ORIGIN_TEXT_SIZE = 160,
};

/* Where a value comes from. Places order mistakes: first by source, then by line. */
struct weir_config_origin {
    const char *source; /* file, variable, "--set http.listen"; NULL: the default */
    unsigned line;      /* of a file; 0: of something else */
    uint64_t place;
};

struct weir_config_setting {
    const char *text; /* NULL: not given */
    bool hidden;      /* a secret */
    struct weir_config_origin origin;
};

struct weir_config_group {
    const struct weir_config_section *section;
    const char *name; /* NULL: the section has none */
    struct weir_config_origin origin;
    struct weir_config_origin header;     /* where it began last in a file */
    struct weir_config_setting *settings; /* one for each key */
    char *values;                         /* the struct of types; NULL at first */
};

struct weir_config_groups {
    struct weir_config_group **items;
    size_t count;
};

/* Bytes that are overwritten at the end. */
struct weir_config_secret {
    char *bytes;
    size_t size;
    struct weir_config_secret *next;
};

struct weir_config_state {
    const struct weir_heap *heap;
    struct weir_arena arena;
    struct weir_config_groups *sections; /* as weir_config_sections */
    struct weir_config_secret *secrets;
};

/* One load. */
struct weir_config_loading {
    const struct weir_config_sources *sources;
    struct weir_config_state *state;
    struct weir_mistakes *mistakes;
    struct weir_mistakes *warnings;
    uint64_t source_count; /* for places */
    bool out_of_memory;
};

/* NULL: no memory. */
WEIR_CHECKED struct weir_config_state *
weir_config_state_create(const struct weir_heap *heap);
void weir_config_state_destroy(struct weir_config_state *self);

/* These bytes of the arena are a secret. False: no memory; they are overwritten now. */
WEIR_CHECKED bool weir_config_state_guard(struct weir_config_state *self, char *bytes,
                                          size_t size);

struct weir_config_groups *
weir_config_state_groups(const struct weir_config_state *self,
                         const struct weir_config_section *section);

/* `name` is NULL for a section without. NULL: there is no such group. */
struct weir_config_group *
weir_config_state_find(const struct weir_config_state *self,
                       const struct weir_config_section *section, const char *name);

/* The group, made if there is none. Checks the name; NULL: a mistake was noted, or there
 * is no memory. */
WEIR_CHECKED struct weir_config_group *
weir_config_loading_group(struct weir_config_loading *self,
                          const struct weir_config_section *section, const char *name,
                          const struct weir_config_origin *origin);

struct weir_config_setting *
weir_config_group_setting(const struct weir_config_group *self,
                          const struct weir_config_key *key);

/* As it may be shown: "***" of a secret, the default of what was not given, or NULL. */
const char *weir_config_setting_shown(const struct weir_config_setting *self,
                                      const struct weir_config_key *key);

/* Copies `text`, without blanks around it. */
void weir_config_loading_set(struct weir_config_loading *self,
                             struct weir_config_group *group,
                             const struct weir_config_key *key, const char *text,
                             const struct weir_config_origin *origin);

/* The next source of values, to be shown as `source`, which is copied; later ones have
 * later places. */
struct weir_config_origin weir_config_loading_source(struct weir_config_loading *self,
                                                     const char *source);

/* "weir.ini:17", "WEIR_HTTP_LISTEN", "default". Returns `out`. */
const char *weir_config_origin_text(const struct weir_config_origin *self, char *out);

/* "[relay audit]". Returns `out`, of WEIR_ORIGIN_TEXT_SIZE. */
const char *weir_config_group_text(const struct weir_config_section *section,
                                   const char *name, char *out);

/* Note "ORIGIN: TEXT", and "ORIGIN: [section name] key: TEXT" of a setting; the latter
 * at the group if the key was not given. */
void weir_config_report(struct weir_config_loading *self,
                        const struct weir_config_origin *origin, const char *format, ...)
    WEIR_PRINTF(3, 4);
void weir_config_report_key(struct weir_config_loading *self,
                            const struct weir_config_group *group,
                            const struct weir_config_key *key, const char *text);

/* "; name?" of the nearest, or "" if none is near. Returns `out`, of `size` bytes. */
const char *weir_config_suggest(const char *nearest, char *out, size_t size);

#endif
