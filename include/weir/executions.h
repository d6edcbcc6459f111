/*
 * executions.h - a durable execution engine in the application's database.
 *
 * Work is submitted, claimed by workers for a limited time, and ends exactly once. All
 * truth is in the database (SQLite or PostgreSQL), all times are its clock's; a process
 * may die at any moment.
 *
 *   submit(draft) ... claim(lanes) -> run -> renew, renew -> complete | fail | delay
 *                                                         | abandon
 *
 * Every call of a worker shows its claim. One whose claim is not current any more gets
 * WEIR_FENCED and the truth, and changes nothing; one that repeats a call whose reply
 * was lost gets WEIR_OK again.
 *
 * Events   Every end, lease, and change by an operator is announced in queues of the
 *          outbox ("execution.completion", "execution.lease", "execution.operator"), in
 *          the same transaction: JSON, with the id of the execution as key, or of the
 *          flow that is cancelled. A program that needs them
 *          subscribes (weir/outbox.h); without a subscription no event is kept.
 * Life     migrate, create, use, destroy. The reconcilers of
 *          weir/execution_supervisor.h must run somewhere, in any number of processes.
 * Threads  Any thread; create and destroy one at a time.
 * Failure  Deadlocks and serialisation failures are retried inside. WEIR_IN_DOUBT: the
 *          reply of the commit was lost, and its outcome is unknown. Repeat
 *          the call, it finds out what happened, if it is a submission whose drafts all
 *          have a key or an id; or settles, renews, reports progress, cancels, revokes
 *          by epoch, or sets a priority. Others would do it once more. Compare with
 *          what weir_execution_get() returned before:
 *
 *            submit without key and id    nothing tells; there may be two. Give a key
 *            claim                        see weir_execution_claim()
 *            replay                       has happened if `replays` has grown
 *            resume (weir/suspension.h)   has if it is not suspended, or if `epoch` has
 *                                         grown: then it is suspended once more
 *            revoke, whatever the epoch   has, or need not, if `epoch` has grown
 */
#ifndef WEIR_EXECUTIONS_H
#define WEIR_EXECUTIONS_H

#include <weir/db.h>
#include <weir/execution.h>

struct weir_executions;
struct weir_outbox;

enum { WEIR_BATCH_MAX = 10000 };

/* Limits of lease_ms. */
enum { WEIR_EXECUTION_LEASE_MS_MIN = 1000, WEIR_EXECUTION_LEASE_MS_MAX = 3600 * 1000 };

struct weir_executions_options {
    struct weir_db *db; /* borrowed until destroy(); not MariaDB */
    struct weir_outbox
        *outbox;         /* for the events; borrowed until destroy(); NULL: no events */
    uint32_t partitions; /* 1 to 65,535; default 256; the same in all processes */
    /* PostgreSQL: for applications that PREPARE their transactions, which a NOTIFY
     * forbids; waiting claims of other processes then hear of it within a second. SET
     * LOCAL weir.notify = off does the same for one transaction. */
    bool no_notify;
    bool no_savepoint; /* submit in a caller's transaction without a savepoint */
};

/* The claimant. */
struct weir_claim_options {
    const char *const *lanes; /* 1 to 64 of them, served fairly */
    size_t lane_count;
    const char *const *capabilities;
    size_t capability_count;
    const char *worker;   /* the pool; 1 to 256 printable characters */
    const char *instance; /* this process; likewise, without blanks */
    int64_t lease_ms;     /* 1 s to 1 h; default 30 s */
    int64_t
        wait_ms; /* for something to come, without polling; up to 1 h; 0: do not wait */
};

/* What was claimed. Texts and bytes live until weir_claimed_free(). */
struct weir_claimed {
    struct weir_claim claim;
    const char *name_space;
    const char *lane;
    const char *kind;
    const char *name; /* of a member of a flow; "" when it has none */
    int32_t attempt;  /* its number, from 0 */
    enum weir_attempt_type type;
    const void *input; /* of a member that data is passed to: see weir/flow.h */
    size_t input_size; /* up to WEIR_INPUT_SIZE_MAX; of several results
                          WEIR_JOINED_SIZE_MAX */
    const struct weir_tag *tags;
    size_t tag_count;
    int64_t lease_us;    /* until when, by the database's clock */
    int64_t claimed_ns;  /* just before the lease began, by the executor's clock */
    int64_t deadline_us; /* of attempt or execution, whichever is sooner; 0: none */
};

/* The state of an execution, for any caller. All zero when there is none. */
struct weir_execution_status {
    enum weir_public_state state;
    int64_t epoch;
    int64_t lease_us; /* of its holder; 0: it has none */
};

enum weir_settle {
    WEIR_SETTLE_COMPLETE,
    WEIR_SETTLE_FAIL,
    WEIR_SETTLE_DELAY,
    WEIR_SETTLE_ABANDON /* cancelled by its worker */
};

/* How a worker ends its attempt. `status` and `current` are the answer. */
struct weir_settlement {
    struct weir_claim claim;
    enum weir_settle verb;
    const void *result; /* COMPLETE; up to WEIR_RESULT_SIZE_MAX */
    size_t result_size;
    const char *reason; /* FAIL, ABANDON: UTF-8, cut at WEIR_FAILURE_SIZE_MAX; NULL: "" */
    bool permanent;     /* FAIL: no retry */
    int64_t delay_ms;   /* DELAY */
    /* out: OK, FENCED, NOT_FOUND; MISMATCH: this claim was settled before, with another
     * verb or result, and stays so */
    enum weir_status status;
    struct weir_execution_status current; /* out: as it is after this call */
};

struct weir_renewal {
    struct weir_claim claim;
    enum weir_status status;              /* out: OK, FENCED, NOT_FOUND */
    struct weir_execution_status current; /* out */
};

/* Whose lease is to be taken. */
struct weir_revocation {
    const char *instance; /* NULL: any holder */
    int64_t epoch;        /* 0: whatever it is */
    bool revoked;         /* out; false: it was so already */
    const char *reason;   /* out, when it was: "no_active_lease", "epoch_moved",
                                "different_worker_instance_id"; else ""; lives for ever */
    struct weir_execution_status current; /* out */
};

/* Which executions; empty or zero is any. */
struct weir_execution_filter {
    const char *name_space;
    const char *lane;
    const char *kind;
    const char *tag_key; /* with tag_value */
    const char *tag_value;
    const struct weir_flow_id *flow; /* whose members; NULL: any */
    uint32_t states;                 /* 1 << enum weir_public_state, or-ed; 0: all */
    int64_t before; /* the `next` of the page before; 0: from the newest */
    size_t count;   /* 1 to 1000 */
};

typedef void (*weir_execution_visit_fn)(void *state,
                                        const struct weir_execution_info *info);
typedef void (*weir_attempt_visit_fn)(void *state, const struct weir_attempt_info *info);

WEIR_BEGIN_DECLS

WEIR_CHECKED WEIR_API enum weir_status weir_executions_migrate(struct weir_db *db,
                                                               struct weir_error *error);
WEIR_API void weir_executions_options_init(struct weir_executions_options *self);
WEIR_CHECKED WEIR_API enum weir_status
weir_executions_create(const struct weir_executions_options *options,
                       struct weir_executions **out, struct weir_error *error);
WEIR_API void weir_executions_destroy(struct weir_executions *self);

/*
 * Submit up to WEIR_BATCH_MAX executions, all or none. `connection`, ours or adopted,
 * has an open transaction; NULL: a transaction of its own. `out` has room for all, or
 * is NULL. WEIR_INVALID, WEIR_TOO_LARGE: the text names draft, field and limit.
 * WEIR_MISMATCH: an idempotency key, or an id, was used before for something else; an
 * id also in another namespace, whatever for. A failed call leaves the caller's
 * transaction usable (unless the database has given it up: WEIR_CONFLICT, WEIR_LOST)
 * and without a trace of this call.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_submit(struct weir_executions *self, struct weir_connection *connection,
                      const struct weir_execution_draft *drafts, size_t count,
                      struct weir_submission *out, struct weir_error *error);

/* Something was submitted and committed on a connection of the application's: claims that
 * wait in this process look now, and not after a notification. Never blocks. */
WEIR_API void weir_executions_flush(struct weir_executions *self);

/*
 * Claim up to `count` (1 to WEIR_BATCH_MAX), best first: by priority, then by age, over
 * all lanes alike. *claimed may be 0: nothing came in time. Owes one
 * weir_claimed_free(). Inside an action waiting ends with WEIR_CANCELLED when its
 * worker is cancelled, and in a simulation it takes virtual time. After WEIR_IN_DOUBT
 * something may be claimed that no worker knows of: it comes back when its lease runs
 * out.
 */
WEIR_API void weir_claim_options_init(struct weir_claim_options *self);
WEIR_CHECKED WEIR_API enum weir_status weir_execution_claim(
    struct weir_executions *self, const struct weir_claim_options *options, size_t count,
    struct weir_claimed **out, size_t *claimed, struct weir_error *error);
WEIR_API void weir_claimed_free(struct weir_executions *self,
                                struct weir_claimed *claimed);

/* Up to WEIR_BATCH_MAX. Each has its own status, and one may be named twice; the call
 * fails only as a whole: WEIR_INVALID and WEIR_TOO_LARGE name the one, nothing has
 * changed; or as the database does. */
WEIR_CHECKED WEIR_API enum weir_status weir_execution_renew(struct weir_executions *self,
                                                            int64_t lease_ms,
                                                            struct weir_renewal *renewals,
                                                            size_t count,
                                                            struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_settle(struct weir_executions *self, struct weir_settlement *settlements,
                      size_t count, struct weir_error *error);

/* The newest report only: 0 to 100 percent, and a text of up to WEIR_FAILURE_SIZE_MAX
 * bytes of UTF-8 or NULL. WEIR_FENCED, WEIR_NOT_FOUND as above; `current`, which may be
 * NULL, says then how it stands. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_progress(struct weir_executions *self, const struct weir_claim *claim,
                        int32_t percent, const char *text,
                        struct weir_execution_status *current, struct weir_error *error);

/* Operators. WEIR_NOT_FOUND; WEIR_MISMATCH when its state does not allow it, which the
 * text names. Cancelling what is cancelled and revoking where there is no lease is
 * fine. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_cancel(struct weir_executions *self, const struct weir_execution_id *id,
                      const char *reason, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_revoke(struct weir_executions *self, const struct weir_execution_id *id,
                      struct weir_revocation *revocation, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_prioritise(struct weir_executions *self,
                          const struct weir_execution_id *id, int32_t priority,
                          struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_replay(struct weir_executions *self, const struct weir_execution_id *id,
                      struct weir_error *error);

/* Reading. What is visited lives for the visit. *next is 0 when there is no further
 * page. */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_get(struct weir_executions *self, const struct weir_execution_id *id,
                   weir_execution_visit_fn visit, void *state, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status weir_execution_list(
    struct weir_executions *self, const struct weir_execution_filter *filter,
    weir_execution_visit_fn visit, void *state, int64_t *next, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_attempts(struct weir_executions *self, const struct weir_execution_id *id,
                        weir_attempt_visit_fn visit, void *state,
                        struct weir_error *error);

/* WEIR_NOT_FOUND: no such execution; WEIR_NO_ROW: it is not completed. A result may
 * have 0 bytes; *out is then NULL. Owes weir_executions_free(). */
WEIR_CHECKED WEIR_API enum weir_status
weir_execution_result(struct weir_executions *self, const struct weir_execution_id *id,
                      void **out, size_t *size, struct weir_error *error);
WEIR_API void weir_executions_free(struct weir_executions *self, void *memory);

WEIR_END_DECLS

#endif
