/*
 * flow_create.c - `weir flow create` and `weir flow list`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/flow/flow_words.h"
#include "cli/reply.h"

enum {
    LIMIT_DEFAULT = 100,
    LIMIT_MAX = 10000,
    PAGE_MAX = 1000,
};

static int run_create(const struct weir_command *self, int argc, char **argv);
static int run_flows(const struct weir_command *self, int argc, char **argv);

struct create_call {
    struct weir_execution_session session;
    struct weir_flow_draft draft;
    struct weir_flow_id id;
    bool id_given;
};

struct list_call {
    struct weir_execution_session session;
    struct weir_flow_filter filter;
    size_t limit;
    size_t count;
    struct weir_flow_page page;
};

static const struct weir_command_option CREATE_OPTIONS[] = {
    WEIR_OPTION('k', "kind", "KIND", "what it is for; needed",
                WEIR_AS_TEXT(struct create_call, draft.kind)),
    WEIR_OPTION('n', "namespace", "NAME", "of the flow; default 'default'",
                WEIR_AS_TEXT(struct create_call, draft.name_space)),
    WEIR_OPTION(0, "id", "UUID", "its id; default a new one",
                WEIR_AS_FLOW_ID(struct create_call, id),
                WEIR_ALSO_SET(struct create_call, id_given)),
};
static const struct weir_command_option FLOWS_OPTIONS[] = {
    WEIR_OPTION('n', "namespace", "NAME", "only of this namespace",
                WEIR_AS_TEXT(struct list_call, filter.name_space)),
    WEIR_OPTION('m', "limit", "N", "at most so many, 1 to 10000; default 100",
                WEIR_AS_NUMBER(struct list_call, limit, 1, LIMIT_MAX)),
    WEIR_OPTION(0, "after", "MARK", "the next page, behind the one that ended there",
                WEIR_AS_NUMBER(struct list_call, filter.before, 1, INT64_MAX)),
};

const struct weir_command weir_cli_flow_create = {
    .name = "flow create",
    .summary = "make a flow: executions that wait for each other",
    .usage = "--kind KIND [--namespace NAME] [--id UUID]",
    .details =
        "Prints its id. Members come with 'weir flow add', and 'weir flow show' draws\n"
        "it; 'weir flow --help' has an example. An id that is used again for the same\n"
        "is fine, for something else not.\n",
    WEIR_OPTIONS(CREATE_OPTIONS),
    .uses_db = true,
    .run = run_create,
};

const struct weir_command weir_cli_flow_list = {
    .name = "flow list",
    .summary = "list flows, newest first",
    .usage = "[--namespace NAME] [--limit N] [--after MARK]",
    .details =
        "  open        nothing of it has begun\n"
        "  running     something of it is worked on, or can be claimed\n"
        "  blocked     all that has not ended waits; 'weir flow show' says for what\n"
        "  completed, failed, cancelled\n"
        "              it has ended\n"
        "\n"
        "When there are more, the last line has the MARK of --after, and so has JSON.\n"
        "With --quiet only the ids are printed, one per line.\n",
    WEIR_OPTIONS(FLOWS_OPTIONS),
    .uses_db = true,
    .run = run_flows,
};

/* ---- create ------------------------------------------------------------------------ */

static int create(void *state)
{
    struct create_call *self = state;
    const struct weir_session *session = &self->session.session;
    struct weir_error error = {0};
    struct weir_flow_id id;
    char text[WEIR_FLOW_ID_TEXT_SIZE];

    self->draft.id = self->id_given ? &self->id : NULL;
    if (weir_flow_create(self->session.executions, &self->draft, &id, &error) != WEIR_OK)
        return error.status == WEIR_MISMATCH
                   ? weir_command_fail(session->command, "%s", error.text)
                   : weir_flow_fail(&self->session, &error);
    if (session->shared.json)
        return weir_reply_json(session, &weir_flow_created_record,
                               &(struct weir_flow_created){id});
    return puts(weir_flow_id_format(&id, text)) < 0 ? WEIR_EXIT_FAILED : WEIR_EXIT_DONE;
}

static int run_create(const struct weir_command *self, int argc, char **argv)
{
    struct create_call call = {.id_given = false};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    if (call.draft.kind == NULL)
        return weir_command_misuse(self, "what is it for? --kind KIND is needed");
    return weir_execution_session_run(&call.session, self, WEIR_EXECUTION_SESSION_SILENT,
                                      create, &call);
}

/* ---- flows ------------------------------------------------------------------------- */

static void visit(void *state, const struct weir_flow_info *info)
{
    struct list_call *self = state;
    const struct weir_command_shared *shared = &self->session.session.shared;
    char id[WEIR_FLOW_ID_TEXT_SIZE];

    self->count++;
    if (shared->quiet && !shared->json)
        puts(weir_flow_id_format(&info->id, id));
    else
        weir_record_list_add(&self->page.flows, info);
}

static int print_page(struct list_call *self)
{
    const struct weir_command_shared *shared = &self->session.session.shared;
    int code;

    self->page.after = self->filter.before;
    if (shared->json)
        return weir_reply_json(&self->session.session, &weir_flow_page_record,
                               &self->page);
    if (shared->quiet)
        return WEIR_EXIT_DONE;
    if (self->count == 0) {
        puts("no flows; make one with 'weir flow create --kind KIND'");
        return WEIR_EXIT_DONE;
    }
    code = weir_output_table(self->session.session.command, &self->page.flows.table);
    if (code == WEIR_EXIT_DONE && self->filter.before > 0)
        printf("there are more: --after %" PRId64 "\n", self->filter.before);
    return code;
}

static int list(struct list_call *self)
{
    struct weir_error error = {0};
    int64_t next;

    do {
        size_t left = self->limit - self->count;

        self->filter.count = left < PAGE_MAX ? left : PAGE_MAX;
        if (weir_flow_list(self->session.executions, &self->filter, visit, self, &next,
                           &error) != WEIR_OK)
            return weir_flow_fail(&self->session, &error);
        self->filter.before = next;
    } while (next > 0 && self->count < self->limit);
    return print_page(self);
}

static int list_and_print(void *state)
{
    struct list_call *self = state;
    int code;

    weir_record_list_init(&self->page.flows, &weir_flow_record,
                          weir_reply_form(&self->session.session), self->session.now_us);
    code = list(self);
    weir_record_list_fini(&self->page.flows);
    return code;
}

static int run_flows(const struct weir_command *self, int argc, char **argv)
{
    struct list_call call = {.limit = LIMIT_DEFAULT};
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_execution_session_run(&call.session, self, WEIR_EXECUTION_SESSION_SILENT,
                                      list_and_print, &call);
}
