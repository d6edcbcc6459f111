/*
 * events.h - what happens to executions, announced in queues of the outbox.
 *
 *   queue                 types of the message, and what it is about
 *   execution.completion  success failed cancelled expired skipped: an execution ended
 *   execution.lease       acquired reclaimed expired revoked: a worker has got or lost it
 *   execution.signal      resumed kept buffered ignored: a signal has come
 *   execution.operator    priority_changed replayed resumed flow_cancel_requested: an
 *                         operator has intervened, or ends a flow
 *
 * The key is the execution's id, so that the events of one come in order within a
 * queue. The payload is JSON, with the same first fields for all:
 *
 *   {"event":"success","execution":"7-0190...","namespace":"default","lane":"orders",
 *    "kind":"mail","at_us":1700000000000000,"tags":{"tenant.plan":"gold"}, ...}
 *
 * Tags that would make it larger than the outbox allows are left out: "tags":null. Of a
 * flow the key is the flow's id, and there are no lane and no tags:
 *
 *   {"event":"flow_cancel_requested","flow":"0190...","namespace":"default",
 *    "kind":"order",
 *    "at_us":1700000000000000,"policy":"cancel_all","members":3,"reason":"enough"}
 *
 * Order    In the transaction of the change: both happen or neither.
 * Threads  The holder of the connection.
 */
#ifndef WEIR_EXECUTION_EVENTS_H
#define WEIR_EXECUTION_EVENTS_H

#include "execution/change_set.h"

struct weir_outbox;

enum { WEIR_EVENT_SIZE_MIN = 8192, WEIR_EVENT_PARTITIONS = 16 };

/*
 * Make the queues, which drop messages without a subscription. *size_max gets the largest
 * payload. WEIR_INVALID: it is below WEIR_EVENT_SIZE_MIN.
 */
WEIR_CHECKED enum weir_status
weir_events_open(struct weir_outbox *outbox, size_t *size_max, struct weir_error *error);

/* Is this the name of one of them? */
bool weir_events_is_queue(const char *name);

/* Make those that are missing, if there are tables of an outbox. One that is there
 * stays as it is, also with another number of partitions: weir_events_open() refuses
 * that. */
WEIR_CHECKED enum weir_status weir_events_make_queues(struct weir_db *db,
                                                      struct weir_error *error);

/* Enqueue what follows from the changes. `told`: something was sent. Nothing without an
 * outbox. */
WEIR_CHECKED enum weir_status weir_events_send(struct weir_executions *executions,
                                               struct weir_connection *connection,
                                               const struct weir_change *changes,
                                               size_t count, int64_t now_us, bool *told,
                                               struct weir_error *error);

/* One signal, and what it did. */
struct weir_signal_row;
WEIR_CHECKED enum weir_status weir_events_signal(struct weir_executions *executions,
                                                 struct weir_connection *connection,
                                                 struct weir_execution_record *stored,
                                                 const struct weir_signal_row *signal,
                                                 struct weir_str waitpoint_key,
                                                 const char *effect, int64_t now_us,
                                                 bool *told, struct weir_error *error);

/* A flow is cancelled: `row` is as it is then, and so many of its members were by
 * this. */
struct weir_flow_row;
WEIR_CHECKED enum weir_status
weir_events_flow_cancelled(struct weir_executions *executions,
                           struct weir_connection *connection,
                           const struct weir_flow_row *row, size_t members, bool *told,
                           struct weir_error *error);

#endif
