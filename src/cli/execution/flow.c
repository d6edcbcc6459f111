/*
 * flow.c - `weir flow ...`: the group; its commands are in the files flow_*.c.
 */
#include "cli/command.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_flow_submit,     &weir_cli_flow_get,      &weir_cli_flow_result,
    &weir_cli_flow_list,       &weir_cli_flow_claim,    &weir_cli_flow_renew,
    &weir_cli_flow_progress,   &weir_cli_flow_complete, &weir_cli_flow_fail,
    &weir_cli_flow_delay,      &weir_cli_flow_abandon,  &weir_cli_flow_suspend,
    &weir_cli_flow_waitpoint,  &weir_cli_flow_cancel,   &weir_cli_flow_revoke,
    &weir_cli_flow_prioritise, &weir_cli_flow_replay,   &weir_cli_flow_waitpoints,
    &weir_cli_flow_signal,     &weir_cli_flow_signals,  &weir_cli_flow_approve,
    &weir_cli_flow_resume,     &weir_cli_flow_key,      &weir_cli_flow_budget,
    &weir_cli_flow_create,     &weir_cli_flow_add,      &weir_cli_flow_edge,
    &weir_cli_flow_show,       &weir_cli_flow_graphs,   &weir_cli_flow_work,
    &weir_cli_flow_supervise,
};

const struct weir_command weir_cli_flow = {
    .name = "flow",
    .summary = "submit executions, work on them, and look after them",
    .usage = "COMMAND [OPTION...]",
    .details =
        "An execution is a unit of work that ends exactly once. A worker claims it\n"
        "for a limited time, the lease, and says what became of it. A flow is a graph\n"
        "of executions that wait for each other, see 'weir flow create --help'.\n"
        "\n"
        "  waiting     for a worker of its lane\n"
        "  delayed     until a time: of its own, or of the next retry\n"
        "  waiting_children\n"
        "              for other members of its flow\n"
        "  active      a worker has it\n"
        "  suspended   until somebody answers, see 'weir flow suspend --help'\n"
        "  resumable   a worker gave it back, for another one to go on\n"
        "  rate_limited\n"
        "              a budget is used up, see 'weir flow budget --help'\n"
        "  completed, failed, cancelled, expired, skipped\n"
        "              it has ended\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = sizeof MEMBERS / sizeof MEMBERS[0],
};
