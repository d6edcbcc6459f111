/*
 * log_fixture.h - a log with queues, subscriptions and positions, and somebody who
 * reads it.
 *
 * Queues, subscriptions and positions are written by plain SQL, so that the tests of
 * the log need nothing but the log. A message's payload is its number, from 1, as text.
 */
#ifndef WEIR_TEST_LOG_LOG_FIXTURE_H
#define WEIR_TEST_LOG_LOG_FIXTURE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/outbox/outbox_engines.h"
#include "outbox/log/log.h"

enum {
    LOG_FIXTURE_ROWS_MAX = 20000,
    LOG_FIXTURE_SEGMENT_BITS = 9,
    LOG_FIXTURE_LAGS_MAX = 256,
    LOG_FIXTURE_TEXT_SIZE = 24,
    LOG_FIXTURE_CREATED_US =
        1000000 /* of message 1, a microsecond later for each that follows;
                                  SQLite only: with a server it is the server's clock */
};

struct seen_row {
    struct weir_log_position log_position;
    int64_t id;
    int64_t pid;
    int64_t number; /* what the payload says */
    int64_t created_us;
};

/* What a reader was given. */
struct seen {
    struct seen_row rows[LOG_FIXTURE_ROWS_MAX];
    size_t count;
    struct weir_log_position end;
    int pages;
};

struct log_fixture {
    struct fixture *fixture;
    struct weir_connection *connection;
    struct weir_outbox_log log;
    int64_t numbers; /* messages appended so far */
};

/* ---- life ---- */

static inline struct log_fixture log_fixture_open(struct fixture *fixture)
{
    struct log_fixture self = {.fixture = fixture};

    outbox_small_segments(fixture, LOG_FIXTURE_SEGMENT_BITS);
    self.connection = fixture_take(fixture);
    check_db(weir_outbox_log_open(&self.log, self.connection, &fixture->error), WEIR_OK);
    return self;
}

static inline void log_fixture_close(struct log_fixture *self)
{
    fixture_give(self->fixture, self->connection);
}

/*
 * A test whose body has `fixture` and `log_fixture`, which is open, on the engines of
 * OUTBOX_TEST and its relatives.
 */
typedef void (*log_fixture_fn)(struct fixture *fixture, struct log_fixture *log_fixture);

static inline void log_fixture_run(struct fixture *fixture, log_fixture_fn body)
{
    struct log_fixture log_fixture = log_fixture_open(fixture);

    body(fixture, &log_fixture);
    log_fixture_close(&log_fixture);
}

#define LOG_BODY(subject, claim)                                                         \
    static void subject##__##claim##_log(                                                \
        __attribute__((unused)) struct fixture *fixture,                                 \
        __attribute__((unused)) struct log_fixture *log_fixture)

#define LOG_CASE(kind, subject, claim)                                                   \
    LOG_BODY(subject, claim);                                                            \
    kind(subject, claim)                                                                 \
    {                                                                                    \
        log_fixture_run(fixture, subject##__##claim##_log);                              \
    }                                                                                    \
    LOG_BODY(subject, claim)

#define LOG_TEST(subject, claim) LOG_CASE(OUTBOX_TEST, subject, claim)
#define LOG_SQLITE_TEST(subject, claim) LOG_CASE(OUTBOX_SQLITE_TEST, subject, claim)
#define LOG_POSTGRESQL_TEST(subject, claim)                                              \
    LOG_CASE(OUTBOX_POSTGRESQL_TEST, subject, claim)
#define LOG_MARIADB_TEST(subject, claim) LOG_CASE(OUTBOX_MARIADB_TEST, subject, claim)

/* ---- queues, subscriptions, positions ---- */

__attribute__((format(printf, 2, 3))) static inline void
log_fixture_execute(struct log_fixture *self, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fixture_execute(self->fixture, self->connection, text);
}

static inline void log_fixture_add_queue(struct log_fixture *self, int64_t id, int unread)
{
    log_fixture_execute(self,
                        "INSERT INTO {p}_queue (id, name, partitions, unread, created_us)"
                        " VALUES (%lld, 'q%lld', 64, %d, 0)",
                        (long long)id, (long long)id, unread);
}

static inline void log_fixture_add_subscription(struct log_fixture *self, int64_t id,
                                                int64_t queue)
{
    log_fixture_execute(
        self,
        "INSERT INTO {p}_subscription (id, queue, name, serving, created_us)"
        " VALUES (%lld, %lld, 's%lld', 0, 0)",
        (long long)id, (long long)queue, (long long)id);
}

/* PostgreSQL appends positions, the others replace them. */
static inline void log_fixture_set_position(struct log_fixture *self,
                                            int64_t subscription, int64_t pid,
                                            struct weir_log_position log_position)
{
    long long s = subscription;
    long long p = pid;
    long long cut = log_position.cut;
    long long id = log_position.id;

    if (self->fixture->engine != WEIR_POSTGRESQL)
        log_fixture_execute(self,
                            "REPLACE INTO {p}_ack (subscription, pid, version,"
                            " epoch, incarnation, cut, last_id, seq)"
                            " VALUES (%lld, %lld, 0, 0, '-', %lld, %lld, 0)",
                            s, p, cut, id);
    else
        log_fixture_execute(
            self,
            "INSERT INTO {p}_ack (subscription, pid, version, epoch,"
            " incarnation, cut, last_id, seq)"
            " SELECT %lld, %lld, coalesce(max(version), -1) + 1, 0, '-', %lld,"
            " %lld, 0 FROM {p}_ack"
            " WHERE subscription = %lld AND pid = %lld",
            s, p, cut, id, s, p);
}

/* For partitions 0 to count - 1 of a queue. */
static inline void log_fixture_set_positions(struct log_fixture *self,
                                             int64_t subscription, int64_t queue,
                                             int32_t count,
                                             struct weir_log_position log_position)
{
    for (int32_t i = 0; i < count; i++)
        log_fixture_set_position(self, subscription, weir_pid(queue, i), log_position);
}

/* ---- producing ---- */

/* Fill in the next messages, round robin over the first `partitions` of the queue. */
static inline struct weir_log_entry *log_fixture_draft(struct log_fixture *self,
                                                       size_t count, int64_t queue,
                                                       int32_t partitions)
{
    struct weir_log_entry *entries = calloc(count, sizeof *entries);
    char *texts = calloc(count, LOG_FIXTURE_TEXT_SIZE);

    check(entries != NULL && texts != NULL);
    for (size_t i = 0; i < count; i++) {
        char *text = texts + i * LOG_FIXTURE_TEXT_SIZE;
        int64_t number = ++self->numbers;

        (void)snprintf(text, LOG_FIXTURE_TEXT_SIZE, "%lld", (long long)number);
        entries[i] = (struct weir_log_entry){
            .pid = weir_pid(queue, (int32_t)((number - 1) % partitions)),
            .created_us = LOG_FIXTURE_CREATED_US + number - 1,
            .type = {"t", 1},
            .payload = {text, strlen(text)},
        };
        memcpy(entries[i].uid, &number, sizeof number);
    }
    return entries;
}

static inline void log_fixture_forget(struct weir_log_entry *entries)
{
    free((void *)(uintptr_t)entries[0].payload.data); /* the texts are side by side */
    free(entries);
}

static inline enum weir_status log_fixture_try_append(struct log_fixture *self,
                                                      struct weir_connection *connection,
                                                      struct weir_log_entry *entries,
                                                      size_t count)
{
    return self->log.ops->append(&self->log, connection, entries, count, "weir",
                                 &self->fixture->error);
}

/* Append the next messages in one call, in a transaction of its own; returns the last
 * id. */
static inline int64_t log_fixture_append(struct log_fixture *self, size_t count,
                                         int64_t queue, int32_t partitions)
{
    struct fixture *fixture = self->fixture;
    struct weir_log_entry *entries = log_fixture_draft(self, count, queue, partitions);
    int64_t id;

    check_db(log_fixture_try_append(self, self->connection, entries, count), WEIR_OK);
    id = entries[count - 1].id;
    log_fixture_forget(entries);
    return id;
}

/* Messages by plain SQL, where there are too many for log_fixture_append(): one a
 * microsecond, in turn for the first `partitions` of the queue. */
static inline void log_fixture_append_many(struct log_fixture *self,
                                           struct weir_connection *connection,
                                           int64_t queue, int32_t partitions, int count)
{
    static const char MESSAGE[] = "pid, created_us, uid, type, payload)";
    char numbers[160];
    char into[192];
    char text[640];

    if (self->fixture->engine == WEIR_SQLITE)
        (void)snprintf(numbers, sizeof numbers,
                       "(WITH RECURSIVE k(n) AS (SELECT 0 UNION ALL SELECT n + 1"
                       " FROM k LIMIT %d) SELECT n FROM k)",
                       count);
    else if (self->fixture->engine == WEIR_POSTGRESQL)
        (void)snprintf(numbers, sizeof numbers,
                       "generate_series(1, %d) AS k(i)"
                       " CROSS JOIN LATERAL (SELECT k.i - 1 AS n) m",
                       count);
    else
        (void)snprintf(numbers, sizeof numbers,
                       "(SELECT seq - 1 AS n FROM seq_1_to_%d) k", count);
    if (self->fixture->engine != WEIR_MARIADB)
        (void)snprintf(into, sizeof into, "INSERT INTO {p}_log (%s SELECT", MESSAGE);
    else if (weir_connection_transaction(connection) != WEIR_TRANSACTION_NONE)
        (void)snprintf(into, sizeof into,
                       "INSERT INTO {p}_incoming (era, id, %s SELECT (SELECT max(no) FROM"
                       " {p}_era), NEXT VALUE FOR {p}_incoming_id * 65536,",
                       MESSAGE);
    else /* as if they were moved */
        (void)snprintf(into, sizeof into,
                       "INSERT INTO {p}_log (id, source_id, %s SELECT (SELECT value FROM"
                       " {p}_counter WHERE name = 'head') + n + 1, n,",
                       MESSAGE);
    (void)snprintf(text, sizeof text,
                   "%s %lld + n %% %d, %d + n, '0123456789abcdef', 't', 'x' FROM %s",
                   into, (long long)weir_pid(queue, 0), (int)partitions,
                   LOG_FIXTURE_CREATED_US, numbers);
    fixture_execute(self->fixture, connection, text);
    if (self->fixture->engine == WEIR_MARIADB)
        fixture_execute(self->fixture, connection,
                        "UPDATE {p}_counter SET value = greatest(value,"
                        " (SELECT coalesce(max(id), 0) FROM {p}_log))"
                        " WHERE name IN ('head', 'published')");
}

/* ---- reading ---- */

static inline struct weir_log_position log_fixture_advance(struct log_fixture *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_log_position head = {0, 0};

    check_db(weir_log_catch_up(&self->log, self->connection, &head, &fixture->error),
             WEIR_OK);
    return head;
}

static inline enum weir_status
log_fixture_note(void *state, const struct weir_log_row *row, struct weir_error *error)
{
    struct seen *seen = state;
    char text[32] = "";

    (void)error;
    check(seen->count < LOG_FIXTURE_ROWS_MAX);
    memcpy(text, row->payload.data, row->payload.size < 31 ? row->payload.size : 31);
    seen->rows[seen->count++] = (struct seen_row){
        .log_position = row->log_position,
        .id = row->id,
        .pid = row->pid,
        .number = atoll(text),
        .created_us = row->created_us,
    };
    return WEIR_OK;
}

struct log_fixture_limits {
    uint32_t row_max;    /* 0: 1000 */
    int64_t payload_max; /* 0: no limit */
    const int64_t *pids;
    size_t pid_count;
};

static inline struct weir_page log_fixture_page(struct seen *seen,
                                                struct weir_log_position after,
                                                const struct log_fixture_limits *limits)
{
    return (struct weir_page){
        .after = after,
        .pids = limits->pids,
        .pid_count = limits->pid_count,
        .row_max = limits->row_max > 0 ? limits->row_max : 1000,
        .payload_max = limits->payload_max > 0 ? limits->payload_max : INT64_MAX,
        .visit = log_fixture_note,
        .state = seen,
    };
}

/* Page after page until the head. The result is free()d by the caller. */
static inline struct seen *log_fixture_read(struct log_fixture *self,
                                            struct weir_log_position after,
                                            const struct log_fixture_limits *limits)
{
    static const struct log_fixture_limits NO_LIMITS;
    struct fixture *fixture = self->fixture;
    struct seen *seen = calloc(1, sizeof *seen);
    struct weir_page page;

    check(seen != NULL);
    if (limits == NULL)
        limits = &NO_LIMITS;
    do {
        size_t before = seen->count;

        page = log_fixture_page(seen, after, limits);
        check_db(
            self->log.ops->read(&self->log, self->connection, &page, &fixture->error),
            WEIR_OK);
        check_int(page.rows, seen->count - before);
        check(page.rows <= page.row_max);
        check(page.at_head || weir_log_position_before(after, page.end));
        check(!weir_log_position_before(page.end, after));
        after = page.end;
        check(++seen->pages < 100000);
    } while (!page.at_head);
    seen->end = page.end;
    return seen;
}

static inline void check_same_rows(const struct seen *got, size_t got_first,
                                   const struct seen *want, size_t want_first)
{
    check_int(got->count - got_first, want->count - want_first);
    for (size_t i = 0; got_first + i < got->count; i++) {
        const struct seen_row *a = &got->rows[got_first + i];
        const struct seen_row *b = &want->rows[want_first + i];

        check_int(a->number, b->number);
        check_int(a->id, b->id);
        check_int(a->pid, b->pid);
        check_int(a->created_us, b->created_us);
        check(weir_log_position_equal(a->log_position, b->log_position));
    }
}

/* ---- the rest ---- */

/* PostgreSQL leaves the leaf alone that is being filled: fill the next one from now
 * on. */
static inline void log_fixture_turn_leaf(struct log_fixture *self)
{
    if (self->fixture->engine == WEIR_POSTGRESQL)
        log_fixture_execute(self,
                            "SELECT setval('{p}_log_id', ((last_value >> %d) + 1) << %d)"
                            " FROM {p}_log_id",
                            LOG_FIXTURE_SEGMENT_BITS, LOG_FIXTURE_SEGMENT_BITS);
}

/* One round: until it says that there is nothing more to do. Adds to `sum`. */
static inline void log_fixture_sweep_once(struct log_fixture *self,
                                          struct weir_sweep_report *sum)
{
    struct fixture *fixture = self->fixture;
    struct weir_sweep_state state = {0};
    struct weir_sweep_report report = {.more = true};

    for (int calls = 0; report.more; calls++) {
        check(calls < 10000);
        check_db(self->log.ops->sweep(&self->log, fixture->db, &state, &report,
                                      &fixture->error),
                 WEIR_OK);
        sum->removed += report.removed;
        sum->aside += report.aside;
        sum->truncated += report.truncated;
    }
}

/* Everything that can be removed or set aside now. Sums up. */
static inline struct weir_sweep_report log_fixture_sweep(struct log_fixture *self)
{
    struct weir_sweep_report sum = {0};

    for (int round = 0; round < 2; round++) {
        log_fixture_turn_leaf(self);
        log_fixture_sweep_once(self, &sum);
    }
    return sum;
}

struct seen_lags {
    struct weir_lag lags[LOG_FIXTURE_LAGS_MAX];
    size_t count;
};

static inline void log_fixture_note_lag(void *state, const struct weir_lag *lag)
{
    struct seen_lags *seen = state;

    check(seen->count < LOG_FIXTURE_LAGS_MAX);
    seen->lags[seen->count++] = *lag;
}

static inline struct seen_lags
log_fixture_ask_lag(struct log_fixture *self, const struct weir_lag_question *question)
{
    struct fixture *fixture = self->fixture;
    struct seen_lags seen = {.count = 0};

    check_db(self->log.ops->lag(&self->log, self->connection, question,
                                log_fixture_note_lag, &seen, &fixture->error),
             WEIR_OK);
    return seen;
}

/* However long it takes. */
static inline struct seen_lags log_fixture_lag(struct log_fixture *self, int64_t queue)
{
    const struct weir_lag_question question = {.queue_id = queue,
                                               .look_max = WEIR_LAG_LOOK_MAX};

    return log_fixture_ask_lag(self, &question);
}

/* All zero: none was told. */
static inline struct weir_lag log_fixture_lag_of(const struct seen_lags *seen,
                                                 int64_t subscription, int64_t pid)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->lags[i].subscription == subscription && seen->lags[i].pid == pid)
            return seen->lags[i];
    }
    return (struct weir_lag){0};
}

static inline int64_t log_fixture_stored(struct log_fixture *self)
{
    int64_t incoming =
        self->fixture->engine == WEIR_MARIADB
            ? fixture_ask(self->fixture, "SELECT count(*) FROM weir_incoming")
            : 0;

    return incoming + fixture_ask(self->fixture,
                                  "SELECT (SELECT count(*) FROM weir_log) +"
                                  " (SELECT count(*) FROM weir_aside)");
}

#endif
