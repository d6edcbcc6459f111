/*
 * audit.c - `weir audit ...`: the group.
 */
#include "base/count.h"
#include "cli/command.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_audit_list,
};

const struct weir_command weir_cli_audit = {
    .name = "audit",
    .summary = "show what operators have done",
    .usage = "COMMAND [OPTION...]",
    .details = "Each command that changes something leaves a row, in the transaction of\n"
               "the change; one that is refused leaves a row, too. Rows are kept for 90\n"
               "days.\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};
