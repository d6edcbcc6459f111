/*
 * queue_add.c - `weir queue add NAME --partitions N`.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/session.h"
#include "outbox/catalog.h"
#include "weir/heap.h"
#include "weir/worker.h"

enum {
    OPTION_BACKLOG_MAX = 256,
    OPTION_UNREAD,
    OPTION_ATTEMPTS_MAX,
    OPTION_RETENTION,
    JSON_SIZE_MAX = 64 << 10
};

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    {'p', "partitions", "N", "a power of two from 1 to 64, for ever"},
    {OPTION_UNREAD, "unread", "keep|drop", "what nobody subscribed to; default keep"},
    {OPTION_BACKLOG_MAX, "backlog-max", "N",
     "refuse to enqueue beyond; about; 0: no limit"},
    {OPTION_ATTEMPTS_MAX, "attempts-max", "N",
     "then a message becomes a dead letter; 0: never"},
    {OPTION_RETENTION, "dead-letter-retention", "D",
     "remove decided dead letters after; 0: never"},
};

const struct weir_command weir_cli_queue_add = {
    .name = "queue add",
    .summary = "add a queue, or change the policies of one",
    .usage = "NAME --partitions N [--unread keep|drop] [OPTION...]",
    .details =
        "A queue that exists with as many partitions gets the policies that are\n"
        "given here, and their defaults where none is. Another number of partitions\n"
        "is refused.\n"
        "\n"
        "A message that has failed --attempts-max times in calls of its own goes to\n"
        "the dead letters, and the next one is delivered. Dead letters that were\n"
        "resolved or discarded are removed after --dead-letter-retention, as in 7d.\n"
        "A process that ends counts against a message only if it was called alone,\n"
        "because a process had ended in its call before.\n"
        "\n"
        "Partitions are what can be delivered side by side; their number never\n"
        "changes. NAME has 1 to 1024 of A-Z a-z 0-9 . _ - and begins and ends with\n"
        "a letter or digit.\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .uses_db = true,
    .run = run,
};

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct weir_queue_options *out)
{
    int64_t number;
    int code = WEIR_EXIT_DONE;
    int id;

    weir_queue_options_init(out);
    out->partitions = 0;
    while ((id = weir_command_next_option(self, argc, argv)) != WEIR_OPTIONS_END) {
        switch (id) {
        case 'p':
            code = weir_command_number(self, "partitions", optarg, 1, WEIR_PARTITIONS_MAX,
                                       &number);
            out->partitions = (int32_t)number;
            break;
        case OPTION_UNREAD:
            out->unread =
                strcmp(optarg, "drop") == 0 ? WEIR_UNREAD_DROP : WEIR_UNREAD_KEEP;
            if (strcmp(optarg, "drop") != 0 && strcmp(optarg, "keep") != 0)
                code = weir_command_misuse(self, "--unread is '%s', must be keep or drop",
                                           optarg);
            break;
        case OPTION_BACKLOG_MAX:
            code = weir_command_number(self, "backlog-max", optarg, 0, INT64_MAX,
                                       &out->backlog_max);
            break;
        case OPTION_ATTEMPTS_MAX:
            code = weir_command_number(self, "attempts-max", optarg, 0,
                                       WEIR_ATTEMPTS_MAX_MAX, &number);
            out->attempts_max = (uint32_t)number;
            break;
        case OPTION_RETENTION:
            code =
                weir_command_duration(self, "dead-letter-retention", optarg, 0,
                                      WEIR_DURATION_MAX, &out->dead_letter_retention_ns);
            break;
        case WEIR_OPTIONS_HELPED:
            return WEIR_EXIT_DONE;
        default:
            return WEIR_EXIT_MISUSE;
        }
        if (code != WEIR_EXIT_DONE)
            return code;
    }
    code = weir_command_one_operand(self, argc, argv, "NAME", &out->name);
    if (code == WEIR_EXIT_DONE && out->partitions == 0)
        code = weir_command_misuse(self, "how many partitions? --partitions N is needed");
    return code == WEIR_EXIT_DONE ? -1 : code;
}

/* Only to tell "added" from "exists": a queue made by somebody else meanwhile is no harm. */
static bool exists(const struct weir_session *session, const char *name)
{
    struct weir_connection *connection = NULL;
    struct weir_queue_row row;
    bool found = weir_db_acquire(session->db, &connection, NULL) == WEIR_OK &&
                 weir_catalog_find_queue(connection, name, &row, NULL) == WEIR_OK;

    weir_db_release(session->db, connection);
    return found;
}

static int tell(const struct weir_session *session,
                const struct weir_queue_options *options, bool found)
{
    struct weir_buf json;
    int code;

    if (!session->shared.json) {
        if (!session->shared.quiet)
            printf("queue '%s' %s, %d partition%s\n", options->name,
                   found ? "exists" : "added", (int)options->partitions,
                   options->partitions == 1 ? "" : "s");
        return WEIR_EXIT_DONE;
    }
    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_text(&json, "queue", options->name);
    weir_output_add_number(&json, "partitions", options->partitions);
    weir_output_add_flag(&json, "added", !found);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_queue_options options;
    struct weir_error error = {0};
    struct weir_session session;
    bool found;
    int code = parse(self, argc, argv, &options);

    if (code >= 0)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_OUTBOX, NULL);
    if (code == WEIR_EXIT_DONE) {
        found = exists(&session, options.name);
        if (weir_outbox_add_queue(session.outbox, &options, &error) != WEIR_OK)
            code = weir_session_fail(&session, &error, NULL);
        else
            code = tell(&session, &options, found);
    }
    weir_session_close(&session);
    return code;
}
