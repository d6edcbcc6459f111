/*
 * Tests of sink/file.c: what is on disk when, and what is left after a failure.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "sink_fixture.h"

static void file_holds(const char *path, size_t lines)
{
    char *text = slurp(path);

    check_int(count_lines(text), lines);
    if (lines > 0)
        check(text[strlen(text) - 1] == '\n');
    free(text);
}

WEIR_TEST(file, appends_lines)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    char *text;

    make_path(path, "plain");
    write_file(path, "before\n");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    sink_fixture_fill(&sink_fixture, 2);
    check_answer(&sink_fixture, WEIR_DONE, 2, "");
    sink_fixture_fill(&sink_fixture, 3);
    check_answer(&sink_fixture, WEIR_DONE, 3, "");
    sink_fixture_close(&sink_fixture);
    text = slurp(path);
    check_int(
        strncmp(text, "before\n{\"queue\":\"orders\",\"partition\":0,\"seq\":1,", 47), 0);
    check_int(count_lines(text), 6);
    free(text);
}

WEIR_TEST(file, is_made_for_its_owner_alone)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct stat about;
    struct sink_fixture sink_fixture;
    mode_t mask = umask(0);

    make_path(path, "new");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    check_int(stat(path, &about), 0);
    check_int(about.st_mode & 0777, 0600);
    check_int(about.st_size, 0);
    umask(mask);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(file, has_the_permissions_that_are_asked_for_whatever_the_umask)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    char url[SINK_FIXTURE_PATH_SIZE + 16];
    struct stat about;
    struct sink_fixture sink_fixture;
    mode_t mask = umask(077);

    make_path(path, "new");
    snprintf(url, sizeof url, "file:%s", path);
    sink_fixture_init(&sink_fixture);
    sink_fixture.options.permissions = 0660;
    check_status(sink_fixture_try(&sink_fixture, url), WEIR_OK);
    check_int(stat(path, &about), 0);
    check_int(about.st_mode & 0777, 0660);
    umask(mask);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(file, that_is_there_keeps_its_permissions)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct stat about;
    struct sink_fixture sink_fixture;

    make_path(path, "old");
    write_file(path, "before\n");
    check_int(chmod(path, 0644), 0);
    sink_fixture_open(&sink_fixture, "file:%s", path);
    check_int(stat(path, &about), 0);
    check_int(about.st_mode & 0777, 0644);
    sink_fixture_close(&sink_fixture);
}

/* ---- what cannot be opened --------------------------------------------------------- */

static void refuses(const char *path, enum weir_status status, const char *words)
{
    char url[SINK_FIXTURE_PATH_SIZE + 16];
    struct sink_fixture sink_fixture;

    sink_fixture_init(&sink_fixture);
    snprintf(url, sizeof url, "file:%s", path);
    check_status(sink_fixture_try(&sink_fixture, url), status);
    if (strstr(sink_fixture.error.text, words) == NULL)
        weir_test_fail(__FILE__, __LINE__, "it says: %s", sink_fixture.error.text);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(file, says_why_it_cannot_be_opened)
{
    char path[SINK_FIXTURE_PATH_SIZE];

    make_path(path, "fifo");
    check_int(mkfifo(path, 0600), 0);
    refuses(path, WEIR_INVALID, "not a regular file");
    refuses("/dev/null", WEIR_INVALID, "not a regular file");
    refuses("/no/such/folder/x", WEIR_NOT_FOUND, "open: No such file or directory");
    refuses(temp_dir_of_program(), WEIR_SYSTEM, "Is a directory");
}

WEIR_TEST(file, says_when_it_may_not_be_written)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    bool root = geteuid() == 0;

    make_path(path, "read-only");
    write_file(path, "mine\n");
    check_int(chmod(path, 0444), 0);
    if (root)
        check_int(seteuid(65534), 0);
    refuses(path, WEIR_DENIED, "\": open: Permission denied");
    if (root)
        check_int(seteuid(0), 0);
}

/* ---- torn lines -------------------------------------------------------------------- */

WEIR_TEST(file, cuts_a_torn_line_when_opened)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    char *text;

    make_path(path, "torn");
    write_file(path, "whole\n{\"queue\":\"ord");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    text = slurp(path);
    check_str(text, "whole\n");
    free(text);
    sink_fixture_close(&sink_fixture);
}

/* Another process has died in the middle of a line while we had the file open. */
WEIR_TEST(file, cuts_a_torn_line_before_it_writes)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    char *text;

    make_path(path, "died");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    append_file(path, "{\"queue\":\"ord");
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    text = slurp(path);
    check_int(strncmp(text, "{\"queue\":\"orders\"", 17), 0);
    check_int(count_lines(text), 1);
    free(text);
    sink_fixture_close(&sink_fixture);
}

/* ---- the order of things ----------------------------------------------------------- */

struct witness {
    struct sink_fixture *sink_fixture;
    const char *path;
    size_t lines_before_sync;
    size_t acked_before_sync;
    size_t acked_before_ack;
    int syncs;
};

static void see_sync(void *argument)
{
    struct witness *self = argument;

    self->lines_before_sync = count_lines_in(self->path);
    self->acked_before_sync = self->sink_fixture->batch.processed;
    self->syncs++;
}

static void see_ack(void *argument)
{
    struct witness *self = argument;

    check_int(self->syncs, 1);
    self->acked_before_ack = self->sink_fixture->batch.processed;
}

WEIR_TEST(file, writes_then_syncs_then_acks)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    struct witness witness = {.sink_fixture = &sink_fixture, .path = path};

    make_path(path, "order");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    weir_fault_points_arm_call(&sink_fixture.points, "file.before_sync", 1, see_sync,
                               &witness);
    weir_fault_points_arm_call(&sink_fixture.points, "file.before_ack", 1, see_ack,
                               &witness);
    sink_fixture_fill(&sink_fixture, 100);
    check_answer(&sink_fixture, WEIR_DONE, 100, "");
    check_int(witness.syncs, 1);
    check_int(witness.lines_before_sync, 100);
    check_int(witness.acked_before_sync, 0);
    check_int(witness.acked_before_ack, 0);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(file, acks_nothing_when_the_sync_fails)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;

    make_path(path, "sync");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    weir_fault_points_arm_once(&sink_fixture.points, "file.sync_fails", 1);
    sink_fixture_fill(&sink_fixture, 5);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "Input/output error");
    sink_fixture_fill(&sink_fixture, 5);
    check_answer(&sink_fixture, WEIR_DONE, 5, "");
    sink_fixture_close(&sink_fixture);
    file_holds(path, 10); /* they came again */
}

WEIR_TEST(file, acks_nothing_when_the_time_is_over)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;

    make_path(path, "late");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    sink_fixture_fill_for(&sink_fixture, 5, -1);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "the time was over");
    sink_fixture_fill(&sink_fixture, 5);
    sink_fixture.batch.stopped = true;
    check_answer(&sink_fixture, WEIR_DONE, 0, "");
    sink_fixture_close(&sink_fixture);
    file_holds(path, 0);
}

/* More than one write has room for. */
WEIR_TEST(file, takes_large_batches_in_steps)
{
    enum { SIZE = 300 * 1000, COUNT = 10 };
    char *payload = malloc(SIZE);
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;

    check(payload != NULL);
    memset(payload, 'z', SIZE);
    make_path(path, "large");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    sink_fixture_fill(&sink_fixture, COUNT);
    for (int i = 0; i < COUNT; i++) {
        sink_fixture.messages[i].payload = payload;
        sink_fixture.messages[i].payload_size = SIZE;
    }
    weir_fault_points_arm(&sink_fixture.points, "file.before_ack", 1000);
    check_answer(&sink_fixture, WEIR_DONE, COUNT, "");
    check_int(sink_fixture.points.armed[0].passed, 3); /* 4, 4 and 2 */
    sink_fixture_close(&sink_fixture);
    file_holds(path, COUNT);
    free(payload);
}

/* ---- no space ---------------------------------------------------------------------- */

WEIR_TEST(file, takes_back_what_did_not_fit)
{
    struct rlimit before, small;
    char path[SINK_FIXTURE_PATH_SIZE];
    struct stat full, after;
    struct sink_fixture sink_fixture;
    enum weir_outcome outcome;

    make_path(path, "limit");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    sink_fixture_fill(&sink_fixture, 10);
    check_answer(&sink_fixture, WEIR_DONE, 10, "");
    check_int(stat(path, &full), 0);
    check_int(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)full.st_size + 500;
    check_int(setrlimit(RLIMIT_FSIZE, &small), 0);
    sink_fixture_fill(&sink_fixture, 10);
    outcome = sink_fixture_deliver(&sink_fixture);
    check_int(setrlimit(RLIMIT_FSIZE, &before), 0);
    check_int(outcome, WEIR_RETRY);
    check_int(sink_fixture.batch.processed, 0);
    check(strstr(sink_fixture.reason.text, "File too large") != NULL);
    check_int(stat(path, &after), 0);
    check_int(after.st_size, full.st_size);

    sink_fixture_fill(&sink_fixture, 10);
    check_answer(&sink_fixture, WEIR_DONE, 10, "");
    sink_fixture_close(&sink_fixture);
    file_holds(path, 20);
}

WEIR_TEST(file, waits_for_space_on_a_full_disk)
{
    char place[SINK_FIXTURE_PATH_SIZE], path[SINK_FIXTURE_PATH_SIZE + 8];
    struct sink_fixture sink_fixture;
    size_t lines = 0;
    enum weir_outcome outcome = WEIR_DONE;

    make_path(place, "disk");
    check_int(mkdir(place, 0777), 0);
    if (geteuid() != 0 || mount("none", place, "tmpfs", 0, "size=256k") != 0) {
        printf("# not run: mounting a small file system needs root\n");
        return;
    }
    snprintf(path, sizeof path, "%s/out", place);
    sink_fixture_open(&sink_fixture, "file:%s", path);
    for (int i = 0; i < 1000 && outcome == WEIR_DONE; i++) {
        sink_fixture_fill(&sink_fixture, 100);
        outcome = sink_fixture_deliver(&sink_fixture);
        lines += sink_fixture.batch.processed;
    }
    check_int(outcome, WEIR_RETRY);
    check(strstr(sink_fixture.reason.text, "No space left on device") != NULL);
    file_holds(path, lines);
    check_int(mount("none", place, "tmpfs", MS_REMOUNT, "size=1m"), 0);
    sink_fixture_fill(&sink_fixture, 100);
    check_answer(&sink_fixture, WEIR_DONE, 100, "");
    file_holds(path, lines + 100);
    sink_fixture_close(&sink_fixture);
    check_int(umount(place), 0);
}

/* ---- other hands ------------------------------------------------------------------- */

WEIR_TEST(file, follows_its_path_when_the_file_is_moved)
{
    char path[SINK_FIXTURE_PATH_SIZE], old[SINK_FIXTURE_PATH_SIZE + 8];
    struct sink_fixture sink_fixture;

    make_path(path, "rotated");
    snprintf(old, sizeof old, "%s.1", path);
    sink_fixture_open(&sink_fixture, "file:%s", path);
    sink_fixture_fill(&sink_fixture, 2);
    check_answer(&sink_fixture, WEIR_DONE, 2, "");
    check_int(rename(path, old), 0);
    sink_fixture_fill(&sink_fixture, 3);
    check_answer(&sink_fixture, WEIR_DONE, 3, "");
    check_int(unlink(path), 0);
    sink_fixture_fill(&sink_fixture, 4);
    check_answer(&sink_fixture, WEIR_DONE, 4, "");
    sink_fixture_close(&sink_fixture);
    file_holds(old, 2);
    file_holds(path, 4);
}

WEIR_TEST(file, retries_when_its_folder_has_gone)
{
    char place[SINK_FIXTURE_PATH_SIZE], path[SINK_FIXTURE_PATH_SIZE + 8];
    struct sink_fixture sink_fixture;

    make_path(place, "folder");
    snprintf(path, sizeof path, "%s/x", place);
    check_int(mkdir(place, 0700), 0);
    sink_fixture_open(&sink_fixture, "file:%s", path);
    check_int(unlink(path), 0);
    check_int(rmdir(place), 0);
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "No such file or directory");
    check_int(mkdir(place, 0700), 0);
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    file_holds(path, 1);
    sink_fixture_close(&sink_fixture);
}

/* Another writer has the lock: we neither write nor cut, until the time is over. */
WEIR_TEST(file, waits_for_the_writer_that_has_the_lock)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    int other;
    char *text;

    make_path(path, "busy");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    other = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    check_int(flock(other, LOCK_EX), 0);
    check_int(write(other, "half", 4), 4);
    sink_fixture_fill_for(&sink_fixture, 1, WEIR_MILLISECONDS(100));
    check_answer(&sink_fixture, WEIR_RETRY, 0, "the time was over");
    text = slurp(path);
    check_str(text, "half");
    free(text);
    check_int(write(other, " line\n", 6), 6);
    close(other);
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    file_holds(path, 2);
    sink_fixture_close(&sink_fixture);
}

/* ---- threads and sinks ------------------------------------------------------------- */

enum { THREADS = 8, BATCHES = 100, BATCH = 5 };

struct pool {
    pthread_t thread;
    struct weir_sink *sink;
    int32_t partition;
};

static void *work(void *argument)
{
    struct pool *self = argument;
    struct weir_message messages[BATCH];
    struct weir_reason reason;

    for (int i = 0; i < BATCHES; i++) {
        struct weir_batch batch;

        for (int n = 0; n < BATCH; n++)
            messages[n] = (struct weir_message){.queue = "q",
                                                .type = "t",
                                                .partition = self->partition,
                                                .seq = i * BATCH + n + 1,
                                                .batch = &batch};
        weir_batch_init(&batch, weir_heap_system(), NULL, messages, BATCH, 0);
        check_int(weir_sink_deliver(self->sink, &batch, &reason), WEIR_DONE);
        check_int(batch.processed, BATCH);
        weir_batch_fini(&batch);
    }
    return NULL;
}

/* Half of the threads with a sink of their own on the same file, as another process
 * has. */
WEIR_TEST(file, keeps_lines_of_many_writers_whole_and_in_order)
{
    int last[THREADS] = {0};
    char path[SINK_FIXTURE_PATH_SIZE], url[SINK_FIXTURE_PATH_SIZE + 8];
    struct weir_sink *second = NULL;
    struct pool pool[THREADS];
    struct sink_fixture sink_fixture;
    char *text, *line;
    int count = 0;

    make_path(path, "crowd");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    snprintf(url, sizeof url, "file:%s", path);
    check_status(weir_sink_open(url, &sink_fixture.options, &second, &sink_fixture.error),
                 WEIR_OK);
    weir_fault_points_arm(&sink_fixture.points, "file.before_sync", 1000000);
    for (int i = 0; i < THREADS; i++) {
        pool[i] = (struct pool){.sink = i % 2 == 0 ? sink_fixture.sink : second,
                                .partition = i};
        check_int(pthread_create(&pool[i].thread, NULL, work, &pool[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        check_int(pthread_join(pool[i].thread, NULL), 0);
    check_in_range(sink_fixture.points.armed[0].passed, 1, THREADS * BATCHES);

    text = slurp(path);
    for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        int partition, seq;

        check_int(sscanf(line, "{\"queue\":\"q\",\"partition\":%d,\"seq\":%d,",
                         &partition, &seq),
                  2);
        check_int(seq, last[partition] + 1);
        check(strcmp(line + strlen(line) - 13, "\"payload\":\"\"}") == 0);
        last[partition] = seq;
        count++;
    }
    check_int(count, THREADS * BATCHES * BATCH);
    free(text);
    weir_sink_close(second);
    sink_fixture_close(&sink_fixture);
}

/* Each allocation fails once: nothing is acked that is not written. */
WEIR_TEST(file, survives_the_lack_of_memory)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    enum weir_outcome outcome = WEIR_RETRY;
    size_t acked = 0;

    make_path(path, "memory");
    sink_fixture_open(&sink_fixture, "file:%s", path);
    for (uint64_t n = 1; outcome != WEIR_DONE; n++) {
        sink_fixture_fill(&sink_fixture, 200);
        weir_faulty_heap_fail_at(&sink_fixture.heap, n);
        outcome = sink_fixture_deliver(&sink_fixture);
        acked += sink_fixture.batch.processed;
        if (outcome == WEIR_RETRY)
            check(strstr(sink_fixture.reason.text, "Cannot allocate memory") != NULL);
    }
    weir_faulty_heap_fail_at(&sink_fixture.heap, 0);
    file_holds(path, acked);
    sink_fixture_close(&sink_fixture);
}
