/*
 * headers.c - a JSON reader for one flat object.
 *
 * The same walk is done twice: once to see whether the text is JSON and how much memory
 * it needs, once to write. Nothing is kept in between, and the second walk cannot fail.
 *
 * It is our own because the values must come out as they were written (a number of
 * nineteen digits with all of them) and because memory must come from our heap, with a
 * failure that can be distinguished from broken JSON.
 */
#include "outbox/headers.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "base/utf8.h"

enum { DEPTH_MAX = 32, MEMBER_SIZE_MIN = sizeof "\"\":0," - 1 };

#define REPLACEMENT 0xfffdu /* U+FFFD */

struct reader {
    const char *begin;
    const char *at;
    const char *end;
    const char *why; /* it is no JSON, at `at`; NULL: it is so far */

    struct weir_header *list; /* NULL: only measure */
    size_t count;
    char *text; /* behind the list */
    size_t text_size;
};

static bool read_object(struct reader *self);
static bool read_member(struct reader *self);
static const char *read_string(struct reader *self);
static bool read_escape(struct reader *self);
static const char *read_other(struct reader *self);
static bool skip_value(struct reader *self);
static void skip_space(struct reader *self);
static char peek(const struct reader *self);

enum weir_status weir_headers_measure(struct weir_str json, size_t *size, size_t *count,
                                      struct weir_error *error)
{
    struct reader reader = {.begin = json.data, .at = json.data};

    *size = 0;
    *count = 0;
    if (json.data == NULL)
        return WEIR_OK;
    reader.end = json.data + json.size;
    if (!weir_utf8_valid(json))
        return weir_error_set(error, WEIR_INVALID, "headers are not UTF-8");
    if (!read_object(&reader))
        return weir_error_set(error, WEIR_INVALID,
                              "headers are no JSON object of texts: %s at byte %zu",
                              reader.why, (size_t)(reader.at - reader.begin));
    if (!weir_checked_mul_size(reader.count, sizeof *reader.list, size) ||
        !weir_checked_add_size(*size, reader.text_size, size))
        return weir_error_set(error, WEIR_NO_MEMORY, "headers are too many");
    *count = reader.count;
    return WEIR_OK;
}

enum weir_status weir_headers_check(struct weir_str json, struct weir_error *error)
{
    size_t size, count, text_size;

    if (json.size <= WEIR_HEADERS_STORED_MAX * MEMBER_SIZE_MIN ||
        weir_headers_measure(json, &size, &count, NULL) != WEIR_OK)
        return WEIR_OK;
    if (count > WEIR_HEADERS_STORED_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "header_count is %zu, must be at most %d", count,
                              WEIR_HEADERS_MAX);
    text_size = size - count * (sizeof(struct weir_header) + 2); /* without their zeros */
    if (text_size > WEIR_HEADERS_STORED_SIZE_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "headers have %zu %s, names and values must have at "
                              "most %d %s together",
                              text_size, WEIR_NOUN(text_size, "byte", "bytes"),
                              WEIR_HEADERS_SIZE_MAX,
                              WEIR_NOUN(WEIR_HEADERS_SIZE_MAX, "byte", "bytes"));
    return WEIR_OK;
}

struct weir_headers weir_headers_place(struct weir_str json, void *memory, size_t count)
{
    struct weir_header *list = memory;
    struct reader reader = {.begin = json.data, .at = json.data, .list = list};
    bool good;

    if (count == 0)
        return (struct weir_headers){NULL, 0};
    reader.end = json.data + json.size;
    reader.text = (char *)(list + count);
    good = read_object(&reader);
    WEIR_ASSERT(good);
    WEIR_ASSERT(reader.count == count);
    return (struct weir_headers){list, count};
}

enum weir_status weir_headers_read(struct weir_str json, const struct weir_heap *heap,
                                   struct weir_headers *out, struct weir_error *error)
{
    size_t size, count;
    enum weir_status status = weir_headers_measure(json, &size, &count, error);
    void *memory;

    *out = (struct weir_headers){NULL, 0};
    if (status != WEIR_OK || count == 0)
        return status;
    memory = weir_heap_alloc(heap, size);
    if (memory == NULL)
        return weir_no_memory(error, "headers");
    *out = weir_headers_place(json, memory, count);
    return WEIR_OK;
}

void weir_headers_free(struct weir_headers *self, const struct weir_heap *heap)
{
    union {
        const struct weir_header *list;
        void *memory; /* ours, so it may be written to */
    } block = {.list = self->list};

    weir_heap_free(heap, block.memory);
    *self = (struct weir_headers){NULL, 0};
}

/* Nothing but a header's value can be the word behind a colon of the object itself. */
bool weir_headers_find_null(struct weir_str json, size_t *index)
{
    struct reader reader = {.begin = json.data, .at = json.data};

    if (json.data == NULL)
        return false;
    reader.end = json.data + json.size;
    skip_space(&reader);
    do {
        const char *value_end;

        reader.at++; /* the brace, or the comma */
        if (!read_member(&reader))
            return false;
        value_end = reader.at;
        while (value_end > json.data && strchr(" \t\r\n", value_end[-1]) != NULL)
            value_end--;
        if (value_end[-1] == 'l') { /* a text would end in a quote */
            *index = reader.count - 1;
            return true;
        }
    } while (peek(&reader) == ',');
    return false;
}

/* ---- replacing --------------------------------------------------------------------- */

/* Does this member, as it is written, have one of the names? */
static bool is_replaced(struct weir_str member, const struct weir_header *headers,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(headers[i].name);

        if (member.size > size + 1 &&
            memcmp(member.data + 1, headers[i].name, size) == 0 &&
            member.data[size + 1] == '"')
            return true;
    }
    return false;
}

static void append_comma(struct weir_buf *out, bool *first)
{
    weir_buf_append_text(out, *first ? "" : ", ");
    *first = false;
}

/* The members of an object that is known to be good, without those that are replaced. */
static void append_others(struct weir_str json, const struct weir_header *headers,
                          size_t count, struct weir_buf *out, bool *first)
{
    struct reader reader = {
        .begin = json.data, .at = json.data, .end = json.data + json.size};

    skip_space(&reader);
    do {
        struct weir_str member;

        reader.at++; /* the brace, or the comma */
        skip_space(&reader);
        member.data = reader.at;
        if (peek(&reader) == '}' || !read_member(&reader))
            return;
        member.size = (size_t)(reader.at - member.data);
        if (is_replaced(member, headers, count))
            continue;
        append_comma(out, first);
        weir_buf_append(out, member.data, member.size);
    } while (peek(&reader) == ',');
}

void weir_headers_replace(struct weir_str json, const struct weir_header *headers,
                          size_t count, struct weir_buf *out)
{
    size_t size;
    size_t members = 0;
    bool first = true;

    weir_buf_append_text(out, "{");
    if (weir_headers_measure(json, &size, &members, NULL) == WEIR_OK && members > 0)
        append_others(json, headers, count, out, &first);
    for (size_t i = 0; i < count; i++) {
        append_comma(out, &first);
        weir_json_append_text(out, headers[i].name);
        weir_buf_append_text(out, ": ");
        weir_json_append_text(out, headers[i].value);
    }
    weir_buf_append_text(out, "}");
}

/* ---- characters -------------------------------------------------------------------- */

static bool fail(struct reader *self, const char *why)
{
    self->why = why;
    return false;
}

/* The next character, or a zero at the end; a zero in the text is nowhere allowed. */
static char peek(const struct reader *self)
{
    return self->at < self->end ? *self->at : '\0';
}

static void skip_space(struct reader *self)
{
    while (self->at < self->end && strchr(" \t\r\n", *self->at) != NULL &&
           *self->at != '\0')
        self->at++;
}

static bool skip_character(struct reader *self, char c)
{
    if (peek(self) != c)
        return false;
    self->at++;
    return true;
}

static bool skip_word(struct reader *self, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(self->end - self->at) < size || memcmp(self->at, word, size) != 0)
        return false;
    self->at += size;
    return true;
}

static bool skip_digits(struct reader *self)
{
    const char *begin = self->at;

    while (peek(self) >= '0' && peek(self) <= '9')
        self->at++;
    return self->at > begin;
}

static void put(struct reader *self, const char *bytes, size_t size)
{
    if (self->list != NULL)
        memcpy(self->text + self->text_size, bytes, size);
    self->text_size += size;
}

static void put_character(struct reader *self, uint32_t code)
{
    char bytes[4];
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint32_t FIRST[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(FIRST[size] | code);
    put(self, bytes, size);
}

/* ---- the object -------------------------------------------------------------------- */

static bool read_object(struct reader *self)
{
    skip_space(self);
    if (!skip_character(self, '{'))
        return fail(self, "no object");
    skip_space(self);
    if (!skip_character(self, '}')) {
        do {
            if (!read_member(self))
                return false;
        } while (skip_character(self, ','));
        if (!skip_character(self, '}'))
            return fail(self, "no comma or brace");
    }
    skip_space(self);
    return self->at == self->end || fail(self, "more behind it");
}

static bool read_member(struct reader *self)
{
    const char *name, *value;

    skip_space(self);
    if (peek(self) != '"')
        return fail(self, "no name");
    name = read_string(self);
    if (name == NULL)
        return false;
    skip_space(self);
    if (!skip_character(self, ':'))
        return fail(self, "no colon");
    skip_space(self);
    value = peek(self) == '"' ? read_string(self) : read_other(self);
    if (value == NULL)
        return false;
    skip_space(self);

    if (self->list != NULL)
        self->list[self->count] = (struct weir_header){name, value};
    self->count++;
    return true;
}

/* Where the text is that was begun with `size` bytes before it. While measuring there
 * is none, and any address says "it went well". */
static const char *text_from(struct reader *self, size_t size)
{
    put(self, "", 1);
    return self->list != NULL ? self->text + size : "";
}

/* A text at its quote; NULL: it is none. */
static const char *read_string(struct reader *self)
{
    size_t size = self->text_size;

    self->at++;
    while (!skip_character(self, '"')) {
        const char *run = self->at;

        while ((unsigned char)peek(self) >= ' ' && peek(self) != '"' &&
               peek(self) != '\\')
            self->at++;
        put(self, run, (size_t)(self->at - run));
        if (peek(self) == '\\') {
            if (!read_escape(self))
                return NULL;
        } else if (peek(self) != '"') {
            fail(self,
                 self->at == self->end ? "a text without end" : "a control character");
            return NULL;
        }
    }
    return text_from(self, size);
}

/* Four hexadecimal digits; false, and nothing moves, when they are none. */
static bool read_hex(struct reader *self, uint32_t *out)
{
    uint32_t code = 0;

    if (self->end - self->at < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        char c = self->at[i];

        if (c >= '0' && c <= '9')
            code = code * 16 + (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            code = code * 16 + (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    self->at += 4;
    *out = code;
    return true;
}

/* Behind \u. The second half of a pair is taken only if it is one. */
static bool read_unicode(struct reader *self)
{
    const char *behind;
    uint32_t code, second;

    if (!read_hex(self, &code))
        return fail(self, "no four digits");
    behind = self->at;
    if (code >= 0xd800 && code <= 0xdbff && skip_word(self, "\\u") &&
        read_hex(self, &second) && second >= 0xdc00 && second <= 0xdfff) {
        put_character(self, 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00));
        return true;
    }
    self->at = behind;
    put_character(self,
                  code == 0 || (code >= 0xd800 && code <= 0xdfff) ? REPLACEMENT : code);
    return true;
}

static bool read_escape(struct reader *self)
{
    static const char LETTERS[] = "\"\\/bfnrt";
    static const char MEANINGS[] = "\"\\/\b\f\n\r\t";
    const char *letter;

    self->at++;
    if (skip_character(self, 'u'))
        return read_unicode(self);
    letter = peek(self) == '\0' ? NULL : strchr(LETTERS, peek(self));
    if (letter == NULL)
        return fail(self, "an unknown escape");
    put(self, &MEANINGS[letter - LETTERS], 1);
    self->at++;
    return true;
}

/* ---- other values ------------------------------------------------------------------ */

/* Anything but a text, as it is written; NULL: it is nothing. */
static const char *read_other(struct reader *self)
{
    const char *begin = self->at;
    size_t size = self->text_size;

    if (!skip_value(self))
        return NULL;
    put(self, begin, (size_t)(self->at - begin));
    return text_from(self, size);
}

/* Like read_string(), without keeping it. */
static bool skip_string(struct reader *self)
{
    struct reader aside = *self;
    bool good;

    aside.list = NULL;
    good = read_string(&aside) != NULL;
    self->at = aside.at;
    self->why = aside.why;
    return good;
}

static bool skip_number(struct reader *self)
{
    skip_character(self, '-');
    if (!skip_character(self, '0') && !skip_digits(self))
        return fail(self, "no value");
    if (skip_character(self, '.') && !skip_digits(self))
        return fail(self, "no digit");
    if (skip_character(self, 'e') || skip_character(self, 'E')) {
        if (!skip_character(self, '-'))
            skip_character(self, '+');
        if (!skip_digits(self))
            return fail(self, "no digit");
    }
    return true;
}

static bool skip_scalar(struct reader *self)
{
    if (peek(self) == '"')
        return skip_string(self);
    if (skip_word(self, "true") || skip_word(self, "false") || skip_word(self, "null"))
        return true;
    return skip_number(self);
}

static bool skip_name(struct reader *self)
{
    skip_space(self);
    if (peek(self) != '"')
        return fail(self, "no name");
    if (!skip_string(self))
        return false;
    skip_space(self);
    return skip_character(self, ':') || fail(self, "no colon");
}

/* A whole value. What is open is kept in an array and not on the stack of calls, so
 * that a text from outside decides nothing about our stack. */
static bool skip_value(struct reader *self)
{
    char closers[DEPTH_MAX];
    size_t depth = 0;

    for (;;) {
        bool opened = false;

        skip_space(self);
        if (peek(self) == '{' || peek(self) == '[') {
            if (depth == DEPTH_MAX)
                return fail(self, "too many levels");
            closers[depth++] = peek(self) == '{' ? '}' : ']';
            self->at++;
            opened = true;
            skip_space(self);
        } else if (!skip_scalar(self)) {
            return false;
        }

        /* Close what ends here. An empty one ends where it began. */
        if (!opened || peek(self) == closers[depth - 1]) {
            for (; depth > 0; depth--) {
                skip_space(self);
                if (!skip_character(self, closers[depth - 1]))
                    break;
            }
            if (depth == 0)
                return true;
            if (!skip_character(self, ','))
                return fail(self, "no comma or bracket");
        }
        if (closers[depth - 1] == '}' && !skip_name(self))
            return false;
    }
}
