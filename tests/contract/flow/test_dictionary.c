/*
 * Terms: one number for each, in all processes, whatever becomes of transactions.
 */
#include "contract/flow/shop.h"

static int64_t find(struct shop *shop, struct weir_dictionary *dictionary,
                    const char *text)
{
    struct fixture *fixture = shop->fixture;
    int64_t number = 0;

    check_db(weir_dictionary_find(dictionary, shop->connection, WEIR_TERM_LANE,
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
    struct shop shop;

    shop_open(&shop, fixture);

    check_int(shop_term(&shop, WEIR_TERM_LANE, "orders"), shop.lane);
    check_int(find(&shop, other, "orders"), shop.lane);
    check(shop_term(&shop, WEIR_TERM_LANE, "Orders") != shop.lane);
    check(shop_term(&shop, WEIR_TERM_CAPABILITY_SET, "orders") != shop.lane);
    check_int(find(&shop, other, "nobody's"), -1);
    shop_close(&shop);
    weir_dictionary_destroy(other);
}

FLOW_TEST(dictionary, says_what_a_number_stands_for)
{
    struct weir_dictionary *other = open_another(fixture);
    struct weir_execution_policy policy;
    char buffer[WEIR_TERM_SIZE_MAX + 1];
    struct weir_str text;
    struct shop shop;

    shop_open(&shop, fixture);

    check_db(weir_dictionary_text(other, shop.connection, WEIR_TERM_LANE, shop.lane,
                                  buffer, &text, &fixture->error),
             WEIR_OK);
    shop_is(text, "orders");
    check_db(weir_dictionary_policy(other, shop.connection, shop.policy, &policy,
                                    &fixture->error),
             WEIR_OK);
    check(policy.backoff_multiplier == 1.1);
    check_db(weir_dictionary_policy(other, shop.connection, shop.lane, &policy,
                                    &fixture->error),
             WEIR_SCHEMA);
    check_db(weir_dictionary_text(other, shop.connection, WEIR_TERM_LANE, 4711, buffer,
                                  &text, &fixture->error),
             WEIR_SCHEMA);
    check_str(fixture->error.text, "there is no term 4711 of kind 1");
    shop_close(&shop);
    weir_dictionary_destroy(other);
}

FLOW_TEST(dictionary, takes_the_largest_set_of_capabilities)
{
    char text[WEIR_TERM_SIZE_MAX + 1];
    struct shop shop;
    int64_t number;

    for (size_t i = 0; i < WEIR_TERM_SIZE_MAX; i++)
        text[i] = i % 16 == 0 ? ',' : (char)('a' + (i * i / 7 + i / 16) % 26);
    text[WEIR_TERM_SIZE_MAX - 1] = ',';
    text[WEIR_TERM_SIZE_MAX] = '\0';
    shop_open(&shop, fixture);

    number = shop_term(&shop, WEIR_TERM_CAPABILITY_SET, text);

    check_int(shop_term(&shop, WEIR_TERM_CAPABILITY_SET, text), number);
    shop_close(&shop);
}

/* SQLite gives the number to another one afterwards. */
FLOW_TEST(dictionary, forgets_what_a_transaction_has_undone)
{
    char buffer[WEIR_TERM_SIZE_MAX + 1];
    struct weir_str text;
    struct shop shop;
    int64_t undone;
    int64_t number;

    shop_open(&shop, fixture);
    undone = shop_term(&shop, WEIR_TERM_LANE, "undone");
    check_int(shop_term(&shop, WEIR_TERM_LANE, "undone"), undone);
    check_db(weir_dictionary_text(shop.dictionary, shop.connection, WEIR_TERM_LANE,
                                  undone, buffer, &text, &fixture->error),
             WEIR_OK);
    weir_connection_rollback(shop.connection);

    check_int(find(&shop, shop.dictionary, "undone"), -1);
    number = shop_term(&shop, WEIR_TERM_LANE, "done");

    check_db(weir_dictionary_text(shop.dictionary, shop.connection, WEIR_TERM_LANE,
                                  number, buffer, &text, &fixture->error),
             WEIR_OK);
    shop_is(text, "done");
    shop_close(&shop);
}

/* What it knows it does not ask for again. */
FLOW_TEST(dictionary, remembers_what_is_committed)
{
    struct shop shop;

    shop_open(&shop, fixture);
    shop_commit(&shop);
    fixture_prepare(fixture, "DELETE FROM {p}_term");

    check_int(find(&shop, shop.dictionary, "orders"), shop.lane);

    shop_close(&shop);
}

static void check_fulfilled_by(struct weir_dictionary *dictionary, struct shop *shop,
                               const char *offered, const int64_t *want,
                               size_t want_count)
{
    struct fixture *fixture = shop->fixture;
    int64_t *numbers = NULL;
    size_t count = 0;

    check_db(weir_dictionary_fulfilled(dictionary, shop->connection, weir_str(offered),
                                       &numbers, &count, &fixture->error),
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

static void check_fulfilled(struct shop *shop, const char *offered, const int64_t *want,
                            size_t want_count)
{
    check_fulfilled_by(shop->dictionary, shop, offered, want, want_count);
}

FLOW_TEST(dictionary, knows_which_sets_a_worker_fulfils)
{
    struct weir_dictionary *other = open_another(fixture);
    struct shop shop;
    int64_t sets[4];
    int64_t number;

    shop_open(&shop, fixture);
    shop_commit(&shop);
    sets[0] = shop_term(&shop, WEIR_TERM_CAPABILITY_SET, ",gpu,");
    sets[1] = shop_term(&shop, WEIR_TERM_CAPABILITY_SET, ",gpu,linux,");
    sets[2] = shop_term(&shop, WEIR_TERM_CAPABILITY_SET, ",linux,");
    (void)shop_term(&shop, WEIR_TERM_CAPABILITY_SET, ",gp,");

    check_fulfilled(&shop, "", NULL, 0);
    check_fulfilled(&shop, ",gpu,", sets, 1);
    check_fulfilled(&shop, ",gpu,linux,", sets, 3);
    check_fulfilled(&shop, ",arm,gpu,gpus,linux,zz,", sets, 3);

    /* Added by another process. */
    check_db(weir_dictionary_number(other, shop.connection, WEIR_TERM_CAPABILITY_SET,
                                    weir_str(",arm,"), &number, &fixture->error),
             WEIR_OK);
    sets[3] = number;
    check_fulfilled(&shop, ",arm,gpu,linux,", sets, 4);
    shop_close(&shop);
    weir_dictionary_destroy(other);
}

/* Its memory is full of lanes, or has room for some of the sets. */
FLOW_TEST(dictionary, knows_the_sets_that_it_cannot_remember)
{
    enum { SETS = 40 };
    struct shop shop;
    int64_t sets[SETS];

    shop_open(&shop, fixture);
    shop_commit(&shop);
    for (int i = 0; i < SETS; i++) {
        char set[32];

        (void)snprintf(set, sizeof set, ",c%d,gpu,", i);
        sets[i] = shop_term(&shop, WEIR_TERM_CAPABILITY_SET, set);
    }
    for (size_t room = 1; room <= SETS; room += 13) {
        struct weir_dictionary *small = open_with(fixture, room);

        (void)find(&shop, small, "orders");
        for (int again = 0; again < 2; again++) {
            check_fulfilled_by(small, &shop, ",c0,gpu,", &sets[0], 1);
            check_fulfilled_by(small, &shop, ",c39,gpu,", &sets[39], 1);
            check_fulfilled_by(small, &shop, ",c1,c2,c38,gpu,",
                               (int64_t[]){sets[1], sets[2], sets[38]}, 3);
        }
        weir_dictionary_destroy(small);
    }
    shop_close(&shop);
}

#define BACKOFF "backoff=0 initial_ms=9 multiplier=2.000000000 max_ms=9"

WEIR_TEST(policy, is_a_text_and_back)
{
    struct weir_execution_policy policy = shop_policy();
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
        .backoff_initial_ms = WEIR_FLOW_DURATION_MS_MAX,
        .backoff_multiplier = 1000,
        .backoff_max_ms = WEIR_FLOW_DURATION_MS_MAX,
        .attempt_timeout_ms = WEIR_FLOW_DURATION_MS_MAX,
        .reclaims_max = WEIR_RECLAIMS_MAX_MAX,
        .replays_max = WEIR_REPLAYS_MAX_MAX,
    };
    struct weir_execution_policy back;
    char text[WEIR_POLICY_TEXT_SIZE];

    weir_policy_format(&policy, text);

    check(weir_policy_parse(weir_str(text), &back));
    check(back.backoff_multiplier == 1000);
    check(back.attempt_timeout_ms == WEIR_FLOW_DURATION_MS_MAX);
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
