/* Tests of base/random.h. */
#include "base/random.h"

#include "kit/test.h"

enum { DRAW_COUNT = 100000 };

WEIR_TEST(random, repeats_itself_from_its_seed)
{
    struct weir_random a, b;

    weir_random_init(&a, 42);
    weir_random_init(&b, 42);

    for (int i = 0; i < 1000; i++)
        check(weir_random_next(&a) == weir_random_next(&b));
}

/* The published first outputs of splitmix64 from seed 0. A seed that somebody noted has
 * to mean the same in the next version. */
WEIR_TEST(random, is_splitmix64)
{
    struct weir_random random;

    weir_random_init(&random, 0);

    check(weir_random_next(&random) == UINT64_C(0xe220a8397b1dcdaf));
    check(weir_random_next(&random) == UINT64_C(0x6e789e6aa1b965f4));
    check(weir_random_next(&random) == UINT64_C(0x06c45d188009454f));
}

WEIR_TEST(random, differs_from_seed_to_seed)
{
    struct weir_random a, b;

    weir_random_init(&a, 1);
    weir_random_init(&b, 2);

    check(weir_random_next(&a) != weir_random_next(&b));
}

WEIR_TEST(random, stays_below_its_bound)
{
    struct weir_random random;

    weir_random_init(&random, 3);

    for (int i = 0; i < 1000; i++) {
        check_int(weir_random_below(&random, 1), 0);
        check(weir_random_below(&random, 7) < 7);
        check(weir_random_below(&random, UINT32_MAX) < UINT32_MAX);
    }
}

/* 10,000 are expected of each; five standard deviations are about 475. */
WEIR_TEST(random, reaches_each_number_about_equally_often)
{
    struct weir_random random;
    int seen[10] = {0};

    weir_random_init(&random, 4);
    for (int i = 0; i < DRAW_COUNT; i++)
        seen[weir_random_below(&random, 10)]++;

    for (int i = 0; i < 10; i++)
        check_in_range(seen[i], 9500, 10500);
}

WEIR_TEST(random, makes_fractions_from_0_to_below_1)
{
    check(weir_fraction_from_u64(0) == 0.0);
    check(weir_fraction_from_u64(UINT64_C(1) << 63) == 0.5);
    check(weir_fraction_from_u64(UINT64_MAX) < 1.0);
    check(weir_fraction_from_u64(UINT64_MAX) > 0.999999999999999);
}

/* The mix is a bijection, so 0 stays 0, and one bit changes about half of all bits. */
WEIR_TEST(random, spreads_each_bit_when_mixing)
{
    check(weir_mix_u64(0) == 0);
    for (int bit = 0; bit < 64; bit++) {
        uint64_t difference = weir_mix_u64(UINT64_C(12345)) ^
                              weir_mix_u64(UINT64_C(12345) ^ UINT64_C(1) << bit);

        check_in_range(__builtin_popcountll(difference), 12, 52);
    }
}

WEIR_TEST(hash, is_the_same_for_a_text_and_its_bytes)
{
    check(weir_hash_text("mailer") == weir_hash_bytes("mailer", 6));
    check(weir_hash_text("") == weir_hash_bytes(NULL, 0));
}

WEIR_TEST(hash, sees_every_byte)
{
    check(weir_hash_text("mailer") != weir_hash_text("nailer"));
    check(weir_hash_text("mailer") != weir_hash_text("mailes"));
    check(weir_hash_bytes("a\0b", 3) != weir_hash_bytes("a\0c", 3));
    check(weir_hash_bytes("\0", 1) != weir_hash_bytes("\0\0", 2));
}
