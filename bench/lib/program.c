/*
 * program.c - see program.h.
 */
#include "lib/program.h"

#include <dirent.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit/server/process.h"
#include "kit/temp_dir.h"
#include "lib/clock.h"
#include "lib/must.h"

enum { PATH_SIZE = 4096, COMMAND_SIZE = 4096 };

/* bench/bench_cli is beside the folder of the program. */
static const char *program_path(void)
{
    static char path[PATH_SIZE + 16];
    char own[PATH_SIZE];
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);

    bench_must(size > 0, "cannot read /proc/self/exe");
    own[size] = '\0';
    (void)snprintf(path, sizeof path, "%s/../weir", dirname(own));
    bench_must(access(path, X_OK) == 0, "the program is not built");
    return path;
}

static struct process_options options(void)
{
    return (struct process_options){.folder = temp_dir_of_program(),
                                    .death_signal = SIGKILL};
}

/* The shell becomes the program, so that the process is the program's. */
static void spell(const char *words, char *command)
{
    int size = snprintf(command, COMMAND_SIZE, "exec \"$0\" --db \"$1\" %s", words);

    bench_must(size < COMMAND_SIZE, "the command is too long");
}

int64_t bench_program_run(const char *url, const char *words)
{
    char command[COMMAND_SIZE];
    const char *arguments[] = {"/bin/sh", "-c", command, program_path(), url, NULL};
    struct process_options how = options();
    int64_t begun_ns;

    spell(words, command);
    begun_ns = bench_now_ns();
    process_run(&how, arguments);
    return bench_now_ns() - begun_ns;
}

pid_t bench_program_start(const char *url, const char *words)
{
    char command[COMMAND_SIZE];
    const char *arguments[] = {"/bin/sh", "-c", command, program_path(), url, NULL};
    struct process_options how = options();

    spell(words, command);
    return process_start(&how, arguments);
}

void bench_program_stop(pid_t pid)
{
    bench_must(process_end(pid, SIGTERM) == 0, "the program does not stop well");
}

size_t bench_program_resident_size(pid_t pid)
{
    unsigned long total;
    unsigned long resident;
    char path[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    file = fopen(path, "r");
    bench_must(file != NULL, "the program has ended");
    bench_must(fscanf(file, "%lu %lu", &total, &resident) == 2, "cannot read statm");
    (void)fclose(file);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static int64_t processor_ns_of(pid_t pid, const char *thread)
{
    long long used = 0;
    char path[96];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%.32s/schedstat", (int)pid, thread);
    file = fopen(path, "r");
    if (file == NULL)
        return 0; /* it has just ended */
    bench_must(fscanf(file, "%lld", &used) == 1, "cannot read schedstat");
    (void)fclose(file);
    return used;
}

int64_t bench_program_processor_ns(pid_t pid)
{
    struct dirent *entry;
    int64_t total = 0;
    char path[64];
    DIR *folder;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    folder = opendir(path);
    bench_must(folder != NULL, "the program has ended");
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.')
            total += processor_ns_of(pid, entry->d_name);
    }
    (void)closedir(folder);
    return total;
}
