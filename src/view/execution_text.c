/*
 * execution_text.c - see execution_words.h.
 */
#include "view/execution_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "view/value.h"

/* A supervisor is never that late. */
#define LATE_US INT64_C(5000000)
#define NO_SUPERVISOR "; does 'weir supervise' run?"

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

/* ---- states and tokens ------------------------------------------------------------- */

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

const char *weir_execution_token_format(const struct weir_claim *claim, char *out)
{
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];

    weir_text_format(out, WEIR_EXECUTION_TOKEN_SIZE, "%s/%" PRId64 "/%" PRId64,
                     weir_execution_id_format(&claim->id, id), claim->no, claim->epoch);
    return out;
}
