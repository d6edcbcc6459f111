/* Tests of cancel() in db/postgres/driver.c: from another thread, at any time. */
#include <pthread.h>
#include <unistd.h>

#include "unit/db/stall.h"
#include "ward/system.h"

enum { ROUNDS = 100 };

/* Somebody who cancels what runs on a link. */
struct canceller {
    struct weir_link *link;
    struct stall *stall;
    _Atomic bool stop;
    pthread_t thread;
};

/* As soon as the server says that something runs there. */
static void *cancel_when_running(void *argument)
{
    struct canceller *self = argument;
    PGconn *connection = PQconnectdb(self->stall->url);
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
    struct stall stall;
    struct canceller canceller = {.stall = &stall};
    int64_t begin_ns = weir_system_now_ns();

    stall_open(&stall);
    canceller.link = stall_link(&stall);
    start(&canceller, cancel_when_running);

    check_stall(&stall, stall_try(&stall, canceller.link, "SELECT pg_sleep(60)"),
                WEIR_CANCELLED);

    join(&canceller);
    check_str(stall.error.sqlstate, "57014");
    check(weir_system_now_ns() - begin_ns < WEIR_SECONDS(30));
    check_int(stall_ask(&stall, canceller.link, "SELECT 7"), 7);
    stall_unlink(canceller.link);
    stall_close(&stall);
}

WEIR_TEST(pg_cancel, ends_a_statement_on_an_adopted_connection)
{
    struct stall stall;
    struct canceller canceller = {.stall = &stall};
    PGconn *application;

    stall_open(&stall);
    application = stall_application(&stall);
    canceller.link = stall_adopt(&stall, application);
    start(&canceller, cancel_when_running);

    check_stall(&stall, stall_try(&stall, canceller.link, "SELECT pg_sleep(60)"),
                WEIR_CANCELLED);

    join(&canceller);
    stall_unlink(canceller.link);
    PQfinish(application);
    stall_close(&stall);
}

WEIR_TEST(pg_cancel, of_nothing_is_forgotten)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    stall.config.statement_timeout_ns = WEIR_MILLISECONDS(50);
    link = stall_link(&stall);

    pg->cancel(link);

    check_stall(&stall, stall_try(&stall, link, "SELECT pg_sleep(60)"), WEIR_TIMEOUT);
    stall_unlink(link);
    stall_close(&stall);
}

/* Whatever the link is doing, a statement ends well or is cancelled, and nothing else. */
WEIR_TEST(pg_cancel, may_come_at_any_time)
{
    struct stall stall;
    struct canceller canceller = {.stall = &stall};
    const struct weir_value value = weir_integer(1);
    struct weir_driver_step steps[3];
    size_t failed;
    void *prepared;

    stall_open(&stall);
    canceller.link = stall_link(&stall);
    prepared = stall_prepare(&stall, canceller.link, "SELECT $1", "i");
    for (int i = 0; i < 3; i++)
        steps[i] = (struct weir_driver_step){.prepared = prepared, .values = &value};
    start(&canceller, cancel_all_the_time);

    for (int i = 0; i < ROUNDS; i++) {
        enum weir_status status =
            i % 2 == 0 ? stall_run(&stall, canceller.link, prepared, &value)
                       : pg->run_steps(canceller.link, steps, 3, &failed, &stall.error);

        if (status != WEIR_OK)
            check_stall(&stall, status, WEIR_CANCELLED);
    }

    join(&canceller);
    check_stall(&stall, stall_run(&stall, canceller.link, prepared, &value), WEIR_OK);
    pg->unprepare(canceller.link, prepared);
    stall_unlink(canceller.link);
    stall_close(&stall);
}

/* The flag rises under the lock that close() needs: whoever sees it closes after the cancel. */
WEIR_TEST(pg_cancel, under_way_is_waited_for_by_close)
{
    struct stall stall;

    stall_open(&stall);
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct canceller canceller = {.stall = &stall, .link = stall_link(&stall)};

        start(&canceller, cancel_once);
        while (!atomic_load(&canceller.link->cancelled))
            ;
        stall_unlink(canceller.link);
        join(&canceller);
    }
    stall_close(&stall);
}

WEIR_TEST(pg_cancel, of_a_lost_link_does_nothing)
{
    struct stall stall;
    struct weir_link *link;

    stall_open(&stall);
    link = stall_link(&stall);
    check_stall(&stall,
                stall_try(&stall, link, "SELECT pg_terminate_backend(pg_backend_pid())"),
                WEIR_LOST);

    pg->cancel(link);

    stall_unlink(link);
    stall_close(&stall);
}
