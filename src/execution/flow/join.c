/*
 * join.c - see join.h.
 */
#include "execution/flow/join.h"

#include "base/assert.h"

enum weir_edge_state weir_edge_state_of(enum weir_exec_state upstream)
{
    switch (upstream) {
    case WEIR_EXEC_SUCCEEDED:
        return WEIR_EDGE_SUCCEEDED;
    case WEIR_EXEC_SKIPPED:
        return WEIR_EDGE_SKIPPED;
    case WEIR_EXEC_FAILED:
    case WEIR_EXEC_CANCELLED:
    case WEIR_EXEC_EXPIRED:
        return WEIR_EDGE_FAILED;
    default:
        return WEIR_EDGE_OPEN;
    }
}

void weir_join_count(struct weir_join_progress *self, enum weir_edge_state state)
{
    WEIR_ASSERT(state != WEIR_EDGE_OPEN);
    if (state == WEIR_EDGE_SUCCEEDED)
        self->succeeded++;
    else if (state == WEIR_EDGE_SKIPPED)
        self->skipped++;
    else
        self->failed++;
}

/* How many must succeed. */
static uint32_t needed(const struct weir_join_progress *self)
{
    return self->policy == WEIR_JOIN_ALL   ? self->total
           : self->policy == WEIR_JOIN_ANY ? 1
                                           : self->quorum;
}

/* One rule for all three: enough have succeeded, or not enough can any more. */
enum weir_flow_join_state weir_join_judge(const struct weir_join_progress *self)
{
    uint64_t lost = (uint64_t)self->failed + self->skipped;

    if (self->total == 0)
        return WEIR_FLOW_JOIN_PENDING;
    if (self->succeeded >= needed(self))
        return WEIR_FLOW_JOIN_SATISFIED;
    return lost + needed(self) > self->total ? WEIR_FLOW_JOIN_IMPOSSIBLE
                                             : WEIR_FLOW_JOIN_PENDING;
}

bool weir_join_is_whole(const struct weir_join_progress *self)
{
    return (uint64_t)self->succeeded + self->failed + self->skipped <= self->total;
}
