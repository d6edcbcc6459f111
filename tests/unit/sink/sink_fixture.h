/*
 * sink_fixture.h - a sink with a batch in front of it, for the tests of sinks.
 *
 *   struct sink_fixture desk;
 *
 *   sink_fixture_open(&desk, "file:%s", path);
 *   sink_fixture_fill(&desk, 3);                     seq 1 to 3, payload "message 1"
 *                                                    and so on
 *   check_int(sink_fixture_deliver(&desk), WEIR_DONE);
 *   check_int(desk.batch.processed, 3);
 *   sink_fixture_close(&desk);                       nothing may be left: memory,
 *                                                    descriptors, children
 */
#ifndef WEIR_TEST_SINK_SINK_FIXTURE_H
#define WEIR_TEST_SINK_SINK_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "base/heap.h"
#include "kit/temp_dir.h"
#include "kit/test.h"
#include "outbox/delivery/batch.h"
#include "sink/sink.h"
#include "weir/executor.h"
#include "weir/time.h"

#define SINK_FIXTURE_HELPER __attribute__((unused)) static

enum { SINK_FIXTURE_MESSAGES_MAX = 1000, SINK_FIXTURE_PATH_SIZE = TEMP_DIR_SIZE + 64 };

struct sink_fixture {
    struct weir_faulty_heap heap;
    struct weir_fault_points points;
    struct weir_executor *executor; /* the clock, when one is wanted */
    struct weir_sink_options options;
    struct weir_sink *sink;
    struct weir_message messages[SINK_FIXTURE_MESSAGES_MAX];
    char payloads[SINK_FIXTURE_MESSAGES_MAX][24];
    struct weir_batch batch;
    struct weir_reason reason;
    struct weir_error error;
    size_t fds; /* before it was opened */
    size_t children;
};

/* ---- counting ---------------------------------------------------------------------- */

SINK_FIXTURE_HELPER size_t count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    check(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

SINK_FIXTURE_HELPER size_t count_children_of(const char *thread)
{
    char path[300], word[32];
    size_t count = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%s/children", thread);
    file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%31s", word) == 1)
        count++;
    if (file != NULL)
        fclose(file);
    return count;
}

/* Of all threads, zombies among them. */
SINK_FIXTURE_HELPER size_t count_children(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    size_t count = 0;

    check(folder != NULL);
    while ((entry = readdir(folder)) != NULL)
        count += count_children_of(entry->d_name);
    closedir(folder);
    return count;
}

/* ---- files ------------------------------------------------------------------------- */

/* A path of this test's own. */
SINK_FIXTURE_HELPER void make_path(char *out, const char *name)
{
    static int number;

    snprintf(out, SINK_FIXTURE_PATH_SIZE, "%s/%s-%d", temp_dir_of_program(), name,
             ++number);
}

/* All of a file, owned by the caller; it must be there. */
SINK_FIXTURE_HELPER char *slurp(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;

    check(file != NULL);
    if (getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(file);
    return text;
}

SINK_FIXTURE_HELPER void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    check(file != NULL);
    fputs(text, file);
    check_int(fclose(file), 0);
}

SINK_FIXTURE_HELPER void append_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "ae");

    check(file != NULL);
    fputs(text, file);
    check_int(fclose(file), 0);
}

SINK_FIXTURE_HELPER size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

SINK_FIXTURE_HELPER size_t count_lines_in(const char *path)
{
    char *text = slurp(path);
    size_t count = count_lines(text);

    free(text);
    return count;
}

/* ---- processes --------------------------------------------------------------------- */

/* The process whose number a file has; one that has ended and waits to be reaped is
 * not. */
SINK_FIXTURE_HELPER bool is_alive(const char *path)
{
    char *text = slurp(path);
    int pid = atoi(text);
    char name[64], state = 'Z';
    FILE *file;

    free(text);
    check(pid > 0);
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    file = fopen(name, "re");
    if (file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z'; /* it ended while it was looked at */
    if (file != NULL)
        fclose(file);
    return state != 'Z';
}

/* ---- the desk ---------------------------------------------------------------------- */

SINK_FIXTURE_HELPER void sink_fixture_init(struct sink_fixture *self)
{
    memset(self, 0, sizeof *self);
    (void)temp_dir_of_program(); /* it starts a process of its own */
    weir_faulty_heap_init(&self->heap);
    weir_fault_points_init(&self->points);
    weir_sink_options_init(&self->options);
    self->options.heap = &self->heap.heap;
    self->options.points = &self->points;
    self->fds = count_fds();
    self->children = count_children();
}

SINK_FIXTURE_HELPER enum weir_status sink_fixture_try(struct sink_fixture *self,
                                                      const char *url)
{
    return weir_sink_open(url, &self->options, &self->sink, &self->error);
}

__attribute__((format(printf, 2, 3))) SINK_FIXTURE_HELPER void
sink_fixture_open(struct sink_fixture *self, const char *format, ...)
{
    char url[4096];
    va_list arguments;

    sink_fixture_init(self);
    va_start(arguments, format);
    vsnprintf(url, sizeof url, format, arguments);
    va_end(arguments);
    if (sink_fixture_try(self, url) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "open \"%s\": %s", url, self->error.text);
}

/* A new batch of messages 1 to `count`, which must be answered by `deadline_ns`. */
SINK_FIXTURE_HELPER void sink_fixture_fill_until(struct sink_fixture *self, size_t count,
                                                 int64_t deadline_ns)
{
    check(count <= SINK_FIXTURE_MESSAGES_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(self->payloads[i], sizeof self->payloads[i], "message %zu", i + 1);
        self->messages[i] =
            (struct weir_message){.queue = "orders",
                                  .subscription = "default",
                                  .seq = (int64_t)i + 1,
                                  .type = "text",
                                  .payload = self->payloads[i],
                                  .payload_size = strlen(self->payloads[i]),
                                  .epoch = 1,
                                  .batch = &self->batch};
    }
    weir_batch_fini(&self->batch);
    weir_batch_init(&self->batch, &self->heap.heap, self->executor, self->messages, count,
                    deadline_ns);
}

SINK_FIXTURE_HELPER void sink_fixture_fill(struct sink_fixture *self, size_t count)
{
    sink_fixture_fill_until(self, count, WEIR_FOREVER);
}

/* A new batch that has so much time. */
SINK_FIXTURE_HELPER void sink_fixture_fill_for(struct sink_fixture *self, size_t count,
                                               int64_t budget_ns)
{
    struct weir_executor_options options;

    if (self->executor == NULL) {
        weir_executor_options_init(&options);
        options.threads = 1;
        check_status(weir_executor_create(&options, &self->executor, &self->error),
                     WEIR_OK);
    }
    sink_fixture_fill_until(self, count, weir_executor_now(self->executor) + budget_ns);
}

SINK_FIXTURE_HELPER enum weir_outcome sink_fixture_deliver(struct sink_fixture *self)
{
    self->reason.text[0] = '\0';
    return weir_sink_deliver(self->sink, &self->batch, &self->reason);
}

/* The answer, how many were acked or rejected, and a piece of the reason. */
#define check_answer(sink_fixture, outcome, count, words)                                \
    do {                                                                                 \
        check_int(sink_fixture_deliver(sink_fixture), (outcome));                        \
        check_int((sink_fixture)->batch.processed, (count));                             \
        if (strstr((sink_fixture)->reason.text, (words)) == NULL)                        \
            weir_test_fail(__FILE__, __LINE__, "reason is \"%s\"",                       \
                           (sink_fixture)->reason.text);                                 \
    } while (0)

SINK_FIXTURE_HELPER void sink_fixture_close(struct sink_fixture *self)
{
    weir_batch_fini(&self->batch);
    weir_sink_close(self->sink);
    if (self->executor != NULL)
        weir_executor_destroy(self->executor);
    check_int(self->heap.outstanding, 0);
    check_int(count_fds(), self->fds);
    check_int(count_children(), self->children);
}

/* For a batch that another thread looks at: wait for a state that must come. */
SINK_FIXTURE_HELPER void sink_fixture_nap(void)
{
    usleep(1000);
}

#endif
