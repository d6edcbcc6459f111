/*
 * dead_letter.h - messages that were rejected, and what becomes of them.
 *
 * A message that a handler rejects, or that has failed too often (attempts_max of its
 * queue), is copied here in the transaction that moves the position past it. It is one
 * of one subscription: others have their own opinion of the same message.
 *
 *   pending --claim--> reprocessing --resolve--> resolved --.
 *      ^                |    |                              |-- cleanup,
 *      |                |    |                              |   retention --> gone
 *      |<----reject-----'    |      .--------> discarded ---'
 *      |<--deadline passed---'      |
 *      |-------discard--------------'
 *      '-------requeue----> resolved, and enqueued again
 *
 * Claim    For programs that repair: the claim gets the letters, and no other claim
 *          gets them until a deadline. A claim has a token. A late owner, after another
 *          one has claimed, discarded or requeued the letter, has the wrong token and is
 *          refused (WEIR_FENCED). A letter whose deadline has passed is pending again,
 *          for every caller.
 * Requeue  Enqueues a new message with the same key, type, headers and payload in the
 *          same partition, behind what is there, and resolves the letter, in one
 *          transaction. Every subscription of the queue gets the new message, not only
 *          the one that rejected it: a subscription that must not do its work twice
 *          looks at the header. The new message has a uid of its own and says where it
 *          comes from:
 *
 *              weir-requeued-from   queue/subscription/partition/seq/uid of the letter
 *              weir-original-uid    uid of the very first one, also after several
 *                                   requeues
 *              weir-requeues        how often it was requeued, from 1
 *
 * Bulk     What works on a scope without a transaction of the caller's works in
 *          transactions of at most WEIR_DEAD_LETTER_STEP letters. It may be ended at
 *          any point, by a crash too, and repeated: each letter is done once.
 * Where    `connection` is one of ours with an open transaction, or an adopted one;
 *          NULL: of its own. Inside the caller's transaction nothing is done until it
 *          commits.
 * Threads  Any thread.
 * Failure  WEIR_INVALID and WEIR_OUT_OF_RANGE name field, value and limit;
 *          WEIR_NOT_FOUND the queue or subscription; else as the database does.
 */
#ifndef WEIR_DEAD_LETTER_H
#define WEIR_DEAD_LETTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/message.h>

struct weir_connection;
struct weir_outbox;

#define WEIR_HEADER_REQUEUED_FROM "weir-requeued-from"
#define WEIR_HEADER_ORIGINAL_UID "weir-original-uid"
#define WEIR_HEADER_REQUEUES "weir-requeues"

enum {
    WEIR_DEAD_LETTER_LIMIT_DEFAULT = 100,
    WEIR_DEAD_LETTER_LIMIT_MAX = 10000,
    WEIR_DEAD_LETTER_STEP = 500 /* of one transaction of a bulk operation */
};

enum weir_dead_letter_status {
    WEIR_DEAD_LETTER_PENDING,      /* waits for a decision, or its claim has run out */
    WEIR_DEAD_LETTER_REPROCESSING, /* claimed, and the deadline is to come */
    WEIR_DEAD_LETTER_RESOLVED,     /* it was dealt with, or requeued */
    WEIR_DEAD_LETTER_DISCARDED,    /* it is not needed */
    WEIR_DEAD_LETTER_ANY,          /* in questions only */
    WEIR_DEAD_LETTER_REQUEUED      /* in questions only: resolved by a requeue */
};

/* Letters of every partition. */
#define WEIR_ANY_PARTITION (-1)

/* Which letters; all conditions hold at once. init() says: all. */
struct weir_dead_letter_scope {
    const char *queue;        /* NULL: of all */
    const char *subscription; /* NULL: of all */
    int32_t partition;        /* of `queue`, which is then needed; WEIR_ANY_PARTITION */
    const char *key;          /* NULL: any, and none */
    const char *type;         /* NULL: any */
    int64_t failed_from_us;   /* since 1970; failed then or later */
    int64_t failed_until_us;  /* failed before then; 0: no end */
    int64_t limit; /* 0: the default of list and claim; without limit for the others */
    bool sealed;   /* list() reads neither payloads nor headers, which a viewer may not */
};

/* Texts end in a zero and live for the call of the visitor. */
struct weir_dead_letter {
    int64_t id;
    const char *queue;
    const char *subscription;
    int32_t partition;
    int64_t seq;
    uint8_t uid[WEIR_UID_SIZE];
    const char *key; /* NULL: none */
    const char *type;
    const void *payload; /* with a zero behind it that is not part of it; NULL: sealed */
    size_t payload_size;
    const struct weir_header *headers;
    size_t header_count;
    int64_t created_us; /* when the message was enqueued */
    int64_t failed_us;  /* when it was rejected, at last */
    uint32_t attempts;  /* that failed before; one more at each reject of a claim */
    const char *reason;
    enum weir_dead_letter_status status;
    int64_t deadline_us;  /* of the claim; 0: not claimed */
    int64_t completed_us; /* resolved or discarded then; 0: not yet */
    bool requeued;
    uint8_t requeued_uid[WEIR_UID_SIZE]; /* of the message that took its place */
};
typedef void (*weir_dead_letter_fn)(void *state, const struct weir_dead_letter *letter);

/* Where a page of list() ended. All zero: begin with the newest. */
struct weir_dead_letter_mark {
    int64_t failed_us;
    int64_t id;
    bool more; /* out: there are older ones */
};

struct weir_dead_letter_claim {
    int64_t token;       /* above 0 */
    int64_t deadline_us; /* database's clock */
    size_t count;        /* of letters claimed */
};

/* How far a bulk operation has come. */
struct weir_dead_letter_progress {
    int64_t done;
    int64_t total; /* letters of the scope when it began; about */
};
/* After each transaction. Return false to end it here: WEIR_CANCELLED. */
typedef bool (*weir_dead_letter_progress_fn)(
    void *state, const struct weir_dead_letter_progress *progress);

WEIR_BEGIN_DECLS

WEIR_API void weir_dead_letter_scope_init(struct weir_dead_letter_scope *self);

/* "pending", "reprocessing", "resolved", "discarded", "any", "requeued"; a number that
 * is none: "unknown". And back: WEIR_INVALID for any other text. */
WEIR_API const char *weir_dead_letter_status_name(enum weir_dead_letter_status status);
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_status_parse(const char *text, enum weir_dead_letter_status *out,
                              struct weir_error *error);

/* ---- looking: nothing is locked ---------------------------------------------------- */

/*
 * A page, newest failure first; begins behind *mark and moves it. A page may be shorter
 * than its limit, when payloads are large: `more` tells the end. A letter that fails
 * again while pages are read moves to the front of the list.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_list(struct weir_outbox *outbox, struct weir_connection *connection,
                      const struct weir_dead_letter_scope *scope,
                      enum weir_dead_letter_status status,
                      struct weir_dead_letter_mark *mark, weir_dead_letter_fn visit,
                      void *state, struct weir_error *error);

/* How many; the limit does not count. */
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_count(struct weir_outbox *outbox, struct weir_connection *connection,
                       const struct weir_dead_letter_scope *scope,
                       enum weir_dead_letter_status status, int64_t *out,
                       struct weir_error *error);

/* One. WEIR_NOT_FOUND names the id. */
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_read(struct weir_outbox *outbox, struct weir_connection *connection,
                      int64_t id, weir_dead_letter_fn visit, void *state,
                      struct weir_error *error);

/* ---- deciding on a scope ----------------------------------------------------------- */

/*
 * Claim pending letters for `timeout_ns` (1 ms to 30 days): never claimed ones first,
 * oldest first, then those whose deadline passed first. Whatever others are at is
 * skipped, so two claims at once get different letters. Visited when the claim is
 * committed, or, in the caller's transaction, at once. None is WEIR_OK with a count of
 * 0. Fewer than the limit when payloads are large.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_claim(struct weir_outbox *outbox, struct weir_connection *connection,
                       const struct weir_dead_letter_scope *scope, int64_t timeout_ns,
                       weir_dead_letter_fn visit, void *state,
                       struct weir_dead_letter_claim *out, struct weir_error *error);

/*
 * Enqueue all pending letters of the scope again, in the order in which they were
 * rejected, in transactions of our own. Letters that fail again meanwhile are not taken
 * twice. `progress` may be NULL; *out is right also after a failure: what was done
 * stays done, and the call may be repeated. WEIR_FULL: the queue's limit of what may
 * wait is reached.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_dead_letter_requeue_all(
    struct weir_outbox *outbox, const struct weir_dead_letter_scope *scope,
    weir_dead_letter_progress_fn progress, void *state,
    struct weir_dead_letter_progress *out, struct weir_error *error);

/* Discard pending letters, and remove resolved and discarded ones. *out gets how many,
 * also after a failure (then, in the caller's transaction, the rollback undoes them).
 * What others are at is skipped. */
WEIR_CHECKED WEIR_API enum weir_status weir_dead_letter_discard_all(
    struct weir_outbox *outbox, struct weir_connection *connection,
    const struct weir_dead_letter_scope *scope, int64_t *out, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_cleanup(struct weir_outbox *outbox, struct weir_connection *connection,
                         const struct weir_dead_letter_scope *scope, int64_t *out,
                         struct weir_error *error);

/* ---- deciding on single ones ------------------------------------------------------- */

/*
 * Each works on the letters `ids` (up to WEIR_DEAD_LETTER_LIMIT_MAX), does what can be
 * done, and says of each what became of it in `verdicts`, which may be NULL:
 *
 *   WEIR_OK          done, or done before by the same token
 *   WEIR_NOT_FOUND   there is no such letter
 *   WEIR_FENCED      not ours: the token is another one's, or it is claimed, or decided
 *                    on
 *
 * Returns WEIR_OK when all were done, else the first verdict that is not, with the id
 * in the text; the others are done all the same. Any other failure: none is done.
 */
struct weir_dead_letter_choice {
    const int64_t *ids;
    size_t count;
    int64_t token; /* of the claim; 0: pending letters, which resolve and reject refuse */
};

/* The claimed letters are taken care of. */
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_resolve(struct weir_outbox *outbox, struct weir_connection *connection,
                         const struct weir_dead_letter_choice *choice,
                         enum weir_status *verdicts, struct weir_error *error);

/* The claimed letters have failed again: back to pending, with one attempt more and a new
 * reason. */
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_reject(struct weir_outbox *outbox, struct weir_connection *connection,
                        const struct weir_dead_letter_choice *choice, const char *reason,
                        enum weir_status *verdicts, struct weir_error *error);

/* Letters that are pending, or claimed with the token. They are requeued in the order
 * in which they were rejected. */
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_requeue(struct weir_outbox *outbox, struct weir_connection *connection,
                         const struct weir_dead_letter_choice *choice,
                         enum weir_status *verdicts, struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_dead_letter_discard(struct weir_outbox *outbox, struct weir_connection *connection,
                         const struct weir_dead_letter_choice *choice,
                         enum weir_status *verdicts, struct weir_error *error);

WEIR_END_DECLS

#endif
