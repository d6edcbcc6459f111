/*
 * json_value.c - see json_value.h.
 *
 * A loop with a stack of its own: each turn reads one value, or the beginning of a list
 * or an object; behind a value all that ends with it is closed.
 */
#include "base/json_value.h"

#include <stddef.h>

#include "base/utf8.h"

struct scan {
    const char *at, *end;
    char closers[WEIR_JSON_DEPTH_MAX]; /* of all that is open */
    size_t depth;
};

static char peek(const struct scan *self)
{
    return self->at < self->end ? *self->at : '\0';
}

static bool skip(struct scan *self, char c)
{
    if (self->at == self->end || *self->at != c)
        return false;
    self->at++;
    return true;
}

static void skip_blanks(struct scan *self)
{
    while (peek(self) == ' ' || peek(self) == '\t' || peek(self) == '\n' ||
           peek(self) == '\r')
        self->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool skip_escape(struct scan *self)
{
    char c = peek(self);

    if (c == 'u') {
        self->at++;
        for (int i = 0; i < 4; i++) {
            if (!is_hex(peek(self)))
                return false;
            self->at++;
        }
        return true;
    }
    for (const char *known = "\"\\/bfnrt"; *known != '\0'; known++) {
        if (c == *known)
            return skip(self, c);
    }
    return false;
}

static bool skip_string(struct scan *self)
{
    if (!skip(self, '"'))
        return false;
    while (self->at < self->end) {
        char c = *self->at++;

        if (c == '"')
            return true;
        if ((unsigned char)c < ' ' || (c == '\\' && !skip_escape(self)))
            return false;
    }
    return false;
}

static bool skip_digits(struct scan *self)
{
    const char *begin = self->at;

    while (is_digit(peek(self)))
        self->at++;
    return self->at > begin;
}

static bool skip_number(struct scan *self)
{
    (void)skip(self, '-');
    if (!skip(self, '0') && !skip_digits(self))
        return false;
    if (skip(self, '.') && !skip_digits(self))
        return false;
    if (!skip(self, 'e') && !skip(self, 'E'))
        return true;
    if (!skip(self, '+'))
        (void)skip(self, '-');
    return skip_digits(self);
}

static bool skip_word(struct scan *self, const char *word)
{
    while (*word != '\0') {
        if (!skip(self, *word++))
            return false;
    }
    return true;
}

static bool skip_scalar(struct scan *self)
{
    switch (peek(self)) {
    case '"':
        return skip_string(self);
    case 't':
        return skip_word(self, "true");
    case 'f':
        return skip_word(self, "false");
    case 'n':
        return skip_word(self, "null");
    default:
        return skip_number(self);
    }
}

/* Of the next member, in an object. */
static bool skip_name(struct scan *self)
{
    skip_blanks(self);
    if (self->depth == 0 || self->closers[self->depth - 1] != '}')
        return true;
    if (!skip_string(self))
        return false;
    skip_blanks(self);
    return skip(self, ':');
}

/* Behind a value: all that ends here. *more: another value has to follow. */
static bool close_all(struct scan *self, bool *more)
{
    for (*more = false; self->depth > 0; self->depth--) {
        skip_blanks(self);
        if (skip(self, ',')) {
            *more = true;
            return skip_name(self);
        }
        if (!skip(self, self->closers[self->depth - 1]))
            return false;
    }
    return true;
}

/* What is empty is a value. *opened: its first value has to follow. */
static bool open_one(struct scan *self, bool *opened)
{
    char closer = *self->at++ == '{' ? '}' : ']';

    skip_blanks(self);
    *opened = !skip(self, closer);
    if (!*opened)
        return true;
    if (self->depth == WEIR_JSON_DEPTH_MAX)
        return false;
    self->closers[self->depth++] = closer;
    return skip_name(self);
}

bool weir_json_is_value(struct weir_str text)
{
    struct scan scan = {.depth = 0};
    bool more = true;

    if (text.size == 0 || !weir_utf8_valid(text))
        return false;
    scan.at = text.data;
    scan.end = text.data + text.size;
    while (more) {
        bool opened = false;
        bool fine;

        skip_blanks(&scan);
        fine = peek(&scan) == '{' || peek(&scan) == '[' ? open_one(&scan, &opened)
                                                        : skip_scalar(&scan);
        if (fine && !opened)
            fine = close_all(&scan, &more);
        if (!fine)
            return false;
    }
    skip_blanks(&scan);
    return scan.at == scan.end;
}
