/*
 * test_endpoint.c - which row a path and a method lead to.
 */
#include "server/api/endpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "kit/test.h"
#include "weir/heap.h"

static struct weir_target target;
static struct weir_endpoint_match match;

/* Split at slashes; nothing is decoded. */
static void find(enum weir_http_method method, const char *path)
{
    weir_target_init(&target);
    for (const char *at = path; *at == '/';) {
        size_t size = strcspn(++at, "/");

        check(weir_target_add_segment(&target, (struct weir_str){at, size}));
        at += size;
    }
    weir_endpoint_find(weir_endpoints, weir_endpoint_count, &target, method, &match);
}

static const char *found(const char *path)
{
    find(WEIR_HTTP_GET, path);
    return match.endpoint != NULL ? match.endpoint->id : "none";
}

WEIR_TEST(endpoint, is_found_by_its_whole_path)
{
    check_str(found("/livez"), "get_livez");
    check_str(found("/v1/queues"), "list_queues");
    check_str(found("/v1/queues/orders"), "get_queue");
    check_str(found("/v1/queues/orders/partitions"), "list_partitions");
    check_str(found("/v1"), "none");
    check_str(found("/v1/queue"), "none");
    check_str(found("/v1/queues/orders/partitions/3"), "none");
    check_str(found("/queues"), "none");
}

WEIR_TEST(endpoint, gets_the_names_of_its_path)
{
    check_str(found("/v1/executions/151-a/attempts"), "list_execution_attempts");
    check_str(match.names[0], "151-a");
    check(match.names[1] == NULL);
}

WEIR_TEST(endpoint, of_a_database_is_mounted_below_its_name)
{
    check_str(found("/db/shop/v1/queues/orders"), "get_queue");
    check_str(match.database, "shop");
    check_str(match.names[0], "orders");
    check_str(found("/v1/queues"), "list_queues");
    check(match.database == NULL);
}

WEIR_TEST(endpoint, of_the_server_is_not_mounted)
{
    check_str(found("/db/shop/livez"), "none");
    check_int(match.methods, 0);
    check_str(found("/db/shop/v1/relays"), "none");
    check_str(found("/db/shop"), "none");
}

WEIR_TEST(endpoint, with_another_method_says_which_methods_there_are)
{
    find(WEIR_HTTP_DELETE, "/v1/queues");

    check(match.endpoint == NULL);
    check_int(match.methods, 1u << WEIR_HTTP_GET);
}

WEIR_TEST(endpoint, methods_are_named_with_head_behind_get)
{
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), 64);
    weir_method_append(1u << WEIR_HTTP_GET | 1u << WEIR_HTTP_POST, &text);

    check_str(weir_buf_text(&text), "GET, HEAD, POST");
    weir_buf_fini(&text);
}

WEIR_TEST(endpoint, rows_have_one_id_and_one_path_and_method_each)
{
    for (size_t i = 0; i < weir_endpoint_count; i++) {
        const struct weir_endpoint *row = &weir_endpoints[i];

        check(row->run != NULL);
        check(row->about != NULL && row->about[strlen(row->about) - 1] == '.');
        check(row->list == NULL || row->answer != NULL);
        for (size_t j = 0; j < i; j++) {
            check(strcmp(row->id, weir_endpoints[j].id) != 0);
            check(strcmp(row->path, weir_endpoints[j].path) != 0 ||
                  row->method != weir_endpoints[j].method);
        }
    }
}

/* Each row is found by its own pattern, so none hides another. */
WEIR_TEST(endpoint, rows_are_all_reached)
{
    for (size_t i = 0; i < weir_endpoint_count; i++) {
        find(weir_endpoints[i].method, weir_endpoints[i].path);
        check(match.endpoint == &weir_endpoints[i]);
    }
}

WEIR_TEST(endpoint, rows_below_v1_need_a_scope)
{
    for (size_t i = 0; i < weir_endpoint_count; i++)
        if (strncmp(weir_endpoints[i].path, "/v1/", 4) == 0)
            check(weir_endpoints[i].scopes != 0);
}

WEIR_TEST(endpoint, results_and_signals_need_the_scope_content)
{
    check_str(found("/v1/executions/1-a/result"), "get_execution_result");
    check_int(match.endpoint->scopes, WEIR_SCOPE_CONTENT);
    check_str(found("/v1/executions/1-a/signals"), "list_execution_signals");
    check_int(match.endpoint->scopes, WEIR_SCOPE_CONTENT);
}

/* ---- targets ----------------------------------------------------------------------- */

WEIR_TEST(target, takes_pieces_up_to_its_limits_and_none_beyond)
{
    static char large[WEIR_TARGET_SIZE_MAX];
    struct weir_str piece = {large, sizeof large - 1};

    memset(large, 'a', sizeof large);
    weir_target_init(&target);
    check(weir_target_add_segment(&target, piece));
    check(!weir_target_add_segment(&target, (struct weir_str){"", 0}));

    weir_target_init(&target);
    piece.size++;
    check(!weir_target_add_segment(&target, piece));
    for (size_t i = 0; i < WEIR_TARGET_SEGMENTS_MAX; i++)
        check(weir_target_add_segment(&target, weir_str("a")));
    check(!weir_target_add_segment(&target, weir_str("a")));
    for (size_t i = 0; i < WEIR_TARGET_PARAMETERS_MAX; i++)
        check(weir_target_add_parameter(&target, weir_str("a"), weir_str("b")));
    check(!weir_target_add_parameter(&target, weir_str("a"), weir_str("b")));
}

WEIR_TEST(target, finds_the_value_of_a_parameter)
{
    weir_target_init(&target);
    check(weir_target_add_parameter(&target, weir_str("limit"), weir_str("10")));
    check(weir_target_add_parameter(&target, weir_str("after"), weir_str("")));

    check_str(weir_target_find(&target, "limit"), "10");
    check_str(weir_target_find(&target, "after"), "");
    check(weir_target_find(&target, "lim") == NULL);
}
