/*
 * metrics_text.c - see metrics_text.h.
 */
#include "server/api/metrics_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LINES_MAX = 4 << 20 };
#define WHOLE_MAX 9007199254740992.0 /* 2^53: whole up to here */

void weir_metrics_text_init(struct weir_metrics_text *self, const struct weir_heap *heap)
{
    self->heap = heap;
    self->family_count = 0;
    self->now = NULL;
    self->labels = NULL;
    self->label_count = 0;
    self->limited = 0;
    self->failure = WEIR_OK;
}

void weir_metrics_text_fini(struct weir_metrics_text *self)
{
    for (size_t i = 0; i < self->family_count; i++)
        weir_buf_fini(&self->families[i].lines);
    self->family_count = 0;
}

void weir_metrics_text_family(struct weir_metrics_text *self, const char *name,
                              const char *help, enum weir_family_kind kind)
{
    for (size_t i = 0; i < self->family_count; i++) {
        self->now = &self->families[i];
        if (strcmp(self->now->name, name) == 0)
            return;
    }
    self->now = NULL;
    if (self->family_count == WEIR_METRICS_FAMILIES_MAX) {
        self->failure = WEIR_INVALID;
        return;
    }
    self->now = &self->families[self->family_count++];
    *self->now = (struct weir_metrics_family){.name = name, .help = help, .kind = kind};
    weir_buf_init(&self->now->lines, self->heap, LINES_MAX);
}

/* ---- samples ----------------------------------------------------------------------- */

/* In quotes, with the three escapes that both formats have. */
static void append_quoted(struct weir_buf *out, const char *text)
{
    weir_buf_append_text(out, "\"");
    while (*text != '\0') {
        size_t plain = strcspn(text, "\\\"\n");

        weir_buf_append(out, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        weir_buf_append_text(out, *text == '\n' ? "\\n" : *text == '"' ? "\\\"" : "\\\\");
        text++;
    }
    weir_buf_append_text(out, "\"");
}

static void append_labels(struct weir_buf *out, const struct weir_metric_label *labels,
                          size_t count, const char **before)
{
    for (size_t i = 0; i < count; i++) {
        weir_buf_append_format(out, "%s%s=", *before, labels[i].name);
        append_quoted(out, labels[i].value);
        *before = ",";
    }
}

static void append_value(struct weir_buf *out, double value)
{
    if (isinf(value))
        weir_buf_append_text(out, value > 0 ? " +Inf\n" : " -Inf\n");
    else if (isnan(value))
        weir_buf_append_text(out, " NaN\n");
    else if (value == floor(value) && fabs(value) <= WHOLE_MAX)
        weir_buf_append_format(out, " %" PRId64 "\n", (int64_t)value);
    else
        weir_buf_append_format(out, " %.9g\n", value);
}

static void add(struct weir_metrics_text *self, const char *suffix,
                const struct weir_metric_label *first, size_t first_count,
                const struct weir_metric_label *second, size_t second_count, double value)
{
    struct weir_metrics_family *family = self->now;
    const char *before = "{";

    if (family == NULL)
        return;
    if (family->count == WEIR_METRICS_SERIES_MAX) {
        self->limited++;
        return;
    }
    family->count++;
    weir_buf_append_format(&family->lines, "%s%s", family->name, suffix);
    append_labels(&family->lines, first, first_count, &before);
    append_labels(&family->lines, second, second_count, &before);
    if (*before == ',')
        weir_buf_append_text(&family->lines, "}");
    append_value(&family->lines, value);
}

void weir_metrics_text_add(struct weir_metrics_text *self, const char *suffix,
                           const struct weir_metric_label *labels, size_t count,
                           double value)
{
    add(self, suffix, labels, count, NULL, 0, value);
}

void weir_metrics_text_set_labels(struct weir_metrics_text *self,
                                  const struct weir_metric_label *labels, size_t count)
{
    self->labels = labels;
    self->label_count = count;
}

void weir_metrics_text_visit(void *state, const struct weir_metric *metric)
{
    struct weir_metrics_text *self = state;

    if (self->now == NULL || strcmp(self->now->name, metric->name) != 0)
        weir_metrics_text_family(self, metric->name, metric->help,
                                 metric->kind == WEIR_METRIC_COUNTER ? WEIR_FAMILY_COUNTER
                                                                     : WEIR_FAMILY_GAUGE);
    add(self, "", self->labels, self->label_count, metric->labels, metric->label_count,
        metric->value);
}

/* ---- the text ---------------------------------------------------------------------- */

static const char *const KINDS[] = {
    [WEIR_FAMILY_COUNTER] = "counter",
    [WEIR_FAMILY_GAUGE] = "gauge",
    [WEIR_FAMILY_HISTOGRAM] = "histogram",
};

/* OpenMetrics names the family of a counter without its suffix. */
static size_t name_size(const struct weir_metrics_family *family,
                        enum weir_metrics_format format)
{
    size_t size = strlen(family->name);
    size_t suffix = strlen("_total");

    if (format == WEIR_METRICS_OPEN && family->kind == WEIR_FAMILY_COUNTER &&
        size > suffix && strcmp(family->name + size - suffix, "_total") == 0)
        size -= suffix;
    return size;
}

void weir_metrics_text_append(const struct weir_metrics_text *self,
                              enum weir_metrics_format format, struct weir_buf *out)
{
    for (size_t i = 0; i < self->family_count; i++) {
        const struct weir_metrics_family *family = &self->families[i];
        int size = (int)name_size(family, format);
        struct weir_str lines = weir_buf_get(&family->lines);

        if (weir_buf_status(&family->lines) != WEIR_OK)
            weir_buf_fail(out, weir_buf_status(&family->lines));
        weir_buf_append_format(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", size,
                               family->name, family->help, size, family->name,
                               KINDS[family->kind]);
        weir_buf_append(out, lines.data, lines.size);
    }
    if (format == WEIR_METRICS_OPEN)
        weir_buf_append_text(out, "# EOF\n");
    if (self->failure != WEIR_OK)
        weir_buf_fail(out, self->failure);
}

const char *weir_metrics_text_type(enum weir_metrics_format format)
{
    return format == WEIR_METRICS_OPEN
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}
