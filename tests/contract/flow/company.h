/*
 * company.h - somebody else with a database handle of its own, as if in another process, who does one
 * thing on a thread; and may be stopped just before he commits.
 *
 *   struct company bob;
 *
 *   company_open(&bob, fixture);
 *   company_stand(&bob);                      he will wait before his commit
 *   company_begin(&bob, cancel_it, &story);   what he does gets his engine
 *   company_await(&bob);                      he stands there
 *   ...
 *   company_go(&bob);
 *   check_status(company_end(&bob), WEIR_OK);
 *   company_close(&bob);
 */
#ifndef WEIR_TEST_COMPANY_H
#define WEIR_TEST_COMPANY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fault_point.h"
#include "contract/flow/works.h"
#include "db/db.h"

typedef enum weir_status (*company_fn)(struct weir_flow *flow, void *argument,
                                       struct weir_error *error);

struct company {
    struct fixture *fixture;
    struct weir_db *db;
    struct weir_fault_points points;
    struct weir_flow *flow;
    company_fn act;
    void *argument;
    pthread_t thread;
    enum weir_status status;
    struct weir_error error;
    _Atomic bool stands;
    _Atomic bool go;
    _Atomic bool done;
};

enum { COMPANY_BUSY }; /* the point that counts how often he had to wait, on SQLite */

static inline void company_open(struct company *self, struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    *self = (struct company){.fixture = fixture, .db = fixture_open(fixture, &options)};
    weir_fault_points_init(&self->points);
    weir_fault_points_arm(&self->points, "db.busy", UINT64_MAX);
    weir_db_set_fault_points(self->db, &self->points);
    self->flow = works_open_with(fixture, self->db, NULL);
}

static inline void company_close(struct company *self)
{
    weir_flow_destroy(self->flow);
    weir_db_destroy(self->db);
}

static inline void company_stop_here(void *argument)
{
    struct company *self = argument;

    atomic_store(&self->stands, true);
    wait_until(atomic_load(&self->go));
}

static inline void company_stand(struct company *self)
{
    weir_fault_points_arm_call(&self->points, "db.commit", 1, company_stop_here, self);
}

static inline void *company_run(void *argument)
{
    struct company *self = argument;

    self->status = self->act(self->flow, self->argument, &self->error);
    atomic_store(&self->done, true);
    return NULL;
}

static inline void company_begin(struct company *self, company_fn act, void *argument)
{
    self->act = act;
    self->argument = argument;
    check_int(pthread_create(&self->thread, NULL, company_run, self), 0);
}

static inline void company_await(struct company *self)
{
    wait_until(atomic_load(&self->stands));
}

/* He waits for somebody's lock, or has come to his end. */
static inline bool company_waits(struct company *self)
{
    struct fixture *fixture = self->fixture;

    if (fixture->engine == WEIR_SQLITE)
        return atomic_load(&self->points.armed[COMPANY_BUSY].passed) > 0;
    return fixture_ask(fixture, "SELECT count(*) FROM pg_locks l WHERE NOT l.granted") >
           0;
}

static inline void company_await_lock(struct company *self)
{
    wait_until(atomic_load(&self->done) || company_waits(self));
}

static inline void company_go(struct company *self)
{
    atomic_store(&self->go, true);
}

static inline enum weir_status company_end(struct company *self)
{
    check_int(pthread_join(self->thread, NULL), 0);
    return self->status;
}

#endif
