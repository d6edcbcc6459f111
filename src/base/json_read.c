/*
 * json_read.c - see json_read.h.
 *
 * The check is a loop with a stack of its own: each turn reads one value, or the
 * beginning of a list or an object; behind a value all that ends with it is closed.
 *
 * Names of all open objects are kept one behind the other, and a mark begins each object.
 * When an object is closed, its names are sorted by their hashes and the neighbours are
 * compared, so that an object of many names costs n log n.
 */
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/arith.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/codec/hex.h"
#include "base/utf8.h"

#define REPLACEMENT 0xfffdu /* U+FFFD */

/* A name, or the mark that begins an object. */
struct name {
    struct weir_str raw; /* with its quotes; a mark: none */
    uint64_t hash;       /* of its characters; a mark: where the object outside begins */
};

struct check {
    const struct weir_json_rules *rules;
    const char *begin, *at, *end;
    const char *why;                   /* it is no JSON, at `at`; NULL: it is so far */
    char closers[WEIR_JSON_DEPTH_MAX]; /* of all that is open */
    size_t depth;
    struct weir_buf names; /* of struct name */
    size_t first_name;     /* of the innermost object */
};

static bool check_names(struct check *self);

/* ---- characters -------------------------------------------------------------------- */

static bool fail(struct check *self, const char *why)
{
    self->why = why;
    return false;
}

/* The next character, or a zero at the end; a zero in the text is nowhere allowed. */
static char peek(const struct check *self)
{
    return self->at < self->end ? *self->at : '\0';
}

static bool skip(struct check *self, char c)
{
    if (self->at == self->end || *self->at != c)
        return false;
    self->at++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct check *self)
{
    while (is_blank(peek(self)))
        self->at++;
}

static bool skip_digits(struct check *self)
{
    const char *begin = self->at;

    while (peek(self) >= '0' && peek(self) <= '9')
        self->at++;
    return self->at > begin;
}

static bool skip_word(struct check *self, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(self->end - self->at) < size || memcmp(self->at, word, size) != 0)
        return false;
    self->at += size;
    return true;
}

/* ---- escapes ----------------------------------------------------------------------- */

static const char LETTERS[] = "\"\\/bfnrt";
static const char MEANINGS[] = "\"\\/\b\f\n\r\t";

/* Four hexadecimal digits; false, and nothing moves, when they are none. */
static bool read_hex(const char **at, const char *end, uint32_t *out)
{
    uint32_t code = 0;

    if (end - *at < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        int digit = weir_hex_digit((*at)[i]);

        if (digit < 0)
            return false;
        code = code * 16 + (uint32_t)digit;
    }
    *at += 4;
    *out = code;
    return true;
}

static bool is_surrogate(uint32_t code)
{
    return code >= 0xd800 && code <= 0xdfff;
}

/* Behind \u. The second half of a pair is taken only if it is one; the first half is
 * what comes out otherwise. */
static bool read_unicode(const char **at, const char *end, uint32_t *out)
{
    const char *behind;
    uint32_t second;

    if (!read_hex(at, end, out))
        return false;
    behind = *at;
    if (*out < 0xd800 || *out > 0xdbff || end - behind < 2 ||
        memcmp(behind, "\\u", 2) != 0)
        return true;
    behind += 2;
    if (read_hex(&behind, end, &second) && second >= 0xdc00 && second <= 0xdfff) {
        *out = 0x10000 + ((*out - 0xd800) << 10) + (second - 0xdc00);
        *at = behind;
    }
    return true;
}

static bool skip_escape(struct check *self)
{
    uint32_t code;

    if (skip(self, 'u')) {
        if (!read_unicode(&self->at, self->end, &code))
            return fail(self, "no four digits");
        return !is_surrogate(code) ||
               (self->rules->allowed & WEIR_JSON_LONE_SURROGATES) != 0 ||
               fail(self, "half of a pair");
    }
    if (peek(self) == '\0' || strchr(LETTERS, peek(self)) == NULL)
        return fail(self, "an unknown escape");
    self->at++;
    return true;
}

/* ---- scalars ----------------------------------------------------------------------- */

/* At its quote. */
static bool skip_string(struct check *self)
{
    self->at++;
    for (;;) {
        while ((unsigned char)peek(self) >= ' ' && peek(self) != '"' &&
               peek(self) != '\\')
            self->at++;
        if (skip(self, '"'))
            return true;
        if (self->at == self->end)
            return fail(self, "a text without end");
        if (!skip(self, '\\'))
            return fail(self, "a control character");
        if (!skip_escape(self))
            return false;
    }
}

static bool skip_number(struct check *self)
{
    (void)skip(self, '-');
    if (!skip(self, '0') && !skip_digits(self))
        return fail(self, "no value");
    if (skip(self, '.') && !skip_digits(self))
        return fail(self, "no digit");
    if (!skip(self, 'e') && !skip(self, 'E'))
        return true;
    if (!skip(self, '-'))
        (void)skip(self, '+');
    return skip_digits(self) || fail(self, "no digit");
}

static bool skip_scalar(struct check *self)
{
    if (peek(self) == '"')
        return skip_string(self);
    return skip_word(self, "true") || skip_word(self, "false") ||
           skip_word(self, "null") || skip_number(self);
}

/* ---- lists and objects ------------------------------------------------------------- */

static uint64_t hash_text(struct weir_str raw);

static void keep_name(struct check *self, struct weir_str raw)
{
    struct name name = {.raw = raw};

    if ((self->rules->allowed & WEIR_JSON_REPEATED_NAMES) != 0)
        return;
    if (raw.size > 0) {
        name.hash = hash_text(raw);
    } else {
        name.hash = self->first_name;
        self->first_name = self->names.size / sizeof name + 1;
    }
    weir_buf_append(&self->names, &name, sizeof name);
}

static bool read_name(struct check *self)
{
    const char *begin;

    skip_blanks(self);
    begin = self->at;
    if (peek(self) != '"')
        return fail(self, "no name");
    if (!skip_string(self))
        return false;
    keep_name(self, (struct weir_str){begin, (size_t)(self->at - begin)});
    skip_blanks(self);
    return skip(self, ':') || fail(self, "no colon");
}

/* *more: the first value has to follow. What is empty is a value. */
static bool open_one(struct check *self, bool *more)
{
    size_t depth_max =
        self->rules->depth_max > 0 ? self->rules->depth_max : WEIR_JSON_DEPTH_MAX;
    bool named = peek(self) == '{';

    if (self->depth == depth_max)
        return fail(self, "too many levels");
    self->at++;
    self->closers[self->depth++] = named ? '}' : ']';
    if (named)
        keep_name(self, (struct weir_str){NULL, 0});
    skip_blanks(self);
    *more = peek(self) != self->closers[self->depth - 1];
    return !*more || !named || read_name(self);
}

/* Behind a value: all that ends here. *more: another value has to follow. */
static bool close_all(struct check *self, bool *more)
{
    for (*more = false; self->depth > 0; self->depth--) {
        bool named = self->closers[self->depth - 1] == '}';

        skip_blanks(self);
        if (skip(self, ',')) {
            *more = true;
            return !named || read_name(self);
        }
        if (!skip(self, self->closers[self->depth - 1]))
            return fail(self, named ? "no comma or brace" : "no comma or bracket");
        if (named && !check_names(self))
            return false;
    }
    return true;
}

static bool check_text(struct check *self)
{
    bool more = true;

    skip_blanks(self);
    if (self->rules->object && peek(self) != '{')
        return fail(self, "no object");
    while (more) {
        bool opened = false;

        skip_blanks(self);
        if (!(peek(self) == '{' || peek(self) == '[' ? open_one(self, &opened)
                                                     : skip_scalar(self)))
            return false;
        if (!opened && !close_all(self, &more))
            return false;
    }
    skip_blanks(self);
    return self->at == self->end || fail(self, "more behind it");
}

/* ---- the check --------------------------------------------------------------------- */

static size_t valid_utf8_size(struct weir_str text)
{
    size_t at = 0;

    while (at < text.size) {
        size_t step = weir_utf8_sequence(text.data + at, text.size - at);

        if (step == 0)
            break;
        at += step;
    }
    return at;
}

enum weir_status weir_json_check(struct weir_str text,
                                 const struct weir_json_rules *rules,
                                 struct weir_json_fault *fault)
{
    struct check check = {.rules = rules, .begin = text.data, .at = text.data};
    struct weir_json_fault ignored;
    enum weir_status status;
    bool good;

    WEIR_ASSERT(rules->depth_max <= WEIR_JSON_DEPTH_MAX);
    WEIR_ASSERT(rules->heap != NULL || (rules->allowed & WEIR_JSON_REPEATED_NAMES) != 0);
    fault = fault != NULL ? fault : &ignored;
    if (!weir_utf8_valid(text)) {
        *fault = (struct weir_json_fault){"no UTF-8", valid_utf8_size(text), true};
        return WEIR_INVALID;
    }
    if (text.size == 0)
        check.begin = check.at = "";
    check.end = check.at + text.size;
    weir_buf_init(&check.names, rules->heap, SIZE_MAX / 2);
    good = check_text(&check);
    status = weir_buf_status(&check.names);
    weir_buf_fini(&check.names);
    if (status != WEIR_OK || good)
        return status;
    *fault = (struct weir_json_fault){check.why, (size_t)(check.at - check.begin), false};
    return WEIR_INVALID;
}

bool weir_json_is_value(struct weir_str text)
{
    static const struct weir_json_rules ANY = {.allowed = WEIR_JSON_REPEATED_NAMES |
                                                          WEIR_JSON_LONE_SURROGATES};

    return weir_json_check(text, &ANY, NULL) == WEIR_OK;
}

/* ---- the characters of a text ------------------------------------------------------ */

/* Gives them piece by piece: runs as they are written, and what escapes stand for. */
struct pieces {
    const char *at, *end;
    char escaped[4];
};

static bool is_text(struct weir_str value)
{
    return value.size > 1 && value.data[0] == '"';
}

/* Without the quotes of a text. */
static struct pieces begin_pieces(struct weir_str value)
{
    size_t quote = is_text(value);

    return (struct pieces){.at = value.data + quote,
                           .end = value.data + value.size - quote};
}

static struct weir_str encode(struct pieces *self, uint32_t code)
{
    static const uint32_t FIRST[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size;

    if (code == 0 || is_surrogate(code))
        code = REPLACEMENT;
    size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        self->escaped[i] = (char)(0x80 | (code & 0x3f));
    self->escaped[0] = (char)(FIRST[size] | code);
    return (struct weir_str){self->escaped, size};
}

static struct weir_str take_escape(struct pieces *self)
{
    const char *letter;
    uint32_t code = 0;

    self->at++;
    if (self->at == self->end)
        return (struct weir_str){NULL, 0};
    if (*self->at == 'u') {
        self->at++;
        if (!read_unicode(&self->at, self->end, &code))
            self->at = self->end;
        return encode(self, code);
    }
    letter = strchr(LETTERS, *self->at++);
    self->escaped[0] = letter != NULL ? MEANINGS[letter - LETTERS] : '?';
    return (struct weir_str){self->escaped, 1};
}

/* An empty piece: there are no more. */
static struct weir_str take_piece(struct pieces *self)
{
    const char *begin = self->at;
    const char *backslash;

    if (self->at == self->end)
        return (struct weir_str){NULL, 0};
    if (*self->at == '\\')
        return take_escape(self);
    backslash = memchr(self->at, '\\', (size_t)(self->end - self->at));
    self->at = backslash != NULL ? backslash : self->end;
    return (struct weir_str){begin, (size_t)(self->at - begin)};
}

size_t weir_json_text_size(struct weir_str value)
{
    struct pieces pieces = begin_pieces(value);
    struct weir_str piece;
    size_t size = 0;

    if (!is_text(value))
        return value.size;
    while ((piece = take_piece(&pieces)).size > 0)
        size += piece.size;
    return size;
}

size_t weir_json_copy_text(struct weir_str value, char *out)
{
    struct pieces pieces = begin_pieces(value);
    struct weir_str piece;
    size_t size = 0;

    if (!is_text(value)) {
        memcpy(out, value.data, value.size);
        out[value.size] = '\0';
        return value.size;
    }
    for (; (piece = take_piece(&pieces)).size > 0; size += piece.size)
        memcpy(out + size, piece.data, piece.size);
    out[size] = '\0';
    return size;
}

char *weir_json_keep_text(struct weir_str value, struct weir_arena *arena)
{
    char *text = weir_arena_alloc(arena, weir_json_text_size(value) + 1);

    if (text != NULL)
        weir_json_copy_text(value, text);
    return text;
}

/* ---- names that come twice --------------------------------------------------------- */

/* FNV-1a over the characters, however they are written. */
static uint64_t hash_text(struct weir_str raw)
{
    struct pieces pieces = begin_pieces(raw);
    struct weir_str piece;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    while ((piece = take_piece(&pieces)).size > 0) {
        for (size_t i = 0; i < piece.size; i++)
            hash = (hash ^ (unsigned char)piece.data[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static int compare_texts(struct weir_str a, struct weir_str b)
{
    struct pieces of_a = begin_pieces(a), of_b = begin_pieces(b);
    struct weir_str left = take_piece(&of_a), right = take_piece(&of_b);

    while (left.size > 0 && right.size > 0) {
        size_t size = left.size < right.size ? left.size : right.size;
        int order = memcmp(left.data, right.data, size);

        if (order != 0)
            return order;
        left = (struct weir_str){left.data + size, left.size - size};
        right = (struct weir_str){right.data + size, right.size - size};
        if (left.size == 0)
            left = take_piece(&of_a);
        if (right.size == 0)
            right = take_piece(&of_b);
    }
    return (left.size > 0) - (right.size > 0);
}

/* By hash, then by characters, then in the order of the text. */
static int compare_names(const void *a, const void *b)
{
    const struct name *left = a, *right = b;
    int order;

    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    order = compare_texts(left->raw, right->raw);
    return order != 0 ? order : left->raw.data < right->raw.data ? -1 : 1;
}

/* The first name in the text that repeats another one; NULL: none. */
static const char *find_repeated(const struct name *names, size_t count)
{
    const char *found = NULL;

    for (size_t i = 1; i < count; i++) {
        const char *at = names[i].raw.data;

        if (names[i - 1].hash == names[i].hash && (found == NULL || at < found) &&
            compare_texts(names[i - 1].raw, names[i].raw) == 0)
            found = at;
    }
    return found;
}

/* Of the object that ends here; they are forgotten. */
static bool check_names(struct check *self)
{
    struct name *all = (struct name *)(void *)self->names.data;
    size_t first = self->first_name;
    size_t count;
    const char *repeated;

    if ((self->rules->allowed & WEIR_JSON_REPEATED_NAMES) != 0 ||
        weir_buf_status(&self->names) != WEIR_OK)
        return true;
    count = self->names.size / sizeof *all - first;
    qsort(all + first, count, sizeof *all, compare_names);
    repeated = find_repeated(all + first, count);
    self->names.size = (first - 1) * sizeof *all;
    self->first_name = (size_t)all[first - 1].hash;
    if (repeated == NULL)
        return true;
    self->at = repeated;
    return fail(self, "a name that comes twice");
}

/* ---- walking ----------------------------------------------------------------------- */

static void walk_blanks(struct weir_json_walk *self)
{
    while (self->at < self->end && is_blank(*self->at))
        self->at++;
}

static void walk_string(struct weir_json_walk *self)
{
    for (self->at++; self->at < self->end && *self->at != '"'; self->at++)
        self->at += *self->at == '\\' && self->at + 1 < self->end;
    self->at += self->at < self->end;
}

/* A list, an object, a text; or a number or a word, which ends where another thing
 * begins. */
static void walk_value(struct weir_json_walk *self)
{
    size_t depth = 0;

    if (strchr("\"{[", *self->at) == NULL) {
        while (self->at < self->end && !is_blank(*self->at) &&
               strchr(",:]}", *self->at) == NULL)
            self->at++;
        return;
    }
    do {
        if (*self->at == '"') {
            walk_string(self);
            continue;
        }
        depth += *self->at == '{' || *self->at == '[';
        depth -= *self->at == '}' || *self->at == ']';
        self->at++;
    } while (self->at < self->end && depth > 0);
}

static struct weir_str walk_one(struct weir_json_walk *self)
{
    const char *begin = self->at;
    size_t size;

    walk_value(self);
    size = (size_t)(self->at - begin);
    walk_blanks(self);
    return (struct weir_str){begin, size};
}

void weir_json_walk_begin(struct weir_json_walk *self, struct weir_str json)
{
    *self = (struct weir_json_walk){.at = json.data, .end = json.data};
    if (json.size == 0)
        return;
    self->end += json.size;
    walk_blanks(self);
    if (self->at < self->end && (*self->at == '{' || *self->at == '['))
        self->named = *self->at == '{';
    else
        self->at = self->end;
}

bool weir_json_walk_next(struct weir_json_walk *self, struct weir_json_item *out)
{
    if (self->at == self->end)
        return false;
    self->at++; /* the brace, the bracket or the comma */
    walk_blanks(self);
    out->name = (struct weir_str){"", 0};
    if (self->named && self->at < self->end && *self->at == '"') {
        out->name = walk_one(self);
        self->at += self->at < self->end; /* the colon */
        walk_blanks(self);
    }
    if (self->at == self->end || *self->at == '}' || *self->at == ']') {
        self->at = self->end;
        return false;
    }
    out->value = walk_one(self);
    return true;
}

/* ---- values ------------------------------------------------------------------------ */

enum weir_json_kind weir_json_kind(struct weir_str value)
{
    switch (value.size > 0 ? value.data[0] : 'n') {
    case '{':
        return WEIR_JSON_OBJECT;
    case '[':
        return WEIR_JSON_LIST;
    case '"':
        return WEIR_JSON_TEXT;
    case 't':
    case 'f':
        return WEIR_JSON_BOOL;
    case 'n':
        return WEIR_JSON_NULL;
    default:
        return WEIR_JSON_NUMBER;
    }
}

/* Counts downwards, because INT64_MIN has no counterpart. */
bool weir_json_i64(struct weir_str value, int64_t *out)
{
    bool negative = value.size > 0 && value.data[0] == '-';
    int64_t number = 0;

    if (value.size == negative)
        return false;
    for (size_t i = negative; i < value.size; i++) {
        int digit = value.data[i] - '0';

        if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, digit, &number))
            return false;
    }
    if (!negative && number == INT64_MIN)
        return false;
    *out = negative ? number : -number;
    return true;
}

/* ---- objects ----------------------------------------------------------------------- */

/* One block has the members and then their texts. */
static bool measure_object(struct weir_str text, size_t *size, size_t *count)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    size_t text_size = 0;

    *count = 0;
    weir_json_walk_begin(&walk, text);
    for (; weir_json_walk_next(&walk, &item); ++*count)
        text_size += weir_json_text_size(item.name) + weir_json_text_size(item.value) + 2;
    return weir_checked_mul_size(*count, sizeof(struct weir_json_member), size) &&
           weir_checked_add_size(*size, text_size, size);
}

static void place_object(struct weir_str text, struct weir_json_member *members,
                         size_t count)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    char *texts = (char *)(members + count);

    weir_json_walk_begin(&walk, text);
    for (; weir_json_walk_next(&walk, &item); members++) {
        members->value = item.value;
        members->name = texts;
        texts += weir_json_copy_text(item.name, texts) + 1;
        members->text = texts;
        texts += weir_json_copy_text(item.value, texts) + 1;
    }
}

enum weir_status weir_json_read_object(struct weir_str text,
                                       const struct weir_json_rules *rules,
                                       struct weir_arena *arena,
                                       struct weir_json_object *out,
                                       struct weir_json_fault *fault)
{
    struct weir_json_rules of_object = *rules;
    struct weir_json_member *members;
    enum weir_status status;
    size_t size, count;

    *out = (struct weir_json_object){NULL, 0};
    of_object.object = true;
    status = weir_json_check(text, &of_object, fault);
    if (status != WEIR_OK)
        return status;
    members = measure_object(text, &size, &count) && count > 0
                  ? weir_arena_alloc(arena, size)
                  : NULL;
    if (count > 0 && members == NULL)
        return WEIR_NO_MEMORY;
    if (count > 0)
        place_object(text, members, count);
    *out = (struct weir_json_object){members, count};
    return WEIR_OK;
}

const struct weir_json_member *weir_json_find(const struct weir_json_object *self,
                                              const char *name)
{
    for (size_t i = self->count; i-- > 0;) {
        if (strcmp(self->members[i].name, name) == 0)
            return &self->members[i];
    }
    return NULL;
}
