/*
 * record.c - values of fields, and rows as JSON.
 *
 * The offset was checked against the type of the member where the field was written, so
 * reading through it is what the compiler would have done.
 */
#include "view/record.h"

#include <string.h>

#include "base/text.h"
#include "execution/id.h"
#include "view/record_list.h"
#include "weir/message.h"

/* ---- values ------------------------------------------------------------------------ */

const void *weir_field_at(const struct weir_record_field *self, const void *row)
{
    return (const char *)row + self->offset;
}

int64_t weir_field_number(const struct weir_record_field *self, const void *row)
{
    const void *at = weir_field_at(self, row);

    if (self->compute != NULL)
        return self->compute(row);
    switch (self->type) {
    case WEIR_FIELD_FLAG:
        return *(const bool *)at;
    case WEIR_FIELD_I32:
        return *(const int32_t *)at;
    case WEIR_FIELD_U32:
        return *(const uint32_t *)at;
    case WEIR_FIELD_U64:
        return (int64_t) * (const uint64_t *)at;
    case WEIR_FIELD_SIZE:
        return (int64_t) * (const size_t *)at;
    case WEIR_FIELD_MS:
        return *(const int64_t *)at * 1000;
    case WEIR_FIELD_NS:
        return *(const int64_t *)at / 1000;
    default:
        return *(const int64_t *)at;
    }
}

/* Texts and ids; NULL: none. */
static const char *text_of(const struct weir_record_field *self, const void *row,
                           int64_t now_us, char *out)
{
    const void *at = weir_field_at(self, row);

    if (self->word != NULL)
        return self->word(row);
    if (self->derive != NULL)
        return self->derive(row, now_us, out);
    switch (self->type) {
    case WEIR_FIELD_TEXT:
        return *(const char *const *)at;
    case WEIR_FIELD_UID:
        return weir_uid_format(at, out);
    case WEIR_FIELD_UUID:
        return weir_uuid_format(at, out);
    case WEIR_FIELD_EXECUTION_ID:
        return weir_execution_id_format(at, out);
    case WEIR_FIELD_FLOW_ID:
        return weir_flow_id_format(at, out);
    default:
        return at; /* CHARS */
    }
}

static const char *spell_number(const struct weir_record_field *self, const void *row,
                                char *out)
{
    bool estimate =
        self->estimate > 0 && *(const bool *)((const char *)row + self->estimate - 1);
    int64_t number = weir_field_number(self, row);

    if (number == 0 && self->empty != NULL)
        return self->empty;
    return weir_output_count(number, estimate, out);
}

static const char *spell_text(const struct weir_record_field *self, const char *text)
{
    if (text != NULL && (text[0] != '\0' || self->empty == NULL))
        return text;
    return self->empty != NULL ? self->empty : "-";
}

const char *weir_field_spell(const struct weir_record_field *self, const void *row,
                             int64_t now_us, char *out)
{
    switch (self->type) {
    case WEIR_FIELD_FLAG:
        return weir_field_number(self, row) != 0 ? "yes" : "no";
    case WEIR_FIELD_I32:
    case WEIR_FIELD_U32:
    case WEIR_FIELD_I64:
    case WEIR_FIELD_U64:
    case WEIR_FIELD_SIZE:
        return spell_number(self, row, out);
    case WEIR_FIELD_RATE:
        return weir_output_rate(*(const double *)weir_field_at(self, row), out);
    case WEIR_FIELD_US:
    case WEIR_FIELD_MS:
    case WEIR_FIELD_NS:
        return weir_output_age(weir_field_number(self, row), out);
    case WEIR_FIELD_TIME:
        return weir_output_time(weir_field_number(self, row), out);
    default:
        return spell_text(self, text_of(self, row, now_us, out));
    }
}

/* ---- JSON -------------------------------------------------------------------------- */

/* The list that is being written, as an element sees it. */
struct list {
    const struct weir_record_field *field;
    struct weir_buf *json;
    int64_t now_us;
};

static void append_element(void *state, const void *element)
{
    const struct list *list = state;
    const struct weir_record_pair *pair = element;
    const struct weir_record_count *count = element;

    if (list->field->type == WEIR_FIELD_MAP)
        weir_output_add_text(list->json, pair->name, pair->value);
    else if (list->field->type == WEIR_FIELD_COUNTS)
        weir_output_add_number(list->json, count->name, count->number);
    else if (list->field->type == WEIR_FIELD_WORDS)
        weir_output_add_text(list->json, NULL, element);
    else
        weir_record_append_json(list->field->record, list->json, NULL, element,
                                list->now_us);
}

static void append_list(const struct weir_record_field *self, struct weir_buf *json,
                        const void *row, int64_t now_us)
{
    bool map = self->type == WEIR_FIELD_MAP || self->type == WEIR_FIELD_COUNTS;
    struct list list = {.field = self, .json = json, .now_us = now_us};

    weir_output_open(json, self->key, map ? "{" : "[");
    self->each(row, append_element, &list);
    weir_buf_append_text(json, map ? "}" : "]");
}

static void append_text(const struct weir_record_field *self, struct weir_buf *json,
                        const void *row, int64_t now_us)
{
    char out[WEIR_CELL_SIZE];
    const char *text = text_of(self, row, now_us, out);

    if (text != NULL)
        weir_output_add_text(json, self->key, text);
    else
        weir_output_open(json, self->key, "null");
}

static void append_composed(const struct weir_record_field *self, struct weir_buf *json,
                            const struct weir_buf *composed)
{
    weir_output_open(json, self->key, "");
    if (composed->size == 0)
        weir_buf_append_text(json, "null");
    weir_buf_append(json, weir_buf_text(composed), composed->size);
}

/* What is made of several values. */
static void append_nested(const struct weir_record_field *self, struct weir_buf *json,
                          const void *row, int64_t now_us)
{
    const void *at = weir_field_at(self, row);

    switch (self->type) {
    case WEIR_FIELD_OBJECT:
        weir_record_append_json(self->record, json, self->key, at, now_us);
        break;
    case WEIR_FIELD_PART:
        weir_record_append_members(self->record, json, at, now_us);
        break;
    case WEIR_FIELD_LISTED:
        weir_record_list_append_json(at, json, self->key);
        break;
    case WEIR_FIELD_COMPOSED:
    case WEIR_FIELD_COMPOSED_PART:
        append_composed(self, json, at);
        break;
    default:
        append_list(self, json, row, now_us);
        break;
    }
}

static void append_field(const struct weir_record_field *self, struct weir_buf *json,
                         const void *row, int64_t now_us)
{
    switch (self->type) {
    case WEIR_FIELD_FLAG:
        weir_output_add_flag(json, self->key, weir_field_number(self, row) != 0);
        break;
    case WEIR_FIELD_I32:
    case WEIR_FIELD_U32:
    case WEIR_FIELD_I64:
    case WEIR_FIELD_U64:
    case WEIR_FIELD_SIZE:
        weir_output_add_number(json, self->key, weir_field_number(self, row));
        break;
    case WEIR_FIELD_RATE:
        weir_output_add_rate(json, self->key, *(const double *)weir_field_at(self, row));
        break;
    case WEIR_FIELD_US:
    case WEIR_FIELD_MS:
    case WEIR_FIELD_NS:
        weir_output_add_seconds(json, self->key, weir_field_number(self, row));
        break;
    case WEIR_FIELD_TIME:
        weir_output_add_time(json, self->key, weir_field_number(self, row));
        break;
    case WEIR_FIELD_BYTES:
        weir_output_add_bytes(json, self->key, self->bytes(row));
        break;
    case WEIR_FIELD_OBJECT:
    case WEIR_FIELD_PART:
    case WEIR_FIELD_LIST:
    case WEIR_FIELD_MAP:
    case WEIR_FIELD_WORDS:
    case WEIR_FIELD_COUNTS:
    case WEIR_FIELD_LISTED:
    case WEIR_FIELD_COMPOSED:
    case WEIR_FIELD_COMPOSED_PART:
        append_nested(self, json, row, now_us);
        break;
    default:
        append_text(self, json, row, now_us);
        break;
    }
}

static bool is_left_out(const struct weir_record_field *field, const void *row)
{
    if (field->shown != NULL && !field->shown(row))
        return true;
    if (!field->optional)
        return false;
    if (field->type == WEIR_FIELD_TEXT)
        return *(const char *const *)weir_field_at(field, row) == NULL;
    return weir_field_number(field, row) < 0;
}

void weir_record_append_members(const struct weir_record *self, struct weir_buf *json,
                                const void *row, int64_t now_us)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_record_field *field = &self->fields[i];

        if (field->key == NULL && field->type != WEIR_FIELD_PART &&
            field->type != WEIR_FIELD_COMPOSED_PART)
            continue;
        if (is_left_out(field, row))
            continue;
        if (field->known != NULL && !field->known(row))
            weir_output_open(json, field->key, "null");
        else
            append_field(field, json, row, now_us);
    }
}

void weir_record_append_json(const struct weir_record *self, struct weir_buf *json,
                             const char *name, const void *row, int64_t now_us)
{
    weir_output_open(json, name, "{");
    weir_record_append_members(self, json, row, now_us);
    weir_buf_append_text(json, "}");
}

void weir_record_set(const struct weir_record *self, void *row, const char *key,
                     int64_t number)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_record_field *field = &self->fields[i];

        if (field->type == WEIR_FIELD_I64 && strcmp(field->key, key) == 0)
            *(int64_t *)((char *)row + field->offset) = number;
    }
}
