/*
 * torture_shared.h - the inside of torture.h: what the processes of a run share.
 *
 * The processes are those of a rig (rig.h).
 */
#ifndef WEIR_TEST_TORTURE_SHARED_H
#define WEIR_TEST_TORTURE_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "crash/torture/torture.h"
#include "weir/db.h"
#include "weir/message.h"

enum {
    TORTURE_PRODUCERS = 3,
    TORTURE_CONSUMERS = 3,
    TORTURE_PROCESS_SLOTS = TORTURE_PRODUCERS + TORTURE_CONSUMERS,
    TORTURE_QUEUES = 2,
    TORTURE_PARTITIONS = DELIVERY_AUDIT_PARTITIONS / TORTURE_QUEUES, /* of a queue */
    TORTURE_LANES = DELIVERY_AUDIT_STREAMS * DELIVERY_AUDIT_PARTITIONS,
    TORTURE_BATCH = 10,
    TORTURE_RECORDS_MAX = 4000000,
    TORTURE_FAULTS_MAX = 20000
};

/* Queues: partitions of the ledger are those of the first, then those of the second. */
enum { TORTURE_LEASED, TORTURE_WITHIN };
extern const char *const TORTURE_QUEUE_NAMES[TORTURE_QUEUES];

/* Subscriptions are the ledger's streams. */
enum { TORTURE_SINGLE, TORTURE_TOGETHER };
extern const char *const TORTURE_SUBSCRIPTIONS[DELIVERY_AUDIT_STREAMS];

/* A partition of a subscription. */
static inline int torture_lane(int stream, int queue, int32_t partition)
{
    return stream * DELIVERY_AUDIT_PARTITIONS + queue * TORTURE_PARTITIONS + partition;
}
static inline int torture_lane_queue(int lane)
{
    return lane % DELIVERY_AUDIT_PARTITIONS / TORTURE_PARTITIONS;
}

/* A message given to a handler, in the order of these events over all processes. */
struct torture_record {
    _Atomic bool written;
    uint8_t lane;
    uint32_t process;
    int64_t seq;
    int64_t epoch;
    int64_t at_us;
    uint8_t uid[WEIR_UID_SIZE];
};

enum torture_fault_kind {
    TORTURE_KILL,
    TORTURE_STOP,
    TORTURE_OUTAGE,
    TORTURE_HELD_UP /* by the machine, or by a server that was slow to answer */
};

#define TORTURE_EVERYBODY UINT32_MAX
#define TORTURE_NOBODY (UINT32_MAX - 1) /* who delivers */

struct torture_fault {
    _Atomic bool written;
    enum torture_fault_kind kind;
    uint32_t process;
    int64_t begin_us;
    int64_t end_us;
};

struct torture_shared {
    struct rig_shared rig; /* first; orders: what to do at which point */
    _Atomic uint32_t
        transaction[TORTURE_PRODUCERS]; /* that is being committed; 0: none */
    _Atomic uint32_t consumers;         /* that have begun */
    _Atomic uint32_t fault_count;
    struct torture_fault faults[TORTURE_FAULTS_MAX];
    _Atomic size_t record_count;
    struct torture_record records[TORTURE_RECORDS_MAX];
};

/* Each process has its copy; ledger and stage are the same for all. */
struct torture {
    struct rig rig;
    const struct torture_options *options;
    struct torture_result *result; /* the test's process */
    struct delivery_audit *delivery_audit;
    struct torture_shared *shared;
    /* the test's process */
    struct torture_fault *stopped[TORTURE_PROCESS_SLOTS]; /* of slots that are stopped */
    struct torture_fault *outage;
    struct weir_outbox *outbox; /* asked what is left */
};

/* ---- the life of a process, from fork to exit -------------------------------------- */

void torture_produce(struct torture *self);
void torture_consume(struct torture *self);

/* ---- what they have in common (torture_shared.c) ----------------------------------- */

/* An order: this signal to yourself when you pass this place. */
uint32_t torture_order(int signal_number, uint32_t place);
enum { TORTURE_CONSUMER_PLACES = 13, TORTURE_PRODUCER_PLACES = 3 };
const char *torture_place(bool consumer, uint32_t number);
uint32_t torture_place_of(bool consumer, const char *name);

/* Somebody passes a place: obey if there is an order. */
void torture_pass(struct torture *self, const char *name);

/* Returns the fault, to be changed by whoever has added it. */
struct torture_fault *torture_add_fault(struct torture_shared *shared,
                                        const struct torture_fault *fault);

/* ---- before and after (torture_audit.c) -------------------------------------------- */

/* Table and trigger that note each move of a position, and a table to knock at. */
void torture_prepare_audit(struct fixture *fixture);

/* When nobody runs any more, with the fixture's database open. */
void torture_audit(struct torture *self);

#endif
