/*
 * peer.h - somebody else with a database handle of its own, as if in another process,
 * who does one thing on a thread; and may be stopped just before he commits.
 *
 *   struct peer bob;
 *
 *   peer_open(&bob, fixture);
 *   peer_stand(&bob);                      he will wait before his commit
 *   peer_begin(&bob, cancel_it, &story);   what he does gets his engine
 *   peer_await(&bob);                      he stands there
 *   ...
 *   peer_go(&bob);
 *   check_status(peer_end(&bob), WEIR_OK);
 *   peer_close(&bob);
 */
#ifndef WEIR_TEST_PEER_H
#define WEIR_TEST_PEER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fault_point.h"
#include "contract/flow/flow_fixture.h"
#include "db/db.h"

typedef enum weir_status (*peer_fn)(struct weir_executions *executions, void *argument,
                                    struct weir_error *error);

struct peer {
    struct fixture *fixture;
    struct weir_db *db;
    struct weir_fault_points points;
    struct weir_executions *executions;
    peer_fn act;
    void *argument;
    pthread_t thread;
    enum weir_status status;
    struct weir_error error;
    _Atomic bool stands;
    _Atomic bool go;
    _Atomic bool done;
};

enum { PEER_BUSY }; /* the point that counts how often he had to wait, on SQLite */

static inline void peer_open(struct peer *self, struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    *self = (struct peer){.fixture = fixture, .db = fixture_open(fixture, &options)};
    weir_fault_points_init(&self->points);
    weir_fault_points_arm(&self->points, "db.busy", UINT64_MAX);
    weir_db_set_fault_points(self->db, &self->points);
    self->executions = flow_fixture_open_with(fixture, self->db, NULL);
}

static inline void peer_close(struct peer *self)
{
    weir_executions_destroy(self->executions);
    weir_db_destroy(self->db);
}

static inline void peer_stop_here(void *argument)
{
    struct peer *self = argument;

    atomic_store(&self->stands, true);
    wait_until(atomic_load(&self->go));
}

static inline void peer_stand(struct peer *self)
{
    weir_fault_points_arm_call(&self->points, "db.commit", 1, peer_stop_here, self);
}

static inline void *peer_run(void *argument)
{
    struct peer *self = argument;

    self->status = self->act(self->executions, self->argument, &self->error);
    atomic_store(&self->done, true);
    return NULL;
}

static inline void peer_begin(struct peer *self, peer_fn act, void *argument)
{
    self->act = act;
    self->argument = argument;
    check_int(pthread_create(&self->thread, NULL, peer_run, self), 0);
}

static inline void peer_await(struct peer *self)
{
    wait_until(atomic_load(&self->stands));
}

/* He waits for somebody's lock, or has come to his end. */
static inline bool peer_waits(struct peer *self)
{
    struct fixture *fixture = self->fixture;

    if (fixture->engine == WEIR_SQLITE)
        return atomic_load(&self->points.armed[PEER_BUSY].passed) > 0;
    return fixture_ask(fixture, "SELECT count(*) FROM pg_locks l WHERE NOT l.granted") >
           0;
}

static inline void peer_await_lock(struct peer *self)
{
    wait_until(atomic_load(&self->done) || peer_waits(self));
}

static inline void peer_go(struct peer *self)
{
    atomic_store(&self->go, true);
}

static inline enum weir_status peer_end(struct peer *self)
{
    check_int(pthread_join(self->thread, NULL), 0);
    return self->status;
}

#endif
