/*
 * Tests of sink/exec_stream.c: processes that live on.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "sink_fixture.h"

/* A stream that says `answer` to every line. */
#define EACH(answer) "exec-stream:while read -r line; do " answer "; done"

/* The process, and the guard of its group. */
enum { PROCESSES_EACH = 2 };

WEIR_TEST(exec_stream, acks_by_ok)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, EACH("echo ok"));
    for (int i = 0; i < 3; i++) {
        sink_fixture_fill(&sink_fixture, 100);
        check_answer(&sink_fixture, WEIR_DONE, 100, "");
    }
    check_int(count_children(), sink_fixture.children + PROCESSES_EACH);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec_stream, understands_retry_and_reject)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture,
                      EACH("case $line in *'message 2'*) echo reject  bad thing;;"
                           " *'message 4'*) echo retry not now;; *) echo ok;; esac"));
    sink_fixture_fill(&sink_fixture, 5);
    check_answer(&sink_fixture, WEIR_RETRY, 3, "not now");
    check_int(sink_fixture.batch.rejection_count, 1);
    check_int(sink_fixture.batch.rejections[0].index, 1);
    check_str(sink_fixture.batch.rejections[0].reason, "bad thing");
    check_int(count_children(), sink_fixture.children + PROCESSES_EACH); /* it may stay */
    sink_fixture_close(&sink_fixture);

    sink_fixture_open(&sink_fixture, EACH("echo retry"));
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "handler asked for a retry");
    sink_fixture_close(&sink_fixture);
}

/* The second message must not be seen before the first one is answered for. */
WEIR_TEST(exec_stream, sends_one_message_at_a_time)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;

    make_path(path, "ahead");
    sink_fixture_open(
        &sink_fixture,
        "exec-stream:while read -r line; do echo >> %s;"
        " if read -t 0.1 -r next; then echo reject ahead; else echo retry; fi; done",
        path);
    sink_fixture_fill(&sink_fixture, 5);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "");
    check_int(sink_fixture.batch.rejection_count, 0);
    check_int(count_lines_in(path), 1);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec_stream, replaces_one_that_says_something_else)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, EACH("echo okay; echo no >&2"));
    sink_fixture_fill(&sink_fixture, 2);
    check_answer(&sink_fixture, WEIR_RETRY, 0,
                 "answered \"okay\", must be ok, retry or reject");
    check_int(count_children(), sink_fixture.children);
    sink_fixture_close(&sink_fixture);

    sink_fixture_open(&sink_fixture, EACH("head -c 5000 /dev/zero"));
    sink_fixture_fill(&sink_fixture, 2);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "must be one line of ok, retry or reject");
    sink_fixture_close(&sink_fixture);
}

/* The tail of a long answer came as the answer to the next message. */
WEIR_TEST(exec_stream, takes_one_line_for_one_answer)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture,
                      EACH("printf 'retry %%1018s' x; sleep 0.2; echo ok"));
    for (int i = 0; i < 2; i++) {
        sink_fixture_fill(&sink_fixture, 1);
        check_answer(&sink_fixture, WEIR_RETRY, 0,
                     "answered with more than 1023 bytes, must be one line of ok, retry "
                     "or reject");
        check_int(count_children(), sink_fixture.children);
    }
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec_stream, takes_an_answer_of_1023_bytes)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, EACH("printf 'retry %%1017s\\n' x"));
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "x");
    check_int(count_children(), sink_fixture.children + PROCESSES_EACH);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec_stream, takes_no_answer_with_a_zero_byte_for_ok)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, EACH("printf 'ok\\0no\\n'"));
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_RETRY, 0,
                 "answered \"ok?no\", must be ok, retry or reject");
    check_int(count_children(), sink_fixture.children);
    sink_fixture_close(&sink_fixture);
}

/* ---- answers with an id ------------------------------------------------------------ */

/* In a stream: the id of the message in `line`. */
#define ITS_ID "rest=${line#*\\\"id\\\":\\\"}; id=${rest%%%%\\\"*}"

static void give_ids(struct sink_fixture *sink_fixture, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sink_fixture->messages[i].uid[0] = (uint8_t)(0xa0 + i);
}

WEIR_TEST(exec_stream, understands_answers_that_repeat_the_id)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture,
                      EACH(ITS_ID "; case $line in *'message 2'*) echo reject $id bad;;"
                                  " *'message 3'*) echo retry $id; exit;;"
                                  " *) echo ok $id;; esac"));
    sink_fixture_fill(&sink_fixture, 3);
    give_ids(&sink_fixture, 3);
    check_answer(&sink_fixture, WEIR_RETRY, 2, "handler asked for a retry");
    check_int(sink_fixture.batch.rejection_count, 1);
    check_str(sink_fixture.batch.rejections[0].reason, "bad");
    sink_fixture_close(&sink_fixture);
}

/* It answers the first message a second time when the next one is there. */
WEIR_TEST(exec_stream, takes_no_late_second_answer_for_the_next_message)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, EACH(ITS_ID "; echo ok ${old:-$id}; old=$id"));
    sink_fixture_fill(&sink_fixture, 3);
    give_ids(&sink_fixture, 3);
    check_answer(
        &sink_fixture, WEIR_RETRY, 1,
        "answered for message a0000000000000000000000000000000, not for this one");
    check_int(count_children(), sink_fixture.children);
    sink_fixture_close(&sink_fixture);
}

/* ---- its end ----------------------------------------------------------------------- */

WEIR_TEST(exec_stream, replaces_one_that_says_too_much)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, EACH("printf 'ok\\nok\\n'"));
    sink_fixture_fill(&sink_fixture, 5);
    check_answer(&sink_fixture, WEIR_RETRY, 1, "said something unasked for");
    check_int(count_children(), sink_fixture.children);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec_stream, retries_what_a_crash_left_unanswered)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(
        &sink_fixture,
        EACH("case $line in *'message 3'*) echo oops >&2; kill -9 $$;; esac;"
             " echo ok"));
    sink_fixture_fill(&sink_fixture, 5);
    check_answer(&sink_fixture, WEIR_RETRY, 2,
                 "ended without an answer, killed by signal 9 (Killed): oops");
    check_int(count_children(), sink_fixture.children);
    sink_fixture_close(&sink_fixture);
}

/* It ends after each batch, so to say; nobody has to notice. */
WEIR_TEST(exec_stream, starts_a_new_one_when_an_idle_one_has_ended)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, "exec-stream:read -r line; echo ok");
    for (int i = 0; i < 5; i++) {
        sink_fixture_fill(&sink_fixture, 1);
        check_answer(&sink_fixture, WEIR_DONE, 1, "");
        for (int n = 0; n < 20; n++)
            sink_fixture_nap();
    }
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec_stream, kills_what_hangs_at_the_deadline)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, EACH("echo stuck >&2; sleep 1000"));
    sink_fixture_fill_for(&sink_fixture, 2, WEIR_MILLISECONDS(300));
    check_answer(&sink_fixture, WEIR_RETRY, 0, "killed, since its time was over: stuck");
    check_int(count_children(), sink_fixture.children);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec_stream, cannot_be_started_without_a_command)
{
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, "exec-stream:no-such-command-here");
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "exit code 127");
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(exec_stream, gets_a_large_message_as_a_whole)
{
    enum { SIZE = 3 * 1000 * 1000 };
    char *payload = malloc(SIZE);
    struct sink_fixture sink_fixture;

    check(payload != NULL);
    memset(payload, 'x', SIZE);
    sink_fixture_open(&sink_fixture,
                      "exec-stream:awk 'length($0) > %d { print \"ok\"; fflush(); next }"
                      " { print \"reject\"; fflush() }'",
                      SIZE);
    sink_fixture_fill(&sink_fixture, 2);
    sink_fixture.messages[0].payload = payload;
    sink_fixture.messages[0].payload_size = SIZE;
    check_answer(&sink_fixture, WEIR_DONE, 2, "");
    check_int(sink_fixture.batch.rejection_count, 1);
    check_int(sink_fixture.batch.rejections[0].index, 1);
    sink_fixture_close(&sink_fixture);
    free(payload);
}

/* A process that delivers by `command` until it is killed, once that has made its
 * file. */
__attribute__((format(printf, 2, 3))) static void
deliver_and_die(const char *path, const char *command, ...)
{
    va_list arguments;
    struct sink_fixture sink_fixture;
    char url[4096];
    pid_t pid = fork();

    check(pid >= 0);
    if (pid == 0) {
        va_start(arguments, command);
        vsnprintf(url, sizeof url, command, arguments);
        va_end(arguments);
        sink_fixture_open(&sink_fixture, "%s", url);
        sink_fixture_fill(&sink_fixture, 1);
        (void)sink_fixture_deliver(&sink_fixture);
        _exit(0);
    }
    while (access(path, F_OK) != 0)
        sink_fixture_nap();
    check_int(kill(pid, SIGKILL), 0);
    check_int(waitpid(pid, NULL, 0), pid);
}

/* It works on a line and does not look at its input. */
WEIR_TEST(exec_stream, ends_its_process_when_we_die)
{
    char path[SINK_FIXTURE_PATH_SIZE];

    make_path(path, "orphan");
    deliver_and_die(path,
                    "exec-stream:read -r line; echo $$ > %s.new; mv %s.new %s;"
                    " exec sleep 1000",
                    path, path, path);
    for (int i = 0; i < 10000 && is_alive(path); i++)
        sink_fixture_nap();
    check(!is_alive(path));
}

/* The shell only waits: the work is done by what it has started. */
WEIR_TEST(exec_stream, ends_what_its_process_has_started_when_we_die)
{
    char path[SINK_FIXTURE_PATH_SIZE];

    make_path(path, "grandchild");
    deliver_and_die(path,
                    "exec-stream:read -r line; sleep 1000 & echo $! > %s.new;"
                    " mv %s.new %s; wait",
                    path, path, path);
    for (int i = 0; i < 10000 && is_alive(path); i++)
        sink_fixture_nap();
    check(!is_alive(path));
}

static void *deliver_once(void *argument)
{
    struct sink_fixture *sink_fixture = argument;

    sink_fixture_fill(sink_fixture, 1);
    check_answer(sink_fixture, WEIR_DONE, 1, "");
    return NULL;
}

/* A process belongs to the sink, not to the thread that happened to start it. */
WEIR_TEST(exec_stream, outlives_the_thread_that_started_its_process)
{
    struct sink_fixture sink_fixture;
    pthread_t thread;

    sink_fixture_open(&sink_fixture,
                      EACH("n=$((n + 1)); [ $n -lt 3 ] || echo retry kept; echo ok"));
    for (int i = 0; i < 2; i++) {
        check_int(pthread_create(&thread, NULL, deliver_once, &sink_fixture), 0);
        check_int(pthread_join(thread, NULL), 0);
    }
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_RETRY, 0, "kept");
    sink_fixture_close(&sink_fixture);
}

/* What it does at the end of its input is done before close() returns. */
WEIR_TEST(exec_stream, ends_by_the_end_of_its_input)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    struct sink_fixture sink_fixture;
    char *text;

    make_path(path, "end");
    sink_fixture_open(
        &sink_fixture,
        "exec-stream:while read -r line; do echo ok; done; sleep 0.2; echo bye > %s",
        path);
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    sink_fixture_close(&sink_fixture);
    text = slurp(path);
    check_str(text, "bye\n");
    free(text);
}

WEIR_TEST(exec_stream, is_killed_when_it_does_not_end)
{
    struct sink_fixture sink_fixture;

    sink_fixture_init(&sink_fixture);
    sink_fixture.options.stop_grace_ns = WEIR_MILLISECONDS(100);
    check_status(sink_fixture_try(&sink_fixture, EACH("echo ok") "; sleep 1000"),
                 WEIR_OK);
    sink_fixture_fill(&sink_fixture, 1);
    check_answer(&sink_fixture, WEIR_DONE, 1, "");
    sink_fixture_close(&sink_fixture);
}

/* ---- many -------------------------------------------------------------------------- */

struct pool {
    pthread_t thread;
    struct weir_sink *sink;
    _Atomic size_t *done;
};

enum { THREADS = 4, BATCHES = 250, BATCH = 10 };

static void *work(void *argument)
{
    struct pool *self = argument;
    struct weir_message messages[BATCH];
    struct weir_reason reason;

    for (int i = 0; i < BATCHES; i++) {
        struct weir_batch batch;

        for (int n = 0; n < BATCH; n++)
            messages[n] = (struct weir_message){
                .queue = "q", .type = "t", .seq = n, .batch = &batch};
        weir_batch_init(&batch, weir_heap_system(), NULL, messages, BATCH, 0);
        reason.text[0] = '\0';
        if (weir_sink_deliver(self->sink, &batch, &reason) == WEIR_DONE)
            atomic_fetch_add(self->done, batch.processed);
        weir_batch_fini(&batch);
    }
    return NULL;
}

WEIR_TEST(exec_stream, has_as_many_processes_as_deliveries)
{
    struct pool pool[THREADS];
    _Atomic size_t done = 0;
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture, EACH("echo ok"));
    for (int i = 0; i < THREADS; i++) {
        pool[i] = (struct pool){.sink = sink_fixture.sink, .done = &done};
        check_int(pthread_create(&pool[i].thread, NULL, work, &pool[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        check_int(pthread_join(pool[i].thread, NULL), 0);
    check_int(done, THREADS * BATCHES * BATCH);
    check_in_range(count_children(), sink_fixture.children + PROCESSES_EACH,
                   sink_fixture.children + THREADS * PROCESSES_EACH);
    sink_fixture_close(&sink_fixture);
}
