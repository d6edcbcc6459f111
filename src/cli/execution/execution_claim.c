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

#include "base/count.h"
#include "base/noun.h"
#include "base/permissions.h"
#include "cli/execution/execution_claimant.h"
#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/output.h"
#include "weir/heap.h"

enum { OPTION_INPUT_TO = 400, OPTION_WAIT, JSON_SIZE_MAX = 1 << 30 };

#define WAIT_MS_MAX (WEIR_HOURS(1) / WEIR_MILLISECONDS(1))

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    WEIR_EXECUTION_CLAIMANT_OPTIONS,
    {'c', "count", "N", "at most so many, 1 to 10000; default 1"},
    {OPTION_WAIT, "wait", "D", "for something to come, up to 1h; default not at all"},
    {OPTION_INPUT_TO, "input-to", "FILE", "write the input there; for one claim"},
};

const struct weir_command weir_cli_execution_claim = {
    .name = "execution claim",
    .summary = "claim executions, to work on them yourself",
    .usage = "--lane LANE [OPTION...]",
    .details =
        "Nobody else gets them until the lease is over, or you say what became of\n"
        "them. Each claim has a token, which 'weir execution renew', 'progress',\n"
        "'complete', 'fail', 'delay' and 'abandon' want to see. Whoever has lost the\n"
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
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .uses_db = true,
    .run = run,
};

struct claim_call {
    struct weir_execution_session session;
    struct weir_execution_claimant claimant;
    size_t count;
    const char *input_to;
    int file; /* of --input-to; -1: none */
    struct weir_claimed *claimed;
    size_t claimed_count;
};

/* ---- options ----------------------------------------------------------------------- */

static int take_option(const struct weir_command *self, void *state, int id, char *value)
{
    struct claim_call *out = state;
    int64_t number = 0;
    int code;

    switch (id) {
    case 'c':
        code = weir_command_number(self, "count", value, 1, WEIR_BATCH_MAX, &number);
        out->count = (size_t)number;
        return code;
    case OPTION_WAIT:
        return weir_execution_take_ms(self, "wait", value, 0, WAIT_MS_MAX,
                                      &out->claimant.options.wait_ms);
    case OPTION_INPUT_TO:
        out->input_to = value;
        return WEIR_EXIT_DONE;
    default:
        return weir_execution_claimant_take(&out->claimant, self, id, value);
    }
}

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct claim_call *out)
{
    int code = weir_command_take_options(self, argc, argv, take_option, out);

    if (code >= 0)
        return code;
    code = weir_command_no_operands(self, argc, argv);
    if (code == WEIR_EXIT_DONE)
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

static const struct weir_table_column COLUMNS[] = {
    {.title = "token"},
    {.title = "lane", .cut_to = 10, .rank = 2},
    {.title = "kind", .cut_to = 10},
    {.title = "attempt", .align = WEIR_TABLE_RIGHT},
    {.title = "type", .rank = 3},
    {.title = "lease", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "input", .align = WEIR_TABLE_RIGHT, .rank = 4},
};

static int print_table(const struct claim_call *self)
{
    struct weir_table table;
    int code;

    weir_table_init(&table, weir_heap_system(), COLUMNS, COUNT_OF(COLUMNS));
    for (size_t i = 0; i < self->claimed_count; i++) {
        const struct weir_claimed *claimed = &self->claimed[i];
        char token[WEIR_EXECUTION_TOKEN_SIZE];
        char lease[WEIR_AGE_SIZE];

        weir_table_add(&table, WEIR_TONE_PLAIN, "%s",
                       weir_execution_token_format(&claimed->claim, token));
        weir_table_add(&table, WEIR_TONE_PLAIN, "%s", claimed->lane);
        weir_table_add(&table, WEIR_TONE_PLAIN, "%s", claimed->kind);
        weir_table_add(&table, WEIR_TONE_PLAIN, "%" PRId32, claimed->attempt);
        weir_table_add(&table, WEIR_TONE_PLAIN, "%s",
                       weir_attempt_type_name(claimed->type));
        weir_table_add(
            &table, WEIR_TONE_PLAIN, "%s",
            weir_output_age(self->claimant.options.lease_ms * INT64_C(1000), lease));
        weir_table_add(&table, WEIR_TONE_PLAIN, "%zu %s", claimed->input_size,
                       WEIR_NOUN(claimed->input_size, "byte", "bytes"));
    }
    code = weir_output_table(self->session.session.command, &table);
    weir_table_fini(&table);
    return code;
}

static void append_claim(struct weir_buf *json, const struct weir_claimed *claimed)
{
    char token[WEIR_EXECUTION_TOKEN_SIZE];
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "token",
                         weir_execution_token_format(&claimed->claim, token));
    weir_output_add_text(json, "id", weir_execution_id_format(&claimed->claim.id, id));
    weir_output_add_text(json, "namespace", claimed->name_space);
    weir_output_add_text(json, "lane", claimed->lane);
    weir_output_add_text(json, "kind", claimed->kind);
    weir_output_add_text(json, "name", claimed->name);
    weir_output_add_number(json, "attempt", claimed->attempt);
    weir_output_add_text(json, "type", weir_attempt_type_name(claimed->type));
    weir_output_add_number(json, "epoch", claimed->claim.epoch);
    weir_output_add_time(json, "lease_until", claimed->lease_us);
    weir_output_add_time(json, "deadline_at", claimed->deadline_us);
    weir_output_open(json, "tags", "{");
    for (size_t i = 0; i < claimed->tag_count; i++)
        weir_output_add_text(json, claimed->tags[i].key, claimed->tags[i].value);
    weir_buf_append_text(json, "}");
    weir_output_add_bytes(json, "input",
                          (struct weir_str){claimed->input, claimed->input_size});
    weir_buf_append_text(json, "}");
}

static int print_json(const struct claim_call *self)
{
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_open(&json, "claims", "[");
    for (size_t i = 0; i < self->claimed_count; i++)
        append_claim(&json, &self->claimed[i]);
    weir_buf_append_text(&json, "]}");
    code = weir_output_text(self->session.session.command, &json);
    weir_buf_fini(&json);
    return code;
}

static int tell(const struct claim_call *self)
{
    char token[WEIR_EXECUTION_TOKEN_SIZE];

    if (self->session.session.shared.json)
        return print_json(self);
    if (!self->session.session.shared.quiet && self->claimed_count > 0)
        return print_table(self);
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
