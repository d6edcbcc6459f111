/*
 * torture_run.c - see torture.h. The test's process, which starts, strikes, replaces
 * and ends the others.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "crash/order/order_shared.h"
#include "crash/torture/torture_shared.h"
#include "db/clock.h"
#include "db/driver.h"
#include "kit/outbox/effects.h"
#include "kit/outbox/outbox_engines.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

/* Between two faults; and how much longer than its lease a process is stopped. */
enum { GAP_MS_MIN = 50, GAP_MS_MAX = 800, STOP_MS_MORE = 700, BRIEF_MS = 60 };

/* Segments that a run fills and the sweep can empty. */
enum { SEGMENT_BITS = 12 };

struct process_slot {
    uint32_t process;            /* a consumer's number */
    struct torture_fault *fault; /* of one that is stopped; otherwise NULL */
};

struct driver {
    struct torture torture; /* what forked processes go on with */
    struct process_set process_set;
    struct process_slot process_slots[TORTURE_PROCESS_SLOTS];
};

void torture_options_init(struct torture_options *self, uint64_t seed,
                          enum weir_engine engine, uint32_t faults)
{
    enum { FAULTS_PER_OUTAGE = 10, FAULTS_PER_END = 8 };

    *self = (struct torture_options){
        .seed = seed,
        .faults = faults,
        .outages = engine == WEIR_SQLITE ? 0 : faults / FAULTS_PER_OUTAGE,
        .ends = faults / FAULTS_PER_END,
        .messages = 2000,
        .lease_ns = WEIR_MILLISECONDS(1500),
        .attempts_max = 5,
        .wait_limit_ns = WEIR_SECONDS(50),
    };
}

/* ---- processes --------------------------------------------------------------------- */

static bool is_consumer(uint32_t process_slot)
{
    return process_slot >= TORTURE_PRODUCERS;
}

static void live(void *state, uint32_t number)
{
    struct driver *self = state;
    struct torture *torture = &self->torture;

    torture->process_slot = number;
    torture->process = self->process_slots[number].process;
    torture->chance = order_mix(torture->chance ^ (number + 1) * 1000003U);
    if (is_consumer(number))
        torture_consume(torture);
    else
        torture_produce(torture);
}

static void start(struct driver *self, uint32_t number)
{
    struct torture *torture = &self->torture;

    self->process_slots[number] = (struct process_slot){0};
    atomic_store(&torture->shared->ready[number], 0);
    if (is_consumer(number))
        self->process_slots[number].process =
            atomic_fetch_add(&torture->shared->consumers, 1);
    torture->chance = order_mix(torture->chance);
    process_set_start(&self->process_set, number);
}

static void goes_on(void *state, uint32_t number)
{
    struct driver *self = state;

    self->process_slots[number].fault->end_us = process_set_now_us();
    self->process_slots[number].fault = NULL;
}

/* ---- faults ------------------------------------------------------------------------ */

/* What was being committed is in doubt. */
static void doubt(struct driver *self, uint32_t number)
{
    uint32_t transaction;

    if (is_consumer(number))
        return;
    transaction = atomic_exchange(&self->torture.shared->transaction[number], 0);
    if (transaction != 0)
        delivery_audit_doubt(self->torture.delivery_audit, transaction);
}

static struct torture_fault *note_fault(struct driver *self, uint32_t number,
                                        enum torture_fault_kind kind, int64_t begin_us)
{
    return torture_add_fault(
        self->torture.shared,
        &(struct torture_fault){.kind = kind,
                                .process = is_consumer(number)
                                               ? self->process_slots[number].process
                                               : TORTURE_NOBODY,
                                .begin_us = begin_us,
                                .end_us = process_set_now_us()});
}

/*
 * It may stand inside a transaction of the library, and keep the locks until the server
 * ends that. Leases of the torture are shorter, so others may lose theirs meanwhile.
 */
static void note_locks(struct driver *self, int64_t begin_us)
{
    const int64_t limit_us = INT64_C(1000) * WEIR_IDLE_MS_MAX;

    if (self->torture.fixture->engine != WEIR_SQLITE &&
        self->torture.options->lease_ns / 1000 <= limit_us)
        (void)torture_add_fault(self->torture.shared,
                                &(struct torture_fault){.kind = TORTURE_STOP,
                                                        .process = TORTURE_EVERYBODY,
                                                        .begin_us = begin_us,
                                                        .end_us = begin_us + limit_us});
}

static void reap(struct driver *self, uint32_t number, int64_t begin_us)
{
    (void)note_fault(self, number, TORTURE_KILL, begin_us);
    self->torture.result->kills++;
    doubt(self, number);
    start(self, number);
}

/* On SQLite it may be in the middle of writing, and then everybody waits for it: not
 * for long. */
static void let_lie(struct driver *self, uint32_t number, int64_t begin_us)
{
    struct torture *torture = &self->torture;
    struct process_slot *process_slot = &self->process_slots[number];
    int64_t ms =
        torture->options->lease_ns / 1000000 + 100 + torture_roll(torture, STOP_MS_MORE);

    process_slot->fault = note_fault(self, number, TORTURE_STOP, begin_us);
    process_slot->fault->end_us = INT64_MAX / 2;
    note_locks(self, begin_us);
    torture->result->stops++;
    if (process_set_blocks_everybody(&self->process_set)) {
        ms = BRIEF_MS;
        process_slot->fault->process = TORTURE_EVERYBODY;
        torture->result->brief_stops++;
    }
    process_set_lay(&self->process_set, number, ms);
}

/* An order for a place where that process passes; 0: none. */
static uint32_t choose_order(struct driver *self, uint32_t number, int signal_number)
{
    struct torture *torture = &self->torture;
    bool consumer = is_consumer(number);
    const char *place = torture->options->place;

    if (place != NULL)
        return torture_order(signal_number, torture_place_of(consumer, place));
    if (torture_roll(torture, 2) != 0)
        return 0;
    return torture_order(signal_number,
                         torture_roll(torture, consumer ? TORTURE_CONSUMER_PLACES
                                                        : TORTURE_PRODUCER_PLACES));
}

static void strike(struct driver *self, uint32_t number, int signal_number)
{
    uint32_t order = choose_order(self, number, signal_number);
    bool at_place;
    int64_t begin_us;

    process_set_strike(&self->process_set, number, signal_number, order, &at_place,
                       &begin_us);
    self->torture.result->at_places += at_place;
    if (signal_number == SIGKILL)
        reap(self, number, begin_us);
    else
        let_lie(self, number, begin_us);
}

/* Somebody who runs; most are consumers. Of two that lie at the same time one must be
 * left. */
static uint32_t choose_victim(struct driver *self)
{
    struct torture *torture = &self->torture;
    uint32_t number;

    do {
        bool consumer = torture->options->place != NULL || torture_roll(torture, 3) > 0;

        number = consumer ? TORTURE_PRODUCERS + torture_roll(torture, TORTURE_CONSUMERS)
                          : torture_roll(torture, TORTURE_PRODUCERS);
    } while (self->process_slots[number].fault != NULL);
    return number;
}

static void strike_somebody(struct driver *self)
{
    struct torture *torture = &self->torture;
    uint32_t lying_max = torture->fixture->engine == WEIR_SQLITE ? 1 : 2;
    int signal_number = torture_roll(torture, 5) < 2 ? SIGSTOP : SIGKILL;

    while (process_set_lying(&self->process_set) >= lying_max)
        process_set_rest(&self->process_set, 2);
    if (torture->options->signal != 0)
        signal_number = torture->options->signal;
    strike(self, choose_victim(self), signal_number);
}

static void make_outage(struct driver *self)
{
    struct torture *torture = &self->torture;
    struct torture_fault *fault =
        note_fault(self, 0, TORTURE_OUTAGE, process_set_now_us());

    fault->process = TORTURE_EVERYBODY;
    fault->end_us = INT64_MAX / 2;
    server_kill(torture->fixture->server);
    order_rest_us(torture_roll(torture, 300000));
    server_restart(torture->fixture->server);
    fault->end_us = process_set_now_us();
    torture->result->outages++;
}

static bool all_are_ready(const struct driver *self)
{
    for (uint32_t i = TORTURE_PRODUCERS; i < TORTURE_PROCESS_SLOTS; i++) {
        if (atomic_load(&self->torture.shared->ready[i]) !=
            self->process_slots[i].process + 1)
            return false;
    }
    return true;
}

static void wait_for_consumers(struct driver *self)
{
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(60);

    while (!all_are_ready(self)) {
        if (weir_clock_now_ns() > end_ns)
            process_set_fail(&self->process_set, "consumers do not start");
        process_set_rest(&self->process_set, 5);
    }
}

/* One after the other, in good order: it is no fault, and what it has it acknowledges. */
static void end_next(struct driver *self)
{
    struct torture *torture = &self->torture;
    uint32_t number = TORTURE_PRODUCERS + torture->result->ends % TORTURE_CONSUMERS;

    process_set_go_on(&self->process_set, number);
    (void)kill(self->process_set.process_slots[number].pid, SIGTERM);
    process_set_await(&self->process_set, number, "a consumer does not end");
    torture->result->ends++;
    start(self, number);
    wait_for_consumers(self);
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
 * In every lane, within a lease and STAND_MS_MORE. What counts is the time in which
 * this process, which wants to look all the time, was let run: the others have had as
 * much of it.
 */
static bool others_go_on(struct driver *self, uint32_t victim)
{
    enum { STAND_MS_MORE = 3000, LOOK_MS = 20, LOOK_MS_MOST = 30 };
    const uint64_t all = UINT64_MAX >> (64 - TORTURE_LANES);
    int64_t left_ms = self->torture.options->lease_ns / 1000000 + STAND_MS_MORE;
    size_t at = atomic_load(&self->torture.shared->record_count);
    uint64_t seen = 0;

    while (seen != all && left_ms > 0) {
        int64_t begin_ms = process_set_now_us() / 1000;
        int64_t took_ms;

        process_set_rest(&self->process_set, LOOK_MS);
        seen |= lanes_of_others(self->torture.shared, victim, &at);
        took_ms = process_set_now_us() / 1000 - begin_ms;
        left_ms -= took_ms < LOOK_MS_MOST ? took_ms : LOOK_MS_MOST;
    }
    return seen == all;
}

/* One consumer, at one place or just anywhere if it does not come there, and nothing
 * else. */
static void stand_still(struct driver *self, uint32_t place)
{
    enum { HOUR_MS = 3600000 };
    struct torture *torture = &self->torture;
    struct torture_result *result = torture->result;
    uint32_t number = TORTURE_PRODUCERS + torture_roll(torture, TORTURE_CONSUMERS);
    bool at_place;
    int64_t begin_us;

    wait_for_consumers(self);
    process_set_strike(&self->process_set, number, SIGSTOP, torture_order(SIGSTOP, place),
                       &at_place, &begin_us);
    result->at_places += at_place;
    result->stops++;
    self->process_slots[number].fault = note_fault(self, number, TORTURE_STOP, begin_us);
    self->process_slots[number].fault->end_us = INT64_MAX / 2;
    note_locks(self, begin_us);
    process_set_lay(&self->process_set, number, HOUR_MS);
    if (!others_go_on(self, self->process_slots[number].process)) {
        result->broken[TORTURE_T8]++;
        if (result->violations++ == 0)
            (void)snprintf(result->first, sizeof result->first,
                           "T8: a process stands at %s, and others with it",
                           torture_place(true, place));
    }
    process_set_go_on(&self->process_set, number);
}

/* Places in turn, so that a few runs have had all of them. */
static void stand_still_in_turn(struct driver *self)
{
    const struct torture_options *options = self->torture.options;
    uint32_t place = torture_roll(&self->torture, TORTURE_CONSUMER_PLACES);

    for (uint32_t i = 0; i < options->stands; i++, place++) {
        if (options->place != NULL)
            place = torture_place_of(true, options->place);
        stand_still(self, place % TORTURE_CONSUMER_PLACES);
    }
}

/* ---- a run ------------------------------------------------------------------------- */

/* For whoever waits for a long run. */
static void print_progress(const struct torture *torture, uint32_t left)
{
    enum { EACH = 100 };

    if (left % EACH != 0 || left == 0)
        return;
    printf("# %s: %u faults and ends to go, %" PRId64 " messages\n",
           weir_engine_name(torture->fixture->engine), left,
           delivery_audit_committed(torture->delivery_audit));
    (void)fflush(stdout);
}

/* Faults of all kinds in any order, as many of each as were asked for. */
static void strike_all(struct driver *self)
{
    struct torture *torture = &self->torture;
    const struct torture_options *options = torture->options;
    uint32_t outages = options->outages;
    uint32_t ends = options->ends;
    uint32_t others = options->faults - options->outages;

    while (outages + ends + others > 0) {
        uint32_t luck = torture_roll(torture, outages + ends + others);

        print_progress(torture, outages + ends + others);
        process_set_rest(&self->process_set,
                         GAP_MS_MIN + torture_roll(torture, GAP_MS_MAX - GAP_MS_MIN));
        if (luck < outages) {
            make_outage(self);
            outages--;
        } else if (luck < outages + ends) {
            end_next(self);
            ends--;
        } else {
            strike_somebody(self);
            others--;
        }
    }
    process_set_let_go_on(&self->process_set, true);
}

static void wait_for_messages(struct driver *self)
{
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(60);

    while (delivery_audit_committed(self->torture.delivery_audit) <
           self->torture.options->messages) {
        if (weir_clock_now_ns() > end_ns)
            process_set_fail(&self->process_set, "producers do not get on");
        process_set_rest(&self->process_set, 10);
    }
    atomic_store(&self->torture.shared->enough, true);
    for (uint32_t i = 0; i < TORTURE_PRODUCERS; i++)
        process_set_await(&self->process_set, i, "a producer does not end");
}

static bool is_drained(struct driver *self, struct weir_outbox *outbox)
{
    struct fixture *fixture = self->torture.fixture;
    bool drained = true;

    for (int i = 0; i < TORTURE_QUEUES * DELIVERY_AUDIT_STREAMS && drained; i++) {
        enum weir_status status = weir_outbox_read_drained(
            outbox, TORTURE_QUEUE_NAMES[i / DELIVERY_AUDIT_STREAMS],
            TORTURE_SUBSCRIPTIONS[i % DELIVERY_AUDIT_STREAMS], &drained, &fixture->error);

        if (status != WEIR_OK && weir_status_class(status) != WEIR_CLASS_RETRY)
            process_set_fail(&self->process_set, fixture->error.text);
        drained &= status == WEIR_OK;
    }
    return drained;
}

/* What is missing after that counts as lost. */
static void wait_until_drained(struct driver *self)
{
    struct fixture *fixture = self->torture.fixture;
    int64_t end_ns = weir_clock_now_ns() + self->torture.options->wait_limit_ns;
    struct weir_outbox_options options;
    struct weir_outbox *outbox;

    process_set_open_fixture(&self->process_set);
    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    while (!is_drained(self, outbox) && weir_clock_now_ns() < end_ns)
        process_set_rest(&self->process_set, 20);
    weir_outbox_destroy(outbox);
}

static void end_all(struct driver *self)
{
    wait_for_messages(self);
    wait_until_drained(self);
    for (uint32_t i = TORTURE_PRODUCERS; i < TORTURE_PROCESS_SLOTS; i++)
        (void)kill(self->process_set.process_slots[i].pid, SIGTERM);
    for (uint32_t i = TORTURE_PRODUCERS; i < TORTURE_PROCESS_SLOTS; i++)
        process_set_await(&self->process_set, i, "a consumer does not end");
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

static void plant(struct weir_fault_points *points, enum torture_plant plant)
{
    enum { NOW_AND_THEN = 50 };

    switch (plant) {
    case TORTURE_ACK_UNASKED:
        weir_fault_points_arm(points, "caller.unasked", NOW_AND_THEN);
        break;
    case TORTURE_ACK_ANYHOW:
        weir_fault_points_arm(points, "ack.no_epoch", 1);
        weir_fault_points_arm(points, "ack.no_version", 1);
        weir_fault_points_arm(points, "ack.no_compare", 1);
        break;
    case TORTURE_SKIP_READ:
        weir_fault_points_arm(points, "roster.skip", NOW_AND_THEN);
        break;
    case TORTURE_ACK_OUTSIDE:
        weir_fault_points_arm(points, "tx.split", 1);
        break;
    case TORTURE_NO_LIMIT:
        weir_fault_points_arm(points, "db.no_limit", 1);
        break;
    case TORTURE_COUNT_DEATHS:
        weir_fault_points_arm(points, "roster.count_deaths", 1);
        break;
    case TORTURE_SOUND:
    case TORTURE_ENQUEUE_OUTSIDE:
    case TORTURE_ENQUEUE_INVERTED:
    case TORTURE_RETRY_DONE:
    case TORTURE_REJECT:
    case TORTURE_WRONG_PROCESS:
    case TORTURE_WORK_LATE:
        break;
    }
}

/* Asked at each point that is not armed. */
static bool pass(void *argument, const char *name)
{
    torture_pass(argument, name);
    return false;
}

static struct torture_shared *make_shared(struct torture *torture)
{
    struct torture_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    check(shared != MAP_FAILED);
    weir_fault_points_init(&shared->points);
    plant(&shared->points, torture->options->plant);
    weir_fault_points_set_oracle(&shared->points, pass, torture);
    return shared;
}

void torture_run(struct fixture *fixture, const struct torture_options *options,
                 struct torture_result *out)
{
    struct driver self = {.torture = {.fixture = fixture,
                                      .options = options,
                                      .result = out,
                                      .chance = order_mix(options->seed)}};
    int64_t begin_ns = weir_clock_now_ns();

    *out = (struct torture_result){0};
    self.torture.shared = make_shared(&self.torture);
    self.process_set = (struct process_set){.fixture = fixture,
                                            .board = &self.torture.shared->board,
                                            .seed = options->seed,
                                            .process_slot_count = TORTURE_PROCESS_SLOTS,
                                            .state = &self,
                                            .live = live,
                                            .goes_on = goes_on};
    self.torture.delivery_audit = delivery_audit_create(TORTURE_RECORDS_MAX / 4);
    outbox_small_segments(fixture, SEGMENT_BITS);
    effects_prepare(fixture);
    torture_prepare_audit(fixture);
    add_queues(fixture, options->attempts_max);
    process_set_close_fixture(&self.process_set);
    for (uint32_t i = 0; i < TORTURE_PROCESS_SLOTS; i++)
        start(&self, i);
    wait_for_consumers(&self);
    strike_all(&self);
    stand_still_in_turn(&self);
    end_all(&self);
    torture_audit(&self.torture);
    delivery_audit_destroy(self.torture.delivery_audit);
    (void)munmap(self.torture.shared, sizeof *self.torture.shared);
    out->took_ns = weir_clock_now_ns() - begin_ns;
}

void torture_print(const struct fixture *fixture, const struct torture_options *options,
                   const struct torture_result *result)
{
    const struct delivery_audit_verdict *verdict = &result->verdict;

    printf("# %s, WEIR_SEED=%" PRIu64
           ": %u kills, %u stops (%u brief), %u outages, %u of "
           "them at a named point; %u ended in good order; %" PRId64 " held up\n",
           weir_engine_name(fixture->engine), options->seed, result->kills, result->stops,
           result->brief_stops, result->outages, result->at_places, result->ends,
           result->held_up);
    printf("# %" PRId64 " messages of %" PRId64 " transactions (%" PRId64
           " doubted), given %" PRId64 " times by %u processes; leased: %" PRId64
           " again, at most %" PRId64
           " for a fault and partition; transactional: %" PRId64 " calls again, %" PRId64
           " effects; %" PRId64 " moves, %" PRId64 " takeovers; %" PRId64 " ms\n",
           verdict->messages, verdict->transactions, verdict->doubted, result->records,
           result->processes, result->repeats, result->repeats_most, result->calls_again,
           result->effects, result->moves, result->takeovers, result->took_ns / 1000000);
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
