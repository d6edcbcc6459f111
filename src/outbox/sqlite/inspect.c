/*
 * inspect.c - the statements of inspect_sql.h on SQLite.
 */
#include "outbox/inspect_sql.h"
#include "outbox/sqlite/engine.h"

/* The log by its primary key from the lowest position on (the join is not to be turned
 * round), for each row the position by its key; set aside by the index on the
 * partition. */
static const struct weir_sql SQL_WAITS = {
    .name = "waits",
    .text = "SELECT EXISTS (SELECT 1 FROM {p}_log l CROSS JOIN {p}_ack a"
            " ON a.subscription = " WEIR_WAITS_SUBSCRIPTION " AND a.pid = l.pid"
            " WHERE l.id > (SELECT min(k.last_id) FROM {p}_ack k"
            "  WHERE k.subscription = " WEIR_WAITS_SUBSCRIPTION ")"
            " AND l.id > a.last_id LIMIT {3})"
            " OR EXISTS (SELECT 1 FROM {p}_ack a CROSS JOIN {p}_aside x"
            " ON x.pid = a.pid AND x.cut = 0 AND x.id > a.last_id"
            " WHERE a.subscription = " WEIR_WAITS_SUBSCRIPTION ")",
    .parameters = "iti",
};

const struct weir_inspect_sql weir_inspect_sqlite = {
    .rate_in = WEIR_READ_RATE_IN(WEIR_NEWEST_OF_LOG "(SELECT {2})"),
    .kept = WEIR_READ_KEPT(WEIR_KEPT_ROWS "(SELECT {2})", WEIR_LAST_OF_LOG, "0"),
    .partitions = WEIR_READ_PARTITIONS(WEIR_JOIN_POSITION),
    .waits = &SQL_WAITS,
};
