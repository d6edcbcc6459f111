/*
 * flow_store.h - flows in their tables, and what their members are known by. Their
 * edges are in edge_store.h, their joins in join_store.h.
 *
 * As store.h these decide nothing. What needs no answer goes into a commit batch, which
 * stays empty on SQLite. Which transaction may write what:
 *
 *   flow   the one that has its row locked. Last of all locks: every end of a member
 *          needs it, for a moment
 *   group  the one that has its row locked; taken in the order of `downstream`
 *   edge   its state: the one that ends or replays one of its ends, and has that row
 *          locked
 *
 * Threads  The holder of the connection.
 * Memory   Lists are the caller's arena's.
 * Failure  WEIR_SCHEMA: a stored number is not known here.
 */
#ifndef WEIR_EXECUTION_FLOW_FLOW_STORE_H
#define WEIR_EXECUTION_FLOW_FLOW_STORE_H

#include "execution/commit_batch.h"
#include "execution/store/store.h"
#include "weir/flow.h"

/* As it is stored; what users see is in weir/flow.h. */
enum weir_flow_row_state {
    WEIR_FLOW_ROW_OPEN = 0,
    WEIR_FLOW_ROW_COMPLETED = 1,
    WEIR_FLOW_ROW_FAILED = 2,
    WEIR_FLOW_ROW_CANCELLED = 3,
    WEIR_FLOW_ROW_GONE = 4 /* never read: see flow_remove.h */
};

struct weir_flow_row {
    int64_t no;
    struct weir_flow_id id;
    uint16_t partition;
    enum weir_flow_row_state state;
    enum weir_flow_cancel_policy cancel_policy;
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

/* A member, by what people know it by. */
struct weir_member {
    int64_t no;
    struct weir_execution_id id;
};

struct weir_members {
    struct weir_member *rows;
    size_t count;
};

/* ---- flows ------------------------------------------------------------------------- */

/* *added: false when there is one with this id. */
WEIR_CHECKED enum weir_status weir_flow_insert(struct weir_connection *connection,
                                               const struct weir_flow_row *row,
                                               bool *added, struct weir_error *error);

/* Locked, or not. WEIR_NO_ROW: there is none. Texts are copied to `arena`. */
enum weir_flow_lock { WEIR_FLOW_UNLOCKED, WEIR_FLOW_LOCKED };
WEIR_CHECKED enum weir_status
weir_flow_find(struct weir_connection *connection, const struct weir_flow_id *id,
               enum weir_flow_lock lock, struct weir_arena *arena,
               struct weir_flow_row *out, struct weir_error *error);

/* Those before filter->before, newest first. In `arena`, as their texts, which end in a
 * zero. */
WEIR_CHECKED enum weir_status weir_flow_page(struct weir_connection *connection,
                                             const struct weir_flow_filter *filter,
                                             struct weir_arena *arena,
                                             struct weir_flow_row **out, size_t *count,
                                             struct weir_error *error);

/* All but what it is. Its texts are borrowed until the commit batch was sent; NULL: at
 * once. */
WEIR_CHECKED enum weir_status weir_flow_write(struct weir_connection *connection,
                                              const struct weir_flow_row *row,
                                              struct weir_commit_batch *commit_batch,
                                              struct weir_error *error);

/* Of one that stays open, or ended: what it consists of. */
WEIR_CHECKED enum weir_status weir_flow_grow(struct weir_connection *connection,
                                             const struct weir_flow_row *row,
                                             struct weir_error *error);

/* Of one that had ended, and is open with new members. A producer may write no state:
 * a reader of such a flow sees by its counter that it is open, and the next end of a
 * member writes it down. */
WEIR_CHECKED enum weir_status weir_flow_reopen(struct weir_connection *connection,
                                               const struct weir_flow_row *row,
                                               struct weir_error *error);

/* Members of this one have ended, or begun anew (below 0): the flow ends with the last
 * of them. WEIR_NOT_FOUND: nothing of it can begin anew, it is gone. */
struct weir_flow_ends {
    int64_t flow_no;
    int32_t ended;
    int32_t unlucky;
};
WEIR_CHECKED enum weir_status weir_flow_count_ends(struct weir_connection *connection,
                                                   const struct weir_flow_ends *ends,
                                                   int64_t now_us,
                                                   struct weir_commit_batch *commit_batch,
                                                   struct weir_error *error);

/* ---- members ----------------------------------------------------------------------- */

/* The numbers of executions, of whatever flow, without a lock; 0: there is none. */
WEIR_CHECKED enum weir_status weir_members_find(const struct weir_store *store,
                                                struct weir_connection *connection,
                                                const struct weir_execution_id *ids,
                                                size_t count, int64_t *out,
                                                struct weir_error *error);

/* Of a query of number, uuid and partition. */
WEIR_CHECKED enum weir_status
weir_members_read(struct weir_connection *connection, const struct weir_sql *sql,
                  const struct weir_value *values, size_t value_count,
                  struct weir_arena *arena, struct weir_members *out,
                  struct weir_error *error);

/* ---- reading ----------------------------------------------------------------------- */

/* WEIR_SCHEMA: written by a newer library. */
enum weir_status weir_flow_unknown(const char *what, int64_t number,
                                   struct weir_error *error);

/* "flow ID: " in front of an error. */
void weir_flow_prefix(struct weir_error *error, const struct weir_flow_id *id);

#endif
