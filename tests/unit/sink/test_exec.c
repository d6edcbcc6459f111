/*
 * Tests of sink/exec.c, and with it of spawn.c, child.c, environment.c and delivery_deadline.c.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "desk.h"

/* One message to this command. */
static void answers(const char *command, enum weir_outcome outcome, size_t count,
                    const char *words)
{
    struct desk desk;

    desk_open(&desk, "exec:%s", command);
    desk_fill(&desk, 1);
    check_answer(&desk, outcome, count, words);
    desk_close(&desk);
}

/* ---- exit codes ------------------------------------------------------------------------ */

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
    struct desk desk;

    desk_open(&desk, "exec:test $WEIR_SEQ != 2 || { echo bad thing >&2; exit 65; }");
    desk_fill(&desk, 3);
    check_int(desk_deliver(&desk), WEIR_DONE);
    check_int(desk.batch.processed, 3);
    check_int(desk.batch.rejection_count, 1);
    check_int(desk.batch.rejections[0].index, 1);
    check_str(desk.batch.rejections[0].reason, "bad thing");
    desk_close(&desk);
}

WEIR_TEST(exec, acks_what_came_before_the_failure)
{
    struct desk desk;

    desk_open(&desk, "exec:test $WEIR_SEQ != 3 || exit 75");
    desk_fill(&desk, 5);
    check_answer(&desk, WEIR_RETRY, 2, "exit code 75");
    check_int(desk.batch.taken, 3);
    desk_close(&desk);
}

/* ---- reasons --------------------------------------------------------------------------- */

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

/* ---- what it gets ---------------------------------------------------------------------- */

WEIR_TEST(exec, gives_the_line_on_standard_input)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    char *text;

    make_path(path, "input");
    desk_open(&desk, "exec:cat >> %s", path);
    desk_fill(&desk, 2);
    desk.messages[1].payload = "\xff\0\n";
    desk.messages[1].payload_size = 3;
    check_answer(&desk, WEIR_DONE, 2, "");
    text = slurp(path);
    check_int(count_lines(text), 2);
    check(strstr(text, "\"seq\":1,") != NULL);
    check(strstr(text, "\"payload\":\"message 1\"}\n{") != NULL);
    check(strstr(text, "\"payload_base64\":\"/wAK\"}\n") != NULL);
    free(text);
    desk_close(&desk);
}

WEIR_TEST(exec, gives_a_large_message_as_a_whole)
{
    enum { SIZE = 3 * 1000 * 1000 };
    char *payload = malloc(SIZE);
    struct desk desk;

    check(payload != NULL);
    memset(payload, 'x', SIZE);
    desk_open(&desk, "exec:sleep 0.1; test $(wc -c) -gt %d", SIZE);
    desk_fill(&desk, 1);
    desk.messages[0].payload = payload;
    desk.messages[0].payload_size = SIZE;
    check_answer(&desk, WEIR_DONE, 1, "");
    desk_close(&desk);

    desk_open(&desk, "exec:true"); /* does not read it */
    desk_fill(&desk, 1);
    desk.messages[0].payload = payload;
    desk.messages[0].payload_size = SIZE;
    check_answer(&desk, WEIR_DONE, 1, "");
    desk_close(&desk);

    desk_open(&desk, "exec:exec <&-; sleep 0.1; exit 65"); /* does not want it */
    desk_fill(&desk, 1);
    desk.messages[0].payload = payload;
    desk.messages[0].payload_size = SIZE;
    check_answer(&desk, WEIR_DONE, 1, "");
    check_int(desk.batch.rejection_count, 1);
    desk_close(&desk);
    free(payload);
}

WEIR_TEST(exec, tells_the_facts_in_the_environment)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    char *text;

    make_path(path, "environment");
    setenv("WEIR_KEY", "of somebody else", 1);
    setenv("SINK_TEST", "inherited", 1);
    desk_open(&desk,
              "exec:echo \"$WEIR_QUEUE,$WEIR_PARTITION,$WEIR_SEQ,$WEIR_ID,$WEIR_KEY,"
              "$WEIR_TYPE,$WEIR_ATTEMPTS,$WEIR_EPOCH,$SINK_TEST\" >> %s",
              path);
    desk_fill(&desk, 2);
    desk.messages[0].partition = 7;
    desk.messages[0].key = "k \"quoted\" $HOME\n;";
    desk.messages[0].attempts = 3;
    desk.messages[0].epoch = 9;
    desk.messages[0].uid[15] = 0xab;
    check_answer(&desk, WEIR_DONE, 2, "");
    text = slurp(path);
    check_str(text, "orders,7,1,000000000000000000000000000000ab,k \"quoted\" $HOME\n;,"
                    "text,3,9,inherited\n"
                    "orders,0,2,00000000000000000000000000000000,,text,0,1,inherited\n");
    free(text);
    unsetenv("WEIR_KEY");
    unsetenv("SINK_TEST");
    desk_close(&desk);
}

/* A row of another program: the kernel would never start a process with it. */
WEIR_TEST(exec, rejects_a_key_that_is_too_large_for_the_environment)
{
    enum { SIZE = 140000 };
    char *key = malloc(SIZE + 1);
    struct desk desk;

    check(key != NULL);
    memset(key, 'k', SIZE);
    key[SIZE] = '\0';
    desk_open(&desk, "exec:true");
    desk_fill(&desk, 2);
    desk.messages[0].key = key;
    check_answer(&desk, WEIR_DONE, 2, "");
    check_int(desk.batch.rejection_count, 1);
    check_str(desk.batch.rejections[0].reason,
              "key has 140000 and type 4 bytes, the environment of a process takes at "
              "most 122880 each");
    desk_close(&desk);
    free(key);
}

WEIR_TEST(exec, gives_a_key_as_large_as_the_environment_takes)
{
    enum { SIZE = 120 * 1024 };
    char *key = malloc(SIZE + 1);
    struct desk desk;

    check(key != NULL);
    memset(key, 'k', SIZE);
    key[SIZE] = '\0';
    desk_open(&desk, "exec:test ${#WEIR_KEY} = %d", SIZE);
    desk_fill(&desk, 1);
    desk.messages[0].key = key;
    check_answer(&desk, WEIR_DONE, 1, "");
    desk_close(&desk);
    free(key);
}

/* ls has its three and the folder it looks at; not what the host forgot to mark. */
WEIR_TEST(exec, hands_no_descriptor_on)
{
    struct desk desk;
    int forgotten = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */

    check(forgotten > 2);
    desk_open(&desk, "exec:test $(ls /proc/self/fd | wc -l) = 4 || exit 65");
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_DONE, 1, "");
    check_int(desk.batch.rejection_count, 0);
    desk_close(&desk);
    close(forgotten);
}

/* ---- the end --------------------------------------------------------------------------- */

WEIR_TEST(exec, kills_what_hangs_at_the_deadline)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;

    make_path(path, "hang");
    desk_open(&desk, "exec:trap '' TERM; sleep 1000 & echo $! > %s; echo here >&2; wait",
              path);
    desk_fill_for(&desk, 2, WEIR_MILLISECONDS(300));
    check_answer(&desk, WEIR_RETRY, 0, "killed, since its time was over: here");
    check_int(desk.batch.taken, 1);
    for (int i = 0; i < 1000 && is_alive(path); i++)
        desk_nap(); /* a grandchild is buried by init */
    desk_close(&desk);
}

struct stopper {
    pthread_t thread;
    struct desk *desk;
    const char *path; /* stop when this file is there */
};

static void *stop_batch(void *argument)
{
    struct stopper *self = argument;

    while (access(self->path, F_OK) != 0)
        desk_nap();
    self->desk->batch.stopped = true;
    return NULL;
}

WEIR_TEST(exec, gives_what_runs_a_grace_when_stopped)
{
    char path[DESK_PATH_SIZE];
    struct stopper stopper = {.path = path};
    struct desk desk;

    make_path(path, "grace");
    desk_open(&desk, "exec:touch %s; sleep 0.3", path);
    desk_fill(&desk, 3);
    stopper.desk = &desk;
    check_int(pthread_create(&stopper.thread, NULL, stop_batch, &stopper), 0);
    check_answer(&desk, WEIR_DONE, 1, "");
    check_int(pthread_join(stopper.thread, NULL), 0);
    desk_close(&desk);
}

WEIR_TEST(exec, kills_what_runs_when_the_grace_is_over)
{
    char path[DESK_PATH_SIZE], url[DESK_PATH_SIZE + 64];
    struct stopper stopper = {.path = path};
    struct desk desk;

    make_path(path, "stop");
    snprintf(url, sizeof url, "exec:touch %s; sleep 1000", path);
    desk_init(&desk);
    desk.options.stop_grace_ns = WEIR_MILLISECONDS(10);
    check_status(desk_try(&desk, url), WEIR_OK);
    desk_fill(&desk, 3);
    stopper.desk = &desk;
    check_int(pthread_create(&stopper.thread, NULL, stop_batch, &stopper), 0);
    check_answer(&desk, WEIR_RETRY, 0, "killed, since delivery was stopped");
    check_int(pthread_join(stopper.thread, NULL), 0);
    desk_close(&desk);
}

WEIR_TEST(exec, starts_nothing_when_stopped_before)
{
    struct desk desk;

    desk_open(&desk, "exec:exit 65");
    desk_fill(&desk, 3);
    desk.batch.stopped = true;
    check_answer(&desk, WEIR_DONE, 0, "");
    check_int(desk.batch.taken, 0);
    desk_close(&desk);
}

/* A background job would hold our pipes open. */
WEIR_TEST(exec, leaves_no_background_process)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;

    make_path(path, "background");
    desk_open(&desk, "exec:sleep 1000 & echo $! > %s; exit 0", path);
    desk_fill_for(&desk, 1, WEIR_SECONDS(60));
    check_answer(&desk, WEIR_DONE, 1, "");
    for (int i = 0; i < 10000 && is_alive(path); i++)
        desk_nap();
    check(!is_alive(path));
    desk_close(&desk);
}

/* The host's ways with signals are not the command's. */
WEIR_TEST(exec, starts_with_signals_as_in_a_new_shell)
{
    struct desk desk;
    sigset_t all, before;

    signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    desk_open(&desk, "exec:grep -Eq '^SigBlk:.*[1-9a-f]$' /proc/self/status && exit 65;"
                     " kill -PIPE $$");
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_RETRY, 0, "killed by signal 13");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    desk_close(&desk);
}

/* A host that does not want to know of its children takes the exit code away. */
WEIR_TEST(exec, retries_when_the_exit_code_is_gone)
{
    struct desk desk;

    signal(SIGCHLD, SIG_IGN);
    desk_open(&desk, "exec:exit 0");
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_RETRY, 0, "somebody else took its exit code");
    signal(SIGCHLD, SIG_DFL);
    desk_close(&desk);
}

/* Kill a process in the middle of a delivery: its handler ends with it. */
WEIR_TEST(exec, ends_its_process_when_we_die)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    pid_t pid;

    make_path(path, "orphan");
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        desk_open(&desk, "exec:echo $$ > %s.new; mv %s.new %s; exec sleep 1000", path,
                  path, path);
        desk_fill(&desk, 1);
        (void)desk_deliver(&desk);
        _exit(0);
    }
    while (access(path, F_OK) != 0)
        desk_nap();
    check(is_alive(path));
    check_int(kill(pid, SIGKILL), 0);
    check_int(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 10000 && is_alive(path); i++)
        desk_nap();
    check(!is_alive(path));
}

/* The shell only waits: the work is done by what it has started. */
WEIR_TEST(exec, ends_what_its_process_has_started_when_we_die)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    pid_t pid;

    make_path(path, "grandchild");
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        desk_open(&desk, "exec:sleep 1000 & echo $! > %s.new; mv %s.new %s; wait", path,
                  path, path);
        desk_fill(&desk, 1);
        (void)desk_deliver(&desk);
        _exit(0);
    }
    while (access(path, F_OK) != 0)
        desk_nap();
    check_int(kill(pid, SIGKILL), 0);
    check_int(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 10000 && is_alive(path); i++)
        desk_nap();
    check(!is_alive(path));
}

/* ---- many ------------------------------------------------------------------------------ */

struct crew {
    pthread_t thread;
    struct weir_sink *sink;
    _Atomic size_t *done;
    size_t count;
};

static void *work(void *argument)
{
    struct crew *self = argument;
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

/* On four threads; every second one is rejected. desk_close() compares. */
WEIR_TEST(exec, leaks_nothing_over_ten_thousand_messages)
{
    enum { THREADS = 4, EACH = 2500 };
    struct crew crew[THREADS];
    _Atomic size_t done = 0;
    struct desk desk;

    desk_open(&desk, "exec:case $WEIR_SEQ in *[13579]) echo odd >&2; exit 65;; esac");
    for (int i = 0; i < THREADS; i++) {
        crew[i] = (struct crew){.sink = desk.sink, .done = &done, .count = EACH};
        check_int(pthread_create(&crew[i].thread, NULL, work, &crew[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        check_int(pthread_join(crew[i].thread, NULL), 0);
    check_int(done, THREADS * EACH);
    check_int(count_children(), desk.children);
    check_int(count_fds(), desk.fds);
    desk_close(&desk);
}
