/*
 * flow_show.c - `weir flow show`: the flow of a flow, and why its members wait.
 */
#include <stdio.h>

#include "cli/console.h"
#include "cli/execution/execution_words.h"
#include "cli/flow/flow_chart_text.h"
#include "weir/heap.h"

enum {
    FOLD_DEFAULT = 12,
    TEXT_SIZE_MAX = 256 << 20,
};

static int run(const struct weir_command *self, int argc, char **argv);

struct show_call {
    struct weir_execution_session session;
    const char *word;
    struct weir_flow_id flow;
    int64_t watch_ns; /* 0: once */
    int64_t fold;
    bool ids;
    struct weir_flow_chart chart;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('w', "watch", "D", "show it again and again, until it ends",
                WEIR_AS_NS(struct show_call, watch_ns, WEIR_MILLISECONDS(100),
                           WEIR_SECONDS(3600))),
    WEIR_OPTION(0, "fold", "N", "sum up layers of more members; 0: never; default 12",
                WEIR_AS_NUMBER(struct show_call, fold, 0, WEIR_CHART_MEMBERS_MAX)),
    WEIR_OPTION(0, "ids", NULL, "show the ids of members",
                WEIR_AS_FLAG(struct show_call, ids)),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("FLOW", WEIR_AS_TEXT(struct show_call, word)),
};

const struct weir_command weir_cli_flow_show = {
    .name = "flow show",
    .summary = "draw a flow, and say why its members wait",
    .usage = "FLOW | EXECUTION [--watch D] [--fold N] [--ids]",
    .details =
        "Of an execution it is the flow that it is a member of. From top to bottom:\n"
        "a member waits for those above it that a line comes from. 'needs 2' is how "
        "many\n"
        "of these must end well. With --quiet only the state of the flow is printed.\n"
        "\n"
        "  o open   @ active   * completed   x failed, cancelled or expired\n"
        "  - skipped   # several\n"
        "\n"
        "Lines and marks are drawn in ASCII where the locale is not UTF-8.\n",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .run = run,
};

/* ---- which one --------------------------------------------------------------------- */

static int find_flow_of(struct show_call *self)
{
    const struct weir_command *command = self->session.session.command;
    struct weir_execution_id id;
    struct weir_error error = {0};
    enum weir_status status;
    int code = weir_execution_take_id(command, self->word, &id);

    if (code != WEIR_EXIT_DONE)
        return code;
    status = weir_flow_of(self->session.executions, &id, &self->flow, &error);
    if (status == WEIR_NO_ROW)
        return weir_command_fail(command, "%s is in no flow; see 'weir execution get'",
                                 self->word);
    return status == WEIR_OK ? WEIR_EXIT_DONE
                             : weir_execution_session_fail(&self->session, &error);
}

/* Too large to be drawn is not too large to be listed. */
static int tell(const struct show_call *self, const struct weir_error *error)
{
    if (error->status == WEIR_TOO_LARGE)
        return weir_command_fail(self->session.session.command,
                                 "%s; 'weir execution list --flow %s' lists them",
                                 error->text, self->word);
    return weir_flow_fail(&self->session, error);
}

/* ---- printing ---------------------------------------------------------------------- */

static enum weir_status compose(struct show_call *self, size_t width,
                                enum weir_tone_use tones, struct weir_buf *frame,
                                struct weir_error *error)
{
    const struct weir_command_shared *shared = &self->session.session.shared;
    struct weir_chart_text_options options = {.width = width,
                                              .tones = tones,
                                              .style = weir_draw_style_of_output(),
                                              .fold = (size_t)self->fold,
                                              .ids = self->ids};
    enum weir_status status =
        weir_flow_chart_read(&self->chart, &self->session, &self->flow, error);

    weir_buf_reset(frame);
    if (status != WEIR_OK)
        return status;
    if (shared->json) {
        weir_flow_chart_append_json(&self->chart, frame);
        weir_buf_append_text(frame, "\n");
        status = weir_buf_status(frame);
    } else if (shared->quiet) {
        weir_buf_append_format(frame, "%s\n",
                               weir_flow_state_name(self->chart.info.state));
    } else {
        status = weir_flow_chart_append_text(&self->chart, &options, frame);
    }
    return status == WEIR_OK
               ? status
               : weir_error_set(error, status, "print: %s", weir_status_text(status));
}

static int show(struct show_call *self, struct weir_buf *frame)
{
    struct weir_error error = {0};

    if (compose(self, weir_output_width(), weir_output_tones(), frame, &error) != WEIR_OK)
        return tell(self, &error);
    return weir_output_lines(self->session.session.command, frame);
}

/* Again and again, until it has ended, is enough, or fails. */
static int watch(struct show_call *self, struct weir_buf *frame)
{
    enum weir_console_style style = self->session.session.shared.json
                                        ? WEIR_CONSOLE_PLAIN
                                        : WEIR_CONSOLE_LIVE_IF_TERMINAL;
    struct weir_console console;
    struct weir_error error = {0};
    enum weir_status status = weir_console_open(&console, style, &error);
    bool more = true;

    if (status != WEIR_OK)
        return weir_command_fail(self->session.session.command, "%s", error.text);
    while (status == WEIR_OK && more) {
        status = compose(self, console.width, console.tones, frame, &error);
        if (status == WEIR_OK)
            more = weir_console_draw(&console, weir_buf_get(frame)) &&
                   self->chart.info.ended_us == 0 &&
                   weir_console_wait(&console, self->watch_ns);
    }
    weir_console_close(&console);
    return status == WEIR_OK ? WEIR_EXIT_DONE : tell(self, &error);
}

static int show_flow(void *state)
{
    struct show_call *self = state;
    struct weir_buf frame;
    int code = weir_execution_is_id(self->word) ? find_flow_of(self) : WEIR_EXIT_DONE;

    if (code != WEIR_EXIT_DONE)
        return code;
    weir_buf_init(&frame, weir_heap_system(), TEXT_SIZE_MAX);
    code = self->watch_ns > 0 ? watch(self, &frame) : show(self, &frame);
    weir_buf_fini(&frame);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct show_call call = {.fold = FOLD_DEFAULT};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    if (!weir_execution_is_id(call.word)) {
        code = weir_flow_take_id(self, call.word, &call.flow);
        if (code != WEIR_EXIT_DONE)
            return code;
    }
    weir_flow_chart_init(&call.chart);
    code = weir_execution_session_run(&call.session, self, WEIR_EXECUTION_SESSION_SILENT,
                                      show_flow, &call);
    weir_flow_chart_fini(&call.chart);
    return code;
}
