/*
 * answer_flows.c - flows and budgets.
 */
#include "server/api/answers.h"
#include "server/api/mount.h"
#include "view/budget_records.h"
#include "view/flow_records.h"
#include "weir/budget.h"
#include "weir/executions.h"

enum { LIMIT_DEFAULT = 100 };

/* ---- flows ------------------------------------------------------------------------- */

struct flows_call {
    const struct weir_api_call *call;
    struct weir_flow_filter filter;
    size_t limit;
    size_t count; /* in the page so far */
    struct weir_flow_page page;
};

static void add_flow(void *state, const struct weir_flow_info *info)
{
    struct flows_call *self = state;

    if (!weir_grant_covers(&self->call->grant, WEIR_RESTRICT_NAMESPACES,
                           info->name_space))
        return;
    self->count++;
    weir_record_list_add(&self->page.flows, info);
}

/* A page of ours is full or the last. */
static enum weir_status read_flows(struct flows_call *self, struct weir_error *error)
{
    enum weir_status status;
    int64_t next = 0;

    do {
        self->filter.count = self->limit - self->count;
        status = weir_flow_list(weir_mount_executions(self->call->mount), &self->filter,
                                add_flow, self, &next, error);
        self->filter.before = next;
    } while (status == WEIR_OK && next > 0 && self->count < self->limit);
    self->page.after = next;
    return status;
}

enum weir_status weir_answer_flows(struct weir_api_call *call, struct weir_error *error)
{
    struct flows_call self = {
        .call = call,
        .filter = {.name_space = weir_call_text(call, "namespace"),
                   .before = weir_call_number(call, "after", 0)},
        .limit = (size_t)weir_call_number(call, "limit", LIMIT_DEFAULT),
    };
    enum weir_status status;

    weir_record_list_init(&self.page.flows, &weir_flow_record, WEIR_FORM_JSON, 0);
    status = read_flows(&self, error);
    if (status == WEIR_OK)
        weir_record_append_json(&weir_flow_page_record, &call->body, NULL, &self.page, 0);
    weir_record_list_fini(&self.page.flows);
    return status;
}

struct flow_call {
    struct weir_api_call *call;
    bool hidden;
};

static void append_flow(void *state, const struct weir_flow_info *info)
{
    struct flow_call *self = state;

    self->hidden = !weir_grant_covers(&self->call->grant, WEIR_RESTRICT_NAMESPACES,
                                      info->name_space);
    if (!self->hidden)
        weir_record_append_json(&weir_flow_record, &self->call->body, NULL, info, 0);
}

enum weir_status weir_answer_flow(struct weir_api_call *call, struct weir_error *error)
{
    struct flow_call self = {.call = call};
    struct weir_flow_id id;
    enum weir_status status = weir_flow_id_parse(weir_call_name(call, 0), &id, error);

    if (status == WEIR_OK)
        status = weir_flow_get(weir_mount_executions(call->mount), &id, append_flow,
                               &self, error);
    return status == WEIR_OK && self.hidden
               ? weir_call_hide("flow", weir_call_name(call, 0), error)
               : status;
}

/* ---- budgets ----------------------------------------------------------------------- */

static void add_budget(void *state, const struct weir_budget_info *info)
{
    weir_record_list_add(state, info);
}

enum weir_status weir_answer_budgets(struct weir_api_call *call, struct weir_error *error)
{
    const char *after = weir_call_text(call, "after");
    size_t limit = (size_t)weir_call_number(call, "limit", LIMIT_DEFAULT);
    struct weir_record_list rows;
    enum weir_status status;

    weir_record_list_init(&rows, &weir_budget_record, WEIR_FORM_JSON, 0);
    status =
        weir_budget_list(weir_mount_executions(call->mount), after != NULL ? after : "",
                         limit, add_budget, &rows, error);
    if (status == WEIR_OK) {
        weir_output_open(&call->body, NULL, "{");
        weir_record_list_append_json(&rows, &call->body, call->match.endpoint->list);
        weir_buf_append_text(&call->body, "}");
    }
    weir_record_list_fini(&rows);
    return status;
}

static void append_budget(void *state, const struct weir_budget_info *info)
{
    struct weir_api_call *call = state;

    weir_record_append_json(&weir_budget_record, &call->body, NULL, info, 0);
}

enum weir_status weir_answer_budget(struct weir_api_call *call, struct weir_error *error)
{
    return weir_budget_get(weir_mount_executions(call->mount), weir_call_name(call, 0),
                           append_budget, call, error);
}
