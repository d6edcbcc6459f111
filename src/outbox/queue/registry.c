/*
 * registry.c - see registry.h.
 */
#include "outbox/queue/registry.h"

#include <string.h>

#include "base/heap.h"
#include "base/noun.h"
#include "db/clock.h"

enum { ENTRIES_MAX = 100000 };

struct weir_registry_entry {
    struct weir_queue_row row;
    struct weir_queue_counter *counter; /* borrowed; NULL: no memory */
    int64_t known_ns;                   /* when it was read; 0: forgotten */
    int64_t backlog;
    bool counted;    /* the next two are of a number */
    int64_t stamp;   /* struct weir_backlog */
    int64_t read_ns; /* 0: to be read again */
};

enum weir_status weir_registry_init(struct weir_registry *self,
                                    const struct weir_heap *heap)
{
    self->heap = heap;
    weir_map_init(&self->entries, heap, ENTRIES_MAX);
    weir_map_init(&self->declared, heap, ENTRIES_MAX);
    weir_map_init(&self->counters, heap, ENTRIES_MAX);
    weir_list_init(&self->counted);
    return weir_lock_init(&self->lock);
}

static bool free_entry(void *heap, struct weir_str key, void *value)
{
    (void)key;
    weir_heap_free(heap, value);
    return true;
}

void weir_registry_fini(struct weir_registry *self)
{
    weir_map_remove_if(&self->entries, free_entry, (void *)(uintptr_t)self->heap);
    weir_map_fini(&self->entries);
    weir_map_remove_if(&self->declared, free_entry, (void *)(uintptr_t)self->heap);
    weir_map_fini(&self->declared);
    weir_map_remove_if(&self->counters, free_entry, (void *)(uintptr_t)self->heap);
    weir_map_fini(&self->counters);
    weir_lock_fini(&self->lock);
}

static struct weir_registry_entry *find(struct weir_registry *self, const char *name)
    WEIR_REQUIRES(self->lock)
{
    return weir_map_find(&self->entries, weir_str(name));
}

static bool is_young(int64_t since_ns)
{
    return since_ns != 0 && weir_clock_now_ns() - since_ns < WEIR_REGISTRY_AGE_NS;
}

static bool recall(struct weir_registry *self, const char *name,
                   struct weir_queue_row *out, struct weir_queue_counter **counter)
{
    const struct weir_registry_entry *entry;
    bool known;

    *counter = NULL;
    weir_lock_acquire(&self->lock);
    entry = find(self, name);
    known = entry != NULL && is_young(entry->known_ns);
    if (known) {
        *out = entry->row;
        *counter = entry->counter;
    }
    weir_lock_release(&self->lock);
    return known;
}

bool weir_registry_find_known(struct weir_registry *self, const char *name,
                              struct weir_queue_row *out,
                              struct weir_queue_counter **counter, int64_t *backlog)
{
    *backlog = 0;
    return recall(self, name, out, counter) &&
           (out->backlog_max == 0 || weir_registry_backlog(self, name, backlog));
}

enum weir_status weir_registry_find(struct weir_registry *self,
                                    struct weir_connection *connection, const char *name,
                                    struct weir_queue_row *out, struct weir_error *error)
{
    struct weir_queue_counter *counter;

    return weir_registry_find_counted(self, connection, name, out, &counter, error);
}

enum weir_status weir_registry_find_counted(struct weir_registry *self,
                                            struct weir_connection *connection,
                                            const char *name, struct weir_queue_row *out,
                                            struct weir_queue_counter **counter,
                                            struct weir_error *error)
{
    int64_t asked_ns = weir_clock_now_ns();
    struct weir_queue_row row;
    enum weir_status status;

    if (recall(self, name, out, counter))
        return WEIR_OK;
    status = weir_catalog_find_for_producer(connection, name, out, error);
    if (status == WEIR_OK) {
        weir_registry_put(self, name, out, asked_ns);
        (void)recall(self, name, &row, counter);
    } else if (status == WEIR_NOT_FOUND || status == WEIR_BUSY) {
        weir_registry_forget(self, name);
    }
    return status;
}

struct weir_queue_counter *
weir_registry_next_counter(struct weir_registry *self,
                           const struct weir_queue_counter *after)
{
    struct weir_list *link;

    weir_lock_acquire(&self->lock);
    link = after != NULL ? after->link.next : self->counted.next;
    if (link == &self->counted)
        link = NULL;
    weir_lock_release(&self->lock);
    return link != NULL ? WEIR_CONTAINER_OF(link, struct weir_queue_counter, link) : NULL;
}

/* The one of a queue, also of one that was removed and made again: a count never
 * shrinks. */
static struct weir_queue_counter *enter_counter(struct weir_registry *self,
                                                const char *name)
    WEIR_REQUIRES(self->lock)
{
    struct weir_queue_counter *counter = weir_map_find(&self->counters, weir_str(name));
    size_t size = strlen(name) + 1;

    if (counter != NULL)
        return counter;
    counter = weir_heap_zalloc(self->heap, sizeof *counter + size);
    if (counter == NULL)
        return NULL;
    memcpy(counter->name, name, size);
    if (weir_map_put(&self->counters, weir_str(name), counter) != WEIR_OK) {
        weir_heap_free(self->heap, counter);
        return NULL;
    }
    weir_list_append(&self->counted, &counter->link);
    return counter;
}

void weir_registry_put(struct weir_registry *self, const char *name,
                       const struct weir_queue_row *row, int64_t asked_ns)
{
    struct weir_registry_entry *entry;

    weir_lock_acquire(&self->lock);
    entry = find(self, name);
    if (entry == NULL) {
        entry = weir_heap_zalloc(self->heap, sizeof *entry);
        if (entry != NULL &&
            weir_map_put(&self->entries, weir_str(name), entry) != WEIR_OK) {
            weir_heap_free(self->heap, entry);
            entry = NULL;
        }
    }
    if (entry != NULL) {
        entry->row = *row;
        entry->known_ns = asked_ns;
        if (entry->counter == NULL)
            entry->counter = enter_counter(self, name);
    }
    weir_lock_release(&self->lock);
}

void weir_registry_forget(struct weir_registry *self, const char *name)
{
    weir_lock_acquire(&self->lock);
    weir_heap_free(self->heap, weir_map_remove(&self->entries, weir_str(name)));
    weir_lock_release(&self->lock);
}

bool weir_registry_backlog(struct weir_registry *self, const char *name, int64_t *out)
{
    const struct weir_registry_entry *entry;
    bool known;

    weir_lock_acquire(&self->lock);
    entry = find(self, name);
    known = entry != NULL && is_young(entry->read_ns);
    *out = known ? entry->backlog : 0;
    weir_lock_release(&self->lock);
    return known;
}

/* While another session counts, the sum is better than the number of the count before,
 * unless it is old itself. */
static bool is_new(const struct weir_registry_entry *entry,
                   const struct weir_backlog *number)
{
    if (!entry->counted)
        return true;
    if (number->stamp < 0)
        return weir_clock_now_ns() - entry->read_ns > WEIR_BACKLOG_AGE_US * 1000;
    return number->stamp != entry->stamp;
}

int64_t weir_registry_set_backlog(struct weir_registry *self, const char *name,
                                  const struct weir_backlog *number)
{
    struct weir_registry_entry *entry;
    int64_t backlog = number->waiting;

    weir_lock_acquire(&self->lock);
    entry = find(self, name);
    if (entry != NULL) {
        bool replaces = is_new(entry, number);

        if (replaces) {
            entry->backlog = number->waiting;
            entry->stamp = number->stamp;
        }
        entry->counted = true;
        if (replaces || number->stamp >= 0)
            entry->read_ns = weir_clock_now_ns();
        if (!number->whole)
            entry->read_ns = 0;
        backlog = entry->backlog;
    }
    weir_lock_release(&self->lock);
    return backlog;
}

void weir_registry_add_backlog(struct weir_registry *self, const char *name,
                               int64_t count)
{
    struct weir_registry_entry *entry;

    weir_lock_acquire(&self->lock);
    entry = find(self, name);
    if (entry != NULL)
        entry->backlog += count;
    weir_lock_release(&self->lock);
}

/* Under the lock: remember the number, or say which one was given before. */
static enum weir_status declare(struct weir_registry *self, const char *name,
                                int32_t partitions, int32_t *before)
    WEIR_REQUIRES(self->lock)
{
    const int32_t *known = weir_map_find(&self->declared, weir_str(name));
    enum weir_status status;
    int32_t *number;

    if (known != NULL) {
        *before = *known;
        return WEIR_EXISTS;
    }
    number = weir_heap_alloc(self->heap, sizeof *number);
    if (number == NULL)
        return WEIR_NO_MEMORY;
    *number = partitions;
    status = weir_map_put(&self->declared, weir_str(name), number);
    if (status != WEIR_OK)
        weir_heap_free(self->heap, number);
    return status;
}

enum weir_status weir_registry_declare(struct weir_registry *self, const char *name,
                                       int32_t partitions, struct weir_error *error)
{
    int32_t before = 0;
    enum weir_status status;

    weir_lock_acquire(&self->lock);
    status = declare(self, name, partitions, &before);
    weir_lock_release(&self->lock);
    if (status == WEIR_EXISTS)
        return weir_error_set(error, status,
                              "queue \"%.100s\" was added before with %d %s, now "
                              "with %d",
                              name, before, WEIR_NOUN(before, "partition", "partitions"),
                              partitions);
    if (status != WEIR_OK)
        return weir_error_set(error, status, "add queue: %s", weir_status_text(status));
    return WEIR_OK;
}

void weir_registry_undeclare(struct weir_registry *self, const char *name)
{
    weir_lock_acquire(&self->lock);
    weir_heap_free(self->heap, weir_map_remove(&self->declared, weir_str(name)));
    weir_lock_release(&self->lock);
}
