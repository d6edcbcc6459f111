/*
 * flow_model_waits.c - see flow_model.h: signals (M11) and budgets (M12), as the
 * journal tells of them.
 *
 * Conditions are the few of enum flow_wait, judged here by themselves.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/execution/flow_model.h"
#include "kit/test.h"

#define KEY_US (INT64_C(24) * 3600 * 1000000)

static struct event_log *book(const struct flow_model *self)
{
    return self->options.event_log;
}

static struct flow_call *caller(const struct flow_model *self,
                                const struct flow_entry *entry)
{
    return entry->call > 0 && entry->call <= self->call_count
               ? self->calls[entry->call - 1]
               : NULL;
}

static struct flow_execution *find(struct flow_model *self, int64_t no)
{
    for (size_t i = 0; i < self->execution_count; i++) {
        if (self->executions[i].no == no)
            return &self->executions[i];
    }
    return NULL;
}

static void *grow(void *memory, size_t count, size_t size)
{
    memory = realloc(memory, (count + 1) * size);
    check(memory != NULL);
    return memory;
}

/* ---- conditions -------------------------------------------------------------------- */

static bool is(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

static size_t count_at(const struct flow_suspension *self, const char *waitpoint,
                       const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < self->signal_count; i++)
        count += is(self->signals[i].waitpoint, waitpoint) &&
                 (name == NULL || is(self->signals[i].name, name));
    return count;
}

static size_t count_sources(const struct flow_suspension *self)
{
    size_t count = 0;

    for (size_t i = 0; i < self->signal_count; i++) {
        bool first = is(self->signals[i].name, "go");

        for (size_t j = 0; j < i && first; j++)
            first = !is(self->signals[j].name, "go") ||
                    !is(self->signals[j].source, self->signals[i].source);
        count += first;
    }
    return count;
}

bool flow_suspension_holds(const struct flow_suspension *self)
{
    switch (self->wait) {
    case FLOW_WAIT_ONE:
        return count_at(self, "w", NULL) >= 1;
    case FLOW_WAIT_TWO:
        return count_at(self, "w", NULL) >= 2;
    case FLOW_WAIT_BOTH:
        return count_at(self, "w", "go") >= 1 && count_at(self, "v", "go") >= 1;
    case FLOW_WAIT_SOURCES:
        return count_sources(self) >= 2;
    default:
        return false;
    }
}

bool flow_suspension_wants(const struct flow_suspension *self,
                           const struct flow_signal *signal)
{
    switch (self->wait) {
    case FLOW_WAIT_ONE:
    case FLOW_WAIT_TWO:
        return is(signal->waitpoint, "w");
    case FLOW_WAIT_BOTH:
    case FLOW_WAIT_SOURCES:
        return is(signal->name, "go");
    default:
        return false;
    }
}

/* ---- signals ----------------------------------------------------------------------- */

/* M11: a key is taken once. */
static void check_key(struct flow_model *self, const struct flow_entry *entry,
                      const struct flow_signal *signal, const struct flow_item *item)
{
    if (item->key[0] == '\0')
        return;
    if (!is(item->key, signal->key))
        event_log_violate(book(self), "M11: a signal with the key %s was taken as %s",
                          item->key, signal->key);
    for (size_t i = 0; i < self->signal_count; i++) {
        if (self->signal_nos[i] == entry->no && is(self->signals[i].key, signal->key) &&
            memcmp(self->signals[i].uuid, signal->uuid, WEIR_UUID_SIZE) == 0 &&
            self->signals[i].came_us + KEY_US > signal->came_us)
            event_log_violate(book(self), "M11: a signal with the key %s counts twice",
                              signal->key);
    }
    self->signals = grow(self->signals, self->signal_count, sizeof *self->signals);
    self->signal_nos =
        grow(self->signal_nos, self->signal_count, sizeof *self->signal_nos);
    self->signal_nos[self->signal_count] = entry->no;
    self->signals[self->signal_count++] = *signal;
}

/* The engine's own: a timeout that resumes. Its step has come before it. */
static void take_timeout(struct flow_model *self, struct flow_execution *execution,
                         const struct flow_entry *entry, const struct flow_signal *signal)
{
    if (entry->call != 0 || !execution->debt.timeout_signal ||
        !is(signal->name, "timeout"))
        event_log_violate(book(self),
                          "M11: execution %" PRId64 " was told of a timeout that was not",
                          entry->no);
    execution->debt.timeout_signal = false;
}

void flow_model_signal(struct flow_model *self, const struct flow_entry *entry,
                       const struct flow_signal *signal)
{
    struct flow_execution *execution = find(self, entry->no);
    struct flow_call *call = caller(self, entry);
    struct flow_suspension *suspension;

    if (execution == NULL)
        return;
    if (signal->waitpoint[0] == '\0') {
        take_timeout(self, execution, entry, signal);
        return;
    }
    suspension = &execution->suspension;
    if (call == NULL || call->verb != FLOW_SIGNAL) {
        event_log_violate(book(self), "M11: execution %" PRId64 ": a signal by nobody",
                          entry->no);
        return;
    }
    call->signals++;
    self->stats.signals++;
    check_key(self, entry, signal, &call->items[0]);
    if (!suspension->open || suspension->signal_count == FLOW_SIGNALS_MAX) {
        event_log_violate(book(self),
                          "M11: execution %" PRId64
                          " has taken a signal, and does not wait",
                          entry->no);
        return;
    }
    suspension->signals[suspension->signal_count++] = *signal;
    execution->owes_resume = flow_suspension_holds(suspension);
    execution->told = execution->owes_resume                      ? "resumed"
                      : flow_suspension_wants(suspension, signal) ? "kept"
                                                                  : "ignored";
}

/* ---- budgets ----------------------------------------------------------------------- */

bool flow_model_budget_is_reached(const struct flow_model *self)
{
    return self->hard > 0 && self->used >= self->hard;
}

/* The clock may jump during a call, by more than the life of a key. So a report counts
 * twice only if the key was alive at each moment of the call. */
static void check_report(struct flow_model *self, const struct flow_entry *entry,
                         struct flow_call *call, int64_t more)
{
    struct flow_item *item = &call->items[0];
    struct flow_moment now = flow_model_moment(self, call->begun_ns, entry->ns);

    self->stats.reports++;
    if (more != item->number)
        event_log_violate(book(self),
                          "M12: %" PRId64 " was reported, and %" PRId64 " is used more",
                          item->number, more);
    if (item->key[0] == '\0')
        return;
    for (size_t i = 0; i < self->report_count; i++) {
        if (is(self->reports[i]->key, item->key) &&
            self->report_us[i] + KEY_US > now.most_us)
            event_log_violate(book(self), "M12: a report with the key %s counts twice",
                              item->key);
    }
    self->reports = grow(self->reports, self->report_count, sizeof(struct flow_item *));
    self->report_us = grow(self->report_us, self->report_count, sizeof *self->report_us);
    self->report_us[self->report_count] = now.least_us;
    self->reports[self->report_count++] = item;
}

void flow_model_usage(struct flow_model *self, const struct flow_entry *entry,
                      int64_t used, int64_t hard)
{
    struct flow_call *call = caller(self, entry);
    int64_t before = self->used;

    self->used = used;
    self->hard = hard;
    if (used == before)
        return; /* a limit was set, or nothing was to be given back */
    if (hard > 0 && used > hard)
        event_log_violate(book(self), "M12: %" PRId64 " is used of %" PRId64, used, hard);
    if (call != NULL)
        call->spent++;
    if (call != NULL && call->verb == FLOW_REPORT)
        check_report(self, entry, call, used - before);
    else if (call != NULL && call->verb == FLOW_RELEASE ? used > before : used != 0)
        event_log_violate(book(self), "M12: %" PRId64 " became %" PRId64 " by nobody",
                          before, used);
}
