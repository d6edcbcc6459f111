/*
 * flow.h - the tables of the durable execution engine, and how they are looked through.
 *
 * The engine is being built: its tables can be made, and what is above them is not there yet.
 */
#ifndef WEIR_FLOW_H
#define WEIR_FLOW_H

#include <weir/db.h>
#include <weir/execution.h>

/* Which executions; empty or zero is any. */
struct weir_execution_filter {
    const char *name_space;
    const char *lane;
    const char *kind;
    const char *tag_key; /* with tag_value */
    const char *tag_value;
    uint32_t states; /* 1 << enum weir_public_state, or-ed; 0: all */
    int64_t before;  /* the `next` of the page before; 0: from the newest */
    size_t count;    /* 1 to 1000 */
};

WEIR_BEGIN_DECLS

/* Create or bring up to date the tables of the engine. Idempotent; any number of processes may do it
 * at once. Needs the owner's rights. WEIR_INVALID on MariaDB. */
WEIR_CHECKED WEIR_API enum weir_status weir_flow_migrate(struct weir_db *db,
                                                         struct weir_error *error);

WEIR_END_DECLS

#endif
