/*
 * inspect_sql.h - statements of inspect.c, traffic.c and drained.c that each engine has
 * in its own form.
 */
#ifndef WEIR_OUTBOX_INSPECT_SQL_H
#define WEIR_OUTBOX_INSPECT_SQL_H

#include "db/sql.h"

struct weir_inspect_sql {
    struct weir_sql rate_in;    /* WEIR_READ_RATE_IN */
    struct weir_sql kept;       /* WEIR_READ_KEPT */
    struct weir_sql partitions; /* WEIR_READ_PARTITIONS */

    /* Is anything left for subscription {2} of queue {1}? {3} is what `waits_begin`
     * gives for {1} and {2}, or a limit without end if that has no text. */
    const struct weir_sql *waits;
    struct weir_sql waits_begin;
};

/*
 * By index on the id, backwards. The limit stands in a sub-select, so that PostgreSQL's
 * planner takes it for small and follows the index; MariaDB takes none there. There the
 * newest ones are in front of the log, until they are moved.
 */
#define WEIR_RATE_MINE "n.pid >= {1} * 64 AND n.pid < {1} * 64 + 64"
#define WEIR_READ_RATE_IN(rows)                                                          \
    {                                                                                    \
        .name = "read rate in",                                                          \
        .text = "SELECT count(*), count(CASE WHEN " WEIR_RATE_MINE " THEN 1 END),"       \
                " min(n.created_us), min(CASE WHEN " WEIR_RATE_MINE                      \
                " THEN n.created_us END),"                                               \
                " {now} FROM (" rows ") n WHERE n.created_us > {now} - 60000000",        \
        .parameters = "ii",                                                              \
    }
#define WEIR_NEWEST_OF_LOG "SELECT pid, created_us FROM {p}_log ORDER BY id DESC LIMIT "

/*
 * What a queue without a subscription keeps for future ones: all that the log
 * has of it. By index on the id, which has no partition, so {2} rows are looked at and
 * no more. The limit stands in a sub-select, so that PostgreSQL's planner takes it for
 * small and follows the index; MariaDB takes none there. There messages wait in front
 * of the log too: they count as if they had been moved.
 */
#define WEIR_KEPT "k.pid >= {1} * 64 AND k.pid < {1} * 64 + 64"
#define WEIR_READ_KEPT(rows, last, doubled)                                              \
    {                                                                                    \
        .name = "read kept messages",                                                    \
        .text = "SELECT count(*), count(CASE WHEN " WEIR_KEPT " THEN 1 END),"            \
                " min(CASE WHEN " WEIR_KEPT " THEN k.created_us END),"                   \
                " coalesce(max(k.id) - min(k.id) + 1, 0),"                               \
                " coalesce(" last " - min(k.id) + 1, 0), " doubled " FROM (" rows ") k", \
        .parameters = "ii",                                                              \
    }
#define WEIR_KEPT_ROWS "SELECT id, pid, created_us FROM {p}_log ORDER BY id LIMIT "
#define WEIR_LAST_OF_LOG "(SELECT coalesce(max(id), 0) FROM {p}_log)"

#define WEIR_PARTITION_COLUMNS                                                           \
    "SELECT s.id, s.name, l.pid, a.seq, a.attempts, a.retry_us, a.error,"                \
    " l.epoch, l.until_us, l.crashes,"                                                   \
    " CASE WHEN l.owner IS NULL THEN '' ELSE (SELECT m.name FROM {p}_member m"           \
    "   WHERE m.subscription = s.id AND m.process = l.owner) END,"                       \
    " {now}"                                                                             \
    " FROM {p}_subscription s JOIN {p}_lease l ON l.subscription = s.id "

/* By the primary keys of leases and acks or, on PostgreSQL, the index of acks
 * backwards. */
#define WEIR_READ_PARTITIONS(join)                                                       \
    {                                                                                    \
        .name = "read partitions",                                                       \
        .text =                                                                          \
            WEIR_PARTITION_COLUMNS join " WHERE s.queue = {1} ORDER BY s.name, l.pid",   \
        .parameters = "i",                                                               \
    }
/* Where a position is one row. */
#define WEIR_JOIN_POSITION "JOIN {p}_ack a ON a.subscription = s.id AND a.pid = l.pid"

#define WEIR_WAITS_SUBSCRIPTION                                                          \
    "(SELECT s.id FROM {p}_subscription s WHERE s.queue = {1} AND s.name = {2})"

#endif
