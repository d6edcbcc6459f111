/*
 * reader.c - see reader.h.
 *
 * A line is checked as bytes first, then taken apart: what comes behind the check has no
 * zeros, no control characters but tabs, and is UTF-8.
 */
#include "server/config/reader.h"

#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "base/utf8.h"

enum { TEXT_SIZE = 160 };

struct reader {
    const struct weir_reader_events *events;
    unsigned line;
    bool in_section; /* some line with [ has been met */
    bool takes_keys;
};

static void complain(const struct reader *self, const char *text)
{
    self->events->mistake(self->events->state, self->line, text);
}

/* ---- bytes ------------------------------------------------------------------------- */

static bool is_control(char byte)
{
    return ((unsigned char)byte < 0x20 && byte != '\t') || byte == 0x7f;
}

/* What is wrong with the byte at `at`; NULL: nothing, and *step is the size of its
 * character. */
static const char *find_fault(const char *line, size_t at, size_t size, size_t *step)
{
    if (line[at] == '\0')
        return "is NUL";
    if (is_control(line[at]))
        return "is a control character";
    *step = weir_utf8_sequence(line + at, size - at);
    return *step == 0 ? "is not UTF-8" : NULL;
}

static bool check_bytes(const struct reader *self, const char *line, size_t size)
{
    static const char BOM[] = "\xef\xbb\xbf";
    char text[TEXT_SIZE];
    size_t step = 0;

    if (size > WEIR_CONFIG_LINE_SIZE_MAX) {
        weir_text_format(text, sizeof text,
                         "the line has %zu bytes, must have at most %d", size,
                         WEIR_CONFIG_LINE_SIZE_MAX);
        complain(self, text);
        return false;
    }
    if (self->line == 1 && size >= 3 && memcmp(line, BOM, 3) == 0) {
        complain(self, "the file begins with a byte order mark; save it without one");
        return false;
    }
    for (size_t at = 0; at < size; at += step) {
        const char *fault = find_fault(line, at, size, &step);

        if (fault == NULL)
            continue;
        weir_text_format(text, sizeof text, "byte %zu of the line %s", at + 1, fault);
        complain(self, text);
        return false;
    }
    return true;
}

/* ---- words ------------------------------------------------------------------------- */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* `text` without blanks around it; zeros are put behind it. */
static char *cut_blanks(char *text)
{
    size_t size;

    while (is_blank(*text))
        text++;
    size = strlen(text);
    while (size > 0 && is_blank(text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

/* `line` begins with the bracket. */
static void read_section(struct reader *self, char *line)
{
    size_t size = strlen(line);
    char *section;
    char *name;

    self->in_section = true;
    self->takes_keys = false;
    if (line[size - 1] != ']') {
        complain(self, "a section ends with \"]\", and nothing is behind it");
        return;
    }
    line[size - 1] = '\0';
    section = cut_blanks(line + 1);
    name = section + strcspn(section, " \t");
    if (*name != '\0') {
        *name = '\0';
        name = cut_blanks(name + 1);
    } else {
        name = NULL;
    }
    self->takes_keys =
        self->events->section(self->events->state, self->line, section, name);
}

static void read_entry(const struct reader *self, char *line)
{
    char *equals = strchr(line, '=');

    /* What the line says is not repeated: it may be a part of a password. */
    if (equals == NULL)
        complain(self, "there is no \"=\" in the line; write key = value");
    else if (equals == line)
        complain(self, "there is no key before \"=\"; write key = value");
    else if (!self->in_section)
        complain(self, "the key is before the first section; write [SECTION] above it");
    else if (self->takes_keys) {
        *equals = '\0';
        self->events->entry(self->events->state, self->line, cut_blanks(line),
                            cut_blanks(equals + 1));
    }
}

static void read_line(struct reader *self, char *line, size_t size)
{
    self->line++;
    if (size > 0 && line[size - 1] == '\r')
        size--;
    if (!check_bytes(self, line, size)) {
        if (size > 0 && line[0] == '[') { /* not those of the section before */
            self->in_section = true;
            self->takes_keys = false;
        }
        return;
    }
    line[size] = '\0';
    line = cut_blanks(line);
    if (line[0] == '[')
        read_section(self, line);
    else if (line[0] != '\0' && line[0] != '#' && line[0] != ';')
        read_entry(self, line);
}

void weir_reader_run(char *text, size_t size, const struct weir_reader_events *events)
{
    struct reader reader = {.events = events};
    size_t at = 0;

    while (at < size) {
        char *end = memchr(text + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - (text + at)) : size - at;

        read_line(&reader, text + at, length);
        at += length + 1;
    }
}
