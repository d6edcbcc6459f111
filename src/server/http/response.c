/*
 * response.c - see response.h and response_format.h.
 */
#include "server/http/response.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/count.h"
#include "server/http/response_format.h"
#include "ward/system.h"

static const struct {
    uint32_t status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

const char *weir_http_reason(uint32_t status)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

bool weir_http_status_is_bare(uint32_t status)
{
    return status == 204 || status == 304;
}

/* "Date: Sun, 06 Nov 1994 08:49:37 GMT", in English whatever the locale. */
static void append_date(struct weir_buf *buf)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = (time_t)(weir_system_wall_us() / 1000000);
    struct tm tm;

    if (gmtime_r(&now, &tm) == NULL)
        return;
    weir_buf_append_format(buf, "Date: %s, %02d %s %d %02d:%02d:%02d GMT\r\n",
                           days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon],
                           tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void append_value(struct weir_buf *buf, struct weir_str text)
{
    size_t start = 0;

    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] >= 0x20 && text.data[i] != 0x7f)
            continue;
        weir_buf_append(buf, text.data + start, i - start);
        weir_buf_append_text(buf, " ");
        start = i + 1;
    }
    if (text.size > start)
        weir_buf_append(buf, text.data + start, text.size - start);
}

static void append_header(struct weir_buf *buf, struct weir_str name,
                          struct weir_str value)
{
    append_value(buf, name);
    weir_buf_append_text(buf, ": ");
    append_value(buf, value);
    weir_buf_append_text(buf, "\r\n");
}

static void append_headers(struct weir_buf *buf,
                           const struct weir_http_response *response)
{
    bool cached = false;

    for (uint32_t i = 0; i < response->header_count; i++) {
        append_header(buf, response->headers[i].name, response->headers[i].value);
        cached = cached ||
                 weir_str_equal(response->headers[i].name, weir_str("Cache-Control"));
    }
    if (!cached)
        weir_buf_append_text(buf, "Cache-Control: no-store\r\n");
}

static void append_framing(struct weir_buf *buf, const struct weir_http_framing *framing,
                           const struct weir_http_response *response, size_t body_size)
{
    if (weir_http_status_is_bare(response->status))
        return;
    if (response->content_type != NULL)
        append_header(buf, weir_str("Content-Type"), weir_str(response->content_type));
    if (!framing->stream)
        weir_buf_append_format(buf, "Content-Length: %zu\r\n", body_size);
    else if (framing->chunked)
        weir_buf_append_text(buf, "Transfer-Encoding: chunked\r\n");
}

void weir_http_response_format(struct weir_buf *buf,
                               const struct weir_http_framing *framing,
                               const struct weir_http_response *response,
                               size_t body_size)
{
    weir_buf_append_format(buf, "HTTP/1.1 %u %s\r\n", response->status,
                           weir_http_reason(response->status));
    append_date(buf);
    append_framing(buf, framing, response, body_size);
    append_headers(buf, response);
    weir_buf_append_text(buf, "X-Content-Type-Options: nosniff\r\nWeir-Server: ");
    weir_buf_append_text(buf, framing->server_name);
    weir_buf_append_text(buf, "\r\nWeir-Request: ");
    weir_buf_append_text(buf, framing->request_id);
    weir_buf_append_text(buf, "\r\n");
    if (framing->tls)
        weir_buf_append_text(buf, "Strict-Transport-Security: max-age=31536000\r\n");
    if (framing->close)
        weir_buf_append_text(buf, "Connection: close\r\n");
    weir_buf_append_text(buf, "\r\n");
}
