/*
 * dlq.c - `weir dlq ...`: the group; its commands are in the files dlq_*.c.
 */
#include "base/count.h"
#include "cli/command.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_dlq_list,    &weir_cli_dlq_show,    &weir_cli_dlq_claim,
    &weir_cli_dlq_resolve, &weir_cli_dlq_reject,  &weir_cli_dlq_requeue,
    &weir_cli_dlq_discard, &weir_cli_dlq_cleanup,
};

const struct weir_command weir_cli_dlq = {
    .name = "dlq",
    .summary = "look at dead letters, and decide what becomes of them",
    .usage = "COMMAND [OPTION...]",
    .details = "A message that was rejected, or has failed too often, is kept as a dead\n"
               "letter of the subscription that could not handle it.\n"
               "\n"
               "  pending        waits for a decision\n"
               "  reprocessing   claimed by an operator, until a deadline\n"
               "  resolved       taken care of, or requeued\n"
               "  discarded      not needed\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};
