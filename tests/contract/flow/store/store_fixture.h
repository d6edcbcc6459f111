/*
 * store_fixture.h - a store on the test's database, with a connection in a transaction,
 * and rows to fill it with.
 */
#ifndef WEIR_TEST_STORE_FIXTURE_H
#define WEIR_TEST_STORE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "execution/store/store.h"
#include "kit/execution/flow_engines.h"

enum { STORE_FIXTURE_LOADED_MAX = 20000 };

struct store_fixture {
    struct fixture *fixture;
    struct weir_connection *connection; /* in a transaction */
    struct weir_dictionary *dictionary;
    struct weir_store store;
    struct weir_execution_records records;
    int64_t now_us; /* when it was opened */
    int64_t lane;   /* "orders" */
    int64_t policy;
};

static inline struct weir_execution_policy store_fixture_policy(void)
{
    return (struct weir_execution_policy){
        .retries_max = 3,
        .backoff = WEIR_RETRY_FIXED,
        .backoff_initial_ms = 1500,
        .backoff_multiplier = 1.1,
        .backoff_max_ms = 60000,
        .attempt_timeout_ms = 7,
        .reclaims_max = WEIR_RECLAIMS_MAX_MAX,
        .replays_max = 10,
    };
}

static inline void store_fixture_begin(struct store_fixture *self)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_connection_begin(self->connection, &fixture->error), WEIR_OK);
}

static inline void store_fixture_commit(struct store_fixture *self)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_connection_commit(self->connection, &fixture->error), WEIR_OK);
}

static inline int64_t store_fixture_term(struct store_fixture *self,
                                         enum weir_term_kind kind, const char *text)
{
    struct fixture *fixture = self->fixture;
    int64_t number = -1;

    check_db(weir_dictionary_number(self->dictionary, self->connection, kind,
                                    weir_str(text), &number, &fixture->error),
             WEIR_OK);
    check(number > 0);
    return number;
}

static inline void store_fixture_open(struct store_fixture *self, struct fixture *fixture)
{
    struct weir_execution_policy policy = store_fixture_policy();

    *self =
        (struct store_fixture){.fixture = fixture, .connection = fixture_take(fixture)};
    check_db(weir_dictionary_create(&fixture->heap.heap, WEIR_TERMS_MAX,
                                    &self->dictionary, &fixture->error),
             WEIR_OK);
    check_db(weir_store_init(&self->store, &fixture->heap.heap, fixture->engine,
                             self->dictionary, &fixture->error),
             WEIR_OK);
    weir_execution_records_init(&self->records, &fixture->heap.heap,
                                STORE_FIXTURE_LOADED_MAX);
    check_db(weir_connection_clock(self->connection, &self->now_us, &fixture->error),
             WEIR_OK);
    self->lane = store_fixture_term(self, WEIR_TERM_LANE, "orders");
    check_db(weir_dictionary_policy_number(self->dictionary, self->connection, &policy,
                                           &self->policy, &fixture->error),
             WEIR_OK);
    store_fixture_begin(self);
}

static inline void store_fixture_close(struct store_fixture *self)
{
    if (weir_connection_transaction(self->connection) != WEIR_TRANSACTION_NONE)
        weir_connection_rollback(self->connection);
    weir_execution_records_fini(&self->records);
    weir_dictionary_destroy(self->dictionary);
    fixture_give(self->fixture, self->connection);
}

/* Ready, in the lane "orders"; the number makes it one of its own. */
static inline struct weir_new_execution
store_fixture_item(const struct store_fixture *self, uint32_t number)
{
    struct weir_new_execution item = {
        .id.partition = (uint16_t)(number % 7),
        .state = WEIR_EXEC_READY,
        .lane = self->lane,
        .policy = self->policy,
        .name_space = weir_str("default"),
        .kind = weir_str("mail"),
    };

    memcpy(item.id.uuid, &number, sizeof number);
    item.id.uuid[15] = 0x77;
    memcpy(item.digest, &number, sizeof number);
    return item;
}

static inline void store_fixture_insert(struct store_fixture *self,
                                        struct weir_new_execution *items, size_t count)
{
    struct fixture *fixture = self->fixture;
    struct weir_commit_batch *batch = NULL;

    check_db(weir_commit_batch_create(self->store.heap, &batch, &fixture->error),
             WEIR_OK);
    check_db(weir_store_insert(&self->store, self->connection, items, count, self->now_us,
                               batch, &fixture->error),
             WEIR_OK);
    check_db(weir_commit_batch_send(batch, self->connection, &fixture->error), WEIR_OK);
    weir_commit_batch_destroy(batch);
}

/* Now, and not with the commit. */
static inline enum weir_status store_rewrite(const struct weir_store *store,
                                             struct weir_connection *connection,
                                             struct weir_rewrite rewrite,
                                             struct weir_error *error)
{
    struct weir_commit_batch *batch = NULL;
    enum weir_status status = weir_commit_batch_create(store->heap, &batch, error);

    if (status == WEIR_OK)
        status = weir_store_rewrite(store, connection, &rewrite, batch, error);
    if (status == WEIR_OK)
        status = weir_commit_batch_send(batch, connection, error);
    weir_commit_batch_destroy(batch);
    return status;
}

static inline enum weir_status store_fixture_rewrite(struct store_fixture *self,
                                                     struct weir_rewrite rewrite)
{
    return store_rewrite(&self->store, self->connection, rewrite, &self->fixture->error);
}

/* One that is in `state` since forms that rules would give it; returns its number. */
static inline int64_t store_fixture_put(struct store_fixture *self, uint32_t number,
                                        struct weir_execution_row row)
{
    struct fixture *fixture = self->fixture;
    struct weir_new_execution item = store_fixture_item(self, number);
    struct weir_execution_record stored = {.row = row};

    store_fixture_insert(self, &item, 1);
    stored.row.no = item.no;
    check_db(store_fixture_rewrite(
                 self, (struct weir_rewrite){.rows = &stored, .row_count = 1}),
             WEIR_OK);
    return item.no;
}

static inline size_t store_fixture_load(struct store_fixture *self, int64_t no)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_store_load(&self->store, self->connection, &no, 1, &self->records,
                             &fixture->error),
             WEIR_OK);
    return self->records.count;
}

static inline size_t store_fixture_pick(struct store_fixture *self, size_t limit)
{
    struct fixture *fixture = self->fixture;
    const int64_t capability_set = 0;
    const struct weir_ready_query query = {&self->lane, 1,   &capability_set, 1, limit,
                                           false,       NULL};

    check_db(weir_store_pick_ready(&self->store, self->connection, &query, &self->records,
                                   &fixture->error),
             WEIR_OK);
    return self->records.count;
}

static inline size_t store_fixture_pick_due(struct store_fixture *self,
                                            const struct weir_due_query *query)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_store_pick_due(&self->store, self->connection, query, &self->records,
                                 &fixture->error),
             WEIR_OK);
    return self->records.count;
}

static inline int64_t store_fixture_next_due(struct store_fixture *self,
                                             const struct weir_due_query *query)
{
    struct fixture *fixture = self->fixture;
    struct weir_due_time next = {.due_us = -1};

    check_db(weir_store_next_due(self->connection, query, &next, &fixture->error),
             WEIR_OK);
    check(next.now_us >= self->now_us);
    return next.due_us;
}

/* Of all, however long it has been due. */
static inline int64_t store_fixture_first_due(struct store_fixture *self,
                                              struct weir_due_query query)
{
    query.now_us = 0;
    return store_fixture_next_due(self, &query);
}

static inline void store_fixture_is(struct weir_str got, const char *want)
{
    check(weir_str_equal(got, weir_str(want)));
}

#endif
