/*
 * profile.h - loads by name: how many produce what, in which queues, and who delivers it.
 *
 * A profile is a number of messages; each has a number i from 0 on, which decides where
 * it goes. With P partitions in all queues together:
 *
 *   uniform     partition i mod P of all; the count in the payload is i div P
 *   realistic   nine of ten go to the hot queues, which are the first ones; within the
 *               queue the partition is (i div queues) mod partitions; payloads count as
 *               they are sent
 *
 * The number of messages is rounded up so that all partitions of all families get the
 * same. A *family* is a set of queues: instances share one, or have one each.
 */
#ifndef WEIR_BENCH_PROFILE_H
#define WEIR_BENCH_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_PROFILE_COUNT = 18,
    BENCH_PROFILE_PARTITIONS = 64, /* of each queue */
    BENCH_PROFILE_INSTANCES_MAX = 2
};

struct bench_profile {
    const char *name;
    size_t batch; /* messages of a transaction */
    size_t producers;
    uint32_t processors;
    uint32_t maintenance_guaranteed;
    uint32_t maintenance_shared;
    size_t queues;
    size_t hot_queues; /* 0: uniform */
    size_t instances;
    bool independent; /* each instance has queues of its own */
    uint64_t messages;
};

extern const struct bench_profile BENCH_PROFILES[BENCH_PROFILE_COUNT];

struct bench_destination {
    size_t queue;
    int32_t partition; /* of the queue */
};

size_t bench_profile_families(const struct bench_profile *self);

/* Of one family. */
size_t bench_profile_partitions(const struct bench_profile *self);

/* Of one family, when the profile's messages are divided by `divisor`; whole rounds of
 * all partitions. */
uint64_t bench_profile_messages(const struct bench_profile *self, uint64_t divisor);

struct bench_destination bench_profile_destination(const struct bench_profile *self,
                                                   uint64_t number);

#endif
