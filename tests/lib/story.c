/*
 * story.c - see story.h.
 */
#include "lib/story.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/chronicle.h"
#include "lib/test.h"

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
    uint32_t seq[STORY_STREAMS];
    bool done[STORY_STREAMS];
    bool rejected[STORY_STREAMS];
    uint32_t effects;
};

struct epoch {
    uint32_t process; /* 0: not seen yet */
    uint32_t late_calls;
};

struct stream {
    uint32_t *by_seq; /* number of the message plus 1; 0: not seen */
    uint32_t last;    /* highest number seen */
    int64_t epoch;    /* highest seen */
    struct epoch *epochs;
};

struct story {
    struct chronicle chronicle;
    uint32_t message_max;
    struct transaction *transactions;
    uint32_t transaction_count;
    struct message *messages;
    uint32_t message_count;
    uint32_t commits;
    struct stream streams[STORY_STREAMS][STORY_PARTITIONS];
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

struct story *story_create(uint32_t message_max, const int64_t *clock_ns, bool loud)
{
    struct story *self = allocate(1, sizeof *self);

    self->chronicle.clock_ns = clock_ns;
    self->chronicle.loud = loud;
    self->message_max = message_max;
    self->transactions = allocate(message_max + 1, sizeof *self->transactions);
    self->messages = allocate(message_max + 1, sizeof *self->messages);
    for (int i = 0; i < STORY_STREAMS * STORY_PARTITIONS; i++) {
        struct stream *stream = &self->streams[0][0] + i;

        stream->by_seq = allocate(message_max + 2, sizeof *stream->by_seq);
        stream->epochs = allocate(EPOCHS_MAX, sizeof *stream->epochs);
    }
    return self;
}

void story_destroy(struct story *self)
{
    for (int i = 0; i < STORY_STREAMS * STORY_PARTITIONS; i++) {
        free((&self->streams[0][0] + i)->by_seq);
        free((&self->streams[0][0] + i)->epochs);
    }
    free(self->transactions);
    free(self->messages);
    free(self);
}

/* ---- notes -------------------------------------------------------------------------------- */

void story_note(struct story *self, const char *who, const char *format, ...)
{
    char text[CHRONICLE_NOTE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    chronicle_note(&self->chronicle, who, "%s", text);
}

void story_violate(struct story *self, const char *format, ...)
{
    char text[STORY_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    chronicle_violate(&self->chronicle, "%s", text);
}

const char *story_violation(const struct story *self)
{
    return self->chronicle.violation;
}

void story_print(const struct story *self)
{
    chronicle_print(&self->chronicle);
}

uint64_t story_fingerprint(const struct story *self)
{
    return self->chronicle.fingerprint;
}

/* ---- producers ---------------------------------------------------------------------------- */

uint32_t story_begin(struct story *self)
{
    check(self->transaction_count < self->message_max);
    return self->transaction_count++;
}

uint32_t story_write(struct story *self, uint32_t transaction, int32_t partition)
{
    check(self->message_count < self->message_max);
    self->messages[self->message_count] = (struct message){
        .transaction = transaction, .partition = partition, .seen = self->commits};
    return self->message_count++;
}

void story_commits(struct story *self, uint32_t transaction)
{
    self->transactions[transaction].outcome = COMMITTING;
}

void story_committed(struct story *self, uint32_t transaction)
{
    self->transactions[transaction].outcome = COMMITTED;
    self->transactions[transaction].commit = ++self->commits;
}

void story_rolled_back(struct story *self, uint32_t transaction)
{
    self->transactions[transaction].outcome = ROLLED_BACK;
}

void story_doubted(struct story *self, uint32_t transaction)
{
    struct transaction *it = &self->transactions[transaction];

    if (it->outcome == OPEN) /* its process died long before the commit */
        it->outcome = ROLLED_BACK;
    else if (it->outcome == COMMITTING)
        it->outcome = IN_DOUBT;
}

uint32_t story_transactions(const struct story *self)
{
    return self->transaction_count;
}

/* ---- handlers ----------------------------------------------------------------------------- */

void story_disturbed(struct story *self)
{
    self->disturbances++;
}

/* V5 */
static void check_epoch(struct story *self, struct stream *stream, uint32_t process,
                        const struct weir_message *message, bool begins)
{
    struct epoch *epoch;

    if (message->epoch < 1 || message->epoch >= EPOCHS_MAX) {
        story_violate(self, "epoch %" PRId64 " is none", message->epoch);
        return;
    }
    epoch = &stream->epochs[message->epoch];
    if (epoch->process != 0 && epoch->process != process)
        story_violate(self,
                      "epoch %" PRId64 " of partition %d belongs to processes %u and %u",
                      message->epoch, message->partition, epoch->process, process);
    epoch->process = process;
    if (message->epoch > stream->epoch)
        stream->epoch = message->epoch;
    else if (message->epoch < stream->epoch && begins && ++epoch->late_calls > 1)
        story_violate(self,
                      "partition %d: process %u goes on under epoch %" PRId64
                      " though %" PRId64 " was seen",
                      message->partition, process, message->epoch, stream->epoch);
}

/* V2 */
static void check_number(struct story *self, int index, struct stream *stream,
                         uint32_t number, const struct weir_message *message)
{
    struct message *it = &self->messages[number];
    uint32_t seq = (uint32_t)message->seq;

    if (message->seq < 1 || message->seq > (int64_t)self->message_max) {
        story_violate(self, "the number %" PRId64 " is none", message->seq);
    } else if (stream->by_seq[seq] != 0) {
        if (stream->by_seq[seq] != number + 1)
            story_violate(self, "partition %d: number %u is message %u and message %u",
                          message->partition, seq, stream->by_seq[seq] - 1, number);
    } else if (it->seq[index] != 0) {
        story_violate(self, "message %u has the numbers %u and %u", number,
                      it->seq[index], seq);
    } else if (seq != stream->last + 1) {
        story_violate(self, "partition %d: number %u comes after %u", message->partition,
                      seq, stream->last);
    } else {
        const struct message *before =
            stream->last > 0 ? &self->messages[stream->by_seq[stream->last] - 1] : NULL;

        if (before != NULL && !before->done[index] && !before->rejected[index])
            story_violate(self,
                          "partition %d: number %u comes before %u was done or rejected",
                          message->partition, seq, stream->last);
        stream->by_seq[seq] = number + 1;
        stream->last = seq;
        it->seq[index] = seq;
    }
}

uint32_t story_delivered(struct story *self, int stream, uint32_t process,
                         const struct weir_message *message, bool begins)
{
    uint32_t number = UINT32_MAX;
    const struct message *it;

    if (message->payload_size == sizeof number)
        memcpy(&number, message->payload, sizeof number);
    if (number >= self->message_count || message->partition < 0 ||
        message->partition >= STORY_PARTITIONS) {
        story_violate(self, "a message came that nobody has written");
        return 0;
    }
    it = &self->messages[number];
    self->delivered++;
    self->again += it->done[stream];
    if (it->partition != message->partition)
        story_violate(self, "message %u came in partition %d, not %d", number,
                      message->partition, it->partition);
    if (self->transactions[it->transaction].outcome == ROLLED_BACK)
        story_violate(self, "message %u came, and was rolled back", number);
    if (self->transactions[it->transaction].outcome == OPEN)
        story_violate(self, "message %u came before its commit", number);
    check_epoch(self, &self->streams[stream][message->partition], process, message,
                begins);
    check_number(self, stream, &self->streams[stream][message->partition], number,
                 message);
    return number;
}

void story_answered(struct story *self, int stream, uint32_t message,
                    enum weir_outcome outcome)
{
    if (outcome == WEIR_DONE)
        self->messages[message].done[stream] = true;
    if (outcome == WEIR_REJECT)
        self->messages[message].rejected[stream] = true;
}

/* ---- the end ------------------------------------------------------------------------------ */

static bool was_seen(const struct story *self, const struct message *it, int streams)
{
    (void)self;
    for (int i = 0; i < streams; i++) {
        if (it->seq[i] != 0)
            return true;
    }
    return false;
}

/* Of a transaction in doubt one message that came is proof of all. */
static void resolve_doubts(struct story *self, int streams)
{
    for (uint32_t i = 0; i < self->message_count; i++) {
        struct transaction *it = &self->transactions[self->messages[i].transaction];

        if (it->outcome == IN_DOUBT && was_seen(self, &self->messages[i], streams))
            it->outcome = COMMITTED;
    }
}

/* V1 */
static void judge_losses(struct story *self, int streams, uint32_t *committed)
{
    for (uint32_t i = 0; i < self->message_count; i++) {
        const struct message *it = &self->messages[i];

        if (self->transactions[it->transaction].outcome != COMMITTED)
            continue;
        ++*committed;
        for (int stream = 0; stream < streams; stream++) {
            if (!it->done[stream] && !it->rejected[stream])
                story_violate(self, "message %u of stream %d was lost", i, stream);
        }
    }
}

/* V3. From the end: what is the earliest commit that comes later? */
static void judge_order(struct story *self, const struct stream *stream)
{
    uint32_t earliest = UINT32_MAX;

    for (uint32_t seq = stream->last; seq >= 1; seq--) {
        uint32_t number = stream->by_seq[seq] - 1;
        const struct message *it = &self->messages[number];
        uint32_t commit = self->transactions[it->transaction].commit;

        if (it->seen >= earliest)
            story_violate(self,
                          "message %u comes before one that was committed before it was "
                          "enqueued",
                          number);
        if (commit != 0 && commit < earliest)
            earliest = commit;
        for (uint32_t later = seq + 1; later <= stream->last; later++) {
            uint32_t other = stream->by_seq[later] - 1;

            if (other < number && self->messages[other].transaction == it->transaction)
                story_violate(self, "message %u comes before %u of the same transaction",
                              number, other);
        }
    }
}

/* V4 */
static void judge_repetitions(struct story *self, int streams, uint32_t batch_max)
{
    uint64_t excused =
        (uint64_t)self->disturbances * STORY_PARTITIONS * (uint64_t)streams * batch_max;

    if (self->again > excused)
        story_violate(self,
                      "%" PRIu64 " messages came again; %u disturbances excuse %" PRIu64,
                      self->again, self->disturbances, excused);
}

void story_judge(struct story *self, int streams, uint32_t batch_max,
                 struct story_stats *out)
{
    *out = (struct story_stats){.delivered = self->delivered,
                                .again = self->again,
                                .disturbances = self->disturbances};
    resolve_doubts(self, streams);
    judge_losses(self, streams, &out->messages);
    for (int i = 0; i < streams; i++) {
        for (int partition = 0; partition < STORY_PARTITIONS; partition++)
            judge_order(self, &self->streams[i][partition]);
    }
    judge_repetitions(self, streams, batch_max);
}

void story_rejected(const struct story *self, int stream, int64_t *least, int64_t *most)
{
    *least = 0;
    *most = 0;
    for (uint32_t i = 0; i < self->message_count; i++) {
        const struct message *it = &self->messages[i];

        *most += it->rejected[stream];
        *least += it->rejected[stream] && !it->done[stream];
    }
}

void story_effect(struct story *self, uint32_t message)
{
    if (message >= self->message_count)
        story_violate(self, "message %u, which nobody has written, had an effect",
                      message);
    else if (++self->messages[message].effects > 1)
        story_violate(self, "message %u had an effect twice", message);
}

void story_judge_effects(struct story *self, int stream)
{
    for (uint32_t i = 0; i < self->message_count; i++) {
        const struct message *it = &self->messages[i];

        if (it->effects > 0 && !it->done[stream])
            story_violate(self, "message %u had an effect and was not done", i);
        if (it->effects == 0 && it->done[stream] && !it->rejected[stream])
            story_violate(self, "message %u was done without an effect", i);
    }
}
