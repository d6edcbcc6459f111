/*
 * execution_info_records.c - see execution_info_records.h.
 */
#include "view/execution_info_records.h"

#include <inttypes.h>

#include "base/noun.h"
#include "base/text.h"
#include "view/budget_records.h"
#include "view/wait_records.h"

/* ---- executions -------------------------------------------------------------------- */

static const char *state_word(const void *row)
{
    const struct weir_execution_row *one = row;

    return weir_public_state_name(one->info.state);
}

static enum weir_tone state_tone(const void *row)
{
    const struct weir_execution_row *one = row;

    return weir_execution_state_tone(one->info.state);
}

static const char *why(const void *row, int64_t now_us, char *out)
{
    const struct weir_execution_row *one = row;

    return one->why != NULL ? one->why
                            : weir_execution_spell_why(&one->info, now_us, out);
}

static const char *full_state(const void *row, int64_t now_us, char *out)
{
    char text[WEIR_CELL_SIZE];
    const char *reason = why(row, now_us, text);

    weir_text_format(out, WEIR_CELL_SIZE, "%s%s%s", state_word(row),
                     reason[0] != '\0' ? ": " : "", reason);
    return out;
}

static const char *age_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_execution_row *one = row;
    int64_t age_us = now_us - one->info.created_us;

    return weir_output_age(age_us > 1000 ? age_us : 1000, out);
}

static bool has_flow(const void *row)
{
    const struct weir_execution_row *one = row;

    return one->info.has_flow;
}

static bool has_progress(const void *row)
{
    const struct weir_execution_row *one = row;

    return one->info.progress_percent >= 0;
}

static const char *full_attempts(const void *row, int64_t now_us, char *out)
{
    const struct weir_execution_info *info =
        &((const struct weir_execution_row *)row)->info;
    size_t size = weir_text_format(out, WEIR_CELL_SIZE, "%" PRId32, info->attempts);

    (void)now_us;
    if (info->retries > 0)
        size += weir_text_format(out + size, WEIR_CELL_SIZE - size, ", retries: %" PRIu32,
                                 info->retries);
    if (info->reclaims > 0)
        size += weir_text_format(out + size, WEIR_CELL_SIZE - size,
                                 ", leases lost: %" PRIu32, info->reclaims);
    if (info->replays > 0)
        weir_text_format(out + size, WEIR_CELL_SIZE - size, ", replays: %" PRIu32,
                         info->replays);
    return out;
}

static const char *full_progress(const void *row, int64_t now_us, char *out)
{
    const struct weir_execution_info *info =
        &((const struct weir_execution_row *)row)->info;

    (void)now_us;
    weir_text_format(out, WEIR_CELL_SIZE, "%" PRId32 " %%%s%s", info->progress_percent,
                     info->progress_text[0] != '\0' ? ", " : "", info->progress_text);
    return out;
}

/* Of a suspension more is said elsewhere. */
static const char *full_due(const void *row, int64_t now_us, char *out)
{
    const struct weir_execution_info *info =
        &((const struct weir_execution_row *)row)->info;

    (void)now_us;
    if (info->state == WEIR_STATE_SUSPENDED || info->due_us == 0)
        return "";
    return weir_output_time(info->due_us, out);
}

#define EXECUTION(...) WEIR_FIELD(struct weir_execution_row, __VA_ARGS__)
static const struct weir_record_field PROGRESS_FIELDS[] = {
    EXECUTION("percent", info.progress_percent, I32, "From 0 to 100."),
    EXECUTION("text", info.progress_text, TEXT, "What it says; or empty."),
};
static const struct weir_record PROGRESS =
    WEIR_RECORD("progress", PROGRESS_FIELDS, "How far an execution says it is.");

static const struct weir_record_field EXECUTION_FIELDS[] = {
    EXECUTION("id", info.id, EXECUTION_ID, "Id of the execution.", .title = "id"),
    EXECUTION("namespace", info.name_space, TEXT, "Its namespace.", .empty = "",
              .line = "namespace", .line_at = 3),
    EXECUTION("flow", info.flow, FLOW_ID, "Flow whose member it is.", .known = has_flow,
              .line = "flow", .line_at = 4),
    EXECUTION("name", info.name, TEXT, "Name of a member; or empty.", .line = "name",
              .line_at = 5),
    EXECUTION("lane", info.lane, TEXT, "Lane that workers claim it from.",
              .title = "lane", .cut_to = 10, .rank = 2, .empty = "", .line = "lane",
              .line_at = 1),
    EXECUTION("kind", info.kind, TEXT, "What is to be done.", .title = "kind",
              .cut_to = 10, .empty = "", .line = "kind", .line_at = 2),
    EXECUTION("priority", info.priority, I32, "Higher ones are claimed first.",
              .title = "priority", .rank = 4, .line = "priority", .line_at = 7),
    WEIR_FIELD_OF("state", WORD, "State, as `weir execution list --state` names it.",
                  .title = "state", .column = 2, .word = state_word, .tone = state_tone),
    EXECUTION("blocked_by", info.blocked_by, TEXT,
              "What it waits for, for programs; `none` when nothing is."),
    EXECUTION("budget", info.budget, TEXT, "Budget that it waits for; or empty."),
    EXECUTION("capabilities", info.capabilities, TEXT,
              "Capabilities that a worker must have; or empty.", .line = "needs",
              .line_at = 6),
    WEIR_FIELD_OF("why", WORD, "Why it does not move, or how it ended, in words.",
                  .title = "why", .column = 99, .cut_to = 16, .derive = why),
    EXECUTION("epoch", info.epoch, I64, "Fencing token of the claim.", .line = "epoch",
              .line_at = 8),
    EXECUTION("attempts", info.attempts, I32, "Attempts, the running one included.",
              .title = "attempts", .rank = 3, .line = "attempts", .line_at = 9,
              .full = full_attempts),
    EXECUTION("retries", info.retries, U32, "Retries since the last replay."),
    EXECUTION("reclaims", info.reclaims, U32, "Lost leases since the last replay."),
    EXECUTION("replays", info.replays, U32, "Replays by an operator."),
    EXECUTION("worker", info.worker, TEXT, "Worker of the last attempt; or empty."),
    EXECUTION("instance", info.instance, TEXT, "Process of the last attempt; or empty."),
    EXECUTION("failure", info.failure, TEXT, "Why it failed last; or empty."),
    WEIR_FIELD_OF("progress", OBJECT, "How far it says it is.", .record = &PROGRESS,
                  .known = has_progress, .line = "progress", .line_at = 10,
                  .full = full_progress),
    EXECUTION("created_at", info.created_us, TIME, "When it was submitted.",
              .title = "age", .rank = 1, .right = true, .cell = age_cell,
              .line = "created", .line_at = 11),
    EXECUTION("started_at", info.started_us, TIME, "When its first attempt began.",
              .line = "started", .line_at = 12),
    EXECUTION("ended_at", info.ended_us, TIME, "When it ended.", .line = "ended",
              .line_at = 17),
    EXECUTION("due_at", info.due_us, TIME, "When its delay or suspension is over.",
              .line = "due", .line_at = 13, .full = full_due),
    EXECUTION("lease_until", info.lease_us, TIME, "When the lease of its claim ends.",
              .line = "lease until", .line_at = 14),
    EXECUTION("attempt_deadline_at", info.attempt_deadline_us, TIME,
              "When the time of its attempt is over.", .line = "attempt until",
              .line_at = 15),
    EXECUTION("deadline_at", info.deadline_us, TIME, "When its own time is over.",
              .line = "deadline", .line_at = 16),
};

const struct weir_record weir_execution_record =
    WEIR_RECORD("execution", EXECUTION_FIELDS, "An execution, and why it does not move.");

static const struct weir_record_field HEAD_FIELDS[] = {
    EXECUTION(NULL, info.id, EXECUTION_ID, "", .line = "execution"),
    WEIR_FIELD_OF(NULL, WORD, "", .line = "state", .full = full_state),
};

const struct weir_record weir_execution_head_record =
    WEIR_RECORD("execution head", HEAD_FIELDS, "");

/* ---- attempts ---------------------------------------------------------------------- */

static const char *type_word(const void *row)
{
    const struct weir_attempt_info *info = row;

    return weir_attempt_type_name(info->type);
}

static const char *outcome_word(const void *row)
{
    const struct weir_attempt_info *info = row;

    return weir_attempt_outcome_name(info->outcome);
}

static const char *began_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_attempt_info *info = row;

    return weir_output_ago(now_us - info->started_us, out);
}

static const char *took_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_attempt_info *info = row;
    int64_t end_us = info->ended_us != 0 ? info->ended_us : now_us;
    int64_t took_us = end_us - info->started_us;

    return weir_output_age(took_us > 1000 ? took_us : 1000, out);
}

#define ATTEMPT(...) WEIR_FIELD(struct weir_attempt_info, __VA_ARGS__)
static const struct weir_record_field ATTEMPT_FIELDS[] = {
    ATTEMPT("number", number, I32, "Number of the attempt, from 0.", .title = "attempt"),
    WEIR_FIELD_OF("type", WORD, "Why there was an attempt, as in `initial` or `retry`.",
                  .title = "type", .word = type_word),
    WEIR_FIELD_OF("outcome", WORD, "How it ended.", .title = "outcome",
                  .word = outcome_word),
    ATTEMPT("worker", worker, TEXT, "Worker.", .title = "worker", .cut_to = 8, .rank = 3),
    ATTEMPT("instance", instance, TEXT, "Process of the worker.", .title = "instance",
            .cut_to = 12, .rank = 1),
    ATTEMPT("failure", failure, TEXT, "Why it failed; or empty.", .title = "failure",
            .column = 99, .cut_to = 16),
    ATTEMPT("epoch", epoch, I64, "Fencing token of its claim.", .title = "epoch",
            .rank = 4),
    ATTEMPT("started_at", started_us, TIME, "When it began.", .title = "began", .rank = 2,
            .right = true, .cell = began_cell),
    ATTEMPT("ended_at", ended_us, TIME, "When it ended.", .title = "took", .right = true,
            .cell = took_cell),
};

const struct weir_record weir_attempt_record =
    WEIR_RECORD("attempt", ATTEMPT_FIELDS, "One attempt of an execution.");

/* ---- one, and pages ---------------------------------------------------------------- */

#define DETAIL(...) WEIR_FIELD(struct weir_execution_detail, __VA_ARGS__)
static const struct weir_record_field DETAIL_FIELDS[] = {
    DETAIL(NULL, execution, COMPOSED_PART, "", .record = &weir_execution_record),
    DETAIL("suspension", suspension, COMPOSED, "What it waits for, if suspended.",
           .record = &weir_suspension_record, .nullable = true),
    DETAIL("budgets", budgets, LISTED, "Budgets that hold it back.",
           .record = &weir_budget_record),
    DETAIL("attempts_log", attempts, LISTED, "Its attempts.",
           .record = &weir_attempt_record),
};

const struct weir_record weir_execution_detail_record =
    WEIR_RECORD("execution detail", DETAIL_FIELDS, "The answer of `weir execution get`.");

static bool has_more(const void *row)
{
    const struct weir_execution_page *page = row;

    return page->after > 0;
}

#define PAGE(...) WEIR_FIELD(struct weir_execution_page, __VA_ARGS__)
static const struct weir_record_field PAGE_FIELDS[] = {
    PAGE("executions", executions, LISTED, "Executions, newest first.",
         .record = &weir_execution_record),
    PAGE("after", after, I64, "Mark of the next page.", .known = has_more),
};

const struct weir_record weir_execution_page_record =
    WEIR_RECORD("execution page", PAGE_FIELDS, "The answer of `weir execution list`.");

static struct weir_str result_of(const void *row)
{
    const struct weir_execution_result_row *result = row;

    return result->result;
}

static const struct weir_record_field RESULT_FIELDS[] = {
    WEIR_FIELD(struct weir_execution_result_row, "id", id, EXECUTION_ID,
               "Id of the execution."),
    WEIR_FIELD_OF("result", BYTES, "Its result.", .bytes = result_of),
};

const struct weir_record weir_execution_result_record = WEIR_RECORD(
    "execution result", RESULT_FIELDS, "The answer of `weir execution result`.");

/* ---- claims ------------------------------------------------------------------------ */

static const char *claimed_token(const void *row, int64_t now_us, char *out)
{
    const struct weir_claimed_row *one = row;

    (void)now_us;
    return weir_execution_token_format(&one->claimed.claim, out);
}

static const char *claimed_type(const void *row)
{
    const struct weir_claimed_row *one = row;

    return weir_attempt_type_name(one->claimed.type);
}

static const char *input_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_claimed_row *one = row;

    (void)now_us;
    weir_text_format(out, WEIR_CELL_SIZE, "%zu %s", one->claimed.input_size,
                     WEIR_NOUN(one->claimed.input_size, "byte", "bytes"));
    return out;
}

static struct weir_str input_of(const void *row)
{
    const struct weir_claimed_row *one = row;

    return (struct weir_str){one->claimed.input, one->claimed.input_size};
}

static void each_tag(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_claimed *claimed = &((const struct weir_claimed_row *)row)->claimed;

    for (size_t i = 0; i < claimed->tag_count; i++)
        emit(state,
             &(struct weir_record_pair){claimed->tags[i].key, claimed->tags[i].value});
}

#define CLAIMED(...) WEIR_FIELD(struct weir_claimed_row, __VA_ARGS__)
static const struct weir_record_field CLAIMED_FIELDS[] = {
    WEIR_FIELD_OF("token", WORD, "Token of the claim, for the commands that settle it.",
                  .title = "token", .derive = claimed_token),
    CLAIMED("id", claimed.claim.id, EXECUTION_ID, "Id of the execution."),
    CLAIMED("namespace", claimed.name_space, TEXT, "Its namespace."),
    CLAIMED("lane", claimed.lane, TEXT, "Its lane.", .title = "lane", .cut_to = 10,
            .rank = 2),
    CLAIMED("kind", claimed.kind, TEXT, "What is to be done.", .title = "kind",
            .cut_to = 10),
    CLAIMED("name", claimed.name, TEXT, "Name of a member of a flow; or empty."),
    CLAIMED("attempt", claimed.attempt, I32, "Number of the attempt, from 0.",
            .title = "attempt"),
    WEIR_FIELD_OF("type", WORD, "Why there is an attempt, as in `initial` or `retry`.",
                  .title = "type", .rank = 3, .word = claimed_type),
    CLAIMED("epoch", claimed.claim.epoch, I64, "Fencing token of the claim."),
    CLAIMED("lease_until", claimed.lease_us, TIME, "When the lease ends."),
    CLAIMED("deadline_at", claimed.deadline_us, TIME, "When its time is over."),
    CLAIMED(NULL, lease_ms, MS, "", .title = "lease", .rank = 1),
    WEIR_FIELD_OF("tags", MAP, "Its tags.", .each = each_tag),
    WEIR_FIELD_OF("input", BYTES, "Its input.", .title = "input", .rank = 4,
                  .right = true, .cell = input_cell, .bytes = input_of),
};

const struct weir_record weir_claimed_record = WEIR_RECORD(
    "claim", CLAIMED_FIELDS, "One of `claims` in the answer of `weir execution claim`.");

static const char *settled_token(const void *row, int64_t now_us, char *out)
{
    const struct weir_claim_settled *settled = row;

    (void)now_us;
    return weir_execution_token_format(&settled->claim, out);
}

static bool is_found(const void *row)
{
    const struct weir_claim_settled *settled = row;

    return settled->found;
}

static const char *settled_state(const void *row)
{
    const struct weir_claim_settled *settled = row;

    return weir_public_state_name(settled->current.state);
}

#define SETTLED(...) WEIR_FIELD(struct weir_claim_settled, __VA_ARGS__)
static const struct weir_record_field SETTLED_FIELDS[] = {
    WEIR_FIELD_OF("token", WORD, "Token of the claim.", .derive = settled_token),
    SETTLED("answer", answer, TEXT, "`ok`, `fenced` or `not_found`."),
    WEIR_FIELD_OF("state", WORD, "State of the execution.", .word = settled_state,
                  .shown = is_found),
    SETTLED("epoch", current.epoch, I64, "Fencing token of its last claim.",
            .shown = is_found),
    SETTLED("lease_until", current.lease_us, TIME, "When the lease of its holder ends.",
            .shown = is_found),
};

const struct weir_record weir_claim_settled_record =
    WEIR_RECORD("claim settled", SETTLED_FIELDS,
                "One of `claims` in the answer of `weir execution renew`, `progress`, "
                "`complete`, `fail`, `delay` and `abandon`.");

/* ---- operators --------------------------------------------------------------------- */

static const struct weir_record_field REFUSED_FIELDS[] = {
    WEIR_FIELD(struct weir_execution_refused, "id", id, EXECUTION_ID,
               "Id of the execution."),
    WEIR_FIELD(struct weir_execution_refused, "why", why, TEXT, "Why it was refused."),
};

const struct weir_record weir_execution_refused_record = WEIR_RECORD(
    "execution refused", REFUSED_FIELDS, "An execution that a command left alone.");

#define OPERATED(...) WEIR_FIELD(struct weir_executions_operated, __VA_ARGS__)
static const struct weir_record_field OPERATED_FIELDS[] = {
    OPERATED("cancelled", cancelled, I64, "Executions cancelled.", .optional = true),
    OPERATED("revoked", revoked, I64, "Claims revoked.", .optional = true),
    OPERATED("prioritised", prioritised, I64, "Executions with another priority.",
             .optional = true),
    OPERATED("replayed", replayed, I64, "Executions replayed.", .optional = true),
    OPERATED("resumed", resumed, I64, "Executions resumed.", .optional = true),
    OPERATED("unchanged", unchanged, I64, "Executions that were so already.",
             .optional = true),
    OPERATED("refused", refused, LISTED, "Executions that were left alone.",
             .record = &weir_execution_refused_record),
};

const struct weir_record weir_executions_operated_record =
    WEIR_RECORD("executions operated", OPERATED_FIELDS,
                "The answer of `weir execution cancel`, `revoke`, `prioritise`, "
                "`replay` and `resume`; it has the number of one command.");

/* ---- submitting -------------------------------------------------------------------- */

static const struct weir_record_field SUBMISSION_FIELDS[] = {
    WEIR_FIELD(struct weir_submission, "id", id, EXECUTION_ID, "Id of the execution."),
    WEIR_FIELD(struct weir_submission, "duplicate", duplicate, FLAG,
               "It was there already."),
};

const struct weir_record weir_submission_record =
    WEIR_RECORD("submission", SUBMISSION_FIELDS, "The answer of `weir submit`.");

#define SUBMITTED(...) WEIR_FIELD(struct weir_lines_submitted, __VA_ARGS__)
static const struct weir_record_field SUBMITTED_FIELDS[] = {
    SUBMITTED("count", count, I64, "Executions submitted."),
    SUBMITTED("duplicates", duplicates, I64, "How many of them were there already."),
    SUBMITTED("seconds", elapsed_ns, NS, "How long it took."),
    SUBMITTED("failed_line", failed_line, I64, "Number of the line that ended it.",
              .optional = true),
};

const struct weir_record weir_lines_submitted_record = WEIR_RECORD(
    "lines submitted", SUBMITTED_FIELDS, "The answer of `weir submit --lines`.");

/* ---- working ----------------------------------------------------------------------- */

static int64_t reconciler_errors(const void *row)
{
    const struct weir_scan_info *info = row;

    return (int64_t)(info->errors + info->ticks_failed);
}

static enum weir_tone errors_tone(const void *row)
{
    return reconciler_errors(row) > 0 ? WEIR_TONE_BAD : WEIR_TONE_PLAIN;
}

#define RECONCILER(...) WEIR_FIELD(struct weir_scan_info, __VA_ARGS__)
static const struct weir_record_field RECONCILER_FIELDS[] = {
    RECONCILER("name", name, CHARS, "Name of the reconciler.", .title = "reconciler"),
    RECONCILER("cycles", cycles, U64, "Complete cycles.", .title = "cycles", .rank = 1),
    RECONCILER("handled", processed, U64, "Rows that it has put right.",
               .title = "handled"),
    WEIR_FIELD_OF("errors", I64, "Failures.", .title = "errors", .tone = errors_tone,
                  .compute = reconciler_errors),
    RECONCILER("failing", failing_items, SIZE, "Rows that fail again and again."),
    RECONCILER("last_error", last_error, CHARS, "Text of the last failure; or empty.",
               .title = "last error", .cut_to = 16),
};

const struct weir_record weir_reconciler_record =
    WEIR_RECORD("reconciler", RECONCILER_FIELDS, "A part of the supervisor.");

static void each_supervised(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_supervised *supervised = row;

    for (size_t i = 0; i < supervised->count; i++)
        emit(state, &supervised->reconcilers[i]);
}

static const struct weir_record_field SUPERVISED_FIELDS[] = {
    WEIR_FIELD_OF("reconcilers", LIST, "What each of them has done.",
                  .record = &weir_reconciler_record, .each = each_supervised),
    WEIR_FIELD(struct weir_supervised, "unfinished", unfinished, SIZE,
               "Reconcilers that did not end within the grace."),
};

const struct weir_record weir_supervised_record =
    WEIR_RECORD("supervised", SUPERVISED_FIELDS, "The answer of `weir supervise`.");

static void each_lane(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_worked *worked = row;

    for (size_t i = 0; i < worked->lane_count; i++)
        emit(state, worked->lanes[i]);
}

static void each_reconciler(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_worked *worked = row;

    for (size_t i = 0; i < worked->reconciler_count; i++)
        emit(state, &worked->reconcilers[i]);
}

static bool has_supervised(const void *row)
{
    const struct weir_worked *worked = row;

    return worked->reconcilers != NULL;
}

static const char *end_word(const void *row)
{
    const struct weir_worked *worked = row;

    return worked->drained ? "drained" : "stopped";
}

#define WORKED(...) WEIR_FIELD(struct weir_worked, __VA_ARGS__)
static const struct weir_record_field WORKED_FIELDS[] = {
    WEIR_FIELD_OF("lanes", WORDS, "Lanes that were worked on.", .each = each_lane),
    WORKED("executions", ended, U64, "Executions that have ended here."),
    WORKED("claimed", stats.claimed, U64, "Claims."),
    WORKED("completed", stats.completed, U64, "Executions completed."),
    WORKED("failed", stats.failed, U64, "Executions failed for good."),
    WORKED("retried", stats.retried, U64, "Attempts that failed and are repeated."),
    WORKED("delayed", stats.delayed, U64, "Attempts that asked for a delay."),
    WORKED("suspended", stats.suspended, U64, "Attempts that suspended."),
    WORKED("cancelled", stats.cancelled, U64, "Executions cancelled."),
    WORKED("given_back", stats.returned, U64, "Claims given back."),
    WORKED("lost", stats.fenced, U64, "Claims whose lease was lost."),
    WORKED("seconds", elapsed_ns, NS, "How long it took."),
    WEIR_FIELD_OF("ended", WORD, "`drained` or `stopped`.", .word = end_word),
    WORKED("left_suspended", left_suspended, I64,
           "With `--drain`: executions that wait for a signal.", .optional = true),
    WORKED("left_behind", left_behind, I64,
           "With `--drain`: executions that wait for these.", .optional = true),
    WORKED("unfinished", unfinished, SIZE,
           "Executions that did not end within the grace."),
    WEIR_FIELD_OF("reconcilers", LIST, "What each of them has done.",
                  .record = &weir_reconciler_record, .each = each_reconciler,
                  .shown = has_supervised),
};

const struct weir_record weir_worked_record =
    WEIR_RECORD("worked", WORKED_FIELDS, "The answer of `weir work`.");
