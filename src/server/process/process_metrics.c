/*
 * process_metrics.c - see process_metrics.h.
 */
#include "server/process/process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/count.h"
#include "weir/version.h"

static void add_one(struct weir_metrics_text *text, const char *name, const char *help,
                    enum weir_family_kind kind, double value)
{
    weir_metrics_text_family(text, name, help, kind);
    weir_metrics_text_add(text, "", NULL, 0, value);
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void add_usage(struct weir_metrics_text *text)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) == 0)
        add_one(text, "process_cpu_seconds_total", "Processor time of the process.",
                WEIR_FAMILY_COUNTER,
                seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime));
}

/* The second number of statm, in pages. */
static void add_memory(struct weir_metrics_text *text)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (file == NULL)
        return;
    if (fscanf(file, "%*d %ld", &pages) == 1)
        add_one(text, "process_resident_memory_bytes", "Resident memory.",
                WEIR_FAMILY_GAUGE, (double)pages * (double)sysconf(_SC_PAGESIZE));
    fclose(file);
}

static void add_descriptors(struct weir_metrics_text *text)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    if (folder == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.' ? 1 : 0;
    closedir(folder);
    add_one(text, "process_open_fds", "Open descriptors.", WEIR_FAMILY_GAUGE,
            (double)count - 1); /* without that of the folder */
}

void weir_process_metrics_add(struct weir_metrics_text *text, int64_t started_us)
{
    struct weir_metric_label version = {"version", weir_version_string()};

    weir_metrics_text_family(text, "weir_build_info", "Version of the server.",
                             WEIR_FAMILY_GAUGE);
    weir_metrics_text_add(text, "", &version, 1, 1);
    add_one(text, "weir_start_time_seconds", "When the server was started, since 1970.",
            WEIR_FAMILY_GAUGE, (double)started_us / 1e6);
    add_usage(text);
    add_memory(text);
    add_descriptors(text);
}

void weir_process_metrics_add_http(struct weir_metrics_text *text,
                                   const struct weir_http_stats *stats)
{
    const struct {
        const char *reason;
        uint64_t count;
    } refused[] = {
        {"malformed", stats->malformed_total}, {"timeout", stats->timeouts_total},
        {"memory", stats->busy_total},         {"connections", stats->turned_away_total},
        {"tls", stats->tls_failed_total},
    };
    struct weir_metric_label open = {"state", "open"};

    weir_metrics_text_family(text, "weir_http_connections", "Connections.",
                             WEIR_FAMILY_GAUGE);
    weir_metrics_text_add(text, "", &open, 1, (double)stats->connections);
    weir_metrics_text_family(text, "weir_http_refused_total",
                             "Requests and connections that no route has seen.",
                             WEIR_FAMILY_COUNTER);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct weir_metric_label reason = {"reason", refused[i].reason};

        weir_metrics_text_add(text, "", &reason, 1, (double)refused[i].count);
    }
    add_one(text, "weir_http_received_bytes_total", "Bytes received.",
            WEIR_FAMILY_COUNTER, (double)stats->received_bytes_total);
    add_one(text, "weir_http_sent_bytes_total", "Bytes sent.", WEIR_FAMILY_COUNTER,
            (double)stats->sent_bytes_total);
}
