/*
 * demo.c - `weir demo`: a shop that writes orders and messages, and whether all of them
 * arrive.
 *
 *   play            orders are placed; look ten times a second on a terminal, else once
 *     | time is over, or Ctrl-C
 *   close the shop  no more orders
 *   drain           until everything has arrived, or nothing moves any more
 *     |             a second Ctrl-C ends the program here
 *   stop, judge     compare the ledger with the database
 *   summary         and the verdict, which is the exit code
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/duration.h"
#include "cli/command.h"
#include "cli/demo/demo_flow.h"
#include "cli/demo/demo_orders.h"
#include "cli/demo/demo_shop.h"
#include "cli/demo/demo_stage.h"
#include "cli/demo/demo_table.h"
#include "cli/output.h"
#include "db/db.h"
#include "ward/system.h"
#include "weir/heap.h"
#include "weir/inspect.h"
#include "weir/time.h"

#define SECONDS_MIN 0.1
#define SECONDS_MAX 86400.0
#define RATE_DEFAULT 100
#define GRACE WEIR_SECONDS(5)
#define PERIOD_LIVE WEIR_MILLISECONDS(100)
#define PERIOD_PLAIN WEIR_SECONDS(1)
#define DRAIN_LOOK WEIR_MILLISECONDS(20)
#define DRAIN_WAIT_LIMIT WEIR_SECONDS(10) /* without anything being delivered */

static int run(const struct weir_command *self, int argc, char **argv);

struct demo {
    int64_t limit_ns; /* WEIR_FOREVER: until a signal */
    int64_t rate;
    bool rate_given;
    bool flow;
    struct weir_demo_stage stage;
    struct weir_ledger *ledger;
    struct weir_shop *shop;
    struct weir_demo_view view;
    struct weir_demo_table table;
    struct weir_error trouble;
};

/* Digits with at most one point among them. strtod() alone would take "inf", " 1", "1e9"
 * and "0x5" as well. */
static int parse_seconds(const struct weir_command *self,
                         const struct weir_command_option *option, char *word, void *out)
{
    size_t digits = strspn(word, "0123456789.");
    double seconds =
        digits > 0 && word[digits] == '\0' && strchr(word, '.') == strrchr(word, '.')
            ? strtod(word, NULL)
            : 0.0;

    if (!(seconds >= SECONDS_MIN && seconds <= SECONDS_MAX))
        return weir_command_misuse(self, "--%s is '%s', must be a number from %g to %g",
                                   option->name, word, SECONDS_MIN, SECONDS_MAX);
    *(int64_t *)out = (int64_t)(seconds * 1e9);
    return WEIR_EXIT_DONE;
}

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION(0, "flow", NULL, "an order workflow on the execution engine instead",
                WEIR_AS_FLAG(struct demo, flow)),
    WEIR_OPTION('s', "seconds", "N", "end after N seconds, 0.1 to 86400; else at Ctrl-C",
                WEIR_AS_PARSED(struct demo, limit_ns, int64_t, parse_seconds)),
    WEIR_OPTION('r', "rate", "N",
                "orders per second, 1 to 10000 (100); --flow: 1 to 50 (10)",
                WEIR_AS_NUMBER(struct demo, rate, 1, WEIR_SHOP_RATE_MAX),
                WEIR_ALSO_SET(struct demo, rate_given)),
    WEIR_OPTION(0, "dir", "PATH", "keep the database, as PATH/demo.db",
                WEIR_AS_TEXT(struct demo, stage.dir)),
};

const struct weir_command weir_cli_demo = {
    .name = "demo",
    .summary = "show messages flowing, live, and whether all arrive",
    .usage = "[--flow] [--seconds N] [--rate N] [--dir PATH | --db URL]",
    .details =
        "Runs a small shop in a temporary SQLite database, with nothing to configure.\n"
        "Four producers place orders: a row in the shop's table and a message about\n"
        "it, in one transaction. Some of these are rolled back, on purpose. A handler\n"
        "gives each order to a carrier. It is busy now and then: the order is tried\n"
        "again. It never goes to Atlantis: the order becomes a dead letter.\n"
        "\n"
        "Every message is compared with what was committed. At the end, after\n"
        "--seconds or at Ctrl-C, no more orders are placed, the last ones are waited\n"
        "for, and a verdict is given: every committed order arrived in order, none\n"
        "that was rolled back was seen; exit code 0. Else it says what was broken and\n"
        "ends with 1. A second Ctrl-C ends at once.\n"
        "\n"
        "A terminal shows a table that is always up to date; elsewhere a line comes\n"
        "each second, and with --quiet or --json only the end. With --db the shop is\n"
        "in that database: queue 'weir-demo' and table weir_demo_order, which are\n"
        "removed at the end. WEIR_DB is not heeded.\n"
        "\n"
        "With --flow each order is a flow of executions: reserve, charge, approve by\n"
        "signal, a race of two carriers, ship. A budget holds some back until it is\n"
        "reset. Three processes do the work, and every second or so one of them is\n"
        "killed. At the end the database is audited: each order ended once, each join\n"
        "fired once, ledger and counters agree, nothing is left over.\n"
        "\n"
        "  weir demo --seconds 10\n"
        "  weir demo --flow\n"
        "  weir demo --rate 2000 --db postgresql:///test\n"
        "  weir demo --db mariadb://me@localhost/test\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

/* ---- options ----------------------------------------------------------------------- */

/* The exit code, or -1 to go on. */
static int parse_options(struct demo *self, int argc, char **argv)
{
    struct weir_command_shared shared;
    int code = weir_command_parse(self->stage.command, argc, argv, self, sizeof *self);

    shared = weir_command_shared();
    if (code < 0 && self->stage.dir != NULL && self->stage.dir[0] == '\0')
        code =
            weir_command_misuse(self->stage.command, "--dir is empty, must be a folder");
    if (code < 0 && self->stage.dir != NULL && shared.db_given)
        code =
            weir_command_misuse(self->stage.command, "--dir and --db exclude each other");
    if (code < 0 && self->flow && shared.db_given)
        code = weir_command_misuse(self->stage.command,
                                   "--flow and --db exclude each other: its executions "
                                   "could not be removed again");
    if (code < 0 && self->flow && self->rate_given && self->rate > WEIR_ORDERS_RATE_MAX)
        code =
            weir_command_misuse(self->stage.command,
                                "--rate is %" PRId64 ", must be from 1 to %d with --flow",
                                self->rate, WEIR_ORDERS_RATE_MAX);
    self->stage.json = shared.json;
    self->stage.form = shared.json || shared.quiet ? WEIR_DEMO_SILENT : WEIR_DEMO_LIVE;
    return code;
}

/* ---- looking ----------------------------------------------------------------------- */

static const char *engine_of(const struct demo *self)
{
    return weir_db_traits(self->stage.site.session.db)->title;
}

static void look(struct demo *self, const char *hint)
{
    weir_shop_trouble(self->shop, &self->trouble);
    self->view.engine = engine_of(self);
    self->view.now_ns = weir_system_now_ns();
    self->view.elapsed_ns = self->view.now_ns - self->stage.start_ns;
    self->view.hint = hint;
    self->view.trouble = self->trouble.status != WEIR_OK ? self->trouble.text : "";
    weir_ledger_read(self->ledger, &self->view.stats);
}

static void show(struct demo *self, const char *hint)
{
    look(self, hint);
    if (self->stage.form == WEIR_DEMO_SILENT)
        return;
    weir_demo_stage_begin_frame(&self->stage);
    if (self->stage.form == WEIR_DEMO_LIVE)
        weir_demo_table_append_frame(&self->table, &self->view);
    else
        weir_demo_table_append_row(&self->table, &self->view);
    weir_demo_stage_draw(&self->stage);
}

/* ---- the run ----------------------------------------------------------------------- */

/* Look again and again until it is time to end, or until there is no reader any more. */
static void play(struct demo *self)
{
    int64_t period_ns = self->stage.form == WEIR_DEMO_LIVE ? PERIOD_LIVE : PERIOD_PLAIN;
    int64_t next_ns = period_ns;
    int64_t elapsed_ns;

    for (;;) {
        elapsed_ns = weir_system_now_ns() - self->stage.start_ns;
        if (elapsed_ns >= next_ns || self->stage.console.disturbed) {
            show(self, "Ctrl-C ends it");
            next_ns = (elapsed_ns / period_ns + 1) * period_ns;
        }
        if (elapsed_ns >= self->limit_ns ||
            weir_shop_trouble_is_final(self->trouble.status))
            break;
        if (!weir_console_wait(&self->stage.console,
                               (next_ns < self->limit_ns ? next_ns : self->limit_ns) -
                                   elapsed_ns))
            break;
    }
}

/* Is nothing left in the queue? What the ledger still misses then will never come. */
static bool is_drained(struct demo *self)
{
    bool drained = false;

    return weir_outbox_read_drained(self->stage.site.session.outbox, WEIR_SHOP_QUEUE,
                                    WEIR_SHOP_SUBSCRIPTION, &drained, NULL) == WEIR_OK &&
           drained;
}

/* Wait for the last orders, as long as they move. False: a second signal asked for the
 * end. */
static bool drain(struct demo *self)
{
    int64_t next_ns = 0, moved_ns = weir_system_now_ns();
    uint64_t settled = 0;

    weir_console_go_on(&self->stage.console);
    for (;;) {
        look(self, "waiting for the last orders; Ctrl-C ends at once");
        if (self->stage.form == WEIR_DEMO_LIVE && self->view.now_ns >= next_ns &&
            !weir_demo_stage_is_unread(&self->stage)) {
            show(self, self->view.hint);
            next_ns = self->view.now_ns + PERIOD_LIVE;
        }
        if (settled != self->view.stats.delivered + self->view.stats.rejected) {
            settled = self->view.stats.delivered + self->view.stats.rejected;
            moved_ns = self->view.now_ns;
        }
        if (is_drained(self) || self->view.now_ns - moved_ns > DRAIN_WAIT_LIMIT)
            return true;
        if (!weir_console_wait(&self->stage.console, DRAIN_LOOK) &&
            self->stage.console.stop_asked)
            return false;
    }
}

/* WEIR_OK when the verdict is known, whatever it is. */
static enum weir_status judge(struct demo *self, struct weir_error *error)
{
    int64_t orders = 0, dead_letters = 0;
    enum weir_status status;

    if (weir_outbox_stop(self->stage.site.session.outbox, GRACE) != 0)
        return weir_error_set(error, WEIR_TIMEOUT, "a handler did not come back");
    status = weir_demo_site_count(&self->stage.site, &orders, &dead_letters, error);
    if (status != WEIR_OK)
        return status;
    self->stage.good = weir_ledger_judge(self->ledger, orders, dead_letters);
    weir_ledger_read(self->ledger, &self->view.stats);
    return WEIR_OK;
}

/* ---- the summary ------------------------------------------------------------------- */

/* "committed orders that never arrived: 3; numbers left out: 1 (the first: ...)" */
static void append_breaches(const struct demo *self, struct weir_buf *out)
{
    const char *between = "";
    char number[WEIR_COUNT_SIZE];

    for (int i = 0; i < WEIR_BREACH_COUNT; i++) {
        uint64_t count = self->view.stats.breaches[i];

        if (count == 0)
            continue;
        weir_buf_append_format(out, "%s%s: %s", between,
                               weir_ledger_breach_text((enum weir_ledger_breach)i),
                               weir_output_grouped((int64_t)count, number));
        between = "; ";
    }
    weir_buf_append_format(out, " (the first: %s)", self->view.stats.first_breach);
}

static void append_verdict(void *state, struct weir_buf *out)
{
    struct demo *self = state;
    const struct weir_ledger_stats *stats = &self->view.stats;
    char committed[WEIR_COUNT_SIZE], rolled_back[WEIR_COUNT_SIZE];

    if (!self->stage.good) {
        append_breaches(self, out);
        return;
    }
    weir_buf_append_format(out,
                           "all %s committed orders arrived in order; %s rolled back, "
                           "none of them seen",
                           weir_output_grouped((int64_t)stats->committed, committed),
                           weir_output_grouped((int64_t)stats->rolled_back, rolled_back));
}

static void append_json(void *state, struct weir_buf *out, struct weir_buf *verdict)
{
    struct demo *self = state;
    const struct weir_ledger_stats *stats = &self->view.stats;

    weir_output_open(out, NULL, "{");
    weir_output_add_text(out, "database", self->stage.site.session.name);
    weir_output_add_seconds(out, "seconds",
                            (self->stage.end_ns - self->stage.start_ns) / 1000);
    weir_output_add_number(out, "rate", self->rate);
    weir_output_add_number(out, "producers", WEIR_SHOP_PRODUCERS);
    weir_output_add_number(out, "partitions", WEIR_LEDGER_PARTITIONS);
    weir_output_add_number(out, "committed", (int64_t)stats->committed);
    weir_output_add_number(out, "rolled_back", (int64_t)stats->rolled_back);
    weir_output_add_number(out, "in_doubt", (int64_t)stats->in_doubt);
    weir_output_add_number(out, "delivered", (int64_t)stats->delivered);
    weir_output_add_number(out, "dead_letters", (int64_t)stats->rejected);
    weir_output_add_number(out, "tried_again", (int64_t)stats->retries);
    weir_output_add_number(out, "came_again", (int64_t)stats->again);
    weir_output_add_seconds(out, "latency_p50_seconds",
                            weir_histogram_percentile(&stats->latency, 50) / 1000);
    weir_output_add_seconds(out, "latency_p99_seconds",
                            weir_histogram_percentile(&stats->latency, 99) / 1000);
    weir_output_add_seconds(out, "latency_max_seconds", stats->latency.max_ns / 1000);
    weir_output_add_text(out, "verdict", self->stage.good ? "good" : "bad");
    weir_output_add_text(out, "reason", weir_buf_text(verdict));
    weir_buf_append_text(out, "}\n");
}

static void append_text(void *state, struct weir_buf *verdict)
{
    struct demo *self = state;
    const struct weir_ledger_stats *stats = &self->view.stats;
    char elapsed[WEIR_DURATION_TEXT_SIZE], p50[WEIR_DURATION_TEXT_SIZE];
    char p99[WEIR_DURATION_TEXT_SIZE], max[WEIR_DURATION_TEXT_SIZE];
    char delivered[WEIR_COUNT_SIZE];
    struct weir_demo_text *out = &self->stage.out;

    weir_demo_text_append_line(
        out, WEIR_TONE_PLAIN,
        "%s on %s: delivered %s, tried again %" PRIu64 ", dead letters %" PRIu64,
        weir_duration_format(self->stage.end_ns - self->stage.start_ns, elapsed,
                             sizeof elapsed),
        self->view.engine, weir_output_grouped((int64_t)stats->delivered, delivered),
        stats->retries, stats->rejected);
    weir_demo_text_append_line(
        out, WEIR_TONE_PLAIN, "from commit to handler: p50 %s, p99 %s, at most %s",
        weir_duration_format(weir_histogram_percentile(&stats->latency, 50), p50,
                             sizeof p50),
        weir_duration_format(weir_histogram_percentile(&stats->latency, 99), p99,
                             sizeof p99),
        weir_duration_format(stats->latency.max_ns, max, sizeof max));
    if (stats->again > 0)
        weir_demo_text_append_line(out, WEIR_TONE_PLAIN,
                                   "%" PRIu64 " came again under the same number, as "
                                   "may be when an acknowledgement is lost",
                                   stats->again);
    if (self->stage.dir != NULL)
        weir_demo_text_append_line(out, WEIR_TONE_PLAIN,
                                   "kept; look at it with: weir status " WEIR_SHOP_QUEUE
                                   " --db %s",
                                   self->stage.site.url);
    weir_demo_text_append_line(out, WEIR_TONE_PLAIN, "%s", weir_buf_text(verdict));
    weir_demo_text_append_line(out, self->stage.good ? WEIR_TONE_GOOD : WEIR_TONE_BAD,
                               "verdict: %s", self->stage.good ? "good" : "bad");
}

/* ---- life -------------------------------------------------------------------------- */

static enum weir_status open_shop(struct demo *self, struct weir_error *error)
{
    struct weir_shop_options options;
    enum weir_status status = weir_ledger_create(&self->ledger);

    if (status != WEIR_OK)
        return weir_error_set(error, status, "ledger: %s", weir_status_text(status));
    options = (struct weir_shop_options){.outbox = self->stage.site.session.outbox,
                                         .ledger = self->ledger,
                                         .rate = self->rate};
    status = weir_shop_create(&options, &self->shop, error);
    self->stage.start_ns = weir_system_now_ns();
    if (status == WEIR_OK)
        status = weir_shop_open(self->shop, error);
    return status;
}

/* From the first order to the verdict. WEIR_OK when there is one. */
static enum weir_status perform(void *state, struct weir_error *error)
{
    struct demo *self = state;
    enum weir_status status = open_shop(self, error);

    if (status != WEIR_OK)
        return status;
    play(self);
    weir_shop_close(self->shop);
    self->stage.end_ns = weir_system_now_ns();
    if (weir_shop_trouble_is_final(weir_shop_trouble(self->shop, &self->trouble))) {
        *error = self->trouble;
        return error->status;
    }
    if (!drain(self))
        weir_demo_stage_end_at_once(&self->stage);
    if (self->stage.form == WEIR_DEMO_LIVE && !weir_demo_stage_is_unread(&self->stage))
        show(self, "");
    weir_console_release(&self->stage.console);
    return judge(self, error);
}

static int run_flow(const struct demo *self)
{
    const struct weir_demo_flow_options options = {
        .command = self->stage.command,
        .limit_ns = self->limit_ns,
        .rate = self->rate_given ? self->rate : WEIR_ORDERS_RATE_DEFAULT,
        .dir = self->stage.dir,
        .json = self->stage.json,
        .quiet = self->stage.form == WEIR_DEMO_SILENT,
    };

    return weir_demo_flow_run(&options);
}

static int run_shop(struct demo *self)
{
    struct weir_demo_stage *stage = &self->stage;
    int code, closed;

    weir_demo_table_init(&self->table, &stage->out, weir_heap_system());
    code = weir_demo_site_open(&stage->site, stage->command, stage->dir);
    if (code == WEIR_EXIT_DONE)
        code = weir_demo_stage_run(stage);
    if (stage->site.session.outbox != NULL)
        (void)weir_outbox_stop(stage->site.session.outbox, GRACE);
    weir_shop_destroy(self->shop);
    closed = weir_demo_site_close(&stage->site);
    weir_ledger_destroy(self->ledger);
    weir_demo_table_fini(&self->table);
    return code == WEIR_EXIT_DONE ? closed : code;
}

static int run(const struct weir_command *command, int argc, char **argv)
{
    struct demo *self = calloc(1, sizeof *self); /* too large for the stack */
    int code;

    if (self == NULL)
        return weir_command_fail(command, "out of memory");
    self->limit_ns = WEIR_FOREVER;
    self->rate = RATE_DEFAULT;
    self->stage = (struct weir_demo_stage){.command = command,
                                           .state = self,
                                           .perform = perform,
                                           .append_verdict = append_verdict,
                                           .append_json = append_json,
                                           .append_text = append_text};
    code = parse_options(self, argc, argv);
    if (code < 0)
        code = self->flow ? run_flow(self) : run_shop(self);
    free(self);
    return code;
}
