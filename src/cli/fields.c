/*
 * fields.c - see fields.h.
 *
 * The reader of headers gives names and values, but not whether a value was a text:
 * that is looked up in the line itself, which is known to be JSON by then.
 */
#include "cli/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/no_memory.h"
#include "outbox/headers.h"

/* The first character of the value of the member with this index. */
static char first_of_value(struct weir_str line, size_t index)
{
    size_t depth = 0, colons = 0;
    bool in_text = false;

    for (size_t i = 0; i < line.size; i++) {
        char c = line.data[i];

        if (in_text) {
            i += c == '\\';
            in_text = c != '"';
        } else if (c == '"') {
            in_text = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c == ':' && depth == 1 && colons++ == index) {
            i++;
            i += strspn(line.data + i, " \t\r");
            return line.data[i];
        }
    }
    return '\0';
}

static void fill(struct weir_field *field, const struct weir_headers *members,
                 struct weir_str line)
{
    field->found = WEIR_FIELD_ABSENT;
    field->text = NULL;
    for (size_t i = members->count; i-- > 0 && field->name != NULL;) {
        if (strcmp(members->list[i].name, field->name) != 0)
            continue;
        field->found =
            first_of_value(line, i) == 'n' ? WEIR_FIELD_NULL : WEIR_FIELD_GIVEN;
        if (field->found == WEIR_FIELD_GIVEN)
            field->text = members->list[i].value;
        return;
    }
}

/* The words of the reader are about headers; what it found wrong comes behind them. */
static enum weir_status refuse(struct weir_error *error)
{
    char why[WEIR_ERROR_TEXT_SIZE];
    const char *colon = strstr(error->text, ": ");

    memcpy(why, error->text, sizeof why);
    if (error->status != WEIR_INVALID)
        return error->status;
    if (colon == NULL)
        return weir_error_set(error, WEIR_INVALID, "is not UTF-8");
    return weir_error_set(error, WEIR_INVALID, "is no JSON object: %s",
                          why + (colon - error->text) + 2);
}

enum weir_status weir_fields_read(struct weir_str line, struct weir_arena *arena,
                                  struct weir_field *fields, size_t count,
                                  struct weir_error *error)
{
    struct weir_headers members = {NULL, 0};
    size_t size, member_count;
    void *memory = NULL;

    if (weir_headers_measure(line, &size, &member_count, error) != WEIR_OK)
        return refuse(error);
    if (member_count > 0) {
        memory = weir_arena_alloc(arena, size);
        if (memory == NULL)
            return weir_no_memory(error, NULL);
        members = weir_headers_place(line, memory, member_count);
    }
    for (size_t i = 0; i < count; i++)
        fill(&fields[i], &members, line);
    return WEIR_OK;
}
