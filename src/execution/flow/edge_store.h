/*
 * edge_store.h - edges of flows in their table. Which transactions may write them, and
 * all else: flow_store.h.
 */
#ifndef WEIR_EXECUTION_FLOW_EDGE_STORE_H
#define WEIR_EXECUTION_FLOW_EDGE_STORE_H

#include "db/row_map.h"
#include "execution/flow/flow_store.h"
#include "execution/flow/join.h"

struct weir_edge_row {
    int64_t upstream;
    int64_t downstream;
    enum weir_edge_state state;
    bool passes_data;
};

/* The columns of an edge, for reading and writing. */
enum { WEIR_EDGE_WIDTH = 4 };
extern const struct weir_column weir_edge_columns[WEIR_EDGE_WIDTH];

struct weir_edge_rows {
    struct weir_edge_row *rows;
    size_t count;
    size_t room;
};

/* When its upstream ends next an edge is over; or it is so already. added[i]: it was
 * not there, and none of the rows before it is the same. */
WEIR_CHECKED enum weir_status
weir_edges_insert(const struct weir_store *store, struct weir_connection *connection,
                  int64_t flow_no, const struct weir_edge_row *rows, size_t count,
                  bool *added, struct weir_error *error);

/*
 * The open edges of those that have ended so, up to `limit` of them, are over; which
 * ones is in *out. As many as `limit`: there may be more. One that was opened again
 * after that end stays open. Their epochs are stored already.
 */
struct weir_upstream_end {
    int64_t no;
    enum weir_edge_state state;
    int64_t epoch;
};
WEIR_CHECKED enum weir_status weir_edges_resolve(struct weir_connection *connection,
                                                 const struct weir_upstream_end *ends,
                                                 size_t count, size_t limit,
                                                 struct weir_arena *arena,
                                                 struct weir_edge_rows *out,
                                                 struct weir_error *error);

/* Executions that ended until then and have edges that are open all the same: up to
 * `limit`. Of those that the filter lets pass. */
WEIR_CHECKED enum weir_status weir_edges_left_open(struct weir_connection *connection,
                                                   const struct weir_store_filter *filter,
                                                   int64_t until_us, size_t limit,
                                                   struct weir_arena *arena,
                                                   struct weir_members *out,
                                                   struct weir_error *error);

/* Those that lead to one. */
WEIR_CHECKED enum weir_status weir_edges_to(struct weir_connection *connection,
                                            int64_t downstream, struct weir_arena *arena,
                                            struct weir_edge_rows *out,
                                            struct weir_error *error);

/* All of a flow. */
WEIR_CHECKED enum weir_status weir_edges_of_flow(struct weir_connection *connection,
                                                 int64_t flow_no,
                                                 struct weir_arena *arena,
                                                 struct weir_edge_rows *out,
                                                 struct weir_error *error);

/* Of one that begins anew: those that have not succeeded are open again, until their
 * upstream has ended once more than now; unless it has succeeded meanwhile. An end that
 * is not committed yet is such a one: it has not seen that the edge is open, and is
 * found by left_open(). */
WEIR_CHECKED enum weir_status weir_edges_reopen(struct weir_connection *connection,
                                                int64_t downstream,
                                                struct weir_error *error);

/* So many more that pass data lead to one that is there. Its row is locked. */
WEIR_CHECKED enum weir_status weir_edges_count_data(struct weir_connection *connection,
                                                    int64_t downstream, int64_t more,
                                                    struct weir_error *error);

/* The result of `upstream`, as it is now, is among what `downstream` is given:
 * passed.h. */
WEIR_CHECKED enum weir_status weir_edge_pass_data(struct weir_connection *connection,
                                                  const struct weir_edge_row *edge,
                                                  struct weir_error *error);

#endif
