/*
 * Terms: one number for each, in all processes, whatever becomes of transactions.
 */
#include "contract/flow/store/store_fixture.h"

static int64_t find(struct store_fixture *store_fixture,
                    struct weir_dictionary *dictionary, const char *text)
{
    struct fixture *fixture = store_fixture->fixture;
    int64_t number = 0;

    check_db(weir_dictionary_find(dictionary, store_fixture->connection, WEIR_TERM_LANE,
                                  weir_str(text), &number, &fixture->error),
             WEIR_OK);
    return number;
}

static struct weir_dictionary *open_with(struct fixture *fixture, size_t terms_max)
{
    struct weir_dictionary *dictionary = NULL;

    check_db(weir_dictionary_create(&fixture->heap.heap, terms_max, &dictionary,
                                    &fixture->error),
             WEIR_OK);
    return dictionary;
}

static struct weir_dictionary *open_another(struct fixture *fixture)
{
    return open_with(fixture, WEIR_TERMS_MAX);
}

FLOW_TEST(dictionary, gives_the_same_number_to_everybody)
{
    struct weir_dictionary *other = open_another(fixture);
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);

    check_int(store_fixture_term(&store_fixture, WEIR_TERM_LANE, "orders"),
              store_fixture.lane);
    check_int(find(&store_fixture, other, "orders"), store_fixture.lane);
    check(store_fixture_term(&store_fixture, WEIR_TERM_LANE, "Orders") !=
          store_fixture.lane);
    check(store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, "orders") !=
          store_fixture.lane);
    check_int(find(&store_fixture, other, "nobody's"), -1);
    store_fixture_close(&store_fixture);
    weir_dictionary_destroy(other);
}

FLOW_TEST(dictionary, says_what_a_number_stands_for)
{
    struct weir_dictionary *other = open_another(fixture);
    struct weir_execution_policy policy;
    char buffer[WEIR_TERM_SIZE_MAX + 1];
    struct weir_str text;
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);

    check_db(weir_dictionary_text(other, store_fixture.connection, WEIR_TERM_LANE,
                                  store_fixture.lane, buffer, &text, &fixture->error),
             WEIR_OK);
    store_fixture_is(text, "orders");
    check_db(weir_dictionary_policy(other, store_fixture.connection, store_fixture.policy,
                                    &policy, &fixture->error),
             WEIR_OK);
    check(policy.backoff_multiplier == 1.1);
    check_db(weir_dictionary_policy(other, store_fixture.connection, store_fixture.lane,
                                    &policy, &fixture->error),
             WEIR_SCHEMA);
    check_db(weir_dictionary_text(other, store_fixture.connection, WEIR_TERM_LANE, 4711,
                                  buffer, &text, &fixture->error),
             WEIR_SCHEMA);
    check_str(fixture->error.text, "there is no term 4711 of kind 1");
    store_fixture_close(&store_fixture);
    weir_dictionary_destroy(other);
}

FLOW_TEST(dictionary, takes_the_largest_set_of_capabilities)
{
    char text[WEIR_TERM_SIZE_MAX + 1];
    struct store_fixture store_fixture;
    int64_t number;

    for (size_t i = 0; i < WEIR_TERM_SIZE_MAX; i++)
        text[i] = i % 16 == 0 ? ',' : (char)('a' + (i * i / 7 + i / 16) % 26);
    text[WEIR_TERM_SIZE_MAX - 1] = ',';
    text[WEIR_TERM_SIZE_MAX] = '\0';
    store_fixture_open(&store_fixture, fixture);

    number = store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, text);

    check_int(store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, text), number);
    store_fixture_close(&store_fixture);
}

/* SQLite gives the number to another one afterwards. */
FLOW_TEST(dictionary, forgets_what_a_transaction_has_undone)
{
    char buffer[WEIR_TERM_SIZE_MAX + 1];
    struct weir_str text;
    struct store_fixture store_fixture;
    int64_t undone;
    int64_t number;

    store_fixture_open(&store_fixture, fixture);
    undone = store_fixture_term(&store_fixture, WEIR_TERM_LANE, "undone");
    check_int(store_fixture_term(&store_fixture, WEIR_TERM_LANE, "undone"), undone);
    check_db(weir_dictionary_text(store_fixture.dictionary, store_fixture.connection,
                                  WEIR_TERM_LANE, undone, buffer, &text, &fixture->error),
             WEIR_OK);
    weir_connection_rollback(store_fixture.connection);

    check_int(find(&store_fixture, store_fixture.dictionary, "undone"), -1);
    number = store_fixture_term(&store_fixture, WEIR_TERM_LANE, "done");

    check_db(weir_dictionary_text(store_fixture.dictionary, store_fixture.connection,
                                  WEIR_TERM_LANE, number, buffer, &text, &fixture->error),
             WEIR_OK);
    store_fixture_is(text, "done");
    store_fixture_close(&store_fixture);
}

/* What it knows it does not ask for again. */
FLOW_TEST(dictionary, remembers_what_is_committed)
{
    struct store_fixture store_fixture;

    store_fixture_open(&store_fixture, fixture);
    store_fixture_commit(&store_fixture);
    fixture_prepare(fixture, "DELETE FROM {p}_term");

    check_int(find(&store_fixture, store_fixture.dictionary, "orders"),
              store_fixture.lane);

    store_fixture_close(&store_fixture);
}

static void check_fulfilled_by(struct weir_dictionary *dictionary,
                               struct store_fixture *store_fixture, const char *offered,
                               const int64_t *want, size_t want_count)
{
    struct fixture *fixture = store_fixture->fixture;
    int64_t *numbers = NULL;
    size_t count = 0;

    check_db(weir_dictionary_fulfilled(dictionary, store_fixture->connection,
                                       weir_str(offered), &numbers, &count,
                                       &fixture->error),
             WEIR_OK);
    check_int(count, want_count + 1);
    check_int(numbers[0], 0);
    for (size_t i = 0; i < want_count; i++) {
        size_t at = 1;

        while (at < count && numbers[at] != want[i])
            at++;
        check(at < count);
    }
    weir_heap_free(&fixture->heap.heap, numbers);
}

static void check_fulfilled(struct store_fixture *store_fixture, const char *offered,
                            const int64_t *want, size_t want_count)
{
    check_fulfilled_by(store_fixture->dictionary, store_fixture, offered, want,
                       want_count);
}

FLOW_TEST(dictionary, knows_which_sets_a_worker_fulfils)
{
    struct weir_dictionary *other = open_another(fixture);
    struct store_fixture store_fixture;
    int64_t sets[4];
    int64_t number;

    store_fixture_open(&store_fixture, fixture);
    store_fixture_commit(&store_fixture);
    sets[0] = store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, ",gpu,");
    sets[1] = store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, ",gpu,linux,");
    sets[2] = store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, ",linux,");
    (void)store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, ",gp,");

    check_fulfilled(&store_fixture, "", NULL, 0);
    check_fulfilled(&store_fixture, ",gpu,", sets, 1);
    check_fulfilled(&store_fixture, ",gpu,linux,", sets, 3);
    check_fulfilled(&store_fixture, ",arm,gpu,gpus,linux,zz,", sets, 3);

    /* Added by another process. */
    check_db(weir_dictionary_number(other, store_fixture.connection,
                                    WEIR_TERM_CAPABILITY_SET, weir_str(",arm,"), &number,
                                    &fixture->error),
             WEIR_OK);
    sets[3] = number;
    check_fulfilled(&store_fixture, ",arm,gpu,linux,", sets, 4);
    store_fixture_close(&store_fixture);
    weir_dictionary_destroy(other);
}

/* Its memory is full of lanes, or has room for some of the sets. */
FLOW_TEST(dictionary, knows_the_sets_that_it_cannot_remember)
{
    enum { SETS = 40 };
    struct store_fixture store_fixture;
    int64_t sets[SETS];

    store_fixture_open(&store_fixture, fixture);
    store_fixture_commit(&store_fixture);
    for (int i = 0; i < SETS; i++) {
        char set[32];

        (void)snprintf(set, sizeof set, ",c%d,gpu,", i);
        sets[i] = store_fixture_term(&store_fixture, WEIR_TERM_CAPABILITY_SET, set);
    }
    for (size_t room = 1; room <= SETS; room += 13) {
        struct weir_dictionary *small = open_with(fixture, room);

        (void)find(&store_fixture, small, "orders");
        for (int again = 0; again < 2; again++) {
            check_fulfilled_by(small, &store_fixture, ",c0,gpu,", &sets[0], 1);
            check_fulfilled_by(small, &store_fixture, ",c39,gpu,", &sets[39], 1);
            check_fulfilled_by(small, &store_fixture, ",c1,c2,c38,gpu,",
                               (int64_t[]){sets[1], sets[2], sets[38]}, 3);
        }
        weir_dictionary_destroy(small);
    }
    store_fixture_close(&store_fixture);
}

#define BACKOFF "backoff=0 initial_ms=9 multiplier=2.000000000 max_ms=9"

WEIR_TEST(policy, is_a_text_and_back)
{
    struct weir_execution_policy policy = store_fixture_policy();
    struct weir_execution_policy back;
    char text[WEIR_POLICY_TEXT_SIZE];

    weir_policy_format(&policy, text);

    check_str(text, "retries=3 backoff=1 initial_ms=1500 multiplier=1.100000000 "
                    "max_ms=60000 attempt_ms=7 reclaims=1000000 replays=10");
    check(weir_policy_parse(weir_str(text), &back));
    check_int(back.reclaims_max, WEIR_RECLAIMS_MAX_MAX);
    check(back.backoff_multiplier == 1.1);
    check(!weir_policy_parse(weir_str("retries=3"), &back));
    check(!weir_policy_parse(weir_str(""), &back));
    (void)snprintf(text + strlen(text), 8, " x=1");
    check(!weir_policy_parse(weir_str(text), &back));
}

WEIR_TEST(policy, of_the_largest_numbers_fits)
{
    struct weir_execution_policy policy = {
        .retries_max = WEIR_RETRIES_MAX_MAX,
        .backoff_initial_ms = WEIR_EXECUTION_DURATION_MS_MAX,
        .backoff_multiplier = 1000,
        .backoff_max_ms = WEIR_EXECUTION_DURATION_MS_MAX,
        .attempt_timeout_ms = WEIR_EXECUTION_DURATION_MS_MAX,
        .reclaims_max = WEIR_RECLAIMS_MAX_MAX,
        .replays_max = WEIR_REPLAYS_MAX_MAX,
    };
    struct weir_execution_policy back;
    char text[WEIR_POLICY_TEXT_SIZE];

    weir_policy_format(&policy, text);

    check(weir_policy_parse(weir_str(text), &back));
    check(back.backoff_multiplier == 1000);
    check(back.attempt_timeout_ms == WEIR_EXECUTION_DURATION_MS_MAX);
}

/* A row that another program has written. */
WEIR_TEST(policy, that_is_out_of_range_or_spelled_otherwise_is_refused)
{
    static const char *const TEXTS[] = {
        "retries=1000001 " BACKOFF " attempt_ms=7 reclaims=1 replays=1",
        "retries=-1 " BACKOFF " attempt_ms=7 reclaims=1 replays=1",
        "retries=4294967297 " BACKOFF " attempt_ms=7 reclaims=1 replays=1",
        "retries= 1 " BACKOFF " attempt_ms=7 reclaims=1 replays=1",
        "retries=1 " BACKOFF " attempt_ms=-7 reclaims=1 replays=1",
        "retries=1 " BACKOFF " attempt_ms=99999999999999999999 reclaims=1 replays=1",
        "retries=1 " BACKOFF " attempt_ms=7 reclaims=1000001 replays=1",
        "retries=1 " BACKOFF " attempt_ms=7 reclaims=1 replays=1001",
        "retries=1 backoff=0 initial_ms=9 multiplier=1.-10000000 max_ms=9 attempt_ms=7"
        " reclaims=1 replays=1",
        "retries=1 backoff=0 initial_ms=9 multiplier=0.500000000 max_ms=9 attempt_ms=7"
        " reclaims=1 replays=1",
        "retries=1 backoff=0 initial_ms=9 multiplier=2.000000000 max_ms=8 attempt_ms=7"
        " reclaims=1 replays=1",
        "retries=1 backoff=2 initial_ms=9 multiplier=2.000000000 max_ms=9 attempt_ms=7"
        " reclaims=1 replays=1",
    };
    struct weir_execution_policy back;

    check(weir_policy_parse(
        weir_str("retries=1 " BACKOFF " attempt_ms=7 reclaims=1 replays=1"), &back));
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        if (weir_policy_parse(weir_str(TEXTS[i]), &back))
            weir_test_fail(__FILE__, __LINE__, "%s", TEXTS[i]);
    }
    check(!weir_policy_parse((struct weir_str){NULL, 0}, &back));
}
