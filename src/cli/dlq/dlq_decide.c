/*
 * dlq_decide.c - `weir dlq resolve`, `reject`, `requeue`, `discard` and `cleanup`.
 *
 * They differ in what they take: ids with a token, ids with or without one, or a scope.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/noun.h"
#include "cli/dlq/dlq_bulk.h"
#include "cli/reply.h"
#include "view/dead_letter_records.h"

static int run_resolve(const struct weir_command *self, int argc, char **argv);
static int run_reject(const struct weir_command *self, int argc, char **argv);
static int run_requeue(const struct weir_command *self, int argc, char **argv);
static int run_discard(const struct weir_command *self, int argc, char **argv);
static int run_cleanup(const struct weir_command *self, int argc, char **argv);

struct decide_call {
    struct weir_session session;
    struct weir_dlq_scope scope;
    int64_t token; /* 0: none */
    const char *reason;
    bool all, dry_run, yes;
    enum weir_status verdicts[WEIR_DLQ_IDS_MAX];
};

#define TOKEN                                                                            \
    WEIR_OPTION('t', "token", "N", "of the claim",                                       \
                WEIR_AS_NUMBER(struct decide_call, token, 1, INT64_MAX))
#define CAREFUL                                                                          \
    WEIR_OPTION('n', "dry-run", NULL, "only say how many it would be",                   \
                WEIR_AS_FLAG(struct decide_call, dry_run)),                              \
        WEIR_OPTION('y', "yes", NULL, "do not ask",                                      \
                    WEIR_AS_FLAG(struct decide_call, yes))

static const struct weir_command_option RESOLVE_OPTIONS[] = {TOKEN};
static const struct weir_command_option REJECT_OPTIONS[] = {
    TOKEN,
    WEIR_OPTION('r', "reason", "TEXT", "why it has failed again",
                WEIR_AS_TEXT(struct decide_call, reason)),
};
static const struct weir_command_option REQUEUE_OPTIONS[] = {
    WEIR_OPTION('a', "all", NULL, "all pending ones that the other options leave",
                WEIR_AS_FLAG(struct decide_call, all)),
    TOKEN,
    CAREFUL,
    WEIR_DLQ_SCOPE_OPTIONS(struct decide_call),
};
static const struct weir_command_option CLEANUP_OPTIONS[] = {
    CAREFUL,
    WEIR_DLQ_SCOPE_OPTIONS(struct decide_call),
};
static const struct weir_command_option IDS[] = {
    WEIR_OPERAND("ID", WEIR_DLQ_IDS(struct decide_call), .optional = true),
};

const struct weir_command weir_cli_dlq_resolve = {
    .name = "dlq resolve",
    .summary = "say that claimed dead letters are taken care of",
    .usage = "ID... --token N",
    .details = "Refused for letters that have another claim by now; the others\n"
               "are resolved all the same. Repeating it is harmless.\n",
    WEIR_OPTIONS(RESOLVE_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_resolve,
};

const struct weir_command weir_cli_dlq_reject = {
    .name = "dlq reject",
    .summary = "say that claimed dead letters have failed again",
    .usage = "ID... --token N --reason TEXT",
    .details = "They are pending again, with one attempt more and the new reason.\n",
    WEIR_OPTIONS(REJECT_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_reject,
};

const struct weir_command weir_cli_dlq_requeue = {
    .name = "dlq requeue",
    .summary = "enqueue dead letters again",
    .usage = "ID... [--token N] | --all [--yes] [FILTER...]",
    .details =
        "The message goes to the end of its partition, with a new uid and headers\n"
        "that say where it comes from; its letter is resolved. All subscriptions of\n"
        "the queue get it, not only the one that rejected it.\n"
        "\n"
        "Pending letters, or claimed ones with their token. With --all it works in\n"
        "small transactions, asks first (or wants --yes), and may be ended and\n"
        "repeated at any time: each letter is requeued once.\n",
    WEIR_OPTIONS(REQUEUE_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_requeue,
};

const struct weir_command weir_cli_dlq_discard = {
    .name = "dlq discard",
    .summary = "give dead letters up",
    .usage = "ID... [--token N] | --all [--yes] [FILTER...]",
    .details = "Pending letters, or claimed ones with their token. They are kept until\n"
               "'weir dlq cleanup' or the retention of their queue removes them. With\n"
               "--all it asks first, or wants --yes.\n",
    WEIR_OPTIONS(REQUEUE_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_discard,
};

const struct weir_command weir_cli_dlq_cleanup = {
    .name = "dlq cleanup",
    .summary = "remove dead letters that were resolved or discarded",
    .usage = "[--dry-run] [--yes] [FILTER...]",
    .details =
        "Never those that are pending or claimed. It asks first, or wants --yes.\n",
    WEIR_OPTIONS(CLEANUP_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_cleanup,
};

typedef enum weir_status (*decide_fn)(struct decide_call *self,
                                      const struct weir_dead_letter_choice *choice,
                                      struct weir_error *error);

/* ---- options ----------------------------------------------------------------------- */

/* Ids, or --all with a scope, and not both. */
static int check_choice(const struct weir_command *self,
                        const struct decide_call *decide_call)
{
    bool ids = decide_call->scope.id_count > 0;

    if (ids && decide_call->all)
        return weir_command_misuse(self, "either ids or --all");
    if (!ids && !decide_call->all)
        return weir_command_misuse(self, "which dead letters? ids, or --all");
    if (ids && (decide_call->scope.narrowed || decide_call->dry_run))
        return weir_command_misuse(self, "with ids there is nothing to choose from; "
                                         "these options are for --all");
    if (decide_call->all && decide_call->token != 0)
        return weir_command_misuse(self, "--token is for ids, --all takes pending ones");
    return -1;
}

static int check_claimed(const struct weir_command *self,
                         const struct decide_call *decide_call)
{
    if (decide_call->scope.id_count == 0)
        return weir_command_misuse(self, "which dead letters? ids are needed");
    if (decide_call->token == 0)
        return weir_command_misuse(
            self, "the token of the claim is missing: --token N is needed");
    return -1;
}

/* ---- by id ------------------------------------------------------------------------- */

static int tell(const struct decide_call *self, const char *done)
{
    struct weir_dead_letters_decided row = {
        .ids = self->scope.ids,
        .verdicts = self->verdicts,
        .count = self->scope.id_count,
    };
    int64_t count = 0;

    for (size_t i = 0; i < self->scope.id_count; i++)
        count += self->verdicts[i] == WEIR_OK;
    if (count == 0 && !self->session.shared.json)
        return WEIR_EXIT_DONE;
    weir_dead_letters_counts_set(&row.counts, done, count);
    return weir_reply(&self->session, &weir_dead_letters_decided_record, &row,
                      "%" PRId64 " %s %s", count,
                      WEIR_NOUN(count, "dead letter", "dead letters"), done);
}

/* What was refused is reported in one line; what was done stays done. */
static int decide(struct decide_call *self, decide_fn call, const char *done)
{
    const struct weir_dead_letter_choice choice = {
        .ids = self->scope.ids,
        .count = self->scope.id_count,
        .token = self->token,
    };
    struct weir_error error = {0};
    enum weir_status status = call(self, &choice, &error);
    int code;

    if (status != WEIR_OK && status != WEIR_FENCED && status != WEIR_NOT_FOUND)
        return weir_session_fail(&self->session, &error, NULL);
    code = tell(self, done);
    if (code == WEIR_EXIT_DONE && status != WEIR_OK)
        code = weir_command_fail(self->session.command, "%s", error.text);
    return code;
}

static int run_ids(const struct weir_command *command, struct decide_call *self,
                   decide_fn call, const char *done)
{
    int code = weir_session_open(&self->session, command, WEIR_SESSION_OUTBOX, 0);

    if (code == WEIR_EXIT_DONE)
        code = decide(self, call, done);
    weir_session_close(&self->session);
    return code;
}

static enum weir_status resolve(struct decide_call *self,
                                const struct weir_dead_letter_choice *choice,
                                struct weir_error *error)
{
    return weir_dead_letter_resolve(self->session.outbox, NULL, choice, self->verdicts,
                                    error);
}

static enum weir_status reject(struct decide_call *self,
                               const struct weir_dead_letter_choice *choice,
                               struct weir_error *error)
{
    return weir_dead_letter_reject(self->session.outbox, NULL, choice, self->reason,
                                   self->verdicts, error);
}

static enum weir_status requeue(struct decide_call *self,
                                const struct weir_dead_letter_choice *choice,
                                struct weir_error *error)
{
    return weir_dead_letter_requeue(self->session.outbox, NULL, choice, self->verdicts,
                                    error);
}

static enum weir_status discard(struct decide_call *self,
                                const struct weir_dead_letter_choice *choice,
                                struct weir_error *error)
{
    return weir_dead_letter_discard(self->session.outbox, NULL, choice, self->verdicts,
                                    error);
}

/* ---- by scope ---------------------------------------------------------------------- */

static int run_bulk(const struct weir_command *command, struct decide_call *self,
                    enum weir_dlq_bulk_kind kind)
{
    const struct weir_dlq_bulk bulk = {
        .session = &self->session,
        .scope = &self->scope,
        .kind = kind,
        .dry_run = self->dry_run,
        .yes = self->yes,
    };
    int code = weir_session_open(&self->session, command, WEIR_SESSION_OUTBOX, 0);

    if (code == WEIR_EXIT_DONE)
        code = weir_dlq_bulk_run(&bulk);
    weir_session_close(&self->session);
    return code;
}

/* ---- the commands ------------------------------------------------------------------ */

static struct decide_call decide_call; /* too large for a stack */

static int parse(const struct weir_command *self, int argc, char **argv)
{
    weir_dlq_scope_init(&decide_call.scope);
    return weir_command_parse(self, argc, argv, &decide_call, sizeof decide_call);
}

static int run_resolve(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv);

    if (code < 0)
        code = check_claimed(self, &decide_call);
    return code < 0 ? run_ids(self, &decide_call, resolve, "resolved") : code;
}

static int run_reject(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv);

    if (code < 0)
        code = check_claimed(self, &decide_call);
    if (code < 0 && (decide_call.reason == NULL || decide_call.reason[0] == '\0'))
        code = weir_command_misuse(self, "why? --reason TEXT is needed");
    return code < 0 ? run_ids(self, &decide_call, reject, "rejected") : code;
}

static int run_requeue(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv);

    if (code < 0)
        code = check_choice(self, &decide_call);
    if (code >= 0)
        return code;
    return decide_call.all ? run_bulk(self, &decide_call, WEIR_DLQ_REQUEUE_ALL)
                           : run_ids(self, &decide_call, requeue, "requeued");
}

static int run_discard(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv);

    if (code < 0)
        code = check_choice(self, &decide_call);
    if (code >= 0)
        return code;
    return decide_call.all ? run_bulk(self, &decide_call, WEIR_DLQ_DISCARD_ALL)
                           : run_ids(self, &decide_call, discard, "discarded");
}

static int run_cleanup(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv);

    if (code < 0 && decide_call.scope.id_count > 0)
        code = weir_command_misuse(self, "cleanup takes no ids");
    return code < 0 ? run_bulk(self, &decide_call, WEIR_DLQ_CLEANUP) : code;
}
