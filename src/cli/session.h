/*
 * session.h - the database of a command, opened as the shared options say.
 *
 *   open(DATABASE)   a database that can be reached                migrate, doctor
 *   open(OUTBOX)     with tables that this program can work on     everything else
 *
 * What does not work is reported here, in one line that ends in the next step, and the
 * command only returns the exit code. Nothing is made on the way: a SQLite file that is
 * not there stays so. A command that operates acts as the user of the process from then
 * on, until close() (weir/audit.h).
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_SESSION_H
#define WEIR_CLI_SESSION_H

#include "cli/command.h"
#include "weir/outbox.h"

enum weir_session_need { WEIR_SESSION_DATABASE, WEIR_SESSION_OUTBOX };

struct weir_session {
    const struct weir_command *command;
    struct weir_command_shared shared;
    struct weir_db *db;
    struct weir_outbox *outbox; /* NULL for WEIR_SESSION_DATABASE */
    char name[160];             /* the database, for people */
};

/* What a command may want of its outbox; 0: the library's default. */
struct weir_session_wishes {
    /* The database is away: whether to try again, after a while; NULL: it is not waited
     * for. On false open() returns WEIR_EXIT_FAILED and has reported nothing. */
    bool (*away)(void *state, const struct weir_error *error);
    void *state;
    size_t payload_size_max;
    uint32_t handlers;
    uint32_t producers; /* threads that enqueue at the same time */
    enum weir_profile profile;
};

/* WEIR_EXIT_DONE, or what the command returns after close(), which is owed either way.
 * `wishes` may be NULL: none. */
WEIR_CHECKED int weir_session_open(struct weir_session *self,
                                   const struct weir_command *command,
                                   enum weir_session_need need,
                                   const struct weir_session_wishes *wishes);
void weir_session_close(struct weir_session *self);

/* Open, call `body` if that went well, and close. `body` gets `state`, which holds or
 * knows the session, and returns the exit code. */
WEIR_CHECKED int weir_session_run(struct weir_session *self,
                                  const struct weir_command *command,
                                  enum weir_session_need need, int (*body)(void *state),
                                  void *state);

/* Record an action that the command itself refuses, or that has nothing to do (WEIR_OK).
 * A failure to do so is none of the command. */
void weir_session_refused(const struct weir_session *self, const char *action,
                          const char *target, enum weir_status status);

/* SQLite: there is no such file yet. */
bool weir_session_file_missing(const struct weir_session *self);

/*
 * Tell what a call of the library answered: its text, and the next step if one is
 * known. What is wrong in itself (WEIR_INVALID, WEIR_OUT_OF_RANGE, WEIR_TOO_LARGE) is
 * misuse, the rest a failure. `queue` names what WEIR_NOT_FOUND did not find; may be
 * NULL.
 */
int weir_session_fail(const struct weir_session *self, const struct weir_error *error,
                      const char *queue);

#endif
