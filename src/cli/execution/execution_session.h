/*
 * execution_session.h - the execution engine of a command, opened as the shared options
 * say.
 *
 *   open(SILENT)    looks at executions or submits them, and needs no more rights than
 *                   that
 *   open(TELLING)   changes them, and tells so in the queues of events
 *
 * As session.h: what does not work is reported here, and the command only returns the
 * exit code.
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_SESSION_H
#define WEIR_CLI_EXECUTION_EXECUTION_SESSION_H

#include "cli/session.h"
#include "weir/executions.h"

enum weir_execution_session_use {
    WEIR_EXECUTION_SESSION_SILENT,
    WEIR_EXECUTION_SESSION_TELLING
};

/* A row of options; the member is 0 for the default. */
#define WEIR_PARTITIONS_OPTION(T, m)                                                     \
    WEIR_OPTION(0, "partitions", "N", "as all processes have it; default 256",           \
                WEIR_AS_NUMBER(T, m, 1, WEIR_SESSION_PARTITIONS_MAX))
enum { WEIR_SESSION_PARTITIONS_MAX = 65535 };

struct weir_execution_session {
    struct weir_session session;
    struct weir_executions *executions;
    int64_t now_us; /* the database's clock, when it was opened */
};

/* What a command may want; NULL: none of it. */
struct weir_execution_session_wishes {
    uint32_t partitions; /* 0: the library's default */
    uint32_t threads;    /* that use the engine at the same time, beside a few */
};

/* WEIR_EXIT_DONE, or what the command returns after close(), which is owed either way. */
WEIR_CHECKED int
weir_execution_session_open(struct weir_execution_session *self,
                            const struct weir_command *command,
                            enum weir_execution_session_use use,
                            const struct weir_execution_session_wishes *wishes);
void weir_execution_session_close(struct weir_execution_session *self);

/* Open without wishes, call `body` if that went well, and close; as
 * weir_session_run(). */
WEIR_CHECKED int weir_execution_session_run(struct weir_execution_session *self,
                                            const struct weir_command *command,
                                            enum weir_execution_session_use use,
                                            int (*body)(void *state), void *state);

/* The database's clock, which times in rows are of. */
WEIR_CHECKED enum weir_status
weir_execution_session_read_clock(const struct weir_execution_session *self,
                                  int64_t *out_us, struct weir_error *error);

/* Tell what a call of the library answered, as weir_session_fail(). */
int weir_execution_session_fail(const struct weir_execution_session *self,
                                const struct weir_error *error);

#endif
