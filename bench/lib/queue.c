/*
 * queue.c - see queue.h.
 */
#include "lib/queue.h"

#include "lib/must.h"

static void *thread_main(void *argument);

void bench_queue_start(struct bench_queue *self, size_t thread_count)
{
    bench_must(thread_count <= BENCH_QUEUE_THREADS_MAX, "too many threads");
    bench_must(pthread_mutex_init(&self->lock, NULL) == 0, "no mutex");
    bench_must(pthread_cond_init(&self->not_empty, NULL) == 0, "no condition");
    self->first = NULL;
    self->last = &self->first;
    self->waiting = 0;
    self->ending = false;
    self->thread_count = thread_count;
    for (size_t i = 0; i < thread_count; i++)
        bench_must(pthread_create(&self->threads[i], NULL, thread_main, self) == 0,
                   "no thread");
}

void bench_queue_stop(struct bench_queue *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->ending = true;
    (void)pthread_cond_broadcast(&self->not_empty);
    (void)pthread_mutex_unlock(&self->lock);
    for (size_t i = 0; i < self->thread_count; i++)
        (void)pthread_join(self->threads[i], NULL);
    (void)pthread_cond_destroy(&self->not_empty);
    (void)pthread_mutex_destroy(&self->lock);
}

void bench_queue_push(struct bench_queue *self, struct bench_job *job)
{
    (void)pthread_mutex_lock(&self->lock);
    job->next = NULL;
    *self->last = job;
    self->last = &job->next;
    if (self->waiting > 0)
        (void)pthread_cond_signal(&self->not_empty);
    (void)pthread_mutex_unlock(&self->lock);
}

/* NULL: the queue ends. */
static struct bench_job *pop(struct bench_queue *self)
{
    struct bench_job *job = NULL;

    (void)pthread_mutex_lock(&self->lock);
    while (self->first == NULL && !self->ending) {
        self->waiting++;
        (void)pthread_cond_wait(&self->not_empty, &self->lock);
        self->waiting--;
    }
    if (!self->ending) {
        job = self->first;
        self->first = job->next;
        if (self->first == NULL)
            self->last = &self->first;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return job;
}

static void *thread_main(void *argument)
{
    struct bench_queue *self = argument;
    struct weir_error error;
    struct bench_job *job;

    while ((job = pop(self)) != NULL) {
        struct weir_directive directive = weir_idle();

        if (job->action(NULL, job->state, &directive, &error) == WEIR_OK &&
            directive.kind == WEIR_PROCEED)
            bench_queue_push(self, job);
    }
    return NULL;
}
