/*
 * history.h - what happened in a simulated world, and whether it may happen.
 *
 * Producers tell of their transactions and messages, handlers of what they are given
 * and what they answer. What must hold is checked as soon as it can be, and the rest by
 * history_judge():
 *
 *   V1  a message of a committed transaction is delivered; one that was rolled back
 *       never is; of one whose outcome is unknown all messages are, or none
 *   V2  numbers are 1, 2, 3, ... in each partition; a number is always the same
 *       message, also from a process that has lost the partition and does not know it
 *       yet; a message comes for the first time only when the one before it was done or
 *       rejected
 *   V3  in each partition: the messages of a transaction in their order, and nothing
 *       before a message that was committed before it was enqueued
 *   V4  without a disturbance nothing that was done comes again; with them at most what
 *       was under way in each partition
 *   V5  an epoch belongs to one process; once a later epoch was seen, at most one batch
 *       of messages comes under an earlier one: of the call that was on its way, or of
 *       calls whose acks were deferred
 *   V6  an effect in the database that is part of the acknowledgement is there exactly
 *       once
 *
 * The first violation is kept, with the last things that happened.
 */
#ifndef WEIR_TEST_HIHISTORY_H
#define WEIR_TEST_HIHISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/batch.h"

enum { HISTORY_STREAMS = 3, HISTORY_PARTITIONS = 8, HISTORY_TEXT_SIZE = 200 };

struct history;

/* Room for so many messages and transactions; calls have up to `batch_max` messages.
 * `clock` is the world's time, for the
 * notes. */
struct history *history_create(uint32_t message_max, uint32_t batch_max,
                               const int64_t *clock_ns, bool loud);
void history_destroy(struct history *self);

/* What happened, for people; a part of the fingerprint too. */
void history_note(struct history *self, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void history_violate(struct history *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *history_violation(const struct history *self); /* ""; the first */
void history_print(const struct history *self);            /* the last notes */
uint64_t history_fingerprint(const struct history *self);

/* ---- producers --------------------------------------------------------------------- */

uint32_t history_begin(struct history *self);

/* The number of a new message, which is its payload. */
uint32_t history_write(struct history *self, uint32_t transaction, int32_t partition);

void history_commits(struct history *self, uint32_t transaction); /* is about to */
void history_committed(struct history *self, uint32_t transaction);
void history_rolled_back(struct history *self, uint32_t transaction);

/* The reply was lost, or the process with it. */
void history_doubted(struct history *self, uint32_t transaction);

uint32_t history_transactions(const struct history *self); /* begun */

/* ---- handlers ---------------------------------------------------------------------- */

/* Something that excuses a repetition: a crash, a pause, an error of the database. */
void history_disturbed(struct history *self);

/* A handler of process number `process` was given a message. Returns the message's
 * number. */
uint32_t history_delivered(struct history *self, int stream, uint32_t process,
                           const struct weir_message *message);
void history_answered(struct history *self, int stream, uint32_t message,
                      enum weir_outcome outcome);

/* ---- the end ----------------------------------------------------------------------- */

struct history_stats {
    uint32_t messages;  /* committed, for sure or as it turned out */
    uint64_t delivered; /* of all streams */
    uint64_t again;     /* of these, after it was done */
    uint32_t disturbances;
};

/* All is over, and everything was delivered, the database says. `batch_max` as in V4. */
void history_judge(struct history *self, int streams, struct history_stats *out);

/* How many messages of a stream can only be dead letters, and how many may be. */
void history_rejected(const struct history *self, int stream, int64_t *least,
                      int64_t *most);

/* An effect of a message was found; and when all were: each of a stream's messages has
 * one if it was done, and none if it was rejected (V6). */
void history_effect(struct history *self, uint32_t message);
void history_judge_effects(struct history *self, int stream);

#endif
