/*
 * crc32.h - the checksum of Ethernet, gzip and others, to find mistyped texts.
 *
 * Protects against nothing that is done on purpose.
 */
#ifndef WEIR_BASE_CODEC_CRC32_H
#define WEIR_BASE_CODEC_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t weir_crc32(const void *bytes, size_t size);

#endif
