/*
 * A bulk requeue that is killed at a named place, and the one after it.
 *
 * The process is this program once more, called with `--requeue`; it never comes to
 * main().
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "kit/server/process.h"
#include "outbox/outbox.h"

enum { MANY = 2 * WEIR_DEAD_LETTER_STEP + 37 };

static void die(void *argument)
{
    (void)argument;
    (void)kill(getpid(), SIGKILL);
}

/* Requeue everything; the second step never ends. */
static int requeue_and_die(const char *url)
{
    struct weir_dead_letter_progress progress;
    struct weir_dead_letter_scope scope;
    struct weir_outbox_options options;
    struct weir_db_options db_options;
    struct weir_outbox *outbox;
    struct weir_fault_points points;

    weir_db_options_init(&db_options);
    weir_outbox_options_init(&options);
    weir_dead_letter_scope_init(&scope);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "requeue.appended", 2, die, NULL);
    db_options.url = url;
    if (weir_db_create(&db_options, &options.db, NULL) != WEIR_OK ||
        weir_outbox_create(&options, &outbox, NULL) != WEIR_OK)
        return EXIT_FAILURE;
    weir_outbox_set_fault_points(outbox, &points);
    return weir_dead_letter_requeue_all(outbox, &scope, NULL, NULL, &progress, NULL) ==
                   WEIR_OK
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

/* Before main(), which knows nothing of it. */
__attribute__((constructor)) static void requeue_instead(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--requeue") == 0)
        exit(requeue_and_die(argv[2]));
}

static int run_and_wait(struct fixture *fixture)
{
    char program[SERVER_PATH_SIZE] = "";
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    const char *arguments[] = {program, "--requeue", fixture->url, NULL};
    struct process_options options = {.folder = server_folder(), .death_signal = SIGKILL};
    pid_t pid;
    int ended = 0;

    check(size > 0);
    pid = process_start(&options, arguments);
    check_int(waitpid(pid, &ended, 0), pid);
    return ended;
}

OUTBOX_TEST(kill, in_a_bulk_requeue_loses_and_doubles_nothing)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);
    struct recorder *recorder = recorder_new();
    struct weir_dead_letter_scope scope = letters_everything();
    struct weir_dead_letter_progress progress;
    int ended;

    letters_make(fixture, "orders", "default", 0, MANY);
    ended = run_and_wait(fixture);
    check(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    wait_until(letters_count(fixture, client, WEIR_DEAD_LETTER_PENDING) ==
               MANY - WEIR_DEAD_LETTER_STEP);
    check_db(weir_dead_letter_requeue_all(client, &scope, NULL, NULL, &progress,
                                          &fixture->error),
             WEIR_OK);
    check_int(progress.done, MANY - WEIR_DEAD_LETTER_STEP);

    outbox_fixture_serve(fixture, client, "orders", recorder);
    outbox_fixture_start(fixture, client);
    wait_until(outbox_fixture_seq(fixture, client, "orders", 0) == 2 * MANY);
    check_int(recorder_count(recorder), MANY);
    for (size_t i = 0; i < MANY; i++) {
        char want[16];

        (void)snprintf(want, sizeof want, "%zu", i + 1);
        check_str(recorder_delivery(recorder, i).payload, want);
    }
    outbox_fixture_close(client);
}
