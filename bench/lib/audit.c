/*
 * audit.c - see audit.h.
 *
 * Payloads are marked in a map of bytes per partition, which grows. Nobody counts
 * further than there are messages: what claims to is a fault.
 */
#include "lib/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/must.h"

enum { MARKS_MIN = 64 };

struct bench_audited {
    pthread_mutex_t lock; /* guards what follows */
    int64_t seq;          /* of the last one */
    uint64_t count;
    uint8_t *marks; /* owned; by the count in the payload */
    size_t room;
};

void bench_audit_init(struct bench_audit *self, size_t partition_count, uint64_t expected,
                      bool uniform)
{
    pthread_condattr_t attributes;

    memset(self, 0, sizeof *self);
    self->partitions = bench_must_alloc(partition_count, sizeof *self->partitions);
    self->partition_count = partition_count;
    self->expected = expected;
    self->uniform = uniform;
    for (size_t i = 0; i < partition_count; i++)
        (void)pthread_mutex_init(&self->partitions[i].lock, NULL);
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&self->complete, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void bench_audit_fini(struct bench_audit *self)
{
    for (size_t i = 0; i < self->partition_count; i++) {
        (void)pthread_mutex_destroy(&self->partitions[i].lock);
        free(self->partitions[i].marks);
    }
    free(self->partitions);
    (void)pthread_cond_destroy(&self->complete);
    (void)pthread_mutex_destroy(&self->lock);
}

/* ---- noting ------------------------------------------------------------------------ */

static void blame(struct bench_audit *self, size_t index, const char *what,
                  uint64_t number)
{
    (void)pthread_mutex_lock(&self->lock);
    if (self->fault[0] == '\0')
        (void)snprintf(self->fault, sizeof self->fault, "partition %zu: %s %" PRIu64,
                       index, what, number);
    (void)pthread_mutex_unlock(&self->lock);
}

static void grow(struct bench_audited *partition, uint64_t number)
{
    size_t room = partition->room > 0 ? partition->room : MARKS_MIN;
    uint8_t *marks;

    while (room <= number)
        room *= 2;
    if (room == partition->room)
        return;
    marks = realloc(partition->marks, room);
    bench_must(marks != NULL, "out of memory");
    memset(marks + partition->room, 0, room - partition->room);
    partition->marks = marks;
    partition->room = room;
}

/* NULL: it fits in. */
static const char *enter(struct bench_audited *partition, int64_t seq, uint64_t number)
{
    bool increasing = seq > partition->seq;

    partition->seq = seq;
    partition->count++;
    grow(partition, number);
    if (!increasing)
        return "not behind the one before: payload";
    if (partition->marks[number]++ > 0)
        return "twice: payload";
    return NULL;
}

static void count_one(struct bench_audit *self)
{
    (void)pthread_mutex_lock(&self->lock);
    if (++self->noted == self->expected)
        (void)pthread_cond_signal(&self->complete);
    (void)pthread_mutex_unlock(&self->lock);
}

void bench_audit_note(struct bench_audit *self, size_t index, int32_t partition,
                      int64_t seq, const char *payload)
{
    struct bench_audited *audited = &self->partitions[index];
    const char *fault = NULL;
    uint64_t number = 0;
    int32_t written = -1;

    if (sscanf(payload, "%" SCNd32 ":%" SCNu64, &written, &number) != 2 ||
        written != partition || number >= self->expected) {
        blame(self, index, "a payload that is not its own, seq", (uint64_t)seq);
    } else {
        (void)pthread_mutex_lock(&audited->lock);
        fault = enter(audited, seq, number);
        (void)pthread_mutex_unlock(&audited->lock);
    }
    if (fault != NULL)
        blame(self, index, fault, number);
    count_one(self);
}

/* ---- looking ----------------------------------------------------------------------- */

bool bench_audit_await(struct bench_audit *self, int64_t wait_limit_ns)
{
    struct timespec end;
    bool in_time = true;
    uint64_t noted;

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(wait_limit_ns / 1000000000);
    (void)pthread_mutex_lock(&self->lock);
    while (self->noted < self->expected && in_time)
        in_time = pthread_cond_timedwait(&self->complete, &self->lock, &end) != ETIMEDOUT;
    noted = self->noted;
    if (noted < self->expected && self->fault[0] == '\0')
        (void)snprintf(self->fault, sizeof self->fault,
                       "%" PRIu64 " messages are missing", self->expected - noted);
    (void)pthread_mutex_unlock(&self->lock);
    return noted >= self->expected;
}

/* None comes twice, so as many marks as messages below their count are all of them. */
static void check_payloads(struct bench_audit *self, size_t index)
{
    const struct bench_audited *partition = &self->partitions[index];
    uint64_t even = self->expected / self->partition_count;

    if (self->uniform && partition->count != even)
        blame(self, index, "messages are", partition->count);
    for (uint64_t i = 0; i < partition->count; i++) {
        if (i >= partition->room || partition->marks[i] == 0) {
            blame(self, index, "missing is payload", i);
            return;
        }
    }
}

bool bench_audit_verify(struct bench_audit *self)
{
    for (size_t i = 0; i < self->partition_count; i++)
        check_payloads(self, i);
    if (self->noted != self->expected)
        blame(self, 0, "and all others: messages are", self->noted);
    return self->fault[0] == '\0';
}
