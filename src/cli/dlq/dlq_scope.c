/*
 * dlq_scope.c - see dlq_scope.h.
 */
#include "cli/dlq/dlq_scope.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "db/clock.h"
#include "weir/worker.h"

void weir_dlq_scope_init(struct weir_dlq_scope *self)
{
    weir_dead_letter_scope_init(&self->scope);
    self->id_count = 0;
    self->narrowed = false;
}

bool weir_dlq_scope_has(int option)
{
    return option == WEIR_DLQ_QUEUE || option == WEIR_DLQ_SUBSCRIPTION ||
           option == WEIR_DLQ_PARTITION || option == WEIR_DLQ_LIMIT ||
           (option >= WEIR_DLQ_KEY && option <= WEIR_DLQ_BEFORE);
}

/* A time ago, by the clock of this machine. */
static int take_ago(const struct weir_command *command, const char *option, int64_t *out)
{
    int64_t ago_ns = 0;
    int code =
        weir_command_duration(command, option, optarg, 0, WEIR_DURATION_MAX, &ago_ns);

    *out = weir_clock_wall_us() - ago_ns / 1000;
    return code;
}

int weir_dlq_scope_take(struct weir_dlq_scope *self, const struct weir_command *command,
                        int option)
{
    struct weir_dead_letter_scope *scope = &self->scope;
    int64_t number = 0;
    int code = WEIR_EXIT_DONE;

    self->narrowed = true;
    switch (option) {
    case WEIR_DLQ_QUEUE:
        scope->queue = optarg;
        break;
    case WEIR_DLQ_SUBSCRIPTION:
        scope->subscription = optarg;
        break;
    case WEIR_DLQ_PARTITION:
        code = weir_command_number(command, "partition", optarg, 0,
                                   WEIR_PARTITIONS_MAX - 1, &number);
        scope->partition = (int32_t)number;
        break;
    case WEIR_DLQ_KEY:
        scope->key = optarg;
        break;
    case WEIR_DLQ_TYPE:
        scope->type = optarg;
        break;
    case WEIR_DLQ_SINCE:
        code = take_ago(command, "since", &scope->failed_from_us);
        break;
    case WEIR_DLQ_BEFORE:
        code = take_ago(command, "before", &scope->failed_until_us);
        break;
    default:
        code = weir_command_number(command, "limit", optarg, 1, INT64_MAX, &scope->limit);
        break;
    }
    return code;
}

int weir_dlq_scope_take_ids(struct weir_dlq_scope *self,
                            const struct weir_command *command, int argc, char **argv)
{
    for (int i = optind; i < argc; i++) {
        size_t digits = strspn(argv[i], "0123456789");
        long long id;

        errno = 0;
        id = strtoll(argv[i], NULL, 10);
        if (digits == 0 || argv[i][digits] != '\0' || errno != 0)
            return weir_command_misuse(command, "'%s' is no id of a dead letter",
                                       argv[i]);
        if (self->id_count == WEIR_DLQ_IDS_MAX)
            return weir_command_misuse(command, "more than %d ids", WEIR_DLQ_IDS_MAX);
        self->ids[self->id_count++] = id;
    }
    return WEIR_EXIT_DONE;
}

int weir_dlq_scope_fail(const struct weir_dlq_scope *self,
                        const struct weir_session *session,
                        const struct weir_error *error)
{
    /* A missing queue is known by its text; a missing subscription tells itself. */
    bool queue = error->status == WEIR_NOT_FOUND && self->scope.queue != NULL &&
                 strncmp(error->text, "there is no queue", 17) == 0;

    return weir_session_fail(session, error, queue ? self->scope.queue : NULL);
}
