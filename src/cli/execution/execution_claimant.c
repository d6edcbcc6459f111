/*
 * execution_claimant.c - see execution_claimant.h.
 */
#include "cli/execution/execution_claimant.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/text.h"

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

int weir_execution_claimant_check(const struct weir_execution_claimant *self,
                                  const struct weir_command *command)
{
    if (self->options.lane_count == 0)
        return weir_command_misuse(command, "no lane is named: --lane LANE is needed");
    return WEIR_EXIT_DONE;
}
