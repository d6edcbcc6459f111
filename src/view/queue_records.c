/*
 * queue_records.c - see queue_records.h.
 */
#include "view/queue_records.h"

#include "base/text.h"
#include "view/policy_words.h"
#include "weir/heap.h"
#include "weir/inspect.h"

/* As in the log: from here on a clock is wrong. */
#define CLOCK_OFF_S_MAX 5.0

/* ---- queues ------------------------------------------------------------------------ */

static enum weir_tone paused_tone(const void *row)
{
    const struct weir_queue_info *info = row;

    return info->paused ? WEIR_TONE_CAREFUL : WEIR_TONE_PLAIN;
}

static enum weir_tone dead_letters_tone(const void *row)
{
    const struct weir_queue_info *info = row;

    return info->dead_letters > 0 ? WEIR_TONE_BAD : WEIR_TONE_PLAIN;
}

static const char *unread_word(const void *row)
{
    const struct weir_queue_info *info = row;

    return weir_policy_words_unread(info->unread);
}

static const char *policies_words(const void *row, int64_t now_us, char *out)
{
    const struct weir_queue_info *info = row;
    const struct weir_queue_options policies = {
        .unread = info->unread,
        .backlog_max = info->backlog_max,
        .attempts_max = info->attempts_max,
        .dead_letter_retention_ns = info->dead_letter_retention_us * 1000,
        .retain_ns = info->retain_us * 1000,
    };
    struct weir_buf text;

    (void)now_us;
    weir_buf_init(&text, weir_heap_system(), WEIR_CELL_SIZE);
    weir_policy_words_append_set(&text, &policies);
    weir_text_format(out, WEIR_CELL_SIZE, "%s", weir_buf_text(&text));
    weir_buf_fini(&text);
    return out;
}

#define QUEUE(...) WEIR_FIELD(struct weir_queue_info, __VA_ARGS__)
static const struct weir_record_field QUEUE_FIELDS[] = {
    QUEUE("name", name, TEXT, "Name of the queue.", .title = "queue", .cut_to = 12),
    QUEUE("partitions", partitions, I32, "Number of partitions.", .title = "partitions",
          .rank = 4),
    QUEUE("paused", paused, FLAG, "Delivery is paused.", .title = "paused", .rank = 3,
          .tone = paused_tone),
    QUEUE("subscriptions", subscriptions, U32, "Number of subscriptions.",
          .title = "subscriptions", .rank = 5),
    WEIR_FIELD_OF("unread", WORD,
                  "Messages without a subscription: `keep` or `drop` them.",
                  .word = unread_word),
    QUEUE("backlog_max", backlog_max, I64,
          "Enqueueing is refused beyond this number of messages; 0: no limit."),
    QUEUE("waiting", waiting, I64,
          "Messages that the subscription furthest behind has not acknowledged.",
          .title = "waiting",
          .estimate = WEIR_FLAG_AT(struct weir_queue_info, waiting_is_estimate)),
    QUEUE("waiting_is_estimate", waiting_is_estimate, FLAG,
          "`waiting` is an estimate; `~` in the table."),
    QUEUE("oldest_age_seconds", oldest_age_us, US,
          "Age of the oldest message that waits; 0: none waits.", .title = "oldest"),
    QUEUE("in_per_second", in_per_s, RATE, "Messages enqueued per second; an estimate.",
          .title = "in/s", .rank = 2),
    QUEUE("out_per_second", out_per_s, RATE,
          "Messages acknowledged per second by live processes.", .title = "out/s",
          .rank = 1),
    QUEUE("set_aside", aside, I64, "Messages kept for a slow subscription.",
          .title = "set aside", .rank = 6),
    QUEUE("dead_letters", dead_letters, I64, "Dead letters that are pending.",
          .title = "dead letters", .tone = dead_letters_tone),
    WEIR_FIELD_OF(NULL, WORD, "Policies that are not at their default.",
                  .title = "policies", .cut_to = 10, .rank = 7, .derive = policies_words),
    QUEUE("attempts_max", attempts_max, U32,
          "Failed attempts after which a message becomes a dead letter; 0: no limit."),
    QUEUE("dead_letter_retention_seconds", dead_letter_retention_us, US,
          "Resolved and discarded dead letters are removed after this; 0: never."),
    QUEUE("retain_seconds", retain_us, US,
          "Messages that every subscription has passed are kept for this; 0: not."),
    QUEUE("complete_since", whole_from_us, TIME,
          "All messages enqueued since then are still stored."),
};

const struct weir_record weir_queue_record =
    WEIR_RECORD("queue", QUEUE_FIELDS, "A queue, and what waits in it.");

/* ---- partitions -------------------------------------------------------------------- */

static enum weir_tone attempts_tone(const void *row)
{
    const struct weir_partition_info *info = row;

    return info->attempts > 0 ? WEIR_TONE_BAD : WEIR_TONE_PLAIN;
}

#define PARTITION(...) WEIR_FIELD(struct weir_partition_info, __VA_ARGS__)
static const struct weir_record_field PARTITION_FIELDS[] = {
    PARTITION("subscription", subscription, TEXT, "Name of the subscription.",
              .title = "subscription", .cut_to = 10),
    PARTITION("partition", partition, I32, "Number of the partition, from 0.",
              .title = "partition"),
    PARTITION("seq", seq, I64, "Number of the last message acknowledged; 0: none yet.",
              .title = "seq", .rank = 2),
    PARTITION("waiting", waiting, I64, "Messages not acknowledged yet.",
              .title = "waiting",
              .estimate = WEIR_FLAG_AT(struct weir_partition_info, waiting_is_estimate)),
    PARTITION("waiting_is_estimate", waiting_is_estimate, FLAG,
              "`waiting` is an estimate; `~` in the table."),
    PARTITION("oldest_age_seconds", oldest_age_us, US,
              "Age of the oldest message that waits; 0: none waits.", .title = "oldest",
              .rank = 1),
    PARTITION("attempts", attempts, U32, "Failed attempts of the message at the head.",
              .title = "attempts", .rank = 3, .tone = attempts_tone),
    PARTITION("retry_in_seconds", retry_in_us, US,
              "Time until the next attempt; 0: none is waited for.", .title = "retry in",
              .rank = 4, .tone = attempts_tone),
    PARTITION("last_error", last_error, TEXT, "Text of the last failure; or empty.",
              .title = "last error", .column = 99, .cut_to = 12, .tone = attempts_tone),
    PARTITION("owner", owner, TEXT, "Process that holds the lease; or empty.",
              .title = "owner", .cut_to = 10, .rank = 5, .empty = "-"),
    PARTITION("epoch", epoch, I64, "Fencing token of the owner.", .title = "epoch",
              .rank = 7),
    PARTITION("lease_left_seconds", lease_left_us, US,
              "Time until the lease ends; 0: no lease, or it has ended.",
              .title = "lease left", .rank = 6),
    PARTITION("crashes", crashes, U32,
              "Owners in a row that ended without releasing the partition."),
};

const struct weir_record weir_partition_record =
    WEIR_RECORD("partition", PARTITION_FIELDS,
                "A partition as one subscription sees it: position, failures, owner.");

/* ---- processes --------------------------------------------------------------------- */

static bool has_wrong_clock(const struct weir_process_info *info)
{
    double off_s = (double)info->clock_off_us / 1e6;

    return off_s > CLOCK_OFF_S_MAX || off_s < -CLOCK_OFF_S_MAX;
}

static enum weir_tone remark_tone(const void *row)
{
    const struct weir_process_info *info = row;

    return has_wrong_clock(info) || info->name_used_twice || info->library_is_older
               ? WEIR_TONE_BAD
               : WEIR_TONE_PLAIN;
}

/* What needs an operator; "" if nothing does. */
static const char *remark(const void *row, int64_t now_us, char *out)
{
    const struct weir_process_info *info = row;
    double off_s = (double)info->clock_off_us / 1e6;
    bool wrong_clock = has_wrong_clock(info);
    char clock[48] = "";

    (void)now_us;
    if (wrong_clock)
        weir_text_format(clock, sizeof clock, "clock %.1f s %s",
                         off_s < 0 ? -off_s : off_s, off_s < 0 ? "behind" : "ahead");
    weir_text_format(
        out, WEIR_CELL_SIZE, "%s%s%s%s%s", info->name_used_twice ? "name used twice" : "",
        info->name_used_twice && wrong_clock ? ", " : "", clock,
        info->library_is_older && (info->name_used_twice || wrong_clock) ? ", " : "",
        info->library_is_older ? "older library" : "");
    return out;
}

static const char *alive_by_word(const void *row)
{
    const struct weir_process_info *info = row;

    return info->alive_by == WEIR_ALIVE_BY_LOCK ? "lock" : "lease";
}

#define PROCESS(...) WEIR_FIELD(struct weir_process_info, __VA_ARGS__)
static const struct weir_record_field PROCESS_FIELDS[] = {
    PROCESS("process", name, TEXT,
            "Name of the process: host and process id, unless it was given another.",
            .title = "process", .cut_to = 12),
    PROCESS("queue", queue, TEXT, "Queue that it delivers.", .title = "queue",
            .cut_to = 10),
    PROCESS("subscription", subscription, TEXT, "Subscription that it serves.",
            .title = "subscription", .cut_to = 10),
    PROCESS("partitions", partitions, U32, "Partitions whose leases it holds.",
            .title = "partitions", .rank = 2),
    PROCESS("out_per_second", out_per_s, RATE,
            "Messages acknowledged per second, of late.", .title = "out/s"),
    PROCESS("delivered", delivered, U64, "Messages acknowledged so far.",
            .title = "delivered", .rank = 3),
    PROCESS("up_seconds", up_us, US, "Time since it began to serve.", .title = "up",
            .rank = 1),
    WEIR_FIELD_OF("alive_by", WORD, "What proves that it is alive: `lock` or `lease`.",
                  .title = "alive by", .rank = 5, .word = alive_by_word),
    PROCESS("library", library, TEXT, "Its version of weir; empty if unknown.",
            .title = "library", .rank = 4, .empty = "?"),
    PROCESS("library_is_older", library_is_older, FLAG,
            "Its version is older than that of the program."),
    PROCESS("clock_off_seconds", clock_off_us, US,
            "Its wall clock minus that of the database."),
    PROCESS("name_used_twice", name_used_twice, FLAG,
            "Another live process has the same name."),
    WEIR_FIELD_OF(NULL, WORD, "What needs an operator.", .title = "remark", .cut_to = 12,
                  .empty = "-", .derive = remark, .tone = remark_tone),
};

const struct weir_record weir_process_record =
    WEIR_RECORD("process", PROCESS_FIELDS, "A live process that serves a subscription.");

/* ---- answers ----------------------------------------------------------------------- */

static void each_changed(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_queue_change *change = row;

    weir_policy_words_each(change->changed, emit, state);
}

static const char *unread_now(const void *row)
{
    const struct weir_queue_change *change = row;

    return weir_policy_words_unread(change->now.unread);
}

#define CHANGE(...) WEIR_FIELD(struct weir_queue_change, __VA_ARGS__)
static const struct weir_record_field CHANGE_FIELDS[] = {
    CHANGE("queue", now.name, TEXT, "Name of the queue."),
    CHANGE("partitions", now.partitions, I32, "Number of partitions."),
    CHANGE("added", added, FLAG, "The queue did not exist before."),
    WEIR_FIELD_OF("changed", WORDS, "Policies that have another value than before.",
                  .each = each_changed),
    WEIR_FIELD_OF("unread", WORD,
                  "Messages without a subscription: `keep` or `drop` them.",
                  .word = unread_now),
    CHANGE("backlog_max", now.backlog_max, I64,
           "Enqueueing is refused beyond this number of messages; 0: no limit."),
    CHANGE("attempts_max", now.attempts_max, U32,
           "Failed attempts after which a message becomes a dead letter; 0: no limit."),
    CHANGE("dead_letter_retention_seconds", now.dead_letter_retention_ns, NS,
           "Resolved and discarded dead letters are removed after this; 0: never."),
    CHANGE("retain_seconds", now.retain_ns, NS,
           "Messages that every subscription has passed are kept for this; 0: not."),
};

const struct weir_record weir_queue_change_record =
    WEIR_RECORD("queue change", CHANGE_FIELDS,
                "The answer of `weir queue add` and `weir queue set`.");

#define PAUSED(...) WEIR_FIELD(struct weir_queue_paused, __VA_ARGS__)
static const struct weir_record_field PAUSED_FIELDS[] = {
    PAUSED("queue", queue, TEXT, "Name of the queue."),
    PAUSED("paused", paused, FLAG, "Delivery is paused."),
};

const struct weir_record weir_queue_paused_record =
    WEIR_RECORD("queue paused", PAUSED_FIELDS,
                "The answer of `weir queue pause` and `weir queue resume`.");

#define REMOVED(...) WEIR_FIELD(struct weir_queue_removed, __VA_ARGS__)
static const struct weir_record_field REMOVED_FIELDS[] = {
    REMOVED("queue", queue, TEXT, "Name of the queue."),
    REMOVED("removed", removed, FLAG, "It was removed; false with `--dry-run`."),
    REMOVED("subscriptions", subscriptions, U32, "Subscriptions it had."),
    REMOVED("waiting", waiting, I64, "Messages that waited."),
    REMOVED("waiting_is_estimate", waiting_is_estimate, FLAG,
            "`waiting` is an estimate."),
    REMOVED("dead_letters", dead_letters, I64, "Dead letters that were pending."),
};

const struct weir_record weir_queue_removed_record =
    WEIR_RECORD("queue removed", REMOVED_FIELDS, "The answer of `weir queue remove`.");
