/*
 * test.h - how a test is written here.
 *
 *   WEIR_TEST(gate, lets_the_oldest_waiter_in_first)
 *   {
 *       ...arrange...
 *
 *       ...act...
 *
 *       check_status(weir_gate_enter(gate), WEIR_OK);
 *   }
 *
 * A test registers itself under `gate__lets_the_oldest_waiter_in_first`; the tests of a
 * program run in the order of their definition, in one process. `main` is provided:
 * `test_gate` runs them all, `test_gate oldest` those whose name contains the word,
 * `test_gate oldest -first` of these the ones whose name does not contain the other.
 * `--list` in front only prints the names.
 *
 * Failure  The first failing check ends its test and the next test runs. A check that
 *          fails on another thread or on a fiber's stack cannot unwind the test and
 *          ends the program; so does a crash. Both are reported as a failed test.
 */
#ifndef WEIR_TEST_H
#define WEIR_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/status.h>

struct weir_test {
    const char *name;
    void (*run)(void);
    struct weir_test *next; /* in order of definition */
};

#define WEIR_TEST(subject, claim)                                                        \
    static void test_##subject##__##claim(void);                                         \
    __attribute__((constructor)) static void register_##subject##__##claim(void)         \
    {                                                                                    \
        static struct weir_test test = {                                                 \
            .name = #subject "__" #claim,                                                \
            .run = test_##subject##__##claim,                                            \
        };                                                                               \
        weir_test_register(&test);                                                       \
    }                                                                                    \
    static void test_##subject##__##claim(void)

/* The expression holds. */
#define check(expr) ((expr) ? (void)0 : weir_test_fail(__FILE__, __LINE__, "%s", #expr))

/* The call ended with this status; both are printed by name when it did not. */
#define check_status(expr, want)                                                         \
    weir_test_check_status(__FILE__, __LINE__, #expr, (expr), (want))

/* Two whole numbers of any type up to 64 bits are equal. */
#define check_int(got, want)                                                             \
    weir_test_check_int(__FILE__, __LINE__, #got, WEIR_TEST_WHOLE(got),                  \
                        WEIR_TEST_WHOLE(want))

/* Two strings are equal. NULL equals NULL only. */
#define check_str(got, want) weir_test_check_str(__FILE__, __LINE__, #got, (got), (want))

/* lo <= got <= hi, in whole numbers. */
#define check_in_range(got, lo, hi)                                                      \
    weir_test_check_in_range(__FILE__, __LINE__, #got, WEIR_TEST_WHOLE(got),             \
                             WEIR_TEST_WHOLE(lo), WEIR_TEST_WHOLE(hi))

/* `| 0` does not compile for a double, which a cast alone would silently cut off. */
#define WEIR_TEST_WHOLE(number) ((intmax_t)((number) | 0))

void weir_test_register(struct weir_test *test);

/* How often to run what shows a bug only by chance: once, or WEIR_TRIES times. */
unsigned weir_test_tries(void);

/* End the running test as failed. */
__attribute__((noreturn, format(printf, 3, 4))) void
weir_test_fail(const char *file, int line, const char *format, ...);

void weir_test_check_status(const char *file, int line, const char *text,
                            enum weir_status got, enum weir_status want);
void weir_test_check_int(const char *file, int line, const char *text, intmax_t got,
                         intmax_t want);
void weir_test_check_str(const char *file, int line, const char *text, const char *got,
                         const char *want);
void weir_test_check_in_range(const char *file, int line, const char *text, intmax_t got,
                              intmax_t lo, intmax_t hi);

#endif
