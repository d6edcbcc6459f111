/*
 * random.h - a small generator that repeats itself from its seed, and a hash for names.
 *
 * Not for secrets. Threads  The owner's.
 */
#ifndef WEIR_BASE_RANDOM_H
#define WEIR_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct weir_random {
    uint64_t state;
};

static inline void weir_random_init(struct weir_random *self, uint64_t seed)
{
    self->state = seed;
}

/* Scramble 64 bits so that every input bit reaches every output bit. */
static inline uint64_t weir_mix_u64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x;
}

static inline uint64_t weir_random_next(struct weir_random *self)
{
    self->state += UINT64_C(0x9e3779b97f4a7c15);
    return weir_mix_u64(self->state);
}

/* A number from 0 to below - 1; `below` is at least 1. The bias is under 2^-32. */
static inline uint32_t weir_random_below(struct weir_random *self, uint32_t below)
{
    return (uint32_t)(((weir_random_next(self) >> 32) * below) >> 32);
}

/* 53 bits as a fraction in [0, 1). */
static inline double weir_fraction_from_u64(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1.0p-53;
}

/* FNV-1a, then mixed: good enough to spread names. */
static inline uint64_t weir_hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return weir_mix_u64(hash);
}

/* The same for a text, without its zero. */
static inline uint64_t weir_hash_text(const char *text)
{
    return weir_hash_bytes(text, strlen(text));
}

#endif
