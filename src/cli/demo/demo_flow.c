/*
 * demo_flow.c - see demo_flow.h.
 *
 *   play            orders are placed, workers are killed
 *     | time is over, or Ctrl-C
 *   close           no more orders, no more kills
 *   drain           until all have ended, or nothing moves any more
 *     |             a second Ctrl-C ends the program here
 *   stop, audit     what is in the database, and what must not be
 *   summary         and the verdict, which is the exit code
 *
 * The foreman is forked first of all; whatever becomes of this process, it and the
 * workers end with it.
 */
#include "cli/demo/demo_flow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "cli/demo/demo_book.h"
#include "cli/demo/demo_flow_table.h"
#include "cli/demo/demo_orders.h"
#include "cli/demo/demo_stage.h"
#include "cli/demo/demo_worker_pool.h"
#include "cli/output.h"
#include "ward/system.h"
#include "weir/execution_supervisor.h"
#include "weir/heap.h"
#include "weir/time.h"

#define REDRAW_NS WEIR_MILLISECONDS(100)
#define PERIOD_PLAIN WEIR_SECONDS(1)
#define DRAIN_LOOK WEIR_MILLISECONDS(50)
#define DRAIN_WAIT_LIMIT WEIR_SECONDS(10) /* without an order that ends */
#define SUPERVISOR_GRACE WEIR_SECONDS(5)

struct demo {
    struct weir_demo_flow_options options;
    struct weir_demo_stage stage;
    struct weir_worker_pool *worker_pool;
    struct weir_executions *executions;
    struct weir_execution_supervisor *supervisor;
    struct weir_orders *orders;
    struct weir_book book;
    struct weir_flow_table table;
    struct weir_execution_view view;
    struct weir_error trouble;
    int64_t held_most;
    int64_t breaches[WEIR_BOOK_BREACH_COUNT];
};

/* ---- looking ----------------------------------------------------------------------- */

static void note_held(struct demo *self, int64_t held)
{
    if (held > self->view.held_most)
        self->view.held_most = held;
    if (held > self->held_most)
        self->held_most = held;
}

static void look(struct demo *self, const char *hint)
{
    struct weir_error error = {0};
    struct weir_execution_view *view = &self->view;

    if (weir_book_look(&self->book, &error) == WEIR_OK)
        (void)weir_orders_trouble(self->orders, &error);
    self->trouble = error;
    view->elapsed_ns = weir_system_now_ns() - self->stage.start_ns;
    view->placed = weir_orders_placed(self->orders);
    view->killed = weir_worker_pool_killed(self->worker_pool);
    view->stats = self->book.stats;
    view->trouble = error.status != WEIR_OK ? self->trouble.text : "";
    view->hint = hint;
    note_held(self, view->stats.steps[WEIR_STEP_CHARGE].held);
    weir_orders_note_ended(self->orders, view->stats.shipped + view->stats.refused);
}

static void show(struct demo *self, const char *hint)
{
    look(self, hint);
    if (self->stage.form == WEIR_DEMO_SILENT)
        return;
    weir_demo_stage_begin_frame(&self->stage);
    if (self->stage.form == WEIR_DEMO_LIVE)
        weir_flow_table_append_frame(&self->table, &self->view);
    else
        weir_flow_table_append_row(&self->table, &self->view);
    weir_demo_stage_draw(&self->stage);
    self->view.held_most = 0;
}

/* ---- the run ----------------------------------------------------------------------- */

/* Look ten times a second, since the clerk wants to know what has ended; show it as
 * often on a terminal, and once a second elsewhere. */
static void play(struct demo *self)
{
    int64_t limit_ns = self->options.limit_ns;
    int64_t period_ns = self->stage.form == WEIR_DEMO_LIVE ? REDRAW_NS : PERIOD_PLAIN;
    int64_t next_ns = period_ns;
    int64_t elapsed_ns = 0;

    while (elapsed_ns < limit_ns &&
           weir_console_wait(&self->stage.console, limit_ns - elapsed_ns < REDRAW_NS
                                                       ? limit_ns - elapsed_ns
                                                       : REDRAW_NS)) {
        elapsed_ns = weir_system_now_ns() - self->stage.start_ns;
        if (elapsed_ns < next_ns && !self->stage.console.disturbed) {
            look(self, "");
            continue;
        }
        show(self, "Ctrl-C ends it");
        next_ns = (elapsed_ns / period_ns + 1) * period_ns;
    }
}

/* Wait for the last orders, as long as they move. False: a second signal asked for the
 * end. */
static bool drain(struct demo *self)
{
    int64_t next_ns = 0, moved_ns = weir_system_now_ns();
    int64_t ended = -1;

    weir_console_go_on(&self->stage.console);
    for (;;) {
        const struct weir_book_stats *stats = &self->view.stats;
        int64_t now_ns = weir_system_now_ns();

        look(self, "waiting for the last orders; Ctrl-C ends at once");
        if (self->stage.form == WEIR_DEMO_LIVE && now_ns >= next_ns &&
            !weir_demo_stage_is_unread(&self->stage)) {
            show(self, self->view.hint);
            next_ns = now_ns + REDRAW_NS;
        }
        if (ended != stats->shipped + stats->refused) {
            ended = stats->shipped + stats->refused;
            moved_ns = now_ns;
        }
        if ((ended == self->view.placed && stats->races == 0) ||
            now_ns - moved_ns > DRAIN_WAIT_LIMIT)
            return true;
        if (!weir_console_wait(&self->stage.console, DRAIN_LOOK) &&
            self->stage.console.stop_asked)
            return false;
    }
}

/* All workers have ended. WEIR_OK when the verdict is known, whatever it is. */
static enum weir_status audit(struct demo *self, struct weir_error *error)
{
    int64_t placed = weir_orders_placed(self->orders);
    enum weir_status status = weir_book_audit(&self->book, placed, self->breaches, error);

    self->view.held_most = self->held_most;
    self->stage.good = status == WEIR_OK && self->view.failed == 0;
    for (int i = 0; i < WEIR_BOOK_BREACH_COUNT; i++)
        self->stage.good = self->stage.good && self->breaches[i] == 0;
    return status;
}

/* ---- the summary ------------------------------------------------------------------- */

static void append_breaches(const struct demo *self, struct weir_buf *out)
{
    const char *between = "";

    for (int i = 0; i < WEIR_BOOK_BREACH_COUNT; i++) {
        if (self->breaches[i] == 0)
            continue;
        weir_buf_append_format(out, "%s%s: %" PRId64, between,
                               weir_book_breach_text((enum weir_book_breach)i),
                               self->breaches[i]);
        between = "; ";
    }
    if (self->view.failed > 0)
        weir_buf_append_format(out, "%sworkers that broke: %" PRIu32, between,
                               self->view.failed);
}

static void append_verdict(void *state, struct weir_buf *out)
{
    struct demo *self = state;
    const struct weir_execution_view *view = &self->view;

    if (!self->stage.good) {
        append_breaches(self, out);
        return;
    }
    weir_buf_append_format(out,
                           "all %" PRId64 " orders ended once: %" PRId64
                           " shipped, %" PRId64 " refused",
                           view->placed, view->stats.shipped, view->stats.refused);
}

static void append_json(void *state, struct weir_buf *out, struct weir_buf *verdict)
{
    struct demo *self = state;
    const struct weir_execution_view *view = &self->view;
    const struct weir_book_stats *stats = &view->stats;
    const struct weir_histogram *latency = &stats->latency;

    weir_output_open(out, NULL, "{");
    weir_output_add_text(out, "database", self->stage.site.session.name);
    weir_output_add_seconds(out, "seconds",
                            (self->stage.end_ns - self->stage.start_ns) / 1000);
    weir_output_add_number(out, "rate", self->options.rate);
    weir_output_add_number(out, "workers", WEIR_WORKER_POOL_WORKERS);
    weir_output_add_number(out, "killed", view->killed);
    weir_output_add_number(out, "taken_over", stats->reclaims);
    weir_output_add_number(out, "tried_again", stats->retries);
    weir_output_add_number(out, "placed", view->placed);
    weir_output_add_number(out, "shipped", stats->shipped);
    weir_output_add_number(out, "refused", stats->refused);
    weir_output_add_number(out, "calls_per_second", stats->calls_max);
    weir_output_add_number(out, "budget_resets", stats->resets);
    weir_output_add_number(out, "held_back_most", view->held_most);
    weir_output_add_seconds(out, "latency_p50_seconds",
                            weir_histogram_percentile(latency, 50) / 1000);
    weir_output_add_seconds(out, "latency_p99_seconds",
                            weir_histogram_percentile(latency, 99) / 1000);
    weir_output_add_text(out, "verdict", self->stage.good ? "good" : "bad");
    weir_output_add_text(out, "reason", weir_buf_text(verdict));
    weir_buf_append_text(out, "}\n");
}

static void append_text(void *state, struct weir_buf *verdict)
{
    struct demo *self = state;
    struct weir_demo_text *out = &self->stage.out;

    weir_flow_table_append_summary(&self->table, &self->view,
                                   self->stage.end_ns - self->stage.start_ns);
    if (self->stage.dir != NULL)
        weir_demo_text_append_line(out, WEIR_TONE_PLAIN,
                                   "kept; look at it with: weir flow list --db %s",
                                   self->stage.site.url);
    weir_demo_text_append_line(out, WEIR_TONE_PLAIN, "%s", weir_buf_text(verdict));
    if (self->stage.good)
        weir_demo_text_append_line(out, WEIR_TONE_PLAIN,
                                   "each join fired once, the ledger of the bank is "
                                   "right, nothing is left over");
    weir_demo_text_append_line(out, self->stage.good ? WEIR_TONE_GOOD : WEIR_TONE_BAD,
                               "verdict: %s", self->stage.good ? "good" : "bad");
}

/* ---- life -------------------------------------------------------------------------- */

static enum weir_status open_engine(struct demo *self, struct weir_error *error)
{
    struct weir_db *db = self->stage.site.session.db;
    struct weir_executions_options executions;
    struct weir_execution_supervisor_options supervisor;
    enum weir_status status = weir_outbox_migrate(db, error); /* the commands want it */

    if (status == WEIR_OK)
        status = weir_executions_migrate(db, error);
    weir_executions_options_init(&executions);
    executions.db = db;
    if (status == WEIR_OK)
        status = weir_executions_create(&executions, &self->executions, error);
    weir_execution_supervisor_options_init(&supervisor);
    supervisor.executions = self->executions;
    supervisor.retention_ms = 0; /* the audit is to see everything */
    if (status == WEIR_OK)
        status = weir_execution_supervisor_create(&supervisor, &self->supervisor, error);
    if (status == WEIR_OK)
        status = weir_execution_supervisor_start(self->supervisor, error);
    return status;
}

static enum weir_status open_shop(struct demo *self, struct weir_error *error)
{
    const struct weir_orders_options options = {.db = self->stage.site.session.db,
                                                .executions = self->executions,
                                                .rate = self->options.rate};
    enum weir_status status = weir_orders_create(&options, &self->orders, error);

    weir_book_init(&self->book, self->stage.site.session.db);
    if (status == WEIR_OK)
        status = weir_worker_pool_begin(self->worker_pool, self->stage.site.url, error);
    self->stage.start_ns = weir_system_now_ns();
    if (status == WEIR_OK)
        status = weir_orders_open(self->orders, error);
    return status;
}

/* All workers end; what is left is what they have left. */
static void stop(struct demo *self)
{
    if (self->worker_pool != NULL) {
        self->view.killed = weir_worker_pool_killed(self->worker_pool);
        self->view.failed = weir_worker_pool_failed(self->worker_pool);
    }
    weir_worker_pool_destroy(self->worker_pool);
    self->worker_pool = NULL;
    if (self->supervisor != NULL)
        (void)weir_execution_supervisor_stop(self->supervisor, SUPERVISOR_GRACE);
}

static enum weir_status perform(void *state, struct weir_error *error)
{
    struct demo *self = state;
    enum weir_status status = open_engine(self, error);

    if (status == WEIR_OK)
        status = open_shop(self, error);
    if (status != WEIR_OK)
        return status;
    play(self);
    weir_orders_close(self->orders);
    weir_worker_pool_spare(self->worker_pool);
    self->stage.end_ns = weir_system_now_ns();
    if (!drain(self))
        weir_demo_stage_end_at_once(&self->stage);
    if (self->stage.form == WEIR_DEMO_LIVE && !weir_demo_stage_is_unread(&self->stage))
        show(self, "");
    weir_console_release(&self->stage.console);
    stop(self);
    return audit(self, error);
}

int weir_demo_flow_run(const struct weir_demo_flow_options *options)
{
    struct demo *self = calloc(1, sizeof *self); /* too large for the stack */
    struct weir_demo_stage *stage;
    struct weir_error error = {0};
    int code, closed;

    if (self == NULL)
        return weir_command_fail(options->command, "out of memory");
    self->options = *options;
    stage = &self->stage;
    *stage = (struct weir_demo_stage){
        .command = options->command,
        .dir = options->dir,
        .json = options->json,
        .form = options->quiet ? WEIR_DEMO_SILENT : WEIR_DEMO_LIVE,
        .state = self,
        .perform = perform,
        .append_verdict = append_verdict,
        .append_json = append_json,
        .append_text = append_text,
    };
    if (weir_worker_pool_create(weir_steps_work, &self->worker_pool, &error) != WEIR_OK) {
        code = weir_command_fail(options->command, "%s", error.text);
        goto out;
    }
    weir_flow_table_init(&self->table, &stage->out, weir_heap_system());
    code = weir_demo_site_found(&stage->site, stage->command, stage->dir);
    if (code == WEIR_EXIT_DONE)
        code = weir_demo_stage_run(stage);
    stop(self);
    weir_orders_destroy(self->orders);
    weir_execution_supervisor_destroy(self->supervisor);
    weir_executions_destroy(self->executions);
    closed = weir_demo_site_close(&stage->site);
    if (code == WEIR_EXIT_DONE)
        code = closed;
    weir_flow_table_fini(&self->table);
out:
    free(self);
    return code;
}
