/*
 * problem.h - why a request was not done, as problem details (RFC 9457).
 *
 * A problem is what a client gets in place of an answer: a code that never changes its
 * meaning, an HTTP status, a class that says what to do, and a sentence. It is made of
 * a status of the library and its text, or of a code of the server.
 *
 *   {"type":"urn:weir:not_found","title":"There is no such thing.","status":404,
 *    "detail":"there is no queue 'order'","instance":"r-7f3a","code":"not_found",
 *    "class":"reject","nearest":"orders"}
 *
 * Memory   None beside the caller's: texts are copied, and cut if they do not fit.
 */
#ifndef WEIR_SERVER_API_PROBLEM_H
#define WEIR_SERVER_API_PROBLEM_H

#include "base/buf.h"
#include "weir/error.h"

/* X(name, HTTP status, class, title): codes of the server, and those of the library's
 * statuses. In JSON the name is in lower case. */
#define WEIR_PROBLEM_LIST(X)                                                             \
    X(INVALID, 400, REJECT, "The request is invalid.")                                   \
    X(OUT_OF_RANGE, 400, REJECT, "A value is out of range.")                             \
    X(TOO_DEEP, 400, REJECT, "The request is nested too deep.")                          \
    X(BAD_REQUEST, 400, REJECT, "The request is invalid.")                               \
    X(BAD_JSON, 400, REJECT, "The body is not valid JSON.")                              \
    X(BAD_UTF8, 400, REJECT, "A text is not UTF-8.")                                     \
    X(UNKNOWN_FIELD, 400, REJECT, "A field does not exist.")                             \
    X(DUPLICATE_FIELD, 400, REJECT, "A field occurs twice.")                             \
    X(NO_TOKEN, 401, REJECT, "A token is required.")                                     \
    X(BAD_TOKEN, 401, REJECT, "The token is not valid.")                                 \
    X(SCOPE, 403, REJECT, "The token's scopes do not allow this.")                       \
    X(TOKEN, 403, REJECT, "The token of the waitpoint is not valid.")                    \
    X(NOT_FOUND, 404, REJECT, "There is no such thing.")                                 \
    X(NOT_COMPLETED, 404, REJECT, "There is no result yet.")                             \
    X(NO_ROUTE, 404, REJECT, "There is no such route.")                                  \
    X(NO_DATABASE, 404, REJECT, "There is no such database.")                            \
    X(METHOD_NOT_ALLOWED, 405, REJECT, "The route does not have this method.")           \
    X(REQUEST_TIMEOUT, 408, RETRY, "The request did not arrive in time.")                \
    X(EXISTS, 409, REJECT, "It already exists.")                                         \
    X(CONSTRAINT, 409, REJECT, "A constraint of the database was violated.")             \
    X(MISMATCH, 409, REJECT, "It exists and is different.")                              \
    X(FOREIGN, 409, REJECT, "It belongs to something else.")                             \
    X(CYCLE, 409, REJECT, "It would lead in a circle.")                                  \
    X(STALE, 409, RETRY, "It has changed meanwhile.")                                    \
    X(FENCED, 409, STOP, "Another process holds the lease.")                             \
    X(IN_FLIGHT, 409, RETRY, "The same request is still running.")                       \
    X(LENGTH_REQUIRED, 411, REJECT, "The length of the body is missing.")                \
    X(TOO_LARGE, 413, REJECT, "The request is too large.")                               \
    X(URI_TOO_LONG, 414, REJECT, "The path is too long.")                                \
    X(MEDIA_TYPE, 415, REJECT, "The body must be application/json.")                     \
    X(WRONG_SERVER, 421, REJECT, "Another server holds it.")                             \
    X(KEY_REUSED, 422, REJECT, "The idempotency key was used for another request.")      \
    X(FULL, 429, RETRY, "A limit of what may wait is reached.")                          \
    X(RATE, 429, RETRY, "There are too many requests.")                                  \
    X(HEADERS_TOO_LARGE, 431, REJECT, "The head of the request is too large.")           \
    X(IN_DOUBT, 500, RETRY, "Whether the commit happened is unknown.")                   \
    X(DATABASE_DENIED, 500, STOP, "The database refuses the server's rights.")           \
    X(BUG, 500, STOP, "The server has a fault.")                                         \
    X(NO_ENGINE, 501, REJECT, "The database has no execution engine.")                   \
    X(BUSY, 503, RETRY, "The server or the database is busy.")                           \
    X(LOCKED, 503, RETRY, "A lock was not to be had in time.")                           \
    X(CONFLICT, 503, RETRY, "Another transaction was in the way.")                       \
    X(TIMEOUT, 503, RETRY, "The database did not answer in time.")                       \
    X(LOST, 503, RETRY, "The connection to the database was lost.")                      \
    X(FAILED, 503, RETRY, "The request failed.")                                         \
    X(PANICKED, 503, RETRY, "The request failed.")                                       \
    X(NO_MEMORY, 503, RETRY, "The server has no memory left.")                           \
    X(SYSTEM, 503, RETRY, "The operating system refused.")                               \
    X(SCHEMA, 503, STOP, "The schema of the database does not fit.")                     \
    X(DRAINING, 503, RETRY, "The server is stopping.")                                   \
    X(DATABASE_AWAY, 503, RETRY, "The database cannot be reached.")                      \
    X(DISK_FULL, 507, RETRY, "The database has no space left.")

#define WEIR_PROBLEM_ENUM_(name, status, class, title) WEIR_PROBLEM_##name,
enum weir_problem_code {
    WEIR_PROBLEM_NONE,
    WEIR_PROBLEM_LIST(WEIR_PROBLEM_ENUM_) WEIR_PROBLEM_COUNT
};
#undef WEIR_PROBLEM_ENUM_

enum { WEIR_PROBLEM_DETAIL_SIZE = 512, WEIR_PROBLEM_WORD_SIZE = 128 };

/* May the client repeat the request as it is? */
enum weir_problem_repeat {
    WEIR_REPEAT_UNSAID,
    WEIR_REPEAT_SAFE,      /* a repeat finds out what happened */
    WEIR_REPEAT_LOOK_FIRST /* it may have been done: `detail` says where to look */
};

struct weir_problem {
    enum weir_problem_code code; /* WEIR_PROBLEM_NONE: there is none */
    char detail[WEIR_PROBLEM_DETAIL_SIZE];
    char field[WEIR_PROBLEM_WORD_SIZE];   /* JSON pointer or parameter; "": none */
    char nearest[WEIR_PROBLEM_WORD_SIZE]; /* "": none */
    int64_t limit;                        /* -1: none */
    int64_t retry_after_seconds;          /* -1: none; also as Retry-After */
    enum weir_problem_repeat repeat;
};

/* None. */
void weir_problem_init(struct weir_problem *self);

/* Of this code, in place of what was there. */
void weir_problem_set(struct weir_problem *self, enum weir_problem_code code,
                      const char *format, ...) WEIR_PRINTF(3, 4);

/* What the library's call answered, which was not WEIR_OK. */
void weir_problem_set_error(struct weir_problem *self, const struct weir_error *error);

/* The code of a status of the library; WEIR_PROBLEM_BUG for one that is no failure. */
enum weir_problem_code weir_problem_code_of(enum weir_status status);

/* "not_found". `out` has WEIR_PROBLEM_WORD_SIZE bytes; returns it. */
const char *weir_problem_code_name(enum weir_problem_code code, char *out);
const char *weir_problem_title(enum weir_problem_code code);
unsigned weir_problem_status(enum weir_problem_code code);

/* Append the object. `request` is the id of the request. */
void weir_problem_append_json(const struct weir_problem *self, const char *request,
                              struct weir_buf *json);

/* Append its JSON schema, for OpenAPI. */
void weir_problem_append_schema(struct weir_buf *json);

#endif
