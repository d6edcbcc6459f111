/*
 * named_items.h - items that have an id and a name. The test makes their table.
 */
#ifndef WEIR_TEST_NAMED_ITEMS_H
#define WEIR_TEST_NAMED_ITEMS_H

#include "kit/db/items.h"

static const struct weir_sql SQL_ADD = {
    .name = "add",
    .text = "INSERT INTO {p}_item (id, name) VALUES ({1}, {2})",
    .parameters = "it",
};

static inline enum weir_status try_add(struct fixture *fixture,
                                       struct weir_connection *connection, int64_t id,
                                       const char *name)
{
    return weir_connection_execute(connection, &SQL_ADD,
                                   VALUES(weir_integer(id), weir_text(weir_str(name))),
                                   NULL, &fixture->error);
}

static inline void add(struct fixture *fixture, struct weir_connection *connection,
                       int64_t id, const char *name)
{
    check_db(try_add(fixture, connection, id, name), WEIR_OK);
}

#endif
