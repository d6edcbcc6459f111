/*
 * load.h - the configuration of a server, from all places that have a say in it.
 *
 *   defaults < FILE < FILE.d/[*].ini, sorted < WEIR_SECTION_KEY < --set < --db
 *
 * The later one wins, key by key. Everything is read and checked before anything is
 * answered, so that one start names all mistakes (up to 20, mistake.h). Nothing is
 * opened but the files that the configuration itself names: no database, no socket.
 *
 *   weir_mistakes_init(&mistakes);
 *   status = weir_config_load(&sources, &config, &mistakes, &warnings, &error);
 *
 * Reload: load again, then weir_config_check_reload() says whether the new one may
 * replace the old one, and weir_config_compare() what has changed.
 *
 * Threads  Any; not two at once on one struct.
 * Memory   From the heap of the sources; at most 256 MiB.
 */
#ifndef WEIR_SERVER_CONFIG_LOAD_H
#define WEIR_SERVER_CONFIG_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "server/config/config.h"
#include "server/config/mistake.h"
#include "weir/error.h"
#include "weir/heap.h"

struct weir_config_key;
struct weir_config_section;

/* Where to look. All of it is borrowed for the call. */
struct weir_config_sources {
    const struct weir_heap *heap;   /* until destroy(); NULL: the C library's */
    const char *file;               /* NULL: none */
    bool file_may_be_absent;        /* as /etc/weir/weir.ini, when it was not asked for */
    const char *const *environment; /* "NAME=value", ends with NULL; NULL: none */
    const char *const *foreign;     /* names of variables WEIR_... that are not ours to
                                       judge, as the CLI's own; ends with NULL */
    const char *const *sets;        /* of --set, without it: "http.idle_timeout=75s" */
    size_t set_count;
    const char *db;              /* of --db; NULL: not given */
    const char *db_without_file; /* of WEIR_DB or the default of the CLI: taken if no
                                     database is configured; NULL: none */
    const char *prefix;          /* of a database from `db`; NULL: the default */
};

/*
 * WEIR_OK: *out is the caller's, `warnings` may say something. WEIR_INVALID: `mistakes`
 * says what, and *out is NULL. WEIR_NO_MEMORY, with `error`. Both lists are emptied
 * first.
 */
WEIR_CHECKED enum weir_status weir_config_load(const struct weir_config_sources *sources,
                                               struct weir_config **out,
                                               struct weir_mistakes *mistakes,
                                               struct weir_mistakes *warnings,
                                               struct weir_error *error);

/* ---- reading it -------------------------------------------------------------------- */

/* One key as it is configured. Borrowed for the call. */
struct weir_config_entry {
    const struct weir_config_section *section;
    const char *name; /* NULL: the section has none */
    const struct weir_config_key *key;
    const char *value;  /* as it was written; "***" of a secret; NULL: not set */
    bool given;         /* not the default */
    const char *origin; /* "default", "weir.ini:17", "WEIR_HTTP_LISTEN", "--set" */
};

typedef void (*weir_config_entry_fn)(void *state, const struct weir_config_entry *entry);

/* Every key of every section, in the order of the table. */
void weir_config_each(const struct weir_config *self, weir_config_entry_fn emit,
                      void *state);

/* ---- reload ------------------------------------------------------------------------ */

enum weir_config_change_kind {
    WEIR_CONFIG_ADDED,   /* a section: `key` is NULL */
    WEIR_CONFIG_REMOVED, /* likewise */
    WEIR_CONFIG_CHANGED,
};

/* Borrowed for the call. */
struct weir_config_change {
    enum weir_config_change_kind kind;
    const struct weir_config_section *section;
    const char *name; /* NULL: the section has none */
    const struct weir_config_key *key;
    const char *before; /* as in struct weir_config_entry; CHANGED only */
    const char *after;
    const char *origin; /* of `after`, or of a section that was added */
};

typedef void (*weir_config_change_fn)(void *state,
                                      const struct weir_config_change *change);

/* What differs, by value and not by how it is written: 90s is 1500ms times 60. The
 * content of files counts. */
void weir_config_compare(const struct weir_config *before,
                         const struct weir_config *after, weir_config_change_fn emit,
                         void *state);

/* May `after` replace `before` without a restart? False: `mistakes` names each key and
 * section that needs one. */
bool weir_config_check_reload(const struct weir_config *before,
                              const struct weir_config *after,
                              struct weir_mistakes *mistakes);

#endif
