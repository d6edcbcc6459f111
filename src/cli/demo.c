/*
 * demo.c - `weir demo`: the worker runtime at work, to be looked at.
 *
 * The cast runs on threads of its own; this file only looks at it: ten times a second on a
 * terminal, once a second elsewhere, until the time is over or a signal asks for the end.
 *
 *   play --> release the console --> last frame --> stop the cast --> summary
 *
 * The console is released before the cast is stopped, so that a second Ctrl-C ends a stop
 * that takes too long, and the cursor is back by then.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/duration.h"
#include "cli/cast.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/frame.h"
#include "weir/heap.h"
#include "weir/time.h"

#define SECONDS_MIN 0.1
#define SECONDS_MAX 86400.0
#define GRACE WEIR_SECONDS(5)
#define FIRST_FRAME WEIR_MILLISECONDS(50) /* at 0 there is nothing to see yet */
#define PERIOD_LIVE WEIR_MILLISECONDS(100)
#define PERIOD_PLAIN WEIR_SECONDS(1)

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    {'s', "seconds", "N", "end after N seconds, 0.1 to 86400; else at Ctrl-C"},
    {'j', "json", NULL, "one JSON object per second and line"},
};

const struct weir_command weir_cli_demo = {
    .name = "demo",
    .summary = "show the worker runtime at work, live",
    .usage = "[--seconds N] [--json]",
    .details =
        "Runs seven workers on two threads and shows what each is doing:\n"
        "\n"
        "  heartbeat   idles, and is poked every 500 ms\n"
        "  burst       has a backlog: runs faster and faster, then sleeps\n"
        "  flaky       fails five times of six, and waits longer after each failure\n"
        "  crashy      panics every fourth time, and lives on\n"
        "  courier-n   share a gate of one permit: one runs, the other stands in line\n"
        "  janitor     sleeps most of the time, which costs no thread\n"
        "\n"
        "A terminal shows one table, always up to date; elsewhere one comes each "
        "second.\n"
        "Ctrl-C stops all workers and prints a summary; a second Ctrl-C ends at once.\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .run = run,
};

enum form { FORM_LIVE, FORM_PLAIN, FORM_JSON };

struct demo {
    enum form form;
    int64_t limit_ns; /* WEIR_FOREVER: until a signal */
    int64_t shown_ns; /* when the last frame was shown; -1: never */
    struct weir_console console;
    struct weir_cast *cast;
    struct weir_cast_snapshot now;
    struct weir_frame frame;
};

/* What is left to say at the end. */
struct summary {
    uint64_t executions, failures, panics;
    size_t lost;       /* workers that had ended before they were asked to */
    size_t unfinished; /* workers that had not ended when the grace was over */
};

static int parse_options(const struct weir_command *self, int argc, char **argv,
                         struct demo *demo);
static bool parse_seconds(const char *text, int64_t *out);
static enum weir_status play(struct demo *demo);
static enum weir_status show_frame(struct demo *demo);
static enum weir_status show_summary(struct demo *demo, const struct summary *summary);
static struct summary stop(struct demo *demo);

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct demo demo = {.limit_ns = WEIR_FOREVER, .shown_ns = -1};
    struct weir_error error = {0};
    struct summary summary;
    enum weir_status status;
    int code = parse_options(self, argc, argv, &demo);

    if (code >= 0)
        return code;

    code = WEIR_EXIT_FAILED;
    weir_frame_init(&demo.frame, weir_heap_system());
    status = weir_console_open(&demo.console,
                               demo.form == FORM_JSON ? WEIR_CONSOLE_PLAIN
                                                      : WEIR_CONSOLE_LIVE_IF_TERMINAL,
                               &error);
    if (status != WEIR_OK)
        goto out;
    if (demo.form != FORM_JSON)
        demo.form = demo.console.live ? FORM_LIVE : FORM_PLAIN;
    status = weir_cast_create(&demo.cast, &error);
    if (status != WEIR_OK)
        goto close;

    status = play(&demo);
    summary = stop(&demo);
    if (status == WEIR_OK)
        status = show_summary(&demo, &summary);
    if (status != WEIR_OK)
        weir_error_set(&error, status, "draw the table: %s", weir_status_text(status));
    else if (demo.console.write_errno != 0 && demo.console.write_errno != EPIPE)
        weir_error_set(&error, WEIR_SYSTEM, "cannot write to standard output: %s",
                       strerror(demo.console.write_errno));
    else if (demo.console.write_errno == 0 && summary.lost + summary.unfinished == 0)
        code = WEIR_EXIT_DONE;

close:
    weir_console_close(&demo.console);
out:
    if (error.text[0] != '\0')
        fprintf(stderr, "weir demo: %s\n", error.text);
    weir_cast_destroy(demo.cast);
    weir_frame_fini(&demo.frame);
    return code;
}

/* The exit code, or -1 to go on. */
static int parse_options(const struct weir_command *self, int argc, char **argv,
                         struct demo *demo)
{
    int id;

    while ((id = weir_command_next_option(self, argc, argv)) != WEIR_OPTIONS_END) {
        switch (id) {
        case 's':
            if (!parse_seconds(optarg, &demo->limit_ns))
                return weir_command_misuse(
                    self, "--seconds is '%s', must be a number from %g to %g", optarg,
                    SECONDS_MIN, SECONDS_MAX);
            break;
        case 'j':
            demo->form = FORM_JSON;
            break;
        case WEIR_OPTIONS_HELPED:
            return WEIR_EXIT_DONE;
        default:
            return WEIR_EXIT_MISUSE;
        }
    }
    id = weir_command_no_operands(self, argc, argv);
    return id == WEIR_EXIT_DONE ? -1 : id;
}

/* Digits with at most one point among them. strtod() alone would take "inf", " 1", "1e9"
 * and "0x5" as well. */
static bool parse_seconds(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789.");
    double seconds;

    if (digits == 0 || text[digits] != '\0' || strchr(text, '.') != strrchr(text, '.'))
        return false;
    seconds = strtod(text, NULL);
    if (!(seconds >= SECONDS_MIN && seconds <= SECONDS_MAX))
        return false;
    *out = (int64_t)(seconds * 1e9);
    return true;
}

/* Show frame after frame until it is time to end, or until nobody looks any more. */
static enum weir_status play(struct demo *demo)
{
    int64_t period_ns = demo->form == FORM_LIVE ? PERIOD_LIVE : PERIOD_PLAIN;
    int64_t next_ns = FIRST_FRAME;
    enum weir_status status = WEIR_OK;
    int64_t elapsed_ns;

    for (;;) {
        elapsed_ns = weir_cast_elapsed(demo->cast);
        if (elapsed_ns >= next_ns || demo->console.disturbed) {
            status = show_frame(demo);
            next_ns = (elapsed_ns / period_ns + 1) * period_ns;
        }
        if (status != WEIR_OK || elapsed_ns >= demo->limit_ns)
            break;
        if (!weir_console_wait(&demo->console,
                               (next_ns < demo->limit_ns ? next_ns : demo->limit_ns) -
                                   elapsed_ns))
            break;
    }

    weir_console_release(&demo->console);
    elapsed_ns = weir_cast_elapsed(demo->cast);
    if (status == WEIR_OK &&
        (demo->shown_ns < 0 || elapsed_ns - demo->shown_ns > period_ns / 2))
        status = show_frame(demo);
    return status;
}

static struct summary stop(struct demo *demo)
{
    struct summary summary = {0};

    for (size_t i = 0; i < WEIR_CAST_COUNT; i++)
        summary.lost += demo->now.members[i].info.state == WEIR_WORKER_ENDED;
    summary.unfinished = weir_cast_stop(demo->cast, GRACE);

    weir_cast_read(demo->cast, &demo->now);
    for (size_t i = 0; i < WEIR_CAST_COUNT; i++) {
        summary.executions += demo->now.members[i].info.executions;
        summary.failures += demo->now.members[i].info.failures;
        summary.panics += demo->now.members[i].panics;
    }
    return summary;
}

static struct weir_frame_look look_of(const struct demo *demo)
{
    return (struct weir_frame_look){
        .tones = demo->console.tones,
        .width = demo->console.width,
        .hint = demo->form == FORM_LIVE ? ", Ctrl-C stops" : "",
    };
}

static enum weir_status show_frame(struct demo *demo)
{
    struct weir_frame_look look = look_of(demo);

    weir_cast_read(demo->cast, &demo->now);
    weir_frame_reset(&demo->frame);
    if (demo->form == FORM_JSON)
        weir_frame_append_json(&demo->frame, &demo->now);
    else
        weir_frame_append_table(&demo->frame, &look, &demo->now);
    weir_console_draw(&demo->console, weir_buf_get(&demo->frame.text));
    demo->shown_ns = demo->now.elapsed_ns;
    return weir_buf_status(&demo->frame.text);
}

static enum weir_status show_summary(struct demo *demo, const struct summary *summary)
{
    bool good = summary->lost + summary->unfinished == 0;
    struct weir_frame_look look = look_of(demo);
    struct weir_buf *out = &demo->frame.text;
    char elapsed[WEIR_DURATION_TEXT_SIZE];

    look.width = 0; /* these lines are not drawn over, and may wrap */
    weir_frame_reset(&demo->frame);
    if (demo->form == FORM_JSON) {
        weir_buf_append_format(out,
                               "{\"event\":\"summary\",\"elapsed_ms\":%" PRId64
                               ",\"executions\":%" PRIu64 ",\"failures\":%" PRIu64
                               ",\"panics_survived\":%" PRIu64 ",\"workers_lost\":%zu"
                               ",\"workers_unfinished\":%zu,\"verdict\":\"%s\"}\n",
                               demo->now.elapsed_ns / WEIR_MILLISECONDS(1),
                               summary->executions, summary->failures, summary->panics,
                               summary->lost, summary->unfinished, good ? "good" : "bad");
    } else {
        weir_frame_append_line(
            &demo->frame, &look, WEIR_TONE_PLAIN,
            "%s: executions %" PRIu64 ", failures %" PRIu64 ", panics survived %" PRIu64
            ", workers unfinished %zu",
            weir_duration_format(demo->now.elapsed_ns, elapsed, sizeof elapsed),
            summary->executions, summary->failures, summary->panics, summary->unfinished);
        if (good)
            weir_frame_append_line(
                &demo->frame, &look, WEIR_TONE_GOOD,
                "verdict: good, all %d workers lived to the end and stopped",
                WEIR_CAST_COUNT);
        else
            weir_frame_append_line(
                &demo->frame, &look, WEIR_TONE_BAD,
                "verdict: bad, workers that ended early: %zu, that did not stop: %zu",
                summary->lost, summary->unfinished);
    }
    weir_console_write(&demo->console, weir_buf_get(out));
    return weir_buf_status(out);
}
