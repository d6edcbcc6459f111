/*
 * flow_sim.c - see flow_sim.h.
 */
#include "kit/sim/flow_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kit/db/sqlite_file.h"
#include "kit/sim/flow_sim_private.h"
#include "kit/test.h"
#include "ward/context.h"
#include "weir/scanner.h"

enum { RECONCILERS = WEIR_RECONCILER_COUNT }; /* that run */

#define LOOK_NS WEIR_MILLISECONDS(50)
#define JUMP_US INT64_C(15000000)
#define JUMP_FAR_US                                                                      \
    (INT64_C(25) * 3600 * 1000000) /* beyond what keys of idempotency last */
#define HEAL_MAX_NS WEIR_MINUTES(10)
#define END_MAX_NS WEIR_MINUTES(5)

static bool fine(const struct flow_sim *self)
{
    return self->event_log.violation[0] == '\0';
}

/* ---- what fault points answer ------------------------------------------------------ */

static bool disturb(struct flow_process *who, const char *what)
{
    who->sim->disturbances++;
    event_log_note(&who->sim->event_log, who->name, "%s", what);
    return true;
}

/* In steps: a process that dies meanwhile must leave the database. */
static void wait_long(struct flow_process *who, struct weir_context *context)
{
    int64_t end_ns = weir_context_now(context) + timeline_up_to_ms(&who->sim->time, 2500);

    (void)disturb(who, "waits long for the database");
    while (weir_context_now(context) < end_ns &&
           !sim_process_is_dying(who->life.sim_process))
        weir_sleep_through(context, WEIR_MILLISECONDS(5));
}

/* One more call of the database, or one more reply: is this where the process ends? */
static void count_call(struct flow_process *who)
{
    struct flow_sim *sim = who->sim;
    bool planned = ++sim->db_calls == sim->plan->crash_call;

    if (sim->time.healed || who->life.crash ||
        sim_process_is_dying(who->life.sim_process))
        return;
    if (planned || timeline_happens(&sim->time, FLOW_CRASHES, 500))
        who->life.crash = disturb(who, "crashes at a call of the database");
}

/* A call takes its time, and the process may end there; then it fails, as every call
 * after it until all is cut off. */
static bool decide_call(struct flow_process *who)
{
    struct flow_sim *sim = who->sim;
    struct weir_context *context = weir_context_current();

    if (context == NULL)
        return false;
    count_call(who);
    if (timeline_happens(&sim->time, FLOW_SLOW, 300))
        wait_long(who, context);
    else if (who->life.crash || sim_process_is_dying(who->life.sim_process) ||
             timeline_one_in(&sim->time, 3))
        weir_sleep_through(context, timeline_up_to_ms(&sim->time, 1));
    if (who->life.crash || sim_process_is_dying(who->life.sim_process))
        return true;
    return timeline_happens(&sim->time, FLOW_ERRORS, 200) &&
           disturb(who, "loses a connection");
}

static bool decide_reply(struct flow_process *who)
{
    if (weir_context_current() == NULL)
        return false;
    count_call(who);
    return who->life.crash || (timeline_happens(&who->sim->time, FLOW_DOUBTS, 12) &&
                               disturb(who, "loses a reply"));
}

static bool decide(void *argument, const char *name)
{
    struct flow_process *who = argument;
    struct flow_sim *sim = who->sim;

    if (strncmp(name, "db.", 3) != 0)
        return false;
    if (strcmp(name, "db.lose") == 0)
        return decide_call(who);
    if (strcmp(name, "db.lose_after_commit") == 0)
        return decide_reply(who);
    if (strcmp(name, "db.fail") == 0)
        return timeline_happens(&sim->time, FLOW_ERRORS, 200) &&
               disturb(who, "is refused a call");
    if (strcmp(name, "db.busy") == 0)
        return sim_process_is_dying(who->life.sim_process) ||
               (timeline_happens(&sim->time, FLOW_ERRORS, 30) &&
                disturb(who, "waits for no lock"));
    return false;
}

/* ---- a process --------------------------------------------------------------------- */

static enum weir_status open_flow(struct flow_process *self, struct weir_error *error)
{
    struct weir_outbox_options outbox;
    struct weir_executions_options executions;
    enum weir_status status;

    weir_outbox_options_init(&outbox);
    outbox.db = sim_process_db(self->life.sim_process);
    outbox.executor = sim_process_executor(self->life.sim_process);
    outbox.process_name = self->name;
    outbox.stats_interval_ns = 0;
    status = weir_outbox_create(&outbox, &self->outbox, error);
    if (status != WEIR_OK)
        return status;
    weir_executions_options_init(&executions);
    executions.db = sim_process_db(self->life.sim_process);
    executions.outbox = self->outbox;
    status = weir_executions_create(&executions, &self->executions, error);
    if (status != WEIR_OK) {
        weir_outbox_destroy(self->outbox);
        self->outbox = NULL;
    }
    return status;
}

static struct weir_execution_supervisor *start_supervisor(struct flow_process *self)
{
    struct weir_execution_supervisor_options options;
    struct weir_execution_supervisor *supervisor = NULL;

    weir_execution_supervisor_options_init(&options);
    options.executions = self->executions;
    options.executor = sim_process_executor(self->life.sim_process);
    options.retention_ms = (int64_t)self->sim->plan->retention * 1000;
    options.interval_ms[WEIR_RECONCILER_HOUSEKEEPING] = 2500;
    check_status(weir_execution_supervisor_create(&options, &supervisor, NULL), WEIR_OK);
    check_status(weir_execution_supervisor_start(supervisor, NULL), WEIR_OK);
    return supervisor;
}

static bool others_are_done(const struct flow_process *self)
{
    for (uint32_t i = 1; i < self->actor_count; i++) {
        if (!self->actors[i].done)
            return false;
    }
    return true;
}

/* Each of them waits for its time or is at work, whatever has gone wrong. */
static void check_supervisor(struct flow_process *self,
                             struct weir_execution_supervisor *supervisor)
{
    struct weir_scan_info infos[WEIR_RECONCILER_COUNT];
    size_t count =
        weir_execution_supervisor_read(supervisor, infos, WEIR_RECONCILER_COUNT);

    for (size_t i = 0; i < count; i++) {
        if (infos[i].state != WEIR_SCAN_WAITING && infos[i].state != WEIR_SCAN_TICKING)
            event_log_violate(&self->sim->event_log, "%s of %s is %s", infos[i].name,
                              self->name, weir_scan_state_name(infos[i].state));
    }
    if (count != RECONCILERS)
        event_log_violate(&self->sim->event_log, "%s has %zu reconcilers", self->name,
                          count);
}

static void stop_supervisor(struct flow_process *self,
                            struct weir_execution_supervisor *supervisor)
{
    size_t unfinished;

    if (supervisor == NULL)
        return;
    check_supervisor(self, supervisor);
    unfinished = weir_execution_supervisor_stop(supervisor, WEIR_SECONDS(10));
    if (unfinished != 0)
        event_log_violate(&self->sim->event_log, "%s leaves %zu reconcilers behind",
                          self->name, unfinished);
    weir_execution_supervisor_destroy(supervisor);
}

/* As a program would, it begins anew until that works. */
static void keep(struct flow_actor *actor)
{
    struct flow_process *self = actor->process;
    struct weir_execution_supervisor *supervisor = NULL;
    struct weir_error error;

    while (open_flow(self, &error) != WEIR_OK) {
        event_log_note(&self->sim->event_log, self->name, "%s", error.text);
        weir_sleep_through(actor->context, LOOK_NS);
    }
    event_log_note(&self->sim->event_log, self->name, "runs");
    if (self->supervises)
        supervisor = start_supervisor(self);
    while (!self->sim->ending || !others_are_done(self))
        weir_sleep_through(actor->context, LOOK_NS);
    if (self->serves)
        flow_actor_read_all(actor);
    stop_supervisor(self, supervisor);
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
    self->executions = NULL;
    self->outbox = NULL;
}

static void act(struct flow_actor *actor, uint32_t index)
{
    struct flow_process *self = actor->process;

    while (self->executions == NULL)
        weir_sleep_through(actor->context, WEIR_MILLISECONDS(10));
    if (self->flow_fixture)
        flow_actor_work(actor);
    else if (index <= self->sim->plan->submitters)
        flow_actor_submit(actor);
    else if (index <= self->sim->plan->submitters + self->sim->plan->signallers)
        flow_actor_signal(actor);
    else
        flow_actor_operate(actor);
}

static void live(struct sim_process *sim_process, struct weir_context *context,
                 uint32_t index, void *argument)
{
    struct flow_process *self = argument;
    struct flow_actor *actor = &self->actors[index];

    (void)sim_process;
    actor->context = context;
    if (index == 0)
        keep(actor);
    else
        act(actor, index);
    actor->done = true;
    actor->context = NULL;
}

/* The number of the calling actor's call. SQLite asks, on the fiber that calls. */
static uint32_t tell_call(void *state, int64_t *now_ns)
{
    struct flow_sim *self = state;
    const struct weir_context *context = weir_context_current();

    *now_ns = context != NULL ? weir_context_now(context) : self->time.now_ns;
    for (uint32_t i = 0; context != NULL && i < self->process_count; i++) {
        const struct flow_process *process = &self->processes[i];

        for (uint32_t j = 0; j < process->actor_count; j++) {
            const struct flow_actor *actor = &process->actors[j];

            if (actor->context == context)
                return actor->call != NULL ? actor->call->number : 0;
        }
    }
    return 0;
}

/* ---- processes come and go --------------------------------------------------------- */

static void boot(struct sim_life *life)
{
    struct flow_process *self = (struct flow_process *)life;
    struct flow_sim *sim = self->sim;

    self->life.boot_ns = WEIR_FOREVER;
    for (uint32_t i = 0; i < self->actor_count; i++) {
        struct flow_actor *actor = &self->actors[i];

        *actor = (struct flow_actor){.process = self};
        (void)snprintf(actor->name, sizeof actor->name, "%s.%u", self->name, i);
    }
    self->life.sim_process = sim_process_boot(&(struct sim_process_options){
        .name = self->name,
        .seed = weir_random_next(&sim->time.random),
        .now_ns = sim->time.now_ns,
        .url = sim->url,
        .oracle = decide,
        .oracle_argument = self,
        .main = live,
        .argument = self,
        .mains = self->actor_count,
    });
    sim_process_set_wall_error(self->life.sim_process, sim->error_us);
}

static void crash(struct sim_life *life)
{
    struct flow_process *self = (struct flow_process *)life;
    self->life.crash = false;
    self->life.resume_ns = 0;
    sim_process_crash(self->life.sim_process);
    self->life.sim_process = NULL;
    self->executions = NULL;
    self->outbox = NULL;
    for (uint32_t i = 0; i < self->actor_count; i++) {
        self->actors[i].context = NULL;
        self->actors[i].call = NULL; /* it never gets a reply */
    }
    self->life.boot_ns =
        self->sim->time.now_ns + timeline_up_to_ms(&self->sim->time, 2000);
}

static void end(struct sim_life *life)
{
    struct flow_process *self = (struct flow_process *)life;
    int64_t left = sim_process_end(self->life.sim_process);

    if (left != 0)
        event_log_violate(&self->sim->event_log, "%s has not freed %" PRId64 " blocks",
                          self->name, left);
    self->life.sim_process = NULL;
}

static void resume(struct sim_life *life)
{
    struct flow_process *self = (struct flow_process *)life;
    event_log_note(&self->sim->event_log, self->name, "goes on");
    self->life.resume_ns = 0;
    sim_process_jump(self->life.sim_process, self->sim->time.now_ns);
}

/* ---- time -------------------------------------------------------------------------- */

static void pause_somebody(struct flow_sim *self, struct flow_process *who)
{
    if (who->life.resume_ns != 0)
        return;
    who->life.resume_ns =
        self->time.now_ns +
        timeline_up_to_ms(&self->time, timeline_one_in(&self->time, 2) ? 300 : 5000);
    (void)disturb(who, "stands still");
}

/* All processes are on one machine, so they have one clock. */
static void turn_the_clock(struct flow_sim *self)
{
    if (timeline_one_in(&self->time, 12))
        self->error_us += JUMP_FAR_US;
    else
        self->error_us +=
            (int64_t)timeline_below(&self->time, 2 * (uint32_t)JUMP_US) - JUMP_US;
    flow_model_clock(self->model, self->time.now_ns, self->error_us);
    for (uint32_t i = 0; i < self->process_count; i++) {
        if (self->processes[i].life.sim_process != NULL)
            sim_process_set_wall_error(self->processes[i].life.sim_process,
                                       self->error_us);
    }
    self->disturbances++;
    event_log_note(&self->event_log, "world", "the clock is wrong by %" PRId64 " ms",
                   self->error_us / 1000);
}

/* Something happens to one of the processes. */
static void strike(struct timeline *timeline)
{
    struct flow_sim *self = (struct flow_sim *)timeline;
    struct flow_process *who =
        &self->processes[timeline_below(&self->time, self->process_count)];

    self->time.chaos_ns = self->time.now_ns + timeline_up_to_ms(&self->time, 1500);
    if (timeline_happens(&self->time, FLOW_CLOCKS, 3)) {
        turn_the_clock(self);
    } else if (who->life.sim_process == NULL) {
        return;
    } else if (timeline_happens(&self->time, FLOW_PAUSES, 2)) {
        pause_somebody(self, who);
    } else if (timeline_happens(&self->time, FLOW_CRASHES, 3) &&
               who->life.resume_ns == 0) {
        (void)disturb(who, "crashes");
        crash(&who->life);
    }
}

/* ---- the three phases -------------------------------------------------------------- */

/* M12, at whatever moment. */
static void check_balance(struct flow_sim *self)
{
    if (self->plan->budget != 0 && flow_journal_unbalanced(self->journal) != 0)
        event_log_violate(&self->event_log,
                          "M12: the ledger of a budget and its counters differ");
}

static void live_in_chaos(struct flow_sim *self)
{
    int64_t limit_ns = WEIR_SECONDS(2) + timeline_up_to_ms(&self->time, 5000);
    int64_t look_ns = 0;

    while (fine(self) && timeline_step(&self->time, limit_ns)) {
        if (self->time.now_ns < look_ns)
            continue;
        look_ns = self->time.now_ns + LOOK_NS;
        check_balance(self);
    }
    self->time.now_ns = limit_ns;
}

/* No client submits any more, or replays what has ended. */
static bool clients_are_done(const struct flow_sim *self)
{
    for (uint32_t i = 0; i < self->process_count; i++) {
        const struct flow_process *it = &self->processes[i];

        if (it->serves && (it->life.sim_process == NULL || !others_are_done(it)))
            return false;
    }
    return true;
}

static bool drained(struct flow_sim *self)
{
    return clients_are_done(self) && flow_journal_open_count(self->journal) == 0;
}

static void heal(struct flow_sim *self)
{
    int64_t limit_ns = self->time.now_ns + HEAL_MAX_NS;
    int64_t look_ns = self->time.now_ns;
    bool done = false;

    event_log_note(&self->event_log, "world", "heals");
    timeline_heal(&self->time);
    for (uint32_t i = 0; i < self->time.life_count; i++)
        timeline_revive(&self->time, self->time.lives[i]);
    while (fine(self) && !done && timeline_step(&self->time, limit_ns)) {
        if (self->time.now_ns < look_ns)
            continue;
        look_ns = self->time.now_ns + LOOK_NS;
        check_balance(self);
        done = drained(self);
    }
    if (fine(self) && !done)
        event_log_violate(&self->event_log,
                          "%" PRId64 " executions are stuck long after all is well",
                          flow_journal_open_count(self->journal));
}

static void end_all(struct flow_sim *self)
{
    int64_t limit_ns = self->time.now_ns + END_MAX_NS;

    event_log_note(&self->event_log, "world", "ends");
    self->ending = true;
    while (fine(self) && !timeline_all_ended(&self->time, self->time.life_count) &&
           timeline_step(&self->time, limit_ns))
        ;
    if (fine(self) && !timeline_all_ended(&self->time, self->time.life_count))
        event_log_violate(&self->event_log, "a process does not stop");
    if (fine(self) && flow_journal_orphans(self->journal) != 0)
        event_log_violate(&self->event_log, "M6: something is left of what was removed");
}

/* ---- a whole world ----------------------------------------------------------------- */

static struct flow_process *add_process(struct flow_sim *self, const char *name,
                                        uint32_t number, uint32_t actors)
{
    struct flow_process *process = &self->processes[self->process_count++];

    check(self->process_count <= FLOW_PROCESSES_MAX);
    check(actors <= FLOW_ACTORS_MAX);
    *process = (struct flow_process){.sim = self, .actor_count = actors};
    timeline_add(&self->time, &process->life);
    process->life.boot_ns = timeline_up_to_ms(&self->time, 200);
    (void)snprintf(process->name, sizeof process->name, "%s-%u", name, number);
    return process;
}

static void make_processes(struct flow_sim *self)
{
    const struct flow_plan *plan = self->plan;

    add_process(self, "client", 1,
                1 + plan->submitters + plan->signallers + plan->operators)
        ->serves = true;
    for (uint32_t i = 0; i < plan->workers; i++) {
        struct flow_process *process = add_process(self, "worker", i + 1, 3);

        process->flow_fixture = true;
        process->supervises = plan->together != 0 && i < plan->supervisors;
    }
    for (uint32_t i = 0; i < plan->supervisors; i++) {
        if (plan->together == 0 || i >= plan->workers)
            add_process(self, "super", i + 1, 1)->supervises = true;
    }
}

static void begin(struct flow_sim *self, bool loud)
{
    weir_random_init(&self->time.random, self->plan->seed);
    self->event_log.clock_ns = &self->time.now_ns;
    self->event_log.loud = loud;
    flow_sim_make_drafts(self);
    self->model = flow_model_create(&(struct flow_model_options){
        .event_log = &self->event_log,
        .drafts = self->drafts,
        .draft_count = self->plan->drafts,
        .retention_us = (int64_t)self->plan->retention * 1000000,
        .punctual = (self->plan->faults & ~(1U << FLOW_WORKERS)) == 0 &&
                    self->plan->crash_call == 0,
    });
    (void)snprintf(self->path, sizeof self->path, "%s/f", temp_dir_of_program());
    (void)snprintf(self->url, sizeof self->url, "sqlite:%s", self->path);
    sqlite_file_copy(flow_journal_template(), self->path);
    self->journal = flow_journal_open(self->path, tell_call, self);
    make_processes(self);
}

static void clean_up(struct flow_sim *self)
{
    timeline_cut_off(&self->time);
    flow_journal_close(self->journal);
    sqlite_file_remove(self->path);
    flow_model_destroy(self->model);
}

void flow_sim_run(const struct flow_plan *plan, bool loud, bool tell,
                  struct flow_outcome *out)
{
    static struct flow_sim sim;
    char trouble[EVENT_LOG_TEXT_SIZE];
    bool healed;

    sim = (struct flow_sim){.time = {.faults = plan->faults,
                                     .boot = boot,
                                     .crash = crash,
                                     .end = end,
                                     .resume = resume,
                                     .strike = strike},
                            .plan = plan};
    memset(out, 0, sizeof *out);
    begin(&sim, loud);
    live_in_chaos(&sim);
    if (fine(&sim))
        heal(&sim);
    healed = fine(&sim);
    if (healed)
        end_all(&sim);
    /* Also of a world that has come to nothing: what the model says first says more. */
    memcpy(trouble, sim.event_log.violation, sizeof trouble);
    sim.event_log.violation[0] = '\0';
    flow_journal_walk(sim.journal, sim.model);
    flow_model_judge(sim.model, healed, &out->stats);
    if (trouble[0] != '\0')
        event_log_violate(&sim.event_log, "%s", trouble);
    (void)snprintf(out->violation, sizeof out->violation, "%s", sim.event_log.violation);
    out->fingerprint = sim.event_log.fingerprint;
    out->virtual_ns = sim.time.now_ns;
    out->db_calls = sim.db_calls;
    out->disturbances = sim.disturbances;
    if (tell && !loud && !fine(&sim))
        event_log_print(&sim.event_log);
    clean_up(&sim);
}
