/*
 * id.h - new ids.
 *
 * A uuid of version 7 (RFC 9562) begins with the time, so that rows made at one time
 * are neighbours in an index. The twelve bits behind the milliseconds are the fraction
 * of one; the other 62 are random. Time and randomness are the caller's, from
 * db/clock.h: in a simulation they repeat.
 *
 *   | 48 bits: ms since 1970 | 0111 | 12 bits: of a ms | 10 | 62 random bits |
 *
 * Parsing and formatting are public: weir/execution.h.
 */
#ifndef WEIR_EXECUTION_ID_H
#define WEIR_EXECUTION_ID_H

#include <stdbool.h>

#include "base/random.h"
#include "weir/execution.h"

/* One draw makes the ids of a whole call. */
struct weir_mint {
    int64_t now_us;
    struct weir_random random;
};

/* `chance`: 64 random bits, another 64 for each mint. */
void weir_mint_init(struct weir_mint *self, int64_t now_us, uint64_t chance);
void weir_mint_uuid(struct weir_mint *self, uint8_t out[WEIR_UUID_SIZE]);

/* As text, 8-4-4-4-12. format() returns `out`; parse(): is it one, and nothing else? */
enum { WEIR_UUID_TEXT_SIZE = 37 };
const char *weir_uuid_format(const uint8_t uuid[WEIR_UUID_SIZE], char *out);
bool weir_uuid_parse(const char *text, uint8_t out[WEIR_UUID_SIZE]);

#endif
