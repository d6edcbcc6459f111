/*
 * main.c - runs the registered tests and reports in TAP.
 *
 * cmocka runs the tests and prints "ok 1 - name" or "not ok 1 - name". What is added
 * here is the list of tests, checks that print both sides, and three things cmocka gets
 * wrong for programs with threads, fibers and child processes:
 *
 * 1. It unwinds a failed test by longjmp(), and does so from its signal handler as well.
 *    From another stack than the test's own that is undefined. There we report the test
 *    and let the program die.
 * 2. It replaces the sanitizers' signal handlers during a test. We put our own in front,
 *    which report the test and then hand the signal to whoever had it before cmocka.
 * 3. In a process forked by a test it would report the test as well, and go on with the
 *    next ones there. There a failed check just ends the process; whether the test
 *    failed is for the test to say, who waits for it.
 */
#include "kit/test.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const int DEADLY[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { DEADLY_COUNT = sizeof DEADLY / sizeof DEADLY[0] };

static struct weir_test *first_test;
static struct weir_test **last_link = &first_test;

static struct sigaction actions_before[DEADLY_COUNT]; /* of DEADLY, before cmocka */
static pid_t main_process;
static pthread_t main_thread;
static const char *main_stack; /* lowest address */
static size_t main_stack_size;

static char failure_line[512]; /* "not ok 3 - name", ready for the signal handler */
static int running;            /* number of the running test, from 1 */

static void run_registered(void **state);
static int64_t read_clock_ms(void);
static void find_main_stack(void);
static bool on_main_stack(void);
static void report_death(int signal_number);

void weir_test_register(struct weir_test *test)
{
    *last_link = test;
    last_link = &test->next;
}

/* Every word is in the name, and none that has a minus in front. */
static bool is_wanted(const char *name, char *const *words)
{
    for (; *words != NULL; words++) {
        bool unwanted = (*words)[0] == '-';

        if ((strstr(name, *words + unwanted) != NULL) == unwanted)
            return false;
    }
    return true;
}

/* `--list` prints the names, for script/test. */
static int list(char *const *words)
{
    for (struct weir_test *test = first_test; test != NULL; test = test->next)
        if (is_wanted(test->name, words))
            puts(test->name);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct CMUnitTest *tests = NULL;
    size_t count = 0;
    int failed_count;

    if (argc > 1 && strcmp(argv[1], "--list") == 0)
        return list(argv + 2);
    setvbuf(stdout, NULL, _IOLBF, 0); /* a killed program loses nothing */
    main_process = getpid();
    find_main_stack();
    for (int i = 0; i < DEADLY_COUNT; i++)
        sigaction(DEADLY[i], NULL, &actions_before[i]);

    for (struct weir_test *test = first_test; test != NULL; test = test->next)
        count++;
    tests = calloc(count + 1, sizeof *tests);
    if (tests == NULL)
        return EXIT_FAILURE;
    count = 0;
    for (struct weir_test *test = first_test; test != NULL; test = test->next) {
        if (is_wanted(test->name, argv + 1))
            tests[count++] = (struct CMUnitTest){
                .name = test->name, .test_func = run_registered, .initial_state = test};
    }

    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed_count = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    free(tests);
    /* Not the number itself: 256 failures would be a success. */
    return count > 0 && failed_count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

unsigned weir_test_tries(void)
{
    const char *text = getenv("WEIR_TRIES");
    unsigned long tries = text != NULL ? strtoul(text, NULL, 10) : 1;

    return tries > 0 ? (unsigned)tries : 1;
}

void weir_test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;

    printf("# %s:%d: check failed: ", file, line);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    if (getpid() != main_process) {
        (void)fflush(stdout);
        _exit(EXIT_FAILURE);
    }
    if (!on_main_stack()) {
        printf("# not on the test's own stack, so the program ends here\n");
        abort();
    }
    _fail(file, line);
    abort(); /* not reached; cmocka does not declare it */
}

void weir_test_check_status(const char *file, int line, const char *text,
                            enum weir_status got, enum weir_status want)
{
    if (got != want)
        weir_test_fail(file, line, "%s: got %s, want %s", text, weir_status_name(got),
                       weir_status_name(want));
}

void weir_test_check_int(const char *file, int line, const char *text, intmax_t got,
                         intmax_t want)
{
    if (got != want)
        weir_test_fail(file, line, "%s: got %jd, want %jd", text, got, want);
}

void weir_test_check_str(const char *file, int line, const char *text, const char *got,
                         const char *want)
{
    if (got == want)
        return;
    if (got == NULL || want == NULL || strcmp(got, want) != 0)
        weir_test_fail(file, line, "%s: got \"%s\", want \"%s\"", text,
                       got != NULL ? got : "(null)", want != NULL ? want : "(null)");
}

void weir_test_check_in_range(const char *file, int line, const char *text, intmax_t got,
                              intmax_t lo, intmax_t hi)
{
    if (got < lo || got > hi)
        weir_test_fail(file, line, "%s: got %jd, want %jd to %jd", text, got, lo, hi);
}

/* What cmocka calls for every test. It takes its own handlers back afterwards. In front
 * of the line of a test that passes stands its time, for whoever wonders where that of
 * the run went. */
static void run_registered(void **state)
{
    const struct weir_test *test = *state;
    struct sigaction report = {.sa_handler = report_death};
    int64_t begin_ms = read_clock_ms();

    running++;
    snprintf(failure_line, sizeof failure_line, "not ok %d - %s\n", running, test->name);
    for (int i = 0; i < DEADLY_COUNT; i++)
        sigaction(DEADLY[i], &report, NULL);

    test->run();
    printf("# %" PRId64 " ms\n", read_clock_ms() - begin_ms);
}

static int64_t read_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void find_main_stack(void)
{
    pthread_attr_t attributes;
    void *address;

    main_thread = pthread_self();
    if (pthread_getattr_np(main_thread, &attributes) != 0)
        abort();
    pthread_attr_getstack(&attributes, &address, &main_stack_size);
    pthread_attr_destroy(&attributes);
    main_stack = address;
}

static bool on_main_stack(void)
{
    const char *here = __builtin_frame_address(0);

    return pthread_equal(pthread_self(), main_thread) && here >= main_stack &&
           here < main_stack + main_stack_size;
}

/*
 * Say which test it was, then let the signal happen again: returning from here repeats
 * the faulting instruction, and abort() raises once more by itself.
 */
static void report_death(int signal_number)
{
    if (getpid() == main_process) {
        ssize_t ignored = write(STDOUT_FILENO, failure_line, strlen(failure_line));

        (void)ignored;
    }
    for (int i = 0; i < DEADLY_COUNT; i++) {
        if (DEADLY[i] == signal_number)
            sigaction(signal_number, &actions_before[i], NULL);
    }
}
