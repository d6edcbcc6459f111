/*
 * dead_letter_bulk.h - all dead letters of a scope, step by step.
 *
 * Each step is a transaction of its own (or a savepoint of the caller's): it picks the
 * next letters, locks them and changes them. Steps go through the ids upwards and end
 * at the highest one that was there at the beginning, so that letters which come back
 * meanwhile are not taken again, and the work ends.
 *
 *     |xxxxxxxx|xxxxxxxx|........|........|   new ones
 *       step 1   step 2                   ^ highest id at the beginning
 *
 * A crash between two steps, or within one, leaves each letter either changed or as it
 * was: repeating does the rest.
 */
#ifndef WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_BULK_H
#define WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_BULK_H

#include "outbox/dead_letter/dead_letter_rows.h"
#include "outbox/dead_letter/dead_letter_scope.h"
#include "outbox/outbox.h"

/* Change the first `count` picks, at least one. May be called again, in a new
 * transaction. */
typedef enum weir_status (*weir_letter_step_fn)(struct weir_outbox *outbox,
                                                struct weir_connection *connection,
                                                const struct weir_letter_picks *picks,
                                                size_t count, int64_t now_us,
                                                struct weir_error *error);

struct weir_letter_bulk {
    const char *action; /* "dead_letter.requeue", for the audit */
    struct weir_outbox *outbox;
    const struct weir_dead_letter_scope *scope;
    const struct weir_sql *pick; /* as requeue in struct weir_letter_sql */
    weir_letter_step_fn step;
    weir_dead_letter_progress_fn progress; /* NULL: none */
    void *state;
};

/* out->done is right also after a failure. WEIR_CANCELLED: `progress` said so. */
WEIR_CHECKED enum weir_status weir_letter_bulk_run(const struct weir_letter_bulk *self,
                                                   struct weir_connection *connection,
                                                   struct weir_dead_letter_progress *out,
                                                   struct weir_error *error);

#endif
