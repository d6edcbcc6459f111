/*
 * wait.c - see execution/wait.h.
 */
#include "cli/execution/wait.h"

#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "cli/execution/execution_view.h"
#include "execution/id.h"
#include "weir/heap.h"

static const struct weir_table_column COLUMNS[] = {
    {.title = "waitpoint"},
    {.title = "id"},
    {.title = "token"},
};

int weir_execution_take_waitpoint(const struct weir_command *command, char *word,
                                  struct weir_waitpoint *out)
{
    char *equals = strchr(word, '=');

    *out = (struct weir_waitpoint){.key = word};
    if (equals == NULL)
        return WEIR_EXIT_DONE;
    *equals = '\0';
    if (weir_uuid_parse(equals + 1, out->uuid))
        return WEIR_EXIT_DONE;
    return weir_command_misuse(command,
                               "--waitpoint '%s' has '%s' behind it, must be the id of a "
                               "waitpoint, as 'weir execution waitpoint' prints it",
                               word, equals + 1);
}

/* ---- waitpoints -------------------------------------------------------------------- */

static void print_words(const struct weir_waitpoint *waitpoint)
{
    char uuid[WEIR_UUID_TEXT_SIZE];

    printf("%s %s %s\n", waitpoint->key, weir_uuid_format(waitpoint->uuid, uuid),
           waitpoint->token);
}

static void add_row(struct weir_table *table, const struct weir_waitpoint *waitpoint)
{
    char uuid[WEIR_UUID_TEXT_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%s", waitpoint->key);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", weir_uuid_format(waitpoint->uuid, uuid));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", waitpoint->token);
}

int weir_execution_print_waitpoints(const struct weir_session *session,
                                    const struct weir_waitpoint *waitpoints, size_t count)
{
    struct weir_table table;
    size_t shown = 0;
    int code = WEIR_EXIT_DONE;

    weir_table_init(&table, weir_heap_system(), COLUMNS, COUNT_OF(COLUMNS));
    for (size_t i = 0; i < count; i++) {
        if (waitpoints[i].token[0] == '\0')
            continue;
        shown++;
        if (session->shared.quiet)
            print_words(&waitpoints[i]);
        else
            add_row(&table, &waitpoints[i]);
    }
    if (shown > 0 && !session->shared.quiet)
        code = weir_output_table(session->command, &table);
    weir_table_fini(&table);
    return code;
}

void weir_execution_append_waitpoints(struct weir_buf *json,
                                      const struct weir_waitpoint *waitpoints,
                                      size_t count)
{
    char uuid[WEIR_UUID_TEXT_SIZE];

    weir_output_open(json, "waitpoints", "[");
    for (size_t i = 0; i < count; i++) {
        if (waitpoints[i].token[0] == '\0')
            continue;
        weir_output_open(json, NULL, "{");
        weir_output_add_text(json, "key", waitpoints[i].key);
        weir_output_add_text(json, "id", weir_uuid_format(waitpoints[i].uuid, uuid));
        weir_output_add_text(json, "token", waitpoints[i].token);
        weir_buf_append_text(json, "}");
    }
    weir_buf_append_text(json, "]");
}

int weir_execution_wait_fail(const struct weir_execution_session *session,
                             const struct weir_claim *claim,
                             const struct weir_execution_status *current,
                             const struct weir_error *error)
{
    const struct weir_command *command = session->session.command;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    char words[WEIR_EXECUTION_STATUS_SIZE];

    weir_execution_id_format(&claim->id, id);
    switch (error->status) {
    case WEIR_FENCED:
        return weir_command_fail(
            command, "%s: the claim has been lost; %s", id,
            weir_execution_spell_status(current, session->now_us, words));
    case WEIR_EXISTS:
        return weir_command_fail(command,
                                 "%s: %s; one made before is named with its id, as "
                                 "KEY=UUID: see 'weir execution waitpoints %s'",
                                 id, error->text, id);
    case WEIR_NOT_FOUND:
    case WEIR_FULL:
        return weir_command_fail(command, "%s: %s", id, error->text);
    default:
        return weir_execution_session_fail(session, error);
    }
}

/* ---- what is waited for ------------------------------------------------------------ */

/* What becomes of it when it takes too long. */
static const char *spell_end(enum weir_on_timeout on_timeout)
{
    static const char *const WORDS[WEIR_ON_TIMEOUT_COUNT] = {
        [WEIR_TIMEOUT_FAIL] = "then it fails",
        [WEIR_TIMEOUT_CANCEL] = "then it is cancelled",
        [WEIR_TIMEOUT_EXPIRE] = "then it expires",
        [WEIR_TIMEOUT_RESUME] = "then it goes on, with a signal 'timeout'",
        [WEIR_TIMEOUT_ESCALATE] = "then an operator is to look at it",
    };

    return WORDS[on_timeout];
}

void weir_execution_append_suspension(struct weir_buf *text,
                                      const struct weir_suspension_info *info)
{
    char time[WEIR_OUTPUT_TIME_SIZE];

    weir_output_line(text, "waits for", info->missing);
    weir_output_line(text, "until", info->until);
    weir_output_time_line(text, "since", info->since_us);
    if (info->escalated)
        weir_buf_append_format(
            text, "%-13s %s: it took too long, an operator is to look at it\n",
            "escalated", weir_output_time(info->timeout_us, time));
    else if (info->timeout_us != 0)
        weir_buf_append_format(text, "%-13s %s, %s\n", "timeout",
                               weir_output_time(info->timeout_us, time),
                               spell_end(info->on_timeout));
}

void weir_execution_append_suspension_json(struct weir_buf *json,
                                           const struct weir_suspension_info *info)
{
    weir_output_open(json, "suspension", "{");
    weir_output_add_text(json, "until", info->until);
    weir_output_add_text(json, "missing", info->missing);
    weir_output_add_text(json, "reason", weir_suspend_reason_name(info->reason));
    weir_output_add_time(json, "since", info->since_us);
    weir_output_add_time(json, "timeout_at", info->timeout_us);
    weir_output_add_text(json, "on_timeout", weir_on_timeout_name(info->on_timeout));
    weir_output_add_flag(json, "escalated", info->escalated);
    weir_output_open(json, "parts", "[");
    for (size_t i = 0; i < info->part_count; i++) {
        weir_output_open(json, NULL, "{");
        weir_output_add_text(json, "text", info->parts[i].text);
        weir_output_add_number(json, "wanted", info->parts[i].wanted);
        weir_output_add_number(json, "found", info->parts[i].found);
        weir_buf_append_text(json, "}");
    }
    weir_buf_append_text(json, "]}");
}
