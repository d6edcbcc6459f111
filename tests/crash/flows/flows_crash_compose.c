/*
 * flows_crash_compose.c - a process that builds flows, one after the other, and cancels
 * some, until it is told to leave, or until it is killed in the middle of one.
 *
 * Ids are noted before anything is sent, so that whoever comes next builds the same
 * flow again, from the beginning: what is there already is fine.
 */
#include <string.h>

#include "crash/flows/flows_crash_shared.h"

enum { MEMBERS_MAX = FLOWS_CRASH_FAN + 2, EDGES_MAX = 2 * FLOWS_CRASH_FAN };

struct composer {
    struct flows_crash *run;
    struct rig_client client;
    struct weir_execution_draft drafts[MEMBERS_MAX];
    char kinds[MEMBERS_MAX][FLOWS_CRASH_NAME_SIZE];
    const char *budgets[MEMBERS_MAX];
    struct weir_flow_edge edges[EDGES_MAX];
    struct weir_flow_join joins[MEMBERS_MAX];
    struct weir_flow_extension extension;
    struct weir_execution_policy policy;
    struct weir_error error;
};

static struct flows_crash_flow *flow_of(struct composer *self, uint32_t number)
{
    return &self->run->shared->flows[number];
}

static const struct weir_execution_id *id_of(struct composer *self, uint32_t executions,
                                             uint32_t member)
{
    return &self->run->shared->members[flow_of(self, executions)->first + member].id;
}

/* ---- what is to be there ----------------------------------------------------------- */

/* As long as there is hope: only workers end it. */
static void init_policy(struct weir_execution_policy *policy)
{
    weir_execution_policy_init(policy);
    policy->retries_max = 2;
    policy->backoff = WEIR_RETRY_FIXED;
    policy->backoff_initial_ms = 20;
    policy->reclaims_max = 100000;
}

static void write_member(struct composer *self, uint32_t executions, uint32_t member)
{
    static const char *const LANES[] = {"north", "south"};
    uint64_t seed = self->run->options->rig.seed;
    struct flows_crash_plan plan = flows_crash_plan(seed, executions, member);
    size_t i = self->extension.member_count++;

    flows_crash_write_kind(seed, executions, member, self->kinds[i]);
    self->drafts[i] = (struct weir_execution_draft){
        .id = id_of(self, executions, member),
        .lane = LANES[member % 2],
        .kind = self->kinds[i],
        .name = self->kinds[i],
        .input = self->kinds[i],
        .input_size = strlen(self->kinds[i]),
        .policy = &self->policy,
    };
    if (plan.budget < 0)
        return;
    self->budgets[i] = FLOWS_CRASH_BUDGET_NAMES[plan.budget];
    self->drafts[i].budgets = &self->budgets[i];
    self->drafts[i].budget_count = 1;
}

static void write_edges(struct composer *self, uint32_t executions, uint32_t to)
{
    uint64_t seed = self->run->options->rig.seed;
    struct weir_flow_extension *extension = &self->extension;
    size_t before = extension->edge_count;
    bool passes_data;

    for (uint32_t from = 0; from < to; from++) {
        if (flows_crash_plan_edge(seed, executions, from, to, &passes_data))
            self->edges[extension->edge_count++] =
                (struct weir_flow_edge){.from = *id_of(self, executions, from),
                                        .to = *id_of(self, executions, to),
                                        .passes_data = passes_data};
    }
    if (extension->edge_count > before &&
        flows_crash_plan_join(seed, executions, to, &self->joins[extension->join_count]))
        self->joins[extension->join_count++].to = *id_of(self, executions, to);
}

/* Members from `begin` on, with the edges that lead to them. */
static void write_extension(struct composer *self, uint32_t executions, uint32_t begin,
                            uint32_t end)
{
    self->extension = (struct weir_flow_extension){.members = self->drafts,
                                                   .edges = self->edges,
                                                   .joins = self->joins,
                                                   .revision = -1};
    for (uint32_t i = begin; i < end; i++) {
        write_member(self, executions, i);
        write_edges(self, executions, i);
    }
}

/* ---- calls ------------------------------------------------------------------------- */

static void answer(struct composer *self, const char *what, enum weir_status status)
{
    if (status != WEIR_OK)
        rig_give_up(&self->run->rig, "%s: %s: %s", what, weir_status_name(status),
                    self->error.text);
}

static void create(struct composer *self, struct flows_crash_flow *executions)
{
    struct weir_flow_draft draft = {.id = &executions->id, .kind = "crash"};
    struct weir_flow_id id;
    enum weir_status status;

    do {
        status = weir_flow_create(self->client.executions, &draft, &id, &self->error);
    } while (flows_crash_again(self->run, &executions->build, status));
    answer(self, "create flow", status);
}

static void extend(struct composer *self, struct flows_crash_flow *executions)
{
    enum weir_status status;

    do {
        status = weir_flow_extend(self->client.executions, NULL, &executions->id,
                                  &self->extension, NULL, &self->error);
    } while (flows_crash_again(self->run, &executions->build, status));
    answer(self, "extend flow", status);
}

/* In one call, or in two, of which the second may come when the first part has ended. */
static void build(struct composer *self, uint32_t number)
{
    struct flows_crash_flow *executions = flow_of(self, number);
    uint32_t half = number % 3 == 0 ? executions->count / 2 : 0;

    flows_crash_begin(&executions->build);
    create(self, executions);
    if (half > 0) {
        write_extension(self, number, 0, half);
        extend(self, executions);
    }
    write_extension(self, number, half, executions->count);
    extend(self, executions);
    if (!atomic_exchange(&executions->build.answered, true))
        atomic_fetch_add(&self->run->shared->built, 1);
}

static void cancel(struct composer *self, uint32_t number,
                   enum weir_flow_cancel_policy policy)
{
    struct flows_crash_flow *executions = flow_of(self, number);
    enum weir_status status;

    flows_crash_begin(&executions->cancel);
    do {
        status = weir_flow_cancel(self->client.executions, &executions->id, policy,
                                  "enough", NULL, &self->error);
    } while (flows_crash_again(self->run, &executions->cancel, status));
    answer(self, "cancel flow", status);
    atomic_store(&executions->cancel.answered, true);
}

/* One that was to be cancelled, at some time or another; one that was is so again. */
static void cancel_one(struct composer *self)
{
    struct flows_crash *run = self->run;
    uint32_t count = atomic_load(&run->shared->flow_count);
    uint32_t number = count - 1 - rig_roll(&run->rig, count < 20 ? count : 20);
    enum weir_flow_cancel_policy policy;

    if (flows_crash_plan_cancel(run->options->rig.seed, number, &policy) &&
        atomic_load(&flow_of(self, number)->build.answered))
        cancel(self, number, policy);
}

/* ---- all of it --------------------------------------------------------------------- */

static void mint(struct composer *self, uint32_t number,
                 struct flows_crash_flow *executions)
{
    struct flows_crash_shared *shared = self->run->shared;
    struct weir_execution_id ids[MEMBERS_MAX];
    uint64_t half = rig_mix(self->run->options->rig.seed ^ number);

    memcpy(executions->id.uuid, &half, sizeof half);
    memset(executions->id.uuid + sizeof half, 0x5a, sizeof half);
    memcpy(executions->id.uuid + sizeof half, &number, sizeof number);
    executions->count = flows_crash_plan_count(self->run->options->rig.seed, number);
    executions->first = atomic_fetch_add(&shared->member_count, executions->count);
    if (executions->first + executions->count > FLOWS_CRASH_MEMBERS_MAX)
        rig_give_up(&self->run->rig, "there is no room for more members");
    weir_flow_mint(self->client.executions, &executions->id, ids, executions->count);
    for (uint32_t i = 0; i < executions->count; i++) {
        shared->members[executions->first + i].executions = number;
        shared->members[executions->first + i].id = ids[i];
    }
}

/* It is in our hands when all that it consists of is noted; a number may be lost, then
 * nothing of it was sent. */
static uint32_t take_next(struct composer *self)
{
    struct flows_crash_shared *shared = self->run->shared;
    uint32_t number = atomic_fetch_add(&shared->flow_count, 1);

    if (number >= FLOWS_CRASH_FLOWS_MAX)
        rig_give_up(&self->run->rig, "there is no room for more flows");
    mint(self, number, flow_of(self, number));
    atomic_store(&shared->hands[self->run->rig.slot], number + 1);
    return number;
}

static void compose_all(struct composer *self)
{
    struct flows_crash *run = self->run;
    struct flows_crash_shared *shared = run->shared;

    while (!rig_must_leave(&run->rig)) {
        if (atomic_load(&shared->built) >= atomic_load(&shared->rig.allowed)) {
            rig_rest_us(5000);
            continue;
        }
        build(self, take_next(self));
        atomic_store(&shared->hands[run->rig.slot], 0);
        if (rig_roll(&run->rig, 2) == 0)
            cancel_one(self);
    }
}

void flows_crash_compose(struct flows_crash *run)
{
    static struct composer self; /* large */
    _Atomic uint32_t *hand = &run->shared->hands[run->rig.slot];
    uint32_t left;

    self.run = run;
    init_policy(&self.policy);
    weir_error_clear(&self.error);
    rig_client_open(&run->rig, &self.client);
    rig_be_ready(&run->rig);
    left = atomic_load(hand);
    if (left > 0)
        build(&self, left - 1);
    atomic_store(hand, 0);
    compose_all(&self);
    rig_client_close(&self.client);
}
