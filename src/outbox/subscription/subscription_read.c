/*
 * subscription_read.c - the subscriptions as an operator sees them: weir/subscription.h.
 *
 * The rows of the table are read into memory first; what waits is added queue by queue,
 * from the partitions of weir/inspect.h.
 */
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/no_memory.h"
#include "db/query.h"
#include "outbox/names.h"
#include "outbox/outbox.h"
#include "weir/inspect.h"
#include "weir/subscription.h"

/* Small tables; dead letters by their unique index. */
static const struct weir_sql SQL_SUBSCRIPTIONS = {
    .name = "read subscriptions",
    .text = "SELECT q.name, s.name, s.serving, s.paused, q.paused, s.created_us,"
            " (SELECT count(*) FROM {p}_member m"
            "   WHERE m.subscription = s.id AND m.until_us > {now}),"
            " (SELECT count(*) FROM {p}_dead_letter d WHERE d.subscription = s.id"
            "   AND d.status IN ('pending', 'reprocessing'))"
            " FROM {p}_subscription s JOIN {p}_queue q ON q.id = s.queue"
            " WHERE {1} = '' OR q.name = {1} ORDER BY q.name, s.name",
    .parameters = "t",
};

/* One of them; its texts stand behind it. */
struct entry {
    struct weir_list link;
    struct weir_subscription_info info;
    char texts[]; /* the queue's name and its own, each with a zero */
};

struct entry_columns {
    struct weir_str queue;
    struct weir_str name;
    struct weir_subscription_info info;
};
static const struct weir_column ENTRY[] = {
    COLUMN(struct entry_columns, queue, TEXT),
    COLUMN(struct entry_columns, name, TEXT),
    COLUMN_ENUM(struct entry_columns, info.serving, INT32_MAX),
    COLUMN(struct entry_columns, info.paused, BOOLEAN),
    COLUMN(struct entry_columns, info.queue_paused, BOOLEAN),
    COLUMN(struct entry_columns, info.created_us, INTEGER),
    COLUMN(struct entry_columns, info.processes, INTEGER),
    COLUMN(struct entry_columns, info.dead_letters, INTEGER),
};

struct collecting {
    const struct weir_heap *heap;
    struct weir_list *entries;
};

static enum weir_status add_entry(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    const struct collecting *self = state;
    struct entry_columns row = {.queue = {NULL, 0}};
    struct entry *entry;
    enum weir_status status = weir_row_read(rows, COLUMNS(ENTRY), &row, error);

    if (status != WEIR_OK)
        return status;
    entry =
        weir_heap_zalloc(self->heap, sizeof *entry + row.queue.size + row.name.size + 2);
    if (entry == NULL)
        return weir_no_memory(error, "read subscriptions");
    memcpy(entry->texts, row.queue.data, row.queue.size);
    memcpy(entry->texts + row.queue.size + 1, row.name.data, row.name.size);
    entry->info = row.info;
    entry->info.queue = entry->texts;
    entry->info.name = entry->texts + row.queue.size + 1;
    weir_list_append(self->entries, &entry->link);
    return WEIR_OK;
}

static enum weir_status collect(struct weir_outbox *outbox, const char *queue,
                                struct weir_list *out, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct collecting collecting = {outbox->heap, out};
    enum weir_status status = weir_outbox_connect(outbox, &connection, error);

    if (status == WEIR_OK)
        status = weir_query_each(connection, &SQL_SUBSCRIPTIONS,
                                 VALUES(weir_text(weir_str(queue))), add_entry,
                                 &collecting, error);
    weir_db_release(outbox->db, connection);
    return status;
}

static void add_partition(void *state, const struct weir_partition_info *partition)
{
    struct weir_list *entries = state;

    WEIR_LIST_EACH(link, entries)
    {
        struct weir_subscription_info *info =
            &WEIR_CONTAINER_OF(link, struct entry, link)->info;

        if (strcmp(info->queue, partition->queue) != 0 ||
            strcmp(info->name, partition->subscription) != 0)
            continue;
        info->waiting += partition->waiting;
        info->waiting_is_estimate |= partition->waiting_is_estimate;
        if (partition->oldest_age_us > info->oldest_age_us)
            info->oldest_age_us = partition->oldest_age_us;
    }
}

/* Each queue once: they come side by side. One that was removed meanwhile has nothing
 * waiting. */
static enum weir_status measure(struct weir_outbox *outbox, struct weir_list *entries,
                                struct weir_error *error)
{
    const char *last = "";
    enum weir_status status = WEIR_OK;

    WEIR_LIST_EACH(link, entries)
    {
        const char *queue = WEIR_CONTAINER_OF(link, struct entry, link)->info.queue;

        if (status != WEIR_OK || strcmp(queue, last) == 0)
            continue;
        status =
            weir_outbox_read_partitions(outbox, queue, add_partition, entries, error);
        if (status == WEIR_NOT_FOUND)
            status = WEIR_OK;
        last = queue;
    }
    return status;
}

/* A queue without subscriptions has none to tell; one that is not there is an error. */
static enum weir_status check_queue(struct weir_outbox *outbox, const char *queue,
                                    struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct weir_queue_row row;
    enum weir_status status = weir_queue_name_check("queue name", queue, error);

    if (status == WEIR_OK)
        status = weir_outbox_connect(outbox, &connection, error);
    if (status == WEIR_OK)
        status = weir_catalog_find_queue(connection, queue, &row, error);
    weir_db_release(outbox->db, connection);
    return status;
}

enum weir_status weir_outbox_read_subscriptions(struct weir_outbox *self,
                                                const char *queue,
                                                weir_subscription_info_fn visit,
                                                void *state, struct weir_error *error)
{
    struct weir_list entries;
    struct weir_list *link;
    enum weir_status status = WEIR_OK;

    weir_list_init(&entries);
    if (queue != NULL)
        status = check_queue(self, queue, error);
    if (status == WEIR_OK)
        status = collect(self, queue != NULL ? queue : "", &entries, error);
    if (status == WEIR_OK)
        status = measure(self, &entries, error);
    while ((link = weir_list_take_first(&entries)) != NULL) {
        struct entry *entry = WEIR_CONTAINER_OF(link, struct entry, link);

        if (status == WEIR_OK)
            visit(state, &entry->info);
        weir_heap_free(self->heap, entry);
    }
    return status;
}
