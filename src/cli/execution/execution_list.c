/*
 * execution_list.c - `weir execution list`.
 *
 * A page of the library may be short and yet not the last, since it looks at so many
 * rows and no more. One of ours is full or the last: it is made of as many as it takes.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/flow/flow_words.h"
#include "cli/reply.h"
#include "view/execution_info_records.h"

enum {
    LIMIT_DEFAULT = 100,
    LIMIT_MAX = 10000,
    PAGE_MAX = 1000,
};

static int run(const struct weir_command *self, int argc, char **argv);

struct list_call {
    struct weir_execution_session session;
    struct weir_execution_filter filter;
    struct weir_flow_id flow;
    bool flow_given;
    size_t limit;
    struct weir_execution_page page;
    size_t count; /* visited */
};

static const char *state_at(size_t index)
{
    return weir_public_state_name((enum weir_public_state)index);
}

static const struct weir_option_words STATES = {
    .at = state_at,
    .count = WEIR_STATE_COUNT,
    .noun = "state",
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('s', "state", "STATE", "only in this state; may be repeated",
                WEIR_AS_CHOICES(struct list_call, filter.states, STATES)),
    WEIR_OPTION('l', "lane", "LANE", "only of this lane",
                WEIR_AS_TEXT(struct list_call, filter.lane)),
    WEIR_OPTION('k', "kind", "KIND", "only of this kind",
                WEIR_AS_TEXT(struct list_call, filter.kind)),
    WEIR_OPTION('n', "namespace", "NAME", "only of this namespace",
                WEIR_AS_TEXT(struct list_call, filter.name_space)),
    WEIR_OPTION('f', "flow", "FLOW", "only members of this flow",
                WEIR_AS_FLOW_ID(struct list_call, flow),
                WEIR_ALSO_SET(struct list_call, flow_given)),
    WEIR_OPTION(0, "tag", "KEY=VALUE", "only with this tag",
                WEIR_AS_TAG(struct list_call, filter.tag_key, filter.tag_value)),
    WEIR_OPTION('m', "limit", "N", "at most so many, 1 to 10000; default 100",
                WEIR_AS_NUMBER(struct list_call, limit, 1, LIMIT_MAX)),
    WEIR_OPTION(0, "after", "MARK", "the next page, behind the one that ended there",
                WEIR_AS_NUMBER(struct list_call, filter.before, 1, INT64_MAX)),
};

const struct weir_command weir_cli_execution_list = {
    .name = "execution list",
    .summary = "list executions, newest first",
    .usage = "[FILTER...] [--limit N] [--after MARK]",
    .details =
        "STATE is waiting, delayed, active, completed, failed, cancelled, expired,\n"
        "skipped, suspended, resumable, rate_limited or waiting_children. When there\n"
        "are more, the last line has the MARK of --after, and so has JSON. With\n"
        "--quiet only the ids are printed, one per line.\n"
        "\n"
        "  weir execution list --state failed --lane mail\n"
        "  weir execution list --state failed -q | xargs weir execution replay\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

/* ---- printing ---------------------------------------------------------------------- */

static void print_id(void *state, const struct weir_execution_info *info)
{
    struct list_call *self = state;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    self->count++;
    puts(weir_execution_id_format(&info->id, id));
}

static void add_row(void *state, const struct weir_execution_info *info)
{
    struct list_call *self = state;

    self->count++;
    weir_record_list_add(&self->page.executions,
                         &(struct weir_execution_row){*info, NULL});
}

static int print_page(struct list_call *self)
{
    int code;

    self->page.after = self->filter.before;
    if (self->session.session.shared.json)
        return weir_reply_json(&self->session.session, &weir_execution_page_record,
                               &self->page);
    if (self->count == 0) {
        puts("no executions");
        return WEIR_EXIT_DONE;
    }
    code = weir_output_table(self->session.session.command, &self->page.executions.table);
    if (code == WEIR_EXIT_DONE && self->filter.before > 0)
        printf("there are more: --after %" PRId64 "\n", self->filter.before);
    return code;
}

/* ---- reading ----------------------------------------------------------------------- */

static int list(struct list_call *self)
{
    bool ids = self->session.session.shared.quiet && !self->session.session.shared.json;
    struct weir_error error = {0};
    int64_t next;

    do {
        size_t left = self->limit - self->count;

        self->filter.count = left < PAGE_MAX ? left : PAGE_MAX;
        if (weir_execution_list(self->session.executions, &self->filter,
                                ids ? print_id : add_row, self, &next, &error) != WEIR_OK)
            return weir_execution_session_fail(&self->session, &error);
        self->filter.before = next;
    } while (next > 0 && self->count < self->limit);
    return ids ? WEIR_EXIT_DONE : print_page(self);
}

static int list_and_print(void *state)
{
    struct list_call *self = state;
    int code;

    weir_record_list_init(&self->page.executions, &weir_execution_record,
                          weir_reply_form(&self->session.session), self->session.now_us);
    code = list(self);
    weir_record_list_fini(&self->page.executions);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct list_call list_call = {.limit = LIMIT_DEFAULT};
    int code = weir_command_parse(self, argc, argv, &list_call, sizeof list_call);

    if (code >= 0)
        return code;
    if (list_call.flow_given)
        list_call.filter.flow = &list_call.flow;
    return weir_execution_session_run(&list_call.session, self,
                                      WEIR_EXECUTION_SESSION_SILENT, list_and_print,
                                      &list_call);
}
