/*
 * catalog.c - see catalog.h.
 *
 * A process asks for its queues and subscriptions whenever it starts, and nearly always
 * they are there: so it looks first, and only then makes them, in the knowledge that
 * others may be making the same. The second one finds what the first has made.
 *
 * Subscribing takes a lock shared, removing a queue and the sweep take it alone: what a
 * subscription starts with is not removed under its hands, and no subscription is made
 * of a queue that is going. PostgreSQL has locks for that, MariaDB a row of the
 * counters; on SQLite there is one writer at a time.
 */
#include "outbox/queue/catalog.h"

#include "base/count.h"
#include "base/noun.h"
#include "db/query.h"
#include "outbox/audit/audit.h"
#include "outbox/delivery/ack.h"
#include "outbox/engine.h"
#include "outbox/lease/lease.h"
#include "outbox/log/log_position.h"
#include "outbox/queue/backlog.h"
#include "outbox/queue/policies.h"
#include "outbox/queue/queue_ops.h"
#include "outbox/queue/stored_queue.h"
#include "outbox/schema.h"

#include "base/quote.h"
#include "db/transact.h"
#include "weir/message.h"

static const struct weir_queue_ops *ops_of(struct weir_connection *connection)
{
    return weir_outbox_engine_of(connection)->queue;
}

/* ---- queues ------------------------------------------------------------------------ */

/* By the unique index on the name. */
static const struct weir_sql SQL_FIND_QUEUE = {
    .name = "find queue",
    .text = "SELECT id, partitions, paused, unread, backlog_max, attempts_max,"
            " retention_us, retain_us, going_us FROM {p}_queue WHERE name = {1}",
    .parameters = "t",
};

/* A small table. */
static const struct weir_sql SQL_READ_QUEUES = {
    .name = "read rows of queues",
    .text = "SELECT id, partitions, paused, unread, backlog_max, attempts_max,"
            " retention_us, retain_us, name FROM {p}_queue ORDER BY name",
    .parameters = "",
};

/* Repeating changes nothing. With a server it uses up an id each time: only when the
 * queue was not found. */
static const struct weir_sql SQL_ADD_QUEUE = {
    .name = "add queue",
    .text = "INSERT INTO {p}_queue (name, partitions, unread, backlog_max,"
            " attempts_max, retention_us, retain_us, created_us)"
            " VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {now}){or_ignore:name}",
    .parameters = "tiiiiii",
};

/* By the id. A policy that is NULL here stays, also beside another process that changes
 * it. */
static const struct weir_sql SQL_CHANGE_QUEUE = {
    .name = "change queue",
    .text = "UPDATE {p}_queue SET unread = coalesce({2}, unread),"
            " backlog_max = coalesce({3}, backlog_max),"
            " attempts_max = coalesce({4}, attempts_max),"
            " retention_us = coalesce({5}, retention_us),"
            " retain_us = coalesce({6}, retain_us) WHERE id = {1}",
    .parameters = "iiiiii",
};

/* By the id: a producer may hold the entry of the name for as long as its transaction
 * lasts. */
static const struct weir_sql SQL_PAUSE_QUEUE = {
    .name = "pause queue",
    .text = "UPDATE {p}_queue SET paused = {2}"
            " WHERE id = (SELECT q.id FROM {p}_queue q WHERE q.name = {1})",
    .parameters = "tf",
};

/* As read. The last column is the one or the other. */
struct queue_columns {
    struct weir_stored_queue stored;
    bool paused;
    int64_t going_us;
    struct weir_str name;
};
#define STORED_COLUMNS                                                                   \
    COLUMN(struct queue_columns, stored.id, INTEGER),                                    \
        COLUMN(struct queue_columns, stored.partitions, INTEGER),                        \
        COLUMN(struct queue_columns, paused, BOOLEAN),                                   \
        COLUMN(struct queue_columns, stored.unread, INTEGER),                            \
        COLUMN(struct queue_columns, stored.backlog_max, INTEGER),                       \
        COLUMN(struct queue_columns, stored.attempts_max, INTEGER),                      \
        COLUMN(struct queue_columns, stored.retention_us, INTEGER),                      \
        COLUMN(struct queue_columns, stored.retain_us, INTEGER)
static const struct weir_column FOUND_QUEUE[] = {
    STORED_COLUMNS, COLUMN(struct queue_columns, going_us, INTEGER)};
static const struct weir_column READ_QUEUE[] = {STORED_COLUMNS,
                                                COLUMN(struct queue_columns, name, TEXT)};

/* Of what was checked. */
static struct weir_queue_row row_of(const struct weir_stored_queue *stored, bool paused)
{
    return (struct weir_queue_row){
        .id = stored->id,
        .partitions = (int32_t)stored->partitions,
        .paused = paused,
        .unread = (enum weir_unread)stored->unread,
        .backlog_max = stored->backlog_max,
        .attempts_max = (uint32_t)stored->attempts_max,
        .retention_us = stored->retention_us,
        .retain_us = stored->retain_us,
    };
}

/* The clock is asked only for a queue that has a mark. Not by {now}: an application's
 * connection to SQLite does not know it. */
static enum weir_status judge_mark(struct weir_connection *connection, int64_t going_us,
                                   bool *going, struct weir_error *error)
{
    int64_t now_us = 0;
    enum weir_status status = WEIR_OK;

    if (going_us > 0)
        status = weir_connection_clock(connection, &now_us, error);
    *going = status == WEIR_OK && going_us > now_us;
    return status;
}

/* WEIR_NO_ROW: there is none. */
static enum weir_status look_for_queue(struct weir_connection *connection,
                                       const char *name, struct weir_queue_row *out,
                                       struct weir_error *error)
{
    struct queue_columns row;
    enum weir_status status =
        weir_query_one(connection, &SQL_FIND_QUEUE, VALUES(weir_text(weir_str(name))),
                       INTO(FOUND_QUEUE, &row), error);

    if (status == WEIR_OK)
        status = weir_stored_queue_check(&row.stored, name, error);
    if (status == WEIR_OK) {
        *out = row_of(&row.stored, row.paused);
        status = judge_mark(connection, row.going_us, &out->going, error);
    }
    return status;
}

static enum weir_status is_going(const char *name, struct weir_error *error)
{
    return weir_error_set(error, WEIR_BUSY, "queue \"%s\" is being removed", name);
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

struct flaw_call {
    void (*tell)(void *state, const char *flaw);
    void *state;
};

static enum weir_status check_stored(void *state, struct weir_rows *rows,
                                     struct weir_error *error)
{
    const struct flaw_call *self = state;
    struct queue_columns row;
    struct weir_quote shown;
    struct weir_error flaw = {0};
    enum weir_status status = weir_row_read(rows, COLUMNS(READ_QUEUE), &row, error);

    if (status == WEIR_OK &&
        weir_stored_queue_check(&row.stored, weir_quote_str(&shown, row.name), &flaw) !=
            WEIR_OK)
        self->tell(self->state, flaw.text);
    return status;
}

enum weir_status weir_catalog_find_flaws(struct weir_connection *connection,
                                         weir_catalog_flaw_fn tell, void *state,
                                         struct weir_error *error)
{
    struct flaw_call call = {tell, state};

    return weir_query_each(connection, &SQL_READ_QUEUES, NO_VALUES, check_stored, &call,
                           error);
}

static enum weir_status find_held(struct weir_connection *connection, const char *name,
                                  struct weir_queue_row *out, struct weir_error *error)
{
    int64_t id = 0;
    enum weir_status status =
        weir_connection_query_integer(connection, &ops_of(connection)->hold_name,
                                      VALUES(weir_text(weir_str(name))), &id, error);

    if (status == WEIR_NO_ROW)
        return no_queue(name, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, name, out, error);
    if (status == WEIR_OK && out->id != id) /* another one than the snapshot shows */
        return no_queue(name, error);
    return status;
}

enum weir_status weir_catalog_find_for_producer(struct weir_connection *connection,
                                                const char *name,
                                                struct weir_queue_row *out,
                                                struct weir_error *error)
{
    enum weir_status status = ops_of(connection)->hold_name.text != NULL
                                  ? find_held(connection, name, out, error)
                                  : weir_catalog_find_queue(connection, name, out, error);

    return status == WEIR_OK && out->going ? is_going(name, error) : status;
}

struct put_queue_call {
    enum weir_catalog_put put;
    const struct weir_queue_options *options;
    struct weir_queue_row *out;
    struct weir_queue_change *change; /* NULL: not asked for */
};

static enum weir_status insert_queue(struct weir_connection *connection,
                                     const struct weir_queue_options *options,
                                     struct weir_queue_row *out, struct weir_error *error)
{
    enum weir_status status = weir_connection_execute(
        connection, &SQL_ADD_QUEUE,
        VALUES(weir_text(weir_str(options->name)), weir_integer(options->partitions),
               weir_integer(options->unread), weir_integer(options->backlog_max),
               weir_integer(options->attempts_max),
               weir_integer(options->dead_letter_retention_ns / 1000),
               weir_integer(options->retain_ns / 1000)),
        NULL, error);

    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, options->name, out, error);
    return status;
}

static enum weir_status find_or_insert(struct weir_connection *connection,
                                       const struct put_queue_call *self, bool *added,
                                       struct weir_error *error)
{
    enum weir_status status =
        look_for_queue(connection, self->options->name, self->out, error);

    *added = false;
    if (status != WEIR_NO_ROW)
        return status;
    if (self->put == WEIR_CATALOG_SET)
        return no_queue(self->options->name, error);
    *added = true;
    return insert_queue(connection, self->options, self->out, error);
}

static struct weir_value policy(uint32_t wanted, enum weir_queue_policy which,
                                int64_t value)
{
    return (wanted & which) != 0 ? weir_integer(value) : weir_null();
}

static enum weir_status change_policies(struct weir_connection *connection,
                                        const struct weir_queue_options *options,
                                        uint32_t wanted, struct weir_queue_row *row,
                                        struct weir_error *error)
{
    enum weir_status status = weir_connection_execute(
        connection, &SQL_CHANGE_QUEUE,
        VALUES(weir_integer(row->id), policy(wanted, WEIR_POLICY_UNREAD, options->unread),
               policy(wanted, WEIR_POLICY_BACKLOG_MAX, options->backlog_max),
               policy(wanted, WEIR_POLICY_ATTEMPTS_MAX, options->attempts_max),
               policy(wanted, WEIR_POLICY_DEAD_LETTER_RETENTION,
                      options->dead_letter_retention_ns / 1000),
               policy(wanted, WEIR_POLICY_RETAIN, options->retain_ns / 1000)),
        NULL, error);

    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, options->name, row, error);
    return status;
}

static struct weir_queue_options options_of(const struct weir_queue_row *row,
                                            const char *name)
{
    return (struct weir_queue_options){
        .name = name,
        .partitions = row->partitions,
        .unread = row->unread,
        .backlog_max = row->backlog_max,
        .attempts_max = row->attempts_max,
        .dead_letter_retention_ns = row->retention_us * 1000,
        .retain_ns = row->retain_us * 1000,
    };
}

static void tell_change(const struct put_queue_call *self,
                        const struct weir_queue_options *before, bool added)
{
    const struct weir_queue_options now = options_of(self->out, self->options->name);

    if (self->change != NULL)
        *self->change = (struct weir_queue_change){
            .added = added,
            .changed = weir_policies_differing(before, &now),
            .before = *before,
            .now = now,
        };
}

/* All of a queue that is new, else what is another value than before. */
static enum weir_status record_change(struct weir_connection *connection,
                                      const struct put_queue_call *self,
                                      const struct weir_queue_options *before, bool added,
                                      struct weir_error *error)
{
    const struct weir_queue_options now = options_of(self->out, self->options->name);
    uint32_t changed = weir_policies_differing(before, &now);
    char text_before[WEIR_POLICIES_TEXT_SIZE], text_now[WEIR_POLICIES_TEXT_SIZE];

    if (!weir_audit_is_on())
        return WEIR_OK;
    if (added)
        weir_audit_note(NULL, weir_policies_describe(
                                  &now, true, weir_policies_named(&now), text_now));
    else if (changed != 0)
        weir_audit_note(weir_policies_describe(before, false, changed, text_before),
                        weir_policies_describe(&now, false, changed, text_now));
    return weir_audit_record(connection, added || changed != 0, error);
}

static enum weir_status put_queue(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    const struct put_queue_call *self = argument;
    const struct weir_queue_options *options = self->options;
    struct weir_queue_row *out = self->out;
    struct weir_queue_options before;
    uint32_t wanted;
    bool added;
    enum weir_status status = find_or_insert(connection, self, &added, error);

    if (status != WEIR_OK)
        return status;
    if (out->going)
        return is_going(options->name, error);
    if (options->partitions != 0 && out->partitions != options->partitions)
        return weir_error_set(error, WEIR_MISMATCH,
                              "queue \"%s\" has %d %s, not %d as asked for",
                              options->name, (int)out->partitions,
                              WEIR_NOUN(out->partitions, "partition", "partitions"),
                              (int)options->partitions);
    before = options_of(out, options->name);
    wanted = weir_policies_named(options) & weir_policies_differing(options, &before);
    if (wanted != 0)
        status = change_policies(connection, options, wanted, out, error);
    tell_change(self, &before, added);
    return status == WEIR_OK ? record_change(connection, self, &before, added, error)
                             : status;
}

enum weir_status weir_catalog_put_queue(struct weir_connection *connection,
                                        enum weir_catalog_put put,
                                        const struct weir_queue_options *options,
                                        struct weir_queue_row *out,
                                        struct weir_queue_change *change,
                                        struct weir_error *error)
{
    struct put_queue_call put_queue_call = {
        .put = put, .options = options, .out = out, .change = change};

    return weir_transact_on(connection, put_queue, &put_queue_call, error);
}

enum weir_status weir_catalog_add_queue(struct weir_connection *connection,
                                        const struct weir_queue_options *options,
                                        struct weir_queue_row *out,
                                        struct weir_error *error)
{
    return weir_catalog_put_queue(connection, WEIR_CATALOG_ADD, options, out, NULL,
                                  error);
}

struct pause_call {
    const char *name;
    bool paused;
};

static enum weir_status set_paused(struct weir_connection *connection,
                                   const struct pause_call *self,
                                   struct weir_error *error)
{
    int64_t changed = 0;
    enum weir_status status = weir_connection_execute(
        connection, &SQL_PAUSE_QUEUE,
        VALUES(weir_text(weir_str(self->name)), weir_boolean(self->paused)), &changed,
        error);

    return status == WEIR_OK && changed == 0 ? no_queue(self->name, error) : status;
}

static const char *pause_word(bool paused)
{
    return paused ? "paused" : "delivered";
}

static enum weir_status pause_and_record(struct weir_connection *connection,
                                         void *argument, struct weir_error *error)
{
    const struct pause_call *self = argument;
    struct weir_queue_row before;
    enum weir_status status =
        weir_catalog_find_queue(connection, self->name, &before, error);

    if (status == WEIR_OK)
        status = set_paused(connection, self, error);
    if (status != WEIR_OK)
        return status;
    weir_audit_note(pause_word(before.paused), pause_word(self->paused));
    return weir_audit_record(connection, before.paused != self->paused, error);
}

enum weir_status weir_catalog_pause(struct weir_connection *connection, const char *name,
                                    bool paused, struct weir_error *error)
{
    struct pause_call call = {name, paused};

    return weir_audit_is_on()
               ? weir_transact_on(connection, pause_and_record, &call, error)
               : set_paused(connection, &call, error);
}

/* ---- subscriptions ----------------------------------------------------------------- */

/* By the unique index. */
static const struct weir_sql SQL_FIND_SUBSCRIPTION = {
    .name = "find subscription",
    .text = "SELECT id, serving FROM {p}_subscription WHERE queue = {1} AND name = {2}",
    .parameters = "it",
};

/*
 * Only of a queue that is there. Waits for another one that makes the same, and gives
 * no row when that one has made it. (IGNORE lets more pass than a row that is there,
 * but names are checked; an ON DUPLICATE KEY would give the other one's row.)
 */
static const struct weir_sql SQL_SUBSCRIBE = {
    .name = "subscribe",
    .text = "{insert_ignore} INTO {p}_subscription (queue, name, serving, created_us)"
            " SELECT id, {2}, {3}, {now} FROM {p}_queue WHERE id = {1}"
            "{unless_there:queue, name} RETURNING id",
    .parameters = "iti",
};

struct subscribe_call {
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
                                              struct subscribe_call *self,
                                              struct weir_error *error)
{
    struct found {
        int64_t id;
        enum weir_serving serving;
    } found;
    static const struct weir_column FOUND[] = {
        COLUMN(struct found, id, INTEGER),
        COLUMN_ENUM(struct found, serving, INT32_MAX),
    };
    enum weir_status status = weir_query_one(
        connection, &SQL_FIND_SUBSCRIPTION,
        VALUES(weir_integer(self->queue->id), weir_text(weir_str(self->name))),
        INTO(FOUND, &found), error);

    if (status != WEIR_OK)
        return status;
    self->id = found.id;
    if (found.serving != self->serving)
        return weir_error_set(
            error, WEIR_MISMATCH, "subscription \"%s\" is served by %s, not by %s",
            self->name, serving_text(found.serving), serving_text(self->serving));
    return WEIR_OK;
}

/* A position and a lease for each partition. */
static enum weir_status begin_partitions(struct weir_connection *connection,
                                         struct subscribe_call *self,
                                         struct weir_error *error)
{
    struct weir_lease_key keys[WEIR_PARTITIONS_MAX];
    size_t count = (size_t)self->queue->partitions;
    struct weir_log_position log_position;
    enum weir_status status =
        self->log->ops->start(self->log, connection, self->queue->id,
                              self->start == WEIR_START_NOW, &log_position, error);

    for (size_t i = 0; i < count; i++)
        keys[i] =
            (struct weir_lease_key){self->id, weir_pid(self->queue->id, (int32_t)i)};
    if (status == WEIR_OK)
        status = weir_ack_begin(connection, keys, count, log_position, error);
    if (status == WEIR_OK)
        status = weir_lease_begin(connection, keys, count, error);
    return status;
}

/* Where there is one writer, the transaction is the lock. */
static enum weir_status lock(struct weir_connection *connection,
                             const struct weir_sql *sql, struct weir_error *error)
{
    if (sql->text == NULL)
        return WEIR_OK;
    return weir_connection_execute(connection, sql, NO_VALUES, NULL, error);
}

enum weir_status weir_catalog_lock_alone(struct weir_connection *connection,
                                         struct weir_error *error)
{
    return lock(connection, &ops_of(connection)->lock_alone, error);
}

static enum weir_status subscribe(struct weir_connection *connection, void *argument,
                                  struct weir_error *error)
{
    struct subscribe_call *self = argument;
    enum weir_status status = lock(connection, &ops_of(connection)->lock_shared, error);

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

enum weir_status weir_catalog_subscribe(const struct weir_outbox_log *log,
                                        struct weir_connection *connection,
                                        const struct weir_queue_row *queue,
                                        const char *name, enum weir_serving serving,
                                        enum weir_start start, int64_t *out,
                                        struct weir_error *error)
{
    struct subscribe_call self = {log, queue, name, serving, start, 0};
    struct weir_log_position head;
    enum weir_status status = look_for_subscription(connection, &self, error);

    if (status == WEIR_NO_ROW) {
        /* Now: behind everything that is committed, also what is not readable
         * yet. */
        status = start == WEIR_START_NOW
                     ? weir_log_catch_up(log, connection, &head, error)
                     : WEIR_OK;
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
    struct subscribe_call self = {.queue = queue, .name = name, .serving = serving};
    enum weir_status status = look_for_subscription(connection, &self, error);

    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- removing ---------------------------------------------------------------------- */

#define ITS_SUBSCRIPTIONS "(SELECT id FROM {p}_subscription WHERE queue = {1})"

/* By the unique index, subscription by subscription. */
static const struct weir_sql SQL_COUNT_LETTERS = {
    .name = "count dead letters",
    .text =
        "SELECT count(*) FROM {p}_dead_letter WHERE subscription IN " ITS_SUBSCRIPTIONS
        " AND status IN ('pending', 'reprocessing')",
    .parameters = "i",
};

/* Behind everything that is found by the subscriptions. */
static const struct weir_sql SQL_REMOVE[] = {
    {.name = "remove subscriptions",
     .text = "DELETE FROM {p}_subscription WHERE queue = {1}",
     .parameters = "i"},
    {.name = "remove messages set aside", /* 64: temp_dir.h */
     .text = "DELETE FROM {p}_aside WHERE pid >= {1} * 64"
             " AND pid < {1} * 64 + 64",
     .parameters = "i"},
    {.name = "remove queue",
     .text = "DELETE FROM {p}_queue WHERE id = {1}",
     .parameters = "i"},
};

enum { REMOVE_COUNT = COUNT_OF(SQL_REMOVE) };

struct remove_call {
    const struct weir_outbox_log *log;
    const char *name;
    bool force;
    int64_t duration_us; /* of the mark */
    int64_t queue_id;    /* out */
};

static void add_waiting(void *state, const struct weir_lag *lag)
{
    /* An estimate of none is no promise that there is none. */
    *(int64_t *)state += lag->waiting > 0 ? lag->waiting : lag->estimate;
}

static enum weir_status refuse_busy(struct remove_call *self,
                                    struct weir_connection *connection, int64_t queue,
                                    struct weir_error *error)
{
    int64_t waiting = 0;
    int64_t letters = 0;
    struct weir_lag_question question = {.queue_id = queue,
                                         .look_max = WEIR_LAG_LOOK_MAX};
    enum weir_status status = self->log->ops->lag(self->log, connection, &question,
                                                  add_waiting, &waiting, error);

    if (status == WEIR_OK && waiting == 0)
        status = weir_connection_query_integer(
            connection, &ops_of(connection)->kept_for_nobody, VALUES(weir_integer(queue)),
            &waiting, error);
    if (status == WEIR_OK && waiting > 0)
        return weir_error_set(error, WEIR_BUSY, "queue \"%s\" has messages that wait",
                              self->name);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            connection, &SQL_COUNT_LETTERS, VALUES(weir_integer(queue)), &letters, error);
    if (status == WEIR_OK && letters > 0)
        return weir_error_set(error, WEIR_BUSY, "queue \"%s\" has %lld %s to decide on",
                              self->name, (long long)letters,
                              WEIR_NOUN(letters, "dead letter", "dead letters"));
    return status;
}

enum weir_status weir_queue_run_all(struct weir_connection *connection,
                                    const struct weir_sql *sql, size_t count, int64_t id,
                                    struct weir_error *error)
{
    const struct weir_value value = weir_integer(id);
    struct weir_step steps[WEIR_REMOVE_OF_COUNT];

    for (size_t i = 0; i < count; i++)
        steps[i] = (struct weir_step){.sql = &sql[i], .values = &value, .value_count = 1};
    return weir_connection_execute_steps(connection, steps, count, error);
}

static enum weir_status remove_rows(struct weir_connection *connection, int64_t queue,
                                    struct weir_error *error)
{
    enum weir_status status =
        ops_of(connection)->remove_of_subscriptions(connection, queue, error);

    if (status == WEIR_OK)
        status = weir_backlog_remove(connection, queue, error);
    if (status == WEIR_OK)
        status = weir_queue_run_all(connection, SQL_REMOVE, REMOVE_COUNT, queue, error);
    return status;
}

static const struct weir_sql SQL_MARK = {
    .name = "mark queue",
    .text = "UPDATE {p}_queue SET going_us = {now} + {2} WHERE id = {1}",
    .parameters = "ii",
};
static const struct weir_sql SQL_UNMARK = {
    .name = "unmark queue",
    .text = "UPDATE {p}_queue SET going_us = 0 WHERE id = {1}",
    .parameters = "i",
};

/* Is it still marked, and for long enough to remove it? */
static const struct weir_sql SQL_IS_MARKED = {
    .name = "is the queue marked",
    .text =
        "SELECT count(*) FROM {p}_queue WHERE id = {1} AND going_us > {now} + 5000000",
    .parameters = "i",
};

static enum weir_status lock_name(struct weir_connection *connection, const char *name,
                                  struct weir_error *error)
{
    int64_t id = 0;
    enum weir_status status;

    if (ops_of(connection)->lock_name.text == NULL)
        return WEIR_OK;
    status = weir_connection_query_integer(connection, &ops_of(connection)->lock_name,
                                           VALUES(weir_text(weir_str(name))), &id, error);
    return status == WEIR_NO_ROW ? no_queue(name, error) : status;
}

/* Under the lock: find the queue, and may it go? */
static enum weir_status judge(struct remove_call *self,
                              struct weir_connection *connection,
                              struct weir_queue_row *queue, struct weir_error *error)
{
    enum weir_status status = lock(connection, &ops_of(connection)->lock_alone, error);

    if (status == WEIR_OK)
        status = lock_name(connection, self->name, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, self->name, queue, error);
    if (status == WEIR_OK && !self->force)
        status = refuse_busy(self, connection, queue->id, error);
    return status;
}

static enum weir_status mark_queue(struct weir_connection *connection, void *argument,
                                   struct weir_error *error)
{
    struct remove_call *self = argument;
    struct weir_queue_row queue = {0};
    enum weir_status status = judge(self, connection, &queue, error);

    if (status == WEIR_OK && queue.going)
        return weir_error_set(error, WEIR_BUSY,
                              "queue \"%s\" is being removed by another process",
                              self->name);
    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_MARK,
            VALUES(weir_integer(queue.id), weir_integer(self->duration_us)), NULL, error);
    self->queue_id = queue.id;
    return status;
}

/* The name was not had in any attempt. */
static enum weir_status tell_held(struct weir_connection *connection, const char *name,
                                  enum weir_status status, struct weir_error *error)
{
    if (status != WEIR_LOCKED || ops_of(connection)->lock_name.text == NULL)
        return status;
    return weir_error_set(error, WEIR_BUSY,
                          "queue \"%s\": transactions are open that may have enqueued",
                          name);
}

enum weir_status weir_catalog_mark(const struct weir_outbox_log *log,
                                   struct weir_connection *connection, const char *name,
                                   bool force, int64_t duration_us, int64_t *queue_id,
                                   struct weir_error *error)
{
    struct remove_call remove_call = {
        .log = log, .name = name, .force = force, .duration_us = duration_us};
    enum weir_status status =
        weir_transact_on(connection, mark_queue, &remove_call, error);

    *queue_id = remove_call.queue_id;
    return tell_held(connection, name, status, error);
}

void weir_catalog_unmark(struct weir_connection *connection, int64_t queue_id)
{
    (void)!weir_connection_execute(connection, &SQL_UNMARK,
                                   VALUES(weir_integer(queue_id)), NULL, NULL);
}

static enum weir_status remove_queue(struct weir_connection *connection, void *argument,
                                     struct weir_error *error)
{
    struct remove_call *self = argument;
    struct weir_queue_row queue = {0};
    int64_t marked = 0;
    enum weir_status status = judge(self, connection, &queue, error);

    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            connection, &SQL_IS_MARKED, VALUES(weir_integer(queue.id)), &marked, error);
    if (status == WEIR_OK && marked == 0)
        return weir_error_set(error, WEIR_BUSY,
                              "queue \"%s\" was not removed in time: try again",
                              self->name);
    if (status == WEIR_OK)
        status = remove_rows(connection, queue.id, error);
    if (status == WEIR_OK)
        status = weir_audit_record(connection, 1, error);
    return status;
}

enum weir_status weir_catalog_remove(const struct weir_outbox_log *log,
                                     struct weir_connection *connection, const char *name,
                                     bool force, struct weir_error *error)
{
    struct remove_call remove_call = {.log = log, .name = name, .force = force};
    enum weir_status status =
        weir_transact_on(connection, remove_queue, &remove_call, error);

    return tell_held(connection, name, status, error);
}
