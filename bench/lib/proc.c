/*
 * proc.c - see proc.h.
 */
#include "lib/proc.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/must.h"

/* Of the whole process: asked for before anything is pinned. */
static cpu_set_t allowed;
static pthread_once_t allowed_once = PTHREAD_ONCE_INIT;

static void read_allowed(void)
{
    bench_must(sched_getaffinity(getpid(), sizeof allowed, &allowed) == 0,
               "cannot read the affinity");
}

size_t bench_core_count(void)
{
    (void)pthread_once(&allowed_once, read_allowed);
    return (size_t)CPU_COUNT(&allowed);
}

double bench_load(void)
{
    double load = 0;

    return getloadavg(&load, 1) == 1 ? load : 0;
}

size_t bench_resident_size(void)
{
    unsigned long total;
    unsigned long resident;
    FILE *file = fopen("/proc/self/statm", "r");

    bench_must(file != NULL, "cannot open /proc/self/statm");
    bench_must(fscanf(file, "%lu %lu", &total, &resident) == 2,
               "cannot read /proc/self/statm");
    (void)fclose(file);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t sleeps_of(const char *thread)
{
    char line[256];
    unsigned long count = 0;
    FILE *file;

    (void)snprintf(line, sizeof line, "/proc/self/task/%.32s/status", thread);
    file = fopen(line, "r");
    if (file == NULL)
        return 0; /* it has just ended */
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "voluntary_ctxt_switches: %lu", &count) == 1)
            break;
    }
    (void)fclose(file);
    return count;
}

uint64_t bench_other_threads_sleeps(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    uint64_t total = 0;

    bench_must(folder != NULL, "cannot open /proc/self/task");
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.' && atol(entry->d_name) != (long)gettid())
            total += sleeps_of(entry->d_name);
    }
    (void)closedir(folder);
    return total;
}

void bench_pin(size_t index)
{
    cpu_set_t one;

    (void)pthread_once(&allowed_once, read_allowed);
    CPU_ZERO(&one);
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &allowed) && index-- == 0)
            CPU_SET(core, &one);
    }
    bench_must(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0,
               "cannot pin a thread");
}

void bench_unpin(void)
{
    (void)pthread_once(&allowed_once, read_allowed);
    bench_must(pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed) == 0,
               "cannot unpin a thread");
}
