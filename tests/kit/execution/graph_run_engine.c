/*
 * graph_run_engine.c - see graph_run_inside.h: the engine, by its public calls; members
 * are read from their table, since all of them are wanted after each step.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "db/connection.h"
#include "db/db.h"
#include "execution/executions.h"
#include "execution/reconcile/reconciler.h"
#include "kit/execution/graph_run_inside.h"
#include "ward/failures.h"
#include "weir/heap.h"

enum {
    LEASE_MS = 1800 * 1000,
    DEADLINE_MS = 3600 * 1000,
    GIVEN_SIZE_MAX = 1 << 20 /* to a worker */
};

#define LATER_NS WEIR_SECONDS(2 * 3600)

/* ---- texts ------------------------------------------------------------------------- */

/* A number as input or result; 0: none. */
static size_t format_text(int number, char *out, size_t size)
{
    out[0] = '\0';
    return number == 0 ? 0 : (size_t)snprintf(out, size, "text %d", number);
}

static void format_lane(int node, char *out, size_t size)
{
    (void)snprintf(out, size, "n%d", node);
}

/* Every second one has a name. */
static const char *name_of(int node, char *out, size_t size)
{
    (void)snprintf(out, size, "node %d", node);
    return node % 2 == 0 ? NULL : out;
}

static int node_of(const struct graph_run *self, const uint8_t *uuid)
{
    for (int i = 0; i < GRAPH_NODES_MAX; i++) {
        if (memcmp(self->ids[i].uuid, uuid, WEIR_UUID_SIZE) == 0)
            return i;
    }
    return -1;
}

/* ---- what is there ----------------------------------------------------------------- */

static const struct weir_sql SQL_MEMBERS = {
    .name = "members",
    .text = "SELECT e.uuid, e.state, e.attempts, e.retries, e.failure, i.bytes"
            " FROM {p}_execution e JOIN {p}_flow f ON f.no = e.flow"
            " LEFT JOIN {p}_input i ON i.no = e.no WHERE f.uuid = {1}",
    .parameters = "b",
};
static const struct weir_sql SQL_CANCELLING = {
    .name = "groups that cancel",
    .text = "SELECT e.uuid FROM {p}_edge_group g JOIN {p}_execution e"
            " ON e.no = g.downstream WHERE g.cancel_us > 0"
            " ORDER BY g.cancel_us, g.downstream LIMIT {1}",
    .parameters = "i",
};

typedef void (*visit_fn)(struct graph_run *self, struct weir_rows *rows, void *state);

static void visit_rows(struct graph_run *self, const struct weir_sql *sql,
                       struct weir_value value, visit_fn visit, void *state)
{
    struct weir_connection *connection = NULL;
    struct weir_error error;
    struct weir_rows rows = {0};
    enum weir_status status = weir_db_acquire(self->ground->db, &connection, &error);

    if (status == WEIR_OK)
        status = weir_connection_query(connection, sql, &value, 1, &rows, &error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, &error)) == WEIR_OK)
        visit(self, &rows, state);
    if (connection != NULL)
        weir_rows_close(&rows);
    weir_db_release(self->ground->db, connection);
    if (status != WEIR_NO_ROW)
        event_log_violate(&self->event_log, "%s: %s", sql->name, error.text);
}

/* One look at all of it, against one model. */
struct look {
    struct graph_run *run;
    const struct graph_model *model;
    int members, links, groups;
    char difference[EVENT_LOG_TEXT_SIZE]; /* "": none; the first */
};

static void differ(struct look *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void differ(struct look *self, const char *format, ...)
{
    va_list arguments;

    if (self->difference[0] != '\0')
        return;
    va_start(arguments, format);
    (void)vsnprintf(self->difference, sizeof self->difference, format, arguments);
    va_end(arguments);
}

static enum graph_node_state state_of(int64_t stored)
{
    switch (stored) {
    case 1:
        return GRAPH_READY;
    case 3:
        return GRAPH_WAITS;
    case 4:
        return GRAPH_RUNS;
    case 10:
        return GRAPH_SUCCEEDED;
    case 11:
        return GRAPH_FAILED;
    case 12:
        return GRAPH_CANCELLED;
    case 13:
        return GRAPH_EXPIRED;
    case 14:
        return GRAPH_SKIPPED;
    default:
        return (enum graph_node_state)(100 + stored);
    }
}

static void look_at_input(struct look *self, int index, struct weir_str input)
{
    char text[32];
    size_t size = format_text(self->model->nodes[index].input, text, sizeof text);

    if (!weir_str_equal(input, (struct weir_str){text, size}))
        differ(self, "member %d has the input \"%.*s\", not \"%s\"", index,
               (int)input.size, input.data, text);
}

static void look_at_member(struct graph_run *self, struct weir_rows *rows, void *state)
{
    struct look *look = state;
    int index = node_of(self, (const uint8_t *)weir_rows_bytes(rows, 0).data);
    int found = (int)state_of(weir_rows_integer(rows, 1));
    struct weir_str failure = weir_rows_text(rows, 4);
    const struct graph_node *node;

    look->members++;
    if (index < 0 || index >= look->model->node_count) {
        differ(look, "there is a member that nobody has added");
        return;
    }
    node = &look->model->nodes[index];
    if (found != (int)node->state)
        differ(look, "member %d is in state %d, not %d", index, found, (int)node->state);
    if (weir_rows_integer(rows, 2) != node->attempts)
        differ(look, "member %d has %" PRId64 " attempts, not %d", index,
               weir_rows_integer(rows, 2), node->attempts);
    if (found == GRAPH_CANCELLED &&
        weir_str_equal(failure, weir_str("sibling_quorum_satisfied")) != node->not_needed)
        differ(look, "member %d was cancelled because of \"%.*s\"", index,
               (int)failure.size, failure.data);
    look_at_input(look, index, weir_rows_bytes(rows, 5));
}

static void look_at_edge(void *state, const struct weir_edge_info *info)
{
    struct look *look = state;
    int from = node_of(look->run, info->edge.from.uuid);
    int to = node_of(look->run, info->edge.to.uuid);

    look->links++;
    for (int i = 0; i < look->model->link_count; i++) {
        const struct graph_link *link = &look->model->links[i];

        if (link->from != from || link->to != to)
            continue;
        if (link->state != info->state || link->passes_data != info->edge.passes_data)
            differ(look, "edge %d>%d is in state %d, not %d", from, to, (int)info->state,
                   (int)link->state);
        return;
    }
    differ(look, "there is an edge %d>%d that nobody has added", from, to);
}

static void look_at_group(void *state, const struct weir_flow_join_info *info)
{
    struct look *look = state;
    int index = node_of(look->run, info->join.to.uuid);
    const struct graph_node *node = &look->model->nodes[index < 0 ? 0 : index];

    look->groups++;
    if (index < 0 || !node->joined) {
        differ(look, "there is a join that nobody has added");
        return;
    }
    if (info->state != node->group)
        differ(look, "the join of %d is in state %d, not %d", index, (int)info->state,
               (int)node->group);
    if (info->succeeded != graph_model_count(look->model, index, WEIR_EDGE_SUCCEEDED) ||
        info->failed != graph_model_count(look->model, index, WEIR_EDGE_FAILED) ||
        info->skipped != graph_model_count(look->model, index, WEIR_EDGE_SKIPPED))
        differ(look, "the join of %d has counted %u, %u, %u", index, info->succeeded,
               info->failed, info->skipped);
    if (info->cancelling != node->cancelling)
        differ(look, "the join of %d %s siblings to cancel", index,
               info->cancelling ? "has" : "has no");
}

static void look_at_flow(void *state, const struct weir_flow_info *info)
{
    struct look *look = state;
    const struct graph_model *model = look->model;
    enum weir_flow_state told =
        info->state < WEIR_FLOW_COMPLETED ? WEIR_FLOW_OPEN : info->state;

    if (told != graph_model_state(model))
        differ(look, "the flow is %s, not %s", weir_flow_state_name(info->state),
               weir_flow_state_name(graph_model_state(model)));
    if (info->members != (uint32_t)model->node_count ||
        info->edges != (uint32_t)model->link_count || info->revision != model->revision)
        differ(look, "the flow has %u members, %u edges, revision %" PRId64,
               info->members, info->edges, info->revision);
}

static void count_groups(const struct graph_model *model, int *out)
{
    *out = 0;
    for (int i = 0; i < model->node_count; i++)
        *out += model->nodes[i].joined;
}

/* Returns whether all is as the model says; if not, why. */
bool graph_run_looks_like(struct graph_run *self, const struct graph_model *model,
                          char *difference)
{
    struct look look = {.run = self, .model = model};
    struct weir_error error;
    enum weir_status status;
    int groups;

    visit_rows(self, &SQL_MEMBERS, weir_bytes(self->id.uuid, WEIR_UUID_SIZE),
               look_at_member, &look);
    status = weir_flow_edges(self->executions, &self->id, look_at_edge, &look, &error);
    if (status == WEIR_OK)
        status =
            weir_flow_joins(self->executions, &self->id, look_at_group, &look, &error);
    if (status == WEIR_OK)
        status = weir_flow_get(self->executions, &self->id, look_at_flow, &look, &error);
    if (status != WEIR_OK)
        differ(&look, "the flow cannot be read: %s", error.text);
    count_groups(model, &groups);
    if (look.members != model->node_count || look.links != model->link_count ||
        look.groups != groups)
        differ(&look, "%d members, %d edges, %d joins are there, not %d, %d, %d",
               look.members, look.links, look.groups, model->node_count,
               model->link_count, groups);
    memcpy(difference, look.difference, sizeof look.difference);
    return look.difference[0] == '\0';
}

static void note_group(struct graph_run *self, struct weir_rows *rows, void *state)
{
    struct graph_action *action = state;
    int node = node_of(self, (const uint8_t *)weir_rows_bytes(rows, 0).data);

    if (node < 0)
        event_log_violate(&self->event_log, "siblings of another flow are left");
    else if (action->group_count < GRAPH_NODES_MAX)
        action->groups[action->group_count++] = node;
}

void graph_run_list_groups(struct graph_run *self, struct graph_action *action)
{
    action->group_count = 0;
    visit_rows(self, &SQL_CANCELLING, weir_integer(GRAPH_NODES_MAX), note_group, action);
}

/* ---- what is done ------------------------------------------------------------------ */

static enum weir_status extend(struct graph_run *self, const struct graph_action *action)
{
    static struct weir_execution_draft drafts[MEMBERS_MAX];
    static struct weir_execution_policy policies[MEMBERS_MAX];
    static struct weir_flow_edge edges[LINKS_MAX];
    static struct weir_flow_join joins[GRAPH_NODES_MAX];
    static char lanes[MEMBERS_MAX][16];
    static char inputs[MEMBERS_MAX][32];
    static char names[MEMBERS_MAX][16];
    int first = self->model.node_count;
    struct weir_flow_extension extension = {.members = drafts,
                                            .member_count = (size_t)action->members,
                                            .edges = edges,
                                            .edge_count = (size_t)action->links,
                                            .joins = joins,
                                            .revision = -1};

    for (int i = 0; i < action->members; i++) {
        format_lane(first + i, lanes[i], sizeof lanes[i]);
        weir_execution_policy_init(&policies[i]);
        policies[i].retries_max = action->nodes[i].retries_max;
        policies[i].backoff_initial_ms = 0;
        policies[i].replays_max = 1000;
        policies[i].reclaims_max = 1000000;
        drafts[i] = (struct weir_execution_draft){
            .id = &self->ids[first + i],
            .lane = lanes[i],
            .kind = "step",
            .name = name_of(first + i, names[i], sizeof names[i]),
            .input = inputs[i],
            .input_size =
                format_text(action->nodes[i].input, inputs[i], sizeof inputs[i]),
            .policy = &policies[i],
            .deadline_ms = action->nodes[i].deadline ? DEADLINE_MS : 0};
    }
    for (int i = 0; i < action->links; i++)
        edges[i] = (struct weir_flow_edge){.from = self->ids[action->link[i].from],
                                           .to = self->ids[action->link[i].to],
                                           .passes_data = action->link[i].passes_data};
    for (int i = 0; i < action->members; i++) {
        const struct graph_node *node = &action->nodes[i];

        if (action->joins[i])
            joins[extension.join_count++] =
                (struct weir_flow_join){.to = self->ids[first + i],
                                        .policy = node->policy,
                                        .quorum = node->quorum,
                                        .cancel_remaining = node->cancel_remaining};
    }
    return weir_flow_extend(self->executions, NULL, &self->id, &extension, NULL, NULL);
}

static void append_text(struct weir_buf *out, int number)
{
    char text[32];

    if (format_text(number, text, sizeof text) == 0)
        weir_buf_append_text(out, "null");
    else
        weir_buf_append_format(out, "\"%s\"", text);
}

static void append_result(const struct graph_run *self, const struct graph_link *link,
                          struct weir_buf *results, struct weir_buf *encodings)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    char text[16];
    const char *name = name_of(link->from, text, sizeof text);

    if (name == NULL)
        name = weir_execution_id_format(&self->ids[link->from], id);
    weir_buf_append_format(results, "%s\"%s\": ", results->size > 0 ? ", " : "", name);
    append_text(results, link->result);
    if (link->result != 0)
        weir_buf_append_format(encodings, "%s\"%s\": \"text\"",
                               encodings->size > 0 ? ", " : "", name);
}

/* Of several results: in the order of those they come from. */
static void append_joined(const struct graph_run *self, int node, struct weir_buf *out)
{
    int own = self->model.nodes[node].input;
    struct weir_buf results;
    struct weir_buf encodings;

    weir_buf_init(&results, weir_heap_system(), GIVEN_SIZE_MAX);
    weir_buf_init(&encodings, weir_heap_system(), GIVEN_SIZE_MAX);
    for (int from = 0; from < self->model.node_count; from++) {
        for (int i = 0; i < self->model.link_count; i++) {
            const struct graph_link *link = &self->model.links[i];

            if (link->from == from && link->to == node && link->passed)
                append_result(self, link, &results, &encodings);
        }
    }
    weir_buf_append_text(out, "{\"input\": ");
    append_text(out, own);
    weir_buf_append_format(out, ", \"results\": {%s}", weir_buf_text(&results));
    if (own != 0 || encodings.size > 0)
        weir_buf_append_text(out, ", \"encodings\": {");
    if (own != 0)
        weir_buf_append_format(out, "\"input\": \"text\"%s",
                               encodings.size > 0 ? ", " : "");
    if (encodings.size > 0)
        weir_buf_append_format(out, "\"results\": {%s}", weir_buf_text(&encodings));
    weir_buf_append_text(out, own != 0 || encodings.size > 0 ? "}}" : "}");
    weir_buf_fini(&results);
    weir_buf_fini(&encodings);
}

static void append_given(const struct graph_run *self, int node, struct weir_buf *out)
{
    int number = self->model.nodes[node].input;
    int edges = 0;
    char text[32];

    for (int i = 0; i < self->model.link_count; i++) {
        const struct graph_link *link = &self->model.links[i];

        if (link->to != node || !link->passes_data)
            continue;
        edges++;
        if (link->passed && link->result != 0)
            number = link->result;
    }
    if (edges > 1)
        append_joined(self, node, out);
    else if (format_text(number, text, sizeof text) > 0)
        weir_buf_append_text(out, text);
}

static void check_input(struct graph_run *self, int node,
                        const struct weir_claimed *claimed)
{
    struct weir_buf given;
    const char *text;
    size_t size;

    weir_buf_init(&given, weir_heap_system(), GIVEN_SIZE_MAX);
    append_given(self, node, &given);
    text = weir_buf_text(&given);
    size = given.size;
    if (claimed->input_size != size ||
        (size > 0 && memcmp(claimed->input, text, size) != 0))
        event_log_violate(&self->event_log,
                          "member %d was given the input \"%.*s\", not \"%s\"", node,
                          (int)claimed->input_size, (const char *)claimed->input, text);
    weir_buf_fini(&given);
}

/* WEIR_NO_ROW: it cannot be claimed. */
static enum weir_status claim(struct graph_run *self, int node)
{
    char lane[16];
    const char *const lanes[] = {lane};
    struct weir_claim_options options;
    struct weir_claimed *claimed = NULL;
    size_t count = 0;
    enum weir_status status;

    format_lane(node, lane, sizeof lane);
    weir_claim_options_init(&options);
    options.lanes = lanes;
    options.lane_count = 1;
    options.worker = "pool";
    options.instance = "one";
    options.lease_ms = LEASE_MS;
    options.wait_ms = 0;
    status = weir_execution_claim(self->executions, &options, 1, &claimed, &count, NULL);
    if (status == WEIR_OK && count == 1) {
        check_input(self, node, &claimed[0]);
        self->claims[node] = claimed[0].claim;
        self->held[node] = true;
    }
    weir_claimed_free(self->executions, claimed);
    return status == WEIR_OK && count == 0 ? WEIR_NO_ROW : status;
}

static enum weir_status settle(struct graph_run *self, const struct graph_action *action)
{
    char text[32];
    struct weir_settlement settlement = {
        .claim = self->claims[action->node],
        .verb = action->kind == COMPLETE ? WEIR_SETTLE_COMPLETE
                : action->kind == FAIL   ? WEIR_SETTLE_FAIL
                                         : WEIR_SETTLE_ABANDON,
        .reason = "because",
        .permanent = action->permanent};
    enum weir_status status;

    settlement.result_size = format_text(action->result, text, sizeof text);
    settlement.result = settlement.result_size > 0 ? text : NULL;
    status = weir_execution_settle(self->executions, &settlement, 1, NULL);
    return status == WEIR_OK ? settlement.status : status;
}

static enum weir_status revoke(struct graph_run *self, int node)
{
    struct weir_revocation revocation = {.epoch = 0};
    enum weir_status status =
        weir_execution_revoke(self->executions, &self->ids[node], &revocation, NULL);

    return status == WEIR_OK && !revocation.revoked ? WEIR_NO_ROW : status;
}

/* One look of a reconciler. */
static enum weir_status tick(struct graph_run *self, enum weir_reconciler which)
{
    struct weir_reconciler_task task = {.kind = weir_reconcilers[which].kind,
                                        .due = weir_reconcilers[which].due,
                                        .executions = self->executions,
                                        .db = self->ground->db,
                                        .store = &self->executions->store,
                                        .heap = self->executions->heap,
                                        .partitions = self->executions->partitions,
                                        .interval_us = 1000000};
    const struct weir_store_filter filter = {.name_space = weir_str("")};
    struct weir_failures failures;
    struct weir_error error;
    struct weir_scan_tick scan = {
        .scanner = "flow", .scan = "one", .cycle = 1, .filter = &filter};
    struct weir_scan_report report = {.processed = 0};
    enum weir_status status = weir_reconciler_init(&task, &error);

    if (status != WEIR_OK)
        return status;
    weir_failures_init(&failures, self->executions->heap, weir_db_config(task.db)->log,
                       "flow", "one");
    scan.failures = &failures;
    status = task.kind->tick(self->ground->context, &task, &scan, &report, &error);
    weir_failures_fini(&failures);
    weir_reconciler_fini(&task);
    return status;
}

static enum weir_status let_time_pass(struct graph_run *self)
{
    enum weir_status status;

    weir_sleep_through(self->ground->context, LATER_NS);
    status = tick(self, WEIR_RECONCILER_EXECUTION_DEADLINE);
    return status == WEIR_OK ? tick(self, WEIR_RECONCILER_LEASE_EXPIRY) : status;
}

enum weir_status graph_run_perform(struct graph_run *self, struct graph_action *action)
{
    switch (action->kind) {
    case EXTEND:
        return extend(self, action);
    case CLAIM:
        return claim(self, action->node);
    case COMPLETE:
    case FAIL:
    case ABANDON:
        return settle(self, action);
    case CANCEL:
        return weir_execution_cancel(self->executions, &self->ids[action->node], "no",
                                     NULL);
    case REPLAY:
        return weir_execution_replay(self->executions, &self->ids[action->node], NULL);
    case REVOKE:
        return revoke(self, action->node);
    case CANCEL_FLOW:
        return weir_flow_cancel(self->executions, &self->id, action->policy, "no",
                                &action->cancelled, NULL);
    case DISPATCH:
        return tick(self, WEIR_RECONCILER_EDGE_CANCEL_DISPATCHER);
    case TIDY:
        return tick(self, WEIR_RECONCILER_EDGE_CANCEL_RECONCILER);
    case BACKSTOP:
        return tick(self, WEIR_RECONCILER_DEPENDENCY);
    default:
        return let_time_pass(self);
    }
}
