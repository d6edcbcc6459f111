/*
 * inspect.c - the statements of inspect_sql.h on MariaDB.
 *
 * The newest messages are in front of the log, until they are moved (mariadb/log.h).
 */
#include "outbox/inspect_sql.h"
#include "outbox/mariadb/engine.h"

#define FIRST_INCOMING "(SELECT id FROM {p}_incoming ORDER BY era, id LIMIT 1)"
#define LAST_INCOMING "(SELECT id FROM {p}_incoming ORDER BY era DESC, id DESC LIMIT 1)"

/* The same, and what is committed and not moved yet, era by era. A row that is moved
 * meanwhile is seen in one place or the other: one statement has one state. */
static const struct weir_sql SQL_WAITS = {
    .name = "waits",
    .text = "SELECT EXISTS (SELECT 1 FROM {p}_log l STRAIGHT_JOIN {p}_ack a"
            " ON a.subscription = " WEIR_WAITS_SUBSCRIPTION " AND a.pid = l.pid"
            " WHERE l.id > {3} AND l.id > a.last_id)"
            " OR EXISTS (SELECT 1 FROM {p}_ack a STRAIGHT_JOIN {p}_aside x"
            " ON x.pid = a.pid AND x.cut = 0 AND x.id > a.last_id"
            " WHERE a.subscription = " WEIR_WAITS_SUBSCRIPTION ")"
            " OR EXISTS (SELECT 1 FROM {p}_era e"
            " STRAIGHT_JOIN {p}_incoming i FORCE INDEX (PRIMARY) ON i.era = e.no"
            " STRAIGHT_JOIN {p}_ack a"
            " ON a.subscription = " WEIR_WAITS_SUBSCRIPTION " AND a.pid = i.pid)",
    .parameters = "iti",
};

const struct weir_inspect_sql weir_inspect_maria = {
    .rate_in = WEIR_READ_RATE_IN("(" WEIR_NEWEST_OF_LOG "{2}) UNION ALL"
                                 " (SELECT pid, created_us FROM {p}_incoming"
                                 " ORDER BY era DESC, id DESC LIMIT {2})"
                                 " ORDER BY created_us DESC LIMIT {2}"),
    .kept = WEIR_READ_KEPT("(" WEIR_KEPT_ROWS "{2}) UNION ALL (SELECT " WEIR_LAST_OF_LOG
                           " + i.id - " FIRST_INCOMING " + 1, i.pid, i.created_us"
                           " FROM {p}_incoming i ORDER BY i.era, i.id LIMIT {2})"
                           " ORDER BY id LIMIT {2}",
                           WEIR_LAST_OF_LOG " + coalesce(" LAST_INCOMING
                                            " - " FIRST_INCOMING " + 1, 0)",
                           "0"),
    .partitions = WEIR_READ_PARTITIONS(WEIR_JOIN_POSITION),
    .waits = &SQL_WAITS,
    /* Where to look from: asked for beforehand, since a range whose beginning is a
     * minimum is not found by its index there. Nothing of the log lies before what was
     * swept. */
    .waits_begin =
        {
            .name = "waits begin",
            .text = "SELECT greatest(coalesce(min(a.last_id), 9223372036854775807),"
                    " (SELECT c.value FROM {p}_counter c WHERE c.name = 'swept'))"
                    " FROM {p}_ack a WHERE a.subscription = " WEIR_WAITS_SUBSCRIPTION,
            .parameters = "it",
        },
};
