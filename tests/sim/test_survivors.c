/*
 * test_survivors.c - the processes that are left when a process dies, in virtual time.
 *
 * No process of a simulation has a lock that would tell of its death: it is known by
 * its lease alone, as behind a pooler. Calls of the database take no time here, so what
 * passes is what keepers wait.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "kit/outbox/accept.h"
#include "kit/sim/sim_process.h"
#include "kit/temp_dir.h"
#include "kit/test.h"
#include "outbox/delivery/partition_table.h"
#include "outbox/outbox.h"
#include "weir/outbox.h"

enum { PEOPLE_MAX = 3, PARTITIONS = 8, MOMENTS = 12 };

#define LEASE_NS WEIR_SECONDS(30)
#define HEARTBEAT_NS WEIR_SECONDS(3)
#define LOOK_NS WEIR_MILLISECONDS(50)
#define WAIT_LIMIT_NS WEIR_MINUTES(3)

struct person {
    struct village *village;
    char name[16];
    struct sim_process *sim_process; /* NULL: gone */
    struct weir_outbox *outbox;
    int64_t lease_ns;
    bool stopped; /* nothing of it runs */
    uint64_t heartbeats;
    uint64_t renewals;
};

struct village {
    char path[TEMP_DIR_SIZE + 16];
    char url[TEMP_DIR_SIZE + 32];
    struct person people[PEOPLE_MAX];
    uint32_t count;
    int64_t now_ns;
    bool ending;
};

/* ---- people ------------------------------------------------------------------------ */

/* Nothing happens but what a dying host asks for. */
static bool decide(void *argument, const char *name)
{
    struct person *self = argument;

    if (strcmp(name, "lease_keeper.heartbeat_sent") == 0)
        self->heartbeats++;
    if (strcmp(name, "lease_keeper.renewed") == 0)
        self->renewals++;
    return self->sim_process != NULL && sim_process_is_dying(self->sim_process) &&
           (strcmp(name, "db.lose") == 0 || strcmp(name, "db.busy") == 0);
}

static struct weir_outbox *open_outbox(struct person *self,
                                       struct sim_process *sim_process)
{
    struct weir_outbox_options options;
    struct weir_queue_options queue;
    struct weir_handler_options handler;
    struct weir_outbox *outbox = NULL;

    weir_outbox_options_init(&options);
    options.db = sim_process_db(sim_process);
    options.executor = sim_process_executor(sim_process);
    options.process_name = self->name;
    check_status(weir_outbox_create(&options, &outbox, NULL), WEIR_OK);
    weir_queue_options_init(&queue);
    queue.name = "q";
    queue.partitions = PARTITIONS;
    check_status(weir_outbox_add_queue(outbox, &queue, NULL), WEIR_OK);
    weir_outbox_set_fault_points(outbox, sim_process_points(sim_process));
    weir_handler_options_init(&handler);
    handler.queue = "q";
    handler.on_message = accept_message;
    handler.lease.duration_ns = self->lease_ns;
    handler.lease.headroom_ns = self->lease_ns / 10;
    check_status(weir_outbox_add_handler(outbox, &handler, NULL), WEIR_OK);
    check_status(weir_outbox_start(outbox, NULL), WEIR_OK);
    return outbox;
}

static void live(struct sim_process *sim_process, struct weir_context *context,
                 uint32_t index, void *argument)
{
    struct person *self = argument;

    (void)index;
    self->outbox = open_outbox(self, sim_process);
    while (!self->village->ending)
        weir_sleep_through(context, LOOK_NS);
    check_int(weir_outbox_stop(self->outbox, WEIR_SECONDS(10)), 0);
    weir_outbox_destroy(self->outbox);
}

static struct person *join(struct village *village, int64_t lease_ns)
{
    struct person *self = &village->people[village->count++];

    *self = (struct person){.village = village, .lease_ns = lease_ns};
    (void)snprintf(self->name, sizeof self->name, "person-%u", village->count);
    self->sim_process =
        sim_process_boot(&(struct sim_process_options){.name = self->name,
                                                       .seed = village->count,
                                                       .now_ns = village->now_ns,
                                                       .url = village->url,
                                                       .oracle = decide,
                                                       .oracle_argument = self,
                                                       .main = live,
                                                       .argument = self,
                                                       .mains = 1});
    return self;
}

static void die(struct person *self)
{
    sim_process_crash(self->sim_process);
    self->sim_process = NULL;
}

static void stop(struct person *self)
{
    self->stopped = true;
}

static void go_on(struct person *self)
{
    self->stopped = false;
    sim_process_jump(self->sim_process, self->village->now_ns);
}

static size_t held(const struct person *self)
{
    struct weir_partition_table_info info;

    weir_partition_table_read(self->outbox->partition_table, &info);
    return info.leased_partitions;
}

/* ---- time -------------------------------------------------------------------------- */

static bool runs(const struct person *self)
{
    return self->sim_process != NULL && !self->stopped &&
           !sim_process_is_done(self->sim_process);
}

static struct person *choose_next(struct village *self, int64_t *next_ns)
{
    struct person *chosen = NULL;

    *next_ns = WEIR_FOREVER;
    for (uint32_t i = 0; i < self->count; i++) {
        struct person *it = &self->people[i];

        if (runs(it) && sim_process_next_ns(it->sim_process) < *next_ns) {
            *next_ns = sim_process_next_ns(it->sim_process);
            chosen = it;
        }
    }
    return chosen;
}

/* What happens next, if that is not later than `limit_ns`. */
static bool step(struct village *self, int64_t limit_ns)
{
    int64_t next_ns;
    struct person *who = choose_next(self, &next_ns);

    if (who == NULL || next_ns > limit_ns)
        return false;
    if (next_ns > self->now_ns)
        self->now_ns = next_ns;
    sim_process_run_until(who->sim_process, self->now_ns);
    return true;
}

static void pass(struct village *self, int64_t duration_ns)
{
    int64_t end_ns = self->now_ns + duration_ns;

    while (step(self, end_ns))
        ;
    self->now_ns = end_ns;
}

/* Everybody has its share, to within one. */
static bool is_settled(const struct village *self)
{
    size_t least = PARTITIONS;
    size_t most = 0;
    size_t sum = 0;

    for (uint32_t i = 0; i < self->count; i++) {
        const struct person *it = &self->people[i];
        size_t leased_partitions;

        if (!runs(it))
            continue;
        if (it->outbox == NULL)
            return false;
        leased_partitions = held(it);
        least = leased_partitions < least ? leased_partitions : least;
        most = leased_partitions > most ? leased_partitions : most;
        sum += leased_partitions;
    }
    return sum == PARTITIONS && most - least <= 1;
}

/* Returns how long it took. */
static int64_t settle(struct village *self)
{
    int64_t begin_ns = self->now_ns;

    while (!is_settled(self))
        check(step(self, begin_ns + WAIT_LIMIT_NS));
    return self->now_ns - begin_ns;
}

/* ---- a village --------------------------------------------------------------------- */

static void remove_files(struct village *self)
{
    static const char *const ENDINGS[] = {"", "-wal", "-shm"};
    char name[TEMP_DIR_SIZE + 32];

    for (size_t i = 0; i < sizeof ENDINGS / sizeof ENDINGS[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", self->path, ENDINGS[i]);
        temp_dir_remove(name);
    }
}

static void open_village(struct village *self)
{
    struct weir_db_options options;
    struct weir_db *db = NULL;

    memset(self, 0, sizeof *self);
    (void)snprintf(self->path, sizeof self->path, "%s/village", temp_dir_of_program());
    (void)snprintf(self->url, sizeof self->url, "sqlite:%s", self->path);
    remove_files(self);
    weir_db_options_init(&options);
    options.url = self->url;
    check_status(weir_db_create(&options, &db, NULL), WEIR_OK);
    check_status(weir_outbox_migrate(db, NULL), WEIR_OK);
    weir_db_destroy(db);
}

static void close_village(struct village *self)
{
    self->ending = true;
    pass(self, WEIR_SECONDS(10));
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->people[i].sim_process != NULL)
            check_int(sim_process_end(self->people[i].sim_process), 0);
    }
    remove_files(self);
}

/* Each change of an owner adds one. */
static int64_t epochs(const struct village *self)
{
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t sum;

    check(sqlite3_open(self->path, &handle) == SQLITE_OK);
    check(sqlite3_prepare_v2(handle, "SELECT sum(epoch) FROM weir_lease", -1, &statement,
                             NULL) == SQLITE_OK);
    check(sqlite3_step(statement) == SQLITE_ROW);
    sum = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(handle);
    return sum;
}

/* ---- after a death ----------------------------------------------------------------- */

/* Beats fall together, since all beat when somebody comes: some of them are made late, by
 * `time_ns`. */
static void drift_apart(struct village *self, int64_t time_ns)
{
    for (uint32_t i = 1; i < self->count; i++) {
        stop(&self->people[i]);
        pass(self, HEARTBEAT_NS + time_ns);
        go_on(&self->people[i]);
    }
}

/* One dies, at one of several moments between beats and renewals. Returns how long its
 * partitions wait. */
static int64_t outlive(uint32_t survivors, int64_t lease_ns, int64_t lease_of_the_dead_ns,
                       int moment)
{
    struct village village;
    struct person *mortal;
    int64_t waited_ns;
    int64_t taken;

    open_village(&village);
    mortal = join(&village, lease_of_the_dead_ns);
    for (uint32_t i = 0; i < survivors; i++)
        (void)join(&village, lease_ns);
    (void)settle(&village);
    drift_apart(&village, moment * WEIR_MILLISECONDS(190));
    pass(&village, WEIR_SECONDS(10) + moment * WEIR_MILLISECONDS(730));

    die(mortal);
    waited_ns = settle(&village);

    taken = epochs(&village);
    pass(&village, WEIR_MINUTES(1));
    check(is_settled(&village)); /* and no lease changes hands */
    check_int(epochs(&village), taken);
    close_village(&village);
    return waited_ns;
}

static void check_takeover(uint32_t survivors, int64_t lease_ns,
                           int64_t lease_of_the_dead_ns)
{
    for (int moment = 0; moment < MOMENTS; moment++)
        check_in_range(outlive(survivors, lease_ns, lease_of_the_dead_ns, moment), 0,
                       lease_of_the_dead_ns + WEIR_SECONDS(1));
}

WEIR_TEST(survivor, has_what_the_dead_held_within_its_lease_and_a_second)
{
    check_takeover(1, LEASE_NS, LEASE_NS);
}

WEIR_TEST(survivor, shares_what_the_dead_held_within_its_lease_and_a_second)
{
    check_takeover(2, LEASE_NS, LEASE_NS);
}

WEIR_TEST(survivor, of_one_with_a_short_lease_does_not_wait_for_its_own_beat)
{
    check_takeover(1, LEASE_NS, WEIR_SECONDS(1));
    check_takeover(2, LEASE_NS, WEIR_MILLISECONDS(100));
}

/* ---- while nobody dies ------------------------------------------------------------- */

WEIR_TEST(neighbour, who_is_well_wakes_nobody)
{
    struct village village;
    struct person *one, *two;
    uint64_t heartbeats[2];

    open_village(&village);
    one = join(&village, LEASE_NS);
    pass(&village, WEIR_MILLISECONDS(1700));
    two = join(&village, LEASE_NS);
    (void)settle(&village);
    pass(&village, WEIR_SECONDS(10));
    heartbeats[0] = one->heartbeats;
    heartbeats[1] = two->heartbeats;

    pass(&village, WEIR_MINUTES(5));

    check_in_range(one->heartbeats - heartbeats[0], 90, 101); /* every three seconds */
    check_in_range(two->heartbeats - heartbeats[1], 90, 101);
    close_village(&village);
}

WEIR_TEST(neighbour, with_the_shortest_lease_wakes_others_four_times_a_second_at_most)
{
    struct village village;
    struct person *one;
    uint64_t heartbeats;

    open_village(&village);
    one = join(&village, LEASE_NS);
    (void)join(&village, WEIR_MILLISECONDS(100));
    (void)settle(&village);
    pass(&village, WEIR_SECONDS(10));
    heartbeats = one->heartbeats;

    pass(&village, WEIR_MINUTES(1));

    check_in_range(one->heartbeats - heartbeats, 20, 241);
    close_village(&village);
}

/* It was stopped just after it had renewed its leases, and is continued just before
 * they end. */
WEIR_TEST(neighbour, who_beats_at_the_last_moment_keeps_what_it_has)
{
    struct village village;
    struct person *one, *two;
    uint64_t heartbeats, renewals;
    int64_t taken;

    open_village(&village);
    one = join(&village, LEASE_NS);
    two = join(&village, LEASE_NS);
    (void)settle(&village);
    pass(&village, WEIR_SECONDS(10));
    for (renewals = two->renewals; two->renewals == renewals;)
        check(step(&village, WEIR_FOREVER));
    taken = epochs(&village);
    heartbeats = one->heartbeats;

    stop(two);
    pass(&village, LEASE_NS - WEIR_SECONDS(4));
    go_on(two);
    pass(&village, WEIR_MINUTES(1));

    check_int(epochs(&village), taken);
    check_in_range(one->heartbeats - heartbeats, 28, 31);
    check_int(held(one), PARTITIONS / 2);
    check_int(held(two), PARTITIONS / 2);
    close_village(&village);
}
