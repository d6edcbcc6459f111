/*
 * effect.h - what a transactional handler does in the bench, and the same by hand.
 *
 * The effect of a message is a row in a table of the application's, by the bare driver.
 * run() is the transaction around it as one would write it without the library,
 * statement by statement what the library does:
 *
 *   BEGIN; SAVEPOINT
 *     INSERT the row; RELEASE, SAVEPOINT      for each message
 *   UPDATE the position
 *   COMMIT
 *
 * Everything that is repeated is prepared; on PostgreSQL RELEASE and SAVEPOINT are one
 * round trip. Handles are those of the library's connections, so that settings are the
 * same.
 *
 * Failure  Ends the bench.
 */
#ifndef WEIR_BENCH_EFFECT_H
#define WEIR_BENCH_EFFECT_H

#include <stddef.h>
#include <stdint.h>

#include <weir/db.h>

/* Views. */
struct bench_effect_row {
    const uint8_t *uid;
    const char *key;
    const char *payload;
    size_t payload_size;
};

struct bench_effect {
    enum weir_engine engine;
    const char *name;

    /* The tables. `handle` is what weir_connection_native() returns. */
    void (*create)(void *handle);

    /* What is prepared on a handle. Owes one close, while the handle is open. */
    void *(*open)(void *handle);
    void (*close)(void *self);

    /* The row of one message, in the transaction that is open. */
    void (*insert)(void *self, const struct bench_effect_row *row);

    /* All by hand: the rows of several messages, and the position, in one transaction. */
    void (*run)(void *self, const struct bench_effect_row *rows, size_t count);

    /* Remove the rows, outside of a transaction. */
    void (*clear)(void *self);
};

extern const struct bench_effect bench_effect_sqlite;
extern const struct bench_effect bench_effect_postgresql;

#endif
