/*
 * keys.c - the table of sections and keys.
 *
 * Order: sections as they are thought of when a server is set up; in a section what is
 * set most often comes first.
 */
#include <string.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/nearest.h"
#include "server/config/config.h"
#include "server/config/key.h"
#include "weir/executions.h"
#include "weir/log.h"
#include "weir/time.h"
#include "weir/worker.h"

enum {
    PORTLESS_NAME_SIZE_MAX = 64,
    QUEUE_NAME_SIZE_MAX = 1024,
    THREADS_MAX = 16,
    CONNECTIONS_MAX = 1000000,
    DATABASE_CONNECTIONS_MIN = 4,
    DATABASE_CONNECTIONS_MAX = 1024,
    HANDLERS_MAX = 512,
    BATCH_MAX = 10000,
    KEYS_MAX = 40,
};

#define KIB(n) ((int64_t)(n)*1024)
#define MIB(n) (KIB(n) * 1024)
#define DAYS(n) (WEIR_HOURS(24) * (n))

static const char *const ROLES[] = {"api", "relay", "supervise", NULL};
static const char *const LOG_FORMS[] = {"auto", "plain", "logfmt", "json", NULL};
static const char *const LOG_LEVELS[] = {"debug", "info", "warn", "error", NULL};
static const char *const TLS_VERSIONS[] = {"1.2", "1.3", NULL};
static const char *const TLS_CLIENTS[] = {"no", "optional", "required", NULL};
static const char *const AUTH_MODES[] = {"tokens", "none", NULL};
static const char *const SCOPES[] = {"read",   "content",  "producer", "worker",
                                     "signal", "operator", "admin",    NULL};
static const char *const EXECUTIONS[] = {"auto", "yes", "no", NULL};
static const char *const MIGRATIONS[] = {"check", "yes", NULL};
static const char *const UNREAD[] = {"keep", "drop", NULL};
static const char *const STARTS[] = {"beginning", "now", NULL};

#define T struct weir_config_server
static const struct weir_config_key SERVER[] = {
    WEIR_KEY("name", NULL, "how this server is called in answers, logs and leases",
             WEIR_KEY_TEXT(T, name, TEXT), .reload = WEIR_KEY_RESTARTS,
             .fallback_note = "host and process id, as in web-1:4711"),
    WEIR_KEY("roles", "api, relay, supervise", "what it does",
             WEIR_KEY_CHOICES(T, roles, ROLES), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("threads", "1", "threads that read requests and write answers",
             WEIR_KEY_NUMBER(T, threads, 1, THREADS_MAX), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("grace", "30s",
             "at a stop: what running deliveries and requests may still take",
             WEIR_KEY_NS(T, grace_ns, 0, WEIR_HOURS(1)), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY(
        "drain_delay", "0s",
        "at a stop: how long /readyz says `draining` before requests are refused; the "
        "interval of the load balancer",
        WEIR_KEY_NS(T, drain_delay_ns, 0, WEIR_HOURS(1)), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("log", "auto",
             "form of the log on standard error; auto is plain on a terminal and logfmt "
             "elsewhere",
             WEIR_KEY_CHOICE(T, log_form, LOG_FORMS, WEIR_LOG_FORM_AUTO),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("log_level", "info", "the least that is logged",
             WEIR_KEY_CHOICE(T, log_level, LOG_LEVELS, WEIR_LOG_DEBUG),
             .reload = WEIR_KEY_RESTARTS),
};
#undef T

#define T struct weir_config_http
static const struct weir_config_key HTTP[] = {
    WEIR_KEY("listen", "127.0.0.1:9347",
             "list of `HOST:PORT`, `[::1]:PORT`, `unix:PATH` and `systemd:NAME`",
             WEIR_KEY_LISTENERS(T, listen), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("tls_certificate_file", NULL,
             "certificate and its chain, as PEM; read again by a reload",
             WEIR_KEY_FILE(T, tls_certificate)),
    WEIR_KEY("tls_key_file", NULL, "its private key, as PEM; read again by a reload",
             WEIR_KEY_FILE(T, tls_key), .secret = true),
    WEIR_KEY("tls_min", "1.2", "lowest version of TLS",
             WEIR_KEY_CHOICE(T, tls_min, TLS_VERSIONS, WEIR_TLS_MIN_1_2),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("tls_client", "no", "whether clients show a certificate",
             WEIR_KEY_CHOICE(T, tls_client, TLS_CLIENTS, WEIR_TLS_CLIENT_NO)),
    WEIR_KEY("tls_client_ca_file", NULL, "authorities that sign those, as PEM",
             WEIR_KEY_FILE(T, tls_client_ca)),
    WEIR_KEY("unix_mode", "0660", "permissions of unix sockets",
             WEIR_KEY_PERMISSIONS(T, unix_mode), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("insecure_public", "no",
             "permits a public address without TLS or without tokens",
             WEIR_KEY_FLAG(T, insecure_public), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("connections_max", "12000", "connections; beyond: 503, and closed",
             WEIR_KEY_NUMBER(T, connections_max, 1, CONNECTIONS_MAX),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("connections_per_address", "0",
             "connections of one address, except loopback and unix sockets; 0: no limit",
             WEIR_KEY_NUMBER(T, connections_per_address, 0, CONNECTIONS_MAX),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("header_timeout", "10s", "for the whole head of a request",
             WEIR_KEY_NS(T, header_timeout_ns, WEIR_MILLISECONDS(100), WEIR_MINUTES(10)),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("body_timeout", "30s", "for the whole body of a request",
             WEIR_KEY_NS(T, body_timeout_ns, WEIR_MILLISECONDS(100), WEIR_HOURS(1)),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("write_timeout", "30s", "for a client to take an answer",
             WEIR_KEY_NS(T, write_timeout_ns, WEIR_MILLISECONDS(100), WEIR_HOURS(1)),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("idle_timeout", "75s", "for a connection without a request",
             WEIR_KEY_NS(T, idle_timeout_ns, WEIR_MILLISECONDS(100), WEIR_HOURS(24)),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("header_max", "16KiB", "largest head of a request",
             WEIR_KEY_SIZE(T, header_max, KIB(1), MIB(1)), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("body_max", "16MiB", "largest body of a request",
             WEIR_KEY_SIZE(T, body_max, KIB(1), MIB(1024)), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("in_flight_max", "1024",
             "requests that wait for a database; beyond: 503 `busy`",
             WEIR_KEY_NUMBER(T, in_flight_max, 1, CONNECTIONS_MAX),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("memory_max", "64MiB", "bodies and answers in memory; beyond: 503 `busy`",
             WEIR_KEY_SIZE(T, memory_max, MIB(1), KIB(1) * MIB(1024)),
             .reload = WEIR_KEY_RESTARTS),
};
#undef T

#define T struct weir_config_auth
static const struct weir_config_key AUTH[] = {
    WEIR_KEY("mode", "tokens", "`none` is only for loopback and unix sockets",
             WEIR_KEY_CHOICE(T, mode, AUTH_MODES, WEIR_AUTH_TOKENS),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("cache", "5s", "how long a revoked token may still be accepted",
             WEIR_KEY_NS(T, cache_ns, 0, WEIR_SECONDS(60))),
    WEIR_KEY("unix_admin", "yes",
             "on a unix socket the user of the server and root need no token, and may do "
             "everything",
             WEIR_KEY_FLAG(T, unix_admin)),
};
#undef T

#define T struct weir_config_token
static const struct weir_config_key TOKEN[] = {
    WEIR_KEY("sha256", NULL, "SHA-256 of the token, 64 hexadecimal digits",
             WEIR_KEY_SHA256(T, sha256), .required = true),
    WEIR_KEY("scopes", NULL, "list of what it may do",
             WEIR_KEY_CHOICES(T, scopes, SCOPES), .required = true),
    WEIR_KEY("queues", NULL, "list of patterns, as in orders.*",
             WEIR_KEY_TEXTS(T, queues, TEXTS), .fallback_note = "all"),
    WEIR_KEY("lanes", NULL, "list of patterns", WEIR_KEY_TEXTS(T, lanes, TEXTS),
             .fallback_note = "all"),
    WEIR_KEY("namespaces", NULL, "list of patterns", WEIR_KEY_TEXTS(T, namespaces, TEXTS),
             .fallback_note = "all"),
    WEIR_KEY("databases", NULL, "list of patterns", WEIR_KEY_TEXTS(T, databases, TEXTS),
             .fallback_note = "all"),
    WEIR_KEY("expires", NULL, "until when it is valid, as in 2027-01-31T12:00:00Z",
             WEIR_KEY_MOMENT(T, expires_us), .fallback_note = "never"),
};
#undef T

#define T struct weir_config_metrics
static const struct weir_config_key METRICS[] = {
    WEIR_KEY("public", "no", "/metrics needs no token; on loopback it never does",
             WEIR_KEY_FLAG(T, is_public), .reload = WEIR_KEY_RESTARTS),
};
#undef T

#define T struct weir_config_database
static const struct weir_config_key DATABASE[] = {
    WEIR_KEY("url", NULL, "as of --db; needed, or `url_file`", WEIR_KEY_TEXT(T, url, URL),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("url_file", NULL, "a file with the URL, for one with a password",
             WEIR_KEY_FILE(T, url_file), .reload = WEIR_KEY_RESTARTS, .secret = true),
    WEIR_KEY("default", "no",
             "the database of paths without /db/NAME; the only one is it anyway",
             WEIR_KEY_FLAG(T, is_default), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("prefix", "weir", "of all tables", WEIR_KEY_TEXT(T, prefix, TEXT),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("connections", "8", "connections, beside those of relays",
             WEIR_KEY_NUMBER(T, connections, DATABASE_CONNECTIONS_MIN,
                             DATABASE_CONNECTIONS_MAX),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("executions", "auto",
             "whether it has executions; auto is yes, but no on MariaDB",
             WEIR_KEY_CHOICE(T, executions, EXECUTIONS, WEIR_EXECUTIONS_AUTO),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("migrate", "check",
             "`check` refuses to start on another schema, `yes` migrates at the start",
             WEIR_KEY_CHOICE(T, migrate, MIGRATIONS, WEIR_MIGRATE_CHECK),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("statement_timeout", "30s", "for each statement; 0: none",
             WEIR_KEY_NS(T, statement_timeout_ns, WEIR_SECONDS(1), WEIR_HOURS(24)),
             .or_zero = true, .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("retention", "1d",
             "how long executions are kept after their end; 0: for ever",
             WEIR_KEY_NS(T, retention_ns, WEIR_SECONDS(1), DAYS(36500)), .or_zero = true,
             .reload = WEIR_KEY_RESTARTS),
};
#undef T

#define T struct weir_config_queue
static const struct weir_config_key QUEUE[] = {
    WEIR_KEY("partitions", NULL, "a power of two from 1 to 64; never changes",
             WEIR_KEY_NUMBER(T, partitions, 1, 64), .required = true,
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("database", NULL, "name of its section", WEIR_KEY_TEXT(T, database, NAME),
             .fallback_note = "the default one", .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("unread", "keep", "messages without a subscription",
             WEIR_KEY_CHOICE(T, unread, UNREAD, WEIR_UNREAD_KEEP),
             WEIR_KEY_MARKS(T, named, WEIR_POLICY_UNREAD), .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("backlog_max", "0", "refuse to enqueue beyond; about; 0: no limit",
             WEIR_KEY_NUMBER(T, backlog_max, 0, INT64_MAX),
             WEIR_KEY_MARKS(T, named, WEIR_POLICY_BACKLOG_MAX),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("attempts_max", "0", "then a message becomes a dead letter; 0: never",
             WEIR_KEY_NUMBER(T, attempts_max, 0, WEIR_ATTEMPTS_MAX_MAX),
             WEIR_KEY_MARKS(T, named, WEIR_POLICY_ATTEMPTS_MAX),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("dead_letter_retention", "0", "remove decided dead letters after; 0: never",
             WEIR_KEY_NS(T, dead_letter_retention_ns, 0, WEIR_DURATION_MAX),
             WEIR_KEY_MARKS(T, named, WEIR_POLICY_DEAD_LETTER_RETENTION),
             .reload = WEIR_KEY_RESTARTS),
    WEIR_KEY("retain", "0",
             "keep messages that all subscriptions have passed, as in 7d; 0: not",
             WEIR_KEY_NS(T, retain_ns, 0, WEIR_DURATION_MAX),
             WEIR_KEY_MARKS(T, named, WEIR_POLICY_RETAIN), .reload = WEIR_KEY_RESTARTS),
};
#undef T

#define T struct weir_config_relay
static const struct weir_config_key RELAY[] = {
    WEIR_KEY("queue", NULL, "of the messages", WEIR_KEY_TEXT(T, queue, NAME),
             .required = true),
    WEIR_KEY("to", NULL, "where they go: a sink, as of `weir relay --to`",
             WEIR_KEY_TEXT(T, to, SINK), .required = true),
    WEIR_KEY("as", "default", "name of the subscription", WEIR_KEY_TEXT(T, as, NAME)),
    WEIR_KEY("database", NULL, "name of its section", WEIR_KEY_TEXT(T, database, NAME),
             .fallback_note = "the default one"),
    WEIR_KEY("from", "beginning", "where a new subscription begins",
             WEIR_KEY_CHOICE(T, from, STARTS, WEIR_START_BEGINNING)),
    WEIR_KEY("batch", "0", "messages at once; 0: 100, and 1 with exec:",
             WEIR_KEY_NUMBER(T, batch, 0, BATCH_MAX)),
    WEIR_KEY("handlers", "4", "partitions at once",
             WEIR_KEY_NUMBER(T, handlers, 1, HANDLERS_MAX)),
    WEIR_KEY("lease", "30s", "of a partition",
             WEIR_KEY_NS(T, lease_ns, WEIR_LEASE_DURATION_MIN, WEIR_LEASE_DURATION_MAX)),
    WEIR_KEY("grace", "10s", "what a delivery may still take when the relay is stopped",
             WEIR_KEY_NS(T, grace_ns, 0, WEIR_HOURS(1))),
    WEIR_KEY("permissions", "0600", "of a file that is made",
             WEIR_KEY_PERMISSIONS(T, permissions)),
    WEIR_KEY("enabled", "yes", "`no` keeps the section and does not deliver",
             WEIR_KEY_FLAG(T, enabled)),
};
#undef T

#define T struct weir_config_supervisor
#define INTERVAL(name_, reconciler_, fallback_, help_)                                   \
    WEIR_KEY("interval_" name_, fallback_, help_,                                        \
             WEIR_KEY_MS(T, interval_ms[WEIR_RECONCILER_##reconciler_], 100,             \
                         WEIR_DURATION_MAX / WEIR_MILLISECONDS(1)),                      \
             .reload = WEIR_KEY_RESTARTS)
static const struct weir_config_key SUPERVISOR[] = {
    WEIR_KEY("namespace", NULL, "only executions of this namespace",
             WEIR_KEY_TEXT(T, name_space, TEXT), .reload = WEIR_KEY_RESTARTS,
             .fallback_note = "all"),
    WEIR_KEY("tag", NULL, "only executions with this tag, as in region=eu",
             WEIR_KEY_TAG(T, tag_key, tag_value), .reload = WEIR_KEY_RESTARTS,
             .fallback_note = "all"),
    INTERVAL("attempt_timeout", ATTEMPT_TIMEOUT, "2s", "attempts over their time limit"),
    INTERVAL("lease_expiry", LEASE_EXPIRY, "1500ms", "leases that were not renewed"),
    INTERVAL("suspension_timeout", SUSPENSION_TIMEOUT, "2s",
             "suspensions over their time limit"),
    INTERVAL("budget_reset", BUDGET_RESET, "15s", "budgets whose period is over"),
    INTERVAL("dependency", DEPENDENCY, "15s", "members whose dependencies have ended"),
    INTERVAL("edge_cancel_dispatcher", EDGE_CANCEL_DISPATCHER, "1s",
             "members that a join does not need"),
    INTERVAL("edge_cancel_reconciler", EDGE_CANCEL_RECONCILER, "10s",
             "what a crash left of that"),
    INTERVAL("delayed_promoter", DELAYED_PROMOTER, "750ms", "delays that are over"),
    INTERVAL("execution_deadline", EXECUTION_DEADLINE, "5s",
             "executions over their deadline"),
    INTERVAL("housekeeping", HOUSEKEEPING, "60s", "executions over their retention"),
};
#undef INTERVAL
#undef T

#define ONE(name_, member_, type_, keys_, help_)                                         \
    {                                                                                    \
        .name = name_, .struct_size = sizeof(type_),                                     \
        .offset =                                                                        \
            WEIR_MEMBER_OFFSET(struct weir_config, member_,                              \
                               WEIR_MEMBER_IS(struct weir_config, member_, type_)),      \
        .keys = keys_, .key_count = COUNT_OF(keys_), .help = help_                       \
    }
#define MANY(name_, member_, count_, type_, size_max_, reload_, keys_, help_)            \
    {                                                                                    \
        .name = name_, .has_name = true, .name_size_max = size_max_,                     \
        .struct_size = sizeof(type_),                                                    \
        .offset =                                                                        \
            WEIR_MEMBER_OFFSET(struct weir_config, member_,                              \
                               WEIR_MEMBER_IS(struct weir_config, member_, type_ *)),    \
        .count_offset = offsetof(struct weir_config, count_), .reload = reload_,         \
        .keys = keys_, .key_count = COUNT_OF(keys_), .help = help_                       \
    }

const struct weir_config_section weir_config_sections[] = {
    ONE("server", server, struct weir_config_server, SERVER, "the process"),
    MANY("database", databases, database_count, struct weir_config_database,
         PORTLESS_NAME_SIZE_MAX, WEIR_KEY_RESTARTS, DATABASE, "a database; at least one"),
    ONE("http", http, struct weir_config_http, HTTP,
        "addresses, TLS and limits of the API"),
    ONE("auth", auth, struct weir_config_auth, AUTH, "tokens"),
    MANY("token", tokens, token_count, struct weir_config_token, PORTLESS_NAME_SIZE_MAX,
         WEIR_KEY_RELOADS, TOKEN, "a token that is in no database"),
    ONE("metrics", metrics, struct weir_config_metrics, METRICS, "/metrics"),
    MANY("queue", queues, queue_count, struct weir_config_queue, QUEUE_NAME_SIZE_MAX,
         WEIR_KEY_RESTARTS, QUEUE,
         "a queue that is made at the start, or compared if it exists"),
    MANY("relay", relays, relay_count, struct weir_config_relay, PORTLESS_NAME_SIZE_MAX,
         WEIR_KEY_RELOADS, RELAY, "delivers the messages of a queue to a sink"),
    ONE("supervisor", supervisor, struct weir_config_supervisor, SUPERVISOR,
        "intervals of the reconcilers, as of `weir supervise`"),
};
const size_t weir_config_section_count = COUNT_OF(weir_config_sections);

const struct weir_config_section *weir_config_section_find(const char *name)
{
    for (size_t i = 0; i < weir_config_section_count; i++) {
        if (strcmp(weir_config_sections[i].name, name) == 0)
            return &weir_config_sections[i];
    }
    return NULL;
}

const struct weir_config_key *
weir_config_section_find_key(const struct weir_config_section *self, const char *name)
{
    for (size_t i = 0; i < self->key_count; i++) {
        if (strcmp(self->keys[i].name, name) == 0)
            return &self->keys[i];
    }
    return NULL;
}

const struct weir_config_section *
weir_config_section_owning(const struct weir_config_section *self, const char *name)
{
    for (size_t i = 0; i < weir_config_section_count; i++) {
        const struct weir_config_section *other = &weir_config_sections[i];

        if (other != self && weir_config_section_find_key(other, name) != NULL)
            return other;
    }
    return NULL;
}

const char *weir_config_section_nearest(const struct weir_config_section *self,
                                        const char *name)
{
    const char *names[KEYS_MAX];

    WEIR_ASSERT(self->key_count <= KEYS_MAX);
    for (size_t i = 0; i < self->key_count; i++)
        names[i] = self->keys[i].name;
    return weir_nearest_find(name, names, self->key_count);
}
