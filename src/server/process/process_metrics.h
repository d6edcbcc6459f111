/*
 * process_metrics.h - figures of the process and of its HTTP layer.
 */
#ifndef WEIR_SERVER_PROCESS_PROCESS_METRICS_H
#define WEIR_SERVER_PROCESS_PROCESS_METRICS_H

#include "server/api/metrics_text.h"
#include "server/http/stats.h"

/* weir_build_info, weir_start_time_seconds, process_*. What the system does not tell is
 * left out. */
void weir_process_metrics_add(struct weir_metrics_text *text, int64_t started_us);

/* weir_http_*. */
void weir_process_metrics_add_http(struct weir_metrics_text *text,
                                   const struct weir_http_stats *stats);

#endif
