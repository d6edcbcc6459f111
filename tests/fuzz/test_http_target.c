/* Path and query of an HTTP request. */
#include <string.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "server/http/target.h"

enum { TARGET_MAX = 16384 };

static char text[TARGET_MAX], decoded[TARGET_MAX];
static struct weir_http_target target;

static void judge_text(struct weir_str piece)
{
    WEIR_ASSERT(weir_utf8_valid(piece));
    WEIR_ASSERT(piece.size == 0 || memchr(piece.data, '\0', piece.size) == NULL);
}

static void judge(size_t size)
{
    WEIR_ASSERT(target.decoded_size <= size);
    for (uint32_t i = 0; i < target.segment_count; i++) {
        judge_text(target.segments[i]);
        WEIR_ASSERT(target.segments[i].size > 0);
        WEIR_ASSERT(!weir_str_equal(target.segments[i], weir_str(".")));
        WEIR_ASSERT(!weir_str_equal(target.segments[i], weir_str("..")));
    }
    for (uint32_t i = 0; i < target.param_count; i++) {
        judge_text(target.params[i].name);
        judge_text(target.params[i].value);
        for (uint32_t k = 0; k < i; k++)
            WEIR_ASSERT(!weir_str_equal(target.params[i].name, target.params[k].name));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > TARGET_MAX)
        return 0;
    memcpy(text, bytes, size);
    if (weir_http_target_parse((struct weir_str){text, size}, decoded, &target) == NULL)
        judge(size);
    return 0;
}

FUZZ_CORPUS(http_target);
