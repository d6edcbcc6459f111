/*
 * The tables of the outbox: made once, and again without harm.
 */
#include "kit/outbox/outbox_engines.h"
#include "outbox/schema.h"

OUTBOX_TEST(schema, migrates_again_without_change)
{
    uint32_t from = 0;
    uint32_t to = 0;

    check_db(weir_schema_migrate(&weir_outbox_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);

    check_int(from, weir_outbox_schema.count);
    check_int(to, weir_outbox_schema.count);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_log"), 0);
}

OUTBOX_POSTGRESQL_TEST(schema, can_have_small_segments)
{
    outbox_small_segments(fixture, 9);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM pg_inherits"
                                   " WHERE inhparent = 'weir_log'::regclass"),
              8);
}
