/*
 * items.h - the table {p}_item of a test, and what every test does with its rows.
 *
 * numbered_items.h and named_items.h add the columns.
 */
#ifndef WEIR_TEST_ITEMS_H
#define WEIR_TEST_ITEMS_H

#include "kit/db/engines.h"

static const struct weir_sql SQL_COUNT = {
    .name = "count",
    .text = "SELECT count(*) FROM {p}_item",
};

/* Takes longer than any test waits. */
static const struct weir_sql SQL_SLOW[] = {
    [WEIR_SQLITE] = {.name = "slow",
                     .text = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                             "FROM n WHERE i < 100000000000) SELECT count(*) FROM n"},
    [WEIR_POSTGRESQL] = {.name = "slow", .text = "SELECT 1 FROM pg_sleep(600)"},
    [WEIR_MARIADB] = {.name = "slow",
                      .text = "SELECT sum(seq % 7) FROM seq_1_to_100000000000"},
};

static inline void begin(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_begin(connection, &fixture->error), WEIR_OK);
}

static inline void commit(struct fixture *fixture, struct weir_connection *connection)
{
    check_db(weir_connection_commit(connection, &fixture->error), WEIR_OK);
}

static inline int64_t count(struct fixture *fixture, struct weir_connection *connection)
{
    int64_t found = -1;

    check_db(weir_connection_query_integer(connection, &SQL_COUNT, NO_VALUES, &found,
                                           &fixture->error),
             WEIR_OK);
    return found;
}

/* Committed rows, through a connection of the bare driver. */
static inline int64_t seen_by_others(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_item");
}

#endif
