/*
 * rig.c - see rig.h.
 */
#include "crash/rig/rig.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "db/clock.h"

enum { BRIEF_MS = 60, OUTAGE_US_MAX = 300000, READY_S = 60, WRITE_S = 60 };

/* ---- any process ------------------------------------------------------------------- */

uint64_t rig_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

void rig_rest_us(uint32_t us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

    (void)nanosleep(&time, NULL);
}

uint32_t rig_roll(struct rig *self, uint32_t n)
{
    self->chance = rig_mix(self->chance);
    return (uint32_t)(self->chance % n);
}

void rig_be_ready(struct rig *self)
{
    atomic_store(&self->shared->ready[self->slot], true);
}

bool rig_must_leave(const struct rig *self)
{
    return atomic_load(&self->shared->leave[self->slot]);
}

void rig_give_up(struct rig *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    process_set_give_up(&self->shared->board, format, args);
}

bool rig_went_well(struct rig *self, const char *what, enum weir_status status,
                   const struct weir_error *error)
{
    if (status == WEIR_OK)
        return true;
    if (weir_status_class(status) != WEIR_CLASS_RETRY)
        rig_give_up(self, "%s: %s: %s", what, weir_status_name(status), error->text);
    if (status == WEIR_IN_DOUBT)
        atomic_fetch_add(&self->shared->doubts, 1);
    return false;
}

struct weir_db *rig_open_db(struct rig *self)
{
    struct weir_error error;
    struct weir_db *db =
        process_set_open_db(self->fixture, &self->shared->points, &self->process, &error);

    if (db == NULL)
        rig_give_up(self, "open: %s", error.text);
    return db;
}

/* ---- orders ------------------------------------------------------------------------ */

uint32_t rig_order(int signal_number, uint32_t number)
{
    return number * RIG_ORDER_SIGNALS + (uint32_t)signal_number;
}

uint32_t rig_order_statements(struct rig *self, int signal_number, uint32_t most)
{
    if (rig_roll(self, 3) == 0)
        return 0;
    return rig_order(signal_number, 1 + rig_roll(self, most));
}

void rig_obey(struct rig *self, uint32_t order)
{
    if (atomic_compare_exchange_strong(&self->shared->board.order[self->slot], &order, 0))
        (void)raise((int)(order % RIG_ORDER_SIGNALS));
}

/* Asked at each point that is not armed: in front of each statement. Counts down. */
static bool pass_statement(void *argument, const char *name)
{
    struct rig *self = argument;
    _Atomic uint32_t *mine = &self->shared->board.order[self->slot];
    uint32_t order = atomic_load(mine);

    (void)name;
    while (order != 0) {
        bool now = order < 2 * RIG_ORDER_SIGNALS;

        if (!atomic_compare_exchange_weak(mine, &order,
                                          now ? 0 : order - RIG_ORDER_SIGNALS))
            continue;
        if (now)
            (void)raise((int)(order % RIG_ORDER_SIGNALS));
        break;
    }
    return false;
}

/* ---- processes --------------------------------------------------------------------- */

static void live(void *state, uint32_t slot)
{
    struct rig *self = state;

    self->slot = slot;
    self->chance = rig_mix(self->chance ^ (slot + 1) * 1000003U);
    self->model->act(self);
}

void rig_start(struct rig *self, uint32_t slot)
{
    atomic_store(&self->shared->leave[slot], false);
    atomic_store(&self->shared->ready[slot], false);
    self->process = atomic_fetch_add(&self->shared->processes, 1);
    self->numbers[slot] = self->process;
    self->chance = rig_mix(self->chance);
    process_set_start(&self->processes, slot);
}

static bool all_are_ready(const struct rig *self)
{
    for (uint32_t i = 0; i < self->model->slots; i++) {
        if (!atomic_load(&self->shared->ready[i]))
            return false;
    }
    return true;
}

void rig_wait_until_ready(struct rig *self)
{
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(READY_S);

    while (!all_are_ready(self)) {
        if (weir_clock_now_ns() > end_ns)
            process_set_fail(&self->processes, "a process does not get ready");
        process_set_rest(&self->processes, 5);
    }
}

static void start_all(struct rig *self)
{
    for (uint32_t i = 0; i < self->model->slots; i++)
        rig_start(self, i);
    rig_wait_until_ready(self);
}

/* In good order, all at the same time. */
static void end_slots(struct rig *self, uint32_t first, uint32_t behind)
{
    for (uint32_t i = first; i < behind; i++) {
        atomic_store(&self->shared->leave[i], true);
        process_set_go_on(&self->processes, i);
    }
    for (uint32_t i = first; i < behind; i++)
        process_set_await(&self->processes, i, "a process does not end");
}

/* ---- faults ------------------------------------------------------------------------ */

static void blame(struct rig *self, enum rig_event event, uint32_t slot, int64_t since_us)
{
    if (self->model->blame != NULL)
        self->model->blame(self, event, slot, since_us);
}

static void goes_on(void *state, uint32_t slot)
{
    blame(state, RIG_CONTINUED, slot, process_set_now_us());
}

/* Of those that are stopped together, the others. */
static void stop_others(struct rig *self)
{
    bool at_order;
    int64_t begin_us;

    for (uint32_t i = self->model->together; i < self->model->slots; i++) {
        if (!self->processes.process_slots[i].lies)
            process_set_strike(&self->processes, i, SIGSTOP, 0, &at_order, &begin_us);
    }
}

/* On SQLite one that is stopped may be in the middle of writing, and then all wait for
 * it: not for long. */
static void stay_stopped(struct rig *self, uint32_t slot, int64_t begin_us)
{
    uint32_t together = self->model->together;
    int64_t ms = self->options.lease_ms + 100 + rig_roll(self, self->model->stop_ms_more);

    blame(self, RIG_STOPPED, slot, begin_us);
    self->counts->stops++;
    if (slot >= together)
        stop_others(self);
    if (process_set_blocks_everybody(&self->processes)) {
        ms = BRIEF_MS;
        self->counts->brief_stops++;
        blame(self, RIG_BLOCKS_ALL, slot, begin_us);
    }
    for (uint32_t i = 0; i < self->model->slots; i++) {
        if (i == slot || (slot >= together && i >= together))
            process_set_lay(&self->processes, i, ms);
    }
}

/* One that runs. */
static uint32_t choose_victim(struct rig *self)
{
    uint32_t slot;

    do {
        slot = self->model->choose_victim != NULL ? self->model->choose_victim(self)
                                                  : rig_roll(self, self->model->slots);
    } while (self->processes.process_slots[slot].lies);
    return slot;
}

static uint32_t choose_order(struct rig *self, uint32_t slot, int signal_number)
{
    return self->model->choose_order == NULL
               ? 0
               : self->model->choose_order(self, slot, signal_number);
}

static void strike(struct rig *self)
{
    const struct rig_model *model = self->model;
    uint32_t stopped_max = self->fixture->engine == WEIR_SQLITE
                               ? model->stopped_max_on_sqlite
                               : model->stopped_max;
    int signal_number =
        rig_roll(self, model->stops_of) < model->stops ? SIGSTOP : SIGKILL;
    bool at_order;
    int64_t begin_us;
    uint32_t slot;

    while (process_set_lying(&self->processes) >= stopped_max)
        process_set_rest(&self->processes, 2);
    if (self->options.signal != 0)
        signal_number = self->options.signal;
    slot = choose_victim(self);
    process_set_strike(&self->processes, slot, signal_number,
                       choose_order(self, slot, signal_number), &at_order, &begin_us);
    self->counts->at_orders += at_order;
    if (signal_number == SIGSTOP) {
        stay_stopped(self, slot, begin_us);
    } else {
        self->counts->kills++;
        blame(self, RIG_KILLED, slot, begin_us);
        rig_start(self, slot);
    }
}

static void make_outage(struct rig *self)
{
    blame(self, RIG_OUTAGE_BEGINS, 0, process_set_now_us());
    server_kill(self->fixture->server);
    rig_rest_us(rig_roll(self, OUTAGE_US_MAX));
    server_restart(self->fixture->server);
    blame(self, RIG_OUTAGE_ENDS, 0, process_set_now_us());
    self->counts->outages++;
}

/* One after the other: it is no fault. */
static void end_next(struct rig *self)
{
    uint32_t first = self->model->ended;
    uint32_t slot = first + self->counts->ends++ % (self->model->slots - first);

    end_slots(self, slot, slot + 1);
    rig_start(self, slot);
    rig_wait_until_ready(self);
}

/* There is work until the last fault. */
static void allow(struct rig *self, uint32_t left, uint32_t all)
{
    uint64_t begun = all - left + 1;

    atomic_store(&self->shared->allowed,
                 (uint32_t)(self->options.work * begun / (all + 1)));
}

/* A long run says how far it is. */
static void print_progress(struct rig *self, uint32_t left)
{
    enum { EACH = 100 };

    if (left % EACH != 0 || left == 0)
        return;
    printf("# %s: %u faults and ends to go\n", weir_engine_name(self->fixture->engine),
           left);
    (void)fflush(stdout);
}

/* Faults of all kinds in any order, as many of each as were asked for. */
static void strike_all(struct rig *self)
{
    const struct rig_model *model = self->model;
    uint32_t outages = self->options.outages;
    uint32_t ends = self->options.ends;
    uint32_t others = self->options.faults - self->options.outages;
    uint32_t all = outages + ends + others;

    while (outages + ends + others > 0) {
        uint32_t luck = rig_roll(self, outages + ends + others);

        print_progress(self, outages + ends + others);
        allow(self, outages + ends + others, all);
        process_set_rest(&self->processes,
                         model->gap_ms_min +
                             rig_roll(self, model->gap_ms_max - model->gap_ms_min));
        if (luck < outages) {
            make_outage(self);
            outages--;
        } else if (luck < outages + ends) {
            end_next(self);
            ends--;
        } else {
            strike(self);
            others--;
        }
    }
    process_set_let_go_on(&self->processes, true);
    atomic_store(&self->shared->allowed, self->options.work);
}

/* ---- a run ------------------------------------------------------------------------- */

int64_t rig_wait_while_less(struct rig *self, int64_t (*count)(struct rig *),
                            int64_t limit_ns)
{
    int64_t least = INT64_MAX;
    int64_t end_ns = 0;
    int64_t left = count(self);

    while (left > 0) {
        if (left < least) {
            least = left;
            end_ns = weir_clock_now_ns() + limit_ns;
        }
        if (weir_clock_now_ns() >= end_ns)
            break;
        process_set_rest(&self->processes, 10);
        left = count(self);
    }
    return left;
}

/* The audit sees what is unfinished. */
static void end_all(struct rig *self)
{
    if (rig_wait_while_less(self, self->model->unwritten, WEIR_SECONDS(WRITE_S)) > 0)
        process_set_fail(&self->processes, "writers do not get on");
    end_slots(self, 0, self->model->writers);
    process_set_open_fixture(&self->processes);
    if (self->model->settle != NULL)
        self->model->settle(self);
    (void)rig_wait_while_less(self, self->model->unfinished, self->options.wait_limit_ns);
    end_slots(self, self->model->writers, self->model->slots);
}

void *rig_share(size_t size)
{
    struct rig_shared *shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    check(shared != MAP_FAILED);
    weir_fault_points_init(&shared->points);
    return shared;
}

static void prepare(struct rig *self)
{
    *self->counts = (struct rig_counts){0};
    self->chance = rig_mix(self->options.seed);
    self->processes = (struct process_set){.fixture = self->fixture,
                                           .board = &self->shared->board,
                                           .seed = self->options.seed,
                                           .process_slot_count = self->model->slots,
                                           .may_leave = self->model->may_leave,
                                           .state = self,
                                           .live = live,
                                           .goes_on = goes_on};
    if (self->options.lose_every > 0)
        weir_fault_points_arm(&self->shared->points, "db.lose_after_commit",
                              self->options.lose_every);
    weir_fault_points_set_oracle(&self->shared->points, pass_statement, self);
    self->model->plan(self);
}

void rig_run(struct rig *self)
{
    struct rig_counts *counts = self->counts;
    int64_t begin_ns = weir_clock_now_ns();

    prepare(self);
    process_set_close_fixture(&self->processes);
    start_all(self);
    strike_all(self);
    if (self->model->trial != NULL)
        self->model->trial(self);
    counts->struck_ns = weir_clock_now_ns() - begin_ns;
    end_all(self);
    counts->ended_ns = weir_clock_now_ns() - begin_ns;
    self->model->audit(self);
    counts->took_ns = weir_clock_now_ns() - begin_ns;
}

void rig_print(const struct fixture *fixture, const struct rig_options *options,
               const struct rig_counts *counts)
{
    printf("# %s, WEIR_SEED=%" PRIu64
           ": %u kills, %u stops (%u brief), %u outages, %u at "
           "the place of an order; %u ended in good order; %" PRId64
           " ms, with the rest of the work %" PRId64 ", with the audit %" PRId64 "\n",
           weir_engine_name(fixture->engine), options->seed, counts->kills, counts->stops,
           counts->brief_stops, counts->outages, counts->at_orders, counts->ends,
           counts->struck_ns / 1000000, counts->ended_ns / 1000000,
           counts->took_ns / 1000000);
}
