/*
 * liveness_ops.h - the inside of liveness.h: what each engine does in its own way.
 */
#ifndef WEIR_OUTBOX_LEASE_LIVENESS_OPS_H
#define WEIR_OUTBOX_LEASE_LIVENESS_OPS_H

#include "outbox/lease/liveness.h"

struct weir_liveness {
    const struct weir_liveness_ops *ops;
    const struct weir_heap *heap;
    int64_t number;
    struct weir_connection *session; /* owned; with a server */
    bool astray;                     /* the session is there, and of no use */

    /* SQLite */
    int file;   /* owned; -1: none */
    char *path; /* owned; of it */
};

struct weir_liveness_ops {
    /* Take the lock. On failure close() undoes what was done. */
    enum weir_status (*open)(struct weir_liveness *self, struct weir_db *db,
                             struct weir_error *error);

    /* Without a round trip. */
    bool (*is_held)(struct weir_liveness *self);

    /* Is the lock of number {1} held, as seen from any connection? NULL: there is no
     * other place to look from. */
    const struct weir_sql *seen;

    /* A text to be asked on the session: does its server take writes? NULL: as above. */
    const char *writable;

    /* Rows of WEIR_PEERS, {1} is our number. NULL: asked on any connection, by the
     * plain one. */
    const struct weir_sql *peers;

    /* Does the current row of them say that its lock is held? */
    bool (*holds)(struct weir_liveness *self, struct weir_rows *rows, int64_t number);

    void (*close)(struct weir_liveness *self);
};

/* All rows of a process are written by one beat, and say the same. `held` may name
 * x.number. */
#define WEIR_PEERS(held)                                                                 \
    "SELECT x.number, x.name, x.library, x.alive_by, x.clock_off_us, x.ahead_us, " held  \
    " FROM (SELECT m.process AS number, max(m.name) AS name, max(m.library) AS library," \
    " max(m.alive_by) AS alive_by, max(m.clock_off_us) AS clock_off_us,"                 \
    " max(m.beat_us) - {now} AS ahead_us FROM {p}_member m"                              \
    " WHERE m.process <> {1} AND m.until_us > {now} GROUP BY m.process) x"

enum {
    WEIR_PEER_NUMBER,
    WEIR_PEER_NAME,
    WEIR_PEER_LIBRARY,
    WEIR_PEER_ALIVE_BY,
    WEIR_PEER_CLOCK_OFF,
    WEIR_PEER_AHEAD,
    WEIR_PEER_HELD
};

/* For the engines with a server: the session, and what its driver can tell of it; and
 * the column. */
enum weir_status weir_liveness_open_session(struct weir_liveness *self,
                                            struct weir_db *db, struct weir_error *error);
bool weir_liveness_has_session(struct weir_liveness *self);
bool weir_liveness_row_says(struct weir_liveness *self, struct weir_rows *rows,
                            int64_t number);
void weir_liveness_close_session(struct weir_liveness *self);

#endif
