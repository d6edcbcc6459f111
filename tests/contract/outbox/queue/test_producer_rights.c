/*
 * The functions of producers in SQL run with the rights of the tables' owner, on
 * PostgreSQL. What another role makes in the same schema must not run with these
 * rights.
 */
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/outbox_fixture.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/producer.h"
#include "outbox/schema.h"

/* Counts the calls by others than the guest, also in transactions that fail. */
#define NOTE                                                                             \
    " LANGUAGE plpgsql AS $$ BEGIN IF current_user <> '" SERVER_GUEST "' THEN"           \
    " PERFORM nextval('public.loot'); END IF;"

/* A superuser owns the tables. The guest may create in their schema, and enqueue. */
static PGconn *let_the_guest_create(struct fixture *fixture)
{
    PGconn *connection = pg_outbox_connect(fixture);

    pg_outbox_queue(connection, "orders", 3);
    pg_run(connection, "GRANT USAGE, CREATE ON SCHEMA public TO " SERVER_GUEST);
    pg_run(connection, "GRANT EXECUTE ON FUNCTION"
                       " weir_enqueue(text, text, text, text, jsonb) TO " SERVER_GUEST);
    pg_run(connection, "SET SESSION AUTHORIZATION " SERVER_GUEST);
    pg_run(connection, "CREATE SEQUENCE public.loot");
    return connection;
}

/* Whether a call works or is refused does not matter: a planted function may break it. */
static void enqueue(PGconn *connection, const char *queue, const char *headers)
{
    const char *values[] = {queue, headers};

    PQclear(PQexecParams(connection,
                         "SELECT weir_enqueue($1, 'k', 'x'::text, 't', $2::jsonb)", 2,
                         NULL, values, NULL, NULL, 0));
}

/* The guest calls it with good and bad arguments. */
static void enqueue_everything(PGconn *connection)
{
    enqueue(connection, "orders", NULL);
    enqueue(connection, "orders", "{\"a\": \"b\"}");
    enqueue(connection, "orders", "{\"a\": null}");
    enqueue(connection, "orders", "[]");
    enqueue(connection, "a queue", NULL);
    enqueue(connection, "none", NULL);
}

static void check_that_nobody_else_ran_it(PGconn *connection)
{
    check_int(pg_ask(connection, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END"
                                 " FROM public.loot"),
              0);
    PQfinish(connection);
}

OUTBOX_POSTGRESQL_TEST(producer_rights, are_not_given_to_a_planted_operator)
{
    PGconn *connection = let_the_guest_create(fixture);

    pg_run(connection, "CREATE FUNCTION public.plant(bigint, integer)"
                       " RETURNS bigint" NOTE " RETURN 0; END $$");
    pg_run(connection, "CREATE OPERATOR public.%% (FUNCTION = public.plant,"
                       " LEFTARG = bigint, RIGHTARG = integer)");

    enqueue_everything(connection);

    check_that_nobody_else_ran_it(connection);
}

OUTBOX_POSTGRESQL_TEST(producer_rights, are_not_given_to_a_planted_function)
{
    PGconn *connection = let_the_guest_create(fixture);

    pg_run(connection, "CREATE FUNCTION public.format(text, text)"
                       " RETURNS text" NOTE " RETURN ''; END $$");
    pg_run(connection, "CREATE FUNCTION public.format(text, integer)"
                       " RETURNS text" NOTE " RETURN ''; END $$");

    enqueue_everything(connection);

    check_that_nobody_else_ran_it(connection);
}

/* Of our own functions the schema is named, so that these overloads are candidates. */
OUTBOX_POSTGRESQL_TEST(producer_rights, are_not_given_to_a_planted_overload)
{
    PGconn *connection = let_the_guest_create(fixture);

    pg_run(connection,
           "CREATE FUNCTION public.weir_enqueue_refuse(varchar, text, integer,"
           " boolean) RETURNS void" NOTE " END $$");
    pg_run(connection, "CREATE FUNCTION public.weir_enqueue_refuse(text, text, bigint,"
                       " boolean) RETURNS void" NOTE " END $$");
    pg_run(connection, "CREATE FUNCTION public.weir_enqueue_quote(varchar)"
                       " RETURNS text" NOTE " RETURN ''; END $$");
    pg_run(connection, "CREATE FUNCTION public.weir_enqueue_headers(json)"
                       " RETURNS text" NOTE " RETURN ''; END $$");
    pg_run(connection, "CREATE FUNCTION public.weir_enqueue_headers(VARIADIC jsonb[])"
                       " RETURNS text" NOTE " RETURN ''; END $$");

    enqueue_everything(connection);

    check_that_nobody_else_ran_it(connection);
}

/* ---- every function of ours -------------------------------------------------------- */

static int64_t count_functions(PGconn *connection, const char *condition)
{
    return pg_ask(
        connection,
        "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " AND proname LIKE 'weir\\_%%' AND %s",
        condition);
}

#define PINNED "'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, ARRAY['']))"

OUTBOX_POSTGRESQL_TEST(functions, look_in_no_schema_that_others_may_create_in)
{
    PGconn *connection = pg_outbox_connect(fixture);

    check(count_functions(connection, "true") > 0);
    check_int(count_functions(connection, "NOT " PINNED), 0);
    check_int(count_functions(connection, "prosrc ~ '(^|[^.''_a-z])weir_'"), 0);

    PQfinish(connection);
}

static bool replaces_functions(const struct weir_migration *migration)
{
    return migration->statements[WEIR_POSTGRESQL] == weir_producer_pg;
}

/* A database that has those of schema 3 gets the others by a later one. */
OUTBOX_POSTGRESQL_TEST(functions, are_replaced_by_a_later_migration)
{
    PGconn *connection = pg_outbox_connect(fixture);
    struct weir_connection *ours = fixture_take(fixture);
    size_t replaced = 0;

    for (size_t i = 3; i < weir_outbox_schema.count; i++)
        replaced += replaces_functions(&weir_outbox_schema.migrations[i]);
    check(replaced > 0);

    pg_run(connection, "ALTER FUNCTION weir_enqueue(text, text, bytea, text, jsonb)"
                       " SET search_path = public, pg_temp");
    check_int(count_functions(connection, "NOT " PINNED), 1);
    check_db(weir_connection_begin(ours, &fixture->error), WEIR_OK);
    for (const char *const *statement = weir_producer_pg; *statement != NULL; statement++)
        check_db(weir_connection_execute_ddl(ours, *statement, &fixture->error), WEIR_OK);
    check_db(weir_connection_commit(ours, &fixture->error), WEIR_OK);

    check_int(count_functions(connection, "NOT " PINNED), 0);
    fixture_give(fixture, ours);
    PQfinish(connection);
}
