/*
 * crc32.c - see crc32.h. Bit by bit: what it is used for is short.
 */
#include "base/codec/crc32.h"

#define POLYNOMIAL UINT32_C(0xedb88320) /* reflected */

uint32_t weir_crc32(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
    }
    return ~crc;
}
