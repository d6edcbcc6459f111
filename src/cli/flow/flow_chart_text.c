/*
 * flow_chart_text.c - see flow_chart_text.h.
 *
 * First it is drawn, which gives the order of the rows and so the numbers that reasons
 * name; then row by row is put behind the drawing.
 */
#include "cli/flow/flow_chart_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "base/text.h"
#include "weir/heap.h"

enum {
    NAME_WIDTH = 14, /* of what stands in front of the values of a flow */
    LABEL_WIDTH_MAX = 24,
    LABEL_WIDTH_MIN = 8,
    STATE_WIDTH = 16,
    GAP = 2,
    TEXT_SIZE_MAX = 1 << 20,
    LABEL_SIZE = WEIR_KIND_SIZE_MAX + 64,
};

struct sheet {
    struct weir_flow_chart *chart;
    const struct weir_chart_text_options *options;
    struct weir_draw_layers layers;
    struct weir_drawing drawing;
    bool lines;  /* there is room for them */
    size_t fold; /* as it was made in the end */
    size_t drawing_width;
    size_t number_width;
    size_t label_width;
    struct weir_buf *out;
};

/* ---- characters -------------------------------------------------------------------- */

static size_t count_characters(const char *text, size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static size_t width_of(const char *text)
{
    return count_characters(text, strlen(text));
}

static void append_blanks(struct weir_buf *out, size_t count)
{
    while (count-- > 0)
        weir_buf_append_text(out, " ");
}

/* As many characters as fit, with ".." for the others; control characters as '?'.
 * Returns how many these are. */
static size_t append_cut(struct weir_buf *out, const char *text, size_t size,
                         size_t width)
{
    bool cut = count_characters(text, size) > width;
    size_t limit = cut && width > 2 ? width - 2 : width;
    size_t count = 0;

    for (size_t i = 0; i < size; i++) {
        bool begins = ((unsigned char)text[i] & 0xc0) != 0x80;
        bool control = (unsigned char)text[i] < ' ' || text[i] == 0x7f;

        if (begins && count == limit)
            break;
        count += begins;
        weir_buf_append(out, control ? "?" : &text[i], 1);
    }
    if (cut && width > 2) {
        weir_buf_append_text(out, "..");
        count += 2;
    }
    return count;
}

/* ---- words ------------------------------------------------------------------------- */

/* Where lines of words go: the first is `at` characters long already, the others begin
 * with `prefix` and blanks, up to `indent`. */
struct margin {
    size_t at;
    const char *prefix;
    size_t indent;
    size_t width; /* 0: no limit */
    bool behind;  /* a word is there already, and the next needs a blank */
    size_t lines; /* that were begun */
};

static void begin_line(struct weir_buf *out, struct margin *margin)
{
    size_t prefix = width_of(margin->prefix);

    weir_buf_append_text(out, "\n");
    weir_buf_append_text(out, margin->prefix);
    if (prefix < margin->indent)
        append_blanks(out, margin->indent - prefix);
    margin->at = margin->indent;
    margin->behind = false;
    margin->lines++;
}

/* Words, as many as fit in a line; one that is too long for any is cut. */
static void append_words(struct weir_buf *out, const char *text, struct margin *margin)
{
    while (*text != '\0') {
        size_t size = strcspn(text, " ");
        size_t characters = count_characters(text, size);
        size_t room = margin->width > margin->indent ? margin->width - margin->indent : 1;

        if (margin->width > 0 && margin->at > margin->indent &&
            margin->at + margin->behind + characters > margin->width)
            begin_line(out, margin);
        if (margin->behind) {
            weir_buf_append_text(out, " ");
            margin->at++;
        }
        margin->at +=
            append_cut(out, text, size, margin->width > 0 ? room : SIZE_MAX / 2);
        margin->behind = true;
        text += size + strspn(text + size, " ");
    }
}

/* Broken where the line ends: half an id is none. */
static void append_broken(struct weir_buf *out, const char *text, struct margin *margin)
{
    size_t room = margin->width > margin->indent ? margin->width - margin->indent : 1;
    size_t left = strlen(text);

    room = margin->width > 0 ? room : left;
    for (; left > 0; text += room, left -= room) {
        room = left < room ? left : room;
        begin_line(out, margin);
        weir_buf_append(out, text, room);
    }
}

/* ---- the flow ---------------------------------------------------------------------- */

static void append_value(struct sheet *self, const char *name, enum weir_tone tone,
                         const char *value)
{
    struct weir_buf *out = self->out;
    struct margin margin = {
        .at = NAME_WIDTH, .prefix = "", .indent = 2, .width = self->options->width};

    if (strchr(value, ' ') != NULL)
        margin.indent = NAME_WIDTH;
    if (margin.width == 0 || strcspn(value, " ") + NAME_WIDTH <= margin.width)
        weir_buf_append_format(out, "%-*s", NAME_WIDTH, name);
    else
        weir_buf_append_text(out, name);
    weir_tone_begin(tone, self->options->tones, out);
    append_words(out, value, &margin);
    weir_tone_end(tone, self->options->tones, out);
    weir_buf_append_text(out, "\n");
}

static void append_time(struct sheet *self, const char *name, int64_t us)
{
    char text[WEIR_OUTPUT_TIME_SIZE];

    if (us != 0)
        append_value(self, name, WEIR_TONE_PLAIN, weir_output_time(us, text));
}

static void append_state(struct sheet *self, const struct weir_flow_info *info)
{
    char text[WEIR_FAILURE_SIZE_MAX + 64];
    bool reason = info->cancel_reason[0] != '\0';

    weir_text_format(text, sizeof text, "%s%s%s", weir_flow_state_name(info->state),
                     reason ? ": " : "", reason ? info->cancel_reason : "");
    append_value(self, "state", weir_flow_tone(info->state), text);
}

static void append_flow(struct sheet *self)
{
    const struct weir_flow_info *info = &self->chart->info;
    char text[WEIR_FLOW_ID_TEXT_SIZE];
    struct weir_buf members;

    weir_buf_init(&members, weir_heap_system(), TEXT_SIZE_MAX);
    weir_buf_append_format(&members, "%" PRIu32 "%s", info->members,
                           info->members > 0 ? ": " : "");
    weir_flow_append_states(&members, info);
    append_value(self, "flow", WEIR_TONE_PLAIN, weir_flow_id_format(&info->id, text));
    append_value(self, "kind", WEIR_TONE_PLAIN, info->kind);
    append_value(self, "namespace", WEIR_TONE_PLAIN, info->name_space);
    append_state(self, info);
    append_value(self, "members", WEIR_TONE_PLAIN, weir_buf_text(&members));
    weir_text_format(text, sizeof text, "%" PRId64, info->revision);
    append_value(self, "revision", WEIR_TONE_PLAIN, text);
    append_time(self, "created", info->created_us);
    append_time(self, "ended", info->ended_us);
    weir_buf_fini(&members);
}

/* ---- the drawing ------------------------------------------------------------------- */

static enum weir_draw_mark mark_of(enum weir_public_state state)
{
    switch (state) {
    case WEIR_STATE_ACTIVE:
        return WEIR_DRAW_ACTIVE;
    case WEIR_STATE_COMPLETED:
        return WEIR_DRAW_DONE;
    case WEIR_STATE_FAILED:
    case WEIR_STATE_CANCELLED:
    case WEIR_STATE_EXPIRED:
        return WEIR_DRAW_BAD;
    case WEIR_STATE_SKIPPED:
        return WEIR_DRAW_NEVER;
    default:
        return WEIR_DRAW_OPEN;
    }
}

/* A third of the width is for lines. */
static size_t columns_max(const struct sheet *self)
{
    size_t count = (self->options->width / 3 + 1) / 2;

    return self->options->width == 0 || count > WEIR_DRAW_COLUMNS_MAX
               ? WEIR_DRAW_COLUMNS_MAX
               : count;
}

static enum weir_status draw_folded(struct sheet *self, size_t fold)
{
    const struct weir_flow_chart *chart = self->chart;
    const struct weir_heap *heap = weir_heap_system();
    enum weir_draw_mark *marks = NULL;
    enum weir_status status;

    weir_draw_layers_fini(&self->layers);
    status = weir_draw_layers_make(&self->layers, chart->member_count, chart->edges,
                                   chart->edge_count, fold);
    if (status == WEIR_OK) {
        marks = weir_heap_zalloc_array(heap, self->layers.item_count + 1, sizeof *marks);
        status = marks != NULL ? WEIR_OK : WEIR_NO_MEMORY;
    }
    for (size_t i = 0; i < self->layers.item_count && status == WEIR_OK; i++)
        marks[i] = self->layers.items[i].count > 1
                       ? WEIR_DRAW_MANY
                       : mark_of(chart->members[self->layers.items[i].first].info.state);
    if (!self->lines)
        self->layers.edge_count = 0;
    if (status == WEIR_OK)
        status = weir_drawing_make(&self->drawing, &self->layers, marks,
                                   self->options->style, columns_max(self));
    weir_heap_free(heap, marks);
    self->fold = fold;
    return status;
}

/* Folded as far as it must be; without lines if that is not enough, or not wanted. */
static enum weir_status draw(struct sheet *self)
{
    size_t fold = self->options->fold;
    enum weir_status status;

    self->lines = true;
    status = draw_folded(self, fold);
    while (status == WEIR_OUT_OF_RANGE && fold > 1) {
        fold /= 2;
        status = draw_folded(self, fold);
    }
    if (status == WEIR_OUT_OF_RANGE) {
        self->lines = false;
        status = draw_folded(self, self->options->fold);
    }
    self->drawing_width = weir_drawing_width(&self->drawing);
    return status;
}

/* Those of an item, in the order of the members. */
static bool is_of(const struct sheet *self, size_t member, uint32_t item)
{
    return self->layers.item_of[member] == item;
}

static void number_members(struct sheet *self)
{
    struct weir_flow_chart *chart = self->chart;
    uint32_t number = 0;
    char text[16];

    for (size_t i = 0; i < weir_drawing_count(&self->drawing); i++) {
        const struct weir_draw_line *line = weir_drawing_line(&self->drawing, i);
        const struct weir_draw_item *item = &self->layers.items[line->item];
        uint32_t left = item->count;

        if (line->what != WEIR_DRAW_ITEM)
            continue;
        for (size_t member = item->first; left > 0; member++) {
            if (!is_of(self, member, line->item))
                continue;
            chart->members[member].number = ++number;
            left--;
        }
    }
    self->number_width = weir_text_format(text, sizeof text, "%" PRIu32, number);
}

/* ---- rows -------------------------------------------------------------------------- */

/* "resize", or "left (resize)" of one with a name of its own. */
static void spell_one(const struct weir_chart_member *member, char *out)
{
    const char *label = weir_chart_member_label(member);
    bool same = strcmp(label, member->info.kind) == 0;

    weir_text_format(out, LABEL_SIZE, "%s%s%s%s", label, same ? "" : " (",
                     same ? "" : member->info.kind, same ? "" : ")");
}

/* "7 resize", or "98 x resize" of several; "98 members" when they are not of one kind. */
static void spell_label(const struct sheet *self, uint32_t item, char *out)
{
    const struct weir_draw_item *one = &self->layers.items[item];
    const struct weir_chart_member *members = self->chart->members;
    const char *kind = members[one->first].info.kind;
    uint32_t left = one->count;
    bool same = true;

    if (one->count == 1) {
        spell_one(&members[one->first], out);
        return;
    }
    for (size_t i = one->first; left > 0 && same; i++) {
        if (!is_of(self, i, item))
            continue;
        same = strcmp(members[i].info.kind, kind) == 0;
        left--;
    }
    weir_text_format(out, LABEL_SIZE, "%" PRIu32 " %s%s", one->count,
                     same ? "x " : "members", same ? kind : "");
}

static void measure_labels(struct sheet *self)
{
    size_t used = self->drawing_width + GAP + self->number_width + 1 + GAP + STATE_WIDTH;
    size_t width = self->options->width;
    size_t most = width == 0                       ? SIZE_MAX / 2
                  : width > used + LABEL_WIDTH_MIN ? width - used
                                                   : LABEL_WIDTH_MIN;

    most = width > 0 && most > LABEL_WIDTH_MAX ? LABEL_WIDTH_MAX : most;
    for (size_t i = 0; i < self->layers.item_count; i++) {
        char label[LABEL_SIZE];
        size_t size;

        spell_label(self, (uint32_t)i, label);
        size = width_of(label);
        if (size > self->label_width)
            self->label_width = size < most ? size : most;
    }
}

/* How many are in which state, and why the first of them waits. */
static void spell_many(const struct sheet *self, uint32_t item, struct weir_buf *states,
                       char *why)
{
    const struct weir_draw_item *one = &self->layers.items[item];
    struct weir_flow_info counts = {.members = one->count};
    uint32_t left = one->count;
    char reason[WEIR_EXECUTION_WHY_SIZE];

    why[0] = '\0';
    for (size_t i = one->first; left > 0; i++) {
        const struct weir_execution_info *info = &self->chart->members[i].info;

        if (!is_of(self, i, item))
            continue;
        left--;
        counts.in_state[info->state]++;
        if (why[0] == '\0' && info->ended_us == 0 && info->state != WEIR_STATE_ACTIVE)
            weir_text_format(why, WEIR_EXECUTION_WHY_SIZE, "%" PRIu32 " is %s: %s",
                             self->chart->members[i].number,
                             weir_public_state_name(info->state),
                             weir_flow_chart_why(self->chart, i, reason));
    }
    weir_flow_append_states(states, &counts);
}

/* "*    1 reserve  " */
static size_t append_label(struct sheet *self, const struct weir_draw_line *line,
                           const char *label)
{
    const char *drawn = weir_drawing_text(&self->drawing, line->offset);
    const struct weir_draw_item *item = &self->layers.items[line->item];
    size_t width = width_of(drawn);
    size_t size;

    weir_buf_append_text(self->out, drawn);
    append_blanks(self->out, self->drawing_width - width + GAP);
    weir_buf_append_format(self->out, "%*" PRIu32 " ", (int)self->number_width,
                           self->chart->members[item->first].number);
    size = append_cut(self->out, label, strlen(label), self->label_width);
    append_blanks(self->out, self->label_width - size + GAP);
    return self->drawing_width + GAP + self->number_width + 1 + self->label_width + GAP;
}

/* Whether it took more than one line. */
static bool append_row(struct sheet *self, const struct weir_draw_line *line)
{
    const struct weir_draw_item *item = &self->layers.items[line->item];
    const struct weir_execution_info *info = &self->chart->members[item->first].info;
    enum weir_tone tone =
        item->count > 1 ? WEIR_TONE_PLAIN : weir_execution_state_tone(info->state);
    struct margin margin = {.prefix = weir_drawing_text(&self->drawing, line->below),
                            .indent = self->drawing_width + GAP + self->number_width + 1,
                            .width = self->options->width};
    char label[LABEL_SIZE];
    char why[WEIR_EXECUTION_WHY_SIZE];
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_buf state;

    weir_buf_init(&state, weir_heap_system(), TEXT_SIZE_MAX);
    spell_label(self, line->item, label);
    if (item->count > 1)
        spell_many(self, line->item, &state, why);
    else
        weir_flow_chart_why(self->chart, item->first, why);
    if (item->count == 1)
        weir_buf_append_text(&state, weir_public_state_name(info->state));
    weir_buf_append_text(&state, why[0] != '\0' ? ":" : "");
    margin.at = append_label(self, line, label);
    weir_tone_begin(tone, self->options->tones, self->out);
    append_words(self->out, weir_buf_text(&state), &margin);
    weir_tone_end(tone, self->options->tones, self->out);
    weir_buf_fini(&state);
    append_words(self->out, why, &margin);
    if (self->options->ids && item->count == 1)
        append_broken(self->out, weir_execution_id_format(&info->id, id), &margin);
    weir_buf_append_text(self->out, "\n");
    return margin.lines > 0;
}

static void append_rows(struct sheet *self)
{
    bool continued = false; /* there is a gap already */

    for (size_t i = 0; i < weir_drawing_count(&self->drawing); i++) {
        const struct weir_draw_line *line = weir_drawing_line(&self->drawing, i);

        if (line->what == WEIR_DRAW_ITEM) {
            continued = append_row(self, line);
            continue;
        }
        if (line->what == WEIR_DRAW_GAP && continued)
            continue;
        weir_buf_append_text(self->out, weir_drawing_text(&self->drawing, line->offset));
        weir_buf_append_text(self->out, "\n");
    }
}

/* ---- all --------------------------------------------------------------------------- */

static void append_hints(struct sheet *self)
{
    struct margin margin = {.prefix = "", .width = self->options->width};
    bool folded = self->layers.item_count < self->chart->member_count;

    if (!folded && self->lines)
        return;
    weir_buf_append_text(self->out, "\n");
    if (folded)
        append_words(self->out, "--fold 0 shows all members, --json has them all",
                     &margin);
    if (folded && !self->lines)
        begin_line(self->out, &margin);
    if (!self->lines)
        append_words(self->out, "there is no room for lines between the members",
                     &margin);
    weir_buf_append_text(self->out, "\n");
}

static void append_members(struct sheet *self)
{
    weir_buf_append_text(self->out, "\n");
    if (self->chart->member_count == 0) {
        weir_buf_append_text(self->out, "no members; add them with 'weir flow add'\n");
        return;
    }
    number_members(self);
    measure_labels(self);
    append_rows(self);
    append_hints(self);
}

enum weir_status
weir_flow_chart_append_text(struct weir_flow_chart *chart,
                            const struct weir_chart_text_options *options,
                            struct weir_buf *out)
{
    struct sheet sheet = {.chart = chart, .options = options, .out = out};
    enum weir_status status;

    weir_drawing_init(&sheet.drawing);
    status = draw(&sheet);
    if (status == WEIR_OK) {
        append_flow(&sheet);
        append_members(&sheet);
        status = weir_buf_status(out);
    }
    weir_drawing_fini(&sheet.drawing);
    weir_draw_layers_fini(&sheet.layers);
    return status;
}
