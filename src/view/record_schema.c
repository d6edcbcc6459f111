/*
 * record_schema.c - what the JSON of a record looks like: as JSON schema (draft 2020-12),
 * for programs, and as a table in Markdown, for the reference page.
 */
#include "view/record.h"

/* How JSON has a type, and how the reference calls it. */
static const struct {
    const char *type;
    const char *format; /* NULL: none */
    const char *word;
} FORMS[WEIR_FIELD_TYPE_COUNT] = {
    [WEIR_FIELD_TEXT] = {"string", NULL, "text"},
    [WEIR_FIELD_CHARS] = {"string", NULL, "text"},
    [WEIR_FIELD_FLAG] = {"boolean", NULL, "true or false"},
    [WEIR_FIELD_I32] = {"integer", "int32", "integer"},
    [WEIR_FIELD_U32] = {"integer", "int64", "integer"},
    [WEIR_FIELD_I64] = {"integer", "int64", "integer"},
    [WEIR_FIELD_U64] = {"integer", "int64", "integer"},
    [WEIR_FIELD_SIZE] = {"integer", "int64", "integer"},
    [WEIR_FIELD_RATE] = {"number", "double", "number per second"},
    [WEIR_FIELD_US] = {"number", "double", "seconds"},
    [WEIR_FIELD_MS] = {"number", "double", "seconds"},
    [WEIR_FIELD_NS] = {"number", "double", "seconds"},
    [WEIR_FIELD_TIME] = {"string", "date-time", "time"},
    [WEIR_FIELD_UID] = {"string", NULL, "uid"},
    [WEIR_FIELD_UUID] = {"string", "uuid", "UUID"},
    [WEIR_FIELD_EXECUTION_ID] = {"string", NULL, "id of an execution"},
    [WEIR_FIELD_FLOW_ID] = {"string", NULL, "id of a flow"},
    [WEIR_FIELD_BYTES] = {"string", NULL, "bytes"},
    [WEIR_FIELD_WORD] = {"string", NULL, "text"},
    [WEIR_FIELD_OBJECT] = {"object", NULL, "object"},
    [WEIR_FIELD_PART] = {"object", NULL, ""},
    [WEIR_FIELD_LIST] = {"array", NULL, "list"},
    [WEIR_FIELD_MAP] = {"object", NULL, "object of texts"},
    [WEIR_FIELD_WORDS] = {"array", NULL, "list of texts"},
    [WEIR_FIELD_COUNTS] = {"object", NULL, "object of integers"},
    [WEIR_FIELD_LISTED] = {"array", NULL, "list"},
    [WEIR_FIELD_COMPOSED] = {"object", NULL, "object"},
    [WEIR_FIELD_COMPOSED_PART] = {"object", NULL, ""},
};

static bool is_nullable(const struct weir_record_field *field)
{
    return field->nullable || field->known != NULL || field->type == WEIR_FIELD_TIME;
}

static bool is_list(const struct weir_record_field *field)
{
    return field->type == WEIR_FIELD_LIST || field->type == WEIR_FIELD_LISTED;
}

static bool is_part(const struct weir_record_field *field)
{
    return field->type == WEIR_FIELD_PART || field->type == WEIR_FIELD_COMPOSED_PART;
}

static bool is_object(const struct weir_record_field *field)
{
    return field->type == WEIR_FIELD_OBJECT || field->type == WEIR_FIELD_COMPOSED;
}

/* ---- schema ------------------------------------------------------------------------ */

static void append_properties(const struct weir_record *self, struct weir_buf *json);

static void append_type(const struct weir_record_field *field, struct weir_buf *json)
{
    const char *type = FORMS[field->type].type;

    if (is_nullable(field)) {
        weir_output_open(json, "type", "[");
        weir_output_add_text(json, NULL, type);
        weir_output_add_text(json, NULL, "null");
        weir_buf_append_text(json, "]");
    } else {
        weir_output_add_text(json, "type", type);
    }
    if (FORMS[field->type].format != NULL)
        weir_output_add_text(json, "format", FORMS[field->type].format);
}

static void append_inside(const struct weir_record_field *field, struct weir_buf *json)
{
    if (is_list(field)) {
        weir_output_open(json, "items", "");
        weir_record_append_schema(field->record, json);
    } else if (is_object(field)) {
        weir_output_open(json, "properties", "{");
        append_properties(field->record, json);
        weir_buf_append_text(json, "}");
    } else if (field->type == WEIR_FIELD_WORDS || field->type == WEIR_FIELD_MAP) {
        weir_output_open(json,
                         field->type == WEIR_FIELD_MAP ? "additionalProperties" : "items",
                         "{\"type\":\"string\"}");
    } else if (field->type == WEIR_FIELD_COUNTS) {
        weir_output_open(json, "additionalProperties", "{\"type\":\"integer\"}");
    }
}

static void append_property(const struct weir_record_field *field, struct weir_buf *json)
{
    weir_output_open(json, field->key, "{");
    append_type(field, json);
    weir_output_add_text(json, "description", field->about);
    append_inside(field, json);
    weir_buf_append_text(json, "}");
}

static void append_properties(const struct weir_record *self, struct weir_buf *json)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_record_field *field = &self->fields[i];

        if (is_part(field))
            append_properties(field->record, json);
        else if (field->key != NULL)
            append_property(field, json);
    }
}

/* Fields that are always there; bytes may come under another key. */
static void append_required(const struct weir_record *self, struct weir_buf *json)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_record_field *field = &self->fields[i];

        if (field->shown != NULL || field->optional || field->type == WEIR_FIELD_BYTES)
            continue;
        if (is_part(field))
            append_required(field->record, json);
        else if (field->key != NULL)
            weir_output_add_text(json, NULL, field->key);
    }
}

void weir_record_append_schema(const struct weir_record *self, struct weir_buf *json)
{
    weir_buf_append_text(json, "{");
    weir_output_add_text(json, "title", self->name);
    weir_output_add_text(json, "description", self->about);
    weir_output_add_text(json, "type", "object");
    weir_output_open(json, "properties", "{");
    append_properties(self, json);
    weir_buf_append_text(json, "}");
    weir_output_open(json, "required", "[");
    append_required(self, json);
    weir_buf_append_text(json, "]}");
}

/* ---- reference --------------------------------------------------------------------- */

static void append_rows(const struct weir_record *self, struct weir_buf *text)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_record_field *field = &self->fields[i];

        if (is_part(field)) {
            append_rows(field->record, text);
            continue;
        }
        if (field->key == NULL)
            continue;
        weir_buf_append_format(text, "| `%s` | %s", field->key, FORMS[field->type].word);
        if (is_list(field))
            weir_buf_append_format(text, " of %s", field->record->name);
        else if (is_object(field))
            weir_buf_append_format(text, " %s", field->record->name);
        weir_buf_append_format(text, "%s | %s |\n", is_nullable(field) ? " or null" : "",
                               field->about);
    }
}

void weir_record_append_reference(const struct weir_record *self, struct weir_buf *text)
{
    weir_buf_append_format(text,
                           "## %s\n\n%s\n\n| Field | Type | |\n| --- | --- | --- |\n",
                           self->name, self->about);
    append_rows(self, text);
}
