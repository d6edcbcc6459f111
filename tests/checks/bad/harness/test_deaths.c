/* Ways to die; each needs a run of its own, chosen by name. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "kit/test.h"

static ucontext_t test_context;
static ucontext_t fiber_context;

static void *fail_on_a_thread(void *unused)
{
    (void)unused;
    check(false);
    return NULL;
}

static void fail_on_a_fiber(void)
{
    check(false);
}

WEIR_TEST(deaths, passes_before)
{
    check(true);
}

WEIR_TEST(deaths, by_abort)
{
    abort();
}

WEIR_TEST(deaths, by_segfault)
{
    *(volatile int *)NULL = 1;
}

WEIR_TEST(deaths, by_a_check_on_a_thread)
{
    pthread_t thread;

    check(pthread_create(&thread, NULL, fail_on_a_thread, NULL) == 0);
    pthread_join(thread, NULL);
}

WEIR_TEST(deaths, by_a_check_on_a_fiber)
{
    static char stack[64 * 1024];

    check(getcontext(&fiber_context) == 0);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = sizeof stack;
    fiber_context.uc_link = &test_context;
    makecontext(&fiber_context, fail_on_a_fiber, 0);
    swapcontext(&test_context, &fiber_context);
}

/* Both of them fail; the test is one. */
WEIR_TEST(deaths, by_checks_in_a_child_and_here)
{
    pid_t child = fork();
    int result = 0;

    check(child != 0);
    check(waitpid(child, &result, 0) == child && result == 0);
}

WEIR_TEST(deaths, by_an_abort_in_a_child_and_a_check_here)
{
    pid_t child = fork();
    int result = 0;

    if (child == 0)
        abort();
    check(waitpid(child, &result, 0) == child && result == 0);
}

WEIR_TEST(deaths, by_an_early_exit)
{
    _exit(0);
}
