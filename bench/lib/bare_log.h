/*
 * bare_log.h - what the outbox is compared with: the columns of a message into a plain
 * table with an identity key, by the bare driver.
 *
 *              one message               several, in one transaction
 *   SQLite     one statement             a prepared loop between BEGIN and COMMIT
 *   PostgreSQL one statement             one statement with unnested binary arrays
 *   MariaDB    one statement             the same in bulk: one packet
 *
 * Settings are those of the library's connections. Whatever fails ends the bench.
 */
#ifndef WEIR_BENCH_BARE_LOG_H
#define WEIR_BENCH_BARE_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <weir/db.h>

enum {
    BENCH_PARTITIONS = 64,
    BENCH_PAYLOAD_SIZE = 200,
    BENCH_KEY_SIZE = 16,
    BENCH_BATCH_MAX = 1000
};

#define BENCH_MESSAGE_TYPE "order.placed"

/* One message. Headers are none: a null in both tables. */
struct bench_letter {
    uint8_t uid[16];
    int32_t partition;
    char key[BENCH_KEY_SIZE];
    char payload[BENCH_PAYLOAD_SIZE]; /* counter in its partition, then number */
};

struct bench_bare_log {
    enum weir_engine engine;
    const char *name;

    /* Connect by URL, and make the table. Owes one close. */
    void *(*open)(const char *url);
    void (*close)(void *self);

    /* Up to BENCH_BATCH_MAX, committed when it returns. */
    void (*insert)(void *self, const struct bench_letter *letters, size_t count);

    /* Empty the table, and give back the space. */
    void (*clear)(void *self);
};

extern const struct bench_bare_log bench_bare_log_sqlite;
extern const struct bench_bare_log bench_bare_log_postgresql;
extern const struct bench_bare_log bench_bare_log_mariadb;

#endif
