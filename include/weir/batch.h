/*
 * batch.h - handlers, and the messages of one call.
 *
 * A handler answers *done*, *retry* or *reject*. Retry keeps the message at the head of
 * its partition until it is tried again; reject puts it among the dead letters and goes
 * on. When unsure, retry: reject is for defects of the message, not of the world.
 *
 *   static enum weir_outcome send(struct weir_context *context, void *state,
 *                                 const struct weir_message *message,
 *                                 struct weir_reason *reason)
 *   {
 *       if (!parse(message))
 *           return weir_reject(reason, "no address in it");
 *       return post(message) ? WEIR_DONE : weir_retry(reason, "mail server is down");
 *   }
 *
 * A batch handler sees several messages of one partition at once, takes them with
 * next() and says with ack() and reject() how far it came. What it has acked stays
 * done, whatever it answers at the end:
 *
 *   answer   the messages it did not ack
 *   done     are taken as acked, all of them
 *   retry    come again, first the one at which it stopped
 *   reject   go to the dead letters with the reason, all of them
 *
 * A *transactional* handler runs inside the transaction that moves the position, and is
 * given it. What it writes there happens exactly once: the writes and the ack commit
 * together, or neither.
 *
 *   static enum weir_outcome book(struct weir_context *context, void *state,
 *                                 struct weir_connection *connection,
 *                                 const struct weir_message *message,
 *                                 struct weir_reason *reason)
 *   {
 *       PGconn *pg = weir_connection_native(connection);
 *
 *       return insert_payment(pg, message) ? WEIR_DONE : weir_retry(reason, "%s", ...);
 *   }
 *
 * An answer is about everything since the answer before it. Done and ack() keep what
 * the handler wrote since then; retry and reject undo it, and keep what was acked
 * before:
 *
 *   wrote A, ack | wrote B, ack | wrote C, retry        A and B are kept and done; C
 *                                                       comes again
 *   wrote A, ack | wrote B, reject | wrote C, ack       A and C are kept; B is a dead
 *                                                       letter
 *
 * A bare reject of several messages would blame those that are fine: they come again at
 * once, one by one, and the one that is rejected alone goes to the dead letters.
 *
 * On PostgreSQL a statement that fails makes its transaction unusable until it is
 * rolled back: done and ack() are then not believed, but are a retry with the
 * database's text. On SQLite a statement that fails undoes itself alone, and the
 * handler's answer counts.
 *
 * A transactional handler never commits, rolls back (but to savepoints of its own) or
 * begins: it would break the transaction, and everything comes again. SQLite refuses
 * its COMMIT; PostgreSQL cannot, and what was committed then is there to stay. It
 * leaves no statement unread.
 *
 * On PostgreSQL and MariaDB, what it sets in the session by the native handle
 * (search_path, USE, roles, timeouts) keeps no message from its ack, is undone before
 * the next message, and does not come back to the pool. On MariaDB variables of the
 * user's own (@name), temporary tables and settings that docs/internals/db-mariadb.md
 * does not list last until the connection is given back; SQLite keeps what is set in a
 * connection. Behind a transaction pooler only SET LOCAL is allowed. On PostgreSQL the
 * timeouts of struct weir_db_options hold for its statements too; on SQLite all other
 * writers wait until it has returned.
 *
 * A deferred constraint fails the whole call, as do a lost connection and a budget that
 * is over. On PostgreSQL those of a handler that has asked for the native handle are
 * checked when it answers, with its role and its settings; for the next message of the
 * call all constraints that may be deferred are.
 *
 * Time     A call has a budget. remaining() tells what is left of it; when it is over the
 *          stop flag is up, the answer counts as retry and acks are refused. In a
 *          transactional handler the statement that runs then is cancelled too, and
 *          everything is rolled back.
 * Threads  The flow of control of the handler; weir_batch_stopped() any thread.
 */
#ifndef WEIR_BATCH_H
#define WEIR_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>
#include <weir/message.h>

struct weir_batch;
struct weir_connection;
struct weir_context;

/* Messages of one call of a transactional handler: each has a savepoint, and PostgreSQL
 * slows down every session with a snapshot when a transaction has more than 64. */
enum { WEIR_TRANSACTIONAL_BATCH_MAX = 60 };

enum weir_outcome { WEIR_DONE, WEIR_RETRY, WEIR_REJECT };

/* Why: kept with the position or with the dead letter. */
struct weir_reason {
    char text[WEIR_ERROR_TEXT_SIZE];
};

/* `reason` is never NULL and empty at first. */
typedef enum weir_outcome (*weir_message_fn)(struct weir_context *context, void *state,
                                             const struct weir_message *message,
                                             struct weir_reason *reason);
typedef enum weir_outcome (*weir_batch_fn)(struct weir_context *context, void *state,
                                           struct weir_batch *batch,
                                           struct weir_reason *reason);

/* The same inside the transaction that moves the position. `connection` is the
 * handler's until it returns: for weir_connection_native(), and to enqueue on. */
typedef enum weir_outcome (*weir_message_tx_fn)(struct weir_context *context, void *state,
                                                struct weir_connection *connection,
                                                const struct weir_message *message,
                                                struct weir_reason *reason);
typedef enum weir_outcome (*weir_batch_tx_fn)(struct weir_context *context, void *state,
                                              struct weir_connection *connection,
                                              struct weir_batch *batch,
                                              struct weir_reason *reason);

WEIR_BEGIN_DECLS

/* Write the reason and return the outcome, so that it can be the last line of a
 * handler. */
WEIR_API enum weir_outcome weir_retry(struct weir_reason *reason, const char *format, ...)
    WEIR_PRINTF(2, 3);
WEIR_API enum weir_outcome weir_reject(struct weir_reason *reason, const char *format,
                                       ...) WEIR_PRINTF(2, 3);

/* The next message, or NULL after the last. */
WEIR_API const struct weir_message *weir_batch_next(struct weir_batch *self);

/* The next up to `count` messages, side by side in *out; returns how many there are, 0
 * after the last. */
WEIR_API size_t weir_batch_next_chunk(struct weir_batch *self, size_t count,
                                      const struct weir_message **out);

/*
 * Acknowledge the oldest message that was taken and not acked yet, or `count` of them.
 * Fails with WEIR_INVALID, and changes nothing, when fewer were taken; with WEIR_FENCED
 * when the budget is over. In a transactional handler also with WEIR_FAILED, when a
 * statement has failed and what was written cannot be kept (reject() and retry are then
 * still possible), or, when the transaction is lost, as the database does.
 */
WEIR_CHECKED WEIR_API enum weir_status weir_batch_ack(struct weir_batch *self,
                                                      struct weir_error *error);
WEIR_CHECKED WEIR_API enum weir_status
weir_batch_ack_chunk(struct weir_batch *self, size_t count, struct weir_error *error);

/* Put the oldest message that was taken and not acked yet among the dead letters; it
 * counts as acked. `reason` is copied. Fails as ack() does, and with WEIR_NO_MEMORY. */
WEIR_CHECKED WEIR_API enum weir_status
weir_batch_reject(struct weir_batch *self, const char *reason, struct weir_error *error);

/* Messages not taken yet; all of them; acked or rejected. */
WEIR_API size_t weir_batch_left(const struct weir_batch *self);
WEIR_API size_t weir_batch_count(const struct weir_batch *self);
WEIR_API size_t weir_batch_processed(const struct weir_batch *self);

/* Time until the budget is over, 0 when it is; and whether the handler should return now:
 * the budget is over, the lease was lost or the outbox is being stopped. */
WEIR_API int64_t weir_batch_remaining_ns(const struct weir_batch *self);
WEIR_API bool weir_batch_stopped(const struct weir_batch *self);

WEIR_END_DECLS

#endif
