/*
 * sql.c - from the text of a statement to that of one engine.
 */
#include "db/sql.h"

#include <stdbool.h>
#include <string.h>

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

static void append_parameter(struct weir_buf *out, enum weir_engine engine,
                             unsigned number)
{
    weir_buf_append_format(out, engine == WEIR_POSTGRESQL ? "$%u" : "?%u", number);
}

/* Microseconds since 1970 by the database's clock. SQLite has none of its own: its links define
 * weir_now(), which reads the environment's. */
static const char *now_expression(enum weir_engine engine)
{
    switch (engine) {
    case WEIR_SQLITE:
        return "weir_now()";
    case WEIR_POSTGRESQL:
        return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    case WEIR_MARIADB:
        break;
    }
    return "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";
}

static enum weir_status malformed(const struct weir_sql *self, const char *why,
                                  struct weir_error *error)
{
    return weir_error_set(error, WEIR_INVALID, "statement \"%s\": %s", self->name, why);
}

enum weir_status weir_sql_expand(const struct weir_sql *self, enum weir_engine engine,
                                 const char *prefix, struct weir_buf *out,
                                 struct weir_error *error)
{
    const char *letters = self->parameters != NULL ? self->parameters : "";
    size_t parameter_count = strlen(letters);
    bool used[PARAMETERS_MAX + 1] = {false};
    const char *rest = self->text;

    if (parameter_count > PARAMETERS_MAX)
        return malformed(self, "it has more than 99 parameters", error);
    for (size_t i = 0; i < parameter_count; i++) {
        if (weir_sql_type(letters[i]) == WEIR_TYPE_NULL)
            return malformed(self, "a letter of its parameters is no type", error);
    }

    for (const char *brace; (brace = strchr(rest, '{')) != NULL;) {
        const char *end = strchr(brace, '}');
        size_t size;
        unsigned number;

        if (end == NULL)
            return malformed(self, "a brace is not closed", error);
        if (memchr(rest, '}', (size_t)(brace - rest)) != NULL)
            return malformed(self, "a brace closes nothing", error);
        weir_buf_append(out, rest, (size_t)(brace - rest));
        rest = end + 1;
        size = (size_t)(end - brace - 1);
        if (size == 1 && brace[1] == 'p') {
            weir_buf_append_text(out, prefix);
            continue;
        }
        if (size == 3 && memcmp(brace + 1, "now", 3) == 0) {
            weir_buf_append_text(out, now_expression(engine));
            continue;
        }
        number = parse_number(brace + 1, size);
        if (number == 0 || number > parameter_count)
            return malformed(self, "between braces is neither p nor now nor a parameter",
                             error);
        used[number] = true;
        append_parameter(out, engine, number);
    }
    if (strchr(rest, '}') != NULL)
        return malformed(self, "a brace closes nothing", error);
    for (size_t i = 1; i <= parameter_count; i++) {
        if (!used[i])
            return malformed(self, "a parameter is declared and not used", error);
    }
    weir_buf_append_text(out, rest);
    if (weir_buf_status(out) != WEIR_OK)
        return weir_error_set(error, weir_buf_status(out), "statement \"%s\": %s",
                              self->name, weir_status_text(weir_buf_status(out)));
    return WEIR_OK;
}

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
