/*
 * systemd.h - the protocol between systemd and a service, without its library.
 *
 *   NOTIFY_SOCKET                     this process tells how far it is
 *   LISTEN_FDS, _PID, _FDNAMES        sockets that were bound for it, by name
 *   WATCHDOG_USEC, _PID               it is restarted unless it reports in time
 *
 *   weir_systemd_open(&systemd, &options, &error);
 *   listener = weir_systemd_take_socket(&systemd, "api");
 *   ...
 *   weir_systemd_notify_ready(&systemd, "3 databases", NULL);
 *
 * Without systemd there is nothing of that, and every notification is WEIR_OK.
 *
 * Threads  Notifications: any. open, close, take: one.
 * Failure  A notification that fails changes nothing; it is for the log.
 */
#ifndef WEIR_SERVER_SYSTEMD_SYSTEMD_H
#define WEIR_SERVER_SYSTEMD_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "weir/error.h"

enum { WEIR_SYSTEMD_SOCKETS_MAX = 64, WEIR_SYSTEMD_NAME_SIZE = 256 };

struct weir_systemd_options {
    const char *const *environment; /* "NAME=value", ends with NULL; borrowed */
    int64_t pid;                    /* of this process: others' variables do not count */
    int first_socket;               /* descriptor of the first one; 0: 3, as always */
};

struct weir_systemd_socket {
    int descriptor; /* owned until it is taken; then -1 */
    char name[WEIR_SYSTEMD_NAME_SIZE];
};

struct weir_systemd {
    int notify; /* -1: none */
    struct sockaddr_un address;
    uint32_t address_size;
    int64_t watchdog_us; /* 0: none */
    struct weir_systemd_socket sockets[WEIR_SYSTEMD_SOCKETS_MAX];
    size_t socket_count;
};

/*
 * Read the variables. The sockets are closed in programs that this process starts.
 * WEIR_INVALID: a variable has not the form that systemd gives it, or there are more than
 * WEIR_SYSTEMD_SOCKETS_MAX sockets; WEIR_SYSTEM. Owes a close() in any case.
 */
WEIR_CHECKED enum weir_status
weir_systemd_open(struct weir_systemd *self, const struct weir_systemd_options *options,
                  struct weir_error *error);

/* Closes the sockets that were not taken. */
void weir_systemd_close(struct weir_systemd *self);

/* ---- sockets ----------------------------------------------------------------------- */

/*
 * Take a listening stream socket with this name (FileDescriptorName=, or that of the
 * unit); it is the caller's. One name may have several: *out is the next one, and
 * WEIR_NOT_FOUND ends them. WEIR_INVALID: it is no stream socket, or does not listen.
 */
WEIR_CHECKED enum weir_status weir_systemd_take_socket(struct weir_systemd *self,
                                                       const char *name, int *out,
                                                       struct weir_error *error);

/* The name of a socket that was not taken, which would let clients wait for ever; NULL:
 * there is none. */
const char *weir_systemd_unused(const struct weir_systemd *self);

/* May other machines reach this listening socket? Also true if it cannot be asked. */
bool weir_systemd_is_public(int descriptor);

/* ---- notifications ----------------------------------------------------------------- */

/* Requests are accepted now, also after a reload. `text` is shown by systemctl; NULL:
 * none. */
enum weir_status weir_systemd_notify_ready(const struct weir_systemd *self,
                                           const char *text, struct weir_error *error);

/* A reload begins, at this time of CLOCK_MONOTONIC; ready() ends it. */
enum weir_status weir_systemd_notify_reloading(const struct weir_systemd *self,
                                               int64_t monotonic_us,
                                               struct weir_error *error);

/* The stop begins. */
enum weir_status weir_systemd_notify_stopping(const struct weir_systemd *self,
                                              const char *text, struct weir_error *error);

/* The start, reload or stop that runs may take so much longer, from now on. */
enum weir_status weir_systemd_notify_extend(const struct weir_systemd *self,
                                            int64_t longer_us, struct weir_error *error);

/* The process lives. To be called every weir_systemd_watchdog_ns(). */
enum weir_status weir_systemd_notify_watchdog(const struct weir_systemd *self,
                                              struct weir_error *error);

/* Half of what systemd waits for; 0: it does not watch this process. */
int64_t weir_systemd_watchdog_ns(const struct weir_systemd *self);

#endif
