/*
 * flow_chart.c - see flow_chart.h.
 */
#include "cli/flow/flow_chart.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "base/text.h"
#include "view/execution_info_records.h"
#include "weir/budget.h"
#include "weir/heap.h"
#include "weir/suspension.h"

enum {
    ARENA_SIZE_MAX = 512 << 20,
    LIST_SIZE_MAX = 256 << 20,
    PAGE = 1000,
    NOTES_MAX = 200, /* each is a query */
    NOTE_SIZE = 512,
    NAMED_MAX = 3,
};

void weir_flow_chart_init(struct weir_flow_chart *self)
{
    *self = (struct weir_flow_chart){.members = NULL};
    weir_arena_init(&self->arena, weir_heap_system(), ARENA_SIZE_MAX);
}

void weir_flow_chart_fini(struct weir_flow_chart *self)
{
    weir_arena_fini(&self->arena);
}

/* ---- reading ----------------------------------------------------------------------- */

/* What is collected before it is known how much it is. */
struct collection {
    struct weir_flow_chart *chart;
    struct weir_map index; /* of members by uuid: their index and 1 */
    struct weir_buf list;  /* of what is read just now */
    bool failed;           /* there was no memory */
};

static const char *keep(struct collection *self, const char *text)
{
    const char *copy = weir_arena_copy_text(&self->chart->arena, text);

    self->failed = self->failed || copy == NULL;
    return copy != NULL ? copy : "";
}

static void keep_flow(void *state, const struct weir_flow_info *info)
{
    struct collection *self = state;

    self->chart->info = *info;
    self->chart->info.name_space = keep(self, info->name_space);
    self->chart->info.kind = keep(self, info->kind);
    self->chart->info.cancel_reason = keep(self, info->cancel_reason);
}

static void keep_member(void *state, const struct weir_execution_info *info)
{
    struct collection *self = state;
    struct weir_chart_member member = {.info = *info};

    member.info.name_space = keep(self, info->name_space);
    member.info.lane = keep(self, info->lane);
    member.info.kind = keep(self, info->kind);
    member.info.name = keep(self, info->name);
    member.info.capabilities = keep(self, info->capabilities);
    member.info.blocked_by = keep(self, info->blocked_by);
    member.info.budget = keep(self, info->budget);
    member.info.worker = keep(self, info->worker);
    member.info.instance = keep(self, info->instance);
    member.info.failure = keep(self, info->failure);
    member.info.progress_text = keep(self, info->progress_text);
    weir_buf_append(&self->list, &member, sizeof member);
}

/* What was collected, where it stays. */
static void *settle_list(struct collection *self, size_t size, size_t *count)
{
    void *list = weir_arena_alloc(&self->chart->arena, self->list.size + 1);

    *count = self->list.size / size;
    if (weir_buf_status(&self->list) != WEIR_OK || list == NULL || self->failed) {
        self->failed = true;
        return NULL;
    }
    memcpy(list, weir_buf_text(&self->list), self->list.size);
    weir_buf_reset(&self->list);
    return list;
}

/* Pages come newest first. */
static void settle_members(struct collection *self)
{
    struct weir_flow_chart *chart = self->chart;
    size_t count = 0;
    struct weir_chart_member *members = settle_list(self, sizeof *members, &count);

    for (size_t i = 0; i < count / 2 && members != NULL; i++) {
        struct weir_chart_member other = members[i];

        members[i] = members[count - 1 - i];
        members[count - 1 - i] = other;
    }
    for (size_t i = 0; i < count && members != NULL; i++) {
        struct weir_str uuid = {(const char *)members[i].info.id.uuid, WEIR_UUID_SIZE};

        self->failed =
            weir_map_put(&self->index, uuid, (void *)(uintptr_t)(i + 1)) != WEIR_OK ||
            self->failed;
    }
    chart->members = members;
    chart->member_count = members != NULL ? count : 0;
}

static enum weir_status read_members(struct collection *self,
                                     struct weir_executions *executions,
                                     const struct weir_flow_id *flow,
                                     struct weir_error *error)
{
    struct weir_execution_filter filter = {.flow = flow, .count = PAGE};
    enum weir_status status;
    int64_t next = 0;

    if (self->chart->info.members > WEIR_CHART_MEMBERS_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "it has %" PRIu32 " %s, %d can be shown",
                              self->chart->info.members,
                              WEIR_NOUN(self->chart->info.members, "member", "members"),
                              WEIR_CHART_MEMBERS_MAX);
    do {
        status =
            weir_execution_list(executions, &filter, keep_member, self, &next, error);
        filter.before = next;
    } while (status == WEIR_OK && next > 0);
    settle_members(self);
    return status;
}

/* The index of a member, or SIZE_MAX. */
static size_t find_member(const struct collection *self,
                          const struct weir_execution_id *id)
{
    struct weir_str uuid = {(const char *)id->uuid, WEIR_UUID_SIZE};
    uintptr_t found = (uintptr_t)weir_map_find(&self->index, uuid);

    return found > 0 ? found - 1 : SIZE_MAX;
}

static void keep_edge(void *state, const struct weir_edge_info *info)
{
    struct collection *self = state;

    if (find_member(self, &info->edge.from) != SIZE_MAX &&
        find_member(self, &info->edge.to) != SIZE_MAX)
        weir_buf_append(&self->list, info, sizeof *info);
}

static void settle_edges(struct collection *self)
{
    struct weir_flow_chart *chart = self->chart;
    size_t count = 0;

    chart->edge_infos = settle_list(self, sizeof *chart->edge_infos, &count);
    chart->edges = weir_arena_alloc(&chart->arena, (count + 1) * sizeof *chart->edges);
    if (chart->edge_infos == NULL || chart->edges == NULL) {
        self->failed = true;
        return;
    }
    chart->edge_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct weir_flow_edge *edge = &chart->edge_infos[i].edge;

        chart->edges[i] =
            (struct weir_draw_edge){.from = (uint32_t)find_member(self, &edge->from),
                                    .to = (uint32_t)find_member(self, &edge->to)};
    }
}

/* The edges by where they lead to. */
static void sort_edges(struct collection *self)
{
    struct weir_flow_chart *chart = self->chart;
    size_t count = chart->member_count;
    uint32_t *begin = weir_arena_alloc(&chart->arena, (count + 2) * sizeof *begin);

    chart->leading =
        weir_arena_alloc(&chart->arena, (chart->edge_count + 1) * sizeof *chart->leading);
    chart->leading_begin = begin;
    if (begin == NULL || chart->leading == NULL) {
        self->failed = true;
        return;
    }
    memset(begin, 0, (count + 2) * sizeof *begin);
    for (size_t i = 0; i < chart->edge_count; i++)
        begin[chart->edges[i].to + 2]++;
    for (size_t i = 2; i < count + 2; i++)
        begin[i] += begin[i - 1];
    for (size_t i = 0; i < chart->edge_count; i++)
        chart->leading[begin[chart->edges[i].to + 1]++] = (uint32_t)i;
}

static void keep_group(void *state, const struct weir_flow_join_info *info)
{
    struct collection *self = state;
    size_t member = find_member(self, &info->join.to);
    struct weir_flow_join_info *copy =
        weir_arena_alloc(&self->chart->arena, sizeof *copy);

    if (copy == NULL) {
        self->failed = true;
    } else if (member != SIZE_MAX) {
        *copy = *info;
        self->chart->members[member].group = copy;
    }
}

/* ---- notes ------------------------------------------------------------------------- */

/* A text that is made of what was read. */
struct note {
    int64_t now_us;
    char text[NOTE_SIZE];
};

static const char *spell_left(int64_t left_us, char *age)
{
    return weir_output_age(left_us > 1000 ? left_us : 1000, age);
}

static void note_suspension(void *state, const struct weir_suspension_info *info)
{
    struct note *self = state;
    bool told = info->missing[0] == '\0' || strcmp(info->missing, info->until) == 0;
    char age[WEIR_AGE_SIZE];
    char time[128] = "";

    if (info->escalated)
        weir_text_format(time, sizeof time, "; it took too long, an operator is to look");
    else if (info->timeout_us > 0 && info->timeout_us <= self->now_us)
        weir_text_format(time, sizeof time,
                         "; it took too long; does 'weir supervise' run?");
    else if (info->timeout_us > 0)
        weir_text_format(time, sizeof time, "; timeout in %s: %s",
                         spell_left(info->timeout_us - self->now_us, age),
                         weir_on_timeout_name(info->on_timeout));
    weir_text_format(self->text, sizeof self->text, "%s, until %s%s%s%s",
                     weir_suspend_reason_name(info->reason), info->until,
                     told ? "" : "; missing: ", told ? "" : info->missing, time);
}

static const struct weir_usage_info *find_used_up(const struct weir_budget_info *info)
{
    for (size_t i = 0; i < info->usage_count; i++) {
        const struct weir_usage_info *one = &info->usage[i];

        if (one->hard > 0 && one->used >= one->hard)
            return one;
    }
    return NULL;
}

static void note_budget(void *state, const struct weir_budget_info *info)
{
    struct note *self = state;
    const struct weir_usage_info *over = find_used_up(info);
    int64_t left_us = info->next_reset_us - self->now_us;
    char age[WEIR_AGE_SIZE];
    char time[128] = "it is never reset by itself";

    if (over == NULL) {
        weir_text_format(self->text, sizeof self->text,
                         "budget '%s' is free again; does 'weir supervise' run?",
                         info->name);
        return;
    }
    if (info->next_reset_us > 0 && left_us > 0)
        weir_text_format(time, sizeof time, "reset in %s", spell_left(left_us, age));
    else if (info->next_reset_us > 0)
        weir_text_format(time, sizeof time,
                         "its reset is due; does 'weir supervise' run?");
    weir_text_format(self->text, sizeof self->text,
                     "budget '%s' is used up: %" PRId64 " of %" PRId64 " %s; %s",
                     info->name, over->used, over->hard, over->dimension, time);
}

/* What there is to know beyond its row; that it is gone meanwhile is no failure. */
static enum weir_status note_one(struct collection *self,
                                 struct weir_executions *executions,
                                 struct weir_chart_member *member,
                                 struct weir_error *error)
{
    struct note note = {.now_us = self->chart->now_us, .text = ""};
    enum weir_status status =
        member->info.state == WEIR_STATE_SUSPENDED
            ? weir_execution_suspension(executions, &member->info.id, note_suspension,
                                        &note, error)
            : weir_budget_get(executions, member->info.budget, note_budget, &note, error);

    if (status == WEIR_NO_ROW || status == WEIR_NOT_FOUND)
        return WEIR_OK;
    if (status == WEIR_OK && note.text[0] != '\0')
        member->note = keep(self, note.text);
    return status;
}

static enum weir_status read_notes(struct collection *self,
                                   struct weir_executions *executions,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    size_t count = 0;

    for (size_t i = 0; i < self->chart->member_count && status == WEIR_OK; i++) {
        struct weir_chart_member *member = &self->chart->members[i];

        if (member->info.state != WEIR_STATE_SUSPENDED && member->info.budget[0] == '\0')
            continue;
        if (count++ == NOTES_MAX)
            break;
        status = note_one(self, executions, member, error);
    }
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static enum weir_status read_all(struct collection *self,
                                 struct weir_executions *executions,
                                 const struct weir_flow_id *flow,
                                 struct weir_error *error)
{
    enum weir_status status = weir_flow_get(executions, flow, keep_flow, self, error);

    if (status == WEIR_OK)
        status = read_members(self, executions, flow, error);
    if (status == WEIR_OK && !self->failed)
        status = weir_flow_edges(executions, flow, keep_edge, self, error);
    if (status == WEIR_OK && !self->failed)
        settle_edges(self);
    if (status == WEIR_OK && !self->failed)
        sort_edges(self);
    if (status == WEIR_OK && !self->failed)
        status = weir_flow_joins(executions, flow, keep_group, self, error);
    if (status == WEIR_OK && !self->failed)
        status = read_notes(self, executions, error);
    return status == WEIR_OK && self->failed ? weir_no_memory_for(error, "a flow")
                                             : status;
}

enum weir_status weir_flow_chart_read(struct weir_flow_chart *self,
                                      const struct weir_execution_session *session,
                                      const struct weir_flow_id *flow,
                                      struct weir_error *error)
{
    struct collection collection = {.chart = self};
    enum weir_status status;

    weir_arena_reset(&self->arena);
    self->member_count = 0;
    self->edge_count = 0;
    weir_map_init(&collection.index, weir_heap_system(), 2 * WEIR_CHART_MEMBERS_MAX);
    weir_buf_init(&collection.list, weir_heap_system(), LIST_SIZE_MAX);
    status = weir_execution_session_read_clock(session, &self->now_us, error);
    if (status == WEIR_OK)
        status = read_all(&collection, session->executions, flow, error);
    weir_map_fini(&collection.index);
    weir_buf_fini(&collection.list);
    return status;
}

/* ---- why --------------------------------------------------------------------------- */

const char *weir_chart_member_label(const struct weir_chart_member *self)
{
    return self->info.name[0] != '\0' ? self->info.name : self->info.kind;
}

/* "; missing: 4 charge (active), 5 pack and 7 more": pack waits itself, as all behind
 * it do. */
static void append_missing(const struct weir_flow_chart *self, size_t member,
                           struct weir_buf *text)
{
    size_t count = 0;

    for (uint32_t i = self->leading_begin[member]; i < self->leading_begin[member + 1];
         i++) {
        uint32_t edge = self->leading[i];
        const struct weir_chart_member *from = &self->members[self->edges[edge].from];

        if (self->edge_infos[edge].state != WEIR_EDGE_OPEN || count++ >= NAMED_MAX)
            continue;
        weir_buf_append_text(text, count == 1 ? "; missing: " : ", ");
        if (from->number > 0)
            weir_buf_append_format(text, "%" PRIu32 " ", from->number);
        weir_buf_append_text(text, weir_chart_member_label(from));
        if (from->info.state != WEIR_STATE_WAITING_CHILDREN)
            weir_buf_append_format(text, " (%s)",
                                   weir_public_state_name(from->info.state));
    }
    if (count > NAMED_MAX)
        weir_buf_append_format(text, " and %zu more", count - NAMED_MAX);
}

static void spell_group(const struct weir_flow_chart *self, size_t member,
                        const struct weir_flow_join_info *group, char *out)
{
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), WEIR_EXECUTION_WHY_SIZE - 1);
    weir_buf_append_format(&text, "%" PRIu32 " of %" PRIu32 ", needs %" PRIu32,
                           group->succeeded, group->total, weir_flow_join_needed(group));
    if (group->failed > 0)
        weir_buf_append_format(&text, "; failed: %" PRIu32, group->failed);
    if (group->skipped > 0)
        weir_buf_append_format(&text, "; skipped: %" PRIu32, group->skipped);
    if (group->state != WEIR_FLOW_JOIN_PENDING)
        weir_buf_append_text(&text, ", which is decided; does 'weir supervise' run?");
    else
        append_missing(self, member, &text);
    weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "%s", weir_buf_text(&text));
    weir_buf_fini(&text);
}

const char *weir_flow_chart_why(const struct weir_flow_chart *self, size_t member,
                                char *out)
{
    const struct weir_chart_member *one = &self->members[member];

    if (one->info.state == WEIR_STATE_WAITING_CHILDREN && one->group != NULL)
        spell_group(self, member, one->group, out);
    else if (one->note != NULL)
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "%s", one->note);
    else
        weir_execution_spell_why(&one->info, self->now_us, out);
    return out;
}

/* ---- JSON -------------------------------------------------------------------------- */

static void add_members(const struct weir_flow_chart *self,
                        struct weir_flow_detail *detail)
{
    char why[WEIR_EXECUTION_WHY_SIZE];

    for (size_t i = 0; i < self->member_count; i++) {
        weir_flow_chart_why(self, i, why);
        weir_record_list_add(&detail->members,
                             &(struct weir_execution_row){self->members[i].info, why});
        if (self->members[i].group != NULL)
            weir_record_list_add(&detail->joins, self->members[i].group);
    }
}

void weir_flow_chart_append_json(const struct weir_flow_chart *self,
                                 struct weir_buf *json)
{
    struct weir_flow_detail detail = {.info = self->info};

    weir_record_list_init(&detail.members, &weir_execution_record, WEIR_FORM_JSON,
                          self->now_us);
    weir_record_list_init(&detail.edges, &weir_edge_record, WEIR_FORM_JSON, 0);
    weir_record_list_init(&detail.joins, &weir_join_record, WEIR_FORM_JSON, 0);
    add_members(self, &detail);
    for (size_t i = 0; i < self->edge_count; i++)
        weir_record_list_add(&detail.edges, &self->edge_infos[i]);
    weir_record_append_json(&weir_flow_detail_record, json, NULL, &detail, self->now_us);
    weir_record_list_fini(&detail.members);
    weir_record_list_fini(&detail.edges);
    weir_record_list_fini(&detail.joins);
}
