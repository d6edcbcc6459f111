/*
 * client.h - the execution engine of a process in a crash test, with its outbox; and
 * the life of a supervisor.
 *
 * Failure  Ends the process, with a text; while the server is away it tries again.
 */
#ifndef WEIR_TEST_RIG_CLIENT_H
#define WEIR_TEST_RIG_CLIENT_H

#include "crash/rig/rig.h"
#include "weir/executions.h"

enum { RIG_CLIENT_PARTITIONS = 16 };

struct rig_client {
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct weir_executions *executions;
};

void rig_client_open(struct rig *rig, struct rig_client *out);
void rig_client_close(struct rig_client *self);

/* All reconcilers, until the process must leave. `dependency_stale_ms` 0: the default. */
void rig_client_supervise(struct rig *rig, int64_t dependency_stale_ms);

#endif
