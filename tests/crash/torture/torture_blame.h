/*
 * torture_blame.h - T5 of torture.h: which fault is to blame for each message that came
 * again.
 *
 * A fault explains a batch for each partition, at most. Where several faults explain a
 * message they are shared out so that as many messages as possible are explained: who
 * takes the first that fits may use up the only one that explains another.
 *
 *   struct torture_blame blame;
 *
 *   torture_blame_init(&blame, run, room);
 *   torture_blame_add(&blame, before, record);
 *   torture_blame_settle(&blame);
 *   ... blame.repeats[i].is_explained ...
 *   torture_blame_destroy(&blame);
 */
#ifndef WEIR_TEST_TORTURE_BLAME_H
#define WEIR_TEST_TORTURE_BLAME_H

#include "crash/torture/torture_shared.h"

/* A message was given to a handler, and before that to another, or to the same. */
struct torture_repeat {
    const struct torture_record *before;
    const struct torture_record *record;
    bool is_explained;
};

/* Of one partition of one subscription. */
struct torture_blame {
    const struct torture_fault *faults;
    uint32_t fault_count;
    int64_t lease_us;
    struct torture_repeat *repeats; /* owned */
    size_t repeat_count;
    size_t (*explained)[TORTURE_BATCH]; /* owned; per fault: repeats */
    uint32_t *explained_count;          /* owned; per fault */
    bool *is_asked; /* owned; per fault: whether it has a place is being asked already */
};

/* `room`: repeats, at most. */
void torture_blame_init(struct torture_blame *self, const struct torture *run,
                        size_t room);
void torture_blame_destroy(struct torture_blame *self);

void torture_blame_add(struct torture_blame *self, const struct torture_record *before,
                       const struct torture_record *record);

/* Returns the most that one fault has to explain. */
uint32_t torture_blame_settle(struct torture_blame *self);

/* Is there a fault that would explain it, had it not a whole batch to explain? */
bool torture_blame_fits(const struct torture_blame *self,
                        const struct torture_repeat *repeat);

#endif
