/*
 * list.h - a doubly linked ring whose links live inside the elements.
 *
 * The same struct is the head and the link. A link that is in no list points to itself,
 * so removing it again is harmless and "am I in a list?" is one comparison.
 *
 * Threads  The owner's. Memory   None.
 */
#ifndef WEIR_BASE_LIST_H
#define WEIR_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct weir_list {
    struct weir_list *next;
    struct weir_list *previous;
};

/* From a pointer to a member back to the struct around it. */
#define WEIR_CONTAINER_OF(pointer, type, member)                                         \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Walk the links of a list; the current one must not be removed meanwhile. */
#define WEIR_LIST_EACH(link, head)                                                       \
    for (struct weir_list *link = (head)->next; link != (head); link = link->next)

static inline void weir_list_init(struct weir_list *self)
{
    self->next = self;
    self->previous = self;
}

/* For a head: no elements. For a link: in no list. */
static inline bool weir_list_empty(const struct weir_list *self)
{
    return self->next == self;
}

static inline void weir_list_append(struct weir_list *self, struct weir_list *link)
{
    link->previous = self->previous;
    link->next = self;
    self->previous->next = link;
    self->previous = link;
}

static inline void weir_list_prepend(struct weir_list *self, struct weir_list *link)
{
    weir_list_append(self->next, link);
}

static inline void weir_list_remove(struct weir_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    weir_list_init(link);
}

/* Append all of `from` and leave it empty. */
static inline void weir_list_move_all(struct weir_list *self, struct weir_list *from)
{
    if (weir_list_empty(from))
        return;
    from->next->previous = self->previous;
    self->previous->next = from->next;
    from->previous->next = self;
    self->previous = from->previous;
    weir_list_init(from);
}

/* Take the first link out; NULL when the list is empty. */
static inline struct weir_list *weir_list_take_first(struct weir_list *self)
{
    struct weir_list *first = self->next;

    if (first == self)
        return NULL;
    weir_list_remove(first);
    return first;
}

#endif
