/*
 * Tests of server/config/reader.c and mistake.c.
 */
#include "server/config/reader.h"

#include <stdio.h>
#include <string.h>

#include "kit/test.h"
#include "server/config/mistake.h"

enum { LOG_SIZE = 4096 };

/* What the reader said: "[section name]", "key=value", "!line text". */
static char events[LOG_SIZE];
static bool takes; /* the answer of each section */

static void append(const char *text)
{
    size_t used = strlen(events);

    snprintf(events + used, sizeof events - used, "%s;", text);
}

static bool take_section(void *state, unsigned line, const char *section,
                         const char *name)
{
    char text[256];

    (void)state;
    snprintf(text, sizeof text, "%u[%s%s%s]", line, section, name != NULL ? "|" : "",
             name != NULL ? name : "");
    append(text);
    return takes;
}

static void take_entry(void *state, unsigned line, const char *key, const char *value)
{
    char text[256];

    (void)state;
    snprintf(text, sizeof text, "%u %s=%s", line, key, value);
    append(text);
}

static void take_mistake(void *state, unsigned line, const char *words)
{
    char text[256];

    (void)state;
    snprintf(text, sizeof text, "%u!%s", line, words);
    append(text);
}

static const char *read_bytes(const char *bytes, size_t size)
{
    static char text[WEIR_CONFIG_LINE_SIZE_MAX * 2];
    const struct weir_reader_events reader_events = {
        .section = take_section, .entry = take_entry, .mistake = take_mistake};

    check(size < sizeof text);
    memcpy(text, bytes, size);
    events[0] = '\0';
    weir_reader_run(text, size, &reader_events);
    return events;
}

static const char *read_text(const char *text)
{
    takes = true;
    return read_bytes(text, strlen(text));
}

WEIR_TEST(reader, finds_sections_and_keys_with_their_lines)
{
    check_str(read_text("[http]\nlisten = a\n\n[relay audit]\nto=b\n"),
              "1[http];2 listen=a;4[relay|audit];5 to=b;");
}

WEIR_TEST(reader, cuts_blanks_around_everything)
{
    check_str(read_text(" \t[ relay \t audit ] \n\t key \t=\t a  b \t\n"),
              "1[relay|audit];2 key=a  b;");
}

WEIR_TEST(reader, keeps_a_value_with_comment_signs_and_quotes_whole)
{
    check_str(read_text("[a]\nk = 'x' ; y # z = \"q\" \\n\n"),
              "1[a];2 k='x' ; y # z = \"q\" \\n;");
}

WEIR_TEST(reader, passes_over_comments_and_empty_lines)
{
    check_str(read_text("# x = 1\n ; y = 2\n\t\n[a]\n#[b]\nk =\n"), "4[a];6 k=;");
}

WEIR_TEST(reader, ends_a_line_with_crlf_too)
{
    check_str(read_text("[a]\r\nk = v\r\n\r\nl = w\r"), "1[a];2 k=v;4 l=w;");
}

WEIR_TEST(reader, needs_no_newline_at_the_end)
{
    check_str(read_text("[a]\nk = v"), "1[a];2 k=v;");
    check_str(read_text(""), "");
    check_str(read_text("[a]"), "1[a];");
}

WEIR_TEST(reader, takes_a_line_of_8192_bytes_and_no_more)
{
    static char text[WEIR_CONFIG_LINE_SIZE_MAX + 64];
    int begun = snprintf(text, sizeof text, "[a]\nk=");
    size_t size = (size_t)begun + WEIR_CONFIG_LINE_SIZE_MAX - 2;

    takes = true;
    memset(text + begun, 'x', sizeof text - (size_t)begun);
    read_bytes(text, size);
    check(strstr(events, "!") == NULL);
    check(strstr(events, "2 k=xxx") != NULL);

    text[size + 1] = '\n';
    check_str(read_bytes(text, size + 2),
              "1[a];2!the line has 8193 bytes, must have at most 8192;");
}

WEIR_TEST(reader, refuses_a_line_with_nul_control_character_or_bad_utf8)
{
    takes = true;
    check_str(read_bytes("[a]\nk=\0x\n", 9), "1[a];2!byte 3 of the line is NUL;");
    check_str(read_text("[a]\nk=\x01\n"),
              "1[a];2!byte 3 of the line is a control character;");
    check_str(read_text("[a]\nk=a\rb\n"),
              "1[a];2!byte 4 of the line is a control character;");
    check_str(read_text("[a]\nk=\x7f\n"),
              "1[a];2!byte 3 of the line is a control character;");
    check_str(read_text("[a]\nk=\xc3\n"), "1[a];2!byte 3 of the line is not UTF-8;");
    check_str(read_text("[a]\nk=\xc0\xaf\n"), "1[a];2!byte 3 of the line is not UTF-8;");
    check_str(read_text("[a]\nk=\xc3\xa4\n"), "1[a];2 k=\xc3\xa4;");
}

WEIR_TEST(reader, refuses_a_byte_order_mark)
{
    check_str(
        read_text("\xef\xbb\xbf# x\n[a]\nk=v\n"),
        "1!the file begins with a byte order mark; save it without one;2[a];3 k=v;");
    check_str(read_text("[a]\n\xef\xbb\xbfk=v\n"), "1[a];2 \xef\xbb\xbfk=v;");
}

WEIR_TEST(reader, goes_on_after_a_mistake)
{
    check_str(read_text("k = 1\n[a]\nnothing\n = 2\nk = 3\n"),
              "1!the key is before the first section; write [SECTION] above it;2[a];"
              "3!there is no \"=\" in the line; write key = value;"
              "4!there is no key before \"=\"; write key = value;5 k=3;");
}

WEIR_TEST(reader, passes_over_the_keys_of_a_section_that_cannot_be_read)
{
    check_str(read_text("[a]\n[b\nk = 1\n[c] # d\nk = 2\n[d]\nk = 3\n"),
              "1[a];2!a section ends with \"]\", and nothing is behind it;"
              "4!a section ends with \"]\", and nothing is behind it;6[d];7 k=3;");
    check_str(read_text("[a]\n[\x01]\nk = 1\n"),
              "1[a];2!byte 2 of the line is a control character;");
}

WEIR_TEST(reader, passes_over_the_keys_of_a_section_that_is_refused)
{
    takes = false;
    check_str(read_bytes("[a]\nk = 1\nbad\n", 14),
              "1[a];3!there is no \"=\" in the line; write key = value;");
}

WEIR_TEST(reader, passes_on_empty_names)
{
    check_str(read_text("[]\n[ ]\n[a ]\n"), "1[];2[];3[a];");
}

/* ---- mistakes ---------------------------------------------------------------------- */

static void keep_line(void *state, const char *line)
{
    (void)state;
    append(line);
}

static const char *lines_of(const struct weir_mistakes *mistakes)
{
    events[0] = '\0';
    weir_mistakes_each(mistakes, "mistake", "mistakes", keep_line, NULL);
    return events;
}

WEIR_TEST(mistakes, are_in_the_order_of_their_places)
{
    struct weir_mistakes mistakes;

    weir_mistakes_init(&mistakes);
    weir_mistakes_add(&mistakes, 5, "e");
    weir_mistakes_add(&mistakes, 2, "b");
    weir_mistakes_add(&mistakes, 5, "f");
    weir_mistakes_add(&mistakes, 2, "c");

    check_str(lines_of(&mistakes), "b;c;e;f;");
}

WEIR_TEST(mistakes, are_kept_up_to_twenty_and_then_counted)
{
    struct weir_mistakes mistakes;

    weir_mistakes_init(&mistakes);
    for (unsigned i = 0; i < 20; i++)
        weir_mistakes_add(&mistakes, i, "%u", i);
    check(strstr(lines_of(&mistakes), "more") == NULL);

    weir_mistakes_add(&mistakes, 20, "late");
    check(strstr(lines_of(&mistakes), "18;19;and 1 more mistake;") != NULL);

    weir_mistakes_add(&mistakes, 0, "early");
    check(strstr(lines_of(&mistakes), "0;early;1;2;") != NULL);
    check(strstr(lines_of(&mistakes), "17;18;and 2 more mistakes;") != NULL);
    check_int(mistakes.count, 22);
}
