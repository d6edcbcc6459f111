/*
 * wait_list.c - `weir execution waitpoints` and `weir execution signals`: where answers
 * come in, and which have come.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/count.h"
#include "base/utf8.h"
#include "cli/execution/execution_words.h"
#include "cli/execution/wait.h"
#include "execution/id.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 1 << 30, PAYLOAD_SHOWN = 200 };

static int run_waitpoints(const struct weir_command *self, int argc, char **argv);
static int run_signals(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_execution_waitpoints = {
    .name = "execution waitpoints",
    .summary = "show the waitpoints of an execution",
    .usage = "ID",
    .details =
        "Those of the open suspension or of the last one, and those made for the next.\n"
        "Tokens are stored nowhere and cannot be shown; a token and its fingerprint\n"
        "belong together, so that one that somebody has can be compared:\n"
        "  printf %s \"$token\" | sha256sum | cut -c 1-16\n"
        "With --quiet only keys are printed.\n",
    .uses_db = true,
    .run = run_waitpoints,
};

const struct weir_command weir_cli_execution_signals = {
    .name = "execution signals",
    .summary = "show the signals that an execution has got",
    .usage = "ID",
    .details =
        "Those of the open suspension, or of the last one, in the order in which they\n"
        "came: what a worker looks at when it goes on. JSON has the payloads.\n",
    .uses_db = true,
    .run = run_signals,
};

static const struct weir_table_column WAITPOINT_COLUMNS[] = {
    {.title = "waitpoint"},
    {.title = "id", .rank = 2},
    {.title = "state"},
    {.title = "signals", .align = WEIR_TABLE_RIGHT},
    {.title = "made with", .cut_to = 8, .rank = 3},
    {.title = "fingerprint", .rank = 1},
    {.title = "expires in", .align = WEIR_TABLE_RIGHT},
};
static const struct weir_table_column SIGNAL_COLUMNS[] = {
    {.title = "came", .align = WEIR_TABLE_RIGHT},
    {.title = "waitpoint", .cut_to = 12},
    {.title = "signal", .cut_to = 12},
    {.title = "source", .cut_to = 12, .rank = 1},
    {.title = "bytes", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "payload", .cut_to = 16},
};

struct list_call {
    struct weir_execution_session session;
    struct weir_execution_id id;
    struct weir_table table;
    struct weir_buf json; /* a list that is not closed yet */
    size_t count;
};

/* ---- waitpoints -------------------------------------------------------------------- */

static void add_waitpoint_json(struct weir_buf *json,
                               const struct weir_waitpoint_info *info)
{
    char uuid[WEIR_UUID_TEXT_SIZE];

    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "key", info->key);
    weir_output_add_text(json, "id", weir_uuid_format(info->uuid, uuid));
    weir_output_add_text(json, "state", weir_waitpoint_state_name(info->state));
    weir_output_add_number(json, "signals", info->signals);
    weir_output_add_text(json, "key_id", info->key_id);
    weir_output_add_text(json, "fingerprint", info->fingerprint);
    weir_output_add_time(json, "created_at", info->created_us);
    weir_output_add_time(json, "expires_at", info->until_us);
    weir_buf_append_text(json, "}");
}

static void add_waitpoint_row(struct list_call *self,
                              const struct weir_waitpoint_info *info)
{
    int64_t left_us = info->until_us - self->session.now_us;
    struct weir_table *table = &self->table;
    char uuid[WEIR_UUID_TEXT_SIZE];
    char age[WEIR_AGE_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->key);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", weir_uuid_format(info->uuid, uuid));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", weir_waitpoint_state_name(info->state));
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRIu32, info->signals);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->key_id);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   info->fingerprint[0] != '\0' ? info->fingerprint : "-");
    if (info->until_us == 0)
        weir_table_add(table, WEIR_TONE_PLAIN, "-");
    else
        weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                       left_us > 0 ? weir_output_age(left_us, age) : "expired");
}

static void add_waitpoint(void *state, const struct weir_waitpoint_info *info)
{
    struct list_call *self = state;

    self->count++;
    if (self->session.session.shared.json)
        add_waitpoint_json(&self->json, info);
    else if (self->session.session.shared.quiet)
        puts(info->key);
    else
        add_waitpoint_row(self, info);
}

/* ---- signals ----------------------------------------------------------------------- */

static struct weir_str payload_of(const struct weir_signal_info *info)
{
    return info->payload_size > 0 ? (struct weir_str){info->payload, info->payload_size}
                                  : weir_str("");
}

static void add_signal_json(struct weir_buf *json, const struct weir_signal_info *info)
{
    char uuid[WEIR_UUID_TEXT_SIZE];

    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "id", weir_uuid_format(info->uuid, uuid));
    weir_output_add_text(json, "waitpoint", info->waitpoint_key);
    weir_output_add_text(json, "name", info->name);
    weir_output_add_text(json, "source_type", info->source_type);
    weir_output_add_text(json, "source", info->source);
    weir_output_add_time(json, "came_at", info->came_us);
    weir_output_add_bytes(json, "payload", payload_of(info));
    weir_buf_append_text(json, "}");
}

/* As text, as far as it may be of interest; bytes that are none are not shown. */
static void add_payload(struct weir_table *table, struct weir_str payload)
{
    size_t shown = payload.size < PAYLOAD_SHOWN ? payload.size : PAYLOAD_SHOWN;

    if (weir_utf8_valid(payload))
        weir_table_add(table, WEIR_TONE_PLAIN, "%.*s", (int)shown, payload.data);
    else
        weir_table_add(table, WEIR_TONE_PLAIN, "(no text)");
}

static void add_signal_row(struct list_call *self, const struct weir_signal_info *info)
{
    int64_t age_us = self->session.now_us - info->came_us;
    bool typed = info->source_type[0] != '\0';
    struct weir_table *table = &self->table;
    char age[WEIR_AGE_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%s ago",
                   weir_output_age(age_us > 1000 ? age_us : 1000, age));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->waitpoint_key);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->name);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s%s%s", info->source_type,
                   typed && info->source[0] != '\0' ? " " : "", info->source);
    weir_table_add(table, WEIR_TONE_PLAIN, "%zu", info->payload_size);
    add_payload(table, payload_of(info));
}

static void add_signal(void *state, const struct weir_signal_info *info)
{
    struct list_call *self = state;

    self->count++;
    if (self->session.session.shared.json)
        add_signal_json(&self->json, info);
    else if (self->session.session.shared.quiet)
        puts(info->name);
    else
        add_signal_row(self, info);
}

/* ---- the commands ------------------------------------------------------------------ */

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

static int print(struct list_call *self, const char *what)
{
    const struct weir_session *session = &self->session.session;
    struct weir_buf json;
    int code;

    if (!session->shared.json) {
        if (session->shared.quiet)
            return WEIR_EXIT_DONE;
        if (self->count == 0)
            return printf("no %s\n", what) < 0 ? WEIR_EXIT_FAILED : WEIR_EXIT_DONE;
        return weir_output_table(session->command, &self->table);
    }
    weir_buf_init(&json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&json, NULL, "{");
    weir_output_open(&json, what, "[");
    weir_buf_append(&json, weir_buf_text(&self->json), self->json.size);
    weir_buf_append_text(&json, "]}");
    code = weir_output_text(session->command, &json);
    weir_buf_fini(&json);
    return code;
}

typedef enum weir_status (*list_fn)(struct list_call *self, struct weir_error *error);

static enum weir_status list_waitpoints(struct list_call *self, struct weir_error *error)
{
    return weir_execution_waitpoints(self->session.executions, &self->id, add_waitpoint,
                                     self, error);
}

static enum weir_status list_signals(struct list_call *self, struct weir_error *error)
{
    return weir_execution_signals(self->session.executions, &self->id, add_signal, self,
                                  error);
}

static int list(const struct weir_command *command, struct list_call *self, list_fn call,
                const char *what)
{
    struct weir_error error = {0};
    int code = weir_execution_session_open(&self->session, command,
                                           WEIR_EXECUTION_SESSION_SILENT, NULL);

    weir_buf_init(&self->json, weir_heap_system(), JSON_SIZE_MAX);
    if (code == WEIR_EXIT_DONE)
        code = call(self, &error) == WEIR_OK
                   ? print(self, what)
                   : weir_execution_session_fail(&self->session, &error);
    weir_buf_fini(&self->json);
    weir_table_fini(&self->table);
    weir_execution_session_close(&self->session);
    return code;
}

static int run_waitpoints(const struct weir_command *self, int argc, char **argv)
{
    struct list_call list_call = {.count = 0};
    int code = parse(self, argc, argv, &list_call.id);

    if (code >= 0)
        return code;
    weir_table_init(&list_call.table, weir_heap_system(), WAITPOINT_COLUMNS,
                    COUNT_OF(WAITPOINT_COLUMNS));
    return list(self, &list_call, list_waitpoints, "waitpoints");
}

static int run_signals(const struct weir_command *self, int argc, char **argv)
{
    struct list_call list_call = {.count = 0};
    int code = parse(self, argc, argv, &list_call.id);

    if (code >= 0)
        return code;
    weir_table_init(&list_call.table, weir_heap_system(), SIGNAL_COLUMNS,
                    COUNT_OF(SIGNAL_COLUMNS));
    return list(self, &list_call, list_signals, "signals");
}
