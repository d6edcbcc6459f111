/* Tests of server/http: requests and answers over real sockets. */
#include "server/http/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/http/fixture.h"
#include "kit/test.h"
#include "ward/system.h"
#include "weir/time.h"

static struct http_fixture fixture;
static struct http_client client;

static void setup(void)
{
    http_fixture_open(&fixture);
    http_connect(&client, http_fixture_address(&fixture));
}

static void finish(void)
{
    http_close(&client);
    http_fixture_close(&fixture);
}

/* "NAME: " and 'x' as often as it takes to make the head `size` bytes long. */
static void send_head_of(size_t size)
{
    const char *start = "GET /hello HTTP/1.1\r\nHost: a\r\nX-Long: ";
    size_t fill = size - strlen(start) - 4;
    char *text = malloc(size + 1);

    check(text != NULL);
    memcpy(text, start, strlen(start));
    memset(text + strlen(start), 'x', fill);
    memcpy(text + strlen(start) + fill, "\r\n\r\n", 5);
    http_send(&client, text);
    free(text);
}

static void check_status_of_next(int status)
{
    struct http_reply reply;

    check(http_receive(&client, &reply));
    check_int(reply.status, status);
    http_reply_fini(&reply);
}

WEIR_TEST(http, answers_a_request)
{
    setup();

    check_str(http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200), "hello");
    finish();
}

WEIR_TEST(http, decodes_segments_and_parameters_once)
{
    setup();

    check_str(http_ask(&client,
                       "POST /show/a%2Fb/%2525?x=1%262&y HTTP/1.1\r\nHost: a\r\n"
                       "X-Two:  b c\t \r\n\r\n",
                       200),
              "POST\n[show][a/b][%25]\nx=1&2\ny=\nx-two=b c\n"
              "peer 127.0.0.1 uid -1 tls 0\n");
    finish();
}

WEIR_TEST(http, keeps_the_connection_for_the_next_request)
{
    setup();

    for (int i = 0; i < 50; i++)
        http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200);

    check_int(http_fixture_stats(&fixture).accepted_total, 1);
    check_int(http_fixture_stats(&fixture).requests_total, 50);
    finish();
}

WEIR_TEST(http, says_the_usual_headers)
{
    struct http_reply reply;

    setup();
    http_send(&client, "GET /hello HTTP/1.1\r\nHost: a\r\nWeir-Request: abc.1\r\n\r\n");
    check(http_receive(&client, &reply));

    check_str(http_header(&reply, "Weir-Request"), "abc.1");
    check_str(http_header(&reply, "Weir-Server"), "test");
    check_str(http_header(&reply, "Cache-Control"), "no-store");
    check_str(http_header(&reply, "X-Content-Type-Options"), "nosniff");
    check_str(http_header(&reply, "Content-Length"), "5");
    check_str(http_header(&reply, "Content-Type"), "text/plain");
    check(http_header(&reply, "Date") != NULL);
    check(http_header(&reply, "Connection") == NULL);
    check(http_header(&reply, "Strict-Transport-Security") == NULL);
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(http, makes_a_request_id_when_that_of_the_client_is_invalid)
{
    struct http_reply reply;

    setup();
    http_send(&client, "GET /hello HTTP/1.1\r\nHost: a\r\nWeir-Request: a b\r\n\r\n");
    check(http_receive(&client, &reply));

    check_int(strlen(http_header(&reply, "Weir-Request")), 16);
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(http, closes_after_http_1_0)
{
    setup();

    check_str(http_ask(&client, "GET /hello HTTP/1.0\r\n\r\n", 200), "hello");
    http_check_closed(&client);
    finish();
}

WEIR_TEST(http, closes_when_the_client_asks_for_it)
{
    struct http_reply reply;

    setup();
    http_send(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n"
                       "Connection: te, Close\r\n\r\n");
    check(http_receive(&client, &reply));

    check_str(http_header(&reply, "Connection"), "close");
    http_reply_fini(&reply);
    http_check_closed(&client);
    finish();
}

WEIR_TEST(http, answers_head_without_a_body)
{
    struct http_reply reply;

    setup();
    http_send(&client, "HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    check(http_receive_to(&client, "HEAD", &reply));

    check_str(http_header(&reply, "Content-Length"), "5");
    http_reply_fini(&reply);
    check_str(http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200), "hello");
    finish();
}

WEIR_TEST(http, hands_options_and_unknown_methods_to_the_handler)
{
    setup();

    check(strncmp(http_ask(&client, "OPTIONS /show HTTP/1.1\r\nHost: a\r\n\r\n", 200),
                  "OPTIONS\n", 8) == 0);
    check(strncmp(http_ask(&client, "BREW /show HTTP/1.1\r\nHost: a\r\n\r\n", 200),
                  "BREW\n", 5) == 0);
    finish();
}

WEIR_TEST(http, reads_a_body_of_known_length)
{
    setup();

    check_str(http_ask(&client,
                       "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde",
                       200),
              "abcde");
    finish();
}

WEIR_TEST(http, reads_a_chunked_body)
{
    setup();

    check_str(http_ask(&client,
                       "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                       "\r\n3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n",
                       200),
              "abc0123456789");
    check_str(http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200), "hello");
    finish();
}

WEIR_TEST(http, answers_what_comes_byte_by_byte)
{
    const char *request =
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
    struct http_reply reply;

    setup();
    for (const char *c = request; *c != '\0'; c++)
        check(http_try_send(&client, c, 1));

    check(http_receive(&client, &reply));
    check_str(reply.body, "abcde");
    http_reply_fini(&reply);
    check(http_receive(&client, &reply));
    check_str(reply.body, "hello");
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(http, answers_17_pipelined_requests_in_order)
{
    char request[128], want[16];
    struct http_reply reply;

    setup();
    for (int i = 0; i < 17; i++) {
        snprintf(request, sizeof request,
                 "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n%02d", i);
        http_send(&client, request);
    }

    for (int i = 0; i < 17; i++) {
        snprintf(want, sizeof want, "%02d", i);
        check(http_receive(&client, &reply));
        check_str(reply.body, want);
        http_reply_fini(&reply);
    }
    finish();
}

WEIR_TEST(http, handles_the_next_request_after_the_answer_to_the_parked_one)
{
    struct http_reply reply;

    setup();
    http_send(&client, "GET /park HTTP/1.1\r\nHost: a\r\n\r\n"
                       "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    http_fixture_wait_parked(&fixture, 1);
    check_int(fixture.handled, 1);

    http_fixture_answer(&fixture, "first");

    check(http_receive(&client, &reply));
    check_str(reply.body, "first");
    http_reply_fini(&reply);
    check(http_receive(&client, &reply));
    check_str(reply.body, "hello");
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(http, answers_1000_pipelined_requests)
{
    enum { COUNT = 1000 };
    const char *request = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
    size_t size = strlen(request);
    char *all = malloc(size * COUNT);
    struct http_reply reply;

    setup();
    check(all != NULL);
    for (int i = 0; i < COUNT; i++)
        memcpy(all + (size_t)i * size, request, size);
    check(http_try_send(&client, all, size * COUNT));
    for (int i = 0; i < COUNT; i++) {
        check(http_receive(&client, &reply));
        check_int(reply.status, 200);
        http_reply_fini(&reply);
    }
    free(all);
    finish();
}

WEIR_TEST(http, takes_a_head_of_exactly_16_kib)
{
    setup();
    send_head_of(16384);

    check_status_of_next(200);
    finish();
}

WEIR_TEST(http, refuses_a_head_of_one_byte_more)
{
    setup();
    send_head_of(16385);

    check_status_of_next(431);
    http_check_closed(&client);
    finish();
}

static void send_with_headers(uint32_t count)
{
    char line[64];

    http_send(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n");
    for (uint32_t i = 1; i < count; i++) {
        snprintf(line, sizeof line, "X-%u: 1\r\n", i);
        http_send(&client, line);
    }
    http_send(&client, "\r\n");
}

WEIR_TEST(http, takes_100_headers_and_refuses_101)
{
    setup();

    send_with_headers(100);
    check_status_of_next(200);
    send_with_headers(101);
    check_status_of_next(431);
    http_check_closed(&client);
    finish();
}

WEIR_TEST(http, takes_a_body_of_body_max)
{
    setup();

    check_str(http_ask(&client,
                       "POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"
                       "0123456789",
                       200),
              "0123456789");
    check_str(http_ask(&client,
                       "POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                       "\r\na\r\n0123456789\r\n0\r\n\r\n",
                       200),
              "0123456789");
    finish();
}

WEIR_TEST(http, refuses_a_body_over_body_max_before_it_comes)
{
    setup();

    http_ask(&client, "POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n",
             413);
    http_check_closed(&client);
    check_int(fixture.handled, 0);
    finish();
}

WEIR_TEST(http, refuses_a_chunk_over_body_max_before_it_comes)
{
    setup();

    http_ask(&client,
             "POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
             "5\r\n01234\r\n6\r\n",
             413);
    http_check_closed(&client);
    check_int(fixture.handled, 0);
    finish();
}

WEIR_TEST(http, refuses_a_body_over_memory_max)
{
    http_fixture_init(&fixture);
    fixture.options.limits.memory_max = 4096;
    http_fixture_start(&fixture);
    http_connect(&client, http_fixture_address(&fixture));
    char body[8192] = {0};

    http_send(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 8192\r\n\r\n");
    check(http_try_send(&client, body, sizeof body));

    check_status_of_next(503);
    http_check_closed(&client);
    check_int(http_fixture_stats(&fixture).busy_total, 1);
    http_fixture_wait_stats(&fixture, stats.memory_bytes == 0);
    finish();
}

WEIR_TEST(http, sends_100_continue_once_the_request_is_admitted)
{
    struct http_reply reply;

    setup();
    http_send(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                       "Content-Length: 3\r\n\r\n");
    check(http_receive(&client, &reply));
    check_int(reply.status, 100);
    http_reply_fini(&reply);

    check_str(http_ask(&client, "abc", 200), "abc");
    finish();
}

WEIR_TEST(http, denies_without_100_continue)
{
    setup();

    check_str(http_ask(&client,
                       "POST /deny HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                       "Content-Length: 3\r\n\r\n",
                       401),
              "denied");
    http_check_closed(&client);
    finish();
}

WEIR_TEST(http, keeps_the_connection_when_a_request_without_body_is_denied)
{
    setup();

    http_ask(&client, "GET /deny HTTP/1.1\r\nHost: a\r\n\r\n", 401);
    http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200);
    finish();
}

WEIR_TEST(http, lets_the_client_read_a_refusal_while_it_still_sends)
{
    char *body = calloc(1, 4 << 20);

    setup();
    check(body != NULL);
    http_send(&client,
              "POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 4194304\r\n\r\n");
    check(http_try_send(&client, body, 4 << 20));

    check_status_of_next(413);
    free(body);
    finish();
}

WEIR_TEST(http, sends_a_large_answer)
{
    struct http_reply reply;

    setup();
    http_send(&client, "GET /large/3000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    check(http_receive(&client, &reply));

    check_int(reply.body_size, 3000000);
    check(reply.body[2999999] != '\0');
    http_reply_fini(&reply);
    http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200);
    http_fixture_wait_stats(&fixture, stats.memory_bytes == 0);
    finish();
}

WEIR_TEST(http, answers_a_half_closed_client)
{
    struct http_reply reply;

    setup();
    http_send(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
    http_half_close(&client);

    check(http_receive(&client, &reply));
    check_str(reply.body, "ab");
    http_reply_fini(&reply);
    http_check_closed(&client);
    finish();
}

WEIR_TEST(http, closes_silently_when_a_request_is_not_complete)
{
    setup();
    http_send(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\nab");
    http_half_close(&client);

    http_check_closed(&client);
    check_int(fixture.handled, 0);
    finish();
}

WEIR_TEST(http, cuts_when_the_handler_cuts)
{
    setup();
    http_send(&client, "GET /cut HTTP/1.1\r\nHost: a\r\n\r\n");

    http_check_closed(&client);
    http_fixture_wait_stats(&fixture, stats.cut_total == 1);
    finish();
}

WEIR_TEST(http, counts_what_it_does)
{
    setup();
    http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200);
    http_ask(&client, "GET /none HTTP/1.1\r\nHost: a\r\n\r\n", 404);
    http_ask(&client, "GET nonsense HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    http_check_closed(&client);
    http_fixture_wait_stats(&fixture, stats.connections == 0);

    struct weir_http_stats stats = http_fixture_stats(&fixture);

    check_int(stats.accepted_total, 1);
    check_int(stats.requests_total, 3);
    check_int(stats.malformed_total, 1);
    check_int(stats.answered_2xx_total, 1);
    check_int(stats.answered_4xx_total, 2);
    check_int(stats.waiting, 0);
    check_int(stats.memory_bytes, 0);
    check(stats.sent_bytes_total > 500);
    finish();
}

WEIR_TEST(http, serves_from_several_loops)
{
    enum { COUNT = 40 };
    struct http_client many[COUNT];

    http_fixture_init(&fixture);
    fixture.options.loop_count = 4;
    http_fixture_start(&fixture);
    for (int i = 0; i < COUNT; i++)
        http_connect(&many[i], http_fixture_address(&fixture));
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < COUNT; i++)
            http_ask(&many[i], "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200);

    check_int(fixture.handled, 5 * COUNT);
    for (int i = 0; i < COUNT; i++)
        http_close(&many[i]);
    http_fixture_close(&fixture);
}
