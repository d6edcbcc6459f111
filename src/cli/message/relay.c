/*
 * relay.c - `weir relay`: its options, its beginning and its end.
 *
 * Everything that may be refused is looked at before anything is changed: first all
 * queues, then the sink, and a subscription is made last.
 */
#include "cli/message/relay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/noun.h"
#include "base/permissions.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "outbox/names.h"
#include "outbox/queue/catalog.h"
#include "view/message_records.h"
#include "weir/heap.h"
#include "weir/time.h"

enum { BATCH_MAX = 10000, HANDLERS_MAX = 512, JSON_SIZE_MAX = 1 << 20 };

/* What remains to be done when the grace of the last process is over: it is killed, and
 * what came before it acknowledged. */
#define GRACE_SLACK WEIR_SECONDS(1)

static int run(const struct weir_command *self, int argc, char **argv);

static const char *start_at(size_t index)
{
    return index == WEIR_START_NOW ? "now" : "beginning";
}

static const struct weir_option_words STARTS = {
    .at = start_at,
    .count = WEIR_START_NOW + 1,
};

static int parse_permissions(const struct weir_command *self,
                             const struct weir_command_option *option, char *word,
                             void *out)
{
    uint32_t permissions = 0;

    if (!weir_permissions_parse(weir_str(word), &permissions))
        return weir_command_misuse(self, "--%s is '%s', " WEIR_PERMISSIONS_RULE,
                                   option->name, word);
    *(uint32_t *)out = permissions;
    return WEIR_EXIT_DONE;
}

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('Q', "queue", "QUEUE", "of the messages; may be given 64 times",
                WEIR_AS_TEXT(struct weir_relay_plan, lines[0].queue),
                WEIR_IN_SET(struct weir_relay_plan, lines, count, "queues")),
    WEIR_OPTION('t', "to", "SINK", "where to, see above",
                WEIR_AS_TEXT(struct weir_relay_plan, options.sink)),
    WEIR_OPTION('a', "as", "NAME", "of the subscription; default 'default'",
                WEIR_AS_TEXT(struct weir_relay_plan, options.as)),
    WEIR_OPTION('d', "drain", NULL, "end when nothing is left",
                WEIR_AS_FLAG(struct weir_relay_plan, drain)),
    WEIR_OPTION(0, "from", "beginning|now", "where a new subscription begins",
                WEIR_AS_CHOICE(struct weir_relay_plan, options.start, STARTS)),
    WEIR_OPTION(0, "batch", "N", "messages at once, 1 to 10000; default 100, exec 1",
                WEIR_AS_NUMBER(struct weir_relay_plan, options.batch, 1, BATCH_MAX)),
    WEIR_OPTION(0, "handlers", "N", "partitions at once, 1 to 512; default 4",
                WEIR_AS_NUMBER(struct weir_relay_plan, handlers, 1, HANDLERS_MAX)),
    WEIR_OPTION(0, "lease", "D", "100ms to 1h; default 30s",
                WEIR_AS_NS(struct weir_relay_plan, options.lease.duration_ns,
                           WEIR_LEASE_DURATION_MIN, WEIR_LEASE_DURATION_MAX)),
    WEIR_OPTION(0, "permissions", "MODE", "of a file that is made; default 0600",
                WEIR_AS_PARSED(struct weir_relay_plan, options.permissions, uint32_t,
                               parse_permissions)),
    WEIR_GRACE_OPTION(struct weir_relay_plan, grace_ns),
};

const struct weir_command weir_cli_relay = {
    .name = "relay",
    .summary = "deliver messages to standard output, a file or a program",
    .usage = "--queue QUEUE --to SINK [OPTION...]",
    .details =
        "Delivers what is in a queue and what comes, until it is stopped:\n"
        "\n"
        "  stdout:               a line of JSON per message on standard output\n"
        "  file:PATH             the same at the end of a file\n"
        "  exec:COMMAND          a process per message, the line on its standard\n"
        "                        input; exit code 0 is done, 65 rejects, any other\n"
        "                        is tried again; WEIR_QUEUE, WEIR_PARTITION,\n"
        "                        WEIR_SEQ, WEIR_ID, WEIR_KEY, WEIR_TYPE,\n"
        "                        WEIR_ATTEMPTS and WEIR_EPOCH are in its environment\n"
        "  exec-stream:COMMAND   processes that live on: a line in, 'ok', 'retry WHY'\n"
        "                        or 'reject WHY' out; 'ok ID' counts for this id only\n"
        "\n"
        "A message is acknowledged when it has arrived: its line is written, for\n"
        "file: on disk, or the process has said so. After a crash the last messages\n"
        "may come again, with the same id. Relays with the same name share the\n"
        "partitions of a queue, each name gets everything. A process of exec: gets\n"
        "the time of the lease, less two seconds, and is killed then.\n"
        "\n"
        "A database that is away at the start is waited for. With --drain, exit code\n"
        "3 says that messages became dead letters by attempts-max.\n"
        "\n"
        "SIGTERM and Ctrl-C stop it cleanly, with exit code 0: what runs gets\n"
        "the grace; a second one ends it at once. What fails is said on standard\n"
        "error when it changes, and tried again. The summary is printed there too;\n"
        "with --json it goes to standard output, unless messages do.\n"
        "\n"
        "  weir relay --queue orders --to stdout: | jq .payload\n"
        "  weir relay --queue orders --as archive --to file:orders.jsonl --drain\n"
        "  weir relay --queue orders --as mail --to 'exec:./send-mail'\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

/* ---- options ----------------------------------------------------------------------- */

/* A short lease has less headroom than the library would give to a long one. */
static void fit_headroom(struct weir_lease_options *lease)
{
    if (lease->headroom_ns > lease->duration_ns / 4)
        lease->headroom_ns = lease->duration_ns / 4;
}

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct weir_relay_plan *plan)
{
    int code = weir_command_parse(self, argc, argv, plan, sizeof *plan);

    if (code < 0 && plan->count == 0)
        code = weir_command_misuse(self, "which queue? --queue QUEUE is needed");
    if (code < 0 && plan->options.sink == NULL)
        code = weir_command_misuse(self, "where to? --to SINK is needed, as in --to "
                                         "stdout:");
    fit_headroom(&plan->options.lease);
    return code;
}

/* ---- opening ----------------------------------------------------------------------- */

static int check_queue(struct weir_relay_plan *plan, const char *name)
{
    const struct weir_session *session = &plan->session;
    struct weir_connection *connection = NULL;
    struct weir_queue_row row = {0};
    struct weir_error error = {0};
    enum weir_status status = weir_queue_name_check("queue name", name, &error);

    if (status == WEIR_OK)
        status = weir_db_acquire(session->db, &connection, &error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, name, &row, &error);
    weir_db_release(session->db, connection);
    if (status != WEIR_OK)
        return weir_session_fail(session, &error, name);
    if (row.paused)
        weir_command_note(session->command,
                          "queue '%s' is paused; 'weir queue resume %s' lets it flow",
                          name, name);
    return WEIR_EXIT_DONE;
}

static int tell_not_opened(const struct weir_relay_plan *plan,
                           const struct weir_error *error)
{
    const struct weir_command *command = plan->session.command;

    switch (error->status) {
    case WEIR_MISMATCH:
        return weir_command_fail(command, "%s; another --as NAME gets everything, too",
                                 error->text);
    case WEIR_INVALID:
        return weir_command_misuse(command, "%s", error->text);
    default:
        return weir_command_fail(command, "%s", error->text);
    }
}

static int open_line(struct weir_relay_plan *plan, struct weir_relay_line *line)
{
    struct weir_relay_options options = plan->options;
    struct weir_error error = {0};

    options.queue = line->queue;
    options.stop_grace_ns = plan->grace_ns;
    if (weir_relay_open(plan->session.outbox, &options, &line->relay, &error) != WEIR_OK)
        return tell_not_opened(plan, &error);
    return WEIR_EXIT_DONE;
}

static int open_lines(struct weir_relay_plan *plan)
{
    int code = WEIR_EXIT_DONE;

    for (size_t i = 0; i < plan->count && code == WEIR_EXIT_DONE; i++)
        code = check_queue(plan, plan->lines[i].queue);
    for (size_t i = 0; i < plan->count && code == WEIR_EXIT_DONE; i++)
        code = open_line(plan, &plan->lines[i]);
    return code;
}

/* ---- the end ----------------------------------------------------------------------- */

struct result {
    int64_t delivered;
    int64_t rejected;
    int64_t given_up;
    int64_t elapsed_ns;
    size_t unfinished;
};

static const char *const ENDINGS[] = {
    [WEIR_RELAY_RUNS] = "",
    [WEIR_RELAY_DRAINED] = "drained",
    [WEIR_RELAY_STOPPED] = "stopped",
    [WEIR_RELAY_GIVEN_UP] = "failed",
};

static void each_queue(const void *state, weir_record_emit_fn emit, void *emit_state)
{
    const struct weir_relay_plan *plan = state;

    for (size_t i = 0; i < plan->count; i++)
        emit(emit_state, plan->lines[i].queue);
}

static int tell_json(const struct weir_relay_plan *plan, const struct result *result)
{
    const struct weir_relayed row = {
        .state = plan,
        .each_queue = each_queue,
        .as = plan->options.as,
        .sink = plan->options.sink,
        .delivered = result->delivered,
        .rejected = result->rejected,
        .given_up = result->given_up,
        .elapsed_ns = result->elapsed_ns,
        .ended = ENDINGS[plan->ending],
        .unfinished = result->unfinished,
        .error = plan->ending == WEIR_RELAY_GIVEN_UP ? plan->error : NULL,
    };
    struct weir_buf json;

    if (!plan->to_standard_output)
        return weir_reply_json(&plan->session, &weir_relayed_record, &row);
    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_record_append_json(&weir_relayed_record, &json, NULL, &row, 0);
    fprintf(stderr, "%s\n", weir_buf_text(&json));
    weir_buf_fini(&json);
    return WEIR_EXIT_DONE;
}

static void tell_text(const struct weir_relay_plan *plan, const struct result *result)
{
    double seconds = (double)result->elapsed_ns / 1e9;
    char rejected[64] = "";

    if (result->rejected > 0)
        weir_text_format(rejected, sizeof rejected, ", %" PRId64 " of them rejected",
                         result->rejected);
    fprintf(stderr, "%" PRId64 " %s in %.2f s, %.0f/s%s; %s\n", result->delivered,
            WEIR_NOUN(result->delivered, "message", "messages"), seconds,
            seconds > 0 ? (double)result->delivered / seconds : 0.0, rejected,
            plan->ending == WEIR_RELAY_DRAINED ? "nothing is left"
                                               : ENDINGS[plan->ending]);
}

/* With --drain the caller waits for all of it to arrive: not all of it has. */
static int tell_given_up(const struct weir_relay_plan *plan, const struct result *result)
{
    bool one = result->given_up == 1;

    if (result->given_up == 0)
        return WEIR_EXIT_DONE;
    weir_command_note(plan->session.command,
                      "%" PRId64 " %s failed as often as attempts-max allows and "
                      "%s now; 'weir dlq list' shows %s",
                      result->given_up,
                      WEIR_NOUN(result->given_up, "message", "messages"),
                      one ? "is a dead letter" : "are dead letters", one ? "it" : "them");
    return plan->drain ? WEIR_EXIT_GIVEN_UP : WEIR_EXIT_DONE;
}

static int tell(const struct weir_relay_plan *plan, const struct result *result)
{
    const struct weir_command *command = plan->session.command;
    int code = tell_given_up(plan, result);

    if (plan->ending == WEIR_RELAY_GIVEN_UP)
        code = weir_command_fail(command, "%s", plan->error);
    if (result->unfinished > 0)
        code = weir_command_fail(command,
                                 "%zu deliveries did not end within the grace; their "
                                 "partitions move on when their leases are over",
                                 result->unfinished);
    if (plan->session.shared.json) {
        int told = tell_json(plan, result);

        return code != WEIR_EXIT_DONE ? code : told;
    }
    if (!plan->session.shared.quiet)
        tell_text(plan, result);
    return code;
}

/* ---- life -------------------------------------------------------------------------- */

/* Drawing over the lines of messages would spoil both. */
static enum weir_progress_use use_of_terminal(const struct weir_relay_plan *plan)
{
    bool messages_on_it = plan->to_standard_output && isatty(STDOUT_FILENO);

    return plan->session.shared.quiet || messages_on_it ? WEIR_PROGRESS_OFF
                                                        : WEIR_PROGRESS_ON_TERMINAL;
}

static void stop(struct weir_relay_plan *plan, struct result *result)
{
    weir_progress_end(&plan->progress);
    if (plan->progress.shown && plan->ending == WEIR_RELAY_STOPPED)
        weir_command_note(plan->session.command, "stopping; again ends it at once");
    result->unfinished =
        weir_outbox_stop(plan->session.outbox, plan->grace_ns + GRACE_SLACK);
    result->elapsed_ns = weir_progress_elapsed_ns(&plan->progress);
    result->delivered = weir_relay_plan_delivered(plan);
    for (size_t i = 0; i < plan->count; i++) {
        result->rejected += (int64_t)weir_relay_rejected(plan->lines[i].relay);
        result->given_up += (int64_t)weir_relay_given_up(plan->lines[i].relay);
    }
}

static int relay(struct weir_relay_plan *plan)
{
    struct weir_error error = {0};
    struct result result = {0};
    enum weir_status status;

    weir_interrupt_withhold();
    status = weir_outbox_start(plan->session.outbox, &error);
    weir_interrupt_admit();
    if (status != WEIR_OK)
        return weir_session_fail(&plan->session, &error, NULL);
    weir_progress_begin(&plan->progress, (struct weir_noun){"message", "messages"}, 0,
                        use_of_terminal(plan));
    weir_relay_watch(plan);
    stop(plan, &result);
    return tell(plan, &result);
}

/* Signals are listened to from here on: the database may be waited for. */
static int open_session(struct weir_relay_plan *plan, const struct weir_command *self)
{
    struct weir_error error = {0};

    if (weir_interrupt_listen(&error) != WEIR_OK)
        return weir_command_fail(self, "%s", error.text);
    weir_interrupt_admit();
    return weir_session_open(&plan->session, self, WEIR_SESSION_OUTBOX,
                             &(struct weir_session_wishes){
                                 .away = weir_relay_wait_for_database,
                                 .state = plan,
                                 .handlers = plan->handlers,
                                 .profile = WEIR_PROFILE_HIGH_THROUGHPUT,
                             });
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_relay_plan plan = {.grace_ns = WEIR_GRACE_DEFAULT};
    int code;

    weir_relay_options_init(&plan.options);
    plan.options.as = "default";
    code = parse(self, argc, argv, &plan);
    if (code >= 0)
        return code;
    plan.to_standard_output = strcmp(plan.options.sink, "stdout:") == 0;
    code = open_session(&plan, self);
    if (plan.ended_waiting) /* in good order, as later */
        code = WEIR_EXIT_DONE;
    else if (code == WEIR_EXIT_DONE)
        code = open_lines(&plan);
    if (code == WEIR_EXIT_DONE && !plan.ended_waiting)
        code = relay(&plan);
    for (size_t i = 0; i < plan.count; i++)
        weir_relay_close(plan.lines[i].relay);
    weir_session_close(&plan.session);
    return code;
}
