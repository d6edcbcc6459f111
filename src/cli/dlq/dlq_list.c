/*
 * dlq_list.c - `weir dlq list` and `weir dlq show`.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "base/text.h"
#include "cli/dlq/dlq_scope.h"
#include "cli/dlq/dlq_view.h"
#include "weir/heap.h"

enum {
    OPTION_STATUS = 400,
    OPTION_AFTER,
    JSON_SIZE_MAX = 512 << 20,
    MARK_SIZE = 48,
};

static int run_list(const struct weir_command *self, int argc, char **argv);
static int run_show(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option LIST_OPTIONS[] = {
    {OPTION_STATUS, "status", "STATUS",
     "pending (default), or another one of those below"},
    WEIR_DLQ_SCOPE_OPTIONS,
    {OPTION_AFTER, "after", "MARK", "the next page, behind the one that ended there"},
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
    .options = LIST_OPTIONS,
    .option_count = COUNT_OF(LIST_OPTIONS),
    .uses_db = true,
    .run = run_list,
};

const struct weir_command weir_cli_dlq_show = {
    .name = "dlq show",
    .summary = "show everything of one dead letter, its payload too",
    .usage = "ID",
    .details = "With --quiet only the payload is printed, byte by byte.\n",
    .uses_db = true,
    .run = run_show,
};

struct list_call {
    struct weir_session session;
    struct weir_dlq_scope scope;
    enum weir_dead_letter_status status;
    struct weir_dead_letter_mark mark;
    struct weir_dlq_view view;
};

/* ---- list -------------------------------------------------------------------------- */

static int take_mark(const struct weir_command *self, const char *text,
                     struct weir_dead_letter_mark *out)
{
    int used = 0;

    if (sscanf(text, "%" SCNd64 ":%" SCNd64 "%n", &out->failed_us, &out->id, &used) ==
            2 &&
        text[used] == '\0' && out->id > 0)
        return WEIR_EXIT_DONE;
    return weir_command_misuse(self, "--after is '%s', must be what a page ended with",
                               text);
}

/* The exit code, or -1 to go on. */
static int parse_list(const struct weir_command *self, int argc, char **argv,
                      struct list_call *out)
{
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;
    int id;

    while ((id = weir_command_next_option(self, argc, argv)) != WEIR_OPTIONS_END) {
        if (id == WEIR_OPTIONS_HELPED)
            return WEIR_EXIT_DONE;
        if (id == WEIR_OPTIONS_MISUSED)
            return WEIR_EXIT_MISUSE;
        if (weir_dlq_scope_has(id))
            code = weir_dlq_scope_take(&out->scope, self, id);
        else if (id == OPTION_AFTER)
            code = take_mark(self, optarg, &out->mark);
        else if (weir_dead_letter_status_parse(optarg, &out->status, &error) != WEIR_OK)
            code = weir_command_misuse(self, "--%s", error.text);
        if (code != WEIR_EXIT_DONE)
            return code;
    }
    code = weir_command_no_operands(self, argc, argv);
    return code == WEIR_EXIT_DONE ? -1 : code;
}

static void print_id(void *state, const struct weir_dead_letter *letter)
{
    (void)state;
    printf("%" PRId64 "\n", letter->id);
}

static int print_json(const struct list_call *self, const char *mark)
{
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_dlq_view_append_json(&self->view, &json);
    if (self->mark.more)
        weir_output_add_text(&json, "after", mark);
    else
        weir_output_open(&json, "after", "null");
    weir_buf_append_text(&json, "}");
    code = weir_output_text(self->session.command, &json);
    weir_buf_fini(&json);
    return code;
}

static int print_page(const struct list_call *self)
{
    char mark[MARK_SIZE];
    int code;

    weir_text_format(mark, sizeof mark, "%" PRId64 ":%" PRId64, self->mark.failed_us,
                     self->mark.id);
    if (self->session.shared.json)
        return print_json(self, mark);
    if (self->view.count == 0) {
        puts("no dead letters");
        return WEIR_EXIT_DONE;
    }
    code = weir_output_table(self->session.command, &self->view.table);
    if (code == WEIR_EXIT_DONE && self->mark.more)
        printf("there are more: --after %s\n", mark);
    return code;
}

/* Who may not see payloads still sees the letters. */
static enum weir_status read_page(struct list_call *self, weir_dead_letter_fn visit,
                                  struct weir_error *error)
{
    struct weir_dead_letter_scope *scope = &self->scope.scope;
    enum weir_status status =
        weir_dead_letter_list(self->session.outbox, NULL, scope, self->status,
                              &self->mark, visit, &self->view, error);

    if (status == WEIR_DENIED) {
        scope->sealed = true;
        status = weir_dead_letter_list(self->session.outbox, NULL, scope, self->status,
                                       &self->mark, visit, &self->view, error);
    }
    return status;
}

static int list(struct list_call *self)
{
    bool ids = self->session.shared.quiet && !self->session.shared.json;
    struct weir_error error = {0};

    if (read_page(self, ids ? print_id : weir_dlq_view_add, &error) != WEIR_OK)
        return weir_dlq_scope_fail(&self->scope, &self->session, &error);
    return ids ? WEIR_EXIT_DONE : print_page(self);
}

static int run_list(const struct weir_command *self, int argc, char **argv)
{
    static struct list_call list_call;
    int code;

    weir_dlq_scope_init(&list_call.scope);
    code = parse_list(self, argc, argv, &list_call);
    if (code >= 0)
        return code;
    weir_dlq_view_init(&list_call.view, false);
    code = weir_session_open(&list_call.session, self, WEIR_SESSION_OUTBOX, 0);
    if (code == WEIR_EXIT_DONE)
        code = list(&list_call);
    weir_session_close(&list_call.session);
    weir_dlq_view_fini(&list_call.view);
    return code;
}

/* ---- show -------------------------------------------------------------------------- */

struct show_call {
    struct weir_command_shared shared;
    struct weir_buf text;
};

static void show_letter(void *state, const struct weir_dead_letter *letter)
{
    struct show_call *self = state;

    if (self->shared.json)
        weir_dlq_append_json(&self->text, letter, true);
    else if (self->shared.quiet)
        weir_buf_append(&self->text, letter->payload, letter->payload_size);
    else
        weir_dlq_append_text(&self->text, letter);
}

static int show(const struct weir_session *session, int64_t id)
{
    struct show_call show_call = {.shared = session->shared};
    struct weir_error error = {0};
    int code;

    weir_buf_init(&show_call.text, weir_heap_system(), JSON_SIZE_MAX);
    if (weir_dead_letter_read(session->outbox, NULL, id, show_letter, &show_call,
                              &error) != WEIR_OK)
        code = weir_session_fail(session, &error, NULL);
    else if (session->shared.quiet && !session->shared.json)
        code = weir_output_bytes(session->command, weir_buf_get(&show_call.text));
    else
        code = weir_output_text(session->command, &show_call.text);
    weir_buf_fini(&show_call.text);
    return code;
}

static int run_show(const struct weir_command *self, int argc, char **argv)
{
    static struct weir_dlq_scope scope;
    struct weir_session session;
    int code;

    switch (weir_command_next_option(self, argc, argv)) {
    case WEIR_OPTIONS_END:
        break;
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    default:
        return WEIR_EXIT_MISUSE;
    }
    weir_dlq_scope_init(&scope);
    code = weir_dlq_scope_take_ids(&scope, self, argc, argv);
    if (code == WEIR_EXIT_DONE && scope.id_count != 1)
        code = weir_command_misuse(self, "which dead letter? one ID is needed");
    if (code != WEIR_EXIT_DONE)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_OUTBOX, 0);
    if (code == WEIR_EXIT_DONE)
        code = show(&session, scope.ids[0]);
    weir_session_close(&session);
    return code;
}
