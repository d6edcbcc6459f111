/*
 * sim.c - see sim.h.
 */
#include "kit/sim/sim.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/db/sqlite_file.h"
#include "kit/execution/migrated_file.h"
#include "kit/sim/timeline.h"
#include "kit/temp_dir.h"
#include "kit/test.h"
#include "outbox/outbox.h"
#include "ward/context.h"
#include "weir/inspect.h"
#include "weir/outbox.h"

enum {
    CONSUMERS_MAX = 3,
    BATCH = 4,
    TRANSACTION_MAX = 6, /* messages */
};

enum { STREAM_SINGLE, STREAM_BATCH, STREAM_TRANSACTIONAL };

#define LEASE_NS WEIR_SECONDS(2)
#define HEADROOM_NS WEIR_MILLISECONDS(300)
#define LOOK_NS WEIR_MILLISECONDS(50)
#define HEAL_MAX_NS WEIR_MINUTES(10)
#define END_MAX_NS WEIR_MINUTES(5)

struct sim;

/* A subscription as one process serves it. */
struct service {
    struct consumer *consumer;
    int stream;
};

/* A process, across its lives. */
struct consumer {
    struct sim_life life; /* first */
    struct sim *sim;
    char name[16];
    uint32_t process;           /* number of this life */
    struct weir_outbox *outbox; /* started; NULL: not */
    struct service services[HISTORY_STREAMS];
    int64_t stood_ns; /* for so long its clock for leases will have stood then */
    int64_t wall_error_us;
};

struct sim {
    struct timeline time; /* first */
    const struct plan *plan;
    struct history *history;
    char url[TEMP_DIR_SIZE + 32];
    char path[TEMP_DIR_SIZE + 16];
    struct consumer consumers[CONSUMERS_MAX];
    struct consumer producer; /* the process of all producers */
    uint32_t process_count;
    uint32_t transactions_left;
    bool drained;
    bool ending;
};

/* ---- what fault points answer ------------------------------------------------------ */

static bool disturb(struct consumer *who, const char *what)
{
    history_disturbed(who->sim->history);
    history_note(who->sim->history, who->name, "%s", what);
    return true;
}

/* In steps: a process that dies meanwhile must leave the database. */
static void wait_long(struct consumer *who, struct weir_context *context)
{
    int64_t end_ns = weir_context_now(context) + timeline_up_to_ms(&who->sim->time, 2500);

    (void)disturb(who, "waits long for the database");
    while (weir_context_now(context) < end_ns &&
           !sim_process_is_dying(who->life.sim_process))
        weir_sleep_through(context, WEIR_MILLISECONDS(5));
}

/* A call of the database takes its time, and the process may end there; then it fails,
 * as every call after it until all is cut off. */
static bool decide_call(struct consumer *who)
{
    struct sim *sim = who->sim;
    struct weir_context *context = weir_context_current();

    if (context == NULL)
        return false;
    if (!who->life.crash && !sim_process_is_dying(who->life.sim_process) &&
        timeline_happens(&sim->time, SIM_CRASHES, 4000))
        who->life.crash = disturb(who, "crashes at a call of the database");
    if (timeline_happens(&sim->time, SIM_SLOW, 400))
        wait_long(who, context);
    else if (who->life.crash || sim_process_is_dying(who->life.sim_process) ||
             !timeline_one_in(&sim->time, 3))
        weir_sleep_through(context, timeline_up_to_ms(&sim->time, 1));
    if (who->life.crash || sim_process_is_dying(who->life.sim_process))
        return true;
    return timeline_happens(&sim->time, SIM_ERRORS, 400) &&
           disturb(who, "loses a connection");
}

static bool is_rare(const char *name)
{
    return strcmp(name, "partition_table.small_page") == 0 ||
           strcmp(name, "partition_table.small_batch") == 0 ||
           strcmp(name, "partition_table.forget") == 0;
}

static bool decide(void *argument, const char *name)
{
    struct consumer *who = argument;
    struct sim *sim = who->sim;

    if (strcmp(name, "db.lose") == 0)
        return decide_call(who);
    if (strcmp(name, "db.fail") == 0)
        return timeline_happens(&sim->time, SIM_ERRORS, 400) &&
               disturb(who, "is refused a call");
    if (strcmp(name, "db.busy") == 0)
        return sim_process_is_dying(who->life.sim_process) ||
               (timeline_happens(&sim->time, SIM_ERRORS, 50) &&
                disturb(who, "waits for no lock"));
    if (strcmp(name, "db.lose_after_commit") == 0)
        return timeline_happens(&sim->time, SIM_DOUBTS, 60) &&
               disturb(who, "loses a reply");
    if (strcmp(name, "sweep.small_window") == 0)
        return true;
    return is_rare(name) && timeline_happens(&sim->time, SIM_RARE, 6);
}

/* ---- producers --------------------------------------------------------------------- */

/* Wake the consumers, or not: they poll, too. */
static void spread_the_word(struct sim *self)
{
    for (uint32_t i = 0; i < self->plan->consumers; i++) {
        struct consumer *it = &self->consumers[i];

        if (it->outbox == NULL || it->life.resume_ns != 0 ||
            timeline_happens(&self->time, SIM_WAKES, 2))
            continue;
        sim_process_jump(it->life.sim_process, self->time.now_ns);
        weir_outbox_flush(it->outbox);
    }
}

static enum weir_status write_messages(struct sim *self, struct weir_context *context,
                                       struct weir_outbox *outbox,
                                       struct weir_connection *connection,
                                       uint32_t transaction)
{
    enum weir_status status = WEIR_OK;

    for (uint32_t left = 1 + timeline_below(&self->time, TRANSACTION_MAX);
         left > 0 && status == WEIR_OK; left--) {
        int32_t partition = (int32_t)timeline_below(&self->time, self->plan->partitions);
        uint32_t number = history_write(self->history, transaction, partition);
        struct weir_draft draft = {.route = weir_route_to_partition(partition),
                                   .type = "t",
                                   .payload = &number,
                                   .payload_size = sizeof number};

        status = weir_enqueue(outbox, connection, "q", &draft, NULL, NULL);
        if (timeline_one_in(&self->time, 4))
            weir_sleep_through(context, timeline_up_to_ms(&self->time, 40));
    }
    return status;
}

static void finish(struct sim *self, struct weir_connection *connection,
                   uint32_t transaction, enum weir_status status)
{
    struct history *history = self->history;

    if (status != WEIR_OK || timeline_one_in(&self->time, 6)) {
        weir_connection_rollback(connection);
        history_rolled_back(history, transaction);
        return;
    }
    history_commits(history, transaction);
    status = weir_connection_commit(connection, NULL);
    if (status == WEIR_OK)
        history_committed(history, transaction);
    else if (status == WEIR_IN_DOUBT)
        history_doubted(history, transaction);
    else
        history_rolled_back(history, transaction);
    history_note(history, "producer", "transaction %u: %s", transaction,
                 weir_status_text(status));
    spread_the_word(self);
}

static void produce_one(struct sim *self, struct weir_context *context,
                        struct weir_outbox *outbox)
{
    struct weir_connection *connection = NULL;
    uint32_t transaction;
    enum weir_status status;

    self->transactions_left--;
    if (weir_db_acquire(sim_process_db(self->producer.life.sim_process), &connection,
                        NULL) != WEIR_OK)
        return;
    transaction = history_begin(self->history);
    status = weir_connection_begin(connection, NULL);
    if (status == WEIR_OK)
        status = write_messages(self, context, outbox, connection, transaction);
    finish(self, connection, transaction, status);
    weir_db_release(sim_process_db(self->producer.life.sim_process), connection);
}

static struct weir_outbox *open_outbox(struct consumer *self,
                                       struct weir_context *context);

static void produce(struct sim_process *sim_process, struct weir_context *context,
                    uint32_t index, void *argument)
{
    struct sim *self = argument;
    struct weir_outbox *outbox = open_outbox(&self->producer, context);

    (void)sim_process;
    (void)index;
    while (outbox != NULL && self->transactions_left > 0) {
        produce_one(self, context, outbox);
        weir_sleep_through(context, timeline_up_to_ms(&self->time, 300));
    }
    weir_outbox_destroy(outbox);
}

/* ---- handlers ---------------------------------------------------------------------- */

static enum weir_outcome choose_answer(struct sim *self, struct weir_context *context,
                                       struct weir_reason *reason)
{
    weir_sleep_through(
        context,
        timeline_up_to_ms(&self->time, timeline_one_in(&self->time, 10) ? 60 : 4));
    if (timeline_happens(&self->time, SIM_HANDLERS, 60)) {
        history_disturbed(self->history);
        weir_sleep_through(context, LEASE_NS + timeline_up_to_ms(&self->time, 1000));
    }
    if (timeline_happens(&self->time, SIM_HANDLERS, 8))
        return weir_retry(reason, "told to");
    if (timeline_happens(&self->time, SIM_HANDLERS, 12))
        return weir_reject(reason, "told to");
    if (timeline_happens(&self->time, SIM_HANDLERS, 40)) {
        history_disturbed(self->history); /* a transaction is rolled back as a whole */
        weir_panic(context, "told to");
    }
    return WEIR_DONE;
}

static const char *const STREAM_NAMES[HISTORY_STREAMS] = {
    [STREAM_SINGLE] = "single",
    [STREAM_BATCH] = "batch",
    [STREAM_TRANSACTIONAL] = "transactional",
};

static uint32_t hear(struct service *self, const struct weir_message *message)
{
    struct consumer *who = self->consumer;
    uint32_t number =
        history_delivered(who->sim->history, self->stream, who->process, message);

    history_note(who->sim->history, who->name,
                 "gets %u: stream %d partition %d seq %lld epoch %lld", number,
                 self->stream, message->partition, (long long)message->seq,
                 (long long)message->epoch);
    return number;
}

static enum weir_outcome on_message(struct weir_context *context, void *state,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    struct service *self = state;
    struct sim *sim = self->consumer->sim;
    uint32_t number = hear(self, message);
    enum weir_outcome outcome = choose_answer(sim, context, reason);

    history_answered(sim->history, self->stream, number, outcome);
    return outcome;
}

static enum weir_outcome on_batch(struct weir_context *context, void *state,
                                  struct weir_batch *batch, struct weir_reason *reason)
{
    struct service *self = state;
    struct sim *sim = self->consumer->sim;
    const struct weir_message *message;

    while ((message = weir_batch_next(batch)) != NULL) {
        uint32_t number = hear(self, message);
        enum weir_outcome outcome = choose_answer(sim, context, reason);
        enum weir_status status = WEIR_OK;

        if (outcome == WEIR_RETRY)
            return outcome;
        history_answered(sim->history, self->stream, number, outcome);
        status = outcome == WEIR_DONE ? weir_batch_ack(batch, NULL)
                                      : weir_batch_reject(batch, "told to", NULL);
        if (status != WEIR_OK || weir_batch_stopped(batch))
            return weir_retry(reason, "told to stop");
    }
    return WEIR_DONE;
}

/* Its effect is a row, written in the transaction that acknowledges the message. */
static enum weir_outcome on_message_tx(struct weir_context *context, void *state,
                                       struct weir_connection *connection,
                                       const struct weir_message *message,
                                       struct weir_reason *reason)
{
    struct service *self = state;
    struct sim *sim = self->consumer->sim;
    uint32_t number = hear(self, message);
    char sql[64];
    enum weir_outcome outcome;

    (void)snprintf(sql, sizeof sql, "INSERT INTO effect VALUES (%u)", number);
    if (sqlite3_exec(weir_connection_native(connection), sql, NULL, NULL, NULL) !=
        SQLITE_OK)
        return weir_retry(reason, "no effect");
    outcome = choose_answer(sim, context, reason);
    history_answered(sim->history, self->stream, number, outcome);
    return outcome;
}

/* ---- consumers --------------------------------------------------------------------- */

static struct weir_outbox_options outbox_options(struct consumer *self)
{
    static struct weir_tuning lane;
    static struct weir_tuning sweep;
    struct weir_outbox_options options;

    lane = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_LANE);
    lane.batch = BATCH;
    lane.retry_base_ns = WEIR_MILLISECONDS(20);
    lane.retry_max_ns = WEIR_MILLISECONDS(200);
    sweep = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_SWEEP);
    sweep.idle_ns = WEIR_MILLISECONDS(500);
    weir_outbox_options_init(&options);
    options.db = sim_process_db(self->life.sim_process);
    options.executor = sim_process_executor(self->life.sim_process);
    options.process_name = self->name;
    options.profile = WEIR_PROFILE_LOW_LATENCY;
    options.tuning[WEIR_KIND_LANE] = &lane;
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    options.handlers = 3;
    options.stats_interval_ns = 0;
    return options;
}

static enum weir_status add_service(struct consumer *self, struct weir_outbox *outbox,
                                    int stream, struct weir_error *error)
{
    struct weir_handler_options options;

    self->services[stream] = (struct service){.consumer = self, .stream = stream};
    weir_handler_options_init(&options);
    options.queue = "q";
    options.subscription = STREAM_NAMES[stream];
    options.state = &self->services[stream];
    options.lease.duration_ns = LEASE_NS;
    options.lease.headroom_ns = HEADROOM_NS;
    if (stream == STREAM_TRANSACTIONAL)
        options.on_message_tx = on_message_tx;
    else if (stream == STREAM_BATCH)
        options.on_batch = on_batch;
    else
        options.on_message = on_message;
    return weir_outbox_add_handler(outbox, &options, error);
}

static enum weir_status fill_outbox(struct consumer *self, struct weir_outbox *outbox,
                                    struct weir_error *error)
{
    struct weir_queue_options queue;
    enum weir_status status;

    weir_queue_options_init(&queue);
    queue.name = "q";
    queue.partitions = (int32_t)self->sim->plan->partitions;
    status = weir_outbox_add_queue(outbox, &queue, error);
    if (self == &self->sim->producer)
        return status;
    weir_outbox_set_fault_points(outbox, sim_process_points(self->life.sim_process));
    for (uint32_t i = 0; i < self->sim->plan->streams && status == WEIR_OK; i++)
        status = add_service(self, outbox, (int)i, error);
    if (status == WEIR_OK)
        status = weir_outbox_start(outbox, error);
    return status;
}

/* An outbox that is complete: as a program would, it begins anew until that works. */
static struct weir_outbox *open_outbox(struct consumer *self,
                                       struct weir_context *context)
{
    struct weir_outbox_options options = outbox_options(self);

    for (;;) {
        struct weir_outbox *outbox = NULL;
        struct weir_error error;

        if (weir_outbox_create(&options, &outbox, &error) == WEIR_OK &&
            fill_outbox(self, outbox, &error) == WEIR_OK)
            return outbox;
        history_note(self->sim->history, self->name, "%s", error.text);
        weir_outbox_destroy(outbox);
        weir_sleep_through(context, LOOK_NS);
    }
}

static void look_whether_drained(struct consumer *self)
{
    struct sim *sim = self->sim;
    bool all = true;

    for (uint32_t i = 0; i < sim->plan->streams && all; i++) {
        bool drained = false;

        all = weir_outbox_read_drained(self->outbox, "q", STREAM_NAMES[i], &drained,
                                       NULL) == WEIR_OK &&
              drained;
    }
    sim->drained = sim->drained || all;
}

static void check_dead_letters(void *state, const struct weir_queue_info *info)
{
    struct sim *sim = state;
    int64_t least = 0;
    int64_t most = 0;

    for (uint32_t i = 0; i < sim->plan->streams; i++) {
        int64_t stream_least;
        int64_t stream_most;

        history_rejected(sim->history, (int)i, &stream_least, &stream_most);
        least += stream_least;
        most += stream_most;
    }
    if (info->dead_letters < least || info->dead_letters > most)
        history_violate(sim->history, "there are %lld dead letters, must be %lld to %lld",
                        (long long)info->dead_letters, (long long)least, (long long)most);
}

static void consume(struct sim_process *sim_process, struct weir_context *context,
                    uint32_t index, void *argument)
{
    struct consumer *self = argument;
    struct sim *sim = self->sim;
    struct weir_outbox *outbox = open_outbox(self, context);
    size_t unfinished;

    (void)sim_process;
    (void)index;
    self->outbox = outbox;
    history_note(sim->history, self->name, "runs");
    while (!sim->ending) {
        if (sim->time.healed && !sim->drained && self == &sim->consumers[0])
            look_whether_drained(self);
        weir_sleep_through(context, LOOK_NS);
    }
    if (self == &sim->consumers[0] && sim->drained &&
        weir_outbox_read_queue(outbox, "q", check_dead_letters, sim, NULL) != WEIR_OK)
        history_violate(sim->history, "the queue cannot be read");
    self->outbox = NULL;
    unfinished = weir_outbox_stop(outbox, WEIR_SECONDS(10));
    if (unfinished != 0)
        history_violate(sim->history, "%s leaves %zu workers behind", self->name,
                        unfinished);
    weir_outbox_destroy(outbox);
}

/* ---- processes come and go --------------------------------------------------------- */

static void boot(struct sim_life *life)
{
    struct consumer *self = (struct consumer *)life;
    struct sim *sim = self->sim;
    bool produces = self == &sim->producer;

    self->process = ++sim->process_count;
    self->life.boot_ns = WEIR_FOREVER;
    self->life.sim_process = sim_process_boot(&(struct sim_process_options){
        .name = self->name,
        .seed = weir_random_next(&sim->time.random),
        .now_ns = sim->time.now_ns,
        .url = sim->url,
        .oracle = decide,
        .oracle_argument = self,
        .main = produces ? produce : consume,
        .argument = produces ? (void *)sim : (void *)self,
        .mains = produces ? sim->plan->producers : 1,
    });
    sim_process_set_wall_error(self->life.sim_process, self->wall_error_us);
}

/* What its producers had not finished is undone, or in doubt. */
static void crash(struct sim_life *life)
{
    struct consumer *self = (struct consumer *)life;
    struct sim *sim = self->sim;

    self->life.crash = false;
    self->life.resume_ns = 0;
    self->stood_ns = 0;
    sim_process_crash(self->life.sim_process);
    self->life.sim_process = NULL;
    self->outbox = NULL;
    self->life.boot_ns = sim->time.now_ns + timeline_up_to_ms(&sim->time, 3000);
    if (self == &sim->producer) {
        for (uint32_t i = 0; i < history_transactions(sim->history); i++)
            history_doubted(sim->history, i);
    }
}

static void end(struct sim_life *life)
{
    struct consumer *self = (struct consumer *)life;
    int64_t left = sim_process_end(self->life.sim_process);

    if (left != 0)
        history_violate(self->sim->history, "%s has not freed %lld blocks", self->name,
                        (long long)left);
    self->life.sim_process = NULL;
}

static void resume(struct sim_life *life)
{
    struct consumer *self = (struct consumer *)life;
    history_note(self->sim->history, self->name, "goes on");
    self->life.resume_ns = 0;
    sim_process_jump(self->life.sim_process, self->sim->time.now_ns);
    sim_process_jump_boot(self->life.sim_process, -self->stood_ns);
    self->stood_ns = 0;
}

/* ---- time -------------------------------------------------------------------------- */

static struct consumer *everybody(struct sim *self, uint32_t index)
{
    return index < self->plan->consumers ? &self->consumers[index] : &self->producer;
}

static void pause_somebody(struct sim *self, struct consumer *who)
{
    int64_t most_ms = timeline_one_in(&self->time, 2) ? 300 : 3 * LEASE_NS / 1000000;

    if (who->life.resume_ns != 0)
        return;
    who->life.resume_ns =
        self->time.now_ns + timeline_up_to_ms(&self->time, (uint32_t)most_ms);
    (void)disturb(who, "stands still");
}

/* A virtual machine is paused: neither clock of the process sees it. Or a host was
 * suspended for less than a moment of the others, and only the clock for leases tells. */
static void suspend_somebody(struct sim *self, struct consumer *who)
{
    int64_t duration_ns =
        timeline_up_to_ms(&self->time, (uint32_t)(3 * LEASE_NS / 1000000));

    if (who->life.resume_ns != 0)
        return;
    (void)disturb(who, "is suspended");
    if (timeline_one_in(&self->time, 3)) {
        sim_process_jump_boot(who->life.sim_process, duration_ns);
    } else {
        who->life.resume_ns = self->time.now_ns + duration_ns;
        who->stood_ns = duration_ns;
    }
}

static void turn_a_clock(struct sim *self, struct consumer *who)
{
    int64_t limit_us = 20 * LEASE_NS / 1000;

    who->wall_error_us =
        (int64_t)timeline_below(&self->time, (uint32_t)(2 * limit_us)) - limit_us;
    sim_process_set_wall_error(who->life.sim_process, who->wall_error_us);
    (void)disturb(who, "has another wall clock");
}

/* Something happens to one of the processes. */
static void strike(struct timeline *timeline)
{
    struct sim *self = (struct sim *)timeline;
    struct consumer *who =
        everybody(self, timeline_below(&self->time, self->plan->consumers + 1));

    self->time.chaos_ns = self->time.now_ns + timeline_up_to_ms(&self->time, 1200);
    if (who->life.sim_process == NULL)
        return;
    if (timeline_happens(&self->time, SIM_PAUSES, 2))
        pause_somebody(self, who);
    else if (timeline_happens(&self->time, SIM_CLOCKS, 3))
        turn_a_clock(self, who);
    else if (timeline_happens(&self->time, SIM_SUSPENSIONS, 2))
        suspend_somebody(self, who);
    else if (timeline_happens(&self->time, SIM_CRASHES, 2) && who->life.resume_ns == 0) {
        (void)disturb(who, "crashes");
        crash(&who->life);
    }
}

static bool all_written(const struct sim *self)
{
    return self->transactions_left == 0 && self->producer.life.sim_process == NULL;
}

/* ---- the three phases -------------------------------------------------------------- */

static bool fine(const struct sim *self)
{
    return history_violation(self->history)[0] == '\0';
}

static void live_in_chaos(struct sim *self)
{
    int64_t limit_ns = WEIR_MINUTES(30);

    while (fine(self) && !all_written(self) && timeline_step(&self->time, limit_ns))
        ;
    if (fine(self) && !all_written(self))
        history_violate(self->history, "the producers do not come to an end");
    limit_ns = self->time.now_ns + timeline_up_to_ms(&self->time, 3000);
    while (fine(self) && timeline_step(&self->time, limit_ns) &&
           self->time.now_ns < limit_ns)
        ;
}

static void heal(struct sim *self)
{
    int64_t limit_ns = self->time.now_ns + HEAL_MAX_NS;

    history_note(self->history, "world", "heals");
    timeline_heal(&self->time);
    for (uint32_t i = 0; i < self->plan->consumers; i++) {
        struct consumer *it = &self->consumers[i];

        it->wall_error_us = 0;
        if (it->life.sim_process != NULL)
            sim_process_set_wall_error(it->life.sim_process, 0);
        timeline_revive(&self->time, &it->life);
    }
    while (fine(self) && !self->drained && timeline_step(&self->time, limit_ns))
        ;
    if (fine(self) && !self->drained)
        history_violate(self->history, "something still waits long after all is well");
}

static void end_all(struct sim *self)
{
    int64_t limit_ns = self->time.now_ns + END_MAX_NS;

    history_note(self->history, "world", "ends");
    self->ending = true;
    while (fine(self) && !timeline_all_ended(&self->time, self->plan->consumers) &&
           timeline_step(&self->time, limit_ns))
        ;
    if (fine(self) && !timeline_all_ended(&self->time, self->plan->consumers))
        history_violate(self->history, "a process does not stop");
}

/* ---- the database ------------------------------------------------------------------ */

/* Migrated once; each world begins with a copy. */
static const char *template_path(void)
{
    static char path[TEMP_DIR_SIZE + 16];
    sqlite3 *handle = NULL;

    if (path[0] != '\0')
        return path;
    (void)snprintf(path, sizeof path, "%s/world", temp_dir_of_program());
    migrated_file_make(path, false);
    check(sqlite3_open(path, &handle) == SQLITE_OK);
    check(sqlite3_exec(handle, "CREATE TABLE effect (message)", NULL, NULL, NULL) ==
          SQLITE_OK);
    (void)sqlite3_close(handle);
    return path;
}

static void make_database(struct sim *self)
{
    (void)snprintf(self->path, sizeof self->path, "%s/w", temp_dir_of_program());
    (void)snprintf(self->url, sizeof self->url, "sqlite:%s", self->path);
    sqlite_file_copy(template_path(), self->path);
}

/* ---- effects ----------------------------------------------------------------------- */

static int count_effect(void *state, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    history_effect(state, (uint32_t)strtoul(values[0], NULL, 10));
    return 0;
}

/* What the transactional handlers wrote. */
static void read_effects(struct sim *self)
{
    sqlite3 *handle = NULL;

    check(sqlite3_open(self->path, &handle) == SQLITE_OK);
    check(sqlite3_exec(handle, "SELECT message FROM effect", count_effect, self->history,
                       NULL) == SQLITE_OK);
    (void)sqlite3_close(handle);
    history_judge_effects(self->history, STREAM_TRANSACTIONAL);
}

/* ---- a whole world ----------------------------------------------------------------- */

static void make_processes(struct sim *self)
{
    for (uint32_t i = 0; i <= self->plan->consumers; i++) {
        struct consumer *it = everybody(self, i);

        it->sim = self;
        timeline_add(&self->time, &it->life);
        it->life.boot_ns = timeline_up_to_ms(&self->time, 200);
        (void)snprintf(it->name, sizeof it->name,
                       i < self->plan->consumers ? "consumer-%u" : "producer", i);
    }
}

static void clean_up(struct sim *self)
{
    timeline_cut_off(&self->time);
    sqlite_file_remove(self->path);
    history_destroy(self->history);
}

void sim_run(const struct plan *plan, bool loud, bool tell, struct sim_outcome *out)
{
    struct sim sim = {.time = {.faults = plan->faults,
                               .boot = boot,
                               .crash = crash,
                               .end = end,
                               .resume = resume,
                               .strike = strike},
                      .plan = plan,
                      .transactions_left = plan->transactions};

    memset(out, 0, sizeof *out);
    weir_random_init(&sim.time.random, plan->seed);
    sim.history = history_create(plan->transactions * TRANSACTION_MAX + TRANSACTION_MAX,
                                 BATCH, &sim.time.now_ns, loud);
    make_database(&sim);
    make_processes(&sim);
    live_in_chaos(&sim);
    if (fine(&sim))
        heal(&sim);
    if (fine(&sim))
        end_all(&sim);
    if (fine(&sim) && plan->streams > STREAM_TRANSACTIONAL)
        read_effects(&sim);
    if (fine(&sim))
        history_judge(sim.history, (int)plan->streams, &out->stats);
    (void)snprintf(out->violation, sizeof out->violation, "%s",
                   history_violation(sim.history));
    out->fingerprint = history_fingerprint(sim.history);
    out->virtual_ns = sim.time.now_ns;
    if (tell && !loud && !fine(&sim))
        history_print(sim.history);
    clean_up(&sim);
}
