/*
 * outbox_engines.h - the same test on the engines that the outbox knows.
 *
 * As engines.h, with a database whose outbox schema is in place.
 */
#ifndef WEIR_TEST_OUTBOX_ENGINES_H
#define WEIR_TEST_OUTBOX_ENGINES_H

#include "kit/db/engines.h"

#define OUTBOX_TEST(subject, claim)                                                      \
    FIXTURE_BODY(subject, claim);                                                        \
    OUTBOX_CASE(subject, claim, sqlite, WEIR_SQLITE)                                     \
    OUTBOX_CASE(subject, claim, postgresql, WEIR_POSTGRESQL)                             \
    OUTBOX_CASE(subject, claim, mariadb, WEIR_MARIADB)                                   \
    FIXTURE_BODY(subject, claim)

/* With a server. */
#define OUTBOX_SERVER_TEST(subject, claim)                                               \
    FIXTURE_BODY(subject, claim);                                                        \
    OUTBOX_CASE(subject, claim, postgresql, WEIR_POSTGRESQL)                             \
    OUTBOX_CASE(subject, claim, mariadb, WEIR_MARIADB)                                   \
    FIXTURE_BODY(subject, claim)

/* Where positions are rows that change in place, and a place is an id. */
#define OUTBOX_PLAIN_TEST(subject, claim)                                                \
    FIXTURE_BODY(subject, claim);                                                        \
    OUTBOX_CASE(subject, claim, sqlite, WEIR_SQLITE)                                     \
    OUTBOX_CASE(subject, claim, mariadb, WEIR_MARIADB)                                   \
    FIXTURE_BODY(subject, claim)

/* Where a constraint may be checked at the commit. */
#define OUTBOX_DEFERRED_TEST(subject, claim)                                             \
    FIXTURE_BODY(subject, claim);                                                        \
    OUTBOX_CASE(subject, claim, sqlite, WEIR_SQLITE)                                     \
    OUTBOX_CASE(subject, claim, postgresql, WEIR_POSTGRESQL)                             \
    FIXTURE_BODY(subject, claim)

#define OUTBOX_MARIADB_TEST(subject, claim)                                              \
    FIXTURE_BODY(subject, claim);                                                        \
    OUTBOX_CASE(subject, claim, mariadb, WEIR_MARIADB)                                   \
    FIXTURE_BODY(subject, claim)

#define OUTBOX_SQLITE_TEST(subject, claim)                                               \
    FIXTURE_BODY(subject, claim);                                                        \
    OUTBOX_CASE(subject, claim, sqlite, WEIR_SQLITE)                                     \
    FIXTURE_BODY(subject, claim)

#define OUTBOX_POSTGRESQL_TEST(subject, claim)                                           \
    FIXTURE_BODY(subject, claim);                                                        \
    OUTBOX_CASE(subject, claim, postgresql, WEIR_POSTGRESQL)                             \
    FIXTURE_BODY(subject, claim)

#define OUTBOX_CASE(subject, claim, name, engine)                                        \
    WEIR_TEST(subject, claim##_on_##name)                                                \
    {                                                                                    \
        outbox_fixture_run((engine), subject##__##claim##_body);                         \
    }

/* fixture_run() with a migrated database. */
void outbox_fixture_run(enum weir_engine engine, fixture_fn body);

/* On a server of the test's own, with these settings, to be killed, or to be asked what
 * all that was done on it has cost. `options` may be NULL. */
void outbox_fixture_run_own(enum weir_engine engine, const struct server_options *options,
                            fixture_fn body);

/*
 * PostgreSQL: segments of 2^bits ids instead of 2^20, so that a test can fill and empty
 * them. Before anything is in the log, and before weir_outbox_log_open(). Nothing on
 * SQLite.
 */
void outbox_small_segments(struct fixture *fixture, unsigned bits);

#endif
