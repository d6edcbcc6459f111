/*
 * scanner.c - a ward of scans that is started and stopped as one.
 *
 * Each scan is a worker of the scanner's own ward. It is spawned when the scan is added
 * and idles, like every new worker, until it is notified; start() does that for
 * all of them. So nothing can fail in start(), and there is no instant at which some
 * scans exist and some do not yet: a stop() that follows at once finds them all.
 *
 *   add():   spawn, idle        start():  notify each        stop():  cancel the ward
 *
 * The ward keeps a worker that does not return, but not what that worker touches. That is
 * this struct and its scans: each worker holds on to them, and lets go in on_end.
 *
 * Invariants:
 *
 *   I1  holders is 1 for the owner, until destroy(), plus 1 for each worker that has
 *       not ended
 *   I2  an entry below `count` never changes: no lock is needed for it
 */
#include "weir/scanner.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "ward/lock.h"
#include "ward/scan.h"
#include "weir/notifier.h"
#include "weir/ward.h"

enum phase { ADDING, STARTED, STOPPED };

struct entry {
    struct weir_scan *scan;
    struct weir_worker *worker;
    struct weir_notifier *go;
};

struct weir_scanner {
    struct weir_scan_home home;
    struct weir_executor *executor; /* borrowed; for add() */
    struct weir_ward *ward;         /* owned; its workers may outlive the handle */
    _Atomic uint32_t holders;

    struct weir_lock lock; /* guards all that follows */
    enum phase phase;
    size_t count;
    struct entry entries[WEIR_SCANNER_SCANS_MAX];
};

static enum weir_status check_room(struct weir_scanner *self, struct weir_error *error);
static enum weir_status check_unique(struct weir_scanner *self, const char *name,
                                     struct weir_error *error);
static enum weir_status enlist(struct weir_scanner *self, struct entry *entry,
                               struct weir_error *error);
static void read_entry(const struct entry *entry, struct weir_scan_info *out);
static void log_start(struct weir_scanner *self, size_t count);
static void note_worker_end(void *state, const struct weir_worker_end *end);
static void let_go(struct weir_scanner *self);

void weir_scanner_options_init(struct weir_scanner_options *self)
{
    *self = (struct weir_scanner_options){.heap = NULL};
}

enum weir_status weir_scanner_create(struct weir_executor *executor,
                                     const struct weir_scanner_options *options,
                                     struct weir_scanner **out, struct weir_error *error)
{
    const struct weir_heap *heap =
        options->heap != NULL ? options->heap : weir_heap_system();
    struct weir_ward_options ward = {.name = options->name, .on_end = note_worker_end};
    struct weir_scanner *self = NULL;
    enum weir_status status;

    *out = NULL;
    self = weir_heap_zalloc(heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "create scanner");
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK) {
        weir_heap_free(heap, self);
        return weir_error_set(error, status, "create scanner: no lock");
    }
    self->home.heap = heap;
    self->home.filter = options->filter;
    self->home.log = options->log;
    self->executor = executor;
    atomic_init(&self->holders, 1);

    ward.state = self;
    status = weir_ward_create(executor, &ward, &self->ward, error);
    if (status != WEIR_OK) {
        weir_error_prefix(error, "create scanner");
        goto out;
    }
    snprintf(self->home.name, sizeof self->home.name, "%s", options->name);

    *out = self;
    self = NULL; /* the caller's from here on */

out:
    if (self != NULL)
        let_go(self);
    return status;
}

void weir_scanner_destroy(struct weir_scanner *self)
{
    enum phase phase;

    if (self == NULL)
        return;

    weir_lock_acquire(&self->lock);
    phase = self->phase;
    weir_lock_release(&self->lock);
    if (phase != STOPPED)
        (void)weir_scanner_stop(self, 0);

    for (size_t i = 0; i < self->count; i++) {
        weir_notifier_destroy(self->entries[i].go);
        weir_worker_release(self->entries[i].worker);
    }
    weir_ward_destroy(self->ward);
    let_go(self);
}

enum weir_status weir_scanner_add(struct weir_scanner *self,
                                  const struct weir_scan_options *options,
                                  struct weir_error *error)
{
    struct entry entry = {.scan = NULL};
    enum weir_status status;

    status = check_room(self, error);
    if (status != WEIR_OK)
        goto out;
    status = weir_scan_create(&self->home, options, &entry.scan, error);
    if (status != WEIR_OK)
        goto out;
    status = check_unique(self, options->name, error);
    if (status != WEIR_OK)
        goto out;
    status = weir_notifier_create(self->executor, &entry.go);
    if (status != WEIR_OK) {
        weir_error_set(error, status, "%s", weir_status_text(status));
        goto out;
    }
    status = enlist(self, &entry, error);

out:
    weir_notifier_destroy(entry.go);
    weir_scan_destroy(entry.scan);
    if (status != WEIR_OK)
        weir_error_prefix(error, "add scan to scanner \"%s\"", self->home.name);
    return status;
}

enum weir_status weir_scanner_start(struct weir_scanner *self, struct weir_error *error)
{
    size_t count;
    bool open;

    weir_lock_acquire(&self->lock);
    count = self->count;
    open = self->phase == ADDING;
    if (open)
        self->phase = STARTED;
    weir_lock_release(&self->lock);
    if (!open)
        return weir_error_set(error, WEIR_CLOSED,
                              "start scanner \"%s\": it was started or stopped before",
                              self->home.name);

    log_start(self, count);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &self->entries[i];

        weir_scan_note_started(entry->scan);
        weir_notifier_notify_one(entry->go);
    }
    return WEIR_OK;
}

void weir_scanner_wake(struct weir_scanner *self, const char *scan)
{
    struct entry *entry = NULL;
    bool started;
    size_t count;

    weir_lock_acquire(&self->lock);
    count = self->count;
    started = self->phase == STARTED;
    weir_lock_release(&self->lock);

    for (size_t i = 0; i < count && entry == NULL; i++) {
        if (strcmp(weir_scan_name(self->entries[i].scan), scan) == 0)
            entry = &self->entries[i]; /* I2 */
    }
    if (started && entry != NULL && weir_scan_note_wake(entry->scan))
        weir_notifier_notify_one(entry->go);
}

size_t weir_scanner_stop(struct weir_scanner *self, int64_t grace_ns)
{
    size_t unfinished;

    weir_lock_acquire(&self->lock);
    self->phase = STOPPED;
    weir_lock_release(&self->lock);

    unfinished = weir_ward_stop(self->ward, grace_ns);
    weir_log_event(&self->home.log, unfinished > 0 ? WEIR_LOG_WARNING : WEIR_LOG_INFO,
                   "scanner.stopped", "scanner=%s unfinished=%zu", self->home.name,
                   unfinished);
    return unfinished;
}

size_t weir_scanner_read(struct weir_scanner *self, struct weir_scan_info *out,
                         size_t count)
{
    size_t total;

    weir_lock_acquire(&self->lock);
    total = self->count;
    weir_lock_release(&self->lock);

    for (size_t i = 0; i < total && i < count; i++)
        read_entry(&self->entries[i], &out[i]); /* I2 */
    return total;
}

/* May one more scan be added? */
static enum weir_status check_room(struct weir_scanner *self, struct weir_error *error)
{
    enum phase phase;
    size_t count;

    weir_lock_acquire(&self->lock);
    phase = self->phase;
    count = self->count;
    weir_lock_release(&self->lock);

    if (phase != ADDING)
        return weir_error_set(error, WEIR_CLOSED, "it was started or stopped before");
    if (count == WEIR_SCANNER_SCANS_MAX)
        return weir_error_set(error, WEIR_INVALID, "it has %zu scans, may have up to %d",
                              count, WEIR_SCANNER_SCANS_MAX);
    return WEIR_OK;
}

static enum weir_status check_unique(struct weir_scanner *self, const char *name,
                                     struct weir_error *error)
{
    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(weir_scan_name(self->entries[i].scan), name) == 0)
            return weir_error_set(error, WEIR_EXISTS, "name \"%s\" is taken", name);
    }
    return WEIR_OK;
}

/* Spawn the worker, and on success take everything over from `entry`. */
static enum weir_status enlist(struct weir_scanner *self, struct entry *entry,
                               struct weir_error *error)
{
    struct weir_worker_options options;
    enum weir_status status;

    weir_worker_options_init(&options);
    options.name = weir_scan_name(entry->scan);
    options.action = weir_scan_run;
    options.state = entry->scan;
    options.notifiers = &entry->go;
    options.notifier_count = 1;
    options.pace = weir_pace_none(); /* from partition to partition */
    options.on_panic = WEIR_ON_PANIC_RETRY;

    atomic_fetch_add(&self->holders, 1); /* I1 */
    status = weir_ward_spawn(self->ward, &options, &entry->worker, error);
    if (status != WEIR_OK) {
        let_go(self);
        return status;
    }

    weir_lock_acquire(&self->lock);
    self->entries[self->count++] = *entry;
    weir_lock_release(&self->lock);
    *entry = (struct entry){.scan = NULL};
    return WEIR_OK;
}

/* The worker first: the figures of a scan that has ended are then the last ones. */
static void read_entry(const struct entry *entry, struct weir_scan_info *out)
{
    struct weir_worker_info worker;

    weir_worker_read(entry->worker, &worker);
    weir_scan_read(entry->scan, out);
    if (worker.state == WEIR_WORKER_ENDED)
        out->state = WEIR_SCAN_ENDED;
}

static void log_start(struct weir_scanner *self, size_t count)
{
    uint64_t partitions = 0;

    for (size_t i = 0; i < count; i++)
        partitions += weir_scan_partition_count(self->entries[i].scan);
    weir_log_event(&self->home.log, WEIR_LOG_INFO, "scanner.started",
                   "scanner=%s scans=%zu partitions=%" PRIu64, self->home.name, count,
                   partitions);
}

static void note_worker_end(void *state, const struct weir_worker_end *end)
{
    (void)end;
    let_go(state);
}

/* The last one to let go frees it all: the owner, or a worker that returned late. */
static void let_go(struct weir_scanner *self)
{
    if (atomic_fetch_sub(&self->holders, 1) != 1)
        return;

    for (size_t i = 0; i < self->count; i++)
        weir_scan_destroy(self->entries[i].scan);
    weir_lock_fini(&self->lock);
    weir_heap_free(self->home.heap, self);
}
