/*
 * call.h - one request of the API on its way: what it asks, who asks, what is answered.
 *
 * The thread that has read the request begins the call: it finds the row, checks token,
 * scope and parameters. What needs a database is done by a reader (mount.h). Then the
 * call is ended, and its owner sends what it holds.
 *
 * Order    begin (api.h), run, ended: one thread at a time, handed over by the mount.
 * Memory   The caller's; the body grows up to a limit.
 */
#ifndef WEIR_SERVER_API_CALL_H
#define WEIR_SERVER_API_CALL_H

#include "server/api/endpoint.h"
#include "server/api/mount.h"
#include "server/api/problem.h"
#include "server/api/token_cache.h"

struct weir_api;

enum { WEIR_REQUEST_ID_SIZE = 65, WEIR_API_BODY_MAX = 64 << 20 };

struct weir_api_call {
    struct weir_mount_job job;
    struct weir_api *api;     /* borrowed */
    struct weir_mount *mount; /* of the database; NULL: none is needed */
    struct weir_target target;
    struct weir_endpoint_match match;
    struct weir_grant grant; /* what its token allows; no scopes: there is none */
    char request[WEIR_REQUEST_ID_SIZE];
    bool open_metrics; /* Accept: application/openmetrics-text */
    bool octets;       /* Accept: application/octet-stream */

    /* api.c */
    struct weir_token_key key; /* that is looked for just now */
    size_t places[2];          /* mounts to look in */
    size_t place_count;
    size_t place;        /* the one of them that is looked in */
    bool ran;            /* its function was called */
    int64_t received_ns; /* monotonic */

    /* the answer */
    unsigned status;
    const char *type; /* media type */
    struct weir_buf body;
    unsigned methods; /* of the path, for Allow; 0: none */
    struct weir_problem problem;

    /* Called once, by any thread, when the answer is there. Not for what is answered
     * at once. */
    void (*ended)(struct weir_api_call *call);
};

/* The value of {name} number `index` of the path. */
const char *weir_call_name(const struct weir_api_call *self, size_t index);

/* Parameters, which were checked before: NULL, or the number that is given, if it is
 * absent. */
const char *weir_call_text(const struct weir_api_call *self, const char *name);
int64_t weir_call_number(const struct weir_api_call *self, const char *name,
                         int64_t otherwise);

/* Microseconds since 1970; 0 if it is absent. */
int64_t weir_call_moment(const struct weir_api_call *self, const char *name);

/* Bits of the words that are named, or 0. */
unsigned weir_call_words(const struct weir_api_call *self, const char *name);

/* Check the parameters of the target against those of the row; false: the call has a
 * problem now. */
bool weir_call_check_parameters(struct weir_api_call *self);

/* May the caller see this one? By the restrictions of its token. */
bool weir_call_sees_queue(const struct weir_api_call *self, const char *queue);
bool weir_call_sees_lane(const struct weir_api_call *self, const char *lane,
                         const char *name_space);
bool weir_call_sees_content(const struct weir_api_call *self);

/* What the caller may not see does not exist. */
enum weir_status weir_call_hide(const char *what, const char *name,
                                struct weir_error *error);

#endif
