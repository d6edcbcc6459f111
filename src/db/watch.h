/*
 * watch.h - how one engine hints that something was committed; the operation table behind
 * wake.h.
 *
 * A watch tells what it waits for, and the wake calls look() when that has come: so
 * nothing here holds up the polls, or stop(), while a server does not answer.
 *
 *            open()            look()              look()
 *   (none) ---------> connecting ------> ready ------------> ready, perhaps with a hint
 *              |           |               |
 *              +-----------+---------------+---> WEIR_LOST etc.: close(), open again
 *
 * Threads  The thread of the wake, all of it. Memory   From the database's heap.
 */
#ifndef WEIR_DB_WATCH_H
#define WEIR_DB_WATCH_H

#include "db/db.h"

struct weir_watch {
    const struct weir_watch_ops *ops;
    int fd;          /* look when this is ready; -1: it cannot be */
    short events;    /* for what, as in poll() */
    int64_t look_ns; /* look at this time in any case; WEIR_FOREVER: not needed */
    bool ready;      /* hints arrive; until then look() goes on with connecting */

    /* Set by the wake, if a caller asks for the content of hints: look() calls this
     * for each one that says something, instead of setting *hinted. */
    void (*heard)(void *state, const char *text);
    void *heard_state;
};

struct weir_watch_ops {
    bool hears_all; /* of every commit; false: polling stays adaptive although it is ready
                     */
    bool sees;      /* worth_polling() knows: true means that something has changed */

    /* Begin to listen, not necessarily ready yet. Waits for no server, only for the
     * resolver of names if there is one in between. *out is NULL on failure. */
    enum weir_status (*open)(struct weir_db *db, const char *channel,
                             struct weir_watch **out, struct weir_error *error);

    /* It is time, or the fd is ready: take what is there, say what to wait for next and
     * whether something was committed (*hinted is false before). A failure means: close
     * and open again. Does not block. */
    enum weir_status (*look)(struct weir_watch *self, int64_t now_ns, bool *hinted,
                             struct weir_error *error);

    /* It is time to poll: false when it can tell, for nothing, that nothing has
     * changed. Only when ready. */
    bool (*worth_polling)(struct weir_watch *self);

    void (*close)(struct weir_watch *self);

    /* Any thread, without a watch: something was committed; have the watches of other
     * processes look. Waits for nothing. WEIR_NO_ROW: there is no way to do it, and none
     * is missed. NULL: such a commit needs no signal. */
    enum weir_status (*signal)(struct weir_db *db, const char *channel,
                               struct weir_error *error);
};

extern const struct weir_watch_ops weir_watch_sqlite;
extern const struct weir_watch_ops weir_watch_postgresql;
extern const struct weir_watch_ops weir_watch_signal; /* MariaDB: by a file */

#endif
