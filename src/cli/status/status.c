/*
 * status.c - `weir status [QUEUE]`: what waits, who delivers, what fails; once or live.
 */
#include <getopt.h>
#include <inttypes.h>

#include "base/count.h"
#include "base/noun.h"
#include "base/text.h"
#include "cli/console.h"
#include "cli/queue/queue_view.h"
#include "cli/session.h"
#include "cli/status/execution_summary.h"
#include "db/sqlite/space.h"
#include "weir/heap.h"
#include "weir/inspect.h"
#include "weir/time.h"

enum { JSON_SIZE_MAX = 64 << 20, MEBIBYTE = 1 << 20 };

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    {'a', "all", NULL, "also queues and partitions with nothing to tell"},
    {'w', "watch", "D", "show it again every D (2s, 500ms), until Ctrl-C"},
};

const struct weir_command weir_cli_status = {
    .name = "status",
    .summary = "what waits, who delivers, what fails",
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
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .uses_db = true,
    .run = run,
};

static const struct weir_table_column PARTITION_COLUMNS[] = {
    {.title = "subscription", .cut_to = 10},
    {.title = "partition", .align = WEIR_TABLE_RIGHT},
    {.title = "seq", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "waiting", .align = WEIR_TABLE_RIGHT},
    {.title = "oldest", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "attempts", .align = WEIR_TABLE_RIGHT, .rank = 3},
    {.title = "retry in", .align = WEIR_TABLE_RIGHT, .rank = 4},
    {.title = "owner", .cut_to = 10, .rank = 5},
    {.title = "epoch", .align = WEIR_TABLE_RIGHT, .rank = 7},
    {.title = "lease left", .align = WEIR_TABLE_RIGHT, .rank = 6},
    {.title = "last error", .cut_to = 12},
};

static const struct weir_table_column PROCESS_COLUMNS[] = {
    {.title = "process", .cut_to = 12},
    {.title = "queue", .cut_to = 10},
    {.title = "subscription", .cut_to = 10},
    {.title = "partitions", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "out/s", .align = WEIR_TABLE_RIGHT},
    {.title = "delivered", .align = WEIR_TABLE_RIGHT, .rank = 3},
    {.title = "up", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "alive by", .rank = 5},
    {.title = "library", .rank = 4},
    {.title = "remark", .cut_to = 12},
};

/* As in the log: from here on a clock is wrong. */
#define CLOCK_OFF_S_MAX 5.0

struct status {
    struct weir_session session;
    const char *queue; /* NULL: all */
    bool all;
    int64_t watch_ns; /* 0: once */
    struct weir_queue_view queues;
    struct weir_table partitions;
    struct weir_buf partitions_json;
    size_t partition_count;
    size_t hidden_count;
    struct weir_table processes;
    struct weir_buf processes_json;
    size_t process_count;
    struct weir_execution_summary executions; /* of all queues only */
    struct weir_sqlite_space space;           /* likewise; no pages: not SQLite */
};

/* ---- partitions -------------------------------------------------------------------- */

static bool has_something_to_tell(const struct weir_partition_info *info)
{
    bool orphaned = info->owner[0] != '\0' && info->lease_left_us == 0;

    return info->waiting > 0 || info->attempts > 0 || info->crashes > 0 || orphaned ||
           info->last_error[0] != '\0';
}

static void add_partition_row(struct weir_table *table,
                              const struct weir_partition_info *info)
{
    char text[WEIR_AGE_SIZE > WEIR_COUNT_SIZE ? WEIR_AGE_SIZE : WEIR_COUNT_SIZE];
    enum weir_tone tone = info->attempts > 0 ? WEIR_TONE_BAD : WEIR_TONE_PLAIN;

    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->subscription);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId32, info->partition);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId64, info->seq);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_count(info->waiting, info->waiting_is_estimate, text));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_age(info->oldest_age_us, text));
    weir_table_add(table, tone, "%" PRIu32, info->attempts);
    weir_table_add(table, tone, "%s", weir_output_age(info->retry_in_us, text));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   info->owner[0] != '\0' ? info->owner : "-");
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId64, info->epoch);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_age(info->lease_left_us, text));
    weir_table_add(table, tone, "%s", info->last_error);
}

static void add_partition(void *state, const struct weir_partition_info *info)
{
    struct status *self = state;
    struct weir_buf *json = &self->partitions_json;

    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "subscription", info->subscription);
    weir_output_add_number(json, "partition", info->partition);
    weir_output_add_number(json, "seq", info->seq);
    weir_output_add_number(json, "waiting", info->waiting);
    weir_output_add_flag(json, "waiting_is_estimate", info->waiting_is_estimate);
    weir_output_add_seconds(json, "oldest_age_seconds", info->oldest_age_us);
    weir_output_add_number(json, "attempts", info->attempts);
    weir_output_add_seconds(json, "retry_in_seconds", info->retry_in_us);
    weir_output_add_text(json, "last_error", info->last_error);
    weir_output_add_text(json, "owner", info->owner);
    weir_output_add_number(json, "epoch", info->epoch);
    weir_output_add_seconds(json, "lease_left_seconds", info->lease_left_us);
    weir_output_add_number(json, "crashes", info->crashes);
    weir_buf_append_text(json, "}");

    if (!self->all && !has_something_to_tell(info)) {
        self->hidden_count++;
        return;
    }
    self->partition_count++;
    add_partition_row(&self->partitions, info);
}

/* ---- processes --------------------------------------------------------------------- */

/* What an operator should do something about; "-" if there is nothing. */
static void remark(const struct weir_process_info *info, char *out, size_t size)
{
    double off_s = (double)info->clock_off_us / 1e6;
    bool wrong_clock = off_s > CLOCK_OFF_S_MAX || off_s < -CLOCK_OFF_S_MAX;
    char clock[48] = "";

    if (wrong_clock)
        weir_text_format(clock, sizeof clock, "clock %.1f s %s",
                         off_s < 0 ? -off_s : off_s, off_s < 0 ? "behind" : "ahead");
    weir_text_format(
        out, size, "%s%s%s%s%s", info->name_used_twice ? "name used twice" : "",
        info->name_used_twice && wrong_clock ? ", " : "", clock,
        info->library_is_older && (info->name_used_twice || wrong_clock) ? ", " : "",
        info->library_is_older ? "older library" : "");
    if (out[0] == '\0')
        weir_text_format(out, size, "-");
}

static const char *alive_by_name(enum weir_alive_by alive_by)
{
    return alive_by == WEIR_ALIVE_BY_LOCK ? "lock" : "lease";
}

static void add_process(void *state, const struct weir_process_info *info)
{
    struct status *self = state;
    struct weir_buf *json = &self->processes_json;
    char rate[WEIR_RATE_SIZE];
    char up[WEIR_AGE_SIZE];
    char text[96];

    self->process_count++;
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%s", info->name);
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%s", info->queue);
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%s", info->subscription);
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%" PRIu32, info->partitions);
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%s",
                   weir_output_rate(info->out_per_s, rate));
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%" PRIu64, info->delivered);
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%s",
                   weir_output_age(info->up_us, up));
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%s",
                   alive_by_name(info->alive_by));
    weir_table_add(&self->processes, WEIR_TONE_PLAIN, "%s",
                   info->library[0] != '\0' ? info->library : "?");
    remark(info, text, sizeof text);
    weir_table_add(&self->processes, text[0] != '-' ? WEIR_TONE_BAD : WEIR_TONE_PLAIN,
                   "%s", text);

    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "process", info->name);
    weir_output_add_text(json, "queue", info->queue);
    weir_output_add_text(json, "subscription", info->subscription);
    weir_output_add_number(json, "partitions", info->partitions);
    weir_output_add_rate(json, "out_per_second", info->out_per_s);
    weir_output_add_number(json, "delivered", (int64_t)info->delivered);
    weir_output_add_seconds(json, "up_seconds", info->up_us);
    weir_output_add_text(json, "alive_by", alive_by_name(info->alive_by));
    weir_output_add_text(json, "library", info->library);
    weir_output_add_flag(json, "library_is_older", info->library_is_older);
    weir_output_add_seconds(json, "clock_off_seconds", info->clock_off_us);
    weir_output_add_flag(json, "name_used_twice", info->name_used_twice);
    weir_buf_append_text(json, "}");
}

/* ---- reading ----------------------------------------------------------------------- */

static void forget(struct status *self)
{
    weir_queue_view_reset(&self->queues);
    weir_table_reset(&self->partitions);
    weir_table_reset(&self->processes);
    weir_buf_reset(&self->partitions_json);
    weir_buf_reset(&self->processes_json);
    self->partition_count = 0;
    self->hidden_count = 0;
    self->process_count = 0;
}

static enum weir_status read_space(struct status *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->session.db, &connection, error);

    self->space = (struct weir_sqlite_space){0};
    if (status == WEIR_OK && weir_connection_engine(connection) == WEIR_SQLITE)
        status = weir_sqlite_space_read(connection, &self->space, error);
    weir_db_release(self->session.db, connection);
    return status;
}

static enum weir_status read_all(struct status *self, struct weir_error *error)
{
    struct weir_outbox *outbox = self->session.outbox;
    enum weir_status status;

    status =
        self->queue != NULL
            ? weir_outbox_read_queue(outbox, self->queue, weir_queue_view_add,
                                     &self->queues, error)
            : weir_outbox_read_queues(outbox, weir_queue_view_add, &self->queues, error);
    if (status == WEIR_OK && self->queue != NULL)
        status =
            weir_outbox_read_partitions(outbox, self->queue, add_partition, self, error);
    if (status == WEIR_OK)
        status =
            weir_outbox_read_processes(outbox, self->queue, add_process, self, error);
    if (status == WEIR_OK && self->queue == NULL)
        status = weir_execution_summary_read(&self->executions, self->session.db, error);
    if (status == WEIR_OK && self->queue == NULL)
        status = read_space(self, error);
    return status;
}

/* ---- printing ---------------------------------------------------------------------- */

static void append_list(struct weir_buf *json, const char *name,
                        const struct weir_buf *items)
{
    weir_output_open(json, name, "[");
    weir_buf_append(json, weir_buf_text(items), items->size);
    weir_buf_append_text(json, "]");
}

static void append_json(const struct status *self, struct weir_buf *frame)
{
    weir_output_open(frame, NULL, "{");
    weir_output_add_text(frame, "database", self->session.name);
    weir_queue_view_append_json(&self->queues, frame);
    if (self->queue != NULL)
        append_list(frame, "partitions", &self->partitions_json);
    append_list(frame, "processes", &self->processes_json);
    weir_execution_summary_append_json(&self->executions, frame);
    if (self->space.pages > 0) {
        weir_output_add_number(frame, "file_bytes",
                               self->space.pages * self->space.page_size);
        weir_output_add_number(frame, "free_bytes",
                               self->space.free_pages * self->space.page_size);
    }
    weir_buf_append_text(frame, "}\n");
}

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
    if (self->partition_count > 0)
        status = weir_output_append_table(&self->partitions, frame);
    if (self->partition_count + self->hidden_count == 0)
        weir_buf_append_text(
            frame, "no subscriptions: the first handler or relay makes its own\n");
    else if (self->hidden_count > 0)
        weir_buf_append_format(frame, "%s%zu %s with nothing to tell; --all shows them\n",
                               self->partition_count > 0 ? "and " : "",
                               self->hidden_count,
                               WEIR_NOUN(self->hidden_count, "partition", "partitions"));
    return status;
}

static enum weir_status append_tables(const struct status *self, struct weir_buf *frame)
{
    enum weir_status status;

    if (self->queues.count == 0) {
        weir_buf_append_text(
            frame, "no queues; make one with 'weir queue add NAME --partitions N'\n");
        return weir_execution_summary_append_table(&self->executions, frame);
    }
    status = weir_output_append_table(&self->queues.table, frame);
    weir_queue_view_append_retained(&self->queues, frame);
    if (status == WEIR_OK && self->queue != NULL)
        status = append_partitions(self, frame);
    weir_buf_append_text(frame, "\n");
    if (self->process_count == 0)
        weir_buf_append_text(frame, "no process delivers\n");
    else if (status == WEIR_OK)
        status = weir_output_append_table(&self->processes, frame);
    if (status == WEIR_OK)
        status = weir_execution_summary_append_table(&self->executions, frame);
    return status;
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

static void open_status(struct status *self)
{
    const struct weir_heap *heap = weir_heap_system();

    weir_queue_view_init(&self->queues);
    self->queues.terse = self->queue == NULL && !self->all;
    weir_table_init(&self->partitions, heap, PARTITION_COLUMNS,
                    COUNT_OF(PARTITION_COLUMNS));
    weir_table_init(&self->processes, heap, PROCESS_COLUMNS, COUNT_OF(PROCESS_COLUMNS));
    weir_buf_init(&self->partitions_json, heap, JSON_SIZE_MAX);
    weir_buf_init(&self->processes_json, heap, JSON_SIZE_MAX);
    weir_execution_summary_init(&self->executions);
}

static void close_status(struct status *self)
{
    weir_queue_view_fini(&self->queues);
    weir_table_fini(&self->partitions);
    weir_table_fini(&self->processes);
    weir_buf_fini(&self->partitions_json);
    weir_buf_fini(&self->processes_json);
    weir_execution_summary_fini(&self->executions);
}

static bool take_watch(const struct weir_command *self, struct status *out)
{
    return weir_command_duration(self, "watch", optarg, WEIR_MILLISECONDS(100),
                                 WEIR_SECONDS(3600), &out->watch_ns) == WEIR_EXIT_DONE;
}

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct status *out)
{
    int id;

    while ((id = weir_command_next_option(self, argc, argv)) != WEIR_OPTIONS_END) {
        if (id == WEIR_OPTIONS_HELPED)
            return WEIR_EXIT_DONE;
        if (id == 'a')
            out->all = true;
        else if (id != 'w' || !take_watch(self, out))
            return WEIR_EXIT_MISUSE;
    }
    if (optind < argc)
        out->queue = argv[optind++];
    id = weir_command_no_operands(self, argc, argv);
    return id == WEIR_EXIT_DONE ? -1 : id;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct status status = {.queue = NULL};
    struct weir_buf frame;
    int code = parse(self, argc, argv, &status);

    if (code >= 0)
        return code;
    open_status(&status);
    weir_buf_init(&frame, weir_heap_system(), JSON_SIZE_MAX);
    code = weir_session_open(&status.session, self, WEIR_SESSION_OUTBOX, NULL);
    if (code == WEIR_EXIT_DONE)
        code = status.watch_ns > 0 ? watch(&status, &frame) : show(&status, &frame);
    weir_session_close(&status.session);
    weir_buf_fini(&frame);
    close_status(&status);
    return code;
}
