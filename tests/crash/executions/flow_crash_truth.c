/*
 * flow_crash_truth.c - see flow_crash_truth.h.
 */
#include "crash/executions/flow_crash_truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/inspect.h"
#include "weir/outbox.h"

#define QUEUE "execution.completion"

static const char *const SUBSCRIPTIONS[FLOW_CRASH_AUDITS_MAX] = {
    "audit0", "audit1", "audit2", "audit3", "audit4", "audit5", "audit6", "audit7"};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    check(memory != NULL);
    return memory;
}

/* ---- tables ------------------------------------------------------------------------ */

static const struct weir_sql SQL_LIVES = {
    .name = "read lives",
    .text = "SELECT e.no, e.uuid, e.state, e.attempts, e.retries, e.reclaims, e.epoch,"
            " e.created_us, e.ended_us, e.failure, i.bytes, r.bytes FROM {p}_execution e"
            " LEFT JOIN {p}_input i ON i.no = e.no"
            " LEFT JOIN {p}_result r ON r.no = e.no ORDER BY e.no",
    .parameters = "",
};

static const struct weir_sql SQL_TRIES = {
    .name = "read tries",
    .text = "SELECT no, number, type, outcome, epoch, started_us, ended_us, failure"
            " FROM {p}_attempt ORDER BY no, number",
    .parameters = "",
};

static void copy_text(char *out, struct weir_str text)
{
    (void)snprintf(out, FLOW_CRASH_FAILURE_SIZE, "%.*s", (int)text.size,
                   text.size > 0 ? text.data : "");
}

static struct weir_str bytes_or_none(struct weir_rows *rows, size_t column)
{
    return weir_rows_is_null(rows, column) ? (struct weir_str){NULL, 0}
                                           : weir_rows_bytes(rows, column);
}

static void read_life(struct weir_rows *rows, struct flow_crash_life *out)
{
    struct weir_str uuid = weir_rows_bytes(rows, 1);
    struct weir_str input = bytes_or_none(rows, 10);

    check_int(uuid.size, WEIR_UUID_SIZE);
    memcpy(out->uuid, uuid.data, WEIR_UUID_SIZE);
    out->no = weir_rows_integer(rows, 0);
    out->state = weir_rows_integer(rows, 2);
    out->attempts = weir_rows_integer(rows, 3);
    out->retries = weir_rows_integer(rows, 4);
    out->reclaims = weir_rows_integer(rows, 5);
    out->epoch = weir_rows_integer(rows, 6);
    out->created_us = weir_rows_integer(rows, 7);
    out->ended_us = weir_rows_integer(rows, 8);
    copy_text(out->failure, weir_rows_text(rows, 9));
    out->number = flow_crash_read_number(input.data, input.size);
    copy_text(out->result, bytes_or_none(rows, 11));
}

static void read_try(struct weir_rows *rows, struct flow_crash_try *out)
{
    out->no = weir_rows_integer(rows, 0);
    out->number = (int32_t)weir_rows_integer(rows, 1);
    out->type = (enum weir_attempt_type)weir_rows_integer(rows, 2);
    out->outcome = (enum weir_attempt_outcome)weir_rows_integer(rows, 3);
    out->epoch = weir_rows_integer(rows, 4);
    out->started_us = weir_rows_integer(rows, 5);
    out->ended_us = weir_rows_integer(rows, 6);
    copy_text(out->failure, weir_rows_text(rows, 7));
}

static void read_tables(struct fixture *fixture, struct flow_crash_truth *self)
{
    size_t lives = (size_t)fixture_ask(fixture, "SELECT count(*) FROM weir_execution");
    size_t tries = (size_t)fixture_ask(fixture, "SELECT count(*) FROM weir_attempt");
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_rows rows;
    enum weir_status status;

    self->lives = allocate(lives, sizeof *self->lives);
    self->tries = allocate(tries, sizeof *self->tries);
    status =
        weir_connection_query(connection, &SQL_LIVES, NULL, 0, &rows, &fixture->error);
    while (status == WEIR_OK && self->life_count < lives &&
           (status = weir_rows_next(&rows, &fixture->error)) == WEIR_OK)
        read_life(&rows, &self->lives[self->life_count++]);
    weir_rows_close(&rows);
    check_db(status, WEIR_OK);
    status =
        weir_connection_query(connection, &SQL_TRIES, NULL, 0, &rows, &fixture->error);
    while (status == WEIR_OK && self->try_count < tries &&
           (status = weir_rows_next(&rows, &fixture->error)) == WEIR_OK)
        read_try(&rows, &self->tries[self->try_count++]);
    weir_rows_close(&rows);
    check_db(status, WEIR_OK);
    fixture_give(fixture, connection);
}

/* ---- events ------------------------------------------------------------------------ */

/* The number behind a name in a JSON text that has no name inside of a value. */
static int64_t number_of(const struct weir_message *message, const char *name)
{
    char text[2048];
    const char *found;

    (void)snprintf(text, sizeof text, "%.*s", (int)message->payload_size,
                   (const char *)message->payload);
    found = strstr(text, name);
    return found != NULL ? strtoll(found + strlen(name), NULL, 10) : -1;
}

static enum weir_outcome hear(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    struct flow_crash_truth *self = state;
    size_t slot = atomic_fetch_add(&self->event_count, 1);
    struct flow_crash_event *event;

    (void)context;
    (void)reason;
    if (slot >= FLOW_CRASH_DRAFTS_MAX)
        return WEIR_DONE; /* the audit will say so */
    event = &self->events[slot];
    event->attempts = number_of(message, "\"attempts\":");
    event->epoch = number_of(message, "\"epoch\":");
    (void)snprintf(event->outcome, sizeof event->outcome, "%s", message->type);
    if (weir_execution_id_parse(message->key, &event->id, NULL) != WEIR_OK)
        memset(&event->id, 0, sizeof event->id);
    return WEIR_DONE;
}

static struct weir_outbox *open_listener(struct flow_crash *run, uint32_t audit,
                                         struct flow_crash_truth *current)
{
    struct fixture *fixture = run->rig.fixture;
    struct weir_tuning tuning = weir_tuning_of(WEIR_PROFILE_LOW_LATENCY, WEIR_KIND_LANE);
    struct weir_outbox_options options;
    struct weir_handler_options handler;
    struct weir_outbox *outbox;

    weir_outbox_options_init(&options);
    options.db = fixture->db;
    options.stats_interval_ns = 0;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    tuning.batch = 500;
    weir_handler_options_init(&handler);
    handler.queue = QUEUE;
    handler.subscription = SUBSCRIPTIONS[audit];
    handler.on_message = hear;
    handler.state = current;
    handler.tuning = &tuning;
    check_db(weir_outbox_add_handler(outbox, &handler, &fixture->error), WEIR_OK);
    return outbox;
}

void flow_crash_subscribe(struct flow_crash *run, uint32_t audits)
{
    struct fixture *fixture = run->rig.fixture;
    struct weir_executions_options options;
    struct weir_outbox_options outbox_options;
    struct weir_outbox *outbox;
    struct weir_executions *executions;

    weir_outbox_options_init(&outbox_options);
    outbox_options.db = fixture->db;
    check_db(weir_outbox_create(&outbox_options, &outbox, &fixture->error), WEIR_OK);
    weir_executions_options_init(&options);
    options.db = fixture->db;
    options.outbox = outbox;
    options.partitions = RIG_CLIENT_PARTITIONS;
    check_db(weir_executions_create(&options, &executions, &fixture->error), WEIR_OK);
    weir_executions_destroy(executions);
    weir_outbox_destroy(outbox);
    for (uint32_t i = 0; i < audits; i++)
        weir_outbox_destroy(open_listener(run, i, NULL));
}

static bool is_drained(struct fixture *fixture, struct weir_outbox *outbox,
                       uint32_t audit)
{
    bool drained = false;

    check_db(weir_outbox_read_drained(outbox, QUEUE, SUBSCRIPTIONS[audit], &drained,
                                      &fixture->error),
             WEIR_OK);
    return drained;
}

/* Nobody else runs, so nothing comes twice. */
static void read_events(struct flow_crash *run, uint32_t audit,
                        struct flow_crash_truth *self)
{
    struct fixture *fixture = run->rig.fixture;
    struct weir_outbox *outbox;

    self->events = allocate(FLOW_CRASH_DRAFTS_MAX, sizeof *self->events);
    outbox = open_listener(run, audit, self);
    check_db(weir_outbox_start(outbox, &fixture->error), WEIR_OK);
    wait_until(is_drained(fixture, outbox, audit));
    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(60)), 0);
    weir_outbox_destroy(outbox);
    check(self->event_count <= FLOW_CRASH_DRAFTS_MAX);
}

/* ---- putting it together ----------------------------------------------------------- */

static int by_claim(const void *left, const void *right)
{
    const struct flow_crash_claim *a = *(const struct flow_crash_claim *const *)left;
    const struct flow_crash_claim *b = *(const struct flow_crash_claim *const *)right;

    if (a->no != b->no)
        return a->no < b->no ? -1 : 1;
    return a->epoch < b->epoch ? -1 : a->epoch > b->epoch;
}

static void sort_claims(const struct flow_crash_shared *shared,
                        struct flow_crash_truth *self)
{
    size_t count = atomic_load(&shared->claim_count);

    self->claims = allocate(count, sizeof *self->claims);
    for (size_t i = 0; i < count; i++) {
        if (atomic_load(&shared->claims[i].written))
            self->claims[self->claim_count++] = &shared->claims[i];
    }
    qsort(self->claims, self->claim_count, sizeof *self->claims, by_claim);
}

static void put_tries(struct flow_crash_truth *self, struct flow_crash_life *life,
                      size_t *next)
{
    for (; *next < self->try_count && self->tries[*next].no < life->no; (*next)++)
        self->strays++;
    life->tries = &self->tries[*next];
    for (; *next < self->try_count && self->tries[*next].no == life->no; (*next)++)
        life->try_count++;
}

static void put_claims(struct flow_crash_truth *self, struct flow_crash_life *life,
                       size_t *next)
{
    for (; *next < self->claim_count && self->claims[*next]->no < life->no; (*next)++)
        self->strays++;
    life->claims = &self->claims[*next];
    for (; *next < self->claim_count && self->claims[*next]->no == life->no; (*next)++)
        life->claim_count++;
}

static int by_uuid(const void *left, const void *right)
{
    const struct flow_crash_life *a = *(const struct flow_crash_life *const *)left;
    const struct flow_crash_life *b = *(const struct flow_crash_life *const *)right;

    return memcmp(a->uuid, b->uuid, WEIR_UUID_SIZE);
}

static void put_events(struct flow_crash_truth *self)
{
    struct flow_crash_life **sorted = allocate(self->life_count, sizeof(void *));

    for (size_t i = 0; i < self->life_count; i++)
        sorted[i] = &self->lives[i];
    qsort(sorted, self->life_count, sizeof(void *), by_uuid);
    for (size_t i = 0; i < self->event_count; i++) {
        struct flow_crash_life wanted = {0};
        const struct flow_crash_life *key = &wanted;
        struct flow_crash_life **found;

        memcpy(wanted.uuid, self->events[i].id.uuid, WEIR_UUID_SIZE);
        found = bsearch(&key, sorted, self->life_count, sizeof(void *), by_uuid);
        if (found == NULL) {
            self->strays++;
            continue;
        }
        (*found)->event = &self->events[i];
        (*found)->event_count++;
    }
    free(sorted);
}

void flow_crash_truth_read(struct flow_crash *run, uint32_t audit,
                           struct flow_crash_truth *out)
{
    size_t next_try = 0;
    size_t next_claim = 0;

    memset(out, 0, sizeof *out);
    read_events(run, audit, out);
    read_tables(run->rig.fixture, out);
    sort_claims(run->shared, out);
    for (size_t i = 0; i < out->life_count; i++) {
        put_tries(out, &out->lives[i], &next_try);
        put_claims(out, &out->lives[i], &next_claim);
    }
    out->strays += out->try_count - next_try + out->claim_count - next_claim;
    put_events(out);
}

void flow_crash_truth_free(struct flow_crash_truth *self)
{
    free(self->lives);
    free(self->tries);
    free(self->claims);
    free(self->events);
}
