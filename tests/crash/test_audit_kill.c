/*
 * An operator's action that is killed at each of its calls of the database: its row is
 * there if and only if the action took place.
 *
 * The process is this program once more, called with `--act`; it never comes to main().
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/count.h"
#include "base/fault_point.h"
#include "db/db.h"
#include "kit/outbox/dead_letter_fixture.h"
#include "kit/server/process.h"
#include "outbox/outbox.h"
#include "weir/audit.h"
#include "weir/subscription.h"
#include "weir/token.h"

enum { CALLS_MAX = 200 };

static const struct weir_audit_actor ANNA = {.name = "anna", .origin = WEIR_FROM_CLI};

struct action {
    const char *name;
    const char *done; /* SQL: how often it has taken place */
    enum weir_status (*act)(struct weir_db *db, struct weir_outbox *outbox);
};

static enum weir_status pause_queue(struct weir_db *db, struct weir_outbox *outbox)
{
    (void)db;
    return weir_outbox_pause_queue(outbox, "orders", NULL);
}

static enum weir_status remove_subscription(struct weir_db *db,
                                            struct weir_outbox *outbox)
{
    (void)db;
    return weir_outbox_remove_subscription(outbox, "orders", "default", true, NULL);
}

static enum weir_status requeue_all(struct weir_db *db, struct weir_outbox *outbox)
{
    struct weir_dead_letter_progress progress;
    struct weir_dead_letter_scope scope;

    (void)db;
    weir_dead_letter_scope_init(&scope);
    return weir_dead_letter_requeue_all(outbox, &scope, NULL, NULL, &progress, NULL);
}

static enum weir_status create_token(struct weir_db *db, struct weir_outbox *outbox)
{
    const struct weir_token_options options = {.name = "ci", .scopes = WEIR_SCOPE_READ};
    struct weir_new_token made;

    (void)outbox;
    return weir_token_create(db, NULL, &options, &made, NULL);
}

static const struct action ACTIONS[] = {
    {"pause", "SELECT count(*) FROM weir_queue WHERE paused", pause_queue},
    {"requeue", "SELECT count(*) FROM weir_dead_letter WHERE status = 'resolved'",
     requeue_all},
    {"remove", "SELECT 1 - count(*) FROM weir_subscription", remove_subscription},
    {"token", "SELECT count(*) FROM weir_token", create_token},
};

static void die(void *argument)
{
    (void)argument;
    (void)kill(getpid(), SIGKILL);
}

/* Dies in front of call `at` of the action. */
static int act_and_die(const char *name, const char *url, uint64_t at)
{
    struct weir_outbox_options options;
    struct weir_db_options db_options;
    struct weir_outbox *outbox;
    struct weir_fault_points points;

    weir_db_options_init(&db_options);
    weir_outbox_options_init(&options);
    weir_fault_points_init(&points);
    weir_fault_points_arm_call(&points, "db.lose", at, die, NULL);
    db_options.url = url;
    if (weir_db_create(&db_options, &options.db, NULL) != WEIR_OK ||
        weir_outbox_create(&options, &outbox, NULL) != WEIR_OK)
        return EXIT_FAILURE;
    weir_db_set_fault_points(options.db, &points);
    (void)weir_audit_act_as(&ANNA);
    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++) {
        if (strcmp(ACTIONS[i].name, name) == 0 &&
            ACTIONS[i].act(options.db, outbox) == WEIR_OK)
            return EXIT_SUCCESS;
    }
    return EXIT_FAILURE;
}

/* Before main(), which knows nothing of it. */
__attribute__((constructor)) static void act_instead(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--act") == 0)
        exit(act_and_die(argv[2], argv[3], strtoull(argv[4], NULL, 10)));
}

static int run_and_wait(struct fixture *fixture, const char *name, unsigned at)
{
    char program[SERVER_PATH_SIZE] = "";
    char number[16];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    const char *arguments[] = {program, "--act", name, fixture->url, number, NULL};
    struct process_options options = {.folder = server_folder(), .death_signal = SIGKILL};
    pid_t pid;
    int ended = 0;

    check(size > 0);
    (void)snprintf(number, sizeof number, "%u", at);
    pid = process_start(&options, arguments);
    check_int(waitpid(pid, &ended, 0), pid);
    return ended;
}

/* The server may still be at what the dead process had sent. */
static bool is_settled(struct fixture *fixture, const struct action *action)
{
    return fixture_ask(fixture, action->done) ==
           fixture_ask(fixture, "SELECT count(*) FROM weir_audit WHERE outcome = 'ok'");
}

static void kill_at_each_call(struct fixture *fixture, const struct action *action)
{
    unsigned at = 1;
    int ended = 0;

    fixture_prepare(fixture, "DELETE FROM {p}_audit");
    do {
        ended = run_and_wait(fixture, action->name, at++);
        check(WIFSIGNALED(ended) || WEXITSTATUS(ended) == EXIT_SUCCESS);
        wait_until(is_settled(fixture, action));
        if (fixture_ask(fixture, action->done) > 0)
            break; /* committed, and killed behind it */
    } while (WIFSIGNALED(ended) && at < CALLS_MAX);
    check_int(fixture_ask(fixture, action->done), 1);
    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_audit"), 1);
    check(at > 3);
}

OUTBOX_TEST(audit_kill, at_each_call_leaves_a_row_for_each_action_that_took_place)
{
    struct weir_outbox *client = letters_client(fixture, "orders", 1);

    letters_make(fixture, "orders", "default", 0, 1);
    weir_outbox_destroy(client);
    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++)
        kill_at_each_call(fixture, &ACTIONS[i]);
}
