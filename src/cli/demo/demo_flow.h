/*
 * demo_flow.h - `weir demo --flow`: orders as flows of executions, workers that are
 * killed, and whether all of it comes out right.
 */
#ifndef WEIR_CLI_DEMO_DEMO_FLOW_H
#define WEIR_CLI_DEMO_DEMO_FLOW_H

#include "cli/command.h"

struct weir_demo_flow_options {
    const struct weir_command *command;
    int64_t limit_ns; /* WEIR_FOREVER: until a signal */
    int64_t rate;     /* 1 to WEIR_ORDERS_RATE_MAX */
    const char *dir;  /* NULL: a temporary folder */
    bool json;
    bool quiet; /* only the end is shown */
};

/* The exit code. The process must have no other thread yet. */
WEIR_CHECKED int weir_demo_flow_run(const struct weir_demo_flow_options *options);

#endif
