/*
 * answer_access.c - actions of operators, and tokens.
 *
 * An audit row has the name of what was changed, but not its lane or namespace. So a
 * token with restrictions on these, or on queues, sees no rows.
 */
#include <inttypes.h>

#include "base/text.h"
#include "db/clock.h"
#include "server/api/answers.h"
#include "server/api/mount.h"
#include "view/audit_records.h"
#include "view/token_records.h"

enum { LIMIT_DEFAULT = 100, MARK_SIZE = 24 };

static bool is_restricted(const struct weir_api_call *call)
{
    return call->grant.globs[WEIR_RESTRICT_QUEUES][0] != '\0' ||
           call->grant.globs[WEIR_RESTRICT_LANES][0] != '\0' ||
           call->grant.globs[WEIR_RESTRICT_NAMESPACES][0] != '\0';
}

static void add_audit_row(void *state, const struct weir_audit_row *row)
{
    weir_record_list_add(state, row);
}

enum weir_status weir_answer_audit(struct weir_api_call *call, struct weir_error *error)
{
    const struct weir_audit_filter filter = {
        .actor = weir_call_text(call, "who"),
        .action = weir_call_text(call, "action"),
        .target = weir_call_text(call, "target"),
        .since_us = weir_call_moment(call, "since"),
        .limit = weir_call_number(call, "limit", LIMIT_DEFAULT),
    };
    int64_t after = weir_call_number(call, "after", 0);
    struct weir_audit_page page = {.after = NULL};
    char mark[MARK_SIZE];
    enum weir_status status = WEIR_OK;

    weir_record_list_init(&page.rows, &weir_audit_row_record, WEIR_FORM_JSON,
                          weir_clock_wall_us());
    if (is_restricted(call))
        after = 0;
    else
        status = weir_audit_list(weir_mount_db(call->mount), &filter, &after,
                                 add_audit_row, &page.rows, error);
    if (status == WEIR_OK) {
        weir_text_format(mark, sizeof mark, "%" PRId64, after);
        page.after = after != 0 ? mark : NULL;
        weir_record_append_json(&weir_audit_page_record, &call->body, NULL, &page,
                                weir_clock_wall_us());
    }
    weir_record_list_fini(&page.rows);
    return status;
}

static void add_token(void *state, const struct weir_grant *grant)
{
    weir_record_list_add(state, grant);
}

enum weir_status weir_answer_tokens(struct weir_api_call *call, struct weir_error *error)
{
    struct weir_record_list rows;
    enum weir_status status;

    weir_record_list_init(&rows, &weir_token_record, WEIR_FORM_JSON, 0);
    status = weir_token_list(weir_mount_db(call->mount), add_token, &rows, error);
    if (status == WEIR_OK) {
        weir_output_open(&call->body, NULL, "{");
        weir_record_list_append_json(&rows, &call->body, call->match.endpoint->list);
        weir_buf_append_text(&call->body, "}");
    }
    weir_record_list_fini(&rows);
    return status;
}
