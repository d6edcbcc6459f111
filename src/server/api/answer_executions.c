/*
 * answer_executions.c - executions: pages of them, and one with what belongs to it.
 *
 * A page of the library may be short and yet not the last, since it looks at so many
 * rows and no more. One of ours is full or the last: it is made of as many as it takes.
 */
#include <inttypes.h>
#include <string.h>

#include "db/db.h"
#include "server/api/answers.h"
#include "server/api/mount.h"
#include "view/budget_records.h"
#include "view/execution_info_records.h"
#include "view/wait_records.h"
#include "weir/budget.h"
#include "weir/suspension.h"

enum { LIMIT_DEFAULT = 100, TEXT_SIZE_MAX = 128 };

/* The clock that times of rows are of. */
static enum weir_status read_clock(const struct weir_api_call *call, int64_t *out_us,
                                   struct weir_error *error)
{
    struct weir_db *db = weir_mount_db(call->mount);
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_clock(connection, out_us, error);
    weir_db_release(db, connection);
    return status;
}

/* ---- which one --------------------------------------------------------------------- */

struct looking {
    const struct weir_api_call *call;
    bool seen;
};

static void look(void *state, const struct weir_execution_info *info)
{
    struct looking *looking = state;

    looking->seen = weir_call_sees_lane(looking->call, info->lane, info->name_space);
}

static bool is_restricted(const struct weir_api_call *call)
{
    return call->grant.globs[WEIR_RESTRICT_LANES][0] != '\0' ||
           call->grant.globs[WEIR_RESTRICT_NAMESPACES][0] != '\0';
}

/* The execution of the path, if the caller may see it. */
static enum weir_status find(const struct weir_api_call *call,
                             struct weir_execution_id *out, struct weir_error *error)
{
    const char *word = weir_call_name(call, 0);
    struct looking looking = {.call = call, .seen = true};
    enum weir_status status = weir_execution_id_parse(word, out, error);

    if (status == WEIR_OK && is_restricted(call)) {
        looking.seen = false;
        status = weir_execution_get(weir_mount_executions(call->mount), out, look,
                                    &looking, error);
    }
    if (status == WEIR_OK && !looking.seen)
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no execution %s", word);
    return status;
}

/* ---- a page ------------------------------------------------------------------------ */

struct page_call {
    const struct weir_api_call *call;
    struct weir_execution_filter filter;
    struct weir_flow_id flow;
    char tag_key[TEXT_SIZE_MAX];
    size_t limit;
    size_t count; /* in the page so far */
    struct weir_execution_page page;
};

static void add_execution(void *state, const struct weir_execution_info *info)
{
    struct page_call *self = state;

    if (!weir_call_sees_lane(self->call, info->lane, info->name_space))
        return;
    self->count++;
    weir_record_list_add(&self->page.executions,
                         &(struct weir_execution_row){*info, NULL});
}

static enum weir_status read_tag(struct page_call *self, struct weir_error *error)
{
    const char *tag = weir_call_text(self->call, "tag");
    const char *colon = tag != NULL ? strchr(tag, ':') : NULL;

    if (tag == NULL)
        return WEIR_OK;
    if (colon == NULL || colon == tag || (size_t)(colon - tag) >= sizeof self->tag_key)
        return weir_error_set(error, WEIR_INVALID, "parameter 'tag' must be KEY:VALUE");
    memcpy(self->tag_key, tag, (size_t)(colon - tag));
    self->tag_key[colon - tag] = '\0';
    self->filter.tag_key = self->tag_key;
    self->filter.tag_value = colon + 1;
    return WEIR_OK;
}

static enum weir_status read_filter(struct page_call *self, struct weir_error *error)
{
    const struct weir_api_call *call = self->call;
    const char *flow = weir_call_text(call, "flow");
    enum weir_status status = WEIR_OK;

    self->filter.states = weir_call_words(call, "state");
    self->filter.lane = weir_call_text(call, "lane");
    self->filter.kind = weir_call_text(call, "kind");
    self->filter.name_space = weir_call_text(call, "namespace");
    self->filter.before = weir_call_number(call, "after", 0);
    self->limit = (size_t)weir_call_number(call, "limit", LIMIT_DEFAULT);
    if (flow != NULL) {
        status = weir_flow_id_parse(flow, &self->flow, error);
        self->filter.flow = &self->flow;
    }
    return status == WEIR_OK ? read_tag(self, error) : status;
}

static enum weir_status read_page(struct page_call *self, struct weir_error *error)
{
    enum weir_status status;
    int64_t next = 0;

    do {
        self->filter.count = self->limit - self->count;
        status = weir_execution_list(weir_mount_executions(self->call->mount),
                                     &self->filter, add_execution, self, &next, error);
        self->filter.before = next;
    } while (status == WEIR_OK && next > 0 && self->count < self->limit);
    self->page.after = next;
    return status;
}

enum weir_status weir_answer_executions(struct weir_api_call *call,
                                        struct weir_error *error)
{
    struct page_call self = {.call = call};
    int64_t now_us = 0;
    enum weir_status status = read_filter(&self, error);

    if (status == WEIR_OK)
        status = read_clock(call, &now_us, error);
    if (status != WEIR_OK)
        return status;
    weir_record_list_init(&self.page.executions, &weir_execution_record, WEIR_FORM_JSON,
                          now_us);
    status = read_page(&self, error);
    if (status == WEIR_OK)
        weir_record_append_json(&weir_execution_page_record, &call->body, NULL,
                                &self.page, now_us);
    weir_record_list_fini(&self.page.executions);
    return status;
}

/* ---- one --------------------------------------------------------------------------- */

struct get_call {
    int64_t now_us;
    enum weir_public_state state;
    struct weir_execution_detail detail;
};

static void add_members(void *state, const struct weir_execution_info *info)
{
    struct get_call *self = state;
    const struct weir_execution_row row = {*info, NULL};

    self->state = info->state;
    weir_record_append_members(&weir_execution_record, &self->detail.execution, &row,
                               self->now_us);
}

static void add_suspension(void *state, const struct weir_suspension_info *info)
{
    struct get_call *self = state;

    weir_record_append_json(&weir_suspension_record, &self->detail.suspension, NULL, info,
                            0);
}

static void add_budget(void *state, const struct weir_budget_info *info)
{
    struct get_call *self = state;

    weir_record_list_add(&self->detail.budgets, info);
}

static void add_attempt(void *state, const struct weir_attempt_info *info)
{
    weir_record_list_add(state, info);
}

static enum weir_status read_detail(struct get_call *self,
                                    struct weir_executions *executions,
                                    const struct weir_execution_id *id,
                                    struct weir_error *error)
{
    enum weir_status status =
        weir_execution_get(executions, id, add_members, self, error);

    if (status == WEIR_OK && self->state == WEIR_STATE_SUSPENDED)
        status = weir_execution_suspension(executions, id, add_suspension, self, error);
    else if (status == WEIR_OK && self->state == WEIR_STATE_RATE_LIMITED)
        status = weir_budget_of(executions, id, add_budget, self, error);
    if (status == WEIR_OK)
        status = weir_execution_attempts(executions, id, add_attempt,
                                         &self->detail.attempts, error);
    return status;
}

enum weir_status weir_answer_execution(struct weir_api_call *call,
                                       struct weir_error *error)
{
    const struct weir_heap *heap = call->body.heap;
    struct get_call self = {.now_us = 0};
    struct weir_execution_id id;
    enum weir_status status = find(call, &id, error);

    if (status == WEIR_OK)
        status = read_clock(call, &self.now_us, error);
    if (status != WEIR_OK)
        return status;
    weir_buf_init(&self.detail.execution, heap, WEIR_API_BODY_MAX);
    weir_buf_init(&self.detail.suspension, heap, WEIR_API_BODY_MAX);
    weir_record_list_init(&self.detail.budgets, &weir_budget_record, WEIR_FORM_JSON, 0);
    weir_record_list_init(&self.detail.attempts, &weir_attempt_record, WEIR_FORM_JSON,
                          self.now_us);
    status = read_detail(&self, weir_mount_executions(call->mount), &id, error);
    if (status == WEIR_OK)
        weir_record_append_json(&weir_execution_detail_record, &call->body, NULL,
                                &self.detail, self.now_us);
    weir_record_list_fini(&self.detail.attempts);
    weir_record_list_fini(&self.detail.budgets);
    weir_buf_fini(&self.detail.suspension);
    weir_buf_fini(&self.detail.execution);
    return status;
}

/* ---- what belongs to one ----------------------------------------------------------- */

static void note_state(void *state, const struct weir_execution_info *info)
{
    *(enum weir_public_state *)state = info->state;
}

/* There is none yet: how the execution stands is worth a word. */
static enum weir_status tell_no_result(struct weir_api_call *call,
                                       const struct weir_execution_id *id,
                                       struct weir_error *error)
{
    enum weir_public_state now = WEIR_STATE_WAITING;
    enum weir_status status = weir_execution_get(weir_mount_executions(call->mount), id,
                                                 note_state, &now, error);

    if (status != WEIR_OK)
        return status;
    return weir_error_set(error, WEIR_NO_ROW, "%s is %s and has no result",
                          weir_call_name(call, 0), weir_public_state_name(now));
}

enum weir_status weir_answer_execution_result(struct weir_api_call *call,
                                              struct weir_error *error)
{
    struct weir_executions *executions = weir_mount_executions(call->mount);
    struct weir_execution_result_row row = {.result = {"", 0}};
    void *data = NULL;
    size_t size = 0;
    enum weir_status status = find(call, &row.id, error);

    if (status == WEIR_OK)
        status = weir_execution_result(executions, &row.id, &data, &size, error);
    if (status == WEIR_NO_ROW)
        return tell_no_result(call, &row.id, error);
    if (status != WEIR_OK)
        return status;
    if (data != NULL)
        row.result = (struct weir_str){data, size};
    if (call->octets) {
        call->type = "application/octet-stream";
        weir_buf_append(&call->body, row.result.data, row.result.size);
    } else {
        weir_record_append_json(&weir_execution_result_record, &call->body, NULL, &row,
                                0);
    }
    weir_executions_free(executions, data);
    return WEIR_OK;
}

typedef enum weir_status (*list_fn)(struct weir_executions *executions,
                                    const struct weir_execution_id *id,
                                    struct weir_record_list *rows,
                                    struct weir_error *error);

/* Rows of one execution: {"attempts":[...]}. */
static enum weir_status list(struct weir_api_call *call, list_fn read,
                             struct weir_error *error)
{
    const struct weir_endpoint *endpoint = call->match.endpoint;
    struct weir_execution_id id;
    struct weir_record_list rows;
    int64_t now_us = 0;
    enum weir_status status = find(call, &id, error);

    if (status == WEIR_OK)
        status = read_clock(call, &now_us, error);
    if (status != WEIR_OK)
        return status;
    weir_record_list_init(&rows, endpoint->answer, WEIR_FORM_JSON, now_us);
    status = read(weir_mount_executions(call->mount), &id, &rows, error);
    if (status == WEIR_OK) {
        weir_output_open(&call->body, NULL, "{");
        weir_record_list_append_json(&rows, &call->body, endpoint->list);
        weir_buf_append_text(&call->body, "}");
    }
    weir_record_list_fini(&rows);
    return status;
}

static enum weir_status read_attempts(struct weir_executions *executions,
                                      const struct weir_execution_id *id,
                                      struct weir_record_list *rows,
                                      struct weir_error *error)
{
    return weir_execution_attempts(executions, id, add_attempt, rows, error);
}

enum weir_status weir_answer_execution_attempts(struct weir_api_call *call,
                                                struct weir_error *error)
{
    return list(call, read_attempts, error);
}

static void add_signal(void *state, const struct weir_signal_info *info)
{
    weir_record_list_add(state, info);
}

static enum weir_status read_signals(struct weir_executions *executions,
                                     const struct weir_execution_id *id,
                                     struct weir_record_list *rows,
                                     struct weir_error *error)
{
    return weir_execution_signals(executions, id, add_signal, rows, error);
}

enum weir_status weir_answer_execution_signals(struct weir_api_call *call,
                                               struct weir_error *error)
{
    return list(call, read_signals, error);
}

static void add_waitpoint(void *state, const struct weir_waitpoint_info *info)
{
    weir_record_list_add(state, info);
}

static enum weir_status read_waitpoints(struct weir_executions *executions,
                                        const struct weir_execution_id *id,
                                        struct weir_record_list *rows,
                                        struct weir_error *error)
{
    return weir_execution_waitpoints(executions, id, add_waitpoint, rows, error);
}

enum weir_status weir_answer_execution_waitpoints(struct weir_api_call *call,
                                                  struct weir_error *error)
{
    return list(call, read_waitpoints, error);
}
