/*
 * Executions in their tables: what is written comes back, once, and belongs together.
 */
#include <stdlib.h>

#include "contract/flow/store/store_fixture.h"

static struct weir_execution_row full_row(void)
{
    return (struct weir_execution_row){
        .state = WEIR_EXEC_ACTIVE,
        .hold = WEIR_HOLD_MANUAL_PAUSE,
        .pending = WEIR_PENDING_RESUME,
        .priority = 9000,
        .epoch = INT64_MAX,
        .settled_epoch = INT64_MAX - 1,
        .settled_as = WEIR_SETTLED_SUSPEND,
        .turn = INT64_MIN + 1,
        .attempts = INT32_MAX,
        .retries = UINT32_MAX,
        .reclaims = UINT32_MAX - 1,
        .replays = UINT32_MAX - 2,
        .due_us = 101,
        .lease_us = INT64_MAX - 2,
        .attempt_deadline_us = 103,
        .deadline_us = 104,
        .claimed_us = 105,
        .started_us = 106,
        .ended_us = 107,
        .attempt_type = WEIR_ATTEMPT_REPLAY,
        .worker = weir_str("pool"),
        .instance = weir_str("host-1"),
        .failure = weir_str("no \"address\""),
    };
}

FLOW_TEST(rows, come_back_as_they_were_inserted)
{
    struct weir_execution_policy policy = store_fixture_policy();
    struct weir_new_execution item;
    const struct weir_execution_record *got;
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    item = store_fixture_item(&store_fixture, 1);
    item.id.partition = 65535;
    item.state = WEIR_EXEC_DELAYED;
    item.hold = WEIR_HOLD_DELAY;
    item.pending = WEIR_PENDING_RETRY;
    item.priority = 17;
    item.flow_no = 4;
    item.due_us = 5;
    item.deadline_us = 6;
    item.capability_set =
        store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, ",gpu,linux,");
    item.name_space = weir_str("tenant");
    item.kind = weir_str("mail.send");
    store_fixture_insert(&store_fixture, &item, 1);

    check(item.no > 0);
    check(!item.duplicate);
    check_int(store_fixture_load(&store_fixture, item.no), 1);

    got = &store_fixture.records.rows[0];
    check_int(got->row.no, item.no);
    check_int(memcmp(got->row.id.uuid, item.id.uuid, WEIR_UUID_SIZE), 0);
    check_int(got->row.id.partition, 65535);
    check_int(got->row.state, WEIR_EXEC_DELAYED);
    check_int(got->row.hold, WEIR_HOLD_DELAY);
    check_int(got->row.pending, WEIR_PENDING_RETRY);
    check_int(got->row.priority, 17);
    check_int(got->row.flow_no, 4);
    check_int(got->row.due_us, 5);
    check_int(got->row.deadline_us, 6);
    check_int(got->created_us, store_fixture.now_us);
    check_int(got->capability_set, item.capability_set);
    check_int(got->percent, -1);
    store_fixture_is(got->name_space, "tenant");
    store_fixture_is(got->lane_name, "orders");
    store_fixture_is(got->kind, "mail.send");
    store_fixture_is(got->told, "");
    check_int(got->row.policy.retries_max, policy.retries_max);
    check_int(got->row.policy.backoff, policy.backoff);
    check_int(got->row.policy.backoff_initial_ms, policy.backoff_initial_ms);
    check(got->row.policy.backoff_multiplier == policy.backoff_multiplier);
    check_int(got->row.policy.backoff_max_ms, policy.backoff_max_ms);
    check_int(got->row.policy.attempt_timeout_ms, policy.attempt_timeout_ms);
    check_int(got->row.policy.reclaims_max, policy.reclaims_max);
    check_int(got->row.policy.replays_max, policy.replays_max);
    store_fixture_close(&store_fixture);
}

FLOW_TEST(rows, come_back_as_they_were_written)
{
    struct weir_execution_row want = full_row();
    const struct weir_execution_row *got;
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);

    check_int(
        store_fixture_load(&store_fixture, store_fixture_put(&store_fixture, 1, want)),
        1);

    got = &store_fixture.records.rows[0].row;
    check_int(got->state, want.state);
    check_int(got->hold, want.hold);
    check_int(got->pending, want.pending);
    check_int(got->priority, want.priority);
    check_int(got->epoch, want.epoch);
    check_int(got->settled_epoch, want.settled_epoch);
    check_int(got->settled_as, want.settled_as);
    check(got->turn == want.turn);
    check_int(got->attempts, want.attempts);
    check_int(got->retries, want.retries);
    check_int(got->reclaims, want.reclaims);
    check_int(got->replays, want.replays);
    check_int(got->due_us, want.due_us);
    check_int(got->lease_us, want.lease_us);
    check_int(got->attempt_deadline_us, want.attempt_deadline_us);
    check_int(got->deadline_us, want.deadline_us);
    check_int(got->claimed_us, want.claimed_us);
    check_int(got->started_us, want.started_us);
    check_int(got->ended_us, want.ended_us);
    check_int(got->attempt_type, want.attempt_type);
    store_fixture_is(got->worker, "pool");
    store_fixture_is(got->instance, "host-1");
    store_fixture_is(got->failure, "no \"address\"");
    store_fixture_close(&store_fixture);
}

FLOW_SQLITE_TEST(rows, that_are_not_there_cannot_be_written)
{
    struct weir_execution_record stored = {.row = full_row()};
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    stored.row.no = 4711;

    check_db(store_fixture_rewrite(
                 &store_fixture, (struct weir_rewrite){.rows = &stored, .row_count = 1}),
             WEIR_CONFLICT);

    store_fixture_close(&store_fixture);
}

FLOW_TEST(rows, are_loaded_in_order_and_once)
{
    struct weir_new_execution items[3];
    int64_t nos[5];
    struct weir_execution_id ids[4];
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 3; i++)
        items[i] = store_fixture_item(&store_fixture, i);
    store_fixture_insert(&store_fixture, items, 3);
    for (size_t i = 0; i < 3; i++) {
        nos[i] = items[2 - i].no;
        ids[i] = items[2 - i].id;
    }
    nos[3] = items[1].no;
    nos[4] = 4711;
    ids[3] = items[0].id;
    ids[3].partition++; /* another one */

    check_db(weir_store_load(&store_fixture.store, store_fixture.connection, nos, 5,
                             &store_fixture.records, &fixture->error),
             WEIR_OK);
    check_int(store_fixture.records.count, 3);
    for (size_t i = 0; i < 3; i++)
        check_int(store_fixture.records.rows[i].row.no, items[i].no);

    check_db(weir_store_load_by_id(&store_fixture.store, store_fixture.connection, ids, 4,
                                   &store_fixture.records, &fixture->error),
             WEIR_OK);
    check_int(store_fixture.records.count, 3);
    for (size_t i = 0; i < 3; i++)
        check_int(store_fixture.records.rows[i].row.no, items[i].no);
    store_fixture_close(&store_fixture);
}

/* More than one statement takes. */
FLOW_TEST(rows, are_inserted_by_the_thousand_in_their_order)
{
    enum { COUNT = 2500 };
    struct weir_new_execution *items = calloc(COUNT, sizeof *items);
    struct store_fixture store_fixture;

    check(items != NULL);
    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < COUNT; i++)
        items[i] = store_fixture_item(&store_fixture, i);

    store_fixture_insert(&store_fixture, items, COUNT);

    for (size_t i = 1; i < COUNT; i++)
        check(items[i].no > items[i - 1].no);
    check_int(store_fixture_pick(&store_fixture, COUNT + 1), COUNT);
    store_fixture_close(&store_fixture);
    free(items);
}

FLOW_TEST(rows, of_an_unknown_state_are_refused_by_name)
{
    struct weir_execution_row row = full_row();
    struct store_fixture store_fixture;
    int64_t no;

    store_fixture_open(&store_fixture, fixture);
    row.state = (enum weir_exec_state)77;
    no = store_fixture_put(&store_fixture, 1, row);

    check_db(weir_store_load(&store_fixture.store, store_fixture.connection, &no, 1,
                             &store_fixture.records, &fixture->error),
             WEIR_SCHEMA);

    check_str(fixture->error.text,
              "execution 1-01000000-0000-0000-0000-000000000077 has state 77, which this "
              "library does not know: install a newer weir");
    store_fixture_close(&store_fixture);
}

FLOW_TEST(rows, of_an_unknown_hold_are_refused_by_name)
{
    struct weir_execution_row row = full_row();
    struct store_fixture store_fixture;
    int64_t no;

    store_fixture_open(&store_fixture, fixture);
    row.hold = (enum weir_hold)15;
    no = store_fixture_put(&store_fixture, 1, row);

    check_db(weir_store_load(&store_fixture.store, store_fixture.connection, &no, 1,
                             &store_fixture.records, &fixture->error),
             WEIR_SCHEMA);

    check(strstr(fixture->error.text, "has hold 15, which") != NULL);
    store_fixture_close(&store_fixture);
}

/* ---- duplicates -------------------------------------------------------------------- */

FLOW_TEST(duplicates, by_key_are_answered_with_the_first)
{
    struct weir_new_execution first;
    struct weir_new_execution second;
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    first = store_fixture_item(&store_fixture, 1);
    second = store_fixture_item(&store_fixture, 2);
    first.key = second.key = weir_str("k");
    first.key_until_us = second.key_until_us = store_fixture.now_us + 1;
    store_fixture_insert(&store_fixture, &first, 1);
    store_fixture_commit(&store_fixture);
    store_fixture_begin(&store_fixture);

    store_fixture_insert(&store_fixture, &second, 1);

    check(second.duplicate);
    check_int(second.no, 0);
    check_int(memcmp(second.stored_id.uuid, first.id.uuid, WEIR_UUID_SIZE), 0);
    check_int(second.stored_id.partition, first.id.partition);
    check_int(memcmp(second.stored_digest, first.digest, WEIR_DIGEST_SIZE), 0);
    check_int(store_fixture_pick(&store_fixture, 10), 1);
    store_fixture_close(&store_fixture);
}

FLOW_TEST(duplicates, in_one_batch_are_found_too)
{
    struct weir_new_execution items[3];
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 3; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].key = weir_str(i == 1 ? "other" : "k");
        items[i].key_until_us = store_fixture.now_us + 1;
    }

    store_fixture_insert(&store_fixture, items, 3);

    check(!items[0].duplicate);
    check(!items[1].duplicate);
    check(items[2].duplicate);
    check_int(memcmp(items[2].stored_id.uuid, items[0].id.uuid, WEIR_UUID_SIZE), 0);
    check_int(store_fixture_pick(&store_fixture, 10), 2);
    store_fixture_close(&store_fixture);
}

FLOW_TEST(duplicates, by_key_are_of_one_namespace)
{
    struct weir_new_execution items[2];
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 2; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].name_space = weir_str(i == 0 ? "a" : "b");
        items[i].key = weir_str("k");
        items[i].key_until_us = store_fixture.now_us + 1;
    }

    store_fixture_insert(&store_fixture, items, 2);

    check(!items[0].duplicate);
    check(!items[1].duplicate);
    store_fixture_close(&store_fixture);
}

FLOW_TEST(duplicates, are_none_when_the_key_has_run_out)
{
    struct weir_new_execution items[3];
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 3; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].key = weir_str("k");
        items[i].key_until_us = store_fixture.now_us + i;
    }

    for (size_t i = 0; i < 3; i++)
        store_fixture_insert(&store_fixture, &items[i], 1);

    check(!items[1].duplicate); /* the first had run out */
    check(items[2].duplicate);
    check_int(memcmp(items[2].stored_id.uuid, items[1].id.uuid, WEIR_UUID_SIZE), 0);
    store_fixture_close(&store_fixture);
}

FLOW_TEST(duplicates, by_id_are_answered_with_what_is_there)
{
    struct weir_new_execution items[3];
    struct weir_new_execution again;
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 3; i++)
        items[i] = store_fixture_item(&store_fixture, i);
    items[1].id = items[0].id;
    again = store_fixture_item(&store_fixture, 2);
    again.digest[0] ^= 1;

    store_fixture_insert(&store_fixture, items, 3);
    store_fixture_insert(&store_fixture, &again, 1);

    check(items[1].duplicate);
    check_int(items[1].no, 0);
    check_int(memcmp(items[1].stored_digest, items[0].digest, WEIR_DIGEST_SIZE), 0);
    check(!items[2].duplicate);
    check(again.duplicate);
    check_int(memcmp(again.stored_digest, items[2].digest, WEIR_DIGEST_SIZE), 0);
    store_fixture_close(&store_fixture);
}

/* A call that is repeated as a whole after its reply was lost. */
FLOW_TEST(duplicates, by_key_and_id_are_the_same_one)
{
    struct weir_new_execution item;
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    item = store_fixture_item(&store_fixture, 1);
    item.key = weir_str("k");
    item.key_until_us = store_fixture.now_us + 1;
    store_fixture_insert(&store_fixture, &item, 1);

    store_fixture_insert(&store_fixture, &item, 1);

    check(item.duplicate);
    check_int(item.no, 0);
    check_int(memcmp(item.stored_id.uuid, item.id.uuid, WEIR_UUID_SIZE), 0);
    store_fixture_close(&store_fixture);
}

FLOW_TEST(keys, that_have_run_out_are_forgotten_some_at_a_time)
{
    static const char *const KEYS[] = {"a", "b", "c"};
    struct weir_new_execution items[3];
    struct store_fixture store_fixture;
    size_t removed = 0;

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 3; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].key = weir_str(KEYS[i]);
        items[i].key_until_us = store_fixture.now_us + 1 + i;
    }
    store_fixture_insert(&store_fixture, items, 3);

    check_db(weir_store_forget_keys(store_fixture.connection, store_fixture.now_us + 2, 1,
                                    &removed, &fixture->error),
             WEIR_OK);
    check_int(removed, 1);
    check_db(weir_store_forget_keys(store_fixture.connection, store_fixture.now_us + 2,
                                    10, &removed, &fixture->error),
             WEIR_OK);
    check_int(removed, 1);
    store_fixture_commit(&store_fixture);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_idempotency"), 1);
    store_fixture_close(&store_fixture);
}

/* ---- what belongs to them ---------------------------------------------------------- */

struct found {
    struct store_fixture *store_fixture;
    char text[256];
};

static enum weir_status note_input(void *state, const struct weir_work_input *input,
                                   struct weir_error *error)
{
    struct found *self = state;
    size_t size = strlen(self->text);

    (void)error;
    (void)snprintf(self->text + size, sizeof self->text - size, "%zu=%.*s;", input->index,
                   (int)input->input.size, input->input.data);
    return WEIR_OK;
}

static enum weir_status note_tag(void *state, const struct weir_work_tag *tag,
                                 struct weir_error *error)
{
    struct found *self = state;
    size_t size = strlen(self->text);

    (void)error;
    (void)snprintf(self->text + size, sizeof self->text - size, "%zu:%.*s=%.*s;",
                   tag->index, (int)tag->key.size, tag->key.data, (int)tag->value.size,
                   tag->value.data);
    return WEIR_OK;
}

static enum weir_status refuse_input(void *state, const struct weir_work_input *input,
                                     struct weir_error *error)
{
    (void)state;
    (void)input;
    return weir_error_set(error, WEIR_TOO_LARGE, "too large for us");
}

FLOW_TEST(belongings, of_claimed_ones_come_in_their_order)
{
    static const struct weir_tag TAGS[] = {{"app.b", "2"}, {"app.a", "1"}};
    struct weir_new_execution items[3];
    struct found inputs = {.text = ""};
    struct found tags = {.text = ""};
    struct store_fixture store_fixture;
    int64_t nos[3];

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 3; i++)
        items[i] = store_fixture_item(&store_fixture, i);
    items[0].input = weir_str("first");
    items[2].input = weir_str("third");
    items[0].tags = TAGS;
    items[0].tag_count = 2;
    items[1].tags = TAGS;
    items[1].tag_count = 1;
    store_fixture_insert(&store_fixture, items, 3);
    for (size_t i = 0; i < 3; i++)
        nos[i] = items[2 - i].no;

    check_db(weir_store_visit_inputs(&store_fixture.store, store_fixture.connection, nos,
                                     3, note_input, &inputs, &fixture->error),
             WEIR_OK);
    check_db(weir_store_visit_tags(&store_fixture.store, store_fixture.connection, nos, 3,
                                   note_tag, &tags, &fixture->error),
             WEIR_OK);

    check_str(inputs.text, "0=third;2=first;");
    check_str(tags.text, "1:app.b=2;2:app.a=1;2:app.b=2;");
    check_db(weir_store_visit_inputs(&store_fixture.store, store_fixture.connection, nos,
                                     3, refuse_input, NULL, &fixture->error),
             WEIR_TOO_LARGE);
    store_fixture_close(&store_fixture);
}

/* Data NULL: there is none. */
static struct weir_str store_fixture_result(struct store_fixture *store_fixture,
                                            const struct weir_execution_id *id)
{
    struct fixture *fixture = store_fixture->fixture;

    check_db(weir_store_get_result(store_fixture->connection, id, &store_fixture->records,
                                   &fixture->error),
             WEIR_OK);
    check_int(store_fixture->records.count, 1);
    return store_fixture->records.rows[0].input;
}

FLOW_TEST(belongings, may_be_as_large_as_promised)
{
    char *bytes = malloc(WEIR_INPUT_SIZE_MAX);
    struct weir_new_execution items[12];
    struct weir_new_result result;
    struct store_fixture store_fixture;

    check(bytes != NULL);
    memset(bytes, 0xa5, WEIR_INPUT_SIZE_MAX);
    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 12; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].input = (struct weir_str){bytes, WEIR_INPUT_SIZE_MAX};
    }

    store_fixture_insert(&store_fixture, items, 12);
    result = (struct weir_new_result){items[0].no, items[0].input};
    check_db(
        store_fixture_rewrite(
            &store_fixture, (struct weir_rewrite){.results = &result, .result_count = 1}),
        WEIR_OK);

    check_int(store_fixture_result(&store_fixture, &items[0].id).size,
              WEIR_RESULT_SIZE_MAX);
    store_fixture_commit(&store_fixture);
    check_int(fixture_ask(fixture, "SELECT sum(length(bytes)) FROM weir_input"),
              12 * (int64_t)WEIR_INPUT_SIZE_MAX);
    store_fixture_close(&store_fixture);
    free(bytes);
}

FLOW_TEST(belongings, of_a_replay_take_the_place_of_the_result)
{
    struct weir_new_result results[2];
    struct weir_execution_id id;
    struct store_fixture store_fixture;
    int64_t no;

    store_fixture_open(&store_fixture, fixture);
    no = store_fixture_put(&store_fixture, 1, full_row());
    id = store_fixture_item(&store_fixture, 1).id;
    results[0] = (struct weir_new_result){no, weir_str("old")};
    results[1] = (struct weir_new_result){no, weir_str("")};
    check(store_fixture_result(&store_fixture, &id).data == NULL);

    for (size_t i = 0; i < 2; i++)
        check_db(store_fixture_rewrite(
                     &store_fixture,
                     (struct weir_rewrite){.results = &results[i], .result_count = 1}),
                 WEIR_OK);

    check(store_fixture_result(&store_fixture, &id).data != NULL);
    check_int(store_fixture_result(&store_fixture, &id).size, 0);
    store_fixture_close(&store_fixture);
}

static void note_attempt(void *state, const struct weir_ended_attempt *attempt)
{
    struct found *self = state;
    size_t size = strlen(self->text);

    (void)snprintf(self->text + size, sizeof self->text - size,
                   "%d %d %d %lld %lld %lld %.*s %.*s %.*s;", attempt->number,
                   (int)attempt->type, (int)attempt->outcome, (long long)attempt->epoch,
                   (long long)attempt->started_us, (long long)attempt->ended_us,
                   (int)attempt->worker.size, attempt->worker.data,
                   (int)attempt->instance.size, attempt->instance.data,
                   (int)attempt->failure.size, attempt->failure.data);
}

FLOW_TEST(belongings, of_one_are_its_attempts_by_number)
{
    struct weir_ended_attempt attempts[3] = {
        {0, 1, WEIR_ATTEMPT_RETRY, WEIR_OUTCOME_SUCCESS, 4, 30, 40, weir_str("w"),
         weir_str("i"), weir_str("")},
        {0, 0, WEIR_ATTEMPT_INITIAL, WEIR_OUTCOME_RETRY, 2, 10, 20, weir_str("w"),
         weir_str("i"), weir_str("oh")},
        {0, 0, WEIR_ATTEMPT_INITIAL, WEIR_OUTCOME_FAILED, 2, 10, 20, weir_str("w"),
         weir_str("i"), weir_str("another's")},
    };
    struct found found = {.text = ""};
    struct store_fixture store_fixture;
    int64_t no;

    store_fixture_open(&store_fixture, fixture);
    no = attempts[0].no = attempts[1].no =
        store_fixture_put(&store_fixture, 1, full_row());
    attempts[2].no = store_fixture_put(&store_fixture, 2, full_row());

    check_db(
        store_fixture_rewrite(&store_fixture, (struct weir_rewrite){.attempts = attempts,
                                                                    .attempt_count = 3}),
        WEIR_OK);

    check_db(weir_store_visit_attempts(store_fixture.connection, no, note_attempt, &found,
                                       &fixture->error),
             WEIR_OK);
    check_str(found.text, "0 0 2 2 10 20 w i oh;1 1 1 4 30 40 w i ;");
    store_fixture_close(&store_fixture);
}

/* ---- progress ---------------------------------------------------------------------- */

FLOW_TEST(progress, is_told_by_whoever_holds_the_lease)
{
    struct weir_execution_row row = {
        .state = WEIR_EXEC_ACTIVE, .epoch = 3, .lease_us = INT64_MAX / 2};
    struct weir_claim claim = {.epoch = 3};
    struct store_fixture store_fixture;
    bool ours = false;

    store_fixture_open(&store_fixture, fixture);
    claim.no = store_fixture_put(&store_fixture, 1, row);
    claim.id = store_fixture_item(&store_fixture, 1).id;

    check_db(weir_store_set_progress(store_fixture.connection, &claim, 40,
                                     weir_str("half"), &ours, &fixture->error),
             WEIR_OK);

    check(ours);
    (void)store_fixture_load(&store_fixture, claim.no);
    check_int(store_fixture.records.rows[0].percent, 40);
    store_fixture_is(store_fixture.records.rows[0].told, "half");
    store_fixture_close(&store_fixture);
}

FLOW_TEST(progress, of_anybody_else_is_refused)
{
    struct weir_execution_row row = {
        .state = WEIR_EXEC_ACTIVE, .epoch = 3, .lease_us = INT64_MAX / 2};
    struct weir_claim claim = {.epoch = 2};
    struct store_fixture store_fixture;
    bool ours = true;

    store_fixture_open(&store_fixture, fixture);
    claim.no = store_fixture_put(&store_fixture, 1, row);
    claim.id = store_fixture_item(&store_fixture, 1).id;

    check_db(weir_store_set_progress(store_fixture.connection, &claim, 1, weir_str(""),
                                     &ours, &fixture->error),
             WEIR_OK);
    check(!ours);

    row.lease_us = store_fixture.now_us; /* is over */
    claim.epoch = 3;
    claim.no = store_fixture_put(&store_fixture, 2, row);
    claim.id = store_fixture_item(&store_fixture, 2).id;
    check_db(weir_store_set_progress(store_fixture.connection, &claim, 1, weir_str(""),
                                     &ours, &fixture->error),
             WEIR_OK);
    check(!ours);
    store_fixture_close(&store_fixture);
}

/* ---- retention --------------------------------------------------------------------- */

FLOW_TEST(retention, removes_what_ended_long_ago_with_all_that_is_its)
{
    static const struct weir_tag TAG = {"app.a", "1"};
    struct weir_due_query query = {.kind = WEIR_DUE_ENDED, .now_us = 20, .limit = 9};
    struct weir_new_execution items[4];
    struct store_fixture store_fixture;
    int64_t nos[4];

    store_fixture_open(&store_fixture, fixture);
    for (uint32_t i = 0; i < 4; i++) {
        items[i] = store_fixture_item(&store_fixture, i);
        items[i].input = weir_str("in");
        items[i].tags = &TAG;
        items[i].tag_count = 1;
    }
    store_fixture_insert(&store_fixture, items, 4);
    for (uint32_t i = 0; i < 4; i++) {
        struct weir_execution_record stored = {
            .row = {.no = items[i].no, .state = WEIR_EXEC_SUCCEEDED, .ended_us = 10 + i}};
        struct weir_ended_attempt attempt = {.no = items[i].no};
        struct weir_new_result result = {items[i].no, weir_str("out")};

        if (i == 3)
            stored.row.ended_us = 21; /* not yet */
        check_db(
            store_fixture_rewrite(&store_fixture,
                                  (struct weir_rewrite){.rows = &stored, .row_count = 1}),
            WEIR_OK);
        check_db(store_fixture_rewrite(
                     &store_fixture,
                     (struct weir_rewrite){.attempts = &attempt, .attempt_count = 1}),
                 WEIR_OK);
        check_db(store_fixture_rewrite(
                     &store_fixture,
                     (struct weir_rewrite){.results = &result, .result_count = 1}),
                 WEIR_OK);
    }

    check_int(store_fixture_pick_due(&store_fixture, &query), 3);
    for (size_t i = 0; i < store_fixture.records.count; i++)
        nos[i] = store_fixture.records.rows[i].row.no;
    check_db(weir_store_remove(&store_fixture.store, store_fixture.connection, nos,
                               store_fixture.records.count, &fixture->error),
             WEIR_OK);
    store_fixture_commit(&store_fixture);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_execution"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_input"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_result"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_attempt"), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_tag"), 1);
    store_fixture_close(&store_fixture);
}
