/*
 * output.c - see output.h.
 */
#include "cli/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/codec/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "weir/heap.h"

enum { TEXT_SIZE_MAX = 4 << 20, WIDTH_MIN = 40 };

enum weir_tone_use weir_output_tones(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *kind = getenv("TERM");

    if (!isatty(STDOUT_FILENO) || (no_color != NULL && no_color[0] != '\0') ||
        kind == NULL || strcmp(kind, "dumb") == 0)
        return WEIR_TONES_OFF;
    return WEIR_TONES_ON;
}

size_t weir_output_width(void)
{
    struct winsize size = {0};

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
        size.ws_col == 0)
        return 0;
    return size.ws_col > WIDTH_MIN ? size.ws_col : WIDTH_MIN;
}

/* Whether it could be written is asked at the end of the program. */
static int print(const struct weir_command *command, const struct weir_buf *text,
                 const char *end)
{
    enum weir_status status = weir_buf_status(text);

    if (status != WEIR_OK)
        return weir_command_fail(command, "print: %s", weir_status_text(status));
    fwrite(weir_buf_text(text), 1, text->size, stdout);
    fputs(end, stdout);
    return WEIR_EXIT_DONE;
}

enum weir_status weir_output_append_table(const struct weir_table *table,
                                          struct weir_buf *text)
{
    return weir_table_print(table, weir_output_width(), weir_output_tones(), text);
}

int weir_output_table(const struct weir_command *command, const struct weir_table *table)
{
    struct weir_buf text;
    enum weir_status status;
    int code;

    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    status = weir_output_append_table(table, &text);
    code = status == WEIR_OK
               ? print(command, &text, "")
               : weir_command_fail(command, "print: %s", weir_status_text(status));
    weir_buf_fini(&text);
    return code;
}

int weir_output_lines(const struct weir_command *command, const struct weir_buf *text)
{
    return print(command, text, "");
}

int weir_output_text(const struct weir_command *command, const struct weir_buf *text)
{
    return print(command, text, "\n");
}

int weir_output_bytes(const struct weir_command *command, struct weir_str bytes)
{
    if (fwrite(bytes.data, 1, bytes.size, stdout) == bytes.size)
        return WEIR_EXIT_DONE;
    return weir_command_fail(command, "print: cannot write");
}

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

const char *weir_output_count(int64_t count, bool estimate, char *out)
{
    weir_text_format(out, WEIR_COUNT_SIZE, "%s%" PRId64, estimate ? "~" : "", count);
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
