/*
 * id.c - ids of executions, and the partition that is part of them.
 *
 * One execution has one text, "151-UUID": no sign and no zeros in front of the
 * partition, all of the uuid's digits and its dashes where they belong. Only the case
 * of its digits is free, as RFC 9562 asks of readers. Ids that were written down
 * before weir wrote this form, "{fp:151}:UUID", are read as strictly.
 */
#include "execution/id.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/codec/hex.h"
#include "base/quote.h"
#include "weir/flow.h"

/* What is around the partition; the old form is only read. */
static const char OLD_PREFIX[] = "{fp:";
static const char OLD_SEPARATOR[] = "}:";
static const char SEPARATOR[] = "-";

enum { PARTITION_MAX = UINT16_MAX };

/* ---- making ------------------------------------------------------------------------ */

void weir_mint_init(struct weir_mint *self, int64_t now_us, uint64_t chance)
{
    self->now_us = now_us > 0 ? now_us : 0;
    weir_random_init(&self->random, chance);
}

void weir_mint_uuid(struct weir_mint *self, uint8_t out[WEIR_UUID_SIZE])
{
    uint64_t ms = (uint64_t)self->now_us / 1000;
    uint64_t fraction = ((uint64_t)self->now_us % 1000 << 12) / 1000;
    uint64_t high = ms << 16 | UINT64_C(7) << 12 | fraction;
    uint64_t low = weir_random_next(&self->random) >> 2 | UINT64_C(1) << 63;

    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(high >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
}

uint16_t weir_execution_partition(const void *bytes, size_t size, uint32_t partitions)
{
    const uint8_t *byte = bytes;
    uint32_t crc = 0;

    WEIR_ASSERT(partitions > 0);
    for (size_t i = 0; i < size; i++) {
        crc ^= (uint32_t)byte[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
        crc &= 0xffff;
    }
    return (uint16_t)(crc % partitions);
}

/* ---- as text ----------------------------------------------------------------------- */

/* The places of the dashes in 8-4-4-4-12, before the byte with this number. */
static bool has_dash_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

static char *put_number(char *out, uint16_t number)
{
    char digits[5];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number = (uint16_t)(number / 10);
    } while (number > 0);
    while (count > 0)
        *out++ = digits[--count];
    return out;
}

static char *put_uuid(char *out, const uint8_t *uuid)
{
    for (size_t i = 0; i < WEIR_UUID_SIZE; i++) {
        if (has_dash_before(i))
            *out++ = '-';
        out = weir_hex_write(uuid + i, 1, out);
    }
    return out;
}

const char *weir_execution_id_format(const struct weir_execution_id *self, char *out)
{
    char *at = put_number(out, self->partition);

    *at++ = SEPARATOR[0];
    *put_uuid(at, self->uuid) = '\0';
    return out;
}

/* Each of these moves *at behind what it has read. A zero is no digit, no dash and no
 * brace, so nothing is read beyond the end. */

static bool read_partition(const char **at, uint16_t *out)
{
    const char *c = *at;
    uint32_t number = 0;

    if (*c < '0' || *c > '9' || (c[0] == '0' && c[1] >= '0' && c[1] <= '9'))
        return false;
    for (; *c >= '0' && *c <= '9'; c++) {
        number = number * 10 + (uint32_t)(*c - '0');
        if (number > PARTITION_MAX)
            return false;
    }
    *at = c;
    *out = (uint16_t)number;
    return true;
}

static bool read_uuid(const char **at, uint8_t out[WEIR_UUID_SIZE])
{
    const char *c = *at;

    for (size_t i = 0; i < WEIR_UUID_SIZE; i++) {
        if (has_dash_before(i) && *c++ != '-')
            return false;
        if (!weir_hex_read(c, 1, &out[i]))
            return false;
        c += 2;
    }
    *at = c;
    return true;
}

const char *weir_uuid_format(const uint8_t uuid[WEIR_UUID_SIZE], char *out)
{
    *put_uuid(out, uuid) = '\0';
    return out;
}

bool weir_uuid_parse(const char *text, uint8_t out[WEIR_UUID_SIZE])
{
    return read_uuid(&text, out) && *text == '\0';
}

#define EXAMPLE "151-01a1e4d0-2abe-79c2-bc93-40af11a29381"

static enum weir_status refuse(struct weir_error *error, const char *text,
                               const char *rule)
{
    struct weir_quote shown;

    return weir_error_set(error, WEIR_INVALID,
                          "execution id \"%s\": %s, as in \"" EXAMPLE "\"",
                          weir_quote(&shown, text), rule);
}

enum weir_status weir_execution_id_parse(const char *text, struct weir_execution_id *out,
                                         struct weir_error *error)
{
    struct weir_execution_id id;
    const char *at = text, *separator = SEPARATOR;

    if (text == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "execution id is NULL, must be a partition and a uuid, as "
                              "in \"" EXAMPLE "\"");
    if (strncmp(at, OLD_PREFIX, strlen(OLD_PREFIX)) == 0) {
        at += strlen(OLD_PREFIX);
        separator = OLD_SEPARATOR;
    }
    if (!read_partition(&at, &id.partition))
        return refuse(error, text,
                      "must begin with its partition, a number from 0 to 65535");
    if (strncmp(at, separator, strlen(separator)) != 0)
        return refuse(error, text, "its partition must be followed by \"-\"");
    at += strlen(separator);
    if (!read_uuid(&at, id.uuid) || *at != '\0')
        return refuse(error, text,
                      "must end in a uuid, 32 hexadecimal digits as 8-4-4-4-12");
    *out = id;
    return WEIR_OK;
}

/* ---- flows ------------------------------------------------------------------------- */

const char *weir_flow_id_format(const struct weir_flow_id *self, char *out)
{
    *put_uuid(out, self->uuid) = '\0';
    return out;
}

enum weir_status weir_flow_id_parse(const char *text, struct weir_flow_id *out,
                                    struct weir_error *error)
{
    struct weir_flow_id id;
    const char *at = text;

    if (text == NULL)
        return weir_error_set(error, WEIR_INVALID, "flow id is NULL, must be a uuid");
    if (!read_uuid(&at, id.uuid) || *at != '\0')
        return weir_error_set(
            error, WEIR_INVALID,
            "flow id \"%.64s\" must be a uuid, 32 hexadecimal digits as "
            "8-4-4-4-12",
            text);
    *out = id;
    return WEIR_OK;
}
