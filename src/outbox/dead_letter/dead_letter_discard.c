/*
 * dead_letter_discard.c - discarding dead letters, and removing all of them.
 */
#include "outbox/dead_letter/dead_letter_bulk.h"
#include "outbox/dead_letter/dead_letter_choice.h"
#include "outbox/dead_letter/dead_letter_sql.h"

/* Rows that are locked. The token of an owner whose claim has run out counts no more. */
static const struct weir_sql_pair SQL_DISCARD = WEIR_LETTER_BY_IDS(
    "discard dead letters",
    "UPDATE {p}_dead_letter SET status = 'discarded', completed_us = {2}, token = {3},"
    " deadline_us = 0 WHERE id",
    "", "ii");

static enum weir_status discard(struct weir_connection *connection,
                                const struct weir_letter_pick *picks, size_t count,
                                int64_t now_us, int64_t token, struct weir_error *error)
{
    struct weir_value values[3] = {[1] = weir_integer(now_us), [2] = weir_integer(token)};

    return weir_letters_change(connection, &SQL_DISCARD, picks, count, values, 3, error);
}

/* ---- by id ------------------------------------------------------------------------- */

static enum weir_status discard_chosen(const struct weir_letter_decision *self,
                                       struct weir_connection *connection,
                                       const struct weir_letter_picks *picks,
                                       int64_t now_us, struct weir_error *error)
{
    return discard(connection, picks->items, picks->count, now_us, self->choice->token,
                   error);
}

enum weir_status weir_dead_letter_discard(struct weir_outbox *outbox,
                                          struct weir_connection *connection,
                                          const struct weir_dead_letter_choice *choice,
                                          enum weir_status *verdicts,
                                          struct weir_error *error)
{
    const struct weir_letter_decision decision = {
        .outbox = outbox,
        .choice = choice,
        .action = "dead_letter.discard",
        .done = "discarded",
        .becomes = WEIR_DEAD_LETTER_DISCARDED,
        .takes_pending = true,
        .act = discard_chosen,
    };

    return weir_letter_decide(&decision, connection, verdicts, error);
}

/* ---- by scope ---------------------------------------------------------------------- */

static enum weir_status discard_step(struct weir_outbox *outbox,
                                     struct weir_connection *connection,
                                     const struct weir_letter_picks *picks, size_t count,
                                     int64_t now_us, struct weir_error *error)
{
    (void)outbox;
    return discard(connection, picks->items, count, now_us, 0, error);
}

static enum weir_status remove_step(struct weir_outbox *outbox,
                                    struct weir_connection *connection,
                                    const struct weir_letter_picks *picks, size_t count,
                                    int64_t now_us, struct weir_error *error)
{
    (void)outbox;
    (void)now_us;
    return weir_letters_remove(connection, picks->items, count, error);
}

static enum weir_status run(const struct weir_letter_bulk *bulk,
                            struct weir_connection *connection, int64_t *out,
                            struct weir_error *error)
{
    struct weir_dead_letter_progress progress = {.done = 0};
    enum weir_status status = weir_letter_bulk_run(bulk, connection, &progress, error);

    *out = progress.done;
    return status;
}

enum weir_status weir_dead_letter_discard_all(struct weir_outbox *outbox,
                                              struct weir_connection *connection,
                                              const struct weir_dead_letter_scope *scope,
                                              int64_t *out, struct weir_error *error)
{
    const struct weir_letter_bulk bulk = {
        .action = "dead_letter.discard",
        .outbox = outbox,
        .scope = scope,
        .pick = &outbox->engine->letters->step_open,
        .step = discard_step,
    };

    return run(&bulk, connection, out, error);
}

enum weir_status weir_dead_letter_cleanup(struct weir_outbox *outbox,
                                          struct weir_connection *connection,
                                          const struct weir_dead_letter_scope *scope,
                                          int64_t *out, struct weir_error *error)
{
    const struct weir_letter_bulk bulk = {
        .action = "dead_letter.cleanup",
        .outbox = outbox,
        .scope = scope,
        .pick = &outbox->engine->letters->step_closed,
        .step = remove_step,
    };

    return run(&bulk, connection, out, error);
}
