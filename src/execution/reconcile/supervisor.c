/*
 * supervisor.c - see weir/execution_supervisor.h.
 *
 * A scanner of weir/scanner.h with one global scan per reconciler: each asks for all
 * partitions at once, and goes through them one by one only when that fails. It hears
 * what is committed: of this process which times have come to be kept, and wakes the
 * reconciler that would look too late; of others of which kinds they are, and has those
 * reconcilers look often for a while (notify_throttle.h).
 *
 * Ticks are ours and wait for nothing but the database. So those that have not finished
 * within the grace have their statements cancelled, and destroy() waits for them:
 * nothing of ours is left on the engine's connections.
 */
#include "weir/execution_supervisor.h"

#include <inttypes.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "db/db.h"
#include "execution/draft.h"
#include "execution/executions.h"
#include "execution/reconcile/reconciler.h"
#include "outbox/names.h"
#include "ward/executor.h"
#include "weir/executor.h"

enum { PARTITIONS_MAX = 65535, FIELD_SIZE = 64 };

/* How long destroy() waits for what it has cancelled, before it does so again. */
#define ABORT_PAUSE_MIN WEIR_MILLISECONDS(10)
#define ABORT_PAUSE_MAX WEIR_SECONDS(1)

#define RECONCILER(due, which, ...) RECONCILER_OF(due, which, __VA_ARGS__, 0)
#define RECONCILER_OF(due, which, name, interval_ms, ...)                                \
    [WEIR_RECONCILER_##                                                                  \
        which] = {#name, interval_ms, WEIR_DUE_##due, &weir_reconciler_##name},
const struct weir_reconciler_row weir_reconcilers[WEIR_RECONCILER_COUNT] = {
    WEIR_RECONCILERS(RECONCILER, RECONCILER, RECONCILER, RECONCILER, RECONCILER)};

struct weir_execution_supervisor {
    struct weir_executions *executions; /* borrowed */
    const struct weir_heap *heap;       /* borrowed: the database's */
    struct weir_executor *executor;
    bool own_executor;
    struct weir_scanner *scanner;
    struct weir_executions_listener listener;
    bool listening;
    struct weir_store_filter filter;
    char *texts; /* owned: of the filter */
    struct weir_due_cache due_cache;
    bool looking;
    struct weir_reconciler_task tasks[WEIR_RECONCILER_COUNT];
};

const char *weir_reconciler_name(enum weir_reconciler reconciler)
{
    return reconciler >= 0 && reconciler < WEIR_RECONCILER_COUNT
               ? weir_reconcilers[reconciler].name
               : "unknown";
}

void weir_execution_supervisor_options_init(
    struct weir_execution_supervisor_options *self)
{
    *self = (struct weir_execution_supervisor_options){
        .dependency_stale_ms = 15000,
        .budget_partitions = 32,
        .retention_ms = (int64_t)24 * 3600 * 1000,
    };
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        self->interval_ms[i] = weir_reconcilers[i].interval_ms;
}

/* ---- settings ---------------------------------------------------------------------- */

static enum weir_status check_ms(const char *field, int64_t value_ms, int64_t min_ms,
                                 int64_t max_ms, struct weir_error *error)
{
    if (value_ms >= min_ms && value_ms <= max_ms)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "%s is %" PRId64 ", must be from %" PRId64 " to %" PRId64,
                          field, value_ms, min_ms, max_ms);
}

static enum weir_status
check_times(const struct weir_execution_supervisor_options *options,
            struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (int i = 0; i < WEIR_RECONCILER_COUNT && status == WEIR_OK; i++) {
        char field[FIELD_SIZE];

        (void)weir_text_format(field, sizeof field, "interval_ms of %s",
                               weir_reconcilers[i].name);
        status = check_ms(field, options->interval_ms[i],
                          WEIR_SCAN_INTERVAL_MIN / WEIR_MILLISECONDS(1),
                          WEIR_DURATION_MAX / WEIR_MILLISECONDS(1), error);
    }
    if (status == WEIR_OK)
        status = check_ms("dependency_stale_ms", options->dependency_stale_ms, 0,
                          WEIR_EXECUTION_DURATION_MS_MAX, error);
    if (status == WEIR_OK)
        status = check_ms("retention_ms", options->retention_ms, 0,
                          WEIR_EXECUTION_DURATION_MS_MAX, error);
    return status;
}

static enum weir_status
check_filter(const struct weir_execution_supervisor_options *options,
             struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    size_t size;

    if (options->name_space != NULL)
        status = weir_printable_check("name_space", options->name_space,
                                      WEIR_NAMESPACE_SIZE_MAX, error);
    if (status != WEIR_OK)
        return status;
    if ((options->tag_key == NULL) != (options->tag_value == NULL))
        return weir_error_set(error, WEIR_INVALID, "%s is NULL, must be given with %s",
                              options->tag_key == NULL ? "tag_key" : "tag_value",
                              options->tag_key == NULL ? "tag_value" : "tag_key");
    if (options->tag_key == NULL)
        return WEIR_OK;
    status = weir_tag_key_check(options->tag_key, error);
    if (status != WEIR_OK)
        return status;
    size = strnlen(options->tag_value, WEIR_TAG_SIZE_MAX + 1);
    if (size > WEIR_TAG_SIZE_MAX)
        return weir_error_set(error, WEIR_INVALID, "tag_value has more than %d bytes",
                              WEIR_TAG_SIZE_MAX);
    if (!weir_utf8_valid((struct weir_str){options->tag_value, size}))
        return weir_error_set(error, WEIR_INVALID, "tag_value must be UTF-8");
    return WEIR_OK;
}

static enum weir_status
check_options(const struct weir_execution_supervisor_options *options,
              struct weir_error *error)
{
    enum weir_status status =
        weir_execution_check_given("options", options != NULL, error);

    if (status == WEIR_OK && options->executions == NULL)
        status =
            weir_error_set(error, WEIR_INVALID, "executions is NULL, must be an engine");
    if (status == WEIR_OK)
        status = check_times(options, error);
    if (status != WEIR_OK)
        return status;
    if (options->budget_partitions < 1 || options->budget_partitions > PARTITIONS_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "budget_partitions is %" PRIu32 ", must be from 1 to %d",
                              options->budget_partitions, PARTITIONS_MAX);
    return check_filter(options, error);
}

/* ---- making ------------------------------------------------------------------------ */

static struct weir_str copy_text(char **room, const char *text)
{
    size_t size = text != NULL ? strlen(text) : 0;
    struct weir_str copy = {*room, size};

    if (size == 0)
        return weir_str("");
    memcpy(*room, text, size);
    *room += size;
    return copy;
}

/* The filter's texts, copied. An empty value of a tag is one, so the key decides. */
static enum weir_status
copy_filter(struct weir_execution_supervisor *self,
            const struct weir_execution_supervisor_options *options,
            struct weir_error *error)
{
    char *room;

    self->texts =
        weir_heap_zalloc(self->heap, WEIR_NAMESPACE_SIZE_MAX + 2 * WEIR_TAG_SIZE_MAX);
    if (self->texts == NULL)
        return weir_no_memory(error, NULL);
    room = self->texts;
    self->filter.name_space = copy_text(&room, options->name_space);
    self->filter.tag_key = copy_text(&room, options->tag_key);
    self->filter.tag_value = copy_text(&room, options->tag_value);
    return WEIR_OK;
}

/* One thread for each, so that one that waits for the database delays no other. */
static enum weir_status find_executor(struct weir_execution_supervisor *self,
                                      struct weir_executor *given,
                                      struct weir_error *error)
{
    self->executor = given;
    if (given != NULL)
        return WEIR_OK;
    self->own_executor = true;
    return weir_executions_make_executor(self->executions, WEIR_RECONCILER_COUNT, 0,
                                         &self->executor, error);
}

static enum weir_status add_task(struct weir_execution_supervisor *self,
                                 enum weir_reconciler which,
                                 const struct weir_execution_supervisor_options *options,
                                 struct weir_error *error)
{
    struct weir_reconciler_task *task = &self->tasks[which];
    struct weir_scan_options scan;
    enum weir_status status;

    task->kind = weir_reconcilers[which].kind;
    task->due = weir_reconcilers[which].due;
    task->executions = self->executions;
    task->db = self->executions->db;
    task->store = &self->executions->store;
    task->heap = self->heap;
    task->partitions = self->executions->partitions;
    task->due_cache = &self->due_cache;
    task->interval_us = options->interval_ms[which] * 1000;
    if (which == WEIR_RECONCILER_HOUSEKEEPING)
        task->age_us = options->retention_ms * 1000;
    if (which == WEIR_RECONCILER_DEPENDENCY)
        task->age_us = options->dependency_stale_ms * 1000;
    status = weir_reconciler_init(task, error);
    if (status != WEIR_OK)
        return status;

    weir_scan_options_init(&scan);
    scan.name = weir_reconcilers[which].name;
    scan.interval_ns = WEIR_MILLISECONDS(options->interval_ms[which]);
    scan.filtered = true;
    scan.tick = task->kind->tick;
    scan.state = task;
    return weir_scanner_add(self->scanner, &scan, error);
}

static enum weir_status assemble(struct weir_execution_supervisor *self,
                                 const struct weir_execution_supervisor_options *options,
                                 struct weir_error *error)
{
    struct weir_scanner_options scanner;
    enum weir_status status = copy_filter(self, options, error);

    if (status == WEIR_OK)
        status = find_executor(self, options->executor, error);
    if (status == WEIR_OK) {
        status = weir_due_cache_init(&self->due_cache);
        self->looking = status == WEIR_OK;
    }
    if (status != WEIR_OK)
        return status;
    weir_scanner_options_init(&scanner);
    scanner.name = "execution";
    scanner.filter = &self->filter;
    scanner.heap = self->heap;
    scanner.log = *weir_db_log(self->executions->db);
    status = weir_scanner_create(self->executor, &scanner, &self->scanner, error);
    for (int i = 0; i < WEIR_RECONCILER_COUNT && status == WEIR_OK; i++)
        status = add_task(self, (enum weir_reconciler)i, options, error);
    return status;
}

enum weir_status
weir_execution_supervisor_create(const struct weir_execution_supervisor_options *options,
                                 struct weir_execution_supervisor **out,
                                 struct weir_error *error)
{
    struct weir_execution_supervisor *self;
    enum weir_status status = check_options(options, error);

    *out = NULL;
    if (status == WEIR_OK) {
        self = weir_heap_zalloc(options->executions->heap, sizeof *self);
        if (self == NULL)
            status = weir_no_memory(error, NULL);
    }
    if (status == WEIR_OK) {
        self->executions = options->executions;
        self->heap = options->executions->heap;
        status = assemble(self, options, error);
        if (status == WEIR_OK)
            *out = self;
        else
            weir_execution_supervisor_destroy(self);
    }
    if (status != WEIR_OK)
        weir_error_prefix(error, "create supervisor");
    return status;
}

/* ---- waking ------------------------------------------------------------------------ */

static void hear(void *state, const struct weir_pending_wakeups *pending_wakeups)
{
    struct weir_execution_supervisor *self = state;
    int64_t now_ns = weir_executor_now(self->executor);

    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++) {
        if (weir_reconciler_hears(&self->tasks[i], pending_wakeups, now_ns))
            weir_scanner_wake(self->scanner, weir_reconcilers[i].name);
    }
}

/* ---- running ----------------------------------------------------------------------- */

enum weir_status weir_execution_supervisor_start(struct weir_execution_supervisor *self,
                                                 struct weir_error *error)
{
    enum weir_status status;

    /* It listens before the first look: what is committed in between is heard or seen. */
    if (!self->listening) {
        self->listener = (struct weir_executions_listener){.heard = hear, .state = self};
        weir_executions_listen(self->executions, &self->listener);
        self->listening = true;
    }
    status = weir_scanner_start(self->scanner, error);
    if (status != WEIR_OK)
        return status;
    (void)WEIR_POINT(weir_db_config(self->executions->db)->points, "supervisor.started");
    if (!self->executor->simulated)
        weir_executions_watch(self->executions);
    return WEIR_OK;
}

static size_t stop(struct weir_execution_supervisor *self, int64_t grace_ns)
{
    size_t unfinished = weir_scanner_stop(self->scanner, grace_ns);

    for (int i = 0; i < WEIR_RECONCILER_COUNT && unfinished > 0; i++) {
        if (self->tasks[i].kind != NULL)
            weir_reconciler_abort(&self->tasks[i]);
    }
    return unfinished;
}

size_t weir_execution_supervisor_stop(struct weir_execution_supervisor *self,
                                      int64_t grace_ns)
{
    return stop(self, grace_ns);
}

/* A statement that begins just after it was cancelled is cancelled the next time. */
static void wait_for_ticks(struct weir_execution_supervisor *self)
{
    int64_t pause_ns = ABORT_PAUSE_MIN;

    for (size_t left = stop(self, 0); left > 0; left = stop(self, pause_ns)) {
        if (pause_ns < ABORT_PAUSE_MAX)
            pause_ns *= 2;
    }
}

void weir_execution_supervisor_destroy(struct weir_execution_supervisor *self)
{
    if (self == NULL)
        return;
    if (self->listening)
        weir_executions_unlisten(self->executions, &self->listener);
    if (self->scanner != NULL)
        wait_for_ticks(self);
    weir_scanner_destroy(self->scanner);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        weir_reconciler_fini(&self->tasks[i]);
    if (self->looking)
        weir_due_cache_fini(&self->due_cache);
    if (self->own_executor)
        weir_executor_destroy(self->executor);
    weir_heap_free(self->heap, self->texts);
    weir_heap_free(self->heap, self);
}

size_t weir_execution_supervisor_read(struct weir_execution_supervisor *self,
                                      struct weir_scan_info *out, size_t count)
{
    return weir_scanner_read(self->scanner, out, count);
}
