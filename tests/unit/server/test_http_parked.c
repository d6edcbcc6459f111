/* Tests of server/http: answers that come later, streams, drain and stop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/http/fixture.h"
#include "kit/temp_dir.h"
#include "kit/test.h"
#include "ward/system.h"
#include "weir/time.h"

#define PARK "GET /park HTTP/1.1\r\nHost: a\r\n\r\n"
#define STREAM "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"

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

/* At a unix socket: a port that is closed may be another process's in the next moment. */
static void start_at_path(char *address, size_t size)
{
    snprintf(address, size, "unix:%s/stop.sock", temp_dir_of_program());
    http_fixture_init(&fixture);
    fixture.listener.address = address;
    http_fixture_start(&fixture);
}

static void check_body_of_next(const char *want)
{
    struct http_reply reply;

    check(http_receive(&client, &reply));
    check_int(reply.status, 200);
    check_str(reply.body, want);
    http_reply_fini(&reply);
}

static int64_t far_away(void)
{
    return weir_system_now_ns() + 120 * INT64_C(1000000000);
}

WEIR_TEST(parked, is_answered_from_another_thread)
{
    setup();
    http_send(&client, PARK);
    http_fixture_wait_parked(&fixture, 1);

    http_fixture_answer(&fixture, "now");

    check_body_of_next("now");
    http_fixture_wait_event(&fixture, WEIR_HTTP_SENT, 1);
    check_int(http_fixture_events(&fixture, WEIR_HTTP_CUT), 0);
    check_int(http_fixture_events(&fixture, WEIR_HTTP_GONE), 0);
    finish();
}

WEIR_TEST(parked, is_answered_again_and_again_on_one_connection)
{
    setup();
    for (int i = 0; i < 20; i++) {
        http_send(&client, PARK);
        http_fixture_wait_parked(&fixture, 1);
        http_fixture_answer(&fixture, "again");
        check_body_of_next("again");
    }
    check_int(http_fixture_stats(&fixture).accepted_total, 1);
    finish();
}

WEIR_TEST(parked, is_counted)
{
    setup();
    http_send(&client, PARK);
    http_fixture_wait_stats(&fixture, stats.parked == 1 && stats.waiting == 0);
    http_fixture_wait_parked(&fixture, 1);

    http_fixture_answer(&fixture, "now");

    http_fixture_wait_stats(&fixture, stats.parked == 0 && stats.waiting == 0);
    finish();
}

WEIR_TEST(parked, expires_at_its_deadline)
{
    setup();
    http_send(&client, "GET /park/20 HTTP/1.1\r\nHost: a\r\n\r\n");

    check_body_of_next("expired");
    finish();
}

WEIR_TEST(parked, expires_at_once_when_the_deadline_has_passed)
{
    setup();
    http_send(&client, "GET /park/0 HTTP/1.1\r\nHost: a\r\n\r\n");

    check_body_of_next("expired");
    finish();
}

WEIR_TEST(parked, learns_that_its_client_has_closed)
{
    setup();
    http_send(&client, PARK);
    http_fixture_wait_parked(&fixture, 1);

    http_close(&client);

    http_fixture_wait_event(&fixture, WEIR_HTTP_GONE, 1);
    http_fixture_answer(&fixture, "too late");
    http_fixture_wait_event(&fixture, WEIR_HTTP_CUT, 1);
    check_int(http_fixture_events(&fixture, WEIR_HTTP_SENT), 0);
    http_fixture_wait_stats(&fixture, stats.connections == 0);
    http_fixture_close(&fixture);
}

WEIR_TEST(parked, learns_that_its_client_has_reset)
{
    setup();
    http_send(&client, PARK);
    http_fixture_wait_parked(&fixture, 1);

    http_reset(&client);

    http_fixture_wait_event(&fixture, WEIR_HTTP_GONE, 1);
    http_fixture_wait_stats(&fixture, stats.connections == 0);
    http_fixture_answer(&fixture, "too late");
    http_fixture_wait_event(&fixture, WEIR_HTTP_CUT, 1);
    http_fixture_close(&fixture);
}

WEIR_TEST(parked, learns_it_behind_a_pipelined_request)
{
    setup();
    http_send(&client, PARK PARK PARK);
    http_fixture_wait_parked(&fixture, 1);

    http_close(&client);

    http_fixture_wait_event(&fixture, WEIR_HTTP_GONE, 1);
    http_fixture_close(&fixture);
}

WEIR_TEST(parked, answers_a_client_that_has_closed_one_direction_only)
{
    setup();
    http_send(&client, "GET /park/60000 HTTP/1.1\r\nHost: a\r\n\r\n");
    http_half_close(&client);

    check_body_of_next("gone");
    http_fixture_wait_event(&fixture, WEIR_HTTP_CUT, 1);
    check_int(http_fixture_events(&fixture, WEIR_HTTP_SENT), 0);
    finish();
}

WEIR_TEST(parked, learns_of_each_of_750_clients_that_have_gone)
{
    enum { COUNT = 750 };
    struct http_client *many = calloc(COUNT, sizeof *many);

    http_fixture_open(&fixture);
    check(many != NULL);
    for (int i = 0; i < COUNT; i++) {
        http_connect(&many[i], http_fixture_address(&fixture));
        http_send(&many[i], PARK);
    }
    http_fixture_wait_parked(&fixture, COUNT);

    for (int i = 0; i < COUNT; i++)
        if (i % 2 == 0)
            http_close(&many[i]);
        else
            http_reset(&many[i]);

    http_fixture_wait_event(&fixture, WEIR_HTTP_GONE, COUNT);
    check_int(http_fixture_events(&fixture, WEIR_HTTP_GONE), COUNT);
    free(many);
    http_fixture_close(&fixture);
}

/* --- streams ------------------------------------------------------------------- */

static struct weir_http_exchange *begin_stream(const char *request)
{
    setup();
    http_send(&client, request);
    http_fixture_wait_parked(&fixture, 1);
    return http_fixture_take(&fixture);
}

WEIR_TEST(stream, is_sent_in_chunks)
{
    struct weir_http_exchange *exchange = begin_stream(STREAM);
    struct http_reply reply;

    check_status(weir_http_exchange_write(exchange, "one ", 4), WEIR_OK);
    check_status(weir_http_exchange_write(exchange, "", 0), WEIR_OK);
    check_status(weir_http_exchange_write(exchange, "two", 3), WEIR_OK);
    weir_http_exchange_end(exchange);

    check(http_receive(&client, &reply));
    check_str(reply.body, "one two");
    check_str(http_header(&reply, "Transfer-Encoding"), "chunked");
    check(http_header(&reply, "Content-Length") == NULL);
    http_reply_fini(&reply);
    http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200);
    finish();
}

WEIR_TEST(stream, arrives_while_it_goes_on)
{
    struct weir_http_exchange *exchange = begin_stream(STREAM);

    check_status(weir_http_exchange_write(exchange, "first", 5), WEIR_OK);
    do
        http_fill(&client, client.size + 1);
    while (!client.ended && memmem(client.data, client.size, "first", 5) == NULL);

    check(!client.ended);
    weir_http_exchange_end(exchange);
    finish();
}

WEIR_TEST(stream, ends_with_the_connection_for_http_1_0)
{
    struct weir_http_exchange *exchange = begin_stream("GET /stream HTTP/1.0\r\n\r\n");
    struct http_reply reply;

    check_status(weir_http_exchange_write(exchange, "one two", 7), WEIR_OK);
    weir_http_exchange_end(exchange);

    check(http_receive(&client, &reply));
    check(http_header(&reply, "Transfer-Encoding") == NULL);
    check_str(reply.body, "one two");
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(stream, that_is_cut_has_no_last_chunk)
{
    struct weir_http_exchange *exchange = begin_stream(STREAM);

    check_status(weir_http_exchange_write(exchange, "first", 5), WEIR_OK);
    weir_http_exchange_cut(exchange);

    http_fill(&client, 1 << 20);
    check(client.ended);
    check(memmem(client.data, client.size, "\r\n0\r\n", 5) == NULL);
    finish();
}

WEIR_TEST(stream, waits_for_a_client_that_does_not_read)
{
    struct weir_http_exchange *exchange = begin_stream(STREAM);
    static char piece[65536];
    struct http_reply reply;
    enum weir_status status = WEIR_OK;
    size_t sent = 0;

    memset(piece, 'x', sizeof piece);
    while (status == WEIR_OK && sent < (64u << 20)) {
        status = weir_http_exchange_write(exchange, piece, sizeof piece);
        sent += status == WEIR_OK ? sizeof piece : 0;
    }
    check_status(status, WEIR_FULL);
    check(http_fixture_stats(&fixture).memory_bytes < (2u << 20));
    http_fill(&client, 8 << 20 < sent ? 8 << 20 : sent);

    http_fixture_wait_event(&fixture, WEIR_HTTP_WRITABLE, 1);
    check_status(weir_http_exchange_write(exchange, "end", 3), WEIR_OK);
    weir_http_exchange_end(exchange);
    check(http_receive(&client, &reply));
    check_int(reply.body_size, sent + 3);
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(stream, is_closed_for_a_client_that_has_gone)
{
    struct weir_http_exchange *exchange = begin_stream(STREAM);

    http_reset(&client);
    http_fixture_wait_event(&fixture, WEIR_HTTP_GONE, 1);
    http_fixture_wait_stats(&fixture, stats.connections == 0);

    check_status(weir_http_exchange_write(exchange, "x", 1), WEIR_CLOSED);
    weir_http_exchange_end(exchange);
    http_fixture_wait_event(&fixture, WEIR_HTTP_CUT, 1);
    http_fixture_close(&fixture);
}

/* --- drain and stop ------------------------------------------------------------ */

WEIR_TEST(drain, tells_all_that_are_parked)
{
    enum { COUNT = 100 };
    struct http_client many[COUNT];
    struct http_reply reply;

    http_fixture_open(&fixture);
    for (int i = 0; i < COUNT; i++) {
        http_connect(&many[i], http_fixture_address(&fixture));
        http_send(&many[i], "GET /park/60000 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    http_fixture_wait_parked(&fixture, COUNT);

    weir_http_server_drain(fixture.server);

    for (int i = 0; i < COUNT; i++) {
        check(http_receive(&many[i], &reply));
        check_str(reply.body, "draining");
        check_str(http_header(&reply, "Connection"), "close");
        http_reply_fini(&reply);
        http_check_closed(&many[i]);
        http_close(&many[i]);
    }
    http_fixture_close(&fixture);
}

WEIR_TEST(drain, still_takes_requests_and_closes_after_them)
{
    struct http_reply reply;

    setup();
    weir_http_server_drain(fixture.server);
    check(weir_http_server_draining(fixture.server));
    http_send(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");

    check(http_receive(&client, &reply));
    check_str(reply.body, "hello");
    check_str(http_header(&reply, "Connection"), "close");
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(drain, tells_those_that_park_later)
{
    setup();
    weir_http_server_drain(fixture.server);
    http_send(&client, "GET /park/60000 HTTP/1.1\r\nHost: a\r\n\r\n");

    check_body_of_next("draining");
    finish();
}

WEIR_TEST(stop, does_not_wait_for_idle_connections)
{
    setup();
    http_ask(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 200);

    check_int(weir_http_server_stop(fixture.server, far_away()), 0);

    http_check_closed(&client);
    finish();
}

WEIR_TEST(stop, refuses_new_connections)
{
    struct http_client late;
    char address[200];

    start_at_path(address, sizeof address);
    http_connect(&client, address);

    check_int(weir_http_server_stop(fixture.server, far_away()), 0);

    check(!http_try_connect(&late, address));
    finish();
}

static void *answer_later(void *unused)
{
    (void)unused;
    http_fixture_wait_event(&fixture, WEIR_HTTP_DRAINING, 1);
    http_fixture_answer(&fixture, "last words");
    return NULL;
}

WEIR_TEST(stop, waits_until_every_answer_has_been_written)
{
    pthread_t thread;

    setup();
    http_send(&client, PARK);
    http_fixture_wait_parked(&fixture, 1);
    check_int(pthread_create(&thread, NULL, answer_later, NULL), 0);

    check_int(weir_http_server_stop(fixture.server, far_away()), 0);

    check_body_of_next("last words");
    check_int(http_fixture_events(&fixture, WEIR_HTTP_SENT), 1);
    pthread_join(thread, NULL);
    finish();
}

WEIR_TEST(stop, counts_what_handlers_still_have_at_the_deadline)
{
    setup();
    http_send(&client, PARK);
    http_fixture_wait_parked(&fixture, 1);

    check_int(weir_http_server_stop(fixture.server, weir_system_now_ns()), 1);

    http_check_closed(&client);
    http_fixture_answer(&fixture, "too late");
    http_close(&client);
    weir_http_server_destroy(fixture.server);
    check_int(fixture.events[WEIR_HTTP_GONE], 1);
    check_int(fixture.events[WEIR_HTTP_CUT], 1);
    check_int(fixture.heap.outstanding, 0);
}

WEIR_TEST(stop, of_a_server_that_was_never_started_is_fine)
{
    struct weir_error error;

    http_fixture_init(&fixture);
    check_status(weir_http_server_create(&fixture.options, &fixture.server, &error),
                 WEIR_OK);
    http_fixture_close(&fixture);
}

/* Clients that ask again and again. What they read is whole, or nothing at all. */
static void *ask_until_refused(void *argument)
{
    const char *address = argument;
    struct http_client own;
    struct http_reply reply;

    while (http_try_connect(&own, address)) {
        while (http_try_send(&own, PARK, strlen(PARK)) && http_receive(&own, &reply)) {
            check_str(reply.body, "ok");
            http_reply_fini(&reply);
        }
        http_close(&own);
    }
    return NULL;
}

static _Atomic bool answering;

static void *answer_all(void *unused)
{
    struct weir_http_exchange *exchange;

    (void)unused;
    while (atomic_load(&answering))
        if ((exchange = http_fixture_take(&fixture)) != NULL)
            http_answer(exchange, 200, "ok");
        else
            weir_system_sleep_ns(100000);
    return NULL;
}

WEIR_TEST(stop, under_load_cuts_no_answer)
{
    enum { CLIENTS = 8 };
    pthread_t clients[CLIENTS], answerer;
    char address[200];

    start_at_path(address, sizeof address);
    atomic_store(&answering, true);
    check_int(pthread_create(&answerer, NULL, answer_all, NULL), 0);
    for (int i = 0; i < CLIENTS; i++)
        check_int(pthread_create(&clients[i], NULL, ask_until_refused, address), 0);
    http_fixture_wait_stats(&fixture, stats.answered_2xx_total >= 200);

    check_int(weir_http_server_stop(fixture.server, far_away()), 0);

    atomic_store(&answering, false);
    pthread_join(answerer, NULL);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    check_int(http_fixture_stats(&fixture).cut_total, 0);
    http_fixture_close(&fixture);
}
