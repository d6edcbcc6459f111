/*
 * execution_claim.c - `weir execution claim`: work for its caller, as plain data.
 *
 * The token of a claim is all that the other commands want to see, so a worker may be a
 * script in any language. What was claimed and could not be printed comes back when
 * its lease expires.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/noun.h"
#include "base/permissions.h"
#include "cli/execution/execution_claimant.h"
#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/reply.h"
#include "view/execution_info_records.h"

#define WAIT_MS_MAX (WEIR_HOURS(1) / WEIR_MILLISECONDS(1))

static int run(const struct weir_command *self, int argc, char **argv);

struct claim_call {
    struct weir_execution_session session;
    struct weir_execution_claimant claimant;
    size_t count;
    const char *input_to;
    int file; /* of --input-to; -1: none */
    struct weir_claimed *claimed;
    size_t claimed_count;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_EXECUTION_CLAIMANT_OPTIONS(struct claim_call),
    WEIR_OPTION('c', "count", "N", "at most so many, 1 to 10000; default 1",
                WEIR_AS_NUMBER(struct claim_call, count, 1, WEIR_BATCH_MAX)),
    WEIR_OPTION(0, "wait", "D", "for something to come, up to 1h; default not at all",
                WEIR_AS_MS(struct claim_call, claimant.options.wait_ms, 0, WAIT_MS_MAX)),
    WEIR_OPTION(0, "input-to", "FILE", "write the input there; for one claim",
                WEIR_AS_TEXT(struct claim_call, input_to)),
};

const struct weir_command weir_cli_execution_claim = {
    .name = "execution claim",
    .summary = "claim executions, to work on them yourself",
    .usage = "--lane LANE [OPTION...]",
    .details =
        "No other worker gets them until the lease expires, or this one reports how\n"
        "they ended. Each claim has a token, which 'weir execution renew', 'progress',\n"
        "'complete', 'fail', 'delay' and 'abandon' require. A worker that has lost the\n"
        "lease can change nothing any more.\n"
        "\n"
        "JSON has the input too. With --quiet the tokens are printed, one per line,\n"
        "and nothing when there was nothing to claim:\n"
        "\n"
        "  while token=$(weir execution claim -q --lane mail --wait 1h --input-to in)\n"
        "  do\n"
        "      [ -n \"$token\" ] || continue\n"
        "      if ./send-mail <in; then weir execution complete -q \"$token\"\n"
        "      else weir execution fail -q \"$token\" --reason 'not sent'; fi\n"
        "  done\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

/* ---- options ----------------------------------------------------------------------- */

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct claim_call *out)
{
    int code = weir_command_parse(self, argc, argv, out, sizeof *out);

    if (code >= 0)
        return code;
    code = weir_execution_claimant_check(&out->claimant, self);
    if (code == WEIR_EXIT_DONE && out->input_to != NULL && out->count > 1)
        code = weir_command_misuse(self, "--input-to is for one claim, not for %zu",
                                   out->count);
    return code == WEIR_EXIT_DONE ? -1 : code;
}

/* ---- the input in a file ----------------------------------------------------------- */

/* Before anything is claimed: what cannot be written is not claimed. */
static int open_file(struct claim_call *self)
{
    if (self->input_to == NULL)
        return WEIR_EXIT_DONE;
    self->file = open(self->input_to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                      WEIR_PERMISSIONS_OWNER);
    if (self->file >= 0)
        return WEIR_EXIT_DONE;
    return weir_command_fail(self->session.session.command, "cannot write '%s': %s",
                             self->input_to, strerror(errno));
}

static int write_input(const struct claim_call *self)
{
    const char *at = self->claimed_count > 0 ? self->claimed->input : "";
    size_t left = self->claimed_count > 0 ? self->claimed->input_size : 0;

    while (self->file >= 0 && left > 0) {
        ssize_t size = write(self->file, at, left);

        if (size < 0 && errno != EINTR)
            return weir_command_fail(
                self->session.session.command,
                "cannot write '%s': %s; what was claimed comes back after its lease",
                self->input_to, strerror(errno));
        if (size > 0) {
            at += size;
            left -= (size_t)size;
        }
    }
    return WEIR_EXIT_DONE;
}

/* ---- telling ----------------------------------------------------------------------- */

static int print_claims(const struct claim_call *self)
{
    const struct weir_session *session = &self->session.session;
    struct weir_record_list rows;
    int code;

    weir_record_list_init(&rows, &weir_claimed_record, weir_reply_form(session), 0);
    for (size_t i = 0; i < self->claimed_count; i++)
        weir_record_list_add(&rows,
                             &(struct weir_claimed_row){self->claimed[i],
                                                        self->claimant.options.lease_ms});
    code = weir_reply_list(session, "claims", &rows);
    weir_record_list_fini(&rows);
    return code;
}

static int tell(const struct claim_call *self)
{
    char token[WEIR_EXECUTION_TOKEN_SIZE];

    if (self->session.session.shared.json)
        return print_claims(self);
    if (!self->session.session.shared.quiet && self->claimed_count > 0)
        return print_claims(self);
    if (!self->session.session.shared.quiet)
        puts("nothing to claim");
    for (size_t i = 0; i < self->claimed_count; i++)
        puts(weir_execution_token_format(&self->claimed[i].claim, token));
    return WEIR_EXIT_DONE;
}

/* ---- claiming ---------------------------------------------------------------------- */

static int claim(struct claim_call *self)
{
    struct weir_error error = {0};
    int code = open_file(self);

    if (code != WEIR_EXIT_DONE)
        return code;
    if (weir_execution_claim(self->session.executions, &self->claimant.options,
                             self->count, &self->claimed, &self->claimed_count,
                             &error) != WEIR_OK)
        return weir_execution_session_fail(&self->session, &error);
    code = write_input(self);
    if (code == WEIR_EXIT_DONE)
        code = tell(self);
    weir_claimed_free(self->session.executions, self->claimed);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct claim_call claim_call = {.count = 1, .file = -1};
    int code;

    weir_execution_claimant_init(&claim_call.claimant,
                                 getppid()); /* the claimant, which works on it */
    code = parse(self, argc, argv, &claim_call);
    if (code >= 0)
        return code;
    code = weir_execution_session_open(&claim_call.session, self,
                                       WEIR_EXECUTION_SESSION_TELLING, NULL);
    if (code == WEIR_EXIT_DONE)
        code = claim(&claim_call);
    if (claim_call.file >= 0)
        close(claim_call.file);
    weir_execution_session_close(&claim_call.session);
    return code;
}
