/*
 * lease_fixture.h - what tests of leases and acks begin with: partitions of a
 * subscription, straight into the tables, and a look at them from outside.
 */
#ifndef WEIR_TEST_LEASE_FIXTURE_H
#define WEIR_TEST_LEASE_FIXTURE_H

#include <stdarg.h>
#include <stdio.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "kit/alloc_failures.h"
#include "kit/outbox/outbox_engines.h"
#include "outbox/delivery/ack.h"
#include "outbox/lease/lease.h"

enum { LEASE_FIXTURE_PARTITIONS_MAX = 64, LEASE_FIXTURE_CALLS_MAX = 200 };

#define SUBSCRIPTION INT64_C(3)
#define QUEUE INT64_C(2)
#define PID(n) weir_pid(QUEUE, (n))
#define KEY(n) ((struct weir_lease_key){SUBSCRIPTION, PID(n)})

#define MINUTE_US INT64_C(60000000)
#define ANNA INT64_C(7001) /* two processes */
#define BERT INT64_C(-7002)

/* A subscription with so many partitions, positions at {4, 100}. */
static inline void lease_fixture_open(struct fixture *fixture, int32_t partitions)
{
    struct weir_lease_key keys[LEASE_FIXTURE_PARTITIONS_MAX];
    struct weir_connection *connection = fixture_take(fixture);

    for (int32_t i = 0; i < partitions; i++)
        keys[i] = KEY(i);
    check_db(weir_lease_begin(connection, keys, (size_t)partitions, &fixture->error),
             WEIR_OK);
    check_db(weir_ack_begin(connection, keys, (size_t)partitions,
                            (struct weir_log_position){4, 100}, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
}

/* An integer, from outside. */
__attribute__((format(printf, 2, 3))) static inline int64_t
lease_fixture_ask(struct fixture *fixture, const char *format, ...)
{
    char sql[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    return fixture_ask(fixture, sql);
}

static inline int64_t lease_fixture_lease(struct fixture *fixture, const char *column,
                                          int32_t n)
{
    return lease_fixture_ask(fixture, "SELECT %s FROM weir_lease WHERE pid = %d", column,
                             (int)PID(n));
}

/* Its time is over. */
static inline void lease_fixture_expire(struct fixture *fixture, int32_t n)
{
    (void)lease_fixture_ask(fixture, "UPDATE weir_lease SET until_us = 1 WHERE pid = %d",
                            (int)PID(n));
}

/* It was taken before a standby was promoted. */
static inline void lease_fixture_promote(struct fixture *fixture, int32_t n)
{
    (void)lease_fixture_ask(fixture,
                            "UPDATE weir_lease SET incarnation = 'before' WHERE pid = %d",
                            (int)PID(n));
}

static inline size_t lease_fixture_take(struct fixture *fixture, int64_t owner,
                                        struct weir_lease *out, size_t count)
{
    struct weir_connection *connection = fixture_take(fixture);
    size_t taken = 99;

    check_db(weir_lease_take(connection, owner, SUBSCRIPTION, MINUTE_US, NULL, 0, out,
                             count, &taken, &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    return taken;
}

/* Somebody waits for a lock (PostgreSQL: of this database). */
static inline bool lease_fixture_somebody_waits(struct fixture *fixture)
{
    return fixture_ask(fixture,
                       fixture_choose(fixture, "",
                                      "SELECT count(*) FROM pg_stat_activity"
                                      " WHERE wait_event_type = 'Lock'"
                                      " AND datname = current_database()",
                                      "SELECT variable_value FROM information_schema."
                                      "global_status WHERE variable_name ="
                                      " 'INNODB_ROW_LOCK_CURRENT_WAITS'")) > 0;
}

/* Somebody who may do nothing but what is granted. To be destroyed. */
static inline struct weir_db *lease_fixture_guest(struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);
    char url[SERVER_URL_SIZE];

    server_url_as(fixture->server, SERVER_GUEST, SERVER_GUEST_PASSWORD, fixture->database,
                  url, sizeof url);
    options.url = url;
    return fixture_open(fixture, &options);
}

/* ---- faults ------------------------------------------------------------------------ */

typedef enum weir_status (*lease_fixture_work_fn)(struct weir_connection *connection,
                                                  struct weir_error *error);

/* All or nothing, as the status says; and back to the beginning. */
typedef void (*lease_fixture_judge_fn)(struct fixture *fixture, enum weir_status status);

static inline enum weir_status lease_fixture_work_on(struct weir_db *db,
                                                     lease_fixture_work_fn work,
                                                     struct weir_error *error)
{
    struct weir_connection *connection;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = work(connection, error);
    weir_db_release(db, connection);
    return status;
}

/* The n-th call of a driver fails, for n until none does. Returns how many there were. */
static inline uint64_t lease_fixture_sweep_calls(struct fixture *fixture,
                                                 const char *point,
                                                 lease_fixture_work_fn work,
                                                 lease_fixture_judge_fn judge)
{
    uint64_t at = 1;
    uint64_t clean = 0;

    for (; clean < 4; at++) {
        struct weir_db_options options = fixture_options(fixture);
        struct weir_faulty_heap heap;
        struct weir_fault_points points;
        struct weir_db *db;
        enum weir_status status;
        int64_t left_over;

        check(at < LEASE_FIXTURE_CALLS_MAX);
        weir_faulty_heap_init(&heap);
        options.heap = &heap.heap;
        db = fixture_open(fixture, &options);
        weir_fault_points_init(&points);
        weir_fault_points_arm_once(&points, point, at);
        weir_db_set_fault_points(db, &points);

        status = lease_fixture_work_on(db, work, &fixture->error);

        wait_until(fixture_is_unlocked(fixture, "weir_lease"));
        judge(fixture, status);
        weir_db_destroy(db);
        left_over = heap.outstanding;
        check_int(left_over, 0);
        clean = status == WEIR_OK ? clean + 1 : 0;
    }
    return at - clean;
}

#endif
