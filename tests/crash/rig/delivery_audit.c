/*
 * delivery_audit.c - see delivery_audit.h.
 *
 * Nothing is locked. A place in the list of commits is taken after the commit and
 * filled in a moment later; the number of places taken is what others may know. A
 * record of a delivery is filled in by whoever holds the partition; one whose holder
 * was killed half-way is empty and is filled in by the next.
 */
#include "crash/rig/delivery_audit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kit/test.h"

struct transaction {
    _Atomic bool committed;
    _Atomic bool doubted;
    uint32_t written; /* index of its last message */
    uint32_t messages;
    uint32_t in_partition[DELIVERY_AUDIT_PARTITIONS];
};

/* What came under one number. */
struct record {
    _Atomic uint32_t filled;
    struct delivery_audit_note note;
};

struct stream {
    _Atomic int64_t
        highest[DELIVERY_AUDIT_PARTITIONS]; /* number under which something came */
    struct record *records[DELIVERY_AUDIT_PARTITIONS];
};

struct delivery_audit {
    size_t size; /* of all of it, in bytes */
    uint32_t transaction_max;
    int64_t record_max; /* of a partition */
    _Atomic uint32_t transaction_count;
    _Atomic uint32_t commit_count;
    _Atomic int64_t committed; /* messages */
    _Atomic int64_t doubted;
    _Atomic int64_t again;
    _Atomic int64_t changed;
    _Atomic int64_t too_soon;
    uint32_t *commits; /* transactions in the order in which commits were noted */
    struct transaction *transactions; /* [0] is nobody's */
    struct stream streams[DELIVERY_AUDIT_STREAMS];
};

static void *carve(char **rest, size_t size)
{
    char *part = *rest;

    *rest += (size + 63) / 64 * 64;
    return part;
}

static void lay_out(struct delivery_audit *self, char *rest)
{
    self->commits = carve(&rest, self->transaction_max * sizeof *self->commits);
    self->transactions = carve(&rest, self->transaction_max * sizeof *self->transactions);
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++) {
        for (int p = 0; p < DELIVERY_AUDIT_PARTITIONS; p++)
            self->streams[i].records[p] =
                carve(&rest, (size_t)self->record_max * sizeof(struct record));
    }
}

/* Partitions are filled evenly, as chance will have it. */
struct delivery_audit *delivery_audit_create(size_t messages_max)
{
    size_t record_max = messages_max / DELIVERY_AUDIT_PARTITIONS * 2 + 10000;
    size_t size = sizeof(struct delivery_audit) + 4096 +
                  messages_max * (sizeof(struct transaction) + sizeof(uint32_t)) +
                  DELIVERY_AUDIT_STREAMS * DELIVERY_AUDIT_PARTITIONS * (record_max + 4) *
                      sizeof(struct record);
    struct delivery_audit *self = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    check(self != MAP_FAILED);
    self->size = size;
    self->transaction_max = (uint32_t)messages_max;
    self->record_max = (int64_t)record_max;
    lay_out(self, (char *)self + (sizeof *self + 63) / 64 * 64);
    return self;
}

void delivery_audit_destroy(struct delivery_audit *self)
{
    (void)munmap(self, self->size);
}

/* ---- writing ----------------------------------------------------------------------- */

uint32_t delivery_audit_begin(struct delivery_audit *self)
{
    uint32_t transaction = atomic_fetch_add(&self->transaction_count, 1) + 1;

    return transaction < self->transaction_max ? transaction : 0;
}

struct delivery_audit_note delivery_audit_write(struct delivery_audit *self,
                                                uint32_t transaction, int32_t partition)
{
    struct transaction *its = &self->transactions[transaction];

    its->in_partition[partition]++;
    its->messages++;
    return (struct delivery_audit_note){.transaction = transaction,
                                        .index = ++its->written,
                                        .seen = atomic_load(&self->commit_count)};
}

void delivery_audit_undo(struct delivery_audit *self, uint32_t transaction,
                         int32_t partition)
{
    self->transactions[transaction].in_partition[partition]--;
    self->transactions[transaction].messages--;
}

int64_t delivery_audit_commit(struct delivery_audit *self, uint32_t transaction)
{
    struct transaction *its = &self->transactions[transaction];

    atomic_store(&its->committed, true);
    self->commits[atomic_fetch_add(&self->commit_count, 1)] = transaction;
    return atomic_fetch_add(&self->committed, its->messages) + its->messages;
}

void delivery_audit_doubt(struct delivery_audit *self, uint32_t transaction)
{
    atomic_store(&self->transactions[transaction].doubted, true);
    atomic_fetch_add(&self->doubted, 1);
}

int64_t delivery_audit_committed(const struct delivery_audit *self)
{
    return atomic_load(&self->committed);
}

/* ---- delivering -------------------------------------------------------------------- */

int64_t delivery_audit_delivered(const struct delivery_audit *self, int stream)
{
    int64_t sum = 0;

    for (int p = 0; p < DELIVERY_AUDIT_PARTITIONS; p++)
        sum += atomic_load(&self->streams[stream].highest[p]);
    return sum;
}

/* A number is delivered only when those before it have been. */
static void raise_highest(struct delivery_audit *self, struct stream *stream,
                          int32_t partition, int64_t seq)
{
    int64_t highest = atomic_load(&stream->highest[partition]);

    if (seq > highest + 1)
        atomic_fetch_add(&self->too_soon, 1);
    while (seq > highest &&
           !atomic_compare_exchange_weak(&stream->highest[partition], &highest, seq))
        continue;
}

void delivery_audit_deliver(struct delivery_audit *self, int stream, int32_t partition,
                            int64_t seq, const void *payload, size_t payload_size)
{
    struct stream *its = &self->streams[stream];
    struct delivery_audit_note note = {0};
    struct record *record;

    if (partition < 0 || partition >= DELIVERY_AUDIT_PARTITIONS || seq < 1 ||
        seq > self->record_max) {
        atomic_fetch_add(&self->too_soon, 1);
        return;
    }
    if (payload_size >= sizeof note)
        memcpy(&note, payload, sizeof note);
    record = &its->records[partition][seq - 1];
    if (atomic_load(&record->filled) == 0) {
        record->note = note;
        atomic_store(&record->filled, 1);
    } else if (memcmp(&record->note, &note, sizeof note) == 0) {
        atomic_fetch_add(&self->again, 1);
    } else {
        atomic_fetch_add(&self->changed, 1);
    }
    raise_highest(self, its, partition, seq);
}

/* ---- judging ----------------------------------------------------------------------- */

/* One partition of one stream, and what has come of each transaction. */
struct walk {
    const struct delivery_audit *delivery_audit;
    struct delivery_audit_verdict *verdict;
    int stream;
    int32_t partition;
    uint32_t checked; /* commits that were found complete, or told */
    uint32_t *got;    /* by transaction: messages, and the index of the last */
    uint32_t *last;
};

__attribute__((format(printf, 3, 4))) static void
tell(const struct walk *walk, int64_t *count, const char *format, ...)
{
    char *text = walk->verdict->first;
    va_list args;
    int size;

    (*count)++;
    if (text[0] != '\0')
        return;
    size = snprintf(text, DELIVERY_AUDIT_TEXT_SIZE,
                    "stream %d, partition %d: ", walk->stream, walk->partition);
    va_start(args, format);
    (void)vsnprintf(text + size, (size_t)(DELIVERY_AUDIT_TEXT_SIZE - size), format, args);
    va_end(args);
}

static uint32_t wanted(const struct walk *walk, uint32_t transaction)
{
    return walk->delivery_audit->transactions[transaction].in_partition[walk->partition];
}

/* Everybody it knew of has to be complete. */
static void walk_commits(struct walk *walk, int64_t seq,
                         const struct delivery_audit_note *note)
{
    uint32_t count = atomic_load(&walk->delivery_audit->commit_count);

    for (; walk->checked < note->seen && walk->checked < count; walk->checked++) {
        uint32_t other = walk->delivery_audit->commits[walk->checked];

        if (walk->got[other] < wanted(walk, other))
            tell(walk, &walk->verdict->overtaken,
                 "number %" PRId64 " of transaction %u knew of transaction %u, of which "
                 "only %u of %u were there",
                 seq, note->transaction, other, walk->got[other], wanted(walk, other));
    }
}

static void walk_message(struct walk *walk, int64_t seq,
                         const struct delivery_audit_note *note)
{
    uint32_t transaction = note->transaction;
    uint32_t count = atomic_load(&walk->delivery_audit->transaction_count);

    if (transaction == 0 || transaction > count ||
        !atomic_load(&walk->delivery_audit->transactions[transaction].committed) ||
        walk->got[transaction] >= wanted(walk, transaction)) {
        tell(walk, &walk->verdict->unexpected,
             "number %" PRId64 " is message %u of transaction %u, which has no such one",
             seq, note->index, transaction);
        return;
    }
    walk_commits(walk, seq, note);
    if (note->index <= walk->last[transaction])
        tell(walk, &walk->verdict->disordered,
             "number %" PRId64 " is message %u of transaction %u, behind %u", seq,
             note->index, transaction, walk->last[transaction]);
    walk->last[transaction] = note->index;
    walk->got[transaction]++;
}

static void walk_losses(struct walk *walk)
{
    uint32_t count = atomic_load(&walk->delivery_audit->commit_count);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t transaction = walk->delivery_audit->commits[i];
        uint32_t missing = wanted(walk, transaction) - walk->got[transaction];

        if (missing > 0)
            tell(walk, &walk->verdict->lost, "of transaction %u only %u of %u came",
                 transaction, walk->got[transaction], wanted(walk, transaction));
        walk->verdict->lost += missing > 0 ? missing - 1 : 0;
    }
}

static void judge_partition(struct delivery_audit *self, int stream, int32_t partition,
                            struct delivery_audit_verdict *out)
{
    struct walk walk = {
        .delivery_audit = self, .verdict = out, .stream = stream, .partition = partition};
    struct stream *its = &self->streams[stream];
    int64_t highest = atomic_load(&its->highest[partition]);
    size_t count = (size_t)atomic_load(&self->transaction_count) + 1;

    walk.got = calloc(count, sizeof *walk.got);
    walk.last = calloc(count, sizeof *walk.last);
    check(walk.got != NULL && walk.last != NULL);
    for (int64_t seq = 1; seq <= highest; seq++) {
        const struct record *record = &its->records[partition][seq - 1];

        if (atomic_load(&record->filled) == 0)
            tell(&walk, &out->gaps, "nothing came under number %" PRId64, seq);
        else
            walk_message(&walk, seq, &record->note);
    }
    walk_losses(&walk);
    free(walk.got);
    free(walk.last);
}

/* One of whose messages something came has committed, and nobody knew of it. */
static void settle_doubts(struct delivery_audit *self, int stream, int32_t partition)
{
    struct stream *its = &self->streams[stream];
    int64_t highest = atomic_load(&its->highest[partition]);

    for (int64_t i = 0; i < highest; i++) {
        uint32_t number = its->records[partition][i].note.transaction;
        struct transaction *transaction = &self->transactions[number];

        if (number <= atomic_load(&self->transaction_count) &&
            atomic_load(&transaction->doubted) && !atomic_load(&transaction->committed))
            (void)delivery_audit_commit(self, number);
    }
}

void delivery_audit_judge(struct delivery_audit *self, struct delivery_audit_verdict *out)
{
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS * DELIVERY_AUDIT_PARTITIONS; i++)
        settle_doubts(self, i / DELIVERY_AUDIT_PARTITIONS, i % DELIVERY_AUDIT_PARTITIONS);
    *out = (struct delivery_audit_verdict){
        .transactions = atomic_load(&self->commit_count),
        .messages = atomic_load(&self->committed),
        .doubted = atomic_load(&self->doubted),
        .again = atomic_load(&self->again),
        .changed = atomic_load(&self->changed),
        .gaps = atomic_load(&self->too_soon),
    };
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++) {
        out->delivered[i] = delivery_audit_delivered(self, i);
        for (int32_t p = 0; p < DELIVERY_AUDIT_PARTITIONS; p++)
            judge_partition(self, i, p, out);
    }
    out->violations = out->lost + out->unexpected + out->overtaken + out->disordered +
                      out->gaps + out->changed;
}
