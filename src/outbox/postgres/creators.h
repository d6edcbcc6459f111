/*
 * creators.h - which roles may create in the schema of our tables, on PostgreSQL.
 *
 * A role that may create in a schema can make operators and functions there, and
 * sessions that have the schema in their path may call these in place of the built-in
 * ones, with their own rights. Our functions do not (postgres/producer.c); the sessions
 * of applications, of migrations and of the library do. So only the owner of
 * the tables should have this right.
 *
 * Not counted are superusers, the owner of the schema and the owner of the tables, and
 * their members.
 */
#ifndef WEIR_OUTBOX_POSTGRES_CREATORS_H
#define WEIR_OUTBOX_POSTGRES_CREATORS_H

#include "db/connection.h"

enum { WEIR_CREATORS_SIZE = 256 };

struct weir_creators {
    char schema[WEIR_CREATORS_SIZE]; /* as it is written in SQL */
    char roles
        [WEIR_CREATORS_SIZE]; /* likewise, "PUBLIC, app"; cut if too long; "": none */
};

/* Nothing on the other engines, and where our tables are missing. */
WEIR_CHECKED enum weir_status weir_creators_read(struct weir_creators *self,
                                                 struct weir_connection *connection,
                                                 struct weir_error *error);

#endif
