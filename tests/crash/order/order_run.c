/*
 * order_run.c - see order_run.h. The test's process, which starts, disturbs and ends
 * the others.
 */
#include "crash/order/order_run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/order/order_shared.h"
#include "db/clock.h"
#include "kit/server/process.h"
#include "outbox/queue/catalog.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

static pid_t start(struct order_run *self, uint32_t number,
                   void (*work)(struct order_run *, uint32_t))
{
    pid_t parent = getpid();
    pid_t pid = fork();

    check(pid >= 0);
    if (pid > 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        work(self, number);
    _exit(0);
}

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

static void close_fixture(struct fixture *fixture)
{
    weir_db_destroy(fixture->db);
    fixture->db = NULL;
}

static void reopen_fixture(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    fixture->db = fixture_open(fixture, &options);
}

static void kill_all(pid_t *pids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (pids[i] != 0)
            (void)process_end(pids[i], SIGKILL);
        pids[i] = 0;
    }
}

/* A test that fails leaves nobody behind. */
__attribute__((noreturn)) static void fail(struct order_run *self, const char *text)
{
    kill_all(self->writers, ORDER_WRITERS_MAX);
    kill_all(self->deliverers, ORDER_DELIVERERS);
    kill_all(self->helpers, ORDER_HELPERS_MAX);
    reopen_fixture(self->fixture);
    weir_test_fail(__FILE__, __LINE__, "WEIR_SEED=%" PRIu64 ": %s", self->options->seed,
                   text);
}

/* Forget those that have ended, as they should. Returns how many have not. */
static uint32_t look_after(struct order_run *self, pid_t *pids, uint32_t count)
{
    uint32_t left = 0;
    int status = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (pids[i] != 0 && waitpid(pids[i], &status, WNOHANG) == pids[i]) {
            pids[i] = 0;
            if (status != 0) {
                order_rest_us(100000); /* for the text of whoever was first */
                fail(self,
                     self->shared->troubled ? self->shared->trouble : "a process died");
            }
        }
        left += pids[i] != 0;
    }
    return left;
}

static void check_trouble(struct order_run *self)
{
    (void)look_after(self, self->writers, ORDER_WRITERS_MAX);
    (void)look_after(self, self->deliverers, ORDER_DELIVERERS);
    (void)look_after(self, self->helpers, ORDER_HELPERS_MAX);
}

/* Processes that end by themselves. */
static void await(struct order_run *self, pid_t *pids, uint32_t count,
                  const char *trouble)
{
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(120);

    while (look_after(self, pids, count) > 0) {
        check_trouble(self);
        if (weir_clock_now_ns() > end_ns)
            fail(self, trouble);
        order_rest_us(2000);
    }
}

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
    static const char *const NAMES[DELIVERY_AUDIT_STREAMS] = {"default", "audit"};
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_outbox_log log;
    struct weir_queue_row row;
    int64_t id;

    check_db(weir_outbox_log_open(&log, connection, &fixture->error), WEIR_OK);
    check_db(weir_catalog_find_queue(connection, ORDER_QUEUE, &row, &fixture->error),
             WEIR_OK);
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++)
        check_db(weir_catalog_subscribe(&log, connection, &row, NAMES[i],
                                        WEIR_SERVED_BY_HANDLER, WEIR_START_BEGINNING, &id,
                                        &fixture->error),
                 WEIR_OK);
    fixture_give(fixture, connection);
}

static void prepare(struct order_run *self)
{
    struct fixture *fixture = self->fixture;
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

static void replace_deliverer(struct order_run *self, uint32_t number)
{
    (void)process_end(self->deliverers[number], SIGKILL);
    self->deliverers[number] = start(self, number, order_deliver);
    self->result->killed++;
}

/* One that is stopping is left alone. */
static void disturb_deliverer(struct order_run *self, uint32_t number)
{
    struct order_shared *shared = self->shared;

    if (atomic_load(&shared->stopped[number]) != atomic_load(&shared->stop[number]))
        return;
    if (order_roll(self, 2) == 0) {
        replace_deliverer(self, number);
    } else {
        atomic_fetch_add(&shared->stop[number], 1);
        self->result->stopped++;
    }
}

static bool all_is_delivered(const struct order_run *self)
{
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++) {
        if (delivery_audit_delivered(self->delivery_audit, i) <
            delivery_audit_committed(self->delivery_audit))
            return false;
    }
    return true;
}

/* Nothing is in the log, and nothing set aside. */
static bool all_is_swept(struct order_run *self)
{
    return fixture_ask(self->fixture, "SELECT count(*) FROM weir_log") == 0 &&
           fixture_ask(self->fixture, "SELECT count(*) FROM weir_aside") == 0;
}

static int64_t deliveries(const struct order_run *self)
{
    return delivery_audit_delivered(self->delivery_audit, ORDER_DEFAULT) +
           delivery_audit_delivered(self->delivery_audit, ORDER_AUDIT);
}

/* Wait until all of it is delivered, as long as there is progress. */
static void wait_for_deliveries(struct order_run *self)
{
    int64_t since_ns = weir_clock_now_ns();
    int64_t last = -1;

    while (!all_is_delivered(self)) {
        int64_t now = deliveries(self);

        check_trouble(self);
        if (now != last)
            since_ns = weir_clock_now_ns();
        else if (weir_clock_now_ns() - since_ns > self->options->wait_limit_ns)
            return;
        last = now;
        order_rest_us(5000);
    }
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
        check_trouble(self);
        order_rest_us(1000);
    }
    wait_for_deliveries(self);
    end_ns = weir_clock_now_ns() + WEIR_SECONDS(4);
    while (self->fixture->engine != WEIR_POSTGRESQL && !all_is_swept(self) &&
           weir_clock_now_ns() < end_ns)
        order_rest_us(20000);
    atomic_store(&self->shared->lull, false);
    self->result->lulls++;
}

/* A few times a second. */
static void disturb(struct order_run *self, uint32_t tick)
{
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++) {
        if (order_roll(self, 8) == 0)
            atomic_store(&self->shared->slow[i],
                         (int32_t)order_roll(self, DELIVERY_AUDIT_PARTITIONS * 2) -
                             DELIVERY_AUDIT_PARTITIONS);
    }
    if (!self->options->calm && tick % 10 == 9)
        disturb_deliverer(self, order_roll(self, ORDER_DELIVERERS));
}

static void supervise(struct order_run *self)
{
    int64_t part = self->options->messages / 4 + 1;
    int64_t next = part;

    for (uint32_t tick = 0; !atomic_load(&self->shared->written); tick++) {
        check_trouble(self);
        disturb(self, tick);
        if (self->options->lulls &&
            delivery_audit_committed(self->delivery_audit) >= next) {
            make_lull(self);
            next = delivery_audit_committed(self->delivery_audit) + part;
        }
        order_rest_us(200000);
    }
}

/* One after so many messages, while everybody is at work. */
static void make_outages(struct order_run *self)
{
    const struct order_options *options = self->options;

    while (self->result->outages < options->outages) {
        int64_t next = options->messages * (self->result->outages + 1) /
                       (int64_t)(options->outages + 1);

        while (delivery_audit_committed(self->delivery_audit) < next) {
            check_trouble(self);
            order_rest_us(2000);
        }
        if (options->outage != NULL) {
            options->outage(options->outage_argument);
        } else {
            server_kill(self->fixture->server);
            server_restart(self->fixture->server);
        }
        self->result->outages++;
        atomic_store(&self->shared->outages, self->result->outages);
    }
}

/* Of what has committed without anybody being told, too. */
static void wait_until_drained(struct order_run *self)
{
    static const char *const NAMES[DELIVERY_AUDIT_STREAMS] = {"default", "audit"};
    struct fixture *fixture = self->fixture;
    int64_t end_ns = weir_clock_now_ns() + self->options->wait_limit_ns;
    struct weir_outbox_options options;
    struct weir_outbox *outbox;

    reopen_fixture(fixture);
    weir_outbox_options_init(&options);
    options.db = fixture->db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++) {
        bool drained = false;

        while (!drained && weir_clock_now_ns() < end_ns) {
            check_db(weir_outbox_read_drained(outbox, ORDER_QUEUE, NAMES[i], &drained,
                                              &fixture->error),
                     WEIR_OK);
            order_rest_us(5000);
        }
    }
    weir_outbox_destroy(outbox);
    close_fixture(fixture);
}

static void end_all(struct order_run *self)
{
    await(self, self->writers, ORDER_WRITERS_MAX, "a writer does not end");
    forget_slowness(self);
    wait_for_deliveries(self);
    if (self->options->outages > 0)
        wait_until_drained(self);
    atomic_store(&self->shared->over, true);
    await(self, self->deliverers, ORDER_DELIVERERS, "a deliverer does not end");
    await(self, self->helpers, ORDER_HELPERS_MAX, "a helper does not end");
}

static int64_t passes(const struct order_shared *shared, const char *name)
{
    for (uint32_t i = 0; i < shared->points.armed_count; i++) {
        if (strcmp(shared->points.armed[i].name, name) == 0)
            return (int64_t)atomic_load(&shared->points.armed[i].passed);
    }
    return 0;
}

static void count(struct order_run *self)
{
    struct order_result *result = self->result;

    if (self->options->outages > 0)
        return;
    if (self->fixture->engine != WEIR_POSTGRESQL) {
        result->removed = fixture_ask(self->fixture, "SELECT removed FROM weir_tally");
        result->aside = fixture_ask(self->fixture, "SELECT aside FROM weir_tally");
    } else {
        result->emptied = passes(self->shared, "sweep.truncated");
        result->removed =
            fixture_ask(self->fixture, "SELECT last_value - (SELECT count(*) FROM "
                                       "weir_log) FROM weir_log_id");
        result->aside = fixture_ask(
            self->fixture, "SELECT coalesce((SELECT n_tup_ins FROM pg_stat_user_tables"
                           " WHERE relname = 'weir_aside'), 0)");
    }
}

/* Some of those who pass rest for so long that others come and go meanwhile. */
static bool linger(void *argument, const char *name)
{
    enum { ONE_IN = 4, LONGEST_US = 30000 };

    if (strcmp(name, argument) == 0 && weir_clock_random() % ONE_IN == 0)
        order_rest_us((uint32_t)(weir_clock_random() % LONGEST_US));
    return false;
}

static struct order_shared *make_shared(const struct order_options *options)
{
    struct order_shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    check(shared != MAP_FAILED);
    weir_fault_points_init(&shared->points);
    weir_fault_points_arm(&shared->points, "sweep.truncated", UINT64_MAX); /* counts */
    if (options->plant != NULL)
        weir_fault_points_arm(&shared->points, options->plant, 1);
    if (options->linger != NULL)
        weir_fault_points_set_oracle(&shared->points, linger,
                                     (void *)(uintptr_t)options->linger);
    for (int i = 0; i < DELIVERY_AUDIT_STREAMS; i++)
        atomic_store(&shared->slow[i], (int32_t)(order_mix(options->seed + (uint64_t)i) %
                                                 DELIVERY_AUDIT_PARTITIONS));
    return shared;
}

void order_run(struct fixture *fixture, const struct order_options *options,
               struct order_result *out)
{
    struct order_run self = {
        .fixture = fixture, .options = options, .result = out, .chance = options->seed};
    int64_t begin_ns = weir_clock_now_ns();

    *out = (struct order_result){0};
    check(options->writers <= ORDER_WRITERS_MAX &&
          options->cutters + options->sweepers <= ORDER_HELPERS_MAX);
    self.shared = make_shared(options);
    self.delivery_audit =
        delivery_audit_create((size_t)(options->messages + options->large * 32) * 2);
    prepare(&self);
    close_fixture(fixture);
    for (uint32_t i = 0; i < ORDER_DELIVERERS; i++)
        self.deliverers[i] = start(&self, i, order_deliver);
    for (uint32_t i = 0; i < options->cutters + options->sweepers; i++)
        self.helpers[i] = start(&self, i, i < options->cutters ? order_cut : order_sweep);
    for (uint32_t i = 0; i < options->writers; i++)
        self.writers[i] = start(&self, i, order_write);
    if (options->outages > 0)
        make_outages(&self);
    supervise(&self);
    end_all(&self);
    delivery_audit_judge(self.delivery_audit, &out->verdict);
    count(&self);
    reopen_fixture(fixture);
    delivery_audit_destroy(self.delivery_audit);
    (void)munmap(self.shared, sizeof *self.shared);
    out->took_ns = weir_clock_now_ns() - begin_ns;
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
