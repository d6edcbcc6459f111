/*
 * Signals when replies are lost, when the time is over at the same moment, and when the
 * token is wrong: each counts once, one of two wins, and nobody learns anything.
 */
#include "contract/flow/peer.h"
#include "contract/flow/reconcile/reconciler_fixture.h"
#include "contract/flow/wait/suspended.h"
#include "kit/outbox/outbox_fixture.h"

static int64_t stored(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_signal");
}

static enum weir_status send(struct weir_executions *executions,
                             const struct weir_signal *signal,
                             enum weir_signal_effect *effect)
{
    struct weir_error error;

    return weir_execution_signal(executions, signal, effect, &error);
}

/* ---- lost replies ------------------------------------------------------------------ */

/* Those that suffice, and those that are kept. */
FLOW_TEST(signal, whose_reply_was_lost_counts_once_however_often_it_is_repeated)
{
    static const struct {
        const char *until, *state;
    } CASES[] = {{"ok@a", "resumable"}, {"2 of signals ok@a", "suspended"}};
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer world;

    peer_open(&world, fixture);
    for (size_t i = 0; i < 2; i++) {
        enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;
        struct weir_signal signal;
        struct wait wait;

        wait_open(&wait, fixture, executions, CASES[i].until);
        signal = wait_signal(&wait, 0, "ok");
        signal.key = "once";
        weir_fault_points_arm_once(&world.points, "db.lose_after_commit", 1);
        check_status(send(world.executions, &signal, &effect), WEIR_IN_DOUBT);
        check_int(effect, WEIR_SIGNAL_EFFECT_COUNT); /* nothing was said */
        check_status(send(world.executions, &signal, &effect), WEIR_OK);
        check_int(effect, WEIR_SIGNAL_DUPLICATE);
        check_str(flow_fixture_state(fixture, executions, &wait.id), CASES[i].state);
        check_str(wait_signals(&wait, fixture).text, "a:ok");
        check_db(weir_execution_cancel(executions, &wait.id, "done", &fixture->error),
                 WEIR_OK);
    }
    peer_close(&world);
    weir_executions_destroy(executions);
}

/* Lost at each call that it makes. It is tried again by itself, or by whoever sent it. */
FLOW_TEST(signal, that_loses_its_connection_at_any_call_counts_once)
{
    enum { FAULT = 1 };
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer world;
    bool came = true;

    peer_open(&world, fixture);
    for (uint64_t at = 1; came; at++) {
        enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;
        struct weir_signal signal;
        struct wait wait;

        wait_open(&wait, fixture, executions, "ok@a");
        signal = wait_signal(&wait, 0, "ok");
        signal.key = "once";
        weir_fault_points_arm_once(&world.points, "db.lose", at);
        if (send(world.executions, &signal, &effect) != WEIR_OK)
            check_status(send(world.executions, &signal, &effect), WEIR_OK);
        came = atomic_load(&world.points.armed[FAULT].passed) >= at;
        check_str(flow_fixture_state(fixture, executions, &wait.id), "resumable");
        check_str(wait_signals(&wait, fixture).text, "a:ok");
        check_db(weir_execution_cancel(executions, &wait.id, "done", &fixture->error),
                 WEIR_OK);
    }
    peer_close(&world);
    weir_executions_destroy(executions);
}

/* ---- first tries ------------------------------------------------------------------- */

/* The first try of a suspension loses its connection when its waitpoints are made;
 * before the second, what it waits for has come to a waitpoint that was there. */
struct second_thought {
    struct wait *wait;
    struct weir_executions *executions; /* another process's */
    enum { PARKS, LOSES, IS_TOLD, GOES_ON } step;
    enum weir_signal_effect effect;
};

static bool think_twice(void *argument, const char *name)
{
    struct second_thought *self = argument;

    if (strcmp(name, "open suspension") == 0 && self->step == PARKS)
        self->step = LOSES;
    if (strcmp(name, "db.lose") != 0)
        return false;
    if (self->step == LOSES) {
        self->step = IS_TOLD;
        return true;
    }
    if (self->step == IS_TOLD) {
        struct weir_signal signal = wait_signal(self->wait, 0, "ok");

        self->step = GOES_ON;
        check_status(send(self->executions, &signal, &self->effect), WEIR_OK);
    }
    return false;
}

FLOW_TEST(suspension, that_is_tried_again_tells_nothing_of_its_first_try)
{
    static const uint8_t NO_UUID[WEIR_UUID_SIZE];
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct second_thought thought = {.executions = executions};
    struct peer worker;
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    wait.options.waitpoint_count = 2;
    check_db(weir_execution_waitpoint(executions, &wait.claim, &wait.waitpoints[0], 60000,
                                      NULL, &fixture->error),
             WEIR_OK);
    thought.wait = &wait;
    peer_open(&worker, fixture);
    weir_fault_points_set_oracle(&worker.points, think_twice, &thought);
    wait.executions = worker.executions;
    check(wait_suspend(&wait, fixture, "1 of signals ok@(a, b)"));
    check_int(thought.step, GOES_ON);
    check_int(thought.effect, WEIR_SIGNAL_BUFFERED);
    check_str(wait.waitpoints[1].token, ""); /* it was never made */
    check(memcmp(wait.waitpoints[1].uuid, NO_UUID, WEIR_UUID_SIZE) == 0);
    check_str(wait_waitpoints(&wait, fixture).text, "a:closed");
    flow_fixture_settle(fixture, executions, &wait.claim, WEIR_SETTLE_COMPLETE);
    peer_close(&worker);
    weir_executions_destroy(executions);
}

static enum weir_status suspend_on_it(struct weir_executions *executions, void *argument,
                                      struct weir_error *error)
{
    struct wait *wait = argument;
    bool satisfied = false;

    return weir_execution_suspend(executions, &wait->claim, &wait->options, &satisfied,
                                  NULL, error);
}

/* It expires between the look at it and the suspension, and is gone: nobody could ever
 * signal it. (On SQLite nobody else writes meanwhile.) */
FLOW_POSTGRESQL_TEST(suspension, on_a_waitpoint_that_is_removed_meanwhile_is_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer worker;
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    wait.options.waitpoint_count = 1;
    wait.options.until = "ok@a";
    check_db(weir_execution_waitpoint(executions, &wait.claim, &wait.waitpoints[0], 60000,
                                      NULL, &fixture->error),
             WEIR_OK);
    peer_open(&worker, fixture);
    weir_fault_points_arm_call(&worker.points, "set waitpoint", 1, peer_stop_here,
                               &worker);
    peer_begin(&worker, suspend_on_it, &wait);
    peer_await(&worker);
    fixture_prepare(fixture, "DELETE FROM {p}_waitpoint");
    peer_go(&worker);
    check_status(peer_end(&worker), WEIR_NOT_FOUND);
    check_str(flow_fixture_state(fixture, executions, &wait.id), "active");
    peer_close(&worker);
    weir_executions_destroy(executions);
}

/* ---- the timeout ------------------------------------------------------------------- */

enum { RACES = 30 };

struct racer {
    struct wait waits[RACES];
    enum weir_signal_effect effects[RACES];
    struct weir_executions *executions;
    pthread_barrier_t start;
};

static void *signal_all(void *argument)
{
    struct racer *self = argument;

    (void)pthread_barrier_wait(&self->start);
    for (int i = 0; i < RACES; i++) {
        struct weir_signal signal = wait_signal(&self->waits[i], 0, "ok");

        check_status(send(self->executions, &signal, &self->effects[i]), WEIR_OK);
    }
    return NULL;
}

/* From the other end. */
FLOW_TEST(signal, and_timeout_have_one_winner)
{
    static struct racer racer;
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer world;
    struct reconciler_fixture reconciler_fixture;
    pthread_t thread;
    int won = 0;

    peer_open(&world, fixture);
    racer = (struct racer){.executions = world.executions};
    for (int i = 0; i < RACES; i++) {
        wait_claim(&racer.waits[i], fixture, executions);
        racer.waits[i].options.timeout_ms = 1;
        racer.waits[i].options.on_timeout = WEIR_TIMEOUT_EXPIRE;
        check(!wait_suspend(&racer.waits[i], fixture, "ok@a"));
    }
    reconciler_fixture_open(&reconciler_fixture, fixture,
                            WEIR_RECONCILER_SUSPENSION_TIMEOUT);
    fixture_prepare(fixture, "UPDATE {p}_execution SET due_us = due_us + 1000000000"
                             " WHERE state = 5 AND no % 2 = 0");
    check_int(pthread_barrier_init(&racer.start, NULL, 2), 0);
    check_int(pthread_create(&thread, NULL, signal_all, &racer), 0);
    (void)pthread_barrier_wait(&racer.start);
    check_status(reconciler_fixture_tick(&reconciler_fixture), WEIR_OK);
    check_int(pthread_join(thread, NULL), 0);
    for (int i = 0; i < RACES; i++) {
        const char *state = flow_fixture_state(fixture, executions, &racer.waits[i].id);

        if (racer.effects[i] == WEIR_SIGNAL_RESUMED) {
            check_str(state, "resumable");
            won++;
        } else {
            check_int(racer.effects[i], WEIR_SIGNAL_LATE);
            check_str(state, "expired");
        }
    }
    check_int(won + (int)reconciler_fixture.report.processed, RACES);
    (void)pthread_barrier_destroy(&racer.start);
    reconciler_fixture_close(&reconciler_fixture);
    peer_close(&world);
    weir_executions_destroy(executions);
}

/* ---- who is told ------------------------------------------------------------------- */

/* "kept, resumed": the types of events, in their order. */
struct hearer {
    char text[128];
    _Atomic int count;
};

static enum weir_outcome hear(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    struct hearer *self = state;
    size_t size = strlen(self->text);

    (void)context;
    (void)reason;
    (void)snprintf(self->text + size, sizeof self->text - size, "%s%s",
                   size > 0 ? ", " : "", message->type);
    atomic_fetch_add(&self->count, 1);
    return WEIR_DONE;
}

/* Those that came before, or too late, are no news. */
FLOW_TEST(events, of_signals_say_what_each_has_done_and_come_once)
{
    struct hearer hearer = {.text = ""};
    struct weir_handler_options handler;
    struct weir_outbox *outbox = supervisor_fixture_make_outbox(fixture, fixture->db);
    struct weir_executions *executions =
        flow_fixture_open_with(fixture, fixture->db, outbox);
    struct weir_signal signal;
    struct wait wait;

    weir_handler_options_init(&handler);
    handler.queue = "execution.signal";
    handler.on_message = hear;
    handler.state = &hearer;
    check_db(weir_outbox_add_handler(outbox, &handler, &fixture->error), WEIR_OK);
    check_db(weir_outbox_start(outbox, &fixture->error), WEIR_OK);
    wait_open(&wait, fixture, executions, "2 of signals ok@a");
    signal = wait_signal(&wait, 0, "ok");
    signal.key = "once";
    check_str(wait_tell(&wait, fixture, 1, "veto"), "ignored");
    check_str(wait_send(&wait, fixture, &signal), "kept");
    check_str(wait_send(&wait, fixture, &signal), "duplicate");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "late");
    wait_until(atomic_load(&hearer.count) >= 3);
    check_int(weir_outbox_stop(outbox, WEIR_SECONDS(60)), 0);
    check_str(hearer.text, "ignored, kept, resumed");
    weir_executions_destroy(executions);
    weir_outbox_destroy(outbox);
}

/* ---- what has ended ---------------------------------------------------------------- */

static void end_it(struct wait *wait, struct fixture *fixture, const char *state)
{
    if (strcmp(state, "completed") == 0)
        flow_fixture_settle(fixture, wait->executions, &wait->claim,
                            WEIR_SETTLE_COMPLETE);
    else if (strcmp(state, "failed") == 0)
        flow_fixture_settle(fixture, wait->executions, &wait->claim, WEIR_SETTLE_FAIL);
    else if (strcmp(state, "cancelled") == 0)
        check_db(
            weir_execution_cancel(wait->executions, &wait->id, "no", &fixture->error),
            WEIR_OK);
    else /* of which there is no way while it has a waitpoint */
        fixture_prepare(fixture,
                        strcmp(state, "expired") == 0
                            ? "UPDATE {p}_execution SET state = 13, lease_us = 0,"
                              " ended_us = 1 WHERE state = 4"
                            : "UPDATE {p}_execution SET state = 14, lease_us = 0,"
                              " ended_us = 1 WHERE state = 4");
}

/* The waitpoint was made, and nobody has suspended on it: it is not closed by the end. */
FLOW_TEST(signal, revives_nothing_that_has_ended_in_whatever_way)
{
    static const char *const STATES[] = {"completed", "failed", "cancelled", "expired",
                                         "skipped"};
    struct weir_executions *executions = flow_fixture_open(fixture);

    for (size_t i = 0; i < sizeof STATES / sizeof STATES[0]; i++) {
        struct weir_signal signal;
        struct wait wait;

        wait_claim(&wait, fixture, executions);
        check_db(weir_execution_waitpoint(executions, &wait.claim, &wait.waitpoints[0],
                                          60000, NULL, &fixture->error),
                 WEIR_OK);
        end_it(&wait, fixture, STATES[i]);
        check_str(flow_fixture_state(fixture, executions, &wait.id), STATES[i]);
        check_str(wait_tell(&wait, fixture, 0, "ok"), "late");
        check_str(flow_fixture_state(fixture, executions, &wait.id), STATES[i]);
        signal = wait_signal(&wait, 0, "ok");
        check_db(weir_execution_approve(executions, &wait.id, "a", &signal,
                                        &(enum weir_signal_effect){0}, &fixture->error),
                 WEIR_OK);
        check_db(weir_execution_resume(executions, &wait.id, 0, &fixture->error),
                 WEIR_MISMATCH);
        check_str(flow_fixture_state(fixture, executions, &wait.id), STATES[i]);
        check_int(stored(fixture), 0);
    }
    weir_executions_destroy(executions);
}

/* ---- tokens ------------------------------------------------------------------------ */

/* Everything that is written to the log, of any level. */
struct journal {
    pthread_mutex_t lock;
    char text[65536];
    size_t size;
};

static void write_down(void *state, enum weir_log_level level, const char *line)
{
    struct journal *self = state;

    (void)level;
    (void)pthread_mutex_lock(&self->lock);
    self->size += (size_t)snprintf(self->text + self->size,
                                   sizeof self->text - self->size, "%s\n", line);
    check(self->size < sizeof self->text);
    (void)pthread_mutex_unlock(&self->lock);
}

/* Neither whole nor the part that is secret. */
static void check_secret(const char *text, const char *token)
{
    check(strstr(text, token) == NULL);
    check(strstr(text, strrchr(token, ':') + 1) == NULL);
}

/* Whatever is wrong: of a waitpoint that waits, of one whose execution has ended, of
 * none. */
struct wrong {
    struct weir_signal signal;
    char token[WEIR_TOKEN_TEXT_SIZE];
};

static void check_refused(struct weir_executions *executions,
                          const struct journal *journal, struct wrong *wrong)
{
    enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;
    size_t written = journal->size;
    struct weir_error error;

    wrong->signal.token = wrong->token;
    weir_error_clear(&error);
    check_status(weir_execution_signal(executions, &wrong->signal, &effect, &error),
                 WEIR_DENIED);
    check_str(error.text, "the token is not valid for this waitpoint");
    check_int(error.native_code, 0);
    check_str(error.sqlstate, "");
    check_int(effect, WEIR_SIGNAL_EFFECT_COUNT);
    check_int(journal->size, written); /* and not a line about it */
}

static struct wrong altered(const struct wait *wait)
{
    struct wrong wrong = {.signal = wait_signal(wait, 0, "ok")};

    (void)snprintf(wrong.token, sizeof wrong.token, "%s", wait->waitpoints[0].token);
    return wrong;
}

FLOW_TEST(token, that_is_refused_is_so_in_the_same_words_and_nothing_is_written)
{
    static struct journal journal = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct weir_db_options options = fixture_options(fixture);
    struct wait waiting, over;
    struct weir_executions *executions;
    struct weir_db *db;

    journal.size = 0;
    journal.text[0] = '\0';
    options.log = (struct weir_log){
        .write = write_down, .state = &journal, .minimum = WEIR_LOG_TRACE};
    db = fixture_open(fixture, &options);
    executions = flow_fixture_open_with(fixture, db, NULL);
    wait_open(&over, fixture, executions, "ok@a");
    check_db(weir_execution_cancel(executions, &over.id, "no", &fixture->error), WEIR_OK);
    wait_open(&waiting, fixture, executions, "9 of signals ok@a");

    for (int ended = 0; ended < 2; ended++) {
        const struct wait *wait = ended ? &over : &waiting;
        struct wrong wrong;

        for (size_t i = 0; i < strlen(wait->waitpoints[0].token); i++) {
            wrong = altered(wait);
            wrong.token[i] ^= 1;
            check_refused(executions, &journal, &wrong);
        }
        wrong = altered(wait);
        wrong.token[strlen(wrong.token) - 1] = '\0'; /* too short */
        check_refused(executions, &journal, &wrong);
        wrong = altered(wait);
        wrong.signal.waitpoint[0] ^= 1; /* there is none */
        check_refused(executions, &journal, &wrong);
        wrong = altered(wait);
        wrong.signal.id.uuid[0] ^= 1;
        check_refused(executions, &journal, &wrong);
        wrong = altered(wait);
        memcpy(wrong.signal.waitpoint, wait->waitpoints[1].uuid, WEIR_UUID_SIZE);
        check_refused(executions, &journal, &wrong); /* of another waitpoint */
    }
    check_db(weir_executions_rotate_key(executions, "k2", NULL, 0, &fixture->error),
             WEIR_OK);
    for (int ended = 0; ended < 2; ended++) {
        struct wrong wrong = altered(ended ? &over : &waiting);

        check_refused(executions, &journal, &wrong); /* was good before */
    }
    check_int(stored(fixture), 0);
    check_secret(journal.text, waiting.waitpoints[0].token);
    check_secret(journal.text, over.waitpoints[0].token);
    weir_executions_destroy(executions);
    weir_db_destroy(db);
}

/* A good one is not written either: not to the log, not to the tables, not in an
 * event. */
FLOW_TEST(token, that_is_good_is_written_nowhere)
{
    static struct journal journal = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct weir_db_options options = fixture_options(fixture);
    struct weir_outbox *outbox;
    struct weir_signal signal;
    struct weir_executions *executions;
    struct weir_db *db;
    struct wait wait;
    char sql[512];

    journal.size = 0;
    journal.text[0] = '\0';
    options.log = (struct weir_log){
        .write = write_down, .state = &journal, .minimum = WEIR_LOG_TRACE};
    db = fixture_open(fixture, &options);
    outbox = supervisor_fixture_make_outbox(fixture, db);
    executions = flow_fixture_open_with(fixture, db, outbox);
    wait_open(&wait, fixture, executions, "2 of signals ok@a");
    signal = wait_signal(&wait, 0, "ok");
    signal.payload = "yes";
    signal.payload_size = 3;
    check_str(wait_send(&wait, fixture, &signal), "kept");
    check_str(wait_send(&wait, fixture, &signal), "resumed");
    check_secret(journal.text, wait.waitpoints[0].token);
    (void)snprintf(
        sql, sizeof sql,
        fixture->engine == WEIR_POSTGRESQL
            ? "SELECT (SELECT count(*) FROM weir_log l WHERE l::text LIKE '%%%s%%')"
              " + (SELECT count(*) FROM weir_waitpoint w WHERE w::text LIKE '%%%s%%')"
            : "SELECT (SELECT count(*) FROM weir_log WHERE instr(CAST(payload AS TEXT),"
              " '%s') > 0) + (SELECT count(*) FROM weir_waitpoint"
              " WHERE instr(key_id || name, '%s') > 0)",
        strrchr(wait.waitpoints[0].token, ':') + 1,
        strrchr(wait.waitpoints[0].token, ':') + 1);
    check_int(fixture_ask(fixture, sql), 0);
    weir_executions_destroy(executions);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
}

static enum weir_status cancel(struct weir_executions *executions, void *argument,
                               struct weir_error *error)
{
    return weir_execution_cancel(executions, argument, "no", error);
}

/* Somebody has the execution. Who shows a wrong token does not wait for him: how long
 * an answer takes would tell that it exists. (On SQLite everybody waits for whoever
 * writes, whatever it is about.) */
FLOW_POSTGRESQL_TEST(token, that_is_wrong_waits_for_nobody)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peer operator;
    struct wrong wrong;
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    peer_open(&operator, fixture);
    peer_stand(&operator);
    peer_begin(&operator, cancel, &wait.id);
    peer_await(&operator);
    wrong = altered(&wait);
    wrong.token[strlen(wrong.token) - 1] ^= 1;
    wrong.signal.token = wrong.token;
    check_status(send(executions, &wrong.signal, &(enum weir_signal_effect){0}),
                 WEIR_DENIED);
    check(!atomic_load(&operator.done));
    peer_go(&operator);
    check_status(peer_end(&operator), WEIR_OK);
    check_str(wait_tell(&wait, fixture, 0, "ok"), "late");
    peer_close(&operator);
    weir_executions_destroy(executions);
}
