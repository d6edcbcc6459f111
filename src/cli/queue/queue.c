/*
 * queue.c - `weir queue ...`: the group; each command of it is a file of its own.
 */
#include "base/count.h"
#include "cli/command.h"

static const struct weir_command *const MEMBERS[] = {
    &weir_cli_queue_add,   &weir_cli_queue_set,    &weir_cli_queue_list,
    &weir_cli_queue_pause, &weir_cli_queue_resume, &weir_cli_queue_remove,
};

const struct weir_command weir_cli_queue = {
    .name = "queue",
    .summary = "add, change, list, pause, resume and remove queues",
    .usage = "COMMAND [OPTION...]",
    .details =
        "A queue has a name and a number of partitions. Messages with the same key\n"
        "go to the same partition, and each partition is delivered in order.\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};
