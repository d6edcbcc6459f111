/*
 * Dead letters with a crowd at them: operators who claim, decide, requeue, discard and
 * clean up all at once, while a process rejects what comes and removes what is old.
 *
 * Each of them locks rows that the others want. None may be told of it: no deadlock, no
 * conflict.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "kit/outbox/dead_letter_fixture.h"
#include "weir/stats.h"

enum { ROUNDS = 150, PARTITIONS = 4, PER_ROUND = 4, AT_ONCE = 5 };

struct peers {
    struct weir_outbox *outbox; /* of all clerks */
    atomic_int_fast64_t sent;   /* messages, requeued ones among them */
};

/* One of the crowd, in a thread of its own. In every other round in a transaction of
 * its own as well, which nobody repeats for it. */
struct client {
    struct peers *peers;
    struct weir_db *db;
    struct weir_connection *connection; /* NULL: none in this round */
    void (*work)(struct client *self, int round);
    struct letter_views views;
    struct weir_error error;
    char trouble[2 * WEIR_ERROR_TEXT_SIZE]; /* "": none so far */
};

/* What a call has answered. WEIR_FENCED is no trouble where somebody else may be
 * quicker. */
static void hear(struct client *self, const char *what, enum weir_status status,
                 enum weir_status other)
{
    if (status != WEIR_OK && status != other && self->trouble[0] == '\0')
        (void)snprintf(self->trouble, sizeof self->trouble, "%s: %s: %s", what,
                       weir_status_name(status), self->error.text);
}

static int64_t claim(struct client *self, int64_t timeout_ns)
{
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_claim claim;

    scope.limit = AT_ONCE;
    self->views.count = 0;
    hear(self, "claim",
         weir_dead_letter_claim(self->peers->outbox, self->connection, &scope, timeout_ns,
                                letters_note, &self->views, &claim, &self->error),
         WEIR_OK);
    return claim.token;
}

/* The ids of what was seen last, from the last to the first. */
static struct weir_dead_letter_choice choose(const struct client *self, int64_t *ids,
                                             int64_t token)
{
    size_t count = self->views.count;

    for (size_t i = 0; i < count; i++)
        ids[i] = self->views.items[count - 1 - i].id;
    return (struct weir_dead_letter_choice){.ids = ids, .count = count, .token = token};
}

/* Claims for an hour are nobody else's. */
static void claim_and_decide(struct client *self, int round)
{
    int64_t ids[AT_ONCE];
    int64_t token = claim(self, WEIR_HOURS(1));
    struct weir_dead_letter_choice choice = choose(self, ids, token);

    if (round % 2 == 0)
        hear(self, "resolve",
             weir_dead_letter_resolve(self->peers->outbox, self->connection, &choice,
                                      NULL, &self->error),
             WEIR_OK);
    else
        hear(self, "reject",
             weir_dead_letter_reject(self->peers->outbox, self->connection, &choice,
                                     "again", NULL, &self->error),
             WEIR_OK);
}

/* Somebody else may be quicker. */
static void claim_and_be_late(struct client *self, int round)
{
    int64_t ids[AT_ONCE];
    int64_t token = claim(self, WEIR_MILLISECONDS(1));
    struct weir_dead_letter_choice choice = choose(self, ids, token);

    (void)round;
    for (size_t i = 0; i < choice.count; i++) {
        struct weir_dead_letter_choice one = {.ids = &ids[i], .count = 1, .token = token};
        enum weir_status status = weir_dead_letter_resolve(
            self->peers->outbox, self->connection, &one, NULL, &self->error);

        hear(self, "decide", status == WEIR_NOT_FOUND ? WEIR_FENCED : status,
             WEIR_FENCED);
    }
}

static void requeue_chosen(struct client *self, int round)
{
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_mark mark = {0};
    enum weir_status verdicts[AT_ONCE];
    int64_t ids[AT_ONCE];
    struct weir_dead_letter_choice choice;
    enum weir_status status;

    (void)round;
    scope.limit = AT_ONCE;
    self->views.count = 0;
    hear(self, "list",
         weir_dead_letter_list(self->peers->outbox, self->connection, &scope,
                               WEIR_DEAD_LETTER_PENDING, &mark, letters_note,
                               &self->views, &self->error),
         WEIR_OK);
    choice = choose(self, ids, 0);
    status = weir_dead_letter_requeue(self->peers->outbox, self->connection, &choice,
                                      verdicts, &self->error);
    hear(self, "decide", status == WEIR_NOT_FOUND ? WEIR_FENCED : status, WEIR_FENCED);
    for (size_t i = 0; i < choice.count; i++)
        self->peers->sent += verdicts[i] == WEIR_OK;
}

static void requeue_some(struct client *self, int round)
{
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;

    (void)round;
    scope.limit = AT_ONCE;
    hear(self, "requeue all",
         weir_dead_letter_requeue_all(self->peers->outbox, &scope, NULL, NULL, &progress,
                                      &self->error),
         WEIR_OK);
    self->peers->sent += progress.done;
}

static void discard_and_clean_up(struct client *self, int round)
{
    struct weir_dead_letter_scope scope = letters_everything();
    int64_t count;

    scope.limit = round % 2 == 0 ? 2 : AT_ONCE;
    if (round % 2 == 0)
        hear(self, "discard all",
             weir_dead_letter_discard_all(self->peers->outbox, self->connection, &scope,
                                          &count, &self->error),
             WEIR_OK);
    else
        hear(self, "cleanup",
             weir_dead_letter_cleanup(self->peers->outbox, self->connection, &scope,
                                      &count, &self->error),
             WEIR_OK);
}

/* What keeps the others busy. */
static void send(struct client *self, int round)
{
    struct weir_draft drafts[PER_ROUND];

    for (int i = 0; i < PER_ROUND; i++)
        drafts[i] = outbox_fixture_draft((round + i) % PARTITIONS, "bad");
    hear(self, "enqueue batch",
         weir_enqueue_batch(self->peers->outbox, self->connection, "orders", drafts,
                            PER_ROUND, NULL, &self->error),
         WEIR_OK);
    self->peers->sent += PER_ROUND;
}

static void work_in_transaction(struct client *self, int round)
{
    struct weir_connection *connection = NULL;

    hear(self, "acquire", weir_db_acquire(self->db, &connection, &self->error), WEIR_OK);
    if (connection == NULL)
        return;
    hear(self, "begin", weir_connection_begin(connection, &self->error), WEIR_OK);
    self->connection = connection;
    self->work(self, round);
    self->connection = NULL;
    if (self->trouble[0] == '\0')
        hear(self, "commit", weir_connection_commit(connection, &self->error), WEIR_OK);
    else
        weir_connection_rollback(connection);
    weir_db_release(self->db, connection);
}

static void *run(void *argument)
{
    struct client *self = argument;

    for (int round = 0; round < ROUNDS && self->trouble[0] == '\0'; round++) {
        if (round / 2 % 2 == 0)
            self->work(self, round);
        else
            work_in_transaction(self, round);
    }
    return NULL;
}

/* ---- the process that delivers, and rejects ---------------------------------------- */

static enum weir_outcome reject(struct weir_context *context, void *state,
                                const struct weir_message *message,
                                struct weir_reason *reason)
{
    (void)context;
    (void)state;
    (void)message;
    return weir_reject(reason, "no good");
}

/* It looks for old letters all the time. */
static struct weir_outbox *start_rejecting(struct fixture *fixture)
{
    struct weir_outbox_options options = outbox_fixture_options(fixture, "rejecter");
    struct weir_tuning sweep = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_SWEEP);
    struct weir_handler_options handler = outbox_fixture_handler("orders", NULL);
    struct weir_queue_options queue;
    struct weir_outbox *outbox;

    sweep.idle_ns = WEIR_MILLISECONDS(50);
    options.tuning[WEIR_KIND_SWEEP] = &sweep;
    outbox = outbox_fixture_create(fixture, &options);
    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.partitions = PARTITIONS;
    queue.dead_letter_retention_ns = WEIR_SECONDS(1);
    check_db(weir_outbox_add_queue(outbox, &queue, &fixture->error), WEIR_OK);
    handler.on_message = reject;
    outbox_fixture_add(fixture, outbox, &handler);
    outbox_fixture_start(fixture, outbox);
    return outbox;
}

static int64_t count_delivered(struct fixture *fixture, struct weir_outbox *outbox)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < PARTITIONS; i++)
        sum += outbox_fixture_seq(fixture, outbox, "orders", i);
    return sum;
}

static uint64_t count_failures(struct weir_outbox *outbox)
{
    struct weir_stats_row rows[WEIR_STATS_CATEGORIES_MAX];
    size_t count =
        weir_stats_read(weir_outbox_stats(outbox), rows, WEIR_STATS_CATEGORIES_MAX);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += rows[i].failures;
    return sum;
}

OUTBOX_SERVER_TEST(crowd, at_dead_letters_meets_no_error)
{
    static void (*const WORK[])(struct client *, int) = {
        send,         claim_and_decide, claim_and_decide,     claim_and_be_late,
        requeue_some, requeue_chosen,   discard_and_clean_up,
    };
    enum { CLERKS = sizeof WORK / sizeof WORK[0] };
    static struct client clerks[CLERKS];
    struct weir_outbox *rejecter = start_rejecting(fixture);
    struct peers peers = {.outbox = outbox_fixture_outbox(fixture, "clerks")};
    pthread_t threads[CLERKS];

    for (int i = 0; i < CLERKS; i++) {
        clerks[i] = (struct client){.peers = &peers, .db = fixture->db, .work = WORK[i]};
        check_int(pthread_create(&threads[i], NULL, run, &clerks[i]), 0);
    }
    for (int i = 0; i < CLERKS; i++)
        check_int(pthread_join(threads[i], NULL), 0);

    for (int i = 0; i < CLERKS; i++)
        check_str(clerks[i].trouble, "");
    wait_until(count_delivered(fixture, rejecter) == peers.sent);
    check_int(count_failures(rejecter), 0);
    weir_outbox_destroy(peers.outbox);
    outbox_fixture_close(rejecter);
}
