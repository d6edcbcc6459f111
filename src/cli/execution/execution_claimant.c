/*
 * execution_claimant.c - see execution_claimant.h.
 */
#include "cli/execution/execution_claimant.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/execution/execution_words.h"

enum { HOST_SIZE = 128 };

void weir_execution_claimant_init(struct weir_execution_claimant *self, pid_t process)
{
    char host[HOST_SIZE] = "";

    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        weir_text_format(host, sizeof host, "localhost");
    *self = (struct weir_execution_claimant){.instance = ""};
    weir_claim_options_init(&self->options);
    weir_text_format(self->instance, sizeof self->instance, "%s:%" PRId64, host,
                     (int64_t)process);
    self->options.worker = "weir";
    self->options.instance = self->instance;
    self->options.lanes = self->lanes;
    self->options.capabilities = self->capabilities;
}

bool weir_execution_claimant_has(int option)
{
    return option == WEIR_EXECUTION_LANE ||
           (option >= WEIR_EXECUTION_CAPABILITY && option <= WEIR_EXECUTION_INSTANCE);
}

static int add_lane(struct weir_execution_claimant *self,
                    const struct weir_command *command, const char *value)
{
    for (size_t i = 0; i < self->options.lane_count; i++) {
        if (strcmp(self->lanes[i], value) == 0)
            return weir_command_misuse(command, "--lane '%s' is given twice", value);
    }
    if (self->options.lane_count == WEIR_EXECUTION_LANES_MAX)
        return weir_command_misuse(command, "more than %d lanes",
                                   WEIR_EXECUTION_LANES_MAX);
    self->lanes[self->options.lane_count++] = value;
    return WEIR_EXIT_DONE;
}

static int add_capability(struct weir_execution_claimant *self,
                          const struct weir_command *command, const char *value)
{
    if (self->options.capability_count == WEIR_CAPABILITIES_MAX)
        return weir_command_misuse(command, "more than %d capabilities",
                                   WEIR_CAPABILITIES_MAX);
    self->capabilities[self->options.capability_count++] = value;
    return WEIR_EXIT_DONE;
}

int weir_execution_claimant_take(struct weir_execution_claimant *self,
                                 const struct weir_command *command, int option,
                                 const char *value)
{
    switch (option) {
    case WEIR_EXECUTION_LANE:
        return add_lane(self, command, value);
    case WEIR_EXECUTION_CAPABILITY:
        return add_capability(self, command, value);
    case WEIR_EXECUTION_LEASE:
        return weir_execution_take_ms(
            command, "lease", value, WEIR_EXECUTION_LEASE_MS_MIN,
            WEIR_EXECUTION_LEASE_MS_MAX, &self->options.lease_ms);
    case WEIR_EXECUTION_WORKER:
        self->options.worker = value;
        break;
    default:
        self->options.instance = value;
        break;
    }
    return WEIR_EXIT_DONE;
}

int weir_execution_claimant_check(const struct weir_execution_claimant *self,
                                  const struct weir_command *command)
{
    if (self->options.lane_count == 0)
        return weir_command_misuse(command, "whose work? --lane LANE is needed");
    return WEIR_EXIT_DONE;
}
