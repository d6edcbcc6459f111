/*
 * outbox_engines.c - see outbox_engines.h.
 */
#include "kit/outbox/outbox_engines.h"

#include <stdio.h>
#include <stdlib.h>

#include "weir/outbox.h"

static void migrate(struct fixture *fixture)
{
    check_db(weir_outbox_migrate(fixture->db, &fixture->error), WEIR_OK);
}

/* The tables know which database they were made in, and would not deliver from
 * another. */
static void adopt(struct fixture *fixture)
{
    fixture_prepare(fixture, "UPDATE {p}_meta SET value = split_part(value, '/', 1) ||"
                             " '/' || oid FROM pg_database"
                             " WHERE name = 'identity' AND datname = current_database()");
}

void outbox_fixture_run(enum weir_engine engine, fixture_fn body)
{
    static const struct fixture_filling FILLING = {"outbox_original", migrate, adopt};

    fixture_run_filled(engine, &FILLING, body);
}

void outbox_fixture_run_own(enum weir_engine engine, const struct server_options *options,
                            fixture_fn body)
{
    /* A test that fails leaves it behind: what it has left running still uses it. */
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct weir_db_options db;

    check(fixture != NULL);
    fixture->engine = engine;
    weir_faulty_heap_init(&fixture->heap);
    fixture->server = server_create(engine, options);
    server_name_database(fixture->database, sizeof fixture->database);
    server_create_database(fixture->server, fixture->database);
    server_url(fixture->server, fixture->database, fixture->url, sizeof fixture->url);
    db = fixture_options(fixture);
    fixture->db = fixture_open(fixture, &db);
    migrate(fixture);
    body(fixture);
    weir_db_destroy(fixture->db);
    check_int(fixture->heap.outstanding, 0);
    server_destroy(fixture->server);
    free(fixture);
}

void outbox_small_segments(struct fixture *fixture, unsigned bits)
{
    char text[512];

    if (fixture->engine != WEIR_POSTGRESQL)
        return;
    fixture_prepare(fixture, "ALTER TABLE {p}_log RENAME TO {p}_log_large");
    (void)snprintf(text, sizeof text,
                   "CREATE TABLE {p}_log (LIKE {p}_log_large INCLUDING DEFAULTS)"
                   " PARTITION BY LIST (((id >> %u) & 7))",
                   bits);
    fixture_prepare(fixture, text);
    fixture_prepare(fixture, "DROP TABLE {p}_log_large");
    for (int leaf = 0; leaf < 8; leaf++) {
        (void)snprintf(text, sizeof text,
                       "CREATE TABLE {p}_log_%d PARTITION OF {p}_log FOR VALUES IN (%d)"
                       " WITH (autovacuum_enabled = off)",
                       leaf, leaf);
        fixture_prepare(fixture, text);
    }
    fixture_prepare(fixture, "CREATE INDEX {p}_log_by_id ON {p}_log (id)");
    fixture_prepare(fixture, "CREATE INDEX {p}_log_by_xid ON {p}_log (xid, id)");
    (void)snprintf(text, sizeof text,
                   "UPDATE {p}_meta SET value = '%u' WHERE name = 'segment_bits'", bits);
    fixture_prepare(fixture, text);
}
