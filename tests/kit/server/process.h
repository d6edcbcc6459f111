/*
 * process.h - other programs, run for a test.
 *
 * Threads  The test's main thread: a program dies with the thread that started it.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_PROCESS_H
#define WEIR_TEST_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process_options {
    const char *user;   /* who runs it when we are root; otherwise we do */
    const char *folder; /* where it runs; what it says is appended to `log` there */
    int death_signal;   /* what it gets when we die; 0: nothing, it lives on */
};

/* arguments[0] is the program's path; NULL at the end. */
pid_t process_start(const struct process_options *options, const char *const *arguments);

/* The same, and wait: it must succeed. */
void process_run(const struct process_options *options, const char *const *arguments);

/* It has ended by itself, and is forgotten. */
bool process_has_ended(pid_t pid);

/* Send a signal and wait for the end, which must come within a minute. Returns how it
 * ended, as waitpid() says it. */
int process_end(pid_t pid, int signal_number);

/* The end of a folder's log, as comments of the test. */
void process_print_log(const char *folder);

#endif
