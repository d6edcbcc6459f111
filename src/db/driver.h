/*
 * driver.h - the operation table of a database engine.
 *
 * Three tables exist, in sqlite/driver.c, postgres/driver.c and mariadb/driver.c. Above
 * them connection.c keeps the statement cache, checks parameters and knows about
 * transactions; a driver translates.
 *
 * A *link* is one connection as the driver sees it. Each driver embeds struct weir_link
 * as the first member of a struct of its own.
 *
 * Errors   Every slot that can fail returns a status chosen by the engine's error code,
 *          never by its text, and fills `error` (never NULL here) with status, native
 *          code, SQLSTATE where there is one, and a text that begins with what failed.
 *          The mapping is a table in each driver and in docs/internals/db.md. When the
 *          connection is gone the driver sets link->lost and returns WEIR_LOST; from
 *          then on only close() is called.
 * Threads  One flow of control at a time, except cancel().
 * Memory   From config->heap.
 */
#ifndef WEIR_DB_DRIVER_H
#define WEIR_DB_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/traits.h"
#include "db/url.h"
#include "db/value.h"
#include "weir/db.h"

struct weir_fault_points;
struct weir_server_key;
struct weir_write_waiters;

/* What all links of one database share. Lives in struct weir_db, borrowed by the
 * links. */
struct weir_link_config {
    const struct weir_heap *heap;
    const struct weir_log *log;
    struct weir_fault_points *points; /* for tests; NULL: none */
    /* SQLite; NULL: no waiter is woken when one ends */
    struct weir_write_waiters *writers;
    struct weir_server_key *server; /* MariaDB: kept by each new session; or NULL */
    const char *signal_folder;      /* MariaDB: of touch_file.h; NULL: no signals */
    struct weir_url url;
    int64_t statement_timeout_ns; /* 0: none */
    int64_t lock_timeout_ns;      /* 0: none */
    int64_t connect_timeout_ns;
    char memory_name[40]; /* SQLite in memory: what its connections share */
};

/*
 * Whose code runs inside a transaction. It decides how long the server lets the session
 * stand idle there before it ends it, and with it every lock that others wait for.
 */
enum weir_holder {
    WEIR_HELD_BY_LIBRARY,     /* WEIR_IDLE_MS_MAX */
    WEIR_HELD_BY_APPLICATION, /* what the administrator has set; often without end */
    WEIR_HELD_BY_HANDLER      /* lent_idle_us of the link */
};

/* Between two statements of the library itself nothing is done that takes time: a
 * process that needs so long has been stopped, or is gone. */
enum { WEIR_IDLE_MS_MAX = 2000 };

struct weir_link {
    const struct weir_driver *driver;
    const struct weir_link_config *config; /* borrowed */
    bool adopted; /* the application's: no setting is changed, nothing of ours stays on it
                   */
    bool lost;
    enum weir_holder holder; /* of begin(): whose transaction it will be */
    int64_t
        lent_idle_us; /* likewise: how long a handler's may stand idle, until the next */
    _Atomic bool cancelled; /* set by cancel() before it interrupts, cleared by run() */
};

/* The rows of one statement that has run. On the caller's stack. */
struct weir_cursor {
    void *prepared;      /* what was run */
    void *result;        /* the driver's */
    size_t row;          /* next row, where the driver counts them */
    size_t row_count;    /* likewise */
    size_t column_count; /* 0: a statement without rows */
    int64_t changed;     /* rows inserted, updated or deleted */
};

/* One of several statements that travel together. */
struct weir_driver_step {
    void *prepared;
    const struct weir_value *values; /* as many as the statement has parameters */
    int64_t changed;                 /* out */
};

/* Of run_saved: the savepoint, the statement, and the release. */
#define WEIR_SAVED_NAME "weir_call"
enum {
    WEIR_SAVED_BEGIN,
    WEIR_SAVED_RUN,
    WEIR_SAVED_END,
    WEIR_SAVED_STEP_COUNT,
};

enum weir_access { WEIR_READ_ONLY, WEIR_READ_WRITE };

enum weir_transaction_state {
    WEIR_TRANSACTION_NONE,
    WEIR_TRANSACTION_OPEN,
    WEIR_TRANSACTION_FAILED /* PostgreSQL: only a rollback is accepted */
};

/* One setting that may lose what was committed. */
struct weir_finding {
    const char *setting; /* "synchronous_commit" */
    const char *found;   /* "off" */
    const char *needed;  /* "on" */
};
typedef void (*weir_finding_fn)(void *state, const struct weir_finding *finding);

struct weir_driver {
    enum weir_engine engine;
    struct weir_engine_traits traits;

    /* Connect and set the session up: timeouts, UTC, isolation, encoding, journal mode.
     * Blocks up to connect_timeout. *out is NULL on failure. */
    enum weir_status (*open)(const struct weir_link_config *config,
                             struct weir_link **out, struct weir_error *error);

    /* Wrap the application's handle; sends nothing. Refuses what weir/db.h says. */
    enum weir_status (*adopt)(const struct weir_link_config *config, void *native,
                              struct weir_link **out, struct weir_error *error);

    /* Free the link; of an adopted one only what is ours. Never blocks for long. */
    void (*close)(struct weir_link *link);

    /*
     * Before close(): the owner of the database is done with it for good. SQLite:
     * whichever connection is the last of all puts the file in order, which may take as
     * long as writing what is in the log. NULL: nothing to do.
     */
    void (*retire)(struct weir_link *link);

    void *(*native)(struct weir_link *link);

    /* Is an idle link still there, as far as is known without a round trip? A link
     * that is not is marked lost. NULL: nothing is known. */
    bool (*alive)(struct weir_link *link);

    /* Run a text without parameters and without rows: BEGIN, SAVEPOINT, DDL. */
    enum weir_status (*exec)(struct weir_link *link, const char *text,
                             struct weir_error *error);

    /*
     * Prepare `text` (placeholders as in sql.h, already expanded); `parameters` are the
     * letters of sql.h. The result belongs to the link and is given up by unprepare()
     * before close(). A driver may postpone the round trip until the first run().
     * unprepare() sends nothing on a lost link.
     */
    enum weir_status (*prepare)(struct weir_link *link, const char *text,
                                const char *parameters, void **out,
                                struct weir_error *error);
    void (*unprepare)(struct weir_link *link, void *prepared);

    /*
     * Bind and execute. `values` were checked: as many as parameters, of their types or
     * null, within limits, text valid. On WEIR_OK *cursor stands before the first row
     * and must be finish()ed; on failure it needs nothing. One cursor of a link at a
     * time.
     */
    enum weir_status (*run)(struct weir_link *link, void *prepared,
                            const struct weir_value *values, struct weir_cursor *cursor,
                            struct weir_error *error);

    /* To the next row: WEIR_OK, WEIR_NO_ROW, or an error (then only finish() follows). */
    enum weir_status (*next)(struct weir_link *link, struct weir_cursor *cursor,
                             struct weir_error *error);

    /*
     * The value of a column of the current row, as `wanted` if it can be had as that
     * (any integer type is an INTEGER; 0 and 1 are a BOOLEAN; a text is readable as
     * BYTES), else as NULL with *fits false. A null fits everything; with `wanted` NULL
     * only a null fits. Views live until the next next() or finish(). No copying.
     */
    void (*read)(struct weir_cursor *cursor, size_t column, enum weir_type wanted,
                 struct weir_value *out, bool *fits);

    /* Give the cursor up; rows not read yet are dropped. */
    void (*finish)(struct weir_link *link, struct weir_cursor *cursor);

    /*
     * The same statement for many rows, in the engine's best way: PostgreSQL one
     * execution with arrays (the statement's letters are capitals and its text unnests
     * them), MariaDB bulk binding, SQLite a loop. `values` are row after row. All rows
     * or none inside a transaction. *changed gets the sum.
     */
    enum weir_status (*run_many)(struct weir_link *link, void *prepared,
                                 const struct weir_value *values, size_t row_count,
                                 size_t column_count, int64_t *changed,
                                 struct weir_error *error);

    /*
     * Several statements without rows, in order, in one round trip where the engine can
     * (PostgreSQL: pipeline). Stops at the first that fails; its index is *failed.
     */
    enum weir_status (*run_steps)(struct weir_link *link, struct weir_driver_step *steps,
                                  size_t step_count, size_t *failed,
                                  struct weir_error *error);

    /* Begin: READ COMMITTED, or SQLite's IMMEDIATE for writing and DEFERRED for
     * reading. How long it may be idle depends on link->holder. */
    enum weir_status (*begin)(struct weir_link *link, enum weir_access access,
                              struct weir_error *error);

    /*
     * begin() for writing and run() in one round trip. When either fails the
     * transaction is there and failed, or is not there: rollback() copes with both.
     * NULL: begin(), then run().
     */
    enum weir_status (*run_first)(struct weir_link *link, void *prepared,
                                  const struct weir_value *values,
                                  struct weir_cursor *cursor, struct weir_error *error);

    /*
     * Inside a transaction: a savepoint called WEIR_SAVED_NAME, a statement and the
     * release of the savepoint, in one round trip; as run() for the statement. After a
     * failure nothing of it is in the transaction, or the transaction can only be
     * rolled back. NULL: the engine has no such round trip.
     */
    enum weir_status (*run_saved)(struct weir_link *link,
                                  struct weir_driver_step steps[WEIR_SAVED_STEP_COUNT],
                                  struct weir_cursor *cursor, struct weir_error *error);

    /* After run_saved(): from now on the transaction can only be rolled back. NULL as
     * that. */
    void (*spoil)(struct weir_link *link);

    /*
     * run_steps() and commit() in one round trip; as commit() otherwise. *failed is the
     * number of steps when it was none of them. WEIR_LOST: the commit cannot have
     * happened. NULL: run_steps(), then commit().
     */
    enum weir_status (*commit_steps)(struct weir_link *link,
                                     struct weir_driver_step *steps, size_t step_count,
                                     size_t *failed, struct weir_error *error);

    /* Commit: a connection lost on the way is WEIR_IN_DOUBT; one that is known to be
     * lost before anything was sent is WEIR_LOST. Whatever is returned, there is no
     * transaction any more (the driver rolls back what could not be committed). */
    enum weir_status (*commit)(struct weir_link *link, struct weir_error *error);

    /* Roll back; on failure the link is lost. */
    void (*rollback)(struct weir_link *link);

    /* Without a round trip. */
    enum weir_transaction_state (*transaction)(struct weir_link *link);

    /*
     * The native handle goes into other hands, inside a transaction of ours, and comes
     * back. In between only we should end the transaction: an engine that can
     * refuse it does. reclaim() puts in order what was left behind. NULL: nothing to
     * do.
     */
    void (*lend)(struct weir_link *link);
    void (*reclaim)(struct weir_link *link);

    /*
     * The native handle was asked for, so any setting of the session may have changed.
     *
     * renew(): the savepoint of this name is set anew, and the session's user, role and
     * settings are ours again, as far as the engine can in the same round trip.
     * Constraints that were deferred are checked with the rights under which they were.
     * NULL: RELEASE, SAVEPOINT. regain(): the same behind a return to the savepoint.
     * NULL: the return does it. reset(): outside of a transaction, on the way back to
     * the pool: nothing of others is left, as in a new session. What was prepared
     * stays, unless `reset_forgets`: then the caller has given it up. On failure the
     * link is to be closed. NULL: nothing to do.
     */
    enum weir_status (*renew)(struct weir_link *link, const char *savepoint,
                              struct weir_error *error);
    enum weir_status (*regain)(struct weir_link *link, struct weir_error *error);
    enum weir_status (*reset)(struct weir_link *link, struct weir_error *error);
    bool reset_forgets;

    /*
     * While it is lent: can we use it? WEIR_FAILED: a statement of theirs has failed
     * the transaction, with the engine's own text; WEIR_LOST: it was left in a state in
     * which nothing can be sent. Without a round trip. NULL: always.
     */
    enum weir_status (*examine)(struct weir_link *link, struct weir_error *error);

    /* From any thread: interrupt what runs now. May block shortly; must not crash
     * whatever the link is doing. */
    void (*cancel)(struct weir_link *link);

    /* The database's clock, microseconds since 1970. SQLite: ours
     * (weir_clock_sleep.h). */
    enum weir_status (*clock)(struct weir_link *link, int64_t *out_us,
                              struct weir_error *error);

    /*
     * Run a text whose answer is one integer. When nothing comes for `wait_limit_ns`
     * the link is lost. On links of our own, outside of a transaction. NULL: there is
     * nothing to wait for.
     */
    enum weir_status (*ask)(struct weir_link *link, const char *text,
                            int64_t wait_limit_ns, int64_t *out,
                            struct weir_error *error);

    /* Look at the settings that decide whether a commit survives a crash; report each
     * that does not suffice. */
    enum weir_status (*durability)(struct weir_link *link, weir_finding_fn report,
                                   void *state, struct weir_error *error);
};

extern const struct weir_driver weir_driver_sqlite;
extern const struct weir_driver weir_driver_postgresql;
extern const struct weir_driver weir_driver_mariadb;

/*
 * For tests, in front of every call into a driver library that may fail from outside:
 * true when this one is to be treated as failed, with the connection lost ("db.lose")
 * or with an error ("db.fail"). Always false in release builds.
 */
enum weir_driver_fault { WEIR_NO_FAULT, WEIR_FAULT_LOSE, WEIR_FAULT_FAIL };
enum weir_driver_fault weir_driver_fault(const struct weir_link *link);

#endif
