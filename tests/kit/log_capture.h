/*
 * log_capture.h - what the library logs, for tests that ask for it.
 *
 *   static struct log_capture ear;                            too large for a stack
 *
 *   options.log = log_capture_log(&ear, WEIR_LOG_WARNING);
 *   ...
 *   wait_until(log_capture_heard(&ear, "execution.no_handler", "kind=\"mail\"") == 1);
 *
 * Threads  Any thread is heard; lines beyond LOG_CAPTURE_LINES_MAX are not.
 */
#ifndef WEIR_TEST_LOG_CAPTURE_H
#define WEIR_TEST_LOG_CAPTURE_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "weir/log.h"

enum { LOG_CAPTURE_LINES_MAX = 64, LOG_CAPTURE_LINE_SIZE = 512 };

struct log_capture {
    pthread_mutex_t mutex;
    char lines[LOG_CAPTURE_LINES_MAX][LOG_CAPTURE_LINE_SIZE];
    size_t count;
};

static inline void log_capture_hear(void *state, enum weir_log_level level,
                                    const char *line)
{
    struct log_capture *self = state;

    (void)level;
    pthread_mutex_lock(&self->mutex);
    if (self->count < LOG_CAPTURE_LINES_MAX)
        (void)snprintf(self->lines[self->count++], LOG_CAPTURE_LINE_SIZE, "%s", line);
    pthread_mutex_unlock(&self->mutex);
}

/* Begins anew. */
static inline struct weir_log log_capture_log(struct log_capture *self,
                                              enum weir_log_level minimum)
{
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->mutex, NULL);
    return (struct weir_log){log_capture_hear, self, minimum};
}

/* How many lines have both of these texts in them. */
static inline int log_capture_heard(struct log_capture *self, const char *text,
                                    const char *too)
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
