/*
 * answer_dead_letters.c - dead letters: pages of them, and one as a whole.
 *
 * Without the scope `content` a letter has neither payload nor headers: they are not
 * even read for a page.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "db/clock.h"
#include "server/api/answers.h"
#include "server/api/mount.h"
#include "view/dead_letter_records.h"

enum { LIMIT_DEFAULT = 100, MARK_SIZE = 48 };

struct page {
    const struct weir_api_call *call;
    struct weir_dead_letter_page page;
};

static void add_letter(void *state, const struct weir_dead_letter *letter)
{
    struct page *self = state;

    if (weir_call_sees_queue(self->call, letter->queue))
        weir_record_list_add(&self->page.letters, letter);
}

/* What a page ended with: two numbers. */
static bool parse_mark(const char *text, struct weir_dead_letter_mark *out)
{
    int used = 0;

    return sscanf(text, "%" SCNd64 ":%" SCNd64 "%n", &out->failed_us, &out->id, &used) ==
               2 &&
           text[used] == '\0' && out->id > 0;
}

static enum weir_status read_question(const struct weir_api_call *call,
                                      struct weir_dead_letter_scope *scope,
                                      struct weir_dead_letter_mark *mark,
                                      struct weir_error *error)
{
    const char *after = weir_call_text(call, "after");

    weir_dead_letter_scope_init(scope);
    scope->queue = weir_call_text(call, "queue");
    scope->subscription = weir_call_text(call, "subscription");
    scope->partition = (int32_t)weir_call_number(call, "partition", WEIR_ANY_PARTITION);
    scope->key = weir_call_text(call, "key");
    scope->type = weir_call_text(call, "type");
    scope->failed_from_us = weir_call_moment(call, "since");
    scope->failed_until_us = weir_call_moment(call, "before");
    scope->limit = weir_call_number(call, "limit", LIMIT_DEFAULT);
    scope->sealed = !weir_call_sees_content(call);
    *mark = (struct weir_dead_letter_mark){0};
    if (after != NULL && !parse_mark(after, mark))
        return weir_error_set(error, WEIR_INVALID,
                              "parameter 'after' must be what a page ended with");
    if (scope->queue != NULL && !weir_call_sees_queue(call, scope->queue))
        return weir_call_hide("queue", scope->queue, error);
    return WEIR_OK;
}

static enum weir_dead_letter_status status_of(const struct weir_api_call *call)
{
    unsigned bits = weir_call_words(call, "status");

    for (unsigned i = 0; i <= WEIR_DEAD_LETTER_REQUEUED; i++)
        if (bits == 1u << i)
            return (enum weir_dead_letter_status)i;
    return WEIR_DEAD_LETTER_PENDING;
}

/* A role of the database that may not read payloads still sees the letters. */
static enum weir_status read_page(struct page *self, struct weir_dead_letter_scope *scope,
                                  struct weir_dead_letter_mark *mark,
                                  struct weir_error *error)
{
    struct weir_outbox *outbox = weir_mount_outbox(self->call->mount);
    enum weir_dead_letter_status which = status_of(self->call);
    enum weir_status status =
        weir_dead_letter_list(outbox, NULL, scope, which, mark, add_letter, self, error);

    if (status == WEIR_DENIED && !scope->sealed) {
        scope->sealed = true;
        status = weir_dead_letter_list(outbox, NULL, scope, which, mark, add_letter, self,
                                       error);
    }
    return status;
}

enum weir_status weir_answer_dead_letters(struct weir_api_call *call,
                                          struct weir_error *error)
{
    struct page self = {.call = call};
    struct weir_dead_letter_scope scope;
    struct weir_dead_letter_mark mark;
    char after[MARK_SIZE];
    enum weir_status status = read_question(call, &scope, &mark, error);

    if (status != WEIR_OK)
        return status;
    weir_record_list_init(&self.page.letters, &weir_dead_letter_record, WEIR_FORM_JSON,
                          weir_clock_wall_us());
    status = read_page(&self, &scope, &mark, error);
    if (status == WEIR_OK) {
        weir_text_format(after, sizeof after, "%" PRId64 ":%" PRId64, mark.failed_us,
                         mark.id);
        self.page.after = mark.more ? after : NULL;
        weir_record_append_json(&weir_dead_letter_page_record, &call->body, NULL,
                                &self.page, weir_clock_wall_us());
    }
    weir_record_list_fini(&self.page.letters);
    return status;
}

/* ---- one --------------------------------------------------------------------------- */

struct one {
    struct weir_api_call *call;
    bool hidden;
};

static void append_letter(void *state, const struct weir_dead_letter *letter)
{
    struct one *self = state;
    struct weir_dead_letter sealed = *letter;

    if (!weir_call_sees_queue(self->call, letter->queue)) {
        self->hidden = true;
        return;
    }
    if (weir_call_sees_content(self->call)) {
        weir_record_append_json(&weir_dead_letter_payload_record, &self->call->body, NULL,
                                letter, 0);
        return;
    }
    sealed.payload = NULL;
    sealed.payload_size = 0;
    weir_record_append_json(&weir_dead_letter_record, &self->call->body, NULL, &sealed,
                            0);
}

enum weir_status weir_answer_dead_letter(struct weir_api_call *call,
                                         struct weir_error *error)
{
    struct one self = {.call = call};
    const char *word = weir_call_name(call, 0);
    int64_t id = 0;
    int used = 0;
    enum weir_status status;

    if (sscanf(word, "%" SCNd64 "%n", &id, &used) != 1 || word[used] != '\0' || id <= 0)
        return weir_call_hide("dead letter", word, error);
    status = weir_dead_letter_read(weir_mount_outbox(call->mount), NULL, id,
                                   append_letter, &self, error);
    return status == WEIR_OK && self.hidden ? weir_call_hide("dead letter", word, error)
                                            : status;
}
