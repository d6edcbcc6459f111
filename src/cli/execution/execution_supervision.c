/*
 * execution_supervision.c - see execution_supervision.h.
 *
 * A reconciler fails from a tick that failed until its next clean cycle, which may be a
 * minute away. Most of what can fail is the database, for all of them at once, so there
 * is one trouble and the first that has it tells.
 */
#include "cli/execution/execution_supervision.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/execution/execution_words.h"
#include "db/clock.h"
#include "view/execution_info_records.h"
#include "weir/worker.h"

enum { NAME_SIZE = 64 };
void weir_execution_supervision_init(struct weir_execution_supervision *self,
                                     const struct weir_command *command)
{
    *self = (struct weir_execution_supervision){.command = command};
    weir_execution_supervisor_options_init(&self->options);
}

/* ---- options ----------------------------------------------------------------------- */

int weir_execution_supervision_parse_interval(const struct weir_command *command,
                                              const struct weir_command_option *row,
                                              char *value, void *out)
{
    struct weir_execution_supervision *self = out;
    const char *names[WEIR_RECONCILER_COUNT];
    const char *nearest;
    char option[NAME_SIZE];
    int64_t ns = 0;
    int code, at = 0;
    char *equals = strchr(value, '=');

    (void)row;
    if (equals == NULL)
        return weir_command_misuse(
            command, "--interval is '%s', must be NAME=D, as in lease_expiry=500ms",
            value);
    *equals = '\0';
    weir_text_format(option, sizeof option, "interval %s", value);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        names[i] = weir_reconciler_name((enum weir_reconciler)i);
    while (at < WEIR_RECONCILER_COUNT && strcmp(names[at], value) != 0)
        at++;
    if (at < WEIR_RECONCILER_COUNT) {
        code = weir_command_duration(command, option, equals + 1, WEIR_MILLISECONDS(100),
                                     WEIR_DURATION_MAX, &ns);
        self->options.interval_ms[at] = ns / WEIR_MILLISECONDS(1);
        return code;
    }
    nearest = weir_nearest_find(value, names, WEIR_RECONCILER_COUNT);
    return weir_command_misuse(command, "there is no reconciler '%s'%s%s%s", value,
                               nearest != NULL ? ", did you mean '" : "",
                               nearest != NULL ? nearest : "",
                               nearest != NULL ? "'?" : "");
}

/* ---- life -------------------------------------------------------------------------- */

enum weir_status weir_execution_supervision_start(struct weir_execution_supervision *self,
                                                  struct weir_executions *executions,
                                                  struct weir_error *error)
{
    enum weir_status status;

    self->options.executions = executions;
    status = weir_execution_supervisor_create(&self->options, &self->supervisor, error);
    if (status == WEIR_OK)
        status = weir_execution_supervisor_start(self->supervisor, error);
    return status;
}

static void look(struct weir_execution_supervision *self)
{
    size_t count = weir_execution_supervisor_read(self->supervisor, self->infos,
                                                  WEIR_RECONCILER_COUNT);

    self->count = count < WEIR_RECONCILER_COUNT ? count : WEIR_RECONCILER_COUNT;
}

size_t weir_execution_supervision_stop(struct weir_execution_supervision *self,
                                       int64_t grace_ns)
{
    size_t unfinished;

    if (self->supervisor == NULL)
        return 0;
    unfinished = weir_execution_supervisor_stop(self->supervisor, grace_ns);
    look(self);
    return unfinished;
}

void weir_execution_supervision_close(struct weir_execution_supervision *self)
{
    weir_execution_supervisor_destroy(self->supervisor);
    self->supervisor = NULL;
}

/* ---- trouble ----------------------------------------------------------------------- */

static bool is_failing(struct weir_executions_supervised *seen,
                       const struct weir_scan_info *info)
{
    if (info->ticks_failed > seen->ticks_failed) {
        seen->failing = true;
        seen->ticks_failed = info->ticks_failed;
        seen->clean_ns = info->clean_ns;
    } else if (info->clean_ns > seen->clean_ns) {
        seen->failing = false;
    }
    return seen->failing;
}

void weir_execution_supervision_watch(struct weir_execution_supervision *self)
{
    char text[WEIR_ERROR_TEXT_SIZE] = "";

    if (self->supervisor == NULL)
        return;
    look(self);
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_scan_info *info = &self->infos[i];
        bool failing = is_failing(&self->seen[i], info);

        if (text[0] != '\0')
            continue;
        if (failing)
            weir_text_format(text, sizeof text, "%s: %s; trying again", info->name,
                             info->last_error);
        else if (info->failing_items > 0)
            weir_text_format(text, sizeof text,
                             "%s: executions that fail again and again: %zu", info->name,
                             info->failing_items);
    }
    switch (weir_trouble_note(&self->trouble, text[0] != '\0' ? text : NULL,
                              weir_clock_now_ns())) {
    case WEIR_TROUBLE_BEGINS:
        weir_command_note(self->command, "%s", text);
        break;
    case WEIR_TROUBLE_ENDS:
        weir_command_note(self->command, "all reconcilers work again");
        break;
    case WEIR_TROUBLE_NO_NEWS:
        break;
    }
}

/* ---- report ------------------------------------------------------------------------ */

int weir_execution_supervision_print(const struct weir_execution_supervision *self)
{
    struct weir_record_list rows;
    int code;

    weir_record_list_init(&rows, &weir_reconciler_record, WEIR_FORM_TABLE, 0);
    for (size_t i = 0; i < self->count; i++)
        weir_record_list_add(&rows, &self->infos[i]);
    code = weir_output_table(self->command, &rows.table);
    weir_record_list_fini(&rows);
    return code;
}
