/*
 * temp_dir.c - see temp_dir.h.
 */
#include "kit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/test.h"

/* For a shell whose $0 is the folder: also what a test mounted there and did not come to
 * unmount. */
#define REMOVE                                                                           \
    "{ grep -F \" $0/\" /proc/mounts | while read -r _ place _; do "                     \
    "umount -l \"$place\"; done; rm -rf \"$0\"; }"

static pid_t owner; /* the process whose folders these are: not one forked by a test */
static bool ours;
static char run_folder[TEMP_DIR_SIZE];
static char program_folder[TEMP_DIR_SIZE + 16];
static char disk_folder[TEMP_DIR_SIZE];
static void (*before_end)(void);

static void make_temporary(char *folder);
static void keep_watch_over(const char *folder);
static void end_places(void);

const char *temp_dir_of_run(void)
{
    const char *given = getenv("WEIR_RUN_DIR");
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    int length;

    if (run_folder[0] != '\0')
        return run_folder;

    owner = getpid();
    ours = given == NULL || given[0] == '\0';
    if (ours)
        length = snprintf(run_folder, sizeof run_folder, "%s/weir-XXXXXX",
                          parent != NULL ? parent : "/tmp");
    else
        length = snprintf(run_folder, sizeof run_folder, "%s", given);
    check(length > 0 && length < TEMP_DIR_SIZE);
    if (ours)
        make_temporary(run_folder);
    atexit(end_places);
    return run_folder;
}

const char *temp_dir_of_program(void)
{
    const char *run = temp_dir_of_run();

    if (program_folder[0] != '\0')
        return program_folder;
    snprintf(program_folder, sizeof program_folder, "%s/%d", run, (int)getpid());
    if (mkdir(program_folder, 0711) != 0)
        weir_test_fail(__FILE__, __LINE__, "make folder \"%s\": %s", program_folder,
                       strerror(errno));
    return program_folder;
}

const char *temp_dir_on_disk(void)
{
    const char *parent = getenv("TMPDIR");
    int length;

    (void)temp_dir_of_run();
    if (disk_folder[0] != '\0')
        return disk_folder;
    length = snprintf(disk_folder, sizeof disk_folder, "%s/weir-XXXXXX",
                      parent != NULL && parent[0] != '\0' ? parent : "/var/tmp");
    check(length > 0 && length < TEMP_DIR_SIZE);
    make_temporary(disk_folder);
    return disk_folder;
}

bool temp_dir_is_ours(void)
{
    (void)temp_dir_of_run();
    return ours;
}

void temp_dir_before_end(void (*end)(void))
{
    before_end = end;
}

void temp_dir_remove(const char *path)
{
    pid_t pid = fork();

    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", REMOVE, path, (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
}

/* Servers run as somebody else and must be able to pass through. */
static void make_temporary(char *folder)
{
    if (mkdtemp(folder) == NULL || chmod(folder, 0711) != 0)
        weir_test_fail(__FILE__, __LINE__, "make folder \"%s\": %s", folder,
                       strerror(errno));
    keep_watch_over(folder);
}

/*
 * Start a shell that waits until we are gone, however that happens, and then removes the
 * folder. It reads from a pipe whose other end nobody but us has.
 */
static void keep_watch_over(const char *folder)
{
    static const char SCRIPT[] = "cat >/dev/null; i=0; "
                                 "while [ -e \"$0\" ] && [ $i -lt 100 ]; do " REMOVE
                                 " && break; i=$((i + 1)); sleep 0.1; done";
    int ends[2];
    pid_t pid;

    check_int(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY);

        setsid();
        dup2(ends[0], STDIN_FILENO);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", SCRIPT, folder, (char *)NULL);
        _exit(127);
    }
    close(ends[0]); /* and the other end stays open as long as we live */
}

static void end_places(void)
{
    if (getpid() != owner)
        return;
    if (before_end != NULL)
        before_end();
    if (program_folder[0] != '\0')
        temp_dir_remove(program_folder);
    if (disk_folder[0] != '\0')
        temp_dir_remove(disk_folder);
    if (ours)
        temp_dir_remove(run_folder);
}
