/*
 * wake_fixture.h - a wake whose notifier has a worker, and another process that commits.
 *
 *   struct wake_fixture bell;
 *   struct other_process neighbour;
 *
 *   other_process_move_in(&neighbour, fixture);           first: it is forked
 *   wake_fixture_hang(&bell, fixture);
 *   other_process_do(&neighbour, COMMIT_AND_TELL);
 *   wait_until(atomic_load(&bell.seen) == 1);         the worker has read so many rows
 *   wake_fixture_take_down(&bell);
 *   other_process_move_out(&neighbour);
 *
 * The worker reads the table each time it is signalled and rewards the wake when
 * something was new. Nothing else reads it: what is seen was seen because of a signal.
 */
#ifndef WEIR_TEST_WAKE_FIXTURE_H
#define WEIR_TEST_WAKE_FIXTURE_H

#include <dirent.h>
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
#include "kit/db/items.h"

/* ---- the other process ------------------------------------------------------------- */

enum order {
    COMMIT_AND_TELL = 'c', /* one row, with weir_wake_send() and weir_wake_signal() */
    COMMIT = 'q',          /* one row, without */
    ROLL_BACK = 'r',       /* one row and weir_wake_send(), all undone */
    TELL_ANOTHER = 'o'     /* weir_wake_send() to another channel */
};

struct other_process {
    struct fixture *fixture;
    pid_t pid;
    int orders[2];
    int answers[2];
};

static inline enum weir_status other_process_obey(struct weir_connection *connection,
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

/* In the child: obey until the parent hangs up. A database that is gone is asked
 * again. */
static inline int other_process_live(void *argument)
{
    struct other_process *self = argument;
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
                status = other_process_obey(connection, (enum order)order);
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
static inline void other_process_move_in(struct other_process *self,
                                         struct fixture *fixture)
{
    self->fixture = fixture;
    check_int(pipe2(self->orders, O_CLOEXEC), 0);
    check_int(pipe2(self->answers, O_CLOEXEC), 0);
    self->pid = child_start(other_process_live, self);
    (void)close(self->orders[0]);
    (void)close(self->answers[1]);
}

/* Give an order without waiting, and wait for the oldest one to be obeyed. */
static inline void other_process_tell(struct other_process *self, enum order order)
{
    char byte = (char)order;

    check_int(write(self->orders[1], &byte, 1), 1);
}

static inline void other_process_await(struct other_process *self)
{
    char byte;

    check_int(read(self->answers[0], &byte, 1), 1);
}

static inline void other_process_do(struct other_process *self, enum order order)
{
    other_process_tell(self, order);
    other_process_await(self);
}

static inline void other_process_move_out(struct other_process *self)
{
    (void)close(self->orders[1]);
    check_int(child_wait(self->pid), 0);
    (void)close(self->answers[0]);
}

/* ---- this process ------------------------------------------------------------------ */

struct wake_fixture {
    struct weir_db *db; /* whose table the worker reads */
    struct weir_executor *executor;
    struct weir_ward *ward;
    struct weir_notifier *notifier;
    struct weir_wake *wake;
    _Atomic int64_t seen; /* rows */
};

static inline enum weir_status wake_fixture_ring(struct weir_context *context,
                                                 void *state, struct weir_directive *out,
                                                 struct weir_error *error)
{
    struct wake_fixture *self = state;
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
static inline void wake_fixture_make(struct wake_fixture *self, struct weir_db *db)
{
    struct weir_executor_options executor;
    struct weir_ward_options ward = {.name = "bells"};

    *self = (struct wake_fixture){.db = db};
    weir_executor_options_init(&executor);
    executor.threads = 1;
    check_status(weir_executor_create(&executor, &self->executor, NULL), WEIR_OK);
    check_status(weir_ward_create(self->executor, &ward, &self->ward, NULL), WEIR_OK);
    check_status(weir_notifier_create(self->executor, &self->notifier), WEIR_OK);
}

static inline struct weir_wake_options wake_fixture_options(struct wake_fixture *self)
{
    struct weir_wake_options options;

    weir_wake_options_init(&options);
    options.db = self->db;
    options.notifier = self->notifier;
    return options;
}

/* The wake, and then the worker, which knows it. */
static inline void wake_fixture_start(struct wake_fixture *self,
                                      const struct weir_wake_options *options)
{
    struct weir_worker_options worker;
    struct weir_error error;

    check_status(weir_wake_start(options, &self->wake, &error), WEIR_OK);
    weir_worker_options_init(&worker);
    worker.name = "ringer";
    worker.action = wake_fixture_ring;
    worker.state = self;
    worker.notifiers = &self->notifier;
    worker.notifier_count = 1;
    worker.pace = weir_pace_none();
    check_status(weir_ward_spawn(self->ward, &worker, NULL, &error), WEIR_OK);
}

static inline struct weir_wake_info wake_fixture_info(struct wake_fixture *self)
{
    struct weir_wake_info info;

    weir_wake_read(self->wake, &info);
    return info;
}

/* Nothing is on its way to the worker: it stands in line. */
static inline bool wake_fixture_is_quiet(struct wake_fixture *self)
{
    return weir_notifier_waiting(self->notifier) == 1;
}

/* A bell with these polls. Where there are hints, it waits until they arrive. */
static inline void wake_fixture_hang(struct wake_fixture *self, struct weir_db *db,
                                     int64_t poll_ns)
{
    struct weir_wake_options options;

    wake_fixture_make(self, db);
    options = wake_fixture_options(self);
    options.poll_ns = poll_ns;
    wake_fixture_start(self, &options);
    if (weir_db_engine(db) != WEIR_MARIADB)
        wait_until(wake_fixture_info(self).listening);
    wait_until(wake_fixture_is_quiet(self));
}

static inline void wake_fixture_take_down(struct wake_fixture *self)
{
    check_int(weir_ward_stop(self->ward, WEIR_SECONDS(60)), 0);
    weir_wake_stop(self->wake);
    weir_ward_destroy(self->ward);
    weir_notifier_destroy(self->notifier);
    weir_executor_destroy(self->executor);
}

/* ---- measures ---------------------------------------------------------------------- */

static inline int64_t now_ms(void)
{
    return fixture_deadline() - 60000;
}

/* That this process has open. */
static inline int count_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    check(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count;
}

#endif
