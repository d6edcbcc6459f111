/*
 * client.c - see client.h.
 */
#include "crash/rig/client.h"

#include <signal.h>

#include "weir/execution_supervisor.h"
#include "weir/outbox.h"

enum { RETRY_US = 5000, RECONCILE_MS = 250, STOP_S = 30 };

void rig_client_open(struct rig *rig, struct rig_client *out)
{
    struct weir_outbox_options outbox;
    struct weir_executions_options executions;
    struct weir_error error;

    (void)signal(SIGPIPE, SIG_IGN); /* drivers write to servers that are gone */
    out->db = rig_open_db(rig);
    weir_outbox_options_init(&outbox);
    outbox.db = out->db;
    outbox.stats_interval_ns = 0;
    while (!rig_went_well(rig, "create outbox",
                          weir_outbox_create(&outbox, &out->outbox, &error), &error))
        rig_rest_us(RETRY_US);
    weir_executions_options_init(&executions);
    executions.db = out->db;
    executions.outbox = out->outbox;
    executions.partitions = RIG_CLIENT_PARTITIONS;
    while (!rig_went_well(rig, "create executions",
                          weir_executions_create(&executions, &out->executions, &error),
                          &error))
        rig_rest_us(RETRY_US);
}

void rig_client_close(struct rig_client *self)
{
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
}

void rig_client_supervise(struct rig *rig, int64_t dependency_stale_ms)
{
    struct weir_execution_supervisor_options options;
    struct weir_execution_supervisor *supervisor = NULL;
    struct rig_client client;
    struct weir_error error;

    weir_error_clear(&error);
    rig_client_open(rig, &client);
    weir_execution_supervisor_options_init(&options);
    options.executions = client.executions;
    options.retention_ms = 0;
    if (dependency_stale_ms > 0)
        options.dependency_stale_ms = dependency_stale_ms;
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        options.interval_ms[i] = RECONCILE_MS;
    if (weir_execution_supervisor_create(&options, &supervisor, &error) != WEIR_OK ||
        weir_execution_supervisor_start(supervisor, &error) != WEIR_OK)
        rig_give_up(rig, "supervise: %s", error.text);
    rig_be_ready(rig);
    while (!rig_must_leave(rig))
        rig_rest_us(5000);
    if (weir_execution_supervisor_stop(supervisor, WEIR_SECONDS(STOP_S)) != 0)
        rig_give_up(rig, "a supervisor does not stop");
    weir_execution_supervisor_destroy(supervisor);
    rig_client_close(&client);
}
