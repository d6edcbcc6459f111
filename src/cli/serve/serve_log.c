/*
 * serve_log.c - see serve_log.h.
 */
#include "cli/serve/serve_log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "db/clock.h"
#include "view/value.h"
#include "weir/heap.h"

enum { LINE_SIZE_MAX = 4096, CLOCK_AT = 11, CLOCK_SIZE = 8 };

static void append_plain(struct weir_buf *out, const char *time,
                         enum weir_log_level level, const char *line)
{
    weir_buf_append_format(out, "%.*s %-7s %s\n", CLOCK_SIZE, time + CLOCK_AT,
                           weir_log_level_name(level), line);
}

static void append_logfmt(struct weir_buf *out, const char *time,
                          enum weir_log_level level, const char *line)
{
    weir_buf_append_format(out, "ts=%s level=%s event=%s\n", time,
                           weir_log_level_name(level), line);
}

static void append_json(struct weir_buf *out, const char *time, enum weir_log_level level,
                        const char *line)
{
    size_t size = strcspn(line, " ");

    weir_output_open(out, NULL, "{");
    weir_output_add_text(out, "ts", time);
    weir_output_add_text(out, "level", weir_log_level_name(level));
    weir_output_open(out, "event", "");
    weir_json_append_str(out, (struct weir_str){line, size});
    weir_output_open(out, "facts", "");
    weir_json_append_str(out, weir_str(line[size] == ' ' ? line + size + 1 : ""));
    weir_buf_append_text(out, "}\n");
}

/* A line is written by one call, so lines of several threads do not mix. */
static void write_line(void *state, enum weir_log_level level, const char *line)
{
    const struct weir_serve_log *self = state;
    char time[WEIR_OUTPUT_TIME_SIZE];
    struct weir_buf out;

    weir_output_time(weir_clock_wall_us(), time);
    weir_buf_init(&out, weir_heap_system(), LINE_SIZE_MAX);
    if (self->form == WEIR_LOG_FORM_JSON)
        append_json(&out, time, level, line);
    else if (self->form == WEIR_LOG_FORM_LOGFMT)
        append_logfmt(&out, time, level, line);
    else
        append_plain(&out, time, level, line);
    fwrite(weir_buf_text(&out), 1, out.size, stderr);
    weir_buf_fini(&out);
}

void weir_serve_log_init(struct weir_serve_log *self,
                         const struct weir_config_server *config, struct weir_log *out)
{
    self->form = (enum weir_log_form)config->log_form;
    if (self->form == WEIR_LOG_FORM_AUTO)
        self->form = isatty(STDERR_FILENO) ? WEIR_LOG_FORM_PLAIN : WEIR_LOG_FORM_LOGFMT;
    *out = (struct weir_log){.write = write_line,
                             .state = self,
                             .minimum = (enum weir_log_level)config->log_level};
}
