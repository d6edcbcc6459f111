/*
 * metrics.h - the figures of one outbox of this process, ready for a metrics endpoint.
 *
 * An endpoint prints what the visitor gets, line by line, and knows nothing of
 * outboxes. What all processes together have to do is in the database: weir/inspect.h.
 *
 *   static void print(void *out, const struct weir_metric *metric)
 *   {
 *       if (metric->begins) {
 *           fprintf(out, "# HELP %s %s\n", metric->name, metric->help);
 *           fprintf(out, "# TYPE %s %s\n", metric->name,
 *           weir_metric_kind_text(metric->kind));
 *       }
 *       ...
 *   }
 *
 * docs/metrics.md lists all of them.
 *
 * Order    All of one name follow each other; the names come in the same order every
 *          time.
 * Names    Stable, of a-z and _, and they end in their unit; those of counters in
 *          _total. Labels are queue, subscription, reader and category.
 * Counting Counters only grow from create() to destroy(), over stop() and start() too,
 * but for
 *          those of workers (weir_worker_...), which begin anew with start() and are
 *          left out while statistics are off. Gauges of an outbox that does not run are
 *          0.
 * Threads  Any thread, but not while start(), stop(), destroy() or an add runs. The
 *          visitor is called without a lock.
 * Memory   One block for the call, none for each message that is counted.
 */
#ifndef WEIR_METRICS_H
#define WEIR_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/error.h>

struct weir_outbox;

enum weir_metric_kind { WEIR_METRIC_COUNTER, WEIR_METRIC_GAUGE };

struct weir_metric_label {
    const char *name;
    const char *value; /* queue names and the like: no quotes, no backslashes */
};

/* Name and help live for ever, the labels' values for the call of the visitor. */
struct weir_metric {
    const char *name;
    const char *help; /* a sentence */
    enum weir_metric_kind kind;
    bool begins; /* the first of its name */
    const struct weir_metric_label *labels;
    size_t label_count;
    double value; /* whole up to 2^53, but for seconds */
};

typedef void (*weir_metric_fn)(void *state, const struct weir_metric *metric);

WEIR_BEGIN_DECLS

/* "counter" or "gauge". */
WEIR_API const char *weir_metric_kind_text(enum weir_metric_kind kind);

/* All of them, as they are now. Fails with WEIR_NO_MEMORY before the first. */
WEIR_CHECKED WEIR_API enum weir_status weir_outbox_read_metrics(struct weir_outbox *self,
                                                                weir_metric_fn visit,
                                                                void *state,
                                                                struct weir_error *error);

WEIR_END_DECLS

#endif
