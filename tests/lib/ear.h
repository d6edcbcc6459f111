/*
 * ear.h - what the library logs, for tests that ask for it.
 *
 *   static struct ear ear;                            too large for a stack
 *
 *   options.log = ear_log(&ear, WEIR_LOG_WARNING);
 *   ...
 *   wait_until(ear_heard(&ear, "flow.no_handler", "kind=\"mail\"") == 1);
 *
 * Threads  Any thread is heard; lines beyond EAR_LINES_MAX are not.
 */
#ifndef WEIR_TEST_EAR_H
#define WEIR_TEST_EAR_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "weir/log.h"

enum { EAR_LINES_MAX = 64, EAR_LINE_SIZE = 512 };

struct ear {
    pthread_mutex_t mutex;
    char lines[EAR_LINES_MAX][EAR_LINE_SIZE];
    size_t count;
};

static inline void ear_hear(void *state, enum weir_log_level level, const char *line)
{
    struct ear *self = state;

    (void)level;
    pthread_mutex_lock(&self->mutex);
    if (self->count < EAR_LINES_MAX)
        (void)snprintf(self->lines[self->count++], EAR_LINE_SIZE, "%s", line);
    pthread_mutex_unlock(&self->mutex);
}

/* Begins anew. */
static inline struct weir_log ear_log(struct ear *self, enum weir_log_level minimum)
{
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->mutex, NULL);
    return (struct weir_log){ear_hear, self, minimum};
}

/* How many lines have both of these texts in them. */
static inline int ear_heard(struct ear *self, const char *text, const char *too)
{
    int count = 0;

    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->count; i++)
        count +=
            strstr(self->lines[i], text) != NULL && strstr(self->lines[i], too) != NULL;
    pthread_mutex_unlock(&self->mutex);
    return count;
}

#endif
