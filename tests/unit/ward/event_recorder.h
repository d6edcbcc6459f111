/*
 * event_recorder.h - a listener that writes down what it hears, one line per event.
 *
 *   struct page page = {0};
 *   struct event_recorder scribe;
 *
 *   listeners[0] = event_recorder_open(&scribe, "", &page);
 *   ...
 *   check_str(page.text, "start\n" "idle\n" "stop\n");
 *
 * Several scribes may share a page; each puts its name in front of its lines. Durations
 * are written in milliseconds.
 *
 * Threads  One worker per page; read it when the worker has ended, or in simulation.
 */
#ifndef WEIR_TEST_EVENT_RECORDER_H
#define WEIR_TEST_EVENT_RECORDER_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/listener.h>

enum { PAGE_SIZE = 4096 };

struct page {
    char text[PAGE_SIZE];
    size_t size; /* what does not fit is dropped */
};

struct event_recorder {
    const char *name; /* "": no name */
    struct page *page;
    struct weir_listener listener;
};

__attribute__((format(printf, 2, 3))) static inline void
event_recorder_write(struct event_recorder *self, const char *format, ...)
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

static inline void event_recorder_start(void *state, const char *worker)
{
    (void)worker;
    event_recorder_write(state, "start");
}

static inline void event_recorder_stop(void *state, const char *worker)
{
    (void)worker;
    event_recorder_write(state, "stop");
}

static inline void event_recorder_execute_start(void *state, const char *worker)
{
    (void)worker;
    event_recorder_write(state, "execute");
}

static inline void event_recorder_complete(void *state, const char *worker,
                                           int64_t elapsed_ns,
                                           const struct weir_directive *directive)
{
    static const char *const kinds[] = {"proceed", "idle", "sleep"};

    (void)worker;
    event_recorder_write(state, "complete in %lld: %s", (long long)(elapsed_ns / 1000000),
                         kinds[directive->kind]);
}

static inline void event_recorder_error(void *state, const char *worker,
                                        int64_t elapsed_ns, const char *text,
                                        uint32_t failures, int64_t backoff_ns)
{
    (void)worker;
    event_recorder_write(state, "error %u in %lld, back off %lld: %s", failures,
                         (long long)(elapsed_ns / 1000000),
                         (long long)(backoff_ns / 1000000), text);
}

static inline void event_recorder_idle(void *state, const char *worker)
{
    (void)worker;
    event_recorder_write(state, "idle");
}

static inline void event_recorder_sleep(void *state, const char *worker,
                                        int64_t duration_ns)
{
    (void)worker;
    event_recorder_write(state, "sleep %lld", (long long)(duration_ns / 1000000));
}

/* Begin to write; the scribe is borrowed by whoever listens with it. */
static inline const struct weir_listener *
event_recorder_open(struct event_recorder *self, const char *name, struct page *page)
{
    self->name = name;
    self->page = page;
    self->listener = (struct weir_listener){
        .state = self,
        .on_start = event_recorder_start,
        .on_stop = event_recorder_stop,
        .on_execute_start = event_recorder_execute_start,
        .on_complete = event_recorder_complete,
        .on_error = event_recorder_error,
        .on_idle = event_recorder_idle,
        .on_sleep = event_recorder_sleep,
    };
    return &self->listener;
}

#endif
