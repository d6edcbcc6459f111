/*
 * subscription_seek.c - `weir subscription seek`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/literal/moment.h"
#include "base/noun.h"
#include "cli/reply.h"
#include "cli/subscription/subscription_target.h"
#include "view/subscription_records.h"
#include "weir/message.h"

static int run(const struct weir_command *self, int argc, char **argv);

struct seek_call {
    struct weir_subscription_target target;
    struct weir_seek seek;
    bool has_place;
    struct weir_session session;
    struct weir_seek_info infos[WEIR_PARTITIONS_MAX];
    size_t count;
};

static int parse_place(const struct weir_command *self,
                       const struct weir_command_option *option, char *word, void *out)
{
    struct weir_seek seek = *(struct weir_seek *)out;
    int code = WEIR_EXIT_DONE;

    if (strcmp(word, "beginning") == 0) {
        seek.to = WEIR_SEEK_BEGINNING;
    } else if (strcmp(word, "now") == 0) {
        seek.to = WEIR_SEEK_NOW;
    } else if (word[0] != '\0' && strspn(word, "0123456789") == strlen(word)) {
        seek.to = WEIR_SEEK_SEQ;
        code = weir_command_number(self, option->name, word, 1, INT64_MAX, &seek.seq);
    } else {
        seek.to = WEIR_SEEK_TIME;
        if (!weir_moment_parse(word, &seek.time_us))
            code = weir_command_misuse(self,
                                       "--to is '%s', must be beginning, now, a number "
                                       "or a time as in 2026-11-17T20:00:00Z",
                                       word);
    }
    if (code == WEIR_EXIT_DONE)
        *(struct weir_seek *)out = seek;
    return code;
}

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('t', "to", "PLACE", "beginning, now, a number or a time",
                WEIR_AS_PARSED(struct seek_call, seek, struct weir_seek, parse_place),
                WEIR_ALSO_SET(struct seek_call, has_place)),
    WEIR_OPTION(
        'p', "partition", "N", "only this partition",
        WEIR_AS_NUMBER(struct seek_call, seek.partition, 0, WEIR_PARTITIONS_MAX - 1),
        WEIR_ALSO_SET(struct seek_call, seek.only)),
    WEIR_OPTION('n', "dry-run", NULL, "only say what would be done",
                WEIR_AS_FLAG(struct seek_call, seek.dry_run)),
};
static const struct weir_command_option OPERANDS[] = {
    WEIR_SUBSCRIPTION_OPERANDS(struct seek_call),
};

const struct weir_command weir_cli_subscription_seek = {
    .name = "subscription seek",
    .summary = "deliver to a subscription from another place on",
    .usage = "QUEUE NAME --to PLACE [--partition N] [--dry-run]",
    .details =
        "  beginning   from the oldest message that is kept\n"
        "  now         leave out everything that is committed\n"
        "  SEQ         go on with the message of this number, of one partition\n"
        "  TIME        go on with the first message, in the order of delivery, that\n"
        "              was created then or later, as in 2026-11-17T20:00:00Z\n"
        "\n"
        "Messages keep their numbers. Those that had been passed and come again have\n"
        "the header 'weir-replay'. Processes that serve the subscription go on from\n"
        "there within a few seconds; what they have in hand is not acknowledged any\n"
        "more, and may come again. What is left out is removed when all other\n"
        "subscriptions have had it. A place before the oldest message there is is\n"
        "refused, and the oldest is named.\n"
        "\n"
        "  weir subscription seek orders archive --to beginning --dry-run\n"
        "  weir subscription seek orders archive --to 1042 --partition 3\n",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run,
};

static void keep(void *state, const struct weir_seek_info *info)
{
    struct seek_call *self = state;

    self->infos[self->count++] = *info;
}

static void print_sum(const char *would, const char *what, int64_t sum)
{
    if (sum > 0)
        printf("; %" PRId64 " %s %s%s", sum, WEIR_NOUN(sum, "message", "messages"), would,
               what);
}

static int tell(const struct seek_call *self)
{
    const struct weir_subscription_moved row = {
        .queue = self->target.queue,
        .subscription = self->target.name,
        .moved = !self->seek.dry_run,
        .partitions = self->infos,
        .count = self->count,
    };
    bool dry = self->seek.dry_run;
    int64_t again = 0;
    int64_t left_out = 0;

    if (self->session.shared.json)
        return weir_reply_json(&self->session, &weir_subscription_moved_record, &row);
    if (self->session.shared.quiet && !dry)
        return WEIR_EXIT_DONE;
    for (size_t i = 0; i < self->count; i++) {
        int64_t moved = self->infos[i].seq_after - self->infos[i].seq_before;

        again += moved < 0 ? -moved : 0;
        left_out += moved > 0 ? moved : 0;
    }
    printf("subscription '%s' of queue '%s' %s", self->target.name, self->target.queue,
           dry ? "would be moved" : "moved");
    if (again == 0 && left_out == 0)
        printf(": nothing lies between");
    print_sum(dry ? "would " : "", "come again", again);
    print_sum(dry ? "would be " : "", "left out", left_out);
    if (self->count == 1)
        printf("; message %" PRId64 " %s next", self->infos[0].seq_after + 1,
               dry ? "would be" : "is");
    putchar('\n');
    return WEIR_EXIT_DONE;
}

static int seek(void *state)
{
    struct seek_call *self = state;
    struct weir_error error = {0};

    if (weir_outbox_seek_subscription(self->session.outbox, self->target.queue,
                                      self->target.name, &self->seek, keep, self,
                                      &error) == WEIR_OK)
        return tell(self);
    if (error.status == WEIR_OUT_OF_RANGE)
        return weir_command_fail(self->session.command, "%s", error.text);
    if (error.status == WEIR_INVALID && self->seek.to == WEIR_SEEK_SEQ &&
        !self->seek.only)
        return weir_command_misuse(self->session.command, "%s with --partition N",
                                   error.text);
    return weir_subscription_target_fail(&self->target, &self->session, &error);
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct seek_call seek_call = {.count = 0};
    int code = weir_command_parse(self, argc, argv, &seek_call, sizeof seek_call);

    if (code < 0 && !seek_call.has_place)
        code = weir_command_misuse(self, "where to? --to PLACE is needed, as in --to "
                                         "beginning");
    if (code >= 0)
        return code;
    return weir_session_run(&seek_call.session, self, WEIR_SESSION_OUTBOX, seek,
                            &seek_call);
}
