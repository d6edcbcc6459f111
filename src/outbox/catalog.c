/*
 * catalog.c - see catalog.h.
 *
 * A process asks for its queues and subscriptions whenever it starts, and nearly always they are
 * there: so it looks first, and only then makes them, in the knowledge that others may be making
 * the same. Whoever comes second finds what the first has made.
 *
 * Subscribing takes a lock shared, removing a queue and the sweep take it alone (PostgreSQL; on
 * SQLite there is one writer at a time): what a subscription starts with is not removed under
 * its hands, and no subscription is made of a queue that is going.
 */
#include "outbox/catalog.h"

#include "outbox/ack.h"
#include "outbox/lease.h"
#include "outbox/place.h"
#include "outbox/schema.h"

#include "db/transact.h"
#include "weir/message.h"

#define STRINGIZE(number) STRINGIZE_(number)
#define STRINGIZE_(number) #number

/* ---- queues ------------------------------------------------------------------------------- */

/* By the unique index on the name. */
static const struct weir_sql SQL_FIND_QUEUE = {
    .name = "find queue",
    .text = "SELECT id, partitions, paused, unread, backlog_max, attempts_max,"
            " retention_us FROM {p}_queue WHERE name = {1}",
    .parameters = "t",
};

/* Repeating changes nothing. On PostgreSQL it uses up an id each time: only when the queue was
 * not found. */
static const struct weir_sql SQL_ADD_QUEUE = {
    .name = "add queue",
    .text = "INSERT INTO {p}_queue (name, partitions, unread, backlog_max,"
            " attempts_max, retention_us, created_us)"
            " VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {now}) ON CONFLICT (name) DO NOTHING",
    .parameters = "tiiiii",
};

static const struct weir_sql SQL_CHANGE_QUEUE = {
    .name = "change queue",
    .text = "UPDATE {p}_queue SET unread = {2}, backlog_max = {3}, attempts_max = {4},"
            " retention_us = {5} WHERE id = {1}",
    .parameters = "iiiii",
};

static const struct weir_sql SQL_PAUSE_QUEUE = {
    .name = "pause queue",
    .text = "UPDATE {p}_queue SET paused = {2} WHERE name = {1}",
    .parameters = "tf",
};

static enum weir_engine engine_of(struct weir_connection *connection)
{
    return weir_connection_link(connection)->driver->engine;
}

/* WEIR_NO_ROW: there is none. */
static enum weir_status look_for_queue(struct weir_connection *connection,
                                       const char *name, struct weir_queue_row *out,
                                       struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_FIND_QUEUE, VALUES(weir_text(weir_str(name))), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        *out = (struct weir_queue_row){
            .id = weir_rows_integer(&rows, 0),
            .partitions = (int32_t)weir_rows_integer(&rows, 1),
            .paused = weir_rows_boolean(&rows, 2),
            .unread = (enum weir_unread)weir_rows_integer(&rows, 3),
            .backlog_max = weir_rows_integer(&rows, 4),
            .attempts_max = (uint32_t)weir_rows_integer(&rows, 5),
            .retention_us = weir_rows_integer(&rows, 6),
        };
        status = weir_rows_next(&rows, error); /* tells a column that was misread */
        status = status == WEIR_NO_ROW ? WEIR_OK : status;
    }
    weir_rows_close(&rows);
    return status;
}

static enum weir_status no_queue(const char *name, struct weir_error *error)
{
    return weir_error_set(error, WEIR_NOT_FOUND, "there is no queue \"%s\"", name);
}

enum weir_status weir_catalog_find_queue(struct weir_connection *connection,
                                         const char *name, struct weir_queue_row *out,
                                         struct weir_error *error)
{
    enum weir_status status = look_for_queue(connection, name, out, error);

    return status == WEIR_NO_ROW ? no_queue(name, error) : status;
}

struct addition {
    const struct weir_queue_options *options;
    struct weir_queue_row *out;
};

static enum weir_status add_unless_there(struct weir_connection *connection,
                                         const struct weir_queue_options *options,
                                         struct weir_queue_row *out,
                                         struct weir_error *error)
{
    enum weir_status status = look_for_queue(connection, options->name, out, error);

    if (status != WEIR_NO_ROW)
        return status;
    status = weir_connection_execute(
        connection, &SQL_ADD_QUEUE,
        VALUES(weir_text(weir_str(options->name)), weir_integer(options->partitions),
               weir_integer(options->unread), weir_integer(options->backlog_max),
               weir_integer(options->attempts_max),
               weir_integer(options->dead_letter_retention_ns / 1000)),
        NULL, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, options->name, out, error);
    return status;
}

/* Bring the queue to what `options` says. */
static enum weir_status change_policies(struct weir_connection *connection,
                                        const struct weir_queue_options *options,
                                        struct weir_queue_row *row,
                                        struct weir_error *error)
{
    int64_t retention_us = options->dead_letter_retention_ns / 1000;

    if (row->unread == options->unread && row->backlog_max == options->backlog_max &&
        row->attempts_max == options->attempts_max && row->retention_us == retention_us)
        return WEIR_OK;
    row->unread = options->unread;
    row->backlog_max = options->backlog_max;
    row->attempts_max = options->attempts_max;
    row->retention_us = retention_us;
    return weir_connection_execute(
        connection, &SQL_CHANGE_QUEUE,
        VALUES(weir_integer(row->id), weir_integer(options->unread),
               weir_integer(options->backlog_max), weir_integer(options->attempts_max),
               weir_integer(retention_us)),
        NULL, error);
}

static enum weir_status add_queue(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    const struct weir_queue_options *options = ((struct addition *)argument)->options;
    struct weir_queue_row *out = ((struct addition *)argument)->out;
    enum weir_status status = add_unless_there(connection, options, out, error);

    if (status != WEIR_OK)
        return status;
    if (out->partitions != options->partitions)
        return weir_error_set(
            error, WEIR_MISMATCH, "queue \"%s\" has %d partitions, %d were asked for",
            options->name, (int)out->partitions, (int)options->partitions);
    return change_policies(connection, options, out, error);
}

enum weir_status weir_catalog_add_queue(struct weir_connection *connection,
                                        const struct weir_queue_options *options,
                                        struct weir_queue_row *out,
                                        struct weir_error *error)
{
    struct addition addition = {options, out};

    return weir_transact_on(connection, add_queue, &addition, error);
}

enum weir_status weir_catalog_pause(struct weir_connection *connection, const char *name,
                                    bool paused, struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_PAUSE_QUEUE,
        VALUES(weir_text(weir_str(name)), weir_boolean(paused)), &changed, error);

    return status == WEIR_OK && changed == 0 ? no_queue(name, error) : status;
}

/* ---- subscriptions ------------------------------------------------------------------------ */

#define SUBSCRIBE_LOCK "(hashtext('{p}'), " STRINGIZE(WEIR_LOCK_SUBSCRIBE_NUMBER) ")"
#define WEIR_LOCK_SUBSCRIBE_NUMBER 2
_Static_assert(WEIR_LOCK_SUBSCRIBE_NUMBER == WEIR_LOCK_SUBSCRIBE,
               "the text of a statement cannot name an enum");

/* Until the end of the transaction. */
static const struct weir_sql SQL_LOCK_SHARED_PG = {
    .name = "lock for subscribing",
    .text = "SELECT pg_advisory_xact_lock_shared" SUBSCRIBE_LOCK,
};
static const struct weir_sql SQL_LOCK_ALONE_PG = {
    .name = "lock for removing",
    .text = "SELECT pg_advisory_xact_lock" SUBSCRIBE_LOCK,
};

/* By the unique index. */
static const struct weir_sql SQL_FIND_SUBSCRIPTION = {
    .name = "find subscription",
    .text = "SELECT id, serving FROM {p}_subscription WHERE queue = {1} AND name = {2}",
    .parameters = "it",
};

/* Only of a queue that is there. Waits for another one that makes the same, and gives no row
 * when that one has made it. */
static const struct weir_sql SQL_SUBSCRIBE = {
    .name = "subscribe",
    .text = "INSERT INTO {p}_subscription (queue, name, serving, created_us)"
            " SELECT id, {2}, {3}, {now} FROM {p}_queue WHERE id = {1}"
            " ON CONFLICT (queue, name) DO NOTHING RETURNING id",
    .parameters = "iti",
};

struct subscribing {
    const struct weir_outbox_log *log;
    const struct weir_queue_row *queue;
    const char *name;
    enum weir_serving serving;
    enum weir_start start;
    int64_t id;
};

static const char *serving_text(enum weir_serving serving)
{
    return serving == WEIR_SERVED_BY_SINK ? "a sink" : "handlers";
}

/* WEIR_NO_ROW: there is none. */
static enum weir_status look_for_subscription(struct weir_connection *connection,
                                              struct subscribing *self,
                                              struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_serving serving = self->serving;
    enum weir_status status = weir_connection_query(
        connection, &SQL_FIND_SUBSCRIPTION,
        VALUES(weir_integer(self->queue->id), weir_text(weir_str(self->name))), &rows,
        error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        self->id = weir_rows_integer(&rows, 0);
        serving = (enum weir_serving)weir_rows_integer(&rows, 1);
    }
    weir_rows_close(&rows);
    if (status == WEIR_OK && serving != self->serving)
        return weir_error_set(
            error, WEIR_MISMATCH, "subscription \"%s\" is served by %s, not by %s",
            self->name, serving_text(serving), serving_text(self->serving));
    return status;
}

/* A position and a lease for each partition. */
static enum weir_status begin_partitions(struct weir_connection *connection,
                                         struct subscribing *self,
                                         struct weir_error *error)
{
    struct weir_lease_key keys[WEIR_PARTITIONS_MAX];
    size_t count = (size_t)self->queue->partitions;
    struct weir_place place;
    enum weir_status status =
        self->log->ops->start(self->log, connection, self->queue->id,
                              self->start == WEIR_START_NOW, &place, error);

    if (count > WEIR_PARTITIONS_MAX)
        return weir_error_set(error, WEIR_SCHEMA, "a queue with %zu partitions", count);
    for (size_t i = 0; i < count; i++)
        keys[i] =
            (struct weir_lease_key){self->id, weir_pid(self->queue->id, (int32_t)i)};
    if (status == WEIR_OK)
        status = weir_ack_begin(connection, keys, count, place, error);
    if (status == WEIR_OK)
        status = weir_lease_begin(connection, keys, count, error);
    return status;
}

static enum weir_status subscribe(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    struct subscribing *self = argument;
    enum weir_status status = WEIR_OK;

    if (engine_of(connection) == WEIR_POSTGRESQL)
        status = weir_connection_execute(connection, &SQL_LOCK_SHARED_PG, NO_VALUES, NULL,
                                         error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_SUBSCRIBE,
                                               VALUES(weir_integer(self->queue->id),
                                                      weir_text(weir_str(self->name)),
                                                      weir_integer(self->serving)),
                                               &self->id, error);
    if (status == WEIR_OK)
        return begin_partitions(connection, self, error);
    if (status != WEIR_NO_ROW)
        return status;
    status = look_for_subscription(connection, self, error);
    if (status == WEIR_NO_ROW)
        status = weir_error_set(error, WEIR_NOT_FOUND, "the queue was removed");
    return status;
}

/* Behind everything that is committed by now, also what nobody has made readable yet. */
static enum weir_status advance(const struct weir_outbox_log *log,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    struct weir_place head;
    bool moved;

    return log->ops->advance(log, connection, (struct weir_place){0, 0}, true, NULL,
                             &head, &moved, error);
}

enum weir_status weir_catalog_subscribe(const struct weir_outbox_log *log,
                                        struct weir_connection *connection,
                                        const struct weir_queue_row *queue,
                                        const char *name, enum weir_serving serving,
                                        enum weir_start start, int64_t *out,
                                        struct weir_error *error)
{
    struct subscribing self = {log, queue, name, serving, start, 0};
    enum weir_status status = look_for_subscription(connection, &self, error);

    if (status == WEIR_NO_ROW) {
        status = start == WEIR_START_NOW ? advance(log, connection, error) : WEIR_OK;
        if (status == WEIR_OK)
            status = weir_transact_on(connection, subscribe, &self, error);
    }
    if (status == WEIR_OK)
        *out = self.id;
    return status;
}

enum weir_status weir_catalog_check_serving(struct weir_connection *connection,
                                            const struct weir_queue_row *queue,
                                            const char *name, enum weir_serving serving,
                                            struct weir_error *error)
{
    struct subscribing self = {.queue = queue, .name = name, .serving = serving};
    enum weir_status status = look_for_subscription(connection, &self, error);

    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- removing ----------------------------------------------------------------------------- */

#define ITS_SUBSCRIPTIONS "(SELECT id FROM {p}_subscription WHERE queue = {1})"

/* By the unique index, subscription by subscription. */
static const struct weir_sql SQL_COUNT_LETTERS = {
    .name = "count dead letters",
    .text =
        "SELECT count(*) FROM {p}_dead_letter WHERE subscription IN " ITS_SUBSCRIPTIONS
        " AND status IN ('pending', 'reprocessing')",
    .parameters = "i",
};

/* In the order in which acks lock them (ack.c), so that none of them waits for us while we
 * wait for it. */
static const struct weir_sql SQL_LOCK_LEASES_PG = {
    .name = "lock leases of the queue",
    .text = "SELECT 1 FROM {p}_lease WHERE subscription IN " ITS_SUBSCRIPTIONS
            " ORDER BY subscription, partition FOR UPDATE",
    .parameters = "i",
};

/*
 * Each may be repeated. The subscriptions go after everything that is found by them. Positions
 * on PostgreSQL stay: deleting would leave dead rows in a table that is never vacuumed, and the
 * rotation carries forward only what belongs to a subscription.
 */
static const struct weir_sql SQL_REMOVE_ACKS_SQLITE = {
    .name = "remove positions",
    .text = "DELETE FROM {p}_ack WHERE subscription IN " ITS_SUBSCRIPTIONS,
    .parameters = "i",
};
static const struct weir_sql SQL_REMOVE[] = {
    {.name = "remove leases",
     .text = "DELETE FROM {p}_lease WHERE subscription IN " ITS_SUBSCRIPTIONS,
     .parameters = "i"},
    {.name = "remove members",
     .text = "DELETE FROM {p}_member WHERE subscription IN " ITS_SUBSCRIPTIONS,
     .parameters = "i"},
    {.name = "remove dead letters",
     .text = "DELETE FROM {p}_dead_letter WHERE subscription IN " ITS_SUBSCRIPTIONS,
     .parameters = "i"},
    {.name = "remove subscriptions",
     .text = "DELETE FROM {p}_subscription WHERE queue = {1}",
     .parameters = "i"},
    {.name = "remove messages set aside", /* 64: place.h */
     .text = "DELETE FROM {p}_aside WHERE partition >= {1} * 64"
             " AND partition < {1} * 64 + 64",
     .parameters = "i"},
    {.name = "remove queue",
     .text = "DELETE FROM {p}_queue WHERE id = {1}",
     .parameters = "i"},
};

enum { REMOVE_COUNT = sizeof SQL_REMOVE / sizeof SQL_REMOVE[0] };

/* A queue that nobody has subscribed to keeps its messages for whoever comes. Looks through the
 * log until it finds one: no index has the partition, and queues are seldom removed. */
static const struct weir_sql SQL_KEPT_FOR_NOBODY = {
    .name = "find kept messages",
    .text = "SELECT count(*) FROM (SELECT 1 FROM {p}_log l"
            " JOIN {p}_queue q ON q.id = {1} AND q.unread = 0"
            " WHERE l.partition >= q.id * 64 AND l.partition < q.id * 64 + 64"
            " AND NOT EXISTS (SELECT 1 FROM {p}_subscription s WHERE s.queue = q.id)"
            " LIMIT 1) kept",
    .parameters = "i",
};

struct removal {
    const struct weir_outbox_log *log;
    const char *name;
    bool force;
};

static void add_waiting(void *state, const struct weir_lag *lag)
{
    /* An estimate of none is no promise that there is none. */
    *(int64_t *)state += lag->waiting > 0 ? lag->waiting : lag->estimate;
}

static enum weir_status refuse_busy(struct removal *self,
                                    struct weir_connection *connection, int64_t queue,
                                    struct weir_error *error)
{
    int64_t waiting = 0;
    int64_t letters = 0;
    struct weir_lag_question question = {queue, WEIR_LAG_LOOK_MAX};
    enum weir_status status = self->log->ops->lag(self->log, connection, &question,
                                                  add_waiting, &waiting, error);

    if (status == WEIR_OK && waiting == 0)
        status =
            weir_connection_query_integer(connection, &SQL_KEPT_FOR_NOBODY,
                                          VALUES(weir_integer(queue)), &waiting, error);
    if (status == WEIR_OK && waiting > 0)
        return weir_error_set(error, WEIR_BUSY, "queue \"%s\" has messages that wait",
                              self->name);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            connection, &SQL_COUNT_LETTERS, VALUES(weir_integer(queue)), &letters, error);
    if (status == WEIR_OK && letters > 0)
        return weir_error_set(error, WEIR_BUSY,
                              "queue \"%s\" has %lld dead letters to decide on",
                              self->name, (long long)letters);
    return status;
}

static enum weir_status remove_rows(struct weir_connection *connection, int64_t queue,
                                    struct weir_error *error)
{
    const struct weir_value id = weir_integer(queue);
    struct weir_step steps[REMOVE_COUNT + 1] = {
        {.sql = engine_of(connection) == WEIR_SQLITE ? &SQL_REMOVE_ACKS_SQLITE
                                                     : &SQL_LOCK_LEASES_PG,
         .values = &id,
         .value_count = 1},
    };

    for (size_t i = 0; i < REMOVE_COUNT; i++)
        steps[i + 1] =
            (struct weir_step){.sql = &SQL_REMOVE[i], .values = &id, .value_count = 1};
    return weir_connection_execute_steps(connection, steps, REMOVE_COUNT + 1, error);
}

static enum weir_status remove_queue(struct weir_connection *connection, void *argument,
                                     struct weir_error *error)
{
    struct removal *self = argument;
    struct weir_queue_row queue = {0};
    enum weir_status status = WEIR_OK;

    if (engine_of(connection) == WEIR_POSTGRESQL)
        status = weir_connection_execute(connection, &SQL_LOCK_ALONE_PG, NO_VALUES, NULL,
                                         error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, self->name, &queue, error);
    if (status == WEIR_OK && !self->force)
        status = refuse_busy(self, connection, queue.id, error);
    if (status == WEIR_OK)
        status = remove_rows(connection, queue.id, error);
    return status;
}

enum weir_status weir_catalog_remove(const struct weir_outbox_log *log,
                                     struct weir_connection *connection, const char *name,
                                     bool force, struct weir_error *error)
{
    struct removal removal = {log, name, force};

    return weir_transact_on(connection, remove_queue, &removal, error);
}
