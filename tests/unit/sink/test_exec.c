/*
 * Tests of sink/exec.c, and with it of spawn.c, child.c, environment.c and
 * delivery_deadline.c.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "sink_fixture.h"

/* One message to this command. */
static void answers(const char *command, enum weir_outcome outcome, size_t count,
                    const char *words)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, "exec:%s", command);
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, outcome, count, words);
    sink_fixture_close(&sink_fixture);
}

/* ---- exit codes -------------------------------------------------------------------- */

WEIR_TEST(exec, maps_exit_codes)
{
    answers("exit 0", WEIR_DONE, 1, "");
    answers("exit 75", WEIR_RETRY, 0, "exit code 75");
    answers("exit 1", WEIR_RETRY, 0, "exit code 1");
    answers("exit 64", WEIR_RETRY, 0, "exit code 64");
    answers("exit 255", WEIR_RETRY, 0, "exit code 255");
    answers("no-such-command-here", WEIR_RETRY, 0, "exit code 127: ");
    answers("kill -9 $$", WEIR_RETRY, 0, "killed by signal 9 (Killed)");
    answers("kill -SEGV $$", WEIR_RETRY, 0, "killed by signal 11 (Segmentation fault)");
}

WEIR_TEST(exec, rejects_at_exit_code_65)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture,
                      "exec:test $WEIR_SEQ != 2 || { echo bad thing >&2; exit 65; }");
    sink_fixture_fill(&sink_fixture, 3);
    check_int(sink_fixture_deliver(&sink_fixture), WEIR_DONE);
    check_int(sink_fixture.batch.processed, 3);
    check_int(sink_fixture.batch.rejection_count, 1);
    check_int(sink_fixture.batch.rejections[0].index, 1);
    check_str(sink_fixture.batch.rejections[0].reason, "bad thing");
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec, acks_what_came_before_the_failure)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, "exec:test $WEIR_SEQ != 3 || exit 75");
    sink_fixture_fill(&sink_fixture, 5);
    check_answer(&sink_fixture, WEIR_RETRY, 2, "exit code 75");
    check_int(sink_fixture.batch.taken, 3);
    sink_fixture_close(&sink_fixture);
}

/* ---- reasons ----------------------------------------------------------------------- */

WEIR_TEST(exec, takes_the_last_line_of_standard_error_for_the_reason)
{
    answers("echo one >&2; echo two >&2; echo >&2; exit 75", WEIR_RETRY, 0, "two");
    answers("printf 'no newline' >&2; exit 3", WEIR_RETRY, 0, "exit code 3: no newline");
    answers("printf 'a\\tb\\r\\n' >&2; exit 75", WEIR_RETRY, 0, "a b");
    answers("printf 'half \\303\\n' >&2; exit 75", WEIR_RETRY, 0, "half ?");
}

WEIR_TEST(exec, survives_a_flood_on_standard_error)
{
    answers("yes 0123456789 | head -c 3000000 >&2; echo end >&2; exit 75", WEIR_RETRY, 0,
            "end");
    answers("head -c 3000000 /dev/zero >&2; exit 75", WEIR_RETRY, 0, "");
}

/* ---- what it gets ------------------------------------------------------------------ */

WEIR_TEST(exec, gives_the_line_on_standard_input)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    char *text;

    make_path(path, "input");
    sink_fixture_open(&sink_fixture, "exec:cat >> %s", path);
    sink_fixture_fill(&sink_fixture, 2);
    sink_fixture.messages[1].payload = "\xff\0\n";
    sink_fixture.messages[1].payload_size = 3;
    check_answer(&sink_fixture, WEIR_DONE, 2, "");
    text = slurp(path);
    check_int(count_lines(text), 2);
    check(strstr(text, "\"seq\":1,") != NULL);
    check(strstr(text, "\"payload\":\"message 1\"}\n{") != NULL);
    check(strstr(text, "\"payload_base64\":\"/wAK\"}\n") != NULL);
    free(text);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec, gives_a_large_message_as_a_whole)
{
    enum { SIZE = 3 * 1000 * 1000 };
    char *payload = malloc(SIZE);
    struct sink_fixture sink_fixture;

    check(payload != NULL);
    memset(payload, 'x', SIZE);
    sink_fixture_open(&sink_fixture, "exec:sleep 0.1; test $(wc -c) -gt %d", SIZE);
    sink_fixture_fill(&sink_fixture, 1);
    sink_fixture.messages[0].payload = payload;
    sink_fixture.messages[0].payload_size = SIZE;
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    sink_fixture_close(&sink_fixture);

    sink_fixture_open(&sink_fixture, "exec:true"); /* does not read it */
    sink_fixture_fill(&sink_fixture, 1);
    sink_fixture.messages[0].payload = payload;
    sink_fixture.messages[0].payload_size = SIZE;
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    sink_fixture_close(&sink_fixture);

    sink_fixture_open(&sink_fixture,
                      "exec:exec <&-; sleep 0.1; exit 65"); /* does not want it */
    sink_fixture_fill(&sink_fixture, 1);
    sink_fixture.messages[0].payload = payload;
    sink_fixture.messages[0].payload_size = SIZE;
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    check_int(sink_fixture.batch.rejection_count, 1);
    sink_fixture_close(&sink_fixture);
    free(payload);
}

WEIR_TEST(exec, tells_the_facts_in_the_environment)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    char *text;

    make_path(path, "environment");
    setenv("WEIR_KEY", "of somebody else", 1);
    setenv("SINK_TEST", "inherited", 1);
    sink_fixture_open(
        &sink_fixture,
        "exec:echo \"$WEIR_QUEUE,$WEIR_PARTITION,$WEIR_SEQ,$WEIR_ID,$WEIR_KEY,"
        "$WEIR_TYPE,$WEIR_ATTEMPTS,$WEIR_EPOCH,$SINK_TEST\" >> %s",
        path);
    sink_fixture_fill(&sink_fixture, 2);
    sink_fixture.messages[0].partition = 7;
    sink_fixture.messages[0].key = "k \"quoted\" $HOME\n;";
    sink_fixture.messages[0].attempts = 3;
    sink_fixture.messages[0].epoch = 9;
    sink_fixture.messages[0].uid[15] = 0xab;
    check_answer(&sink_fixture, WEIR_DONE, 2, "");
    text = slurp(path);
    check_str(text, "orders,7,1,000000000000000000000000000000ab,k \"quoted\" $HOME\n;,"
                    "text,3,9,inherited\n"
                    "orders,0,2,00000000000000000000000000000000,,text,0,1,inherited\n");
    free(text);
    unsetenv("WEIR_KEY");
    unsetenv("SINK_TEST");
    sink_fixture_close(&sink_fixture);
}

/* A row of another program: the kernel would never start a process with it. */
WEIR_TEST(exec, rejects_a_key_that_is_too_large_for_the_environment)
{
    enum { SIZE = 140000 };
    char *key = malloc(SIZE + 1);
    struct sink_fixture sink_fixture;

    check(key != NULL);
    memset(key, 'k', SIZE);
    key[SIZE] = '\0';
    sink_fixture_open(&sink_fixture, "exec:true");
    sink_fixture_fill(&sink_fixture, 2);
    sink_fixture.messages[0].key = key;
    check_answer(&sink_fixture, WEIR_DONE, 2, "");
    check_int(sink_fixture.batch.rejection_count, 1);
    check_str(sink_fixture.batch.rejections[0].reason,
              "key has 140000 and type 4 bytes, the environment of a process takes at "
              "most 122880 each");
    sink_fixture_close(&sink_fixture);
    free(key);
}

WEIR_TEST(exec, gives_a_key_as_large_as_the_environment_takes)
{
    enum { SIZE = 120 * 1024 };
    char *key = malloc(SIZE + 1);
    struct sink_fixture sink_fixture;

    check(key != NULL);
    memset(key, 'k', SIZE);
    key[SIZE] = '\0';
    sink_fixture_open(&sink_fixture, "exec:test ${#WEIR_KEY} = %d", SIZE);
    sink_fixture_fill(&sink_fixture, 1);
    sink_fixture.messages[0].key = key;
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    sink_fixture_close(&sink_fixture);
    free(key);
}

/* ls has its three and the folder it looks at; not what the host forgot to mark. */
WEIR_TEST(exec, hands_no_descriptor_on)
{
    struct sink_fixture sink_fixture;
    int forgotten = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */

    check(forgotten > 2);
    sink_fixture_open(&sink_fixture,
                      "exec:test $(ls /proc/self/fd | wc -l) = 4 || exit 65");
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    check_int(sink_fixture.batch.rejection_count, 0);
    sink_fixture_close(&sink_fixture);
    close(forgotten);
}

/* ---- the end ----------------------------------------------------------------------- */

WEIR_TEST(exec, kills_what_hangs_at_the_deadline)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;

    make_path(path, "hang");
    sink_fixture_open(&sink_fixture,
                      "exec:trap '' TERM; sleep 1000 & echo $! > %s; echo here >&2; wait",
                      path);
    sink_fixture_fill_for(&sink_fixture, 2, WEIR_MILLISECONDS(300));
    check_answer(&sink_fixture, WEIR_RETRY, 0, "killed, since its time was over: here");
    check_int(sink_fixture.batch.taken, 1);
    for (int i = 0; i < 1000 && is_alive(path); i++)
        sink_fixture_nap(); /* a grandchild is buried by init */
    sink_fixture_close(&sink_fixture);
}

struct stopper {
    pthread_t thread;
    struct sink_fixture *sink_fixture;
    const char *path; /* stop when this file is there */
};

static void *stop_batch(void *argument)
{
    struct stopper *self = argument;

    while (access(self->path, F_OK) != 0)
        sink_fixture_nap();
    self->sink_fixture->batch.stopped = true;
    return NULL;
}

WEIR_TEST(exec, gives_what_runs_a_grace_when_stopped)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct stopper stopper = {.path = path};
    struct sink_fixture sink_fixture;

    make_path(path, "grace");
    sink_fixture_open(&sink_fixture, "exec:touch %s; sleep 0.3", path);
    sink_fixture_fill(&sink_fixture, 3);
    stopper.sink_fixture = &sink_fixture;
    check_int(pthread_create(&stopper.thread, NULL, stop_batch, &stopper), 0);
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    check_int(pthread_join(stopper.thread, NULL), 0);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec, kills_what_runs_when_the_grace_is_over)
{
    char path[SINK_FIXTURE_PATH_SIZE], url[SINK_FIXTURE_PATH_SIZE + 64];
    struct stopper stopper = {.path = path};
    struct sink_fixture sink_fixture;

    make_path(path, "stop");
    snprintf(url, sizeof url, "exec:touch %s; sleep 1000", path);
    sink_fixture_init(&sink_fixture);
    sink_fixture.options.stop_grace_ns = WEIR_MILLISECONDS(10);
    check_status(sink_fixture_try(&sink_fixture, url), WEIR_OK);
    sink_fixture_fill(&sink_fixture, 3);
    stopper.sink_fixture = &sink_fixture;
    check_int(pthread_create(&stopper.thread, NULL, stop_batch, &stopper), 0);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "killed, since delivery was stopped");
    check_int(pthread_join(stopper.thread, NULL), 0);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec, starts_nothing_when_stopped_before)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, "exec:exit 65");
    sink_fixture_fill(&sink_fixture, 3);
    sink_fixture.batch.stopped = true;
    check_answer(&sink_fixture, WEIR_DONE, 0, "");
    check_int(sink_fixture.batch.taken, 0);
    sink_fixture_close(&sink_fixture);
}

/* A background job would hold our pipes open. */
WEIR_TEST(exec, leaves_no_background_process)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;

    make_path(path, "background");
    sink_fixture_open(&sink_fixture, "exec:sleep 1000 & echo $! > %s; exit 0", path);
    sink_fixture_fill_for(&sink_fixture, 1, WEIR_SECONDS(60));
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    for (int i = 0; i < 10000 && is_alive(path); i++)
        sink_fixture_nap();
    check(!is_alive(path));
    sink_fixture_close(&sink_fixture);
}

/* The host's ways with signals are not the command's. */
WEIR_TEST(exec, starts_with_signals_as_in_a_new_shell)
{
    struct sink_fixture sink_fixture;
    sigset_t all, before;

    signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    sink_fixture_open(&sink_fixture,
                      "exec:grep -Eq '^SigBlk:.*[1-9a-f]$' /proc/self/status && exit 65;"
                      " kill -PIPE $$");
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "killed by signal 13");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    sink_fixture_close(&sink_fixture);
}

/* A host that does not want to know of its children takes the exit code away. */
WEIR_TEST(exec, retries_when_the_exit_code_is_gone)
{
    struct sink_fixture sink_fixture;

    signal(SIGCHLD, SIG_IGN);
    sink_fixture_open(&sink_fixture, "exec:exit 0");
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "other code took its exit code");
    signal(SIGCHLD, SIG_DFL);
    sink_fixture_close(&sink_fixture);
}

/* Kill a process in the middle of a delivery: its handler ends with it. */
WEIR_TEST(exec, ends_its_process_when_we_die)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    pid_t pid;

    make_path(path, "orphan");
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        sink_fixture_open(&sink_fixture,
                          "exec:echo $$ > %s.new; mv %s.new %s; exec sleep 1000", path,
                          path, path);
        sink_fixture_fill(&sink_fixture, 1);
        (void)sink_fixture_deliver(&sink_fixture);
        _exit(0);
    }
    while (access(path, F_OK) != 0)
        sink_fixture_nap();
    check(is_alive(path));
    check_int(kill(pid, SIGKILL), 0);
    check_int(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 10000 && is_alive(path); i++)
        sink_fixture_nap();
    check(!is_alive(path));
}

/* The shell only waits: the work is done by what it has started. */
WEIR_TEST(exec, ends_what_its_process_has_started_when_we_die)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    pid_t pid;

    make_path(path, "grandchild");
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        sink_fixture_open(&sink_fixture,
                          "exec:sleep 1000 & echo $! > %s.new; mv %s.new %s; wait", path,
                          path, path);
        sink_fixture_fill(&sink_fixture, 1);
        (void)sink_fixture_deliver(&sink_fixture);
        _exit(0);
    }
    while (access(path, F_OK) != 0)
        sink_fixture_nap();
    check_int(kill(pid, SIGKILL), 0);
    check_int(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 10000 && is_alive(path); i++)
        sink_fixture_nap();
    check(!is_alive(path));
}

/* ---- many -------------------------------------------------------------------------- */

struct pool {
    pthread_t thread;
    struct weir_sink *sink;
    _Atomic size_t *done;
    size_t count;
};

static void *work(void *argument)
{
    struct pool *self = argument;
    struct weir_reason reason;

    for (size_t i = 0; i < self->count; i++) {
        struct weir_batch batch;
        struct weir_message message = {.queue = "q",
                                       .type = "t",
                                       .seq = (int64_t)i,
                                       .payload = "\xff\0",
                                       .payload_size = 2,
                                       .batch = &batch};

        weir_batch_init(&batch, weir_heap_system(), NULL, &message, 1, 0);
        reason.text[0] = '\0';
        if (weir_sink_deliver(self->sink, &batch, &reason) == WEIR_DONE &&
            batch.processed == 1 && batch.rejection_count == i % 2)
            atomic_fetch_add(self->done, 1);
        weir_batch_fini(&batch);
    }
    return NULL;
}

/* On four threads; every second one is rejected. sink_fixture_close() compares. */
WEIR_TEST(exec, leaks_nothing_over_ten_thousand_messages)
{
    enum { THREADS = 4, EACH = 2500 };
    struct pool pool[THREADS];
    _Atomic size_t done = 0;
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture,
                      "exec:case $WEIR_SEQ in *[13579]) echo odd >&2; exit 65;; esac");
    for (int i = 0; i < THREADS; i++) {
        pool[i] = (struct pool){.sink = sink_fixture.sink, .done = &done, .count = EACH};
        check_int(pthread_create(&pool[i].thread, NULL, work, &pool[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        check_int(pthread_join(pool[i].thread, NULL), 0);
    check_int(done, THREADS * EACH);
    check_int(count_children(), sink_fixture.children);
    check_int(count_fds(), sink_fixture.fds);
    sink_fixture_close(&sink_fixture);
}
