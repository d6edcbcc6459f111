/*
 * producer.c - see producer.h.
 */
#include "outbox/producer.h"

#include <inttypes.h>

#include "base/text.h"
#include "outbox/engine.h"

/* By the key of the meta table. */
static const struct weir_sql SQL_SET_PAYLOAD_MAX = {
    .name = "set payload_max",
    .text = "UPDATE {p}_meta SET value = {1} WHERE name = 'payload_max'",
    .parameters = "t",
};

enum weir_status weir_producer_make(struct weir_db *db, char why[WEIR_PRODUCER_WHY_SIZE],
                                    struct weir_error *error)
{
    const struct weir_outbox_engine *engine = weir_outbox_engine_for(db);

    why[0] = '\0';
    return engine->make_functions != NULL ? engine->make_functions(db, why, error)
                                          : WEIR_OK;
}

enum weir_status weir_producer_set_payload_max(struct weir_connection *connection,
                                               int64_t size_max, struct weir_error *error)
{
    char text[24];

    weir_text_format(text, sizeof text, "%" PRId64, size_max);
    return weir_connection_execute(connection, &SQL_SET_PAYLOAD_MAX,
                                   VALUES(weir_text(weir_str(text))), NULL, error);
}
