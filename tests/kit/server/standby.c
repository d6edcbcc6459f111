/*
 * standby.c - see standby.h.
 *
 * That commits wait is set after the base backup, so that the copy does not have it: a
 * standby that is promoted must not wait for one of its own, which is not there yet.
 */
#include "kit/server/standby.h"

#include <stdio.h>
#include <stdlib.h>

#include "kit/db/engines.h"
#include "kit/test.h"

struct pair {
    struct server *servers[2];
    int primary;
};

static const char *const SETTINGS[] = {"synchronous_commit=on", "wal_keep_size=64MB",
                                       NULL};

/* A copy of a primary, ready to follow it. */
static void fill_from(const struct process_options *place, void *argument)
{
    struct server *primary = argument;
    char program[SERVER_PATH_SIZE], url[SERVER_URL_SIZE], data[SERVER_PATH_SIZE + 8];

    server_program(WEIR_POSTGRESQL, "pg_basebackup", program, sizeof program);
    server_url(primary, "", url, sizeof url);
    (void)snprintf(data, sizeof data, "%s/data", place->folder);
    process_run(place, (const char *[]){program, "-d", url, "-D", data, "-R", "-X",
                                        "stream", "-c", "fast", "--no-sync", NULL});
}

/* From now on commits wait for the other one. */
static void synchronise(struct pair *self)
{
    struct server *primary = pair_primary(self);

    server_execute(primary, NULL, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    server_execute(primary, NULL, "SELECT pg_reload_conf()");
    wait_until(server_query(primary, NULL,
                            "SELECT count(*) FROM pg_stat_replication"
                            " WHERE sync_state = 'sync' AND state = 'streaming'") == 1);
}

struct pair *pair_create(void)
{
    struct pair *self = calloc(1, sizeof *self);
    struct server_options options = {.settings = SETTINGS};

    check(self != NULL);
    self->servers[0] = server_create(WEIR_POSTGRESQL, &options);
    options.fill = fill_from;
    options.fill_argument = self->servers[0];
    self->servers[1] = server_create(WEIR_POSTGRESQL, &options);
    synchronise(self);
    return self;
}

void pair_destroy(struct pair *self)
{
    server_destroy(self->servers[0]);
    server_destroy(self->servers[1]);
    free(self);
}

struct server *pair_primary(const struct pair *self)
{
    return self->servers[self->primary];
}

struct server *pair_standby(const struct pair *self)
{
    return self->servers[1 - self->primary];
}

void pair_promote(struct pair *self)
{
    server_kill(pair_primary(self));
    self->primary = 1 - self->primary;
    check_int(
        server_query(pair_primary(self), NULL, "SELECT pg_promote(true, 60)::integer"),
        1);
}

void pair_rebuild(struct pair *self)
{
    server_refill(pair_standby(self), fill_from, pair_primary(self));
    server_restart(pair_standby(self));
    synchronise(self);
}

void pair_fail_over(struct pair *self)
{
    pair_promote(self);
    pair_rebuild(self);
}

void pair_url(const struct pair *self, const char *database, char *out, size_t size)
{
    int length =
        snprintf(out, size,
                 "postgresql://" SERVER_USER ":" SERVER_PASSWORD
                 "@127.0.0.1:%d,127.0.0.1:%d/%s?target_session_attrs=read-write",
                 server_port(self->servers[0]), server_port(self->servers[1]), database);

    check(length > 0 && (size_t)length < size);
}
