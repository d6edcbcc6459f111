/*
 * Tokens in the database: made, found by their hash, rotated, revoked.
 */
#include <stdio.h>
#include <string.h>

#include "base/codec/hex.h"
#include "base/fault_point.h"
#include "contract/outbox/audit/audit_fixture.h"
#include "db/db.h"
#include "weir/token.h"

static struct weir_token_options options_of(const char *name)
{
    return (struct weir_token_options){.name = name, .scopes = WEIR_SCOPE_PRODUCER};
}

static struct weir_new_token make(struct fixture *fixture,
                                  const struct weir_token_options *options)
{
    struct weir_new_token made;

    check_db(weir_token_create(fixture->db, NULL, options, &made, &fixture->error),
             WEIR_OK);
    return made;
}

static struct weir_new_token make_named(struct fixture *fixture, const char *name)
{
    struct weir_token_options options = options_of(name);

    return make(fixture, &options);
}

static enum weir_status find(struct fixture *fixture, const char *text,
                             struct weir_grant *out)
{
    uint8_t hash[WEIR_TOKEN_HASH_SIZE];

    check_db(weir_token_hash(text, strlen(text), hash, &fixture->error), WEIR_OK);
    return weir_token_find(fixture->db, hash, out, &fixture->error);
}

struct listed {
    struct weir_grant grants[8];
    size_t count;
};

static void keep(void *state, const struct weir_grant *grant)
{
    struct listed *self = state;

    check(self->count < 8);
    self->grants[self->count++] = *grant;
}

OUTBOX_TEST(token, is_found_by_its_hash_with_all_that_it_was_made_with)
{
    struct weir_token_options options = options_of("ci");
    struct weir_new_token made;
    struct weir_grant grant;

    options.globs[WEIR_RESTRICT_QUEUES] = "orders.*,mail";
    options.globs[WEIR_RESTRICT_LANES] = "fast";
    options.lifetime_ns = WEIR_HOURS(1);
    made = make(fixture, &options);
    check_int(strlen(made.text), WEIR_API_TOKEN_SIZE);

    check_db(find(fixture, made.text, &grant), WEIR_OK);
    check_str(grant.id, made.grant.id);
    check_str(grant.name, "ci");
    check_int(grant.scopes, WEIR_SCOPE_PRODUCER);
    check_str(grant.globs[WEIR_RESTRICT_QUEUES], "orders.*,mail");
    check_str(grant.globs[WEIR_RESTRICT_LANES], "fast");
    check_str(grant.globs[WEIR_RESTRICT_DATABASES], "");
    check(grant.expires_us == grant.created_us + WEIR_HOURS(1) / 1000);
    check(weir_grant_is_valid(&grant, grant.created_us));
    check(!weir_grant_is_valid(&grant, grant.expires_us));
}

/* Neither in the table of tokens nor in that of the audit. */
OUTBOX_TEST(token, is_stored_nowhere)
{
    struct weir_new_token made;
    char sql[400];

    (void)weir_audit_act_as(&ANNA);
    made = make_named(fixture, "ci");
    (void)weir_audit_act_as(NULL);
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM weir_token WHERE name LIKE '%%%.20s%%'"
                   " OR of_queues LIKE '%%%.20s%%'",
                   made.text + 5, made.text + 5);
    check_int(fixture_ask(fixture, sql), 0);
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM weir_audit WHERE new_value LIKE '%%%.20s%%'"
                   " OR target LIKE '%%%.20s%%' OR reason LIKE '%%%.20s%%'",
                   made.text + 5, made.text + 5, made.text + 5);
    check_int(fixture_ask(fixture, sql), 0);
    check_int(fixture_ask(fixture, "SELECT length(secret) FROM weir_token"), 32);
}

OUTBOX_TEST(token, that_is_unknown_expired_or_revoked_is_refused_in_the_same_words)
{
    struct weir_new_token expired = make_named(fixture, "expired");
    struct weir_new_token revoked = make_named(fixture, "revoked");
    struct weir_new_token unknown = make_named(fixture, "unknown");
    const char *texts[3] = {expired.text, revoked.text, unknown.text};
    struct weir_grant grant;
    size_t count = 0;

    fixture_prepare(fixture, "DELETE FROM {p}_token WHERE name = 'unknown'");
    fixture_prepare(fixture,
                    "UPDATE {p}_token SET expires_us = 1000 WHERE name = 'expired'");
    check_db(weir_token_revoke(fixture->db, NULL, "revoked", &count, &fixture->error),
             WEIR_OK);
    check_int(count, 1);
    for (int i = 0; i < 3; i++) {
        check_db(find(fixture, texts[i], &grant), WEIR_NOT_FOUND);
        check_str(fixture->error.text, "there is no such token");
        check_int(grant.scopes, 0);
    }
}

OUTBOX_TEST(token, that_ended_makes_room_when_there_is_none)
{
    struct weir_token_options options = options_of("last");
    struct weir_new_token made, kept = make_named(fixture, "kept");
    struct weir_grant grant;
    struct weir_fault_points points;
    size_t count = 0;

    weir_fault_points_init(&points);
    weir_fault_points_arm(&points, "token.few", 1);
    weir_db_set_fault_points(fixture->db, &points);
    (void)make_named(fixture, "gone");
    check_db(weir_token_revoke(fixture->db, NULL, "gone", &count, &fixture->error),
             WEIR_OK);
    (void)make_named(fixture, "third");
    (void)make_named(fixture, "fourth");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_token"), 3);
    check_db(weir_token_create(fixture->db, NULL, &options, &made, &fixture->error),
             WEIR_FULL);
    weir_db_set_fault_points(fixture->db, NULL);
    check_db(find(fixture, kept.text, &grant), WEIR_OK);
}

OUTBOX_TEST(token, notes_the_day_of_its_use_once)
{
    struct weir_new_token made = make_named(fixture, "ci");
    struct weir_grant grant;
    int64_t day;

    check_int(fixture_ask(fixture, "SELECT used_us FROM weir_token"), 0);
    check_db(find(fixture, made.text, &grant), WEIR_OK);
    day = fixture_ask(fixture, "SELECT used_us FROM weir_token");
    check(day > 0);
    check_int(day % (24 * 3600 * INT64_C(1000000)), 0);
    check_int(grant.used_us, day);
    check_db(find(fixture, made.text, &grant), WEIR_OK);
    check_int(grant.used_us, day);
}

/* ---- rotating ---------------------------------------------------------------------- */

OUTBOX_TEST(token_rotate, lets_both_be_valid_for_the_overlap)
{
    struct weir_token_options options = options_of("ci");
    struct weir_new_token first, second;
    struct weir_grant grant;

    options.globs[WEIR_RESTRICT_QUEUES] = "orders";
    first = make(fixture, &options);
    check_db(weir_token_rotate(fixture->db, NULL, "ci", WEIR_HOURS(1), &second,
                               &fixture->error),
             WEIR_OK);

    check(strcmp(first.text, second.text) != 0);
    check_db(find(fixture, second.text, &grant), WEIR_OK);
    check_str(grant.globs[WEIR_RESTRICT_QUEUES], "orders");
    check_int(grant.expires_us, 0);
    check_db(find(fixture, first.text, &grant), WEIR_OK);
    check(grant.expires_us == second.grant.created_us + WEIR_HOURS(1) / 1000);
}

OUTBOX_TEST(token_rotate, without_overlap_ends_the_one_before)
{
    struct weir_new_token first = make_named(fixture, "ci");
    struct weir_new_token second;
    struct weir_grant grant;

    check_db(
        weir_token_rotate(fixture->db, NULL, first.grant.id, 0, &second, &fixture->error),
        WEIR_OK);
    check_db(find(fixture, first.text, &grant), WEIR_NOT_FOUND);
    check_db(find(fixture, second.text, &grant), WEIR_OK);
}

OUTBOX_TEST(token_rotate, never_makes_a_token_live_longer)
{
    struct weir_token_options options = options_of("ci");
    struct weir_new_token first, second;
    struct weir_grant grant;

    options.lifetime_ns = WEIR_MINUTES(10);
    first = make(fixture, &options);
    check_db(weir_token_rotate(fixture->db, NULL, "ci", WEIR_HOURS(5), &second,
                               &fixture->error),
             WEIR_OK);
    check_db(find(fixture, first.text, &grant), WEIR_OK);
    check_int(grant.expires_us, first.grant.expires_us);
    check(second.grant.expires_us == second.grant.created_us + WEIR_MINUTES(10) / 1000);
}

OUTBOX_TEST(token_rotate, of_what_is_not_valid_is_refused)
{
    struct weir_new_token second;
    size_t count = 0;

    (void)make_named(fixture, "ci");
    check_db(weir_token_revoke(fixture->db, NULL, "ci", &count, &fixture->error),
             WEIR_OK);
    check_db(weir_token_rotate(fixture->db, NULL, "ci", 0, &second, &fixture->error),
             WEIR_NOT_FOUND);
    check_str(second.text, "");
    check_db(weir_token_rotate(fixture->db, NULL, "none", 0, &second, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_token_rotate(fixture->db, NULL, "none", -1, &second, &fixture->error),
             WEIR_OUT_OF_RANGE);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_token"), 1);
}

/* ---- revoking and listing ---------------------------------------------------------- */

OUTBOX_TEST(token_revoke, by_id_leaves_others_of_the_name)
{
    struct weir_new_token first = make_named(fixture, "ci");
    struct weir_new_token second = make_named(fixture, "ci");
    struct weir_grant grant;
    size_t count = 9;

    check_db(
        weir_token_revoke(fixture->db, NULL, first.grant.id, &count, &fixture->error),
        WEIR_OK);
    check_int(count, 1);
    check_db(find(fixture, first.text, &grant), WEIR_NOT_FOUND);
    check_db(find(fixture, second.text, &grant), WEIR_OK);
    check_db(weir_token_revoke(fixture->db, NULL, "ci", &count, &fixture->error),
             WEIR_OK);
    check_int(count, 1);
    check_db(weir_token_revoke(fixture->db, NULL, "ci", &count, &fixture->error),
             WEIR_OK);
    check_int(count, 0);
    check_db(weir_token_revoke(fixture->db, NULL, "none", &count, &fixture->error),
             WEIR_NOT_FOUND);
}

OUTBOX_TEST(token_list, has_all_of_them_by_name_and_the_newest_first)
{
    static struct listed listed;
    struct weir_new_token b1, b2;

    b1 = make_named(fixture, "b");
    (void)make_named(fixture, "a");
    b2 = make_named(fixture, "b");
    listed.count = 0;
    check_db(weir_token_list(fixture->db, keep, &listed, &fixture->error), WEIR_OK);
    check_int(listed.count, 3);
    check_str(listed.grants[0].name, "a");
    check_str(listed.grants[1].id, b2.grant.id);
    check_str(listed.grants[2].id, b1.grant.id);
}

/* ---- bad input --------------------------------------------------------------------- */

OUTBOX_SQLITE_TEST(token_create, refuses_what_is_out_of_its_limits)
{
    static char long_globs[WEIR_TOKEN_GLOBS_SIZE_MAX + 2];
    static char many_globs[2 * 33 + 1];
    struct weir_new_token made;
    struct weir_token_options good = options_of("ci");
    struct weir_token_options bad[9];

    memset(long_globs, 'a', sizeof long_globs - 1);
    for (size_t i = 0; i < 33; i++)
        memcpy(many_globs + 2 * i, i < 32 ? "a," : "a", i < 32 ? 2 : 1);
    for (size_t i = 0; i < 9; i++)
        bad[i] = good;
    bad[0].name = NULL;
    bad[1].name = "";
    bad[2].name = "a b";
    bad[3].name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    bad[4].scopes = 0;
    bad[5].scopes = 1 << 7;
    bad[6].globs[WEIR_RESTRICT_LANES] = long_globs;
    bad[7].globs[WEIR_RESTRICT_QUEUES] = "a,,b";
    bad[8].globs[WEIR_RESTRICT_QUEUES] = "a b";
    for (size_t i = 0; i < 9; i++)
        check_db(weir_token_create(fixture->db, NULL, &bad[i], &made, &fixture->error),
                 WEIR_INVALID);
    bad[0] = good;
    bad[0].globs[WEIR_RESTRICT_QUEUES] = many_globs;
    check_db(weir_token_create(fixture->db, NULL, &bad[0], &made, &fixture->error),
             WEIR_OUT_OF_RANGE);
    bad[0] = good;
    bad[0].lifetime_ns = 1;
    check_db(weir_token_create(fixture->db, NULL, &bad[0], &made, &fixture->error),
             WEIR_OUT_OF_RANGE);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_token"), 0);
}

/* ---- the caller's transaction ------------------------------------------------------ */

OUTBOX_TEST(token_caller, is_made_when_the_callers_transaction_commits)
{
    struct weir_token_options options = options_of("ci");
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_new_token made;
    struct weir_grant grant;

    check_db(weir_token_create(fixture->db, connection, &options, &made, &fixture->error),
             WEIR_INVALID); /* no transaction */
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_token_create(fixture->db, connection, &options, &made, &fixture->error),
             WEIR_OK);
    weir_connection_rollback(connection);
    check_db(find(fixture, made.text, &grant), WEIR_NOT_FOUND);
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
    check_db(weir_token_create(fixture->db, connection, &options, &made, &fixture->error),
             WEIR_OK);
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
    check_db(find(fixture, made.text, &grant), WEIR_OK);
    fixture_give(fixture, connection);
}
