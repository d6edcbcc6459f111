/* Tests of server/http/sse.c. */
#include "server/http/sse.h"

#include "base/buf.h"
#include "base/heap.h"
#include "kit/test.h"

static struct weir_buf buf;

static void append(const char *name, const char *id, const char *data)
{
    weir_buf_init(&buf, weir_heap_system(), 4096);
    weir_http_sse_append(&buf, weir_str(name), weir_str(id), weir_str(data));
}

WEIR_TEST(sse, has_name_id_and_data)
{
    append("done", "7", "{}");

    check_str(weir_buf_text(&buf), "event: done\nid: 7\ndata: {}\n\n");
    weir_buf_fini(&buf);
}

WEIR_TEST(sse, leaves_out_name_and_id_when_they_are_empty)
{
    append("", "", "x");

    check_str(weir_buf_text(&buf), "data: x\n\n");
    weir_buf_fini(&buf);
}

WEIR_TEST(sse, makes_a_line_of_each_line_of_data)
{
    append("", "", "a\nb\r\nc\rd\n");

    check_str(weir_buf_text(&buf), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
    weir_buf_fini(&buf);
}

WEIR_TEST(sse, has_comments)
{
    weir_buf_init(&buf, weir_heap_system(), 4096);
    weir_http_sse_append_comment(&buf);

    check_str(weir_buf_text(&buf), ":\n\n");
    weir_buf_fini(&buf);
}
