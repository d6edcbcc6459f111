/*
 * reconciler_fixture.h - one reconciler, as if in another process, that ticks when a
 * test says so and on its thread.
 *
 *   struct reconciler_fixture round;
 *
 *   reconciler_fixture_open(&round, fixture, WEIR_RECONCILER_DEPENDENCY);      points
 *                                                                              and
 *                                                                              filter
 *                                                                              may be
 *                                                                              set
 *   check_status(reconciler_fixture_tick(&round), WEIR_OK);
 *   check_int(round.report.processed, 1);
 *   reconciler_fixture_close(&round);
 */
#ifndef WEIR_TEST_RECONCILER_FIXTURE_H
#define WEIR_TEST_RECONCILER_FIXTURE_H

#include <stdlib.h>

#include "contract/flow/flow_fixture.h"
#include "contract/flow/reconcile/supervisor_fixture.h"
#include "execution/reconcile/reconciler.h"
#include "ward/context.h"
#include "ward/failures.h"

struct reconciler_fixture {
    struct fixture *fixture;
    struct weir_db *db;
    struct weir_fault_points points; /* of `db`; "db.busy" is counted */
    struct weir_executions *executions;
    struct weir_reconciler_task task;
    struct weir_failures failures;
    struct weir_store_filter filter;
    struct weir_context context;
    struct weir_scan_report report; /* of all ticks */
    struct weir_error error;
    enum weir_status status; /* of the last one */
    uint64_t cycle;
    const char *name;
};

enum { ROUND_BUSY }; /* the point that is counted */

static inline void reconciler_fixture_open(struct reconciler_fixture *self,
                                           struct fixture *fixture,
                                           enum weir_reconciler which)
{
    enum { WORKER_SIZE = 65536 }; /* more than it has: one whom nobody has cancelled */
    struct weir_db_options options = fixture_options(fixture);

    *self = (struct reconciler_fixture){.fixture = fixture,
                                        .db = fixture_open(fixture, &options),
                                        .filter = {.name_space = weir_str(""),
                                                   .tag_key = weir_str(""),
                                                   .tag_value = weir_str("")},
                                        .context = {.worker = calloc(1, WORKER_SIZE)},
                                        .name = weir_reconciler_name(which)};
    check(self->context.worker != NULL);
    weir_fault_points_init(&self->points);
    weir_fault_points_arm(&self->points, "db.busy", UINT64_MAX);
    weir_db_set_fault_points(self->db, &self->points);
    self->executions = flow_fixture_open_with(fixture, self->db, NULL);
    self->task = (struct weir_reconciler_task){.kind = weir_reconcilers[which].kind,
                                               .due = weir_reconcilers[which].due,
                                               .executions = self->executions,
                                               .db = self->db,
                                               .store = &self->executions->store,
                                               .heap = self->executions->heap,
                                               .partitions = self->executions->partitions,
                                               .interval_us = 100000};
    check_db(weir_reconciler_init(&self->task, &fixture->error), WEIR_OK);
    weir_failures_init(&self->failures, self->executions->heap, weir_db_log(self->db),
                       "flow", self->name);
}

static inline void reconciler_fixture_close(struct reconciler_fixture *self)
{
    weir_failures_fini(&self->failures);
    weir_reconciler_fini(&self->task);
    weir_executions_destroy(self->executions);
    weir_db_destroy(self->db);
    free(self->context.worker);
}

static inline enum weir_status reconciler_fixture_tick(struct reconciler_fixture *self)
{
    const struct weir_scan_tick tick = {.scanner = "flow",
                                        .scan = self->name,
                                        .cycle = ++self->cycle,
                                        .filter = &self->filter,
                                        .failures = &self->failures};

    weir_failures_advance(&self->failures);
    self->status = self->task.kind->tick(&self->context, &self->task, &tick,
                                         &self->report, &self->error);
    return self->status;
}

#endif
