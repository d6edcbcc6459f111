/*
 * transact.c - see transact.h.
 *
 * Repeating is safe because everything a body does is in the transaction, and a
 * transaction that did not come to its commit never happened. Once the commit was sent
 * and the answer is lost, the outcome is unknown; so that is where repeating ends.
 */
#include "db/transact.h"

#include "db/clock.h"
#include "db/db.h"
#include "ward/bulkhead.h"

static const struct weir_backoff BETWEEN_ATTEMPTS = {
    .initial_ns = WEIR_MILLISECONDS(2),
    .max_ns = WEIR_MILLISECONDS(500),
    .multiplier = 2.0,
    .jitter = 1.0,
};

static bool worth_repeating(enum weir_status status)
{
    return status == WEIR_CONFLICT || status == WEIR_LOCKED || status == WEIR_LOST;
}

typedef enum weir_status (*begin_fn)(struct weir_connection *connection,
                                     struct weir_error *error);

static enum weir_status attempt(struct weir_connection *connection, begin_fn begin,
                                weir_transact_fn body, void *argument,
                                struct weir_error *error)
{
    enum weir_status status = begin(connection, error);

    if (status != WEIR_OK)
        return status;
    status = body(connection, argument, error);
    if (status != WEIR_OK) {
        weir_connection_rollback(connection);
        return status;
    }
    return weir_connection_commit(connection, error);
}

/* Wait before the next attempt; false when there is none, or the call was cancelled. */
static bool wait_for_next(struct weir_bulkhead *backoff)
{
    weir_bulkhead_escalate(backoff);
    if (backoff->failures >= WEIR_TRANSACT_ATTEMPTS_MAX)
        return false;
    return weir_clock_sleep(backoff->floor_ns);
}

static enum weir_status transact(struct weir_db *db, begin_fn begin,
                                 weir_transact_fn body, void *argument,
                                 struct weir_error *error)
{
    struct weir_bulkhead backoff;
    struct weir_connection *connection;
    enum weir_status status;

    weir_bulkhead_init(&backoff, &BETWEEN_ATTEMPTS, weir_clock_random());
    do {
        status = weir_db_acquire(db, &connection, error);
        if (status == WEIR_OK)
            status = attempt(connection, begin, body, argument, error);
        weir_db_release(db, connection);
    } while (worth_repeating(status) && wait_for_next(&backoff));
    return status;
}

enum weir_status weir_transact(struct weir_db *db, weir_transact_fn body, void *argument,
                               struct weir_error *error)
{
    return transact(db, weir_connection_begin_own, body, argument, error);
}

enum weir_status weir_transact_theirs(struct weir_db *db, weir_transact_fn body,
                                      void *argument, struct weir_error *error)
{
    return transact(db, weir_connection_begin, body, argument, error);
}

enum weir_status weir_transact_soon(struct weir_db *db, weir_transact_fn body,
                                    void *argument, struct weir_error *error)
{
    return transact(db, weir_connection_begin_later, body, argument, error);
}

enum weir_status weir_transact_once(struct weir_connection *connection,
                                    weir_transact_fn body, void *argument,
                                    struct weir_error *error)
{
    return attempt(connection, weir_connection_begin_own, body, argument, error);
}

enum weir_status weir_transact_on(struct weir_connection *connection,
                                  weir_transact_fn body, void *argument,
                                  struct weir_error *error)
{
    struct weir_bulkhead backoff;
    enum weir_status status;

    weir_bulkhead_init(&backoff, &BETWEEN_ATTEMPTS, weir_clock_random());
    do {
        status = weir_transact_once(connection, body, argument, error);
    } while (worth_repeating(status) && status != WEIR_LOST && wait_for_next(&backoff));
    return status;
}

enum weir_status weir_transact_in_savepoint(struct weir_connection *connection,
                                            weir_transact_fn body, void *argument,
                                            struct weir_error *error)
{
    enum weir_status status = weir_connection_savepoint(connection, error);

    if (status != WEIR_OK)
        return status;
    status = body(connection, argument, error);
    if (status == WEIR_OK)
        return weir_connection_savepoint_keep(connection, error);
    if (weir_connection_savepoint_undo(connection, NULL) != WEIR_OK)
        weir_error_prefix(error, "the transaction cannot be used any more");
    return status;
}
