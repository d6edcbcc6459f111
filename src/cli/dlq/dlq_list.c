/*
 * dlq_list.c - `weir dlq list` and `weir dlq show`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/dlq/dlq_scope.h"
#include "cli/reply.h"
#include "db/clock.h"
#include "view/dead_letter_records.h"
#include "weir/heap.h"

enum {
    JSON_SIZE_MAX = 512 << 20,
    MARK_SIZE = 48,
};

static int run_list(const struct weir_command *self, int argc, char **argv);
static int run_show(const struct weir_command *self, int argc, char **argv);

struct list_call {
    struct weir_session session;
    struct weir_dlq_scope scope;
    enum weir_dead_letter_status status;
    struct weir_dead_letter_mark mark;
    struct weir_dead_letter_page page;
};

struct show_call {
    struct weir_dlq_scope scope;
};

static int parse_status(const struct weir_command *self,
                        const struct weir_command_option *option, char *word, void *out)
{
    struct weir_error error = {0};

    (void)option;
    if (weir_dead_letter_status_parse(word, out, &error) == WEIR_OK)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(self, "--%s", error.text);
}

static int parse_mark(const struct weir_command *self,
                      const struct weir_command_option *option, char *word, void *out)
{
    struct weir_dead_letter_mark mark = {0};
    int used = 0;

    if (sscanf(word, "%" SCNd64 ":%" SCNd64 "%n", &mark.failed_us, &mark.id, &used) !=
            2 ||
        word[used] != '\0' || mark.id <= 0)
        return weir_command_misuse(self, "--%s is '%s', must be what a page ended with",
                                   option->name, word);
    *(struct weir_dead_letter_mark *)out = mark;
    return WEIR_EXIT_DONE;
}

static const struct weir_command_option LIST_OPTIONS[] = {
    WEIR_OPTION(0, "status", "STATUS", "pending (default), or another one of those below",
                WEIR_AS_PARSED(struct list_call, status, enum weir_dead_letter_status,
                               parse_status)),
    WEIR_DLQ_SCOPE_OPTIONS(struct list_call),
    WEIR_OPTION(
        0, "after", "MARK", "the next page, behind the one that ended there",
        WEIR_AS_PARSED(struct list_call, mark, struct weir_dead_letter_mark, parse_mark)),
};
static const struct weir_command_option SHOW_OPERANDS[] = {
    WEIR_OPERAND("ID", WEIR_DLQ_IDS(struct show_call), .optional = true),
};

const struct weir_command weir_cli_dlq_list = {
    .name = "dlq list",
    .summary = "list dead letters, newest failure first",
    .usage = "[--status STATUS] [FILTER...] [--after MARK]",
    .details =
        "STATUS is pending, reprocessing, resolved, requeued, discarded or any; the\n"
        "requeued ones are among the resolved ones, too. A page has 100 letters, or\n"
        "--limit up to 10000. A claim that has run out is pending again. When there\n"
        "are more, the last line has the MARK of --after, and so has JSON. With\n"
        "--quiet only the ids are printed, one per line.\n",
    WEIR_OPTIONS(LIST_OPTIONS),
    .uses_db = true,
    .run = run_list,
};

const struct weir_command weir_cli_dlq_show = {
    .name = "dlq show",
    .summary = "show everything of one dead letter, its payload too",
    .usage = "ID",
    .details = "With --quiet only the payload is printed, byte by byte.\n",
    WEIR_OPERANDS(SHOW_OPERANDS),
    .uses_db = true,
    .run = run_show,
};

/* ---- list -------------------------------------------------------------------------- */

static void print_id(void *state, const struct weir_dead_letter *letter)
{
    (void)state;
    printf("%" PRId64 "\n", letter->id);
}

static void add_letter(void *state, const struct weir_dead_letter *letter)
{
    weir_record_list_add(state, letter);
}

static int print_page(struct list_call *self)
{
    char mark[MARK_SIZE];
    int code;

    weir_text_format(mark, sizeof mark, "%" PRId64 ":%" PRId64, self->mark.failed_us,
                     self->mark.id);
    self->page.after = self->mark.more ? mark : NULL;
    if (self->session.shared.json)
        return weir_reply_json(&self->session, &weir_dead_letter_page_record,
                               &self->page);
    if (self->page.letters.count == 0) {
        puts("no dead letters");
        return WEIR_EXIT_DONE;
    }
    code = weir_output_table(self->session.command, &self->page.letters.table);
    if (code == WEIR_EXIT_DONE && self->mark.more)
        printf("there are more: --after %s\n", mark);
    return code;
}

/* A role without the right to read payloads still sees the letters. */
static enum weir_status read_page(struct list_call *self, weir_dead_letter_fn visit,
                                  struct weir_error *error)
{
    struct weir_dead_letter_scope *scope = &self->scope.scope;
    enum weir_status status =
        weir_dead_letter_list(self->session.outbox, NULL, scope, self->status,
                              &self->mark, visit, &self->page.letters, error);

    if (status == WEIR_DENIED) {
        scope->sealed = true;
        status = weir_dead_letter_list(self->session.outbox, NULL, scope, self->status,
                                       &self->mark, visit, &self->page.letters, error);
    }
    return status;
}

static int list(struct list_call *self)
{
    bool ids = self->session.shared.quiet && !self->session.shared.json;
    struct weir_error error = {0};

    if (read_page(self, ids ? print_id : add_letter, &error) != WEIR_OK)
        return weir_dlq_scope_fail(&self->scope, &self->session, &error);
    return ids ? WEIR_EXIT_DONE : print_page(self);
}

static int list_and_print(void *state)
{
    struct list_call *self = state;
    int code;

    weir_record_list_init(&self->page.letters, &weir_dead_letter_record,
                          weir_reply_form(&self->session), weir_clock_wall_us());
    code = list(self);
    weir_record_list_fini(&self->page.letters);
    return code;
}

static int run_list(const struct weir_command *self, int argc, char **argv)
{
    static struct list_call list_call;
    int code;

    weir_dlq_scope_init(&list_call.scope);
    code = weir_command_parse(self, argc, argv, &list_call, sizeof list_call);
    if (code >= 0)
        return code;
    return weir_session_run(&list_call.session, self, WEIR_SESSION_OUTBOX, list_and_print,
                            &list_call);
}

/* ---- show -------------------------------------------------------------------------- */

struct letter {
    struct weir_command_shared shared;
    struct weir_buf text;
};

static void show_letter(void *state, const struct weir_dead_letter *letter)
{
    struct letter *self = state;

    if (self->shared.json) {
        weir_record_append_json(&weir_dead_letter_payload_record, &self->text, NULL,
                                letter, 0);
    } else if (self->shared.quiet) {
        weir_buf_append(&self->text, letter->payload, letter->payload_size);
    } else {
        weir_record_append_lines(&weir_dead_letter_record, &self->text, letter, 0);
        weir_dead_letter_append_payload(&self->text, letter);
    }
}

static int show(const struct weir_session *session, int64_t id)
{
    struct letter letter = {.shared = session->shared};
    struct weir_error error = {0};
    int code;

    weir_buf_init(&letter.text, weir_heap_system(), JSON_SIZE_MAX);
    if (weir_dead_letter_read(session->outbox, NULL, id, show_letter, &letter, &error) !=
        WEIR_OK)
        code = weir_session_fail(session, &error, NULL);
    else if (session->shared.quiet && !session->shared.json)
        code = weir_output_bytes(session->command, weir_buf_get(&letter.text));
    else
        code = weir_output_text(session->command, &letter.text);
    weir_buf_fini(&letter.text);
    return code;
}

static int run_show(const struct weir_command *self, int argc, char **argv)
{
    static struct show_call show_call;
    struct weir_session session;
    int code;

    weir_dlq_scope_init(&show_call.scope);
    code = weir_command_parse(self, argc, argv, &show_call, sizeof show_call);
    if (code < 0 && show_call.scope.id_count != 1)
        code = weir_command_misuse(self, "which dead letter? one ID is needed");
    if (code >= 0)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_OUTBOX, 0);
    if (code == WEIR_EXIT_DONE)
        code = show(&session, show_call.scope.ids[0]);
    weir_session_close(&session);
    return code;
}
