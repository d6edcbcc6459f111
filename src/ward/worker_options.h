/*
 * worker_options.h - checking what a worker is asked to be.
 */
#ifndef WEIR_WARD_WORKER_OPTIONS_H
#define WEIR_WARD_WORKER_OPTIONS_H

#include "weir/worker.h"

struct weir_executor;

/* WEIR_INVALID, unless every field is within its limits and belongs to `executor`. */
WEIR_CHECKED enum weir_status
weir_worker_options_check(const struct weir_worker_options *options,
                          const struct weir_executor *executor, struct weir_error *error);

#endif
