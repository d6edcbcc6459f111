/*
 * audit.h - what was consumed, partition by partition, and whether it is what was
 * produced.
 *
 * Each partition's messages have payloads that count from 0 on. Consumed must be: `seq`
 * of the database strictly increasing, and of the payloads each number below their
 * count once. So what is lost is found, and what comes twice too.
 *
 * Threads  note() and counts: any thread. verify(): when nobody notes any more.
 * Failure  note() and verify() keep the first fault; the bench decides.
 */
#ifndef WEIR_BENCH_AUDIT_H
#define WEIR_BENCH_AUDIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_FAULT_SIZE = 128 };

struct bench_audited; /* one partition */

struct bench_audit {
    struct bench_audited *partitions; /* owned */
    size_t partition_count;
    uint64_t expected; /* messages of all partitions */
    bool uniform;      /* as many in each partition */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t complete;
    uint64_t noted;
    char fault[BENCH_FAULT_SIZE]; /* "": none */
};

void bench_audit_init(struct bench_audit *self, size_t partition_count, uint64_t expected,
                      bool uniform);
void bench_audit_fini(struct bench_audit *self);

/* A message was consumed: of partition `index`, with that text, "<partition>:<count>". */
void bench_audit_note(struct bench_audit *self, size_t index, int32_t partition,
                      int64_t seq, const char *payload);

/* Wait until all were noted; false after `wait_limit_ns`. */
bool bench_audit_await(struct bench_audit *self, int64_t wait_limit_ns);

/* Is everything right? Otherwise `fault` says what is not. */
bool bench_audit_verify(struct bench_audit *self);

#endif
