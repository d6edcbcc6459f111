/*
 * delivery_audit.h - what many processes have written to a queue, what was delivered of
 * it, and whether the two agree.
 *
 * Writers note each transaction and each message; a message carries its note as the
 * beginning of its payload: which transaction, which of its messages, and how many
 * commits anybody knew of when it was enqueued. Whoever delivers notes what came under
 * which number. When all is over, delivery_audit_judge() goes through each partition in
 * the order of the numbers:
 *
 *   - there is a message under each number, and the same one each time it was delivered
 *   - it belongs to a transaction that has committed, behind the earlier ones of that
 *     transaction
 *   - every transaction that had committed when it was enqueued is complete
 *   - in the end all of them are; of one whose commit got no answer all messages came,
 *     or none
 *
 * A commit is noted after it has returned. So whoever reads the count of commits before
 * it enqueues knows that these were first, whatever happens at the same time.
 *
 * Threads  Any thread of any process that was forked after create(), but for judge().
 * Memory   Shared pages that are taken when they are first touched.
 */
#ifndef WEIR_TEST_DELIVERY_AUDIT_H
#define WEIR_TEST_DELIVERY_AUDIT_H

#include <stddef.h>
#include <stdint.h>

enum {
    DELIVERY_AUDIT_PARTITIONS = 16,
    DELIVERY_AUDIT_STREAMS = 2,
    DELIVERY_AUDIT_TEXT_SIZE = 256
};

/* The beginning of a payload. */
struct delivery_audit_note {
    uint32_t transaction; /* from 1 */
    uint32_t index;       /* in it, from 1 */
    uint32_t seen;        /* commits that were known */
};

struct delivery_audit_verdict {
    int64_t transactions; /* committed */
    int64_t messages;     /* of them */
    int64_t doubted;      /* transactions, committed or not */
    int64_t delivered[DELIVERY_AUDIT_STREAMS];
    int64_t again; /* deliveries of the same message under the same number */
    int64_t lost;  /* messages that never came */
    int64_t
        unexpected; /* of a transaction that was rolled back, or more than there are */
    int64_t
        overtaken; /* a transaction not complete when a message came that knew of it */
    int64_t disordered; /* before an earlier one of its transaction */
    int64_t gaps;       /* numbers under which nothing came, or came too soon */
    int64_t changed;    /* numbers under which two different messages came */
    int64_t violations; /* the sum of the last six */
    char first[DELIVERY_AUDIT_TEXT_SIZE]; /* of the violations, for people */
};

struct delivery_audit;

/* Room for so many messages; twice as many transactions as anybody will need. Ends the
 * test when there is no memory. Owes one destroy. */
struct delivery_audit *delivery_audit_create(size_t messages_max);
void delivery_audit_destroy(struct delivery_audit *self);

/* A new transaction. 0: there is no room for another one. */
uint32_t delivery_audit_begin(struct delivery_audit *self);

/* The note of its next message; and that this message was taken back by a savepoint. */
struct delivery_audit_note delivery_audit_write(struct delivery_audit *self,
                                                uint32_t transaction, int32_t partition);
void delivery_audit_undo(struct delivery_audit *self, uint32_t transaction,
                         int32_t partition);

/* It has committed; without this it was rolled back. Returns how many messages it has. */
int64_t delivery_audit_commit(struct delivery_audit *self, uint32_t transaction);

/* Whether it has committed is not known, and will not be until all is over. */
void delivery_audit_doubt(struct delivery_audit *self, uint32_t transaction);

/* Messages that have been committed so far, and those that a stream has seen. */
int64_t delivery_audit_committed(const struct delivery_audit *self);
int64_t delivery_audit_delivered(const struct delivery_audit *self, int stream);

/* A handler was given this. */
void delivery_audit_deliver(struct delivery_audit *self, int stream, int32_t partition,
                            int64_t seq, const void *payload, size_t payload_size);

/* When nobody writes or delivers any more. */
void delivery_audit_judge(struct delivery_audit *self,
                          struct delivery_audit_verdict *out);

#endif
