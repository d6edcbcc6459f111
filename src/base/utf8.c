/*
 * utf8.c - see Table 3-7 of the Unicode standard, "Well-Formed UTF-8 Byte Sequences".
 */
#include "base/utf8.h"

size_t weir_utf8_sequence(const char *text, size_t left)
{
    const unsigned char *byte = (const unsigned char *)text;
    unsigned char first = byte[0];
    size_t size = first < 0x80   ? 1
                  : first < 0xc2 ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                                 : 4;

    if (size == 0 || size > left || first > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    }
    if (first == 0xe0 && byte[1] < 0xa0) /* longer than need be */
        return 0;
    if (first == 0xed && byte[1] > 0x9f) /* half of a UTF-16 pair */
        return 0;
    if (first == 0xf0 && byte[1] < 0x90)
        return 0;
    if (first == 0xf4 && byte[1] > 0x8f) /* above U+10FFFF */
        return 0;
    return size;
}

bool weir_utf8_valid(struct weir_str text)
{
    for (size_t i = 0; i < text.size;) {
        size_t size = weir_utf8_sequence(text.data + i, text.size - i);

        if (size == 0)
            return false;
        i += size;
    }
    return true;
}
