/*
 * flow_load.c - see flow_load.h.
 */
#include "lib/flow_load.h"

#include <stdlib.h>
#include <string.h>

#include "lib/must.h"

void bench_flow_load_begin(struct bench_flow_load *self,
                           struct bench_execution_load *execution_load,
                           size_t member_count, size_t edge_count)
{
    const struct weir_flow_draft draft = {.kind = "cloth"};
    struct weir_error error;

    memset(self, 0, sizeof *self);
    self->execution_load = execution_load;
    self->ids = bench_must_alloc(member_count, sizeof *self->ids);
    self->members = bench_must_alloc(member_count, sizeof *self->members);
    self->edges = bench_must_alloc(edge_count, sizeof *self->edges);
    bench_must_ok(weir_flow_create(execution_load->executions, &draft, &self->id, &error),
                  &error, "create a flow");
    weir_flow_mint(execution_load->executions, &self->id, self->ids, member_count);
}

void bench_flow_load_end(struct bench_flow_load *self)
{
    free(self->ids);
    free(self->members);
    free(self->edges);
}

size_t bench_flow_load_add(struct bench_flow_load *self, const char *lane)
{
    size_t index = self->member_count++;

    self->members[index] = bench_execution_load_draft(lane);
    self->members[index].id = &self->ids[index];
    return index;
}

void bench_flow_load_lead(struct bench_flow_load *self, size_t from, size_t to)
{
    self->edges[self->edge_count++] =
        (struct weir_flow_edge){.from = self->ids[from], .to = self->ids[to]};
}

void bench_flow_load_quorum(struct bench_flow_load *self, size_t to, uint32_t quorum)
{
    self->join = (struct weir_flow_join){.to = self->ids[to],
                                         .policy = WEIR_JOIN_QUORUM,
                                         .quorum = quorum,
                                         .cancel_remaining = true};
    self->join_count = 1;
}

void bench_flow_load_extend(struct bench_flow_load *self)
{
    const struct weir_flow_extension extension = {
        .members = self->members + self->members_sent,
        .member_count = self->member_count - self->members_sent,
        .edges = self->edges + self->edges_sent,
        .edge_count = self->edge_count - self->edges_sent,
        .joins = &self->join,
        .join_count = self->join_count,
        .revision = -1,
    };
    struct weir_error error;

    bench_must_ok(weir_flow_extend(self->execution_load->executions, NULL, &self->id,
                                   &extension, NULL, &error),
                  &error, "extend a flow");
    self->members_sent = self->member_count;
    self->edges_sent = self->edge_count;
    self->join_count = 0;
}

static void take_info(void *state, const struct weir_flow_info *info)
{
    *(struct weir_flow_info *)state = *info;
}

static struct weir_flow_info read_info(struct bench_flow_load *self)
{
    struct weir_flow_info info;
    struct weir_error error;

    bench_must_ok(weir_flow_get(self->execution_load->executions, &self->id, take_info,
                                &info, &error),
                  &error, "read a flow");
    return info;
}

uint32_t bench_flow_load_count(struct bench_flow_load *self, enum weir_public_state state)
{
    return read_info(self).in_state[state];
}

enum weir_flow_state bench_flow_load_state(struct bench_flow_load *self)
{
    return read_info(self).state;
}
