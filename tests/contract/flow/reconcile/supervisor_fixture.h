/*
 * supervisor_fixture.h - an engine with work in it, and supervisors that look after it,
 * each with a database handle of its own as if it were another process.
 */
#ifndef WEIR_TEST_SUPERVISOR_FIXTURE_H
#define WEIR_TEST_SUPERVISOR_FIXTURE_H

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "execution/executions.h"
#include "kit/execution/flow_engines.h"
#include "weir/execution_supervisor.h"
#include "weir/outbox.h"
#include "weir/scanner.h"

/* Events that were delivered, by type. */
struct supervisor_fixture_news {
    _Atomic int expired;   /* leases */
    _Atomic int reclaimed; /* leases */
    _Atomic int ended;     /* completions, of any outcome */
    _Atomic int ended_expired;
};

struct supervisor_fixture {
    struct fixture *fixture;
    struct weir_outbox *outbox; /* NULL: no events */
    struct weir_executions *executions;
    struct supervisor_fixture_news news;
};

struct patrol {
    struct fixture *fixture;
    struct weir_db *db;
    struct weir_outbox *outbox; /* NULL: no events */
    struct weir_executions *executions;
    struct weir_execution_supervisor_options options;
    struct weir_execution_supervisor *supervisor;
    struct weir_fault_points points; /* of `db` */
};

/* ---- the engine -------------------------------------------------------------------- */

static inline struct weir_executions *
supervisor_fixture_make_flow(struct fixture *fixture, struct weir_db *db,
                             struct weir_outbox *outbox)
{
    struct weir_executions_options options;
    struct weir_executions *executions = NULL;

    weir_executions_options_init(&options);
    options.db = db;
    options.outbox = outbox;
    options.partitions = 16;
    check_db(weir_executions_create(&options, &executions, &fixture->error), WEIR_OK);
    return executions;
}

static inline struct weir_outbox *supervisor_fixture_make_outbox(struct fixture *fixture,
                                                                 struct weir_db *db)
{
    struct weir_outbox_options options;
    struct weir_outbox *outbox = NULL;

    weir_outbox_options_init(&options);
    options.db = db;
    check_db(weir_outbox_create(&options, &outbox, &fixture->error), WEIR_OK);
    return outbox;
}

static inline void supervisor_fixture_open(struct supervisor_fixture *self,
                                           struct fixture *fixture)
{
    *self = (struct supervisor_fixture){
        .fixture = fixture,
        .executions = supervisor_fixture_make_flow(fixture, fixture->db, NULL)};
}

static inline enum weir_outcome
supervisor_fixture_note(struct weir_context *context, void *state,
                        const struct weir_message *message, struct weir_reason *reason)
{
    struct supervisor_fixture_news *news = state;

    (void)context;
    (void)reason;
    if (strcmp(message->queue, "execution.completion") == 0) {
        atomic_fetch_add(&news->ended, 1);
        atomic_fetch_add(&news->ended_expired, strcmp(message->type, "expired") == 0);
    } else {
        atomic_fetch_add(&news->expired, strcmp(message->type, "expired") == 0);
        atomic_fetch_add(&news->reclaimed, strcmp(message->type, "reclaimed") == 0);
    }
    return WEIR_DONE;
}

/* The same with somebody who listens to its events. */
static inline void supervisor_fixture_open_with_news(struct supervisor_fixture *self,
                                                     struct fixture *fixture)
{
    static const char *const QUEUES[] = {"execution.completion", "execution.lease"};
    struct weir_outbox *outbox = supervisor_fixture_make_outbox(fixture, fixture->db);

    *self = (struct supervisor_fixture){
        .fixture = fixture,
        .outbox = outbox,
        .executions = supervisor_fixture_make_flow(fixture, fixture->db, outbox)};
    for (int i = 0; i < 2; i++) {
        struct weir_handler_options handler;

        weir_handler_options_init(&handler);
        handler.queue = QUEUES[i];
        handler.on_message = supervisor_fixture_note;
        handler.state = &self->news;
        check_db(weir_outbox_add_handler(outbox, &handler, &fixture->error), WEIR_OK);
    }
    check_db(weir_outbox_start(outbox, &fixture->error), WEIR_OK);
}

static inline void supervisor_fixture_close(struct supervisor_fixture *self)
{
    if (self->outbox != NULL)
        check_int(weir_outbox_stop(self->outbox, WEIR_SECONDS(60)), 0);
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
}

/* Does it hear of what others commit? */
static inline bool supervisor_fixture_is_listening(struct weir_executions *executions)
{
    struct weir_wake_info info = {.listening = false};

    weir_lock_acquire(&executions->lock);
    if (executions->wake != NULL)
        weir_wake_read(executions->wake, &info);
    weir_lock_release(&executions->lock);
    return info.listening;
}

/* ---- its work ---------------------------------------------------------------------- */

/* In the lane "orders", with this policy. */
static inline struct weir_execution_draft
supervisor_fixture_draft(const struct weir_execution_policy *policy)
{
    return (struct weir_execution_draft){
        .lane = "orders", .kind = "mail", .policy = policy};
}

static inline struct weir_execution_policy supervisor_fixture_policy(void)
{
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    policy.backoff = WEIR_RETRY_FIXED;
    policy.backoff_initial_ms = 1;
    return policy;
}

static inline struct weir_execution_id
supervisor_fixture_submit(struct supervisor_fixture *self,
                          const struct weir_execution_draft *draft)
{
    struct fixture *fixture = self->fixture;
    struct weir_submission submission;

    check_db(weir_execution_submit(self->executions, NULL, draft, 1, &submission,
                                   &fixture->error),
             WEIR_OK);
    return submission.id;
}

/* A claim that lasts as short as a test wants: weir_execution_claim() gives a second at
 * least. */
struct supervisor_fixture_claiming {
    struct supervisor_fixture *supervisor_fixture;
    int64_t lane;
    int64_t ttl_us;
    size_t count;
    struct weir_claim *out;
    size_t claimed;
    struct weir_pending_wakeups pending_wakeups;
};

static inline enum weir_status
supervisor_fixture_claim_body(struct weir_connection *connection, void *argument,
                              struct weir_error *error)
{
    struct supervisor_fixture_claiming *self = argument;
    struct weir_executions *executions = self->supervisor_fixture->executions;
    const struct weir_claimant claimant = {weir_str("pool"), weir_str("worker-1"),
                                           self->ttl_us};
    const int64_t capability_set = 0;
    const struct weir_ready_query query = {
        &self->lane, 1, &capability_set, 1, self->count, false, NULL};
    struct weir_change *changes =
        weir_heap_zalloc_array(executions->heap, self->count, sizeof *changes);
    struct weir_execution_records records;
    int64_t now_us = 0;
    enum weir_status status = weir_connection_clock(connection, &now_us, error);

    check(changes != NULL);
    weir_execution_records_init(&records, executions->heap, self->count);
    if (status == WEIR_OK)
        status = weir_store_pick_ready(&executions->store, connection, &query, &records,
                                       error);
    for (size_t i = 0; i < records.count && status == WEIR_OK; i++) {
        struct weir_execution_row *row = &records.rows[i].row;

        changes[i].stored = &records.rows[i];
        check_int(weir_rule_claim(row, &claimant, now_us, &changes[i].consequence),
                  WEIR_RULING_DONE);
        self->out[i] = (struct weir_claim){row->id, row->no, row->epoch};
    }
    self->claimed = records.count;
    if (status == WEIR_OK)
        status = weir_change_set_store(executions, connection, changes, records.count,
                                       now_us, &self->pending_wakeups, error);
    weir_execution_records_fini(&records);
    weir_heap_free(executions->heap, changes);
    return status;
}

/* Whatever is ready, up to `count`; returns how many. */
static inline size_t supervisor_fixture_claim(struct supervisor_fixture *self,
                                              int64_t ttl_us, struct weir_claim *out,
                                              size_t count)
{
    struct fixture *fixture = self->fixture;
    struct supervisor_fixture_claiming claiming = {
        .supervisor_fixture = self, .ttl_us = ttl_us, .count = count, .out = out};
    struct weir_connection *connection = fixture_take(fixture);

    check_db(weir_dictionary_number(self->executions->dictionary, connection,
                                    WEIR_TERM_LANE, weir_str("orders"), &claiming.lane,
                                    &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    check_db(weir_transact(fixture->db, supervisor_fixture_claim_body, &claiming,
                           &fixture->error),
             WEIR_OK);
    weir_pending_wakeups_send(self->executions, &claiming.pending_wakeups);
    return claiming.claimed;
}

/* One that is ready, or will be soon. */
static inline struct weir_claim
supervisor_fixture_claim_one(struct supervisor_fixture *self, int64_t ttl_us)
{
    struct weir_claim claim;

    wait_until(supervisor_fixture_claim(self, ttl_us, &claim, 1) == 1);
    return claim;
}

/* Submit one and claim it. */
static inline struct weir_claim
supervisor_fixture_employ(struct supervisor_fixture *self,
                          const struct weir_execution_draft *draft, int64_t ttl_us)
{
    (void)supervisor_fixture_submit(self, draft);
    return supervisor_fixture_claim_one(self, ttl_us);
}

static inline enum weir_status supervisor_fixture_settle(struct supervisor_fixture *self,
                                                         const struct weir_claim *claim,
                                                         enum weir_settle verb)
{
    struct fixture *fixture = self->fixture;
    struct weir_settlement settlement = {
        .claim = *claim, .verb = verb, .reason = "it broke"};

    check_db(weir_execution_settle(self->executions, &settlement, 1, &fixture->error),
             WEIR_OK);
    return settlement.status;
}

/* ---- what has become of it --------------------------------------------------------- */

/* Texts are not to be looked at, but for the failure. */
struct supervisor_fixture_view {
    struct weir_execution_info info;
    char failure[WEIR_FAILURE_SIZE_MAX + 1];
};

static inline void supervisor_fixture_see(void *state,
                                          const struct weir_execution_info *info)
{
    struct supervisor_fixture_view *view = state;

    view->info = *info;
    (void)snprintf(view->failure, sizeof view->failure, "%s", info->failure);
}

static inline struct supervisor_fixture_view
supervisor_fixture_look(struct supervisor_fixture *self,
                        const struct weir_execution_id *id)
{
    struct fixture *fixture = self->fixture;
    struct supervisor_fixture_view view;

    check_db(weir_execution_get(self->executions, id, supervisor_fixture_see, &view,
                                &fixture->error),
             WEIR_OK);
    return view;
}

static inline enum weir_public_state
supervisor_fixture_state(struct supervisor_fixture *self,
                         const struct weir_execution_id *id)
{
    return supervisor_fixture_look(self, id).info.state;
}

/* Of the attempts that have ended: how many, and the last of them. */
struct supervisor_fixture_attempts {
    int ended;
    int32_t number;
    enum weir_attempt_outcome outcome;
};

static inline void supervisor_fixture_see_attempt(void *state,
                                                  const struct weir_attempt_info *info)
{
    struct supervisor_fixture_attempts *attempts = state;

    if (info->outcome == WEIR_OUTCOME_RUNNING)
        return;
    check_int(info->number, attempts->ended); /* without gap */
    attempts->ended++;
    attempts->number = info->number;
    attempts->outcome = info->outcome;
}

static inline struct supervisor_fixture_attempts
supervisor_fixture_attempts(struct supervisor_fixture *self,
                            const struct weir_execution_id *id)
{
    struct fixture *fixture = self->fixture;
    struct supervisor_fixture_attempts attempts = {.number = -1};

    check_db(weir_execution_attempts(self->executions, id, supervisor_fixture_see_attempt,
                                     &attempts, &fixture->error),
             WEIR_OK);
    return attempts;
}

/* ---- supervisors ------------------------------------------------------------------- */

/* Not created yet: options and points may be set. Each reconciler looks every 100 ms. */
static inline void patrol_init(struct patrol *self, struct fixture *fixture)
{
    struct weir_db_options options = fixture_options(fixture);

    *self = (struct patrol){.fixture = fixture, .db = fixture_open(fixture, &options)};
    weir_fault_points_init(&self->points);
    weir_db_set_fault_points(self->db, &self->points);
    weir_execution_supervisor_options_init(&self->options);
    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        self->options.interval_ms[i] = 100;
}

static inline void patrol_make(struct patrol *self)
{
    struct fixture *fixture = self->fixture;

    self->executions = supervisor_fixture_make_flow(fixture, self->db, self->outbox);
    self->options.executions = self->executions;
    check_db(weir_execution_supervisor_create(&self->options, &self->supervisor,
                                              &fixture->error),
             WEIR_OK);
}

static inline void patrol_start(struct patrol *self)
{
    struct fixture *fixture = self->fixture;

    patrol_make(self);
    check_db(weir_execution_supervisor_start(self->supervisor, &fixture->error), WEIR_OK);
}

static inline void patrol_open(struct patrol *self, struct fixture *fixture)
{
    patrol_init(self, fixture);
    patrol_start(self);
}

/* The same, and it tells what it does. */
static inline void patrol_open_with_news(struct patrol *self, struct fixture *fixture)
{
    patrol_init(self, fixture);
    self->outbox = supervisor_fixture_make_outbox(fixture, self->db);
    patrol_start(self);
}

static inline void patrol_close(struct patrol *self)
{
    if (self->supervisor != NULL)
        check_int(weir_execution_supervisor_stop(self->supervisor, WEIR_SECONDS(60)), 0);
    weir_execution_supervisor_destroy(self->supervisor);
    weir_executions_destroy(self->executions);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
}

static inline struct weir_scan_info patrol_scan(struct patrol *self,
                                                enum weir_reconciler which)
{
    struct weir_scan_info infos[WEIR_RECONCILER_COUNT];
    size_t count =
        weir_execution_supervisor_read(self->supervisor, infos, WEIR_RECONCILER_COUNT);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(infos[i].name, weir_reconciler_name(which)) == 0)
            return infos[i];
    }
    weir_test_fail(__FILE__, __LINE__, "no scan %s", weir_reconciler_name(which));
}

/* Until it has looked again, from the beginning to the end. */
static inline void patrol_wait(struct patrol *self, enum weir_reconciler which)
{
    uint64_t cycles = patrol_scan(self, which).cycles;

    wait_until(patrol_scan(self, which).cycles >= cycles + 2);
}

static inline uint64_t patrol_polls(struct patrol *self)
{
    struct weir_wake_info info;

    weir_wake_read(self->executions->wake, &info);
    return info.polls;
}

/* On PostgreSQL it is attentive at first, as long as somebody may have told something
 * before it listened; and after each word, since whoever has spoken says nothing more
 * for a while. */
static inline void patrol_wait_until_calm(struct patrol *self)
{
    uint64_t before;

    wait_until(supervisor_fixture_is_listening(self->executions));
    before = patrol_polls(self);
    if (self->fixture->engine == WEIR_POSTGRESQL)
        wait_until(patrol_polls(self) >= before + 2);
}

#endif
