/*
 * Tests of sink/file.c: what is on disk when, and what is left after a failure.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "desk.h"

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
    char path[DESK_PATH_SIZE];
    struct desk desk;
    char *text;

    make_path(path, "plain");
    write_file(path, "before\n");
    desk_open(&desk, "file:%s", path);
    desk_fill(&desk, 2);
    check_answer(&desk, WEIR_DONE, 2, "");
    desk_fill(&desk, 3);
    check_answer(&desk, WEIR_DONE, 3, "");
    desk_close(&desk);
    text = slurp(path);
    check_int(
        strncmp(text, "before\n{\"queue\":\"orders\",\"partition\":0,\"seq\":1,", 47), 0);
    check_int(count_lines(text), 6);
    free(text);
}

WEIR_TEST(file, is_made_for_its_owner_alone)
{
    char path[DESK_PATH_SIZE];
    struct stat about;
    struct desk desk;
    mode_t mask = umask(0);

    make_path(path, "new");
    desk_open(&desk, "file:%s", path);
    check_int(stat(path, &about), 0);
    check_int(about.st_mode & 0777, 0600);
    check_int(about.st_size, 0);
    umask(mask);
    desk_close(&desk);
}

WEIR_TEST(file, has_the_permissions_that_are_asked_for_whatever_the_umask)
{
    char path[DESK_PATH_SIZE];
    char url[DESK_PATH_SIZE + 16];
    struct stat about;
    struct desk desk;
    mode_t mask = umask(077);

    make_path(path, "new");
    snprintf(url, sizeof url, "file:%s", path);
    desk_init(&desk);
    desk.options.permissions = 0660;
    check_status(desk_try(&desk, url), WEIR_OK);
    check_int(stat(path, &about), 0);
    check_int(about.st_mode & 0777, 0660);
    umask(mask);
    desk_close(&desk);
}

WEIR_TEST(file, that_is_there_keeps_its_permissions)
{
    char path[DESK_PATH_SIZE];
    struct stat about;
    struct desk desk;

    make_path(path, "old");
    write_file(path, "before\n");
    check_int(chmod(path, 0644), 0);
    desk_open(&desk, "file:%s", path);
    check_int(stat(path, &about), 0);
    check_int(about.st_mode & 0777, 0644);
    desk_close(&desk);
}

/* ---- what cannot be opened ------------------------------------------------------------- */

static void refuses(const char *path, enum weir_status status, const char *words)
{
    char url[DESK_PATH_SIZE + 16];
    struct desk desk;

    desk_init(&desk);
    snprintf(url, sizeof url, "file:%s", path);
    check_status(desk_try(&desk, url), status);
    if (strstr(desk.error.text, words) == NULL)
        weir_test_fail(__FILE__, __LINE__, "it says: %s", desk.error.text);
    desk_close(&desk);
}

WEIR_TEST(file, says_why_it_cannot_be_opened)
{
    char path[DESK_PATH_SIZE];

    make_path(path, "fifo");
    check_int(mkfifo(path, 0600), 0);
    refuses(path, WEIR_INVALID, "not a regular file");
    refuses("/dev/null", WEIR_INVALID, "not a regular file");
    refuses("/no/such/folder/x", WEIR_NOT_FOUND, "open: No such file or directory");
    refuses(place_of_program(), WEIR_SYSTEM, "Is a directory");
}

WEIR_TEST(file, says_when_it_may_not_be_written)
{
    char path[DESK_PATH_SIZE];
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

/* ---- torn lines ------------------------------------------------------------------------ */

WEIR_TEST(file, cuts_a_torn_line_when_opened)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    char *text;

    make_path(path, "torn");
    write_file(path, "whole\n{\"queue\":\"ord");
    desk_open(&desk, "file:%s", path);
    text = slurp(path);
    check_str(text, "whole\n");
    free(text);
    desk_close(&desk);
}

/* Another process has died in the middle of a line while we had the file open. */
WEIR_TEST(file, cuts_a_torn_line_before_it_writes)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    char *text;

    make_path(path, "died");
    desk_open(&desk, "file:%s", path);
    append_file(path, "{\"queue\":\"ord");
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_DONE, 1, "");
    text = slurp(path);
    check_int(strncmp(text, "{\"queue\":\"orders\"", 17), 0);
    check_int(count_lines(text), 1);
    free(text);
    desk_close(&desk);
}

/* ---- the order of things --------------------------------------------------------------- */

struct witness {
    struct desk *desk;
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
    self->acked_before_sync = self->desk->batch.processed;
    self->syncs++;
}

static void see_ack(void *argument)
{
    struct witness *self = argument;

    check_int(self->syncs, 1);
    self->acked_before_ack = self->desk->batch.processed;
}

WEIR_TEST(file, writes_then_syncs_then_acks)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    struct witness witness = {.desk = &desk, .path = path};

    make_path(path, "order");
    desk_open(&desk, "file:%s", path);
    weir_fault_points_arm_call(&desk.points, "file.before_sync", 1, see_sync, &witness);
    weir_fault_points_arm_call(&desk.points, "file.before_ack", 1, see_ack, &witness);
    desk_fill(&desk, 100);
    check_answer(&desk, WEIR_DONE, 100, "");
    check_int(witness.syncs, 1);
    check_int(witness.lines_before_sync, 100);
    check_int(witness.acked_before_sync, 0);
    check_int(witness.acked_before_ack, 0);
    desk_close(&desk);
}

WEIR_TEST(file, acks_nothing_when_the_sync_fails)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;

    make_path(path, "sync");
    desk_open(&desk, "file:%s", path);
    weir_fault_points_arm_once(&desk.points, "file.sync_fails", 1);
    desk_fill(&desk, 5);
    check_answer(&desk, WEIR_RETRY, 0, "Input/output error");
    desk_fill(&desk, 5);
    check_answer(&desk, WEIR_DONE, 5, "");
    desk_close(&desk);
    file_holds(path, 10); /* they came again */
}

WEIR_TEST(file, acks_nothing_when_the_time_is_over)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;

    make_path(path, "late");
    desk_open(&desk, "file:%s", path);
    desk_fill_for(&desk, 5, -1);
    check_answer(&desk, WEIR_RETRY, 0, "the time was over");
    desk_fill(&desk, 5);
    desk.batch.stopped = true;
    check_answer(&desk, WEIR_DONE, 0, "");
    desk_close(&desk);
    file_holds(path, 0);
}

/* More than one write has room for. */
WEIR_TEST(file, takes_large_batches_in_steps)
{
    enum { SIZE = 300 * 1000, COUNT = 10 };
    char *payload = malloc(SIZE);
    char path[DESK_PATH_SIZE];
    struct desk desk;

    check(payload != NULL);
    memset(payload, 'z', SIZE);
    make_path(path, "large");
    desk_open(&desk, "file:%s", path);
    desk_fill(&desk, COUNT);
    for (int i = 0; i < COUNT; i++) {
        desk.messages[i].payload = payload;
        desk.messages[i].payload_size = SIZE;
    }
    weir_fault_points_arm(&desk.points, "file.before_ack", 1000);
    check_answer(&desk, WEIR_DONE, COUNT, "");
    check_int(desk.points.armed[0].passed, 3); /* 4, 4 and 2 */
    desk_close(&desk);
    file_holds(path, COUNT);
    free(payload);
}

/* ---- no space -------------------------------------------------------------------------- */

WEIR_TEST(file, takes_back_what_did_not_fit)
{
    struct rlimit before, small;
    char path[DESK_PATH_SIZE];
    struct stat full, after;
    struct desk desk;
    enum weir_outcome outcome;

    make_path(path, "limit");
    desk_open(&desk, "file:%s", path);
    desk_fill(&desk, 10);
    check_answer(&desk, WEIR_DONE, 10, "");
    check_int(stat(path, &full), 0);
    check_int(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)full.st_size + 500;
    check_int(setrlimit(RLIMIT_FSIZE, &small), 0);
    desk_fill(&desk, 10);
    outcome = desk_deliver(&desk);
    check_int(setrlimit(RLIMIT_FSIZE, &before), 0);
    check_int(outcome, WEIR_RETRY);
    check_int(desk.batch.processed, 0);
    check(strstr(desk.reason.text, "File too large") != NULL);
    check_int(stat(path, &after), 0);
    check_int(after.st_size, full.st_size);

    desk_fill(&desk, 10);
    check_answer(&desk, WEIR_DONE, 10, "");
    desk_close(&desk);
    file_holds(path, 20);
}

WEIR_TEST(file, waits_for_space_on_a_full_disk)
{
    char place[DESK_PATH_SIZE], path[DESK_PATH_SIZE + 8];
    struct desk desk;
    size_t lines = 0;
    enum weir_outcome outcome = WEIR_DONE;

    make_path(place, "disk");
    check_int(mkdir(place, 0777), 0);
    if (geteuid() != 0 || mount("none", place, "tmpfs", 0, "size=256k") != 0) {
        printf("# not run: mounting a small file system needs root\n");
        return;
    }
    snprintf(path, sizeof path, "%s/out", place);
    desk_open(&desk, "file:%s", path);
    for (int i = 0; i < 1000 && outcome == WEIR_DONE; i++) {
        desk_fill(&desk, 100);
        outcome = desk_deliver(&desk);
        lines += desk.batch.processed;
    }
    check_int(outcome, WEIR_RETRY);
    check(strstr(desk.reason.text, "No space left on device") != NULL);
    file_holds(path, lines);
    check_int(mount("none", place, "tmpfs", MS_REMOUNT, "size=1m"), 0);
    desk_fill(&desk, 100);
    check_answer(&desk, WEIR_DONE, 100, "");
    file_holds(path, lines + 100);
    desk_close(&desk);
    check_int(umount(place), 0);
}

/* ---- other hands ----------------------------------------------------------------------- */

WEIR_TEST(file, follows_its_path_when_the_file_is_moved)
{
    char path[DESK_PATH_SIZE], old[DESK_PATH_SIZE + 8];
    struct desk desk;

    make_path(path, "rotated");
    snprintf(old, sizeof old, "%s.1", path);
    desk_open(&desk, "file:%s", path);
    desk_fill(&desk, 2);
    check_answer(&desk, WEIR_DONE, 2, "");
    check_int(rename(path, old), 0);
    desk_fill(&desk, 3);
    check_answer(&desk, WEIR_DONE, 3, "");
    check_int(unlink(path), 0);
    desk_fill(&desk, 4);
    check_answer(&desk, WEIR_DONE, 4, "");
    desk_close(&desk);
    file_holds(old, 2);
    file_holds(path, 4);
}

WEIR_TEST(file, retries_when_its_folder_has_gone)
{
    char place[DESK_PATH_SIZE], path[DESK_PATH_SIZE + 8];
    struct desk desk;

    make_path(place, "folder");
    snprintf(path, sizeof path, "%s/x", place);
    check_int(mkdir(place, 0700), 0);
    desk_open(&desk, "file:%s", path);
    check_int(unlink(path), 0);
    check_int(rmdir(place), 0);
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_RETRY, 0, "No such file or directory");
    check_int(mkdir(place, 0700), 0);
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_DONE, 1, "");
    file_holds(path, 1);
    desk_close(&desk);
}

/* Another writer has the lock: we neither write nor cut, until the time is over. */
WEIR_TEST(file, waits_for_the_writer_that_has_the_lock)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    int other;
    char *text;

    make_path(path, "busy");
    desk_open(&desk, "file:%s", path);
    other = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    check_int(flock(other, LOCK_EX), 0);
    check_int(write(other, "half", 4), 4);
    desk_fill_for(&desk, 1, WEIR_MILLISECONDS(100));
    check_answer(&desk, WEIR_RETRY, 0, "the time was over");
    text = slurp(path);
    check_str(text, "half");
    free(text);
    check_int(write(other, " line\n", 6), 6);
    close(other);
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_DONE, 1, "");
    file_holds(path, 2);
    desk_close(&desk);
}

/* ---- threads and sinks ----------------------------------------------------------------- */

enum { THREADS = 8, BATCHES = 100, BATCH = 5 };

struct crew {
    pthread_t thread;
    struct weir_sink *sink;
    int32_t partition;
};

static void *work(void *argument)
{
    struct crew *self = argument;
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

/* Half of the threads with a sink of their own on the same file, as another process has. */
WEIR_TEST(file, keeps_lines_of_many_writers_whole_and_in_order)
{
    int last[THREADS] = {0};
    char path[DESK_PATH_SIZE], url[DESK_PATH_SIZE + 8];
    struct weir_sink *second = NULL;
    struct crew crew[THREADS];
    struct desk desk;
    char *text, *line;
    int count = 0;

    make_path(path, "crowd");
    desk_open(&desk, "file:%s", path);
    snprintf(url, sizeof url, "file:%s", path);
    check_status(weir_sink_open(url, &desk.options, &second, &desk.error), WEIR_OK);
    weir_fault_points_arm(&desk.points, "file.before_sync", 1000000);
    for (int i = 0; i < THREADS; i++) {
        crew[i] = (struct crew){.sink = i % 2 == 0 ? desk.sink : second, .partition = i};
        check_int(pthread_create(&crew[i].thread, NULL, work, &crew[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        check_int(pthread_join(crew[i].thread, NULL), 0);
    check_in_range(desk.points.armed[0].passed, 1, THREADS * BATCHES);

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
    desk_close(&desk);
}

/* Each allocation fails once: nothing is acked that is not written. */
WEIR_TEST(file, survives_the_lack_of_memory)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    enum weir_outcome outcome = WEIR_RETRY;
    size_t acked = 0;

    make_path(path, "memory");
    desk_open(&desk, "file:%s", path);
    for (uint64_t n = 1; outcome != WEIR_DONE; n++) {
        desk_fill(&desk, 200);
        weir_faulty_heap_fail_at(&desk.heap, n);
        outcome = desk_deliver(&desk);
        acked += desk.batch.processed;
        if (outcome == WEIR_RETRY)
            check(strstr(desk.reason.text, "Cannot allocate memory") != NULL);
    }
    weir_faulty_heap_fail_at(&desk.heap, 0);
    file_holds(path, acked);
    desk_close(&desk);
}
