/*
 * audit.c - see audit.h.
 *
 * A row that is written in a transaction that fails is gone with it, so `recorded` alone
 * proves nothing: after a failure end() looks at the status, and after success at
 * `recorded`, for then the last body has committed.
 *
 * Names of queues and ids in a refused call come from outside and may be anything. A text
 * is made plain and cut before it is written, so that no database refuses it.
 */
#include "outbox/audit/audit.h"

#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/utf8.h"
#include "db/clock.h"
#include "db/db.h"
#include "db/transact.h"
#include "outbox/audit/audit_export.h"
#include "outbox/plain_text.h"

enum { OUTCOME_SIZE = 32, ARENA_SIZE_MAX = 64 * 1024 };

/* By the primary key, at its end. */
static const struct weir_sql SQL_INSERT = {
    .name = "write audit row",
    .text =
        "INSERT INTO {p}_audit (at_us, nonce, request, actor, origin, address, action,"
        " target, changed, old_value, new_value, reason, outcome)"
        " VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12},"
        " {13})",
    .parameters = "iittitttitttt",
};

/* The row that this transaction has just written is near the end of the primary key. */
static const struct weir_sql SQL_FIND = {
    .name = "find audit row of the call",
    .text = "SELECT id FROM {p}_audit WHERE nonce = {1} ORDER BY id DESC LIMIT 1",
    .parameters = "i",
};

/* By the primary key. */
static const struct weir_sql SQL_ADD = {
    .name = "add to audit row",
    .text = "UPDATE {p}_audit SET changed = changed + {2} WHERE id = {1}",
    .parameters = "ii",
};
static const struct weir_sql SQL_ENDED = {
    .name = "end audit row",
    .text = "UPDATE {p}_audit SET outcome = {2} WHERE id = {1}",
    .parameters = "it",
};

static _Thread_local const struct weir_audit_actor *actor;
static _Thread_local struct weir_audit_call *current;

/* ---- actors ------------------------------------------------------------------------ */

const struct weir_audit_actor *weir_audit_act_as(const struct weir_audit_actor *new_actor)
{
    const struct weir_audit_actor *before = actor;

    actor = new_actor;
    current = NULL; /* a call that a panic has left never ends */
    return before;
}

const struct weir_audit_actor *weir_audit_actor(void)
{
    return actor;
}

const struct weir_audit_actor *weir_audit_suspend(void)
{
    const struct weir_audit_actor *before = actor;

    actor = NULL;
    return before;
}

void weir_audit_resume(const struct weir_audit_actor *suspended)
{
    actor = suspended;
}

const char *weir_audit_origin_name(enum weir_audit_origin origin)
{
    switch (origin) {
    case WEIR_FROM_API:
        return "api";
    case WEIR_FROM_CONSOLE:
        return "console";
    case WEIR_FROM_CLI:
        return "cli";
    }
    return "unknown";
}

/* ---- texts ------------------------------------------------------------------------- */

static size_t cut_between_characters(struct weir_str text, size_t size_max)
{
    size_t at = 0;

    while (at < text.size) {
        size_t size = weir_utf8_sequence(text.data + at, text.size - at);

        if (size == 0 || at + size > size_max)
            break;
        at += size;
    }
    return at;
}

/* NULL stays NULL. */
static enum weir_status plain(struct weir_arena *arena, const char *text, size_t size_max,
                              struct weir_value *out)
{
    struct weir_str clean;
    enum weir_status status;

    *out = weir_null();
    if (text == NULL)
        return WEIR_OK;
    status = weir_plain_text(arena, weir_str(text), &clean);
    if (status != WEIR_OK)
        return status;
    clean.size = cut_between_characters(clean, size_max);
    *out = weir_text(clean);
    return WEIR_OK;
}

static const char *outcome_name(enum weir_status outcome, char out[OUTCOME_SIZE])
{
    const char *name = weir_status_name(outcome);
    size_t i = 0;

    for (; name[i] != '\0' && i < OUTCOME_SIZE - 1; i++)
        out[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
    out[i] = '\0';
    return out;
}

/* ---- the row ----------------------------------------------------------------------- */

enum column {
    AT,
    NONCE,
    REQUEST,
    ACTOR,
    ORIGIN,
    ADDRESS,
    ACTION,
    TARGET,
    CHANGED,
    BEFORE,
    AFTER,
    REASON,
    OUTCOME,
    COLUMN_COUNT
};

static enum weir_status fill(struct weir_value *row, struct weir_arena *arena,
                             const struct weir_audit_actor *by,
                             const struct weir_audit_entry *entry, char *outcome)
{
    const struct {
        enum column column;
        const char *text;
        size_t size_max;
    } texts[] = {
        {REQUEST, by->request, WEIR_AUDIT_NAME_SIZE_MAX},
        {ACTOR, by->name != NULL ? by->name : "", WEIR_AUDIT_NAME_SIZE_MAX},
        {ADDRESS, by->address, WEIR_AUDIT_NAME_SIZE_MAX},
        {ACTION, entry->action, WEIR_AUDIT_NAME_SIZE_MAX},
        {TARGET, entry->target, WEIR_AUDIT_TEXT_SIZE_MAX},
        {BEFORE, entry->before, WEIR_AUDIT_TEXT_SIZE_MAX},
        {AFTER, entry->after, WEIR_AUDIT_TEXT_SIZE_MAX},
        {REASON, entry->reason != NULL ? entry->reason : by->reason,
         WEIR_AUDIT_TEXT_SIZE_MAX},
        {OUTCOME, outcome_name(entry->outcome, outcome), OUTCOME_SIZE},
    };
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == WEIR_OK; i++)
        status = plain(arena, texts[i].text, texts[i].size_max, &row[texts[i].column]);
    row[ORIGIN] = weir_integer(by->origin);
    row[CHANGED] = weir_integer(entry->count);
    return status;
}

static struct weir_str text_of(const struct weir_value *value)
{
    return value->type == WEIR_TYPE_TEXT ? value->as.text : (struct weir_str){NULL, 0};
}

static enum weir_status export(struct weir_connection *connection,
                               const struct weir_audit_actor *by,
                               const struct weir_value *row, struct weir_error *error) {
    const struct weir_audit_message message =
        {
            .at_us = row[AT].as.integer,
            .request = text_of(&row[REQUEST]),
            .actor = text_of(&row[ACTOR]),
            .origin = by->origin,
            .address = text_of(&row[ADDRESS]),
            .action = text_of(&row[ACTION]),
            .target = text_of(&row[TARGET]),
            .count = row[CHANGED].as.integer,
            .before = text_of(&row[BEFORE]),
            .after = text_of(&row[AFTER]),
            .reason = text_of(&row[REASON]),
            .outcome = text_of(&row[OUTCOME]),
        };

    if (by->export_to == NULL) return WEIR_OK;
    return weir_audit_export(by->export_to, connection, &message, error);
}

static enum weir_status insert(struct weir_connection *connection,
                               const struct weir_audit_actor *by,
                               const struct weir_audit_entry *entry, int64_t nonce,
                               struct weir_error *error)
{
    struct weir_value row[COLUMN_COUNT];
    char outcome[OUTCOME_SIZE];
    struct weir_arena arena;
    int64_t now_us = 0;
    enum weir_status status;

    weir_arena_init(&arena, weir_connection_config(connection)->heap, ARENA_SIZE_MAX);
    status = fill(row, &arena, by, entry, outcome);
    if (status != WEIR_OK)
        (void)weir_error_set(error, status, "no memory for an audit row");
    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &now_us, error);
    row[AT] = weir_integer(now_us);
    row[NONCE] = weir_integer(nonce);
    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_INSERT, row, COLUMN_COUNT, NULL,
                                         error);
    if (status == WEIR_OK)
        status = export(connection, by, row, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "audit");
    weir_arena_fini(&arena);
    return status;
}

static int64_t draw_nonce(void)
{
    return (int64_t)(weir_clock_random() >> 1);
}

/* ---- calls ------------------------------------------------------------------------- */

void weir_audit_begin(struct weir_audit_call *self, struct weir_db *db,
                      struct weir_connection *theirs, const char *action,
                      const char *target)
{
    *self = (struct weir_audit_call){
        .db = db,
        .theirs = theirs,
        .actor = actor,
        .entry = {.action = action, .target = target},
        .on = actor != NULL && current == NULL,
    };
    if (self->on)
        current = self;
}

struct weir_audit_call *weir_audit_leave(void)
{
    struct weir_audit_call *call = current;

    current = NULL;
    return call;
}

void weir_audit_return(struct weir_audit_call *call)
{
    current = call;
}

const char *weir_audit_pair(const char *first, const char *second,
                            char out[WEIR_AUDIT_TARGET_SIZE])
{
    (void)weir_text_format(out, WEIR_AUDIT_TARGET_SIZE, "%s/%s",
                           first != NULL ? first : "", second != NULL ? second : "");
    return out;
}

bool weir_audit_is_on(void)
{
    return current != NULL;
}

static const char *keep(char *to, const char *text)
{
    if (text == NULL)
        return NULL;
    (void)weir_text_format(to, WEIR_AUDIT_NOTE_SIZE, "%s", text);
    return to;
}

void weir_audit_note(const char *before, const char *after)
{
    if (current == NULL)
        return;
    current->entry.before = keep(current->before, before);
    current->entry.after = keep(current->after, after);
}

void weir_audit_because(const char *reason)
{
    if (current != NULL)
        current->entry.reason = reason;
}

enum weir_status weir_audit_record_partly(struct weir_connection *connection,
                                          int64_t count, enum weir_status outcome,
                                          struct weir_error *error)
{
    struct weir_audit_call *self = current;
    enum weir_status status;

    if (self == NULL)
        return WEIR_OK;
    self->entry.count = count;
    self->entry.outcome = outcome;
    status = insert(connection, self->actor, &self->entry, draw_nonce(), error);
    self->recorded = status == WEIR_OK;
    return status;
}

enum weir_status weir_audit_record(struct weir_connection *connection, int64_t count,
                                   struct weir_error *error)
{
    return weir_audit_record_partly(connection, count, WEIR_OK, error);
}

void weir_audit_settle(void)
{
    if (current != NULL)
        current->settled = current->recorded;
}

/* ---- calls of several transactions ------------------------------------------------- */

static enum weir_status first_step(struct weir_audit_call *self,
                                   struct weir_connection *connection, int64_t count,
                                   struct weir_error *error)
{
    int64_t nonce = draw_nonce();
    enum weir_status status;

    self->entry.count = count;
    self->entry.outcome = WEIR_OK;
    status = insert(connection, self->actor, &self->entry, nonce, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            connection, &SQL_FIND, VALUES(weir_integer(nonce)), &self->step, error);
    return status;
}

enum weir_status weir_audit_step(struct weir_connection *connection, int64_t count,
                                 struct weir_error *error)
{
    struct weir_audit_call *self = current;
    enum weir_status status;

    if (self == NULL)
        return WEIR_OK;
    if (self->row == 0)
        status = first_step(self, connection, count, error);
    else
        status = weir_connection_execute(
            connection, &SQL_ADD, VALUES(weir_integer(self->row), weir_integer(count)),
            NULL, error);
    self->recorded = status == WEIR_OK;
    return status;
}

void weir_audit_stepped(void)
{
    if (current != NULL && current->row == 0)
        current->row = current->step;
}

/* ---- the end ----------------------------------------------------------------------- */

/* Was something decided? */
static bool is_answer(enum weir_status status)
{
    switch (status) {
    case WEIR_LOST:
    case WEIR_IN_DOUBT:
    case WEIR_CONFLICT:
    case WEIR_LOCKED:
    case WEIR_TIMEOUT:
    case WEIR_CANCELLED:
    case WEIR_CLOSED:
    case WEIR_NO_MEMORY:
    case WEIR_SYSTEM:
    case WEIR_SCHEMA:
    case WEIR_DISK_FULL:
        return false;
    default:
        return true;
    }
}

struct late_row {
    const struct weir_audit_actor *actor;
    const struct weir_audit_entry *entry;
};

static enum weir_status write_late(struct weir_connection *connection, void *argument,
                                   struct weir_error *error)
{
    const struct late_row *self = argument;

    return insert(connection, self->actor, self->entry, draw_nonce(), error);
}

static enum weir_status write_own(const struct weir_audit_call *self,
                                  struct weir_error *error)
{
    struct late_row row = {self->actor, &self->entry};

    if (self->theirs != NULL)
        return write_late(self->theirs, &row, error);
    return weir_transact(self->db, write_late, &row, error);
}

/* Steps are committed, and the next one was refused. */
static void tell_end(const struct weir_audit_call *self, enum weir_status status)
{
    struct weir_connection *connection = NULL;
    char outcome[OUTCOME_SIZE];

    if (self->theirs == NULL && weir_db_acquire(self->db, &connection, NULL) != WEIR_OK)
        return;
    (void)!weir_connection_execute(
        self->theirs != NULL ? self->theirs : connection, &SQL_ENDED,
        VALUES(weir_integer(self->row),
               weir_text(weir_str(outcome_name(status, outcome)))),
        NULL, NULL);
    weir_db_release(self->db, connection);
}

static void end_refused(struct weir_audit_call *self, enum weir_status status)
{
    if (self->row != 0) {
        if (status != WEIR_LOST && status != WEIR_IN_DOUBT)
            tell_end(self, status);
        return;
    }
    if (self->settled || self->theirs != NULL || !is_answer(status))
        return;
    self->entry.count = 0;
    self->entry.outcome = status;
    (void)!write_own(self, NULL);
}

enum weir_status weir_audit_end(struct weir_audit_call *self, enum weir_status status,
                                struct weir_error *error)
{
    if (!self->on)
        return status;
    current = NULL;
    if (status != WEIR_OK && status != WEIR_NO_ROW) {
        end_refused(self, status);
        return status;
    }
    if (self->recorded)
        return status;
    self->entry.count = 0;
    self->entry.outcome = WEIR_OK;
    return write_own(self, error);
}

/* ---- rows of others ---------------------------------------------------------------- */

enum weir_status weir_audit_write(struct weir_db *db, struct weir_connection *connection,
                                  const struct weir_audit_entry *entry,
                                  struct weir_error *error)
{
    struct late_row row = {actor, entry};

    if (actor == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "the calling thread has no actor for an audit row");
    if (entry->action == NULL || entry->action[0] == '\0')
        return weir_error_set(error, WEIR_INVALID, "an audit row needs an action");
    if (connection != NULL)
        return write_late(connection, &row, error);
    return weir_transact(db, write_late, &row, error);
}
