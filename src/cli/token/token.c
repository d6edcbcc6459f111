/*
 * token.c - `weir token ...`: the group; each command of it is a file of its own.
 */
#include "base/count.h"
#include "cli/command.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_token_create,
    &weir_cli_token_list,
    &weir_cli_token_rotate,
    &weir_cli_token_revoke,
};

const struct weir_command weir_cli_token = {
    .name = "token",
    .summary = "create, list, rotate and revoke tokens of clients",
    .usage = "COMMAND [OPTION...]",
    .details =
        "A token says what a client of a server may do, and in which queues, lanes\n"
        "and namespaces. The database stores its hash alone.\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};
