/*
 * Tests of kit/server/server.c: what the others rely on.
 */
#include "kit/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kit/server/process.h"
#include "kit/test.h"

static void comes_back_with_its_data(enum weir_engine engine,
                                     void (*end)(struct server *));
static void dies_with_the_program(enum weir_engine engine);
static void is_run_by(pid_t pid, const char *user);

WEIR_TEST(server, keeps_data_and_port_over_a_stop_on_postgresql)
{
    comes_back_with_its_data(WEIR_POSTGRESQL, server_stop);
}

WEIR_TEST(server, keeps_data_and_port_over_a_stop_on_mariadb)
{
    comes_back_with_its_data(WEIR_MARIADB, server_stop);
}

WEIR_TEST(server, keeps_committed_data_over_a_kill_on_postgresql)
{
    comes_back_with_its_data(WEIR_POSTGRESQL, server_kill);
}

WEIR_TEST(server, keeps_committed_data_over_a_kill_on_mariadb)
{
    comes_back_with_its_data(WEIR_MARIADB, server_kill);
}

WEIR_TEST(server, is_the_same_for_all_who_share_it)
{
    check(server_shared(WEIR_POSTGRESQL) == server_shared(WEIR_POSTGRESQL));
    check(server_shared(WEIR_MARIADB) == server_shared(WEIR_MARIADB));
    check(server_port(server_shared(WEIR_POSTGRESQL)) !=
          server_port(server_shared(WEIR_MARIADB)));
}

WEIR_TEST(server, is_not_run_by_root)
{
    is_run_by(server_pid(server_shared(WEIR_POSTGRESQL)), "postgres");
    is_run_by(server_pid(server_shared(WEIR_MARIADB)), "mysql");
}

/* Settings of a test's own reach the server. */
WEIR_TEST(server, takes_settings)
{
    static const char *const SETTINGS[] = {"fsync=off", NULL};
    struct server_options options = {.settings = SETTINGS};
    struct server *server = server_create(WEIR_POSTGRESQL, &options);

    check_int(server_query(server, NULL,
                           "SELECT count(*) FROM pg_settings "
                           "WHERE name = 'fsync' AND setting = 'off'"),
              1);

    server_destroy(server);
}

WEIR_TEST(server, dies_with_a_program_that_is_killed_on_postgresql)
{
    dies_with_the_program(WEIR_POSTGRESQL);
}

WEIR_TEST(server, dies_with_a_program_that_is_killed_on_mariadb)
{
    dies_with_the_program(WEIR_MARIADB);
}

static void comes_back_with_its_data(enum weir_engine engine,
                                     void (*end)(struct server *))
{
    struct server *server = server_create(engine, NULL);
    uint16_t port = server_port(server);
    pid_t pid = server_pid(server);

    server_create_database(server, "store");
    server_execute(server, "store", "CREATE TABLE item (id INTEGER)");
    server_execute(server, "store", "INSERT INTO item VALUES (17)");

    end(server);
    check(kill(pid, 0) != 0);
    server_restart(server);

    check_int(server_port(server), port);
    check_int(server_query(server, "store", "SELECT id FROM item"), 17);
    server_destroy(server);
}

/*
 * A child starts a server of its own, tells its pid and folder, and is killed. The
 * server must die and, since the child has no run folder, its folder must go.
 */
static void dies_with_the_program(enum weir_engine engine)
{
    char line[512], folder[400], log[SERVER_PATH_SIZE];
    int ends[2];
    pid_t child;
    int server_process;
    FILE *words;

    /* What the child leaves behind comes to us, so that its end can be waited for. */
    check_int(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    check_int(pipe2(ends, O_CLOEXEC), 0);
    snprintf(log, sizeof log, "%s/log", server_folder());
    child = fork();
    check(child >= 0);
    if (child == 0) {
        char path[64], argument[32], out[16];

        snprintf(path, sizeof path, "/proc/self/exe");
        snprintf(argument, sizeof argument, "%d", (int)engine);
        snprintf(out, sizeof out, "%d", dup(ends[1]));
        dup2(open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
        unsetenv("WEIR_RUN_DIR");
        setenv("WEIR_TEST_SERVER_CHILD", argument, 1);
        setenv("WEIR_TEST_SERVER_PIPE", out, 1);
        execl(path, "test_servers", "child__starts", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    words = fdopen(ends[0], "r");
    check(words != NULL);
    if (fgets(line, sizeof line, words) == NULL) {
        process_print_log(server_folder());
        weir_test_fail(__FILE__, __LINE__, "the child could not start a server");
    }
    check_int(sscanf(line, "%d %399s", &server_process, folder), 2);
    check_int(kill(server_process, 0), 0);
    check_int(access(folder, F_OK), 0);

    kill(child, SIGKILL);
    check_int(waitpid(child, NULL, 0), child);

    check_int(waitpid(server_process, NULL, 0), server_process);
    while (access(folder, F_OK) == 0) /* bounded by the program's own limit */
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    fclose(words);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* Only in that child; elsewhere it has nothing to do. */
WEIR_TEST(child, starts_a_server_and_waits_for_the_end)
{
    const char *engine = getenv("WEIR_TEST_SERVER_CHILD");
    const char *out = getenv("WEIR_TEST_SERVER_PIPE");
    struct server *server;

    if (engine == NULL || out == NULL)
        return;
    server = server_create((enum weir_engine)atoi(engine), NULL);
    dprintf(atoi(out), "%d %s\n", (int)server_pid(server), server_folder());
    for (;;)
        pause();
}

static void is_run_by(pid_t pid, const char *user)
{
    char command[128], line[64] = "";
    FILE *words;

    if (geteuid() != 0)
        return;
    snprintf(command, sizeof command, "stat -c %%U /proc/%d", (int)pid);
    words = popen(command, "re");
    check(words != NULL && fgets(line, sizeof line, words) != NULL);
    pclose(words);
    line[strcspn(line, "\n")] = '\0';
    check_str(line, user);
}
