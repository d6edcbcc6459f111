/*
 * The catalog: queues and subscriptions, made once by whoever comes first.
 */
#include <pthread.h>
#include <string.h>

#include "contract/outbox/lease/lease_fixture.h"
#include "outbox/queue/catalog.h"

/* A connection with the log of its database. */
struct client {
    struct fixture *fixture;
    struct weir_connection *connection;
    struct weir_outbox_log log;
};

static void client_open(struct client *self, struct fixture *fixture)
{
    memset(self, 0, sizeof *self);
    self->fixture = fixture;
    self->connection = fixture_take(fixture);
    check_db(weir_outbox_log_open(&self->log, self->connection, &fixture->error),
             WEIR_OK);
}

static void client_close(struct client *self)
{
    check_int(weir_connection_transaction(self->connection), WEIR_TRANSACTION_NONE);
    fixture_give(self->fixture, self->connection);
}

static struct weir_queue_options orders(int32_t partitions)
{
    return (struct weir_queue_options){.name = "orders", .partitions = partitions};
}

static struct weir_queue_row add_orders(struct client *self, int32_t partitions)
{
    struct fixture *fixture = self->fixture;
    struct weir_queue_options options = orders(partitions);
    struct weir_queue_row row;

    check_db(weir_catalog_add_queue(self->connection, &options, &row, &fixture->error),
             WEIR_OK);
    return row;
}

/* Without the wait for others that weir_queue_remove() has between the two. */
static enum weir_status remove_marked(const struct weir_outbox_log *log,
                                      struct weir_connection *connection,
                                      const char *name, bool force,
                                      struct weir_error *error)
{
    int64_t queue_id = 0;
    enum weir_status status =
        weir_catalog_mark(log, connection, name, force, 60000000, &queue_id, error);

    return status == WEIR_OK ? weir_catalog_remove(log, connection, name, force, error)
                             : status;
}

static int64_t subscribe(struct client *self, const struct weir_queue_row *queue,
                         const char *name, enum weir_start start)
{
    struct fixture *fixture = self->fixture;
    int64_t id = 0;

    check_db(weir_catalog_subscribe(&self->log, self->connection, queue, name,
                                    WEIR_SERVED_BY_HANDLER, start, &id, &fixture->error),
             WEIR_OK);
    check(id > 0);
    return id;
}

static void enqueue(struct client *self, int64_t pid)
{
    struct fixture *fixture = self->fixture;
    struct weir_log_entry entry = {.pid = pid,
                                   .created_us = 1,
                                   .type = weir_str("order"),
                                   .payload = weir_str("one")};

    check_db(self->log.ops->append(&self->log, self->connection, &entry, 1, "weir",
                                   &fixture->error),
             WEIR_OK);
}

static void add_waiting(void *state, const struct weir_lag *lag)
{
    *(int64_t *)state += lag->waiting;
}

static int64_t waiting(struct client *self, int64_t queue)
{
    struct fixture *fixture = self->fixture;
    int64_t sum = 0;

    check_db(self->log.ops->lag(&self->log, self->connection,
                                &(struct weir_lag_question){
                                    .queue_id = queue, .look_max = WEIR_LAG_LOOK_MAX},
                                add_waiting, &sum, &fixture->error),
             WEIR_OK);
    return sum;
}

/* Its only subscription passes everything: behind the end of time. */
static void pass_everything(struct fixture *fixture)
{
    (void)fixture_ask(fixture, "UPDATE weir_ack SET last_id = 9000000, cut = 1000000");
}

/* ---- queues ------------------------------------------------------------------------ */

OUTBOX_TEST(catalog, makes_a_queue_and_finds_it)
{
    struct weir_queue_options options = orders(8);
    struct weir_queue_row made, found;
    struct client client;

    client_open(&client, fixture);
    options.unread = WEIR_UNREAD_DROP;
    options.backlog_max = INT64_C(1) << 40;

    check_db(weir_catalog_add_queue(client.connection, &options, &made, &fixture->error),
             WEIR_OK);

    check_db(
        weir_catalog_find_queue(client.connection, "orders", &found, &fixture->error),
        WEIR_OK);
    check_int(found.id, made.id);
    check_int(found.partitions, 8);
    check(!found.paused);
    check_int(found.unread, WEIR_UNREAD_DROP);
    check_int(found.backlog_max, INT64_C(1) << 40);
    check_int(made.partitions, 8);
    check(fixture_ask(fixture, "SELECT created_us FROM weir_queue") >
          INT64_C(1000000000000000));
    client_close(&client);
}

OUTBOX_TEST(catalog, makes_a_queue_once)
{
    struct weir_queue_row first, second;
    struct client client;

    client_open(&client, fixture);
    first = add_orders(&client, 4);
    second = add_orders(&client, 4);

    check_int(second.id, first.id);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_queue"), 1);
    client_close(&client);
}

OUTBOX_TEST(catalog, refuses_another_number_of_partitions_with_both_in_the_text)
{
    struct weir_queue_options options = orders(4);
    struct weir_queue_row row;
    struct client client;

    client_open(&client, fixture);
    (void)add_orders(&client, 8);
    options.backlog_max = 7;

    check_db(weir_catalog_add_queue(client.connection, &options, &row, &fixture->error),
             WEIR_MISMATCH);

    check_str(fixture->error.text,
              "queue \"orders\" has 8 partitions, not 4 as asked for");
    check_int(fixture_ask(fixture, "SELECT backlog_max FROM weir_queue"), 0);
    client_close(&client);
}

OUTBOX_TEST(catalog, brings_other_options_of_a_queue_up_to_date)
{
    struct weir_queue_options options = orders(4);
    struct weir_queue_row row;
    struct client client;

    client_open(&client, fixture);
    (void)add_orders(&client, 4);
    options.unread = WEIR_UNREAD_DROP;
    options.backlog_max = 7;

    check_db(weir_catalog_add_queue(client.connection, &options, &row, &fixture->error),
             WEIR_OK);

    check_int(row.backlog_max, 7);
    check_int(fixture_ask(fixture, "SELECT backlog_max FROM weir_queue"), 7);
    check_int(fixture_ask(fixture, "SELECT unread FROM weir_queue"), WEIR_UNREAD_DROP);
    client_close(&client);
}

OUTBOX_TEST(catalog, keeps_policies_of_a_queue_that_are_not_named)
{
    struct weir_queue_options options = orders(4);
    struct weir_queue_row row;
    struct client client;

    client_open(&client, fixture);
    options.unread = WEIR_UNREAD_DROP;
    options.backlog_max = 7;
    options.attempts_max = 5;
    options.dead_letter_retention_ns = WEIR_SECONDS(60);
    options.retain_ns = WEIR_SECONDS(90);
    check_db(weir_catalog_add_queue(client.connection, &options, &row, &fixture->error),
             WEIR_OK);

    options = orders(4);
    options.attempts_max = 9;
    check_db(weir_catalog_add_queue(client.connection, &options, &row, &fixture->error),
             WEIR_OK);

    check_int(row.attempts_max, 9);
    check_int(row.unread, WEIR_UNREAD_DROP);
    check_int(row.backlog_max, 7);
    check_int(row.retention_us, 60000000);
    check_int(row.retain_us, 90000000);
    check_int(fixture_ask(fixture, "SELECT backlog_max FROM weir_queue"), 7);
    client_close(&client);
}

OUTBOX_TEST(catalog, changes_a_policy_to_none_when_it_is_named)
{
    struct weir_queue_options options = orders(4);
    struct weir_queue_change change;
    struct weir_queue_row row;
    struct client client;

    client_open(&client, fixture);
    options.backlog_max = 7;
    options.attempts_max = 5;
    check_db(weir_catalog_put_queue(client.connection, WEIR_CATALOG_ADD, &options, &row,
                                    &change, &fixture->error),
             WEIR_OK);
    check(change.added);
    check_int(change.changed, 0);

    options = orders(0);
    options.named = WEIR_POLICY_BACKLOG_MAX;
    check_db(weir_catalog_put_queue(client.connection, WEIR_CATALOG_SET, &options, &row,
                                    &change, &fixture->error),
             WEIR_OK);

    check(!change.added);
    check_int(change.changed, WEIR_POLICY_BACKLOG_MAX);
    check_int(change.before.backlog_max, 7);
    check_int(change.now.backlog_max, 0);
    check_int(change.now.attempts_max, 5);
    check_int(change.now.partitions, 4);
    check_int(fixture_ask(fixture, "SELECT backlog_max FROM weir_queue"), 0);
    client_close(&client);
}

OUTBOX_TEST(catalog, does_not_find_a_queue_that_is_not_there)
{
    struct weir_queue_row row;
    struct client client;

    client_open(&client, fixture);

    check_db(weir_catalog_find_queue(client.connection, "orders", &row, &fixture->error),
             WEIR_NOT_FOUND);

    check_str(fixture->error.text, "there is no queue \"orders\"");
    client_close(&client);
}

OUTBOX_TEST(catalog, finds_a_queue_inside_a_transaction)
{
    struct weir_queue_row row;
    struct client client;

    client_open(&client, fixture);
    (void)add_orders(&client, 4);
    check_db(weir_connection_begin(client.connection, &fixture->error), WEIR_OK);
    check_db(weir_catalog_find_queue(client.connection, "none", &row, &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_catalog_find_queue(client.connection, "orders", &row, &fixture->error),
             WEIR_OK);
    check_db(weir_connection_commit(client.connection, &fixture->error), WEIR_OK);
    client_close(&client);
}

OUTBOX_TEST(catalog, pauses_and_resumes_a_queue)
{
    struct weir_queue_row row;
    struct client client;

    client_open(&client, fixture);
    (void)add_orders(&client, 4);

    check_db(weir_catalog_pause(client.connection, "orders", true, &fixture->error),
             WEIR_OK);
    check_db(weir_catalog_find_queue(client.connection, "orders", &row, &fixture->error),
             WEIR_OK);
    check(row.paused);
    check_db(weir_catalog_pause(client.connection, "orders", false, &fixture->error),
             WEIR_OK);
    check_db(weir_catalog_find_queue(client.connection, "orders", &row, &fixture->error),
             WEIR_OK);
    check(!row.paused);
    check_db(weir_catalog_pause(client.connection, "none", true, &fixture->error),
             WEIR_NOT_FOUND);
    client_close(&client);
}

/* ---- subscriptions ----------------------------------------------------------------- */

OUTBOX_TEST(catalog, gives_a_subscription_a_position_and_a_lease_for_each_partition)
{
    struct weir_stored_position position;
    struct weir_queue_row queue;
    struct client client;
    int64_t id;

    client_open(&client, fixture);
    queue = add_orders(&client, 64);

    id = subscribe(&client, &queue, "default", WEIR_START_BEGINNING);

    for (int32_t i = 0; i < 64; i++) {
        struct weir_lease_key key = {id, weir_pid(queue.id, i)};

        check_db(weir_ack_read(client.connection, key, &position, &fixture->error),
                 WEIR_OK);
        check_int(position.version, 0);
        check_int(position.seq, 0);
        check_int(position.log_position.id, 0);
    }
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease WHERE owner IS NULL"),
              64);
    client_close(&client);
}

OUTBOX_TEST(catalog, finds_a_subscription_that_is_there)
{
    struct weir_queue_row queue;
    struct client client;
    int64_t first, again, other;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    first = subscribe(&client, &queue, "default", WEIR_START_BEGINNING);

    again = subscribe(&client, &queue, "default", WEIR_START_NOW);
    other = subscribe(&client, &queue, "audit", WEIR_START_NOW);

    check_int(again, first);
    check(other != first);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease"), 4);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_ack"), 4);
    client_close(&client);
}

OUTBOX_TEST(catalog, refuses_a_subscription_that_is_served_by_the_other_kind)
{
    struct weir_queue_row queue;
    struct client client;
    int64_t id = -1;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    (void)subscribe(&client, &queue, "default", WEIR_START_BEGINNING);

    check_db(weir_catalog_subscribe(&client.log, client.connection, &queue, "default",
                                    WEIR_SERVED_BY_SINK, WEIR_START_BEGINNING, &id,
                                    &fixture->error),
             WEIR_MISMATCH);

    check_int(id, -1);
    check_str(fixture->error.text,
              "subscription \"default\" is served by handlers, not by a sink");
    client_close(&client);
}

OUTBOX_TEST(catalog, refuses_to_subscribe_to_a_queue_that_was_removed)
{
    struct weir_queue_row queue;
    struct client client;
    int64_t id;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    check_db(
        remove_marked(&client.log, client.connection, "orders", false, &fixture->error),
        WEIR_OK);

    check_db(weir_catalog_subscribe(&client.log, client.connection, &queue, "default",
                                    WEIR_SERVED_BY_HANDLER, WEIR_START_NOW, &id,
                                    &fixture->error),
             WEIR_NOT_FOUND);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease"), 0);
    client_close(&client);
}

OUTBOX_TEST(catalog, starts_at_the_beginning_with_what_was_enqueued_before)
{
    struct weir_queue_row queue;
    struct client client;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    enqueue(&client, weir_pid(queue.id, 1));

    (void)subscribe(&client, &queue, "default", WEIR_START_BEGINNING);

    check_int(waiting(&client, queue.id), 1);
    client_close(&client);
}

/* Committed before is passed, also when nobody has read it yet; committed after is
 * not. */
OUTBOX_TEST(catalog, starts_now_behind_what_was_enqueued_before)
{
    struct weir_queue_row queue;
    struct client client;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    enqueue(&client, weir_pid(queue.id, 1));

    (void)subscribe(&client, &queue, "default", WEIR_START_NOW);

    check_int(waiting(&client, queue.id), 0);
    enqueue(&client, weir_pid(queue.id, 0));
    check_int(waiting(&client, queue.id), 1);
    client_close(&client);
}

/* ---- many at once ------------------------------------------------------------------ */

enum { PROCESSES = 6 };

struct process_of_test {
    struct weir_db *db;
    pthread_barrier_t *start;
    struct weir_queue_row queue;
    int64_t subscription;
    int64_t positions; /* found as soon as it was subscribed */
    enum weir_status status;
    struct weir_error error;
};

static enum weir_status start_process(struct process_of_test *self,
                                      struct weir_connection *connection)
{
    struct weir_queue_options options = orders(16);
    struct weir_outbox_log log = {.ops = NULL};
    struct weir_stored_position position;
    enum weir_status status = weir_outbox_log_open(&log, connection, &self->error);

    if (status == WEIR_OK)
        status = weir_catalog_add_queue(connection, &options, &self->queue, &self->error);
    if (status == WEIR_OK)
        status = weir_catalog_subscribe(&log, connection, &self->queue, "default",
                                        WEIR_SERVED_BY_HANDLER, WEIR_START_NOW,
                                        &self->subscription, &self->error);
    for (int32_t i = 0; i < 16 && status == WEIR_OK; i++) {
        struct weir_lease_key key = {self->subscription, weir_pid(self->queue.id, i)};

        status = weir_ack_read(connection, key, &position, &self->error);
        self->positions++;
    }
    return status;
}

static void *run_process(void *argument)
{
    struct process_of_test *self = argument;
    struct weir_connection *connection = NULL;

    self->status = weir_db_acquire(self->db, &connection, &self->error);
    pthread_barrier_wait(self->start);
    if (self->status == WEIR_OK)
        self->status = start_process(self, connection);
    weir_db_release(self->db, connection);
    return NULL;
}

OUTBOX_TEST(catalog, lets_many_processes_start_at_once)
{
    struct weir_db_options options = fixture_options(fixture);
    struct process_of_test processes[PROCESSES];
    pthread_t threads[PROCESSES];
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, PROCESSES);
    for (size_t i = 0; i < PROCESSES; i++) {
        processes[i] = (struct process_of_test){.db = fixture_open(fixture, &options),
                                                .start = &start};
        check_int(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < PROCESSES; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < PROCESSES; i++) {
        fixture->error = processes[i].error;
        check_db(processes[i].status, WEIR_OK);
        check_int(processes[i].queue.id, processes[0].queue.id);
        check_int(processes[i].subscription, processes[0].subscription);
        check_int(processes[i].positions, 16);
        weir_db_destroy(processes[i].db);
    }
    pthread_barrier_destroy(&start);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_ack"), 16);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease"), 16);
}

/* The sweep and whoever removes a queue hold it alone; subscribing waits for them. */
OUTBOX_SERVER_TEST(catalog, subscribes_under_the_lock)
{
    struct weir_db_options options = fixture_options(fixture);
    struct weir_connection *sweep = fixture_take(fixture);
    struct process_of_test process = {.db = fixture_open(fixture, &options)};
    pthread_barrier_t start;
    pthread_t thread;

    check_db(weir_connection_begin(sweep, &fixture->error), WEIR_OK);
    fixture_execute(
        fixture, sweep,
        fixture_choose(fixture, "", "SELECT pg_advisory_xact_lock(hashtext('{p}'), 2)",
                       "SELECT 1 FROM {p}_counter WHERE name = 'subscribe' FOR UPDATE"));
    pthread_barrier_init(&start, NULL, 1);
    process.start = &start;
    check_int(pthread_create(&thread, NULL, run_process, &process), 0);
    wait_until(lease_fixture_somebody_waits(fixture));
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_subscription"), 0);
    check_db(weir_connection_commit(sweep, &fixture->error), WEIR_OK);
    pthread_join(thread, NULL);

    check_status(process.status, WEIR_OK);
    weir_db_destroy(process.db);
    pthread_barrier_destroy(&start);
    fixture_give(fixture, sweep);
}

/* ---- removing ---------------------------------------------------------------------- */

static void check_nothing_left(struct fixture *fixture)
{
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_queue"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_subscription"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter"), 0);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_aside"), 0);
    if (fixture->engine != WEIR_POSTGRESQL) /* there they are left for the rotation */
        check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_ack"), 0);
}

static void add_letter(struct fixture *fixture, int64_t subscription, const char *status)
{
    (void)lease_fixture_ask(
        fixture,
        "INSERT INTO weir_dead_letter (subscription, pid, seq, log_id,"
        " created_us, uid, type, payload, attempts, error, failed_us, status)"
        " VALUES (%d, 64, (SELECT count(*) + 1 FROM weir_dead_letter), 1, 1,"
        " 'u', 't', 'p', 1, 'e', 1, '%s')",
        (int)subscription, status);
}

static void add_member_and_aside(struct fixture *fixture, int64_t subscription,
                                 int64_t pid)
{
    (void)lease_fixture_ask(fixture,
                            "INSERT INTO weir_member (process, subscription, name,"
                            " until_us, started_us) VALUES (1, %d, 'a', 1, 1)",
                            (int)subscription);
    (void)lease_fixture_ask(fixture,
                            "INSERT INTO weir_aside (pid, cut, id, created_us, uid, type,"
                            " payload%s) VALUES (%d, 0, 1, 1, 'u', 't', 'p'%s)",
                            fixture_choose(fixture, "", "", ", source_id"), (int)pid,
                            fixture_choose(fixture, "", "", ", 1"));
}

OUTBOX_TEST(catalog, removes_a_queue_with_everything_of_it)
{
    struct weir_queue_row queue;
    struct client client;
    int64_t id;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    id = subscribe(&client, &queue, "default", WEIR_START_BEGINNING);
    (void)subscribe(&client, &queue, "audit", WEIR_START_BEGINNING);
    pass_everything(fixture);
    add_letter(fixture, id, "resolved");
    add_member_and_aside(fixture, id, weir_pid(queue.id, 63));

    check_db(
        remove_marked(&client.log, client.connection, "orders", false, &fixture->error),
        WEIR_OK);

    check_nothing_left(fixture);
    client_close(&client);
}

/* Or an ack of several queues, which waits for the leases of this one, waited for it
 * too. */
OUTBOX_SERVER_TEST(catalog, removes_a_queue_while_rows_of_others_are_locked)
{
    struct weir_queue_options options = orders(2);
    struct weir_connection *ack = fixture_take(fixture);
    struct weir_queue_row queue, other;
    struct client client;
    int64_t id;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    (void)subscribe(&client, &queue, "default", WEIR_START_BEGINNING);
    options.name = "mails";
    check_db(weir_catalog_add_queue(client.connection, &options, &other, &fixture->error),
             WEIR_OK);
    id = subscribe(&client, &other, "default", WEIR_START_BEGINNING);
    add_letter(fixture, id, "pending");
    add_member_and_aside(fixture, id, weir_pid(other.id, 0));
    check_db(weir_connection_begin(ack, &fixture->error), WEIR_OK);
    fixture_execute(fixture, ack,
                    "UPDATE {p}_lease SET crashes = 1 WHERE subscription ="
                    " (SELECT max(id) FROM {p}_subscription)");
    fixture_execute(fixture, ack,
                    "UPDATE {p}_ack SET attempts = 1 WHERE subscription ="
                    " (SELECT max(id) FROM {p}_subscription)");
    fixture_execute(fixture, ack, "UPDATE {p}_dead_letter SET attempts = 2");
    fixture_execute(fixture, ack, "UPDATE {p}_member SET rate = 1");

    check_db(
        remove_marked(&client.log, client.connection, "orders", false, &fixture->error),
        WEIR_OK);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_queue"), 1);
    fixture_give(fixture, ack);
    client_close(&client);
}

OUTBOX_TEST(catalog, leaves_other_queues_alone)
{
    struct weir_queue_options options = orders(2);
    struct weir_queue_row queue, other;
    struct client client;
    int64_t id;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    (void)subscribe(&client, &queue, "default", WEIR_START_BEGINNING);
    options.name = "mails";
    check_db(weir_catalog_add_queue(client.connection, &options, &other, &fixture->error),
             WEIR_OK);
    id = subscribe(&client, &other, "default", WEIR_START_BEGINNING);
    add_letter(fixture, id, "pending");
    add_member_and_aside(fixture, id, weir_pid(other.id, 0));
    enqueue(&client, weir_pid(other.id, 0));

    check_db(
        remove_marked(&client.log, client.connection, "orders", false, &fixture->error),
        WEIR_OK);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_queue"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_subscription"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease"), 2);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_member"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_aside"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter"), 1);
    client_close(&client);
}

OUTBOX_TEST(catalog, refuses_to_remove_a_queue_while_a_message_waits)
{
    struct weir_queue_row queue;
    struct client client;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    (void)subscribe(&client, &queue, "default", WEIR_START_BEGINNING);
    enqueue(&client, weir_pid(queue.id, 1));

    check_db(
        remove_marked(&client.log, client.connection, "orders", false, &fixture->error),
        WEIR_BUSY);

    check_str(fixture->error.text, "queue \"orders\" has messages that wait");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_lease"), 2);
    check_db(
        remove_marked(&client.log, client.connection, "orders", true, &fixture->error),
        WEIR_OK);
    check_nothing_left(fixture);
    client_close(&client);
}

OUTBOX_TEST(catalog, refuses_to_remove_a_queue_while_a_dead_letter_waits)
{
    static const char *const STATUSES[] = {"pending", "reprocessing"};
    struct weir_queue_row queue;
    struct client client;
    int64_t id;

    client_open(&client, fixture);
    queue = add_orders(&client, 2);
    id = subscribe(&client, &queue, "default", WEIR_START_BEGINNING);
    for (size_t i = 0; i < 2; i++) {
        add_letter(fixture, id, STATUSES[i]);
        check_db(remove_marked(&client.log, client.connection, "orders", false,
                               &fixture->error),
                 WEIR_BUSY);
        (void)fixture_ask(fixture, "UPDATE weir_dead_letter SET status = 'resolved'");
    }

    add_letter(fixture, id, "pending");
    check_db(
        remove_marked(&client.log, client.connection, "orders", true, &fixture->error),
        WEIR_OK);
    check_nothing_left(fixture);
    client_close(&client);
}

OUTBOX_TEST(catalog, does_not_remove_a_queue_that_is_not_there)
{
    struct client client;

    client_open(&client, fixture);
    check_db(
        remove_marked(&client.log, client.connection, "orders", true, &fixture->error),
        WEIR_NOT_FOUND);
    client_close(&client);
}

/* What is left of the old one must never be taken for the new one's. */
OUTBOX_TEST(catalog, never_uses_the_id_of_a_removed_queue_again)
{
    struct weir_queue_row first, second;
    struct client client;

    client_open(&client, fixture);
    first = add_orders(&client, 2);
    check_db(
        remove_marked(&client.log, client.connection, "orders", false, &fixture->error),
        WEIR_OK);
    second = add_orders(&client, 4);

    check(second.id > first.id);
    check_int(second.partitions, 4);
    client_close(&client);
}
