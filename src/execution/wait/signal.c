/*
 * signal.c - receives signals for suspended executions, and answers them.
 *
 * A call without a valid token is answered before anything else is read or locked, and
 * always in the same words. Then the execution's row is locked: signals, timeouts and
 * operators come one after the other, and each finds what the one before has left.
 *
 * A waitpoint that is there knows by its signals which keys it has seen. Of one that is
 * gone, and of operators, which mean whichever waitpoint has that key, signal_keys.h
 * knows it.
 */
#include <inttypes.h>
#include <openssl/crypto.h>
#include <string.h>

#include "base/arith.h"
#include "base/codec/hex.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "base/utf8.h"
#include "db/clock.h"
#include "db/db.h"
#include "execution/events.h"
#include "execution/executions.h"
#include "execution/wait/secrets.h"
#include "execution/wait/signal_keys.h"
#include "execution/wait/wait_store.h"
#include "outbox/audit/audit.h"

enum { ARENA_SIZE_MAX = 32 * 1024 * 1024, UUID_TEXT_SIZE = 2 * WEIR_UUID_SIZE + 1 };

/* One call. */
struct signal_call {
    struct weir_executions *executions;
    const struct weir_execution_id *id;
    const struct weir_signal *signal;
    const char *waitpoint_key; /* of an operator, which needs no token; else NULL */
    struct weir_signal_row row;
    char own_key[UUID_TEXT_SIZE]; /* of one without */
    bool keyed;                   /* it has a key of the caller's */

    /* of one transaction */
    struct weir_arena arena;
    struct weir_execution_records records;
    struct weir_waitpoint_rows waitpoints;
    const struct weir_waitpoint_row *waitpoint;
    size_t came; /* signals, with this one */
    int64_t now_us;
    bool repeated; /* its key tells what became of it, and that is all */
    enum weir_signal_effect effect;
    struct weir_pending_wakeups pending_wakeups;
};

/* ---- checking ---------------------------------------------------------------------- */

static enum weir_status check_text(const char *name, struct weir_str text,
                                   size_t size_max, struct weir_error *error)
{
    if (text.size > size_max)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "%s has %zu bytes, must have at most %zu", name, text.size,
                              size_max);
    if (!weir_utf8_valid(text))
        return weir_error_set(error, WEIR_INVALID, "%s must be UTF-8", name);
    return WEIR_OK;
}

static struct weir_str or_nothing(const char *text)
{
    return weir_str(text != NULL ? text : "");
}

static enum weir_status check_signal(const struct weir_signal *signal,
                                     struct weir_error *error)
{
    enum weir_status status;

    if (!weir_condition_is_word(or_nothing(signal->name), WEIR_SIGNAL_NAME_SIZE_MAX))
        return weir_error_set(error, WEIR_INVALID,
                              "name must have 1 to %d letters, digits and \"_-.:/\"",
                              WEIR_SIGNAL_NAME_SIZE_MAX);
    if (signal->payload_size > WEIR_SIGNAL_PAYLOAD_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "payload has %zu bytes, must have at most %d",
                              signal->payload_size, WEIR_SIGNAL_PAYLOAD_MAX);
    if (signal->payload == NULL && signal->payload_size > 0)
        return weir_error_set(error, WEIR_INVALID, "payload is NULL, must be %zu %s",
                              signal->payload_size,
                              WEIR_NOUN(signal->payload_size, "byte", "bytes"));
    status = check_text("source_type", or_nothing(signal->source_type),
                        WEIR_SIGNAL_SOURCE_SIZE_MAX, error);
    if (status == WEIR_OK)
        status = check_text("source", or_nothing(signal->source),
                            WEIR_SIGNAL_SOURCE_SIZE_MAX, error);
    if (status == WEIR_OK)
        status = check_text("key", or_nothing(signal->key), WEIR_IDEMPOTENCY_KEY_SIZE_MAX,
                            error);
    return status;
}

/*
 * ---- authorisation ------------------------------------------------------------------
 */

static enum weir_status deny(struct weir_error *error)
{
    return weir_error_set(error, WEIR_DENIED,
                          "the token is not valid for this waitpoint");
}

static const struct weir_waitpoint_row *find_uuid(const struct signal_call *self)
{
    for (size_t i = 0; i < self->waitpoints.count; i++) {
        if (memcmp(self->waitpoints.rows[i].uuid, self->signal->waitpoint,
                   WEIR_UUID_SIZE) == 0)
            return &self->waitpoints.rows[i];
    }
    return NULL;
}

static const struct weir_waitpoint_row *find_key(const struct signal_call *self)
{
    for (size_t i = self->waitpoints.count; i > 0; i--) {
        if (weir_str_equal(self->waitpoints.rows[i - 1].key,
                           weir_str(self->waitpoint_key)))
            return &self->waitpoints.rows[i - 1];
    }
    return NULL;
}

static struct weir_str key_id_of(const struct signal_call *self)
{
    return weir_token_key_id(self->signal->token != NULL ? self->signal->token : "");
}

/* Is it the token of the waitpoint that is named, which has this key? */
static enum weir_status check_token(const struct signal_call *self,
                                    struct weir_connection *connection,
                                    struct weir_str waitpoint_key,
                                    struct weir_error *error)
{
    struct weir_token_subject subject = {self->id, self->signal->waitpoint,
                                         waitpoint_key};
    struct weir_str key_id = key_id_of(self);
    char expected[WEIR_TOKEN_TEXT_SIZE];
    struct weir_secret secret;
    bool good = false;
    enum weir_status status =
        weir_secrets_find(connection, key_id, self->now_us, &secret, error);

    if (status == WEIR_OK)
        status = weir_token_make(&secret, &subject, expected, error);
    if (status == WEIR_OK)
        good = weir_token_equal(expected, self->signal->token);
    OPENSSL_cleanse(&secret, sizeof secret);
    OPENSSL_cleanse(expected, sizeof expected);
    if (status == WEIR_NO_ROW || (status == WEIR_OK && !good))
        return deny(error);
    return status;
}

static enum weir_status look_at_waitpoints(struct signal_call *self,
                                           struct weir_connection *connection,
                                           struct weir_error *error)
{
    enum weir_status status =
        weir_store_clock(connection, &self->records, &self->now_us, error);

    if (status == WEIR_OK)
        status = weir_waitpoints_read(connection, self->records.rows[0].row.no,
                                      &self->arena, &self->waitpoints, error);
    if (status == WEIR_OK)
        self->waitpoint = self->waitpoint_key == NULL ? find_uuid(self) : find_key(self);
    return status;
}

static struct weir_signal_key key_of(const struct signal_call *self)
{
    bool operator= self->waitpoint_key != NULL;

    return (struct weir_signal_key){
        .no = self->records.rows[0].row.no,
        .waitpoint = operator? NULL : self->signal->waitpoint,
        .waitpoint_key = or_nothing(self->waitpoint_key),
        .key = self->row.idempotency_key,
    };
}

static enum weir_status mismatch(struct weir_error *error)
{
    return weir_error_set(error, WEIR_MISMATCH,
                          "its key was used before for another signal");
}

/*
 * Has its key been used before, if it has one? A call with an invalid token does not
 * learn it.
 */
static enum weir_status recall(struct signal_call *self,
                               struct weir_connection *connection,
                               struct weir_error *error)
{
    struct weir_signal_key key = key_of(self);
    struct weir_signal_use before;
    uint8_t digest[WEIR_MD5_SIZE];
    enum weir_status status;

    if (!self->keyed)
        return WEIR_OK;
    status = weir_signal_key_find(connection, &key, self->now_us, &self->arena, &before,
                                  error);
    if (status == WEIR_NO_ROW)
        return WEIR_OK;
    if (status == WEIR_OK && self->waitpoint_key == NULL)
        status = check_token(self, connection, before.waitpoint_key, error);
    if (status != WEIR_OK)
        return status;
    self->repeated = true;
    self->effect = before.late ? WEIR_SIGNAL_LATE : WEIR_SIGNAL_DUPLICATE;
    weir_signal_digest(&self->row, digest);
    return memcmp(digest, before.digest, WEIR_MD5_SIZE) == 0 ? WEIR_OK : mismatch(error);
}

/* The waitpoint is not there, or not any more: then it may have taken this very
 * signal. */
static enum weir_status admit_repeat(struct signal_call *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    enum weir_status status = recall(self, connection, error);

    return status == WEIR_OK && !self->repeated ? deny(error) : status;
}

/* Without a lock: a call with a wrong token blocks no transaction, and does
 * not wait. */
static enum weir_status admit(struct signal_call *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status = weir_store_get(&self->executions->store, connection,
                                             self->id, &self->records, error);

    if (status == WEIR_NOT_FOUND)
        return deny(error);
    if (status == WEIR_OK)
        status = look_at_waitpoints(self, connection, error);
    if (status != WEIR_OK)
        return status;
    if (self->waitpoint == NULL)
        return admit_repeat(self, connection, error);
    if (!weir_str_equal(key_id_of(self), self->waitpoint->key_id))
        return deny(error);
    return check_token(self, connection, self->waitpoint->key, error);
}

static enum weir_status refuse(const struct signal_call *self, const char *what,
                               struct weir_error *error)
{
    if (self->waitpoint_key == NULL)
        return deny(error);
    return weir_error_set(error, WEIR_NOT_FOUND, "%s", what);
}

/* By its number where that is known by now: a number means one execution for ever. */
static enum weir_status lock(struct signal_call *self, struct weir_connection *connection,
                             struct weir_error *error)
{
    const struct weir_store *store = &self->executions->store;
    int64_t no;

    if (self->waitpoint_key != NULL)
        return weir_store_load_by_id(store, connection, self->id, 1, &self->records,
                                     error);
    no = self->records.rows[0].row.no;
    return weir_store_load(store, connection, &no, 1, &self->records, error);
}

/* Under the lock: the waitpoint may be gone since the token was looked at. */
static enum weir_status find_waitpoint(struct signal_call *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    enum weir_status status = look_at_waitpoints(self, connection, error);

    if (status == WEIR_OK && (self->waitpoint_key != NULL || self->waitpoint == NULL))
        status = recall(self, connection, error);
    if (status == WEIR_OK && self->waitpoint == NULL && !self->repeated)
        return refuse(self, "it has no waitpoint of this key", error);
    return status;
}

static enum weir_status begin(struct signal_call *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    self->pending_wakeups = (struct weir_pending_wakeups){.ready = false};
    self->repeated = false;
    weir_arena_reset(&self->arena);
    if (self->waitpoint_key == NULL)
        status = admit(self, connection, error);
    if (status != WEIR_OK || self->repeated)
        return status;
    status = lock(self, connection, error);
    if (status == WEIR_OK && self->records.count == 0)
        return refuse(self, "there is no such execution", error);
    return status == WEIR_OK ? find_waitpoint(self, connection, error) : status;
}

/* ---- what it does ------------------------------------------------------------------ */

struct seen_signals {
    struct signal_call *signal_call;
    struct weir_signal_seen *seen;
    size_t count;
    size_t room;
};

static bool is_active(const struct signal_call *self, const uint8_t *uuid)
{
    for (size_t i = 0; i < self->waitpoints.count; i++) {
        if (memcmp(self->waitpoints.rows[i].uuid, uuid, WEIR_UUID_SIZE) == 0)
            return self->waitpoints.rows[i].state == WEIR_WAITPOINT_ACTIVE;
    }
    return false;
}

static enum weir_status gather(void *state, const struct weir_signal_row *row,
                               struct weir_error *error)
{
    struct seen_signals *self = state;

    if (self->count == self->room || !is_active(self->signal_call, row->waitpoint))
        return WEIR_OK;
    return weir_signal_see(&self->signal_call->arena, row, &self->seen[self->count++],
                           error);
}

/* Do all that have come suffice? */
static enum weir_status evaluate(struct signal_call *self,
                                 struct weir_connection *connection, int64_t no,
                                 const struct weir_condition *condition, bool *holds,
                                 struct weir_error *error)
{
    struct seen_signals seen_signals = {.signal_call = self, .room = self->came};
    enum weir_status status;

    seen_signals.seen = weir_arena_alloc(&self->arena, (seen_signals.room + 1) *
                                                           sizeof *seen_signals.seen);
    if (seen_signals.seen == NULL)
        return weir_no_memory_for(error, "%zu %s", seen_signals.room,
                                  WEIR_NOUN(seen_signals.room, "signal", "signals"));
    status = weir_signals_visit(connection, no, WEIR_SIGNALS_BARE, gather, &seen_signals,
                                error);
    *holds = status == WEIR_OK &&
             weir_condition_holds(condition, seen_signals.seen, seen_signals.count);
    return status;
}

static enum weir_status resume(struct signal_call *self,
                               struct weir_connection *connection, int64_t delay_us,
                               struct weir_error *error)
{
    struct weir_change change = {.stored = &self->records.rows[0]};
    enum weir_ruling ruling =
        weir_rule_resume(&change.stored->row, weir_sat_add_i64(self->now_us, delay_us),
                         self->now_us, &change.consequence);

    if (ruling != WEIR_RULING_DONE)
        return WEIR_OK; /* it is not suspended: judge() knows */
    self->effect = WEIR_SIGNAL_RESUMED;
    return weir_change_set_store_at_commit(self->executions, connection, &change, 1,
                                           self->now_us, &self->pending_wakeups, error);
}

static enum weir_status judge(struct signal_call *self,
                              struct weir_connection *connection,
                              struct weir_error *error)
{
    int64_t no = self->records.rows[0].row.no;
    struct weir_signal_seen seen;
    struct weir_suspension_row suspension;
    struct weir_condition *condition = NULL;
    bool holds = false;
    enum weir_status status =
        weir_wait_store_read(connection, no, &self->arena, &suspension, error);

    if (status == WEIR_NO_ROW)
        return weir_error_set(error, WEIR_SCHEMA,
                              "it is suspended, and nothing says until when");
    if (status == WEIR_OK) {
        condition = weir_arena_alloc(&self->arena, sizeof *condition);
        if (condition == NULL)
            return weir_no_memory_for(error, "a condition");
        status = weir_condition_parse(condition, suspension.condition, error);
    }
    if (status == WEIR_OK)
        status = evaluate(self, connection, no, condition, &holds, error);
    if (status != WEIR_OK)
        return status;
    seen = (struct weir_signal_seen){self->waitpoint->key, self->row.name,
                                     self->row.source_type, self->row.source};
    self->effect =
        weir_condition_wants(condition, &seen) ? WEIR_SIGNAL_KEPT : WEIR_SIGNAL_IGNORED;
    return holds ? resume(self, connection, suspension.resume_delay_us, error) : WEIR_OK;
}

static bool is_same(const struct weir_signal_row *a, const struct weir_signal_row *b)
{
    return weir_str_equal(a->name, b->name) &&
           weir_str_equal(a->source_type, b->source_type) &&
           weir_str_equal(a->source, b->source) && weir_str_equal(a->payload, b->payload);
}

/* One with this key has come before: it must have been the same. */
static enum weir_status compare(struct signal_call *self,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    struct weir_signal_row before;
    enum weir_status status =
        weir_signal_find(connection, self->records.rows[0].row.no, self->waitpoint->uuid,
                         self->row.idempotency_key, &self->arena, &before, error);

    self->effect = WEIR_SIGNAL_DUPLICATE;
    return status == WEIR_OK && !is_same(&before, &self->row) ? mismatch(error) : status;
}

/* The wait is over: what came in time and is repeated is answered so all the same. */
static enum weir_status come_late(struct signal_call *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    enum weir_status status = compare(self, connection, error);

    if (status == WEIR_NO_ROW) {
        self->effect = WEIR_SIGNAL_LATE;
        status = WEIR_OK;
    }
    return status;
}

static bool is_late(const struct signal_call *self)
{
    const struct weir_waitpoint_row *waitpoint = self->waitpoint;

    return weir_state_is_over(self->records.rows[0].row.state) ||
           waitpoint->state >= WEIR_WAITPOINT_CLOSED ||
           (waitpoint->until_us > 0 && waitpoint->until_us <= self->now_us);
}

static enum weir_status check_room(struct signal_call *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status =
        weir_signals_count(connection, self->records.rows[0].row.no, &count, error);

    if (status == WEIR_OK && count >= WEIR_SIGNALS_MAX)
        return weir_error_set(error, WEIR_FULL, "it has %" PRId64 " %s already", count,
                              WEIR_NOUN(count, "signal", "signals"));
    self->came = (size_t)count + 1;
    return status;
}

/* The waitpoint takes it, unless it has it already. */
static enum weir_status take(struct signal_call *self, struct weir_connection *connection,
                             struct weir_error *error)
{
    bool added = false;
    enum weir_status status = check_room(self, connection, error);

    memcpy(self->row.waitpoint, self->waitpoint->uuid, WEIR_UUID_SIZE);
    self->row.came_us = self->now_us;
    if (status == WEIR_OK)
        status = weir_signal_add(connection, self->records.rows[0].row.no, &self->row,
                                 &added, error);
    if (status == WEIR_OK && !added)
        return compare(self, connection, error);
    self->effect = WEIR_SIGNAL_BUFFERED;
    if (status == WEIR_OK && self->waitpoint->state == WEIR_WAITPOINT_ACTIVE)
        status = judge(self, connection, error);
    if (status == WEIR_OK)
        status = weir_events_signal(self->executions, connection, &self->records.rows[0],
                                    &self->row, self->waitpoint->key,
                                    weir_signal_effect_name(self->effect), self->now_us,
                                    &self->pending_wakeups.events, error);
    return status;
}

/*
 * A repeat of an operator's must not reach the waitpoint of the next suspension, also
 * when it was late or a repeat already. One with a token never reaches another
 * waitpoint: of those that changed nothing nothing is kept, or the holder of a token
 * could fill the table.
 */
static enum weir_status remember(struct signal_call *self,
                                 struct weir_connection *connection,
                                 struct weir_error *error)
{
    struct weir_signal_key key = key_of(self);
    struct weir_signal_use use = {.waitpoint_key = self->waitpoint->key,
                                  .late = self->effect == WEIR_SIGNAL_LATE};

    if (!self->keyed ||
        (self->waitpoint_key == NULL && self->effect >= WEIR_SIGNAL_DUPLICATE))
        return WEIR_OK;
    weir_signal_digest(&self->row, use.digest);
    return weir_signal_key_keep(connection, &key, &use, self->now_us, error);
}

/* Of an approval; a signal is no action of an operator. */
static enum weir_status record(const struct signal_call *self,
                               struct weir_connection *connection,
                               struct weir_error *error)
{
    if (self->waitpoint_key == NULL)
        return WEIR_OK;
    weir_audit_note(NULL, weir_signal_effect_name(self->effect));
    return weir_audit_record(connection, self->effect < WEIR_SIGNAL_DUPLICATE, error);
}

static enum weir_status deliver(struct weir_connection *connection, void *argument,
                                struct weir_error *error)
{
    struct signal_call *self = argument;
    enum weir_status status = begin(self, connection, error);

    if (status != WEIR_OK || self->repeated)
        return status;
    if (is_late(self))
        status = come_late(self, connection, error);
    else
        status = take(self, connection, error);
    if (status == WEIR_OK)
        status = remember(self, connection, error);
    return status == WEIR_OK ? record(self, connection, error) : status;
}

/* ---- calls ------------------------------------------------------------------------- */

static void pack(struct signal_call *self)
{
    const struct weir_signal *signal = self->signal;
    struct weir_mint mint;

    weir_mint_init(&mint, weir_clock_wall_us(), weir_clock_random());
    weir_mint_uuid(&mint, self->row.uuid);
    *weir_hex_write(self->row.uuid, WEIR_UUID_SIZE, self->own_key) = '\0';
    self->keyed = signal->key != NULL && signal->key[0] != '\0';
    self->row.idempotency_key = weir_str(self->keyed ? signal->key : self->own_key);
    self->row.name = weir_str(signal->name);
    self->row.source_type = or_nothing(signal->source_type);
    self->row.source = or_nothing(signal->source);
    self->row.payload = signal->payload_size > 0
                            ? (struct weir_str){signal->payload, signal->payload_size}
                            : weir_str("");
}

static enum weir_status send(struct signal_call *self, enum weir_signal_effect *effect,
                             struct weir_error *error)
{
    enum weir_status status = check_signal(self->signal, error);

    if (status != WEIR_OK)
        return status;
    pack(self);
    weir_arena_init(&self->arena, self->executions->heap, ARENA_SIZE_MAX);
    weir_execution_records_init(&self->records, self->executions->heap, 1);
    status = weir_transact_soon(self->executions->db, deliver, self, error);
    if (status == WEIR_OK) {
        *effect = self->effect;
        weir_pending_wakeups_send(self->executions, &self->pending_wakeups);
    }
    weir_execution_records_fini(&self->records);
    weir_arena_fini(&self->arena);
    return status;
}

enum weir_status weir_execution_signal(struct weir_executions *self,
                                       const struct weir_signal *signal,
                                       enum weir_signal_effect *effect,
                                       struct weir_error *error)
{
    struct signal_call signal_call = {
        .executions = self, .id = &signal->id, .signal = signal};

    return send(&signal_call, effect, error);
}

enum weir_status
weir_execution_approve(struct weir_executions *self, const struct weir_execution_id *id,
                       const char *waitpoint_key, const struct weir_signal *signal,
                       enum weir_signal_effect *effect, struct weir_error *error)
{
    struct signal_call signal_call = {
        .executions = self, .id = id, .signal = signal, .waitpoint_key = waitpoint_key};
    char target[WEIR_AUDIT_TARGET_SIZE], id_text[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_audit_call audit;
    enum weir_status status = WEIR_OK;

    weir_audit_begin(
        &audit, self->db, NULL, "execution.approve",
        weir_audit_pair(weir_execution_id_format(id, id_text), waitpoint_key, target));
    if (!weir_condition_is_word(or_nothing(waitpoint_key), WEIR_WAITPOINT_KEY_SIZE_MAX))
        status = weir_error_set(error, WEIR_INVALID,
                                "the key of a waitpoint must have 1 to %d letters, "
                                "digits and \"_-.:/\"",
                                WEIR_WAITPOINT_KEY_SIZE_MAX);
    if (status == WEIR_OK)
        status = send(&signal_call, effect, error);
    return weir_audit_end(&audit, status, error);
}

/* ---- reading ----------------------------------------------------------------------- */

/* One call that reads. */
struct reading {
    struct weir_executions *executions;
    weir_signal_visit_fn visit_signal;
    weir_waitpoint_visit_fn visit_waitpoint;
    void *state;
    struct weir_arena arena;
    struct weir_execution_records records;
};

static enum weir_status find(struct reading *self, struct weir_connection *connection,
                             const struct weir_execution_id *id, struct weir_error *error)
{
    return weir_store_get(&self->executions->store, connection, id, &self->records,
                          error);
}

static enum weir_status show_signal(void *state, const struct weir_signal_row *row,
                                    struct weir_error *error)
{
    struct reading *self = state;
    struct weir_signal_info info = {
        .waitpoint_key = weir_arena_copy(&self->arena, row->waitpoint_key),
        .name = weir_arena_copy(&self->arena, row->name),
        .source_type = weir_arena_copy(&self->arena, row->source_type),
        .source = weir_arena_copy(&self->arena, row->source),
        .payload = row->payload.size > 0 ? row->payload.data : NULL,
        .payload_size = row->payload.size,
        .came_us = row->came_us,
    };

    memcpy(info.uuid, row->uuid, WEIR_UUID_SIZE);
    memcpy(info.waitpoint, row->waitpoint, WEIR_UUID_SIZE);
    if (info.waitpoint_key == NULL || info.name == NULL || info.source_type == NULL ||
        info.source == NULL)
        return weir_no_memory_for(error, "signals");
    self->visit_signal(self->state, &info);
    weir_arena_reset(&self->arena);
    return WEIR_OK;
}

/* The execution and a connection. Owes fini(), also when it has failed. */
static enum weir_status reading_init(struct reading *self,
                                     const struct weir_execution_id *id,
                                     struct weir_connection **connection,
                                     struct weir_error *error)
{
    const struct weir_heap *heap = self->executions->heap;
    enum weir_status status = weir_db_acquire(self->executions->db, connection, error);

    weir_arena_init(&self->arena, heap, ARENA_SIZE_MAX);
    weir_execution_records_init(&self->records, heap, 1);
    return status == WEIR_OK ? find(self, *connection, id, error) : status;
}

static void reading_fini(struct reading *self, struct weir_connection *connection)
{
    weir_execution_records_fini(&self->records);
    weir_arena_fini(&self->arena);
    weir_db_release(self->executions->db, connection);
}

enum weir_status weir_execution_signals(struct weir_executions *self,
                                        const struct weir_execution_id *id,
                                        weir_signal_visit_fn visit, void *state,
                                        struct weir_error *error)
{
    struct reading reading = {.executions = self, .visit_signal = visit, .state = state};
    struct weir_connection *connection = NULL;
    enum weir_status status = reading_init(&reading, id, &connection, error);

    if (status == WEIR_OK)
        status =
            weir_signals_visit(connection, reading.records.rows[0].row.no,
                               WEIR_SIGNALS_WITH_PAYLOAD, show_signal, &reading, error);
    reading_fini(&reading, connection);
    return status;
}

/* Of a secret that is gone, or that the caller may not read, there is no fingerprint. */
static enum weir_status fingerprint(struct weir_connection *connection,
                                    const struct weir_execution_id *id,
                                    const struct weir_waitpoint_row *row, char *out,
                                    struct weir_error *error)
{
    struct weir_token_subject subject = {id, row->uuid, row->key};
    char token[WEIR_TOKEN_TEXT_SIZE];
    struct weir_secret secret;
    enum weir_status status =
        weir_secrets_find(connection, row->key_id, 0, &secret, error);

    out[0] = '\0';
    if (status == WEIR_NO_ROW || status == WEIR_DENIED) {
        weir_error_clear(error);
        return WEIR_OK;
    }
    if (status == WEIR_OK)
        status = weir_token_make(&secret, &subject, token, error);
    if (status == WEIR_OK)
        status = weir_token_fingerprint(token, out, error);
    OPENSSL_cleanse(&secret, sizeof secret);
    OPENSSL_cleanse(token, sizeof token);
    return status;
}

static enum weir_status show_waitpoint(struct reading *self,
                                       struct weir_connection *connection,
                                       const struct weir_waitpoint_row *row,
                                       struct weir_error *error)
{
    const struct weir_execution_row *execution = &self->records.rows[0].row;
    int64_t count = 0;
    struct weir_waitpoint_info info = {
        .key = weir_arena_copy(&self->arena, row->key),
        .key_id = weir_arena_copy(&self->arena, row->key_id),
        .state = row->state,
        .created_us = row->created_us,
        .until_us = row->until_us,
    };
    enum weir_status status =
        fingerprint(connection, &execution->id, row, info.fingerprint, error);

    if (status == WEIR_OK && (info.key == NULL || info.key_id == NULL))
        status = weir_no_memory_for(error, "waitpoints");
    if (status == WEIR_OK)
        status =
            weir_signals_count_at(connection, execution->no, row->uuid, &count, error);
    if (status != WEIR_OK)
        return status;
    memcpy(info.uuid, row->uuid, WEIR_UUID_SIZE);
    info.signals = (uint32_t)count;
    self->visit_waitpoint(self->state, &info);
    return WEIR_OK;
}

enum weir_status weir_execution_waitpoints(struct weir_executions *self,
                                           const struct weir_execution_id *id,
                                           weir_waitpoint_visit_fn visit, void *state,
                                           struct weir_error *error)
{
    struct reading reading = {
        .executions = self, .visit_waitpoint = visit, .state = state};
    struct weir_waitpoint_rows waitpoints = {.count = 0};
    struct weir_connection *connection = NULL;
    enum weir_status status = reading_init(&reading, id, &connection, error);

    if (status == WEIR_OK)
        status = weir_waitpoints_read(connection, reading.records.rows[0].row.no,
                                      &reading.arena, &waitpoints, error);
    for (size_t i = 0; i < waitpoints.count && status == WEIR_OK; i++)
        status = show_waitpoint(&reading, connection, &waitpoints.rows[i], error);
    reading_fini(&reading, connection);
    return status;
}
