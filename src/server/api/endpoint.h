/*
 * endpoint.h - one row for each route of the API: what it is called, who may use it,
 * what it takes and answers, and the function that does it.
 *
 * From the rows are made the router, the check of scopes and parameters, and the OpenAPI
 * document (openapi.h), so these cannot differ. In code a route is an endpoint, because
 * a route of the library is of messages.
 *
 *   {.id = "get_queue", .method = WEIR_HTTP_GET, .path = "/v1/queues/{queue}",
 *    .scopes = WEIR_SCOPE_READ, .at = WEIR_AT_DATABASE, .answer = &weir_queue_record,
 *    .about = "One queue.", .run = get_queue},
 *
 * A row at a database is mounted twice: under its path for the default database, and
 * under /db/NAME in front of it.
 *
 * Threads  Constants; any thread.
 */
#ifndef WEIR_SERVER_API_ENDPOINT_H
#define WEIR_SERVER_API_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "server/api/target.h"
#include "server/http/request.h"
#include "view/record.h"
#include "weir/error.h"
#include "weir/token.h"

struct weir_api_call;

enum { WEIR_ENDPOINT_NAMES_MAX = 4 };

/* Where a call is answered. */
enum weir_endpoint_at {
    WEIR_AT_SERVER,   /* at once, by the thread that has read the request */
    WEIR_AT_DATABASE, /* by a reader of the database */
    WEIR_AT_ENGINE    /* likewise, where the database has an execution engine */
};

enum weir_parameter_type {
    WEIR_PARAMETER_TEXT,
    WEIR_PARAMETER_NUMBER, /* from `min` to `max` */
    WEIR_PARAMETER_MOMENT, /* RFC 3339 */
    WEIR_PARAMETER_WORD,   /* one of `words` */
    WEIR_PARAMETER_WORDS   /* several of them, with commas */
};

struct weir_parameter {
    const char *name;
    enum weir_parameter_type type;
    const char *about;
    int64_t min, max;
    const char *(*word)(size_t index); /* NULL at `word_count` and beyond */
    size_t word_count;
};

/* Do it: append the answer to the call's body. What is not WEIR_OK becomes a problem,
 * unless the call has one already. */
typedef enum weir_status (*weir_endpoint_fn)(struct weir_api_call *call,
                                             struct weir_error *error);

struct weir_endpoint {
    const char *id; /* operationId: "get_queue" */
    enum weir_http_method method;
    const char *path; /* "/v1/queues/{queue}" */
    uint32_t scopes;  /* enum weir_scope: one of them suffices; 0: no token needed */
    enum weir_endpoint_at at;
    const char *about; /* a sentence */
    const struct weir_parameter *parameters;
    size_t parameter_count;
    const struct weir_record *answer; /* NULL: `type` says what comes */
    const char *list;                 /* the answer is a list of records of this name */
    const char *type;                 /* media type; NULL: application/json */
    bool open_on_loopback;            /* callers on this host need no token */
    bool token_optional;              /* with one the answer says more */
    weir_endpoint_fn run;
};

struct weir_endpoint_match {
    const struct weir_endpoint *endpoint;       /* NULL: none */
    unsigned methods;                           /* bits of those that the path has */
    const char *database;                       /* of /db/NAME; NULL: the default one */
    const char *names[WEIR_ENDPOINT_NAMES_MAX]; /* values of {...}, in their order */
};

/* The rows, in the order of the document. */
extern const struct weir_endpoint weir_endpoints[];
extern const size_t weir_endpoint_count;

/* Find the row of a path and a method among `rows`. Borrows the target. */
void weir_endpoint_find(const struct weir_endpoint *rows, size_t count,
                        const struct weir_target *target, enum weir_http_method method,
                        struct weir_endpoint_match *out);

/* "GET" of a method that a row can have. */
const char *weir_method_name(enum weir_http_method method);

/* Append "GET, POST" of bits, with HEAD behind GET. */
void weir_method_append(unsigned methods, struct weir_buf *text);

#endif
