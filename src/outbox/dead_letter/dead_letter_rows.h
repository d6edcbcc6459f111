/*
 * dead_letter_rows.h - dead letters in memory: chosen, then read, then changed by their
 * ids.
 *
 *   pick     a statement on a scope gives ids and sizes, and locks the rows if need be
 *   fetch    the letters themselves, in that order
 *   change   a statement for these ids
 *
 * So that a page or a step is bounded in bytes before a payload is read: a thousand
 * letters may be a kilobyte each, or sixteen megabytes.
 *
 * Threads  The holder of the connection.
 * Memory   Picks and letters are freed by fini(), also after a failure. What the
 *          letters show lives as long as they do.
 */
#ifndef WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_ROWS_H
#define WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_ROWS_H

#include "base/arena.h"
#include "db/connection.h"
#include "weir/dead_letter.h"

/* Of payloads, in a page or a step; the first letter is always in it. */
enum { WEIR_LETTER_BYTES_MAX = 16 * 1024 * 1024 };

/* One statement for ids: {1} is one of them, or all where arrays are taken. */
#define WEIR_LETTER_BY_IDS(what, head, tail, letters)                                    \
    {                                                                                    \
        .one = {.name = (what), .text = head " = {1}" tail, .parameters = "i" letters},  \
        .many = {.name = (what),                                                         \
                 .text = head " = ANY ({1})" tail,                                       \
                 .parameters = "I" letters},                                             \
    }

struct weir_letter_pick {
    int64_t id;
    int64_t size; /* of its payload */
    int64_t failed_us;
};

struct weir_letter_picks {
    const struct weir_heap *heap; /* borrowed */
    struct weir_letter_pick *items;
    size_t count;
    size_t capacity;
};

struct weir_letter {
    struct weir_dead_letter shown;
    int64_t pid;
    struct weir_str headers_json; /* data NULL: none */
};

struct weir_letters {
    struct weir_arena texts;
    struct weir_letter *items; /* in the arena */
    size_t count;
    bool sealed; /* payloads and headers are not read */
};

void weir_letter_picks_init(struct weir_letter_picks *self, const struct weir_heap *heap);
void weir_letter_picks_fini(struct weir_letter_picks *self);

/* Run a statement that gives id, size and time of failure. Begins anew each time. */
WEIR_CHECKED enum weir_status
weir_letter_picks_read(struct weir_letter_picks *self, struct weir_connection *connection,
                       const struct weir_sql *sql, const struct weir_value *values,
                       size_t value_count, struct weir_error *error);

/* How many from `from` on fit one step: at most `count_max`, at most
 * WEIR_LETTER_BYTES_MAX. */
size_t weir_letter_picks_fitting(const struct weir_letter_picks *self, size_t from,
                                 size_t count_max);

void weir_letters_init(struct weir_letters *self, const struct weir_heap *heap);
void weir_letters_fini(struct weir_letters *self);

/* Read these letters, in this order; those that are gone are left out. `now_us` decides
 * which claims have run out. Begins anew each time. */
WEIR_CHECKED enum weir_status weir_letters_fetch(struct weir_letters *self,
                                                 struct weir_connection *connection,
                                                 const struct weir_letter_pick *picks,
                                                 size_t count, int64_t now_us,
                                                 struct weir_error *error);

void weir_letters_visit(const struct weir_letters *self, weir_dead_letter_fn visit,
                        void *state);

/* Run WEIR_LETTER_BY_IDS() for the picks; values[0] is for the ids. */
WEIR_CHECKED enum weir_status weir_letters_change(struct weir_connection *connection,
                                                  const struct weir_sql_pair *sql,
                                                  const struct weir_letter_pick *picks,
                                                  size_t count, struct weir_value *values,
                                                  size_t value_count,
                                                  struct weir_error *error);

WEIR_CHECKED enum weir_status weir_letters_remove(struct weir_connection *connection,
                                                  const struct weir_letter_pick *picks,
                                                  size_t count, struct weir_error *error);

#endif
