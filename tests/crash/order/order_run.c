/*
 * order_run.c - see order_run.h: the model of the rig.
 */
#include "crash/order/order_run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "crash/order/order_shared.h"
#include "db/clock.h"
#include "outbox/queue/catalog.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

void order_options_init(struct order_options *self, uint64_t seed, int64_t messages)
{
    *self = (struct order_options){
        .seed = seed,
        .messages = messages,
        .large = 5000,
        .writers = 8,
        .sweepers = seed % 2,
        .lulls = true,
        .wait_limit_ns = WEIR_SECONDS(40),
    };
}

/* ---- processes --------------------------------------------------------------------- */

static uint32_t first_deliverer(const struct order_run *self)
{
    return self->options->writers;
}

static uint32_t first_cutter(const struct order_run *self)
{
    return first_deliverer(self) + ORDER_DELIVERERS;
}

static void act(struct rig *rig)
{
    struct order_run *self = rig->state;

    rig_be_ready(rig);
    if (rig->slot < first_deliverer(self))
        order_write(self, rig->slot);
    else if (rig->slot < first_cutter(self))
        order_deliver(self, rig->slot - first_deliverer(self));
    else if (rig->slot < first_cutter(self) + self->options->cutters)
        order_cut(self);
    else
        order_sweep(self);
}

/* ---- before ------------------------------------------------------------------------ */

/* Triggers, where nobody counts for us. On MariaDB by a table that knows no
 * transactions, so that it has no locks that we would not have without it. */
static void prepare_tally(struct fixture *fixture, uint32_t outages)
{
    if (fixture->engine == WEIR_POSTGRESQL || outages > 0)
        return; /* such a table would not outlive the server either */
    fixture_prepare(
        fixture, fixture_choose(fixture, "CREATE TABLE {p}_tally (removed, aside)", NULL,
                                "CREATE TABLE {p}_tally (removed BIGINT, aside BIGINT)"
                                " ENGINE = MyISAM"));
    fixture_prepare(fixture, "INSERT INTO {p}_tally VALUES (0, 0)");
    fixture_prepare(fixture,
                    "CREATE TRIGGER {p}_removing AFTER DELETE ON {p}_log FOR EACH ROW"
                    " BEGIN UPDATE {p}_tally SET removed = removed + 1; END");
    fixture_prepare(fixture,
                    "CREATE TRIGGER {p}_setting AFTER INSERT ON {p}_aside FOR EACH ROW"
                    " BEGIN UPDATE {p}_tally SET aside = aside + 1; END");
}

/* Before anything is there that the sweep could remove once "default" has it: the
 * process that serves "audit" may be late. */
static void subscribe(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_outbox_log log;
    struct weir_queue_row row;
    int64_t id;

    check_db(weir_outbox_log_open(&log, connection, &fixture->error), WEIR_OK);
    check_db(weir_catalog_find_queue(connection, ORDER_QUEUE, &row, &fixture->error),
             WEIR_OK);
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++)
        check_db(weir_catalog_subscribe(&log, connection, &row, ORDER_SUBSCRIPTIONS[i],
                                        WEIR_SERVED_BY_HANDLER, WEIR_START_BEGINNING, &id,
                                        &fixture->error),
                 WEIR_OK);
    fixture_give(fixture, connection);
}

static void prepare(struct order_run *self)
{
    struct fixture *fixture = self->rig.fixture;
    struct weir_queue_options queue;
    struct weir_outbox_options options;
    struct weir_outbox *outbox;

    prepare_tally(fixture, self->options->outages);
    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    weir_queue_options_init(&queue);
    queue.name = ORDER_QUEUE;
    queue.partitions = DELIVERY_AUDIT_PARTITIONS;
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
    subscribe(fixture);
    weir_outbox_destroy(outbox);
}

/* ---- disturbances ------------------------------------------------------------------ */

static void replace_deliverer(struct order_run *self, uint32_t number)
{
    uint32_t slot = first_deliverer(self) + number;
    bool at_order;
    int64_t begin_us;

    process_set_strike(&self->rig.processes, slot, SIGKILL, 0, &at_order, &begin_us);
    rig_start(&self->rig, slot);
    self->result->killed++;
}

/* One that is stopping is left alone. */
static void disturb_deliverer(struct order_run *self, uint32_t number)
{
    struct order_shared *shared = self->shared;

    if (atomic_load(&shared->stopped[number]) != atomic_load(&shared->stop[number]))
        return;
    if (rig_roll(&self->rig, 2) == 0) {
        replace_deliverer(self, number);
    } else {
        atomic_fetch_add(&shared->stop[number], 1);
        self->result->stopped++;
    }
}

/* Of both subscriptions. */
static int64_t count_undelivered(struct rig *rig)
{
    const struct order_run *self = rig->state;
    int64_t committed = delivery_audit_committed(self->delivery_audit);
    int64_t left = 0;

    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++) {
        int64_t delivered = delivery_audit_delivered(self->delivery_audit, i);

        left += delivered < committed ? committed - delivered : 0;
    }
    return left;
}

/* Nothing is in the log, and nothing set aside. */
static bool all_is_swept(struct order_run *self)
{
    return fixture_ask(self->rig.fixture, "SELECT count(*) FROM weir_log") == 0 &&
           fixture_ask(self->rig.fixture, "SELECT count(*) FROM weir_aside") == 0;
}

static void forget_slowness(struct order_run *self)
{
    atomic_store(&self->shared->slow[ORDER_DEFAULT], -1);
    atomic_store(&self->shared->slow[ORDER_AUDIT], -1);
}

/* Nobody writes until the log is empty, which PostgreSQL's need not become. */
static void make_lull(struct order_run *self)
{
    int64_t end_ns;

    forget_slowness(self);
    atomic_store(&self->shared->lull, true);
    while (atomic_load(&self->shared->busy) > 0) {
        process_set_rest(&self->rig.processes, 1);
    }
    (void)rig_wait_while_less(&self->rig, count_undelivered,
                              self->options->wait_limit_ns);
    end_ns = weir_clock_now_ns() + WEIR_SECONDS(4);
    while (self->rig.fixture->engine != WEIR_POSTGRESQL && !all_is_swept(self) &&
           weir_clock_now_ns() < end_ns)
        process_set_rest(&self->rig.processes, 20);
    atomic_store(&self->shared->lull, false);
    self->result->lulls++;
}

/* A few times a second. */
static void disturb(struct order_run *self, uint32_t tick)
{
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++) {
        if (rig_roll(&self->rig, 8) == 0)
            atomic_store(&self->shared->slow[i],
                         (int32_t)rig_roll(&self->rig, DELIVERY_AUDIT_PARTITIONS * 2) -
                             DELIVERY_AUDIT_PARTITIONS);
    }
    if (!self->options->calm && tick % 10 == 9)
        disturb_deliverer(self, rig_roll(&self->rig, ORDER_DELIVERERS));
}

static void supervise(struct order_run *self)
{
    int64_t part = self->options->messages / 4 + 1;
    int64_t next = part;

    for (uint32_t tick = 0; !atomic_load(&self->shared->written); tick++) {
        disturb(self, tick);
        if (self->options->lulls &&
            delivery_audit_committed(self->delivery_audit) >= next) {
            make_lull(self);
            next = delivery_audit_committed(self->delivery_audit) + part;
        }
        process_set_rest(&self->rig.processes, 200);
    }
}

/* One after so many messages, while everybody is at work. */
static void make_outages(struct order_run *self)
{
    const struct order_options *options = self->options;

    while (self->result->outages < options->outages) {
        int64_t next = options->messages * (self->result->outages + 1) /
                       (int64_t)(options->outages + 1);

        while (delivery_audit_committed(self->delivery_audit) < next)
            process_set_rest(&self->rig.processes, 2);
        if (options->outage != NULL) {
            options->outage(options->outage_argument);
        } else {
            server_kill(self->rig.fixture->server);
            server_restart(self->rig.fixture->server);
        }
        self->result->outages++;
        atomic_store(&self->shared->outages, self->result->outages);
    }
}

static void disturb_all(struct rig *rig)
{
    struct order_run *self = rig->state;

    if (self->options->outages > 0)
        make_outages(self);
    supervise(self);
}

/* ---- after ------------------------------------------------------------------------- */

/* Writers leave by themselves. */
static int64_t count_unwritten(struct rig *rig)
{
    const struct order_run *self = rig->state;

    return !atomic_load(&self->shared->written);
}

static void settle(struct rig *rig)
{
    struct order_run *self = rig->state;
    struct fixture *fixture = rig->fixture;
    struct weir_outbox_options options;

    forget_slowness(self);
    if (self->options->outages == 0)
        return;
    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &self->outbox, &fixture->error), WEIR_OK);
}

/* What has committed without an answer, too: the outbox is asked. */
static int64_t count_unfinished(struct rig *rig)
{
    struct order_run *self = rig->state;
    struct fixture *fixture = rig->fixture;
    int64_t left = count_undelivered(rig);

    for (int i = 0; i < DELIVERY_AUDIT_STREAMS && left == 0 && self->outbox != NULL;
         i++) {
        bool drained = false;

        check_db(weir_outbox_read_drained(self->outbox, ORDER_QUEUE,
                                          ORDER_SUBSCRIPTIONS[i], &drained,
                                          &fixture->error),
                 WEIR_OK);
        left += !drained;
    }
    return left;
}

static int64_t passes(const struct order_shared *shared, const char *name)
{
    for (uint32_t i = 0; i < shared->rig.points.armed_count; i++) {
        if (strcmp(shared->rig.points.armed[i].name, name) == 0)
            return (int64_t)atomic_load(&shared->rig.points.armed[i].passed);
    }
    return 0;
}

static void count(struct order_run *self)
{
    struct order_result *result = self->result;

    if (self->options->outages > 0)
        return;
    if (self->rig.fixture->engine != WEIR_POSTGRESQL) {
        result->removed =
            fixture_ask(self->rig.fixture, "SELECT removed FROM weir_tally");
        result->aside = fixture_ask(self->rig.fixture, "SELECT aside FROM weir_tally");
    } else {
        result->emptied = passes(self->shared, "sweep.truncated");
        result->removed =
            fixture_ask(self->rig.fixture, "SELECT last_value - (SELECT count(*) FROM "
                                           "weir_log) FROM weir_log_id");
        result->aside =
            fixture_ask(self->rig.fixture,
                        "SELECT coalesce((SELECT n_tup_ins FROM pg_stat_user_tables"
                        " WHERE relname = 'weir_aside'), 0)");
    }
}

/* Some of those who pass rest for so long that others come and go meanwhile. */
static bool linger(void *argument, const char *name)
{
    enum { ONE_IN = 4, LONGEST_US = 30000 };

    if (strcmp(name, argument) == 0 && weir_clock_random() % ONE_IN == 0)
        rig_rest_us((uint32_t)(weir_clock_random() % LONGEST_US));
    return false;
}

static void plan(struct rig *rig)
{
    struct order_run *self = rig->state;
    const struct order_options *options = self->options;
    struct weir_fault_points *points = &rig->shared->points;

    weir_fault_points_arm(points, "sweep.truncated", UINT64_MAX); /* counts */
    if (options->linger != NULL)
        weir_fault_points_set_oracle(points, linger, (void *)(uintptr_t)options->linger);
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++)
        atomic_store(
            &self->shared->slow[i],
            (int32_t)(rig_mix(options->seed + (uint64_t)i) % DELIVERY_AUDIT_PARTITIONS));
    self->delivery_audit =
        delivery_audit_create((size_t)(options->messages + options->large * 32) * 2);
    prepare(self);
}

static void audit(struct rig *rig)
{
    struct order_run *self = rig->state;

    weir_outbox_destroy(self->outbox);
    delivery_audit_judge(self->delivery_audit, &self->result->verdict);
    count(self);
    delivery_audit_destroy(self->delivery_audit);
}

void order_run(struct fixture *fixture, const struct order_options *options,
               struct order_result *out)
{
    struct order_shared *shared = rig_share(sizeof *shared);
    struct order_run self = {.options = options, .result = out, .shared = shared};
    struct rig_counts counts;
    const struct rig_model model = {
        .slots =
            options->writers + ORDER_DELIVERERS + options->cutters + options->sweepers,
        .writers = options->writers,
        .together = PROCESS_SET_PROCESS_SLOTS_MAX,
        .may_leave = true,
        .plan = plan,
        .act = act,
        .audit = audit,
        .trial = disturb_all,
        .settle = settle,
        .unwritten = count_unwritten,
        .unfinished = count_unfinished,
    };

    *out = (struct order_result){0};
    check(model.slots <= PROCESS_SET_PROCESS_SLOTS_MAX);
    self.rig = (struct rig){
        .model = &model,
        .options = {.seed = options->seed, .wait_limit_ns = options->wait_limit_ns},
        .state = &self,
        .fixture = fixture,
        .shared = &shared->rig,
        .counts = &counts};
    rig_run(&self.rig);
    (void)munmap(shared, sizeof *shared);
    out->took_ns = counts.took_ns;
}

void order_print(const struct fixture *fixture, const struct order_options *options,
                 const struct order_result *result)
{
    const struct delivery_audit_verdict *verdict = &result->verdict;

    printf("# %s, WEIR_SEED=%" PRIu64 ": %" PRId64 " messages of %" PRId64
           " transactions, %" PRId64 " deliveries again; removed %" PRId64
           ", set aside %" PRId64 ", emptied %" PRId64
           "; stopped %u, killed %u, lulls %u, outages %u, doubted %" PRId64 "; %" PRId64
           " ms\n",
           weir_engine_name(fixture->engine), options->seed, verdict->messages,
           verdict->transactions, verdict->again, result->removed, result->aside,
           result->emptied, result->stopped, result->killed, result->lulls,
           result->outages, verdict->doubted, result->took_ns / 1000000);
    if (verdict->violations > 0)
        printf("# lost %" PRId64 ", unexpected %" PRId64 ", overtaken %" PRId64
               ", disordered %" PRId64 ", gaps %" PRId64 ", changed %" PRId64 ": %s\n",
               verdict->lost, verdict->unexpected, verdict->overtaken,
               verdict->disordered, verdict->gaps, verdict->changed, verdict->first);
}
