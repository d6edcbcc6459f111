/*
 * store.h - executions in their tables.
 *
 * All that the execution engine reads and writes, and nothing that it decides: rows go
 * in and come out, and what may become of them is in rules.h. What the engines do in
 * ways of their own is an operation table; what they do alike is one statement for
 * both.
 *
 *   pick or load, which locks   ->  rules  ->  write rows, attempts, results  ->  commit
 *
 * Order    Rows are locked in the order of `no` by every load; a pick skips those
 *          that another transaction has locked. On SQLite a transaction that writes has
 *          the database to itself.
 * Threads  Any; a connection belongs to its holder.
 * Memory   What is loaded lives in the caller's struct weir_execution_records.
 * Failure  WEIR_SCHEMA: a stored number is not known here; the text names the
 *          execution. Nothing is repeated in here: see db/transact.h.
 */
#ifndef WEIR_EXECUTION_STORE_STORE_H
#define WEIR_EXECUTION_STORE_STORE_H

#include "db/connection.h"
#include "execution/commit_batch.h"
#include "execution/reconciler_list.h"
#include "execution/store/dictionary.h"
#include "execution/store/execution_records.h"
#include "execution/store/floors.h"
#include "weir/executions.h"

/* The conditions of further partial indexes; those of executions are in
 * reconciler_list.h. */
#define WEIR_FLOW_IS_OPEN "state = 0"
#define WEIR_FLOW_HAS_ENDED "ended_us > 0 AND state <> 4" /* its members may not have */
#define WEIR_FLOW_IS_GONE "state = 4"
#define WEIR_IS_CANCELLING "cancel_us > 0" /* of edge_group */
#define WEIR_SUSPENSION_IS_OPEN "ended_us = 0"
#define WEIR_EDGE_IS_OPEN "state = 0"
#define WEIR_HAS_NAME "name <> ''"
#define WEIR_WAITS_FOR_BUDGET "dimension = '' AND amount > 0"
/* Does this one of them still wait? It may have been cancelled, or wait for others:
 * then the mark stays until the budget is free. By its primary key, in words that fit
 * no partial index. */
#define WEIR_IS_HELD_BY_BUDGET(waiter)                                                   \
    "(SELECT 1 FROM {p}_execution e WHERE e.no = " waiter                                \
    ".no AND e.state + 0 = 3 AND e.hold + 0 = 5) = 1"

/* Numbers that execution_records.c knows, but for the state. */
#define WEIR_IS_KNOWN                                                                    \
    "hold BETWEEN 0 AND 14 AND pending BETWEEN 0 AND 4"                                  \
    " AND attempt_type BETWEEN 0 AND 3 AND on_timeout BETWEEN 0 AND 4"                   \
    " AND settled_as BETWEEN 0 AND 6"

enum { WEIR_DIGEST_SIZE = 16, WEIR_LIST_LOOK_MAX = 10000 };

struct weir_store_ops;

struct weir_store {
    const struct weir_store_ops *ops;
    const struct weir_heap *heap;       /* borrowed */
    struct weir_dictionary *dictionary; /* borrowed */
};

/* One to be inserted, and what became of it. Texts are the caller's. */
struct weir_new_execution {
    struct weir_execution_id id;
    uint8_t digest[WEIR_DIGEST_SIZE]; /* of all that makes it what it is */
    enum weir_exec_state state;
    enum weir_hold hold;
    enum weir_pending pending;
    int32_t priority;
    int64_t flow_no;
    int64_t due_us;
    int64_t deadline_us;
    int64_t lane; /* terms, see dictionary.h */
    int64_t capability_set;
    int64_t policy;
    struct weir_str name_space;
    struct weir_str kind;
    struct weir_str name;  /* of a member; size 0: none */
    int64_t data_edges;    /* that lead to it, and pass data */
    struct weir_str input; /* size 0: none */
    const struct weir_tag *tags;
    size_t tag_count;
    struct weir_str key;  /* of idempotency; size 0: none */
    int64_t key_until_us; /* from then on the key may be used anew */
    bool budgeted;        /* it is charged to budgets; the caller adds which */

    int64_t no;                              /* out; 0: was not inserted, but found */
    bool duplicate;                          /* out: key or id were there */
    struct weir_execution_id stored_id;      /* out: of the one that is there now */
    uint8_t stored_digest[WEIR_DIGEST_SIZE]; /* out: of that one */
};

/* Which executions may be claimed. Terms; the empty set of capabilities is 0. */
struct weir_ready_query {
    const int64_t *lanes; /* at least 1 */
    size_t lane_count;
    const int64_t *capability_sets; /* at least 1 */
    size_t capability_set_count;
    size_t limit; /* at least 1 */
    bool inputs;  /* are wanted as well, where they can be had with the rows */
    struct weir_floors *floors; /* where to begin; NULL: at the beginning */
};

/* Of which namespace; empty is any. */
struct weir_store_filter {
    bool in_partition; /* only in this one */
    uint16_t partition;
    struct weir_str name_space;
    struct weir_str tag_key; /* with tag_value */
    struct weir_str tag_value;
};

struct weir_due_query {
    enum weir_due_kind kind;
    int64_t now_us;
    size_t limit; /* at least 1 */
    struct weir_store_filter filter;
};

struct weir_ended_attempt {
    int64_t no;
    int32_t number;
    enum weir_attempt_type type;
    enum weir_attempt_outcome outcome;
    int64_t epoch;
    int64_t started_us;
    int64_t ended_us;
    struct weir_str worker;
    struct weir_str instance;
    struct weir_str failure;
};

struct weir_new_result {
    int64_t no;
    struct weir_str bytes;
};

/* All that rules have changed in one transaction. */
struct weir_rewrite {
    const struct weir_execution_record *rows;
    size_t row_count;
    const struct weir_ended_attempt *attempts;
    size_t attempt_count;
    const struct weir_new_result *results;
    size_t result_count;
};

/* The input and the tags of a claimed one; they live for the visit. */
struct weir_work_input {
    size_t index; /* in the list that was asked for */
    struct weir_str input;
};
struct weir_work_tag {
    size_t index;
    struct weir_str key;
    struct weir_str value;
};
typedef enum weir_status (*weir_input_visit_fn)(void *state,
                                                const struct weir_work_input *input,
                                                struct weir_error *error);
typedef enum weir_status (*weir_tag_visit_fn)(void *state,
                                              const struct weir_work_tag *tag,
                                              struct weir_error *error);

/* What each engine does in its own way. As the functions below; counts are at least 1. */
struct weir_store_ops {
    enum weir_status (*insert)(const struct weir_store *self,
                               struct weir_connection *connection,
                               struct weir_new_execution *items, size_t count,
                               int64_t now_us, struct weir_commit_batch *commit_batch,
                               struct weir_error *error);
    enum weir_status (*load)(const struct weir_store *self,
                             struct weir_connection *connection, const int64_t *nos,
                             size_t count, struct weir_execution_records *out,
                             struct weir_error *error);
    enum weir_status (*load_by_id)(const struct weir_store *self,
                                   struct weir_connection *connection,
                                   const struct weir_execution_id *ids, size_t count,
                                   struct weir_execution_records *out,
                                   struct weir_error *error);
    enum weir_status (*pick_ready)(const struct weir_store *self,
                                   struct weir_connection *connection,
                                   const struct weir_ready_query *query,
                                   struct weir_execution_records *out,
                                   struct weir_error *error);
    enum weir_status (*is_ready)(const struct weir_store *self,
                                 struct weir_connection *connection,
                                 const struct weir_ready_query *query, bool *out,
                                 struct weir_error *error);
    enum weir_status (*rewrite)(const struct weir_store *self,
                                struct weir_connection *connection,
                                const struct weir_rewrite *rewrite,
                                struct weir_commit_batch *commit_batch,
                                struct weir_error *error);
    enum weir_status (*visit_inputs)(const struct weir_store *self,
                                     struct weir_connection *connection,
                                     const int64_t *nos, size_t count,
                                     weir_input_visit_fn visit, void *state,
                                     struct weir_error *error);
    enum weir_status (*visit_tags)(const struct weir_store *self,
                                   struct weir_connection *connection, const int64_t *nos,
                                   size_t count, weir_tag_visit_fn visit, void *state,
                                   struct weir_error *error);
    enum weir_status (*remove)(
        const struct weir_store *self, /* with all that is theirs */
        struct weir_connection *connection, const int64_t *nos, size_t count,
        struct weir_error *error);
};

extern const struct weir_store_ops weir_store_pg;
extern const struct weir_store_ops weir_store_sqlite;

/* Borrows both until the last call. WEIR_INVALID: not on this engine. */
WEIR_CHECKED enum weir_status weir_store_init(struct weir_store *self,
                                              const struct weir_heap *heap,
                                              enum weir_engine engine,
                                              struct weir_dictionary *dictionary,
                                              struct weir_error *error);

/* ---- in a transaction of the caller's ---------------------------------------------- */

/*
 * Insert those whose key and id are new. A key is taken from `now_us` to its end, by
 * the first draft that brings it; a duplicate gets what that one was inserted as, also
 * when both are in `items`, and whether it is the same is for the caller to tell by the
 * digests. What belongs to the last of them is added to the commit batch.
 */
WEIR_CHECKED enum weir_status
weir_store_insert(const struct weir_store *self, struct weir_connection *connection,
                  struct weir_new_execution *items, size_t count, int64_t now_us,
                  struct weir_commit_batch *commit_batch, struct weir_error *error);

/* Load and lock, in the order of `no`, waiting for others. Each comes once; those that
 * are not there do not come. */
WEIR_CHECKED enum weir_status weir_store_load(const struct weir_store *self,
                                              struct weir_connection *connection,
                                              const int64_t *nos, size_t count,
                                              struct weir_execution_records *out,
                                              struct weir_error *error);
WEIR_CHECKED enum weir_status
weir_store_load_by_id(const struct weir_store *self, struct weir_connection *connection,
                      const struct weir_execution_id *ids, size_t count,
                      struct weir_execution_records *out, struct weir_error *error);

/* Lock and load the best of the ready ones: by priority, then by age, over all lanes
 * and sets alike. Reads no backlog: the heads of each lane and set. */
WEIR_CHECKED enum weir_status weir_store_pick_ready(const struct weir_store *self,
                                                    struct weir_connection *connection,
                                                    const struct weir_ready_query *query,
                                                    struct weir_execution_records *out,
                                                    struct weir_error *error);

/* Lock and load what is due, the longest due first. What the filter excludes is read
 * and passed over, as far as it is due. */
WEIR_CHECKED enum weir_status weir_store_pick_due(const struct weir_store *self,
                                                  struct weir_connection *connection,
                                                  const struct weir_due_query *query,
                                                  struct weir_execution_records *out,
                                                  struct weir_error *error);

/* Write all that rules change, in the commit batch where there is one. The rows were
 * loaded in this transaction. A result that was there before (of a replayed execution)
 * is replaced. */
WEIR_CHECKED enum weir_status weir_store_rewrite(const struct weir_store *self,
                                                 struct weir_connection *connection,
                                                 const struct weir_rewrite *rewrite,
                                                 struct weir_commit_batch *commit_batch,
                                                 struct weir_error *error);

/* The database's clock, not before the rows were locked: where it comes with them, it
 * is known. */
WEIR_CHECKED enum weir_status
weir_store_clock(struct weir_connection *connection,
                 const struct weir_execution_records *records, int64_t *out_us,
                 struct weir_error *error);

/* Of those that have any, in the order of the list. What `visit` fails with is the
 * answer. */
WEIR_CHECKED enum weir_status
weir_store_visit_inputs(const struct weir_store *self, struct weir_connection *connection,
                        const int64_t *nos, size_t count, weir_input_visit_fn visit,
                        void *state, struct weir_error *error);
WEIR_CHECKED enum weir_status weir_store_visit_tags(const struct weir_store *self,
                                                    struct weir_connection *connection,
                                                    const int64_t *nos, size_t count,
                                                    weir_tag_visit_fn visit, void *state,
                                                    struct weir_error *error);

/* Remove them, with all that belongs to them. They were loaded in this transaction. */
WEIR_CHECKED enum weir_status weir_store_remove(const struct weir_store *self,
                                                struct weir_connection *connection,
                                                const int64_t *nos, size_t count,
                                                struct weir_error *error);

/* ---- one statement, in a transaction or not ---------------------------------------- */

/* Is there anything that pick_ready() might find? Without a lock: others may have it by
 * then. */
WEIR_CHECKED enum weir_status weir_store_is_ready(const struct weir_store *self,
                                                  struct weir_connection *connection,
                                                  const struct weir_ready_query *query,
                                                  bool *out, struct weir_error *error);

/* The newest report of the holder of the lease: *ours is false, and nothing changed,
 * when that is not the caller. */
WEIR_CHECKED enum weir_status weir_store_set_progress(struct weir_connection *connection,
                                                      const struct weir_claim *claim,
                                                      int32_t percent,
                                                      struct weir_str text, bool *ours,
                                                      struct weir_error *error);

/* When the first of a kind is due that is due later than `now_us` of the query; with 0
 * the first of all, which may be due already. */
struct weir_due_time {
    int64_t due_us; /* INT64_MAX: none is to come */
    int64_t now_us; /* the database's clock */
};
WEIR_CHECKED enum weir_status weir_store_next_due(struct weir_connection *connection,
                                                  const struct weir_due_query *query,
                                                  struct weir_due_time *out,
                                                  struct weir_error *error);

/* The same for all kinds of WEIR_DUE_ASKED at once, in one statement; the others are
 * INT64_MAX. The kind of the query is not asked. */
struct weir_due_times {
    int64_t due_us[WEIR_DUE_KINDS];
    int64_t now_us;
};
WEIR_CHECKED enum weir_status weir_store_next_times(struct weir_connection *connection,
                                                    const struct weir_due_query *query,
                                                    struct weir_due_times *out,
                                                    struct weir_error *error);

/* Remove up to `limit` keys of idempotency that have run out. */
WEIR_CHECKED enum weir_status weir_store_forget_keys(struct weir_connection *connection,
                                                     int64_t now_us, size_t limit,
                                                     size_t *removed,
                                                     struct weir_error *error);

/* Without a lock. WEIR_NOT_FOUND: there is none. *out holds the one row. */
WEIR_CHECKED enum weir_status weir_store_get(const struct weir_store *self,
                                             struct weir_connection *connection,
                                             const struct weir_execution_id *id,
                                             struct weir_execution_records *out,
                                             struct weir_error *error);

/* The same, with the result as its `input`, which must be allowed. The name of its lane
 * is not there. */
WEIR_CHECKED enum weir_status weir_store_get_result(struct weir_connection *connection,
                                                    const struct weir_execution_id *id,
                                                    struct weir_execution_records *out,
                                                    struct weir_error *error);

/*
 * A page, newest first. Looks at up to WEIR_LIST_LOOK_MAX of those that tag or flow
 * allow, so a page may be short and yet not be the last: *next tells, 0: it is.
 */
WEIR_CHECKED enum weir_status weir_store_list(const struct weir_store *self,
                                              struct weir_connection *connection,
                                              const struct weir_execution_filter *filter,
                                              struct weir_execution_records *out,
                                              int64_t *next, struct weir_error *error);

/* Those that have ended, by number. */
typedef void (*weir_ended_attempt_visit_fn)(void *state,
                                            const struct weir_ended_attempt *attempt);
WEIR_CHECKED enum weir_status
weir_store_visit_attempts(struct weir_connection *connection, int64_t no,
                          weir_ended_attempt_visit_fn visit, void *state,
                          struct weir_error *error);

#endif
