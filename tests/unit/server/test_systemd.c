/*
 * Tests of server/systemd/systemd.c.
 *
 * The test is systemd: it binds the socket of the notifications, and reads from it.
 */
#include "server/systemd/systemd.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit/temp_dir.h"
#include "kit/test.h"

enum { WORDS_MAX = 8, PID = 4711, MESSAGE_SIZE = 1024, FIRST = 200 };

struct systemd_fixture {
    struct weir_systemd_options options;
    const char *environment[WORDS_MAX];
    struct weir_systemd systemd;
    struct weir_error error;
    int listener; /* of notifications */
};

static void setup(struct systemd_fixture *self)
{
    memset(self, 0, sizeof *self);
    self->listener = -1;
    self->options = (struct weir_systemd_options){
        .environment = self->environment, .pid = PID, .first_socket = FIRST};
}

static void add(struct systemd_fixture *self, const char *variable)
{
    size_t count = 0;

    while (self->environment[count] != NULL)
        count++;
    check(count + 1 < WORDS_MAX);
    self->environment[count] = variable;
}

static enum weir_status start(struct systemd_fixture *self)
{
    return weir_systemd_open(&self->systemd, &self->options, &self->error);
}

static void teardown(struct systemd_fixture *self)
{
    weir_systemd_close(&self->systemd);
    if (self->listener >= 0)
        close(self->listener);
}

/* Bind a socket of notifications at `path`, or with @ at a name without a file. */
static void listen_at(struct systemd_fixture *self, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    static char variable[160];

    memcpy(address.sun_path, path, size);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    self->listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    check(self->listener >= 0);
    check_int(bind(self->listener, (struct sockaddr *)&address,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)),
              0);
    snprintf(variable, sizeof variable, "NOTIFY_SOCKET=%s", path);
    add(self, variable);
}

static void listen_in_folder(struct systemd_fixture *self)
{
    static int number;
    char path[100];

    snprintf(path, sizeof path, "%.80s/notify-%d", temp_dir_of_program(), number++);
    listen_at(self, path);
}

/* The notification that was sent; "": there is none. */
static const char *received(const struct systemd_fixture *self)
{
    static char message[MESSAGE_SIZE];
    ssize_t size = recv(self->listener, message, sizeof message - 1, MSG_DONTWAIT);

    message[size > 0 ? size : 0] = '\0';
    return message;
}

/* ---- notifications ----------------------------------------------------------------- */

WEIR_TEST(systemd, is_told_each_state)
{
    struct systemd_fixture f;

    setup(&f);
    listen_in_folder(&f);
    check_status(start(&f), WEIR_OK);

    check_status(weir_systemd_notify_ready(&f.systemd, "two\ndatabases", NULL), WEIR_OK);
    check_str(received(&f), "READY=1\nSTATUS=two databases");
    check_status(weir_systemd_notify_ready(&f.systemd, NULL, NULL), WEIR_OK);
    check_str(received(&f), "READY=1");
    check_status(weir_systemd_notify_reloading(&f.systemd, 1234567890123, NULL), WEIR_OK);
    check_str(received(&f), "RELOADING=1\nMONOTONIC_USEC=1234567890123");
    check_status(weir_systemd_notify_extend(&f.systemd, 30000000, NULL), WEIR_OK);
    check_str(received(&f), "EXTEND_TIMEOUT_USEC=30000000");
    check_status(weir_systemd_notify_watchdog(&f.systemd, NULL), WEIR_OK);
    check_str(received(&f), "WATCHDOG=1");
    check_status(weir_systemd_notify_stopping(&f.systemd, "draining", NULL), WEIR_OK);
    check_str(received(&f), "STOPPING=1\nSTATUS=draining");
    check_str(received(&f), "");
    teardown(&f);
}

WEIR_TEST(systemd, may_have_a_socket_without_a_file)
{
    struct systemd_fixture f;
    char name[64];

    setup(&f);
    snprintf(name, sizeof name, "@weir-test-%d", (int)getpid());
    listen_at(&f, name);
    check_status(start(&f), WEIR_OK);
    check_status(weir_systemd_notify_watchdog(&f.systemd, NULL), WEIR_OK);
    check_str(received(&f), "WATCHDOG=1");
    teardown(&f);
}

WEIR_TEST(systemd, need_not_be_there)
{
    struct systemd_fixture f;
    int taken;

    setup(&f);
    f.options.environment = NULL;
    check_status(start(&f), WEIR_OK);
    check_status(weir_systemd_notify_ready(&f.systemd, "x", NULL), WEIR_OK);
    check_int(weir_systemd_watchdog_ns(&f.systemd), 0);
    check(weir_systemd_unused(&f.systemd) == NULL);
    check_status(weir_systemd_take_socket(&f.systemd, "api", &taken, &f.error),
                 WEIR_NOT_FOUND);
    check_str(f.error.text, "systemd:api: systemd has passed no socket of this name");
    teardown(&f);
}

WEIR_TEST(systemd, that_has_gone_fails_a_notification)
{
    struct systemd_fixture f;

    setup(&f);
    listen_in_folder(&f);
    check_status(start(&f), WEIR_OK);
    close(f.listener);
    f.listener = -1;
    check_status(weir_systemd_notify_ready(&f.systemd, NULL, &f.error), WEIR_SYSTEM);
    check_str(f.error.text, "notify systemd: Connection refused");
    teardown(&f);
}

WEIR_TEST(systemd, writes_no_other_address)
{
    static const char *const BAD[] = {"NOTIFY_SOCKET=notify", "NOTIFY_SOCKET=/",
                                      "NOTIFY_SOCKET=@", "NOTIFY_SOCKET=vsock:2:3"};
    static char too_long[200] = "NOTIFY_SOCKET=/";
    struct systemd_fixture f;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        setup(&f);
        add(&f, BAD[i]);
        check_status(start(&f), WEIR_INVALID);
        check_str(f.error.text, "NOTIFY_SOCKET is not what systemd writes there");
        teardown(&f);
    }
    memset(too_long + strlen(too_long), 'a', 107);
    setup(&f);
    add(&f, too_long);
    check_status(start(&f), WEIR_INVALID);
    teardown(&f);
}

/* ---- watchdog ---------------------------------------------------------------------- */

static int64_t watchdog_of(const char *usec, const char *pid)
{
    struct systemd_fixture f;
    int64_t ns;

    setup(&f);
    add(&f, usec);
    if (pid != NULL)
        add(&f, pid);
    check_status(start(&f), WEIR_OK);
    ns = weir_systemd_watchdog_ns(&f.systemd);
    teardown(&f);
    return ns;
}

WEIR_TEST(systemd, is_answered_twice_in_the_time_of_its_watchdog)
{
    check_int(watchdog_of("WATCHDOG_USEC=30000000", NULL), INT64_C(15000000000));
    check_int(watchdog_of("WATCHDOG_USEC=30000000", "WATCHDOG_PID=4711"),
              INT64_C(15000000000));
    check_int(watchdog_of("WATCHDOG_USEC=9223372036854775807", NULL), INT64_MAX / 2);
}

WEIR_TEST(systemd, may_watch_another_process)
{
    check_int(watchdog_of("WATCHDOG_USEC=30000000", "WATCHDOG_PID=4712"), 0);
    check_int(watchdog_of("WATCHDOG_USEC=30000000", "WATCHDOG_PID=x"), 0);
    check_int(watchdog_of("WATCHDOG_USEC=", NULL), 0);
}

WEIR_TEST(systemd, writes_no_other_time_of_a_watchdog)
{
    static const char *const BAD[] = {"WATCHDOG_USEC=0", "WATCHDOG_USEC=-1",
                                      "WATCHDOG_USEC=1s"};
    struct systemd_fixture f;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        setup(&f);
        add(&f, BAD[i]);
        check_status(start(&f), WEIR_INVALID);
        teardown(&f);
    }
}

/* ---- sockets ----------------------------------------------------------------------- */

/* A socket of this type at this descriptor, bound to loopback. */
static void pass(int descriptor, int type, bool listens)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int made = socket(AF_INET, type, 0);

    check(made >= 0);
    check_int(bind(made, (struct sockaddr *)&address, sizeof address), 0);
    if (listens)
        check_int(listen(made, 1), 0);
    check_int(dup2(made, descriptor), descriptor);
    close(made);
}

static bool is_open(int descriptor)
{
    return fcntl(descriptor, F_GETFD) >= 0;
}

WEIR_TEST(systemd, passes_sockets_by_name)
{
    struct systemd_fixture f;
    int taken = -1;

    setup(&f);
    pass(FIRST, SOCK_STREAM, true);
    pass(FIRST + 1, SOCK_STREAM, true);
    pass(FIRST + 2, SOCK_STREAM, true);
    add(&f, "LISTEN_FDS=3");
    add(&f, "LISTEN_PID=4711");
    add(&f, "LISTEN_FDNAMES=api:metrics:api");
    check_status(start(&f), WEIR_OK);
    check(fcntl(FIRST, F_GETFD) == FD_CLOEXEC);

    check_status(weir_systemd_take_socket(&f.systemd, "api", &taken, NULL), WEIR_OK);
    check_int(taken, FIRST);
    check_status(weir_systemd_take_socket(&f.systemd, "api", &taken, NULL), WEIR_OK);
    check_int(taken, FIRST + 2);
    check_status(weir_systemd_take_socket(&f.systemd, "api", &taken, NULL),
                 WEIR_NOT_FOUND);
    check_int(taken, -1);
    check_str(weir_systemd_unused(&f.systemd), "metrics");

    teardown(&f);
    check(is_open(FIRST) && is_open(FIRST + 2)); /* the caller's */
    check(!is_open(FIRST + 1));
    close(FIRST);
    close(FIRST + 2);
}

WEIR_TEST(systemd, may_pass_sockets_to_another_process)
{
    static const char *const PIDS[] = {"LISTEN_PID=4712", "LISTEN_PID=", NULL};
    struct systemd_fixture f;
    int taken;

    pass(FIRST, SOCK_STREAM, true);
    for (size_t i = 0; i < sizeof PIDS / sizeof PIDS[0]; i++) {
        setup(&f);
        add(&f, "LISTEN_FDS=1");
        add(&f, "LISTEN_FDNAMES=api");
        if (PIDS[i] != NULL)
            add(&f, PIDS[i]);
        check_status(start(&f), WEIR_OK);
        check_status(weir_systemd_take_socket(&f.systemd, "api", &taken, NULL),
                     WEIR_NOT_FOUND);
        teardown(&f);
        check(is_open(FIRST));
    }
    close(FIRST);
}

static void check_unfit(int type, bool listens)
{
    struct systemd_fixture f;
    int taken;

    pass(FIRST, type, listens);
    setup(&f);
    add(&f, "LISTEN_FDS=1");
    add(&f, "LISTEN_PID=4711");
    add(&f, "LISTEN_FDNAMES=api");
    check_status(start(&f), WEIR_OK);
    check_status(weir_systemd_take_socket(&f.systemd, "api", &taken, &f.error),
                 WEIR_INVALID);
    check_str(f.error.text, "systemd:api is no stream socket that listens; see "
                            "ListenStream= and Accept=no");
    check_int(taken, -1);
    teardown(&f);
}

WEIR_TEST(systemd, passes_no_socket_that_does_not_listen)
{
    check_unfit(SOCK_STREAM, false);
    check_unfit(SOCK_DGRAM, false);
}

WEIR_TEST(systemd, passes_sockets_that_are_open)
{
    struct systemd_fixture f;

    setup(&f);
    add(&f, "LISTEN_FDS=1");
    add(&f, "LISTEN_PID=4711");
    check_status(start(&f), WEIR_INVALID);
    check_str(f.error.text, "LISTEN_FDS: descriptor 200 is not open");
    teardown(&f);
}

WEIR_TEST(systemd, passes_at_most_64_sockets)
{
    struct systemd_fixture f;

    setup(&f);
    add(&f, "LISTEN_FDS=65");
    add(&f, "LISTEN_PID=4711");
    check_status(start(&f), WEIR_INVALID);
    check_str(f.error.text, "LISTEN_FDS is 65, must be at most 64");
    teardown(&f);

    setup(&f);
    add(&f, "LISTEN_FDS=one");
    add(&f, "LISTEN_PID=4711");
    check_status(start(&f), WEIR_INVALID);
    check_str(f.error.text, "LISTEN_FDS is not what systemd writes there");
    teardown(&f);
}

WEIR_TEST(systemd, may_pass_a_socket_that_is_public)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int v4 = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int v6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    check(weir_systemd_is_public(-1));
    check_int(bind(v4, (struct sockaddr *)&any, sizeof any), 0);
    check(weir_systemd_is_public(v4));
    close(v4);
    pass(FIRST, SOCK_STREAM, true);
    check(!weir_systemd_is_public(FIRST));
    close(FIRST);
    check(!weir_systemd_is_public(local));
    close(local);
    if (v6 >= 0) {
        if (bind(v6, (struct sockaddr *)&loopback, sizeof loopback) == 0)
            check(!weir_systemd_is_public(v6));
        close(v6);
    }
}
