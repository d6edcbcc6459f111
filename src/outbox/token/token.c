/*
 * token.c - create, rotate, revoke, list and find tokens (weir/token.h).
 *
 * What changes a token locks the one row of the audit policy first. So two rotations of a
 * name, which would both take the same token for the newest, come one after the other,
 * and the limit of tokens holds.
 */
#include <string.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/text.h"
#include "db/db.h"
#include "db/query.h"
#include "db/transact.h"
#include "outbox/audit/audit.h"
#include "outbox/token/grant.h"
#include "outbox/token/token_store.h"
#include "outbox/token/token_text.h"

#define DAY_US (24 * WEIR_HOURS(1) / 1000)

enum {
    TOKENS_MAX = 10000,
    TOKENS_FEW = 3, /* of a test */
    DRAWS_MAX = 8,
    DESCRIPTION_SIZE = 300
};

/* By the primary key. Changes nothing, and locks the row on every engine. */
static const struct weir_sql SQL_LOCK = {
    .name = "lock tokens",
    .text = "UPDATE {p}_audit_policy SET retain_us = retain_us WHERE id = 1",
    .parameters = "",
};

struct token_call {
    const struct weir_token_options *options;
    const char *token; /* id or name */
    int64_t overlap_us;
    struct weir_new_token *out;
    size_t count;
};

/* ---- transactions ------------------------------------------------------------------ */

/* In a savepoint of the caller's transaction, or in a transaction of its own. */
static enum weir_status run(struct weir_db *db, struct weir_connection *connection,
                            weir_transact_fn body, struct token_call *call,
                            struct weir_error *error)
{
    if (connection == NULL)
        return weir_transact(db, body, call, error);
    if (weir_connection_transaction(connection) != WEIR_TRANSACTION_OPEN)
        return weir_error_set(error, WEIR_INVALID,
                              "the connection must have an open transaction");
    return weir_transact_in_savepoint(connection, body, call, error);
}

static enum weir_status lock(struct weir_connection *connection, int64_t *now_us,
                             struct weir_error *error)
{
    enum weir_status status =
        weir_connection_execute(connection, &SQL_LOCK, NO_VALUES, NULL, error);

    return status == WEIR_OK ? weir_connection_clock(connection, now_us, error) : status;
}

/* The target of an audit row: not what may be the text of a token, which is refused. */
static const char *target_of(const char *name)
{
    return weir_token_is_in(name) ? NULL : name;
}

/* ---- making ------------------------------------------------------------------------ */

/* Those that ended are kept to be listed, while there is room. */
static enum weir_status make_room(struct weir_connection *connection, int64_t now_us,
                                  struct weir_error *error)
{
    bool few = WEIR_POINT(weir_connection_config(connection)->points, "token.few");
    int64_t count_max = few ? TOKENS_FEW : TOKENS_MAX;
    int64_t count = 0;
    enum weir_status status = weir_token_count(connection, &count, error);

    if (status != WEIR_OK || count < count_max)
        return status;
    status = weir_token_remove_ended(connection, now_us, error);
    if (status == WEIR_OK)
        status = weir_token_count(connection, &count, error);
    if (status == WEIR_OK && count >= count_max)
        return weir_error_set(error, WEIR_FULL,
                              "there are as many tokens as there may be: %lld",
                              (long long)count_max);
    return status;
}

/* The ids have 32 bits, so one may be taken. */
static enum weir_status insert(struct weir_connection *connection,
                               struct weir_token_row *row, char *text,
                               struct weir_error *error)
{
    uint8_t hash[WEIR_TOKEN_HASH_SIZE];
    bool added = false;
    enum weir_status status = make_room(connection, row->grant.created_us, error);

    for (int i = 0; i < DRAWS_MAX && status == WEIR_OK && !added; i++) {
        status = weir_token_draw(text, row->grant.id, error);
        if (status == WEIR_OK)
            status = weir_token_hash(text, WEIR_API_TOKEN_SIZE, hash, error);
        if (status == WEIR_OK)
            status = weir_token_insert(connection, row, hash, &added, error);
    }
    if (status == WEIR_OK && !added)
        status = weir_error_set(error, WEIR_EXISTS, "no id is free for a token");
    return status;
}

static enum weir_status record_new(struct weir_connection *connection,
                                   const struct weir_grant *grant,
                                   struct weir_error *error)
{
    char scopes[DESCRIPTION_SIZE - 40], description[DESCRIPTION_SIZE];

    (void)weir_text_format(description, sizeof description, "id %s, %s", grant->id,
                           weir_grant_describe(grant, scopes, sizeof scopes));
    weir_audit_note(NULL, description);
    return weir_audit_record(connection, 1, error);
}

static void fill(struct weir_token_row *row, const struct weir_token_options *options)
{
    struct weir_grant *grant = &row->grant;

    (void)weir_text_format(grant->name, sizeof grant->name, "%s", options->name);
    grant->scopes = options->scopes;
    for (int i = 0; i < WEIR_RESTRICTION_COUNT; i++)
        (void)weir_text_format(grant->globs[i], sizeof grant->globs[i], "%s",
                               options->globs[i] != NULL ? options->globs[i] : "");
    row->lifetime_us = options->lifetime_ns / 1000;
}

static void begin_life(struct weir_token_row *row, int64_t now_us)
{
    row->grant.created_us = now_us;
    row->grant.expires_us =
        row->lifetime_us > 0 ? weir_sat_add_i64(now_us, row->lifetime_us) : 0;
    row->grant.used_us = 0;
    row->grant.revoked_us = 0;
}

static enum weir_status create(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct token_call *self = argument;
    struct weir_token_row row = {.lifetime_us = 0};
    int64_t now_us = 0;
    enum weir_status status = lock(connection, &now_us, error);

    fill(&row, self->options);
    begin_life(&row, now_us);
    if (status == WEIR_OK)
        status = insert(connection, &row, self->out->text, error);
    if (status == WEIR_OK)
        status = record_new(connection, &row.grant, error);
    self->out->grant = row.grant;
    return status;
}

/* It would be taken for the token of that id by the calls that accept both. */
static enum weir_status check_is_no_id(const char *name, struct weir_error *error)
{
    if (strlen(name) != WEIR_TOKEN_ID_SIZE ||
        strspn(name, "0123456789abcdef") != WEIR_TOKEN_ID_SIZE)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "token name \"%s\" is %d hexadecimal digits, as ids are", name,
                          WEIR_TOKEN_ID_SIZE);
}

enum weir_status weir_token_create(struct weir_db *db, struct weir_connection *connection,
                                   const struct weir_token_options *options,
                                   struct weir_new_token *out, struct weir_error *error)
{
    struct token_call call = {.options = options, .out = out};
    struct weir_audit_call audit;
    enum weir_status status;

    *out = (struct weir_new_token){.text = ""};
    weir_audit_begin(&audit, db, connection, "token.create", target_of(options->name));
    status = weir_token_options_check(options, error);
    if (status == WEIR_OK)
        status = check_is_no_id(options->name, error);
    if (status == WEIR_OK)
        status = run(db, connection, create, &call, error);
    status = weir_audit_end(&audit, status, error);
    if (status != WEIR_OK)
        weir_token_wipe(out, sizeof *out);
    return status;
}

/* ---- rotating ---------------------------------------------------------------------- */

struct newest {
    int64_t now_us;
    bool found;
    struct weir_token_row row;
};

/* The first that comes is the newest. */
static void keep_newest(void *state, const struct weir_token_row *row)
{
    struct newest *self = state;

    if (!self->found && weir_grant_is_valid(&row->grant, self->now_us)) {
        self->found = true;
        self->row = *row;
    }
}

static enum weir_status find_newest(struct weir_connection *connection, const char *token,
                                    struct newest *out, struct weir_error *error)
{
    enum weir_status status = lock(connection, &out->now_us, error);

    if (status == WEIR_OK)
        status = weir_token_visit(connection, token, keep_newest, out, error);
    if (status == WEIR_OK && !out->found)
        status = weir_error_set(error, WEIR_NOT_FOUND,
                                "there is no valid token \"%.80s\"", token);
    return status;
}

static enum weir_status rotate(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct token_call *self = argument;
    struct newest newest = {.found = false};
    struct weir_token_row *row = &newest.row;
    enum weir_status status = find_newest(connection, self->token, &newest, error);

    if (status == WEIR_OK)
        status = weir_token_set_expiry(connection, row->grant.name, newest.now_us,
                                       weir_sat_add_i64(newest.now_us, self->overlap_us),
                                       error);
    begin_life(row, newest.now_us);
    if (status == WEIR_OK)
        status = insert(connection, row, self->out->text, error);
    if (status == WEIR_OK)
        status = record_new(connection, &row->grant, error);
    self->out->grant = row->grant;
    return status;
}

/* An id or a name: as a name is. */
static enum weir_status check_given(const char *token, struct weir_error *error)
{
    const struct weir_token_options named = {.name = token, .scopes = WEIR_SCOPE_READ};

    return weir_token_options_check(&named, error);
}

enum weir_status weir_token_rotate(struct weir_db *db, struct weir_connection *connection,
                                   const char *token, int64_t overlap_ns,
                                   struct weir_new_token *out, struct weir_error *error)
{
    struct token_call call = {
        .token = token, .overlap_us = overlap_ns / 1000, .out = out};
    struct weir_audit_call audit;
    enum weir_status status;

    *out = (struct weir_new_token){.text = ""};
    weir_audit_begin(&audit, db, connection, "token.rotate", target_of(token));
    status = check_given(token, error);
    if (status == WEIR_OK && overlap_ns < 0)
        status = weir_error_set(error, WEIR_OUT_OF_RANGE, "the overlap is below 0");
    if (status == WEIR_OK)
        status = run(db, connection, rotate, &call, error);
    status = weir_audit_end(&audit, status, error);
    if (status != WEIR_OK)
        weir_token_wipe(out, sizeof *out);
    return status;
}

/* ---- revoking ---------------------------------------------------------------------- */

static void count_one(void *state, const struct weir_token_row *row)
{
    (void)row;
    (*(size_t *)state)++;
}

static enum weir_status revoke(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct token_call *self = argument;
    int64_t now_us = 0, revoked = 0;
    size_t known = 0;
    enum weir_status status = lock(connection, &now_us, error);

    if (status == WEIR_OK)
        status = weir_token_visit(connection, self->token, count_one, &known, error);
    if (status == WEIR_OK && known == 0)
        return weir_error_set(error, WEIR_NOT_FOUND, "there is no token \"%.80s\"",
                              self->token);
    if (status == WEIR_OK)
        status = weir_token_set_revoked(connection, self->token, now_us, &revoked, error);
    if (status == WEIR_OK)
        status = weir_audit_record(connection, revoked, error);
    self->count = (size_t)revoked;
    return status;
}

enum weir_status weir_token_revoke(struct weir_db *db, struct weir_connection *connection,
                                   const char *token, size_t *count,
                                   struct weir_error *error)
{
    struct token_call call = {.token = token};
    struct weir_audit_call audit;
    enum weir_status status;

    weir_audit_begin(&audit, db, connection, "token.revoke", target_of(token));
    status = check_given(token, error);
    if (status == WEIR_OK)
        status = run(db, connection, revoke, &call, error);
    *count = status == WEIR_OK ? call.count : 0;
    return weir_audit_end(&audit, status, error);
}

/* ---- reading ----------------------------------------------------------------------- */

struct list_call {
    weir_grant_visit_fn visit;
    void *state;
};

static void show(void *state, const struct weir_token_row *row)
{
    const struct list_call *self = state;

    self->visit(self->state, &row->grant);
}

enum weir_status weir_token_list(struct weir_db *db, weir_grant_visit_fn visit,
                                 void *state, struct weir_error *error)
{
    struct list_call call = {visit, state};
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = weir_token_visit(connection, NULL, show, &call, error);
    weir_db_release(db, connection);
    return status;
}

/* The day is no part of the answer, so its failure is none. */
static void note_use(struct weir_connection *connection, struct weir_grant *grant,
                     int64_t now_us)
{
    int64_t day_us = now_us - now_us % DAY_US;

    if (grant->used_us >= day_us)
        return;
    if (weir_token_set_used(connection, grant->id, day_us, NULL) == WEIR_OK)
        grant->used_us = day_us;
}

enum weir_status weir_token_find(struct weir_db *db,
                                 const uint8_t hash[WEIR_TOKEN_HASH_SIZE],
                                 struct weir_grant *out, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_token_row row = {.lifetime_us = 0};
    int64_t now_us = 0;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &now_us, error);
    if (status == WEIR_OK)
        status = weir_token_look_up(connection, hash, &row, error);
    if (status == WEIR_NO_ROW ||
        (status == WEIR_OK && !weir_grant_is_valid(&row.grant, now_us)))
        status = weir_error_set(error, WEIR_NOT_FOUND, "there is no such token");
    if (status == WEIR_OK)
        note_use(connection, &row.grant, now_us);
    *out = status == WEIR_OK ? row.grant : (struct weir_grant){.scopes = 0};
    weir_db_release(db, connection);
    return status;
}
