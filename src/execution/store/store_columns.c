/*
 * store_columns.c - see store_columns.h.
 */
#include "execution/store/store_columns.h"

#include <string.h>

#define I WEIR_TYPE_INTEGER
#define T WEIR_TYPE_TEXT
#define B WEIR_TYPE_BYTES

const enum weir_type weir_new_types[WEIR_NEW_WIDTH] = {B, B, I, I, I, I, I, I, I, I,
                                                       I, I, I, I, I, I, T, T, T};
const enum weir_type weir_key_types[WEIR_KEY_WIDTH] = {T, T, B, I, B, I};
const enum weir_type weir_write_types[WEIR_WRITE_WIDTH] = {
    I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, T, T, T};
const enum weir_type weir_attempt_types[WEIR_ATTEMPT_WIDTH] = {I, I, I, I, I,
                                                               I, I, T, T, T};

const struct weir_sql weir_store_sql_insert_one = {
    .name = "insert execution",
    .text = "INSERT INTO {p}_execution (" WEIR_NEW_COLUMNS ", turn) VALUES ({1}, {2},"
            " {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15},"
            " {16}, {17}, {18}, {19}, {12}) ON CONFLICT (uuid) DO NOTHING"
            " RETURNING no, uuid",
    .parameters = "bbiiiiiiiiiiiiiittt",
};
const struct weir_sql weir_store_sql_input_one = {
    .name = "insert input",
    .text = "INSERT INTO {p}_input (no, bytes) VALUES ({1}, {2})",
    .parameters = "ib",
};
const struct weir_sql weir_store_sql_write_one = {
    .name = "write execution",
    .text = "UPDATE {p}_execution SET state = {2}, hold = {3}, pending = {4},"
            " attempt_type = {5}, priority = {6}, attempts = {7}, retries = {8},"
            " reclaims = {9}, replays = {10}, epoch = {11}, settled_epoch = {12},"
            " due_us = {13}, lease_us = {14}, attempt_deadline_us = {15},"
            " deadline_us = {16}, claimed_us = {17}, started_us = {18}, ended_us = {19},"
            " on_timeout = {20}, settled_as = {21}, turn = {22}, worker = {23},"
            " instance = {24}, failure = {25} WHERE no = {1}",
    .parameters = "iiiiiiiiiiiiiiiiiiiiiittt",
};
const struct weir_sql weir_store_sql_attempt_one = {
    .name = "insert attempt",
    .text = "INSERT INTO {p}_attempt (" WEIR_ATTEMPT_COLUMNS ") VALUES ({1}, {2}, {3},"
            " {4}, {5}, {6}, {7}, {8}, {9}, {10})",
    .parameters = "iiiiiiittt",
};
const struct weir_sql weir_store_sql_result_one = {
    .name = "put result",
    .text = "INSERT INTO {p}_result (no, bytes) VALUES ({1}, {2})"
            " ON CONFLICT (no) DO UPDATE SET bytes = excluded.bytes",
    .parameters = "ib",
};

void weir_new_lay_out(const struct weir_new_execution *item, int64_t now_us,
                      struct weir_value *out, size_t stride)
{
    const struct weir_value values[WEIR_NEW_WIDTH] = {
        weir_bytes(item->id.uuid, WEIR_UUID_SIZE),
        weir_bytes(item->digest, WEIR_DIGEST_SIZE),
        weir_integer(item->id.partition),
        weir_integer(item->state),
        weir_integer(item->hold),
        weir_integer(item->pending),
        weir_integer(item->lane),
        weir_integer(item->capability_set),
        weir_integer(item->policy),
        weir_integer(item->priority),
        weir_integer(item->flow_no),
        weir_integer(now_us),
        weir_integer(item->due_us),
        weir_integer(item->deadline_us),
        weir_integer(item->budgeted),
        weir_integer(item->data_edges),
        weir_text(item->name_space),
        weir_text(item->kind),
        weir_text(item->name),
    };

    for (size_t i = 0; i < WEIR_NEW_WIDTH; i++)
        out[i * stride] = values[i];
}

void weir_key_lay_out(const struct weir_new_execution *item, struct weir_value *out,
                      size_t stride)
{
    const struct weir_value values[WEIR_KEY_WIDTH] = {
        weir_text(item->name_space),
        weir_text(item->key),
        weir_bytes(item->id.uuid, WEIR_UUID_SIZE),
        weir_integer(item->id.partition),
        weir_bytes(item->digest, WEIR_DIGEST_SIZE),
        weir_integer(item->key_until_us),
    };

    for (size_t i = 0; i < WEIR_KEY_WIDTH; i++)
        out[i * stride] = values[i];
}

/* In the order of write_one, and of the arrays in postgres/store.c. */
void weir_write_lay_out(const struct weir_execution_row *row, struct weir_value *out,
                        size_t stride)
{
    const struct weir_value values[WEIR_WRITE_WIDTH] = {
        weir_integer(row->no),
        weir_integer(row->state),
        weir_integer(row->hold),
        weir_integer(row->pending),
        weir_integer(row->attempt_type),
        weir_integer(row->priority),
        weir_integer(row->attempts),
        weir_integer(row->retries),
        weir_integer(row->reclaims),
        weir_integer(row->replays),
        weir_integer(row->epoch),
        weir_integer(row->settled_epoch),
        weir_integer(row->due_us),
        weir_integer(row->lease_us),
        weir_integer(row->attempt_deadline_us),
        weir_integer(row->deadline_us),
        weir_integer(row->claimed_us),
        weir_integer(row->started_us),
        weir_integer(row->ended_us),
        weir_integer(row->on_timeout),
        weir_integer(row->settled_as),
        weir_integer(row->turn),
        weir_text(row->worker),
        weir_text(row->instance),
        weir_text(row->failure),
    };

    for (size_t i = 0; i < WEIR_WRITE_WIDTH; i++)
        out[i * stride] = values[i];
}

void weir_attempt_lay_out(const struct weir_ended_attempt *attempt,
                          struct weir_value *out, size_t stride)
{
    const struct weir_value values[WEIR_ATTEMPT_WIDTH] = {
        weir_integer(attempt->no),       weir_integer(attempt->number),
        weir_integer(attempt->type),     weir_integer(attempt->outcome),
        weir_integer(attempt->epoch),    weir_integer(attempt->started_us),
        weir_integer(attempt->ended_us), weir_text(attempt->worker),
        weir_text(attempt->instance),    weir_text(attempt->failure),
    };

    for (size_t i = 0; i < WEIR_ATTEMPT_WIDTH; i++)
        out[i * stride] = values[i];
}

enum weir_status weir_new_found(struct weir_new_execution *item, struct weir_rows *rows,
                                size_t column, struct weir_error *error)
{
    struct weir_str uuid = weir_rows_bytes(rows, column);
    struct weir_str digest = weir_rows_bytes(rows, column + 2);

    if (uuid.size != WEIR_UUID_SIZE || digest.size != WEIR_DIGEST_SIZE)
        return weir_error_set(
            error, WEIR_SCHEMA,
            "a stored execution has an uuid of size %zu and a digest of "
            "size %zu",
            uuid.size, digest.size);
    item->duplicate = true;
    memcpy(item->stored_id.uuid, uuid.data, WEIR_UUID_SIZE);
    item->stored_id.partition = (uint16_t)weir_rows_integer(rows, column + 1);
    memcpy(item->stored_digest, digest.data, WEIR_DIGEST_SIZE);
    return WEIR_OK;
}
