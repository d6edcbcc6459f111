/*
 * message_records.c - see message_records.h.
 */
#include "view/message_records.h"

static bool is_lines(const void *row)
{
    const struct weir_enqueued *enqueued = row;

    return enqueued->lines;
}

static bool is_one(const void *row)
{
    return !is_lines(row);
}

#define ENQUEUED(...) WEIR_FIELD(struct weir_enqueued, __VA_ARGS__)
static const struct weir_record_field ENQUEUED_FIELDS[] = {
    ENQUEUED("queue", queue, TEXT, "Name of the queue."),
    ENQUEUED("count", count, I64, "Messages enqueued."),
    ENQUEUED("first_id", first_id, I64, "Id of the first; 0: none."),
    ENQUEUED("last_id", last_id, I64, "Id of the last; 0: none."),
    ENQUEUED("seconds", elapsed_ns, NS, "Of lines: how long it took.", .shown = is_lines),
    ENQUEUED("failed_line", failed_line, I64,
             "Of lines: number of the line that ended it.", .optional = true),
    ENQUEUED("partition", receipt.partition, I32, "Of one message: its partition.",
             .shown = is_one),
    ENQUEUED("uid", receipt.uid, UID, "Of one message: its uid.", .shown = is_one),
};

const struct weir_record weir_enqueued_record =
    WEIR_RECORD("enqueued", ENQUEUED_FIELDS, "The answer of `weir enqueue`.");

static void each_queue(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_relayed *relayed = row;

    relayed->each_queue(relayed->state, emit, state);
}

#define RELAYED(...) WEIR_FIELD(struct weir_relayed, __VA_ARGS__)
static const struct weir_record_field RELAYED_FIELDS[] = {
    WEIR_FIELD_OF("queues", WORDS, "Queues that were delivered.", .each = each_queue),
    RELAYED("as", as, TEXT, "Name of the subscription."),
    RELAYED("sink", sink, TEXT, "Where messages were delivered."),
    RELAYED("count", delivered, I64, "Messages delivered."),
    RELAYED("rejected", rejected, I64, "Messages that the sink rejected."),
    RELAYED("given_up", given_up, I64, "Messages that failed too often."),
    RELAYED("seconds", elapsed_ns, NS, "How long it took."),
    RELAYED("ended", ended, TEXT, "Why it ended."),
    RELAYED("unfinished", unfinished, SIZE,
            "Deliveries that did not end within the grace."),
    RELAYED("error", error, TEXT, "Why it was given up.", .optional = true),
};

const struct weir_record weir_relayed_record =
    WEIR_RECORD("relayed", RELAYED_FIELDS, "The answer of `weir relay`.");
