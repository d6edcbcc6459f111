/*
 * md5.h - MD5 (RFC 1321), to spread things and never to protect them.
 *
 * Here so that a rule that others follow too ("the first bytes of md5(key)") holds
 * wherever a machine's policy forbids the algorithm, and without memory to ask for.
 */
#ifndef WEIR_BASE_MD5_H
#define WEIR_BASE_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { WEIR_MD5_SIZE = 16 };

/* `bytes` may be NULL when `size` is 0. */
void weir_md5(const void *bytes, size_t size, uint8_t out[WEIR_MD5_SIZE]);

#endif
