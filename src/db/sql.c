/*
 * sql.c - from the text of a statement to that of one engine.
 */
#include "db/sql.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/count.h"
#include "db/dialect.h"
#include "db/value.h"

enum { PREFIX_SIZE_MAX = 36, PARAMETERS_MAX = 99 };

int weir_sql_type(char letter)
{
    switch (letter | 0x20) {
    case 'i':
        return WEIR_TYPE_INTEGER;
    case 'r':
        return WEIR_TYPE_REAL;
    case 't':
        return WEIR_TYPE_TEXT;
    case 'b':
        return WEIR_TYPE_BYTES;
    case 'f':
        return WEIR_TYPE_BOOLEAN;
    case 'm':
        return WEIR_TYPE_TIME;
    default:
        return WEIR_TYPE_NULL;
    }
}

/* The number between braces; 0 when it is none. */
static unsigned parse_number(const char *text, size_t size)
{
    unsigned number = 0;

    if (size == 0 || size > 2)
        return 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        number = number * 10 + (unsigned)(text[i] - '0');
    }
    return number;
}

static enum weir_status malformed(const struct weir_sql *self, const char *why,
                                  struct weir_error *error)
{
    return weir_error_set(error, WEIR_INVALID, "statement \"%s\": %s", self->name, why);
}

/* ---- names of ours ----------------------------------------------------------------- */

/* One expansion under way. */
struct expansion {
    const struct weir_sql *sql;
    const struct weir_dialect *dialect;
    const char *qualifier; /* NULL: names are bare, and nothing is asked of them */
    const char *prefix;
    struct weir_buf *out;
    bool in_literal;
};

/* Behind these a table is named. */
static const char *const TABLE_WORDS[] = {"FROM",  "JOIN",     "INTO",  "UPDATE",
                                          "TABLE", "TRUNCATE", "EXISTS"};

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Does the text from `begin` to `end` end with one of these words, and perhaps spaces? */
static bool ends_with_table_word(const char *begin, const char *end)
{
    const char *word;

    while (end > begin && end[-1] == ' ')
        end--;
    for (word = end; word > begin && is_word_character(word[-1]);)
        word--;
    for (size_t i = 0; i < COUNT_OF(TABLE_WORDS); i++) {
        size_t size = strlen(TABLE_WORDS[i]);

        if ((size_t)(end - word) == size && strncasecmp(word, TABLE_WORDS[i], size) == 0)
            return true;
    }
    return false;
}

/* Plain text of the statement; what is between quotes is a literal. */
static void append_plain(struct expansion *self, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        self->in_literal ^= text[i] == '\'';
    weir_buf_append(self->out, text, size);
}

/* In a literal quotes are doubled. */
static void append_home(struct expansion *self)
{
    for (const char *c = self->qualifier != NULL ? self->qualifier : ""; *c != '\0';
         c++) {
        if (self->in_literal && *c == '\'')
            weir_buf_append(self->out, c, 1);
        weir_buf_append(self->out, c, 1);
    }
}

/* What is wrong with the form of a name at this place; NULL: nothing. */
static const char *misplaced(const struct expansion *self, const char *brace)
{
    if (self->qualifier == NULL)
        return NULL;
    if (brace[1] == 'p' && self->in_literal)
        return "{p} in a literal: it is {q} for a table there, {n} for a name";
    if (brace[1] == 'q' && !self->in_literal)
        return "{q} outside of a literal: it is {p}";
    if (brace[1] == 'n' && !self->in_literal &&
        ends_with_table_word(self->sql->text, brace))
        return "{n} for a table: it is {p}";
    return NULL;
}

static enum weir_status append_name(struct expansion *self, const char *brace,
                                    struct weir_error *error)
{
    const char *why = misplaced(self, brace);

    if (why != NULL)
        return malformed(self->sql, why, error);
    if (brace[1] != 'n')
        append_home(self);
    weir_buf_append_text(self->out, self->prefix);
    return WEIR_OK;
}

static bool is_name(const char *brace, size_t size)
{
    return size == 1 && (brace[1] == 'p' || brace[1] == 'q' || brace[1] == 'n');
}

/* ---- expanding --------------------------------------------------------------------- */

static enum weir_status check_letters(const struct weir_sql *self, const char *letters,
                                      struct weir_error *error)
{
    size_t count = strlen(letters);

    if (count > PARAMETERS_MAX)
        return malformed(self, "it has more than 99 parameters", error);
    for (size_t i = 0; i < count; i++) {
        if (weir_sql_type(letters[i]) == WEIR_TYPE_NULL)
            return malformed(self, "a letter of its parameters is no type", error);
    }
    return WEIR_OK;
}

/* ---- dialect ----------------------------------------------------------------------- */

static const struct weir_dialect *const DIALECTS[] = {
    [WEIR_SQLITE] = &weir_dialect_sqlite,
    [WEIR_POSTGRESQL] = &weir_dialect_postgresql,
    [WEIR_MARIADB] = &weir_dialect_mariadb,
};

/* The phrase of a word; NULL: there is no such word. *takes: has it an argument? */
static const char *find_phrase(const struct weir_dialect *dialect, struct weir_str word,
                               bool *takes)
{
    const struct {
        const char *word;
        const char *phrase;
        bool takes;
    } PHRASES[] = {
        {"now", dialect->now, false},
        {"or_ignore", dialect->or_ignore, true},
        {"insert_ignore", dialect->insert_ignore, false},
        {"unless_there", dialect->unless_there, true},
        {"for_no_key_update", dialect->for_no_key_update, false},
    };

    for (size_t i = 0; i < COUNT_OF(PHRASES); i++) {
        if (weir_str_equal(word, weir_str(PHRASES[i].word))) {
            *takes = PHRASES[i].takes;
            return PHRASES[i].phrase;
        }
    }
    return NULL;
}

static void append_phrase(struct expansion *self, const char *phrase,
                          struct weir_str argument)
{
    const char *place = strstr(phrase, "%s");

    if (place == NULL) {
        weir_buf_append_text(self->out, phrase);
        return;
    }
    weir_buf_append(self->out, phrase, (size_t)(place - phrase));
    weir_buf_append(self->out, argument.data, argument.size);
    weir_buf_append_text(self->out, place + 2);
}

/* `{word}` or `{word:argument}`. False: it is none. */
static bool expand_word(struct expansion *self, const char *brace, size_t size)
{
    const char *colon = memchr(brace + 1, ':', size);
    size_t word_size = colon != NULL ? (size_t)(colon - brace - 1) : size;
    struct weir_str argument = {brace + 1 + size, 0};
    const char *phrase;
    bool takes;

    if (colon != NULL)
        argument = (struct weir_str){colon + 1, size - word_size - 1};
    phrase = find_phrase(self->dialect, (struct weir_str){brace + 1, word_size}, &takes);
    if (phrase == NULL || takes != (argument.size > 0) || takes != (colon != NULL))
        return false;
    append_phrase(self, phrase, argument);
    return true;
}

/* What stands between braces, `size` characters of it. */
static enum weir_status expand_brace(struct expansion *self, const char *brace,
                                     size_t size, size_t parameter_count, bool *used,
                                     struct weir_error *error)
{
    unsigned number;

    if (is_name(brace, size))
        return append_name(self, brace, error);
    if (expand_word(self, brace, size))
        return WEIR_OK;
    number = parse_number(brace + 1, size);
    if (number == 0 || number > parameter_count)
        return malformed(self->sql,
                         "between braces is neither a name nor a word nor a parameter",
                         error);
    used[number] = true;
    weir_buf_append_format(self->out, "%c%u", self->dialect->placeholder, number);
    return WEIR_OK;
}

static enum weir_status expand(struct expansion *self, struct weir_error *error)
{
    const struct weir_sql *sql = self->sql;
    const char *letters = sql->parameters != NULL ? sql->parameters : "";
    bool used[PARAMETERS_MAX + 1] = {false};
    const char *rest = sql->text;
    enum weir_status status = check_letters(sql, letters, error);

    for (const char *brace; status == WEIR_OK && (brace = strchr(rest, '{')) != NULL;) {
        const char *end = strchr(brace, '}');

        if (end == NULL)
            return malformed(sql, "a brace is not closed", error);
        if (memchr(rest, '}', (size_t)(brace - rest)) != NULL)
            return malformed(sql, "a brace closes nothing", error);
        append_plain(self, rest, (size_t)(brace - rest));
        rest = end + 1;
        status = expand_brace(self, brace, (size_t)(end - brace - 1), strlen(letters),
                              used, error);
    }
    if (status != WEIR_OK)
        return status;
    if (strchr(rest, '}') != NULL)
        return malformed(sql, "a brace closes nothing", error);
    for (size_t i = 1; i <= strlen(letters); i++) {
        if (!used[i])
            return malformed(sql, "a parameter is declared and not used", error);
    }
    weir_buf_append_text(self->out, rest);
    if (weir_buf_status(self->out) != WEIR_OK)
        return weir_error_set(error, weir_buf_status(self->out), "statement \"%s\": %s",
                              sql->name, weir_status_text(weir_buf_status(self->out)));
    return WEIR_OK;
}

enum weir_status weir_sql_expand_at(const struct weir_sql *self, enum weir_engine engine,
                                    const char *qualifier, const char *prefix,
                                    struct weir_buf *out, struct weir_error *error)
{
    struct expansion expansion = {.sql = self,
                                  .dialect = DIALECTS[engine],
                                  .qualifier = qualifier,
                                  .prefix = prefix,
                                  .out = out};

    return expand(&expansion, error);
}

enum weir_status weir_sql_expand(const struct weir_sql *self, enum weir_engine engine,
                                 const char *prefix, struct weir_buf *out,
                                 struct weir_error *error)
{
    return weir_sql_expand_at(self, engine, NULL, prefix, out, error);
}

bool weir_sql_names_tables(const struct weir_sql *self)
{
    return strstr(self->text, "{p}") != NULL || strstr(self->text, "{q}") != NULL;
}

/* ---- prefixes ---------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

enum weir_status weir_prefix_check(const char *prefix, struct weir_error *error)
{
    size_t size = strnlen(prefix, PREFIX_SIZE_MAX + 1);

    if (size == 0)
        return weir_error_set(error, WEIR_INVALID,
                              "prefix is empty, must have 1 to %d characters",
                              PREFIX_SIZE_MAX);
    if (size > PREFIX_SIZE_MAX)
        return weir_error_set(
            error, WEIR_INVALID,
            "prefix \"%.36s...\" is too long, must have at most %d characters", prefix,
            PREFIX_SIZE_MAX);
    if (!is_letter(prefix[0]))
        return weir_error_set(error, WEIR_INVALID,
                              "prefix must begin with an ASCII letter");
    for (size_t i = 1; i < size; i++) {
        if (!is_letter(prefix[i]) && !(prefix[i] >= '0' && prefix[i] <= '9') &&
            prefix[i] != '_')
            return weir_error_set(
                error, WEIR_INVALID,
                "prefix has byte 0x%02x at %zu, must be ASCII letters, digits "
                "and underscores",
                (unsigned)(unsigned char)prefix[i], i);
    }
    return WEIR_OK;
}
