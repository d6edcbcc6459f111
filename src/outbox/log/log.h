/*
 * log.h - the append-only log: the operation table of a storage engine.
 *
 * Producers append; delivering processes read pages in the log's order (log_position.h),
 * as often as they like; nothing is changed per message. The sweep removes what every
 * subscription has passed.
 *
 *   append() ... commit        advance(): makes what is committed readable, up to *head
 *        |                        |
 *   [ passed by all | read by some | readable | committed | running ]  ->  order
 *     ^ sweep()                             ^ head
 *
 * On PostgreSQL ids are taken before commit, so the order of ids is not the order of
 * commits: advance() *cuts* (design in postgres/log.c). On SQLite there is one writer
 * at a time and every committed row is readable. On MariaDB advance() *moves*
 * (mariadb/log.h).
 *
 * Rows that one slow reader still needs when all others are done are *set aside*: moved
 * to a small table that read() merges in by place, so readers see no difference.
 *
 * Threads  A log is read-only after open; any thread, each with a connection of its
 *          own. The sweep's state belongs to one worker.
 * Failure  As the database does. Every operation may be repeated after any failure.
 */
#ifndef WEIR_OUTBOX_LOG_LOG_H
#define WEIR_OUTBOX_LOG_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "db/connection.h"
#include "outbox/log/log_position.h"
#include "outbox/postgres/older_snapshots.h"
#include "outbox/schema.h"
#include "weir/message.h"

struct weir_cut_pace;
struct weir_log_ops;
struct weir_sweep_limits;

/* What is known of the storage, read once by open(). */
struct weir_outbox_log {
    const struct weir_log_ops *ops;
    uint32_t
        segment_bits; /* PostgreSQL: a segment holds 2^bits ids; from the meta table */
    struct weir_fault_points *points; /* for tests; NULL: none */
    const struct weir_sweep_limits
        *limits;                    /* likewise; NULL: those of postgres/sweep.h */
    struct weir_cut_pace *cut_pace; /* PostgreSQL; borrowed; NULL: one that cuts once */
};

/* One message to append: checked, its partition decided, its headers as JSON. All
 * borrowed. */
struct weir_log_entry {
    int64_t pid;
    uint8_t uid[WEIR_UID_SIZE];
    int64_t created_us;  /* for an engine without a clock of its own: SQLite */
    struct weir_str key; /* data NULL: none */
    struct weir_str type;
    struct weir_str headers; /* a JSON object of texts; data NULL: none */
    struct weir_str payload;
    int64_t id; /* out */
};

/* One message of a page. Views live for the call of the visitor. */
struct weir_log_row {
    struct weir_log_position log_position; /* behind this message */
    int64_t id;
    int64_t pid;
    struct weir_str uid; /* WEIR_UID_SIZE bytes */
    int64_t created_us;
    struct weir_str key; /* data NULL: none */
    struct weir_str type;
    struct weir_str headers; /* data NULL: none */
    struct weir_str payload;
};

/* Return anything but WEIR_OK to end the page with that status. */
typedef enum weir_status (*weir_log_row_fn)(void *state, const struct weir_log_row *row,
                                            struct weir_error *error);

/*
 * What was removed of a queue. `log_position` is behind everything that was ever
 * removed of it, in any partition; `count` changes whenever something is removed, also
 * when that was before the place.
 */
struct weir_removal {
    int64_t queue_id;
    struct weir_log_position log_position;
    int64_t count;
};

struct weir_page {
    /* in */
    struct weir_log_position after;
    const int64_t *pids; /* only these, ascending; NULL: all */
    size_t pid_count;
    struct weir_removal *removals; /* of these queues, ascending; the rest is out */
    size_t removal_count;
    uint32_t row_max;    /* at least 1 */
    int64_t payload_max; /* bytes; a first row is always given */
    weir_log_row_fn visit;
    void *state;
    /* out */
    struct weir_log_position
        end;      /* everything up to here was given; later than `after` unless... */
    bool at_head; /* ...there was nothing more to read */
    uint32_t rows;
};

struct weir_lag {
    int64_t pid;
    int64_t subscription;
    int64_t waiting;
    int64_t oldest_us; /* created_us of the oldest; 0: none */
    bool estimate;
};
typedef void (*weir_lag_fn)(void *state, const struct weir_lag *lag);

/*
 * What is asked for. To count exactly, `look_max` rows of the log may be looked at; when
 * `look_us` microseconds are over, no more than `look_sure`. 0: there is time.
 */
struct weir_lag_question {
    int64_t queue_id;
    int64_t look_max;
    int64_t look_sure;
    int64_t look_us;
};
enum {
    WEIR_LAG_LOOK_MAX = 1500000, /* more than PostgreSQL's segments have */
    WEIR_LAG_LOOK_FEW = 100000,  /* for callers in a hurry that need no exact number */
    WEIR_LAG_LOOK_SURE = 300000,
    WEIR_LAG_LOOK_US = 700000, /* for a person in front of a screen */
};

struct weir_sweep_report {
    int64_t removed;   /* rows */
    int64_t aside;     /* rows set aside */
    int64_t truncated; /* segments of the log, acks or cuts */
    bool more;         /* calling again at once makes sense */
};

/* PostgreSQL: what the sweep remembers from step to step, of this process alone. */
enum { WEIR_PG_SWEEP_STEPS = WEIR_LOG_LEAVES + 1 + WEIR_ACK_LEAVES + WEIR_CUT_LEAVES };
struct weir_pg_sweep_memory {
    struct weir_pg_older_snapshots older_snapshots;
    struct weir_pg_wait waits[WEIR_PG_SWEEP_STEPS];
    int64_t rest_ns[WEIR_LOG_LEAVES]; /* not looked at before that */
};

/* Ids of rows that nothing is to be done with until then. */
struct weir_sweep_stretch {
    int64_t first_id;
    int64_t last_id;
    int64_t until_ns;
};

/* Where a sweep is; zeroed at first. */
struct weir_sweep_state {
    int64_t cursor;
    uint32_t leaf;
    struct weir_sweep_stretch retained[2]; /* SQLite, MariaDB: of the log, aside */
    struct weir_pg_sweep_memory pg;
};

struct weir_log_ops {
    int64_t
        advance_max; /* rows that advance() makes readable at most; 0: all there are */

    /* Read what open() needs. NULL: nothing. WEIR_SCHEMA as weir_outbox_log_open(). */
    enum weir_status (*open)(struct weir_outbox_log *self,
                             struct weir_connection *connection,
                             struct weir_error *error);

    /* As weir_outbox_log_check() and weir_outbox_log_vet(). NULL: always. */
    enum weir_status (*check)(struct weir_connection *connection,
                              struct weir_error *error);
    enum weir_status (*vet)(struct weir_connection *connection, struct weir_error *error);

    /*
     * Append in order, inside the caller's transaction or, without one, atomically.
     * Fills in each entry's id. On PostgreSQL also notifies `channel` if a reader
     * sleeps. `count` is at least 1; splits large calls (in one transaction or
     * savepoint of its own) as need be.
     */
    enum weir_status (*append)(const struct weir_outbox_log *self,
                               struct weir_connection *connection,
                               struct weir_log_entry *entries, size_t count,
                               const char *channel, struct weir_error *error);

    /*
     * append() in a savepoint of its own, in one round trip if it fits into one
     * statement. Where append_saved() can be called now, can_append_saved() is true; it
     * sends nothing. After a failure nothing of the call is in the transaction, or the
     * transaction can only be rolled back, and the error says so. Both NULL: never.
     */
    bool (*can_append_saved)(struct weir_connection *connection);
    enum weir_status (*append_saved)(const struct weir_outbox_log *self,
                                     struct weir_connection *connection,
                                     struct weir_log_entry *entries, size_t count,
                                     const char *channel, struct weir_error *error);

    /*
     * Make what is committed readable. *head gets the newest readable place; *moved
     * whether it is later than `known`. Outside of any transaction. `may_cut` false:
     * only look what others have made readable. No more than `advance_max` at a time;
     * weir_log_catch_up() does all. On PostgreSQL a cut notifies `channel` (NULL:
     * none).
     */
    enum weir_status (*advance)(const struct weir_outbox_log *self,
                                struct weir_connection *connection,
                                struct weir_log_position known, bool may_cut,
                                const char *channel, struct weir_log_position *head,
                                bool *moved, struct weir_error *error);

    /*
     * "I watch the log, no notification is needed" (for a few seconds), or not any more:
     * notify_mode.h. Not transactional. NULL where producers never notify.
     */
    enum weir_status (*say_watching)(const struct weir_outbox_log *self,
                                     struct weir_connection *connection, bool watching,
                                     struct weir_error *error);

    /*
     * One page, outside of any transaction. The amount of work is bounded also when no
     * row matches: then rows is 0 and `end` has moved. `removals` are read in the
     * snapshot of the last rows, or a later one: a row that is missing in the page
     * because it was removed is counted in them. A page that looked at no row leaves
     * them as they are.
     */
    enum weir_status (*read)(const struct weir_outbox_log *self,
                             struct weir_connection *connection, struct weir_page *page,
                             struct weir_error *error);

    /* The start of a new subscription of this queue: behind the highest ever removed,
     * or now. Inside the transaction that subscribes, under the lock (subscription.c). */
    enum weir_status (*start)(const struct weir_outbox_log *self,
                              struct weir_connection *connection, int64_t queue_id,
                              bool now, struct weir_log_position *out,
                              struct weir_error *error);

    /*
     * Waiting messages for each (subscription, partition) of a queue that has any:
     * committed and not passed, also those that no cut has yet. Exact while
     * WEIR_LAG_EXACT_MAX wait, or less, over all its subscriptions, and no more than
     * `look_max` rows of the log have to be looked at for that; otherwise estimates,
     * but for positions close to the end.
     */
    enum weir_status (*lag)(const struct weir_outbox_log *self,
                            struct weir_connection *connection,
                            const struct weir_lag_question *question, weir_lag_fn visit,
                            void *state, struct weir_error *error);

    /* One bounded step: remove what all have passed, set aside, rotate, checkpoint.
     * Takes its own connections. */
    enum weir_status (*sweep)(const struct weir_outbox_log *self, struct weir_db *db,
                              struct weir_sweep_state *state,
                              struct weir_sweep_report *report, struct weir_error *error);
};

/* Choose the operations (engine.h) and read what they need. WEIR_SCHEMA: the database
 * was restored from another cluster. */
WEIR_CHECKED enum weir_status weir_outbox_log_open(struct weir_outbox_log *self,
                                                   struct weir_connection *connection,
                                                   struct weir_error *error);

/*
 * Before anything is done on a connection: does it still lead to the database that the
 * log was opened on? A process outlives its connections, and behind the same address
 * there may be a restored database by now. Asks once for each connection. WEIR_SCHEMA,
 * as open().
 */
WEIR_CHECKED enum weir_status weir_outbox_log_check(const struct weir_outbox_log *self,
                                                    struct weir_connection *connection,
                                                    struct weir_error *error);

/*
 * Before anything is delivered: is everything there that the tables speak of?
 * WEIR_SCHEMA: the database was restored from a dump with a hole (postgres/copy.h), and
 * the operator has not allowed it to deliver all the same.
 */
WEIR_CHECKED enum weir_status weir_outbox_log_vet(const struct weir_outbox_log *self,
                                                  struct weir_connection *connection,
                                                  struct weir_error *error);

/*
 * The oldest place from which everything of a queue is still there: behind whatever was
 * ever removed of it. A new subscription begins there, and none can go back further.
 * Inside a transaction that holds the lock of subscribing, or the sweep may raise it.
 */
WEIR_CHECKED enum weir_status weir_log_oldest(const struct weir_outbox_log *self,
                                              struct weir_connection *connection,
                                              int64_t queue_id,
                                              struct weir_log_position *out,
                                              struct weir_error *error);

/* advance() until everything is readable that was committed when it was called. */
WEIR_CHECKED enum weir_status weir_log_catch_up(const struct weir_outbox_log *self,
                                                struct weir_connection *connection,
                                                struct weir_log_position *head,
                                                struct weir_error *error);

#endif
