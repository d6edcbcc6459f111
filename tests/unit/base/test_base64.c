/* Tests of base/codec/base64.c. */
#include "base/codec/base64.h"

#include <string.h>

#include "base/buf.h"
#include "kit/test.h"
#include "weir/heap.h"

static void encodes(const void *bytes, size_t size, const char *want)
{
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);
    weir_base64_append(&out, bytes, size);
    check_str(weir_buf_text(&out), want);
    weir_buf_fini(&out);
}

WEIR_TEST(base64, encodes_the_examples_of_the_standard)
{
    encodes("", 0, "");
    encodes("f", 1, "Zg==");
    encodes("fo", 2, "Zm8=");
    encodes("foo", 3, "Zm9v");
    encodes("foob", 4, "Zm9vYg==");
    encodes("fooba", 5, "Zm9vYmE=");
    encodes("foobar", 6, "Zm9vYmFy");
    encodes("\xfb\xff\x00\xbf", 4, "+/8Avw==");
}

/* It is gathered in pieces of 256 letters: 192 bytes. */
WEIR_TEST(base64, joins_its_pieces)
{
    for (size_t size = 189; size <= 196; size++) {
        char bytes[200] = {0};
        char want[300] = {0};

        memset(want, 'A', (size + 2) / 3 * 4);
        if (size % 3 != 0)
            memset(want + size / 3 * 4 + (size % 3) + 1, '=', 3 - size % 3);
        encodes(bytes, size, want);
    }
}
