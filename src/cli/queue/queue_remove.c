/*
 * queue_remove.c - `weir queue remove`.
 *
 * Without --force the library refuses to remove what may still be needed, so there is
 * nothing to ask. With it, the user says --yes or is asked.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/noun.h"
#include "cli/confirm.h"
#include "cli/reply.h"
#include "view/queue_records.h"
#include "weir/inspect.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct removal {
    bool force, dry_run, yes;
    struct weir_session session;
    struct weir_queue_removed row;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('f', "force", NULL, "also with messages that wait, and dead letters",
                WEIR_AS_FLAG(struct removal, force)),
    WEIR_OPTION('n', "dry-run", NULL, "only say what would be removed",
                WEIR_AS_FLAG(struct removal, dry_run)),
    WEIR_OPTION('y', "yes", NULL, "do not ask", WEIR_AS_FLAG(struct removal, yes)),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(struct removal, row.queue)),
};

const struct weir_command weir_cli_queue_remove = {
    .name = "queue remove",
    .summary = "remove a queue",
    .usage = "QUEUE [--force] [--dry-run] [--yes]",
    .details =
        "Removes the queue with its subscriptions. Refused while messages wait for\n"
        "a subscription, or dead letters for a decision; with --force these are\n"
        "removed as well, for ever. Then it asks first; where there is no terminal\n"
        "to ask on, it wants --yes.\n",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static void note_info(void *state, const struct weir_queue_info *info)
{
    struct removal *self = state;

    self->row.subscriptions = info->subscriptions;
    self->row.waiting = info->waiting;
    self->row.waiting_is_estimate = info->waiting_is_estimate;
    self->row.dead_letters = info->dead_letters;
}

static int tell(const struct removal *self)
{
    const struct weir_queue_removed *row = &self->row;
    char count[WEIR_COUNT_SIZE];

    if (self->session.shared.json)
        return weir_reply_json(&self->session, &weir_queue_removed_record, row);
    if (!self->session.shared.quiet || self->dry_run)
        printf("queue '%s' %s, with %" PRIu32 " %s, %s waiting %s, "
               "%" PRId64 " %s\n",
               row->queue, self->dry_run ? "would be removed" : "removed",
               row->subscriptions,
               WEIR_NOUN(row->subscriptions, "subscription", "subscriptions"),
               weir_output_count(row->waiting, row->waiting_is_estimate, count),
               WEIR_NOUN(row->waiting, "message", "messages"), row->dead_letters,
               WEIR_NOUN(row->dead_letters, "dead letter", "dead letters"));
    return WEIR_EXIT_DONE;
}

/* --force helps against what waits, not against transactions that are open. */
static int tell_refusal(struct removal *self, const struct weir_error *error)
{
    if (error->status != WEIR_BUSY)
        return weir_session_fail(&self->session, error, self->row.queue);
    (void)!weir_outbox_read_queue(self->session.outbox, self->row.queue, note_info, self,
                                  NULL); /* it may have come meanwhile */
    if (!self->force && self->row.waiting + self->row.dead_letters > 0)
        return weir_command_fail(self->session.command, "%s; --force removes them too",
                                 error->text);
    return weir_command_fail(self->session.command, "%s", error->text);
}

/* What --dry-run says without --force is what remove would say. */
static int judge_dry_run(const struct removal *self)
{
    if (!self->force && self->row.waiting + self->row.dead_letters > 0)
        return weir_command_fail(self->session.command,
                                 "queue '%s' would not be removed: %s wait in it; "
                                 "--force removes them too",
                                 self->row.queue,
                                 self->row.waiting > 0 ? "messages" : "dead letters");
    return tell(self);
}

static int remove_queue(void *state)
{
    struct removal *self = state;
    char count[WEIR_COUNT_SIZE];
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;
    enum weir_status status = weir_outbox_read_queue(
        self->session.outbox, self->row.queue, note_info, self, &error);

    if (status != WEIR_OK && !self->dry_run)
        weir_session_refused(&self->session, "queue.remove", self->row.queue, status);
    if (status != WEIR_OK)
        return weir_session_fail(&self->session, &error, self->row.queue);
    if (self->dry_run)
        return judge_dry_run(self);
    if (self->force && !self->yes)
        code = weir_confirm(
            self->session.command,
            "Remove queue '%s' with %s waiting %s and %" PRId64 " %s", self->row.queue,
            weir_output_count(self->row.waiting, self->row.waiting_is_estimate, count),
            WEIR_NOUN(self->row.waiting, "message", "messages"), self->row.dead_letters,
            WEIR_NOUN(self->row.dead_letters, "dead letter", "dead letters"));
    if (code != WEIR_EXIT_DONE)
        return code;
    if (weir_outbox_remove_queue(self->session.outbox, self->row.queue, self->force,
                                 &error) != WEIR_OK)
        return tell_refusal(self, &error);
    return tell(self);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct removal removal = {.row.queue = NULL};
    int code = weir_command_parse(self, argc, argv, &removal, sizeof removal);

    if (code >= 0)
        return code;
    removal.row.removed = !removal.dry_run;
    return weir_session_run(&removal.session, self, WEIR_SESSION_OUTBOX, remove_queue,
                            &removal);
}
