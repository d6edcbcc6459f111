/*
 * execution_get.c - `weir execution get` and `weir execution result`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/count.h"
#include "cli/budget/budget.h"
#include "cli/execution/execution_session.h"
#include "cli/execution/execution_view.h"
#include "cli/execution/execution_words.h"
#include "cli/execution/wait.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 64 << 20 };

static int run_get(const struct weir_command *self, int argc, char **argv);
static int run_result(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_execution_get = {
    .name = "execution get",
    .summary = "show one execution, its attempts, and why it does not move",
    .usage = "ID",
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
    .details = "Byte by byte, without a newline behind it. Ends with 1 while there is\n"
               "none. JSON has it as result, or as result_base64 when it is not UTF-8.\n",
    .uses_db = true,
    .run = run_result,
};

/* The exit code, or -1 to go on. */
static int parse(const struct weir_command *self, int argc, char **argv,
                 struct weir_execution_id *out)
{
    const char *word = NULL;
    int code;

    switch (weir_command_next_option(self, argc, argv)) {
    case WEIR_OPTIONS_END:
        break;
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    default:
        return WEIR_EXIT_MISUSE;
    }
    code = weir_command_one_operand(self, argc, argv, "ID", &word);
    if (code == WEIR_EXIT_DONE)
        code = weir_execution_take_id(self, word, out);
    return code == WEIR_EXIT_DONE ? -1 : code;
}

/* ---- get --------------------------------------------------------------------------- */

static const struct weir_table_column COLUMNS[] = {
    {.title = "attempt", .align = WEIR_TABLE_RIGHT},
    {.title = "type"},
    {.title = "outcome"},
    {.title = "worker", .cut_to = 8, .rank = 3},
    {.title = "instance", .cut_to = 12, .rank = 1},
    {.title = "epoch", .align = WEIR_TABLE_RIGHT, .rank = 4},
    {.title = "began", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "took", .align = WEIR_TABLE_RIGHT},
    {.title = "failure", .cut_to = 16},
};

struct show_call {
    const struct weir_execution_session *session;
    enum weir_public_state state;
    struct weir_buf text;  /* lines for people, or JSON */
    struct weir_buf facts; /* those that come behind what it waits for */
    struct weir_table attempts;
    size_t attempt_count;
};

static void show_execution(void *state, const struct weir_execution_info *info)
{
    struct show_call *self = state;

    self->state = info->state;
    if (self->session->session.shared.json) {
        weir_flow_append_members(&self->text, info, self->session->now_us);
        return;
    }
    weir_execution_append_state(&self->text, info, self->session->now_us);
    weir_execution_append_facts(&self->facts, info);
}

static void show_suspension(void *state, const struct weir_suspension_info *info)
{
    struct show_call *self = state;

    if (self->session->session.shared.json)
        weir_execution_append_suspension_json(&self->text, info);
    else
        weir_execution_append_suspension(&self->text, info);
}

static void show_budget(void *state, const struct weir_budget_info *info)
{
    struct show_call *self = state;

    if (self->session->session.shared.json)
        weir_record_append_json(&weir_budget_record, &self->text, NULL, info, 0);
    else
        weir_budget_append_facts(&self->text, info, self->session->now_us);
}

/* What it waits for, when that is more than a time or a worker. */
static enum weir_status show_wait(struct show_call *self,
                                  const struct weir_execution_id *id,
                                  struct weir_error *error)
{
    bool json = self->session->session.shared.json;
    enum weir_status status = WEIR_OK;

    if (self->state == WEIR_STATE_SUSPENDED)
        status = weir_execution_suspension(self->session->executions, id, show_suspension,
                                           self, error);
    else if (json)
        weir_output_open(&self->text, "suspension", "null");
    if (status != WEIR_OK)
        return status;
    if (json)
        weir_output_open(&self->text, "budgets", "[");
    if (self->state == WEIR_STATE_RATE_LIMITED)
        status = weir_budget_of(self->session->executions, id, show_budget, self, error);
    if (json)
        weir_buf_append_text(&self->text, "]");
    return status;
}

static void add_attempt_json(struct weir_buf *json, const struct weir_attempt_info *info)
{
    weir_output_open(json, NULL, "{");
    weir_output_add_number(json, "number", info->number);
    weir_output_add_text(json, "type", weir_attempt_type_name(info->type));
    weir_output_add_text(json, "outcome", weir_attempt_outcome_name(info->outcome));
    weir_output_add_text(json, "worker", info->worker);
    weir_output_add_text(json, "instance", info->instance);
    weir_output_add_text(json, "failure", info->failure);
    weir_output_add_number(json, "epoch", info->epoch);
    weir_output_add_time(json, "started_at", info->started_us);
    weir_output_add_time(json, "ended_at", info->ended_us);
    weir_buf_append_text(json, "}");
}

static void add_attempt_row(struct show_call *self, const struct weir_attempt_info *info)
{
    struct weir_table *table = &self->attempts;
    int64_t now_us = self->session->now_us;
    int64_t end_us = info->ended_us != 0 ? info->ended_us : now_us;
    int64_t took_us = end_us - info->started_us;
    int64_t age_us = now_us - info->started_us;
    char age[WEIR_AGE_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId32, info->number);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", weir_attempt_type_name(info->type));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_attempt_outcome_name(info->outcome));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->worker);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->instance);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId64, info->epoch);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s ago",
                   weir_output_age(age_us > 1000 ? age_us : 1000, age));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_age(took_us > 1000 ? took_us : 1000, age));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->failure);
}

static void show_attempt(void *state, const struct weir_attempt_info *info)
{
    struct show_call *self = state;

    self->attempt_count++;
    if (self->session->session.shared.json)
        add_attempt_json(&self->text, info);
    else
        add_attempt_row(self, info);
}

static enum weir_status show(struct show_call *self, const struct weir_execution_id *id,
                             struct weir_error *error)
{
    bool json = self->session->session.shared.json;
    enum weir_status status;

    if (json)
        weir_output_open(&self->text, NULL, "{");
    status =
        weir_execution_get(self->session->executions, id, show_execution, self, error);
    if (status == WEIR_OK)
        status = show_wait(self, id, error);
    if (status != WEIR_OK)
        return status;
    weir_buf_append(&self->text, weir_buf_text(&self->facts), self->facts.size);
    if (json)
        weir_output_open(&self->text, "attempts_log", "[");
    status =
        weir_execution_attempts(self->session->executions, id, show_attempt, self, error);
    if (json)
        weir_buf_append_text(&self->text, "]}\n");
    if (status == WEIR_OK && self->attempt_count > 0 && !json) {
        weir_buf_append_text(&self->text, "\n");
        status = weir_output_append_table(&self->attempts, &self->text);
    }
    return status;
}

static int get(const struct weir_execution_session *session,
               const struct weir_execution_id *id)
{
    struct show_call show_call = {.session = session};
    struct weir_error error = {0};
    int code;

    weir_buf_init(&show_call.text, weir_heap_system(), JSON_SIZE_MAX);
    weir_buf_init(&show_call.facts, weir_heap_system(), JSON_SIZE_MAX);
    weir_table_init(&show_call.attempts, weir_heap_system(), COLUMNS, COUNT_OF(COLUMNS));
    if (show(&show_call, id, &error) != WEIR_OK)
        code = weir_execution_session_fail(session, &error);
    else if (session->session.shared.quiet && !session->session.shared.json)
        code = puts(weir_public_state_name(show_call.state)) < 0 ? WEIR_EXIT_FAILED
                                                                 : WEIR_EXIT_DONE;
    else
        code = weir_output_lines(session->session.command, &show_call.text);
    weir_table_fini(&show_call.attempts);
    weir_buf_fini(&show_call.facts);
    weir_buf_fini(&show_call.text);
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

static int print_json(const struct weir_command *command,
                      const struct weir_execution_id *id, struct weir_str result)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_buf json;
    int code;

    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_add_text(&json, "id", weir_execution_id_format(id, text));
    weir_output_add_bytes(&json, "result", result);
    weir_buf_append_text(&json, "}");
    code = weir_output_text(command, &json);
    weir_buf_fini(&json);
    return code;
}

/* Only what is completed has one; how it stands is worth a word. */
static int tell_none(const struct weir_execution_session *session,
                     const struct weir_execution_id *id)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct show_call show_call = {.session = session};
    struct weir_error error = {0};
    int code;

    weir_buf_init(&show_call.text, weir_heap_system(), JSON_SIZE_MAX);
    weir_buf_init(&show_call.facts, weir_heap_system(), JSON_SIZE_MAX);
    weir_execution_id_format(id, text);
    if (weir_execution_get(session->executions, id, show_execution, &show_call, &error) !=
        WEIR_OK)
        code = weir_execution_session_fail(session, &error);
    else
        code =
            weir_command_fail(session->session.command,
                              "%s is %s and has no result; see 'weir execution get %s'",
                              text, weir_public_state_name(show_call.state), text);
    weir_buf_fini(&show_call.facts);
    weir_buf_fini(&show_call.text);
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
               ? print_json(session->session.command, id, result)
               : weir_output_bytes(session->session.command, result);
    weir_executions_free(session->executions, data);
    return code;
}

static int run_result(const struct weir_command *self, int argc, char **argv)
{
    return run(self, argc, argv, print_result);
}
