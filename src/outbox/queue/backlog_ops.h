/*
 * backlog_ops.h - the inside of backlog.h: what each engine does in its own way.
 */
#ifndef WEIR_OUTBOX_QUEUE_BACKLOG_OPS_H
#define WEIR_OUTBOX_QUEUE_BACKLOG_OPS_H

#include "outbox/queue/backlog.h"

/* On PostgreSQL with what put() needs: where and when the count began
 * (postgres/backlog.c). */
struct weir_backlog_claim {
    bool mine;
    int64_t mark;
    int64_t begun_s;
};

struct weir_backlog_ops {
    /* The number, for a producer. *young is false: there is none, or it is old. */
    enum weir_status (*read)(struct weir_connection *connection, int64_t queue_id,
                             struct weir_backlog *out, bool *young,
                             struct weir_error *error);

    /* Is it on this process to count? WEIR_LOCKED: another one is at it. */
    enum weir_status (*claim)(struct weir_connection *connection, int64_t queue_id,
                              int64_t age_us, struct weir_backlog_claim *out,
                              struct weir_error *error);

    enum weir_status (*put)(struct weir_connection *connection, int64_t queue_id,
                            int64_t waiting, const struct weir_backlog_claim *claim,
                            struct weir_error *error);

    /* With the queue as the only parameter. NULL: nothing to do. */
    const struct weir_sql *give_up; /* a claim after which nothing was put */
    const struct weir_sql *prepare; /* a queue has got a limit */
    const struct weir_sql *remove;  /* a queue goes; never NULL */

    /* What a queue without subscriptions keeps, among the first {2} rows of the log. NULL
     * where read() always gives a number. */
    const struct weir_sql *kept_few;
};

/* For engines that keep the numbers in the table {p}_backlog. */
extern const struct weir_sql weir_backlog_sql_delete;

/* read() by a statement whose columns are counted_us, waiting and the age. */
enum weir_status weir_backlog_read_aged(struct weir_connection *connection,
                                        const struct weir_sql *sql,
                                        const struct weir_value *values,
                                        size_t value_count, struct weir_backlog *out,
                                        bool *young, struct weir_error *error);

#define WEIR_BACKLOG_OF_QUEUE "pid BETWEEN {1} * 64 AND {1} * 64 + 63"
#define WEIR_BACKLOG_KEPT(from)                                                          \
    "(SELECT count(*) FROM (" from " LIMIT {2}) k WHERE k." WEIR_BACKLOG_OF_QUEUE ")"
#define WEIR_BACKLOG_KEPT_LOG WEIR_BACKLOG_KEPT("SELECT pid FROM {p}_log ORDER BY id")
#define WEIR_BACKLOG_KEPT_ASIDE                                                          \
    "(SELECT count(*) FROM {p}_aside WHERE " WEIR_BACKLOG_OF_QUEUE ")"
#define WEIR_BACKLOG_NOT_SUBSCRIBED                                                      \
    " WHERE NOT EXISTS (SELECT 1 FROM {p}_subscription WHERE queue = {1})"

#endif
