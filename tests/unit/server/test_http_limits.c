/* Tests of server/http: limits of time, connections, memory and descriptors. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/count.h"
#include "kit/http/fixture.h"
#include "kit/test.h"
#include "ward/system.h"

#define HELLO "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
#define MS INT64_C(1000000)

static struct http_fixture fixture;
static struct http_client client;

static void setup(void)
{
    http_fixture_start(&fixture);
    http_connect(&client, http_fixture_address(&fixture));
}

/* From now on, for a client that is connected already: a slow machine may need longer
 * than these limits from a connect to the first byte. */
static void shorten(int64_t header_timeout_ns, int64_t other_ns)
{
    struct weir_http_limits limits = fixture.options.limits;
    struct weir_error error;

    http_ask(&client, HELLO, 200);
    limits.header_timeout_ns = header_timeout_ns;
    limits.body_timeout_ns = other_ns;
    limits.write_timeout_ns = other_ns;
    check_status(weir_http_server_set_limits(fixture.server, &limits, &error), WEIR_OK);
    http_ask(&client, HELLO, 200);
}

static void finish(void)
{
    http_close(&client);
    http_fixture_close(&fixture);
}

static void check_status_of_next(int status)
{
    struct http_reply reply;

    check(http_receive(&client, &reply));
    check_int(reply.status, status);
    http_reply_fini(&reply);
}

/* --- time ---------------------------------------------------------------------- */

WEIR_TEST(limits, end_a_head_that_is_late)
{
    http_fixture_init(&fixture);
    setup();
    shorten(50 * MS, 30000 * MS);
    http_send(&client, "GET /hello HTTP/1.1\r\n");

    check_status_of_next(408);
    http_check_closed(&client);
    check_int(http_fixture_stats(&fixture).timeouts_total, 1);
    finish();
}

WEIR_TEST(limits, end_a_connection_that_never_sends)
{
    http_fixture_init(&fixture);
    fixture.options.limits.header_timeout_ns = 50 * MS;
    setup();

    http_check_closed(&client);
    finish();
}

/* A byte now and then does not extend the time. */
WEIR_TEST(limits, end_heads_that_drip_while_others_are_served)
{
    enum { COUNT = 300 };
    struct http_client *drips = calloc(COUNT, sizeof *drips);
    uint64_t late = 0;

    http_fixture_init(&fixture);
    setup();
    shorten(400 * MS, 30000 * MS);
    check(drips != NULL);
    for (int i = 0; i < COUNT; i++) {
        http_connect(&drips[i], http_fixture_address(&fixture));
        (void)http_try_send(&drips[i], "GET /hello HTTP/1.1\r\nX-A: ", 26);
    }
    while (late < COUNT) {
        for (int i = 0; i < COUNT; i++)
            (void)http_try_send(&drips[i], "x", 1);
        http_ask(&client, HELLO, 200);
        late = http_fixture_stats(&fixture).timeouts_total;
    }

    check_int(late, COUNT);
    for (int i = 0; i < COUNT; i++)
        http_close(&drips[i]);
    free(drips);
    finish();
}

WEIR_TEST(limits, end_a_body_that_is_late)
{
    http_fixture_init(&fixture);
    fixture.options.limits.body_timeout_ns = 50 * MS;
    setup();
    http_send(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");

    check_status_of_next(408);
    http_check_closed(&client);
    check_int(fixture.handled, 0);
    finish();
}

/* A connection that is older than the limit still has all of it. On a machine that stands
 * still for so long the body is late after all: that is seen, and tried again. */
WEIR_TEST(limits, of_a_body_begin_with_its_head)
{
    struct http_reply reply;
    int status = 0;

    http_fixture_init(&fixture);
    setup();
    shorten(30000 * MS, 300 * MS);
    for (int tries = 0; tries < 50 && status != 200; tries++) {
        int64_t begun_ns;

        http_close(&client);
        http_connect(&client, http_fixture_address(&fixture));
        http_ask(&client, "GET /park/400 HTTP/1.1\r\nHost: a\r\n\r\n", 200);
        begun_ns = weir_system_now_ns();
        http_send(&client,
                  "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
        http_fixture_wait_stats(&fixture, stats.waiting == 1 || stats.timeouts_total > 0);
        (void)http_try_send(&client, "b", 1);
        check(http_receive(&client, &reply));
        status = reply.status;
        http_reply_fini(&reply);
        check(status == 200 || weir_system_now_ns() - begun_ns >= 300 * MS);
    }

    check_int(status, 200);
    finish();
}

WEIR_TEST(limits, end_a_reader_that_is_too_slow)
{
    http_fixture_init(&fixture);
    fixture.options.limits.write_timeout_ns = 50 * MS;
    setup();
    http_send(&client, "GET /large/40000000 HTTP/1.1\r\nHost: a\r\n\r\n");

    http_fixture_wait_stats(&fixture,
                            stats.timeouts_total == 1 && stats.connections == 0);
    http_fixture_wait_stats(&fixture, stats.memory_bytes == 0 && stats.cut_total == 1);
    finish();
}

WEIR_TEST(limits, close_an_idle_connection)
{
    http_fixture_init(&fixture);
    fixture.options.limits.idle_timeout_ns = 50 * MS;
    setup();
    http_ask(&client, HELLO, 200);

    http_check_closed(&client);
    finish();
}

WEIR_TEST(limits, do_not_end_what_is_parked)
{
    http_fixture_init(&fixture);
    setup();
    shorten(20 * MS, 20 * MS);
    http_send(&client, "GET /park/300 HTTP/1.1\r\nHost: a\r\n\r\n");

    check_status_of_next(200);
    finish();
}

/* --- connections --------------------------------------------------------------- */

WEIR_TEST(limits, turn_away_the_connection_over_the_limit)
{
    struct http_client second, third;
    struct http_reply reply;

    http_fixture_init(&fixture);
    fixture.options.limits.connections_max = 2;
    setup();
    http_ask(&client, HELLO, 200);
    http_connect(&second, http_fixture_address(&fixture));
    http_ask(&second, HELLO, 200);
    http_connect(&third, http_fixture_address(&fixture));
    (void)http_try_send(&third, HELLO, strlen(HELLO));

    check(http_receive(&third, &reply));
    check_int(reply.status, 503);
    check_str(http_header(&reply, "Retry-After"), "1");
    http_reply_fini(&reply);
    http_check_closed(&third);
    check_int(fixture.handled, 2);

    http_close(&third);
    http_close(&second);
    http_fixture_wait_stats(&fixture, stats.connections == 1);
    http_connect(&second, http_fixture_address(&fixture));
    http_ask(&second, HELLO, 200);
    http_close(&second);
    finish();
}

WEIR_TEST(limits, turn_away_an_address_with_too_many_connections)
{
    struct http_client second;
    struct http_reply reply;

    http_fixture_init(&fixture);
    fixture.options.limits.connections_per_address = 1;
    weir_fault_points_arm(&fixture.points, "http.loopback_is_far", 1);
    setup();
    http_ask(&client, HELLO, 200);
    http_connect(&second, http_fixture_address(&fixture));

    check(http_receive(&second, &reply));
    check_int(reply.status, 503);
    http_reply_fini(&reply);
    http_close(&second);

    http_close(&client);
    http_fixture_wait_stats(&fixture, stats.connections == 0);
    http_connect(&client, http_fixture_address(&fixture));
    http_ask(&client, HELLO, 200);
    finish();
}

WEIR_TEST(limits, per_address_do_not_count_loopback)
{
    struct http_client second;

    http_fixture_init(&fixture);
    fixture.options.limits.connections_per_address = 1;
    setup();
    http_connect(&second, http_fixture_address(&fixture));

    http_ask(&client, HELLO, 200);
    http_ask(&second, HELLO, 200);
    http_close(&second);
    finish();
}

/* --- descriptors --------------------------------------------------------------- */

/* All descriptors that the process may still have. */
static int take_descriptors(int *fds, int count)
{
    int taken = 0;

    while (taken < count && (fds[taken] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        taken++;
    return taken;
}

WEIR_TEST(limits, of_descriptors_turn_clients_away_and_it_recovers)
{
    struct rlimit before, small;
    struct http_client late;
    struct http_reply reply;
    int fds[256], taken;

    http_fixture_init(&fixture);
    setup();
    http_ask(&client, HELLO, 200);
    late = (struct http_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    check_int(getrlimit(RLIMIT_NOFILE, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)late.fd + 40;
    check_int(setrlimit(RLIMIT_NOFILE, &small), 0);
    close(late.fd);
    taken = take_descriptors(fds, (int)COUNT_OF(fds));
    check(taken > 0);
    close(fds[--taken]);

    http_connect(&late, http_fixture_address(&fixture));
    check(http_receive(&late, &reply));
    check_int(reply.status, 503);
    http_reply_fini(&reply);
    http_ask(&client, HELLO, 200);

    http_close(&late);
    while (taken > 0)
        close(fds[--taken]);
    check_int(setrlimit(RLIMIT_NOFILE, &before), 0);
    http_connect(&late, http_fixture_address(&fixture));
    http_ask(&late, HELLO, 200);
    http_close(&late);
    finish();
}

/* --- memory -------------------------------------------------------------------- */

WEIR_TEST(limits, of_memory_hold_for_heads_that_drip)
{
    enum { COUNT = 40 };
    struct http_client drips[COUNT];
    char head[8192];
    uint64_t most = 0;

    http_fixture_init(&fixture);
    fixture.options.limits.memory_max = 100000;
    setup();
    memset(head, 'x', sizeof head);
    memcpy(head, "GET /", 5);
    for (int i = 0; i < COUNT; i++) {
        http_connect(&drips[i], http_fixture_address(&fixture));
        check(http_try_send(&drips[i], head, sizeof head));
    }
    http_fixture_wait_stats(&fixture, stats.busy_total > 0);
    for (int i = 0; i < COUNT; i++) {
        uint64_t now = http_fixture_stats(&fixture).memory_bytes;

        if (now > most)
            most = now;
        http_close(&drips[i]);
    }

    check(most <= 100000 + 40 * 1024);
    http_fixture_wait_stats(&fixture, stats.memory_bytes == 0);
    http_ask(&client, HELLO, 200);
    finish();
}

WEIR_TEST(limits, may_be_changed_while_it_runs)
{
    struct weir_http_limits limits;
    struct weir_error error;

    http_fixture_init(&fixture);
    setup();
    limits = fixture.options.limits;
    limits.body_max = 4;
    check_status(weir_http_server_set_limits(fixture.server, &limits, &error), WEIR_OK);

    /* The next turn of the loop reads them before it serves. */
    http_ask(&client, HELLO, 200);
    http_ask(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde",
             413);
    finish();
}

WEIR_TEST(limits, that_are_invalid_change_nothing)
{
    struct weir_http_limits limits;
    struct weir_error error;

    http_fixture_init(&fixture);
    setup();
    limits = fixture.options.limits;
    limits.header_max = 100;
    check_status(weir_http_server_set_limits(fixture.server, &limits, &error),
                 WEIR_INVALID);
    limits = fixture.options.limits;
    limits.idle_timeout_ns = 0;
    check_status(weir_http_server_set_limits(fixture.server, &limits, &error),
                 WEIR_INVALID);
    limits = fixture.options.limits;
    limits.connections_max = 0;
    check_status(weir_http_server_set_limits(fixture.server, &limits, &error),
                 WEIR_INVALID);

    http_ask(&client, HELLO, 200);
    finish();
}

WEIR_TEST(limits, of_time_show_in_the_last_run)
{
    int64_t before_ns = weir_system_now_ns();
    int64_t until_ns = before_ns + HTTP_WAIT_MS * MS;

    http_fixture_init(&fixture);
    setup();

    while (weir_http_server_last_run_ns(fixture.server) <= before_ns) {
        check(weir_system_now_ns() < until_ns);
        weir_system_sleep_ns(MS);
    }
    finish();
}
