/*
 * execution_view.h - executions as rows of a table, as JSON objects, or in full.
 *
 * Why one does not move is said in words: what it waits for, until when, which worker
 * holds it. What is overdue by seconds names the supervisor, since only that repairs it.
 *
 * Failure  Adding never fails at the spot: print() tells.
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_VIEW_H
#define WEIR_CLI_EXECUTION_EXECUTION_VIEW_H

#include "cli/output.h"
#include "weir/executions.h"

enum { WEIR_EXECUTION_WHY_SIZE = 1280, WEIR_EXECUTION_STATUS_SIZE = 128 };

struct weir_execution_view {
    struct weir_table table;
    struct weir_buf json; /* a list that is not closed yet */
    int64_t now_us;       /* the database's */
    size_t count;
};

void weir_execution_view_init(struct weir_execution_view *self, int64_t now_us);
void weir_execution_view_fini(struct weir_execution_view *self);

/* Add one; a weir_execution_visit_fn. */
void weir_execution_view_add(void *self, const struct weir_execution_info *info);

/* `"executions":[...]` to the end of an object. */
void weir_execution_view_append_json(const struct weir_execution_view *self,
                                     struct weir_buf *json);

/* Why it is not done, or how it ended, for people; "" when the state says it all.
 * Returns `out`, of WEIR_EXECUTION_WHY_SIZE bytes. */
const char *weir_execution_spell_why(const struct weir_execution_info *info,
                                     int64_t now_us, char *out);

/* Its state, for a worker that has lost the claim: "it is active, held for another 12.0 s
 * (epoch 3)". Returns `out`, of WEIR_EXECUTION_STATUS_SIZE bytes. */
const char *weir_execution_spell_status(const struct weir_execution_status *current,
                                        int64_t now_us, char *out);

/* How a state is shown. */
enum weir_tone weir_execution_state_tone(enum weir_public_state state);

/* The members of its JSON object; with `why` from a caller that knows better. */
void weir_flow_append_members(struct weir_buf *json,
                              const struct weir_execution_info *info, int64_t now_us);
void weir_flow_append_members_why(struct weir_buf *json,
                                  const struct weir_execution_info *info,
                                  const char *why);

/* As lines for people, without its attempts: which one it is and how it stands; and all
 * else. */
void weir_execution_append_state(struct weir_buf *text,
                                 const struct weir_execution_info *info, int64_t now_us);
void weir_execution_append_facts(struct weir_buf *text,
                                 const struct weir_execution_info *info);

#endif
