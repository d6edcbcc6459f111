/*
 * dead_letter_claim.c - claiming dead letters, and what becomes of a claim.
 *
 * The token of the last claim stays in the row when the claim is resolved or rejected.
 * It proves which claim has decided, so that a decision whose answer was lost may be
 * repeated and does nothing. Any other decision replaces it, and a late owner is refused.
 */
#include "base/arena.h"
#include "base/duration.h"
#include "db/clock.h"
#include "outbox/audit/audit.h"
#include "outbox/dead_letter/dead_letter_choice.h"
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/engine.h"
#include "outbox/plain_text.h"
#include "outbox/transact_nested.h"

#define TIMEOUT_MIN_NS WEIR_MILLISECONDS(1)
#define TIMEOUT_MAX_NS (30 * 24 * WEIR_HOURS(1))

/* Rows that are locked. */
static const struct weir_sql_pair SQL_CLAIM =
    WEIR_LETTER_BY_IDS("claim dead letters",
                       "UPDATE {p}_dead_letter SET status = 'reprocessing', token = {2},"
                       " deadline_us = {3} WHERE id",
                       "", "ii");
static const struct weir_sql_pair SQL_RESOLVE = WEIR_LETTER_BY_IDS(
    "resolve dead letters",
    "UPDATE {p}_dead_letter SET status = 'resolved', completed_us = {2},"
    " deadline_us = 0 WHERE id",
    "", "i");
static const struct weir_sql_pair SQL_REJECT = WEIR_LETTER_BY_IDS(
    "reject dead letters",
    "UPDATE {p}_dead_letter SET status = 'pending', failed_us = {2}, error = {3},"
    " attempts = CASE WHEN attempts < 2147483647 THEN attempts + 1 ELSE attempts END,"
    " deadline_us = 0 WHERE id",
    "", "it");

/* ---- claiming ---------------------------------------------------------------------- */

struct claim {
    const struct weir_dead_letter_scope *scope;
    int64_t timeout_us;
    struct weir_dead_letter_claim *out;
    struct weir_letter_picks picks;
    struct weir_letters letters;
};

static enum weir_status pick(struct claim *self, struct weir_connection *connection,
                             int64_t now_us, size_t limit, struct weir_error *error)
{
    struct weir_value values[WEIR_LETTER_FILTER_SIZE + 2];
    struct weir_letter_filter filter;
    enum weir_status status =
        weir_letter_scope_resolve(self->scope, connection, &filter, error);

    if (status != WEIR_OK)
        return status;
    weir_letter_filter_bind(&filter, values);
    values[WEIR_LETTER_FILTER_SIZE] = weir_integer(now_us);
    values[WEIR_LETTER_FILTER_SIZE + 1] = weir_integer((int64_t)limit);
    return weir_letter_picks_read(&self->picks, connection,
                                  &weir_outbox_engine_of(connection)->letters->claim,
                                  values, WEIR_LETTER_FILTER_SIZE + 2, error);
}

static enum weir_status claim(struct weir_connection *connection, void *argument,
                              struct weir_error *error)
{
    struct claim *self = argument;
    size_t limit = self->scope->limit != 0 ? (size_t)self->scope->limit
                                           : WEIR_DEAD_LETTER_LIMIT_DEFAULT;
    struct weir_value values[3];
    int64_t now_us = 0;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    if (status == WEIR_OK)
        status = pick(self, connection, now_us, limit, error);
    if (status != WEIR_OK)
        return status;
    self->out->deadline_us = now_us + self->timeout_us;
    self->out->count = weir_letter_picks_fitting(&self->picks, 0, limit);
    values[1] = weir_integer(self->out->token);
    values[2] = weir_integer(self->out->deadline_us);
    status = weir_letters_change(connection, &SQL_CLAIM, self->picks.items,
                                 self->out->count, values, 3, error);
    if (status == WEIR_OK)
        status = weir_letters_fetch(&self->letters, connection, self->picks.items,
                                    self->out->count, now_us, error);
    if (status == WEIR_OK)
        status = weir_audit_record(connection, (int64_t)self->out->count, error);
    return status;
}

static enum weir_status claim_some(struct weir_outbox *outbox,
                                   struct weir_connection *connection,
                                   const struct weir_dead_letter_scope *scope,
                                   int64_t timeout_ns, weir_dead_letter_fn visit,
                                   void *state, struct weir_dead_letter_claim *out,
                                   struct weir_error *error)
{
    struct weir_audit_call *audit;
    struct claim self = {.scope = scope, .timeout_us = timeout_ns / 1000, .out = out};
    enum weir_status status =
        weir_letter_scope_check(scope, WEIR_DEAD_LETTER_LIMIT_MAX, error);

    *out = (struct weir_dead_letter_claim){
        .token = (int64_t)(weir_clock_random() >> 1) | 1, /* never 0 */
    };
    if (status == WEIR_OK)
        status = weir_duration_check("timeout_ns", timeout_ns, TIMEOUT_MIN_NS,
                                     TIMEOUT_MAX_NS, error);
    if (status != WEIR_OK)
        return status;
    weir_letter_picks_init(&self.picks, outbox->heap);
    weir_letters_init(&self.letters, outbox->heap);
    status = weir_transact_nested(outbox, connection, claim, &self, error);
    audit = weir_audit_leave();
    if (status == WEIR_OK)
        weir_letters_visit(&self.letters, visit, state);
    else
        out->count = 0;
    weir_audit_return(audit);
    weir_letters_fini(&self.letters);
    weir_letter_picks_fini(&self.picks);
    return status;
}

enum weir_status weir_dead_letter_claim(struct weir_outbox *outbox,
                                        struct weir_connection *connection,
                                        const struct weir_dead_letter_scope *scope,
                                        int64_t timeout_ns, weir_dead_letter_fn visit,
                                        void *state, struct weir_dead_letter_claim *out,
                                        struct weir_error *error)
{
    char target[WEIR_AUDIT_TARGET_SIZE];
    struct weir_audit_call audit;

    weir_audit_begin(&audit, outbox->db, connection, "dead_letter.claim",
                     weir_letter_scope_describe(scope, target, sizeof target));
    return weir_audit_end(
        &audit,
        claim_some(outbox, connection, scope, timeout_ns, visit, state, out, error),
        error);
}

/* ---- what becomes of it ------------------------------------------------------------ */

static enum weir_status resolve(const struct weir_letter_decision *self,
                                struct weir_connection *connection,
                                const struct weir_letter_picks *picks, int64_t now_us,
                                struct weir_error *error)
{
    struct weir_value values[2] = {[1] = weir_integer(now_us)};

    (void)self;
    return weir_letters_change(connection, &SQL_RESOLVE, picks->items, picks->count,
                               values, 2, error);
}

enum weir_status weir_dead_letter_resolve(struct weir_outbox *outbox,
                                          struct weir_connection *connection,
                                          const struct weir_dead_letter_choice *choice,
                                          enum weir_status *verdicts,
                                          struct weir_error *error)
{
    const struct weir_letter_decision decision = {
        .outbox = outbox,
        .choice = choice,
        .action = "dead_letter.resolve",
        .done = "resolved",
        .becomes = WEIR_DEAD_LETTER_RESOLVED,
        .act = resolve,
    };

    return weir_letter_decide(&decision, connection, verdicts, error);
}

static enum weir_status reject(const struct weir_letter_decision *self,
                               struct weir_connection *connection,
                               const struct weir_letter_picks *picks, int64_t now_us,
                               struct weir_error *error)
{
    const struct weir_str *reason = self->argument;
    struct weir_value values[3] = {[1] = weir_integer(now_us), [2] = weir_text(*reason)};

    return weir_letters_change(connection, &SQL_REJECT, picks->items, picks->count,
                               values, 3, error);
}

enum weir_status weir_dead_letter_reject(struct weir_outbox *outbox,
                                         struct weir_connection *connection,
                                         const struct weir_dead_letter_choice *choice,
                                         const char *reason, enum weir_status *verdicts,
                                         struct weir_error *error)
{
    struct weir_str plain = {NULL, 0};
    const struct weir_letter_decision decision = {
        .outbox = outbox,
        .choice = choice,
        .action = "dead_letter.reject",
        .reason = reason,
        .done = "rejected",
        .becomes = WEIR_DEAD_LETTER_PENDING,
        .act = reject,
        .argument = &plain,
    };
    struct weir_arena texts;
    enum weir_status status;

    if (reason == NULL || reason[0] == '\0')
        return weir_letter_refuse(
            &decision, connection,
            weir_error_set(error, WEIR_INVALID, "a reject needs a reason"));
    weir_arena_init(&texts, outbox->heap, 2 * WEIR_PLAIN_TEXT_SIZE_MAX);
    status = weir_plain_text(&texts, weir_str(reason), &plain);
    if (status == WEIR_OK)
        status = weir_letter_decide(&decision, connection, verdicts, error);
    else
        (void)weir_error_set(error, status, "no memory for the reason");
    weir_arena_fini(&texts);
    return status;
}
