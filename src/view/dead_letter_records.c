/*
 * dead_letter_records.c - see dead_letter_records.h.
 */
#include "view/dead_letter_records.h"

#include <inttypes.h>

#include "base/codec/base64.h"
#include "base/noun.h"
#include "base/text.h"
#include "base/utf8.h"

/* ---- dead letters ------------------------------------------------------------------ */

static enum weir_tone status_tone(const void *row)
{
    const struct weir_dead_letter *letter = row;

    if (letter->status == WEIR_DEAD_LETTER_PENDING)
        return WEIR_TONE_BAD;
    return letter->status == WEIR_DEAD_LETTER_REPROCESSING ? WEIR_TONE_CAREFUL
                                                           : WEIR_TONE_PLAIN;
}

static const char *status_word(const void *row)
{
    const struct weir_dead_letter *letter = row;

    return weir_dead_letter_status_name(letter->status);
}

/* For people requeued is a status of its own. */
static const char *spell_status(const void *row, int64_t now_us, char *out)
{
    const struct weir_dead_letter *letter = row;

    (void)now_us;
    (void)out;
    return letter->requeued ? "requeued" : status_word(row);
}

static const char *spell_origin(const void *row, int64_t now_us, char *out)
{
    const struct weir_dead_letter *letter = row;

    (void)now_us;
    weir_text_format(out, WEIR_CELL_SIZE, "%s/%s/%" PRId32 "/%" PRId64, letter->queue,
                     letter->subscription, letter->partition, letter->seq);
    return out;
}

static const char *failed_ago(const void *row, int64_t now_us, char *out)
{
    const struct weir_dead_letter *letter = row;

    return weir_output_ago(now_us - letter->failed_us, out);
}

static bool has_payload(const void *row)
{
    const struct weir_dead_letter *letter = row;

    return letter->payload != NULL;
}

static bool is_requeued(const void *row)
{
    const struct weir_dead_letter *letter = row;

    return letter->requeued;
}

static struct weir_str payload_of(const void *row)
{
    const struct weir_dead_letter *letter = row;

    return (struct weir_str){letter->payload, letter->payload_size};
}

static void each_header(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_dead_letter *letter = row;

    for (size_t i = 0; i < letter->header_count; i++)
        emit(state, &(struct weir_record_pair){letter->headers[i].name,
                                               letter->headers[i].value});
}

#define LETTER(...) WEIR_FIELD(struct weir_dead_letter, __VA_ARGS__)
static const struct weir_record_field LETTER_FIELDS[] = {
    LETTER("id", id, I64, "Number of the dead letter.", .title = "id",
           .line = "dead letter", .line_at = 1),
    LETTER("queue", queue, TEXT, "Queue of the message.", .title = "queue", .cut_to = 12,
           .line = "of", .line_at = 2, .full = spell_origin),
    LETTER("subscription", subscription, TEXT, "Subscription that rejected it.",
           .title = "subscription", .cut_to = 10, .rank = 2),
    LETTER("partition", partition, I32, "Partition of the message.", .title = "partition",
           .rank = 3),
    LETTER("seq", seq, I64, "Number of the message in its partition.", .title = "seq",
           .rank = 4),
    LETTER("uid", uid, UID, "Uid of the message.", .line = "uid", .line_at = 10),
    LETTER("key", key, TEXT, "Key of the message.", .title = "key", .cut_to = 8,
           .rank = 5, .empty = "-", .line = "key", .line_at = 12, .nullable = true),
    LETTER("type", type, TEXT, "Type of the message.", .title = "type", .cut_to = 8,
           .rank = 6, .empty = "", .line = "type", .line_at = 13),
    WEIR_FIELD_OF("headers", MAP, "Headers of the message; not for a viewer.",
                  .each = each_header, .shown = has_payload, .line = "headers",
                  .line_at = 14),
    WEIR_FIELD_OF("status", WORD, "`pending`, `reprocessing`, `resolved` or `discarded`.",
                  .title = "status", .word = status_word, .cell = spell_status,
                  .tone = status_tone, .line = "status", .line_at = 3,
                  .full = spell_status),
    LETTER("attempts", attempts, U32, "Attempts that have failed.", .title = "attempts",
           .rank = 1, .line = "attempts", .line_at = 4),
    LETTER("reason", reason, TEXT, "Why it was rejected last.", .title = "reason",
           .column = 99, .cut_to = 16, .empty = "", .line = "reason", .line_at = 5),
    LETTER("created_at", created_us, TIME, "When the message was enqueued.",
           .line = "created", .line_at = 6),
    LETTER("failed_at", failed_us, TIME, "When it was rejected last.", .title = "failed",
           .right = true, .cell = failed_ago, .line = "failed", .line_at = 7),
    LETTER("deadline_at", deadline_us, TIME, "When the claim runs out.",
           .line = "claimed until", .line_at = 8),
    LETTER("completed_at", completed_us, TIME, "When it was resolved or discarded.",
           .line = "completed", .line_at = 9),
    LETTER("requeued_uid", requeued_uid, UID, "Uid of the message that took its place.",
           .known = is_requeued, .line = "requeued as", .line_at = 11),
    LETTER("payload_size", payload_size, SIZE, "Bytes of the payload; not for a viewer.",
           .shown = has_payload),
};

const struct weir_record weir_dead_letter_record =
    WEIR_RECORD("dead letter", LETTER_FIELDS, "A message that was rejected.");

static const struct weir_record_field PAYLOAD_FIELDS[] = {
    WEIR_FIELD_OF(NULL, PART, "", .record = &weir_dead_letter_record),
    WEIR_FIELD_OF("payload", BYTES, "Payload of the message.", .bytes = payload_of),
};

const struct weir_record weir_dead_letter_payload_record =
    WEIR_RECORD("dead letter with payload", PAYLOAD_FIELDS,
                "A dead letter as `weir dlq show` and `claim` have it.");

void weir_dead_letter_append_payload(struct weir_buf *text,
                                     const struct weir_dead_letter *letter)
{
    struct weir_str payload = payload_of(letter);
    bool readable = weir_utf8_valid(payload);

    weir_buf_append_format(text, "%-13s %zu %s%s\n\n", "payload", payload.size,
                           WEIR_NOUN(payload.size, "byte", "bytes"),
                           readable ? "" : ", in base64");
    if (readable)
        weir_buf_append(text, payload.data, payload.size);
    else
        weir_base64_append(text, payload.data, payload.size);
}

/* ---- answers ----------------------------------------------------------------------- */

#define PAGE(...) WEIR_FIELD(struct weir_dead_letter_page, __VA_ARGS__)
static const struct weir_record_field PAGE_FIELDS[] = {
    PAGE("dead_letters", letters, LISTED, "Dead letters, newest failure first.",
         .record = &weir_dead_letter_record),
    PAGE("after", after, TEXT, "Mark of the next page.", .nullable = true),
};

const struct weir_record weir_dead_letter_page_record =
    WEIR_RECORD("dead letters", PAGE_FIELDS, "The answer of `weir dlq list`.");

static const char *spell_token(const void *row, int64_t now_us, char *out)
{
    const struct weir_dead_letters_claimed *claimed = row;

    (void)now_us;
    weir_text_format(out, WEIR_CELL_SIZE, "%" PRId64, claimed->token);
    return out;
}

#define CLAIMED(...) WEIR_FIELD(struct weir_dead_letters_claimed, __VA_ARGS__)
static const struct weir_record_field CLAIMED_FIELDS[] = {
    WEIR_FIELD_OF("token", WORD,
                  "Token of the claim; a text, since it has more digits than a double.",
                  .derive = spell_token),
    CLAIMED("for_seconds", for_ns, NS, "Time until the claim runs out."),
    CLAIMED("dead_letters", letters, LISTED, "Dead letters that were claimed.",
            .record = &weir_dead_letter_payload_record),
};

const struct weir_record weir_dead_letters_claimed_record = WEIR_RECORD(
    "dead letters claimed", CLAIMED_FIELDS, "The answer of `weir dlq claim`.");

static const struct weir_record_field REFUSED_FIELDS[] = {
    WEIR_FIELD(struct weir_dead_letter_refused, "id", id, I64,
               "Number of the dead letter."),
    WEIR_FIELD(struct weir_dead_letter_refused, "why", why, TEXT, "Why it was refused."),
};

const struct weir_record weir_dead_letter_refused_record = WEIR_RECORD(
    "dead letter refused", REFUSED_FIELDS, "A dead letter that a command left alone.");

#define COUNTS(...)                                                                      \
    WEIR_FIELD(struct weir_dead_letters_counts, __VA_ARGS__, .optional = true)
static const struct weir_record_field COUNTS_FIELDS[] = {
    COUNTS("resolved", resolved, I64, "Dead letters resolved."),
    COUNTS("rejected", rejected, I64, "Dead letters rejected again."),
    COUNTS("requeued", requeued, I64, "Dead letters requeued."),
    COUNTS("discarded", discarded, I64, "Dead letters discarded."),
    COUNTS("removed", removed, I64, "Dead letters removed for ever."),
};
static const struct weir_record COUNTS_RECORD =
    WEIR_RECORD("counts", COUNTS_FIELDS, "Numbers of dead letters.");

static void each_refused(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_dead_letters_decided *decided = row;

    for (size_t i = 0; i < decided->count; i++) {
        if (decided->verdicts[i] != WEIR_OK)
            emit(state, &(struct weir_dead_letter_refused){
                            decided->ids[i], weir_status_text(decided->verdicts[i])});
    }
}

static const struct weir_record_field DECIDED_FIELDS[] = {
    WEIR_FIELD_IN(struct weir_dead_letters_decided, NULL, counts, PART, &COUNTS_RECORD,
                  ""),
    WEIR_FIELD_OF("refused", LIST, "Dead letters that were left alone.",
                  .record = &weir_dead_letter_refused_record, .each = each_refused),
};

const struct weir_record weir_dead_letters_decided_record =
    WEIR_RECORD("dead letters decided", DECIDED_FIELDS,
                "The answer of `weir dlq resolve`, `reject`, `requeue` and `discard` of "
                "ids; it has the number of one command.");

static const struct weir_record_field SWEPT_FIELDS[] = {
    WEIR_FIELD_IN(struct weir_dead_letters_swept, NULL, counts, PART, &COUNTS_RECORD, ""),
    WEIR_FIELD(struct weir_dead_letters_swept, "dry_run", dry_run, FLAG,
               "Nothing was done: `--dry-run`."),
};

const struct weir_record weir_dead_letters_swept_record =
    WEIR_RECORD("dead letters swept", SWEPT_FIELDS,
                "The answer of `weir dlq requeue --all`, `discard --all` and `cleanup`; "
                "it has the number of one command.");

void weir_dead_letters_counts_set(struct weir_dead_letters_counts *self, const char *done,
                                  int64_t count)
{
    *self = (struct weir_dead_letters_counts){-1, -1, -1, -1, -1};
    weir_record_set(&COUNTS_RECORD, self, done, count);
}
