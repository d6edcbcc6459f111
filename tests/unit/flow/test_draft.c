/*
 * Tests of execution/draft.c: what may be submitted, what is refused with which status,
 * that the text names field, value and limit, and what an idempotency key stands for.
 */
#include "execution/draft.h"

#include <math.h>
#include <string.h>

#include "kit/test.h"

enum { PARTITIONS = 256 };

/* A draft with lane and kind, and what else the test says. */
#define DRAFT(...)                                                                       \
    (&(struct weir_execution_draft){.lane = "mail", .kind = "send", __VA_ARGS__})

/* The default policy, but for one field. */
#define POLICY(field, value) (policy_init(), policy.field = (value), &policy)

static struct weir_execution_policy policy;

static void policy_init(void)
{
    weir_execution_policy_init(&policy);
}

static void says(const struct weir_error *error, const char *what, const char *value,
                 const char *limit)
{
    const char *const words[] = {what, value, limit};

    for (size_t i = 0; i < 3; i++) {
        if (strstr(error->text, words[i]) == NULL)
            weir_test_fail(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", words[i],
                           error->text);
    }
}

static void accepts(const struct weir_execution_draft *draft)
{
    struct weir_error error;

    if (weir_execution_draft_check(draft, PARTITIONS, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "refused: %s", error.text);
}

static void refuses(const struct weir_execution_draft *draft, enum weir_status want,
                    const char *what, const char *value, const char *limit)
{
    struct weir_error error;

    check_status(weir_execution_draft_check(draft, PARTITIONS, &error), want);
    check_status(error.status, want);
    says(&error, what, value, limit);
    check_status(weir_execution_draft_check(draft, PARTITIONS, NULL), want);
}

static const char *repeat(char c, size_t count)
{
    static char text[1000];

    memset(text, c, count);
    text[count] = '\0';
    return text;
}

/* ---- names ------------------------------------------------------------------------- */

WEIR_TEST(draft, needs_lane_and_kind_only)
{
    accepts(DRAFT(.input = NULL));

    refuses(&(struct weir_execution_draft){.kind = "k"}, WEIR_INVALID, "lane", "NULL",
            "1 to 64");
    refuses(&(struct weir_execution_draft){.lane = "l"}, WEIR_INVALID, "kind", "NULL",
            "1 to 256");
}

WEIR_TEST(lane, has_1_to_64_printable_characters)
{
    accepts(&(struct weir_execution_draft){.lane = repeat('l', 64), .kind = "k"});
    accepts(&(struct weir_execution_draft){.lane = " ~", .kind = "k"});

    refuses(&(struct weir_execution_draft){.lane = "", .kind = "k"}, WEIR_INVALID, "lane",
            "empty", "1 to 64");
    refuses(&(struct weir_execution_draft){.lane = repeat('l', 65), .kind = "k"},
            WEIR_INVALID, "lane", "\"lll", "at most 64");
}

WEIR_TEST(lane, has_no_other_bytes)
{
    for (int c = 1; c < 256; c++) {
        char lane[] = "a?b";

        lane[1] = (char)c;
        check_status(weir_execution_draft_check(
                         &(struct weir_execution_draft){.lane = lane, .kind = "k"},
                         PARTITIONS, NULL),
                     c >= 0x20 && c <= 0x7e ? WEIR_OK : WEIR_INVALID);
    }
}

WEIR_TEST(kind, has_1_to_256_printable_characters)
{
    accepts(&(struct weir_execution_draft){.lane = "l", .kind = repeat('k', 256)});

    refuses(&(struct weir_execution_draft){.lane = "l", .kind = repeat('k', 257)},
            WEIR_INVALID, "kind", "\"kkk", "at most 256");
    refuses(&(struct weir_execution_draft){.lane = "l", .kind = "a\n"}, WEIR_INVALID,
            "kind", "\"a?\"", "0x0a at 1");
}

WEIR_TEST(name_space, is_default_or_1_to_256_printable_characters)
{
    check_str(weir_execution_draft_namespace(DRAFT(.name_space = NULL)), "default");
    check_str(weir_execution_draft_namespace(DRAFT(.name_space = "eu")), "eu");
    accepts(DRAFT(.name_space = repeat('n', 256)));

    refuses(DRAFT(.name_space = ""), WEIR_INVALID, "namespace", "empty", "1 to 256");
    refuses(DRAFT(.name_space = repeat('n', 257)), WEIR_INVALID, "namespace", "\"nnn",
            "at most 256");
}

WEIR_TEST(instance, has_1_to_256_printable_characters_without_blank)
{
    struct weir_error error;

    check_status(weir_instance_check("host-7:4711", NULL), WEIR_OK);
    check_status(weir_instance_check(repeat('i', 256), NULL), WEIR_OK);

    check_status(weir_instance_check("", &error), WEIR_INVALID);
    says(&error, "instance", "empty", "1 to 256");
    check_status(weir_instance_check(repeat('i', 257), &error), WEIR_INVALID);
    says(&error, "instance", "\"iii", "at most 256");
    check_status(weir_instance_check("a b", &error), WEIR_INVALID);
    says(&error, "instance \"a b\"", "at 1", "none");
    check_status(weir_instance_check("a\tb", &error), WEIR_INVALID);
    says(&error, "instance", "\"a?b\"", "0x09");
}

WEIR_TEST(id, of_a_draft_has_a_partition_that_is_there)
{
    struct weir_execution_id id = {.partition = 255};

    accepts(DRAFT(.id = &id));

    id.partition = 256;
    refuses(DRAFT(.id = &id), WEIR_INVALID, "id \"256-0000", "partition 256", "0 to 255");
}

/* ---- sizes and times --------------------------------------------------------------- */

WEIR_TEST(input, has_up_to_a_mebibyte)
{
    accepts(DRAFT(.input = "x", .input_size = 1024 * 1024));
    accepts(DRAFT(.input = "x", .input_size = 0));

    refuses(DRAFT(.input = "x", .input_size = 1024 * 1024 + 1), WEIR_TOO_LARGE, "input",
            "1048577", "at most 1048576");
    refuses(DRAFT(.input = "x", .input_size = SIZE_MAX), WEIR_TOO_LARGE, "input",
            "18446744073709551615", "at most 1048576");
}

WEIR_TEST(input, must_be_there_when_it_has_a_size)
{
    refuses(DRAFT(.input_size = 5), WEIR_INVALID, "input", "NULL", "5 bytes");
}

WEIR_TEST(priority, is_clamped_and_never_wrong)
{
    accepts(DRAFT(.priority = INT32_MIN));
    accepts(DRAFT(.priority = INT32_MAX));

    check_int(weir_priority_clamp(INT32_MIN), 0);
    check_int(weir_priority_clamp(-1), 0);
    check_int(weir_priority_clamp(0), 0);
    check_int(weir_priority_clamp(9000), 9000);
    check_int(weir_priority_clamp(9001), 9000);
    check_int(weir_priority_clamp(INT32_MAX), 9000);
}

WEIR_TEST(delay_and_deadline, are_up_to_a_hundred_years)
{
    accepts(DRAFT(.delay_ms = WEIR_EXECUTION_DURATION_MS_MAX,
                  .deadline_ms = WEIR_EXECUTION_DURATION_MS_MAX));

    refuses(DRAFT(.delay_ms = -1), WEIR_INVALID, "delay_ms", "-1", "from 0 to");
    refuses(DRAFT(.delay_ms = INT64_MAX), WEIR_INVALID, "delay_ms", "9223372036854775807",
            "3155760000000");
    refuses(DRAFT(.deadline_ms = INT64_MIN), WEIR_INVALID, "deadline_ms",
            "-9223372036854775808", "from 0 to");
    refuses(DRAFT(.deadline_ms = WEIR_EXECUTION_DURATION_MS_MAX + 1), WEIR_INVALID,
            "deadline_ms", "3155760000001", "3155760000000");
}

/* ---- policy ------------------------------------------------------------------------ */

WEIR_TEST(policy, has_the_defaults_of_the_specification)
{
    struct weir_execution_policy defaults =
        weir_execution_draft_policy(DRAFT(.id = NULL));

    check_int(defaults.retries_max, 0);
    check_int(defaults.backoff, WEIR_RETRY_EXPONENTIAL);
    check_int(defaults.backoff_initial_ms, 1000);
    check(defaults.backoff_multiplier == 2.0);
    check_int(defaults.backoff_max_ms, 60000);
    check_int(defaults.attempt_timeout_ms, 0);
    check_int(defaults.reclaims_max, 100);
    check_int(defaults.replays_max, 10);
    check_status(weir_execution_policy_check(&defaults, NULL), WEIR_OK);
}

WEIR_TEST(policy, limits_its_counts)
{
    accepts(DRAFT(.policy = POLICY(retries_max, 1000000)));
    accepts(DRAFT(.policy = POLICY(reclaims_max, 0)));
    accepts(DRAFT(.policy = POLICY(replays_max, 1000)));

    refuses(DRAFT(.policy = POLICY(retries_max, 1000001)), WEIR_INVALID,
            "policy.retries_max", "1000001", "at most 1000000");
    refuses(DRAFT(.policy = POLICY(reclaims_max, UINT32_MAX)), WEIR_INVALID,
            "policy.reclaims_max", "4294967295", "at most 1000000");
    refuses(DRAFT(.policy = POLICY(replays_max, 1001)), WEIR_INVALID,
            "policy.replays_max", "1001", "at most 1000");
}

/* One life has an attempt more than retries and reclaims; there is one more than
 * replays. */
WEIR_TEST(policy, keeps_attempts_within_32_bits)
{
    check((INT64_C(1) + WEIR_RETRIES_MAX_MAX + WEIR_RECLAIMS_MAX_MAX) *
              (1 + WEIR_REPLAYS_MAX_MAX) <
          INT32_MAX);
}

WEIR_TEST(policy, knows_two_backoffs)
{
    accepts(DRAFT(.policy = POLICY(backoff, WEIR_RETRY_FIXED)));

    refuses(DRAFT(.policy = POLICY(backoff, (enum weir_retry_backoff)7)), WEIR_INVALID,
            "policy.backoff", "7", "fixed");
}

WEIR_TEST(policy, has_a_multiplier_from_1_to_1000)
{
    accepts(DRAFT(.policy = POLICY(backoff_multiplier, 1)));
    accepts(DRAFT(.policy = POLICY(backoff_multiplier, 1000)));

    refuses(DRAFT(.policy = POLICY(backoff_multiplier, 0.999)), WEIR_INVALID,
            "policy.backoff_multiplier", "0.999", "from 1 to 1000");
    refuses(DRAFT(.policy = POLICY(backoff_multiplier, 1001)), WEIR_INVALID,
            "policy.backoff_multiplier", "1001", "from 1 to 1000");
    refuses(DRAFT(.policy = POLICY(backoff_multiplier, (double)NAN)), WEIR_INVALID,
            "policy.backoff_multiplier", "nan", "from 1 to 1000");
    refuses(DRAFT(.policy = POLICY(backoff_multiplier, (double)INFINITY)), WEIR_INVALID,
            "policy.backoff_multiplier", "inf", "from 1 to 1000");
}

WEIR_TEST(policy, has_times_from_0_to_a_hundred_years)
{
    accepts(DRAFT(.policy = POLICY(backoff_initial_ms, 0)));
    accepts(DRAFT(.policy = POLICY(backoff_max_ms, WEIR_EXECUTION_DURATION_MS_MAX)));
    accepts(DRAFT(.policy = POLICY(attempt_timeout_ms, WEIR_EXECUTION_DURATION_MS_MAX)));

    refuses(DRAFT(.policy = POLICY(backoff_initial_ms, -1)), WEIR_INVALID,
            "policy.backoff_initial_ms", "-1", "from 0 to 3155760000000");
    refuses(DRAFT(.policy = POLICY(backoff_max_ms, INT64_MAX)), WEIR_INVALID,
            "policy.backoff_max_ms", "9223372036854775807", "from 0 to 3155760000000");
    refuses(DRAFT(.policy = POLICY(attempt_timeout_ms, -5)), WEIR_INVALID,
            "policy.attempt_timeout_ms", "-5", "from 0 to 3155760000000");
}

WEIR_TEST(policy, that_grows_ends_no_lower_than_it_begins)
{
    refuses(DRAFT(.policy = POLICY(backoff_max_ms, 999)), WEIR_INVALID,
            "policy.backoff_max_ms", "999", "at least policy.backoff_initial_ms");

    policy_init();
    policy.backoff = WEIR_RETRY_FIXED;
    policy.backoff_max_ms = 0;
    accepts(DRAFT(.policy = &policy));
}

WEIR_TEST(policy, of_zeros_is_refused_and_not_guessed)
{
    struct weir_execution_policy zeros = {0};

    refuses(DRAFT(.policy = &zeros), WEIR_INVALID, "policy.backoff_multiplier", "0",
            "from 1");
}

/* ---- capabilities ------------------------------------------------------------------ */

WEIR_TEST(draft, has_capabilities_by_their_rules)
{
    const char *const good[] = {"gpu", "gpu", ""};
    const char *const bad[] = {"gpu,linux"};

    accepts(DRAFT(.capabilities = good, .capability_count = 3));
    refuses(DRAFT(.capabilities = bad, .capability_count = 1), WEIR_INVALID, "capability",
            "\"gpu,linux\"", "no comma");
    refuses(DRAFT(.capability_count = 257), WEIR_TOO_LARGE, "capabilities", "257",
            "at most 256");
}

/* ---- tags -------------------------------------------------------------------------- */

static bool is_tag_key(const char *key)
{
    return weir_tag_key_check(key, NULL) == WEIR_OK;
}

WEIR_TEST(tag_key, is_a_namespace_a_dot_and_a_field)
{
    check(is_tag_key("tenant.plan"));
    check(is_tag_key("a.b"));
    check(is_tag_key("a1_.0"));
    check(is_tag_key("a._"));
    check(is_tag_key("a.b.c"));
    check(is_tag_key("a.b..c."));

    check(!is_tag_key("x."));
    check(!is_tag_key("x..y"));
    check(!is_tag_key("tenant"));
    check(!is_tag_key(".x"));
    check(!is_tag_key("."));
    check(!is_tag_key("1a.b"));
    check(!is_tag_key("_a.b"));
    check(!is_tag_key("Tenant.plan"));
    check(!is_tag_key("tenant.Plan"));
    check(!is_tag_key("a.b c"));
    check(!is_tag_key("a-b.c"));
    check(!is_tag_key("a.b-c"));
    check(!is_tag_key("a.\xc3\xbc"));
    check(!is_tag_key(" a.b"));
}

WEIR_TEST(tag_key, has_1_to_256_characters)
{
    char key[258];

    memset(key, 'a', sizeof key);
    key[1] = '.';
    key[256] = '\0';
    check(is_tag_key(key));
    key[256] = 'a';
    key[257] = '\0';
    check(!is_tag_key(key));
    check(!is_tag_key(""));
    check(!is_tag_key(NULL));
}

WEIR_TEST(tag, is_refused_with_its_key)
{
    struct weir_tag bad_key = {"Plan", "free"}, no_value = {"a.b", NULL};
    struct weir_tag long_value = {"a.b", repeat('v', 257)}, not_text = {"a.b", "\xff"};

    refuses(DRAFT(.tags = &bad_key, .tag_count = 1), WEIR_INVALID, "tag key", "\"Plan\"",
            "like \"tenant.plan\"");
    refuses(DRAFT(.tags = &no_value, .tag_count = 1), WEIR_INVALID, "tag", "\"a.b\"",
            "NULL");
    refuses(DRAFT(.tags = &long_value, .tag_count = 1), WEIR_TOO_LARGE, "value of tag",
            "\"a.b\"", "at most 256");
    refuses(DRAFT(.tags = &not_text, .tag_count = 1), WEIR_INVALID, "value of tag",
            "\"a.b\"", "UTF-8");
}

WEIR_TEST(tag, has_a_value_of_up_to_256_bytes)
{
    struct weir_tag tags[] = {{"a.b", repeat('v', 256)}, {"a.c", ""}};

    accepts(DRAFT(.tags = tags, .tag_count = 2));
}

WEIR_TEST(tag, is_there_once)
{
    struct weir_tag tags[] = {{"a.b", "1"}, {"a.c", "1"}, {"a.b", "2"}};

    refuses(DRAFT(.tags = tags, .tag_count = 3), WEIR_INVALID, "tag", "\"a.b\"", "once");
}

WEIR_TEST(tags, are_up_to_64)
{
    char keys[65][8] = {""};
    struct weir_tag tags[65];

    for (size_t i = 0; i < 65; i++) {
        keys[i][0] = 'k';
        keys[i][1] = '.';
        keys[i][2] = (char)('a' + i % 26);
        keys[i][3] = (char)('a' + i / 26);
        tags[i] = (struct weir_tag){keys[i], "v"};
    }
    accepts(DRAFT(.tags = tags, .tag_count = 64));
    refuses(DRAFT(.tags = tags, .tag_count = 65), WEIR_TOO_LARGE, "tags", "65",
            "at most 64");
    refuses(DRAFT(.tag_count = 2), WEIR_INVALID, "tags", "NULL", "2 tags");
}

/* ---- idempotency ------------------------------------------------------------------- */

WEIR_TEST(idempotency_key, has_1_to_256_bytes_of_text)
{
    accepts(DRAFT(.idempotency_key = repeat('k', 256)));
    accepts(DRAFT(.idempotency_key = "gr\xc3\xbcn 7"));

    refuses(DRAFT(.idempotency_key = ""), WEIR_INVALID, "idempotency key", "empty",
            "1 to 256");
    refuses(DRAFT(.idempotency_key = repeat('k', 257)), WEIR_TOO_LARGE, "idempotency key",
            "\"kkk", "at most 256");
    refuses(DRAFT(.idempotency_key = "\xc3"), WEIR_INVALID, "idempotency key", "\"?\"",
            "UTF-8");
}

WEIR_TEST(drafts, are_refused_with_the_number_of_the_first_bad_one)
{
    struct weir_execution_draft drafts[] = {
        {.lane = "l", .kind = "k"}, {.lane = "l"}, {.kind = "k"}};
    struct weir_error error;

    check_status(weir_execution_drafts_check(drafts, 1, PARTITIONS, &error), WEIR_OK);
    check_status(weir_execution_drafts_check(drafts, 3, PARTITIONS, &error),
                 WEIR_INVALID);
    says(&error, "draft 2 of 3: ", "kind is NULL", "1 to 256");
    check_status(weir_execution_drafts_check(NULL, 0, PARTITIONS, &error), WEIR_OK);
}

static bool same(const struct weir_execution_draft *a,
                 const struct weir_execution_draft *b)
{
    uint8_t digests[2][WEIR_DRAFT_DIGEST_SIZE];

    accepts(a);
    accepts(b);
    weir_execution_draft_digest(a, digests[0]);
    weir_execution_draft_digest(b, digests[1]);
    return memcmp(digests[0], digests[1], WEIR_DRAFT_DIGEST_SIZE) == 0;
}

static const struct weir_execution_id ID = {.uuid = {1}};

WEIR_TEST(digest, is_the_same_for_the_same_wish)
{
    const char *const some[] = {"gpu", "arm"}, *const same_ones[] = {"arm", "gpu", "arm"};
    struct weir_tag tags[] = {{"a.b", "1"}, {"a.c", "2"}, {"a.a", "3"}};
    struct weir_tag turned[] = {{"a.a", "3"}, {"a.c", "2"}, {"a.b", "1"}};

    policy_init();
    check(
        same(DRAFT(.input = "x", .input_size = 1), DRAFT(.input = "x", .input_size = 1)));
    check(same(DRAFT(.policy = NULL), DRAFT(.policy = &policy)));
    check(same(DRAFT(.priority = 9000), DRAFT(.priority = 12345)));
    check(same(DRAFT(.capabilities = some, .capability_count = 2),
               DRAFT(.capabilities = same_ones, .capability_count = 3)));
    check(
        same(DRAFT(.tags = tags, .tag_count = 3), DRAFT(.tags = turned, .tag_count = 3)));
    check(same(DRAFT(.idempotency_key = "a", .name_space = "x"),
               DRAFT(.idempotency_key = "b", .name_space = "y")));
    check(same(DRAFT(.id = &ID), DRAFT(.id = &ID, .name_space = "default")));
}

/* It is found whatever the namespace; a key is not. */
WEIR_TEST(digest, differs_with_the_namespace_of_an_id)
{
    const char *const budget = "x";

    check(same(DRAFT(.id = &ID, .name_space = "x"), DRAFT(.id = &ID, .name_space = "x")));
    check(!same(DRAFT(.id = &ID), DRAFT(.id = &ID, .name_space = "x")));
    check(
        !same(DRAFT(.id = &ID, .name_space = "x"), DRAFT(.id = &ID, .name_space = "y")));
    check(!same(DRAFT(.id = &ID, .name_space = "x"),
                DRAFT(.id = &ID, .budgets = &budget, .budget_count = 1)));
}

#define UUID "01902c5e-7d1a-7b3c-8f00-0123456789ab"

WEIR_TEST(name, is_utf8_without_comma_and_control_characters)
{
    accepts(DRAFT(.name = "pack"));
    accepts(DRAFT(.name = "gr\xc3\xbc\xc3\x9f {1}"));
    accepts(DRAFT(.name = repeat('n', 256)));

    refuses(DRAFT(.name = ""), WEIR_INVALID, "name", "\"\"", "1 to 256 bytes");
    refuses(DRAFT(.name = "{fp:1}:x"), WEIR_INVALID, "name", "{fp:1}:x", "not begin");
    refuses(DRAFT(.name = "1-" UUID), WEIR_INVALID, "name", "1-" UUID, "is an id");
    accepts(DRAFT(.name = "1-pack"));
    accepts(DRAFT(.name = UUID));
    refuses(DRAFT(.name = "a,b"), WEIR_INVALID, "name", "a,b", "comma");
    refuses(DRAFT(.name = "a\nb"), WEIR_INVALID, "name", "a", "control");
    refuses(DRAFT(.name = "\xff"), WEIR_INVALID, "name", "", "UTF-8");
    refuses(DRAFT(.name = repeat('n', 257)), WEIR_TOO_LARGE, "name", "n", "256 bytes");
}

WEIR_TEST(digest, differs_with_the_name)
{
    check(same(DRAFT(.name = "a"), DRAFT(.name = "a")));
    check(!same(DRAFT(.name = "a"), DRAFT(.name = "b")));
    check(!same(DRAFT(.name = NULL), DRAFT(.name = "a")));
    check(!same(DRAFT(.id = &ID, .name = "a"), DRAFT(.id = &ID, .name_space = "a")));
}

WEIR_TEST(digest, differs_with_every_field)
{
    const char *const capabilities[] = {"gpu"};
    struct weir_tag tag = {"a.b", "1"}, other_value = {"a.b", "2"},
                    other_key = {"a.c", "1"};
    struct weir_execution_id id = {.uuid = {1}};
    const struct weir_execution_draft *plain = DRAFT(.id = NULL);

    check(!same(plain, &(struct weir_execution_draft){.lane = "post", .kind = "send"}));
    check(!same(plain, &(struct weir_execution_draft){.lane = "mail", .kind = "sent"}));
    check(!same(plain, &(struct weir_execution_draft){.lane = "mails", .kind = "end"}));
    check(!same(plain, DRAFT(.input = "x", .input_size = 1)));
    check(!same(plain, DRAFT(.input = "\0", .input_size = 1)));
    check(!same(plain, DRAFT(.priority = 1)));
    check(!same(plain, DRAFT(.delay_ms = 1)));
    check(!same(plain, DRAFT(.deadline_ms = 1)));
    check(!same(DRAFT(.delay_ms = 1), DRAFT(.deadline_ms = 1)));
    check(!same(plain, DRAFT(.capabilities = capabilities, .capability_count = 1)));
    check(!same(plain, DRAFT(.tags = &tag, .tag_count = 1)));
    check(!same(DRAFT(.tags = &tag, .tag_count = 1),
                DRAFT(.tags = &other_value, .tag_count = 1)));
    check(!same(DRAFT(.tags = &tag, .tag_count = 1),
                DRAFT(.tags = &other_key, .tag_count = 1)));
    check(!same(plain, DRAFT(.id = &id)));
}

WEIR_TEST(digest, differs_with_each_of_several_tags)
{
    struct weir_tag tags[] = {{"a.b", "1"}, {"a.c", "2"}, {"a.d", "3"}};

    for (size_t i = 0; i < 3; i++) {
        struct weir_tag others[3];

        memcpy(others, tags, sizeof tags);
        others[i].value = "4";
        check(!same(DRAFT(.tags = tags, .tag_count = 3),
                    DRAFT(.tags = others, .tag_count = 3)));
    }
    check(
        !same(DRAFT(.tags = tags, .tag_count = 3), DRAFT(.tags = tags, .tag_count = 2)));
}

WEIR_TEST(digest, differs_with_every_field_of_the_policy)
{
    const struct weir_execution_draft *plain = DRAFT(.id = NULL);

    check(!same(plain, DRAFT(.policy = POLICY(retries_max, 1))));
    check(!same(plain, DRAFT(.policy = POLICY(backoff, WEIR_RETRY_FIXED))));
    check(!same(plain, DRAFT(.policy = POLICY(backoff_initial_ms, 1))));
    check(!same(plain, DRAFT(.policy = POLICY(backoff_multiplier, 3))));
    check(!same(plain, DRAFT(.policy = POLICY(backoff_max_ms, 70000))));
    check(!same(plain, DRAFT(.policy = POLICY(attempt_timeout_ms, 1))));
    check(!same(plain, DRAFT(.policy = POLICY(reclaims_max, 1))));
    check(!same(plain, DRAFT(.policy = POLICY(replays_max, 1))));
}
