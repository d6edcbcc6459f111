/*
 * dispatcher.c - reads the log into leased partitions: the main reader and the follower.
 *
 * The main reader looks for what is new, makes it readable (a cut, on PostgreSQL) and
 * reads it once for all leased partitions that are attached. Whether it looks by itself
 * or is notified by producers it tells them (notify_mode.h). Going to sleep takes two
 * looks: it first says that it sleeps, so that from then on every writer notifies,
 * and then looks again for what was written just before.
 */
#include <string.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "db/db.h"
#include "outbox/delivery/notify_mode.h"
#include "outbox/outbox.h"
#include "ward/executor.h"

struct weir_dispatcher {
    struct weir_outbox *outbox;
    enum weir_reader_kind kind;
    struct weir_log_position head; /* readable up to here, as far as we know */
    bool head_known;
    uint64_t generation; /* of the database's connections, when the head was read */
    struct weir_notify_mode notify_mode;
    struct weir_outbox_report report;
};

/* ---- reading ----------------------------------------------------------------------- */

struct collection {
    const struct weir_heap *heap;
    struct weir_list buffered_messages;
};

static enum weir_status keep_row(void *state, const struct weir_log_row *row,
                                 struct weir_error *error)
{
    struct collection *collection = state;
    struct weir_buffered_message *buffered_message =
        weir_buffered_message_create(collection->heap, row);

    if (buffered_message == NULL)
        return weir_no_memory(error, "read");
    weir_list_append(&collection->buffered_messages, &buffered_message->link);
    return WEIR_OK;
}

static void drop_all(struct collection *self)
{
    struct weir_list *link;

    while ((link = weir_list_take_first(&self->buffered_messages)) != NULL)
        weir_heap_free(self->heap,
                       WEIR_CONTAINER_OF(link, struct weir_buffered_message, link));
}

static void note_lost(const struct weir_outbox *outbox, const struct weir_lease *leases,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!leases[i].kept)
            weir_log_event(outbox->logger, WEIR_LOG_WARNING, "outbox.lease_lost",
                           "subscription=%lld partition=%d text=\"another process had it"
                           " meanwhile\"",
                           (long long)leases[i].key.subscription,
                           weir_pid_partition(leases[i].key.pid));
    }
}

/* Leased partitions in which messages of this page may be missing: are they still ours?
 * Once for each change of what was removed, in one statement. */
static enum weir_status ask(struct weir_dispatcher *self,
                            struct weir_connection *connection,
                            const struct weir_page *page, struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    size_t count =
        weir_partition_table_doubted(outbox->partition_table, self->kind, page, NULL, 0);
    struct weir_lease *leases;
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    leases = weir_heap_zalloc_array(outbox->heap, count, sizeof *leases);
    if (leases == NULL)
        return weir_error_set(error, WEIR_NO_MEMORY, "ask about %zu %s", count,
                              WEIR_NOUN(count, "lease", "leases"));
    /* None is doubted that was not before: a leased partition enters a page only when
     * that is chosen. */
    count = weir_partition_table_doubted(outbox->partition_table, self->kind, page,
                                         leases, count);
    status = weir_lease_check(connection, outbox->owner, leases, count, error);
    if (status == WEIR_OK) {
        weir_partition_table_answer(outbox->partition_table, page, leases, count);
        note_lost(outbox, leases, count);
    }
    weir_heap_free(outbox->heap, leases);
    return status;
}

/* Read the page that was chosen and hand it out. */
static enum weir_status read_page(struct weir_dispatcher *self,
                                  struct weir_connection *connection,
                                  struct weir_page *page, struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    struct collection collection = {.heap = outbox->heap};
    enum weir_status status;

    weir_list_init(&collection.buffered_messages);
    page->visit = keep_row;
    page->state = &collection;
    status = outbox->log.ops->read(&outbox->log, connection, page, error);
    (void)WEIR_POINT(outbox->points, "dispatcher.read");
    if (status == WEIR_OK)
        status = ask(self, connection, page, error);
    if (status == WEIR_OK) {
        weir_partition_table_route(outbox->partition_table, self->kind, page,
                                   &collection.buffered_messages);
        self->report.messages += page->rows;
        atomic_fetch_add(&outbox->pages_read[self->kind], 1);
        atomic_fetch_add(&outbox->rows_read[self->kind], page->rows);
    } else {
        weir_partition_table_abandon_page(outbox->partition_table, self->kind);
        drop_all(&collection);
        weir_error_prefix(error, "read the log");
    }
    return status;
}

/* There is nothing behind its beginning. Leased partitions want to hear that too:
 * nothing waits in them. */
static void route_nothing(struct weir_dispatcher *self, struct weir_page *page)
{
    struct weir_list none;

    weir_list_init(&none);
    page->end = page->after;
    page->at_head = true;
    weir_partition_table_route(self->outbox->partition_table, self->kind, page, &none);
}

/* ---- sleeping and watching --------------------------------------------------------- */

static enum weir_status look(struct weir_dispatcher *self,
                             struct weir_connection *connection, bool *moved,
                             struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    const char *channel = atomic_load(&outbox->alone) ? NULL : outbox->channel;
    struct weir_log_position known = self->head;
    enum weir_status status;

    if (!self->head_known)
        known = (struct weir_log_position){-1, -1};
    status = outbox->log.ops->advance(&outbox->log, connection, known, true, channel,
                                      &self->head, moved, error);
    (void)WEIR_POINT(outbox->points, "dispatcher.advanced");
    if (status == WEIR_OK)
        self->head_known = true;
    if (status == WEIR_OK && *moved && outbox->wake != NULL)
        weir_wake_reward(outbox->wake); /* there may be more soon */
    if (status != WEIR_OK)
        weir_error_prefix(error, "look for messages");
    return status;
}

static enum weir_status say(struct weir_dispatcher *self,
                            struct weir_connection *connection,
                            enum weir_notify_mode_change word, struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    enum weir_status status = outbox->log.ops->say_watching(
        &outbox->log, connection, word == WEIR_NOTIFY_MODE_POLLING, error);

    if (status == WEIR_OK)
        weir_notify_mode_published(&self->notify_mode, word,
                                   weir_executor_now(outbox->executor));
    return status;
}

/* Nothing is there. Is there still nothing, once producers know that we sleep? */
static enum weir_status fall_asleep(struct weir_dispatcher *self,
                                    struct weir_connection *connection, bool *moved,
                                    struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    enum weir_notify_mode_change word;
    enum weir_status status;

    if (outbox->log.ops->say_watching == NULL)
        return WEIR_OK;
    word =
        weir_notify_mode_missed(&self->notify_mode, weir_executor_now(outbox->executor));
    if (word == WEIR_NOTIFY_MODE_UNCHANGED)
        return WEIR_OK;
    status = say(self, connection, word, error);
    return status == WEIR_OK ? look(self, connection, moved, error) : status;
}

static enum weir_status stay_awake(struct weir_dispatcher *self,
                                   struct weir_connection *connection,
                                   struct weir_error *error)
{
    struct weir_outbox *outbox = self->outbox;
    enum weir_notify_mode_change word;

    if (outbox->log.ops->say_watching == NULL)
        return WEIR_OK;
    word =
        weir_notify_mode_found(&self->notify_mode, weir_executor_now(outbox->executor));
    return word == WEIR_NOTIFY_MODE_UNCHANGED ? WEIR_OK
                                              : say(self, connection, word, error);
}

/* Is there anything behind `after`? */
static enum weir_status find_more(struct weir_dispatcher *self,
                                  struct weir_connection *connection,
                                  struct weir_log_position after, bool *more,
                                  struct weir_error *error)
{
    enum weir_status status = WEIR_OK;
    bool moved = false;

    /* Another server may have taken over, which does not have the newest of what we
     * saw. */
    if (self->generation != weir_db_generation(self->outbox->db)) {
        self->generation = weir_db_generation(self->outbox->db);
        self->head_known = false;
    }
    *more = self->head_known && weir_log_position_before(after, self->head);
    if (*more)
        return WEIR_OK;
    status = look(self, connection, &moved, error);
    if (status == WEIR_OK && weir_log_position_before(self->head, after))
        weir_partition_table_lose_front(self->outbox->partition_table);
    if (status == WEIR_OK && !weir_log_position_before(after, self->head))
        status = fall_asleep(self, connection, &moved, error);
    *more = status == WEIR_OK && weir_log_position_before(after, self->head);
    return status;
}

/* ---- the two workers --------------------------------------------------------------- */

/* One page. *more: there may be another. */
static enum weir_status turn_main(struct weir_dispatcher *self,
                                  struct weir_connection *connection, bool *more,
                                  struct weir_error *error)
{
    struct weir_partition_table *partition_table = self->outbox->partition_table;
    struct weir_page page;
    enum weir_status status;

    *more = false;
    if (!weir_partition_table_next_page(partition_table, WEIR_READER_MAIN, &page))
        return WEIR_OK;
    status = find_more(self, connection, page.after, more, error);
    if (status != WEIR_OK) {
        weir_partition_table_abandon_page(partition_table, WEIR_READER_MAIN);
        return status;
    }
    if (!*more) {
        route_nothing(self, &page);
        return WEIR_OK;
    }
    status = read_page(self, connection, &page, error);
    return status == WEIR_OK ? stay_awake(self, connection, error) : status;
}

static enum weir_status turn_follower(struct weir_dispatcher *self,
                                      struct weir_connection *connection, bool *more,
                                      struct weir_error *error)
{
    struct weir_page page;

    *more = weir_partition_table_next_page(self->outbox->partition_table,
                                           WEIR_READER_FOLLOWER, &page);
    return *more ? read_page(self, connection, &page, error) : WEIR_OK;
}

static struct weir_directive rest(struct weir_dispatcher *self)
{
    int64_t rest_ns = weir_notify_mode_poll_interval(&self->notify_mode);

    if (rest_ns == 0 && self->kind == WEIR_READER_MAIN &&
        self->outbox->executor->simulated) /* there is no thread to listen */
        rest_ns = WEIR_OUTBOX_POLL_NS;
    return rest_ns == 0 ? weir_idle() : weir_sleep_for(rest_ns);
}

static enum weir_status dispatch(struct weir_context *context, void *state,
                                 struct weir_directive *out, struct weir_error *error)
{
    struct weir_dispatcher *self = state;
    struct weir_outbox *outbox = self->outbox;
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_outbox_connect(outbox, &connection, error);
    bool more = true;

    self->report.messages = 0;
    for (uint32_t i = 0; status == WEIR_OK && more && i < outbox->options.pages_per_run;
         i++) {
        if (weir_context_cancelled(context))
            break;
        status = self->kind == WEIR_READER_MAIN
                     ? turn_main(self, connection, &more, error)
                     : turn_follower(self, connection, &more, error);
    }
    weir_db_release(outbox->db, connection);
    *out = weir_directive_with(more ? weir_proceed() : rest(self),
                               &weir_outbox_report_type, &self->report);
    return status;
}

enum weir_status weir_dispatcher_spawn(struct weir_outbox *outbox,
                                       enum weir_reader_kind kind,
                                       struct weir_error *error)
{
    struct weir_dispatcher *self = weir_heap_zalloc(outbox->heap, sizeof *self);
    struct weir_outbox_worker_options options = {.category = "dispatcher"};
    enum weir_outbox_notifier_id notifier =
        kind == WEIR_READER_MAIN ? WEIR_NOTIFY_MAIN : WEIR_NOTIFY_FOLLOWER;

    if (self == NULL)
        return weir_no_memory(error, "start the dispatcher");
    self->outbox = outbox;
    self->kind = kind;
    outbox->readers[kind] = self;
    weir_worker_options_init(&options.worker);
    options.worker.name = kind == WEIR_READER_MAIN ? "dispatcher" : "follower";
    options.worker.action = dispatch;
    options.worker.state = self;
    options.worker.notifiers = &outbox->notifiers[notifier];
    options.worker.notifier_count = 1;
    options.worker.shared = outbox->shared;
    options.worker.guaranteed = outbox->guaranteed;
    options.worker.pace = weir_pace_none();
    /* Each thread has a heap of its own in the C library. A reader that runs on all of
     * them in turn fills each with messages once, and what is free in one is of no use
     * to the next. */
    if (outbox->own_executor)
        options.worker.worker_class = WEIR_WORKER_RESERVED;
    options.worker.backoff.max_ns = WEIR_SECONDS(5);
    return weir_outbox_spawn(outbox, &options, error);
}
