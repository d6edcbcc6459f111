/*
 * dlq_claim.c - `weir dlq claim`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/dlq/dlq_scope.h"
#include "cli/dlq/dlq_view.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 512 << 20, TOKEN_SIZE = 24 };

#define FOR_DEFAULT_NS WEIR_MINUTES(5)
#define FOR_MAX_NS (30 * 24 * WEIR_HOURS(1))

static int run(const struct weir_command *self, int argc, char **argv);

struct claim_call {
    struct weir_session session;
    struct weir_dlq_scope scope;
    int64_t timeout_ns;
    struct weir_dlq_view view;
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
        "Nobody else gets them until the claim runs out. It has a token, which\n"
        "'weir dlq resolve', 'reject', 'requeue' and 'discard' want to see. Up to\n"
        "100 letters, or --limit up to 10000; those that nobody has tried come\n"
        "first. JSON has their payloads. With --quiet the token is printed, and then\n"
        "the ids, one per line.\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

static void add_letter(void *state, const struct weir_dead_letter *letter)
{
    struct claim_call *self = state;

    self->ids[self->view.count] = letter->id;
    weir_dlq_view_add(&self->view, letter);
}

static int print_json(const struct claim_call *self,
                      const struct weir_dead_letter_claim *claim)
{
    char token[TOKEN_SIZE];
    struct weir_buf json;
    int code;

    weir_text_format(token, sizeof token, "%" PRId64, claim->token);
    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_text(&json, "token", token); /* more digits than a double has */
    weir_output_add_seconds(&json, "for_seconds", self->timeout_ns / 1000);
    weir_dlq_view_append_json(&self->view, &json);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(self->session.command, &json);
    weir_buf_fini(&json);
    return code;
}

static int print(const struct claim_call *self,
                 const struct weir_dead_letter_claim *claim)
{
    int code;

    if (self->session.shared.json)
        return print_json(self, claim);
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
    code = weir_output_table(self->session.command, &self->view.table);
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
    return print(self, &claim);
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
    weir_dlq_view_init(&claim_call.view, true);
    code = weir_session_open(&claim_call.session, self, WEIR_SESSION_OUTBOX, 0);
    if (code == WEIR_EXIT_DONE)
        code = claim_letters(&claim_call);
    weir_session_close(&claim_call.session);
    weir_dlq_view_fini(&claim_call.view);
    return code;
}
