/*
 * events.c - see events.h.
 *
 * A change has at most one event per queue, so each queue is one walk over the changes
 * and one enqueue of many.
 */
#include "execution/events.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/no_memory.h"
#include "execution/executions.h"
#include "execution/flow/flow_store.h"
#include "execution/wait/wait_store.h"
#include "outbox/audit/audit.h"
#include "outbox/outbox.h"
#include "outbox/queue/catalog.h"
#include "outbox/schema.h"

enum queue { COMPLETION, LEASE, OPERATOR, SIGNAL, QUEUE_COUNT };

enum {
    FAILURE_SHOWN = 256,
    /* Any event without its tags: texts in which every byte may need an escape. */
    BARE_SIZE_MAX = 6144,
    TAGS_SIZE_MAX = WEIR_TAGS_MAX * (12 * WEIR_TAG_SIZE_MAX + 8)
};

static const char FLOW_CANCELLED[] = "flow_cancel_requested";

#define LEASE_NEWS                                                                       \
    (WEIR_NEWS_ACQUIRED | WEIR_NEWS_RECLAIMED | WEIR_NEWS_EXPIRED | WEIR_NEWS_REVOKED)

static const struct {
    const char *name;
    unsigned news;
} QUEUES[QUEUE_COUNT] = {
    [COMPLETION] = {"execution.completion", WEIR_NEWS_COMPLETION},
    [LEASE] = {"execution.lease", LEASE_NEWS},
    [OPERATOR] = {"execution.operator",
                  WEIR_NEWS_PRIORITY | WEIR_NEWS_REPLAYED |
                      WEIR_NEWS_RESUMED}, /* and weir_events_flow_cancelled() */
    [SIGNAL] = {"execution.signal", 0},   /* weir_events_signal() */
};

bool weir_events_is_queue(const char *name)
{
    for (int i = 0; i < QUEUE_COUNT; i++) {
        if (strcmp(name, QUEUES[i].name) == 0)
            return true;
    }
    return false;
}

static struct weir_queue_options options_of(int queue)
{
    struct weir_queue_options options;

    weir_queue_options_init(&options);
    options.name = QUEUES[queue].name;
    options.partitions = WEIR_EVENT_PARTITIONS;
    options.unread = WEIR_UNREAD_DROP;
    return options;
}

static enum weir_status make_queue(struct weir_connection *connection, int queue,
                                   struct weir_error *error)
{
    const struct weir_queue_options options = options_of(queue);
    struct weir_queue_row row;
    enum weir_status status =
        weir_catalog_find_queue(connection, options.name, &row, error);

    return status == WEIR_NOT_FOUND
               ? weir_catalog_add_queue(connection, &options, &row, error)
               : status;
}

enum weir_status weir_events_make_queues(struct weir_db *db, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = weir_schema_check(&weir_outbox_schema, connection, error);
    for (int i = 0; i < QUEUE_COUNT && status == WEIR_OK; i++)
        status = make_queue(connection, i, error);
    weir_db_release(db, connection);
    return status == WEIR_SCHEMA ? WEIR_OK : status; /* there is no outbox to tell */
}

enum weir_status weir_events_open(struct weir_outbox *outbox, size_t *size_max,
                                  struct weir_error *error)
{
    const struct weir_audit_actor *actor;
    enum weir_status status = WEIR_OK;

    *size_max = outbox->options.payload_size_max;
    if (*size_max < WEIR_EVENT_SIZE_MIN)
        return weir_error_set(error, WEIR_INVALID,
                              "the outbox's payload_size_max is %zu, must be at least %d "
                              "for events",
                              *size_max, WEIR_EVENT_SIZE_MIN);
    actor = weir_audit_suspend(); /* these queues are no operator's */
    for (int i = 0; i < QUEUE_COUNT && status == WEIR_OK; i++) {
        const struct weir_queue_options options = options_of(i);

        status = weir_outbox_add_queue(outbox, &options, error);
        if (status == WEIR_EXISTS)
            status = WEIR_OK; /* another engine has the same outbox */
    }
    weir_audit_resume(actor);
    return status;
}

/* ---- tags -------------------------------------------------------------------------- */

struct span {
    size_t start;
    size_t size;
};

/* Those of all changes, each as the inside of a JSON object. */
struct tags {
    struct weir_buf text;
    struct span *spans; /* one per change */
    size_t *owners;     /* change of each number that was asked for */
};

static enum weir_status note_tag(void *state, const struct weir_work_tag *tag,
                                 struct weir_error *error)
{
    struct tags *self = state;
    struct span *span = &self->spans[self->owners[tag->index]];

    if (span->size == 0)
        span->start = self->text.size;
    else
        weir_buf_append_text(&self->text, ",");
    weir_json_append_str(&self->text, tag->key);
    weir_buf_append_text(&self->text, ":");
    weir_json_append_str(&self->text, tag->value);
    span->size = self->text.size - span->start;
    return weir_buf_status(&self->text) == WEIR_OK
               ? WEIR_OK
               : weir_no_memory_for(error, "tags of events");
}

static void tags_fini(struct tags *self, const struct weir_heap *heap)
{
    weir_buf_fini(&self->text);
    weir_heap_free(heap, self->spans);
    weir_heap_free(heap, self->owners);
}

static bool has_no_tags(const struct weir_execution_record *stored)
{
    return stored->tags_known && !stored->tagged;
}

static enum weir_status tags_read(struct tags *self, struct weir_executions *executions,
                                  struct weir_connection *connection,
                                  const struct weir_change *changes, size_t count,
                                  struct weir_error *error)
{
    int64_t *nos = weir_heap_zalloc_array(executions->heap, count, sizeof *nos);
    enum weir_status status = WEIR_OK;
    size_t asked = 0;

    weir_buf_init(&self->text, executions->heap, count * TAGS_SIZE_MAX);
    self->spans = weir_heap_zalloc_array(executions->heap, count, sizeof *self->spans);
    self->owners = weir_heap_zalloc_array(executions->heap, count, sizeof *self->owners);
    if (nos == NULL || self->spans == NULL || self->owners == NULL)
        status = weir_no_memory_for(error, "%zu events", count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (changes[i].consequence.news == 0 || has_no_tags(changes[i].stored))
            continue;
        self->owners[asked] = i;
        nos[asked++] = changes[i].stored->row.no;
    }
    if (status == WEIR_OK && asked > 0)
        status = weir_store_visit_tags(&executions->store, connection, nos, asked,
                                       note_tag, self, error);
    weir_heap_free(executions->heap, nos);
    return status;
}

/* ---- one event --------------------------------------------------------------------- */

static const char *lease_event(unsigned news)
{
    if (news & WEIR_NEWS_ACQUIRED)
        return "acquired";
    if (news & WEIR_NEWS_RECLAIMED)
        return "reclaimed";
    return news & WEIR_NEWS_EXPIRED ? "expired" : "revoked";
}

static const char *event_name(enum queue queue, const struct weir_change *change)
{
    unsigned news = change->consequence.news;

    switch (queue) {
    case COMPLETION:
        return weir_state_outcome(change->stored->row.state);
    case LEASE:
        return lease_event(news);
    default:
        return news & WEIR_NEWS_PRIORITY   ? "priority_changed"
               : news & WEIR_NEWS_REPLAYED ? "replayed"
                                           : "resumed";
    }
}

static void add_text(struct weir_buf *out, const char *name, struct weir_str text)
{
    weir_buf_append_format(out, ",\"%s\":", name);
    weir_json_append_str(out, text);
}

static void add_number(struct weir_buf *out, const char *name, int64_t number)
{
    weir_buf_append_format(out, ",\"%s\":%" PRId64, name, number);
}

static struct weir_str shortened(struct weir_str text)
{
    if (text.size > FAILURE_SHOWN)
        text.size = FAILURE_SHOWN;
    return text;
}

static void add_completion(struct weir_buf *out, const struct weir_execution_row *row)
{
    add_number(out, "attempts", row->attempts);
    add_number(out, "epoch", row->epoch);
    add_text(out, "reason", shortened(row->failure));
}

/* A lease that has ended had the epoch before: its end made the epoch grow, by one. */
static void add_lease(struct weir_buf *out, const struct weir_execution_row *row)
{
    bool held = row->state == WEIR_EXEC_ACTIVE;

    add_number(out, "attempt", row->attempts - 1);
    add_number(out, "epoch", held ? row->epoch : row->epoch - 1);
    add_number(out, "lease_us", row->lease_us);
    add_text(out, "worker", row->worker);
    add_text(out, "instance", row->instance);
}

static void add_intervention(struct weir_buf *out, const struct weir_change *change)
{
    const struct weir_execution_row *row = &change->stored->row;

    if (change->consequence.news & WEIR_NEWS_PRIORITY) {
        add_number(out, "priority_before", change->consequence.priority_before);
        add_number(out, "priority", row->priority);
    } else if (change->consequence.news & WEIR_NEWS_REPLAYED) {
        add_number(out, "replays", row->replays);
    }
}

/* What all events begin with. */
static void begin_event(struct weir_buf *out, const char *name, const char *id,
                        const struct weir_execution_record *stored, int64_t now_us)
{
    weir_buf_append_format(out, "{\"event\":\"%s\",\"execution\":\"%s\"", name, id);
    add_text(out, "namespace", stored->name_space);
    add_text(out, "lane", stored->lane_name);
    add_text(out, "kind", stored->kind);
    add_number(out, "at_us", now_us);
}

static void write_event(struct weir_buf *out, enum queue queue,
                        const struct weir_change *change, const char *id, int64_t now_us)
{
    const struct weir_execution_record *stored = change->stored;

    begin_event(out, event_name(queue, change), id, stored, now_us);
    if (queue == COMPLETION)
        add_completion(out, &stored->row);
    else if (queue == LEASE)
        add_lease(out, &stored->row);
    else
        add_intervention(out, change);
}

static void write_tags(struct weir_buf *out, const struct tags *tags, size_t index,
                       size_t size_max)
{
    const struct span *span = &tags->spans[index];

    if (span->size > size_max - BARE_SIZE_MAX) {
        weir_buf_append_text(out, ",\"tags\":null}");
        return;
    }
    weir_buf_append_text(out, ",\"tags\":{");
    weir_buf_append(out, weir_buf_text(&tags->text) + span->start, span->size);
    weir_buf_append_text(out, "}}");
}

/* ---- many -------------------------------------------------------------------------- */

/* All events of one queue. */
struct event_batch {
    struct weir_buf text; /* payloads, one behind the other */
    struct weir_draft *drafts;
    char (*ids)[WEIR_EXECUTION_ID_TEXT_SIZE];
    size_t count;
};

static enum weir_status event_batch_init(struct event_batch *self,
                                         const struct weir_executions *executions,
                                         size_t count, struct weir_error *error)
{
    *self = (struct event_batch){
        .drafts = weir_heap_zalloc_array(executions->heap, count, sizeof *self->drafts),
        .ids = weir_heap_zalloc_array(executions->heap, count, sizeof *self->ids),
    };
    weir_buf_init(&self->text, executions->heap, count * executions->event_size_max);
    if (self->drafts != NULL && self->ids != NULL)
        return WEIR_OK;
    return weir_no_memory_for(error, "%zu events", count);
}

static void event_batch_fini(struct event_batch *self,
                             const struct weir_executions *executions)
{
    weir_buf_fini(&self->text);
    weir_heap_free(executions->heap, self->drafts);
    weir_heap_free(executions->heap, self->ids);
}

static void event_batch_add(struct event_batch *self,
                            const struct weir_executions *executions, enum queue queue,
                            const struct weir_change *change, const struct tags *tags,
                            size_t index, int64_t now_us)
{
    struct weir_draft *draft = &self->drafts[self->count];
    char *id = self->ids[self->count++];
    size_t start = self->text.size;

    write_event(&self->text, queue, change,
                weir_execution_id_format(&change->stored->row.id, id), now_us);
    write_tags(&self->text, tags, index, executions->event_size_max);
    *draft = (struct weir_draft){
        .key = id,
        .type = event_name(queue, change),
        .payload_size = self->text.size - start,
    };
}

/* The text has stopped moving. */
static enum weir_status event_batch_send(struct event_batch *self,
                                         struct weir_executions *executions,
                                         struct weir_connection *connection,
                                         enum queue queue, struct weir_error *error)
{
    const char *at = weir_buf_text(&self->text);
    enum weir_status status = weir_buf_status(&self->text);

    if (status != WEIR_OK)
        return weir_error_set(error, status, "no memory for %zu events", self->count);
    for (size_t i = 0; i < self->count; i++) {
        self->drafts[i].payload = at;
        at += self->drafts[i].payload_size;
    }
    status = weir_enqueue_batch(executions->outbox, connection, QUEUES[queue].name,
                                self->drafts, self->count, NULL, error);
    if (status != WEIR_OK)
        weir_error_prefix(error, "%s", QUEUES[queue].name);
    return status;
}

static enum weir_status send_to(enum queue queue, struct weir_executions *executions,
                                struct weir_connection *connection,
                                const struct weir_change *changes, size_t count,
                                const struct tags *tags, int64_t now_us,
                                struct weir_error *error)
{
    struct event_batch event_batch;
    enum weir_status status = event_batch_init(&event_batch, executions, count, error);

    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (changes[i].consequence.news & QUEUES[queue].news)
            event_batch_add(&event_batch, executions, queue, &changes[i], tags, i,
                            now_us);
    }
    if (status == WEIR_OK && event_batch.count > 0)
        status = event_batch_send(&event_batch, executions, connection, queue, error);
    event_batch_fini(&event_batch, executions);
    return status;
}

static unsigned all_news(const struct weir_change *changes, size_t count)
{
    unsigned news = 0;

    for (size_t i = 0; i < count; i++)
        news |= changes[i].consequence.news;
    return news;
}

enum weir_status weir_events_send(struct weir_executions *executions,
                                  struct weir_connection *connection,
                                  const struct weir_change *changes, size_t count,
                                  int64_t now_us, bool *told, struct weir_error *error)
{
    unsigned news = executions->outbox != NULL ? all_news(changes, count) : 0;
    struct tags tags;
    enum weir_status status;

    *told = news != 0;
    if (news == 0)
        return WEIR_OK;
    status = tags_read(&tags, executions, connection, changes, count, error);
    for (int i = 0; i < QUEUE_COUNT && status == WEIR_OK; i++) {
        if (news & QUEUES[i].news)
            status = send_to((enum queue)i, executions, connection, changes, count, &tags,
                             now_us, error);
    }
    tags_fini(&tags, executions->heap);
    return status;
}

/* ---- signals ----------------------------------------------------------------------- */

/* Its payload is not sent: the worker that resumes reads it, and others need not know. */
static void write_signal(struct weir_buf *out, const struct weir_signal_row *signal,
                         struct weir_str waitpoint_key)
{
    add_text(out, "signal", signal->name);
    add_text(out, "waitpoint", waitpoint_key);
    add_text(out, "source_type", signal->source_type);
    add_text(out, "source", signal->source);
}

enum weir_status weir_events_signal(struct weir_executions *executions,
                                    struct weir_connection *connection,
                                    struct weir_execution_record *stored,
                                    const struct weir_signal_row *signal,
                                    struct weir_str waitpoint_key, const char *effect,
                                    int64_t now_us, bool *told, struct weir_error *error)
{
    struct weir_change change = {.stored = stored, .consequence = {.news = 1}};
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct event_batch event_batch;
    struct tags tags;
    enum weir_status status;

    if (executions->outbox == NULL)
        return WEIR_OK;
    status = tags_read(&tags, executions, connection, &change, 1, error);
    if (status == WEIR_OK)
        status = event_batch_init(&event_batch, executions, 1, error);
    else
        event_batch = (struct event_batch){.count = 0};
    if (status == WEIR_OK) {
        begin_event(&event_batch.text, effect,
                    weir_execution_id_format(&stored->row.id, id), stored, now_us);
        write_signal(&event_batch.text, signal, waitpoint_key);
        write_tags(&event_batch.text, &tags, 0, executions->event_size_max);
        event_batch.drafts[event_batch.count++] = (struct weir_draft){
            .key = id, .type = effect, .payload_size = event_batch.text.size};
        status = event_batch_send(&event_batch, executions, connection, SIGNAL, error);
        *told = true;
    }
    event_batch_fini(&event_batch, executions);
    tags_fini(&tags, executions->heap);
    return status;
}

/* ---- flows ------------------------------------------------------------------------- */

static const char *const CANCEL_POLICIES[] = {
    [WEIR_CANCEL_FLOW_ONLY] = "cancel_flow_only",
    [WEIR_CANCEL_ALL] = "cancel_all",
    [WEIR_CANCEL_PENDING] = "cancel_pending",
};

static void write_flow_cancelled(struct weir_buf *out, const struct weir_flow_row *row,
                                 const char *id, size_t members)
{
    weir_buf_append_format(out, "{\"event\":\"%s\",\"flow\":\"%s\"", FLOW_CANCELLED, id);
    add_text(out, "namespace", row->name_space);
    add_text(out, "kind", row->kind);
    add_number(out, "at_us", row->ended_us);
    add_text(out, "policy", weir_str(CANCEL_POLICIES[row->cancel_policy]));
    add_number(out, "members", (int64_t)members);
    add_text(out, "reason", shortened(row->cancel_reason));
    weir_buf_append_text(out, "}");
}

enum weir_status weir_events_flow_cancelled(struct weir_executions *executions,
                                            struct weir_connection *connection,
                                            const struct weir_flow_row *row,
                                            size_t members, bool *told,
                                            struct weir_error *error)
{
    char id[WEIR_FLOW_ID_TEXT_SIZE];
    struct event_batch event_batch;
    enum weir_status status;

    if (executions->outbox == NULL)
        return WEIR_OK;
    status = event_batch_init(&event_batch, executions, 1, error);
    if (status == WEIR_OK) {
        write_flow_cancelled(&event_batch.text, row, weir_flow_id_format(&row->id, id),
                             members);
        event_batch.drafts[event_batch.count++] = (struct weir_draft){
            .key = id, .type = FLOW_CANCELLED, .payload_size = event_batch.text.size};
        status = event_batch_send(&event_batch, executions, connection, OPERATOR, error);
        *told = true;
    }
    event_batch_fini(&event_batch, executions);
    return status;
}
