/*
 * test_openapi.c - the document has each route, and nothing else.
 */
#include "server/api/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "kit/test.h"
#include "weir/heap.h"

enum { DOCUMENT_SIZE_MAX = 4 << 20, PATH_SIZE = 256 };

static struct weir_buf document;

static void begin(void)
{
    weir_buf_init(&document, weir_heap_system(), DOCUMENT_SIZE_MAX);
    weir_openapi_append(weir_endpoints, weir_endpoint_count, &document);
    check_status(weir_buf_status(&document), WEIR_OK);
}

/* The value of a member of an object; empty: there is none. */
static struct weir_str member(struct weir_str object, const char *name)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    char text[PATH_SIZE];

    weir_json_walk_begin(&walk, object);
    while (weir_json_walk_next(&walk, &item)) {
        check(item.name.size < sizeof text);
        weir_json_copy_text(item.name, text);
        if (strcmp(text, name) == 0)
            return item.value;
    }
    return (struct weir_str){NULL, 0};
}

static size_t count_members(struct weir_str object)
{
    struct weir_json_walk walk;
    struct weir_json_item item;
    size_t count = 0;

    weir_json_walk_begin(&walk, object);
    while (weir_json_walk_next(&walk, &item))
        count++;
    return count;
}

static struct weir_str operation_of(const struct weir_endpoint *row, const char *prefix)
{
    struct weir_str paths = member(weir_buf_get(&document), "paths");
    char path[PATH_SIZE];
    char method[16];
    size_t size;

    snprintf(path, sizeof path, "%s%s", prefix, row->path);
    snprintf(method, sizeof method, "%s", weir_method_name(row->method));
    size = strlen(method);
    for (size_t i = 0; i < size; i++)
        method[i] = (char)tolower((unsigned char)method[i]);
    return member(member(paths, path), method);
}

WEIR_TEST(openapi, is_strict_json_of_version_3_1)
{
    struct weir_json_rules rules = {.object = true, .heap = weir_heap_system()};
    struct weir_json_fault fault = {0};
    enum weir_status status;
    char text[16];

    begin();
    status = weir_json_check(weir_buf_get(&document), &rules, &fault);
    check_str(fault.why, NULL);
    check_status(status, WEIR_OK);
    weir_json_copy_text(member(weir_buf_get(&document), "openapi"), text);
    check_str(text, "3.1.0");
    weir_buf_fini(&document);
}

WEIR_TEST(openapi, has_each_route_and_that_below_a_database_as_well)
{
    size_t paths = 0;

    begin();
    for (size_t i = 0; i < weir_endpoint_count; i++) {
        const struct weir_endpoint *row = &weir_endpoints[i];
        bool mounted = row->at != WEIR_AT_SERVER;
        char id[64];

        check(operation_of(row, "").size > 0);
        weir_json_copy_text(member(operation_of(row, ""), "operationId"), id);
        check_str(id, row->id);
        check((operation_of(row, "/db/{database}").size > 0) == mounted);
        paths += mounted ? 2 : 1; /* every path has one method so far */
    }
    check_int(count_members(member(weir_buf_get(&document), "paths")), paths);
    weir_buf_fini(&document);
}

WEIR_TEST(openapi, has_the_parameters_of_each_route)
{
    begin();
    for (size_t i = 0; i < weir_endpoint_count; i++) {
        const struct weir_endpoint *row = &weir_endpoints[i];
        size_t in_path = 0;

        for (const char *at = row->path; (at = strchr(at, '{')) != NULL; at++)
            in_path++;
        check_int(count_members(member(operation_of(row, ""), "parameters")),
                  in_path + row->parameter_count);
    }
    weir_buf_fini(&document);
}

/* "$ref" leads to a schema that is there. */
WEIR_TEST(openapi, has_every_schema_that_it_points_to)
{
    static const char MARK[] = "\"$ref\":\"#/components/schemas/";
    struct weir_str schemas;
    size_t count = 0;

    begin();
    schemas = member(member(weir_buf_get(&document), "components"), "schemas");
    for (const char *at = weir_buf_text(&document); (at = strstr(at, MARK)) != NULL;) {
        char name[PATH_SIZE];
        size_t size;

        at += sizeof MARK - 1;
        size = strcspn(at, "\"");
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        check(member(schemas, name).size > 0);
        count++;
    }
    check(count >= weir_endpoint_count);
    weir_buf_fini(&document);
}

WEIR_TEST(openapi, asks_for_a_token_where_a_scope_is_needed)
{
    begin();
    for (size_t i = 0; i < weir_endpoint_count; i++)
        check((count_members(member(operation_of(&weir_endpoints[i], ""), "security")) >
               0) == (weir_endpoints[i].scopes != 0));
    weir_buf_fini(&document);
}
