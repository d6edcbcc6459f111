/*
 * history.c - see history.h.
 */
#include "kit/sim/history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/sim/event_log.h"
#include "kit/test.h"

enum { EPOCHS_MAX = 4096 };

enum outcome { OPEN, COMMITTING, COMMITTED, ROLLED_BACK, IN_DOUBT };

struct transaction {
    enum outcome outcome;
    uint32_t commit; /* it was the how-manieth to be known as committed; 0: not known */
};

struct message {
    uint32_t transaction;
    int32_t partition;
    uint32_t seen; /* commits known when it was enqueued */
    uint32_t seq[HISTORY_STREAMS];
    bool done[HISTORY_STREAMS];
    bool rejected[HISTORY_STREAMS];
    uint32_t effects;
};

struct epoch {
    uint32_t process; /* 0: not seen yet */
    uint32_t late;    /* messages that came when a later one had been seen */
};

struct stream {
    uint32_t *by_seq; /* number of the message plus 1; 0: not seen */
    uint32_t last;    /* highest number seen */
    int64_t epoch;    /* highest seen */
    struct epoch *epochs;
};

struct history {
    struct event_log event_log;
    uint32_t message_max;
    uint32_t batch_max; /* of a call */
    struct transaction *transactions;
    uint32_t transaction_count;
    struct message *messages;
    uint32_t message_count;
    uint32_t commits;
    struct stream streams[HISTORY_STREAMS][HISTORY_PARTITIONS];
    uint32_t disturbances;
    uint64_t delivered;
    uint64_t again;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    check(memory != NULL);
    return memory;
}

struct history *history_create(uint32_t message_max, uint32_t batch_max,
                               const int64_t *clock_ns, bool loud)
{
    struct history *self = allocate(1, sizeof *self);

    self->event_log.clock_ns = clock_ns;
    self->event_log.loud = loud;
    self->message_max = message_max;
    self->batch_max = batch_max;
    self->transactions = allocate(message_max + 1, sizeof *self->transactions);
    self->messages = allocate(message_max + 1, sizeof *self->messages);
    for (int i = 0; i < HISTORY_STREAMS * HISTORY_PARTITIONS; i++) {
        struct stream *stream = &self->streams[0][0] + i;

        stream->by_seq = allocate(message_max + 2, sizeof *stream->by_seq);
        stream->epochs = allocate(EPOCHS_MAX, sizeof *stream->epochs);
    }
    return self;
}

void history_destroy(struct history *self)
{
    for (int i = 0; i < HISTORY_STREAMS * HISTORY_PARTITIONS; i++) {
        free((&self->streams[0][0] + i)->by_seq);
        free((&self->streams[0][0] + i)->epochs);
    }
    free(self->transactions);
    free(self->messages);
    free(self);
}

/* ---- notes ------------------------------------------------------------------------- */

void history_note(struct history *self, const char *who, const char *format, ...)
{
    char text[EVENT_LOG_NOTE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    event_log_note(&self->event_log, who, "%s", text);
}

void history_violate(struct history *self, const char *format, ...)
{
    char text[HISTORY_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    event_log_violate(&self->event_log, "%s", text);
}

const char *history_violation(const struct history *self)
{
    return self->event_log.violation;
}

void history_print(const struct history *self)
{
    event_log_print(&self->event_log);
}

uint64_t history_fingerprint(const struct history *self)
{
    return self->event_log.fingerprint;
}

/* ---- producers --------------------------------------------------------------------- */

uint32_t history_begin(struct history *self)
{
    check(self->transaction_count < self->message_max);
    return self->transaction_count++;
}

uint32_t history_write(struct history *self, uint32_t transaction, int32_t partition)
{
    check(self->message_count < self->message_max);
    self->messages[self->message_count] = (struct message){
        .transaction = transaction, .partition = partition, .seen = self->commits};
    return self->message_count++;
}

void history_commits(struct history *self, uint32_t transaction)
{
    self->transactions[transaction].outcome = COMMITTING;
}

void history_committed(struct history *self, uint32_t transaction)
{
    self->transactions[transaction].outcome = COMMITTED;
    self->transactions[transaction].commit = ++self->commits;
}

void history_rolled_back(struct history *self, uint32_t transaction)
{
    self->transactions[transaction].outcome = ROLLED_BACK;
}

void history_doubted(struct history *self, uint32_t transaction)
{
    struct transaction *it = &self->transactions[transaction];

    if (it->outcome == OPEN) /* its process died long before the commit */
        it->outcome = ROLLED_BACK;
    else if (it->outcome == COMMITTING)
        it->outcome = IN_DOUBT;
}

uint32_t history_transactions(const struct history *self)
{
    return self->transaction_count;
}

/* ---- handlers ---------------------------------------------------------------------- */

void history_disturbed(struct history *self)
{
    self->disturbances++;
}

/* V5 */
static void check_epoch(struct history *self, struct stream *stream, uint32_t process,
                        const struct weir_message *message)
{
    struct epoch *epoch;

    if (message->epoch < 1 || message->epoch >= EPOCHS_MAX) {
        history_violate(self, "epoch %" PRId64 " is none", message->epoch);
        return;
    }
    epoch = &stream->epochs[message->epoch];
    if (epoch->process != 0 && epoch->process != process)
        history_violate(
            self, "epoch %" PRId64 " of partition %d belongs to processes %u and %u",
            message->epoch, message->partition, epoch->process, process);
    epoch->process = process;
    if (message->epoch > stream->epoch)
        stream->epoch = message->epoch;
    else if (message->epoch < stream->epoch && ++epoch->late > self->batch_max)
        history_violate(self,
                        "partition %d: process %u goes on under epoch %" PRId64
                        " though %" PRId64 " was seen",
                        message->partition, process, message->epoch, stream->epoch);
}

/* V2 */
static void check_number(struct history *self, int index, struct stream *stream,
                         uint32_t number, const struct weir_message *message)
{
    struct message *it = &self->messages[number];
    uint32_t seq = (uint32_t)message->seq;

    if (message->seq < 1 || message->seq > (int64_t)self->message_max) {
        history_violate(self, "the number %" PRId64 " is none", message->seq);
    } else if (stream->by_seq[seq] != 0) {
        if (stream->by_seq[seq] != number + 1)
            history_violate(self, "partition %d: number %u is message %u and message %u",
                            message->partition, seq, stream->by_seq[seq] - 1, number);
    } else if (it->seq[index] != 0) {
        history_violate(self, "message %u has the numbers %u and %u", number,
                        it->seq[index], seq);
    } else if (seq != stream->last + 1) {
        history_violate(self, "partition %d: number %u comes after %u",
                        message->partition, seq, stream->last);
    } else {
        const struct message *before =
            stream->last > 0 ? &self->messages[stream->by_seq[stream->last] - 1] : NULL;

        if (before != NULL && !before->done[index] && !before->rejected[index])
            history_violate(
                self, "partition %d: number %u comes before %u was done or rejected",
                message->partition, seq, stream->last);
        stream->by_seq[seq] = number + 1;
        stream->last = seq;
        it->seq[index] = seq;
    }
}

uint32_t history_delivered(struct history *self, int stream, uint32_t process,
                           const struct weir_message *message)
{
    uint32_t number = UINT32_MAX;
    const struct message *it;

    if (message->payload_size == sizeof number)
        memcpy(&number, message->payload, sizeof number);
    if (number >= self->message_count || message->partition < 0 ||
        message->partition >= HISTORY_PARTITIONS) {
        history_violate(self, "a message came that nobody has written");
        return 0;
    }
    it = &self->messages[number];
    self->delivered++;
    self->again += it->done[stream];
    if (it->partition != message->partition)
        history_violate(self, "message %u came in partition %d, not %d", number,
                        message->partition, it->partition);
    if (self->transactions[it->transaction].outcome == ROLLED_BACK)
        history_violate(self, "message %u came, and was rolled back", number);
    if (self->transactions[it->transaction].outcome == OPEN)
        history_violate(self, "message %u came before its commit", number);
    check_epoch(self, &self->streams[stream][message->partition], process, message);
    check_number(self, stream, &self->streams[stream][message->partition], number,
                 message);
    return number;
}

void history_answered(struct history *self, int stream, uint32_t message,
                      enum weir_outcome outcome)
{
    if (outcome == WEIR_DONE)
        self->messages[message].done[stream] = true;
    if (outcome == WEIR_REJECT)
        self->messages[message].rejected[stream] = true;
}

/* ---- the end ----------------------------------------------------------------------- */

static bool was_seen(const struct history *self, const struct message *it, int streams)
{
    (void)self;
    for (int i = 0; i < streams; i++) {
        if (it->seq[i] != 0)
            return true;
    }
    return false;
}

/* Of a transaction in doubt one message that came is proof of all. */
static void resolve_doubts(struct history *self, int streams)
{
    for (uint32_t i = 0; i < self->message_count; i++) {
        struct transaction *it = &self->transactions[self->messages[i].transaction];

        if (it->outcome == IN_DOUBT && was_seen(self, &self->messages[i], streams))
            it->outcome = COMMITTED;
    }
}

/* V1 */
static void judge_losses(struct history *self, int streams, uint32_t *committed)
{
    for (uint32_t i = 0; i < self->message_count; i++) {
        const struct message *it = &self->messages[i];

        if (self->transactions[it->transaction].outcome != COMMITTED)
            continue;
        ++*committed;
        for (int stream = 0; stream < streams; stream++) {
            if (!it->done[stream] && !it->rejected[stream])
                history_violate(self, "message %u of stream %d was lost", i, stream);
        }
    }
}

/* V3. From the end: what is the earliest commit that comes later? */
static void judge_order(struct history *self, const struct stream *stream)
{
    uint32_t earliest = UINT32_MAX;

    for (uint32_t seq = stream->last; seq >= 1; seq--) {
        uint32_t number = stream->by_seq[seq] - 1;
        const struct message *it = &self->messages[number];
        uint32_t commit = self->transactions[it->transaction].commit;

        if (it->seen >= earliest)
            history_violate(
                self,
                "message %u comes before one that was committed before it was "
                "enqueued",
                number);
        if (commit != 0 && commit < earliest)
            earliest = commit;
        for (uint32_t later = seq + 1; later <= stream->last; later++) {
            uint32_t other = stream->by_seq[later] - 1;

            if (other < number && self->messages[other].transaction == it->transaction)
                history_violate(self,
                                "message %u comes before %u of the same transaction",
                                number, other);
        }
    }
}

/* V4 */
static void judge_repetitions(struct history *self, int streams)
{
    uint64_t excused = (uint64_t)self->disturbances * HISTORY_PARTITIONS *
                       (uint64_t)streams * self->batch_max;

    if (self->again > excused)
        history_violate(
            self, "%" PRIu64 " messages came again; %u disturbances excuse %" PRIu64,
            self->again, self->disturbances, excused);
}

void history_judge(struct history *self, int streams, struct history_stats *out)
{
    *out = (struct history_stats){.delivered = self->delivered,
                                  .again = self->again,
                                  .disturbances = self->disturbances};
    resolve_doubts(self, streams);
    judge_losses(self, streams, &out->messages);
    for (int i = 0; i < streams; i++) {
        for (int partition = 0; partition < HISTORY_PARTITIONS; partition++)
            judge_order(self, &self->streams[i][partition]);
    }
    judge_repetitions(self, streams);
}

void history_rejected(const struct history *self, int stream, int64_t *least,
                      int64_t *most)
{
    *least = 0;
    *most = 0;
    for (uint32_t i = 0; i < self->message_count; i++) {
        const struct message *it = &self->messages[i];

        *most += it->rejected[stream];
        *least += it->rejected[stream] && !it->done[stream];
    }
}

void history_effect(struct history *self, uint32_t message)
{
    if (message >= self->message_count)
        history_violate(self, "message %u, which nobody has written, had an effect",
                        message);
    else if (++self->messages[message].effects > 1)
        history_violate(self, "message %u had an effect twice", message);
}

void history_judge_effects(struct history *self, int stream)
{
    for (uint32_t i = 0; i < self->message_count; i++) {
        const struct message *it = &self->messages[i];

        if (it->effects > 0 && !it->done[stream])
            history_violate(self, "message %u had an effect and was not done", i);
        if (it->effects == 0 && it->done[stream] && !it->rejected[stream])
            history_violate(self, "message %u was done without an effect", i);
    }
}
