/*
 * config.h - what `weir serve` was configured to do, in types.
 *
 * Each struct is a section of the file, each member a key of it; keys.c has a row for
 * each of them (key.h): name, type, default, limits, whether a reload may change it, and
 * a sentence of help. load.h makes a struct weir_config of a file, the environment and
 * the command line. A member whose key was not given holds the default; text without
 * default is NULL.
 *
 * Threads  Read-only once it is loaded: any.
 * Memory   Everything belongs to the configuration and lives until
 *          weir_config_destroy(). A part that keeps a value for longer copies it.
 */
#ifndef WEIR_SERVER_CONFIG_CONFIG_H
#define WEIR_SERVER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "weir/execution_supervisor.h"
#include "weir/outbox.h"

/* ---- values of more than a number or a text ---------------------------------------- */

/* A list with commas. */
struct weir_config_texts {
    const char *const *items;
    size_t count;
};

enum weir_listener_kind {
    WEIR_LISTENER_TCP,
    WEIR_LISTENER_UNIX,
    WEIR_LISTENER_SYSTEMD, /* a socket that systemd has bound, by its name */
};

struct weir_config_listener {
    enum weir_listener_kind kind;
    const char *text;    /* as it was written: "127.0.0.1:9347" */
    const char *address; /* host without brackets; path; name */
    uint16_t port;       /* of TCP; 0: any free one */
    bool is_public;      /* TCP, and neither 127.0.0.0/8 nor ::1 nor localhost */
};

struct weir_config_listeners {
    const struct weir_config_listener *items;
    size_t count;
};

/* A key that ends in _file: its path (that of a credential, too), and what was in the
 * file without its last newline, with a zero behind it. `path` is NULL if it was not
 * given. */
struct weir_config_file {
    const char *path;
    struct weir_str content;
};

/* ---- sections ---------------------------------------------------------------------- */

/* Bits of roles. */
enum weir_server_role {
    WEIR_SERVER_API = 1 << 0,
    WEIR_SERVER_RELAY = 1 << 1,
    WEIR_SERVER_SUPERVISE = 1 << 2,
};

enum weir_log_form {
    WEIR_LOG_FORM_AUTO, /* plain on a terminal, logfmt elsewhere */
    WEIR_LOG_FORM_PLAIN,
    WEIR_LOG_FORM_LOGFMT,
    WEIR_LOG_FORM_JSON,
};

struct weir_config_server {
    const char *name; /* NULL: the host's name and the process id, "web-1:4711" */
    uint32_t roles;   /* bits of enum weir_server_role */
    uint32_t threads; /* loops */
    int64_t grace_ns;
    int64_t drain_delay_ns;
    int log_form;  /* enum weir_log_form */
    int log_level; /* enum weir_log_level: the least that is logged */
};

enum weir_config_tls_min { WEIR_TLS_MIN_1_2, WEIR_TLS_MIN_1_3 };

enum weir_config_tls_client {
    WEIR_TLS_CLIENT_NO,
    WEIR_TLS_CLIENT_OPTIONAL,
    WEIR_TLS_CLIENT_REQUIRED,
};

struct weir_config_http {
    struct weir_config_listeners listen;
    struct weir_config_file tls_certificate;
    struct weir_config_file tls_key;
    int tls_min;    /* enum weir_config_tls_min */
    int tls_client; /* enum weir_config_tls_client */
    struct weir_config_file tls_client_ca;
    uint32_t unix_mode;
    bool insecure_public;
    uint32_t connections_max;
    uint32_t connections_per_address; /* 0: no limit */
    int64_t header_timeout_ns;
    int64_t body_timeout_ns;
    int64_t write_timeout_ns;
    int64_t idle_timeout_ns;
    int64_t header_max; /* bytes */
    int64_t body_max;
    uint32_t in_flight_max;
    int64_t memory_max;
};

enum weir_config_auth_mode { WEIR_AUTH_TOKENS, WEIR_AUTH_NONE };

struct weir_config_auth {
    int mode; /* enum weir_config_auth_mode */
    int64_t cache_ns;
    bool unix_admin;
};

struct weir_config_metrics {
    bool is_public;
};

/* Bits of scopes, in the order of the words. */
enum weir_config_scope {
    WEIR_CONFIG_SCOPE_READ = 1 << 0,
    WEIR_CONFIG_SCOPE_CONTENT = 1 << 1,
    WEIR_CONFIG_SCOPE_PRODUCER = 1 << 2,
    WEIR_CONFIG_SCOPE_WORKER = 1 << 3,
    WEIR_CONFIG_SCOPE_SIGNAL = 1 << 4,
    WEIR_CONFIG_SCOPE_OPERATOR = 1 << 5,
    WEIR_CONFIG_SCOPE_ADMIN = 1 << 6,
};

/* [token NAME]: a token that is in no database. Empty lists restrict nothing. */
struct weir_config_token {
    const char *name;
    uint8_t sha256[32];
    uint32_t scopes;                    /* bits of enum weir_config_scope */
    struct weir_config_texts databases; /* globs, as the next ones */
    struct weir_config_texts queues;
    struct weir_config_texts lanes;
    struct weir_config_texts namespaces;
    int64_t expires_us; /* since 1970; 0: never */
};

enum weir_config_executions {
    WEIR_EXECUTIONS_AUTO,
    WEIR_EXECUTIONS_YES,
    WEIR_EXECUTIONS_NO
};

enum weir_config_migrate { WEIR_MIGRATE_CHECK, WEIR_MIGRATE_YES };

/* [database NAME] */
struct weir_config_database {
    const char *name;
    const char *url;                  /* never NULL; that of url_file, too */
    struct weir_config_file url_file; /* where it comes from, if it does */
    bool is_default;                  /* of one at most; also the only one */
    const char *prefix;
    uint32_t connections;
    int executions; /* enum weir_config_executions; AUTO: yes, but no on MariaDB */
    int migrate;    /* enum weir_config_migrate */
    int64_t statement_timeout_ns;
    int64_t retention_ns; /* of executions that have ended; 0: for ever */
};

/* [queue NAME] */
struct weir_config_queue {
    const char *name;
    const char *database; /* the name of one that is configured; never NULL */
    uint32_t partitions;
    int unread; /* enum weir_unread */
    int64_t backlog_max;
    uint32_t attempts_max;
    int64_t dead_letter_retention_ns;
    int64_t retain_ns;
    uint32_t named; /* bits of enum weir_queue_policy: those that were given */
};

/* [relay NAME] */
struct weir_config_relay {
    const char *name;
    const char *database; /* as above */
    const char *queue;
    const char *to; /* URL of the sink */
    const char *as;
    int from;          /* enum weir_start */
    uint32_t batch;    /* 0: what suits the sink */
    uint32_t handlers; /* partitions at once */
    int64_t lease_ns;
    int64_t grace_ns;
    uint32_t permissions; /* of a file that is made */
    bool enabled;
};

struct weir_config_supervisor {
    int64_t interval_ms[WEIR_RECONCILER_COUNT];
    const char *name_space; /* NULL: all */
    const char *tag_key;    /* NULL: all */
    const char *tag_value;
};

struct weir_config_state; /* load.c: values as they were written, and their origins */

struct weir_config {
    struct weir_config_server server;
    struct weir_config_http http;
    struct weir_config_auth auth;
    struct weir_config_metrics metrics;
    struct weir_config_supervisor supervisor;
    struct weir_config_token *tokens; /* in the order in which they were written */
    size_t token_count;
    struct weir_config_database *databases; /* at least one */
    size_t database_count;
    struct weir_config_queue *queues;
    size_t queue_count;
    struct weir_config_relay *relays;
    size_t relay_count;
    struct weir_config_state *state; /* owned */
};

/* The one with this name; NULL: none. */
const struct weir_config_database *
weir_config_find_database(const struct weir_config *self, const char *name);
const struct weir_config_relay *weir_config_find_relay(const struct weir_config *self,
                                                       const char *name);

/* That of requests without /db/NAME; NULL: there are several, and none is it. */
const struct weir_config_database *
weir_config_default_database(const struct weir_config *self);

/* NULL is fine. Secrets are overwritten. */
void weir_config_destroy(struct weir_config *self);

#endif
