/* Tests of cancel() in db/postgres/driver.c: from another thread, at any time. */
#include <pthread.h>
#include <unistd.h>

#include "unit/db/postgres_fixture.h"
#include "ward/system.h"

enum { ROUNDS = 100 };

/* Somebody who cancels what runs on a link. */
struct canceller {
    struct weir_link *link;
    struct postgres_fixture *postgres_fixture;
    _Atomic bool stop;
    pthread_t thread;
};

/* As soon as the server says that something runs there. */
static void *cancel_when_running(void *argument)
{
    struct canceller *self = argument;
    PGconn *connection = PQconnectdb(self->postgres_fixture->url);
    char text[160];
    bool running = false;

    snprintf(text, sizeof text,
             "SELECT 1 FROM pg_stat_activity WHERE pid = %d AND state = 'active'",
             PQbackendPID(pg->native(self->link)));
    while (!running) {
        PGresult *result = PQexec(connection, text);

        running = PQntuples(result) == 1;
        PQclear(result);
    }
    pg->cancel(self->link);
    PQfinish(connection);
    return NULL;
}

static void *cancel_all_the_time(void *argument)
{
    struct canceller *self = argument;

    while (!atomic_load(&self->stop)) {
        pg->cancel(self->link);
        usleep(100); /* the lock is nobody's for a moment, and the link gets on */
    }
    return NULL;
}

static void *cancel_once(void *argument)
{
    pg->cancel(((struct canceller *)argument)->link);
    return NULL;
}

static void start(struct canceller *self, void *(*way)(void *))
{
    check_int(pthread_create(&self->thread, NULL, way, self), 0);
}

static void join(struct canceller *self)
{
    atomic_store(&self->stop, true);
    check_int(pthread_join(self->thread, NULL), 0);
}

WEIR_TEST(pg_cancel, ends_the_statement_that_runs)
{
    struct postgres_fixture postgres_fixture;
    struct canceller canceller = {.postgres_fixture = &postgres_fixture};
    int64_t begin_ns = weir_system_now_ns();

    postgres_fixture_open(&postgres_fixture);
    canceller.link = postgres_fixture_link(&postgres_fixture);
    start(&canceller, cancel_when_running);

    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_try(&postgres_fixture, canceller.link, "SELECT pg_sleep(60)"),
        WEIR_CANCELLED);

    join(&canceller);
    check_str(postgres_fixture.error.sqlstate, "57014");
    check(weir_system_now_ns() - begin_ns < WEIR_SECONDS(30));
    check_int(postgres_fixture_ask(&postgres_fixture, canceller.link, "SELECT 7"), 7);
    postgres_fixture_unlink(canceller.link);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_cancel, ends_a_statement_on_an_adopted_connection)
{
    struct postgres_fixture postgres_fixture;
    struct canceller canceller = {.postgres_fixture = &postgres_fixture};
    PGconn *application;

    postgres_fixture_open(&postgres_fixture);
    application = postgres_fixture_application(&postgres_fixture);
    canceller.link = postgres_fixture_adopt(&postgres_fixture, application);
    start(&canceller, cancel_when_running);

    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_try(&postgres_fixture, canceller.link, "SELECT pg_sleep(60)"),
        WEIR_CANCELLED);

    join(&canceller);
    postgres_fixture_unlink(canceller.link);
    PQfinish(application);
    postgres_fixture_close(&postgres_fixture);
}

WEIR_TEST(pg_cancel, of_nothing_is_forgotten)
{
    struct postgres_fixture postgres_fixture;
    struct weir_link *link;

    postgres_fixture_open(&postgres_fixture);
    postgres_fixture.config.statement_timeout_ns = WEIR_MILLISECONDS(50);
    link = postgres_fixture_link(&postgres_fixture);

    pg->cancel(link);

    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_try(&postgres_fixture, link, "SELECT pg_sleep(60)"),
        WEIR_TIMEOUT);
    postgres_fixture_unlink(link);
    postgres_fixture_close(&postgres_fixture);
}

/* Whatever the link is doing, a statement ends well or is cancelled, and nothing else. */
WEIR_TEST(pg_cancel, may_come_at_any_time)
{
    struct postgres_fixture postgres_fixture;
    struct canceller canceller = {.postgres_fixture = &postgres_fixture};
    const struct weir_value value = weir_integer(1);
    struct weir_driver_step steps[3];
    size_t failed;
    void *prepared;

    postgres_fixture_open(&postgres_fixture);
    canceller.link = postgres_fixture_link(&postgres_fixture);
    prepared =
        postgres_fixture_prepare(&postgres_fixture, canceller.link, "SELECT $1", "i");
    for (int i = 0; i < 3; i++)
        steps[i] = (struct weir_driver_step){.prepared = prepared, .values = &value};
    start(&canceller, cancel_all_the_time);

    for (int i = 0; i < ROUNDS; i++) {
        enum weir_status status =
            i % 2 == 0 ? postgres_fixture_run(&postgres_fixture, canceller.link, prepared,
                                              &value)
                       : pg->run_steps(canceller.link, steps, 3, &failed,
                                       &postgres_fixture.error);

        if (status != WEIR_OK)
            check_postgres_fixture(&postgres_fixture, status, WEIR_CANCELLED);
    }

    join(&canceller);
    check_postgres_fixture(
        &postgres_fixture,
        postgres_fixture_run(&postgres_fixture, canceller.link, prepared, &value),
        WEIR_OK);
    pg->unprepare(canceller.link, prepared);
    postgres_fixture_unlink(canceller.link);
    postgres_fixture_close(&postgres_fixture);
}

/* The flag rises under the lock that close() needs: whoever sees it closes after the
 * cancel. */
WEIR_TEST(pg_cancel, under_way_is_waited_for_by_close)
{
    struct postgres_fixture postgres_fixture;

    postgres_fixture_open(&postgres_fixture);
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct canceller canceller = {.postgres_fixture = &postgres_fixture,
                                      .link = postgres_fixture_link(&postgres_fixture)};

        start(&canceller, cancel_once);
        while (!atomic_load(&canceller.link->cancelled))
            ;
        postgres_fixture_unlink(canceller.link);
        join(&canceller);
    }
    postgres_fixture_close(&postgres_fixture);
}

POSTGRES_LINK_TEST(pg_cancel, of_a_lost_link_does_nothing)
{
    check_postgres_fixture(
        postgres_fixture,
        postgres_fixture_try(postgres_fixture, link,
                             "SELECT pg_terminate_backend(pg_backend_pid())"),
        WEIR_LOST);

    pg->cancel(link);
}
