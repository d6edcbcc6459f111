/*
 * execution_drafting.c - see execution_drafting.h.
 */
#include "cli/execution/execution_drafting.h"

#include "execution/draft.h"

void weir_drafting_init(struct weir_drafting *self)
{
    *self = (struct weir_drafting){.input = NULL};
    weir_execution_policy_init(&self->policy);
    self->draft.policy = &self->policy;
    self->draft.capabilities = self->capabilities;
    self->draft.tags = self->tags;
    self->draft.budgets = self->budgets;
}

int weir_drafting_finish(struct weir_drafting *self, const struct weir_command *command,
                         uint32_t partitions)
{
    struct weir_error error = {0};

    if (self->draft.lane == NULL)
        return weir_command_misuse(command, "which lane? --lane LANE is needed");
    if (self->draft.kind == NULL)
        return weir_command_misuse(command, "what is to be done? --kind KIND is needed");
    if ((self->given & WEIR_DRAFTING_ID) != 0)
        self->draft.id = &self->id;
    if ((self->given & WEIR_DRAFTING_BACKOFF_MAX) == 0 &&
        self->policy.backoff_initial_ms > self->policy.backoff_max_ms)
        self->policy.backoff_max_ms = self->policy.backoff_initial_ms;
    if (weir_execution_draft_check(
            &self->draft, partitions > 0 ? partitions : WEIR_EXECUTION_PARTITIONS_DEFAULT,
            &error) != WEIR_OK)
        return weir_command_misuse(command, "%s", error.text);
    return WEIR_EXIT_DONE;
}
