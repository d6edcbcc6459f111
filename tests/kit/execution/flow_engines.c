/*
 * flow_engines.c - see flow_engines.h.
 */
#include "kit/execution/flow_engines.h"

#include "execution/schema.h"
#include "outbox/schema.h"

static void migrate(struct fixture *fixture)
{
    uint32_t from = 0;
    uint32_t to = 0;

    check_db(weir_schema_migrate(&weir_outbox_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);
    check_db(weir_schema_migrate(&weir_executions_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);
}

/* The outbox knows which database it was made in, and would not deliver from another. */
static void adopt(struct fixture *fixture)
{
    fixture_prepare(fixture, "UPDATE {p}_meta SET value = split_part(value, '/', 1) ||"
                             " '/' || oid FROM pg_database"
                             " WHERE name = 'identity' AND datname = current_database()");
}

void flow_fixture_run(enum weir_engine engine, fixture_fn body)
{
    static const struct fixture_filling FILLING = {"flow_original", migrate, adopt};

    fixture_run_filled(engine, &FILLING, body);
}
