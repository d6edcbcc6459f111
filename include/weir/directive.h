/*
 * directive.h - what a worker wants after one execution.
 *
 * An action answers with a directive: *proceed* (there is more work; run again
 * after the pace), *idle* (wait for a notification) or *sleep* (wait for a time, or for a
 * notification). It may carry a report: a pointer to whatever the action wants its
 * listeners to see, with a tag that says what type it is. A listener that knows the tag
 * gets the pointer, any other gets NULL, so one type is never read as another.
 *
 *   static const struct weir_report_type MAIL_REPORT = {"mail"};
 *
 *   *out = weir_directive_with(weir_proceed(), &MAIL_REPORT, &counts);     in the action
 *   counts = weir_directive_report(directive, &MAIL_REPORT);               in a listener
 *
 * Memory   A directive is a plain value. The report is borrowed until the last listener
 *          has seen it: keep it in the worker's state or in the execution's own memory.
 */
#ifndef WEIR_DIRECTIVE_H
#define WEIR_DIRECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/api.h>

enum weir_directive_kind { WEIR_PROCEED, WEIR_IDLE, WEIR_SLEEP };

/* One static constant per type of report; its address is the type. */
struct weir_report_type {
    const char *name; /* for people */
};

struct weir_report {
    const struct weir_report_type *type; /* NULL: no report */
    const void *data;
};

struct weir_directive {
    enum weir_directive_kind kind;
    int64_t duration_ns; /* of a sleep; 0 otherwise. Below 0 counts as 0 */
    struct weir_report report;
};

/* Makes one report of another, in map(). */
typedef struct weir_report (*weir_report_map_fn)(struct weir_report report, void *state);

WEIR_BEGIN_DECLS

WEIR_API struct weir_directive weir_proceed(void);
WEIR_API struct weir_directive weir_idle(void);
WEIR_API struct weir_directive weir_sleep_for(int64_t duration_ns);

/* The same directive, with a report. */
WEIR_API struct weir_directive weir_directive_with(struct weir_directive self,
                                                   const struct weir_report_type *type,
                                                   const void *data);

/* Borrow the report if it is of this type; NULL otherwise. */
WEIR_API const void *weir_directive_report(const struct weir_directive *self,
                                           const struct weir_report_type *type);

/* The same directive with what `map` makes of its report; without a report, unchanged. */
WEIR_API struct weir_directive weir_directive_map(struct weir_directive self,
                                                  weir_report_map_fn map, void *state);

/* The same directive without its report. */
WEIR_API struct weir_directive weir_directive_strip(struct weir_directive self);

/* Same kind, and for sleeps the same duration. Reports do not count. */
WEIR_API bool weir_directive_equal(const struct weir_directive *a,
                                   const struct weir_directive *b);

WEIR_END_DECLS

#endif
