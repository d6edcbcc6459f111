/*
 * status.c - `weir status [QUEUE]`: what waits, which processes deliver, what fails; once
 * or live.
 */
#include <inttypes.h>

#include "base/duration.h"
#include "base/noun.h"
#include "cli/console.h"
#include "cli/reply.h"
#include "cli/status/execution_summary.h"
#include "db/connection.h"
#include "db/sqlite/space.h"
#include "db/traits.h"
#include "execution/events.h"
#include "weir/heap.h"
#include "weir/inspect.h"
#include "weir/time.h"

enum { JSON_SIZE_MAX = 64 << 20, MEBIBYTE = 1 << 20 };

static int run(const struct weir_command *self, int argc, char **argv);

struct status {
    struct weir_session session;
    const char *queue; /* NULL: all */
    bool all;
    int64_t watch_ns; /* 0: once */
    struct weir_status_view view;
    size_t hidden_count;            /* partitions with nothing to show */
    struct weir_buf retained;       /* lines about queues that keep what was delivered */
    struct weir_sqlite_space space; /* of all queues only; no pages: not SQLite */
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('a', "all", NULL, "also queues and partitions with nothing to show",
                WEIR_AS_FLAG(struct status, all)),
    WEIR_OPTION(
        'w', "watch", "D", "show it again every D (2s, 500ms), until Ctrl-C",
        WEIR_AS_NS(struct status, watch_ns, WEIR_MILLISECONDS(100), WEIR_SECONDS(3600))),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(struct status, queue), .optional = true),
};

const struct weir_command weir_cli_status = {
    .name = "status",
    .summary = "state of queues, processes and executions",
    .usage = "[QUEUE] [--all] [--watch D]",
    .details =
        "Shows all queues, or one of them with its subscriptions and partitions:\n"
        "those in which messages wait, fail or lost their owner, unless --all is\n"
        "given. Seq is the number of the last message acknowledged, epoch the\n"
        "fencing token of the partition's owner. Works with no process running, and\n"
        "answers at once however much waits: '~' is an estimate. In/s is estimated\n"
        "from the newest messages, out/s is what live processes have said within the\n"
        "last seconds.\n"
        "\n"
        "Without QUEUE also the lanes of the execution engine that have work: what is\n"
        "ready, counted up to 1000, delayed and active, up to 10000; and how much of a\n"
        "file of SQLite is free, if that is much.\n",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .run = run,
};

/* ---- queues ------------------------------------------------------------------------ */

/* From when on a queue that keeps what was delivered has everything. */
static void note_retained(struct weir_buf *text, const struct weir_queue_info *info)
{
    char duration[WEIR_DURATION_TEXT_SIZE];
    char time[WEIR_OUTPUT_TIME_SIZE];

    if (info->retain_us > 0)
        weir_buf_append_format(
            text, "'%s' keeps %s: everything since %s is there\n", info->name,
            weir_duration_spell(info->retain_us * 1000, duration, sizeof duration),
            weir_output_time(info->whole_from_us, time));
}

/* Queues of the execution engine without a subscription have no row in a table. */
static bool has_row(const struct status *self, const struct weir_queue_info *info)
{
    return self->session.shared.json || self->queue != NULL || self->all ||
           info->subscriptions > 0 || !weir_events_is_queue(info->name);
}

static void add_queue(void *state, const struct weir_queue_info *info)
{
    struct status *self = state;

    if (has_row(self, info))
        weir_record_list_add(&self->view.queues, info);
    note_retained(&self->retained, info);
}

/* ---- partitions -------------------------------------------------------------------- */

static bool has_something_to_tell(const struct weir_partition_info *info)
{
    bool orphaned = info->owner[0] != '\0' && info->lease_left_us == 0;

    return info->waiting > 0 || info->attempts > 0 || info->crashes > 0 || orphaned ||
           info->last_error[0] != '\0';
}

static void add_partition(void *state, const struct weir_partition_info *info)
{
    struct status *self = state;

    if (self->session.shared.json || self->all || has_something_to_tell(info))
        weir_record_list_add(&self->view.partitions, info);
    else
        self->hidden_count++;
}

static void add_process(void *state, const struct weir_process_info *info)
{
    weir_record_list_add(state, info);
}

/* ---- reading ----------------------------------------------------------------------- */

static void forget(struct status *self)
{
    weir_status_view_reset(&self->view);
    weir_buf_reset(&self->retained);
    self->hidden_count = 0;
}

static enum weir_status read_space(struct status *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->session.db, &connection, error);

    self->space = (struct weir_sqlite_space){0};
    if (status == WEIR_OK && weir_connection_traits(connection)->in_process)
        status = weir_sqlite_space_read(connection, &self->space, error);
    weir_db_release(self->session.db, connection);
    self->view.file_bytes = self->space.pages * self->space.page_size;
    self->view.free_bytes = self->space.free_pages * self->space.page_size;
    return status;
}

static enum weir_status read_all(struct status *self, struct weir_error *error)
{
    struct weir_outbox *outbox = self->session.outbox;
    enum weir_status status;

    status = self->queue != NULL
                 ? weir_outbox_read_queue(outbox, self->queue, add_queue, self, error)
                 : weir_outbox_read_queues(outbox, add_queue, self, error);
    if (status == WEIR_OK && self->queue != NULL)
        status =
            weir_outbox_read_partitions(outbox, self->queue, add_partition, self, error);
    if (status == WEIR_OK)
        status = weir_outbox_read_processes(outbox, self->queue, add_process,
                                            &self->view.processes, error);
    if (status == WEIR_OK && self->queue == NULL)
        status = weir_execution_summary_read(&self->view, self->session.db, error);
    if (status == WEIR_OK && self->queue == NULL)
        status = read_space(self, error);
    return status;
}

/* ---- printing ---------------------------------------------------------------------- */

static void append_space(const struct status *self, struct weir_buf *frame)
{
    const struct weir_sqlite_space *space = &self->space;

    if (!weir_sqlite_space_is_wasted(space))
        return;
    weir_buf_append_format(
        frame, "\n%" PRId64 " of %" PRId64 " MiB of the file are free%s\n",
        space->free_pages * space->page_size / MEBIBYTE,
        space->pages * space->page_size / MEBIBYTE,
        space->incremental ? " and are given back" : "; VACUUM gives them back");
}

static enum weir_status append_partitions(const struct status *self,
                                          struct weir_buf *frame)
{
    enum weir_status status = WEIR_OK;

    weir_buf_append_text(frame, "\n");
    if (self->view.partitions.count > 0)
        status = weir_output_append_table(&self->view.partitions.table, frame);
    if (self->view.partitions.count + self->hidden_count == 0)
        weir_buf_append_text(
            frame, "no subscriptions: the first handler or relay makes its own\n");
    else if (self->hidden_count > 0)
        weir_buf_append_format(frame, "%s%zu %s with nothing to show; --all shows them\n",
                               self->view.partitions.count > 0 ? "and " : "",
                               self->hidden_count,
                               WEIR_NOUN(self->hidden_count, "partition", "partitions"));
    return status;
}

static enum weir_status append_tables(const struct status *self, struct weir_buf *frame)
{
    enum weir_status status;

    if (self->view.queues.count == 0) {
        weir_buf_append_text(
            frame, "no queues; make one with 'weir queue add NAME --partitions N'\n");
        return weir_execution_summary_append_table(&self->view, frame);
    }
    status = weir_output_append_table(&self->view.queues.table, frame);
    if (self->retained.size > 0)
        weir_buf_append_format(frame, "\n%s", weir_buf_text(&self->retained));
    if (status == WEIR_OK && self->queue != NULL)
        status = append_partitions(self, frame);
    weir_buf_append_text(frame, "\n");
    if (self->view.processes.count == 0)
        weir_buf_append_text(frame, "no process delivers\n");
    else if (status == WEIR_OK)
        status = weir_output_append_table(&self->view.processes.table, frame);
    if (status == WEIR_OK)
        status = weir_execution_summary_append_table(&self->view, frame);
    return status;
}

static void append_json(const struct status *self, struct weir_buf *frame)
{
    weir_record_append_json(&weir_status_record, frame, NULL, &self->view, 0);
    weir_buf_append_text(frame, "\n");
}

static enum weir_status append_text(const struct status *self, struct weir_buf *frame)
{
    enum weir_status status = append_tables(self, frame);

    append_space(self, frame);
    return status;
}

/* All as it is now, as lines. */
static enum weir_status compose(struct status *self, struct weir_buf *frame,
                                struct weir_error *error)
{
    enum weir_status status;

    forget(self);
    weir_buf_reset(frame);
    status = read_all(self, error);
    if (status != WEIR_OK)
        return status;
    if (self->session.shared.json)
        append_json(self, frame);
    else
        status = append_text(self, frame);
    if (status == WEIR_OK)
        status = weir_buf_status(frame);
    return status == WEIR_OK
               ? status
               : weir_error_set(error, status, "print: %s", weir_status_text(status));
}

static int show(struct status *self, struct weir_buf *frame)
{
    struct weir_error error = {0};

    if (compose(self, frame, &error) != WEIR_OK)
        return weir_session_fail(&self->session, &error, self->queue);
    return weir_output_lines(self->session.command, frame);
}

/* Again and again, until it is enough or fails. */
static int watch(struct status *self, struct weir_buf *frame)
{
    enum weir_console_style style =
        self->session.shared.json ? WEIR_CONSOLE_PLAIN : WEIR_CONSOLE_LIVE_IF_TERMINAL;
    struct weir_console console;
    struct weir_error error = {0};
    enum weir_status status = weir_console_open(&console, style, &error);
    bool more = true;

    if (status != WEIR_OK)
        return weir_command_fail(self->session.command, "%s", error.text);
    while (status == WEIR_OK && more) {
        status = compose(self, frame, &error);
        if (status == WEIR_OK)
            more = weir_console_draw(&console, weir_buf_get(frame)) &&
                   weir_console_wait(&console, self->watch_ns);
    }
    weir_console_close(&console);
    return status == WEIR_OK ? WEIR_EXIT_DONE
                             : weir_session_fail(&self->session, &error, self->queue);
}

/* ---- life -------------------------------------------------------------------------- */

/* The tables live as long as the session, so that columns keep their widths. */
static int show_or_watch(void *state)
{
    struct status *self = state;
    struct weir_buf frame;
    int code;

    weir_status_view_init(&self->view, weir_reply_form(&self->session));
    self->view.database = self->session.name;
    self->view.of_one_queue = self->queue != NULL;
    weir_buf_init(&self->retained, weir_heap_system(), JSON_SIZE_MAX);
    weir_buf_init(&frame, weir_heap_system(), JSON_SIZE_MAX);
    code = self->watch_ns > 0 ? watch(self, &frame) : show(self, &frame);
    weir_buf_fini(&frame);
    weir_buf_fini(&self->retained);
    weir_status_view_fini(&self->view);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct status status = {.queue = NULL};
    int code = weir_command_parse(self, argc, argv, &status, sizeof status);

    if (code >= 0)
        return code;
    return weir_session_run(&status.session, self, WEIR_SESSION_OUTBOX, show_or_watch,
                            &status);
}
