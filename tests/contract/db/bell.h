/*
 * bell.h - a wake whose notifier has a worker, and another process that commits.
 *
 *   struct bell bell;
 *   struct neighbour neighbour;
 *
 *   neighbour_move_in(&neighbour, fixture);           first: it is forked
 *   bell_hang(&bell, fixture);
 *   neighbour_do(&neighbour, COMMIT_AND_TELL);
 *   wait_until(atomic_load(&bell.seen) == 1);         the worker has read so many rows
 *   bell_take_down(&bell);
 *   neighbour_move_out(&neighbour);
 *
 * The worker reads the table each time it is signalled and rewards the wake when something was
 * new. Nothing else reads it: what is seen was seen because of a signal.
 */
#ifndef WEIR_TEST_BELL_H
#define WEIR_TEST_BELL_H

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <weir/executor.h>
#include <weir/notifier.h>
#include <weir/time.h>
#include <weir/ward.h>

#include "contract/db/child.h"
#include "db/db.h"
#include "db/wake.h"
#include "lib/engines.h"

static const struct weir_sql SQL_COUNT = {
    .name = "count",
    .text = "SELECT count(*) FROM {p}_item",
    .parameters = "",
};

/* ---- the other process -------------------------------------------------------------------- */

enum order {
    COMMIT_AND_TELL = 'c', /* one row, with weir_wake_send() and weir_wake_signal() */
    COMMIT = 'q',          /* one row, without */
    ROLL_BACK = 'r',       /* one row and weir_wake_send(), all undone */
    TELL_ANOTHER = 'o'     /* weir_wake_send() to another channel */
};

struct neighbour {
    struct fixture *fixture;
    pid_t pid;
    int orders[2];
    int answers[2];
};

static inline enum weir_status neighbour_obey(struct weir_connection *connection,
                                              enum order order)
{
    enum weir_status status = WEIR_OK;

    if (order == TELL_ANOTHER)
        return weir_wake_send(connection, "another", NULL);
    status = weir_connection_begin(connection, NULL);
    if (status == WEIR_OK)
        status = weir_connection_execute_text(
            connection, "INSERT INTO {p}_item (name) VALUES ('x')", NULL);
    if (status == WEIR_OK && order != COMMIT)
        status = weir_wake_send(connection, "weir", NULL);
    if (status == WEIR_OK && order != ROLL_BACK)
        return weir_connection_commit(connection, NULL);
    weir_connection_rollback(connection);
    return status;
}

/* In the child: obey until the parent hangs up. A database that is gone is asked again. */
static inline int neighbour_live(void *argument)
{
    struct neighbour *self = argument;
    struct weir_db_options options = fixture_options(self->fixture);
    struct weir_db *db;
    char order;

    (void)close(self->orders[1]);
    if (weir_db_create(&options, &db, NULL) != WEIR_OK)
        return 1;
    while (read(self->orders[0], &order, 1) == 1) {
        struct weir_connection *connection;
        enum weir_status status;

        do {
            status = weir_db_acquire(db, &connection, NULL);
            if (status == WEIR_OK)
                status = neighbour_obey(connection, (enum order)order);
            weir_db_release(db, connection);
        } while (weir_status_class(status) == WEIR_CLASS_RETRY && usleep(5000) == 0);
        if (status != WEIR_OK)
            return 2;
        if (order == COMMIT_AND_TELL)
            weir_wake_signal(db, "weir");
        if (write(self->answers[1], &order, 1) != 1)
            return 3;
    }
    weir_db_destroy(db);
    return 0;
}

/* Before there is any thread in the test. */
static inline void neighbour_move_in(struct neighbour *self, struct fixture *fixture)
{
    self->fixture = fixture;
    check_int(pipe2(self->orders, O_CLOEXEC), 0);
    check_int(pipe2(self->answers, O_CLOEXEC), 0);
    self->pid = child_start(neighbour_live, self);
    (void)close(self->orders[0]);
    (void)close(self->answers[1]);
}

/* Give an order without waiting, and wait for the oldest one to be obeyed. */
static inline void neighbour_tell(struct neighbour *self, enum order order)
{
    char byte = (char)order;

    check_int(write(self->orders[1], &byte, 1), 1);
}

static inline void neighbour_await(struct neighbour *self)
{
    char byte;

    check_int(read(self->answers[0], &byte, 1), 1);
}

static inline void neighbour_do(struct neighbour *self, enum order order)
{
    neighbour_tell(self, order);
    neighbour_await(self);
}

static inline void neighbour_move_out(struct neighbour *self)
{
    (void)close(self->orders[1]);
    check_int(child_wait(self->pid), 0);
    (void)close(self->answers[0]);
}

/* ---- this process ------------------------------------------------------------------------- */

struct bell {
    struct weir_db *db; /* whose table the worker reads */
    struct weir_executor *executor;
    struct weir_ward *ward;
    struct weir_notifier *notifier;
    struct weir_wake *wake;
    _Atomic int64_t seen; /* rows */
};

static inline enum weir_status bell_ring(struct weir_context *context, void *state,
                                         struct weir_directive *out,
                                         struct weir_error *error)
{
    struct bell *self = state;
    struct weir_connection *connection;
    int64_t count = 0;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    (void)context;
    (void)out; /* preset to idle */
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &count,
                                               error);
    weir_db_release(self->db, connection);
    if (status == WEIR_OK && atomic_exchange(&self->seen, count) != count &&
        self->wake != NULL)
        weir_wake_reward(self->wake);
    return status;
}

/* The notifier, without a wake. */
static inline void bell_make(struct bell *self, struct weir_db *db)
{
    struct weir_executor_options executor;
    struct weir_ward_options ward = {.name = "bells"};

    *self = (struct bell){.db = db};
    weir_executor_options_init(&executor);
    executor.threads = 1;
    check_status(weir_executor_create(&executor, &self->executor, NULL), WEIR_OK);
    check_status(weir_ward_create(self->executor, &ward, &self->ward, NULL), WEIR_OK);
    check_status(weir_notifier_create(self->executor, &self->notifier), WEIR_OK);
}

static inline struct weir_wake_options bell_options(struct bell *self)
{
    struct weir_wake_options options;

    weir_wake_options_init(&options);
    options.db = self->db;
    options.notifier = self->notifier;
    return options;
}

/* The wake, and then the worker, which knows it. */
static inline void bell_start(struct bell *self, const struct weir_wake_options *options)
{
    struct weir_worker_options worker;
    struct weir_error error;

    check_status(weir_wake_start(options, &self->wake, &error), WEIR_OK);
    weir_worker_options_init(&worker);
    worker.name = "ringer";
    worker.action = bell_ring;
    worker.state = self;
    worker.notifiers = &self->notifier;
    worker.notifier_count = 1;
    worker.pace = weir_pace_none();
    check_status(weir_ward_spawn(self->ward, &worker, NULL, &error), WEIR_OK);
}

static inline struct weir_wake_info bell_info(struct bell *self)
{
    struct weir_wake_info info;

    weir_wake_read(self->wake, &info);
    return info;
}

/* Nothing is on its way to the worker: it stands in line. */
static inline bool bell_is_quiet(struct bell *self)
{
    return weir_notifier_waiting(self->notifier) == 1;
}

/* A bell with these polls. Where there are hints, it waits until they arrive. */
static inline void bell_hang(struct bell *self, struct weir_db *db, int64_t poll_ns)
{
    struct weir_wake_options options;

    bell_make(self, db);
    options = bell_options(self);
    options.poll_ns = poll_ns;
    bell_start(self, &options);
    if (weir_db_engine(db) != WEIR_MARIADB)
        wait_until(bell_info(self).listening);
    wait_until(bell_is_quiet(self));
}

static inline void bell_take_down(struct bell *self)
{
    check_int(weir_ward_stop(self->ward, WEIR_SECONDS(60)), 0);
    weir_wake_stop(self->wake);
    weir_ward_destroy(self->ward);
    weir_notifier_destroy(self->notifier);
    weir_executor_destroy(self->executor);
}

#endif
