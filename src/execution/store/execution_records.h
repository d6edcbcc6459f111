/*
 * execution_records.h - rows of {p}_execution in memory.
 *
 *   weir_execution_records_init(&loaded, heap, 100);
 *   ... weir_store_pick_ready(..., &loaded, ...) ...
 *   use(&loaded.rows[0].row);
 *   weir_execution_records_fini(&loaded);
 *
 * Threads  The owner's.
 * Memory   An array of at most `count_max` rows, and an arena for their texts. Both
 *          live until reset() or fini(); every load begins with a reset().
 */
#ifndef WEIR_EXECUTION_STORE_EXECUTION_RECORDS_H
#define WEIR_EXECUTION_STORE_EXECUTION_RECORDS_H

#include "base/arena.h"
#include "db/connection.h"
#include "execution/rules.h"

/* A row as it is stored: what rules need, and what is announced of it. */
struct weir_execution_record {
    struct weir_execution_row row;
    int64_t lane; /* terms, see dictionary.h */
    int64_t capability_set;
    int64_t policy;
    int64_t created_us;
    int32_t percent;    /* of progress; -1: none reported */
    bool budgeted;      /* it is charged to budgets */
    int64_t data_edges; /* that lead to it, and pass data */
    struct weir_str name_space;
    struct weir_str lane_name;
    struct weir_str kind;
    struct weir_str told; /* with the progress */
    struct weir_str name; /* of a member; "": none */

    /* Of what was read for people: what it belongs to. */
    bool has_flow;
    struct weir_flow_id flow;
    struct weir_str budget; /* that it waits for; "": none */
    struct weir_str needs;  /* capabilities, as a term's text; "": none */

    /* Of what was picked with inputs, see struct weir_execution_records. Or, as its
     * input, the result: of what was read for that. */
    struct weir_str input; /* data NULL: none */
    bool tags_known;       /* `tagged` was read */
    bool tagged;

    /* Of one with data edges, see gather.h. */
    bool gathered;  /* `input` is what its worker is given */
    bool too_large; /* or it would be, but for its size */
};

struct weir_execution_records {
    const struct weir_heap *heap; /* borrowed */
    struct weir_arena texts;
    struct weir_execution_record *rows; /* owned */
    size_t count;
    size_t count_max;
    int64_t clock_us; /* of the database, when the last row was locked; 0: did not come
                         along */
    bool inputs;      /* came along */
};

/* Borrows `heap` until fini(). Allocates nothing yet. `count_max` is at least 1. */
void weir_execution_records_init(struct weir_execution_records *self,
                                 const struct weir_heap *heap, size_t count_max);
void weir_execution_records_fini(struct weir_execution_records *self);

/* Inputs may come along, of so many rows. */
void weir_execution_records_allow_inputs(struct weir_execution_records *self,
                                         size_t count);

/* Empty; the memory is kept. */
void weir_execution_records_reset(struct weir_execution_records *self);

/* The columns that add() reads, in their order, of a table or sub-select `e`. */
#define WEIR_EXECUTION_COLUMNS                                                           \
    "e.no, e.uuid, e.part, e.state, e.hold, e.pending, e.attempt_type, e.percent,"       \
    " e.lane, e.capset, e.policy, e.priority, e.attempts, e.retries, e.reclaims,"        \
    " e.replays, e.epoch, e.settled_epoch, e.flow, e.created_us, e.due_us, e.lease_us,"  \
    " e.attempt_deadline_us, e.deadline_us, e.claimed_us, e.started_us, e.ended_us,"     \
    " e.namespace, e.kind, e.worker, e.instance, e.failure, e.progress_text, "           \
    "e.on_timeout, "                                                                     \
    "e.budgeted, e.settled_as, e.turn, e.data_edges, e.name"

/* What add() reads behind them, if it is there: the clock, or the clock, input and
 * whether there are tags, of sub-selects `i` and `t` that have no row if there is
 * nothing. */
#define WEIR_CLOCK_COLUMN ", {now}"
#define WEIR_INPUT_COLUMNS WEIR_CLOCK_COLUMN ", i.bytes, t.tagged"

/* Or these: the flow, and the budget that it waits for. By primary keys, and only where
 * there is one: an index of all waiting executions would be read for each. */
#define WEIR_BELONGING_COLUMNS                                                           \
    ", CASE WHEN e.flow > 0 THEN (SELECT f.uuid FROM {p}_flow f WHERE f.no = e.flow"     \
    " AND f.state <> 4) END, CASE WHEN e.state = 3 AND e.hold = 5 THEN"                  \
    " (SELECT b.name FROM {p}_spent s JOIN {p}_budget b ON b.no = s.budget"              \
    " WHERE s.no = e.no AND s.dimension = '' AND s.amount + 0 > 0"                       \
    " ORDER BY s.budget LIMIT 1) END"

/* Keep the current row. WEIR_SCHEMA: a number in it is not known here. WEIR_TOO_LARGE:
 * there are count_max already. Its policy and the name of its lane are not there yet. */
WEIR_CHECKED enum weir_status
weir_execution_records_add(struct weir_execution_records *self, struct weir_rows *rows,
                           struct weir_error *error);

/* All rows of a query, which is closed afterwards. `status` is what the query ended
 * with. */
WEIR_CHECKED enum weir_status
weir_execution_records_add_all(struct weir_execution_records *self,
                               enum weir_status status, struct weir_rows *rows,
                               struct weir_error *error);

/* A copy of the text that lives as long as the rows. */
WEIR_CHECKED enum weir_status
weir_execution_records_copy(struct weir_execution_records *self, struct weir_str *text,
                            struct weir_error *error);

#endif
