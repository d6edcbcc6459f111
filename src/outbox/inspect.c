/*
 * inspect.c - see weir/inspect.h.
 *
 * Rows are read into memory first: the lag is asked for on the same connection, which
 * has one set of rows at a time.
 */
#include "weir/inspect.h"

#include <string.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "db/query.h"
#include "outbox/inspect_sql.h"
#include "outbox/lease/failure_detector.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "outbox/read_lock_timeout.h"
#include "outbox/traffic.h"

/* Rows that are looked at for a queue that has few messages among many of others, and
 * for how long. */
enum { LOOK_MOST = 20000000, LOOK_MOST_US = 3000000, KEPT_LOOK_MOST = 3000000 };

enum { TEXTS_SIZE_MAX = 16 * 1024 * 1024 }; /* of one row */

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

/* The order of SQL_QUEUES. */
struct queue_columns {
    int64_t id;
    int64_t now_us;
    struct weir_str name;
    struct weir_queue_info info;
};
static const struct weir_column QUEUE[] = {
    COLUMN(struct queue_columns, id, INTEGER),
    COLUMN(struct queue_columns, name, TEXT),
    COLUMN(struct queue_columns, info.partitions, INTEGER),
    COLUMN(struct queue_columns, info.paused, BOOLEAN),
    COLUMN(struct queue_columns, info.backlog_max, INTEGER),
    COLUMN(struct queue_columns, info.subscriptions, INTEGER),
    COLUMN(struct queue_columns, info.aside, INTEGER),
    COLUMN(struct queue_columns, info.dead_letters, INTEGER),
    COLUMN(struct queue_columns, now_us, INTEGER),
    COLUMN_ENUM(struct queue_columns, info.unread, INT32_MAX),
    COLUMN(struct queue_columns, info.attempts_max, INTEGER),
    COLUMN(struct queue_columns, info.dead_letter_retention_us, INTEGER),
    COLUMN(struct queue_columns, info.retain_us, INTEGER),
    COLUMN(struct queue_columns, info.whole_from_us, INTEGER),
};

struct collecting {
    const struct weir_heap *heap;
    struct weir_list *queues;
};

static enum weir_status collect_queue(void *state, struct weir_rows *rows,
                                      struct weir_error *error)
{
    const struct collecting *self = state;
    struct queue_columns row = {.id = 0};
    enum weir_status status = weir_row_read(rows, COLUMNS(QUEUE), &row, error);
    struct queue *queue;

    if (status != WEIR_OK)
        return status;
    queue = weir_heap_zalloc(self->heap, sizeof *queue + row.name.size + 1);
    if (queue == NULL)
        return weir_no_memory(error, "read queues");
    memcpy(queue->name, row.name.data, row.name.size);
    queue->id = row.id;
    queue->now_us = row.now_us;
    queue->info = row.info;
    queue->info.name = queue->name;
    weir_list_append(self->queues, &queue->link);
    return WEIR_OK;
}

static enum weir_status collect_queues(const struct weir_outbox *outbox,
                                       struct weir_connection *connection,
                                       const char *wanted, struct weir_list *out,
                                       struct weir_error *error)
{
    struct collecting collecting = {outbox->heap, out};

    return weir_query_each(connection, &SQL_QUEUES, VALUES(weir_text(weir_str(wanted))),
                           collect_queue, &collecting, error);
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

struct kept {
    int64_t looked_at; /* rows */
    int64_t kept;
    int64_t oldest_us;
    int64_t looked_at_ids;
    int64_t all_ids;
    int64_t doubled;
};
static const struct weir_column KEPT_ROW[] = {
    COLUMN(struct kept, looked_at, INTEGER), COLUMN(struct kept, kept, INTEGER),
    COLUMN(struct kept, oldest_us, INTEGER), COLUMN(struct kept, looked_at_ids, INTEGER),
    COLUMN(struct kept, all_ids, INTEGER),   COLUMN(struct kept, doubled, INTEGER),
};

static void note_kept(struct queue *queue, const struct kept *row, int64_t looked_max)
{
    int64_t kept = row->kept;

    queue->info.oldest_age_us = age(row->oldest_us, queue->now_us);
    queue->info.waiting_is_estimate = row->looked_at == looked_max;
    if (queue->info.waiting_is_estimate && row->looked_at_ids > 0)
        kept = (int64_t)((double)kept * /* the rest is like these */
                         ((double)row->all_ids / (double)row->looked_at_ids));
    queue->info.waiting = kept + queue->info.aside - row->doubled;
}

static enum weir_status look_at_kept(const struct weir_outbox *outbox,
                                     struct weir_connection *connection,
                                     struct queue *queue, int64_t row_max,
                                     struct weir_error *error)
{
    struct kept kept;
    enum weir_status status =
        weir_query_one(connection, &outbox->engine->inspect->kept,
                       VALUES(weir_integer(queue->id), weir_integer(row_max)),
                       INTO(KEPT_ROW, &kept), error);

    if (status == WEIR_OK)
        note_kept(queue, &kept, row_max);
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

/* The receiver of rows, one by one; texts end in a zero. */
struct info_visitor {
    const struct weir_outbox *outbox;
    struct weir_arena texts; /* of the current row */
    const char *queue;
    const struct lags *lags;
    weir_queue_name_fn name;
    weir_partition_info_fn partition;
    weir_process_info_fn process;
    void *state;
};

static enum weir_status show_name(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct info_visitor *self = state;
    struct weir_str name = weir_rows_text(rows, 0);

    weir_arena_reset(&self->texts);
    if (!weir_arena_keep(&self->texts, &name))
        return weir_no_memory(error, "read queues");
    self->name(self->state, name.data);
    return WEIR_OK;
}

enum weir_status weir_outbox_read_queue_names(struct weir_outbox *self,
                                              weir_queue_name_fn visit, void *state,
                                              struct weir_error *error)
{
    struct info_visitor visitor = {.name = visit, .state = state};
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_outbox_connect(self, &connection, error);

    weir_arena_init(&visitor.texts, self->heap, TEXTS_SIZE_MAX);
    if (status == WEIR_OK)
        status = weir_query_each(connection, &SQL_NAMES, NO_VALUES, show_name, &visitor,
                                 error);
    weir_arena_fini(&visitor.texts);
    weir_db_release(self->db, connection);
    return status;
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

/* The order of WEIR_PARTITION_COLUMNS. */
struct partition_columns {
    int64_t subscription_id;
    struct weir_str subscription;
    int64_t pid;
    struct weir_str error;
    int64_t retry_us;
    int64_t until_us;
    struct weir_str owner; /* without data: one that is gone */
    int64_t now_us;
    struct weir_partition_info info;
};
static const struct weir_column PARTITION[] = {
    COLUMN(struct partition_columns, subscription_id, INTEGER),
    COLUMN(struct partition_columns, subscription, TEXT),
    COLUMN(struct partition_columns, pid, INTEGER),
    COLUMN(struct partition_columns, info.seq, INTEGER),
    COLUMN(struct partition_columns, info.attempts, INTEGER),
    COLUMN(struct partition_columns, retry_us, INTEGER),
    COLUMN(struct partition_columns, error, TEXT),
    COLUMN(struct partition_columns, info.epoch, INTEGER),
    COLUMN(struct partition_columns, until_us, INTEGER),
    COLUMN(struct partition_columns, info.crashes, INTEGER),
    COLUMN(struct partition_columns, owner, TEXT_OR_NONE),
    COLUMN(struct partition_columns, now_us, INTEGER),
};

static enum weir_status show_partition(void *state, struct weir_rows *rows,
                                       struct weir_error *error)
{
    struct info_visitor *self = state;
    struct partition_columns row = {.pid = 0};
    struct weir_partition_info *info = &row.info;
    enum weir_status status = weir_row_read(rows, COLUMNS(PARTITION), &row, error);

    weir_arena_reset(&self->texts);
    if (status == WEIR_OK)
        status = weir_row_keep(COLUMNS(PARTITION), &row, &self->texts, error);
    if (status != WEIR_OK)
        return status;
    info->queue = self->queue;
    info->subscription = row.subscription.data;
    info->partition = weir_pid_partition(row.pid);
    info->retry_in_us = age(row.now_us, row.retry_us);
    info->last_error = row.error.data;
    info->owner = row.owner.data != NULL ? row.owner.data : "?";
    if (info->owner[0] != '\0')
        info->lease_left_us = age(row.now_us, row.until_us);
    fill_lag(info, find_lag(self->lags, row.subscription_id, row.pid), row.now_us);
    self->partition(self->state, info);
    return WEIR_OK;
}

static enum weir_status show_partitions(struct info_visitor *self,
                                        struct weir_connection *connection,
                                        int64_t queue_id, struct weir_error *error)
{
    enum weir_status status;

    weir_arena_init(&self->texts, self->outbox->heap, TEXTS_SIZE_MAX);
    status = weir_query_each(connection, &self->outbox->engine->inspect->partitions,
                             VALUES(weir_integer(queue_id)), show_partition, self, error);
    weir_arena_fini(&self->texts);
    return status;
}

enum weir_status weir_outbox_read_partitions(struct weir_outbox *self, const char *queue,
                                             weir_partition_info_fn visit, void *state,
                                             struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct lags lags = {.heap = self->heap};
    struct info_visitor visitor = {.outbox = self,
                                   .queue = queue,
                                   .lags = &lags,
                                   .partition = visit,
                                   .state = state};
    struct weir_queue_row row;
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    if (status == WEIR_OK)
        status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, queue, &row, error);
    if (status == WEIR_OK)
        status = read_lags(self, connection, row.id, &lags, error);
    if (status == WEIR_OK)
        status = show_partitions(&visitor, connection, row.id, error);
    weir_heap_free(self->heap, lags.items);
    weir_db_release(self->db, connection);
    return status;
}

/* ---- processes --------------------------------------------------------------------- */

/* The order of SQL_PROCESSES. */
struct process_columns {
    struct weir_str name;
    struct weir_str queue;
    struct weir_str subscription;
    struct weir_str library;
    int64_t started_us;
    int64_t until_us;
    int64_t now_us;
    int64_t heartbeat_us;
    struct weir_process_info info;
};
static const struct weir_column PROCESS[] = {
    COLUMN(struct process_columns, name, TEXT),
    COLUMN(struct process_columns, queue, TEXT),
    COLUMN(struct process_columns, subscription, TEXT),
    COLUMN(struct process_columns, info.partitions, INTEGER),
    COLUMN(struct process_columns, started_us, INTEGER),
    COLUMN(struct process_columns, until_us, INTEGER),
    COLUMN(struct process_columns, now_us, INTEGER),
    COLUMN(struct process_columns, info.delivered, INTEGER),
    COLUMN(struct process_columns, info.out_per_s, REAL),
    COLUMN_ENUM(struct process_columns, info.alive_by, INT32_MAX),
    COLUMN(struct process_columns, library, TEXT),
    COLUMN(struct process_columns, info.clock_off_us, INTEGER),
    COLUMN(struct process_columns, heartbeat_us, INTEGER),
    COLUMN(struct process_columns, info.name_used_twice, FLAG),
};

/* On SQLite a process writes its own clock: one that beats in the future is ahead. */
static int64_t clock_off(const struct process_columns *row)
{
    int64_t ahead_us = row->heartbeat_us - row->now_us;

    return ahead_us > 0 ? ahead_us : row->info.clock_off_us;
}

static enum weir_status show_process(void *state, struct weir_rows *rows,
                                     struct weir_error *error)
{
    struct info_visitor *self = state;
    struct process_columns row = {.now_us = 0};
    struct weir_process_info *info = &row.info;
    enum weir_status status = weir_row_read(rows, COLUMNS(PROCESS), &row, error);

    weir_arena_reset(&self->texts);
    if (status == WEIR_OK)
        status = weir_row_keep(COLUMNS(PROCESS), &row, &self->texts, error);
    if (status != WEIR_OK)
        return status;
    info->name = row.name.data;
    info->queue = row.queue.data;
    info->subscription = row.subscription.data;
    info->up_us = age(row.started_us, row.now_us);
    info->alive_us = age(row.now_us, row.until_us);
    info->library = row.library.data;
    info->library_is_older = weir_failure_detector_is_older(row.library);
    info->clock_off_us = clock_off(&row);
    self->process(self->state, info);
    return WEIR_OK;
}

enum weir_status weir_outbox_read_processes(struct weir_outbox *self, const char *queue,
                                            weir_process_info_fn visit, void *state,
                                            struct weir_error *error)
{
    struct info_visitor visitor = {.process = visit, .state = state};
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_outbox_connect(self, &connection, error);

    weir_arena_init(&visitor.texts, self->heap, TEXTS_SIZE_MAX);
    if (status == WEIR_OK)
        status = weir_query_each(connection, &SQL_PROCESSES,
                                 VALUES(weir_text(weir_str(queue != NULL ? queue : ""))),
                                 show_process, &visitor, error);
    weir_arena_fini(&visitor.texts);
    weir_db_release(self->db, connection);
    return status;
}
