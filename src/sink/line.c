/*
 * line.c - see line.h.
 */
#include "sink/line.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/codec/base64.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "base/utf8.h"
#include "weir/message.h"

enum { US_PER_SECOND = 1000000, FEW_HEADERS = 16 };

/* Before 1970 the fraction still counts upwards. Every int64_t of microseconds is a
 * year that gmtime_r() can tell. */
const char *weir_line_format_time(int64_t time_us, char *out)
{
    int64_t fraction = time_us % US_PER_SECOND;
    time_t seconds = time_us / US_PER_SECOND;
    struct tm parts = {0};

    if (fraction < 0) {
        fraction += US_PER_SECOND;
        seconds--;
    }
    (void)gmtime_r(&seconds, &parts);
    (void)weir_text_format(out, WEIR_LINE_TIME_SIZE,
                           "%04d-%02d-%02dT%02d:%02d:%02d.%06" PRId64 "Z",
                           parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                           parts.tm_hour, parts.tm_min, parts.tm_sec, fraction);
    return out;
}

static void append_text(struct weir_buf *out, const char *field, const char *text)
{
    weir_buf_append_text(out, field);
    weir_json_append_str(out, weir_str(text));
}

/* Of two headers with the same name the last one counts. With few, each is compared
 * with those behind it; with many, `last` knows the last one of each name. */
static bool is_outdone(const struct weir_message *message, size_t index,
                       const struct weir_map *last)
{
    const struct weir_header *header = &message->headers[index];

    if (message->header_count > FEW_HEADERS)
        return weir_map_find(last, weir_str(header->name)) != header;
    for (size_t i = index + 1; i < message->header_count; i++) {
        if (strcmp(message->headers[i].name, header->name) == 0)
            return true;
    }
    return false;
}

static enum weir_status note_last(const struct weir_message *message,
                                  struct weir_map *last)
{
    enum weir_status status = WEIR_OK;

    if (message->header_count <= FEW_HEADERS)
        return WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < message->header_count; i++)
        status = weir_map_put(last, weir_str(message->headers[i].name),
                              (void *)(uintptr_t)&message->headers[i]);
    return status;
}

static void append_headers(struct weir_buf *out, const struct weir_message *message)
{
    const char *before = "";
    struct weir_map last;

    weir_map_init(&last, out->heap, message->header_count);
    if (note_last(message, &last) != WEIR_OK)
        weir_buf_fail(out, WEIR_NO_MEMORY);
    weir_buf_append_text(out, ",\"headers\":{");
    for (size_t i = 0; i < message->header_count; i++) {
        if (weir_buf_status(out) != WEIR_OK || is_outdone(message, i, &last))
            continue;
        append_text(out, before, message->headers[i].name);
        append_text(out, ":", message->headers[i].value);
        before = ",";
    }
    weir_buf_append_text(out, "}");
    weir_map_fini(&last);
}

static void append_payload(struct weir_buf *out, const struct weir_message *message)
{
    struct weir_str payload = {message->payload, message->payload_size};

    if (weir_utf8_valid(payload)) {
        weir_buf_append_text(out, ",\"payload\":");
        weir_json_append_str(out, payload);
    } else {
        weir_buf_append_text(out, ",\"payload_base64\":\"");
        weir_base64_append(out, payload.data, payload.size);
        weir_buf_append_text(out, "\"");
    }
}

void weir_line_append(struct weir_buf *out, const struct weir_message *message)
{
    char uid[WEIR_UID_TEXT_SIZE];
    char created[WEIR_LINE_TIME_SIZE];

    append_text(out, "{\"queue\":", message->queue);
    weir_buf_append_format(
        out, ",\"partition\":%" PRId32 ",\"seq\":%" PRId64 ",\"id\":\"%s\",\"key\":",
        message->partition, message->seq, weir_uid_format(message->uid, uid));
    if (message->key != NULL)
        weir_json_append_str(out, weir_str(message->key));
    else
        weir_buf_append_text(out, "null");
    append_text(out, ",\"type\":", message->type);
    append_headers(out, message);
    weir_buf_append_format(
        out, ",\"attempts\":%" PRIu32 ",\"epoch\":%" PRId64 ",\"created_at\":\"%s\"",
        message->attempts, message->epoch,
        weir_line_format_time(message->created_us, created));
    append_payload(out, message);
    weir_buf_append_text(out, "}\n");
}
