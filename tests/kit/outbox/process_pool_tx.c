/*
 * process_pool_book.c - the transactional handler of process_pool.h.
 */
#include <libpq-fe.h>
#include <mysql.h>
#include <signal.h>
#include <stdlib.h>

#include "db/clock.h"
#include "kit/outbox/effects.h"
#include "kit/outbox/process_pool.h"
#include "weir/context.h"

enum trick {
    ASK_AGAIN,
    PANIC,
    FAIL_AND_SAY_DONE,
    FAIL_AND_SAY_SO,
    ROLL_BACK,
    COMMIT_AND_SAY_SO,
    LEAVE_UNREAD,
    LOSE_CONNECTION,
    TRICKS
};

static const char FAILING[] = "INSERT INTO there_is_no_such_table VALUES (1)";

static bool on_sqlite(struct weir_connection *connection)
{
    return weir_connection_engine(connection) == WEIR_SQLITE;
}

/* What a server commits is committed; only a refusal can be played. */
static void try_to_commit(struct weir_connection *connection)
{
    (void)effects_run(connection, on_sqlite(connection) ? "COMMIT" : "ROLLBACK");
}

static void leave_unread(struct weir_connection *connection)
{
    void *handle = weir_connection_native(connection);

    if (weir_connection_engine(connection) == WEIR_POSTGRESQL)
        (void)PQsendQuery(handle, "SELECT 1");
    else if (weir_connection_engine(connection) == WEIR_MARIADB)
        (void)mysql_query(handle, "SELECT 1");
}

static void lose_connection(struct weir_connection *connection)
{
    if (weir_connection_engine(connection) == WEIR_POSTGRESQL)
        (void)effects_run(connection, "SELECT pg_terminate_backend(pg_backend_pid())");
    else if (weir_connection_engine(connection) == WEIR_MARIADB)
        (void)effects_run(connection, "KILL CONNECTION_ID()");
}

static enum weir_outcome play(enum trick trick, struct weir_context *context,
                              struct weir_connection *connection,
                              struct weir_reason *reason)
{
    switch (trick) {
    case PANIC:
        weir_panic(context, "mischief");
    case FAIL_AND_SAY_DONE:
        if (effects_run(connection, FAILING) || on_sqlite(connection))
            break;
        return WEIR_DONE;
    case FAIL_AND_SAY_SO:
        (void)effects_run(connection, FAILING);
        break;
    case ROLL_BACK:
        (void)effects_run(connection, "ROLLBACK");
        return WEIR_DONE;
    case COMMIT_AND_SAY_SO:
        try_to_commit(connection);
        return WEIR_DONE;
    case LEAVE_UNREAD:
        leave_unread(connection);
        return on_sqlite(connection) ? WEIR_RETRY : WEIR_DONE;
    case LOSE_CONNECTION:
        lose_connection(connection);
        return on_sqlite(connection) ? WEIR_RETRY : WEIR_DONE;
    case ASK_AGAIN:
    case TRICKS:
        break;
    }
    return weir_retry(reason, "trick %d", (int)trick);
}

enum weir_outcome process_pool_book(struct weir_context *context, void *state,
                                    struct weir_connection *connection,
                                    const struct weir_message *message,
                                    struct weir_reason *reason)
{
    struct pool_process *self = state;
    uint64_t chance = weir_clock_random();

    if (!effects_write(connection, message))
        return weir_retry(reason, "the effect could not be written");
    if (process_pool_is_poison(self->ledger, message))
        (void)raise(SIGKILL);
    if (strtoll(message->payload, NULL, 10) % PROCESS_POOL_REJECTED == 0)
        return weir_reject(reason, "a number that is no good");
    if (chance % 1000 < self->ledger->options.mischief)
        return play((enum trick)(chance / 1000 % TRICKS), context, connection, reason);
    return WEIR_DONE;
}

void process_pool_audit_effects(struct process_pool *self)
{
    int64_t wanted = 0;

    for (int32_t p = 0; p < self->ledger->options.partitions; p++)
        wanted += self->enqueued[p] - self->enqueued[p] / PROCESS_POOL_REJECTED;
    check_int(effects_count(self->fixture), wanted);
    check_int(effects_repeated(self->fixture), 0);
}
