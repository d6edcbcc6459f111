/*
 * target.c - see target.h.
 */
#include "server/api/target.h"

#include <string.h>

void weir_target_init(struct weir_target *self)
{
    self->segment_count = 0;
    self->parameter_count = 0;
    self->used = 0;
}

static const char *keep(struct weir_target *self, struct weir_str piece)
{
    char *place = self->storage + self->used;

    if (piece.size >= sizeof self->storage - self->used)
        return NULL;
    if (piece.size > 0)
        memcpy(place, piece.data, piece.size);
    place[piece.size] = '\0';
    self->used += piece.size + 1;
    return place;
}

bool weir_target_add_segment(struct weir_target *self, struct weir_str segment)
{
    const char *text;

    if (self->segment_count == WEIR_TARGET_SEGMENTS_MAX)
        return false;
    text = keep(self, segment);
    if (text != NULL)
        self->segments[self->segment_count++] = text;
    return text != NULL;
}

bool weir_target_add_parameter(struct weir_target *self, struct weir_str name,
                               struct weir_str value)
{
    struct weir_target_parameter *parameter = &self->parameters[self->parameter_count];

    if (self->parameter_count == WEIR_TARGET_PARAMETERS_MAX)
        return false;
    parameter->name = keep(self, name);
    if (parameter->name == NULL)
        return false;
    parameter->value = keep(self, value);
    if (parameter->value == NULL)
        return false;
    self->parameter_count++;
    return true;
}

const char *weir_target_find(const struct weir_target *self, const char *name)
{
    for (size_t i = 0; i < self->parameter_count; i++)
        if (strcmp(self->parameters[i].name, name) == 0)
            return self->parameters[i].value;
    return NULL;
}
