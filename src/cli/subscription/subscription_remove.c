/*
 * subscription_remove.c - `weir subscription remove`.
 *
 * Without --force the library refuses to remove what is served or has dead letters to
 * decide on, so there is nothing to ask. With it, the user says --yes or is asked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/noun.h"
#include "cli/confirm.h"
#include "cli/reply.h"
#include "cli/subscription/subscription_target.h"
#include "outbox/audit/audit.h"
#include "view/subscription_records.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct removal {
    struct weir_subscription_target target;
    bool force, dry_run, yes;
    struct weir_session session;
    bool found;
    struct weir_subscription_removed row;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('f', "force", NULL, "also while it is served, and with its dead letters",
                WEIR_AS_FLAG(struct removal, force)),
    WEIR_OPTION('n', "dry-run", NULL, "only say what would be removed",
                WEIR_AS_FLAG(struct removal, dry_run)),
    WEIR_OPTION('y', "yes", NULL, "do not ask", WEIR_AS_FLAG(struct removal, yes)),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_SUBSCRIPTION_OPERANDS(struct removal),
};

const struct weir_command weir_cli_subscription_remove = {
    .name = "subscription remove",
    .summary = "remove a subscription",
    .usage = "QUEUE NAME [--force] [--dry-run] [--yes]",
    .details =
        "Removes the subscription: messages are no longer kept for it, and where it\n"
        "stood is forgotten. Refused while a live process serves it, or its dead\n"
        "letters wait for a decision; with --force these are removed as well, for\n"
        "ever, and the process stops with that reason. Then it asks first; where\n"
        "there is no terminal to ask on, it wants --yes.\n"
        "\n"
        "A process that was killed counts as alive until its lease expires. A process\n"
        "that subscribes with the same name later begins anew. A queue without any\n"
        "subscription keeps its messages, unless its policy is --unread drop.\n",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static void note_info(void *state, const struct weir_subscription_info *info)
{
    struct removal *self = state;

    if (strcmp(info->name, self->target.name) != 0)
        return;
    self->found = true;
    self->row.processes = info->processes;
    self->row.waiting = info->waiting;
    self->row.waiting_is_estimate = info->waiting_is_estimate;
    self->row.dead_letters = info->dead_letters;
}

static int tell(const struct removal *self)
{
    char count[WEIR_COUNT_SIZE];

    if (self->session.shared.json)
        return weir_reply_json(&self->session, &weir_subscription_removed_record,
                               &self->row);
    if (!self->session.shared.quiet || self->dry_run)
        printf("subscription '%s' of queue '%s' %s; %s %s waited for it, and "
               "%" PRId64 " %s\n",
               self->target.name, self->target.queue,
               self->dry_run ? "would be removed" : "removed",
               weir_output_count(self->row.waiting, self->row.waiting_is_estimate, count),
               WEIR_NOUN(self->row.waiting, "message", "messages"),
               self->row.dead_letters,
               WEIR_NOUN(self->row.dead_letters, "dead letter", "dead letters"));
    return WEIR_EXIT_DONE;
}

static int tell_refusal(const struct removal *self, const struct weir_error *error)
{
    if (error->status != WEIR_BUSY)
        return weir_subscription_target_fail(&self->target, &self->session, error);
    return weir_command_fail(self->session.command, "%s; --force removes it all the same",
                             error->text);
}

/* What --dry-run says without --force is what remove would say. */
static int judge_dry_run(const struct removal *self)
{
    if (!self->force && (self->row.processes > 0 || self->row.dead_letters > 0))
        return weir_command_fail(
            self->session.command,
            "subscription '%s' of queue '%s' would not be removed: "
            "it %s; --force removes it all the same",
            self->target.name, self->target.queue,
            self->row.processes > 0 ? "is served" : "has dead letters to decide on");
    return tell(self);
}

static int confirm(const struct removal *self)
{
    char count[WEIR_COUNT_SIZE];

    if (!self->force || self->yes)
        return WEIR_EXIT_DONE;
    return weir_confirm(
        self->session.command,
        "Remove subscription '%s' of queue '%s', for which %s messages "
        "wait, with %" PRId64 " %s",
        self->target.name, self->target.queue,
        weir_output_count(self->row.waiting, self->row.waiting_is_estimate, count),
        self->row.dead_letters,
        WEIR_NOUN(self->row.dead_letters, "dead letter", "dead letters"));
}

static int remove_subscription(void *state)
{
    struct removal *self = state;
    struct weir_outbox *outbox = self->session.outbox;
    struct weir_error error = {0};
    enum weir_status status = weir_outbox_read_subscriptions(outbox, self->target.queue,
                                                             note_info, self, &error);
    char target[WEIR_AUDIT_TARGET_SIZE];
    int code;

    if (status == WEIR_OK && !self->found)
        status = weir_error_set(&error, WEIR_NOT_FOUND, "no subscription");
    if (status != WEIR_OK && !self->dry_run)
        weir_session_refused(
            &self->session, "subscription.remove",
            weir_audit_pair(self->target.queue, self->target.name, target), status);
    if (status != WEIR_OK)
        return weir_subscription_target_fail(&self->target, &self->session, &error);
    if (self->dry_run)
        return judge_dry_run(self);
    code = confirm(self);
    if (code != WEIR_EXIT_DONE)
        return code;
    if (weir_outbox_remove_subscription(outbox, self->target.queue, self->target.name,
                                        self->force, &error) != WEIR_OK)
        return tell_refusal(self, &error);
    return tell(self);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct removal removal = {.found = false};
    int code = weir_command_parse(self, argc, argv, &removal, sizeof removal);

    if (code >= 0)
        return code;
    removal.row.queue = removal.target.queue;
    removal.row.subscription = removal.target.name;
    removal.row.removed = !removal.dry_run;
    return weir_session_run(&removal.session, self, WEIR_SESSION_OUTBOX,
                            remove_subscription, &removal);
}
