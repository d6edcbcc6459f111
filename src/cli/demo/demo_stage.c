/*
 * demo_stage.c - see demo_stage.h.
 */
#include "cli/demo/demo_stage.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "weir/heap.h"

enum { TEXT_SIZE_MAX = 1 << 20, VERDICT_SIZE_MAX = 16 << 10, LINE_SIZE = 400 };

/* ---- text -------------------------------------------------------------------------- */

void weir_demo_text_init(struct weir_demo_text *self, const struct weir_heap *heap)
{
    *self = (struct weir_demo_text){.width = 0};
    weir_buf_init(&self->text, heap, TEXT_SIZE_MAX);
}

void weir_demo_text_fini(struct weir_demo_text *self)
{
    weir_buf_fini(&self->text);
}

void weir_demo_text_append_line(struct weir_demo_text *self, enum weir_tone tone,
                                const char *format, ...)
{
    size_t room = self->width + 1;
    char line[LINE_SIZE];
    va_list arguments;

    if (self->width == 0 || room > sizeof line)
        room = sizeof line;
    va_start(arguments, format);
    weir_text_format_list(line, room, format, arguments);
    va_end(arguments);

    weir_tone_begin(tone, self->tones, &self->text);
    weir_buf_append_text(&self->text, line);
    weir_tone_end(tone, self->tones, &self->text);
    weir_buf_append_text(&self->text, "\n");
}

/* ---- frames ------------------------------------------------------------------------ */

void weir_demo_stage_begin_frame(struct weir_demo_stage *self)
{
    self->out.tones = self->console.tones;
    self->out.width = self->console.width;
    weir_buf_reset(&self->out.text);
}

void weir_demo_stage_draw(struct weir_demo_stage *self)
{
    weir_console_draw(&self->console, weir_buf_get(&self->out.text));
}

void weir_demo_stage_end_at_once(struct weir_demo_stage *self)
{
    weir_demo_site_remove_folder(&self->site);
    weir_console_close(&self->console);
    raise(SIGINT);
}

/* ---- the end ----------------------------------------------------------------------- */

static void show_summary(struct weir_demo_stage *self)
{
    struct weir_buf verdict;

    weir_buf_init(&verdict, weir_heap_system(), VERDICT_SIZE_MAX);
    self->append_verdict(self->state, &verdict);
    weir_demo_stage_begin_frame(self);
    self->out.width = 0; /* these lines are not drawn over, and may wrap */
    if (self->json)
        self->append_json(self->state, &self->out.text, &verdict);
    else
        self->append_text(self->state, &verdict);
    weir_console_write(&self->console, weir_buf_get(&self->out.text));
    weir_buf_fini(&verdict);
}

/*
 * What became of the output decides as well: a verdict that could not be printed is none.
 */
static int conclude(struct weir_demo_stage *self)
{
    int failed = self->console.write_errno;

    if (failed != 0 && failed != EPIPE)
        return weir_command_fail(self->command, "cannot write to standard output: %s",
                                 strerror(failed));
    return failed == 0 && self->good ? WEIR_EXIT_DONE : WEIR_EXIT_FAILED;
}

int weir_demo_stage_run(struct weir_demo_stage *self)
{
    struct weir_error error = {0};
    enum weir_status status =
        weir_console_open(&self->console,
                          self->form == WEIR_DEMO_SILENT ? WEIR_CONSOLE_PLAIN
                                                         : WEIR_CONSOLE_LIVE_IF_TERMINAL,
                          &error);
    int code;

    if (status != WEIR_OK)
        return weir_command_fail(self->command, "%s", error.text);
    if (self->form == WEIR_DEMO_LIVE && !self->console.live)
        self->form = WEIR_DEMO_PLAIN;
    weir_demo_text_init(&self->out, weir_heap_system());
    status = self->perform(self->state, &error);
    weir_console_release(&self->console);
    if (status == WEIR_OK) {
        show_summary(self);
        code = conclude(self);
    } else {
        code = weir_session_fail(&self->site.session, &error, NULL);
    }
    weir_demo_text_fini(&self->out);
    weir_console_close(&self->console);
    return code;
}
