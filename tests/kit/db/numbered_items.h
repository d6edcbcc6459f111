/*
 * numbered_items.h - items that have an id and a number, which begins at 0.
 */
#ifndef WEIR_TEST_NUMBERED_ITEMS_H
#define WEIR_TEST_NUMBERED_ITEMS_H

#include "kit/db/items.h"

static const struct weir_sql SQL_ADD = {
    .name = "add",
    .text = "INSERT INTO {p}_item (id, n) VALUES ({1}, 0)",
    .parameters = "i",
};

static const struct weir_sql SQL_RAISE = {
    .name = "raise",
    .text = "UPDATE {p}_item SET n = n + 1 WHERE id = {1}",
    .parameters = "i",
};

static inline enum weir_status try_add(struct fixture *fixture,
                                       struct weir_connection *connection, int64_t id)
{
    return weir_connection_execute(connection, &SQL_ADD, VALUES(weir_integer(id)), NULL,
                                   &fixture->error);
}

static inline void add(struct fixture *fixture, struct weir_connection *connection,
                       int64_t id)
{
    check_db(try_add(fixture, connection, id), WEIR_OK);
}

/* The table, with items 1 to `wanted`, and a connection. Owes one give. */
static inline struct weir_connection *make_items(struct fixture *fixture, int wanted)
{
    struct weir_connection *connection = fixture_take(fixture);

    fixture_execute(
        fixture, connection,
        "CREATE TABLE {p}_item (id $integer PRIMARY KEY, n $integer NOT NULL)");
    for (int id = 1; id <= wanted; id++)
        add(fixture, connection, id);
    return connection;
}

#endif
