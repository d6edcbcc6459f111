/*
 * graph_store.h - flows in their tables: graphs, edges, and the groups of edges that lead to one
 * execution.
 *
 * As store.h it decides nothing. What needs no answer goes into a postscript, which stays empty on
 * SQLite. Who may write what:
 *
 *   flow   whoever has its row locked. Last of all locks: every end of a member needs it, for a moment
 *   group  whoever has its row locked; taken in the order of `downstream`
 *   edge   its state: whoever ends or replays one of its ends, and has that row locked
 *
 * Threads  Whoever holds the connection.
 * Memory   Lists are the caller's arena's.
 * Failure  WEIR_SCHEMA: a stored number is not known here.
 */
#ifndef WEIR_FLOW_GRAPH_STORE_H
#define WEIR_FLOW_GRAPH_STORE_H

#include "flow/group.h"
#include "flow/postscript.h"
#include "flow/store.h"

/* As it is stored; what people are told is in weir/graph.h. */
enum weir_flow_state {
    WEIR_FLOW_OPEN = 0,
    WEIR_FLOW_COMPLETED = 1,
    WEIR_FLOW_FAILED = 2,
    WEIR_FLOW_CANCELLED = 3,
    WEIR_FLOW_GONE = 4 /* never read: see graph_remove.h */
};

struct weir_flow_row {
    int64_t no;
    struct weir_graph_id id;
    uint16_t partition;
    enum weir_flow_state state;
    enum weir_graph_cancel_policy cancel_policy;
    int32_t members;
    int32_t edges;
    int32_t unfinished;
    int32_t unlucky;
    int64_t revision;
    int64_t created_us;
    int64_t ended_us;
    struct weir_str name_space;
    struct weir_str kind;
    struct weir_str cancel_reason;
};

struct weir_edge_row {
    int64_t upstream;
    int64_t downstream;
    enum weir_edge_state state;
    bool passes_data;
};

struct weir_edge_rows {
    struct weir_edge_row *rows;
    size_t count;
    size_t room;
};

/* A member, by what people know it by. */
struct weir_member {
    int64_t no;
    struct weir_execution_id id;
};

struct weir_members {
    struct weir_member *rows;
    size_t count;
};

struct weir_group_row {
    int64_t downstream;
    int64_t flow_no;
    struct weir_group group;
    enum weir_group_state state;
    bool cancel_remaining;
    int64_t cancel_us; /* since when siblings are to be cancelled; 0: none are */
};

/* ---- flows --------------------------------------------------------------------------------- */

/* *added: false when there is one with this id. */
WEIR_CHECKED enum weir_status weir_graph_insert(struct weir_connection *connection,
                                                const struct weir_flow_row *row,
                                                bool *added, struct weir_error *error);

/* Locked, or not. WEIR_NO_ROW: there is none. Texts are copied to `arena`. */
enum weir_graph_lock { WEIR_GRAPH_UNLOCKED, WEIR_GRAPH_LOCKED };
WEIR_CHECKED enum weir_status
weir_graph_find(struct weir_connection *connection, const struct weir_graph_id *id,
                enum weir_graph_lock lock, struct weir_arena *arena,
                struct weir_flow_row *out, struct weir_error *error);

/* Those before filter->before, newest first. In `arena`, as their texts, which end in a zero. */
WEIR_CHECKED enum weir_status weir_graph_page(struct weir_connection *connection,
                                              const struct weir_graph_filter *filter,
                                              struct weir_arena *arena,
                                              struct weir_flow_row **out, size_t *count,
                                              struct weir_error *error);

/* All but what it is. Its texts are borrowed until the postscript was sent; NULL: at once. */
WEIR_CHECKED enum weir_status weir_graph_write(struct weir_connection *connection,
                                               const struct weir_flow_row *row,
                                               struct weir_postscript *postscript,
                                               struct weir_error *error);

/* Of one that was open and is: what it consists of. */
WEIR_CHECKED enum weir_status weir_graph_grow(struct weir_connection *connection,
                                              const struct weir_flow_row *row,
                                              struct weir_error *error);

/* Members of this one have ended, or begun anew (below 0): the flow ends with the last of them.
 * WEIR_NOT_FOUND: nothing of it can begin anew, it is gone. */
struct weir_flow_ends {
    int64_t flow_no;
    int32_t ended;
    int32_t unlucky;
};
WEIR_CHECKED enum weir_status weir_graph_count_ends(struct weir_connection *connection,
                                                    const struct weir_flow_ends *ends,
                                                    int64_t now_us,
                                                    struct weir_postscript *postscript,
                                                    struct weir_error *error);

/* ---- members ------------------------------------------------------------------------------- */

/* The numbers of executions, of whatever flow, without a lock; 0: there is none. */
WEIR_CHECKED enum weir_status weir_members_find(const struct weir_store *store,
                                                struct weir_connection *connection,
                                                const struct weir_execution_id *ids,
                                                size_t count, int64_t *out,
                                                struct weir_error *error);

/* ---- edges --------------------------------------------------------------------------------- */

/* When its upstream ends next an edge is over; or it is so already. added[i]: it was not there, and none
 * of the rows before it is the same. */
WEIR_CHECKED enum weir_status
weir_edges_insert(const struct weir_store *store, struct weir_connection *connection,
                  int64_t flow_no, const struct weir_edge_row *rows, size_t count,
                  bool *added, struct weir_error *error);

/*
 * The open edges of those that have ended so, up to `limit` of them, are over; which ones is in *out.
 * As many as `limit`: there may be more. One that was opened again after that end stays open. Their
 * epochs are stored already.
 */
struct weir_upstream_end {
    int64_t no;
    enum weir_edge_state state;
    int64_t epoch;
};
WEIR_CHECKED enum weir_status
weir_edges_resolve(const struct weir_store *store, struct weir_connection *connection,
                   const struct weir_upstream_end *ends, size_t count, size_t limit,
                   struct weir_arena *arena, struct weir_edge_rows *out,
                   struct weir_error *error);

/* Executions that ended until then and have edges that are open all the same: up to `limit`. Of those
 * that the filter lets pass. */
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

/* Of one that begins anew: those that have not succeeded are open again, until their upstream has ended
 * once more than now; unless it has succeeded meanwhile. An end that is not committed yet is such a one:
 * it has not seen that the edge is open, and is found by left_open(). */
WEIR_CHECKED enum weir_status weir_edges_reopen(struct weir_connection *connection,
                                                int64_t downstream,
                                                struct weir_error *error);

/* The result of `upstream`, if it has one, is the input of `downstream` from now on. */
WEIR_CHECKED enum weir_status weir_edge_pass_data(struct weir_connection *connection,
                                                  const struct weir_edge_row *edge,
                                                  struct weir_error *error);

/* ---- groups -------------------------------------------------------------------------------- */

/* New ones: nothing has been counted, and nothing is decided. */
WEIR_CHECKED enum weir_status
weir_groups_insert(const struct weir_store *store, struct weir_connection *connection,
                   const struct weir_group_row *rows, size_t count,
                   struct weir_postscript *postscript, struct weir_error *error);

/* Lock and load, in the order of `downstream`; those that are not there do not come. */
struct weir_group_rows {
    struct weir_group_row *rows;
    struct weir_execution_id *ids; /* of cancelling() only: what they lead to */
    size_t count;
};
WEIR_CHECKED enum weir_status
weir_groups_lock(const struct weir_store *store, struct weir_connection *connection,
                 const int64_t *downstreams, size_t count, struct weir_arena *arena,
                 struct weir_group_rows *out, struct weir_error *error);

/* Counters, state and cancel_us. */
WEIR_CHECKED enum weir_status
weir_groups_write(const struct weir_store *store, struct weir_connection *connection,
                  const struct weir_group_row *rows, size_t count,
                  struct weir_postscript *postscript, struct weir_error *error);

/* Those whose siblings are to be cancelled, oldest first; not locked. Of those that lead to what the
 * filter lets pass. */
WEIR_CHECKED enum weir_status
weir_groups_cancelling(struct weir_connection *connection,
                       const struct weir_store_filter *filter, size_t limit,
                       struct weir_arena *arena, struct weir_group_rows *out,
                       struct weir_error *error);

/* Members that `downstream` waited for and that have not ended, up to `limit`. */
WEIR_CHECKED enum weir_status weir_group_siblings(struct weir_connection *connection,
                                                  int64_t downstream, size_t limit,
                                                  struct weir_arena *arena,
                                                  struct weir_members *out,
                                                  struct weir_error *error);

/* No more of them are to be cancelled, unless it was decided anew since it was read: then *forgotten is
 * false. */
WEIR_CHECKED enum weir_status
weir_group_forget_siblings(struct weir_connection *connection,
                           const struct weir_group_row *group, bool *forgotten,
                           struct weir_error *error);

/* Of two columns: uuid and partition. */
WEIR_CHECKED enum weir_status weir_graph_read_id(struct weir_rows *rows, size_t column,
                                                 struct weir_execution_id *out,
                                                 struct weir_error *error);

/* WEIR_SCHEMA: written by a newer library. */
enum weir_status weir_graph_unknown(const char *what, int64_t number,
                                    struct weir_error *error);

/* "flow ID: " in front of an error. */
void weir_graph_prefix(struct weir_error *error, const struct weir_graph_id *id);

#endif
