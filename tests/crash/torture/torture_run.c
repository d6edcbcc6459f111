/*
 * torture_run.c - see torture.h: the model of the rig.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "crash/torture/torture_shared.h"
#include "db/clock.h"
#include "db/driver.h"
#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_engines.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

/* Segments that a run fills and the sweep can empty. */
enum { SEGMENT_BITS = 12 };

void torture_options_init(struct torture_options *self, uint64_t seed,
                          enum weir_engine engine, uint32_t faults)
{
    enum { FAULTS_PER_OUTAGE = 10, FAULTS_PER_END = 8 };

    *self = (struct torture_options){
        .rig = {.seed = seed,
                .work = 2000,
                .faults = faults,
                .outages = engine == WEIR_SQLITE ? 0 : faults / FAULTS_PER_OUTAGE,
                .ends = faults / FAULTS_PER_END,
                .lease_ms = 1500,
                .wait_limit_ns = WEIR_SECONDS(50)},
        .attempts_max = 5,
    };
}

/* ---- processes --------------------------------------------------------------------- */

static bool is_consumer(uint32_t slot)
{
    return slot >= TORTURE_PRODUCERS;
}

static void act(struct rig *rig)
{
    if (is_consumer(rig->slot))
        torture_consume(rig->state);
    else
        torture_produce(rig->state);
}

/* Most are consumers. */
static uint32_t choose_victim(struct rig *rig)
{
    const struct torture *torture = rig->state;
    bool consumer = torture->options->place != NULL || rig_roll(rig, 3) > 0;

    return consumer ? TORTURE_PRODUCERS + rig_roll(rig, TORTURE_CONSUMERS)
                    : rig_roll(rig, TORTURE_PRODUCERS);
}

/* An order for a place where that process passes; 0: none. */
static uint32_t choose_order(struct rig *rig, uint32_t slot, int signal_number)
{
    const struct torture *torture = rig->state;
    bool consumer = is_consumer(slot);
    const char *place = torture->options->place;

    if (place != NULL)
        return torture_order(signal_number, torture_place_of(consumer, place));
    if (rig_roll(rig, 2) != 0)
        return 0;
    return torture_order(
        signal_number,
        rig_roll(rig, consumer ? TORTURE_CONSUMER_PLACES : TORTURE_PRODUCER_PLACES));
}

/* ---- blame ------------------------------------------------------------------------- */

/* What was being committed is in doubt. */
static void doubt(struct torture *self, uint32_t slot)
{
    uint32_t transaction;

    if (is_consumer(slot))
        return;
    transaction = atomic_exchange(&self->shared->transaction[slot], 0);
    if (transaction != 0)
        delivery_audit_doubt(self->delivery_audit, transaction);
}

static struct torture_fault *note_fault(struct torture *self, uint32_t process,
                                        enum torture_fault_kind kind, int64_t begin_us,
                                        int64_t end_us)
{
    return torture_add_fault(self->shared, &(struct torture_fault){.kind = kind,
                                                                   .process = process,
                                                                   .begin_us = begin_us,
                                                                   .end_us = end_us});
}

/*
 * A process that is stopped may be inside a transaction of the library, and keep the
 * locks until the server ends that. Leases of the torture are shorter, so others may
 * lose theirs meanwhile.
 */
static void note_locks(struct torture *self, int64_t begin_us)
{
    const int64_t limit_us = INT64_C(1000) * WEIR_IDLE_MS_MAX;

    if (self->rig.fixture->engine != WEIR_SQLITE &&
        self->options->rig.lease_ms * 1000 <= limit_us)
        (void)note_fault(self, TORTURE_EVERYBODY, TORTURE_STOP, begin_us,
                         begin_us + limit_us);
}

static void blame(struct rig *rig, enum rig_event event, uint32_t slot, int64_t since_us)
{
    const int64_t open = INT64_MAX / 2;
    struct torture *self = rig->state;
    uint32_t process = is_consumer(slot) ? rig->numbers[slot] : TORTURE_NOBODY;

    switch (event) {
    case RIG_KILLED:
        (void)note_fault(self, process, TORTURE_KILL, since_us, process_set_now_us());
        doubt(self, slot);
        break;
    case RIG_STOPPED:
        self->stopped[slot] = note_fault(self, process, TORTURE_STOP, since_us, open);
        note_locks(self, since_us);
        break;
    case RIG_BLOCKS_ALL:
        self->stopped[slot]->process = TORTURE_EVERYBODY;
        break;
    case RIG_CONTINUED:
        self->stopped[slot]->end_us = since_us;
        break;
    case RIG_OUTAGE_BEGINS:
        self->outage =
            note_fault(self, TORTURE_EVERYBODY, TORTURE_OUTAGE, since_us, open);
        break;
    case RIG_OUTAGE_ENDS:
        self->outage->end_us = since_us;
        break;
    }
}

/* ---- standing still ---------------------------------------------------------------- */

/* Lanes in which somebody else than `victim` was given something, from record *at on. */
static uint64_t lanes_of_others(const struct torture_shared *shared, uint32_t victim,
                                size_t *at)
{
    uint64_t lanes = 0;

    for (; *at < atomic_load(&shared->record_count); (*at)++) {
        const struct torture_record *record = &shared->records[*at];

        if (!atomic_load(&record->written))
            break;
        if (record->process != victim)
            lanes |= UINT64_C(1) << record->lane;
    }
    return lanes;
}

/*
 * Wait until every lane was given something by another process than `victim`, for
 * limit_ms at most; returns the time that took, or -1. What counts is the time in which
 * this process, which wants to look all the time, was let run: the others have had as
 * much of it.
 */
static int64_t await_all_lanes(struct torture *self, uint32_t victim, int64_t limit_ms)
{
    enum { LOOK_MS = 20, LOOK_MS_MOST = 30 };
    const uint64_t all = UINT64_MAX >> (64 - TORTURE_LANES);
    size_t at = atomic_load(&self->shared->record_count);
    uint64_t seen = 0;
    int64_t spent_ms = 0;

    while (seen != all && spent_ms < limit_ms) {
        int64_t begin_ms = process_set_now_us() / 1000;
        int64_t took_ms;

        process_set_rest(&self->rig.processes, LOOK_MS);
        seen |= lanes_of_others(self->shared, victim, &at);
        took_ms = process_set_now_us() / 1000 - begin_ms;
        spent_ms += took_ms < LOOK_MS_MOST ? took_ms : LOOK_MS_MOST;
    }
    return seen == all ? spent_ms : -1;
}

/* Within a lease, STAND_MS_MORE and what the machine needs for some rounds of all lanes
 * while no process stands still. */
static bool others_go_on(struct torture *self, uint32_t victim, int64_t round_ms)
{
    enum { STAND_MS_MORE = 3000, ROUNDS = 4 };

    return await_all_lanes(self, victim,
                           self->options->rig.lease_ms + STAND_MS_MORE +
                               ROUNDS * round_ms) >= 0;
}

/* One consumer, at one place or just anywhere if it does not come there, and nothing
 * else. */
static void stand_still(struct torture *self, uint32_t place)
{
    enum { HOUR_MS = 3600000, ROUND_MS_MAX = 60000 };
    struct rig *rig = &self->rig;
    struct torture_result *result = self->result;
    uint32_t slot = TORTURE_PRODUCERS + rig_roll(rig, TORTURE_CONSUMERS);
    bool at_place;
    int64_t begin_us;
    int64_t round_ms;

    rig_wait_until_ready(rig);
    round_ms = await_all_lanes(self, TORTURE_NOBODY, ROUND_MS_MAX);
    check(round_ms >= 0);
    process_set_strike(&rig->processes, slot, SIGSTOP, torture_order(SIGSTOP, place),
                       &at_place, &begin_us);
    rig->counts->at_orders += at_place;
    rig->counts->stops++;
    blame(rig, RIG_STOPPED, slot, begin_us);
    process_set_lay(&rig->processes, slot, HOUR_MS);
    if (!others_go_on(self, rig->numbers[slot], round_ms)) {
        result->broken[TORTURE_T8]++;
        if (result->violations++ == 0)
            (void)snprintf(result->first, sizeof result->first,
                           "T8: a process stands at %s, and others with it",
                           torture_place(true, place));
    }
    process_set_go_on(&rig->processes, slot);
}

/* Places in turn, so that a few runs have had all of them. */
static void stand_still_in_turn(struct rig *rig)
{
    struct torture *self = rig->state;
    const struct torture_options *options = self->options;
    uint32_t place = rig_roll(rig, TORTURE_CONSUMER_PLACES);

    for (uint32_t i = 0; i < options->stands; i++, place++) {
        if (options->place != NULL)
            place = torture_place_of(true, options->place);
        stand_still(self, place % TORTURE_CONSUMER_PLACES);
    }
}

/* ---- a run ------------------------------------------------------------------------- */

static int64_t count_unwritten(struct rig *rig)
{
    const struct torture *self = rig->state;

    return (int64_t)rig->options.work - delivery_audit_committed(self->delivery_audit);
}

static void open_outbox(struct rig *rig)
{
    struct torture *self = rig->state;
    struct fixture *fixture = rig->fixture;
    struct weir_outbox_options options;

    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &self->outbox, &fixture->error), WEIR_OK);
}

/* One or none: what is missing in the end counts as lost. */
static int64_t count_undelivered(struct rig *rig)
{
    struct torture *self = rig->state;
    struct fixture *fixture = rig->fixture;
    bool drained = true;

    for (int i = 0; i < TORTURE_QUEUES * DELIVERY_AUDIT_STREAMS && drained; i++) {
        enum weir_status status = weir_outbox_read_drained(
            self->outbox, TORTURE_QUEUE_NAMES[i / DELIVERY_AUDIT_STREAMS],
            TORTURE_SUBSCRIPTIONS[i % DELIVERY_AUDIT_STREAMS], &drained, &fixture->error);

        if (status != WEIR_OK && weir_status_class(status) != WEIR_CLASS_RETRY)
            process_set_fail(&rig->processes, fixture->error.text);
        drained &= status == WEIR_OK;
    }
    return !drained;
}

static void add_queues(struct fixture *fixture, uint32_t attempts_max)
{
    struct weir_outbox_options options;
    struct weir_outbox *outbox;

    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    for (int i = 0; i < TORTURE_QUEUES; i++) {
        struct weir_queue_options queue;

        weir_queue_options_init(&queue);
        queue.name = TORTURE_QUEUE_NAMES[i];
        queue.partitions = TORTURE_PARTITIONS;
        queue.attempts_max = attempts_max;
        check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
    }
    weir_outbox_destroy(outbox);
}

/* Asked at each point that is not armed. */
static bool pass(void *argument, const char *name)
{
    torture_pass(argument, name);
    return false;
}

static void plan(struct rig *rig)
{
    struct torture *self = rig->state;

    weir_fault_points_set_oracle(&rig->shared->points, pass, self);
    self->delivery_audit = delivery_audit_create(TORTURE_RECORDS_MAX / 4);
    outbox_small_segments(rig->fixture, SEGMENT_BITS);
    effects_prepare(rig->fixture);
    torture_prepare_audit(rig->fixture);
    add_queues(rig->fixture, self->options->attempts_max);
}

static void audit(struct rig *rig)
{
    struct torture *self = rig->state;

    weir_outbox_destroy(self->outbox);
    torture_audit(self);
    delivery_audit_destroy(self->delivery_audit);
}

static const struct rig_model MODEL = {
    .slots = TORTURE_PROCESS_SLOTS,
    .writers = TORTURE_PRODUCERS,
    .together = TORTURE_PROCESS_SLOTS,
    .ended = TORTURE_PRODUCERS,
    .gap_ms_min = 50,
    .gap_ms_max = 800,
    .stop_ms_more = 700,
    .stops = 2,
    .stops_of = 5,
    .stopped_max = 2,
    .stopped_max_on_sqlite = 1,
    .plan = plan,
    .act = act,
    .audit = audit,
    .choose_victim = choose_victim,
    .choose_order = choose_order,
    .blame = blame,
    .trial = stand_still_in_turn,
    .settle = open_outbox,
    .unwritten = count_unwritten,
    .unfinished = count_undelivered,
};

void torture_run(struct fixture *fixture, const struct torture_options *options,
                 struct torture_result *out)
{
    struct torture_shared *shared = rig_share(sizeof *shared);
    struct torture run = {.options = options, .result = out, .shared = shared};

    *out = (struct torture_result){0};
    run.rig = (struct rig){.model = &MODEL,
                           .options = options->rig,
                           .state = &run,
                           .fixture = fixture,
                           .shared = &shared->rig,
                           .counts = &out->rig};
    rig_run(&run.rig);
    (void)munmap(shared, sizeof *shared);
}

void torture_print(const struct fixture *fixture, const struct torture_options *options,
                   const struct torture_result *result)
{
    const struct delivery_audit_verdict *verdict = &result->verdict;

    rig_print(fixture, &options->rig, &result->rig);
    printf("# %" PRId64 " messages of %" PRId64 " transactions (%" PRId64
           " doubted), given %" PRId64 " times by %u processes; leased: %" PRId64
           " again, at most %" PRId64
           " for a fault and partition; transactional: %" PRId64 " calls again, %" PRId64
           " effects; %" PRId64 " moves, %" PRId64 " takeovers; %" PRId64 " held up\n",
           verdict->messages, verdict->transactions, verdict->doubted, result->records,
           result->processes, result->repeats, result->repeats_most, result->calls_again,
           result->effects, result->moves, result->takeovers, result->held_up);
    if (result->violations > 0)
        printf("# %" PRId64 " violations (T1 %" PRId64 ", T2 %" PRId64 ", T3 %" PRId64
               ", T4 %" PRId64 ", T5 %" PRId64 ", T6 %" PRId64 ", T7 %" PRId64
               ", T8 %" PRId64 ", T9 %" PRId64 "; lost %" PRId64 ", unexpected %" PRId64
               ", overtaken %" PRId64 ", disordered %" PRId64 ", gaps %" PRId64
               ", changed %" PRId64 "), the first: %s\n",
               result->violations, result->broken[TORTURE_T1], result->broken[TORTURE_T2],
               result->broken[TORTURE_T3], result->broken[TORTURE_T4],
               result->broken[TORTURE_T5], result->broken[TORTURE_T6],
               result->broken[TORTURE_T7], result->broken[TORTURE_T8],
               result->broken[TORTURE_T9], verdict->lost, verdict->unexpected,
               verdict->overtaken, verdict->disordered, verdict->gaps, verdict->changed,
               result->first);
}
