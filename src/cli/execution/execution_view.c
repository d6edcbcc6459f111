/*
 * execution_view.c - see execution_view.h.
 */
#include "cli/execution/execution_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/count.h"
#include "base/text.h"
#include "weir/flow.h"
#include "weir/heap.h"

enum { JSON_SIZE_MAX = 256 << 20 };

/* A supervisor is never that late. */
#define LATE_US INT64_C(5000000)
#define NO_SUPERVISOR "; does 'weir supervise' run?"

static const struct weir_table_column COLUMNS[] = {
    {.title = "id"},
    {.title = "state"},
    {.title = "lane", .cut_to = 10, .rank = 2},
    {.title = "kind", .cut_to = 10},
    {.title = "priority", .align = WEIR_TABLE_RIGHT, .rank = 4},
    {.title = "attempts", .align = WEIR_TABLE_RIGHT, .rank = 3},
    {.title = "age", .align = WEIR_TABLE_RIGHT, .rank = 1},
    {.title = "why", .cut_to = 16},
};

void weir_execution_view_init(struct weir_execution_view *self, int64_t now_us)
{
    weir_table_init(&self->table, weir_heap_system(), COLUMNS, COUNT_OF(COLUMNS));
    weir_buf_init(&self->json, weir_heap_system(), JSON_SIZE_MAX);
    self->now_us = now_us;
    self->count = 0;
}

void weir_execution_view_fini(struct weir_execution_view *self)
{
    weir_table_fini(&self->table);
    weir_buf_fini(&self->json);
}

/* ---- why --------------------------------------------------------------------------- */

/* What the end of a delay brings. */
static const char *delayed_what(const struct weir_execution_info *info)
{
    if (strcmp(info->blocked_by, "waiting_for_retry_backoff") == 0)
        return "is tried again";
    return info->attempts > 0 ? "goes on" : "begins";
}

static void spell_delay(const struct weir_execution_info *info, int64_t now_us, char *out)
{
    int64_t left_us = info->due_us - now_us;
    bool retry = info->failure[0] != '\0';
    char age[WEIR_AGE_SIZE];

    if (left_us > 0)
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "%s in %s%s%s", delayed_what(info),
                         weir_output_age(left_us > 1000 ? left_us : 1000, age),
                         retry ? "; before: " : "", info->failure);
    else
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "due %s ago%s",
                         weir_output_age(left_us < -1000 ? -left_us : 1000, age),
                         -left_us > LATE_US ? NO_SUPERVISOR : "");
}

static void spell_lease(const struct weir_execution_info *info, int64_t now_us, char *out)
{
    int64_t left_us = info->lease_us - now_us;
    int64_t late_us =
        info->attempt_deadline_us > 0 ? now_us - info->attempt_deadline_us : 0;
    char age[WEIR_AGE_SIZE];

    if (late_us > LATE_US)
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE,
                         "the time limit of its attempt passed %s ago" NO_SUPERVISOR,
                         weir_output_age(late_us, age));
    else if (left_us > 0)
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "held by %s for another %s",
                         info->instance,
                         weir_output_age(left_us > 1000 ? left_us : 1000, age));
    else
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "the lease of %s ended %s ago%s",
                         info->instance,
                         weir_output_age(left_us < -1000 ? -left_us : 1000, age),
                         -left_us > LATE_US ? NO_SUPERVISOR : "");
}

/* A deadline that has passed unnoticed outweighs all else. */
static bool spell_deadline(const struct weir_execution_info *info, int64_t now_us,
                           char *out)
{
    char age[WEIR_AGE_SIZE];

    if (info->ended_us != 0 || info->deadline_us == 0 ||
        now_us - info->deadline_us <= LATE_US)
        return false;
    weir_text_format(out, WEIR_EXECUTION_WHY_SIZE,
                     "its deadline passed %s ago" NO_SUPERVISOR,
                     weir_output_age(now_us - info->deadline_us, age));
    return true;
}

/* "waiting_for_signal" is said with blanks. */
static void spell_block(const struct weir_execution_info *info, char *out)
{
    weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "%s", info->blocked_by);
    for (char *at = out; *at != '\0'; at++)
        *at = *at == '_' ? ' ' : *at;
}

/*
 * A suspension that takes too long ends in a way of its own, once a supervisor notices.
 */
static void spell_suspension(const struct weir_execution_info *info, int64_t now_us,
                             char *out)
{
    char age[WEIR_AGE_SIZE];

    if (info->due_us != 0 && now_us - info->due_us > LATE_US)
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE,
                         "its timeout passed %s ago" NO_SUPERVISOR,
                         weir_output_age(now_us - info->due_us, age));
    else
        spell_block(info, out);
}

static void spell_waiting(const struct weir_execution_info *info, char *out)
{
    if (strcmp(info->blocked_by, "waiting_for_worker") != 0)
        spell_block(info, out);
    else if (info->state == WEIR_STATE_RESUMABLE)
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "no worker goes on with it yet");
    else
        weir_text_format(
            out, WEIR_EXECUTION_WHY_SIZE, "no worker%s%s has claimed it yet%s%s",
            info->capabilities[0] != '\0' ? " with " : "", info->capabilities,
            info->failure[0] != '\0' ? "; before: " : "", info->failure);
}

const char *weir_execution_spell_why(const struct weir_execution_info *info,
                                     int64_t now_us, char *out)
{
    out[0] = '\0';
    if (spell_deadline(info, now_us, out))
        return out;
    switch (info->state) {
    case WEIR_STATE_WAITING:
    case WEIR_STATE_RESUMABLE:
        spell_waiting(info, out);
        break;
    case WEIR_STATE_DELAYED:
        spell_delay(info, now_us, out);
        break;
    case WEIR_STATE_ACTIVE:
        spell_lease(info, now_us, out);
        break;
    case WEIR_STATE_RATE_LIMITED:
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "waiting for budget '%s'",
                         info->budget);
        break;
    case WEIR_STATE_WAITING_CHILDREN:
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE,
                         "for other members of its flow, see 'weir flow show'");
        break;
    case WEIR_STATE_SUSPENDED:
        spell_suspension(info, now_us, out);
        break;
    default:
        weir_text_format(out, WEIR_EXECUTION_WHY_SIZE, "%s", info->failure);
        break;
    }
    return out;
}

const char *weir_execution_spell_status(const struct weir_execution_status *current,
                                        int64_t now_us, char *out)
{
    int64_t left_us = current->lease_us - now_us;
    char age[WEIR_AGE_SIZE];

    if (current->lease_us > 0 && left_us > 0)
        weir_text_format(out, WEIR_EXECUTION_STATUS_SIZE,
                         "it is %s, held for another %s (epoch %" PRId64 ")",
                         weir_public_state_name(current->state),
                         weir_output_age(left_us, age), current->epoch);
    else
        weir_text_format(
            out, WEIR_EXECUTION_STATUS_SIZE, "it is %s%s (epoch %" PRId64 ")",
            weir_public_state_name(current->state),
            current->lease_us > 0 ? ", its lease is over" : "", current->epoch);
    return out;
}

/* ---- rows -------------------------------------------------------------------------- */

enum weir_tone weir_execution_state_tone(enum weir_public_state state)
{
    switch (state) {
    case WEIR_STATE_COMPLETED:
        return WEIR_TONE_GOOD;
    case WEIR_STATE_FAILED:
    case WEIR_STATE_EXPIRED:
        return WEIR_TONE_BAD;
    case WEIR_STATE_ACTIVE:
        return WEIR_TONE_CAREFUL;
    default:
        return WEIR_TONE_PLAIN;
    }
}

void weir_execution_view_add(void *state, const struct weir_execution_info *info)
{
    struct weir_execution_view *self = state;
    struct weir_table *table = &self->table;
    int64_t age_us = self->now_us - info->created_us;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    char age[WEIR_AGE_SIZE];
    char why[WEIR_EXECUTION_WHY_SIZE];

    self->count++;
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", weir_execution_id_format(&info->id, id));
    weir_table_add(table, weir_execution_state_tone(info->state), "%s",
                   weir_public_state_name(info->state));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->lane);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->kind);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId32, info->priority);
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRId32, info->attempts);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_age(age_us > 1000 ? age_us : 1000, age));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_execution_spell_why(info, self->now_us, why));
    weir_output_open(&self->json, NULL, "{");
    weir_flow_append_members(&self->json, info, self->now_us);
    weir_buf_append_text(&self->json, "}");
}

/* ---- JSON -------------------------------------------------------------------------- */

void weir_execution_view_append_json(const struct weir_execution_view *self,
                                     struct weir_buf *json)
{
    weir_output_open(json, "executions", "[");
    weir_buf_append(json, weir_buf_text(&self->json), self->json.size);
    weir_buf_append_text(json, "]");
}

static void append_progress(struct weir_buf *json, const struct weir_execution_info *info)
{
    if (info->progress_percent < 0) {
        weir_output_open(json, "progress", "null");
        return;
    }
    weir_output_open(json, "progress", "{");
    weir_output_add_number(json, "percent", info->progress_percent);
    weir_output_add_text(json, "text", info->progress_text);
    weir_buf_append_text(json, "}");
}

void weir_flow_append_members(struct weir_buf *json,
                              const struct weir_execution_info *info, int64_t now_us)
{
    char why[WEIR_EXECUTION_WHY_SIZE];

    weir_flow_append_members_why(json, info, weir_execution_spell_why(info, now_us, why));
}

void weir_flow_append_members_why(struct weir_buf *json,
                                  const struct weir_execution_info *info, const char *why)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    weir_output_add_text(json, "id", weir_execution_id_format(&info->id, id));
    weir_output_add_text(json, "namespace", info->name_space);
    if (info->has_flow)
        weir_output_add_text(json, "flow", weir_flow_id_format(&info->flow, id));
    else
        weir_output_open(json, "flow", "null");
    weir_output_add_text(json, "name", info->name);
    weir_output_add_text(json, "lane", info->lane);
    weir_output_add_text(json, "kind", info->kind);
    weir_output_add_number(json, "priority", info->priority);
    weir_output_add_text(json, "state", weir_public_state_name(info->state));
    weir_output_add_text(json, "blocked_by", info->blocked_by);
    weir_output_add_text(json, "budget", info->budget);
    weir_output_add_text(json, "capabilities", info->capabilities);
    weir_output_add_text(json, "why", why);
    weir_output_add_number(json, "epoch", info->epoch);
    weir_output_add_number(json, "attempts", info->attempts);
    weir_output_add_number(json, "retries", info->retries);
    weir_output_add_number(json, "reclaims", info->reclaims);
    weir_output_add_number(json, "replays", info->replays);
    weir_output_add_text(json, "worker", info->worker);
    weir_output_add_text(json, "instance", info->instance);
    weir_output_add_text(json, "failure", info->failure);
    append_progress(json, info);
    weir_output_add_time(json, "created_at", info->created_us);
    weir_output_add_time(json, "started_at", info->started_us);
    weir_output_add_time(json, "ended_at", info->ended_us);
    weir_output_add_time(json, "due_at", info->due_us);
    weir_output_add_time(json, "lease_until", info->lease_us);
    weir_output_add_time(json, "attempt_deadline_at", info->attempt_deadline_us);
    weir_output_add_time(json, "deadline_at", info->deadline_us);
}

/* ---- in full ----------------------------------------------------------------------- */

static void add_numbers(struct weir_buf *text, const struct weir_execution_info *info)
{
    weir_buf_append_format(text, "%-13s %" PRId32 "\n", "priority", info->priority);
    weir_buf_append_format(text, "%-13s %" PRId64 "\n", "epoch", info->epoch);
    weir_buf_append_format(text, "%-13s %" PRId32, "attempts", info->attempts);
    if (info->retries > 0)
        weir_buf_append_format(text, ", retries: %" PRIu32, info->retries);
    if (info->reclaims > 0)
        weir_buf_append_format(text, ", leases lost: %" PRIu32, info->reclaims);
    if (info->replays > 0)
        weir_buf_append_format(text, ", replays: %" PRIu32, info->replays);
    weir_buf_append_text(text, "\n");
}

void weir_execution_append_state(struct weir_buf *text,
                                 const struct weir_execution_info *info, int64_t now_us)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    char why[WEIR_EXECUTION_WHY_SIZE];

    weir_output_line(text, "execution", weir_execution_id_format(&info->id, id));
    weir_execution_spell_why(info, now_us, why);
    weir_buf_append_format(text, "%-13s %s%s%s\n", "state",
                           weir_public_state_name(info->state),
                           why[0] != '\0' ? ": " : "", why);
}

void weir_execution_append_facts(struct weir_buf *text,
                                 const struct weir_execution_info *info)
{
    char flow[WEIR_FLOW_ID_TEXT_SIZE];

    weir_output_line(text, "lane", info->lane);
    weir_output_line(text, "kind", info->kind);
    weir_output_line(text, "namespace", info->name_space);
    if (info->has_flow)
        weir_output_line(text, "flow", weir_flow_id_format(&info->flow, flow));
    if (info->name[0] != '\0')
        weir_output_line(text, "name", info->name);
    if (info->capabilities[0] != '\0')
        weir_output_line(text, "needs", info->capabilities);
    add_numbers(text, info);
    if (info->progress_percent >= 0)
        weir_buf_append_format(
            text, "%-13s %" PRId32 " %%%s%s\n", "progress", info->progress_percent,
            info->progress_text[0] != '\0' ? ", " : "", info->progress_text);
    weir_output_time_line(text, "created", info->created_us);
    weir_output_time_line(text, "started", info->started_us);
    if (info->state !=
        WEIR_STATE_SUSPENDED) /* of which more is said, see execution_get.c */
        weir_output_time_line(text, "due", info->due_us);
    weir_output_time_line(text, "lease until", info->lease_us);
    weir_output_time_line(text, "attempt until", info->attempt_deadline_us);
    weir_output_time_line(text, "deadline", info->deadline_us);
    weir_output_time_line(text, "ended", info->ended_us);
}
