/*
 * progress.c - see progress.h.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/output.h"
#include "db/clock.h"
#include "weir/time.h"

#define PERIOD WEIR_MILLISECONDS(200)
#define FIRST WEIR_MILLISECONDS(300) /* what is done sooner needs no progress */
#define CLEAR_LINE "\r\033[K"

static bool terminal_can_draw(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDERR_FILENO) && kind != NULL && kind[0] != '\0' &&
           strcmp(kind, "dumb") != 0;
}

void weir_progress_begin(struct weir_progress *self, struct weir_noun what, int64_t whole,
                         enum weir_progress_use use)
{
    int64_t now_ns = weir_clock_now_ns();

    *self = (struct weir_progress){
        .shown = use == WEIR_PROGRESS_ON_TERMINAL && terminal_can_draw(),
        .what = what,
        .begin_ns = now_ns,
        .next_ns = now_ns + FIRST,
        .last_ns = now_ns,
        .whole = whole,
    };
}

int64_t weir_progress_elapsed_ns(const struct weir_progress *self)
{
    return weir_clock_now_ns() - self->begin_ns;
}

static void draw(struct weir_progress *self, int64_t done, int64_t part, int64_t now_ns)
{
    double since_s = (double)(now_ns - self->last_ns) / 1e9;
    double elapsed_s = (double)(now_ns - self->begin_ns) / 1e9;
    double rate = since_s > 0 ? (double)(done - self->last_done) / since_s : 0;
    char left[64] = "", number[WEIR_COUNT_SIZE], per_second[WEIR_COUNT_SIZE];

    self->rate = self->rate > 0 ? 0.7 * self->rate + 0.3 * rate : rate;
    self->last_ns = now_ns;
    self->last_done = done;
    if (self->whole > 0 && part > 0 && part <= self->whole)
        weir_text_format(
            left, sizeof left, ", %d %%, %d s left",
            (int)(100.0 * (double)part / (double)self->whole),
            (int)(elapsed_s * (double)(self->whole - part) / (double)part + 0.5));
    fprintf(stderr, CLEAR_LINE "%s %s, %s/s%s", weir_output_grouped(done, number),
            WEIR_NOUN(done, self->what.one, self->what.many),
            weir_output_grouped((int64_t)self->rate, per_second), left);
    fflush(stderr);
    self->drawn = true;
}

void weir_progress_note(struct weir_progress *self, int64_t done, int64_t part)
{
    int64_t now_ns;

    if (!self->shown)
        return;
    now_ns = weir_clock_now_ns();
    if (now_ns < self->next_ns)
        return;
    self->next_ns = now_ns + PERIOD;
    draw(self, done, part, now_ns);
}

void weir_progress_end(struct weir_progress *self)
{
    if (self->drawn)
        fputs(CLEAR_LINE, stderr);
    self->drawn = false;
}
