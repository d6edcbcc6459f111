/*
 * engine.h - the operation table of the execution engine on one database engine.
 *
 * What is done alike on all engines is one statement or one function; statements that
 * differ by a phrase have words of the dialect (db/dialect.h). Where a database engine
 * has a way of its own, that way is a slot of this table, filled in by
 * store/sqlite/engine.c and store/postgres/engine.c. Nothing else in src/execution, but
 * for schema.c, knows which engines there are.
 *
 *   weir_store_init() --chooses--> store->ops
 *   a statement                    weir_execution_engine_of(connection)->mark_flows
 *
 * What one more engine has to provide is listed in docs/internals/add-an-engine.md.
 *
 * Threads  Constant; any thread.
 */
#ifndef WEIR_EXECUTION_ENGINE_H
#define WEIR_EXECUTION_ENGINE_H

#include "execution/store/store.h"

struct weir_execution_engine {
    const struct weir_store_ops *store;

    /* store/store.c; WEIR_PICK_VALUES of store/engine_sql.h */
    struct weir_sql due[WEIR_DUE_KINDS];  /* lock and read what is due; some have none */
    struct weir_sql next[WEIR_DUE_KINDS]; /* when the next is due; likewise */
    struct weir_sql next_times;           /* of all kinds of WEIR_DUE_ASKED */
    struct weir_sql forget_keys;          /* until {1}, at most {2} */

    /* store/store_read.c */
    struct weir_sql list_tagged;
    struct weir_sql list_members;

    /* flow/edge_store.c, join_store.c */
    struct weir_sql left_open; /* until {1}, at most {2}, of the filter {3} to {5} */
    struct weir_sql siblings;  /* of {1}, at most {2} */

    /* flow/flow_remove.c */
    struct weir_sql mark_flows;   /* until {1}, at most {2}, of namespace {3} */
    struct weir_sql gone_members; /* at most {1} */
    struct weir_sql forget_flows; /* at most {1} */

    /* flow/flow_store.c: may this session write the state of flows? NULL: it may. */
    const struct weir_sql *may_reopen;

    struct weir_sql forget_waitpoints; /* wait/wait_store.c: until {1}, at most {2} */
    struct weir_sql budget_waiters;    /* budget/budget_store.c: at most {1} */
};

/* NULL: the execution engine does not work on that database engine. */
const struct weir_execution_engine *weir_execution_engine_for(enum weir_engine engine);

/* Of a connection that the execution engine works on. Never NULL. */
const struct weir_execution_engine *
weir_execution_engine_of(const struct weir_connection *connection);

extern const struct weir_execution_engine weir_execution_sqlite;
extern const struct weir_execution_engine weir_execution_postgresql;

#endif
