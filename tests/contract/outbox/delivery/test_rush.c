/*
 * A rush hour on MariaDB: eight producers, three processes that deliver to leased and
 * to transactional handlers, rejects that become dead letters and are sent again, sweep
 * and retention all the time. Nobody is told of a deadlock or of a lock that was not to
 * be had, and no lock is waited for for long.
 *
 * The server is the test's own, so what it has counted is ours. WEIR_LONG=1: two minutes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/clock.h"
#include "db/db.h"
#include "kit/choice.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "kit/outbox/effects.h"
#include "weir/stats.h"

enum {
    PRODUCERS = 8,
    CONSUMERS = 3,
    PARTITIONS = 16,
    BATCH = 40,
    SECONDS = 5,
    SECONDS_LONG = 120,
    WAIT_MS_MAX = 1000,
    REJECTED = 50, /* one message in so many, by each subscription */
    AT_ONCE = 20,  /* dead letters that are sent again together */
    AHEAD =
        20000, /* messages that producers may be ahead: else it ends with a long wait */
};

#define QUEUE "orders"
#define LEASED "default"
#define BOOKED "books" /* by a transactional handler */

struct rush {
    struct fixture *fixture;
    _Atomic bool over;
    _Atomic int64_t sent;
    _Atomic int64_t booked; /* calls of the transactional handler */
    _Atomic int64_t calls;
    _Atomic int64_t requeued;
    _Atomic int64_t complaints; /* of level warning or above */
    pthread_mutex_t lock;       /* guards what follows */
    char trouble[600];          /* the first; "": none */
};

static void complain(struct rush *self, const char *what, const char *text)
{
    atomic_fetch_add(&self->complaints, 1);
    pthread_mutex_lock(&self->lock);
    if (self->trouble[0] == '\0')
        (void)snprintf(self->trouble, sizeof self->trouble, "%s: %s", what, text);
    pthread_mutex_unlock(&self->lock);
}

/* What a call has answered: it must have worked. */
static bool hear(struct rush *self, const char *what, enum weir_status status,
                 const struct weir_error *error)
{
    char text[WEIR_ERROR_TEXT_SIZE + 64];

    atomic_fetch_add(&self->calls, 1);
    if (status == WEIR_OK)
        return true;
    (void)snprintf(text, sizeof text, "%s: %s", weir_status_name(status), error->text);
    complain(self, what, text);
    return false;
}

/* What the outbox has to say of its own calls. That a handler rejects is not its
 * fault. */
static void listen(void *state, enum weir_log_level level, const char *line)
{
    if (level >= WEIR_LOG_WARNING && strstr(line, "rejected") == NULL)
        complain(state, weir_log_level_name(level), line);
}

static struct weir_db *open_db(struct rush *self)
{
    struct fixture *fixture = self->fixture;
    struct weir_db_options options = fixture_options(fixture);

    options.log =
        (struct weir_log){.write = listen, .state = self, .minimum = WEIR_LOG_WARNING};
    return fixture_open(fixture, &options);
}

/* ---- producers --------------------------------------------------------------------- */

struct producer {
    struct rush *rush;
    struct weir_outbox *outbox;
    struct weir_db *db;
    struct weir_error error;
    int number;
};

static void draft(struct weir_draft *drafts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        drafts[i] = outbox_fixture_draft((int32_t)(weir_clock_random() % PARTITIONS),
                                         "0123456789");
}

/* In a transaction of its own making, of which it hears everything. */
static bool produce_in(struct producer *self, struct weir_connection *connection,
                       size_t *sent)
{
    struct weir_draft drafts[BATCH];
    size_t calls = 1 + weir_clock_random() % 4;
    bool fine = hear(self->rush, "begin", weir_connection_begin(connection, &self->error),
                     &self->error);

    *sent = 0;
    for (size_t i = 0; i < calls && fine; i++) {
        size_t count = 1 + weir_clock_random() % BATCH;

        draft(drafts, count);
        fine = hear(self->rush, "enqueue",
                    weir_enqueue_batch(self->outbox, connection, QUEUE, drafts, count,
                                       NULL, &self->error),
                    &self->error);
        *sent += count;
        if (weir_clock_random() % 16 == 0)
            (void)weir_clock_sleep(WEIR_MILLISECONDS(20));
    }
    if (fine && weir_clock_random() % 8 != 0)
        return hear(self->rush, "commit",
                    weir_connection_commit(connection, &self->error), &self->error);
    weir_connection_rollback(connection);
    *sent = 0;
    return fine;
}

static bool produce(struct producer *self, struct weir_connection *connection)
{
    struct weir_draft drafts[BATCH];
    size_t sent = 1 + weir_clock_random() % 4;
    bool fine;

    if (weir_clock_random() % 4 == 0) {
        fine = produce_in(self, connection, &sent);
    } else {
        draft(drafts, sent);
        fine = hear(self->rush, "enqueue alone",
                    weir_enqueue_batch(self->outbox, NULL, QUEUE, drafts, sent, NULL,
                                       &self->error),
                    &self->error);
    }
    atomic_fetch_add(&self->rush->sent, (int64_t)sent);
    return fine;
}

static bool is_ahead(struct rush *self)
{
    return atomic_load(&self->sent) - atomic_load(&self->booked) > AHEAD;
}

static void *run_producer(void *argument)
{
    struct producer *self = argument;
    struct weir_connection *connection = NULL;

    if (!hear(self->rush, "connect", weir_db_acquire(self->db, &connection, &self->error),
              &self->error))
        return NULL;
    while (!atomic_load(&self->rush->over) && produce(self, connection)) {
        do
            (void)weir_clock_sleep((int64_t)(weir_clock_random() % WEIR_MILLISECONDS(4)));
        while (is_ahead(self->rush) && !atomic_load(&self->rush->over));
    }
    weir_db_release(self->db, connection);
    return NULL;
}

/* Send dead letters again, or throw them away, all the time. */
static void *run_client(void *argument)
{
    struct producer *self = argument;
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;
    int64_t count;
    bool fine = true;

    while (!atomic_load(&self->rush->over) && fine) {
        scope.limit = AT_ONCE;
        fine = hear(self->rush, "requeue",
                    weir_dead_letter_requeue_all(self->outbox, &scope, NULL, NULL,
                                                 &progress, &self->error),
                    &self->error);
        atomic_fetch_add(&self->rush->requeued, progress.done);
        scope.limit = 2;
        fine = fine && hear(self->rush, "discard",
                            weir_dead_letter_discard_all(self->outbox, NULL, &scope,
                                                         &count, &self->error),
                            &self->error);
        (void)weir_clock_sleep(WEIR_MILLISECONDS(2));
    }
    return NULL;
}

/* ---- consumers --------------------------------------------------------------------- */

static bool is_no_good(const struct weir_message *message)
{
    return (message->seq * 31 + message->partition) % REJECTED == 0;
}

static enum weir_outcome handle(struct weir_context *context, void *state,
                                const struct weir_message *message,
                                struct weir_reason *reason)
{
    (void)context;
    (void)state;
    return is_no_good(message) ? weir_reject(reason, "no good") : WEIR_DONE;
}

static enum weir_outcome book(struct weir_context *context, void *state,
                              struct weir_connection *connection,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    (void)context;
    atomic_fetch_add(&((struct rush *)state)->booked, 1);
    if (!effects_write(connection, message))
        return weir_retry(reason, "the effect could not be written");
    return is_no_good(message) ? weir_reject(reason, "no good") : WEIR_DONE;
}

static struct weir_outbox *start_consumer(struct rush *self, struct weir_db *db)
{
    struct fixture *fixture = self->fixture;
    struct weir_tuning sweep =
        weir_tuning_of(WEIR_PROFILE_HIGH_THROUGHPUT, WEIR_KIND_SWEEP);
    struct weir_handler_options handler;
    struct weir_outbox_options options;
    struct weir_outbox *outbox;

    sweep.idle_ns = WEIR_MILLISECONDS(50);
    weir_outbox_options_init(&options);
    options.db = db;
    options.profile = WEIR_PROFILE_HIGH_THROUGHPUT;
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    options.stats_interval_ns = 0;
    outbox = outbox_fixture_create(fixture, &options);
    weir_handler_options_init(&handler);
    handler.queue = QUEUE;
    handler.subscription = LEASED;
    handler.on_message = handle;
    outbox_fixture_add(fixture, outbox, &handler);
    handler.subscription = BOOKED;
    handler.on_message = NULL;
    handler.on_message_tx = book;
    handler.state = self;
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

/* ---- what the server says ---------------------------------------------------------- */

static int64_t ask_status(struct fixture *fixture, const char *name)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql,
                   "SELECT variable_value FROM information_schema.global_status"
                   " WHERE variable_name = '%s'",
                   name);
    return fixture_ask(fixture, sql);
}

static bool is_drained(struct fixture *fixture, struct weir_outbox *outbox,
                       const char *subscription)
{
    bool drained = false;

    check_db(
        weir_outbox_read_drained(outbox, QUEUE, subscription, &drained, &fixture->error),
        WEIR_OK);
    return drained;
}

static int64_t sum_of_positions(struct fixture *fixture, struct weir_outbox *outbox,
                                const char *subscription)
{
    int64_t sum = 0;

    for (int32_t p = 0; p < PARTITIONS; p++)
        sum += outbox_fixture_partition(fixture, outbox, QUEUE, subscription, p).seq;
    return sum;
}

static void prepare(struct fixture *fixture, struct weir_outbox *outbox)
{
    struct weir_queue_options queue;

    effects_prepare(fixture);
    weir_queue_options_init(&queue);
    queue.name = QUEUE;
    queue.partitions = PARTITIONS;
    queue.dead_letter_retention_ns = WEIR_SECONDS(1);
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
}

static void rush_for(struct rush *self, struct weir_outbox *outbox, struct weir_db *db,
                     int seconds)
{
    static struct producer producers[PRODUCERS + 1]; /* and a clerk */
    pthread_t threads[PRODUCERS + 1];

    for (int i = 0; i <= PRODUCERS; i++) {
        producers[i] =
            (struct producer){.rush = self, .outbox = outbox, .db = db, .number = i};
        check_int(pthread_create(&threads[i], NULL,
                                 i < PRODUCERS ? run_producer : run_client,
                                 &producers[i]),
                  0);
    }
    for (int i = 0; i < seconds * 10 && atomic_load(&self->complaints) == 0; i++)
        (void)weir_clock_sleep(WEIR_MILLISECONDS(100));
    atomic_store(&self->over, true);
    for (int i = 0; i <= PRODUCERS; i++)
        check_int(pthread_join(threads[i], NULL), 0);
}

static void rush_body(struct fixture *fixture)
{
    static struct rush rush;
    struct weir_db *dbs[CONSUMERS];
    struct weir_outbox *consumers[CONSUMERS];
    struct weir_db *db;
    struct weir_outbox *outbox;
    struct weir_outbox_options options;
    int64_t all;

    memset(&rush, 0, sizeof rush);
    rush.fixture = fixture;
    check_int(pthread_mutex_init(&rush.lock, NULL), 0);
    db = open_db(&rush);
    weir_outbox_options_init(&options);
    options.db = db;
    outbox = outbox_fixture_create(fixture, &options);
    prepare(fixture, outbox);
    for (int i = 0; i < CONSUMERS; i++) {
        dbs[i] = open_db(&rush);
        consumers[i] = start_consumer(&rush, dbs[i]);
    }
    rush_for(&rush, outbox, db, choice_is_long() ? SECONDS_LONG : SECONDS);
    wait_until(is_drained(fixture, outbox, LEASED) &&
               is_drained(fixture, outbox, BOOKED));
    all = rush.sent + rush.requeued;
    printf("# %lld calls, %lld messages, %lld sent again; deadlocks %lld, lock waits"
           " %lld, the longest %lld ms\n",
           (long long)rush.calls, (long long)rush.sent, (long long)rush.requeued,
           (long long)ask_status(fixture, "Innodb_deadlocks"),
           (long long)ask_status(fixture, "Innodb_row_lock_waits"),
           (long long)ask_status(fixture, "Innodb_row_lock_time_max"));

    check_str(rush.trouble, "");
    check_int(sum_of_positions(fixture, outbox, LEASED), all);
    check_int(sum_of_positions(fixture, outbox, BOOKED), all);
    check_int(effects_repeated(fixture), 0);
    check_int(ask_status(fixture, "Innodb_deadlocks"), 0);
    if (choice_is_long()) /* of a machine that has nothing else to do */
        check_in_range(ask_status(fixture, "Innodb_row_lock_time_max"), 0, WAIT_MS_MAX);
    for (int i = 0; i < CONSUMERS; i++) {
        outbox_fixture_close(consumers[i]);
        weir_db_destroy(dbs[i]);
    }
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    pthread_mutex_destroy(&rush.lock);
}

WEIR_TEST(rush, meets_no_deadlock_and_no_long_wait_on_mariadb)
{
    static const char *const SETTINGS[] = {"max-connections=300", NULL};

    outbox_fixture_run_own(WEIR_MARIADB, &(struct server_options){.settings = SETTINGS},
                           rush_body);
}
