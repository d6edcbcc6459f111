/*
 * subscription.c - `weir subscription ...`: the group; each command of it is a file of
 * its own.
 */
#include "base/count.h"
#include "cli/command.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_subscription_list,   &weir_cli_subscription_pause,
    &weir_cli_subscription_resume, &weir_cli_subscription_seek,
    &weir_cli_subscription_remove,
};

const struct weir_command weir_cli_subscription = {
    .name = "subscription",
    .summary = "list, pause, resume, move and remove subscriptions",
    .usage = "COMMAND [OPTION...]",
    .details = "A subscription is a reader of a queue, with a place of its own in it:\n"
               "'weir relay --as NAME' makes one, or a handler of an application. From\n"
               "then on messages are kept until it has had them, also when nothing\n"
               "serves it any more.\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};
