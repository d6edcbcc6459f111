/*
 * inspect.c - the statements of inspect_sql.h on PostgreSQL.
 */
#include "outbox/inspect_sql.h"
#include "outbox/postgres/engine.h"
#include "outbox/postgres/statements.h"

/* Of the rows set aside those that stand in the log as well
 * (postgres/sweep.h), by index (id), one look-up in each leaf. */
#define DOUBLED                                                                          \
    "(SELECT count(*) FROM (SELECT a.id FROM {p}_aside a WHERE a.pid >= {1} * 64"        \
    " AND a.pid < {1} * 64 + 64 LIMIT (SELECT {2})) x"                                   \
    " WHERE (SELECT l.id FROM {p}_log l WHERE l.id BETWEEN x.id AND x.id"                \
    " ORDER BY l.id LIMIT 1) IS NOT NULL)"

const struct weir_inspect_sql weir_inspect_pg = {
    .rate_in = WEIR_READ_RATE_IN(WEIR_NEWEST_OF_LOG "(SELECT {2})"),
    .kept = WEIR_READ_KEPT(WEIR_KEPT_ROWS "(SELECT {2})", WEIR_LAST_OF_LOG, DOUBLED),
    .partitions = WEIR_READ_PARTITIONS("JOIN LATERAL (SELECT * FROM {p}_ack x"
                                       " WHERE x.subscription = s.id AND x.pid = l.pid"
                                       " ORDER BY x.version DESC LIMIT 1) a ON true"),
    .waits = &weir_pg_sql_waits,
};
