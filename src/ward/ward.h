/*
 * ward.h - the inside of weir/ward.h: what workers and pokers tell their ward.
 *
 * Memory   Counted: the owner, each worker and each poker hold one reference.
 */
#ifndef WEIR_WARD_WARD_H
#define WEIR_WARD_WARD_H

#include "base/list.h"
#include "ward/executor.h"
#include "ward/lock.h"
#include "weir/ward.h"

struct weir_worker;

void weir_ward_retain(struct weir_ward *self);
void weir_ward_release(struct weir_ward *self);

struct weir_executor *weir_ward_executor(const struct weir_ward *self);

/* Log the end of a worker and tell the host. Without the lock; fills in the ward's
 * name. */
void weir_ward_report_end(struct weir_ward *self, struct weir_worker_end *end);

/* A worker has ended: it is not counted any more, and callers that wait in stop() look
 * again. */
void weir_ward_remove(struct weir_ward *self, struct weir_worker *worker)
    WEIR_REQUIRES(weir_executor_role);

/* Keep `link` until the ward is cancelled, which takes it out and calls `cancel` on it;
 * false when it is cancelled already. */
struct weir_ward_guest {
    struct weir_list link;
    void (*cancel)(struct weir_ward_guest *self); /* with the lock held */
};
bool weir_ward_admit(struct weir_ward *self, struct weir_ward_guest *guest)
    WEIR_REQUIRES(weir_executor_role);

#endif
