/*
 * Tests of server/config/address.c.
 */
#include "server/config/address.h"

#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "kit/test.h"
#include "weir/heap.h"

static struct weir_arena arena;
static struct weir_error error;
static struct weir_config_listener listener;

static enum weir_status read_listener(const char *text)
{
    weir_arena_fini(&arena);
    weir_arena_init(&arena, weir_heap_system(), 1 << 16);
    return weir_address_read_listener(&arena, text, &listener, &error);
}

WEIR_TEST(address, of_tcp_has_host_and_port)
{
    check_status(read_listener("127.0.0.1:9347"), WEIR_OK);
    check_int(listener.kind, WEIR_LISTENER_TCP);
    check_str(listener.text, "127.0.0.1:9347");
    check_str(listener.address, "127.0.0.1");
    check_int(listener.port, 9347);

    check_status(read_listener("[::1]:0"), WEIR_OK);
    check_str(listener.address, "::1");
    check_int(listener.port, 0);

    check_status(read_listener("web-1.example:65535"), WEIR_OK);
    check_str(listener.address, "web-1.example");
    check_int(listener.port, 65535);
}

WEIR_TEST(address, of_tcp_is_public_unless_it_is_loopback)
{
    const char *const loopback[] = {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1",
                                    "localhost:1", "[::ffff:127.0.0.1]:1"};
    const char *const others[] = {
        "0.0.0.0:1", "128.0.0.1:1",         "10.0.0.1:1",        "[::]:1",
        "[::2]:1",   "localhost.example:1", "[::ffff:1.2.3.4]:1"};

    for (size_t i = 0; i < COUNT_OF(loopback); i++) {
        check_status(read_listener(loopback[i]), WEIR_OK);
        check(!listener.is_public);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        check_status(read_listener(others[i]), WEIR_OK);
        check(listener.is_public);
    }
}

WEIR_TEST(address, may_be_a_unix_socket)
{
    char path[160] = "unix:/";

    check_status(read_listener("unix:/run/weir/api.sock"), WEIR_OK);
    check_int(listener.kind, WEIR_LISTENER_UNIX);
    check_str(listener.address, "/run/weir/api.sock");
    check(!listener.is_public);

    memset(path + 6, 'a', 106);
    check_status(read_listener(path), WEIR_OK);
    path[112] = 'a';
    check_status(read_listener(path), WEIR_INVALID);
}

WEIR_TEST(address, may_be_a_socket_of_systemd)
{
    check_status(read_listener("systemd:api"), WEIR_OK);
    check_int(listener.kind, WEIR_LISTENER_SYSTEMD);
    check_str(listener.address, "api");
}

WEIR_TEST(address, is_nothing_else)
{
    const char *const bad[] = {"127.0.0.1",
                               "127.0.0.1:",
                               "127.0.0.1:65536",
                               "127.0.0.1:-1",
                               ":80",
                               "::1:80",
                               "[::1]",
                               "[::1:80",
                               "[]:80",
                               "[1.2.3.4]:80",
                               "256.0.0.1:80",
                               "127.1:80",
                               "a b:80",
                               "*:80",
                               "-a:80",
                               ".a:80",
                               "unix:",
                               "unix:weir.sock",
                               "systemd:",
                               "systemd:a:b",
                               "http://a:80",
                               "[::1]80",
                               "80",
                               "[::1]:8x",
                               "a:80:80",
                               "[fe80::1%e]:1",
                               "127.0.0.1: 80"};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (read_listener(bad[i]) != WEIR_INVALID)
            weir_test_fail(__FILE__, __LINE__, "%s is taken", bad[i]);
        check(error.text[0] == '"');
    }
}

WEIR_TEST(address, without_a_port_is_told_the_usual_one)
{
    check_status(read_listener("127.0.0.1"), WEIR_INVALID);
    check_str(error.text, "\"127.0.0.1\" has no port; write 127.0.0.1:9347");
}

WEIR_TEST(address, of_any_length_is_answered)
{
    char text[1000];

    memset(text, 'a', sizeof text);
    strcpy(text + sizeof text - 4, ":80");
    check_status(read_listener(text), WEIR_INVALID);
}
