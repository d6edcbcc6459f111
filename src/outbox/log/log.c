/*
 * log.c - see log.h.
 *
 * Transaction ids mean nothing in another cluster, and the log's order on PostgreSQL is
 * made of them. So the identity of the cluster is stored with the tables, and a process
 * that opens them elsewhere is stopped before it reads nonsense.
 */
#include "outbox/log/log.h"

#include "outbox/postgres/copy.h"
#include "outbox/postgres/restore.h"
#include "outbox/schema.h"

enum { SEGMENT_BITS_MAX = 40 };

/* By the key of the meta table; one row. */
static const struct weir_sql SQL_META_PG = {
    .name = "read meta",
    .text = "SELECT (SELECT value::bigint FROM {p}_meta WHERE name = 'segment_bits'),"
            " (SELECT value FROM {p}_meta WHERE name = 'identity')," WEIR_IDENTITY_PG,
};

static enum weir_status judge_meta(int64_t bits, struct weir_str stored,
                                   struct weir_str found, struct weir_error *error)
{
    if (!weir_str_equal(stored, found))
        return weir_error_set(
            error, WEIR_SCHEMA,
            "the database was restored from another cluster (made in \"%.*s\", this is "
            "\"%.*s\"): run \"weir migrate --restored --yes\" if it is to deliver",
            (int)stored.size, stored.data, (int)found.size, found.data);
    if (bits < 1 || bits > SEGMENT_BITS_MAX)
        return weir_error_set(error, WEIR_SCHEMA,
                              "meta: segment_bits is missing or not from 1 to %d",
                              SEGMENT_BITS_MAX);
    return WEIR_OK;
}

static enum weir_status read_meta(struct weir_connection *connection, uint32_t *bits,
                                  struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, &SQL_META_PG, NO_VALUES, &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = judge_meta(weir_rows_integer(&rows, 0), weir_rows_text(&rows, 1),
                            weir_rows_text(&rows, 2), error);
    if (status == WEIR_OK)
        *bits = (uint32_t)weir_rows_integer(&rows, 0);
    weir_rows_close(&rows);
    if (status == WEIR_OK)
        weir_connection_set_verified(connection);
    return status;
}

enum weir_status weir_outbox_log_open(struct weir_outbox_log *self,
                                      struct weir_connection *connection,
                                      struct weir_error *error)
{
    enum weir_engine engine = weir_connection_engine(connection);

    *self = (struct weir_outbox_log){.segment_bits = WEIR_LOG_SEGMENT_BITS};
    switch (engine) {
    case WEIR_SQLITE:
        self->ops = &weir_log_sqlite;
        return WEIR_OK;
    case WEIR_POSTGRESQL:
        self->ops = &weir_log_postgresql;
        return read_meta(connection, &self->segment_bits, error);
    case WEIR_MARIADB:
        self->ops = &weir_log_mariadb;
        return WEIR_OK;
    }
    return weir_error_set(error, WEIR_SCHEMA, "the outbox does not work on %s",
                          weir_engine_name(engine));
}

enum weir_status weir_outbox_log_check(const struct weir_outbox_log *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    uint32_t bits;

    if (self->ops != &weir_log_postgresql || weir_connection_is_verified(connection))
        return WEIR_OK;
    return read_meta(connection, &bits, error);
}

enum weir_status weir_outbox_log_vet(const struct weir_outbox_log *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    struct weir_pg_hole hole;
    enum weir_status status = WEIR_OK;

    if (self->ops != &weir_log_postgresql)
        return WEIR_OK;
    status = weir_pg_hole_read(connection, &hole, error);
    if (status == WEIR_OK && weir_pg_hole_is_there(&hole))
        status = weir_pg_restore_refuse(&hole, error);
    return status;
}

enum weir_status weir_log_oldest(const struct weir_outbox_log *self,
                                 struct weir_connection *connection, int64_t queue_id,
                                 struct weir_log_position *out, struct weir_error *error)
{
    return self->ops->start(self, connection, queue_id, false, out, error);
}

enum weir_status weir_log_catch_up(const struct weir_outbox_log *self,
                                   struct weir_connection *connection,
                                   struct weir_log_position *head,
                                   struct weir_error *error)
{
    struct weir_log_position before;
    bool moved = false;
    enum weir_status status =
        self->ops->advance(self, connection, (struct weir_log_position){0, 0}, false,
                           NULL, head, &moved, error);

    do {
        before = *head;
        if (status == WEIR_OK)
            status = self->ops->advance(self, connection, before, true, NULL, head,
                                        &moved, error);
    } while (status == WEIR_OK && moved && self->ops->advance_max > 0 &&
             head->id - before.id >= self->ops->advance_max);
    return status;
}
