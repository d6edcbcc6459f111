/*
 * execution_left.c - see execution_left.h.
 *
 * Lists are read by page, and a page may be empty and yet not the last.
 */
#include "cli/execution/execution_left.h"

#include <string.h>

#include "base/text.h"

enum { PAGE = 1000 };

#define BIT(state) (1U << (state))
#define NOT_ENDED (BIT(WEIR_STATE_COMPLETED) - 1)
#define MOVES (NOT_ENDED & ~BIT(WEIR_STATE_SUSPENDED) & ~BIT(WEIR_STATE_WAITING_CHILDREN))

static void note_mover(void *state, const struct weir_execution_info *info)
{
    struct weir_execution_left *self = state;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE], why[WEIR_EXECUTION_WHY_SIZE];

    self->moves = true;
    weir_text_format(self->text, sizeof self->text, "%s is %s: %s",
                     weir_execution_id_format(&info->id, id),
                     weir_public_state_name(info->state),
                     weir_execution_spell_why(info, self->now_us, why));
}

/* Does anything of the filter move? */
static enum weir_status find_mover(struct weir_executions *executions,
                                   struct weir_execution_filter filter,
                                   struct weir_execution_left *out,
                                   struct weir_error *error)
{
    enum weir_status status;

    filter.states = MOVES;
    filter.count = 1;
    do
        status = weir_execution_list(executions, &filter, note_mover, out, &filter.before,
                                     error);
    while (status == WEIR_OK && !out->moves && filter.before > 0);
    return status;
}

static void count_suspended(void *state, const struct weir_execution_info *info)
{
    struct weir_execution_left *self = state;

    (void)info;
    self->suspended++;
}

static enum weir_status read_suspended(struct weir_executions *executions,
                                       const char *lane, struct weir_execution_left *out,
                                       struct weir_error *error)
{
    struct weir_execution_filter filter = {
        .lane = lane, .states = BIT(WEIR_STATE_SUSPENDED), .count = PAGE};
    enum weir_status status;

    do
        status = weir_execution_list(executions, &filter, count_suspended, out,
                                     &filter.before, error);
    while (status == WEIR_OK && filter.before > 0 &&
           out->suspended < WEIR_EXECUTION_LEFT_COUNT_MAX);
    return status;
}

/* A page of members that wait for others: their flows, each once in a row. */
struct members {
    struct weir_flow_id flows[PAGE];
    size_t flow_count;
    uint64_t count;
};

static void note_member(void *state, const struct weir_execution_info *info)
{
    struct members *self = state;
    const struct weir_flow_id *last =
        self->flow_count > 0 ? &self->flows[self->flow_count - 1] : NULL;

    self->count++;
    if (last == NULL || memcmp(last, &info->flow, sizeof *last) != 0)
        self->flows[self->flow_count++] = info->flow;
}

/* Members of the same flow may be in other lanes, which others serve. */
static enum weir_status read_members(struct weir_executions *executions, const char *lane,
                                     struct weir_execution_left *out,
                                     struct weir_error *error)
{
    static struct members members; /* too large for a stack */
    struct weir_execution_filter filter = {
        .lane = lane, .states = BIT(WEIR_STATE_WAITING_CHILDREN), .count = PAGE};
    enum weir_status status;

    do {
        members.flow_count = 0;
        members.count = 0;
        status = weir_execution_list(executions, &filter, note_member, &members,
                                     &filter.before, error);
        out->behind += members.count;
        for (size_t i = 0; i < members.flow_count && status == WEIR_OK && !out->moves;
             i++)
            status = find_mover(executions,
                                (struct weir_execution_filter){.flow = &members.flows[i]},
                                out, error);
    } while (status == WEIR_OK && !out->moves && filter.before > 0 &&
             out->behind < WEIR_EXECUTION_LEFT_COUNT_MAX);
    return status;
}

enum weir_status weir_execution_left_read(struct weir_executions *executions,
                                          const char *const *lanes, size_t count,
                                          struct weir_execution_left *out,
                                          struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *out = (struct weir_execution_left){.now_us = out->now_us};
    for (size_t i = 0; i < count && status == WEIR_OK && !out->moves; i++)
        status = find_mover(executions, (struct weir_execution_filter){.lane = lanes[i]},
                            out, error);
    for (size_t i = 0; i < count && status == WEIR_OK && !out->moves; i++)
        status = read_members(executions, lanes[i], out, error);
    for (size_t i = 0; i < count && status == WEIR_OK && !out->moves; i++)
        status = read_suspended(executions, lanes[i], out, error);
    return status;
}
