/*
 * Two or three sessions on PostgreSQL, step by step, in every order (weave.h).
 *
 * Producers, cutters, readers, owners of leases and the sweep each do what they do; whatever the
 * order of their steps, in the end:
 *
 *   - each committed message was delivered once, and none of a transaction that was rolled back;
 *   - messages of one transaction come in their order;
 *   - a message that was enqueued after a transaction had committed comes after that one's
 *     messages, in each partition;
 *   - who reads from the start again gets the same messages in the same order, so `seq` is
 *     the same and has no gap;
 *   - of two owners only one moves a position from one version to the next.
 *
 * A payload is "t k seen": the k-th message of transaction t, enqueued when so many transactions
 * had ended with a commit.
 *
 * Reading, acks, leases and the sweep are the product's. The cut is made here, statement by
 * statement, as cut_pg.c does it: the product sends its statements together and cannot be
 * stopped between them. It takes part as a whole in tests of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/point.h"
#include "db/db.h"
#include "lib/outbox_engines.h"
#include "lib/pg_outbox.h"
#include "lib/weave.h"
#include "outbox/ack.h"
#include "outbox/cut_pg.h"
#include "outbox/lease.h"
#include "outbox/read_pg.h"
#include "outbox/schema.h"
#include "outbox/sweep_pg.h"

enum {
    TRANSACTIONS_MAX = 16,
    DELIVERIES_MAX = 256,
    BITS = 6,
    SNAPSHOT_SIZE = 4096,
    SAMPLES = 100,
    OLD_OWNER = 111,
    NEW_OWNER = 222
};

/* ---- what was written, and what came out --------------------------------------------------- */

struct transaction {
    int count; /* of its messages */
    bool committed;
};

struct delivery {
    int64_t pid;
    int64_t id;
    int transaction;
    int k;
    int seen;
};

struct deliveries {
    struct delivery list[DELIVERIES_MAX];
    size_t count;
    struct weir_place place; /* behind the last */
};

/* A session of ours: a bare one and one of the product. */
struct session {
    struct world *world;
    PGconn *bare;
    struct weir_db *db;
    struct weir_connection *connection; /* held; the sweep's is not */
    struct weir_points points;
    struct weir_outbox_log log;
    struct deliveries got;
};

struct world {
    struct fixture fixture;
    PGconn *control;
    int64_t queue;
    int64_t pid;
    int64_t subscription;
    struct session sessions[WEAVE_STRANDS_MAX];
    struct strand strands[WEAVE_STRANDS_MAX];
    size_t strand_count;
    bool sweeps;
    struct weir_place start; /* where the readers begin */

    pthread_mutex_t
        lock; /* guards all that follows: a strand that waited runs beside others */
    struct transaction transactions[TRANSACTIONS_MAX];
    int transaction_count;
    int ended[TRANSACTIONS_MAX]; /* by commit, in that order */
    int ended_count;
    int accepted;
    bool taken_over;
    const char *problem;
};

static int begin_transaction(struct world *self)
{
    int t;

    pthread_mutex_lock(&self->lock);
    t = self->transaction_count++;
    pthread_mutex_unlock(&self->lock);
    check(t < TRANSACTIONS_MAX);
    return t;
}

static void end_transaction(struct world *self, int t)
{
    pthread_mutex_lock(&self->lock);
    self->transactions[t].committed = true;
    self->ended[self->ended_count++] = t;
    pthread_mutex_unlock(&self->lock);
}

/* One more message of a transaction. `id` 0: the next one. */
static void enqueue(struct session *self, int t, int64_t id)
{
    struct world *world = self->world;
    char column[32] = "nextval('weir_log_id')";
    int seen;
    int k;

    pthread_mutex_lock(&world->lock);
    seen = world->ended_count;
    k = world->transactions[t].count++;
    pthread_mutex_unlock(&world->lock);
    if (id != 0)
        (void)snprintf(column, sizeof column, "%lld", (long long)id);
    pg_run(self->bare,
           "INSERT INTO weir_log (id, partition, uid, type, payload)"
           " VALUES (%s, %lld, 'u', 't', convert_to('%d %d %d', 'UTF8'))",
           column, (long long)world->pid, t, k, seen);
}

/* The column order of the table puts the transaction's id first only if `id` is a default. */
static void enqueue_next(struct session *self, int t)
{
    pg_run(self->bare, "SELECT pg_current_xact_id()");
    enqueue(self, t, 0);
}

static enum weir_status deliver(void *state, const struct weir_log_row *row,
                                struct weir_error *error)
{
    struct deliveries *got = state;
    struct delivery *next = &got->list[got->count];
    char text[64];

    (void)error;
    if (got->count == DELIVERIES_MAX)
        return WEIR_FULL;
    (void)snprintf(text, sizeof text, "%.*s", (int)row->payload.size,
                   (const char *)row->payload.data);
    *next = (struct delivery){.pid = row->pid, .id = row->id};
    if (sscanf(text, "%d %d %d", &next->transaction, &next->k, &next->seen) != 3)
        return WEIR_INVALID;
    got->count++;
    return WEIR_OK;
}

/* Small pages, to the end. */
static void read_on(struct session *self, struct deliveries *got, uint32_t row_max)
{
    struct fixture *fixture = &self->world->fixture;
    struct weir_page page = {.at_head = false};

    while (!page.at_head) {
        page = (struct weir_page){.after = got->place,
                                  .row_max = row_max,
                                  .payload_max = 1000000,
                                  .visit = deliver,
                                  .state = got};
        check_db(weir_pg_read(&self->log, self->connection, &page, &fixture->error),
                 WEIR_OK);
        got->place = page.end;
    }
}

/* ---- the world ----------------------------------------------------------------------------- */

/* A server that keeps nothing, and knows transactions in two phases. */
static struct server *quick_server(void)
{
    static const char *const settings[] = {"fsync=off", "max_prepared_transactions=8",
                                           "jit=off", NULL};
    static struct server *server;

    if (server == NULL)
        server = server_create(WEIR_POSTGRESQL,
                               &(struct server_options){.settings = settings});
    return server;
}

static void open_session(struct world *world, struct session *self)
{
    struct weir_db_options options;
    struct fixture *fixture = &world->fixture;

    self->world = world;
    self->log = (struct weir_outbox_log){.segment_bits = BITS};
    self->bare = pg_outbox_connect(fixture);
    weir_points_init(&self->points);
    weir_db_options_init(&options);
    options.url = fixture->url;
    self->db = fixture_open(fixture, &options);
    check_db(weir_db_acquire(self->db, &self->connection, &fixture->error), WEIR_OK);
}

static void close_session(struct session *self)
{
    weir_db_release(self->db, self->connection);
    weir_db_destroy(self->db);
    PQfinish(self->bare);
}

static struct world *world_open(void)
{
    struct world *self = calloc(1, sizeof *self);
    struct fixture *fixture = &self->fixture;
    struct weir_db_options options;
    uint32_t from = 0;
    uint32_t to = 0;

    check(self != NULL);
    fixture->engine = WEIR_POSTGRESQL;
    fixture->server = quick_server();
    server_name_database(fixture->database, sizeof fixture->database);
    server_create_database(fixture->server, fixture->database);
    server_url(fixture->server, fixture->database, fixture->url, sizeof fixture->url);
    weir_faulty_heap_init(&fixture->heap);
    options = fixture_options(fixture);
    fixture->db = fixture_open(fixture, &options);
    check_db(weir_schema_migrate(&weir_outbox_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);
    outbox_small_segments(fixture, BITS);
    self->control = pg_outbox_connect(fixture);
    self->queue = pg_outbox_queue(self->control, "orders", 1);
    self->pid = weir_pid(self->queue, 0);
    self->subscription = pg_outbox_subscribe(self->control, self->queue, "s");
    pthread_mutex_init(&self->lock, NULL);
    for (size_t i = 0; i < WEAVE_STRANDS_MAX; i++)
        open_session(self, &self->sessions[i]);
    return self;
}

static void world_close(struct world *self)
{
    for (size_t i = 0; i < WEAVE_STRANDS_MAX; i++)
        close_session(&self->sessions[i]);
    PQfinish(self->control);
    weir_db_destroy(self->fixture.db);
    server_drop_database(self->fixture.server, self->fixture.database);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

/* As migrated, with the queue, the subscription and a lease that nobody holds. */
static void world_reset(struct world *self)
{
    pg_run(self->control,
           "BEGIN; DELETE FROM weir_log; DELETE FROM weir_aside; DELETE FROM weir_cut;"
           "DELETE FROM weir_ack; INSERT INTO weir_cut VALUES (0, 0, '1', '1:1:', 0, 0);"
           "INSERT INTO weir_ack (id, subscription, partition, version, epoch,"
           " incarnation, cut, last_id, seq) VALUES (1, %lld, %lld, 0, 0, '', 0, 0, 0);"
           "UPDATE weir_leaf SET emptied_cut = 0 WHERE emptied_cut <> 0;"
           "UPDATE weir_queue SET removed_cut = 0, removed_id = 0;"
           "UPDATE weir_lease SET owner = NULL, epoch = 0, until_us = 0, crashes = 0;"
           "SELECT setval('weir_log_id', 1, false), setval('weir_ack_id', 1); COMMIT",
           (long long)self->subscription, (long long)self->pid);
    memset(self->transactions, 0, sizeof self->transactions);
    self->transaction_count = 0;
    self->ended_count = 0;
    self->accepted = 0;
    self->taken_over = false;
    self->problem = NULL;
    self->start = (struct weir_place){0, 0};
    for (size_t i = 0; i < WEAVE_STRANDS_MAX; i++) {
        weir_points_init(&self->sessions[i].points);
        self->sessions[i].log.points = NULL;
        self->sessions[i].got.count = 0;
        self->sessions[i].got.place = self->start;
    }
}

static void use(struct world *self, strand_fn body)
{
    size_t i = self->strand_count++;
    struct session *session = &self->sessions[i];

    self->strands[i] = (struct strand){
        .body = body,
        .state = session,
        .backends = {PQbackendPID(session->bare),
                     PQbackendPID(weir_connection_native(session->connection))},
    };
}

/* ---- judging ------------------------------------------------------------------------------- */

static size_t count_of(const struct deliveries *got, size_t before, int t)
{
    size_t count = 0;

    for (size_t i = 0; i < before; i++)
        count += got->list[i].transaction == t;
    return count;
}

static const char *judge_delivery(const struct world *self, const struct deliveries *got,
                                  size_t at)
{
    const struct delivery *next = &got->list[at];

    if (!self->transactions[next->transaction].committed)
        return "a message of a transaction that was rolled back";
    if (count_of(got, at, next->transaction) != (size_t)next->k)
        return "a message twice, or a transaction out of order";
    for (int i = 0; i < next->seen; i++) {
        int earlier = self->ended[i];

        if (count_of(got, at, earlier) != (size_t)self->transactions[earlier].count)
            return "a message before one that was committed earlier";
    }
    return NULL;
}

static const char *judge(const struct world *self, const struct deliveries *got)
{
    const char *problem = self->problem;
    size_t expected = 0;

    for (size_t i = 0; i < got->count && problem == NULL; i++)
        problem = judge_delivery(self, got, i);
    for (int t = 0; t < self->transaction_count; t++)
        expected +=
            self->transactions[t].committed ? (size_t)self->transactions[t].count : 0;
    if (problem == NULL && got->count != expected)
        problem = "a message was not delivered";
    return problem;
}

static bool same(const struct deliveries *a, const struct deliveries *b)
{
    bool equal = a->count == b->count;

    for (size_t i = 0; i < a->count && equal; i++)
        equal = a->list[i].id == b->list[i].id;
    return equal;
}

static void report(struct world *self, const char *problem, const uint8_t *order,
                   size_t turns)
{
    char text[WEAVE_ORDER_MAX + 1];

    if (problem == NULL)
        return;
    weave_print(order, turns, text);
    weir_test_fail(__FILE__, __LINE__, "order %s: %s", text, problem);
    (void)self;
}

/* Everybody reads to the end, and a newcomer reads everything. */
static void judge_all(struct world *self, const uint8_t *order, size_t turns)
{
    struct deliveries *fresh = calloc(1, sizeof *fresh);
    const char *problem;

    check(fresh != NULL);
    (void)pg_outbox_cut(self->control);
    fresh->place = self->start;
    read_on(&self->sessions[0], fresh, 3);
    problem = judge(self, fresh);
    for (size_t i = 0; i < self->strand_count && problem == NULL; i++) {
        read_on(&self->sessions[i], &self->sessions[i].got, 3);
        if (!same(&self->sessions[i].got, fresh))
            problem = "who reads again gets something else";
    }
    free(fresh);
    report(self, problem, order, turns);
}

static void run_order(void *state, const uint8_t *order, size_t turns)
{
    struct world *self = state;

    world_reset(self);
    weave_run(self->strands, self->strand_count, self->control, order, turns);
    judge_all(self, order, turns);
}

/* ---- producers ----------------------------------------------------------------------------- */

/* The id of the transaction, the id of the message, the commit; then another transaction. */
static void writer(struct strand *strand)
{
    struct session *self = strand->state;
    int t = begin_transaction(self->world);

    pg_run(self->bare, "BEGIN");
    pg_run(self->bare, "SELECT pg_current_xact_id()");
    strand_step(strand);
    enqueue(self, t, 0);
    strand_step(strand);
    pg_run(self->bare, "COMMIT");
    end_transaction(self->world, t);
    strand_step(strand);
    t = begin_transaction(self->world);
    pg_run(self->bare, "BEGIN");
    enqueue_next(self, t);
    pg_run(self->bare, "COMMIT");
    end_transaction(self->world, t);
}

static void writer_that_gives_up(struct strand *strand)
{
    struct session *self = strand->state;
    int t = begin_transaction(self->world);

    pg_run(self->bare, "BEGIN");
    pg_run(self->bare, "SELECT pg_current_xact_id()");
    strand_step(strand);
    enqueue(self, t, 0);
    strand_step(strand);
    pg_run(self->bare, "ROLLBACK");
    t = begin_transaction(self->world);
    pg_run(self->bare, "BEGIN");
    enqueue_next(self, t);
    pg_run(self->bare, "COMMIT");
    end_transaction(self->world, t);
}

/* One message before the savepoint, one that is undone, one behind it. */
static void writer_with_savepoint(struct strand *strand)
{
    struct session *self = strand->state;
    int t = begin_transaction(self->world);

    pg_run(self->bare, "BEGIN; SAVEPOINT a");
    enqueue_next(self, t);
    pg_run(self->bare, "RELEASE a; SAVEPOINT b");
    enqueue(self, t, 0);
    strand_step(strand);
    pg_run(self->bare, "ROLLBACK TO b");
    self->world->transactions[t].count--;
    strand_step(strand);
    enqueue(self, t, 0);
    strand_step(strand);
    pg_run(self->bare, "COMMIT");
    end_transaction(self->world, t);
}

static void writer_in_two_phases(struct strand *strand)
{
    struct session *self = strand->state;
    int t = begin_transaction(self->world);

    pg_run(self->bare, "BEGIN");
    enqueue_next(self, t);
    strand_step(strand);
    pg_run(self->bare, "PREPARE TRANSACTION 'weave'");
    strand_step(strand);
    pg_run(self->bare, "COMMIT PREPARED 'weave'");
    end_transaction(self->world, t);
    strand_step(strand);
    t = begin_transaction(self->world);
    pg_run(self->bare, "BEGIN");
    enqueue_next(self, t);
    pg_run(self->bare, "COMMIT");
    end_transaction(self->world, t);
}

/* ---- cutting and reading ------------------------------------------------------------------- */

#define LAST_ID "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM weir_log_id"

/* A cut, each statement a step, then what it made readable. */
static void dispatcher(struct strand *strand)
{
    struct session *self = strand->state;
    char snapshot[SNAPSHOT_SIZE];
    PGresult *result;
    int64_t hi;
    int64_t own;
    int64_t top;

    pg_run(self->bare, "BEGIN ISOLATION LEVEL READ COMMITTED");
    pg_run(self->bare, "SELECT pg_advisory_xact_lock(hashtext('weir'), 1)");
    strand_step(strand);
    hi = pg_ask(self->bare, LAST_ID);
    strand_step(strand);
    own = pg_ask(self->bare, "SELECT pg_current_xact_id()");
    strand_step(strand);
    result = PQexec(self->bare, "SELECT pg_current_snapshot()");
    (void)snprintf(snapshot, sizeof snapshot, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    strand_step(strand);
    top = pg_ask(self->bare, LAST_ID);
    strand_step(strand);
    pg_run(self->bare,
           "INSERT INTO weir_cut SELECT max(no) + 1, %lld, '%lld', '%s', %lld, 0"
           " FROM weir_cut",
           (long long)hi, (long long)own, snapshot, (long long)top);
    pg_run(self->bare, "COMMIT");
    strand_step(strand);
    read_on(self, &self->got, 1);
}

/* The product's, twice: as a whole, but for the places where it talks to the server. */
static void product_dispatcher(struct strand *strand)
{
    struct session *self = strand->state;
    struct fixture *fixture = &self->world->fixture;
    bool made;

    for (int i = 0; i < 2; i++) {
        check_db(weir_pg_cut_make(self->connection, NULL, &made, &fixture->error),
                 WEIR_OK);
        strand_step(strand);
        read_on(self, &self->got, 1);
        strand_step(strand);
    }
}

WEIR_TEST(interleavings, of_a_writer_and_a_dispatcher)
{
    struct world *world = world_open();

    use(world, writer);
    use(world, dispatcher);
    weave_all((const uint8_t[]){4, 7}, 2, run_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_a_writer_that_gives_up_and_a_dispatcher)
{
    struct world *world = world_open();

    use(world, writer_that_gives_up);
    use(world, dispatcher);
    weave_all((const uint8_t[]){3, 7}, 2, run_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_a_writer_with_a_savepoint_and_a_dispatcher)
{
    struct world *world = world_open();

    use(world, writer_with_savepoint);
    use(world, dispatcher);
    weave_all((const uint8_t[]){4, 7}, 2, run_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_a_writer_in_two_phases_and_a_dispatcher)
{
    struct world *world = world_open();

    use(world, writer_in_two_phases);
    use(world, dispatcher);
    weave_all((const uint8_t[]){4, 7}, 2, run_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_two_writers_and_a_dispatcher)
{
    struct world *world = world_open();

    use(world, writer);
    use(world, writer);
    use(world, dispatcher);
    weave_some((const uint8_t[]){4, 4, 7}, 3, SAMPLES, 11, run_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_a_writer_and_two_dispatchers)
{
    struct world *world = world_open();

    use(world, writer);
    use(world, dispatcher);
    use(world, dispatcher);
    weave_some((const uint8_t[]){4, 7, 7}, 3, SAMPLES, 12, run_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_two_writers_and_the_products_dispatcher)
{
    struct world *world = world_open();

    use(world, writer);
    use(world, writer_with_savepoint);
    use(world, product_dispatcher);
    weave_some((const uint8_t[]){4, 4, 4}, 3, SAMPLES, 13, run_order, world);
    world_close(world);
}

/* ---- the sweep ----------------------------------------------------------------------------- */

enum { LEAF_ROWS = 61, READ_ROWS = 57, TAKEN_ID = 62 };

/*
 * Leaf 0 with ids 1 to 61 in cut 1, of which all but four are passed; id 62 is taken by a
 * transaction that has not inserted yet (session 0); the sequence is far in leaf 1, where
 * there are two more messages; acks are appended to their second leaf.
 */
static void prepare_leaf(struct world *self)
{
    struct session *filler = &self->sessions[1];
    int t = begin_transaction(self); /* 0: session 0's */

    pg_run(filler->bare, "BEGIN");
    pg_run(filler->bare,
           "INSERT INTO weir_log (partition, uid, type, payload)"
           " SELECT %lld, 'u', 't', 'passed' FROM generate_series(1, %d)",
           (long long)self->pid, READ_ROWS);
    t = begin_transaction(self);
    for (int i = READ_ROWS; i < LEAF_ROWS; i++)
        enqueue_next(filler, t);
    pg_run(filler->bare, "COMMIT");
    end_transaction(self, t);
    pg_run(self->sessions[0].bare, "BEGIN");
    check_int(pg_ask(self->sessions[0].bare,
                     "SELECT nextval('weir_log_id') FROM pg_current_xact_id()"),
              TAKEN_ID);
    pg_run(self->control,
           "SELECT setval('weir_log_id', 70), setval('weir_ack_id', 65536)");
    (void)pg_outbox_cut(self->control);
    t = begin_transaction(self);
    pg_run(filler->bare, "BEGIN");
    enqueue_next(filler, t);
    enqueue_next(filler, t);
    pg_run(filler->bare, "COMMIT");
    end_transaction(self, t);
    (void)pg_outbox_cut(self->control);
    self->start = (struct weir_place){0, READ_ROWS};
    pg_run(self->control, "UPDATE weir_ack SET cut = 0, last_id = %d", READ_ROWS);
    for (size_t i = 0; i < WEAVE_STRANDS_MAX; i++)
        self->sessions[i].got.place = self->start;
}

/* Uses the id that it took before everything began. */
static void writer_with_old_id(struct strand *strand)
{
    struct session *self = strand->state;
    int t = 0;

    enqueue(self, t, TAKEN_ID);
    strand_step(strand);
    pg_run(self->bare, "COMMIT");
    end_transaction(self->world, t);
    strand_step(strand);
    t = begin_transaction(self->world);
    pg_run(self->bare, "BEGIN");
    enqueue_next(self, t);
    pg_run(self->bare, "COMMIT");
    end_transaction(self->world, t);
}

static void nobody(struct strand *strand)
{
    struct session *self = strand->state;

    pg_run(self->bare, "ROLLBACK");
}

static void sweeper(struct strand *strand)
{
    static const char *const places[] = {"sweep.judged", "sweep.refused", "sweep.locked",
                                         "sweep.aside", "sweep.truncated"};
    struct session *self = strand->state;
    struct fixture *fixture = &self->world->fixture;
    struct weir_sweep_state state = {0};
    struct weir_sweep_report swept = {.more = true};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        strand_arm(strand, &self->points, places[i]);
    self->log.points = &self->points;
    weir_db_release(self->db, self->connection);
    while (swept.more)
        check_db(weir_pg_sweep(&self->log, self->db, &state, &swept, &fixture->error),
                 WEIR_OK);
    self->log.points = NULL;
    check_db(weir_db_acquire(self->db, &self->connection, &fixture->error), WEIR_OK);
}

/* Page by page; each call to the server is a step. */
static void reader(struct strand *strand)
{
    struct session *self = strand->state;

    strand_arm(strand, &self->points, "db.fail");
    weir_db_set_points(self->db, &self->points);
    read_on(self, &self->got, 2);
    weir_db_set_points(self->db, NULL);
}

static void run_sweep_order(void *state, const uint8_t *order, size_t turns)
{
    struct world *self = state;

    world_reset(self);
    prepare_leaf(self);
    weave_run(self->strands, self->strand_count, self->control, order, turns);
    judge_all(self, order, turns);
}

WEIR_TEST(interleavings, of_a_writer_and_the_sweep)
{
    struct world *world = world_open();

    use(world, writer_with_old_id);
    use(world, sweeper);
    weave_all((const uint8_t[]){3, 7}, 2, run_sweep_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_a_writer_a_dispatcher_and_the_sweep)
{
    struct world *world = world_open();

    use(world, writer_with_old_id);
    use(world, dispatcher);
    use(world, sweeper);
    weave_some((const uint8_t[]){3, 7, 7}, 3, SAMPLES, 14, run_sweep_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_a_reader_and_the_sweep)
{
    struct world *world = world_open();

    use(world, nobody);
    use(world, reader);
    use(world, sweeper);
    weave_some((const uint8_t[]){1, 12, 7}, 3, SAMPLES, 15, run_sweep_order, world);
    world_close(world);
}

/* ---- acks ---------------------------------------------------------------------------------- */

static struct weir_lease_key key_of(const struct world *world)
{
    return (struct weir_lease_key){.subscription = world->subscription,
                                   .pid = world->pid};
}

static int64_t take_lease(struct session *self, int64_t owner)
{
    struct fixture *fixture = &self->world->fixture;
    struct weir_lease lease = {0};
    size_t taken = 0;

    check_db(weir_lease_take(self->connection, owner, self->world->subscription, 60000000,
                             NULL, 0, &lease, 1, &taken, &fixture->error),
             WEIR_OK);
    return taken == 1 ? lease.epoch : 0;
}

/* Move the position by one message. `after_takeover` says that nobody may be accepted. */
static void move_position(struct session *self, int64_t owner, int64_t epoch,
                          struct weir_position position)
{
    struct world *world = self->world;
    struct weir_ack ack = {.key = key_of(world), .epoch = epoch, .next = position};
    bool stale;

    pthread_mutex_lock(&world->lock);
    stale = owner == OLD_OWNER && world->taken_over;
    pthread_mutex_unlock(&world->lock);
    ack.next.version++;
    ack.next.place.id++;
    ack.next.seq++;
    if (weir_ack_move(self->connection, owner, &ack, 1, NULL) != WEIR_OK)
        world->problem = "an ack failed";
    pthread_mutex_lock(&world->lock);
    world->accepted += ack.accepted;
    if (stale && ack.accepted)
        world->problem = "a stale ack was accepted";
    pthread_mutex_unlock(&world->lock);
}

/* Has the lease, and the position as it was. */
static void old_owner(struct strand *strand)
{
    struct session *self = strand->state;
    struct weir_position position = {.place = self->world->start};

    strand_arm(strand, &self->points, "db.fail");
    weir_db_set_points(self->db, &self->points);
    move_position(self, OLD_OWNER, 1, position);
    position.version++;
    position.place.id++;
    position.seq++;
    move_position(self, OLD_OWNER, 1, position);
    weir_db_set_points(self->db, NULL);
}

/* Finds the lease over, takes it, reads the position and moves it. */
static void new_owner(struct strand *strand)
{
    struct session *self = strand->state;
    struct world *world = self->world;
    struct weir_position position;
    int64_t epoch;

    pg_run(self->bare, "UPDATE weir_lease SET until_us = 0");
    strand_arm(strand, &self->points, "db.fail");
    weir_db_set_points(self->db, &self->points);
    epoch = take_lease(self, NEW_OWNER);
    if (epoch != 0) {
        pthread_mutex_lock(&world->lock);
        world->taken_over = true;
        pthread_mutex_unlock(&world->lock);
        if (weir_ack_read(self->connection, key_of(world), &position, NULL) != WEIR_OK)
            world->problem = "the position was not there";
        else
            move_position(self, NEW_OWNER, epoch, position);
    }
    weir_db_set_points(self->db, NULL);
}

/* As many versions as accepted moves, and the newest has counted them. */
static void judge_acks(struct world *self, const uint8_t *order, size_t turns)
{
    int64_t newest = pg_ask(self->control, "SELECT max(version) FROM weir_ack");
    int64_t seq =
        pg_ask(self->control, "SELECT seq FROM weir_ack ORDER BY version DESC LIMIT 1");
    const char *problem = self->problem;

    if (problem == NULL && newest != self->accepted)
        problem = "versions and accepted moves differ";
    if (problem == NULL && seq != newest)
        problem = "seq has a gap or was counted twice";
    report(self, problem, order, turns);
}

static void run_ack_order(void *state, const uint8_t *order, size_t turns)
{
    struct world *self = state;

    world_reset(self);
    check_int(take_lease(&self->sessions[2], OLD_OWNER), 1);
    weave_run(self->strands, self->strand_count, self->control, order, turns);
    judge_acks(self, order, turns);
}

static void run_ack_and_sweep_order(void *state, const uint8_t *order, size_t turns)
{
    struct world *self = state;
    struct weir_place place;
    char want[PG_OUTBOX_LIST_SIZE];
    char got[PG_OUTBOX_LIST_SIZE];

    world_reset(self);
    prepare_leaf(self);
    pg_run(self->sessions[0].bare, "ROLLBACK");
    check_int(take_lease(&self->sessions[2], OLD_OWNER), 1);
    pg_outbox_list(self->control, self->pid, self->start, want);
    weave_run(self->strands, self->strand_count, self->control, order, turns);
    judge_acks(self, order, turns);
    place = pg_outbox_place(self->control, self->subscription, self->pid);
    pg_outbox_list(self->control, self->pid, place, got);
    if (strlen(got) > strlen(want) ||
        strcmp(want + strlen(want) - strlen(got), got) != 0 ||
        place.id - READ_ROWS != self->accepted || strstr(got, "2:72") == NULL)
        report(self, "a message that was not passed is gone", order, turns);
}

WEIR_TEST(interleavings, of_an_owner_and_its_successor)
{
    struct world *world = world_open();

    use(world, old_owner);
    use(world, new_owner);
    weave_some((const uint8_t[]){12, 12}, 2, 2 * SAMPLES, 16, run_ack_order, world);
    world_close(world);
}

/* A reply was lost and the same moves are sent once more, by the same owner. */
WEIR_TEST(interleavings, of_acks_and_their_repetition)
{
    struct world *world = world_open();

    use(world, old_owner);
    use(world, old_owner);
    weave_some((const uint8_t[]){12, 12}, 2, SAMPLES, 19, run_ack_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_an_owner_and_the_sweep)
{
    struct world *world = world_open();

    use(world, old_owner);
    use(world, sweeper);
    weave_some((const uint8_t[]){10, 7}, 2, SAMPLES, 17, run_ack_and_sweep_order, world);
    world_close(world);
}

WEIR_TEST(interleavings, of_two_owners_and_the_sweep)
{
    struct world *world = world_open();

    use(world, old_owner);
    use(world, new_owner);
    use(world, sweeper);
    weave_some((const uint8_t[]){10, 10, 7}, 3, SAMPLES, 18, run_ack_and_sweep_order,
               world);
    world_close(world);
}
