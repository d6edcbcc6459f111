/*
 * resolve.h - what follows for flows when members end or begin anew.
 *
 *   an execution has ended -> its edges -> the groups they are in -> what these lead to
 *        ^                                                                |
 *        +---------------------------- skipped ---------------------------+
 *
 * Part of weir_change_set_store(), in its transaction: level by level, since what is
 * skipped has ended too. At most WEIR_RESOLVE_EDGES edges for each level, and
 * WEIR_RESOLVE_DEPTH levels: the rest is left as it is, in the open, for the reconciler
 * `dependency`, which is notified.
 *
 * Order    Executions, groups by number, what groups lead to, and flows last of all:
 *          every member that ends needs its flow.
 * Threads  The holder of the connection.
 */
#ifndef WEIR_EXECUTION_FLOW_RESOLVE_H
#define WEIR_EXECUTION_FLOW_RESOLVE_H

#include "execution/change_set.h"
#include "execution/flow/edge_store.h"
#include "execution/flow/join_store.h"

enum {
    WEIR_RESOLVE_EDGES = 1000,
    WEIR_RESOLVE_EDGES_LEFT = 5000, /* of the reconciler, for which no worker waits */
    WEIR_RESOLVE_DEPTH = 50
};

struct weir_resolution {
    struct weir_unit unit; /* what it is part of; borrows all of it */
    size_t edges_max;      /* of a level */
    struct weir_arena arena;
    int64_t *over; /* sorted numbers of what has ended at this level; in the arena */
    size_t over_count;
    struct weir_execution_records records; /* rows of the next level */
    struct weir_change *changes;           /* what becomes of them; owned */
    size_t count;                          /* 0: nothing follows */
    size_t edges;                          /* that are over now, of all levels */
    struct weir_flow_ends *ends;           /* owned: one for each member, so far */
    size_t end_count;
    size_t end_room;
};

/* NULL without memory. What the commit batch has got refers to it until it was sent. */
struct weir_resolution *weir_resolution_create(const struct weir_unit *unit);
void weir_resolution_destroy(struct weir_resolution *self);

/* Does anything follow from such changes? Cheap, and mostly not. */
bool weir_resolution_is_needed(const struct weir_change *changes, size_t count);

/* For finish(): members that have ended, or begun anew. */
WEIR_CHECKED enum weir_status weir_resolution_count(struct weir_resolution *self,
                                                    const struct weir_change *changes,
                                                    size_t count,
                                                    struct weir_error *error);

/* Does anything follow from what has followed? */
bool weir_resolution_goes_on(const struct weir_resolution *self);

/*
 * Their edges are over, or open again; *self has what follows, with rules applied, to
 * be stored. What is stored of those that have ended may still be in the commit batch,
 * and nothing else.
 */
WEIR_CHECKED enum weir_status weir_resolution_step(struct weir_resolution *self,
                                                   const struct weir_change *changes,
                                                   size_t count,
                                                   struct weir_error *error);

/* Flows whose members have ended: once, after the last level. */
WEIR_CHECKED enum weir_status weir_resolution_finish(struct weir_resolution *self,
                                                     struct weir_error *error);

/* What has become of these groups' edges is counted, and what they decide is in *self.
 * For step(), and for edges that are added when their upstream has ended already. */
WEIR_CHECKED enum weir_status weir_resolution_decide(struct weir_resolution *self,
                                                     const struct weir_edge_rows *edges,
                                                     struct weir_error *error);

#endif
