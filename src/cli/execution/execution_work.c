/*
 * execution_work.c - `weir work`: a worker whose handler is a process, and a supervisor
 * beside it.
 *
 * The main thread works on nothing. It looks after both, and with --drain asks the
 * database whether anything is left whenever the worker has nothing to do.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/noun.h"
#include "base/text.h"
#include "cli/execution/execution_claimant.h"
#include "cli/execution/execution_exec.h"
#include "cli/execution/execution_left.h"
#include "cli/execution/execution_supervision.h"
#include "cli/execution/execution_words.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/reply.h"
#include "db/clock.h"
#include "view/execution_info_records.h"
#include "view/execution_text.h"
#include "weir/heap.h"

enum {
    JSON_SIZE_MAX = 1 << 20,
};

#define LOOK_PERIOD WEIR_MILLISECONDS(50)
#define ASK_PERIOD WEIR_SECONDS(5)

/* With --drain: how often at most, and a share of the time that may be spent on
 * asking. */
#define DRAIN_PERIOD WEIR_MILLISECONDS(200)
enum { DRAIN_SHARE = 10 };

/* With --drain: nothing was done for so long, and something is left. */
#define STUCK_AFTER WEIR_SECONDS(5)

#define DELAY_MS_DEFAULT (WEIR_SECONDS(10) / WEIR_MILLISECONDS(1))

/* What remains for the reconcilers, which take a moment, when the worker has used up
 * the grace. */
#define SUPERVISOR_GRACE WEIR_SECONDS(1)

static int run(const struct weir_command *self, int argc, char **argv);

struct work_call {
    struct weir_execution_session session;
    struct weir_execution_claimant claimant;
    struct weir_execution_exec exec;
    struct weir_execution_supervision supervision;
    struct weir_execution_worker *worker;
    int64_t concurrency, prefetch, partitions; /* 0: the library's default */
    int64_t grace_ns;
    bool drain;
    bool no_supervise;

    struct weir_execution_worker_stats stats;
    struct weir_progress progress;
    struct weir_trouble database;
    int64_t ask_ns; /* when to ask the database again */
    bool drained;
    struct weir_execution_left left; /* with --drain: what is left */
    bool told_left;                  /* and that was reported */
    int64_t done_before, done_ns;    /* how much was done, and since when it is no more */
    size_t unfinished;
    int64_t elapsed_ns;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('x', "exec", "COMMAND", "a process for each, see above; needed",
                WEIR_AS_TEXT(struct work_call, exec.command)),
    WEIR_EXECUTION_CLAIMANT_OPTIONS(struct work_call),
    WEIR_OPTION(
        'c', "concurrency", "N", "processes at once, 1 to 512; default 4",
        WEIR_AS_NUMBER(struct work_call, concurrency, 1, WEIR_EXECUTION_PERMITS_MAX)),
    WEIR_OPTION(
        0, "prefetch", "N", "claimed beyond these, up to 512; default 0",
        WEIR_AS_NUMBER(struct work_call, prefetch, 0, WEIR_EXECUTION_PREFETCH_MAX)),
    WEIR_OPTION(
        0, "delay", "D", "of exit code 75; default 10s",
        WEIR_AS_MS(struct work_call, exec.delay_ms, 0, WEIR_EXECUTION_DURATION_MS_MAX)),
    WEIR_OPTION('d', "drain", NULL, "end when nothing or only suspended work is left",
                WEIR_AS_FLAG(struct work_call, drain)),
    WEIR_GRACE_OPTION(struct work_call, grace_ns),
    WEIR_OPTION(0, "no-supervise", NULL, "only work: others supervise",
                WEIR_AS_FLAG(struct work_call, no_supervise)),
    WEIR_EXECUTION_RETENTION_OPTION(struct work_call),
    WEIR_PARTITIONS_OPTION(struct work_call, partitions),
};

const struct weir_command weir_cli_work = {
    .name = "work",
    .summary = "run a process for each execution of some lanes",
    .usage = "--lane LANE --exec COMMAND [OPTION...]",
    .details =
        "COMMAND is run by the shell, with the input on standard input. The\n"
        "environment says more: WEIR_ID, WEIR_KIND, WEIR_NAME, WEIR_LANE,\n"
        "WEIR_NAMESPACE, WEIR_ATTEMPT (from 0), WEIR_ATTEMPT_TYPE, WEIR_EPOCH,\n"
        "WEIR_TAGS (JSON), WEIR_DB, WEIR_PREFIX, and WEIR_TOKEN for\n"
        "'weir execution progress'. How it ends is what became of it:\n"
        "\n"
        "  exit code 0    completed; standard output is the result, up to 1 MiB\n"
        "  exit code 75   delayed, for --delay\n"
        "  exit code 65   failed for good\n"
        "  any other      failed, and tried again while retries are left; the last\n"
        "                 line on standard error is the reason\n"
        "\n"
        "Leases are renewed meanwhile. A process whose claim is lost all the same, or\n"
        "whose time limit is over, gets SIGTERM and then SIGKILL. The reconcilers of\n"
        "'weir supervise' run too, unless --no-supervise is given.\n"
        "\n"
        "SIGTERM and Ctrl-C stop it cleanly: nothing new is begun, what runs\n"
        "gets the grace, what does not end is given back; a second one ends it at\n"
        "once. The summary is printed on standard error, with --json on standard\n"
        "output.\n"
        "\n"
        "  weir work --lane mail --exec ./send-mail\n"
        "  weir work --lane cpu --exec 'convert - -resize 50% png:-' -c 8\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

/* ---- options ----------------------------------------------------------------------- */

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct work_call *out)
{
    const char *command;
    int code = weir_command_parse(self, argc, argv, out, sizeof *out);

    if (code >= 0)
        return code;
    command = out->exec.command;
    code = weir_execution_claimant_check(&out->claimant, self);
    if (code == WEIR_EXIT_DONE &&
        (command == NULL || command[strspn(command, " \t\r\n")] == '\0'))
        code = weir_command_misuse(self, "what is to be run? --exec COMMAND is needed");
    return code == WEIR_EXIT_DONE ? -1 : code;
}

/* ---- beginning --------------------------------------------------------------------- */

static enum weir_status start_worker(struct work_call *self, struct weir_error *error)
{
    struct weir_execution_worker_options options;
    enum weir_status status;

    weir_execution_worker_options_init(&options);
    options.executions = self->session.executions;
    options.claim = self->claimant.options;
    if (self->concurrency > 0)
        options.permits = (uint32_t)self->concurrency;
    options.prefetch = (uint32_t)self->prefetch;
    status = weir_execution_worker_create(&options, &self->worker, error);
    if (status == WEIR_OK)
        status = weir_execution_worker_add(self->worker, NULL, weir_execution_exec_run,
                                           &self->exec, error);
    if (status == WEIR_OK)
        status = weir_execution_worker_start(self->worker, error);
    return status;
}

static enum weir_status start(struct work_call *self, struct weir_error *error)
{
    enum weir_status status = weir_interrupt_listen(error);

    if (status == WEIR_OK && !self->no_supervise)
        status = weir_execution_supervision_start(&self->supervision,
                                                  self->session.executions, error);
    if (status == WEIR_OK)
        status = start_worker(self, error);
    weir_interrupt_admit();
    return status;
}

/* ---- while it runs ----------------------------------------------------------------- */

/* Executions that have ended here; whatever was claimed of them before is no other
 * execution. */
static uint64_t ended_so_far(const struct work_call *self)
{
    return self->stats.completed + self->stats.failed + self->stats.cancelled;
}

/* Answers of any kind: something happens. */
static int64_t done_so_far(const struct work_call *self)
{
    const struct weir_execution_worker_stats *stats = &self->stats;

    return (int64_t)(ended_so_far(self) + stats->retried + stats->delayed +
                     stats->suspended);
}

static bool is_idle(const struct work_call *self)
{
    return self->stats.waiting + self->stats.running + self->stats.settling == 0;
}

/* Once, when nothing has been done for a while: why it does not end. */
static void tell_left(struct work_call *self, const struct weir_execution_left *left)
{
    int64_t now_ns = weir_clock_now_ns();

    if (done_so_far(self) != self->done_before) {
        self->done_before = done_so_far(self);
        self->done_ns = now_ns;
    }
    if (self->told_left || now_ns - self->done_ns < STUCK_AFTER)
        return;
    self->told_left = true;
    weir_progress_end(&self->progress);
    weir_command_note(self->session.session.command, "still left: %s", left->text);
}

static enum weir_status read_drained(struct work_call *self, struct weir_error *error)
{
    const struct weir_claim_options *claim = &self->claimant.options;
    struct weir_execution_left *left = &self->left;
    enum weir_status status =
        weir_execution_session_read_clock(&self->session, &left->now_us, error);

    if (status == WEIR_OK)
        status = weir_execution_left_read(self->session.executions, claim->lanes,
                                          claim->lane_count, left, error);
    self->drained = status == WEIR_OK && !left->moves;
    if (status == WEIR_OK && left->moves)
        tell_left(self, left);
    return status;
}

/* Whether it is there, and with --drain whether anything is left. */
static void ask_database(struct work_call *self)
{
    int64_t begin_ns = weir_clock_now_ns();
    int64_t took_ns, now_us;
    struct weir_error error = {0};
    enum weir_status status =
        self->drain ? read_drained(self, &error)
                    : weir_execution_session_read_clock(&self->session, &now_us, &error);

    switch (weir_trouble_note(&self->database, status == WEIR_OK ? NULL : error.text,
                              weir_clock_now_ns())) {
    case WEIR_TROUBLE_BEGINS:
        weir_progress_end(&self->progress);
        weir_command_note(self->session.session.command, "%s; trying again", error.text);
        break;
    case WEIR_TROUBLE_ENDS:
        weir_progress_end(&self->progress);
        weir_command_note(self->session.session.command, "the database works again");
        break;
    case WEIR_TROUBLE_NO_NEWS:
        break;
    }
    took_ns = weir_clock_now_ns() - begin_ns;
    self->ask_ns = begin_ns + ASK_PERIOD;
    if (self->drain)
        self->ask_ns = begin_ns + DRAIN_PERIOD + DRAIN_SHARE * took_ns;
}

/* Returns whether to go on. */
static bool look(struct work_call *self)
{
    weir_execution_worker_read(self->worker, &self->stats);
    weir_progress_note(&self->progress, (int64_t)ended_so_far(self), 0);
    weir_execution_supervision_watch(&self->supervision);
    if (weir_clock_now_ns() >= self->ask_ns && (!self->drain || is_idle(self)) &&
        (self->drain || self->no_supervise)) /* a supervisor asks by itself */
        ask_database(self);
    return !self->drained;
}

static void watch(struct work_call *self)
{
    weir_progress_begin(&self->progress, (struct weir_noun){"execution", "executions"}, 0,
                        self->session.session.shared.quiet ? WEIR_PROGRESS_OFF
                                                           : WEIR_PROGRESS_ON_TERMINAL);
    while (look(self) && weir_interrupt_wait(LOOK_PERIOD))
        ;
}

/* ---- the end ----------------------------------------------------------------------- */

static void stop(struct work_call *self)
{
    weir_progress_end(&self->progress);
    if (self->progress.shown && !self->drained)
        weir_command_note(self->session.session.command,
                          "stopping; again ends it at once");
    self->unfinished = weir_execution_worker_stop(self->worker, self->grace_ns);
    (void)weir_execution_supervision_stop(&self->supervision, SUPERVISOR_GRACE);
    weir_execution_worker_read(self->worker, &self->stats);
    self->elapsed_ns = weir_progress_elapsed_ns(&self->progress);
}

static int tell_json(const struct work_call *self)
{
    const struct weir_worked row = {
        .lanes = self->claimant.lanes,
        .lane_count = self->claimant.options.lane_count,
        .ended = ended_so_far(self),
        .stats = self->stats,
        .elapsed_ns = self->elapsed_ns,
        .drained = self->drained,
        .left_suspended = self->drained ? (int64_t)self->left.suspended : -1,
        .left_behind = self->drained ? (int64_t)self->left.behind : -1,
        .unfinished = self->unfinished,
        .reconcilers = self->no_supervise ? NULL : self->supervision.infos,
        .reconciler_count = self->supervision.count,
    };

    return weir_reply_json(&self->session.session, &weir_worked_record, &row);
}

static void add_count(struct weir_buf *text, uint64_t count, const char *what)
{
    if (count > 0)
        weir_buf_append_format(text, "%s%" PRIu64 " %s", text->size > 0 ? ", " : "",
                               count, what);
}

static void append_counts(const struct work_call *self, struct weir_buf *text)
{
    const struct weir_execution_worker_stats *stats = &self->stats;

    add_count(text, stats->completed, "completed");
    add_count(text, stats->failed, "failed");
    add_count(text, stats->cancelled, "cancelled");
    add_count(text, stats->retried, "attempts to be tried again");
    add_count(text, stats->delayed, "delayed");
    add_count(text, stats->suspended, "suspended");
    add_count(text, stats->returned, "given back");
    add_count(text, stats->fenced, "lost");
}

/* Why it has ended. */
static void append_end(const struct work_call *self, struct weir_buf *text)
{
    const struct weir_execution_left *left = &self->left;

    if (!self->drained) {
        weir_buf_append_text(text, "stopped");
        return;
    }
    if (left->suspended + left->behind == 0) {
        weir_buf_append_text(text, "nothing is left");
        return;
    }
    weir_buf_append_text(text, "only suspended work is left");
    if (left->suspended > 0)
        weir_buf_append_format(text, ": %" PRIu64 " suspended", left->suspended);
    if (left->behind > 0)
        weir_buf_append_format(text, "%s%" PRIu64 " behind such",
                               left->suspended > 0 ? ", " : ": ", left->behind);
}

static void tell_text(const struct work_call *self)
{
    uint64_t ended = ended_so_far(self);
    double seconds = (double)self->elapsed_ns / 1e9;
    struct weir_buf counts, end;

    weir_buf_init(&counts, weir_heap_system(), JSON_SIZE_MAX);
    weir_buf_init(&end, weir_heap_system(), JSON_SIZE_MAX);
    append_counts(self, &counts);
    append_end(self, &end);
    fprintf(stderr, "%" PRIu64 " %s in %.2f s, %.0f/s%s%s; %s\n", ended,
            WEIR_NOUN(ended, "execution", "executions"), seconds,
            seconds > 0 ? (double)ended / seconds : 0.0, counts.size > 0 ? ": " : "",
            weir_buf_text(&counts), weir_buf_text(&end));
    weir_buf_fini(&counts);
    weir_buf_fini(&end);
}

static int tell(const struct work_call *self)
{
    int code = WEIR_EXIT_DONE;

    if (self->session.session.shared.json)
        code = tell_json(self);
    else if (!self->session.session.shared.quiet)
        tell_text(self);
    if (self->unfinished > 0)
        code = weir_command_fail(self->session.session.command,
                                 "executions that did not end within the grace: %zu; "
                                 "others get them when their leases are over",
                                 self->unfinished);
    return code;
}

static int work(struct work_call *self)
{
    struct weir_error error = {0};

    if (start(self, &error) != WEIR_OK)
        return weir_execution_session_fail(&self->session, &error);
    watch(self);
    stop(self);
    return tell(self);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    static struct work_call work_call; /* too large for a stack */
    const struct weir_command_shared *shared = &work_call.session.session.shared;
    int code;

    weir_execution_claimant_init(&work_call.claimant, getpid());
    weir_execution_supervision_init(&work_call.supervision, self);
    work_call.exec.delay_ms = DELAY_MS_DEFAULT;
    work_call.grace_ns = WEIR_GRACE_DEFAULT;
    work_call.done_before = -1; /* not even nothing */
    code = parse(self, argc, argv, &work_call);
    if (code >= 0)
        return code;
    code = weir_execution_session_open(&work_call.session, self,
                                       WEIR_EXECUTION_SESSION_TELLING,
                                       &(struct weir_execution_session_wishes){
                                           .partitions = (uint32_t)work_call.partitions});
    work_call.exec.db = shared->db;
    work_call.exec.prefix = shared->prefix != NULL ? shared->prefix : "";
    work_call.exec.lease_ms = work_call.claimant.options.lease_ms;
    if (code == WEIR_EXIT_DONE)
        code = work(&work_call);
    weir_execution_worker_destroy(work_call.worker);
    weir_execution_supervision_close(&work_call.supervision);
    weir_execution_session_close(&work_call.session);
    return code;
}
