/*
 * file.h - reads a small file as a whole: one of the configuration, a secret, a
 * certificate.
 */
#ifndef WEIR_SERVER_CONFIG_FILE_H
#define WEIR_SERVER_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/error.h"

struct weir_config_loading;
struct weir_config_state;

/* What was read, which may be cut in place. */
struct weir_bytes {
    char *data;
    size_t size;
};

struct weir_config_file_rules {
    size_t size_max;
    bool secret;  /* overwritten at the end */
    bool guarded; /* users other than owner and group must not read or write it */
};

/*
 * The content, in the arena of `state`, with a zero behind it. WEIR_NOT_FOUND: there is
 * no such file; WEIR_DENIED, WEIR_SYSTEM, WEIR_INVALID: another text for the reader, as
 * "cannot be read: ..."; WEIR_NO_MEMORY.
 */
WEIR_CHECKED enum weir_status
weir_config_file_read(struct weir_config_state *state, const char *path,
                      const struct weir_config_file_rules *rules, struct weir_bytes *out,
                      struct weir_error *error);

/* The path of "credential:NAME", in the arena: $CREDENTIALS_DIRECTORY/NAME; others are
 * paths already. WEIR_INVALID: it is none, with a text; WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_config_file_path(struct weir_config_loading *loading,
                                                    const char *text, const char **out,
                                                    struct weir_error *error);

#endif
