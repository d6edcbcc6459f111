/*
 * Tests of db/postgres/saved.c: a statement in a savepoint of its own, in one round
 * trip. Whatever fails, the application must not commit what was reported as failed.
 *
 * libpq takes its memory from the C library; malloc() of this program can be made to
 * fail, except under the sanitizers, which have their own.
 */
#include "db/postgres/saved.h"

#include <errno.h>
#include <stdlib.h>

#include "unit/db/postgres_fixture.h"

/* ---- memory ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define MEMORY_RUNS_OUT 0
#else
#define MEMORY_RUNS_OUT 1
extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *memory, size_t size);
#endif

static int64_t allocations_left = -1; /* -1: as many as are wanted */
static int64_t allocations_refused;

#if MEMORY_RUNS_OUT
static bool refuses(void)
{
    if (allocations_left < 0)
        return false;
    if (allocations_left > 0) {
        allocations_left--;
        return false;
    }
    allocations_refused++;
    errno = ENOMEM;
    return true;
}

/* For libpq, too, so it is visible. */
__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return refuses() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
    return refuses() ? NULL : __libc_realloc(memory, size);
}
#endif

/* ---- setup ---- */

/* A table with a unique number, and a transaction in which the application has inserted
 * one. */
struct setup {
    struct postgres_fixture postgres_fixture;
    PGconn *application; /* of an adopted link; else NULL */
    struct weir_link *link;
    void *begin;
    void *insert;
    void *end;
};

enum { THEIRS = 1000, OURS = 1 };

static void prepare_setup(struct setup *self)
{
    server_execute(self->postgres_fixture.server, self->postgres_fixture.database,
                   "CREATE TABLE t (a bigint PRIMARY KEY, b text)");
    self->begin = postgres_fixture_prepare(&self->postgres_fixture, self->link,
                                           "SAVEPOINT " WEIR_SAVED_NAME, "");
    self->insert =
        postgres_fixture_prepare(&self->postgres_fixture, self->link,
                                 "INSERT INTO t VALUES ($1, $2) RETURNING a", "it");
    self->end = postgres_fixture_prepare(&self->postgres_fixture, self->link,
                                         "RELEASE SAVEPOINT " WEIR_SAVED_NAME, "");
}

static void open_setup(struct setup *self, bool adopted)
{
    memset(self, 0, sizeof *self);
    postgres_fixture_open(&self->postgres_fixture);
    if (adopted) {
        self->application = postgres_fixture_application(&self->postgres_fixture);
        self->link = postgres_fixture_adopt(&self->postgres_fixture, self->application);
    } else {
        self->link = postgres_fixture_link(&self->postgres_fixture);
    }
    prepare_setup(self);
}

static PGconn *native(const struct setup *self)
{
    return pg->native(self->link);
}

static void begin(const struct setup *self)
{
    postgres_fixture_apply(native(self), "BEGIN; INSERT INTO t VALUES (1000, 'theirs')");
}

static void close_link(struct setup *self)
{
    pg->unprepare(self->link, self->begin);
    pg->unprepare(self->link, self->insert);
    pg->unprepare(self->link, self->end);
    postgres_fixture_unlink(self->link);
    PQfinish(self->application);
}

static void close_setup(struct setup *self)
{
    close_link(self);
    postgres_fixture_close(&self->postgres_fixture);
}

static enum weir_status try_statement(struct setup *self, void *statement,
                                      const struct weir_value *values, int64_t *id)
{
    struct weir_driver_step steps[WEIR_SAVED_STEP_COUNT] = {
        [WEIR_SAVED_BEGIN] = {.prepared = self->begin},
        [WEIR_SAVED_RUN] = {.prepared = statement, .values = values},
        [WEIR_SAVED_END] = {.prepared = self->end},
    };
    struct weir_cursor cursor = {0};
    struct weir_value value;
    bool fits;
    enum weir_status status =
        pg->run_saved(self->link, steps, &cursor, &self->postgres_fixture.error);

    *id = 0;
    if (status != WEIR_OK)
        return status;
    if (pg->next(self->link, &cursor, &self->postgres_fixture.error) == WEIR_OK) {
        pg->read(&cursor, 0, WEIR_TYPE_INTEGER, &value, &fits);
        *id = fits ? value.as.integer : 0;
    }
    pg->finish(self->link, &cursor);
    return status;
}

static enum weir_status try_insert(struct setup *self, int64_t number, int64_t *id)
{
    const struct weir_value values[] = {weir_integer(number),
                                        weir_text(weir_str("ours"))};

    return try_statement(self, self->insert, values, id);
}

static int64_t count(struct setup *self, int64_t number)
{
    char text[80];

    (void)snprintf(text, sizeof text, "SELECT count(*) FROM t WHERE a = %lld",
                   (long long)number);
    return postgres_fixture_peek(&self->postgres_fixture, text);
}

/* True: the transaction was committed. */
static bool try_commit(const struct setup *self)
{
    PGresult *result = PQexec(native(self), "COMMIT");
    bool done = result != NULL && strcmp(PQcmdStatus(result), "COMMIT") == 0;

    PQclear(result);
    return done;
}

static void check_commit(struct setup *self, int64_t ours)
{
    check_int(PQpipelineStatus(native(self)), PQ_PIPELINE_OFF);
    check(!PQisnonblocking(native(self)));
    check(try_commit(self));
    check_int(count(self, THEIRS), 1);
    check_int(count(self, OURS), ours);
}

typedef void (*body_fn)(struct setup *self);

/* On a connection of the library's and on one of the application's. */
static void run_both(body_fn body)
{
    for (int adopted = 0; adopted < 2; adopted++) {
        struct setup setup;

        open_setup(&setup, adopted == 1);
        body(&setup);
        close_setup(&setup);
    }
}

/* ---- success ---- */

static void insert_and_commit(struct setup *self)
{
    int64_t id;

    begin(self);
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, OURS, &id), WEIR_OK);
    check_int(id, OURS);
    check_commit(self, 1);
}

WEIR_TEST(pg_saved, rows_are_committed_with_the_transaction)
{
    run_both(insert_and_commit);
}

static void insert_and_roll_back(struct setup *self)
{
    int64_t id;

    begin(self);
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, OURS, &id), WEIR_OK);
    postgres_fixture_apply(native(self), "ROLLBACK");
    check_int(count(self, OURS), 0);
}

WEIR_TEST(pg_saved, rows_are_rolled_back_with_the_transaction)
{
    run_both(insert_and_roll_back);
}

static void insert_and_look_for_the_savepoint(struct setup *self)
{
    PGresult *result;
    int64_t id;

    begin(self);
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, OURS, &id), WEIR_OK);
    result = PQexec(native(self), "ROLLBACK TO SAVEPOINT " WEIR_SAVED_NAME);
    check_str(PQresultErrorField(result, PG_DIAG_SQLSTATE), "3B001");
    PQclear(result);
}

WEIR_TEST(pg_saved, calls_leave_no_savepoint)
{
    run_both(insert_and_look_for_the_savepoint);
}

/* Each exchange with the server ends with one sync. */
WEIR_TEST(pg_saved, call_is_one_round_trip)
{
    FILE *trace = tmpfile();
    struct setup setup;
    char line[512];
    int requests = 0;
    int64_t id;

    open_setup(&setup, true);
    begin(&setup);
    PQtrace(native(&setup), trace);
    check_postgres_fixture(&setup.postgres_fixture, try_insert(&setup, OURS, &id),
                           WEIR_OK);
    PQuntrace(native(&setup));

    rewind(trace);
    while (fgets(line, sizeof line, trace) != NULL)
        requests += strstr(line, "\tSync") != NULL || strstr(line, "\tQuery") != NULL;
    check_int(requests, 1);
    (void)fclose(trace);
    close_setup(&setup);
}

/* ---- failure ---- */

static void fail_once(struct setup *self)
{
    int64_t id;

    begin(self);
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, THEIRS, &id),
                           WEIR_CONSTRAINT);
    check_int(pg->transaction(self->link), WEIR_TRANSACTION_OPEN);
    check_commit(self, 0);
}

WEIR_TEST(pg_saved, failure_leaves_the_transaction_as_it_was)
{
    run_both(fail_once);
}

static void fail_and_insert(struct setup *self)
{
    int64_t id;

    begin(self);
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, THEIRS, &id),
                           WEIR_CONSTRAINT);
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, OURS, &id), WEIR_OK);
    check_int(id, OURS);
    check_commit(self, 1);
}

WEIR_TEST(pg_saved, call_works_after_one_that_failed)
{
    run_both(fail_and_insert);
}

/* There is no room for the parameters: no savepoint is made, so none is undone. */
static void refuse_before_it_is_sent(struct setup *self)
{
    static char text[1024 * 1024];
    const struct weir_value values[] = {weir_integer(OURS),
                                        weir_text((struct weir_str){text, sizeof text})};
    int64_t id;

    memset(text, 'x', sizeof text);
    begin(self);
    weir_faulty_heap_fail_at(&self->postgres_fixture.heap, 1);

    check_postgres_fixture(&self->postgres_fixture,
                           try_statement(self, self->insert, values, &id),
                           WEIR_NO_MEMORY);

    weir_faulty_heap_fail_at(&self->postgres_fixture.heap, 0);
    check_int(pg->transaction(self->link), WEIR_TRANSACTION_OPEN);
    check_commit(self, 0);
}

WEIR_TEST(pg_saved, refusal_before_anything_is_sent_leaves_the_transaction_as_it_was)
{
    run_both(refuse_before_it_is_sent);
}

WEIR_TEST(pg_saved, call_in_a_failed_transaction_says_that_it_cannot_be_used)
{
    struct setup setup;
    int64_t id;

    open_setup(&setup, false);
    begin(&setup);
    PQclear(PQexec(native(&setup), "SELECT 1 / 0"));

    check(try_insert(&setup, OURS, &id) != WEIR_OK);

    check(strstr(setup.postgres_fixture.error.text, "cannot be used any more") != NULL);
    check(!try_commit(&setup));
    check_int(count(&setup, OURS), 0);
    close_setup(&setup);
}

static void end_the_session(struct setup *self)
{
    void *end_self =
        postgres_fixture_prepare(&self->postgres_fixture, self->link,
                                 "SELECT pg_terminate_backend(pg_backend_pid())", "");
    int64_t id;

    begin(self);

    check_postgres_fixture(&self->postgres_fixture,
                           try_statement(self, end_self, NULL, &id), WEIR_LOST);

    check(self->link->lost);
    check(!try_commit(self));
    check(self->application == NULL || PQstatus(self->application) == CONNECTION_BAD);
    check_int(count(self, THEIRS), 0);
    pg->unprepare(self->link, end_self);
}

WEIR_TEST(pg_saved, session_that_the_server_ends_on_the_way_is_seen_as_broken)
{
    run_both(end_the_session);
}

WEIR_TEST(pg_saved, application_can_reset_a_connection_that_was_lost_on_the_way)
{
    struct setup setup;

    open_setup(&setup, true);
    end_the_session(&setup);

    PQreset(setup.application);

    check_int(PQstatus(setup.application), CONNECTION_OK);
    check_int(PQpipelineStatus(setup.application), PQ_PIPELINE_OFF);
    check(!PQisnonblocking(setup.application));
    postgres_fixture_apply(setup.application, "SELECT 1");
    close_setup(&setup);
}

static void forget_statements(struct setup *self)
{
    int64_t id;

    begin(self);
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, OURS, &id), WEIR_OK);
    postgres_fixture_apply(native(self), "DEALLOCATE ALL");
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, 2, &id),
                           WEIR_CONFLICT);
    /* What failed is the savepoint itself. */
    check(!try_commit(self));
    check_int(count(self, OURS), 0);
}

WEIR_TEST(pg_saved, session_that_forgot_its_statements_has_its_transaction_repeated)
{
    struct setup setup;

    open_setup(&setup, false);
    forget_statements(&setup);
    close_setup(&setup);
}

/* ---- what can only be rolled back ---- */

static void spoil_and_commit(struct setup *self)
{
    int64_t id;

    begin(self);
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, OURS, &id), WEIR_OK);

    pg->spoil(self->link);

    check_int(pg->transaction(self->link), WEIR_TRANSACTION_FAILED);
    check(!try_commit(self));
    check_int(count(self, THEIRS), 0);
    check_int(count(self, OURS), 0);
}

WEIR_TEST(pg_saved, spoiled_transaction_cannot_be_committed)
{
    run_both(spoil_and_commit);
}

/* Their own savepoint of another name is not in the way. */
static void spoil_behind_their_savepoint(struct setup *self)
{
    int64_t id;

    begin(self);
    postgres_fixture_apply(native(self), "SAVEPOINT theirs");
    check_postgres_fixture(&self->postgres_fixture, try_insert(self, OURS, &id), WEIR_OK);

    pg->spoil(self->link);

    check_int(pg->transaction(self->link), WEIR_TRANSACTION_FAILED);
    postgres_fixture_apply(native(self), "ROLLBACK TO SAVEPOINT theirs");
    check_commit(self, 0);
}

WEIR_TEST(pg_saved, savepoint_of_the_application_undoes_a_spoiled_call)
{
    run_both(spoil_behind_their_savepoint);
}

/* ---- memory runs out ---- */

/* After so many allocations there is no memory until the call has ended. False: it did
 * not need so many. */
static bool run_out_of_memory(bool adopted, int64_t after)
{
    struct setup setup;
    enum weir_status status;
    bool committed;
    int64_t id;

    open_setup(&setup, adopted);
    begin(&setup);
    allocations_refused = 0;
    allocations_left = after;
    status = try_insert(&setup, OURS, &id);
    allocations_left = -1;

    committed = try_commit(&setup);
    check_int(count(&setup, OURS), status == WEIR_OK && committed ? 1 : 0);
    check_int(count(&setup, THEIRS), committed ? 1 : 0);
    if (status == WEIR_OK)
        check_int(id, OURS);
    if (PQstatus(native(&setup)) == CONNECTION_OK && (adopted || !setup.link->lost)) {
        check_int(PQpipelineStatus(native(&setup)), PQ_PIPELINE_OFF);
        check_int(PQtransactionStatus(native(&setup)), PQTRANS_IDLE);
    }
    close_setup(&setup);
    return allocations_refused > 0;
}

static void run_out_of_memory_everywhere(bool adopted)
{
    int64_t after = 0;

    while (MEMORY_RUNS_OUT && run_out_of_memory(adopted, after))
        after++;
    check(!MEMORY_RUNS_OUT || after > 5);
}

WEIR_TEST(pg_saved, call_without_memory_commits_nothing_of_itself)
{
    run_out_of_memory_everywhere(false);
}

WEIR_TEST(pg_saved, call_without_memory_commits_nothing_of_itself_when_adopted)
{
    run_out_of_memory_everywhere(true);
}
