/*
 * mount.h - one database of a server, with the threads that read it.
 *
 * The rest of the server never waits for a database: it hands over a job, and a reader
 * does it. Each database has readers of its own, so one that hangs or cannot be reached
 * disturbs no other.
 *
 *              reachable, schema fits             connection lost
 *   opening ---------------------------> ready <------------------> away
 *      |  ^                                ^        reachable again
 *      |  '--- backoff 0.1 to 5 s          |
 *      '-----> unfit ----------------------'  (the schema; tried again, too)
 *
 * The prober opens the database, and tries again for ever. While the mount is ready it
 * asks for the time every two seconds, so a loss is noticed without a request.
 *
 * Order    Jobs begin in the order of submit(), as many at once as there are readers.
 * Threads  Any thread; create(), stop() and destroy() one at a time. end() of a job is
 *          called by a reader, by the prober, or by stop().
 * Failure  While the database is away, submit() and the jobs that wait fail at once with
 *          WEIR_LOST; beyond `jobs_max` with WEIR_BUSY; after stop() with WEIR_CLOSED.
 */
#ifndef WEIR_SERVER_API_MOUNT_H
#define WEIR_SERVER_API_MOUNT_H

#include "base/list.h"
#include "weir/db.h"
#include "weir/executions.h"
#include "weir/heap.h"
#include "weir/outbox.h"

enum { WEIR_MOUNT_NAME_SIZE = 65, WEIR_MOUNT_READERS = 2 };

enum weir_mount_state {
    WEIR_MOUNT_OPENING, /* nothing is known yet */
    WEIR_MOUNT_READY,
    WEIR_MOUNT_AWAY,
    WEIR_MOUNT_UNFIT /* no tables, or those of another version */
};

enum weir_mount_engine {
    WEIR_MOUNT_ENGINE_AUTO, /* where there are tables of it */
    WEIR_MOUNT_ENGINE_NO
};

struct weir_mount;

struct weir_mount_options {
    const char *name; /* copied; as a worker's name, up to 64 characters */
    const char *url;  /* copied */
    const char *prefix;
    const struct weir_heap *heap; /* borrowed */
    struct weir_log log;          /* copied */
    uint32_t connections;         /* of the readers; at least 3 */
    int64_t statement_timeout_ns;
    int64_t probe_ns; /* between two looks while it is ready */
    uint32_t jobs_max;
    enum weir_mount_engine engine;
    bool migrate; /* bring the tables up to date first */

    /* Before the mount is ready first, as often as it takes; NULL: nothing. WEIR_MISMATCH
     * makes it unfit. */
    enum weir_status (*prepare)(void *state, struct weir_mount *mount,
                                struct weir_error *error);
    void *state;
};

struct weir_mount_job {
    struct weir_list link;

    /* By a reader, while the mount is ready. */
    enum weir_status (*run)(struct weir_mount_job *self, struct weir_mount *mount,
                            struct weir_error *error);

    /* Once, after run() or in place of it; `error` says how it went. */
    void (*end)(struct weir_mount_job *self, const struct weir_error *error);
};

struct weir_mount_status {
    enum weir_mount_state state;
    uint32_t tries;                  /* to open it or to reach it, so far */
    uint32_t schema;                 /* of the outbox; 0: not known */
    uint32_t engine_schema;          /* 0: there is no engine, or it is not known */
    char text[WEIR_ERROR_TEXT_SIZE]; /* why it is away or unfit; "" */
};

/* Defaults: prefix "weir", 8 connections, 30 s, a probe every 2 s, 1024 jobs. */
void weir_mount_options_init(struct weir_mount_options *self);

/* Check URL and options, start the threads, and begin to open. Fails with WEIR_INVALID,
 * WEIR_NO_MEMORY or WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_mount_create(const struct weir_mount_options *options,
                                                struct weir_mount **out,
                                                struct weir_error *error);

/* Refuse new jobs, end those that wait with WEIR_CLOSED, and wait up to `grace_ns` for
 * those that run. Returns how many threads are still busy. Twice is harmless. */
size_t weir_mount_stop(struct weir_mount *self, int64_t grace_ns);

/* stop(0) if need be. A thread that is still busy keeps the memory. NULL is fine. */
void weir_mount_destroy(struct weir_mount *self);

/* Borrows the job until end(). On a failure end() is not called. */
WEIR_CHECKED enum weir_status weir_mount_submit(struct weir_mount *self,
                                                struct weir_mount_job *job,
                                                struct weir_error *error);

void weir_mount_read_status(struct weir_mount *self, struct weir_mount_status *out);

/* "opening", "ready", "away", "unfit". */
const char *weir_mount_state_name(enum weir_mount_state state);

const char *weir_mount_name(const struct weir_mount *self);
const char *weir_mount_place(const struct weir_mount *self); /* URL without password */

/* Inside run(), and after the mount has been ready once. The second is NULL where there
 * is no engine. */
struct weir_db *weir_mount_db(const struct weir_mount *self);
struct weir_outbox *weir_mount_outbox(const struct weir_mount *self);
struct weir_executions *weir_mount_executions(const struct weir_mount *self);

#endif
