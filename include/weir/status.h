/*
 * status.h - every way a call can end.
 *
 * A status says what happened; its class says what to do about it. Callers branch on
 * the class; only code that knows better looks at the status itself.
 */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

#include <weir/api.h>

/* X(name, class, text): the one list from which enum, names and texts are made. */
#define WEIR_STATUS_LIST(X)                                                              \
    X(OK, FINE, "done")                                                                  \
    X(NO_ROW, FINE, "no more rows")                                                      \
    X(INVALID, REJECT, "invalid argument")                                               \
    X(EXISTS, REJECT, "already exists")                                                  \
    X(CONSTRAINT, REJECT, "a constraint of the database was violated")                   \
    X(NOT_FOUND, REJECT, "there is no such thing")                                       \
    X(OUT_OF_RANGE, REJECT, "out of range")                                              \
    X(TOO_LARGE, REJECT, "too large")                                                    \
    X(MISMATCH, REJECT, "it exists and is different")                                    \
    X(FOREIGN, REJECT, "it belongs to something else")                                   \
    X(CYCLE, REJECT, "it would lead in a circle")                                        \
    X(TOO_DEEP, REJECT, "nested too deep")                                               \
    X(STALE, RETRY, "it has changed meanwhile")                                          \
    X(NO_MEMORY, RETRY, "out of memory")                                                 \
    X(SYSTEM, RETRY, "the operating system refused")                                     \
    X(BUSY, RETRY, "busy")                                                               \
    X(TIMEOUT, RETRY, "timed out")                                                       \
    X(FAILED, RETRY, "failed")                                                           \
    X(PANICKED, RETRY, "panicked")                                                       \
    X(CONFLICT, RETRY, "another transaction was in the way")                             \
    X(LOCKED, RETRY, "a lock was not to be had in time")                                 \
    X(LOST, RETRY, "the connection was lost")                                            \
    X(IN_DOUBT, RETRY, "whether the commit happened is unknown")                         \
    X(DISK_FULL, RETRY, "the database has no space left")                                \
    X(FULL, RETRY, "a limit of what may wait is reached")                                \
    X(CANCELLED, STOP, "cancelled")                                                      \
    X(CLOSED, STOP, "closed")                                                            \
    X(DENIED, STOP, "permission denied")                                                 \
    X(SCHEMA, STOP, "the schema does not fit")                                           \
    X(FENCED, STOP, "another owner holds the lease")

#define WEIR_STATUS_ENUM_(name, class, text) WEIR_##name,
enum weir_status { WEIR_STATUS_LIST(WEIR_STATUS_ENUM_) WEIR_STATUS_COUNT };
#undef WEIR_STATUS_ENUM_

enum weir_status_class {
    WEIR_CLASS_FINE,   /* nothing to do */
    WEIR_CLASS_RETRY,  /* the same call may work later */
    WEIR_CLASS_REJECT, /* this input will never work */
    WEIR_CLASS_STOP    /* this owner must stop */
};

WEIR_BEGIN_DECLS

/* What to do about it. A number that is no status gives WEIR_CLASS_STOP. */
WEIR_API enum weir_status_class weir_status_class(enum weir_status status);

/* "INVALID", and "invalid argument". Both live for ever; a number that is no status
 * gives "UNKNOWN" and "unknown status". */
WEIR_API const char *weir_status_name(enum weir_status status);
WEIR_API const char *weir_status_text(enum weir_status status);

WEIR_END_DECLS

#endif
