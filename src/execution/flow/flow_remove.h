/*
 * flow_remove.h - flows that ended long ago, and their members.
 *
 * A member is part of what others wait for, so it stays as long as its flow: flows are
 * removed with all their members, which may be very many, and in this order:
 *
 *   mark     the flow is gone: no call finds it any more, and nothing of it can begin
 *            anew
 *   members  some at a time, by any process, with weir_store_remove()
 *   forget   the flow's row, when no member is left
 *
 * A crash between two of these leaves what the next one finds by the mark.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_EXECUTION_FLOW_FLOW_REMOVE_H
#define WEIR_EXECUTION_FLOW_FLOW_REMOVE_H

#include "execution/flow/flow_store.h"

/* Those of the namespace ("": of any) that ended until then, with all their members: up
 * to `limit`. Passes over what others have locked. */
WEIR_CHECKED enum weir_status weir_flows_mark(struct weir_connection *connection,
                                              struct weir_str name_space,
                                              int64_t until_us, size_t limit,
                                              size_t *marked, struct weir_error *error);

/* Numbers of members of those that are marked. Without a lock. */
WEIR_CHECKED enum weir_status weir_flows_gone_members(struct weir_connection *connection,
                                                      int64_t *out, size_t limit,
                                                      size_t *count,
                                                      struct weir_error *error);

/* Remove up to `limit` that are marked and have no members left. */
WEIR_CHECKED enum weir_status weir_flows_forget(struct weir_connection *connection,
                                                size_t limit, size_t *removed,
                                                struct weir_error *error);

#endif
