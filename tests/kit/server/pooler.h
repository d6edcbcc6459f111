/*
 * pooler.h - a PgBouncer in transaction mode, in front of a test's PostgreSQL server.
 *
 * Any database and any role of the server can be reached through it; roles log in with
 * the passwords that the server knows. A pool (of one database and one role) has
 * `pool_size` sessions that take turns, so that no two transactions of a client are
 * sure to meet on one. From version 1.21 on PgBouncer follows named statements from
 * session to session, unless `keeps_no_statements` asks for the older behaviour. When
 * the server is gone it is tried again at once, not after the usual 15 seconds.
 *
 * Threads  The test's main thread.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_POOLER_H
#define WEIR_TEST_POOLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pooler_options {
    uint16_t server_port;
    uint16_t port;      /* its own; free a moment ago */
    int pool_size;      /* sessions of each pool */
    const char *folder; /* made if need be: settings, passwords, log */
    bool outlives_us;   /* otherwise it dies with this program */
    bool
        keeps_no_statements; /* named statements stay on the session that prepared them */
};

/* Start it. Returns its process when it answers; 0 when it ended by itself before,
 * because somebody has taken the port. Ended by process_end() with SIGTERM, which is at
 * once. */
pid_t pooler_start(const struct pooler_options *options);

#endif
