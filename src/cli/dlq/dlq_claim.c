/*
 * dlq_claim.c - `weir dlq claim`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/dlq/dlq_scope.h"
#include "cli/reply.h"
#include "db/clock.h"
#include "view/dead_letter_records.h"

#define FOR_DEFAULT_NS WEIR_MINUTES(5)
#define FOR_MAX_NS (30 * 24 * WEIR_HOURS(1))

static int run(const struct weir_command *self, int argc, char **argv);

struct claim_call {
    struct weir_session session;
    struct weir_dlq_scope scope;
    int64_t timeout_ns;
    struct weir_dead_letters_claimed claimed;
    int64_t ids[WEIR_DLQ_IDS_MAX];
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION(
        0, "for", "D", "until the claim runs out; default 5min, up to 30d",
        WEIR_AS_NS(struct claim_call, timeout_ns, WEIR_MILLISECONDS(1), FOR_MAX_NS)),
    WEIR_DLQ_SCOPE_OPTIONS(struct claim_call),
};

const struct weir_command weir_cli_dlq_claim = {
    .name = "dlq claim",
    .summary = "claim pending dead letters, to take care of them yourself",
    .usage = "[--for D] [FILTER...]",
    .details =
        "No other claim gets them until this one expires. It has a token, which\n"
        "'weir dlq resolve', 'reject', 'requeue' and 'discard' require. Up to\n"
        "100 letters, or --limit up to 10000; those without an attempt come\n"
        "first. JSON has their payloads. With --quiet the token is printed, and then\n"
        "the ids, one per line.\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static void add_letter(void *state, const struct weir_dead_letter *letter)
{
    struct claim_call *self = state;

    self->ids[self->claimed.letters.count] = letter->id;
    weir_record_list_add(&self->claimed.letters, letter);
}

static int print(const struct claim_call *self,
                 const struct weir_dead_letter_claim *claim)
{
    int code;

    if (self->session.shared.json)
        return weir_reply_json(&self->session, &weir_dead_letters_claimed_record,
                               &self->claimed);
    if (claim->count == 0) {
        if (!self->session.shared.quiet)
            puts("no dead letters to claim");
        return WEIR_EXIT_DONE;
    }
    if (self->session.shared.quiet) {
        printf("%" PRId64 "\n", claim->token);
        for (size_t i = 0; i < claim->count; i++)
            printf("%" PRId64 "\n", self->ids[i]);
        return WEIR_EXIT_DONE;
    }
    code = weir_output_table(self->session.command, &self->claimed.letters.table);
    if (code == WEIR_EXIT_DONE)
        printf("claimed %zu: --token %" PRId64 "\n", claim->count, claim->token);
    return code;
}

static int claim_letters(struct claim_call *self)
{
    struct weir_dead_letter_claim claim;
    struct weir_error error = {0};

    if (weir_dead_letter_claim(self->session.outbox, NULL, &self->scope.scope,
                               self->timeout_ns, add_letter, self, &claim,
                               &error) != WEIR_OK)
        return weir_dlq_scope_fail(&self->scope, &self->session, &error);
    self->claimed.token = claim.token;
    self->claimed.for_ns = self->timeout_ns;
    return print(self, &claim);
}

/* JSON has the payloads, too. */
static int claim_and_print(void *state)
{
    struct claim_call *self = state;
    const struct weir_record *record = self->session.shared.json
                                           ? &weir_dead_letter_payload_record
                                           : &weir_dead_letter_record;
    int code;

    weir_record_list_init(&self->claimed.letters, record, weir_reply_form(&self->session),
                          weir_clock_wall_us());
    code = claim_letters(self);
    weir_record_list_fini(&self->claimed.letters);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    static struct claim_call claim_call;
    int code;

    weir_dlq_scope_init(&claim_call.scope);
    claim_call.timeout_ns = FOR_DEFAULT_NS;
    code = weir_command_parse(self, argc, argv, &claim_call, sizeof claim_call);
    if (code >= 0)
        return code;
    return weir_session_run(&claim_call.session, self, WEIR_SESSION_OUTBOX,
                            claim_and_print, &claim_call);
}
