/*
 * flow_extending.h - one extension of a flow, for the files that work on it.
 *
 *   flow_nodes.c   what is asked for: executions and edges by name; cycles
 *   flow_names.c   names of members
 *   flow_joins.c   the groups that its edges belong to
 *   flow_extend.c  the transaction
 *
 * Members are new or old. Whatever an extension names is locked in the order of all
 * (resolve.h): groups, executions, then the flow, which makes extensions come one after
 * the other. Then everything is judged in memory and written.
 */
#ifndef WEIR_EXECUTION_FLOW_FLOW_EXTENDING_H
#define WEIR_EXECUTION_FLOW_FLOW_EXTENDING_H

#include "execution/commit_batch.h"
#include "execution/flow/edge_store.h"
#include "execution/flow/join_store.h"
#include "execution/submit.h"

/* An execution that the extension names: a new member, or one that is there. */
struct weir_extending_node {
    struct weir_execution_id id;
    int64_t no;                           /* 0: not known yet */
    bool is_member;                       /* it is to be inserted, if it is not there */
    bool is_new;                          /* and was */
    struct weir_execution_record *stored; /* of an old one */
    uint32_t edges_in;                    /* that are asked for, and lead to it */
    uint32_t edges_new;                   /* of these, those that were not there */
    int64_t data_edges;                /* that are asked for, each once, and pass data */
    int64_t data_edges_new;            /* of these, those that were not there */
    const struct weir_flow_join *join; /* NULL: none is given */
};

/* An edge, by nodes. */
struct weir_extending_link {
    struct weir_extending_node *from;
    struct weir_extending_node *to;
    bool passes_data;
    bool is_new;
    enum weir_edge_state state;
};

/* One call. */
struct weir_extending {
    struct weir_executions *executions;
    const struct weir_flow_id *flow;
    const struct weir_flow_extension *extension;
    struct weir_submit_call submit_call;
    bool *blocked;                     /* owned: of each new member */
    int64_t *data_edges;               /* owned: likewise */
    struct weir_extending_node *nodes; /* owned, in the order of their uuids */
    size_t node_count;
    struct weir_extending_link *links; /* owned: one for each edge that is asked for */
    bool adopted;

    /* of one transaction */
    struct weir_arena arena;
    struct weir_commit_batch *commit_batch; /* owned */
    struct weir_execution_records records;
    struct weir_execution_records repeated; /* members that are there already */
    struct weir_flow_row row;
    int64_t now_us;
    struct weir_pending_wakeups pending_wakeups;
    int64_t revision;
};

/* ---- what is asked for ------------------------------------------------------------- */

/* Is it something that can be asked for? Without a look at the database. */
WEIR_CHECKED enum weir_status weir_extending_check(const struct weir_extending *self,
                                                   struct weir_error *error);

/* Nodes and links; owes what is owned there. */
WEIR_CHECKED enum weir_status weir_extending_list(struct weir_extending *self,
                                                  struct weir_error *error);

struct weir_extending_node *weir_extending_find(const struct weir_extending *self,
                                                const struct weir_execution_id *id);

/* Does it get an edge, or a policy? */
bool weir_extending_is_joined(const struct weir_extending_node *node);

/* When all numbers are known. WEIR_CYCLE. */
WEIR_CHECKED enum weir_status
weir_extending_check_circles(struct weir_extending *self,
                             struct weir_connection *connection,
                             struct weir_error *error);

/* ---- names ------------------------------------------------------------------------- */

/* No two of the members that are asked for have the same one. WEIR_INVALID. */
WEIR_CHECKED enum weir_status
weir_extending_check_names(const struct weir_extending *self, struct weir_error *error);

/* No other member of the flow has the name of one that is to be added. When the flow is
 * locked. WEIR_MISMATCH. */
WEIR_CHECKED enum weir_status
weir_extending_check_new_names(struct weir_extending *self,
                               struct weir_connection *connection,
                               struct weir_error *error);

/* ---- groups ------------------------------------------------------------------------ */

/* Made, or longer by what is new. `known` are those of old nodes, locked before the
 * flow. */
WEIR_CHECKED enum weir_status weir_extending_join(struct weir_extending *self,
                                                  struct weir_connection *connection,
                                                  const struct weir_join_rows *known,
                                                  struct weir_error *error);

#endif
