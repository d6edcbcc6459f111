/*
 * execution_list.c - `weir execution list`.
 *
 * A page of the library may be short and yet not the last, since it looks at so many
 * rows and no more. One of ours is full or the last: it is made of as many as it takes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "base/nearest.h"
#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/flow/flow_words.h"
#include "cli/reply.h"
#include "view/execution_records.h"

enum {
    OPTION_AFTER = 256,
    OPTION_TAG,
    LIMIT_DEFAULT = 100,
    LIMIT_MAX = 10000,
    PAGE_MAX = 1000,
};

static int run(const struct weir_command *self, int argc, char **argv);

static const struct weir_command_option OPTIONS[] = {
    {'s', "state", "STATE", "only in this state; may be repeated"},
    {'l', "lane", "LANE", "only of this lane"},
    {'k', "kind", "KIND", "only of this kind"},
    {'n', "namespace", "NAME", "only of this namespace"},
    {'f', "flow", "FLOW", "only members of this flow"},
    {OPTION_TAG, "tag", "KEY=VALUE", "only with this tag"},
    {'m', "limit", "N", "at most so many, 1 to 10000; default 100"},
    {OPTION_AFTER, "after", "MARK", "the next page, behind the one that ended there"},
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
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .uses_db = true,
    .run = run,
};

struct list_call {
    struct weir_execution_session session;
    struct weir_execution_filter filter;
    struct weir_tag tag;
    struct weir_flow_id flow;
    size_t limit;
    struct weir_execution_page page;
    size_t count; /* visited */
};

/* ---- options ----------------------------------------------------------------------- */

static int add_state(const struct weir_command *self, struct list_call *out,
                     const char *value)
{
    const char *names[WEIR_STATE_COUNT];
    const char *nearest;

    for (int i = 0; i < WEIR_STATE_COUNT; i++) {
        names[i] = weir_public_state_name((enum weir_public_state)i);
        if (strcmp(names[i], value) == 0) {
            out->filter.states |= 1U << i;
            return WEIR_EXIT_DONE;
        }
    }
    nearest = weir_nearest_find(value, names, WEIR_STATE_COUNT);
    if (nearest != NULL)
        return weir_command_misuse(self, "--state is '%s', did you mean '%s'?", value,
                                   nearest);
    return weir_command_misuse(self, "--state is '%s', which is no state", value);
}

static int take_option(const struct weir_command *self, void *state, int id, char *value)
{
    struct list_call *out = state;
    int64_t number = 0;
    int code = WEIR_EXIT_DONE;

    switch (id) {
    case 's':
        return add_state(self, out, value);
    case 'l':
        out->filter.lane = value;
        break;
    case 'k':
        out->filter.kind = value;
        break;
    case 'n':
        out->filter.name_space = value;
        break;
    case 'f':
        out->filter.flow = &out->flow;
        return weir_flow_take_id(self, value, &out->flow);
    case OPTION_TAG:
        code = weir_execution_take_tag(self, value, &out->tag);
        out->filter.tag_key = out->tag.key;
        out->filter.tag_value = out->tag.value;
        break;
    case 'm':
        code = weir_command_number(self, "limit", value, 1, LIMIT_MAX, &number);
        out->limit = (size_t)number;
        break;
    case OPTION_AFTER:
        return weir_command_number(self, "after", value, 1, INT64_MAX,
                                   &out->filter.before);
    default:
        return WEIR_EXIT_MISUSE;
    }
    return code;
}

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
    int code = weir_command_take_options(self, argc, argv, take_option, &list_call);

    if (code < 0)
        code = weir_command_no_operands(self, argc, argv);
    else
        return code;
    if (code != WEIR_EXIT_DONE)
        return code;
    return weir_execution_session_run(&list_call.session, self,
                                      WEIR_EXECUTION_SESSION_SILENT, list_and_print,
                                      &list_call);
}
