/*
 * The order of PostgreSQL's log under load: nothing is lost, given twice or before what
 * it must follow, while many transactions of all kinds run and several processes' worth
 * of threads cut.
 *
 * Each message says how many transactions its writer knew to be committed when it was
 * appended. When it is read, the messages of all these must have been read before, in
 * its partition.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "db/clock.h"
#include "outbox/postgres/cut.h"
#include "pg_log.h"
#include "weir/time.h"

enum {
    WRITERS = 6,
    CUTTERS = 2,
    PARTITIONS = 4,
    TRANSACTIONS_MAX = 20000,
    RUN_MS = 3000,
};

enum kind {
    LARGE,
    HAS_ID_EARLY,
    APPENDS_SLOWLY,
    COMMITS_LATE,
    IS_UNDONE,
    SHORT,
    KINDS = 16
};

struct trial {
    struct fixture *fixture;
    struct weir_outbox_log log;
    struct weir_cut_pace pace; /* of all cutters */
    _Atomic int next;          /* transaction */
    _Atomic int running;
    _Atomic bool stop;
    _Atomic int failures;

    pthread_mutex_t lock; /* of the two below */
    _Atomic int order[TRANSACTIONS_MAX];
    _Atomic int committed; /* how many are in `order` */

    _Atomic uint8_t undone[TRANSACTIONS_MAX];
    _Atomic uint16_t
        appended[TRANSACTIONS_MAX][PARTITIONS];  /* by the writer, before it commits */
    uint16_t read[TRANSACTIONS_MAX][PARTITIONS]; /* by the reader */
    int complete[PARTITIONS]; /* so many of `order` are known to be read */
    int64_t rows;
};

/* ---- writers ----------------------------------------------------------------------- */

static enum weir_status append_some(struct trial *self,
                                    struct weir_connection *connection, int number,
                                    enum kind kind, struct weir_error *error)
{
    struct weir_outbox_log log = {.ops = &weir_log_postgresql};
    size_t count = kind == LARGE ? 200 : 1 + weir_clock_random() % 4;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        int partition = (int)(weir_clock_random() % PARTITIONS);
        char text[64];
        struct weir_log_entry entry;

        (void)snprintf(text, sizeof text, "%d %d", number, atomic_load(&self->committed));
        entry = pg_log_entry(64 + partition, text);
        status = log.ops->append(&log, connection, &entry, 1, NULL, error);
        self->appended[number][partition]++;
        if (kind == APPENDS_SLOWLY)
            (void)weir_clock_sleep(WEIR_MILLISECONDS(3));
    }
    return status;
}

static enum weir_status run_transaction(struct trial *self,
                                        struct weir_connection *connection, int number,
                                        enum kind kind, struct weir_error *error)
{
    enum weir_status status = weir_connection_begin(connection, error);

    if (status == WEIR_OK && kind == HAS_ID_EARLY) {
        status = weir_connection_execute_text(connection, "SELECT pg_current_xact_id()",
                                              error);
        (void)weir_clock_sleep(WEIR_MILLISECONDS(30));
    }
    if (status == WEIR_OK)
        status = append_some(self, connection, number, kind, error);
    if (kind == COMMITS_LATE)
        (void)weir_clock_sleep(WEIR_MILLISECONDS(150));
    if (status != WEIR_OK || kind == IS_UNDONE) {
        self->undone[number] = 1;
        weir_connection_rollback(connection);
        return status;
    }
    status = weir_connection_commit(connection, error);
    pthread_mutex_lock(&self->lock);
    self->order[self->committed] = number;
    self->committed++;
    pthread_mutex_unlock(&self->lock);
    return status;
}

static void *write_all_the_time(void *argument)
{
    struct trial *self = argument;
    struct weir_connection *connection = NULL;
    struct weir_error error;
    enum weir_status status = weir_db_acquire(self->fixture->db, &connection, &error);

    while (status == WEIR_OK && !self->stop) {
        int number = atomic_fetch_add(&self->next, 1);
        enum kind kind = (enum kind)(weir_clock_random() % KINDS);

        if (number >= TRANSACTIONS_MAX)
            break;
        status = run_transaction(self, connection, number, kind, &error);
    }
    if (status != WEIR_OK)
        self->failures++;
    weir_db_release(self->fixture->db, connection);
    self->running--;
    return NULL;
}

static void *cut_all_the_time(void *argument)
{
    struct trial *self = argument;
    struct weir_connection *connection = NULL;
    struct weir_error error;
    int64_t newest;
    enum weir_status status = weir_db_acquire(self->fixture->db, &connection, &error);

    while (status == WEIR_OK && self->running > 0)
        status = weir_pg_cut_catch_up(connection, &self->pace, NULL, &newest, &error);
    if (status != WEIR_OK)
        self->failures++;
    weir_db_release(self->fixture->db, connection);
    return NULL;
}

/* ---- the reader -------------------------------------------------------------------- */

static enum weir_status judge(void *state, const struct weir_log_row *row,
                              struct weir_error *error)
{
    struct trial *self = state;
    size_t partition = (size_t)(row->pid - 64);
    char text[64];
    int number = -1;
    int known = -1;

    (void)error;
    (void)snprintf(text, sizeof text, "%.*s", (int)row->payload.size, row->payload.data);
    check_int(sscanf(text, "%d %d", &number, &known), 2);
    check(!self->undone[number]);
    for (int *done = &self->complete[partition]; *done < known; ++*done) {
        int before = self->order[*done];

        if (self->read[before][partition] != self->appended[before][partition])
            weir_test_fail(__FILE__, __LINE__,
                           "transaction %d, which knew of %d, comes before it", number,
                           before);
    }
    self->read[number][partition]++;
    self->rows++;
    return WEIR_OK;
}

static void read_to_the_head(struct trial *self, struct weir_connection *connection,
                             struct weir_page *page)
{
    struct fixture *fixture = self->fixture;

    do {
        page->row_max = 1 + (uint32_t)(weir_clock_random() % 50);
        check_db(self->log.ops->read(&self->log, connection, page, &fixture->error),
                 WEIR_OK);
        page->after = page->end;
    } while (!page->at_head);
}

static void run_trial(struct fixture *fixture, bool paced)
{
    struct trial *trial = calloc(1, sizeof *trial);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_page page = {.payload_max = 100000, .visit = judge, .state = trial};
    int64_t end_ns = weir_clock_now_ns() + WEIR_MILLISECONDS(RUN_MS);
    pthread_t threads[WRITERS + CUTTERS];

    check(trial != NULL);
    outbox_small_segments(fixture, 6);
    trial->fixture = fixture;
    trial->log = pg_log_open(fixture);
    trial->pace.off = !paced;
    trial->running = WRITERS;
    check_int(pthread_mutex_init(&trial->lock, NULL), 0);
    for (size_t i = 0; i < WRITERS + CUTTERS; i++)
        check_int(pthread_create(&threads[i], NULL,
                                 i < WRITERS ? write_all_the_time : cut_all_the_time,
                                 trial),
                  0);
    while (trial->running > 0) {
        trial->stop = weir_clock_now_ns() > end_ns;
        read_to_the_head(trial, connection, &page);
    }
    for (size_t i = 0; i < WRITERS + CUTTERS; i++)
        check_int(pthread_join(threads[i], NULL), 0);
    (void)pg_log_cut(fixture);
    read_to_the_head(trial, connection, &page);

    check_int(trial->failures, 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), trial->rows);
    for (int i = 0; i < trial->next && i < TRANSACTIONS_MAX; i++) {
        for (size_t p = 0; p < PARTITIONS && !trial->undone[i]; p++)
            check_int(trial->read[i][p], trial->appended[i][p]);
    }
    pthread_mutex_destroy(&trial->lock);
    free(trial);
    fixture_give(fixture, connection);
}

OUTBOX_POSTGRESQL_TEST(order, holds_while_transactions_of_all_kinds_run)
{
    run_trial(fixture, true);
}

OUTBOX_POSTGRESQL_TEST(order, holds_when_cuts_wait_for_nothing)
{
    run_trial(fixture, false);
}
