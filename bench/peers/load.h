/*
 * load.h - what the measured programs in C share: arguments, messages, times, result.
 *
 *   url=U system=S task=latency|stream conns=N batch=N rate=N seconds=N
 *
 * A program fills a struct peer and calls peer_measure(), which starts the producers,
 * waits until each message has been handled, and prints one line of JSON. README.md
 * describes the interface, which programs in other languages have, too.
 *
 * Threads  peer_handled(): any. A session of a producer: its own thread.
 * Failure  Ends the program with 1.
 */
#ifndef WEIR_BENCH_PEERS_LOAD_H
#define WEIR_BENCH_PEERS_LOAD_H

#include <stdbool.h>
#include <stdint.h>

enum { PEER_PAYLOAD_SIZE = 200 };

struct peer_options {
    const char *url;
    const char *system; /* of the program's systems, which one */
    bool latency;       /* `rate` transactions a second; else as many as possible */
    int connections;    /* of producers */
    int batch;          /* messages per transaction */
    int rate;
    int seconds;
};

struct peer {
    bool delivers; /* false: a message is done with its commit */
    void *(*open)(const struct peer_options *options); /* a producer's session */
    /* One transaction: messages `first` to `first + count - 1`, each with the payload of
     * peer_payload(). Committed when it returns. */
    void (*send)(void *session, int64_t first, int count);
    void (*close)(void *session);
};

void peer_options_read(struct peer_options *self, int count, char **arguments);

void peer_must(bool is_true, const char *what, const char *detail);
void peer_sleep_us(int64_t us);

/* PEER_PAYLOAD_SIZE bytes of JSON, and a zero. */
void peer_payload(char *out, int64_t id);
/* Several, as an array literal of PostgreSQL. Owes free(). */
char *peer_payload_array(int64_t first, int count);
/* The first line of a handler: the id is read from the payload. */
void peer_handled(const char *payload);
/* As long as messages may come. */
bool peer_is_running(void);

/* Returns when every message has been handled; 0 on success. */
int peer_measure(const struct peer *peer, const struct peer_options *options);

#endif
