/*
 * flow_model.h - a second account of executions: what may become of them, written from
 * the specification and not from src/flow.
 *
 * It is told two things. Whoever calls the engine tells of each call what was asked and
 * what was answered. And the database keeps a journal of its own (flow_journal.h):
 * every version of every row that was committed, with the call that made it, or 0 when
 * it was a reconciler. At the end the journal is walked and each step must be one that
 * the model allows; then the answers must fit:
 *
 *   M1  every version of a row follows from the one before by a rule of whoever made
 *       it, in all of its columns. So an execution ends once, and goes on only by a
 *       replay; the epoch grows and nothing but; retries, reclaims and replays keep to
 *       the policy; nothing is claimed before its time or after its deadline, and the
 *       best are claimed first
 *   M2  who writes as a worker shows the epoch of the row, and its lease is not over
 *   M3  the attempts that have ended are numbered 0, 1, 2, ... as they end, and each
 *       that ends is there, with its outcome, its epoch and its times
 *   M4  each step is told exactly once in each queue that it belongs to, as what it was
 *   M5  a key of idempotency stands for one execution as long as it counts
 *   M6  what was removed had ended, and long enough ago; nothing that belonged to it is
 *       left
 *   M7  a call that was refused has changed nothing; one that was done has done it,
 *       itself or before
 *   M8  whoever was refused was so for a reason that held at some moment of his call,
 *       and what he was told of the execution was so at some moment of his call;
 *       likewise whoever only read
 *   M9  the public state that was told is that of the row
 *   M11 a signal with a key is taken once, and only while its waitpoint waits; the one
 *       with which the condition holds resumes the execution, at once or after the
 *       delay that was asked for, and nothing else that is called a signal does. So a
 *       signal and a timeout have one winner, and what has ended stays so
 *   M12 what is used of a budget is what was reported, each key once, less what was
 *       given back, since the last reset, and what the ledger says; it never exceeds
 *       the hard limit. Nothing that is charged to a budget is claimed while the limit
 *       is reached
 *   M10 without faults of database, process or clock, what is due is done within the
 *       interval of its reconciler; and whoever claims in vain could not have had
 *       anything
 *
 * The answer to a call may be lost. The model then allows what the call may have done
 * and what it would have left, and the journal says which of these it was.
 *
 * Times    The rule's clock is not in the journal, but the moment at which its row was
 *          written. So a rule has an interval of times, from the least to the greatest
 *          that the clock has shown since the call began; columns that say it exactly
 *          narrow it to one.
 */
#ifndef WEIR_TEST_FLOW_MODEL_H
#define WEIR_TEST_FLOW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/sim/event_log.h"
#include "weir/budget.h"
#include "weir/executions.h"
#include "weir/suspension.h"

enum {
    FLOW_ITEMS_MAX = 6,
    FLOW_TEXT_SIZE = 40,
    FLOW_LANES = 2,
    FLOW_JUMPS_MAX = 64,
    FLOW_WRITTEN_MAX = 64, /* rows of one call */
    FLOW_SIGNALS_MAX = 64  /* of one suspension */
};

#define FLOW_BUDGET "gold" /* the only one; its dimension is "tokens" */

/* ---- what is submitted ------------------------------------------------------------- */

struct flow_draft {
    uint32_t number; /* its kind is "k" and this, and its input too */
    struct weir_execution_draft draft;
    struct weir_execution_policy policy;
    struct weir_execution_id id;
    struct weir_tag tag;
    char kind[16];
    char key[16];
    bool budgeted; /* charged to FLOW_BUDGET */
};

/* ---- rows -------------------------------------------------------------------------- */

/* The columns of {p}_execution that change, in the order of the journal. */
#define FLOW_COLUMNS(X)                                                                  \
    X(state)                                                                             \
    X(hold)                                                                              \
    X(pending)                                                                           \
    X(attempt_type)                                                                      \
    X(percent)                                                                           \
    X(priority)                                                                          \
    X(attempts)                                                                          \
    X(retries)                                                                           \
    X(reclaims)                                                                          \
    X(replays)                                                                           \
    X(epoch)                                                                             \
    X(settled_epoch)                                                                     \
    X(settled_as)                                                                        \
    X(created_us)                                                                        \
    X(due_us)                                                                            \
    X(lease_us)                                                                          \
    X(attempt_deadline_us)                                                               \
    X(deadline_us)                                                                       \
    X(claimed_us)                                                                        \
    X(started_us)                                                                        \
    X(ended_us)                                                                          \
    X(on_timeout)                                                                        \
    X(turn)

#define FLOW_COLUMN_ENUM_(name) FLOW_##name,
enum flow_column { FLOW_COLUMNS(FLOW_COLUMN_ENUM_) FLOW_COLUMN_COUNT };
#undef FLOW_COLUMN_ENUM_

struct flow_row {
    int64_t of[FLOW_COLUMN_COUNT];
    char instance[FLOW_TEXT_SIZE];
    char failure[FLOW_TEXT_SIZE];
};

/* ---- calls ------------------------------------------------------------------------- */

enum flow_verb {
    FLOW_RECONCILE, /* no call: whoever has none */
    FLOW_SUBMIT,
    FLOW_CLAIM,
    FLOW_RENEW,
    FLOW_SETTLE,
    FLOW_PROGRESS,
    FLOW_SUSPEND,
    FLOW_CANCEL,
    FLOW_REVOKE,
    FLOW_PRIORITISE,
    FLOW_REPLAY,
    FLOW_RESUME,
    FLOW_SIGNAL,
    FLOW_GET,
    FLOW_REPORT, /* of budgets, from here on: no rows of executions */
    FLOW_RELEASE,
    FLOW_RESET,
    FLOW_VERBS
};

/* What a suspension waits for, at its waitpoints "w" and "v". */
enum flow_wait {
    FLOW_WAIT_ONE,     /* *@w */
    FLOW_WAIT_TWO,     /* 2 of signals *@w */
    FLOW_WAIT_BOTH,    /* all(go@w, go@v) */
    FLOW_WAIT_SOURCES, /* 2 of sources go@(w, v) */
    FLOW_WAIT_OPERATOR,
    FLOW_WAIT_TIMEOUT,
    FLOW_WAITS
};

/* One execution of a call: what was asked, what was answered. */
struct flow_item {
    /* asked */
    const struct flow_draft *draft; /* SUBMIT */
    struct weir_execution_id id;    /* operators, GET; SUBMIT: answered */
    struct weir_claim claim;        /* RENEW, SETTLE, PROGRESS; CLAIM: answered */
    enum weir_settle settle;
    bool permanent;
    int64_t delay_us;
    char text[FLOW_TEXT_SIZE]; /* reason, or result */
    int64_t number;            /* percent, priority; REPORT: the amount */
    enum flow_wait wait;       /* SUSPEND */
    int64_t timeout_us;
    enum weir_on_timeout on_timeout;
    struct weir_waitpoint waitpoint_slot; /* SIGNAL: where */
    char signal[FLOW_TEXT_SIZE];
    char source[FLOW_TEXT_SIZE];
    char key[FLOW_TEXT_SIZE]; /* SIGNAL, REPORT; "": none */

    /* answered */
    enum weir_signal_effect effect;
    enum weir_spending spending;
    bool duplicate;
    enum weir_status status;
    struct weir_execution_status current;
    bool revoked;
    const char *why;
    struct weir_claimed claimed; /* its texts are gone */
    struct weir_execution_info info;
    int32_t attempts_read; /* GET, at the end: -1 when their numbers have a gap */
};

struct flow_call {
    uint32_t number; /* from 1 */
    enum flow_verb verb;
    char who[32];
    int64_t begun_ns;
    int64_t ended_ns;
    int64_t seen_from; /* how far the journal was when it began and when it ended */
    int64_t seen_to;
    bool answered; /* false: whoever called is dead */
    bool undone;   /* the caller's transaction was rolled back */
    enum weir_status status;
    char instance[FLOW_TEXT_SIZE]; /* CLAIM */
    uint32_t lanes;                /* bits */
    bool gpu;
    int64_t ttl_us; /* CLAIM, RENEW */
    size_t item_count;
    struct flow_item items[FLOW_ITEMS_MAX];

    /* by the journal */
    size_t written; /* rows, without those that a claim found past their deadline */
    int64_t written_nos[FLOW_WRITTEN_MAX];
    size_t signals; /* that were taken */
    size_t spent;   /* changes of what is used */
};

/* ---- the model --------------------------------------------------------------------- */

struct flow_model;

struct flow_model_options {
    struct event_log *event_log;
    const struct flow_draft *drafts;
    uint32_t draft_count;
    int64_t retention_us; /* 0: for ever */
    bool punctual;        /* nothing goes wrong that makes reconcilers late: M10 */
};

struct flow_stats {
    uint64_t executions;
    uint64_t attempts;
    uint64_t ends;
    uint64_t calls;
    uint64_t doubts; /* calls whose reply was lost, with their process or without */
    uint64_t refusals;
    uint64_t removed;
    uint64_t steps;
    uint64_t suspensions;
    uint64_t signals;
    uint64_t reports;
    uint64_t held_back; /* by the budget */
};

struct flow_model *flow_model_create(const struct flow_model_options *options);
void flow_model_destroy(struct flow_model *self);

/* A call begins. Lives as long as the model. */
struct flow_call *flow_model_call(struct flow_model *self, enum flow_verb verb,
                                  const char *who, int64_t now_ns, int64_t seen);

/* The database's clock is wrong by this, from now on. */
void flow_model_clock(struct flow_model *self, int64_t now_ns, int64_t error_us);

/* ---- the journal, in its order ---- */

struct flow_entry {
    int64_t seq;
    int64_t ns;
    uint32_t call; /* 0: a reconciler */
    int64_t no;
};

/* A row of `execution` was written. `id` and `kind` as stored. */
void flow_model_row(struct flow_model *self, const struct flow_entry *entry,
                    const struct weir_execution_id *id, const char *kind,
                    const struct flow_row *row);
void flow_model_removed(struct flow_model *self, const struct flow_entry *entry);

/* A row of `attempt`: numbers as stored. */
struct flow_attempt {
    int64_t number, type, outcome, epoch, started_us, ended_us;
};
void flow_model_attempt(struct flow_model *self, const struct flow_entry *entry,
                        const struct flow_attempt *attempt);
void flow_model_result(struct flow_model *self, const struct flow_entry *entry,
                       const char *bytes, size_t size);
void flow_model_event(struct flow_model *self, const struct flow_entry *entry,
                      const char *payload);
void flow_model_key_forgotten(struct flow_model *self, const struct flow_entry *entry,
                              int64_t until_us);

/* A row of `signal`. */
struct flow_signal {
    char waitpoint[FLOW_TEXT_SIZE]; /* its key; "": the engine's own */
    uint8_t uuid[WEIR_UUID_SIZE];   /* of the waitpoint */
    char key[FLOW_TEXT_SIZE];
    char name[FLOW_TEXT_SIZE];
    char source[FLOW_TEXT_SIZE];
    int64_t came_us;
};
void flow_model_signal(struct flow_model *self, const struct flow_entry *entry,
                       const struct flow_signal *signal);

/* What is used of the budget, and its limit. */
void flow_model_usage(struct flow_model *self, const struct flow_entry *entry,
                      int64_t used, int64_t hard);

/* ---- the end ---- */

/* All of the journal was walked. `healed`: everything must have ended. */
void flow_model_judge(struct flow_model *self, bool healed, struct flow_stats *out);

/* ---- for flow_model_answers.c ---- */

struct flow_version {
    int64_t seq;
    uint32_t call;
    struct flow_row row;
};

/* When something may have happened. */
struct flow_moment {
    int64_t least_us;
    int64_t most_us;
};

/* What a step has to be followed by, in its transaction. */
struct flow_debt {
    struct flow_moment when; /* the step was taken */
    bool attempt;
    struct flow_attempt ended;
    const char *completion; /* NULL: none; its name */
    const char *lease;
    const char *operated;
    int64_t completion_epoch;
    int64_t lease_epoch;
    char result[FLOW_TEXT_SIZE];
    bool has_result;
    bool timeout_signal; /* before it, in its transaction */
};

/* A suspension that is open. */
struct flow_suspension {
    bool open;
    enum flow_wait wait;
    int64_t resume_delay_us;
    struct flow_signal signals[FLOW_SIGNALS_MAX];
    size_t signal_count;
};

/* Lane and capabilities fit. */
bool flow_call_may_have(const struct flow_call *self, const struct flow_draft *draft);

struct flow_execution {
    int64_t no;
    struct weir_execution_id id;
    char id_text[WEIR_EXECUTION_ID_TEXT_SIZE];
    const struct flow_draft *draft;
    struct flow_version *versions;
    size_t version_count;
    int64_t removed_seq; /* 0: it is there */
    int32_t ended_attempts;
    struct flow_debt debt;
    struct flow_suspension suspension;
    bool owes_resume;   /* a signal suffices: the next step is to say so */
    const char *told;   /* NULL: no signal; what of it is to be told */
    bool engine_signal; /* one that tells of a timeout was taken */
};

struct flow_key {
    const struct flow_draft *draft;
    struct weir_execution_id id;
    int64_t until_us;
};

struct flow_model {
    struct flow_model_options options;
    struct flow_call **calls;
    size_t call_count;
    struct flow_execution *executions; /* in the order of `no` */
    size_t execution_count;
    struct flow_key *keys;
    size_t key_count;
    struct {
        int64_t ns;
        int64_t error_us;
    } jumps[FLOW_JUMPS_MAX];
    size_t jump_count;
    struct flow_signal *signals; /* with keys, of all */
    int64_t *signal_nos;
    size_t signal_count;
    struct flow_item **reports; /* with keys, that have counted */
    int64_t *report_us;
    size_t report_count;
    int64_t used, hard; /* of the budget */
    int64_t resets;
    struct flow_stats stats;
};

/* ---- for flow_model.c ---- */

/* Does the condition hold, with what has been taken? */
bool flow_suspension_holds(const struct flow_suspension *self);
bool flow_suspension_wants(const struct flow_suspension *self,
                           const struct flow_signal *signal);
bool flow_model_budget_is_reached(const struct flow_model *self);

/* Least and greatest time that the clock has shown between these. */
struct flow_moment flow_model_moment(const struct flow_model *self, int64_t from_ns,
                                     int64_t to_ns);
/* How a settlement is stored in settled_as; a suspension is the last of them. */
enum { FLOW_SETTLED_BY_SUSPENSION = 6 };
int64_t flow_item_settled_as(const struct flow_item *item);

enum weir_public_state flow_row_public(const struct flow_row *row);
bool flow_row_is_over(const struct flow_row *row);

/* Note its life: what a violation is to be understood by. */
void flow_execution_tell(const struct flow_execution *self, struct event_log *event_log);
void flow_model_judge_answers(struct flow_model *self);

#endif
