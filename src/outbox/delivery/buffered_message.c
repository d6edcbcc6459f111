/*
 * buffered_message.c - see buffered_message.h.
 */
#include "outbox/delivery/buffered_message.h"

#include <string.h>

#include "base/heap.h"
#include "outbox/headers.h"

static size_t room_for(struct weir_str text)
{
    return text.data == NULL ? 0 : text.size + 1;
}

/* Copy `text` and a zero to *end, which moves on. */
static struct weir_str put(char **end, struct weir_str text)
{
    struct weir_str copy = {.data = NULL, .size = 0};

    if (text.data == NULL)
        return copy;
    copy = (struct weir_str){.data = *end, .size = text.size};
    if (text.size > 0)
        memcpy(*end, text.data, text.size);
    (*end)[text.size] = '\0';
    *end += text.size + 1;
    return copy;
}

/* An empty text may come without bytes, and is a text all the same. */
static struct weir_str present(struct weir_str text)
{
    if (text.data == NULL)
        text.data = "";
    return text;
}

/* What is beyond a limit; a text without data when nothing is. */
static struct weir_str find_flaw(const struct weir_log_row *row, struct weir_error *error)
{
    if (row->headers.data == NULL || weir_headers_check(row->headers, error) == WEIR_OK)
        return (struct weir_str){.data = NULL, .size = 0};
    return weir_str(error->text);
}

struct weir_buffered_message *weir_buffered_message_create(const struct weir_heap *heap,
                                                           const struct weir_log_row *row)
{
    struct weir_str type = present(row->type);
    struct weir_str payload = present(row->payload);
    struct weir_error error = {0};
    struct weir_str flaw = find_flaw(row, &error);
    size_t size = sizeof(struct weir_buffered_message) + room_for(row->key) +
                  room_for(type) + room_for(row->headers) + room_for(payload) +
                  room_for(flaw);
    struct weir_buffered_message *self = weir_heap_alloc(heap, size);
    char *end;

    if (self == NULL)
        return NULL;
    end = (char *)(self + 1);
    *self = (struct weir_buffered_message){
        .log_position = row->log_position,
        .id = row->id,
        .pid = row->pid,
        .created_us = row->created_us,
        .size = size,
        .key = put(&end, row->key),
    };
    self->type = put(&end, type);
    self->headers = put(&end, row->headers);
    self->payload = put(&end, payload);
    self->flaw = put(&end, flaw);
    if (row->uid.size == WEIR_UID_SIZE)
        memcpy(self->uid, row->uid.data, WEIR_UID_SIZE);
    weir_list_init(&self->link);
    return self;
}

struct weir_buffered_message *
weir_buffered_message_copy(const struct weir_heap *heap,
                           const struct weir_buffered_message *other)
{
    struct weir_log_row row = {
        .log_position = other->log_position,
        .id = other->id,
        .pid = other->pid,
        .uid = {(const char *)other->uid, WEIR_UID_SIZE},
        .created_us = other->created_us,
        .key = other->key,
        .type = other->type,
        .headers = other->headers,
        .payload = other->payload,
    };

    return weir_buffered_message_create(heap, &row);
}
