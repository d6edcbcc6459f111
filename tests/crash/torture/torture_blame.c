/*
 * torture_blame.c - see torture_blame.h.
 */
#include "crash/torture/torture_blame.h"

#include <stdlib.h>
#include <string.h>

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    check(memory != NULL);
    return memory;
}

void torture_blame_init(struct torture_blame *self, const struct torture *run,
                        size_t room)
{
    uint32_t count = atomic_load(&run->shared->fault_count);

    *self = (struct torture_blame){.faults = run->shared->faults,
                                   .fault_count = count,
                                   .lease_us = run->options->rig.lease_ms * 1000,
                                   .repeats = allocate(room, sizeof *self->repeats),
                                   .explained = allocate(count, sizeof *self->explained),
                                   .explained_count =
                                       allocate(count, sizeof *self->explained_count),
                                   .is_asked = allocate(count, sizeof *self->is_asked)};
}

void torture_blame_destroy(struct torture_blame *self)
{
    free(self->is_asked);
    free(self->explained_count);
    free(self->explained);
    free(self->repeats);
}

void torture_blame_add(struct torture_blame *self, const struct torture_record *before,
                       const struct torture_record *record)
{
    self->repeats[self->repeat_count++] = (struct torture_repeat){before, record, false};
}

/* It hit whoever had the message. Or whoever gets it, if that one lives on: it had it
 * in its hands already when somebody else became the owner. */
static bool hits(const struct torture_fault *fault, const struct torture_repeat *repeat)
{
    return fault->process == TORTURE_EVERYBODY ||
           fault->process == repeat->before->process ||
           (fault->kind != TORTURE_KILL && fault->process == repeat->record->process);
}

/* What a fault does to the living goes on for as long as they may believe in a lease. */
static int64_t felt_until_us(const struct torture_blame *self,
                             const struct torture_fault *fault)
{
    return fault->end_us + (fault->kind == TORTURE_KILL ? 0 : self->lease_us);
}

static bool explains(const struct torture_blame *self, const struct torture_fault *fault,
                     const struct torture_repeat *repeat)
{
    return atomic_load(&fault->written) && hits(fault, repeat) &&
           fault->begin_us <= repeat->record->at_us &&
           felt_until_us(self, fault) >= repeat->before->at_us;
}

bool torture_blame_fits(const struct torture_blame *self,
                        const struct torture_repeat *repeat)
{
    for (uint32_t i = 0; i < self->fault_count; i++) {
        if (explains(self, &self->faults[i], repeat))
            return true;
    }
    return false;
}

static bool find_fault(struct torture_blame *self, size_t repeat);

/* There is a place, or one of those that have them finds another fault. */
static bool make_place(struct torture_blame *self, uint32_t fault, uint32_t *out)
{
    *out = self->explained_count[fault];
    if (*out < TORTURE_BATCH) {
        self->explained_count[fault]++;
        return true;
    }
    for (*out = 0; *out < TORTURE_BATCH; ++*out) {
        if (find_fault(self, self->explained[fault][*out]))
            return true;
    }
    return false;
}

static bool find_fault(struct torture_blame *self, size_t repeat)
{
    for (uint32_t i = 0; i < self->fault_count; i++) {
        uint32_t place;

        if (self->is_asked[i] ||
            !explains(self, &self->faults[i], &self->repeats[repeat]))
            continue;
        self->is_asked[i] = true;
        if (make_place(self, i, &place)) {
            self->explained[i][place] = repeat;
            return true;
        }
    }
    return false;
}

uint32_t torture_blame_settle(struct torture_blame *self)
{
    uint32_t most = 0;

    for (size_t i = 0; i < self->repeat_count; i++) {
        memset(self->is_asked, 0, self->fault_count * sizeof *self->is_asked);
        self->repeats[i].is_explained = find_fault(self, i);
    }
    for (uint32_t i = 0; i < self->fault_count; i++) {
        if (self->explained_count[i] > most)
            most = self->explained_count[i];
    }
    return most;
}
