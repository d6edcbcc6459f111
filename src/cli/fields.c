/*
 * fields.c - see fields.h.
 */
#include "cli/fields.h"

#include <stddef.h>

#include "base/json_read.h"
#include "base/no_memory.h"

enum { DEPTH_MAX = 33 };

static void fill(struct weir_field *field, const struct weir_json_object *object)
{
    const struct weir_json_member *member =
        field->name != NULL ? weir_json_find(object, field->name) : NULL;

    field->found = WEIR_FIELD_ABSENT;
    field->text = NULL;
    if (member == NULL)
        return;
    if (weir_json_kind(member->value) == WEIR_JSON_NULL) {
        field->found = WEIR_FIELD_NULL;
    } else {
        field->found = WEIR_FIELD_GIVEN;
        field->text = member->text;
    }
}

static enum weir_status refuse(const struct weir_json_fault *fault,
                               struct weir_error *error)
{
    if (fault->not_utf8)
        return weir_error_set(error, WEIR_INVALID, "is not UTF-8");
    return weir_error_set(error, WEIR_INVALID, "is no JSON object: %s at byte %zu",
                          fault->why, fault->at);
}

enum weir_status weir_fields_read(struct weir_str line, struct weir_arena *arena,
                                  struct weir_field *fields, size_t count,
                                  struct weir_error *error)
{
    static const struct weir_json_rules RULES = {
        .depth_max = DEPTH_MAX,
        .allowed = WEIR_JSON_REPEATED_NAMES | WEIR_JSON_LONE_SURROGATES,
    };
    struct weir_json_object object;
    struct weir_json_fault fault;
    enum weir_status status = weir_json_read_object(line, &RULES, arena, &object, &fault);

    if (status == WEIR_INVALID)
        return refuse(&fault, error);
    if (status != WEIR_OK)
        return weir_no_memory(error, NULL);
    for (size_t i = 0; i < count; i++)
        fill(&fields[i], &object);
    return WEIR_OK;
}
