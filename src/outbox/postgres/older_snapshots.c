/*
 * older_snapshots.c - see postgres/older_snapshots.h.
 *
 *   I1  A snapshot that does not see a copy was taken before its commit, and has an
 *       xmin up to the number of the copy's transaction: that one was running, or still
 *       to come.
 *   I2  A backend shows the xmin of its oldest snapshot for as long as it has one. So a
 *       snapshot that is not shown at a look after the commit either sees the copy or
 *       is gone.
 *
 * Snapshots behind the newest copy are left out: no copy waits for them, and once there
 * is a later copy its first look comes later, too. Should the list be full, a copy
 * waits until its own limit.
 */
#include "outbox/postgres/older_snapshots.h"

#include <string.h>

/*
 * xmin has 32 bits; what is missing is that of the next transaction, or its neighbour.
 * A role without the right to see the kind of another user's session takes it for a
 * client.
 */
static const struct weir_sql SQL_LOOK = {
    .name = "look for older snapshots",
    .text = "SELECT s.pid, s.xmin FROM (SELECT a.pid::bigint AS pid,"
            " n.next + (a.backend_xmin::text::bigint - n.next % 4294967296 + 6442450944)"
            " % 4294967296 - 2147483648 AS xmin"
            " FROM pg_stat_activity a CROSS JOIN"
            " (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) n"
            " WHERE a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid()"
            " AND a.datname = current_database() AND"
            " coalesce(a.backend_type, 'client backend')"
            " IN ('client backend', 'walsender')) s"
            " WHERE s.xmin <= (SELECT max(xid::text::bigint) FROM {p}_copy)"
            " ORDER BY s.xmin, s.pid LIMIT {1}",
    .parameters = "i",
};

static const struct weir_pg_older_snapshot *
find(const struct weir_pg_older_snapshot *list, size_t count, int64_t process,
     int64_t xmin)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].process == process && list[i].xmin == xmin)
            return &list[i];
    }
    return NULL;
}

/*
 * A known session stays as old as it was; one that is not listed any more is forgotten.
 */
static void take_rows(struct weir_pg_older_snapshots *self,
                      const struct weir_pg_older_snapshot *seen, size_t count,
                      int64_t now_ns)
{
    struct weir_pg_older_snapshot list[WEIR_PG_OLDER_SNAPSHOTS_MAX];

    for (size_t i = 0; i < count; i++) {
        const struct weir_pg_older_snapshot *known =
            find(self->list, self->count, seen[i].process, seen[i].xmin);

        list[i] = known != NULL ? *known : seen[i];
        if (known == NULL) {
            list[i].since_ns = now_ns;
            list[i].look = self->looks;
        }
    }
    memcpy(self->list, list, count * sizeof list[0]);
    self->count = count;
}

enum weir_status weir_pg_older_snapshots_look(struct weir_pg_older_snapshots *self,
                                              struct weir_connection *connection,
                                              int64_t now_ns, struct weir_error *error)
{
    struct weir_pg_older_snapshot seen[WEIR_PG_OLDER_SNAPSHOTS_MAX];
    struct weir_rows rows;
    size_t count = 0;
    enum weir_status status = weir_connection_query(
        connection, &SQL_LOOK, VALUES(weir_integer(WEIR_PG_OLDER_SNAPSHOTS_MAX + 1)),
        &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        if (count < WEIR_PG_OLDER_SNAPSHOTS_MAX)
            seen[count] =
                (struct weir_pg_older_snapshot){.process = weir_rows_integer(&rows, 0),
                                                .xmin = weir_rows_integer(&rows, 1)};
        count++;
    }
    weir_rows_close(&rows);
    if (status != WEIR_NO_ROW)
        return status;
    self->looks++;
    self->overflow = count > WEIR_PG_OLDER_SNAPSHOTS_MAX;
    take_rows(self, seen, self->overflow ? WEIR_PG_OLDER_SNAPSHOTS_MAX : count, now_ns);
    return WEIR_OK;
}

void weir_pg_older_snapshots_expect(const struct weir_pg_older_snapshots *self,
                                    struct weir_pg_wait *wait, int64_t no, int64_t now_ns)
{
    if (wait->no != no)
        *wait = (struct weir_pg_wait){.no = no, .look = self->looks, .since_ns = now_ns};
}

int64_t weir_pg_older_snapshots_since(const struct weir_pg_older_snapshots *self,
                                      const struct weir_pg_wait *wait, int64_t xid,
                                      int64_t now_ns, int64_t limit_ns)
{
    int64_t since_ns = 0;

    if (self->overflow && now_ns - wait->since_ns < limit_ns)
        since_ns = wait->since_ns;
    for (size_t i = 0; i < self->count; i++) {
        const struct weir_pg_older_snapshot *older_snapshot = &self->list[i];

        if (older_snapshot->xmin > xid || older_snapshot->look > wait->look ||
            now_ns - older_snapshot->since_ns >= limit_ns)
            continue;
        if (since_ns == 0 || older_snapshot->since_ns < since_ns)
            since_ns = older_snapshot->since_ns;
    }
    return since_ns;
}
