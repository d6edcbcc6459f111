/*
 * bench_http.c - what the HTTP layer costs: processor time for each request, and memory
 * for each client that waits.
 *
 *   bench_http [--quick]
 *
 * The server runs in a process of its own, with one loop and a handler that answers 25
 * bytes or parks. The clients are in this process, so only the server's time and memory
 * are measured. TLS is not measured here.
 */
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "lib/must.h"
#include "lib/program.h"
#include "lib/sample.h"
#include "lib/table.h"
#include "server/http/server.h"
#include "weir/time.h"

#define HELLO "GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n"
#define PARK                                                                             \
    "POST /v1/executions/claim HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n"           \
    "Authorization: Bearer weir_0123456789012345678901234567890123456789012\r\n"         \
    "Content-Type: application/json\r\nContent-Length: "                                 \
    "24\r\n\r\n{\"lanes\":[\"a\"],\"wait\":60}"

enum { ALIVE = 32, ROUNDS = 5, ANSWER_SIZE = 4096 };

static size_t requests = 40000;
static size_t parked = 10000;

/* --- the server's process ------------------------------------------------------ */

static void answer(struct weir_http_exchange *exchange, const char *text)
{
    struct weir_http_response response = {
        .status = 200,
        .content_type = "application/json",
        .text = weir_str(text),
    };

    weir_http_exchange_answer(exchange, &response);
}

static void on_event(struct weir_http_exchange *exchange, void *state,
                     enum weir_http_event event)
{
    (void)state;
    if (event == WEIR_HTTP_DRAINING || event == WEIR_HTTP_GONE)
        answer(exchange, "{\"executions\":[]}");
}

static enum weir_http_admission admit(void *context, struct weir_http_exchange *exchange)
{
    (void)context;
    (void)exchange;
    return WEIR_HTTP_ADMITTED;
}

static void handle(void *context, struct weir_http_exchange *exchange)
{
    (void)context;
    if (weir_http_exchange_request(exchange)->method == WEIR_HTTP_GET)
        answer(exchange, "{\"seq\":12345,\"ok\":\"yes\"}\n");
    else
        weir_http_exchange_park(exchange, on_event, WEIR_FOREVER);
}

/* Write the address into `to`, drain at the first byte of `from`, end at its end. */
static int serve(int to, int from)
{
    struct weir_http_listener_options listener = {.address = "127.0.0.1:0", .fd = -1};
    struct weir_http_options options = {
        .listeners = &listener,
        .listener_count = 1,
        .loop_count = 1,
        .name = "bench",
        .handler = {.admit = admit, .handle = handle},
        .heap = weir_heap_system(),
    };
    struct weir_http_server *server;
    struct weir_error error = {0};
    char address[64] = "", byte;

    weir_http_limits_init(&options.limits);
    bench_must_ok(weir_http_server_create(&options, &server, &error), &error, "create");
    bench_must_ok(weir_http_server_start(server, &error), &error, "start");
    snprintf(address, sizeof address, "%s", weir_http_server_address(server, 0));
    bench_must(write(to, address, sizeof address) == (ssize_t)sizeof address, "write");
    while (read(from, &byte, 1) == 1)
        weir_http_server_drain(server);
    (void)weir_http_server_stop(server, 0);
    weir_http_server_destroy(server);
    return 0;
}

struct server {
    pid_t pid;
    int to, from;
    struct sockaddr_in address;
};

static void start(struct server *self)
{
    int down[2], up[2];
    char address[64];

    bench_must(pipe(down) == 0 && pipe(up) == 0, "pipe");
    self->pid = fork();
    bench_must(self->pid >= 0, "fork");
    if (self->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(down[1]);
        close(up[0]);
        _exit(serve(up[1], down[0]));
    }
    close(down[0]);
    close(up[1]);
    self->to = down[1];
    self->from = up[0];
    bench_must(read(self->from, address, sizeof address) == (ssize_t)sizeof address,
               "address");
    self->address = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
    };
}

static void stop(struct server *self)
{
    close(self->to);
    waitpid(self->pid, NULL, 0);
    close(self->from);
}

/* --- clients ------------------------------------------------------------------- */

static int open_client(const struct server *server)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    bench_must(fd >= 0 && connect(fd, (const struct sockaddr *)&server->address,
                                  sizeof server->address) == 0,
               "connect");
    return fd;
}

static void ask(int fd, const char *request)
{
    size_t size = strlen(request);

    bench_must(send(fd, request, size, MSG_NOSIGNAL) == (ssize_t)size, "send");
}

static void await(int fd)
{
    char reply[ANSWER_SIZE];

    bench_must(recv(fd, reply, sizeof reply, 0) > 0, "answer");
}

static double measure_requests(const struct server *server, const int *fds)
{
    int64_t before_ns = bench_program_processor_ns(server->pid);

    for (size_t done = 0; done < requests; done += ALIVE) {
        for (int i = 0; i < ALIVE; i++)
            ask(fds[i], HELLO);
        for (int i = 0; i < ALIVE; i++)
            await(fds[i]);
    }
    return (double)(bench_program_processor_ns(server->pid) - before_ns) /
           (double)requests;
}

static void bench_requests(void)
{
    struct server server;
    struct bench_sample sample = {0};
    int fds[ALIVE];

    start(&server);
    for (int i = 0; i < ALIVE; i++)
        fds[i] = open_client(&server);
    measure_requests(&server, fds); /* warm */
    for (int round = 0; round < ROUNDS; round++)
        bench_sample_add(&sample, measure_requests(&server, fds));
    bench_row_sample("processor time for each request", BENCH_NANOSECONDS, &sample,
                     BENCH_BELOW(10000));
    for (int i = 0; i < ALIVE; i++)
        close(fds[i]);
    stop(&server);
}

static void bench_parked(void)
{
    struct server server;
    int *fds = bench_must_alloc(parked, sizeof *fds);
    int64_t before_ns;

    start(&server);
    bench_row_value("resident, without clients", BENCH_BYTES,
                    (double)bench_program_resident_size(server.pid), BENCH_UNJUDGED);
    for (size_t i = 0; i < parked; i++) {
        fds[i] = open_client(&server);
        ask(fds[i], PARK);
    }
    sleep(1);
    bench_row_value("resident, all parked", BENCH_BYTES,
                    (double)bench_program_resident_size(server.pid), BENCH_BELOW(40e6));
    before_ns = bench_program_processor_ns(server.pid);
    sleep(4);
    bench_row_value("of a core, while all are parked", BENCH_PERCENT,
                    (double)(bench_program_processor_ns(server.pid) - before_ns) / 4e9 *
                        100,
                    BENCH_AT_MOST(0.1));
    bench_must(write(server.to, "d", 1) == 1, "drain");
    for (size_t i = 0; i < parked; i++) {
        await(fds[i]);
        close(fds[i]);
    }
    bench_row_value("resident, after all were answered", BENCH_BYTES,
                    (double)bench_program_resident_size(server.pid), BENCH_BELOW(40e6));
    free(fds);
    stop(&server);
}

static void raise_descriptors(void)
{
    struct rlimit limit;

    bench_must(getrlimit(RLIMIT_NOFILE, &limit) == 0, "limit of descriptors");
    limit.rlim_cur = limit.rlim_max;
    bench_must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "limit of descriptors");
    if (limit.rlim_cur < parked + 100)
        parked = limit.rlim_cur - 100;
}

int main(int argc, char **argv)
{
    char title[64];

    if (argc > 1 && strcmp(argv[1], "--quick") == 0)
        requests = 10000;
    raise_descriptors();
    bench_section("requests on 32 connections", "weir", "");
    bench_requests();
    snprintf(title, sizeof title, "%zu clients that wait", parked);
    bench_section(title, "weir", "");
    bench_parked();
    bench_summary();
    return 0;
}
