/*
 * Tests of base/assert.c. What ends the process is done by a child, which tells through a
 * pipe what its hook heard.
 */
#include "base/assert.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/test.h"

struct death {
    int signal_number; /* 0 when the child was not killed */
    char heard[512];   /* "condition file;" for each call of the hook */
};

static int pipe_to_parent = -1; /* in the child */

static struct death watch_child(void (*run)(void));
static void die_with_hook(void);
static void die_without_hook(void);
static void die_with_hook_taken_away(void);
static void die_inside_the_hook(void);
static void live(void);
static void tell(const char *condition, const char *file, int line);
static void tell_and_break_a_rule(const char *condition, const char *file, int line);

WEIR_TEST(assert, tells_the_hook_and_aborts)
{
    struct death death = watch_child(die_with_hook);

    check_int(death.signal_number, SIGABRT);
    check(strncmp(death.heard, "1 + 1 == 3 ", 11) == 0);
    check(strstr(death.heard, "test_assert.c;") != NULL);
}

WEIR_TEST(assert, aborts_without_a_hook)
{
    struct death death = watch_child(die_without_hook);

    check_int(death.signal_number, SIGABRT);
    check_str(death.heard, "");
}

WEIR_TEST(assert, forgets_a_hook_that_was_taken_away)
{
    struct death death = watch_child(die_with_hook_taken_away);

    check_int(death.signal_number, SIGABRT);
    check_str(death.heard, "");
}

WEIR_TEST(assert, calls_the_hook_once_even_if_it_breaks_a_rule_itself)
{
    struct death death = watch_child(die_inside_the_hook);

    check_int(death.signal_number, SIGABRT);
    check(strchr(death.heard, ';') != NULL);
    check(strchr(death.heard, ';') == strrchr(death.heard, ';'));
}

WEIR_TEST(assert, lets_pass_what_holds)
{
    struct death death = watch_child(live);

    check_int(death.signal_number, 0);
    check_str(death.heard, "");
}

/*
 * Run it in a child and collect how it ended. The test program's own signal handlers
 * would report a failed test, and a core file would be litter: the child has neither. A
 * child that does not end is killed by its alarm.
 */
static struct death watch_child(void (*run)(void))
{
    struct death death = {.signal_number = 0};
    size_t size = 0;
    ssize_t got;
    int ends[2];
    int result;
    pid_t child;

    check_int(pipe(ends), 0);
    child = fork();
    check(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        alarm(20);
        setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = 0, .rlim_max = 0});
        close(ends[0]);
        pipe_to_parent = ends[1];
        run();
        _exit(0);
    }

    close(ends[1]);
    while ((got = read(ends[0], death.heard + size, sizeof death.heard - 1 - size)) > 0)
        size += (size_t)got;
    close(ends[0]);
    check_int(waitpid(child, &result, 0), child);
    if (WIFSIGNALED(result))
        death.signal_number = WTERMSIG(result);
    return death;
}

static void die_with_hook(void)
{
    weir_assert_set_hook(tell);
    WEIR_ASSERT(1 + 1 == 3);
}

static void die_without_hook(void)
{
    WEIR_ASSERT(1 + 1 == 3);
}

static void die_with_hook_taken_away(void)
{
    weir_assert_set_hook(tell);
    weir_assert_set_hook(NULL);
    WEIR_ASSERT(1 + 1 == 3);
}

static void die_inside_the_hook(void)
{
    weir_assert_set_hook(tell_and_break_a_rule);
    WEIR_ASSERT(1 + 1 == 3);
}

static void live(void)
{
    weir_assert_set_hook(tell);
    WEIR_ASSERT(1 + 1 == 2);
}

static void tell(const char *condition, const char *file, int line)
{
    (void)line;
    dprintf(pipe_to_parent, "%s %s;", condition, file);
}

static void tell_and_break_a_rule(const char *condition, const char *file, int line)
{
    tell(condition, file, line);
    WEIR_ASSERT(1 + 1 == 4);
}
