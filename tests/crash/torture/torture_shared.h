/*
 * torture_shared.h - the inside of torture.h: what the processes of a run share.
 *
 * The processes are a cast (process_set.h). Consumers have a number beside their seat,
 * which nobody has again.
 */
#ifndef WEIR_TEST_TORTURE_SHARED_H
#define WEIR_TEST_TORTURE_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault_point.h"
#include "crash/rig/process_set.h"
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
    _Atomic bool enough;            /* producers: end */
    struct process_set_board board; /* orders: what to do at which point */
    _Atomic uint32_t
        transaction[TORTURE_PRODUCERS]; /* that is being committed; 0: none */
    _Atomic uint32_t consumers;         /* numbers given */
    _Atomic uint32_t
        ready[TORTURE_PROCESS_SLOTS]; /* number of the consumer that delivers, plus one */
    struct weir_fault_points points;
    _Atomic uint32_t fault_count;
    struct torture_fault faults[TORTURE_FAULTS_MAX];
    _Atomic size_t record_count;
    struct torture_record records[TORTURE_RECORDS_MAX];
};

/* Each process has its copy; ledger and stage are the same for all. */
struct torture {
    struct fixture *fixture; /* its database is open in the test's process only */
    const struct torture_options *options;
    struct torture_result *result; /* the test's process */
    struct delivery_audit *delivery_audit;
    struct torture_shared *shared;
    uint64_t chance; /* the state of this process's choices */
    uint32_t process_slot;
    uint32_t process; /* a consumer's number */
};

/* ---- the life of a process, from fork to exit -------------------------------------- */

void torture_produce(struct torture *self);
void torture_consume(struct torture *self);

/* ---- what they have in common (torture_shared.c) ----------------------------------- */

/* From 0 to below `n`. */
uint32_t torture_roll(struct torture *self, uint32_t n);

/* Leave, with the first trouble of all as text. */
__attribute__((noreturn, format(printf, 2, 3))) void
torture_give_up(struct torture *self, const char *format, ...);

/* A database handle of this process, with the stage's points. */
struct weir_db *torture_open_db(struct torture *self);

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
