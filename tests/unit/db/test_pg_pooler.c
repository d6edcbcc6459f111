/* Tests of pooler=transaction, behind a real PgBouncer with one server connection for
 * all. */
#include <signal.h>
#include <unistd.h>

#include "kit/server/pooler.h"
#include "kit/server/process.h"
#include "kit/temp_dir.h"
#include "unit/db/postgres_fixture.h"

/* A stall whose links go through a pooler. */
struct pooled {
    struct postgres_fixture postgres_fixture;
    pid_t pooler;
    char folder[TEMP_DIR_SIZE + 32];
    char url[SERVER_URL_SIZE];
};

/* The pooler wants a port that is free; this one was a moment ago, or another is
 * tried. */
static void open_pooled(struct pooled *self)
{
    static unsigned number;
    struct pooler_options options = {.pool_size = 1, .keeps_no_statements = true};

    memset(self, 0, sizeof *self);
    postgres_fixture_open(&self->postgres_fixture);
    snprintf(self->folder, sizeof self->folder, "%s/pooler-%u", temp_dir_of_program(),
             ++number);
    options.server_port = server_port(self->postgres_fixture.server);
    options.folder = self->folder;
    for (int i = 0; i < 20 && self->pooler == 0; i++) {
        options.port = (uint16_t)(20000 + (getpid() * 7 + i) % 10000);
        self->pooler = pooler_start(&options);
    }
    check(self->pooler != 0);
    snprintf(self->url, sizeof self->url,
             "postgresql://" SERVER_USER ":" SERVER_PASSWORD
             "@127.0.0.1:%u/%s?connect_timeout=5",
             options.port, self->postgres_fixture.database);
    self->postgres_fixture.config.url.conninfo = self->url;
    self->postgres_fixture.config.url.transaction_pooler = true;
}

static void close_pooled(struct pooled *self)
{
    (void)process_end(self->pooler, SIGTERM);
    temp_dir_remove(self->folder);
    postgres_fixture_close(&self->postgres_fixture);
}

WEIR_TEST(pg_pooler, works_with_links_that_take_turns_on_one_session)
{
    struct pooled pooled;
    struct weir_link *links[3];
    void *inserts[3];

    open_pooled(&pooled);
    server_execute(pooled.postgres_fixture.server, pooled.postgres_fixture.database,
                   "CREATE TABLE t (a bigint, b text)");
    for (int i = 0; i < 3; i++) {
        links[i] = postgres_fixture_link(&pooled.postgres_fixture);
        inserts[i] = postgres_fixture_prepare(&pooled.postgres_fixture, links[i],
                                              "INSERT INTO t VALUES ($1, $2)", "it");
    }

    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++) {
            const struct weir_value values[] = {weir_integer(round),
                                                weir_text(weir_str("a"))};

            check_postgres_fixture(
                &pooled.postgres_fixture,
                pg->begin(links[i], WEIR_READ_WRITE, &pooled.postgres_fixture.error),
                WEIR_OK);
            check_postgres_fixture(&pooled.postgres_fixture,
                                   postgres_fixture_run(&pooled.postgres_fixture,
                                                        links[i], inserts[i], values),
                                   WEIR_OK);
            check_postgres_fixture(&pooled.postgres_fixture,
                                   pg->commit(links[i], &pooled.postgres_fixture.error),
                                   WEIR_OK);
        }
    }

    check_int(postgres_fixture_peek(&pooled.postgres_fixture, "SELECT count(*) FROM t"),
              30);
    check_int(postgres_fixture_ask(&pooled.postgres_fixture, links[0],
                                   "SELECT count(*) FROM pg_prepared_statements"),
              0);
    for (int i = 0; i < 3; i++) {
        pg->unprepare(links[i], inserts[i]);
        postgres_fixture_unlink(links[i]);
    }
    close_pooled(&pooled);
}

static enum weir_status try_saved(struct pooled *pooled, struct weir_link *link,
                                  void *statements[WEIR_SAVED_STEP_COUNT], int64_t number)
{
    const struct weir_value value = weir_integer(number);
    struct weir_driver_step steps[WEIR_SAVED_STEP_COUNT] = {
        {.prepared = statements[WEIR_SAVED_BEGIN]},
        {.prepared = statements[WEIR_SAVED_RUN], .values = &value},
        {.prepared = statements[WEIR_SAVED_END]},
    };
    struct weir_cursor cursor = {0};
    enum weir_status status =
        pg->run_saved(link, steps, &cursor, &pooled->postgres_fixture.error);

    if (status == WEIR_OK)
        pg->finish(link, &cursor);
    return status;
}

WEIR_TEST(pg_pooler, runs_statements_in_savepoints_of_their_own)
{
    static const char *const TEXTS[WEIR_SAVED_STEP_COUNT] = {
        "SAVEPOINT " WEIR_SAVED_NAME,
        "INSERT INTO t VALUES ($1) RETURNING a",
        "RELEASE SAVEPOINT " WEIR_SAVED_NAME,
    };
    static const char *const LETTERS[WEIR_SAVED_STEP_COUNT] = {"", "i", ""};
    void *statements[WEIR_SAVED_STEP_COUNT];
    struct pooled pooled;
    struct weir_link *link;

    open_pooled(&pooled);
    server_execute(pooled.postgres_fixture.server, pooled.postgres_fixture.database,
                   "CREATE TABLE t (a bigint PRIMARY KEY)");
    link = postgres_fixture_link(&pooled.postgres_fixture);
    for (int i = 0; i < WEIR_SAVED_STEP_COUNT; i++)
        statements[i] = postgres_fixture_prepare(&pooled.postgres_fixture, link, TEXTS[i],
                                                 LETTERS[i]);

    check_postgres_fixture(
        &pooled.postgres_fixture,
        pg->begin(link, WEIR_READ_WRITE, &pooled.postgres_fixture.error), WEIR_OK);
    check_postgres_fixture(&pooled.postgres_fixture,
                           try_saved(&pooled, link, statements, 1), WEIR_OK);
    check_postgres_fixture(&pooled.postgres_fixture,
                           try_saved(&pooled, link, statements, 1), WEIR_CONSTRAINT);
    check_postgres_fixture(&pooled.postgres_fixture,
                           try_saved(&pooled, link, statements, 2), WEIR_OK);
    check_postgres_fixture(&pooled.postgres_fixture,
                           pg->commit(link, &pooled.postgres_fixture.error), WEIR_OK);

    check_int(postgres_fixture_peek(&pooled.postgres_fixture, "SELECT count(*) FROM t"),
              2);
    for (int i = 0; i < WEIR_SAVED_STEP_COUNT; i++)
        pg->unprepare(link, statements[i]);
    postgres_fixture_unlink(link);
    close_pooled(&pooled);
}

WEIR_TEST(pg_pooler, has_its_timeouts_inside_a_transaction_and_leaves_none)
{
    struct pooled pooled;
    struct weir_link *link;

    open_pooled(&pooled);
    pooled.postgres_fixture.config.statement_timeout_ns = WEIR_MILLISECONDS(200);
    pooled.postgres_fixture.config.lock_timeout_ns = WEIR_SECONDS(3);
    link = postgres_fixture_link(&pooled.postgres_fixture);

    check_postgres_fixture(
        &pooled.postgres_fixture,
        pg->begin(link, WEIR_READ_ONLY, &pooled.postgres_fixture.error), WEIR_OK);
    check_str(postgres_fixture_text(&pooled.postgres_fixture, link, "SHOW lock_timeout"),
              "3s");
    check_str(postgres_fixture_text(&pooled.postgres_fixture, link, "SHOW TimeZone"),
              "UTC");
    check_str(postgres_fixture_text(&pooled.postgres_fixture, link,
                                    "SHOW transaction_read_only"),
              "on");
    check_str(postgres_fixture_text(&pooled.postgres_fixture, link, "SHOW jit"), "off");
    check_postgres_fixture(
        &pooled.postgres_fixture,
        postgres_fixture_try(&pooled.postgres_fixture, link, "SELECT pg_sleep(60)"),
        WEIR_TIMEOUT);
    pg->rollback(link);

    check_str(
        postgres_fixture_text(&pooled.postgres_fixture, link, "SHOW statement_timeout"),
        "0");
    check_str(postgres_fixture_text(&pooled.postgres_fixture, link, "SHOW lock_timeout"),
              "0");
    check_str(postgres_fixture_text(&pooled.postgres_fixture, link, "SHOW jit"), "on");
    postgres_fixture_unlink(link);
    close_pooled(&pooled);
}

WEIR_TEST(pg_pooler, runs_steps_and_arrays)
{
    enum { COUNT = 100 };
    static struct weir_value values[COUNT];
    static struct weir_driver_step steps[COUNT];
    struct pooled pooled;
    struct weir_link *link;
    int64_t changed;
    size_t failed;
    void *one;
    void *many;

    open_pooled(&pooled);
    server_execute(pooled.postgres_fixture.server, pooled.postgres_fixture.database,
                   "CREATE TABLE t (a bigint UNIQUE)");
    link = postgres_fixture_link(&pooled.postgres_fixture);
    one = postgres_fixture_prepare(&pooled.postgres_fixture, link,
                                   "INSERT INTO t VALUES ($1)", "i");
    many = postgres_fixture_prepare(&pooled.postgres_fixture, link,
                                    "INSERT INTO t SELECT unnest($1)", "I");
    for (int i = 0; i < COUNT; i++) {
        values[i] = weir_integer(i);
        steps[i] = (struct weir_driver_step){.prepared = one, .values = &values[i]};
    }

    check_postgres_fixture(&pooled.postgres_fixture,
                           pg->run_many(link, many, values, COUNT, 1, &changed,
                                        &pooled.postgres_fixture.error),
                           WEIR_OK);
    check_int(changed, COUNT);
    check_postgres_fixture(
        &pooled.postgres_fixture,
        pg->run_steps(link, steps, COUNT, &failed, &pooled.postgres_fixture.error),
        WEIR_CONSTRAINT);
    check_int(failed, 0);
    postgres_fixture_exec(&pooled.postgres_fixture, link, "DELETE FROM t");
    check_postgres_fixture(
        &pooled.postgres_fixture,
        pg->run_steps(link, steps, COUNT, &failed, &pooled.postgres_fixture.error),
        WEIR_OK);

    check_int(postgres_fixture_peek(&pooled.postgres_fixture, "SELECT count(*) FROM t"),
              COUNT);
    pg->unprepare(link, one);
    pg->unprepare(link, many);
    postgres_fixture_unlink(link);
    close_pooled(&pooled);
}

/* Without pooler=transaction two links meet on one session under the same names. */
WEIR_TEST(pg_pooler, is_suspected_when_it_was_not_announced)
{
    struct pooled pooled;
    struct weir_link *anna;
    struct weir_link *bert;
    void *of_anna;
    void *of_bert;

    open_pooled(&pooled);
    pooled.postgres_fixture.config.url.transaction_pooler = false;
    anna = postgres_fixture_link(&pooled.postgres_fixture);
    bert = postgres_fixture_link(&pooled.postgres_fixture);
    of_anna = postgres_fixture_prepare(&pooled.postgres_fixture, anna, "SELECT 1", "");
    of_bert = postgres_fixture_prepare(&pooled.postgres_fixture, bert, "SELECT 1", "");

    check_postgres_fixture(
        &pooled.postgres_fixture,
        postgres_fixture_run(&pooled.postgres_fixture, anna, of_anna, NULL), WEIR_OK);
    check_postgres_fixture(
        &pooled.postgres_fixture,
        postgres_fixture_run(&pooled.postgres_fixture, bert, of_bert, NULL), WEIR_SCHEMA);

    check(strstr(pooled.postgres_fixture.error.text, "pooler=transaction") != NULL);
    pg->unprepare(anna, of_anna);
    pg->unprepare(bert, of_bert);
    postgres_fixture_unlink(anna);
    postgres_fixture_unlink(bert);
    close_pooled(&pooled);
}

/* The pooler is gone: so is the connection, and nothing hangs. */
WEIR_TEST(pg_pooler, is_lost_with_the_pooler)
{
    struct pooled pooled;
    struct weir_link *link;

    open_pooled(&pooled);
    link = postgres_fixture_link(&pooled.postgres_fixture);
    check_postgres_fixture(
        &pooled.postgres_fixture,
        pg->begin(link, WEIR_READ_WRITE, &pooled.postgres_fixture.error), WEIR_OK);
    (void)process_end(pooled.pooler, SIGKILL);
    server_await_hangup(PQsocket(pg->native(link)));

    check_postgres_fixture(&pooled.postgres_fixture,
                           pg->commit(link, &pooled.postgres_fixture.error), WEIR_LOST);

    postgres_fixture_unlink(link);
    temp_dir_remove(pooled.folder);
    postgres_fixture_close(&pooled.postgres_fixture);
}
