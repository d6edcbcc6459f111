/*
 * flow_journal.h - a database that writes down itself what becomes of its executions.
 *
 * Triggers write every row of executions, attempts, results and events into a table of
 * their own, in the transaction that changes them: so the journal has what was
 * committed, in that order, and nothing else. With each entry goes the virtual time and
 * the number of the call that is being made on the fiber at hand; SQLite asks for these
 * by functions that every connection has.
 *
 * Threads  One journal at a time in a process.
 */
#ifndef WEIR_TEST_FLOW_JOURNAL_H
#define WEIR_TEST_FLOW_JOURNAL_H

#include <stdint.h>

#include "kit/execution/flow_model.h"

struct flow_journal;

/* The number of the call that the fiber at hand makes, 0: none; and its time. */
typedef uint32_t (*flow_journal_call_fn)(void *state, int64_t *now_ns);

/* A migrated database with the triggers, made once: copy it. */
const char *flow_journal_template(void);

/* Open the journal of the database at `path`. */
struct flow_journal *flow_journal_open(const char *path, flow_journal_call_fn call,
                                       void *state);
void flow_journal_close(struct flow_journal *self);

/* The last entry that was committed. */
int64_t flow_journal_seen(struct flow_journal *self);

/* How many executions have not ended. */
int64_t flow_journal_open_count(struct flow_journal *self);

/* Executions that are in this state, as stored; up to `room`. Returns how many. */
size_t flow_journal_in_state(struct flow_journal *self, int64_t state,
                             struct weir_execution_id *out, size_t room);

/* How many budgets have used something else than their ledger says. */
int64_t flow_journal_unbalanced(struct flow_journal *self);

/* What is left of executions that were removed. */
int64_t flow_journal_orphans(struct flow_journal *self);

/* All entries, in order. */
void flow_journal_walk(struct flow_journal *self, struct flow_model *model);

#endif
