/*
 * trouble.c - see trouble.h.
 */
#include "cli/trouble.h"

#include <string.h>

#include "base/text.h"
#include "weir/time.h"

#define QUIET WEIR_SECONDS(5)

static enum weir_trouble_news note_end(struct weir_trouble *self, int64_t now_ns)
{
    if (!self->told || now_ns - self->seen_ns < QUIET)
        return WEIR_TROUBLE_NO_NEWS;
    self->told = false;
    return WEIR_TROUBLE_ENDS;
}

enum weir_trouble_news weir_trouble_note(struct weir_trouble *self, const char *text,
                                         int64_t now_ns)
{
    if (text == NULL)
        return note_end(self, now_ns);
    self->seen_ns = now_ns;
    if (self->told && (strcmp(self->text, text) == 0 || now_ns - self->told_ns < QUIET))
        return WEIR_TROUBLE_NO_NEWS;
    self->told = true;
    self->told_ns = now_ns;
    weir_text_format(self->text, sizeof self->text, "%s", text);
    return WEIR_TROUBLE_BEGINS;
}
