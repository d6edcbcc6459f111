/* Tests of server/http: clients that vanish, memory that is missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "kit/http/fixture.h"
#include "kit/test.h"
#include "ward/system.h"

static struct http_fixture fixture;

static const char body_request[] =
    "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3\r\nabc\r\n0\r\n\r\n";
static const char large_request[] = "GET /large/2000 HTTP/1.1\r\nHost: a\r\n\r\n";

/* The server has forgotten all clients, and serves. */
static void check_recovery(void)
{
    struct http_client client;

    http_fixture_wait_stats(&fixture, stats.connections == 0 && stats.memory_bytes == 0 &&
                                          stats.waiting == 0);
    http_connect(&client, http_fixture_address(&fixture));
    http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200);
    http_close(&client);
}

WEIR_TEST(faults, survive_a_reset_at_each_byte_of_a_request)
{
    struct http_client client;

    http_fixture_open(&fixture);
    for (size_t size = 0; size <= strlen(body_request); size++) {
        http_connect(&client, http_fixture_address(&fixture));
        check(http_try_send(&client, body_request, size));
        http_reset(&client);
    }
    for (size_t size = 0; size <= strlen(body_request); size++) {
        http_connect(&client, http_fixture_address(&fixture));
        check(http_try_send(&client, body_request, size));
        http_close(&client);
    }
    check_recovery();
    http_fixture_close(&fixture);
}

WEIR_TEST(faults, survive_a_reset_at_each_byte_of_an_answer)
{
    struct http_client client;
    char byte[1];

    http_fixture_open(&fixture);
    for (size_t size = 0; size < 600; size += 1 + size / 40) {
        http_connect(&client, http_fixture_address(&fixture));
        http_send(&client, large_request);
        for (size_t i = 0; i < size; i++)
            if (recv(client.fd, byte, 1, 0) != 1)
                break;
        http_reset(&client);
    }
    check_recovery();
    http_fixture_close(&fixture);
}

WEIR_TEST(faults, survive_a_reset_while_an_answer_is_on_its_way)
{
    struct http_client client;

    http_fixture_open(&fixture);
    for (int i = 0; i < 20; i++) {
        http_connect(&client, http_fixture_address(&fixture));
        http_send(&client, "GET /large/20000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        http_fill(&client, 1);
        http_reset(&client);
    }
    check_recovery();
    check_int(http_fixture_stats(&fixture).cut_total, 20);
    http_fixture_close(&fixture);
}

/* A client that does what it can, and never fails. */
static void try_all_kinds(void)
{
    static const char *const requests[] = {
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
        body_request,
        large_request,
        "GET /park/1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET nonsense HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    struct http_client client;
    struct http_reply reply;

    if (!http_try_connect(&client, http_fixture_address(&fixture)))
        return;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        (void)http_try_send(&client, requests[i], strlen(requests[i]) / 2);
        (void)http_try_send(&client, requests[i] + strlen(requests[i]) / 2,
                            strlen(requests[i]) - strlen(requests[i]) / 2);
        if (!http_receive(&client, &reply)) {
            http_close(&client);
            if (!http_try_connect(&client, http_fixture_address(&fixture)))
                return;
            continue;
        }
        check(reply.status == 200 || reply.status == 400 || reply.status == 503);
        http_reply_fini(&reply);
    }
    http_close(&client);
}

/* The server has no client now, so its loop allocates nothing. */
static void fail_at(uint64_t at, int after_too)
{
    fixture.heap.fail_after_too = after_too;
    weir_faulty_heap_fail_at(&fixture.heap, at);
}

WEIR_TEST(faults, survive_each_allocation_that_fails)
{
    for (int after_too = 0; after_too <= 1; after_too++) {
        for (uint64_t at = 1; at <= 60; at++) {
            http_fixture_open(&fixture);
            fail_at(at, after_too);
            try_all_kinds();
            http_fixture_wait_stats(&fixture, stats.connections == 0);
            fail_at(0, 0);
            check_recovery();
            http_fixture_close(&fixture);
        }
    }
}

WEIR_TEST(faults, leave_nothing_of_a_server_that_could_not_be_made)
{
    struct weir_http_server *server = NULL;
    enum weir_status status = WEIR_NO_MEMORY;
    struct weir_error error;

    for (uint64_t at = 1; status != WEIR_OK; at++) {
        http_fixture_init(&fixture);
        weir_faulty_heap_fail_at(&fixture.heap, at);
        status = weir_http_server_create(&fixture.options, &server, &error);
        check(status == WEIR_OK || status == WEIR_NO_MEMORY);
        weir_http_server_destroy(server);
        check_int(fixture.heap.outstanding, 0);
    }
}

WEIR_TEST(faults, of_many_clients_at_once_leave_the_server_whole)
{
    enum { ROUNDS = 300, AT_ONCE = 20 };
    static struct http_client clients[AT_ONCE];
    uint32_t seed = 1;

    http_fixture_init(&fixture);
    fixture.options.loop_count = 3;
    http_fixture_start(&fixture);
    for (int round = 0; round < ROUNDS; round++) {
        struct http_client *client = &clients[round % AT_ONCE];

        if (round >= AT_ONCE) {
            seed = seed * 1664525u + 1013904223u;
            if (seed & 0x10000)
                http_reset(client);
            else
                http_close(client);
        }
        http_connect(client, http_fixture_address(&fixture));
        seed = seed * 1664525u + 1013904223u;
        http_send(client, seed & 0x10000
                              ? "GET /park/2 HTTP/1.1\r\nHost: a\r\n\r\n"
                              : "GET /large/300000 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for (int i = 0; i < AT_ONCE; i++)
        http_close(&clients[i]);
    check_recovery();
    http_fixture_close(&fixture);
}
