/*
 * request_meter.h - how many requests each route had, how they were answered, and how
 * long that took.
 *
 * Threads  Any thread; counting takes no lock.
 * Memory   One block, made in create().
 */
#ifndef WEIR_SERVER_API_REQUEST_METER_H
#define WEIR_SERVER_API_REQUEST_METER_H

#include "server/api/endpoint.h"
#include "server/api/metrics_text.h"

struct weir_request_meter;

/* Fails with WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status weir_request_meter_create(const struct weir_heap *heap,
                                                        struct weir_request_meter **out);
void weir_request_meter_destroy(struct weir_request_meter *self);

/* `endpoint` NULL: of no route. */
void weir_request_meter_count(struct weir_request_meter *self,
                              const struct weir_endpoint *endpoint, unsigned status,
                              int64_t duration_ns);

/* weir_http_requests_total and weir_http_request_seconds. */
void weir_request_meter_add(const struct weir_request_meter *self,
                            struct weir_metrics_text *text);

#endif
