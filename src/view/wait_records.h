/*
 * wait_records.h - rows of suspensions, waitpoints and signals.
 *
 * Only the answer of a command that makes a waitpoint has its token.
 */
#ifndef WEIR_VIEW_WAIT_RECORDS_H
#define WEIR_VIEW_WAIT_RECORDS_H

#include "view/record_list.h"
#include "weir/executions.h"
#include "weir/suspension.h"

extern const struct weir_record weir_suspension_record; /* struct weir_suspension_info */
extern const struct weir_record weir_condition_record;  /* struct weir_condition_info */
extern const struct weir_record weir_waitpoint_record;  /* struct weir_waitpoint_info */
extern const struct weir_record weir_signal_record;     /* struct weir_signal_info */

/* struct weir_waitpoint, with its token */
extern const struct weir_record weir_waitpoint_made_record;

struct weir_suspended {
    struct weir_execution_id id;
    bool suspends; /* false: it only made a waitpoint */
    bool satisfied;
    struct weir_execution_status current;
    const struct weir_waitpoint *waitpoints; /* those without a token are left out */
    size_t count;
};
extern const struct weir_record weir_suspended_record;

struct weir_signalled {
    struct weir_execution_id id;
    const char *effect;
};
extern const struct weir_record weir_signalled_record;

struct weir_key_rotated {
    const char *key;
    int64_t grace_ms;
};
extern const struct weir_record weir_key_rotated_record;

#endif
