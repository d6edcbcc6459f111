/*
 * process_pool.h - processes that consume one queue of 64 partitions, for measuring
 * what they do together.
 *
 *   this process                      members: this program once more
 *   ------------                      -------------------------------
 *   line ---> log of the queue  --->  handler of member 1, 2, ...
 *   board <-------------------------  who was given what, and when
 *
 * The board is a file that all of them map, so what a member has written stays when it
 * is killed. A message is out of order if its `seq` leaves one out; one that was given
 * before is a repeat.
 *
 * Threads  The main thread: members die with it.
 * Failure  Ends the bench, with the end of the members' log: also when a member ends by
 *          itself.
 */
#ifndef WEIR_BENCH_PROCESS_POOL_H
#define WEIR_BENCH_PROCESS_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <weir/outbox.h>

#include "lib/outbox_load.h"

enum {
    BENCH_MEMBERS_MAX = 8,
    BENCH_PROCESS_POOL_PATH_SIZE = 256,
    BENCH_PROCESS_POOL_URL_SIZE = 640
};

struct bench_process_pool_options {
    const char *url; /* copied */
    enum weir_profile profile;
    uint32_t handlers; /* calls at once in each member; 0: the default */
    int64_t wait_ns;   /* the handler waits so long at each message */
};

/* One partition, as the handlers see it. */
struct bench_env {
    BENCH_OWN_LINE _Atomic uint32_t member; /* that was given the last message; 0: none */
    _Atomic int64_t since_ns;               /* when it was given its first one */
    _Atomic int64_t seq;                    /* the highest that was given to anybody */
};

/* Shared by all processes. */
struct bench_board {
    char url[BENCH_PROCESS_POOL_URL_SIZE];
    enum weir_profile profile;
    uint32_t handlers;
    int64_t wait_ns;

    BENCH_OWN_LINE _Atomic uint64_t taken; /* repeats not counted */
    _Atomic int64_t first_ns; /* the first call since the last await; 0: none */
    _Atomic int64_t last_ns;
    _Atomic uint64_t repeats;
    _Atomic uint64_t disorder;
    struct bench_env desks[BENCH_PARTITIONS];
};

struct bench_member {
    uint32_t number; /* 1, 2, ...; 0: nobody is here */
    pid_t pid;
};

struct bench_process_pool {
    struct bench_outbox_load line; /* the producer */
    struct bench_board *board;
    char path[BENCH_PROCESS_POOL_PATH_SIZE];
    struct bench_member members[BENCH_MEMBERS_MAX];
    uint32_t started;
    uint64_t sent;
};

/* Tables, queue and board; nobody consumes yet. Owes one close, which ends the members
 * in order; by then everything must have been given to somebody, in order. */
void bench_process_pool_open(struct bench_process_pool *self,
                             const struct bench_process_pool_options *options);
void bench_process_pool_close(struct bench_process_pool *self);

/* One more member; returns its number, and does not wait until it consumes. */
uint32_t bench_process_pool_start(struct bench_process_pool *self);

/* Kill -9; returns when that was, before the signal. Afterwards it is gone. */
int64_t bench_process_pool_kill(struct bench_process_pool *self, uint32_t member);

/* The next messages, a transaction per batch; or all in one. */
void bench_process_pool_send(struct bench_process_pool *self, uint64_t count,
                             size_t batch);
void bench_process_pool_send_at_once(struct bench_process_pool *self, uint64_t count);

/* Everything that was sent has been given to somebody. */
bool bench_process_pool_has_all(const struct bench_process_pool *self);

/* Wait for that; returns how long it took from the first call of a handler since the
 * last await to the last one. */
int64_t bench_process_pool_await(struct bench_process_pool *self);

/* The last message of as many partitions was given to each member, as near as it can
 * be. Needs messages that flow. */
bool bench_process_pool_is_even(struct bench_process_pool *self);

/* Send a message to each partition again and again until that is so. */
void bench_process_pool_await_even(struct bench_process_pool *self);

#endif
