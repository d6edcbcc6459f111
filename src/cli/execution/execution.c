/*
 * execution.c - `weir execution ...`: the group; its commands are in the files flow_*.c
 * and wait_*.c.
 */
#include "base/count.h"
#include "cli/command.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_execution_get,        &weir_cli_execution_list,
    &weir_cli_execution_result,     &weir_cli_execution_claim,
    &weir_cli_execution_renew,      &weir_cli_execution_progress,
    &weir_cli_execution_complete,   &weir_cli_execution_fail,
    &weir_cli_execution_delay,      &weir_cli_execution_abandon,
    &weir_cli_execution_suspend,    &weir_cli_execution_waitpoint,
    &weir_cli_execution_waitpoints, &weir_cli_execution_signal,
    &weir_cli_execution_signals,    &weir_cli_execution_approve,
    &weir_cli_execution_resume,     &weir_cli_execution_cancel,
    &weir_cli_execution_revoke,     &weir_cli_execution_prioritise,
    &weir_cli_execution_replay,
};

const struct weir_command weir_cli_execution = {
    .name = "execution",
    .summary = "look at executions, claim and settle them, decide about them",
    .usage = "COMMAND [OPTION...]",
    .details =
        "An execution is a unit of work that ends exactly once. 'weir submit' makes\n"
        "one. A worker claims it for a limited time, the lease, and says what became of\n"
        "it; 'weir work' is such a worker, others do it with these commands. Executions\n"
        "that wait for each other are a flow, see 'weir flow --help'.\n"
        "\n"
        "  waiting     for a worker of its lane\n"
        "  delayed     until a time: of its own, or of the next retry\n"
        "  waiting_children\n"
        "              for other members of its flow\n"
        "  active      a worker has it\n"
        "  suspended   until a signal comes, see 'weir execution suspend --help'\n"
        "  resumable   a worker gave it back, for another one to go on\n"
        "  rate_limited\n"
        "              a budget is used up, see 'weir budget --help'\n"
        "  completed, failed, cancelled, expired, skipped\n"
        "              it has ended\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};
