/*
 * captured_log.h - a log that remembers its lines, for tests that look at them.
 *
 *   struct captured_log journal;
 *
 *   options.log = captured_log_open(&journal);
 *   ...
 *   check_int(captured_log_count(&journal, WEIR_LOG_WARNING, "scan=leases"), 1);
 *
 * Threads  Any.
 */
#ifndef WEIR_TEST_CAPTURED_LOG_H
#define WEIR_TEST_CAPTURED_LOG_H

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <weir/log.h>

enum { CAPTURED_LOG_LINES_MAX = 512, CAPTURED_LOG_LINE_SIZE = 512 };

struct captured_log {
    pthread_mutex_t mutex; /* guards all that follows */
    size_t count;          /* lines written; the last ones are dropped when it is full */
    enum weir_log_level levels[CAPTURED_LOG_LINES_MAX];
    char lines[CAPTURED_LOG_LINES_MAX][CAPTURED_LOG_LINE_SIZE];
};

static inline void captured_log_write(void *state, enum weir_log_level level,
                                      const char *line)
{
    struct captured_log *self = state;

    pthread_mutex_lock(&self->mutex);
    if (self->count < CAPTURED_LOG_LINES_MAX) {
        self->levels[self->count] = level;
        snprintf(self->lines[self->count], CAPTURED_LOG_LINE_SIZE, "%s", line);
        self->count++;
    }
    pthread_mutex_unlock(&self->mutex);
}

/* Begin an empty journal; the log writes into it for as long as it lives. */
static inline struct weir_log captured_log_open(struct captured_log *self)
{
    pthread_mutex_init(&self->mutex, NULL);
    self->count = 0;
    return (struct weir_log){
        .write = captured_log_write, .state = self, .minimum = WEIR_LOG_TRACE};
}

/* How many lines of this level contain `text`? */
static inline size_t captured_log_count(struct captured_log *self,
                                        enum weir_log_level level, const char *text)
{
    size_t count = 0;

    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->count; i++) {
        if (self->levels[i] == level && strstr(self->lines[i], text) != NULL)
            count++;
    }
    pthread_mutex_unlock(&self->mutex);
    return count;
}

#endif
