/*
 * bare_log_maria.c - see bare_log.h. One prepared statement; several messages by arrays
 * of each column, in one packet.
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bare_log.h"
#include "lib/must.h"

enum column { PARTITION, UID, KEY, KIND, HEADERS, PAYLOAD, COLUMN_COUNT };

struct bare {
    MYSQL *connection;
    MYSQL_STMT *insert;
    MYSQL_BIND binds[COLUMN_COUNT];
    int32_t *partitions;
    char **pointers[COLUMN_COUNT];
    unsigned long *sizes[COLUMN_COUNT];
    char *indicators; /* of the headers, which are null */
};

/* The time as the library's statement has it. */
#define CREATE                                                                           \
    "CREATE TABLE bare (id BIGINT AUTO_INCREMENT PRIMARY KEY, pid INT NOT NULL,"         \
    " created_us BIGINT NOT NULL"                                                        \
    " DEFAULT (CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)),"                   \
    " uid BINARY(16) NOT NULL, message_key LONGTEXT, type VARCHAR(1024) NOT NULL,"       \
    " headers LONGTEXT, payload LONGBLOB NOT NULL)"                                      \
    " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"

static void run(struct bare *self, const char *text)
{
    bench_must(mysql_query(self->connection, text) == 0, mysql_error(self->connection));
}

static void connect_to(struct bare *self, const char *url)
{
    char user[64], password[64], host[64], database[64];
    unsigned port = 0;

    bench_must(sscanf(url, "mariadb://%63[^:]:%63[^@]@%63[^:]:%u/%63[^?]", user, password,
                      host, &port, database) == 5,
               "a URL of the bench");
    self->connection = mysql_init(NULL);
    bench_must(self->connection != NULL, "out of memory");
    (void)mysql_options(self->connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    bench_must(mysql_real_connect(self->connection, host, user, password, database, port,
                                  NULL, 0) != NULL,
               mysql_error(self->connection));
    run(self, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
}

static void bind_columns(struct bare *self)
{
    static const enum enum_field_types TYPES[] = {MYSQL_TYPE_LONG,   MYSQL_TYPE_BLOB,
                                                  MYSQL_TYPE_STRING, MYSQL_TYPE_STRING,
                                                  MYSQL_TYPE_STRING, MYSQL_TYPE_BLOB};

    self->partitions = bench_must_alloc(BENCH_BATCH_MAX, sizeof *self->partitions);
    self->indicators = bench_must_alloc(BENCH_BATCH_MAX, 1);
    memset(self->indicators, STMT_INDICATOR_NULL, BENCH_BATCH_MAX);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        self->pointers[i] = bench_must_alloc(BENCH_BATCH_MAX, sizeof(char *));
        self->sizes[i] = bench_must_alloc(BENCH_BATCH_MAX, sizeof(unsigned long));
        self->binds[i] = (MYSQL_BIND){.buffer_type = TYPES[i],
                                      .buffer = self->pointers[i],
                                      .length = self->sizes[i]};
    }
    self->binds[PARTITION].buffer = self->partitions;
    self->binds[PARTITION].length = NULL;
    self->binds[HEADERS].u.indicator = self->indicators;
}

static void *open_bare(const char *url)
{
    static const char INSERT[] = "INSERT INTO bare (pid, uid, message_key, type, headers,"
                                 " payload) VALUES (?, ?, ?, ?, ?, ?)";
    struct bare *self = bench_must_alloc(1, sizeof *self);

    connect_to(self, url);
    run(self, CREATE);
    self->insert = mysql_stmt_init(self->connection);
    bench_must(self->insert != NULL &&
                   mysql_stmt_prepare(self->insert, INSERT, sizeof INSERT - 1) == 0,
               mysql_error(self->connection));
    bind_columns(self);
    return self;
}

static void close_bare(void *state)
{
    struct bare *self = state;

    (void)mysql_stmt_close(self->insert);
    mysql_close(self->connection);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        free(self->pointers[i]);
        free(self->sizes[i]);
    }
    free(self->partitions);
    free(self->indicators);
    free(self);
}

static void point_at(struct bare *self, enum column column, size_t row, const void *bytes,
                     size_t size)
{
    self->pointers[column][row] = (char *)(uintptr_t)bytes;
    self->sizes[column][row] = size;
}

static void insert(void *state, const struct bench_letter *letters, size_t count)
{
    struct bare *self = state;
    unsigned rows = (unsigned)count;

    for (size_t i = 0; i < count; i++) {
        self->partitions[i] = letters[i].partition;
        point_at(self, UID, i, letters[i].uid, sizeof letters[i].uid);
        point_at(self, KEY, i, letters[i].key, strlen(letters[i].key));
        point_at(self, KIND, i, BENCH_MESSAGE_TYPE, sizeof BENCH_MESSAGE_TYPE - 1);
        point_at(self, HEADERS, i, "", 0);
        point_at(self, PAYLOAD, i, letters[i].payload, BENCH_PAYLOAD_SIZE);
    }
    (void)mysql_stmt_attr_set(self->insert, STMT_ATTR_ARRAY_SIZE, &rows);
    bench_must(mysql_stmt_bind_param(self->insert, self->binds) == 0 &&
                   mysql_stmt_execute(self->insert) == 0,
               mysql_stmt_error(self->insert));
}

static void clear(void *state)
{
    run(state, "TRUNCATE bare");
}

const struct bench_bare_log bench_bare_log_mariadb = {
    .engine = WEIR_MARIADB,
    .name = "libmariadb",
    .open = open_bare,
    .close = close_bare,
    .insert = insert,
    .clear = clear,
};
