/*
 * dlq_bulk.c - see dlq_bulk.h.
 */
#include "cli/dlq/dlq_bulk.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/noun.h"
#include "cli/confirm.h"
#include "cli/progress.h"
#include "cli/reply.h"
#include "outbox/dead_letter/dead_letter_scope.h"
#include "view/dead_letter_records.h"
#include "weir/audit.h"

static const struct {
    const char *action;   /* for the audit */
    const char *question; /* "Requeue 3 dead letters" */
    const char *done;     /* "requeued" */
} WORDS[] = {
    [WEIR_DLQ_REQUEUE_ALL] = {"dead_letter.requeue", "Requeue", "requeued"},
    [WEIR_DLQ_DISCARD_ALL] = {"dead_letter.discard", "Discard", "discarded"},
    [WEIR_DLQ_CLEANUP] = {"dead_letter.cleanup", "Remove for ever", "removed"},
};

static const char *letters(int64_t count)
{
    return WEIR_NOUN(count, "dead letter", "dead letters");
}

/* ---- counting ---------------------------------------------------------------------- */

static enum weir_status count(const struct weir_dlq_bulk *self, int64_t *out,
                              struct weir_error *error)
{
    static const enum weir_dead_letter_status OPEN[] = {WEIR_DEAD_LETTER_PENDING};
    static const enum weir_dead_letter_status CLOSED[] = {WEIR_DEAD_LETTER_RESOLVED,
                                                          WEIR_DEAD_LETTER_DISCARDED};
    bool closed = self->kind == WEIR_DLQ_CLEANUP;
    const struct weir_dead_letter_scope *scope = &self->scope->scope;
    enum weir_status status = WEIR_OK;

    *out = 0;
    for (int i = 0; i < (closed ? 2 : 1) && status == WEIR_OK; i++) {
        int64_t part = 0;

        status = weir_dead_letter_count(self->session->outbox, NULL, scope,
                                        closed ? CLOSED[i] : OPEN[i], &part, error);
        *out += part;
    }
    if (scope->limit > 0 && *out > scope->limit)
        *out = scope->limit;
    return status;
}

/* ---- doing ------------------------------------------------------------------------- */

static bool note(void *state, const struct weir_dead_letter_progress *progress)
{
    weir_progress_note(state, progress->done, progress->done);
    return true;
}

static enum weir_status work(const struct weir_dlq_bulk *self, int64_t whole,
                             int64_t *done, struct weir_error *error)
{
    struct weir_outbox *outbox = self->session->outbox;
    const struct weir_dead_letter_scope *scope = &self->scope->scope;
    struct weir_dead_letter_progress progress = {.done = 0};
    struct weir_progress line;
    enum weir_status status;

    if (self->kind == WEIR_DLQ_DISCARD_ALL)
        return weir_dead_letter_discard_all(outbox, NULL, scope, done, error);
    if (self->kind == WEIR_DLQ_CLEANUP)
        return weir_dead_letter_cleanup(outbox, NULL, scope, done, error);
    weir_progress_begin(&line, (struct weir_noun){"dead letter", "dead letters"}, whole,
                        self->session->shared.quiet ? WEIR_PROGRESS_OFF
                                                    : WEIR_PROGRESS_ON_TERMINAL);
    status = weir_dead_letter_requeue_all(outbox, scope, note, &line, &progress, error);
    weir_progress_end(&line);
    *done = progress.done;
    return status;
}

/* ---- telling ----------------------------------------------------------------------- */

static int tell(const struct weir_dlq_bulk *self, int64_t number)
{
    const char *done = WORDS[self->kind].done;
    struct weir_dead_letters_swept row = {.dry_run = self->dry_run};

    weir_dead_letters_counts_set(&row.counts, done, number);
    if (self->dry_run && !self->session->shared.json) {
        printf("%" PRId64 " %s would be %s\n", number, letters(number), done);
        return WEIR_EXIT_DONE;
    }
    return weir_reply(self->session, &weir_dead_letters_swept_record, &row,
                      "%" PRId64 " %s %s", number, letters(number), done);
}

static int tell_failure(const struct weir_dlq_bulk *self, int64_t done,
                        const struct weir_error *error)
{
    if (done == 0)
        return weir_dlq_scope_fail(self->scope, self->session, error);
    return weir_command_fail(self->session->command,
                             "%s; %" PRId64 " %s %s, the same command "
                             "does the rest",
                             error->text, done, letters(done), WORDS[self->kind].done);
}

int weir_dlq_bulk_run(const struct weir_dlq_bulk *self)
{
    struct weir_error error = {0};
    int64_t whole = 0;
    int64_t done = 0;
    char target[WEIR_AUDIT_TEXT_SIZE_MAX];
    int code = WEIR_EXIT_DONE;
    enum weir_status status;

    status = count(self, &whole, &error);
    if (!self->dry_run && (status != WEIR_OK || whole == 0))
        weir_session_refused(
            self->session, WORDS[self->kind].action,
            weir_letter_scope_describe(&self->scope->scope, target, sizeof target),
            status);
    if (status != WEIR_OK)
        return weir_dlq_scope_fail(self->scope, self->session, &error);
    if (self->dry_run || whole == 0)
        return tell(self, whole);
    if (!self->yes)
        code = weir_confirm(self->session->command, "%s %" PRId64 " %s",
                            WORDS[self->kind].question, whole, letters(whole));
    if (code != WEIR_EXIT_DONE)
        return code;
    if (work(self, whole, &done, &error) != WEIR_OK)
        return tell_failure(self, done, &error);
    return tell(self, done);
}
