/*
 * inspect.c - see weir/inspect.h.
 *
 * Rows are read into memory first: the lag is asked for on the same connection, which
 * has one set of rows at a time.
 */
#include "weir/inspect.h"

#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "outbox/lease/failure_detector.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "outbox/read_lock_timeout.h"
#include "outbox/traffic.h"

/* Rows that are looked at for a queue that has few messages among many of others, and
 * for how long. */
enum { LOOK_MOST = 20000000, LOOK_MOST_US = 3000000, KEPT_LOOK_MOST = 3000000 };

/* Small tables, read as a whole; open dead letters by their index. */
static const struct weir_sql SQL_QUEUES = {
    .name = "read queues",
    .text = "SELECT q.id, q.name, q.partitions, q.paused, q.backlog_max,"
            " (SELECT count(*) FROM {p}_subscription s WHERE s.queue = q.id),"
            " (SELECT count(*) FROM {p}_aside a"
            "   WHERE a.pid >= q.id * 64 AND a.pid < q.id * 64 + 64),"
            " (SELECT count(*) FROM {p}_dead_letter d"
            "   WHERE d.status IN ('pending', 'reprocessing') AND d.deadline_us <= {now}"
            "   AND d.pid >= q.id * 64 AND d.pid < q.id * 64 + 64),"
            " {now}, q.unread, q.attempts_max, q.retention_us, q.retain_us,"
            " CASE WHEN q.whole_us > 0 THEN q.whole_us ELSE q.created_us END"
            " FROM {p}_queue q WHERE {1} = '' OR q.name = {1} ORDER BY q.name",
    .parameters = "t",
};

/*
 * What a queue without a subscription keeps for future ones: all that the log
 * has of it. By index on the id, which has no partition, so {2} rows are looked at and
 * no more. The limit stands in a sub-select, so that PostgreSQL's planner takes it for
 * small and follows the index; MariaDB takes none there. There messages wait in front
 * of the log too: they count as if they had been moved.
 */
#define KEPT "k.pid >= {1} * 64 AND k.pid < {1} * 64 + 64"
#define READ_KEPT(rows, last, doubled)                                                   \
    {                                                                                    \
        .name = "read kept messages",                                                    \
        .text = "SELECT count(*), count(CASE WHEN " KEPT " THEN 1 END),"                 \
                " min(CASE WHEN " KEPT " THEN k.created_us END),"                        \
                " coalesce(max(k.id) - min(k.id) + 1, 0),"                               \
                " coalesce(" last " - min(k.id) + 1, 0), " doubled " FROM (" rows ") k", \
        .parameters = "ii",                                                              \
    }
#define KEPT_ROWS "SELECT id, pid, created_us FROM {p}_log ORDER BY id LIMIT "
#define LAST_OF_LOG "(SELECT coalesce(max(id), 0) FROM {p}_log)"
#define FIRST_INCOMING "(SELECT id FROM {p}_incoming ORDER BY era, id LIMIT 1)"
#define LAST_INCOMING "(SELECT id FROM {p}_incoming ORDER BY era DESC, id DESC LIMIT 1)"

/* PostgreSQL: of the rows set aside those that stand in the log as well
 * (postgres/sweep.h), by index (id), one look-up in each leaf. */
#define DOUBLED                                                                          \
    "(SELECT count(*) FROM (SELECT a.id FROM {p}_aside a WHERE a.pid >= {1} * 64"        \
    " AND a.pid < {1} * 64 + 64 LIMIT (SELECT {2})) x"                                   \
    " WHERE (SELECT l.id FROM {p}_log l WHERE l.id BETWEEN x.id AND x.id"                \
    " ORDER BY l.id LIMIT 1) IS NOT NULL)"
static const struct weir_sql SQL_KEPT[] = {
    [WEIR_SQLITE] = READ_KEPT(KEPT_ROWS "(SELECT {2})", LAST_OF_LOG, "0"),
    [WEIR_POSTGRESQL] = READ_KEPT(KEPT_ROWS "(SELECT {2})", LAST_OF_LOG, DOUBLED),
    [WEIR_MARIADB] = READ_KEPT(
        "(" KEPT_ROWS "{2}) UNION ALL (SELECT " LAST_OF_LOG " + i.id - " FIRST_INCOMING
        " + 1, i.pid, i.created_us"
        " FROM {p}_incoming i ORDER BY i.era, i.id LIMIT {2})"
        " ORDER BY id LIMIT {2}",
        LAST_OF_LOG " + coalesce(" LAST_INCOMING " - " FIRST_INCOMING " + 1, 0)", "0"),
};

static const struct weir_sql SQL_NAMES = {
    .name = "read queue names",
    .text = "SELECT name FROM {p}_queue ORDER BY name",
    .parameters = "",
};

/* Small tables; leases by their primary key. */
static const struct weir_sql SQL_PROCESSES = {
    .name = "read processes",
    .text =
        "SELECT m.name, q.name, s.name,"
        " (SELECT count(*) FROM {p}_lease l WHERE l.subscription = s.id"
        "   AND l.owner = m.process AND l.until_us > {now}),"
        " m.started_us, m.until_us, {now}, m.delivered, m.rate, m.alive_by, m.library,"
        " m.clock_off_us, m.beat_us, (SELECT count(*) FROM {p}_member o"
        "   WHERE o.name = m.name AND o.process <> m.process AND o.until_us > {now})"
        " FROM {p}_member m JOIN {p}_subscription s ON s.id = m.subscription"
        " JOIN {p}_queue q ON q.id = s.queue"
        " WHERE m.until_us > {now} AND ({1} = '' OR q.name = {1})"
        " ORDER BY q.name, s.name, m.name",
    .parameters = "t",
};

#define PARTITION_COLUMNS                                                                \
    "SELECT s.id, s.name, l.pid, a.seq, a.attempts, a.retry_us, a.error,"                \
    " l.epoch, l.until_us, l.crashes,"                                                   \
    " CASE WHEN l.owner IS NULL THEN '' ELSE (SELECT m.name FROM {p}_member m"           \
    "   WHERE m.subscription = s.id AND m.process = l.owner) END,"                       \
    " {now}"                                                                             \
    " FROM {p}_subscription s JOIN {p}_lease l ON l.subscription = s.id "

/* By the primary keys of leases and acks or, on PostgreSQL, the index of acks
 * backwards. */
#define READ_PARTITIONS(join)                                                            \
    {                                                                                    \
        .name = "read partitions",                                                       \
        .text = PARTITION_COLUMNS join " WHERE s.queue = {1} ORDER BY s.name, l.pid",    \
        .parameters = "i",                                                               \
    }
#define JOIN_POSITION "JOIN {p}_ack a ON a.subscription = s.id AND a.pid = l.pid"
static const struct weir_sql SQL_PARTITIONS[] = {
    [WEIR_SQLITE] = READ_PARTITIONS(JOIN_POSITION),
    [WEIR_POSTGRESQL] = READ_PARTITIONS("JOIN LATERAL (SELECT * FROM {p}_ack x"
                                        " WHERE x.subscription = s.id AND x.pid = l.pid"
                                        " ORDER BY x.version DESC LIMIT 1) a ON true"),
    [WEIR_MARIADB] = READ_PARTITIONS(JOIN_POSITION),
};

/* ---- lag --------------------------------------------------------------------------- */

struct lags {
    const struct weir_heap *heap;
    struct weir_lag *items; /* owned */
    size_t count;
    size_t capacity;
    bool failed; /* no memory */
};

static void keep_lag(void *state, const struct weir_lag *lag)
{
    struct lags *self = state;
    size_t capacity = self->capacity == 0 ? 64 : self->capacity * 2;
    struct weir_lag *items = self->items;

    if (self->count == self->capacity) {
        items = weir_heap_resize(self->heap, self->items, capacity * sizeof *items);
        if (items == NULL) {
            self->failed = true;
            return;
        }
        self->items = items;
        self->capacity = capacity;
    }
    self->items[self->count++] = *lag;
}

static enum weir_status ask_lags(struct weir_outbox *outbox,
                                 struct weir_connection *connection,
                                 const struct weir_lag_question *question,
                                 struct lags *out, struct weir_error *error)
{
    enum weir_status status;

    out->count = 0;
    status =
        outbox->log.ops->lag(&outbox->log, connection, question, keep_lag, out, error);
    if (status == WEIR_OK && out->failed)
        status = weir_no_memory(error, "read lag");
    return status;
}

/* Is it an estimate of a number that would be exact if all rows were read?
 * Then few messages lie among many of others, where a part of the rows tells nothing. */
static bool is_guess(const struct lags *self)
{
    bool estimate = false;
    int64_t waiting = 0;

    for (size_t i = 0; i < self->count; i++) {
        estimate = estimate || self->items[i].estimate;
        waiting += self->items[i].waiting;
    }
    return estimate && waiting < WEIR_LAG_EXACT_MAX;
}

static enum weir_status read_lags(struct weir_outbox *outbox,
                                  struct weir_connection *connection, int64_t queue_id,
                                  struct lags *out, struct weir_error *error)
{
    struct weir_lag_question question = {.queue_id = queue_id,
                                         .look_max = WEIR_LAG_LOOK_MAX,
                                         .look_sure = WEIR_LAG_LOOK_SURE,
                                         .look_us = WEIR_LAG_LOOK_US};
    enum weir_status status = ask_lags(outbox, connection, &question, out, error);

    if (status == WEIR_OK && is_guess(out)) {
        question.look_max = LOOK_MOST;
        question.look_us = LOOK_MOST_US;
        status = ask_lags(outbox, connection, &question, out, error);
    }
    return status;
}

static const struct weir_lag *find_lag(const struct lags *self, int64_t subscription,
                                       int64_t pid)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].subscription == subscription && self->items[i].pid == pid)
            return &self->items[i];
    }
    return NULL;
}

static int64_t age(int64_t since_us, int64_t now_us)
{
    return since_us == 0 || since_us >= now_us ? 0 : now_us - since_us;
}

/* ---- queues ------------------------------------------------------------------------ */

struct queue {
    struct weir_list link;
    struct weir_queue_info info;
    int64_t id;
    int64_t now_us;
    int64_t furthest; /* the subscription for which the most waits; 0: none waits */
    char name[];      /* with a zero */
};

static enum weir_status collect_queues(const struct weir_outbox *outbox,
                                       struct weir_connection *connection,
                                       const char *wanted, struct weir_list *out,
                                       struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_QUEUES, VALUES(weir_text(weir_str(wanted))), &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        struct weir_str name = weir_rows_text(&rows, 1);
        struct queue *queue =
            weir_heap_zalloc(outbox->heap, sizeof *queue + name.size + 1);

        if (queue == NULL) {
            status = weir_no_memory(error, "read queues");
            break;
        }
        memcpy(queue->name, name.data, name.size);
        queue->id = weir_rows_integer(&rows, 0);
        queue->now_us = weir_rows_integer(&rows, 8);
        queue->info = (struct weir_queue_info){
            .name = queue->name,
            .partitions = (int32_t)weir_rows_integer(&rows, 2),
            .paused = weir_rows_boolean(&rows, 3),
            .unread = (enum weir_unread)weir_rows_integer(&rows, 9),
            .backlog_max = weir_rows_integer(&rows, 4),
            .subscriptions = (uint32_t)weir_rows_integer(&rows, 5),
            .aside = weir_rows_integer(&rows, 6),
            .dead_letters = weir_rows_integer(&rows, 7),
            .attempts_max = (uint32_t)weir_rows_integer(&rows, 10),
            .dead_letter_retention_us = weir_rows_integer(&rows, 11),
            .retain_us = weir_rows_integer(&rows, 12),
            .whole_from_us = weir_rows_integer(&rows, 13),
        };
        weir_list_append(out, &queue->link);
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* The subscription that has the most to do stands for the queue. */
static void sum_up(struct queue *queue, const struct lags *lags)
{
    for (size_t i = 0; i < lags->count; i++) {
        int64_t waiting = 0;

        for (size_t k = 0; k < lags->count; k++) {
            if (lags->items[k].subscription == lags->items[i].subscription)
                waiting += lags->items[k].waiting;
        }
        if (waiting > queue->info.waiting) {
            queue->info.waiting = waiting;
            queue->furthest = lags->items[i].subscription;
        }
        queue->info.waiting_is_estimate |= lags->items[i].estimate;
        if (age(lags->items[i].oldest_us, queue->now_us) > queue->info.oldest_age_us)
            queue->info.oldest_age_us = age(lags->items[i].oldest_us, queue->now_us);
    }
}

static void note_kept(struct queue *queue, struct weir_rows *rows, int64_t looked_max)
{
    int64_t kept = weir_rows_integer(rows, 1);
    int64_t looked_at = weir_rows_integer(rows, 3);
    int64_t all = weir_rows_integer(rows, 4);

    queue->info.oldest_age_us = age(weir_rows_integer(rows, 2), queue->now_us);
    queue->info.waiting_is_estimate = weir_rows_integer(rows, 0) == looked_max;
    if (queue->info.waiting_is_estimate && looked_at > 0) /* the rest is like these */
        kept = (int64_t)((double)kept * ((double)all / (double)looked_at));
    queue->info.waiting = kept + queue->info.aside - weir_rows_integer(rows, 5);
}

static enum weir_status look_at_kept(const struct weir_outbox *outbox,
                                     struct weir_connection *connection,
                                     struct queue *queue, int64_t row_max,
                                     struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_KEPT[outbox->log.ops->engine],
        VALUES(weir_integer(queue->id), weir_integer(row_max)), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        note_kept(queue, &rows, row_max);
    weir_rows_close(&rows);
    return status;
}

/* Few among the first rows tells nothing of the others. */
static enum weir_status count_kept(const struct weir_outbox *outbox,
                                   struct weir_connection *connection,
                                   struct queue *queue, struct weir_error *error)
{
    enum weir_status status =
        look_at_kept(outbox, connection, queue, WEIR_LAG_EXACT_MAX + 1, error);

    if (status == WEIR_OK && queue->info.waiting_is_estimate &&
        queue->info.waiting < WEIR_LAG_EXACT_MAX)
        status = look_at_kept(outbox, connection, queue, KEPT_LOOK_MOST, error);
    return status;
}

/* Only what is set aside is known when the rest could be counted only by waiting for the
 * sweep. */
static enum weir_status count_kept_at_once(const struct weir_outbox *outbox,
                                           struct weir_connection *connection,
                                           struct queue *queue, struct weir_error *error)
{
    bool locked = false;
    enum weir_status status = weir_read_lock_timeout_set(connection, error);

    if (status == WEIR_OK)
        status = weir_read_lock_timeout_reset(
            connection, count_kept(outbox, connection, queue, error), &locked, error);
    if (locked) {
        queue->info.waiting = queue->info.aside;
        queue->info.waiting_is_estimate = true;
    }
    return status;
}

/* What waits in a queue, for the subscription that has the most to do or for future
 * ones. */
static enum weir_status measure(struct weir_outbox *self,
                                struct weir_connection *connection, struct queue *queue,
                                struct lags *lags, struct weir_error *error)
{
    enum weir_status status;

    if (queue->info.subscriptions == 0)
        return queue->info.unread == WEIR_UNREAD_DROP
                   ? WEIR_OK
                   : count_kept_at_once(self, connection, queue, error);
    status = read_lags(self, connection, queue->id, lags, error);
    if (status == WEIR_OK)
        sum_up(queue, lags);
    return status;
}

enum weir_status weir_outbox_count_waiting(struct weir_outbox *self,
                                           struct weir_connection *connection,
                                           const char *queue, int64_t *waiting,
                                           struct weir_error *error)
{
    struct lags lags = {.heap = self->heap};
    struct weir_list queues;
    struct weir_list *link;
    enum weir_status status;

    *waiting = 0;
    weir_list_init(&queues);
    status = collect_queues(self, connection, queue, &queues, error);
    while ((link = weir_list_take_first(&queues)) != NULL) {
        struct queue *found = WEIR_CONTAINER_OF(link, struct queue, link);

        if (status == WEIR_OK)
            status = measure(self, connection, found, &lags, error);
        *waiting = found->info.waiting;
        weir_heap_free(self->heap, found);
    }
    weir_heap_free(self->heap, lags.items);
    return status;
}

/* 0 when it could be counted only by waiting for the sweep. */
static enum weir_status measure_in(struct weir_connection *connection,
                                   struct queue *queue, struct weir_error *error)
{
    bool locked = false;
    enum weir_status status = weir_read_lock_timeout_set(connection, error);

    if (status == WEIR_OK)
        status = weir_read_lock_timeout_reset(
            connection,
            weir_traffic_read_in(connection, queue->id, &queue->info.in_per_s, error),
            &locked, error);
    return status;
}

static enum weir_status measure_rates(struct weir_connection *connection,
                                      struct queue *queue, struct weir_error *error)
{
    enum weir_status status = measure_in(connection, queue, error);

    if (status == WEIR_OK)
        status = weir_traffic_read_out(connection, queue->id, queue->furthest,
                                       &queue->info.out_per_s, error);
    return status;
}

/* All queues for an empty name. *count gets how many there were. */
static enum weir_status read_queues(struct weir_outbox *self, const char *wanted,
                                    weir_queue_info_fn visit, void *state, size_t *count,
                                    struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct lags lags = {.heap = self->heap};
    struct weir_list queues;
    struct weir_list *link;
    enum weir_status status = weir_outbox_connect(self, &connection, error);

    *count = 0;
    weir_list_init(&queues);
    if (status == WEIR_OK)
        status = collect_queues(self, connection, wanted, &queues, error);
    while ((link = weir_list_take_first(&queues)) != NULL) {
        struct queue *queue = WEIR_CONTAINER_OF(link, struct queue, link);

        if (status == WEIR_OK)
            status = measure(self, connection, queue, &lags, error);
        if (status == WEIR_OK)
            status = measure_rates(connection, queue, error);
        if (status == WEIR_OK) {
            visit(state, &queue->info);
            (*count)++;
        }
        weir_heap_free(self->heap, queue);
    }
    weir_heap_free(self->heap, lags.items);
    weir_db_release(self->db, connection);
    return status;
}

enum weir_status weir_outbox_read_queues(struct weir_outbox *self,
                                         weir_queue_info_fn visit, void *state,
                                         struct weir_error *error)
{
    size_t count;

    return read_queues(self, "", visit, state, &count, error);
}

enum weir_status weir_outbox_read_queue(struct weir_outbox *self, const char *queue,
                                        weir_queue_info_fn visit, void *state,
                                        struct weir_error *error)
{
    size_t count = 0;
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    if (status == WEIR_OK)
        status = read_queues(self, queue, visit, state, &count, error);
    if (status == WEIR_OK && count == 0)
        status =
            weir_error_set(error, WEIR_NOT_FOUND, "there is no queue \"%.100s\"", queue);
    return status;
}

/* A column as a text that ends in a zero. NULL: no memory. */
static char *copy_text(const struct weir_heap *heap, struct weir_rows *rows,
                       size_t column)
{
    struct weir_str text = weir_rows_text(rows, column);

    return weir_heap_copy(heap, text.data, text.size);
}

enum weir_status weir_outbox_read_queue_names(struct weir_outbox *self,
                                              weir_queue_name_fn visit, void *state,
                                              struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_rows rows = {.connection = NULL};
    enum weir_status status = weir_outbox_connect(self, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_query(connection, &SQL_NAMES, NO_VALUES, &rows, error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK) {
        char *name = copy_text(self->heap, &rows, 0);

        if (name != NULL)
            visit(state, name);
        else
            status = weir_no_memory(error, "read queues");
        weir_heap_free(self->heap, name);
    }
    weir_rows_close(&rows);
    weir_db_release(self->db, connection);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

/* ---- partitions -------------------------------------------------------------------- */

static void fill_lag(struct weir_partition_info *info, const struct weir_lag *lag,
                     int64_t now_us)
{
    if (lag == NULL)
        return;
    info->waiting = lag->waiting;
    info->waiting_is_estimate = lag->estimate;
    info->oldest_age_us = age(lag->oldest_us, now_us);
}

static enum weir_status visit_partition(const struct weir_outbox *outbox,
                                        const char *queue, struct weir_rows *rows,
                                        const struct lags *lags,
                                        weir_partition_info_fn visit, void *state,
                                        struct weir_error *error)
{
    char *subscription = copy_text(outbox->heap, rows, 1);
    char *last_error = copy_text(outbox->heap, rows, 6);
    char *owner = weir_rows_is_null(rows, 10) ? weir_heap_copy(outbox->heap, "?", 1)
                                              : copy_text(outbox->heap, rows, 10);
    int64_t pid = weir_rows_integer(rows, 2);
    int64_t now_us = weir_rows_integer(rows, 11);
    enum weir_status status = WEIR_OK;

    if (subscription == NULL || last_error == NULL || owner == NULL) {
        status = weir_no_memory(error, "read partitions");
    } else {
        struct weir_partition_info info = {
            .queue = queue,
            .subscription = subscription,
            .partition = weir_pid_partition(pid),
            .seq = weir_rows_integer(rows, 3),
            .attempts = (uint32_t)weir_rows_integer(rows, 4),
            .retry_in_us = age(now_us, weir_rows_integer(rows, 5)),
            .last_error = last_error,
            .owner = owner,
            .epoch = weir_rows_integer(rows, 7),
            .crashes = (uint32_t)weir_rows_integer(rows, 9),
        };

        if (owner[0] != '\0')
            info.lease_left_us = age(now_us, weir_rows_integer(rows, 8));
        fill_lag(&info, find_lag(lags, weir_rows_integer(rows, 0), pid), now_us);
        visit(state, &info);
    }
    weir_heap_free(outbox->heap, subscription);
    weir_heap_free(outbox->heap, last_error);
    weir_heap_free(outbox->heap, owner);
    return status;
}

static enum weir_status
visit_partitions(const struct weir_outbox *outbox, struct weir_connection *connection,
                 const char *queue, int64_t queue_id, const struct lags *lags,
                 weir_partition_info_fn visit, void *state, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_PARTITIONS[outbox->log.ops->engine],
                              VALUES(weir_integer(queue_id)), &rows, error);

    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = visit_partition(outbox, queue, &rows, lags, visit, state, error);
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}

enum weir_status weir_outbox_read_partitions(struct weir_outbox *self, const char *queue,
                                             weir_partition_info_fn visit, void *state,
                                             struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct lags lags = {.heap = self->heap};
    struct weir_queue_row row;
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    if (status == WEIR_OK)
        status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, queue, &row, error);
    if (status == WEIR_OK)
        status = read_lags(self, connection, row.id, &lags, error);
    if (status == WEIR_OK)
        status =
            visit_partitions(self, connection, queue, row.id, &lags, visit, state, error);
    weir_heap_free(self->heap, lags.items);
    weir_db_release(self->db, connection);
    return status;
}

/* ---- processes --------------------------------------------------------------------- */

/* On SQLite a process writes its own clock: one that beats in the future is ahead. */
static int64_t clock_off(struct weir_rows *rows, int64_t now_us)
{
    int64_t ahead_us = weir_rows_integer(rows, 12) - now_us;

    return ahead_us > 0 ? ahead_us : weir_rows_integer(rows, 11);
}

static enum weir_status visit_process(const struct weir_outbox *outbox,
                                      struct weir_rows *rows, weir_process_info_fn visit,
                                      void *state, struct weir_error *error)
{
    char *name = copy_text(outbox->heap, rows, 0);
    char *queue = copy_text(outbox->heap, rows, 1);
    char *subscription = copy_text(outbox->heap, rows, 2);
    char *library = copy_text(outbox->heap, rows, 10);
    int64_t now_us = weir_rows_integer(rows, 6);
    enum weir_status status = WEIR_OK;

    if (name == NULL || queue == NULL || subscription == NULL || library == NULL)
        status = weir_no_memory(error, "read processes");
    else
        visit(state,
              &(struct weir_process_info){
                  .name = name,
                  .queue = queue,
                  .subscription = subscription,
                  .partitions = (uint32_t)weir_rows_integer(rows, 3),
                  .up_us = age(weir_rows_integer(rows, 4), now_us),
                  .alive_us = age(now_us, weir_rows_integer(rows, 5)),
                  .delivered = (uint64_t)weir_rows_integer(rows, 7),
                  .out_per_s = weir_rows_real(rows, 8),
                  .alive_by = (enum weir_alive_by)weir_rows_integer(rows, 9),
                  .library = library,
                  .library_is_older = weir_failure_detector_is_older(weir_str(library)),
                  .clock_off_us = clock_off(rows, now_us),
                  .name_used_twice = weir_rows_integer(rows, 13) > 0,
              });
    weir_heap_free(outbox->heap, name);
    weir_heap_free(outbox->heap, queue);
    weir_heap_free(outbox->heap, subscription);
    weir_heap_free(outbox->heap, library);
    return status;
}

enum weir_status weir_outbox_read_processes(struct weir_outbox *self, const char *queue,
                                            weir_process_info_fn visit, void *state,
                                            struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_rows rows = {.connection = NULL};
    enum weir_status status = weir_outbox_connect(self, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_query(
            connection, &SQL_PROCESSES,
            VALUES(weir_text(weir_str(queue != NULL ? queue : ""))), &rows, error);
    while (status == WEIR_OK && (status = weir_rows_next(&rows, error)) == WEIR_OK)
        status = visit_process(self, &rows, visit, state, error);
    weir_rows_close(&rows);
    weir_db_release(self->db, connection);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
