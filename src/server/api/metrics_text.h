/*
 * metrics_text.h - figures as Prometheus and OpenMetrics have them.
 *
 * Samples of one name must follow each other in the text, but come from several
 * outboxes, so they are collected by name first and printed at the end.
 *
 *   weir_metrics_text_family(&text, "weir_db_up", "...", WEIR_FAMILY_GAUGE);
 *   weir_metrics_text_add(&text, "", labels, 1, 1.0);
 *   weir_metrics_text_append(&text, WEIR_METRICS_PROMETHEUS, &body);
 *
 * Bounds   At most WEIR_METRICS_SERIES_MAX samples of a name; the others are counted.
 * Threads  The owner's.
 * Failure  Adding never fails at the spot: append() tells, by the status of its buffer.
 */
#ifndef WEIR_SERVER_API_METRICS_TEXT_H
#define WEIR_SERVER_API_METRICS_TEXT_H

#include "base/buf.h"
#include "weir/metrics.h"

enum { WEIR_METRICS_FAMILIES_MAX = 128, WEIR_METRICS_SERIES_MAX = 4000 };

enum weir_metrics_format {
    WEIR_METRICS_PROMETHEUS, /* text 0.0.4 */
    WEIR_METRICS_OPEN        /* OpenMetrics 1.0 */
};

enum weir_family_kind { WEIR_FAMILY_COUNTER, WEIR_FAMILY_GAUGE, WEIR_FAMILY_HISTOGRAM };

struct weir_metrics_family {
    const char *name; /* with _total, of a counter */
    const char *help;
    enum weir_family_kind kind;
    size_t count;
    struct weir_buf lines;
};

struct weir_metrics_text {
    const struct weir_heap *heap; /* borrowed */
    struct weir_metrics_family families[WEIR_METRICS_FAMILIES_MAX];
    size_t family_count;
    struct weir_metrics_family *now;        /* that samples are added to */
    const struct weir_metric_label *labels; /* of all samples of visit(); borrowed */
    size_t label_count;
    uint64_t limited; /* samples left out */
    enum weir_status failure;
};

void weir_metrics_text_init(struct weir_metrics_text *self, const struct weir_heap *heap);
void weir_metrics_text_fini(struct weir_metrics_text *self);

/* Samples belong to this name from now on. Name and help live for ever. */
void weir_metrics_text_family(struct weir_metrics_text *self, const char *name,
                              const char *help, enum weir_family_kind kind);

/* `suffix` is "" except for the parts of a histogram. */
void weir_metrics_text_add(struct weir_metrics_text *self, const char *suffix,
                           const struct weir_metric_label *labels, size_t count,
                           double value);

/* Labels in front of those of each sample of visit(), which is a weir_metric_fn. */
void weir_metrics_text_set_labels(struct weir_metrics_text *self,
                                  const struct weir_metric_label *labels, size_t count);
void weir_metrics_text_visit(void *state, const struct weir_metric *metric);

void weir_metrics_text_append(const struct weir_metrics_text *self,
                              enum weir_metrics_format format, struct weir_buf *out);

/* "text/plain; version=0.0.4; charset=utf-8", ... */
const char *weir_metrics_text_type(enum weir_metrics_format format);

#endif
