/*
 * plain_text.c - see plain_text.h.
 */
#include "outbox/plain_text.h"

#include <string.h>

#include "base/count.h"

/* A character of several bytes begins with one of these. The second byte of some has a
 * smaller range: the same characters could be written shorter, or are halves of UTF-16,
 * or too large. */
struct lead {
    unsigned char first, last; /* the lead byte */
    size_t size;
    unsigned char second_min, second_max;
};

static const struct lead LEADS[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static bool follows(const unsigned char *text, size_t left, const struct lead *lead)
{
    if (left < lead->size || text[1] < lead->second_min || text[1] > lead->second_max)
        return false;
    for (size_t i = 2; i < lead->size; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return false;
    }
    return true;
}

/* The size of the character at `text`, which has `left` bytes; 0 when there is none. */
static size_t character(const unsigned char *text, size_t left)
{
    if (text[0] < 0x80)
        return text[0] != 0 ? 1 : 0;
    for (size_t i = 0; i < COUNT_OF(LEADS); i++) {
        if (text[0] >= LEADS[i].first && text[0] <= LEADS[i].last)
            return follows(text, left, &LEADS[i]) ? LEADS[i].size : 0;
    }
    return 0;
}

/* How many bytes can stay as they are. */
static size_t plain_size(struct weir_str text)
{
    size_t at = 0;

    while (at < text.size) {
        size_t size = character((const unsigned char *)text.data + at, text.size - at);

        if (size == 0 || at + size > WEIR_PLAIN_TEXT_SIZE_MAX)
            break;
        at += size;
    }
    return at;
}

enum weir_status weir_plain_text(struct weir_arena *arena, struct weir_str text,
                                 struct weir_str *out)
{
    size_t from = plain_size(text);
    size_t to = from;
    char *copy;

    *out = (struct weir_str){from > 0 ? text.data : "", from};
    if (from == text.size || from == WEIR_PLAIN_TEXT_SIZE_MAX)
        return WEIR_OK;
    copy = weir_arena_alloc(arena, WEIR_PLAIN_TEXT_SIZE_MAX);
    if (copy == NULL)
        return WEIR_NO_MEMORY;
    if (from > 0)
        memcpy(copy, text.data, from);
    while (from < text.size) {
        size_t size =
            character((const unsigned char *)text.data + from, text.size - from);
        size_t width = size > 0 ? size : 1;

        if (to + width > WEIR_PLAIN_TEXT_SIZE_MAX)
            break;
        if (size > 0)
            memcpy(copy + to, text.data + from, size);
        else
            copy[to] = '?';
        to += width;
        from += width;
    }
    *out = (struct weir_str){copy, to};
    return WEIR_OK;
}
