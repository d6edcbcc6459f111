/*
 * suspend.c - a worker that waits for the world: waitpoints, and suspensions on them.
 *
 * Uuids are minted once for a call, so that a transaction that is tried again makes the
 * same tokens. Everything that a call adds is in the transaction that parks the
 * execution.
 */
#include <inttypes.h>
#include <openssl/crypto.h>
#include <string.h>

#include "base/arith.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/clock.h"
#include "execution/executions.h"
#include "execution/wait/secrets.h"
#include "execution/wait/wait_store.h"
#include "outbox/audit/audit.h"

enum { ARENA_SIZE_MAX = 32 * 1024 * 1024 };

/* What becomes of a waitpoint of the caller's: returned when all is done. */
struct waitpoint_slot {
    uint8_t minted[WEIR_UUID_SIZE]; /* or the caller's, of one made before */
    bool made_before;

    /* of one transaction */
    uint8_t uuid[WEIR_UUID_SIZE];
    char token[WEIR_TOKEN_TEXT_SIZE]; /* "": none was needed */
};

/* One call. */
struct suspend_call {
    struct weir_executions *executions;
    const struct weir_claim *claim;
    struct weir_waitpoint *waitpoints; /* the caller's */
    size_t waitpoint_count;
    const struct weir_suspend_options
        *options;                     /* NULL: a waitpoint is all that is wanted */
    int64_t expires_us;               /* of that one */
    struct waitpoint_slot *spots;     /* owned: one for each waitpoint */
    struct weir_condition *condition; /* owned */

    /* of one transaction */
    struct weir_arena arena;
    struct weir_execution_records records;
    struct weir_waitpoint_rows there;
    size_t came; /* signals, of whatever suspension */
    struct weir_secret secret;
    int64_t now_us;
    bool satisfied;
    struct weir_pending_wakeups pending_wakeups;
    struct weir_execution_status current;
};

static const uint8_t NO_UUID[WEIR_UUID_SIZE];

static const enum weir_hold HOLDS[WEIR_SUSPEND_REASON_COUNT] = {
    [WEIR_SUSPEND_SIGNAL] = WEIR_HOLD_SIGNAL,
    [WEIR_SUSPEND_APPROVAL] = WEIR_HOLD_APPROVAL,
    [WEIR_SUSPEND_CALLBACK] = WEIR_HOLD_CALLBACK,
    [WEIR_SUSPEND_TOOL_RESULT] = WEIR_HOLD_TOOL_RESULT,
    [WEIR_SUSPEND_OPERATOR_REVIEW] = WEIR_HOLD_OPERATOR_REVIEW,
    [WEIR_SUSPEND_POLICY] = WEIR_HOLD_POLICY,
    [WEIR_SUSPEND_STEP_BOUNDARY] = WEIR_HOLD_STEP_BOUNDARY,
    [WEIR_SUSPEND_MANUAL_PAUSE] = WEIR_HOLD_MANUAL_PAUSE,
};

/* ---- checking ---------------------------------------------------------------------- */

static enum weir_status check_key(const struct weir_waitpoint *waitpoint,
                                  struct weir_error *error)
{
    if (waitpoint->key != NULL &&
        weir_condition_is_word(weir_str(waitpoint->key), WEIR_WAITPOINT_KEY_SIZE_MAX))
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "the key of a waitpoint must have 1 to %d letters, digits and "
                          "\"_-.:/\"",
                          WEIR_WAITPOINT_KEY_SIZE_MAX);
}

static enum weir_status check_keys(const struct suspend_call *self,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (self->waitpoint_count > WEIR_WAITPOINTS_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "waitpoints are %zu, must be at most %d",
                              self->waitpoint_count, WEIR_WAITPOINTS_MAX);
    for (size_t i = 0; i < self->waitpoint_count && status == WEIR_OK; i++) {
        status = check_key(&self->waitpoints[i], error);
        for (size_t j = 0; j < i && status == WEIR_OK; j++) {
            if (strcmp(self->waitpoints[i].key, self->waitpoints[j].key) == 0)
                status =
                    weir_error_set(error, WEIR_INVALID, "waitpoint \"%s\" is named twice",
                                   self->waitpoints[i].key);
        }
    }
    return status;
}

static enum weir_status check_duration(const char *name, int64_t ms, int64_t least,
                                       struct weir_error *error)
{
    if (ms >= least && ms <= WEIR_EXECUTION_DURATION_MS_MAX)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "%s is %" PRId64 ", must be from %" PRId64 " to %" PRId64
                          ", a hundred years",
                          name, ms, least, WEIR_EXECUTION_DURATION_MS_MAX);
}

static enum weir_status check_options(const struct suspend_call *self,
                                      struct weir_error *error)
{
    const struct weir_suspend_options *options = self->options;
    enum weir_status status;

    if (options->reason < 0 || options->reason >= WEIR_SUSPEND_REASON_COUNT)
        return weir_error_set(error, WEIR_INVALID, "reason is %d, must be from 0 to %d",
                              (int)options->reason, WEIR_SUSPEND_REASON_COUNT - 1);
    if (options->on_timeout < 0 || options->on_timeout >= WEIR_ON_TIMEOUT_COUNT)
        return weir_error_set(error, WEIR_INVALID,
                              "on_timeout is %d, must be from 0 to %d",
                              (int)options->on_timeout, WEIR_ON_TIMEOUT_COUNT - 1);
    status = check_duration("timeout_ms", options->timeout_ms, 0, error);
    if (status == WEIR_OK)
        status = check_duration("resume_delay_ms", options->resume_delay_ms, 0, error);
    if (status == WEIR_OK)
        status = weir_condition_parse(
            self->condition, weir_str(options->until != NULL ? options->until : ""),
            error);
    if (status == WEIR_OK)
        status =
            weir_condition_check(self->condition, self->waitpoints, self->waitpoint_count,
                                 options->timeout_ms > 0, error);
    return status;
}

/* ---- one transaction --------------------------------------------------------------- */

static struct weir_waitpoint_row *find_uuid(const struct suspend_call *self,
                                            const uint8_t *uuid)
{
    for (size_t i = 0; i < self->there.count; i++) {
        if (memcmp(self->there.rows[i].uuid, uuid, WEIR_UUID_SIZE) == 0)
            return &self->there.rows[i];
    }
    return NULL;
}

/* One that is in use, or was in the suspension that ended last. */
static struct weir_waitpoint_row *find_key(const struct suspend_call *self,
                                           const char *key)
{
    for (size_t i = self->there.count; i > 0; i--) {
        if (weir_str_equal(self->there.rows[i - 1].key, weir_str(key)))
            return &self->there.rows[i - 1];
    }
    return NULL;
}

static bool is_dead(const struct suspend_call *self, const struct weir_waitpoint_row *row)
{
    return row->state >= WEIR_WAITPOINT_CLOSED ||
           (row->until_us > 0 && row->until_us <= self->now_us);
}

static bool is_taken_over(const struct suspend_call *self,
                          const struct weir_waitpoint_row *row)
{
    for (size_t i = 0; i < self->waitpoint_count; i++) {
        if (self->spots[i].made_before &&
            memcmp(self->spots[i].uuid, row->uuid, WEIR_UUID_SIZE) == 0)
            return true;
    }
    return false;
}

/*
 * Only what can still be signalled takes a place: what is dead is swept, and what is
 * taken over is one of the call's.
 */
static enum weir_status check_room(const struct suspend_call *self,
                                   struct weir_error *error)
{
    size_t others = 0;

    for (size_t i = 0; i < self->there.count; i++)
        others += !is_dead(self, &self->there.rows[i]) &&
                  !is_taken_over(self, &self->there.rows[i]);
    if (others + self->waitpoint_count <= WEIR_WAITPOINTS_MAX)
        return WEIR_OK;
    return weir_error_set(error, WEIR_FULL,
                          "there are %zu waitpoints already, with %zu more they would be "
                          "more than %d",
                          others, self->waitpoint_count, WEIR_WAITPOINTS_MAX);
}

/* Nothing of a try before this one is returned. */
static void clear_spots(struct suspend_call *self)
{
    for (size_t i = 0; i < self->waitpoint_count; i++) {
        struct waitpoint_slot *waitpoint_slot = &self->spots[i];

        memcpy(waitpoint_slot->uuid, waitpoint_slot->minted, WEIR_UUID_SIZE);
        waitpoint_slot->token[0] = '\0';
    }
}

static enum weir_status begin(struct suspend_call *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status = weir_store_load(&self->executions->store, connection,
                                              &self->claim->no, 1, &self->records, error);

    self->pending_wakeups = (struct weir_pending_wakeups){.ready = false};
    self->current = (struct weir_execution_status){.epoch = 0};
    self->satisfied = false;
    clear_spots(self);
    weir_arena_reset(&self->arena);
    if (status == WEIR_OK &&
        (self->records.count == 0 || memcmp(self->records.rows[0].row.id.uuid,
                                            self->claim->id.uuid, WEIR_UUID_SIZE) != 0))
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no such execution");
    if (status == WEIR_OK)
        status = weir_store_clock(connection, &self->records, &self->now_us, error);
    if (status == WEIR_OK)
        status = weir_secrets_active(connection, &self->secret, error);
    if (status == WEIR_OK)
        status = weir_waitpoints_read(connection, self->claim->no, &self->arena,
                                      &self->there, error);
    return status;
}

static enum weir_status refuse(struct suspend_call *self, struct weir_error *error)
{
    const struct weir_execution_row *row = &self->records.rows[0].row;

    self->current = weir_execution_status_of(row);
    return weir_error_set(error, WEIR_FENCED,
                          "epoch %" PRId64 " does not hold it: it is %s, epoch %" PRId64,
                          self->claim->epoch, weir_public_state_name(self->current.state),
                          row->epoch);
}

/* The token of a waitpoint, by the secret that it was made with. */
static enum weir_status give_token(struct suspend_call *self,
                                   struct weir_connection *connection,
                                   const struct weir_waitpoint_row *row,
                                   struct waitpoint_slot *out, struct weir_error *error)
{
    struct weir_token_subject subject = {&self->claim->id, row->uuid, row->key};
    struct weir_secret secret = self->secret;
    enum weir_status status = WEIR_OK;

    if (!weir_str_equal(row->key_id, weir_str(secret.key_id)))
        status = weir_secrets_find(connection, row->key_id, self->now_us, &secret, error);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_NOT_FOUND,
                                "the secret of waitpoint \"%.*s\" was rotated out",
                                (int)row->key.size, row->key.data);
    if (status == WEIR_OK)
        status = weir_token_make(&secret, &subject, out->token, error);
    if (status == WEIR_OK)
        memcpy(out->uuid, row->uuid, WEIR_UUID_SIZE);
    OPENSSL_cleanse(&secret, sizeof secret);
    return status;
}

static enum weir_status add_waitpoint(struct suspend_call *self,
                                      struct weir_connection *connection, size_t index,
                                      enum weir_waitpoint_state state, int64_t until_us,
                                      struct weir_error *error)
{
    struct weir_waitpoint_row row = {
        .state = state,
        .key = weir_str(self->waitpoints[index].key),
        .key_id = weir_str(self->secret.key_id),
        .created_us = self->now_us,
        .until_us = until_us,
    };
    enum weir_status status;

    memcpy(row.uuid, self->spots[index].uuid, WEIR_UUID_SIZE);
    status = weir_waitpoint_add(connection, self->claim->no, &row, error);
    return status == WEIR_OK
               ? give_token(self, connection, &row, &self->spots[index], error)
               : status;
}

/* ---- a waitpoint alone ------------------------------------------------------------- */

/* Closed ones stay, with what came to them: the resumed worker may not have read
 * it. */
static enum weir_status make_room(struct suspend_call *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    enum weir_status status = check_room(self, error);

    if (status == WEIR_OK && self->there.count >= WEIR_WAITPOINTS_MAX)
        status = weir_waitpoints_expire(connection, self->claim->no, self->now_us, error);
    return status;
}

static enum weir_status make_waitpoint(struct weir_connection *connection, void *argument,
                                       struct weir_error *error)
{
    struct suspend_call *self = argument;
    enum weir_status status = begin(self, connection, error);
    struct weir_waitpoint_row *row;

    if (status != WEIR_OK)
        return status;
    if (weir_rule_fence(&self->records.rows[0].row, self->claim->epoch, self->now_us) !=
        WEIR_RULING_DONE)
        return refuse(self, error);
    row = find_key(self, self->waitpoints[0].key);
    if (row != NULL && !is_dead(self, row))
        return give_token(self, connection, row, &self->spots[0], error);
    status = make_room(self, connection, error);
    return status == WEIR_OK
               ? add_waitpoint(self, connection, 0, WEIR_WAITPOINT_PENDING,
                               weir_sat_add_i64(self->now_us, self->expires_us), error)
               : status;
}

/* ---- suspending -------------------------------------------------------------------- */

/* A key that can still be signalled is taken. */
static enum weir_status check_free(const struct suspend_call *self,
                                   const struct weir_waitpoint *waitpoint,
                                   struct weir_error *error)
{
    struct weir_waitpoint_row *row = find_key(self, waitpoint->key);

    if (row == NULL || is_dead(self, row))
        return WEIR_OK;
    return weir_error_set(error, WEIR_EXISTS, "waitpoint \"%s\" is in use",
                          waitpoint->key);
}

/* Signals that came to waitpoints made before. */
struct seen_signals {
    struct suspend_call *suspend_call;
    struct weir_signal_seen *seen;
    size_t count;
    size_t room;
};

static enum weir_status gather(void *state, const struct weir_signal_row *row,
                               struct weir_error *error)
{
    struct seen_signals *self = state;
    struct suspend_call *suspend_call = self->suspend_call;

    for (size_t i = 0; i < suspend_call->waitpoint_count && self->count < self->room;
         i++) {
        if (suspend_call->spots[i].made_before &&
            memcmp(suspend_call->spots[i].uuid, row->waitpoint, WEIR_UUID_SIZE) == 0)
            return weir_signal_see(&suspend_call->arena, row, &self->seen[self->count++],
                                   error);
    }
    return WEIR_OK;
}

static enum weir_status look_at_signals(struct suspend_call *self,
                                        struct weir_connection *connection,
                                        struct weir_error *error)
{
    struct seen_signals seen_signals = {.suspend_call = self};
    int64_t count = 0;
    enum weir_status status =
        weir_signals_count(connection, self->claim->no, &count, error);

    self->came = (size_t)count;
    if (status != WEIR_OK || count == 0)
        return status;
    seen_signals.room = self->came;
    seen_signals.seen =
        weir_arena_alloc(&self->arena, seen_signals.room * sizeof *seen_signals.seen);
    if (seen_signals.seen == NULL)
        return weir_no_memory_for(error, "%zu %s", seen_signals.room,
                                  WEIR_NOUN(seen_signals.room, "signal", "signals"));
    status = weir_signals_visit(connection, self->claim->no, WEIR_SIGNALS_BARE, gather,
                                &seen_signals, error);
    if (status == WEIR_OK)
        self->satisfied =
            weir_condition_holds(self->condition, seen_signals.seen, seen_signals.count);
    return status;
}

static enum weir_status refuse_missing(const char *key, struct weir_error *error)
{
    return weir_error_set(error, WEIR_NOT_FOUND, "waitpoint \"%s\" is not there any more",
                          key);
}

/* One that was made before must be there, and alive unless its signals suffice
 * already. */
static enum weir_status take_over(struct suspend_call *self,
                                  struct weir_connection *connection, size_t index,
                                  struct weir_error *error)
{
    const char *key = self->waitpoints[index].key;
    struct weir_waitpoint_row *row = find_uuid(self, self->spots[index].uuid);
    bool there = false;
    enum weir_status status;

    if (row == NULL || !weir_str_equal(row->key, weir_str(key)) ||
        (is_dead(self, row) && !self->satisfied))
        return refuse_missing(key, error);
    status = weir_waitpoint_set(
        connection, self->claim->no, row->uuid,
        self->satisfied ? WEIR_WAITPOINT_CLOSED : WEIR_WAITPOINT_ACTIVE, &there, error);
    if (status == WEIR_OK && !there && !self->satisfied)
        return refuse_missing(key, error); /* it could not be signalled */
    return status == WEIR_OK
               ? give_token(self, connection, row, &self->spots[index], error)
               : status;
}

static enum weir_status open_new(struct suspend_call *self,
                                 struct weir_connection *connection, size_t index,
                                 struct weir_error *error)
{
    enum weir_status status = check_free(self, &self->waitpoints[index], error);

    return status == WEIR_OK
               ? add_waitpoint(self, connection, index, WEIR_WAITPOINT_ACTIVE, 0, error)
               : status;
}

/* A sweep takes what is closed, and those that suffice are when this is a repeat. They
 * are opened for the length of it; take_over() closes them. */
static enum weir_status spare(struct suspend_call *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    bool there = false;

    for (size_t i = 0; i < self->waitpoint_count && status == WEIR_OK; i++) {
        if (self->spots[i].made_before)
            status = weir_waitpoint_set(connection, self->claim->no, self->spots[i].uuid,
                                        WEIR_WAITPOINT_ACTIVE, &there, error);
    }
    return status;
}

/* Remove what is left of the suspension before this one. */
static enum weir_status sweep(struct suspend_call *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (self->there.count == 0 && self->came == 0)
        return WEIR_OK;
    if (self->satisfied)
        status = spare(self, connection, error);
    return status == WEIR_OK
               ? weir_waitpoints_sweep(connection, self->claim->no, self->now_us, error)
               : status;
}

/* No new ones are needed when what is there suffices. */
static enum weir_status open_waitpoints(struct suspend_call *self,
                                        struct weir_connection *connection,
                                        struct weir_error *error)
{
    enum weir_status status = self->satisfied ? WEIR_OK : check_room(self, error);

    for (size_t i = 0; i < self->waitpoint_count && status == WEIR_OK; i++) {
        if (self->spots[i].made_before)
            status = take_over(self, connection, i, error);
        else if (!self->satisfied)
            status = open_new(self, connection, i, error);
    }
    return status;
}

/* One that ends when it begins takes the place of the last one too: signals are those
 * of the last. */
static enum weir_status note_suspension(struct suspend_call *self,
                                        struct weir_connection *connection,
                                        int64_t timeout_us, struct weir_error *error)
{
    struct weir_suspension_row row = {
        .no = self->claim->no,
        .reason = self->options->reason,
        .since_us = self->now_us,
        .ended_us = self->satisfied ? self->now_us : 0,
        .timeout_us = timeout_us,
        .resume_delay_us = self->options->resume_delay_ms * 1000,
        .condition = weir_str(self->options->until),
    };

    return weir_wait_store_open(connection, &row, error);
}

static enum weir_status park(struct suspend_call *self,
                             struct weir_connection *connection,
                             const struct weir_change *change, struct weir_error *error)
{
    struct weir_change copy = *change;
    enum weir_status status =
        note_suspension(self, connection, change->stored->row.due_us, error);

    if (status == WEIR_OK)
        status =
            weir_change_set_store_at_commit(self->executions, connection, &copy, 1,
                                            self->now_us, &self->pending_wakeups, error);
    self->current = weir_execution_status_of(&change->stored->row);
    return status;
}

/* The reply was lost: the same waitpoints again, whatever has become of them. */
static enum weir_status answer_again(struct suspend_call *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < self->waitpoint_count && status == WEIR_OK; i++) {
        struct weir_waitpoint_row *row = find_key(self, self->waitpoints[i].key);

        if (row == NULL)
            return refuse(self, error);
        status = give_token(self, connection, row, &self->spots[i], error);
    }
    self->current = weir_execution_status_of(&self->records.rows[0].row);
    return status;
}

static enum weir_status suspend(struct weir_connection *connection, void *argument,
                                struct weir_error *error)
{
    struct suspend_call *self = argument;
    enum weir_status status = begin(self, connection, error);
    struct weir_change change = {.stored = &self->records.rows[0]};
    struct weir_execution_row row;
    struct weir_suspending suspending;
    enum weir_ruling ruling;

    if (status != WEIR_OK)
        return status;
    suspending = (struct weir_suspending){
        .hold = HOLDS[self->options->reason],
        .timeout_us =
            self->options->timeout_ms > 0
                ? weir_sat_add_i64(self->now_us, self->options->timeout_ms * 1000)
                : 0,
        .on_timeout = self->options->on_timeout,
    };
    row = change.stored->row;
    ruling = weir_rule_suspend(&row, self->claim->epoch, &suspending, self->now_us,
                               &change.consequence);
    if (ruling == WEIR_RULING_REPEATED)
        return answer_again(self, connection, error);
    if (ruling != WEIR_RULING_DONE)
        return refuse(self, error);

    status = look_at_signals(self, connection, error);
    if (status == WEIR_OK)
        status = sweep(self, connection, error);
    if (status == WEIR_OK)
        status = open_waitpoints(self, connection, error);
    if (status == WEIR_OK && self->satisfied)
        status = note_suspension(self, connection, suspending.timeout_us, error);
    if (status != WEIR_OK || self->satisfied) {
        self->current = weir_execution_status_of(&change.stored->row);
        return status;
    }
    change.stored->row = row;
    return park(self, connection, &change, error);
}

/* ---- calls ------------------------------------------------------------------------- */

static enum weir_status prepare(struct suspend_call *self, struct weir_error *error)
{
    const struct weir_heap *heap = self->executions->heap;
    struct weir_mint mint;

    weir_arena_init(&self->arena, heap, ARENA_SIZE_MAX);
    weir_execution_records_init(&self->records, heap, 1);
    self->spots =
        weir_heap_zalloc_array(heap, self->waitpoint_count + 1, sizeof *self->spots);
    self->condition = weir_heap_zalloc_array(heap, 1, sizeof *self->condition);
    if (self->spots == NULL || self->condition == NULL)
        return weir_no_memory_for(error, "a suspension");
    weir_mint_init(&mint, weir_clock_wall_us(), weir_clock_random());
    for (size_t i = 0; i < self->waitpoint_count; i++) {
        struct waitpoint_slot *waitpoint_slot = &self->spots[i];

        waitpoint_slot->made_before =
            self->options != NULL &&
            memcmp(self->waitpoints[i].uuid, NO_UUID, WEIR_UUID_SIZE) != 0;
        if (waitpoint_slot->made_before)
            memcpy(waitpoint_slot->minted, self->waitpoints[i].uuid, WEIR_UUID_SIZE);
        else
            weir_mint_uuid(&mint, waitpoint_slot->minted);
    }
    return WEIR_OK;
}

static void tell(struct suspend_call *self)
{
    for (size_t i = 0; i < self->waitpoint_count; i++) {
        if (self->spots[i].token[0] == '\0')
            continue; /* it was not needed */
        memcpy(self->waitpoints[i].uuid, self->spots[i].uuid, WEIR_UUID_SIZE);
        memcpy(self->waitpoints[i].token, self->spots[i].token, WEIR_TOKEN_TEXT_SIZE);
    }
}

/* Secrets and tokens do not stay in memory that others get. */
static void finish(struct suspend_call *self)
{
    if (self->spots != NULL)
        OPENSSL_cleanse(self->spots, self->waitpoint_count * sizeof *self->spots);
    weir_heap_free(self->executions->heap, self->spots);
    weir_heap_free(self->executions->heap, self->condition);
    weir_execution_records_fini(&self->records);
    weir_arena_fini(&self->arena);
    OPENSSL_cleanse(&self->secret, sizeof self->secret);
}

enum weir_status
weir_execution_waitpoint(struct weir_executions *self, const struct weir_claim *claim,
                         struct weir_waitpoint *waitpoint, int64_t expires_ms,
                         struct weir_execution_status *current, struct weir_error *error)
{
    struct suspend_call suspend_call = {.executions = self,
                                        .claim = claim,
                                        .waitpoints = waitpoint,
                                        .waitpoint_count = 1};
    enum weir_status status = check_keys(&suspend_call, error);

    if (status == WEIR_OK)
        status = check_duration("expires_ms", expires_ms, 1, error);
    if (status != WEIR_OK)
        return status;
    suspend_call.expires_us = expires_ms * 1000;
    status = prepare(&suspend_call, error);
    if (status == WEIR_OK)
        status = weir_transact_soon(self->db, make_waitpoint, &suspend_call, error);
    if (status == WEIR_OK)
        tell(&suspend_call);
    if (current != NULL)
        *current = suspend_call.current;
    finish(&suspend_call);
    return status;
}

void weir_suspend_options_init(struct weir_suspend_options *self)
{
    *self = (struct weir_suspend_options){.on_timeout = WEIR_TIMEOUT_FAIL};
}

enum weir_status
weir_execution_suspend(struct weir_executions *self, const struct weir_claim *claim,
                       struct weir_suspend_options *options, bool *satisfied,
                       struct weir_execution_status *current, struct weir_error *error)
{
    struct suspend_call suspend_call = {.executions = self,
                                        .claim = claim,
                                        .waitpoints = options->waitpoints,
                                        .waitpoint_count = options->waitpoint_count,
                                        .options = options};
    enum weir_status status = check_keys(&suspend_call, error);

    *satisfied = false;
    if (status != WEIR_OK)
        return status;
    status = prepare(&suspend_call, error);
    if (status == WEIR_OK)
        status = check_options(&suspend_call, error);
    if (status == WEIR_OK)
        status = weir_transact_soon(self->db, suspend, &suspend_call, error);
    if (status == WEIR_OK) {
        *satisfied = suspend_call.satisfied;
        tell(&suspend_call);
        weir_pending_wakeups_send(self, &suspend_call.pending_wakeups);
    }
    if (current != NULL)
        *current = suspend_call.current;
    finish(&suspend_call);
    return status;
}

/* ---- the key ----------------------------------------------------------------------- */

struct rotation {
    struct weir_secret secret;
    int64_t grace_us;
};

static enum weir_status rotate(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    const struct rotation *self = argument;
    int64_t now_us = 0;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    if (status == WEIR_OK)
        status = weir_secrets_rotate(connection, &self->secret,
                                     weir_sat_add_i64(now_us, self->grace_us), error);
    return status == WEIR_OK ? weir_audit_record(connection, 1, error) : status;
}

static enum weir_status rotate_to(struct weir_executions *self, const char *key_id,
                                  const uint8_t secret[WEIR_SECRET_SIZE],
                                  int64_t grace_ms, struct weir_error *error)
{
    struct rotation rotation = {.grace_us = 0};
    struct weir_str name = weir_str(key_id != NULL ? key_id : "");
    enum weir_status status = check_duration("grace_ms", grace_ms, 0, error);

    if (status != WEIR_OK)
        return status;
    if (!weir_condition_is_word(name, WEIR_KEY_ID_SIZE_MAX))
        return weir_error_set(error, WEIR_INVALID,
                              "key_id must have 1 to %d letters, digits and \"_-.:/\"",
                              WEIR_KEY_ID_SIZE_MAX);
    rotation.grace_us = grace_ms * 1000;
    memcpy(rotation.secret.key_id, name.data, name.size);
    if (secret != NULL)
        memcpy(rotation.secret.bytes, secret, WEIR_SECRET_SIZE);
    else
        status = weir_secret_draw(&rotation.secret, error);
    if (status == WEIR_OK)
        status = weir_transact(self->db, rotate, &rotation, error);
    OPENSSL_cleanse(&rotation, sizeof rotation);
    return status;
}

enum weir_status weir_executions_rotate_key(struct weir_executions *self,
                                            const char *key_id,
                                            const uint8_t secret[WEIR_SECRET_SIZE],
                                            int64_t grace_ms, struct weir_error *error)
{
    struct weir_audit_call audit;

    weir_audit_begin(&audit, self->db, NULL, "key.rotate", key_id);
    return weir_audit_end(&audit, rotate_to(self, key_id, secret, grace_ms, error),
                          error);
}
