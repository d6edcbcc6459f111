/*
 * wait_records.c - see wait_records.h.
 */
#include "view/wait_records.h"

#include "base/text.h"
#include "base/utf8.h"

enum { PAYLOAD_SHOWN = 200 };

/* ---- suspensions ------------------------------------------------------------------- */

/* What becomes of it when it takes too long. */
static const char *const ENDS[WEIR_ON_TIMEOUT_COUNT] = {
    [WEIR_TIMEOUT_FAIL] = "then it fails",
    [WEIR_TIMEOUT_CANCEL] = "then it is cancelled",
    [WEIR_TIMEOUT_EXPIRE] = "then it expires",
    [WEIR_TIMEOUT_RESUME] = "then it goes on, with a signal 'timeout'",
    [WEIR_TIMEOUT_ESCALATE] = "then an operator is to look at it",
};

static bool is_escalated(const void *row)
{
    const struct weir_suspension_info *info = row;

    return info->escalated;
}

static const char *full_escalated(const void *row, int64_t now_us, char *out)
{
    const struct weir_suspension_info *info = row;
    char time[WEIR_OUTPUT_TIME_SIZE];

    (void)now_us;
    if (!info->escalated)
        return "";
    weir_text_format(out, WEIR_CELL_SIZE,
                     "%s: it took too long, an operator is to look at it",
                     weir_output_time(info->timeout_us, time));
    return out;
}

static const char *full_timeout(const void *row, int64_t now_us, char *out)
{
    const struct weir_suspension_info *info = row;
    char time[WEIR_OUTPUT_TIME_SIZE];

    (void)now_us;
    if (is_escalated(row) || info->timeout_us == 0)
        return "";
    weir_text_format(out, WEIR_CELL_SIZE, "%s, %s",
                     weir_output_time(info->timeout_us, time), ENDS[info->on_timeout]);
    return out;
}

static const char *reason_word(const void *row)
{
    const struct weir_suspension_info *info = row;

    return weir_suspend_reason_name(info->reason);
}

static const char *on_timeout_word(const void *row)
{
    const struct weir_suspension_info *info = row;

    return weir_on_timeout_name(info->on_timeout);
}

static void each_part(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_suspension_info *info = row;

    for (size_t i = 0; i < info->part_count; i++)
        emit(state, &info->parts[i]);
}

#define CONDITION(...) WEIR_FIELD(struct weir_condition_info, __VA_ARGS__)
static const struct weir_record_field CONDITION_FIELDS[] = {
    CONDITION("text", text, TEXT, "The part, as it was given."),
    CONDITION("wanted", wanted, U32, "How many signals it wants."),
    CONDITION("found", found, U32, "How many have come, up to `wanted`."),
};

const struct weir_record weir_condition_record =
    WEIR_RECORD("condition", CONDITION_FIELDS, "A part of what a suspension waits for.");

#define SUSPENSION(...) WEIR_FIELD(struct weir_suspension_info, __VA_ARGS__)
static const struct weir_record_field SUSPENSION_FIELDS[] = {
    SUSPENSION("until", until, TEXT, "Condition that ends it.", .empty = "",
               .line = "until", .line_at = 2),
    SUSPENSION("missing", missing, TEXT, "What is missing, in words; or empty.",
               .empty = "", .line = "waits for", .line_at = 1),
    WEIR_FIELD_OF("reason", WORD, "Why it was suspended.", .word = reason_word),
    SUSPENSION("since", since_us, TIME, "When it was suspended.", .line = "since",
               .line_at = 3),
    SUSPENSION("timeout_at", timeout_us, TIME, "When it has taken too long.",
               .line = "timeout", .line_at = 5, .full = full_timeout),
    WEIR_FIELD_OF("on_timeout", WORD, "What happens then.", .word = on_timeout_word),
    SUSPENSION("escalated", escalated, FLAG,
               "It took too long and waits for an operator.", .line = "escalated",
               .line_at = 4, .full = full_escalated),
    WEIR_FIELD_OF("parts", LIST, "Parts of the condition; all must hold.",
                  .record = &weir_condition_record, .each = each_part),
};

const struct weir_record weir_suspension_record =
    WEIR_RECORD("suspension", SUSPENSION_FIELDS, "What a suspended execution waits for.");

/* ---- waitpoints -------------------------------------------------------------------- */

static const char *waitpoint_state(const void *row)
{
    const struct weir_waitpoint_info *info = row;

    return weir_waitpoint_state_name(info->state);
}

static const char *expires_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_waitpoint_info *info = row;

    if (info->until_us == 0)
        return "-";
    return info->until_us > now_us ? weir_output_age(info->until_us - now_us, out)
                                   : "expired";
}

#define WAITPOINT(...) WEIR_FIELD(struct weir_waitpoint_info, __VA_ARGS__)
static const struct weir_record_field WAITPOINT_FIELDS[] = {
    WAITPOINT("key", key, TEXT, "Key of the waitpoint.", .title = "waitpoint"),
    WAITPOINT("id", uuid, UUID, "Id of the waitpoint.", .title = "id", .rank = 2),
    WEIR_FIELD_OF("state", WORD, "Its state.", .title = "state", .word = waitpoint_state),
    WAITPOINT("signals", signals, U32, "Signals that came.", .title = "signals"),
    WAITPOINT("key_id", key_id, TEXT, "Secret that its token was made with.",
              .title = "made with", .cut_to = 8, .rank = 3),
    WAITPOINT("fingerprint", fingerprint, CHARS,
              "Fingerprint of the token, to compare; or empty.", .title = "fingerprint",
              .rank = 1, .empty = "-"),
    WAITPOINT("created_at", created_us, TIME, "When it was made."),
    WAITPOINT("expires_at", until_us, TIME, "When its token expires.",
              .title = "expires in", .right = true, .cell = expires_cell),
};

const struct weir_record weir_waitpoint_record = WEIR_RECORD(
    "waitpoint", WAITPOINT_FIELDS, "One of `waitpoints` of `weir execution waitpoints`.");

#define MADE(...) WEIR_FIELD(struct weir_waitpoint, __VA_ARGS__)
static const struct weir_record_field MADE_FIELDS[] = {
    MADE("key", key, TEXT, "Key of the waitpoint.", .title = "waitpoint"),
    MADE("id", uuid, UUID, "Id of the waitpoint.", .title = "id"),
    MADE("token", token, CHARS, "Its token, which is shown only once.", .title = "token"),
};

const struct weir_record weir_waitpoint_made_record =
    WEIR_RECORD("waitpoint made", MADE_FIELDS, "A waitpoint with its token.");

/* ---- signals ----------------------------------------------------------------------- */

static struct weir_str payload_of(const void *row)
{
    const struct weir_signal_info *info = row;

    return info->payload_size > 0 ? (struct weir_str){info->payload, info->payload_size}
                                  : weir_str("");
}

static const char *came_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_signal_info *info = row;

    return weir_output_ago(now_us - info->came_us, out);
}

static const char *source_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_signal_info *info = row;

    (void)now_us;
    weir_text_format(out, WEIR_CELL_SIZE, "%s%s%s", info->source_type,
                     info->source_type[0] != '\0' && info->source[0] != '\0' ? " " : "",
                     info->source);
    return out;
}

/* As text, as far as it may be of interest; bytes that are none are not shown. */
static const char *payload_cell(const void *row, int64_t now_us, char *out)
{
    struct weir_str payload = payload_of(row);
    size_t shown = payload.size < PAYLOAD_SHOWN ? payload.size : PAYLOAD_SHOWN;

    (void)now_us;
    if (!weir_utf8_valid(payload))
        return "(no text)";
    weir_text_format(out, WEIR_CELL_SIZE, "%.*s", (int)shown, payload.data);
    return out;
}

#define SIGNAL(...) WEIR_FIELD(struct weir_signal_info, __VA_ARGS__)
static const struct weir_record_field SIGNAL_FIELDS[] = {
    SIGNAL("id", uuid, UUID, "Id of the signal."),
    SIGNAL("waitpoint", waitpoint_key, TEXT, "Key of its waitpoint.",
           .title = "waitpoint", .cut_to = 12),
    SIGNAL("name", name, TEXT, "Name of the signal.", .title = "signal", .cut_to = 12),
    SIGNAL("source_type", source_type, TEXT, "What kind of source sent it; or empty.",
           .title = "source", .cut_to = 12, .rank = 1, .cell = source_cell),
    SIGNAL("source", source, TEXT, "Which source sent it; or empty."),
    SIGNAL("came_at", came_us, TIME, "When it came.", .title = "came", .column = 1,
           .right = true, .cell = came_cell),
    SIGNAL(NULL, payload_size, SIZE, "", .title = "bytes", .rank = 2),
    WEIR_FIELD_OF("payload", BYTES, "Its payload.", .title = "payload", .cut_to = 16,
                  .cell = payload_cell, .bytes = payload_of),
};

const struct weir_record weir_signal_record =
    WEIR_RECORD("signal", SIGNAL_FIELDS, "One of `signals` of `weir execution signals`.");

/* ---- answers ----------------------------------------------------------------------- */

static bool suspends(const void *row)
{
    const struct weir_suspended *suspended = row;

    return suspended->suspends;
}

static const char *suspended_state(const void *row)
{
    const struct weir_suspended *suspended = row;

    return weir_public_state_name(suspended->current.state);
}

static void each_waitpoint(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_suspended *suspended = row;

    for (size_t i = 0; i < suspended->count; i++) {
        if (suspended->waitpoints[i].token[0] != '\0')
            emit(state, &suspended->waitpoints[i]);
    }
}

#define SUSPENDED(...) WEIR_FIELD(struct weir_suspended, __VA_ARGS__)
static const struct weir_record_field SUSPENDED_FIELDS[] = {
    SUSPENDED("id", id, EXECUTION_ID, "Id of the execution."),
    SUSPENDED("satisfied", satisfied, FLAG, "It goes on: what came before suffices.",
              .shown = suspends),
    WEIR_FIELD_OF("state", WORD, "State of the execution.", .word = suspended_state,
                  .shown = suspends),
    SUSPENDED("epoch", current.epoch, I64, "Fencing token of its last claim.",
              .shown = suspends),
    WEIR_FIELD_OF("waitpoints", LIST, "Waitpoints that were made.",
                  .record = &weir_waitpoint_made_record, .each = each_waitpoint),
};

const struct weir_record weir_suspended_record =
    WEIR_RECORD("suspended", SUSPENDED_FIELDS,
                "The answer of `weir execution suspend` and `waitpoint`.");

static const struct weir_record_field SIGNALLED_FIELDS[] = {
    WEIR_FIELD(struct weir_signalled, "id", id, EXECUTION_ID, "Id of the execution."),
    WEIR_FIELD(struct weir_signalled, "effect", effect, TEXT,
               "What the signal has done."),
};

const struct weir_record weir_signalled_record =
    WEIR_RECORD("signalled", SIGNALLED_FIELDS,
                "The answer of `weir execution signal` and `approve`.");

static const struct weir_record_field ROTATED_FIELDS[] = {
    WEIR_FIELD(struct weir_key_rotated, "key", key, TEXT, "Name of the key."),
    WEIR_FIELD(struct weir_key_rotated, "grace_seconds", grace_ms, MS,
               "How long tokens of the key before are valid."),
};

const struct weir_record weir_key_rotated_record =
    WEIR_RECORD("key rotated", ROTATED_FIELDS, "The answer of `weir key rotate`.");
