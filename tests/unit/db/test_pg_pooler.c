/* Tests of pooler=transaction, behind a real PgBouncer with one server connection for all. */
#include <signal.h>
#include <unistd.h>

#include "lib/place.h"
#include "lib/pooler.h"
#include "lib/process.h"
#include "unit/db/stall.h"

/* A stall whose links go through a pooler. */
struct pooled {
    struct stall stall;
    pid_t pooler;
    char folder[PLACE_SIZE + 32];
    char url[SERVER_URL_SIZE];
};

/* The pooler wants a port that is free; this one was a moment ago, or another is tried. */
static void open_pooled(struct pooled *self)
{
    static unsigned number;
    struct pooler_options options = {.pool_size = 1, .keeps_no_statements = true};

    memset(self, 0, sizeof *self);
    stall_open(&self->stall);
    snprintf(self->folder, sizeof self->folder, "%s/pooler-%u", place_of_program(),
             ++number);
    options.server_port = server_port(self->stall.server);
    options.folder = self->folder;
    for (int i = 0; i < 20 && self->pooler == 0; i++) {
        options.port = (uint16_t)(20000 + (getpid() * 7 + i) % 10000);
        self->pooler = pooler_start(&options);
    }
    check(self->pooler != 0);
    snprintf(self->url, sizeof self->url,
             "postgresql://" SERVER_USER ":" SERVER_PASSWORD
             "@127.0.0.1:%u/%s?connect_timeout=5",
             options.port, self->stall.database);
    self->stall.config.url.conninfo = self->url;
    self->stall.config.url.transaction_pooler = true;
}

static void close_pooled(struct pooled *self)
{
    (void)process_end(self->pooler, SIGTERM);
    place_remove(self->folder);
    stall_close(&self->stall);
}

WEIR_TEST(pg_pooler, works_with_links_that_take_turns_on_one_session)
{
    struct pooled pooled;
    struct weir_link *links[3];
    void *inserts[3];

    open_pooled(&pooled);
    server_execute(pooled.stall.server, pooled.stall.database,
                   "CREATE TABLE t (a bigint, b text)");
    for (int i = 0; i < 3; i++) {
        links[i] = stall_link(&pooled.stall);
        inserts[i] =
            stall_prepare(&pooled.stall, links[i], "INSERT INTO t VALUES ($1, $2)", "it");
    }

    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++) {
            const struct weir_value values[] = {weir_integer(round),
                                                weir_text(weir_str("a"))};

            check_stall(&pooled.stall,
                        pg->begin(links[i], WEIR_READ_WRITE, &pooled.stall.error),
                        WEIR_OK);
            check_stall(&pooled.stall,
                        stall_run(&pooled.stall, links[i], inserts[i], values), WEIR_OK);
            check_stall(&pooled.stall, pg->commit(links[i], &pooled.stall.error),
                        WEIR_OK);
        }
    }

    check_int(stall_peek(&pooled.stall, "SELECT count(*) FROM t"), 30);
    check_int(
        stall_ask(&pooled.stall, links[0], "SELECT count(*) FROM pg_prepared_statements"),
        0);
    for (int i = 0; i < 3; i++) {
        pg->unprepare(links[i], inserts[i]);
        stall_unlink(links[i]);
    }
    close_pooled(&pooled);
}

WEIR_TEST(pg_pooler, has_its_timeouts_inside_a_transaction_and_leaves_none)
{
    struct pooled pooled;
    struct weir_link *link;

    open_pooled(&pooled);
    pooled.stall.config.statement_timeout_ns = WEIR_MILLISECONDS(200);
    pooled.stall.config.lock_timeout_ns = WEIR_SECONDS(3);
    link = stall_link(&pooled.stall);

    check_stall(&pooled.stall, pg->begin(link, WEIR_READ_ONLY, &pooled.stall.error),
                WEIR_OK);
    check_str(stall_text(&pooled.stall, link, "SHOW lock_timeout"), "3s");
    check_str(stall_text(&pooled.stall, link, "SHOW TimeZone"), "UTC");
    check_str(stall_text(&pooled.stall, link, "SHOW transaction_read_only"), "on");
    check_str(stall_text(&pooled.stall, link, "SHOW jit"), "off");
    check_stall(&pooled.stall, stall_try(&pooled.stall, link, "SELECT pg_sleep(60)"),
                WEIR_TIMEOUT);
    pg->rollback(link);

    check_str(stall_text(&pooled.stall, link, "SHOW statement_timeout"), "0");
    check_str(stall_text(&pooled.stall, link, "SHOW lock_timeout"), "0");
    check_str(stall_text(&pooled.stall, link, "SHOW jit"), "on");
    stall_unlink(link);
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
    server_execute(pooled.stall.server, pooled.stall.database,
                   "CREATE TABLE t (a bigint UNIQUE)");
    link = stall_link(&pooled.stall);
    one = stall_prepare(&pooled.stall, link, "INSERT INTO t VALUES ($1)", "i");
    many = stall_prepare(&pooled.stall, link, "INSERT INTO t SELECT unnest($1)", "I");
    for (int i = 0; i < COUNT; i++) {
        values[i] = weir_integer(i);
        steps[i] = (struct weir_driver_step){.prepared = one, .values = &values[i]};
    }

    check_stall(&pooled.stall,
                pg->run_many(link, many, values, COUNT, 1, &changed, &pooled.stall.error),
                WEIR_OK);
    check_int(changed, COUNT);
    check_stall(&pooled.stall,
                pg->run_steps(link, steps, COUNT, &failed, &pooled.stall.error),
                WEIR_CONSTRAINT);
    check_int(failed, 0);
    stall_exec(&pooled.stall, link, "DELETE FROM t");
    check_stall(&pooled.stall,
                pg->run_steps(link, steps, COUNT, &failed, &pooled.stall.error), WEIR_OK);

    check_int(stall_peek(&pooled.stall, "SELECT count(*) FROM t"), COUNT);
    pg->unprepare(link, one);
    pg->unprepare(link, many);
    stall_unlink(link);
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
    pooled.stall.config.url.transaction_pooler = false;
    anna = stall_link(&pooled.stall);
    bert = stall_link(&pooled.stall);
    of_anna = stall_prepare(&pooled.stall, anna, "SELECT 1", "");
    of_bert = stall_prepare(&pooled.stall, bert, "SELECT 1", "");

    check_stall(&pooled.stall, stall_run(&pooled.stall, anna, of_anna, NULL), WEIR_OK);
    check_stall(&pooled.stall, stall_run(&pooled.stall, bert, of_bert, NULL),
                WEIR_SCHEMA);

    check(strstr(pooled.stall.error.text, "pooler=transaction") != NULL);
    pg->unprepare(anna, of_anna);
    pg->unprepare(bert, of_bert);
    stall_unlink(anna);
    stall_unlink(bert);
    close_pooled(&pooled);
}

/* The pooler is gone: so is the connection, and nothing hangs. */
WEIR_TEST(pg_pooler, is_lost_with_the_pooler)
{
    struct pooled pooled;
    struct weir_link *link;

    open_pooled(&pooled);
    link = stall_link(&pooled.stall);
    check_stall(&pooled.stall, pg->begin(link, WEIR_READ_WRITE, &pooled.stall.error),
                WEIR_OK);
    (void)process_end(pooled.pooler, SIGKILL);
    server_await_hangup(PQsocket(pg->native(link)));

    check_stall(&pooled.stall, pg->commit(link, &pooled.stall.error), WEIR_LOST);

    stall_unlink(link);
    place_remove(pooled.folder);
    stall_close(&pooled.stall);
}
