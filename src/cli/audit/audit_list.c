/*
 * audit_list.c - `weir audit list`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/reply.h"
#include "db/clock.h"
#include "view/audit_records.h"
#include "weir/worker.h"

enum { MARK_SIZE = 24 };

static int run(const struct weir_command *self, int argc, char **argv);

struct list_call {
    struct weir_session session;
    struct weir_audit_filter filter;
    int64_t after;
    struct weir_audit_page page;
};

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('w', "who", "NAME", "only of this token or user",
                WEIR_AS_TEXT(struct list_call, filter.actor)),
    WEIR_OPTION('a', "action", "ACTION", "only this one, or 'queue.*' for a group",
                WEIR_AS_TEXT(struct list_call, filter.action)),
    WEIR_OPTION('t', "target", "TARGET", "only on this queue, execution or token",
                WEIR_AS_TEXT(struct list_call, filter.target)),
    WEIR_OPTION(0, "since", "D", "only within the last D, as in 2h",
                WEIR_AS_AGO(struct list_call, filter.since_us)),
    WEIR_OPTION('l', "limit", "N", "rows of a page; default 100",
                WEIR_AS_NUMBER(struct list_call, filter.limit, 1, WEIR_AUDIT_LIMIT_MAX)),
    WEIR_OPTION(0, "after", "MARK", "the next page, behind the one that ended there",
                WEIR_AS_NUMBER(struct list_call, after, 1, INT64_MAX)),
};

const struct weir_command weir_cli_audit_list = {
    .name = "audit list",
    .summary = "list actions of operators, newest first",
    .usage = "[OPTION...]",
    .details =
        "The target of a subscription is QUEUE/NAME. The outcome is ok, or why the\n"
        "action was refused. When there are more rows, the last line has the MARK of\n"
        "--after, and so has JSON. With --quiet only the ids are printed.\n",
    WEIR_OPTIONS(OPTIONS),
    .uses_db = true,
    .run = run,
};

static void print_id(void *state, const struct weir_audit_row *row)
{
    (void)state;
    printf("%" PRId64 "\n", row->id);
}

static void add_row(void *state, const struct weir_audit_row *row)
{
    weir_record_list_add(state, row);
}

static int print_page(struct list_call *self)
{
    char mark[MARK_SIZE];
    int code;

    (void)weir_text_format(mark, sizeof mark, "%" PRId64, self->after);
    self->page.after = self->after != 0 ? mark : NULL;
    if (self->session.shared.json)
        return weir_reply_json(&self->session, &weir_audit_page_record, &self->page);
    if (self->page.rows.count == 0) {
        puts("no rows");
        return WEIR_EXIT_DONE;
    }
    code = weir_output_table(self->session.command, &self->page.rows.table);
    if (code == WEIR_EXIT_DONE && self->after != 0)
        printf("there are more: --after %s\n", mark);
    return code;
}

static int list(void *state)
{
    struct list_call *self = state;
    bool ids = self->session.shared.quiet && !self->session.shared.json;
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;

    weir_record_list_init(&self->page.rows, &weir_audit_row_record,
                          weir_reply_form(&self->session), weir_clock_wall_us());
    if (weir_audit_list(self->session.db, &self->filter, &self->after,
                        ids ? print_id : add_row, &self->page.rows, &error) != WEIR_OK)
        code = weir_session_fail(&self->session, &error, NULL);
    else if (!ids)
        code = print_page(self);
    weir_record_list_fini(&self->page.rows);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    static struct list_call call;
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code >= 0)
        return code;
    return weir_session_run(&call.session, self, WEIR_SESSION_OUTBOX, list, &call);
}
