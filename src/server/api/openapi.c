/*
 * openapi.c - see openapi.h.
 *
 * A route at a database is in the document under its path and under /db/{database} in
 * front of it. Every record that is an answer is a schema of its own, and routes point
 * to it.
 */
#include "server/api/openapi.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "server/api/problem.h"
#include "weir/version.h"

enum { NAME_SIZE = 128, PATH_SIZE = 256 };

struct document {
    const struct weir_endpoint *rows;
    size_t count;
    struct weir_buf *json;
};

/* "dead letter with payload" is not a name of a component. Returns `out`. */
static const char *name_of(const struct weir_record *record, char *out)
{
    size_t size = weir_text_format(out, NAME_SIZE, "%s", record->name);

    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)out[i]))
            out[i] = '_';
    return out;
}

/* ---- parameters -------------------------------------------------------------------- */

static void append_words(const struct weir_parameter *parameter, struct weir_buf *json)
{
    weir_output_open(json, "enum", "[");
    for (size_t i = 0; i < parameter->word_count; i++)
        weir_output_add_text(json, NULL, parameter->word(i));
    weir_buf_append_text(json, "]");
}

static void append_value_schema(const struct weir_parameter *parameter,
                                struct weir_buf *json)
{
    weir_output_open(json, "schema", "{");
    switch (parameter->type) {
    case WEIR_PARAMETER_NUMBER:
        weir_output_add_text(json, "type", "integer");
        weir_output_add_number(json, "minimum", parameter->min);
        weir_output_add_number(json, "maximum", parameter->max);
        break;
    case WEIR_PARAMETER_WORDS:
        weir_output_add_text(json, "type", "array");
        weir_output_open(json, "items", "{");
        weir_output_add_text(json, "type", "string");
        append_words(parameter, json);
        weir_buf_append_text(json, "}");
        break;
    case WEIR_PARAMETER_WORD:
        weir_output_add_text(json, "type", "string");
        append_words(parameter, json);
        break;
    case WEIR_PARAMETER_MOMENT:
        weir_output_add_text(json, "type", "string");
        weir_output_add_text(json, "format", "date-time");
        break;
    case WEIR_PARAMETER_TEXT:
        weir_output_add_text(json, "type", "string");
        break;
    }
    weir_buf_append_text(json, "}");
}

static void append_query(const struct weir_parameter *parameter, struct weir_buf *json)
{
    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "name", parameter->name);
    weir_output_add_text(json, "in", "query");
    weir_output_add_text(json, "description", parameter->about);
    if (parameter->type == WEIR_PARAMETER_WORDS) {
        weir_output_add_text(json, "style", "form");
        weir_output_add_flag(json, "explode", false);
    }
    append_value_schema(parameter, json);
    weir_buf_append_text(json, "}");
}

static void append_path_parameters(const char *path, struct weir_buf *json)
{
    const char *at = path;

    while ((at = strchr(at, '{')) != NULL) {
        size_t size = strcspn(++at, "}");
        char name[NAME_SIZE];

        weir_text_format(name, sizeof name, "%.*s", (int)size, at);
        weir_output_open(json, NULL, "{");
        weir_output_add_text(json, "name", name);
        weir_output_add_text(json, "in", "path");
        weir_output_add_flag(json, "required", true);
        weir_output_open(json, "schema", "{\"type\":\"string\"}}");
    }
}

static void append_parameters(const struct weir_endpoint *row, const char *path,
                              struct weir_buf *json)
{
    weir_output_open(json, "parameters", "[");
    append_path_parameters(path, json);
    for (size_t i = 0; i < row->parameter_count; i++)
        append_query(&row->parameters[i], json);
    weir_buf_append_text(json, "]");
}

/* ---- answers ----------------------------------------------------------------------- */

static void append_reference(const struct weir_record *record, struct weir_buf *json)
{
    char name[NAME_SIZE];
    char text[NAME_SIZE + sizeof "#/components/schemas/"];

    weir_text_format(text, sizeof text, "#/components/schemas/%s", name_of(record, name));
    weir_output_add_text(json, "$ref", text);
}

static void append_answer_schema(const struct weir_endpoint *row, struct weir_buf *json)
{
    weir_output_open(json, "schema", "{");
    if (row->answer == NULL) {
        weir_output_add_text(json, "type", row->type == NULL ? "object" : "string");
    } else if (row->list == NULL) {
        append_reference(row->answer, json);
    } else {
        weir_output_add_text(json, "type", "object");
        weir_output_open(json, "required", "[");
        weir_output_add_text(json, NULL, row->list);
        weir_buf_append_text(json, "]");
        weir_output_open(json, "properties", "{");
        weir_output_open(json, row->list, "{\"type\":\"array\",\"items\":{");
        append_reference(row->answer, json);
        weir_buf_append_text(json, "}}}");
    }
    weir_buf_append_text(json, "}");
}

static void append_responses(const struct weir_endpoint *row, struct weir_buf *json)
{
    weir_output_open(json, "responses", "{");
    weir_output_open(json, "200", "{");
    weir_output_add_text(json, "description", row->about);
    weir_output_open(json, "content", "{");
    weir_output_open(json, row->type != NULL ? row->type : "application/json", "{");
    append_answer_schema(row, json);
    weir_buf_append_text(json, "}}}");
    weir_output_open(json, "default", "{");
    weir_output_add_text(json, "description", "Why it was not done.");
    weir_output_open(json, "content", "{");
    weir_output_open(json, "application/problem+json",
                     "{\"schema\":{\"$ref\":\"#/components/schemas/problem\"}}");
    weir_buf_append_text(json, "}}}");
}

/* ---- routes ------------------------------------------------------------------------ */

static void append_security(const struct weir_endpoint *row, struct weir_buf *json)
{
    weir_output_open(json, "security", "[");
    if (row->scopes != 0) {
        weir_output_open(json, NULL, "{\"token\":[");
        for (uint32_t bit = 1; bit < WEIR_SCOPE_ALL; bit <<= 1)
            if ((row->scopes & bit) != 0)
                weir_output_add_text(json, NULL, weir_scope_name((enum weir_scope)bit));
        weir_buf_append_text(json, "]}");
    }
    weir_buf_append_text(json, "]");
}

static void append_operation(const struct weir_endpoint *row, const char *path,
                             bool mounted, struct weir_buf *json)
{
    char id[NAME_SIZE];
    char method[NAME_SIZE];

    weir_text_format(method, sizeof method, "%s", weir_method_name(row->method));
    for (char *at = method; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    weir_text_format(id, sizeof id, "%s%s", row->id, mounted ? "_of_database" : "");
    weir_output_open(json, method, "{");
    weir_output_add_text(json, "operationId", id);
    weir_output_add_text(json, "summary", row->about);
    append_security(row, json);
    append_parameters(row, path, json);
    append_responses(row, json);
    weir_buf_append_text(json, "}");
}

/* All methods of the path of a row, unless a row before it had the path. */
static void append_path(const struct document *self, size_t index, bool mounted)
{
    const struct weir_endpoint *first = &self->rows[index];
    char path[PATH_SIZE];

    for (size_t i = 0; i < index; i++)
        if (strcmp(self->rows[i].path, first->path) == 0)
            return;
    weir_text_format(path, sizeof path, "%s%s", mounted ? "/db/{database}" : "",
                     first->path);
    weir_output_open(self->json, path, "{");
    for (size_t i = index; i < self->count; i++)
        if (strcmp(self->rows[i].path, first->path) == 0)
            append_operation(&self->rows[i], path, mounted, self->json);
    weir_buf_append_text(self->json, "}");
}

static void append_paths(const struct document *self)
{
    weir_output_open(self->json, "paths", "{");
    for (size_t i = 0; i < self->count; i++)
        append_path(self, i, false);
    for (size_t i = 0; i < self->count; i++)
        if (self->rows[i].at != WEIR_AT_SERVER)
            append_path(self, i, true);
    weir_buf_append_text(self->json, "}");
}

static bool is_first(const struct document *self, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (self->rows[i].answer == self->rows[index].answer)
            return false;
    return true;
}

static void append_components(const struct document *self)
{
    char name[NAME_SIZE];

    weir_output_open(self->json, "components", "{");
    weir_output_open(self->json, "securitySchemes", "{");
    weir_output_open(self->json, "token", "{\"type\":\"http\",\"scheme\":\"bearer\"}}");
    weir_output_open(self->json, "schemas", "{");
    weir_output_open(self->json, "problem", "");
    weir_problem_append_schema(self->json);
    for (size_t i = 0; i < self->count; i++) {
        if (self->rows[i].answer == NULL || !is_first(self, i))
            continue;
        weir_output_open(self->json, name_of(self->rows[i].answer, name), "");
        weir_record_append_schema(self->rows[i].answer, self->json);
    }
    weir_buf_append_text(self->json, "}}");
}

void weir_openapi_append(const struct weir_endpoint *rows, size_t count,
                         struct weir_buf *json)
{
    struct document self = {.rows = rows, .count = count, .json = json};

    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "openapi", "3.1.0");
    weir_output_open(json, "info", "{");
    weir_output_add_text(json, "title", "weir");
    weir_output_add_text(json, "version", weir_version_string());
    weir_buf_append_text(json, "}");
    append_paths(&self);
    append_components(&self);
    weir_buf_append_text(json, "}");
}
