/*
 * audit_retention.c - see audit_retention.h.
 *
 * Most of the time nothing is old, and one look at the oldest entry of the index says so.
 */
#include "outbox/audit/audit_retention.h"

#include "base/duration.h"
#include "db/db.h"
#include "db/query.h"
#include "db/transact.h"
#include "outbox/audit/audit.h"

/* One row by its primary key. */
static const struct weir_sql SQL_READ = {
    .name = "read audit retention",
    .text = "SELECT retain_us FROM {p}_audit_policy WHERE id = 1",
    .parameters = "",
};
static const struct weir_sql SQL_SET = {
    .name = "set audit retention",
    .text = "UPDATE {p}_audit_policy SET retain_us = {1} WHERE id = 1",
    .parameters = "i",
};

/* By the index on the time. The time of the last one of a step; NULL: nothing is old. */
static const struct weir_sql SQL_OLD = {
    .name = "find old audit rows",
    .text = "SELECT coalesce(max(o.at_us), 0) FROM (SELECT at_us FROM {p}_audit"
            " WHERE at_us < {1} ORDER BY at_us LIMIT {2}) o",
    .parameters = "ii",
};
static const struct weir_sql SQL_EXPIRE = {
    .name = "remove old audit rows",
    .text = "DELETE FROM {p}_audit WHERE at_us <= {1}",
    .parameters = "i",
};

static enum weir_status remove_until(struct weir_connection *connection, int64_t limit_us,
                                     int64_t *removed, struct weir_error *error)
{
    int64_t last_us = 0;
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_OLD,
        VALUES(weir_integer(limit_us), weir_integer(WEIR_AUDIT_EXPIRE_STEP)), &last_us,
        error);

    if (status == WEIR_OK && last_us > 0)
        status = weir_connection_execute(connection, &SQL_EXPIRE,
                                         VALUES(weir_integer(last_us)), removed, error);
    return status;
}

enum weir_status weir_audit_expire(struct weir_connection *connection, int64_t *removed,
                                   struct weir_error *error)
{
    int64_t retain_us = 0;
    int64_t now_us = 0;
    enum weir_status status = weir_connection_query_integer(connection, &SQL_READ,
                                                            NO_VALUES, &retain_us, error);

    *removed = 0;
    if (status == WEIR_NO_ROW || (status == WEIR_OK && retain_us <= 0))
        return WEIR_OK; /* for ever */
    if (status == WEIR_OK)
        status = weir_connection_clock(connection, &now_us, error);
    if (status == WEIR_OK)
        status = remove_until(connection, now_us - retain_us, removed, error);
    return status;
}

/* ---- the policy -------------------------------------------------------------------- */

struct policy_call {
    int64_t retain_us;
};

static enum weir_status read_policy(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct policy_call *self = argument;
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_READ, NO_VALUES, &self->retain_us, error);

    return status == WEIR_NO_ROW
               ? weir_error_set(error, WEIR_SCHEMA,
                                "the row of the audit policy is missing")
               : status;
}

static enum weir_status set_policy(struct weir_connection *connection, void *argument,
                                   struct weir_error *error)
{
    const struct policy_call *self = argument;
    struct policy_call before;
    char text_before[WEIR_DURATION_TEXT_SIZE], text_now[WEIR_DURATION_TEXT_SIZE];
    enum weir_status status = read_policy(connection, &before, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_SET, VALUES(weir_integer(self->retain_us)), NULL, error);
    if (status != WEIR_OK)
        return status;
    weir_audit_note(
        weir_duration_spell(before.retain_us * 1000, text_before, sizeof text_before),
        weir_duration_spell(self->retain_us * 1000, text_now, sizeof text_now));
    return weir_audit_record(connection, 1, error);
}

enum weir_status weir_audit_set_retention(struct weir_db *db, int64_t retention_ns,
                                          struct weir_error *error)
{
    struct policy_call call = {.retain_us = retention_ns / 1000};
    struct weir_audit_call audit;
    enum weir_status status = WEIR_OK;

    weir_audit_begin(&audit, db, NULL, "audit.retention", NULL);
    if (retention_ns != 0 && retention_ns < WEIR_AUDIT_RETENTION_MIN)
        status = weir_error_set(error, WEIR_OUT_OF_RANGE,
                                "the retention of audit rows is below one hour");
    if (status == WEIR_OK)
        status = weir_transact(db, set_policy, &call, error);
    return weir_audit_end(&audit, status, error);
}

enum weir_status weir_audit_get_retention(struct weir_db *db, int64_t *retention_ns,
                                          struct weir_error *error)
{
    struct policy_call call = {.retain_us = 0};
    enum weir_status status = weir_transact(db, read_policy, &call, error);

    *retention_ns = call.retain_us * 1000;
    return status;
}
