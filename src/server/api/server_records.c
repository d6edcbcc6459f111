/*
 * server_records.c - see server_records.h.
 */
#include "server/api/server_records.h"

#define VERSION(...) WEIR_FIELD(struct weir_version_row, __VA_ARGS__)
static const struct weir_record_field VERSION_FIELDS[] = {
    VERSION("version", version, TEXT, "Version of the server."),
    VERSION("server", server, TEXT, "Name of the server."),
};
const struct weir_record weir_version_record =
    WEIR_RECORD("version", VERSION_FIELDS, "Which server answers.");

static bool has_engine(const void *row)
{
    const struct weir_schema_row *schema = row;

    return schema->engine_schema > 0;
}

#define SCHEMA(...) WEIR_FIELD(struct weir_schema_row, __VA_ARGS__)
static const struct weir_record_field SCHEMA_FIELDS[] = {
    SCHEMA("name", database, TEXT, "Name of the database in the configuration."),
    SCHEMA("database", place, TEXT, "The database, without its password."),
    SCHEMA("engine", engine, TEXT, "`sqlite`, `postgresql` or `mariadb`."),
    SCHEMA("schema", schema, U32, "Version of the tables of the outbox."),
    SCHEMA("executions_schema", engine_schema, U32,
           "Version of the tables of the execution engine; null without it.",
           .known = has_engine),
};
const struct weir_record weir_schema_record =
    WEIR_RECORD("schema", SCHEMA_FIELDS, "Tables of a database.");

#define CHECK(...) WEIR_FIELD(struct weir_check_row, __VA_ARGS__)
static const struct weir_record_field CHECK_FIELDS[] = {
    CHECK("name", name, TEXT, "What was checked."),
    CHECK("good", good, FLAG, "It can be used."),
    CHECK("state", state, TEXT, "Its state in a word."),
    CHECK("text", text, TEXT, "Why it cannot be used; or empty."),
};
const struct weir_record weir_check_record =
    WEIR_RECORD("check", CHECK_FIELDS, "A part of the server, and how it is.");

static bool with_checks(const void *row)
{
    const struct weir_ready_row *ready = row;

    return ready->with_checks;
}

#define READY(...) WEIR_FIELD(struct weir_ready_row, __VA_ARGS__)
static const struct weir_record_field READY_FIELDS[] = {
    READY("ready", ready, FLAG, "The server takes requests."),
    READY("why", why, TEXT, "Why it does not; or empty."),
    READY("checks", checks, LISTED, "Its parts; only with a token and `verbose`.",
          .record = &weir_check_record, .shown = with_checks),
};
const struct weir_record weir_ready_record =
    WEIR_RECORD("readiness", READY_FIELDS, "The answer of `/readyz`.");

#define RELAY(...) WEIR_FIELD(struct weir_relay_row, __VA_ARGS__)
static const struct weir_record_field RELAY_FIELDS[] = {
    RELAY("name", name, TEXT, "Name of the relay."),
    RELAY("database", database, TEXT, "Name of its database."),
    RELAY("queue", queue, TEXT, "Queue that it delivers."),
    RELAY("subscription", subscription, TEXT, "Subscription that it serves."),
    RELAY("sink", sink, TEXT, "Scheme of its sink."),
    RELAY("state", state, TEXT, "`waiting`, `delivering`, `failing` or `stopped`."),
    RELAY("text", text, TEXT, "Why it does not deliver; or empty."),
    RELAY("delivered", delivered, U64, "Messages delivered by this process."),
    RELAY("rejected", rejected, U64, "How many of these were rejected."),
    RELAY("given_up", given_up, U64, "How many of these had failed too often."),
};
const struct weir_record weir_relay_record =
    WEIR_RECORD("relay", RELAY_FIELDS, "A relay of the server.");
