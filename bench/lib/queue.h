/*
 * queue.h - the baseline: actions called through a queue with a mutex and a condition.
 *
 * What one would write without weir, in its plainest form. A job is an action and its
 * state in a linked list. Each thread does, for ever:
 *
 *   lock; while the list is empty: wait; take the first; unlock        (pop)
 *   call the action
 *   if it said proceed: lock; append; signal if somebody waits; unlock (push)
 *
 * So an execution costs two rounds of the mutex, and a system call only when a thread
 * sleeps. There are no timers, no names, no cancelling of a single job, no panics, no
 * statistics.
 *
 * Threads  push() from any thread; start and stop from one.
 */
#ifndef WEIR_BENCH_QUEUE_H
#define WEIR_BENCH_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <weir/worker.h>

enum { BENCH_QUEUE_THREADS_MAX = 8 };

/* Owned by the caller; in the queue from push() until its action does not proceed. */
struct bench_job {
    weir_action_fn action; /* called without a context */
    void *state;
    struct bench_job *next;
};

struct bench_queue {
    pthread_t threads[BENCH_QUEUE_THREADS_MAX];
    size_t thread_count;

    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t not_empty;
    struct bench_job *first;
    struct bench_job **last; /* where the next one is linked */
    size_t waiting;
    bool ending;
};

void bench_queue_start(struct bench_queue *self, size_t thread_count);
void bench_queue_stop(struct bench_queue *self);
void bench_queue_push(struct bench_queue *self, struct bench_job *job);

#endif
