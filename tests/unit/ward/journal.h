/*
 * journal.h - a log that remembers its lines, for tests that look at them.
 *
 *   struct journal journal;
 *
 *   options.log = journal_open(&journal);
 *   ...
 *   check_int(journal_count(&journal, WEIR_LOG_WARNING, "scan=leases"), 1);
 *
 * Threads  Any.
 */
#ifndef WEIR_TEST_JOURNAL_H
#define WEIR_TEST_JOURNAL_H

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <weir/log.h>

enum { JOURNAL_LINES_MAX = 512, JOURNAL_LINE_SIZE = 512 };

struct journal {
    pthread_mutex_t mutex; /* guards all that follows */
    size_t count;          /* lines written; the last ones are dropped when it is full */
    enum weir_log_level levels[JOURNAL_LINES_MAX];
    char lines[JOURNAL_LINES_MAX][JOURNAL_LINE_SIZE];
};

static inline void journal_write(void *state, enum weir_log_level level, const char *line)
{
    struct journal *self = state;

    pthread_mutex_lock(&self->mutex);
    if (self->count < JOURNAL_LINES_MAX) {
        self->levels[self->count] = level;
        snprintf(self->lines[self->count], JOURNAL_LINE_SIZE, "%s", line);
        self->count++;
    }
    pthread_mutex_unlock(&self->mutex);
}

/* Begin an empty journal; the log writes into it for as long as it lives. */
static inline struct weir_log journal_open(struct journal *self)
{
    pthread_mutex_init(&self->mutex, NULL);
    self->count = 0;
    return (struct weir_log){
        .write = journal_write, .state = self, .minimum = WEIR_LOG_TRACE};
}

/* How many lines of this level contain `text`? */
static inline size_t journal_count(struct journal *self, enum weir_log_level level,
                                   const char *text)
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
