/*
 * enqueue.c - producers.
 *
 * Everything that can be refused is refused before the first statement. What then goes
 * wrong in the database is undone by a savepoint, so that the caller's transaction
 * stays usable; a transaction of our own needs none. When nothing has to be asked, the
 * savepoint and the rows are one round trip, where the engine can.
 */
#include <string.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "base/random.h"
#include "db/clock.h"
#include "db/db.h"
#include "db/transact.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "outbox/queue/backlog.h"

enum { HEADERS_JSON_MAX = 8 * WEIR_HEADERS_SIZE_MAX };

/* One call, ready to be written. */
struct enqueue_call {
    struct weir_outbox *outbox;
    const char *queue;
    const struct weir_draft *drafts;
    size_t count;
    struct weir_queue_counter *counter; /* the registry's; NULL: none */
    struct weir_log_entry *entries;     /* owned */
    struct weir_buf headers;            /* all texts of headers, one after the other */
};

/* ---- checking ---------------------------------------------------------------------- */

static enum weir_status check_drafts(const struct weir_outbox *outbox, const char *queue,
                                     const struct weir_draft *drafts, size_t count,
                                     struct weir_error *error)
{
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    if (status == WEIR_OK && drafts == NULL && count > 0)
        return weir_error_set(error, WEIR_INVALID, "draft is NULL, must be a list of %zu",
                              count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = weir_draft_check(&drafts[i], outbox->options.payload_size_max, error);
        if (status != WEIR_OK && count > 1)
            weir_error_prefix(error, "message %zu of %zu", i + 1, count);
    }
    return status;
}

static enum weir_status check_partitions(const char *queue,
                                         const struct weir_queue_row *row,
                                         const struct weir_draft *drafts, size_t count,
                                         struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (drafts[i].route.pinned)
            status = weir_partition_check(queue, drafts[i].route.partition,
                                          row->partitions, error);
    }
    return status;
}

static enum weir_status admit(struct weir_outbox *outbox, const char *queue,
                              const struct weir_queue_row *row, int64_t backlog,
                              size_t count, struct weir_error *error)
{
    if (row->backlog_max == 0)
        return WEIR_OK;
    if (backlog + (int64_t)count > row->backlog_max)
        return weir_error_set(error, WEIR_FULL,
                              "queue \"%.100s\" has %lld %s waiting, its limit is "
                              "%lld",
                              queue, (long long)backlog,
                              WEIR_NOUN(backlog, "message", "messages"),
                              (long long)row->backlog_max);
    weir_registry_add_backlog(&outbox->registry, queue, (int64_t)count);
    return WEIR_OK;
}

/* The limit is kept about: the number is read once a second (backlog.h). */
enum weir_status weir_outbox_check_room(struct weir_outbox *outbox,
                                        struct weir_connection *connection,
                                        const char *queue,
                                        const struct weir_queue_row *row, size_t count,
                                        struct weir_error *error)
{
    int64_t backlog = 0;

    if (row->backlog_max == 0)
        return WEIR_OK;
    if (!weir_registry_backlog(&outbox->registry, queue, &backlog)) {
        struct weir_backlog number;
        enum weir_status status =
            weir_backlog_read(outbox, connection, queue, row, &number, error);

        if (status != WEIR_OK)
            return status;
        backlog = weir_registry_set_backlog(&outbox->registry, queue, &number);
    }
    return admit(outbox, queue, row, backlog, count, error);
}

/* ---- packing ----------------------------------------------------------------------- */

static int32_t choose_partition(const struct weir_draft *draft, int32_t partitions,
                                uint64_t chance)
{
    if (draft->route.pinned)
        return draft->route.partition;
    if (draft->key != NULL)
        return weir_partition_of_key(draft->key, strlen(draft->key), partitions);
    return (int32_t)(chance % (uint64_t)partitions);
}

/*
 * The uid of a message: 128 random bits. Two draws make a whole call: the numbers of one
 * call differ because mixing is one to one, those of different calls because the draws
 * do.
 */
static void fill_uid(uint8_t *uid, const uint64_t draws[2], size_t index)
{
    uint64_t step = (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t halves[2] = {weir_mix_u64(draws[0] + step), weir_mix_u64(draws[1] ^ step)};

    memcpy(uid, halves, sizeof halves);
}

static struct weir_str optional(const char *text)
{
    return text != NULL ? weir_str(text) : (struct weir_str){NULL, 0};
}

static enum weir_status pack(struct enqueue_call *self, const struct weir_queue_row *row,
                             struct weir_error *error)
{
    uint64_t draws[2] = {weir_clock_random(), weir_clock_random()};
    int64_t now_us = weir_clock_wall_us();
    size_t start = 0;

    for (size_t i = 0; i < self->count; i++) {
        const struct weir_draft *draft = &self->drafts[i];
        struct weir_log_entry *entry = &self->entries[i];

        entry->pid =
            weir_pid(row->id, choose_partition(draft, row->partitions, draws[0] + i));
        fill_uid(entry->uid, draws, i);
        entry->created_us = now_us;
        entry->key = optional(draft->key);
        entry->type = weir_str(draft->type);
        entry->payload = (struct weir_str){draft->payload, draft->payload_size};
        weir_headers_write(draft->headers, draft->header_count, &self->headers);
        entry->headers.size = self->headers.size - start;
        start = self->headers.size;
    }
    if (weir_buf_status(&self->headers) != WEIR_OK)
        return weir_error_set(error, weir_buf_status(&self->headers), "headers");
    start = 0; /* the buffer has stopped moving */
    for (size_t i = 0; i < self->count; i++) {
        struct weir_str *headers = &self->entries[i].headers;

        if (headers->size > 0)
            headers->data = weir_buf_text(&self->headers) + start;
        start += headers->size;
    }
    return WEIR_OK;
}

/* ---- writing ----------------------------------------------------------------------- */

static enum weir_status resolve(struct enqueue_call *self,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    struct weir_queue_row row;
    enum weir_status status = weir_registry_find_counted(
        &self->outbox->registry, connection, self->queue, &row, &self->counter, error);

    if (status == WEIR_OK)
        status = check_partitions(self->queue, &row, self->drafts, self->count, error);
    if (status == WEIR_OK)
        status = weir_outbox_check_room(self->outbox, connection, self->queue, &row,
                                        self->count, error);
    if (status == WEIR_OK)
        status = pack(self, &row, error);
    return status;
}

/* The same without a statement, if all is known; else *known is false. */
static enum weir_status resolve_known(struct enqueue_call *self, bool *known,
                                      struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    struct weir_queue_row row;
    int64_t backlog = 0;
    enum weir_status status;

    *known = weir_registry_find_known(&outbox->registry, self->queue, &row,
                                      &self->counter, &backlog);
    if (!*known)
        return WEIR_OK;
    status = check_partitions(self->queue, &row, self->drafts, self->count, error);
    if (status == WEIR_OK)
        status = admit(outbox, self->queue, &row, backlog, self->count, error);
    if (status == WEIR_OK)
        status = pack(self, &row, error);
    return status;
}

/* NULL: nothing is notified. */
static const char *choose_channel(struct weir_outbox *outbox)
{
    if (outbox->options.no_notify ||
        !weir_notify_limit_take(&outbox->notify_limit, weir_clock_now_ns()))
        return NULL;
    return outbox->channel;
}

static void count_entries(struct enqueue_call *self)
{
    if (self->counter != NULL)
        atomic_fetch_add(&self->counter->enqueued, self->count);
}

static enum weir_status write_out(struct enqueue_call *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    enum weir_status status =
        outbox->log.ops->append(&outbox->log, connection, self->entries, self->count,
                                choose_channel(outbox), error);

    if (status == WEIR_OK)
        count_entries(self);
    return status;
}

/* In the caller's transaction, behind a savepoint. */
static enum weir_status write_guarded(struct enqueue_call *self,
                                      struct weir_connection *connection,
                                      struct weir_error *error)
{
    enum weir_status status = weir_connection_savepoint(connection, error);

    if (status != WEIR_OK)
        return status;
    status = resolve(self, connection, error);
    if (status == WEIR_OK)
        status = write_out(self, connection, error);
    if (status == WEIR_OK)
        return weir_connection_savepoint_keep(connection, error);
    if (weir_connection_savepoint_undo(connection, NULL) != WEIR_OK)
        weir_error_prefix(error, "the transaction cannot be used any more");
    return status;
}

/* The same in one round trip. *known is false when something has to be asked: nothing
 * was sent then. */
static enum weir_status write_saved(struct enqueue_call *self,
                                    struct weir_connection *connection, bool *known,
                                    struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    const struct weir_log_ops *ops = outbox->log.ops;
    enum weir_status status;

    *known = false;
    if (ops->can_append_saved == NULL || !ops->can_append_saved(connection))
        return WEIR_OK;
    status = resolve_known(self, known, error);
    if (status == WEIR_OK && *known)
        status = ops->append_saved(&outbox->log, connection, self->entries, self->count,
                                   choose_channel(outbox), error);
    if (status == WEIR_OK && *known)
        count_entries(self);
    return status;
}

/* In the caller's transaction: all of it or nothing. */
static enum weir_status write_inside(struct enqueue_call *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    bool guarded = !self->outbox->options.no_savepoint &&
                   weir_connection_transaction(connection) == WEIR_TRANSACTION_OPEN;
    bool known = false;
    enum weir_status status = WEIR_OK;

    if (guarded)
        status = write_saved(self, connection, &known, error);
    if (status != WEIR_OK)
        return status;
    if (guarded && !known) {
        status = write_guarded(self, connection, error);
    } else if (!guarded) {
        status = resolve(self, connection, error);
        if (status == WEIR_OK)
            status = write_out(self, connection, error);
    }
    if (status == WEIR_OK)
        weir_connection_mark(connection); /* the code that commits it wakes the readers */
    return status;
}

/* A transaction of its own: one call of append() is one. */
static enum weir_status write_alone(struct enqueue_call *self, struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_outbox_connect(outbox, &connection, error);

    if (status == WEIR_OK)
        status = resolve(self, connection, error);
    if (status == WEIR_OK)
        status = write_out(self, connection, error);
    weir_db_release(outbox->db, connection);
    if (status == WEIR_OK)
        weir_outbox_flush(outbox);
    return status;
}

static void fill_receipts(const struct enqueue_call *self, struct weir_receipt *receipts)
{
    for (size_t i = 0; i < self->count; i++) {
        receipts[i].id = self->entries[i].id;
        receipts[i].partition = weir_pid_partition(self->entries[i].pid);
        memcpy(receipts[i].uid, self->entries[i].uid, WEIR_UID_SIZE);
    }
}

static enum weir_status consign(struct enqueue_call *self,
                                struct weir_connection *connection,
                                struct weir_error *error)
{
    const struct weir_heap *heap = self->outbox->heap;
    enum weir_status status;

    self->entries = weir_heap_zalloc_array(heap, self->count, sizeof *self->entries);
    if (self->entries == NULL)
        return weir_no_memory(error, "enqueue");
    weir_buf_init(&self->headers, heap, self->count * HEADERS_JSON_MAX);
    status = connection != NULL ? write_inside(self, connection, error)
                                : write_alone(self, error);
    weir_buf_fini(&self->headers);
    return status;
}

enum weir_status weir_enqueue_batch(struct weir_outbox *self,
                                    struct weir_connection *connection, const char *queue,
                                    const struct weir_draft *drafts, size_t count,
                                    struct weir_receipt *receipts,
                                    struct weir_error *error)
{
    struct enqueue_call enqueue_call = {
        .outbox = self, .queue = queue, .drafts = drafts, .count = count};
    enum weir_status status = check_drafts(self, queue, drafts, count, error);

    if (status != WEIR_OK || count == 0)
        return status;
    status = consign(&enqueue_call, connection, error);
    if (status == WEIR_OK && receipts != NULL)
        fill_receipts(&enqueue_call, receipts);
    weir_heap_free(self->heap, enqueue_call.entries);
    return status;
}

enum weir_status weir_enqueue(struct weir_outbox *self,
                              struct weir_connection *connection, const char *queue,
                              const struct weir_draft *draft,
                              struct weir_receipt *receipt, struct weir_error *error)
{
    return weir_enqueue_batch(self, connection, queue, draft, 1, receipt, error);
}

/* ---- the transaction helper -------------------------------------------------------- */

struct transact_call {
    struct weir_outbox *outbox;
    weir_outbox_body_fn body;
    void *argument;
};

static enum weir_status run_body(struct weir_connection *connection, void *argument,
                                 struct weir_error *error)
{
    struct transact_call *transact_call = argument;

    return transact_call->body(transact_call->outbox, connection, transact_call->argument,
                               error);
}

enum weir_status weir_outbox_transact(struct weir_outbox *self, weir_outbox_body_fn body,
                                      void *argument, struct weir_error *error)
{
    struct transact_call transact_call = {
        .outbox = self, .body = body, .argument = argument};
    enum weir_status status =
        weir_transact_theirs(self->db, run_body, &transact_call, error);

    if (status == WEIR_OK)
        weir_outbox_flush(self);
    return status;
}
