/*
 * subscription.c - see subscription.h, and the operators' functions of
 * weir/subscription.h.
 *
 * A subscription is removed by deleting its leases first: the row of a lease is what
 * every ack, mark and renewal compares with, so a process that still delivers is refused
 * from then on. Positions on PostgreSQL stay where they are, in a table that is never
 * vacuumed; the rotation carries forward only what belongs to a subscription. Numbers of
 * subscriptions are never used again.
 */
#include "outbox/subscription/subscription.h"
#include "outbox/engine.h"

#include <inttypes.h>
#include <string.h>

#include "base/count.h"
#include "base/fault_point.h"
#include "base/noun.h"
#include "db/query.h"
#include "db/transact.h"
#include "outbox/audit/audit.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "weir/subscription.h"

/* By the unique index. */
static const struct weir_sql SQL_FIND = {
    .name = "find subscription",
    .text = "SELECT id FROM {p}_subscription WHERE queue = {1} AND name = {2}",
    .parameters = "it",
};

static const struct weir_sql SQL_IS_PAUSED = {
    .name = "is the subscription paused",
    .text = "SELECT paused FROM {p}_subscription WHERE id = {1}",
    .parameters = "i",
};

static const struct weir_sql SQL_PAUSE = {
    .name = "pause subscription",
    .text = "UPDATE {p}_subscription SET paused = {2} WHERE id = {1}",
    .parameters = "if",
};

/* In the order in which acks lock them (ack.c). SQLite: the transaction is the lock. */
static const struct weir_sql SQL_LOCK_LEASES = {
    .name = "lock leases of the subscription",
    .text = "SELECT pid FROM {p}_lease WHERE subscription = {1} ORDER BY pid FOR UPDATE",
    .parameters = "i",
};

/* Live processes: how many, one of them, and how long all of them count as alive at
 * most. */
static const struct weir_sql SQL_SERVED = {
    .name = "find processes of the subscription",
    .text = "SELECT count(*), coalesce(min(m.name), ''),"
            " coalesce(max(m.until_us) - {now}, 0) FROM {p}_member m"
            " WHERE m.subscription = {1} AND m.until_us > {now}",
    .parameters = "i",
};

/* By the unique index. */
static const struct weir_sql SQL_COUNT_LETTERS = {
    .name = "count dead letters of the subscription",
    .text = "SELECT count(*) FROM {p}_dead_letter WHERE subscription = {1}"
            " AND status IN ('pending', 'reprocessing')",
    .parameters = "i",
};

/* By keys. Leases first; positions, which are last, stay where they are appended. */
static const struct weir_sql SQL_REMOVE[] = {
    {.name = "remove leases",
     .text = "DELETE FROM {p}_lease WHERE subscription = {1}",
     .parameters = "i"},
    {.name = "remove members",
     .text = "DELETE FROM {p}_member WHERE subscription = {1}",
     .parameters = "i"},
    {.name = "remove dead letters",
     .text = "DELETE FROM {p}_dead_letter WHERE subscription = {1}",
     .parameters = "i"},
    {.name = "remove subscription",
     .text = "DELETE FROM {p}_subscription WHERE id = {1}",
     .parameters = "i"},
    {.name = "remove positions",
     .text = "DELETE FROM {p}_ack WHERE subscription = {1}",
     .parameters = "i"},
};
enum { REMOVE_COUNT = COUNT_OF(SQL_REMOVE) };

/* By primary keys. */
static const struct weir_sql SQL_CHECK = {
    .name = "check subscription",
    .text = "SELECT (SELECT count(*) FROM {p}_queue WHERE id = {1}),"
            " (SELECT count(*) FROM {p}_subscription WHERE id = {2})",
    .parameters = "ii",
};

/* ---- finding and locking ----------------------------------------------------------- */

enum weir_status weir_subscription_find(struct weir_connection *connection,
                                        const char *queue, const char *name,
                                        struct weir_subscription_row *out,
                                        struct weir_error *error)
{
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    if (status == WEIR_OK)
        status = weir_queue_name_check("subscription name", name, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, queue, &out->queue, error);
    if (status == WEIR_OK)
        status = weir_connection_query_integer(
            connection, &SQL_FIND,
            VALUES(weir_integer(out->queue.id), weir_text(weir_str(name))), &out->id,
            error);
    if (status == WEIR_NO_ROW)
        status =
            weir_error_set(error, WEIR_NOT_FOUND,
                           "queue \"%.80s\" has no subscription \"%.80s\"", queue, name);
    return status;
}

enum weir_status weir_subscription_lock(struct weir_connection *connection,
                                        const char *queue, const char *name,
                                        struct weir_subscription_row *out,
                                        struct weir_error *error)
{
    enum weir_status status = weir_catalog_lock_alone(connection, error);

    if (status == WEIR_OK)
        status = weir_subscription_find(connection, queue, name, out, error);
    if (status == WEIR_OK && !weir_connection_traits(connection)->one_writer)
        status = weir_connection_execute(connection, &SQL_LOCK_LEASES,
                                         VALUES(weir_integer(out->id)), NULL, error);
    return status;
}

enum weir_status weir_subscription_check(struct weir_connection *connection,
                                         int64_t queue_id, int64_t subscription_id,
                                         const char *queue, const char *name,
                                         struct weir_error *error)
{
    struct found {
        bool queue;
        bool subscription;
    } found = {false, false};
    static const struct weir_column FOUND[] = {
        COLUMN(struct found, queue, FLAG),
        COLUMN(struct found, subscription, FLAG),
    };
    enum weir_status status =
        weir_query_one(connection, &SQL_CHECK,
                       VALUES(weir_integer(queue_id), weir_integer(subscription_id)),
                       INTO(FOUND, &found), error);

    if (status != WEIR_OK || found.subscription)
        return status;
    if (!found.queue)
        return weir_error_set(error, WEIR_NOT_FOUND, "there is no queue \"%.80s\"",
                              queue);
    return weir_error_set(error, WEIR_NOT_FOUND,
                          "subscription \"%.80s\" of queue \"%.80s\" was removed", name,
                          queue);
}

/* ---- pausing ----------------------------------------------------------------------- */

struct pause_call {
    const char *queue;
    const char *name;
    bool paused;
};

struct paused {
    bool paused;
};
static const struct weir_column PAUSED[] = {
    COLUMN(struct paused, paused, BOOLEAN),
};

static const char *pause_word(bool paused)
{
    return paused ? "paused" : "delivered";
}

static enum weir_status record_pause(struct weir_connection *connection, bool before,
                                     bool now, struct weir_error *error)
{
    weir_audit_note(pause_word(before), pause_word(now));
    return weir_audit_record(connection, before != now, error);
}

static enum weir_status set_paused(struct weir_connection *connection, void *argument,
                                   struct weir_error *error)
{
    const struct pause_call *self = argument;
    struct weir_subscription_row row;
    struct paused before = {false};
    enum weir_status status =
        weir_subscription_find(connection, self->queue, self->name, &row, error);

    if (status == WEIR_OK && weir_audit_is_on())
        status = weir_query_one(connection, &SQL_IS_PAUSED, VALUES(weir_integer(row.id)),
                                INTO(PAUSED, &before), error);
    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_PAUSE,
            VALUES(weir_integer(row.id), weir_boolean(self->paused)), NULL, error);
    if (status == WEIR_OK)
        status = record_pause(connection, before.paused, self->paused, error);
    return status;
}

enum weir_status weir_subscription_pause(struct weir_connection *connection,
                                         const char *queue, const char *name, bool paused,
                                         struct weir_error *error)
{
    struct pause_call call = {queue, name, paused};

    return weir_audit_is_on() ? weir_transact_on(connection, set_paused, &call, error)
                              : set_paused(connection, &call, error);
}

/* ---- removing ---------------------------------------------------------------------- */

struct remove_call {
    const char *queue;
    const char *name;
    bool force;
};

struct served {
    int64_t processes;
    struct weir_str name; /* of one of them */
    int64_t alive_us;
};
static const struct weir_column SERVED[] = {
    COLUMN(struct served, processes, INTEGER),
    COLUMN(struct served, name, TEXT),
    COLUMN(struct served, alive_us, INTEGER),
};

static enum weir_status refuse_served(void *state, struct weir_rows *rows,
                                      struct weir_error *error)
{
    const struct remove_call *self = state;
    struct served row;
    enum weir_status status = weir_row_read(rows, COLUMNS(SERVED), &row, error);
    int64_t others, alive_s;
    struct weir_str process;

    if (status != WEIR_OK || row.processes == 0)
        return status;
    others = row.processes - 1;
    alive_s = row.alive_us / 1000000 + 1;
    process = row.name;
    if (others == 0)
        return weir_error_set(
            error, WEIR_BUSY,
            "subscription \"%.60s\" of queue \"%.60s\" is served by "
            "%.*s, which counts as alive for up to %" PRId64 " s without a sign of life",
            self->name, self->queue, (int)(process.size < 80 ? process.size : 80),
            process.data, alive_s);
    return weir_error_set(error, WEIR_BUSY,
                          "subscription \"%.60s\" of queue \"%.60s\" is served by %.*s "
                          "and %" PRId64 " other %s",
                          self->name, self->queue,
                          (int)(process.size < 80 ? process.size : 80), process.data,
                          others, WEIR_NOUN(others, "process", "processes"));
}

static enum weir_status check_served(const struct remove_call *self,
                                     struct weir_connection *connection, int64_t id,
                                     struct weir_error *error)
{
    struct remove_call call = *self;

    return weir_query_one(connection, &SQL_SERVED, VALUES(weir_integer(id)),
                          refuse_served, &call, error);
}

static enum weir_status check_letters(const struct remove_call *self,
                                      struct weir_connection *connection, int64_t id,
                                      struct weir_error *error)
{
    int64_t letters = 0;
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_COUNT_LETTERS, VALUES(weir_integer(id)), &letters, error);

    if (status == WEIR_OK && letters > 0)
        return weir_error_set(error, WEIR_BUSY,
                              "subscription \"%.80s\" of queue \"%.80s\" has %" PRId64
                              " %s to decide on",
                              self->name, self->queue, letters,
                              WEIR_NOUN(letters, "dead letter", "dead letters"));
    return status;
}

static enum weir_status remove_rows(struct weir_connection *connection, int64_t id,
                                    struct weir_error *error)
{
    const struct weir_value value = weir_integer(id);
    struct weir_step steps[REMOVE_COUNT];
    size_t count = REMOVE_COUNT;

    if (weir_outbox_engine_of(connection)->positions_are_appended)
        count--;
    for (size_t i = 0; i < count; i++)
        steps[i] =
            (struct weir_step){.sql = &SQL_REMOVE[i], .values = &value, .value_count = 1};
    return weir_connection_execute_steps(connection, steps, count, error);
}

static enum weir_status remove_locked(struct weir_connection *connection, void *argument,
                                      struct weir_error *error)
{
    const struct remove_call *self = argument;
    struct weir_subscription_row row;
    enum weir_status status =
        weir_subscription_lock(connection, self->queue, self->name, &row, error);

    if (status == WEIR_OK && !self->force)
        status = check_served(self, connection, row.id, error);
    if (status == WEIR_OK && !self->force)
        status = check_letters(self, connection, row.id, error);
    if (status == WEIR_OK)
        status = remove_rows(connection, row.id, error);
    if (status == WEIR_OK)
        status = weir_audit_record(connection, 1, error);
    (void)WEIR_POINT(weir_connection_config(connection)->points, "subscription.removing");
    return status;
}

enum weir_status weir_subscription_remove(struct weir_connection *connection,
                                          const char *queue, const char *name, bool force,
                                          struct weir_error *error)
{
    struct remove_call remove_call = {queue, name, force};

    return weir_transact_on(connection, remove_locked, &remove_call, error);
}

/* ---- operators --------------------------------------------------------------------- */

static void note_paused(struct weir_outbox *self, const char *queue, const char *name,
                        bool paused)
{
    for (size_t i = 0; i < self->subscriber_count && self->partition_table != NULL; i++) {
        struct weir_subscriber *subscriber = self->subscribers[i];

        if (strcmp(subscriber->queue, queue) == 0 &&
            strcmp(subscriber->subscription, name) == 0)
            weir_partition_table_pause_subscriber(self->partition_table, subscriber,
                                                  paused);
    }
}

static enum weir_status pause(struct weir_outbox *self, const char *queue,
                              const char *name, bool paused, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    char target[WEIR_AUDIT_TARGET_SIZE];
    struct weir_audit_call audit;
    enum weir_status status;

    weir_audit_begin(&audit, self->db, NULL,
                     paused ? "subscription.pause" : "subscription.resume",
                     weir_audit_pair(queue, name, target));
    status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_subscription_pause(connection, queue, name, paused, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_OK)
        note_paused(self, queue, name, paused);
    return weir_audit_end(&audit, status, error);
}

enum weir_status weir_outbox_pause_subscription(struct weir_outbox *self,
                                                const char *queue,
                                                const char *subscription,
                                                struct weir_error *error)
{
    return pause(self, queue, subscription, true, error);
}

enum weir_status weir_outbox_resume_subscription(struct weir_outbox *self,
                                                 const char *queue,
                                                 const char *subscription,
                                                 struct weir_error *error)
{
    return pause(self, queue, subscription, false, error);
}

enum weir_status weir_outbox_remove_subscription(struct weir_outbox *self,
                                                 const char *queue,
                                                 const char *subscription, bool force,
                                                 struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    char target[WEIR_AUDIT_TARGET_SIZE];
    struct weir_audit_call audit;
    enum weir_status status;

    weir_audit_begin(&audit, self->db, NULL, "subscription.remove",
                     weir_audit_pair(queue, subscription, target));
    status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_subscription_remove(connection, queue, subscription, force, error);
    weir_db_release(self->db, connection);
    return weir_audit_end(&audit, status, error);
}

enum weir_status weir_outbox_check_subscriptions(struct weir_outbox *self,
                                                 struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_outbox_connect(self, &connection, error);

    for (size_t i = 0; i < self->subscriber_count && status == WEIR_OK; i++) {
        const struct weir_subscriber *subscriber = self->subscribers[i];

        status = weir_subscription_check(connection, subscriber->queue_id,
                                         subscriber->subscription_id, subscriber->queue,
                                         subscriber->subscription, error);
    }
    weir_db_release(self->db, connection);
    return status;
}
