/*
 * flow.c - flows are made, and their members get ids.
 */
#include "weir/flow.h"

#include "db/clock.h"
#include "execution/draft.h"
#include "execution/executions.h"
#include "execution/flow/flow_store.h"

enum { ARENA_SIZE_MAX = 1024 * 1024 };

void weir_flow_prefix(struct weir_error *error, const struct weir_flow_id *id)
{
    char text[WEIR_FLOW_ID_TEXT_SIZE];

    weir_error_prefix(error, "flow %s", weir_flow_id_format(id, text));
}

/* One call. */
struct create_call {
    struct weir_executions *executions;
    struct weir_flow_row row;
    struct weir_arena arena;
};

static enum weir_status found(struct weir_connection *connection, void *argument,
                              struct weir_error *error)
{
    struct create_call *self = argument;
    struct weir_flow_row there;
    bool added = false;
    enum weir_status status =
        weir_connection_clock(connection, &self->row.created_us, error);

    weir_arena_reset(&self->arena);
    if (status == WEIR_OK)
        status = weir_flow_insert(connection, &self->row, &added, error);
    if (status != WEIR_OK || added)
        return status;
    status = weir_flow_find(connection, &self->row.id, WEIR_FLOW_UNLOCKED, &self->arena,
                            &there, error);
    if (status == WEIR_NO_ROW)
        return weir_error_set(error, WEIR_MISMATCH,
                              "one of this id ended long ago, and is being removed");
    if (status == WEIR_OK && (!weir_str_equal(there.kind, self->row.kind) ||
                              !weir_str_equal(there.name_space, self->row.name_space)))
        status = weir_error_set(error, WEIR_MISMATCH,
                                "it is there, of another kind or namespace");
    return status;
}

enum weir_status weir_flow_create(struct weir_executions *self,
                                  const struct weir_flow_draft *draft,
                                  struct weir_flow_id *out, struct weir_error *error)
{
    const char *name_space = draft->name_space != NULL ? draft->name_space : "default";
    /* The rules of an execution's are the same. */
    struct weir_execution_draft like = {
        .lane = "-", .kind = draft->kind, .name_space = name_space};
    struct create_call create_call = {.executions = self};
    struct weir_mint mint;
    enum weir_status status = weir_execution_draft_check(&like, self->partitions, error);

    if (status != WEIR_OK)
        return status;
    weir_mint_init(&mint, weir_clock_wall_us(), weir_clock_random());
    if (draft->id != NULL)
        create_call.row.id = *draft->id;
    else
        weir_mint_uuid(&mint, create_call.row.id.uuid);
    create_call.row.partition = weir_execution_partition(
        create_call.row.id.uuid, WEIR_UUID_SIZE, self->partitions);
    create_call.row.name_space = weir_str(name_space);
    create_call.row.kind = weir_str(draft->kind);
    weir_arena_init(&create_call.arena, self->heap, ARENA_SIZE_MAX);
    status = weir_transact_soon(self->db, found, &create_call, error);
    weir_arena_fini(&create_call.arena);
    if (status == WEIR_OK)
        *out = create_call.row.id;
    else
        weir_flow_prefix(error, &create_call.row.id);
    return status;
}

void weir_flow_mint(struct weir_executions *self, const struct weir_flow_id *flow,
                    struct weir_execution_id *out, size_t count)
{
    uint16_t partition =
        weir_execution_partition(flow->uuid, WEIR_UUID_SIZE, self->partitions);
    struct weir_mint mint;

    weir_mint_init(&mint, weir_clock_wall_us(), weir_clock_random());
    for (size_t i = 0; i < count; i++) {
        weir_mint_uuid(&mint, out[i].uuid);
        out[i].partition = partition;
    }
}
