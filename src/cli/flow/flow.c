/*
 * flow.c - `weir flow ...`: the group; its commands are in the files flow_*.c.
 */
#include "base/count.h"
#include "cli/command.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_flow_create, &weir_cli_flow_add,  &weir_cli_flow_edge,
    &weir_cli_flow_show,   &weir_cli_flow_list, &weir_cli_flow_cancel,
};

const struct weir_command weir_cli_flow = {
    .name = "flow",
    .summary = "make flows of executions, show, list and cancel them",
    .usage = "COMMAND [OPTION...]",
    .details =
        "A flow is a graph of executions that wait for each other. Its members are\n"
        "executions: workers claim them and operators decide about them as about any\n"
        "other, see 'weir execution --help'. A member is claimed when those that it\n"
        "waits for have ended well: all of them, any, or as many as its join says. It\n"
        "may be given their results. One that can no longer come to its turn is\n"
        "skipped, and the flow ends with its last member.\n"
        "\n"
        "  flow=$(weir flow create --kind order)\n"
        "  first=$(weir flow add $flow --lane shop --kind reserve)\n"
        "  weir flow add $flow --lane shop --kind ship --after $first\n"
        "  weir flow show $flow\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};
