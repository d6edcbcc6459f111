/*
 * json_walk.c - see json_walk.h.
 */
#include "cli/flow/json_walk.h"

#include <string.h>

#include "outbox/headers.h"

static void skip_space(struct weir_json_walk *self)
{
    while (self->at < self->end && strchr(" \t\r\n,:", *self->at) != NULL &&
           *self->at != '\0')
        self->at++;
}

static void skip_text(struct weir_json_walk *self)
{
    for (self->at++; self->at < self->end && *self->at != '"'; self->at++)
        self->at += *self->at == '\\' && self->at + 1 < self->end;
    self->at += self->at < self->end;
}

/* A number or a word. */
static void skip_word(struct weir_json_walk *self)
{
    while (self->at < self->end && strchr(" \t\r\n,:]}", *self->at) == NULL)
        self->at++;
}

static void skip_value(struct weir_json_walk *self)
{
    size_t depth = 0;

    do {
        if (*self->at == '"') {
            skip_text(self);
            continue;
        }
        depth += *self->at == '{' || *self->at == '[';
        depth -= *self->at == '}' || *self->at == ']';
        self->at++;
    } while (self->at < self->end && depth > 0);
}

void weir_json_walk_begin(struct weir_json_walk *self, struct weir_str json)
{
    *self = (struct weir_json_walk){.at = json.data, .end = json.data + json.size};
    skip_space(self);
    if (self->at < self->end && (*self->at == '{' || *self->at == '['))
        self->named = *self->at++ == '{';
    else
        self->end = self->at;
}

bool weir_json_walk_next(struct weir_json_walk *self, struct weir_str *out)
{
    skip_space(self);
    if (self->at < self->end && self->named && *self->at == '"') {
        skip_text(self);
        skip_space(self);
    }
    if (self->at >= self->end || *self->at == '}' || *self->at == ']')
        return false;
    out->data = self->at;
    if (*self->at == '"' || *self->at == '{' || *self->at == '[')
        skip_value(self);
    else
        skip_word(self);
    if (self->at > self->end)
        self->at = self->end;
    out->size = (size_t)(self->at - out->data);
    return true;
}

/* The reader of headers knows escapes, and reads objects. */
const char *weir_json_value_text(struct weir_str value, struct weir_arena *arena)
{
    static const char BEGIN[] = "{\"\":";
    size_t begin_size = sizeof BEGIN - 1;
    char *object = weir_arena_alloc(arena, begin_size + value.size + 1);
    struct weir_str json = {object, begin_size + value.size + 1};
    size_t size, count;
    void *memory;

    if (object == NULL)
        return NULL;
    memcpy(object, BEGIN, begin_size);
    memcpy(object + begin_size, value.data, value.size);
    object[begin_size + value.size] = '}';
    if (weir_headers_measure(json, &size, &count, NULL) != WEIR_OK || count != 1)
        return "";
    memory = weir_arena_alloc(arena, size);
    return memory != NULL ? weir_headers_place(json, memory, count).list[0].value : NULL;
}
