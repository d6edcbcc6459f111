/*
 * statement.h - a statement on a link, prepared by the server when first run.
 *
 *   new -----> named -----> proven      on our own links: "weir_17", kept by the session
 *    ^           |            |
 *    +-----------+------------+         the session forgot it, or a table has changed
 *
 * On adopted links and behind a transaction pooler nothing may stay on the session, so
 * the text travels with each run as the unnamed statement, which the next one replaces.
 *
 * A statement that is given up is not deallocated by the server: there are only as many
 * as we wrote, and they go with the session.
 */
#ifndef WEIR_DB_POSTGRES_STATEMENT_H
#define WEIR_DB_POSTGRES_STATEMENT_H

#include "db/postgres/link.h"

struct weir_pg_statement {
    char *text;
    size_t parameter_count;
    char letters[WEIR_PG_PARAMETERS_MAX + 1];
    Oid types[WEIR_PG_PARAMETERS_MAX];
    uint32_t name;      /* 17: "weir_17"; 0: none */
    char name_text[16]; /* printed when it got its name, not at each run */
    uint32_t age;       /* of the link, when it got its name */
    bool proven;        /* has worked under this name */
    bool on_its_way;    /* being prepared in a pipeline, */
    size_t way_step;    /* for this step */
};

/* Copies. Sends nothing. Fails with WEIR_INVALID (letters) or WEIR_NO_MEMORY. */
WEIR_CHECKED enum weir_status
weir_pg_statement_create(struct weir_pg_link *link, const char *text, const char *letters,
                         struct weir_pg_statement **out, struct weir_error *error);
void weir_pg_statement_destroy(struct weir_pg_link *link, struct weir_pg_statement *self);

/* Does the session have to prepare it first? Never where statements have no name. */
bool weir_pg_statement_is_new(const struct weir_pg_statement *self,
                              const struct weir_pg_link *link);

/* libpq's calls; what they return. send() sends what the link's encoder holds. */
int weir_pg_statement_send_prepare(struct weir_pg_statement *self,
                                   struct weir_pg_link *link);
int weir_pg_statement_send(struct weir_pg_statement *self, struct weir_pg_link *link);

/* The session does not know it any more, whatever it said. */
void weir_pg_statement_forget(struct weir_pg_statement *self);

/*
 * After a failure: true when the server refused the statement for reasons that
 * preparing it again will mend, and it is worth another try now. Inside a transaction,
 * which has failed, it is not: then `error` becomes WEIR_CONFLICT, and the whole
 * transaction has to be tried again.
 */
bool weir_pg_statement_mends(struct weir_pg_statement *self, struct weir_pg_link *link,
                             struct weir_error *error);

/* Run it with what the link's encoder holds. *out is the caller's. */
WEIR_CHECKED enum weir_status weir_pg_statement_run(struct weir_pg_statement *self,
                                                    struct weir_pg_link *link,
                                                    PGresult **out,
                                                    struct weir_error *error);

#endif
