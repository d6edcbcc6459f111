/*
 * names.c - the rules for what producers and operators give, one function per rule.
 */
#include "outbox/names.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/noun.h"
#include "base/quote.h"
#include "base/utf8.h"

enum { HEADER_NAME_SIZE_MAX = 256 };

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_printable(char c)
{
    return c >= 0x20 && c <= 0x7e;
}

enum weir_status weir_queue_name_check(const char *what, const char *name,
                                       struct weir_error *error)
{
    struct weir_quote shown;
    size_t size;

    if (name == NULL || name[0] == '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "%s is %s, must have 1 to %d characters", what,
                              name == NULL ? "NULL" : "empty", WEIR_QUEUE_NAME_SIZE_MAX);
    size = strnlen(name, WEIR_QUEUE_NAME_SIZE_MAX + 1);
    if (size > WEIR_QUEUE_NAME_SIZE_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "%s \"%s\" is too long, must have at most %d characters",
                              what, weir_quote(&shown, name), WEIR_QUEUE_NAME_SIZE_MAX);
    for (size_t i = 0; i < size; i++) {
        if (!is_alphanumeric(name[i]) && strchr("._-", name[i]) == NULL)
            return weir_error_set(error, WEIR_INVALID,
                                  "%s \"%s\" has byte 0x%02x at %zu, must be ASCII "
                                  "letters, digits, '.', '_' and '-'",
                                  what, weir_quote(&shown, name),
                                  (unsigned)(unsigned char)name[i], i);
    }
    if (!is_alphanumeric(name[0]) || !is_alphanumeric(name[size - 1]))
        return weir_error_set(error, WEIR_INVALID,
                              "%s \"%s\" must begin and end with a letter or digit", what,
                              weir_quote(&shown, name));
    return WEIR_OK;
}

enum weir_status weir_printable_check(const char *what, const char *value, int size_max,
                                      struct weir_error *error)
{
    struct weir_quote shown;
    size_t size;

    if (value == NULL || value[0] == '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "%s is %s, must have 1 to %d characters", what,
                              value == NULL ? "NULL" : "empty", size_max);
    size = strnlen(value, (size_t)size_max + 1);
    if (size > (size_t)size_max)
        return weir_error_set(error, WEIR_INVALID,
                              "%s \"%s\" is too long, must have at most %d characters",
                              what, weir_quote(&shown, value), size_max);
    for (size_t i = 0; i < size; i++) {
        if (!is_printable(value[i]))
            return weir_error_set(
                error, WEIR_INVALID,
                "%s \"%s\" has byte 0x%02x at %zu, must be printable ASCII", what,
                weir_quote(&shown, value), (unsigned)(unsigned char)value[i], i);
    }
    return WEIR_OK;
}

static enum weir_status check_payload(const struct weir_draft *draft, size_t size_max,
                                      struct weir_error *error)
{
    if (draft->payload_size > size_max)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "payload has %zu bytes, must have at most %zu",
                              draft->payload_size, size_max);
    if (draft->payload == NULL && draft->payload_size > 0)
        return weir_error_set(error, WEIR_INVALID, "payload is NULL, must be %zu %s",
                              draft->payload_size,
                              WEIR_NOUN(draft->payload_size, "byte", "bytes"));
    return WEIR_OK;
}

static enum weir_status check_key(const char *key, struct weir_error *error)
{
    struct weir_quote shown;
    size_t size;

    if (key == NULL)
        return WEIR_OK;
    size = strnlen(key, WEIR_KEY_SIZE_MAX + 1);
    if (size > WEIR_KEY_SIZE_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "key \"%s\" is too long, must have at most %d bytes",
                              weir_quote(&shown, key), WEIR_KEY_SIZE_MAX);
    if (!weir_utf8_valid((struct weir_str){key, size}))
        return weir_error_set(error, WEIR_INVALID, "key \"%s\" must be UTF-8",
                              weir_quote(&shown, key));
    return WEIR_OK;
}

/* One header; what it needs is taken from *left, the bytes that names and values may
 * have. */
static enum weir_status check_header(const struct weir_header *header, size_t *left,
                                     struct weir_error *error)
{
    enum weir_status status =
        weir_printable_check("header name", header->name, HEADER_NAME_SIZE_MAX, error);
    struct weir_quote shown;
    size_t name_size, value_size;

    if (status != WEIR_OK)
        return status;
    if (header->value == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "header \"%s\" is NULL, must have a value",
                              weir_quote(&shown, header->name));
    name_size = strlen(header->name);
    value_size = name_size > *left ? 0 : strnlen(header->value, *left - name_size + 1);
    if (name_size + value_size > *left)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "headers up to \"%s\" are too large, names and values must "
                              "have at most %d bytes together",
                              weir_quote(&shown, header->name), WEIR_HEADERS_SIZE_MAX);
    if (!weir_utf8_valid((struct weir_str){header->value, value_size}))
        return weir_error_set(error, WEIR_INVALID, "header \"%s\" must be UTF-8",
                              weir_quote(&shown, header->name));
    *left -= name_size + value_size;
    return WEIR_OK;
}

/* At most 64, so each is compared with those before it. */
static enum weir_status check_headers(const struct weir_header *headers, size_t count,
                                      struct weir_error *error)
{
    size_t left = WEIR_HEADERS_SIZE_MAX;
    struct weir_quote shown;

    if (count > WEIR_HEADERS_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "header_count is %zu, must be at most %d", count,
                              WEIR_HEADERS_MAX);
    if (headers == NULL && count > 0)
        return weir_error_set(error, WEIR_INVALID,
                              "headers is NULL, must be a list of %zu", count);
    for (size_t i = 0; i < count; i++) {
        enum weir_status status = check_header(&headers[i], &left, error);

        if (status != WEIR_OK)
            return status;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(headers[i].name, headers[j].name) == 0)
                return weir_error_set(error, WEIR_INVALID,
                                      "header \"%s\" is there twice, must be once",
                                      weir_quote(&shown, headers[i].name));
        }
    }
    return WEIR_OK;
}

/* A key has a partition of its own, so that a second one would break its order. */
static enum weir_status check_route(const struct weir_draft *draft,
                                    struct weir_error *error)
{
    const struct weir_route *route = &draft->route;
    struct weir_quote shown;

    if (route->pinned && draft->key != NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "key \"%s\" chooses the partition, partition %d is given "
                              "too: give only one",
                              weir_quote(&shown, draft->key), (int)route->partition);
    if (!route->pinned && route->partition != 0)
        return weir_error_set(
            error, WEIR_INVALID,
            "route.partition is %d but not pinned, must be 0 or made by "
            "weir_route_to_partition()",
            (int)route->partition);
    return WEIR_OK;
}

enum weir_status weir_draft_check(const struct weir_draft *draft, size_t payload_size_max,
                                  struct weir_error *error)
{
    enum weir_status status =
        weir_printable_check("type", draft->type, WEIR_TYPE_SIZE_MAX, error);

    if (status == WEIR_OK)
        status = check_payload(draft, payload_size_max, error);
    if (status == WEIR_OK)
        status = check_key(draft->key, error);
    if (status == WEIR_OK)
        status = check_headers(draft->headers, draft->header_count, error);
    if (status == WEIR_OK)
        status = check_route(draft, error);
    return status;
}

enum weir_status weir_partitions_check(int32_t partitions, struct weir_error *error)
{
    if (partitions >= 1 && partitions <= WEIR_PARTITIONS_MAX &&
        (partitions & (partitions - 1)) == 0)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "partitions is %d, must be a power of two from 1 to %d",
                          (int)partitions, WEIR_PARTITIONS_MAX);
}

enum weir_status weir_partition_check(const char *queue, int32_t partition,
                                      int32_t partitions, struct weir_error *error)
{
    struct weir_quote shown;

    if (partition >= 0 && partition < partitions)
        return WEIR_OK;
    return weir_error_set(error, WEIR_OUT_OF_RANGE,
                          "queue \"%s\": partition is %d, must be from 0 to %d",
                          weir_quote(&shown, queue), (int)partition, (int)partitions - 1);
}

void weir_headers_write(const struct weir_header *headers, size_t count,
                        struct weir_buf *out)
{
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        weir_buf_append_text(out, i == 0 ? "{" : ",");
        weir_json_append_text(out, headers[i].name);
        weir_buf_append_text(out, ":");
        weir_json_append_text(out, headers[i].value);
    }
    weir_buf_append_text(out, "}");
}
