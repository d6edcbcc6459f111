/*
 * environment.h - our environment for a process, with some variables of its own.
 *
 * What a handler process knows about its message without reading it:
 *
 *   WEIR_QUEUE  WEIR_PARTITION  WEIR_SEQ  WEIR_ID  WEIR_KEY  WEIR_TYPE  WEIR_ATTEMPTS
 *               WEIR_EPOCH
 *
 * WEIR_KEY is empty when there is none. The rest of the environment is our own.
 */
#ifndef WEIR_SINK_UTIL_ENVIRONMENT_H
#define WEIR_SINK_UTIL_ENVIRONMENT_H

#include <stddef.h>

#include "base/buf.h"
#include "weir/status.h"

struct weir_heap;
struct weir_message;

struct weir_environment {
    const struct weir_heap *heap;
    struct weir_buf texts; /* "NAME=value", each with its zero */
    char **list;           /* owned; NULL at the end */
};

enum {
    WEIR_ENVIRONMENT_VARIABLES_MAX = 16,
    WEIR_ENVIRONMENT_VALUE_MAX = 120 * 1024, /* bytes of one */
};

struct weir_environment_variable {
    const char *name;
    const char *value; /* copied; without zeros in it */
};

/* Those `count` instead of ours of the same names, at most
 * WEIR_ENVIRONMENT_VARIABLES_MAX. Owes a fini(), also when it fails: with
 * WEIR_NO_MEMORY, or with WEIR_TOO_LARGE when one of them, or all together, are more
 * than the kernel would take. */
WEIR_CHECKED enum weir_status
weir_environment_init(struct weir_environment *self, const struct weir_heap *heap,
                      const struct weir_environment_variable *variables, size_t count);

/* The facts about a message, likewise. */
WEIR_CHECKED enum weir_status
weir_environment_init_message(struct weir_environment *self, const struct weir_heap *heap,
                              const struct weir_message *message);
void weir_environment_fini(struct weir_environment *self);

#endif
