/*
 * The head of an HTTP request. The first byte is the size of the pieces in which it
 * comes.
 */
#include <string.h>

#include "fuzz.h"
#include "server/http/head.h"

enum { HEAD_MAX = 16384 };

static char at_once[HEAD_MAX], in_pieces[HEAD_MAX];
static struct weir_http_head head;

static void judge_header(const struct weir_http_pair *pair)
{
    WEIR_ASSERT(weir_http_is_token(pair->name));
    for (size_t i = 0; i < pair->name.size; i++)
        WEIR_ASSERT(pair->name.data[i] < 'A' || pair->name.data[i] > 'Z');
    for (size_t i = 0; i < pair->value.size; i++)
        WEIR_ASSERT(memchr("\r\n", pair->value.data[i], 3) == NULL);
}

static uint32_t count_of(const char *name)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < head.header_count; i++)
        count += weir_str_equal(head.headers[i].name, weir_str(name));
    return count;
}

/* A request that is taken has one meaning. */
static void judge(void)
{
    for (uint32_t i = 0; i < head.header_count; i++)
        judge_header(&head.headers[i]);
    WEIR_ASSERT(weir_http_is_token(head.method_name));
    WEIR_ASSERT(head.target.size > 0 &&
                memchr(head.target.data, ' ', head.target.size) == NULL);
    WEIR_ASSERT(count_of("host") == 1 || (head.http10 && count_of("host") == 0));
    WEIR_ASSERT(count_of("content-length") == head.has_length);
    WEIR_ASSERT(count_of("transfer-encoding") == head.chunked);
    WEIR_ASSERT(!(head.chunked && head.has_length) && !(head.chunked && head.http10));
    WEIR_ASSERT(head.has_length || head.length == 0);
    WEIR_ASSERT(head.close || !head.http10);
    WEIR_ASSERT(!head.expect_continue || !head.http10);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct weir_http_head_scan whole = {0}, pieces = {0};
    const struct weir_http_refusal *refusal, *later = NULL;
    size_t head_size, later_size = 0, step;

    if (size < 1 || size > HEAD_MAX)
        return 0;
    step = bytes[0] % 32 + 1u;
    bytes++;
    size--;
    memcpy(at_once, bytes, size);
    memcpy(in_pieces, bytes, size);
    refusal = weir_http_head_scan(&whole, at_once, size, &head_size);
    for (size_t end = 0; end < size && later == NULL && later_size == 0;) {
        end = size - end < step ? size : end + step;
        later = weir_http_head_scan(&pieces, in_pieces, end, &later_size);
    }
    WEIR_ASSERT(refusal == later && head_size == later_size);
    if (refusal != NULL || head_size == 0)
        return 0;
    WEIR_ASSERT(memcmp(at_once + head_size - 4, "\r\n\r\n", 4) == 0);
    if (weir_http_head_parse(at_once, head_size, &head) == NULL)
        judge();
    return 0;
}

FUZZ_CORPUS(http_head);
