/*
 * demo_worker_pool.h - the workers of `weir demo --flow`: processes, and a foreman
 * process that kills one of them now and then.
 *
 *   main --fork--> foreman --fork--> worker 1, 2, 3     SIGKILL about every second,
 *     |               |                 |               then a new one
 *     |               |                 |
 *     +---- pipe -----+-----------------+               ends when main ends, in any way
 *
 * They are killed in the middle of whatever they do: that is what the demo is about.
 * The foreman has no threads and no database, so that it can fork at any time.
 *
 * Threads  The main thread; create() before there is any other, and before a database
 *          is open.
 */
#ifndef WEIR_CLI_DEMO_DEMO_WORKER_POOL_H
#define WEIR_CLI_DEMO_DEMO_WORKER_POOL_H

#include <stdint.h>

#include "weir/error.h"

enum { WEIR_WORKER_POOL_WORKERS = 3 };

struct weir_worker_pool;

/* What a worker ends with: it was asked to, it could not begin and another may, it is
 * broken. */
enum weir_worker_pool_end {
    WEIR_WORKER_POOL_DONE,
    WEIR_WORKER_POOL_AGAIN,
    WEIR_WORKER_POOL_BROKEN
};

/* What a worker does, in a process of its own, until the other end of `life` is
 * closed. `number` differs between workers, and between those that follow each other. */
typedef enum weir_worker_pool_end (*weir_worker_pool_fn)(const char *url, uint32_t number,
                                                         int life);

/* Make the foreman, which waits for begin(). Fails with WEIR_SYSTEM or WEIR_NO_MEMORY;
 * *out is then NULL. */
WEIR_CHECKED enum weir_status weir_worker_pool_create(weir_worker_pool_fn work,
                                                      struct weir_worker_pool **out,
                                                      struct weir_error *error);

/* To work, on the database of this URL. Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_worker_pool_begin(struct weir_worker_pool *self,
                                                     const char *url,
                                                     struct weir_error *error);

/* From now on no worker is killed. */
void weir_worker_pool_spare(struct weir_worker_pool *self);

/* How many were killed so far; and how many ended in another way that they must not. */
uint32_t weir_worker_pool_killed(const struct weir_worker_pool *self);
uint32_t weir_worker_pool_failed(const struct weir_worker_pool *self);

/* Let all of them finish what they do, and end; then free. NULL is fine. */
void weir_worker_pool_destroy(struct weir_worker_pool *self);

#endif
