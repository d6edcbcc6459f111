/*
 * load.c - see load.h.
 *
 * One array has the time at which each message was handled first. So a message that is
 * delivered twice counts once, and one that is missing is noticed.
 */
#define _GNU_SOURCE
#include "load.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

enum { MESSAGES_MAX = 1 << 23, WARM_UP = 400, WAIT_LIMIT_S = 120, CONNECTIONS_MAX = 64 };

static _Atomic int64_t handled_ns[MESSAGES_MAX]; /* 0: not yet */
static _Atomic int64_t handled_count;
static _Atomic int64_t last_handled_ns;
static _Atomic int64_t next_id;
static atomic_bool is_over;

struct producer {
    const struct peer *peer;
    const struct peer_options *options;
    void *session;
    int64_t end_ns;
};

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

void peer_must(bool is_true, const char *what, const char *detail)
{
    if (is_true)
        return;
    fprintf(stderr, "%s: %s\n", what, detail);
    exit(1);
}

void peer_sleep_us(int64_t us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    (void)nanosleep(&time, NULL);
}

static void sleep_until(int64_t due_ns)
{
    int64_t now = now_ns();

    if (due_ns > now)
        peer_sleep_us((due_ns - now) / 1000);
}

void peer_options_read(struct peer_options *self, int count, char **arguments)
{
    *self = (struct peer_options){.url = "", .connections = 1, .batch = 1, .seconds = 1};
    for (int i = 1; i < count; i++) {
        char *value = strchr(arguments[i], '=');

        peer_must(value != NULL, arguments[i], "expected NAME=VALUE");
        *value++ = '\0';
        if (strcmp(arguments[i], "url") == 0)
            self->url = value;
        else if (strcmp(arguments[i], "system") == 0)
            self->system = value;
        else if (strcmp(arguments[i], "task") == 0)
            self->latency = strcmp(value, "latency") == 0;
        else if (strcmp(arguments[i], "conns") == 0)
            self->connections = atoi(value);
        else if (strcmp(arguments[i], "batch") == 0)
            self->batch = atoi(value);
        else if (strcmp(arguments[i], "rate") == 0)
            self->rate = atoi(value);
        else if (strcmp(arguments[i], "seconds") == 0)
            self->seconds = atoi(value);
        else
            peer_must(false, arguments[i], "no such argument");
    }
    peer_must(self->connections <= CONNECTIONS_MAX, "conns", "too many");
}

void peer_payload(char *out, int64_t id)
{
    int size = snprintf(out, PEER_PAYLOAD_SIZE, "{\"id\": %" PRId64 ", \"pad\": \"", id);

    memset(out + size, 'x', (size_t)(PEER_PAYLOAD_SIZE - size));
    memcpy(out + PEER_PAYLOAD_SIZE - 2, "\"}", 3);
}

/* Payloads have quotes, but no backslashes. */
char *peer_payload_array(int64_t first, int count)
{
    char *text = malloc((size_t)count * 2 * PEER_PAYLOAD_SIZE + 3);
    char *end = text;

    peer_must(text != NULL, "memory", "is exhausted");
    for (int i = 0; i < count; i++) {
        char payload[PEER_PAYLOAD_SIZE + 1];

        peer_payload(payload, first + i);
        *end++ = i == 0 ? '{' : ',';
        *end++ = '"';
        for (const char *at = payload; *at != '\0'; at++) {
            if (*at == '"')
                *end++ = '\\';
            *end++ = *at;
        }
        *end++ = '"';
    }
    memcpy(end, "}", 2);
    return text;
}

static void mark(int64_t id)
{
    int64_t now = now_ns();
    int64_t never = 0;

    peer_must(id >= 0 && id < MESSAGES_MAX, "message", "no such id");
    if (!atomic_compare_exchange_strong(&handled_ns[id], &never, now))
        return;
    atomic_store(&last_handled_ns, now);
    (void)atomic_fetch_add(&handled_count, 1);
}

void peer_handled(const char *payload)
{
    const char *digits = strpbrk(payload, "0123456789");

    peer_must(digits != NULL, "payload", "has no id");
    mark(strtoll(digits, NULL, 10));
}

bool peer_is_running(void)
{
    return !atomic_load(&is_over);
}

/* ---- producers --------------------------------------------------------------------- */

static int64_t send(const struct producer *self, int batch)
{
    int64_t first = atomic_fetch_add(&next_id, batch);

    peer_must(first + batch <= MESSAGES_MAX, "messages", "too many");
    self->peer->send(self->session, first, batch);
    for (int64_t id = first; !self->peer->delivers && id < first + batch; id++)
        mark(id);
    return first;
}

static void await_all(void)
{
    int64_t end_ns = now_ns() + WAIT_LIMIT_S * SECOND;

    while (atomic_load(&handled_count) < atomic_load(&next_id)) {
        peer_must(now_ns() < end_ns, "messages", "not all of them were delivered");
        peer_sleep_us(1000);
    }
}

static void *produce(void *argument)
{
    struct producer *self = argument;

    while (now_ns() < self->end_ns)
        (void)send(self, self->options->batch);
    return NULL;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* From the return of a commit to the handler; where there is none, the commit itself. */
static void measure_latency(const struct producer *self)
{
    int64_t count = (int64_t)self->options->rate * self->options->seconds;
    int64_t *times = calloc((size_t)count, sizeof *times);
    int64_t start_ns = now_ns();
    int64_t first = atomic_load(&next_id);
    double rate;

    peer_must(times != NULL && count > 0, "rate", "out of range");
    for (int64_t i = 0; i < count; i++) {
        int64_t begin_ns;

        sleep_until(start_ns + i * SECOND / self->options->rate);
        begin_ns = now_ns();
        (void)send(self, 1);
        times[i] = self->peer->delivers ? now_ns() : begin_ns;
    }
    rate = (double)count * SECOND / (double)(now_ns() - start_ns);
    await_all();
    for (int64_t i = 0; i < count; i++) {
        int64_t time = atomic_load(&handled_ns[first + i]) - times[i];

        times[i] = time > 0 ? time : 0;
    }
    qsort(times, (size_t)count, sizeof *times, compare);
    printf("{\"n\": %" PRId64 ", \"rate\": %.1f, \"p50\": %.3f, \"p99\": %.3f}\n", count,
           rate, (double)times[count / 2] / 1e6, (double)times[count * 99 / 100] / 1e6);
    free(times);
}

static void measure_stream(struct producer *producers)
{
    const struct peer_options *options = producers[0].options;
    pthread_t threads[CONNECTIONS_MAX];
    int64_t start_ns = now_ns();
    int64_t first = atomic_load(&next_id);
    int64_t count;
    double seconds;

    for (int i = 0; i < options->connections; i++) {
        producers[i].end_ns = start_ns + options->seconds * SECOND;
        peer_must(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0,
                  "thread", "could not be created");
    }
    for (int i = 0; i < options->connections; i++)
        (void)pthread_join(threads[i], NULL);
    await_all();
    count = atomic_load(&next_id) - first;
    seconds = (double)(atomic_load(&last_handled_ns) - start_ns) / SECOND;
    printf("{\"n\": %" PRId64 ", \"rate\": %.1f}\n", count, (double)count / seconds);
}

int peer_measure(const struct peer *peer, const struct peer_options *options)
{
    struct producer producers[CONNECTIONS_MAX];

    for (int i = 0; i < options->connections; i++)
        producers[i] = (struct producer){
            .peer = peer, .options = options, .session = peer->open(options)};
    for (int i = 0; i < WARM_UP; i += options->batch)
        (void)send(&producers[i % options->connections], options->batch);
    await_all();
    peer_sleep_us(300000);
    if (options->latency)
        measure_latency(&producers[0]);
    else
        measure_stream(producers);
    atomic_store(&is_over, true);
    for (int i = 0; i < options->connections; i++)
        peer->close(producers[i].session);
    return fflush(stdout);
}
