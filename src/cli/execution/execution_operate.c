/*
 * execution_operate.c - what operators do to executions: `weir execution cancel`,
 * `revoke`, `prioritise`, `replay` and `resume`.
 *
 * Ids one after the other, each in a transaction of its own. What is refused is reported
 * in a line, and the others are done all the same; a database that fails ends it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "view/execution_info_records.h"
#include "weir/suspension.h"

static int run_cancel(const struct weir_command *self, int argc, char **argv);
static int run_revoke(const struct weir_command *self, int argc, char **argv);
static int run_prioritise(const struct weir_command *self, int argc, char **argv);
static int run_replay(const struct weir_command *self, int argc, char **argv);
static int run_resume(const struct weir_command *self, int argc, char **argv);

struct operate_call;
typedef enum weir_status (*operate_fn)(struct operate_call *self,
                                       const struct weir_execution_id *id,
                                       struct weir_error *error);

struct operate_call {
    struct weir_execution_session session;
    struct weir_execution_id ids[WEIR_EXECUTION_WORDS_MAX];
    size_t count;
    operate_fn operate;
    const char *done; /* "cancelled" */

    const char *reason;
    struct weir_revocation wanted;
    int64_t priority; /* -1: not given */
    int64_t delay_ms;

    struct weir_revocation revocation; /* of the last one */
    bool unchanged;                    /* it was so already */
    size_t done_count;
    size_t unchanged_count;
    struct weir_executions_operated operated;
};

static const struct weir_command_option CANCEL_OPTIONS[] = {
    WEIR_OPTION('R', "reason", "TEXT", "why; the first 1024 bytes are kept",
                WEIR_AS_TEXT(struct operate_call, reason)),
};
static const struct weir_command_option REVOKE_OPTIONS[] = {
    WEIR_OPTION(0, "instance", "NAME", "only from this one",
                WEIR_AS_TEXT(struct operate_call, wanted.instance)),
    WEIR_OPTION(0, "epoch", "N", "only this claim; 'weir execution get' shows it",
                WEIR_AS_NUMBER(struct operate_call, wanted.epoch, 1, INT64_MAX)),
};
static const struct weir_command_option PRIORITISE_OPTIONS[] = {
    WEIR_OPTION('p', "priority", "N", "0 to 9000, larger first; needed",
                WEIR_AS_NUMBER(struct operate_call, priority, 0, WEIR_PRIORITY_MAX)),
};
static const struct weir_command_option RESUME_OPTIONS[] = {
    WEIR_OPTION(
        'd', "delay", "D", "go on so long from now; default at once",
        WEIR_AS_MS(struct operate_call, delay_ms, 0, WEIR_EXECUTION_DURATION_MS_MAX)),
};
static const struct weir_command_option IDS[] = {
    WEIR_OPERAND("ID", WEIR_AS_EXECUTION_ID(struct operate_call, ids[0]),
                 WEIR_IN_LIST(struct operate_call, ids, count, "ids"),
                 .missing = "which execution? an ID is needed"),
};

const struct weir_command weir_cli_execution_cancel = {
    .name = "execution cancel",
    .summary = "end executions as cancelled, also claimed ones",
    .usage = "ID... [--reason TEXT]",
    .details =
        "A worker that holds one can change nothing any more; its next renewal reports\n"
        "it. What has ended in another way is refused; what is cancelled stays so.\n"
        "All members of a flow are cancelled with 'weir flow cancel'.\n",
    WEIR_OPTIONS(CANCEL_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_cancel,
};

const struct weir_command weir_cli_execution_revoke = {
    .name = "execution revoke",
    .summary = "take executions from their worker, for the next one",
    .usage = "ID... [--instance NAME] [--epoch N]",
    .details = "The claim is lost, and the execution waits for another worker. It costs\n"
               "neither a retry nor a lost lease. Without a claim nothing happens.\n",
    WEIR_OPTIONS(REVOKE_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_revoke,
};

const struct weir_command weir_cli_execution_prioritise = {
    .name = "execution prioritise",
    .summary = "let executions overtake others, or fall behind",
    .usage = "ID... --priority N",
    .details = "In their lane the larger priority is claimed first, then the older.\n",
    WEIR_OPTIONS(PRIORITISE_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_prioritise,
};

const struct weir_command weir_cli_execution_replay = {
    .name = "execution replay",
    .summary = "run executions once more that have ended",
    .usage = "ID...",
    .details =
        "With the same input and all their retries. How often is in their policy.\n",
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_replay,
};

const struct weir_command weir_cli_execution_resume = {
    .name = "execution resume",
    .summary = "let suspended executions go on, whatever they wait for",
    .usage = "ID... [--delay D]",
    .details =
        "The same attempt goes on, with any worker. What is not suspended is refused.\n"
        "To send the signal that it waits for, there is\n"
        "'weir execution approve'.\n",
    WEIR_OPTIONS(RESUME_OPTIONS),
    WEIR_OPERANDS(IDS),
    .uses_db = true,
    .operates = true,
    .run = run_resume,
};

static enum weir_status revoke(struct operate_call *self,
                               const struct weir_execution_id *id,
                               struct weir_error *error);

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct operate_call *out)
{
    out->priority = -1;
    return weir_command_parse(self, argc, argv, out, sizeof *out);
}

/* ---- telling ----------------------------------------------------------------------- */

static void note_done(struct operate_call *self, const struct weir_execution_id *id)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    self->done_count++;
    if (!self->session.session.shared.json && !self->session.session.shared.quiet)
        printf("%s %s\n", weir_execution_id_format(id, text), self->done);
}

/* No worker had it, or not the one that was meant: which is what the operator wants. */
static void note_unchanged(struct operate_call *self, const struct weir_execution_id *id)
{
    const struct weir_execution_status *current = &self->revocation.current;
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    self->unchanged_count++;
    if (!self->session.session.shared.json && !self->session.session.shared.quiet)
        printf("%s: nothing to revoke (%s); it is %s, epoch %" PRId64 "\n",
               weir_execution_id_format(id, text), self->revocation.reason,
               weir_public_state_name(current->state), current->epoch);
}

static int note_refused(struct operate_call *self, const struct weir_execution_id *id,
                        const char *why)
{
    weir_record_list_add(&self->operated.refused,
                         &(struct weir_execution_refused){*id, why});
    return weir_command_fail(self->session.session.command, "%s", why);
}

static int print_json(struct operate_call *self)
{
    struct weir_executions_operated *row = &self->operated;

    row->cancelled = row->revoked = row->prioritised = -1;
    row->replayed = row->resumed = -1;
    row->unchanged = self->operate == revoke ? (int64_t)self->unchanged_count : -1;
    weir_record_set(&weir_executions_operated_record, row, self->done,
                    (int64_t)self->done_count);
    return weir_reply_json(&self->session.session, &weir_executions_operated_record, row);
}

/* ---- the work ---------------------------------------------------------------------- */

/* The exit code for this one; *failed: go no further. */
static int operate_one(struct operate_call *self, const struct weir_execution_id *id,
                       bool *failed)
{
    struct weir_error error = {0};
    enum weir_status status = self->operate(self, id, &error);

    if (status == WEIR_OK) {
        if (self->unchanged)
            note_unchanged(self, id);
        else
            note_done(self, id);
        return WEIR_EXIT_DONE;
    }
    if (status == WEIR_NOT_FOUND || status == WEIR_MISMATCH)
        return note_refused(self, id, error.text);
    *failed = true;
    return weir_execution_session_fail(&self->session, &error);
}

static int operate(struct operate_call *self)
{
    int code = WEIR_EXIT_DONE;
    bool failed = false;

    weir_record_list_init(&self->operated.refused, &weir_execution_refused_record,
                          WEIR_FORM_JSON, 0);
    for (size_t i = 0; i < self->count && !failed; i++) {
        int one = operate_one(self, &self->ids[i], &failed);

        code = one != WEIR_EXIT_DONE ? one : code;
    }
    if (self->session.session.shared.json && !failed) {
        int told = print_json(self);

        code = code != WEIR_EXIT_DONE ? code : told;
    }
    weir_record_list_fini(&self->operated.refused);
    return code;
}

static int run_ids(const struct weir_command *command, struct operate_call *self,
                   operate_fn call, const char *done)
{
    int code = weir_execution_session_open(&self->session, command,
                                           WEIR_EXECUTION_SESSION_TELLING, NULL);

    self->operate = call;
    self->done = done;
    if (code == WEIR_EXIT_DONE)
        code = operate(self);
    weir_execution_session_close(&self->session);
    return code;
}

/* ---- the calls --------------------------------------------------------------------- */

static enum weir_status cancel(struct operate_call *self,
                               const struct weir_execution_id *id,
                               struct weir_error *error)
{
    return weir_execution_cancel(self->session.executions, id, self->reason, error);
}

static enum weir_status revoke(struct operate_call *self,
                               const struct weir_execution_id *id,
                               struct weir_error *error)
{
    enum weir_status status;

    self->revocation = self->wanted;
    status =
        weir_execution_revoke(self->session.executions, id, &self->revocation, error);
    self->unchanged = status == WEIR_OK && !self->revocation.revoked;
    return status;
}

static enum weir_status prioritise(struct operate_call *self,
                                   const struct weir_execution_id *id,
                                   struct weir_error *error)
{
    return weir_execution_prioritise(self->session.executions, id,
                                     (int32_t)self->priority, error);
}

static enum weir_status replay(struct operate_call *self,
                               const struct weir_execution_id *id,
                               struct weir_error *error)
{
    return weir_execution_replay(self->session.executions, id, error);
}

static enum weir_status resume(struct operate_call *self,
                               const struct weir_execution_id *id,
                               struct weir_error *error)
{
    return weir_execution_resume(self->session.executions, id, self->delay_ms, error);
}

/* ---- the commands ------------------------------------------------------------------ */

static struct operate_call operate_call; /* too large for a stack */

static int run_cancel(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, &operate_call);

    return code < 0 ? run_ids(self, &operate_call, cancel, "cancelled") : code;
}

static int run_revoke(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, &operate_call);

    return code < 0 ? run_ids(self, &operate_call, revoke, "revoked") : code;
}

static int run_prioritise(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, &operate_call);

    if (code < 0 && operate_call.priority < 0)
        code = weir_command_misuse(self, "which priority? --priority N is needed");
    return code < 0 ? run_ids(self, &operate_call, prioritise, "prioritised") : code;
}

static int run_replay(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, &operate_call);

    return code < 0 ? run_ids(self, &operate_call, replay, "replayed") : code;
}

static int run_resume(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, &operate_call);

    return code < 0 ? run_ids(self, &operate_call, resume, "resumed") : code;
}
