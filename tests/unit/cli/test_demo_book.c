/*
 * Tests of cli/demo/demo_book.c: what the demo makes of its database, and that the
 * audit finds each kind of thing that must not be.
 */
#include "cli/demo/demo_book.h"

#include <stdio.h>

#include "db/connection.h"
#include "db/db.h"
#include "kit/test.h"
#include "weir/executions.h"

/* A database with the tables of the engine, and the book about it. */
struct setup {
    struct weir_db *db;
    struct weir_book book;
    struct weir_error error;
};

static void setup_open(struct setup *self)
{
    struct weir_db_options options;

    *self = (struct setup){.db = NULL};
    weir_db_options_init(&options);
    options.url = "sqlite::memory:";
    check_status(weir_db_create(&options, &self->db, &self->error), WEIR_OK);
    check_status(weir_executions_migrate(self->db, &self->error), WEIR_OK);
    weir_book_init(&self->book, self->db);
}

static void setup_close(struct setup *self)
{
    weir_db_destroy(self->db);
}

static void setup_run(struct setup *self, const char *text)
{
    struct weir_connection *connection = NULL;

    check_status(weir_db_acquire(self->db, &connection, &self->error), WEIR_OK);
    check_status(weir_connection_execute_text(connection, text, &self->error), WEIR_OK);
    weir_db_release(self->db, connection);
}

/* The executions of one order from `no` on, in these states. */
static void setup_order(struct setup *self, int64_t no, int64_t executions,
                        const int *states)
{
    char text[512];

    for (int i = 0; i < WEIR_STEP_COUNT; i++) {
        (void)snprintf(text, sizeof text,
                       "INSERT INTO {p}_execution (no, uuid, digest, part, state, hold,"
                       " pending, lane, capset, policy, priority, flow, created_us,"
                       " due_us, deadline_us, ended_us, namespace, kind) VALUES"
                       " (%d, 'u%d', '', 0, %d, %d, 0, 0, 0, 0, 0, %d, 1000000, 0, 0,"
                       " 3000000, '', '%s')",
                       (int)no + i, (int)no + i, states[i], states[i] == 3 ? 5 : 0,
                       (int)executions, WEIR_STEP_NAMES[i]);
        setup_run(self, text);
    }
}

static const int SHIPPED[] = {10, 10, 10, 10, 12, 10};
static const int REFUSED[] = {10, 10, 11, 14, 14, 14};
static const int AT_THE_BANK[] = {10, 3, 1, 1, 1, 1};

WEIR_TEST(book, adds_up_orders_once_and_looks_at_the_others_again)
{
    struct setup setup;

    setup_open(&setup);
    setup_order(&setup, 1, 1, SHIPPED);
    setup_order(&setup, 7, 2, AT_THE_BANK);
    setup_order(&setup, 13, 3, REFUSED);
    for (int i = 0; i < 2; i++) {
        check_status(weir_book_look(&setup.book, &setup.error), WEIR_OK);
        check_int(setup.book.stats.shipped, 1);
        check_int(setup.book.stats.refused, 1);
        check_int(setup.book.stats.on_the_way, 1);
        check_int(setup.book.stats.steps[WEIR_STEP_CHARGE].held, 1);
        check_int(setup.book.stats.steps[WEIR_STEP_CHARGE].done, 2);
        check_int(setup.book.stats.latency.total, 1);
        check_int(setup.book.first, 7);
    }

    setup_run(&setup, "UPDATE {p}_execution SET state = 10 WHERE flow = 2");
    check_status(weir_book_look(&setup.book, &setup.error), WEIR_OK);
    check_int(setup.book.stats.shipped, 2);
    check_int(setup.book.first, 19);
    check_status(weir_book_look(&setup.book, &setup.error), WEIR_OK);
    check_int(setup.book.stats.shipped, 2);
    setup_close(&setup);
}

static int64_t audit(struct setup *self, int64_t placed, enum weir_book_breach breach)
{
    int64_t counts[WEIR_BOOK_BREACH_COUNT];

    check_status(weir_book_audit(&self->book, placed, counts, &self->error), WEIR_OK);
    return counts[breach];
}

/* Whatever else it breaks. */
WEIR_TEST(audit, finds_what_must_not_be)
{
    static const struct {
        enum weir_book_breach breach;
        const char *sql;
    } BAD[] = {
        {WEIR_BOOK_LOST, "DELETE FROM {p}_flow"},
        {WEIR_BOOK_UNFINISHED, "UPDATE {p}_execution SET state = 4 WHERE no = 4"},
        {WEIR_BOOK_OPEN, "UPDATE {p}_flow SET unfinished = 1"},
        {WEIR_BOOK_ENDS, "UPDATE {p}_execution SET state = 14 WHERE no = 6"},
        {WEIR_BOOK_TWICE,
         "INSERT INTO {p}_attempt VALUES (6, 1, 1, 1, 2, 1, 2, '', '', '')"},
        {WEIR_BOOK_UNDECIDED, "UPDATE {p}_edge SET state = 2"},
        {WEIR_BOOK_FIRED,
         "INSERT INTO {p}_attempt VALUES (6, 1, 0, 2, 2, 1, 2, '', '', '')"},
        {WEIR_BOOK_SIBLINGS, "UPDATE {p}_edge_group SET cancel_us = 1"},
        {WEIR_BOOK_SUSPENDED, "INSERT INTO {p}_waitpoint (no, uuid, state, name, key_id,"
                              " created_us) VALUES (3, 'u', 1, 'boss', 'k', 1)"},
        {WEIR_BOOK_LEDGER, "UPDATE {p}_usage SET used = 4"},
    };

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct setup setup;

        check_int(BAD[i].breach, i);
        setup_open(&setup);
        setup_order(&setup, 1, 1, SHIPPED);
        setup_run(&setup, "INSERT INTO {p}_flow (no, uuid, part, state, members,"
                          " created_us, ended_us, namespace, kind)"
                          " VALUES (1, 'f', 0, 1, 6, 1, 2, '', 'order')");
        setup_run(&setup,
                  "INSERT INTO {p}_attempt VALUES (6, 0, 0, 1, 1, 1, 2, '', '', '')");
        setup_run(&setup, "INSERT INTO {p}_edge (upstream, downstream, flow, state,"
                          " passes_data, opened_epoch) VALUES (4, 6, 1, 1, 0, 0)");
        setup_run(&setup, "INSERT INTO {p}_edge_group (downstream, flow, policy, state,"
                          " total, succeeded) VALUES (6, 1, 1, 1, 1, 1)");
        setup_run(&setup,
                  "INSERT INTO {p}_budget (no, name, part, scope_type, scope, era,"
                  " created_us) VALUES (1, 'bank', 0, '', '', 5, 1)");
        setup_run(&setup, "INSERT INTO {p}_usage VALUES (1, 'calls', 3, 8, 0)");
        setup_run(&setup, "INSERT INTO {p}_spent VALUES (2, 1, 'calls', 3, 5)");
        for (int k = 0; k < WEIR_BOOK_BREACH_COUNT; k++)
            check_int(audit(&setup, 1, (enum weir_book_breach)k), 0);

        setup_run(&setup, BAD[i].sql);
        check_int(audit(&setup, 1, BAD[i].breach), 1);
        setup_close(&setup);
    }
}
