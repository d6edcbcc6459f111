/*
 * execution_session.c - see execution_session.h.
 */
#include "cli/execution/execution_session.h"

#include "db/connection.h"
#include "db/db.h"
#include "execution/schema.h"

/* Nothing to be opened again: MariaDB will never have it, and other databases after a
 * migration. */
static int check_tables(const struct weir_execution_session *self)
{
    const struct weir_session *session = &self->session;
    struct weir_connection *connection = NULL;
    struct weir_schema_version version = {0};
    struct weir_error error = {0};
    enum weir_status status;

    if (!weir_schema_is_for(&weir_executions_schema, weir_db_engine(session->db)))
        return weir_command_fail(session->command,
                                 "%s: executions need SQLite or PostgreSQL; on MariaDB "
                                 "'weir migrate' makes no tables for them",
                                 session->name);
    status = weir_db_acquire(session->db, &connection, &error);
    if (status == WEIR_OK)
        status = weir_schema_read(&weir_executions_schema, connection, &version, &error);
    weir_db_release(session->db, connection);
    if (status != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    if (version.number == 0)
        return weir_command_fail(session->command,
                                 "%s has no tables for executions with prefix '%s'; run "
                                 "'weir migrate'",
                                 session->name, weir_db_prefix(session->db));
    return WEIR_EXIT_DONE;
}

static int create_flow(struct weir_execution_session *self,
                       enum weir_execution_session_use use,
                       const struct weir_execution_session_wishes *wishes)
{
    struct weir_executions_options options;
    struct weir_error error = {0};

    weir_executions_options_init(&options);
    options.db = self->session.db;
    options.outbox = use == WEIR_EXECUTION_SESSION_TELLING ? self->session.outbox : NULL;
    options.no_savepoint = true; /* what fails here is rolled back as a whole */
    if (wishes->partitions > 0)
        options.partitions = wishes->partitions;
    if (weir_executions_create(&options, &self->executions, &error) != WEIR_OK)
        return weir_execution_session_fail(self, &error);
    return WEIR_EXIT_DONE;
}

enum weir_status
weir_execution_session_read_clock(const struct weir_execution_session *self,
                                  int64_t *out_us, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->session.db, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_clock(connection, out_us, error);
    weir_db_release(self->session.db, connection);
    return status;
}

int weir_execution_session_open(struct weir_execution_session *self,
                                const struct weir_command *command,
                                enum weir_execution_session_use use,
                                const struct weir_execution_session_wishes *wishes)
{
    static const struct weir_execution_session_wishes NONE = {0};
    struct weir_error error = {0};
    int code;

    if (wishes == NULL)
        wishes = &NONE;
    self->executions = NULL;
    self->now_us = 0;
    code = weir_session_open(&self->session, command, WEIR_SESSION_OUTBOX,
                             &(struct weir_session_wishes){.producers = wishes->threads});
    if (code == WEIR_EXIT_DONE)
        code = check_tables(self);
    if (code == WEIR_EXIT_DONE)
        code = create_flow(self, use, wishes);
    if (code == WEIR_EXIT_DONE &&
        weir_execution_session_read_clock(self, &self->now_us, &error) != WEIR_OK)
        code = weir_execution_session_fail(self, &error);
    return code;
}

void weir_execution_session_close(struct weir_execution_session *self)
{
    weir_executions_destroy(self->executions);
    self->executions = NULL;
    weir_session_close(&self->session);
}

int weir_execution_session_run(struct weir_execution_session *self,
                               const struct weir_command *command,
                               enum weir_execution_session_use use,
                               int (*body)(void *state), void *state)
{
    int code = weir_execution_session_open(self, command, use, NULL);

    if (code == WEIR_EXIT_DONE)
        code = body(state);
    weir_execution_session_close(self);
    return code;
}

int weir_execution_session_fail(const struct weir_execution_session *self,
                                const struct weir_error *error)
{
    if (error->status == WEIR_NOT_FOUND)
        return weir_command_fail(self->session.command,
                                 "%s; 'weir execution list' lists all there are",
                                 error->text);
    return weir_session_fail(&self->session, error, NULL);
}
