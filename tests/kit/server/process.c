/*
 * process.c - see process.h.
 */
#include "kit/server/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kit/test.h"

enum { ARGUMENTS_MAX = 64, PATH_SIZE = 300, FILES_MAX = 1024 };
enum { END_MS_MAX = 60000, POLL_MS = 2 };

/* All that the child needs, made before fork(): only few calls are safe after it. */
struct launch {
    char *arguments[ARGUMENTS_MAX];
    char log[PATH_SIZE];
    const char *folder;
    bool changes_user;
    uid_t uid;
    gid_t gid;
    int death_signal;
    pid_t parent;
};

static void become(const struct launch *launch);

pid_t process_start(const struct process_options *options, const char *const *arguments)
{
    struct launch launch = {.folder = options->folder,
                            .death_signal = options->death_signal,
                            .parent = getpid()};
    int count = 0;
    pid_t pid;

    if (geteuid() == 0 && options->user != NULL) {
        struct passwd *user = getpwnam(options->user);

        if (user == NULL)
            weir_test_fail(__FILE__, __LINE__, "no user \"%s\" to run \"%s\"",
                           options->user, arguments[0]);
        launch.changes_user = true;
        launch.uid = user->pw_uid;
        launch.gid = user->pw_gid;
    }
    snprintf(launch.log, sizeof launch.log, "%s/log", options->folder);
    for (; arguments[count] != NULL; count++) {
        check(count < ARGUMENTS_MAX - 1);
        launch.arguments[count] = strdup(arguments[count]);
        check(launch.arguments[count] != NULL);
    }

    pid = fork();
    if (pid == 0)
        become(&launch);
    while (count > 0)
        free(launch.arguments[--count]);
    check(pid > 0);
    return pid;
}

void process_run(const struct process_options *options, const char *const *arguments)
{
    pid_t pid = process_start(options, arguments);
    int result;

    if (waitpid(pid, &result, 0) != pid || result != 0) {
        process_print_log(options->folder);
        weir_test_fail(__FILE__, __LINE__, "\"%s\" failed", arguments[0]);
    }
}

bool process_has_ended(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) == pid;
}

int process_end(pid_t pid, int signal_number)
{
    int result = 0;

    (void)kill(pid, signal_number);
    for (int i = 0; waitpid(pid, &result, WNOHANG) == 0; i++) {
        if (i > END_MS_MAX / POLL_MS)
            weir_test_fail(__FILE__, __LINE__, "process %d does not end", (int)pid);
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    return result;
}

void process_print_log(const char *folder)
{
    char path[PATH_SIZE];
    char line[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/log", folder);
    file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fseek(file, -4096, SEEK_END) != 0)
        rewind(file);
    while (fgets(line, sizeof line, file) != NULL)
        printf("# %s%s", line, strchr(line, '\n') != NULL ? "" : "\n");
    fclose(file);
}

/* In the child. Never returns. */
static void become(const struct launch *launch)
{
    static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    static char language[] = "LC_ALL=C";
    static char *const ENVIRONMENT[] = {path, language, NULL};
    sigset_t none;
    int nowhere, words;

    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (launch->changes_user &&
        (setgroups(0, NULL) != 0 || setgid(launch->gid) != 0 || setuid(launch->uid) != 0))
        _exit(126);
    if (launch->death_signal != 0) {
        prctl(PR_SET_PDEATHSIG,
              launch->death_signal); /* after setuid(), which forgets it */
        if (getppid() != launch->parent)
            _exit(126);
    }
    nowhere = open("/dev/null", O_RDONLY);
    words = open(launch->log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (nowhere < 0 || words < 0 || chdir(launch->folder) != 0)
        _exit(126);
    dup2(nowhere, STDIN_FILENO);
    dup2(words, STDOUT_FILENO);
    dup2(words, STDERR_FILENO);
    for (int file = 3; file < FILES_MAX; file++)
        close(file);
    execve(launch->arguments[0], launch->arguments, ENVIRONMENT);
    _exit(127);
}
