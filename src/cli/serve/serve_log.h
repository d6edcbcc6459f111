/*
 * serve_log.h - the log of `weir serve` on standard error: a line for each event.
 *
 *   plain    12:00:01 info    server.ready address=127.0.0.1:9347
 *   logfmt   ts=2026-11-19T12:00:01.123456Z level=info event=server.ready address=...
 *   json     {"ts":"...","level":"info","event":"server.ready","facts":"address=..."}
 *
 * Threads  Any thread.
 */
#ifndef WEIR_CLI_SERVE_SERVE_LOG_H
#define WEIR_CLI_SERVE_SERVE_LOG_H

#include "server/config/config.h"
#include "weir/log.h"

struct weir_serve_log {
    enum weir_log_form form;
};

/* `self` is its state, and outlives what logs. */
void weir_serve_log_init(struct weir_serve_log *self,
                         const struct weir_config_server *config, struct weir_log *out);

#endif
