/*
 * group_commit.h - one sync for all writes of the meantime.
 *
 * A sync takes as long as the disk takes, however much there is to it. So a writer
 * whose bytes are in the file waits for a sync that *began* after its write; one of
 * the waiting writers does it, for all of them.
 *
 *   writer A   write ----- sync ========== done
 *   writer B     write ---------- wait --- sync ========== done
 *   writer C        write ------- wait ------------------- done      (by B's)
 *
 * Failure  A sync that fails says nothing about which bytes are lost, and the next one
 *          may succeed without them (the system forgets what it could not write). So
 *          all that was written until then, and was not synced before, has failed.
 * Threads  Any.
 * Memory   Tickets live on the stacks of the waiting writers.
 */
#ifndef WEIR_SINK_UTIL_GROUP_COMMIT_H
#define WEIR_SINK_UTIL_GROUP_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "ward/lock.h"

/* Returns 0 or an errno. */
typedef int (*weir_sync_fn)(void *state);

struct weir_group_commit {
    weir_sync_fn sync;
    void *state; /* borrowed */

    struct weir_lock lock;    /* guards all that follows; not held while syncing */
    struct weir_cond change;  /* tickets were settled */
    struct weir_list waiting; /* of tickets that are not settled */
    bool syncing;
};

/* One write. */
struct weir_group_commit_ticket {
    struct weir_list link;
    bool covered; /* by the sync that is running */
    bool settled;
    int failure; /* errno, 0: on disk; once settled */
};

WEIR_CHECKED enum weir_status weir_group_commit_init(struct weir_group_commit *self,
                                                     weir_sync_fn sync, void *state);
void weir_group_commit_fini(struct weir_group_commit *self);

/* A write is complete. The ticket must not move until wait() has returned, which is
 * owed. */
void weir_group_commit_enter(struct weir_group_commit *self,
                             struct weir_group_commit_ticket *ticket);

/* Wait until it is on disk, syncing if no other writer does. Returns 0 or an errno. */
int weir_group_commit_wait(struct weir_group_commit *self,
                           struct weir_group_commit_ticket *ticket);

#endif
