/*
 * profile.c - see profile.h.
 */
#include "lib/profile.h"

enum { SINGLE = 1, BATCH = 100, HUNDRED_THOUSAND = 100000, MILLION = 1000000 };

#define STANDARD .producers = 16, .processors = 8, MAINTENANCE
#define MAINTENANCE .maintenance_guaranteed = 2, .maintenance_shared = 1
#define WIDE                                                                             \
    .producers = 16, .processors = 32, .maintenance_guaranteed = 8,                      \
    .maintenance_shared = 2

/* clang-format off */
const struct bench_profile BENCH_PROFILES[BENCH_PROFILE_COUNT] = {
    {"1p1c_single", SINGLE, .producers = 1, .processors = 8, MAINTENANCE,
     .queues = 1, .instances = 1, .messages = 10000},
    {"16p16c_single", SINGLE, STANDARD,
     .queues = 1, .instances = 1, .messages = HUNDRED_THOUSAND},
    {"16p16c_batch", BATCH, STANDARD,
     .queues = 1, .instances = 1, .messages = HUNDRED_THOUSAND},
    {"4q16p16c_single", SINGLE, STANDARD,
     .queues = 4, .instances = 1, .messages = HUNDRED_THOUSAND},
    {"4q16p16c_batch", BATCH, STANDARD,
     .queues = 4, .instances = 1, .messages = HUNDRED_THOUSAND},
    {"1m_16p_single", SINGLE, STANDARD,
     .queues = 1, .instances = 1, .messages = MILLION},
    {"1m_16p_batch", BATCH, STANDARD,
     .queues = 1, .instances = 1, .messages = MILLION},
    {"10q_1m_single", SINGLE, STANDARD,
     .queues = 10, .instances = 1, .messages = MILLION},
    {"10q_1m_batch", BATCH, STANDARD,
     .queues = 10, .instances = 1, .messages = MILLION},
    {"100q_1m_single", SINGLE, WIDE,
     .queues = 100, .instances = 1, .messages = MILLION},
    {"100q_1m_batch", BATCH, WIDE,
     .queues = 100, .instances = 1, .messages = MILLION},
    {"100q_realistic_batch", BATCH, WIDE,
     .queues = 100, .hot_queues = 8, .instances = 1, .messages = MILLION},
    {"2i_16p16c_single", SINGLE, STANDARD,
     .queues = 1, .instances = 2, .messages = HUNDRED_THOUSAND},
    {"2i_16p16c_batch", BATCH, STANDARD,
     .queues = 1, .instances = 2, .messages = HUNDRED_THOUSAND},
    {"2i_4q_batch", BATCH, STANDARD,
     .queues = 4, .instances = 2, .messages = HUNDRED_THOUSAND},
    {"2i_1m_single", SINGLE, STANDARD,
     .queues = 1, .instances = 2, .messages = MILLION},
    {"2i_1m_batch", BATCH, STANDARD,
     .queues = 1, .instances = 2, .messages = MILLION},
    {"2i_independent_prefix_batch", BATCH, STANDARD,
     .queues = 1, .instances = 2, .independent = true, .messages = HUNDRED_THOUSAND},
};
/* clang-format on */

size_t bench_profile_families(const struct bench_profile *self)
{
    return self->independent ? self->instances : 1;
}

size_t bench_profile_partitions(const struct bench_profile *self)
{
    return self->queues * BENCH_PROFILE_PARTITIONS;
}

uint64_t bench_profile_messages(const struct bench_profile *self, uint64_t divisor)
{
    uint64_t share = bench_profile_partitions(self);
    uint64_t round = share * bench_profile_families(self);

    return (self->messages / divisor + round - 1) / round * share;
}

/* Ten messages in a row are of one turn: nine to a hot queue, the last to a cold one. */
static size_t realistic_queue(const struct bench_profile *self, uint64_t number)
{
    uint64_t turn = number / 10;

    if (number % 10 < 9)
        return turn % self->hot_queues;
    return self->hot_queues + turn % (self->queues - self->hot_queues);
}

struct bench_destination bench_profile_destination(const struct bench_profile *self,
                                                   uint64_t number)
{
    uint64_t global = number % bench_profile_partitions(self);
    uint64_t local = number / self->queues % BENCH_PROFILE_PARTITIONS;

    if (self->hot_queues > 0)
        return (struct bench_destination){realistic_queue(self, number), (int32_t)local};
    return (struct bench_destination){global / BENCH_PROFILE_PARTITIONS,
                                      (int32_t)(global % BENCH_PROFILE_PARTITIONS)};
}
