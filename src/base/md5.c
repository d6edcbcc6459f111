/*
 * md5.c - MD5 as RFC 1321 section 3 describes it.
 *
 * The message is followed by a byte of 0x80, zeros, and its length in bits in eight
 * bytes, so that it becomes a whole number of blocks. All whole blocks are digested
 * where they are; the rest with its padding is one or two blocks on the stack.
 */
#include "base/md5.h"

#include <string.h>

enum { BLOCK_SIZE = 64, LENGTH_SIZE = 8, STEPS = 64 };

/* floor(2^32 * |sin(i + 1)|) */
static const uint32_t SINES[STEPS] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
    0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
    0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
    0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
    0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
    0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
    0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
    0xeb86d391,
};

/* By round and place in a group of four. */
static const uint32_t SHIFTS[4][4] = {{7, 12, 17, 22},
                                      {5, 9, 14, 20},
                                      {4, 11, 16, 23},
                                      {6, 10, 15, 21}};

static uint32_t read_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static uint32_t rotate(uint32_t word, uint32_t count)
{
    return word << count | word >> (32 - count);
}

static void digest_block(uint32_t state[4], const uint8_t *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t mixed, word;

        switch (i / 16) {
        case 0:
            mixed = (b & c) | (~b & d);
            word = i;
            break;
        case 1:
            mixed = (d & b) | (~d & c);
            word = 5 * i + 1;
            break;
        case 2:
            mixed = b ^ c ^ d;
            word = 3 * i + 5;
            break;
        default:
            mixed = c ^ (b | ~d);
            word = 7 * i;
            break;
        }
        mixed += a + SINES[i] + read_word(block + 4 * (word % 16));
        a = d;
        d = c;
        c = b;
        b += rotate(mixed, SHIFTS[i / 16][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void weir_md5(const void *bytes, size_t size, uint8_t out[WEIR_MD5_SIZE])
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint64_t bits = (uint64_t)size * 8;
    uint8_t tail[2 * BLOCK_SIZE] = {0};
    const uint8_t *rest = bytes;
    size_t tail_size;

    for (; size >= BLOCK_SIZE; size -= BLOCK_SIZE, rest += BLOCK_SIZE)
        digest_block(state, rest);

    if (size > 0)
        memcpy(tail, rest, size);
    tail[size] = 0x80;
    tail_size = size + 1 + LENGTH_SIZE <= BLOCK_SIZE ? BLOCK_SIZE : 2 * BLOCK_SIZE;
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        tail[tail_size - LENGTH_SIZE + i] = (uint8_t)(bits >> 8 * i);
    for (size_t at = 0; at < tail_size; at += BLOCK_SIZE)
        digest_block(state, tail + at);

    for (size_t i = 0; i < WEIR_MD5_SIZE; i++)
        out[i] = (uint8_t)(state[i / 4] >> 8 * (i % 4));
}
