/* Tests of server/http/listener.c: where a server listens. */
#include "server/http/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "kit/http/fixture.h"
#include "kit/temp_dir.h"
#include "kit/test.h"

#define HELLO "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

static struct http_fixture fixture;
static struct http_client client;
static char path[200];

static void set_unix_path(void)
{
    snprintf(path, sizeof path, "unix:%s/weir.sock", temp_dir_of_program());
    http_fixture_init(&fixture);
    fixture.listener.address = path;
}

static void finish(void)
{
    http_close(&client);
    http_fixture_close(&fixture);
}

static enum weir_status create(const char *address, struct weir_error *error)
{
    struct weir_http_server *server;
    enum weir_status status;

    http_fixture_init(&fixture);
    fixture.listener.address = address;
    status = weir_http_server_create(&fixture.options, &server, error);
    check(server == NULL);
    check_int(fixture.heap.outstanding, 0);
    return status;
}

WEIR_TEST(listener, on_a_unix_socket_knows_the_user)
{
    char want[64];

    set_unix_path();
    http_fixture_start(&fixture);
    http_connect(&client, http_fixture_address(&fixture));
    snprintf(want, sizeof want, "peer unix uid %d tls 0", (int)geteuid());

    check(strstr(http_ask(&client, "GET /show HTTP/1.1\r\nHost: a\r\n\r\n", 200), want) !=
          NULL);
    finish();
}

WEIR_TEST(listener, on_a_unix_socket_has_the_permissions_that_were_asked_for)
{
    struct stat entry;

    set_unix_path();
    fixture.listener.unix_mode = 0640;
    http_fixture_start(&fixture);

    check_int(stat(path + 5, &entry), 0);
    check_int(entry.st_mode & 0777, 0640);
    http_fixture_close(&fixture);
    check(stat(path + 5, &entry) != 0);
}

WEIR_TEST(listener, replaces_the_file_of_a_dead_process)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    set_unix_path();
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path + 5);
    check_int(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);

    http_fixture_start(&fixture);
    http_connect(&client, http_fixture_address(&fixture));
    http_ask(&client, HELLO, 200);
    finish();
}

WEIR_TEST(listener, leaves_the_file_of_a_live_process)
{
    struct weir_http_server *second;
    struct weir_error error;

    set_unix_path();
    http_fixture_start(&fixture);

    check_status(weir_http_server_create(&fixture.options, &second, &error), WEIR_EXISTS);
    http_connect(&client, http_fixture_address(&fixture));
    http_ask(&client, HELLO, 200);
    finish();
}

WEIR_TEST(listener, leaves_a_file_that_is_no_socket)
{
    struct weir_http_server *server;
    struct weir_error error;
    struct stat entry;
    FILE *file;

    set_unix_path();
    file = fopen(path + 5, "we");
    check(file != NULL);
    fclose(file);

    check_status(weir_http_server_create(&fixture.options, &server, &error), WEIR_EXISTS);
    check_int(stat(path + 5, &entry), 0);
    check_int(unlink(path + 5), 0);
}

WEIR_TEST(listener, says_which_port_is_taken)
{
    struct weir_http_server *second;
    struct weir_error error;
    char address[64];

    http_fixture_open(&fixture);
    snprintf(address, sizeof address, "%s", http_fixture_address(&fixture));
    fixture.listener.address = address;

    check_status(weir_http_server_create(&fixture.options, &second, &error), WEIR_EXISTS);
    check(strstr(error.text, address) != NULL);
    http_fixture_close(&fixture);
}

WEIR_TEST(listener, takes_a_socket_that_listens)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    set_unix_path();
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path + 5);
    check_int(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    check_int(listen(fd, 5), 0);
    fixture.listener.fd = fd;
    http_fixture_start(&fixture);

    http_connect(&client, path);
    http_ask(&client, HELLO, 200);
    finish();
    check_int(unlink(path + 5), 0);
}

WEIR_TEST(listener, refuses_a_descriptor_that_does_not_listen)
{
    struct weir_http_server *server;
    struct weir_error error;

    http_fixture_init(&fixture);
    fixture.listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    check_status(weir_http_server_create(&fixture.options, &server, &error),
                 WEIR_INVALID);
}

WEIR_TEST(listener, refuses_addresses_that_are_none)
{
    struct weir_error error;

    check_status(create("127.0.0.1", &error), WEIR_INVALID);
    check_status(create("127.0.0.1:", &error), WEIR_INVALID);
    check_status(create(":80", &error), WEIR_INVALID);
    check_status(create("::1:80", &error), WEIR_INVALID);
    check_status(create("[::1]", &error), WEIR_INVALID);
    check_status(create("127.0.0.1:http", &error), WEIR_INVALID);
    check_status(create("127.0.0.1:1234567", &error), WEIR_INVALID);
    check_status(create("unix:relative", &error), WEIR_INVALID);
    check_status(create("", &error), WEIR_INVALID);
}

WEIR_TEST(listener, serves_ipv6_if_the_machine_has_it)
{
    struct weir_http_server *server;
    struct weir_error error;

    http_fixture_init(&fixture);
    fixture.listener.address = "[::1]:0";
    if (weir_http_server_create(&fixture.options, &server, &error) == WEIR_SYSTEM)
        return; /* no IPv6 here */
    weir_http_server_destroy(server);
    http_fixture_start(&fixture);
    http_connect(&client, http_fixture_address(&fixture));
    check(strstr(http_ask(&client, "GET /show HTTP/1.1\r\nHost: a\r\n\r\n", 200),
                 "peer ::1 uid -1") != NULL);
    finish();
}

WEIR_TEST(listener, tells_its_index)
{
    struct weir_http_listener_options two[2];

    http_fixture_init(&fixture);
    two[0] = two[1] = fixture.listener;
    fixture.options.listeners = two;
    fixture.options.listener_count = 2;
    http_fixture_start(&fixture);
    http_connect(&client, weir_http_server_address(fixture.server, 1));
    http_send(&client, "GET /park HTTP/1.1\r\nHost: a\r\n\r\n");
    http_fixture_wait_parked(&fixture, 1);

    struct weir_http_exchange *exchange = http_fixture_take(&fixture);

    check_int(weir_http_exchange_request(exchange)->peer.listener, 1);
    http_answer(exchange, 200, "ok");
    finish();
}

WEIR_TEST(server, refuses_options_that_are_invalid)
{
    struct weir_http_server *server;
    struct weir_error error;

    http_fixture_init(&fixture);
    fixture.options.loop_count = 17;
    check_status(weir_http_server_create(&fixture.options, &server, &error),
                 WEIR_INVALID);
    http_fixture_init(&fixture);
    fixture.options.listener_count = 0;
    check_status(weir_http_server_create(&fixture.options, &server, &error),
                 WEIR_INVALID);
    http_fixture_init(&fixture);
    fixture.options.name = "a\r\nb";
    check_status(weir_http_server_create(&fixture.options, &server, &error),
                 WEIR_INVALID);
    http_fixture_init(&fixture);
    fixture.listener.tls = true;
    check_status(weir_http_server_create(&fixture.options, &server, &error),
                 WEIR_INVALID);
}
