/*
 * subscription_records.c - see subscription_records.h.
 */
#include "view/subscription_records.h"

/* ---- subscriptions ----------------------------------------------------------------- */

static const char *serving_word(const void *row)
{
    const struct weir_subscription_info *info = row;

    return info->serving == WEIR_SERVED_BY_SINK ? "sink" : "handler";
}

static const char *paused_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_subscription_info *info = row;

    (void)now_us;
    (void)out;
    if (info->paused)
        return "yes";
    return info->queue_paused ? "queue" : "no";
}

static enum weir_tone paused_tone(const void *row)
{
    const struct weir_subscription_info *info = row;

    return info->paused || info->queue_paused ? WEIR_TONE_CAREFUL : WEIR_TONE_PLAIN;
}

static enum weir_tone dead_letters_tone(const void *row)
{
    const struct weir_subscription_info *info = row;

    return info->dead_letters > 0 ? WEIR_TONE_BAD : WEIR_TONE_PLAIN;
}

#define SUBSCRIPTION(...) WEIR_FIELD(struct weir_subscription_info, __VA_ARGS__)
static const struct weir_record_field SUBSCRIPTION_FIELDS[] = {
    SUBSCRIPTION("queue", queue, TEXT, "Name of the queue.", .title = "queue",
                 .cut_to = 12),
    SUBSCRIPTION("name", name, TEXT, "Name of the subscription.", .title = "subscription",
                 .cut_to = 12),
    WEIR_FIELD_OF("served_by", WORD, "What serves it: `handler` or `sink`.",
                  .title = "served by", .rank = 3, .word = serving_word),
    SUBSCRIPTION("processes", processes, U32, "Live processes that serve it.",
                 .title = "processes", .rank = 2),
    SUBSCRIPTION("paused", paused, FLAG, "It is paused.", .title = "paused", .rank = 1,
                 .cell = paused_cell, .tone = paused_tone),
    SUBSCRIPTION("queue_paused", queue_paused, FLAG, "Its queue is paused."),
    SUBSCRIPTION("waiting", waiting, I64,
                 "Messages not acknowledged yet, of all partitions.", .title = "waiting",
                 .estimate =
                     WEIR_FLAG_AT(struct weir_subscription_info, waiting_is_estimate)),
    SUBSCRIPTION("waiting_is_estimate", waiting_is_estimate, FLAG,
                 "`waiting` is an estimate; `~` in the table."),
    SUBSCRIPTION("oldest_age_seconds", oldest_age_us, US,
                 "Age of the oldest message that waits; 0: none waits.",
                 .title = "oldest"),
    SUBSCRIPTION("dead_letters", dead_letters, I64,
                 "Dead letters that wait for a decision, claimed ones included.",
                 .title = "dead letters", .tone = dead_letters_tone),
    SUBSCRIPTION("created_at", created_us, TIME, "When it was made.", .title = "made",
                 .rank = 4),
};

const struct weir_record weir_subscription_record =
    WEIR_RECORD("subscription", SUBSCRIPTION_FIELDS,
                "A subscription, and what waits for it: `weir subscription list`.");

/* ---- answers ----------------------------------------------------------------------- */

#define PAUSED(...) WEIR_FIELD(struct weir_subscription_paused, __VA_ARGS__)
static const struct weir_record_field PAUSED_FIELDS[] = {
    PAUSED("queue", queue, TEXT, "Name of the queue."),
    PAUSED("subscription", subscription, TEXT, "Name of the subscription."),
    PAUSED("paused", paused, FLAG, "Delivery is paused."),
};

const struct weir_record weir_subscription_paused_record =
    WEIR_RECORD("subscription paused", PAUSED_FIELDS,
                "The answer of `weir subscription pause` and `resume`.");

#define REMOVED(...) WEIR_FIELD(struct weir_subscription_removed, __VA_ARGS__)
static const struct weir_record_field REMOVED_FIELDS[] = {
    REMOVED("queue", queue, TEXT, "Name of the queue."),
    REMOVED("subscription", subscription, TEXT, "Name of the subscription."),
    REMOVED("removed", removed, FLAG, "It was removed; false with `--dry-run`."),
    REMOVED("processes", processes, U32, "Live processes that served it."),
    REMOVED("waiting", waiting, I64, "Messages that waited for it."),
    REMOVED("waiting_is_estimate", waiting_is_estimate, FLAG,
            "`waiting` is an estimate."),
    REMOVED("dead_letters", dead_letters, I64, "Its dead letters."),
};

const struct weir_record weir_subscription_removed_record = WEIR_RECORD(
    "subscription removed", REMOVED_FIELDS, "The answer of `weir subscription remove`.");

/* Positions are those of the last message passed; the next one is what people want. */
static int64_t next_before(const void *row)
{
    const struct weir_seek_info *info = row;

    return info->seq_before + 1;
}

static int64_t next_after(const void *row)
{
    const struct weir_seek_info *info = row;

    return info->seq_after + 1;
}

static const struct weir_record_field PARTITION_FIELDS[] = {
    WEIR_FIELD(struct weir_seek_info, "partition", partition, I32,
               "Number of the partition."),
    WEIR_FIELD_OF("from", I64, "Message that was next before.", .compute = next_before),
    WEIR_FIELD_OF("to", I64, "Message that is next now.", .compute = next_after),
};

const struct weir_record weir_partition_moved_record =
    WEIR_RECORD("partition moved", PARTITION_FIELDS,
                "A partition whose position `weir subscription seek` has moved.");

static void each_partition(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_subscription_moved *moved = row;

    for (size_t i = 0; i < moved->count; i++)
        emit(state, &moved->partitions[i]);
}

#define MOVED(...) WEIR_FIELD(struct weir_subscription_moved, __VA_ARGS__)
static const struct weir_record_field MOVED_FIELDS[] = {
    MOVED("queue", queue, TEXT, "Name of the queue."),
    MOVED("subscription", subscription, TEXT, "Name of the subscription."),
    MOVED("moved", moved, FLAG, "It was moved; false with `--dry-run`."),
    WEIR_FIELD_OF("partitions", LIST, "Partitions, in order.",
                  .record = &weir_partition_moved_record, .each = each_partition),
};

const struct weir_record weir_subscription_moved_record = WEIR_RECORD(
    "subscription moved", MOVED_FIELDS, "The answer of `weir subscription seek`.");
