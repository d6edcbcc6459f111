/*
 * stats.c - the tallies of many workers, summed up by category.
 *
 * Invariants, true whenever the lock is free:
 *
 *   I1  a category's total = folded + the tallies of its members, and it never shrinks
 *   I2  drained was the total once, so it is not above it in any figure
 *   I3  a category is never removed, and neither its name nor its place changes
 *
 * Removing a member adds to `folded` exactly what the member contributed to the total,
 * so a drain gives the same difference whether the member went before or after it (I1).
 */
#include "weir/stats.h"

#include <string.h>

#include "base/assert.h"
#include "base/heap.h"
#include "base/list.h"
#include "ward/executor.h"
#include "ward/lock.h"
#include "ward/name.h"
#include "ward/tally.h"

struct category {
    char name[WEIR_WORKER_NAME_SIZE_MAX + 1];
    struct weir_list members; /* of struct member */
    size_t member_count;
    struct weir_stats_row folded;  /* all that former members have done */
    uint64_t folded_fresh_us_max;  /* the longest of theirs since the last drain */
    struct weir_stats_row drained; /* the total at the last drain */
};

/* One worker. The listener's state is the tally, which comes first. */
struct member {
    struct weir_tally tally;
    struct weir_list link; /* in the list of `category` */
    struct category *category;
};

struct weir_stats {
    struct weir_executor *executor; /* one reference */

    struct weir_lock lock; /* guards all that follows, and the categories */
    struct category *categories[WEIR_STATS_CATEGORIES_MAX];
    size_t category_count;
    int64_t drained_ns; /* when, on the executor's clock */
};

static struct category *new_category(const struct weir_heap *heap, const char *name);
static struct category *find_category(const struct weir_stats *self, const char *name)
    WEIR_REQUIRES(self->lock);
static struct category *enter_category(struct weir_stats *self, struct category **fresh)
    WEIR_REQUIRES(self->lock);
static struct weir_stats_row total_of(const struct category *category);
static struct weir_stats_row drain_category(struct category *category);
static uint64_t take_fresh_max_us(struct category *category);
static uint64_t divide(uint64_t sum, uint64_t count);

enum weir_status weir_stats_create(struct weir_executor *executor,
                                   struct weir_stats **out)
{
    struct weir_stats *self = NULL;
    enum weir_status status = WEIR_NO_MEMORY;

    *out = NULL;
    self = weir_heap_zalloc(executor->heap, sizeof *self);
    if (self == NULL)
        goto out;
    status = weir_lock_init(&self->lock);
    if (status != WEIR_OK)
        goto out;

    weir_executor_retain(executor);
    self->executor = executor;
    self->drained_ns = weir_executor_now(executor);

    *out = self;
    self = NULL; /* the caller's from here on */

out:
    weir_heap_free(executor->heap, self);
    return status;
}

void weir_stats_destroy(struct weir_stats *self)
{
    struct weir_executor *executor;
    struct weir_list *link;

    if (self == NULL)
        return;

    executor = self->executor;
    for (size_t i = 0; i < self->category_count; i++) {
        while ((link = weir_list_take_first(&self->categories[i]->members)) != NULL)
            weir_heap_free(executor->heap, WEIR_CONTAINER_OF(link, struct member, link));
        weir_heap_free(executor->heap, self->categories[i]);
    }
    weir_lock_fini(&self->lock);
    weir_heap_free(executor->heap, self);
    weir_executor_release(executor);
}

/*
 * Memory comes first, so that nothing has to be undone: a category that turns out to be
 * there already is freed again. The heap is the host's and is not called under the lock.
 */
enum weir_status weir_stats_add(struct weir_stats *self, const char *category,
                                weir_stats_messages_fn messages, void *state,
                                const struct weir_listener **out,
                                struct weir_error *error)
{
    const struct weir_heap *heap = self->executor->heap;
    struct member *member = NULL;
    struct category *fresh = NULL;
    struct category *joined;
    enum weir_status status;

    *out = NULL;
    status = weir_name_check("category", category, error);
    if (status != WEIR_OK)
        return status;

    member = weir_heap_zalloc(heap, sizeof *member);
    fresh = new_category(heap, category);
    if (member == NULL || fresh == NULL) {
        status = weir_error_set(error, WEIR_NO_MEMORY,
                                "add to category \"%s\": out of memory", category);
        goto out;
    }
    weir_tally_init(&member->tally, self->executor, messages, state);

    weir_lock_acquire(&self->lock);
    joined = enter_category(self, &fresh);
    if (joined != NULL) {
        member->category = joined;
        weir_list_append(&joined->members, &member->link);
        joined->member_count++;
    }
    weir_lock_release(&self->lock);

    if (joined == NULL) {
        status = weir_error_set(error, WEIR_INVALID,
                                "category \"%s\" is one too many, there are %d at most",
                                category, WEIR_STATS_CATEGORIES_MAX);
        goto out;
    }
    *out = &member->tally.listener;
    member = NULL; /* the registry's from here on */

out:
    weir_heap_free(heap, fresh);
    weir_heap_free(heap, member);
    return status;
}

void weir_stats_remove(struct weir_stats *self, const struct weir_listener *listener)
{
    struct member *member;
    struct category *category;
    uint64_t fresh_us_max;

    if (listener == NULL)
        return;

    member = WEIR_CONTAINER_OF(listener->state, struct member, tally);
    WEIR_ASSERT(&member->tally.listener == listener);
    weir_lock_acquire(&self->lock);
    category = member->category;
    weir_list_remove(&member->link);
    category->member_count--;
    weir_tally_add_to(&member->tally, &category->folded);
    fresh_us_max = weir_tally_take_fresh_max_us(&member->tally);
    if (fresh_us_max > category->folded_fresh_us_max)
        category->folded_fresh_us_max = fresh_us_max;
    weir_lock_release(&self->lock);
    weir_heap_free(self->executor->heap, member);
}

size_t weir_stats_read(struct weir_stats *self, struct weir_stats_row *out, size_t count)
{
    size_t there;

    weir_lock_acquire(&self->lock);
    there = self->category_count;
    for (size_t i = 0; i < there && i < count; i++)
        out[i] = total_of(self->categories[i]);
    weir_lock_release(&self->lock);
    return there;
}

size_t weir_stats_drain(struct weir_stats *self, struct weir_stats_row *out, size_t count,
                        int64_t *period_ns)
{
    int64_t now_ns = weir_executor_now(self->executor);
    int64_t passed_ns;
    size_t there;

    weir_lock_acquire(&self->lock);
    passed_ns = now_ns - self->drained_ns;
    self->drained_ns = now_ns;
    there = self->category_count;
    for (size_t i = 0; i < there && i < count; i++)
        out[i] = drain_category(self->categories[i]);
    weir_lock_release(&self->lock);

    if (period_ns != NULL)
        *period_ns = passed_ns > 0 ? passed_ns : 0;
    return there;
}

uint64_t weir_stats_row_execution_us_average(const struct weir_stats_row *self)
{
    return divide(self->execution_us_total, self->executions);
}

uint64_t weir_stats_row_batch_average(const struct weir_stats_row *self)
{
    return divide(self->messages, self->executions);
}

static struct category *new_category(const struct weir_heap *heap, const char *name)
{
    struct category *category = weir_heap_zalloc(heap, sizeof *category);

    if (category == NULL)
        return NULL;
    memcpy(category->name, name, strlen(name) + 1);
    weir_list_init(&category->members);
    return category;
}

static struct category *find_category(const struct weir_stats *self, const char *name)
{
    for (size_t i = 0; i < self->category_count; i++)
        if (strcmp(self->categories[i]->name, name) == 0)
            return self->categories[i];
    return NULL;
}

/* The category with the name of `fresh`: the old one if there is one, else `fresh`
 * itself, which is taken. NULL when there is no room. */
static struct category *enter_category(struct weir_stats *self, struct category **fresh)
{
    struct category *category = find_category(self, (*fresh)->name);

    if (category != NULL)
        return category;
    if (self->category_count == WEIR_STATS_CATEGORIES_MAX)
        return NULL;
    category = *fresh;
    *fresh = NULL; /* the registry's from here on */
    self->categories[self->category_count++] = category;
    return category;
}

static struct weir_stats_row total_of(const struct category *category)
{
    struct weir_stats_row total = category->folded;

    total.category = category->name;
    total.workers = category->member_count;
    WEIR_LIST_EACH(link, &category->members)
    weir_tally_add_to(&WEIR_CONTAINER_OF(link, struct member, link)->tally, &total);
    return total;
}

/* What is new since the last drain; from now on it is old. */
static struct weir_stats_row drain_category(struct category *category)
{
    struct weir_stats_row total = total_of(category);
    struct weir_stats_row row = total;
    const struct weir_stats_row *old = &category->drained;

    WEIR_ASSERT(old->executions <= total.executions); /* I2 */
    WEIR_ASSERT(old->idle_us_total <= total.idle_us_total);
    row.executions -= old->executions;
    row.noops -= old->noops;
    row.failures -= old->failures;
    row.messages -= old->messages;
    row.execution_us_total -= old->execution_us_total;
    row.idle_us_total -= old->idle_us_total;
    row.execution_us_max = take_fresh_max_us(category);

    category->drained = total;
    return row;
}

static uint64_t take_fresh_max_us(struct category *category)
{
    uint64_t max_us = category->folded_fresh_us_max;

    category->folded_fresh_us_max = 0;
    WEIR_LIST_EACH(link, &category->members)
    {
        struct member *member = WEIR_CONTAINER_OF(link, struct member, link);
        uint64_t fresh_us = weir_tally_take_fresh_max_us(&member->tally);

        if (fresh_us > max_us)
            max_us = fresh_us;
    }
    return max_us;
}

static uint64_t divide(uint64_t sum, uint64_t count)
{
    return count > 0 ? sum / count : 0;
}
