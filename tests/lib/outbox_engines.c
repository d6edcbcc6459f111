/*
 * outbox_engines.c - see outbox_engines.h.
 */
#include "lib/outbox_engines.h"

#include <stdio.h>

#include "outbox/schema.h"

static _Thread_local fixture_fn chosen;

static void migrate_and_run(struct fixture *fixture)
{
    uint32_t from = 0;
    uint32_t to = 0;

    check_db(weir_schema_migrate(&weir_outbox_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);
    chosen(fixture);
}

void outbox_fixture_run(enum weir_engine engine, fixture_fn body)
{
    chosen = body;
    fixture_run(engine, migrate_and_run);
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
