/*
 * Suspensions: what they wait for, who may end them, and how often.
 */
#include <pthread.h>

#include "contract/flow/wait/suspended.h"

/* ---- suspending -------------------------------------------------------------------- */

FLOW_TEST(suspend, parks_it_and_takes_it_from_its_worker)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct flow_fixture_view view;
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    wait.options.reason = WEIR_SUSPEND_APPROVAL;
    check(!wait_suspend(&wait, fixture, "approved@a"));

    view = flow_fixture_see(fixture, executions, &wait.id);
    check_int(view.info.state, WEIR_STATE_SUSPENDED);
    check_str(view.info.blocked_by, "waiting_for_approval");
    check_str(wait_waitpoints(&wait, fixture).text,
              "a:active, b:active, c:active, d:active");
    check_status(
        flow_fixture_say(fixture, executions, &wait.claim, WEIR_SETTLE_FAIL).status,
        WEIR_MISMATCH);
    check_str(flow_fixture_state(fixture, executions, &wait.id),
              "suspended"); /* a lost reply's repeat */
    weir_executions_destroy(executions);
}

FLOW_TEST(suspend, is_refused_to_whoever_does_not_hold_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_execution_status current = {.epoch = 0};
    struct wait wait;
    bool satisfied;

    wait_claim(&wait, fixture, executions);
    wait.options.until = "x@a";
    flow_fixture_let_lease_run_out(fixture);
    check_db(weir_execution_suspend(executions, &wait.claim, &wait.options, &satisfied,
                                    &current, &fixture->error),
             WEIR_FENCED);
    check_int(current.state, WEIR_STATE_ACTIVE);
    check_str(wait_waitpoints(&wait, fixture).text, "");
    weir_executions_destroy(executions);
}

FLOW_TEST(suspend, that_is_repeated_after_a_lost_reply_gives_the_same_tokens)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_waitpoint before[4];
    struct wait wait;

    wait_open(&wait, fixture, executions, "x@a");
    memcpy(before, wait.waitpoints, sizeof before);
    for (size_t i = 0; i < 4; i++)
        wait.waitpoints[i] = (struct weir_waitpoint){.key = before[i].key};
    check(!wait_suspend(&wait, fixture, "x@a"));
    for (size_t i = 0; i < 4; i++) {
        check_str(wait.waitpoints[i].token, before[i].token);
        check(memcmp(wait.waitpoints[i].uuid, before[i].uuid, WEIR_UUID_SIZE) == 0);
    }
    weir_executions_destroy(executions);
}

FLOW_TEST(suspend, of_bad_input_names_it_and_parks_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;
    static const struct {
        const char *until;
        enum weir_status status;
        const char *text;
    } CASES[] = {
        {NULL, WEIR_INVALID, "expected at character 1"},
        {"x@z", WEIR_INVALID, "\"z\" is none of the waitpoints"},
        {"timeout", WEIR_INVALID, "needs a timeout"},
        {"all(all(all(all(all(x@a)))))", WEIR_TOO_DEEP, "deeper than 4"},
    };
    bool satisfied;

    wait_claim(&wait, fixture, executions);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        wait.options.until = CASES[i].until;
        check_db(weir_execution_suspend(executions, &wait.claim, &wait.options,
                                        &satisfied, NULL, &fixture->error),
                 CASES[i].status);
        check(strstr(fixture->error.text, CASES[i].text) != NULL);
    }
    wait.options.until = "x@a";
    wait.options.timeout_ms = -1;
    check_db(weir_execution_suspend(executions, &wait.claim, &wait.options, &satisfied,
                                    NULL, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "timeout_ms is -1") != NULL);
    wait.options.timeout_ms = 0;
    wait.waitpoints[1].key = "a";
    check_db(weir_execution_suspend(executions, &wait.claim, &wait.options, &satisfied,
                                    NULL, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "\"a\" is named twice") != NULL);
    check_str(flow_fixture_state(fixture, executions, &wait.id), "active");
    weir_executions_destroy(executions);
}

/* ---- signals ----------------------------------------------------------------------- */

FLOW_TEST(signal, that_suffices_lets_the_same_attempt_go_on)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;
    struct wait wait;

    wait_open(&wait, fixture, executions, "approved@a");
    check_str(wait_tell(&wait, fixture, 0, "rejected"), "ignored");
    check_str(flow_fixture_state(fixture, executions, &wait.id), "suspended");
    check_str(wait_tell(&wait, fixture, 0, "approved"), "resumed");
    check_str(flow_fixture_state(fixture, executions, &wait.id), "resumable");

    claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    check_str(wait_signals(&wait, fixture).text, "a:rejected, a:approved");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    check_str(flow_fixture_attempts(fixture, executions, &wait.id).text,
              "0 initial success");
    weir_executions_destroy(executions);
}

FLOW_TEST(signals, of_two_waitpoints_are_both_needed_for_all)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_open(&wait, fixture, executions, "all(ok@a, ok@b)");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "kept");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "kept");
    check_str(wait_tell(&wait, fixture, 1, "ok"), "resumed");
    check_str(wait_waitpoints(&wait, fixture).text,
              "a:closed, b:closed, c:closed, d:closed");
    weir_executions_destroy(executions);
}

FLOW_TEST(signals, of_one_source_count_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_signal signal;
    struct wait wait;

    wait_open(&wait, fixture, executions, "2 of sources vote@(a, b)");
    check_str(wait_tell(&wait, fixture, 0, "vote"), "kept");
    check_str(wait_tell(&wait, fixture, 1, "vote"), "kept");
    signal = wait_signal(&wait, 1, "vote");
    signal.source = "cid";
    check_str(wait_send(&wait, fixture, &signal), "resumed");
    weir_executions_destroy(executions);
}

FLOW_TEST(signal, with_a_key_counts_once_however_often_it_comes)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_signal signal;
    struct wait wait;

    wait_open(&wait, fixture, executions, "2 of signals vote@a");
    signal = wait_signal(&wait, 0, "vote");
    signal.key = "vote-7";
    check_str(wait_send(&wait, fixture, &signal), "kept");
    check_str(wait_send(&wait, fixture, &signal), "duplicate");
    check_str(flow_fixture_state(fixture, executions, &wait.id), "suspended");

    signal.name = "veto";
    check_db(weir_execution_signal(executions, &signal, &(enum weir_signal_effect){0},
                                   &fixture->error),
             WEIR_MISMATCH);
    check_str(wait_tell(&wait, fixture, 0, "vote"), "resumed");
    signal.name = "vote";
    check_str(wait_send(&wait, fixture, &signal), "duplicate");
    weir_executions_destroy(executions);
}

/* Two who vote in one way and have chosen the same key: the second must hear of it. */
FLOW_TEST(signal, of_another_source_is_not_the_one_that_has_its_key)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_signal signal;
    struct wait wait;

    wait_open(&wait, fixture, executions, "2 of sources vote@a");
    signal = wait_signal(&wait, 0, "vote");
    signal.key = "v1";
    check_str(wait_send(&wait, fixture, &signal), "kept");
    signal.source = "ann";
    check_db(weir_execution_signal(executions, &signal, &(enum weir_signal_effect){0},
                                   &fixture->error),
             WEIR_MISMATCH);
    signal.source = "bob";
    signal.source_type = "bot";
    check_db(weir_execution_signal(executions, &signal, &(enum weir_signal_effect){0},
                                   &fixture->error),
             WEIR_MISMATCH);
    signal.key = "v2";
    check_str(wait_send(&wait, fixture, &signal), "resumed");
    weir_executions_destroy(executions);
}

FLOW_TEST(signal, never_revives_what_has_ended)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_db(weir_execution_cancel(executions, &wait.id, "no", &fixture->error), WEIR_OK);
    check_str(wait_waitpoints(&wait, fixture).text,
              "a:closed, b:closed, c:closed, d:closed");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "late");
    check_str(flow_fixture_state(fixture, executions, &wait.id), "cancelled");
    weir_executions_destroy(executions);
}

FLOW_TEST(signal, that_comes_when_it_runs_again_changes_nothing)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_claim claim;
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "late");
    flow_fixture_settle(fixture, executions, &claim, WEIR_SETTLE_COMPLETE);
    weir_executions_destroy(executions);
}

FLOW_TEST(signal, may_have_64_kib_and_no_more)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    static char payload[WEIR_SIGNAL_PAYLOAD_MAX + 1];
    struct weir_signal signal;
    struct wait wait;

    wait_open(&wait, fixture, executions, "9 of signals ok@a");
    signal = wait_signal(&wait, 0, "ok");
    signal.payload = payload;
    signal.payload_size = sizeof payload;
    check_db(weir_execution_signal(executions, &signal, &(enum weir_signal_effect){0},
                                   &fixture->error),
             WEIR_TOO_LARGE);
    check(strstr(fixture->error.text, "65537 bytes, must have at most 65536") != NULL);
    signal.payload_size--;
    check_str(wait_send(&wait, fixture, &signal), "kept");
    weir_executions_destroy(executions);
}

/* Eight at once, each with signals of its own. */
struct peers {
    struct wait *wait;
    struct fixture *fixture;
    int resumed;
    int late;
};

static void *shout(void *argument)
{
    struct peers *self = argument;

    for (int i = 0; i < 125; i++) {
        enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;
        struct weir_signal signal = wait_signal(self->wait, (size_t)i % 4, "vote");

        if (weir_execution_signal(self->wait->executions, &signal, &effect, NULL) !=
            WEIR_OK)
            continue;
        self->resumed += effect == WEIR_SIGNAL_RESUMED;
        self->late += effect == WEIR_SIGNAL_LATE;
    }
    return NULL;
}

FLOW_TEST(signals, a_thousand_at_once_wake_a_quorum_once)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct peers peers[8];
    pthread_t threads[8];
    struct wait wait;
    int resumed = 0, late = 0;

    wait_open(&wait, fixture, executions, "600 of signals vote@(a, b, c, d)");
    for (size_t i = 0; i < 8; i++) {
        peers[i] = (struct peers){.wait = &wait, .fixture = fixture};
        check_int(pthread_create(&threads[i], NULL, shout, &peers[i]), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        check_int(pthread_join(threads[i], NULL), 0);
        resumed += peers[i].resumed;
        late += peers[i].late;
    }
    check_int(resumed, 1);
    check_int(late, 400);
    check_str(flow_fixture_state(fixture, executions, &wait.id), "resumable");
    (void)flow_fixture_claim(fixture, executions, "orders", "bert");
    weir_executions_destroy(executions);
}

/* ---- waitpoints made before -------------------------------------------------------- */

static void make_early(struct wait *self, struct fixture *fixture, size_t index,
                       int64_t expires_ms)
{
    check_db(weir_execution_waitpoint(self->executions, &self->claim,
                                      &self->waitpoints[index], expires_ms, NULL,
                                      &fixture->error),
             WEIR_OK);
}

FLOW_TEST(early_waitpoint, keeps_what_comes_before_the_suspension)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    make_early(&wait, fixture, 0, 60000);
    check_str(wait_tell(&wait, fixture, 0, "ok"), "buffered");
    check(!wait_suspend(&wait, fixture, "all(ok@a, ok@b)"));
    check_str(wait_tell(&wait, fixture, 1, "ok"), "resumed");
    weir_executions_destroy(executions);
}

FLOW_TEST(early_waitpoint, whose_signals_suffice_leaves_the_claim_as_it_is)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    make_early(&wait, fixture, 0, 60000);
    check_str(wait_tell(&wait, fixture, 0, "ok"), "buffered");
    check(wait_suspend(&wait, fixture, "ok@a"));
    check_str(flow_fixture_state(fixture, executions, &wait.id), "active");
    check_str(wait_waitpoints(&wait, fixture).text, "a:closed");
    check(wait_suspend(&wait, fixture, "ok@a")); /* the reply was lost */
    flow_fixture_settle(fixture, executions, &wait.claim, WEIR_SETTLE_COMPLETE);
    weir_executions_destroy(executions);
}

static void keep_condition(void *state, const struct weir_suspension_info *info)
{
    struct wait_log *self = state;

    check_int(info->ended_us, info->since_us);
    (void)snprintf(self->text, sizeof self->text, "%s; missing: %s", info->until,
                   info->missing);
}

/* Nothing of the suspension before is, and what is missing is nothing. */
FLOW_TEST(early_waitpoint, whose_signals_suffice_is_all_that_is_shown)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait_log log = {.text = ""};
    struct wait wait;

    wait_open(&wait, fixture, executions, "2 of signals *@a");
    check_str(wait_tell(&wait, fixture, 0, "old"), "kept");
    check_str(wait_tell(&wait, fixture, 0, "old"), "resumed");
    wait.claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    wait.waitpoints[0] = (struct weir_waitpoint){.key = "a"};
    wait.options.waitpoint_count = 1;
    make_early(&wait, fixture, 0, 60000);
    check_str(wait_tell(&wait, fixture, 0, "new"), "buffered");

    for (int i = 0; i < 2; i++) { /* the reply was lost */
        check(wait_suspend(&wait, fixture, "new@a"));
        check_str(wait_signals(&wait, fixture).text, "a:new");
        check_str(wait_waitpoints(&wait, fixture).text, "a:closed");
        check_db(weir_execution_suspension(executions, &wait.id, keep_condition, &log,
                                           &fixture->error),
                 WEIR_OK);
        check_str(log.text, "new@a; missing: ");
        check_str(wait_tell(&wait, fixture, 0, "new"), "late");
    }
    flow_fixture_settle(fixture, executions, &wait.claim, WEIR_SETTLE_COMPLETE);
    weir_executions_destroy(executions);
}

FLOW_TEST(early_waitpoint, asked_for_again_is_the_same)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    char token[WEIR_TOKEN_TEXT_SIZE];
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    make_early(&wait, fixture, 0, 60000);
    strcpy(token, wait.waitpoints[0].token);
    wait.waitpoints[0] = (struct weir_waitpoint){.key = "a"};
    make_early(&wait, fixture, 0, 60000);
    check_str(wait.waitpoints[0].token, token);
    weir_executions_destroy(executions);
}

FLOW_TEST(early_waitpoint, that_has_expired_is_told_to_whoever_names_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;
    bool satisfied;

    wait_claim(&wait, fixture, executions);
    make_early(&wait, fixture, 0, 60000);
    fixture_prepare(fixture, "UPDATE {p}_waitpoint SET until_us = 1");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "late");
    wait.options.until = "ok@a";
    check_db(weir_execution_suspend(executions, &wait.claim, &wait.options, &satisfied,
                                    NULL, &fixture->error),
             WEIR_NOT_FOUND);
    check_str(flow_fixture_state(fixture, executions, &wait.id), "active");
    weir_executions_destroy(executions);
}

FLOW_TEST(early_waitpoint, needs_its_uuid)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;
    bool satisfied;

    wait_claim(&wait, fixture, executions);
    make_early(&wait, fixture, 0, 60000);
    wait.waitpoints[0] = (struct weir_waitpoint){.key = "a"};
    wait.options.until = "ok@a";
    check_db(weir_execution_suspend(executions, &wait.claim, &wait.options, &satisfied,
                                    NULL, &fixture->error),
             WEIR_EXISTS);
    weir_executions_destroy(executions);
}

/* As many as there may be, all new: "w0", "w1" and so on. */
struct many {
    struct weir_waitpoint waitpoints[WEIR_WAITPOINTS_MAX];
    char keys[WEIR_WAITPOINTS_MAX][8];
};

static void wait_for_many(struct wait *self, struct many *many)
{
    memset(many, 0, sizeof *many);
    for (size_t i = 0; i < WEIR_WAITPOINTS_MAX; i++) {
        (void)snprintf(many->keys[i], sizeof many->keys[i], "w%zu", i);
        many->waitpoints[i].key = many->keys[i];
    }
    self->options.waitpoints = many->waitpoints;
    self->options.waitpoint_count = WEIR_WAITPOINTS_MAX;
}

FLOW_TEST(waitpoints, that_are_too_many_together_with_early_ones_are_refused)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct many many;
    struct wait wait;
    bool satisfied;

    wait_claim(&wait, fixture, executions);
    make_early(&wait, fixture, 0, 60000);
    wait_for_many(&wait, &many);
    wait.options.until = "ok@w1";
    check_db(weir_execution_suspend(executions, &wait.claim, &wait.options, &satisfied,
                                    NULL, &fixture->error),
             WEIR_FULL);
    check(strstr(fixture->error.text, "there are 1 waitpoints already") != NULL);
    check_str(wait_waitpoints(&wait, fixture).text, "a:pending");

    many.waitpoints[0] = wait.waitpoints[0]; /* it is one of them */
    check(!wait_suspend(&wait, fixture, "ok@a"));
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    weir_executions_destroy(executions);
}

/* What has been answered or has expired takes no place, and what came is still there to
 * be read. */
FLOW_TEST(waitpoints, that_nobody_can_signal_any_more_leave_room_for_others)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_waitpoint early = {.key = "early"};
    struct weir_signal signal;
    struct many many;
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    wait_for_many(&wait, &many);
    check(!wait_suspend(&wait, fixture, "ok@w1"));
    signal = (struct weir_signal){.id = wait.id, .name = "ok"};
    signal.token = many.waitpoints[1].token;
    memcpy(signal.waitpoint, many.waitpoints[1].uuid, WEIR_UUID_SIZE);
    check_str(wait_send(&wait, fixture, &signal), "resumed");

    wait.claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    for (size_t i = 0; i < WEIR_WAITPOINTS_MAX; i++) {
        many.waitpoints[i] = (struct weir_waitpoint){.key = many.keys[i]};
        check_db(weir_execution_waitpoint(executions, &wait.claim, &many.waitpoints[i],
                                          60000, NULL, &fixture->error),
                 WEIR_OK);
    }
    check_db(weir_execution_waitpoint(executions, &wait.claim, &early, 60000, NULL,
                                      &fixture->error),
             WEIR_FULL);
    check_str(wait_signals(&wait, fixture).text, "w1:ok");
    fixture_prepare(fixture, "UPDATE {p}_waitpoint SET until_us = 1 WHERE until_us > 0");
    check_db(weir_execution_waitpoint(executions, &wait.claim, &early, 60000, NULL,
                                      &fixture->error),
             WEIR_OK);
    check_str(wait_signals(&wait, fixture).text, "w1:ok");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_waitpoint"),
              WEIR_WAITPOINTS_MAX + 1);
    weir_executions_destroy(executions);
}

/* Longer than anything: named, not computed with. */
FLOW_TEST(durations, that_are_too_long_are_refused_by_name)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;
    bool satisfied;

    wait_claim(&wait, fixture, executions);
    wait.options.until = "x@a";
    check_db(weir_execution_waitpoint(executions, &wait.claim, &wait.waitpoints[0],
                                      INT64_MAX, NULL, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "expires_ms is 9223372036854775807") != NULL);
    check_db(
        weir_executions_rotate_key(executions, "k2", NULL, INT64_MAX, &fixture->error),
        WEIR_INVALID);
    check(strstr(fixture->error.text, "grace_ms is 9223372036854775807") != NULL);
    check_db(weir_execution_resume(executions, &wait.id, INT64_MAX, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "delay_ms is 9223372036854775807") != NULL);
    wait.options.timeout_ms = INT64_MAX;
    check_db(weir_execution_suspend(executions, &wait.claim, &wait.options, &satisfied,
                                    NULL, &fixture->error),
             WEIR_INVALID);
    check(strstr(fixture->error.text, "timeout_ms is 9223372036854775807") != NULL);
    check_str(flow_fixture_state(fixture, executions, &wait.id), "active");
    weir_executions_destroy(executions);
}

FLOW_TEST(second_suspension, has_nothing_of_the_first)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    wait.claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    for (size_t i = 0; i < 4; i++)
        memset(wait.waitpoints[i].uuid, 0, WEIR_UUID_SIZE);
    check(!wait_suspend(&wait, fixture, "ok@a"));
    check_str(wait_signals(&wait, fixture).text, "");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    weir_executions_destroy(executions);
}

/* Goes on with the next step, which waits in the same way. */
static void suspend_again(struct wait *self, struct fixture *fixture)
{
    self->claim = flow_fixture_claim(fixture, self->executions, "orders", "bert");
    for (size_t i = 0; i < 4; i++)
        memset(self->waitpoints[i].uuid, 0, WEIR_UUID_SIZE);
    check(!wait_suspend(self, fixture, self->options.until));
}

FLOW_TEST(signal, with_a_key_is_known_again_when_its_waitpoint_is_gone)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;
    char token[WEIR_TOKEN_TEXT_SIZE];
    struct weir_signal signal;
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    strcpy(token, wait.waitpoints[0].token);
    signal = wait_signal(&wait, 0, "ok");
    signal.token = token;
    signal.key = "once";
    check_str(wait_send(&wait, fixture, &signal), "resumed");
    suspend_again(&wait, fixture);
    check_str(wait_send(&wait, fixture, &signal), "duplicate");
    check_str(flow_fixture_state(fixture, executions, &wait.id), "suspended");

    signal.name = "no";
    check_db(weir_execution_signal(executions, &signal, &effect, &fixture->error),
             WEIR_MISMATCH);
    signal.name = "ok";
    signal.key = "another";
    check_db(weir_execution_signal(executions, &signal, &effect, &fixture->error),
             WEIR_DENIED);
    fixture_prepare(fixture,
                    "UPDATE {p}_idempotency SET until_us = until_us - 86400000000");
    signal.key = "once";
    check_db(weir_execution_signal(executions, &signal, &effect, &fixture->error),
             WEIR_DENIED);
    weir_executions_destroy(executions);
}

/* Nobody but who has the token learns that the key was used. */
FLOW_TEST(token, that_is_wrong_learns_nothing_of_a_waitpoint_that_is_gone)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    char token[WEIR_TOKEN_TEXT_SIZE], other[WEIR_TOKEN_TEXT_SIZE];
    static const char *const NAMES[] = {"ok", "no"};
    struct weir_signal signal;
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    strcpy(token, wait.waitpoints[0].token);
    strcpy(other, wait.waitpoints[1].token);
    signal = wait_signal(&wait, 0, "ok");
    signal.token = token;
    signal.key = "once";
    check_str(wait_send(&wait, fixture, &signal), "resumed");
    suspend_again(&wait, fixture);

    token[strlen(token) - 1] ^= 1;
    for (size_t i = 0; i < 2; i++) {
        const char *const wrong[] = {token, other, "", NULL, wait.waitpoints[0].token};

        signal.name = NAMES[i];
        for (size_t j = 0; j < sizeof wrong / sizeof wrong[0]; j++) {
            signal.token = wrong[j];
            check_db(weir_execution_signal(executions, &signal,
                                           &(enum weir_signal_effect){0},
                                           &fixture->error),
                     WEIR_DENIED);
            check_str(fixture->error.text, "the token is not valid for this waitpoint");
        }
    }
    token[strlen(token) - 1] ^= 1;
    signal.token = token;
    check_db(weir_executions_rotate_key(executions, "k2", NULL, 0, &fixture->error),
             WEIR_OK);
    check_db(weir_execution_signal(executions, &signal, &(enum weir_signal_effect){0},
                                   &fixture->error),
             WEIR_DENIED);
    weir_executions_destroy(executions);
}

/* ---- tokens ------------------------------------------------------------------------ */

static void check_denied(struct wait *self, struct fixture *fixture,
                         const struct weir_signal *signal)
{
    enum weir_signal_effect effect;

    check_db(weir_execution_signal(self->executions, signal, &effect, &fixture->error),
             WEIR_DENIED);
    check_str(fixture->error.text, "the token is not valid for this waitpoint");
    check_str(wait_signals(self, fixture).text, "");
}

FLOW_TEST(token, that_is_wrong_is_refused_in_one_way_whatever_is_wrong)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_signal signal;
    char token[WEIR_TOKEN_TEXT_SIZE];
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    strcpy(token, wait.waitpoints[0].token);
    signal = wait_signal(&wait, 0, "ok");
    signal.token = token;
    token[strlen(token) - 1] ^= 1; /* altered */
    check_denied(&wait, fixture, &signal);
    signal.token = wait.waitpoints[1].token; /* of another waitpoint */
    check_denied(&wait, fixture, &signal);
    signal.token = "k9:0000000000000000000000000000000000000000000000000000000000000000";
    check_denied(&wait, fixture, &signal);
    signal.token = "";
    check_denied(&wait, fixture, &signal);
    signal.token = NULL;
    check_denied(&wait, fixture, &signal);
    signal = wait_signal(&wait, 0, "ok");
    signal.id.uuid[3] ^= 1; /* no such execution */
    check_denied(&wait, fixture, &signal);
    signal = wait_signal(&wait, 0, "ok");
    signal.waitpoint[3] ^= 1; /* no such waitpoint */
    check_denied(&wait, fixture, &signal);
    weir_executions_destroy(executions);
}

FLOW_TEST(token, that_is_wrong_learns_nothing_of_what_has_ended)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_signal signal;
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_db(weir_execution_cancel(executions, &wait.id, "no", &fixture->error), WEIR_OK);
    signal = wait_signal(&wait, 0, "ok");
    signal.token = wait.waitpoints[1].token;
    check_denied(&wait, fixture, &signal);
    weir_executions_destroy(executions);
}

FLOW_TEST(token, of_a_key_that_was_rotated_is_good_until_the_grace_is_over)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    static const uint8_t SECRET[WEIR_SECRET_SIZE] = {1, 2, 3};
    struct weir_signal signal;
    struct wait wait;

    wait_open(&wait, fixture, executions, "9 of signals ok@a");
    check_db(weir_executions_rotate_key(executions, "k2", SECRET, 60000, &fixture->error),
             WEIR_OK);
    check_str(wait_tell(&wait, fixture, 0, "ok"), "kept");
    fixture_prepare(fixture, "UPDATE {p}_secret SET until_us = 1 WHERE active = 0");
    signal = wait_signal(&wait, 0, "ok");
    check_db(weir_execution_signal(executions, &signal, &(enum weir_signal_effect){0},
                                   &fixture->error),
             WEIR_DENIED);

    wait_open(&wait, fixture, executions, "ok@a");
    check(strncmp(wait.waitpoints[0].token, "k2:", 3) == 0);
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    weir_executions_destroy(executions);
}

FLOW_TEST(rotate, twice_with_the_same_key_is_fine_and_with_another_secret_is_not)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    static const uint8_t SECRET[WEIR_SECRET_SIZE] = {1, 2, 3};
    static const uint8_t OTHER[WEIR_SECRET_SIZE] = {1, 2, 4};

    check_db(weir_executions_rotate_key(executions, "k2", SECRET, 0, &fixture->error),
             WEIR_OK);
    check_db(weir_executions_rotate_key(executions, "k2", SECRET, 0, &fixture->error),
             WEIR_OK);
    check_db(weir_executions_rotate_key(executions, "k2", OTHER, 0, &fixture->error),
             WEIR_MISMATCH);
    check_db(weir_executions_rotate_key(executions, "", SECRET, 0, &fixture->error),
             WEIR_INVALID);
    check_db(weir_executions_rotate_key(executions, "k3", NULL, -1, &fixture->error),
             WEIR_INVALID);
    check_db(weir_executions_rotate_key(executions, "k3", NULL, 0, &fixture->error),
             WEIR_OK);
    weir_executions_destroy(executions);
}

/* What the names of keys are: the one that makes new tokens, and whose tokens are
 * good. */
static const char *kind_of_tokens(struct fixture *fixture,
                                  struct weir_executions *executions)
{
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_db(weir_execution_cancel(executions, &wait.id, "done", &fixture->error),
             WEIR_OK);
    return strncmp(wait.waitpoints[0].token, "k1:", 3) == 0   ? "k1"
           : strncmp(wait.waitpoints[0].token, "k2:", 3) == 0 ? "k2"
                                                              : "another";
}

static const uint8_t FIRST[WEIR_SECRET_SIZE] = {1}, SECOND[WEIR_SECRET_SIZE] = {2},
                     THIRD[WEIR_SECRET_SIZE] = {3};

static void rotate(struct fixture *fixture, struct weir_executions *executions,
                   const char *key, const uint8_t *secret, int64_t grace_ms)
{
    check_db(
        weir_executions_rotate_key(executions, key, secret, grace_ms, &fixture->error),
        WEIR_OK);
}

static void check_told(struct wait *wait, enum weir_status expected)
{
    struct weir_signal signal = wait_signal(wait, 0, "ok");
    struct weir_error error;

    check_status(weir_execution_signal(wait->executions, &signal,
                                       &(enum weir_signal_effect){0}, &error),
                 expected);
}

FLOW_TEST(rotate, back_to_a_key_that_was_used_before_makes_new_tokens_with_it)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    rotate(fixture, executions, "k1", FIRST, 0);
    rotate(fixture, executions, "k2", SECOND, 60000);
    check_str(kind_of_tokens(fixture, executions), "k2");
    wait_open(&wait, fixture, executions, "9 of signals ok@a");
    check_told(&wait, WEIR_OK);

    rotate(fixture, executions, "k1", FIRST, 0);
    check_told(&wait, WEIR_DENIED);
    check_str(kind_of_tokens(fixture, executions), "k1");
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_secret WHERE active = 1"),
              1);
    rotate(fixture, executions, "k1", FIRST, 0); /* the reply was lost */
    check_str(kind_of_tokens(fixture, executions), "k1");
    weir_executions_destroy(executions);
}

/* Two rotations ago there was a grace of a day: whoever says 0 means all that are
 * older. */
FLOW_TEST(rotate, without_grace_makes_tokens_of_all_older_keys_worthless)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait oldest, old;

    rotate(fixture, executions, "k1", FIRST, 0);
    wait_open(&oldest, fixture, executions, "9 of signals ok@a");
    rotate(fixture, executions, "k2", SECOND, 86400000);
    wait_open(&old, fixture, executions, "9 of signals ok@a");
    check_told(&oldest, WEIR_OK);
    check_told(&old, WEIR_OK);

    rotate(fixture, executions, "k3", THIRD, 0);
    check_told(&oldest, WEIR_DENIED);
    check_told(&old, WEIR_DENIED);
    weir_executions_destroy(executions);
}

/* ---- operators --------------------------------------------------------------------- */

FLOW_TEST(approve, needs_no_token)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_signal signal = {.name = "approved", .source_type = "operator"};
    enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;
    struct wait wait;

    wait_open(&wait, fixture, executions, "approved@a");
    check_db(weir_execution_approve(executions, &wait.id, "z", &signal, &effect,
                                    &fixture->error),
             WEIR_NOT_FOUND);
    check_db(weir_execution_approve(executions, &wait.id, "a", &signal, &effect,
                                    &fixture->error),
             WEIR_OK);
    check_int(effect, WEIR_SIGNAL_RESUMED);
    weir_executions_destroy(executions);
}

static const char *approve(struct wait *self, struct fixture *fixture, const char *key)
{
    struct weir_signal signal = {.name = "ok", .source_type = "operator", .key = key};
    enum weir_signal_effect effect = WEIR_SIGNAL_EFFECT_COUNT;

    check_db(weir_execution_approve(self->executions, &self->id, "a", &signal, &effect,
                                    &fixture->error),
             WEIR_OK);
    return weir_signal_effect_name(effect);
}

FLOW_TEST(approve, that_is_repeated_does_not_approve_the_next_step)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct weir_signal other = {.name = "no", .source_type = "operator", .key = "K"};
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_str(approve(&wait, fixture, "K"), "resumed");
    suspend_again(&wait, fixture);
    check_str(approve(&wait, fixture, "K"), "duplicate");
    check_db(weir_execution_approve(executions, &wait.id, "a", &other,
                                    &(enum weir_signal_effect){0}, &fixture->error),
             WEIR_MISMATCH);
    check_str(flow_fixture_state(fixture, executions, &wait.id), "suspended");
    check_str(wait_signals(&wait, fixture).text, "");
    check_str(approve(&wait, fixture, "L"), "resumed");
    weir_executions_destroy(executions);
}

/* It came after another had been first, and has approved nothing. */
FLOW_TEST(approve, that_was_late_is_so_when_it_is_repeated_at_the_next_step)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    check_str(approve(&wait, fixture, "K"), "late");
    check_str(approve(&wait, fixture, "K"), "late");
    suspend_again(&wait, fixture);
    check_str(approve(&wait, fixture, "K"), "late");
    check_str(flow_fixture_state(fixture, executions, &wait.id), "suspended");
    weir_executions_destroy(executions);
}

/* The next step waits elsewhere, so there is no waitpoint of that name. */
FLOW_TEST(approve, is_known_again_when_nothing_waits_under_that_name)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_str(approve(&wait, fixture, "K"), "resumed");
    wait.claim = flow_fixture_claim(fixture, executions, "orders", "bert");
    wait.options.waitpoints = &wait.waitpoints[1];
    wait.options.waitpoint_count = 1;
    memset(wait.waitpoints[1].uuid, 0, WEIR_UUID_SIZE);
    check(!wait_suspend(&wait, fixture, "ok@b"));
    check_str(approve(&wait, fixture, "K"), "duplicate");
    weir_executions_destroy(executions);
}

/* 24 hours later it is another one. */
FLOW_TEST(approve, may_use_a_key_again_when_it_has_run_out)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_str(approve(&wait, fixture, "K"), "resumed");
    suspend_again(&wait, fixture);
    fixture_prepare(fixture,
                    "UPDATE {p}_idempotency SET until_us = until_us - 86400000000");
    check_str(approve(&wait, fixture, "K"), "resumed");
    suspend_again(&wait, fixture);
    check_str(approve(&wait, fixture, "K"), "duplicate");
    weir_executions_destroy(executions);
}

FLOW_TEST(resume, ends_the_wait_whatever_the_condition)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_open(&wait, fixture, executions, "operator");
    check_str(wait_tell(&wait, fixture, 0, "operator"), "ignored");
    check_db(weir_execution_resume(executions, &wait.id, 0, &fixture->error), WEIR_OK);
    check_str(flow_fixture_state(fixture, executions, &wait.id), "resumable");
    check_db(weir_execution_resume(executions, &wait.id, 0, &fixture->error),
             WEIR_MISMATCH);
    wait.id.uuid[3] ^= 1;
    check_db(weir_execution_resume(executions, &wait.id, 0, &fixture->error),
             WEIR_NOT_FOUND);
    weir_executions_destroy(executions);
}

FLOW_TEST(resume, may_be_delayed)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_open(&wait, fixture, executions, "ok@a");
    check_db(weir_execution_resume(executions, &wait.id, 60000, &fixture->error),
             WEIR_OK);
    check_str(flow_fixture_see(fixture, executions, &wait.id).info.blocked_by,
              "waiting_for_resume_delay");
    weir_executions_destroy(executions);
}

FLOW_TEST(resume, waits_for_the_delay_that_the_suspension_asked_for)
{
    struct weir_executions *executions = flow_fixture_open(fixture);
    struct wait wait;

    wait_claim(&wait, fixture, executions);
    wait.options.resume_delay_ms = 60000;
    check(!wait_suspend(&wait, fixture, "ok@a"));
    check_str(wait_tell(&wait, fixture, 0, "ok"), "resumed");
    check_str(flow_fixture_state(fixture, executions, &wait.id), "delayed");
    weir_executions_destroy(executions);
}
