/*
 * bench_outbox_caller.c - one message in the caller's own transaction, on PostgreSQL.
 *
 *   bench_outbox_caller [--quick] [alone] [watched]
 *
 * Each transaction is BEGIN, one message, COMMIT, by 1 and by 8 connections. The
 * baseline inserts the same columns into a plain table, by libpq; in each round all
 * senders follow each other, and the median of the rounds' ratios is judged. Sections:
 * alone, where no process delivers, so producers notify; watched, while one delivers
 * what comes: that is not judged, since it takes its part of the processors.
 * docs/internals/bench.md explains how to read it.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/choice.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/frame.h"
#include "lib/must.h"
#include "lib/outbox_load.h"
#include "lib/sample.h"
#include "lib/table.h"

enum { SENDERS_MAX = 8 };

struct plan {
    size_t rounds;
    size_t count; /* transactions of a connection in a round */
};

static const struct plan FULL = {.rounds = 7, .count = 1500};
static const struct plan QUICK = {.rounds = 3, .count = 500};

/* One connection, which has all kinds of transactions. */
struct sender {
    pthread_t thread;
    pthread_barrier_t *start;
    void (*send)(struct sender *self);
    size_t count;
    struct weir_outbox *outbox;
    struct weir_connection *own;
    struct weir_connection *adopted;
    PGconn *native;
    struct weir_draft draft;
    char key[BENCH_KEY_SIZE];
    char payload[BENCH_PAYLOAD_SIZE];
};

static struct bench_outbox_load line;
static struct sender senders[SENDERS_MAX];

/* ---- transactions ------------------------------------------------------------------ */

static void must(struct sender *self, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    bench_must(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK,
               PQerrorMessage(self->native));
    PQclear(result);
}

static void run(struct sender *self, const char *text)
{
    must(self, PQexec(self->native, text));
}

static void send_bare(struct sender *self)
{
    static const int FORMATS[] = {0, 1, 0, 0, 1};
    const char *const values[] = {"7", self->payload, self->key, BENCH_MESSAGE_TYPE,
                                  self->payload};
    const int sizes[] = {0, WEIR_UID_SIZE, 0, 0, BENCH_PAYLOAD_SIZE};

    run(self, "BEGIN");
    must(self, PQexecPrepared(self->native, "bare", 5, values, sizes, FORMATS, 1));
    run(self, "COMMIT");
}

static void send_function(struct sender *self)
{
    static const int FORMATS[] = {0, 1};
    const char *const values[] = {self->key, self->payload};
    const int sizes[] = {0, BENCH_PAYLOAD_SIZE};

    run(self, "BEGIN");
    must(self, PQexecPrepared(self->native, "function", 2, values, sizes, FORMATS, 1));
    run(self, "COMMIT");
}

static void enqueue(struct sender *self, struct weir_connection *connection)
{
    struct weir_error error;

    bench_must_ok(
        weir_enqueue(self->outbox, connection, BENCH_QUEUE, &self->draft, NULL, &error),
        &error, "enqueue");
}

static void send_adopted(struct sender *self)
{
    run(self, "BEGIN");
    enqueue(self, self->adopted);
    run(self, "COMMIT");
}

static void send_own(struct sender *self)
{
    struct weir_error error;

    bench_must_ok(weir_connection_begin(self->own, &error), &error, "begin");
    enqueue(self, self->own);
    bench_must_ok(weir_connection_commit(self->own, &error), &error, "commit");
}

/* ---- connections ------------------------------------------------------------------- */

#define CREATE                                                                           \
    "CREATE TABLE IF NOT EXISTS bare ("                                                  \
    "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, pid integer NOT NULL,"          \
    " created_us bigint NOT NULL"                                                        \
    " DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,"                \
    " uid bytea NOT NULL, message_key text, type text NOT NULL, headers text,"           \
    " payload bytea NOT NULL)"
#define INSERT                                                                           \
    "INSERT INTO bare (pid, uid, message_key, type, payload)"                            \
    " VALUES ($1, $2, $3, $4, $5)"
#define FUNCTION "SELECT weir_enqueue('" BENCH_QUEUE "', $1, $2::bytea)"

static void open_sender(struct sender *self, size_t number, const char *url)
{
    struct weir_error error;

    memset(self, 0, sizeof *self);
    self->outbox = line.outbox;
    (void)snprintf(self->key, sizeof self->key, "key-%zu", number);
    memset(self->payload, 'x', sizeof self->payload);
    self->draft = (struct weir_draft){.key = self->key,
                                      .type = BENCH_MESSAGE_TYPE,
                                      .payload = self->payload,
                                      .payload_size = BENCH_PAYLOAD_SIZE};
    self->native = PQconnectdb(url);
    bench_must(PQstatus(self->native) == CONNECTION_OK, PQerrorMessage(self->native));
    run(self, "SET client_min_messages = warning");
    run(self, CREATE);
    must(self, PQprepare(self->native, "bare", INSERT, 0, NULL));
    must(self, PQprepare(self->native, "function", FUNCTION, 0, NULL));
    bench_must_ok(weir_db_acquire(line.db, &self->own, &error), &error, "acquire");
    bench_must_ok(
        weir_connection_adopt_postgresql(line.db, self->native, &self->adopted, &error),
        &error, "adopt");
}

static void close_sender(struct sender *self)
{
    weir_connection_disown(self->adopted);
    weir_db_release(line.db, self->own);
    PQfinish(self->native);
}

/* ---- a round ----------------------------------------------------------------------- */

static void *run_sender(void *state)
{
    struct sender *self = state;

    (void)pthread_barrier_wait(self->start);
    for (size_t i = 0; i < self->count; i++)
        self->send(self);
    return NULL;
}

/* Transactions a second by so many connections. */
static double rate_of(void (*send)(struct sender *self), size_t sender_count,
                      size_t count)
{
    pthread_barrier_t start;
    int64_t begun_ns;

    (void)pthread_barrier_init(&start, NULL, (unsigned)sender_count + 1);
    for (size_t i = 0; i < sender_count; i++) {
        senders[i].start = &start;
        senders[i].send = send;
        senders[i].count = count;
        bench_must(pthread_create(&senders[i].thread, NULL, run_sender, &senders[i]) == 0,
                   "a thread");
    }
    (void)pthread_barrier_wait(&start);
    begun_ns = bench_now_ns();
    for (size_t i = 0; i < sender_count; i++)
        (void)pthread_join(senders[i].thread, NULL);
    (void)pthread_barrier_destroy(&start);
    return bench_per_second(count * sender_count, bench_now_ns() - begun_ns);
}

static const struct kind {
    const char *name;
    void (*send)(struct sender *self);
    double target[2]; /* of the ratio, with one and with eight connections; 0: none */
} KINDS[] = {
    {"connection of the library", send_own, {0.7, 0.75}},
    {"connection of the application", send_adopted, {0.7, 0.75}},
    {"SQL function", send_function, {0.6, 0.6}},
};
enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

static void bench_senders(const struct plan *plan, size_t sender_count, bool judged)
{
    struct bench_pair pairs[KIND_COUNT];

    memset(pairs, 0, sizeof pairs);
    for (size_t round = 0; round < plan->rounds + 1; round++) {
        double bare = rate_of(send_bare, sender_count, plan->count);

        for (size_t i = 0; i < KIND_COUNT; i++) {
            double ours = rate_of(KINDS[i].send, sender_count, plan->count);

            if (round > 0) /* the first warms up */
                bench_pair_add(&pairs[i], ours, bare);
        }
    }
    for (size_t i = 0; i < KIND_COUNT; i++) {
        double target = KINDS[i].target[sender_count > 1];
        char name[64];

        (void)snprintf(name, sizeof name, "%zu: %s", sender_count, KINDS[i].name);
        bench_row_pair(name, BENCH_PER_SECOND, &pairs[i],
                       judged ? BENCH_AT_LEAST(target) : BENCH_UNJUDGED);
    }
}

static void bench_section_of(const struct plan *plan, struct bench_database *database,
                             const char *name, bool deliver)
{
    struct bench_outbox_load_options options = {
        .url = bench_database_add(database, name, false), .deliver = deliver};
    char title[80];

    bench_outbox_load_open(&line, &options);
    for (size_t i = 0; i < SENDERS_MAX; i++)
        open_sender(&senders[i], i, options.url);
    (void)snprintf(title, sizeof title, "one message in the caller's transaction, %s",
                   name);
    bench_frame_section(WEIR_POSTGRESQL, title, "BEGIN; INSERT; COMMIT");
    bench_senders(plan, 1, !deliver);
    bench_senders(plan, SENDERS_MAX, !deliver);
    for (size_t i = 0; i < SENDERS_MAX; i++)
        close_sender(&senders[i]);
    bench_outbox_load_close(&line);
}

static const char *const SECTION_NAMES[] = {"alone", "watched"};

int main(int argc, char **argv)
{
    struct bench_choice choice = {.sections = SECTION_NAMES, .section_count = 2};
    struct bench_database *database;
    struct bench_frame frame;
    const struct plan *plan;

    if (!bench_choice_read(&choice, argc, argv))
        return EXIT_FAILURE;
    plan = choice.quick ? &QUICK : &FULL;
    bench_frame_begin(&frame, plan->rounds, choice.quick);
    database = bench_database_open(WEIR_POSTGRESQL);
    for (size_t i = 0; i < 2; i++) {
        if (bench_choice_has_section(&choice, i))
            bench_section_of(plan, database, SECTION_NAMES[i], i == 1);
    }
    bench_database_close(database);
    bench_frame_end(&frame);
    return EXIT_SUCCESS;
}
