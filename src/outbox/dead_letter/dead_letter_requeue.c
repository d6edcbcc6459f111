/*
 * dead_letter_requeue.c - dead letters that are enqueued again.
 *
 *   BEGIN; lock letters; append their messages; resolve the letters, with the new uids;
 *   COMMIT
 *
 * The message and the end of its letter are one transaction, so a crash at any place
 * leaves either a letter that is pending and no message, or a message and a letter that
 * is resolved. Nothing is lost and nothing doubled, and repeating takes only what is
 * pending.
 *
 * Picking waits for rows that others have locked, other than claiming: two bulk
 * requeues at once would else take pages in turn, and the later page could come first
 * in its partition.
 */
#include <string.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "db/clock.h"
#include "outbox/audit/audit.h"
#include "outbox/dead_letter/dead_letter_bulk.h"
#include "outbox/dead_letter/dead_letter_choice.h"
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/headers.h"

/* Rows that are locked, by the primary key. */
static const struct weir_sql_pair SQL_RESOLVE = {
    .one = {.name = "resolve requeued dead letter",
            .text = "UPDATE {p}_dead_letter SET status = 'resolved', deadline_us = 0,"
                    " requeued_uid = {2}, completed_us = {3}, token = {4} WHERE id = {1}",
            .parameters = "ibii"},
    .many = {.name = "resolve requeued dead letters",
             .text = "UPDATE {p}_dead_letter d SET status = 'resolved', deadline_us = 0,"
                     " requeued_uid = a.uid, completed_us = a.now, token = a.token"
                     " FROM unnest({1}, {2}, {3}, {4}) AS a (id, uid, now, token)"
                     " WHERE d.id = a.id",
             .parameters = "IBII"},
};

enum {
    COLUMNS = 4,
    HEADERS_ADDED = 3,
    HEADERS_SIZE_MAX = 64 * 1024 * 1024, /* of a step; foreign headers may be long */
    ORIGIN_SIZE = 2 * WEIR_QUEUE_NAME_SIZE_MAX + 128,
};

/* Some letters on their way. */
struct requeue_call {
    struct weir_outbox *outbox;
    struct weir_connection *connection;
    struct weir_letters letters;
    struct weir_log_entry *entries; /* owned; one per letter */
    struct weir_buf headers;        /* of all of them, one after the other */
};

/* ---- what the new message says of itself ------------------------------------------- */

/* The value of a header; NULL: there is none. */
static const char *find_header(const struct weir_dead_letter *letter, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < letter->header_count; i++) {
        if (strcmp(letter->headers[i].name, name) == 0)
            value = letter->headers[i].value;
    }
    return value;
}

/* One more than the header says; what is no number is none. */
static uint32_t count_requeues(const char *text)
{
    uint32_t count = 0;

    for (; text != NULL && *text >= '0' && *text <= '9' && count < 100000000; text++)
        count = count * 10 + (uint32_t)(*text - '0');
    return count + 1;
}

static void write_headers(const struct weir_letter *letter, struct weir_buf *out)
{
    const struct weir_dead_letter *shown = &letter->shown;
    const char *original = find_header(shown, WEIR_HEADER_ORIGINAL_UID);
    char from[ORIGIN_SIZE];
    char uid[WEIR_UID_TEXT_SIZE];
    char times[16];
    const struct weir_header added[HEADERS_ADDED] = {
        {WEIR_HEADER_REQUEUED_FROM, from},
        {WEIR_HEADER_ORIGINAL_UID, original != NULL ? original : uid},
        {WEIR_HEADER_REQUEUES, times},
    };

    (void)weir_uid_format(shown->uid, uid);
    (void)weir_text_format(from, sizeof from, "%s/%s/%d/%lld/%s", shown->queue,
                           shown->subscription, (int)shown->partition,
                           (long long)shown->seq, uid);
    (void)weir_text_format(times, sizeof times, "%u",
                           count_requeues(find_header(shown, WEIR_HEADER_REQUEUES)));
    weir_headers_replace(letter->headers_json, added, HEADERS_ADDED, out);
}

/* ---- packing ----------------------------------------------------------------------- */

static struct weir_str optional(const char *text)
{
    return text != NULL ? weir_str(text) : (struct weir_str){NULL, 0};
}

static void pack_one(struct requeue_call *self, size_t index)
{
    const struct weir_letter *letter = &self->letters.items[index];
    const struct weir_dead_letter *shown = &letter->shown;
    uint64_t halves[2] = {weir_clock_random(), weir_clock_random()};
    size_t start = self->headers.size;

    write_headers(letter, &self->headers);
    self->entries[index] = (struct weir_log_entry){
        .pid = letter->pid,
        .created_us = weir_clock_wall_us(),
        .key = optional(shown->key),
        .type = weir_str(shown->type),
        .headers = {NULL, self->headers.size - start}, /* the buffer still moves */
        .payload = {shown->payload, shown->payload_size},
    };
    memcpy(self->entries[index].uid, halves, sizeof halves);
}

static enum weir_status pack(struct requeue_call *self, struct weir_error *error)
{
    const char *headers;

    self->entries = weir_heap_zalloc_array(self->outbox->heap, self->letters.count,
                                           sizeof *self->entries);
    if (self->entries == NULL)
        return weir_no_memory(error, "requeue");
    for (size_t i = 0; i < self->letters.count; i++)
        pack_one(self, i);
    if (weir_buf_status(&self->headers) != WEIR_OK)
        return weir_error_set(error, weir_buf_status(&self->headers),
                              "requeue: headers of more than %d bytes", HEADERS_SIZE_MAX);
    headers = weir_buf_text(&self->headers);
    for (size_t i = 0; i < self->letters.count; i++) {
        self->entries[i].headers.data = headers;
        headers += self->entries[i].headers.size;
    }
    return WEIR_OK;
}

/* ---- sending ----------------------------------------------------------------------- */

/* Is it the first one of its queue among the letters? */
static bool is_first_of_queue(const struct weir_letters *letters, size_t index)
{
    int64_t queue = weir_pid_queue(letters->items[index].pid);

    for (size_t i = 0; i < index; i++) {
        if (weir_pid_queue(letters->items[i].pid) == queue)
            return false;
    }
    return true;
}

static size_t count_of_queue(const struct weir_letters *letters, int64_t queue)
{
    size_t count = 0;

    for (size_t i = 0; i < letters->count; i++)
        count += weir_pid_queue(letters->items[i].pid) == queue;
    return count;
}

/* A requeue counts against the limit of the queue as any enqueue does. */
static enum weir_status check_room(const struct requeue_call *self,
                                   struct weir_error *error)
{
    const struct weir_letters *letters = &self->letters;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < letters->count && status == WEIR_OK; i++) {
        const char *queue = letters->items[i].shown.queue;
        struct weir_queue_row row;

        if (!is_first_of_queue(letters, i))
            continue;
        status = weir_registry_find(&self->outbox->registry, self->connection, queue,
                                    &row, error);
        if (status == WEIR_OK)
            status = weir_outbox_check_room(
                self->outbox, self->connection, queue, &row,
                count_of_queue(letters, weir_pid_queue(letters->items[i].pid)), error);
    }
    return status;
}

static enum weir_status resolve(const struct requeue_call *self, int64_t now_us,
                                int64_t token, struct weir_error *error)
{
    size_t count = self->letters.count;
    struct weir_value *rows =
        weir_heap_zalloc_array(self->outbox->heap, count, COLUMNS * sizeof *rows);
    enum weir_status status;

    if (rows == NULL)
        return weir_no_memory(error, "requeue");
    for (size_t i = 0; i < count; i++) {
        struct weir_value *row = rows + i * COLUMNS;

        row[0] = weir_integer(self->letters.items[i].shown.id);
        row[1] = weir_bytes(self->entries[i].uid, WEIR_UID_SIZE);
        row[2] = weir_integer(now_us);
        row[3] = weir_integer(token);
    }
    status = weir_connection_execute_many(
        self->connection, weir_connection_form(self->connection, &SQL_RESOLVE), rows,
        count, COLUMNS, NULL, error);
    weir_heap_free(self->outbox->heap, rows);
    return status;
}

static enum weir_status send(struct requeue_call *self, int64_t now_us, int64_t token,
                             struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    const char *channel = outbox->options.no_notify ? NULL : outbox->channel;
    enum weir_status status = check_room(self, error);

    if (status == WEIR_OK)
        status = pack(self, error);
    if (status == WEIR_OK)
        status = outbox->log.ops->append(&outbox->log, self->connection, self->entries,
                                         self->letters.count, channel, error);
    if (status == WEIR_OK && WEIR_POINT(outbox->points, "requeue.appended"))
        status = weir_error_set(error, WEIR_FAILED, "failed by order of a test");
    if (status == WEIR_OK)
        status = resolve(self, now_us, token, error);
    return status;
}

/* Requeue locked letters that fit one step. */
static enum weir_status ship(struct weir_outbox *outbox,
                             struct weir_connection *connection,
                             const struct weir_letter_pick *picks, size_t count,
                             int64_t now_us, int64_t token, struct weir_error *error)
{
    struct requeue_call self = {.outbox = outbox, .connection = connection};
    enum weir_status status;

    weir_letters_init(&self.letters, outbox->heap);
    weir_buf_init(&self.headers, outbox->heap, HEADERS_SIZE_MAX);
    status = weir_letters_fetch(&self.letters, connection, picks, count, now_us, error);
    if (status == WEIR_OK && self.letters.count > 0)
        status = send(&self, now_us, token, error);
    weir_heap_free(outbox->heap, self.entries);
    weir_buf_fini(&self.headers);
    weir_letters_fini(&self.letters);
    return status;
}

/* ---- by id ------------------------------------------------------------------------- */

static enum weir_status requeue_chosen(const struct weir_letter_decision *self,
                                       struct weir_connection *connection,
                                       const struct weir_letter_picks *picks,
                                       int64_t now_us, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    size_t done = 0;

    while (done < picks->count && status == WEIR_OK) {
        size_t count = weir_letter_picks_fitting(picks, done, WEIR_DEAD_LETTER_STEP);

        status = ship(self->outbox, connection, picks->items + done, count, now_us,
                      self->choice->token, error);
        done += count;
    }
    return status;
}

enum weir_status weir_dead_letter_requeue(struct weir_outbox *outbox,
                                          struct weir_connection *connection,
                                          const struct weir_dead_letter_choice *choice,
                                          enum weir_status *verdicts,
                                          struct weir_error *error)
{
    const struct weir_letter_decision decision = {
        .outbox = outbox,
        .choice = choice,
        .action = "dead_letter.requeue",
        .done = "requeued",
        .becomes = WEIR_DEAD_LETTER_RESOLVED,
        .takes_pending = true,
        .act = requeue_chosen,
    };
    enum weir_status status = weir_letter_decide(&decision, connection, verdicts, error);

    if (connection == NULL)
        weir_outbox_flush(outbox);
    return status;
}

/* ---- by scope ---------------------------------------------------------------------- */

static enum weir_status requeue_step(struct weir_outbox *outbox,
                                     struct weir_connection *connection,
                                     const struct weir_letter_picks *picks, size_t count,
                                     int64_t now_us, struct weir_error *error)
{
    return ship(outbox, connection, picks->items, count, now_us, 0, error);
}

enum weir_status weir_dead_letter_requeue_all(struct weir_outbox *outbox,
                                              const struct weir_dead_letter_scope *scope,
                                              weir_dead_letter_progress_fn progress,
                                              void *state,
                                              struct weir_dead_letter_progress *out,
                                              struct weir_error *error)
{
    const struct weir_letter_bulk bulk = {
        .action = "dead_letter.requeue",
        .outbox = outbox,
        .scope = scope,
        .pick = &outbox->engine->letters->requeue,
        .step = requeue_step,
        .progress = progress,
        .state = state,
    };
    char target[WEIR_AUDIT_TARGET_SIZE];
    struct weir_audit_call audit;
    enum weir_status status;

    *out = (struct weir_dead_letter_progress){.done = 0};
    weir_audit_begin(&audit, outbox->db, NULL, bulk.action,
                     weir_letter_scope_describe(scope, target, sizeof target));
    status = weir_dead_letter_count(outbox, NULL, scope, WEIR_DEAD_LETTER_PENDING,
                                    &out->total, error);
    if (scope->limit > 0 && out->total > scope->limit)
        out->total = scope->limit;
    if (status == WEIR_OK)
        status = weir_letter_bulk_run(&bulk, NULL, out, error);
    weir_outbox_flush(outbox);
    return weir_audit_end(&audit, status, error);
}
