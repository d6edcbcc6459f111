/*
 * bench_profiles.c - loads by name: so many producers, queues and instances at once.
 *
 *   bench_profiles [--quick] [ENGINE...] [PROFILE...]
 *
 * For each profile (lib/profile.h): a new database, one or two outboxes in this process
 * on one weir_db, and as many producer threads as it says. Measured is from the first
 * enqueue until all is consumed; then it is verified (lib/audit.h). The messages of a
 * profile are divided by 50, or by 1000 with --quick; WEIR_LONG=1 sends them all.
 *
 * A profile whose messages are lost, repeated or out of order fails, and the bench with
 * it: it ends with 1.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/inspect.h>
#include <weir/outbox.h>

#include "lib/audit.h"
#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/must.h"
#include "lib/proc.h"
#include "lib/profile.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { NAME_SIZE = 64, TEXT_SIZE = 32, BATCH_MAX = 100, PRODUCERS_MAX = 16 };

#define MESSAGE_TYPE "bench/seq"
#define STATS_NS WEIR_SECONDS(10)
#define LOOK_NS WEIR_MILLISECONDS(20)

struct plan {
    uint64_t divisor;
    int64_t wait_limit_ns;
};

static const struct plan SHORT = {.divisor = 50, .wait_limit_ns = WEIR_SECONDS(120)};
static const struct plan QUICK = {.divisor = 1000, .wait_limit_ns = WEIR_SECONDS(120)};
static const struct plan LONG = {.divisor = 1, .wait_limit_ns = WEIR_SECONDS(1200)};

/* One queue of one family. */
struct shelf {
    struct run *run;
    size_t first; /* of its partitions, in the audit */
    char name[NAME_SIZE];
};

/* One profile on one engine. */
struct run {
    const struct bench_profile *profile;
    const struct plan *plan;
    uint64_t family_messages;
    struct weir_db *db;
    struct weir_outbox *outboxes[BENCH_PROFILE_INSTANCES_MAX];
    struct shelf *shelves;      /* owned: of family 0, then of family 1 */
    _Atomic uint64_t *counters; /* owned: payloads of a realistic load, by partition */
    struct bench_audit audit;
};

static size_t family_of(const struct run *self, size_t instance)
{
    return self->profile->independent ? instance : 0;
}

static struct shelf *shelf_of(struct run *self, size_t family, size_t queue)
{
    return &self->shelves[family * self->profile->queues + queue];
}

/* ---- consuming --------------------------------------------------------------------- */

static enum weir_outcome consume(struct weir_context *context, void *state,
                                 struct weir_batch *batch, struct weir_reason *reason)
{
    struct shelf *self = state;
    const struct weir_message *message;
    struct weir_error error;

    (void)context;
    while ((message = weir_batch_next(batch)) != NULL) {
        if (weir_batch_ack(batch, &error) != WEIR_OK)
            return weir_retry(reason, "%s", error.text);
        bench_audit_note(&self->run->audit, self->first + (size_t)message->partition,
                         message->partition, message->seq, message->payload);
    }
    return WEIR_DONE;
}

/* ---- producing --------------------------------------------------------------------- */

struct producer {
    struct run *run;
    size_t number;
    pthread_t thread;
    struct bench_destination destinations[BATCH_MAX];
    char texts[BATCH_MAX][TEXT_SIZE];
    struct weir_draft drafts[BATCH_MAX];
};

static uint64_t payload_count(struct run *self, uint64_t number,
                              struct bench_destination destination)
{
    size_t partition =
        destination.queue * BENCH_PROFILE_PARTITIONS + (size_t)destination.partition;

    if (self->profile->hot_queues == 0)
        return number / bench_profile_partitions(self->profile);
    return atomic_fetch_add(&self->counters[partition], 1);
}

/* Messages `first` to `first` + `count` - 1 of the family. */
static void write_texts(struct producer *self, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bench_destination destination =
            bench_profile_destination(self->run->profile, first + i);

        self->destinations[i] = destination;
        (void)snprintf(
            self->texts[i], TEXT_SIZE, "%d:%llu", (int)destination.partition,
            (unsigned long long)payload_count(self->run, first + i, destination));
    }
}

/* The drafts of one queue, in their order. */
static size_t pick(struct producer *self, size_t queue, size_t count)
{
    size_t picked = 0;

    for (size_t i = 0; i < count; i++) {
        if (self->destinations[i].queue != queue)
            continue;
        self->drafts[picked++] = (struct weir_draft){
            .route = weir_route_to_partition(self->destinations[i].partition),
            .type = MESSAGE_TYPE,
            .payload = self->texts[i],
            .payload_size = strlen(self->texts[i])};
    }
    return picked;
}

static bool is_first_of_queue(const struct producer *self, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (self->destinations[i].queue == self->destinations[index].queue)
            return false;
    }
    return true;
}

/* One transaction per queue. */
static void send_batch(struct producer *self, size_t count)
{
    size_t instance = self->number % self->run->profile->instances;
    size_t family = family_of(self->run, instance);
    struct weir_error error;

    for (size_t i = 0; i < count; i++) {
        size_t queue = self->destinations[i].queue;

        if (is_first_of_queue(self, i))
            bench_must_ok(weir_enqueue_batch(self->run->outboxes[instance], NULL,
                                             shelf_of(self->run, family, queue)->name,
                                             self->drafts, pick(self, queue, count), NULL,
                                             &error),
                          &error, "enqueue");
    }
}

/* Producers of a family share its messages in contiguous ranges. */
static void *produce(void *state)
{
    struct producer *self = state;
    const struct bench_profile *profile = self->run->profile;
    size_t families = bench_profile_families(profile);
    size_t colleagues = profile->producers / families;
    size_t rank = self->number / families;
    uint64_t total = self->run->family_messages;
    uint64_t end = total * (rank + 1) / colleagues;

    for (uint64_t at = total * rank / colleagues; at < end;) {
        size_t count = end - at < profile->batch ? (size_t)(end - at) : profile->batch;

        write_texts(self, at, count);
        send_batch(self, count);
        at += count;
    }
    return NULL;
}

/* ---- setting up -------------------------------------------------------------------- */

/* bench_<n>, with the letter of the family if there are two, and the queue if there are
 * more. */
static void name_shelf(struct run *self, size_t profile_number, size_t family,
                       size_t queue)
{
    static const char *const FAMILIES[BENCH_PROFILE_INSTANCES_MAX] = {"a", "b"};
    struct shelf *shelf = shelf_of(self, family, queue);
    char suffix[TEXT_SIZE] = "";

    shelf->run = self;
    shelf->first = (size_t)(shelf - self->shelves) * BENCH_PROFILE_PARTITIONS;
    if (self->profile->queues > 1)
        (void)snprintf(suffix, sizeof suffix, "_q%zu", queue);
    (void)snprintf(shelf->name, sizeof shelf->name, "bench_%zu%s%s", profile_number,
                   self->profile->independent ? FAMILIES[family] : "", suffix);
}

static void add_shelf(struct weir_outbox *outbox, struct shelf *shelf)
{
    struct weir_queue_options queue;
    struct weir_handler_options handler;
    struct weir_error error;

    weir_queue_options_init(&queue);
    queue.name = shelf->name;
    queue.partitions = BENCH_PROFILE_PARTITIONS;
    bench_must_ok(weir_outbox_add_queue(outbox, &queue, &error), &error, "add a queue");
    weir_handler_options_init(&handler);
    handler.queue = shelf->name;
    handler.on_batch = consume;
    handler.state = shelf;
    bench_must_ok(weir_outbox_add_handler(outbox, &handler, &error), &error,
                  "add a handler");
}

static void start_instance(struct run *self, size_t instance)
{
    struct weir_outbox_options options;
    struct weir_error error;

    weir_outbox_options_init(&options);
    options.db = self->db;
    options.profile = WEIR_PROFILE_HIGH_THROUGHPUT;
    options.handlers = self->profile->processors;
    options.maintenance_guaranteed = self->profile->maintenance_guaranteed;
    options.maintenance_shared = self->profile->maintenance_shared;
    options.stats_interval_ns = STATS_NS;
    bench_must_ok(weir_outbox_create(&options, &self->outboxes[instance], &error), &error,
                  "create the outbox");
    for (size_t queue = 0; queue < self->profile->queues; queue++)
        add_shelf(self->outboxes[instance],
                  shelf_of(self, family_of(self, instance), queue));
    bench_must_ok(weir_outbox_start(self->outboxes[instance], &error), &error, "start");
}

static void count_owned(void *state, const struct weir_partition_info *info)
{
    *(size_t *)state += info->lease_left_us > 0;
}

/* Somebody holds the lease of each partition: starting is not what is measured. */
static void await_owners(struct run *self)
{
    size_t shelf_count = bench_profile_families(self->profile) * self->profile->queues;
    int64_t end_ns = bench_now_ns() + self->plan->wait_limit_ns;
    struct weir_error error;

    for (size_t i = 0; i < shelf_count;) {
        size_t owned = 0;

        bench_must_ok(weir_outbox_read_partitions(self->outboxes[0],
                                                  self->shelves[i].name, count_owned,
                                                  &owned, &error),
                      &error, "read the partitions");
        if (owned == BENCH_PROFILE_PARTITIONS) {
            i++;
            continue;
        }
        bench_must(bench_now_ns() < end_ns, "partitions have no owner");
        bench_sleep_ns(LOOK_NS);
    }
}

static void open_run(struct run *self, const char *url, size_t profile_number)
{
    size_t families = bench_profile_families(self->profile);
    size_t partitions = bench_profile_partitions(self->profile);
    struct weir_db_options options;
    struct weir_error error;

    self->family_messages = bench_profile_messages(self->profile, self->plan->divisor);
    self->shelves =
        bench_must_alloc(families * self->profile->queues, sizeof *self->shelves);
    self->counters = bench_must_alloc(partitions, sizeof *self->counters);
    bench_audit_init(&self->audit, families * partitions,
                     families * self->family_messages, self->profile->hot_queues == 0);
    for (size_t i = 0; i < families * self->profile->queues; i++)
        name_shelf(self, profile_number, i / self->profile->queues,
                   i % self->profile->queues);
    weir_db_options_init(&options);
    options.url = url;
    bench_must_ok(weir_db_create(&options, &self->db, &error), &error,
                  "open the database");
    bench_must_ok(weir_outbox_migrate(self->db, &error), &error, "migrate");
    for (size_t i = 0; i < self->profile->instances; i++)
        start_instance(self, i);
    await_owners(self);
}

/* From here on nobody consumes. */
static void stop_run(struct run *self)
{
    for (size_t i = 0; i < self->profile->instances; i++)
        bench_must(weir_outbox_stop(self->outboxes[i], WEIR_SECONDS(30)) == 0,
                   "the outbox does not stop");
}

static void close_run(struct run *self)
{
    for (size_t i = 0; i < self->profile->instances; i++)
        weir_outbox_destroy(self->outboxes[i]);
    weir_db_destroy(self->db);
    bench_audit_fini(&self->audit);
    free(self->counters);
    free(self->shelves);
}

/* ---- a profile --------------------------------------------------------------------- */

/* False: not everything came. */
static bool produce_and_consume(struct run *self)
{
    static struct producer producers[PRODUCERS_MAX];

    for (size_t i = 0; i < self->profile->producers; i++) {
        producers[i].run = self;
        producers[i].number = i;
        bench_must(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) ==
                       0,
                   "start a producer");
    }
    for (size_t i = 0; i < self->profile->producers; i++)
        (void)pthread_join(producers[i].thread, NULL);
    return bench_audit_await(&self->audit, self->plan->wait_limit_ns);
}

static bool bench_profile(struct bench_database *database, const struct plan *plan,
                          size_t index)
{
    struct run run = {.profile = &BENCH_PROFILES[index], .plan = plan};
    int64_t begun_ns;
    int64_t taken_ns;
    bool right;
    char name[NAME_SIZE];

    (void)snprintf(name, sizeof name, "bench_%s", run.profile->name);
    open_run(&run, bench_database_add(database, name, false), index + 1);
    begun_ns = bench_now_ns();
    right = produce_and_consume(&run);
    taken_ns = bench_now_ns() - begun_ns;
    stop_run(&run);
    right = bench_audit_verify(&run.audit) && right;
    (void)snprintf(name, sizeof name, "%s, %llu messages", run.profile->name,
                   (unsigned long long)run.audit.expected);
    if (right)
        bench_row_value(name, BENCH_PER_SECOND,
                        bench_per_second(run.audit.expected, taken_ns), BENCH_UNJUDGED);
    else
        (void)printf("   %s: FAILED: %s\n", name, run.audit.fault);
    close_run(&run);
    return right;
}

/* ---- the report -------------------------------------------------------------------- */

static bool bench_engine(const struct bench_choice *choice, const struct plan *plan,
                         enum weir_engine engine)
{
    struct bench_database *database = bench_database_open(engine);
    bool right = true;
    char title[NAME_SIZE];

    (void)snprintf(title, sizeof title, "%s, verified", weir_engine_name(engine));
    bench_section(title, "weir", "");
    for (size_t i = 0; i < BENCH_PROFILE_COUNT; i++) {
        if (bench_choice_has_section(choice, i))
            right = bench_profile(database, plan, i) && right;
    }
    bench_database_close(database);
    return right;
}

static const struct plan *choose_plan(const struct bench_choice *choice)
{
    if (choice->quick)
        return &QUICK;
    return bench_choice_is_long(choice) ? &LONG : &SHORT;
}

int main(int argc, char **argv)
{
    static const enum weir_engine ENGINES[] = {WEIR_SQLITE, WEIR_POSTGRESQL};
    const char *names[BENCH_PROFILE_COUNT];
    struct bench_choice choice = {.sections = names,
                                  .section_count = BENCH_PROFILE_COUNT};
    int64_t begun_ns = bench_now_ns();
    bool right = true;

    for (size_t i = 0; i < BENCH_PROFILE_COUNT; i++)
        names[i] = BENCH_PROFILES[i].name;
    if (!bench_choice_read(&choice, argc, argv))
        return 2;
    (void)printf("%zu cores, load %.2f; messages divided by %llu, durable commits\n",
                 bench_core_count(), bench_load(),
                 (unsigned long long)choose_plan(&choice)->divisor);
    (void)fflush(stdout);
    for (size_t i = 0; i < sizeof ENGINES / sizeof ENGINES[0]; i++) {
        if (bench_choice_has_engine(&choice, ENGINES[i]))
            right = bench_engine(&choice, choose_plan(&choice), ENGINES[i]) && right;
    }
    (void)printf("\ntook %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - begun_ns) / 1e9, bench_load());
    return right ? 0 : 1;
}
