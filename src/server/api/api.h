/*
 * api.h - the API of a server, without its sockets.
 *
 * A request comes as a target, a method and what its client has shown; it becomes a call
 * (call.h), which is answered at once or by a reader of its database.
 *
 *   begin -> route -> token -> scope -> database -> parameters -> run -> ended
 *     no_route    no_token   scope   no_database  bad_request   as the library
 *     405         bad_token                       out_of_range  answers
 *
 * Tokens   Looked up in the database that the request is for, and then in the default
 *          one: a token of one database is good for that database only, unless it is the
 *          default one, whose tokens may name others.
 * Threads  Any thread; create() and destroy() one at a time. ended() of a call comes
 *          from the thread that begins it, or from a reader.
 * Failure  Everything ends in ended(), with an answer or a problem.
 */
#ifndef WEIR_SERVER_API_API_H
#define WEIR_SERVER_API_API_H

#include "server/api/call.h"
#include "server/api/metrics_text.h"
#include "weir/log.h"

struct weir_api;

/* A token that is in no database. */
struct weir_api_token {
    uint8_t hash[WEIR_TOKEN_HASH_SIZE];
    struct weir_grant grant;
};

struct weir_check_row;
struct weir_relay_row;

/* What the server around the API knows. All may be NULL. */
struct weir_api_host {
    void *state;
    void (*each_relay)(void *state,
                       void (*emit)(void *to, const struct weir_relay_row *row),
                       void *to);
    void (*add_metrics)(void *state, struct weir_metrics_text *text);
};

struct weir_api_options {
    const struct weir_heap *heap;        /* borrowed */
    struct weir_log log;                 /* copied */
    const char *server_name;             /* borrowed */
    struct weir_mount *const *mounts;    /* borrowed, and the list, too */
    size_t mount_count;                  /* at least 1 */
    size_t mount_default;                /* its index; mount_count: none */
    const struct weir_api_token *tokens; /* copied */
    size_t token_count;
    int64_t cache_ns;    /* a revoked token may be good for so long */
    bool no_tokens;      /* every caller may do everything */
    bool metrics_public; /* without a token, wherever the caller is */
    struct weir_api_host host;
};

/* What a client has sent and shown. Borrowed for the call of begin(). */
struct weir_api_request {
    enum weir_http_method method;
    struct weir_str authorization; /* value of the header; no data: there is none */
    struct weir_str accept;
    bool admin;    /* a local peer that may do everything */
    bool loopback; /* it is on this host */
};

/* Fails with WEIR_NO_MEMORY or WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_api_create(const struct weir_api_options *options,
                                              struct weir_api **out,
                                              struct weir_error *error);

/* No call is under way. NULL is fine. */
void weir_api_destroy(struct weir_api *self);

/* The target is not filled in yet, `ended` and `request` are the caller's to set. Zeroes
 * the call. */
void weir_api_call_init(struct weir_api *self, struct weir_api_call *call);

/* Gives back the body, unless it was moved. */
void weir_api_call_fini(struct weir_api_call *call);

/* End a call whose problem is set, without beginning it. */
void weir_api_refuse(struct weir_api *self, struct weir_api_call *call);

/* After this call->ended() has been called, or will be. */
void weir_api_begin(struct weir_api *self, struct weir_api_call *call,
                    const struct weir_api_request *request);

/* From now on these are the tokens that are in no database; copied. And how long one of a
 * database is kept. Fails with WEIR_NO_MEMORY and changes nothing. */
WEIR_CHECKED enum weir_status weir_api_set_tokens(struct weir_api *self,
                                                  const struct weir_api_token *tokens,
                                                  size_t count, int64_t cache_ns);

/* /readyz says so from now on. */
void weir_api_drain(struct weir_api *self);

/* ---- for the answers --------------------------------------------------------------- */

bool weir_api_is_draining(const struct weir_api *self);
const struct weir_api_options *weir_api_options(const struct weir_api *self);
struct weir_str weir_api_openapi(const struct weir_api *self);

/* Figures of the API and of its mounts. */
void weir_api_add_metrics(struct weir_api *self, struct weir_metrics_text *text);

#endif
