/*
 * execution_settle.c - what a worker says of its claims: `weir execution renew`,
 * `progress`, `complete`, `fail`, `delay` and `abandon`.
 *
 * Each claim is judged by itself. One that is not current any more is refused, with the
 * truth; the others are settled all the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/content.h"
#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "view/execution_info_records.h"
#include "view/execution_text.h"

enum { PERCENT_MAX = 100 };

#define LEASE_MS_DEFAULT (WEIR_SECONDS(30) / WEIR_MILLISECONDS(1))

static int run_renew(const struct weir_command *self, int argc, char **argv);
static int run_progress(const struct weir_command *self, int argc, char **argv);
static int run_complete(const struct weir_command *self, int argc, char **argv);
static int run_fail(const struct weir_command *self, int argc, char **argv);
static int run_delay(const struct weir_command *self, int argc, char **argv);
static int run_abandon(const struct weir_command *self, int argc, char **argv);

struct settle_call {
    struct weir_execution_session session;
    const char *done;  /* "completed" */
    unsigned leads_to; /* 1 << enum weir_public_state, or-ed */
    struct weir_claim claims[WEIR_EXECUTION_WORDS_MAX];
    size_t count;

    /* of the options */
    const char *result; /* as it was given; NULL: none */
    const char *reason;
    bool for_good;
    int64_t ms;      /* --lease or --for; -1: not given */
    int64_t percent; /* -1: not given */
    const char *text;

    /* what became of each claim */
    enum weir_status verdicts[WEIR_EXECUTION_WORDS_MAX];
    struct weir_execution_status statuses[WEIR_EXECUTION_WORDS_MAX];

    /* what the library wants to have */
    struct weir_settlement settlements[WEIR_EXECUTION_WORDS_MAX];
    struct weir_renewal renewals[WEIR_EXECUTION_WORDS_MAX];
};

static const struct weir_command_option RENEW_OPTIONS[] = {
    WEIR_OPTION('l', "lease", "D", "from now on, 1s to 1h; default 30s",
                WEIR_AS_MS(struct settle_call, ms, WEIR_EXECUTION_LEASE_MS_MIN,
                           WEIR_EXECUTION_LEASE_MS_MAX)),
};
static const struct weir_command_option PROGRESS_OPTIONS[] = {
    WEIR_OPTION('p', "percent", "N", "0 to 100; needed",
                WEIR_AS_NUMBER(struct settle_call, percent, 0, PERCENT_MAX)),
    WEIR_OPTION('t', "text", "TEXT", "how far it is, in words",
                WEIR_AS_TEXT(struct settle_call, text)),
};
static const struct weir_command_option COMPLETE_OPTIONS[] = {
    WEIR_OPTION('r', "result", "RESULT", "a text, @FILE, or - for standard input",
                WEIR_AS_TEXT(struct settle_call, result)),
};
static const struct weir_command_option FAIL_OPTIONS[] = {
    WEIR_OPTION('R', "reason", "TEXT", "why; the first 1024 bytes are kept",
                WEIR_AS_TEXT(struct settle_call, reason)),
    WEIR_OPTION('g', "for-good", NULL, "no retry, whatever its policy allows",
                WEIR_AS_FLAG(struct settle_call, for_good)),
};
static const struct weir_command_option DELAY_OPTIONS[] = {
    WEIR_OPTION('f', "for", "D", "not before so long from now; needed",
                WEIR_AS_MS(struct settle_call, ms, 0, WEIR_EXECUTION_DURATION_MS_MAX)),
};
static const struct weir_command_option ABANDON_OPTIONS[] = {
    WEIR_OPTION('R', "reason", "TEXT", "why; the first 1024 bytes are kept",
                WEIR_AS_TEXT(struct settle_call, reason)),
};
static const struct weir_command_option CLAIMS[] = {
    WEIR_OPERAND("TOKEN", WEIR_AS_CLAIM(struct settle_call, claims[0]),
                 WEIR_IN_LIST(struct settle_call, claims, count, "tokens"),
                 .missing = "which claim? a TOKEN of 'weir execution claim' is needed"),
};

const struct weir_command weir_cli_execution_renew = {
    .name = "execution renew",
    .summary = "keep claims for longer",
    .usage = "TOKEN... [--lease D]",
    .details =
        "TOKEN is what 'weir execution claim' printed. Renew when a third of the lease\n"
        "is over. A claim that is lost is refused with exit code 1: stop\n"
        "working on it.\n",
    WEIR_OPTIONS(RENEW_OPTIONS),
    WEIR_OPERANDS(CLAIMS),
    .uses_db = true,
    .run = run_renew,
};

const struct weir_command weir_cli_execution_progress = {
    .name = "execution progress",
    .summary = "say how far a claimed execution is",
    .usage = "TOKEN --percent N [--text TEXT]",
    .details = "'weir execution get' shows the newest report.\n",
    WEIR_OPTIONS(PROGRESS_OPTIONS),
    WEIR_OPERANDS(CLAIMS),
    .uses_db = true,
    .run = run_progress,
};

const struct weir_command weir_cli_execution_complete = {
    .name = "execution complete",
    .summary = "say that claimed executions are done",
    .usage = "TOKEN... [--result RESULT]",
    .details =
        "They end as completed, with a result of up to 1 MiB. A worker that has lost "
        "its\n"
        "lease is refused with exit code 1 and changes nothing. Repeating it is\n"
        "harmless; with another result, or after 'fail' or 'delay' of the same token,\n"
        "it is refused.\n",
    WEIR_OPTIONS(COMPLETE_OPTIONS),
    WEIR_OPERANDS(CLAIMS),
    .uses_db = true,
    .run = run_complete,
};

const struct weir_command weir_cli_execution_fail = {
    .name = "execution fail",
    .summary = "say that claimed executions have failed",
    .usage = "TOKEN... [--reason TEXT] [--for-good]",
    .details =
        "While retries are left there is another attempt, after the backoff; else\n"
        "they end as failed.\n",
    WEIR_OPTIONS(FAIL_OPTIONS),
    WEIR_OPERANDS(CLAIMS),
    .uses_db = true,
    .run = run_fail,
};

const struct weir_command weir_cli_execution_delay = {
    .name = "execution delay",
    .summary = "give claimed executions back, to go on later",
    .usage = "TOKEN... --for D",
    .details = "The same attempt goes on then, with any worker. It costs no retry.\n",
    WEIR_OPTIONS(DELAY_OPTIONS),
    WEIR_OPERANDS(CLAIMS),
    .uses_db = true,
    .run = run_delay,
};

const struct weir_command weir_cli_execution_abandon = {
    .name = "execution abandon",
    .summary = "end claimed executions as cancelled",
    .usage = "TOKEN... [--reason TEXT]",
    .details = "For a worker that finds out that there is nothing to be done any more.\n"
               "Operators have 'weir execution cancel', which needs no claim.\n",
    WEIR_OPTIONS(ABANDON_OPTIONS),
    WEIR_OPERANDS(CLAIMS),
    .uses_db = true,
    .run = run_abandon,
};

static struct settle_call settle_call; /* too large for a stack */

#define ACTIVE (1U << WEIR_STATE_ACTIVE)
#define COMPLETED (1U << WEIR_STATE_COMPLETED)
#define CANCELLED (1U << WEIR_STATE_CANCELLED)
#define AFTER_DELAY                                                                      \
    (1U << WEIR_STATE_DELAYED | 1U << WEIR_STATE_WAITING | 1U << WEIR_STATE_RESUMABLE)
#define AFTER_FAILURE (AFTER_DELAY | 1U << WEIR_STATE_FAILED)

/* Calls the library, and notes what became of each claim. */
typedef enum weir_status (*settle_fn)(struct settle_call *self, struct weir_error *error);

/* The exit code, or -1 to go on. `done` is what will have happened, and `leads_to`
 * where that leads to. */
static int parse(const struct weir_command *self, int argc, char **argv, const char *done,
                 unsigned leads_to)
{
    settle_call.done = done;
    settle_call.leads_to = leads_to;
    settle_call.ms = settle_call.percent = -1;
    return weir_command_parse(self, argc, argv, &settle_call, sizeof settle_call);
}

/* ---- telling ----------------------------------------------------------------------- */

/* One line for each claim that was refused. Returns the exit code. */
static int tell_refused(const struct settle_call *self)
{
    const struct weir_command *command = self->session.session.command;
    int code = WEIR_EXIT_DONE;

    for (size_t i = 0; i < self->count; i++) {
        char id[WEIR_EXECUTION_ID_TEXT_SIZE];
        char current[WEIR_EXECUTION_STATUS_SIZE];

        if (self->verdicts[i] == WEIR_OK)
            continue;
        weir_execution_id_format(&self->claims[i].id, id);
        weir_execution_spell_status(&self->statuses[i], self->session.now_us, current);
        if (self->verdicts[i] == WEIR_FENCED)
            code = weir_command_fail(command, "%s: the claim has been lost; %s", id,
                                     current);
        else if (self->verdicts[i] == WEIR_MISMATCH)
            code = weir_command_fail(
                command, "%s: the claim was settled before, in another way; %s", id,
                current);
        else
            code = weir_command_fail(command, "%s: there is no such execution", id);
    }
    return code;
}

static const char *answer_of(enum weir_status verdict)
{
    switch (verdict) {
    case WEIR_OK:
        return "ok";
    case WEIR_MISMATCH:
        return "settled_otherwise";
    case WEIR_NOT_FOUND:
        return "not_found";
    default:
        return "fenced";
    }
}

static int print_json(const struct settle_call *self)
{
    struct weir_record_list rows;
    int code;

    weir_record_list_init(&rows, &weir_claim_settled_record, WEIR_FORM_JSON, 0);
    for (size_t i = 0; i < self->count; i++)
        weir_record_list_add(&rows, &(struct weir_claim_settled){
                                        .claim = self->claims[i],
                                        .answer = answer_of(self->verdicts[i]),
                                        .found = self->verdicts[i] != WEIR_NOT_FOUND,
                                        .current = self->statuses[i],
                                    });
    code = weir_reply_list(&self->session.session, "claims", &rows);
    weir_record_list_fini(&rows);
    return code;
}

/* What an attempt that failed has become is worth a word. A claim that was settled
 * before may have gone on since. */
static void print_done(const struct settle_call *self)
{
    for (size_t i = 0; i < self->count; i++) {
        enum weir_public_state state = self->statuses[i].state;
        const char *name = weir_public_state_name(state);
        bool plain = state == WEIR_STATE_ACTIVE || strcmp(name, self->done) == 0;
        char id[WEIR_EXECUTION_ID_TEXT_SIZE];

        if (self->verdicts[i] != WEIR_OK)
            continue;
        printf("%s %s%s%s\n", weir_execution_id_format(&self->claims[i].id, id),
               self->leads_to & 1U << state ? self->done : "was settled before",
               plain ? "" : "; it is ", plain ? "" : name);
    }
}

static int tell(const struct settle_call *self)
{
    int code = WEIR_EXIT_DONE, refused;

    if (self->session.session.shared.json)
        code = print_json(self);
    else if (!self->session.session.shared.quiet)
        print_done(self);
    refused = tell_refused(self);
    return code != WEIR_EXIT_DONE ? code : refused;
}

static int run_claims(const struct weir_command *command, struct settle_call *self,
                      settle_fn call)
{
    struct weir_error error = {0};
    int code = weir_execution_session_open(&self->session, command,
                                           WEIR_EXECUTION_SESSION_TELLING, NULL);

    if (code == WEIR_EXIT_DONE)
        code = call(self, &error) == WEIR_OK
                   ? tell(self)
                   : weir_execution_session_fail(&self->session, &error);
    weir_execution_session_close(&self->session);
    return code;
}

/* ---- the calls --------------------------------------------------------------------- */

static enum weir_status renew(struct settle_call *self, struct weir_error *error)
{
    enum weir_status status;

    for (size_t i = 0; i < self->count; i++)
        self->renewals[i] = (struct weir_renewal){.claim = self->claims[i]};
    status = weir_execution_renew(self->session.executions, self->ms, self->renewals,
                                  self->count, error);
    for (size_t i = 0; i < self->count; i++) {
        self->verdicts[i] = self->renewals[i].status;
        self->statuses[i] = self->renewals[i].current;
    }
    return status;
}

static enum weir_status progress(struct settle_call *self, struct weir_error *error)
{
    enum weir_status status = weir_execution_progress(
        self->session.executions, &self->claims[0], (int32_t)self->percent, self->text,
        &self->statuses[0], error);

    self->verdicts[0] = status;
    if (status == WEIR_OK)
        self->statuses[0].state = WEIR_STATE_ACTIVE;
    return status == WEIR_FENCED || status == WEIR_NOT_FOUND ? WEIR_OK : status;
}

static enum weir_status settle(struct settle_call *self, struct weir_error *error)
{
    enum weir_status status = weir_execution_settle(
        self->session.executions, self->settlements, self->count, error);

    for (size_t i = 0; i < self->count; i++) {
        self->verdicts[i] = self->settlements[i].status;
        self->statuses[i] = self->settlements[i].current;
    }
    return status;
}

/* `pattern` for each claim. */
static int run_settle(const struct weir_command *command, struct settle_call *self,
                      const struct weir_settlement *pattern)
{
    for (size_t i = 0; i < self->count; i++) {
        self->settlements[i] = *pattern;
        self->settlements[i].claim = self->claims[i];
    }
    return run_claims(command, self, settle);
}

/* ---- the commands ------------------------------------------------------------------ */

static int run_renew(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, "renewed", ACTIVE);

    if (settle_call.ms < 0)
        settle_call.ms = LEASE_MS_DEFAULT;
    return code < 0 ? run_claims(self, &settle_call, renew) : code;
}

static int run_progress(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, "noted", ACTIVE);

    if (code < 0 && settle_call.count > 1)
        code = weir_command_misuse(self, "one TOKEN is enough");
    if (code < 0 && settle_call.percent < 0)
        code = weir_command_misuse(self, "how far is it? --percent N is needed");
    return code < 0 ? run_claims(self, &settle_call, progress) : code;
}

static int run_complete(const struct weir_command *self, int argc, char **argv)
{
    struct weir_settlement pattern = {.verb = WEIR_SETTLE_COMPLETE};
    struct weir_content content = {.size = 0};
    int code = parse(self, argc, argv, "completed", COMPLETED);

    if (code >= 0)
        return code;
    code = WEIR_EXIT_DONE;
    if (settle_call.result != NULL)
        code = weir_content_take(&content, self, "result", settle_call.result,
                                 WEIR_RESULT_SIZE_MAX);
    pattern.result = content.data;
    pattern.result_size = content.size;
    if (code == WEIR_EXIT_DONE)
        code = run_settle(self, &settle_call, &pattern);
    weir_content_fini(&content);
    return code;
}

static int run_fail(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, "failed", AFTER_FAILURE);
    const struct weir_settlement pattern = {
        .verb = WEIR_SETTLE_FAIL,
        .reason = settle_call.reason,
        .permanent = settle_call.for_good,
    };

    return code < 0 ? run_settle(self, &settle_call, &pattern) : code;
}

static int run_delay(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, "delayed", AFTER_DELAY);
    const struct weir_settlement pattern = {.verb = WEIR_SETTLE_DELAY,
                                            .delay_ms = settle_call.ms};

    if (code < 0 && settle_call.ms < 0)
        code = weir_command_misuse(self, "for how long? --for D is needed");
    return code < 0 ? run_settle(self, &settle_call, &pattern) : code;
}

static int run_abandon(const struct weir_command *self, int argc, char **argv)
{
    int code = parse(self, argc, argv, "abandoned", CANCELLED);
    const struct weir_settlement pattern = {.verb = WEIR_SETTLE_ABANDON,
                                            .reason = settle_call.reason};

    return code < 0 ? run_settle(self, &settle_call, &pattern) : code;
}
