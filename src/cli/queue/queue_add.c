/*
 * queue_add.c - `weir queue add NAME --partitions N` and `weir queue set NAME`.
 */

#include "base/count.h"
#include "base/noun.h"
#include "cli/queue/queue_policies.h"
#include "cli/reply.h"
#include "outbox/outbox.h"
#include "view/policy_words.h"
#include "view/queue_records.h"
#include "weir/heap.h"
#include "weir/worker.h"

enum { TEXT_SIZE_MAX = 64 << 10 };

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION(
        'p', "partitions", "N", "a power of two from 1 to 64, for ever",
        WEIR_AS_NUMBER(struct weir_queue_options, partitions, 1, WEIR_PARTITIONS_MAX)),
    WEIR_POLICY_OPTIONS,
};
static const struct weir_command_option ADD_OPERANDS[] = {
    WEIR_OPERAND("NAME", WEIR_AS_TEXT(struct weir_queue_options, name)),
};
static const struct weir_command_option SET_OPERANDS[] = {
    WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(struct weir_queue_options, name)),
};

enum { OPTION_COUNT = COUNT_OF(OPTIONS) };

#define ATTEMPTS                                                                         \
    "A message that has failed --attempts-max times in calls of its own goes to\n"       \
    "the dead letters, and the next one is delivered. Dead letters that were\n"          \
    "resolved or discarded are removed after --dead-letter-retention, as in 7d.\n"       \
    "A process that ends counts against a message only if it was called alone,\n"        \
    "because a process had ended in its call before.\n"

const struct weir_command weir_cli_queue_add = {
    .name = "queue add",
    .summary = "add a queue, or change the policies of one",
    .usage = "NAME --partitions N [--unread keep|drop] [OPTION...]",
    .details =
        "A queue that exists with as many partitions gets the policies that are\n"
        "given here, and keeps all others. Another number of partitions is refused.\n"
        "The policies are printed, with the old value of each that was changed.\n"
        "\n" ATTEMPTS "\n"
        "Partitions are what can be delivered side by side; their number never\n"
        "changes. NAME has 1 to 1024 of A-Z a-z 0-9 . _ - and begins and ends with\n"
        "a letter or digit.\n",
    .options = OPTIONS,
    .option_count = OPTION_COUNT,
    WEIR_OPERANDS(ADD_OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

const struct weir_command weir_cli_queue_set = {
    .name = "queue set",
    .summary = "change policies of a queue",
    .usage = "QUEUE OPTION...",
    .details =
        "Changes the policies that are given and keeps all others. A queue that\n"
        "does not exist is refused. The policies are printed, with the old value of\n"
        "each that was changed; running processes follow within seconds.\n"
        "\n" ATTEMPTS,
    .options = OPTIONS + 1,
    .option_count = OPTION_COUNT - 1,
    WEIR_OPERANDS(SET_OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

/* Is there everything that the command needs? The exit code, or -1 to go on. */
static int check(const struct weir_command *self,
                 const struct weir_queue_options *options)
{
    if (self == &weir_cli_queue_add && options->partitions == 0)
        return weir_command_misuse(self, "how many partitions? --partitions N is needed");
    if (self == &weir_cli_queue_set && options->named == 0)
        return weir_command_misuse(self, "no policy given, such as --backlog-max N");
    return -1;
}

static const char *verb(const struct weir_queue_change *change)
{
    if (change->added)
        return "added";
    return change->changed != 0 ? "changed" : "exists";
}

static int tell(const struct weir_session *session,
                const struct weir_queue_change *change)
{
    struct weir_buf text;
    int code;

    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_policy_words_append(&text, change);
    code =
        weir_reply(session, &weir_queue_change_record, change, "queue '%s' %s, %d %s\n%s",
                   change->now.name, verb(change), (int)change->now.partitions,
                   WEIR_NOUN(change->now.partitions, "partition", "partitions"),
                   weir_buf_text(&text));
    weir_buf_fini(&text);
    return code;
}

struct add_call {
    struct weir_session session;
    struct weir_queue_options options;
};

static int add_or_set(void *state)
{
    struct add_call *self = state;
    struct weir_outbox *outbox = self->session.outbox;
    struct weir_queue_change change;
    struct weir_error error = {0};
    enum weir_status status =
        self->session.command == &weir_cli_queue_add
            ? weir_outbox_add_queue_telling(outbox, &self->options, &change, &error)
            : weir_outbox_set_queue(outbox, &self->options, &change, &error);

    return status == WEIR_OK
               ? tell(&self->session, &change)
               : weir_session_fail(&self->session, &error, self->options.name);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct add_call call;
    int code;

    weir_queue_options_init(&call.options);
    call.options.partitions = 0;
    code = weir_command_parse(self, argc, argv, &call.options, sizeof call.options);
    if (code < 0)
        code = check(self, &call.options);
    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, add_or_set, &call);
}
