/*
 * value.c - see value.h.
 */
#include "view/value.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/codec/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

const char *weir_output_age(int64_t age_us, char *out)
{
    int64_t seconds = age_us / 1000000;

    if (age_us == 0)
        weir_text_format(out, WEIR_AGE_SIZE, "-");
    else if (seconds == 0)
        weir_text_format(out, WEIR_AGE_SIZE, "%" PRId64 " ms", age_us / 1000);
    else if (seconds < 60)
        weir_text_format(out, WEIR_AGE_SIZE, "%" PRId64 ".%" PRId64 " s", seconds,
                         age_us / 100000 % 10);
    else if (seconds < 3600)
        weir_text_format(out, WEIR_AGE_SIZE, "%" PRId64 " min %" PRId64 " s",
                         seconds / 60, seconds % 60);
    else if (seconds < 86400)
        weir_text_format(out, WEIR_AGE_SIZE, "%" PRId64 " h %" PRId64 " min",
                         seconds / 3600, seconds / 60 % 60);
    else
        weir_text_format(out, WEIR_AGE_SIZE, "%" PRId64 " d %" PRId64 " h",
                         seconds / 86400, seconds / 3600 % 24);
    return out;
}

const char *weir_output_ago(int64_t age_us, char *out)
{
    char age[WEIR_AGE_SIZE];

    weir_text_format(out, WEIR_AGE_SIZE, "%s ago",
                     weir_output_age(age_us > 1000 ? age_us : 1000, age));
    return out;
}

const char *weir_output_count(int64_t count, bool estimate, char *out)
{
    weir_text_format(out, WEIR_COUNT_SIZE, "%s%" PRId64, estimate ? "~" : "", count);
    return out;
}

const char *weir_output_bounded(int64_t count, int64_t most, char *out)
{
    weir_text_format(out, WEIR_COUNT_SIZE, "%" PRId64 "%s", count,
                     count >= most ? "+" : "");
    return out;
}

const char *weir_output_grouped(int64_t count, char *out)
{
    char digits[24];
    size_t size = weir_text_format(digits, sizeof digits, "%" PRId64, count);
    size_t at = 0;

    for (size_t i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0 && digits[i - 1] != '-')
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

const char *weir_output_rate(double per_s, char *out)
{
    int digits = per_s >= 10 ? 0 : per_s >= 1 ? 1 : 2;

    if (per_s <= 0)
        weir_text_format(out, WEIR_RATE_SIZE, "-");
    else
        weir_text_format(out, WEIR_RATE_SIZE, "%.*f", digits, per_s);
    return out;
}

const char *weir_output_time(int64_t us, char *out)
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm parts;
    char text[WEIR_OUTPUT_TIME_SIZE] = "";

    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    weir_text_format(out, WEIR_OUTPUT_TIME_SIZE, "%s.%06dZ", text, (int)(us % 1000000));
    return out;
}

void weir_output_line(struct weir_buf *text, const char *name, const char *value)
{
    weir_buf_append_format(text, "%-13s %s\n", name, value);
}

void weir_output_time_line(struct weir_buf *text, const char *name, int64_t us)
{
    char value[WEIR_OUTPUT_TIME_SIZE];

    if (us != 0)
        weir_output_line(text, name, weir_output_time(us, value));
}

/* ---- JSON -------------------------------------------------------------------------- */

void weir_output_open(struct weir_buf *json, const char *name, const char *bracket)
{
    struct weir_str text = weir_buf_get(json);

    if (text.size > 0 && strchr("{[", text.data[text.size - 1]) == NULL)
        weir_buf_append_text(json, ",");
    if (name != NULL) {
        weir_json_append_text(json, name);
        weir_buf_append_text(json, ":");
    }
    weir_buf_append_text(json, bracket);
}

void weir_output_add_text(struct weir_buf *json, const char *name, const char *text)
{
    weir_output_open(json, name, "");
    weir_json_append_text(json, text);
}

void weir_output_add_number(struct weir_buf *json, const char *name, int64_t number)
{
    weir_output_open(json, name, "");
    weir_buf_append_format(json, "%" PRId64, number);
}

void weir_output_add_seconds(struct weir_buf *json, const char *name, int64_t us)
{
    uint64_t size = us < 0 ? (uint64_t)0 - (uint64_t)us : (uint64_t)us;

    weir_output_open(json, name, "");
    weir_buf_append_format(json, "%s%" PRIu64 ".%06" PRIu64, us < 0 ? "-" : "",
                           size / 1000000, size % 1000000);
}

void weir_output_add_rate(struct weir_buf *json, const char *name, double per_s)
{
    weir_output_open(json, name, "");
    weir_buf_append_format(json, "%.3f", per_s);
}

void weir_output_add_flag(struct weir_buf *json, const char *name, bool flag)
{
    weir_output_open(json, name, flag ? "true" : "false");
}

void weir_output_add_time(struct weir_buf *json, const char *name, int64_t us)
{
    char text[WEIR_OUTPUT_TIME_SIZE];

    if (us != 0)
        weir_output_add_text(json, name, weir_output_time(us, text));
    else
        weir_output_open(json, name, "null");
}

void weir_output_add_bytes(struct weir_buf *json, const char *name, struct weir_str bytes)
{
    char encoded[64];

    if (weir_utf8_valid(bytes)) {
        weir_output_open(json, name, "");
        weir_json_append_str(json, bytes);
        return;
    }
    weir_text_format(encoded, sizeof encoded, "%s_base64", name);
    weir_output_open(json, encoded, "\"");
    weir_base64_append(json, bytes.data, bytes.size);
    weir_buf_append_text(json, "\"");
}
