/*
 * bench.c - `weir bench`: how fast this database is with the library, and how fast it
 * answers.
 *
 *   add queue --> enqueue without delivery --> subscribe, start --> end to end --+
 *                                                                                |
 *   report <-- sweep <-- remove queue <-- stop <-- one by one <------------------+
 *
 * The queue is the bench's own and is removed whatever happens in between; only a
 * program that is killed leaves it behind, and the next bench names it. The
 * subscription begins behind what was enqueued without delivery, so each
 * measurement has its own messages.
 */
#include "cli/bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/noun.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "db/clock.h"
#include "outbox/outbox.h"
#include "weir/inspect.h"

enum {
    MESSAGES_MAX = 1000000000,
    BATCH_MAX = 10000,
    HANDLERS_MAX = 512,
    SECONDS_MAX = 86400,
    BATCH_SIZE_MAX = 64 << 20, /* bytes of payload in a transaction */
    QUEUE_SIZE = 48
};

#define QUEUE_PREFIX "weir-bench-"
#define LOOK_NS WEIR_MILLISECONDS(20) /* how often progress and signals are looked at */
#define ANSWER_LOOK_NS WEIR_MILLISECONDS(1)
#define SETTLE_NS WEIR_MILLISECONDS(300) /* acks and sweep of what came before */
#define GRACE WEIR_SECONDS(10)
#define SWEEP_NS_MAX WEIR_SECONDS(10)

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION(0, "messages", "N", "per measurement; default 50000",
                WEIR_AS_NUMBER(struct weir_bench_plan, messages, 1, MESSAGES_MAX)),
    WEIR_OPTION(0, "batch", "N", "per transaction, 1 to 10000; default 100",
                WEIR_AS_NUMBER(struct weir_bench_plan, batch, 1, BATCH_MAX)),
    WEIR_OPTION(0, "size", "BYTES", "of a payload, 16 to 16777216; default 200",
                WEIR_AS_NUMBER(struct weir_bench_plan, size,
                               sizeof(struct weir_bench_mark), WEIR_PAYLOAD_SIZE_MAX)),
    WEIR_OPTION(
        0, "producers", "N", "threads that enqueue, 1 to 64; default 1",
        WEIR_AS_NUMBER(struct weir_bench_plan, producers, 1, WEIR_BENCH_PRODUCERS_MAX)),
    WEIR_OPTION(0, "handlers", "N", "calls at once, 1 to 512; default 4",
                WEIR_AS_NUMBER(struct weir_bench_plan, handlers, 1, HANDLERS_MAX)),
    WEIR_OPTION(0, "seconds", "N", "limit of each measurement; default 30",
                WEIR_AS_NUMBER(struct weir_bench_plan, seconds, 1, SECONDS_MAX)),
};

const struct weir_command weir_cli_bench = {
    .name = "bench",
    .summary = "measure how fast this database is",
    .usage = "[OPTION...]",
    .details =
        "Measures on the database of --db, in a queue of its own that is removed\n"
        "at the end, also after Ctrl-C:\n"
        "\n"
        "  enqueue      messages per second without delivery\n"
        "  end to end   ... from the first enqueue to the last call of a handler\n"
        "               that does nothing\n"
        "  latency      from the commit of a message to the call, when all is idle\n"
        "\n"
        "The order of messages is verified. What a commit costs depends on settings\n"
        "of the database, so these are printed as well. The database should have\n"
        "little else to do meanwhile.\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

struct bench {
    struct weir_session session;
    struct weir_bench_plan plan;
    struct weir_progress progress;
    char queue[QUEUE_SIZE];
    struct weir_bench_tally tally;
    struct weir_bench_stats stats;
};

/* ---- options ----------------------------------------------------------------------- */

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct weir_bench_plan *plan)
{
    int code = weir_command_parse(self, argc, argv, plan, sizeof *plan);

    if (code < 0 && plan->batch * plan->size > BATCH_SIZE_MAX)
        code = weir_command_misuse(self,
                                   "--batch %zu of --size %zu are %zu %s per "
                                   "transaction, must be at most %d",
                                   plan->batch, plan->size, plan->batch * plan->size,
                                   WEIR_NOUN(plan->batch * plan->size, "byte", "bytes"),
                                   BATCH_SIZE_MAX);
    return code;
}

/* ---- the queue --------------------------------------------------------------------- */

static void tell_left_over(void *state, const char *name)
{
    const struct bench *self = state;

    if (strncmp(name, QUEUE_PREFIX, strlen(QUEUE_PREFIX)) == 0)
        weir_command_note(self->session.command,
                          "queue '%s' is of a bench that runs, or was killed; "
                          "then 'weir queue remove %s --force' removes it",
                          name, name);
}

static enum weir_status make_queue(struct bench *self, struct weir_error *error)
{
    struct weir_queue_options options;
    enum weir_status status = WEIR_OK;

    if (!self->session.shared.quiet)
        status = weir_outbox_read_queue_names(self->session.outbox, tell_left_over, self,
                                              error);
    weir_text_format(self->queue, sizeof self->queue, QUEUE_PREFIX "%012" PRIx64,
                     weir_clock_random() >> 16);
    weir_queue_options_init(&options);
    options.name = self->queue;
    options.partitions = WEIR_BENCH_PARTITIONS;
    if (status == WEIR_OK)
        status = weir_outbox_add_queue(self->session.outbox, &options, error);
    return status;
}

/* What is left in the log has no reader by now: leave it to no other process. */
static void sweep(struct bench *self)
{
    const struct weir_outbox_log *log = &self->session.outbox->log;
    struct weir_sweep_state state = {.cursor = 0};
    struct weir_sweep_report report = {.more = true};
    int64_t end_ns = weir_clock_now_ns() + SWEEP_NS_MAX;
    enum weir_status status = WEIR_OK;

    while (report.more && status == WEIR_OK && weir_clock_now_ns() < end_ns)
        status = log->ops->sweep(log, self->session.db, &state, &report, NULL);
}

static int remove_queue(struct bench *self)
{
    struct weir_error error = {0};

    if (weir_outbox_remove_queue(self->session.outbox, self->queue, true, &error) !=
        WEIR_OK)
        return weir_command_fail(self->session.command,
                                 "%s; 'weir queue remove %s --force' removes what is "
                                 "left of the bench",
                                 error.text, self->queue);
    sweep(self);
    return WEIR_EXIT_DONE;
}

/* ---- delivery ---------------------------------------------------------------------- */

static enum weir_status start_delivery(struct bench *self, struct weir_error *error)
{
    struct weir_handler_options handler;
    enum weir_status status;

    weir_handler_options_init(&handler);
    handler.queue = self->queue;
    handler.start = WEIR_START_NOW;
    handler.on_message = weir_bench_tally_take;
    handler.state = &self->tally;
    status = weir_outbox_add_handler(self->session.outbox, &handler, error);
    if (status != WEIR_OK)
        return status;
    weir_interrupt_withhold();
    status = weir_outbox_start(self->session.outbox, error);
    weir_interrupt_admit();
    return status;
}

/* ---- measuring --------------------------------------------------------------------- */

static bool interrupted(void)
{
    return !weir_interrupt_wait(0);
}

static void begin_progress(struct bench *self, struct weir_noun what, int64_t whole)
{
    weir_progress_begin(&self->progress, what, whole,
                        self->session.shared.quiet ? WEIR_PROGRESS_OFF
                                                   : WEIR_PROGRESS_ON_TERMINAL);
}

static enum weir_status measure_enqueue(struct bench *self, struct weir_error *error)
{
    struct weir_bench_load load;
    enum weir_status status = weir_bench_load_open(&load, self->session.outbox,
                                                   self->queue, &self->plan, error);

    if (status == WEIR_OK)
        status = weir_bench_load_start(&load, error);
    if (status == WEIR_OK) {
        begin_progress(self, (struct weir_noun){"message enqueued", "messages enqueued"},
                       self->plan.messages);
        while (atomic_load(&load.running) > 0 &&
               weir_progress_elapsed_ns(&self->progress) <
                   WEIR_SECONDS(self->plan.seconds) &&
               weir_interrupt_wait(LOOK_NS))
            weir_progress_note(&self->progress, atomic_load(&load.sent),
                               atomic_load(&load.sent));
        status = weir_bench_load_stop(&load, error);
        weir_progress_end(&self->progress);
        self->stats.enqueue = (struct weir_bench_rate){
            .count = atomic_load(&load.sent),
            .elapsed_ns = atomic_load(&load.ended_ns) - load.begun_ns,
        };
    }
    weir_bench_load_close(&load);
    return status;
}

/* Until everything that was sent has been delivered, or the time is over. */
static void watch_delivery(struct bench *self, const struct weir_bench_load *load,
                           int64_t limit_ns)
{
    const _Atomic int64_t *delivered = &self->tally.delivered;

    while ((atomic_load(&load->running) > 0 ||
            atomic_load(delivered) < atomic_load(&load->sent)) &&
           !atomic_load(&load->failed) &&
           weir_progress_elapsed_ns(&self->progress) < limit_ns &&
           weir_interrupt_wait(LOOK_NS))
        weir_progress_note(&self->progress, atomic_load(delivered),
                           atomic_load(delivered));
}

/* Producers stop when the time is over; what they have sent may take as long again. */
static enum weir_status measure_through(struct bench *self, struct weir_bench_load *load,
                                        struct weir_error *error)
{
    enum weir_status status = weir_bench_load_start(load, error);

    if (status != WEIR_OK)
        return status;
    begin_progress(self, (struct weir_noun){"message end to end", "messages end to end"},
                   self->plan.messages);
    watch_delivery(self, load, WEIR_SECONDS(self->plan.seconds));
    status = weir_bench_load_stop(load, error);
    if (status == WEIR_OK)
        watch_delivery(self, load, 2 * WEIR_SECONDS(self->plan.seconds));
    weir_progress_end(&self->progress);
    self->stats.through = (struct weir_bench_rate){
        .count = atomic_load(&self->tally.delivered),
        .elapsed_ns = atomic_load(&self->tally.last_ns) - load->begun_ns,
    };
    self->stats.undelivered =
        atomic_load(&load->sent) - atomic_load(&self->tally.delivered);
    return status;
}

/* Send one message, wait for its call; false: there is no time left, or it failed. */
static bool measure_one(struct bench *self, struct weir_bench_load *load,
                        enum weir_status *status, struct weir_error *error)
{
    int64_t sent_ns, taken_ns;

    if (!weir_interrupt_wait(LOOK_NS))
        return false;
    *status = weir_bench_load_send_one(load, error);
    sent_ns = weir_clock_now_ns();
    if (*status != WEIR_OK)
        return false;
    while (atomic_load(&self->tally.delivered) < atomic_load(&load->sent)) {
        if (weir_progress_elapsed_ns(&self->progress) >
                WEIR_SECONDS(self->plan.seconds) ||
            !weir_interrupt_wait(ANSWER_LOOK_NS))
            return false;
    }
    taken_ns = atomic_load(&self->tally.last_ns) - sent_ns;
    /* A call may come before the commit has returned here. */
    self->stats.latencies_ns[self->stats.latency_count++] = taken_ns > 0 ? taken_ns : 0;
    return true;
}

static int compare_ns(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static enum weir_status measure_latency(struct bench *self, struct weir_bench_load *load,
                                        struct weir_error *error)
{
    size_t wanted = self->plan.messages < WEIR_BENCH_LATENCIES_MAX
                        ? (size_t)self->plan.messages
                        : WEIR_BENCH_LATENCIES_MAX;
    struct weir_bench_stats *stats = &self->stats;
    enum weir_status status = WEIR_OK;

    if (stats->undelivered > 0 || !weir_interrupt_wait(SETTLE_NS))
        return WEIR_OK;
    begin_progress(self, (struct weir_noun){"message one by one", "messages one by one"},
                   (int64_t)wanted);
    while (stats->latency_count < wanted && measure_one(self, load, &status, error))
        weir_progress_note(&self->progress, (int64_t)stats->latency_count,
                           (int64_t)stats->latency_count);
    weir_progress_end(&self->progress);
    qsort(stats->latencies_ns, stats->latency_count, sizeof stats->latencies_ns[0],
          compare_ns);
    return status;
}

static enum weir_status measure_delivery(struct bench *self, struct weir_error *error)
{
    struct weir_bench_load load;
    enum weir_status status = weir_bench_load_open(&load, self->session.outbox,
                                                   self->queue, &self->plan, error);

    if (status == WEIR_OK)
        status = start_delivery(self, error);
    if (status == WEIR_OK)
        status = measure_through(self, &load, error);
    if (status == WEIR_OK)
        status = measure_latency(self, &load, error);
    weir_bench_load_close(&load);
    self->stats.disorder = atomic_load(&self->tally.disorder);
    self->stats.repeated = atomic_load(&self->tally.repeated);
    return status;
}

static enum weir_status measure(struct bench *self, struct weir_error *error)
{
    enum weir_status status =
        weir_bench_settings_read(&self->stats.settings, self->session.db, error);

    if (status == WEIR_OK)
        status = measure_enqueue(self, error);
    if (status == WEIR_OK && !interrupted())
        status = measure_delivery(self, error);
    return status;
}

/* ---- the end ----------------------------------------------------------------------- */

static int bench(struct bench *self)
{
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;
    int removed;

    if (weir_interrupt_listen(&error) != WEIR_OK)
        return weir_session_fail(&self->session, &error, NULL);
    weir_interrupt_admit();
    if (make_queue(self, &error) != WEIR_OK)
        return weir_session_fail(&self->session, &error, NULL);
    if (measure(self, &error) != WEIR_OK)
        code = weir_session_fail(&self->session, &error, NULL);
    (void)weir_outbox_stop(self->session.outbox, GRACE);
    removed = remove_queue(self);
    if (code == WEIR_EXIT_DONE)
        code = removed;
    if (code == WEIR_EXIT_DONE && interrupted())
        code = weir_command_fail(self->session.command,
                                 "interrupted; its queue '%s' is removed", self->queue);
    return code == WEIR_EXIT_DONE
               ? weir_bench_report(&self->session, &self->plan, &self->stats)
               : code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct bench state = {
        .plan =
            {
                .messages = 50000,
                .batch = 100,
                .size = 200,
                .producers = 1,
                .handlers = 4,
                .seconds = 30,
            },
    };
    int code = parse(self, argc, argv, &state.plan);

    if (code >= 0)
        return code;
    code = weir_session_open(&state.session, self, WEIR_SESSION_OUTBOX,
                             &(struct weir_session_wishes){
                                 .payload_size_max = state.plan.size,
                                 .handlers = state.plan.handlers,
                                 .producers = state.plan.producers,
                                 .profile = WEIR_BENCH_PROFILE,
                             });
    if (code == WEIR_EXIT_DONE)
        code = bench(&state);
    weir_session_close(&state.session);
    return code;
}
