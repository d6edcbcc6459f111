/*
 * seek.c - see seek.h.
 *
 * Everything is found by reading the log as a dispatcher does (log.h): in its order,
 * of some partitions, a message that stands in two places once.
 *
 *   I1  for each partition low <= position, target <= high, and `between` is the number
 *       of messages of the partition behind `low` up to `high`
 *   I2  a move is stored only if nothing behind `low` was removed: the oldest place is
 *       read under the lock that every removal must have
 */
#include "outbox/subscription/seek.h"
#include "outbox/engine.h"

#include <inttypes.h>

#include "base/codec/utc.h"
#include "base/fault_point.h"
#include "base/noun.h"
#include "base/text.h"
#include "db/transact.h"
#include "outbox/audit/audit.h"
#include "outbox/delivery/ack.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "outbox/subscription/subscription.h"

enum { PAGE_ROWS = 1000, PAGE_BYTES_MAX = 4 * 1024 * 1024, UNLOCKED_TRIES = 3 };

/* One partition on its way. */
struct part {
    struct weir_lease_key key;
    struct weir_stored_position position;
    struct weir_log_position oldest; /* whole from here on */
    struct weir_log_position target;
    struct weir_log_position low;
    struct weir_log_position high;
    int64_t between;
    int64_t seq; /* at the target */
};

struct seek_call {
    const struct weir_outbox_log *log;
    struct weir_connection *connection;
    const char *queue;
    const char *name;
    const struct weir_seek *seek;
    struct weir_subscription_row row;
    struct part parts[WEIR_PARTITIONS_MAX];
    size_t count;
    struct weir_log_position
        head;     /* of the log, when the call began; not to go to the beginning */
    bool planned; /* what is to be done was found out without a lock */
};

static struct weir_log_position earlier(struct weir_log_position a,
                                        struct weir_log_position b)
{
    return weir_log_position_before(a, b) ? a : b;
}

/* ---- reading the log --------------------------------------------------------------- */

/*
 * Called for each message of the partitions; `stop` ends the reading before the next one.
 */
struct reading {
    struct seek_call *seek_call;
    enum weir_status (*visit)(struct reading *self, struct part *part,
                              const struct weir_log_row *row);
    bool stop;
    /* for the visitors */
    int64_t wanted;
    int64_t seen;
    int64_t first_us; /* created_us of the first message; 0: there was none */
    struct weir_log_position found;
    bool is_found;
};

static struct part *find_part(struct seek_call *self, int64_t pid)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->parts[i].key.pid == pid)
            return &self->parts[i];
    }
    return NULL;
}

static enum weir_status give(void *state, const struct weir_log_row *row,
                             struct weir_error *error)
{
    struct reading *self = state;
    struct part *part = find_part(self->seek_call, row->pid);

    (void)error;
    return part == NULL || self->stop ? WEIR_OK : self->visit(self, part, row);
}

/* Behind `from`, up to `to` or until it is asked to stop. */
static enum weir_status read_log(struct reading *self, struct weir_log_position from,
                                 struct weir_log_position to, struct weir_error *error)
{
    struct seek_call *seek_call = self->seek_call;
    const struct weir_outbox_log *log = seek_call->log;
    int64_t pids[WEIR_PARTITIONS_MAX];
    struct weir_page page = {.after = from,
                             .pids = pids,
                             .pid_count = seek_call->count,
                             .row_max = PAGE_ROWS,
                             .payload_max = PAGE_BYTES_MAX,
                             .visit = give,
                             .state = self};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < seek_call->count; i++)
        pids[i] = seek_call->parts[i].key.pid;
    while (status == WEIR_OK && !self->stop && weir_log_position_before(page.after, to)) {
        status = log->ops->read(log, seek_call->connection, &page, error);
        if (page.at_head)
            break;
        page.after = page.end;
    }
    return status;
}

/* ---- where to ---------------------------------------------------------------------- */

static enum weir_status refuse(const struct seek_call *self, struct weir_error *error,
                               const char *what)
{
    return weir_error_set(error, WEIR_OUT_OF_RANGE,
                          "subscription \"%.60s\" of queue \"%.60s\": %s", self->name,
                          self->queue, what);
}

/* Where the log ended when the call began: what was committed since is not left out,
 * and what can be counted ends there. */
static void go_to_head(struct seek_call *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->parts[i].target =
            weir_log_position_later(self->head, self->parts[i].position.log_position);
}

static void go_to_beginning(struct seek_call *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->parts[i].target = self->parts[i].oldest;
}

/* The number at the oldest place: what the position has passed since is counted. */
static enum weir_status count_one(struct reading *self, struct part *part,
                                  const struct weir_log_row *row)
{
    (void)part;
    self->stop = weir_log_position_before(self->found, row->log_position);
    self->seen += !self->stop;
    return WEIR_OK;
}

static enum weir_status count_passed(struct seek_call *self, int64_t *out,
                                     struct weir_error *error)
{
    struct part *part = &self->parts[0];
    struct reading reading = {
        .seek_call = self, .visit = count_one, .found = part->position.log_position};
    enum weir_status status =
        read_log(&reading, part->oldest, part->position.log_position, error);

    *out = reading.seen;
    return status;
}

/* Up to message number `wanted` behind where the reading began. */
static enum weir_status step_to(struct reading *self, struct part *part,
                                const struct weir_log_row *row)
{
    (void)part;
    self->found = row->log_position;
    self->stop = ++self->seen == self->wanted;
    return WEIR_OK;
}

static enum weir_status go_behind(struct seek_call *self, struct weir_log_position from,
                                  int64_t messages, struct weir_error *error)
{
    static const struct weir_log_position END = {INT64_MAX, INT64_MAX};
    struct part *part = &self->parts[0];
    struct reading reading = {
        .seek_call = self, .visit = step_to, .found = from, .wanted = messages};
    enum weir_status status = WEIR_OK;
    char text[160];

    if (messages > 0)
        status = read_log(&reading, from, END, error);
    part->target = reading.found;
    if (status != WEIR_OK || reading.seen == messages)
        return status;
    (void)weir_text_format(text, sizeof text,
                           "there is no message %" PRId64 " of partition %" PRId32
                           " yet, the newest is %" PRId64,
                           self->seek->seq, weir_pid_partition(part->key.pid),
                           self->seek->seq - 1 - messages + reading.seen);
    return refuse(self, error, text);
}

static enum weir_status go_to_seq(struct seek_call *self, struct weir_error *error)
{
    const struct part *part = &self->parts[0];
    int64_t seq = self->seek->seq - 1; /* behind this one */
    int64_t passed = 0;
    int64_t oldest_seq;
    enum weir_status status;
    char text[160];

    if (seq >= part->position.seq)
        return go_behind(self, part->position.log_position, seq - part->position.seq,
                         error);
    status = count_passed(self, &passed, error);
    if (status != WEIR_OK)
        return status;
    oldest_seq = part->position.seq - passed;
    if (seq >= oldest_seq)
        return go_behind(self, part->oldest, seq - oldest_seq, error);
    (void)weir_text_format(text, sizeof text,
                           "message %" PRId64 " of partition %" PRId32
                           " is removed, the oldest there is is %" PRId64,
                           self->seek->seq, weir_pid_partition(part->key.pid),
                           oldest_seq + 1);
    return refuse(self, error, text);
}

static enum weir_status find_time(struct reading *self, struct part *part,
                                  const struct weir_log_row *row)
{
    if (!weir_log_position_before(part->oldest, row->log_position))
        return WEIR_OK; /* of a partition that begins later */
    if (self->first_us == 0)
        self->first_us = row->created_us;
    self->is_found = row->created_us >= self->seek_call->seek->time_us;
    self->stop = self->is_found;
    if (self->is_found)
        self->found =
            (struct weir_log_position){row->log_position.cut, row->log_position.id - 1};
    return WEIR_OK;
}

/* Something is gone, and nothing that is left tells that it was created before. */
static enum weir_status refuse_time(const struct seek_call *self, int64_t first_us,
                                    struct weir_error *error)
{
    char text[160];
    char first[WEIR_UTC_SIZE];

    if (first_us == 0)
        return refuse(
            self, error,
            "all messages up to now are removed: there is nothing to go back to");
    (void)weir_text_format(text, sizeof text,
                           "messages before it are removed, the oldest there is was "
                           "created at %s",
                           weir_utc_format(first_us, first));
    return refuse(self, error, text);
}

/* By the primary key. What was created since then is all there (schema.c). */
static const struct weir_sql SQL_WHOLE = {
    .name = "read since when a queue is whole",
    .text = "SELECT whole_us FROM {p}_queue WHERE id = {1}",
    .parameters = "i",
};

/*
 * One place for all partitions: the log has one order. Looked for in each partition
 * from where that is whole: one that is behind has messages before the place up to
 * which others were removed.
 */
static enum weir_status go_to_time(struct seek_call *self, struct weir_error *error)
{
    static const struct weir_log_position END = {INT64_MAX, INT64_MAX};
    struct weir_log_position first = END;
    struct weir_log_position last = {0, 0};
    struct reading reading = {.seek_call = self, .visit = find_time};
    int64_t whole_us = 0;
    bool evident;
    enum weir_status status = weir_connection_query_integer(
        self->connection, &SQL_WHOLE, VALUES(weir_integer(self->row.queue.id)), &whole_us,
        error);

    for (size_t i = 0; i < self->count; i++) {
        first = earlier(first, self->parts[i].oldest);
        last = weir_log_position_later(last, self->parts[i].oldest);
    }
    if (status == WEIR_OK)
        status = read_log(&reading, first, END, error);
    if (status != WEIR_OK)
        return status;
    evident = weir_log_position_equal(last, (struct weir_log_position){0, 0}) ||
              (reading.first_us != 0 && reading.first_us < self->seek->time_us) ||
              self->seek->time_us >= whole_us;
    if (!evident)
        return refuse_time(self, reading.first_us, error);
    if (!reading.is_found)
        go_to_head(self);
    for (size_t i = 0; i < self->count && reading.is_found; i++)
        self->parts[i].target =
            weir_log_position_later(reading.found, self->parts[i].oldest);
    return WEIR_OK;
}

static enum weir_status find_targets(struct seek_call *self, struct weir_error *error)
{
    switch (self->seek->to) {
    case WEIR_SEEK_BEGINNING:
        go_to_beginning(self);
        return WEIR_OK;
    case WEIR_SEEK_NOW:
        go_to_head(self);
        return WEIR_OK;
    case WEIR_SEEK_SEQ:
        return go_to_seq(self, error);
    case WEIR_SEEK_TIME:
        break;
    }
    return go_to_time(self, error);
}

/* ---- counting ---------------------------------------------------------------------- */

static enum weir_status count_between(struct reading *self, struct part *part,
                                      const struct weir_log_row *row)
{
    (void)self;
    part->between += weir_log_position_before(part->low, row->log_position) &&
                     !weir_log_position_before(part->high, row->log_position);
    return WEIR_OK;
}

static enum weir_status count_parts(struct seek_call *self, struct weir_error *error)
{
    struct reading reading = {.seek_call = self, .visit = count_between};
    struct weir_log_position from = {INT64_MAX, INT64_MAX};
    struct weir_log_position to = {0, 0};
    enum weir_status status;

    for (size_t i = 0; i < self->count; i++) {
        struct part *part = &self->parts[i];

        part->low = earlier(part->position.log_position, part->target);
        part->high = weir_log_position_later(part->position.log_position, part->target);
        part->between = 0;
        if (weir_log_position_before(part->low, part->high)) {
            from = earlier(from, part->low);
            to = weir_log_position_later(to, part->high);
        }
    }
    status = read_log(&reading, from, to, error);
    for (size_t i = 0; i < self->count; i++) {
        struct part *part = &self->parts[i];
        bool forward =
            weir_log_position_before(part->position.log_position, part->target);

        part->seq = part->position.seq + (forward ? part->between : -part->between);
    }
    return status;
}

/* ---- planning ---------------------------------------------------------------------- */

static enum weir_status list_parts(struct seek_call *self, struct weir_error *error)
{
    const struct weir_seek *seek = self->seek;
    int32_t partitions = self->row.queue.partitions;
    enum weir_status status = WEIR_OK;

    if (seek->only)
        status = weir_partition_check(self->queue, seek->partition, partitions, error);
    else if (seek->to == WEIR_SEEK_SEQ && partitions > 1)
        status = weir_error_set(
            error, WEIR_INVALID,
            "queue \"%.80s\" has %" PRId32 " %s, each with numbers of its own: name one",
            self->queue, partitions, WEIR_NOUN(partitions, "partition", "partitions"));
    if (status == WEIR_OK && seek->to == WEIR_SEEK_SEQ && seek->seq < 1)
        status = weir_error_set(error, WEIR_INVALID,
                                "seq is %" PRId64 ", must be at least 1", seek->seq);
    self->count = seek->only ? 1 : (size_t)partitions;
    for (size_t i = 0; i < self->count; i++)
        self->parts[i].key = (struct weir_lease_key){
            self->row.id,
            weir_pid(self->row.queue.id, seek->only ? seek->partition : (int32_t)i)};
    return status;
}

/* Where everything stands. */
static enum weir_status read_parts(struct seek_call *self, struct weir_error *error)
{
    struct weir_log_position oldest;
    enum weir_status status =
        weir_log_oldest(self->log, self->connection, self->row.queue.id, &oldest, error);

    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        struct part *part = &self->parts[i];

        status = weir_ack_read(self->connection, part->key, &part->position, error);
        part->oldest = earlier(oldest, part->position.log_position);
    }
    return status;
}

static enum weir_status plan(struct seek_call *self, struct weir_error *error)
{
    enum weir_status status = read_parts(self, error);

    if (status == WEIR_OK)
        status = find_targets(self, error);
    if (status == WEIR_OK)
        status = count_parts(self, error);
    return status;
}

/* ---- moving ------------------------------------------------------------------------ */

/* By the primary key. The owner is none, as after a release: no crash, and no mark of
 * before is found. {3}: what was passed before a move back, else 0. */
static const struct weir_sql SQL_TAKE_AWAY = {
    .name = "take lease away",
    .text = "UPDATE {p}_lease SET epoch = epoch + 1, owner = NULL, until_us = 0,"
            " crashes = 0,"
            " replay_to = CASE WHEN replay_to < {3} THEN {3} ELSE replay_to END"
            " WHERE subscription = {1} AND pid = {2}",
    .parameters = "iii",
};

/* The next version, with nothing of the head before. */
static const struct weir_sql SQL_APPEND_PG = {
    .name = "seek",
    .text = "INSERT INTO {p}_ack (subscription, pid, version, epoch, incarnation, cut,"
            " last_id, seq) SELECT {1}, {2}, {3}, l.epoch, " WEIR_INCARNATION_PG
            ", {4}, {5}, {6} FROM {p}_lease l"
            " WHERE l.subscription = {1} AND l.pid = {2}",
    .parameters = "iiiiii",
};
static const struct weir_sql SQL_MOVE_PLAIN = {
    .name = "seek",
    .text = "UPDATE {p}_ack SET version = {3}, cut = {4}, last_id = {5}, seq = {6},"
            " attempts = 0, alone = 0, retry_us = 0, error = '', trying = 0,"
            " incarnation = " WEIR_INCARNATION_PLAIN
            ", epoch = (SELECT l.epoch FROM {p}_lease l WHERE l.subscription = {1}"
            " AND l.pid = {2}) WHERE subscription = {1} AND pid = {2}",
    .parameters = "iiiiii",
};

static enum weir_status store(struct seek_call *self, const struct part *part,
                              const struct weir_stored_position *now,
                              struct weir_error *error)
{
    bool appends = weir_outbox_engine_of(self->connection)->positions_are_appended;
    struct weir_value subscription = weir_integer(part->key.subscription);
    struct weir_value pid = weir_integer(part->key.pid);
    enum weir_status status = weir_connection_execute(
        self->connection, &SQL_TAKE_AWAY,
        VALUES(subscription, pid, weir_integer(part->seq < now->seq ? now->seq : 0)),
        NULL, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(
            self->connection, appends ? &SQL_APPEND_PG : &SQL_MOVE_PLAIN,
            VALUES(subscription, pid, weir_integer(now->version + 1),
                   weir_integer(part->target.cut), weir_integer(part->target.id),
                   weir_integer(part->seq)),
            NULL, error);
    return status;
}

/* The positions as they are under the locks, and whether what was planned holds (I2). */
static enum weir_status confirm(struct seek_call *self, bool *holds,
                                struct weir_error *error)
{
    struct weir_log_position oldest;
    enum weir_status status =
        weir_log_oldest(self->log, self->connection, self->row.queue.id, &oldest, error);

    *holds = true;
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        struct part *part = &self->parts[i];

        status = weir_ack_read(self->connection, part->key, &part->position, error);
        if (weir_log_position_before(part->low,
                                     earlier(oldest, part->position.log_position)))
            *holds = false;
    }
    return status;
}

static enum weir_status find_again(struct seek_call *self, struct weir_error *error)
{
    int64_t id = self->row.id;
    enum weir_status status = weir_subscription_lock(self->connection, self->queue,
                                                     self->name, &self->row, error);

    if (status == WEIR_OK && self->row.id != id)
        status = weir_error_set(error, WEIR_NOT_FOUND,
                                "subscription \"%.80s\" of queue \"%.80s\" was removed",
                                self->name, self->queue);
    return status;
}

/* Nothing lies between, or "now" was passed meanwhile: its owner goes on undisturbed. */
static bool stays(const struct seek_call *self, struct part *part)
{
    if (self->seek->to == WEIR_SEEK_NOW &&
        !weir_log_position_before(part->position.log_position, part->target))
        part->seq = part->position.seq;
    return part->seq == part->position.seq;
}

/* The sums of all partitions that were moved; of one partition its numbers. */
static enum weir_status record_move(const struct seek_call *self,
                                    struct weir_error *error)
{
    char before[32], after[32];
    int64_t moved = 0, from = 0, to = 0;

    for (size_t i = 0; i < self->count; i++) {
        moved += self->parts[i].seq != self->parts[i].position.seq;
        from += self->parts[i].position.seq;
        to += self->parts[i].seq;
    }
    (void)weir_text_format(before, sizeof before, "seq %" PRId64, from);
    (void)weir_text_format(after, sizeof after, "seq %" PRId64, to);
    weir_audit_note(before, after);
    return weir_audit_record(self->connection, moved, error);
}

/* WEIR_STALE: something that was counted is gone by now. */
static enum weir_status move_locked(struct weir_connection *connection, void *argument,
                                    struct weir_error *error)
{
    struct seek_call *self = argument;
    bool holds = false;
    enum weir_status status = find_again(self, error);

    (void)connection;
    if (status == WEIR_OK && !self->planned)
        status = plan(self, error);
    if (status == WEIR_OK)
        status = confirm(self, &holds, error);
    if (status == WEIR_OK && !holds)
        return weir_error_set(error, WEIR_STALE,
                              "messages were removed while they were counted");
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++) {
        struct part *part = &self->parts[i];

        if (!stays(self, part))
            status = store(self, part, &part->position, error);
        (void)WEIR_POINT(self->log->points, "seek.moving");
    }
    return status == WEIR_OK ? record_move(self, error) : status;
}

/* Without a lock as long as that works. */
static enum weir_status plan_and_move(struct seek_call *self, struct weir_error *error)
{
    enum weir_status status = WEIR_STALE;

    for (int i = 0; i < UNLOCKED_TRIES && status == WEIR_STALE; i++) {
        status = plan(self, error);
        if (status != WEIR_OK || self->seek->dry_run)
            return status;
        (void)WEIR_POINT(self->log->points, "seek.planned");
        self->planned = true;
        status = weir_transact_on(self->connection, move_locked, self, error);
    }
    self->planned = false;
    if (status == WEIR_STALE)
        status = weir_transact_on(self->connection, move_locked, self, error);
    return status;
}

static void tell(const struct seek_call *self, struct weir_seek_info *infos,
                 size_t *count)
{
    for (size_t i = 0; i < self->count; i++)
        infos[i] = (struct weir_seek_info){.partition =
                                               weir_pid_partition(self->parts[i].key.pid),
                                           .seq_before = self->parts[i].position.seq,
                                           .seq_after = self->parts[i].seq};
    *count = self->count;
}

enum weir_status weir_seek_move(const struct weir_outbox_log *log,
                                struct weir_connection *connection, const char *queue,
                                const char *subscription, const struct weir_seek *seek,
                                struct weir_seek_info *infos, size_t *count,
                                struct weir_error *error)
{
    struct seek_call self = {.log = log,
                             .connection = connection,
                             .queue = queue,
                             .name = subscription,
                             .seek = seek};
    enum weir_status status =
        weir_subscription_find(connection, queue, subscription, &self.row, error);

    if (status == WEIR_OK)
        status = list_parts(&self, error);
    if (status == WEIR_OK && seek->to != WEIR_SEEK_BEGINNING)
        status = weir_log_catch_up(log, connection, &self.head, error);
    if (status == WEIR_OK)
        status = plan_and_move(&self, error);
    *count = 0;
    if (status == WEIR_OK)
        tell(&self, infos, count);
    return status;
}

enum weir_status weir_outbox_seek_subscription(struct weir_outbox *self,
                                               const char *queue,
                                               const char *subscription,
                                               const struct weir_seek *seek,
                                               weir_seek_info_fn visit, void *state,
                                               struct weir_error *error)
{
    struct weir_seek_info infos[WEIR_PARTITIONS_MAX];
    struct weir_connection *connection = NULL;
    char target[WEIR_AUDIT_TARGET_SIZE];
    struct weir_audit_call audit = {.on = false};
    size_t count = 0;
    enum weir_status status;

    if (!seek->dry_run)
        weir_audit_begin(&audit, self->db, NULL, "subscription.seek",
                         weir_audit_pair(queue, subscription, target));
    status = weir_outbox_connect(self, &connection, error);
    if (status == WEIR_OK)
        status = weir_seek_move(&self->log, connection, queue, subscription, seek, infos,
                                &count, error);
    weir_db_release(self->db, connection);
    if (status == WEIR_OK)
        weir_outbox_notify(self, WEIR_NOTIFY_LEASE_KEEPER);
    status = weir_audit_end(&audit, status, error);
    for (size_t i = 0; i < count && visit != NULL; i++)
        visit(state, &infos[i]);
    return status;
}
