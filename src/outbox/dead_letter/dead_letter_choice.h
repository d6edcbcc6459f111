/*
 * dead_letter_choice.h - deciding on dead letters by their ids.
 *
 * All of them are locked, in the order of their ids, and judged one by one; what may be
 * changed is handed to one function, in the same transaction.
 *
 *     claimed with this token                      change
 *     decided in the same way with this token      nothing to do: the answer was lost
 *     pending, and the rule takes those            change
 *     anything else                                WEIR_FENCED
 *
 * Threads  The calling thread.
 */
#ifndef WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_CHOICE_H
#define WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_CHOICE_H

#include "outbox/dead_letter/dead_letter_rows.h"
#include "outbox/outbox.h"

struct weir_letter_decision;

/* Change these, in the order of their ids; `count` is at least 1. May be called again,
 * in a new transaction. */
typedef enum weir_status (*weir_letter_act_fn)(const struct weir_letter_decision *self,
                                               struct weir_connection *connection,
                                               const struct weir_letter_picks *picks,
                                               int64_t now_us, struct weir_error *error);

struct weir_letter_decision {
    struct weir_outbox *outbox;
    const struct weir_dead_letter_choice *choice;
    const char *action;                   /* "dead_letter.resolve", for the audit */
    const char *reason;                   /* likewise; NULL: none */
    const char *done;                     /* "resolved", for texts */
    enum weir_dead_letter_status becomes; /* as stored afterwards */
    bool takes_pending;
    weir_letter_act_fn act;
    const void *argument; /* of act */
};

/* As the functions of weir/dead_letter.h. `verdicts` may be NULL. */
WEIR_CHECKED enum weir_status weir_letter_decide(const struct weir_letter_decision *self,
                                                 struct weir_connection *connection,
                                                 enum weir_status *verdicts,
                                                 struct weir_error *error);

/* Record a decision that was refused before it was looked at. Returns `status`. */
enum weir_status weir_letter_refuse(const struct weir_letter_decision *self,
                                    struct weir_connection *connection,
                                    enum weir_status status);

#endif
