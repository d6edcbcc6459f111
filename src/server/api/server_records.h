/*
 * server_records.h - rows that only a server has: its version, its relays, its health.
 */
#ifndef WEIR_SERVER_API_SERVER_RECORDS_H
#define WEIR_SERVER_API_SERVER_RECORDS_H

#include "view/record_list.h"

struct weir_version_row {
    const char *version;
    const char *server; /* its name */
};
extern const struct weir_record weir_version_record;

struct weir_schema_row {
    const char *database; /* its name in the configuration */
    const char *place;
    const char *engine;
    uint32_t schema;
    uint32_t engine_schema; /* 0: none */
};
extern const struct weir_record weir_schema_record;

/* A database or a relay, as /readyz has it. */
struct weir_check_row {
    const char *name; /* "database shop", "relay audit" */
    bool good;
    const char *state;
    const char *text; /* ""; never NULL */
};
extern const struct weir_record weir_check_record;

struct weir_ready_row {
    bool ready;
    const char *why; /* "": it is */
    struct weir_record_list checks;
    bool with_checks;
};
extern const struct weir_record weir_ready_record;

struct weir_relay_row {
    const char *name;
    const char *database;
    const char *queue;
    const char *subscription;
    const char *sink;
    const char *state; /* "waiting", "delivering", "failing", "stopped" */
    const char *text;  /* ""; never NULL */
    uint64_t delivered;
    uint64_t rejected;
    uint64_t given_up;
};
extern const struct weir_record weir_relay_record;

#endif
