/*
 * flow_engines.h - the same test on the engines that the execution engine knows.
 *
 * As engines.h, with a database whose tables of outbox and execution engine are in place.
 */
#ifndef WEIR_TEST_FLOW_ENGINES_H
#define WEIR_TEST_FLOW_ENGINES_H

#include "kit/db/engines.h"

#define FLOW_TEST(subject, claim)                                                        \
    FIXTURE_BODY(subject, claim);                                                        \
    FLOW_CASE(subject, claim, sqlite, WEIR_SQLITE)                                       \
    FLOW_CASE(subject, claim, postgresql, WEIR_POSTGRESQL)                               \
    FIXTURE_BODY(subject, claim)

#define FLOW_POSTGRESQL_TEST(subject, claim)                                             \
    FIXTURE_BODY(subject, claim);                                                        \
    FLOW_CASE(subject, claim, postgresql, WEIR_POSTGRESQL)                               \
    FIXTURE_BODY(subject, claim)

#define FLOW_SQLITE_TEST(subject, claim)                                                 \
    FIXTURE_BODY(subject, claim);                                                        \
    FLOW_CASE(subject, claim, sqlite, WEIR_SQLITE)                                       \
    FIXTURE_BODY(subject, claim)

#define FLOW_CASE(subject, claim, name, engine)                                          \
    WEIR_TEST(subject, claim##_on_##name)                                                \
    {                                                                                    \
        flow_fixture_run((engine), subject##__##claim##_body);                           \
    }

/* fixture_run() with a migrated database. */
void flow_fixture_run(enum weir_engine engine, fixture_fn body);

#endif
