/*
 * identity.c - see identity.h.
 */
#include "outbox/postgres/identity.h"

#include "db/row_map.h"
#include "outbox/postgres/copy.h"
#include "outbox/postgres/restore.h"

enum { SEGMENT_BITS_MAX = 40 };

/* By the key of the meta table; one row. */
static const struct weir_sql SQL_META = {
    .name = "read meta",
    .text = "SELECT (SELECT value::bigint FROM {p}_meta WHERE name = 'segment_bits'),"
            " (SELECT value FROM {p}_meta WHERE name = 'identity')," WEIR_IDENTITY_PG,
};

struct meta_row {
    int64_t segment_bits;
    struct weir_str stored; /* identity of the cluster that the tables were made in */
    struct weir_str found;
};

static const struct weir_column META[] = {
    COLUMN(struct meta_row, segment_bits, INTEGER),
    COLUMN(struct meta_row, stored, TEXT),
    COLUMN(struct meta_row, found, TEXT),
};

static enum weir_status judge_meta(const struct meta_row *meta, struct weir_error *error)
{
    if (!weir_str_equal(meta->stored, meta->found))
        return weir_error_set(
            error, WEIR_SCHEMA,
            "the database was restored from another cluster (made in \"%.*s\", this is "
            "\"%.*s\"): run \"weir migrate --restored --yes\" if it is to deliver",
            (int)meta->stored.size, meta->stored.data, (int)meta->found.size,
            meta->found.data);
    if (meta->segment_bits < 1 || meta->segment_bits > SEGMENT_BITS_MAX)
        return weir_error_set(error, WEIR_SCHEMA,
                              "meta: segment_bits is missing or not from 1 to %d",
                              SEGMENT_BITS_MAX);
    return WEIR_OK;
}

static enum weir_status read_meta(struct weir_connection *connection, uint32_t *bits,
                                  struct weir_error *error)
{
    struct weir_rows rows;
    struct meta_row meta;
    enum weir_status status =
        weir_connection_query(connection, &SQL_META, NO_VALUES, &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        status = weir_row_read(&rows, COLUMNS(META), &meta, error);
    if (status == WEIR_OK)
        status = judge_meta(&meta, error);
    if (status == WEIR_OK)
        *bits = (uint32_t)meta.segment_bits;
    weir_rows_close(&rows);
    if (status == WEIR_OK)
        weir_connection_set_verified(connection);
    return status;
}

enum weir_status weir_pg_log_open(struct weir_outbox_log *self,
                                  struct weir_connection *connection,
                                  struct weir_error *error)
{
    return read_meta(connection, &self->segment_bits, error);
}

enum weir_status weir_pg_log_check(struct weir_connection *connection,
                                   struct weir_error *error)
{
    uint32_t bits;

    if (weir_connection_is_verified(connection))
        return WEIR_OK;
    return read_meta(connection, &bits, error);
}

enum weir_status weir_pg_log_vet(struct weir_connection *connection,
                                 struct weir_error *error)
{
    struct weir_pg_hole hole;
    enum weir_status status = weir_pg_hole_read(connection, &hole, error);

    if (status == WEIR_OK && weir_pg_hole_is_there(&hole))
        status = weir_pg_restore_refuse(&hole, error);
    return status;
}
