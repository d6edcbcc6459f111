/*
 * torture_run.c - see torture.h. The test's process, which starts, strikes, replaces and ends the others.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/pause.h"
#include "lib/effects.h"
#include "lib/order_stage.h"
#include "lib/outbox_engines.h"
#include "lib/torture_stage.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

/* Between two faults; and how much longer than its lease a process is stopped. */
enum { GAP_MS_MIN = 50, GAP_MS_MAX = 800, STOP_MS_MORE = 700, BRIEF_MS = 60 };

/* An order that is not obeyed by then is withdrawn. */
enum { ORDER_MS_MAX = 1500 };

/* Segments that a run fills and the sweep can empty. */
enum { SEGMENT_BITS = 12 };

struct seat {
    pid_t pid;
    uint32_t process;            /* a consumer's number */
    struct torture_fault *fault; /* of one that is stopped; otherwise NULL */
    int64_t until_ns;
};

struct driver {
    struct torture torture; /* first: what forked processes go on with */
    struct seat seats[TORTURE_SEATS];
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
        .patience_ns = WEIR_SECONDS(50),
    };
}

/* ---- processes ---------------------------------------------------------------------------- */

static bool is_consumer(uint32_t seat)
{
    return seat >= TORTURE_PRODUCERS;
}

static void start(struct driver *self, uint32_t number)
{
    struct torture *torture = &self->torture;
    struct seat *seat = &self->seats[number];
    pid_t parent = getpid();
    pid_t pid;

    *seat = (struct seat){0};
    atomic_store(&torture->stage->order[number], 0);
    atomic_store(&torture->stage->ready[number], 0);
    if (is_consumer(number))
        seat->process = atomic_fetch_add(&torture->stage->consumers, 1);
    torture->chance = order_mix(torture->chance);
    (void)fflush(stdout);
    pid = fork();
    check(pid >= 0);
    seat->pid = pid;
    if (pid > 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    torture->seat = number;
    torture->process = seat->process;
    torture->chance = order_mix(torture->chance ^ (number + 1) * 1000003U);
    if (getppid() == parent && is_consumer(number))
        torture_consume(torture);
    else if (getppid() == parent)
        torture_produce(torture);
    _exit(0);
}

static void close_fixture(struct fixture *fixture)
{
    weir_db_destroy(fixture->db);
    fixture->db = NULL;
}

static void open_fixture(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    if (fixture->db == NULL)
        fixture->db = fixture_open(fixture, &options);
}

/* A test that fails leaves nobody behind. */
__attribute__((noreturn)) static void fail(struct driver *self, const char *text)
{
    for (uint32_t i = 0; i < TORTURE_SEATS; i++) {
        if (self->seats[i].pid != 0) {
            (void)kill(self->seats[i].pid, SIGKILL);
            (void)waitpid(self->seats[i].pid, NULL, 0);
        }
    }
    open_fixture(self->torture.fixture);
    weir_test_fail(__FILE__, __LINE__, "WEIR_SEED=%" PRIu64 ": %s",
                   self->torture.options->seed, text);
}

static void fail_of_trouble(struct driver *self)
{
    order_rest_us(100000); /* for the text of whoever was first */
    fail(self,
         self->torture.stage->troubled ? self->torture.stage->trouble : "a process died");
}

/* Nobody ends without being told. */
static void check_trouble(struct driver *self)
{
    for (uint32_t i = 0; i < TORTURE_SEATS; i++) {
        struct seat *seat = &self->seats[i];

        if (seat->pid != 0 && waitpid(seat->pid, NULL, WNOHANG) == seat->pid) {
            seat->pid = 0;
            fail_of_trouble(self);
        }
    }
}

/* ---- those who lie ------------------------------------------------------------------------ */

static void go_on(struct seat *seat)
{
    (void)kill(seat->pid, SIGCONT);
    seat->fault->end_us = torture_now_us();
    seat->fault = NULL;
}

static void let_go_on(struct driver *self, bool all)
{
    int64_t now_ns = weir_pause_now_ns();

    for (uint32_t i = 0; i < TORTURE_SEATS; i++) {
        struct seat *seat = &self->seats[i];

        if (seat->fault != NULL && (all || seat->until_ns <= now_ns))
            go_on(seat);
    }
}

/* Told to end: within a minute, and well. */
static void await(struct driver *self, struct seat *seat, const char *trouble)
{
    int64_t end_ns = weir_pause_now_ns() + WEIR_SECONDS(60);
    int status = 0;

    while (waitpid(seat->pid, &status, WNOHANG) != seat->pid) {
        if (weir_pause_now_ns() > end_ns)
            fail(self, trouble);
        let_go_on(self, false); /* it may wait for one of them */
        order_rest_us(2000);
    }
    seat->pid = 0;
    if (status != 0)
        fail_of_trouble(self);
}

/* ---- faults ------------------------------------------------------------------------------- */

/* What was being committed is in doubt. */
static void doubt(struct driver *self, uint32_t number)
{
    uint32_t transaction;

    if (is_consumer(number))
        return;
    transaction = atomic_exchange(&self->torture.stage->transaction[number], 0);
    if (transaction != 0)
        ledger_doubt(self->torture.ledger, transaction);
}

static struct torture_fault *note_fault(struct driver *self, uint32_t number,
                                        enum torture_fault_kind kind, int64_t begin_us)
{
    return torture_add_fault(
        self->torture.stage,
        &(struct torture_fault){
            .kind = kind,
            .process = is_consumer(number) ? self->seats[number].process : TORTURE_NOBODY,
            .begin_us = begin_us,
            .end_us = torture_now_us()});
}

static void bury(struct driver *self, uint32_t number, int64_t begin_us)
{
    (void)note_fault(self, number, TORTURE_KILL, begin_us);
    self->torture.result->kills++;
    doubt(self, number);
    start(self, number);
}

/* Could anybody write? Others may, for moments. */
static bool blocks_everybody(struct driver *self)
{
    struct fixture *fixture = self->torture.fixture;

    if (fixture->engine != WEIR_SQLITE)
        return false;
    for (int i = 0; i < 20; i++) {
        if (fixture_is_unlocked(fixture, "effect"))
            return false;
        order_rest_us(5000);
    }
    return true;
}

/* On SQLite it may be in the middle of writing, and then everybody waits for it: not for long. */
static void let_lie(struct driver *self, uint32_t number, int64_t begin_us)
{
    struct torture *torture = &self->torture;
    struct seat *seat = &self->seats[number];
    int64_t ms =
        torture->options->lease_ns / 1000000 + 100 + torture_roll(torture, STOP_MS_MORE);

    seat->fault = note_fault(self, number, TORTURE_STOP, begin_us);
    seat->fault->end_us = INT64_MAX / 2;
    torture->result->stops++;
    if (blocks_everybody(self)) {
        ms = BRIEF_MS;
        seat->fault->process = TORTURE_EVERYBODY;
        torture->result->brief_stops++;
    }
    seat->until_ns = weir_pause_now_ns() + WEIR_MILLISECONDS(ms);
}

/* It has ended or stopped, by this signal and no other. */
static bool is_struck(struct driver *self, uint32_t number, int signal_number,
                      int64_t wait_ns)
{
    int64_t end_ns = weir_pause_now_ns() + wait_ns;
    int status = 0;

    while (waitpid(self->seats[number].pid, &status, WNOHANG | WUNTRACED) == 0) {
        if (weir_pause_now_ns() > end_ns)
            return false;
        let_go_on(self, false);
        order_rest_us(500);
    }
    if (WIFSTOPPED(status) && WSTOPSIG(status) == signal_number)
        return true;
    if (!WIFSTOPPED(status))
        self->seats[number].pid = 0;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != signal_number)
        fail_of_trouble(self);
    return true;
}

/* At a point; false: it had no occasion to pass it. */
static bool strike_at_place(struct driver *self, uint32_t number, int signal_number)
{
    struct torture *torture = &self->torture;
    bool consumer = is_consumer(number);
    uint32_t place = torture->options->place != NULL
                         ? torture_place_of(consumer, torture->options->place)
                         : torture_roll(torture, consumer ? TORTURE_CONSUMER_PLACES
                                                          : TORTURE_PRODUCER_PLACES);
    _Atomic uint32_t *order = &torture->stage->order[number];

    atomic_store(order, torture_order(signal_number, place));
    if (is_struck(self, number, signal_number, WEIR_MILLISECONDS(ORDER_MS_MAX)) ||
        (atomic_exchange(order, 0) == 0 &&
         is_struck(self, number, signal_number, WEIR_SECONDS(10)))) {
        torture->result->at_places++;
        return true;
    }
    return false;
}

static void strike(struct driver *self, uint32_t number, int signal_number)
{
    struct torture *torture = &self->torture;
    bool at_place = torture->options->place != NULL || torture_roll(torture, 2) == 0;
    int64_t begin_us = torture_now_us();

    if (!at_place || !strike_at_place(self, number, signal_number)) {
        begin_us = torture_now_us();
        (void)kill(self->seats[number].pid, signal_number);
        if (!is_struck(self, number, signal_number, WEIR_SECONDS(10)))
            fail(self, "a process does not obey a signal");
    }
    if (signal_number == SIGKILL)
        bury(self, number, begin_us);
    else
        let_lie(self, number, begin_us);
}

/* Somebody who runs; most are consumers. Of two that lie at the same time one must be left. */
static uint32_t choose_victim(struct driver *self)
{
    struct torture *torture = &self->torture;
    uint32_t number;

    do {
        bool consumer = torture->options->place != NULL || torture_roll(torture, 3) > 0;

        number = consumer ? TORTURE_PRODUCERS + torture_roll(torture, TORTURE_CONSUMERS)
                          : torture_roll(torture, TORTURE_PRODUCERS);
    } while (self->seats[number].fault != NULL);
    return number;
}

static uint32_t lying(const struct driver *self)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < TORTURE_SEATS; i++)
        count += self->seats[i].fault != NULL;
    return count;
}

static void strike_somebody(struct driver *self)
{
    struct torture *torture = &self->torture;
    uint32_t lying_max = torture->fixture->engine == WEIR_SQLITE ? 1 : 2;
    int signal_number = torture_roll(torture, 5) < 2 ? SIGSTOP : SIGKILL;

    while (lying(self) >= lying_max) {
        check_trouble(self);
        let_go_on(self, false);
        order_rest_us(2000);
    }
    if (torture->options->signal != 0)
        signal_number = torture->options->signal;
    strike(self, choose_victim(self), signal_number);
}

static void make_outage(struct driver *self)
{
    struct torture *torture = &self->torture;
    struct torture_fault *fault = note_fault(self, 0, TORTURE_OUTAGE, torture_now_us());

    fault->process = TORTURE_EVERYBODY;
    fault->end_us = INT64_MAX / 2;
    server_kill(torture->fixture->server);
    order_rest_us(torture_roll(torture, 300000));
    server_restart(torture->fixture->server);
    fault->end_us = torture_now_us();
    torture->result->outages++;
}

static void rest(struct driver *self, uint32_t ms)
{
    int64_t end_ns = weir_pause_now_ns() + WEIR_MILLISECONDS((int64_t)ms);

    do {
        check_trouble(self);
        let_go_on(self, false);
        order_rest_us(5000);
    } while (weir_pause_now_ns() < end_ns);
}

static bool all_are_ready(const struct driver *self)
{
    for (uint32_t i = TORTURE_PRODUCERS; i < TORTURE_SEATS; i++) {
        if (atomic_load(&self->torture.stage->ready[i]) != self->seats[i].process + 1)
            return false;
    }
    return true;
}

static void wait_for_consumers(struct driver *self)
{
    int64_t end_ns = weir_pause_now_ns() + WEIR_SECONDS(60);

    while (!all_are_ready(self)) {
        if (weir_pause_now_ns() > end_ns)
            fail(self, "consumers do not start");
        rest(self, 5);
    }
}

/* One after the other, in good order: it is no fault, and what it has it acknowledges. */
static void end_next(struct driver *self)
{
    struct torture *torture = &self->torture;
    uint32_t number = TORTURE_PRODUCERS + torture->result->ends % TORTURE_CONSUMERS;

    if (self->seats[number].fault != NULL)
        go_on(&self->seats[number]);
    (void)kill(self->seats[number].pid, SIGTERM);
    await(self, &self->seats[number], "a consumer does not end");
    torture->result->ends++;
    start(self, number);
    wait_for_consumers(self);
}

/* ---- a run -------------------------------------------------------------------------------- */

/* For whoever waits for a long run. */
static void print_progress(const struct torture *torture, uint32_t left)
{
    enum { EACH = 100 };

    if (left % EACH != 0 || left == 0)
        return;
    printf("# %s: %u faults and ends to go, %" PRId64 " messages\n",
           weir_engine_name(torture->fixture->engine), left,
           ledger_committed(torture->ledger));
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
        rest(self, GAP_MS_MIN + torture_roll(torture, GAP_MS_MAX - GAP_MS_MIN));
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
    let_go_on(self, true);
}

static void wait_for_messages(struct driver *self)
{
    int64_t end_ns = weir_pause_now_ns() + WEIR_SECONDS(60);

    while (ledger_committed(self->torture.ledger) < self->torture.options->messages) {
        if (weir_pause_now_ns() > end_ns)
            fail(self, "producers do not get on");
        rest(self, 10);
    }
    atomic_store(&self->torture.stage->enough, true);
    for (uint32_t i = 0; i < TORTURE_PRODUCERS; i++)
        await(self, &self->seats[i], "a producer does not end");
}

static bool is_drained(struct driver *self, struct weir_outbox *outbox)
{
    struct fixture *fixture = self->torture.fixture;
    bool drained = true;

    for (int i = 0; i < TORTURE_QUEUES * LEDGER_STREAMS && drained; i++) {
        enum weir_status status = weir_outbox_read_drained(
            outbox, TORTURE_QUEUE_NAMES[i / LEDGER_STREAMS],
            TORTURE_SUBSCRIPTIONS[i % LEDGER_STREAMS], &drained, &fixture->error);

        if (status != WEIR_OK && weir_status_class(status) != WEIR_CLASS_RETRY)
            fail(self, fixture->error.text);
        drained &= status == WEIR_OK;
    }
    return drained;
}

/* What is missing after that counts as lost. */
static void wait_until_drained(struct driver *self)
{
    struct fixture *fixture = self->torture.fixture;
    int64_t end_ns = weir_pause_now_ns() + self->torture.options->patience_ns;
    struct weir_outbox_options options;
    struct weir_outbox *outbox;

    open_fixture(fixture);
    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    while (!is_drained(self, outbox) && weir_pause_now_ns() < end_ns)
        rest(self, 20);
    weir_outbox_destroy(outbox);
}

static void end_all(struct driver *self)
{
    wait_for_messages(self);
    wait_until_drained(self);
    for (uint32_t i = TORTURE_PRODUCERS; i < TORTURE_SEATS; i++)
        (void)kill(self->seats[i].pid, SIGTERM);
    for (uint32_t i = TORTURE_PRODUCERS; i < TORTURE_SEATS; i++)
        await(self, &self->seats[i], "a consumer does not end");
}

static void add_queues(struct fixture *fixture)
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
        check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
    }
    weir_outbox_destroy(outbox);
}

static void plant(struct weir_points *points, enum torture_plant plant)
{
    enum { NOW_AND_THEN = 50 };

    switch (plant) {
    case TORTURE_ACK_UNASKED:
        weir_points_arm(points, "caller.unasked", NOW_AND_THEN);
        break;
    case TORTURE_ACK_ANYHOW:
        weir_points_arm(points, "ack.no_epoch", 1);
        weir_points_arm(points, "ack.no_version", 1);
        weir_points_arm(points, "ack.no_compare", 1);
        break;
    case TORTURE_SKIP_READ:
        weir_points_arm(points, "roster.skip", NOW_AND_THEN);
        break;
    case TORTURE_ACK_OUTSIDE:
        weir_points_arm(points, "tx.split", 1);
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

static struct torture_stage *make_stage(struct torture *torture)
{
    struct torture_stage *stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    check(stage != MAP_FAILED);
    weir_points_init(&stage->points);
    plant(&stage->points, torture->options->plant);
    weir_points_set_oracle(&stage->points, pass, torture);
    return stage;
}

void torture_run(struct fixture *fixture, const struct torture_options *options,
                 struct torture_result *out)
{
    struct driver self = {.torture = {.fixture = fixture,
                                      .options = options,
                                      .result = out,
                                      .chance = order_mix(options->seed)}};
    int64_t begin_ns = weir_pause_now_ns();

    *out = (struct torture_result){0};
    self.torture.stage = make_stage(&self.torture);
    self.torture.ledger = ledger_create(TORTURE_RECORDS_MAX / 4);
    outbox_small_segments(fixture, SEGMENT_BITS);
    effects_prepare(fixture);
    torture_prepare_audit(fixture);
    add_queues(fixture);
    close_fixture(fixture);
    for (uint32_t i = 0; i < TORTURE_SEATS; i++)
        start(&self, i);
    wait_for_consumers(&self);
    strike_all(&self);
    end_all(&self);
    torture_audit(&self.torture);
    ledger_destroy(self.torture.ledger);
    (void)munmap(self.torture.stage, sizeof *self.torture.stage);
    out->took_ns = weir_pause_now_ns() - begin_ns;
}

void torture_print(const struct fixture *fixture, const struct torture_options *options,
                   const struct torture_result *result)
{
    const struct ledger_verdict *verdict = &result->verdict;

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
               "; lost %" PRId64 ", unexpected %" PRId64 ", overtaken %" PRId64
               ", disordered %" PRId64 ", gaps %" PRId64 ", changed %" PRId64
               "), the first: %s\n",
               result->violations, result->broken[TORTURE_T1], result->broken[TORTURE_T2],
               result->broken[TORTURE_T3], result->broken[TORTURE_T4],
               result->broken[TORTURE_T5], result->broken[TORTURE_T6],
               result->broken[TORTURE_T7], verdict->lost, verdict->unexpected,
               verdict->overtaken, verdict->disordered, verdict->gaps, verdict->changed,
               result->first);
}
