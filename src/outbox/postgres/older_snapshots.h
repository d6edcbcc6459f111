/*
 * older_snapshots.h - the snapshots that an emptying waits for.
 *
 * A snapshot that does not see a copy (postgres/copy.h) may be that of a dump which has
 * not locked its tables yet: emptying the leaf would make a hole in it. So the sweep
 * looks at the snapshots of other sessions after the copy was committed, and those that
 * are older are *older snapshots* of the copy:
 *
 *   copy commits      first look: older snapshots of this copy      later looks: is one
 *                     left?
 *   ------|-----------------|-------------------------------------|------------------>
 *                           sessions from here on see the copy
 *
 * What counts is `backend_xmin` of client backends and walsenders of this database.
 * Transaction ids, prepared transactions and slots read nothing again, and do not
 * count. A transaction that runs for long gives its own number as xmin to every
 * snapshot that is taken meanwhile; therefore only snapshots that were there at the
 * first look are older snapshots, not all with a low xmin.
 *
 * A snapshot, known by process and xmin, is waited for once: when it has been seen for
 * as long as the limit it holds up no copy any more, neither this one nor a later one.
 * A dump that is older has a hole then, and says so (postgres/copy.h).
 *
 * Threads  The sweep's. Memory   None of its own.
 * Failure  As the database does.
 */
#ifndef WEIR_OUTBOX_POSTGRES_OLDER_SNAPSHOTS_H
#define WEIR_OUTBOX_POSTGRES_OLDER_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/connection.h"

enum { WEIR_PG_OLDER_SNAPSHOTS_MAX = 128 };

struct weir_pg_older_snapshot {
    int64_t process;
    int64_t xmin;
    int64_t since_ns; /* when it was first seen */
    uint64_t look;    /* the number of that look */
};

struct weir_pg_older_snapshots {
    struct weir_pg_older_snapshot list[WEIR_PG_OLDER_SNAPSHOTS_MAX];
    size_t count;
    uint64_t looks;
    bool overflow; /* there are more than the list has */
};

/* One copy that is waited with; zeroed at first. */
struct weir_pg_wait {
    int64_t no;       /* of the copy */
    uint64_t look;    /* the first one after it */
    int64_t since_ns; /* of that look */
};

/*
 * Look which sessions are there. Outside of any transaction, in which the server would
 * repeat its first answer.
 */
WEIR_CHECKED enum weir_status
weir_pg_older_snapshots_look(struct weir_pg_older_snapshots *self,
                             struct weir_connection *connection, int64_t now_ns,
                             struct weir_error *error);

/* After a look: begin to wait with this copy, unless that was begun. */
void weir_pg_older_snapshots_expect(const struct weir_pg_older_snapshots *self,
                                    struct weir_pg_wait *wait, int64_t no,
                                    int64_t now_ns);

/* The time at which the first of the older snapshots that hold up the copy of `wait`
 * was seen; 0: nothing holds it up. */
int64_t weir_pg_older_snapshots_since(const struct weir_pg_older_snapshots *self,
                                      const struct weir_pg_wait *wait, int64_t xid,
                                      int64_t now_ns, int64_t limit_ns);

#endif
