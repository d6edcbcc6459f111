/*
 * execution_drafting.c - see execution_drafting.h.
 */
#include "cli/execution/execution_drafting.h"

#include "base/count.h"
#include "cli/execution/execution_words.h"
#include "execution/draft.h"

const struct weir_command_option weir_drafting_options[] = {WEIR_DRAFTING_OPTIONS};
const size_t weir_drafting_option_count = COUNT_OF(weir_drafting_options);

void weir_drafting_init(struct weir_drafting *self)
{
    *self = (struct weir_drafting){.input = NULL};
    weir_execution_policy_init(&self->policy);
    self->draft.policy = &self->policy;
    self->draft.capabilities = self->capabilities;
    self->draft.tags = self->tags;
    self->draft.budgets = self->budgets;
}

static int take_count(const struct weir_command *command, const char *option,
                      const char *value, uint32_t max, uint32_t *out)
{
    int64_t number = 0;
    int code = weir_command_number(command, option, value, 0, max, &number);

    *out = (uint32_t)number;
    return code;
}

static int add_capability(struct weir_drafting *self, const struct weir_command *command,
                          const char *value)
{
    if (self->draft.capability_count == WEIR_CAPABILITIES_MAX)
        return weir_command_misuse(command, "more than %d capabilities",
                                   WEIR_CAPABILITIES_MAX);
    self->capabilities[self->draft.capability_count++] = value;
    return WEIR_EXIT_DONE;
}

int weir_drafting_add_tag(struct weir_drafting *self, const struct weir_command *command,
                          char *value)
{
    if (self->draft.tag_count == WEIR_TAGS_MAX)
        return weir_command_misuse(command, "more than %d tags", WEIR_TAGS_MAX);
    return weir_execution_take_tag(command, value, &self->tags[self->draft.tag_count++]);
}

static int add_budget(struct weir_drafting *self, const struct weir_command *command,
                      const char *value)
{
    if (self->draft.budget_count == WEIR_BUDGETS_MAX)
        return weir_command_misuse(command, "more than %d budgets", WEIR_BUDGETS_MAX);
    self->budgets[self->draft.budget_count++] = value;
    return WEIR_EXIT_DONE;
}

/* Backoff, timeouts and limits: what is frozen with it. */
static int take_policy(struct weir_drafting *self, const struct weir_command *command,
                       int id, const char *value)
{
    struct weir_execution_policy *policy = &self->policy;

    switch (id) {
    case 'r':
        return take_count(command, "retries", value, WEIR_RETRIES_MAX_MAX,
                          &policy->retries_max);
    case WEIR_DRAFTING_BACKOFF:
        return weir_execution_take_ms(command, "backoff", value, 0,
                                      WEIR_EXECUTION_DURATION_MS_MAX,
                                      &policy->backoff_initial_ms);
    case WEIR_DRAFTING_BACKOFF_MAX:
        self->backoff_max_given = true;
        return weir_execution_take_ms(command, "backoff-max", value, 0,
                                      WEIR_EXECUTION_DURATION_MS_MAX,
                                      &policy->backoff_max_ms);
    case WEIR_DRAFTING_ATTEMPT_TIMEOUT:
        return weir_execution_take_ms(command, "attempt-timeout", value, 1,
                                      WEIR_EXECUTION_DURATION_MS_MAX,
                                      &policy->attempt_timeout_ms);
    case WEIR_DRAFTING_RECLAIMS:
        return take_count(command, "reclaims", value, WEIR_RECLAIMS_MAX_MAX,
                          &policy->reclaims_max);
    case WEIR_DRAFTING_REPLAYS:
        return take_count(command, "replays", value, WEIR_REPLAYS_MAX_MAX,
                          &policy->replays_max);
    default:
        return WEIR_EXIT_MISUSE;
    }
}

static int take_time(struct weir_drafting *self, const struct weir_command *command,
                     int id, const char *value)
{
    int64_t number = 0;
    int code;

    switch (id) {
    case 'p':
        code = weir_command_number(command, "priority", value, 0, WEIR_PRIORITY_MAX,
                                   &number);
        self->draft.priority = (int32_t)number;
        return code;
    case WEIR_DRAFTING_DELAY:
        return weir_execution_take_ms(command, "delay", value, 0,
                                      WEIR_EXECUTION_DURATION_MS_MAX,
                                      &self->draft.delay_ms);
    case WEIR_DRAFTING_DEADLINE:
        return weir_execution_take_ms(command, "deadline", value, 1,
                                      WEIR_EXECUTION_DURATION_MS_MAX,
                                      &self->draft.deadline_ms);
    default:
        return take_policy(self, command, id, value);
    }
}

int weir_drafting_take(struct weir_drafting *self, const struct weir_command *command,
                       int id, const char *value)
{
    switch (id) {
    case 'l':
        self->draft.lane = value;
        break;
    case 'k':
        self->draft.kind = value;
        break;
    case 'i':
        self->input = value;
        break;
    case 'K':
        self->draft.idempotency_key = value;
        break;
    case 'n':
        self->draft.name_space = value;
        break;
    case WEIR_DRAFTING_CAPABILITY:
        return add_capability(self, command, value);
    case WEIR_DRAFTING_BUDGET:
        return add_budget(self, command, value);
    case WEIR_DRAFTING_ID:
        self->draft.id = &self->id;
        return weir_execution_take_id(command, value, &self->id);
    default:
        return take_time(self, command, id, value);
    }
    return WEIR_EXIT_DONE;
}

int weir_drafting_finish(struct weir_drafting *self, const struct weir_command *command,
                         uint32_t partitions)
{
    struct weir_error error = {0};

    if (self->draft.lane == NULL)
        return weir_command_misuse(command, "which lane? --lane LANE is needed");
    if (self->draft.kind == NULL)
        return weir_command_misuse(command, "what is to be done? --kind KIND is needed");
    if (!self->backoff_max_given &&
        self->policy.backoff_initial_ms > self->policy.backoff_max_ms)
        self->policy.backoff_max_ms = self->policy.backoff_initial_ms;
    if (weir_execution_draft_check(
            &self->draft, partitions > 0 ? partitions : WEIR_EXECUTION_PARTITIONS_DEFAULT,
            &error) != WEIR_OK)
        return weir_command_misuse(command, "%s", error.text);
    return WEIR_EXIT_DONE;
}
