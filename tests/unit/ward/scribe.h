/*
 * scribe.h - a listener that writes down what it hears, one line per event.
 *
 *   struct page page = {0};
 *   struct scribe scribe;
 *
 *   listeners[0] = scribe_open(&scribe, "", &page);
 *   ...
 *   check_str(page.text, "start\n" "idle\n" "stop\n");
 *
 * Several scribes may share a page; each puts its name in front of its lines. Durations are
 * written in milliseconds.
 *
 * Threads  One worker per page; read it when the worker has ended, or in simulation.
 */
#ifndef WEIR_TEST_SCRIBE_H
#define WEIR_TEST_SCRIBE_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/listener.h>

enum { PAGE_SIZE = 4096 };

struct page {
    char text[PAGE_SIZE];
    size_t size; /* what does not fit is dropped */
};

struct scribe {
    const char *name; /* "": no name */
    struct page *page;
    struct weir_listener listener;
};

__attribute__((format(printf, 2, 3))) static inline void
scribe_write(struct scribe *self, const char *format, ...)
{
    struct page *page = self->page;
    char line[512];
    va_list arguments;
    int size;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size = snprintf(page->text + page->size, PAGE_SIZE - page->size, "%s%s%s\n",
                    self->name, self->name[0] != '\0' ? " " : "", line);
    page->size += (size_t)size < PAGE_SIZE - page->size ? (size_t)size : 0;
}

static inline void scribe_start(void *state, const char *worker)
{
    (void)worker;
    scribe_write(state, "start");
}

static inline void scribe_stop(void *state, const char *worker)
{
    (void)worker;
    scribe_write(state, "stop");
}

static inline void scribe_execute_start(void *state, const char *worker)
{
    (void)worker;
    scribe_write(state, "execute");
}

static inline void scribe_complete(void *state, const char *worker, int64_t elapsed_ns,
                                   const struct weir_directive *directive)
{
    static const char *const kinds[] = {"proceed", "idle", "sleep"};

    (void)worker;
    scribe_write(state, "complete in %lld: %s", (long long)(elapsed_ns / 1000000),
                 kinds[directive->kind]);
}

static inline void scribe_error(void *state, const char *worker, int64_t elapsed_ns,
                                const char *text, uint32_t failures, int64_t backoff_ns)
{
    (void)worker;
    scribe_write(state, "error %u in %lld, back off %lld: %s", failures,
                 (long long)(elapsed_ns / 1000000), (long long)(backoff_ns / 1000000),
                 text);
}

static inline void scribe_idle(void *state, const char *worker)
{
    (void)worker;
    scribe_write(state, "idle");
}

static inline void scribe_sleep(void *state, const char *worker, int64_t duration_ns)
{
    (void)worker;
    scribe_write(state, "sleep %lld", (long long)(duration_ns / 1000000));
}

/* Begin to write; the scribe is borrowed by whoever listens with it. */
static inline const struct weir_listener *scribe_open(struct scribe *self,
                                                      const char *name, struct page *page)
{
    self->name = name;
    self->page = page;
    self->listener = (struct weir_listener){
        .state = self,
        .on_start = scribe_start,
        .on_stop = scribe_stop,
        .on_execute_start = scribe_execute_start,
        .on_complete = scribe_complete,
        .on_error = scribe_error,
        .on_idle = scribe_idle,
        .on_sleep = scribe_sleep,
    };
    return &self->listener;
}

#endif
