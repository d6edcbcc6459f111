/*
 * flow.h - flows: executions that wait for each other.
 *
 * A flow is a graph of executions without cycles. What an edge leads to waits, until
 * enough of what it comes from has ended well; how many are enough is the policy of the
 * *group* of edges that lead to it. Members and edges are added in one call, so nothing
 * can be claimed before what it waits for is known.
 *
 *   draft --+                       weir_flow_create(executions, ...)      -> id
 *           +--> check --> publish  weir_flow_mint(id, &draft.id, 4)
 *   cover --+                       weir_flow_extend(executions, members, edges)
 *
 *   policy    satisfied when             impossible when
 *   all       every one has succeeded    one has ended otherwise
 *   any       one has succeeded          all have ended otherwise
 *   quorum k  k have succeeded           fewer than k can still
 *
 * A group is decided once. Satisfied: the execution can be claimed. Impossible: it is
 * skipped, which may make others impossible in turn. With *cancel remaining* those that
 * its edges come from and that have not ended are cancelled when it is decided; else
 * they run on.
 *
 * A flow ends by itself, when all its members have. A replay of one of them opens it
 * again.
 *
 * Data     An edge may pass data: the result of the member that it comes from, as it
 *          was when that member completed, if the join was not decided before. A replay
 *          of what was skipped gets what came too late, too. What a worker is given
 *          depends on how many such edges lead to the member:
 *
 *            none     its own input
 *            one      the result as it is; its own input, if there is none or it is empty
 *            several  a JSON object with all of them, by the names of the members, or
 *                     by their ids ("12-0190...") where they have no name:
 *
 *              {"input": OWN, "results": {"pack": RESULT, "bill": RESULT}}
 *
 *          In it, null is an input that was not given and a result that is empty. A
 *          member that has not completed when the join is decided (failed, skipped,
 *          still running) is not in it. What is JSON stands as it is; anything else is
 *          a string, its text if it is UTF-8, else base64, and then "encodings":
 *          {"input": "text", "results": {"bill": "base64"}} names what is such a
 *          string. Every attempt is given the same bytes. With more than
 *          WEIR_JOINED_SIZE_MAX bytes the member fails when it is claimed, without an
 *          attempt: "joined_input_too_large".
 * Threads  Any thread.
 * Failure  A failed call has changed nothing. WEIR_IN_DOUBT: repeat it, with the same
 *          ids.
 */
#ifndef WEIR_FLOW_H
#define WEIR_FLOW_H

#include <weir/executions.h>

enum {
    WEIR_FLOW_ID_TEXT_SIZE = 37,
    WEIR_FLOW_MEMBERS_MAX = 1000000,
    WEIR_FLOW_UPSTREAMS_MAX = 100000 /* edges that lead to one execution */
};

enum weir_flow_state {
    WEIR_FLOW_OPEN,      /* nothing has begun, and something can; or it is empty */
    WEIR_FLOW_RUNNING,   /* something is active; or has begun, and more can be claimed */
    WEIR_FLOW_BLOCKED,   /* neither: what has not ended waits */
    WEIR_FLOW_COMPLETED, /* all have ended: none failed, expired or was cancelled, except
                           * those that a join did not need any more */
    WEIR_FLOW_FAILED,    /* all have ended, and not so */
    WEIR_FLOW_CANCELLED, /* by weir_flow_cancel() */
    WEIR_FLOW_STATE_COUNT
};

enum weir_join { WEIR_JOIN_ALL, WEIR_JOIN_ANY, WEIR_JOIN_QUORUM, WEIR_JOIN_COUNT };

struct weir_flow_edge {
    struct weir_execution_id from, to;
    bool passes_data; /* see "Data" */
};

/* How the edges to one execution are joined; by default all of them, cancelling
 * none. It is said before the first of these edges is there, or with it. */
struct weir_flow_join {
    struct weir_execution_id to;
    enum weir_join policy;
    uint32_t quorum; /* QUORUM: at least 1 */
    bool cancel_remaining;
};

struct weir_flow_draft {
    const struct weir_flow_id *id; /* NULL: a new one */
    const char *name_space;        /* NULL: "default" */
    const char *kind;              /* 1 to 256 printable ASCII characters */
};

/* What is to be added: all or nothing. Edges are between members, old or new. */
struct weir_flow_extension {
    const struct weir_execution_draft *members; /* each with an id of weir_flow_mint() */
    size_t member_count;
    const struct weir_flow_edge *edges;
    size_t edge_count;
    const struct weir_flow_join *joins;
    size_t join_count;
    int64_t revision; /* that the caller has seen; -1: whatever it is */
};

enum weir_flow_cancel_policy {
    WEIR_CANCEL_FLOW_ONLY, /* it takes no more members; these go on */
    WEIR_CANCEL_ALL,    /* of more than 1,000 some may be skipped instead, by the end of
                           others */
    WEIR_CANCEL_PENDING /* those that have not begun */
};

struct weir_flow_info {
    struct weir_flow_id id;
    const char *name_space;
    const char *kind;
    enum weir_flow_state state;
    const char *cancel_reason;                  /* "" */
    enum weir_flow_cancel_policy cancel_policy; /* CANCELLED */
    int64_t revision;
    uint32_t members, edges;
    uint32_t in_state[WEIR_STATE_COUNT]; /* members by public state */
    int64_t created_us;
    int64_t
        ended_us; /* with the last of its members, or when it was cancelled; 0: not yet */
};

enum weir_edge_state {
    WEIR_EDGE_OPEN,
    WEIR_EDGE_SUCCEEDED,
    WEIR_EDGE_FAILED, /* failed, cancelled or expired */
    WEIR_EDGE_SKIPPED
};

enum weir_flow_join_state {
    WEIR_FLOW_JOIN_PENDING,
    WEIR_FLOW_JOIN_SATISFIED,
    WEIR_FLOW_JOIN_IMPOSSIBLE
};

struct weir_edge_info {
    struct weir_flow_edge edge;
    enum weir_edge_state state;
};

struct weir_flow_join_info {
    struct weir_flow_join join;
    enum weir_flow_join_state state;
    uint32_t total, succeeded, failed, skipped;
    bool cancelling; /* siblings are still to be cancelled */
};

struct weir_flow_filter {
    const char *name_space; /* NULL: any */
    int64_t before;         /* the `next` of the page before; 0: from the newest */
    size_t count;           /* 1 to 1000 */
};

typedef void (*weir_flow_visit_fn)(void *state, const struct weir_flow_info *info);
typedef void (*weir_edge_visit_fn)(void *state, const struct weir_edge_info *info);
typedef void (*weir_flow_join_visit_fn)(void *state,
                                        const struct weir_flow_join_info *info);

WEIR_BEGIN_DECLS

WEIR_API const char *weir_flow_id_format(const struct weir_flow_id *self, char *out);
WEIR_CHECKED WEIR_API enum weir_status
weir_flow_id_parse(const char *text, struct weir_flow_id *out, struct weir_error *error);
WEIR_API const char *weir_flow_state_name(enum weir_flow_state state);

/* One that is there already is fine, if it is the same; WEIR_MISMATCH if not. */
WEIR_CHECKED WEIR_API enum weir_status
weir_flow_create(struct weir_executions *self, const struct weir_flow_draft *draft,
                 struct weir_flow_id *out, struct weir_error *error);

/* Ids for members: in the partition of the flow. */
WEIR_API void weir_flow_mint(struct weir_executions *self,
                             const struct weir_flow_id *flow,
                             struct weir_execution_id *out, size_t count);

/*
 * Add members, edges and joins. `connection` as for weir_execution_submit(). What is
 * there already and the same is fine, so a call may be repeated. Each of these has
 * changed nothing:
 *
 *   WEIR_NOT_FOUND  there is no such flow
 *   WEIR_CLOSED     it was cancelled
 *   WEIR_STALE      `revision` is not that of the flow: read it again
 *   WEIR_FOREIGN    an edge or a join names an execution that is no member, or an id of
 *                   a member was not minted for this flow
 *   WEIR_CYCLE      the edges would lead in a circle; the text names one of it
 *   WEIR_MISMATCH   it is there and different: a member, an edge, a join; or where a
 *                   new edge leads to has begun already; or another member has this
 *                   name
 *   WEIR_FULL       more than WEIR_FLOW_UPSTREAMS_MAX edges would lead to one, or the
 *                   flow have more than WEIR_FLOW_MEMBERS_MAX members
 *   WEIR_INVALID    a self edge, a quorum of 0, an unknown policy, two members of one
 *                   name: the text names it
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_flow_extend(struct weir_executions *self, struct weir_connection *connection,
                 const struct weir_flow_id *flow,
                 const struct weir_flow_extension *extension, int64_t *revision,
                 struct weir_error *error);

/* *members: how many were cancelled now; a flow that has ended is left as it is
 * (WEIR_OK). */
WEIR_CHECKED WEIR_API enum weir_status
weir_flow_cancel(struct weir_executions *self, const struct weir_flow_id *flow,
                 enum weir_flow_cancel_policy policy, const char *reason, size_t *members,
                 struct weir_error *error);

WEIR_CHECKED WEIR_API enum weir_status
weir_flow_get(struct weir_executions *self, const struct weir_flow_id *flow,
              weir_flow_visit_fn visit, void *state, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_flow_list(struct weir_executions *self, const struct weir_flow_filter *filter,
               weir_flow_visit_fn visit, void *state, int64_t *next,
               struct weir_error *error);

/* Members come with weir_execution_list() and its `flow`. */
WEIR_CHECKED WEIR_API enum weir_status
weir_flow_edges(struct weir_executions *self, const struct weir_flow_id *flow,
                weir_edge_visit_fn visit, void *state, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_flow_joins(struct weir_executions *self, const struct weir_flow_id *flow,
                weir_flow_join_visit_fn visit, void *state, struct weir_error *error);

/* The flow of an execution. WEIR_NO_ROW: it is of none. */
WEIR_CHECKED WEIR_API enum weir_status weir_flow_of(struct weir_executions *self,
                                                    const struct weir_execution_id *id,
                                                    struct weir_flow_id *out,
                                                    struct weir_error *error);

WEIR_END_DECLS

#endif
