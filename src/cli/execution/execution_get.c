/*
 * execution_get.c - `weir execution get` and `weir execution result`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/budget/budget.h"
#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/execution/wait.h"
#include "cli/reply.h"
#include "view/execution_info_records.h"
#include "view/wait_records.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 64 << 20 };

static int run_get(const struct weir_command *self, int argc, char **argv);
static int run_result(const struct weir_command *self, int argc, char **argv);

struct get_call {
    struct weir_execution_id id;
};

static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("ID", WEIR_AS_EXECUTION_ID(struct get_call, id)),
};

const struct weir_command weir_cli_execution_get = {
    .name = "execution get",
    .summary = "show one execution, its attempts, and why it does not move",
    .usage = "ID",
    WEIR_OPERANDS(OPERANDS),
    .details =
        "Of one that is suspended it says what is missing, and of one that a budget\n"
        "holds back, which. With --quiet only its state is printed. JSON has the\n"
        "attempts too.\n",
    .uses_db = true,
    .run = run_get,
};

const struct weir_command weir_cli_execution_result = {
    .name = "execution result",
    .summary = "print the result of an execution that was completed",
    .usage = "ID",
    WEIR_OPERANDS(OPERANDS),
    .details = "Byte by byte, without a newline behind it. Ends with 1 while there is\n"
               "none. JSON has it as result, or as result_base64 when it is not UTF-8.\n",
    .uses_db = true,
    .run = run_result,
};

static int parse(const struct weir_command *self, int argc, char **argv,
                 struct weir_execution_id *out)
{
    struct get_call call;
    int code = weir_command_parse(self, argc, argv, &call, sizeof call);

    if (code < 0)
        *out = call.id;
    return code;
}

/* ---- get --------------------------------------------------------------------------- */

struct show_call {
    const struct weir_execution_session *session;
    enum weir_public_state state;
    struct weir_execution_detail detail;
    struct weir_buf text;  /* lines for people */
    struct weir_buf facts; /* those that come behind what it waits for */
};

static bool is_json(const struct show_call *self)
{
    return self->session->session.shared.json;
}

static void show_execution(void *state, const struct weir_execution_info *info)
{
    struct show_call *self = state;
    const struct weir_execution_row row = {*info, NULL};
    int64_t now_us = self->session->now_us;

    self->state = info->state;
    if (is_json(self)) {
        weir_record_append_members(&weir_execution_record, &self->detail.execution, &row,
                                   now_us);
        return;
    }
    weir_record_append_lines(&weir_execution_head_record, &self->text, &row, now_us);
    weir_record_append_lines(&weir_execution_record, &self->facts, &row, now_us);
}

static void show_suspension(void *state, const struct weir_suspension_info *info)
{
    struct show_call *self = state;

    if (is_json(self))
        weir_record_append_json(&weir_suspension_record, &self->detail.suspension, NULL,
                                info, 0);
    else
        weir_record_append_lines(&weir_suspension_record, &self->text, info, 0);
}

static void show_budget(void *state, const struct weir_budget_info *info)
{
    struct show_call *self = state;

    if (is_json(self))
        weir_record_list_add(&self->detail.budgets, info);
    else
        weir_budget_append_facts(&self->text, info, self->session->now_us);
}

static void show_attempt(void *state, const struct weir_attempt_info *info)
{
    weir_record_list_add(state, info);
}

/* What it waits for, when that is more than a time or a worker; and its attempts. */
static enum weir_status read_rest(struct show_call *self,
                                  const struct weir_execution_id *id,
                                  struct weir_error *error)
{
    struct weir_executions *executions = self->session->executions;
    enum weir_status status = WEIR_OK;

    if (self->state == WEIR_STATE_SUSPENDED)
        status = weir_execution_suspension(executions, id, show_suspension, self, error);
    else if (self->state == WEIR_STATE_RATE_LIMITED)
        status = weir_budget_of(executions, id, show_budget, self, error);
    if (status == WEIR_OK)
        status = weir_execution_attempts(executions, id, show_attempt,
                                         &self->detail.attempts, error);
    return status;
}

static int print_lines(struct show_call *self)
{
    const struct weir_command *command = self->session->session.command;
    enum weir_status status = WEIR_OK;

    if (self->session->session.shared.quiet)
        return puts(weir_public_state_name(self->state)) < 0 ? WEIR_EXIT_FAILED
                                                             : WEIR_EXIT_DONE;
    weir_buf_append(&self->text, weir_buf_text(&self->facts), self->facts.size);
    if (self->detail.attempts.count > 0) {
        weir_buf_append_text(&self->text, "\n");
        status = weir_output_append_table(&self->detail.attempts.table, &self->text);
    }
    if (status != WEIR_OK)
        return weir_command_fail(command, "print: %s", weir_status_text(status));
    return weir_output_lines(command, &self->text);
}

static int show(struct show_call *self, const struct weir_execution_id *id)
{
    struct weir_error error = {0};
    enum weir_status status =
        weir_execution_get(self->session->executions, id, show_execution, self, &error);

    if (status == WEIR_OK)
        status = read_rest(self, id, &error);
    if (status != WEIR_OK)
        return weir_execution_session_fail(self->session, &error);
    return is_json(self) ? weir_reply_json(&self->session->session,
                                           &weir_execution_detail_record, &self->detail)
                         : print_lines(self);
}

static void open_show(struct show_call *self)
{
    const struct weir_heap *heap = weir_heap_system();
    enum weir_form form = weir_reply_form(&self->session->session);

    weir_buf_init(&self->text, heap, JSON_SIZE_MAX);
    weir_buf_init(&self->facts, heap, JSON_SIZE_MAX);
    weir_buf_init(&self->detail.execution, heap, JSON_SIZE_MAX);
    weir_buf_init(&self->detail.suspension, heap, JSON_SIZE_MAX);
    weir_record_list_init(&self->detail.budgets, &weir_budget_record, WEIR_FORM_JSON, 0);
    weir_record_list_init(&self->detail.attempts, &weir_attempt_record, form,
                          self->session->now_us);
}

static void close_show(struct show_call *self)
{
    weir_buf_fini(&self->text);
    weir_buf_fini(&self->facts);
    weir_buf_fini(&self->detail.execution);
    weir_buf_fini(&self->detail.suspension);
    weir_record_list_fini(&self->detail.budgets);
    weir_record_list_fini(&self->detail.attempts);
}

static int get(const struct weir_execution_session *session,
               const struct weir_execution_id *id)
{
    struct show_call show_call = {.session = session};
    int code;

    open_show(&show_call);
    code = show(&show_call, id);
    close_show(&show_call);
    return code;
}

typedef int (*show_fn)(const struct weir_execution_session *session,
                       const struct weir_execution_id *id);

static int run(const struct weir_command *self, int argc, char **argv, show_fn show_one)
{
    struct weir_execution_session session;
    struct weir_execution_id id;
    int code = parse(self, argc, argv, &id);

    if (code >= 0)
        return code;
    code =
        weir_execution_session_open(&session, self, WEIR_EXECUTION_SESSION_SILENT, NULL);
    if (code == WEIR_EXIT_DONE)
        code = show_one(&session, &id);
    weir_execution_session_close(&session);
    return code;
}

static int run_get(const struct weir_command *self, int argc, char **argv)
{
    return run(self, argc, argv, get);
}

/* ---- result ------------------------------------------------------------------------ */

/* Only what is completed has one; how it stands is worth a word. */
static int tell_none(const struct weir_execution_session *session,
                     const struct weir_execution_id *id)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct show_call show_call = {.session = session};
    struct weir_error error = {0};
    int code;

    open_show(&show_call);
    weir_execution_id_format(id, text);
    if (weir_execution_get(session->executions, id, show_execution, &show_call, &error) !=
        WEIR_OK)
        code = weir_execution_session_fail(session, &error);
    else
        code =
            weir_command_fail(session->session.command,
                              "%s is %s and has no result; see 'weir execution get %s'",
                              text, weir_public_state_name(show_call.state), text);
    close_show(&show_call);
    return code;
}

static int print_result(const struct weir_execution_session *session,
                        const struct weir_execution_id *id)
{
    struct weir_error error = {0};
    struct weir_str result = {"", 0};
    void *data = NULL;
    size_t size = 0;
    enum weir_status status =
        weir_execution_result(session->executions, id, &data, &size, &error);
    int code;

    if (status == WEIR_NO_ROW)
        return tell_none(session, id);
    if (status != WEIR_OK)
        return weir_execution_session_fail(session, &error);
    if (data != NULL)
        result = (struct weir_str){data, size};
    code = session->session.shared.json
               ? weir_reply_json(&session->session, &weir_execution_result_record,
                                 &(struct weir_execution_result_row){*id, result})
               : weir_output_bytes(session->session.command, result);
    weir_executions_free(session->executions, data);
    return code;
}

static int run_result(const struct weir_command *self, int argc, char **argv)
{
    return run(self, argc, argv, print_result);
}
