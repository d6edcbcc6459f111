/*
 * wake.h - hearing that another process has committed something.
 *
 * A wake signals a notifier when something may be new in the database. Polling is the
 * truth: the notifier is signalled every `poll_ns` at the latest, whatever happens
 * (unless it is known without asking that nothing has changed), so a hint that is
 * lost costs one poll interval and nothing else. Hints make it fast:
 *
 *   same process   weir_wake_hint(), directly
 *   PostgreSQL     NOTIFY, on a connection of its own that listens again when it was lost
 *   SQLite         inotify on the write-ahead log says when to look at its index, which
 *                  tells in memory whether there was a commit; so does the poll, and
 *                  signals only then. Processes with the library also signal by the side
 *                  file (sqlite/side_file.h)
 *   MariaDB        a signal from processes of the same host, by a file (touch_file.h);
 *                  and it polls, faster while there is something to do (as does
 *                  PostgreSQL behind a transaction pooler, where LISTEN is not possible)
 *
 * Threads  One of its own, which runs no user code. Calls from any thread; stop() needs
 *          the handle to itself. Not for simulations: there a poker is the poll.
 */
#ifndef WEIR_DB_WAKE_H
#define WEIR_DB_WAKE_H

#include "db/connection.h"
#include "weir/db.h"
#include "weir/notifier.h"

struct weir_wake;

/* What is known of that which may be new. */
struct weir_wake_news {
    bool blind;       /* nothing: it is time to look, that is all */
    const char *text; /* what a NOTIFY said; NULL: there was none, or many */
};

/* Called instead of a notifier, on any thread; does not wait. `news` is borrowed for
 * the call. */
typedef void (*weir_wake_fn)(void *state, const struct weir_wake_news *news);

struct weir_wake_options {
    struct weir_db *db;             /* borrowed until stop() */
    struct weir_notifier *notifier; /* borrowed until stop(); or */
    weir_wake_fn heard;             /* for waiters without an executor */
    void *heard_state;              /* borrowed until stop() */
    const char *channel;            /* 1 to 48 of a-z, 0-9 and _; copied */
    int64_t poll_ns;                /* 1 ms to 1 h; default 1 s */
    int64_t poll_min_ns; /* fastest adaptive polling; 100 us to poll_ns; default 2 ms */
};

struct weir_wake_info {
    uint64_t hints;      /* signals because of a hint */
    uint64_t polls;      /* signals because it was time */
    uint64_t reconnects; /* of the listening connection */
    bool listening;      /* hints can arrive */
};

void weir_wake_options_init(struct weir_wake_options *self);

/* Start the thread. Does not wait for a connection: until there is one it polls
 * adaptively. Fails with WEIR_INVALID, WEIR_NO_MEMORY or WEIR_SYSTEM; *out is then
 * NULL. */
WEIR_CHECKED enum weir_status weir_wake_start(const struct weir_wake_options *options,
                                              struct weir_wake **out,
                                              struct weir_error *error);

/* End the thread and forget it; waits for no server. NULL is fine. */
void weir_wake_stop(struct weir_wake *self);

/* Something is new, and we know it ourselves: signal now. */
void weir_wake_hint(struct weir_wake *self);

/* The last signal was worth it: where we poll adaptively, poll fast again. */
void weir_wake_reward(struct weir_wake *self);

void weir_wake_read(struct weir_wake *self, struct weir_wake_info *out);

/*
 * A condition for statements of PostgreSQL that notify in a transaction of the
 * application: it has not said SET LOCAL weir.notify = off, as one that is to be
 * prepared for two-phase commit must. The setting need not be declared; where it is not
 * set, or not any more, it is NULL or empty.
 */
#define WEIR_PG_MAY_NOTIFY                                                               \
    "lower(coalesce(current_setting('weir.notify', true), ''))"                          \
    " NOT IN ('off', 'false', 'no', '0')"

/*
 * Hint the wakes of other processes that listen on `channel`: PostgreSQL sends NOTIFY
 * when the connection's transaction commits, or at once without one. Nothing to do on
 * the others. weir_wake_signal() is for MariaDB and SQLite, and for after the commit: it
 * never waits, and a failure is only logged, once. Nothing to do on PostgreSQL.
 */
WEIR_CHECKED enum weir_status weir_wake_send(struct weir_connection *connection,
                                             const char *channel,
                                             struct weir_error *error);
void weir_wake_signal(struct weir_db *db, const char *channel);

#endif
