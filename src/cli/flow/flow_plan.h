/*
 * flow_plan.h - what is to be added to a flow, by names.
 *
 * Members may have names, which they keep. Edges and joins are between names of this
 * plan, or ids of members that are there.
 *
 *   init -> read | add_member, add_edge ... -> settle(ids) -> extension -> fini
 *
 * As JSON it is one object per line, of one of three sorts:
 *
 *   {"name": "pack", "lane": "shop", "kind": "pack", "after": ["reserve"], "join": "any"}
 *   {"from": "pack", "to": "ship", "pass_data": true}
 *   {"to": "ship", "join": "quorum:2", "cancel_remaining": true}
 *
 * or one object over several lines with lists of them: {"members": [], "edges": [],
 * "joins": []}. Fields are what the options of `weir submit` are called, with a '_' for
 * a '-', and lists where an option may be repeated: "tags": {"tenant.plan": "gold"},
 * "capabilities": [], "budgets": [].
 *
 * A mistake is reported here, with its line.
 *
 * Memory   Copies all that is read from JSON; what is added by hand is borrowed until
 *          fini().
 */
#ifndef WEIR_CLI_FLOW_FLOW_PLAN_H
#define WEIR_CLI_FLOW_FLOW_PLAN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "cli/execution/execution_drafting.h"
#include "cli/flow/flow_words.h"

/* What an edge or a join is about: a member of the plan, or an id. */
struct weir_plan_end {
    const char *word; /* a name or an id; NULL: the member */
    size_t member;    /* its index */
};

struct weir_plan_member {
    const char *name; /* NULL: none */
    struct weir_drafting *drafting;
    struct weir_execution_id id; /* of settle() */
};

/* What `weir flow add` and the JSON of a member say beside its draft; all zero is
 * nothing. */
struct weir_plan_ties {
    const char *name;
    const char *after; /* names or ids with commas between; NULL: none */
    struct weir_flow_join join;
    bool joined; /* `join` was given */
    bool passes_data;
};

/* Rows for a struct whose member `ties` is one of these; all of a member, for one that
 * has a `drafting`, too. */
#define WEIR_PLAN_JOIN_OPTIONS(T, summary_)                                              \
    WEIR_OPTION(0, "join", "JOIN", summary_, WEIR_AS_FLOW_JOIN(T, ties.join),            \
                WEIR_ALSO_SET(T, ties.joined)),                                          \
        WEIR_OPTION(0, "cancel-remaining", NULL, "when the join is decided",             \
                    WEIR_AS_FLAG(T, ties.join.cancel_remaining),                         \
                    WEIR_ALSO_SET(T, ties.joined))
#define WEIR_PLAN_PASS_DATA_OPTION(T, summary_)                                          \
    WEIR_OPTION(0, "pass-data", NULL, summary_, WEIR_AS_FLAG(T, ties.passes_data))
#define WEIR_PLAN_MEMBER_OPTIONS(T)                                                      \
    WEIR_DRAFTING_OPTIONS(T),                                                            \
        WEIR_OPTION(0, "name", "NAME", "its name, which no other member has",            \
                    WEIR_AS_TEXT(T, ties.name)),                                         \
        WEIR_DRAFTING_ID_OPTION(T,                                                       \
                                "its id, of the flow's partition; default a new one"),   \
        WEIR_OPTION('a', "after", "ID,...", "it waits for these members",                \
                    WEIR_AS_TEXT(T, ties.after)),                                        \
        WEIR_PLAN_JOIN_OPTIONS(T, "all, any or quorum:K of them; default all"),          \
        WEIR_PLAN_PASS_DATA_OPTION(T, "it is given their results")

struct weir_flow_plan {
    const struct weir_command *command;
    uint32_t partitions; /* 0: the default */
    struct weir_arena arena;
    struct weir_map names;   /* of members: their index and 1 */
    struct weir_buf members; /* of struct weir_plan_member */
    struct weir_buf edges;   /* of struct edge */
    struct weir_buf joins;   /* of struct join */
    size_t line;             /* that is being read; 0: none is */

    /* of settle() */
    struct weir_execution_draft *drafts;
    struct weir_flow_edge *settled_edges;
    struct weir_flow_join *settled_joins;
};

void weir_flow_plan_init(struct weir_flow_plan *self, const struct weir_command *command,
                         uint32_t partitions);
void weir_flow_plan_fini(struct weir_flow_plan *self);

/* The exit code, as of all that follow. */
WEIR_CHECKED int weir_flow_plan_read(struct weir_flow_plan *self, struct weir_str text);

/* `drafting` has been finished. */
WEIR_CHECKED int weir_flow_plan_add_member(struct weir_flow_plan *self,
                                           struct weir_drafting *drafting,
                                           const struct weir_plan_ties *ties);
WEIR_CHECKED int weir_flow_plan_add_edge(struct weir_flow_plan *self, const char *from,
                                         struct weir_plan_end to, bool passes_data);
WEIR_CHECKED int weir_flow_plan_add_join(struct weir_flow_plan *self,
                                         struct weir_plan_end to,
                                         const struct weir_flow_join *join);

/* Names become ids, of `flow`; those of members with a key are made from it. Members
 * without a namespace get this one. */
WEIR_CHECKED int weir_flow_plan_settle(struct weir_flow_plan *self,
                                       struct weir_executions *executions,
                                       const struct weir_flow_id *flow,
                                       const char *name_space,
                                       struct weir_flow_extension *out);

size_t weir_flow_plan_member_count(const struct weir_flow_plan *self);
const struct weir_plan_member *weir_flow_plan_member(const struct weir_flow_plan *self,
                                                     size_t index);

/* The name of the member whose id is in `text`; NULL: there is none. */
const char *weir_flow_plan_name_in(const struct weir_flow_plan *self, const char *text);

#endif
